/* rest_damping_tuning.h (internal) - constants of rest damping and sleep, for the CPU and the GPU.
 *
 * Step counts are simulation steps since the skeleton, a parameter or a collider last changed. Lengths are fractions of
 * the character's size. */
#ifndef SUP_SOLVER_REST_DAMPING_TUNING_H
#define SUP_SOLVER_REST_DAMPING_TUNING_H

enum {
    /* Contacts left over from the motion are released where the skin would not touch by itself, and skin of bones that
     * would be free of contact under linear blending may pass through the skin that holds it. Damping of tissue in
     * contact starts. */
    SUP_REST_RELEASE_STEPS = 6,
    /* Damping of tissue in contact is complete; the step fraction of each vertex is limited from here on. */
    SUP_REST_LIMIT_STEPS = 15,
    /* Pairs of contact neither begin nor end from here on. */
    SUP_REST_FREEZE_STEPS = 20,
    /* Damping of tissue without contact starts. */
    SUP_REST_DAMPING_STEPS = 15,
    /* Damping of tissue that is not painted free is complete. */
    SUP_REST_HELD_STEPS = 20,
    /* Damping is complete everywhere. An instance that hardly moves may sleep. */
    SUP_REST_SLEEP_STEPS = 40,
    /* From here on an instance also sleeps when it only creeps or oscillates in place, */
    SUP_REST_WINDOW_BEGIN_STEPS = 150,
    /* which is measured over windows of this many steps. */
    SUP_REST_WINDOW_STEPS = 30,
    /* Value of the counter of an instance that sleeps. */
    SUP_REST_ASLEEP = 1 << 20
};

/* Fraction of the momentum that a step removes at full rest damping: with contact, and without. */
static const float SUP_REST_DAMPING_CONTACT = 0.3f, SUP_REST_DAMPING_FREE = 0.03f;
/* The same at skin vertices with a velocity limit: near critical damping of the slowest tissue that is not painted free
 * (2.2 Hz), so that its oscillation ends within a second. */
static const float SUP_REST_DAMPING_HELD = 0.25f;
/* A joint is at rest when its translation changes by at most this many sizes in a frame, and its linear part by this
 * much. */
static const float SUP_REST_JOINT_MOTION = 1e-6f;
/* An instance sleeps when no skin vertex moves farther than this in a step, or than the second in a window of steps. */
static const float SUP_REST_SLEEP_MOTION = 2e-6f, SUP_REST_WINDOW_MOTION = 3e-3f;

/* Factors of a vertex' step fraction: after a reversal of its displacement, and after a step without one. Two reversals
 * within four steps bring it below the oscillation limit, which free swinging never does; from there on it only
 * decays. */
static const float SUP_REST_REVERSAL_FACTOR = 0.6f, SUP_REST_RECOVERY_FACTOR = 1.1f, SUP_REST_OSCILLATION_LIMIT = 0.5f,
                   SUP_REST_DECAY_FACTOR = 0.75f;
/* Displacements below this length do not count as reversals: rounding reverses all the time. */
static const float SUP_REST_REVERSAL_LENGTH = 3e-6f;
/* Mean displacement of a step from which on nothing is shortened; below it the smallest step fraction is
 * proportional. */
static const float SUP_REST_ACTIVE_MOTION = 3e-5f;
/* Mean displacement below which oscillating tissue in contact is stopped, and the factor per step that stops it. */
static const float SUP_REST_STOP_MOTION = 1e-5f, SUP_REST_STOP_FACTOR = 0.8f;

#endif

/* rest_damping_kernel.h (internal) - decisions of rest damping and sleep, one source for the CPU and the GPU.
 *
 * `steps`: the rest counter of an instance, simulation steps since the skeleton, a parameter or a collider last
 * changed; SUP_REST_ASLEEP while the instance sleeps. Constants and their meaning: rest_damping_tuning.h. */
#ifndef SUP_SOLVER_REST_DAMPING_KERNEL_H
#define SUP_SOLVER_REST_DAMPING_KERNEL_H

#include "base/shared.h"
#include "solver/rest_damping_tuning.h"

/* Whether entry `i` of a 3x4 joint matrix changed; `size` of the character. NaN counts as a change. */
SUP_SHARED bool sup_rest_entry_moved(float now, float previous, int32_t i, float size)
{
    return !(fabsf(now - previous) <= SUP_REST_JOINT_MOTION * (i % 4 == 3 ? size : 1.0f));
}

/* Whether the window of steps ends in which creeping is measured: the skin is compared and a new window begins. */
SUP_SHARED bool sup_rest_window_ends(int32_t steps)
{
    return steps >= SUP_REST_WINDOW_BEGIN_STEPS && steps % SUP_REST_WINDOW_STEPS == 0;
}

/* Whether the skin moves little enough to sleep. `moved`, `window_moved`: largest motion of a skin vertex in the last
 * step and in the window that ends now, in sizes. */
SUP_SHARED bool sup_rest_is_quiet(int32_t steps, float moved, float window_moved)
{
    if (steps < SUP_REST_SLEEP_STEPS) return false;
    return moved <= SUP_REST_SLEEP_MOTION || (steps > SUP_REST_WINDOW_BEGIN_STEPS && sup_rest_window_ends(steps) &&
                                              window_moved <= SUP_REST_WINDOW_MOTION);
}

/* The counter of the next step. It saturates below SUP_REST_ASLEEP: tissue that never becomes quiet never sleeps. */
SUP_SHARED int32_t sup_rest_count_step(int32_t steps, bool at_rest, bool quiet)
{
    if (!at_rest) return 0;
    if (quiet || steps == SUP_REST_ASLEEP) return SUP_REST_ASLEEP;
    return steps < SUP_REST_ASLEEP - 1 ? steps + 1 : steps;
}

/* Fraction of the momentum that a step removes. `damping`: the parameter, which is the minimum. */
SUP_SHARED float sup_rest_momentum_damping(int32_t steps, bool in_contact, float damping)
{
    int32_t begin = in_contact ? SUP_REST_RELEASE_STEPS : SUP_REST_DAMPING_STEPS;
    int32_t end = in_contact ? SUP_REST_LIMIT_STEPS : SUP_REST_SLEEP_STEPS;
    float ramp = (float)(steps - begin) / (float)(end - begin);
    float rest = (in_contact ? SUP_REST_DAMPING_CONTACT : SUP_REST_DAMPING_FREE) * fmaxf(0.0f, fminf(1.0f, ramp));
    return fmaxf(damping, rest);
}

/* The same for skin vertices with a velocity limit, which are not painted free. `damping`: of all vertices. */
SUP_SHARED float sup_rest_held_damping(int32_t steps, float damping)
{
    float ramp = (float)(steps - SUP_REST_DAMPING_STEPS) / (float)(SUP_REST_HELD_STEPS - SUP_REST_DAMPING_STEPS);
    return fmaxf(damping, SUP_REST_DAMPING_HELD * fmaxf(0.0f, fminf(1.0f, ramp)));
}

/* Whether detection drops pairs that only persist from the motion. */
SUP_SHARED bool sup_rest_releases_pairs(int32_t steps)
{
    return steps == SUP_REST_RELEASE_STEPS;
}

/* Whether skin of bones that would be free of contact under linear blending may pass through the skin that holds it. */
SUP_SHARED bool sup_rest_lets_skin_pass(int32_t steps)
{
    return steps >= SUP_REST_RELEASE_STEPS && steps < SUP_REST_LIMIT_STEPS;
}

/* Whether pairs of contact neither begin nor end any more: tissue in contact then has one equilibrium. `mean`: mean
 * displacement of the last step, in sizes; tissue that still swings collides. */
SUP_SHARED bool sup_rest_freezes_pairs(int32_t steps, float mean)
{
    return steps >= SUP_REST_FREEZE_STEPS && mean < SUP_REST_ACTIVE_MOTION;
}

/* Whether untangling no longer searches for crossings. */
SUP_SHARED bool sup_rest_freezes_untangling(int32_t steps, float mean)
{
    return steps == SUP_REST_ASLEEP || (steps >= SUP_REST_SLEEP_STEPS && mean < SUP_REST_ACTIVE_MOTION);
}

/* Whether the step fractions of the vertices are limited, and whether this is the first such step. */
SUP_SHARED bool sup_rest_limits_steps(int32_t steps)
{
    return steps >= SUP_REST_LIMIT_STEPS;
}

SUP_SHARED bool sup_rest_limit_begins(int32_t steps)
{
    return steps == SUP_REST_LIMIT_STEPS;
}

/* Whether displacements of the untangled render mesh are kept instead of decaying. `fraction`: sup_rest_damping. Tissue
 * that still swings when the search may end leaves what displaced it. */
SUP_SHARED bool sup_rest_keeps_offsets(int32_t steps, float fraction, float mean)
{
    return sup_rest_freezes_untangling(steps, mean) || (steps > SUP_REST_LIMIT_STEPS && fraction < 1.0f);
}

/* The new step fraction of a vertex. `product`: dot product of its displacement in this step and in the last one;
 * `threshold`: sup_rest_reversal_threshold. */
SUP_SHARED float sup_rest_vertex_fraction(float fraction, float product, float threshold)
{
    if (product < -threshold)
        fraction *= SUP_REST_REVERSAL_FACTOR;
    else if (fraction > SUP_REST_OSCILLATION_LIMIT)
        fraction = fminf(1.0f, fraction * SUP_REST_RECOVERY_FACTOR);
    return fraction <= SUP_REST_OSCILLATION_LIMIT ? fraction * SUP_REST_DECAY_FACTOR : fraction;
}

SUP_SHARED bool sup_rest_oscillates(float fraction)
{
    return fraction <= SUP_REST_OSCILLATION_LIMIT;
}

/* Square of the shortest displacement that counts as a reversal. */
SUP_SHARED float sup_rest_reversal_threshold(float size)
{
    return SUP_REST_REVERSAL_LENGTH * SUP_REST_REVERSAL_LENGTH * size * size;
}

/* Smallest step fraction of a vertex. `mean`: mean displacement of the last step, in sizes. */
SUP_SHARED float sup_rest_min_fraction(bool in_contact, float mean)
{
    return in_contact ? fminf(1.0f, mean / SUP_REST_ACTIVE_MOTION) : 1.0f;
}

/* The step fraction of all vertices in the next step. */
SUP_SHARED float sup_rest_next_fraction(float fraction, bool in_contact, bool oscillates, float mean)
{
    bool stop = in_contact && oscillates && mean < SUP_REST_STOP_MOTION;
    return stop ? fraction * SUP_REST_STOP_FACTOR : fminf(1.0f, fraction / SUP_REST_STOP_FACTOR);
}

#endif

/* solver_tuning.h (internal) - tuning constants of the local-global solver, for CPU and GPU. step_control.h has the
 * decisions that use them; contact_response_tuning.h has the constants of contacts. */
#ifndef SUP_SOLVER_SOLVER_TUNING_H
#define SUP_SOLVER_SOLVER_TUNING_H

enum {
    SUP_SETTLE_STEPS = 30,         /* steps without momentum after a reset, */
    SUP_SETTLE_CONTACT_STEPS = 20, /* and with contact after those */
    SUP_SOLVER_HISTORY = 8, /* directions that Anderson acceleration combines; then it restarts. The GPU needs 8 */
    /* Iterations of a step when the caller sets none. Plain mode: the ten of [komaritzan2022]. Accelerated modes
     * end at or below the objective of ten plain iterations; contacts change from step to step, so a lower
     * objective is not visible there. */
    SUP_SOLVER_ITERATIONS_PLAIN = 10,
    SUP_SOLVER_ITERATIONS_STRAIN = 8,
    SUP_SOLVER_ITERATIONS_VOLUME = 7,
    SUP_SOLVER_ITERATIONS_CONTACT = 5,
    SUP_SOLVER_SLOW_CHECK = 6 /* with volume: iteration after which only slowly converging steps continue */
};

/* With volume: a step converges slowly when iteration SUP_SOLVER_SLOW_CHECK predicts more than this fraction of the
 * decrease that the iteration before it predicted. */
#define SUP_SOLVER_SLOW_DECREASE 0.2
/* Iterations stop when the predicted decrease is below this fraction of the objective. Ten plain iterations come close
 * to the minimum of strain alone and leave more with volume. */
#define SUP_SOLVER_TOLERANCE_STRAIN 2e-9f
#define SUP_SOLVER_TOLERANCE_VOLUME 1e-8f
#define SUP_SOLVER_TOLERANCE_CONTACT 1e-6f
/* They also stop below the energy of a strain of 1e-6 in all elements, as a fraction of the sum of element weights, */
#define SUP_SOLVER_STRAIN_ENERGY 1e-12
/* and below the energy of rounding positions to float: squared relative rounding error, for strain alone and with
 * volume, where ten plain iterations leave more. */
#define SUP_SOLVER_ROUNDING_STRAIN 1e-15
#define SUP_SOLVER_ROUNDING_VOLUME 1.6e-15
/* An increase of the objective below this fraction is float rounding. */
#define SUP_SOLVER_INCREASE 1e-6
/* A plain step that raises the objective is halved, down to this fraction; then the step ends at the last iterate. */
#define SUP_SOLVER_MIN_BACKTRACK 0.2
#define SUP_SOLVER_BACKTRACK 0.5
/* Anderson acceleration drops directions whose pivot is below this fraction of the first pivot. */
#define SUP_ANDERSON_PIVOT 1e-7
/* An accelerated step must descend at least this fraction as steeply as the plain step, and its squared length in the
 * norm of A must not exceed this multiple of the plain step's; otherwise the plain step is over-relaxed by
 * SUP_ANDERSON_RELAXATION, which the quadratic bound of projective dynamics (< 2) still allows. */
#define SUP_ANDERSON_MIN_SLOPE 0.5
#define SUP_ANDERSON_MAX_SQUARE 36.0
#define SUP_ANDERSON_RELAXATION 1.9
/* The settle phase ends when no coordinate of a vertex moves by this fraction of the body's size in a step. */
#define SUP_SOLVER_SETTLED 1e-6

#endif

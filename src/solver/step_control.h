/* step_control.h (internal) - decisions of the local-global iteration: one source for solver.c and src/cuda.
 *
 * Notation: d is the direction of the global step, g the gradient, A the matrix; d . A d = -d . g. The plain step
 * x + d decreases the objective by at least half of d . A d ("predicted decrease"). */
#ifndef SUP_SOLVER_STEP_CONTROL_H
#define SUP_SOLVER_STEP_CONTROL_H

#include "solver/element.h"
#include "solver/solver_tuning.h"

#include <math.h>
#include <stdbool.h>
#include <stdint.h>

/* --- Prediction of a step --- */

/* Fraction of the last prediction error to add to the next prediction: from the correlation of the last two errors.
 * Arguments: product and squares of the two errors. */
SUP_ELEMENT float sup_prediction_repeat(double product, double previous_square, double square)
{
    double larger = fmax(previous_square, square);
    return product > 0.0 && larger > 0.0 ? (float)(product / larger) : 0.0f;
}

/* Fraction of the last displacement that the prediction drops. Without momentum, extrapolating the last
 * displacement is only a guess: the larger its last error, the less of it is used. Otherwise a step that does not
 * reach its minimum would overshoot it forever. */
SUP_ELEMENT float sup_prediction_drop(bool is_static, double error_square, double displacement_square)
{
    if (!is_static) return 0.0f;
    return displacement_square > error_square ? (float)(error_square / displacement_square) : 1.0f;
}

/* --- End of the iterations --- */

/* Iterations of a step. */
typedef struct sup_step_limits {
    int32_t max_iterations;
    int32_t slow_check; /* iteration after which only slowly converging steps continue; 0: all continue */
    float tolerance;    /* fraction of the objective that is not worth an iteration */
} sup_step_limits;

/* `iterations`, `tolerance`: set by the caller, 0 for the defaults. */
SUP_ELEMENT sup_step_limits sup_step_limits_of(int32_t iterations, float tolerance, bool plain, bool touching,
                                               bool volume)
{
    const bool fixed = iterations > 0;
    const float default_tolerance = touching ? SUP_SOLVER_TOLERANCE_CONTACT
                                    : volume ? SUP_SOLVER_TOLERANCE_VOLUME
                                             : SUP_SOLVER_TOLERANCE_STRAIN;
    sup_step_limits limits;
    limits.max_iterations = fixed      ? iterations
                            : plain    ? SUP_SOLVER_ITERATIONS_PLAIN
                            : touching ? SUP_SOLVER_ITERATIONS_CONTACT
                            : volume   ? SUP_SOLVER_ITERATIONS_VOLUME
                                       : SUP_SOLVER_ITERATIONS_STRAIN;
    limits.slow_check = !fixed && !touching && volume ? SUP_SOLVER_SLOW_CHECK : 0;
    limits.tolerance = tolerance > 0.0f ? tolerance : fixed ? 0.0f : default_tolerance;
    return limits;
}

/* Energy of rounding the positions to float. `size_square`: squared extent of the body in the norm of A's diagonal. */
SUP_ELEMENT double sup_step_rounding(bool volume, double size_square)
{
    return (volume ? SUP_SOLVER_ROUNDING_VOLUME : SUP_SOLVER_ROUNDING_STRAIN) * size_square;
}

/* Whether iteration `done` is the last one of an accelerated step. `weight_sum`: of all elements. */
SUP_ELEMENT bool sup_step_converged(const sup_step_limits *limits, int32_t done, double predicted,
                                    double previous_predicted, double objective, double weight_sum, double rounding)
{
    const double least = fmax(SUP_SOLVER_STRAIN_ENERGY * weight_sum, rounding);
    return predicted <= (double)limits->tolerance * objective || predicted <= least ||
           (done == limits->slow_check && predicted <= SUP_SOLVER_SLOW_DECREASE * previous_predicted);
}

/* --- Acceptance of a step --- */

/* Whether a step from `previous` to `objective` is rejected. With strain alone the plain step cannot raise the
 * objective. It can where contacts begin to push and where volumes are far from rest: `unsure`. */
SUP_ELEMENT bool sup_step_rejected(double objective, double previous, bool accelerated, bool unsure)
{
    return (accelerated || unsure) && !(objective <= previous + SUP_SOLVER_INCREASE * fabs(previous));
}

/* Fraction of the plain step to try after a rejected step; 0: none, the step ends at the last iterate. */
SUP_ELEMENT double sup_step_backtrack(bool accelerated, double fraction)
{
    if (accelerated) return 1.0;
    return fraction > SUP_SOLVER_MIN_BACKTRACK ? fraction * SUP_SOLVER_BACKTRACK : 0.0;
}

/* Whether the next step is accelerated. A full history ends with a plain step, which does not use it; so does a step
 * with contacts. `last`: this is the last iteration. */
SUP_ELEMENT bool sup_step_accelerates(int32_t history, bool touching, bool last)
{
    return history > 0 && history + 1 < SUP_SOLVER_HISTORY && !(touching && last);
}

/* Whether Anderson acceleration keeps the direction of pivot `index`. */
SUP_ELEMENT bool sup_anderson_keeps(int32_t index, double pivot, double first_pivot)
{
    return index == 0 || pivot > SUP_ANDERSON_PIVOT * first_pivot;
}

/* Whether an accelerated step is taken: slope of the objective along it (negative: descent) and its squared length in
 * the norm of A, against d . A d of the plain step. Where directions grow instead of shrinking (an inverting element),
 * the shortest combined direction ascends or leads far away. */
SUP_ELEMENT bool sup_anderson_accepted(double slope, double square, double plain)
{
    return !(slope > -SUP_ANDERSON_MIN_SLOPE * plain || square > SUP_ANDERSON_MAX_SQUARE * plain);
}

/* --- Volume --- */

/* With r the volume of a region over that at rest, W its rest volume and s = r - 1,
 *     V = volume sum W / 2 s^2 u,   u = 1 / (1 + s^2 / 4),   dV/dr = volume W s u^2:
 * quadratic near rest, bounded far from it, where a stiff response would tear the tissue. */
typedef struct sup_volume_response {
    double pressure, energy;
} sup_volume_response;

/* 1 / u. */
SUP_ELEMENT double sup_volume_denominator(double excess)
{
    return 1.0 + 0.25 * excess * excess;
}

/* `excess` is s; `u` the reciprocal of sup_volume_denominator, which a GPU finds by a faster instruction. */
SUP_ELEMENT sup_volume_response sup_volume_respond(double volume, double rest, double excess, double u)
{
    sup_volume_response response;
    response.pressure = volume * excess * u * u;
    response.energy = 0.5 * volume * rest * excess * excess * u;
    return response;
}

#endif

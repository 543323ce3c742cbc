/* quantize_weights.h (internal) - 16-bit fixed-point weights with exact sum and accurate first moment. */
#ifndef SUP_UPSAMPLE_QUANTIZE_WEIGHTS_H
#define SUP_UPSAMPLE_QUANTIZE_WEIGHTS_H

#include "upsample/mls.h"

#include <stdbool.h>

/* Computes to[count] and *unit with to[i] * unit close to weights[i]. With `keep_sum` the sum of to[i], times unit,
 * equals `sum` up to the rounding of the unit to float. False, with zeros, when the range of the weights is too large
 * or a weight is not finite. */
bool sup_quantize_weights(const double *weights, int32_t count, double sum, bool keep_sum, int16_t *to, float *unit);

/* Moves units between weights, with constant sum, until the error of their first moment at the `points` is at most
 * `tolerance`, or no move reduces it. `residual` is the initial error in units of the points; returns the length of the
 * final one. */
double sup_quantize_correct(const sup_vec3d *points, int32_t count, double unit, sup_vec3d residual, double tolerance,
                            int16_t *to);

#endif

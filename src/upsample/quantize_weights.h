/* quantize_weights.h (internal) - weights as 16-bit whole numbers of a unit, with what matters about them kept. */
#ifndef SUP_UPSAMPLE_QUANTIZE_WEIGHTS_H
#define SUP_UPSAMPLE_QUANTIZE_WEIGHTS_H

#include "upsample/mls.h"

#include <stdbool.h>

/* to[count] and *unit such that to[i] * unit is about weights[i]. Where `sum` is not 0, so is the sum of to[i], times
 * unit, up to the rounding of the unit to float; where it is 0 and `keep_sum`, the sum of to[i] is. False, and zeros,
 * when the weights are too far apart or not finite. */
bool sup_round_weights(const double *weights, int32_t count, double sum, bool keep_sum, int16_t *to, float *unit);

/* Moves units between weights, whose sum stays, until what they give at the `points` is off by no more than `enough`,
 * or no move makes it better. `off` is what is missing, in units of the points; returns what is left of it. */
double sup_round_towards(const sup_vec3d *points, int32_t count, double unit, sup_vec3d off, double enough,
                         int16_t *to);

#endif

/* operator.h - a look at the composition operators of the method "implicit": how two fields become one.
 *
 * An operator g(f1, f2) is 0.5 along a profile; d from 0 to 1 takes it from the clean union to its full depth. A setup
 * (sup_bind_def.setup) names operators, or draws new ones. */
#ifndef SUPPLE_OPERATOR_H
#define SUPPLE_OPERATOR_H

#include "supple/base.h"

/* Operators that are always there: "contact", "bulge"; NULL past the last. */
SUP_API const char *sup_operator_name(int32_t index);

/* g for d = `depth` at `size` times `size` places, f1 and f2 from 0 to 1: values[row * size + column] is g(column / (size -
 * 1), row / (size - 1)). `profile` is one of the names, or the text of a profile: an SVG path or pairs of numbers from
 * (0.5, 0) to the diagonal f1 = f2, and on along it where there is a contact. `size` is 2 or more. */
SUP_API sup_result sup_operator_sample(const sup_context *context, sup_bytes profile, double depth, int32_t size,
                                       float *values, sup_error *error);

#endif

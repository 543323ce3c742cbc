/* operator.h - inspection of the composition operators of the method "implicit", which combine two fields.
 *
 * An operator g(f1, f2) equals 0.5 along a profile curve; its parameter d blends from the clean union (0) to the full
 * depth (1). A setup text (sup_bind_def.setup) selects operators by name or defines new ones. */
#ifndef SUPPLE_OPERATOR_H
#define SUPPLE_OPERATOR_H

#include "supple/base.h"

/* Names of the built-in operators: "contact", "bulge"; NULL past the last. */
SUP_API const char *sup_operator_name(int32_t index);

/* Samples g for d = `depth` on a grid of `size` by `size` points, f1 and f2 from 0 to 1: values[y * size + x] is
 * g(x / (size - 1), y / (size - 1)). `profile` is a built-in name or the text of a profile: an SVG path or pairs of
 * numbers from (0.5, 0) to the diagonal f1 = f2, continued along the diagonal for a contact. `size` is at least 2. */
SUP_API sup_result sup_operator_sample(const sup_context *context, sup_bytes profile, double depth, int32_t size,
                                       float *values, sup_error *error);

#endif

/* scale.h (internal) - the template stretched to a person's height and limbs before it is fitted (4.2.4). */
#ifndef SUP_ANATOMY_SCALE_H
#define SUP_ANATOMY_SCALE_H

#include "anatomy/layers.h"

/* Height along Y, metres. */
double sup_shape_height(int32_t vertex_count, const double *positions);

/* Moves points inside a closed surface with it as it deforms to `to` [vertex_count*3], by mean value coordinates:
 * exact for affine maps. `out` is [count*3]. */
sup_result sup_points_follow(const sup_context *context, sup_shape from, const double *to, int32_t count,
                             const double *points, double *out, sup_error *error);

/* Skin, muscle and bone surface of the template [vertex_count*3 each] after the global scaling (damped, returned in
 * *scale) and the stretching of its bones to `joints` [joint_count*3]. */
sup_result sup_anatomy_stretch(const sup_context *context, const sup_anatomy *anatomy, double height,
                               const double *joints, double *skin, double *muscle, double *bone, double *scale,
                               sup_error *error);

#endif

/* linear.h (internal) - linear blend skinning. */
#ifndef SUP_METHODS_LINEAR_LINEAR_H
#define SUP_METHODS_LINEAR_LINEAR_H

#include "skin/skin.h"

extern const sup_method sup_method_linear;

/* The joints of a window's work are [joint_count*12] floats, rows of world(joint) * inverse bind. */
sup_skin_kernel sup_linear_window_base, sup_linear_window_avx2, sup_linear_window_avx512;

/* Joints of the pose into the state, and the step's refusal of poses out of range, without a vertex: for methods that write
 * all vertices themselves. */
sup_result sup_linear_pose(const sup_step_input *input, void *state);

/* The method's step on kernels of that many lanes: for tests and benchmarks that compare them. */
sup_result sup_linear_step(const sup_step_input *input, void *state, const sup_skin_out *out, int32_t lanes);

#endif

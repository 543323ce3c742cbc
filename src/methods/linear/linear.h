/* linear.h (internal) - linear blend skinning. */
#ifndef SUP_METHODS_LINEAR_LINEAR_H
#define SUP_METHODS_LINEAR_LINEAR_H

#include "skin/skin.h"

extern const sup_method sup_method_linear;

/* sup_skin_window.joints is [joint_count*12] floats: world(joint) * inverse bind, row-major. */
sup_skin_kernel sup_linear_window_base, sup_linear_window_avx2, sup_linear_window_avx512;

/* Only the joint matrices of a step, with the same error for poses out of range: for methods that write all vertices
 * themselves. */
sup_result sup_linear_pose(const sup_step_input *input, void *state);

/* The step with kernels of `lanes` lanes, for tests and benchmarks. */
sup_result sup_linear_step(const sup_step_input *input, void *state, const sup_skin_out *out, int32_t lanes);

#endif

/* cor.h (internal) - skinning with optimised centres of rotation. */
#ifndef SUP_METHODS_COR_COR_H
#define SUP_METHODS_COR_COR_H

#include "skin/centre.h"

extern const sup_method sup_method_cor;

enum { SUP_COR_RIGID, SUP_COR_SIGMA, SUP_COR_PARAM_COUNT };

/* Centres of rotation of the render vertices, centres[vertex_count*3] in bind space; the position of the vertex where
 * no surface has similar weights. */
sup_result sup_cor_centres(const sup_context *context, const sup_rig *rig, double sigma, float *centres,
                           sup_error *error);

/* The step with kernels of `lanes` lanes, for tests and benchmarks. */
sup_result sup_cor_step(const sup_step_input *input, void *state, const sup_skin_out *out, int32_t lanes);

#endif

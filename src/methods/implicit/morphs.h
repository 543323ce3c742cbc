/* morphs.h (internal) - morph targets ride on the tracked skin.
 *
 * Not of the paper. Fields and tracking are those of the skin without targets; what targets add to linear blending is
 * added to what is shown. */
#ifndef SUP_METHODS_IMPLICIT_MORPHS_H
#define SUP_METHODS_IMPLICIT_MORPHS_H

#include "methods/implicit/implicit_render_mesh.h"

/* Bytes that taking and adding work in, a multiple of 64; 0 without targets. Zero at the start. */
size_t sup_morphs_scratch_size(const sup_model *model);
/* Whether a target of the pose has a weight. */
bool sup_morphs_active(const sup_model *model, const sup_pose *pose);
/* `out` holds linear blending with the pose's targets: what they added goes to `scratch`. `input` and `linear` are the step
 * and the state of linear blending. False: no target is active, or its blending failed. */
bool sup_morphs_extract(const sup_step_input *input, void *linear, void *scratch, const sup_skin_out *out);
/* Adds it to the vertices that `shown` wrote. */
void sup_morphs_add(const sup_implicit_render_mesh *mesh, const void *scratch, const sup_skin_out *out);

#endif

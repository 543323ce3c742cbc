/* morphs.h (internal) - adds morph targets to the tracked skin.
 *
 * Not in the paper. Fields and tracking use the skin without morph targets; the displacement that targets cause in
 * linear blend skinning is added to the output. */
#ifndef SUP_METHODS_IMPLICIT_MORPHS_H
#define SUP_METHODS_IMPLICIT_MORPHS_H

#include "methods/implicit/implicit_render_mesh.h"

/* Scratch size in bytes, a multiple of 64; 0 without morph targets. Must be zero-initialised. */
size_t sup_morphs_scratch_size(const sup_model *model);
/* Whether a target of the pose has a nonzero weight. */
bool sup_morphs_active(const sup_model *model, const sup_pose *pose);
/* `out` holds linear blend skinning with the pose's targets; stores the displacements that they caused in `scratch`.
 * `input` and `linear` are the input and the state of linear blend skinning. Returns false if no target is active or if
 * skinning failed. */
bool sup_morphs_extract(const sup_step_input *input, void *linear, void *scratch, const sup_skin_out *out);
/* Adds the displacements to the vertices that `mesh` wrote. */
void sup_morphs_add(const sup_implicit_render_mesh *mesh, const void *scratch, const sup_skin_out *out);

#endif

/* anatomy_organs.h (internal) - detailed muscles of a fitted body, carried by skin and bones. */
#ifndef SUP_METHODS_ANATOMY_ANATOMY_ORGANS_H
#define SUP_METHODS_ANATOMY_ANATOMY_ORGANS_H

#include "supple/method.h"

/* Adds the arrays "organ.*": empty unless the character is a fitted body with muscles. */
sup_result sup_anatomy_organs_bind(const sup_bind_input *input, sup_model_builder *builder, sup_error *error);
/* Checks the arrays of a model from a file. */
sup_result sup_anatomy_organs_check(const sup_model *model, sup_error *error);
/* Overwrites the positions of muscles in `out`, which has this frame's skin. Allocates nothing. */
void sup_anatomy_organs_step(const sup_step_input *input, const sup_skin_out *out);

/* The rig's joint that holds the bone surface under a render vertex, -1 if none (anatomy_bind.c). */
int32_t sup_anatomy_attached_joint(const sup_rig *rig, int32_t vertex);

#endif

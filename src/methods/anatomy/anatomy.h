/* anatomy.h - projective skinning of a body with bones, muscles and fat: two layers of tissue on bone surfaces.
 *
 * Based on: [komaritzan2022] section 4.3.3. Skin, muscle and bone surface of one triangulation (sup_character's
 * muscle_positions and bone_positions) replace the skin and its copy on spheres and cylinders: prisms from skin to
 * muscle are fat, those from muscle to bone are muscle, three times as stiff. The bone surface is attached to the
 * joints of character.bone_attachments, and free elsewhere: near joints and in the abdomen it stretches and slides.
 *
 * All stages of the step, contact, upsampling, saving and parameters are those of method "projective". Where a vertex
 * has no surfaces under it (head, hands, toes) its tissue and bones are those of method "projective". */
#ifndef SUP_METHODS_ANATOMY_ANATOMY_H
#define SUP_METHODS_ANATOMY_ANATOMY_H

#include "methods/projective/projective.h"

enum {
    SUP_ANATOMY_MUSCLE = SUP_PROJECTIVE_PARAM_COUNT, /* those of method "projective" come first */
    SUP_ANATOMY_PARAM_COUNT
};

extern const sup_method sup_method_anatomy;

sup_result sup_anatomy_bind(const sup_bind_input *input, sup_model_builder *builder, sup_error *error);
sup_result sup_anatomy_check(const sup_model *model, sup_error *error);
sup_result sup_anatomy_step(const sup_step_input *input, void *state, const sup_skin_out *out);

#endif

/* compose_bind.h (internal) - the composition of a character: built at bind time, read back from a model. */
#ifndef SUP_METHODS_IMPLICIT_COMPOSE_BIND_H
#define SUP_METHODS_IMPLICIT_COMPOSE_BIND_H

#include "methods/implicit/compose.h"
#include "methods/implicit/setup.h"

/* Adds the arrays "compose.*"; `compose` becomes a view of them. `bound` comes from sup_fields_build with the setup's
 * muscles as its extras: def.extras = setup->extras, def.extra_count = setup->muscle_count. `skin` [skin_count*3]. */
sup_result sup_compose_bind(const sup_bind_input *input, const sup_setup *setup, const sup_fields_bound *bound,
                            const float *skin, int32_t skin_count, sup_arena *arena, sup_model_builder *builder,
                            sup_compose *compose, sup_error *error);

/* Opens the composition of a model, which may come from a file; on success it is safe to pose and to evaluate. */
sup_result sup_compose_open(const sup_model *model, int32_t joint_count, sup_compose *compose, sup_error *error);

#endif

/* compose_bind.h (internal) - the tree of a rig's fields with its operators and controllers, made at bind. */
#ifndef SUP_METHODS_IMPLICIT_COMPOSE_BIND_H
#define SUP_METHODS_IMPLICIT_COMPOSE_BIND_H

#include "methods/implicit/compose.h"
#include "methods/implicit/field_bind.h"

/* Adds arrays whose names start with "compose."; `compose` becomes a view of them. */
sup_result sup_compose_bind(const sup_bind_input *input, const sup_fields_bound *fields, sup_arena *arena,
                            sup_model_builder *builder, sup_compose *compose, sup_error *error);
/* Whatever passes is safe to evaluate. */
sup_result sup_compose_open(const sup_model *model, int32_t joint_count, sup_compose *compose, sup_error *error);

#endif

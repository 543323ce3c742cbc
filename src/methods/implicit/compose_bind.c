/* compose_bind.c - the tree of a rig's fields: bind and open.
 *
 * Based on: [vaillant2014] section 4.1: the contact operator with the elbow's controller at every joint. */
#include "methods/implicit/compose_bind.h"

#include "methods/implicit/controllers.h"
#include "methods/implicit/operators.h"
#include "methods/implicit/tree.h"

enum { NODE_INTS = 3, MUSCLE_INTS = 4 };
_Static_assert(sizeof(sup_compose_node) == NODE_INTS * sizeof(int32_t), "part of the file format");
_Static_assert(sizeof(sup_compose_muscle) == MUSCLE_INTS * sizeof(int32_t), "part of the file format");

static void describe_field(const sup_fields_bound *fields, int32_t f, sup_tree_field *to)
{
    const sup_bone_field *field = &fields->fields.fields[f];
    *to = (sup_tree_field){.parent = fields->field_parent[f],
                           .first = f >= fields->partition.part_count,
                           .size = (double)field->radius};
    for (int r = 0; r < 3; r++) { /* the middle of its grid */
        to->place[r] = (double)field->from_grid[4 * r + 3];
        for (int c = 0; c < 3; c++)
            to->place[r] += (double)field->from_grid[4 * r + c] * 0.5 * (double)(field->size[c] - 1);
    }
}

static sup_result add_tree(const sup_bind_input *input, const sup_fields_bound *fields, sup_arena *arena,
                           sup_model_builder *builder, sup_compose *compose, sup_error *error)
{
    static const int32_t brothers[2] = {0, 0};
    int32_t count = fields->fields.field_count;
    sup_tree_field *described = sup_arena_alloc(arena, (size_t)count, sizeof *described);
    int32_t *leaves = sup_model_add(builder, "compose.leaf", SUP_ARRAY_INT32, count);
    sup_compose_node *nodes =
        sup_model_add(builder, "compose.node", SUP_ARRAY_INT32, NODE_INTS * (int64_t)(count > 1 ? count - 1 : 0));
    if (described == NULL || leaves == NULL || nodes == NULL) return sup_fail_memory(error, "the tree of the fields");
    for (int32_t f = 0; f < count; f++)
        describe_field(fields, f, &described[f]);
    compose->leaves = leaves;
    compose->nodes = nodes;
    return sup_tree_build(input->context, described, count, brothers, leaves, nodes, error);
}

sup_result sup_compose_bind(const sup_bind_input *input, const sup_fields_bound *fields, sup_arena *arena,
                            sup_model_builder *builder, sup_compose *compose, sup_error *error)
{
    const sup_controller_preset *elbow = sup_controller_preset_at(SUP_CONTROLLER_ELBOW);
    sup_profile contact = sup_profile_contact();
    float *tables = sup_model_add(builder, "compose.table", SUP_ARRAY_FLOAT, SUP_OPERATOR_SIZE);
    float *controllers = sup_model_add(builder, "compose.controller", SUP_ARRAY_FLOAT, SUP_CONTROLLER_SIZE);
    void *muscles = sup_model_add(builder, "compose.muscle", SUP_ARRAY_INT32, 0);
    void *curves = sup_model_add(builder, "compose.curve", SUP_ARRAY_FLOAT, 0);
    if (tables == NULL || controllers == NULL || muscles == NULL || curves == NULL)
        return sup_fail_memory(error, "the operators");
    memset(compose, 0, sizeof *compose);
    compose->fields = fields->fields;
    sup_result result = sup_operators_build(input->context, &contact, 1, tables, error);
    if (result == SUP_OK && !sup_controller_make(elbow->points, elbow->count, controllers))
        result = sup_fail(error, SUP_ERROR_NUMERIC, "compose.controller", "", "The controller of the elbow is wrong.");
    compose->tables = tables;
    compose->table_count = 1;
    compose->controllers = controllers;
    compose->controller_count = 1;
    return result == SUP_OK ? add_tree(input, fields, arena, builder, compose, error) : result;
}

static int32_t count_of(const sup_model *model, const char *name, int64_t each)
{
    int64_t count = sup_model_array_count(model, name);
    return count >= 0 && count % each == 0 && count / each <= INT32_MAX / 16 ? (int32_t)(count / each) : -1;
}

sup_result sup_compose_open(const sup_model *model, int32_t joint_count, sup_compose *compose, sup_error *error)
{
    memset(compose, 0, sizeof *compose);
    sup_result result = sup_fields_open(model, joint_count, &compose->fields, error);
    if (result != SUP_OK) return result;
    int64_t fields = compose->fields.field_count;
    compose->table_count = count_of(model, "compose.table", SUP_OPERATOR_SIZE);
    compose->controller_count = count_of(model, "compose.controller", SUP_CONTROLLER_SIZE);
    compose->muscle_count = count_of(model, "compose.muscle", MUSCLE_INTS);
    compose->curve_count = count_of(model, "compose.curve", SUP_CONTROLLER_SIZE);
    compose->leaves = sup_model_array(model, "compose.leaf", SUP_ARRAY_INT32, fields);
    compose->nodes = sup_model_array(model, "compose.node", SUP_ARRAY_INT32, NODE_INTS * (fields > 1 ? fields - 1 : 0));
    compose->tables = sup_model_array(model, "compose.table", SUP_ARRAY_FLOAT, -1);
    compose->controllers = sup_model_array(model, "compose.controller", SUP_ARRAY_FLOAT, -1);
    compose->muscles = sup_model_array(model, "compose.muscle", SUP_ARRAY_INT32, -1);
    compose->curves = sup_model_array(model, "compose.curve", SUP_ARRAY_FLOAT, -1);
    bool ok = compose->leaves != NULL && compose->nodes != NULL && compose->tables != NULL &&
              compose->controllers != NULL && compose->muscles != NULL && compose->curves != NULL &&
              compose->table_count >= 0 && compose->controller_count >= 0 && compose->muscle_count >= 0 &&
              compose->curve_count >= 0 && sup_compose_check(compose, joint_count);
    return ok ? SUP_OK
              : sup_fail(error, SUP_ERROR_FORMAT, "implicit.model", "",
                         "The model is damaged: the tree of its fields does not fit together. Bind it again.");
}

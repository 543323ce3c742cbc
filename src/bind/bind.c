/* bind.c - binds a rig with a method, which gives a model. */
#include "bind/model.h"
#include "math/affine.h"

/* World transforms of all nodes in the bind pose: joints from the rig, other nodes from their local rest transforms. */
static sup_result add_bind_pose(const sup_rig *rig, sup_model_builder *builder, sup_error *error)
{
    const sup_character *character = rig->character;
    sup_mat34 *world = sup_model_add(builder, "bind.world", SUP_ARRAY_FLOAT, (int64_t)character->node_count * 12);
    float *weights = sup_model_add(builder, "bind.morph_weights", SUP_ARRAY_FLOAT, character->morph_weight_count);
    unsigned char *is_joint = sup_alloc_zero(&builder->allocator, (size_t)character->node_count);
    sup_result result = SUP_OK;
    if (world == NULL || weights == NULL || is_joint == NULL) result = sup_fail_memory(error, "the bind pose");
    for (int32_t j = 0; j < rig->joint_count && result == SUP_OK; j++) {
        int32_t node = rig->joint_node[j];
        if (node < 0 || node >= character->node_count)
            result = sup_fail(error, SUP_ERROR_ARGUMENT, "bind.joint", "", "Joint %d of the rig is at node %d of %d.",
                              j, node, character->node_count);
        else if (!sup_affine_finite(sup_affine_from_float(rig->joint_bind[j])))
            result = sup_fail(error, SUP_ERROR_DATA, "bind.pose", character->nodes[node].name,
                              "The bind pose of joint %d is not finite.", j);
        else {
            world[node] = rig->joint_bind[j];
            is_joint[node] = 1;
        }
    }
    for (int32_t i = 0; i < character->node_count && result == SUP_OK; i++) {
        int32_t node = character->node_order[i], parent = character->nodes[node].parent;
        if (is_joint[node]) continue;
        world[node] = sup_mat34_from_transform(character->nodes[node].rest);
        if (parent >= 0) world[node] = sup_mat34_multiply(world[parent], world[node]);
        if (!sup_affine_finite(sup_affine_from_float(world[node]))) world[node] = sup_mat34_identity();
    }
    for (int32_t m = 0; m < character->morph_count && result == SUP_OK; m++)
        weights[character->morphs[m].weight] = character->morphs[m].default_weight;
    sup_free(&builder->allocator, is_joint, (size_t)character->node_count);
    return result;
}

static sup_result add_values(const sup_method *method, const double *values, sup_model_builder *builder,
                             sup_error *error)
{
    double *checked = sup_model_add(builder, "bind.values", SUP_ARRAY_DOUBLE, method->param_count);
    if (checked == NULL) return sup_fail_memory(error, "the parameters");
    sup_method_defaults(method, checked);
    for (int32_t i = 0; i < method->param_count; i++) {
        if (values != NULL) checked[i] = values[i];
        sup_result result = sup_param_check(&method->params[i], checked[i], error);
        if (result != SUP_OK) return result;
    }
    return SUP_OK;
}

/* Sorts the paints in the order of the method's maps. */
static sup_result sort_paints(const sup_method *method, const sup_rig *rig, const sup_bind_def *def, const float **maps,
                              sup_error *error)
{
    for (int32_t i = 0; def != NULL && i < def->paint_count; i++) {
        const sup_paint *paint = &def->paints[i];
        int32_t m = sup_method_map(method, paint->map, error);
        if (m < 0) return SUP_ERROR_ARGUMENT;
        if (maps[m] != NULL || paint->values == NULL)
            return sup_fail(error, SUP_ERROR_ARGUMENT, "paint.twice", paint->map,
                            "The map \"%s\" is given twice or has no values: blend the strokes into one map.",
                            paint->map);
        sup_result result = sup_map_check(&method->maps[m], paint->values, rig->vertex_count, error);
        if (result != SUP_OK) return result;
        maps[m] = paint->values;
    }
    return SUP_OK;
}

/* Runs the bind function of the method; reports misuse of the builder that the method did not report. */
static sup_result run_method(const sup_method *method, const sup_bind_input *input, sup_model_builder *builder,
                             sup_error *error)
{
    sup_result result = method->bind(input, builder, error);
    if (result == SUP_OK && builder->out_of_memory) result = sup_fail_memory(error, "the model");
    if (result == SUP_OK && builder->misuse != NULL)
        result = sup_fail(error, SUP_ERROR_ARGUMENT, "bind.array", method->name, "The method \"%s\" adds %s.",
                          method->name, builder->misuse);
    return result;
}

static sup_result check_setup(const sup_method *method, const sup_bind_def *def, sup_error *error)
{
    if (def == NULL || def->setup == NULL || (method->flags & SUP_METHOD_SETUP) != 0) return SUP_OK;
    return sup_fail(error, SUP_ERROR_ARGUMENT, "bind.setup", method->name, "The method \"%s\" has no setup.",
                    method->name);
}

static sup_result check_arguments(const sup_method *method, const sup_rig *rig, sup_model **model, sup_error *error)
{
    if (method == NULL || rig == NULL || model == NULL || rig->character == NULL)
        return sup_fail(error, SUP_ERROR_ARGUMENT, "bind.null", "",
                        "sup_bind needs a method, a rig with its character and an output pointer for the model.");
    if (method->name == NULL || strlen(method->name) >= SUP_MODEL_NAME || method->bind == NULL ||
        method->step == NULL || method->map_count > SUP_METHOD_MAPS)
        return sup_fail(
            error, SUP_ERROR_ARGUMENT, "bind.method", "",
            "A method must have a name of at most 31 characters, bind and step functions and at most %d maps.",
            SUP_METHOD_MAPS);
    return SUP_OK;
}

sup_result sup_bind(const sup_context *context_in, const sup_method *method, const sup_rig *rig,
                    const sup_bind_def *def, sup_model **model_out, sup_error *error)
{
    sup_result result = check_arguments(method, rig, model_out, error);
    if (result == SUP_OK) result = check_setup(method, def, error);
    if (result != SUP_OK) return result;
    sup_context context = sup_context_resolve(context_in);
    sup_model_builder builder = {context.allocator, {NULL, 0, 0, sizeof(sup_built_array)}, NULL, false};
    sup_model_header counts = {.vertex_count = rig->vertex_count,
                               .node_count = rig->character->node_count,
                               .morph_weight_count = rig->character->morph_weight_count,
                               .character = sup_model_character_hash(rig->character)};
    sup_model *model = NULL;
    result = add_values(method, def != NULL ? def->values : NULL, &builder, error);
    if (result == SUP_OK) {
        const double *values = ((const sup_built_array *)(const void *)builder.arrays.data)[0].data;
        const float *maps[SUP_METHOD_MAPS] = {NULL};
        result = sort_paints(method, rig, def, maps, error);
        if (result == SUP_OK) result = add_bind_pose(rig, &builder, error);
        sup_bind_input input = {.context = &context, .rig = rig, .values = values, .maps = maps};
        if (def != NULL) {
            input.progress = def->progress;
            input.progress_user = def->progress_user;
            input.setup = def->setup;
            input.setup_size = def->setup != NULL ? def->setup_size : 0;
        }
        if (result == SUP_OK) result = run_method(method, &input, &builder, error);
    }
    if (result == SUP_OK) result = sup_model_pack(&context, method, &counts, &builder, &model, error);
    sup_model_builder_free(&builder);
    if (result == SUP_OK && method->check != NULL) result = method->check(model, error);
    if (result != SUP_OK) {
        sup_model_destroy(model);
        return result;
    }
    *model_out = model;
    return SUP_OK;
}

sup_result sup_bind_report_progress(const sup_bind_input *input, float fraction, const char *stage, sup_error *error)
{
    if (input->progress == NULL || input->progress(input->progress_user, fraction, stage)) return SUP_OK;
    return sup_fail(error, SUP_ERROR_CANCELLED, "bind.cancelled", "", "The bind was cancelled.");
}

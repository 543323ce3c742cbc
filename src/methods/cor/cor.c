/* cor.c - skinning with optimised centres of rotation as a method.
 *
 * Based on: [le2016cor]. */
#include "methods/cor/cor.h"

#include "base/simd.h"

static const sup_param params[SUP_COR_PARAM_COUNT] = {
    {"rigid", "", SUP_PARAM_BOOL, 0.0, 1.0, 0.0, NULL, true,
     "Move each vertex only with the joint of its largest weight."},
    {"sigma", "", SUP_PARAM_FLOAT, 0.01, 1.0, 0.1, NULL, false,
     "Difference of weights beyond which surface no longer counts for the centre of rotation of a vertex."},
};

static void fill_centre(const void *data, int32_t vertex, int32_t joint, float *channels)
{
    SUP_UNUSED(joint);
    memcpy(channels, (const float *)data + 3 * (int64_t)vertex, 3 * sizeof *channels);
}

static sup_result cor_bind(const sup_bind_input *input, sup_model_builder *builder, sup_error *error)
{
    const sup_allocator *allocator = &input->context->allocator;
    size_t size = sup_size_multiply((size_t)input->rig->vertex_count, 3 * sizeof(float));
    float *centres = sup_alloc(allocator, size);
    if (centres == NULL) return sup_fail_memory(error, "the centres of rotation");
    sup_result result = sup_cor_centres(input->context, input->rig, input->values[SUP_COR_SIGMA], centres, error);
    sup_skin_values values = {SUP_CENTRE_ARRAY, 3, false, fill_centre, centres};
    if (result == SUP_OK) result = sup_skin_bind_values(input, &values, 1, builder, error);
    sup_free(allocator, centres, size);
    return result;
}

sup_result sup_cor_step(const sup_step_input *input, void *state, const sup_skin_out *out, int32_t lanes)
{
    return sup_centre_step(input, state, out, input->values[SUP_COR_RIGID] != 0.0, lanes);
}

static sup_result cor_step(const sup_step_input *input, void *state, const sup_skin_out *out)
{
    return sup_cor_step(input, state, out, sup_simd_lanes());
}

const sup_method sup_method_cor = {
    .name = "cor",
    .summary = "Centres of rotation: rotations blended by weight about a point inside the limb. Keeps volume in twists "
               "and in bends.",
    .version = 1,
    .flags = SUP_METHOD_USES_WEIGHTS,
    .params = params,
    .param_count = SUP_COR_PARAM_COUNT,
    .bind = cor_bind,
    .check = sup_centre_check,
    .layout = sup_centre_layout,
    .reset = sup_skin_reset,
    .step = cor_step,
};

/* linear.c - linear blend skinning as a method. */
#include "methods/linear/linear.h"

#include "base/simd.h"

static const sup_skin_kernels linear_kernels = SUP_SKIN_KERNELS(sup_linear_window);

static size_t joint_bytes(const sup_skin_model *skin)
{
    return ((size_t)skin->joint_count * 12 * sizeof(float) + 63) / 64 * 64;
}

static sup_result linear_layout(const sup_model *model, const sup_context *context, sup_layout *layout)
{
    sup_skin_model skin = sup_skin_open(model);
    sup_layout_add(layout, 1, sup_skin_state_size(&skin, context, joint_bytes(&skin)));
    return SUP_OK;
}

static sup_result compose_joints(const sup_skin_model *skin, const sup_pose *pose, float *joints)
{
    double largest = 0.0;
    for (int32_t j = 0; j < skin->joint_count; j++) {
        sup_affine joint = sup_skin_joint(skin, pose, j);
        for (int32_t i = 0; i < 12; i++) {
            joints[12 * j + i] = (float)joint.m[i];
            largest = fmax(largest, fabs(joint.m[i]));
        }
    }
    return sup_skin_range(skin, pose, largest, 0.0);
}

sup_result sup_linear_pose(const sup_step_input *input, void *state)
{
    sup_skin_model skin = sup_skin_open(input->model);
    return compose_joints(&skin, input->pose, state);
}

sup_result sup_linear_step(const sup_step_input *input, void *state, const sup_skin_out *out, int32_t lanes)
{
    sup_skin_model skin = sup_skin_open(input->model);
    if (out->tangents != NULL && skin.tangents == NULL) return SUP_ERROR_ARGUMENT;
    sup_result result = compose_joints(&skin, input->pose, state);
    if (result != SUP_OK) return result;
    sup_skin_window work = {.skin = &skin, .joints = state, .rigid = input->values[SUP_SKIN_RIGID] != 0.0, .out = *out};
    sup_skin_run(input, &work, &linear_kernels, lanes, (unsigned char *)state + joint_bytes(&skin));
    return SUP_OK;
}

static sup_result linear_step(const sup_step_input *input, void *state, const sup_skin_out *out)
{
    return sup_linear_step(input, state, out, sup_simd_lanes());
}

const sup_method sup_method_linear = {
    .name = "linear",
    .summary = "Linear blend skinning: joint matrices blended by weight. Fastest; loses volume in twists and bends.",
    .version = 1,
    .flags = SUP_METHOD_USES_WEIGHTS,
    .params = sup_skin_params,
    .param_count = SUP_SKIN_PARAM_COUNT,
    .bind = sup_skin_bind,
    .check = sup_skin_check,
    .layout = linear_layout,
    .reset = sup_skin_reset,
    .step = linear_step,
    .device = SUP_METHOD_DEVICE_LINEAR,
};

/* dualquat.c - the dual quaternion skinning method: splits the joints of a pose into stretch and rigid motion.
 *
 * Based on: [aburumman2016survey], eq. 2; [kavan2008dual] for the split of scale and shear from rigid motion. */
#include "methods/dualquat/dualquat.h"

#include "base/simd.h"

static const sup_skin_kernels dualquat_kernels = SUP_SKIN_KERNELS(sup_dualquat_window);

static size_t round_up(size_t bytes)
{
    return (bytes + 63) / 64 * 64;
}

static size_t joint_bytes(const sup_skin_model *skin)
{
    size_t count = (size_t)skin->joint_count;
    return round_up(count * 8 * sizeof(float)) + round_up(count * 12 * sizeof(float)) + round_up(count);
}

static sup_result dualquat_layout(const sup_model *model, const sup_context *context, sup_layout *layout)
{
    sup_skin_model skin = sup_skin_open(model);
    sup_layout_add(layout, 1, sup_skin_state_size(&skin, context, joint_bytes(&skin)));
    return SUP_OK;
}

static void store_dual_quaternion(sup_quatd q, sup_vec3d t, float out[8])
{
    /* dual part = (t, 0) q / 2 */
    sup_quatd dual = sup_quatd_multiply((sup_quatd){0.5 * t.x, 0.5 * t.y, 0.5 * t.z, 0.0}, q);
    const double values[8] = {q.x, q.y, q.z, q.w, dual.x, dual.y, dual.z, dual.w};
    for (int32_t i = 0; i < 8; i++)
        out[i] = (float)values[i];
}

/* D of sup_skin_split_joint as a dual quaternion; returns whether there is a stretch. */
static bool split_joint(sup_affine joint, sup_vec3d c, float rigid[8], float stretch[12])
{
    sup_quatd rotation;
    bool stretched = sup_skin_split_joint(joint, c, &rotation, stretch);
    sup_vec3d translation = sup_v3_sub(sup_affine_point(joint, c), sup_quatd_rotate(rotation, c));
    store_dual_quaternion(rotation, translation, rigid);
    return stretched;
}

static sup_result split_joints(const sup_skin_model *skin, const sup_pose *pose, float *rigid, float *stretch,
                               unsigned char *stretched)
{
    double largest = 1.0, reach = 0.0; /* at least 1: the entries of a rotation */
    for (int32_t j = 0; j < skin->joint_count; j++) {
        sup_affine joint = sup_skin_joint(skin, pose, j);
        for (int32_t i = 0; i < 12; i++)
            largest = fmax(largest, fabs(joint.m[i]));
        if (!(largest <= (double)SUP_SKIN_LIMIT)) return SUP_ERROR_DATA;
        sup_vec3d centre = sup_v3_load(skin->joint_centre + 3 * (int64_t)j);
        reach = fmax(reach, fmax(fabs(centre.x), fmax(fabs(centre.y), fabs(centre.z))));
        stretched[j] = split_joint(joint, centre, rigid + 8 * (int64_t)j, stretch + 12 * (int64_t)j);
    }
    return sup_skin_range(skin, pose, largest, reach);
}

sup_result sup_dualquat_step(const sup_step_input *input, void *state, const sup_skin_out *out, int32_t lanes)
{
    sup_skin_model skin = sup_skin_open(input->model);
    if (out->tangents != NULL && skin.tangents == NULL) return SUP_ERROR_ARGUMENT;
    size_t count = (size_t)skin.joint_count;
    unsigned char *memory = state, *after_rigid = memory + round_up(count * 8 * sizeof(float));
    unsigned char *stretched = after_rigid + round_up(count * 12 * sizeof(float));
    float *rigid = (float *)(void *)memory, *stretch = (float *)(void *)after_rigid;
    sup_result result = split_joints(&skin, input->pose, rigid, stretch, stretched);
    if (result != SUP_OK) return result;
    sup_dualquat_joints joints = {rigid, stretch, stretched};
    sup_skin_window work = {
        .skin = &skin, .joints = &joints, .rigid = input->values[SUP_SKIN_RIGID] != 0.0, .out = *out};
    sup_skin_run(input, &work, &dualquat_kernels, lanes, memory + joint_bytes(&skin));
    return SUP_OK;
}

static sup_result dualquat_step(const sup_step_input *input, void *state, const sup_skin_out *out)
{
    return sup_dualquat_step(input, state, out, sup_simd_lanes());
}

const sup_method sup_method_dualquat = {
    .name = "dualquat",
    .summary = "Dual quaternion skinning: rigid motions blended by weight. Keeps volume in twists; bulges in bends.",
    .version = 1,
    .flags = SUP_METHOD_USES_WEIGHTS,
    .params = sup_skin_params,
    .param_count = SUP_SKIN_PARAM_COUNT,
    .bind = sup_skin_bind,
    .check = sup_skin_check,
    .layout = dualquat_layout,
    .reset = sup_skin_reset,
    .step = dualquat_step,
    .device = SUP_METHOD_DEVICE_DUALQUAT,
};

/* ddm.c - direct delta mush as a method. */
#include "methods/ddm/ddm.h"

#include "base/simd.h"

static const sup_skin_kernels ddm_kernels = SUP_SKIN_KERNELS(sup_ddm_window);

static const char *const variants[] = {"full", "v4", NULL};
static const sup_param params[SUP_DDM_PARAM_COUNT] = {
    {"radius", "sizes", SUP_PARAM_FLOAT, 0.0, 0.1, 0.01, NULL, false,
     "How far the skin is smoothed; 0 is linear blending with rotations in place of matrices for directions."},
    {"variant", "", SUP_PARAM_CHOICE, SUP_DDM_FULL, SUP_DDM_V4, SUP_DDM_FULL, variants, false,
     "full: rotation fitted to the moved neighbourhood; v4: rotation blended with smoothed weights, a quarter of the "
     "time."},
    {"prior", "", SUP_PARAM_FLOAT, 0.0, 0.95, 0.0, NULL, false,
     "Translation prior: share of the motion that smoothed points take from linear blending; keeps bends firm."},
};

/* --- Bind --- */

static void fill_centre(const void *data, int32_t vertex, int32_t joint, float *channels)
{
    SUP_UNUSED(joint);
    memcpy(channels, ((const sup_ddm_smooth *)data)->centres + 3 * (int64_t)vertex, 3 * sizeof *channels);
}

static void fill_moments(const void *data, int32_t vertex, int32_t joint, float *channels)
{
    const sup_ddm_smooth *smooth = data;
    for (int32_t i = smooth->first[vertex]; i < smooth->first[vertex + 1]; i++) {
        if (smooth->joint[i] != joint) continue;
        for (int32_t c = 0; c < SUP_DDM_CHANNELS; c++)
            channels[c] = (float)smooth->moments[(int64_t)SUP_DDM_CHANNELS * i + c];
    }
}

static sup_result ddm_bind(const sup_bind_input *input, sup_model_builder *builder, sup_error *error)
{
    sup_ddm_smooth smooth;
    sup_result result = sup_ddm_smooth_create(input->context, input->rig, input->values[SUP_DDM_RADIUS],
                                              input->values[SUP_DDM_PRIOR], &smooth, error);
    if (result == SUP_OK) {
        sup_rig rig = *input->rig;
        rig.influence_first = smooth.first;
        rig.influence_joint = smooth.joint;
        rig.influence_weight = smooth.weight;
        sup_bind_input smoothed = *input;
        smoothed.rig = &rig;
        const sup_skin_values values[2] = {{SUP_CENTRE_ARRAY, 3, false, fill_centre, &smooth},
                                           {SUP_DDM_MOMENTS, SUP_DDM_CHANNELS, true, fill_moments, &smooth}};
        bool full = input->values[SUP_DDM_VARIANT] == SUP_DDM_FULL;
        result = sup_skin_bind_values(&smoothed, values, full ? 2 : 1, builder, error);
    }
    float *frame = result == SUP_OK ? sup_model_add(builder, SUP_DDM_FRAME, SUP_ARRAY_FLOAT, 4) : NULL;
    for (int32_t i = 0; i < 4 && frame != NULL; i++)
        frame[i] = (float)(i < 3 ? smooth.origin[i] : smooth.unit);
    if (result == SUP_OK && frame == NULL) result = sup_fail_memory(error, "the model");
    sup_ddm_smooth_destroy(&smooth);
    return result;
}

/* --- Models --- */

/* Second moments of points of the character are at most the square of its size; the unit is at least 1e-18. */
static const float most_moment = 4.0f;

static bool is_full(const sup_model *model)
{
    return sup_model_values(model)[SUP_DDM_VARIANT] == SUP_DDM_FULL;
}

static sup_result damaged(sup_error *error)
{
    return sup_fail(error, SUP_ERROR_FORMAT, "skin.model", SUP_DDM_FRAME,
                    "The model is damaged: its origin or unit is missing or out of range. Bind the character again.");
}

static sup_result ddm_check(const sup_model *model, sup_error *error)
{
    sup_result result = sup_centre_check(model, error);
    if (result != SUP_OK || !is_full(model)) return result;
    const float *frame = sup_model_array(model, SUP_DDM_FRAME, SUP_ARRAY_FLOAT, 4);
    if (frame == NULL || !(frame[3] >= 1e-18f && frame[3] <= SUP_SKIN_LIMIT * 4.0f)) return damaged(error);
    for (int32_t i = 0; i < 3; i++)
        if (!(fabsf(frame[i]) <= SUP_SKIN_LIMIT)) return damaged(error);
    return sup_skin_check_values(model, SUP_DDM_MOMENTS, SUP_DDM_CHANNELS, true, most_moment, error);
}

/* --- Step --- */

static size_t matrix_bytes(const sup_skin_model *skin)
{
    return ((size_t)skin->joint_count * 12 * sizeof(float) + 63) / 64 * 64;
}

static size_t joint_bytes(const sup_skin_model *skin)
{
    return 2 * matrix_bytes(skin) + ((size_t)skin->joint_count + 63) / 64 * 64;
}

static sup_result ddm_layout(const sup_model *model, const sup_context *context, sup_layout *layout)
{
    if (!is_full(model)) return sup_centre_layout(model, context, layout);
    sup_skin_model skin = sup_skin_open(model);
    sup_layout_add(layout, 1, sup_skin_state_size(&skin, context, joint_bytes(&skin)));
    return SUP_OK;
}

/* Where the joints move the origin, on average: lengths in the step are relative to it, wherever the character is. */
static sup_vec3d moved_origin(const sup_skin_model *skin, const sup_pose *pose, sup_vec3d origin)
{
    sup_vec3d sum = sup_v3(0.0, 0.0, 0.0);
    for (int32_t j = 0; j < skin->joint_count; j++)
        sum = sup_v3_add(sum, sup_affine_point(sup_skin_joint(skin, pose, j), origin));
    return sup_v3_scale(sum, 1.0 / skin->joint_count);
}

static sup_result pose_joints(const sup_skin_model *skin, const sup_pose *pose, const float frame[4],
                              sup_ddm_joints *joints, float *motion, float *stretch, unsigned char *stretched)
{
    sup_vec3d origin = sup_v3_load(frame), moved = moved_origin(skin, pose, origin);
    double unit = (double)frame[3], largest = 1.0;
    for (int32_t j = 0; j < skin->joint_count; j++) {
        sup_affine joint = sup_skin_joint(skin, pose, j);
        for (int32_t i = 0; i < 12; i++)
            largest = fmax(largest, fabs(joint.m[i]));
        if (!(largest <= (double)SUP_SKIN_LIMIT)) return SUP_ERROR_DATA;
        sup_quatd rotation;
        stretched[j] = sup_skin_split_joint(joint, sup_v3(0.0, 0.0, 0.0), &rotation, stretch + 12 * (int64_t)j);
        sup_vec3d offset = sup_v3_scale(sup_v3_sub(sup_affine_point(joint, origin), moved), 1.0 / unit);
        joint.m[3] = offset.x, joint.m[7] = offset.y, joint.m[11] = offset.z;
        for (int32_t i = 0; i < 12; i++) {
            if (!(fabs(joint.m[i]) <= (double)SUP_SKIN_LIMIT)) return SUP_ERROR_DATA;
            motion[12 * j + i] = (float)joint.m[i];
        }
    }
    sup_v3_store(joints->origin, origin);
    sup_v3_store(joints->moved, moved);
    joints->unit = frame[3];
    joints->inverse_unit = (float)(1.0 / unit);
    return sup_skin_range(skin, pose, largest, 0.0);
}

static sup_result full_step(const sup_step_input *input, void *state, const sup_skin_out *out, int32_t lanes)
{
    sup_skin_model skin = sup_skin_open(input->model);
    if (out->tangents != NULL && skin.tangents == NULL) return SUP_ERROR_ARGUMENT;
    unsigned char *memory = state, *after_motion = memory + matrix_bytes(&skin);
    float *motion = (float *)(void *)memory, *stretch = (float *)(void *)after_motion;
    unsigned char *stretched = after_motion + matrix_bytes(&skin);
    sup_ddm_joints joints = {.motion = motion, .stretch = stretch, .stretched = stretched};
    joints.centres = sup_model_array(input->model, SUP_CENTRE_ARRAY, SUP_ARRAY_FLOAT, -1);
    joints.moments = sup_model_array(input->model, SUP_DDM_MOMENTS, SUP_ARRAY_FLOAT, -1);
    const float *frame = sup_model_array(input->model, SUP_DDM_FRAME, SUP_ARRAY_FLOAT, 4);
    sup_result result = pose_joints(&skin, input->pose, frame, &joints, motion, stretch, stretched);
    if (result != SUP_OK) return result;
    sup_skin_window work = {.skin = &skin, .joints = &joints, .out = *out};
    sup_skin_run(input, &work, &ddm_kernels, lanes, memory + joint_bytes(&skin));
    return SUP_OK;
}

sup_result sup_ddm_step(const sup_step_input *input, void *state, const sup_skin_out *out, int32_t lanes)
{
    if (is_full(input->model)) return full_step(input, state, out, lanes);
    return sup_centre_step(input, state, out, false, lanes);
}

static sup_result ddm_step(const sup_step_input *input, void *state, const sup_skin_out *out)
{
    return sup_ddm_step(input, state, out, sup_simd_lanes());
}

const sup_method sup_method_ddm = {
    .name = "ddm",
    .summary = "Direct delta mush: smooths the skinned surface and keeps the detail of the rest surface. For rough or "
               "rigid weights.",
    .version = 1,
    .flags = SUP_METHOD_USES_WEIGHTS,
    .params = params,
    .param_count = SUP_DDM_PARAM_COUNT,
    .bind = ddm_bind,
    .check = ddm_check,
    .layout = ddm_layout,
    .reset = sup_skin_reset,
    .step = ddm_step,
};

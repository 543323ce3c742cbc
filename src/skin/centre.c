/* centre.c - the joints of a pose for skinning about centres of rotation, and the step. */
#include "skin/centre.h"

static const sup_skin_kernels centre_kernels = SUP_SKIN_KERNELS(sup_centre_window);

/* Parts of the state. */
typedef struct joint_memory {
    float *motion, *rotation, *stretch;
    unsigned char *stretched;
} joint_memory;

static size_t joint_floats(const sup_skin_model *skin, size_t numbers)
{
    return ((size_t)skin->joint_count * numbers * sizeof(float) + 63) / 64 * 64;
}

static size_t joint_bytes(const sup_skin_model *skin)
{
    return 2 * joint_floats(skin, 12) + joint_floats(skin, 4) + ((size_t)skin->joint_count + 63) / 64 * 64;
}

static joint_memory joints_at(unsigned char *memory, const sup_skin_model *skin)
{
    size_t matrix = joint_floats(skin, 12);
    return (joint_memory){.motion = (float *)(void *)memory,
                          .stretch = (float *)(void *)(memory + matrix),
                          .rotation = (float *)(void *)(memory + 2 * matrix),
                          .stretched = memory + 2 * matrix + joint_floats(skin, 4)};
}

sup_result sup_centre_check(const sup_model *model, sup_error *error)
{
    sup_result result = sup_skin_check(model, error);
    if (result != SUP_OK) return result;
    /* A centre is a mean of points of the skin. */
    return sup_skin_check_values(model, SUP_CENTRE_ARRAY, 3, false, sup_skin_open(model).extent, error);
}

sup_result sup_centre_layout(const sup_model *model, const sup_context *context, sup_layout *layout)
{
    sup_skin_model skin = sup_skin_open(model);
    sup_layout_add(layout, 1, sup_skin_state_size(&skin, context, joint_bytes(&skin)));
    return SUP_OK;
}

static sup_result pose_joints(const sup_skin_model *skin, const sup_pose *pose, const joint_memory *at)
{
    double largest = 1.0; /* at least 1: the entries of a rotation */
    for (int32_t j = 0; j < skin->joint_count; j++) {
        sup_affine joint = sup_skin_joint(skin, pose, j);
        for (int32_t i = 0; i < 12; i++) {
            at->motion[12 * j + i] = (float)joint.m[i];
            largest = fmax(largest, fabs(joint.m[i]));
        }
        if (!(largest <= (double)SUP_SKIN_LIMIT)) return SUP_ERROR_DATA;
        sup_quatd q;
        /* About the origin: only the linear part of the stretch is used. */
        at->stretched[j] = sup_skin_split_joint(joint, sup_v3(0.0, 0.0, 0.0), &q, at->stretch + 12 * (int64_t)j);
        const double rotation[4] = {q.x, q.y, q.z, q.w};
        for (int32_t i = 0; i < 4; i++)
            at->rotation[4 * j + i] = (float)rotation[i];
    }
    return sup_skin_range(skin, pose, largest, 0.0);
}

sup_result sup_centre_step(const sup_step_input *input, void *state, const sup_skin_out *out, bool rigid, int32_t lanes)
{
    sup_skin_model skin = sup_skin_open(input->model);
    if (out->tangents != NULL && skin.tangents == NULL) return SUP_ERROR_ARGUMENT;
    joint_memory at = joints_at(state, &skin);
    sup_result result = pose_joints(&skin, input->pose, &at);
    if (result != SUP_OK) return result;
    sup_centre_joints joints = {at.motion, at.rotation, at.stretch, at.stretched,
                                sup_model_array(input->model, SUP_CENTRE_ARRAY, SUP_ARRAY_FLOAT, -1)};
    sup_skin_window work = {.skin = &skin, .joints = &joints, .rigid = rigid, .out = *out};
    sup_skin_run(input, &work, &centre_kernels, lanes, (unsigned char *)state + joint_bytes(&skin));
    return SUP_OK;
}

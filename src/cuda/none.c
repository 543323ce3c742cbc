/* none.c - the GPU backend of builds without nvcc: every call fails with the reason. */
#include "base/base.h"
#include "supple/device.h"

static sup_result fail_unsupported(sup_error *error)
{
    return sup_fail(error, SUP_ERROR_UNSUPPORTED, "cuda.none", "",
                    "This build of Supple has no GPU backend: step on the CPU, or rebuild with nvcc installed.");
}

sup_result sup_device_cuda_create(const sup_context *context, int32_t index, sup_device **device, sup_error *error)
{
    SUP_UNUSED(context), SUP_UNUSED(index), SUP_UNUSED(device);
    return fail_unsupported(error);
}

void sup_device_destroy(sup_device *device)
{
    SUP_UNUSED(device);
}

const char *sup_device_name(const sup_device *device)
{
    SUP_UNUSED(device);
    return "";
}

sup_result sup_crowd_create(sup_device *device, const sup_model *model, const sup_crowd_def *def, sup_crowd **crowd,
                            sup_error *error)
{
    SUP_UNUSED(device), SUP_UNUSED(model), SUP_UNUSED(def), SUP_UNUSED(crowd);
    return fail_unsupported(error);
}

void sup_crowd_destroy(sup_crowd *crowd)
{
    SUP_UNUSED(crowd);
}

sup_result sup_crowd_set(sup_crowd *crowd, int32_t instance, const char *name, double value, sup_error *error)
{
    SUP_UNUSED(crowd), SUP_UNUSED(instance), SUP_UNUSED(name), SUP_UNUSED(value);
    return fail_unsupported(error);
}

sup_result sup_crowd_hide(sup_crowd *crowd, int32_t instance, bool hidden, sup_error *error)
{
    SUP_UNUSED(crowd), SUP_UNUSED(instance), SUP_UNUSED(hidden);
    return fail_unsupported(error);
}

sup_result sup_crowd_pose(sup_crowd *crowd, int32_t instance, const sup_pose *pose, sup_error *error)
{
    SUP_UNUSED(crowd), SUP_UNUSED(instance), SUP_UNUSED(pose);
    return fail_unsupported(error);
}

sup_result sup_crowd_play(sup_crowd *crowd, int32_t instance, int32_t clip, double time, double speed, bool loops,
                          sup_error *error)
{
    SUP_UNUSED(crowd), SUP_UNUSED(instance), SUP_UNUSED(clip), SUP_UNUSED(time), SUP_UNUSED(speed), SUP_UNUSED(loops);
    return fail_unsupported(error);
}

sup_result sup_crowd_move_collider(sup_crowd *crowd, int32_t instance, int32_t index, sup_mat34 transform,
                                   sup_error *error)
{
    SUP_UNUSED(crowd), SUP_UNUSED(instance), SUP_UNUSED(index), SUP_UNUSED(transform);
    return fail_unsupported(error);
}

sup_result sup_crowd_reset(sup_crowd *crowd, int32_t instance, sup_error *error)
{
    SUP_UNUSED(crowd), SUP_UNUSED(instance);
    return fail_unsupported(error);
}

sup_result sup_crowd_step(sup_crowd *crowd, float dt, void *stream, sup_error *error)
{
    SUP_UNUSED(crowd), SUP_UNUSED(dt), SUP_UNUSED(stream);
    return fail_unsupported(error);
}

sup_result sup_crowd_wait(sup_crowd *crowd, sup_error *error)
{
    SUP_UNUSED(crowd);
    return fail_unsupported(error);
}

sup_result sup_crowd_read(sup_crowd *crowd, int32_t instance, const sup_skin_out *out, sup_error *error)
{
    SUP_UNUSED(crowd), SUP_UNUSED(instance), SUP_UNUSED(out);
    return fail_unsupported(error);
}

float *sup_crowd_positions(sup_crowd *crowd)
{
    SUP_UNUSED(crowd);
    return NULL;
}

float *sup_crowd_normals(sup_crowd *crowd)
{
    SUP_UNUSED(crowd);
    return NULL;
}

float *sup_crowd_tangents(sup_crowd *crowd)
{
    SUP_UNUSED(crowd);
    return NULL;
}

sup_result sup_crowd_last_step(sup_crowd *crowd, int32_t instance, sup_crowd_report *report, sup_error *error)
{
    SUP_UNUSED(crowd), SUP_UNUSED(instance), SUP_UNUSED(report);
    return fail_unsupported(error);
}

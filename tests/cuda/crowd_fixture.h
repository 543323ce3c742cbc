/* crowd_fixture.h - a character on the device, for tests that compare with the CPU; skipped where no GPU is found. */
#ifndef TESTS_CUDA_CROWD_FIXTURE_H
#define TESTS_CUDA_CROWD_FIXTURE_H

#include "supple/device.h"
#include "supple/supple.h"
#include "test.h"

typedef struct fixture {
    sup_character *character;
    sup_rig *rig;
    sup_model *model;
    sup_device *device;
    sup_pose *pose;
} fixture;

static inline sup_device *device_or_skip(void)
{
    sup_device *device = NULL;
    sup_error error = {0};
    sup_result result = sup_device_cuda_create(NULL, 0, &device, &error);
    if (result == SUP_ERROR_UNSUPPORTED) SKIP("no GPU");
    CHECK_OK(result, error);
    return device;
}

/* Binds f->rig with `def`, and creates a pose of f->character. */
static inline void bind_fixture(fixture *f, const sup_method *method, const sup_bind_def *def)
{
    sup_error error = {0};
    CHECK_OK(sup_bind(NULL, method, f->rig, def, &f->model, &error), error);
    CHECK_OK(sup_pose_create(NULL, f->character, &f->pose, &error), error);
}

static inline void close_fixture(fixture *f)
{
    sup_device_destroy(f->device);
    sup_pose_destroy(f->pose);
    sup_model_destroy(f->model);
    sup_rig_destroy(f->rig);
    sup_character_destroy(f->character);
}

#endif

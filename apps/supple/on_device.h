/* on_device.h - --device cuda: bakes on a GPU, or on the CPU with a message when no GPU is usable. */
#ifndef APP_ON_DEVICE_H
#define APP_ON_DEVICE_H

#include "supple/device.h"
#include "job.h"

enum { APP_DEVICE_CPU, APP_DEVICE_CUDA };
extern const char *const app_device_choices[];

/* Table row for values structs with a member `int device`. */
#define APP_ON_DEVICE(type)                                                                                      \
    {                                                                                                            \
        .kind = APP_CHOICE, .name = "device", .argument = "cpu|cuda", .offset = offsetof(type, device),          \
        .choices = app_device_choices, .help = "compute device; cuda falls back to the CPU when no GPU is found" \
    }

/* Opens the chosen device; NULL for the CPU, or, after a message, when no GPU is usable. */
sup_device *app_open_device(const sup_context *context, int choice);

/* sup_bake with the steps on a device. */
sup_result app_bake_on_device(sup_device *device, const app_job *job, const sup_bake_def *def, const char *path,
                              sup_bake_stats *stats, sup_error *error);

#endif

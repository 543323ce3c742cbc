/* on_device.h - --device cuda: the same work on a GPU, or on the CPU with a word about it where there is none. */
#ifndef APP_ON_DEVICE_H
#define APP_ON_DEVICE_H

#include "supple/device.h"
#include "job.h"

enum { APP_DEVICE_CPU, APP_DEVICE_CUDA };
extern const char *const app_device_choices[];

/* The row of an options table; `type` has an int `device`. */
#define APP_ON_DEVICE(type)                                                                             \
    {                                                                                                   \
        .kind = APP_CHOICE, .name = "device", .argument = "cpu|cuda", .offset = offsetof(type, device), \
        .choices = app_device_choices, .help = "where steps are taken; cuda: a GPU, where one is found" \
    }

/* The device that was chosen; NULL for the CPU, and, after a sentence on stderr, where no GPU can be used. */
sup_device *app_open_device(const sup_context *context, int choice);

/* sup_bake with the steps on a device. */
sup_result app_bake_on_device(sup_device *device, const app_job *job, const sup_bake_def *def, const char *path,
                              sup_bake_stats *stats, sup_error *error);

#endif

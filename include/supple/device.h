/* device.h - characters on a GPU: one or thousands of instances of a model, stepped together.
 *
 * In the library supple_cuda, beside libsupple: programs that never ask for a GPU neither link nor load anything of CUDA.
 * Built where nvcc is found; without it, or where no GPU is found at run time, sup_device_cuda_create says so and the
 * same model steps on the CPU (deform.h). The skin stays on the device: read it back, or hand the pointers to a renderer
 * (docs/methods/projective_gpu.md says how for Vulkan and OpenGL).
 *
 * Models of `linear`, `dualquat` and `projective` can be opened, with morph targets. What the device cannot do sup_crowd_create
 * refuses with SUP_ERROR_UNSUPPORTED and a name: other methods (crowd.method).
 *
 * A device and its crowds belong to one thread at a time. Calls with a stream queue work there and return; all others
 * wait until the device is done. */
#ifndef SUPPLE_DEVICE_H
#define SUPPLE_DEVICE_H

#include "supple/collider.h"
#include "supple/model.h"

typedef struct sup_device sup_device;

/* The GPU number `index`, 0 for the first. SUP_ERROR_UNSUPPORTED, and a sentence why, when there is none. */
SUP_API sup_result sup_device_cuda_create(const sup_context *context, int32_t index, sup_device **device,
                                          sup_error *error);
/* After its crowds. */
SUP_API void sup_device_destroy(sup_device *device);
SUP_API const char *sup_device_name(const sup_device *device);

/* Instances of one model. */
typedef struct sup_crowd sup_crowd;

typedef struct sup_crowd_def {
    int32_t instance_count; /* 0 = 1 */
    /* Clips that instances may play, copied to the device. The character is the one that was bound. */
    const sup_character *character;
    int32_t clip_count;
    const sup_clip *const *clips; /* [clip_count] */
    /* Things in the way of the skin of every instance (collider.h), copied. `projective` alone minds them. */
    const sup_collider *colliders; /* [collider_count] */
    int32_t collider_count;
    /* The caller's memory on the device for the skin, NULL = the crowd's own. Strides in bytes, multiples of 4; 0 =
     * tightly packed. Instances stand one behind the other. */
    float *positions, *normals; /* 3 floats a vertex */
    float *tangents;            /* 4 floats a vertex, the last one 1 or -1: which side the bitangent is on */
    size_t position_stride, position_instance_stride;
    size_t normal_stride, normal_instance_stride;
    size_t tangent_stride, tangent_instance_stride;
    bool no_normals; /* positions alone */
    bool
        with_tangents; /* tangents too, in the crowd's own memory where `tangents` is NULL; the character must have them */
} sup_crowd_def;

/* All instances at rest in the bind pose. Needs about 5.2 MB an instance, and up to 1 GB for parting, for a character of
 * 5000 simulated vertices and 23,000 shown ones; SUP_ERROR_MEMORY says how much was asked for when the device has not
 * got it. */
SUP_API sup_result sup_crowd_create(sup_device *device, const sup_model *model, const sup_crowd_def *def,
                                    sup_crowd **crowd, sup_error *error);
SUP_API void sup_crowd_destroy(sup_crowd *crowd);

/* In all of these instance -1 means every instance. */

/* Sets a live parameter; what instances differ in from step to step is their level of detail: "iterations", "tolerance",
 * "contact", "untangle", "fast". Flesh that stands with its skeleton falls asleep by itself and then costs next to nothing. */
SUP_API sup_result sup_crowd_set(sup_crowd *crowd, int32_t instance, const char *name, double value, sup_error *error);
/* A hidden instance goes on moving, and its shown skin is left as it is: nothing is upsampled. */
SUP_API sup_result sup_crowd_hide(sup_crowd *crowd, int32_t instance, bool hidden, sup_error *error);
/* The pose of the next step with its morph weights, from the host. Refused like that of sup_instance_step. */
SUP_API sup_result sup_crowd_pose(sup_crowd *crowd, int32_t instance, const sup_pose *pose, sup_error *error);
/* From now on poses come from clip `clip` of the definition, sampled on the device; it stands at `time` (seconds) and
 * goes on by `speed` * dt before every step. At its end it stops or begins anew. */
SUP_API sup_result sup_crowd_play(sup_crowd *crowd, int32_t instance, int32_t clip, double time, double speed,
                                  bool loops, sup_error *error);
/* Another `place` (collider.h) of collider number `index` of the definition: it gets there evenly during the next frame. One that
 * follows a node does so by itself, in poses and in clips. */
SUP_API sup_result sup_crowd_move_collider(sup_crowd *crowd, int32_t instance, int32_t index, sup_mat34 place,
                                           sup_error *error);
/* At rest in the current pose (or where its clip stands), no velocity. */
SUP_API sup_result sup_crowd_reset(sup_crowd *crowd, int32_t instance, sup_error *error);

/* One frame of all instances, `dt` seconds after the one before. `stream` is a cudaStream_t of the caller's or NULL; the
 * call returns when the work is queued. An error of an earlier frame may be reported by a later call. */
SUP_API sup_result sup_crowd_step(sup_crowd *crowd, float dt, void *stream, sup_error *error);
/* Waits for everything queued. */
SUP_API sup_result sup_crowd_wait(sup_crowd *crowd, sup_error *error);

/* The skin of an instance after the last frame, to the host. What the crowd does not keep is refused. */
SUP_API sup_result sup_crowd_read(sup_crowd *crowd, int32_t instance, const sup_skin_out *out, sup_error *error);
/* Where it is on the device; instance 0, the others follow at the strides of the definition. NULL for what is not kept. */
SUP_API float *sup_crowd_positions(sup_crowd *crowd);
SUP_API float *sup_crowd_normals(sup_crowd *crowd);
SUP_API float *sup_crowd_tangents(sup_crowd *crowd);

/* How the last step of an instance of `projective` went. */
typedef struct sup_crowd_report {
    int32_t iterations; /* local steps that counted */
    int32_t rejected;   /* accelerated steps that raised the objective and were taken back */
    double objective;   /* at the last local step, eq. 2.12 of the thesis, in file units squared */
    int32_t contacts;   /* rows of contact that pushed */
    bool asleep;        /* nothing was computed: the skeleton stands and the flesh has come to rest */
} sup_crowd_report;
SUP_API sup_result sup_crowd_last_step(sup_crowd *crowd, int32_t instance, sup_crowd_report *report, sup_error *error);

#endif

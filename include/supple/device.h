/* device.h - characters on a GPU: one to thousands of instances of a model, stepped together.
 *
 * In the library supple_cuda, separate from libsupple: programs without GPU support do not link or load CUDA. Built
 * when nvcc is found; without it, or without a GPU at run time, sup_device_cuda_create fails and the same model steps
 * on the CPU (deform.h). The skin stays on the device: read it back, or pass the pointers to a renderer
 * (docs/methods/projective_gpu.md: Vulkan and OpenGL).
 *
 * Supported methods declare a device implementation (sup_method.device): linear, dualquat and projective, with morph
 * targets. sup_crowd_create refuses other methods with SUP_ERROR_UNSUPPORTED (crowd.method).
 *
 * A device and its crowds must be used by one thread at a time. Calls with a stream queue work and return; all others
 * wait for the device. */
#ifndef SUPPLE_DEVICE_H
#define SUPPLE_DEVICE_H

#include "supple/collider.h"
#include "supple/model.h"

typedef struct sup_device sup_device;

/* Opens GPU number `index`, 0 for the first. SUP_ERROR_UNSUPPORTED, with the reason, when there is none. */
SUP_API sup_result sup_device_cuda_create(const sup_context *context, int32_t index, sup_device **device,
                                          sup_error *error);
/* Destroy its crowds first. */
SUP_API void sup_device_destroy(sup_device *device);
SUP_API const char *sup_device_name(const sup_device *device);

/* Instances of one model. */
typedef struct sup_crowd sup_crowd;

typedef struct sup_crowd_def {
    int32_t instance_count; /* 0 = 1 */
    /* Clips that instances may play, copied to the device. `character`: the one that was bound. */
    const sup_character *character;
    int32_t clip_count;
    const sup_clip *const *clips; /* [clip_count] */
    /* Scene colliders of every instance (collider.h), copied. Only for `projective`. */
    const sup_collider *colliders; /* [collider_count] */
    int32_t collider_count;
    /* Device memory of the caller for the skin, NULL = allocated by the crowd. Strides in bytes, multiples of 4; 0 =
     * tightly packed. Instances follow one another. */
    float *positions, *normals; /* 3 floats per vertex */
    float *tangents;            /* 4 floats per vertex, the last one is the handedness, 1 or -1 */
    size_t position_stride, position_instance_stride;
    size_t normal_stride, normal_instance_stride;
    size_t tangent_stride, tangent_instance_stride;
    bool no_normals; /* positions only */
    bool
        with_tangents; /* also tangents, allocated by the crowd when `tangents` is NULL; the character must have them */
} sup_crowd_def;

/* Creates instances at rest in the bind pose. Needs about 5.2 MB per instance, and up to 1 GB for untangling, for a
 * character with 5000 simulated and 23,000 render vertices; SUP_ERROR_MEMORY reports the requested size when the device
 * is out of memory. */
SUP_API sup_result sup_crowd_create(sup_device *device, const sup_model *model, const sup_crowd_def *def,
                                    sup_crowd **crowd, sup_error *error);
SUP_API void sup_crowd_destroy(sup_crowd *crowd);

/* In all of these instance -1 means every instance. */

/* Sets a live parameter, for example for levels of detail: "iterations", "tolerance", "contact", "untangle", "fast". An
 * instance whose skeleton and tissue are at rest sleeps and costs almost nothing. */
SUP_API sup_result sup_crowd_set(sup_crowd *crowd, int32_t instance, const char *name, double value, sup_error *error);
/* A hidden instance is simulated, but its render mesh is not updated. */
SUP_API sup_result sup_crowd_hide(sup_crowd *crowd, int32_t instance, bool hidden, sup_error *error);
/* Sets the pose of the next step with its morph weights. Checked as in sup_instance_step. */
SUP_API sup_result sup_crowd_pose(sup_crowd *crowd, int32_t instance, const sup_pose *pose, sup_error *error);
/* Plays clip `clip` of the definition, sampled on the device, from `time` (seconds); the time advances by `speed` * dt
 * before every step. At its end the clip stops or loops. */
SUP_API sup_result sup_crowd_play(sup_crowd *crowd, int32_t instance, int32_t clip, double time, double speed,
                                  bool loops, sup_error *error);
/* Sets the transform (collider.h) of collider `index` of the definition: it moves there at constant velocity during the
 * next frame. Colliders that follow a node move with it, in poses and in clips. */
SUP_API sup_result sup_crowd_move_collider(sup_crowd *crowd, int32_t instance, int32_t index, sup_mat34 transform,
                                           sup_error *error);
/* Puts an instance at rest in the current pose (or at the current time of its clip), without velocity. */
SUP_API sup_result sup_crowd_reset(sup_crowd *crowd, int32_t instance, sup_error *error);

/* One frame of all instances, `dt` seconds after the previous one. `stream`: a cudaStream_t of the caller or NULL; the
 * call returns when the work is queued. An error of an earlier frame may be reported by a later call. */
SUP_API sup_result sup_crowd_step(sup_crowd *crowd, float dt, void *stream, sup_error *error);
/* Waits for all queued work. */
SUP_API sup_result sup_crowd_wait(sup_crowd *crowd, sup_error *error);

/* Copies the skin of an instance after the last frame to the host. Arrays that the crowd does not have are refused. */
SUP_API sup_result sup_crowd_read(sup_crowd *crowd, int32_t instance, const sup_skin_out *out, sup_error *error);
/* Device pointers to the skin of instance 0; the other instances follow at the strides of the definition. NULL for
 * arrays that the crowd does not have. */
SUP_API float *sup_crowd_positions(sup_crowd *crowd);
SUP_API float *sup_crowd_normals(sup_crowd *crowd);
SUP_API float *sup_crowd_tangents(sup_crowd *crowd);

/* Statistics of the last step of an instance of `projective`. */
typedef struct sup_crowd_report {
    int32_t iterations; /* accepted local steps */
    int32_t rejected;   /* accelerated steps that raised the objective and were rejected */
    double objective;   /* at the last local step, eq. 2.12 of the thesis, in file units squared */
    int32_t contacts;   /* active contacts */
    bool asleep;        /* not computed: skeleton and tissue are at rest */
} sup_crowd_report;
SUP_API sup_result sup_crowd_last_step(sup_crowd *crowd, int32_t instance, sup_crowd_report *report, sup_error *error);

#endif

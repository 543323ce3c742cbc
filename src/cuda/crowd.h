/* crowd.h (internal) - host-side state of a device and a crowd. */
#ifndef SUP_CUDA_CROWD_H
#define SUP_CUDA_CROWD_H

#include "cuda/gpu.h"
#include "cuda/gpu_colliders.h"
#include "cuda/gpu_contact.h"
#include "cuda/gpu_untangle.h"
#include "cuda/gpu_render_mesh.h"
#include "cuda/crowd_support.h"
#include "cuda/runtime.h"
#include "deform/instance_colliders.h"
#include "methods/projective/projective_view.h"
#include "supple/device.h"

struct sup_device {
    sup_context context;
    int32_t index;
    sup_cuda_device info;
    void *stream; /* used when the caller passes no stream */
};

/* Work of a recorded graph: a step; the render mesh; for the latter, the skin of the last step extrapolated to the
 * current pose. */
enum { SUP_CROWD_STEP = 1, SUP_CROWD_RENDER = 2, SUP_CROWD_EXTRAPOLATE = 4, SUP_CROWD_ALL = 7 };

/* Scene colliders; the same for all instances, with a transform for each. */
typedef struct sup_crowd_colliders {
    int32_t count;
    sup_colliders *list; /* checked copies; NULL without any */
    bool follow;         /* some follow nodes */
    /* [instances*count] own space -> node or world; node -> world; own space -> world in the previous frame and in this
     * one */
    sup_affine *transform, *node_world, *from, *to;
    sup_gpu_collider *solids; /* [instances*count] as last sent */
    bool at_rest;             /* no collider moves in them */
    sup_gpu_colliders device;
} sup_crowd_colliders;

struct sup_crowd {
    sup_device *device;
    sup_context context;
    sup_arena arena; /* host memory */
    const sup_model *model;
    const sup_method *method;
    sup_method_device kind;
    int32_t count, vertex_count, joint_count;
    bool has_clips;
    sup_array memory; /* void *: device allocations */
    size_t allocated; /* total size in bytes */
    /* Host side */
    double *values; /* [count*param_count] */
    float *pose;    /* [count*joint_count*12] joints set by the host, and those of the previous frame */
    float *previous_pose;
    unsigned char *was_reset;  /* [count] no frame with a duration since the last reset */
    float *between;            /* the same, interpolated */
    int32_t *joint_parent;     /* [joint_count] -1 for roots; of `projective` */
    float *joint_centre;       /* [joint_count*3] bind pose; of `projective` */
    sup_gpu_play *play;        /* [count] as last set; clip -1: `pose` is used */
    sup_gpu_command *commands; /* [count] */
    sup_gpu_command *settling; /* [count] for the settle phase of a reset */
    int32_t weight_count;      /* morph weights of a pose */
    float *morph_weights;      /* [count*weight_count] set by the host */
    bool pose_changed, commands_changed, weights_changed;
    int32_t *joint_node; /* [joint_count] */
    float *inverse_bind; /* [joint_count*12] */
    double behind;       /* seconds from the last step to the frame */
    float seconds;       /* by which clips advance before the next pose, as on the device */
    bool seconds_known;
    float frame_time
        [2]; /* decay of the untangling offsets and duration of the frame, as on the device; negative: not sent */
    float time_step, size, unit_metres;
    /* Device side */
    float *device_seconds, *device_frame_time;
    sup_gpu_command *device_commands, *settle_commands; /* settle_commands: of the settle phase */
    sup_gpu_motion motion;
    sup_gpu_joints joints;
    sup_gpu_system system;
    sup_gpu_state state;
    sup_gpu_body body;
    sup_gpu_detect detect;
    sup_crowd_colliders colliders;
    sup_gpu_anchors anchors;
    sup_gpu_upsample upsample;
    sup_gpu_untangle untangle;
    sup_gpu_skin skin;
    sup_gpu_out out;
    /* Recorded launches, by SUP_CROWD_*. */
    void *graph[SUP_CROWD_ALL + 1];
    int32_t graph_iterations;
    int32_t graph_solves; /* 0: no contact */
    bool graph_detects;   /* self-collision */
    bool graph_rigid;     /* some instances use only the strongest joint */
};

/* Size of a vertex' position, normal and tangent in bytes. */
extern const size_t sup_crowd_packed[3];

/* Converts a CUDA error code; SUP_OK for 0. `doing` completes "The GPU failed while ...". */
sup_result sup_cuda_result(const sup_device *device, int code, const char *doing, sup_error *error);

/* Device memory that is freed with the crowd; NULL when out of memory (sets the error). */
void *sup_crowd_alloc(sup_crowd *crowd, size_t count, size_t size, sup_error *error);
void *sup_crowd_upload(sup_crowd *crowd, const void *from, size_t count, size_t size, sup_error *error);

/* Allocations and uploads of a new crowd (crowd_open.c). */
sup_result sup_crowd_open(sup_crowd *crowd, const sup_crowd_def *def, sup_error *error);
/* Morph targets (crowd_morphs.c): allocates the weights; uploads the targets of the skin's lanes [lane_count]. */
sup_result sup_crowd_open_weights(sup_crowd *crowd, sup_error *error);
sup_result sup_crowd_open_morphs(sup_crowd *crowd, const int32_t *lanes, int32_t lane_count, sup_error *error);
/* Sets the weights of a pose for the instances [begin, end); sends changed weights to the device. */
void sup_crowd_set_weights(sup_crowd *crowd, int32_t begin, int32_t end, const float *weights);
int sup_crowd_send_weights(sup_crowd *crowd, void *stream);
/* Colliders (crowd_colliders.c): checks and copies them; then, after the rest of a projective model, uploads them. */
sup_result sup_crowd_check_colliders(sup_crowd *crowd, const sup_crowd_def *def, sup_error *error);
sup_result sup_crowd_open_colliders(sup_crowd *crowd, const sup_projective_view *view, sup_error *error);
/* Sets the node transforms of the instances [begin, end) for colliders that follow nodes. */
void sup_crowd_pose_colliders(sup_crowd *crowd, int32_t begin, int32_t end, const sup_mat34 *nodes);
/* At the start of a frame: wakes instances whose colliders moved. At its end, and at a reset: the current transforms
 * become the previous ones. */
void sup_crowd_wake_moved(sup_crowd *crowd);
void sup_crowd_end_collider_frame(sup_crowd *crowd, int32_t begin, int32_t end);
/* Sends the transforms of a step from fraction t0 to t1 of the frame. */
int sup_crowd_send_solids(sup_crowd *crowd, double t0, double t1, void *stream);
/* The colliders of the instances from `begin` on. */
sup_gpu_colliders sup_crowd_colliders_range(const sup_crowd *crowd, int32_t begin);

/* The range of an instance, or of all for -1. */
bool sup_crowd_range(const sup_crowd *crowd, int32_t instance, int32_t *begin, int32_t *end, sup_error *error);
/* Sets the command of an instance from its parameter values. */
void sup_crowd_send_commands(sup_crowd *crowd, int32_t instance);

#endif

/* crowd.h (internal) - a device and a crowd as the host side keeps them. */
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
    void *stream; /* where work goes when the caller has no stream */
};

/* A step; a picture; before it the pose of the moment, to which the skin of the last step is carried on. */
enum { SUP_CROWD_STEP = 1, SUP_CROWD_SHOW = 2, SUP_CROWD_CARRY = 4, SUP_CROWD_ALL = 7 };

/* Things in the way of the instances; all have the same, each where it is for them. */
typedef struct sup_crowd_colliders {
    int32_t count;
    sup_colliders *list; /* checked copies; NULL without any */
    bool follow;         /* some follow nodes */
    /* [instances*count] own space -> node or world; node -> world; own space -> world in the frame before, and in this one */
    sup_affine *place, *carrier, *from, *to;
    sup_gpu_solid *solids; /* [instances*count] as last sent */
    bool stood;            /* nothing moves in them */
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
    sup_array memory; /* void *: what was allocated on the device */
    size_t allocated; /* bytes of it */
    /* Host side */
    double *values; /* [count*param_count] */
    float *pose;    /* [count*joint_count*12] joints that the host gave, and those of the frame before */
    float *pose_before;
    float *between;           /* the same, on the way */
    sup_gpu_play *play;       /* [count] as last told; clip -1: pose above */
    sup_gpu_command *orders;   /* [count] */
    sup_gpu_command *settling; /* [count] of those, what counts at a reset */
    int32_t weight_count;     /* of morph targets that a pose has */
    float *morph_weights;     /* [count*weight_count] that the host gave */
    bool pose_changed, orders_changed, weights_changed;
    int32_t *joint_node; /* [joint_count] */
    float *inverse_bind; /* [joint_count*12] */
    double behind;       /* seconds that the last step is behind the frame */
    float seconds;       /* by which clips go on before the next pose, as the device has it */
    bool seconds_known;
    float keep; /* of what was moved apart in the last frame, as the device has it; negative: it does not know */
    float time_step, size, unit_metres;
    /* Device side */
    float *device_seconds, *device_keep;
    sup_gpu_command *device_orders, *settle_orders; /* settle: nothing but to come to rest */
    sup_gpu_motion motion;
    sup_gpu_joints joints;
    sup_gpu_system system;
    sup_gpu_state state;
    sup_gpu_body body;
    sup_gpu_detect detect;
    sup_crowd_colliders colliders;
    sup_gpu_anchors anchors;
    sup_gpu_upsample upsample;
    sup_gpu_untangle part;
    sup_gpu_skin skin;
    sup_gpu_out out;
    /* Recorded launches, by what they do. */
    void *graph[SUP_CROWD_ALL + 1];
    int32_t graph_turns;
    int32_t graph_solves; /* 0: nothing touches */
    bool graph_detects;   /* skin touches skin */
    bool graph_rigid;     /* some vertices go with their strongest joint alone */
};

/* Bytes of a vertex' position, normal and tangent. */
extern const size_t sup_crowd_packed[3];

/* CUDA's error as a sentence; SUP_OK for 0. */
sup_result sup_cuda_result(const sup_device *device, int code, const char *doing, sup_error *error);

/* Device memory that lives as long as the crowd, NULL when there is none (error filled). */
void *sup_crowd_alloc(sup_crowd *crowd, size_t count, size_t size, sup_error *error);
void *sup_crowd_upload(sup_crowd *crowd, const void *from, size_t count, size_t size, sup_error *error);

/* Everything that is made once (crowd_open.c). */
sup_result sup_crowd_open(sup_crowd *crowd, const sup_crowd_def *def, sup_error *error);
/* Morph targets (crowd_morphs.c): memory for weights, those of the bind pose; entries of the skin's lanes [lane_count], once. */
sup_result sup_crowd_open_weights(sup_crowd *crowd, sup_error *error);
sup_result sup_crowd_open_morphs(sup_crowd *crowd, const int32_t *lanes, int32_t lane_count, sup_error *error);
/* The weights of a pose for the instances [begin, end), and what changed to the device. */
void sup_crowd_take_weights(sup_crowd *crowd, int32_t begin, int32_t end, const float *weights);
int sup_crowd_send_weights(sup_crowd *crowd, void *stream);
/* Colliders (crowd_colliders.c): checked; then, when everything else of a projective model is there, opened. */
sup_result sup_crowd_check_colliders(sup_crowd *crowd, const sup_crowd_def *def, sup_error *error);
sup_result sup_crowd_open_colliders(sup_crowd *crowd, const sup_projective_view *view, sup_error *error);
/* The instances [begin, end) are where the nodes of a pose are. */
void sup_crowd_aim_colliders(sup_crowd *crowd, int32_t begin, int32_t end, const sup_mat34 *nodes);
/* At the begin of a frame: instances whose colliders moved do not sleep. At its end, and at a reset: what was now is before. */
void sup_crowd_wake_moved(sup_crowd *crowd);
void sup_crowd_pass_colliders(sup_crowd *crowd, int32_t begin, int32_t end);
/* Where they are in a step from part t0 to part t1 of the frame. */
int sup_crowd_send_solids(sup_crowd *crowd, double t0, double t1, void *stream);
/* Those of the instances from `begin` on. */
sup_gpu_colliders sup_crowd_colliders_range(const sup_crowd *crowd, int32_t begin);

/* The range of an instance, or of all for -1. */
bool sup_crowd_choose(const sup_crowd *crowd, int32_t instance, int32_t *begin, int32_t *end, sup_error *error);
/* Orders of an instance from its parameter values. */
void sup_crowd_send_commands(sup_crowd *crowd, int32_t instance);

#endif

/* gpu_render_mesh.h (internal) - poses, anchors and render mesh on the device: arrays and launches. See gpu.h. */
#ifndef SUP_CUDA_GPU_RENDER_MESH_H
#define SUP_CUDA_GPU_RENDER_MESH_H

#include "cuda/gpu.h"
#include "tissue/anchors.h"
#include "supple/method.h"
#include "upsample/upsample.h"

#ifdef __cplusplus
extern "C" {
#endif

/* --- Poses --- */

/* A channel of a clip: sup_channel with offsets into common arrays. */
typedef struct sup_gpu_channel {
    int32_t target, interpolation, key_count;
    int32_t time_first, value_first;
} sup_gpu_channel;

typedef struct sup_gpu_clip {
    float start, end;
    int32_t node_first; /* into channel_first, which has node_count + weight_count + 1 entries per clip */
} sup_gpu_clip;

/* Nodes of a character and its clips; node_count 0 without clips. */
typedef struct sup_gpu_motion {
    int32_t node_count, clip_count;
    int32_t weight_count;         /* of morph targets; 0 where the model has none */
    const int32_t *parent;        /* [node_count] */
    const float *rest;            /* [node_count*10] translation, rotation, scale */
    const sup_gpu_clip *clips;    /* [clip_count] */
    const float *rest_weights;    /* [weight_count] for weights without a channel */
    const int32_t *channel_first; /* channels of each node, then of each weight, of each clip */
    const sup_gpu_channel *channels;
    const float *times, *values;
} sup_gpu_motion;

/* The clip that a character plays. */
typedef struct sup_gpu_play {
    int32_t clip; /* -1: the host sets its joints */
    int32_t loops;
    float time, speed;
} sup_gpu_play;

/* Joints of a model, and their matrices in the poses of the characters. */
typedef struct sup_gpu_joints {
    int32_t count, joint_count;
    const int32_t *node;       /* [joint_count] */
    const float *inverse_bind; /* [joint_count*12] */
    float *pose;               /* [count*joint_count*12] world * inverse bind */
    sup_gpu_play *play;        /* [count] */
} sup_gpu_joints;

/* Advances the characters that play a clip by `seconds` (on the device) and computes their poses. */
int sup_gpu_pose(const sup_gpu_motion *motion, const sup_gpu_joints *joints, const float *seconds, void *stream);
size_t sup_gpu_pose_shared(const sup_gpu_motion *motion);
/* After that: their morph weights at the current time of their clips, [count*weight_count]. */
int sup_gpu_weights(const sup_gpu_motion *motion, const sup_gpu_joints *joints, float *weights, void *stream);
/* sup_gpu_pose at the start of a step, and the rest counter and sleep of the characters (sleep.cuh). */
int sup_gpu_wake(const sup_gpu_motion *motion, const sup_gpu_joints *joints, const float *seconds,
                 const sup_gpu_system *system, const sup_gpu_state *state, void *stream);

/* --- Anchors --- */

typedef struct sup_gpu_anchors {
    sup_anchors view;           /* of arrays on the device */
    const int32_t *rigid_frame; /* [rigid] frame of each */
    int32_t rigid_count;
    int32_t first, stride; /* anchors before these, and total per character */
    float *ends;           /* [count*segment_count*8] ends of the bone segments in the pose, for foot points */
} sup_gpu_anchors;

size_t sup_gpu_anchors_shared(const sup_anchors *view);
/* `phases`: array of structures of `phase_stride` bytes that begin with the phase of a character. `bend`: second
 * difference of the anchors over three steps. */
int sup_gpu_anchors_step(const sup_gpu_anchors *anchors, const sup_gpu_joints *joints, const int32_t *phases,
                         size_t phase_stride, sup_gpu_four *const out[3], sup_gpu_four *bend, void *stream);

/* --- Render mesh --- */

/* Output on the device. Strides in bytes; NULL arrays are not written. */
typedef struct sup_gpu_out {
    float *positions, *normals, *tangents;
    size_t vertex_stride[3];   /* of positions, of normals, of tangents */
    size_t instance_stride[3]; /* the same */
} sup_gpu_out;

typedef struct sup_gpu_upsample {
    int32_t coarse_count, slots, plain_count, row_count;
    const int32_t *row_vertex; /* [row_count] render vertex of a row of the upsampling matrix (upsample_rows.h) */
    const uint16_t *narrow;    /* [slots*row_count] coarse vertex, slot by slot */
    const int32_t *wide;       /* the same for more than 65536 coarse vertices */
    const float *plain;        /* [slots*plain_count*2] */
    const float *followers;    /* [slots*(row_count-plain_count)*4] */
    const int32_t *triangles, *corner_first, *corner_triangle;
    const float *rest_normal;
    const float *tangent_weights; /* [slots*row_count*2] from positions and normals; NULL: no tangents */
    const float *tangent_signs;   /* [row_count] handedness */
    float *coarse;                /* [count*coarse_count*8] x nx y ny z nz 0 0 */
    sup_gpu_four *packed; /* [count*coarse_count] for crowds: x y z, and a normal of three times ten bits; else NULL */
} sup_gpu_upsample;

/* From the skin of the last step, or the extrapolated one. Hidden characters are not updated. */
int sup_gpu_render_mesh(const sup_gpu_upsample *up, const sup_gpu_state *state, bool extrapolated,
                        const sup_gpu_out *out, void *stream);

/* Morph targets of the lanes: an entry adds weight * offset to the position and the normal at rest. */
typedef struct sup_gpu_morphs {
    int32_t weight_count;  /* of a pose; 0: no target affects any of the lanes */
    const int32_t *first;  /* [lane_count+1] entries of a lane, in the order of the targets */
    const int32_t *weight; /* [entry] index of its weight */
    const float *offsets;  /* [entry*6] position and normal, bind space */
    float *weights;        /* [count*weight_count] of the characters' poses */
} sup_gpu_morphs;

/* The classic methods, from the lanes of skin. */
typedef struct sup_gpu_skin {
    int32_t lane_count;
    const int32_t *lane;   /* [lane_count] cluster*16 + lane of the vertices to skin */
    const int32_t *vertex; /* [lane_count] output vertex */
    const int32_t *joint_first, *weight_first;
    const uint16_t *joints;
    const float *weights;
    const unsigned char *strongest;
    const float *positions, *normals;
    const float *tangents; /* [cluster_count*64] x, y, z, handedness; NULL: none */
    sup_gpu_morphs morphs;
    const float *joint_centre; /* [joint_count*3] */
    float *rigid;              /* [count*joint_count*24] dual quaternion, stretch, whether stretched; NULL: linear */
} sup_gpu_skin;

/* `some_rigid`: some characters have the command `strongest`. */
int sup_gpu_skin_step(const sup_gpu_skin *skin, const sup_gpu_joints *joints, const sup_gpu_command *commands,
                      bool some_rigid, const sup_gpu_out *out, void *stream);

#ifdef __cplusplus
}
#endif

#endif

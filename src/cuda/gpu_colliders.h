/* gpu_colliders.h (internal) - contacts of the skin with scene colliders: contact/collider_contact.h on the device. See
 * gpu.h. */
#ifndef SUP_CUDA_GPU_COLLIDERS_H
#define SUP_CUDA_GPU_COLLIDERS_H

#include "cuda/gpu_render_mesh.h"
#include "geometry/collide_points.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A collider of one character in a timestep. */
typedef struct sup_gpu_collider {
    sup_posed_collider solid; /* its mesh is on the device */
    sup_collider_space space; /* scale 0: not invertible */
    sup_affine transform;     /* local space -> its node's, or the world */
    int32_t node, pad;        /* node that it follows, -1 for none */
} sup_gpu_collider;

typedef struct sup_gpu_colliders {
    int32_t count;            /* of each character; 0: none */
    float gap, release;       /* as in sup_point_contact_input */
    const double *thickness;  /* [skin_count] of the tissue at rest, plus one edge */
    sup_gpu_collider *solids; /* [characters*count] */
    sup_affine *followed;     /* [characters*count] transforms at the last timestep */
} sup_gpu_colliders;

/* After sup_gpu_wake: moves colliders that follow nodes of characters that play a clip; one that moved wakes its
 * character. `fresh`: this is the first timestep. */
int sup_gpu_follow(const sup_gpu_colliders *colliders, const sup_gpu_motion *motion, const sup_gpu_joints *joints,
                   const sup_gpu_state *state, bool fresh, void *stream);
/* Contacts of this timestep with colliders, from `extrapolated`, after those of the skin with itself. */
int sup_gpu_collide(const sup_gpu_colliders *colliders, const sup_gpu_system *system, const sup_gpu_state *state,
                    const sup_gpu_body *body, const float *joints, void *stream);

#ifdef __cplusplus
}
#endif

#endif

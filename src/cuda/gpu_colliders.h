/* gpu_colliders.h (internal) - skin against things that are given: contact/collider_contact.h on the device. See gpu.h. */
#ifndef SUP_CUDA_GPU_COLLIDERS_H
#define SUP_CUDA_GPU_COLLIDERS_H

#include "cuda/gpu_render_mesh.h"
#include "geometry/collide_points.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A thing as a character meets it in a step. */
typedef struct sup_gpu_solid {
    sup_solid solid;       /* its mesh is on the device */
    sup_solid_space space; /* scale 0: there is no way in */
    sup_affine place;      /* own space -> its node's, or the world */
    int32_t node, pad;     /* that it follows, -1 for none */
} sup_gpu_solid;

typedef struct sup_gpu_colliders {
    int32_t count;           /* of every character's; 0: none */
    float gap, keep;         /* sup_touch_input */
    const double *thickness; /* [skin_count] of the flesh at rest, and an edge */
    sup_gpu_solid *solids;   /* [characters*count] */
    sup_affine *followed;    /* [characters*count] where they were at the last step */
} sup_gpu_colliders;

/* After sup_gpu_wake: things that follow nodes of characters that play a clip; one that moved wakes its character. `fresh`: there
 * was no step before. */
int sup_gpu_follow(const sup_gpu_colliders *colliders, const sup_gpu_motion *motion, const sup_gpu_joints *joints,
                   const sup_gpu_state *state, bool fresh, void *stream);
/* Rows of this step with the things, from `carried`, behind those of the skin with itself. */
int sup_gpu_touch(const sup_gpu_colliders *colliders, const sup_gpu_system *system, const sup_gpu_state *state,
                  const sup_gpu_body *body, const float *joints, void *stream);

#ifdef __cplusplus
}
#endif

#endif

/* instance_colliders.h (internal) - the things in the way of one instance, and where they are between its frames. */
#ifndef SUP_DEFORM_INSTANCE_COLLIDERS_H
#define SUP_DEFORM_INSTANCE_COLLIDERS_H

#include "geometry/collide_points.h"
#include "supple/pose.h"

typedef struct sup_colliders {
    int32_t count;
    uint32_t generation;   /* of this list, as counted by its owner */
    sup_posed_collider *solids;     /* [count] as sup_colliders_between left them */
    sup_affine *place;     /* [count] own space -> node or world */
    sup_affine *from, *to; /* [count] own space -> world in the frame before and in this one */
    int32_t *node;         /* [count] or -1 */
    sup_bvh *trees;        /* [count] of meshes */
    bool fresh;            /* no frame before */
    sup_arena arena;
} sup_colliders;

/* Copies and checks everything; `node_count` is what a pose has. */
sup_result sup_colliders_create(const sup_context *context, const sup_collider *colliders, int32_t count,
                                int32_t node_count, sup_colliders **made, sup_error *error);
void sup_colliders_destroy(sup_colliders *colliders);
/* Whether a thing can stand there: finite, with an inverse. */
bool sup_collider_transform_usable(sup_mat34 place);

/* Where they are in the frame of `pose`; the first time also in the frame before. */
void sup_colliders_aim(sup_colliders *colliders, const sup_pose *pose);
/* Whether none of them moved since the frame before. */
bool sup_colliders_stand(const sup_colliders *colliders);
/* The frame is over: what was now is before. */
void sup_colliders_pass(sup_colliders *colliders);
/* For methods: the things in a step from part t0 to part t1 of the frame, less `origin`. */
const sup_posed_collider *sup_colliders_between(sup_colliders *colliders, double t0, double t1, sup_vec3d origin);

#endif

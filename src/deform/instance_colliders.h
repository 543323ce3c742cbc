/* instance_colliders.h (internal) - scene colliders of one instance, interpolated between its frames. */
#ifndef SUP_DEFORM_INSTANCE_COLLIDERS_H
#define SUP_DEFORM_INSTANCE_COLLIDERS_H

#include "geometry/collide_points.h"
#include "supple/pose.h"

typedef struct sup_colliders {
    int32_t count;
    uint32_t generation;        /* of this list, counted by the instance */
    sup_posed_collider *solids; /* [count] as of sup_colliders_between */
    sup_affine *transform;      /* [count] own space -> node or world */
    sup_affine *from, *to;      /* [count] own space -> world in the previous frame and in this one */
    int32_t *node;              /* [count] or -1 */
    sup_bvh *trees;             /* [count] of meshes */
    bool fresh;                 /* there is no previous frame */
    sup_arena arena;
} sup_colliders;

/* Checks and copies everything; `node_count` of a pose. */
sup_result sup_colliders_create(const sup_context *context, const sup_collider *colliders, int32_t count,
                                int32_t node_count, sup_colliders **made, sup_error *error);
void sup_colliders_destroy(sup_colliders *colliders);
/* Whether a transform is finite and invertible. */
bool sup_collider_transform_usable(sup_mat34 transform);

/* Sets the transforms of the frame of `pose`; the first time also those of the previous frame. */
void sup_colliders_set_pose(sup_colliders *colliders, const sup_pose *pose);
/* Whether none of them moved since the previous frame. */
bool sup_colliders_at_rest(const sup_colliders *colliders);
/* Ends the frame: its transforms become those of the previous frame. */
void sup_colliders_end_frame(sup_colliders *colliders);
/* For methods: the colliders in a step from fraction t0 to t1 of the frame, relative to `origin`. */
const sup_posed_collider *sup_colliders_between(sup_colliders *colliders, double t0, double t1, sup_vec3d origin);

#endif

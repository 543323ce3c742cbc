/* collider.h - scene colliders of the skin: moving planes, spheres, capsules and closed meshes. */
#ifndef SUPPLE_COLLIDER_H
#define SUPPLE_COLLIDER_H

#include "supple/math.h"

typedef enum sup_collider_shape {
    SUP_COLLIDER_PLANE,   /* through `from`, with the normal `to` - `from`; solid on the side opposite to `to` */
    SUP_COLLIDER_CAPSULE, /* around the segment from `from` to `to`; a sphere if both are the same point */
    SUP_COLLIDER_MESH     /* closed, triangles counter-clockwise seen from outside */
} sup_collider_shape;

/* One collider in its local space. Create it with one of the functions below and change members as needed. */
typedef struct sup_collider {
    sup_collider_shape shape;
    sup_vec3 from, to;
    float radius; /* of a capsule */
    int32_t vertex_count, triangle_count;
    const float *positions;   /* [vertex_count*3] of a mesh; copied when passed to an instance */
    const int32_t *triangles; /* [triangle_count*3] */
    int32_t node;             /* node of the pose that the collider follows; -1: fixed in the world */
    sup_mat34 transform;      /* local space -> node space, or world; rotation, translation and uniform scale */
    float friction;           /* Coulomb friction coefficient, 0 to 100 */
} sup_collider;

/* Colliders in the world with friction 0.5. `normal` points away from the solid side and need not be a unit vector. */
SUP_API sup_collider sup_collider_plane(sup_vec3 point, sup_vec3 normal);
SUP_API sup_collider sup_collider_sphere(sup_vec3 centre, float radius);
SUP_API sup_collider sup_collider_capsule(sup_vec3 from, sup_vec3 to, float radius);
SUP_API sup_collider sup_collider_mesh(const float *positions, int32_t vertex_count, const int32_t *triangles,
                                       int32_t triangle_count);

#endif

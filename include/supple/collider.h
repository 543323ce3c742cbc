/* collider.h - things in the way of the skin: planes, spheres, capsules and closed meshes that move as they like. */
#ifndef SUPPLE_COLLIDER_H
#define SUPPLE_COLLIDER_H

#include "supple/math.h"

typedef enum sup_collider_shape {
    SUP_COLLIDER_PLANE,   /* through `from`; everything on the other side of it than `to` is inside */
    SUP_COLLIDER_CAPSULE, /* around the line from `from` to `to`; a sphere where they are the same */
    SUP_COLLIDER_MESH     /* closed, triangles outward */
} sup_collider_shape;

/* One thing, in a space of its own. Make it with one of the functions below and change what you want. */
typedef struct sup_collider {
    sup_collider_shape shape;
    sup_vec3 from, to;
    float radius; /* of a capsule */
    int32_t vertex_count, triangle_count;
    const float *positions;   /* [vertex_count*3] of a mesh; copied when it is given to an instance */
    const int32_t *triangles; /* [triangle_count*3] */
    int32_t node;             /* node of the pose that it follows; -1: it stands in the world */
    sup_mat34 place;          /* its own space -> that node's, or the world: turned, moved, scaled alike on all axes */
    float friction;           /* Coulomb's coefficient, 0 to 100: how much it drags the skin along */
} sup_collider;

/* In the world, with friction 0.5; `normal` points out of the plane and need not be a unit vector. */
SUP_API sup_collider sup_collider_plane(sup_vec3 point, sup_vec3 normal);
SUP_API sup_collider sup_collider_sphere(sup_vec3 centre, float radius);
SUP_API sup_collider sup_collider_capsule(sup_vec3 from, sup_vec3 to, float radius);
SUP_API sup_collider sup_collider_mesh(const float *positions, int32_t vertex_count, const int32_t *triangles,
                                       int32_t triangle_count);

#endif

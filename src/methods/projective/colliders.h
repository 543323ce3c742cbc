/* colliders.h - skin against things that are given: planes, balls, capsules and closed meshes that move as they like.
 *
 * A row goes from a skin vertex to the nearest point of a thing, and says how far that point moved: friction drags the
 * skin along. A vertex has one such row, for the thing it is deepest in; a contact ends only a little way off the
 * surface, so that resting contacts do not flicker. */
#ifndef SUP_METHODS_PROJECTIVE_COLLIDERS_H
#define SUP_METHODS_PROJECTIVE_COLLIDERS_H

#include "geometry/bvh.h"
#include "math/affine.h"
#include "methods/projective/contact.h"

typedef enum sup_collider_kind {
    SUP_COLLIDER_PLANE,   /* through `from`, outward along `to` - `from` */
    SUP_COLLIDER_CAPSULE, /* from `from` to `to`; a ball where they are the same */
    SUP_COLLIDER_MESH     /* closed, triangles outward */
} sup_collider_kind;

typedef struct sup_collider {
    sup_collider_kind kind;
    sup_vec3d from, to;        /* its own space */
    double radius;             /* of a capsule, its own space */
    const sup_bvh *mesh;       /* its own space */
    sup_affine world;          /* its own space -> world now: turned, moved, scaled alike in all directions */
    sup_affine before;         /* the same one step ago */
    float stiffness, friction; /* for the rows */
} sup_collider;

/* Where a point is, seen from a thing, all in world space. */
typedef struct sup_collider_view {
    sup_vec3d point;  /* nearest on the surface */
    sup_vec3d normal; /* unit, outward; zero where there is none */
    double height;    /* of the point above the surface, negative inside */
    sup_vec3d motion; /* of the nearest point since the last step */
} sup_collider_view;

/* False: not inside and not within `limit` of it, or not finite. */
bool sup_collider_look(const sup_collider *collider, sup_vec3d point, double limit, sup_collider_view *view);

typedef struct sup_colliders_input {
    const sup_collider *colliders;
    int32_t collider_count;
    const float *skin; /* [vertex_count] x y z, world space */
    int32_t skin_stride, vertex_count;
    float keep; /* a contact ends this far above the surface, file units: a quarter of the skin's mean edge */
} sup_colliders_input;

/* State: which thing each vertex touches, 64-aligned. */
size_t sup_colliders_state_size(int32_t vertex_count);
void sup_colliders_reset(int32_t vertex_count, void *state);
/* Rows by rising vertex, at most one each: `rows` holds vertex_count. Returns how many. The colliders of a state keep
 * their order; when their number changes, contacts are found anew. */
int32_t sup_colliders_step(const sup_context *context, const sup_colliders_input *input, void *state,
                           sup_contact *rows);

#endif

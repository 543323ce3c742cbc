/* collide_points.h (internal) - points against scene colliders: planes, spheres, capsules and closed meshes.
 *
 * A point contact is a point inside a collider or near its surface, with the nearest surface point and the motion of
 * that point. A point has one contact, with the collider it is deepest in; an existing contact ends only at some
 * height above the surface, so that resting contacts do not flicker. Methods decide how to respond to contacts. */
#ifndef SUP_GEOMETRY_COLLIDE_POINTS_H
#define SUP_GEOMETRY_COLLIDE_POINTS_H

#include "geometry/bvh.h"
#include "math/affine.h"
#include "supple/collider.h"

/* A collider at one moment. */
typedef struct sup_posed_collider {
    sup_collider_shape shape;
    sup_vec3d from, to;  /* local space */
    double radius;       /* of a capsule, local space */
    const sup_bvh *mesh; /* local space */
    sup_affine world;    /* local space -> world now: rotation, translation, uniform scale */
    sup_affine previous; /* the same one timestep ago */
    float friction;
} sup_posed_collider;

/* A point relative to a collider, all in world space. */
typedef struct sup_collider_query {
    sup_vec3d point;  /* nearest on the surface */
    sup_vec3d normal; /* unit, outward; zero where there is none */
    double height;    /* of the query point above the surface, negative inside */
    sup_vec3d motion; /* of the nearest point since the last timestep */
} sup_collider_query;

/* The transform from the world to the local space of a collider. */
typedef struct sup_collider_space {
    sup_affine inverse; /* of collider->world */
    double scale;       /* of lengths */
} sup_collider_space;
bool sup_collider_invert(const sup_posed_collider *collider, sup_collider_space *space); /* false: not invertible */

/* False: neither inside nor within `limit` of the collider, or not finite. */
bool sup_collider_find_nearest(const sup_posed_collider *collider, sup_vec3d point, double limit,
                               sup_collider_query *query);

typedef struct sup_point_contact {
    int32_t vertex, collider; /* indices */
    float point[3];           /* nearest on the surface, world space */
    float normal[3];          /* unit, outward */
    float motion[3];          /* of that point since the last timestep */
    float height;             /* of the vertex above the surface, negative inside */
} sup_point_contact;

typedef struct sup_point_contact_input {
    const sup_posed_collider *colliders;
    int32_t collider_count;
    uint32_t generation; /* of the list of colliders: when it changes, existing contacts are forgotten */
    const float *points; /* [point_count] x y z, world space */
    int32_t stride;      /* floats from one point to the next */
    int32_t point_count;
    float gap;     /* a contact begins at this height above the surface, file units */
    float release; /* and ends this far above that */
} sup_point_contact_input;

/* State: the collider that each point is in contact with; 64-aligned, size in bytes. */
size_t sup_point_contact_state_size(int32_t point_count);
void sup_point_contact_reset(int32_t point_count, void *state);
/* Contacts by ascending vertex, at most one each: `contacts` holds point_count. Returns their number. No allocation;
 * the same for any number of threads. */
int32_t sup_point_contact_find(const sup_context *context, const sup_point_contact_input *input, void *state,
                               sup_point_contact *contacts);

#endif

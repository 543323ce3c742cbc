/* collide_points.h (internal) - points against things that are given: planes, spheres, capsules and closed meshes.
 *
 * A touch is a point that is inside a thing or near its surface, with the nearest point there and how far that moved. A
 * point has one touch, with the thing it is deepest in; a touch that was there before ends only a little way off the
 * surface, so that resting contacts do not flicker. What is made of touches is a method's own business. */
#ifndef SUP_GEOMETRY_COLLIDE_POINTS_H
#define SUP_GEOMETRY_COLLIDE_POINTS_H

#include "geometry/bvh.h"
#include "math/affine.h"
#include "supple/collider.h"

/* A thing at one moment. */
typedef struct sup_solid {
    sup_collider_shape shape;
    sup_vec3d from, to;  /* its own space */
    double radius;       /* of a capsule, its own space */
    const sup_bvh *mesh; /* its own space */
    sup_affine world;    /* its own space -> world now: turned, moved, scaled alike in all directions */
    sup_affine before;   /* the same one step ago */
    float friction;
} sup_solid;

/* Where a point is, seen from a thing, all in world space. */
typedef struct sup_solid_view {
    sup_vec3d point;  /* nearest on the surface */
    sup_vec3d normal; /* unit, outward; zero where there is none */
    double height;    /* of the point above the surface, negative inside */
    sup_vec3d motion; /* of the nearest point since the last step */
} sup_solid_view;

/* From the world into the space of a thing. */
typedef struct sup_solid_space {
    sup_affine inverse; /* of solid->world */
    double scale;       /* of lengths */
} sup_solid_space;
bool sup_solid_enter(const sup_solid *solid, sup_solid_space *space); /* false: there is no way in */

/* False: not inside and not within `limit` of it, or not finite. */
bool sup_solid_look(const sup_solid *solid, sup_vec3d point, double limit, sup_solid_view *view);

typedef struct sup_touch {
    int32_t vertex, solid;
    float point[3];  /* nearest on the surface, world space */
    float normal[3]; /* unit, outward */
    float motion[3]; /* of that point since the last step */
    float height;    /* of the vertex above the surface, negative inside */
} sup_touch;

typedef struct sup_touch_input {
    const sup_solid *solids;
    int32_t solid_count;
    uint32_t generation; /* of the list of solids: with another one touches are found anew */
    const float *points; /* [point_count] x y z, world space */
    int32_t stride;      /* floats from one point to the next */
    int32_t point_count;
    float gap;  /* a touch begins this far above the surface, file units */
    float keep; /* and ends this far above that */
} sup_touch_input;

/* State: which thing each point touches, 64-aligned. */
size_t sup_touch_state_size(int32_t point_count);
void sup_touch_reset(int32_t point_count, void *state);
/* Touches by rising vertex, at most one each: `touches` holds point_count. Returns how many. No allocation; the same for
 * any number of threads. */
int32_t sup_touch_find(const sup_context *context, const sup_touch_input *input, void *state, sup_touch *touches);

#endif

/* nearest_facing.h (internal) - the nearest triangle of a surface that looks the same way.
 *
 * Between lips, jaws and fingers two sides of a skin are nearer to each other than a tet is large: what belongs to one of
 * them must not ride on the other, which looks at it. */
#ifndef SUP_METHODS_POSITION_NEAREST_FACING_H
#define SUP_METHODS_POSITION_NEAREST_FACING_H

#include "geometry/bvh.h"

/* The nearest triangle; where that looks against `outward`, the nearest one that does not, if it is at most `reach`
 * further away. A zero `outward` is against none. */
sup_bvh_nearest sup_seat_find(const sup_bvh *bvh, sup_vec3d point, sup_vec3d outward, double reach);

#endif

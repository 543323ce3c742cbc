/* nearest_facing.h (internal) - the nearest triangle of a surface with a similar orientation.
 *
 * Between lips, jaws and fingers two sides of a skin are nearer to each other than the size of a tet. A particle of one
 * side must not be bound to the other side, which faces it. */
#ifndef SUP_METHODS_POSITION_NEAREST_FACING_H
#define SUP_METHODS_POSITION_NEAREST_FACING_H

#include "geometry/bvh.h"

/* The nearest triangle; if it faces against `outward`, the nearest one that faces along it, if that is at most `reach`
 * further away. With zero `outward` the nearest triangle. */
sup_bvh_nearest sup_nearest_facing(const sup_bvh *bvh, sup_vec3d point, sup_vec3d outward, double reach);

#endif

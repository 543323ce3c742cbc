/* predicates.h (internal) - exact geometric predicates for points with float coordinates.
 *
 * Based on: [shewchuk1997] Adaptive Precision Floating-Point Arithmetic: a filtered determinant in double, and the
 * exact sum of all products if the filter is inconclusive. Coordinates must be finite with a magnitude below 1e30. */
#ifndef SUP_GEOMETRY_PREDICATES_H
#define SUP_GEOMETRY_PREDICATES_H

#include "supple/base.h"

/* Sign of det(a - d, b - d, c - d); 0 if all four are coplanar. */
int sup_orient3d(const float *a, const float *b, const float *c, const float *d);

/* The same in the plane of coordinates i and j: positive if a, b, c are counterclockwise. */
int sup_orient2d(const float *a, const float *b, const float *c, int i, int j);

/* Whether the closed triangles p0 p1 p2 and q0 q1 q2 have a common point. Triangles without area count as segments. */
bool sup_triangles_intersect(const float *const p[3], const float *const q[3]);

#endif

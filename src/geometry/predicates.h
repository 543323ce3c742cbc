/* predicates.h (internal) - exact signs for points with float coordinates: no tolerance, no wrong answer.
 *
 * Based on: [shewchuk1997] Adaptive Precision Floating-Point Arithmetic: a filtered determinant in double, and the exact
 * sum of all products where the filter cannot tell. Finite coordinates below 1e30 in size. */
#ifndef SUP_GEOMETRY_PREDICATES_H
#define SUP_GEOMETRY_PREDICATES_H

#include "supple/base.h"

/* Sign of det(a - d, b - d, c - d); 0 when all four lie in one plane. */
int sup_orient3d(const float *a, const float *b, const float *c, const float *d);

/* The same in the plane of two coordinates i and j: positive when a, b, c turn counterclockwise. */
int sup_orient2d(const float *a, const float *b, const float *c, int i, int j);

/* Closed triangles p0 p1 p2 and q0 q1 q2 have a point in common. Triangles without area count as segments. */
bool sup_triangles_meet(const float *const p[3], const float *const q[3]);

#endif

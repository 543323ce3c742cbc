/* shapes.h - small skins for the volume tests. */
#ifndef SUP_TESTS_VOLUME_SHAPES_H
#define SUP_TESTS_VOLUME_SHAPES_H

#include "base/base.h"
#include "test.h"

typedef struct shape {
    int32_t vertex_count, triangle_count;
    float positions[3 * 20000];
    int32_t triangles[3 * 40000];
} shape;

/* A capsule along x: a sphere when `half` is 0; `rings` between the poles, `sectors` around; `bump` roughens it. */
void shape_capsule(shape *s, double x, double y, double z, double radius, double half, double bump);
/* A box with corners x0 and x1, each side a grid of n by n. */
void shape_box(shape *s, const double x0[3], const double x1[3], int n);
/* A fork along x: two prongs of 1 x 0.5, 2 long, `gap` apart, on a base of length 1; one welded component. */
void shape_fork(shape *s, double gap);
sup_context shape_context(int32_t threads); /* resolved; thread pools live until the program ends */

#endif

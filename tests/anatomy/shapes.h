/* shapes.h - small surfaces for the tests of anatomy; malloc'ed, free them with shape_free. */
#ifndef SUP_TESTS_ANATOMY_SHAPES_H
#define SUP_TESTS_ANATOMY_SHAPES_H

#include "supple/anatomy.h"

typedef struct owned_shape {
    sup_shape shape;
    double *positions;
    int32_t *triangles;
} owned_shape;

/* An octahedron subdivided `levels` times and projected onto a sphere: 4^(levels+1) + 2 vertices. */
owned_shape shape_sphere(int levels, double radius, const double centre[3]);
void shape_free(owned_shape *shape);

#endif

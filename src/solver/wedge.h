/* wedge.h (internal) - volume between a triangle of the skin and its foot points on the bone lines: one source for
 * CPU and GPU. volume_regions.c says which volumes are preserved, solver_volume.c how. */
#ifndef SUP_SOLVER_WEDGE_H
#define SUP_SOLVER_WEDGE_H

#include "solver/prism.h"

SUP_ELEMENT sup_wide3 wedge_cross(sup_wide3 a, sup_wide3 b)
{
    return (sup_wide3){sup_wide_fma(a.y, b.z, -(a.z * b.y)), sup_wide_fma(a.z, b.x, -(a.x * b.z)),
                       sup_wide_fma(a.x, b.y, -(a.y * b.x))};
}

SUP_ELEMENT sup_wide wedge_dot(sup_wide3 a, sup_wide3 b)
{
    return sup_wide_fma(a.z, b.z, sup_wide_fma(a.y, b.y, a.x * b.x));
}

SUP_ELEMENT void wedge_add(sup_wide scale, sup_wide3 v, sup_wide3 *sum)
{
    *sum = (sup_wide3){sup_wide_fma(scale, v.x, sum->x), sup_wide_fma(scale, v.y, sum->y),
                       sup_wide_fma(scale, v.z, sum->z)};
}

/* A wedge lies between three skin vertices and their foot points on the bone lines and is split like its prism.
 * Relative to the foot point of c: a, b, the vector from the foot point of b to c, and the normal of the foot
 * points. */
typedef struct wedge {
    sup_wide3 a, b, down, normal;
} wedge;

/* Six times its volume. */
SUP_ELEMENT sup_wide wedge_volume6(const wedge *c)
{
    return wedge_dot(wedge_cross(c->a, c->b), c->down) + wedge_dot(c->normal, c->a);
}

/* Adds the gradient of its volume at its skin vertices, times `scale`. */
SUP_ELEMENT void wedge_press(const wedge *c, sup_wide scale, sup_wide3 sum[5])
{
    wedge_add(scale, wedge_cross(c->b, c->down), &sum[CORNER_A]);
    wedge_add(scale, c->normal, &sum[CORNER_A]);
    wedge_add(scale, wedge_cross(c->down, c->a), &sum[CORNER_B]);
    wedge_add(scale, wedge_cross(c->a, c->b), &sum[CORNER_C]);
}

#endif

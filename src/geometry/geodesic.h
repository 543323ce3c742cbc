/* geodesic.h (internal) - distances along a surface: from some vertices, and to the nearest of many.
 *
 * Any mesh: open, non-manifold, of several pieces. Exact up to rounding on planes and on what unrolls into one; on
 * curved surfaces the error is that of the triangles. The same bits for any number of threads. */
#ifndef SUP_GEOMETRY_GEODESIC_H
#define SUP_GEOMETRY_GEODESIC_H

#include "base/base.h"

/* Corners of a triangle are in range and different; positions are finite. */
typedef struct sup_geodesic_mesh {
    int32_t vertex_count, triangle_count;
    const float *positions;   /* [vertex_count*3] */
    const int32_t *triangles; /* [triangle_count*3] */
} sup_geodesic_mesh;

/* Distance of every vertex to the nearest of `sources` (vertices), and which one that is: an index into `sources`.
 * INFINITY and -1 where none can be reached. `nearest` may be NULL. */
sup_result sup_geodesic_distance(const sup_context *context, const sup_geodesic_mesh *mesh, int32_t source_count,
                                 const int32_t *sources, double *distance, int32_t *nearest, sup_error *error);

/* The `count` nearest sources (different vertices) of every vertex, nearest first, ties by the lower source: indices
 * into `sources` in nearest[vertex_count*count], their distances in distance[vertex_count*count]. A vertex that can
 * reach fewer has -1 and INFINITY at the end. */
sup_result sup_geodesic_nearest(const sup_context *context, const sup_geodesic_mesh *mesh, int32_t source_count,
                                const int32_t *sources, int32_t count, int32_t *nearest, float *distance,
                                sup_error *error);

#endif

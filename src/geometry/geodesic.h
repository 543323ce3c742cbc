/* geodesic.h (internal) - geodesic distances on a triangle mesh: from given vertices, and to the k nearest of many.
 *
 * The mesh may be open, non-manifold and have several components. Exact up to rounding on planes and developable
 * surfaces; on curved surfaces the error is that of the triangulation. The same bits for any number of threads. */
#ifndef SUP_GEOMETRY_GEODESIC_H
#define SUP_GEOMETRY_GEODESIC_H

#include "base/base.h"

/* Each triangle must have three different corners in range; positions must be finite. */
typedef struct sup_geodesic_mesh {
    int32_t vertex_count, triangle_count;
    const float *positions;   /* [vertex_count*3] */
    const int32_t *triangles; /* [triangle_count*3] */
} sup_geodesic_mesh;

/* Distance of every vertex to the nearest of `sources` (vertices), and the index of that source in `sources`. INFINITY
 * and -1 for vertices that are not connected with a source. `nearest` may be NULL. */
sup_result sup_geodesic_distance(const sup_context *context, const sup_geodesic_mesh *mesh, int32_t source_count,
                                 const int32_t *sources, double *distance, int32_t *nearest, sup_error *error);

/* The `count` nearest sources (different vertices) of every vertex, nearest first, ties by the lower source: indices
 * into `sources` in nearest[vertex_count*count], their distances in distance[vertex_count*count]. Missing entries at
 * the end are -1 and INFINITY. */
sup_result sup_geodesic_nearest(const sup_context *context, const sup_geodesic_mesh *mesh, int32_t source_count,
                                const int32_t *sources, int32_t count, int32_t *nearest, float *distance,
                                sup_error *error);

#endif

/* decimate.h (internal) - mesh decimation: a coarse triangle mesh whose vertices are a subset of the input's.
 *
 * The mesh may be open, have several components and non-manifold edges (whose vertices are kept). Manifold regions stay
 * manifold, every component keeps at least one triangle, holes stay open. Deterministic. */
#ifndef SUP_GEOMETRY_DECIMATE_H
#define SUP_GEOMETRY_DECIMATE_H

#include "base/base.h"

typedef struct sup_decimate_def {
    int32_t vertex_target; /* vertices to keep; more remain if no valid collapse is left */
    /* [vertex_count] at least 0, NULL = 1 everywhere: vertices stay denser where it is larger; four times the
     * importance gives about twice the density on smooth skin. INFINITY: the vertex is kept. */
    const float *importance;
    double aspect_limit; /* longest edge / height of new triangles, 0 = 5; relaxed if the target is not reached */
    /* Weight of evenly spaced vertices against geometric accuracy: fraction of the tangential distance in the error;
     * 0 = 0.02, negative = none. */
    double evenness;
} sup_decimate_def;

typedef struct sup_decimated {
    int32_t vertex_count, triangle_count;
    int32_t *vertices;  /* [vertex_count] vertices of the input mesh, ascending */
    int32_t *triangles; /* [triangle_count*3] indices into `vertices`, in the order of the input triangles */
    sup_allocator allocator;
} sup_decimated;

/* Each triangle must have three different corners in range; positions must be finite. Vertices without triangles are
 * removed. */
sup_result sup_decimate(const sup_context *context, int32_t vertex_count, const float *positions,
                        int32_t triangle_count, const int32_t *triangles, const sup_decimate_def *def,
                        sup_decimated *decimated, sup_error *error);
void sup_decimated_free(sup_decimated *decimated);

#endif

/* decimate.h (internal) - fewer vertices for the same shape: a triangle mesh with some of its own vertices left out.
 *
 * Any mesh: open, of several pieces, with non-manifold edges (whose vertices stay). Manifold parts stay manifold, every
 * piece keeps at least one triangle, holes stay open. The same result every time. */
#ifndef SUP_GEOMETRY_DECIMATE_H
#define SUP_GEOMETRY_DECIMATE_H

#include "base/base.h"

typedef struct sup_decimate_def {
    int32_t vertex_target; /* vertices to keep; more stay where no further one can go without harm */
    /* [vertex_count] at least 0, NULL = 1 everywhere: where it is larger vertices stay denser, four times it for about
     * twice as many on smooth skin. INFINITY: the vertex stays. */
    const float *importance;
    double
        aspect_limit; /* longest edge to height of the triangles that are made, 0 = 5; given up before the target is */
    /* How much an even mesh counts against a faithful one: share of the distance along the surface in the error;
     * 0 = 0.02, negative = none. */
    double evenness;
} sup_decimate_def;

typedef struct sup_decimated {
    int32_t vertex_count, triangle_count;
    int32_t *vertices;  /* [vertex_count] vertex of the mesh it came from, rising */
    int32_t *triangles; /* [triangle_count*3] into `vertices`, in the order of the triangles they came from */
    sup_allocator allocator;
} sup_decimated;

/* Corners of a triangle are in range and different; positions are finite. Vertices of no triangle are left out. */
sup_result sup_decimate(const sup_context *context, int32_t vertex_count, const float *positions,
                        int32_t triangle_count, const int32_t *triangles, const sup_decimate_def *def,
                        sup_decimated *decimated, sup_error *error);
void sup_decimated_free(sup_decimated *decimated);

#endif

/* simulated_surface.h (internal) - the simulated skin: the primitives of a rig with role `skin`, decimated to a
 * target.
 *
 * Vertices of followers and props are not part of the surface. */
#ifndef SUP_SKIN_SIMULATED_SURFACE_H
#define SUP_SKIN_SIMULATED_SURFACE_H

#include "base/base.h"
#include "supple/rig.h"

typedef struct sup_simulated_surface {
    /* Full resolution: the rig's welded skin without followers and props. */
    int32_t fine_count, fine_triangle_count;
    float *fine_positions;   /* [fine_count*3] */
    int32_t *fine_triangles; /* [fine_triangle_count*3] */
    int32_t *fine_source;    /* [fine_count] vertex of the rig's welded skin */
    /* Intermediate resolution for geodesic distances: a subset of the fine vertices, or all of them in small meshes.
     * */
    int32_t middle_count, middle_triangle_count;
    float *middle_positions;   /* [middle_count*3] */
    int32_t *middle_triangles; /* [middle_triangle_count*3] */
    int32_t *middle_fine;      /* [middle_count] fine vertex */
    /* Simulated resolution: a subset of the middle vertices. */
    int32_t coarse_count, coarse_triangle_count;
    float *coarse_positions;   /* [coarse_count*3] */
    int32_t *coarse_triangles; /* [coarse_triangle_count*3] */
    int32_t *coarse_fine;      /* [coarse_count] fine vertex */
    int32_t *coarse_middle;    /* [coarse_count] middle vertex */
    /* Influences of the coarse vertices. */
    int32_t *influence_first, *influence_joint;
    float *influence_weight;
} sup_simulated_surface;

/* Allocates from `arena`. Decimates to about `vertex_target` vertices; a body with up to 1.25 times as many is not
 * decimated. */
sup_result sup_simulated_surface_create(const sup_context *context, const sup_rig *rig, int32_t vertex_target,
                                        sup_arena *arena, sup_simulated_surface *surface, sup_error *error);

#endif

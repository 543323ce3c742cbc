/* simulated_surface.h (internal) - the skin that is simulated: the body's own parts of a rig, decimated to a good size.
 *
 * Fine vertices are numbered as in the rig's welded skin; those of followers and props are not in the surface. */
#ifndef SUP_SKIN_SIMULATED_SURFACE_H
#define SUP_SKIN_SIMULATED_SURFACE_H

#include "base/base.h"
#include "supple/rig.h"

typedef struct sup_simulated_surface {
    /* The body as the rig has it, without the vertices of other parts. */
    int32_t fine_count, fine_triangle_count;
    float *fine_positions;   /* [fine_count*3] */
    int32_t *fine_triangles; /* [fine_triangle_count*3] */
    int32_t *fine_source;    /* [fine_count] vertex of the rig's welded skin */
    /* Some of its vertices, enough to measure distances on: all of them where there are not many. */
    int32_t middle_count, middle_triangle_count;
    float *middle_positions;   /* [middle_count*3] */
    int32_t *middle_triangles; /* [middle_triangle_count*3] */
    int32_t *middle_fine;      /* [middle_count] fine vertex */
    /* The part of those that is simulated. */
    int32_t coarse_count, coarse_triangle_count;
    float *coarse_positions;   /* [coarse_count*3] */
    int32_t *coarse_triangles; /* [coarse_triangle_count*3] */
    int32_t *coarse_fine;      /* [coarse_count] fine vertex */
    int32_t *coarse_middle;    /* [coarse_count] middle vertex */
    /* Influences of the coarse vertices. */
    int32_t *influence_first, *influence_joint;
    float *influence_weight;
} sup_simulated_surface;

/* All memory is `arena`'s. About `vertex_target` vertices; a body that has hardly more keeps them all. */
sup_result sup_simulated_surface_create(const sup_context *context, const sup_rig *rig, int32_t vertex_target,
                                        sup_arena *arena, sup_simulated_surface *surface, sup_error *error);

#endif

/* implicit_render_mesh.h (internal) - the shown skin on the tracked one.
 *
 * Where the tracked skin is the body's own, not decimated, a shown vertex is at its row, and its normal and tangent turn
 * with the row's prescribed rotation and on to where the tracked skin's normal is. Everything else, followers and the
 * vertices between those of a decimated skin, comes from upsampling. */
#ifndef SUP_METHODS_IMPLICIT_IMPLICIT_RENDER_MESH_H
#define SUP_METHODS_IMPLICIT_IMPLICIT_RENDER_MESH_H

#include "skin/simulated_surface.h"
#include "upsample/upsample.h"

typedef struct sup_implicit_render_mesh {
    sup_upsample upsample;
    int32_t own_count;     /* vertices at rows */
    const int32_t *vertex; /* [own_count] */
    const int32_t *tracked;    /* [own_count] */
    const float *normal;   /* [own_count*3] */
    const float *tangent;  /* [own_count*4] or NULL */
} sup_implicit_render_mesh;

/* `row` [surface->coarse_count]: where the coarse vertices are. */
sup_result sup_implicit_render_mesh_bind(const sup_bind_input *input, const sup_simulated_surface *surface, const int32_t *tracked,
                          sup_arena *arena, sup_model_builder *builder, sup_error *error);
sup_result sup_implicit_render_mesh_open(const sup_model *model, int32_t tracked_count, sup_implicit_render_mesh *mesh, sup_error *error);

typedef struct sup_implicit_render_mesh_input {
    const float *positions;  /* [row_count*4] sizes, from the origin */
    const float *transforms; /* [row_count*12] */
    double size, origin[3];
} sup_implicit_render_mesh_input;

size_t sup_implicit_render_mesh_scratch_size(const sup_implicit_render_mesh *mesh);
sup_result sup_implicit_render_mesh_apply(const sup_context *context, const sup_implicit_render_mesh *mesh, const sup_implicit_render_mesh_input *input,
                           void *scratch, const sup_skin_out *out);

#endif

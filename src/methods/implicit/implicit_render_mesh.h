/* implicit_render_mesh.h (internal) - the render mesh on the tracked skin.
 *
 * If the tracked skin is the body's own skin, not decimated, each render vertex is at a tracked vertex; its normal and
 * tangent rotate with the vertex's prescribed transform and are then aligned with the normal of the tracked skin. All
 * other vertices, followers and vertices of a decimated skin, come from upsampling. */
#ifndef SUP_METHODS_IMPLICIT_IMPLICIT_RENDER_MESH_H
#define SUP_METHODS_IMPLICIT_IMPLICIT_RENDER_MESH_H

#include "skin/simulated_surface.h"
#include "upsample/upsample.h"

typedef struct sup_implicit_render_mesh {
    sup_upsample upsample;
    int32_t own_count;      /* number of render vertices at tracked vertices */
    const int32_t *vertex;  /* [own_count] */
    const int32_t *tracked; /* [own_count] */
    const float *normal;    /* [own_count*3] */
    const float *tangent;   /* [own_count*4] or NULL */
} sup_implicit_render_mesh;

/* `tracked` [surface->coarse_count]: index of the tracked vertex of each coarse vertex. */
sup_result sup_implicit_render_mesh_bind(const sup_bind_input *input, const sup_simulated_surface *surface,
                                         const int32_t *tracked, sup_arena *arena, sup_model_builder *builder,
                                         sup_error *error);
sup_result sup_implicit_render_mesh_open(const sup_model *model, int32_t tracked_count, sup_implicit_render_mesh *mesh,
                                         sup_error *error);

typedef struct sup_implicit_render_mesh_input {
    const float *positions;  /* [tracked_count*4] in sizes, from the origin */
    const float *transforms; /* [tracked_count*12] */
    double size, origin[3];
} sup_implicit_render_mesh_input;

size_t sup_implicit_render_mesh_scratch_size(const sup_implicit_render_mesh *mesh);
sup_result sup_implicit_render_mesh_apply(const sup_context *context, const sup_implicit_render_mesh *mesh,
                                          const sup_implicit_render_mesh_input *input, void *scratch,
                                          const sup_skin_out *out);

#endif

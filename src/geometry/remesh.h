/* remesh.h (internal) - isotropic remeshing of the zero level set of a field with given edge lengths.
 *
 * Botsch and Kobbelt 2004, "A remeshing approach to multiresolution modeling": split long edges, collapse short ones,
 * flip, relax tangentially; here with an edge length per vertex, and relaxed vertices are projected onto the level
 * set. */
#ifndef SUP_GEOMETRY_REMESH_H
#define SUP_GEOMETRY_REMESH_H

#include "geometry/isosurface.h"

typedef struct sup_remesh_def {
    const sup_context *context;
    sup_field field;
    int32_t iterations;   /* of split, collapse, flip, relax; about 8 are needed */
    int32_t subdivisions; /* subsequent splits of every triangle into four, each followed by relaxation */
    double gradation;     /* maximum growth of the edge length per distance, such as 0.2 */
    double vertex_target; /* approximate number of vertices before subdivision; edge lengths are scaled to it */
} sup_remesh_def;

/* `sizes` is the relative target edge length at a point of the surface, in metres; it is evaluated once per vertex of
 * the input. `surface` must be 2-manifold; border edges must lie in the plane x = 0 and stay in it. On failure the
 * surface is unchanged or empty. */
sup_result sup_remesh(const sup_remesh_def *def, const sup_field *sizes, sup_surface *surface, sup_error *error);

#endif

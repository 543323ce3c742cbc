/* remesh.h (internal) - even, well-shaped triangles of wanted sizes on the zero surface of a field.
 *
 * Botsch and Kobbelt 2004, "A remeshing approach to multiresolution modeling": split long edges, collapse short ones,
 * flip, relax along the surface; here with a size per vertex, and every relaxed vertex is pulled back onto the field. */
#ifndef SUP_GEOMETRY_REMESH_H
#define SUP_GEOMETRY_REMESH_H

#include "geometry/isosurface.h"

typedef struct sup_remesh_def {
    const sup_context *context;
    sup_field field;
    int32_t rounds;       /* of split, collapse, flip, relax; about 8 */
    int32_t subdivisions; /* splits of every triangle into four after that, each followed by relaxing */
    double gradation;     /* how fast the size may grow along the surface, such as 0.2 */
    double vertex_target; /* sizes are scaled so that about so many vertices result (before subdivision) */
} sup_remesh_def;

/* `sizes` gives the relative edge length wanted at a point of the surface, in metres; it is evaluated once per vertex
 * of the input. `surface` must be 2-manifold; border edges, if there are any, must lie in the plane x = 0 and stay
 * there. On failure the surface is as it was or empty. */
sup_result sup_remesh(const sup_remesh_def *def, const sup_field *sizes, sup_surface *surface, sup_error *error);

#endif

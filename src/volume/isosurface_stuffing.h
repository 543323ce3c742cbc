/* isosurface_stuffing.h (internal) - isosurface stuffing: tetrahedra of a lattice cut to fit a solid.
 *
 * Based on: [labelle2007] F. Labelle, J. R. Shewchuk, "Isosurface Stuffing: Fast Tetrahedral Meshes with Good Dihedral
 * Angles", SIGGRAPH 2007, section 3. Vertices inside are positive. Edges between inside and outside get a cut point; a
 * vertex with a cut point nearer than alpha times the edge is warped onto the surface and becomes zero; the rest is cut
 * by stencils.
 *
 * Deviations:
 * - The surface may pass through leaves of different sizes (the paper keeps it in leaves of one size, which thin
 *   features do not allow), so the diagonal of a cut quadrilateral is chosen by the lengths of the cut edges, then by
 *   the order of the vertices, which works for tetrahedra of any shape and needs no parity; and alpha is relative to
 *   the edges of the smallest leaf at a vertex. The paper's bounds of 10.7 and 164.8 degrees hold where leaves have one
 *   size; on the built-in characters all angles are between 3 and 170 degrees before improve.h.
 * - Marked vertices (lattice.h) are inside, wherever they are, and not warped: that would remove the last vertex of a
 *   finger. Their cut points are moved out to alpha instead, which keeps the bounds. Vertices in gaps are outside,
 *   likewise: the volume lost there is regained when vertices are moved to the skin. */
#ifndef SUP_VOLUME_ISOSURFACE_STUFFING_H
#define SUP_VOLUME_ISOSURFACE_STUFFING_H

#include "volume/lattice.h"

/* The tetrahedra that fill the solid. In double: improved and rounded later. */
typedef struct sup_isosurface_stuffing {
    int32_t vertex_count, tet_count;
    sup_vec3d *positions; /* [vertex_count] */
    float *size;          /* [vertex_count] side of the leaf that it came from */
    uint8_t *on_surface;  /* [vertex_count] */
    int32_t *tets;        /* [tet_count*4] positively oriented */
    sup_arena arena;
} sup_isosurface_stuffing;

sup_result sup_isosurface_stuff(const sup_context *context, const sup_solid *solid, const sup_lattice *lattice,
                                sup_isosurface_stuffing *stuffing, sup_error *error);
void sup_isosurface_stuffing_free(sup_isosurface_stuffing *stuffing);

#endif

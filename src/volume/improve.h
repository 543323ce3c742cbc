/* improve.h (internal) - moves the vertices of an isosurface stuffing: nearer to the surface, and to larger dihedral
 * angles.
 *
 * Based on: [freitag1997] L. A. Freitag, C. Ollivier-Gooch, "Tetrahedral Mesh Improvement Using Swapping and
 * Smoothing", IJNME 1997, without swapping: a vertex moves towards the mean of its neighbours, a surface vertex towards
 * the mean of its surface neighbours and from there to the nearest point of the skin, if the worst of its tetrahedra
 * improves or stays good enough. The quality measure is the smallest sine of the dihedral angles. Vertices are
 * processed sequentially: the result is deterministic. */
#ifndef SUP_VOLUME_IMPROVE_H
#define SUP_VOLUME_IMPROVE_H

#include "volume/isosurface_stuffing.h"

sup_result sup_improve(const sup_context *context, const sup_solid *solid, int32_t passes,
                       sup_isosurface_stuffing *stuffing, sup_error *error);

/* Smallest sine of the six dihedral angles; 0 or less for a tetrahedron with zero or negative volume. */
double sup_tet_quality(const sup_vec3d p[4]);

#endif

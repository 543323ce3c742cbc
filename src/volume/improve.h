/* improve.h (internal) - vertices of a stuffing are moved: nearer to the surface, and to wider dihedral angles.
 *
 * Based on: [freitag1997] L. A. Freitag, C. Ollivier-Gooch, "Tetrahedral Mesh Improvement Using Swapping and Smoothing",
 * IJNME 1997, without swapping: a vertex moves towards the mean of its neighbours, one of the surface towards the mean
 * of those on the surface and from there to the nearest point of the skin, if the worst of its tetrahedra gets better or
 * stays good enough. The measure is the least sine of the dihedral angles. Vertices one after the other: the same bits
 * always. */
#ifndef SUP_VOLUME_IMPROVE_H
#define SUP_VOLUME_IMPROVE_H

#include "volume/isosurface_stuffing.h"

sup_result sup_improve(const sup_context *context, const sup_solid *solid, int32_t passes, sup_isosurface_stuffing *stuffing,
                       sup_error *error);

/* Least sine of the six dihedral angles; 0 or less when the tetrahedron has no volume or a negative one. */
double sup_tet_quality(const sup_vec3d p[4]);

#endif

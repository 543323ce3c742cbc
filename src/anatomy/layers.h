/* layers.h (internal) - the layer between two surfaces of one triangulation: prisms, their tets and volumes.
 *
 * A prism has the corners of a triangle on the outer surface (corners 0..2) and on the inner one (corners 3..5). It
 * is split into three tets by the order of its vertex indices, so neighbours share their diagonals and the tets of a
 * layer fill the space between the two surfaces exactly. */
#ifndef SUP_ANATOMY_LAYERS_H
#define SUP_ANATOMY_LAYERS_H

#include "base/base.h"
#include "math/vec3.h"
#include "supple/anatomy.h"

/* Corners of the three tets; each has a positive volume in a prism that is not inverted. */
void sup_prism_split(const int32_t corners[3], int32_t tets[3][4]);

/* Signed volumes of the three tets of a triangle's prism; returns their sum. */
double sup_prism_volumes(const double *outer, const double *inner, const int32_t corners[3], double volumes[3]);

/* Volume between two surfaces, summed in the order of the triangles. */
double sup_layer_volume(int32_t triangle_count, const int32_t *triangles, const double *outer, const double *inner);

/* A prism is inverted if one of its tets has a volume below -`slack`; triangles whose corners are equal on both
 * surfaces have no prism. */
int32_t sup_layer_inverted(int32_t triangle_count, const int32_t *triangles, const double *outer, const double *inner,
                           double slack);

double
sup_surface_area(int32_t triangle_count, const int32_t *triangles, const double *positions,
                 const unsigned char *excluded /* triangles with only excluded corners are skipped; NULL = none */);
/* Unit vertex normals, weighted by area; zero at vertices without a triangle of positive area. */
void sup_surface_normals(int32_t vertex_count, int32_t triangle_count, const int32_t *triangles,
                         const double *positions, double *normals);

/* Flags vertices of `inner` outside the closed surface `outer`, by winding number; excluded vertices (equal on both
 * surfaces) are skipped. *count gets their number. */
sup_result sup_layer_outside(const sup_context *context, const sup_anatomy *anatomy, const double *outer,
                             const double *inner, unsigned char *flags, int32_t *count, sup_error *error);

/* Mean of eq. 4.4 over the vertices with layers: the deviation of the line from bone to skin from the normals. */
double sup_layer_alignment(const sup_anatomy *anatomy, const double *skin, const double *skin_normals,
                           const double *bone, const double *bone_normals);

/* Whether a primitive of a character that sup_body_character made is a detailed muscle; false for other characters. */
bool sup_body_primitive_is_muscle(const sup_character *character, int32_t primitive);

static inline sup_vec3d sup_point(const double *positions, int32_t i)
{
    return sup_v3(positions[3 * (size_t)i], positions[3 * (size_t)i + 1], positions[3 * (size_t)i + 2]);
}

static inline void sup_point_set(double *positions, int32_t i, sup_vec3d p)
{
    positions[3 * (size_t)i] = p.x;
    positions[3 * (size_t)i + 1] = p.y;
    positions[3 * (size_t)i + 2] = p.z;
}

#endif

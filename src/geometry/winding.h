/* winding.h (internal) - generalised winding number of a triangle mesh, with a tree over the triangles.
 *
 * The generalised winding number (Jacobson, Kavan, Sorkine-Hornung 2013) is 1 inside a closed surface, 0 outside, and
 * in between near holes, so it is robust on meshes with holes, overlaps and separate components. Clusters of far
 * triangles are approximated by dipoles (Barill et al. 2018, first order), with an error of about 0.01. It is negative
 * for a surface that is inside out. */
#ifndef SUP_GEOMETRY_WINDING_H
#define SUP_GEOMETRY_WINDING_H

#include "base/base.h"
#include "math/vec3.h"

typedef struct sup_winding {
    int32_t triangle_count, leaf_count; /* leaf_count is a power of two */
    const float *positions;
    const int32_t *triangles;
    int32_t *order;                 /* [triangle_count] along a space-filling curve */
    struct sup_winding_node *nodes; /* [2*leaf_count-1] heap order: children of i are 2i+1 and 2i+2 */
    double area, volume;            /* of the surface; the volume is signed, and exact for closed surfaces */
    sup_arena arena;
} sup_winding;

/* Positions must be finite and corners in range; both arrays must outlive the tree. */
sup_result sup_winding_create(const sup_allocator *allocator, const float *positions, int32_t triangle_count,
                              const int32_t *triangles, sup_winding *tree, sup_error *error);
void sup_winding_destroy(sup_winding *tree);

double sup_winding_number(const sup_winding *tree, sup_vec3d p);

#endif

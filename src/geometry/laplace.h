/* laplace.h (internal) - Laplacian of a triangle surface in double, for surfaces as they come. */
#ifndef SUP_GEOMETRY_LAPLACE_H
#define SUP_GEOMETRY_LAPLACE_H

#include "linalg/csr.h"

typedef enum sup_laplace_kind {
    SUP_LAPLACE_COTANGENT, /* as the triangles are; those without area add nothing */
    /* Never a negative weight and no huge ones: intrinsic mollification, then negative edges are cut. Solutions of
     * (stiffness + positive diagonal) x = non-negative stay non-negative and keep to the range of their data. */
    SUP_LAPLACE_ROBUST
} sup_laplace_kind;

typedef struct sup_laplace {
    sup_csr stiffness; /* positive semi-definite: w_ij (x_i - x_j) summed over edges, w = half the sum of cotangents */
    double *mass;      /* [size] a third of the area of the triangles at each vertex, unit^2; 0 where there are none */
    sup_allocator allocator;
} sup_laplace;

/* Triangles may be open, non-manifold, doubled, without area; indices are in range and positions finite. */
sup_result sup_laplace_create(const sup_context *context, sup_laplace_kind kind, int32_t vertex_count,
                              const float *positions, int32_t triangle_count, const int32_t *triangles,
                              sup_laplace *laplace, sup_error *error);
void sup_laplace_free(sup_laplace *laplace);

#endif

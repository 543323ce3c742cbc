/* laplace.h (internal) - Laplacian of a triangle mesh in double; the mesh may be open, non-manifold or degenerate. */
#ifndef SUP_GEOMETRY_LAPLACE_H
#define SUP_GEOMETRY_LAPLACE_H

#include "linalg/csr.h"

typedef enum sup_laplace_kind {
    SUP_LAPLACE_COTANGENT, /* plain cotangent weights; triangles without area have none */
    /* No negative and no huge weights: intrinsic mollification, then negative weights are set to zero. Solutions of
     * (stiffness + positive diagonal) x = non-negative are non-negative and satisfy the maximum principle. */
    SUP_LAPLACE_ROBUST
} sup_laplace_kind;

typedef struct sup_laplace {
    sup_csr stiffness; /* positive semi-definite: w_ij (x_i - x_j) summed over edges, w = half the sum of cotangents */
    double *mass;      /* [size] a third of the area of the triangles at each vertex, unit^2; 0 without triangles */
    sup_allocator allocator;
} sup_laplace;

/* The mesh may be open or non-manifold and have duplicate or degenerate triangles; indices must be in range and
 * positions finite. */
sup_result sup_laplace_create(const sup_context *context, sup_laplace_kind kind, int32_t vertex_count,
                              const float *positions, int32_t triangle_count, const int32_t *triangles,
                              sup_laplace *laplace, sup_error *error);
void sup_laplace_free(sup_laplace *laplace);

#endif

/* matrices.h - test matrices and slow dense references. */
#ifndef SUP_TESTS_LINALG_MATRICES_H
#define SUP_TESTS_LINALG_MATRICES_H

#include "linalg/cholesky.h"
#include "test.h"

/* Random symmetric, diagonally dominant; about `per_row` off-diagonal entries a row. */
sup_csr matrix_random(int32_t size, double per_row, uint64_t seed);
/* identity + scale * graph Laplacian of a triangulated width x height grid. */
sup_csr matrix_grid(int32_t width, int32_t height, double identity, double scale);
sup_csr matrix_dense(int32_t size, uint64_t seed);
sup_csr matrix_from(int32_t size, const sup_triplet *triplets, int64_t count);

double *dense_of(const sup_csr *matrix);                                        /* [size*size] row-major, malloc */
bool dense_solve(int32_t size, const double *matrix, double *x, int32_t lanes); /* Cholesky, in place on x */
double *random_vector(int64_t count, uint64_t seed);                            /* malloc, in [-1, 1] */

#endif

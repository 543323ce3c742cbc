/* small_dense.h (internal) - small dense symmetric matrices in double, row-major: a few hundred unknowns. */
#ifndef SUP_LINALG_SMALL_DENSE_H
#define SUP_LINALG_SMALL_DENSE_H

#include "base/base.h"

/* A = L L^T in place (lower triangle of `matrix` [size*size], the upper one is neither read nor written). False
 * when A is not positive definite; then the matrix is half done. */
bool sup_dense_cholesky(int32_t size, double *matrix);
/* Solves L L^T x = b in place. */
void sup_dense_cholesky_solve(int32_t size, const double *factor, double *x);

/* Eigenvalues, descending, and unit eigenvectors (row k of `vectors` [size*size] belongs to values[k], its largest
 * component positive) of the symmetric `matrix`, which is destroyed. Cyclic Jacobi: every pair is accurate to
 * rounding. */
void sup_dense_eigen(int32_t size, double *matrix, double *values, double *vectors);

#endif

/* dense.h (internal) - Cholesky of dense symmetric matrices in double, in panels, on all threads of a context. */
#ifndef SUP_LINALG_DENSE_H
#define SUP_LINALG_DENSE_H

#include "base/base.h"

enum { SUP_DENSE_PANEL = 64 };

/* Lower triangle, in panels of SUP_DENSE_PANEL columns; panel p holds rows p*SUP_DENSE_PANEL .. size-1,
 * column-major. */
typedef struct sup_dense {
    sup_context context;
    int32_t size;
    double *values;
    size_t value_count;
} sup_dense;

/* Zeros. `*matrix` is untouched on failure. */
sup_result sup_dense_create(const sup_context *context, int32_t size, sup_dense *matrix, sup_error *error);
void sup_dense_free(sup_dense *matrix);

/* Column `column` from its diagonal down: [0] is the diagonal, [i] is row column + i. */
double *sup_dense_column(const sup_dense *matrix, int32_t column);

/* The first `columns` columns become those of L, with all rows below. SUP_ERROR_NUMERIC where the leading block is not
 * positive definite. Same bits for any number of threads. */
sup_result sup_dense_factorise(sup_dense *matrix, int32_t columns, sup_error *error);
/* L y = b for three interleaved right-hand sides [size*3] in place; rows at and below `columns` get b - L21 y. */
void sup_dense_forward3(const sup_dense *matrix, int32_t columns, double *x);
/* L^T x = y in the first `columns` rows; the others are not read. */
void sup_dense_backward3(const sup_dense *matrix, int32_t columns, double *x);

#endif

/* kernels.h (internal) - the dense inner loops of factorisation and solve, once per instruction set, chosen at run
 * time. kernels_body.h holds the arithmetic; kernels.c and kernels_avx2.c compile it. */
#ifndef SUP_LINALG_KERNELS_H
#define SUP_LINALG_KERNELS_H

#include "linalg/cholesky.h"
#include "linalg/float_factor.h"

typedef struct sup_linalg_kernels {
    /* Cholesky of a column-major panel of `rows` rows and `width` columns, in place; the upper part of the diagonal
     * block is not touched. A pivot must be finite and larger than smallest[column]. -1, or the column that fails. */
    int32_t (*factor_panel)(double *panel, int32_t rows, int32_t width, const double *smallest);
    /* Lower triangle of u = -l l^T; u column-major size x size (entries above its diagonal are overwritten with
     * anything), l column-major size x width with leading dimension `stride`. */
    void (*outer_product)(double *u, const double *l, int32_t size, int32_t width, int32_t stride);
    /* L y = b and L^T x = y in place, elimination order, 1 or 8 interleaved right-hand sides. */
    void (*forward1)(const sup_cholesky *cholesky, double *x);
    void (*backward1)(const sup_cholesky *cholesky, double *x);
    void (*forward8)(const sup_cholesky *cholesky, double *x);
    void (*backward8)(const sup_cholesky *cholesky, double *x);
    /* The same in float over panels [begin, end); `values` points at the values of the first panel of the range
     * (forward) or behind those of the last (backward). 4 or 8 interleaved right-hand sides. */
    void (*float_forward4)(const sup_float_factor *factor, int32_t begin, int32_t end, const float *values, float *x);
    void (*float_backward4)(const sup_float_factor *factor, int32_t begin, int32_t end, const float *values, float *x);
    /* NULL under SUPPLE_SMALL. */
    void (*float_forward8)(const sup_float_factor *factor, int32_t begin, int32_t end, const float *values, float *x);
    void (*float_backward8)(const sup_float_factor *factor, int32_t begin, int32_t end, const float *values, float *x);
    /* C -= A B^T, all column-major: C rows x columns, A rows x depth, B columns x depth. */
    void (*subtract_product)(double *c, int64_t c_stride, const double *a, int64_t a_stride, const double *b,
                             int64_t b_stride, int32_t rows, int32_t columns, int32_t depth);
} sup_linalg_kernels;

/* The fastest that this processor supports. */
const sup_linalg_kernels *sup_linalg_kernels_best(void);
/* The portable one. */
const sup_linalg_kernels *sup_linalg_kernels_base(void);
/* NULL when this build or this processor has none. */
const sup_linalg_kernels *sup_linalg_kernels_avx2(void);

#endif

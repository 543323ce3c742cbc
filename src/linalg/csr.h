/* csr.h (internal) - symmetric sparse matrices in double, by rows, lower triangle. */
#ifndef SUP_LINALG_CSR_H
#define SUP_LINALG_CSR_H

#include "base/base.h"

/* Adds `value` to entry (row, column) and to its mirror. An off-diagonal pair is given once, in either triangle:
 * (2, 5, v) and (5, 2, v) together add 2 v. */
typedef struct sup_triplet {
    int32_t row, column;
    double value;
} sup_triplet;

/* Row i holds the entries with column <= i, columns increasing, the diagonal always there and last. */
typedef struct sup_csr {
    int32_t size;
    int32_t *first;  /* [size+1] */
    int32_t *column; /* [first[size]] */
    double *value;   /* [first[size]] */
    sup_allocator allocator;
} sup_csr;

/* Duplicates are summed in their order in `triplets`, so the result has the same bits every time.
 * Missing diagonal entries become zeros. `*matrix` is untouched on failure. */
sup_result sup_csr_from_triplets(const sup_context *context, int32_t size, const sup_triplet *triplets, int64_t count,
                                 sup_csr *matrix, sup_error *error);
void sup_csr_free(sup_csr *matrix); /* zeroes it; may be called twice */

/* y = A x with `lanes` interleaved vectors: x and y are [size*lanes], row-major, not overlapping. */
void sup_csr_multiply(const sup_csr *matrix, int32_t lanes, const double *x, double *y);

/* Sizes agree, rows in order, columns increasing and in the lower triangle, diagonal last. */
bool sup_csr_well_formed(const sup_csr *matrix);

#endif

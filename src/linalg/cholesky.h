/* cholesky.h (internal) - sparse L L^T = P A P^T in double: analyse once, factorise as often as values change, solve.
 *
 * Threads: one object may be solved with from many threads at the same time, each with a workspace of its own. */
#ifndef SUP_LINALG_CHOLESKY_H
#define SUP_LINALG_CHOLESKY_H

#include "linalg/csr.h"

/* Columns with (almost) the same rows below the diagonal form a supernode. Its panel in `values` is
 * dense and column-major with `width + below` rows: first the diagonal block (upper part zero), then the rows
 * below. */
typedef struct sup_cholesky {
    sup_context context;
    int32_t size;
    int32_t *order;    /* [size] row of A that is eliminated k-th */
    int32_t *position; /* [size] inverse of order */

    int32_t supernode_count;
    int32_t *column_first;     /* [supernode_count+1] */
    int32_t *supernode_parent; /* [supernode_count] the supernode of the first row below, -1 for roots */
    int64_t *row_first;        /* [supernode_count+1] into rows */
    int32_t *rows;             /* rows below the diagonal block, increasing, elimination order */
    int64_t *value_first;      /* [supernode_count+1] into values */
    int64_t *entry_target;     /* [entry_count] where each entry of A goes in values */
    int32_t entry_count;       /* stored entries of A */
    int64_t stack_size;        /* doubles that a factorisation needs besides */
    int32_t front_size;        /* largest width + below */

    int64_t nonzeros; /* of L, without the zeros that supernodes add */
    double flops;     /* multiply-adds of a factorisation, the same */

    double *values;  /* [value_first[supernode_count]] */
    bool factorised; /* values hold a factor */
} sup_cholesky;

typedef struct sup_cholesky_options {
    const int32_t *order;  /* [size] elimination order of the caller's; NULL = approximate minimum degree */
    bool exact_supernodes; /* store no zeros: less memory, slower solves */
} sup_cholesky_options;

/* Needs the pattern only; zero values are entries. `options` may be NULL. */
sup_result sup_cholesky_analyse(const sup_context *context, const sup_csr *matrix, const sup_cholesky_options *options,
                                sup_cholesky **cholesky, sup_error *error);
/* `matrix` has the pattern that was analysed. SUP_ERROR_NUMERIC with the row of A where it is not positive definite
 * (a pivot below size * 2.2e-16 of its diagonal counts as zero) or not finite; the object may then be given other
 * values. */
sup_result sup_cholesky_factorise(sup_cholesky *cholesky, const sup_csr *matrix, sup_error *error);
void sup_cholesky_destroy(sup_cholesky *cholesky);

/* x = A^-1 b for `lanes` interleaved right-hand sides: [size*lanes], row-major; x may be b. `workspace` holds
 * sup_cholesky_workspace doubles. Needs a factor: without one x becomes zero. */
int64_t sup_cholesky_workspace(const sup_cholesky *cholesky, int32_t lanes);
void sup_cholesky_solve(const sup_cholesky *cholesky, int32_t lanes, const double *b, double *x, double *workspace);

/* Analyse and factorise in one call. */
sup_result sup_cholesky_create(const sup_context *context, const sup_csr *matrix, sup_cholesky **cholesky,
                               sup_error *error);

#endif

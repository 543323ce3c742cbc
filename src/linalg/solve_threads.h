/* solve_threads.h (internal) - a float solve split into subdomains for threads: subtrees of the elimination tree.
 *
 * The columns are reordered without additional fill: first the subdomains, each a set of whole subtrees that share
 * no columns with other subdomains, then the separator, the columns above all of them. A subdomain writes to its
 * own columns and to private copies ("slots") of the separator rows that it updates; the separator sums the slots
 * in the order of the subdomains. Subdomains depend only on the factor, so any number of threads gives the same
 * bits. */
#ifndef SUP_LINALG_SOLVE_THREADS_H
#define SUP_LINALG_SOLVE_THREADS_H

#include "linalg/float_factor.h"

/* A view of one int array. The columns of subdomain k are [column_first[k], column_first[k+1]); those of the
 * separator follow. */
typedef struct sup_float_subdomains {
    int32_t subdomain_count, size, row_count, slot_count;
    const int32_t *panel_first;  /* [subdomain_count+1] */
    const int32_t *column_first; /* [subdomain_count+1] */
    const int32_t *slot_first;   /* [subdomain_count+1] */
    const int32_t *value_first;  /* [(subdomain_count+1)*2] offset in the factor's values: low 31 bits, then the rest */
    const int32_t *slot_row;     /* [slot_count] separator row of a slot */
    const int32_t *rows;         /* [row_count] the factor's, rows outside a subdomain replaced by size + slot */
    bool marked;                 /* set by the caller of a solve: see below */
} sup_float_subdomains;

/* Reorders a factor that sup_float_factor_write filled by its subdomains, in place, and returns the subdomains as an
 * int array of the context's allocator. About `subdomain_count` subdomains; small systems have one. */
sup_result sup_float_subdomains_create(const sup_context *context, int32_t subdomain_count, int32_t *factor_ints,
                                       float *factor_floats, int32_t **ints, int64_t *int_count, sup_error *error);

sup_float_subdomains sup_float_subdomains_view(const int32_t *ints);
/* Whether an untrusted array fits a factor that passed its own check. */
bool sup_float_subdomains_check(const sup_float_factor *factor, const int32_t *ints, int64_t int_count);

/* A solve in place on x [(size + slot_count)*4], elimination order: forward on every subdomain, in any order or in
 * parallel; the separator once; backward on every subdomain. The slots need no initial values.
 *
 * With `marked` the fourth component is a mask instead of a right-hand side: 1 in the rows that have values and are
 * needed, 0 in all others. Panels that no such row reaches are skipped, and their rows are not solved for. The
 * others get the same bits. */
void sup_float_subdomain_forward4(const sup_float_factor *factor, const sup_float_subdomains *subdomains,
                                  int32_t subdomain, float *x);
void sup_float_separator_solve4(const sup_float_factor *factor, const sup_float_subdomains *subdomains, float *x);
void sup_float_subdomain_backward4(const sup_float_factor *factor, const sup_float_subdomains *subdomains,
                                   int32_t subdomain, float *x);

/* All of it on the threads of the context. */
void sup_float_subdomains_solve4(const sup_context *context, const sup_float_factor *factor,
                                 const sup_float_subdomains *subdomains, float *x);

#endif

/* solve_threads.h (internal) - a float solve cut into pieces that threads can take: subtrees of the elimination tree.
 *
 * The columns are put into another order of elimination that is just as good: first the subdomains, each a set of whole
 * subtrees that no other subdomain touches, then the separator, the columns above all of them. A subdomain writes to its own columns
 * and to private copies ("slots") of those separator rows that it reaches; the separator adds the slots up in the order of the
 * subdomains. Subdomains depend on the factor alone, so any number of threads gives the same bits. */
#ifndef SUP_LINALG_SOLVE_THREADS_H
#define SUP_LINALG_SOLVE_THREADS_H

#include "linalg/float_factor.h"

/* A view of one int array. The columns of subdomain k are [column_first[k], column_first[k+1]); those of the separator follow. */
typedef struct sup_float_subdomains {
    int32_t subdomain_count, size, row_count, slot_count;
    const int32_t *panel_first;  /* [subdomain_count+1] */
    const int32_t *column_first; /* [subdomain_count+1] */
    const int32_t *slot_first;   /* [subdomain_count+1] */
    const int32_t *value_first; /* [(subdomain_count+1)*2] low 31 bits and the rest of a place in the factor's values */
    const int32_t *slot_row;    /* [slot_count] the separator row that a slot stands for */
    const int32_t *rows;        /* [row_count] the factor's, rows outside a subdomain replaced by size + slot */
    bool marked;                /* set by whoever solves: see below */
} sup_float_subdomains;

/* Puts a factor that sup_float_factor_write filled into the order of its subdomains, in place, and gives the subdomains as an
 * int array of the context's allocator. About `subdomain_count` subdomains; small systems get one. */
sup_result sup_float_subdomains_create(const sup_context *context, int32_t subdomain_count, int32_t *factor_ints,
                                       float *factor_floats, int32_t **ints, int64_t *int_count, sup_error *error);

sup_float_subdomains sup_float_subdomains_view(const int32_t *ints);
/* Whether an array that came from outside fits a factor that passed its own check. */
bool sup_float_subdomains_check(const sup_float_factor *factor, const int32_t *ints, int64_t int_count);

/* A solve in place on x [(size + slot_count)*4], elimination order: forward on every subdomain, in any order or at the same
 * time; the separator once; backward on every subdomain. The slots need no values before and have none of interest after.
 *
 * With `marked` the fourth right-hand side is none: it is 1 in the rows that have values and are asked for, and 0 in all others. Panels
 * that no such row reaches are passed over, and rows in them are not solved for. The others get the same bits. */
void sup_float_subdomain_forward4(const sup_float_factor *factor, const sup_float_subdomains *subdomains,
                                  int32_t subdomain, float *x);
void sup_float_separator_solve4(const sup_float_factor *factor, const sup_float_subdomains *subdomains, float *x);
void sup_float_subdomain_backward4(const sup_float_factor *factor, const sup_float_subdomains *subdomains,
                                   int32_t subdomain, float *x);

/* All of it on the context's threads. */
void sup_float_subdomains_solve4(const sup_context *context, const sup_float_factor *factor,
                                 const sup_float_subdomains *subdomains, float *x);

#endif

/* float_factor.h (internal) - a Cholesky factor for the step: float, relocatable, several right-hand sides at once.
 *
 * Two plain arrays, one of int32_t and one of float, hold everything, so a model can save them as they are. The
 * supernodes are cut into panels of at most 8 columns. A panel's values are the inverse of its diagonal block (lower
 * triangle, by rows, packed), then its rows below, each `width` floats. Right-hand sides are interleaved: row i is
 * x[4 i .. 4 i + 3] (x, y, z and one spare), or 8 floats for two characters. */
#ifndef SUP_LINALG_FLOAT_FACTOR_H
#define SUP_LINALG_FLOAT_FACTOR_H

#include "linalg/cholesky.h"

enum { SUP_PANEL_WIDTH = 8 };

typedef struct sup_float_panel {
    int32_t first, width; /* columns */
    int32_t below;        /* rows under the diagonal block */
    int32_t rows;         /* where they start in sup_float_factor.rows */
} sup_float_panel;

/* A view of the two arrays; it owns nothing. */
typedef struct sup_float_factor {
    int32_t size, panel_count, row_count;
    int64_t value_count;
    const int32_t *order;          /* [size] row of A that is eliminated k-th */
    const sup_float_panel *panels; /* [panel_count] */
    const int32_t *rows;           /* [row_count] elimination order */
    const float *values;           /* [value_count] */
} sup_float_factor;

/* Sizes of the two arrays for a factorised matrix. */
void sup_float_factor_sizes(const sup_cholesky *cholesky, int64_t *int_count, int64_t *float_count);
/* Fills arrays of those sizes. SUP_ERROR_NUMERIC when the factor does not fit into float. */
sup_result sup_float_factor_write(const sup_cholesky *cholesky, int32_t *ints, float *floats, sup_error *error);

/* A view of arrays that sup_float_factor_write filled. No checks, no cost. */
sup_float_factor sup_float_factor_view(const int32_t *ints, const float *floats);
/* Whether untrusted arrays are valid: every index in range, every value finite. */
bool sup_float_factor_check(const int32_t *ints, int64_t int_count, const float *floats, int64_t float_count);

/* x = A^-1 b, original order, [size*4] or [size*8]; x may be b. `workspace` holds as many floats as b. Allocates
 * nothing. */
void sup_float_solve4(const sup_float_factor *factor, const float *b, float *x, float *workspace);
void sup_float_solve8(const sup_float_factor *factor, const float *b, float *x, float *workspace);
/* In place on a vector that already is in elimination order (row k belongs to order[k]): the fastest variant, for
 * callers that keep their vertices in that order. */
void sup_float_solve4_ordered(const sup_float_factor *factor, float *x);
void sup_float_solve8_ordered(const sup_float_factor *factor, float *x);

#endif

/* operators.h (internal) - operators that combine two fields into one: g(f1, f2, d), as tables.
 *
 * Based on: [vaillant2014iso] sections 4.1 and 4.2.
 *
 * A table is indexed by u = f1 + f2, w = |f1 - f2| and d. With w the operator is symmetric by construction, the contact
 * surface f1 = f2 is a line of nodes, and the lines f1 = 0.5 and f2 = 0 pass through nodes. Nodes hold the coefficients
 * of quadratic B-splines along u and w (value and both derivatives come from one C1 function); slices along d are
 * interpolated linearly. A ring of ghost nodes surrounds each slice, so a lookup needs no branches. */
#ifndef SUP_METHODS_IMPLICIT_OPERATORS_H
#define SUP_METHODS_IMPLICIT_OPERATORS_H

#include "methods/implicit/profile.h"

enum {
    SUP_OPERATOR_CELLS = 64,  /* along w; twice as many along u */
    SUP_OPERATOR_SLICES = 17, /* along d */
    SUP_OPERATOR_COLUMNS =
        SUP_OPERATOR_CELLS + 4, /* w from -1, fastest; the last column is 0: rows are read four floats at a time */
    SUP_OPERATOR_ROWS = 2 * SUP_OPERATOR_CELLS + 3, /* u from -1 */
    SUP_OPERATOR_SLICE = SUP_OPERATOR_ROWS * SUP_OPERATOR_COLUMNS,
    SUP_OPERATOR_SIZE = SUP_OPERATOR_SLICES * SUP_OPERATOR_SLICE, /* floats of a table: 0.6 MB */
    SUP_LATTICE_ROWS = 2 * SUP_OPERATOR_CELLS + 1,                /* nodes without ghosts */
    SUP_LATTICE_COLUMNS = SUP_OPERATOR_CELLS + 1,
    SUP_LATTICE_SIZE = SUP_LATTICE_ROWS * SUP_LATTICE_COLUMNS
};

/* Node (a, b) of the lattice is u = a / cells, w = b / cells; inside of the square where b <= a <= 2 cells - b. */
static inline bool sup_lattice_inside(int32_t a, int32_t b)
{
    return b >= 0 && b <= a && a + b <= 2 * SUP_OPERATOR_CELLS;
}

/* One slice before the conversion to coefficients: `values` [SUP_LATTICE_SIZE], row a, column b, 0 outside of the
 * square. `fixed` (may be NULL) is 1 where a node's value is prescribed, 2 where it is part of a condition between
 * nodes. */
sup_result sup_operator_solve(const sup_context *context, const sup_profile *profile, double d, double *values,
                              unsigned char *fixed, sup_error *error);

/* Tables of several profiles, contiguous: [count*SUP_OPERATOR_SIZE]. */
sup_result sup_operators_build(const sup_context *context, const sup_profile *profiles, int32_t count, float *tables,
                               sup_error *error);

/* One lookup in double, slow and simple: for inspection and as the reference of the kernels. out: value, and its
 * derivatives with respect to f1 and f2. Arguments are clamped to [0, 1]. */
void sup_operator_at(const float *table, double f1, double f2, double d, double out[3]);

#endif

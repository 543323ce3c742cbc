/* pcg.h (internal) - conjugate gradients with the diagonal as preconditioner, in double. Shares no code with the
 * factorisation: for systems too large to factorise, and as its test reference. */
#ifndef SUP_LINALG_PCG_H
#define SUP_LINALG_PCG_H

#include "linalg/csr.h"

typedef struct sup_pcg_report {
    int32_t iterations;
    double residual; /* |b - A x| / |b|, 0 for b = 0 */
} sup_pcg_report;

/* One right-hand side; x is the start and becomes the solution. `workspace` is [4*size]. Stops at the tolerance, when
 * nothing is left to improve (an exact start is returned unchanged), or after `most` iterations with
 * SUP_ERROR_NUMERIC; also when A is not positive definite. x is finite if it was. `report` may be NULL. */
sup_result sup_pcg_solve(const sup_csr *matrix, const double *b, double *x, double tolerance, int32_t most,
                         double *workspace, sup_pcg_report *report, sup_error *error);

#endif

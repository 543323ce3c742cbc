/* cholesky_solve.c - solves in double, any number of right-hand sides, eight at a time. */
#include "linalg/cholesky.h"
#include "linalg/kernels.h"

enum { LANES = 8 };

int64_t sup_cholesky_workspace(const sup_cholesky *cholesky, int32_t lanes)
{
    return (int64_t)cholesky->size * (lanes == 1 ? 1 : LANES);
}

static void solve_one(const sup_cholesky *c, const sup_linalg_kernels *kernels, const double *b, double *x,
                      double *work)
{
    for (int32_t k = 0; k < c->size; k++)
        work[k] = b[c->order[k]];
    kernels->forward1(c, work);
    kernels->backward1(c, work);
    for (int32_t k = 0; k < c->size; k++)
        x[c->order[k]] = work[k];
}

/* Lanes [begin, begin + count) of `lanes`. */
static void solve_eight(const sup_cholesky *c, const sup_linalg_kernels *kernels, int32_t lanes, int32_t begin,
                        int32_t count, const double *b, double *x, double *work)
{
    for (int32_t k = 0; k < c->size; k++)
        for (int32_t q = 0; q < LANES; q++)
            work[(int64_t)k * LANES + q] = q < count ? b[(int64_t)c->order[k] * lanes + begin + q] : 0.0;
    kernels->forward8(c, work);
    kernels->backward8(c, work);
    for (int32_t k = 0; k < c->size; k++)
        for (int32_t q = 0; q < count; q++)
            x[(int64_t)c->order[k] * lanes + begin + q] = work[(int64_t)k * LANES + q];
}

void sup_cholesky_solve(const sup_cholesky *cholesky, int32_t lanes, const double *b, double *x, double *workspace)
{
    if (!cholesky->factorised) {
        memset(x, 0, (size_t)cholesky->size * (size_t)lanes * sizeof(double));
        return;
    }
    const sup_linalg_kernels *kernels = sup_linalg_kernels_best();
    if (lanes == 1) {
        solve_one(cholesky, kernels, b, x, workspace);
        return;
    }
    for (int32_t begin = 0; begin < lanes; begin += LANES) {
        int32_t count = lanes - begin < LANES ? lanes - begin : LANES;
        solve_eight(cholesky, kernels, lanes, begin, count, b, x, workspace);
    }
}

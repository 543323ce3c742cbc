/* pcg.c - preconditioned conjugate gradients (M. R. Hestenes, E. Stiefel, 1952) with guards against
 * divisions by zero: a zero residual, a direction without curvature, an empty diagonal. */
#include "linalg/pcg.h"

#include <math.h>

static double dot(int32_t size, const double *a, const double *b)
{
    double sum = 0.0;
    for (int32_t i = 0; i < size; i++)
        sum += a[i] * b[i];
    return sum;
}

/* z = r / diagonal; rows without a positive diagonal pass unchanged. */
static void precondition(const sup_csr *matrix, const double *r, double *z)
{
    for (int32_t i = 0; i < matrix->size; i++) {
        double diagonal = matrix->value[matrix->first[i + 1] - 1];
        z[i] = diagonal > 0.0 ? r[i] / diagonal : r[i];
    }
}

sup_result sup_pcg_solve(const sup_csr *matrix, const double *b, double *x, double tolerance, int32_t most,
                         double *workspace, sup_pcg_report *report, sup_error *error)
{
    int32_t n = matrix->size, iteration = 0;
    double *r = workspace, *z = r + n, *d = z + n, *q = d + n;
    sup_csr_multiply(matrix, 1, x, r);
    for (int32_t i = 0; i < n; i++)
        r[i] = b[i] - r[i];
    double scale = sqrt(dot(n, b, b)), goal = tolerance * scale, left = sqrt(dot(n, r, r));
    precondition(matrix, r, z);
    memcpy(d, z, (size_t)n * sizeof(double));
    double rz = dot(n, r, z);
    while (left > goal && iteration < most) {
        sup_csr_multiply(matrix, 1, d, q);
        double curvature = dot(n, d, q);
        if (!(curvature > 0.0) || !isfinite(curvature)) break;
        double step = rz / curvature;
        if (!isfinite(step)) break;
        for (int32_t i = 0; i < n; i++) {
            x[i] += step * d[i];
            r[i] -= step * q[i];
        }
        iteration++;
        left = sqrt(dot(n, r, r));
        precondition(matrix, r, z);
        double next = dot(n, r, z), beta = next / rz;
        if (!(next > 0.0) || !isfinite(beta)) break;
        for (int32_t i = 0; i < n; i++)
            d[i] = z[i] + beta * d[i];
        rz = next;
    }
    double residual = scale > 0.0 ? left / scale : left;
    if (report != NULL) *report = (sup_pcg_report){iteration, residual};
    if (left <= goal) return SUP_OK;
    return sup_fail(error, SUP_ERROR_NUMERIC, "linalg.pcg.convergence", "",
                    "Conjugate gradients stopped after %d iterations with a residual of %g.", (int)iteration, residual);
}

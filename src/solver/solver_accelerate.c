/* solver_accelerate.c - Anderson acceleration of the local-global map: the next step as a sum of past directions.
 *
 * D. G. Anderson, "Iterative procedures for nonlinear integral equations", 1965. The norm is that of A: products of
 * directions are in sup_anderson.inner, so no vertex is read here. */
#include "solver/solver_work.h"

/* Solves the symmetric system b t = c of `size` unknowns by elimination; unknowns whose pivot is lost
 * in rounding become 0. */
static void solve_small(int32_t size, double b[SUP_SOLVER_HISTORY][SUP_SOLVER_HISTORY], double *c)
{
    double pivot[SUP_SOLVER_HISTORY] = {0.0};
    for (int32_t i = 0; i < size; i++) {
        pivot[i] = sup_anderson_keeps(i, b[i][i], pivot[0]) ? b[i][i] : 0.0;
        if (!(pivot[i] > 0.0)) {
            c[i] = 0.0;
            pivot[i] = 0.0;
            for (int32_t j = 0; j < size; j++)
                b[i][j] = b[j][i] = 0.0;
            continue;
        }
        for (int32_t j = i + 1; j < size; j++) {
            double multiple = b[j][i] / pivot[i];
            for (int32_t k = i + 1; k < size; k++)
                b[j][k] -= multiple * b[i][k];
            c[j] -= multiple * c[i];
        }
    }
    for (int32_t i = size - 1; i >= 0; i--) {
        for (int32_t j = i + 1; j < size; j++)
            c[i] -= b[i][j] * c[j];
        c[i] = pivot[i] > 0.0 ? c[i] / pivot[i] : 0.0;
    }
}

/* Weights of the images T_j = x_j + d_j that minimise the combined direction in the norm of A; sum 1. */
static void anderson_weights(const sup_anderson *a, double weight[SUP_SOLVER_HISTORY])
{
    int32_t k = a->newest;
    double b[SUP_SOLVER_HISTORY][SUP_SOLVER_HISTORY] = {{0}};
    weight[k] = 1.0;
    for (int32_t i = 0; i < k; i++) {
        for (int32_t j = 0; j < k; j++) /* newest first: small pivots drop old ones */
            b[k - 1 - i][k - 1 - j] = a->inner[i][j] - a->inner[i][k] - a->inner[j][k] + a->inner[k][k];
        weight[k - 1 - i] = a->inner[k][k] - a->inner[i][k];
    }
    double t[SUP_SOLVER_HISTORY] = {0};
    for (int32_t i = 0; i < k; i++)
        t[i] = weight[i];
    solve_small(k, b, t);
    weight[k] = 1.0;
    for (int32_t i = 0; i < k; i++) {
        weight[i] = t[k - 1 - i];
        weight[k] -= weight[i];
    }
}

/* Coefficients of the next iterate from weights of the images. */
static void set_step(sup_anderson *a, const double weight[SUP_SOLVER_HISTORY])
{
    int32_t k = a->newest;
    double *next = a->coefficient[k + 1], *here = a->coefficient[k];
    for (int32_t i = 0; i <= k; i++) {
        next[i] = weight[i];
        for (int32_t j = i + 1; j <= k; j++)
            next[i] += weight[j] * a->coefficient[j][i];
        a->factor[i] = (float)(next[i] - (i < k ? here[i] : 0.0));
    }
}

void sup_anderson_set_multiple(sup_anderson *a, double multiple)
{
    int32_t k = a->newest;
    for (int32_t i = 0; i <= k; i++) {
        a->coefficient[k + 1][i] = i < k ? a->coefficient[k][i] : multiple;
        a->factor[i] = i < k ? 0.0f : (float)multiple;
    }
}

/* Slope of the objective along the chosen step (negative: descent), and its squared length in the norm of A. */
static double step_slope(const sup_anderson *a, double *square)
{
    int32_t k = a->newest;
    double slope = 0.0;
    *square = 0.0;
    for (int32_t i = 0; i <= k; i++) {
        slope -= (double)a->factor[i] * a->inner[i][k];
        for (int32_t j = 0; j <= k; j++)
            *square += (double)a->factor[i] * (double)a->factor[j] * a->inner[i][j];
    }
    return slope;
}

void sup_anderson_choose(sup_anderson *a, bool accelerate)
{
    double weight[SUP_SOLVER_HISTORY] = {0}, square, plain = a->inner[a->newest][a->newest];
    sup_anderson_set_multiple(a, 1.0);
    if (!accelerate) return;
    anderson_weights(a, weight);
    set_step(a, weight);
    double slope = step_slope(a, &square);
    if (!sup_anderson_accepted(slope, square, plain)) sup_anderson_set_multiple(a, SUP_ANDERSON_RELAXATION);
}

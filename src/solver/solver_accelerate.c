/* solver_accelerate.c - Anderson acceleration of the local-global map: which sum of the directions so far is the next step.
 *
 * D. G. Anderson, "Iterative procedures for nonlinear integral equations", 1965. The norm is that of A: products of
 * directions are in sup_step.inner, so nothing here looks at a vertex. */
#include "solver/solver_work.h"

/* Solves the symmetric system b t = c of `size` unknowns by elimination; unknowns whose pivot is lost in rounding get 0. */
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
            double part = b[j][i] / pivot[i];
            for (int32_t k = i + 1; k < size; k++)
                b[j][k] -= part * b[i][k];
            c[j] -= part * c[i];
        }
    }
    for (int32_t i = size - 1; i >= 0; i--) {
        for (int32_t j = i + 1; j < size; j++)
            c[i] -= b[i][j] * c[j];
        c[i] = pivot[i] > 0.0 ? c[i] / pivot[i] : 0.0;
    }
}

/* Weights of the images T_j = x_j + d_j that make the combined direction shortest in the norm of A, sum 1. */
static void anderson_weights(const sup_step *step, double weight[SUP_SOLVER_HISTORY])
{
    int32_t k = step->history;
    double b[SUP_SOLVER_HISTORY][SUP_SOLVER_HISTORY] = {{0}};
    weight[k] = 1.0;
    for (int32_t i = 0; i < k; i++) {
        for (int32_t j = 0; j < k; j++) /* newest first: they are kept when pivots get small */
            b[k - 1 - i][k - 1 - j] = step->inner[i][j] - step->inner[i][k] - step->inner[j][k] + step->inner[k][k];
        weight[k - 1 - i] = step->inner[k][k] - step->inner[i][k];
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
static void set_step(sup_step *step, const double weight[SUP_SOLVER_HISTORY])
{
    int32_t k = step->history;
    double *next = step->coefficient[k + 1], *here = step->coefficient[k];
    for (int32_t i = 0; i <= k; i++) {
        next[i] = weight[i];
        for (int32_t j = i + 1; j <= k; j++)
            next[i] += weight[j] * step->coefficient[j][i];
        step->factor[i] = (float)(next[i] - (i < k ? here[i] : 0.0));
    }
}

/* A multiple of the newest direction. */
void sup_step_multiple(sup_step *step, double multiple)
{
    int32_t k = step->history;
    for (int32_t i = 0; i <= k; i++) {
        step->coefficient[k + 1][i] = i < k ? step->coefficient[k][i] : multiple;
        step->factor[i] = i < k ? 0.0f : (float)multiple;
    }
}

/* Slope of the objective along the chosen step (negative: down), and the square of its length in the norm of A. */
static double step_slope(const sup_step *step, double *square)
{
    int32_t k = step->history;
    double slope = 0.0;
    *square = 0.0;
    for (int32_t i = 0; i <= k; i++) {
        slope -= (double)step->factor[i] * step->inner[i][k];
        for (int32_t j = 0; j <= k; j++)
            *square += (double)step->factor[i] * (double)step->factor[j] * step->inner[i][j];
    }
    return slope;
}

/* The next step. Where directions grow instead of shrinking (an element is turning over), shortening the combined
 * direction leads backwards or far away: then twice the plain step, which the bound below still allows. */
void sup_step_choose(sup_step *step, bool accelerate)
{
    double weight[SUP_SOLVER_HISTORY] = {0}, square, plain = step->inner[step->history][step->history];
    sup_step_multiple(step, 1.0);
    if (!accelerate) return;
    anderson_weights(step, weight);
    set_step(step, weight);
    double slope = step_slope(step, &square);
    if (!sup_anderson_accepted(slope, square, plain)) sup_step_multiple(step, SUP_ANDERSON_RELAXATION);
}

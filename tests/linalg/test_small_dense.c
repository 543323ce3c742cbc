/* test_small_dense.c - Cholesky and eigenvectors of small dense matrices against their definitions. */
#include "linalg/small_dense.h"

#include "test.h"

enum { N = 23 };

/* B^T B + shift, B random: symmetric, positive definite for a shift above 0. */
static void random_matrix(double shift, double *matrix)
{
    double b[N * N];
    sup_random random = {17};
    for (int i = 0; i < N * N; i++)
        b[i] = sup_random_unit(&random) - 0.5;
    for (int i = 0; i < N; i++)
        for (int j = 0; j < N; j++) {
            matrix[i * N + j] = i == j ? shift : 0.0;
            for (int k = 0; k < N; k++)
                matrix[i * N + j] += b[k * N + i] * b[k * N + j];
        }
}

TEST(small_cholesky_solves)
{
    double matrix[N * N], factor[N * N], x[N];
    random_matrix(0.1, matrix);
    memcpy(factor, matrix, sizeof factor);
    CHECK(sup_dense_cholesky(N, factor));
    for (int i = 0; i < N; i++)
        x[i] = sin(1.0 + i);
    sup_dense_cholesky_solve(N, factor, x);
    for (int i = 0; i < N; i++) {
        double sum = 0.0;
        for (int k = 0; k < N; k++)
            sum += matrix[i * N + k] * x[k];
        CHECK_NEAR(sum, sin(1.0 + i), 1e-10);
    }
    matrix[5 * N + 5] = -1.0;
    CHECK(!sup_dense_cholesky(N, matrix));
    matrix[0] = NAN;
    CHECK(!sup_dense_cholesky(N, matrix));
}

TEST(small_eigenvectors_are_accurate_and_sorted)
{
    double matrix[N * N], work[N * N], values[N], vectors[N * N], trace = 0.0, sum = 0.0;
    random_matrix(0.0, matrix);
    memcpy(work, matrix, sizeof work);
    sup_dense_eigen(N, work, values, vectors);
    for (int k = 0; k < N; k++) {
        trace += matrix[k * N + k], sum += values[k];
        CHECK(k == 0 || values[k] <= values[k - 1]);
        for (int i = 0; i < N; i++) {
            double row = 0.0, dot = 0.0;
            for (int j = 0; j < N; j++)
                row += matrix[i * N + j] * vectors[k * N + j], dot += vectors[i * N + j] * vectors[k * N + j];
            CHECK_NEAR(row, values[k] * vectors[k * N + i], 1e-11);
            CHECK_NEAR(dot, i == k ? 1.0 : 0.0, 1e-12);
        }
    }
    CHECK_NEAR(sum, trace, 1e-11);
    double zero[4] = {0}, none[2], axes[4];
    sup_dense_eigen(2, zero, none, axes);
    CHECK_NEAR(none[0], 0.0, 0.0);
    CHECK_NEAR(axes[0], 1.0, 0.0);
}

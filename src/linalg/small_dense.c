/* small_dense.c - Cholesky and Jacobi's eigenvalue method for small dense symmetric matrices. */
#include "linalg/small_dense.h"

#include <float.h>
#include <math.h>

bool sup_dense_cholesky(int32_t size, double *matrix)
{
    size_t n = (size_t)size;
    for (size_t i = 0; i < n; i++) {
        double *row = matrix + i * n;
        for (size_t j = 0; j <= i; j++) {
            const double *other = matrix + j * n;
            double sum = row[j];
            for (size_t k = 0; k < j; k++)
                sum -= row[k] * other[k];
            if (j < i) {
                row[j] = sum / other[j];
            } else {
                if (!(sum > 0.0) || !isfinite(sum)) return false;
                row[j] = sqrt(sum);
            }
        }
    }
    return true;
}

void sup_dense_cholesky_solve(int32_t size, const double *factor, double *x)
{
    size_t n = (size_t)size;
    for (size_t i = 0; i < n; i++) {
        double sum = x[i];
        for (size_t k = 0; k < i; k++)
            sum -= factor[i * n + k] * x[k];
        x[i] = sum / factor[i * n + i];
    }
    for (size_t i = n; i-- > 0;) {
        double sum = x[i];
        for (size_t k = i + 1; k < n; k++)
            sum -= factor[k * n + i] * x[k];
        x[i] = sum / factor[i * n + i];
    }
}

/* Rotates rows and columns p and q so that entry (p, q) becomes zero. */
static void rotate(size_t n, double *a, double *vectors, size_t p, size_t q)
{
    double apq = a[p * n + q];
    double theta = (a[q * n + q] - a[p * n + p]) / (2.0 * apq);
    double t = (theta >= 0.0 ? 1.0 : -1.0) / (fabs(theta) + sqrt(theta * theta + 1.0));
    double c = 1.0 / sqrt(t * t + 1.0), s = t * c;
    for (size_t k = 0; k < n; k++) {
        double kp = a[k * n + p], kq = a[k * n + q];
        a[k * n + p] = c * kp - s * kq;
        a[k * n + q] = s * kp + c * kq;
    }
    for (size_t k = 0; k < n; k++) {
        double pk = a[p * n + k], qk = a[q * n + k];
        a[p * n + k] = c * pk - s * qk;
        a[q * n + k] = s * pk + c * qk;
        double vp = vectors[p * n + k], vq = vectors[q * n + k];
        vectors[p * n + k] = c * vp - s * vq;
        vectors[q * n + k] = s * vp + c * vq;
    }
}

static void swap_rows(size_t n, double *values, double *vectors, size_t i, size_t j)
{
    double value = values[i];
    values[i] = values[j];
    values[j] = value;
    for (size_t k = 0; k < n; k++) {
        double v = vectors[i * n + k];
        vectors[i * n + k] = vectors[j * n + k];
        vectors[j * n + k] = v;
    }
}

static void point_up(size_t n, double *vector)
{
    size_t largest = 0;
    for (size_t k = 1; k < n; k++)
        if (fabs(vector[k]) > fabs(vector[largest])) largest = k;
    if (vector[largest] >= 0.0) return;
    for (size_t k = 0; k < n; k++)
        vector[k] = -vector[k];
}

void sup_dense_eigen(int32_t size, double *matrix, double *values, double *vectors)
{
    enum { MOST_SWEEPS = 60 };
    size_t n = (size_t)size;
    for (size_t i = 0; i < n * n; i++)
        vectors[i] = i % (n + 1) == 0 ? 1.0 : 0.0;
    for (int sweep = 0; sweep < MOST_SWEEPS; sweep++) {
        bool turned = false;
        for (size_t p = 0; p < n; p++)
            for (size_t q = p + 1; q < n; q++) {
                double small = DBL_EPSILON * sqrt(fabs(matrix[p * n + p] * matrix[q * n + q]));
                if (fabs(matrix[p * n + q]) <= small || fabs(matrix[p * n + q]) < DBL_MIN) continue;
                rotate(n, matrix, vectors, p, q);
                turned = true;
            }
        if (!turned) break;
    }
    for (size_t i = 0; i < n; i++)
        values[i] = matrix[i * n + i];
    for (size_t i = 0; i < n; i++) {
        size_t best = i;
        for (size_t j = i + 1; j < n; j++)
            if (values[j] > values[best]) best = j;
        if (best != i) swap_rows(n, values, vectors, i, best);
        point_up(n, vectors + i * n);
    }
}

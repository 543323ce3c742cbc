#include "matrices.h"

sup_csr matrix_from(int32_t size, const sup_triplet *triplets, int64_t count)
{
    sup_csr matrix = {0};
    sup_error error = {0};
    CHECK_OK(sup_csr_from_triplets(NULL, size, triplets, count, &matrix, &error), error);
    CHECK(sup_csr_well_formed(&matrix));
    return matrix;
}

static void add_pair(sup_triplet *t, int64_t *count, int32_t i, int32_t j, double weight)
{
    t[(*count)++] = (sup_triplet){i, j, -weight};
    t[(*count)++] = (sup_triplet){i, i, weight};
    t[(*count)++] = (sup_triplet){j, j, weight};
}

sup_csr matrix_random(int32_t size, double per_row, uint64_t seed)
{
    sup_random random = {seed};
    int64_t pairs = (int64_t)(0.5 * per_row * size), count = 0;
    sup_triplet *t = malloc((size_t)(pairs * 3 + size) * sizeof(*t));
    CHECK(t != NULL);
    for (int32_t i = 0; i < size; i++)
        t[count++] = (sup_triplet){i, i, 0.05 + sup_random_unit(&random)};
    for (int64_t k = 0; k < pairs; k++) {
        int32_t i = (int32_t)(sup_random_u32(&random) % (uint32_t)size),
                j = (int32_t)(sup_random_u32(&random) % (uint32_t)size);
        double sign = sup_random_unit(&random) < 0.3 ? -1.0 : 1.0, weight = sup_random_unit(&random);
        if (i == j) continue;
        add_pair(t, &count, i, j, weight);
        if (sign < 0.0) t[count - 3].value = weight;
    }
    sup_csr matrix = matrix_from(size, t, count);
    free(t);
    return matrix;
}

sup_csr matrix_grid(int32_t width, int32_t height, double identity, double scale)
{
    int32_t size = width * height;
    int64_t count = 0;
    sup_triplet *t = malloc((size_t)size * 10 * sizeof(*t));
    CHECK(t != NULL);
    for (int32_t y = 0; y < height; y++)
        for (int32_t x = 0; x < width; x++) {
            int32_t i = y * width + x;
            t[count++] = (sup_triplet){i, i, identity};
            if (x + 1 < width) add_pair(t, &count, i, i + 1, scale);
            if (y + 1 < height) add_pair(t, &count, i, i + width, scale);
            if (x + 1 < width && y + 1 < height) add_pair(t, &count, i, i + width + 1, scale);
        }
    sup_csr matrix = matrix_from(size, t, count);
    free(t);
    return matrix;
}

sup_csr matrix_dense(int32_t size, uint64_t seed)
{
    sup_random random = {seed};
    sup_triplet *t = malloc((size_t)size * (size_t)size * sizeof(*t));
    int64_t count = 0;
    CHECK(t != NULL);
    for (int32_t i = 0; i < size; i++)
        for (int32_t j = 0; j <= i; j++)
            t[count++] = (sup_triplet){i, j, i == j ? size + 1.0 : 2.0 * sup_random_unit(&random) - 1.0};
    sup_csr matrix = matrix_from(size, t, count);
    free(t);
    return matrix;
}

double *dense_of(const sup_csr *matrix)
{
    size_t n = (size_t)matrix->size;
    double *dense = calloc(n * n + 1, sizeof(double));
    CHECK(dense != NULL);
    for (int32_t i = 0; i < matrix->size; i++)
        for (int32_t k = matrix->first[i]; k < matrix->first[i + 1]; k++) {
            dense[(size_t)i * n + (size_t)matrix->column[k]] = matrix->value[k];
            dense[(size_t)matrix->column[k] * n + (size_t)i] = matrix->value[k];
        }
    return dense;
}

bool dense_solve(int32_t size, const double *matrix, double *x, int32_t lanes)
{
    size_t n = (size_t)size;
    double *l = calloc(n * n + 1, sizeof(double));
    CHECK(l != NULL);
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j <= i; j++) {
            double sum = matrix[i * n + j];
            for (size_t k = 0; k < j; k++)
                sum -= l[i * n + k] * l[j * n + k];
            if (i == j && !(sum > 0.0)) {
                free(l);
                return false;
            }
            l[i * n + j] = i == j ? sqrt(sum) : sum / l[j * n + j];
        }
    for (int32_t q = 0; q < lanes; q++) {
        double *column = x + q;
        for (size_t i = 0; i < n; i++) {
            for (size_t k = 0; k < i; k++)
                column[i * (size_t)lanes] -= l[i * n + k] * column[k * (size_t)lanes];
            column[i * (size_t)lanes] /= l[i * n + i];
        }
        for (size_t i = n; i-- > 0;) {
            for (size_t k = i + 1; k < n; k++)
                column[i * (size_t)lanes] -= l[k * n + i] * column[k * (size_t)lanes];
            column[i * (size_t)lanes] /= l[i * n + i];
        }
    }
    free(l);
    return true;
}

double *random_vector(int64_t count, uint64_t seed)
{
    sup_random random = {seed};
    double *v = malloc((size_t)(count + 1) * sizeof(double));
    CHECK(v != NULL);
    for (int64_t i = 0; i < count; i++)
        v[i] = 2.0 * sup_random_unit(&random) - 1.0;
    return v;
}

/* Factorisation and solves in double. */
#include "linalg/kernels.h"
#include "linalg/pcg.h"
#include "matrices.h"

static sup_cholesky *factor(const sup_csr *a, const sup_cholesky_options *options)
{
    sup_cholesky *c = NULL;
    sup_error error = {0};
    CHECK_OK(sup_cholesky_analyse(NULL, a, options, &c, &error), error);
    CHECK_OK(sup_cholesky_factorise(c, a, &error), error);
    return c;
}

/* L as a dense lower triangle in elimination order. */
static double *dense_factor(const sup_cholesky *c)
{
    size_t n = (size_t)c->size;
    double *l = calloc(n * n + 1, sizeof(double));
    CHECK(l != NULL);
    for (int32_t s = 0; s < c->supernode_count; s++) {
        int32_t width = c->column_first[s + 1] - c->column_first[s];
        int32_t below = (int32_t)(c->row_first[s + 1] - c->row_first[s]);
        for (int32_t j = 0; j < width; j++)
            for (int32_t i = j; i < width + below; i++) {
                int32_t row = i < width ? c->column_first[s] + i : c->rows[c->row_first[s] + i - width];
                CHECK(row >= c->column_first[s] + j && row < c->size);
                l[(size_t)row * n + (size_t)(c->column_first[s] + j)] =
                    c->values[c->value_first[s] + (int64_t)j * (width + below) + i];
            }
    }
    return l;
}

static void check_product(const sup_csr *a, const sup_cholesky *c, double tolerance)
{
    int32_t n = a->size;
    double *l = dense_factor(c), *dense = dense_of(a);
    for (int32_t i = 0; i < n; i++)
        for (int32_t j = 0; j <= i; j++) {
            double sum = 0.0;
            for (int32_t k = 0; k <= j; k++)
                sum += l[i * n + k] * l[j * n + k];
            CHECK_NEAR(sum, dense[c->order[i] * n + c->order[j]], tolerance);
        }
    free(l), free(dense);
}

static void check_solve(const sup_csr *a, const sup_cholesky *c, int32_t lanes, double tolerance)
{
    int64_t count = (int64_t)a->size * lanes;
    double *b = random_vector(count, 7), *x = random_vector(count, 8), *expected = malloc((size_t)(count + 1) * 8);
    int64_t room = sup_cholesky_workspace(c, lanes);
    double *workspace = random_vector(room + 4, 9), *dense = dense_of(a), guard[4];
    CHECK(expected != NULL);
    memcpy(guard, workspace + room, sizeof(guard));
    memcpy(expected, b, (size_t)count * 8);
    CHECK(dense_solve(a->size, dense, expected, lanes));
    sup_cholesky_solve(c, lanes, b, x, workspace);
    for (int64_t k = 0; k < count; k++)
        CHECK_NEAR(x[k], expected[k], tolerance);
    CHECK(memcmp(guard, workspace + room, sizeof(guard)) == 0);
    sup_cholesky_solve(c, lanes, b, b, workspace); /* in place */
    CHECK(memcmp(b, x, (size_t)count * 8) == 0);
    free(b), free(x), free(expected), free(workspace), free(dense);
}

TEST(cholesky_random_matrices)
{
    for (uint64_t seed = 1; seed <= 30; seed++) {
        int32_t n = (int32_t)(seed * 5);
        sup_csr a = matrix_random(n, 0.5 + (double)(seed % 9), seed);
        sup_cholesky_options options = {NULL, seed % 2 == 0};
        sup_cholesky *c = factor(&a, &options);
        check_product(&a, c, 1e-11);
        check_solve(&a, c, (int32_t)(1 + seed % 19), 1e-9);
        sup_cholesky_destroy(c);
        sup_csr_free(&a);
    }
}

TEST(cholesky_shapes)
{
    sup_csr shapes[6];
    const sup_triplet one = {0, 0, 4.0};
    const sup_triplet blocks[] = {{0, 0, 2.0}, {1, 1, 3.0}, {2, 2, 4.0}, {3, 3, 5.0},
                                  {4, 4, 6.0}, {0, 3, 1.0}, {1, 4, -1.0}};
    shapes[0] = matrix_from(1, &one, 1);
    shapes[1] = matrix_from(5, blocks, 7); /* disconnected, one isolated row */
    shapes[2] = matrix_dense(70, 3);       /* one wide supernode */
    shapes[3] = matrix_grid(23, 17, 0.1, 3.0);
    shapes[4] = matrix_grid(1, 90, 1.0, 10.0);
    shapes[5] = matrix_from(5, blocks, 5); /* diagonal */
    for (int32_t k = 0; k < 6; k++) {
        sup_cholesky *c = factor(&shapes[k], NULL);
        check_product(&shapes[k], c, 1e-11);
        check_solve(&shapes[k], c, 1, 1e-9);
        check_solve(&shapes[k], c, 8, 1e-9);
        check_solve(&shapes[k], c, 11, 1e-9);
        sup_cholesky_destroy(c);
        sup_csr_free(&shapes[k]);
    }
}

TEST(cholesky_empty)
{
    sup_csr a = matrix_from(0, NULL, 0);
    sup_cholesky *c = factor(&a, NULL);
    sup_cholesky_solve(c, 3, NULL, (double[1]){0}, (double[1]){0});
    sup_cholesky_destroy(c);
    sup_csr_free(&a);
}

TEST(cholesky_other_values_same_pattern)
{
    sup_csr a = matrix_grid(12, 9, 1.0, 10.0), b = matrix_grid(12, 9, 0.01, 1.0);
    sup_cholesky *c = factor(&a, NULL);
    sup_error error = {0};
    CHECK_OK(sup_cholesky_factorise(c, &b, &error), error);
    check_product(&b, c, 1e-12);
    CHECK_OK(sup_cholesky_factorise(c, &a, &error), error);
    check_product(&a, c, 1e-11);
    sup_csr other = matrix_grid(9, 13, 1.0, 1.0);
    CHECK_EQ(sup_cholesky_factorise(c, &other, &error), SUP_ERROR_ARGUMENT);
    CHECK_TEXT(error.id, "linalg.cholesky.pattern");
    sup_cholesky_destroy(c);
    sup_csr_free(&a), sup_csr_free(&b), sup_csr_free(&other);
}

static void check_refused(const sup_csr *a, const char *id)
{
    sup_cholesky *c = NULL;
    sup_error error = {0};
    CHECK_OK(sup_cholesky_analyse(NULL, a, NULL, &c, &error), error);
    CHECK_EQ(sup_cholesky_factorise(c, a, &error), SUP_ERROR_NUMERIC);
    CHECK_TEXT(error.id, id);
    /* and it never returns a value that is not finite */
    double *x = random_vector(a->size, 1), *workspace = random_vector(sup_cholesky_workspace(c, 1), 1);
    sup_cholesky_solve(c, 1, x, x, workspace);
    for (int32_t i = 0; i < a->size; i++)
        CHECK_NEAR(x[i], 0.0, 0.0);
    free(x), free(workspace);
    sup_cholesky_destroy(c);
}

TEST(cholesky_rejects_indefinite_matrices)
{
    for (int32_t width = 1; width < 30; width++) { /* a Laplacian alone: constants are in its kernel */
        sup_csr singular = matrix_grid(width, 11, 0.0, 0.1 * width);
        check_refused(&singular, "linalg.cholesky.positive");
        sup_csr_free(&singular);
    }
    sup_csr indefinite = matrix_grid(14, 11, -0.5, 1.0);
    check_refused(&indefinite, "linalg.cholesky.positive");
    sup_csr negative = matrix_grid(14, 11, -50.0, 1.0);
    check_refused(&negative, "linalg.cholesky.positive");
    const sup_triplet pair = {0, 1, 1.0};
    sup_csr zero = matrix_from(3, NULL, 0), saddle = matrix_from(2, &pair, 1);
    check_refused(&zero, "linalg.cholesky.positive");
    check_refused(&saddle, "linalg.cholesky.positive");
    sup_csr nan = matrix_grid(14, 11, 1.0, 1.0);
    nan.value[100] = NAN;
    check_refused(&nan, "linalg.cholesky.finite");
    nan.value[100] = INFINITY;
    check_refused(&nan, "linalg.cholesky.finite");
    nan.value[100] = 1e200; /* squares overflow in between */
    check_refused(&nan, "linalg.cholesky.positive");
    sup_csr_free(&indefinite), sup_csr_free(&negative), sup_csr_free(&zero);
    sup_csr_free(&saddle), sup_csr_free(&nan);
}

TEST(cholesky_reports_the_failing_row)
{
    sup_triplet t[6];
    for (int32_t i = 0; i < 6; i++)
        t[i] = (sup_triplet){i, i, i == 4 ? -1.0 : 1.0};
    sup_csr a = matrix_from(6, t, 6);
    sup_cholesky *c = NULL;
    sup_error error = {0};
    CHECK_EQ(sup_cholesky_create(NULL, &a, &c, &error), SUP_ERROR_NUMERIC);
    CHECK(c == NULL && strstr(error.message, "row 4 of 6") != NULL);
    sup_csr_free(&a);
}

TEST(cholesky_rejects_invalid_orders)
{
    sup_csr a = matrix_grid(2, 2, 1.0, 1.0);
    const int32_t twice[4] = {0, 1, 1, 3}, outside[4] = {0, 1, 2, 4};
    sup_cholesky_options options = {twice, false};
    sup_cholesky *c = NULL;
    CHECK_EQ(sup_cholesky_analyse(NULL, &a, &options, &c, NULL), SUP_ERROR_ARGUMENT);
    options.order = outside;
    CHECK_EQ(sup_cholesky_analyse(NULL, &a, &options, &c, NULL), SUP_ERROR_ARGUMENT);
    CHECK_EQ(sup_cholesky_analyse(NULL, NULL, NULL, &c, NULL), SUP_ERROR_ARGUMENT);
    CHECK(c == NULL);
    sup_csr_free(&a);
}

/* Fails the n-th allocation. */
typedef struct stingy {
    int32_t left, live;
} stingy;

static void *stingy_allocate(void *user, size_t size, size_t alignment)
{
    stingy *s = user;
    if (s->left-- <= 0) return NULL;
    s->live++;
    return aligned_alloc(alignment, (size + alignment - 1) / alignment * alignment);
}

static void stingy_release(void *user, void *memory, size_t size)
{
    (void)size;
    ((stingy *)user)->live--;
    free(memory);
}

TEST(cholesky_survives_allocation_failures)
{
    sup_csr a = matrix_grid(10, 10, 1.0, 1.0);
    bool done = false;
    for (int32_t limit = 0; limit < 200 && !done; limit++) {
        stingy s = {limit, 0};
        sup_context context = {.allocator = {stingy_allocate, stingy_release, &s}};
        sup_cholesky *c = NULL;
        sup_error error = {0};
        sup_result result = sup_cholesky_create(&context, &a, &c, &error);
        CHECK(result == SUP_OK || (result == SUP_ERROR_MEMORY && c == NULL));
        done = result == SUP_OK;
        sup_cholesky_destroy(c);
        CHECK_EQ(s.live, 0);
    }
    CHECK(done);
    sup_csr_free(&a);
}

TEST(cholesky_large_grid_against_conjugate_gradients)
{
    sup_csr a = matrix_grid(70, 60, 1.0, 10.0);
    int32_t n = a.size;
    sup_cholesky *c = factor(&a, NULL);
    double *b = random_vector(n, 1), *x = random_vector(n, 2), *y = calloc((size_t)n, 8), *w = random_vector(4 * n, 3);
    sup_pcg_report report;
    sup_error error = {0};
    CHECK(y != NULL);
    sup_cholesky_solve(c, 1, b, x, w);
    CHECK_OK(sup_pcg_solve(&a, b, y, 1e-13, 2000, w, &report, &error), error);
    CHECK(report.iterations > 5 && report.residual <= 1e-13);
    for (int32_t i = 0; i < n; i++)
        CHECK_NEAR(x[i], y[i], 1e-11);
    sup_cholesky_destroy(c);
    free(b), free(x), free(y), free(w);
    sup_csr_free(&a);
}

TEST(cholesky_same_bits_twice)
{
    sup_csr a = matrix_grid(30, 40, 1.0, 10.0);
    sup_cholesky *c = factor(&a, NULL), *d = factor(&a, NULL);
    CHECK_EQ(c->value_first[c->supernode_count], d->value_first[d->supernode_count]);
    CHECK(memcmp(c->values, d->values, (size_t)c->value_first[c->supernode_count] * 8) == 0);
    sup_cholesky_destroy(c), sup_cholesky_destroy(d);
    sup_csr_free(&a);
}

TEST(pcg_guards)
{
    sup_csr a = matrix_grid(5, 5, 1.0, 1.0), indefinite = matrix_grid(5, 5, -9.0, 1.0);
    double b[25] = {0}, x[25] = {0}, w[100];
    sup_pcg_report report;
    CHECK_EQ(sup_pcg_solve(&a, b, x, 1e-10, 50, w, &report, NULL), SUP_OK); /* 0 = A 0 */
    CHECK_EQ(report.iterations, 0);
    for (int32_t i = 0; i < 25; i++)
        CHECK_NEAR(x[i], 0.0, 0.0);
    for (int32_t i = 0; i < 25; i++)
        x[i] = 1.0; /* an exact start: A 1 = 1 */
    sup_csr_multiply(&a, 1, x, b);
    CHECK_EQ(sup_pcg_solve(&a, b, x, 0.0, 50, w, &report, NULL), SUP_OK);
    CHECK_EQ(report.iterations, 0);
    CHECK_EQ(sup_pcg_solve(&indefinite, b, x, 1e-10, 50, w, &report, NULL), SUP_ERROR_NUMERIC);
    for (int32_t i = 0; i < 25; i++)
        CHECK(isfinite(x[i]));
    b[3] = 5.0;
    CHECK_EQ(sup_pcg_solve(&a, b, x, 1e-14, 1, w, &report, NULL), SUP_ERROR_NUMERIC); /* too few iterations */
    sup_csr_free(&a), sup_csr_free(&indefinite);
}

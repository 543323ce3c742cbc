/* The factor of the step: float, relocatable, interleaved right-hand sides. */
#include "linalg/float_factor.h"
#include "linalg/kernels.h"
#include "matrices.h"

typedef struct block {
    sup_cholesky *cholesky;
    int64_t int_count, float_count;
    int32_t *ints;
    float *floats;
} block;

static block block_of(const sup_csr *a)
{
    block b = {0};
    sup_error error = {0};
    CHECK_OK(sup_cholesky_create(NULL, a, &b.cholesky, &error), error);
    sup_float_factor_sizes(b.cholesky, &b.int_count, &b.float_count);
    b.ints = malloc(((size_t)b.int_count + 2) * 4);
    b.floats = malloc(((size_t)b.float_count + 2) * 4);
    CHECK(b.ints != NULL && b.floats != NULL);
    b.ints[b.int_count] = 12345; /* must not be written beyond */
    b.floats[b.float_count] = 12345.0f;
    CHECK_OK(sup_float_factor_write(b.cholesky, b.ints, b.floats, &error), error);
    CHECK_EQ(b.ints[b.int_count], 12345);
    CHECK_NEAR(b.floats[b.float_count], 12345.0, 0.0);
    CHECK(sup_float_factor_check(b.ints, b.int_count, b.floats, b.float_count));
    return b;
}

static void block_free(block *b)
{
    sup_cholesky_destroy(b->cholesky);
    free(b->ints), free(b->floats);
}

/* Largest relative error of the 4 and the 8 lane solve against the double one. */
static double solve_error(const block *f, const sup_csr *a)
{
    int32_t n = a->size;
    double *b = random_vector((int64_t)n * 8, 11), *x = random_vector((int64_t)n * 8, 12);
    double *work = random_vector(sup_cholesky_workspace(f->cholesky, 8), 1), worst = 0.0;
    sup_cholesky_solve(f->cholesky, 8, b, x, work);
    for (int32_t lanes = 4; lanes <= 8; lanes += 4) {
        size_t count = (size_t)n * (size_t)lanes;
        float *in = malloc((count + 8) * 4), *out = malloc((count + 8) * 4), *space = malloc((count + 8) * 4);
        CHECK(in != NULL && out != NULL && space != NULL);
        for (int32_t i = 0; i < n; i++)
            for (int32_t q = 0; q < lanes; q++)
                in[i * lanes + q] = (float)b[i * 8 + q];
        for (int32_t k = 0; k < 8; k++)
            space[count + (size_t)k] = out[count + (size_t)k] = 3.0f;
        sup_float_factor view = sup_float_factor_view(f->ints, f->floats);
        (lanes == 4 ? sup_float_solve4 : sup_float_solve8)(&view, in, out, space);
        double difference = 0.0, length = 0.0;
        for (int32_t i = 0; i < n; i++)
            for (int32_t q = 0; q < lanes; q++) {
                double d = x[i * 8 + q] - (double)out[i * lanes + q];
                difference += d * d;
                length += x[i * 8 + q] * x[i * 8 + q];
            }
        for (int32_t k = 0; k < 8; k++)
            CHECK_NEAR(space[count + (size_t)k] + out[count + (size_t)k], 6.0, 0.0);
        if (length > 0.0 && sqrt(difference / length) > worst) worst = sqrt(difference / length);
        free(in), free(out), free(space);
    }
    free(b), free(x), free(work);
    return worst;
}

TEST(float_solve_is_accurate)
{
    for (uint64_t seed = 1; seed <= 25; seed++) {
        sup_csr a = matrix_random((int32_t)(seed * 9), 0.5 + (double)(seed % 9), seed);
        block f = block_of(&a);
        double error = solve_error(&f, &a);
        CHECK_MSG(error < 1e-5, "seed %d: %g", (int)seed, error);
        block_free(&f);
        sup_csr_free(&a);
    }
    sup_csr grids[3] = {matrix_grid(50, 60, 1.0, 10.0), matrix_dense(77, 2), matrix_grid(1, 1, 3.0, 0.0)};
    for (int32_t k = 0; k < 3; k++) {
        block f = block_of(&grids[k]);
        double error = solve_error(&f, &grids[k]);
        CHECK_MSG(error < 2e-6, "%g", error);
        block_free(&f);
        sup_csr_free(&grids[k]);
    }
}

TEST(float_solve_zero_gives_exact_zeros)
{
    sup_csr a = matrix_grid(20, 20, 1.0, 10.0);
    block f = block_of(&a);
    sup_float_factor view = sup_float_factor_view(f.ints, f.floats);
    float x[400 * 4], work[400 * 4];
    memset(x, 0, sizeof(x));
    sup_float_solve4(&view, x, x, work);
    for (int32_t k = 0; k < 1600; k++)
        CHECK_NEAR(x[k], 0.0, 0.0);
    block_free(&f);
    sup_csr_free(&a);
}

/* One lane never leaks into another, and 4 and 8 lanes give the same bits. */
TEST(float_solve_lanes_are_independent)
{
    sup_csr a = matrix_grid(20, 20, 1.0, 10.0);
    block f = block_of(&a);
    sup_float_factor view = sup_float_factor_view(f.ints, f.floats);
    static float four[1600], eight[3200], work[3200];
    for (int32_t i = 0; i < 400; i++)
        for (int32_t q = 0; q < 8; q++) {
            eight[i * 8 + q] = q < 4 ? (float)sin(i * 0.7 + q) : NAN;
            if (q < 4) four[i * 4 + q] = (float)sin(i * 0.7 + q);
        }
    sup_float_solve4(&view, four, four, work);
    sup_float_solve8(&view, eight, eight, work);
    for (int32_t i = 0; i < 400; i++)
        CHECK(memcmp(four + i * 4, eight + i * 8, 16) == 0);
    block_free(&f);
    sup_csr_free(&a);
}

TEST(float_solve_ordered_is_the_same_solve)
{
    sup_csr a = matrix_grid(15, 12, 1.0, 10.0);
    block f = block_of(&a);
    sup_float_factor view = sup_float_factor_view(f.ints, f.floats);
    static float b[720], x[720], ordered[720], work[720];
    for (int32_t k = 0; k < 720; k++)
        b[k] = (float)cos(k * 0.3);
    for (int32_t k = 0; k < 180; k++)
        memcpy(ordered + k * 4, b + view.order[k] * 4, 16);
    sup_float_solve4(&view, b, x, work);
    sup_float_solve4_ordered(&view, ordered);
    for (int32_t k = 0; k < 180; k++)
        CHECK(memcmp(ordered + k * 4, x + view.order[k] * 4, 16) == 0);
    block_free(&f);
    sup_csr_free(&a);
}

TEST(float_kernels_agree)
{
    const sup_linalg_kernels *base = sup_linalg_kernels_base(), *avx2 = sup_linalg_kernels_avx2();
    if (avx2 == NULL) SKIP("no AVX2 here");
    sup_csr a = matrix_grid(40, 30, 1.0, 10.0);
    block f = block_of(&a);
    sup_float_factor view = sup_float_factor_view(f.ints, f.floats);
    static float x[9600], y[9600];
    for (int32_t k = 0; k < 9600; k++)
        x[k] = y[k] = (float)sin(k * 0.11);
    base->float_forward8(&view, 0, view.panel_count, view.values, x);
    base->float_backward8(&view, 0, view.panel_count, view.values + view.value_count, x);
    avx2->float_forward8(&view, 0, view.panel_count, view.values, y);
    avx2->float_backward8(&view, 0, view.panel_count, view.values + view.value_count, y);
    for (int32_t k = 0; k < 9600; k++)
        CHECK_NEAR(x[k], y[k], 2e-6);
    block_free(&f);
    sup_csr_free(&a);
}

TEST(double_kernels_agree)
{
    const sup_linalg_kernels *kernels[2] = {sup_linalg_kernels_base(), sup_linalg_kernels_avx2()};
    for (int32_t k = 0; k < 2 && kernels[k] != NULL; k++)
        for (int32_t width = 1; width <= 21; width++)
            for (int32_t below = 0; below <= 19; below++) {
                int32_t rows = width + below;
                sup_csr a = matrix_dense(rows, (uint64_t)width * 100 + (uint64_t)below);
                double *dense = dense_of(&a), smallest[32] = {0}, update[20 * 20 + 8];
                double *panel = malloc((size_t)(rows * width + 1) * 8);
                CHECK(panel != NULL);
                panel[rows * width] = update[below * below] = 777.0;
                for (int32_t j = 0; j < width; j++)
                    for (int32_t i = 0; i < rows; i++)
                        panel[j * rows + i] = dense[i * rows + j];
                CHECK_EQ(kernels[k]->factor_panel(panel, rows, width, smallest), -1);
                kernels[k]->outer_product(update, panel + width, below, width, rows);
                CHECK_NEAR(panel[rows * width] + update[below * below], 1554.0, 0.0);
                for (int32_t i = 0; i < rows; i++)
                    for (int32_t j = 0; j <= i && j < width; j++) {
                        double sum = 0.0;
                        for (int32_t m = 0; m <= j; m++)
                            sum += panel[m * rows + i] * panel[m * rows + j];
                        CHECK_NEAR(sum, dense[i * rows + j], 1e-12);
                    }
                for (int32_t i = 0; i < below; i++)
                    for (int32_t j = 0; j <= i; j++) {
                        double sum = 0.0;
                        for (int32_t m = 0; m < width; m++)
                            sum -= panel[m * rows + width + i] * panel[m * rows + width + j];
                        CHECK_NEAR(update[j * below + i], sum, 1e-12);
                    }
                free(dense), free(panel);
                sup_csr_free(&a);
            }
}

TEST(float_factor_check_detects_damage)
{
    sup_csr a = matrix_grid(9, 8, 1.0, 10.0);
    block f = block_of(&a);
    CHECK(!sup_float_factor_check(NULL, 0, NULL, 0));
    CHECK(!sup_float_factor_check(f.ints, f.int_count - 1, f.floats, f.float_count));
    CHECK(!sup_float_factor_check(f.ints, f.int_count, f.floats, f.float_count - 1));
    /* Any damaged int: still safe to use or rejected; sizes and far indices are always rejected. */
    static float x[72 * 4], work[72 * 4];
    for (int64_t k = 0; k < f.int_count; k++) {
        const int32_t values[] = {-1, INT32_MAX, INT32_MIN, f.ints[k] + 1, f.ints[k] - 1, 0};
        int32_t keep = f.ints[k];
        for (int32_t m = 0; m < 6; m++) {
            f.ints[k] = values[m];
            if (!sup_float_factor_check(f.ints, f.int_count, f.floats, f.float_count)) continue;
            sup_float_factor view = sup_float_factor_view(f.ints, f.floats);
            sup_float_solve4(&view, x, x, work); /* checked by the address sanitizer */
        }
        f.ints[k] = keep;
    }
    for (int32_t k = 0; k < 6; k++) {
        int32_t keep = f.ints[k];
        f.ints[k] = keep + 1;
        CHECK(!sup_float_factor_check(f.ints, f.int_count, f.floats, f.float_count));
        f.ints[k] = keep;
    }
    sup_float_factor view = sup_float_factor_view(f.ints, f.floats);
    int32_t *row = f.ints + (view.rows - f.ints), keep_row = *row;
    *row = view.size;
    CHECK(!sup_float_factor_check(f.ints, f.int_count, f.floats, f.float_count));
    *row = view.panels[0].first; /* not below its own panel */
    CHECK(!sup_float_factor_check(f.ints, f.int_count, f.floats, f.float_count));
    *row = keep_row;
    f.ints[16] = view.size; /* order */
    CHECK(!sup_float_factor_check(f.ints, f.int_count, f.floats, f.float_count));
    f.ints[16] = 0;
    f.floats[17] = NAN;
    CHECK(!sup_float_factor_check(f.ints, f.int_count, f.floats, f.float_count));
    block_free(&f);
    sup_csr_free(&a);
}

TEST(float_factor_rejects_overflow)
{
    const sup_triplet t = {0, 0, 1e-90};
    sup_csr a = matrix_from(1, &t, 1);
    sup_cholesky *c = NULL;
    sup_error error = {0};
    int32_t ints[64];
    float floats[8];
    CHECK_OK(sup_cholesky_analyse(NULL, &a, NULL, &c, &error), error);
    CHECK_EQ(sup_float_factor_write(c, ints, floats, &error), SUP_ERROR_ARGUMENT); /* no factor yet */
    CHECK_OK(sup_cholesky_factorise(c, &a, &error), error);
    CHECK_EQ(sup_float_factor_write(c, ints, floats, &error), SUP_ERROR_NUMERIC);
    sup_cholesky_destroy(c);
    sup_csr_free(&a);
}

TEST(float_factor_is_relocatable)
{
    sup_csr a = matrix_grid(11, 13, 1.0, 10.0);
    block f = block_of(&a);
    int32_t *ints = malloc((size_t)f.int_count * 4);
    float *floats = malloc((size_t)f.float_count * 4);
    static float b[572], x[572], y[572], work[572];
    CHECK(ints != NULL && floats != NULL);
    memcpy(ints, f.ints, (size_t)f.int_count * 4);
    memcpy(floats, f.floats, (size_t)f.float_count * 4);
    for (int32_t k = 0; k < 572; k++)
        b[k] = (float)sin(k * 0.17);
    sup_float_factor view = sup_float_factor_view(f.ints, f.floats);
    sup_float_solve4(&view, b, x, work);
    block_free(&f);
    view = sup_float_factor_view(ints, floats);
    sup_float_solve4(&view, b, y, work);
    CHECK(memcmp(x, y, sizeof(x)) == 0);
    free(ints), free(floats);
    sup_csr_free(&a);
}

/* The solve in subdomains: the same solution as the plain one, the same bits for any number of threads. */
#include "linalg/solve_threads.h"
#include "matrices.h"

typedef struct split {
    sup_csr a;
    sup_cholesky *cholesky;
    int64_t int_count, float_count, part_int_count;
    int32_t *ints, *part_ints;
    float *floats;
    sup_float_factor factor;
    sup_float_subdomains subdomains;
} split;

static split split_of(sup_csr a, int32_t wanted)
{
    split p = {.a = a};
    sup_error error = {0};
    CHECK_OK(sup_cholesky_create(NULL, &a, &p.cholesky, &error), error);
    sup_float_factor_sizes(p.cholesky, &p.int_count, &p.float_count);
    p.ints = malloc((size_t)p.int_count * 4 + 4);
    p.floats = malloc((size_t)p.float_count * 4 + 4);
    CHECK(p.ints != NULL && p.floats != NULL);
    CHECK_OK(sup_float_factor_write(p.cholesky, p.ints, p.floats, &error), error);
    CHECK_OK(sup_float_subdomains_create(NULL, wanted, p.ints, p.floats, &p.part_ints, &p.part_int_count, &error),
             error);
    CHECK(sup_float_factor_check(p.ints, p.int_count, p.floats, p.float_count));
    p.factor = sup_float_factor_view(p.ints, p.floats);
    CHECK(sup_float_subdomains_check(&p.factor, p.part_ints, p.part_int_count));
    p.subdomains = sup_float_subdomains_view(p.part_ints);
    return p;
}

static void split_free(split *p)
{
    sup_context context = sup_context_resolve(NULL);
    sup_free(&context.allocator, p->part_ints, (size_t)p->part_int_count * 4);
    sup_cholesky_destroy(p->cholesky);
    sup_csr_free(&p->a);
    free(p->ints), free(p->floats);
}

static float *right_hand_side(const split *p)
{
    size_t rows = (size_t)p->factor.size + (size_t)p->subdomains.slot_count;
    double *b = random_vector((int64_t)p->factor.size * 4, 5);
    float *x = malloc(rows * 16 + 16);
    CHECK(b != NULL && x != NULL);
    for (size_t i = 0; i < rows * 4; i++)
        x[i] = i < (size_t)p->factor.size * 4 ? (float)b[i] : 1e30f; /* slots may have any value */
    free(b);
    return x;
}

/* |A x - b| / |b| in double, x and b in elimination order. */
static double residual(const split *p, const float *x, const float *b)
{
    size_t n = (size_t)p->factor.size;
    double *xd = calloc(n * 4 + 1, 8), *y = calloc(n * 4 + 1, 8), miss = 0.0, length = 0.0;
    CHECK(xd != NULL && y != NULL);
    for (size_t k = 0; k < n; k++)
        for (size_t q = 0; q < 4; q++)
            xd[(size_t)p->factor.order[k] * 4 + q] = (double)x[k * 4 + q];
    sup_csr_multiply(&p->a, 4, xd, y);
    for (size_t k = 0; k < n; k++)
        for (size_t q = 0; q < 4; q++) {
            double d = y[(size_t)p->factor.order[k] * 4 + q] - (double)b[k * 4 + q];
            miss += d * d;
            length += (double)b[k * 4 + q] * (double)b[k * 4 + q];
        }
    free(xd), free(y);
    return length > 0.0 ? sqrt(miss / length) : sqrt(miss);
}

static void check_solve(sup_csr a, int32_t wanted, double tolerance)
{
    split p = split_of(a, wanted);
    float *b = right_hand_side(&p), *x = right_hand_side(&p), *plain = right_hand_side(&p);
    sup_float_solve4_ordered(&p.factor, plain);
    CHECK_NEAR(residual(&p, plain, b), 0.0, tolerance);
    sup_float_subdomains_solve4(NULL, &p.factor, &p.subdomains, x);
    CHECK_NEAR(residual(&p, x, b), 0.0, tolerance);
    for (int32_t threads = 2; threads <= 3; threads++) {
        sup_thread_pool *pool = NULL;
        sup_error error = {0};
        CHECK_OK(sup_thread_pool_create(threads, &pool, &error), error);
        sup_context context = {.tasks = sup_thread_pool_tasks(pool)};
        for (int32_t repeat = 0; repeat < 20; repeat++) {
            float *again = right_hand_side(&p);
            sup_float_subdomains_solve4(&context, &p.factor, &p.subdomains, again);
            CHECK(memcmp(x, again, (size_t)p.factor.size * 16) == 0);
            free(again);
        }
        sup_thread_pool_destroy(pool);
    }
    free(b), free(x), free(plain);
    split_free(&p);
}

TEST(subdomains_solve_grids)
{
    check_solve(matrix_grid(70, 60, 1.0, 10.0), 8, 2e-5);
    check_solve(matrix_grid(300, 8, 1.0, 10.0), 4, 2e-5);
    check_solve(matrix_grid(5, 5, 1.0, 10.0), 8, 2e-5);
    check_solve(matrix_grid(1, 1, 1.0, 10.0), 8, 2e-5);
}

TEST(subdomains_solve_other_shapes)
{
    check_solve(matrix_dense(300, 3), 8, 2e-5); /* one chain: everything is separator */
    check_solve(matrix_random(3000, 3.0, 7), 8, 2e-5);
    check_solve(matrix_random(3000, 0.5, 9), 8, 2e-5); /* a forest */
}

TEST(subdomains_balance_work)
{
    split p = split_of(matrix_grid(120, 60, 1.0, 10.0), 8);
    CHECK(p.subdomains.subdomain_count >= 6 && p.subdomains.subdomain_count <= 16);
    int64_t largest = 0, all = 0;
    for (int32_t k = 0; k <= p.subdomains.subdomain_count; k++) {
        int32_t end = k < p.subdomains.subdomain_count ? p.subdomains.panel_first[k + 1] : p.factor.panel_count;
        int64_t values = 0;
        for (int32_t panel = p.subdomains.panel_first[k]; panel < end; panel++) {
            const sup_float_panel *f = &p.factor.panels[panel];
            values += (int64_t)f->width * (f->width + 1) / 2 + (int64_t)f->width * f->below;
        }
        all += values;
        if (values > largest && k < p.subdomains.subdomain_count) largest = values;
        if (k == p.subdomains.subdomain_count)
            CHECK_MSG(values * 2 < p.factor.value_count, "the separator has more than half");
    }
    CHECK_EQ(all, p.factor.value_count);
    CHECK(largest * 4 < all);
    split_free(&p);
}

/* A patch of rows of a subdomain, and a few of the separator: the same bits there as in a whole solve, and most
 * other rows are skipped. */
TEST(subdomains_solve_marked_rows)
{
    split p = split_of(matrix_grid(120, 60, 1.0, 10.0), 8);
    int32_t size = p.factor.size, separator = p.subdomains.column_first[p.subdomains.subdomain_count], zeros = 0;
    size_t floats = 4 * ((size_t)size + (size_t)p.subdomains.slot_count);
    float *b = right_hand_side(&p), *whole = calloc(floats, sizeof *whole), *x = calloc(floats, sizeof *x);
    CHECK(whole != NULL && x != NULL && separator < size);
    for (int32_t i = 0; i < size; i++) {
        if (!((i > 40 && i < 90) || (i >= separator && i < separator + 3))) continue;
        memcpy(whole + 4 * i, b + 4 * i, 3 * sizeof *x);
        memcpy(x + 4 * i, b + 4 * i, 3 * sizeof *x);
        x[4 * i + 3] = 1.0f;
    }
    sup_float_subdomains_solve4(NULL, &p.factor, &p.subdomains, whole);
    p.subdomains.marked = true;
    sup_float_subdomains_solve4(NULL, &p.factor, &p.subdomains, x);
    for (int32_t i = 0; i < size; i++) {
        if ((i > 40 && i < 90) || (i >= separator && i < separator + 3))
            CHECK(memcmp(x + 4 * i, whole + 4 * i, 3 * sizeof *x) == 0);
        zeros += x[4 * i] == 0.0f ? 1 : 0;
    }
    CHECK_MSG(zeros > size * 3 / 4, "%d of %d rows were passed over", zeros, size);
    free(b), free(whole), free(x);
    split_free(&p);
}

TEST(subdomains_check_detects_damage)
{
    split p = split_of(matrix_grid(70, 60, 1.0, 10.0), 8);
    sup_random random = {77};
    CHECK(!sup_float_subdomains_check(&p.factor, p.part_ints, p.part_int_count - 1));
    CHECK(!sup_float_subdomains_check(&p.factor, NULL, p.part_int_count));
    int32_t refused = 0;
    for (int32_t trial = 0; trial < 2000; trial++) {
        int64_t at = trial < 60 ? trial : (int64_t)(sup_random_unit(&random) * (double)p.part_int_count);
        int32_t kept = p.part_ints[at];
        p.part_ints[at] = trial % 2 == 0 ? kept + 1000000 : -kept - 2;
        bool good = sup_float_subdomains_check(&p.factor, p.part_ints, p.part_int_count);
        refused += !good;
        p.part_ints[at] = kept;
    }
    CHECK(refused >=
          1700); /* not rejected: unused values of the head, and rows of the separator, which are not read here */
    CHECK(sup_float_subdomains_check(&p.factor, p.part_ints, p.part_int_count));
    split_free(&p);
}

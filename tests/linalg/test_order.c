/* Fill-reducing order. */
#include "linalg/order.h"
#include "matrices.h"

static void check_permutation(int32_t size, const int32_t *order)
{
    unsigned char *seen = calloc((size_t)size + 1, 1);
    CHECK(seen != NULL);
    for (int32_t k = 0; k < size; k++) {
        CHECK(order[k] >= 0 && order[k] < size && !seen[order[k]]);
        seen[order[k]] = 1;
    }
    free(seen);
}

static int64_t fill_of(const sup_csr *a, const int32_t *order)
{
    sup_cholesky_options options = {order, true};
    sup_cholesky *c = NULL;
    sup_error error = {0};
    CHECK_OK(sup_cholesky_analyse(NULL, a, &options, &c, &error), error);
    int64_t nonzeros = c->nonzeros;
    sup_cholesky_destroy(c);
    return nonzeros;
}

/* Entries of L by elimination on a dense pattern, for the order given: what fill_of must find. */
static int64_t brute_fill(const sup_csr *a, const int32_t *order)
{
    int32_t n = a->size;
    double *dense = dense_of(a);
    unsigned char *full = calloc((size_t)n * (size_t)n + 1, 1);
    int64_t count = 0;
    CHECK(full != NULL);
    for (int32_t i = 0; i < n; i++)
        for (int32_t j = 0; j < n; j++)
            full[i * n + j] = i == j || fabs(dense[order[i] * n + order[j]]) > 0.0;
    for (int32_t k = 0; k < n; k++)
        for (int32_t i = k; i < n; i++) {
            if (!full[i * n + k]) continue;
            count++;
            for (int32_t j = k + 1; j < n; j++)
                full[i * n + j] |= full[j * n + k];
        }
    free(dense), free(full);
    return count;
}

TEST(order_is_a_permutation_and_counts_are_exact)
{
    for (uint64_t seed = 1; seed <= 40; seed++) {
        int32_t n = (int32_t)(1 + seed * 2);
        sup_csr a = matrix_random(n, 0.5 + (double)(seed % 7), seed);
        int32_t order[128], natural[128];
        CHECK_EQ(sup_order_minimum_degree(NULL, &a, order, NULL), SUP_OK);
        check_permutation(n, order);
        for (int32_t i = 0; i < n; i++)
            natural[i] = i;
        CHECK_EQ(fill_of(&a, order), brute_fill(&a, order));
        CHECK_EQ(fill_of(&a, natural), brute_fill(&a, natural));
        sup_csr_free(&a);
    }
}

TEST(order_reduces_fill_of_grids)
{
    /* 60 x 60: the natural order fills a band, about size * 61 entries; minimum degree stays under 2/5 of that. */
    sup_csr a = matrix_grid(60, 60, 1.0, 1.0);
    int32_t *order = malloc(3600 * sizeof(int32_t)), *natural = malloc(3600 * sizeof(int32_t));
    CHECK(order != NULL && natural != NULL);
    for (int32_t i = 0; i < 3600; i++)
        natural[i] = i;
    CHECK_EQ(sup_order_minimum_degree(NULL, &a, order, NULL), SUP_OK);
    check_permutation(3600, order);
    int64_t best = fill_of(&a, order), band = fill_of(&a, natural);
    CHECK_MSG(best * 5 < band * 2 && best < 83500, "%lld against %lld", (long long)best, (long long)band);
    free(order), free(natural);
    sup_csr_free(&a);
}

TEST(order_of_trees_has_no_fill)
{
    /* A tree can always be eliminated without fill, and minimum degree finds such an order. */
    sup_random random = {5};
    sup_triplet t[999 * 3];
    int64_t count = 0;
    for (int32_t i = 1; i < 1000; i++)
        t[count++] = (sup_triplet){i, (int32_t)(sup_random_u32(&random) % (uint32_t)i), -0.1};
    sup_csr a = matrix_from(1000, t, count);
    int32_t order[1000];
    CHECK_EQ(sup_order_minimum_degree(NULL, &a, order, NULL), SUP_OK);
    check_permutation(1000, order);
    CHECK_EQ(fill_of(&a, order), 1999);
    sup_csr_free(&a);
}

TEST(order_puts_dense_rows_last)
{
    /* A star with many hubs' worth of edges: row 0 touches every other of 2000. */
    sup_triplet t[4000];
    int64_t count = 0;
    for (int32_t i = 1; i < 2000; i++) {
        t[count++] = (sup_triplet){0, i, -0.1};
        if (i > 1) t[count++] = (sup_triplet){i, i - 1, -0.1};
    }
    sup_csr a = matrix_from(2000, t, count);
    int32_t order[2000];
    CHECK_EQ(sup_order_minimum_degree(NULL, &a, order, NULL), SUP_OK);
    check_permutation(2000, order);
    CHECK_EQ(order[1999], 0);
    sup_csr_free(&a);
}

TEST(order_is_repeatable)
{
    sup_csr a = matrix_random(500, 6.0, 3);
    int32_t first[500], second[500];
    CHECK_EQ(sup_order_minimum_degree(NULL, &a, first, NULL), SUP_OK);
    CHECK_EQ(sup_order_minimum_degree(NULL, &a, second, NULL), SUP_OK);
    CHECK(memcmp(first, second, sizeof(first)) == 0);
    sup_csr_free(&a);
}

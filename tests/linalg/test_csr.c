/* Sparse matrices from triplets. */
#include "matrices.h"

TEST(csr_sums_duplicates_in_order)
{
    /* 1e16 + 1 - 1e16 depends on the order: it must be the given one. */
    const sup_triplet t[] = {{2, 0, 1e16}, {0, 2, 1.0}, {2, 0, -1e16}, {1, 1, 4.0}, {2, 0, 0.5}};
    sup_csr a = matrix_from(3, t, 5);
    CHECK_EQ(a.first[3], 4); /* three diagonals, one pair */
    CHECK_EQ(a.column[2], 0);
    CHECK_NEAR(a.value[2], ((1e16 + 1.0) - 1e16) + 0.5, 0.0);
    CHECK_NEAR(a.value[0], 0.0, 0.0);
    CHECK_NEAR(a.value[1], 4.0, 0.0);
    sup_csr_free(&a);
    sup_csr_free(&a);
}

TEST(csr_matches_dense_product)
{
    for (uint64_t seed = 1; seed < 20; seed++) {
        int32_t n = (int32_t)(seed * 3);
        sup_csr a = matrix_random(n, 4.0, seed);
        double *dense = dense_of(&a), *x = random_vector(n * 3, seed), *y = random_vector(n * 3, seed);
        sup_csr_multiply(&a, 3, x, y);
        for (int32_t i = 0; i < n; i++)
            for (int32_t q = 0; q < 3; q++) {
                double sum = 0.0;
                for (int32_t j = 0; j < n; j++)
                    sum += dense[i * n + j] * x[j * 3 + q];
                CHECK_NEAR(y[i * 3 + q], sum, 1e-12);
            }
        free(dense), free(x), free(y);
        sup_csr_free(&a);
    }
}

TEST(csr_rejects_invalid_triplets)
{
    sup_csr a = {.size = 77};
    sup_error error = {0};
    const sup_triplet high = {0, 3, 1.0}, low = {-1, 0, 1.0};
    CHECK_EQ(sup_csr_from_triplets(NULL, 3, &high, 1, &a, &error), SUP_ERROR_ARGUMENT);
    CHECK_TEXT(error.id, "linalg.csr.range");
    CHECK_EQ(sup_csr_from_triplets(NULL, 3, &low, 1, &a, NULL), SUP_ERROR_ARGUMENT);
    CHECK_EQ(sup_csr_from_triplets(NULL, -1, NULL, 0, &a, NULL), SUP_ERROR_ARGUMENT);
    CHECK_EQ(sup_csr_from_triplets(NULL, 3, NULL, 1, &a, NULL), SUP_ERROR_ARGUMENT);
    CHECK_EQ(a.size, 77); /* untouched */
}

TEST(csr_empty)
{
    sup_csr a = matrix_from(0, NULL, 0);
    CHECK_EQ(a.first[0], 0);
    sup_csr_free(&a);
    a = matrix_from(2, NULL, 0); /* no triplets: zero diagonals */
    CHECK_EQ(a.first[2], 2);
    sup_csr_free(&a);
}

TEST(csr_well_formed_finds_defects)
{
    sup_csr a = matrix_grid(3, 3, 1.0, 1.0);
    int32_t keep = a.column[4];
    a.column[4] = 9;
    CHECK(!sup_csr_well_formed(&a));
    a.column[4] = -1;
    CHECK(!sup_csr_well_formed(&a));
    a.column[4] = keep;
    CHECK(sup_csr_well_formed(&a));
    CHECK(!sup_csr_well_formed(NULL));
    sup_csr_free(&a);
}

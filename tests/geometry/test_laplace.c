/* Cotangent Laplacian: constants, linear functions and spheres, and robustness on degenerate meshes. */
#include "geometry/laplace.h"
#include "math/vec3.h"
#include "test.h"

enum { SIDE = 9 };

/* Square grid [0,1]^2 with perturbed interior points, in the plane z = 0. */
static void make_plane(float *positions, int32_t *triangles, double shake)
{
    sup_random random = {77};
    int32_t count = 0;
    for (int32_t y = 0; y < SIDE; y++)
        for (int32_t x = 0; x < SIDE; x++) {
            bool inner = x > 0 && y > 0 && x < SIDE - 1 && y < SIDE - 1;
            float *p = positions + 3 * (y * SIDE + x);
            p[0] = (float)((x + (inner ? shake * (sup_random_unit(&random) - 0.5) : 0.0)) / (SIDE - 1));
            p[1] = (float)((y + (inner ? shake * (sup_random_unit(&random) - 0.5) : 0.0)) / (SIDE - 1));
            p[2] = 0.0f;
        }
    for (int32_t y = 0; y + 1 < SIDE; y++)
        for (int32_t x = 0; x + 1 < SIDE; x++) {
            int32_t a = y * SIDE + x;
            const int32_t t[6] = {a, a + 1, a + SIDE, a + 1, a + SIDE + 1, a + SIDE};
            memcpy(triangles + count, t, sizeof(t));
            count += 6;
        }
}

static sup_laplace create(sup_laplace_kind kind, int32_t vertices, const float *positions, int32_t count,
                          const int32_t *triangles)
{
    sup_laplace l = {0};
    sup_error error = {0};
    CHECK_OK(sup_laplace_create(NULL, kind, vertices, positions, count, triangles, &l, &error), error);
    CHECK(sup_csr_well_formed(&l.stiffness));
    return l;
}

TEST(laplace_constants_and_linear_functions)
{
    float positions[SIDE * SIDE * 3];
    int32_t triangles[(SIDE - 1) * (SIDE - 1) * 6];
    make_plane(positions, triangles, 0.5);
    for (int32_t kind = 0; kind < 2; kind++) {
        sup_laplace l = create(kind ? SUP_LAPLACE_ROBUST : SUP_LAPLACE_COTANGENT, SIDE * SIDE, positions,
                               SUP_COUNT(triangles) / 3, triangles);
        double x[SIDE * SIDE * 2], y[SIDE * SIDE * 2], area = 0.0;
        for (int32_t i = 0; i < SIDE * SIDE; i++) {
            x[2 * i] = 1.0;
            x[2 * i + 1] = 3.0 * (double)positions[3 * i] - 2.0 * (double)positions[3 * i + 1];
            area += l.mass[i];
        }
        sup_csr_multiply(&l.stiffness, 2, x, y);
        CHECK_NEAR(area, 1.0, 1e-6);
        for (int32_t i = 0; i < SIDE * SIDE; i++) {
            CHECK_NEAR(y[2 * i], 0.0, 1e-12);
            int32_t column = i % SIDE, row = i / SIDE;
            bool inner = column > 0 && row > 0 && column < SIDE - 1 && row < SIDE - 1;
            if (inner && kind == 0) CHECK_NEAR(y[2 * i + 1], 0.0, 1e-9); /* linear precision inside a plane */
        }
        sup_laplace_free(&l);
        sup_laplace_free(&l);
    }
}

TEST(laplace_dirichlet_energy_of_a_linear_function)
{
    /* Integral of |grad(3x - 2y)|^2 over the unit square is 13. */
    float positions[SIDE * SIDE * 3];
    int32_t triangles[(SIDE - 1) * (SIDE - 1) * 6];
    make_plane(positions, triangles, 0.5);
    sup_laplace l = create(SUP_LAPLACE_COTANGENT, SIDE * SIDE, positions, SUP_COUNT(triangles) / 3, triangles);
    double x[SIDE * SIDE], y[SIDE * SIDE], energy = 0.0;
    for (int32_t i = 0; i < SIDE * SIDE; i++)
        x[i] = 3.0 * (double)positions[3 * i] - 2.0 * (double)positions[3 * i + 1];
    sup_csr_multiply(&l.stiffness, 1, x, y);
    for (int32_t i = 0; i < SIDE * SIDE; i++)
        energy += x[i] * y[i];
    CHECK_NEAR(energy, 13.0, 1e-5);
    sup_laplace_free(&l);
}

TEST(laplace_is_scale_invariant)
{
    /* Weights do not depend on the unit; masses scale with its square. */
    float positions[SIDE * SIDE * 3];
    int32_t triangles[(SIDE - 1) * (SIDE - 1) * 6];
    make_plane(positions, triangles, 0.5);
    sup_laplace a = create(SUP_LAPLACE_ROBUST, SIDE * SIDE, positions, SUP_COUNT(triangles) / 3, triangles);
    for (int32_t k = 0; k < SIDE * SIDE * 3; k++)
        positions[k] *= 1024.0f;
    sup_laplace b = create(SUP_LAPLACE_ROBUST, SIDE * SIDE, positions, SUP_COUNT(triangles) / 3, triangles);
    for (int32_t k = 0; k < a.stiffness.first[SIDE * SIDE]; k++)
        CHECK_NEAR(a.stiffness.value[k], b.stiffness.value[k], 1e-12);
    for (int32_t i = 0; i < SIDE * SIDE; i++)
        CHECK_NEAR(a.mass[i] * 1048576.0, b.mass[i], 1e-9);
    sup_laplace_free(&a);
    sup_laplace_free(&b);
}

TEST(laplace_robust_on_degenerate_meshes)
{
    /* A fan with an obtuse triangle, a flat one, one without any extent, a doubled one, an edge with three, a vertex
     * that nothing uses. */
    const float positions[24] = {0, 0, 0, 1, 0, 0, 0.5f, 0.01f, 0, 0.5f, -1, 0, 0.5f, 0, 0, 0, 0, 0, 0, 0, 0, 9, 9, 9};
    const int32_t triangles[] = {0, 1, 2, 1, 0, 3, 0, 4, 1, 0, 5, 6, 1, 0, 3, 0, 1, 3};
    sup_laplace l = create(SUP_LAPLACE_ROBUST, 8, positions, SUP_COUNT(triangles) / 3, triangles);
    for (int32_t i = 0; i < 8; i++) {
        CHECK(isfinite(l.mass[i]) && l.mass[i] >= 0.0);
        for (int32_t k = l.stiffness.first[i]; k < l.stiffness.first[i + 1]; k++) {
            CHECK(isfinite(l.stiffness.value[k]));
            CHECK(k == l.stiffness.first[i + 1] - 1 ? l.stiffness.value[k] >= 0.0 : l.stiffness.value[k] <= 0.0);
        }
    }
    CHECK_NEAR(l.mass[7], 0.0, 0.0);
    CHECK(l.mass[5] > 0.0); /* mollified: even the point-like triangle has some area */
    sup_laplace_free(&l);
    l = create(SUP_LAPLACE_COTANGENT, 8, positions, SUP_COUNT(triangles) / 3, triangles);
    for (int32_t k = 0; k < l.stiffness.first[8]; k++)
        CHECK(isfinite(l.stiffness.value[k]));
    sup_laplace_free(&l);
    l = create(SUP_LAPLACE_ROBUST, 3, positions, 0, NULL);
    CHECK_EQ(l.stiffness.first[3], 3);
    sup_laplace_free(&l);
}

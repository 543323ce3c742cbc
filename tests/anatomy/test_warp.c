/* The warp of eq. 4.15: interpolation, linear precision, and comparison with the dense system. */
#include "anatomy/warp.h"
#include "test.h"

enum { CENTRES = 150, POINTS = 37 };

static void random_points(sup_random *random, int32_t count, double *points)
{
    for (int32_t i = 0; i < 3 * count; i++)
        points[i] = 3.0 + 2.0 * sup_random_unit(random);
}

TEST(warp_interpolates_centres_and_reproduces_affine_maps)
{
    sup_random random = {7};
    double centres[3 * CENTRES], moves[3 * CENTRES], points[3 * POINTS], original[3 * POINTS];
    sup_error error = {0};
    sup_warp *warp = NULL;
    random_points(&random, CENTRES, centres);
    random_points(&random, POINTS, points);
    CHECK_OK(sup_warp_create(NULL, CENTRES, centres, &warp, &error), error);

    /* An affine map of the centres is reproduced everywhere, also outside of them. */
    const double a[3][4] = {{0.2, -0.1, 0.05, 1.0}, {0.0, 0.3, 0.2, -2.0}, {-0.15, 0.02, -0.4, 0.5}};
    points[0] = 40.0;
    memcpy(original, points, sizeof original);
    for (int i = 0; i < CENTRES; i++)
        for (int k = 0; k < 3; k++)
            moves[3 * i + k] =
                a[k][0] * centres[3 * i] + a[k][1] * centres[3 * i + 1] + a[k][2] * centres[3 * i + 2] + a[k][3];
    CHECK_OK(sup_warp_set(warp, moves, &error), error);
    sup_warp_apply(warp, POINTS, points);
    for (int i = 0; i < POINTS; i++)
        for (int k = 0; k < 3; k++) {
            const double *p = original + 3 * i;
            CHECK_NEAR(points[3 * i + k] - p[k], a[k][0] * p[0] + a[k][1] * p[1] + a[k][2] * p[2] + a[k][3], 1e-8);
        }

    /* Arbitrary displacements are interpolated at the centres; a second use of the factor is equally accurate. */
    double moved[3 * CENTRES];
    for (int i = 0; i < 3 * CENTRES; i++)
        moves[i] = sup_random_unit(&random) - 0.5;
    memcpy(moved, centres, sizeof moved);
    CHECK_OK(sup_warp_set(warp, moves, &error), error);
    sup_warp_apply(warp, CENTRES, moved);
    for (int i = 0; i < 3 * CENTRES; i++)
        CHECK_NEAR(moved[i], centres[i] + moves[i], 1e-9);
    sup_warp_destroy(warp);
}

/* The printed system, (n+4) x (n+4), by Gaussian elimination with pivoting. */
static void reference_warp(int32_t n, const double *centres, const double *moves, const double *at, double *value)
{
    enum { SIZE = 24 };
    static double m[SIZE][SIZE + 3];
    int32_t size = n + 4;
    memset(m, 0, sizeof m);
    for (int i = 0; i < n; i++) {
        for (int j = 0; j < n; j++) {
            double dx = centres[3 * i] - centres[3 * j], dy = centres[3 * i + 1] - centres[3 * j + 1];
            double dz = centres[3 * i + 2] - centres[3 * j + 2];
            m[i][j] = pow(dx * dx + dy * dy + dz * dz, 1.5);
        }
        m[i][n] = m[n][i] = 1.0;
        for (int k = 0; k < 3; k++) {
            m[i][n + 1 + k] = m[n + 1 + k][i] = centres[3 * i + k];
            m[i][size + k] = moves[3 * i + k];
        }
    }
    for (int c = 0; c < size; c++) {
        int pivot = c;
        for (int r = c; r < size; r++)
            if (fabs(m[r][c]) > fabs(m[pivot][c])) pivot = r;
        for (int k = 0; k < size + 3; k++) {
            double swap = m[c][k];
            m[c][k] = m[pivot][k];
            m[pivot][k] = swap;
        }
        for (int r = 0; r < size; r++) {
            double factor = r == c ? 0.0 : m[r][c] / m[c][c];
            for (int k = c; k < size + 3; k++)
                m[r][k] -= factor * m[c][k];
        }
    }
    for (int k = 0; k < 3; k++) {
        value[k] = 0.0;
        for (int j = 0; j < size; j++) {
            double basis = j == n ? 1.0 : (j > n ? at[j - n - 1] : 0.0);
            if (j < n) {
                double dx = at[0] - centres[3 * j], dy = at[1] - centres[3 * j + 1], dz = at[2] - centres[3 * j + 2];
                basis = pow(dx * dx + dy * dy + dz * dz, 1.5);
            }
            value[k] += basis * m[j][size + k] / m[j][j];
        }
    }
}

TEST(warp_equals_the_dense_system_of_the_thesis)
{
    sup_random random = {11};
    double centres[60], moves[60], points[9], expected[3];
    sup_error error = {0};
    sup_warp *warp = NULL;
    random_points(&random, 20, centres);
    random_points(&random, 3, points);
    for (int i = 0; i < 60; i++)
        moves[i] = sup_random_unit(&random);
    CHECK_OK(sup_warp_create(NULL, 20, centres, &warp, &error), error);
    CHECK_OK(sup_warp_set(warp, moves, &error), error);
    for (int i = 0; i < 3; i++) {
        double p[3] = {points[3 * i], points[3 * i + 1], points[3 * i + 2]};
        reference_warp(20, centres, moves, p, expected);
        sup_warp_apply(warp, 1, p);
        for (int k = 0; k < 3; k++)
            CHECK_NEAR(p[k] - points[3 * i + k], expected[k], 1e-9);
    }
    sup_warp_destroy(warp);
}

TEST(warp_sampling_spreads_and_invalid_centres_are_refused)
{
    sup_random random = {3};
    double points[3 * CENTRES], distances[CENTRES];
    int32_t chosen[CENTRES];
    sup_error error = {0};
    sup_warp *warp = NULL;
    random_points(&random, CENTRES, points);
    memcpy(points + 30, points, 30 * sizeof(double)); /* ten points, each twice */
    CHECK_EQ(sup_warp_sample(CENTRES, points, CENTRES, chosen, distances), CENTRES - 10);
    CHECK_EQ(sup_warp_sample(CENTRES, points, 8, chosen, distances), 8);
    double nearest = INFINITY, farthest = 0.0;
    for (int i = 0; i < 8; i++)
        for (int j = 0; j < i; j++) {
            const double *a = points + 3 * chosen[i], *b = points + 3 * chosen[j];
            nearest = fmin(nearest, hypot(hypot(a[0] - b[0], a[1] - b[1]), a[2] - b[2]));
        }
    for (int i = 0; i < CENTRES; i++)
        farthest = fmax(farthest, sqrt(distances[i]));
    CHECK(nearest >= farthest); /* no point is farther from the chosen ones than these are from each other */

    CHECK_EQ(sup_warp_create(NULL, CENTRES, points, &warp, &error), SUP_ERROR_DATA);
    CHECK_TEXT(error.id, "anatomy.warp.double");
    for (int i = 0; i < CENTRES; i++)
        points[3 * i + 1] = 1.0 + 0.5 * points[3 * i];
    CHECK_EQ(sup_warp_create(NULL, CENTRES, points, &warp, &error), SUP_ERROR_DATA);
    CHECK_TEXT(error.id, "anatomy.warp.flat");
    points[4] = NAN;
    CHECK_EQ(sup_warp_create(NULL, CENTRES, points, &warp, &error), SUP_ERROR_DATA);
    CHECK_TEXT(error.id, "anatomy.warp.finite");
    CHECK(warp == NULL);
}

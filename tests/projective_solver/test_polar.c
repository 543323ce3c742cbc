/* The nearest rotation: in double against its definition, on lanes against double. */
#include "base/base.h"
#include "solver/tetrahedron.h"
#include "test.h"

static double unit(sup_random *random)
{
    return 2.0 * sup_random_unit(random) - 1.0;
}

static void random_matrix(sup_random *random, double m[9])
{
    for (int i = 0; i < 9; i++)
        m[i] = unit(random);
}

static void multiply(const double a[9], const double b[9], double c[9])
{
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++)
            c[3 * i + j] = a[3 * i] * b[j] + a[3 * i + 1] * b[3 + j] + a[3 * i + 2] * b[6 + j];
}

static double determinant(const double m[9])
{
    return m[0] * (m[4] * m[8] - m[5] * m[7]) - m[1] * (m[3] * m[8] - m[5] * m[6]) + m[2] * (m[3] * m[7] - m[4] * m[6]);
}

/* Deviation of a matrix from a rotation. */
static double rotation_error(const double r[9])
{
    double worst = fabs(determinant(r) - 1.0);
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++) {
            double dot = r[i] * r[j] + r[3 + i] * r[3 + j] + r[6 + i] * r[6 + j];
            worst = fmax(worst, fabs(dot - (i == j ? 1.0 : 0.0)));
        }
    return worst;
}

static double distance(const double f[9], const double r[9])
{
    double sum = 0.0;
    for (int i = 0; i < 9; i++)
        sum += (f[i] - r[i]) * (f[i] - r[i]);
    return sqrt(sum);
}

/* U diag(s) V^T with random rotations. */
static void with_stretches(sup_random *random, const double s[3], double f[9])
{
    double u[9], v[9], m[9], d[9] = {0};
    random_matrix(random, m);
    sup_polar_rotation(m, u);
    random_matrix(random, m);
    sup_polar_rotation(m, v);
    for (int i = 0; i < 3; i++)
        d[4 * i] = s[i];
    multiply(u, d, m);
    multiply(m, v, f);
}

static const double cases[][3] = {{1.0, 1.0, 1.0},     {2.0, 1.0, 0.5},     {1.2, 1.1, -0.3},    {1.0, 1.0, 0.0},
                                  {1.0, 0.0, 0.0},     {0.0, 0.0, 0.0},     {1.0, 1e-4, 1e-4},   {1.0, 0.5, -0.5},
                                  {1.0, 1.0, -1.0},    {30.0, 1.0, 0.02},   {1e-6, 1e-6, 1e-6},  {1e6, 1e5, 1e4},
                                  {1.0, 0.3, -0.2999}, {1.0, 0.01, -0.009}, {1e-12, 1e-13, 0.0}, {100.0, 99.0, 1e-7},
                                  {1.0, 0.999, -0.998}};

TEST(svd_reproduces_the_matrix)
{
    sup_random random = {1};
    for (int trial = 0; trial < 2000; trial++) {
        double f[9], u[9], s[3], v[9], size = 0.0;
        if (trial < SUP_COUNT(cases) * 10)
            with_stretches(&random, cases[trial % SUP_COUNT(cases)], f);
        else
            random_matrix(&random, f);
        sup_svd3(f, u, s, v);
        CHECK(s[0] >= s[1] && s[1] >= s[2] && s[2] >= 0.0);
        for (int i = 0; i < 9; i++)
            size = fmax(size, fabs(f[i]));
        for (int i = 0; i < 3; i++)
            for (int j = 0; j < 3; j++) {
                double sum = 0.0, uu = 0.0, vv = 0.0;
                for (int k = 0; k < 3; k++) {
                    sum += u[3 * i + k] * s[k] * v[3 * j + k];
                    uu += u[3 * k + i] * u[3 * k + j];
                    vv += v[3 * k + i] * v[3 * k + j];
                }
                CHECK_NEAR(sum, f[3 * i + j], 1e-13 * size);
                CHECK_NEAR(uu, i == j ? 1.0 : 0.0, 1e-12);
                CHECK_NEAR(vv, i == j ? 1.0 : 0.0, 1e-12);
            }
    }
}

/* A rotation for every matrix, and none is nearer. */
TEST(polar_is_the_nearest_rotation)
{
    sup_random random = {2};
    for (int trial = 0; trial < 1000; trial++) {
        double f[9], r[9], m[9], other[9];
        if (trial % 2 == 0)
            with_stretches(&random, cases[trial / 2 % SUP_COUNT(cases)], f);
        else
            random_matrix(&random, f);
        sup_polar_rotation(f, r);
        CHECK(rotation_error(r) < 1e-12);
        double size = 0.0;
        for (int i = 0; i < 9; i++)
            size += fabs(f[i]);
        for (int k = 0; k < 20; k++) { /* near rotations and far ones */
            random_matrix(&random, m);
            for (int i = 0; i < 9; i++)
                m[i] = k < 15 ? r[i] + 0.1 * m[i] : m[i];
            sup_polar_rotation_svd(m, other);
            CHECK(distance(f, r) <= distance(f, other) + 1e-12 * (1.0 + size));
        }
    }
}

TEST(polar_of_zero_is_identity)
{
    double f[9] = {0}, r[9];
    sup_polar_rotation(f, r);
    for (int i = 0; i < 9; i++)
        CHECK_NEAR(r[i], i % 4 == 0 ? 1.0 : 0.0, 0.0);
}

/* The rotation on lanes for one matrix in every lane. */
static void lanes_rotation(const double (*f)[9], double (*r)[9])
{
    sup_wide from[9], to[9];
    float lane[SUP_LANES];
    for (int c = 0; c < 9; c++) {
        for (int k = 0; k < SUP_LANES; k++)
            lane[k] = (float)f[k][c];
        from[c] = sup_wide_load(lane);
    }
    sup_element_rotation(from, to);
    for (int c = 0; c < 9; c++) {
        sup_wide_store(lane, to[c]);
        for (int k = 0; k < SUP_LANES; k++)
            r[k][c] = (double)lane[k];
    }
}

static void check_lanes(const double (*f)[9])
{
    double r[SUP_LANES][9];
    lanes_rotation(f, r);
    for (int k = 0; k < SUP_LANES; k++) {
        double rounded[9], best[9], size = 0.0;
        for (int i = 0; i < 9; i++) {
            rounded[i] = (double)(float)f[k][i];
            size = fmax(size, fabs(rounded[i]));
            CHECK(isfinite(r[k][i]));
        }
        sup_polar_rotation_svd(rounded, best);
        CHECK_MSG(rotation_error(r[k]) < 3e-5, "rotation error %g", rotation_error(r[k]));
        CHECK(distance(rounded, r[k]) <= distance(rounded, best) + 2e-5 * (size + 1.0));
    }
}

TEST(lanes_agree_with_double)
{
    sup_random random = {3};
    double f[SUP_LANES][9];
    for (int trial = 0; trial < 20000; trial++) {
        for (int k = 0; k < SUP_LANES; k++) {
            int kind = (trial + k) % 4;
            double s[3] = {1.0 + 0.4 * unit(&random), 1.0 + 0.4 * unit(&random), 1.0 + 0.4 * unit(&random)};
            if (kind == 1) s[2] *= -1.0;
            if (kind == 2) s[2] = -s[1] * (1.0 + pow(10.0, -1.0 - 6.0 * sup_random_unit(&random)));
            if (kind == 3) s[1] = s[2] = pow(10.0, -7.0 * sup_random_unit(&random));
            with_stretches(&random, s, f[k]);
        }
        check_lanes((const double(*)[9])f);
    }
    for (int trial = 0; trial < SUP_COUNT(cases) * 50; trial++) {
        for (int k = 0; k < SUP_LANES; k++)
            with_stretches(&random, cases[(trial + k) % SUP_COUNT(cases)], f[k]);
        check_lanes((const double(*)[9])f);
    }
}

/* Where the nearest rotation is unique the matrices agree too, to 7e-6. */
TEST(lanes_give_exact_rotations_when_well_conditioned)
{
    sup_random random = {4};
    double worst = 0.0;
    for (int trial = 0; trial < 20000; trial++) {
        double f[SUP_LANES][9], r[SUP_LANES][9], best[9], rounded[9];
        for (int k = 0; k < SUP_LANES; k++) {
            double s[3] = {1.0 + 0.5 * unit(&random), 1.0 + 0.5 * unit(&random), 0.6 * unit(&random)};
            if (s[2] < 0.0 && fmin(s[0], s[1]) < 0.15 - s[2]) s[2] = -s[2];
            with_stretches(&random, s, f[k]);
        }
        lanes_rotation((const double(*)[9])f, r);
        for (int k = 0; k < SUP_LANES; k++) {
            for (int i = 0; i < 9; i++)
                rounded[i] = (double)(float)f[k][i];
            sup_polar_rotation_svd(rounded, best);
            worst = fmax(worst, distance(best, r[k]));
        }
    }
    CHECK_MSG(worst < 2.5e-5, "worst %g", worst);
}

/* Moving least squares weights: reproduction of polynomials, and degenerate neighbourhoods. */
#include "base/base.h"
#include "test.h"
#include "upsample/mls.h"

static const sup_vec3d up = {0.0, 0.0, 1.0};

static void add(sup_mls *m, double x, double y, double z, sup_vec3d normal)
{
    m->positions[m->count] = sup_v3(x, y, z);
    m->normals[m->count] = normal;
    m->omega[m->count] = pow(fmax(1.0 - 0.8 * sqrt(x * x + y * y + z * z), 0.01), 3.0);
    m->count++;
}

/* 24 points in the unit sphere: anywhere (kind 0), on a bowl (1), on a plane through the origin (2), beside it (3), on a
 * line (4). */
static sup_mls make_points(int32_t kind, uint64_t seed)
{
    sup_random random = {seed};
    sup_mls m = {.scale = 1.0};
    while (m.count < 24) {
        double x = 2.0 * sup_random_unit(&random) - 1.0, y = 2.0 * sup_random_unit(&random) - 1.0;
        double z = kind == 0 ? 2.0 * sup_random_unit(&random) - 1.0 : 0.3 * (x * x + 0.7 * y * y);
        if (x * x + y * y + z * z > 1.0) continue;
        sup_vec3d bowl = sup_v3_unit_or(sup_v3(-0.6 * x, -0.42 * y, 1.0), up);
        if (kind <= 1) add(&m, x, y, z, bowl);
        if (kind == 2) add(&m, x, y, 0.0, up);
        if (kind == 3) add(&m, x, y, 0.1, up);
        if (kind == 4) add(&m, x, 0.0, 0.0, sup_v3(0.0, 0.0, 0.0));
    }
    return m;
}

/* Largest error of the weights for the monomials of one degree, whose value at the origin is 0, or 1 for degree 0. */
static double reproduction(const sup_mls *m, const double *weights, int32_t degree)
{
    double worst = 0.0;
    for (int32_t a = 0; a <= degree; a++)
        for (int32_t b = 0; a + b <= degree; b++) {
            double sum = degree == 0 ? -1.0 : 0.0;
            for (int32_t i = 0; i < m->count; i++) {
                sup_vec3d p = m->positions[i];
                sum += weights[i] * pow(p.x, a) * pow(p.y, b) * pow(p.z, degree - a - b);
            }
            worst = fmax(worst, fabs(sum));
        }
    return worst;
}

static double sum_of_sizes(const sup_mls *m, const double *weights)
{
    double sum = 0.0;
    for (int32_t i = 0; i < m->count; i++)
        sum += fabs(weights[i]);
    return sum;
}

TEST(mls_reproduces_polynomials)
{
    for (uint64_t seed = 1; seed <= 50; seed++)
        for (int32_t kind = 0; kind <= 2; kind++) {
            sup_mls m = make_points(kind, seed);
            double weights[SUP_MLS_MAX];
            bool reduced;
            int32_t quadratic = sup_mls_position(&m, 1e6, weights, &reduced);
            CHECK_EQ(quadratic, kind == 0 ? 6 : (kind == 1 ? 5 : 3)); /* on a bowl z is a combination of x^2 and y^2 */
            CHECK(!reduced);
            CHECK(reproduction(&m, weights, 0) < 1e-10);
            CHECK(reproduction(&m, weights, 1) < 1e-10);
            CHECK(reproduction(&m, weights, 2) < 1e-8);
            CHECK(reproduction(&m, weights, 3) > 1e-8); /* cubic terms are not reproduced */
        }
}

/* The weights have minimum norm: eq. 3.8 by its normal equations, in long double, on well conditioned points. */
TEST(mls_agrees_with_the_normal_equations)
{
    sup_mls m = make_points(0, 7);
    double weights[SUP_MLS_MAX];
    bool reduced;
    CHECK_EQ(sup_mls_position(&m, 1e6, weights, &reduced), 6);
    long double k[10][11] = {{0}}, psi[24][10];
    for (int32_t i = 0; i < m.count; i++) {
        sup_vec3d p = m.positions[i];
        const double row[10] = {1, p.x, p.y, p.z, p.x * p.x, p.y * p.y, p.z * p.z, p.x * p.y, p.x * p.z, p.y * p.z};
        for (int32_t a = 0; a < 10; a++)
            psi[i][a] = (long double)row[a];
        for (int32_t a = 0; a < 10; a++)
            for (int32_t b = 0; b < 10; b++)
                k[a][b] += (long double)m.omega[i] * psi[i][a] * psi[i][b]; /* eq. 3.5 */
    }
    k[0][10] = 1.0L; /* psi of the origin */
    for (int32_t s = 0; s < 10; s++)
        for (int32_t r = 0; r < 10; r++) {
            if (r == s) continue;
            long double factor = k[r][s] / k[s][s];
            for (int32_t c = s; c < 11; c++)
                k[r][c] -= factor * k[s][c];
        }
    for (int32_t i = 0; i < m.count; i++) {
        long double expected = 0.0L;
        for (int32_t a = 0; a < 10; a++)
            expected += (long double)m.omega[i] * psi[i][a] * k[a][10] / k[a][a]; /* eq. 3.8 */
        CHECK_NEAR(weights[i], expected, 1e-9);
    }
}

TEST(mls_respects_the_limit)
{
    int32_t reduced_count = 0;
    for (uint64_t seed = 1; seed <= 100; seed++) {
        sup_mls m = make_points(1, seed);
        for (int32_t i = 0; i < m.count; i++)
            m.positions[i].x = fabs(m.positions[i].x); /* the point is at the edge of its neighbours */
        double weights[SUP_MLS_MAX];
        bool reduced;
        int32_t quadratic = sup_mls_position(&m, 3.0, weights, &reduced);
        if (quadratic < 0) continue;
        CHECK(sum_of_sizes(&m, weights) <= 3.0);
        CHECK(reproduction(&m, weights, 0) < 1e-10);
        CHECK(reproduction(&m, weights, 1) < 1e-10);
        reduced_count += reduced;
    }
    CHECK(reduced_count > 20);
}

TEST(mls_follows_off_the_plane)
{
    sup_mls beside = make_points(3, 3), line = make_points(4, 3);
    double weights[SUP_MLS_MAX], normals[SUP_MLS_MAX];
    bool reduced;
    CHECK_EQ(sup_mls_position(&beside, 3.0, weights, &reduced), -1);
    CHECK(sup_mls_follow(&beside, NULL, weights, normals));
    CHECK(sum_of_sizes(&beside, weights) < 3.0);
    sup_vec3d at = sup_v3(0.0, 0.0, 0.0);
    for (int32_t i = 0; i < beside.count; i++)
        at = sup_v3_add(
            at, sup_v3_add(sup_v3_scale(beside.positions[i], weights[i]), sup_v3_scale(beside.normals[i], normals[i])));
    CHECK_NEAR(sup_v3_length(at), 0.0, 1e-12);
    CHECK(!sup_mls_follow(&line, NULL, weights, normals)); /* a line does not determine an affine map */
}

/* A rotation of positions and normals also rotates the point and directions. */
TEST(mls_following_is_exact_for_rotations)
{
    for (uint64_t seed = 1; seed <= 20; seed++)
        for (int32_t kind = 1; kind <= 3; kind++) {
            sup_mls m = make_points(kind, seed);
            sup_random random = {seed};
            sup_vec3d offset = sup_v3(sup_random_unit(&random), sup_random_unit(&random), sup_random_unit(&random));
            sup_vec3d direction = sup_v3_unit_or(offset, up), shift = sup_v3(5.0, -3.0, 2.0);
            double c = cos((double)seed), s = sin((double)seed), position[2][SUP_MLS_MAX], normal[2][SUP_MLS_MAX];
            for (int32_t i = 0; i < m.count; i++) /* moves the point by `offset`, in units of 1/4 */
                m.positions[i] = sup_v3_sub(m.positions[i], offset);
            m.scale = 4.0;
            CHECK(sup_mls_follow(&m, NULL, position[0], normal[0]) &&
                  sup_mls_follow(&m, &direction, position[1], normal[1]));
            sup_vec3d sum[2] = {{0, 0, 0}, {0, 0, 0}};
            for (int32_t i = 0; i < m.count; i++) {
                sup_vec3d p = sup_v3_scale(m.positions[i], m.scale), n = m.normals[i];
                p = sup_v3_add(sup_v3(c * p.x - s * p.y, p.z, -s * p.x - c * p.y), shift);
                n = sup_v3(c * n.x - s * n.y, n.z, -s * n.x - c * n.y);
                for (int32_t k = 0; k < 2; k++)
                    sum[k] = sup_v3_madd(sup_v3_madd(sum[k], position[k][i], p), normal[k][i], n);
            }
            sup_vec3d d = direction;
            CHECK_NEAR(sup_v3_distance(sum[0], shift), 0.0, 1e-10);
            CHECK_NEAR(sup_v3_distance(sum[1], sup_v3(c * d.x - s * d.y, d.z, -s * d.x - c * d.y)), 0.0, 1e-10);
        }
}

TEST(mls_normals_are_exact_at_rest)
{
    int32_t found = 0;
    for (uint64_t seed = 1; seed <= 50; seed++) {
        sup_mls m = make_points(1, seed);
        sup_random random = {seed};
        sup_vec3d normal = sup_v3(0.2 * sup_random_unit(&random), 0.2 * sup_random_unit(&random), 1.0), sum = {0, 0, 0};
        normal = sup_v3_unit_or(normal, up);
        double weights[SUP_MLS_MAX], total = 0.0;
        if (!sup_mls_normal(&m, normal, 3.0, weights)) continue;
        for (int32_t i = 0; i < m.count; i++) {
            sum = sup_v3_madd(sum, weights[i], m.normals[i]);
            total += weights[i];
        }
        CHECK_NEAR(total, 1.0, 1e-12);
        CHECK_NEAR(sup_v3_distance(sup_v3_unit_or(sum, up), normal), 0.0, 1e-10);
        found++;
    }
    CHECK(found > 40);
    sup_mls flat = make_points(2, 1);
    double weights[SUP_MLS_MAX];
    CHECK(sup_mls_normal(&flat, up, 3.0, weights));
    CHECK(!sup_mls_normal(&flat, sup_v3(0.6, 0.0, 0.8), 3.0, weights));
}

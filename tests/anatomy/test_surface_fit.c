/* The bending fit against a slow reference of its energy, and its analytic results on spheres. */
#include "test.h"

#include "anatomy/shapes.h"
#include "anatomy/surface_fit.h"
#include "base/base.h"

static const double origin[3] = {0.0, 0.0, 0.0};

static double angle_at(const double *p, const double *a, const double *b)
{
    double u[3], v[3], uu = 0.0, vv = 0.0, uv = 0.0;
    for (int k = 0; k < 3; k++) {
        u[k] = a[k] - p[k];
        v[k] = b[k] - p[k];
        uu += u[k] * u[k];
        vv += v[k] * v[k];
        uv += u[k] * v[k];
    }
    return acos(uv / sqrt(uu * vv));
}

/* Lengths of the integrated Laplacians of `positions` with the cotangents of the shape. */
static void laplacian_lengths(const sup_shape *s, const double *positions, double *lengths)
{
    double *sum = calloc(3 * (size_t)s->vertex_count, sizeof *sum);
    CHECK(sum != NULL);
    for (int32_t t = 0; t < s->triangle_count; t++)
        for (int k = 0; k < 3; k++) {
            int32_t o = s->triangles[3 * t + k], i = s->triangles[3 * t + (k + 1) % 3];
            int32_t j = s->triangles[3 * t + (k + 2) % 3];
            double half = 0.5 / tan(angle_at(s->positions + 3 * o, s->positions + 3 * i, s->positions + 3 * j));
            for (int c = 0; c < 3; c++) {
                double d = half * (positions[3 * j + c] - positions[3 * i + c]);
                sum[3 * i + c] += d;
                sum[3 * j + c] -= d;
            }
        }
    for (int32_t v = 0; v < s->vertex_count; v++)
        lengths[v] = sqrt(sum[3 * v] * sum[3 * v] + sum[3 * v + 1] * sum[3 * v + 1] + sum[3 * v + 2] * sum[3 * v + 2]);
    free(sum);
}

/* Eq. 4.1: with the best rotations the difference of the lengths remains. */
static double energy_of(const sup_shape *s, const double *areas, double bending, const double *weights,
                        const double *targets, const double *positions)
{
    double *now = malloc((size_t)s->vertex_count * sizeof *now), *rest = malloc((size_t)s->vertex_count * sizeof *rest);
    CHECK(now != NULL && rest != NULL);
    laplacian_lengths(s, positions, now);
    laplacian_lengths(s, s->positions, rest);
    double energy = 0.0;
    for (int32_t v = 0; v < s->vertex_count; v++) {
        energy += bending * (now[v] - rest[v]) * (now[v] - rest[v]) / areas[v];
        for (int k = 0; k < 3; k++) {
            double d = positions[3 * v + k] - targets[3 * v + k];
            energy += weights[v] * areas[v] * d * d;
        }
    }
    free(now);
    free(rest);
    return energy;
}

static double *copy_of(const double *from, int32_t count)
{
    double *to = malloc((size_t)count * sizeof *to);
    CHECK(to != NULL);
    memcpy(to, from, (size_t)count * sizeof *to);
    return to;
}

static sup_surface_fit *fit_of(const sup_shape *s, const unsigned char *fixed)
{
    sup_surface_fit_def def = {.surface = *s, .fixed = fixed};
    sup_surface_fit *fit = NULL;
    sup_error error = {0};
    CHECK_OK(sup_surface_fit_create(NULL, &def, &fit, &error), error);
    return fit;
}

TEST(surface_fit_areas_sum_to_the_surface_area)
{
    owned_shape sphere = shape_sphere(4, 0.5, origin);
    sup_surface_fit *fit = fit_of(&sphere.shape, NULL);
    double sum = 0.0;
    for (int32_t v = 0; v < sphere.shape.vertex_count; v++)
        sum += sup_surface_fit_areas(fit)[v];
    CHECK_NEAR(sum, 3.14159265, 0.02);
    sup_surface_fit_destroy(fit);
    shape_free(&sphere);
}

/* Three targets define a rigid motion: the rest must follow without bending. */
TEST(surface_fit_rigid_motion_costs_nothing)
{
    owned_shape sphere = shape_sphere(3, 0.3, origin);
    int32_t n = sphere.shape.vertex_count;
    double *targets = copy_of(sphere.positions, 3 * n), *weights = calloc((size_t)n, sizeof *weights);
    CHECK(weights != NULL);
    double c = cos(0.7), s = sin(0.7);
    for (int32_t v = 0; v < n; v++) {
        double x = sphere.positions[3 * v], y = sphere.positions[3 * v + 1];
        targets[3 * v] = c * x - s * y + 0.4;
        targets[3 * v + 1] = s * x + c * y - 1.0;
        targets[3 * v + 2] = sphere.positions[3 * v + 2] + 0.2;
        weights[v] = 1.0;
    }
    sup_surface_fit *fit = fit_of(&sphere.shape, NULL);
    sup_error error = {0};
    CHECK_OK(sup_surface_fit_set_weights(fit, 1.0, weights, &error), error);
    double *positions = copy_of(targets, 3 * n);
    int32_t used = 0;
    CHECK_OK(sup_surface_fit_solve(fit, targets, 1e-12, 5, positions, &used, &error), error);
    CHECK(used <= 2);
    for (int32_t i = 0; i < 3 * n; i++)
        CHECK_NEAR(positions[i], targets[i], 1e-11);
    CHECK(energy_of(&sphere.shape, sup_surface_fit_areas(fit), 1.0, weights, targets, positions) < 1e-20);
    sup_surface_fit_destroy(fit);
    free(targets);
    free(weights);
    free(positions);
    shape_free(&sphere);
}

TEST(surface_fit_energy_decreases_in_every_iteration)
{
    owned_shape sphere = shape_sphere(3, 0.3, origin);
    int32_t n = sphere.shape.vertex_count;
    double *targets = copy_of(sphere.positions, 3 * n), *weights = calloc((size_t)n, sizeof *weights);
    CHECK(weights != NULL);
    sup_random random = {7};
    for (int32_t v = 0; v < n; v++) {
        weights[v] = v % 3 == 0 ? 0.1 + sup_random_unit(&random) : 0.0;
        targets[3 * v] = 0.5 * targets[3 * v] + 0.1 * sup_random_unit(&random);
        targets[3 * v + 1] = 1.7 * targets[3 * v + 1];
    }
    sup_surface_fit *fit = fit_of(&sphere.shape, NULL);
    const double *areas = sup_surface_fit_areas(fit);
    double *positions = copy_of(sphere.positions, 3 * n);
    for (double bending = 1.0; bending > 1e-6; bending *= 0.01) {
        sup_error error = {0};
        CHECK_OK(sup_surface_fit_set_weights(fit, bending, weights, &error), error);
        double previous = energy_of(&sphere.shape, areas, bending, weights, targets, positions);
        for (int i = 0; i < 12; i++) {
            CHECK_OK(sup_surface_fit_solve(fit, targets, 0.0, 1, positions, NULL, &error), error);
            double after = energy_of(&sphere.shape, areas, bending, weights, targets, positions);
            CHECK_MSG(after <= previous * (1.0 + 1e-12) && after >= 0.0, "%g after %g at weight %g", after, previous,
                      bending);
            previous = after;
        }
        /* At the minimum the gradient is zero: no small step decreases the energy. */
        CHECK_OK(sup_surface_fit_solve(fit, targets, 1e-10, 3000, positions, NULL, &error), error);
        previous = energy_of(&sphere.shape, areas, bending, weights, targets, positions);
        for (int i = 0; i < 20; i++) {
            int32_t at = (int32_t)(sup_random_unit(&random) * 3 * n);
            double was = positions[at];
            positions[at] += (i % 2 == 0 ? 1e-4 : -1e-4);
            CHECK(energy_of(&sphere.shape, areas, bending, weights, targets, positions) >= previous);
            positions[at] = was;
        }
    }
    sup_surface_fit_destroy(fit);
    free(targets);
    free(weights);
    free(positions);
    shape_free(&sphere);
}

/* Targets at half the size: with little bending weight the sphere reaches them, with much it keeps its curvature.
 * Directions stay radial, so one global step finds the sphere; many steps would find creases, which keep the
 * curvature at a lower energy. */
TEST(surface_fit_balances_bending_and_targets_on_a_sphere)
{
    owned_shape sphere = shape_sphere(4, 0.2, origin);
    int32_t n = sphere.shape.vertex_count;
    double *targets = copy_of(sphere.positions, 3 * n), *weights = calloc((size_t)n, sizeof *weights), radius[3];
    CHECK(weights != NULL);
    for (int32_t i = 0; i < 3 * n; i++)
        targets[i] *= 0.5;
    for (int32_t v = 0; v < n; v++)
        weights[v] = 1.0;
    sup_surface_fit *fit = fit_of(&sphere.shape, NULL);
    const double bending[3] = {1.0, 1e-2, 1e-8};
    for (int k = 0; k < 3; k++) {
        sup_error error = {0};
        double *positions = copy_of(sphere.positions, 3 * n);
        CHECK_OK(sup_surface_fit_set_weights(fit, bending[k], weights, &error), error);
        CHECK_OK(sup_surface_fit_solve(fit, targets, 1e-9, 2, positions, NULL, &error), error);
        radius[k] = 0.0;
        for (int32_t v = 0; v < n; v++)
            radius[k] += sqrt(positions[3 * v] * positions[3 * v] + positions[3 * v + 1] * positions[3 * v + 1] +
                              positions[3 * v + 2] * positions[3 * v + 2]) /
                         n;
        free(positions);
        /* |L x| of a sphere of radius r with fixed cotangents is 2 r / R^2: bending w 4 (r - R)^2 / R^4 + (r -
         * R/2)^2. */
        double stiff = bending[k] * 4.0 / pow(0.2, 4.0);
        CHECK_NEAR(radius[k], (stiff * 0.2 + 0.1) / (stiff + 1.0), 1e-3);
    }
    CHECK(radius[0] > radius[1] && radius[1] > radius[2]);
    sup_surface_fit_destroy(fit);
    free(targets);
    free(weights);
    shape_free(&sphere);
}

typedef struct pull {
    sup_csr matrix;
    double goal[3];
    int32_t vertex;
    double weight;
} pull;

static void pull_project(void *user, const double *positions, double *right_side)
{
    const pull *p = user;
    SUP_UNUSED(positions);
    for (int k = 0; k < 3; k++)
        right_side[3 * p->vertex + k] += p->weight * p->goal[k];
}

TEST(surface_fit_keeps_fixed_vertices_and_applies_terms)
{
    owned_shape sphere = shape_sphere(3, 0.3, origin);
    int32_t n = sphere.shape.vertex_count;
    unsigned char *fixed = calloc((size_t)n, 1);
    CHECK(fixed != NULL);
    int32_t top = 0;
    for (int32_t v = 0; v < n; v++) {
        fixed[v] = sphere.positions[3 * v + 1] < 0.0;
        if (sphere.positions[3 * v + 1] > sphere.positions[3 * top + 1]) top = v;
    }
    pull term = {.goal = {0.05, 0.5, 0.0}, .vertex = top, .weight = 1e5};
    sup_triplet one = {top, top, term.weight};
    sup_error error = {0};
    CHECK_OK(sup_csr_from_triplets(NULL, n, &one, 1, &term.matrix, &error), error);
    sup_fit_term terms = {&term.matrix, pull_project, &term};
    sup_surface_fit_def def = {.surface = sphere.shape, .fixed = fixed, .terms = &terms, .term_count = 1};
    sup_surface_fit *fit = NULL;
    CHECK_OK(sup_surface_fit_create(NULL, &def, &fit, &error), error);
    CHECK_OK(sup_surface_fit_set_weights(fit, 1e-3, NULL, &error), error);
    double *positions = copy_of(sphere.positions, 3 * n);
    CHECK_OK(sup_surface_fit_solve(fit, NULL, 1e-7, 3000, positions, NULL, &error), error);
    for (int32_t i = 0; i < 3 * n; i++)
        if (fixed[i / 3]) CHECK(positions[i] == sphere.positions[i]);
    for (int k = 0; k < 3; k++)
        CHECK_NEAR(positions[3 * top + k], term.goal[k], 2e-3);
    sup_surface_fit_destroy(fit);
    sup_csr_free(&term.matrix);
    free(fixed);
    free(positions);
    shape_free(&sphere);
}

TEST(surface_fit_is_independent_of_thread_count)
{
    owned_shape sphere = shape_sphere(4, 0.3, origin);
    int32_t n = sphere.shape.vertex_count;
    double *weights = calloc((size_t)n, sizeof *weights), *results[2];
    double *targets = copy_of(sphere.positions, 3 * n);
    CHECK(weights != NULL);
    for (int32_t v = 0; v < n; v++) {
        weights[v] = 0.1;
        targets[3 * v + v % 3] *= 0.8;
    }
    for (int k = 0; k < 2; k++) {
        sup_thread_pool *pool = NULL;
        sup_error error = {0};
        CHECK_OK(sup_thread_pool_create(1 + 2 * k, &pool, &error), error);
        sup_context context = {.tasks = sup_thread_pool_tasks(pool)};
        sup_surface_fit_def def = {.surface = sphere.shape};
        sup_surface_fit *fit = NULL;
        CHECK_OK(sup_surface_fit_create(&context, &def, &fit, &error), error);
        CHECK_OK(sup_surface_fit_set_weights(fit, 1e-4, weights, &error), error);
        results[k] = copy_of(sphere.positions, 3 * n);
        CHECK_OK(sup_surface_fit_solve(fit, targets, 0.0, 6, results[k], NULL, &error), error);
        sup_surface_fit_destroy(fit);
        sup_thread_pool_destroy(pool);
    }
    CHECK(memcmp(results[0], results[1], 3 * (size_t)n * sizeof(double)) == 0);
    free(results[0]);
    free(results[1]);
    free(weights);
    free(targets);
    shape_free(&sphere);
}

TEST(surface_fit_refuses_invalid_input)
{
    owned_shape sphere = shape_sphere(1, 0.3, origin);
    sup_surface_fit_def def = {.surface = sphere.shape};
    sup_surface_fit *fit = NULL;
    sup_error error = {0};
    def.surface.triangle_count = 0;
    CHECK_EQ(sup_surface_fit_create(NULL, &def, &fit, &error), SUP_ERROR_DATA);
    CHECK_TEXT(error.id, "anatomy.fit.empty");
    def.surface = sphere.shape;
    double was = sphere.positions[4];
    sphere.positions[4] = NAN;
    CHECK_EQ(sup_surface_fit_create(NULL, &def, &fit, &error), SUP_ERROR_DATA);
    CHECK_TEXT(error.id, "anatomy.fit.finite");
    sphere.positions[4] = was;
    int32_t corner = sphere.triangles[7];
    sphere.triangles[7] = sphere.shape.vertex_count;
    CHECK_EQ(sup_surface_fit_create(NULL, &def, &fit, &error), SUP_ERROR_DATA);
    CHECK_TEXT(error.id, "anatomy.fit.triangle");
    sphere.triangles[7] = corner;
    CHECK(fit == NULL);
    CHECK_OK(sup_surface_fit_create(NULL, &def, &fit, &error), error);
    double *positions = copy_of(sphere.positions, 3 * sphere.shape.vertex_count);
    CHECK_EQ(sup_surface_fit_solve(fit, NULL, 0.0, 1, positions, NULL, &error), SUP_ERROR_ARGUMENT);
    CHECK_EQ(sup_surface_fit_set_weights(fit, 1.0, NULL, &error), SUP_ERROR_DATA);
    CHECK_TEXT(error.id, "anatomy.fit.free");
    CHECK_EQ(sup_surface_fit_set_weights(fit, -1.0, NULL, &error), SUP_ERROR_ARGUMENT);
    sup_surface_fit_destroy(fit);
    free(positions);
    shape_free(&sphere);
}

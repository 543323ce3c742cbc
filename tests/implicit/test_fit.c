/* test_fit.c - components of fields: samples, fits through them, and the compact map. Numbers in comments are those of
 * the checklist in shared/methods/facts_implicit.md. */
#include "math/affine.h"
#include "methods/implicit/field_bind.h"
#include "methods/implicit/samples.h"
#include "test.h"

enum { RING = 10, RINGS = 6, CYLINDER = RING * RINGS + 2 };

/* Samples on a cylinder of radius 1 about the x axis from 0 to 4, with caps at -1 and 5; transformed and scaled. */
static void make_cylinder(sup_sample *samples, sup_affine move, double scale)
{
    int32_t count = 0;
    for (int32_t i = 0; i < RINGS; i++)
        for (int32_t k = 0; k < RING; k++) {
            double angle = 6.283185307179586 * (k + 0.5 * (i % 2)) / RING;
            sup_vec3d n = sup_v3(0.0, cos(angle), sin(angle));
            samples[count++] = (sup_sample){sup_v3(4.0 * i / (RINGS - 1), n.y, n.z), n};
        }
    samples[count++] = (sup_sample){sup_v3(-1.0, 0.0, 0.0), sup_v3(-1.0, 0.0, 0.0)};
    samples[count++] = (sup_sample){sup_v3(5.0, 0.0, 0.0), sup_v3(1.0, 0.0, 0.0)};
    for (int32_t i = 0; i < count; i++) {
        samples[i].position = sup_v3_scale(sup_affine_point(move, samples[i].position), scale);
        samples[i].normal = sup_affine_vector(move, samples[i].normal);
    }
}

static sup_affine some_motion(void)
{
    return sup_affine_from_trs(sup_v3(3.0, -7.0, 11.0), sup_quatd_from_axis_angle(sup_v3(1.0, 2.0, -1.0), 0.7),
                               sup_v3(1.0, 1.0, 1.0));
}

static sup_hrbf fit_cylinder(const sup_sample *samples, double *memory)
{
    sup_hrbf fit = {.centre = memory, .weight = memory + 3 * CYLINDER};
    sup_error error = {0};
    CHECK_OK(sup_hrbf_fit(CYLINDER, samples, memory + 7 * CYLINDER, &fit, &error), error);
    return fit;
}

static double *fit_memory(void)
{
    double *memory = calloc(7 * CYLINDER + sup_hrbf_workspace(CYLINDER), sizeof *memory);
    CHECK(memory != NULL);
    return memory;
}

static double random_in(sup_random *random, double low, double high)
{
    return low + (high - low) * sup_random_unit(random);
}

TEST(fits_pass_through_their_samples_in_all_units) /* 1 */
{
    double *memory = fit_memory();
    const double scales[3] = {1e-4, 1.0, 1e5};
    for (int s = 0; s < 3; s++) {
        sup_sample samples[CYLINDER];
        make_cylinder(samples, some_motion(), scales[s]);
        sup_hrbf fit = fit_cylinder(samples, memory);
        for (int32_t i = 0; i < CYLINDER; i++) {
            sup_vec3d gradient;
            CHECK_NEAR(sup_hrbf_value(&fit, samples[i].position, &gradient), 0.0, 1e-8 * scales[s]);
            CHECK(sup_v3_distance(gradient, samples[i].normal) < 1e-6);
        }
    }
    free(memory);
}

TEST(gradients_of_fits_are_their_slopes) /* 2 */
{
    double *memory = fit_memory(), step = 1e-4;
    sup_sample samples[CYLINDER];
    make_cylinder(samples, sup_affine_identity(), 1.0);
    sup_hrbf fit = fit_cylinder(samples, memory);
    sup_random random = {3};
    for (int32_t i = 0; i < 200; i++) {
        sup_vec3d p = sup_v3(random_in(&random, -2, 6), random_in(&random, -2, 2), random_in(&random, -2, 2)), gradient;
        sup_hrbf_value(&fit, p, &gradient);
        const sup_vec3d axes[3] = {{1.0, 0.0, 0.0}, {0.0, 1.0, 0.0}, {0.0, 0.0, 1.0}};
        for (int k = 0; k < 3; k++) {
            double ahead = sup_hrbf_value(&fit, sup_v3_madd(p, step, axes[k]), NULL);
            double behind = sup_hrbf_value(&fit, sup_v3_madd(p, -step, axes[k]), NULL);
            CHECK_NEAR(sup_v3_dot(gradient, axes[k]), (ahead - behind) / (2.0 * step), 1e-5);
        }
    }
    free(memory);
}

TEST(a_cylinder_is_negative_inside_and_ends_once_at_its_caps) /* 3 */
{
    double *memory = fit_memory();
    sup_sample samples[CYLINDER];
    make_cylinder(samples, sup_affine_identity(), 1.0);
    sup_hrbf fit = fit_cylinder(samples, memory);
    for (double x = 0.0; x <= 4.0; x += 0.25)
        for (double angle = 0.0; angle < 6.2; angle += 0.5) {
            sup_vec3d out = sup_v3(0.0, cos(angle), sin(angle)), axis = sup_v3(x, 0.0, 0.0);
            for (double r = 0.0; r <= 3.0; r += 0.1) {
                double value = sup_hrbf_value(&fit, sup_v3_madd(axis, r, out), NULL);
                CHECK(r < 0.96 ? value < 0.0 : (r > 1.04 ? value > 0.0 : true));
            }
        }
    int32_t crossings = 0;
    double previous = sup_hrbf_value(&fit, sup_v3(2.0, 0.0, 0.0), NULL);
    for (double x = 2.001; x < 9.0; x += 0.002) {
        double here = sup_hrbf_value(&fit, sup_v3(x, 0.0, 0.0), NULL);
        if ((previous < 0.0) != (here < 0.0)) {
            crossings++;
            CHECK_NEAR(x, 5.0, 3e-3);
        }
        previous = here;
    }
    CHECK_EQ(crossings, 1);
    free(memory);
}

TEST(fits_move_with_their_samples) /* 5 */
{
    double *memory = fit_memory(), *moved_memory = fit_memory();
    sup_sample samples[CYLINDER], moved_samples[CYLINDER];
    sup_affine motion = some_motion();
    make_cylinder(samples, sup_affine_identity(), 1.0);
    make_cylinder(moved_samples, motion, 1.0);
    sup_hrbf fit = fit_cylinder(samples, memory), moved = fit_cylinder(moved_samples, moved_memory);
    sup_random random = {5};
    for (int32_t i = 0; i < 100; i++) {
        sup_vec3d p = sup_v3(random_in(&random, -2, 6), random_in(&random, -2, 2), random_in(&random, -2, 2)), g, h;
        double a = sup_hrbf_value(&fit, p, &g), b = sup_hrbf_value(&moved, sup_affine_point(motion, p), &h);
        CHECK_NEAR(a, b, 1e-6);
        CHECK(sup_v3_distance(sup_affine_vector(motion, g), h) < 1e-6);
    }
    free(memory), free(moved_memory);
}

TEST(duplicate_samples_are_refused) /* 25 */
{
    double *memory = fit_memory();
    sup_sample samples[CYLINDER];
    sup_hrbf fit = {.centre = memory, .weight = memory + 3 * CYLINDER};
    sup_error error = {0};
    make_cylinder(samples, sup_affine_identity(), 1.0);
    samples[7].position = samples[31].position;
    CHECK_EQ(sup_hrbf_fit(CYLINDER, samples, memory + 7 * CYLINDER, &fit, &error), SUP_ERROR_DATA);
    CHECK_TEXT(error.id, "hrbf.duplicate");
    CHECK(strstr(error.message, "7 and 31") != NULL);
    samples[7].position.x = NAN;
    CHECK_EQ(sup_hrbf_fit(CYLINDER, samples, memory + 7 * CYLINDER, &fit, &error), SUP_ERROR_DATA);
    CHECK_EQ(sup_hrbf_fit(0, samples, memory + 7 * CYLINDER, &fit, &error), SUP_ERROR_DATA);
    CHECK_TEXT(error.id, "hrbf.empty");
    /* A single sample is a plane. */
    CHECK_OK(sup_hrbf_fit(1, samples + 1, memory + 7 * CYLINDER, &fit, &error), error);
    CHECK_NEAR(sup_hrbf_value(&fit, sup_v3_madd(samples[1].position, 0.5, samples[1].normal), NULL), 0.5, 1e-9);
    free(memory);
}

TEST(the_compact_map_is_flat_at_its_ends) /* 4 */
{
    CHECK_NEAR(sup_field_compact(-1.0), 1.0, 1e-15);
    CHECK_NEAR(sup_field_compact(0.0), 0.5, 1e-15);
    CHECK_NEAR(sup_field_compact(1.0), 0.0, 1e-15);
    CHECK_NEAR(sup_field_compact(-7.0) + sup_field_compact(7.0), 1.0, 1e-15);
    const double e = 1e-3;
    for (int end = -1; end <= 1; end += 2) {
        double a = sup_field_compact(end - e), b = sup_field_compact(end), c = sup_field_compact(end + e);
        CHECK_NEAR((c - a) / (2.0 * e), 0.0, 1e-5);
        CHECK_NEAR((c - 2.0 * b + a) / (e * e), 0.0, 1e-2);
    }
    /* Stretched inside: 1 at the depth, the same slope and curvature on the skin, non-increasing outward. */
    CHECK_NEAR(sup_field_map(-0.4, 1.0, 0.4), 1.0, 1e-12);
    CHECK_NEAR((sup_field_map(-e, 1.0, 0.4) - sup_field_map(e, 1.0, 0.4)) / (2.0 * e), 15.0 / 16.0, 1e-4);
    CHECK_NEAR((sup_field_map(-e, 1.0, 0.4) + sup_field_map(e, 1.0, 0.4) - 1.0) / (e * e), 0.0, 1e-2);
    for (double f = -2.0; f < 2.0; f += 0.01)
        CHECK(sup_field_map(f, 1.0, 0.4) >= sup_field_map(f + 0.01, 1.0, 0.4));
}

TEST(samples_are_spaced_and_cover_the_surface)
{
    /* A strip of unit squares: 40 x 1. */
    enum { LONG = 40, WANTED = 60 };
    float positions[3 * 2 * (LONG + 1)];
    double normals[3 * 2 * (LONG + 1)], cumulative[2 * LONG], distance[600];
    int32_t triangles[6 * LONG], list[2 * LONG];
    for (int32_t i = 0; i <= LONG; i++)
        for (int32_t k = 0; k < 2; k++) {
            int32_t v = 2 * i + k;
            sup_v3_store(positions + 3 * v, sup_v3(i, k, 0.0));
            normals[3 * v] = normals[3 * v + 1] = 0.0;
            normals[3 * v + 2] = 1.0;
        }
    for (int32_t i = 0; i < LONG; i++) {
        const int32_t two[6] = {2 * i, 2 * i + 2, 2 * i + 1, 2 * i + 1, 2 * i + 2, 2 * i + 3};
        memcpy(triangles + 6 * (size_t)i, two, sizeof two);
        list[2 * i] = 2 * i;
        list[2 * i + 1] = 2 * i + 1;
    }
    sup_sampled_surface surface = {2 * (LONG + 1), positions, triangles, normals, NULL, 0};
    sup_sample candidates[600], selected[WANTED];
    sup_sample_choice choice = {
        .candidates = candidates, .normal_weight = 1.0, .distance = distance, .selected = selected};
    choice.own_count = choice.candidate_count =
        sup_samples_scatter(&surface, list, 2 * LONG, 600, cumulative, candidates);
    CHECK_EQ(choice.own_count, 600);
    double last = sup_samples_spread(&choice, WANTED);
    CHECK_EQ(choice.count, WANTED);
    for (int32_t i = 0; i < WANTED; i++) {
        CHECK(fabs(selected[i].position.z) < 1e-12 && selected[i].position.y >= 0.0 && selected[i].position.y <= 1.0);
        for (int32_t k = 0; k < i; k++)
            CHECK(sup_v3_distance(selected[i].position, selected[k].position) >= last);
    }
    for (int32_t i = 0; i < 600; i++) { /* none is farther from all samples than those from each other */
        double nearest = INFINITY;
        for (int32_t k = 0; k < WANTED; k++)
            nearest = fmin(nearest, sup_v3_distance(candidates[i].position, selected[k].position));
        CHECK(nearest <= last);
    }
    CHECK(!sup_samples_add(&choice, selected[11]));
}

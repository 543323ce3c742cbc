/* Metrics of shapes with known results, and against brute force on random meshes. */
#include "base/base.h"
#include "geometry/predicates.h"
#include "supple/measure.h"
#include "test.h"

#define PI 3.14159265358979323846

enum { MAX_VERTICES = 4096, MAX_TRIANGLES = 8192 };
typedef struct shape {
    int32_t vertex_count, triangle_count;
    float positions[3 * MAX_VERTICES];
    int32_t triangles[3 * MAX_TRIANGLES];
} shape;
static shape made, moved;

static void add_cube(shape *s, float x, float y, float z, float side)
{
    static const int faces[12][3] = {{0, 2, 1}, {1, 2, 3}, {4, 5, 6}, {5, 7, 6}, {0, 1, 4}, {1, 5, 4},
                                     {2, 6, 3}, {3, 6, 7}, {0, 4, 2}, {2, 4, 6}, {1, 3, 5}, {3, 7, 5}};
    int32_t base = s->vertex_count;
    for (int i = 0; i < 8; i++) {
        float *p = s->positions + 3 * s->vertex_count++;
        p[0] = x + (i & 1 ? side : 0.0f);
        p[1] = y + (i & 2 ? side : 0.0f);
        p[2] = z + (i & 4 ? side : 0.0f);
    }
    for (int i = 0; i < 12; i++, s->triangle_count++)
        for (int c = 0; c < 3; c++)
            s->triangles[3 * s->triangle_count + c] = base + faces[i][c];
}

/* A torus about `axis` through `centre`, m x n quads. */
static void add_torus(shape *s, const double centre[3], int axis, double radius, double tube, int m, int n)
{
    int32_t base = s->vertex_count;
    for (int i = 0; i < m; i++)
        for (int j = 0; j < n; j++) {
            double a = 2.0 * PI * i / m, b = 2.0 * PI * j / n, r = radius + tube * cos(b);
            double p[3] = {r * cos(a), r * sin(a), tube * sin(b)};
            for (int k = 0; k < 3; k++)
                s->positions[3 * s->vertex_count + (k + axis) % 3] = (float)(p[k] + centre[(k + axis) % 3]);
            s->vertex_count++;
        }
    for (int i = 0; i < m; i++)
        for (int j = 0; j < n; j++) {
            int32_t a = base + i * n + j, b = base + (i + 1) % m * n + j, c = base + i * n + (j + 1) % n,
                    d = base + (i + 1) % m * n + (j + 1) % n;
            int32_t quads[6] = {a, b, c, b, d, c};
            memcpy(s->triangles + 3 * s->triangle_count, quads, sizeof quads);
            s->triangle_count += 2;
        }
}

static sup_measurer *measurer_of(const shape *s)
{
    sup_measure_surface surface = {.vertex_count = s->vertex_count,
                                   .triangle_count = s->triangle_count,
                                   .positions = s->positions,
                                   .triangles = s->triangles};
    sup_measurer *measurer = NULL;
    sup_error error;
    CHECK_OK(sup_measurer_create(NULL, &surface, &measurer, &error), error);
    return measurer;
}

static sup_frame_measure frame_of(sup_measurer *measurer, const shape *s)
{
    sup_frame_measure frame;
    CHECK_EQ(sup_measurer_frame(measurer, s->positions, &frame, NULL), SUP_OK);
    return frame;
}

static void start(void)
{
    made.vertex_count = made.triangle_count = 0;
}

TEST(rest_shape_has_no_distortion)
{
    start();
    add_torus(&made, (double[3]){100, 0, 0}, 0, 1.0, 0.3, 40, 20);
    sup_measurer *m = measurer_of(&made);
    sup_frame_measure f = frame_of(m, &made);
    CHECK_NEAR(f.volume_ratio, 1.0, 1e-12);
    CHECK_EQ(f.intersections, 0);
    CHECK_EQ(f.flips, 0);
    CHECK_EQ(f.nonfinite, 0);
    CHECK_NEAR(f.stretch_min, 1.0, 1e-6);
    CHECK_NEAR(f.stretch_max, 1.0, 1e-6);
    CHECK_NEAR(f.area_max, 1.0, 1e-3);
    CHECK_NEAR(f.angle_max, 1.0, 1e-2);
    CHECK_NEAR(f.roughness, 0.0, 1e-6);
    CHECK_NEAR(f.displacement_max, 0.0, 0.0);
    CHECK_NEAR(f.penetration, 0.0, 0.0);
    sup_measurer_destroy(m);
}

TEST(scaled_cube_has_the_cube_of_the_volume)
{
    start();
    add_cube(&made, -0.5f, -0.5f, -0.5f, 1.0f);
    sup_measurer *m = measurer_of(&made);
    moved = made;
    for (int i = 0; i < 3 * moved.vertex_count; i++)
        moved.positions[i] *= 1.1f;
    sup_frame_measure f = frame_of(m, &moved);
    CHECK_NEAR(f.volume_ratio, 1.331, 1e-6);
    CHECK_NEAR(f.stretch_min, 1.1, 1e-6);
    CHECK_NEAR(f.stretch_mean, 1.1, 1e-6);
    CHECK_NEAR(f.area_mean, 1.21, 1e-5);
    CHECK_NEAR(f.angle_mean, 1.0, 1e-3);
    sup_measurer_destroy(m);
}

/* Stretching one axis by two: singular values 2 and 1 where the triangle contains that axis, 1 and 1 elsewhere. */
TEST(stretch_along_one_axis_has_known_distortion)
{
    start();
    add_cube(&made, 0, 0, 0, 1.0f);
    sup_measurer *m = measurer_of(&made);
    moved = made;
    for (int v = 0; v < moved.vertex_count; v++)
        moved.positions[3 * v] *= 2.0f;
    sup_frame_measure f = frame_of(m, &moved);
    CHECK_NEAR(f.volume_ratio, 2.0, 1e-9);
    CHECK_NEAR(f.area_max, 2.0, 1e-5);
    CHECK_NEAR(f.angle_max, 2.0, 1e-5);
    CHECK_NEAR(f.area_mean, (4.0 * 2.0 + 2.0 * 1.0) / 6.0, 1e-5); /* four faces of the cube contain the x axis */
    CHECK_NEAR(f.stretch_max, 2.0, 1e-6);
    sup_measurer_destroy(m);
}

TEST(open_box_is_closed_for_its_volume)
{
    start();
    add_cube(&made, 3, 4, 5, 2.0f);
    made.triangle_count -= 2; /* the x = max face is gone */
    sup_measurer *m = measurer_of(&made);
    moved = made;
    for (int v = 0; v < moved.vertex_count; v++)
        moved.positions[3 * v + 1] = 4.0f + 0.5f * (moved.positions[3 * v + 1] - 4.0f);
    CHECK_NEAR(frame_of(m, &moved).volume_ratio, 0.5, 1e-6);
    sup_measurer_destroy(m);
}

/* Inverted components count like the others. */
TEST(inverted_component_counts_as_volume)
{
    start();
    add_cube(&made, 0, 0, 0, 1.0f);
    add_cube(&made, 5, 0, 0, 1.0f);
    for (int t = 12; t < 24; t++) {
        int32_t swap = made.triangles[3 * t];
        made.triangles[3 * t] = made.triangles[3 * t + 1];
        made.triangles[3 * t + 1] = swap;
    }
    sup_measurer *m = measurer_of(&made);
    moved = made;
    for (int v = 8; v < 16; v++)
        for (int k = 0; k < 3; k++)
            moved.positions[3 * v + k] *= 2.0f;
    CHECK_NEAR(frame_of(m, &moved).volume_ratio, 4.5, 1e-6); /* 1 + 8 over 2 */
    sup_measurer_destroy(m);
}

static int32_t brute_pairs(const shape *s, int32_t *pairs)
{
    int32_t count = 0;
    for (int32_t a = 0; a < s->triangle_count; a++)
        for (int32_t b = a + 1; b < s->triangle_count; b++) {
            const int32_t *ta = s->triangles + 3 * a, *tb = s->triangles + 3 * b;
            bool shared = false;
            for (int i = 0; i < 9; i++)
                shared = shared || ta[i / 3] == tb[i % 3];
            if (shared) continue;
            const float *p[3], *q[3];
            for (int i = 0; i < 3; i++) {
                p[i] = s->positions + 3 * ta[i];
                q[i] = s->positions + 3 * tb[i];
            }
            if (!sup_triangles_intersect(p, q)) continue;
            pairs[2 * count] = a;
            pairs[2 * count++ + 1] = b;
        }
    return count;
}

static int32_t brute[2 * 400000];

static void check_against_brute_force(sup_measurer *m, const shape *s)
{
    int32_t count, expected = brute_pairs(s, brute);
    sup_frame_measure f = frame_of(m, s);
    const int32_t *pairs = sup_measurer_pairs(m, &count);
    CHECK_EQ(f.intersections, expected);
    CHECK_EQ(count, expected);
    if (count > 0) CHECK(memcmp(pairs, brute, 2 * (size_t)count * sizeof *pairs) == 0);
}

TEST(crossings_of_tori_match_brute_force)
{
    start();
    add_torus(&made, (double[3]){0, 0, 0}, 0, 1.0, 0.3, 48, 24);
    add_torus(&made, (double[3]){1.0, 0, 0}, 2, 1.0, 0.3, 48, 24);
    sup_measurer *m = measurer_of(&made); /* linked, not touching */
    sup_frame_measure f = frame_of(m, &made);
    CHECK_EQ(f.intersections + f.rest_intersections, 0);
    moved = made;
    for (int v = moved.vertex_count / 2; v < moved.vertex_count; v++)
        moved.positions[3 * v] += 0.55f; /* tube into tube */
    check_against_brute_force(m, &moved);
    CHECK(frame_of(m, &moved).intersections > 50);
    sup_measurer_destroy(m);
}

TEST(crossings_of_random_meshes_match_brute_force)
{
    sup_random random = {77};
    for (int round = 0; round < 100; round++) {
        start();
        for (int t = 0; t < 150; t++) {
            double centre[3] = {sup_random_unit(&random), sup_random_unit(&random), sup_random_unit(&random)};
            for (int k = 0; k < 9; k++)
                made.positions[9 * t + k] = (float)(centre[k % 3] + 0.25 * (sup_random_unit(&random) - 0.5));
            for (int k = 0; k < 3; k++)
                made.triangles[3 * t + k] =
                    (int32_t)(sup_random_u32(&random) % 8 == 0 && t > 0 ? 3 * t - 3 + k : 3 * t + k);
        }
        made.vertex_count = 450;
        made.triangle_count = 150;
        moved = made;
        for (int v = 0; v < 450; v++) /* rest: all apart */
            for (int k = 0; k < 3; k++)
                made.positions[3 * v + k] = (float)(v * 2) + (k == v % 3 ? 1.0f : 0.0f);
        sup_measurer *m = measurer_of(&made);
        check_against_brute_force(m, &moved);
        sup_measurer_destroy(m);
    }
}

TEST(crossings_at_rest_are_counted_separately)
{
    start();
    add_cube(&made, 0, 0, 0, 1.0f);
    add_cube(&made, 0.5f, 0.5f, 0.5f, 1.0f);
    sup_measurer *m = measurer_of(&made);
    sup_frame_measure f = frame_of(m, &made);
    CHECK_EQ(f.intersections, 0);
    CHECK(f.rest_intersections > 0);
    CHECK_NEAR(f.penetration, 0.0, 0.0);
    sup_measurer_destroy(m);
}

/* Cubes side by side: pushed into each other they cross and were close at rest; from far away they cross and were
 * not. */
TEST(pairs_close_at_rest_are_counted_separately)
{
    for (int far = 0; far < 2; far++) {
        start();
        add_cube(&made, 0, 0, 0, 1.0f);
        add_cube(&made, far ? 4.0f : 1.1f, 0.1f, 0.1f, 1.0f);
        moved = made;
        for (int v = 8; v < 16; v++)
            moved.positions[3 * v] -= far ? 3.3f : 0.4f;
        sup_measurer *m = measurer_of(&made);
        sup_frame_measure f = frame_of(m, &moved);
        CHECK(f.intersections > 0);
        CHECK_EQ(f.close_intersections, far ? 0 : f.intersections);
        sup_measurer_destroy(m);
    }
}

/* A cube pushed 0.25 into another: its corners are that deep. */
TEST(penetration_is_the_depth_of_overlap)
{
    start();
    add_cube(&made, 0, 0, 0, 2.0f);
    add_cube(&made, 3, 0.5f, 0.5f, 1.0f);
    sup_measurer *m = measurer_of(&made);
    moved = made;
    for (int v = 8; v < 16; v++)
        moved.positions[3 * v] -= 1.25f;
    sup_frame_measure f = frame_of(m, &moved);
    double size = sqrt(16.0 + 4.0 + 4.0);
    CHECK(f.intersections > 0);
    CHECK_NEAR(f.penetration * size, 0.25, 1e-5);
    int inside = 0;
    for (int v = 0; v < 16; v++)
        inside += sup_measurer_depths(m)[v] > 0.0f ? 1 : 0;
    CHECK_EQ(inside, 4);
    sup_measurer_destroy(m);
}

/* A flat patch; one triangle's corner is moved over its opposite side, so that only this triangle flips. */
TEST(one_mirrored_triangle_is_one_flip)
{
    start();
    const float positions[] = {0, 0, 0, 2, 0, 0, 1, 2, 0, 3, 2, 0, -1, 2, 0, 1, -2, 0};
    const int32_t triangles[] = {0, 1, 2, 1, 3, 2, 0, 2, 4, 0, 5, 1};
    memcpy(made.positions, positions, sizeof positions);
    memcpy(made.triangles, triangles, sizeof triangles);
    made.vertex_count = 6;
    made.triangle_count = 4;
    sup_measurer *m = measurer_of(&made);
    moved = made;
    CHECK_EQ(frame_of(m, &moved).flips, 0);
    /* Mirror triangle 0 about the line 0-1; its neighbours move along and still face up. */
    const float mirrored[] = {0, 0, 0, 2, 0, 0, 1, -2, 0, 1, 2, 0, 0.9f, 2.2f, 0, 1, -6, 0};
    memcpy(moved.positions, mirrored, sizeof mirrored);
    CHECK_EQ(frame_of(m, &moved).flips, 1);
    sup_measurer_destroy(m);
}

TEST(regions_have_their_own_volume)
{
    start();
    add_cube(&made, 0, 0, 0, 1.0f);
    add_cube(&made, 5, 0, 0, 1.0f);
    int32_t first[3] = {0, 12, 24}, members[24];
    for (int i = 0; i < 24; i++)
        members[i] = i;
    sup_measure_surface surface = {.vertex_count = 16,
                                   .triangle_count = 24,
                                   .positions = made.positions,
                                   .triangles = made.triangles,
                                   .region_count = 2,
                                   .region_first = first,
                                   .region_triangles = members};
    sup_measurer *m = NULL;
    sup_error error;
    sup_frame_measure f;
    double ratio[2];
    CHECK_OK(sup_measurer_create(NULL, &surface, &m, &error), error);
    moved = made;
    for (int v = 8; v < 16; v++)
        moved.positions[3 * v + 2] *= 3.0f;
    CHECK_EQ(sup_measurer_frame(m, moved.positions, &f, ratio), SUP_OK);
    CHECK_NEAR(ratio[0], 1.0, 1e-9);
    CHECK_NEAR(ratio[1], 3.0, 1e-6);
    CHECK_NEAR(f.volume_ratio, 2.0, 1e-6);
    sup_measurer_destroy(m);
}

TEST(nonfinite_vertices_are_counted_and_ignored)
{
    start();
    add_cube(&made, 0, 0, 0, 1.0f);
    sup_measurer *m = measurer_of(&made);
    moved = made;
    moved.positions[4] = (float)NAN;
    moved.positions[9] = (float)INFINITY;
    sup_frame_measure f = frame_of(m, &moved);
    CHECK_EQ(f.nonfinite, 2);
    CHECK_NEAR(f.volume_ratio, 1.0, 1e-9);
    CHECK(isfinite(f.stretch_max) && isfinite(f.roughness) && isfinite(f.area_max));
    sup_measurer_destroy(m);
}

TEST(collapsed_triangles_stay_finite)
{
    start();
    add_cube(&made, 0, 0, 0, 1.0f);
    sup_measurer *m = measurer_of(&made);
    moved = made;
    for (int i = 0; i < 3 * moved.vertex_count; i++)
        moved.positions[i] = 0.25f;
    sup_frame_measure f = frame_of(m, &moved);
    CHECK(isfinite(f.angle_max) && isfinite(f.area_max) && isfinite(f.area_mean));
    CHECK(f.area_max >= 1e6);
    CHECK_NEAR(f.volume_ratio, 0.0, 1e-12);
    sup_measurer_destroy(m);
}

TEST(invalid_surfaces_are_rejected)
{
    sup_measurer *m = NULL;
    sup_error error;
    int32_t triangle[3] = {0, 1, 1};
    float positions[9] = {0, 0, 0, 1, 0, 0, 0, 1, 0};
    sup_measure_surface surface = {
        .vertex_count = 3, .triangle_count = 1, .positions = positions, .triangles = triangle};
    CHECK_EQ(sup_measurer_create(NULL, &surface, &m, &error), SUP_ERROR_ARGUMENT);
    triangle[2] = 3;
    CHECK_EQ(sup_measurer_create(NULL, &surface, &m, &error), SUP_ERROR_ARGUMENT);
    triangle[2] = 2;
    positions[5] = (float)NAN;
    CHECK_EQ(sup_measurer_create(NULL, &surface, &m, &error), SUP_ERROR_DATA);
    positions[5] = 0.0f;
    surface.triangle_count = 0;
    CHECK_EQ(sup_measurer_create(NULL, &surface, &m, &error), SUP_ERROR_DATA);
    CHECK(m == NULL);
}

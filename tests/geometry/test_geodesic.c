/* Geodesic distances: against straight lines in a plane, unrolled cylinders, great circles, and brute force. */
#include "geometry/geodesic.h"
#include "math/vec3.h"
#include "test.h"

static const double PI = 3.14159265358979323846;
enum { COLUMNS = 41, ROWS = 31, VERTICES = COLUMNS * ROWS, TRIANGLES = (COLUMNS - 1) * (ROWS - 1) * 2 };

typedef struct grid {
    float positions[VERTICES * 3];
    double plane[VERTICES][2]; /* position of a vertex in the flat grid */
    int32_t triangles[TRIANGLES * 3];
} grid;

/* Perturbed grid of unit squares with random diagonals: many obtuse triangles. */
static sup_geodesic_mesh make_grid(grid *g, double shake)
{
    sup_random random = {17};
    int32_t count = 0;
    for (int32_t v = 0; v < VERTICES; v++) {
        g->plane[v][0] = (double)(float)(v % COLUMNS + shake * (sup_random_unit(&random) - 0.5));
        g->plane[v][1] = (double)(float)(v / COLUMNS + shake * (sup_random_unit(&random) - 0.5));
        g->positions[3 * v] = (float)g->plane[v][0];
        g->positions[3 * v + 1] = (float)g->plane[v][1];
        g->positions[3 * v + 2] = 0.0f;
    }
    for (int32_t v = 0; v + COLUMNS + 1 < VERTICES; v++) {
        int32_t b = v + 1, c = v + COLUMNS + 1, d = v + COLUMNS;
        if (v % COLUMNS == COLUMNS - 1) continue;
        const int32_t one[6] = {v, b, c, v, c, d}, other[6] = {v, b, d, b, c, d};
        memcpy(g->triangles + count, sup_random_u32(&random) % 2 ? one : other, sizeof(one));
        count += 6;
    }
    sup_geodesic_mesh mesh = {VERTICES, count / 3, g->positions, g->triangles};
    return mesh;
}

static double flat_distance(const grid *g, int32_t a, int32_t b)
{
    return hypot(g->plane[a][0] - g->plane[b][0], g->plane[a][1] - g->plane[b][1]);
}

TEST(geodesic_plane_is_exact)
{
    static grid g;
    static double distance[VERTICES];
    sup_error error = {0};
    for (int32_t round = 0; round < 8; round++) {
        sup_geodesic_mesh mesh = make_grid(&g, 0.07 * round);
        int32_t source = (ROWS / 2) * COLUMNS + 5 * round;
        CHECK_OK(sup_geodesic_distance(NULL, &mesh, 1, &source, distance, NULL, &error), error);
        for (int32_t v = 0; v < VERTICES; v++) /* straight lines stay inside, because the outline is nearly convex */
            if (v % COLUMNS % (COLUMNS - 1) != 0 && v >= COLUMNS && v < VERTICES - COLUMNS)
                CHECK_NEAR(distance[v], flat_distance(&g, v, source), 2e-6 * COLUMNS);
    }
}

TEST(geodesic_cylinder_matches_unrolled_distance)
{
    static grid g;
    static double distance[VERTICES];
    sup_error error = {0};
    sup_geodesic_mesh mesh = make_grid(&g, 0.5);
    double radius = 30.0, worst = 0.0; /* open: the sheet is not closed to a tube */
    for (int32_t v = 0; v < VERTICES; v++) {
        g.positions[3 * v] = (float)(radius * cos(g.plane[v][0] / radius));
        g.positions[3 * v + 2] = (float)(radius * sin(g.plane[v][0] / radius));
    }
    int32_t source = (ROWS / 2) * COLUMNS + 20;
    CHECK_OK(sup_geodesic_distance(NULL, &mesh, 1, &source, distance, NULL, &error), error);
    for (int32_t v = 0; v < VERTICES; v++)
        if (v != source && v >= COLUMNS && v < VERTICES - COLUMNS && v % COLUMNS % (COLUMNS - 1) != 0)
            worst = fmax(worst, fabs(distance[v] / flat_distance(&g, v, source) - 1.0));
    /* An edge of length 1 as a chord of the cylinder is shorter than its arc by 1 / (24 * 30^2). */
    CHECK_MSG(worst < 5e-4, "relative error %g", worst);
}

TEST(geodesic_sphere_matches_great_circles)
{
    enum { SECTORS = 96, CAPS = 48, COUNT = SECTORS * (CAPS - 1) + 2 };
    static float positions[COUNT * 3];
    static int32_t triangles[COUNT * 6];
    static double distance[COUNT];
    int32_t count = 0;
    sup_error error = {0};
    for (int32_t r = 0; r <= CAPS; r++)
        for (int32_t s = 0; s < SECTORS; s++) {
            int32_t v = r == 0 ? 0 : (r == CAPS ? COUNT - 1 : 1 + (r - 1) * SECTORS + s), next = (s + 1) % SECTORS;
            double a = PI * r / CAPS, b = 2.0 * PI * s / SECTORS;
            sup_v3_store(positions + 3 * v, sup_v3(sin(a) * cos(b), cos(a), sin(a) * sin(b)));
            if (r == 0) {
                const int32_t t[3] = {0, 1 + next, 1 + s};
                memcpy(triangles + count, t, sizeof(t));
                count += 3;
                continue;
            }
            if (r == CAPS) continue;
            int32_t right = 1 + (r - 1) * SECTORS + next, below = r + 1 == CAPS ? COUNT - 1 : v + SECTORS;
            const int32_t t[6] = {v, right, below, right, right + SECTORS, below};
            int32_t corners = r + 1 == CAPS ? 3 : 6;
            memcpy(triangles + count, t, (size_t)corners * sizeof(*t));
            count += corners;
        }
    sup_geodesic_mesh mesh = {COUNT, count / 3, positions, triangles};
    const int32_t sources[] = {0, 1 + 20 * SECTORS + 7, 1 + 40 * SECTORS};
    for (int32_t i = 0; i < SUP_COUNT(sources); i++) {
        double worst = 0.0, mean = 0.0;
        CHECK_OK(sup_geodesic_distance(NULL, &mesh, 1, &sources[i], distance, NULL, &error), error);
        for (int32_t v = 0; v < COUNT; v++) {
            sup_vec3d p = sup_v3_load(positions + 3 * v), q = sup_v3_load(positions + 3 * sources[i]);
            double arc = atan2(sup_v3_length(sup_v3_cross(p, q)), sup_v3_dot(p, q));
            if (arc < 1e-6 || arc > 2.5) continue;
            worst = fmax(worst, fabs(distance[v] / arc - 1.0));
            mean += fabs(distance[v] / arc - 1.0) / COUNT;
        }
        CHECK_MSG(worst < 0.02 && mean < 0.004, "relative error %g, mean %g", worst, mean);
    }
}

/* Every list against the distances from each single source. */
static void check_against_all(const sup_geodesic_mesh *mesh, int32_t source_count, const int32_t *sources,
                              int32_t count, const int32_t *nearest, const float *distance)
{
    static double all[VERTICES];
    sup_error error = {0};
    for (int32_t s = 0; s < source_count; s++) {
        CHECK_OK(sup_geodesic_distance(NULL, mesh, 1, &sources[s], all, NULL, &error), error);
        for (int32_t v = 0; v < mesh->vertex_count; v++) {
            bool found = false;
            for (int32_t k = 0; k < count; k++)
                if (nearest[v * count + k] == s) {
                    CHECK(!found);
                    found = true;
                    CHECK_NEAR(distance[v * count + k], all[v], 1e-3 * all[v]);
                }
            if (!found) CHECK(!((float)all[v] < 0.999f * distance[v * count + count - 1]));
        }
    }
}

TEST(geodesic_nearest_matches_brute_force)
{
    static grid g;
    enum { COUNT = 9 };
    static int32_t nearest[VERTICES * COUNT], again[VERTICES * COUNT], sources[VERTICES];
    static float distance[VERTICES * COUNT], distance_again[VERTICES * COUNT];
    sup_error error = {0};
    sup_geodesic_mesh mesh = make_grid(&g, 0.5);
    sup_random random = {5};
    for (int32_t v = 0; v < VERTICES; v++) /* a folded sheet */
        g.positions[3 * v + 2] = (float)(3.0 * sin(0.7 * g.plane[v][0]) + cos(g.plane[v][1]));
    int32_t source_count = 0;
    for (int32_t v = 0; v < VERTICES; v++) /* dense on the left, sparse on the right */
        if (sup_random_u32(&random) % (v % COLUMNS < 12 ? 2u : 30u) == 0) sources[source_count++] = v;
    CHECK_OK(sup_geodesic_nearest(NULL, &mesh, source_count, sources, COUNT, nearest, distance, &error), error);
    for (int32_t v = 0; v < VERTICES; v++)
        for (int32_t k = 1; k < COUNT; k++)
            CHECK(nearest[v * COUNT + k] >= 0 && distance[v * COUNT + k - 1] <= distance[v * COUNT + k]);
    check_against_all(&mesh, source_count, sources, COUNT, nearest, distance);
    for (int32_t threads = 2; threads <= 3; threads++) {
        sup_thread_pool *pool;
        CHECK_OK(sup_thread_pool_create(threads, &pool, &error), error);
        sup_context context = {.tasks = sup_thread_pool_tasks(pool)};
        CHECK_OK(sup_geodesic_nearest(&context, &mesh, source_count, sources, COUNT, again, distance_again, &error),
                 error);
        CHECK(memcmp(nearest, again, sizeof(nearest)) == 0);
        CHECK(memcmp(distance, distance_again, sizeof(distance)) == 0);
        sup_thread_pool_destroy(pool);
    }
}

TEST(geodesic_components_slivers_and_invalid_sources)
{
    /* A strip, a single triangle, a triangle without area, a vertex without triangles. */
    const float positions[] = {0, 0, 0, 1, 0, 0, 0, 1, 0, 1, 1, 0, 5, 0, 0, 6, 0,
                               0, 5, 1, 0, 8, 8, 8, 8, 8, 8, 9, 8, 8, 2, 2, 2};
    const int32_t triangles[] = {0, 1, 2, 1, 3, 2, 4, 5, 6, 7, 8, 9};
    const int32_t sources[] = {3, 4, 7, 10};
    sup_geodesic_mesh mesh = {11, 4, positions, triangles};
    double distance[11];
    int32_t which[11], nearest[22];
    float nearest_distance[22];
    sup_error error = {0};
    CHECK_OK(sup_geodesic_distance(NULL, &mesh, 3, sources, distance, which, &error), error);
    CHECK_NEAR(distance[0], sqrt(2.0), 1e-12);
    CHECK_NEAR(distance[5], 1.0, 1e-12);
    CHECK(which[0] == 0 && which[6] == 1 && which[9] == 2 && which[10] == -1 && distance[10] == INFINITY);
    CHECK_NEAR(distance[8], 0.0, 0.0);
    CHECK_NEAR(distance[9], 1.0, 1e-12);
    CHECK_OK(sup_geodesic_nearest(NULL, &mesh, 4, sources, 2, nearest, nearest_distance, &error), error);
    for (int32_t v = 0; v < 11; v++) {
        CHECK_EQ(nearest[2 * v], v < 4 ? 0 : (v < 7 ? 1 : (v < 10 ? 2 : 3)));
        CHECK(nearest[2 * v + 1] == -1 && nearest_distance[2 * v + 1] == INFINITY);
    }
    const int32_t bad = 11;
    CHECK_EQ(sup_geodesic_distance(NULL, &mesh, 1, &bad, distance, NULL, &error), SUP_ERROR_ARGUMENT);
    CHECK_EQ(sup_geodesic_nearest(NULL, &mesh, 1, &bad, 2, nearest, nearest_distance, &error), SUP_ERROR_ARGUMENT);
    CHECK_OK(sup_geodesic_nearest(NULL, &mesh, 0, NULL, 2, nearest, nearest_distance, &error), error);
    CHECK_EQ(nearest[0], -1);
}

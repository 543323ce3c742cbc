/* Decimation: a subset of the vertices, the same topology, no flipped triangles and the same shape, for any mesh. */
#include "geometry/decimate.h"
#include "geometry/adjacency.h"
#include "geometry/normals.h"
#include "supple/supple.h"
#include "test.h"

static const double PI = 3.14159265358979323846;
enum { SIDE = 41, RINGS = 40, SECTORS = 80 };

typedef struct mesh {
    int32_t vertex_count, triangle_count;
    float *positions;
    int32_t *triangles;
} mesh;

static mesh reserve_mesh(int32_t vertices, int32_t triangles)
{
    mesh m = {vertices, triangles, calloc((size_t)vertices * 3, sizeof(float)),
              calloc((size_t)triangles * 3, sizeof(int32_t))};
    CHECK(m.positions != NULL && m.triangles != NULL);
    return m;
}

static void free_mesh(mesh *m)
{
    free(m->positions);
    free(m->triangles);
}

/* Grid over [0,1]^2 at z = 0; `hole` removes a square in the middle. */
static mesh make_plane(bool hole)
{
    mesh m = reserve_mesh(SIDE * SIDE, (SIDE - 1) * (SIDE - 1) * 2);
    int32_t count = 0;
    sup_random random = {3};
    for (int32_t v = 0; v < SIDE * SIDE; v++) {
        int32_t x = v % SIDE, y = v / SIDE;
        bool inner = x > 0 && y > 0 && x < SIDE - 1 && y < SIDE - 1 && !hole;
        m.positions[3 * v] = (float)((x + (inner ? 0.5 * sup_random_unit(&random) - 0.25 : 0.0)) / (SIDE - 1));
        m.positions[3 * v + 1] = (float)((y + (inner ? 0.5 * sup_random_unit(&random) - 0.25 : 0.0)) / (SIDE - 1));
    }
    for (int32_t y = 0; y + 1 < SIDE; y++)
        for (int32_t x = 0; x + 1 < SIDE; x++) {
            int32_t a = y * SIDE + x;
            if (hole && x >= 15 && x < 25 && y >= 15 && y < 25) continue;
            const int32_t t[6] = {a, a + 1, a + SIDE, a + 1, a + SIDE + 1, a + SIDE};
            memcpy(m.triangles + count, t, sizeof(t));
            count += 6;
        }
    m.triangle_count = count / 3;
    return m;
}

/* Torus, closed, of radii 2 and 1. */
static mesh make_torus(void)
{
    mesh m = reserve_mesh(RINGS * SECTORS, RINGS * SECTORS * 2);
    for (int32_t s = 0; s < SECTORS; s++)
        for (int32_t r = 0; r < RINGS; r++) {
            double a = 2.0 * PI * s / SECTORS, b = 2.0 * PI * r / RINGS;
            int32_t v = s * RINGS + r, right = (s + 1) % SECTORS * RINGS, up = (r + 1) % RINGS;
            m.positions[3 * v] = (float)((2.0 + cos(b)) * cos(a));
            m.positions[3 * v + 1] = (float)((2.0 + cos(b)) * sin(a));
            m.positions[3 * v + 2] = (float)sin(b);
            const int32_t t[6] = {v, right + r, right + up, v, right + up, s * RINGS + up};
            memcpy(m.triangles + 6 * v, t, sizeof(t));
        }
    return m;
}

static sup_decimated decimate(const mesh *m, sup_decimate_def def)
{
    sup_decimated d = {0};
    sup_error error = {0};
    CHECK_OK(sup_decimate(NULL, m->vertex_count, m->positions, m->triangle_count, m->triangles, &def, &d, &error),
             error);
    return d;
}

/* The coarse mesh with positions of its own. */
static mesh coarse_mesh(const mesh *m, const sup_decimated *d)
{
    mesh c = reserve_mesh(d->vertex_count, d->triangle_count);
    for (int32_t v = 0; v < d->vertex_count; v++) {
        CHECK(d->vertices[v] >= 0 && d->vertices[v] < m->vertex_count);
        CHECK(v == 0 || d->vertices[v] > d->vertices[v - 1]);
        memcpy(c.positions + 3 * v, m->positions + 3 * d->vertices[v], 3 * sizeof(float));
    }
    memcpy(c.triangles, d->triangles, (size_t)d->triangle_count * 3 * sizeof(int32_t));
    bool *used = calloc((size_t)d->vertex_count, sizeof(bool));
    for (int32_t i = 0; i < 3 * d->triangle_count; i++) {
        CHECK(d->triangles[i] >= 0 && d->triangles[i] < d->vertex_count);
        CHECK(d->triangles[i] != d->triangles[i / 3 * 3 + (i + 1) % 3]);
        used[d->triangles[i]] = true;
    }
    for (int32_t v = 0; v < d->vertex_count; v++)
        CHECK(used[v]);
    free(used);
    return c;
}

typedef struct topology {
    int32_t euler, pieces, borders, non_manifold;
    bool oriented; /* twins have opposite directions */
} topology;

static topology topology_of(const mesh *m)
{
    sup_adjacency a;
    sup_boundary b;
    sup_error error = {0};
    topology t = {.oriented = true};
    sup_context context = sup_context_resolve(NULL);
    CHECK_OK(sup_adjacency_create(&context.allocator, m->vertex_count, m->triangle_count, m->triangles, &a, &error),
             error);
    CHECK_OK(sup_boundary_loops(&a, &a.arena, &b, &error), error);
    int32_t *component = malloc((size_t)m->vertex_count * sizeof(int32_t));
    t.pieces = sup_mesh_components(m->vertex_count, m->triangle_count, m->triangles, component);
    t.euler = m->triangle_count - a.edge_count;
    for (int32_t v = 0; v < m->vertex_count; v++)
        t.euler += component[v] >= 0;
    t.borders = b.loop_count;
    for (int32_t h = 0; h < 3 * m->triangle_count; h++) {
        t.non_manifold += a.half_twin[h] == SUP_HALF_NON_MANIFOLD;
        if (a.half_twin[h] >= 0 && m->triangles[a.half_twin[h]] == m->triangles[h]) t.oriented = false;
    }
    free(component);
    sup_adjacency_destroy(&a);
    return t;
}

static void check_same_topology(const mesh *fine, const mesh *coarse)
{
    topology f = topology_of(fine), c = topology_of(coarse);
    CHECK_EQ(c.euler, f.euler);
    CHECK_EQ(c.pieces, f.pieces);
    CHECK_EQ(c.borders, f.borders);
    CHECK_EQ(c.non_manifold, f.non_manifold);
    CHECK(c.oriented);
}

static double worst_aspect(const mesh *m)
{
    double worst = 0.0;
    for (int32_t t = 0; t < m->triangle_count; t++) {
        double longest = 0.0;
        for (int32_t k = 0; k < 3; k++)
            longest = fmax(longest, sup_v3_distance(sup_v3_load(m->positions + 3 * m->triangles[3 * t + k]),
                                                    sup_v3_load(m->positions + 3 * m->triangles[3 * t + (k + 1) % 3])));
        worst = fmax(worst, longest * longest / sup_v3_length(sup_triangle_cross(m->positions, m->triangles + 3 * t)));
    }
    return worst;
}

TEST(decimate_plane_keeps_outline_and_orientation)
{
    for (int32_t hole = 0; hole < 2; hole++) {
        mesh m = make_plane(hole != 0);
        sup_decimated d = decimate(&m, (sup_decimate_def){.vertex_target = 120});
        mesh c = coarse_mesh(&m, &d);
        double area = 0.0, expected = hole ? 1.0 - 1.0 / 16.0 : 1.0;
        CHECK_EQ(d.vertex_count, 120);
        check_same_topology(&m, &c);
        for (int32_t t = 0; t < c.triangle_count; t++) {
            sup_vec3d cross = sup_triangle_cross(c.positions, c.triangles + 3 * t);
            CHECK(cross.z > 0.0);
            area += 0.5 * cross.z;
        }
        CHECK_NEAR(area, expected, 1e-6);
        CHECK(worst_aspect(&c) <= 5.0 + 1e-9);
        free_mesh(&c);
        free_mesh(&m);
        sup_decimated_free(&d);
    }
}

/* Without evenness every collapse in a plane has cost 0, so that only the limits prevent flipped triangles. */
TEST(decimate_never_flips_triangles)
{
    mesh m = make_plane(false);
    sup_decimated d = decimate(&m, (sup_decimate_def){.vertex_target = 60, .evenness = -1.0, .aspect_limit = 1e9});
    mesh c = coarse_mesh(&m, &d);
    for (int32_t t = 0; t < c.triangle_count; t++)
        CHECK(sup_triangle_cross(c.positions, c.triangles + 3 * t).z > 0.0);
    free_mesh(&c);
    free_mesh(&m);
    sup_decimated_free(&d);
}

TEST(decimate_torus_keeps_its_topology)
{
    mesh m = make_torus();
    double exact = 4.0 * PI * PI;
    for (int32_t target = 2400; target >= 100; target /= 2) {
        sup_decimated d = decimate(&m, (sup_decimate_def){.vertex_target = target});
        mesh c = coarse_mesh(&m, &d);
        double volume = 0.0;
        CHECK_EQ(d.vertex_count, target);
        check_same_topology(&m, &c);
        CHECK(worst_aspect(&c) <= 5.0 + 1e-9);
        for (int32_t t = 0; t < c.triangle_count; t++) {
            const int32_t *k = c.triangles + 3 * t;
            sup_vec3d n = sup_triangle_cross(c.positions, k), p[3], middle;
            for (int32_t i = 0; i < 3; i++)
                p[i] = sup_v3_load(c.positions + 3 * k[i]);
            volume += sup_v3_dot(p[0], sup_v3_cross(p[1], p[2])) / 6.0;
            middle = sup_v3_scale(sup_v3_add(p[0], sup_v3_add(p[1], p[2])), 1.0 / 3.0);
            sup_vec3d ring = sup_v3_scale(sup_v3_unit_or(sup_v3(middle.x, middle.y, 0.0), sup_v3(1, 0, 0)), 2.0);
            CHECK(sup_v3_dot(n, sup_v3_sub(middle, ring)) > 0.0); /* faces outward */
        }
        /* The volume lost is that of inscribed facets: proportional to the area of one. */
        CHECK(volume < exact && volume > exact * (1.0 - 25.0 / target));
        free_mesh(&c);
        sup_decimated_free(&d);
    }
    free_mesh(&m);
}

TEST(decimate_importance_keeps_density)
{
    mesh m = make_plane(false);
    float *importance = malloc((size_t)m.vertex_count * sizeof(float));
    for (int32_t v = 0; v < m.vertex_count; v++)
        importance[v] = m.positions[3 * v] > 0.5f ? 16.0f : 1.0f;
    importance[5 * SIDE + 5] = INFINITY;
    sup_decimated d = decimate(&m, (sup_decimate_def){.vertex_target = 300, .importance = importance});
    int32_t left = 0, right = 0, kept = 0;
    for (int32_t v = 0; v < d.vertex_count; v++) {
        float x = m.positions[3 * d.vertices[v]];
        left += x < 0.48f;
        right += x > 0.52f;
        kept += d.vertices[v] == 5 * SIDE + 5;
    }
    CHECK_MSG(right > 3 * left && right < 6 * left, "%d left, %d right", left, right);
    CHECK_EQ(kept, 1);
    sup_decimated_free(&d);
    importance[7] = NAN;
    sup_error error = {0};
    sup_decimate_def def = {.vertex_target = 10, .importance = importance};
    CHECK_EQ(sup_decimate(NULL, m.vertex_count, m.positions, m.triangle_count, m.triangles, &def, &d, &error),
             SUP_ERROR_ARGUMENT);
    CHECK_TEXT(error.id, "decimate.importance");
    free(importance);
    free_mesh(&m);
}

TEST(decimate_is_scale_invariant_and_deterministic)
{
    mesh m = make_torus();
    sup_decimated a = decimate(&m, (sup_decimate_def){.vertex_target = 500}), b;
    b = decimate(&m, (sup_decimate_def){.vertex_target = 500});
    CHECK(memcmp(a.triangles, b.triangles, (size_t)a.triangle_count * 12) == 0);
    CHECK(memcmp(a.vertices, b.vertices, (size_t)a.vertex_count * 4) == 0);
    sup_decimated_free(&b);
    for (int32_t i = 0; i < 3 * m.vertex_count; i++)
        m.positions[i] *= 1024.0f;
    b = decimate(&m, (sup_decimate_def){.vertex_target = 500});
    CHECK(memcmp(a.vertices, b.vertices, (size_t)a.vertex_count * 4) == 0);
    sup_decimated_free(&a);
    sup_decimated_free(&b);
    free_mesh(&m);
}

/* Two sheets with one common vertex at their centre. */
TEST(decimate_keeps_vertices_where_fans_meet)
{
    mesh sheet = make_plane(false), m = reserve_mesh(2 * sheet.vertex_count, 2 * sheet.triangle_count);
    int32_t vertices = sheet.vertex_count, shared = 20 * SIDE + 20;
    for (int32_t i = 0; i < 3 * vertices; i++) {
        m.positions[i] = sheet.positions[i];
        m.positions[3 * vertices + i] = sheet.positions[i];
    }
    for (int32_t v = 0; v < vertices; v++) /* cones that touch with their tips */
        for (int32_t k = 0; k < 2; k++) {
            float x = sheet.positions[3 * v] - 0.5f, y = sheet.positions[3 * v + 1] - 0.5f, height = hypotf(x, y);
            m.positions[3 * (k * vertices + v) + 2] = k == 0 ? height : -height;
        }
    for (int32_t i = 0; i < 3 * sheet.triangle_count; i++) {
        m.triangles[i] = sheet.triangles[i];
        int32_t other = sheet.triangles[i] + vertices;
        m.triangles[3 * sheet.triangle_count + i] = other == shared + vertices ? shared : other;
    }
    float *importance = malloc((size_t)m.vertex_count * sizeof(float));
    for (int32_t v = 0; v < m.vertex_count; v++)
        importance[v] = v == shared ? 0.0f : 1.0f;
    sup_decimated d = decimate(&m, (sup_decimate_def){.vertex_target = 40, .importance = importance});
    mesh c = coarse_mesh(&m, &d);
    int32_t kept = 0;
    for (int32_t v = 0; v < d.vertex_count; v++)
        kept += d.vertices[v] == shared;
    CHECK_EQ(kept, 1);
    CHECK_EQ(topology_of(&c).pieces, 1);
    CHECK_EQ(topology_of(&c).euler, topology_of(&m).euler);
    free(importance);
    free_mesh(&c);
    free_mesh(&m);
    free_mesh(&sheet);
    sup_decimated_free(&d);
}

/* Three half-planes with a common line. */
TEST(decimate_keeps_non_manifold_edges)
{
    enum { LENGTH = 12, WIDTH = 6 };
    mesh m = reserve_mesh(LENGTH + 3 * LENGTH * WIDTH, 3 * WIDTH * (LENGTH - 1) * 2);
    int32_t count = 0;
    for (int32_t wing = 0; wing < 3; wing++)
        for (int32_t w = 0; w <= WIDTH; w++)
            for (int32_t l = 0; l < LENGTH; l++) {
                int32_t base = LENGTH + wing * LENGTH * WIDTH - LENGTH, v = w == 0 ? l : base + w * LENGTH + l;
                int32_t up = base + (w + 1) * LENGTH + l;
                m.positions[3 * v] = (float)(w * cos(2.1 * wing));
                m.positions[3 * v + 1] = (float)(w * sin(2.1 * wing));
                m.positions[3 * v + 2] = (float)l;
                if (w == WIDTH || l == LENGTH - 1) continue;
                const int32_t t[6] = {v, v + 1, up, v + 1, up + 1, up};
                memcpy(m.triangles + count, t, sizeof(t));
                count += 6;
            }
    CHECK_EQ(count, 3 * m.triangle_count);
    sup_decimated d = decimate(&m, (sup_decimate_def){.vertex_target = 1});
    for (int32_t l = 0; l < LENGTH; l++)
        CHECK_EQ(d.vertices[l], l); /* the shared line */
    CHECK(d.vertex_count < 3 * LENGTH);
    mesh c = coarse_mesh(&m, &d);
    CHECK_EQ(topology_of(&c).euler, topology_of(&m).euler);
    CHECK_EQ(topology_of(&c).non_manifold, topology_of(&m).non_manifold);
    free_mesh(&c);
    free_mesh(&m);
    sup_decimated_free(&d);
}

/* Tetrahedron, single triangle, pair of triangles, triangles without area, and a vertex without triangles. */
TEST(decimate_smallest_components)
{
    const float positions[] = {0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 1, 5, 0, 0, 6, 0, 0, 5, 1, 0, 9, 9,
                               9, 8, 0, 0, 9, 0, 0, 9, 1, 0, 8, 1, 0, 3, 3, 3, 3, 3, 3, 3, 3, 3};
    const int32_t triangles[] = {0, 2, 1, 0, 1, 3, 1, 2, 3, 0, 3, 2, 4, 5, 6, 8, 9, 10, 8, 10, 11, 12, 13, 14};
    mesh m = {SUP_COUNT(positions) / 3, SUP_COUNT(triangles) / 3, (float *)(size_t)positions,
              (int32_t *)(size_t)triangles};
    sup_decimated d = decimate(&m, (sup_decimate_def){.vertex_target = 0});
    mesh c = coarse_mesh(&m, &d);
    CHECK_EQ(topology_of(&c).pieces, 4);
    CHECK_EQ(d.triangle_count, 4 + 1 + 1 + 1);
    free_mesh(&c);
    sup_decimated_free(&d);
    d = decimate(&(mesh){0}, (sup_decimate_def){.vertex_target = 5});
    CHECK_EQ(d.vertex_count, 0);
    sup_decimated_free(&d);
    const int32_t bad[2][3] = {{0, 1, 99}, {0, 1, 0}};
    for (int32_t i = 0; i < 2; i++)
        CHECK_EQ(sup_decimate(NULL, 15, positions, 1, bad[i], &(sup_decimate_def){0}, &d, NULL), SUP_ERROR_ARGUMENT);
}

/* Random triangles, non-manifold everywhere: must terminate with a valid mesh. */
TEST(decimate_random_triangles)
{
    sup_random random = {11};
    for (int32_t round = 0; round < 40; round++) {
        int32_t vertices = 8 + (int32_t)(sup_random_u32(&random) % 40);
        mesh m = reserve_mesh(vertices, 3 * vertices);
        for (int32_t i = 0; i < 3 * vertices; i++)
            m.positions[i] = (float)(sup_random_u32(&random) % 8);
        for (int32_t t = 0; t < m.triangle_count; t++) {
            int32_t *k = m.triangles + 3 * t;
            k[0] = (int32_t)(sup_random_u32(&random) % (uint32_t)vertices);
            k[1] = (k[0] + 1 + (int32_t)(sup_random_u32(&random) % 3)) % vertices;
            k[2] = (k[0] + 4 + (int32_t)(sup_random_u32(&random) % 3)) % vertices;
        }
        sup_decimated d = decimate(&m, (sup_decimate_def){.vertex_target = vertices / 4});
        mesh c = coarse_mesh(&m, &d);
        free_mesh(&c);
        free_mesh(&m);
        sup_decimated_free(&d);
    }
}

TEST(decimate_a_character)
{
    sup_error error = {0};
    sup_character *character = NULL;
    sup_rig *rig = NULL;
    CHECK_OK(sup_load(NULL, test_asset("fps/male/male.ini"), NULL, &character, &error), error);
    CHECK_OK(sup_rig_create(NULL, character, NULL, &rig, &error), error);
    mesh m = {rig->skin_vertex_count, rig->skin_triangle_count, (float *)(size_t)rig->skin_positions,
              (int32_t *)(size_t)rig->skin_triangles};
    const int32_t targets[] = {4651, 1000};
    for (int32_t i = 0; i < 2; i++) {
        sup_decimated d = decimate(&m, (sup_decimate_def){.vertex_target = targets[i]});
        mesh c = coarse_mesh(&m, &d);
        CHECK_EQ(d.vertex_count, targets[i]);
        check_same_topology(&m, &c);
        CHECK(worst_aspect(&c) <= 5.0 + 1e-9);
        free_mesh(&c);
        sup_decimated_free(&d);
    }
    sup_rig_destroy(rig);
    sup_character_destroy(character);
}

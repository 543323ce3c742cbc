/* Bone heat weights: shape of the result on valid meshes, robustness on damaged ones. */
#include "rig/weights.h"
#include "test.h"

#include "math/vec3.h"

typedef struct mesh {
    int32_t vertex_count, triangle_count;
    float positions[3 * 4000];
    int32_t triangles[3 * 8000];
} mesh;

typedef struct weights {
    int32_t most;
    int32_t joints[4 * 4000];
    float values[4 * 4000];
} weights;

static mesh test_mesh;
static weights result_a, result_b;

enum { RINGS = 41, SIDES = 24 };

/* Tube around the x axis from -2 to 2, radius 0.5; ring r at x = -2 + r/10. */
static void make_tube(mesh *m, bool caps, double scale)
{
    m->vertex_count = m->triangle_count = 0;
    for (int32_t r = 0; r < RINGS; r++)
        for (int32_t s = 0; s < SIDES; s++) {
            double angle = 2.0 * 3.14159265358979323846 * s / SIDES;
            float *p = m->positions + 3 * m->vertex_count++;
            p[0] = (float)(scale * (-2.0 + 0.1 * r));
            p[1] = (float)(scale * 0.5 * cos(angle));
            p[2] = (float)(scale * 0.5 * sin(angle));
        }
    for (int32_t r = 0; r + 1 < RINGS; r++)
        for (int32_t s = 0; s < SIDES; s++) {
            int32_t a = r * SIDES + s, b = r * SIDES + (s + 1) % SIDES;
            /* mirrored about the centre, so that the two halves are equal */
            int32_t quad[6] = {a, a + SIDES, b, b, a + SIDES, b + SIDES};
            int32_t other[6] = {a, b + SIDES, b, a, a + SIDES, b + SIDES};
            memcpy(m->triangles + 3 * m->triangle_count, r < RINGS / 2 ? quad : other, sizeof(quad));
            m->triangle_count += 2;
        }
    if (!caps) return;
    for (int32_t end = 0; end < 2; end++) {
        int32_t centre = m->vertex_count, ring = end * (RINGS - 1) * SIDES;
        float *p = m->positions + 3 * m->vertex_count++;
        p[0] = (float)(scale * (end ? 2.0 : -2.0));
        p[1] = p[2] = 0.0f;
        for (int32_t s = 0; s < SIDES; s++) {
            int32_t cap[3] = {centre, ring + (s + (end ? 0 : 1)) % SIDES, ring + (s + (end ? 1 : 0)) % SIDES};
            memcpy(m->triangles + 3 * m->triangle_count++, cap, sizeof(cap));
        }
    }
}

static void add_triangle(mesh *m, int32_t a, int32_t b, int32_t c)
{
    int32_t t[3] = {a, b, c};
    memcpy(m->triangles + 3 * m->triangle_count++, t, sizeof(t));
}

static int32_t add_vertex(mesh *m, double x, double y, double z)
{
    float *p = m->positions + 3 * m->vertex_count;
    p[0] = (float)x, p[1] = (float)y, p[2] = (float)z;
    return m->vertex_count++;
}

static sup_result solve(const mesh *m, int32_t joints, const int32_t *parents, const float *heads, const float *tails,
                        int32_t most, weights *w)
{
    sup_weights_input in = {
        NULL, m->vertex_count, m->triangle_count, m->positions, m->triangles, joints, parents, heads, tails, most};
    sup_weights_output out = {w->joints, w->values};
    sup_error error = {0};
    memset(w, 0xff, sizeof(*w));
    w->most = most;
    return sup_weights_heat(&in, &out, &error);
}

static double weight_of(const weights *w, int32_t vertex, int32_t joint)
{
    double sum = 0.0;
    for (int32_t k = 0; k < w->most; k++)
        if (w->joints[vertex * w->most + k] == joint) sum += (double)w->values[vertex * w->most + k];
    return sum;
}

static void check_rows(const mesh *m, const weights *w, int32_t joints)
{
    for (int32_t v = 0; v < m->vertex_count; v++) {
        double sum = 0.0;
        for (int32_t k = 0; k < w->most; k++) {
            float value = w->values[v * w->most + k];
            int32_t joint = w->joints[v * w->most + k];
            CHECK(isfinite(value) && value >= 0.0f && value <= 1.0f);
            CHECK(joint >= 0 && joint < joints);
            CHECK(k == 0 || value <= w->values[v * w->most + k - 1]);
            CHECK(value > 0.0f || joint == 0);
            sum += (double)value;
        }
        CHECK_NEAR(sum, 1.0, 1e-6);
    }
}

static const int32_t two_parents[2] = {-1, 0};
static const float two_heads[6] = {-2, 0, 0, 0, 0, 0}, two_tails[6] = {0, 0, 0, 2, 0, 0};

/* Smooth step from one bone to the other: by rings, and 1/2 in the middle. */
static void check_two_bones(const mesh *m, const weights *w, double tolerance)
{
    check_rows(m, w, 2);
    for (int32_t s = 0; s < SIDES; s++) {
        CHECK_NEAR(weight_of(w, (RINGS / 2) * SIDES + s, 0), 0.5, tolerance);
        CHECK(weight_of(w, s, 0) > 0.97); /* the weight of the other bone is exp(-2 / radius) */
        CHECK(weight_of(w, (RINGS - 1) * SIDES + s, 1) > 0.97);
        for (int32_t r = 0; r + 1 < RINGS; r++)
            CHECK(weight_of(w, r * SIDES + s, 1) <= weight_of(w, (r + 1) * SIDES + s, 1) + 1e-6);
        for (int32_t r = 0; r < RINGS; r++)
            CHECK_NEAR(weight_of(w, r * SIDES + s, 0), weight_of(w, (RINGS - 1 - r) * SIDES + s, 1), tolerance);
    }
}

TEST(heat_two_bones)
{
    make_tube(&test_mesh, true, 1.0);
    CHECK_EQ(solve(&test_mesh, 2, two_parents, two_heads, two_tails, 4, &result_a), SUP_OK);
    check_two_bones(&test_mesh, &result_a, 1e-5);
    /* a smooth transition: one radius away from the joint both bones have weight */
    CHECK(weight_of(&result_a, (RINGS / 2 + 3) * SIDES, 0) > 0.05);
    CHECK(weight_of(&result_a, (RINGS / 2 + 3) * SIDES, 0) < 0.45);
}

TEST(heat_open_tube)
{
    make_tube(&test_mesh, false, 1.0);
    CHECK_EQ(solve(&test_mesh, 2, two_parents, two_heads, two_tails, 4, &result_a), SUP_OK);
    check_two_bones(&test_mesh, &result_a, 1e-5);
}

TEST(heat_scale_invariant)
{
    const double scales[] = {1e-6, 0.01, 39.37, 1e6};
    make_tube(&test_mesh, true, 1.0);
    CHECK_EQ(solve(&test_mesh, 2, two_parents, two_heads, two_tails, 4, &result_a), SUP_OK);
    for (int32_t k = 0; k < 4; k++) {
        float heads[6], tails[6];
        for (int32_t i = 0; i < 6; i++) {
            heads[i] = (float)(scales[k] * (double)two_heads[i]);
            tails[i] = (float)(scales[k] * (double)two_tails[i]);
        }
        make_tube(&test_mesh, true, scales[k]);
        CHECK_EQ(solve(&test_mesh, 2, two_parents, heads, tails, 4, &result_b), SUP_OK);
        for (int32_t v = 0; v < test_mesh.vertex_count; v++)
            CHECK_NEAR(weight_of(&result_a, v, 0), weight_of(&result_b, v, 0), 1e-4);
    }
}

TEST(heat_same_bits_for_any_thread_count)
{
    make_tube(&test_mesh, true, 1.0);
    CHECK_EQ(solve(&test_mesh, 2, two_parents, two_heads, two_tails, 4, &result_a), SUP_OK);
    for (int32_t threads = 1; threads <= 3; threads++) {
        sup_thread_pool *pool = NULL;
        sup_error error = {0};
        CHECK_OK(sup_thread_pool_create(threads, &pool, &error), error);
        sup_context context = {.tasks = sup_thread_pool_tasks(pool)};
        sup_weights_input in = {&context,
                                test_mesh.vertex_count,
                                test_mesh.triangle_count,
                                test_mesh.positions,
                                test_mesh.triangles,
                                2,
                                two_parents,
                                two_heads,
                                two_tails,
                                4};
        sup_weights_output out = {result_b.joints, result_b.values};
        sup_result result = sup_weights_heat(&in, &out, &error);
        sup_thread_pool_destroy(pool);
        CHECK_OK(result, error);
        CHECK(memcmp(result_a.joints, result_b.joints, (size_t)test_mesh.vertex_count * 4 * 4) == 0);
        CHECK(memcmp(result_a.values, result_b.values, (size_t)test_mesh.vertex_count * 4 * 4) == 0);
    }
}

/* Random triangles removed and doubled, slivers and flat triangles added, one edge with three triangles. */
static void spoil(mesh *m, uint64_t seed)
{
    sup_random random = {seed};
    int32_t kept = 0, original = m->triangle_count;
    for (int32_t t = 0; t < original; t++) {
        double dice = sup_random_unit(&random);
        if (dice < 0.08) continue;
        memmove(m->triangles + 3 * kept++, m->triangles + 3 * t, 12);
    }
    m->triangle_count = kept;
    for (int32_t k = 0; k < 60; k++) {
        const int32_t *t = m->triangles + 3 * (sup_random_u32(&random) % (uint32_t)kept);
        if (k % 2 == 0) add_triangle(m, t[0], t[1], t[2]);
        if (k % 2 == 1) add_triangle(m, t[1], t[0], t[2]); /* duplicated and flipped */
        const float *a = m->positions + 3 * t[0], *b = m->positions + 3 * t[1];
        int32_t sliver = add_vertex(m, 0.5 * ((double)a[0] + (double)b[0]), 0.5 * ((double)a[1] + (double)b[1]) + 1e-9,
                                    0.5 * ((double)a[2] + (double)b[2]));
        add_triangle(m, t[0], t[1], sliver);
        int32_t fin = add_vertex(m, (double)a[0], 1.2 * (double)a[1], 1.2 * (double)a[2]);
        add_triangle(m, t[0], t[1], fin); /* a third triangle at the edge */
    }
}

TEST(heat_damaged_tube)
{
    make_tube(&test_mesh, true, 1.0);
    CHECK_EQ(solve(&test_mesh, 2, two_parents, two_heads, two_tails, 4, &result_a), SUP_OK);
    for (uint64_t seed = 1; seed <= 5; seed++) {
        make_tube(&test_mesh, true, 1.0);
        int32_t tube = test_mesh.vertex_count;
        spoil(&test_mesh, seed);
        CHECK_EQ(solve(&test_mesh, 2, two_parents, two_heads, two_tails, 4, &result_b), SUP_OK);
        check_rows(&test_mesh, &result_b, 2);
        double worst = 0.0, mean = 0.0;
        for (int32_t v = 0; v < tube; v++) {
            double difference = fabs(weight_of(&result_a, v, 0) - weight_of(&result_b, v, 0));
            worst = difference > worst ? difference : worst;
            mean += difference / tube;
        }
        CHECK_MSG(worst < 0.3 && mean < 0.02, "worst %g, mean %g", worst, mean);
    }
}

TEST(heat_islands)
{
    /* A plate outside near the right bone, one inside the tube, and a vertex without triangles. */
    make_tube(&test_mesh, true, 1.0);
    int32_t out = add_vertex(&test_mesh, 1.5, 2.0, 0.0);
    add_vertex(&test_mesh, 1.7, 2.0, 0.0);
    add_vertex(&test_mesh, 1.5, 2.0, 0.3);
    add_triangle(&test_mesh, out, out + 1, out + 2);
    int32_t in = add_vertex(&test_mesh, -1.5, 0.1, 0.0);
    add_vertex(&test_mesh, -1.4, 0.1, 0.0);
    add_vertex(&test_mesh, -1.5, 0.1, 0.1);
    add_triangle(&test_mesh, in, in + 1, in + 2);
    int32_t alone = add_vertex(&test_mesh, -1.0, 3.0, 0.0);
    CHECK_EQ(solve(&test_mesh, 2, two_parents, two_heads, two_tails, 4, &result_a), SUP_OK);
    check_rows(&test_mesh, &result_a, 2);
    for (int32_t k = 0; k < 3; k++) {
        CHECK_NEAR(weight_of(&result_a, out + k, 1), 1.0, 1e-4);
        CHECK_NEAR(weight_of(&result_a, in + k, 0), 1.0, 1e-4);
    }
    CHECK_NEAR(weight_of(&result_a, alone, 0), 1.0, 1e-6);
    /* The weights of the tube do not change. */
    CHECK_NEAR(weight_of(&result_a, (RINGS / 2) * SIDES, 0), 0.5, 1e-3);
}

TEST(heat_does_not_cross_walls)
{
    /* Two parallel tubes a little apart, one bone in each. The sides that face each other are nearly as close to the
     * other's bone, but it is hidden. Two separate components: no heat crosses over. */
    make_tube(&test_mesh, true, 1.0);
    int32_t half = test_mesh.vertex_count, triangles = test_mesh.triangle_count;
    for (int32_t v = 0; v < half; v++) {
        const float *p = test_mesh.positions + 3 * v;
        add_vertex(&test_mesh, (double)p[0], (double)p[1] + 1.02, (double)p[2]);
    }
    for (int32_t t = 0; t < triangles; t++) {
        const int32_t *c = test_mesh.triangles + 3 * t;
        add_triangle(&test_mesh, c[0] + half, c[1] + half, c[2] + half);
    }
    const int32_t parents[2] = {-1, -1};
    /* the second bone is close to the wall, so it is nearer than the bone of the first tube */
    const float heads[6] = {-2, 0, 0, -2, 0.54f, 0}, tails[6] = {2, 0, 0, 2, 0.54f, 0};
    CHECK_EQ(solve(&test_mesh, 2, parents, heads, tails, 4, &result_a), SUP_OK);
    check_rows(&test_mesh, &result_a, 2);
    for (int32_t v = 0; v < half; v++) {
        CHECK_NEAR(weight_of(&result_a, v, 0), 1.0, 1e-5);
        CHECK_NEAR(weight_of(&result_a, v + half, 1), 1.0, 1e-5);
    }
}

TEST(heat_coincident_and_degenerate_bones)
{
    /* Coincident bones have equal weights, also up to rounding; bones of length 0, outside and far away have no
     * effect. */
    const int32_t parents[6] = {-1, 0, 0, 1, 1, 1};
    const float heads[18] = {-2, 0, 0, 0, 0, 0, 0, 2e-6f, 0, 1, 0, 0, 50, 50, 50, 0, 3, 0};
    const float tails[18] = {0, 0, 0, 2, 0, 0, 2, 0, 0, 1, 0, 0, 51, 50, 50, 1, 3, 0};
    make_tube(&test_mesh, true, 1.0);
    CHECK_EQ(solve(&test_mesh, 6, parents, heads, tails, 4, &result_a), SUP_OK);
    check_rows(&test_mesh, &result_a, 6);
    for (int32_t v = 0; v < test_mesh.vertex_count; v++) {
        CHECK_NEAR(weight_of(&result_a, v, 1), weight_of(&result_a, v, 2), 1e-5);
        CHECK(weight_of(&result_a, v, 4) < 1e-6);
        CHECK(weight_of(&result_a, v, 5) < 1e-6);
    }
    CHECK(weight_of(&result_a, (RINGS - 1) * SIDES, 1) > 0.4);
}

TEST(heat_prefers_bones_inside)
{
    /* Nearer to one side of the tube than the bone inside, but outside. */
    const float heads[6] = {-2, 0, 0, -2, 0.8f, 0}, tails[6] = {2, 0, 0, 2, 0.8f, 0};
    const int32_t parents[2] = {-1, -1};
    make_tube(&test_mesh, true, 1.0);
    CHECK_EQ(solve(&test_mesh, 2, parents, heads, tails, 4, &result_a), SUP_OK);
    for (int32_t v = 0; v < test_mesh.vertex_count; v++)
        CHECK(weight_of(&result_a, v, 0) > 0.999);
}

static void count_warning(void *user, sup_log_level level, const char *message)
{
    (void)message;
    *(int32_t *)user += level == SUP_LOG_WARNING;
}

TEST(heat_bones_very_far_away)
{
    /* Very little heat arrives, but the system is still solved. */
    const float heads[6] = {-1e8f, 0, 0, 1e8f, 0, 0};
    int32_t warnings = 0;
    sup_context context = {.log = count_warning, .log_user = &warnings};
    make_tube(&test_mesh, true, 1.0);
    sup_weights_input in = {&context,
                            test_mesh.vertex_count,
                            test_mesh.triangle_count,
                            test_mesh.positions,
                            test_mesh.triangles,
                            2,
                            two_parents,
                            heads,
                            heads,
                            4};
    sup_weights_output out = {result_a.joints, result_a.values};
    result_a.most = 4;
    CHECK_EQ(sup_weights_heat(&in, &out, NULL), SUP_OK);
    check_rows(&test_mesh, &result_a, 2);
    CHECK_EQ(warnings, 0);
}

TEST(heat_only_bone_outside_or_point)
{
    const float head[3] = {0, 9, 0}, tail[3] = {1, 9, 0};
    const int32_t parent[1] = {-1};
    make_tube(&test_mesh, false, 1.0);
    CHECK_EQ(solve(&test_mesh, 1, parent, head, tail, 1, &result_a), SUP_OK);
    check_rows(&test_mesh, &result_a, 1);
    CHECK_EQ(solve(&test_mesh, 1, parent, head, head, 1, &result_a), SUP_OK);
    check_rows(&test_mesh, &result_a, 1);
    /* a bone through a vertex */
    CHECK_EQ(solve(&test_mesh, 1, parent, test_mesh.positions, test_mesh.positions, 1, &result_a), SUP_OK);
    check_rows(&test_mesh, &result_a, 1);
}

TEST(heat_few_influences)
{
    /* Five bones in a chain, two influences: the largest are kept and sum to one. */
    int32_t parents[5];
    float heads[15] = {0}, tails[15] = {0};
    for (int32_t j = 0; j < 5; j++) {
        parents[j] = j - 1;
        heads[3 * j] = (float)(-2.0 + 0.8 * j);
        tails[3 * j] = (float)(-1.2 + 0.8 * j);
    }
    make_tube(&test_mesh, true, 1.0);
    CHECK_EQ(solve(&test_mesh, 5, parents, heads, tails, 4, &result_a), SUP_OK);
    CHECK_EQ(solve(&test_mesh, 5, parents, heads, tails, 2, &result_b), SUP_OK);
    check_rows(&test_mesh, &result_a, 5);
    check_rows(&test_mesh, &result_b, 5);
    for (int32_t v = 0; v < test_mesh.vertex_count; v++) {
        double largest = (double)result_a.values[v * 4], second = (double)result_a.values[v * 4 + 1];
        CHECK_NEAR((double)result_b.values[v * 2], largest / (largest + second), 1e-5);
    }
}

TEST(heat_flat_and_empty)
{
    mesh *m = &test_mesh;
    m->vertex_count = m->triangle_count = 0;
    const float head[3] = {0, 0, 0}, tail[3] = {1, 0, 0};
    const int32_t parent[1] = {-1};
    CHECK_EQ(solve(m, 1, parent, head, tail, 4, &result_a), SUP_OK); /* no vertices */
    for (int32_t k = 0; k < 3; k++)
        add_vertex(m, 0.5, 0.25, 0.0); /* one point three times */
    add_triangle(m, 0, 1, 2);
    CHECK_EQ(solve(m, 1, parent, head, tail, 4, &result_a), SUP_OK);
    check_rows(m, &result_a, 1);
    CHECK_EQ(solve(m, 0, parent, head, tail, 4, &result_a), SUP_ERROR_DATA);
    CHECK_EQ(solve(m, 1, parent, head, tail, 0, &result_a), SUP_ERROR_ARGUMENT);
    CHECK_EQ(sup_weights_heat(NULL, NULL, NULL), SUP_ERROR_ARGUMENT);
}

TEST(heat_extreme_units)
{
    const double scales[] = {1e-15, 1e15};
    for (int32_t k = 0; k < 2; k++) {
        float heads[6], tails[6];
        for (int32_t i = 0; i < 6; i++) {
            heads[i] = (float)(scales[k] * (double)two_heads[i]);
            tails[i] = (float)(scales[k] * (double)two_tails[i]);
        }
        make_tube(&test_mesh, true, scales[k]);
        CHECK_EQ(solve(&test_mesh, 2, two_parents, heads, tails, 4, &result_a), SUP_OK);
        check_two_bones(&test_mesh, &result_a, 1e-3);
    }
}

/* --- Characters --- */

typedef struct character {
    int32_t vertex_count, triangle_count, joint_count;
    float *positions;
    int32_t *triangles;
    float heads[64 * 3], tails[64 * 3];
    int32_t parents[64];
    char names[64][32];
} character;

static void read_off(const char *path, character *c)
{
    FILE *file = fopen(path, "r");
    CHECK(file != NULL && fscanf(file, "OFF %d %d %*d", &c->vertex_count, &c->triangle_count) == 2);
    c->positions = malloc((size_t)c->vertex_count * 12);
    c->triangles = malloc((size_t)c->triangle_count * 12);
    CHECK(c->positions != NULL && c->triangles != NULL);
    for (int32_t k = 0; k < c->vertex_count * 3; k++)
        CHECK(fscanf(file, "%f", &c->positions[k]) == 1);
    for (int32_t k = 0; k < c->triangle_count; k++) {
        int32_t *t = c->triangles + 3 * k;
        CHECK(fscanf(file, " 3 %d %d %d", &t[0], &t[1], &t[2]) == 3);
    }
    fclose(file);
}

static void read_obj(const char *path, character *c)
{
    FILE *file = fopen(path, "r");
    char line[256];
    c->positions = malloc(20000 * 12);
    c->triangles = malloc(60000 * 12);
    CHECK(file != NULL && c->positions != NULL && c->triangles != NULL);
    while (fgets(line, sizeof(line), file) != NULL) {
        float *p = c->positions + 3 * c->vertex_count;
        int32_t v[4];
        if (sscanf(line, "v %f %f %f", &p[0], &p[1], &p[2]) == 3) c->vertex_count++;
        int32_t corners = sscanf(line, "f %d%*[^ ] %d%*[^ ] %d%*[^ ] %d", &v[0], &v[1], &v[2], &v[3]);
        if (corners < 3) corners = sscanf(line, "f %d %d %d %d", &v[0], &v[1], &v[2], &v[3]);
        for (int32_t k = 2; k < corners; k++) {
            const int32_t t[3] = {v[0] - 1, v[k - 1] - 1, v[k] - 1};
            memcpy(c->triangles + 3 * c->triangle_count++, t, sizeof(t));
        }
    }
    fclose(file);
}

/* Bones to the mean of the children; leaves continue a little in the direction of their parent. */
static void read_skel(const char *path, character *c)
{
    FILE *file = fopen(path, "r");
    char parent[32];
    CHECK(file != NULL && fscanf(file, "%d", &c->joint_count) == 1 && c->joint_count <= 64);
    for (int32_t j = 0; j < c->joint_count; j++) {
        float *h = c->heads + 3 * j;
        CHECK(fscanf(file, "%f %f %f %31s %31s", &h[0], &h[1], &h[2], c->names[j], parent) == 5);
        c->parents[j] = -1;
        for (int32_t k = 0; k < j; k++)
            if (strcmp(parent, c->names[k]) == 0) c->parents[j] = k;
    }
    fclose(file);
    for (int32_t j = 0; j < c->joint_count; j++)
        for (int32_t a = 0; a < 3; a++) {
            float sum = 0.0f, head = c->heads[3 * j + a];
            int32_t children = 0;
            for (int32_t k = 0; k < c->joint_count; k++)
                if (c->parents[k] == j) sum += c->heads[3 * k + a], children++;
            float from = c->parents[j] >= 0 ? c->heads[3 * c->parents[j] + a] : head;
            c->tails[3 * j + a] = children > 0 ? sum / (float)children : head + 0.3f * (head - from);
        }
}

static double bone_distance(const character *c, int32_t vertex, int32_t joint)
{
    sup_vec3d p = sup_v3_load(c->positions + 3 * vertex), a = sup_v3_load(c->heads + 3 * joint),
              b = sup_v3_load(c->tails + 3 * joint);
    return sup_v3_distance(p, sup_v3_lerp(a, b, sup_v3_segment_parameter(p, a, b)));
}

static void run_character(const character *c, int32_t *joints, float *values)
{
    sup_weights_input in = {NULL,           c->vertex_count, c->triangle_count, c->positions, c->triangles,
                            c->joint_count, c->parents,      c->heads,          c->tails,     4};
    sup_weights_output out = {joints, values};
    sup_error error = {0};
    CHECK_OK(sup_weights_heat(&in, &out, &error), error);
}

TEST(heat_male)
{
    static character c;
    memset(&c, 0, sizeof(c));
    read_off(test_asset("fps/male/male.off"), &c);
    read_skel(test_asset("fps/male/male.skel"), &c);
    int32_t *joints = malloc((size_t)c.vertex_count * 16);
    float *values = malloc((size_t)c.vertex_count * 16);
    CHECK(joints != NULL && values != NULL);
    run_character(&c, joints, values);
    int32_t far_away = 0, crossed = 0;
    for (int32_t v = 0; v < c.vertex_count; v++) {
        double nearest = INFINITY, sum = 0.0;
        for (int32_t j = 0; j < c.joint_count; j++)
            nearest = fmin(nearest, bone_distance(&c, v, j));
        for (int32_t k = 0; k < 4; k++) {
            float w = values[v * 4 + k];
            CHECK(isfinite(w) && w >= 0.0f && w <= 1.0f);
            sum += (double)w;
            /* the name gives the side; a limb with weight on the other side of the body is an error. The thighs are
             * connected at the crotch: there heat crosses over by the radius of a thigh (0.9). */
            const char *name = c.names[joints[v * 4 + k]];
            float x = c.positions[v * 3];
            double side = name[0] == 'l' && name[1] == '_' ? 1.0 : (name[0] == 'r' && name[1] == '_' ? -1.0 : 0.0);
            double left = (double)c.heads[3 * 9] > 0.0 ? 1.0 : -1.0; /* l_shoulder */
            bool trunk = strstr(name, "hip") != NULL || strstr(name, "clavicular") != NULL;
            crossed += side * left * (double)x < -1.0 && w > (trunk ? 0.2f : 1e-3f);
        }
        CHECK_NEAR(sum, 1.0, 1e-6);
        far_away += bone_distance(&c, v, joints[v * 4]) > 2.0 * nearest + 0.05;
    }
    CHECK_MSG(far_away < c.vertex_count / 50, "%d vertices with a far bone", (int)far_away);
    CHECK_EQ(crossed, 0);
    free(joints), free(values), free(c.positions), free(c.triangles);
}

TEST(heat_is_close_to_painted_weights)
{
    static character c;
    memset(&c, 0, sizeof(c));
    read_obj(test_asset("makehuman/mh_male_average.obj"), &c);
    read_skel(test_asset("makehuman/mh_male_average.cmu_mb.skel"), &c);
    CHECK_EQ(c.vertex_count, 13380);
    int32_t *joints = malloc((size_t)c.vertex_count * 16);
    float *values = malloc((size_t)c.vertex_count * 16);
    FILE *file = fopen(test_asset("makehuman/mh_male_average.cmu_mb.weights.txt"), "r");
    char line[512];
    CHECK(joints != NULL && values != NULL && file != NULL && fgets(line, sizeof(line), file) != NULL);
    run_character(&c, joints, values);
    double total = 0.0;
    int32_t near = 0;
    for (int32_t v = 0; v < c.vertex_count; v++) {
        double difference[64] = {0};
        int32_t count, strongest = -1;
        float largest = 0.0f;
        CHECK(fscanf(file, "%d", &count) == 1);
        for (int32_t k = 0; k < count; k++) {
            int32_t joint;
            float weight;
            CHECK(fscanf(file, "%d %f", &joint, &weight) == 2 && joint >= 0 && joint < c.joint_count);
            difference[joint] += (double)weight;
            if (weight > largest) largest = weight, strongest = joint;
        }
        for (int32_t k = 0; k < 4; k++)
            difference[joints[v * 4 + k]] -= (double)values[v * 4 + k];
        for (int32_t j = 0; j < c.joint_count; j++)
            total += fabs(difference[j]);
        int32_t mine = joints[v * 4];
        near += mine == strongest || c.parents[mine] == strongest || c.parents[strongest] == mine;
    }
    fclose(file);
    /* Half of the sum is the fraction of weight on another joint. Measured: 0.45, nearly all of it between the joints
     * of a finger or a toe, whose bones have no ends in the skeleton file; the joint with the largest weight is the
     * same for 0.63 of the vertices, and the same or adjacent for 0.95. */
    double moved = 0.5 * total / c.vertex_count, close = (double)near / c.vertex_count;
    CHECK_MSG(moved < 0.5 && close > 0.9, "moved %g, near %g", moved, close);
    free(joints), free(values), free(c.positions), free(c.triangles);
}

/* Untangling of the render mesh: crossing skin is moved apart or skipped, and nothing else moves. */
#include "geometry/adjacency.h"
#include "untangle/untangle.h"
#include "test.h"

enum { SIDE = 15, SHEET = SIDE * SIDE, COUNT = 2 * SHEET, TRIANGLES = 2 * 2 * (SIDE - 1) * (SIDE - 1) };
enum { CLUSTERS = (TRIANGLES + SUP_UNTANGLE_CLUSTER - 1) / SUP_UNTANGLE_CLUSTER };

/* Two sheets with edges of length 1, the second upside down; every vertex has two render vertices, and is simulated. */
typedef struct skins {
    float x[COUNT * 2 * 3], rest[COUNT * 3], gap[COUNT], offset[COUNT * 3];
    int32_t triangles[TRIANGLES * 3], neighbour_first[COUNT + 1], neighbours[COUNT * 8], render_first[COUNT + 1];
    int32_t render_vertices[2 * COUNT], coarse[COUNT], coarse_first[COUNT + 1], coarse_clusters[TRIANGLES * 3];
    int32_t adjacent_first[CLUSTERS + 1], adjacent[CLUSTERS * CLUSTERS];
    unsigned char near[COUNT], fixed[COUNT], rest_contact[COUNT], crosses_at_rest[TRIANGLES];
    sup_untangle_view view;
    sup_untangle_def def;
} skins;

static void set(skins *s, int32_t v, float x, float y, float z)
{
    const float p[3] = {x, y, z};
    memcpy(s->x + 3 * v, p, sizeof p);
    memcpy(s->x + 3 * (COUNT + v), p, sizeof p);
}

static bool has_corner(const skins *s, int32_t cluster, int32_t v)
{
    for (int32_t k = 3 * SUP_UNTANGLE_CLUSTER * cluster;
         k < 3 * SUP_UNTANGLE_CLUSTER * (cluster + 1) && k < 3 * TRIANGLES; k++)
        if (s->triangles[k] == v) return true;
    return false;
}

/* Clusters at each vertex, and adjacent clusters. */
static void list_clusters(skins *s)
{
    static unsigned char adjacent[CLUSTERS][CLUSTERS];
    memset(adjacent, 0, sizeof adjacent);
    for (int32_t v = 0; v < COUNT; v++) {
        int32_t count = s->coarse_first[v];
        for (int32_t b = 0; b < CLUSTERS; b++)
            if (has_corner(s, b, v)) s->coarse_clusters[count++] = b;
        for (int32_t i = s->coarse_first[v]; i < count; i++)
            for (int32_t k = s->coarse_first[v]; k < count; k++)
                adjacent[s->coarse_clusters[i]][s->coarse_clusters[k]] = 1;
        s->coarse_first[v + 1] = count;
    }
    for (int32_t b = 0; b < CLUSTERS; b++) {
        int32_t count = s->adjacent_first[b];
        for (int32_t other = 0; other < CLUSTERS; other++)
            if (adjacent[b][other] && other != b) s->adjacent[count++] = other;
        s->adjacent_first[b + 1] = count;
    }
}

static skins *make_skins(void)
{
    skins *s = calloc(1, sizeof *s);
    CHECK(s != NULL);
    int32_t *t = s->triangles;
    for (int32_t v = 0; v < COUNT; v++) {
        int32_t i = v % SIDE, j = v / SIDE % SIDE, sheet = v / SHEET;
        float x = (float)(i - SIDE / 2), y = (float)(j - SIDE / 2), z = sheet == 0 ? -5.0f : 5.0f;
        set(s, v, x, y, z);
        memcpy(s->rest + 3 * v, s->x + 3 * v, 3 * sizeof(float));
        s->gap[v] = 0.5f;
        s->near[v] = 1;
        s->coarse[v] = v;
        s->render_first[v + 1] = 2 * (v + 1);
        s->render_vertices[2 * v] = v;
        s->render_vertices[2 * v + 1] = COUNT + v;
        if (i + 1 == SIDE || j + 1 == SIDE) continue;
        const int32_t up[6] = {v, v + 1, v + SIDE, v + 1, v + SIDE + 1, v + SIDE};
        for (int32_t k = 0; k < 6; k++)
            *t++ = sheet == 0 ? up[k] : up[5 - k];
    }
    sup_adjacency adjacency;
    sup_error error = {0};
    sup_context context = sup_context_resolve(NULL);
    CHECK_OK(sup_adjacency_create(&context.allocator, COUNT, TRIANGLES, s->triangles, &adjacency, &error), error);
    sup_adjacency_neighbours(&adjacency, s->neighbour_first, s->neighbours);
    sup_adjacency_destroy(&adjacency);
    list_clusters(s);
    s->view = (sup_untangle_view){.vertex_count = COUNT,
                                  .triangle_count = TRIANGLES,
                                  .coarse_count = COUNT,
                                  .triangles = s->triangles,
                                  .crosses_at_rest = s->crosses_at_rest,
                                  .coarse_first = s->coarse_first,
                                  .coarse_clusters = s->coarse_clusters,
                                  .adjacent_first = s->adjacent_first,
                                  .adjacent = s->adjacent,
                                  .coarse = s->coarse,
                                  .rest_contact = s->rest_contact,
                                  .rest = s->rest,
                                  .size = 1e6f,
                                  .rest_volume = 1e9f,
                                  .neighbour_first = s->neighbour_first,
                                  .neighbours = s->neighbours,
                                  .render_first = s->render_first,
                                  .render_vertices = s->render_vertices};
    s->def = (sup_untangle_def){.near = s->near,
                                .fixed = s->fixed,
                                .coarse_rest = s->rest,
                                .gap = s->gap,
                                .offset = s->offset,
                                .offset_fraction = 0.8f,
                                .search = true};
    return s;
}

static void untangle(skins *s, const sup_context *context)
{
    sup_context resolved = sup_context_resolve(context);
    void *scratch = aligned_alloc(64, sup_untangle_scratch(&s->view));
    CHECK(scratch != NULL);
    memset(scratch, 0xa5, sup_untangle_scratch(&s->view));
    sup_untangle(&resolved, &s->view, &s->def, scratch, &(sup_skin_out){.positions = s->x});
    free(scratch);
    CHECK(memcmp(s->x, s->x + 3 * COUNT, 3 * COUNT * sizeof(float)) == 0); /* both render vertices */
}

static double volume(const float *a, const float *b, const float *c, const float *d)
{
    double u[3], v[3], w[3];
    for (int k = 0; k < 3; k++) {
        u[k] = (double)b[k] - (double)a[k];
        v[k] = (double)c[k] - (double)a[k];
        w[k] = (double)d[k] - (double)a[k];
    }
    return u[0] * (v[1] * w[2] - v[2] * w[1]) + u[1] * (v[2] * w[0] - v[0] * w[2]) + u[2] * (v[0] * w[1] - v[1] * w[0]);
}

/* Edges through triangles, all against all. */
static int32_t count_crossings(const skins *s)
{
    int32_t count = 0;
    for (int32_t h = 0; h < 3 * TRIANGLES; h++) {
        int32_t a = s->triangles[h], b = s->triangles[h % 3 == 2 ? h - 2 : h + 1];
        const float *p = s->x + 3 * a, *q = s->x + 3 * b;
        for (int32_t t = 0; t < TRIANGLES; t++) {
            const int32_t *c = s->triangles + 3 * t;
            if (a == c[0] || a == c[1] || a == c[2] || b == c[0] || b == c[1] || b == c[2]) continue;
            const float *x = s->x + 3 * c[0], *y = s->x + 3 * c[1], *z = s->x + 3 * c[2];
            if ((volume(x, y, z, p) < 0.0) == (volume(x, y, z, q) < 0.0)) continue;
            bool side = volume(p, q, x, y) < 0.0;
            count += side == (volume(p, q, y, z) < 0.0) && side == (volume(p, q, z, x) < 0.0);
        }
    }
    return count;
}

/* Two cushions whose tops overlap. */
static void press_cushions(skins *s, float height)
{
    for (int32_t v = 0; v < COUNT; v++) {
        float x = s->rest[3 * v] + (v < SHEET ? 0.0f : 0.13f), y = s->rest[3 * v + 1] + (v < SHEET ? 0.0f : 0.29f);
        float z = height - 0.02f * (x * x + y * y);
        set(s, v, x, y, v < SHEET ? z : -z);
    }
}

TEST(untangle_separates_cushions)
{
    skins *s = make_skins(), *before = malloc(sizeof *before);
    press_cushions(s, 0.4f);
    CHECK(before != NULL && count_crossings(s) > 50);
    *before = *s;
    untangle(s, NULL);
    CHECK_EQ(count_crossings(s), 0);
    for (int32_t v = 0; v < COUNT; v++) {
        double moved = 0.0, x = (double)s->rest[3 * v], y = (double)s->rest[3 * v + 1];
        for (int k = 0; k < 3; k++)
            moved = fmax(moved, fabs((double)s->x[3 * v + k] - (double)before->x[3 * v + k]));
        CHECK(moved < 0.6);                             /* no farther than halfway */
        if (x * x + y * y > 81.0) CHECK_EQ(moved, 0.0); /* nothing else moves */
    }
    free(s);
    free(before);
}

/* The next frames begin with the offsets of the last one: nothing crosses again, and offsets decay once nothing would
 * cross. */
TEST(untangle_offsets_decay_over_frames)
{
    skins *s = make_skins();
    double last = 1.0;
    for (int32_t frame = 0; frame < 40; frame++) {
        double largest = 0.0;
        press_cushions(s, frame < 3 ? 0.4f : -1.0f);
        s->def.offset_fraction = frame < 3 ? 1.0f : 0.7f;
        s->def.search = frame != 1;
        untangle(s, NULL);
        if (frame < 3) CHECK_EQ(count_crossings(s), 0);
        for (int32_t i = 0; i < 3 * COUNT; i++)
            largest = fmax(largest, fabs((double)s->offset[i]));
        if (frame < 3) CHECK(largest > 0.1 && (frame == 0 || fabs(largest - last) < 1e-6));
        if (frame >= 3) CHECK(largest == 0.0 || fabs(largest - 0.7 * last) < 1e-4);
        last = largest;
    }
    CHECK_EQ(last, 0.0);
    free(s);
}

/* Skin that is not near, crosses in the bind pose, or is fixed. */
TEST(untangle_skips_far_rest_crossing_and_fixed_skin)
{
    skins *s = make_skins(), *before = malloc(sizeof *before);
    CHECK(before != NULL);
    for (int32_t trial = 0; trial < 3; trial++) {
        press_cushions(s, 0.4f);
        memset(s->near, trial > 0, sizeof s->near);
        memset(s->crosses_at_rest, trial == 1, sizeof s->crosses_at_rest);
        memset(s->fixed, trial == 2, sizeof s->fixed);
        *before = *s;
        untangle(s, NULL);
        CHECK(memcmp(before->x, s->x, sizeof s->x) == 0);
    }
    free(s);
    free(before);
}

static double edge_length(const float *x, int32_t a, int32_t b)
{
    double square = 0.0;
    for (int k = 0; k < 3; k++)
        square += ((double)x[3 * a + k] - (double)x[3 * b + k]) * ((double)x[3 * a + k] - (double)x[3 * b + k]);
    return sqrt(square);
}

/* A bump as high as two edges inside another skin moves out, and the skin around it follows. No edge gets longer than
 * 1.3 times its length before or at rest; edges that are longer than twice their rest length are shortened. */
TEST(untangle_limits_edge_lengths)
{
    skins *s = make_skins(), *before = malloc(sizeof *before);
    CHECK(before != NULL);
    for (int32_t trial = 0; trial < 3; trial++) {
        const float height[] = {1.0f, 2.0f, 7.0f};
        double stretched = 0.0;
        int32_t moved = 0;
        for (int32_t v = 0; v < COUNT; v++) {
            float x = s->rest[3 * v], y = s->rest[3 * v + 1], r = (x * x + y * y) / 4.0f;
            set(s, v, x + (v < SHEET ? 0.0f : 0.13f), y + (v < SHEET ? 0.0f : 0.29f),
                v < SHEET ? height[trial] / (1.0f + r * r) : 0.3f);
        }
        memset(s->offset, 0, sizeof s->offset);
        *before = *s;
        int32_t here = count_crossings(s);
        untangle(s, NULL);
        int32_t remaining = count_crossings(s);
        CHECK_MSG(here > 10 && remaining * 3 < here, "%d of %d remain", remaining, here);
        for (int32_t v = 0; v < COUNT; v++)
            for (int32_t e = s->neighbour_first[v]; e < s->neighbour_first[v + 1]; e++) {
                int32_t other = s->neighbours[e];
                double from = edge_length(before->x, v, other), rest = edge_length(s->rest, v, other);
                double now = edge_length(s->x, v, other), largest = fmin(1.3 * fmax(from, rest), 2.0 * rest);
                bool still = memcmp(before->x + 3 * v, s->x + 3 * v, 3 * sizeof(float)) == 0;
                stretched = fmax(stretched, from / rest);
                CHECK_MSG(still || now <= 1.02 * largest, "length %g, maximum %g", now, largest);
                moved += !still;
            }
        CHECK(moved > 100 && (trial < 2 || stretched > 2.0));
    }
    free(s);
    free(before);
}

/* Crumpled skin: never more crossings than before, mostly none; the same for any number of threads, also with NaN
 * positions. */
TEST(untangle_never_adds_crossings)
{
    sup_thread_pool *pool = NULL;
    sup_error error = {0};
    CHECK_OK(sup_thread_pool_create(3, &pool, &error), error);
    sup_context threads = {.tasks = sup_thread_pool_tasks(pool)};
    sup_random random = {7};
    skins *s = make_skins(), *other = malloc(sizeof *other);
    CHECK(other != NULL);
    int32_t before = 0, after = 0;
    for (int32_t trial = 0; trial < 6; trial++) {
        for (int32_t v = 0; v < COUNT; v++) {
            const float *p = s->rest + 3 * v;
            double r = trial < 3 ? (fabs((double)p[0]) + fabs((double)p[1]) < 4.0 ? 1.6 : 0.2) : 3.0, q[3];
            for (int k = 0; k < 3; k++)
                q[k] = (double)p[k] + r * (sup_random_unit(&random) - 0.5);
            set(s, v, (float)q[0], (float)q[1],
                trial == 5 && v % 50 == 0 ? NAN : (float)(trial == 4 ? 0.1 * q[2] : q[2]));
        }
        int32_t here = count_crossings(s);
        *other = *s;
        other->def.offset = other->offset;
        untangle(s, NULL);
        untangle(other, &threads);
        CHECK(memcmp(s->x, other->x, sizeof s->x) == 0);
        if (trial == 5) continue;
        int32_t remaining = count_crossings(s);
        CHECK_MSG(remaining <= here, "%d crossings became %d", here, remaining);
        if (trial < 3) before += here, after += remaining;
    }
    CHECK_MSG(before > 10 && after * 4 < before, "%d of %d remain", after, before);
    free(s);
    free(other);
    sup_thread_pool_destroy(pool);
}

/* Largest offset, in the arrays of the last frame. */
static double largest_offset(const skins *s)
{
    double largest = 0.0;
    for (int32_t v = 0; v < COUNT; v++) {
        const float *o = s->offset + 3 * v;
        largest = fmax(largest,
                       sqrt((double)o[0] * (double)o[0] + (double)o[1] * (double)o[1] + (double)o[2] * (double)o[2]));
    }
    return largest;
}

/* Offsets are at most a hundredth of the size, change the volume by no more than the budget, and change slowly. */
TEST(untangle_is_bounded)
{
    skins *s = make_skins();
    press_cushions(s, 1.0f);
    untangle(s, NULL);
    double free_offset = largest_offset(s);
    CHECK_MSG(free_offset > 0.05, "offset %g", free_offset);

    memset(s->offset, 0, sizeof s->offset);
    press_cushions(s, 1.0f);
    s->view.size = (float)(50.0 * free_offset);
    untangle(s, NULL);
    CHECK_NEAR(largest_offset(s), 0.5 * free_offset, 1e-5 * free_offset);
    s->view.size = 1e6f;

    float before[3 * COUNT];
    memset(s->offset, 0, sizeof s->offset);
    press_cushions(s, 1.0f);
    memcpy(before, s->x, sizeof before);
    s->view.rest_volume = 1.0f;
    untangle(s, NULL);
    double change = 0.0;
    static const float origin[3] = {0};
    for (int32_t t = 0; t < s->view.triangle_count; t++) {
        const int32_t *c = s->view.triangles + 3 * t;
        change += (volume(origin, s->x + 3 * c[0], s->x + 3 * c[1], s->x + 3 * c[2]) -
                   volume(origin, before + 3 * c[0], before + 3 * c[1], before + 3 * c[2])) /
                  6.0;
    }
    CHECK_MSG(fabs(change) < 0.0045, "the volume changes by %g", change); /* not linear in the offsets */
    s->view.rest_volume = 1e9f;

    float max_change[COUNT];
    for (int32_t v = 0; v < COUNT; v++)
        max_change[v] = (float)(0.1 * free_offset);
    memset(s->offset, 0, sizeof s->offset);
    press_cushions(s, 1.0f);
    s->def.max_change = max_change;
    untangle(s, NULL);
    CHECK_NEAR(largest_offset(s), 0.1 * free_offset, 1e-5 * free_offset);
    free(s);
}

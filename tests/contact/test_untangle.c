/* Parting of the shown skin: what crosses is moved apart, what cannot be is left, and nothing else is touched. */
#include "geometry/adjacency.h"
#include "untangle/untangle.h"
#include "test.h"

enum { SIDE = 15, SHEET = SIDE * SIDE, COUNT = 2 * SHEET, TRIANGLES = 2 * 2 * (SIDE - 1) * (SIDE - 1) };
enum { CLUSTERS = (TRIANGLES + SUP_UNTANGLE_CLUSTER - 1) / SUP_UNTANGLE_CLUSTER };

/* Two sheets of edges of length 1, the second upside down; every vertex is shown twice, and is simulated. */
typedef struct skins {
    float x[COUNT * 2 * 3], rest[COUNT * 3], gap[COUNT], offset[COUNT * 3];
    int32_t triangles[TRIANGLES * 3], neighbour_first[COUNT + 1], neighbours[COUNT * 8], shown_first[COUNT + 1];
    int32_t shown[2 * COUNT], coarse[COUNT], coarse_first[COUNT + 1], coarse_clusters[TRIANGLES * 3];
    int32_t beside_first[CLUSTERS + 1], beside[CLUSTERS * CLUSTERS];
    unsigned char near[COUNT], held[COUNT], close[COUNT], crossed[TRIANGLES];
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
    for (int32_t k = 3 * SUP_UNTANGLE_CLUSTER * cluster; k < 3 * SUP_UNTANGLE_CLUSTER * (cluster + 1) && k < 3 * TRIANGLES; k++)
        if (s->triangles[k] == v) return true;
    return false;
}

/* Bundles at each vertex, and beside each other. */
static void list_clusters(skins *s)
{
    static unsigned char beside[CLUSTERS][CLUSTERS];
    memset(beside, 0, sizeof beside);
    for (int32_t v = 0; v < COUNT; v++) {
        int32_t count = s->coarse_first[v];
        for (int32_t b = 0; b < CLUSTERS; b++)
            if (has_corner(s, b, v)) s->coarse_clusters[count++] = b;
        for (int32_t i = s->coarse_first[v]; i < count; i++)
            for (int32_t k = s->coarse_first[v]; k < count; k++)
                beside[s->coarse_clusters[i]][s->coarse_clusters[k]] = 1;
        s->coarse_first[v + 1] = count;
    }
    for (int32_t b = 0; b < CLUSTERS; b++) {
        int32_t count = s->beside_first[b];
        for (int32_t other = 0; other < CLUSTERS; other++)
            if (beside[b][other] && other != b) s->beside[count++] = other;
        s->beside_first[b + 1] = count;
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
        s->shown_first[v + 1] = 2 * (v + 1);
        s->shown[2 * v] = v;
        s->shown[2 * v + 1] = COUNT + v;
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
                              .crossed = s->crossed,
                              .coarse_first = s->coarse_first,
                              .coarse_clusters = s->coarse_clusters,
                              .beside_first = s->beside_first,
                              .beside = s->beside,
                              .coarse = s->coarse,
                              .close = s->close,
                              .rest = s->rest,
                              .neighbour_first = s->neighbour_first,
                              .neighbours = s->neighbours,
                              .shown_first = s->shown_first,
                              .shown = s->shown};
    s->def = (sup_untangle_def){s->near, s->held, s->rest, s->gap, s->offset, 0.8f, true};
    return s;
}

static void part(skins *s, const sup_context *context)
{
    sup_context resolved = sup_context_resolve(context);
    void *scratch = aligned_alloc(64, sup_untangle_scratch(&s->view));
    CHECK(scratch != NULL);
    memset(scratch, 0xa5, sup_untangle_scratch(&s->view));
    sup_untangle(&resolved, &s->view, &s->def, scratch, &(sup_skin_out){.positions = s->x});
    free(scratch);
    CHECK(memcmp(s->x, s->x + 3 * COUNT, 3 * COUNT * sizeof(float)) == 0); /* both that are shown */
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

/* Two cushions whose tops are in each other. */
static void press_cushions(skins *s, float height)
{
    for (int32_t v = 0; v < COUNT; v++) {
        float x = s->rest[3 * v] + (v < SHEET ? 0.0f : 0.13f), y = s->rest[3 * v + 1] + (v < SHEET ? 0.0f : 0.29f);
        float z = height - 0.02f * (x * x + y * y);
        set(s, v, x, y, v < SHEET ? z : -z);
    }
}

TEST(cushions_are_parted)
{
    skins *s = make_skins(), *before = malloc(sizeof *before);
    press_cushions(s, 0.4f);
    CHECK(before != NULL && count_crossings(s) > 50);
    *before = *s;
    part(s, NULL);
    CHECK_EQ(count_crossings(s), 0);
    for (int32_t v = 0; v < COUNT; v++) {
        double moved = 0.0, x = (double)s->rest[3 * v], y = (double)s->rest[3 * v + 1];
        for (int k = 0; k < 3; k++)
            moved = fmax(moved, fabs((double)s->x[3 * v + k] - (double)before->x[3 * v + k]));
        CHECK(moved < 0.6);                             /* halfway, and no more */
        if (x * x + y * y > 81.0) CHECK_EQ(moved, 0.0); /* nothing else */
    }
    free(s);
    free(before);
}

/* The next frames begin where the last one ended: nothing is found again, and it comes back once there is room. */
TEST(parted_skin_comes_back_by_degrees)
{
    skins *s = make_skins();
    double last = 1.0;
    for (int32_t frame = 0; frame < 40; frame++) {
        double most = 0.0;
        press_cushions(s, frame < 3 ? 0.4f : -1.0f);
        s->def.keep = frame < 3 ? 1.0f : 0.7f;
        s->def.look = frame != 1;
        part(s, NULL);
        if (frame < 3) CHECK_EQ(count_crossings(s), 0);
        for (int32_t i = 0; i < 3 * COUNT; i++)
            most = fmax(most, fabs((double)s->offset[i]));
        if (frame < 3) CHECK(most > 0.1 && (frame == 0 || fabs(most - last) < 1e-6));
        if (frame >= 3) CHECK(most == 0.0 || fabs(most - 0.7 * last) < 1e-4);
        last = most;
    }
    CHECK_EQ(last, 0.0);
    free(s);
}

/* Nobody says that it is near, it crossed in the bind pose, or it must not move. */
TEST(what_is_not_asked_for_is_left)
{
    skins *s = make_skins(), *before = malloc(sizeof *before);
    CHECK(before != NULL);
    for (int32_t turn = 0; turn < 3; turn++) {
        press_cushions(s, 0.4f);
        memset(s->near, turn > 0, sizeof s->near);
        memset(s->crossed, turn == 1, sizeof s->crossed);
        memset(s->held, turn == 2, sizeof s->held);
        *before = *s;
        part(s, NULL);
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

/* A bump as high as two edges, in another skin: it goes out, and takes the skin around along. No edge gets longer than
 * 1.3 times what it was, or was at rest; those that came longer than twice that are shortened. */
TEST(parting_stretches_no_edge_far)
{
    skins *s = make_skins(), *before = malloc(sizeof *before);
    CHECK(before != NULL);
    for (int32_t turn = 0; turn < 3; turn++) {
        const float height[] = {1.0f, 2.0f, 7.0f};
        double came = 0.0;
        int32_t moved = 0;
        for (int32_t v = 0; v < COUNT; v++) {
            float x = s->rest[3 * v], y = s->rest[3 * v + 1], r = (x * x + y * y) / 4.0f;
            set(s, v, x + (v < SHEET ? 0.0f : 0.13f), y + (v < SHEET ? 0.0f : 0.29f),
                v < SHEET ? height[turn] / (1.0f + r * r) : 0.3f);
        }
        memset(s->offset, 0, sizeof s->offset);
        *before = *s;
        int32_t here = count_crossings(s);
        part(s, NULL);
        int32_t left = count_crossings(s);
        CHECK_MSG(here > 10 && left * 3 < here, "%d of %d are left", left, here);
        for (int32_t v = 0; v < COUNT; v++)
            for (int32_t e = s->neighbour_first[v]; e < s->neighbour_first[v + 1]; e++) {
                int32_t other = s->neighbours[e];
                double from = edge_length(before->x, v, other), rest = edge_length(s->rest, v, other);
                double now = edge_length(s->x, v, other), most = fmin(1.3 * fmax(from, rest), 2.0 * rest);
                bool still = memcmp(before->x + 3 * v, s->x + 3 * v, 3 * sizeof(float)) == 0;
                came = fmax(came, from / rest);
                CHECK_MSG(still || now <= 1.02 * most, "%g instead of %g", now, most);
                moved += !still;
            }
        CHECK(moved > 100 && (turn < 2 || came > 2.0));
    }
    free(s);
    free(before);
}

/* Crumpled skin: never more crossings than before, mostly none; the same for any number of threads, also where places
 * are no numbers. */
TEST(crumpled_skin_never_gets_worse)
{
    sup_thread_pool *pool = NULL;
    sup_error error = {0};
    CHECK_OK(sup_thread_pool_create(3, &pool, &error), error);
    sup_context threads = {.tasks = sup_thread_pool_tasks(pool)};
    sup_random random = {7};
    skins *s = make_skins(), *other = malloc(sizeof *other);
    CHECK(other != NULL);
    int32_t before = 0, after = 0;
    for (int32_t turn = 0; turn < 6; turn++) {
        for (int32_t v = 0; v < COUNT; v++) {
            const float *p = s->rest + 3 * v;
            double r = turn < 3 ? (fabs((double)p[0]) + fabs((double)p[1]) < 4.0 ? 1.6 : 0.2) : 3.0, q[3];
            for (int k = 0; k < 3; k++)
                q[k] = (double)p[k] + r * (sup_random_unit(&random) - 0.5);
            set(s, v, (float)q[0], (float)q[1],
                turn == 5 && v % 50 == 0 ? NAN : (float)(turn == 4 ? 0.1 * q[2] : q[2]));
        }
        int32_t here = count_crossings(s);
        *other = *s;
        other->def.offset = other->offset;
        part(s, NULL);
        part(other, &threads);
        CHECK(memcmp(s->x, other->x, sizeof s->x) == 0);
        if (turn == 5) continue;
        int32_t left = count_crossings(s);
        CHECK_MSG(left <= here, "%d crossings became %d", here, left);
        if (turn < 3) before += here, after += left;
    }
    CHECK_MSG(before > 10 && after * 4 < before, "%d of %d are left", after, before);
    free(s);
    free(other);
    sup_thread_pool_destroy(pool);
}

/* The limits of the skin against linear blending. */
#include "actor.h"
#include "limits/skin_limit.h"
#include "math/vec3.h"

typedef struct limit_case {
    actor a;
    sup_skin_limit limit;
    float *positions; /* [vertex_count*3], the bind pose */
    void *scratch;
    sup_skin_out out;
} limit_case;

static const sup_skin_limit_settings usual = {
    .size = 1.0f, .shortest = 0.11f, .longest = 2.9f, .min_cosine = 0.3f, .max_difference = 0.5f};

static limit_case open_case(void)
{
    limit_case c = {.a = actor_open(actor_scene("arm", 0.25), "", 1)};
    sup_error error = {0};
    size_t bytes = (size_t)c.a.rig->vertex_count * 12;
    CHECK_OK(sup_skin_limit_open(c.a.model, "limit", &c.limit, &error), error);
    c.positions = malloc(bytes);
    memcpy(c.positions, c.a.rig->positions, bytes);
    c.scratch = aligned_alloc(64, sup_skin_limit_scratch(&c.limit));
    c.out = (sup_skin_out){.positions = c.positions, .position_stride = 12};
    return c;
}

static void close_case(limit_case *c)
{
    free(c->positions);
    free(c->scratch);
    actor_close(&c->a);
}

static void limit(limit_case *c, const float *linear, const sup_skin_limit_settings *settings)
{
    sup_skin_limit_settings s = *settings;
    sup_skin_out reference = {.positions = c->positions, .position_stride = 12};
    float *own = malloc((size_t)c->a.rig->vertex_count * 12);
    memcpy(own, c->positions, (size_t)c->a.rig->vertex_count * 12);
    memcpy(c->positions, linear, (size_t)c->a.rig->vertex_count * 12);
    s.size = c->a.rig->size;
    sup_skin_limit_begin(&c->limit, &s, c->scratch, &reference);
    memcpy(c->positions, own, (size_t)c->a.rig->vertex_count * 12);
    sup_skin_limit_apply(&c->limit, c->scratch, &c->out);
    free(own);
}

static double edge_ratio(const limit_case *c, int32_t t, int k)
{
    const int32_t *corner = c->limit.triangle + 3 * t;
    int32_t a = c->limit.source[corner[k]], b = c->limit.source[corner[(k + 1) % 3]];
    sup_vec3d rest = sup_v3_sub(sup_v3_load(c->a.rig->positions + 3 * a), sup_v3_load(c->a.rig->positions + 3 * b));
    sup_vec3d now = sup_v3_sub(sup_v3_load(c->positions + 3 * a), sup_v3_load(c->positions + 3 * b));
    return sup_v3_length(now) / sup_v3_length(rest);
}

/* Moves all render vertices of a welded vertex towards those of another one, by a fraction of the edge. */
static void move_towards(limit_case *c, int32_t from, int32_t to, float fraction)
{
    const float *a = c->a.rig->positions + 3 * c->limit.source[from],
                *b = c->a.rig->positions + 3 * c->limit.source[to];
    for (int32_t v = 0; v < c->a.rig->vertex_count; v++)
        for (int k = 0; k < 3 && c->limit.skin_of[v] == from; k++)
            c->positions[3 * v + k] = a[k] + fraction * (b[k] - a[k]);
}

TEST(edges_are_neither_too_short_nor_too_long)
{
    limit_case c = open_case();
    const int32_t *corner = c.limit.triangle + 3 * 40;
    move_towards(&c, corner[0], corner[1], 0.98f);
    CHECK(edge_ratio(&c, 40, 0) < 0.03);
    limit(&c, c.a.rig->positions, &usual);
    CHECK_MSG(edge_ratio(&c, 40, 0) > 0.109, "%g", edge_ratio(&c, 40, 0));
    memcpy(c.positions, c.a.rig->positions, (size_t)c.a.rig->vertex_count * 12);
    move_towards(&c, corner[0], corner[1], -4.0f);
    CHECK(edge_ratio(&c, 40, 0) > 4.9);
    limit(&c, c.a.rig->positions, &usual);
    CHECK_MSG(edge_ratio(&c, 40, 0) < 2.91, "%g", edge_ratio(&c, 40, 0));
    close_case(&c);
}

/* What linear blending itself does is allowed, and skin within the limits is not touched. */
TEST(linear_blending_is_allowed)
{
    limit_case c = open_case();
    const int32_t *corner = c.limit.triangle + 3 * 40;
    size_t bytes = (size_t)c.a.rig->vertex_count * 12;
    float *distorted = malloc(bytes);
    move_towards(&c, corner[0], corner[1], 0.98f);
    memcpy(distorted, c.positions, bytes);
    limit(&c, distorted, &usual);
    CHECK(memcmp(distorted, c.positions, bytes) == 0);
    free(distorted);
    close_case(&c);
}

static bool never(void *user, const float from[3], const float to[3])
{
    int *calls = user;
    ++*calls;
    (void)from, (void)to;
    return true;
}

TEST(blocked_vertices_stay)
{
    limit_case c = open_case();
    const int32_t *corner = c.limit.triangle + 3 * 40;
    size_t bytes = (size_t)c.a.rig->vertex_count * 12;
    float *before = malloc(bytes);
    int calls = 0;
    sup_skin_limit_settings settings = usual;
    settings.is_blocked = never;
    settings.user = &calls;
    move_towards(&c, corner[0], corner[1], 0.98f);
    memcpy(before, c.positions, bytes);
    limit(&c, c.a.rig->positions, &settings);
    CHECK(calls > 0 && memcmp(before, c.positions, bytes) == 0);
    free(before);
    close_case(&c);
}

/* Painted free tissue is left out: linear blending is no reference for it. */
static void paint_free(void *user, const sup_rig *rig, float *const *maps)
{
    const int *all = user;
    for (int32_t v = 0; v < rig->vertex_count; v++)
        maps[2][v] = *all != 0 ? 1.0f : 0.0f; /* the map `free` */
}

TEST(free_tissue_is_not_limited)
{
    int all = 1;
    actor a = actor_open_painted(actor_scene("arm", 0.25), "", 1, paint_free, &all);
    sup_skin_limit l;
    sup_error error = {0};
    CHECK_OK(sup_skin_limit_open(a.model, "limit", &l, &error), error);
    for (int32_t i = 0; i < 3 * l.triangle_count; i++)
        CHECK_EQ(l.neighbour[i], -1);
    actor_close(&a);
}

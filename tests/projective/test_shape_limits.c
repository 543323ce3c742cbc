/* The limits of the skin's distortion against linear blending. */
#include "actor.h"
#include "limits/shape_limits.h"
#include "math/vec3.h"

typedef struct limit_case {
    actor a;
    sup_shape_limits limits;
    float *positions, *reference; /* [vertex_count*3], the bind pose */
    void *scratch;
    int calls; /* of the reference */
} limit_case;

static limit_case open_case(void)
{
    limit_case c = {.a = actor_open(actor_scene("arm", 0.25), "", 1)};
    sup_error error = {0};
    size_t bytes = (size_t)c.a.rig->vertex_count * 12;
    CHECK_OK(sup_shape_limits_open(c.a.model, &c.limits, &error), error);
    c.positions = malloc(bytes);
    c.reference = malloc(bytes);
    memcpy(c.positions, c.a.rig->positions, bytes);
    memcpy(c.reference, c.a.rig->positions, bytes);
    c.scratch = aligned_alloc(64, sup_shape_limits_scratch(&c.limits));
    return c;
}

static void close_case(limit_case *c)
{
    free(c->positions);
    free(c->reference);
    free(c->scratch);
    actor_close(&c->a);
}

static sup_result give_reference(void *user, float *positions)
{
    limit_case *c = user;
    c->calls++;
    memcpy(positions, c->reference, (size_t)c->a.rig->vertex_count * 12);
    return SUP_OK;
}

static void limit(limit_case *c, float amount)
{
    sup_context context = sup_context_resolve(NULL);
    sup_skin_out out = {.positions = c->positions, .position_stride = 12};
    sup_shape_limits_def def = {.reference = give_reference, .user = c, .amount = amount};
    CHECK_EQ(sup_shape_limits_apply(&context, &c->limits, &def, c->scratch, &out), SUP_OK);
}

static const float *at(const limit_case *c, const float *positions, int32_t v)
{
    return positions + 3 * c->limits.render_vertices[c->limits.render_first[v]];
}

static double ratio(const limit_case *c, int32_t a, int32_t b)
{
    return sup_v3_distance(sup_v3_load(at(c, c->positions, a)), sup_v3_load(at(c, c->positions, b))) /
           sup_v3_distance(sup_v3_load(at(c, c->a.rig->positions, a)), sup_v3_load(at(c, c->a.rig->positions, b)));
}

/* Moves a vertex of the welded skin along an edge, by a multiple of it, in `positions`. */
static void move(const limit_case *c, float *positions, int32_t from, int32_t to, float fraction)
{
    const float *a = at(c, c->a.rig->positions, from), *b = at(c, c->a.rig->positions, to);
    float moved[3];
    for (int k = 0; k < 3; k++)
        moved[k] = a[k] + fraction * (b[k] - a[k]);
    for (int32_t i = c->limits.render_first[from]; i < c->limits.render_first[from + 1]; i++)
        memcpy(positions + 3 * c->limits.render_vertices[i], moved, sizeof moved);
}

TEST(edges_stay_within_the_limits_of_distortion)
{
    static const float fractions[] = {0.97f, -4.0f};
    for (int i = 0; i < 2; i++) {
        limit_case c = open_case();
        const int32_t *corner = c.limits.triangles + 3 * 40;
        move(&c, c.positions, corner[0], corner[1], fractions[i]);
        CHECK(ratio(&c, corner[0], corner[1]) < 0.04 || ratio(&c, corner[0], corner[1]) > 4.9);
        limit(&c, 1.0f);
        CHECK_EQ(c.calls, 1);
        double now = ratio(&c, corner[0], corner[1]);
        CHECK_MSG(now > 0.1 && now < 3.0, "%g", now);
        close_case(&c);
    }
}

TEST(skin_within_the_limits_is_not_changed)
{
    limit_case c = open_case();
    const int32_t *corner = c.limits.triangles + 3 * 40;
    size_t bytes = (size_t)c.a.rig->vertex_count * 12;
    float *before = malloc(bytes);
    move(&c, c.positions, corner[0], corner[1], 0.2f);
    memcpy(before, c.positions, bytes);
    limit(&c, 1.0f);
    CHECK_EQ(c.calls, 0); /* the reference is not computed */
    CHECK(memcmp(before, c.positions, bytes) == 0);
    move(&c, c.positions, corner[0], corner[1], 0.97f); /* switched off */
    memcpy(before, c.positions, bytes);
    limit(&c, 0.0f);
    CHECK(memcmp(before, c.positions, bytes) == 0);
    free(before);
    close_case(&c);
}

/* What linear blending does itself is allowed. */
TEST(the_reference_may_be_distorted)
{
    limit_case c = open_case();
    const int32_t *corner = c.limits.triangles + 3 * 40;
    move(&c, c.positions, corner[0], corner[1], 0.97f);
    move(&c, c.reference, corner[0], corner[1], 0.97f);
    limit(&c, 1.0f);
    CHECK(ratio(&c, corner[0], corner[1]) < 0.04);
    close_case(&c);
}

/* The map `free`: linear blending is no reference for tissue that swings freely. */
static void paint_free(void *user, const sup_rig *rig, float *const *maps)
{
    (void)user;
    for (int32_t v = 0; v < rig->vertex_count; v++)
        maps[2][v] = 1.0f;
}

TEST(free_tissue_is_not_limited)
{
    actor a = actor_open_painted(actor_scene("arm", 0.25), "", 1, paint_free, NULL);
    sup_shape_limits l;
    sup_error error = {0};
    CHECK_OK(sup_shape_limits_open(a.model, &l, &error), error);
    for (int32_t e = 0; e < l.neighbour_first[l.vertex_count]; e++)
        CHECK(l.neighbour_length[e] < 0.0f);
    actor_close(&a);
}

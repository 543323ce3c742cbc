/* tissue_repair.c - bases moved until no tetrahedron is flat.
 *
 * [komaritzan2022] leaves this out; the numbers are those of facts_projective.md: min |V| >= 1e-2 max |V| in each
 * prism. A base moves along its own line first, where it stays between skin and foot, then in any direction. A move
 * counts only when no tet around the vertex changes its sign and no prism around it becomes too flat or flatter. */
#include "tissue/tissue.h"

enum { PASSES = 6, STAR_MAX = 64 };

typedef struct mender {
    const sup_adjacency *adjacency;
    sup_tissue *tissue;
    const sup_volumetric_skeleton *skeleton;
    double flattest, thinnest;
    bool *moved; /* [skin_count] */
    bool *stuck; /* [triangle_count] could not be mended, and nothing around it has moved since */
    double aim;  /* where a repaired prism should be: above the limit, so that rounding does not spoil it */
} mender;

typedef struct prism {
    double volume[3];
    double ratio;
} prism;

static prism look(const sup_tissue *t, int32_t triangle)
{
    prism p;
    double least = INFINITY, most = 0.0;
    for (int k = 0; k < 3; k++) {
        p.volume[k] = sup_tissue_volume6(t, t->tets + 12 * (size_t)triangle + 4 * (size_t)k);
        least = fmin(least, fabs(p.volume[k]));
        most = fmax(most, fabs(p.volume[k]));
    }
    p.ratio = most > 0.0 ? least / most : 0.0;
    return p;
}

/* The prisms at a vertex as they are now. */
typedef struct star {
    int32_t count;
    int32_t triangle[STAR_MAX];
    prism before[STAR_MAX];
} star;

static star look_around(const mender *m, int32_t v)
{
    const sup_adjacency *a = m->adjacency;
    star s = {0};
    for (int32_t k = a->vertex_first[v]; k < a->vertex_first[v + 1] && s.count < STAR_MAX; k++) {
        s.triangle[s.count] = a->vertex_halves[k] / 3;
        s.before[s.count] = look(m->tissue, s.triangle[s.count]);
        s.count++;
    }
    return s;
}

static void put(sup_tissue *t, int32_t v, sup_vec3d at)
{
    t->base[3 * (size_t)v] = at.x;
    t->base[3 * (size_t)v + 1] = at.y;
    t->base[3 * (size_t)v + 2] = at.z;
}

/* The bad prism's ratio after the move, or -1 when the move is not allowed. */
static double try_move(const mender *m, const star *s, int32_t v, int32_t bad, sup_vec3d at)
{
    sup_vec3d old = sup_tissue_point(m->tissue->base, v);
    double result = -1.0;
    bool allowed = true;
    put(m->tissue, v, at);
    for (int32_t i = 0; i < s->count && allowed; i++) {
        prism now = look(m->tissue, s->triangle[i]);
        const prism *was = &s->before[i];
        for (int k = 0; k < 3; k++)
            allowed = allowed && now.volume[k] * was->volume[k] >= 0.0;
        if (s->triangle[i] == bad) {
            result = now.ratio;
        } else {
            allowed = allowed && (now.ratio >= m->aim || now.ratio >= was->ratio);
        }
    }
    put(m->tissue, v, old);
    return allowed ? result : -1.0;
}

typedef struct choice {
    int32_t vertex;
    sup_vec3d at;
    double ratio;
} choice;

static void offer(const mender *m, const star *s, int32_t v, int32_t bad, sup_vec3d at, choice *best)
{
    if (best->ratio >= m->aim) return; /* moves come smallest first: good enough is best */
    double ratio = try_move(m, s, v, bad, at);
    if (ratio > best->ratio) *best = (choice){v, at, ratio};
}

/* Longest edge of a prism's skin triangle. */
static double reach(const sup_tissue *t, int32_t triangle)
{
    const int32_t *c = t->triangles + 3 * (size_t)triangle;
    double longest = 0.0;
    for (int k = 0; k < 3; k++)
        longest =
            fmax(longest, sup_v3_distance(sup_tissue_point(t->skin, c[k]), sup_tissue_point(t->skin, c[(k + 1) % 3])));
    return longest;
}

/* Along the line from skin to foot, out first; the tissue keeps its least thickness. */
static void offer_along_line(const mender *m, const star *s, int32_t v, int32_t bad, double step, choice *best)
{
    sup_vec3d x = sup_tissue_point(m->tissue->skin, v), b = sup_tissue_point(m->tissue->base, v);
    sup_vec3d foot = sup_foot_point(m->skeleton, m->tissue->feet[v]);
    double whole = sup_v3_distance(x, foot);
    if (!(whole > 0.0)) return;
    double now = sup_v3_distance(x, b), out = now - step, in = now + step;
    if (out >= m->thinnest * whole) offer(m, s, v, bad, sup_v3_madd(b, -step / whole, sup_v3_sub(foot, x)), best);
    if (in <= whole) offer(m, s, v, bad, sup_v3_madd(b, step / whole, sup_v3_sub(foot, x)), best);
}

static void offer_sideways(const mender *m, const star *s, int32_t v, int32_t bad, double step, choice *best)
{
    const sup_tissue *t = m->tissue;
    const int32_t *c = t->triangles + 3 * (size_t)bad;
    sup_vec3d x = sup_tissue_point(t->skin, c[0]), b = sup_tissue_point(t->base, v);
    sup_vec3d e = sup_v3_sub(sup_tissue_point(t->skin, c[1]), x), f = sup_v3_sub(sup_tissue_point(t->skin, c[2]), x);
    sup_vec3d normal = sup_v3_unit_or(sup_v3_cross(e, f), sup_v3(0, 0, 1));
    sup_vec3d along = sup_v3_unit_or(e, sup_v3(1, 0, 0)), across = sup_v3_cross(normal, along);
    for (int w = 0; w < 27; w++) { /* towards the faces, edges and corners of a cube */
        int32_t i = w % 3 - 1, j = w / 3 % 3 - 1, k = w / 9 - 1;
        sup_vec3d way = sup_v3_madd(sup_v3_madd(sup_v3_scale(normal, i), j, along), k, across);
        if (w != 13) offer(m, s, v, bad, sup_v3_madd(b, step, sup_v3_unit_or(way, normal)), best);
    }
}

/* Whether the prism got better. Small moves first: the first that is good enough is taken. */
static bool mend(const mender *m, int32_t bad)
{
    static const double steps[] = {0.01, 0.03, 0.1, 0.2, 0.4, 0.7}; /* of the longest edge */
    double now = look(m->tissue, bad).ratio;
    choice best = {-1, {0, 0, 0}, now * 1.05};
    double edge = reach(m->tissue, bad);
    const int32_t *v = m->tissue->triangles + 3 * (size_t)bad;
    star stars[3] = {look_around(m, v[0]), look_around(m, v[1]), look_around(m, v[2])};
    for (int i = 0; i < SUP_COUNT(steps) && best.ratio < m->aim; i++)
        for (int k = 0; k < 3 && best.ratio < m->aim; k++) {
            offer_along_line(m, &stars[k], v[k], bad, steps[i] * edge, &best);
            offer_sideways(m, &stars[k], v[k], bad, steps[i] * edge, &best);
        }
    m->stuck[bad] = best.vertex < 0;
    if (best.vertex < 0) return false;
    put(m->tissue, best.vertex, best.at);
    m->moved[best.vertex] = true;
    star *around = &stars[best.vertex == v[0] ? 0 : (best.vertex == v[1] ? 1 : 2)];
    for (int32_t i = 0; i < around->count; i++)
        m->stuck[around->triangle[i]] = false;
    return true;
}

static int32_t count_bad(const mender *m)
{
    int32_t count = 0;
    for (int32_t p = 0; p < m->tissue->triangle_count; p++)
        count += look(m->tissue, p).ratio < m->flattest;
    return count;
}

sup_result sup_tissue_repair(const sup_context *context, const sup_adjacency *adjacency,
                             const sup_volumetric_skeleton *skeleton, double flattest, double thinnest,
                             sup_tissue *tissue, sup_tissue_report *report, sup_error *error)
{
    mender m = {.adjacency = adjacency, .tissue = tissue, .skeleton = skeleton, .flattest = flattest};
    sup_arena scratch = sup_arena_create(&context->allocator);
    m.thinnest = thinnest;
    m.aim = 1.05 * flattest;
    m.moved = sup_arena_alloc(&scratch, (size_t)tissue->skin_count, sizeof *m.moved);
    m.stuck = sup_arena_alloc(&scratch, (size_t)tissue->triangle_count, sizeof *m.stuck);
    if (m.moved == NULL || m.stuck == NULL) {
        sup_arena_destroy(&scratch);
        return sup_fail_memory(error, "the tissue");
    }
    int32_t bad_before = count_bad(&m);
    for (int pass = 0; pass < PASSES; pass++) {
        bool again = false;
        for (int32_t p = 0; p < tissue->triangle_count; p++) {
            if (look(tissue, p).ratio >= flattest) continue;
            if (!m.stuck[p] && mend(&m, p)) again = true;
        }
        if (!again) break;
    }
    report->repaired = bad_before - count_bad(&m);
    for (int32_t v = 0; v < tissue->skin_count; v++) {
        report->moved += m.moved[v];
        tissue->base_off[v] = tissue->base_off[v] || m.moved[v];
    }
    sup_arena_destroy(&scratch);
    return SUP_OK;
}

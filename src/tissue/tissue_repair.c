/* tissue_repair.c - moves bases until no tetrahedron is flat.
 *
 * Not described in [komaritzan2022]. Target: min |V| >= 1e-2 max |V| in each prism. A base moves along the line from
 * skin to foot point first, then in any direction. A move is accepted only when no tet around the vertex changes its
 * sign and no other prism around it becomes flatter than the target. */
#include "tissue/tissue.h"

enum { PASSES = 6, STAR_MAX = 64 };

typedef struct repair {
    const sup_adjacency *adjacency;
    sup_tissue *tissue;
    const sup_volumetric_skeleton *skeleton;
    double min_volume_ratio, min_thickness;
    bool *moved;   /* [skin_count] */
    bool *stuck;   /* [triangle_count] could not be repaired, and nothing around it has moved since */
    double target; /* ratio of a repaired prism: above the limit, so that it passes after rounding */
} repair;

typedef struct prism {
    double volume[3];
    double ratio;
} prism;

static prism measure_prism(const sup_tissue *t, int32_t triangle)
{
    prism p;
    double smallest = INFINITY, largest = 0.0;
    for (int k = 0; k < 3; k++) {
        p.volume[k] = sup_tissue_volume6(t, t->tets + 12 * (size_t)triangle + 4 * (size_t)k);
        smallest = fmin(smallest, fabs(p.volume[k]));
        largest = fmax(largest, fabs(p.volume[k]));
    }
    p.ratio = largest > 0.0 ? smallest / largest : 0.0;
    return p;
}

/* The prisms at a vertex before a move. */
typedef struct star {
    int32_t count;
    int32_t triangle[STAR_MAX];
    prism previous[STAR_MAX];
} star;

static star gather_star(const repair *m, int32_t v)
{
    const sup_adjacency *a = m->adjacency;
    star s = {0};
    for (int32_t k = a->vertex_first[v]; k < a->vertex_first[v + 1] && s.count < STAR_MAX; k++) {
        s.triangle[s.count] = a->vertex_halves[k] / 3;
        s.previous[s.count] = measure_prism(m->tissue, s.triangle[s.count]);
        s.count++;
    }
    return s;
}

static void set_base(sup_tissue *t, int32_t v, sup_vec3d at)
{
    t->base[3 * (size_t)v] = at.x;
    t->base[3 * (size_t)v + 1] = at.y;
    t->base[3 * (size_t)v + 2] = at.z;
}

/* Ratio of the bad prism after the move, or -1 when the move is not allowed. */
static double try_move(const repair *m, const star *s, int32_t v, int32_t bad, sup_vec3d at)
{
    sup_vec3d old = sup_tissue_point(m->tissue->base, v);
    double result = -1.0;
    bool allowed = true;
    set_base(m->tissue, v, at);
    for (int32_t i = 0; i < s->count && allowed; i++) {
        prism now = measure_prism(m->tissue, s->triangle[i]);
        const prism *was = &s->previous[i];
        for (int k = 0; k < 3; k++)
            allowed = allowed && now.volume[k] * was->volume[k] >= 0.0;
        if (s->triangle[i] == bad) {
            result = now.ratio;
        } else {
            allowed = allowed && (now.ratio >= m->target || now.ratio >= was->ratio);
        }
    }
    set_base(m->tissue, v, old);
    return allowed ? result : -1.0;
}

typedef struct candidate {
    int32_t vertex;
    sup_vec3d at;
    double ratio;
} candidate;

static void try_candidate(const repair *m, const star *s, int32_t v, int32_t bad, sup_vec3d at, candidate *best)
{
    if (best->ratio >= m->target) return; /* moves are tried in order of length: the first sufficient one is kept */
    double ratio = try_move(m, s, v, bad, at);
    if (ratio > best->ratio) *best = (candidate){v, at, ratio};
}

/* Longest edge of the skin triangle of a prism. */
static double longest_edge(const sup_tissue *t, int32_t triangle)
{
    const int32_t *c = t->triangles + 3 * (size_t)triangle;
    double longest = 0.0;
    for (int k = 0; k < 3; k++)
        longest =
            fmax(longest, sup_v3_distance(sup_tissue_point(t->skin, c[k]), sup_tissue_point(t->skin, c[(k + 1) % 3])));
    return longest;
}

/* Along the line from skin to foot point, outwards first; the tissue keeps its minimum thickness. */
static void try_along_line(const repair *m, const star *s, int32_t v, int32_t bad, double step, candidate *best)
{
    sup_vec3d x = sup_tissue_point(m->tissue->skin, v), b = sup_tissue_point(m->tissue->base, v);
    sup_vec3d foot = sup_foot_position(m->skeleton, m->tissue->foot_points[v]);
    double length = sup_v3_distance(x, foot);
    if (!(length > 0.0)) return;
    double now = sup_v3_distance(x, b), out = now - step, in = now + step;
    if (out >= m->min_thickness * length)
        try_candidate(m, s, v, bad, sup_v3_madd(b, -step / length, sup_v3_sub(foot, x)), best);
    if (in <= length) try_candidate(m, s, v, bad, sup_v3_madd(b, step / length, sup_v3_sub(foot, x)), best);
}

static void try_sideways(const repair *m, const star *s, int32_t v, int32_t bad, double step, candidate *best)
{
    const sup_tissue *t = m->tissue;
    const int32_t *c = t->triangles + 3 * (size_t)bad;
    sup_vec3d x = sup_tissue_point(t->skin, c[0]), b = sup_tissue_point(t->base, v);
    sup_vec3d e = sup_v3_sub(sup_tissue_point(t->skin, c[1]), x), f = sup_v3_sub(sup_tissue_point(t->skin, c[2]), x);
    sup_vec3d normal = sup_v3_unit_or(sup_v3_cross(e, f), sup_v3(0, 0, 1));
    sup_vec3d along = sup_v3_unit_or(e, sup_v3(1, 0, 0)), across = sup_v3_cross(normal, along);
    for (int w = 0; w < 27; w++) { /* towards the faces, edges and corners of a cube */
        int32_t i = w % 3 - 1, j = w / 3 % 3 - 1, k = w / 9 - 1;
        sup_vec3d direction = sup_v3_madd(sup_v3_madd(sup_v3_scale(normal, i), j, along), k, across);
        if (w != 13) try_candidate(m, s, v, bad, sup_v3_madd(b, step, sup_v3_unit_or(direction, normal)), best);
    }
}

/* Tries short moves first and takes the first sufficient one. Returns whether the prism improved. */
static bool repair_prism(const repair *m, int32_t bad)
{
    static const double steps[] = {0.01, 0.03, 0.1, 0.2, 0.4, 0.7}; /* of the longest edge */
    double now = measure_prism(m->tissue, bad).ratio;
    candidate best = {-1, {0, 0, 0}, now * 1.05};
    double edge = longest_edge(m->tissue, bad);
    const int32_t *v = m->tissue->triangles + 3 * (size_t)bad;
    star stars[3] = {gather_star(m, v[0]), gather_star(m, v[1]), gather_star(m, v[2])};
    for (int i = 0; i < SUP_COUNT(steps) && best.ratio < m->target; i++)
        for (int k = 0; k < 3 && best.ratio < m->target; k++) {
            try_along_line(m, &stars[k], v[k], bad, steps[i] * edge, &best);
            try_sideways(m, &stars[k], v[k], bad, steps[i] * edge, &best);
        }
    m->stuck[bad] = best.vertex < 0;
    if (best.vertex < 0) return false;
    set_base(m->tissue, best.vertex, best.at);
    m->moved[best.vertex] = true;
    star *around = &stars[best.vertex == v[0] ? 0 : (best.vertex == v[1] ? 1 : 2)];
    for (int32_t i = 0; i < around->count; i++)
        m->stuck[around->triangle[i]] = false;
    return true;
}

static int32_t count_bad(const repair *m)
{
    int32_t count = 0;
    for (int32_t p = 0; p < m->tissue->triangle_count; p++)
        count += measure_prism(m->tissue, p).ratio < m->min_volume_ratio;
    return count;
}

sup_result sup_tissue_repair(const sup_context *context, const sup_adjacency *adjacency,
                             const sup_volumetric_skeleton *skeleton, double min_volume_ratio, double min_thickness,
                             sup_tissue *tissue, sup_tissue_report *report, sup_error *error)
{
    repair m = {.adjacency = adjacency, .tissue = tissue, .skeleton = skeleton, .min_volume_ratio = min_volume_ratio};
    sup_arena scratch = sup_arena_create(&context->allocator);
    m.min_thickness = min_thickness;
    m.target = 1.05 * min_volume_ratio;
    m.moved = sup_arena_alloc(&scratch, (size_t)tissue->skin_count, sizeof *m.moved);
    m.stuck = sup_arena_alloc(&scratch, (size_t)tissue->triangle_count, sizeof *m.stuck);
    if (m.moved == NULL || m.stuck == NULL) {
        sup_arena_destroy(&scratch);
        return sup_fail_memory(error, "the tissue");
    }
    int32_t bad_count = count_bad(&m);
    for (int pass = 0; pass < PASSES; pass++) {
        bool again = false;
        for (int32_t p = 0; p < tissue->triangle_count; p++) {
            if (measure_prism(tissue, p).ratio >= min_volume_ratio) continue;
            if (!m.stuck[p] && repair_prism(&m, p)) again = true;
        }
        if (!again) break;
    }
    report->repaired = bad_count - count_bad(&m);
    for (int32_t v = 0; v < tissue->skin_count; v++) {
        report->moved += m.moved[v];
        tissue->base_off[v] = tissue->base_off[v] || m.moved[v];
    }
    sup_arena_destroy(&scratch);
    return SUP_OK;
}

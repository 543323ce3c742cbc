/* isosurface_stuffing.c - cut points, warping and stencils; see isosurface_stuffing.h for the paper. */
#include "volume/isosurface_stuffing.h"

#include <stdlib.h>

enum { VERTEX_GRAIN = 64, EDGE_GRAIN = 64, NONE = -1, CUT_STEPS = 3 };

/* Table 1 of the paper, for bounds of 10.7 and 164.8 degrees; lattice edges that are not in the body-centred cubic
 * lattice run along the diagonals of faces. */
static const double alpha_long = 0.24999, alpha_short = 0.41189, alpha_diagonal = 0.3;
static const double reach = 3.0; /* leaves: distances farther away are not needed */

typedef struct stuffing_work {
    const sup_solid *solid;
    const sup_lattice *lattice;
    double *value;       /* [vertex_count] negative inside, 0 once warped */
    sup_vec3d *position; /* [vertex_count] moved by warping */
    double *cut; /* [edge_count] position of the cut point from the first to the second vertex in [0, 1], -1 for none */
    int32_t *out_vertex; /* [vertex_count] index in the result, NONE */
    int32_t *out_cut;    /* [edge_count] */
    sup_array tets, positions, sizes, surface;
    sup_allocator allocator;
    bool failed;
} stuffing_work;

static double leaf_size(const sup_lattice *l, int32_t v)
{
    return ldexp(l->base, -l->level[v]);
}

static void evaluate_vertices(void *work, int32_t begin, int32_t end, int32_t worker)
{
    stuffing_work *w = work;
    SUP_UNUSED(worker);
    for (int32_t v = begin; v < end; v++) {
        double size = leaf_size(w->lattice, v);
        w->position[v] = sup_lattice_position(w->lattice, v);
        sup_solid_nearest at = sup_solid_distance(w->solid, w->position[v], reach * size);
        w->value[v] = at.distance;
        double minimum = 1e-9 * size; /* zero is reserved for warped vertices */
        if (w->lattice->thread[v] && at.distance > -minimum)
            w->value[v] = -minimum;
        else if (w->lattice->gap[v] ? at.distance < minimum : at.distance == 0.0)
            w->value[v] = minimum;
    }
}

/* Where the value changes its sign: regula falsi with bisection where it converges slowly. */
static double find_cut(const stuffing_work *w, int32_t a, int32_t b)
{
    double low = 0.0, high = 1.0, f_low = w->value[a], f_high = w->value[b];
    double limit = 2.0 * sup_v3_distance(w->position[a], w->position[b]);
    for (int step = 0; step < CUT_STEPS; step++) {
        double t = low + (high - low) * f_low / (f_low - f_high);
        sup_vec3d p = sup_v3_lerp(w->position[a], w->position[b], t);
        double f = sup_solid_distance(w->solid, p, limit).distance;
        if ((f < 0.0) == (f_low < 0.0)) {
            low = t;
            f_low = f;
            f_high *= 0.5;
        } else {
            high = t;
            f_high = f;
            f_low *= 0.5;
        }
    }
    return f_low == f_high ? 0.5 * (low + high) : low + (high - low) * f_low / (f_low - f_high);
}

static void cut_edges(void *work, int32_t begin, int32_t end, int32_t worker)
{
    stuffing_work *w = work;
    SUP_UNUSED(worker);
    for (int32_t e = begin; e < end; e++) {
        int32_t a = w->lattice->edges[2 * (size_t)e], b = w->lattice->edges[2 * (size_t)e + 1];
        bool crossed = (w->value[a] < 0.0) != (w->value[b] < 0.0);
        w->cut[e] = crossed ? find_cut(w, a, b) : -1.0;
    }
}

/* alpha of an edge at one of its ends: by its direction, and smaller for an edge longer than those of the smallest leaf
 * at that end, whose tetrahedra would degenerate. */
static double alpha_of(const sup_lattice *l, int32_t e, int32_t end)
{
    const int32_t *a = l->vertices + 3 * (size_t)l->edges[2 * (size_t)e];
    const int32_t *b = l->vertices + 3 * (size_t)l->edges[2 * (size_t)e + 1];
    int axes = 0;
    int32_t along = 0, side = SUP_LATTICE_BASE >> l->level[end];
    for (int k = 0; k < 3; k++) {
        axes += a[k] != b[k];
        if (abs(a[k] - b[k]) > along) along = abs(a[k] - b[k]);
    }
    if (axes == 3) along *= 2; /* from the centre of a leaf to its corner */
    double alpha = axes == 1 ? alpha_long : axes == 2 ? alpha_diagonal : alpha_short;
    return along > side ? alpha * side / along : alpha;
}

static double edge_length(const sup_lattice *l, int32_t e)
{
    return sup_v3_distance(sup_lattice_position(l, l->edges[2 * (size_t)e]),
                           sup_lattice_position(l, l->edges[2 * (size_t)e + 1]));
}

/* Vertices that warping must not move: it would remove the last one of a thin feature, or close a gap. */
static bool is_fixed(const stuffing_work *w, int32_t v)
{
    return w->lattice->thread[v] || w->lattice->gap[v];
}

/* Cut points too near to such a vertex are moved away from it. */
static void push_cuts(stuffing_work *w)
{
    for (int32_t e = 0; e < w->lattice->edge_count; e++) {
        if (w->cut[e] < 0.0) continue;
        int32_t a = w->lattice->edges[2 * (size_t)e], b = w->lattice->edges[2 * (size_t)e + 1];
        if (is_fixed(w, a)) w->cut[e] = fmax(w->cut[e], alpha_of(w->lattice, e, a));
        if (is_fixed(w, b)) w->cut[e] = fmin(w->cut[e], 1.0 - alpha_of(w->lattice, e, b));
    }
}

/* The nearest cut point that is too near to v, NONE if there is none. */
static int32_t worst_cut(const stuffing_work *w, int32_t v, const int32_t *first, const int32_t *around)
{
    int32_t worst = NONE;
    double nearest = INFINITY;
    for (int32_t i = first[v]; i < first[v + 1]; i++) {
        int32_t e = around[i];
        if (w->cut[e] < 0.0) continue;
        double t = w->lattice->edges[2 * (size_t)e] == v ? w->cut[e] : 1.0 - w->cut[e];
        double distance = t * edge_length(w->lattice, e);
        if (t >= alpha_of(w->lattice, e, v) || distance >= nearest) continue;
        nearest = distance;
        worst = e;
    }
    return worst;
}

/* In the order of the vertices: a warp removes cut points and never creates one too near to another vertex. */
static bool warp_vertices(stuffing_work *w, sup_arena *scratch)
{
    const sup_lattice *l = w->lattice;
    int32_t *first = sup_arena_alloc(scratch, (size_t)l->vertex_count + 2, sizeof *first);
    int32_t *around = sup_arena_alloc(scratch, 2 * (size_t)l->edge_count, sizeof *around);
    if (first == NULL || around == NULL) return false;
    for (size_t i = 0; i < 2 * (size_t)l->edge_count; i++)
        first[l->edges[i] + 2]++;
    for (int32_t v = 0; v < l->vertex_count; v++)
        first[v + 2] += first[v + 1];
    for (size_t i = 0; i < 2 * (size_t)l->edge_count; i++)
        around[first[l->edges[i] + 1]++] = (int32_t)(i / 2);
    for (int32_t v = 0; v < l->vertex_count; v++) {
        if (is_fixed(w, v)) continue;
        int32_t e = worst_cut(w, v, first, around);
        if (e < 0) continue;
        w->position[v] = sup_v3_lerp(sup_lattice_position(l, l->edges[2 * (size_t)e]),
                                     sup_lattice_position(l, l->edges[2 * (size_t)e + 1]), w->cut[e]);
        w->value[v] = 0.0;
        for (int32_t i = first[v]; i < first[v + 1]; i++)
            w->cut[around[i]] = -1.0;
    }
    return true;
}

/* --- Stencils --- */
static int32_t new_vertex(stuffing_work *w, sup_vec3d p, double size, bool on_surface)
{
    sup_vec3d *to = sup_array_push(&w->allocator, &w->positions, 1);
    float *side = sup_array_push(&w->allocator, &w->sizes, 1);
    uint8_t *flag = sup_array_push(&w->allocator, &w->surface, 1);
    if (to == NULL || side == NULL || flag == NULL) {
        w->failed = true;
        return 0;
    }
    *to = p;
    *side = (float)size;
    *flag = on_surface;
    return (int32_t)w->positions.count - 1;
}

static int32_t use_vertex(stuffing_work *w, int32_t v)
{
    if (w->out_vertex[v] == NONE)
        w->out_vertex[v] = new_vertex(w, w->position[v], leaf_size(w->lattice, v), w->value[v] == 0.0);
    return w->out_vertex[v];
}

static int32_t use_cut(stuffing_work *w, int32_t e)
{
    if (w->out_cut[e] == NONE) {
        int32_t a = w->lattice->edges[2 * (size_t)e], b = w->lattice->edges[2 * (size_t)e + 1];
        double size = fmax(leaf_size(w->lattice, a), leaf_size(w->lattice, b));
        w->out_cut[e] = new_vertex(w, sup_v3_lerp(w->position[a], w->position[b], w->cut[e]), size, true);
    }
    return w->out_cut[e];
}

static void write_tet(stuffing_work *w, int32_t a, int32_t b, int32_t c, int32_t d)
{
    int32_t *tet = sup_array_push(&w->allocator, &w->tets, 1);
    const int32_t made[4] = {a, b, c, d};
    if (tet == NULL)
        w->failed = true;
    else
        memcpy(tet, made, sizeof made);
}

/* A tetrahedron to be cut: lattice vertices, and the edges that join them. */
typedef struct stencil {
    int32_t v[4];
    int32_t edge[4][4];
} stencil;

static void swap_corners(stencil *s, int i, int j)
{
    int32_t v = s->v[i];
    s->v[i] = s->v[j];
    s->v[j] = v;
    for (int k = 0; k < 4; k++) {
        int32_t e = s->edge[i][k];
        s->edge[i][k] = s->edge[j][k];
        s->edge[j][k] = e;
    }
    for (int k = 0; k < 4; k++) {
        int32_t e = s->edge[k][i];
        s->edge[k][i] = s->edge[k][j];
        s->edge[k][j] = e;
    }
}

/* Squared length of a lattice edge, in units. */
static int64_t square_length(const sup_lattice *l, int32_t a, int32_t b)
{
    int64_t sum = 0;
    for (size_t k = 0; k < 3; k++) {
        int64_t d = l->vertices[3 * (size_t)a + k] - l->vertices[3 * (size_t)b + k];
        sum += d * d;
    }
    return sum;
}

/* Whether the diagonal of the quadrilateral a, b, cut bc, cut ac starts at a: at the end of the shorter cut edge, else
 * at the lower vertex. This is a total order of a, b and any third vertex beside c, so diagonals are never cyclic. */
static bool starts_at_first(const sup_lattice *l, int32_t a, int32_t b, int32_t c)
{
    int64_t ac = square_length(l, a, c), bc = square_length(l, b, c);
    return ac != bc ? ac < bc : a < b;
}

/* Prism p0 p1 p2, q0 q1 q2 with (p0 p1 p2 q) positive: reversed[k] means that the side of k and k+1 has its diagonal
 * from p k+1 to q k, else from p k to q k+1. Must not be equal for all sides. */
static void write_prism(stuffing_work *w, const int32_t p[3], const int32_t q[3], const bool reversed[3])
{
    int i = 0;
    while (i < 2 && !(!reversed[i] && reversed[(i + 2) % 3]))
        i++;
    int j = (i + 1) % 3, k = (i + 2) % 3;
    write_tet(w, p[i], q[0], q[1], q[2]);
    write_tet(w, p[i], p[j], p[k], reversed[j] ? q[j] : q[k]);
    if (reversed[j])
        write_tet(w, p[i], p[k], q[k], q[j]);
    else
        write_tet(w, p[i], p[j], q[k], q[j]);
}

/* a, b, d inside, c outside: (a b d c) positive. */
static void cut_corner(stuffing_work *w, const stencil *s)
{
    int32_t p[3], q[3];
    bool reversed[3];
    for (int i = 0; i < 3; i++) {
        p[i] = use_vertex(w, s->v[i]);
        q[i] = use_cut(w, s->edge[i][3]);
        reversed[i] = !starts_at_first(w->lattice, s->v[i], s->v[(i + 1) % 3], s->v[3]);
    }
    write_prism(w, p, q, reversed);
}

/* a, b inside, c, d outside. The diagonal in the surface is free: the shorter one, unless all diagonals would be
 * cyclic. */
static void cut_edge(stuffing_work *w, const stencil *s)
{
    int32_t p[3] = {use_vertex(w, s->v[0]), use_cut(w, s->edge[0][2]), use_cut(w, s->edge[0][3])};
    int32_t q[3] = {use_vertex(w, s->v[1]), use_cut(w, s->edge[1][2]), use_cut(w, s->edge[1][3])};
    if (w->failed) return;
    bool reversed[3];
    reversed[0] = !starts_at_first(w->lattice, s->v[0], s->v[1], s->v[2]);
    reversed[2] = starts_at_first(w->lattice, s->v[0], s->v[1], s->v[3]); /* side of 2 and 0 */
    const sup_vec3d *x = (const sup_vec3d *)(const void *)w->positions.data;
    reversed[1] = sup_v3_distance(x[p[2]], x[q[1]]) < sup_v3_distance(x[p[1]], x[q[2]]);
    if (reversed[0] == reversed[2]) reversed[1] = !reversed[0];
    write_prism(w, p, q, reversed);
}

/* a, b inside, c outside, d on the surface. */
static void cut_pyramid(stuffing_work *w, const stencil *s)
{
    int32_t a = use_vertex(w, s->v[0]), b = use_vertex(w, s->v[1]), d = use_vertex(w, s->v[3]);
    int32_t ac = use_cut(w, s->edge[0][2]), bc = use_cut(w, s->edge[1][2]);
    if (starts_at_first(w->lattice, s->v[0], s->v[1], s->v[2])) {
        write_tet(w, a, b, bc, d);
        write_tet(w, a, bc, ac, d);
    } else {
        write_tet(w, a, b, ac, d);
        write_tet(w, b, bc, ac, d);
    }
}

/* One vertex inside, or none outside: one tetrahedron. */
static void cut_simple(stuffing_work *w, const stencil *s, int inside)
{
    int32_t out[4];
    for (int i = 0; i < 4; i++) {
        bool outside = w->value[s->v[i]] > 0.0;
        out[i] = outside ? use_cut(w, s->edge[inside][i]) : use_vertex(w, s->v[i]);
    }
    write_tet(w, out[0], out[1], out[2], out[3]);
}

/* Sorts the corners: inside, outside, zero, keeping the orientation; for two or more inside. */
static void sort_corners(const stuffing_work *w, stencil *s)
{
    bool odd = false;
    for (int i = 1; i < 4; i++)
        for (int j = i; j > 0; j--) {
            double a = w->value[s->v[j - 1]], b = w->value[s->v[j]];
            int ra = a < 0.0 ? 0 : a > 0.0 ? 1 : 2, rb = b < 0.0 ? 0 : b > 0.0 ? 1 : 2;
            if (ra <= rb) break;
            swap_corners(s, j - 1, j);
            odd = !odd;
        }
    if (odd) swap_corners(s, 0, 1);
}

static void cut_tet(stuffing_work *w, int32_t t)
{
    static const int8_t ends[6][2] = {{0, 1}, {0, 2}, {0, 3}, {1, 2}, {1, 3}, {2, 3}};
    stencil s;
    int inside = 0, outside = 0, last_inside = 0;
    memcpy(s.v, w->lattice->tets + 4 * (size_t)t, sizeof s.v);
    for (int i = 0; i < 4; i++) {
        if (w->value[s.v[i]] < 0.0) last_inside = i;
        inside += w->value[s.v[i]] < 0.0;
        outside += w->value[s.v[i]] > 0.0;
    }
    if (inside == 0) return;
    for (int e = 0; e < 6; e++)
        s.edge[ends[e][0]][ends[e][1]] = s.edge[ends[e][1]][ends[e][0]] =
            w->lattice->tet_edges[6 * (size_t)t + (size_t)e];
    for (int i = 0; i < 4; i++)
        s.edge[i][i] = NONE;
    if (inside == 1 || outside == 0) {
        cut_simple(w, &s, last_inside);
        return;
    }
    sort_corners(w, &s);
    if (inside == 3)
        cut_corner(w, &s);
    else if (outside == 2)
        cut_edge(w, &s);
    else
        cut_pyramid(w, &s);
}

static bool reserve(stuffing_work *w, sup_arena *scratch)
{
    size_t vertices = (size_t)w->lattice->vertex_count, edges = (size_t)w->lattice->edge_count;
    w->value = sup_arena_alloc(scratch, vertices, sizeof *w->value);
    w->position = sup_arena_alloc(scratch, vertices, sizeof *w->position);
    w->cut = sup_arena_alloc(scratch, edges, sizeof *w->cut);
    w->out_vertex = sup_arena_alloc(scratch, vertices, sizeof *w->out_vertex);
    w->out_cut = sup_arena_alloc(scratch, edges, sizeof *w->out_cut);
    if (w->value == NULL || w->position == NULL || w->cut == NULL || w->out_vertex == NULL || w->out_cut == NULL)
        return false;
    memset(w->out_vertex, 0xff, vertices * sizeof *w->out_vertex);
    memset(w->out_cut, 0xff, edges * sizeof *w->out_cut);
    return true;
}

static bool hand_over(stuffing_work *w, sup_isosurface_stuffing *stuffing)
{
    sup_isosurface_stuffing made = {.vertex_count = (int32_t)w->positions.count, .tet_count = (int32_t)w->tets.count};
    made.arena = sup_arena_create(&w->allocator);
    size_t vertices = w->positions.count;
    if (vertices > 0) {
        made.positions = sup_arena_copy(&made.arena, w->positions.data, vertices, sizeof *made.positions);
        made.size = sup_arena_copy(&made.arena, w->sizes.data, vertices, sizeof *made.size);
        made.on_surface = sup_arena_copy(&made.arena, w->surface.data, vertices, sizeof *made.on_surface);
        made.tets = sup_arena_copy(&made.arena, w->tets.data, w->tets.count, 4 * sizeof *made.tets);
        if (made.positions == NULL || made.size == NULL || made.on_surface == NULL || made.tets == NULL) {
            sup_arena_destroy(&made.arena);
            return false;
        }
    }
    *stuffing = made;
    return true;
}

sup_result sup_isosurface_stuff(const sup_context *context, const sup_solid *solid, const sup_lattice *lattice,
                                sup_isosurface_stuffing *stuffing, sup_error *error)
{
    stuffing_work w = {.solid = solid, .lattice = lattice, .allocator = context->allocator};
    sup_arena scratch = sup_arena_create(&context->allocator);
    w.tets.item_size = 4 * sizeof(int32_t);
    w.positions.item_size = sizeof(sup_vec3d);
    w.sizes.item_size = sizeof(float);
    w.surface.item_size = 1;
    bool ok = reserve(&w, &scratch);
    if (ok) {
        sup_parallel(context, lattice->vertex_count, VERTEX_GRAIN, evaluate_vertices, &w);
        sup_parallel(context, lattice->edge_count, EDGE_GRAIN, cut_edges, &w);
        push_cuts(&w);
        ok = warp_vertices(&w, &scratch);
    }
    for (int32_t t = 0; t < lattice->tet_count && ok && !w.failed; t++)
        cut_tet(&w, t);
    ok = ok && !w.failed && hand_over(&w, stuffing);
    sup_array_free(&w.allocator, &w.tets);
    sup_array_free(&w.allocator, &w.positions);
    sup_array_free(&w.allocator, &w.sizes);
    sup_array_free(&w.allocator, &w.surface);
    sup_arena_destroy(&scratch);
    return ok ? SUP_OK : sup_fail_memory(error, "tetrahedra");
}

void sup_isosurface_stuffing_free(sup_isosurface_stuffing *stuffing)
{
    sup_arena_destroy(&stuffing->arena);
    memset(stuffing, 0, sizeof *stuffing);
}

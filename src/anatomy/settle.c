/* settle.c - repairs layers after a fit: nothing in the energies prevents crossings and inverted prisms.
 *
 * Just below the skin no prism is inverted if each vertex has a direction that is outward for all triangles around
 * it. A bone vertex that is outside, whose line leaves the body, or that inverts a prism, is therefore moved step by
 * step to such a safe position below its own skin vertex, and then to ever smaller depths. In a fold without a
 * common direction the line of the vertex ends up with zero length: its prisms become flat instead of inverted. */
#include "anatomy/settle.h"

#include "anatomy/fit_muscle.h"
#include "geometry/adjacency.h"
#include "geometry/bvh.h"
#include "geometry/winding.h"

static const double depth = 0.003;        /* depth of the safe position below the skin, metres */
static const double depth_of_edge = 0.25; /* maximum depth, as a fraction of the shortest edge at a vertex */
static const double min_depth = 2e-5;     /* metres; less is treated as zero */
static const double short_line = 0.002;   /* metres */
static const double step = 0.2;           /* step towards the safe position after each failed test, as a fraction */
static const double min_agreement = 0.05;
enum { MAX_STEPS = 24, MUSCLE_STEPS = 40, CROSSING_STEPS = 12, MAX_REPEATS = 4 };

typedef struct repair {
    const sup_context *context;
    const sup_anatomy *anatomy;
    const double *skin;
    double *bone;
    const double *from;    /* [3n] bone surface after the fit */
    double *safe;          /* [3n] safe positions */
    double *fraction;      /* [n] 0: as fitted, 1: safe position */
    double *between;       /* [3n] points on the lines from bone to skin */
    unsigned char *folded; /* [n] no common direction; for muscles: outside the skin */
    unsigned char *wrong;  /* [n] fails a test */
    unsigned char *active; /* [n] moved in the last pass, tested in the next; for muscles: bone outside the muscles */
    sup_adjacency adjacency;
    sup_winding winding;
    sup_bvh tree;
} repair;

static const double slack = 1e-18; /* cubic metres: rounding error of tets without volume */

static sup_vec3d triangle_normal(const double *positions, const int32_t *c)
{
    sup_vec3d p = sup_point(positions, c[0]);
    sup_vec3d n = sup_v3_cross(sup_v3_sub(sup_point(positions, c[1]), p), sup_v3_sub(sup_point(positions, c[2]), p));
    return sup_v3_unit_or(n, sup_v3(0.0, 0.0, 0.0));
}

/* The direction with the largest minimum cosine to the normals of the triangles around a vertex; returns that
 * cosine. */
static double common_direction(const repair *s, int32_t v, sup_vec3d *direction)
{
    const sup_adjacency *a = &s->adjacency;
    sup_vec3d d = sup_v3(0.0, 0.0, 0.0), best = d;
    double best_agreement = -1.0;
    for (int32_t i = a->vertex_first[v]; i < a->vertex_first[v + 1]; i++)
        d = sup_v3_add(d, triangle_normal(s->skin, a->triangles + 3 * (size_t)(a->vertex_halves[i] / 3)));
    for (int iteration = 0; iteration < 60; iteration++) {
        double agreement = 1.0;
        sup_vec3d worst = d;
        d = sup_v3_unit_or(d, sup_v3(0.0, 1.0, 0.0));
        for (int32_t i = a->vertex_first[v]; i < a->vertex_first[v + 1]; i++) {
            sup_vec3d n = triangle_normal(s->skin, a->triangles + 3 * (size_t)(a->vertex_halves[i] / 3));
            double cosine = sup_v3_dot(n, d);
            if (cosine < agreement) {
                agreement = cosine;
                worst = n;
            }
        }
        if (agreement > best_agreement) {
            best_agreement = agreement;
            best = d;
        }
        d = sup_v3_madd(d, 0.5 / (1.0 + 0.2 * iteration), worst);
    }
    *direction = best;
    return best_agreement;
}

static void safe_range(void *user, int32_t begin, int32_t end, int32_t worker)
{
    repair *s = user;
    const sup_adjacency *a = &s->adjacency;
    SUP_UNUSED(worker);
    for (int32_t v = begin; v < end; v++) {
        sup_vec3d p = sup_point(s->skin, v), direction;
        double shortest = INFINITY;
        if (s->anatomy->excluded[v]) {
            sup_point_set(s->safe, v, p);
            continue;
        }
        for (int32_t i = a->vertex_first[v]; i < a->vertex_first[v + 1]; i++)
            for (int32_t k = 0; k < 3; k++) {
                int32_t other = a->triangles[3 * (size_t)(a->vertex_halves[i] / 3) + (size_t)k];
                if (other != v) shortest = fmin(shortest, sup_v3_distance(p, sup_point(s->skin, other)));
            }
        double agreement = common_direction(s, v, &direction);
        s->folded[v] = agreement < min_agreement;
        double down = isfinite(shortest) ? fmin(depth, depth_of_edge * shortest) : 0.0;
        sup_point_set(s->safe, v, sup_v3_madd(p, s->folded[v] ? 0.0 : -down, direction));
    }
}

/* Finds vertices whose line from skin to bone is not entirely inside the skin. */
static void find_leaving_range(void *user, int32_t begin, int32_t end, int32_t worker)
{
    repair *s = user;
    SUP_UNUSED(worker);
    for (int32_t v = begin; v < end; v++) {
        if (!s->active[v]) continue;
        sup_vec3d b = sup_point(s->bone, v), p = sup_point(s->skin, v);
        double length = sup_v3_distance(b, p), clear = 0.0;
        for (int k = 0; k < 3 && length > 0.0 && !s->wrong[v]; k++) {
            if (0.35 * k * length < clear) continue; /* the skin is farther away than the bone */
            s->wrong[v] = sup_winding_number(&s->winding, sup_v3_lerp(b, p, 0.35 * k)) < 0.5;
            if (k == 0) clear = sup_bvh_closest(&s->tree, b, INFINITY).distance;
        }
    }
}

/* Flags the corners of prisms with a tet of negative volume; returns the number of prisms. */
static int32_t flag_inverted(const repair *s, const double *outer, const double *inner, unsigned char *flags)
{
    const sup_anatomy *a = s->anatomy;
    int32_t count = 0;
    for (int32_t t = 0; t < a->triangle_count; t++) {
        const int32_t *c = a->triangles + 3 * (size_t)t;
        double volumes[3];
        sup_prism_volumes(outer, inner, c, volumes);
        if (fmin(volumes[0], fmin(volumes[1], volumes[2])) >= -slack) continue;
        count++;
        flags[c[0]] = flags[c[1]] = flags[c[2]] = 1;
    }
    return count;
}

static sup_result repair_create(repair *s, sup_arena *arena, float *positions, sup_error *error)
{
    const sup_anatomy *a = s->anatomy;
    sup_context resolved = sup_context_resolve(s->context);
    for (size_t i = 0; i < 3 * (size_t)a->vertex_count; i++)
        positions[i] = (float)s->skin[i];
    s->from = sup_arena_copy(arena, s->bone, 3 * (size_t)a->vertex_count, sizeof(double));
    if (s->from == NULL) return sup_fail_memory(error, "the final repair of a fit");
    sup_result result = sup_adjacency_create(&resolved.allocator, a->vertex_count, a->triangle_count, a->triangles,
                                             &s->adjacency, error);
    if (result != SUP_OK) return result;
    result = sup_winding_create(&resolved.allocator, positions, a->triangle_count, a->triangles, &s->winding, error);
    if (result != SUP_OK) {
        sup_adjacency_destroy(&s->adjacency);
        return result;
    }
    result = sup_bvh_create(s->context, positions, a->triangle_count, a->triangles, &s->tree, error);
    if (result != SUP_OK) {
        sup_winding_destroy(&s->winding);
        sup_adjacency_destroy(&s->adjacency);
        return result;
    }
    sup_parallel(&resolved, a->vertex_count, 128, safe_range, s);
    return SUP_OK;
}

/* One pass: flags failing vertices and moves them by a step. Returns their number. */
static int32_t bone_pass(repair *s)
{
    const sup_anatomy *a = s->anatomy;
    sup_context resolved = sup_context_resolve(s->context);
    int32_t count = 0;
    size_t n = 3 * (size_t)a->vertex_count;
    memset(s->wrong, 0, (size_t)a->vertex_count);
    /* Prisms split at equal fractions must not be inverted either, else no muscle surface would be valid. */
    static const double cuts[6][2] = {{1.0, 0.75}, {0.75, 0.5}, {0.5, 0.25}, {0.25, 0.0}, {1.0, 0.5}, {0.5, 0.0}};
    for (int k = 0; k < 6; k++) {
        double *outer = s->between, *inner = s->between + n;
        for (int32_t v = 0; v < a->vertex_count; v++) {
            sup_vec3d b = sup_point(s->bone, v), p = sup_point(s->skin, v);
            sup_point_set(outer, v, sup_v3_lerp(b, p, cuts[k][0]));
            sup_point_set(inner, v, sup_v3_lerp(b, p, cuts[k][1]));
        }
        flag_inverted(s, outer, inner, s->wrong);
    }
    flag_inverted(s, s->skin, s->bone, s->wrong);
    sup_parallel(&resolved, a->vertex_count, 128, find_leaving_range, s);
    memset(s->active, 0, (size_t)a->vertex_count);
    for (int32_t v = 0; v < a->vertex_count; v++) {
        if (!s->wrong[v] || a->excluded[v]) continue;
        count++;
        if (s->fraction[v] >= 1.0) { /* fails even at the safe position: halve the depth, finally to zero */
            sup_vec3d p = sup_point(s->skin, v), half = sup_v3_lerp(sup_point(s->safe, v), p, 0.5);
            sup_point_set(s->safe, v, sup_v3_distance(half, p) > min_depth ? half : p);
        }
        s->fraction[v] = fmin(1.0, s->fraction[v] + step);
        s->active[v] = 1;
    }
    /* Neighbours follow one step behind, so that the surface stays smooth. */
    for (int32_t e = 0; e < s->adjacency.edge_count; e++) {
        int32_t p = s->adjacency.edge_vertices[2 * (size_t)e], q = s->adjacency.edge_vertices[2 * (size_t)e + 1];
        for (int side = 0; side < 2; side++) {
            int32_t low = side ? p : q, high = side ? q : p;
            if (s->active[high] && !a->excluded[low] && s->fraction[low] < s->fraction[high] - 2.0 * step) {
                s->fraction[low] = s->fraction[high] - 2.0 * step;
                s->active[low] = s->active[low] | 2;
            }
        }
    }
    for (int32_t v = 0; v < a->vertex_count; v++)
        if (s->active[v])
            sup_point_set(s->bone, v, sup_v3_lerp(sup_point(s->from, v), sup_point(s->safe, v), s->fraction[v]));
    return count;
}

sup_result sup_repair_bone(const sup_context *context, const sup_anatomy *anatomy, const double *skin, double *bone,
                           sup_repair_report *report, sup_error *error)
{
    sup_context resolved = sup_context_resolve(context);
    sup_arena arena = sup_arena_create(&resolved.allocator);
    size_t n = (size_t)anatomy->vertex_count;
    repair s = {.context = context, .anatomy = anatomy, .skin = skin, .bone = bone};
    float *positions = sup_arena_alloc(&arena, 3 * n, sizeof(float));
    s.safe = sup_arena_alloc(&arena, 3 * n, sizeof(double));
    s.fraction = sup_arena_alloc(&arena, n, sizeof(double));
    s.between = sup_arena_alloc(&arena, 6 * n, sizeof(double));
    s.folded = sup_arena_alloc(&arena, n, 1);
    s.wrong = sup_arena_alloc(&arena, n, 1);
    s.active = sup_arena_alloc(&arena, n, 1);
    sup_result result = SUP_OK;
    if (positions == NULL || s.safe == NULL || s.fraction == NULL || s.between == NULL || s.folded == NULL ||
        s.wrong == NULL || s.active == NULL)
        result = sup_fail_memory(error, "the final repair of a fit");
    if (result == SUP_OK) result = repair_create(&s, &arena, positions, error);
    if (result == SUP_OK) {
        for (size_t v = 0; v < n; v++)
            s.active[v] = !anatomy->excluded[v];
        for (int32_t pass = 0; pass < MAX_STEPS; pass++)
            if (bone_pass(&s) == 0) break;
        for (size_t v = 0; v < n; v++) {
            report->moved += s.fraction[v] > 0.0;
            report->closed += !anatomy->excluded[v] &&
                              sup_v3_distance(sup_point(bone, (int32_t)v), sup_point(skin, (int32_t)v)) == 0.0;
        }
        sup_bvh_free(&s.tree);
        sup_winding_destroy(&s.winding);
        sup_adjacency_destroy(&s.adjacency);
    }
    sup_arena_destroy(&arena);
    return result;
}

/* Moves the fractions of flagged vertices half way to the mean of their neighbours', or to the middle of their
 * lines, where sup_repair_bone made the prisms valid. */
static void smooth_fractions(const repair *s, const int32_t *first, const int32_t *neighbours, const double *minimum,
                             const double *maximum, const double *previous, bool to_middle, double *fraction)
{
    for (int32_t v = 0; v < s->anatomy->vertex_count; v++) {
        double sum = 0.0;
        int32_t count = 0;
        if (!s->wrong[v] || s->anatomy->excluded[v]) continue;
        for (int32_t i = first[v]; i < first[v + 1]; i++) {
            if (s->anatomy->excluded[neighbours[i]]) continue;
            sum += previous[neighbours[i]];
            count++;
        }
        double mean = count > 0 ? 0.5 * (previous[v] + sum / count) : previous[v];
        if (to_middle) mean = 0.5 * (previous[v] + 0.5);
        fraction[v] = fmax(minimum[v], fmin(maximum[v], mean));
    }
}

typedef struct muscle_repair {
    repair base;
    int32_t *first, *neighbours;
    double *minimum, *maximum, *previous;
    double *fraction, *muscle;
    const double *from; /* [n] initial fractions */
} muscle_repair;

static int32_t muscle_inverted(muscle_repair *m)
{
    repair *s = &m->base;
    memset(s->wrong, 0, (size_t)s->anatomy->vertex_count);
    return flag_inverted(s, s->skin, m->muscle, s->wrong) + flag_inverted(s, m->muscle, s->bone, s->wrong);
}

/* Also flags the neighbours of flagged vertices. */
static void widen(muscle_repair *m)
{
    repair *s = &m->base;
    memcpy(s->active, s->wrong, (size_t)s->anatomy->vertex_count);
    for (int32_t e = 0; e < s->adjacency.edge_count; e++) {
        int32_t p = s->adjacency.edge_vertices[2 * (size_t)e], q = s->adjacency.edge_vertices[2 * (size_t)e + 1];
        if (s->active[p]) s->wrong[q] = 1;
        if (s->active[q]) s->wrong[p] = 1;
    }
}

static void smooth_passes(muscle_repair *m)
{
    const sup_anatomy *a = m->base.anatomy;
    for (int32_t pass = 0; pass < MUSCLE_STEPS && muscle_inverted(m) > 0; pass++) {
        if (pass >= MUSCLE_STEPS / 4) widen(m);
        memcpy(m->previous, m->fraction, (size_t)a->vertex_count * sizeof(double));
        smooth_fractions(&m->base, m->first, m->neighbours, m->minimum, m->maximum, m->previous,
                         pass >= MUSCLE_STEPS / 2, m->fraction);
        sup_muscle_positions(a, m->base.skin, m->base.bone, m->fraction, m->muscle);
    }
}

/* If raising the muscles does not help, halves the lines towards the skin; short lines, in folds where no layer can
 * be inside another, collapse: all layers become one point. */
static void shorten(muscle_repair *m, const unsigned char *outside, sup_repair_report *report)
{
    repair *s = &m->base;
    for (int32_t v = 0; v < s->anatomy->vertex_count; v++) {
        sup_vec3d p = sup_point(s->skin, v), b = sup_point(s->bone, v);
        double length = sup_v3_distance(p, b);
        if (!outside[v] || length == 0.0) continue;
        sup_point_set(s->bone, v, length > short_line ? sup_v3_lerp(b, p, 0.5) : p);
        report->closed += length <= short_line;
    }
    sup_muscle_positions(s->anatomy, s->skin, s->bone, m->fraction, m->muscle);
}

/* Raises the muscles above bone vertices outside them: at the vertex itself and at the corners of the nearest
 * triangle. */
static sup_result raise_muscles(muscle_repair *m, const unsigned char *outside, float *positions, sup_error *error)
{
    const sup_anatomy *a = m->base.anatomy;
    sup_bvh tree;
    for (size_t i = 0; i < 3 * (size_t)a->vertex_count; i++)
        positions[i] = (float)m->muscle[i];
    sup_result result = sup_bvh_create(m->base.context, positions, a->triangle_count, a->triangles, &tree, error);
    if (result != SUP_OK) return result;
    for (int32_t v = 0; v < a->vertex_count; v++) {
        if (!outside[v]) continue;
        sup_bvh_nearest near = sup_bvh_closest(&tree, sup_point(m->base.bone, v), INFINITY);
        int32_t corners[4] = {v, v, v, v};
        for (int k = 0; k < 3 && near.triangle >= 0; k++)
            corners[k + 1] = a->triangles[3 * (size_t)near.triangle + (size_t)k];
        for (int k = 0; k < 4; k++)
            m->fraction[corners[k]] += 0.3 * (m->maximum[corners[k]] - m->fraction[corners[k]]);
    }
    sup_bvh_free(&tree);
    sup_muscle_positions(a, m->base.skin, m->base.bone, m->fraction, m->muscle);
    return SUP_OK;
}

static sup_result repair_crossings(muscle_repair *m, float *positions, sup_repair_report *report, sup_error *error)
{
    repair *s = &m->base;
    sup_result result = SUP_OK;
    for (int32_t pass = 0; result == SUP_OK; pass++) {
        int32_t under_skin = 0, under_muscle = 0;
        smooth_passes(m);
        result = sup_layer_outside(s->context, s->anatomy, s->skin, m->muscle, s->folded, &under_skin, error);
        if (result == SUP_OK)
            result = sup_layer_outside(s->context, s->anatomy, m->muscle, s->bone, s->active, &under_muscle, error);
        report->crossings = under_skin + under_muscle;
        if (result != SUP_OK || report->crossings == 0 || pass == CROSSING_STEPS) break;
        if (pass >= CROSSING_STEPS / 3) {
            shorten(m, s->folded, report);
            shorten(m, s->active, report);
        }
        if (under_muscle > 0) result = raise_muscles(m, s->active, positions, error);
    }
    report->inverted = muscle_inverted(m);
    return result;
}

sup_result sup_repair_muscle(const sup_context *context, const sup_anatomy *anatomy, const double *skin, double *bone,
                             double *fraction, double *muscle, sup_repair_report *report, sup_error *error)
{
    sup_context resolved = sup_context_resolve(context);
    sup_arena arena = sup_arena_create(&resolved.allocator);
    size_t n = (size_t)anatomy->vertex_count;
    muscle_repair m = {.base = {.context = context, .anatomy = anatomy, .skin = skin, .bone = bone},
                       .fraction = fraction,
                       .muscle = muscle};
    float *positions = sup_arena_alloc(&arena, 3 * n, sizeof(float));
    m.base.wrong = sup_arena_alloc(&arena, n, 1);
    m.base.active = sup_arena_alloc(&arena, n, 1);
    m.base.folded = sup_arena_alloc(&arena, n, 1);
    m.minimum = sup_arena_alloc(&arena, n, sizeof(double));
    m.maximum = sup_arena_alloc(&arena, n, sizeof(double));
    m.previous = sup_arena_alloc(&arena, n, sizeof(double));
    m.first = sup_arena_alloc(&arena, n + 1, sizeof(int32_t));
    m.from = sup_arena_copy(&arena, fraction, n, sizeof(double));
    sup_result result = SUP_OK;
    if (positions == NULL || m.base.wrong == NULL || m.base.active == NULL || m.base.folded == NULL ||
        m.minimum == NULL || m.maximum == NULL || m.previous == NULL || m.first == NULL || m.from == NULL)
        result = sup_fail_memory(error, "the final repair of a fit");
    if (result == SUP_OK)
        result = sup_adjacency_create(&resolved.allocator, anatomy->vertex_count, anatomy->triangle_count,
                                      anatomy->triangles, &m.base.adjacency, error);
    if (result == SUP_OK) {
        m.neighbours = sup_arena_alloc(&arena, 2 * (size_t)m.base.adjacency.edge_count + 1, sizeof(int32_t));
        if (m.neighbours == NULL)
            result = sup_fail_memory(error, "the final repair of a fit");
        else {
            sup_adjacency_neighbours(&m.base.adjacency, m.first, m.neighbours);
            sup_muscle_range(anatomy, skin, bone, m.minimum, m.maximum);
            result = repair_crossings(&m, positions, report, error);
            for (size_t v = 0; v < n; v++)
                report->moved += m.fraction[v] != m.from[v];
        }
        sup_adjacency_destroy(&m.base.adjacency);
    }
    sup_arena_destroy(&arena);
    return result;
}

sup_result sup_repair_layers(const sup_context *context, const sup_anatomy *anatomy, const double *skin, double *bone,
                             double *fraction, double *muscle, sup_repair_report *report, sup_error *error)
{
    sup_result result = sup_repair_muscle(context, anatomy, skin, bone, fraction, muscle, report, error);
    for (int32_t repeat = 0; repeat < MAX_REPEATS && result == SUP_OK && report->crossings + report->inverted > 0;
         repeat++) {
        sup_repair_report again = {0};
        result = sup_repair_bone(context, anatomy, skin, bone, &again, error);
        if (result == SUP_OK) {
            sup_muscle_positions(anatomy, skin, bone, fraction, muscle);
            result = sup_repair_muscle(context, anatomy, skin, bone, fraction, muscle, &again, error);
        }
        report->moved += again.moved;
        report->crossings = again.crossings;
        report->inverted = again.inverted;
    }
    report->closed = 0;
    for (int32_t v = 0; v < anatomy->vertex_count; v++)
        report->closed += !anatomy->excluded[v] && sup_v3_distance(sup_point(bone, v), sup_point(skin, v)) == 0.0;
    return result;
}

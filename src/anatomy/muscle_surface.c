/* muscle_surface.c - first hits of the lines with the detailed muscles, fitted with little bending, projected onto
 * the lines.
 *
 * Based on: [komaritzan2022] 4.2.2, the muscle surface: eq. 4.1 with targets at the first intersection of the line
 * from skin to skeleton surface with the muscles, projected onto the lines after each stage, 1 mm from the skeleton
 * surface.
 * Deviations: the muscles are enclosed on the lines (a vertex is never below its first hit) and by moving triangles
 * outward until no muscle vertex is outside, instead of continuous collision detection; the surface starts at the
 * hits, so few stages are enough. */
#include "anatomy/bone_surface.h"
#include "anatomy/enclosure.h"
#include "anatomy/muscle_surface.h"

#include <math.h>

enum { HIT_MAX = 256, STAGE_COUNT = 3, STAGE_ITERATIONS = 4, PUSHES = 6, VERTEX_GRAIN = 64 };
static const double stage_bending[STAGE_COUNT] = {1e-5, 1e-6, 1e-7};
static const double weight_hit = 1.0, weight_none = 0.1; /* of eq. 4.3 */

typedef struct muscle_state {
    sup_context context;
    const sup_muscle_surface_def *def;
    sup_arena arena;
    int32_t count;
    sup_shape all; /* of all muscles */
    int32_t *triangle_organ;
    sup_mesh_view view, own;
    double *hit;       /* [count] fraction of the line from skin to bone at the first hit, 1 without a hit */
    double *thickness; /* [count] */
    double *fraction;  /* [count] position of the muscle surface on the line from skin to bone */
    int32_t point_count;
    double *points;   /* [3*point_count] points to enclose: the muscles' vertices, then the skeleton surface's */
    int32_t *outside; /* [point_count] triangle that the point is outside of, -1 = none */
    double *height;   /* [point_count] distance to that triangle */
} muscle_state;

static sup_result gather_muscles(muscle_state *m, sup_error *error)
{
    int64_t vertices = 0, triangles = 0;
    for (int32_t p = 0; p < m->def->organ_count; p++) {
        if (!m->def->organs[p].is_muscle) continue;
        vertices += m->def->organs[p].shape.vertex_count;
        triangles += m->def->organs[p].shape.triangle_count;
    }
    double *positions = sup_arena_alloc(&m->arena, 3 * (size_t)vertices + 1, sizeof *positions);
    int32_t *corners = sup_arena_alloc(&m->arena, 3 * (size_t)triangles + 1, sizeof *corners);
    m->triangle_organ = sup_arena_alloc(&m->arena, (size_t)triangles + 1, sizeof *m->triangle_organ);
    if (positions == NULL || corners == NULL || m->triangle_organ == NULL || vertices > INT32_MAX / 4)
        return sup_fail_memory(error, "a muscle surface");
    int32_t v = 0, t = 0;
    for (int32_t p = 0; p < m->def->organ_count; p++) {
        const sup_shape *s = &m->def->organs[p].shape;
        if (!m->def->organs[p].is_muscle) continue;
        if (s->vertex_count > 0)
            memcpy(positions + 3 * (size_t)v, s->positions, 3 * (size_t)s->vertex_count * sizeof *positions);
        for (int32_t i = 0; i < s->triangle_count; i++, t++) {
            m->triangle_organ[t] = p;
            for (size_t k = 0; k < 3; k++)
                corners[3 * (size_t)t + k] = v + s->triangles[3 * (size_t)i + k];
        }
        v += s->vertex_count;
    }
    m->all = (sup_shape){v, t, positions, corners};
    return SUP_OK;
}

/* --- Lines --- */

typedef struct line_hits {
    const muscle_state *m;
    int32_t count;
    double t[HIT_MAX];
    int32_t organ[HIT_MAX];
} line_hits;

/* Stores every hit, sorted by organ, then by position; rejects it so that the ray continues. */
static bool keep_hit(void *user, const sup_bvh_hit *hit)
{
    line_hits *h = user;
    if (h->count == HIT_MAX) return false;
    int32_t organ = h->m->triangle_organ[hit->triangle], i = h->count++;
    for (; i > 0 && (h->organ[i - 1] > organ || (h->organ[i - 1] == organ && h->t[i - 1] > hit->t)); i--) {
        h->organ[i] = h->organ[i - 1];
        h->t[i] = h->t[i - 1];
    }
    h->organ[i] = organ;
    h->t[i] = hit->t;
    return false;
}

/* Each organ covers the line between pairs of its hits; after an odd last hit to the end. Returns that fraction. */
static double covered_fraction(const line_hits *h)
{
    double begin[HIT_MAX], end[HIT_MAX], sum = 0.0, reached = 0.0;
    int32_t count = 0;
    for (int32_t i = 0; i < h->count; i++) {
        bool pair = i + 1 < h->count && h->organ[i + 1] == h->organ[i];
        double from = h->t[i], to = pair ? h->t[i + 1] : 1.0;
        int32_t at = count++;
        for (; at > 0 && begin[at - 1] > from; at--) {
            begin[at] = begin[at - 1];
            end[at] = end[at - 1];
        }
        begin[at] = from;
        end[at] = to;
        i += pair;
    }
    for (int32_t i = 0; i < count; i++) {
        double from = fmax(begin[i], reached);
        if (end[i] > from) sum += end[i] - from;
        reached = fmax(reached, end[i]);
    }
    return sum;
}

static void follow_lines(void *work, int32_t begin, int32_t end, int32_t worker)
{
    SUP_UNUSED(worker);
    muscle_state *m = work;
    for (int32_t v = begin; v < end; v++) {
        sup_vec3d skin = sup_v3_at(m->def->skin.positions, v), bone = sup_v3_at(m->def->bone, v);
        line_hits hits;
        hits.m = m;
        hits.count = 0;
        sup_bvh_ray ray = {.origin = skin,
                           .direction = sup_v3_sub(bone, skin),
                           .t_min = 0.0,
                           .t_max = 1.0,
                           .accept = keep_hit,
                           .user = &hits};
        m->hit[v] = 1.0;
        m->thickness[v] = 0.0;
        if (m->def->excluded[v] || m->all.triangle_count == 0) continue;
        sup_bvh_ray_any(&m->view.bvh, &ray);
        for (int32_t i = 0; i < hits.count; i++)
            m->hit[v] = fmin(m->hit[v], hits.t[i]);
        m->thickness[v] = covered_fraction(&hits) * sup_v3_distance(skin, bone);
    }
}

/* --- The surface --- */

/* Limits the fraction so that the muscle surface keeps its distance from skin and bone. */
static double limited(const muscle_state *m, int32_t v, double fraction)
{
    double length = sup_v3_distance(sup_v3_at(m->def->skin.positions, v), sup_v3_at(m->def->bone, v));
    double margin = length > 0.0 ? fmin(m->def->min_distance / length, 0.4) : 0.4;
    return fmax(margin, fmin(1.0 - margin, fraction));
}

static void set_positions(const muscle_state *m, double *muscle)
{
    for (int32_t v = 0; v < m->count; v++) {
        sup_vec3d skin = sup_v3_at(m->def->skin.positions, v);
        sup_v3_put(muscle, v,
                   m->def->excluded[v] ? skin : sup_v3_lerp(skin, sup_v3_at(m->def->bone, v), m->fraction[v]));
    }
}

/* Projects onto the lines, never below a muscle. */
static void project(muscle_state *m, const double *muscle)
{
    for (int32_t v = 0; v < m->count; v++) {
        if (m->def->excluded[v]) continue;
        double fraction = sup_v3_segment_parameter(sup_v3_at(muscle, v), sup_v3_at(m->def->skin.positions, v),
                                                   sup_v3_at(m->def->bone, v));
        m->fraction[v] = limited(m, v, fmin(fraction, m->hit[v]));
    }
}

static sup_result fit_surface(muscle_state *m, double *muscle, sup_error *error)
{
    size_t n = (size_t)m->count;
    double *targets = sup_arena_alloc(&m->arena, 3 * n + 1, sizeof *targets);
    double *weights = sup_arena_alloc(&m->arena, n + 1, sizeof *weights);
    if (targets == NULL || weights == NULL) return sup_fail_memory(error, "a muscle surface");
    for (int32_t v = 0; v < m->count; v++) {
        m->fraction[v] = limited(m, v, m->hit[v]);
        weights[v] = m->hit[v] < 1.0 ? weight_hit : weight_none;
    }
    set_positions(m, muscle);
    memcpy(targets, muscle, 3 * n * sizeof *targets);
    sup_surface_fit_def def = {.surface = m->def->skin, .fixed = m->def->excluded};
    sup_surface_fit *fit = NULL;
    sup_result result = sup_surface_fit_create(&m->context, &def, &fit, error);
    for (int i = 0; i < STAGE_COUNT && result == SUP_OK; i++) {
        result = sup_surface_fit_set_weights(fit, stage_bending[i], weights, error);
        if (result == SUP_OK) result = sup_surface_fit_solve(fit, targets, 2e-4, STAGE_ITERATIONS, muscle, NULL, error);
        project(m, muscle);
        set_positions(m, muscle);
        if (result == SUP_OK) sup_surface_fit_set_rest(fit, muscle);
    }
    sup_surface_fit_destroy(fit);
    return result;
}

/* --- Enclosing the muscles --- */

static void find_outside(void *work, int32_t begin, int32_t end, int32_t worker)
{
    SUP_UNUSED(worker);
    muscle_state *m = work;
    for (int32_t i = begin; i < end; i++) {
        sup_bvh_nearest near;
        m->height[i] = sup_mesh_view_distance(&m->own, sup_v3_at(m->points, i), 0.02, &near);
        if (i >= m->all.vertex_count)
            m->height[i] += 0.25 * m->def->min_distance; /* a fraction of the distance from bones */
        bool skipped = i >= m->all.vertex_count && m->def->excluded[i - m->all.vertex_count];
        m->outside[i] = !skipped && near.triangle >= 0 && m->height[i] > 0.0 ? near.triangle : -1;
    }
}

/* Moves corners of triangles that muscles protrude from towards the skin. */
static void push_out(muscle_state *m, double *muscle)
{
    const int32_t *triangles = m->def->skin.triangles;
    for (int pass = 0; pass < PUSHES; pass++) {
        int32_t moved = 0;
        sup_mesh_view_move(&m->own, muscle);
        sup_parallel(&m->context, m->point_count, VERTEX_GRAIN, find_outside, m);
        for (int32_t i = 0; i < m->point_count; i++)
            for (size_t k = 0; k < 3 && m->outside[i] >= 0; k++) {
                int32_t v = triangles[3 * (size_t)m->outside[i] + k];
                sup_vec3d skin = sup_v3_at(m->def->skin.positions, v), bone = sup_v3_at(m->def->bone, v);
                double length = sup_v3_distance(skin, bone), now = sup_v3_distance(skin, sup_v3_at(muscle, v));
                if (m->def->excluded[v] || !(length > 0.0)) continue;
                double fraction = limited(m, v, (now - 1.2 * m->height[i]) / length);
                moved += fraction < m->fraction[v];
                m->fraction[v] = fmin(m->fraction[v], fraction);
            }
        if (moved == 0) return;
        set_positions(m, muscle);
    }
}

/* Moves the corners of inverted prisms, of either layer, closer to each other on their lines. */
static void untangle(muscle_state *m, double *muscle, unsigned char *bad)
{
    const sup_shape *skin = &m->def->skin;
    for (int pass = 0; pass < 8 * PUSHES; pass++) {
        int32_t count = 0;
        for (int layer = 0; layer < 2; layer++) {
            const double *inner = layer == 0 ? m->def->bone : muscle, *outer = layer == 0 ? muscle : skin->positions;
            count += sup_prisms_inverted(skin->triangle_count, skin->triangles, inner, outer, m->def->excluded, bad);
            for (int32_t t = 0; t < skin->triangle_count; t++) {
                const int32_t *c = skin->triangles + 3 * (size_t)t;
                double mean = (m->fraction[c[0]] + m->fraction[c[1]] + m->fraction[c[2]]) / 3.0;
                for (int k = 0; k < 3 && bad[t]; k++)
                    m->fraction[c[k]] = limited(m, c[k], 0.5 * (m->fraction[c[k]] + mean));
            }
        }
        if (count == 0) return;
        set_positions(m, muscle);
    }
}

static sup_result prepare(muscle_state *m, sup_error *error)
{
    sup_result result = gather_muscles(m, error);
    if (result != SUP_OK) return result;
    size_t n = (size_t)m->count, muscles = (size_t)m->all.vertex_count;
    m->hit = sup_arena_alloc(&m->arena, n + 1, sizeof *m->hit);
    m->fraction = sup_arena_alloc(&m->arena, n + 1, sizeof *m->fraction);
    m->point_count = m->all.vertex_count + m->count;
    m->points = sup_arena_alloc(&m->arena, 3 * (muscles + n) + 1, sizeof *m->points);
    m->outside = sup_arena_alloc(&m->arena, muscles + n + 1, sizeof *m->outside);
    m->height = sup_arena_alloc(&m->arena, muscles + n + 1, sizeof *m->height);
    if (m->points == NULL || m->hit == NULL || m->fraction == NULL || m->outside == NULL || m->height == NULL)
        return sup_fail_memory(error, "a muscle surface");
    if (muscles > 0) memcpy(m->points, m->all.positions, 3 * muscles * sizeof *m->points);
    memcpy(m->points + 3 * muscles, m->def->bone, 3 * n * sizeof *m->points);
    result = sup_mesh_view_create(&m->context, &m->all, &m->arena, &m->view, error);
    if (result == SUP_OK) result = sup_mesh_view_create(&m->context, &m->def->skin, &m->arena, &m->own, error);
    return result;
}

sup_result sup_muscle_surface(const sup_context *context, const sup_muscle_surface_def *def, double *muscle,
                              double *thickness, sup_error *error)
{
    muscle_state m = {
        .context = sup_context_resolve(context), .def = def, .count = def->skin.vertex_count, .thickness = thickness};
    m.arena = sup_arena_create(&m.context.allocator);
    unsigned char *bad = sup_arena_alloc(&m.arena, (size_t)def->skin.triangle_count + 1, 1);
    sup_result result = bad != NULL ? prepare(&m, error) : sup_fail_memory(error, "a muscle surface");
    if (result == SUP_OK) {
        sup_parallel(&m.context, m.count, VERTEX_GRAIN, follow_lines, &m);
        result = fit_surface(&m, muscle, error);
    }
    if (result == SUP_OK) {
        for (int pass = 0; pass < 3; pass++) {
            push_out(&m, muscle);
            untangle(&m, muscle, bad);
        }
    }
    sup_mesh_view_free(&m.view);
    sup_mesh_view_free(&m.own);
    sup_arena_destroy(&m.arena);
    return result;
}

/* bone_surface.c - stages with decreasing bending weight; targets are updated in every iteration.
 *
 * Based on: [komaritzan2022] 4.2.2, the skeleton surface: eq. 4.1 to 4.4, weights .1, 1 and 100 for closest, fixed
 * and collision targets, w_reg from 1 to 1e-7 in factors of ten, Laplacians of the previous stage, smoothed skin for
 * the first stages.
 * Deviations: the first stage starts at the smoothed skin and keeps its Laplacians (starting at the skin moved
 * vertices by metres, because no surface has those Laplacians); where a position in the one-ring is better aligned,
 * it gives the target, but the vertex is not moved there (that tears the stiff first stages), and targets are traced
 * along the line between both surfaces (figure 4.5); collisions are detected between vertices and triangles at the
 * positions at the end of an iteration, not between all triangles over time (bone_collide.c); collisions that remain
 * after the last stage are repaired individually (bone_repair.c). */
#include "anatomy/bone_surface.h"

#include <math.h>
#include <stdlib.h>

static const double weight_closest = 0.1, weight_fixed = 1.0, weight_collision = 100.0; /* of eq. 4.3 */
static const double bending_first = 1.0, bending_last = 1e-7, bending_step = 0.1;
static const double fixed_reach = 0.03, fixed_spacing = 0.05; /* metres */
static const double alignment_limit = 0.01;                   /* of eq. 4.4 */
/* a stage ends when no vertex moves by more than this, metres */
static const double still = 5e-4;

enum { STAGE_ITERATIONS = 12, LAST_ITERATIONS = 20, TRACES = 3, SMOOTH_PASSES = 3, VERTEX_GRAIN = 128, RING_STEPS = 3 };

double sup_alignment(sup_vec3d skin, sup_vec3d skin_normal, sup_vec3d inside, sup_vec3d inside_normal)
{
    sup_vec3d mean = sup_v3_add(skin_normal, inside_normal), line = sup_v3_sub(skin, inside);
    double size = sup_v3_length(mean) * sup_v3_length(line);
    return size > 0.0 ? fabs(sup_v3_dot(mean, line) / size - 1.0) : 1.0; /* eq. 4.4 */
}

/* --- Fixed correspondences --- */

typedef struct candidate {
    int32_t vertex;
    double distance;
} candidate;

static int by_distance(const void *a, const void *b)
{
    const candidate *x = a, *y = b;
    if (x->distance != y->distance) return x->distance < y->distance ? -1 : 1;
    return x->vertex < y->vertex ? -1 : x->vertex > y->vertex;
}

/* The point of the wrap near `start`, found along its surface, that is best aligned with a skin vertex. */
static sup_vec3d best_on_wrap(const sup_bone_surface_state *s, int32_t vertex, const sup_bvh_nearest *start,
                              int32_t *queue, unsigned char *seen)
{
    static const double samples[7][2] = {{1.0 / 3, 1.0 / 3}, {0.1, 0.1},  {0.8, 0.1}, {0.1, 0.8},
                                         {0.45, 0.45},       {0.1, 0.45}, {0.45, 0.1}};
    const sup_mesh_view *w = &s->wrap_view;
    sup_vec3d skin = sup_v3_at(s->skin, vertex), normal = sup_v3_at(s->skin_view.normals, vertex), best = start->point;
    double smallest = sup_alignment(skin, normal, best, sup_mesh_view_normal(w, start->triangle, start->u, start->v));
    double radius = start->distance + 0.01;
    int32_t count = 0;
    queue[count++] = start->triangle;
    seen[start->triangle] = 1;
    for (int32_t next = 0; next < count; next++) {
        int32_t t = queue[next];
        const int32_t *c = w->triangles + 3 * (size_t)t;
        sup_vec3d a = sup_v3_at(w->positions, c[0]), ab = sup_v3_sub(sup_v3_at(w->positions, c[1]), a);
        sup_vec3d ac = sup_v3_sub(sup_v3_at(w->positions, c[2]), a);
        for (int k = 0; k < 7; k++) {
            sup_vec3d p = sup_v3_madd(sup_v3_madd(a, samples[k][0], ab), samples[k][1], ac);
            double error = sup_alignment(skin, normal, p, sup_mesh_view_normal(w, t, samples[k][0], samples[k][1]));
            if (error >= smallest) continue;
            smallest = error;
            best = p;
        }
        for (int k = 0; k < 3; k++) {
            int32_t twin = s->wrap_adjacency.half_twin[3 * (size_t)t + (size_t)k];
            if (twin < 0 || seen[twin / 3] || sup_v3_distance(a, start->point) > radius) continue;
            seen[twin / 3] = 1;
            queue[count++] = twin / 3;
        }
    }
    for (int32_t i = 0; i < count; i++)
        seen[queue[i]] = 0;
    return best;
}

static bool is_apart(const sup_bone_surface_state *s, const int32_t *chosen, int32_t count, int32_t vertex)
{
    for (int32_t i = 0; i < count; i++)
        if (sup_v3_distance(sup_v3_at(s->skin, chosen[i]), sup_v3_at(s->skin, vertex)) < fixed_spacing) return false;
    return true;
}

sup_result sup_bone_surface_choose_fixed(sup_bone_surface_state *s, sup_error *error)
{
    size_t triangles = (size_t)s->wrap_view.triangle_count;
    candidate *order = sup_arena_alloc(&s->arena, (size_t)s->count + 1, sizeof *order);
    int32_t *chosen = sup_arena_alloc(&s->arena, (size_t)s->count + 1, sizeof *chosen);
    int32_t *queue = sup_arena_alloc(&s->arena, triangles + 1, sizeof *queue);
    unsigned char *seen = sup_arena_alloc(&s->arena, triangles + 1, 1);
    if (order == NULL || chosen == NULL || queue == NULL || seen == NULL)
        return sup_fail_memory(error, "a skeleton surface");
    int32_t count = 0, kept = 0;
    for (int32_t v = 0; v < s->count; v++) {
        if (s->def->excluded[v]) continue;
        sup_bvh_nearest near = sup_bvh_closest(&s->wrap_view.bvh, sup_v3_at(s->skin, v), fixed_reach);
        if (near.triangle >= 0) order[count++] = (candidate){v, near.distance};
    }
    qsort(order, (size_t)count, sizeof *order, by_distance);
    for (int32_t i = 0; i < count; i++) {
        int32_t v = order[i].vertex;
        if (!is_apart(s, chosen, kept, v)) continue;
        sup_bvh_nearest near = sup_bvh_closest(&s->wrap_view.bvh, sup_v3_at(s->skin, v), INFINITY);
        sup_v3_put(s->targets, v, best_on_wrap(s, v, &near, queue, seen));
        s->kind[v] = SUP_TARGET_FIXED;
        chosen[kept++] = v;
    }
    s->report->fixed_targets = kept;
    return SUP_OK;
}

/* --- Closest correspondences --- */

/* The position in the one-ring of a vertex that is best aligned with its skin vertex. */
static sup_vec3d best_in_ring(const sup_bone_surface_state *s, int32_t v, double smallest)
{
    const sup_mesh_view *own = &s->own_view;
    sup_vec3d skin = sup_v3_at(s->skin, v), normal = sup_v3_at(s->skin_view.normals, v);
    sup_vec3d here = sup_v3_at(s->positions, v), best = here;
    for (int32_t i = s->adjacency.vertex_first[v]; i < s->adjacency.vertex_first[v + 1]; i++) {
        int32_t half = s->adjacency.vertex_halves[i];
        int32_t a = own->triangles[sup_half_next(half)], b = own->triangles[sup_half_previous(half)];
        for (int step = 1; step <= RING_STEPS; step++)
            for (int side = 0; side <= 2; side++) {
                double far = 0.8 * step / RING_STEPS, to_b = 0.5 * side * far, to_a = far - to_b;
                sup_vec3d p = sup_v3_scale(here, 1.0 - far), n = sup_v3_scale(sup_v3_at(own->normals, v), 1.0 - far);
                p = sup_v3_madd(sup_v3_madd(p, to_a, sup_v3_at(s->positions, a)), to_b, sup_v3_at(s->positions, b));
                n = sup_v3_madd(sup_v3_madd(n, to_a, sup_v3_at(own->normals, a)), to_b, sup_v3_at(own->normals, b));
                double error = sup_alignment(skin, normal, p, sup_v3_unit_or(n, normal));
                if (error >= smallest) continue;
                smallest = error;
                best = p;
            }
    }
    return best;
}

/* Figure 4.5: traces the wrap along the mean of both normals from the skin, a few times, while the alignment
 * improves. */
static sup_vec3d trace_line(const sup_bone_surface_state *s, int32_t v, const sup_bvh_nearest *start)
{
    sup_vec3d skin = sup_v3_at(s->skin, v), normal = sup_v3_at(s->skin_view.normals, v), best = start->point;
    sup_vec3d other = sup_mesh_view_normal(&s->wrap_view, start->triangle, start->u, start->v);
    double smallest = sup_alignment(skin, normal, best, other);
    double reach = 1.6 * sup_v3_distance(skin, best) + 0.004;
    for (int i = 0; i < TRACES && smallest > 0.2 * alignment_limit; i++) {
        sup_vec3d direction = sup_v3_scale(sup_v3_unit_or(sup_v3_add(normal, other), normal), -1.0);
        sup_bvh_ray ray = {.origin = skin, .direction = direction, .t_min = 0.0, .t_max = reach};
        sup_bvh_hit hit;
        if (!sup_bvh_ray_first(&s->wrap_view.bvh, &ray, &hit)) break;
        sup_vec3d p = sup_v3_madd(skin, hit.t, direction);
        other = sup_mesh_view_normal(&s->wrap_view, hit.triangle, hit.u, hit.v);
        double error = sup_alignment(skin, normal, p, other);
        if (error >= smallest) break;
        smallest = error;
        best = p;
    }
    return best;
}

/* Closest points; from a better aligned position in the one-ring if the vertex is badly aligned, then traced along
 * the line between both surfaces. */
static void closest_targets(void *work, int32_t begin, int32_t end, int32_t worker)
{
    SUP_UNUSED(worker);
    sup_bone_surface_state *s = work;
    for (int32_t v = begin; v < end; v++) {
        if (s->def->excluded[v] || s->kind[v] != SUP_TARGET_CLOSEST) continue;
        sup_vec3d from = sup_v3_at(s->positions, v);
        double error = sup_alignment(sup_v3_at(s->skin, v), sup_v3_at(s->skin_view.normals, v), from,
                                     sup_v3_at(s->own_view.normals, v));
        double moved = sup_v3_distance(from, sup_v3_at(s->skin, v));
        if (error > alignment_limit && moved > 1e-3) from = best_in_ring(s, v, error);
        sup_bvh_nearest near = sup_bvh_closest(&s->wrap_view.bvh, from, INFINITY);
        sup_v3_put(s->targets, v, trace_line(s, v, &near));
    }
}

/* --- Stages --- */

static sup_result set_weights(sup_bone_surface_state *s, sup_surface_fit *fit, double bending, sup_error *error)
{
    static const double *const kind_weight[3] = {&weight_closest, &weight_fixed, &weight_collision};
    s->report->collision_targets = 0;
    for (int32_t v = 0; v < s->count; v++) {
        s->weights[v] = *kind_weight[s->kind[v]];
        s->report->collision_targets += s->kind[v] == SUP_TARGET_COLLISION;
    }
    return sup_surface_fit_set_weights(fit, bending, s->weights, error);
}

static double largest_move(const sup_bone_surface_state *s, const double *previous)
{
    double maximum = 0.0;
    for (int32_t v = 0; v < s->count; v++)
        maximum = fmax(maximum, sup_v3_distance(sup_v3_at(s->positions, v), sup_v3_at(previous, v)));
    return maximum;
}

static sup_result run_stage(sup_bone_surface_state *s, sup_surface_fit *fit, double bending, double *previous,
                            sup_error *error)
{
    sup_result result = set_weights(s, fit, bending, error);
    double moved = INFINITY;
    int maximum = bending < 2.0 * bending_last ? LAST_ITERATIONS : STAGE_ITERATIONS;
    for (int i = 0; i < maximum && moved > still && result == SUP_OK; i++) {
        memcpy(previous, s->positions, 3 * (size_t)s->count * sizeof *previous);
        sup_mesh_view_move(&s->own_view, s->positions);
        sup_parallel(&s->context, s->count, VERTEX_GRAIN, closest_targets, s);
        if (sup_bone_surface_collide(s) > 0) result = set_weights(s, fit, bending, error);
        if (result == SUP_OK) result = sup_surface_fit_solve(fit, s->targets, 0.0, 1, s->positions, NULL, error);
        moved = largest_move(s, previous);
        s->report->iterations++;
    }
    return result;
}

static bool report_progress(const sup_bone_surface_state *s, double fraction, const char *stage)
{
    return s->def->progress == NULL || s->def->progress(s->def->progress_user, (float)fraction, stage);
}

static sup_result run_stages(sup_bone_surface_state *s, sup_surface_fit *fit, double *previous, sup_error *error)
{
    sup_result result = SUP_OK;
    double stages = log(bending_last / bending_first) / log(bending_step) + 1.0, done = 0.0;
    for (double bending = bending_first; bending > 0.5 * bending_last && result == SUP_OK; bending *= bending_step) {
        if (!report_progress(s, done++ / stages, "skeleton surface"))
            return sup_fail(error, SUP_ERROR_CANCELLED, "anatomy.cancelled", "",
                            "The creation of the template was cancelled.");
        result = run_stage(s, fit, bending, previous, error);
        sup_surface_fit_set_rest(fit, s->positions);
    }
    return result;
}

/* Uniform Laplacian smoothing: removes nipples and navel. */
static void smooth_skin(const sup_bone_surface_state *s, double *positions, double *scratch)
{
    memcpy(positions, s->skin, 3 * (size_t)s->count * sizeof *positions);
    for (int pass = 0; pass < SMOOTH_PASSES; pass++) {
        memcpy(scratch, positions, 3 * (size_t)s->count * sizeof *scratch);
        for (int32_t v = 0; v < s->count; v++) {
            int32_t count = s->first[v + 1] - s->first[v];
            sup_vec3d sum = {0.0, 0.0, 0.0};
            for (int32_t i = s->first[v]; i < s->first[v + 1]; i++)
                sum = sup_v3_add(sum, sup_v3_at(scratch, s->neighbours[i]));
            if (count > 0 && !s->def->excluded[v])
                sup_v3_put(positions, v, sup_v3_lerp(sup_v3_at(scratch, v), sup_v3_scale(sum, 1.0 / count), 0.5));
        }
    }
}

static sup_result prepare(sup_bone_surface_state *s, sup_error *error)
{
    size_t n = (size_t)s->count, wraps = (size_t)s->def->wrap.vertex_count;
    s->targets = sup_arena_alloc(&s->arena, 3 * n + 1, sizeof *s->targets);
    s->weights = sup_arena_alloc(&s->arena, n + 1, sizeof *s->weights);
    s->kind = sup_arena_alloc(&s->arena, n + 1, 1);
    s->retreat = sup_arena_alloc(&s->arena, n + 1, sizeof *s->retreat);
    s->wrap_hit = sup_arena_alloc(&s->arena, wraps + 1, sizeof *s->wrap_hit);
    s->wrap_retreat = sup_arena_alloc(&s->arena, wraps + 1, sizeof *s->wrap_retreat);
    s->first = sup_arena_alloc(&s->arena, n + 2, sizeof *s->first);
    if (s->targets == NULL || s->weights == NULL || s->kind == NULL || s->retreat == NULL || s->wrap_hit == NULL ||
        s->wrap_retreat == NULL || s->first == NULL)
        return sup_fail_memory(error, "a skeleton surface");
    const sup_shape *skin = &s->def->skin, *wrap = &s->def->wrap;
    sup_result result = sup_adjacency_create(&s->context.allocator, skin->vertex_count, skin->triangle_count,
                                             skin->triangles, &s->adjacency, error);
    if (result == SUP_OK)
        result = sup_adjacency_create(&s->context.allocator, wrap->vertex_count, wrap->triangle_count, wrap->triangles,
                                      &s->wrap_adjacency, error);
    if (result != SUP_OK) return result;
    s->neighbours = sup_arena_alloc(&s->arena, 2 * (size_t)s->adjacency.edge_count + 1, sizeof *s->neighbours);
    if (s->neighbours == NULL) return sup_fail_memory(error, "a skeleton surface");
    sup_adjacency_neighbours(&s->adjacency, s->first, s->neighbours);
    result = sup_mesh_view_create(&s->context, skin, &s->arena, &s->skin_view, error);
    if (result == SUP_OK) result = sup_mesh_view_create(&s->context, wrap, &s->arena, &s->wrap_view, error);
    if (result == SUP_OK) result = sup_mesh_view_create(&s->context, skin, &s->arena, &s->own_view, error);
    return result;
}

static sup_result shrink(sup_bone_surface_state *s, sup_error *error)
{
    size_t bytes = 3 * (size_t)s->count * sizeof(double);
    double *smooth = sup_arena_alloc(&s->arena, 3 * (size_t)s->count + 1, sizeof *smooth);
    double *scratch = sup_arena_alloc(&s->arena, 3 * (size_t)s->count + 1, sizeof *scratch);
    if (smooth == NULL || scratch == NULL) return sup_fail_memory(error, "a skeleton surface");
    sup_surface_fit_def def = {.surface = s->def->skin, .fixed = s->def->excluded};
    sup_surface_fit *fit = NULL;
    sup_result result = sup_surface_fit_create(&s->context, &def, &fit, error);
    if (result != SUP_OK) return result;
    smooth_skin(s, smooth, scratch);
    sup_surface_fit_set_rest(fit, smooth);
    memcpy(s->positions, smooth, bytes); /* else the first step would move towards Laplacians that no surface has */
    memcpy(s->targets, s->skin, bytes);
    result = sup_bone_surface_choose_fixed(s, error);
    if (result == SUP_OK) result = run_stages(s, fit, scratch, error);
    sup_surface_fit_destroy(fit);
    if (result == SUP_OK) sup_bone_surface_repair(s);
    return result;
}

sup_result sup_bone_surface(const sup_context *context, const sup_bone_surface_def *def, double *positions,
                            sup_bone_surface_report *report, sup_error *error)
{
    sup_bone_surface_state s = {.context = sup_context_resolve(context),
                                .def = def,
                                .count = def->skin.vertex_count,
                                .skin = def->skin.positions,
                                .positions = positions,
                                .report = report};
    s.arena = sup_arena_create(&s.context.allocator);
    memset(report, 0, sizeof *report);
    sup_result result = prepare(&s, error);
    if (result == SUP_OK) result = shrink(&s, error);
    sup_mesh_view_free(&s.skin_view);
    sup_mesh_view_free(&s.wrap_view);
    sup_mesh_view_free(&s.own_view);
    if (s.adjacency.edge_vertices != NULL) sup_adjacency_destroy(&s.adjacency);
    if (s.wrap_adjacency.edge_vertices != NULL) sup_adjacency_destroy(&s.wrap_adjacency);
    sup_arena_destroy(&s.arena);
    return result;
}

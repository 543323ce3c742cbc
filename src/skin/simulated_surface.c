/* simulated_surface.c - the skin that is simulated.
 *
 * Based on: [komaritzan2022] section 3.2.4: quadric error decimation, the coarse vertices a part of the fine ones.
 * Skin near joints bends: it stays denser than the rest. A large skin is decimated in two steps: distances along it,
 * which upsampling needs, are measured on what is between, and neither time nor memory grows with the rest. */
#include "skin/simulated_surface.h"

#include "geometry/decimate.h"
#include "math/vec3.h"

/* A body with up to this many times the target is simulated as it is: decimation would cost more than it gives. */
static const double KEEP_RATIO = 1.25;
/* Vertices of the middle mesh for each one that is simulated. */
static const int32_t MIDDLE_RATIO = 8;
/* How much denser the skin at a joint is, and how far that reaches, in lengths of the shorter bone. */
static const float JOINT_IMPORTANCE = 6.0f;
static const double JOINT_REACH = 0.35;

enum { IMPORTANCE_GRAIN = 1024 };

static bool is_body(const sup_rig *rig, int32_t skin_triangle)
{
    const sup_character *character = rig->character;
    int32_t triangle = rig->skin_triangle_source[skin_triangle];
    for (int32_t p = 0; p < character->primitive_count; p++) {
        const sup_primitive *part = &character->primitives[p];
        if (triangle >= part->triangle_first && triangle - part->triangle_first < part->triangle_count)
            return rig->primitive_role[p] == SUP_PRIMITIVE_SKIN;
    }
    return false;
}

static bool reserve_fine(const sup_rig *rig, sup_arena *arena, sup_simulated_surface *s)
{
    s->fine_positions = sup_arena_alloc(arena, 3 * (size_t)rig->skin_vertex_count, sizeof(float));
    s->fine_triangles = sup_arena_alloc(arena, 3 * (size_t)rig->skin_triangle_count, sizeof(int32_t));
    s->fine_source = sup_arena_alloc(arena, (size_t)rig->skin_vertex_count, sizeof(int32_t));
    return s->fine_positions != NULL && s->fine_triangles != NULL && s->fine_source != NULL;
}

/* Triangles of the body with vertices in numbers of its own, by first use. */
static sup_result take_body(const sup_rig *rig, sup_arena *arena, sup_simulated_surface *s, sup_error *error)
{
    int32_t *local = sup_arena_alloc(arena, (size_t)rig->skin_vertex_count, sizeof *local);
    if (local == NULL || !reserve_fine(rig, arena, s)) return sup_fail_memory(error, "the skin");
    for (int32_t t = 0; t < rig->skin_triangle_count; t++) {
        if (!is_body(rig, t)) continue;
        for (int c = 0; c < 3; c++) {
            int32_t v = rig->skin_triangles[3 * (size_t)t + (size_t)c];
            if (local[v] == 0) {
                memcpy(s->fine_positions + 3 * (size_t)s->fine_count, rig->skin_positions + 3 * (size_t)v,
                       3 * sizeof(float));
                s->fine_source[s->fine_count] = v;
                local[v] = ++s->fine_count;
            }
            s->fine_triangles[3 * (size_t)s->fine_triangle_count + (size_t)c] = local[v] - 1;
        }
        s->fine_triangle_count++;
    }
    return s->fine_triangle_count > 0 ? SUP_OK
                                      : sup_fail(error, SUP_ERROR_DATA, "projective.skin", rig->character->name,
                                                 "The character has no skin to simulate: all of its parts are rigid.");
}

/* Larger near joints where two bones meet. */
static float joint_importance(const sup_rig *rig, sup_vec3d p)
{
    float importance = 1.0f;
    for (int32_t j = 0; j < rig->joint_count; j++) {
        int32_t parent = rig->joint_parent[j];
        if (parent < 0) continue;
        sup_vec3d head = sup_v3_load(rig->bone_head + 3 * (size_t)j);
        double own = sup_v3_distance(head, sup_v3_load(rig->bone_tail + 3 * (size_t)j));
        double before = sup_v3_distance(head, sup_v3_load(rig->bone_head + 3 * (size_t)parent));
        double reach = JOINT_REACH * fmin(own, before), distance = sup_v3_distance(p, head);
        if (!(distance < 2.0 * reach)) continue;
        double near = distance <= reach ? 1.0 : 2.0 - distance / reach;
        float here = 1.0f + (JOINT_IMPORTANCE - 1.0f) * (float)near;
        importance = here > importance ? here : importance;
    }
    return importance;
}

/* A mesh by its vertices in a finer one. */
typedef struct thinned {
    int32_t count, triangle_count;
    float *positions;
    int32_t *triangles, *source; /* source: [count] vertex of the finer one */
} thinned;

static sup_result copy_decimated(const sup_decimated *d, const float *positions, sup_arena *arena, thinned *to,
                                 sup_error *error)
{
    to->count = d->vertex_count;
    to->triangle_count = d->triangle_count;
    to->source = sup_arena_copy(arena, d->vertices, (size_t)d->vertex_count, sizeof(int32_t));
    to->triangles = sup_arena_copy(arena, d->triangles, 3 * (size_t)d->triangle_count, sizeof(int32_t));
    to->positions = sup_arena_alloc(arena, 3 * (size_t)d->vertex_count, sizeof(float));
    if (to->source == NULL || to->triangles == NULL || to->positions == NULL) return sup_fail_memory(error, "the skin");
    for (int32_t v = 0; v < d->vertex_count; v++)
        memcpy(to->positions + 3 * (size_t)v, positions + 3 * (size_t)d->vertices[v], 3 * sizeof(float));
    return SUP_OK;
}

typedef struct importance_work {
    const sup_rig *rig;
    const float *positions;
    float *importance;
} importance_work;

static void find_importance(void *work, int32_t begin, int32_t end, int32_t worker)
{
    const importance_work *w = work;
    SUP_UNUSED(worker);
    for (int32_t v = begin; v < end; v++)
        w->importance[v] = joint_importance(w->rig, sup_v3_load(w->positions + 3 * (size_t)v));
}

/* `from` with about `target` vertices; the same arrays when it hardly has more. */
static sup_result thin_out(const sup_context *context, const sup_rig *rig, const thinned *from, double target,
                           sup_arena *arena, thinned *to, sup_error *error)
{
    *to = *from;
    to->source = sup_arena_alloc(arena, (size_t)from->count, sizeof *to->source);
    if (to->source == NULL) return sup_fail_memory(error, "the skin");
    for (int32_t v = 0; v < from->count; v++)
        to->source[v] = v;
    if ((double)from->count <= KEEP_RATIO * target) return SUP_OK;
    sup_arena scratch = sup_arena_create(&context->allocator);
    importance_work work = {rig, from->positions, sup_arena_alloc(&scratch, (size_t)from->count, sizeof(float))};
    sup_decimated decimated = {0};
    sup_result result = work.importance != NULL ? SUP_OK : sup_fail_memory(error, "the skin");
    if (result == SUP_OK) {
        sup_decimate_def def = {.vertex_target = (int32_t)target, .importance = work.importance};
        sup_parallel(context, from->count, IMPORTANCE_GRAIN, find_importance, &work);
        result = sup_decimate(context, from->count, from->positions, from->triangle_count, from->triangles, &def,
                              &decimated, error);
    }
    if (result == SUP_OK) {
        result = copy_decimated(&decimated, from->positions, arena, to, error);
        sup_decimated_free(&decimated);
    }
    sup_arena_destroy(&scratch);
    return result;
}

/* Fine to middle to coarse. */
static sup_result thin_twice(const sup_context *context, const sup_rig *rig, int32_t target, sup_arena *arena,
                             sup_simulated_surface *s, sup_error *error)
{
    thinned fine = {s->fine_count, s->fine_triangle_count, s->fine_positions, s->fine_triangles, NULL}, middle, coarse;
    sup_result result = thin_out(context, rig, &fine, (double)target * MIDDLE_RATIO, arena, &middle, error);
    if (result == SUP_OK) result = thin_out(context, rig, &middle, (double)target, arena, &coarse, error);
    if (result != SUP_OK) return result;
    s->middle_count = middle.count;
    s->middle_triangle_count = middle.triangle_count;
    s->middle_positions = middle.positions;
    s->middle_triangles = middle.triangles;
    s->middle_fine = middle.source;
    s->coarse_count = coarse.count;
    s->coarse_triangle_count = coarse.triangle_count;
    s->coarse_positions = coarse.positions;
    s->coarse_triangles = coarse.triangles;
    s->coarse_middle = coarse.source;
    s->coarse_fine = sup_arena_alloc(arena, (size_t)coarse.count, sizeof *s->coarse_fine);
    if (s->coarse_fine == NULL) return sup_fail_memory(error, "the skin");
    for (int32_t v = 0; v < coarse.count; v++)
        s->coarse_fine[v] = middle.source[coarse.source[v]];
    return SUP_OK;
}

static sup_result take_influences(const sup_rig *rig, sup_arena *arena, sup_simulated_surface *s, sup_error *error)
{
    int32_t count = 0;
    s->influence_first = sup_arena_alloc(arena, (size_t)s->coarse_count + 1, sizeof(int32_t));
    if (s->influence_first == NULL) return sup_fail_memory(error, "the skin's weights");
    for (int32_t v = 0; v < s->coarse_count; v++) {
        int32_t render = rig->skin_to_vertex[s->fine_source[s->coarse_fine[v]]];
        count += rig->influence_first[render + 1] - rig->influence_first[render];
        s->influence_first[v + 1] = count;
    }
    s->influence_joint = sup_arena_alloc(arena, (size_t)count, sizeof(int32_t));
    s->influence_weight = sup_arena_alloc(arena, (size_t)count, sizeof(float));
    if (s->influence_joint == NULL || s->influence_weight == NULL) return sup_fail_memory(error, "the skin's weights");
    for (int32_t v = 0; v < s->coarse_count; v++) {
        int32_t from = rig->influence_first[rig->skin_to_vertex[s->fine_source[s->coarse_fine[v]]]];
        size_t own = (size_t)(s->influence_first[v + 1] - s->influence_first[v]);
        memcpy(s->influence_joint + s->influence_first[v], rig->influence_joint + from, own * sizeof(int32_t));
        memcpy(s->influence_weight + s->influence_first[v], rig->influence_weight + from, own * sizeof(float));
    }
    return SUP_OK;
}

sup_result sup_simulated_surface_create(const sup_context *context, const sup_rig *rig, int32_t vertex_target,
                                        sup_arena *arena, sup_simulated_surface *surface, sup_error *error)
{
    memset(surface, 0, sizeof *surface);
    sup_result result = take_body(rig, arena, surface, error);
    if (result != SUP_OK) return result;
    result = thin_twice(context, rig, vertex_target, arena, surface, error);
    return result == SUP_OK ? take_influences(rig, arena, surface, error) : result;
}

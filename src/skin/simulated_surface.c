/* simulated_surface.c - extracts and decimates the simulated skin.
 *
 * Based on: [komaritzan2022] section 3.2.4: quadric error decimation; the coarse vertices are a subset of the fine
 * ones. Skin near joints bends and therefore stays denser. A large skin is decimated in two passes: upsampling measures
 * geodesic distances on the intermediate mesh, so their time and memory do not grow with the input resolution. */
#include "skin/simulated_surface.h"

#include "geometry/decimate.h"
#include "math/vec3.h"

/* A body with up to this many times the target is not decimated: the cost would exceed the gain. */
static const double KEEP_RATIO = 1.25;
/* Vertices of the middle mesh per simulated vertex. */
static const int32_t MIDDLE_RATIO = 8;
/* Relative density of the skin at a joint, and the radius of the dense region in lengths of the shorter bone. */
static const float JOINT_IMPORTANCE = 6.0f;
static const double JOINT_REACH = 0.35;

enum { IMPORTANCE_GRAIN = 1024 };

static bool is_body(const sup_rig *rig, int32_t skin_triangle)
{
    const sup_character *character = rig->character;
    int32_t triangle = rig->skin_triangle_source[skin_triangle];
    for (int32_t p = 0; p < character->primitive_count; p++) {
        const sup_primitive *primitive = &character->primitives[p];
        if (triangle >= primitive->triangle_first && triangle - primitive->triangle_first < primitive->triangle_count)
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

/* Triangles of the body; vertices are renumbered in order of first use. */
static sup_result extract_body(const sup_rig *rig, sup_arena *arena, sup_simulated_surface *s, sup_error *error)
{
    int32_t *local = sup_arena_alloc(arena, (size_t)rig->skin_vertex_count, sizeof *local);
    if (local == NULL || !reserve_fine(rig, arena, s)) return sup_fail_memory(error, "the simulated skin");
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
    return s->fine_triangle_count > 0
               ? SUP_OK
               : sup_fail(error, SUP_ERROR_DATA, "projective.skin", rig->character->name,
                          "The character has no skin to simulate: all of its primitives are rigid.");
}

/* Decimation importance: larger near joints between two bones. */
static float joint_importance(const sup_rig *rig, sup_vec3d p)
{
    float importance = 1.0f;
    for (int32_t j = 0; j < rig->joint_count; j++) {
        int32_t parent = rig->joint_parent[j];
        if (parent < 0) continue;
        sup_vec3d head = sup_v3_load(rig->bone_head + 3 * (size_t)j);
        double length = sup_v3_distance(head, sup_v3_load(rig->bone_tail + 3 * (size_t)j));
        double parent_length = sup_v3_distance(head, sup_v3_load(rig->bone_head + 3 * (size_t)parent));
        double reach = JOINT_REACH * fmin(length, parent_length), distance = sup_v3_distance(p, head);
        if (!(distance < 2.0 * reach)) continue;
        double near = distance <= reach ? 1.0 : 2.0 - distance / reach;
        float here = 1.0f + (JOINT_IMPORTANCE - 1.0f) * (float)near;
        importance = here > importance ? here : importance;
    }
    return importance;
}

/* A mesh whose vertices are a subset of those of a finer mesh. */
typedef struct decimated_mesh {
    int32_t count, triangle_count;
    float *positions;
    int32_t *triangles, *source; /* source: [count] vertex of the finer mesh */
} decimated_mesh;

static sup_result copy_decimated(const sup_decimated *d, const float *positions, sup_arena *arena, decimated_mesh *to,
                                 sup_error *error)
{
    to->count = d->vertex_count;
    to->triangle_count = d->triangle_count;
    to->source = sup_arena_copy(arena, d->vertices, (size_t)d->vertex_count, sizeof(int32_t));
    to->triangles = sup_arena_copy(arena, d->triangles, 3 * (size_t)d->triangle_count, sizeof(int32_t));
    to->positions = sup_arena_alloc(arena, 3 * (size_t)d->vertex_count, sizeof(float));
    if (to->source == NULL || to->triangles == NULL || to->positions == NULL)
        return sup_fail_memory(error, "the simulated skin");
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

/* Decimates `from` to about `target` vertices; shares the arrays of `from` when no decimation is needed. */
static sup_result decimate_to(const sup_context *context, const sup_rig *rig, const decimated_mesh *from, double target,
                              sup_arena *arena, decimated_mesh *to, sup_error *error)
{
    *to = *from;
    to->source = sup_arena_alloc(arena, (size_t)from->count, sizeof *to->source);
    if (to->source == NULL) return sup_fail_memory(error, "the simulated skin");
    for (int32_t v = 0; v < from->count; v++)
        to->source[v] = v;
    if ((double)from->count <= KEEP_RATIO * target) return SUP_OK;
    sup_arena scratch = sup_arena_create(&context->allocator);
    importance_work work = {rig, from->positions, sup_arena_alloc(&scratch, (size_t)from->count, sizeof(float))};
    sup_decimated decimated = {0};
    sup_result result = work.importance != NULL ? SUP_OK : sup_fail_memory(error, "the simulated skin");
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

/* From fine to middle to coarse. */
static sup_result decimate_twice(const sup_context *context, const sup_rig *rig, int32_t target, sup_arena *arena,
                                 sup_simulated_surface *s, sup_error *error)
{
    decimated_mesh fine = {s->fine_count, s->fine_triangle_count, s->fine_positions, s->fine_triangles, NULL}, middle,
                   coarse;
    sup_result result = decimate_to(context, rig, &fine, (double)target * MIDDLE_RATIO, arena, &middle, error);
    if (result == SUP_OK) result = decimate_to(context, rig, &middle, (double)target, arena, &coarse, error);
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
    if (s->coarse_fine == NULL) return sup_fail_memory(error, "the simulated skin");
    for (int32_t v = 0; v < coarse.count; v++)
        s->coarse_fine[v] = middle.source[coarse.source[v]];
    return SUP_OK;
}

static sup_result copy_influences(const sup_rig *rig, sup_arena *arena, sup_simulated_surface *s, sup_error *error)
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
    sup_result result = extract_body(rig, arena, surface, error);
    if (result != SUP_OK) return result;
    result = decimate_twice(context, rig, vertex_target, arena, surface, error);
    return result == SUP_OK ? copy_influences(rig, arena, surface, error) : result;
}

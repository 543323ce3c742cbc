/* surface.c - the skin that is simulated.
 *
 * Based on: [komaritzan2022] section 3.2.4: quadric error decimation, the coarse vertices a part of the fine ones.
 * Skin near joints bends: it stays denser than the rest. */
#include "methods/projective/surface.h"

#include "geometry/decimate.h"

/* A body with up to this many times the target is simulated as it is: decimation would cost more than it gives. */
static const double KEEP_RATIO = 1.25;
/* How much denser the skin at a joint is, and how far that reaches, in lengths of the shorter bone. */
static const float JOINT_IMPORTANCE = 6.0f;
static const double JOINT_REACH = 0.35;

static bool is_body(const sup_rig *rig, int32_t skin_triangle)
{
    const sup_character *character = rig->character;
    int32_t triangle = rig->skin_triangle_source[skin_triangle];
    for (int32_t p = 0; p < character->part_count; p++) {
        const sup_part *part = &character->parts[p];
        if (triangle >= part->triangle_first && triangle - part->triangle_first < part->triangle_count)
            return rig->part_role[p] == SUP_PART_SKIN;
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

static sup_result keep_all(sup_arena *arena, sup_simulated_surface *s, sup_error *error)
{
    s->coarse_count = s->fine_count;
    s->coarse_triangle_count = s->fine_triangle_count;
    s->coarse_positions = s->fine_positions;
    s->coarse_triangles = s->fine_triangles;
    s->coarse_fine = sup_arena_alloc(arena, (size_t)s->fine_count, sizeof(int32_t));
    if (s->coarse_fine == NULL) return sup_fail_memory(error, "the skin");
    for (int32_t v = 0; v < s->fine_count; v++)
        s->coarse_fine[v] = v;
    return SUP_OK;
}

static sup_result copy_decimated(const sup_decimated *d, sup_arena *arena, sup_simulated_surface *s, sup_error *error)
{
    s->coarse_count = d->vertex_count;
    s->coarse_triangle_count = d->triangle_count;
    s->coarse_fine = sup_arena_copy(arena, d->vertices, (size_t)d->vertex_count, sizeof(int32_t));
    s->coarse_triangles = sup_arena_copy(arena, d->triangles, 3 * (size_t)d->triangle_count, sizeof(int32_t));
    s->coarse_positions = sup_arena_alloc(arena, 3 * (size_t)d->vertex_count, sizeof(float));
    if (s->coarse_fine == NULL || s->coarse_triangles == NULL || s->coarse_positions == NULL)
        return sup_fail_memory(error, "the skin");
    for (int32_t v = 0; v < d->vertex_count; v++)
        memcpy(s->coarse_positions + 3 * (size_t)v, s->fine_positions + 3 * (size_t)d->vertices[v], 3 * sizeof(float));
    return SUP_OK;
}

static sup_result decimate(const sup_context *context, const sup_rig *rig, int32_t target, sup_arena *arena,
                           sup_simulated_surface *s, sup_error *error)
{
    float *importance = sup_arena_alloc(arena, (size_t)s->fine_count, sizeof *importance);
    if (importance == NULL) return sup_fail_memory(error, "the skin");
    for (int32_t v = 0; v < s->fine_count; v++)
        importance[v] = joint_importance(rig, sup_v3_load(s->fine_positions + 3 * (size_t)v));
    sup_decimate_def def = {.vertex_target = target, .importance = importance};
    sup_decimated decimated;
    sup_result result = sup_decimate(context, s->fine_count, s->fine_positions, s->fine_triangle_count,
                                     s->fine_triangles, &def, &decimated, error);
    if (result != SUP_OK) return result;
    result = copy_decimated(&decimated, arena, s, error);
    sup_decimated_free(&decimated);
    return result;
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
    bool small = (double)surface->fine_count <= KEEP_RATIO * (double)vertex_target;
    result = small ? keep_all(arena, surface, error) : decimate(context, rig, vertex_target, arena, surface, error);
    return result == SUP_OK ? take_influences(rig, arena, surface, error) : result;
}

sup_tissue_skin sup_simulated_surface_skin(const sup_simulated_surface *s)
{
    return (sup_tissue_skin){s->coarse_count,    s->coarse_triangle_count, s->coarse_positions, s->coarse_triangles,
                             s->influence_first, s->influence_joint,       s->influence_weight};
}

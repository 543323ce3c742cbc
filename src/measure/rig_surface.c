/* rig_surface.c - the welded skin of a rig as a surface, with one region per bone, per bend and per primitive. */
#include "base/base.h"
#include "math/vec3.h"
#include "supple/measure.h"

struct sup_rig_surface_storage {
    sup_allocator allocator;
    sup_arena arena;
};

/* The joint with the largest summed weight over the corners of a skin triangle; the smaller index on a tie. */
static int32_t strongest_joint(const sup_rig *rig, const int32_t *triangle)
{
    int32_t best = -1;
    double best_weight = 0.0;
    for (int c = 0; c < 3; c++) {
        int32_t v = rig->skin_to_vertex[triangle[c]];
        for (int32_t i = rig->influence_first[v]; i < rig->influence_first[v + 1]; i++) {
            int32_t joint = rig->influence_joint[i];
            double weight = 0.0;
            for (int d = 0; d < 3; d++) {
                int32_t w = rig->skin_to_vertex[triangle[d]];
                for (int32_t k = rig->influence_first[w]; k < rig->influence_first[w + 1]; k++)
                    weight += rig->influence_joint[k] == joint ? (double)rig->influence_weight[k] : 0.0;
            }
            if (weight > best_weight || (weight == best_weight && joint < best)) {
                best = joint;
                best_weight = weight;
            }
        }
    }
    return best;
}

/* Half the length of the shorter bone at joint j: the radius of a bend. 0 without a parent. */
static double bend_radius(const sup_rig *rig, int32_t j)
{
    int32_t parent = rig->joint_parent[j];
    if (parent < 0) return 0.0;
    sup_vec3d head = sup_v3_load(rig->bone_head + 3 * (size_t)j);
    double length = sup_v3_distance(head, sup_v3_load(rig->bone_tail + 3 * (size_t)j));
    double parent_length = sup_v3_distance(head, sup_v3_load(rig->bone_head + 3 * (size_t)parent));
    return 0.5 * fmin(length, parent_length);
}

static sup_vec3d triangle_centre(const sup_rig *rig, const int32_t *t)
{
    sup_vec3d sum = sup_v3_add(sup_v3_load(rig->skin_positions + 3 * (size_t)t[0]),
                               sup_v3_load(rig->skin_positions + 3 * (size_t)t[1]));
    return sup_v3_scale(sup_v3_add(sum, sup_v3_load(rig->skin_positions + 3 * (size_t)t[2])), 1.0 / 3.0);
}

/* Whether a triangle is in the bend of joint j: near it, and moved most by one of its two bones. */
static bool in_bend(const sup_rig *rig, int32_t j, double radius, int32_t strongest, sup_vec3d centre)
{
    if (strongest != j && strongest != rig->joint_parent[j]) return false;
    return sup_v3_distance(centre, sup_v3_load(rig->bone_head + 3 * (size_t)j)) <= radius;
}

/* Lists the triangles of the skin that belong to primitive p. */
static int32_t list_primitive(const sup_rig *rig, int32_t p, int32_t count, int32_t *triangles)
{
    const sup_primitive *primitive = &rig->character->primitives[p];
    for (int32_t t = 0; t < rig->skin_triangle_count; t++) {
        int32_t source = rig->skin_triangle_source[t] - primitive->triangle_first;
        if (source < 0 || source >= primitive->triangle_count) continue;
        if (triangles != NULL) triangles[count] = t;
        count++;
    }
    return count;
}

/* Fills first[region_count+1] and, when not NULL, triangles; returns the number of triangles. */
static int32_t list_regions(const sup_rig *rig, const int32_t *strongest, const double *radius, int32_t *first,
                            int32_t *triangles)
{
    int32_t count = 0;
    for (int32_t r = 0; r < 2 * rig->joint_count; r++) {
        first[r] = count;
        int32_t j = r / 2;
        bool bend = r % 2 != 0;
        if (bend && !(radius[j] > 0.0)) continue;
        for (int32_t t = 0; t < rig->skin_triangle_count; t++) {
            bool member = bend ? in_bend(rig, j, radius[j], strongest[t],
                                         triangle_centre(rig, rig->skin_triangles + 3 * (size_t)t))
                               : strongest[t] == j;
            if (!member) continue;
            if (triangles != NULL) triangles[count] = t;
            count++;
        }
    }
    for (int32_t p = 0; p < rig->character->primitive_count; p++) {
        first[2 * rig->joint_count + p] = count;
        count = list_primitive(rig, p, count, triangles);
    }
    first[2 * rig->joint_count + rig->character->primitive_count] = count;
    return count;
}

static sup_result initialize(sup_rig_surface *out, const sup_rig *rig, sup_error *error)
{
    sup_arena *arena = &out->storage->arena;
    int32_t *strongest = sup_arena_alloc(arena, (size_t)rig->skin_triangle_count, sizeof *strongest);
    double *radius = sup_arena_alloc(arena, (size_t)rig->joint_count, sizeof *radius);
    int32_t region_count = 2 * rig->joint_count + rig->character->primitive_count;
    int32_t *first = sup_arena_alloc(arena, (size_t)region_count + 1, sizeof *first);
    if (strongest == NULL || radius == NULL || first == NULL) return sup_fail_memory(error, "the regions");
    for (int32_t t = 0; t < rig->skin_triangle_count; t++)
        strongest[t] = strongest_joint(rig, rig->skin_triangles + 3 * (size_t)t);
    for (int32_t j = 0; j < rig->joint_count; j++)
        radius[j] = bend_radius(rig, j);
    int32_t *triangles =
        sup_arena_alloc(arena, (size_t)list_regions(rig, strongest, radius, first, NULL), sizeof *triangles);
    if (triangles == NULL) return sup_fail_memory(error, "the regions");
    list_regions(rig, strongest, radius, first, triangles);
    out->surface = (sup_measure_surface){.vertex_count = rig->skin_vertex_count,
                                         .triangle_count = rig->skin_triangle_count,
                                         .positions = rig->skin_positions,
                                         .triangles = rig->skin_triangles,
                                         .size = (double)rig->size,
                                         .region_count = region_count,
                                         .region_first = first,
                                         .region_triangles = triangles};
    return SUP_OK;
}

sup_result sup_rig_surface_create(const sup_context *context, const sup_rig *rig, sup_rig_surface **surface,
                                  sup_error *error)
{
    if (rig == NULL || surface == NULL)
        return sup_fail(error, SUP_ERROR_ARGUMENT, "argument.null", "",
                        "sup_rig_surface_create needs a rig and an output pointer.");
    sup_context resolved = sup_context_resolve(context);
    sup_rig_surface *out = sup_alloc_zero(&resolved.allocator, sizeof *out);
    struct sup_rig_surface_storage *storage = sup_alloc_zero(&resolved.allocator, sizeof *storage);
    if (out == NULL || storage == NULL) {
        sup_free(&resolved.allocator, out, sizeof *out);
        sup_free(&resolved.allocator, storage, sizeof *storage);
        return sup_fail_memory(error, "the surface");
    }
    storage->allocator = resolved.allocator;
    storage->arena = sup_arena_create(&resolved.allocator);
    out->storage = storage;
    sup_result result = initialize(out, rig, error);
    if (result != SUP_OK) {
        sup_rig_surface_destroy(out);
        return result;
    }
    *surface = out;
    return SUP_OK;
}

void sup_rig_surface_destroy(sup_rig_surface *surface)
{
    if (surface == NULL) return;
    sup_allocator allocator = surface->storage->allocator;
    sup_arena_destroy(&surface->storage->arena);
    sup_free(&allocator, surface->storage, sizeof *surface->storage);
    sup_free(&allocator, surface, sizeof *surface);
}

void sup_rig_surface_gather(const sup_rig *rig, const float *vertices, float *surface_positions)
{
    for (int32_t v = 0; v < rig->skin_vertex_count; v++)
        memcpy(surface_positions + 3 * (size_t)v, vertices + 3 * (size_t)rig->skin_to_vertex[v], 3 * sizeof(float));
}

/* track_mesh.c - triangles of the tracked skin: neighbours and thickness. */
#include "geometry/adjacency.h"
#include "geometry/normals.h"
#include "methods/implicit/track.h"

/* Maximum thickness, in sizes, and sweeps that bound its slope. */
static const double THICKEST = 0.08;
enum { SWEEPS = 64 };

/* Thickness: radius of curvature from the turn of the normal along edges. It grows at most by the length of an edge, so
 * that details such as ears are thin also where they are flat. */
static void find_thickness(const sup_track_def *def, const double *normals, double *thickness)
{
    bool changed = true;
    for (int32_t v = 0; v < def->vertex_count; v++)
        thickness[v] = THICKEST;
    for (int32_t sweep = 0; sweep < SWEEPS && changed; sweep++) {
        changed = false;
        for (int64_t i = 0; i < 3 * (int64_t)def->triangle_count; i++) {
            int64_t h = sweep % 2 == 0 ? i : 3 * (int64_t)def->triangle_count - 1 - i;
            int32_t a = def->triangles[h], b = def->triangles[h % 3 == 2 ? h - 2 : h + 1];
            double length = sup_v3_distance(sup_v3_load(def->positions + 3 * (int64_t)a),
                                            sup_v3_load(def->positions + 3 * (int64_t)b));
            double turn = sup_v3_distance(sup_v3(normals[3 * a], normals[3 * a + 1], normals[3 * a + 2]),
                                          sup_v3(normals[3 * b], normals[3 * b + 1], normals[3 * b + 2]));
            double radius = turn * THICKEST > length ? length / turn : THICKEST;
            double most[2] = {fmin(radius, thickness[b] + length), fmin(radius, thickness[a] + length)};
            changed = changed || thickness[a] > most[0] || thickness[b] > most[1];
            thickness[a] = fmin(thickness[a], most[0]);
            thickness[b] = fmin(thickness[b], most[1]);
        }
    }
}

/* Triangles that face away from their neighbours at rest are not judged: they get no neighbours. */
static void leave_out_flipped(const sup_track_def *def, const int32_t *half_twin, int32_t *twin)
{
    for (int64_t t = 0; t < def->triangle_count; t++) {
        sup_vec3d around = sup_v3(0, 0, 0);
        for (int64_t h = 3 * t; h < 3 * t + 3; h++)
            if (half_twin[h] >= 0)
                around = sup_v3_add(
                    around, sup_v3_unit_or(sup_triangle_cross(def->positions, def->triangles + half_twin[h] / 3 * 3),
                                           sup_v3(0, 0, 0)));
        bool flipped = !(sup_v3_dot(around, sup_triangle_cross(def->positions, def->triangles + 3 * t)) > 0.0);
        for (int64_t h = 3 * t; h < 3 * t + 3; h++)
            twin[h] = flipped ? SUP_HALF_BOUNDARY : half_twin[h];
    }
}

sup_result sup_track_mesh_bind(const sup_context *context, const sup_track_def *def, const int32_t *tracked,
                               const float *margin, sup_arena *arena, sup_model_builder *builder, sup_error *error)
{
    const size_t vertices = (size_t)def->vertex_count, corners = 3 * (size_t)def->triangle_count;
    sup_adjacency adjacency;
    int32_t *twin = sup_model_add(builder, "mesh.twin", SUP_ARRAY_INT32, (int64_t)corners);
    float *to = sup_model_add(builder, "mesh.thickness", SUP_ARRAY_FLOAT, (int64_t)vertices);
    float *free = sup_model_add(builder, "mesh.margin", SUP_ARRAY_FLOAT, (int64_t)vertices);
    double *normals = sup_arena_alloc(arena, 3 * vertices, sizeof *normals),
           *thickness = sup_arena_alloc(arena, vertices, sizeof *thickness);
    if (twin == NULL || to == NULL || free == NULL || normals == NULL || thickness == NULL)
        return sup_fail_memory(error, "the tracked skin");
    sup_result result = sup_adjacency_create(&context->allocator, def->vertex_count, def->triangle_count,
                                             def->triangles, &adjacency, error);
    if (result != SUP_OK) return result;
    leave_out_flipped(def, adjacency.half_twin, twin);
    sup_adjacency_destroy(&adjacency);
    sup_vertex_normals(def->vertex_count, def->positions, def->triangle_count, def->triangles, NULL, normals);
    find_thickness(def, normals, thickness);
    for (size_t v = 0; v < vertices; v++) {
        to[tracked[v]] = (float)thickness[v];
        free[tracked[v]] = margin[v];
    }
    return SUP_OK;
}

sup_result sup_track_mesh_open(const sup_model *model, int32_t vertex_count, int32_t triangle_count,
                               const int32_t *triangles, sup_track_mesh *mesh, sup_error *error)
{
    const int64_t corners = 3 * (int64_t)triangle_count;
    *mesh = (sup_track_mesh){.triangle_count = triangle_count, .triangles = triangles};
    mesh->twin = sup_model_array(model, "mesh.twin", SUP_ARRAY_INT32, corners);
    mesh->thickness = sup_model_array(model, "mesh.thickness", SUP_ARRAY_FLOAT, vertex_count);
    mesh->margin = sup_model_array(model, "mesh.margin", SUP_ARRAY_FLOAT, vertex_count);
    bool ok = mesh->twin != NULL && mesh->thickness != NULL && mesh->margin != NULL;
    for (int64_t i = 0; ok && i < corners; i++)
        ok = mesh->twin[i] >= SUP_HALF_NON_MANIFOLD && mesh->twin[i] < corners;
    for (int64_t v = 0; ok && v < vertex_count; v++)
        ok = mesh->thickness[v] >= 0.0f && mesh->thickness[v] <= 1.0f && mesh->margin[v] >= 0.0f &&
             mesh->margin[v] <= 1.0f;
    return ok ? SUP_OK
              : sup_fail(error, SUP_ERROR_FORMAT, "implicit.model", "",
                         "The model is damaged: its tracked skin is inconsistent. Bind it again.");
}

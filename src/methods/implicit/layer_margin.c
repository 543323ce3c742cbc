/* layer_margin.c - skin that lies on other components: eyes in their sockets, nails, armour, layers of clothes.
 *
 * Fields do not distinguish layers: skin that slides or swells beside another component would cross it. There it stays
 * with dual quaternions, which keep layers together. */
#include "geometry/bvh.h"
#include "methods/implicit/implicit.h"

/* Distances from another component, in mean edges of the vertex, up to which skin stays and from which on it is free;
 * and the maximum of such an edge, in sizes. */
static const double NEAR = 1.0, FAR = 3.0, LONGEST = 0.01;

typedef struct layer_query {
    const sup_rig *rig;
    int32_t component;
} layer_query;

static bool is_other(void *user, int32_t triangle)
{
    const layer_query *q = user;
    return q->rig->skin_component[q->rig->skin_triangles[3 * (int64_t)triangle]] != q->component;
}

/* Mean length of the edges at each vertex of a mesh. */
static void mean_edges(const sup_simulated_surface *s, double *length, int32_t *count)
{
    for (int64_t t = 0; t < s->coarse_triangle_count; t++)
        for (int k = 0; k < 3; k++) {
            int32_t ends[2] = {s->coarse_triangles[3 * t + k], s->coarse_triangles[3 * t + (k + 1) % 3]};
            double edge = sup_v3_distance(sup_v3_load(s->coarse_positions + 3 * (int64_t)ends[0]),
                                          sup_v3_load(s->coarse_positions + 3 * (int64_t)ends[1]));
            for (int i = 0; i < 2; i++) {
                length[ends[i]] += edge;
                count[ends[i]]++;
            }
        }
    for (int32_t v = 0; v < s->coarse_count; v++)
        length[v] /= count[v] > 0 ? (double)count[v] : 1.0;
}

sup_result sup_implicit_layer_margin(const sup_bind_input *input, const sup_simulated_surface *surface,
                                     sup_arena *arena, float *margin, sup_error *error)
{
    const sup_rig *rig = input->rig;
    const size_t count = (size_t)surface->coarse_count;
    double *edge = sup_arena_alloc(arena, count, sizeof *edge);
    int32_t *edges = sup_arena_alloc(arena, count, sizeof *edges);
    sup_bvh bvh;
    if (edge == NULL || edges == NULL) return sup_fail_memory(error, "the tracked skin");
    for (size_t v = 0; v < count; v++)
        margin[v] = 1.0f;
    if (rig->component_count < 2) return SUP_OK;
    mean_edges(surface, edge, edges);
    sup_result result =
        sup_bvh_create(input->context, rig->skin_positions, rig->skin_triangle_count, rig->skin_triangles, &bvh, error);
    if (result != SUP_OK) return result;
    for (size_t v = 0; v < count; v++) {
        layer_query query = {rig, rig->skin_component[surface->fine_source[surface->coarse_fine[v]]]};
        double unit = fmin(edge[v], LONGEST * (double)rig->size);
        sup_vec3d point = sup_v3_load(surface->coarse_positions + 3 * v);
        sup_bvh_nearest nearest = sup_bvh_closest_of(&bvh, point, FAR * unit, is_other, &query);
        if (nearest.triangle < 0 || !(unit > 0.0)) continue;
        double off = sup_v3_distance(nearest.point, point) / unit;
        margin[v] = (float)fmin(1.0, fmax(0.0, (off - NEAR) / (FAR - NEAR)));
    }
    sup_bvh_free(&bvh);
    return SUP_OK;
}

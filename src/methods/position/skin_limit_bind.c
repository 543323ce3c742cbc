/* skin_limit_bind.c - adjacency and rest lengths of the skin for skin_limit.c. */
#include "geometry/adjacency.h"
#include "math/vec3.h"
#include "methods/position/skin_limit.h"

/* Squared length, in sizes squared, below which an edge has no length; and the squared rest length of such edges. */
static const double SHORTEST = 1e-16;
static const float NOT_LIMITED = 1e6f;

/* Batches of lanes, with at least one lane of padding. */
static int64_t batches_of(int64_t count)
{
    return count / SUP_SKIN_LANES + 1;
}

static void *add(sup_model_builder *builder, const char *prefix, const char *name, sup_array_type type, int64_t count)
{
    char full[64];
    sup_format(full, sizeof full, "%s.%s", prefix, name);
    return sup_model_add(builder, full, type, count);
}

static sup_vec3d at_rest(const sup_rig *rig, int32_t v)
{
    return sup_v3_load(rig->skin_positions + 3 * (int64_t)v);
}

static double square_of(const sup_rig *rig, int32_t a, int32_t b)
{
    double length = sup_v3_distance(at_rest(rig, a), at_rest(rig, b)) / (double)rig->size;
    return length * length;
}

static sup_vec3d normal_of(const sup_rig *rig, int32_t t)
{
    const int32_t *c = rig->skin_triangles + 3 * (int64_t)t;
    sup_vec3d o = at_rest(rig, c[0]);
    return sup_v3_cross(sup_v3_sub(at_rest(rig, c[1]), o), sup_v3_sub(at_rest(rig, c[2]), o));
}

/* Neighbours of a triangle; none where it has fewer than two, or faces away from them at rest. */
static void write_neighbours(const sup_rig *rig, const sup_adjacency *a, int32_t t, int32_t *neighbour)
{
    sup_vec3d around = sup_v3(0, 0, 0);
    int32_t count = 0;
    for (int k = 0; k < 3; k++) {
        int32_t twin = a->half_twin[3 * (int64_t)t + k];
        neighbour[k] = twin >= 0 ? twin / 3 : -1;
        if (twin < 0) continue;
        around = sup_v3_add(around, sup_v3_unit_or(normal_of(rig, twin / 3), sup_v3(0, 0, 0)));
        count++;
    }
    if (count < 2 || sup_v3_dot(around, normal_of(rig, t)) < 0.0) neighbour[0] = neighbour[1] = neighbour[2] = -1;
}

static sup_result write_model(const sup_rig *rig, const sup_adjacency *a, sup_model_builder *builder,
                              const char *prefix, sup_error *error)
{
    int64_t triangles = rig->skin_triangle_count, skin = rig->skin_vertex_count;
    int32_t *triangle = add(builder, prefix, "triangle", SUP_ARRAY_INT32, 3 * triangles);
    int32_t *neighbour = add(builder, prefix, "neighbour", SUP_ARRAY_INT32, 3 * triangles);
    int64_t batches = batches_of(triangles), edges = batches_of(a->edge_count);
    int32_t *lane_corner = add(builder, prefix, "lane_corner", SUP_ARRAY_INT32, 3 * SUP_SKIN_LANES * batches);
    int32_t *lane_neighbour = add(builder, prefix, "lane_neighbour", SUP_ARRAY_INT32, 3 * SUP_SKIN_LANES * batches);
    float *lane_rest = add(builder, prefix, "lane_rest", SUP_ARRAY_FLOAT, 3 * SUP_SKIN_LANES * batches);
    int32_t *edge = add(builder, prefix, "edge", SUP_ARRAY_INT32, 2 * SUP_SKIN_LANES * edges);
    int32_t *first = add(builder, prefix, "around_first", SUP_ARRAY_INT32, skin + 1);
    int32_t *around = add(builder, prefix, "around", SUP_ARRAY_INT32, 3 * triangles);
    int32_t *source = add(builder, prefix, "source", SUP_ARRAY_INT32, skin);
    int32_t *skin_of = add(builder, prefix, "skin_of", SUP_ARRAY_INT32, rig->vertex_count);
    float *edge_rest = add(builder, prefix, "edge_rest", SUP_ARRAY_FLOAT, SUP_SKIN_LANES * edges);
    if (triangle == NULL || neighbour == NULL || edge == NULL || first == NULL || around == NULL || source == NULL ||
        skin_of == NULL || edge_rest == NULL || lane_corner == NULL || lane_neighbour == NULL || lane_rest == NULL)
        return sup_fail_memory(error, "the limits of the skin");
    memcpy(triangle, rig->skin_triangles, (size_t)(3 * triangles) * sizeof *triangle);
    memcpy(first, a->vertex_first, (size_t)(skin + 1) * sizeof *first);
    memcpy(source, rig->skin_to_vertex, (size_t)skin * sizeof *source);
    memcpy(skin_of, rig->vertex_to_skin, (size_t)rig->vertex_count * sizeof *skin_of);
    for (int64_t i = 0; i < 3 * triangles; i++)
        around[i] = a->vertex_halves[i] / 3;
    for (int64_t e = 0; e < a->edge_count; e++) {
        const int32_t *end = a->edge_vertices + 2 * e;
        double square = square_of(rig, end[0], end[1]);
        for (int k = 0; k < 2; k++)
            edge[(e / SUP_SKIN_LANES * 2 + k) * SUP_SKIN_LANES + e % SUP_SKIN_LANES] = end[k];
        edge_rest[e] = square > SHORTEST ? (float)(1.0 / square) : 0.0f;
    }
    for (int32_t t = 0; t < triangles; t++)
        write_neighbours(rig, a, t, neighbour + 3 * (int64_t)t);
    for (int64_t i = 0; i < 3 * SUP_SKIN_LANES * batches; i++) {
        static const int ends[3][2] = {{0, 1}, {1, 2}, {0, 2}};
        int64_t k = i / SUP_SKIN_LANES % 3, t = i / (3 * SUP_SKIN_LANES) * SUP_SKIN_LANES + i % SUP_SKIN_LANES;
        const int32_t *c = rig->skin_triangles + 3 * t;
        double square = t < triangles ? square_of(rig, c[ends[k][0]], c[ends[k][1]]) : 0.0;
        lane_corner[i] = t < triangles ? c[k] : 0;
        lane_rest[i] = square > SHORTEST ? (float)square : NOT_LIMITED;
        int32_t other = t < triangles ? neighbour[3 * t + k] : -1;
        lane_neighbour[i] = other >= 0 ? other : (int32_t)triangles; /* the padding */
    }
    return SUP_OK;
}

sup_result sup_skin_limit_bind(const sup_context *context, const sup_rig *rig, sup_model_builder *builder,
                               const char *prefix, sup_error *error)
{
    sup_adjacency adjacency;
    sup_result result = sup_adjacency_create(&context->allocator, rig->skin_vertex_count, rig->skin_triangle_count,
                                             rig->skin_triangles, &adjacency, error);
    if (result != SUP_OK) return result;
    result = write_model(rig, &adjacency, builder, prefix, error);
    sup_adjacency_destroy(&adjacency);
    return result;
}

/* --- Reading --- */

static const int32_t *get(const sup_model *model, const char *prefix, const char *name, int64_t count)
{
    char full[64];
    sup_format(full, sizeof full, "%s.%s", prefix, name);
    return sup_model_array(model, full, SUP_ARRAY_INT32, count);
}

static const float *get_floats(const sup_model *model, const char *prefix, const char *name, int64_t count)
{
    char full[64];
    sup_format(full, sizeof full, "%s.%s", prefix, name);
    return sup_model_array(model, full, SUP_ARRAY_FLOAT, count);
}

static int32_t count_of(const sup_model *model, const char *prefix, const char *name, int32_t of)
{
    char full[64];
    sup_format(full, sizeof full, "%s.%s", prefix, name);
    int64_t all = sup_model_array_count(model, full);
    return all < 0 || all > INT32_MAX || all % of != 0 ? -1 : (int32_t)(all / of);
}

static bool in_range(const int32_t *values, int64_t count, int32_t minimum, int32_t end)
{
    for (int64_t i = 0; i < count; i++)
        if (values[i] < minimum || values[i] >= end) return false;
    return true;
}

static bool are_lengths(const float *values, int64_t count)
{
    for (int64_t i = 0; i < count; i++)
        if (!(values[i] >= 0.0f && values[i] < 1e18f)) return false;
    return true;
}

static bool has_offsets(const sup_skin_limit *l)
{
    for (int32_t v = 0; v < l->skin_count; v++)
        if (l->around_first[v] > l->around_first[v + 1]) return false;
    return l->around_first[0] == 0 && l->around_first[l->skin_count] == 3 * l->triangle_count;
}

static bool is_valid(const sup_skin_limit *l)
{
    return in_range(l->triangle, 3 * (int64_t)l->triangle_count, 0, l->skin_count) &&
           in_range(l->neighbour, 3 * (int64_t)l->triangle_count, -1, l->triangle_count) &&
           in_range(l->edge, 2 * SUP_SKIN_LANES * (int64_t)l->edge_batches, 0, l->skin_count) &&
           in_range(l->lane_corner, 3 * SUP_SKIN_LANES * (int64_t)l->triangle_batches, 0, l->skin_count) &&
           in_range(l->lane_neighbour, 3 * SUP_SKIN_LANES * (int64_t)l->triangle_batches, 0, l->triangle_count + 1) &&
           in_range(l->around, 3 * (int64_t)l->triangle_count, 0, l->triangle_count) &&
           in_range(l->source, l->skin_count, 0, l->vertex_count) &&
           in_range(l->skin_of, l->vertex_count, -1, l->skin_count) &&
           are_lengths(l->edge_rest, SUP_SKIN_LANES * (int64_t)l->edge_batches) &&
           are_lengths(l->lane_rest, 3 * SUP_SKIN_LANES * (int64_t)l->triangle_batches) && has_offsets(l);
}

sup_result sup_skin_limit_open(const sup_model *model, const char *prefix, sup_skin_limit *limit, sup_error *error)
{
    int32_t triangles = count_of(model, prefix, "triangle", 3),
            edges = count_of(model, prefix, "edge", 2 * SUP_SKIN_LANES), skin = count_of(model, prefix, "source", 1),
            vertices = sup_model_vertex_count(model);
    *limit = (sup_skin_limit){
        .vertex_count = vertices, .skin_count = skin, .triangle_count = triangles, .edge_batches = edges};
    bool ok = triangles >= 0 && triangles < INT32_MAX / 4 && edges >= 0 && skin > 0;
    if (ok) {
        limit->triangle = get(model, prefix, "triangle", 3 * (int64_t)triangles);
        limit->neighbour = get(model, prefix, "neighbour", 3 * (int64_t)triangles);
        int64_t batches = batches_of(triangles);
        limit->triangle_batches = (int32_t)batches;
        limit->lane_corner = get(model, prefix, "lane_corner", 3 * SUP_SKIN_LANES * batches);
        limit->lane_neighbour = get(model, prefix, "lane_neighbour", 3 * SUP_SKIN_LANES * batches);
        limit->lane_rest = get_floats(model, prefix, "lane_rest", 3 * SUP_SKIN_LANES * batches);
        limit->edge = get(model, prefix, "edge", 2 * SUP_SKIN_LANES * (int64_t)edges);
        limit->around_first = get(model, prefix, "around_first", (int64_t)skin + 1);
        limit->around = get(model, prefix, "around", 3 * (int64_t)triangles);
        limit->source = get(model, prefix, "source", skin);
        limit->skin_of = get(model, prefix, "skin_of", vertices);
        limit->edge_rest = get_floats(model, prefix, "edge_rest", SUP_SKIN_LANES * (int64_t)edges);
        ok = limit->triangle != NULL && limit->neighbour != NULL && limit->edge != NULL &&
             limit->around_first != NULL && limit->around != NULL && limit->source != NULL && limit->skin_of != NULL &&
             limit->edge_rest != NULL && limit->lane_corner != NULL && limit->lane_neighbour != NULL &&
             limit->lane_rest != NULL && is_valid(limit);
    }
    return ok ? SUP_OK
              : sup_fail(error, SUP_ERROR_FORMAT, "position.model", "",
                         "The model is damaged: the limits of its skin are inconsistent. Bind it again.");
}

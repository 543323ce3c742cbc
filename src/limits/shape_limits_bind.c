/* shape_limits_bind.c - the welded skin of a rig for the shape limits: edges, adjacent triangles, render vertices. */
#include "geometry/adjacency.h"
#include "limits/shape_limits.h"
#include "math/vec3.h"

#include <math.h>

typedef struct limits_build {
    const sup_rig *rig;
    sup_model_builder *builder;
    sup_adjacency adjacency;
    const unsigned char *excluded; /* [skin_vertex_count] or NULL */
    double *normal;                /* [skin_triangle_count*3] area normals in the bind pose */
} limits_build;

static void compute_normals(const sup_rig *rig, double *normal)
{
    for (int32_t t = 0; t < rig->skin_triangle_count; t++) {
        const int32_t *c = rig->skin_triangles + 3 * (size_t)t;
        sup_vec3d p[3];
        for (int k = 0; k < 3; k++)
            p[k] = sup_v3_load(rig->skin_positions + 3 * (size_t)c[k]);
        sup_vec3d n = sup_v3_cross(sup_v3_sub(p[1], p[0]), sup_v3_sub(p[2], p[0]));
        normal[3 * (size_t)t] = n.x;
        normal[3 * (size_t)t + 1] = n.y;
        normal[3 * (size_t)t + 2] = n.z;
    }
}

static sup_vec3d normal_of(const limits_build *b, int32_t t)
{
    const double *n = b->normal + 3 * (size_t)t;
    return sup_v3(n[0], n[1], n[2]);
}

static bool is_excluded(const limits_build *b, int32_t v)
{
    return b->excluded != NULL && b->excluded[v] != 0;
}

/* Length of an edge at rest; negative: it is not judged. */
static float rest_length(const limits_build *b, int32_t v, int32_t u)
{
    const float *positions = b->rig->skin_positions;
    double rest = sup_v3_distance(sup_v3_load(positions + 3 * (size_t)v), sup_v3_load(positions + 3 * (size_t)u));
    return fmaxf((float)rest, 1e-30f) * (!is_excluded(b, v) && !is_excluded(b, u) ? 1.0f : -1.0f);
}

/* Adjacent triangles; triangles with fewer than two, or that are flipped at rest, or excluded, have none. */
static bool add_triangles(limits_build *b)
{
    const sup_rig *rig = b->rig;
    int64_t count = 3 * (int64_t)rig->skin_triangle_count;
    int32_t *triangles = sup_model_add(b->builder, "limits.triangles", SUP_ARRAY_INT32, count);
    int32_t *adjacent = sup_model_add(b->builder, "limits.adjacent", SUP_ARRAY_INT32, count);
    float *side = sup_model_add(b->builder, "limits.side_length", SUP_ARRAY_FLOAT, count);
    if (triangles == NULL || adjacent == NULL || side == NULL) return false;
    for (int64_t i = 0; i < count; i++)
        side[i] = rest_length(b, rig->skin_triangles[i], rig->skin_triangles[i % 3 == 2 ? i - 2 : i + 1]);
    memcpy(triangles, rig->skin_triangles, (size_t)count * sizeof *triangles);
    compute_normals(rig, b->normal);
    for (int32_t t = 0; t < rig->skin_triangle_count; t++) {
        const int32_t *c = rig->skin_triangles + 3 * (size_t)t;
        bool judged = !is_excluded(b, c[0]) && !is_excluded(b, c[1]) && !is_excluded(b, c[2]);
        sup_vec3d around = sup_v3(0, 0, 0);
        int32_t found = 0, *own = adjacent + 3 * (size_t)t;
        for (int k = 0; k < 3; k++) {
            int32_t twin = b->adjacency.half_twin[3 * (size_t)t + (size_t)k];
            own[k] = twin < 0 ? -1 : twin / 3;
            if (own[k] < 0) continue;
            around = sup_v3_add(around, sup_v3_unit_or(normal_of(b, own[k]), sup_v3(0, 0, 0)));
            found++;
        }
        if (!judged || found < 2 || sup_v3_dot(around, normal_of(b, t)) < 0.0) own[0] = own[1] = own[2] = -1;
    }
    return true;
}

static bool add_neighbours(limits_build *b)
{
    const sup_rig *rig = b->rig;
    int64_t count = 2 * (int64_t)b->adjacency.edge_count;
    int32_t *first =
        sup_model_add(b->builder, "limits.neighbour_first", SUP_ARRAY_INT32, (int64_t)rig->skin_vertex_count + 1);
    int32_t *neighbours = sup_model_add(b->builder, "limits.neighbours", SUP_ARRAY_INT32, count);
    float *length = sup_model_add(b->builder, "limits.neighbour_length", SUP_ARRAY_FLOAT, count);
    if (first == NULL || neighbours == NULL || length == NULL) return false;
    sup_adjacency_neighbours(&b->adjacency, first, neighbours);
    for (int32_t v = 0; v < rig->skin_vertex_count; v++)
        for (int32_t e = first[v]; e < first[v + 1]; e++)
            length[e] = rest_length(b, v, neighbours[e]);
    return true;
}

static bool add_render_vertices(limits_build *b)
{
    const sup_rig *rig = b->rig;
    int32_t n = rig->skin_vertex_count, count = 0;
    int32_t *first = sup_model_add(b->builder, "limits.render_first", SUP_ARRAY_INT32, (int64_t)n + 1);
    if (first == NULL) return false;
    for (int32_t v = 0; v < rig->vertex_count; v++)
        count += rig->vertex_to_skin[v] >= 0;
    int32_t *list = sup_model_add(b->builder, "limits.render_vertices", SUP_ARRAY_INT32, count);
    if (list == NULL) return false;
    for (int32_t v = 0; v < rig->vertex_count; v++)
        if (rig->vertex_to_skin[v] >= 0) first[rig->vertex_to_skin[v] + 1]++;
    for (int32_t v = 0; v < n; v++)
        first[v + 1] += first[v];
    for (int32_t v = rig->vertex_count - 1; v >= 0; v--) /* fills each list from its end; then first[v] is its start */
        if (rig->vertex_to_skin[v] >= 0) list[--first[rig->vertex_to_skin[v] + 1]] = v;
    for (int32_t v = 0; v < n; v++)
        first[v] = first[v + 1];
    first[n] = count;
    return true;
}

sup_result sup_shape_limits_bind(const sup_context *context, const sup_rig *rig, const unsigned char *excluded,
                                 sup_model_builder *builder, sup_error *error)
{
    limits_build b = {.rig = rig, .builder = builder, .excluded = excluded};
    sup_result result = sup_adjacency_create(&context->allocator, rig->skin_vertex_count, rig->skin_triangle_count,
                                             rig->skin_triangles, &b.adjacency, error);
    if (result != SUP_OK) return result;
    sup_arena arena = sup_arena_create(&context->allocator);
    b.normal = sup_arena_alloc(&arena, (size_t)rig->skin_triangle_count, 3 * sizeof *b.normal);
    float *size = sup_model_add(builder, "limits.size", SUP_ARRAY_FLOAT, 1);
    if (size != NULL) *size = rig->size;
    bool added = size != NULL && b.normal != NULL && add_triangles(&b) && add_neighbours(&b) && add_render_vertices(&b);
    sup_arena_destroy(&arena);
    sup_adjacency_destroy(&b.adjacency);
    return added ? SUP_OK : sup_fail_memory(error, "the shape limits");
}

/* --- Back from the model --- */

static bool within(const int32_t *values, int64_t count, int32_t lowest, int64_t limit)
{
    for (int64_t i = 0; i < count; i++)
        if (values[i] < lowest || values[i] >= limit) return false;
    return true;
}

/* Starts of `count` lists with `total` entries. */
static bool are_starts(const int32_t *first, int64_t count, int64_t total)
{
    if (first[0] != 0 || first[count] != total) return false;
    for (int64_t i = 0; i < count; i++)
        if (first[i + 1] < first[i]) return false;
    return true;
}

sup_result sup_shape_limits_open(const sup_model *model, sup_shape_limits *limits, sup_error *error)
{
    int64_t vertices = sup_model_array_count(model, "limits.neighbour_first") - 1,
            triangles = sup_model_array_count(model, "limits.triangles") / 3,
            edges = sup_model_array_count(model, "limits.neighbours"),
            render = sup_model_array_count(model, "limits.render_vertices");
    const float *size = sup_model_array(model, "limits.size", SUP_ARRAY_FLOAT, 1);
    bool good = size != NULL && isfinite(*size) && *size > 0.0f && vertices >= 0 && triangles >= 0 &&
                vertices <= INT32_MAX / 16 && triangles <= INT32_MAX / 16;
    sup_shape_limits l = {.vertex_count = (int32_t)vertices,
                          .triangle_count = (int32_t)triangles,
                          .render_count = sup_model_vertex_count(model)};
    if (good) {
        l.size = *size;
        l.triangles = sup_model_array(model, "limits.triangles", SUP_ARRAY_INT32, 3 * triangles);
        l.side_length = sup_model_array(model, "limits.side_length", SUP_ARRAY_FLOAT, 3 * triangles);
        l.adjacent = sup_model_array(model, "limits.adjacent", SUP_ARRAY_INT32, 3 * triangles);
        l.neighbour_first = sup_model_array(model, "limits.neighbour_first", SUP_ARRAY_INT32, vertices + 1);
        l.neighbours = sup_model_array(model, "limits.neighbours", SUP_ARRAY_INT32, edges);
        l.neighbour_length = sup_model_array(model, "limits.neighbour_length", SUP_ARRAY_FLOAT, edges);
        l.render_first = sup_model_array(model, "limits.render_first", SUP_ARRAY_INT32, vertices + 1);
        l.render_vertices = sup_model_array(model, "limits.render_vertices", SUP_ARRAY_INT32, render);
        good = l.side_length != NULL && l.triangles != NULL && l.adjacent != NULL && l.neighbour_first != NULL &&
               l.neighbours != NULL && l.neighbour_length != NULL && l.render_first != NULL &&
               l.render_vertices != NULL && within(l.triangles, 3 * triangles, 0, vertices) &&
               within(l.adjacent, 3 * triangles, -1, triangles) && are_starts(l.neighbour_first, vertices, edges) &&
               within(l.neighbours, edges, 0, vertices) && are_starts(l.render_first, vertices, render) &&
               within(l.render_vertices, render, 0, l.render_count);
    }
    for (int64_t e = 0; good && e < edges; e++)
        good = isfinite(l.neighbour_length[e]) && l.neighbour_length[e] != 0.0f;
    for (int64_t i = 0; good && i < 3 * triangles; i++)
        good = isfinite(l.side_length[i]) && l.side_length[i] != 0.0f;
    if (!good)
        return sup_fail(error, SUP_ERROR_FORMAT, "limits.damaged", "",
                        "The model's arrays of the shape limits are damaged: bind the character again.");
    *limits = l;
    return SUP_OK;
}

/* volume_correction.c - see volume_correction.h. */
#include "methods/position/volume_correction.h"

#include "base/simd.h"
#include "geometry/adjacency.h"
#include "math/vec3.h"

/* Tolerated relative area defect of a closed skin; and the maximum correction relative to the volume. */
static const double MAX_DEFECT = 1e-3, MAX_FRACTION = 0.15;
enum { BLOCK = 64 };

static sup_vec3d skin_at(const sup_rig *rig, int32_t v)
{
    return sup_v3_sub(sup_v3_load(rig->skin_positions + 3 * (int64_t)v), sup_v3_load(rig->skin_positions));
}

/* The triangles of the skin, and those that close its holes: fans from the first vertex of each. */
typedef struct closed_skin {
    int32_t *triangles; /* [count*3] */
    int64_t count;
    sup_arena arena;
} closed_skin;

static void close_holes(closed_skin *s, const sup_boundary *boundary)
{
    for (int32_t i = 0; i < boundary->loop_count; i++) {
        const int32_t *v = boundary->vertices + boundary->loop_first[i];
        for (int32_t k = 1; boundary->closed[i] && k + 1 < boundary->loop_first[i + 1] - boundary->loop_first[i]; k++) {
            const int32_t fan[3] = {v[0], v[k + 1], v[k]}; /* against the direction of the loop */
            memcpy(s->triangles + 3 * s->count++, fan, sizeof fan);
        }
    }
}

static sup_result close_skin(const sup_context *context, const sup_rig *rig, closed_skin *s, sup_error *error)
{
    sup_adjacency adjacency;
    sup_boundary boundary;
    sup_result result = sup_adjacency_create(&context->allocator, rig->skin_vertex_count, rig->skin_triangle_count,
                                             rig->skin_triangles, &adjacency, error);
    if (result != SUP_OK) return result;
    result = sup_boundary_loops(&adjacency, &s->arena, &boundary, error);
    if (result == SUP_OK) {
        s->count = rig->skin_triangle_count;
        s->triangles = sup_arena_alloc(&s->arena, 3 * (size_t)(s->count + boundary.edge_count), sizeof(int32_t));
        if (s->triangles == NULL) result = sup_fail_memory(error, "the volume of the skin");
    }
    if (result == SUP_OK) {
        memcpy(s->triangles, rig->skin_triangles, 3 * (size_t)s->count * sizeof(int32_t));
        close_holes(s, &boundary);
    }
    sup_adjacency_destroy(&adjacency);
    return result;
}

/* Volume in sizes cubed; 0 when the surface is not closed. */
static double closed_volume(const sup_rig *rig, const closed_skin *s)
{
    sup_vec3d missing = {0};
    double volume = 0.0, area = 0.0, size = (double)rig->size;
    for (int64_t t = 0; t < s->count; t++) {
        const int32_t *c = s->triangles + 3 * t;
        sup_vec3d p = skin_at(rig, c[0]), q = skin_at(rig, c[1]), r = skin_at(rig, c[2]);
        sup_vec3d cross = sup_v3_cross(sup_v3_sub(q, p), sup_v3_sub(r, p));
        missing = sup_v3_add(missing, cross);
        area += sup_v3_length(cross);
        volume += sup_v3_dot(p, sup_v3_cross(q, r)) / 6.0;
    }
    return sup_v3_length(missing) < MAX_DEFECT * area && volume > 0.0 ? volume / (size * size * size) : 0.0;
}

static void *add(sup_model_builder *builder, const char *prefix, const char *name, sup_array_type type, int64_t count)
{
    char full[64];
    sup_format(full, sizeof full, "%s.%s", prefix, name);
    return sup_model_add(builder, full, type, count);
}

static sup_result write_model(const sup_rig *rig, const closed_skin *s, sup_model_builder *builder, const char *prefix,
                              sup_error *error)
{
    double volume = rig->character->morph_count == 0 ? closed_volume(rig, s) : 0.0;
    int64_t triangles = volume > 0.0 ? s->count : 0, skin = volume > 0.0 ? rig->skin_vertex_count : 0;
    const int32_t *rigid = sup_rig_rigid_joints(rig);
    int32_t *triangle = add(builder, prefix, "triangle", SUP_ARRAY_INT32, 3 * triangles);
    int32_t *source = add(builder, prefix, "source", SUP_ARRAY_INT32, skin);
    int32_t *skin_of = add(builder, prefix, "skin_of", SUP_ARRAY_INT32, rig->vertex_count);
    float *stored = add(builder, prefix, "volume", SUP_ARRAY_FLOAT, 1);
    if (triangle == NULL || source == NULL || skin_of == NULL || stored == NULL)
        return sup_fail_memory(error, "the volume of the skin");
    memcpy(triangle, s->triangles, (size_t)(3 * triangles) * sizeof *triangle);
    memcpy(source, rig->skin_to_vertex, (size_t)skin * sizeof *source);
    for (int32_t v = 0; v < rig->vertex_count; v++)
        skin_of[v] =
            skin > 0 && rig->vertex_to_skin[v] >= 0 && rigid[rig->vertex_to_skin[v]] < 0 ? rig->vertex_to_skin[v] : -1;
    stored[0] = (float)volume;
    return SUP_OK;
}

sup_result sup_volume_correction_bind(const sup_context *context, const sup_rig *rig, sup_model_builder *builder,
                                      const char *prefix, sup_error *error)
{
    closed_skin s = {.arena = sup_arena_create(&context->allocator)};
    sup_result result = close_skin(context, rig, &s, error);
    if (result == SUP_OK) result = write_model(rig, &s, builder, prefix, error);
    sup_arena_destroy(&s.arena);
    return result;
}

static const int32_t *get(const sup_model *model, const char *prefix, const char *name, int32_t *count, int32_t of)
{
    char full[64];
    sup_format(full, sizeof full, "%s.%s", prefix, name);
    int64_t all = sup_model_array_count(model, full);
    if (all < 0 || all > INT32_MAX || all % of != 0) return NULL;
    *count = (int32_t)(all / of);
    return sup_model_array(model, full, SUP_ARRAY_INT32, all);
}

static bool in_range(const int32_t *values, int64_t count, int32_t minimum, int32_t end)
{
    for (int64_t i = 0; i < count; i++)
        if (values[i] < minimum || values[i] >= end) return false;
    return true;
}

sup_result sup_volume_correction_open(const sup_model *model, const char *prefix, sup_volume_correction *correction,
                                      sup_error *error)
{
    char full[64];
    sup_format(full, sizeof full, "%s.volume", prefix);
    const float *volume = sup_model_array(model, full, SUP_ARRAY_FLOAT, 1);
    correction->triangle = get(model, prefix, "triangle", &correction->triangle_count, 3);
    correction->source = get(model, prefix, "source", &correction->skin_count, 1);
    correction->skin_of = get(model, prefix, "skin_of", &correction->vertex_count, 1);
    bool ok = volume != NULL && correction->triangle != NULL && correction->source != NULL &&
              correction->skin_of != NULL && correction->vertex_count == sup_model_vertex_count(model) &&
              volume[0] >= 0.0f && volume[0] < 1e18f &&
              in_range(correction->triangle, 3 * (int64_t)correction->triangle_count, 0, correction->skin_count) &&
              in_range(correction->source, correction->skin_count, 0, correction->vertex_count) &&
              in_range(correction->skin_of, correction->vertex_count, -1, correction->skin_count);
    correction->volume = ok ? volume[0] : 0.0f;
    return ok ? SUP_OK
              : sup_fail(error, SUP_ERROR_FORMAT, "position.model", "",
                         "The model is damaged: the volume of its skin is inconsistent. Bind it again.");
}

/* Eight floats per skin vertex: position, and gradient of the volume. */
size_t sup_volume_correction_scratch(const sup_volume_correction *correction)
{
    return ((size_t)correction->skin_count * 8 * sizeof(float) + 63) / 64 * 64;
}

static float *position_of(const sup_skin_out *out, int32_t v)
{
    return (float *)(void *)((unsigned char *)out->positions + (size_t)v * out->position_stride);
}

static void add_to(float *to, sup_four n)
{
    sup_four added = sup_four_load(to) + n;
    memcpy(to, &added, sizeof added);
}

/* Six times the volume. Its gradient, times six, is for a closed surface the sum of the area normals at a vertex. Sums
 * of BLOCK triangles are added in double. */
static double measure_volume(const sup_volume_correction *correction, float *work)
{
    double sum = 0.0;
    for (int64_t t = 0; t < correction->triangle_count;) {
        sup_four block = sup_four_splat(0.0f);
        int64_t end = t + BLOCK < correction->triangle_count ? t + BLOCK : correction->triangle_count;
        for (; t < end; t++) {
            const int32_t *corner = correction->triangle + 3 * t;
            float *p = work + 8 * (int64_t)corner[0], *q = work + 8 * (int64_t)corner[1],
                  *r = work + 8 * (int64_t)corner[2];
            const float u[3] = {q[0] - p[0], q[1] - p[1], q[2] - p[2]}, v[3] = {r[0] - p[0], r[1] - p[1], r[2] - p[2]};
            const sup_four n = {u[1] * v[2] - u[2] * v[1], u[2] * v[0] - u[0] * v[2], u[0] * v[1] - u[1] * v[0]};
            block += sup_four_load(p) * n;
            add_to(p + 4, n);
            add_to(q + 4, n);
            add_to(r + 4, n);
        }
        sum += (double)(block[0] + block[1] + block[2]);
    }
    return sum;
}

void sup_volume_correction_apply(const sup_volume_correction *correction, float size, float share, void *scratch,
                                 const sup_skin_out *out)
{
    if (correction->triangle_count == 0 || out->positions == NULL || !(share > 0.0f)) return;
    float *work = scratch, scale = 1.0f / size;
    const float *first = position_of(out, correction->source[0]);
    const float origin[3] = {first[0], first[1], first[2]};
    for (int32_t i = 0; i < correction->skin_count; i++) {
        const float *p = position_of(out, correction->source[i]);
        const sup_four at[2] = {{(p[0] - origin[0]) * scale, (p[1] - origin[1]) * scale, (p[2] - origin[2]) * scale}};
        memcpy(work + 8 * (int64_t)i, at, sizeof at);
    }
    double volume = measure_volume(correction, work) / 6.0, area = 0.0, rest = (double)correction->volume;
    for (int32_t i = 0; i < correction->skin_count; i++) {
        sup_four g = sup_four_load(work + 8 * (int64_t)i + 4), square = g * g;
        float length = sqrtf(square[0] + square[1] + square[2]);
        if (correction->skin_of[correction->source[i]] >= 0) area += (double)length / 6.0;
        g *= sup_four_splat(length > 0.0f ? 1.0f / length : 0.0f);
        memcpy(work + 8 * (int64_t)i + 4, &g, sizeof g);
    }
    double missing = (double)share * fmax(fmin(rest - volume, MAX_FRACTION * rest), -MAX_FRACTION * rest);
    float by = area > 0.0 && isfinite(missing) ? (float)(missing / area) * size : 0.0f;
    for (int32_t v = 0; v < correction->vertex_count; v++) {
        if (correction->skin_of[v] < 0) continue;
        float *p = position_of(out, v);
        const float *g = work + 8 * (int64_t)correction->skin_of[v] + 4;
        for (int c = 0; c < 3; c++)
            p[c] += by * g[c];
    }
}

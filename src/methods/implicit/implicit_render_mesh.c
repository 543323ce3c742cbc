/* implicit_render_mesh.c - the shown skin on the tracked one: bind, check and a frame. */
#include "methods/implicit/implicit_render_mesh.h"

#include "math/vec3.h"

enum { GRAIN = 512 };
static const char *const PREFIX = "upsample";

/* --- Bind --- */

/* Where each shown vertex is: at a row (own), on the decimated surface, beside it (followers), or not on it (props). */
static sup_result place_vertices(const sup_bind_input *input, const sup_simulated_surface *s, bool own,
                                 sup_arena *arena, int32_t *place, int32_t *coarse, sup_error *error)
{
    const sup_rig *rig = input->rig;
    size_t count = (size_t)rig->skin_vertex_count;
    int32_t *skin = sup_arena_alloc(arena, count, sizeof *skin), *at = sup_arena_alloc(arena, count, sizeof *at);
    if (skin == NULL || at == NULL) return sup_fail_memory(error, "the shown skin");
    for (size_t v = 0; v < count; v++) {
        skin[v] = SUP_UPSAMPLE_RIDES;
        at[v] = -1;
    }
    for (int32_t v = 0; v < s->fine_count; v++)
        skin[s->fine_source[v]] = SUP_UPSAMPLE_BETWEEN;
    for (int32_t v = 0; v < s->middle_count; v++)
        skin[s->fine_source[s->middle_fine[v]]] = v;
    for (int32_t v = 0; own && v < s->coarse_count; v++)
        at[s->fine_source[s->coarse_fine[v]]] = v;
    for (int32_t v = 0; v < rig->vertex_count; v++) {
        int32_t from = rig->vertex_to_skin[v];
        coarse[v] = from >= 0 ? at[from] : -1;
        place[v] = from < 0 || coarse[v] >= 0 ? SUP_UPSAMPLE_LEFT_OUT : skin[from];
    }
    return SUP_OK;
}

/* Vertices at rows, in the order of the rows: what a frame reads of those lies side by side. */
static sup_result add_own(const sup_rig *rig, const int32_t *coarse, const int32_t *row, int32_t row_count,
                          sup_arena *arena, sup_model_builder *builder, sup_error *error)
{
    int32_t *first = sup_arena_alloc(arena, (size_t)row_count + 1, sizeof *first);
    if (first == NULL) return sup_fail_memory(error, "the shown skin");
    for (int32_t v = 0; v < rig->vertex_count; v++)
        if (coarse[v] >= 0) first[row[coarse[v]] + 1]++;
    for (int32_t r = 0; r < row_count; r++)
        first[r + 1] += first[r];
    int64_t count = first[row_count];
    int32_t *vertex = sup_model_add(builder, "shown.vertex", SUP_ARRAY_INT32, count);
    int32_t *rows = sup_model_add(builder, "shown.row", SUP_ARRAY_INT32, count);
    float *normal = sup_model_add(builder, "shown.normal", SUP_ARRAY_FLOAT, 3 * count);
    float *tangent = sup_model_add(builder, "shown.tangent", SUP_ARRAY_FLOAT, rig->tangents != NULL ? 4 * count : 0);
    if (vertex == NULL || rows == NULL || normal == NULL || tangent == NULL)
        return sup_fail_memory(error, "the shown skin");
    for (int32_t v = 0; v < rig->vertex_count; v++) {
        if (coarse[v] < 0) continue;
        int64_t i = first[row[coarse[v]]]++;
        vertex[i] = v;
        rows[i] = row[coarse[v]];
        memcpy(normal + 3 * i, rig->normals + 3 * (int64_t)v, 3 * sizeof(float));
        if (rig->tangents != NULL) memcpy(tangent + 4 * i, rig->tangents + 4 * (int64_t)v, 4 * sizeof(float));
    }
    return SUP_OK;
}

sup_result sup_shown_bind(const sup_bind_input *input, const sup_simulated_surface *surface, const int32_t *row,
                          sup_arena *arena, sup_model_builder *builder, sup_error *error)
{
    const sup_rig *rig = input->rig;
    size_t count = (size_t)surface->coarse_count, corners = 3 * (size_t)surface->coarse_triangle_count;
    int32_t *place = sup_arena_alloc(arena, (size_t)rig->vertex_count, sizeof *place);
    int32_t *coarse = sup_arena_alloc(arena, (size_t)rig->vertex_count, sizeof *coarse);
    int32_t *vertices = sup_arena_alloc(arena, count, sizeof *vertices);
    int32_t *triangles = sup_arena_alloc(arena, corners, sizeof *triangles);
    if (place == NULL || coarse == NULL || vertices == NULL || triangles == NULL)
        return sup_fail_memory(error, "the shown skin");
    bool own = surface->coarse_count == surface->fine_count;
    sup_result result = place_vertices(input, surface, own, arena, place, coarse, error);
    if (result == SUP_OK) result = add_own(rig, coarse, row, surface->coarse_count, arena, builder, error);
    if (result != SUP_OK) return result;
    for (size_t v = 0; v < count; v++)
        vertices[row[v]] = surface->coarse_middle[v];
    for (size_t i = 0; i < corners; i++)
        triangles[i] = row[surface->coarse_triangles[i]];
    sup_upsample_def def = {.surface = {surface->middle_count, surface->middle_triangle_count,
                                        surface->middle_positions, surface->middle_triangles},
                            .coarse_count = surface->coarse_count,
                            .coarse_vertices = vertices,
                            .coarse_triangle_count = surface->coarse_triangle_count,
                            .coarse_triangles = triangles,
                            .vertex_count = rig->vertex_count,
                            .positions = rig->positions,
                            .normals = rig->normals,
                            .tangents = rig->tangents,
                            .place = place};
    return sup_upsample_bind(input->context, &def, builder, PREFIX, NULL, error);
}

/* --- Check --- */

sup_result sup_shown_open(const sup_model *model, int32_t row_count, sup_shown *shown, sup_error *error)
{
    memset(shown, 0, sizeof *shown);
    sup_result result = sup_upsample_open(model, PREFIX, &shown->upsample, error);
    if (result != SUP_OK) return result;
    int64_t count = sup_model_array_count(model, "shown.vertex");
    bool tangents = sup_model_array_count(model, "shown.tangent") > 0;
    shown->vertex = sup_model_array(model, "shown.vertex", SUP_ARRAY_INT32, -1);
    shown->row = sup_model_array(model, "shown.row", SUP_ARRAY_INT32, count);
    shown->normal = sup_model_array(model, "shown.normal", SUP_ARRAY_FLOAT, 3 * count);
    const float *tangent = sup_model_array(model, "shown.tangent", SUP_ARRAY_FLOAT, tangents ? 4 * count : 0);
    bool ok = shown->vertex != NULL && shown->row != NULL && shown->normal != NULL && tangent != NULL &&
              count <= sup_model_vertex_count(model) && shown->upsample.coarse_count == row_count &&
              shown->upsample.vertex_count == sup_model_vertex_count(model) &&
              (count == 0 || tangents == shown->upsample.has_tangents);
    for (int64_t i = 0; ok && i < count; i++)
        ok = shown->vertex[i] >= 0 && shown->vertex[i] < sup_model_vertex_count(model) && shown->row[i] >= 0 &&
             shown->row[i] < row_count;
    for (int64_t i = 0; ok && i < 3 * count; i++)
        ok = fabsf(shown->normal[i]) <= 1.01f;
    for (int64_t i = 0; ok && tangents && i < 4 * count; i++)
        ok = fabsf(tangent[i]) <= 1.01f;
    if (!ok)
        return sup_fail(error, SUP_ERROR_FORMAT, "implicit.model", "",
                        "The model is damaged: its shown skin does not fit the tracked one. Bind it again.");
    shown->own_count = (int32_t)count;
    shown->tangent = tangents ? tangent : NULL;
    return SUP_OK;
}

/* --- A frame --- */

static size_t padded(size_t bytes)
{
    return (bytes + 63) / 64 * 64;
}

size_t sup_shown_scratch(const sup_shown *shown)
{
    return padded((size_t)shown->upsample.coarse_count * 4 * sizeof(float)) + sup_upsample_scratch(&shown->upsample);
}

typedef struct shown_work {
    const sup_shown *shown;
    const sup_shown_input *input;
    const float *packed; /* [row_count*8] places and normals of the tracked skin */
    float *scaled;
    const sup_skin_out *out;
} shown_work;

static void scale_some(void *work, int32_t begin, int32_t end, int32_t worker)
{
    const shown_work *w = work;
    float size = (float)w->input->size;
    SUP_UNUSED(worker);
    for (int64_t i = 4 * (int64_t)begin; i < 4 * (int64_t)end; i++)
        w->scaled[i] = size * w->input->rows[i];
}

static void turn(const float m[12], const float v[3], float to[3])
{
    for (int r = 0; r < 3; r++)
        to[r] = m[4 * r] * v[0] + m[4 * r + 1] * v[1] + m[4 * r + 2] * v[2];
}

static bool make_unit(float v[3])
{
    float square = v[0] * v[0] + v[1] * v[1] + v[2] * v[2];
    if (fabsf(square - 1.0f) < 2e-6f) return true; /* as rotations leave it */
    if (!(square > 1e-20f) || !(square < 1e20f)) return false;
    float scale = 1.0f / sqrtf(square);
    for (int c = 0; c < 3; c++)
        v[c] *= scale;
    return true;
}

/* v by the shortest rotation from a to b, unit vectors: v - (h . v) h / (1 + a . b) + 2 (a . v) b, with h = a + b. */
static void swing(const float a[3], const float b[3], float v[3])
{
    const float h[3] = {a[0] + b[0], a[1] + b[1], a[2] + b[2]};
    float c = 1.0f + a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
    if (!(c > 0.05f)) return;
    float back = (h[0] * v[0] + h[1] * v[1] + h[2] * v[2]) / c, on = 2.0f * (a[0] * v[0] + a[1] * v[1] + a[2] * v[2]);
    for (int i = 0; i < 3; i++)
        v[i] += on * b[i] - back * h[i];
}

/* A direction of the bind pose, turned with its row and on to the tracked skin's normal. */
static void turn_direction(const shown_work *w, int64_t row, const float rest[3], float to[3])
{
    const float *m = w->input->turns + 12 * row, *now = w->packed + 8 * row + 4;
    const float *normal = w->shown->upsample.rest_normal + 3 * row;
    float from[3], v[3];
    turn(m, rest, v);
    turn(m, normal, from);
    if (make_unit(from)) swing(from, now, v);
    if (!make_unit(v)) memcpy(v, rest, sizeof v);
    memcpy(to, v, sizeof v);
}

static void show_some(void *work, int32_t begin, int32_t end, int32_t worker)
{
    const shown_work *w = work;
    const sup_skin_out *out = w->out;
    SUP_UNUSED(worker);
    for (int64_t i = begin; i < end; i++) {
        int64_t row = w->shown->row[i];
        size_t v = (size_t)w->shown->vertex[i];
        const float *p = w->input->rows + 4 * row;
        if (out->positions != NULL) {
            float *to = (float *)(void *)((char *)out->positions + v * out->position_stride);
            for (int c = 0; c < 3; c++)
                to[c] = (float)(w->input->origin[c] + w->input->size * (double)p[c]);
        }
        if (out->normals != NULL)
            turn_direction(w, row, w->shown->normal + 3 * i,
                           (float *)(void *)((char *)out->normals + v * out->normal_stride));
        if (out->tangents != NULL) {
            float *to = (float *)(void *)((char *)out->tangents + v * out->tangent_stride);
            turn_direction(w, row, w->shown->tangent + 4 * i, to);
            to[3] = w->shown->tangent[4 * i + 3];
        }
    }
}

/* From the origin to the world, for what upsampling wrote. */
static void move_blocks(const shown_work *w, const sup_upsample_clusters *blocks)
{
    for (int64_t i = 0; i < (int64_t)blocks->block_count * SUP_UPSAMPLE_CLUSTER; i++) {
        int32_t v = blocks->row_vertex[i];
        if (v < 0) continue;
        float *p = (float *)(void *)((char *)w->out->positions + (size_t)v * w->out->position_stride);
        for (int c = 0; c < 3; c++)
            p[c] = (float)((double)p[c] + w->input->origin[c]);
    }
}

sup_result sup_shown_apply(const sup_context *context, const sup_shown *shown, const sup_shown_input *input,
                           void *scratch, const sup_skin_out *out)
{
    int32_t rows = shown->upsample.coarse_count;
    unsigned char *after = (unsigned char *)scratch + padded((size_t)rows * 4 * sizeof(float));
    shown_work work = {shown, input, sup_upsample_rows(after), scratch, out};
    if (out->tangents != NULL && !shown->upsample.has_tangents) return SUP_ERROR_ARGUMENT;
    sup_parallel(context, rows, GRAIN, scale_some, &work);
    sup_result result = sup_upsample_apply(context, &shown->upsample, scratch, after, out);
    if (result != SUP_OK) return result;
    if (out->positions != NULL) {
        move_blocks(&work, &shown->upsample.plain);
        move_blocks(&work, &shown->upsample.riding);
    }
    sup_parallel(context, shown->own_count, GRAIN, show_some, &work);
    return SUP_OK;
}

/* upsample_open.c - the arrays of a model as a view, checked: whatever passes cannot read or write out of bounds. */
#include "upsample/upsample.h"

#include <math.h>

static sup_result damaged(sup_error *error, const char *array, const char *what)
{
    return sup_fail(error, SUP_ERROR_FORMAT, "upsample.model", array,
                    "The model is damaged: %s. Bind the character again.", what);
}

typedef struct array_reader {
    const sup_model *model;
    const char *prefix;
    const char *missing; /* the first array that is not there, or of another type or size; NULL for none */
} array_reader;

static const void *fetch(array_reader *reader, const char *name, sup_array_type type, int64_t count, bool optional)
{
    char full[64];
    sup_format(full, sizeof full, "%s%s", reader->prefix, name);
    const void *array = sup_model_array(reader->model, full, type, count);
    bool is_missing = array == NULL && !(optional && sup_model_array_count(reader->model, full) < 0);
    if (is_missing && reader->missing == NULL) reader->missing = name;
    return array;
}

static bool in_range(const int32_t *index, int64_t count, int32_t end)
{
    for (int64_t i = 0; i < count; i++)
        if (index[i] < 0 || index[i] >= end) return false;
    return true;
}

static bool all_within(const float *values, int64_t count, float limit)
{
    for (int64_t i = 0; i < count; i++)
        if (!(fabsf(values[i]) <= limit)) return false;
    return true;
}

static bool corners_are_sound(const sup_upsample *u)
{
    int64_t corners = 3 * (int64_t)u->coarse_triangle_count;
    if (u->corner_first[0] != 0 || u->corner_first[u->coarse_count] != corners) return false;
    for (int32_t v = 0; v < u->coarse_count; v++)
        if (u->corner_first[v] > u->corner_first[v + 1]) return false;
    return in_range(u->corner_triangle, corners, u->coarse_triangle_count) &&
           in_range(u->triangles, corners, u->coarse_count);
}

static sup_result check_values(const sup_upsample *u, sup_error *error)
{
    int64_t entries = (int64_t)u->row_count * u->slots;
    int64_t riding = (int64_t)(u->row_count - u->plain_count) * u->slots;
    if (!in_range(u->row_vertex, u->row_count, u->vertex_count))
        return damaged(error, "row_vertex", "a vertex is out of range");
    for (int64_t i = 0; u->narrow_index != NULL && i < entries; i++)
        if (u->narrow_index[i] >= u->coarse_count) return damaged(error, "index", "a neighbour is out of range");
    if (u->wide_index != NULL && !in_range(u->wide_index, entries, u->coarse_count))
        return damaged(error, "index", "a neighbour is out of range");
    if (!corners_are_sound(u)) return damaged(error, "triangles", "the coarse mesh is out of order");
    const float limit = 1e18f; /* far beyond any weight, and no product leaves the range of float */
    if (!all_within(u->plain, (int64_t)u->plain_count * u->slots * 2, limit) ||
        !all_within(u->riding, riding * 4, limit) || !all_within(u->rest_normal, 3 * (int64_t)u->coarse_count, 2.0f) ||
        (u->tangent != NULL &&
         (!all_within(u->tangent, entries * 2, limit) || !all_within(u->tangent_sign, u->row_count, 1.0f))))
        return damaged(error, "plain", "a weight is not a number");
    return SUP_OK;
}

sup_result sup_upsample_open(const sup_model *model, const char *prefix, sup_upsample *view, sup_error *error)
{
    array_reader r = {model, prefix, NULL};
    const int32_t *sizes = fetch(&r, "sizes", SUP_ARRAY_INT32, 6, false);
    if (sizes == NULL) return damaged(error, "sizes", "an array is missing or of another size");
    sup_upsample u = {.vertex_count = sizes[0], .coarse_count = sizes[1], .coarse_triangle_count = sizes[2]};
    u.slots = sizes[3];
    u.plain_count = sizes[4];
    u.row_count = sizes[5];
    if (u.vertex_count < 0 || u.coarse_count < 1 || u.coarse_triangle_count < 0 || u.slots < 4 || u.slots > 64 ||
        u.slots % 4 != 0 || u.plain_count < 0 || u.row_count < u.plain_count || u.row_count > u.vertex_count)
        return damaged(error, "sizes", "its counts do not fit together");
    int64_t rows = u.row_count, entries = rows * u.slots, corners = 3 * (int64_t)u.coarse_triangle_count;
    int64_t plain = (int64_t)u.plain_count * u.slots;
    u.row_vertex = fetch(&r, "row_vertex", SUP_ARRAY_INT32, rows, false);
    if (u.coarse_count <= 65536)
        u.narrow_index = fetch(&r, "index", SUP_ARRAY_UINT16, entries, false);
    else
        u.wide_index = fetch(&r, "index", SUP_ARRAY_INT32, entries, false);
    u.plain = fetch(&r, "plain", SUP_ARRAY_FLOAT, plain * 2, false);
    u.riding = fetch(&r, "riding", SUP_ARRAY_FLOAT, (entries - plain) * 4, false);
    u.tangent = fetch(&r, "tangent", SUP_ARRAY_FLOAT, entries * 2, true);
    u.tangent_sign = fetch(&r, "tangent_sign", SUP_ARRAY_FLOAT, rows, u.tangent == NULL);
    u.triangles = fetch(&r, "triangles", SUP_ARRAY_INT32, corners, false);
    u.corner_first = fetch(&r, "corner_first", SUP_ARRAY_INT32, (int64_t)u.coarse_count + 1, false);
    u.corner_triangle = fetch(&r, "corner_triangle", SUP_ARRAY_INT32, corners, false);
    u.rest_normal = fetch(&r, "rest_normal", SUP_ARRAY_FLOAT, 3 * (int64_t)u.coarse_count, false);
    if (r.missing != NULL) return damaged(error, r.missing, "an array is missing or of another size");
    sup_result result = check_values(&u, error);
    if (result == SUP_OK) *view = u;
    return result;
}

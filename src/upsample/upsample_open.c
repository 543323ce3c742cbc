/* upsample_open.c - validated view of the arrays of a model: a view cannot cause access out of bounds. */
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
    const char *missing; /* first array that is missing or has the wrong type or size, or NULL */
} array_reader;

static const void *fetch(array_reader *reader, const char *name, sup_array_type type, int64_t count)
{
    char full[64];
    sup_format(full, sizeof full, "%s%s", reader->prefix, name);
    const void *array = sup_model_array(reader->model, full, type, count);
    if (array == NULL && reader->missing == NULL) reader->missing = name;
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

static bool corners_are_valid(const sup_upsample *u)
{
    int64_t corners = 3 * (int64_t)u->coarse_triangle_count;
    if (u->corner_first[0] != 0 || u->corner_first[u->coarse_count] != corners) return false;
    for (int32_t v = 0; v < u->coarse_count; v++)
        if (u->corner_first[v] > u->corner_first[v + 1]) return false;
    return in_range(u->corner_triangle, corners, u->coarse_triangle_count) &&
           in_range(u->triangles, corners, u->coarse_count);
}

static bool vertices_are_valid(const sup_upsample_clusters *b, int32_t vertex_count)
{
    for (int64_t i = 0; i < (int64_t)b->cluster_count * SUP_UPSAMPLE_CLUSTER; i++) {
        bool is_first = i % SUP_UPSAMPLE_CLUSTER == 0;
        if (b->render_vertex[i] < -1 || b->render_vertex[i] >= vertex_count) return false;
        if (!is_first && b->render_vertex[i] >= 0 && b->render_vertex[i - 1] < 0) return false;
    }
    return true;
}

static bool entries_are_valid(const sup_upsample_clusters *b, int32_t coarse_count)
{
    if (b->first[0] != 0 || b->first[b->cluster_count] != b->entry_count) return false;
    for (int32_t i = 0; i < b->cluster_count; i++) /* at least one entry: a default normal */
        if (b->first[i] >= b->first[i + 1]) return false;
    for (int32_t i = 0; b->narrow_index != NULL && i < b->entry_count; i++)
        if (b->narrow_index[i] >= coarse_count) return false;
    return b->wide_index == NULL || in_range(b->wide_index, b->entry_count, coarse_count);
}

static sup_result check_clusters(const sup_upsample *u, const sup_upsample_clusters *b, sup_error *error)
{
    int64_t lanes = (int64_t)b->cluster_count * SUP_UPSAMPLE_CLUSTER;
    const float limit = 1e30f; /* a unit is at most the size of the skin */
    if (!vertices_are_valid(b, u->vertex_count)) return damaged(error, "vertices", "a vertex is out of range");
    if (!entries_are_valid(b, u->coarse_count)) return damaged(error, "index", "a neighbour is out of range");
    if (!all_within(b->units, lanes * b->channels, limit) ||
        (u->has_tangents &&
         (!all_within(b->tangent_units, lanes * 2, limit) || !all_within(b->tangent_signs, lanes, 1.0f))))
        return damaged(error, "units", "a weight is not a number");
    return SUP_OK;
}

static void fetch_clusters(array_reader *whole, const char *kind, const sup_upsample *u, sup_upsample_clusters *b)
{
    char prefix[64];
    array_reader r = {whole->model, prefix, NULL};
    sup_format(prefix, sizeof prefix, "%s%s", whole->prefix, kind);
    int64_t clusters = b->cluster_count, entries = b->entry_count;
    b->render_vertex = fetch(&r, "vertices", SUP_ARRAY_INT32, clusters * SUP_UPSAMPLE_CLUSTER);
    b->first = fetch(&r, "first", SUP_ARRAY_INT32, clusters + 1);
    if (u->coarse_count <= 65536)
        b->narrow_index = fetch(&r, "index", SUP_ARRAY_UINT16, entries);
    else
        b->wide_index = fetch(&r, "index", SUP_ARRAY_INT32, entries);
    b->weights = fetch(&r, "weights", SUP_ARRAY_UINT16, entries * b->channels * SUP_UPSAMPLE_CLUSTER);
    b->units = fetch(&r, "units", SUP_ARRAY_FLOAT, clusters * b->channels * SUP_UPSAMPLE_CLUSTER);
    if (u->has_tangents) {
        b->tangents = fetch(&r, "tangents", SUP_ARRAY_UINT16, entries * 2 * SUP_UPSAMPLE_CLUSTER);
        b->tangent_units = fetch(&r, "tan_units", SUP_ARRAY_FLOAT, clusters * 2 * SUP_UPSAMPLE_CLUSTER);
        b->tangent_signs = fetch(&r, "tan_signs", SUP_ARRAY_FLOAT, clusters * SUP_UPSAMPLE_CLUSTER);
    }
    if (whole->missing == NULL) whole->missing = r.missing;
}

static int32_t count_vertices(const sup_upsample_clusters *b)
{
    int32_t count = 0;
    for (int64_t i = 0; i < (int64_t)b->cluster_count * SUP_UPSAMPLE_CLUSTER; i++)
        count += b->render_vertex[i] >= 0;
    return count;
}

static bool counts_are_valid(const sup_upsample *u)
{
    const sup_upsample_clusters *kinds[] = {&u->plain, &u->followers};
    if (u->vertex_count < 0 || u->coarse_count < 1 || u->coarse_triangle_count < 0) return false;
    int64_t clusters = 0;
    for (int32_t k = 0; k < 2; k++) {
        if (kinds[k]->cluster_count < 0 || kinds[k]->entry_count < kinds[k]->cluster_count) return false;
        clusters += kinds[k]->cluster_count;
    }
    return clusters <= u->vertex_count;
}

sup_result sup_upsample_open(const sup_model *model, const char *prefix, sup_upsample *view, sup_error *error)
{
    array_reader r = {model, prefix, NULL};
    const int32_t *sizes = fetch(&r, "sizes", SUP_ARRAY_INT32, 8);
    if (sizes == NULL) return damaged(error, "sizes", "an array is missing or has the wrong size");
    sup_upsample u = {.vertex_count = sizes[0], .coarse_count = sizes[1], .coarse_triangle_count = sizes[2]};
    u.has_tangents = sizes[3] == 1;
    u.plain = (sup_upsample_clusters){.cluster_count = sizes[4], .entry_count = sizes[5], .channels = 2};
    u.followers = (sup_upsample_clusters){.cluster_count = sizes[6], .entry_count = sizes[7], .channels = 4};
    if (!counts_are_valid(&u) || (sizes[3] != 0 && sizes[3] != 1))
        return damaged(error, "sizes", "its array sizes are inconsistent");
    int64_t corners = 3 * (int64_t)u.coarse_triangle_count;
    fetch_clusters(&r, "plain_", &u, &u.plain);
    fetch_clusters(&r, "follow_", &u, &u.followers);
    u.triangles = fetch(&r, "triangles", SUP_ARRAY_INT32, corners);
    u.corner_first = fetch(&r, "corner_first", SUP_ARRAY_INT32, (int64_t)u.coarse_count + 1);
    u.corner_triangle = fetch(&r, "corner_triangle", SUP_ARRAY_INT32, corners);
    u.rest_normal = fetch(&r, "rest_normal", SUP_ARRAY_FLOAT, 3 * (int64_t)u.coarse_count);
    if (r.missing != NULL) return damaged(error, r.missing, "an array is missing or has the wrong size");
    if (!corners_are_valid(&u)) return damaged(error, "triangles", "a coarse triangle is out of range");
    if (!all_within(u.rest_normal, 3 * (int64_t)u.coarse_count, 2.0f))
        return damaged(error, "rest_normal", "a normal is not a number");
    sup_result result = check_clusters(&u, &u.plain, error);
    if (result == SUP_OK) result = check_clusters(&u, &u.followers, error);
    u.covered = count_vertices(&u.plain) + count_vertices(&u.followers);
    if (result == SUP_OK) *view = u;
    return result;
}

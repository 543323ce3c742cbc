/* detect_store.c - writes the arrays of contact detection to a model block, and reads them back with every index
 * checked. */
#include "contact/detect.h"

#include <math.h>

enum { SIZES = 6, ARRAYS = 18 };

/* One array: the address of its pointer, and its length. */
typedef struct stored_array {
    const char *name;
    const float **floats; /* one of the two */
    const int32_t **indices;
    int64_t count;
    int32_t minimum, maximum; /* of indices */
} stored_array;

static void list_arrays(sup_detect *d, int64_t ring_count, int64_t point_count, stored_array arrays[ARRAYS])
{
    const int32_t n = d->vertex_count, m = d->triangle_count;
    const stored_array all[ARRAYS] = {
        {"contact.edge", &d->edge, NULL, 1, 0, 0},
        {"contact.gap", &d->gap, NULL, n, 0, 0},
        {"contact.slack", &d->slack, NULL, n, 0, 0},
        {"contact.self_contact", NULL, &d->self_contact, (int64_t)n + m, 0, 1},
        {"contact.foot_parameter", &d->foot_parameter, NULL, n, 0, 0},
        {"contact.foot_segment", NULL, &d->foot_segment, n, 0, d->segment_count - 1},
        {"contact.triangles", NULL, &d->triangles, 3 * (int64_t)m, 0, n - 1},
        {"contact.adjacent", NULL, &d->adjacent, 3 * (int64_t)m, -1, m - 1},
        {"contact.fan_first", NULL, &d->fan_first, (int64_t)n + 1, 0, 3 * m},
        {"contact.fan", NULL, &d->fan, 3 * (int64_t)m, 0, m - 1},
        {"contact.ring_first", NULL, &d->ring_first, (int64_t)n + 1, 0, INT32_MAX},
        {"contact.ring", NULL, &d->ring, ring_count, 0, n - 1},
        {"contact.vertex_clusters", NULL, &d->vertex_clusters, (int64_t)d->vertex_cluster_count * SUP_DETECT_CLUSTER,
         -1, n - 1},
        {"contact.tet_cluster_first", NULL, &d->tet_cluster_first, (int64_t)d->tet_cluster_count + 1, 0, d->tet_count},
        {"contact.tet_cluster_point_first", NULL, &d->tet_cluster_point_first, (int64_t)d->tet_cluster_count + 1, 0,
         INT32_MAX},
        {"contact.tet_cluster_points", NULL, &d->tet_cluster_points, point_count, 0, 2 * n - 1},
        {"contact.tets", NULL, &d->tets, 4 * (int64_t)d->tet_count, 0, 2 * n - 1},
        {"contact.tet_triangle", NULL, &d->tet_triangle, d->tet_count, 0, m - 1}};
    memcpy(arrays, all, sizeof all);
}

sup_result sup_detect_store(const sup_detect *detect, sup_model_builder *builder, sup_error *error)
{
    sup_detect d = *detect;
    stored_array arrays[ARRAYS];
    const int32_t sizes[SIZES] = {d.vertex_count, d.triangle_count,       d.segment_count,
                                  d.tet_count,    d.vertex_cluster_count, d.tet_cluster_count};
    int32_t *stored = sup_model_add(builder, "contact.sizes", SUP_ARRAY_INT32, SIZES);
    if (stored == NULL) return sup_fail_memory(error, "contact detection");
    memcpy(stored, sizes, sizeof sizes);
    list_arrays(&d, d.ring_first[d.vertex_count], d.tet_cluster_point_first[d.tet_cluster_count], arrays);
    for (int32_t i = 0; i < ARRAYS; i++) {
        bool floats = arrays[i].floats != NULL;
        void *to = sup_model_add(builder, arrays[i].name, floats ? SUP_ARRAY_FLOAT : SUP_ARRAY_INT32, arrays[i].count);
        if (to == NULL) return sup_fail_memory(error, "contact detection");
        const void *from = floats ? (const void *)*arrays[i].floats : (const void *)*arrays[i].indices;
        memcpy(to, from, (size_t)arrays[i].count * 4);
    }
    return SUP_OK;
}

static bool array_fits(const stored_array *array)
{
    for (int64_t i = 0; i < array->count; i++) {
        if (array->floats != NULL) {
            float x = (*array->floats)[i];
            if (!(x >= 0.0f) || !isfinite(x)) return false;
        } else if ((*array->indices)[i] < array->minimum || (*array->indices)[i] > array->maximum)
            return false;
    }
    return true;
}

/* Starts of lists: from 0 up to `total`, at most `longest` entries each. */
static bool starts_fit(const int32_t *first, int32_t count, int64_t total, int32_t longest)
{
    if (first[0] != 0 || first[count] != total) return false;
    for (int32_t i = 0; i < count; i++)
        if (first[i + 1] < first[i] || first[i + 1] - first[i] > longest) return false;
    return true;
}

static bool view_arrays(const sup_model *model, sup_detect *d)
{
    stored_array arrays[ARRAYS];
    const int64_t ring_count = sup_model_array_count(model, "contact.ring");
    const int64_t point_count = sup_model_array_count(model, "contact.tet_cluster_points");
    if (ring_count < 0 || point_count < 0) return false;
    list_arrays(d, ring_count, point_count, arrays);
    for (int32_t i = 0; i < ARRAYS; i++) {
        bool floats = arrays[i].floats != NULL;
        const void *at =
            sup_model_array(model, arrays[i].name, floats ? SUP_ARRAY_FLOAT : SUP_ARRAY_INT32, arrays[i].count);
        if (at == NULL) return false;
        if (floats)
            *arrays[i].floats = at;
        else
            *arrays[i].indices = at;
        if (!array_fits(&arrays[i])) return false;
    }
    return starts_fit(d->fan_first, d->vertex_count, 3 * (int64_t)d->triangle_count, INT32_MAX) &&
           starts_fit(d->ring_first, d->vertex_count, ring_count, INT32_MAX) &&
           starts_fit(d->tet_cluster_first, d->tet_cluster_count, d->tet_count, SUP_DETECT_CLUSTER_TETS) &&
           starts_fit(d->tet_cluster_point_first, d->tet_cluster_count, point_count, INT32_MAX);
}

sup_result sup_detect_view(const sup_model *model, sup_detect *detect, sup_error *error)
{
    const int32_t *sizes = sup_model_array(model, "contact.sizes", SUP_ARRAY_INT32, SIZES);
    bool good = sizes != NULL;
    for (int32_t i = 0; good && i < SIZES; i++)
        good = sizes[i] >= 0 && sizes[i] <= INT32_MAX / 16;
    if (good) {
        sup_detect d = {.vertex_count = sizes[0],
                        .triangle_count = sizes[1],
                        .segment_count = sizes[2],
                        .tet_count = sizes[3],
                        .vertex_cluster_count = sizes[4],
                        .tet_cluster_count = sizes[5]};
        good = d.vertex_count > 0 && view_arrays(model, &d);
        if (good) *detect = d;
    }
    return good ? SUP_OK
                : sup_fail(error, SUP_ERROR_FORMAT, "contact.damaged", "",
                           "The model's arrays of contact detection are damaged: bind the character again.");
}

/* anchors_open.c - opens and checks the anchors of a model, which may come from a file: an evaluation of anchors that
 * pass stays within bounds and has finite results. */
#include "tissue/anchors.h"

typedef struct opener {
    const sup_model *model;
    const char *prefix;
    const char *missing; /* name of the first invalid array */
} opener;

static const void *find(opener *o, const char *name, sup_array_type type, int64_t count)
{
    char full[32];
    sup_format(full, sizeof full, "%s.%s", o->prefix, name);
    const void *array = sup_model_array(o->model, full, type, count);
    if (array == NULL && o->missing == NULL) o->missing = name;
    return array;
}

static int64_t count_of(opener *o, const char *name, int64_t each)
{
    char full[32];
    sup_format(full, sizeof full, "%s.%s", o->prefix, name);
    int64_t count = sup_model_array_count(o->model, full);
    if ((count < 0 || count % each != 0 || count > INT32_MAX) && o->missing == NULL) o->missing = name;
    return count / each;
}

static bool in_range(const int32_t *values, int64_t count, int64_t stride, int32_t minimum, int32_t end)
{
    for (int64_t i = 0; i < count; i++)
        if (values[i * stride] < minimum || values[i * stride] >= end) return false;
    return true;
}

static bool all_finite(const float *values, int64_t count)
{
    for (int64_t i = 0; i < count; i++)
        if (!isfinite(values[i]) || fabsf(values[i]) > 1e18f) return false;
    return true;
}

static bool is_ascending(const int32_t *first, int64_t count, int64_t last)
{
    if (first[0] != 0 || first[count] != last) return false;
    for (int64_t i = 0; i < count; i++)
        if (first[i + 1] < first[i]) return false;
    return true;
}

static void find_all(opener *o, sup_anchors *a, int64_t *rigid, int64_t *links)
{
    const int32_t *joints = find(o, "joint_count", SUP_ARRAY_INT32, 1);
    a->joint_count = joints != NULL ? joints[0] : 0;
    a->segment_count = (int32_t)count_of(o, "segment_joint", 3);
    a->sphere_count = (int32_t)count_of(o, "sphere_joint", 1);
    a->anchor_count = (int32_t)count_of(o, "anchor_vertex", 1);
    a->slide_count = (int32_t)count_of(o, "slide_index", 6);
    a->ring_count = (int32_t)count_of(o, "ring_frame", 1);
    a->twist_count = (int32_t)count_of(o, "twist_index", 2);
    a->attached_count = (int32_t)count_of(o, "attached_index", 2);
    *rigid = count_of(o, "rigid_out", 1);
    *links = count_of(o, "sphere_segments", 1);
    if (o->missing != NULL) return;
    a->frame_count = a->segment_count + a->sphere_count;
    a->anchor_vertex = find(o, "anchor_vertex", SUP_ARRAY_INT32, a->anchor_count);
    a->segment_joint = find(o, "segment_joint", SUP_ARRAY_INT32, 3 * (int64_t)a->segment_count);
    a->segment_rest = find(o, "segment_rest", SUP_ARRAY_FLOAT, 8 * (int64_t)a->segment_count);
    a->segment_radius = find(o, "segment_radius", SUP_ARRAY_FLOAT, a->segment_count);
    a->sphere_joint = find(o, "sphere_joint", SUP_ARRAY_INT32, a->sphere_count);
    a->sphere_rest = find(o, "sphere_rest", SUP_ARRAY_FLOAT, 4 * (int64_t)a->sphere_count);
    a->sphere_first = find(o, "sphere_first", SUP_ARRAY_INT32, (int64_t)a->sphere_count + 1);
    a->sphere_segments = find(o, "sphere_segments", SUP_ARRAY_INT32, *links);
    a->rigid_first = find(o, "rigid_first", SUP_ARRAY_INT32, (int64_t)a->frame_count + 1);
    a->rigid_out = find(o, "rigid_out", SUP_ARRAY_INT32, *rigid);
    a->rigid_rest = find(o, "rigid_rest", SUP_ARRAY_FLOAT, 3 * *rigid);
    a->slide_index = find(o, "slide_index", SUP_ARRAY_INT32, 6 * (int64_t)a->slide_count);
    a->slide_value = find(o, "slide_value", SUP_ARRAY_FLOAT, 8 * (int64_t)a->slide_count);
    a->ring_frame = find(o, "ring_frame", SUP_ARRAY_INT32, a->ring_count);
    a->ring_rest = find(o, "ring_rest", SUP_ARRAY_FLOAT, 3 * SUP_RING_POINTS * (int64_t)a->ring_count);
    a->twist_index = find(o, "twist_index", SUP_ARRAY_INT32, 2 * (int64_t)a->twist_count);
    a->attached_index = find(o, "attached_index", SUP_ARRAY_INT32, 2 * (int64_t)a->attached_count);
    a->attached_rest = find(o, "attached_rest", SUP_ARRAY_FLOAT, 3 * (int64_t)a->attached_count);
    a->twist_rest = find(o, "twist_rest", SUP_ARRAY_FLOAT, 4 * (int64_t)a->twist_count);
}

static bool indices_fit(const sup_anchors *a, int64_t rigid, int64_t links)
{
    int32_t points = a->ring_count * SUP_RING_POINTS;
    bool fit = in_range(a->segment_joint, a->segment_count, 3, 0, a->joint_count) &&
               in_range(a->segment_joint + 1, a->segment_count, 3, -1, a->joint_count) &&
               in_range(a->sphere_joint, a->sphere_count, 1, 0, a->joint_count) &&
               is_ascending(a->sphere_first, a->sphere_count, links) &&
               in_range(a->sphere_segments, links, 1, 0, 2 * a->segment_count) &&
               is_ascending(a->rigid_first, a->frame_count, rigid) &&
               in_range(a->rigid_out, rigid, 1, 0, a->anchor_count) &&
               in_range(a->ring_frame, a->ring_count, 1, 0, a->frame_count) &&
               in_range(a->slide_index + 4, a->slide_count, 6, 0, a->frame_count) &&
               in_range(a->slide_index + 5, a->slide_count, 6, 0, a->anchor_count) &&
               in_range(a->twist_index, a->twist_count, 2, 0, a->segment_count) &&
               in_range(a->twist_index + 1, a->twist_count, 2, 0, a->anchor_count) &&
               in_range(a->attached_index, a->attached_count, 2, 0, a->joint_count) &&
               in_range(a->attached_index + 1, a->attached_count, 2, 0, a->anchor_count) &&
               in_range(a->anchor_vertex, a->anchor_count, 1, 0, INT32_MAX);
    for (int k = 0; k < 4; k++)
        fit = fit && in_range(a->slide_index + k, a->slide_count, 6, 0, points);
    for (int32_t i = 1; i < a->anchor_count; i++)
        fit = fit && a->anchor_vertex[i] > a->anchor_vertex[i - 1];
    return fit && rigid + a->slide_count + a->twist_count + a->attached_count == a->anchor_count;
}

sup_result sup_anchors_open(const sup_model *model, const char *prefix, sup_anchors *anchors, sup_error *error)
{
    sup_anchors a = {0};
    opener o = {model, prefix, NULL};
    int64_t rigid = 0, links = 0;
    find_all(&o, &a, &rigid, &links);
    if (o.missing != NULL || a.segment_count > INT32_MAX / 64 || a.sphere_count > INT32_MAX / 64 ||
        a.ring_count > INT32_MAX / 64)
        return sup_fail(error, SUP_ERROR_FORMAT, "anchors.model", o.missing,
                        "The model is damaged: an array of its anchors is missing or has the wrong size. Bind again.");
    bool good = indices_fit(&a, rigid, links) && all_finite(a.segment_rest, 8 * (int64_t)a.segment_count) &&
                all_finite(a.segment_radius, a.segment_count) &&
                all_finite(a.sphere_rest, 4 * (int64_t)a.sphere_count) && all_finite(a.rigid_rest, 3 * rigid) &&
                all_finite(a.slide_value, 8 * (int64_t)a.slide_count) &&
                all_finite(a.ring_rest, 3 * SUP_RING_POINTS * (int64_t)a.ring_count) &&
                all_finite(a.attached_rest, 3 * (int64_t)a.attached_count) &&
                all_finite(a.twist_rest, 4 * (int64_t)a.twist_count);
    if (!good)
        return sup_fail(error, SUP_ERROR_FORMAT, "anchors.model", prefix,
                        "The model is damaged: its anchors are inconsistent. Bind again.");
    *anchors = a;
    return SUP_OK;
}

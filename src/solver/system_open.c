/* system_open.c - a view of a system's arrays, after checking everything that the step will index with. */
#include "solver/system_build.h"

#include <math.h>

typedef struct opener {
    const sup_model *model;
    const char *prefix;
    const char *missing; /* name of the first invalid array */
} opener;

static const void *array(opener *o, const char *name, sup_array_type type, int64_t count)
{
    char full[32];
    sup_system_name(o->prefix, name, full);
    const void *data = sup_model_array(o->model, full, type, count);
    if (data == NULL && o->missing == NULL) o->missing = name;
    return data;
}

static int64_t array_count(const opener *o, const char *name)
{
    char full[32];
    sup_system_name(o->prefix, name, full);
    return sup_model_array_count(o->model, full);
}

static void require(opener *o, bool holds, const char *name)
{
    if (!holds && o->missing == NULL) o->missing = name;
}

/* Offsets that start at 0, never decrease and end at `end`. */
static bool offsets_valid(const int32_t *first, int32_t count, int64_t end)
{
    bool valid = first[0] == 0 && first[count] == end;
    for (int32_t i = 0; i < count; i++)
        valid = valid && first[i] <= first[i + 1];
    return valid;
}

static bool in_range(const int32_t *values, int64_t count, int32_t low, int32_t end)
{
    bool valid = true;
    for (int64_t i = 0; i < count; i++)
        valid = valid && values[i] >= low && values[i] < end;
    return valid;
}

static bool all_finite(const float *values, int64_t count)
{
    bool finite = true;
    for (int64_t i = 0; i < count; i++)
        finite = finite && isfinite(values[i]);
    return finite;
}

static void open_head(opener *o, sup_system *s)
{
    const int32_t *head = array(o, "head", SUP_ARRAY_INT32, 8);
    const float *numbers = array(o, "numbers", SUP_ARRAY_FLOAT, 4);
    if (o->missing != NULL) return;
    s->skin_count = head[0];
    s->unknown_count = head[1];
    s->anchor_count = head[2];
    s->batch_count = head[3];
    s->cluster_count = head[4];
    s->anchored_batch_count = head[5];
    s->copy_count = head[6];
    s->is_static = head[7] != 0;
    s->time_step = numbers[0];
    s->size = numbers[1];
    s->weight_sum = numbers[2];
    s->volume = numbers[3];
    int64_t all = (int64_t)s->unknown_count + s->anchor_count, skin = s->skin_count;
    require(o,
            skin > 0 && skin <= INT32_MAX / 16 && s->unknown_count > 0 && s->anchor_count >= 0 &&
                (all == 2 * skin || all == 3 * skin),
            "head");
    s->vertex_count = (int32_t)all;
    require(o, s->batch_count >= 0 && s->cluster_count > 0 && s->copy_count > 0, "head");
    require(o, s->time_step > 0.0f && s->size > 0.0f && s->weight_sum >= 0.0f && s->volume >= 0.0f, "numbers");
    require(o, all_finite(numbers, 4), "numbers");
}

static void open_factor(opener *o, sup_system *s)
{
    int64_t ints = array_count(o, "factor"), floats = array_count(o, "factor_values"),
            subdomains = array_count(o, "subdomains");
    const int32_t *factor = array(o, "factor", SUP_ARRAY_INT32, ints);
    const float *values = array(o, "factor_values", SUP_ARRAY_FLOAT, floats);
    const int32_t *data = array(o, "subdomains", SUP_ARRAY_INT32, subdomains);
    if (o->missing != NULL) return;
    require(o, sup_float_factor_check(factor, ints, values, floats), "factor");
    if (o->missing != NULL) return;
    s->factor = sup_float_factor_view(factor, values);
    require(o, s->factor.size == s->unknown_count, "factor");
    require(o, sup_float_subdomains_check(&s->factor, data, subdomains), "subdomains");
    if (o->missing == NULL) s->subdomains = sup_float_subdomains_view(data);
}

static void open_vertices(opener *o, sup_system *s)
{
    int32_t n = s->unknown_count, all = n + s->anchor_count;
    s->node = array(o, "node", SUP_ARRAY_INT32, all);
    s->anchor = array(o, "anchor", SUP_ARRAY_INT32, s->anchor_count);
    s->rest = array(o, "rest", SUP_ARRAY_FLOAT, (int64_t)all * 4);
    s->mass = array(o, "mass", SUP_ARRAY_FLOAT, n);
    s->diagonal = array(o, "diagonal", SUP_ARRAY_FLOAT, n);
    s->coupling_first = array(o, "coupling_first", SUP_ARRAY_INT32, (int64_t)n + 1);
    if (o->missing != NULL) return;
    require(o, in_range(s->node, all, 0, all), "node");
    require(o, in_range(s->anchor, s->anchor_count, 0, all), "anchor");
    require(o, all_finite(s->rest, (int64_t)all * 4), "rest");
    require(o, all_finite(s->mass, n), "mass");
    require(o, all_finite(s->diagonal, n), "diagonal");
    int64_t count = array_count(o, "coupling_anchor");
    s->coupling_anchor = array(o, "coupling_anchor", SUP_ARRAY_INT32, count);
    s->coupling_value = array(o, "coupling_value", SUP_ARRAY_FLOAT, count);
    if (o->missing != NULL) return;
    require(o, offsets_valid(s->coupling_first, n, count), "coupling_first");
    require(o, in_range(s->coupling_anchor, count, 0, s->anchor_count), "coupling_anchor");
    require(o, all_finite(s->coupling_value, count), "coupling_value");
}

static bool all_below(const uint16_t *values, int64_t count, int32_t end)
{
    bool valid = true;
    for (int64_t i = 0; i < count; i++)
        valid = valid && values[i] < end;
    return valid;
}

/* Clusters cover all batches and all copies, in order. */
static bool clusters_valid(const sup_system *s)
{
    int32_t batch = 0, anchored = 0, copy = 0;
    for (int32_t k = 0; k < s->cluster_count; k++) {
        const sup_system_cluster *p = &s->clusters[k];
        if (p->batch_first != batch || p->batch_mixed < batch || p->batch_end < p->batch_mixed ||
            p->batch_end > s->batch_count || p->anchor_first != anchored || p->copy_first != copy ||
            p->copy_inner < copy || p->copy_end < p->copy_inner || p->copy_end > s->copy_count)
            return false;
        for (int64_t b = p->batch_first; b < p->batch_end; b++) {
            const uint16_t *corner = s->corner + b * SUP_PRISM_CORNERS, *inner = corner + SUP_PRISM_CORNERS / 2;
            int32_t copied = p->copy_inner - copy, all = b < p->batch_mixed ? p->copy_end - copy : copied;
            if (!all_below(corner, SUP_PRISM_CORNERS / 2, copied)) return false;
            if (!all_below(inner, SUP_PRISM_CORNERS / 2, all)) return false;
        }
        batch = p->batch_end;
        anchored += p->batch_mixed - p->batch_first;
        copy = p->copy_end;
    }
    return batch == s->batch_count && anchored == s->anchored_batch_count && copy == s->copy_count;
}

static void open_batches(opener *o, sup_system *s)
{
    int32_t n = s->unknown_count;
    const int32_t *clusters = array(o, "clusters", SUP_ARRAY_INT32, (int64_t)7 * s->cluster_count);
    int64_t sums = array_count(o, "sum_from");
    s->clusters = (const sup_system_cluster *)(const void *)clusters;
    s->tets = array(o, "tets", SUP_ARRAY_FLOAT, (int64_t)s->batch_count * SUP_PRISM_FLOATS);
    s->corner = array(o, "corner", SUP_ARRAY_UINT16, (int64_t)s->batch_count * SUP_PRISM_CORNERS);
    s->copy_node = array(o, "copy_node", SUP_ARRAY_INT32, s->copy_count);
    s->sum_first = array(o, "sum_first", SUP_ARRAY_INT32, (int64_t)n + 1);
    s->sum_from = array(o, "sum_from", SUP_ARRAY_INT32, sums);
    if (o->missing != NULL) return;
    require(o, clusters_valid(s), "clusters");
    require(o, all_finite(s->tets, (int64_t)s->batch_count * SUP_PRISM_FLOATS), "tets");
    require(o, offsets_valid(s->sum_first, n, sums), "sum_first");
    require(o, in_range(s->sum_from, sums, 0, s->copy_count), "sum_from");
    require(o, in_range(s->copy_node, s->copy_count, 0, n + s->anchor_count), "copy_node");
}

/* Batches blend only region slots of their own cluster. */
static bool blends_valid(const sup_system *s)
{
    bool valid = true;
    for (int32_t k = 0; k < s->cluster_count; k++) {
        int32_t first = s->blend_first[s->clusters[k].batch_first], end = s->blend_first[s->clusters[k].batch_end];
        valid = valid && in_range(s->blend_region_slot + first, end - first, s->region_slot_first[k],
                                  s->region_slot_first[k + 1]);
    }
    return valid;
}

static void open_volume(opener *o, sup_system *s)
{
    const int32_t *head = array(o, "volume", SUP_ARRAY_INT32, 2);
    if (o->missing != NULL || !(s->volume > 0.0f)) return;
    s->bone_count = head[0];
    s->region_count = head[1];
    require(o, s->bone_count > 0 && s->region_count > 0 && s->region_count <= INT32_MAX / 4, "volume");
    if (o->missing != NULL) return;
    int64_t region_slots = array_count(o, "region_slot_region"), blends = array_count(o, "blend_region_slot");
    s->foot_bone = array(o, "foot_bone", SUP_ARRAY_INT32, s->skin_count);
    s->foot_along = array(o, "foot_along", SUP_ARRAY_FLOAT, s->skin_count);
    s->region_volume = array(o, "region_volume", SUP_ARRAY_FLOAT, s->region_count);
    s->region_slot_first = array(o, "region_slot_first", SUP_ARRAY_INT32, (int64_t)s->cluster_count + 1);
    s->region_slot_region = array(o, "region_slot_region", SUP_ARRAY_INT32, region_slots);
    s->blend_first = array(o, "blend_first", SUP_ARRAY_INT32, (int64_t)s->batch_count + 1);
    s->blend_region_slot = array(o, "blend_region_slot", SUP_ARRAY_INT32, blends);
    s->blend_weight = array(o, "blend_weight", SUP_ARRAY_FLOAT, blends * SUP_PRISM_LANES);
    if (o->missing != NULL) return;
    require(o, in_range(s->foot_bone, s->skin_count, 0, s->bone_count), "foot_bone");
    require(o, all_finite(s->foot_along, s->skin_count), "foot_along");
    require(o, all_finite(s->region_volume, s->region_count), "region_volume");
    require(o, offsets_valid(s->region_slot_first, s->cluster_count, region_slots), "region_slot_first");
    require(o, in_range(s->region_slot_region, region_slots, 0, s->region_count), "region_slot_region");
    require(o, offsets_valid(s->blend_first, s->batch_count, blends), "blend_first");
    require(o, all_finite(s->blend_weight, blends * SUP_PRISM_LANES), "blend_weight");
    if (o->missing != NULL) return;
    s->region_slot_count = (int32_t)region_slots;
    require(o, blends_valid(s), "blend_region_slot");
}

sup_result sup_system_open(const sup_model *model, const char *prefix, sup_system *system, sup_error *error)
{
    opener o = {model, prefix, NULL};
    sup_system s;
    memset(&s, 0, sizeof s);
    open_head(&o, &s);
    if (o.missing == NULL) open_factor(&o, &s);
    if (o.missing == NULL) open_vertices(&o, &s);
    if (o.missing == NULL) open_batches(&o, &s);
    if (o.missing == NULL) open_volume(&o, &s);
    if (o.missing != NULL)
        return sup_fail(error, SUP_ERROR_FORMAT, "system.damaged", o.missing,
                        "The model's array \"%s.%s\" is missing or damaged: bind the character again.", prefix,
                        o.missing);
    *system = s;
    return SUP_OK;
}

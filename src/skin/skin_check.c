/* skin_check.c - validation of a skin model: a model that passes cannot cause access out of bounds or results that are
 * not finite. */
#include "skin/skin.h"

#include <math.h>

static sup_result damaged(sup_error *error, const char *array, const char *what)
{
    return sup_fail(error, SUP_ERROR_FORMAT, "skin.model", array, "The model is damaged: %s. Bind the character again.",
                    what);
}

typedef struct expected_array {
    const char *name;
    sup_array_type type;
    int64_t count;
} expected_array;

static sup_result check_presence(const sup_model *model, const sup_skin_model *skin, sup_error *error)
{
    int64_t joints = skin->joint_count, clusters = skin->cluster_count, morphs = skin->morphs.count;
    if (joints < 1 || skin->window_count < 1 || clusters < 1 || morphs < 0 || skin->vertex_count < 1 ||
        (skin->vertex_count - 1) / SUP_SKIN_WINDOW + 1 != skin->window_count || clusters > INT32_MAX / SUP_SKIN_CLUSTER)
        return damaged(error, "", "its array sizes are inconsistent");
    const expected_array expected[] = {
        {"joint_node", SUP_ARRAY_INT32, joints},
        {"joint_inverse_bind", SUP_ARRAY_FLOAT, joints * 12},
        {"joint_centre", SUP_ARRAY_FLOAT, joints * 3},
        {"extent", SUP_ARRAY_FLOAT, 1},
        {"window_first", SUP_ARRAY_INT32, skin->window_count + 1},
        {"joint_first", SUP_ARRAY_INT32, clusters + 1},
        {"weight_first", SUP_ARRAY_INT32, clusters + 1},
        {"joints", SUP_ARRAY_UINT16, -1},
        {"weights", SUP_ARRAY_FLOAT, -1},
        {"strongest", SUP_ARRAY_BYTE, clusters * SUP_SKIN_CLUSTER},
        {"vertex", SUP_ARRAY_UINT16, clusters * SUP_SKIN_CLUSTER},
        {"positions", SUP_ARRAY_FLOAT, clusters * SUP_SKIN_CHANNEL},
        {"normals", SUP_ARRAY_FLOAT, clusters * SUP_SKIN_CHANNEL},
        {"morph_weight", SUP_ARRAY_INT32, morphs},
        {"morph_extent", SUP_ARRAY_FLOAT, morphs},
        {"morph_first", SUP_ARRAY_INT32, skin->window_count * morphs + 1},
        {"morph_slot", SUP_ARRAY_INT32, -1},
        {"morph_offsets", SUP_ARRAY_FLOAT, sup_model_array_count(model, "morph_slot") * 6},
        {"tangents", SUP_ARRAY_FLOAT, clusters * SUP_SKIN_CLUSTER * 4},
    };
    int32_t count = SUP_COUNT(expected) - (sup_model_array_count(model, "tangents") < 0 ? 1 : 0);
    for (int32_t i = 0; i < count; i++)
        if (sup_model_array(model, expected[i].name, expected[i].type, expected[i].count) == NULL)
            return damaged(error, expected[i].name, "an array is missing or has the wrong size");
    return SUP_OK;
}

/* Starts with 0, ends with `last`, never decreases. */
static bool is_ascending(const int32_t *first, int64_t count, int64_t last)
{
    if (first[0] != 0 || first[count] != last) return false;
    for (int64_t i = 0; i < count; i++)
        if (first[i + 1] < first[i]) return false;
    return true;
}

static bool within(const float *values, int64_t count, float limit)
{
    for (int64_t i = 0; i < count; i++)
        if (!(fabsf(values[i]) <= limit)) return false;
    return true;
}

static bool cluster_is_valid(const sup_skin_model *skin, int32_t cluster)
{
    int32_t weights = skin->weight_first[cluster + 1] - skin->weight_first[cluster], slots = weights / SUP_SKIN_CLUSTER;
    int32_t joints = skin->joint_first[cluster + 1] - skin->joint_first[cluster];
    bool shared = joints == slots;
    if (weights % SUP_SKIN_CLUSTER != 0 || slots < 1 || (shared && slots > SUP_SKIN_SHARED)) return false;
    if (!shared && (int64_t)joints != (int64_t)slots * SUP_SKIN_CLUSTER) return false;
    for (int32_t i = 0; i < joints; i++)
        if (skin->joints[skin->joint_first[cluster] + i] >= skin->joint_count) return false;
    for (int32_t lane = 0; lane < SUP_SKIN_CLUSTER; lane++) {
        const float *weight = skin->weights + skin->weight_first[cluster] + lane;
        int32_t strongest = skin->strongest[(int64_t)cluster * SUP_SKIN_CLUSTER + lane];
        double sum = 0.0;
        if (strongest >= slots || (!shared && strongest != 0)) return false;
        for (int32_t slot = 0; slot < slots; slot++) {
            float w = weight[slot * SUP_SKIN_CLUSTER];
            /* Dual quaternions divide by a length; the strongest weight keeps it away from zero. */
            if (!(w >= 0.0f) || w > weight[strongest * SUP_SKIN_CLUSTER] * 1.001f) return false;
            sum += (double)w;
        }
        if (!(fabs(sum - 1.0) < 1e-3)) return false;
    }
    return true;
}

/* Every vertex of the window is in some lane, and no other vertex is. */
static bool window_is_covered(const sup_skin_model *skin, int32_t window)
{
    bool seen[SUP_SKIN_WINDOW] = {false};
    int32_t remaining = skin->vertex_count - window * SUP_SKIN_WINDOW, covered = 0;
    int32_t count = remaining < SUP_SKIN_WINDOW ? remaining : SUP_SKIN_WINDOW;
    for (int64_t slot = (int64_t)skin->window_first[window] * SUP_SKIN_CLUSTER;
         slot < (int64_t)skin->window_first[window + 1] * SUP_SKIN_CLUSTER; slot++) {
        int32_t v = skin->vertex[slot];
        if (v >= count) return false;
        covered += !seen[v];
        seen[v] = true;
    }
    return covered == count;
}

static sup_result check_clusters(const sup_model *model, const sup_skin_model *skin, sup_error *error)
{
    if (!is_ascending(skin->window_first, skin->window_count, skin->cluster_count))
        return damaged(error, "window_first", "its windows are not in ascending order");
    if (!is_ascending(skin->joint_first, skin->cluster_count, sup_model_array_count(model, "joints")) ||
        !is_ascending(skin->weight_first, skin->cluster_count, sup_model_array_count(model, "weights")))
        return damaged(error, "joint_first", "its clusters are not in ascending order");
    for (int32_t cluster = 0; cluster < skin->cluster_count; cluster++)
        if (!cluster_is_valid(skin, cluster)) return damaged(error, "weights", "a joint or weight is out of range");
    for (int32_t window = 0; window < skin->window_count; window++)
        if (!window_is_covered(skin, window)) return damaged(error, "vertex", "a vertex is missing or out of range");
    return SUP_OK;
}

static sup_result check_numbers(const sup_model *model, const sup_skin_model *skin, sup_error *error)
{
    for (int32_t j = 0; j < skin->joint_count; j++)
        if (skin->joint_node[j] < 0 || skin->joint_node[j] >= sup_model_node_count(model))
            return damaged(error, "joint_node", "a joint has no node");
    int64_t clusters = skin->cluster_count, joints = skin->joint_count;
    if (!(skin->extent >= 0.0f && skin->extent <= SUP_SKIN_LIMIT) ||
        !within(skin->positions, clusters * SUP_SKIN_CHANNEL, skin->extent))
        return damaged(error, "positions", "a position is out of range");
    if (!within(skin->normals, clusters * SUP_SKIN_CHANNEL, 2.0f) ||
        (skin->tangents != NULL && !within(skin->tangents, clusters * SUP_SKIN_CLUSTER * 4, 2.0f)))
        return damaged(error, "normals", "a normal or tangent is out of range");
    if (!within(skin->joint_inverse_bind, joints * 12, SUP_SKIN_LIMIT) ||
        !within(skin->joint_centre, joints * 3, 3e38f))
        return damaged(error, "joint_inverse_bind", "a joint matrix is out of range");
    return SUP_OK;
}

static sup_result check_morphs(const sup_model *model, const sup_skin_model *skin, sup_error *error)
{
    const sup_skin_morphs *morphs = &skin->morphs;
    int64_t entries = sup_model_array_count(model, "morph_slot");
    if (!is_ascending(morphs->first, (int64_t)skin->window_count * morphs->count, entries))
        return damaged(error, "morph_first", "its morph targets are not in ascending order");
    for (int32_t m = 0; m < morphs->count; m++) {
        if (morphs->weight[m] < 0 || morphs->weight[m] >= sup_model_morph_weight_count(model) ||
            !(morphs->extent[m] >= 0.0f && morphs->extent[m] <= SUP_SKIN_LIMIT))
            return damaged(error, "morph_weight", "a morph target is out of range");
        for (int32_t window = 0; window < skin->window_count; window++) {
            const int32_t *range = morphs->first + (int64_t)window * morphs->count + m;
            for (int32_t e = range[0]; e < range[1]; e++)
                if (morphs->slot[e] < skin->window_first[window] * SUP_SKIN_CLUSTER ||
                    morphs->slot[e] >= skin->window_first[window + 1] * SUP_SKIN_CLUSTER ||
                    !within(morphs->offsets + 6 * (int64_t)e, 6, morphs->extent[m]))
                    return damaged(error, "morph_slot", "an offset of a morph target is out of range");
        }
    }
    return SUP_OK;
}

sup_result sup_skin_check(const sup_model *model, sup_error *error)
{
    sup_skin_model skin = sup_skin_open(model);
    sup_result result = check_presence(model, &skin, error);
    if (result == SUP_OK) result = check_clusters(model, &skin, error);
    if (result == SUP_OK) result = check_numbers(model, &skin, error);
    if (result == SUP_OK) result = check_morphs(model, &skin, error);
    return result;
}

sup_result sup_skin_check_values(const sup_model *model, const char *name, int32_t channels, bool per_slot, float limit,
                                 sup_error *error)
{
    int64_t lanes = sup_model_array_count(model, per_slot ? "weights" : "vertex");
    const float *values = sup_model_array(model, name, SUP_ARRAY_FLOAT, lanes * channels);
    if (values == NULL) return damaged(error, name, "an array is missing or has the wrong size");
    if (!within(values, lanes * channels, limit)) return damaged(error, name, "a number is out of range");
    return SUP_OK;
}

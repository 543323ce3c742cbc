/* skin_bind.c - sorts the vertices of a rig into windows, clusters and lanes. */
#include "bind/model.h"
#include "math/affine.h"
#include "skin/skin_bind.h"

#include <float.h>

static sup_result bad_rig(sup_error *error, int32_t vertex, const char *what)
{
    return sup_fail(error, SUP_ERROR_DATA, "skin.rig", "", "Vertex %d of the rig %s.", vertex, what);
}

/* Writes the influences of a vertex to list[]: strongest first, then by joint, each joint once, weights sum to 1.
 * Returns their count, or -1 for invalid influences. */
static int32_t clean_influences(const sup_rig *rig, int32_t vertex, sup_skin_influence *list)
{
    int32_t count = 0;
    double sum = 0.0;
    for (int32_t i = rig->influence_first[vertex]; i < rig->influence_first[vertex + 1]; i++) {
        int32_t joint = rig->influence_joint[i], k = 0;
        double weight = (double)rig->influence_weight[i];
        if (joint < 0 || joint >= rig->joint_count || !(weight >= 0.0) || !isfinite(weight)) return -1;
        if (weight == 0.0) continue;
        sum += weight;
        while (k < count && list[k].joint != joint)
            k++;
        if (k == count) list[count++] = (sup_skin_influence){joint, 0.0};
        list[k].weight += weight;
    }
    if (!(sum > 0.0)) return -1;
    for (int32_t i = 0; i < count; i++) {
        sup_skin_influence moved = list[i];
        int32_t k = i;
        moved.weight /= sum;
        for (; k > 0 && (list[k - 1].weight < moved.weight ||
                         (list[k - 1].weight == moved.weight && list[k - 1].joint > moved.joint));
             k--)
            list[k] = list[k - 1];
        list[k] = moved;
    }
    return count;
}

/* Fills first, influences and sorted joints of all vertices. */
static sup_result gather_influences(const sup_rig *rig, sup_skin_builder *b, sup_error *error)
{
    int32_t total = 0;
    for (int32_t v = 0; v < rig->vertex_count; v++) {
        b->first[v] = total;
        if (rig->influence_first[v + 1] <= rig->influence_first[v]) return bad_rig(error, v, "has no influence");
        int32_t count = clean_influences(rig, v, b->influences + total);
        if (count < 0) return bad_rig(error, v, "has an influence that is not a joint with a finite weight");
        for (int32_t i = 0; i < count; i++) { /* insertion sort: the lists are short */
            uint16_t joint = (uint16_t)b->influences[total + i].joint;
            int32_t k = total + i;
            for (; k > total && b->sorted[k - 1] > joint; k--)
                b->sorted[k] = b->sorted[k - 1];
            b->sorted[k] = joint;
        }
        total += count;
    }
    b->first[rig->vertex_count] = total;
    return SUP_OK;
}

/* Adjusts the last weight of a lane so that the float sum from the first slot to the last, the order of the kernels, is
 * exactly one. Joints in the bind pose then reproduce the bind positions bit for bit. */
static void make_sum_exact(float *weights, int32_t slots)
{
    for (int32_t last = slots - 1; last >= 0; last--) {
        float sum = 0.0f;
        for (int32_t slot = 0; slot < last; slot++)
            sum += weights[slot * SUP_SKIN_CLUSTER];
        if (weights[last * SUP_SKIN_CLUSTER] == 0.0f) continue;
        weights[last * SUP_SKIN_CLUSTER] = sum < 1.0f ? 1.0f - sum : 0.0f;
        if (sum < 1.0f) return;
    }
}

/* Appends a cluster of lane_count vertices; unused lanes repeat the last one. joints is NULL for a list per lane. */
static bool emit_cluster(sup_skin_builder *b, int32_t window, const int32_t *vertices, int32_t lane_count,
                         const uint16_t *joints, int32_t slots)
{
    const sup_allocator *allocator = b->allocator;
    int32_t joint_count = joints != NULL ? slots : slots * SUP_SKIN_CLUSTER;
    int32_t *joint_first = sup_array_push(allocator, &b->joint_first, 1);
    int32_t *weight_first = sup_array_push(allocator, &b->weight_first, 1);
    uint16_t *cluster_joints = sup_array_push(allocator, &b->joints, (size_t)joint_count);
    float *weights = sup_array_push(allocator, &b->weights, (size_t)slots * SUP_SKIN_CLUSTER);
    unsigned char *strongest = sup_array_push(allocator, &b->strongest, SUP_SKIN_CLUSTER);
    uint16_t *vertex = sup_array_push(allocator, &b->vertex, SUP_SKIN_CLUSTER);
    if (joint_first == NULL || weight_first == NULL || cluster_joints == NULL || weights == NULL || strongest == NULL ||
        vertex == NULL || b->weights.count > INT32_MAX || b->joints.count > INT32_MAX)
        return false;
    *joint_first = (int32_t)b->joints.count; /* start of the next cluster; entry 0 is zero */
    *weight_first = (int32_t)b->weights.count;
    memset(weights, 0, (size_t)slots * SUP_SKIN_CLUSTER * sizeof *weights);
    if (joints != NULL) memcpy(cluster_joints, joints, (size_t)slots * sizeof *joints);
    for (int32_t lane = 0; lane < SUP_SKIN_CLUSTER; lane++) {
        int32_t v = vertices[lane < lane_count ? lane : lane_count - 1];
        const sup_skin_influence *list = b->influences + b->first[v];
        int32_t count = b->first[v + 1] - b->first[v];
        vertex[lane] = (uint16_t)(v - window * SUP_SKIN_WINDOW);
        strongest[lane] = 0;
        for (int32_t i = 0; i < slots; i++) {
            int32_t slot = i;
            if (joints == NULL)
                cluster_joints[i * SUP_SKIN_CLUSTER + lane] = (uint16_t)list[i < count ? i : 0].joint;
            else if (i < count)
                for (slot = 0; joints[slot] != list[i].joint;)
                    slot++;
            if (i >= count) continue;
            weights[slot * SUP_SKIN_CLUSTER + lane] = (float)list[i].weight;
            if (i == 0) strongest[lane] = (unsigned char)slot;
        }
        make_sum_exact(weights + lane, slots);
    }
    return true;
}

/* Union of joints[count] and the joints of a vertex, all ascending, to `out`. Returns its length, or -1 beyond
 * `limit`. */
static int32_t merge_joints(const sup_skin_builder *b, const uint16_t *joints, int32_t count, int32_t vertex,
                            int32_t limit, uint16_t *out)
{
    const uint16_t *other = b->sorted + b->first[vertex];
    int32_t other_count = b->first[vertex + 1] - b->first[vertex], i = 0, k = 0, size = 0;
    while (i < count || k < other_count) {
        if (size == limit) return -1;
        bool from_joints = k == other_count || (i < count && joints[i] <= other[k]);
        if (i < count && k < other_count && joints[i] == other[k]) k++;
        out[size++] = from_joints ? joints[i++] : other[k++];
    }
    return size;
}

/* Maximum number of shared joints of a cluster: beyond twice the influences of a vertex, a list per lane is faster. */
static int32_t shared_limit(int32_t influence_count)
{
    int32_t limit = influence_count < 2 ? 4 : 2 * influence_count;
    return limit < SUP_SKIN_SHARED ? limit : SUP_SKIN_SHARED;
}

typedef struct shared_cluster {
    int32_t rest_index[SUP_SKIN_CLUSTER]; /* indices into the list of remaining vertices */
    int32_t lanes;
    uint16_t joints[SUP_SKIN_SHARED];
    int32_t joint_count;
} shared_cluster;

/* Grows a cluster from the first remaining vertex; greedily adds the vertex that needs the fewest new joints among the
 * next CANDIDATES. */
static shared_cluster grow_cluster(const sup_skin_builder *b, const int32_t *rest, int32_t rest_count)
{
    enum { CANDIDATES = 48 };
    shared_cluster cluster = {.lanes = 0};
    bool used[CANDIDATES] = {false};
    int32_t near_count = rest_count < CANDIDATES ? rest_count : CANDIDATES, max_count = 0;
    while (cluster.lanes < SUP_SKIN_CLUSTER) {
        int32_t best = -1, best_size = SUP_SKIN_SHARED + 1;
        uint16_t joints[SUP_SKIN_SHARED];
        for (int32_t i = 0; i < near_count && best_size > cluster.joint_count; i++) {
            int32_t count = b->first[rest[i] + 1] - b->first[rest[i]];
            if (used[i]) continue;
            int32_t size = merge_joints(b, cluster.joints, cluster.joint_count, rest[i],
                                        shared_limit(count > max_count ? count : max_count), joints);
            if (size >= 0 && size < best_size) {
                best = i;
                best_size = size;
            }
            if (cluster.lanes == 0) break; /* always starts with the first vertex */
        }
        if (best < 0) break;
        int32_t count = b->first[rest[best] + 1] - b->first[rest[best]];
        max_count = count > max_count ? count : max_count;
        cluster.joint_count = merge_joints(b, cluster.joints, cluster.joint_count, rest[best], SUP_SKIN_SHARED, joints);
        memcpy(cluster.joints, joints, sizeof joints);
        cluster.rest_index[cluster.lanes++] = best;
        used[best] = true;
    }
    return cluster;
}

static void sort_int32(int32_t *values, int32_t count)
{
    for (int32_t i = 1; i < count; i++) {
        int32_t value = values[i], k = i;
        for (; k > 0 && values[k - 1] > value; k--)
            values[k] = values[k - 1];
        values[k] = value;
    }
}

/* Moves the vertices at the ascending indices[count] from the list `rest` to vertices[]; returns the new length. */
static int32_t remove_at(int32_t *rest, int32_t rest_count, const int32_t *indices, int32_t count, int32_t *vertices)
{
    int32_t kept = indices[0], next = 0;
    for (int32_t i = indices[0]; i < rest_count; i++) {
        if (next < count && i == indices[next])
            vertices[next++] = rest[i];
        else
            rest[kept++] = rest[i];
    }
    return kept;
}

/* Clusters of vertices with different joints: shared joints where enough are in common, else a list per lane. */
static bool emit_rest(sup_skin_builder *b, int32_t window, int32_t *rest, int32_t rest_count)
{
    while (rest_count > 0) {
        int32_t vertices[SUP_SKIN_CLUSTER];
        shared_cluster cluster = grow_cluster(b, rest, rest_count);
        bool shared = cluster.lanes >= SUP_SKIN_CLUSTER * 3 / 4 || (cluster.lanes == rest_count && cluster.lanes > 0);
        int32_t lanes = shared ? cluster.lanes : (rest_count < SUP_SKIN_CLUSTER ? rest_count : SUP_SKIN_CLUSTER);
        int32_t slots = cluster.joint_count;
        if (!shared)
            for (int32_t i = slots = 0; i < lanes; i++) {
                int32_t count = b->first[rest[i] + 1] - b->first[rest[i]];
                slots = count > slots ? count : slots;
                cluster.rest_index[i] = i;
            }
        sort_int32(cluster.rest_index, lanes);
        rest_count = remove_at(rest, rest_count, cluster.rest_index, lanes, vertices);
        sort_int32(vertices, lanes);
        if (!emit_cluster(b, window, vertices, lanes, shared ? cluster.joints : NULL, slots)) return false;
    }
    return true;
}

/* Order by number of joints, then joints, then vertex. */
static bool is_before(const sup_skin_builder *b, int32_t v, int32_t w)
{
    int32_t count = b->first[v + 1] - b->first[v], other = b->first[w + 1] - b->first[w];
    if (count != other) return count < other;
    const uint16_t *joints = b->sorted + b->first[v], *others = b->sorted + b->first[w];
    for (int32_t i = 0; i < count; i++)
        if (joints[i] != others[i]) return joints[i] < others[i];
    return v < w;
}

static void sort_vertices(const sup_skin_builder *b, int32_t *vertices, int32_t *spare, int32_t count)
{
    for (int32_t width = 1; width < count; width *= 2) {
        for (int32_t begin = 0; begin < count; begin += 2 * width) {
            int32_t middle = begin + width < count ? begin + width : count;
            int32_t end = begin + 2 * width < count ? begin + 2 * width : count;
            int32_t i = begin, k = middle;
            for (int32_t to = begin; to < end; to++) {
                bool take_first = k == end || (i < middle && !is_before(b, vertices[k], vertices[i]));
                spare[to] = take_first ? vertices[i++] : vertices[k++];
            }
        }
        memcpy(vertices, spare, (size_t)count * sizeof *vertices);
    }
}

static bool same_joints(const sup_skin_builder *b, int32_t v, int32_t w)
{
    int32_t count = b->first[v + 1] - b->first[v];
    return count == b->first[w + 1] - b->first[w] &&
           memcmp(b->sorted + b->first[v], b->sorted + b->first[w], (size_t)count * sizeof *b->sorted) == 0;
}

/* Sorts the vertices of a window, emits full clusters of vertices with equal joints, and the others with emit_rest. */
static bool emit_window(sup_skin_builder *b, int32_t window, int32_t vertex_count)
{
    int32_t vertices[SUP_SKIN_WINDOW], spare[SUP_SKIN_WINDOW] = {0}, rest_count = 0;
    int32_t begin = window * SUP_SKIN_WINDOW;
    int32_t count = vertex_count - begin < SUP_SKIN_WINDOW ? vertex_count - begin : SUP_SKIN_WINDOW;
    for (int32_t i = 0; i < count; i++)
        vertices[i] = begin + i;
    sort_vertices(b, vertices, spare, count);
    for (int32_t run = 0, end; run < count; run = end) {
        int32_t v = vertices[run], slots = b->first[v + 1] - b->first[v], from = run;
        for (end = run + 1; end < count && same_joints(b, v, vertices[end]);)
            end++;
        for (; slots <= SUP_SKIN_SHARED && end - from >= SUP_SKIN_CLUSTER; from += SUP_SKIN_CLUSTER)
            if (!emit_cluster(b, window, vertices + from, SUP_SKIN_CLUSTER, b->sorted + b->first[v], slots))
                return false;
        for (; from < end; from++)
            spare[rest_count++] = vertices[from];
    }
    return emit_rest(b, window, spare, rest_count);
}

static sup_result emit_windows(const sup_bind_input *input, sup_skin_builder *b, sup_error *error)
{
    int32_t *zero[2] = {sup_array_push(b->allocator, &b->joint_first, 1),
                        sup_array_push(b->allocator, &b->weight_first, 1)};
    if (zero[0] == NULL || zero[1] == NULL) return sup_fail_memory(error, "the clusters of the skin");
    *zero[0] = *zero[1] = 0;
    for (int32_t window = 0; window < b->window_count; window++) {
        b->window_first[window] = (int32_t)(b->vertex.count / SUP_SKIN_CLUSTER);
        float fraction = (float)window / (float)b->window_count;
        sup_result result = sup_bind_report_progress(input, fraction, "sorting vertices by joints", error);
        if (result != SUP_OK) return result;
        if (!emit_window(b, window, input->rig->vertex_count))
            return sup_fail_memory(error, "the clusters of the skin");
    }
    b->window_first[b->window_count] = (int32_t)(b->vertex.count / SUP_SKIN_CLUSTER);
    return SUP_OK;
}

static int32_t lane_vertex(const sup_skin_builder *b, int32_t window, int32_t slot)
{
    return window * SUP_SKIN_WINDOW + ((const uint16_t *)(const void *)b->vertex.data)[slot];
}

static sup_vec3d any_perpendicular(sup_vec3d normal)
{
    sup_vec3d axis = fabs(normal.x) < 0.6 ? sup_v3(1.0, 0.0, 0.0) : sup_v3(0.0, 1.0, 0.0);
    return sup_v3_unit_or(sup_v3_cross(normal, axis), sup_v3(1.0, 0.0, 0.0));
}

/* Fills one lane of positions, normals and tangents; false when a number is not finite or too large. */
static bool fill_lane(const sup_rig *rig, int32_t v, int32_t slot, sup_skin_arrays *arrays)
{
    int64_t at = (int64_t)(slot / SUP_SKIN_CLUSTER) * SUP_SKIN_CHANNEL + slot % SUP_SKIN_CLUSTER;
    for (int32_t k = 0; k < 3; k++) {
        float position = rig->positions[3 * (int64_t)v + k], normal = rig->normals[3 * (int64_t)v + k];
        if (!(fabsf(position) <= SUP_SKIN_LIMIT) || !(fabsf(normal) <= 2.0f)) return false;
        arrays->positions[at + k * SUP_SKIN_CLUSTER] = position;
        arrays->normals[at + k * SUP_SKIN_CLUSTER] = normal;
        if (fabsf(position) > *arrays->extent) *arrays->extent = fabsf(position);
    }
    if (arrays->tangents == NULL) return true;
    const float *tangent = rig->tangents + 4 * (int64_t)v;
    sup_vec3d unit =
        sup_v3_unit_or(sup_v3_load(tangent), any_perpendicular(sup_v3_load(rig->normals + 3 * (int64_t)v)));
    at = (int64_t)(slot / SUP_SKIN_CLUSTER) * 4 * SUP_SKIN_CLUSTER + slot % SUP_SKIN_CLUSTER;
    arrays->tangents[at] = (float)unit.x;
    arrays->tangents[at + SUP_SKIN_CLUSTER] = (float)unit.y;
    arrays->tangents[at + 2 * SUP_SKIN_CLUSTER] = (float)unit.z;
    arrays->tangents[at + 3 * SUP_SKIN_CLUSTER] = tangent[3] < 0.0f ? -1.0f : 1.0f;
    return true;
}

static sup_result add_vertices(const sup_rig *rig, const sup_skin_builder *b, sup_model_builder *builder,
                               sup_error *error)
{
    int64_t clusters = b->window_first[b->window_count];
    sup_skin_arrays arrays = {
        .positions = sup_model_add(builder, "positions", SUP_ARRAY_FLOAT, clusters * SUP_SKIN_CHANNEL),
        .normals = sup_model_add(builder, "normals", SUP_ARRAY_FLOAT, clusters * SUP_SKIN_CHANNEL),
        .extent = sup_model_add(builder, "extent", SUP_ARRAY_FLOAT, 1)};
    if (rig->tangents != NULL)
        arrays.tangents = sup_model_add(builder, "tangents", SUP_ARRAY_FLOAT, clusters * SUP_SKIN_CLUSTER * 4);
    if (arrays.positions == NULL || arrays.normals == NULL || arrays.extent == NULL ||
        (rig->tangents != NULL && arrays.tangents == NULL))
        return sup_fail_memory(error, "the vertices of the skin");
    for (int32_t window = 0; window < b->window_count; window++)
        for (int32_t slot = b->window_first[window] * SUP_SKIN_CLUSTER;
             slot < b->window_first[window + 1] * SUP_SKIN_CLUSTER; slot++) {
            int32_t v = lane_vertex(b, window, slot);
            if (!fill_lane(rig, v, slot, &arrays))
                return bad_rig(error, v, "has a position or normal that is not finite or too large");
        }
    return SUP_OK;
}

static sup_result add_joints(const sup_rig *rig, sup_model_builder *builder, sup_error *error)
{
    int32_t *nodes = sup_model_add(builder, "joint_node", SUP_ARRAY_INT32, rig->joint_count);
    float *inverse = sup_model_add(builder, "joint_inverse_bind", SUP_ARRAY_FLOAT, (int64_t)rig->joint_count * 12);
    float *centre = sup_model_add(builder, "joint_centre", SUP_ARRAY_FLOAT, (int64_t)rig->joint_count * 3);
    if (nodes == NULL || inverse == NULL || centre == NULL) return sup_fail_memory(error, "the joints");
    for (int32_t j = 0; j < rig->joint_count; j++) {
        nodes[j] = rig->joint_node[j];
        for (int32_t i = 0; i < 12; i++) {
            inverse[12 * j + i] = rig->joint_inverse_bind[j].m[i];
            if (!(fabsf(inverse[12 * j + i]) <= SUP_SKIN_LIMIT))
                return sup_fail(error, SUP_ERROR_DATA, "skin.rig", "",
                                "The inverse bind matrix of joint %d is not finite or too large.", j);
        }
        for (int32_t r = 0; r < 3; r++)
            centre[3 * j + r] = rig->joint_bind[j].m[4 * r + 3];
    }
    return SUP_OK;
}

static bool copy_array(sup_model_builder *builder, const char *name, sup_array_type type, const sup_array *from)
{
    void *to = sup_model_add(builder, name, type, (int64_t)from->count);
    if (to != NULL && from->count > 0) memcpy(to, from->data, from->count * from->item_size);
    return to != NULL;
}

static sup_result add_clusters(const sup_skin_builder *b, sup_model_builder *builder, sup_error *error)
{
    sup_array windows = {(unsigned char *)(void *)b->window_first, (size_t)b->window_count + 1, 0, sizeof(int32_t)};
    bool ok = copy_array(builder, "window_first", SUP_ARRAY_INT32, &windows) &&
              copy_array(builder, "joint_first", SUP_ARRAY_INT32, &b->joint_first) &&
              copy_array(builder, "weight_first", SUP_ARRAY_INT32, &b->weight_first) &&
              copy_array(builder, "joints", SUP_ARRAY_UINT16, &b->joints) &&
              copy_array(builder, "weights", SUP_ARRAY_FLOAT, &b->weights) &&
              copy_array(builder, "strongest", SUP_ARRAY_BYTE, &b->strongest) &&
              copy_array(builder, "vertex", SUP_ARRAY_UINT16, &b->vertex);
    return ok ? SUP_OK : sup_fail_memory(error, "the clusters of the skin");
}

/* Channels of a vertex in one lane, at `to`; false when one is not finite. */
static bool store_channels(const sup_skin_values *values, int32_t v, int32_t joint, float *to)
{
    float channels[SUP_SKIN_MOST_CHANNELS] = {0};
    values->fill(values->data, v, joint, channels);
    for (int32_t c = 0; c < values->channels; c++) {
        if (!(fabsf(channels[c]) <= FLT_MAX)) return false;
        to[c * SUP_SKIN_CLUSTER] = channels[c];
    }
    return true;
}

/* The same for all joints of the vertex, in the slots of its cluster or lane. */
static bool store_slots(const sup_skin_builder *b, const sup_skin_values *values, int32_t v, int32_t lane_index,
                        float *array)
{
    int32_t cluster = lane_index / SUP_SKIN_CLUSTER;
    const int32_t *joint_first = (const int32_t *)(const void *)b->joint_first.data + cluster;
    const int32_t *weight_first = (const int32_t *)(const void *)b->weight_first.data + cluster;
    const uint16_t *joints = (const uint16_t *)(const void *)b->joints.data + joint_first[0];
    bool shared = joint_first[1] - joint_first[0] == (weight_first[1] - weight_first[0]) / SUP_SKIN_CLUSTER;
    for (int32_t i = b->first[v]; i < b->first[v + 1]; i++) {
        int32_t slot = i - b->first[v];
        if (shared)
            for (slot = 0; joints[slot] != b->influences[i].joint;)
                slot++;
        int64_t at = ((int64_t)weight_first[0] + slot * SUP_SKIN_CLUSTER) * values->channels;
        if (!store_channels(values, v, b->influences[i].joint, array + at + lane_index % SUP_SKIN_CLUSTER))
            return false;
    }
    return true;
}

static sup_result add_values(const sup_skin_builder *b, const sup_skin_values *values, sup_model_builder *builder,
                             sup_error *error)
{
    size_t lanes = values->per_slot ? b->weights.count : b->vertex.count;
    float *array = sup_model_add(builder, values->name, SUP_ARRAY_FLOAT, (int64_t)lanes * values->channels);
    if (array == NULL) return sup_fail_memory(error, "the vertices of the skin");
    for (int32_t window = 0; window < b->window_count; window++)
        for (int32_t lane = b->window_first[window] * SUP_SKIN_CLUSTER;
             lane < b->window_first[window + 1] * SUP_SKIN_CLUSTER; lane++) {
            int32_t v = lane_vertex(b, window, lane);
            float *to = array + (int64_t)(lane / SUP_SKIN_CLUSTER) * SUP_SKIN_CLUSTER * values->channels;
            bool finite = values->per_slot ? store_slots(b, values, v, lane, array)
                                           : store_channels(values, v, -1, to + lane % SUP_SKIN_CLUSTER);
            if (!finite) return bad_rig(error, v, "has positions or weights that are too large");
        }
    return SUP_OK;
}

static bool begin(const sup_rig *rig, sup_skin_builder *b)
{
    size_t total = (size_t)rig->influence_first[rig->vertex_count];
    b->first = sup_arena_alloc(&b->arena, (size_t)rig->vertex_count + 1, sizeof *b->first);
    b->influences = sup_arena_alloc(&b->arena, total, sizeof *b->influences);
    b->sorted = sup_arena_alloc(&b->arena, total, sizeof *b->sorted);
    b->window_count = (rig->vertex_count + SUP_SKIN_WINDOW - 1) / SUP_SKIN_WINDOW;
    b->window_first = sup_arena_alloc(&b->arena, (size_t)b->window_count + 1, sizeof *b->window_first);
    b->joint_first.item_size = b->weight_first.item_size = sizeof(int32_t);
    b->joints.item_size = b->vertex.item_size = sizeof(uint16_t);
    b->weights.item_size = sizeof(float);
    b->strongest.item_size = 1;
    return b->first != NULL && b->influences != NULL && b->sorted != NULL && b->window_first != NULL;
}

static void end(sup_skin_builder *b)
{
    sup_array *arrays[] = {&b->joint_first, &b->weight_first, &b->joints, &b->weights, &b->strongest, &b->vertex};
    for (int32_t i = 0; i < SUP_COUNT(arrays); i++)
        sup_array_free(b->allocator, arrays[i]);
    sup_arena_destroy(&b->arena);
}

sup_result sup_skin_bind_values(const sup_bind_input *input, const sup_skin_values *values, int32_t value_count,
                                sup_model_builder *builder, sup_error *error)
{
    const sup_rig *rig = input->rig;
    if (rig->joint_count > UINT16_MAX)
        return sup_fail(error, SUP_ERROR_UNSUPPORTED, "skin.joints", "",
                        "The rig has %d joints; at most %d are supported.", rig->joint_count, UINT16_MAX);
    if (rig->vertex_count < 1 || rig->joint_count < 1 || rig->influence_first[0] != 0)
        return sup_fail(error, SUP_ERROR_DATA, "skin.rig", "",
                        "The rig has no vertices or no joints: nothing to skin.");
    sup_skin_builder b = {.allocator = &input->context->allocator,
                          .arena = sup_arena_create(&input->context->allocator)};
    sup_result result = begin(rig, &b) ? SUP_OK : sup_fail_memory(error, "binding the skin");
    if (result == SUP_OK) result = gather_influences(rig, &b, error);
    if (result == SUP_OK) result = emit_windows(input, &b, error);
    if (result == SUP_OK) result = add_joints(rig, builder, error);
    if (result == SUP_OK) result = add_clusters(&b, builder, error);
    if (result == SUP_OK) result = add_vertices(rig, &b, builder, error);
    if (result == SUP_OK) result = sup_skin_add_morphs(rig, &b, builder, error);
    for (int32_t i = 0; i < value_count && result == SUP_OK; i++)
        result = add_values(&b, &values[i], builder, error);
    end(&b);
    return result;
}

sup_result sup_skin_bind(const sup_bind_input *input, sup_model_builder *builder, sup_error *error)
{
    return sup_skin_bind_values(input, NULL, 0, builder, error);
}

/* upsample_clusters.c - sorts nearby vertices into clusters of sixteen. */
#include "upsample/upsample_clusters.h"

enum { NAME_LENGTH = 32, STACK_MAX = 64 };

static const sup_upsample_channel PLAIN_CHANNELS[] = {SUP_CHANNEL_POSITION_X, SUP_CHANNEL_NORMAL_N};
static const sup_upsample_channel FOLLOWER_CHANNELS[] = {SUP_CHANNEL_POSITION_X, SUP_CHANNEL_POSITION_N,
                                                         SUP_CHANNEL_NORMAL_X, SUP_CHANNEL_NORMAL_N};
static const sup_upsample_channel TANGENT_CHANNELS[] = {SUP_CHANNEL_TANGENT_X, SUP_CHANNEL_TANGENT_N};

/* Clusters of one call of sup_cluster_builder_append. Layouts as in sup_upsample_clusters. */
struct sup_cluster_batch {
    sup_cluster_batch *next; /* the previous batch */
    int32_t cluster_count, entry_count, channels;
    int32_t *render_vertex, *first, *index;
    int16_t *weights, *tangents;
    float *units, *tangent_units, *tangent_signs;
};

/* --- Order --- */
typedef struct sorting {
    const float *points;
    int32_t *items, axis;
    sup_random random;
} sorting;

static bool is_before(const sorting *s, int32_t a, int32_t b)
{
    float x = s->points[3 * (size_t)a + (size_t)s->axis], y = s->points[3 * (size_t)b + (size_t)s->axis];
    return x < y || (x == y && a < b);
}

/* Quickselect: partitions items [begin, end) at `middle`. Random pivots avoid quadratic time on adversarial input.
 * Terminates because all items are distinct. */
static void split_at(sorting *s, int32_t begin, int32_t end, int32_t middle)
{
    while (end - begin > 1) {
        int32_t pivot = s->items[begin + (int32_t)(sup_random_u32(&s->random) % (uint32_t)(end - begin))];
        int32_t low = begin, high = end - 1;
        while (low <= high) {
            while (is_before(s, s->items[low], pivot))
                low++;
            while (is_before(s, pivot, s->items[high]))
                high--;
            if (low > high) break;
            int32_t swapped = s->items[low];
            s->items[low++] = s->items[high];
            s->items[high--] = swapped;
        }
        if (middle <= high)
            end = high + 1;
        else if (middle >= low)
            begin = low;
        else
            return;
    }
}

static int32_t longest_axis(const sorting *s, int32_t begin, int32_t end)
{
    float lower[3] = {INFINITY, INFINITY, INFINITY}, upper[3] = {-INFINITY, -INFINITY, -INFINITY};
    for (int32_t i = begin; i < end; i++)
        for (size_t k = 0; k < 3; k++) {
            float x = s->points[3 * (size_t)s->items[i] + k];
            lower[k] = x < lower[k] ? x : lower[k];
            upper[k] = x > upper[k] ? x : upper[k];
        }
    int32_t axis = 0;
    for (int32_t k = 1; k < 3; k++)
        if (upper[k] - lower[k] > upper[axis] - lower[axis]) axis = k;
    return axis;
}

void sup_upsample_order(const float *points, int32_t *items, int32_t count, int32_t leaf)
{
    sorting s = {.points = points, .items = items, .random = {1}};
    int32_t stack[STACK_MAX][2], depth = 0; /* ranges are halved: fewer than 32 are pending */
    stack[depth][0] = 0;
    stack[depth++][1] = count;
    while (depth > 0) {
        int32_t begin = stack[--depth][0], end = stack[depth][1];
        if (end - begin <= leaf) continue;
        int32_t leaves = (end - begin + leaf - 1) / leaf, middle = begin + leaves / 2 * leaf;
        s.axis = longest_axis(&s, begin, end);
        split_at(&s, begin, end, middle);
        stack[depth][0] = middle;
        stack[depth++][1] = end;
        stack[depth][0] = begin;
        stack[depth++][1] = middle;
    }
}

/* --- Clusters --- */
bool sup_cluster_builder_open(sup_arena *arena, int32_t coarse_count, bool has_tangents, sup_cluster_builder *builder)
{
    *builder = (sup_cluster_builder){.arena = arena, .coarse_count = coarse_count, .has_tangents = has_tangents};
    builder->slot = sup_arena_alloc(arena, (size_t)coarse_count, sizeof *builder->slot);
    for (int32_t i = 0; builder->slot != NULL && i < coarse_count; i++)
        builder->slot[i] = -1;
    return builder->slot != NULL;
}

/* Number of vertices of the cluster that starts at `at` in the list. */
static int32_t lanes_of_cluster(int32_t count, int32_t at)
{
    return count - at < SUP_UPSAMPLE_CLUSTER ? count - at : SUP_UPSAMPLE_CLUSTER;
}

/* Union of the coarse neighbours of the vertices of a cluster, to `index`; slot[] has their positions in it. */
static int32_t merge_neighbours(const sup_cluster_builder *builder, const sup_upsample_weights *vertices,
                                const int32_t *list, int32_t count, int32_t *index)
{
    int32_t found = 0;
    for (int32_t r = 0; r < count; r++)
        for (int32_t i = 0; i < vertices[list[r]].count; i++) {
            int32_t coarse = vertices[list[r]].coarse[i];
            if (builder->slot[coarse] >= 0) continue;
            builder->slot[coarse] = found;
            index[found++] = coarse;
        }
    return found;
}

static void clear_slots(const sup_cluster_builder *builder, const int32_t *index, int32_t count)
{
    for (int32_t i = 0; i < count; i++)
        builder->slot[index[i]] = -1;
}

static bool reserve_batch(const sup_cluster_builder *builder, sup_cluster_batch *batch)
{
    size_t clusters = (size_t)batch->cluster_count, entries = (size_t)batch->entry_count,
           channels = (size_t)batch->channels;
    batch->render_vertex =
        sup_arena_alloc(builder->arena, clusters * SUP_UPSAMPLE_CLUSTER, sizeof *batch->render_vertex);
    batch->first = sup_arena_alloc(builder->arena, clusters, sizeof *batch->first);
    batch->index = sup_arena_alloc(builder->arena, entries, sizeof *batch->index);
    batch->weights = sup_arena_alloc(builder->arena, entries * channels * SUP_UPSAMPLE_CLUSTER, sizeof *batch->weights);
    batch->units = sup_arena_alloc(builder->arena, clusters * channels * SUP_UPSAMPLE_CLUSTER, sizeof *batch->units);
    bool ok = batch->render_vertex != NULL && batch->first != NULL && batch->index != NULL && batch->weights != NULL &&
              batch->units != NULL;
    if (!ok || !builder->has_tangents) return ok;
    batch->tangents = sup_arena_alloc(builder->arena, entries * 2 * SUP_UPSAMPLE_CLUSTER, sizeof *batch->tangents);
    batch->tangent_units =
        sup_arena_alloc(builder->arena, clusters * 2 * SUP_UPSAMPLE_CLUSTER, sizeof *batch->tangent_units);
    batch->tangent_signs =
        sup_arena_alloc(builder->arena, clusters * SUP_UPSAMPLE_CLUSTER, sizeof *batch->tangent_signs);
    return batch->tangents != NULL && batch->tangent_units != NULL && batch->tangent_signs != NULL;
}

/* Stores some channels of a vertex in lane `lane` of its cluster, whose entries and units start at `weights` and
 * `units`. */
static void store_weights(const sup_cluster_builder *builder, const sup_upsample_weights *vertex, int32_t lane,
                          const sup_upsample_channel *channels, int32_t channel_count, int16_t *weights, float *units)
{
    for (int32_t w = 0; w < channel_count; w++) {
        units[w * SUP_UPSAMPLE_CLUSTER + lane] = vertex->units[channels[w]];
        for (int32_t i = 0; i < vertex->count; i++) {
            size_t entry = (size_t)builder->slot[vertex->coarse[i]];
            weights[(entry * (size_t)channel_count + (size_t)w) * SUP_UPSAMPLE_CLUSTER + (size_t)lane] =
                vertex->weights[channels[w]][i];
        }
    }
}

static void fill_cluster(const sup_cluster_builder *builder, const sup_upsample_weights *vertices, const int32_t *list,
                         int32_t count, size_t cluster, sup_cluster_batch *batch)
{
    size_t first = (size_t)batch->first[cluster], channels = (size_t)batch->channels;
    const sup_upsample_channel *which =
        batch->channels == SUP_COUNT(PLAIN_CHANNELS) ? PLAIN_CHANNELS : FOLLOWER_CHANNELS;
    for (int32_t lane = 0; lane < SUP_UPSAMPLE_CLUSTER; lane++)
        batch->render_vertex[cluster * SUP_UPSAMPLE_CLUSTER + (size_t)lane] =
            lane < count ? vertices[list[lane]].vertex : -1;
    for (int32_t lane = 0; lane < count; lane++) {
        const sup_upsample_weights *vertex = &vertices[list[lane]];
        store_weights(builder, vertex, lane, which, batch->channels,
                      batch->weights + first * channels * SUP_UPSAMPLE_CLUSTER,
                      batch->units + cluster * channels * SUP_UPSAMPLE_CLUSTER);
        if (!builder->has_tangents) continue;
        store_weights(builder, vertex, lane, TANGENT_CHANNELS, 2, batch->tangents + first * 2 * SUP_UPSAMPLE_CLUSTER,
                      batch->tangent_units + cluster * 2 * SUP_UPSAMPLE_CLUSTER);
        batch->tangent_signs[cluster * SUP_UPSAMPLE_CLUSTER + (size_t)lane] = vertex->sign;
    }
}

/* Appends the vertices in `list`, all of one kind, as a new batch. index: scratch for the neighbours of a cluster. */
static bool append_kind(sup_cluster_builder *builder, const sup_upsample_weights *vertices, const int32_t *list,
                        int32_t count, int32_t *index, sup_cluster_list *kind)
{
    if (count == 0) return true;
    sup_cluster_batch *batch = sup_arena_alloc(builder->arena, 1, sizeof *batch);
    if (batch == NULL) return false;
    batch->channels = kind == &builder->plain ? SUP_COUNT(PLAIN_CHANNELS) : SUP_COUNT(FOLLOWER_CHANNELS);
    for (int32_t at = 0; at < count; at += SUP_UPSAMPLE_CLUSTER) {
        int32_t found = merge_neighbours(builder, vertices, list + at, lanes_of_cluster(count, at), index);
        clear_slots(builder, index, found);
        batch->entry_count += found;
        batch->cluster_count++;
    }
    if (!reserve_batch(builder, batch)) return false;
    for (int32_t at = 0, cluster = 0, entry = 0; at < count; at += SUP_UPSAMPLE_CLUSTER, cluster++) {
        int32_t lanes = lanes_of_cluster(count, at);
        batch->first[cluster] = entry;
        int32_t found = merge_neighbours(builder, vertices, list + at, lanes, batch->index + entry);
        fill_cluster(builder, vertices, list + at, lanes, (size_t)cluster, batch);
        clear_slots(builder, batch->index + entry, found);
        entry += found;
    }
    batch->next = kind->batches;
    kind->batches = batch;
    kind->cluster_count += batch->cluster_count;
    kind->entry_count += batch->entry_count;
    return true;
}

static int32_t list_kind(const sup_upsample_weights *vertices, int32_t vertex_count, bool follows, int32_t *list)
{
    int32_t count = 0;
    for (int32_t r = 0; r < vertex_count; r++)
        if (vertices[r].is_set && vertices[r].follows == follows) list[count++] = r;
    return count;
}

bool sup_cluster_builder_append(sup_cluster_builder *builder, const sup_upsample_weights *vertices, const float *points,
                                int32_t vertex_count)
{
    sup_arena scratch = sup_arena_create(&builder->arena->allocator);
    int32_t *list = sup_arena_alloc(&scratch, (size_t)vertex_count, sizeof *list);
    int32_t *index = sup_arena_alloc(&scratch, (size_t)SUP_UPSAMPLE_CLUSTER * SUP_MLS_MAX, sizeof *index);
    bool ok = list != NULL && index != NULL;
    for (int32_t k = 0; ok && k < 2; k++) {
        int32_t count = list_kind(vertices, vertex_count, k == 1, list);
        sup_upsample_order(points, list, count, SUP_UPSAMPLE_CLUSTER);
        ok = append_kind(builder, vertices, list, count, index, k == 0 ? &builder->plain : &builder->followers);
    }
    sup_arena_destroy(&scratch);
    return ok;
}

/* --- Arrays --- */
static void *add(sup_model_builder *model, const char *prefix, const char *kind, const char *name, sup_array_type type,
                 int64_t count)
{
    char full[NAME_LENGTH];
    sup_format(full, sizeof full, "%s%s%s", prefix, kind, name);
    return sup_model_add(model, full, type, count);
}

/* The arrays of one kind in a model, filled from the last batch to the first. */
typedef struct kind_arrays {
    int32_t *render_vertex, *first;
    void *index;
    int16_t *weights, *tangents;
    float *units, *tangent_units, *tangent_signs;
} kind_arrays;

static bool add_arrays(const sup_cluster_builder *builder, const sup_cluster_list *list, int64_t channels,
                       sup_model_builder *model, const char *prefix, const char *kind, kind_arrays *a)
{
    int64_t clusters = list->cluster_count, entries = list->entry_count;
    sup_array_type index_type = builder->coarse_count <= 65536 ? SUP_ARRAY_UINT16 : SUP_ARRAY_INT32;
    a->render_vertex = add(model, prefix, kind, "vertices", SUP_ARRAY_INT32, clusters * SUP_UPSAMPLE_CLUSTER);
    a->first = add(model, prefix, kind, "first", SUP_ARRAY_INT32, clusters + 1);
    a->index = add(model, prefix, kind, "index", index_type, entries);
    a->weights = add(model, prefix, kind, "weights", SUP_ARRAY_UINT16, entries * channels * SUP_UPSAMPLE_CLUSTER);
    a->units = add(model, prefix, kind, "units", SUP_ARRAY_FLOAT, clusters * channels * SUP_UPSAMPLE_CLUSTER);
    bool ok =
        a->render_vertex != NULL && a->first != NULL && a->index != NULL && a->weights != NULL && a->units != NULL;
    if (!ok || !builder->has_tangents) return ok;
    a->tangents = add(model, prefix, kind, "tangents", SUP_ARRAY_UINT16, entries * 2 * SUP_UPSAMPLE_CLUSTER);
    a->tangent_units = add(model, prefix, kind, "tan_units", SUP_ARRAY_FLOAT, clusters * 2 * SUP_UPSAMPLE_CLUSTER);
    a->tangent_signs = add(model, prefix, kind, "tan_signs", SUP_ARRAY_FLOAT, clusters * SUP_UPSAMPLE_CLUSTER);
    return a->tangents != NULL && a->tangent_units != NULL && a->tangent_signs != NULL;
}

static void copy_batch(const sup_cluster_builder *builder, const sup_cluster_batch *batch, size_t cluster, size_t entry,
                       kind_arrays *a)
{
    size_t clusters = (size_t)batch->cluster_count, entries = (size_t)batch->entry_count,
           channels = (size_t)batch->channels;
    memcpy(a->render_vertex + cluster * SUP_UPSAMPLE_CLUSTER, batch->render_vertex,
           clusters * SUP_UPSAMPLE_CLUSTER * sizeof(int32_t));
    for (size_t i = 0; i < clusters; i++)
        a->first[cluster + i] = (int32_t)entry + batch->first[i];
    for (size_t i = 0; i < entries; i++) {
        if (builder->coarse_count <= 65536)
            ((uint16_t *)a->index)[entry + i] = (uint16_t)batch->index[i];
        else
            ((int32_t *)a->index)[entry + i] = batch->index[i];
    }
    memcpy(a->weights + entry * channels * SUP_UPSAMPLE_CLUSTER, batch->weights,
           entries * channels * SUP_UPSAMPLE_CLUSTER * sizeof(int16_t));
    memcpy(a->units + cluster * channels * SUP_UPSAMPLE_CLUSTER, batch->units,
           clusters * channels * SUP_UPSAMPLE_CLUSTER * sizeof(float));
    if (!builder->has_tangents) return;
    memcpy(a->tangents + entry * 2 * SUP_UPSAMPLE_CLUSTER, batch->tangents,
           entries * 2 * SUP_UPSAMPLE_CLUSTER * sizeof(int16_t));
    memcpy(a->tangent_units + cluster * 2 * SUP_UPSAMPLE_CLUSTER, batch->tangent_units,
           clusters * 2 * SUP_UPSAMPLE_CLUSTER * sizeof(float));
    memcpy(a->tangent_signs + cluster * SUP_UPSAMPLE_CLUSTER, batch->tangent_signs,
           clusters * SUP_UPSAMPLE_CLUSTER * sizeof(float));
}

bool sup_cluster_builder_finish(const sup_cluster_builder *builder, sup_model_builder *model, const char *prefix)
{
    for (int32_t k = 0; k < 2; k++) {
        const sup_cluster_list *list = k == 0 ? &builder->plain : &builder->followers;
        kind_arrays a = {0};
        if (list->entry_count > INT32_MAX) return false;
        if (!add_arrays(builder, list, k == 0 ? SUP_COUNT(PLAIN_CHANNELS) : SUP_COUNT(FOLLOWER_CHANNELS), model, prefix,
                        k == 0 ? "plain_" : "follow_", &a))
            return false;
        size_t cluster = (size_t)list->cluster_count, entry = (size_t)list->entry_count;
        a.first[cluster] = (int32_t)entry;
        for (const sup_cluster_batch *batch = list->batches; batch != NULL; batch = batch->next) {
            cluster -= (size_t)batch->cluster_count;
            entry -= (size_t)batch->entry_count;
            copy_batch(builder, batch, cluster, entry, &a);
        }
    }
    return true;
}

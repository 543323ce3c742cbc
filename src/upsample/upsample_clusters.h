/* upsample_clusters.h (internal) - packs the weights of vertices into the clusters of a model (upsample.h). */
#ifndef SUP_UPSAMPLE_UPSAMPLE_CLUSTERS_H
#define SUP_UPSAMPLE_UPSAMPLE_CLUSTERS_H

#include "upsample/mls.h"
#include "upsample/upsample.h"

/* Quantised weights of one render vertex. */
typedef struct sup_upsample_weights {
    bool is_set, follows;
    int32_t vertex, count;
    int32_t coarse[SUP_MLS_MAX]; /* distinct */
    int16_t weights[SUP_CHANNEL_COUNT][SUP_MLS_MAX];
    float units[SUP_CHANNEL_COUNT];
    float sign; /* handedness of the tangent */
} sup_upsample_weights;

typedef struct sup_cluster_batch sup_cluster_batch;

/* Clusters of one kind, in batches. */
typedef struct sup_cluster_list {
    sup_cluster_batch *batches; /* newest first */
    int64_t cluster_count, entry_count;
} sup_cluster_list;

typedef struct sup_cluster_builder {
    sup_arena *arena;
    int32_t coarse_count;
    bool has_tangents;
    int32_t *slot; /* [coarse_count] entry in the current cluster, or -1 */
    sup_cluster_list plain, followers;
} sup_cluster_builder;

bool sup_cluster_builder_open(sup_arena *arena, int32_t coarse_count, bool has_tangents, sup_cluster_builder *builder);
/* Adds vertices that are near each other; skips those with is_set false. points: [vertex_count*3] positions. Returns
 * false when out of memory. */
bool sup_cluster_builder_append(sup_cluster_builder *builder, const sup_upsample_weights *vertices, const float *points,
                                int32_t vertex_count);
/* Adds all clusters to a model; false when out of memory. */
bool sup_cluster_builder_finish(const sup_cluster_builder *builder, sup_model_builder *model, const char *prefix);

/* Sorts items so that each run of `leaf` items is compact: recursive median split along the longest axis. `leaf` is a
 * power of two times 16. points: 3 floats per item. */
void sup_upsample_order(const float *points, int32_t *items, int32_t count, int32_t leaf);

#endif

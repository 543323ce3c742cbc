/* upsample_clusters.h (internal) - rows of weights, one a vertex, put together to the blocks of a model (upsample.h). */
#ifndef SUP_UPSAMPLE_UPSAMPLE_CLUSTERS_H
#define SUP_UPSAMPLE_UPSAMPLE_CLUSTERS_H

#include "upsample/mls.h"
#include "upsample/upsample.h"

/* The weights of one vertex, as bind makes them. */
typedef struct sup_upsample_row {
    bool is_set, rides;
    int32_t vertex, count;
    int32_t coarse[SUP_MLS_MAX]; /* all different */
    int16_t weights[SUP_WAY_COUNT][SUP_MLS_MAX];
    float units[SUP_WAY_COUNT];
    float sign; /* handedness of the tangent */
} sup_upsample_row;

typedef struct sup_subdomain_piece sup_subdomain_piece;

/* Blocks of one kind, in pieces as they came. */
typedef struct sup_subdomain_list {
    sup_subdomain_piece *pieces; /* newest first */
    int64_t block_count, entry_count;
} sup_subdomain_list;

typedef struct sup_subdomain_maker {
    sup_arena *arena;
    int32_t coarse_count;
    bool has_tangents;
    int32_t *slot; /* [coarse_count] entry of the block that is being made, -1 */
    sup_subdomain_list plain, riding;
} sup_subdomain_maker;

bool sup_subdomains_open(sup_arena *arena, int32_t coarse_count, bool has_tangents, sup_subdomain_maker *maker);
/* Rows of one neighbourhood of the skin; those that are not set are left out. points: [row_count*3] where they are.
 * False when memory ran out. */
bool sup_subdomains_append(sup_subdomain_maker *maker, const sup_upsample_row *rows, const float *points, int32_t row_count);
/* All of them into arrays of a model; false when memory ran out. */
bool sup_subdomains_finish(const sup_subdomain_maker *maker, sup_model_builder *builder, const char *prefix);

/* Sorts items so that each run of `leaf`, a power of two times 16, is near together: halves by the longer side.
 * points: 3 floats an item. */
void sup_upsample_order(const float *points, int32_t *items, int32_t count, int32_t leaf);

#endif

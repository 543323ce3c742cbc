/* skin_limit.h (internal) - the skin is never stretched, compressed or folded more than by linear blending.
 *
 * With the deviation d of a vertex from linear blending in the same frame: where an edge is longer, relative to its
 * rest length, than the most stretched edge of linear blending, the d of its ends approach their mean until it is not;
 * so do they where an edge is shorter than a limit and than in linear blending; where a triangle faces away from its neighbours and does not in linear blending, the d of these triangles approach
 * their mean. Equal deviations leave the shape of linear blending, so that both end. */
#ifndef SUP_LIMITS_SKIN_LIMIT_H
#define SUP_LIMITS_SKIN_LIMIT_H

#include "base/base.h"
#include "supple/model.h"
#include "supple/rig.h"

enum { SUP_SKIN_LANES = 16 }; /* of the arrays in batches: all first corners of a batch, all second ones, ... */

typedef struct sup_skin_limit {
    int32_t vertex_count, skin_count, triangle_count, triangle_batches, edge_batches;
    const int32_t *triangle;  /* [triangle_count*3] skin vertices */
    const int32_t *neighbour; /* [triangle_count*3] triangle across the edge from corner k to the next; -1: none, or the
                                  * triangle is never tested */
    /* The same in batches, for all tests of a frame. Padding is degenerate; neighbour -1 is a degenerate triangle. */
    const int32_t *lane_corner, *lane_neighbour; /* [triangle_batches*3*16] */
    const float *lane_rest;      /* [triangle_batches*3*16] squared rest lengths of the edges 01, 12 and 02 */
    const int32_t *edge;         /* [edge_batches*2*16] skin vertices */
    const int32_t *around_first; /* [skin_count+1] */
    const int32_t *around;       /* [triangle_count*3] triangles at a skin vertex */
    const int32_t *source;       /* [skin_count] a render vertex */
    const int32_t *skin_of;      /* [vertex_count] skin vertex, or -1 */
    const float *edge_rest;      /* [edge_batches*16] 1 / squared rest length, sizes; 0 where that is 0 */
} sup_skin_limit;

/* excluded: [skin_vertex_count] 1: edges and triangles with this vertex are not limited; NULL: none. */
sup_result sup_skin_limit_bind(const sup_context *context, const sup_rig *rig, const unsigned char *excluded,
                               sup_model_builder *builder, const char *prefix, sup_error *error);
sup_result sup_skin_limit_open(const sup_model *model, const char *prefix, sup_skin_limit *limit, sup_error *error);
/* Scratch size in bytes, a multiple of 64. */
size_t sup_skin_limit_scratch(const sup_skin_limit *limit);
typedef struct sup_skin_limit_settings {
    float size;              /* of the character, file units */
    float shortest, longest; /* times its rest length: an edge between these is not limited */
    /* Folds end where the cosine of the triangle's normal with those of its neighbours is at least this in linear
     * blending; below, it is folded itself. */
    float min_cosine;
    /* Edges: where the deviations around a triangle differ by more, folds are left. Equal deviations would move skin far
     * away from what it touches. */
    float max_difference;
    /* Whether a vertex must not move there, such as into a collider; file units. NULL: it may move anywhere. */
    bool (*is_blocked)(void *user, const float from[3], const float to[3]);
    void *user;
} sup_skin_limit_settings;

/* `out` has linear blending: keeps it in `scratch`. */
void sup_skin_limit_begin(const sup_skin_limit *limit, const sup_skin_limit_settings *settings, void *scratch,
                          const sup_skin_out *out);
/* Limits `out`, with the settings of sup_skin_limit_begin. */
void sup_skin_limit_apply(const sup_skin_limit *limit, void *scratch, const sup_skin_out *out);

#endif

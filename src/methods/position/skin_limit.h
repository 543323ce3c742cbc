/* skin_limit.h (internal) - the skin is never stretched or folded more than by linear blending.
 *
 * With the deviation d of a vertex from linear blending in the same frame: where an edge is longer, relative to its
 * rest length, than the most stretched edge of linear blending, the d of its ends approach their mean until it is not;
 * where a triangle faces away from its neighbours and does not in linear blending, the d of these triangles approach
 * their mean. Equal deviations leave the shape of linear blending, so that both end. */
#ifndef SUP_METHODS_POSITION_SKIN_LIMIT_H
#define SUP_METHODS_POSITION_SKIN_LIMIT_H

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

sup_result sup_skin_limit_bind(const sup_context *context, const sup_rig *rig, sup_model_builder *builder,
                               const char *prefix, sup_error *error);
sup_result sup_skin_limit_open(const sup_model *model, const char *prefix, sup_skin_limit *limit, sup_error *error);
/* Scratch size in bytes, a multiple of 64. */
size_t sup_skin_limit_scratch(const sup_skin_limit *limit);
/* `out` has linear blending: keeps it in `scratch`. Edges up to `least` times their rest length are not limited. */
void sup_skin_limit_begin(const sup_skin_limit *limit, float size, float least, void *scratch, const sup_skin_out *out);
/* Limits `out`. */
void sup_skin_limit_apply(const sup_skin_limit *limit, float size, void *scratch, const sup_skin_out *out);

#endif

/* detect_internal.h - what the files of detection share: the kernels, and the layout of the state. */
#ifndef SUP_METHODS_PROJECTIVE_DETECT_INTERNAL_H
#define SUP_METHODS_PROJECTIVE_DETECT_INTERNAL_H

#include "methods/projective/detect.h"

#include <stdatomic.h>

/* The tetrahedra of a cell, ready to test: entry k of tetrahedron t at maps[k][t]. Entries 0 to 2 are its first
 * corner, 3 to 11 the map, row-major, from the distance to that corner to the weights of the other three. All zero for
 * inverted and flat ones: no point is inside. */
typedef float sup_detect_maps[12][SUP_DETECT_TETS];

/* A vertex of a block inside a tetrahedron of a cell. */
typedef struct sup_detect_hit {
    uint8_t tet, lane;
} sup_detect_hit;

typedef struct sup_detect_kernels {
    /* `points` has four floats a point. */
    void (*map)(const float *points, const int32_t *tets, int32_t count, sup_detect_maps maps);
    /* `block`: SUP_DETECT_GROUP x, then y, then z. Returns how many hits; room for all of them. */
    int32_t (*test)(sup_detect_maps maps, int32_t count, const float *block, sup_detect_hit *hits);
} sup_detect_kernels;

extern const sup_detect_kernels sup_detect_kernels_base;
#if defined(__x86_64__) && !defined(SUPPLE_SCALAR)
extern const sup_detect_kernels sup_detect_kernels_avx2, sup_detect_kernels_avx512;
#endif

typedef struct sup_detect_box {
    float lower[4], upper[4];
} sup_detect_box;

/* Arrays in a state. */
typedef struct sup_detect_arrays {
    float *points;                   /* [vertex_count*2*4] skin, then feet, world space */
    float *blocks;                   /* [block_count*3*SUP_DETECT_GROUP] NaN where there is no vertex */
    sup_detect_box *block_box;       /* [block_count] */
    sup_detect_box *cell_box;        /* [cell_count] */
    sup_detect_box *piece_block_box; /* [piece_count] around its blocks */
    sup_detect_box *piece_cell_box;  /* [piece_count] around its cells */
    _Atomic uint64_t *nearest;       /* [vertex_count] depth as bits above, triangle below; all ones for none */
    int32_t *pair;                   /* [vertex_count] triangle, or -1 */
    int32_t *row_count;              /* per piece of work */
    size_t size;
} sup_detect_arrays;

sup_detect_arrays sup_detect_layout(const sup_detect *detect, void *state);

/* Depth of every vertex in other parts, the deepest, without regard to slack: for the bind pose. */
void sup_detect_depths(const sup_context *context, const sup_detect *detect, void *state, const sup_detect_input *input,
                       float *depth);

#endif

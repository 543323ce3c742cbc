/* gpu_untangle.h (internal) - removes self-intersections of the render mesh: untangle/untangle.h on the device. See
 * gpu.h. */
#ifndef SUP_CUDA_GPU_UNTANGLE_H
#define SUP_CUDA_GPU_UNTANGLE_H

#include "cuda/gpu_render_mesh.h"
#include "untangle/untangle.h"
#include "untangle/untangle_tuning.h"

#ifdef __cplusplus
extern "C" {
#endif

enum {
    SUP_GPU_UNTANGLE_PAIRS = 2048, /* of crossing triangles, of a character; with more it is skipped */
    SUP_GPU_UNTANGLE_CROSSINGS = 4 * SUP_GPU_UNTANGLE_PAIRS, /* two edges of one cross the other, and vice versa */
    SUP_GPU_UNTANGLE_PATCHES = SUP_UNTANGLE_MAX_PATCHES,
    SUP_GPU_UNTANGLE_BOX_FOURS = 3 /* float4 of a cluster: cluster_boxes of untangle_find.cuh */
};
/* Layout of the means of crossings and patches: three floats of a point, three of a normal. */
enum {
    SUP_GPU_UNTANGLE_POINT = 0,
    SUP_GPU_UNTANGLE_FRACTION = 3,
    SUP_GPU_UNTANGLE_NORMAL = 4,
    SUP_GPU_UNTANGLE_EDGE = 7,
    SUP_GPU_UNTANGLE_MEANS = 8
};

/* sup_untangle_crossing of untangle_internal.h. */
typedef struct sup_gpu_untangle_crossing {
    int32_t inside, outside, triangle;
    int32_t patch;                       /* that it belongs to (patch_of of untangle_patch.cuh), -1 for none */
    int32_t targets[4];                  /* vertices that it pushes, -1 for none: an end, corners of the triangle; */
    float push[4];                       /* length along the normal, which is then that of the patch */
    float means[SUP_GPU_UNTANGLE_MEANS]; /* values that a patch averages */
    float weight[3], depth, height;
    int32_t boundary[2]; /* its edge, from both ends, in the view's neighbours */
    int32_t fold;        /* no contact but a fold: its outer end is moved too */
} sup_gpu_untangle_crossing;

/* sup_untangle_patch of untangle_internal.h. */
typedef struct sup_gpu_untangle_patch {
    float means[SUP_GPU_UNTANGLE_MEANS];
    float weight;
    int32_t depth; /* bits of a float that is not negative */
    int32_t deep, ambiguous, skipped, outer;
} sup_gpu_untangle_patch;

/* sup_untangle_vertex of untangle_internal.h. */
typedef struct sup_gpu_untangle_vertex {
    sup_gpu_four start, x, best, move;
    sup_gpu_four push; /* sum of the requested displacements; w: the longest of them */
    int32_t patch, parent, crossings, best_crossings, sum, best_sum;
    int32_t at; /* slot in the list of moved vertices */
    int32_t pad;
} sup_gpu_untangle_vertex;

/* A frame of a character. */
typedef struct sup_gpu_untangle_frame {
    int32_t untangles;     /* it is visible and untangled */
    int32_t active_count;  /* clusters that are searched */
    int32_t pair_count;    /* of crossing triangles in them; up to SUP_GPU_UNTANGLE_PAIRS are stored */
    int32_t moved;         /* vertices with an offset of the last frame */
    int32_t limited;       /* it was untangled in the last frame: its offsets change by a limited amount */
    int32_t stale;         /* those offsets are older: it was not untangled in the last frame */
    float offset_fraction; /* of those offsets with which the frame begins */
} sup_gpu_untangle_frame;

/* Scratch memory to untangle one character. `state`, `owner`, `boundary` and `dirty` are all 0 between characters. */
typedef struct sup_gpu_untangle_scratch {
    sup_gpu_untangle_vertex *vertex;      /* [vertex_count] */
    int32_t *state;                       /* [vertex_count] */
    unsigned char *boundary;              /* for each of the view's neighbours: 1 where the edge crosses something */
    uint32_t *owner;                      /* [vertex_count] which group has claimed a vertex (untangle_lists.cuh) */
    int32_t *list, *known;                /* [vertex_count] vertices that are moved in this iteration, and in any */
    int32_t *queue;                       /* [vertex_count] */
    uint32_t *bits;                       /* [words] of slots in `list`: vertices whose edges are to be checked */
    int32_t *dirty;                       /* [clusters] of the active ones: 1 where it has moved */
    int32_t *dirty_list;                  /* [clusters] list of those */
    int32_t *slot;                        /* [clusters] index among the active ones; undefined for others */
    sup_gpu_untangle_crossing *crossings; /* [SUP_GPU_UNTANGLE_CROSSINGS] */
    sup_gpu_untangle_patch *patches;      /* [SUP_GPU_UNTANGLE_PATCHES] */
    unsigned long long *sorted;           /* [SUP_GPU_UNTANGLE_PAIRS] */
} sup_gpu_untangle_scratch;

typedef struct sup_gpu_untangle {
    sup_untangle_view view;                        /* with arrays on the device; no triangles: not untangled */
    const int32_t *first_render;                   /* [vertex_count] render vertex that its position is read from */
    const int32_t *vertex_first, *vertex_clusters; /* [vertex_count+1] and clusters with triangles at each vertex */
    const unsigned char *fixed;                    /* [coarse_count] 1: skin there must not move */
    const float *coarse_rest;                      /* [coarse_count*3] */
    const float *gap;                              /* [coarse_count] */
    const float *frame_time; /* [2] decay of the last frame's offsets over the frame, and its duration in seconds */
    float step_seconds;      /* duration of a step */
    int32_t cluster_count, words, scratch_count;
    int32_t joined;                   /* thread blocks that search one character, */
    int32_t split;                    /* and warps that search one of its clusters */
    float *offset;                    /* [count*vertex_count*3] of the last frame, 0 for none */
    uint32_t *moved;                  /* [count*words] bits of vertices with an offset */
    sup_gpu_untangle_frame *frame;    /* [count] */
    uint32_t *selected;               /* [count*words] bits of clusters that are searched */
    int32_t *active;                  /* [count*cluster_count] list of those, ascending */
    sup_gpu_four *box;                /* [count*cluster_count*SUP_GPU_UNTANGLE_BOX_FOURS] of the active ones */
    unsigned long long *pair;         /* [count*SUP_GPU_UNTANGLE_PAIRS] keys (key_of of untangle_find.cuh) */
    sup_gpu_untangle_scratch scratch; /* the first of scratch_count; the others follow in each array */
} sup_gpu_untangle;

/* After sup_gpu_render_mesh: untangles `out`. */
int sup_gpu_untangle_step(const sup_gpu_untangle *untangle, const sup_gpu_state *state, const sup_gpu_out *out,
                          void *stream);
/* Clears the offsets of the instances [first, first + count). */
int sup_gpu_untangle_reset(const sup_gpu_untangle *untangle, int32_t first, int32_t count, void *stream);

#ifdef __cplusplus
}
#endif

#endif

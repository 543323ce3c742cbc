/* gpu_untangle.h (internal) - what still crosses in the shown skin is parted: untangle/untangle.h on the device. See
 * gpu.h. */
#ifndef SUP_CUDA_GPU_UNTANGLE_H
#define SUP_CUDA_GPU_UNTANGLE_H

#include "cuda/gpu_render_mesh.h"
#include "untangle/untangle.h"

#ifdef __cplusplus
extern "C" {
#endif

enum {
    SUP_GPU_UNTANGLE_PAIRS = 2048,                  /* triangles that cross each other, of a character; more: left */
    SUP_GPU_UNTANGLE_HITS = 4 * SUP_GPU_UNTANGLE_PAIRS, /* two edges of one through the other, and the other way round */
    SUP_GPU_UNTANGLE_PATCHES = 256,                 /* of the skin that is inside */
    SUP_GPU_UNTANGLE_BOX_FOURS = 3                  /* of a cluster: untangle_find.cuh, part_boxes */
};
/* Numbers of hits and of patches, side by side: three of a point, three of a normal. */
enum {
    SUP_GPU_UNTANGLE_POINT = 0,
    SUP_GPU_UNTANGLE_SHARE = 3,
    SUP_GPU_UNTANGLE_NORMAL = 4,
    SUP_GPU_UNTANGLE_EDGE = 7,
    SUP_GPU_UNTANGLE_MEANS = 8
};

/* sup_untangle_hit of untangle_internal.h. */
typedef struct sup_gpu_untangle_hit {
    int32_t inside, outside, triangle;
    int32_t patch;                   /* that it is of (untangle_patch.cuh: patch_of), -1 for none */
    int32_t asks[4];                 /* vertices that it asks to move, -1 for none: an end, corners of the triangle; */
    float way[4];                    /* how far, by the normal, which is then that of the patch */
    float means[SUP_GPU_UNTANGLE_MEANS]; /* what a patch takes the mean of */
    float weight[3], depth, height;
    int32_t wall[2]; /* its edge from both ends, among the view's neighbours */
    int32_t fold;    /* what crosses is no contact but a fold: its outer end is moved too */
} sup_gpu_untangle_hit;

/* sup_untangle_patch of untangle_internal.h. */
typedef struct sup_gpu_untangle_patch {
    float means[SUP_GPU_UNTANGLE_MEANS];
    float weight;
    int32_t depth; /* bits of a float that is not negative */
    int32_t deep, torn, left, outer;
} sup_gpu_untangle_patch;

/* sup_untangle_vertex of untangle_internal.h. */
typedef struct sup_gpu_untangle_vertex {
    sup_gpu_four from, x, best, move;
    sup_gpu_four way; /* and the longest of what is asked for */
    int32_t patch, parent, hits, best_hits, sum, best_sum;
    int32_t at; /* place in the list of what is moved */
    int32_t pad;
} sup_gpu_untangle_vertex;

/* A character's frame. */
typedef struct sup_gpu_untangle_frame {
    int32_t shows;        /* its skin is shown and parted */
    int32_t active_count; /* clusters that are looked at */
    int32_t pair_count;   /* triangles that cross each other in them, SUP_GPU_UNTANGLE_PAIRS of them are kept */
    int32_t moved;        /* vertices that were moved in the last frame */
    int32_t stale;        /* that was long ago: its skin was not since */
    float keep;           /* of those ways */
} sup_gpu_untangle_frame;

/* Room to part one character in. All of `state`, `turn`, `wall` and `dirty` is 0 in between. */
typedef struct sup_gpu_untangle_room {
    sup_gpu_untangle_vertex *vertex; /* [vertex_count] */
    int32_t *state;              /* [vertex_count] */
    unsigned char *wall;         /* beside each of the view's neighbours: the edge crosses something */
    uint32_t *turn;              /* [vertex_count] who has a vertex (untangle_lists.cuh) */
    int32_t *list, *known;       /* [vertex_count] what is moved in this round, in any */
    int32_t *queue;              /* [vertex_count] */
    uint32_t *bits;              /* [words] of places in `list`: edges to look at */
    int32_t *dirty;              /* [clusters] of the active ones: has moved */
    int32_t *again;              /* [clusters] those */
    int32_t *place;              /* [clusters] among the active ones; of no use for those that are not */
    sup_gpu_untangle_hit *hits;      /* [SUP_GPU_UNTANGLE_HITS] */
    sup_gpu_untangle_patch *patches; /* [SUP_GPU_UNTANGLE_PATCHES] */
    unsigned long long *sorted;  /* [SUP_GPU_UNTANGLE_PAIRS] */
} sup_gpu_untangle_room;

typedef struct sup_gpu_untangle {
    sup_untangle_view view;                           /* of arrays on the device; no triangles: nothing is parted */
    const int32_t *first_shown;                   /* [vertex_count] output vertex that its place is read from */
    const int32_t *vertex_first, *vertex_clusters; /* [vertex_count+1] and clusters with triangles at each vertex */
    const unsigned char *held;                    /* [coarse_count] 1: skin there must not move */
    const float *coarse_rest;                     /* [coarse_count*3] */
    const float *gap;                             /* [coarse_count] */
    const float *keep;                            /* [1] of the ways of the last frame */
    int32_t cluster_count, words, room_count;
    int32_t joined;            /* blocks that look at one character, */
    int32_t split;             /* and warps at one of its clusters */
    float *offset;             /* [count*vertex_count*3] of the last frame, 0 where nothing was moved */
    uint32_t *moved;           /* [count*words] bits of vertices that were */
    sup_gpu_untangle_frame *frame; /* [count] */
    uint32_t *chosen;          /* [count*words] bits of clusters that are looked at */
    int32_t *active;           /* [count*cluster_count] those, rising */
    sup_gpu_four *box;         /* [count*cluster_count*SUP_GPU_UNTANGLE_BOX_FOURS] of the active ones */
    unsigned long long *pair;  /* [count*SUP_GPU_UNTANGLE_PAIRS] untangle_find.cuh: key_of */
    sup_gpu_untangle_room room;    /* the first; the others behind it, array by array */
} sup_gpu_untangle;

/* After sup_gpu_render_mesh: moves what crosses apart in `out`. */
int sup_gpu_untangle_step(const sup_gpu_untangle *part, const sup_gpu_state *state, const sup_gpu_out *out, void *stream);
/* The instances [first, first + count) begin anew: nothing was moved. */
int sup_gpu_untangle_reset(const sup_gpu_untangle *part, int32_t first, int32_t count, void *stream);

#ifdef __cplusplus
}
#endif

#endif

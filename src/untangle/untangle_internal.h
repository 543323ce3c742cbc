/* untangle_internal.h - what the files of parting share: the work, and the kernels that compare triangles. */
#ifndef SUP_UNTANGLE_UNTANGLE_INTERNAL_H
#define SUP_UNTANGLE_UNTANGLE_INTERNAL_H

#include "contact/detect_internal.h"
#include "untangle/untangle.h"

/* Triangles of a cluster side by side. */
typedef struct sup_untangle_block {
    float corner[9][SUP_UNTANGLE_CLUSTER]; /* x, y, z of the first corner, then of the others */
    float normal[3][SUP_UNTANGLE_CLUSTER]; /* twice the area long */
    float slack[SUP_UNTANGLE_CLUSTER];     /* rounding of a height times that length */
    sup_detect_boxes box;
    float axis[3], cosine; /* no normal is farther from the axis than that; the axis has length 1 */
} sup_untangle_block;

typedef struct sup_untangle_kernels {
    /* All else from the corners. */
    void (*bound)(sup_untangle_block *block);
    /* Bit i: triangle i of `others` may cross triangle `lane` of `block`. Their boxes meet, and each has corners on both
     * sides of the other's plane. */
    uint32_t (*cross)(const sup_untangle_block *block, int32_t lane, const sup_untangle_block *others);
} sup_untangle_kernels;

extern const sup_untangle_kernels sup_untangle_kernels_base;
#if defined(__x86_64__) && !defined(SUPPLE_SCALAR)
extern const sup_untangle_kernels sup_untangle_kernels_avx2, sup_untangle_kernels_avx512;
#endif

/* An edge goes through a triangle. */
typedef struct sup_untangle_hit {
    int32_t inside, outside; /* ends of the edge */
    int32_t triangle, of;    /* it goes through, and one that it is of */
    float point[3];          /* where it goes through */
    float normal[3];         /* of the triangle, unit */
    float weight[3];         /* of the point in the triangle */
    float depth, height;     /* of the inner end below the triangle's plane, of the outer one above it */
    float share;             /* that the triangle takes of the way: the coarser of two skins gives way */
    float edge;              /* length of the finer one's edges, about */
} sup_untangle_hit;

/* Skin that is inside, with crossing edges on all sides: means over those. */
typedef struct sup_untangle_patch {
    float point[3], normal[3];
    float share, edge, weight;
    float depth; /* of its deepest vertex below the plane */
    bool deep;   /* it has vertices that no crossing edge ends at */
    bool torn;   /* around it there are several ways out */
    bool left;   /* it is not moved */
    bool outer;  /* it is what is outside */
} sup_untangle_patch;

enum {
    SUP_UNTANGLE_LOADED = 1, /* of sup_untangle_work.state: its place is in `vertex` */
    SUP_UNTANGLE_HITS = 48   /* crossings that are kept of the triangles of one cluster */
};

/* A vertex that was moved, or is near one that was. */
typedef struct sup_untangle_vertex {
    int32_t patch;               /* number, or one of those below 0 in untangle.c */
    int32_t parent;              /* union-find: what hangs together is one cluster */
    int32_t hits, best_hits;     /* edges that cross with it as their inner end: now, and where `best` is */
    int32_t sum, best_sum;       /* of a cluster, at its root */
    float from[3];               /* as it came */
    float x[3], best[3];         /* now, and when its cluster crossed least */
    float way[3], most, move[3]; /* sum of what is asked for, the longest of it, and what comes of it */
} sup_untangle_vertex;

typedef struct sup_untangle_work {
    const sup_untangle_view *view;
    const sup_untangle_def *def;
    const sup_detect_kernels *boxes;
    const sup_untangle_kernels *kernels;
    const float *positions; /* [vertex_count*3] in the bind pose, where all that crosses is looked for; else NULL */
    sup_skin_out out;
    sup_untangle_vertex *vertex;  /* [vertex_count] */
    unsigned char *state;     /* [vertex_count] */
    unsigned char *wall;      /* beside each of the view's neighbours: the edge crosses something */
    int32_t *list;            /* [vertex_count] what is moved in this round */
    int32_t *known;           /* [vertex_count] what was moved in any */
    int32_t *queue;           /* [vertex_count] */
    int32_t *active;          /* [clusters] those that are looked at, rising */
    unsigned char *dirty;     /* [clusters] of the active ones: has moved since they were compared */
    sup_untangle_block *blocks;   /* [clusters] triangles of the active ones */
    sup_detect_box *whole;    /* [clusters] of each active cluster */
    sup_detect_boxes *groups; /* [clusters / SUP_DETECT_CLUSTER + 1] the same side by side */
    int32_t *hit_count;       /* [clusters] */
    sup_untangle_hit *hits;       /* [clusters*SUP_UNTANGLE_HITS] */
    sup_untangle_patch *patches;  /* [patch_most] */
    int32_t cluster_count, active_count, list_count, known_count, patch_count, patch_most;
    bool all_dirty;
} sup_untangle_work;

/* Arrays in `scratch`, which may be NULL; their bytes into *size. */
sup_untangle_work sup_untangle_lay_out(const sup_untangle_view *view, void *scratch, size_t *size);

/* Where a vertex came. */
const float *sup_untangle_place(const sup_untangle_work *work, int32_t vertex);

/* Bundles at simulated vertices that are near other skin. */
void sup_untangle_choose(sup_untangle_work *work);

/* Edges through triangles of the active clusters, where one of them is dirty. Returns how many. */
int32_t sup_untangle_find(const sup_context *context, sup_untangle_work *work);

/* Hits one after the other: {-1, 0} before the first; NULL after the last. */
typedef struct sup_untangle_at {
    int32_t cluster, next;
} sup_untangle_at;
const sup_untangle_hit *sup_untangle_next(const sup_untangle_work *work, sup_untangle_at *at);

/* What finding and parting calculate with. */
typedef struct vec {
    float x, y, z;
} vec;

static inline vec sub(const float *a, const float *b)
{
    return (vec){a[0] - b[0], a[1] - b[1], a[2] - b[2]};
}

static inline float dot(vec a, vec b)
{
    return a.x * b.x + a.y * b.y + a.z * b.z;
}

#endif

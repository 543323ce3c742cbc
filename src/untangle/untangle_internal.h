/* untangle_internal.h - types that the files of untangling share: scratch arrays, and the kernels that compare
 * triangles. */
#ifndef SUP_UNTANGLE_UNTANGLE_INTERNAL_H
#define SUP_UNTANGLE_UNTANGLE_INTERNAL_H

#include "contact/detect_internal.h"
#include "untangle/untangle.h"
#include "untangle/untangle_tuning.h"

/* Triangles of a cluster, structure of arrays. */
typedef struct sup_untangle_cluster {
    float corner[9][SUP_UNTANGLE_CLUSTER]; /* x, y, z of the first corner, then of the others */
    float normal[3][SUP_UNTANGLE_CLUSTER]; /* of twice the area's length */
    float rounding[SUP_UNTANGLE_CLUSTER];  /* error of a height times that length */
    sup_detect_boxes box;
    float axis[3], cosine; /* unit axis of the cone of normals, and the minimum cosine of a normal with it */
} sup_untangle_cluster;

typedef struct sup_untangle_kernels {
    /* Everything else from the corners. */
    void (*bound)(sup_untangle_cluster *cluster);
    /* Bit i: triangle i of `others` may cross triangle `lane` of `cluster`. Their boxes overlap, and each has corners
     * on both sides of the other's plane. */
    uint32_t (*cross)(const sup_untangle_cluster *cluster, int32_t lane, const sup_untangle_cluster *others);
} sup_untangle_kernels;

extern const sup_untangle_kernels sup_untangle_kernels_base;
#if defined(__x86_64__) && !defined(SUPPLE_SCALAR)
extern const sup_untangle_kernels sup_untangle_kernels_avx2, sup_untangle_kernels_avx512;
#endif

/* An edge that crosses a triangle. */
typedef struct sup_untangle_crossing {
    int32_t inside, outside;   /* ends of the edge */
    int32_t triangle, edge_of; /* that it crosses, and one that has the edge */
    float point[3];            /* intersection */
    float normal[3];           /* of the triangle, unit */
    float weight[3];           /* barycentric, of the point in the triangle */
    float depth, height;       /* of the inner end below the triangle's plane, of the outer one above it */
    float fraction;            /* of the displacement that the triangle takes: the coarser of two skins yields */
    float edge;                /* typical edge length of the finer skin */
} sup_untangle_crossing;

/* Connected skin on one side, bounded by crossing edges: means over those. */
typedef struct sup_untangle_patch {
    float point[3], normal[3];
    float fraction, edge, count; /* count: of its crossings */
    float depth;                 /* of its deepest vertex below the plane */
    bool deep;                   /* it has vertices that are no end of a crossing edge */
    bool ambiguous;              /* its crossings do not agree on one direction */
    bool skipped;                /* it is not moved */
    bool outer;                  /* it is made of the skin outside */
} sup_untangle_patch;

enum { SUP_UNTANGLE_LOADED = 1 }; /* of sup_untangle_mesh.state: the vertex is in `vertex` */

/* A vertex that was moved, or is near one that was. */
typedef struct sup_untangle_vertex {
    int32_t patch;                     /* index, or one of the negative values in untangle.c */
    int32_t parent;                    /* union-find of connected components */
    int32_t crossings, best_crossings; /* edges that cross with it as their inner end: now, and at `best` */
    int32_t sum, best_sum;             /* of a component, at its root */
    float start[3];                    /* position before untangling */
    float x[3], best[3];               /* position now, and when its component had the fewest crossings */
    float push[3], longest, move[3];   /* sum of the displacements asked for, the longest of them, and the result */
} sup_untangle_vertex;

/* Vertices of the render mesh and where they are. */
typedef struct sup_untangle_mesh {
    const sup_untangle_view *view;
    const unsigned char *positions; /* before untangling: vertex v at positions + index(v) * stride, */
    size_t stride;                  /* in bytes, */
    bool welded;                    /* where index(v) is v itself; else its first render vertex */
    const float *offset;            /* of sup_untangle_def, as the next one; NULL: none */
    float offset_fraction;
    sup_untangle_vertex *vertex; /* [vertex_count] */
    unsigned char *state;        /* [vertex_count] flags */
    int32_t *known;              /* [known_count] of [vertex_count], vertices that were moved in any iteration */
    int32_t known_count;
} sup_untangle_mesh;

/* Clusters that are searched for crossings. */
typedef struct sup_untangle_search {
    const sup_detect_kernels *boxes;
    const sup_untangle_kernels *kernels;
    int32_t *active;                /* [active_count] of [clusters], ascending */
    unsigned char *dirty;           /* [clusters] of the active ones: has moved since the last search */
    sup_untangle_cluster *clusters; /* [clusters] of the active ones */
    sup_detect_box *box;            /* [clusters] of each active cluster */
    sup_detect_boxes *node_box;     /* [clusters / SUP_DETECT_CLUSTER + 1] the same, structure of arrays */
    int32_t active_count;
    bool all_dirty;
    bool at_rest; /* the bind pose: all triangles and all pairs of clusters are compared */
} sup_untangle_search;

/* Crossings, by the active cluster that found them. */
typedef struct sup_untangle_crossings {
    int32_t *count;               /* [clusters] */
    sup_untangle_crossing *items; /* [clusters*SUP_UNTANGLE_MAX_CROSSINGS] */
    int32_t cluster_count;        /* active ones */
} sup_untangle_crossings;

typedef struct sup_untangle_patches {
    sup_untangle_patch *items; /* [SUP_UNTANGLE_MAX_PATCHES] */
    int32_t count;
    unsigned char *boundary; /* for each of the view's neighbours: 1 where the edge crosses something */
    int32_t *queue;          /* [vertex_count] of the flood fill */
} sup_untangle_patches;

/* The scratch memory. */
typedef struct sup_untangle_buffers {
    sup_untangle_mesh mesh;
    sup_untangle_search search;
    sup_untangle_crossings crossings;
    sup_untangle_patches patches;
    int32_t *moved; /* [vertex_count] list of the vertices that an iteration moves */
    size_t size;    /* in bytes */
} sup_untangle_buffers;

/* Arrays in `scratch`, which may be NULL to find the size. */
sup_untangle_buffers sup_untangle_layout(const sup_untangle_view *view, void *scratch);

/* Position of a vertex before untangling. */
const float *sup_untangle_position(const sup_untangle_mesh *mesh, int32_t vertex);

/* Activates the clusters at simulated vertices that are near other skin. */
void sup_untangle_select(const sup_untangle_view *view, const unsigned char *near, sup_untangle_search *search);

/* Edges that cross triangles of the active clusters, where one of the two clusters is dirty. Returns their number. */
int32_t sup_untangle_find(const sup_context *context, const sup_untangle_mesh *mesh, sup_untangle_search *search,
                          sup_untangle_crossings *crossings);

/* Iterates over crossings: {-1, 0} before the first; NULL after the last. */
typedef struct sup_untangle_iterator {
    int32_t cluster, next;
} sup_untangle_iterator;
const sup_untangle_crossing *sup_untangle_next(const sup_untangle_crossings *crossings, sup_untangle_iterator *at);

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

/* detect_internal.h - what the files of detection share: the kernels, and the layout of the state. */
#ifndef SUP_CONTACT_DETECT_INTERNAL_H
#define SUP_CONTACT_DETECT_INTERNAL_H

#include "contact/detect.h"

#include <math.h>
#include <stdatomic.h>

/* The tetrahedra of a cell, ready to test: entry k of tetrahedron t at maps[k][t]. Entries 0 to 2 are its first
 * corner, 3 to 11 the map, row-major, from the distance to that corner to the weights of the other three. Entry 0 is
 * not a number for inverted and flat ones: no point is inside. */
typedef float sup_detect_maps[12][SUP_DETECT_TETS];

typedef struct sup_detect_box {
    float lower[4], upper[4];
} sup_detect_box;

/* Triangles of a cell: the normal, twice the area long, and its length. */
typedef float sup_detect_faces[SUP_DETECT_CELL][4];

/* Rows of a block in the state, SUP_DETECT_CLUSTER floats each: x, y, z of its vertices, of their normals, and of the ways
 * from the bone to them. */
enum { SUP_DETECT_CLUSTER_ROWS = 9 };

/* Boxes of SUP_DETECT_CLUSTER things side by side: lower x, y, z, upper x, y, z. */
typedef float sup_detect_boxes[6][SUP_DETECT_CLUSTER];

typedef struct sup_detect_kernels {
    /* Bit i: box i meets `box`. */
    uint32_t (*meet)(const float (*boxes)[SUP_DETECT_CLUSTER], const sup_detect_box *box);
    /* Bit i: point i of a block, SUP_DETECT_CLUSTER x, then y, then z, is in `box`. */
    uint32_t (*within)(const float *block, const sup_detect_box *box);
    /* `points` has four floats a point. */
    void (*map)(const float *points, const int32_t *tets, int32_t count, sup_detect_maps maps);
    /* Bit t: `point` is inside tetrahedron t. */
    uint64_t (*test)(sup_detect_maps maps, int32_t count, const float *point);
    /* The same for the vertices of a block that have their bit in `lanes`: bits[i] of vertex i. Returns the bits of those
     * that are inside of any. */
    uint32_t (*inside)(sup_detect_maps maps, int32_t count, const float *block, uint32_t lanes, uint64_t *bits);
    /* Those of `lanes`, bits of a block's vertices, for which one of `count` triangles has a normal whose cosine is at
     * most limits[0] with that of the vertex and at most limits[1] with its way from the bone; or no normal. */
    uint32_t (*face)(const float *block, uint32_t lanes, sup_detect_faces faces, int32_t count, const float limits[2]);
} sup_detect_kernels;

extern const sup_detect_kernels sup_detect_kernels_base;
#if defined(__x86_64__) && !defined(SUPPLE_SCALAR)
extern const sup_detect_kernels sup_detect_kernels_avx2, sup_detect_kernels_avx512;
#endif

/* The widest that the processor has. */
const sup_detect_kernels *sup_detect_choose_kernels(void);

/* Arrays in a state. */
typedef struct sup_detect_arrays {
    float *points;                /* [vertex_count*2*4] skin pushed out by the gap, then feet, world space */
    float *skin, *normal;         /* [vertex_count*4] the skin itself */
    float *flesh;                 /* [vertex_count*4] unit, from the foot to the skin */
    float *area;                  /* [triangle_count*4] normals, as long as twice the area */
    float *blocks;                /* [block_count*SUP_DETECT_CLUSTER_ROWS*SUP_DETECT_CLUSTER] infinite without a vertex */
    int32_t *block_segment;         /* [block_count] that all its vertices stand on, -1 for none */
    uint32_t *block_folds;        /* [block_count] bits of its vertices' `folds` */
    sup_detect_boxes *block_box;  /* [clusters] of blocks */
    sup_detect_boxes *cluster_box; /* [clusters of clusters] */
    sup_detect_box *cell_box;     /* [cell_count] */
    _Atomic uint64_t *nearest;    /* [vertex_count] depth as bits above, triangle below; all ones for none */
    int32_t *pair;                /* [vertex_count] triangle, or -1 */
    _Atomic unsigned char *near;  /* [vertex_count] as in sup_detect_near */
    unsigned char *apart;         /* [segment_count] 1: as found by sup_detect_apart */
    int32_t *row_count;           /* per segment of work */
    size_t size;
} sup_detect_arrays;

/* Bundles that hold `count` things. */
static inline int32_t sup_detect_clusters(int32_t count)
{
    return (count + SUP_DETECT_CLUSTER - 1) / SUP_DETECT_CLUSTER;
}

sup_detect_arrays sup_detect_layout(const sup_detect *detect, void *state);

/* Pieces of work [i*grain, ...) of `count` left row_count[i] rows each at their beginning: moves them together. Returns
 * how many. */
static inline int32_t sup_contact_close_gaps(sup_contact *rows, int32_t count, int32_t grain, const int32_t *row_count)
{
    int32_t total = 0;
    for (int32_t begin = 0; begin < count; begin += grain) {
        int32_t here = row_count[begin / grain];
        if (total != begin) memmove(rows + total, rows + begin, (size_t)here * sizeof *rows);
        total += here;
    }
    return total;
}

/* Looks at the bind pose: what each vertex takes of the gap of other skin, the most; and `folds` of sup_detect, which
 * the caller has set to 1, cleared where prisms of one segment overlap. */
void sup_detect_bind_pose(const sup_context *context, const sup_detect *detect, void *state,
                          const sup_detect_input *input, float *depth, int32_t *folds);

#endif

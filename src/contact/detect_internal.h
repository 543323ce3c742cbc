/* detect_internal.h - types that the files of contact detection share: the kernels, and the layout of the state. */
#ifndef SUP_CONTACT_DETECT_INTERNAL_H
#define SUP_CONTACT_DETECT_INTERNAL_H

#include "contact/detect.h"

#include <math.h>
#include <stdatomic.h>

/* The tetrahedra of a tet cluster as maps from points to barycentric weights: entry k of tetrahedron t at maps[k][t].
 * Entries 0 to 2 are its first corner, 3 to 11 the matrix, row-major, from the distance to that corner to the weights
 * of the other three. Entry 0 is NaN for inverted and flat ones: no point is inside. */
typedef float sup_detect_maps[12][SUP_DETECT_CLUSTER_TETS];

typedef struct sup_detect_box {
    float lower[4], upper[4];
} sup_detect_box;

/* Triangles of a tet cluster: the normal, of twice the area's length, and that length. */
typedef float sup_detect_faces[SUP_DETECT_TET_CLUSTER][4];

/* Arrays of a vertex cluster in the state, SUP_DETECT_CLUSTER floats each: x, y, z of its vertices, of their normals,
 * and of the directions from the bone to them. */
enum { SUP_DETECT_CLUSTER_ARRAYS = 9 };

/* Boxes of the SUP_DETECT_CLUSTER children of a node, structure of arrays: lower x, y, z, upper x, y, z. */
typedef float sup_detect_boxes[6][SUP_DETECT_CLUSTER];

typedef struct sup_detect_kernels {
    /* Bit i: box i overlaps `box`. */
    uint32_t (*overlap)(const float (*boxes)[SUP_DETECT_CLUSTER], const sup_detect_box *box);
    /* Bit i: point i of a vertex cluster, SUP_DETECT_CLUSTER x, then y, then z, is in `box`. */
    uint32_t (*within)(const float *lanes, const sup_detect_box *box);
    /* `points` has four floats a point. */
    void (*map)(const float *points, const int32_t *tets, int32_t count, sup_detect_maps maps);
    /* Bit t: `point` is inside tetrahedron t. */
    uint64_t (*test)(sup_detect_maps maps, int32_t count, const float *point);
    /* The same for the vertices of a cluster whose bit is set in `set`: bits[i] of vertex i. Returns the set of
     * vertices that are inside any tetrahedron. */
    uint32_t (*inside)(sup_detect_maps maps, int32_t count, const float *lanes, uint32_t set, uint64_t *bits);
    /* The subset of `set`, vertices of a cluster, for which one of `count` triangles has a normal whose cosine is at
     * most limits[0] with the vertex normal and at most limits[1] with its direction from the bone; or no normal. */
    uint32_t (*face)(const float *lanes, uint32_t set, sup_detect_faces faces, int32_t count, const float limits[2]);
} sup_detect_kernels;

extern const sup_detect_kernels sup_detect_kernels_base;
#if defined(__x86_64__) && !defined(SUPPLE_SCALAR)
extern const sup_detect_kernels sup_detect_kernels_avx2, sup_detect_kernels_avx512;
#endif

/* The widest that the processor supports. */
const sup_detect_kernels *sup_detect_choose_kernels(void);

/* Arrays in a state. */
typedef struct sup_detect_arrays {
    float *points;                   /* [vertex_count*2*4] skin offset by the gap, then foot points, world space */
    float *skin, *normal;            /* [vertex_count*4] the skin itself */
    float *bone_direction;           /* [vertex_count*4] unit, from the foot point to the skin */
    float *area;                     /* [triangle_count*4] normals of twice the area's length */
    float *cluster_lanes;            /* [vertex_cluster_count*SUP_DETECT_CLUSTER_ARRAYS*SUP_DETECT_CLUSTER] infinite
                                     * without a vertex */
    int32_t *cluster_segment;        /* [vertex_cluster_count] of bone that all its vertices are on, -1 for none */
    uint32_t *cluster_self_contact;  /* [vertex_cluster_count] bits of its vertices' `self_contact` */
    sup_detect_boxes *cluster_box;   /* [nodes] of vertex clusters */
    sup_detect_boxes *node_box;      /* [nodes of nodes] */
    sup_detect_box *tet_cluster_box; /* [tet_cluster_count] */
    _Atomic uint64_t *nearest;       /* [vertex_count] bits of the distance above, triangle below; all ones for none */
    int32_t *pair;                   /* [vertex_count] triangle, or -1 */
    float *onset;                    /* [vertex_count] sup_contact_onset of its pair, 0 for none */
    _Atomic unsigned char *near;     /* [vertex_count] as in sup_detect_near */
    unsigned char *separated;        /* [segment_count] 1: as found by sup_detect_find_separated */
    int32_t *contact_count;          /* of each task */
    size_t size;
} sup_detect_arrays;

/* Nodes of SUP_DETECT_CLUSTER children each that hold `count` children. */
static inline int32_t sup_detect_node_count(int32_t count)
{
    return (count + SUP_DETECT_CLUSTER - 1) / SUP_DETECT_CLUSTER;
}

sup_detect_arrays sup_detect_layout(const sup_detect *detect, void *state);

/* Tasks [i*grain, ...) of `count` items wrote contact_count[i] contacts each at their beginning: makes the list
 * contiguous. Returns its length. */
static inline int32_t sup_contact_compact(sup_contact *contacts, int32_t count, int32_t grain,
                                          const int32_t *contact_count)
{
    int32_t total = 0;
    for (int32_t begin = 0; begin < count; begin += grain) {
        int32_t here = contact_count[begin / grain];
        if (total != begin) memmove(contacts + total, contacts + begin, (size_t)here * sizeof *contacts);
        total += here;
    }
    return total;
}

/* Measures the bind pose: depth[vertex_count], the largest depth of each vertex below the gap of other skin; and
 * `self_contact` of sup_detect, which the caller has set to 1, cleared where prisms of one segment overlap. */
void sup_detect_bind_pose(const sup_context *context, const sup_detect *detect, void *state,
                          const sup_detect_input *input, float *depth, int32_t *self_contact);

#endif

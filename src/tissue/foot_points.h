/* foot_points.h - foot points: where on the bone lines each skin vertex stands. See foot_points.c. */
#ifndef SUP_TISSUE_FOOT_POINTS_H
#define SUP_TISSUE_FOOT_POINTS_H

#include "geometry/adjacency.h"
#include "tissue/volumetric_bones.h"

typedef struct sup_feet_report {
    int32_t sweeps;
    int32_t pinned;
    double last_step; /* mean step of the last sweep, of the size */
} sup_feet_report;

/* Nearest place of the bone lines for each skin vertex, on the limb that its influences say; by sight where there are
 * none. `feet` holds skin->vertex_count. */
void sup_feet_nearest(const sup_context *context, const sup_tissue_skin *skin, const sup_bvh *bvh,
                      const sup_volumetric_skeleton *skeleton, sup_foot *feet);

/* Smooths feet along the tree. `smoothing` is the length over which it works, in distances of a vertex from its bone;
 * 0 leaves them. `report` may be NULL. */
sup_result sup_feet_smooth(const sup_context *context, const sup_tissue_skin *skin, const sup_adjacency *adjacency,
                           const sup_volumetric_skeleton *skeleton, double smoothing, sup_foot *feet,
                           sup_feet_report *report, sup_error *error);

/* The skeleton as a rooted forest: distances along it in constant time. */
typedef struct sup_skeleton_tree {
    const sup_volumetric_skeleton *skeleton;
    int32_t *upper, *lower; /* [segment_count] nodes of each segment, the upper one nearer to the root */
    double *length;         /* [segment_count] */
    double *depth;          /* [node_count] distance from the root */
    int32_t *tree;          /* [node_count] which of the trees, its root */
    int32_t *enter, *leave; /* [node_count] the nodes below n are those with enter in [enter[n], leave[n]) */
    int32_t *level;         /* [node_count] segments from the root */
    int32_t **table; /* sparse table over the nodes by `enter`: the highest of 2^k of them, named by its parent */
    int32_t table_rows;
    sup_arena arena;
} sup_skeleton_tree;

sup_result sup_skeleton_tree_create(const sup_allocator *allocator, const sup_volumetric_skeleton *skeleton,
                                    sup_skeleton_tree *tree, sup_error *error);
void sup_skeleton_tree_destroy(sup_skeleton_tree *tree);
/* Along the bones; INFINITY between different trees. */
double sup_skeleton_node_distance(const sup_skeleton_tree *tree, int32_t a, int32_t b);
double sup_skeleton_foot_distance(const sup_skeleton_tree *tree, sup_foot a, sup_foot b);

#endif

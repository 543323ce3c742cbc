/* foot_points.h - foot points: a point on the bone lines for each skin vertex. See foot_points.c. */
#ifndef SUP_TISSUE_FOOT_POINTS_H
#define SUP_TISSUE_FOOT_POINTS_H

#include "geometry/adjacency.h"
#include "tissue/volumetric_bones.h"

typedef struct sup_foot_points_report {
    int32_t sweeps;
    int32_t pinned;
    double last_step; /* mean step of the last sweep, in sizes */
} sup_foot_points_report;

/* Nearest point of the bone lines for each skin vertex, on the limb of its strongest influence; without influences the
 * nearest visible one. `foot_points` [skin->vertex_count]. */
void sup_foot_points_nearest(const sup_context *context, const sup_tissue_skin *skin, const sup_bvh *bvh,
                             const sup_volumetric_skeleton *skeleton, sup_foot_point *foot_points);

/* Smooths foot points along the skeleton. `smoothing`: length scale in distances of a vertex from its bone; 0: none.
 * `report` may be NULL. */
sup_result sup_foot_points_smooth(const sup_context *context, const sup_tissue_skin *skin,
                                  const sup_adjacency *adjacency, const sup_volumetric_skeleton *skeleton,
                                  double smoothing, sup_foot_point *foot_points, sup_foot_points_report *report,
                                  sup_error *error);

/* The skeleton as a rooted forest: path lengths in constant time. */
typedef struct sup_skeleton_tree {
    const sup_volumetric_skeleton *skeleton;
    int32_t *upper, *lower; /* [segment_count] nodes of each segment, the upper one nearer to the root */
    double *length;         /* [segment_count] */
    double *depth;          /* [node_count] distance from the root */
    int32_t *tree;          /* [node_count] root of the node's tree */
    int32_t *enter, *leave; /* [node_count] the nodes below n are those with enter in [enter[n], leave[n]) */
    int32_t *level;         /* [node_count] segments from the root */
    int32_t **table; /* sparse table over the nodes by `enter`: the highest of 2^k of them, stored as its parent */
    int32_t table_rows;
    sup_arena arena;
} sup_skeleton_tree;

sup_result sup_skeleton_tree_create(const sup_allocator *allocator, const sup_volumetric_skeleton *skeleton,
                                    sup_skeleton_tree *tree, sup_error *error);
void sup_skeleton_tree_destroy(sup_skeleton_tree *tree);
/* Path lengths along the bones; INFINITY between different trees. */
double sup_skeleton_node_path_length(const sup_skeleton_tree *tree, int32_t a, int32_t b);
double sup_skeleton_path_length(const sup_skeleton_tree *tree, sup_foot_point a, sup_foot_point b);

#endif

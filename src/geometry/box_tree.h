/* box_tree.h (internal) - a tree of boxes over triangles that move: built once, refitted every frame.
 *
 * Nodes stand in depth-first order: the left child of node i is i + 1, so refitting is one backward sweep. Answers come
 * in an order that depends on the tree alone. */
#ifndef SUP_GEOMETRY_BOX_TREE_H
#define SUP_GEOMETRY_BOX_TREE_H

#include "base/base.h"

typedef struct sup_box {
    float low[3], high[3];
} sup_box;

typedef struct sup_box_node {
    sup_box box;
    int32_t right;        /* right child, 0 for a leaf */
    int32_t first, count; /* leaf: items [first, first + count) of `items` */
} sup_box_node;

typedef struct sup_box_tree {
    int32_t item_count, node_count;
    int32_t *items; /* [item_count] triangle indices in tree order */
    sup_box_node *nodes;
} sup_box_tree;

enum { SUP_BOX_TREE_DEPTH = 64 }; /* median splits: 32 levels hold any int32 count */

sup_box sup_triangle_box(const float *positions, const int32_t *triangle);

/* Over all triangles; memory from the arena. */
sup_result sup_box_tree_build(sup_box_tree *tree, sup_arena *arena, const float *positions, const int32_t *triangles,
                              int32_t triangle_count, sup_error *error);
void sup_box_tree_refit(sup_box_tree *tree, const float *positions, const int32_t *triangles);

/* Calls `visit` for every pair of different triangles whose leaf boxes overlap; stops when it returns false. */
typedef bool sup_box_pair_fn(void *user, int32_t a, int32_t b);
void sup_box_tree_self_pairs(const sup_box_tree *tree, sup_box_pair_fn *visit, void *user);

/* Calls `visit` for the triangles in boxes that the ray origin + t direction, t >= 0, enters. */
typedef void sup_box_item_fn(void *user, int32_t item);
void sup_box_tree_ray(const sup_box_tree *tree, const double origin[3], const double direction[3],
                      sup_box_item_fn *visit, void *user);

/* Calls `visit` for triangles in boxes nearer than *distance to the point, nearer boxes first; `visit` lowers
 * *distance as it finds nearer ones. */
void sup_box_tree_near(const sup_box_tree *tree, const double point[3], double *distance, sup_box_item_fn *visit,
                       void *user);

#endif

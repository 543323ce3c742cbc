/* box_tree.c - a tree of boxes over moving triangles. */
#include "geometry/box_tree.h"

#include <math.h>

enum { LEAF_ITEMS = 4 };

sup_box sup_triangle_box(const float *positions, const int32_t *triangle)
{
    sup_box box;
    for (int k = 0; k < 3; k++) {
        float a = positions[3 * (size_t)triangle[0] + (size_t)k], b = positions[3 * (size_t)triangle[1] + (size_t)k];
        float c = positions[3 * (size_t)triangle[2] + (size_t)k];
        float low = a < b ? a : b, high = a < b ? b : a;
        box.low[k] = c < low ? c : low;
        box.high[k] = c > high ? c : high;
    }
    return box;
}

static sup_box box_union(sup_box a, sup_box b)
{
    for (int k = 0; k < 3; k++) {
        if (b.low[k] < a.low[k]) a.low[k] = b.low[k];
        if (b.high[k] > a.high[k]) a.high[k] = b.high[k];
    }
    return a;
}

static bool boxes_overlap(const sup_box *a, const sup_box *b)
{
    return a->low[0] <= b->high[0] && b->low[0] <= a->high[0] && a->low[1] <= b->high[1] && b->low[1] <= a->high[1] &&
           a->low[2] <= b->high[2] && b->low[2] <= a->high[2];
}

/* By twice the centre of the box on one axis; ties by index, so that the order is the same everywhere. */
static bool comes_before(const sup_box *boxes, int axis, int32_t a, int32_t b)
{
    float ca = boxes[a].low[axis] + boxes[a].high[axis], cb = boxes[b].low[axis] + boxes[b].high[axis];
    return ca < cb || (ca == cb && a < b);
}

/* Hoare's selection: items[k] becomes the k-th in order, smaller ones before it. */
static void select_item(int32_t *items, int32_t count, int32_t k, const sup_box *boxes, int axis)
{
    int32_t low = 0, high = count - 1;
    while (low < high) {
        int32_t pivot = items[low + (high - low) / 2], i = low, j = high;
        while (i <= j) {
            while (comes_before(boxes, axis, items[i], pivot))
                i++;
            while (comes_before(boxes, axis, pivot, items[j]))
                j--;
            if (i <= j) {
                int32_t swap = items[i];
                items[i++] = items[j];
                items[j--] = swap;
            }
        }
        if (k <= j)
            high = j;
        else if (k >= i)
            low = i;
        else
            return;
    }
}

static int longest_axis(const int32_t *items, int32_t count, const sup_box *boxes)
{
    sup_box all = boxes[items[0]];
    for (int32_t i = 1; i < count; i++)
        all = box_union(all, boxes[items[i]]);
    int axis = 0;
    for (int k = 1; k < 3; k++)
        if (all.high[k] - all.low[k] > all.high[axis] - all.low[axis]) axis = k;
    return axis;
}

typedef struct build_task {
    int32_t first, count, parent; /* parent whose right child this is, -1 for none */
} build_task;

static void build_nodes(sup_box_tree *tree, const sup_box *boxes)
{
    build_task stack[SUP_BOX_TREE_DEPTH];
    int depth = 0;
    stack[depth++] = (build_task){0, tree->item_count, -1};
    while (depth > 0) {
        build_task task = stack[--depth];
        int32_t index = tree->node_count++;
        sup_box_node *node = &tree->nodes[index];
        if (task.parent >= 0) tree->nodes[task.parent].right = index;
        *node = (sup_box_node){.first = task.first, .count = task.count};
        if (task.count <= LEAF_ITEMS) continue;
        int32_t half = task.count / 2;
        int32_t *items = tree->items + task.first;
        select_item(items, task.count, half, boxes, longest_axis(items, task.count, boxes));
        node->count = 0;
        stack[depth++] = (build_task){task.first + half, task.count - half, index};
        stack[depth++] = (build_task){task.first, half, -1};
    }
}

sup_result sup_box_tree_build(sup_box_tree *tree, sup_arena *arena, const float *positions, const int32_t *triangles,
                              int32_t triangle_count, sup_error *error)
{
    memset(tree, 0, sizeof *tree);
    tree->item_count = triangle_count;
    tree->items = sup_arena_alloc(arena, (size_t)triangle_count, sizeof *tree->items);
    tree->nodes = sup_arena_alloc(arena, (size_t)triangle_count + 1, sizeof *tree->nodes);
    sup_box *boxes = sup_arena_alloc(arena, (size_t)triangle_count, sizeof *boxes);
    if (tree->items == NULL || tree->nodes == NULL || boxes == NULL) return sup_fail_memory(error, "a box tree");
    for (int32_t i = 0; i < triangle_count; i++) {
        tree->items[i] = i;
        boxes[i] = sup_triangle_box(positions, triangles + 3 * (size_t)i);
    }
    if (triangle_count > 0) build_nodes(tree, boxes);
    sup_box_tree_refit(tree, positions, triangles);
    return SUP_OK;
}

static sup_box leaf_box(const sup_box_tree *tree, const sup_box_node *node, const float *positions,
                        const int32_t *triangles)
{
    sup_box box = sup_triangle_box(positions, triangles + 3 * (size_t)tree->items[node->first]);
    for (int32_t k = 1; k < node->count; k++)
        box = box_union(box, sup_triangle_box(positions, triangles + 3 * (size_t)tree->items[node->first + k]));
    return box;
}

void sup_box_tree_refit(sup_box_tree *tree, const float *positions, const int32_t *triangles)
{
    for (int32_t i = tree->node_count - 1; i >= 0; i--) {
        sup_box_node *node = &tree->nodes[i];
        node->box = node->right != 0 ? box_union(tree->nodes[i + 1].box, tree->nodes[node->right].box)
                                     : leaf_box(tree, node, positions, triangles);
    }
}

static bool visit_leaves(const sup_box_tree *tree, const sup_box_node *a, const sup_box_node *b, sup_box_pair_fn *visit,
                         void *user)
{
    for (int32_t i = 0; i < a->count; i++)
        for (int32_t j = a == b ? i + 1 : 0; j < b->count; j++)
            if (!visit(user, tree->items[a->first + i], tree->items[b->first + j])) return false;
    return true;
}

void sup_box_tree_self_pairs(const sup_box_tree *tree, sup_box_pair_fn *visit, void *user)
{
    if (tree->node_count == 0) return;
    int32_t stack[SUP_BOX_TREE_DEPTH * 8][2];
    int depth = 0;
    stack[depth][0] = stack[depth][1] = 0;
    depth++;
    while (depth > 0) {
        depth--;
        int32_t ia = stack[depth][0], ib = stack[depth][1];
        const sup_box_node *a = &tree->nodes[ia], *b = &tree->nodes[ib];
        if (ia == ib && a->right != 0) { /* a node with itself: both children, and the two together */
            const int32_t next[3][2] = {{ia + 1, ia + 1}, {a->right, a->right}, {ia + 1, a->right}};
            memcpy(stack[depth], next, sizeof next);
            depth += 3;
            continue;
        }
        if (ia != ib && !boxes_overlap(&a->box, &b->box)) continue;
        if (a->right == 0 && b->right == 0) {
            if (!visit_leaves(tree, a, b, visit, user)) return;
            continue;
        }
        bool split_a = b->right == 0 || (a->right != 0 && ia < ib);
        const int32_t next[2][2] = {{split_a ? ia + 1 : ia, split_a ? ib : ib + 1},
                                    {split_a ? a->right : ia, split_a ? ib : b->right}};
        memcpy(stack[depth], next, sizeof next);
        depth += 2;
    }
}

static bool ray_enters(const sup_box *box, const double origin[3], const double inverse[3])
{
    double enter = 0.0, leave = (double)INFINITY;
    for (int k = 0; k < 3; k++) {
        double t0 = ((double)box->low[k] - origin[k]) * inverse[k],
               t1 = ((double)box->high[k] - origin[k]) * inverse[k];
        if (isnan(t0) || isnan(t1)) continue; /* parallel and on a side: this axis cannot tell */
        enter = fmax(enter, fmin(t0, t1));
        leave = fmin(leave, fmax(t0, t1));
    }
    return enter <= leave * (1.0 + 1e-12);
}

void sup_box_tree_ray(const sup_box_tree *tree, const double origin[3], const double direction[3],
                      sup_box_item_fn *visit, void *user)
{
    if (tree->node_count == 0) return;
    double inverse[3] = {1.0 / direction[0], 1.0 / direction[1], 1.0 / direction[2]};
    int32_t stack[SUP_BOX_TREE_DEPTH];
    int depth = 0;
    stack[depth++] = 0;
    while (depth > 0) {
        int32_t index = stack[--depth];
        const sup_box_node *node = &tree->nodes[index];
        if (!ray_enters(&node->box, origin, inverse)) continue;
        for (int32_t i = 0; i < node->count; i++)
            visit(user, tree->items[node->first + i]);
        if (node->right == 0) continue;
        stack[depth++] = node->right;
        stack[depth++] = index + 1;
    }
}

static double box_distance(const sup_box *box, const double point[3])
{
    double sum = 0.0;
    for (int k = 0; k < 3; k++) {
        double outside = fmax(fmax((double)box->low[k] - point[k], point[k] - (double)box->high[k]), 0.0);
        sum += outside * outside;
    }
    return sqrt(sum);
}

void sup_box_tree_near(const sup_box_tree *tree, const double point[3], double *distance, sup_box_item_fn *visit,
                       void *user)
{
    if (tree->node_count == 0) return;
    int32_t stack[SUP_BOX_TREE_DEPTH];
    int depth = 0;
    stack[depth++] = 0;
    while (depth > 0) {
        int32_t index = stack[--depth];
        const sup_box_node *node = &tree->nodes[index];
        if (!(box_distance(&node->box, point) < *distance)) continue;
        for (int32_t i = 0; i < node->count; i++)
            visit(user, tree->items[node->first + i]);
        if (node->right == 0) continue;
        double left = box_distance(&tree->nodes[index + 1].box, point);
        bool left_first = left <= box_distance(&tree->nodes[node->right].box, point);
        stack[depth++] = left_first ? node->right : index + 1;
        stack[depth++] = left_first ? index + 1 : node->right;
    }
}

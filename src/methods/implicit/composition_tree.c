/* composition_tree.c - the composition tree of a skeleton.
 *
 * Based on: [vaillant2014iso] section 4.1. */
#include "methods/implicit/composition_tree.h"

/* A node during the build. Items are numbered: fields first, then count + node. */
typedef struct joint_node {
    int32_t left, right, table, controller;
} joint_node;

typedef struct tree {
    const sup_tree_field *fields;
    int32_t count, node_count;
    joint_node *nodes;     /* [count] */
    int32_t *pending;      /* [2*count] by item: maximum number of nodes pending while it is evaluated */
    int32_t *depth;        /* [count] number of joints above a field */
    int32_t *order;        /* [count] fields, deepest first */
    int32_t *item;         /* [count] item that represents a field and everything composed below it */
    int32_t *parent_node;  /* [count] node that joins a field with its parent, or -1 */
    int32_t *subtree_root; /* [count] topmost field of the bottom subtree that a field is in */
    int32_t *list;         /* [count] scratch: children of one field */
    int32_t *stack;        /* [2*count] scratch */
} tree;

/* Joins two items; the one with the deeper evaluation stack becomes the left operand. */
static int32_t join(tree *t, int32_t a, int32_t b, int32_t table, int32_t controller)
{
    int32_t left = t->pending[a] >= t->pending[b] ? a : b, right = left == a ? b : a, item = t->count + t->node_count;
    t->nodes[t->node_count++] = (joint_node){left, right, table, controller};
    t->pending[item] = t->pending[left] > t->pending[right] ? t->pending[left] : t->pending[right] + 1;
    return item;
}

static int32_t compare_numbers(double a, double b)
{
    return a < b ? -1 : (a > b ? 1 : 0);
}

/* Orders fields by size and position, independent of their numbering: small before large. */
static int32_t compare_fields(const tree *t, int32_t a, int32_t b)
{
    const sup_tree_field *x = &t->fields[a], *y = &t->fields[b];
    int32_t order = compare_numbers(x->size, y->size);
    for (int32_t axis = 0; axis < 3 && order == 0; axis++)
        order = compare_numbers(x->position[axis], y->position[axis]);
    return order != 0 ? order : a - b;
}

static void sort_list(const tree *t, int32_t count)
{
    for (int32_t i = 1; i < count; i++) {
        int32_t field = t->list[i], j = i;
        for (; j > 0 && compare_fields(t, field, t->list[j - 1]) < 0; j--)
            t->list[j] = t->list[j - 1];
        t->list[j] = field;
    }
}

static bool same_size(const tree *t, int32_t a, int32_t b)
{
    double x = t->fields[a].size, y = t->fields[b].size;
    return y - x <= 0.02 * y;
}

/* Joins the fields of the sorted list that have the same operator as the first one, and removes them from the list. */
static int32_t join_siblings(tree *t, int32_t *count, const int32_t siblings[2])
{
    const sup_tree_field *like = &t->fields[t->list[0]];
    int32_t group = 0, rest = 0, pairs = 0;
    for (int32_t i = 0; i < *count; i++) {
        const sup_tree_field *field = &t->fields[t->list[i]];
        if (field->table == like->table && field->controller == like->controller)
            t->stack[group++] = t->list[i];
        else
            t->list[rest++] = t->list[i];
    }
    *count = rest;
    for (int32_t i = 0; i < group; pairs++) {
        bool pair = i + 1 < group && same_size(t, t->stack[i], t->stack[i + 1]);
        int32_t item = t->item[t->stack[i]];
        if (pair) item = join(t, item, t->item[t->stack[i + 1]], siblings[0], siblings[1]);
        i += pair ? 2 : 1;
        t->stack[pairs] = item;
    }
    int32_t all = t->stack[0];
    for (int32_t i = 1; i < pairs; i++)
        all = join(t, all, t->stack[i], siblings[0], siblings[1]);
    return all;
}

static bool find_depths(tree *t)
{
    for (int32_t i = 0; i < t->count; i++) {
        int32_t above = 0;
        for (int32_t f = t->fields[i].parent; f >= 0; f = t->fields[f].parent)
            if (f >= t->count || ++above > t->count) return false;
        t->depth[i] = above;
    }
    int32_t found = 0;
    for (int32_t depth = t->count - 1; depth >= 0; depth--)
        for (int32_t i = 0; i < t->count; i++)
            if (t->depth[i] == depth) t->order[found++] = i;
    return true;
}

/* Joins the children of `field` whose nodes are at the bottom, one after the other: each bulges against all previous
 * ones. */
static void join_bottom(tree *t, int32_t field)
{
    int32_t count = 0;
    for (int32_t i = 0; i < t->count; i++)
        if (t->fields[i].parent == field && t->fields[i].first) t->list[count++] = i;
    sort_list(t, count);
    for (int32_t i = 0; i < count; i++) {
        const sup_tree_field *child = &t->fields[t->list[i]];
        t->item[field] = join(t, t->item[field], t->item[t->list[i]], child->table, child->controller);
        t->parent_node[t->list[i]] = t->node_count - 1;
    }
}

static void join_children(tree *t, int32_t field, const int32_t siblings[2])
{
    int32_t count = 0;
    for (int32_t i = 0; i < t->count; i++)
        if (t->fields[i].parent >= 0 && !t->fields[i].first && t->subtree_root[t->fields[i].parent] == field)
            t->list[count++] = i;
    sort_list(t, count);
    while (count > 0) {
        const sup_tree_field *like = &t->fields[t->list[0]];
        int32_t joined = join_siblings(t, &count, siblings);
        t->item[field] = join(t, t->item[field], joined, like->table, like->controller);
        for (int32_t i = 0; i < t->count; i++) {
            const sup_tree_field *child = &t->fields[i];
            if (child->parent >= 0 && !child->first && t->subtree_root[child->parent] == field &&
                child->table == like->table && child->controller == like->controller)
                t->parent_node[i] = t->node_count - 1;
        }
    }
}

static int32_t join_all(tree *t, const int32_t siblings[2])
{
    for (int32_t i = 0; i < t->count; i++) {
        t->item[i] = i;
        t->parent_node[i] = -1;
    }
    for (int32_t i = 0; i < t->count; i++)
        join_bottom(t, t->order[i]);
    for (int32_t i = t->count - 1; i >= 0; i--) { /* from the roots down */
        int32_t field = t->order[i], parent = t->fields[field].parent;
        t->subtree_root[field] = parent >= 0 && t->fields[field].first ? t->subtree_root[parent] : field;
    }
    for (int32_t i = 0; i < t->count; i++)
        if (t->subtree_root[t->order[i]] == t->order[i]) join_children(t, t->order[i], siblings);
    int32_t count = 0, all = -1;
    for (int32_t i = 0; i < t->count; i++)
        if (t->fields[i].parent < 0) t->list[count++] = i;
    sort_list(t, count);
    while (count > 0) {
        int32_t joined = join_siblings(t, &count, siblings);
        all = all < 0 ? joined : join(t, all, joined, siblings[0], siblings[1]);
    }
    return all;
}

/* Writes the sequence from left to right without recursion: an item >= 0 on the stack is still to be expanded, -1 -
 * node is to be written. */
static void write_sequence(const tree *t, int32_t root, int32_t *leaves, sup_compose_node *nodes, int32_t *parent_node)
{
    for (int32_t i = 0; i < t->count && parent_node != NULL; i++)
        parent_node[i] = -1;
    int32_t stack_size = 0, leaf = 0;
    t->stack[stack_size++] = root;
    while (stack_size > 0) {
        int32_t item = t->stack[--stack_size];
        if (item < 0) {
            const joint_node *node = &t->nodes[-1 - item];
            nodes[leaf - 1] = (sup_compose_node){-1 - item, node->table, node->controller};
            for (int32_t i = 0; i < t->count && parent_node != NULL; i++)
                if (t->parent_node[i] == -1 - item) parent_node[i] = leaf - 1;
        } else if (item < t->count)
            leaves[leaf++] = item;
        else {
            const joint_node *node = &t->nodes[item - t->count];
            t->stack[stack_size++] = node->right;
            t->stack[stack_size++] = -1 - (item - t->count);
            t->stack[stack_size++] = node->left;
        }
    }
}

sup_result sup_composition_tree_build(const sup_context *context_in, const sup_tree_field *fields, int32_t count,
                                      const int32_t siblings[2], int32_t *leaves, sup_compose_node *nodes,
                                      int32_t *parent_node, sup_error *error)
{
    sup_context context = sup_context_resolve(context_in);
    sup_arena arena = sup_arena_create(&context.allocator);
    size_t size = (size_t)count;
    tree t = {.fields = fields,
              .count = count,
              .nodes = sup_arena_alloc(&arena, size, sizeof(joint_node)),
              .pending = sup_arena_alloc(&arena, 2 * size, sizeof(int32_t)),
              .depth = sup_arena_alloc(&arena, size, sizeof(int32_t)),
              .order = sup_arena_alloc(&arena, size, sizeof(int32_t)),
              .item = sup_arena_alloc(&arena, size, sizeof(int32_t)),
              .parent_node = sup_arena_alloc(&arena, size, sizeof(int32_t)),
              .subtree_root = sup_arena_alloc(&arena, size, sizeof(int32_t)),
              .list = sup_arena_alloc(&arena, size, sizeof(int32_t)),
              .stack = sup_arena_alloc(&arena, 2 * size + 2, sizeof(int32_t))};
    sup_result result = SUP_OK;
    if (t.nodes == NULL || t.pending == NULL || t.depth == NULL || t.order == NULL || t.item == NULL ||
        t.parent_node == NULL || t.subtree_root == NULL || t.list == NULL || t.stack == NULL)
        result = sup_fail_memory(error, "the composition tree");
    else if (!find_depths(&t))
        result = sup_fail(error, SUP_ERROR_DATA, "implicit.tree", "",
                          "The parents of the skeleton's bones form a cycle: give each bone a parent above it.");
    else if (count > 0)
        write_sequence(&t, join_all(&t, siblings), leaves, nodes, parent_node);
    sup_arena_destroy(&arena);
    return result;
}

/* volumetric_bones_tree.c - path lengths along the bones.
 *
 * Path length = depth + depth - 2 depth of the lowest common ancestor, which is the highest node in a range of the
 * preorder traversal (sparse table): n log n memory, constant time. */
#include "tissue/foot_points.h"

static bool allocate(sup_skeleton_tree *t)
{
    const sup_volumetric_skeleton *s = t->skeleton;
    size_t nodes = (size_t)s->node_count, segments = (size_t)s->segment_count;
    t->upper = sup_arena_alloc(&t->arena, segments, sizeof *t->upper);
    t->lower = sup_arena_alloc(&t->arena, segments, sizeof *t->lower);
    t->length = sup_arena_alloc(&t->arena, segments, sizeof *t->length);
    t->depth = sup_arena_alloc(&t->arena, nodes, sizeof *t->depth);
    t->tree = sup_arena_alloc(&t->arena, nodes, sizeof *t->tree);
    t->enter = sup_arena_alloc(&t->arena, nodes, sizeof *t->enter);
    t->leave = sup_arena_alloc(&t->arena, nodes, sizeof *t->leave);
    t->level = sup_arena_alloc(&t->arena, nodes, sizeof *t->level);
    t->table_rows = 1;
    while ((1 << t->table_rows) < s->node_count)
        t->table_rows++;
    t->table = sup_arena_alloc(&t->arena, (size_t)t->table_rows, sizeof *t->table);
    for (int32_t k = 0; t->table != NULL && k < t->table_rows; k++) {
        t->table[k] = sup_arena_alloc(&t->arena, nodes, sizeof **t->table);
        if (t->table[k] == NULL) return false;
    }
    return t->upper != NULL && t->lower != NULL && t->length != NULL && t->depth != NULL && t->tree != NULL &&
           t->enter != NULL && t->leave != NULL && t->level != NULL && t->table != NULL;
}

/* Preorder traversal from `root` without recursion; `stack`: pending segments, `parent`: the node above each node. */
static int32_t walk(sup_skeleton_tree *t, int32_t root, int32_t count, int32_t *stack, int32_t *parent)
{
    const sup_volumetric_skeleton *s = t->skeleton;
    int32_t top = 0;
    stack[top++] = -1;
    while (top > 0) {
        int32_t segment = stack[--top], node = segment < 0 ? root : t->lower[segment];
        t->tree[node] = root;
        t->level[node] = segment < 0 ? 0 : t->level[t->upper[segment]] + 1;
        t->depth[node] = segment < 0 ? 0.0 : t->depth[t->upper[segment]] + t->length[segment];
        t->table[0][count] = parent[node] = segment < 0 ? -1 : t->upper[segment];
        t->enter[node] = count++;
        for (int32_t k = s->node_first[node + 1] - 1; k >= s->node_first[node]; k--) {
            int32_t next = s->node_segments[k];
            if (next == segment) continue;
            t->upper[next] = node;
            t->lower[next] =
                s->segments[next].node_from == node ? s->segments[next].node_to : s->segments[next].node_from;
            stack[top++] = next;
        }
    }
    return count;
}

static void fill_table(sup_skeleton_tree *t)
{
    int32_t nodes = t->skeleton->node_count;
    for (int32_t k = 1; k < t->table_rows; k++)
        for (int32_t i = 0; i + (1 << k) <= nodes; i++) {
            int32_t a = t->table[k - 1][i], b = t->table[k - 1][i + (1 << (k - 1))];
            t->table[k][i] = b < 0 || (a >= 0 && t->level[a] <= t->level[b]) ? a : b;
        }
}

sup_result sup_skeleton_tree_create(const sup_allocator *allocator, const sup_volumetric_skeleton *skeleton,
                                    sup_skeleton_tree *tree, sup_error *error)
{
    sup_skeleton_tree t = {.skeleton = skeleton, .arena = sup_arena_create(allocator)};
    size_t nodes = (size_t)skeleton->node_count;
    bool ok = allocate(&t);
    int32_t *stack = ok ? sup_arena_alloc(&t.arena, nodes + (size_t)skeleton->segment_count, sizeof *stack) : NULL;
    int32_t *parent = ok ? sup_arena_alloc(&t.arena, nodes, sizeof *parent) : NULL;
    if (stack == NULL || parent == NULL) {
        sup_skeleton_tree_destroy(&t);
        return sup_fail_memory(error, "the skeleton");
    }
    for (int32_t p = 0; p < skeleton->segment_count; p++)
        t.length[p] = sup_segment_length(&skeleton->segments[p]);
    for (int32_t n = 0; n < skeleton->node_count; n++)
        t.tree[n] = -1;
    int32_t count = 0;
    for (int32_t n = 0; n < skeleton->node_count; n++)
        if (t.tree[n] < 0) count = walk(&t, n, count, stack, parent);
    /* End of each subtree: in reverse preorder. */
    int32_t *at = stack;
    for (int32_t n = 0; n < skeleton->node_count; n++) {
        at[t.enter[n]] = n;
        t.leave[n] = t.enter[n] + 1;
    }
    for (int32_t i = skeleton->node_count - 1; i >= 0; i--) {
        int32_t p = parent[at[i]];
        if (p >= 0 && t.leave[p] < t.leave[at[i]]) t.leave[p] = t.leave[at[i]];
    }
    fill_table(&t);
    *tree = t;
    return SUP_OK;
}

void sup_skeleton_tree_destroy(sup_skeleton_tree *tree)
{
    sup_arena_destroy(&tree->arena);
}

double sup_skeleton_node_path_length(const sup_skeleton_tree *t, int32_t a, int32_t b)
{
    if (a == b) return 0.0;
    if (t->tree[a] != t->tree[b]) return INFINITY;
    int32_t first = t->enter[a] < t->enter[b] ? a : b, last = first == a ? b : a;
    if (t->enter[last] < t->leave[first]) return t->depth[last] - t->depth[first];
    int32_t begin = t->enter[first] + 1, count = t->enter[last] - begin + 1, k = 0;
    while ((2 << k) <= count)
        k++;
    int32_t p = t->table[k][begin], q = t->table[k][begin + count - (1 << k)];
    int32_t common = t->level[p] <= t->level[q] ? p : q;
    return t->depth[a] + t->depth[b] - 2.0 * t->depth[common];
}

double sup_skeleton_path_length(const sup_skeleton_tree *t, sup_foot_point a, sup_foot_point b)
{
    if (a.segment == b.segment) return fabs(a.parameter - b.parameter) * t->length[a.segment];
    const sup_bone_segment *p = &t->skeleton->segments[a.segment], *q = &t->skeleton->segments[b.segment];
    double ends_a[2] = {a.parameter * t->length[a.segment], (1.0 - a.parameter) * t->length[a.segment]};
    double ends_b[2] = {b.parameter * t->length[b.segment], (1.0 - b.parameter) * t->length[b.segment]};
    double best = INFINITY;
    for (int i = 0; i < 4; i++) {
        int32_t m = i / 2 == 0 ? p->node_from : p->node_to, n = i % 2 == 0 ? q->node_from : q->node_to;
        best = fmin(best, ends_a[i / 2] + sup_skeleton_node_path_length(t, m, n) + ends_b[i % 2]);
    }
    return best;
}

/* cholesky_analyse.c - everything about a factorisation that depends on the pattern alone: order, tree, supernodes,
 * rows, and where each entry of the matrix goes. */
#include "linalg/cholesky.h"
#include "linalg/etree.h"
#include "linalg/order.h"

typedef struct analysis {
    const sup_csr *matrix;
    sup_cholesky *out;
    sup_arena arena; /* scratch */
    sup_pattern pattern;
    int32_t *parent, *count; /* [size] elimination tree and column counts, final labels */
    int32_t *supernode_of;   /* [size] */
    bool exact;
} analysis;

static bool is_permutation(int32_t size, const int32_t *order, int32_t *position)
{
    for (int32_t i = 0; i < size; i++)
        position[i] = -1;
    for (int32_t k = 0; k < size; k++) {
        if (order[k] < 0 || order[k] >= size || position[order[k]] >= 0) return false;
        position[order[k]] = k;
    }
    return true;
}

static sup_result choose_order(analysis *a, const int32_t *given, sup_error *error)
{
    sup_cholesky *c = a->out;
    if (given == NULL) {
        sup_result result = sup_order_minimum_degree(&c->context, a->matrix, c->order, error);
        if (result != SUP_OK) return result;
    } else if (c->size > 0) {
        memcpy(c->order, given, (size_t)c->size * sizeof(int32_t));
    }
    if (!is_permutation(c->size, c->order, c->position))
        return sup_fail(error, SUP_ERROR_ARGUMENT, "linalg.cholesky.order", "",
                        "The elimination order does not name every row of the matrix once.");
    return SUP_OK;
}

/* order := order o post, and the same relabelling of a tree. `scratch` is [size]. */
static void relabel(analysis *a, const int32_t *post, int32_t *scratch)
{
    sup_cholesky *c = a->out;
    int32_t size = c->size;
    for (int32_t k = 0; k < size; k++)
        scratch[k] = c->order[post[k]];
    memcpy(c->order, scratch, (size_t)size * sizeof(int32_t));
    for (int32_t k = 0; k < size; k++)
        c->position[c->order[k]] = k;
    for (int32_t k = 0; k < size; k++)
        scratch[post[k]] = k; /* old label -> new */
    int32_t *old = a->supernode_of;
    memcpy(old, a->parent, (size_t)size * sizeof(int32_t));
    for (int32_t k = 0; k < size; k++)
        a->parent[k] = old[post[k]] < 0 ? -1 : scratch[old[post[k]]];
    memcpy(old, a->count, (size_t)size * sizeof(int32_t));
    for (int32_t k = 0; k < size; k++)
        a->count[k] = old[post[k]];
}

/* Tree, postorder and counts; then a second postorder in which the child with the longest column comes last, so that
 * it is next to its parent and the two can become one supernode. */
static bool build_tree(analysis *a)
{
    size_t size = (size_t)a->out->size, entries = (size_t)a->matrix->first[a->out->size];
    int32_t *scratch = sup_arena_alloc(&a->arena, 4 * size + 1, sizeof(int32_t));
    int32_t *post = sup_arena_alloc(&a->arena, size, sizeof(int32_t));
    int32_t *column_first = sup_arena_alloc(&a->arena, size + 1, sizeof(int32_t));
    int32_t *row = sup_arena_alloc(&a->arena, entries, sizeof(int32_t));
    if (scratch == NULL || post == NULL || column_first == NULL || row == NULL) return false;
    sup_pattern_permute(a->matrix, a->out->position, &a->pattern);
    sup_etree(&a->pattern, a->parent, scratch);
    sup_etree_postorder(a->out->size, a->parent, NULL, post, scratch);
    relabel(a, post, scratch);
    sup_pattern_permute(a->matrix, a->out->position, &a->pattern);
    sup_etree_column_counts(&a->pattern, a->parent, column_first, row, a->count, scratch);
    sup_etree_postorder(a->out->size, a->parent, a->count, post, scratch);
    relabel(a, post, scratch);
    sup_pattern_permute(a->matrix, a->out->position, &a->pattern);
    return true;
}

/* What a solve pays for a supernode, in units of one entry: its entries, a read and a write of every row that each
 * panel of up to eight columns touches, and a fixed start. Fitted to solves of mesh Laplacians. */
static int64_t panel_cost(int64_t width, int64_t below)
{
    int64_t panels = (width + 7) / 8;
    int64_t entries = width * (width + 1) / 2 + width * below;
    return entries + panels * (3 * below / 2 + 24) + width;
}

typedef struct group {
    int32_t first, last; /* columns */
} group;

/* Greedy, bottom-up: a supernode and the child right before it become one when a solve gets cheaper,
 * even though some zeros are stored. */
static int32_t merge_groups(const analysis *a, group *groups, int32_t count)
{
    int32_t top = 0;
    for (int32_t k = 0; k < count; k++) {
        group now = groups[k];
        while (top > 0) {
            group child = groups[top - 1];
            int32_t up = a->parent[child.last];
            if (up < now.first || up > now.last) break;
            int64_t below = a->count[now.last] - 1, child_below = a->count[child.last] - 1;
            int64_t width = now.last - now.first + 1, child_width = child.last - child.first + 1;
            if (panel_cost(width + child_width, below) >
                panel_cost(width, below) + panel_cost(child_width, child_below))
                break;
            now.first = child.first;
            top--;
        }
        groups[top++] = now;
    }
    return top;
}

static bool find_supernodes(analysis *a)
{
    sup_cholesky *c = a->out;
    group *groups = sup_arena_alloc(&a->arena, (size_t)c->size, sizeof(group));
    if (groups == NULL) return false;
    int32_t count = 0;
    for (int32_t j = 0; j < c->size; j++) {
        bool joins = j > 0 && a->parent[j - 1] == j && a->count[j - 1] == a->count[j] + 1;
        if (!joins) groups[count++].first = j;
        groups[count - 1].last = j;
        c->nonzeros += a->count[j];
        c->flops += 0.5 * (double)a->count[j] * (double)a->count[j];
    }
    if (!a->exact) count = merge_groups(a, groups, count);
    c->supernode_count = count;
    for (int32_t s = 0; s < count; s++) {
        c->column_first[s] = groups[s].first;
        for (int32_t j = groups[s].first; j <= groups[s].last; j++)
            a->supernode_of[j] = s;
    }
    c->column_first[count] = c->size;
    return true;
}

/* Sizes of all arrays from the column counts, and the largest stack of update matrices of the factorisation. */
static void size_supernodes(analysis *a, int64_t *child_stack)
{
    sup_cholesky *c = a->out;
    int64_t rows = 0, values = 0, depth = 0;
    for (int32_t s = 0; s < c->supernode_count; s++)
        child_stack[s] = 0;
    for (int32_t s = 0; s < c->supernode_count; s++) {
        int32_t last = c->column_first[s + 1] - 1;
        int64_t width = last + 1 - c->column_first[s], below = a->count[last] - 1;
        c->row_first[s] = rows;
        c->value_first[s] = values;
        rows += below;
        values += (width + below) * width;
        if (width + below > c->front_size) c->front_size = (int32_t)(width + below);
        c->supernode_parent[s] = a->parent[last] < 0 ? -1 : a->supernode_of[a->parent[last]];
        if (depth + below * below > c->stack_size) c->stack_size = depth + below * below;
        depth += below * below - child_stack[s];
        if (c->supernode_parent[s] >= 0) child_stack[c->supernode_parent[s]] += below * below;
    }
    c->row_first[c->supernode_count] = rows;
    c->value_first[c->supernode_count] = values;
}

static int64_t target_of(const sup_cholesky *c, const int64_t *row_next, int32_t s, int32_t row, int32_t column)
{
    int64_t width = c->column_first[s + 1] - c->column_first[s];
    int64_t front = width + c->row_first[s + 1] - c->row_first[s];
    int64_t local = row < c->column_first[s + 1] ? row - c->column_first[s] : width + row_next[s] - 1 - c->row_first[s];
    return c->value_first[s] + (column - c->column_first[s]) * front + local;
}

/* Row r of L reaches the supernodes on the paths from its entries up the tree. Rows come in increasing order, so each
 * list is sorted, and the row just appended is the one an entry of row r belongs to. */
static void fill_rows(analysis *a, int64_t *row_next, int32_t *seen)
{
    sup_cholesky *c = a->out;
    for (int32_t s = 0; s < c->supernode_count; s++) {
        row_next[s] = c->row_first[s];
        seen[s] = -1;
    }
    for (int32_t r = 0; r < c->size; r++) {
        int32_t home = a->supernode_of[r];
        seen[home] = r;
        for (int32_t k = a->pattern.first[r]; k < a->pattern.first[r + 1]; k++) {
            int32_t column = a->pattern.column[k], s = a->supernode_of[column];
            for (int32_t t = s; seen[t] != r; t = c->supernode_parent[t]) {
                seen[t] = r;
                c->rows[row_next[t]++] = r;
            }
            c->entry_target[a->pattern.entry[k]] = target_of(c, row_next, s, r, column);
        }
        int32_t diagonal = a->matrix->first[c->order[r] + 1] - 1;
        c->entry_target[diagonal] = target_of(c, row_next, home, r, r);
    }
}

static bool start_analysis(analysis *a)
{
    sup_cholesky *c = a->out;
    size_t size = (size_t)c->size, entries = (size_t)c->entry_count;
    const sup_allocator *allocator = &c->context.allocator;
    c->order = sup_alloc(allocator, size * sizeof(int32_t));
    c->position = sup_alloc(allocator, size * sizeof(int32_t));
    c->entry_target = sup_alloc(allocator, entries * sizeof(int64_t));
    a->pattern.first = sup_arena_alloc(&a->arena, size + 1, sizeof(int32_t));
    a->pattern.column = sup_arena_alloc(&a->arena, entries, sizeof(int32_t));
    a->pattern.entry = sup_arena_alloc(&a->arena, entries, sizeof(int32_t));
    a->parent = sup_arena_alloc(&a->arena, size, sizeof(int32_t));
    a->count = sup_arena_alloc(&a->arena, size, sizeof(int32_t));
    a->supernode_of = sup_arena_alloc(&a->arena, size, sizeof(int32_t));
    c->column_first = sup_alloc(allocator, (size + 1) * sizeof(int32_t));
    c->supernode_parent = sup_alloc(allocator, size * sizeof(int32_t));
    c->row_first = sup_alloc(allocator, (size + 1) * sizeof(int64_t));
    c->value_first = sup_alloc(allocator, (size + 1) * sizeof(int64_t));
    return c->order != NULL && c->position != NULL && c->entry_target != NULL && a->pattern.first != NULL &&
           a->pattern.column != NULL && a->pattern.entry != NULL && a->parent != NULL && a->count != NULL &&
           a->supernode_of != NULL && c->column_first != NULL && c->supernode_parent != NULL && c->row_first != NULL &&
           c->value_first != NULL;
}

static sup_result run_analysis(analysis *a, const int32_t *order, sup_error *error)
{
    sup_cholesky *c = a->out;
    if (!start_analysis(a)) return sup_fail_memory(error, "the analysis of a matrix");
    sup_result result = choose_order(a, order, error);
    if (result != SUP_OK) return result;
    if (!build_tree(a) || !find_supernodes(a)) return sup_fail_memory(error, "the analysis of a matrix");
    int64_t *scratch = sup_arena_alloc(&a->arena, (size_t)c->supernode_count, sizeof(int64_t));
    int32_t *seen = sup_arena_alloc(&a->arena, (size_t)c->supernode_count, sizeof(int32_t));
    if (scratch == NULL || seen == NULL) return sup_fail_memory(error, "the analysis of a matrix");
    size_supernodes(a, scratch);
    c->rows = sup_alloc(&c->context.allocator, (size_t)c->row_first[c->supernode_count] * sizeof(int32_t));
    if (c->rows == NULL) return sup_fail_memory(error, "the rows of a factor");
    fill_rows(a, scratch, seen);
    return SUP_OK;
}

sup_result sup_cholesky_analyse(const sup_context *context, const sup_csr *matrix, const sup_cholesky_options *options,
                                sup_cholesky **cholesky, sup_error *error)
{
    if (cholesky == NULL || !sup_csr_well_formed(matrix))
        return sup_fail(error, SUP_ERROR_ARGUMENT, "linalg.cholesky.matrix", "",
                        "A factorisation needs a well-formed symmetric matrix and an output pointer.");
    sup_context resolved = sup_context_resolve(context);
    sup_cholesky *c = sup_alloc_zero(&resolved.allocator, sizeof(*c));
    if (c == NULL) return sup_fail_memory(error, "a factorisation");
    c->context = resolved;
    c->size = matrix->size;
    c->entry_count = matrix->first[matrix->size];
    analysis a = {.matrix = matrix, .out = c, .arena = sup_arena_create(&resolved.allocator)};
    a.exact = options != NULL && options->exact_supernodes;
    sup_result result = run_analysis(&a, options != NULL ? options->order : NULL, error);
    sup_arena_destroy(&a.arena);
    if (result != SUP_OK) {
        sup_cholesky_destroy(c);
        return result;
    }
    *cholesky = c;
    return SUP_OK;
}

void sup_cholesky_destroy(sup_cholesky *cholesky)
{
    if (cholesky == NULL) return;
    sup_allocator allocator = cholesky->context.allocator;
    size_t size = (size_t)cholesky->size;
    if (cholesky->rows != NULL) {
        size_t rows = (size_t)cholesky->row_first[cholesky->supernode_count];
        size_t values = (size_t)cholesky->value_first[cholesky->supernode_count];
        sup_free(&allocator, cholesky->rows, rows * sizeof(int32_t));
        sup_free(&allocator, cholesky->values, values * sizeof(double));
    }
    sup_free(&allocator, cholesky->order, size * sizeof(int32_t));
    sup_free(&allocator, cholesky->position, size * sizeof(int32_t));
    sup_free(&allocator, cholesky->entry_target, (size_t)cholesky->entry_count * sizeof(int64_t));
    sup_free(&allocator, cholesky->column_first, (size + 1) * sizeof(int32_t));
    sup_free(&allocator, cholesky->supernode_parent, size * sizeof(int32_t));
    sup_free(&allocator, cholesky->row_first, (size + 1) * sizeof(int64_t));
    sup_free(&allocator, cholesky->value_first, (size + 1) * sizeof(int64_t));
    sup_free(&allocator, cholesky, sizeof(*cholesky));
}

/* etree.c - elimination tree (Liu 1986), postorder, and column counts in almost linear time (J. R. Gilbert, E. G. Ng,
 * B. W. Peyton, "An efficient algorithm to compute row and column counts for sparse Cholesky factorization", SIAM J.
 * Matrix Anal. Appl. 15(4), 1994; key gilbert1994counts). */
#include "linalg/etree.h"

void sup_pattern_permute(const sup_csr *matrix, const int32_t *position, sup_pattern *pattern)
{
    int32_t size = matrix->size;
    int32_t *next = pattern->first;
    pattern->size = size;
    memset(next, 0, ((size_t)size + 1) * sizeof(int32_t));
    for (int32_t i = 0; i < size; i++)
        for (int32_t k = matrix->first[i]; k < matrix->first[i + 1] - 1; k++) {
            int32_t a = position[i], b = position[matrix->column[k]];
            next[(a > b ? a : b) + 1]++; /* one late: next[r+1] ends as the start of r+1 */
        }
    for (int32_t r = 0; r < size; r++)
        next[r + 1] += next[r];
    for (int32_t i = size - 1; i >= 0; i--)
        for (int32_t k = matrix->first[i + 1] - 2; k >= matrix->first[i]; k--) {
            int32_t a = position[i], b = position[matrix->column[k]];
            int32_t to = --next[(a > b ? a : b) + 1];
            pattern->column[to] = a > b ? b : a;
            pattern->entry[to] = k;
        }
    /* Each next[r+1] has come down to the start of row r: shift back. */
    int32_t total = matrix->first[size] - size;
    for (int32_t r = 0; r < size; r++)
        next[r] = next[r + 1];
    next[size] = total;
}

void sup_etree(const sup_pattern *pattern, int32_t *parent, int32_t *scratch)
{
    int32_t *ancestor = scratch;
    for (int32_t r = 0; r < pattern->size; r++) {
        parent[r] = ancestor[r] = -1;
        for (int32_t k = pattern->first[r]; k < pattern->first[r + 1]; k++) {
            for (int32_t j = pattern->column[k]; j >= 0 && j < r;) {
                int32_t up = ancestor[j];
                ancestor[j] = r; /* path compression */
                if (up < 0) parent[j] = r;
                j = up;
            }
        }
    }
}

/* Columns in decreasing order of key, ties by decreasing index, by counting: pushing them in this order onto the
 * front of child lists leaves the lists increasing. */
static void sort_by_key(int32_t size, const int32_t *key, int32_t *sorted, int32_t *bucket)
{
    memset(bucket, 0, ((size_t)size + 1) * sizeof(int32_t));
    for (int32_t j = 0; j < size; j++)
        bucket[size - key[j]]++;
    int32_t sum = 0;
    for (int32_t b = 0; b <= size; b++) {
        int32_t here = bucket[b];
        bucket[b] = sum;
        sum += here;
    }
    for (int32_t j = size - 1; j >= 0; j--)
        sorted[bucket[size - key[j]]++] = j;
}

void sup_etree_postorder(int32_t size, const int32_t *parent, const int32_t *key, int32_t *post, int32_t *scratch)
{
    int32_t *child = scratch, *sibling = child + size, *sorted = sibling + size, *stack = sorted + size;
    for (int32_t j = 0; j < size; j++)
        child[j] = -1;
    if (key != NULL) sort_by_key(size, key, sorted, stack);
    int32_t root = -1;
    for (int32_t k = 0; k < size; k++) {
        int32_t j = key != NULL ? sorted[k] : size - 1 - k;
        int32_t *front = parent[j] < 0 ? &root : &child[parent[j]];
        sibling[j] = *front;
        *front = j;
    }
    int32_t count = 0;
    for (; root >= 0; root = sibling[root]) {
        int32_t depth = 0;
        stack[depth++] = root;
        while (depth > 0) {
            int32_t j = stack[depth - 1];
            if (child[j] >= 0) {
                stack[depth++] = child[j];
                child[j] = sibling[child[j]];
            } else {
                post[count++] = j;
                depth--;
            }
        }
    }
}

static void transpose(const sup_pattern *pattern, int32_t *column_first, int32_t *row)
{
    int32_t size = pattern->size;
    memset(column_first, 0, ((size_t)size + 1) * sizeof(int32_t));
    for (int32_t k = 0; k < pattern->first[size]; k++)
        column_first[pattern->column[k] + 1]++;
    for (int32_t j = 0; j < size; j++)
        column_first[j + 1] += column_first[j];
    for (int32_t r = size - 1; r >= 0; r--)
        for (int32_t k = pattern->first[r]; k < pattern->first[r + 1]; k++)
            row[--column_first[pattern->column[k] + 1]] = r;
    for (int32_t j = 0; j < size; j++)
        column_first[j] = column_first[j + 1];
    column_first[size] = pattern->first[size];
}

/* Root of the tree that `node` is in so far; shortens the path. */
static int32_t find_root(int32_t *ancestor, int32_t node)
{
    int32_t root = node;
    while (ancestor[root] != root)
        root = ancestor[root];
    while (ancestor[node] != root) {
        int32_t up = ancestor[node];
        ancestor[node] = root;
        node = up;
    }
    return root;
}

void sup_etree_column_counts(const sup_pattern *pattern, const int32_t *parent, int32_t *column_first, int32_t *row,
                             int32_t *count, int32_t *scratch)
{
    int32_t size = pattern->size;
    int32_t *lowest = scratch, *seen = lowest + size, *leaf = seen + size, *ancestor = leaf + size;
    transpose(pattern, column_first, row);
    for (int32_t j = 0; j < size; j++) {
        lowest[j] = -1;
        seen[j] = leaf[j] = -1;
        ancestor[j] = j;
        count[j] = 0;
    }
    for (int32_t j = 0; j < size; j++) { /* lowest descendant of each column; children come before parents */
        if (lowest[j] < 0) {
            lowest[j] = j;
            count[j] = 1; /* a leaf of the tree */
        }
        if (parent[j] >= 0 && lowest[parent[j]] < 0) lowest[parent[j]] = lowest[j];
    }
    for (int32_t j = 0; j < size; j++) {
        if (parent[j] >= 0) count[parent[j]]--;
        for (int32_t k = column_first[j]; k < column_first[j + 1]; k++) {
            int32_t i = row[k];
            if (lowest[j] <= seen[i]) continue; /* not a leaf of the row's subtree */
            seen[i] = lowest[j];
            count[j]++;
            if (leaf[i] >= 0) count[find_root(ancestor, leaf[i])]--;
            leaf[i] = j;
        }
        if (parent[j] >= 0) ancestor[j] = parent[j];
    }
    for (int32_t j = 0; j < size; j++)
        if (parent[j] >= 0) count[parent[j]] += count[j];
}

/* order.c - approximate minimum degree ordering.
 *
 * P. R. Amestoy, T. A. Davis, I. S. Duff, "An approximate minimum degree ordering algorithm", SIAM J. Matrix Anal.
 * Appl. 17(4), 1996 (key amestoy1996amd): quotient graph with element absorption, aggressive absorption, mass
 * elimination, supervariables found by hashing, and the approximate external degree. Rows with very
 * many entries are put last, as they suggest in their discussion of dense rows.
 *
 * Quotient graph: a node is a variable (not yet eliminated, with a list of elements and then of variables), an
 * element (an eliminated pivot, with the list of variables of its clique) or gone (merged into another node). */
#include "linalg/order.h"

#include <math.h>

enum { NODE_VARIABLE, NODE_ELEMENT, NODE_GONE };

typedef struct quotient {
    int32_t size;
    int32_t *list; /* [capacity] all adjacency lists; entries are node indices, never negative */
    int32_t capacity, tail;
    int32_t *start, *length; /* [size] list of a node */
    int32_t *element_count;  /* [size] number of elements, at the front of a variable's list */
    int32_t *weight;         /* [size] rows that a variable represents */
    int32_t *degree;         /* [size] variable: approximate external degree; element: rows in its clique */
    int32_t *head;           /* [size+1] first variable of each degree, -1 for none */
    int32_t *next, *previous;
    int32_t *member;               /* [size] last pivot whose clique the variable was in */
    int32_t *touched, *outside;    /* [size] element: pivot for which `outside` = |Le \ Lp| holds */
    int32_t *hash, *hash_head;     /* [size] */
    int32_t *mark;                 /* [size] scratch of the comparison of variables */
    int32_t *owner;                /* [size] node this one was merged into, -1 for none */
    int32_t *pivots, pivot_count;  /* [size] eliminated pivots in order */
    unsigned char *kind;           /* [size] */
    int32_t eliminated, remaining; /* rows */
    int32_t minimum;               /* no variable has a smaller degree */
    int32_t stamp;                 /* last value written to mark */
} quotient;

static void degree_insert(quotient *q, int32_t i, int32_t degree)
{
    q->degree[i] = degree;
    q->next[i] = q->head[degree];
    q->previous[i] = -1;
    if (q->next[i] >= 0) q->previous[q->next[i]] = i;
    q->head[degree] = i;
    if (degree < q->minimum) q->minimum = degree;
}

static void degree_remove(quotient *q, int32_t i)
{
    if (q->next[i] >= 0) q->previous[q->next[i]] = q->previous[i];
    if (q->previous[i] >= 0)
        q->next[q->previous[i]] = q->next[i];
    else
        q->head[q->degree[i]] = q->next[i];
}

/* Moves all live lists to the front. The first entry of each is swapped against a marker that names its owner. */
static void compact(quotient *q)
{
    for (int32_t i = 0; i < q->size; i++) {
        if (q->kind[i] == NODE_GONE || q->length[i] == 0) continue;
        int32_t entry = q->list[q->start[i]];
        q->list[q->start[i]] = -1 - i;
        q->start[i] = entry;
    }
    int32_t to = 0;
    for (int32_t from = 0; from < q->tail;) {
        int32_t entry = q->list[from++];
        if (entry >= 0) continue;
        int32_t i = -1 - entry;
        int32_t first = q->start[i];
        q->start[i] = to;
        q->list[to++] = first;
        for (int32_t k = 1; k < q->length[i]; k++)
            q->list[to++] = q->list[from++];
    }
    q->tail = to;
}

/* Lp = (Ap u all Le of Ep) without p; the elements of Ep are absorbed. Returns the number of rows in it. */
static int32_t form_clique(quotient *q, int32_t p)
{
    int64_t needed = q->length[p];
    for (int32_t k = 0; k < q->element_count[p]; k++)
        needed += q->length[q->list[q->start[p] + k]];
    if (needed > q->size) needed = q->size;
    if (q->tail + needed > q->capacity) compact(q);
    int32_t begin = q->tail, rows = 0;
    q->member[p] = p;
    for (int32_t k = 0; k < q->length[p]; k++) {
        int32_t node = q->list[q->start[p] + k];
        bool element = k < q->element_count[p];
        if (element && q->kind[node] != NODE_ELEMENT) continue;
        const int32_t *entries = element ? q->list + q->start[node] : &node;
        int32_t count = element ? q->length[node] : 1;
        for (int32_t m = 0; m < count; m++) {
            int32_t i = entries[m];
            if (q->kind[i] != NODE_VARIABLE || q->member[i] == p) continue;
            q->member[i] = p;
            degree_remove(q, i);
            q->list[q->tail++] = i;
            rows += q->weight[i];
        }
        if (element) q->kind[node] = NODE_GONE;
    }
    q->kind[p] = NODE_ELEMENT;
    q->start[p] = begin;
    q->length[p] = q->tail - begin;
    return rows;
}

/* |Le \ Lp| for every element e next to the clique of p. */
static void measure_overlaps(quotient *q, int32_t p)
{
    for (int32_t k = 0; k < q->length[p]; k++) {
        int32_t i = q->list[q->start[p] + k];
        for (int32_t m = 0; m < q->element_count[i]; m++) {
            int32_t e = q->list[q->start[i] + m];
            if (q->kind[e] != NODE_ELEMENT) continue;
            if (q->touched[e] != p) {
                q->touched[e] = p;
                q->outside[e] = q->degree[e];
            }
            q->outside[e] -= q->weight[i];
        }
    }
}

/* Drops from i's list what the clique of p covers, puts p in front and returns the approximate degree without the
 * clique's variables. Every variable of the clique lost p or an absorbed element, so there is space for p. */
static int32_t prune_variable(quotient *q, int32_t p, int32_t i)
{
    int32_t *list = q->list + q->start[i];
    int32_t elements = 0, degree = 0;
    uint32_t hash = 0;
    for (int32_t m = 0; m < q->element_count[i]; m++) {
        int32_t e = list[m];
        if (q->kind[e] != NODE_ELEMENT) continue;
        if (q->outside[e] == 0) { /* aggressive absorption: Le is inside Lp */
            q->kind[e] = NODE_GONE;
            continue;
        }
        degree += q->outside[e];
        hash += (uint32_t)e;
        list[elements++] = e;
    }
    int32_t kept = elements;
    for (int32_t m = q->element_count[i]; m < q->length[i]; m++) {
        int32_t v = list[m];
        if (q->kind[v] != NODE_VARIABLE || q->member[v] == p) continue;
        degree += q->weight[v];
        hash += (uint32_t)v;
        list[kept++] = v;
    }
    if (kept > elements) list[kept] = list[elements];
    if (elements > 0) list[elements] = list[0];
    list[0] = p;
    q->element_count[i] = elements + 1;
    q->length[i] = kept + 1;
    q->hash[i] = (int32_t)(hash % (uint32_t)q->size);
    return degree;
}

static void merge(quotient *q, int32_t gone, int32_t into)
{
    q->weight[into] += q->weight[gone];
    q->weight[gone] = 0;
    q->kind[gone] = NODE_GONE;
    q->owner[gone] = into;
}

/* New lists, degrees and hashes; variables whose only neighbour is the clique leave together with p. Returns the
 * rows that stay in the clique. */
static int32_t update_variables(quotient *q, int32_t p, int32_t rows)
{
    for (int32_t k = 0; k < q->length[p]; k++) {
        int32_t i = q->list[q->start[p] + k];
        int32_t degree = prune_variable(q, p, i);
        if (degree == 0) {
            rows -= q->weight[i];
            merge(q, i, p);
            continue;
        }
        if (degree < q->degree[i]) q->degree[i] = degree;
        q->next[i] = q->hash_head[q->hash[i]];
        q->hash_head[q->hash[i]] = i;
    }
    return rows;
}

static bool same_neighbours(const quotient *q, int32_t i, int32_t j)
{
    if (q->length[i] != q->length[j] || q->element_count[i] != q->element_count[j]) return false;
    for (int32_t m = 1; m < q->length[j]; m++) /* the first of both is the pivot */
        if (q->mark[q->list[q->start[j] + m]] != q->stamp) return false;
    return true;
}

/* Variables with equal neighbours stay equal: they are merged. */
static void merge_bucket(quotient *q, int32_t bucket)
{
    int32_t i = q->hash_head[bucket];
    q->hash_head[bucket] = -1;
    for (; i >= 0 && q->next[i] >= 0; i = q->next[i]) {
        q->stamp++;
        for (int32_t m = 1; m < q->length[i]; m++)
            q->mark[q->list[q->start[i] + m]] = q->stamp;
        for (int32_t last = i, j = q->next[i]; j >= 0; j = q->next[j]) {
            if (same_neighbours(q, i, j)) {
                merge(q, j, i);
                q->next[last] = q->next[j];
            } else {
                last = j;
            }
        }
    }
}

/* Re-inserts variables into the degree lists by approximate degree; merged ones leave the clique. */
static void finish_clique(quotient *q, int32_t p, int32_t rows)
{
    int32_t to = q->start[p];
    for (int32_t k = 0; k < q->length[p]; k++) {
        int32_t i = q->list[q->start[p] + k];
        if (q->kind[i] != NODE_VARIABLE) continue;
        int64_t degree = (int64_t)q->degree[i] + rows - q->weight[i];
        int64_t most = (int64_t)q->remaining - q->eliminated - q->weight[i];
        degree_insert(q, i, (int32_t)(degree < most ? degree : most));
        q->list[to++] = i;
    }
    q->length[p] = to - q->start[p];
    q->degree[p] = rows;
    q->tail = to;
    if (q->length[p] == 0) q->kind[p] = NODE_GONE;
}

static void eliminate(quotient *q)
{
    while (q->head[q->minimum] < 0)
        q->minimum++;
    int32_t p = q->head[q->minimum];
    degree_remove(q, p);
    q->pivots[q->pivot_count++] = p;
    int32_t rows = form_clique(q, p);
    measure_overlaps(q, p);
    rows = update_variables(q, p, rows);
    q->eliminated += q->weight[p];
    for (int32_t k = 0; k < q->length[p]; k++) {
        int32_t i = q->list[q->start[p] + k];
        if (q->kind[i] == NODE_VARIABLE && q->hash_head[q->hash[i]] >= 0) merge_bucket(q, q->hash[i]);
    }
    finish_clique(q, p, rows);
}

static void load_graph(quotient *q, const sup_csr *matrix)
{
    memset(q->length, 0, (size_t)q->size * sizeof(int32_t));
    for (int32_t i = 0; i < q->size; i++)
        for (int32_t k = matrix->first[i]; k < matrix->first[i + 1] - 1; k++) {
            q->length[i]++;
            q->length[matrix->column[k]]++;
        }
    for (int32_t i = 0; i < q->size; i++) {
        q->start[i] = q->tail;
        q->tail += q->length[i];
        q->length[i] = 0;
    }
    for (int32_t i = 0; i < q->size; i++)
        for (int32_t k = matrix->first[i]; k < matrix->first[i + 1] - 1; k++) {
            int32_t j = matrix->column[k];
            q->list[q->start[i] + q->length[i]++] = j;
            q->list[q->start[j] + q->length[j]++] = i;
        }
}

static void start_nodes(quotient *q)
{
    for (int32_t i = 0; i < q->size; i++) {
        q->weight[i] = 1;
        q->element_count[i] = 0;
        q->member[i] = q->touched[i] = q->hash_head[i] = q->owner[i] = q->mark[i] = -1;
        q->kind[i] = NODE_VARIABLE;
    }
    for (int32_t i = 0; i <= q->size; i++)
        q->head[i] = -1;
    q->remaining = q->size;
    q->minimum = q->size;
    q->stamp = 0;
    double dense = 10.0 * sqrt((double)q->size);
    if (dense < 16.0) dense = 16.0;
    for (int32_t i = 0; i < q->size; i++) {
        if ((double)q->length[i] > dense) {
            q->kind[i] = NODE_GONE;
            q->remaining--;
        } else {
            degree_insert(q, i, q->length[i]);
        }
    }
}

/* Each pivot, followed by the rows that were merged into it; dense rows last. */
static void write_order(quotient *q, int32_t *order)
{
    int32_t *group = q->mark, *position = q->head;
    for (int32_t k = 0; k < q->pivot_count; k++)
        q->hash[q->pivots[k]] = k;
    memset(position, 0, ((size_t)q->size + 1) * sizeof(int32_t));
    for (int32_t i = 0; i < q->size; i++) {
        int32_t root = i;
        while (q->owner[root] >= 0)
            root = q->owner[root];
        for (int32_t walk = i; q->owner[walk] >= 0;) { /* shorten the chains */
            int32_t up = q->owner[walk];
            q->owner[walk] = root;
            walk = up;
        }
        bool dense = q->member[root] != root; /* every pivot marked itself */
        group[i] = dense ? q->pivot_count : q->hash[root];
        position[group[i]]++;
    }
    int32_t sum = 0;
    for (int32_t k = 0; k <= q->pivot_count; k++) {
        int32_t here = position[k];
        position[k] = sum;
        sum += here;
    }
    for (int32_t i = 0; i < q->size; i++)
        order[position[group[i]]++] = i;
}

sup_result sup_order_minimum_degree(const sup_context *context, const sup_csr *matrix, int32_t *order, sup_error *error)
{
    int32_t size = matrix->size;
    if (size == 0) return SUP_OK;
    int64_t entries = 2 * ((int64_t)matrix->first[size] - size);
    int64_t capacity = entries + entries / 5 + 2 * (int64_t)size;
    if (capacity > INT32_MAX)
        return sup_fail(error, SUP_ERROR_ARGUMENT, "linalg.order.size", "",
                        "A matrix with %lld entries is more than the ordering can hold.", (long long)entries);
    sup_context resolved = sup_context_resolve(context);
    quotient q = {.size = size, .capacity = (int32_t)capacity};
    int32_t **arrays[] = {&q.start, &q.length,    &q.element_count, &q.weight,  &q.degree,
                          &q.next,  &q.previous,  &q.member,        &q.touched, &q.outside,
                          &q.hash,  &q.hash_head, &q.mark,          &q.owner,   &q.pivots};
    size_t ints = (size_t)capacity + (size_t)SUP_COUNT(arrays) * (size_t)size + (size_t)size + 1;
    size_t bytes = ints * sizeof(int32_t) + (size_t)size;
    int32_t *memory = sup_alloc(&resolved.allocator, bytes);
    if (memory == NULL) return sup_fail_memory(error, "the ordering of a matrix");
    int32_t *at = memory;
    for (int32_t k = 0; k < SUP_COUNT(arrays); k++, at += size)
        *arrays[k] = at;
    q.head = at;
    q.list = at + size + 1;
    q.kind = (unsigned char *)(q.list + capacity);
    load_graph(&q, matrix);
    start_nodes(&q);
    while (q.eliminated < q.remaining)
        eliminate(&q);
    write_order(&q, order);
    sup_free(&resolved.allocator, memory, bytes);
    return SUP_OK;
}

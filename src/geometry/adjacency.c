/* adjacency.c - edge, half-edge and vertex tables by counting sorts; components by union-find; boundary loops. */
#include "geometry/adjacency.h"

static int32_t half_start(const sup_adjacency *a, int32_t half)
{
    return a->triangles[half];
}

static int32_t half_end(const sup_adjacency *a, int32_t half)
{
    return a->triangles[sup_half_next(half)];
}

/* The smaller and the larger vertex of a half-edge. */
typedef struct half_ends {
    int32_t low, high;
} half_ends;

/* Prefix sum: on entry bucket[i+1] is the count of i, on return bucket[i] is the start of i. */
static void counts_to_starts(int32_t *bucket, int32_t count)
{
    for (int32_t i = 0; i < count; i++)
        bucket[i + 1] += bucket[i];
}

/* Restores the starts after bucket[i]++ for every item: they have moved by one entry. */
static void restore_starts(int32_t *bucket, int32_t count)
{
    for (int32_t i = count; i > 0; i--)
        bucket[i] = bucket[i - 1];
    bucket[0] = 0;
}

/* Half-edges by their smaller, then by their larger vertex: two stable counting sorts. */
static void sort_halves(const sup_adjacency *a, half_ends *ends, int32_t *bucket, int32_t *by_larger)
{
    int32_t halves = 3 * a->triangle_count;
    for (int32_t h = 0; h < halves; h++) {
        int32_t start = half_start(a, h), end = half_end(a, h);
        ends[h] = (half_ends){start < end ? start : end, start < end ? end : start};
        bucket[ends[h].high + 1]++;
    }
    counts_to_starts(bucket, a->vertex_count);
    for (int32_t h = 0; h < halves; h++)
        by_larger[bucket[ends[h].high]++] = h;
    memset(bucket, 0, ((size_t)a->vertex_count + 1) * sizeof *bucket);
    for (int32_t h = 0; h < halves; h++)
        bucket[ends[h].low + 1]++;
    counts_to_starts(bucket, a->vertex_count);
    for (int32_t i = 0; i < halves; i++)
        a->edge_halves[bucket[ends[by_larger[i]].low]++] = by_larger[i];
}

static void number_edges(sup_adjacency *a, const half_ends *ends)
{
    int32_t halves = 3 * a->triangle_count, edges = 0;
    for (int32_t i = 0; i < halves; i++) {
        int32_t h = a->edge_halves[i], low = ends[h].low, high = ends[h].high;
        bool same = edges > 0 && a->edge_vertices[2 * (edges - 1)] == low && a->edge_vertices[2 * edges - 1] == high;
        if (!same) {
            a->edge_vertices[2 * edges] = low;
            a->edge_vertices[2 * edges + 1] = high;
            a->edge_first[edges] = i;
            edges++;
        }
        a->half_edge[h] = edges - 1;
    }
    a->edge_first[edges] = halves;
    a->edge_count = edges;
}

static void pair_halves(sup_adjacency *a)
{
    for (int32_t e = 0; e < a->edge_count; e++) {
        int32_t first = a->edge_first[e], count = a->edge_first[e + 1] - first;
        if (count == 2) {
            a->half_twin[a->edge_halves[first]] = a->edge_halves[first + 1];
            a->half_twin[a->edge_halves[first + 1]] = a->edge_halves[first];
            continue;
        }
        for (int32_t i = first; i < first + count; i++)
            a->half_twin[a->edge_halves[i]] = count == 1 ? SUP_HALF_BOUNDARY : SUP_HALF_NON_MANIFOLD;
    }
}

static void link_vertices(sup_adjacency *a)
{
    int32_t halves = 3 * a->triangle_count;
    for (int32_t h = 0; h < halves; h++)
        a->vertex_first[half_start(a, h) + 1]++;
    counts_to_starts(a->vertex_first, a->vertex_count);
    for (int32_t h = 0; h < halves; h++)
        a->vertex_halves[a->vertex_first[half_start(a, h)]++] = h;
    restore_starts(a->vertex_first, a->vertex_count);
}

sup_result sup_adjacency_create(const sup_allocator *allocator, int32_t vertex_count, int32_t triangle_count,
                                const int32_t *triangles, sup_adjacency *adjacency, sup_error *error)
{
    if (vertex_count < 0 || triangle_count < 0 || triangle_count > INT32_MAX / 3 - 1 || vertex_count == INT32_MAX)
        return sup_fail(error, SUP_ERROR_ARGUMENT, "mesh.size", "", "The mesh has too many triangles or vertices.");
    sup_adjacency a = {.vertex_count = vertex_count, .triangle_count = triangle_count, .triangles = triangles};
    size_t halves = 3 * (size_t)triangle_count, vertices = (size_t)vertex_count;
    sup_arena scratch = sup_arena_create(allocator);
    a.arena = sup_arena_create(allocator);
    int32_t *bucket = sup_arena_alloc(&scratch, vertices + 1, sizeof *bucket);
    int32_t *by_larger = sup_arena_alloc(&scratch, halves, sizeof *by_larger);
    half_ends *ends = sup_arena_alloc(&scratch, halves, sizeof *ends);
    a.edge_vertices = sup_arena_alloc(&a.arena, 2 * halves, sizeof(int32_t));
    a.edge_first = sup_arena_alloc(&a.arena, halves + 1, sizeof(int32_t));
    a.edge_halves = sup_arena_alloc(&a.arena, halves, sizeof(int32_t));
    a.half_edge = sup_arena_alloc(&a.arena, halves, sizeof(int32_t));
    a.half_twin = sup_arena_alloc(&a.arena, halves, sizeof(int32_t));
    a.vertex_first = sup_arena_alloc(&a.arena, vertices + 1, sizeof(int32_t));
    a.vertex_halves = sup_arena_alloc(&a.arena, halves, sizeof(int32_t));
    bool ok = bucket != NULL && by_larger != NULL && ends != NULL && a.edge_vertices != NULL && a.edge_first != NULL &&
              a.edge_halves != NULL && a.half_edge != NULL && a.half_twin != NULL && a.vertex_first != NULL &&
              a.vertex_halves != NULL;
    if (ok) {
        sort_halves(&a, ends, bucket, by_larger);
        number_edges(&a, ends);
        pair_halves(&a);
        link_vertices(&a);
    }
    sup_arena_destroy(&scratch);
    if (!ok) {
        sup_arena_destroy(&a.arena);
        return sup_fail_memory(error, "the adjacency of the mesh");
    }
    *adjacency = a;
    return SUP_OK;
}

void sup_adjacency_destroy(sup_adjacency *adjacency)
{
    sup_arena_destroy(&adjacency->arena);
}

void sup_adjacency_neighbours(const sup_adjacency *adjacency, int32_t *first, int32_t *neighbours)
{
    const int32_t *ends = adjacency->edge_vertices;
    memset(first, 0, ((size_t)adjacency->vertex_count + 1) * sizeof *first);
    for (int32_t i = 0; i < 2 * adjacency->edge_count; i++)
        first[ends[i] + 1]++;
    counts_to_starts(first, adjacency->vertex_count);
    /* Edges are sorted by smaller, then larger vertex: filled in this order, each list has its smaller neighbours
     * before its larger ones, both ascending. */
    for (int32_t e = 0; e < adjacency->edge_count; e++)
        neighbours[first[ends[2 * e + 1]]++] = ends[2 * e];
    for (int32_t e = 0; e < adjacency->edge_count; e++)
        neighbours[first[ends[2 * e]]++] = ends[2 * e + 1];
    restore_starts(first, adjacency->vertex_count);
}

static int32_t find_root(int32_t *parent, int32_t v)
{
    while (parent[v] != v) {
        parent[v] = parent[parent[v]];
        v = parent[v];
    }
    return v;
}

int32_t sup_mesh_components(int32_t vertex_count, int32_t triangle_count, const int32_t *triangles, int32_t *component)
{
    /* Union-find; the root of a set is its smallest vertex. */
    for (int32_t v = 0; v < vertex_count; v++)
        component[v] = v;
    for (int32_t t = 0; t < triangle_count; t++)
        for (int k = 1; k < 3; k++) {
            int32_t a = find_root(component, triangles[3 * (size_t)t]);
            int32_t b = find_root(component, triangles[3 * (size_t)t + (size_t)k]);
            component[a < b ? b : a] = a < b ? a : b;
        }
    for (int32_t v = 0; v < vertex_count; v++)
        component[v] = find_root(component, v);
    /* Roots with members become INT32_MIN, then -2 - id; members come after their root. */
    for (int32_t v = 0; v < vertex_count; v++) {
        int32_t root = component[v];
        if (root >= 0 && root != v && component[root] == root) component[root] = INT32_MIN;
    }
    int32_t count = 0;
    for (int32_t v = 0; v < vertex_count; v++) {
        if (component[v] == v)
            component[v] = -1; /* without triangles */
        else if (component[v] == INT32_MIN)
            component[v] = -2 - count++;
        else
            component[v] = component[component[v]];
    }
    for (int32_t v = 0; v < vertex_count; v++)
        if (component[v] <= -2) component[v] = -2 - component[v];
    return count;
}

/* The boundary half-edge at the other end of the fan of triangles around `vertex`, starting at boundary half-edge
 * `half`; -1 if the fan ends at a non-manifold edge. Works for inconsistent orientations. */
static int32_t cross_fan(const sup_adjacency *a, int32_t half, int32_t vertex)
{
    for (;;) {
        /* The other edge of this triangle that ends at the vertex. */
        half = half_start(a, half) == vertex ? sup_half_previous(half) : sup_half_next(half);
        int32_t twin = a->half_twin[half];
        if (twin == SUP_HALF_BOUNDARY) return half;
        if (twin == SUP_HALF_NON_MANIFOLD) return -1;
        half = twin;
    }
}

static int32_t other_end(const sup_adjacency *a, int32_t half, int32_t vertex)
{
    return half_start(a, half) == vertex ? half_end(a, half) : half_start(a, half);
}

/* Follows the boundary from `half`, starting at `vertex`, until the chain closes or ends. */
static void walk(const sup_adjacency *a, int32_t half, int32_t vertex, bool *seen, sup_boundary *boundary)
{
    boundary->closed[boundary->loop_count] = true;
    while (half >= 0 && !seen[half]) {
        seen[half] = true;
        boundary->halves[boundary->edge_count] = half;
        boundary->vertices[boundary->edge_count] = vertex;
        boundary->edge_count++;
        vertex = other_end(a, half, vertex);
        half = cross_fan(a, half, vertex);
    }
    if (half < 0) boundary->closed[boundary->loop_count] = false;
    boundary->loop_count++;
    boundary->loop_first[boundary->loop_count] = boundary->edge_count;
}

sup_result sup_boundary_loops(const sup_adjacency *adjacency, sup_arena *arena, sup_boundary *boundary,
                              sup_error *error)
{
    int32_t halves = 3 * adjacency->triangle_count, edges = 0;
    for (int32_t h = 0; h < halves; h++)
        edges += adjacency->half_twin[h] == SUP_HALF_BOUNDARY;
    sup_boundary b = {0};
    size_t count = (size_t)edges;
    b.loop_first = sup_arena_alloc(arena, count + 1, sizeof(int32_t));
    b.halves = sup_arena_alloc(arena, count, sizeof(int32_t));
    b.vertices = sup_arena_alloc(arena, count, sizeof(int32_t));
    b.closed = sup_arena_alloc(arena, count, sizeof(bool));
    bool *seen = sup_arena_alloc(arena, (size_t)halves, sizeof(bool));
    if (b.loop_first == NULL || b.halves == NULL || b.vertices == NULL || b.closed == NULL || seen == NULL)
        return sup_fail_memory(error, "the boundary of the mesh");
    /* Open chains first, from their ends; the remaining half-edges form loops. */
    for (int32_t h = 0; h < halves; h++) {
        if (adjacency->half_twin[h] != SUP_HALF_BOUNDARY || seen[h]) continue;
        int32_t start = half_start(adjacency, h), end = half_end(adjacency, h);
        if (cross_fan(adjacency, h, start) < 0)
            walk(adjacency, h, start, seen, &b);
        else if (cross_fan(adjacency, h, end) < 0)
            walk(adjacency, h, end, seen, &b);
    }
    for (int32_t h = 0; h < halves; h++)
        if (adjacency->half_twin[h] == SUP_HALF_BOUNDARY && !seen[h])
            walk(adjacency, h, half_start(adjacency, h), seen, &b);
    *boundary = b;
    return SUP_OK;
}

/* closed_surface.c - closes an open or non-manifold surface with triangle fans.
 *
 * In any mesh the half-edges without an opposite form closed walks. A fan from each of them to a common centre
 * therefore closes the surface in the sense of the divergence theorem. */
#include "measure/measurer.h"

static int32_t find_root(int32_t *parent, int32_t i)
{
    while (parent[i] != i) {
        parent[i] = parent[parent[i]];
        i = parent[i];
    }
    return i;
}

/* The smaller index becomes the root: labels do not depend on the order of joining. */
static void join(int32_t *parent, int32_t a, int32_t b)
{
    a = find_root(parent, a);
    b = find_root(parent, b);
    parent[a < b ? b : a] = a < b ? a : b;
}

/* Number of half-edges from the smaller vertex of the edge to the larger one, minus those in the other direction. */
static int32_t net_direction(const sup_adjacency *adjacency, int32_t edge)
{
    int32_t net = 0;
    for (int32_t i = adjacency->edge_first[edge]; i < adjacency->edge_first[edge + 1]; i++) {
        int32_t from = adjacency->triangles[adjacency->edge_halves[i]];
        net += from == adjacency->edge_vertices[2 * edge] ? 1 : -1;
    }
    return net;
}

static void add_fan(sup_closed_surface *closed, int32_t from, int32_t to, int32_t *boundary)
{
    int32_t *fan = closed->triangles + 3 * ((size_t)closed->triangle_count + (size_t)closed->fan_count++);
    fan[0] = to;
    fan[1] = from;
    join(boundary, from, to);
}

static void close_boundaries(sup_closed_surface *closed, int32_t *boundary, int32_t *label)
{
    const sup_adjacency *adjacency = &closed->adjacency;
    for (int32_t v = 0; v < closed->vertex_count; v++) {
        boundary[v] = v;
        label[v] = -1;
    }
    for (int32_t e = 0; e < adjacency->edge_count; e++) {
        int32_t net = net_direction(adjacency, e), low = adjacency->edge_vertices[2 * e],
                high = adjacency->edge_vertices[2 * e + 1];
        for (; net > 0; net--)
            add_fan(closed, low, high, boundary);
        for (; net < 0; net++)
            add_fan(closed, high, low, boundary);
    }
    for (int32_t i = 0; i < closed->fan_count; i++) {
        int32_t *fan = closed->triangles + 3 * ((size_t)closed->triangle_count + (size_t)i);
        int32_t root = find_root(boundary, fan[0]);
        if (label[root] < 0) label[root] = closed->boundary_count++;
        closed->fan_boundary[i] = label[root];
        fan[2] = closed->vertex_count + label[root];
        closed->component[fan[2]] = closed->component[fan[0]];
    }
}

/* Capacity: at most one fan triangle per side, and a third as many boundaries. */
static bool reserve(sup_closed_surface *closed, sup_arena *arena, const int32_t *triangles)
{
    size_t sides = 3 * (size_t)closed->triangle_count;
    closed->triangles = sup_arena_alloc(arena, 3 * ((size_t)closed->triangle_count + sides), sizeof(int32_t));
    closed->fan_boundary = sup_arena_alloc(arena, sides, sizeof(int32_t));
    closed->component = sup_arena_alloc(arena, (size_t)closed->vertex_count + sides, sizeof(int32_t));
    if (closed->triangles == NULL || closed->fan_boundary == NULL || closed->component == NULL) return false;
    if (sides > 0) memcpy(closed->triangles, triangles, sides * sizeof(int32_t));
    return true;
}

sup_result sup_closed_surface_create(sup_closed_surface *closed, sup_arena *arena, int32_t vertex_count,
                                     const int32_t *triangles, int32_t triangle_count, sup_error *error)
{
    memset(closed, 0, sizeof *closed);
    closed->vertex_count = vertex_count;
    closed->triangle_count = triangle_count;
    int32_t *boundary = sup_arena_alloc(arena, (size_t)vertex_count, sizeof *boundary);
    int32_t *label = sup_arena_alloc(arena, (size_t)vertex_count, sizeof *label);
    if (boundary == NULL || label == NULL || !reserve(closed, arena, triangles))
        return sup_fail_memory(error, "the topology of the skin");
    sup_result result = sup_adjacency_create(&arena->allocator, vertex_count, triangle_count, closed->triangles,
                                             &closed->adjacency, error);
    if (result != SUP_OK) return result;
    closed->component_count = sup_mesh_components(vertex_count, triangle_count, closed->triangles, closed->component);
    close_boundaries(closed, boundary, label);
    closed->middle_sum = sup_arena_alloc(arena, 4 * (size_t)closed->boundary_count, sizeof(double));
    if (closed->middle_sum == NULL) {
        sup_closed_surface_destroy(closed);
        return sup_fail_memory(error, "the topology of the skin");
    }
    return SUP_OK;
}

void sup_closed_surface_destroy(sup_closed_surface *closed)
{
    sup_adjacency_destroy(&closed->adjacency);
}

/* Every boundary vertex starts as many fans as it ends, so the mean of their first corners is the centre. */
void sup_closed_surface_middles(const sup_closed_surface *closed, float *positions)
{
    double *sum = closed->middle_sum;
    memset(sum, 0, 4 * (size_t)closed->boundary_count * sizeof *sum);
    for (int32_t i = 0; i < closed->fan_count; i++) {
        const float *p = positions + 3 * (size_t)closed->triangles[3 * ((size_t)closed->triangle_count + (size_t)i)];
        double *s = sum + 4 * (size_t)closed->fan_boundary[i];
        for (int c = 0; c < 3; c++)
            s[c] += (double)p[c];
        s[3] += 1.0;
    }
    float *middle = positions + 3 * (size_t)closed->vertex_count;
    for (int32_t b = 0; b < closed->boundary_count; b++)
        for (int c = 0; c < 3; c++)
            middle[3 * (size_t)b + (size_t)c] = (float)(sum[4 * (size_t)b + (size_t)c] / sum[4 * (size_t)b + 3]);
}

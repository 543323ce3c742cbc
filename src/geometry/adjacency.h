/* adjacency.h (internal) - adjacency of a triangle mesh, which may be open, non-manifold or inconsistently oriented.
 *
 * Half-edge h = 3 t + k runs from corner k to corner (k+1)%3 of triangle t. Edges are unordered pairs, numbered by
 * their smaller, then by their larger vertex. All tables are built in linear time. */
#ifndef SUP_GEOMETRY_ADJACENCY_H
#define SUP_GEOMETRY_ADJACENCY_H

#include "base/base.h"

enum {
    SUP_HALF_BOUNDARY = -1,    /* no other triangle at this edge */
    SUP_HALF_NON_MANIFOLD = -2 /* more than two triangles at this edge */
};

typedef struct sup_adjacency {
    int32_t vertex_count, triangle_count, edge_count;
    const int32_t *triangles; /* [triangle_count*3] owned by the caller */
    int32_t *edge_vertices;   /* [edge_count*2] smaller vertex first */
    int32_t *edge_first;      /* [edge_count+1] */
    int32_t *edge_halves;     /* [triangle_count*3] half-edges by edge, ascending */
    int32_t *half_edge;       /* [triangle_count*3] edge of a half-edge */
    int32_t *half_twin;       /* [triangle_count*3] the other half-edge, in any direction, or SUP_HALF_* */
    int32_t *vertex_first;    /* [vertex_count+1] */
    int32_t *vertex_halves;   /* [triangle_count*3] outgoing half-edges by vertex, ascending; triangle = half / 3 */
    sup_arena arena;
} sup_adjacency;

/* Each triangle must have three different corners in range; `triangles` must outlive the tables. */
sup_result sup_adjacency_create(const sup_allocator *allocator, int32_t vertex_count, int32_t triangle_count,
                                const int32_t *triangles, sup_adjacency *adjacency, sup_error *error);
void sup_adjacency_destroy(sup_adjacency *adjacency);

static inline int32_t sup_half_next(int32_t half)
{
    return half % 3 == 2 ? half - 2 : half + 1;
}

static inline int32_t sup_half_previous(int32_t half)
{
    return half % 3 == 0 ? half + 2 : half - 1;
}

/* Vertices that share an edge with a vertex: neighbours of v are [first[v], first[v+1]) of `neighbours`, ascending.
 * `first` is [vertex_count+1], `neighbours` is [2*edge_count]. */
void sup_adjacency_neighbours(const sup_adjacency *adjacency, int32_t *first, int32_t *neighbours);

/* Connected components, numbered by their first vertex; component[vertex_count] is -1 for vertices without triangles.
 * Returns the number of components. */
int32_t sup_mesh_components(int32_t vertex_count, int32_t triangle_count, const int32_t *triangles, int32_t *component);

/* Chains of boundary edges. A loop continues through the fan of triangles at a vertex, as if each fan had its own
 * vertex: two components that touch in a vertex have one loop each, two holes that touch in a vertex are one loop. A
 * chain is open only if it ends at a non-manifold edge. */
typedef struct sup_boundary {
    int32_t loop_count, edge_count;
    int32_t *loop_first; /* [loop_count+1] */
    int32_t *halves;     /* [edge_count] boundary half-edges in order along the loops */
    int32_t *vertices;   /* [edge_count] first vertex of each edge along the loop */
    bool *closed;        /* [loop_count] */
} sup_boundary;

/* Allocates from `arena`. */
sup_result sup_boundary_loops(const sup_adjacency *adjacency, sup_arena *arena, sup_boundary *boundary,
                              sup_error *error);

#endif

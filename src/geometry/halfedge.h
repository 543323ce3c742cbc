/* halfedge.h (internal) - a half-edge mesh with in-place edge splits, collapses and flips.
 *
 * Half-edge h belongs to face h / 3, starts at origin[h] and ends at origin[next(h)]; twin[h] is the opposite half-edge
 * of the adjacent face, -1 on the border. `out` of a border vertex is its border half-edge, so that counter-clockwise
 * traversal visits all its faces. Removed faces have origin -1, removed vertices out -1. */
#ifndef SUP_GEOMETRY_HALFEDGE_H
#define SUP_GEOMETRY_HALFEDGE_H

#include "geometry/isosurface.h"

enum { SUP_RING_MAX = 64 };

typedef struct sup_halfedges {
    sup_allocator allocator;
    int32_t vertex_count, face_count; /* including removed ones */
    int32_t vertex_capacity, face_capacity;
    sup_vec3d *position;
    double *size; /* target edge length at a vertex */
    int32_t *out;
    int32_t *origin, *twin; /* [face_count*3] */
} sup_halfedges;

static inline int32_t sup_he_next(int32_t h)
{
    return h % 3 == 2 ? h - 2 : h + 1;
}

static inline int32_t sup_he_prev(int32_t h)
{
    return h % 3 == 0 ? h + 2 : h - 1;
}

static inline int32_t sup_he_target(const sup_halfedges *mesh, int32_t h)
{
    return mesh->origin[sup_he_next(h)];
}

static inline bool sup_he_on_border(const sup_halfedges *mesh, int32_t v)
{
    return mesh->twin[mesh->out[v]] < 0;
}

/* Next outgoing half-edge counter-clockwise around the origin of h, -1 past the last one of a border vertex. */
static inline int32_t sup_he_around(const sup_halfedges *mesh, int32_t h)
{
    return mesh->twin[sup_he_prev(h)];
}

/* Returns false when out of memory or, with *manifold false, if the triangles are not manifold. */
bool sup_halfedges_create(sup_halfedges *mesh, const sup_surface *surface, bool *manifold);
void sup_halfedges_free(sup_halfedges *mesh);
/* Creates a surface without the removed vertices and faces. */
bool sup_halfedges_extract(const sup_halfedges *mesh, sup_surface *surface);

/* Neighbours of v, counter-clockwise; the border neighbours of a border vertex come first and last. Returns their
 * number,
 * -1 if there are more than SUP_RING_MAX. */
int32_t sup_he_ring(const sup_halfedges *mesh, int32_t v, int32_t ring[SUP_RING_MAX]);
bool sup_he_connected(const sup_halfedges *mesh, int32_t a, int32_t b);

/* Inserts a vertex on h at `position`; false when out of memory. */
bool sup_he_split(sup_halfedges *mesh, int32_t h, sup_vec3d position);
/* Whether merging origin(h) into target(h) preserves the topology and the plane of the border. */
bool sup_he_may_collapse(const sup_halfedges *mesh, int32_t h);
void sup_he_collapse(sup_halfedges *mesh, int32_t h, sup_vec3d position);
bool sup_he_may_flip(const sup_halfedges *mesh, int32_t h);
void sup_he_flip(sup_halfedges *mesh, int32_t h);
/* Splits every face into four at the midpoints of its edges. */
bool sup_he_subdivide(sup_halfedges *mesh);

#endif

/* halfedge.h (internal) - a triangle mesh that can be changed: edges split, collapsed and flipped in place.
 *
 * Half-edge h belongs to face h / 3, starts at origin[h] and ends at origin[next(h)]; twin[h] runs the other way in the
 * face beside it, -1 on the border. A border vertex has its border half-edge as `out`, so that walking round it
 * counter-clockwise meets all its faces. Removed faces have origin -1, removed vertices out -1. */
#ifndef SUP_GEOMETRY_HALFEDGE_H
#define SUP_GEOMETRY_HALFEDGE_H

#include "geometry/isosurface.h"

enum { SUP_RING_MAX = 64 };

typedef struct sup_halfedges {
    sup_allocator allocator;
    int32_t vertex_count, face_count;       /* with removed ones */
    int32_t vertex_capacity, face_capacity; /* room */
    sup_vec3d *position;
    double *size; /* wanted edge length at a vertex */
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

/* Next outgoing half-edge counter-clockwise round the origin of h, -1 past the last one of a border vertex. */
static inline int32_t sup_he_around(const sup_halfedges *mesh, int32_t h)
{
    return mesh->twin[sup_he_prev(h)];
}

/* False when memory ran out or, with *manifold false, when the triangles are no manifold. */
bool sup_halfedges_create(sup_halfedges *mesh, const sup_surface *surface, bool *manifold);
void sup_halfedges_free(sup_halfedges *mesh);
/* The living part as a new surface. */
bool sup_halfedges_extract(const sup_halfedges *mesh, sup_surface *surface);

/* Neighbours of v, counter-clockwise; a border vertex has its two border neighbours first and last. -1 when there
 * are more than SUP_RING_MAX. */
int32_t sup_he_ring(const sup_halfedges *mesh, int32_t v, int32_t ring[SUP_RING_MAX]);
bool sup_he_connected(const sup_halfedges *mesh, int32_t a, int32_t b);

/* New vertex on h at `position`; false when memory ran out. */
bool sup_he_split(sup_halfedges *mesh, int32_t h, sup_vec3d position);
/* Whether origin(h) may be merged into target(h) without harm to the topology, or to the plane of the border. */
bool sup_he_may_collapse(const sup_halfedges *mesh, int32_t h);
void sup_he_collapse(sup_halfedges *mesh, int32_t h, sup_vec3d position);
bool sup_he_may_flip(const sup_halfedges *mesh, int32_t h);
void sup_he_flip(sup_halfedges *mesh, int32_t h);
/* Every face into four at the middles of its edges. */
bool sup_he_subdivide(sup_halfedges *mesh);

#endif

/* lattice.h (internal) - a graded body-centred cubic lattice: tetrahedra of a balanced octree.
 *
 * Based on: [labelle2007], sections 2 and 4. Vertices are the corners and the centres of the leaves. Two leaves of one
 * size that share a face make four tetrahedra around the line between their centres, one for each edge of the face (two
 * where smaller leaves put a vertex in the middle of that edge); at a face between a leaf and one twice its size both
 * centres make a pyramid with the smaller face, cut in two. Where all leaves have one size these are the tetrahedra of
 * the body-centred cubic lattice. Leaves are balanced across faces and edges.
 *
 * Extends the paper: the vertices nearest to the middles of thin features are marked. Along any curve the nearest
 * vertices of a body-centred cubic lattice are a chain of edges (its Voronoi cells share faces only across lattice
 * edges), so a feature that is too thin to contain vertices still stays connected through them. For the same reason an
 * edge that crosses the middle of a gap ends at a vertex nearest to it: with those outside, parts that are separate
 * along the skin stay separate. */
#ifndef SUP_VOLUME_LATTICE_H
#define SUP_VOLUME_LATTICE_H

#include "volume/solid.h"

enum {
    SUP_LATTICE_LEVELS = 4,                          /* sizes of leaves: the base, and halves of it */
    SUP_LATTICE_BASE = 2 << (SUP_LATTICE_LEVELS - 1) /* units along a leaf of level 0; centres are at whole units */
};

/* Leaves: a tube of this diameter contains the nearest vertex of each point of its axis at a depth of at least 0.357
 * leaves, where warping does not move it: 2 (sqrt(5)/4 + alpha_short sqrt(3)/2). */
#define SUP_LATTICE_THIN 1.83

typedef struct sup_lattice_cell {
    int32_t at[3]; /* lowest corner, units */
    int32_t level; /* side is SUP_LATTICE_BASE >> level units */
    int32_t child; /* first of eight, -1 for a leaf */
} sup_lattice_cell;

typedef struct sup_lattice {
    double base, unit; /* side of a leaf of level 0, and of a unit */
    sup_vec3d origin;  /* of the units */
    int32_t size[3];   /* leaves of level 0 along each axis */
    int32_t *root;     /* [size x*y*z] cell, or -1 if it is far outside */
    sup_array cells;   /* of sup_lattice_cell */
    int32_t vertex_count, tet_count, edge_count;
    int32_t *vertices;  /* [vertex_count*3] units */
    uint8_t *level;     /* [vertex_count] of the smallest leaf that it is part of */
    uint8_t *thread;    /* [vertex_count] nearest to the middle of a thin feature */
    uint8_t *gap;       /* [vertex_count] nearest to the middle of a narrow gap, and not `thread` */
    int32_t *tets;      /* [tet_count*4] positively oriented: det(v1-v0, v2-v0, v3-v0) > 0 */
    int32_t *edges;     /* [edge_count*2] lower vertex first, sorted by it */
    int32_t *tet_edges; /* [tet_count*6] edges 01 02 03 12 13 23 of a tet */
    sup_arena arena;
    sup_allocator allocator;
} sup_lattice;

/* Leaves of side `base` that cover the solid, refined to the level that `level_of` (NULL: 0) returns at its samples,
 * which sup_solid_measure makes. */
typedef int32_t sup_lattice_level_fn(const void *user, const sup_solid_sample *sample, double base);
sup_result sup_lattice_create(const sup_context *context, const sup_solid *solid, double base,
                              sup_lattice_level_fn *level_of, const void *user, sup_lattice *lattice, sup_error *error);
/* Number of leaves of side `base` along each axis; fails if there would be too many of them. */
sup_result sup_lattice_size(const sup_solid *solid, double base, int32_t size[3], sup_error *error);
void sup_lattice_free(sup_lattice *lattice);

static inline sup_vec3d sup_lattice_position(const sup_lattice *lattice, int32_t vertex)
{
    const int32_t *at = lattice->vertices + 3 * (size_t)vertex;
    return sup_v3_madd(lattice->origin, lattice->unit, sup_v3(at[0], at[1], at[2]));
}

#endif

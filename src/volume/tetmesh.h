/* tetmesh.h (internal) - a tetrahedral mesh of the inside of any skin.
 *
 * Accepts holes, crossings, and separate, duplicate and inside-out shells: see solid.h for the definition of inside.
 * The mesh comes from isosurface_stuffing.h on the graded lattice of lattice.h: coarse in thick areas, finer in fingers
 * and ears if the target number allows it, and with a chain of tetrahedra through features thinner than their cubes, so
 * that these stay connected. Then vertices are moved to the skin and to larger dihedral angles (improve.h). Same bits
 * for any number of threads.
 *
 * Guaranteed: every tetrahedron has a positive volume, also in float, or the call fails with SUP_ERROR_NUMERIC; the
 * mesh is conforming: a face belongs to two tetrahedra, or to one and the surface; every vertex belongs to a
 * tetrahedron. Angles were 6 to 172 degrees on all tested characters, 11 to 163 on the built-in human.
 * Not guaranteed: parts nearer to each other than a cube may merge; features thinner than a cube may end up to one and
 * a half cubes before their tip, or protrude from the skin by half a cube. */
#ifndef SUP_VOLUME_TETMESH_H
#define SUP_VOLUME_TETMESH_H

#include "base/base.h"

enum { SUP_TETMESH_ANGLE_BINS = 36 }; /* of 5 degrees */

typedef struct sup_tetmesh_def {
    int32_t tet_target; /* target number, reached to about 5 %; 0 = 10000 */
    double spacing;     /* or, if above 0, the side of the lattice cubes in thick areas, file units */
    int32_t levels;     /* maximum number of halvings of cubes in thin features: 1 to 3, 0 = 3, negative = never */
} sup_tetmesh_def;

/* A shell of the skin (connected triangles) and its tetrahedra. */
typedef struct sup_tetmesh_shell {
    int32_t first_vertex; /* of the skin */
    int32_t triangle_count;
    int32_t component; /* component of the tetrahedra near its first vertices, -1: no inside, or too small */
    bool whole;        /* all its vertices have that component as their nearest */
} sup_tetmesh_shell;

typedef struct sup_tetmesh_report {
    double spacing;                         /* side of a lattice cube in thick areas */
    double finest;                          /* side of the smallest cube */
    double volume;                          /* of the tetrahedra */
    double solid_volume;                    /* of the skin: exact if it is closed and does not cross itself */
    double angle_min, angle_max;            /* dihedral, degrees */
    double angle_1, angle_99;               /* below 1 % and above 99 % of them */
    int32_t angles[SUP_TETMESH_ANGLE_BINS]; /* histogram */
    int32_t tries;                          /* number of lattices that were built to reach the target number */
    int32_t flipped;                        /* shells of the skin that were inside out */
    int32_t empty_shells;                   /* shells of the skin without tetrahedra */
} sup_tetmesh_report;

typedef struct sup_tetmesh {
    int32_t vertex_count, tet_count, triangle_count;
    float *positions;        /* [vertex_count*3] units and space of the skin */
    int32_t *tets;           /* [tet_count*4] det(v1-v0, v2-v0, v3-v0) > 0 */
    float *size;             /* [vertex_count] side of the lattice cube there; an edge is about 0.9 of it */
    int32_t *neighbours;     /* [tet_count*4] tetrahedron across the face opposite to a corner, -1 for the surface */
    int32_t *triangles;      /* [triangle_count*3] the surface, counter-clockwise seen from outside */
    int32_t *triangle_tet;   /* [triangle_count] the tetrahedron it belongs to */
    int32_t component_count; /* connected components, in the order of their first vertices */
    int32_t *component;      /* [vertex_count] */
    int32_t shell_count;     /* shells of the skin, in the order of their first vertices */
    sup_tetmesh_shell *shells;
    sup_tetmesh_report report;
    sup_arena arena;
} sup_tetmesh;

/* The default: 10000 tetrahedra. */
sup_tetmesh_def sup_default_tetmesh_def(void);

/* Fills the inside of triangles. Fails with SUP_ERROR_ARGUMENT for corners out of range or invalid parameters, with
 * SUP_ERROR_DATA for positions that are not finite, and if there is no inside at all. */
sup_result sup_tetmesh_create(const sup_context *context, int32_t vertex_count, const float *positions,
                              int32_t triangle_count, const int32_t *triangles, const sup_tetmesh_def *def,
                              sup_tetmesh *mesh, sup_error *error);
void sup_tetmesh_free(sup_tetmesh *mesh);

/* Six dihedral angles of a tetrahedron in degrees, at its edges 01 02 03 12 13 23. */
void sup_tet_angles(const float *const corners[4], double angles[6]);

#endif

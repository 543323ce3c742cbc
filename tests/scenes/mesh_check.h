/* mesh_check.h - quality measures of the meshes of built-in characters, per primitive. */
#ifndef SUP_TESTS_SCENES_MESH_CHECK_H
#define SUP_TESTS_SCENES_MESH_CHECK_H

#include "supple/character.h"

typedef struct mesh_report {
    int32_t vertices, triangles, edges;
    int32_t open_edges; /* edges without exactly one triangle on each side */
    int32_t unused_vertices;
    int32_t components;
    double volume;         /* positive when the triangles face outwards */
    double smallest_angle; /* degrees */
    double thin_fraction;  /* fraction of triangles with an angle below 20 degrees */
    double largest_angle;
    int32_t self_intersections;
    double worst_normal; /* smallest cosine between a vertex normal and the mean of its faces */
} mesh_report;

mesh_report check_primitive(const sup_character *character, int32_t primitive, bool intersections);
/* Winding number of a primitive about a point: 1 inside, 0 outside. */
double winding(const sup_character *character, int32_t primitive, const double point[3]);

#endif

/* normals.h (internal) - normals of triangles and vertices, summed in double. */
#ifndef SUP_GEOMETRY_NORMALS_H
#define SUP_GEOMETRY_NORMALS_H

#include "math/vec3.h"

/* Twice the area times the unit normal of a triangle. */
sup_vec3d sup_triangle_cross(const float *positions, const int32_t corners[3]);

/* Interior angles of a triangle in radians; all zero without area. */
void sup_triangle_angles(const float *positions, const int32_t corners[3], double angles[3]);

/* Unit vertex normals, weighted by area and angle, [vertex_count*3]; zero for vertices without triangles of positive
 * area. `vertex_map` (may be NULL) maps a corner to the vertex whose normal it contributes to: map all vertices at one
 * position to one of them for smooth seams; the normals of the others stay zero. Deterministic. */
void sup_vertex_normals(int32_t vertex_count, const float *positions, int32_t triangle_count, const int32_t *triangles,
                        const int32_t *vertex_map, double *normals);

#endif

/* normals.h (internal) - normals of triangles and vertices, summed in double. */
#ifndef SUP_GEOMETRY_NORMALS_H
#define SUP_GEOMETRY_NORMALS_H

#include "math/vec3.h"

/* Twice the area times the unit normal of a triangle. */
sup_vec3d sup_triangle_cross(const float *positions, const int32_t corners[3]);

/* Corners' angles of a triangle in radians; all zero for one without area. */
void sup_triangle_angles(const float *positions, const int32_t corners[3], double angles[3]);

/* Unit vertex normals, weighted by area and angle, [vertex_count*3]; zero where no triangle with an area meets.
 * `vertex_map` (may be NULL) names the vertex that shares its normal with a corner: seams stay smooth when it points
 * to one vertex for all that are in one place; the others are left zero. Triangles in a fixed order: same bits always. */
void sup_vertex_normals(int32_t vertex_count, const float *positions, int32_t triangle_count, const int32_t *triangles,
                        const int32_t *vertex_map, double *normals);

#endif

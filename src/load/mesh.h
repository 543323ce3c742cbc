/* mesh.h (internal) - from positions and polygons to a character of one node and one primitive, for the mesh formats. */
#ifndef SUP_LOAD_MESH_H
#define SUP_LOAD_MESH_H

#include "load/read.h"

/* What a reader gathers; zero-initialise with sup_mesh_open. Vertices stay in the order of the file. */
typedef struct sup_mesh {
    sup_allocator allocator;
    sup_array positions;   /* float, 3 a vertex */
    sup_array normals;     /* float, 3 a vertex, or empty */
    sup_array texcoords;   /* float, 2 a vertex, glTF's way up (v grows down), or empty */
    sup_array corners;     /* int32_t, vertices of all faces one after another */
    sup_array face_starts; /* int32_t, first corner of each face; the last face runs to the end */
} sup_mesh;

sup_mesh sup_mesh_open(const sup_allocator *allocator);
void sup_mesh_close(sup_mesh *mesh);

/* Room for `count` values at the end of one of the arrays above; NULL when memory ran out or a count would no longer
 * fit the indices of a character. */
void *sup_mesh_push(sup_mesh *mesh, sup_array *array, size_t count);

/* Checks the corners, cuts faces into triangles (faces of fewer than 3 corners are left out) and makes the
 * character. A mesh without vertices is an error. */
sup_result sup_mesh_finish(const sup_read_input *input, sup_mesh *mesh, sup_character **character, sup_error *error);

/* Cuts one polygon of `count` >= 3 corners into count - 2 triangles, written as corner numbers in [0, count).
 * `scratch` has room for 2 * count items. Convex or not, planar or not; keeps the polygon's orientation. */
void sup_triangulate(const float *positions, const int32_t *corners, int32_t count, int32_t *scratch,
                     int32_t *triangles);

#endif

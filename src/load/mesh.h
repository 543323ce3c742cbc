/* mesh.h (internal) - makes a character of one node and one primitive from positions and polygons; for the mesh
 * formats. */
#ifndef SUP_LOAD_MESH_H
#define SUP_LOAD_MESH_H

#include "load/read.h"

/* The data that a reader collects; initialise with sup_mesh_open. Vertices keep the order of the file. */
typedef struct sup_mesh {
    sup_allocator allocator;
    sup_array positions;   /* float, 3 per vertex */
    sup_array normals;     /* float, 3 per vertex, or empty */
    sup_array texcoords;   /* float, 2 per vertex, glTF convention (v points down), or empty */
    sup_array corners;     /* int32_t, vertex indices of all faces, concatenated */
    sup_array face_starts; /* int32_t, first corner of each face; the last face ends at the end of `corners` */
} sup_mesh;

sup_mesh sup_mesh_open(const sup_allocator *allocator);
void sup_mesh_close(sup_mesh *mesh);

/* Appends `count` values to one of the arrays above and returns them; NULL when out of memory or when a count would
 * exceed the index range of a character. */
void *sup_mesh_push(sup_mesh *mesh, sup_array *array, size_t count);

/* Validates the corners, triangulates the faces (faces with fewer than 3 corners are dropped) and makes the character.
 * A mesh without vertices is an error. */
sup_result sup_mesh_finish(const sup_read_input *input, sup_mesh *mesh, sup_character **character, sup_error *error);

/* Triangulates one polygon of `count` >= 3 corners into count - 2 triangles of corner indices in [0, count). `scratch`:
 * [2*count]. The polygon may be non-convex and non-planar; its orientation is kept. */
void sup_triangulate(const float *positions, const int32_t *corners, int32_t count, int32_t *scratch,
                     int32_t *triangles);

#endif

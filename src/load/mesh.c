/* mesh.c - makes a character of one node and one primitive from positions and polygons. */
#include "load/mesh.h"

#include "load/file.h"

sup_mesh sup_mesh_open(const sup_allocator *allocator)
{
    sup_mesh mesh = {.allocator = *allocator};
    mesh.positions.item_size = mesh.normals.item_size = mesh.texcoords.item_size = sizeof(float);
    mesh.corners.item_size = mesh.face_starts.item_size = sizeof(int32_t);
    return mesh;
}

void sup_mesh_close(sup_mesh *mesh)
{
    sup_array_free(&mesh->allocator, &mesh->positions);
    sup_array_free(&mesh->allocator, &mesh->normals);
    sup_array_free(&mesh->allocator, &mesh->texcoords);
    sup_array_free(&mesh->allocator, &mesh->corners);
    sup_array_free(&mesh->allocator, &mesh->face_starts);
}

void *sup_mesh_push(sup_mesh *mesh, sup_array *array, size_t count)
{
    if (count > (size_t)INT32_MAX / 4 || array->count > (size_t)INT32_MAX / 4) return NULL;
    return sup_array_push(&mesh->allocator, array, count);
}

/* Corners of one face. */
typedef struct face_span {
    const int32_t *corners;
    int32_t count;
} face_span;

static face_span face_at(const sup_mesh *mesh, size_t face)
{
    const int32_t *starts = (const int32_t *)(const void *)mesh->face_starts.data;
    const int32_t *corners = (const int32_t *)(const void *)mesh->corners.data;
    int32_t end = face + 1 < mesh->face_starts.count ? starts[face + 1] : (int32_t)mesh->corners.count;
    int32_t count = end - starts[face];
    return (face_span){count > 0 ? corners + starts[face] : NULL, count};
}

/* Counts triangles and the maximum corners per face; fails at the first corner that is out of range. */
static sup_result count_triangles(const sup_mesh *mesh, const char *name, int32_t *triangles, int32_t *max_corners,
                                  sup_error *error)
{
    int64_t count = 0, vertices = (int64_t)mesh->positions.count / 3;
    *max_corners = 0;
    for (size_t f = 0; f < mesh->face_starts.count; f++) {
        face_span face = face_at(mesh, f);
        for (int32_t i = 0; i < face.count; i++)
            if (face.corners[i] < 0 || face.corners[i] >= vertices)
                return sup_fail(error, SUP_ERROR_FORMAT, "mesh.face.range", name,
                                "Face %zu refers to vertex %d (counted from 0), but the mesh has %lld vertices.", f,
                                face.corners[i], (long long)vertices);
        if (face.count >= 3) count += face.count - 2;
        if (face.count > *max_corners) *max_corners = face.count;
    }
    if (count > INT32_MAX / 3)
        return sup_fail(error, SUP_ERROR_UNSUPPORTED, "mesh.size", name, "The mesh has too many triangles.");
    *triangles = (int32_t)count;
    return SUP_OK;
}

static void fill_triangles(const sup_mesh *mesh, int32_t *scratch, int32_t *triangles)
{
    const float *positions = (const float *)(const void *)mesh->positions.data;
    for (size_t f = 0; f < mesh->face_starts.count; f++) {
        face_span face = face_at(mesh, f);
        if (face.count < 3) continue;
        sup_triangulate(positions, face.corners, face.count, scratch, triangles);
        for (int32_t i = 0; i < (face.count - 2) * 3; i++)
            triangles[i] = face.corners[triangles[i]];
        triangles += (face.count - 2) * 3;
    }
}

static sup_result make_triangles(const sup_read_input *input, const sup_mesh *mesh, sup_character *character,
                                 sup_error *error)
{
    int32_t max_corners;
    sup_result result = count_triangles(mesh, input->name, &character->triangle_count, &max_corners, error);
    if (result != SUP_OK) return result;
    sup_arena *arena = sup_character_arena(character);
    int32_t *triangles = sup_arena_alloc(arena, (size_t)character->triangle_count * 3, sizeof *triangles);
    int32_t *scratch = sup_alloc(&mesh->allocator, (size_t)max_corners * 2 * sizeof *scratch);
    if (triangles != NULL && scratch != NULL) fill_triangles(mesh, scratch, triangles);
    sup_free(&mesh->allocator, scratch, (size_t)max_corners * 2 * sizeof *scratch);
    if (triangles == NULL || scratch == NULL) return sup_fail_memory(error, "the triangles");
    character->triangles = triangles;
    return SUP_OK;
}

/* A copy in the arena, NULL for an empty array; sets *failed when out of memory. */
static const float *copy_array(sup_arena *arena, const sup_array *array, bool *failed)
{
    if (array->count == 0) return NULL;
    const float *copy = sup_arena_copy(arena, array->data, array->count, sizeof(float));
    if (copy == NULL) *failed = true;
    return copy;
}

static sup_result fill(const sup_read_input *input, const sup_mesh *mesh, sup_character *character, sup_error *error)
{
    sup_arena *arena = sup_character_arena(character);
    sup_node *node = sup_arena_alloc(arena, 1, sizeof *node);
    sup_primitive *primitive = sup_arena_alloc(arena, 1, sizeof *primitive);
    bool failed = node == NULL || primitive == NULL;
    character->name = sup_path_stem(arena, input->name);
    character->positions = copy_array(arena, &mesh->positions, &failed);
    character->normals = copy_array(arena, &mesh->normals, &failed);
    character->texcoords = copy_array(arena, &mesh->texcoords, &failed);
    character->vertex_count = (int32_t)(mesh->positions.count / 3);
    if (failed || character->name == NULL) return sup_fail_memory(error, "the mesh");
    sup_result result = make_triangles(input, mesh, character, error);
    if (result != SUP_OK) return result;
    *node = (sup_node){character->name, -1, sup_transform_identity(), false};
    *primitive = (sup_primitive){.name = character->name,
                                 .skin = -1,
                                 .material = -1,
                                 .vertex_count = character->vertex_count,
                                 .triangle_count = character->triangle_count};
    character->node_count = character->primitive_count = 1;
    character->nodes = node;
    character->primitives = primitive;
    return sup_character_finish(character, input->name, error);
}

sup_result sup_mesh_finish(const sup_read_input *input, sup_mesh *mesh, sup_character **character, sup_error *error)
{
    if (mesh->positions.count == 0)
        return sup_fail(error, SUP_ERROR_FORMAT, "mesh.empty", input->name, "The file has no vertices.");
    sup_character *made = sup_character_begin(input->context);
    if (made == NULL) return sup_fail_memory(error, "the mesh");
    sup_result result = fill(input, mesh, made, error);
    if (result == SUP_OK)
        *character = made;
    else
        sup_character_destroy(made);
    return result;
}

/* read_obj.c - Wavefront OBJ meshes.
 *
 * Makes one primitive whose vertices are the "v" lines in file order, because other programs number them so. Objects,
 * groups and materials do not split the mesh. Normals and texture coordinates belong to corners in this format: they
 * are kept when each vertex has exactly one, and dropped when a vertex would have to be split. */
#include "load/mesh.h"
#include "load/text_cursor.h"

/* Per corner: zero-based indices of position, texture coordinate and normal, -1 for none. */
typedef struct obj_corner {
    int32_t vertex, texcoord, normal;
} obj_corner;

typedef struct obj_reader {
    sup_text_cursor text;
    sup_mesh mesh;       /* normals and texcoords stay empty until the end */
    sup_array texcoords; /* float, 2 per item */
    sup_array normals;   /* float, 3 per item */
    sup_array corners;   /* obj_corner, all faces concatenated */
    sup_error *error;
} obj_reader;

/* Reads `count` numbers from the rest of the line; further values (w, colours) are ignored. */
static sup_result read_numbers(obj_reader *r, sup_array *array, size_t count, const char *what)
{
    float *values = sup_mesh_push(&r->mesh, array, count);
    if (values == NULL) return sup_fail_memory(r->error, "the vertices");
    for (size_t i = 0; i < count; i++) {
        double value;
        if (!sup_text_double(&r->text, &value)) return sup_text_fail_expected(&r->text, r->error, "obj.number", what);
        values[i] = (float)value;
    }
    return SUP_OK;
}

static sup_result read_texcoord(obj_reader *r)
{
    float *values = sup_mesh_push(&r->mesh, &r->texcoords, 2);
    if (values == NULL) return sup_fail_memory(r->error, "the texture coordinates");
    double u, v;
    if (!sup_text_double(&r->text, &u))
        return sup_text_fail_expected(&r->text, r->error, "obj.number", "a texture coordinate");
    if (!sup_text_double(&r->text, &v)) {
        if (sup_text_has_word(&r->text))
            return sup_text_fail_expected(&r->text, r->error, "obj.number", "a texture coordinate");
        v = 0.0; /* "vt u" is allowed: a one-dimensional texture */
    }
    values[0] = (float)u;
    values[1] = (float)(1.0 - v); /* v points up in OBJ, down in glTF */
    return SUP_OK;
}

/* Parses one index of a corner at *at: from 1, or negative relative to the items read so far. *index is -1 when the
 * field is empty. */
static bool parse_index(const char **at, const char *end, size_t read_count, int32_t *index)
{
    int64_t value;
    *index = -1;
    if (*at == end || **at == '/') return true;
    const char *after = sup_parse_int64(*at, end, &value);
    if (after == NULL || value == 0 || value > INT32_MAX || value < -(int64_t)read_count) return false;
    *index = (int32_t)(value > 0 ? value - 1 : (int64_t)read_count + value);
    *at = after;
    return true;
}

static bool parse_corner(const obj_reader *r, sup_word word, obj_corner *corner)
{
    const char *at = word.text, *end = word.text + word.length;
    *corner = (obj_corner){-1, -1, -1};
    if (!parse_index(&at, end, r->mesh.positions.count / 3, &corner->vertex) || corner->vertex < 0) return false;
    if (at < end && *at++ != '/') return false;
    if (!parse_index(&at, end, r->texcoords.count / 2, &corner->texcoord)) return false;
    if (at < end && *at++ != '/') return false;
    return parse_index(&at, end, r->normals.count / 3, &corner->normal) && at == end;
}

static sup_result read_face(obj_reader *r)
{
    int32_t *start = sup_mesh_push(&r->mesh, &r->mesh.face_starts, 1);
    if (start == NULL) return sup_fail_memory(r->error, "the faces");
    *start = (int32_t)r->corners.count;
    while (sup_text_has_word(&r->text)) {
        sup_text_cursor before = r->text;
        obj_corner corner;
        if (!parse_corner(r, sup_text_word(&r->text), &corner)) {
            r->text = before;
            return sup_text_fail_expected(&r->text, r->error, "obj.face",
                                          "a corner such as 3, 3/1, 3//2, 3/1/2 or -1 that refers to an earlier line");
        }
        obj_corner *slot = sup_mesh_push(&r->mesh, &r->corners, 1);
        if (slot == NULL) return sup_fail_memory(r->error, "the faces");
        *slot = corner;
    }
    return SUP_OK;
}

static sup_result read_line(obj_reader *r)
{
    sup_word word = sup_text_word(&r->text);
    if (sup_word_is(word, "v")) return read_numbers(r, &r->mesh.positions, 3, "three coordinates");
    if (sup_word_is(word, "vn")) return read_numbers(r, &r->normals, 3, "three components of a normal");
    if (sup_word_is(word, "vt")) return read_texcoord(r);
    if (sup_word_is(word, "f") || sup_word_is(word, "fo")) return read_face(r);
    return SUP_OK; /* objects, groups, materials, lines, curves */
}

static const obj_corner *corner_list(const obj_reader *r)
{
    return (const obj_corner *)(const void *)r->corners.data;
}

/* Position indices are checked by sup_mesh_finish, all others here. */
static sup_result check_corners(obj_reader *r)
{
    const obj_corner *corners = corner_list(r);
    int64_t texcoords = (int64_t)r->texcoords.count / 2, normals = (int64_t)r->normals.count / 3;
    for (size_t i = 0; i < r->corners.count; i++)
        if (corners[i].texcoord >= texcoords || corners[i].normal >= normals)
            return sup_fail(r->error, SUP_ERROR_FORMAT, "obj.face.range", r->text.name,
                            "A face refers to texture coordinate %d or normal %d (counted from 0), but the file has "
                            "%lld texture coordinates and %lld normals.",
                            corners[i].texcoord, corners[i].normal, (long long)texcoords, (long long)normals);
    int32_t *vertices = r->corners.count > 0 ? sup_mesh_push(&r->mesh, &r->mesh.corners, r->corners.count) : NULL;
    if (vertices == NULL && r->corners.count > 0) return sup_fail_memory(r->error, "the faces");
    for (size_t i = 0; i < r->corners.count; i++)
        vertices[i] = corners[i].vertex;
    return SUP_OK;
}

/* Copies corner values to their vertices; false when a vertex has no value or two different values. */
static bool corners_to_vertices(const obj_reader *r, const sup_array *from, size_t width, bool is_normal, float *to,
                                bool *known)
{
    const obj_corner *corners = corner_list(r);
    const float *values = (const float *)(const void *)from->data;
    for (size_t i = 0; i < r->corners.count; i++) {
        int32_t index = is_normal ? corners[i].normal : corners[i].texcoord;
        size_t vertex = (size_t)corners[i].vertex;
        if (index < 0 || vertex >= r->mesh.positions.count / 3) return false;
        const float *value = values + (size_t)index * width;
        if (known[vertex] && memcmp(to + vertex * width, value, width * sizeof(float)) != 0) return false;
        memcpy(to + vertex * width, value, width * sizeof(float));
        known[vertex] = true;
    }
    return true;
}

/* Fills `to` with one value per vertex if the file has exactly one for each, else leaves it empty. */
static sup_result keep_per_vertex(obj_reader *r, const sup_array *from, size_t width, bool is_normal, sup_array *to)
{
    size_t vertices = r->mesh.positions.count / 3;
    if (from->count == 0 || vertices == 0 || r->corners.count == 0) return SUP_OK;
    bool *known = sup_alloc_zero(&r->mesh.allocator, vertices);
    float *values = sup_mesh_push(&r->mesh, to, vertices * width);
    if (values != NULL) memset(values, 0, vertices * width * sizeof *values);
    bool whole = known != NULL && values != NULL && corners_to_vertices(r, from, width, is_normal, values, known);
    sup_free(&r->mesh.allocator, known, vertices);
    if (known == NULL || values == NULL) return sup_fail_memory(r->error, "the vertices");
    if (!whole) to->count = 0;
    return SUP_OK;
}

static sup_result read_all(obj_reader *r)
{
    sup_result result = SUP_OK;
    while (result == SUP_OK && sup_text_skip_to_word(&r->text)) {
        result = read_line(r);
        if (result == SUP_OK) sup_text_next_line(&r->text);
    }
    if (result == SUP_OK) result = check_corners(r);
    if (result == SUP_OK) result = keep_per_vertex(r, &r->normals, 3, true, &r->mesh.normals);
    if (result == SUP_OK) result = keep_per_vertex(r, &r->texcoords, 2, false, &r->mesh.texcoords);
    return result;
}

sup_result sup_read_obj(const sup_read_input *input, sup_character **character, sup_error *error)
{
    const sup_allocator *allocator = &input->context->allocator;
    obj_reader r = {.text = sup_text_open(input->bytes, input->name, '#'),
                    .mesh = sup_mesh_open(allocator),
                    .texcoords.item_size = sizeof(float),
                    .normals.item_size = sizeof(float),
                    .corners.item_size = sizeof(obj_corner),
                    .error = error};
    r.text.continued = true;
    sup_result result = read_all(&r);
    if (result == SUP_OK) result = sup_mesh_finish(input, &r.mesh, character, error);
    sup_array_free(allocator, &r.texcoords);
    sup_array_free(allocator, &r.normals);
    sup_array_free(allocator, &r.corners);
    sup_mesh_close(&r.mesh);
    return result;
}

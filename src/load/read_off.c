/* read_off.c - Object File Format meshes of Geomview: OFF and its variants with normals (N), colours (C) and texture
 * coordinates (ST) at the vertices. One line per vertex and per face; further values on a line are ignored. */
#include "load/mesh.h"
#include "load/text_cursor.h"

typedef struct off_header {
    bool has_normals, has_colours, has_texcoords;
    int64_t vertices, faces;
} off_header;

/* The first word, such as "STCNOFF"; it may be missing. */
static sup_result read_keyword(sup_text_cursor *text, off_header *header, sup_error *error)
{
    double unused;
    if (!sup_text_skip_to_word(text)) return sup_text_fail(text, error, "off.empty", "The file is empty.");
    sup_text_cursor before = *text;
    if (sup_text_double(text, &unused)) {
        *text = before;
        return SUP_OK;
    }
    sup_word word = sup_text_word(text);
    const char *at = word.text, *end = word.text + word.length;
    if (end - at >= 2 && memcmp(at, "ST", 2) == 0) {
        header->has_texcoords = true;
        at += 2;
    }
    for (; at < end && (*at == 'C' || *at == 'N'); at++)
        *(*at == 'C' ? &header->has_colours : &header->has_normals) = true;
    if (sup_word_is((sup_word){at, (size_t)(end - at)}, "4OFF") ||
        sup_word_is((sup_word){at, (size_t)(end - at)}, "nOFF"))
        return sup_fail(error, SUP_ERROR_UNSUPPORTED, "off.dimension", text->name,
                        "The vertices have more than three coordinates: export the mesh as plain OFF.");
    if (!sup_word_is((sup_word){at, (size_t)(end - at)}, "OFF")) {
        *text = before;
        return sup_text_fail_expected(text, error, "off.header", "the word OFF at the start");
    }
    before = *text;
    if (sup_word_is(sup_text_word(text), "BINARY"))
        return sup_fail(error, SUP_ERROR_UNSUPPORTED, "off.binary", text->name,
                        "Binary OFF files are not supported: export the mesh as text OFF.");
    *text = before;
    return SUP_OK;
}

/* "vertices faces [edges]"; checks that the remaining bytes suffice: a vertex has at least 5 characters and a line end,
 * a face 1 and a line end. */
static sup_result read_counts(sup_text_cursor *text, off_header *header, sup_error *error)
{
    if (!sup_text_skip_to_word(text) || !sup_text_int64(text, &header->vertices) ||
        !sup_text_int64(text, &header->faces) || header->vertices < 0 || header->faces < 0)
        return sup_text_fail_expected(text, error, "off.counts", "the numbers of vertices and faces");
    uint64_t left = sup_text_remaining(text) + 1;
    if ((uint64_t)header->vertices > left / 6 || (uint64_t)header->faces > left / 2)
        return sup_text_fail(text, error, "off.counts",
                             "The file declares %lld vertices and %lld faces, but is too short to contain them.",
                             (long long)header->vertices, (long long)header->faces);
    return SUP_OK;
}

static sup_result read_triple(sup_text_cursor *text, float *values, const char *what, sup_error *error)
{
    for (int i = 0; i < 3; i++) {
        double value;
        if (!sup_text_double(text, &value)) return sup_text_fail_expected(text, error, "off.number", what);
        values[i] = (float)value;
    }
    return SUP_OK;
}

/* The last two numbers of the line, after a colour of 1, 3 or 4 numbers. */
static sup_result read_texcoord(sup_text_cursor *text, float *values, sup_error *error)
{
    int count = 0;
    for (double value; sup_text_double(text, &value); count++) {
        values[0] = values[1];
        values[1] = (float)value;
    }
    if (count < 2) return sup_text_fail_expected(text, error, "off.number", "two texture coordinates");
    values[1] = 1.0f - values[1]; /* v points down in glTF */
    return SUP_OK;
}

static sup_result read_vertices(sup_text_cursor *text, const off_header *header, sup_mesh *mesh, sup_error *error)
{
    size_t count = (size_t)header->vertices;
    if (count == 0) return SUP_OK;
    float *positions = sup_mesh_push(mesh, &mesh->positions, count * 3);
    float *normals = header->has_normals ? sup_mesh_push(mesh, &mesh->normals, count * 3) : NULL;
    float *texcoords = header->has_texcoords ? sup_mesh_push(mesh, &mesh->texcoords, count * 2) : NULL;
    if (positions == NULL || (header->has_normals && normals == NULL) || (header->has_texcoords && texcoords == NULL))
        return sup_fail_memory(error, "the vertices");
    sup_result result = SUP_OK;
    for (size_t i = 0; i < count && result == SUP_OK; i++) {
        sup_text_next_line(text);
        sup_text_skip_to_word(text);
        result = read_triple(text, positions + i * 3, "three coordinates", error);
        if (result == SUP_OK && normals != NULL)
            result = read_triple(text, normals + i * 3, "three components of a normal", error);
        if (result == SUP_OK && texcoords != NULL) result = read_texcoord(text, texcoords + i * 2, error);
    }
    return result;
}

static sup_result read_face(sup_text_cursor *text, const off_header *header, sup_mesh *mesh, sup_error *error)
{
    int64_t corners;
    if (!sup_text_int64(text, &corners) || corners < 0)
        return sup_text_fail_expected(text, error, "off.face", "the number of corners of a face");
    if ((uint64_t)corners > sup_text_remaining(text) / 2)
        return sup_text_fail(text, error, "off.face", "A face declares %lld corners, but the file is too short.",
                             (long long)corners);
    int32_t *start = sup_mesh_push(mesh, &mesh->face_starts, 1);
    if (start == NULL) return sup_fail_memory(error, "the faces");
    *start = (int32_t)mesh->corners.count;
    int32_t *slots = corners > 0 ? sup_mesh_push(mesh, &mesh->corners, (size_t)corners) : start;
    if (slots == NULL) return sup_fail_memory(error, "the faces");
    for (int64_t i = 0; i < corners; i++) {
        int64_t vertex;
        if (!sup_text_int64(text, &vertex))
            return sup_text_fail_expected(text, error, "off.face", "a vertex index of a face");
        if (vertex < 0 || vertex >= header->vertices)
            return sup_text_fail(text, error, "off.face.range",
                                 "A face refers to vertex %lld, but the mesh has %lld vertices.", (long long)vertex,
                                 (long long)header->vertices);
        slots[i] = (int32_t)vertex;
    }
    return SUP_OK;
}

static sup_result read_all(sup_text_cursor *text, sup_mesh *mesh, sup_error *error)
{
    off_header header = {0};
    sup_result result = read_keyword(text, &header, error);
    if (result == SUP_OK) result = read_counts(text, &header, error);
    if (result == SUP_OK) result = read_vertices(text, &header, mesh, error);
    for (int64_t i = 0; i < header.faces && result == SUP_OK; i++) {
        sup_text_next_line(text);
        sup_text_skip_to_word(text);
        result = read_face(text, &header, mesh, error);
    }
    return result;
}

sup_result sup_read_off(const sup_read_input *input, sup_character **character, sup_error *error)
{
    sup_text_cursor text = sup_text_open(input->bytes, input->name, '#');
    sup_mesh mesh = sup_mesh_open(&input->context->allocator);
    sup_result result = read_all(&text, &mesh, error);
    if (result == SUP_OK) result = sup_mesh_finish(input, &mesh, character, error);
    sup_mesh_close(&mesh);
    return result;
}

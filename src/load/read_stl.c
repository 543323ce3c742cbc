/* read_stl.c - stereolithography meshes, text and binary.
 *
 * Three vertices per triangle, in file order: the rig welds them. Facet normals are redundant and often wrong or zero:
 * they are ignored. */
#include "load/mesh.h"
#include "load/text_cursor.h"

enum { STL_HEADER = 84, STL_FACET = 50 };

static uint32_t little_u32(const unsigned char *p)
{
    return (uint32_t)p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24;
}

static bool starts_with_solid(sup_bytes bytes)
{
    sup_text_cursor text = sup_text_open(bytes, "", '\0');
    return sup_text_skip_to_word(&text) && sup_word_is(sup_text_word(&text), "solid");
}

/* Whether the start of the file has bytes that text never has. */
static bool looks_binary(sup_bytes bytes)
{
    const unsigned char *data = bytes.data;
    for (size_t i = 0; i < bytes.size && i < 1024; i++)
        if (data[i] == 0 || data[i] == 0x7f) return true;
    return false;
}

/* Binary files may start with "solid" too: first compares the size with the triangle count, then checks the first
 * word. */
static bool is_binary(sup_bytes bytes)
{
    if (bytes.size >= STL_HEADER) {
        uint64_t facets = little_u32((const unsigned char *)bytes.data + 80);
        if (facets > 0 && STL_HEADER + facets * STL_FACET == bytes.size) return true;
    }
    return !starts_with_solid(bytes) || looks_binary(bytes);
}

static sup_result add_triangle(sup_mesh *mesh, const float corners[9], sup_error *error)
{
    int32_t first = (int32_t)(mesh->positions.count / 3);
    float *positions = sup_mesh_push(mesh, &mesh->positions, 9);
    int32_t *start = sup_mesh_push(mesh, &mesh->face_starts, 1);
    int32_t *vertices = sup_mesh_push(mesh, &mesh->corners, 3);
    if (positions == NULL || start == NULL || vertices == NULL) return sup_fail_memory(error, "the triangles");
    memcpy(positions, corners, 9 * sizeof *positions);
    *start = first;
    for (int32_t i = 0; i < 3; i++)
        vertices[i] = first + i;
    return SUP_OK;
}

/* 80 bytes of comment, a count, then facets: a normal, three vertices and two unused bytes. */
static sup_result read_binary(const sup_read_input *input, sup_mesh *mesh, sup_error *error)
{
    const unsigned char *data = input->bytes.data;
    if (input->bytes.size < STL_HEADER)
        return sup_fail(error, SUP_ERROR_FORMAT, "stl.short", input->name,
                        "The file is too short for a binary STL header and is not a text STL either.");
    uint64_t facets = little_u32(data + 80), capacity = (input->bytes.size - STL_HEADER) / STL_FACET;
    if (facets > capacity)
        return sup_fail(error, SUP_ERROR_FORMAT, "stl.count", input->name,
                        "The file declares %llu triangles, but contains only %llu: it is truncated or damaged.",
                        (unsigned long long)facets, (unsigned long long)capacity);
    sup_result result = SUP_OK;
    for (uint64_t f = 0; f < facets && result == SUP_OK; f++) {
        const unsigned char *at = data + STL_HEADER + f * STL_FACET + 12;
        float corners[9];
        for (int i = 0; i < 9; i++) {
            uint32_t bits = little_u32(at + 4 * i);
            memcpy(&corners[i], &bits, sizeof bits);
        }
        result = add_triangle(mesh, corners, error);
    }
    return result;
}

/* The rest of a facet after its first "vertex": two more vertices, up to "endloop". */
static sup_result read_loop(sup_text_cursor *text, sup_mesh *mesh, sup_error *error)
{
    float corners[9];
    for (int i = 0; i < 9; i++) {
        double value;
        if (i > 0 && i % 3 == 0 && (!sup_text_skip_to_word(text) || !sup_word_is(sup_text_word(text), "vertex")))
            return sup_text_fail(text, error, "stl.facet", "A facet has fewer than three vertices.");
        if (!sup_text_double(text, &value))
            return sup_text_fail_expected(text, error, "stl.number", "three coordinates of a vertex");
        corners[i] = (float)value;
    }
    if (!sup_text_skip_to_word(text) || !sup_word_is(sup_text_word(text), "endloop"))
        return sup_text_fail(text, error, "stl.facet", "Expected endloop after the three vertices of a facet.");
    return add_triangle(mesh, corners, error);
}

/* "facet" is followed by "normal" and three numbers, which are ignored. */
static void skip_facet_normal(sup_text_cursor *text)
{
    for (int i = 0; i < 4; i++)
        sup_text_word(text);
}

/* A file may have several solids; a name extends to the end of the line. */
static sup_result read_text(const sup_read_input *input, sup_mesh *mesh, sup_error *error)
{
    sup_text_cursor text = sup_text_open(input->bytes, input->name, '\0');
    sup_result result = SUP_OK;
    bool in_facet = false;
    while (result == SUP_OK && sup_text_skip_to_word(&text)) {
        sup_word word = sup_text_word(&text);
        if (sup_word_is(word, "vertex")) {
            result = read_loop(&text, mesh, error);
        } else if (sup_word_is(word, "solid") || sup_word_is(word, "endsolid")) {
            sup_text_next_line(&text);
        } else if (sup_word_is(word, "facet")) {
            skip_facet_normal(&text);
            in_facet = true;
        } else if (sup_word_is(word, "endfacet")) {
            in_facet = false;
        } else if (!sup_word_is(word, "outer") && !sup_word_is(word, "loop")) {
            text.at = word.text;
            result = sup_text_fail_expected(&text, error, "stl.word", "facet, outer loop, vertex or endsolid");
        }
    }
    if (result == SUP_OK && in_facet)
        return sup_text_fail(&text, error, "stl.facet", "The file ends inside a facet: it is truncated.");
    return result;
}

sup_result sup_read_stl(const sup_read_input *input, sup_character **character, sup_error *error)
{
    sup_mesh mesh = sup_mesh_open(&input->context->allocator);
    sup_result result = is_binary(input->bytes) ? read_binary(input, &mesh, error) : read_text(input, &mesh, error);
    if (result == SUP_OK) result = sup_mesh_finish(input, &mesh, character, error);
    sup_mesh_close(&mesh);
    return result;
}

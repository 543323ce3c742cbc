/* read_ply.c - Stanford PLY meshes: text, binary little endian and binary big endian; any elements and properties in
 * any order. Positions and normals of "vertex" and the vertex list of "face" are read, all other data is skipped. */
#include "load/mesh.h"
#include "load/text_cursor.h"

#include <math.h>

typedef enum ply_type {
    PLY_INT8,
    PLY_UINT8,
    PLY_INT16,
    PLY_UINT16,
    PLY_INT32,
    PLY_UINT32,
    PLY_FLOAT32,
    PLY_FLOAT64,
    PLY_NONE
} ply_type;

static const size_t type_sizes[] = {1, 1, 2, 2, 4, 4, 4, 8, 0};

/* Meaning of a property: index into the values of a vertex, or a role. */
enum { PLY_X = 0, PLY_NORMAL_X = 3, PLY_VALUES = 6, PLY_FACE_LIST = 6, PLY_IGNORED = 7 };

typedef struct ply_property {
    ply_type type, count_type; /* count_type is PLY_NONE for a single value */
    int role;
} ply_property;

typedef struct ply_element {
    int64_t count;
    bool is_vertex, is_face;
    size_t property_first, property_count;
    unsigned roles; /* bit mask of the roles of the properties */
} ply_element;

typedef struct ply_reader {
    sup_text_cursor text;
    bool is_text, big_endian;
    sup_allocator allocator;
    sup_array elements, properties;
    sup_mesh mesh;
    sup_error *error;
} ply_reader;

static ply_type type_named(sup_word word)
{
    static const struct {
        const char *name;
        ply_type type;
    } names[] = {{"char", PLY_INT8},     {"int8", PLY_INT8},       {"uchar", PLY_UINT8},    {"uint8", PLY_UINT8},
                 {"short", PLY_INT16},   {"int16", PLY_INT16},     {"ushort", PLY_UINT16},  {"uint16", PLY_UINT16},
                 {"int", PLY_INT32},     {"int32", PLY_INT32},     {"uint", PLY_UINT32},    {"uint32", PLY_UINT32},
                 {"float", PLY_FLOAT32}, {"float32", PLY_FLOAT32}, {"double", PLY_FLOAT64}, {"float64", PLY_FLOAT64}};
    for (int32_t i = 0; i < SUP_COUNT(names); i++)
        if (sup_word_is(word, names[i].name)) return names[i].type;
    return PLY_NONE;
}

static int role_named(const ply_element *element, sup_word word, bool is_list)
{
    static const char *const values[PLY_VALUES] = {"x", "y", "z", "nx", "ny", "nz"};
    for (int i = 0; element->is_vertex && !is_list && i < PLY_VALUES; i++)
        if (sup_word_is(word, values[i])) return i;
    bool is_corners = sup_word_is(word, "vertex_indices") || sup_word_is(word, "vertex_index");
    return element->is_face && is_list && is_corners ? PLY_FACE_LIST : PLY_IGNORED;
}

static ply_element *last_element(const ply_reader *r)
{
    return r->elements.count > 0 ? (ply_element *)(void *)r->elements.data + (r->elements.count - 1) : NULL;
}

static sup_result header_format(ply_reader *r)
{
    sup_word format = sup_text_word(&r->text);
    r->is_text = sup_word_is(format, "ascii");
    r->big_endian = sup_word_is(format, "binary_big_endian");
    if (r->is_text || r->big_endian || sup_word_is(format, "binary_little_endian")) return SUP_OK;
    return sup_text_fail(&r->text, r->error, "ply.format",
                         "Expected the format ascii, binary_little_endian or binary_big_endian.");
}

static sup_result header_element(ply_reader *r)
{
    sup_word name = sup_text_word(&r->text);
    ply_element *element = sup_array_push(&r->allocator, &r->elements, 1);
    if (element == NULL) return sup_fail_memory(r->error, "the header");
    *element = (ply_element){.is_vertex = sup_word_is(name, "vertex"),
                             .is_face = sup_word_is(name, "face"),
                             .property_first = r->properties.count};
    if (!sup_text_int64(&r->text, &element->count) || element->count < 0)
        return sup_text_fail_expected(&r->text, r->error, "ply.element", "the number of elements");
    return SUP_OK;
}

static sup_result header_property(ply_reader *r)
{
    ply_element *element = last_element(r);
    if (element == NULL)
        return sup_text_fail(&r->text, r->error, "ply.property", "A property precedes the first element.");
    ply_property *property = sup_array_push(&r->allocator, &r->properties, 1);
    if (property == NULL) return sup_fail_memory(r->error, "the header");
    sup_word word = sup_text_word(&r->text);
    bool is_list = sup_word_is(word, "list");
    *property = (ply_property){PLY_NONE, PLY_NONE, PLY_IGNORED};
    if (is_list) {
        property->count_type = type_named(sup_text_word(&r->text));
        word = sup_text_word(&r->text);
    }
    property->type = type_named(word);
    bool count_ok = !is_list || property->count_type < PLY_FLOAT32;
    if (property->type == PLY_NONE || !count_ok)
        return sup_text_fail(&r->text, r->error, "ply.property",
                             "A property has a type that PLY does not know, or a list counted by one that is no "
                             "integer.");
    property->role = role_named(element, sup_text_word(&r->text), is_list);
    if (property->role != PLY_IGNORED && (element->roles & 1u << property->role) != 0)
        return sup_text_fail(&r->text, r->error, "ply.property", "Duplicate property name.");
    element->roles |= 1u << property->role;
    element->property_count++;
    return SUP_OK;
}

/* Skips exactly one line end after "end_header": sup_text_next_line could consume a "\r" that belongs to the data. */
static void start_data(ply_reader *r, bool has_return, bool has_newline)
{
    sup_text_cursor *text = &r->text;
    while (text->at < text->end && *text->at != '\n' && *text->at != '\r')
        text->at++;
    if (has_return && text->at < text->end && *text->at == '\r') text->at++;
    if (has_newline && text->at < text->end && *text->at == '\n') text->at++;
    text->line++;
}

static sup_result read_header(ply_reader *r)
{
    const char *start = r->text.at;
    if (!sup_word_is(sup_text_word(&r->text), "ply"))
        return sup_text_fail(&r->text, r->error, "ply.magic", "The file does not start with \"ply\".");
    const char *line_end = start + 3;
    bool has_return = line_end < r->text.end && *line_end == '\r';
    bool has_newline = !has_return || (line_end + 1 < r->text.end && line_end[1] == '\n');
    bool has_format = false;
    sup_result result = SUP_OK;
    while (result == SUP_OK) {
        if (!sup_text_next_line(&r->text))
            return sup_text_fail(&r->text, r->error, "ply.header",
                                 "The header has no end_header: the file is truncated.");
        sup_word word = sup_text_word(&r->text);
        if (sup_word_is(word, "format")) {
            result = header_format(r);
            has_format = true;
        } else if (sup_word_is(word, "element")) {
            result = header_element(r);
        } else if (sup_word_is(word, "property")) {
            result = header_property(r);
        } else if (sup_word_is(word, "end_header")) {
            break;
        } else if (word.length > 0 && !sup_word_is(word, "comment") && !sup_word_is(word, "obj_info")) {
            r->text.at = word.text;
            result = sup_text_fail_expected(&r->text, r->error, "ply.header", "a header line");
        }
    }
    if (result == SUP_OK && !has_format)
        result = sup_text_fail(&r->text, r->error, "ply.format", "The header has no format line.");
    if (result == SUP_OK) start_data(r, has_return, has_newline);
    return result;
}

static sup_result fail_short(ply_reader *r)
{
    if (r->is_text) return sup_text_fail_expected(&r->text, r->error, "ply.data", "a number");
    return sup_fail(r->error, SUP_ERROR_FORMAT, "ply.data", r->text.name,
                    "The file ends before all elements declared in its header: it is truncated.");
}

static double decode(const unsigned char *bytes, ply_type type, bool big_endian)
{
    size_t size = type_sizes[type];
    uint64_t bits = 0;
    for (size_t i = 0; i < size; i++)
        bits |= (uint64_t)bytes[big_endian ? size - 1 - i : i] << 8 * i;
    switch (type) {
    case PLY_INT8:
        return (double)(int8_t)bits;
    case PLY_INT16:
        return (double)(int16_t)bits;
    case PLY_INT32:
        return (double)(int32_t)bits;
    case PLY_FLOAT32: {
        uint32_t narrow = (uint32_t)bits;
        float value;
        memcpy(&value, &narrow, sizeof value);
        return (double)value;
    }
    case PLY_FLOAT64: {
        double value;
        memcpy(&value, &bits, sizeof value);
        return value;
    }
    default:
        return (double)bits;
    }
}

/* The next value of the data, text or binary. */
static bool next_value(ply_reader *r, ply_type type, double *value)
{
    if (r->is_text) return sup_text_skip_to_word(&r->text) && sup_text_double(&r->text, value);
    if (sup_text_remaining(&r->text) < type_sizes[type]) return false;
    *value = decode((const unsigned char *)r->text.at, type, r->big_endian);
    r->text.at += type_sizes[type];
    return true;
}

/* Reads a list into the mesh's corners if it belongs to a face, else skips it. */
static sup_result read_list(ply_reader *r, const ply_property *property)
{
    double length;
    if (!next_value(r, property->count_type, &length)) return fail_short(r);
    size_t smallest = r->is_text ? 2 : type_sizes[property->type]; /* minimum bytes per item */
    size_t capacity = (sup_text_remaining(&r->text) + 1) / smallest;
    if (!(length >= 0.0) || length != floor(length) || length > (double)capacity)
        return sup_text_fail(&r->text, r->error, "ply.list",
                             "A list declares %g items, but the file is too short to contain them.", length);
    bool is_face_list = property->role == PLY_FACE_LIST;
    size_t count = (size_t)length;
    int32_t *corners = is_face_list && count > 0 ? sup_mesh_push(&r->mesh, &r->mesh.corners, count) : NULL;
    if (is_face_list && count > 0 && corners == NULL) return sup_fail_memory(r->error, "the faces");
    for (size_t i = 0; i < count; i++) {
        double value;
        if (!next_value(r, property->type, &value)) return fail_short(r);
        /* Invalid indices become -1, which sup_mesh_finish rejects. */
        if (is_face_list)
            corners[i] = value >= 0.0 && value <= INT32_MAX && value == floor(value) ? (int32_t)value : -1;
    }
    return SUP_OK;
}

static const ply_property *properties_of(const ply_reader *r, const ply_element *element)
{
    const ply_property *all = (const ply_property *)(const void *)r->properties.data;
    return element->property_count > 0 ? all + element->property_first : NULL;
}

/* Reads one element; properties with a role go to `values`. */
static sup_result read_item(ply_reader *r, const ply_element *element, double values[PLY_VALUES])
{
    const ply_property *property = properties_of(r, element);
    sup_result result = SUP_OK;
    for (size_t i = 0; i < element->property_count && result == SUP_OK; i++, property++) {
        double value;
        if (property->count_type != PLY_NONE)
            result = read_list(r, property);
        else if (!next_value(r, property->type, &value))
            result = fail_short(r);
        else if (property->role < PLY_VALUES)
            values[property->role] = value;
    }
    return result;
}

/* Minimum bytes per element. */
static size_t smallest_item(const ply_reader *r, const ply_element *element)
{
    const ply_property *property = properties_of(r, element);
    size_t size = 0;
    for (size_t i = 0; i < element->property_count; i++, property++)
        size += r->is_text ? 2 : type_sizes[property->count_type != PLY_NONE ? property->count_type : property->type];
    return size;
}

static sup_result read_vertex(ply_reader *r, const ply_element *element, bool has_normals)
{
    double values[PLY_VALUES] = {0};
    sup_result result = read_item(r, element, values);
    if (result != SUP_OK) return result;
    float *position = sup_mesh_push(&r->mesh, &r->mesh.positions, 3);
    float *normal = has_normals ? sup_mesh_push(&r->mesh, &r->mesh.normals, 3) : position;
    if (position == NULL || normal == NULL) return sup_fail_memory(r->error, "the vertices");
    for (int i = 0; i < 3; i++) {
        position[i] = (float)values[PLY_X + i];
        if (has_normals) normal[i] = (float)values[PLY_NORMAL_X + i];
    }
    return SUP_OK;
}

static sup_result read_element(ply_reader *r, const ply_element *element)
{
    size_t smallest = smallest_item(r, element);
    if (smallest == 0) return SUP_OK; /* no properties, no data */
    if ((uint64_t)element->count > (sup_text_remaining(&r->text) + 1) / smallest)
        return sup_text_fail(&r->text, r->error, "ply.count",
                             "An element declares %lld items, but the file is too short to contain them.",
                             (long long)element->count);
    unsigned xyz = 7u << PLY_X, normals = 7u << PLY_NORMAL_X;
    if (element->is_vertex && (element->roles & xyz) != xyz)
        return sup_fail(r->error, SUP_ERROR_FORMAT, "ply.position", r->text.name,
                        "The element \"vertex\" must have the properties x, y and z.");
    sup_result result = SUP_OK;
    for (int64_t i = 0; i < element->count && result == SUP_OK; i++) {
        double values[PLY_VALUES];
        if (element->is_vertex) {
            result = read_vertex(r, element, (element->roles & normals) == normals);
            continue;
        }
        int32_t *start = element->is_face ? sup_mesh_push(&r->mesh, &r->mesh.face_starts, 1) : NULL;
        if (element->is_face && start == NULL) return sup_fail_memory(r->error, "the faces");
        if (start != NULL) *start = (int32_t)r->mesh.corners.count;
        result = read_item(r, element, values);
    }
    return result;
}

static sup_result read_all(ply_reader *r)
{
    sup_result result = read_header(r);
    int vertex_elements = 0;
    for (size_t i = 0; i < r->elements.count && result == SUP_OK; i++) {
        const ply_element *element = (const ply_element *)(const void *)r->elements.data + i;
        vertex_elements += element->is_vertex ? 1 : 0;
        if (vertex_elements > 1)
            return sup_fail(r->error, SUP_ERROR_FORMAT, "ply.element", r->text.name,
                            "The header has two \"vertex\" elements.");
        result = read_element(r, element);
    }
    return result;
}

sup_result sup_read_ply(const sup_read_input *input, sup_character **character, sup_error *error)
{
    ply_reader r = {.text = sup_text_open(input->bytes, input->name, '\0'),
                    .allocator = input->context->allocator,
                    .elements.item_size = sizeof(ply_element),
                    .properties.item_size = sizeof(ply_property),
                    .mesh = sup_mesh_open(&input->context->allocator),
                    .error = error};
    sup_result result = read_all(&r);
    if (result == SUP_OK) result = sup_mesh_finish(input, &r.mesh, character, error);
    sup_array_free(&r.allocator, &r.elements);
    sup_array_free(&r.allocator, &r.properties);
    sup_mesh_close(&r.mesh);
    return result;
}

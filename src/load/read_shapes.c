/* read_shapes.c - a folder of bodies with one triangulation: header.json, params.csv and one file per array.
 *
 * header.json: n_shapes, n_vertices, n_triangles, scale, offset (metres = offset + scale * int16) and one object per
 * skeleton, {"names": [...], "parents": [...]}; positions_i16.bin, triangles_u16.bin and joints_NAME_f32.bin,
 * little-endian. params.csv: one line per body; the first line names the columns: sex, age_years, height_m, mass_kg (or
 * mass_kg_at_1010), optionally african, asian, fat_kg, muscle_kg. */
#include "load/shapes.h"

#include "load/file.h"
#include "load/json.h"
#include "load/text_cursor.h"

#include <math.h>

enum { MAX_COLUMNS = 64, MAX_FIELD = 64, MAX_JOINTS = 1024, MAX_BODIES = 100000, MAX_VERTICES = 10000000 };

struct sup_shapes_storage {
    sup_arena arena;
    sup_allocator allocator;
};

/* --- header.json --- */

static sup_result bad(sup_error *error, const char *where, const char *what)
{
    return sup_fail(error, SUP_ERROR_FORMAT, "shapes.header", where, "%s", what);
}

static sup_result read_count(const sup_json *root, const char *key, int64_t minimum, int64_t maximum, const char *where,
                             int32_t *count, sup_error *error)
{
    int64_t value = 0;
    if (!sup_json_integer(sup_json_get(root, key), &value) || value < minimum || value > maximum)
        return sup_fail(error, SUP_ERROR_FORMAT, "shapes.header", where, "\"%s\" must be an integer from %lld to %lld.",
                        key, (long long)minimum, (long long)maximum);
    *count = (int32_t)value;
    return SUP_OK;
}

/* The skeleton named `skeleton_name`, or the first object with names and parents. */
static const sup_json *find_skeleton(const sup_json *root, const char *skeleton_name)
{
    for (int64_t i = 0; i < sup_json_count(root); i++) {
        const sup_json *item = root->of.items[i];
        bool fits = skeleton_name == NULL ||
                    (strlen(skeleton_name) == item->key_size && memcmp(skeleton_name, item->key, item->key_size) == 0);
        if (fits && sup_json_is(sup_json_get(item, "names"), SUP_JSON_ARRAY) &&
            sup_json_is(sup_json_get(item, "parents"), SUP_JSON_ARRAY))
            return item;
    }
    return NULL;
}

static sup_result read_skeleton(const sup_json *skeleton, const char *where, sup_arena *arena, sup_shapes_header *h,
                                sup_error *error)
{
    const sup_json *names = sup_json_get(skeleton, "names"), *parents = sup_json_get(skeleton, "parents");
    int32_t count = sup_json_count(names);
    if (count < 1 || count > MAX_JOINTS || sup_json_count(parents) != count)
        return bad(error, where, "A skeleton needs equal numbers of \"names\" and \"parents\", from 1 to 1024.");
    const char **texts = sup_arena_alloc(arena, (size_t)count, sizeof *texts);
    int32_t *above = sup_arena_alloc(arena, (size_t)count, sizeof *above);
    h->skeleton = sup_arena_string_n(arena, skeleton->key, skeleton->key_size);
    if (texts == NULL || above == NULL || h->skeleton == NULL) return sup_fail_memory(error, "the shapes");
    for (int32_t j = 0; j < count; j++) {
        int64_t parent = 0;
        const char *text = sup_json_text(sup_json_at(names, j));
        if (text == NULL || !sup_json_integer(sup_json_at(parents, j), &parent) || parent >= j ||
            (j == 0 ? parent != -1 : parent < 0))
            return bad(error, where,
                       "Each joint needs a name and must come after its parent; the first joint is the only root.");
        texts[j] = sup_arena_string(arena, text);
        if (texts[j] == NULL) return sup_fail_memory(error, "the shapes");
        above[j] = (int32_t)parent;
    }
    h->joint_count = count;
    h->joint_names = texts;
    h->parents = above;
    return SUP_OK;
}

static sup_result read_scale(const sup_json *root, const char *where, sup_shapes_header *h, sup_error *error)
{
    const sup_json *offset = sup_json_get(root, "offset");
    bool good = sup_json_double(sup_json_get(root, "scale"), &h->scale) && isfinite(h->scale) && h->scale > 0.0 &&
                h->scale < 1.0;
    for (int k = 0; k < 3 && good; k++)
        good = sup_json_double(sup_json_at(offset, k), &h->offset[k]) && fabs(h->offset[k]) < 100.0;
    return good ? SUP_OK
                : bad(error, where,
                      "\"scale\" (a number in (0, 1)) and \"offset\" (three numbers) must be given to decode int16 "
                      "positions.");
}

sup_result sup_shapes_read_header(const sup_allocator *allocator, const char *where, sup_bytes text,
                                  const char *skeleton, sup_arena *arena, sup_shapes_header *header, sup_error *error)
{
    sup_json_tree tree = sup_json_tree_create(allocator);
    sup_shapes_header h = {0};
    sup_result result = sup_json_parse(&tree, where, text, error);
    if (result == SUP_OK) result = read_count(tree.root, "n_shapes", 1, MAX_BODIES, where, &h.body_count, error);
    if (result == SUP_OK) result = read_count(tree.root, "n_vertices", 4, MAX_VERTICES, where, &h.vertex_count, error);
    if (result == SUP_OK)
        result = read_count(tree.root, "n_triangles", 4, 2 * MAX_VERTICES, where, &h.triangle_count, error);
    if (result == SUP_OK) result = read_scale(tree.root, where, &h, error);
    if (result == SUP_OK) {
        const sup_json *found = find_skeleton(tree.root, skeleton);
        result = found != NULL
                     ? read_skeleton(found, where, arena, &h, error)
                     : bad(error, where, "The header has no skeleton of that name with \"names\" and \"parents\".");
    }
    if (result == SUP_OK) *header = h;
    sup_json_tree_destroy(&tree);
    return result;
}

/* --- params.csv --- */

/* The next field of a line: up to a comma, trimmed. False at the end of the line. */
static bool next_field(sup_word *line, sup_word *field)
{
    if (line->text == NULL) return false;
    size_t length = 0;
    while (length < line->length && line->text[length] != ',')
        length++;
    *field = (sup_word){line->text, length};
    if (length < line->length)
        *line = (sup_word){line->text + length + 1, line->length - length - 1};
    else
        line->text = NULL;
    while (field->length > 0 && (field->text[0] == ' ' || field->text[0] == '"'))
        field->text++, field->length--;
    while (field->length > 0 && (field->text[field->length - 1] == ' ' || field->text[field->length - 1] == '"'))
        field->length--;
    return true;
}

typedef enum column { SEX, AGE, HEIGHT, MASS, AFRICAN, ASIAN, FAT, MUSCLE, OTHER } column;

static column column_of(sup_word name)
{
    static const struct {
        const char *text;
        column column;
    } known[] = {{"sex", SEX},      {"age_years", AGE},        {"height_m", HEIGHT},
                 {"mass_kg", MASS}, {"mass_kg_at_1010", MASS}, {"african", AFRICAN},
                 {"asian", ASIAN},  {"fat_kg", FAT},           {"muscle_kg", MUSCLE}};
    for (int i = 0; i < SUP_COUNT(known); i++)
        if (sup_word_is(name, known[i].text)) return known[i].column;
    return OTHER;
}

static sup_result read_columns(sup_text_cursor *cursor, column *columns, int32_t *count, sup_error *error)
{
    sup_word line = sup_text_rest(cursor), field;
    int seen = 0;
    *count = 0;
    while (next_field(&line, &field)) {
        if (*count == MAX_COLUMNS)
            return sup_text_fail(cursor, error, "shapes.columns", "There are more than %d columns.", MAX_COLUMNS);
        column c = column_of(field);
        if (c != OTHER) seen |= 1 << c;
        columns[(*count)++] = c;
    }
    int needed = 1 << SEX | 1 << AGE | 1 << HEIGHT | 1 << MASS;
    if ((seen & needed) != needed)
        return sup_text_fail(cursor, error, "shapes.columns",
                             "The columns sex, age_years, height_m and mass_kg must be named in the first line.");
    return SUP_OK;
}

static bool set_value(sup_person *person, column c, sup_word field)
{
    double value = 0.0;
    if (c == SEX) {
        person->sex = sup_word_is(field, "male")     ? SUP_SEX_MALE
                      : sup_word_is(field, "female") ? SUP_SEX_FEMALE
                                                     : SUP_SEX_UNKNOWN;
        return true;
    }
    const char *end = sup_parse_double(field.text, field.text + field.length, &value);
    if (end != field.text + field.length || !isfinite(value)) return false;
    double *fields[OTHER] = {
        [AGE] = &person->age,     [HEIGHT] = &person->height, [MASS] = &person->weight,  [AFRICAN] = &person->african,
        [ASIAN] = &person->asian, [FAT] = &person->fat,       [MUSCLE] = &person->muscle};
    *fields[c] = value;
    return true;
}

static sup_result read_person(sup_text_cursor *cursor, const column *columns, int32_t count, sup_person *person,
                              sup_error *error)
{
    sup_word line = sup_text_rest(cursor), field;
    int32_t at = 0;
    *person = (sup_person){0};
    for (; at < count && next_field(&line, &field); at++)
        if (columns[at] != OTHER && !set_value(person, columns[at], field))
            return sup_text_fail(cursor, error, "shapes.value", "Column %d is not a number.", (int)at + 1);
    if (at < count)
        return sup_text_fail(cursor, error, "shapes.value", "The line has %d of %d columns.", (int)at, (int)count);
    return SUP_OK;
}

sup_result sup_shapes_read_persons(const char *where, sup_bytes text, int32_t count, sup_arena *arena,
                                   const sup_person **persons, sup_error *error)
{
    sup_text_cursor cursor = sup_text_open(text, where, 0);
    column columns[MAX_COLUMNS] = {SEX};
    int32_t column_count = 0;
    if (!sup_text_skip_to_word(&cursor))
        return sup_fail(error, SUP_ERROR_FORMAT, "shapes.columns", where, "The file is empty.");
    sup_result result = read_columns(&cursor, columns, &column_count, error);
    if (result != SUP_OK) return result;
    if (sup_text_remaining(&cursor) / 2 < (size_t)count) /* a line has at least 2 bytes: bounds the allocation */
        return sup_fail(error, SUP_ERROR_FORMAT, "shapes.lines", where,
                        "The file has fewer than %d lines, one per body.", (int)count);
    sup_person *list = sup_arena_alloc(arena, (size_t)count, sizeof *list);
    if (list == NULL) return sup_fail_memory(error, "the shapes");
    for (int32_t b = 0; b < count && result == SUP_OK; b++) {
        if (!sup_text_skip_to_word(&cursor))
            return sup_fail(error, SUP_ERROR_FORMAT, "shapes.lines", where,
                            "The file has %d lines, but the header declares %d bodies.", (int)b, (int)count);
        result = read_person(&cursor, columns, column_count, &list[b], error);
    }
    if (result == SUP_OK) *persons = list;
    return result;
}

/* --- The folder --- */

typedef struct folder {
    const char *path;
    sup_context context;
    struct sup_shapes_storage *storage;
    sup_shapes_header header;
    sup_shapes *shapes;
} folder;

typedef sup_result folder_fn(folder *f, const char *where, sup_bytes bytes, sup_error *error);

/* Reads a file of the folder and passes it to `fn`. */
static sup_result with_file(folder *f, const char *name, folder_fn *fn, sup_error *error)
{
    char path[4096];
    if (sup_format(path, sizeof path, "%s/%s", f->path, name) >= sizeof path)
        return sup_fail(error, SUP_ERROR_ARGUMENT, "shapes.path", f->path, "The path is too long.");
    void *data = NULL;
    size_t size = 0;
    sup_result result = sup_file_read(path, &f->context.allocator, &data, &size, error);
    if (result != SUP_OK) return result;
    result = fn(f, path, (sup_bytes){data, size}, error);
    sup_free(&f->context.allocator, data, size + 1);
    return result;
}

static sup_result header_file(folder *f, const char *where, sup_bytes bytes, sup_error *error)
{
    return sup_shapes_read_header(&f->context.allocator, where, bytes, NULL, &f->storage->arena, &f->header, error);
}

static sup_result persons_file(folder *f, const char *where, sup_bytes bytes, sup_error *error)
{
    return sup_shapes_read_persons(where, bytes, f->header.body_count, &f->storage->arena, &f->shapes->persons, error);
}

static sup_result check_size(const char *where, sup_bytes bytes, uint64_t expected, sup_error *error)
{
    if (bytes.size == expected) return SUP_OK;
    return sup_fail(error, SUP_ERROR_FORMAT, "shapes.size", where,
                    "The file has %llu bytes, but its size from the header is %llu.", (unsigned long long)bytes.size,
                    (unsigned long long)expected);
}

static uint32_t little16(const unsigned char *p)
{
    return (uint32_t)p[0] | (uint32_t)p[1] << 8;
}

static sup_result positions_file(folder *f, const char *where, sup_bytes bytes, sup_error *error)
{
    size_t count = 3 * (size_t)f->header.body_count * (size_t)f->header.vertex_count;
    sup_result result = check_size(where, bytes, 2 * (uint64_t)count, error);
    if (result != SUP_OK) return result;
    float *positions = sup_arena_alloc(&f->storage->arena, count, sizeof *positions);
    if (positions == NULL) return sup_fail_memory(error, "the shapes");
    const unsigned char *data = bytes.data;
    for (size_t i = 0; i < count; i++)
        positions[i] = (float)(f->header.offset[i % 3] + f->header.scale * (double)(int16_t)little16(data + 2 * i));
    f->shapes->positions = positions;
    return SUP_OK;
}

static sup_result triangles_file(folder *f, const char *where, sup_bytes bytes, sup_error *error)
{
    size_t count = 3 * (size_t)f->header.triangle_count;
    sup_result result = check_size(where, bytes, 2 * (uint64_t)count, error);
    if (result != SUP_OK) return result;
    int32_t *triangles = sup_arena_alloc(&f->storage->arena, count, sizeof *triangles);
    if (triangles == NULL) return sup_fail_memory(error, "the shapes");
    const unsigned char *data = bytes.data;
    for (size_t i = 0; i < count; i++) {
        triangles[i] = (int32_t)little16(data + 2 * i);
        if (triangles[i] >= f->header.vertex_count)
            return sup_fail(error, SUP_ERROR_FORMAT, "shapes.triangles", where,
                            "A triangle refers to a vertex that does not exist.");
    }
    f->shapes->triangles = triangles;
    return SUP_OK;
}

static sup_result joints_file(folder *f, const char *where, sup_bytes bytes, sup_error *error)
{
    size_t count = 3 * (size_t)f->header.body_count * (size_t)f->header.joint_count;
    sup_result result = check_size(where, bytes, 4 * (uint64_t)count, error);
    if (result != SUP_OK) return result;
    float *joints = sup_arena_alloc(&f->storage->arena, count, sizeof *joints);
    if (joints == NULL) return sup_fail_memory(error, "the shapes");
    const unsigned char *data = bytes.data;
    for (size_t i = 0; i < count; i++) {
        uint32_t bits = little16(data + 4 * i) | little16(data + 4 * i + 2) << 16;
        memcpy(&joints[i], &bits, sizeof bits);
        if (!isfinite(joints[i]))
            return sup_fail(error, SUP_ERROR_FORMAT, "shapes.joints", where, "A joint position is not finite.");
    }
    f->shapes->joints = joints;
    return SUP_OK;
}

static sup_result read_folder(folder *f, sup_error *error)
{
    char name[160];
    sup_result result = with_file(f, "header.json", header_file, error);
    if (result == SUP_OK) result = with_file(f, "params.csv", persons_file, error);
    if (result == SUP_OK) result = with_file(f, "positions_i16.bin", positions_file, error);
    if (result == SUP_OK) result = with_file(f, "triangles_u16.bin", triangles_file, error);
    if (result != SUP_OK) return result;
    sup_format(name, sizeof name, "joints_%s_f32.bin", f->header.skeleton);
    for (char *c = name; *c != '\0'; c++)
        if (*c == '/' || *c == '\\') *c = '_'; /* a name must not be a path */
    result = with_file(f, name, joints_file, error);
    f->shapes->body_count = f->header.body_count;
    f->shapes->vertex_count = f->header.vertex_count;
    f->shapes->triangle_count = f->header.triangle_count;
    f->shapes->joint_count = f->header.joint_count;
    f->shapes->joint_names = f->header.joint_names;
    f->shapes->parents = f->header.parents;
    return result;
}

sup_result sup_shapes_load(const sup_context *context, const char *path, sup_shapes **shapes, sup_error *error)
{
    if (path == NULL || shapes == NULL)
        return sup_fail(error, SUP_ERROR_ARGUMENT, "argument.null", "",
                        "sup_shapes_load: path and shapes must not be NULL.");
    folder f = {.path = path, .context = sup_context_resolve(context)};
    f.storage = sup_alloc_zero(&f.context.allocator, sizeof *f.storage);
    if (f.storage == NULL) return sup_fail_memory(error, "the shapes");
    f.storage->allocator = f.context.allocator;
    f.storage->arena = sup_arena_create(&f.context.allocator);
    f.shapes = sup_arena_alloc(&f.storage->arena, 1, sizeof *f.shapes);
    sup_result result = f.shapes == NULL ? sup_fail_memory(error, "the shapes") : read_folder(&f, error);
    if (result != SUP_OK) {
        sup_arena_destroy(&f.storage->arena);
        sup_free(&f.context.allocator, f.storage, sizeof *f.storage);
        return result;
    }
    f.shapes->storage = f.storage;
    *shapes = f.shapes;
    return SUP_OK;
}

void sup_shapes_destroy(sup_shapes *shapes)
{
    if (shapes == NULL) return;
    struct sup_shapes_storage *storage = shapes->storage;
    sup_allocator allocator = storage->allocator;
    sup_arena_destroy(&storage->arena);
    sup_free(&allocator, storage, sizeof *storage);
}

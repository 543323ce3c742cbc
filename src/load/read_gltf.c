/* read_gltf.c - the glTF 2.0 reader: the stages in order, and the helpers they share. */
#include "load/read_gltf.h"

#include "load/file.h"

/* Memory budget of the reader: this factor of the file size plus this constant. Enough for many instances of a mesh and
 * for sparse or compressed data; a bound for malicious files. */
enum { ALLOWED_FACTOR = 128, ALLOWED_EXTRA = 16 << 20 };

sup_result sup_gltf_fail(sup_gltf *g, sup_result result, const char *id, const char *format, ...)
{
    char message[sizeof(g->error->message)];
    va_list args;
    va_start(args, format);
    sup_format_v(message, sizeof message, format, args);
    va_end(args);
    return sup_fail(g->error, result, id, g->input->name, "%s", message);
}

sup_result sup_gltf_charge(sup_gltf *g, size_t count, size_t size)
{
    size_t bytes = sup_size_multiply(count, size);
    size_t allowed = sup_size_multiply(g->bytes_read, ALLOWED_FACTOR);
    allowed = allowed > SIZE_MAX - ALLOWED_EXTRA ? SIZE_MAX : allowed + ALLOWED_EXTRA;
    if (bytes > allowed - g->charged)
        return sup_gltf_fail(
            g, SUP_ERROR_FORMAT, "gltf.size",
            "The counts in the file require far more memory than its %zu bytes can justify: the file is damaged.",
            g->bytes_read);
    g->charged += bytes;
    return SUP_OK;
}

void *sup_gltf_alloc(sup_gltf *g, sup_arena *arena, size_t count, size_t size)
{
    if (sup_gltf_charge(g, count, size) != SUP_OK) return NULL;
    void *memory = sup_arena_alloc(arena, count, size);
    if (memory == NULL) sup_fail_memory(g->error, g->input->name);
    return memory;
}

const char *sup_gltf_name(sup_gltf *g, const sup_json *name)
{
    size_t size = sup_json_is(name, SUP_JSON_STRING) ? name->count : 0;
    char *copy = sup_gltf_alloc(g, g->arena, size + 1, 1);
    if (copy != NULL && size > 0) memcpy(copy, name->of.text, size);
    return copy;
}

sup_result sup_gltf_list(sup_gltf *g, const sup_json *object, const char *key, const sup_json **list)
{
    *list = sup_json_get(object, key);
    if (*list != NULL && !sup_json_is(*list, SUP_JSON_ARRAY))
        return sup_gltf_fail(g, SUP_ERROR_FORMAT, "gltf.list", "\"%s\" must be an array.", key);
    return SUP_OK;
}

sup_result sup_gltf_object(sup_gltf *g, const sup_json *list, int32_t index, const char *kind, const sup_json **object)
{
    *object = sup_json_at(list, index);
    if (!sup_json_is(*object, SUP_JSON_OBJECT))
        return sup_gltf_fail(g, SUP_ERROR_FORMAT, "gltf.object", "Expected a JSON object: %s %d.", kind, index);
    return SUP_OK;
}

sup_result sup_gltf_index(sup_gltf *g, const sup_json *object, const char *key, const char *what, int32_t limit,
                          const char *kind, int32_t number, int32_t *index)
{
    const sup_json *value = sup_json_get(object, key);
    int64_t read = -1;
    *index = -1;
    if (value == NULL) return SUP_OK;
    if (!sup_json_integer(value, &read))
        return sup_gltf_fail(g, SUP_ERROR_FORMAT, "gltf.index", "\"%s\" of %s %d must be the index of a %s.", key, kind,
                             number, what);
    if (read < 0 || read >= limit)
        return sup_gltf_fail(g, SUP_ERROR_FORMAT, "gltf.index",
                             "\"%s\" of %s %d refers to %s %lld, but the file has only %d.", key, kind, number, what,
                             (long long)read, limit);
    *index = (int32_t)read;
    return SUP_OK;
}

sup_result sup_gltf_size(sup_gltf *g, const sup_json *object, const char *key, int64_t default_value, int64_t limit,
                         const char *kind, int32_t number, int64_t *value)
{
    const sup_json *member = sup_json_get(object, key);
    int64_t read = default_value;
    if (member == NULL && default_value < 0)
        return sup_gltf_fail(g, SUP_ERROR_FORMAT, "gltf.number", "\"%s\" of %s %d is missing.", key, kind, number);
    if (member != NULL && !sup_json_integer(member, &read)) read = -1;
    if (read < 0)
        return sup_gltf_fail(g, SUP_ERROR_FORMAT, "gltf.number", "\"%s\" of %s %d must be a non-negative integer.", key,
                             kind, number);
    if (read > limit)
        return sup_gltf_fail(g, SUP_ERROR_FORMAT, "gltf.number", "\"%s\" of %s %d is %lld; the maximum is %lld.", key,
                             kind, number, (long long)read, (long long)limit);
    *value = read;
    return SUP_OK;
}

sup_result sup_gltf_numbers(sup_gltf *g, const sup_json *object, const char *key, int32_t count, const char *kind,
                            int32_t number, double *values, bool *found)
{
    const sup_json *list = sup_json_get(object, key);
    *found = list != NULL;
    if (list == NULL) return SUP_OK;
    bool good = sup_json_is(list, SUP_JSON_ARRAY) && sup_json_count(list) == count;
    for (int32_t i = 0; good && i < count; i++)
        good = sup_json_double(sup_json_at(list, i), &values[i]);
    if (good) return SUP_OK;
    return sup_gltf_fail(g, SUP_ERROR_FORMAT, "gltf.numbers", "\"%s\" of %s %d must be %d numbers.", key, kind, number,
                         count);
}

/* asset.extras as JSON text. */
static sup_result read_extras(sup_gltf *g)
{
    const sup_json *extras = sup_json_get(sup_json_get(g->root, "asset"), "extras");
    sup_array text = {.item_size = 1};
    if (extras == NULL) return SUP_OK;
    sup_result result = SUP_OK;
    char *copy = NULL;
    if (!sup_json_write(extras, &g->input->context->allocator, &text))
        result = sup_fail_memory(g->error, g->input->name);
    else if ((copy = sup_gltf_alloc(g, g->arena, text.count + 1, 1)) == NULL)
        result = g->error->result;
    else
        memcpy(copy, text.data, text.count);
    sup_array_free(&g->input->context->allocator, &text);
    g->character->extras = copy;
    return result;
}

static sup_result check_version(sup_gltf *g)
{
    const sup_json *asset = sup_json_get(g->root, "asset");
    const char *version = sup_json_text(sup_json_get(asset, "version"));
    const char *minimum = sup_json_text(sup_json_get(asset, "minVersion"));
    if (version == NULL)
        return sup_gltf_fail(g, SUP_ERROR_FORMAT, "gltf.asset",
                             "The JSON text has no asset version: this is not a glTF file.");
    if (version[0] != '2' || version[1] != '.')
        return sup_gltf_fail(g, SUP_ERROR_UNSUPPORTED, "gltf.version",
                             "The file is glTF version %.20s; only version 2.0 is supported. Export it as glTF 2.0.",
                             version);
    if (minimum != NULL && strcmp(minimum, "2.0") != 0)
        return sup_gltf_fail(g, SUP_ERROR_UNSUPPORTED, "gltf.version",
                             "The file requires glTF %.20s; only version 2.0 is supported. Export it as glTF 2.0.",
                             minimum);
    return SUP_OK;
}

/* Whether a required extension is supported or does not affect the data that is read. Entries that end in '_' match all
 * extensions with that prefix: materials, textures and lights are passed through unchanged. */
static bool extension_known(const char *name)
{
    static const char *const known[] = {
        "KHR_mesh_quantization",
        "EXT_meshopt_compression",
        "KHR_meshopt_compression",
        "KHR_materials_",
        "KHR_texture_",
        "EXT_texture_",
        "MSFT_texture_",
        "EXT_materials_",
        "KHR_lights_",
        "EXT_lights_",
        "KHR_xmp",
        "KHR_xmp_",
        "KHR_animation_pointer",
        "KHR_node_visibility",
        "KHR_techniques_webgl",
        "VRM",
        "VRMC_",
    };
    for (int32_t i = 0; i < SUP_COUNT(known); i++) {
        size_t size = strlen(known[i]);
        if (known[i][size - 1] == '_' ? strncmp(name, known[i], size) == 0 : strcmp(name, known[i]) == 0) return true;
    }
    return false;
}

static sup_result check_extensions(sup_gltf *g)
{
    const sup_json *required;
    sup_result result = sup_gltf_list(g, g->root, "extensionsRequired", &required);
    if (result != SUP_OK) return result;
    for (int32_t i = 0; i < sup_json_count(required); i++) {
        const char *name = sup_json_text(sup_json_at(required, i));
        if (name == NULL)
            return sup_gltf_fail(g, SUP_ERROR_FORMAT, "gltf.extension",
                                 "\"extensionsRequired\" must be an array of names.");
        if (extension_known(name)) continue;
        if (strcmp(name, "KHR_draco_mesh_compression") == 0)
            return sup_gltf_fail(g, SUP_ERROR_UNSUPPORTED, "gltf.extension.draco",
                                 "The file requires KHR_draco_mesh_compression, which is not supported: convert it "
                                 "without Draco compression, for example with gltf-transform.");
        return sup_gltf_fail(
            g, SUP_ERROR_UNSUPPORTED, "gltf.extension",
            "The file requires the extension %.60s, which is not supported: export it without that extension.", name);
    }
    return SUP_OK;
}

/* A file with nodes but without meshes and skins is a skeleton: all its nodes are joints. */
static void mark_bare_skeleton(sup_character *character)
{
    if (character->skin_count > 0 || character->primitive_count > 0) return;
    for (int32_t i = 0; i < character->node_count; i++)
        ((sup_node *)&character->nodes[i])->is_joint = true;
}

static sup_result read_stages(sup_gltf *g)
{
    sup_result result = sup_gltf_open_container(g);
    if (result == SUP_OK) result = sup_json_parse(&g->tree, g->input->name, g->json, g->error);
    if (result != SUP_OK) return result;
    g->root = g->tree.root;
    if (!sup_json_is(g->root, SUP_JSON_OBJECT))
        return sup_gltf_fail(g, SUP_ERROR_FORMAT, "gltf.root",
                             "The JSON root is not an object: this is not a glTF file.");
    g->character->name = sup_path_stem(g->arena, g->input->name);
    g->character->unit_metres = 1.0f;
    result = check_version(g);
    if (result == SUP_OK) result = check_extensions(g);
    if (result == SUP_OK) result = sup_gltf_read_buffers(g);
    if (result == SUP_OK) result = sup_gltf_list(g, g->root, "accessors", &g->accessors);
    if (result == SUP_OK) result = sup_gltf_list(g, g->root, "meshes", &g->meshes);
    if (result != SUP_OK) return result;
    g->floats = sup_gltf_alloc(g, &g->scratch, (size_t)sup_json_count(g->accessors), sizeof *g->floats);
    g->opened = sup_gltf_alloc(g, &g->scratch, (size_t)sup_json_count(g->accessors), sizeof *g->opened);
    if (g->floats == NULL || g->opened == NULL) return g->error->result;
    result = sup_gltf_read_scene(g);
    if (result == SUP_OK) result = sup_gltf_read_meshes(g);
    if (result == SUP_OK) result = sup_gltf_read_morphs(g);
    if (result == SUP_OK) result = sup_gltf_read_animations(g);
    if (result == SUP_OK) result = read_extras(g);
    if (result != SUP_OK) return result;
    mark_bare_skeleton(g->character);
    return sup_character_finish(g->character, g->input->name, g->error);
}

sup_result sup_read_gltf(const sup_read_input *input, sup_character **character, sup_error *error)
{
    sup_error unwanted;
    sup_gltf g = {.input = input, .error = error != NULL ? error : &unwanted, .bytes_read = input->bytes.size};
    g.character = sup_character_begin(input->context);
    if (g.character == NULL) return sup_fail_memory(error, input->name);
    g.arena = sup_character_arena(g.character);
    g.scratch = sup_arena_create(&input->context->allocator);
    g.tree = sup_json_tree_create(&input->context->allocator);
    sup_result result = read_stages(&g);
    sup_json_tree_destroy(&g.tree);
    sup_arena_destroy(&g.scratch);
    if (result == SUP_OK)
        *character = g.character;
    else
        sup_character_destroy(g.character);
    return result;
}

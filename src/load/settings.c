/* settings.c - reads a method, its parameters and its painted maps from JSON, as saved by Supple Studio. */
#include "load/file.h"
#include "load/json.h"

#include <math.h>

enum { VALUE_LIMIT = 64 }; /* maximum bytes of a value as text */

/* The settings and their allocator, in one memory block. */
typedef struct owned_settings {
    sup_settings settings; /* first: the public pointer is the address of the block */
    sup_allocator allocator;
    sup_arena arena;
} owned_settings;

/* Formats a number, a boolean or a string for sup_method_set; false for other types. */
static bool value_text(const sup_json *value, char text[VALUE_LIMIT])
{
    if (sup_json_is(value, SUP_JSON_BOOL)) {
        memcpy(text, value->boolean ? "on" : "off", value->boolean ? 3 : 4);
        return true;
    }
    if (!sup_json_is(value, SUP_JSON_NUMBER) && !sup_json_is(value, SUP_JSON_STRING)) return false;
    if (value->count >= VALUE_LIMIT) return false;
    memcpy(text, value->of.text, value->count);
    text[value->count] = '\0';
    return strlen(text) == value->count;
}

static sup_result read_value(const char *name, const sup_method *method, const sup_json *value, double *values,
                             sup_error *error)
{
    char text[VALUE_LIMIT];
    sup_error inner = {0};
    if (strlen(value->key) != value->key_size || !value_text(value, text))
        return sup_fail(error, SUP_ERROR_FORMAT, "settings.value", name,
                        "The setting \"%.60s\" must be a number, true, false or a short string.", value->key);
    if (sup_method_set(method, values, value->key, text, &inner) == SUP_OK) return SUP_OK;
    return sup_fail(error, SUP_ERROR_UNSUPPORTED, "settings.value", name, "%s", inner.message);
}

static sup_result read_method(const char *name, const sup_json *root, owned_settings *owned, sup_error *error)
{
    const sup_json *method_name = sup_json_get(root, "method"), *settings = sup_json_get(root, "settings");
    if (!sup_json_is(method_name, SUP_JSON_STRING))
        return sup_fail(error, SUP_ERROR_FORMAT, "settings.method", name,
                        "\"method\" is missing: expected {\"method\": NAME, \"settings\": {...}}.");
    if (settings != NULL && !sup_json_is(settings, SUP_JSON_OBJECT))
        return sup_fail(error, SUP_ERROR_FORMAT, "settings.object", name,
                        "\"settings\" must be an object of names and values, {\"name\": value, ...}.");
    const sup_method *found = sup_method_find(sup_json_text(method_name));
    if (found == NULL)
        return sup_fail(error, SUP_ERROR_UNSUPPORTED, "settings.method", name, "There is no method \"%.60s\".",
                        sup_json_text(method_name));
    double *values = sup_arena_alloc(&owned->arena, (size_t)found->param_count, sizeof *values);
    if (values == NULL) return sup_fail_memory(error, "the settings");
    sup_method_defaults(found, values);
    owned->settings.method = found;
    owned->settings.values = values;
    sup_result result = SUP_OK;
    for (uint32_t i = 0; settings != NULL && result == SUP_OK && i < settings->count; i++)
        result = read_value(name, found, settings->of.items[i], values, error);
    return result;
}

/* The numbers of one map. */
static sup_result read_paint(const char *name, const sup_map *map, const sup_json *numbers, owned_settings *owned,
                             sup_paint *paint, sup_error *error)
{
    int32_t count = sup_json_count(numbers);
    if (!sup_json_is(numbers, SUP_JSON_ARRAY) || count == 0 ||
        (owned->settings.vertex_count != 0 && count != owned->settings.vertex_count))
        return sup_fail(
            error, SUP_ERROR_FORMAT, "settings.paint", name,
            "The paint \"%s\" must be an array with one number per vertex; all paints must have the same length.",
            map->name);
    float *values = sup_arena_alloc(&owned->arena, (size_t)count, sizeof *values);
    if (values == NULL) return sup_fail_memory(error, "the paint");
    for (int32_t i = 0; i < count; i++) {
        double value = 0.0;
        if (!sup_json_double(sup_json_at(numbers, i), &value) || !(value >= (double)map->minimum) ||
            !(value <= (double)map->maximum))
            return sup_fail(error, SUP_ERROR_FORMAT, "settings.paint", name,
                            "Number %d of the paint \"%s\" must be in [%g, %g].", i, map->name, (double)map->minimum,
                            (double)map->maximum);
        values[i] = fminf(fmaxf((float)value, map->minimum), map->maximum);
    }
    owned->settings.vertex_count = count;
    *paint = (sup_paint){map->name, values};
    return SUP_OK;
}

static sup_result read_paints(const char *name, const sup_json *root, owned_settings *owned, sup_error *error)
{
    const sup_json *given = sup_json_get(root, "paints");
    const sup_method *method = owned->settings.method;
    if (given == NULL) return SUP_OK;
    if (!sup_json_is(given, SUP_JSON_OBJECT))
        return sup_fail(error, SUP_ERROR_FORMAT, "settings.paint", name,
                        "\"paints\" must be an object of maps and numbers, {\"name\": [...], ...}.");
    sup_paint *paints = sup_arena_alloc(&owned->arena, (size_t)method->map_count + 1, sizeof *paints);
    if (paints == NULL) return sup_fail_memory(error, "the paint");
    owned->settings.paints = paints;
    for (uint32_t i = 0; i < given->count;
         i++) { /* every name must be a map of the method; of duplicate names the last is used */
        const sup_json *one = given->of.items[i];
        int32_t m = 0;
        while (m < method->map_count && strcmp(method->maps[m].name, one->key) != 0)
            m++;
        if (m == method->map_count || strlen(one->key) != one->key_size)
            return sup_fail(error, SUP_ERROR_UNSUPPORTED, "settings.paint", name, "The method %s has no map \"%.60s\".",
                            method->name, one->key);
    }
    sup_result result = SUP_OK;
    for (int32_t m = 0; result == SUP_OK && m < method->map_count; m++) {
        const sup_json *numbers = sup_json_get(given, method->maps[m].name);
        if (numbers == NULL) continue;
        result = read_paint(name, &method->maps[m], numbers, owned, &paints[owned->settings.paint_count], error);
        if (result == SUP_OK) owned->settings.paint_count++;
    }
    return result;
}

sup_result sup_settings_load_memory(const sup_context *context, const char *name, sup_bytes bytes,
                                    sup_settings **settings, sup_error *error)
{
    if (name == NULL || settings == NULL)
        return sup_fail(error, SUP_ERROR_ARGUMENT, "argument.null", "",
                        "sup_settings_load_memory: name and settings must not be NULL.");
    sup_context resolved = sup_context_resolve(context);
    owned_settings *owned = sup_alloc_zero(&resolved.allocator, sizeof *owned);
    if (owned == NULL) return sup_fail_memory(error, "the settings");
    owned->allocator = resolved.allocator;
    owned->arena = sup_arena_create(&resolved.allocator);
    sup_json_tree tree = sup_json_tree_create(&resolved.allocator);
    sup_result result = sup_json_parse(&tree, name, bytes, error);
    if (result == SUP_OK) result = read_method(name, tree.root, owned, error);
    if (result == SUP_OK) result = read_paints(name, tree.root, owned, error);
    sup_json_tree_destroy(&tree);
    if (result == SUP_OK)
        *settings = &owned->settings;
    else
        sup_settings_destroy(&owned->settings);
    return result;
}

sup_result sup_settings_load(const sup_context *context, const char *path, sup_settings **settings, sup_error *error)
{
    if (path == NULL)
        return sup_fail(error, SUP_ERROR_ARGUMENT, "argument.null", "", "sup_settings_load: path must not be NULL.");
    sup_context resolved = sup_context_resolve(context);
    void *data;
    size_t size;
    sup_result result = sup_file_read(path, &resolved.allocator, &data, &size, error);
    if (result != SUP_OK) return result;
    result = sup_settings_load_memory(context, path, (sup_bytes){data, size}, settings, error);
    sup_free(&resolved.allocator, data, size + 1);
    return result;
}

void sup_settings_destroy(sup_settings *settings)
{
    if (settings == NULL) return;
    owned_settings *owned = (owned_settings *)settings;
    sup_allocator allocator = owned->allocator;
    sup_arena_destroy(&owned->arena);
    sup_free(&allocator, owned, sizeof *owned);
}

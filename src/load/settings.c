/* settings.c - a method and its parameters from JSON, as Supple Studio saves them. */
#include "load/file.h"
#include "load/json.h"

enum { VALUE_LIMIT = 64 }; /* bytes of a value as text */

/* What sup_method_set reads, of a number, a boolean or a string; false for anything else. */
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
                        "The setting \"%.60s\" is not a number, true, false or a short text.", value->key);
    if (sup_method_set(method, values, value->key, text, &inner) == SUP_OK) return SUP_OK;
    return sup_fail(error, SUP_ERROR_UNSUPPORTED, "settings.value", name, "%s", inner.message);
}

static sup_result read_tree(const char *name, const sup_json *root, const sup_method **method, double *values,
                            int32_t capacity, sup_error *error)
{
    const sup_json *wanted = sup_json_get(root, "method"), *settings = sup_json_get(root, "settings");
    if (!sup_json_is(wanted, SUP_JSON_STRING))
        return sup_fail(error, SUP_ERROR_FORMAT, "settings.method", name,
                        "Expected {\"method\": NAME, \"settings\": {...}}; there is no method.");
    if (settings != NULL && !sup_json_is(settings, SUP_JSON_OBJECT))
        return sup_fail(error, SUP_ERROR_FORMAT, "settings.object", name,
                        "\"settings\" must hold names and values, {\"name\": value, ...}.");
    const sup_method *found = sup_method_find(sup_json_text(wanted));
    if (found == NULL)
        return sup_fail(error, SUP_ERROR_UNSUPPORTED, "settings.method", name, "There is no method \"%.60s\".",
                        sup_json_text(wanted));
    if (found->param_count > capacity)
        return sup_fail(error, SUP_ERROR_ARGUMENT, "settings.capacity", name,
                        "The method \"%s\" has %d parameters, and there is room for %d.", found->name,
                        (int)found->param_count, (int)capacity);
    sup_method_defaults(found, values);
    sup_result result = SUP_OK;
    for (uint32_t i = 0; settings != NULL && result == SUP_OK && i < settings->count; i++)
        result = read_value(name, found, settings->of.items[i], values, error);
    if (result == SUP_OK) *method = found;
    return result;
}

sup_result sup_settings_load_memory(const sup_context *context, const char *name, sup_bytes bytes,
                                    const sup_method **method, double *values, int32_t capacity, sup_error *error)
{
    if (name == NULL || method == NULL || values == NULL)
        return sup_fail(error, SUP_ERROR_ARGUMENT, "argument.null", "",
                        "Settings need a name, and places for the method and its values.");
    sup_context resolved = sup_context_resolve(context);
    sup_json_tree tree = sup_json_tree_create(&resolved.allocator);
    sup_result result = sup_json_parse(&tree, name, bytes, error);
    if (result == SUP_OK) result = read_tree(name, tree.root, method, values, capacity, error);
    sup_json_tree_destroy(&tree);
    return result;
}

sup_result sup_settings_load(const sup_context *context, const char *path, const sup_method **method, double *values,
                             int32_t capacity, sup_error *error)
{
    if (path == NULL) return sup_fail(error, SUP_ERROR_ARGUMENT, "argument.null", "", "Settings need a path.");
    sup_context resolved = sup_context_resolve(context);
    void *data;
    size_t size;
    sup_result result = sup_file_read(path, &resolved.allocator, &data, &size, error);
    if (result != SUP_OK) return result;
    result = sup_settings_load_memory(context, path, (sup_bytes){data, size}, method, values, capacity, error);
    sup_free(&resolved.allocator, data, size + 1);
    return result;
}

/* composition_file.c - a composition from a file; everything in it is checked by sup_composition_read. */
#include "load/file.h"
#include "supple/anatomy.h"

sup_result sup_composition_load(const sup_context *context, const char *path, sup_composition **composition,
                                sup_error *error)
{
    if (path == NULL || composition == NULL)
        return sup_fail(error, SUP_ERROR_ARGUMENT, "argument.null", "",
                        "sup_composition_load needs a path and a place for the composition.");
    sup_context resolved = sup_context_resolve(context);
    sup_error found = {0};
    void *data = NULL;
    size_t size = 0;
    sup_result result = sup_file_read(path, &resolved.allocator, &data, &size, error);
    if (result != SUP_OK) return result;
    result = sup_composition_read(context, (sup_bytes){data, size}, composition, &found);
    sup_free(&resolved.allocator, data, size + 1);
    if (result == SUP_OK) return SUP_OK;
    sup_format(found.where, sizeof found.where, "%s", path);
    if (error != NULL) *error = found;
    return result;
}

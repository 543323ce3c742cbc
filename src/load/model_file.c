/* model_file.c - a model from a file; everything in it is checked by sup_model_load. */
#include "load/file.h"

sup_result sup_model_load_file(const sup_context *context, const char *path, sup_model **model, sup_error *error)
{
    if (path == NULL || model == NULL)
        return sup_fail(error, SUP_ERROR_ARGUMENT, "argument.null", "",
                        "sup_model_load_file needs a path and a place for the model.");
    sup_context resolved = sup_context_resolve(context);
    sup_error found = {0};
    void *data = NULL;
    size_t size = 0;
    sup_result result = sup_file_read(path, &resolved.allocator, &data, &size, error);
    if (result != SUP_OK) return result;
    result = sup_model_load(context, (sup_bytes){data, size}, model, &found);
    sup_free(&resolved.allocator, data, size + 1);
    if (result == SUP_OK) return SUP_OK;
    /* The block does not know what file it came from. */
    if (found.where[0] == '\0') sup_format(found.where, sizeof found.where, "%s", path);
    if (error != NULL) *error = found;
    return result;
}

/* anatomy_file.c - a template from a file; everything in it is checked by sup_anatomy_read. */
#include "load/file.h"
#include "supple/anatomy.h"

sup_result sup_anatomy_load(const sup_context *context, const char *path, sup_anatomy **anatomy, sup_error *error)
{
    if (path == NULL || anatomy == NULL)
        return sup_fail(error, SUP_ERROR_ARGUMENT, "argument.null", "", "A path and a place are needed.");
    sup_context resolved = sup_context_resolve(context);
    sup_error found = {0};
    void *data = NULL;
    size_t size = 0;
    sup_result result = sup_file_read(path, &resolved.allocator, &data, &size, error);
    if (result != SUP_OK) return result;
    result = sup_anatomy_read(context, (sup_bytes){data, size}, anatomy, &found);
    sup_free(&resolved.allocator, data, size + 1);
    if (result == SUP_OK) return SUP_OK;
    if (found.where[0] == '\0') sup_format(found.where, sizeof found.where, "%s", path);
    if (error != NULL) *error = found;
    return result;
}

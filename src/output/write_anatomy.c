/* write_anatomy.c - writes a template to a file, atomically. */
#include "output/file_out.h"
#include "supple/anatomy.h"

sup_result sup_anatomy_save(const sup_context *context, const sup_anatomy *anatomy, const char *path, sup_error *error)
{
    if (anatomy == NULL || path == NULL)
        return sup_fail(error, SUP_ERROR_ARGUMENT, "argument.null", "",
                        "sup_anatomy_save: anatomy and path must not be NULL.");
    sup_bytes bytes = {NULL, 0};
    sup_result result = sup_anatomy_write(context, anatomy, &bytes, error);
    if (result != SUP_OK) return result;
    result = sup_file_out_save(path, bytes, error);
    sup_anatomy_bytes_free(context, &bytes);
    return result;
}

/* write_composition.c - writes a composition to a file, atomically. */
#include "output/file_out.h"
#include "supple/anatomy.h"

sup_result sup_composition_save(const sup_context *context, const sup_composition *composition, const char *path,
                                sup_error *error)
{
    if (composition == NULL || path == NULL)
        return sup_fail(error, SUP_ERROR_ARGUMENT, "argument.null", "",
                        "sup_composition_save: composition and path must not be NULL.");
    sup_bytes bytes = {0};
    sup_result result = sup_composition_write(context, composition, &bytes, error);
    if (result != SUP_OK) return result;
    result = sup_file_out_save(path, bytes, error);
    sup_composition_bytes_free(context, &bytes);
    return result;
}

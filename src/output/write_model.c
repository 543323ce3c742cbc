/* write_model.c - writes a model's memory block to a file, atomically. */
#include "output/file_out.h"
#include "supple/output.h"

sup_result sup_model_save(const sup_model *model, const char *path, sup_error *error)
{
    if (model == NULL || path == NULL)
        return sup_fail(error, SUP_ERROR_ARGUMENT, "argument.null", "",
                        "sup_model_save: model and path must not be NULL.");
    return sup_file_out_save(path, sup_model_bytes(model), error);
}

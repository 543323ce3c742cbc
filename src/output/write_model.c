/* write_model.c - a model's block as a file: one copy, whole or not at all. */
#include "output/file_out.h"
#include "supple/output.h"

sup_result sup_model_save(const sup_model *model, const char *path, sup_error *error)
{
    if (model == NULL || path == NULL)
        return sup_fail(error, SUP_ERROR_ARGUMENT, "argument.null", "", "sup_model_save needs a model and a path.");
    return sup_file_out_whole(path, sup_model_bytes(model), error);
}

/* model_file.c - a model's block as a file: one copy, whole or not at all. */
#include "output/file_out.h"
#include "supple/output.h"

sup_result sup_model_save(const sup_model *model, const char *path, sup_error *error)
{
    if (model == NULL || path == NULL)
        return sup_fail(error, SUP_ERROR_ARGUMENT, "argument.null", "", "sup_model_save needs a model and a path.");
    sup_bytes bytes = sup_model_bytes(model);
    sup_file_out out;
    sup_result result = sup_file_out_open(&out, path, error);
    if (result == SUP_OK) result = sup_file_out_write(&out, bytes.data, bytes.size, error);
    return result == SUP_OK ? sup_file_out_commit(&out, error) : result;
}

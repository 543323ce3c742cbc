/* read_model.c - loads a model from a file; sup_model_load validates it. */
#include "load/file.h"

static sup_result read_model(const sup_context *context, sup_bytes bytes, void *result_out, sup_error *error)
{
    return sup_model_load(context, bytes, (sup_model **)result_out, error);
}

sup_result sup_model_load_file(const sup_context *context, const char *path, sup_model **model, sup_error *error)
{
    return sup_file_load(context, path, read_model, model, error);
}

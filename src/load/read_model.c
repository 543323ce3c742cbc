/* read_model.c - a model from a file; everything in it is checked by sup_model_load. */
#include "load/file.h"

static sup_result read_model(const sup_context *context, sup_bytes bytes, void *place, sup_error *error)
{
    return sup_model_load(context, bytes, (sup_model **)place, error);
}

sup_result sup_model_load_file(const sup_context *context, const char *path, sup_model **model, sup_error *error)
{
    return sup_file_load(context, path, read_model, model, error);
}

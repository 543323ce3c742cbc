/* read_anatomy.c - loads a template from a file; sup_anatomy_read validates it. */
#include "load/file.h"
#include "supple/anatomy.h"

static sup_result read_anatomy(const sup_context *context, sup_bytes bytes, void *result_out, sup_error *error)
{
    return sup_anatomy_read(context, bytes, (sup_anatomy **)result_out, error);
}

sup_result sup_anatomy_load(const sup_context *context, const char *path, sup_anatomy **anatomy, sup_error *error)
{
    return sup_file_load(context, path, read_anatomy, anatomy, error);
}

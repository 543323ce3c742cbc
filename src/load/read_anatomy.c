/* read_anatomy.c - reads a template from a file; sup_anatomy_read checks all of it. */
#include "load/file.h"
#include "supple/anatomy.h"

static sup_result read_anatomy(const sup_context *context, sup_bytes bytes, void *target, sup_error *error)
{
    return sup_anatomy_read(context, bytes, (sup_anatomy **)target, error);
}

sup_result sup_anatomy_load(const sup_context *context, const char *path, sup_anatomy **anatomy, sup_error *error)
{
    return sup_file_load(context, path, read_anatomy, anatomy, error);
}

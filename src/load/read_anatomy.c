/* read_anatomy.c - a template from a file; everything in it is checked by sup_anatomy_read. */
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

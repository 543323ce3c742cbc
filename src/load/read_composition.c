/* read_composition.c - loads a composition from a file; sup_composition_read validates it. */
#include "load/file.h"
#include "supple/anatomy.h"

static sup_result read_composition(const sup_context *context, sup_bytes bytes, void *result_out, sup_error *error)
{
    return sup_composition_read(context, bytes, (sup_composition **)result_out, error);
}

sup_result sup_composition_load(const sup_context *context, const char *path, sup_composition **composition,
                                sup_error *error)
{
    return sup_file_load(context, path, read_composition, composition, error);
}

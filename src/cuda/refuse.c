/* refuse.c - what the CPU steps and the device does not, by name. */
#include "cuda/refuse.h"

#include "base/base.h"

sup_result sup_crowd_accept(const sup_model *model, sup_crowd_kind *kind, sup_error *error)
{
    static const char *const names[] = {"linear", "dualquat", "projective"};
    const char *name = sup_model_method(model)->name;
    int32_t found = 0;
    while (found < SUP_COUNT(names) && strcmp(name, names[found]) != 0)
        found++;
    if (found == SUP_COUNT(names))
        return sup_fail(error, SUP_ERROR_UNSUPPORTED, "crowd.method", name,
                        "Method \"%s\" does not run on a GPU; linear, dualquat and projective do.", name);
    *kind = (sup_crowd_kind)found;
    return SUP_OK;
}

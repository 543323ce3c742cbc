/* crowd_support.c - which models the device can step, from the method table. */
#include "cuda/crowd_support.h"

#include "base/base.h"

void sup_crowd_list_methods(char *text, size_t size)
{
    size_t length = 0;
    if (size > 0) text[0] = '\0';
    for (int32_t i = 0; i < sup_method_count(); i++) {
        const sup_method *method = sup_method_at(i);
        if (method->device == SUP_METHOD_DEVICE_NONE || length >= size) continue;
        sup_format(text + length, size - length, "%s%s", length > 0 ? ", " : "", method->name);
        length = strlen(text);
    }
}

sup_result sup_crowd_check_support(const sup_model *model, sup_method_device *device, sup_error *error)
{
    const sup_method *method = sup_model_method(model);
    char supported[256];
    if (method->device == SUP_METHOD_DEVICE_NONE) {
        sup_crowd_list_methods(supported, sizeof supported);
        return sup_fail(error, SUP_ERROR_UNSUPPORTED, "crowd.method", method->name,
                        "Method \"%s\" has no GPU implementation; these have one: %s. Step the model on the CPU.",
                        method->name, supported);
    }
    *device = method->device;
    return SUP_OK;
}

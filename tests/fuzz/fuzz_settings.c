/* Settings that are accepted are within the ranges of their method. */
#include "supple/load.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    enum { ROOM = 64 };
    const sup_method *method = NULL;
    double values[ROOM];
    sup_error error = {0};
    if (sup_settings_load_memory(NULL, "fuzz", (sup_bytes){data, size}, &method, values, ROOM, &error) != SUP_OK) {
        if (error.id[0] == '\0' || error.message[0] == '\0' || method != NULL) abort();
        return 0;
    }
    for (int32_t i = 0; i < method->param_count; i++) {
        const sup_param *param = &method->params[i];
        bool is_number = param->type == SUP_PARAM_INT || param->type == SUP_PARAM_FLOAT;
        if (is_number && !(values[i] >= param->minimum && values[i] <= param->maximum)) abort();
    }
    return 0;
}

/* Accepted settings must be within the ranges of their method. */
#include "supple/load.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_paint(const sup_settings *settings, const sup_paint *paint)
{
    int32_t m = 0;
    while (m < settings->method->map_count && strcmp(settings->method->maps[m].name, paint->map) != 0)
        m++;
    if (m == settings->method->map_count) abort();
    const sup_map *map = &settings->method->maps[m];
    for (int32_t v = 0; v < settings->vertex_count; v++)
        if (!(paint->values[v] >= map->minimum && paint->values[v] <= map->maximum)) abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    sup_settings *settings = NULL;
    sup_error error = {0};
    if (sup_settings_load_memory(NULL, "fuzz", (sup_bytes){data, size}, &settings, &error) != SUP_OK) {
        if (error.id[0] == '\0' || error.message[0] == '\0' || settings != NULL) abort();
        return 0;
    }
    for (int32_t i = 0; i < settings->method->param_count; i++) {
        const sup_param *param = &settings->method->params[i];
        bool is_number = param->type == SUP_PARAM_INT || param->type == SUP_PARAM_FLOAT;
        if (is_number && !(settings->values[i] >= param->minimum && settings->values[i] <= param->maximum)) abort();
    }
    for (int32_t i = 0; i < settings->paint_count; i++)
        check_paint(settings, &settings->paints[i]);
    sup_settings_destroy(settings);
    return 0;
}

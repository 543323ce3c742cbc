/* The list of methods, and requirements of every method. */
#include "bind/model.h"
#include "test.h"

#include <stdio.h>
#include <string.h>

TEST(projective_is_the_default_and_names_are_found)
{
    CHECK(sup_method_count() >= 2);
    CHECK_TEXT(sup_method_at(0)->name, "projective");
    CHECK(sup_method_at(-1) == NULL && sup_method_at(sup_method_count()) == NULL);
    CHECK(sup_method_find("no such method") == NULL && sup_method_find(NULL) == NULL);
}

TEST(every_method_is_complete)
{
    for (int32_t i = 0; i < sup_method_count(); i++) {
        const sup_method *method = sup_method_at(i);
        CHECK(sup_method_find(method->name) == method);
        CHECK_MSG(method->summary[0] != 0, "%s has no summary", method->name);
        CHECK_MSG(method->bind != NULL && method->step != NULL, "%s lacks bind or step", method->name);
        /* Models come from files: methods of the library check theirs. */
        CHECK_MSG(method->check != NULL, "%s lacks check", method->name);
        CHECK(strlen(method->name) < SUP_MODEL_NAME);
        for (int32_t p = 0; p < method->param_count; p++) {
            const sup_param *param = &method->params[p];
            CHECK(param->name != NULL && param->unit != NULL && param->help[0] != 0);
            CHECK_EQ(sup_param_check(param, param->default_value, NULL), SUP_OK);
        }
    }
}

/* The header names the methods with a device implementation: it must agree with the method table. */
TEST(device_header_lists_the_supported_methods)
{
    static char text[16384];
    FILE *file = fopen(SUPPLE_SOURCE_DIR "/include/supple/device.h", "r");
    CHECK(file != NULL);
    text[fread(text, 1, sizeof text - 1, file)] = '\0';
    fclose(file);
    char *list = strstr(text, "Supported methods"), *end = list != NULL ? strstr(list, "sup_crowd_create") : NULL;
    CHECK(end != NULL);
    *end = '\0';
    for (int32_t i = 0; i < sup_method_count(); i++) {
        const sup_method *method = sup_method_at(i);
        CHECK_MSG((strstr(list, method->name) != NULL) == (method->device != SUP_METHOD_DEVICE_NONE), "%s",
                  method->name);
    }
}

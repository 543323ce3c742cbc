/* Settings as the studio saves them: what is read, and what is refused. */
#include "supple/load.h"
#include "test.h"

enum { ROOM = 64 };

static sup_result read_text(const char *text, const sup_method **method, double *values, sup_error *error)
{
    return sup_settings_load_memory(NULL, "a.json", (sup_bytes){text, strlen(text)}, method, values, ROOM, error);
}

static double value_of(const sup_method *method, const double *values, const char *name)
{
    for (int32_t i = 0; i < method->param_count; i++)
        if (strcmp(method->params[i].name, name) == 0) return values[i];
    return -1.0;
}

TEST(settings_are_read_over_the_defaults)
{
    const sup_method *method = NULL;
    double values[ROOM], defaults[ROOM];
    sup_error error;
    CHECK_OK(
        read_text("{\"method\": \"projective\", \"settings\": {\"iterations\": 3, \"contact\": \"off\"}, \"x\": 1}",
                  &method, values, &error),
        error);
    CHECK_TEXT(method->name, "projective");
    CHECK_NEAR(value_of(method, values, "iterations"), 3.0, 0.0);
    sup_method_defaults(method, defaults);
    int changed = 0;
    for (int32_t i = 0; i < method->param_count; i++)
        changed += values[i] != defaults[i];
    CHECK_EQ(changed, 2);
    CHECK_OK(read_text("{\"method\": \"linear\"}", &method, values, &error), error);
    CHECK_TEXT(method->name, "linear");
}

static const char *refusal(const char *text)
{
    static sup_error error;
    const sup_method *method = NULL;
    double values[ROOM];
    error = (sup_error){0};
    CHECK(read_text(text, &method, values, &error) != SUP_OK);
    CHECK(method == NULL);
    CHECK(strstr(error.where, "a.json") != NULL);
    return error.id;
}

TEST(wrong_settings_are_refused)
{
    CHECK_TEXT(refusal("[]"), "settings.method");
    CHECK_TEXT(refusal("{\"method\": 3}"), "settings.method");
    CHECK_TEXT(refusal("{\"method\": \"none\"}"), "settings.method");
    CHECK_TEXT(refusal("{\"method\": \"linear\", \"settings\": []}"), "settings.object");
    CHECK_TEXT(refusal("{\"method\": \"projective\", \"settings\": {\"none\": 1}}"), "settings.value");
    CHECK_TEXT(refusal("{\"method\": \"projective\", \"settings\": {\"iterations\": null}}"), "settings.value");
    CHECK_TEXT(refusal("{\"method\": \"projective\", \"settings\": {\"iterations\": -5}}"), "settings.value");
    CHECK_TEXT(refusal("{\"method\": \"projective\", \"settings\": {\"iterations\": \"a\"}}"), "settings.value");
    CHECK_TEXT(refusal("{\"method\": \"projective\", \"settings\": {\"iterations\\u0000\": 3}}"), "settings.value");
    CHECK(strncmp(refusal("{\"method\": "), "json.", 5) == 0);
    const sup_method *method = NULL;
    double values[1];
    sup_error error;
    const char *text = "{\"method\": \"projective\"}";
    CHECK(sup_settings_load_memory(NULL, "a", (sup_bytes){text, strlen(text)}, &method, values, 1, &error) ==
          SUP_ERROR_ARGUMENT);
    CHECK(sup_settings_load(NULL, "/nowhere/a.json", &method, values, 1, &error) == SUP_ERROR_IO);
    CHECK(sup_settings_load(NULL, NULL, &method, values, 1, &error) == SUP_ERROR_ARGUMENT);
}

/* Settings as saved by Supple Studio: valid and invalid files. */
#include "supple/load.h"
#include "test.h"

static sup_result read_text(const char *text, sup_settings **settings, sup_error *error)
{
    return sup_settings_load_memory(NULL, "a.json", (sup_bytes){text, strlen(text)}, settings, error);
}

static double value_of(const sup_settings *settings, const char *name)
{
    for (int32_t i = 0; i < settings->method->param_count; i++)
        if (strcmp(settings->method->params[i].name, name) == 0) return settings->values[i];
    return -1.0;
}

TEST(settings_are_read_over_the_defaults)
{
    sup_settings *settings = NULL;
    double defaults[64];
    sup_error error;
    CHECK_OK(
        read_text("{\"method\": \"projective\", \"settings\": {\"iterations\": 3, \"contact\": \"off\"}, \"x\": 1}",
                  &settings, &error),
        error);
    CHECK_TEXT(settings->method->name, "projective");
    CHECK_NEAR(value_of(settings, "iterations"), 3.0, 0.0);
    CHECK_EQ(settings->paint_count, 0);
    sup_method_defaults(settings->method, defaults);
    int changed = 0;
    for (int32_t i = 0; i < settings->method->param_count; i++)
        changed += settings->values[i] != defaults[i];
    CHECK_EQ(changed, 2);
    sup_settings_destroy(settings);
    CHECK_OK(read_text("{\"method\": \"linear\"}", &settings, &error), error);
    CHECK_TEXT(settings->method->name, "linear");
    sup_settings_destroy(settings);
    sup_settings_destroy(NULL);
}

TEST(painted_maps_are_read)
{
    sup_settings *settings = NULL;
    sup_error error;
    CHECK_OK(read_text("{\"method\": \"projective\", \"paints\": {\"rigid\": [0, 0.25, 1], \"stiffness\": [1, 2, 3]}}",
                       &settings, &error),
             error);
    CHECK_EQ(settings->paint_count, 2);
    CHECK_EQ(settings->vertex_count, 3);
    CHECK_TEXT(settings->paints[0].map, "stiffness");
    CHECK_TEXT(settings->paints[1].map, "rigid");
    CHECK_NEAR(settings->paints[0].values[2], 3.0, 0.0);
    CHECK_NEAR(settings->paints[1].values[1], 0.25, 0.0);
    sup_settings_destroy(settings);
}

static const char *error_id_of(const char *text)
{
    static sup_error error;
    sup_settings *settings = NULL;
    error = (sup_error){0};
    CHECK(read_text(text, &settings, &error) != SUP_OK);
    CHECK(settings == NULL);
    CHECK(strstr(error.where, "a.json") != NULL);
    return error.id;
}

TEST(invalid_settings_are_rejected)
{
    CHECK_TEXT(error_id_of("[]"), "settings.method");
    CHECK_TEXT(error_id_of("{\"method\": 3}"), "settings.method");
    CHECK_TEXT(error_id_of("{\"method\": \"none\"}"), "settings.method");
    CHECK_TEXT(error_id_of("{\"method\": \"linear\", \"settings\": []}"), "settings.object");
    CHECK_TEXT(error_id_of("{\"method\": \"projective\", \"settings\": {\"none\": 1}}"), "settings.value");
    CHECK_TEXT(error_id_of("{\"method\": \"projective\", \"settings\": {\"iterations\": null}}"), "settings.value");
    CHECK_TEXT(error_id_of("{\"method\": \"projective\", \"settings\": {\"iterations\": -5}}"), "settings.value");
    CHECK_TEXT(error_id_of("{\"method\": \"projective\", \"settings\": {\"iterations\": \"a\"}}"), "settings.value");
    CHECK_TEXT(error_id_of("{\"method\": \"projective\", \"settings\": {\"iterations\\u0000\": 3}}"), "settings.value");
    CHECK_TEXT(error_id_of("{\"method\": \"projective\", \"paints\": [1]}"), "settings.paint");
    CHECK_TEXT(error_id_of("{\"method\": \"projective\", \"paints\": {\"none\": [1]}}"), "settings.paint");
    CHECK_TEXT(error_id_of("{\"method\": \"projective\", \"paints\": {\"rigid\": []}}"), "settings.paint");
    CHECK_TEXT(error_id_of("{\"method\": \"projective\", \"paints\": {\"rigid\": [0, 2]}}"), "settings.paint");
    CHECK_TEXT(error_id_of("{\"method\": \"projective\", \"paints\": {\"rigid\": [\"0\"]}}"), "settings.paint");
    CHECK_TEXT(error_id_of("{\"method\": \"projective\", \"paints\": {\"rigid\": [0], \"free\": [0, 0]}}"),
               "settings.paint");
    CHECK(strncmp(error_id_of("{\"method\": "), "json.", 5) == 0);
    sup_settings *settings = NULL;
    sup_error error;
    CHECK(sup_settings_load(NULL, "/nowhere/a.json", &settings, &error) == SUP_ERROR_IO);
    CHECK(sup_settings_load(NULL, NULL, &settings, &error) == SUP_ERROR_ARGUMENT);
}

/* The parameter table of a method: defaults, parsing, ranges and error messages. */
#include "bind/model.h"
#include "test.h"

static const char *const choices[] = {"soft", "firm", NULL};
static const sup_param params[] = {
    {"stiffness", "Pa", SUP_PARAM_FLOAT, 0.5, 10.0, 2.0, NULL, true, ""},
    {"iterations", "", SUP_PARAM_INT, 1, 8, 4, NULL, false, ""},
    {"contact", "", SUP_PARAM_BOOL, 0, 1, 1, NULL, true, ""},
    {"tissue", "", SUP_PARAM_CHOICE, 0, 1, 1, choices, false, ""},
};
static const sup_method method = {.name = "jelly", .params = params, .param_count = 4};
static const sup_method no_params = {.name = "bare"};

TEST(defaults_are_the_default_values)
{
    double values[4] = {0};
    sup_method_defaults(&method, values);
    CHECK(values[0] == 2.0 && values[1] == 4.0 && values[2] == 1.0 && values[3] == 1.0);
    sup_method_defaults(&no_params, NULL);
}

static sup_result set(const char *name, const char *text, double *value, sup_error *error)
{
    double values[4] = {-1, -1, -1, -1};
    sup_result result = sup_method_set(&method, values, name, text, error);
    for (int i = 0; i < 4; i++)
        if (sup_text_equal(params[i].name, name)) *value = values[i];
    return result;
}

TEST(texts_are_parsed_to_values)
{
    static const struct {
        const char *name, *text;
        double value;
    } good[] = {{"stiffness", "0.5", 0.5}, {"stiffness", "1e1", 10}, {"iterations", "8", 8}, {"contact", "off", 0},
                {"contact", "ON", 1},      {"contact", "false", 0},  {"contact", "1", 1},    {"contact", "no", 0},
                {"tissue", "soft", 0},     {"tissue", "Firm", 1},    {"stiffness", "2", 2.0}};
    for (size_t i = 0; i < sizeof good / sizeof good[0]; i++) {
        double value = -2.0;
        sup_error error;
        CHECK_OK(set(good[i].name, good[i].text, &value, &error), error);
        CHECK_MSG(value == good[i].value, "%s=%s gave %g", good[i].name, good[i].text, value);
    }
}

TEST(invalid_texts_are_rejected_without_change)
{
    static const struct {
        const char *name, *text, *id, *says;
    } bad[] = {{"stiffness", "0.4", "param.range", "0.5 to 10 Pa"},
               {"stiffness", "nan", "param.range", "0.5"},
               {"stiffness", "inf", "param.range", "10"},
               {"stiffness", "2x", "param.text", "number"},
               {"stiffness", "", "param.text", "number"},
               {"iterations", "2.5", "param.range", "whole"},
               {"iterations", "9", "param.range", "1 to 8"},
               {"contact", "perhaps", "param.text", "on or off"},
               {"contact", "2", "param.text", "on or off"},
               {"tissue", "hard", "param.text", "soft, firm"},
               {"tissue", "0", "param.text", "soft, firm"},
               {"colour", "1", "param.unknown", "stiffness, iterations, contact, tissue"},
               {"", "1", "param.unknown", "jelly"}};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        double value = -1.0;
        sup_error error = {0};
        CHECK_EQ(set(bad[i].name, bad[i].text, &value, &error), SUP_ERROR_ARGUMENT);
        CHECK_TEXT(error.id, bad[i].id);
        CHECK_MSG(strstr(error.message, bad[i].says) != NULL, "%s", error.message);
        CHECK(value == -1.0);
    }
    double values[4];
    CHECK_EQ(sup_method_set(NULL, values, "a", "1", NULL), SUP_ERROR_ARGUMENT);
    CHECK_EQ(sup_method_set(&method, values, NULL, "1", NULL), SUP_ERROR_ARGUMENT);
    CHECK_EQ(sup_method_set(&method, values, "iterations", NULL, NULL), SUP_ERROR_ARGUMENT);
    CHECK_EQ(sup_method_set(&no_params, values, "iterations", "1", NULL), SUP_ERROR_ARGUMENT);
}

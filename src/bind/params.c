/* params.c - the parameter table of a method: defaults, parsing and ranges. */
#include "bind/model.h"

#include <math.h>

void sup_method_defaults(const sup_method *method, double *values)
{
    if (method == NULL || values == NULL) return;
    for (int32_t i = 0; i < method->param_count; i++)
        values[i] = method->params[i].default_value;
}

/* Writes the names of the parameters or choices to `text`, separated by commas. */
static void list_params(const sup_method *method, char *text, size_t size)
{
    size_t used = 0;
    text[0] = 0;
    for (int32_t i = 0; i < method->param_count && used + 1 < size; i++)
        used += sup_format(text + used, size - used, "%s%s", i == 0 ? "" : ", ", method->params[i].name);
}

static int32_t list_choices(const sup_param *param, char *text, size_t size)
{
    size_t used = 0;
    int32_t count = 0;
    text[0] = 0;
    for (; param->choices != NULL && param->choices[count] != NULL; count++)
        if (used + 1 < size)
            used += sup_format(text + used, size - used, "%s%s", count == 0 ? "" : ", ", param->choices[count]);
    return count;
}

int32_t sup_method_param(const sup_method *method, const char *name, sup_error *error)
{
    for (int32_t i = 0; i < method->param_count; i++)
        if (sup_text_equal(method->params[i].name, name)) return i;
    char names[240];
    list_params(method, names, sizeof names);
    sup_fail(error, SUP_ERROR_ARGUMENT, "param.unknown", method->name,
             method->param_count > 0 ? "The method \"%s\" has no parameter \"%s\"; it has: %s."
                                     : "The method \"%s\" has no parameter \"%s\": it has none%s.",
             method->name, name != NULL ? name : "", names);
    return -1;
}

sup_result sup_param_check(const sup_param *param, double value, sup_error *error)
{
    char choices[240];
    bool whole = value == floor(value); /* false for NaN */
    switch (param->type) {
    case SUP_PARAM_BOOL:
        if (value == 0.0 || value == 1.0) return SUP_OK;
        return sup_fail(error, SUP_ERROR_ARGUMENT, "param.range", param->name,
                        "\"%s\" must be on (1) or off (0), not %g.", param->name, value);
    case SUP_PARAM_CHOICE: {
        int32_t count = list_choices(param, choices, sizeof choices);
        if (whole && value >= 0.0 && value < (double)count) return SUP_OK;
        return sup_fail(error, SUP_ERROR_ARGUMENT, "param.range", param->name, "\"%s\" must be one of: %s.",
                        param->name, choices);
    }
    case SUP_PARAM_INT:
    case SUP_PARAM_FLOAT:
        break;
    }
    if (value >= param->minimum && value <= param->maximum && (whole || param->type == SUP_PARAM_FLOAT)) return SUP_OK;
    return sup_fail(
        error, SUP_ERROR_ARGUMENT, "param.range", param->name, "\"%s\" must be %s from %g to %g%s%s, not %g.",
        param->name, param->type == SUP_PARAM_INT ? "a whole number" : "a number", param->minimum, param->maximum,
        param->unit != NULL && param->unit[0] != 0 ? " " : "", param->unit != NULL ? param->unit : "", value);
}

int32_t sup_method_map(const sup_method *method, const char *name, sup_error *error)
{
    for (int32_t i = 0; i < method->map_count; i++)
        if (sup_text_equal(method->maps[i].name, name)) return i;
    char names[240] = "";
    size_t used = 0;
    for (int32_t i = 0; i < method->map_count && used + 1 < sizeof names; i++)
        used += sup_format(names + used, sizeof names - used, "%s%s", i == 0 ? "" : ", ", method->maps[i].name);
    sup_fail(error, SUP_ERROR_ARGUMENT, "paint.unknown", method->name,
             method->map_count > 0 ? "The method \"%s\" has no map \"%s\"; it has: %s."
                                   : "The method \"%s\" has no map \"%s\": it has none%s.",
             method->name, name != NULL ? name : "", names);
    return -1;
}

sup_result sup_map_check(const sup_map *map, const float *values, int32_t vertex_count, sup_error *error)
{
    for (int32_t v = 0; v < vertex_count; v++)
        if (!(values[v] >= map->minimum && values[v] <= map->maximum)) /* NaN too */
            return sup_fail(error, SUP_ERROR_ARGUMENT, "paint.range", map->name,
                            "The map \"%s\" has values from %g to %g, but vertex %d has %g.", map->name,
                            (double)map->minimum, (double)map->maximum, v, (double)values[v]);
    return SUP_OK;
}

/* -1 if the text is neither. */
static double parse_bool(const char *text)
{
    static const char *const on[] = {"on", "true", "yes", "1"}, *const off[] = {"off", "false", "no", "0"};
    for (int i = 0; i < SUP_COUNT(on); i++) {
        if (sup_text_equal_nocase(text, on[i])) return 1.0;
        if (sup_text_equal_nocase(text, off[i])) return 0.0;
    }
    return -1.0;
}

static double parse_choice(const sup_param *param, const char *text)
{
    for (int32_t i = 0; param->choices != NULL && param->choices[i] != NULL; i++)
        if (sup_text_equal_nocase(text, param->choices[i])) return (double)i;
    return -1.0;
}

sup_result sup_method_set(const sup_method *method, double *values, const char *name, const char *text,
                          sup_error *error)
{
    if (method == NULL || values == NULL || name == NULL || text == NULL)
        return sup_fail(error, SUP_ERROR_ARGUMENT, "param.null", "",
                        "A method, its values, a parameter name and a value text are needed.");
    int32_t index = sup_method_param(method, name, error);
    if (index < 0) return SUP_ERROR_ARGUMENT;
    const sup_param *param = &method->params[index];
    double value = 0.0;
    if (param->type == SUP_PARAM_BOOL) {
        value = parse_bool(text);
        if (value < 0.0)
            return sup_fail(error, SUP_ERROR_ARGUMENT, "param.text", param->name,
                            "\"%s\" must be on or off, not \"%s\".", param->name, text);
    } else if (param->type == SUP_PARAM_CHOICE) {
        value = parse_choice(param, text);
        char choices[240];
        list_choices(param, choices, sizeof choices);
        if (value < 0.0)
            return sup_fail(error, SUP_ERROR_ARGUMENT, "param.text", param->name,
                            "\"%s\" must be one of: %s; not \"%s\".", param->name, choices, text);
    } else {
        const char *end = text + strlen(text), *past = sup_parse_double(text, end, &value);
        if (past != end || past == text)
            return sup_fail(error, SUP_ERROR_ARGUMENT, "param.text", param->name,
                            "\"%s\" must be a number from %g to %g, not \"%s\".", param->name, param->minimum,
                            param->maximum, text);
    }
    sup_result result = sup_param_check(param, value, error);
    if (result == SUP_OK) values[index] = value;
    return result;
}

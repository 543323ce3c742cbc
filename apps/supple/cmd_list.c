/* cmd_list.c - `supple methods` and `supple scenes`: list the tables of the library. */
#include "json_out.h"
#include "options.h"

#include <math.h>
#include <string.h>

typedef struct list_values {
    bool json, names;
} list_values;

static const app_option list_options[] = {
    {.kind = APP_FLAG, .name = "json", .offset = offsetof(list_values, json), .help = "print JSON"},
    {.kind = APP_FLAG,
     .name = "names",
     .offset = offsetof(list_values, names),
     .help = "print only the names, one per line"},
};

static const app_verb methods_verb = {
    .name = "methods",
    .usage = "[--json | --names]",
    .summary = "Lists the skinning methods, their parameters (--set) and their paintable maps (--paint).",
    .options = list_options,
    .option_count = (int)(sizeof list_options / sizeof list_options[0]),
};

static const app_verb scenes_verb = {
    .name = "scenes",
    .usage = "[--json | --names]",
    .summary = "Lists the built-in characters; use scene:NAME as INPUT, or scene:NAME@0.25 for 1/4 of the vertices.",
    .options = list_options,
    .option_count = (int)(sizeof list_options / sizeof list_options[0]),
};

static const char *type_name(sup_param_type type)
{
    static const char *const names[] = {"number", "integer", "on/off", "choice"};
    return names[type];
}

static void print_value(const sup_param *param, double value)
{
    if (param->type == SUP_PARAM_CHOICE)
        printf("%s", param->choices[(int)value]);
    else if (param->type == SUP_PARAM_BOOL)
        printf("%s", value != 0.0 ? "on" : "off");
    else
        printf("%g%s%s", value, param->unit[0] != '\0' ? " " : "", param->unit);
}

static void print_range(const sup_param *param)
{
    if (param->type == SUP_PARAM_CHOICE)
        for (int i = 0; param->choices[i] != NULL; i++)
            printf("%s%s", i > 0 ? "|" : "", param->choices[i]);
    else if (param->type == SUP_PARAM_BOOL)
        printf("on|off");
    else
        printf("%g to %g", param->minimum, param->maximum);
}

static void print_method(const sup_method *method)
{
    printf("%s\n    %s\n", method->name, method->summary);
    if (method->device != SUP_METHOD_DEVICE_NONE) printf("    Runs on a GPU with --device cuda.\n");
    for (int32_t i = 0; i < method->param_count; i++) {
        const sup_param *param = &method->params[i];
        printf("    --set %s=", param->name);
        print_value(param, param->default_value);
        printf("  (");
        print_range(param);
        printf(")  %s\n", param->help);
    }
    for (int32_t i = 0; i < method->map_count; i++) {
        const sup_map *map = &method->maps[i];
        printf("    --paint %s=REGION  (%g to %g, %g elsewhere%s)  %s\n", map->name, (double)map->minimum,
               (double)map->maximum, (double)map->default_value, map->live ? ", live" : "", map->help);
    }
}

static void print_param_json(app_json *json, const sup_param *param)
{
    app_json_object(json, NULL);
    app_json_text(json, "name", param->name);
    app_json_text(json, "unit", param->unit);
    app_json_text(json, "type", type_name(param->type));
    app_json_number(json, "minimum", param->minimum);
    app_json_number(json, "maximum", param->maximum);
    app_json_number(json, "default", param->default_value);
    if (param->type == SUP_PARAM_CHOICE) {
        app_json_array(json, "choices");
        for (int i = 0; param->choices[i] != NULL; i++)
            app_json_text(json, NULL, param->choices[i]);
        app_json_array_end(json);
    }
    app_json_boolean(json, "live", param->live);
    app_json_text(json, "help", param->help);
    app_json_object_end(json);
}

static void print_map_json(app_json *json, const sup_map *map)
{
    app_json_object(json, NULL);
    app_json_text(json, "name", map->name);
    app_json_text(json, "unit", map->unit);
    app_json_number(json, "minimum", (double)map->minimum);
    app_json_number(json, "maximum", (double)map->maximum);
    app_json_number(json, "default", (double)map->default_value);
    app_json_boolean(json, "live", map->live);
    app_json_text(json, "help", map->help);
    app_json_object_end(json);
}

static void print_methods_json(void)
{
    app_json json = {.file = stdout};
    app_json_object(&json, NULL);
    app_json_array(&json, "methods");
    for (int32_t i = 0; i < sup_method_count(); i++) {
        const sup_method *method = sup_method_at(i);
        app_json_object(&json, NULL);
        app_json_text(&json, "name", method->name);
        app_json_text(&json, "summary", method->summary);
        app_json_boolean(&json, "dynamic", (method->flags & SUP_METHOD_DYNAMIC) != 0);
        app_json_boolean(&json, "uses_weights", (method->flags & SUP_METHOD_USES_WEIGHTS) != 0);
        app_json_boolean(&json, "device", method->device != SUP_METHOD_DEVICE_NONE);
        app_json_boolean(&json, "needs_layers", (method->flags & SUP_METHOD_LAYERS) != 0);
        app_json_array(&json, "parameters");
        for (int32_t p = 0; p < method->param_count; p++)
            print_param_json(&json, &method->params[p]);
        app_json_array_end(&json);
        app_json_array(&json, "maps");
        for (int32_t m = 0; m < method->map_count; m++)
            print_map_json(&json, &method->maps[m]);
        app_json_array_end(&json);
        app_json_object_end(&json);
    }
    app_json_array_end(&json);
    app_json_object_end(&json);
}

int app_command_methods(int argc, char **argv)
{
    list_values values = {0};
    int status = APP_DONE;
    if (!app_parse(&methods_verb, argc, argv, &values, &status)) return status;
    if (values.json) {
        print_methods_json();
        return APP_DONE;
    }
    for (int32_t i = 0; i < sup_method_count(); i++)
        if (values.names)
            printf("%s\n", sup_method_at(i)->name);
        else
            print_method(sup_method_at(i));
    return APP_DONE;
}

static void print_scenes_json(void)
{
    app_json json = {.file = stdout};
    app_json_object(&json, NULL);
    app_json_array(&json, "scenes");
    for (int32_t i = 0; i < sup_scene_count(); i++) {
        sup_scene_info scene = sup_scene_at(i);
        app_json_object(&json, NULL);
        app_json_text(&json, "name", scene.name);
        app_json_text(&json, "summary", scene.summary);
        app_json_integer(&json, "vertices", scene.default_vertex_count);
        app_json_object_end(&json);
    }
    app_json_array_end(&json);
    app_json_object_end(&json);
}

int app_command_scenes(int argc, char **argv)
{
    list_values values = {0};
    int status = APP_DONE;
    if (!app_parse(&scenes_verb, argc, argv, &values, &status)) return status;
    if (values.json) {
        print_scenes_json();
        return APP_DONE;
    }
    for (int32_t i = 0; i < sup_scene_count(); i++) {
        sup_scene_info scene = sup_scene_at(i);
        if (values.names)
            printf("%s\n", scene.name);
        else
            printf("scene:%-10s %7s vertices  %s\n", scene.name, app_grouped(scene.default_vertex_count),
                   scene.summary);
    }
    return APP_DONE;
}

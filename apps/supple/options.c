/* options.c - parses the command line of a verb from its option table. */
#include "options.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { NAME_LIMIT = 64, COLUMN = 28 };

static void print_option(const app_option *option)
{
    char left[80];
    int length = 0;
    if (option->letter != '\0')
        length = snprintf(left, sizeof left, "  -%c, --%s", option->letter, option->name);
    else
        length = snprintf(left, sizeof left, "      --%s", option->name);
    if (option->argument != NULL) snprintf(left + length, sizeof left - (size_t)length, " %s", option->argument);
    if (strlen(left) >= COLUMN)
        printf("%s\n%*s%s\n", left, COLUMN, "", option->help);
    else
        printf("%-*s%s\n", COLUMN, left, option->help);
}

static const app_option *positional_at(const app_verb *verb, int index)
{
    for (int i = 0; i < verb->option_count; i++)
        if (verb->options[i].kind == APP_POSITIONAL && index-- == 0) return &verb->options[i];
    return NULL;
}

static void print_help(const app_verb *verb)
{
    printf("Usage: supple %s %s\n\n%s\n", verb->name, verb->usage, verb->summary);
    for (int pass = 0; pass < 2; pass++) {
        if (pass == 1 || positional_at(verb, 0) != NULL) printf("\n");
        for (int i = 0; i < verb->option_count; i++) {
            const app_option *option = &verb->options[i];
            if (pass == 0 && option->kind == APP_POSITIONAL)
                printf("  %-*s%s\n", COLUMN - 2, option->name, option->help);
            if (pass == 1 && option->kind != APP_POSITIONAL) print_option(option);
        }
    }
    printf("  -h, --help                %s\n", "print this help");
    if (verb->details != NULL) printf("\n%s", verb->details);
}

bool app_parse_number(const char *text, double *value)
{
    char *end = NULL;
    double parsed = strtod(text, &end);
    if (end == text || *end != '\0' || !isfinite(parsed)) return false;
    *value = parsed;
    return true;
}

bool app_parse_whole(const char *text, double *value)
{
    char *end = NULL;
    long parsed = strtol(text, &end, 10);
    if (end == text || *end != '\0' || parsed > 1000000000L || parsed < -1000000000L) return false;
    *value = (double)parsed;
    return true;
}

static bool fail(int *status)
{
    *status = APP_USAGE;
    return false;
}

static bool set_number(const app_option *option, const char *text, char *target, int *status)
{
    double value = 0.0;
    bool whole = option->kind == APP_WHOLE;
    bool parsed = whole ? app_parse_whole(text, &value) : app_parse_number(text, &value);
    if (!parsed || value < option->minimum || value > option->maximum) {
        app_usage("--%s %s: Expected %s from %g to %g.", option->name, text, whole ? "an integer" : "a number",
                  option->minimum, option->maximum);
        return fail(status);
    }
    if (whole) {
        int number = (int)value;
        memcpy(target, &number, sizeof number);
    } else {
        memcpy(target, &value, sizeof value);
    }
    return true;
}

static bool set_choice(const app_option *option, const char *text, char *target, int *status)
{
    char list[200] = "";
    int count = 0;
    for (; option->choices[count] != NULL; count++) {
        if (strcmp(option->choices[count], text) == 0) {
            memcpy(target, &count, sizeof count);
            return true;
        }
        size_t length = strlen(list);
        snprintf(list + length, sizeof list - length, "%s%s", count > 0 ? ", " : "", option->choices[count]);
    }
    const char *nearest = app_nearest(text, option->choices, count);
    if (nearest != NULL)
        app_usage("--%s %s: Unknown value; did you mean %s? Available: %s.", option->name, text, nearest, list);
    else
        app_usage("--%s %s: Unknown value. Available: %s.", option->name, text, list);
    return fail(status);
}

static bool set_value(const app_option *option, const char *text, void *values, int *status)
{
    char *target = (char *)values + option->offset;
    switch (option->kind) {
    case APP_FLAG:
        memcpy(target, &(bool){true}, sizeof(bool));
        return true;
    case APP_POSITIONAL:
    case APP_TEXT:
        memcpy(target, &text, sizeof text);
        return true;
    case APP_WHOLE:
    case APP_NUMBER:
        return set_number(option, text, target, status);
    case APP_CHOICE:
        return set_choice(option, text, target, status);
    case APP_MANY: {
        app_texts *texts = (app_texts *)(void *)target;
        if (texts->count == APP_MANY_LIMIT) {
            app_usage("--%s can be given at most %d times.", option->name, APP_MANY_LIMIT);
            return fail(status);
        }
        texts->items[texts->count++] = text;
        return true;
    }
    }
    return true;
}

static bool fail_unknown(const app_verb *verb, const char *given, size_t length, int *status)
{
    const char *names[NAME_LIMIT];
    char name[NAME_LIMIT];
    int count = 0;
    for (int i = 0; i < verb->option_count && count < NAME_LIMIT - 1; i++)
        if (verb->options[i].kind != APP_POSITIONAL) names[count++] = verb->options[i].name;
    names[count++] = "help";
    snprintf(name, sizeof name, "%.*s", (int)(length < sizeof name ? length : sizeof name - 1), given);
    const char *nearest = given[0] == '-' && given[1] == '-' ? app_nearest(name + 2, names, count) : NULL;
    if (nearest != NULL)
        app_usage("%s: Unknown option %s; did you mean --%s?", verb->name, name, nearest);
    else
        app_usage("%s: Unknown option %s; see 'supple %s --help'.", verb->name, name, verb->name);
    return fail(status);
}

/* Finds the option that `given` ("--name", "--name=value", "-o", "-ovalue") names, and the value in it, or NULL. */
static const app_option *find_option(const app_verb *verb, const char *given, const char **value, size_t *length)
{
    bool is_long = given[1] == '-';
    const char *equals = is_long ? strchr(given, '=') : NULL;
    *length = equals != NULL ? (size_t)(equals - given) : strlen(given);
    *value = equals != NULL ? equals + 1 : NULL;
    for (int i = 0; i < verb->option_count; i++) {
        const app_option *option = &verb->options[i];
        if (option->kind == APP_POSITIONAL) continue;
        if (is_long && strlen(option->name) == *length - 2 && memcmp(option->name, given + 2, *length - 2) == 0)
            return option;
        if (!is_long && option->letter == given[1]) {
            if (given[2] != '\0') *value = given + 2;
            return option;
        }
    }
    return NULL;
}

static bool parse_option(const app_verb *verb, int argc, char **argv, int *at, void *values, int *status)
{
    const char *given = argv[*at], *value = NULL;
    size_t length = 0;
    const app_option *option = find_option(verb, given, &value, &length);
    if (option == NULL) return fail_unknown(verb, given, length, status);
    if (option->kind == APP_FLAG) {
        if (value != NULL) {
            app_usage("%s: --%s takes no value.", verb->name, option->name);
            return fail(status);
        }
    } else if (value == NULL) {
        if (*at + 1 >= argc) {
            app_usage("%s: --%s needs a value: --%s %s.", verb->name, option->name, option->name, option->argument);
            return fail(status);
        }
        value = argv[++*at];
    }
    return set_value(option, value, values, status);
}

static const char *text_of(const app_option *option, const void *values)
{
    const char *text = NULL;
    memcpy(&text, (const char *)values + option->offset, sizeof text);
    return text;
}

static bool check_required(const app_verb *verb, const void *values, int *status)
{
    for (int i = 0; i < verb->option_count; i++) {
        const app_option *option = &verb->options[i];
        if (option->kind == APP_POSITIONAL ? option->optional : !option->required) continue;
        if (text_of(option, values) != NULL) continue;
        if (option->kind == APP_POSITIONAL)
            app_usage("%s: %s is missing: supple %s %s", verb->name, option->name, verb->name, verb->usage);
        else if (option->letter == '\0')
            app_usage("%s: --%s %s is missing: supple %s %s", verb->name, option->name, option->argument, verb->name,
                      verb->usage);
        else
            app_usage("%s: -%c %s is missing: supple %s %s", verb->name, option->letter, option->argument, verb->name,
                      verb->usage);
        return fail(status);
    }
    return true;
}

static bool same_file(const char *a, const char *b)
{
    struct stat status_a, status_b;
    return stat(a, &status_a) == 0 && stat(b, &status_b) == 0 && S_ISREG(status_a.st_mode) &&
           status_a.st_dev == status_b.st_dev && status_a.st_ino == status_b.st_ino;
}

/* Overwriting an input would lose it if the verb fails: no other argument may name the output file. */
static bool check_output(const app_verb *verb, const void *values, int *status)
{
    const char *output = NULL;
    for (int i = 0; i < verb->option_count; i++)
        if (strcmp(verb->options[i].name, "output") == 0) output = text_of(&verb->options[i], values);
    for (int i = 0; i < verb->option_count && output != NULL; i++) {
        const app_option *option = &verb->options[i];
        if ((option->kind != APP_TEXT && option->kind != APP_POSITIONAL) || strcmp(option->name, "output") == 0)
            continue;
        const char *text = text_of(option, values);
        if (text == NULL || !same_file(text, output)) continue;
        app_usage("%s: The output file is also an input; choose another output.", output);
        return fail(status);
    }
    return true;
}

bool app_parse(const app_verb *verb, int argc, char **argv, void *values, int *status)
{
    int positional_count = 0;
    bool options_over = false;
    *status = APP_DONE;
    for (int i = 1; i < argc; i++)
        if (strcmp(argv[i], "--") == 0) {
            break;
        } else if (strcmp(argv[i], "--help") == 0 || strcmp(argv[i], "-h") == 0) {
            print_help(verb);
            return false;
        }
    for (int i = 1; i < argc; i++) {
        if (!options_over && strcmp(argv[i], "--") == 0) {
            options_over = true;
        } else if (!options_over && argv[i][0] == '-' && argv[i][1] != '\0') {
            if (!parse_option(verb, argc, argv, &i, values, status)) return false;
        } else {
            const app_option *option = positional_at(verb, positional_count++);
            if (option == NULL) {
                app_usage("%s: Unexpected argument '%s': supple %s %s", verb->name, argv[i], verb->name, verb->usage);
                return fail(status);
            }
            set_value(option, argv[i], values, status);
        }
    }
    return check_required(verb, values, status) && check_output(verb, values, status);
}

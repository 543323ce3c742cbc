/* anatomy_grow.c - `supple anatomy grow`: adds or removes fat of a fitted body. */
#include "anatomy.h"
#include "json_out.h"
#include "options.h"
#include "progress.h"
#include "job.h"

#include <math.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

typedef struct grow_values {
    const char *input, *fat, *regions, *from, *output;
    double pressure;
    int threads;
    bool no_visceral, json, quiet;
} grow_values;

static const char *const endings[] = {"glb", NULL};

static const app_option grow_options[] = {
    {.kind = APP_POSITIONAL,
     .name = "BODY",
     .offset = offsetof(grow_values, input),
     .help = "file written by 'supple anatomy fit'"},
    {.kind = APP_TEXT,
     .name = "fat",
     .argument = "KG",
     .offset = offsetof(grow_values, fat),
     .required = true,
     .help = "fat to gain or lose: +5kg, -2.5"},
    {.kind = APP_TEXT,
     .name = "region",
     .argument = "NAME=RATE,...",
     .offset = offsetof(grow_values, regions),
     .help = "relative growth rates of legs, belly, chest and arms; regions that are not named do not grow"},
    {.kind = APP_TEXT,
     .name = "from",
     .argument = "OTHER",
     .offset = offsetof(grow_values, from),
     .help = "body of the same template whose distribution of fat to use"},
    {.kind = APP_NUMBER,
     .name = "pressure",
     .argument = "FRACTION",
     .offset = offsetof(grow_values, pressure),
     .minimum = 0.0,
     .maximum = 1.0,
     .help = "fraction of the fat that grows evenly over the body instead of where fat already is"},
    {.kind = APP_FLAG,
     .name = "no-visceral",
     .offset = offsetof(grow_values, no_visceral),
     .help = "add fat only under the skin: the muscles of the belly stay in place"},
    APP_OUTPUT(grow_values, "OUT.glb", "the grown body"),
    {.kind = APP_WHOLE,
     .name = "threads",
     .letter = 'j',
     .argument = "N",
     .offset = offsetof(grow_values, threads),
     .minimum = 0,
     .maximum = 1024,
     .help = "number of threads; 0 (default): one per core. Does not change the result"},
    {.kind = APP_FLAG, .name = "json", .offset = offsetof(grow_values, json), .help = "print the result as JSON"},
    {.kind = APP_FLAG,
     .name = "quiet",
     .letter = 'q',
     .offset = offsetof(grow_values, quiet),
     .help = "print no progress and no result"},
};

static const app_verb grow_verb = {
    .name = "anatomy grow",
    .usage = "BODY.glb --fat KG -o OUT.glb [options]",
    .summary = "Add or remove fat of a person.",
    .details = "Loss is limited by the thickness of the fat layer, and the skin keeps its size at the borders to head "
               "and hands:\nsmall losses are plausible, large ones are not. Muscles keep their mass.\n\nExample:\n  "
               "supple anatomy grow person.glb --fat +5kg --region belly=2,legs=1 -o heavier.glb\n\nExit status: 0 "
               "success, 1 wrong usage, 2 bad input, 3 other errors (output, memory, Ctrl-C).\n",
    .options = grow_options,
    .option_count = (int)(sizeof grow_options / sizeof grow_options[0]),
};

/* "+5kg", "-2.5 kg", "3". */
static bool parse_fat(const char *text, double *fat)
{
    char *end = NULL;
    *fat = strtod(text, &end);
    if (end == text || !isfinite(*fat) || fabs(*fat) > 500.0) return false;
    while (*end == ' ')
        end++;
    return *end == 0 || strcmp(end, "kg") == 0;
}

static bool parse_regions(const char *text, double rate[SUP_REGION_COUNT])
{
    static const char *const names[SUP_REGION_COUNT] = {"legs", "belly", "chest", "arms"};
    while (text != NULL && *text != 0) {
        const char *equals = strchr(text, '=');
        int found = -1;
        for (int k = 0; k < SUP_REGION_COUNT && equals != NULL; k++)
            if (strlen(names[k]) == (size_t)(equals - text) && strncmp(text, names[k], strlen(names[k])) == 0)
                found = k;
        if (found < 0) return false;
        char *end = NULL;
        rate[found] = strtod(equals + 1, &end);
        if (end == equals + 1 || !isfinite(rate[found]) || rate[found] < 0.0 || rate[found] > 1e6) return false;
        if (*end != 0 && *end != ',') return false;
        text = *end == ',' ? end + 1 : end;
    }
    return true;
}

static int open_body(app_session *session, const char *path, sup_body **body)
{
    sup_error error = {0};
    sup_character *character = NULL;
    int status = app_open_character(session, path, NULL, &character);
    if (status != APP_DONE) return status;
    sup_result result = sup_body_from_character(&session->context, character, body, &error);
    sup_character_destroy(character);
    return result == SUP_OK ? APP_DONE : app_fail(&error, APP_PHASE_LOAD, path);
}

static void print_result(const grow_values *values, const sup_body *previous, const sup_body *grown_body, double ms)
{
    const sup_body_masses *m = &grown_body->masses;
    if (values->json) {
        app_json json = {.file = stdout};
        app_json_object(&json, NULL);
        app_json_text(&json, "input", values->input);
        app_json_text(&json, "output", values->output);
        app_json_number(&json, "fat_previous_kg", previous->masses.fat);
        app_json_number(&json, "fat_target_kg", m->fat_target);
        app_json_number(&json, "fat_kg", m->fat);
        app_json_number(&json, "visceral_kg", m->visceral);
        app_json_number(&json, "muscle_kg", m->muscle);
        app_json_integer(&json, "clamped", m->clamped);
        app_json_integer(&json, "crossings", grown_body->crossings);
        app_json_integer(&json, "inverted", grown_body->inverted);
        app_json_number(&json, "ms", ms);
        app_json_object_end(&json);
    } else if (!values->quiet) {
        printf("%s: fat %.1f kg, previously %.1f (%+.2f kg), %.1f of it visceral, %.1f s\n", app_clean(values->output),
               m->fat, previous->masses.fat, m->fat - previous->masses.fat, m->visceral, 1e-3 * ms);
        printf("  layers     %d vertices outside the next layer, %d inverted prisms\n", (int)grown_body->crossings,
               (int)grown_body->inverted);
        if (m->clamped)
            printf("  requested %+.2f kg, which this body cannot reach\n", m->fat_target - previous->masses.fat);
    }
}

static int grow(app_session *session, const grow_values *values, const sup_body_grow_def *requested)
{
    sup_error error = {0};
    sup_body *body = NULL, *other = NULL, *grown = NULL;
    sup_character *character = NULL;
    app_progress progress;
    sup_body_grow_def def = *requested;
    int status = open_body(session, values->input, &body);
    if (status == APP_DONE && values->from != NULL) status = open_body(session, values->from, &other);
    double began = app_milliseconds();
    if (status == APP_DONE) {
        def.from = other;
        app_progress_begin(&progress, values->quiet, values->json);
        def.progress = app_progress_report;
        def.progress_user = &progress;
        sup_result result = sup_body_grow(&session->context, body, &def, &grown, &error);
        app_progress_end(&progress);
        if (result != SUP_OK) status = app_fail(&error, APP_PHASE_LOAD, values->input);
    }
    double ms = app_milliseconds() - began;
    if (status == APP_DONE) {
        sup_result result = sup_body_character(&session->context, grown, &character, &error);
        if (result == SUP_OK) result = sup_character_save(&session->context, character, values->output, &error);
        if (result != SUP_OK) status = app_fail(&error, APP_PHASE_BAKE, values->output);
    }
    if (status == APP_DONE) print_result(values, body, grown, ms);
    sup_character_destroy(character);
    sup_body_destroy(grown);
    sup_body_destroy(other);
    sup_body_destroy(body);
    return status;
}

int app_anatomy_grow(int argc, char **argv)
{
    grow_values values = {0};
    app_session session;
    sup_body_grow_def def = {0};
    int status = APP_DONE;
    if (!app_parse(&grow_verb, argc, argv, &values, &status)) return status;
    if (!parse_fat(values.fat, &def.fat)) return app_usage("--fat needs kilograms, such as +5kg or -2.5.");
    if (!parse_regions(values.regions, def.rate))
        return app_usage("--region needs rates of legs, belly, chest or arms, such as belly=2,legs=1.");
    if (app_ending(values.output, endings) < 0)
        return app_usage("%s: The output file of a body must end in .glb.", app_clean(values.output));
    def.pressure = values.pressure;
    def.no_visceral = values.no_visceral;
    status = app_session_open(&session, values.threads, values.quiet);
    if (status != APP_DONE) return status;
    status = grow(&session, &values, &def);
    app_session_close(&session);
    return status;
}

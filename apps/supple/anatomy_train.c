/* anatomy_train.c - `supple anatomy train`: computes the shape space and mass regressors of bodies with one
 * triangulation. */
#include "anatomy.h"
#include "json_out.h"
#include "options.h"
#include "progress.h"

#include <stddef.h>

typedef struct train_values {
    const char *shapes, *output;
    int modes, regressor_modes, threads;
    bool json, quiet;
} train_values;

static const app_option train_options[] = {
    {.kind = APP_POSITIONAL,
     .name = "SHAPES",
     .offset = offsetof(train_values, shapes),
     .help = "folder with header.json, params.csv, positions_i16.bin, triangles_u16.bin, joints_*_f32.bin"},
    APP_OUTPUT(train_values, "COMPOSITION", "the file to write"),
    {.kind = APP_WHOLE,
     .name = "modes",
     .argument = "N",
     .offset = offsetof(train_values, modes),
     .minimum = 1,
     .maximum = 64,
     .help = "modes of the shape space; default: 20"},
    {.kind = APP_WHOLE,
     .name = "regressor-modes",
     .argument = "N",
     .offset = offsetof(train_values, regressor_modes),
     .minimum = 1,
     .maximum = 64,
     .help = "modes that the mass regressors use; default: 12"},
    {.kind = APP_WHOLE,
     .name = "threads",
     .letter = 'j',
     .argument = "N",
     .offset = offsetof(train_values, threads),
     .minimum = 0,
     .maximum = 1024,
     .help = "number of threads; 0 (default): one per core. Does not change the result"},
    {.kind = APP_FLAG, .name = "json", .offset = offsetof(train_values, json), .help = "print the result as JSON"},
    {.kind = APP_FLAG,
     .name = "quiet",
     .letter = 'q',
     .offset = offsetof(train_values, quiet),
     .help = "print no progress and no result"},
};

static const app_verb train_verb = {
    .name = "anatomy train",
    .usage = "SHAPES -o COMPOSITION [options]",
    .summary = "Learn the space of body shapes, and predict fat and muscle mass from a shape.",
    .details = "Masses that params.csv does not contain (fat_kg, muscle_kg) are estimated by formulas of adult "
               "populations from sex,\nage, height and weight: fat by Deurenberg et al. 1991, skeletal muscle by Lee "
               "et al. 2000. The masses of each body\nare then predicted from all other bodies of its sex, and the "
               "errors are printed. They are errors against the\nformulas, not against a measurement.\n\nExample:\n  "
               "supple anatomy train shapes -o people.composition\n\nExit status: 0 success, 1 wrong usage, 2 bad "
               "input, 3 other errors (output, memory, Ctrl-C).\n",
    .options = train_options,
    .option_count = (int)(sizeof train_options / sizeof train_options[0]),
};

static const char *const sexes[3] = {"all", "female", "male"};

static void print_line(const char *what, const sup_train_errors *e)
{
    printf("    %-7s %5.1f to %5.1f kg   mean error %.2f kg (+-%.2f)   R2 %.3f\n", what, e->minimum, e->maximum,
           e->mean_error, e->deviation, e->r2);
}

static void print_report(const train_values *values, const sup_composition *c, const sup_train_report *r)
{
    printf("%s: %d vertices, %d joints, %d modes with %.2f %% of the variance\n", app_clean(values->output),
           (int)c->vertex_count, (int)c->joint_count, (int)c->mode_count, 100.0 * r->variance);
    if (r->labelled > 0)
        printf("  masses of %d bodies by formula: fat Deurenberg et al. 1991, muscle Lee et al. 2000\n",
               (int)r->labelled);
    printf(
        "  leave-one-out (thesis, measured masses: fat 1.20 and 1.37 kg, muscle 1.01 and 1.46 kg, R2 0.84 and 0.88,\n"
        "  female and male)\n");
    for (int s = 0; s < 3; s++) {
        if (r->fat[s].count == 0) continue;
        printf("  %s, %d bodies\n", sexes[s], (int)r->fat[s].count);
        print_line("fat", &r->fat[s]);
        print_line("muscle", &r->muscle[s]);
    }
}

static void json_errors(app_json *json, const char *name, const sup_train_errors *e)
{
    app_json_object(json, name);
    app_json_number(json, "min_kg", e->minimum);
    app_json_number(json, "max_kg", e->maximum);
    app_json_number(json, "mean_error_kg", e->mean_error);
    app_json_number(json, "deviation_kg", e->deviation);
    app_json_number(json, "r2", e->r2);
    app_json_object_end(json);
}

static void print_json(const train_values *values, const sup_composition *c, const sup_train_report *r)
{
    app_json json = {.file = stdout};
    app_json_object(&json, NULL);
    app_json_text(&json, "input", values->shapes);
    app_json_text(&json, "output", values->output);
    app_json_integer(&json, "vertices", c->vertex_count);
    app_json_integer(&json, "joints", c->joint_count);
    app_json_integer(&json, "modes", c->mode_count);
    app_json_number(&json, "variance", r->variance);
    app_json_integer(&json, "labelled_by_formula", r->labelled);
    app_json_text(&json, "fat_formula", "Deurenberg et al. 1991");
    app_json_text(&json, "muscle_formula", "Lee et al. 2000");
    for (int s = 0; s < 3; s++) {
        if (r->fat[s].count == 0) continue;
        app_json_object(&json, sexes[s]);
        app_json_integer(&json, "bodies", r->fat[s].count);
        json_errors(&json, "fat", &r->fat[s]);
        json_errors(&json, "muscle", &r->muscle[s]);
        app_json_object_end(&json);
    }
    app_json_object_end(&json);
}

static int train(app_session *session, const train_values *values)
{
    sup_error error = {0};
    sup_shapes *shapes = NULL;
    sup_composition *composition = NULL;
    sup_train_report report = {0};
    if (sup_shapes_load(&session->context, values->shapes, &shapes, &error) != SUP_OK)
        return app_fail(&error, APP_PHASE_LOAD, values->shapes);
    app_progress progress;
    app_progress_begin(&progress, values->quiet, values->json);
    sup_train_def def = {.mode_count = values->modes,
                         .regressor_modes = values->regressor_modes,
                         .progress = app_progress_report,
                         .progress_user = &progress};
    sup_result result = sup_composition_train(&session->context, shapes, &def, &composition, &report, &error);
    app_progress_end(&progress);
    int status = result == SUP_OK ? APP_DONE : app_fail(&error, APP_PHASE_LOAD, values->shapes);
    if (result == SUP_OK && sup_composition_save(&session->context, composition, values->output, &error) != SUP_OK)
        status = app_fail(&error, APP_PHASE_BAKE, values->output);
    if (status == APP_DONE && values->json) print_json(values, composition, &report);
    if (status == APP_DONE && !values->json && !values->quiet) print_report(values, composition, &report);
    sup_composition_destroy(composition);
    sup_shapes_destroy(shapes);
    return status;
}

int app_anatomy_train(int argc, char **argv)
{
    train_values values = {0};
    app_session session;
    int status = APP_DONE;
    if (!app_parse(&train_verb, argc, argv, &values, &status)) return status;
    status = app_session_open(&session, values.threads, values.quiet);
    if (status != APP_DONE) return status;
    status = train(&session, &values);
    app_session_close(&session);
    return status;
}

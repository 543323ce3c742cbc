/* anatomy_register.c - `supple anatomy register`: registers the surface template to a scan. */
#include "anatomy.h"
#include "json_out.h"
#include "options.h"
#include "progress.h"
#include "job.h"

#include <stddef.h>
#include <stdlib.h>

typedef struct register_values {
    const char *scan, *composition, *landmarks, *output;
    double unit;
    int threads, sex;
    bool rest, json, quiet;
} register_values;

static const char *const endings[] = {"glb", "obj", NULL};
static const char *const sex_choices[] = {"unknown", "female", "male", NULL};

static const app_option register_options[] = {
    {.kind = APP_POSITIONAL,
     .name = "SCAN",
     .offset = offsetof(register_values, scan),
     .help = "mesh or point cloud of one person"},
    APP_OUTPUT(register_values, "OUT", ".glb (rigged) or .obj"),
    {.kind = APP_TEXT,
     .name = "composition",
     .argument = "FILE",
     .offset = offsetof(register_values, composition),
     .required = true,
     .help = "surface template: file written by 'supple anatomy train'"},
    {.kind = APP_TEXT,
     .name = "landmarks",
     .argument = "FILE",
     .offset = offsetof(register_values, landmarks),
     .help = "known positions on the scan, one per line: VERTEX x y z or JOINT x y z, in scan coordinates"},
    {.kind = APP_NUMBER,
     .name = "unit",
     .argument = "METRES",
     .offset = offsetof(register_values, unit),
     .minimum = 1e-6,
     .maximum = 1e3,
     .help = "length of one unit of the scan; default: estimated from the height"},
    {.kind = APP_FLAG,
     .name = "rest",
     .offset = offsetof(register_values, rest),
     .help = "write the result in the template's pose instead of the scan's"},
    {.kind = APP_CHOICE,
     .name = "sex",
     .argument = "SEX",
     .offset = offsetof(register_values, sex),
     .choices = sex_choices,
     .help = "unknown, female or male: for the predicted masses"},
    {.kind = APP_WHOLE,
     .name = "threads",
     .letter = 'j',
     .argument = "N",
     .offset = offsetof(register_values, threads),
     .minimum = 0,
     .maximum = 1024,
     .help = "number of threads; 0 (default): one per core. Does not change the result"},
    {.kind = APP_FLAG, .name = "json", .offset = offsetof(register_values, json), .help = "print the result as JSON"},
    {.kind = APP_FLAG,
     .name = "quiet",
     .letter = 'q',
     .offset = offsetof(register_values, quiet),
     .help = "print no progress and no result"},
};

static const app_verb register_verb = {
    .name = "anatomy register",
    .usage = "SCAN --composition FILE -o OUT.glb|.obj [options]",
    .summary = "Register the surface template to a scan: one triangulation for every person.",
    .details = "Scans may be in any unit and orientation, with floor, debris, holes, noise or flipped faces, or inside "
               "out.\nScans of anything but one whole person are refused.\n\nExample:\n  supple anatomy register "
               "scan.ply --composition people.composition -o person.glb\n\nExit status: 0 success, 1 wrong usage, 2 "
               "bad input, 3 other errors (output, memory, Ctrl-C).\n",
    .options = register_options,
    .option_count = (int)(sizeof register_options / sizeof register_options[0]),
};

typedef struct register_masses {
    double fat, muscle;
} register_masses;

static void print_json(const register_values *values, const sup_registration *r, register_masses m, double ms)
{
    app_json json = {.file = stdout};
    app_json_object(&json, NULL);
    app_json_text(&json, "input", values->scan);
    app_json_text(&json, "output", values->output);
    app_json_integer(&json, "vertices", r->vertex_count);
    app_json_number(&json, "metres_per_unit", r->metres_per_unit);
    app_json_integer(&json, "inside_out", r->inside_out);
    app_json_integer(&json, "cloud", r->is_cloud);
    app_json_number(&json, "dropped", r->dropped);
    app_json_numbers(&json, "from_scan", r->from_scan, 12); /* [A | t] by rows, to metres with Y up */
    app_json_number(&json, "coverage", r->coverage);
    app_json_number(&json, "explained", r->explained);
    app_json_number(&json, "model_error_mm", 1e3 * r->model_error);
    app_json_number(&json, "mean_error_mm", 1e3 * r->mean_error);
    app_json_number(&json, "p95_error_mm", 1e3 * r->p95_error);
    app_json_number(&json, "fat_kg", m.fat);
    app_json_number(&json, "muscle_kg", m.muscle);
    app_json_number(&json, "ms", ms);
    app_json_object_end(&json);
}

static void print_result(const register_values *values, const sup_registration *r, register_masses m, double ms)
{
    printf("%s: %s vertices, %.1f s\n", app_clean(values->output), app_grouped(r->vertex_count), 1e-3 * ms);
    printf("  scan       1 unit = %g m%s%s, %.1f %% removed as floor and debris\n", r->metres_per_unit,
           r->is_cloud ? ", point cloud" : "", r->inside_out ? ", inside out (flipped)" : "", 100.0 * r->dropped);
    printf("  coverage   %.1f %% of the body; the surface explains %.1f %% of the scan\n", 100.0 * r->coverage,
           100.0 * r->explained);
    printf("  distance   mean %.2f mm, 95 %% below %.2f mm (shape space alone: mean %.2f mm)\n", 1e3 * r->mean_error,
           1e3 * r->p95_error, 1e3 * r->model_error);
    printf("  masses     fat %.1f kg, muscle %.1f kg, predicted from the shape\n", m.fat, m.muscle);
}

static int save(const app_session *session, const register_values *values, const sup_composition *c,
                const sup_registration *r)
{
    sup_error error = {0};
    const double *skin = values->rest ? r->rest : r->posed, *joints = values->rest ? r->rest_joints : r->joints;
    sup_result result = SUP_OK;
    if (app_ending(values->output, endings) == 1) {
        sup_shape shape = {c->vertex_count, c->triangle_count, skin, c->triangles};
        result = sup_shape_save(&session->context, shape, values->output, &error);
    } else {
        sup_character *character = NULL;
        result = sup_composition_character(&session->context, c, skin, joints, &character, &error);
        if (result == SUP_OK) result = sup_character_save(&session->context, character, values->output, &error);
        sup_character_destroy(character);
    }
    return result == SUP_OK ? APP_DONE : app_fail(&error, APP_PHASE_BAKE, values->output);
}

static int fit(const app_session *session, const register_values *values, const sup_composition *c, sup_shape scan,
               const sup_landmarks *landmarks)
{
    sup_error error = {0};
    sup_registration *r = NULL;
    app_progress progress;
    double began = app_milliseconds();
    app_progress_begin(&progress, values->quiet, values->json);
    sup_register_def def = {.landmarks = landmarks != NULL ? landmarks->items : NULL,
                            .landmark_count = landmarks != NULL ? landmarks->count : 0,
                            .metres_per_unit = values->unit,
                            .progress = app_progress_report,
                            .progress_user = &progress};
    sup_result result = sup_register(&session->context, c, scan, &def, &r, &error);
    app_progress_end(&progress);
    if (result != SUP_OK) return app_fail(&error, APP_PHASE_LOAD, values->scan);
    double ms = app_milliseconds() - began;
    int status = save(session, values, c, r);
    register_masses masses = {0};
    double *coordinates = calloc((size_t)c->mode_count, sizeof *coordinates);
    if (coordinates != NULL &&
        sup_composition_coordinates(&session->context, c, r->rest, coordinates, &error) == SUP_OK)
        sup_composition_masses(c, coordinates, (sup_sex)values->sex, &masses.fat, &masses.muscle);
    free(coordinates);
    if (status == APP_DONE && values->json) print_json(values, r, masses, ms);
    if (status == APP_DONE && !values->json && !values->quiet) print_result(values, r, masses, ms);
    sup_registration_destroy(r);
    return status;
}

static int load_and_fit(app_session *session, const register_values *values)
{
    sup_error error = {0};
    sup_composition *composition = NULL;
    sup_landmarks *landmarks = NULL;
    sup_character *character = NULL;
    if (sup_composition_load(&session->context, values->composition, &composition, &error) != SUP_OK)
        return app_fail(&error, APP_PHASE_LOAD, values->composition);
    int status = APP_DONE;
    if (values->landmarks != NULL &&
        sup_landmarks_load(&session->context, values->landmarks, &landmarks, &error) != SUP_OK)
        status = app_fail(&error, APP_PHASE_LOAD, values->landmarks);
    if (status == APP_DONE) status = app_open_character(session, values->scan, NULL, &character);
    double *positions = NULL;
    if (status == APP_DONE) {
        positions = calloc(3 * (size_t)character->vertex_count + 1, sizeof *positions);
        if (positions == NULL) status = APP_OTHER;
    }
    if (status == APP_DONE && positions != NULL && character != NULL) {
        for (size_t i = 0; i < 3 * (size_t)character->vertex_count; i++)
            positions[i] = (double)character->positions[i];
        sup_shape scan = {character->vertex_count, character->triangle_count, positions, character->triangles};
        status = fit(session, values, composition, scan, landmarks);
    }
    free(positions);
    sup_character_destroy(character);
    sup_landmarks_destroy(landmarks);
    sup_composition_destroy(composition);
    return status;
}

int app_anatomy_register(int argc, char **argv)
{
    register_values values = {0};
    app_session session;
    int status = APP_DONE;
    if (!app_parse(&register_verb, argc, argv, &values, &status)) return status;
    if (app_ending(values.output, endings) < 0)
        return app_usage("%s: The output file of a registration must end in .glb or .obj.", values.output);
    status = app_session_open(&session, values.threads, values.quiet);
    if (status != APP_DONE) return status;
    status = load_and_fit(&session, &values);
    app_session_close(&session);
    return status;
}

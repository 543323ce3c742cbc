/* anatomy_fit.c - `supple anatomy fit`: fits bones, muscles and fat to the scan of a person. */
#include "anatomy.h"
#include "json_out.h"
#include "options.h"
#include "progress.h"
#include "job.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

typedef struct fit_values {
    const char *scan, *template_file, *composition, *landmarks, *output;
    double fat, muscle;
    int sex, threads;
    bool no_details, json, quiet;
} fit_values;

static const char *const endings[] = {"glb", NULL};
static const char *const sexes[] = {"unknown", "female", "male", NULL};

static const app_option fit_options[] = {
    {.kind = APP_POSITIONAL,
     .name = "SCAN",
     .offset = offsetof(fit_values, scan),
     .help = "mesh or point cloud; a mesh with the template's triangulation is used as it is, in metres"},
    {.kind = APP_TEXT,
     .name = "template",
     .letter = 't',
     .argument = "FILE",
     .offset = offsetof(fit_values, template_file),
     .required = true,
     .help = "file written by 'supple anatomy template'"},
    {.kind = APP_TEXT,
     .name = "composition",
     .letter = 'c',
     .argument = "FILE",
     .offset = offsetof(fit_values, composition),
     .help = "file written by 'supple anatomy train': needed for scans, and predicts masses that are not given"},
    {.kind = APP_NUMBER,
     .name = "fat",
     .argument = "KG",
     .offset = offsetof(fit_values, fat),
     .minimum = 0.0,
     .maximum = 500.0,
     .help = "fat mass; default: predicted from the shape by the composition"},
    {.kind = APP_NUMBER,
     .name = "muscle",
     .argument = "KG",
     .offset = offsetof(fit_values, muscle),
     .minimum = 0.0,
     .maximum = 500.0,
     .help = "muscle mass; default: predicted from the shape by the composition"},
    {.kind = APP_TEXT,
     .name = "landmarks",
     .argument = "FILE",
     .offset = offsetof(fit_values, landmarks),
     .help = "known positions on the scan, one per line: VERTEX or JOINT and x y z"},
    {.kind = APP_CHOICE,
     .name = "sex",
     .argument = "SEX",
     .choices = sexes,
     .offset = offsetof(fit_values, sex),
     .help = "unknown, female or male; default: the template's"},
    APP_OUTPUT(fit_values, "BODY.glb",
               "skin with its layers, organs (detailed bones and muscles), rig; masses in the extras"),
    {.kind = APP_FLAG, .name = "no-details", .offset = offsetof(fit_values, no_details), .help = "skip the organs"},
    {.kind = APP_WHOLE,
     .name = "threads",
     .letter = 'j',
     .argument = "N",
     .offset = offsetof(fit_values, threads),
     .minimum = 0,
     .maximum = 1024,
     .help = "number of threads; 0 (default): one per core. Does not change the result"},
    {.kind = APP_FLAG, .name = "json", .offset = offsetof(fit_values, json), .help = "print the result as JSON"},
    {.kind = APP_FLAG,
     .name = "quiet",
     .letter = 'q',
     .offset = offsetof(fit_values, quiet),
     .help = "print no progress and no result"},
};

static const app_verb fit_verb = {
    .name = "anatomy fit",
    .usage = "SCAN --template FILE [--composition FILE] -o BODY.glb [options]",
    .summary = "Fit bones, muscles and fat to a person's skin.",
    .details = "The layers are plausible, not measured: bones are scaled by height and limb lengths, and the ratio of "
               "muscle to fat\ncomes from the given or predicted masses.\n\nExample:\n  supple anatomy fit scan.ply "
               "--template male.template --composition people.composition -o person.glb\n  supple bake person.glb "
               "--method anatomy --motion walk.bvh -o walk.glb\n\nExit status: 0 success, 1 wrong usage, 2 bad input, "
               "3 other errors (output, memory, Ctrl-C).\n",
    .options = fit_options,
    .option_count = (int)(sizeof fit_options / sizeof fit_options[0]),
};

/* State of a fit; freed at the end. */
typedef struct fit_work {
    app_session *session;
    const fit_values *values;
    sup_anatomy *anatomy;
    sup_composition *composition;
    sup_landmarks *landmarks;
    sup_character *scan;
    sup_registration *registration;
    double *positions, *posed; /* vertices of the scan, and of the person in the template's pose */
    double *joints;            /* joints of the composition in the template's pose */
    double fat, muscle;        /* target masses, given or predicted */
    bool predicted;
    sup_body *body;
    double register_ms, fit_ms;
} fit_work;

static int load_inputs(fit_work *w)
{
    const fit_values *values = w->values;
    sup_error error = {0};
    if (sup_anatomy_load(&w->session->context, values->template_file, &w->anatomy, &error) != SUP_OK)
        return app_fail(&error, APP_PHASE_LOAD, values->template_file);
    if (values->composition != NULL &&
        sup_composition_load(&w->session->context, values->composition, &w->composition, &error) != SUP_OK)
        return app_fail(&error, APP_PHASE_LOAD, values->composition);
    if (values->landmarks != NULL &&
        sup_landmarks_load(&w->session->context, values->landmarks, &w->landmarks, &error) != SUP_OK)
        return app_fail(&error, APP_PHASE_LOAD, values->landmarks);
    int status = app_open_character(w->session, values->scan, NULL, &w->scan);
    if (status != APP_DONE) return status;
    size_t capacity =
        (size_t)(w->scan->vertex_count > w->anatomy->vertex_count ? w->scan->vertex_count : w->anatomy->vertex_count);
    w->positions = calloc(3 * capacity + 1, sizeof(double));
    w->posed = calloc(3 * capacity + 1, sizeof(double));
    w->joints = calloc(w->composition != NULL ? 3 * (size_t)w->composition->joint_count + 1 : 1, sizeof(double));
    if (w->positions == NULL || w->posed == NULL || w->joints == NULL) return APP_OTHER;
    for (size_t i = 0; i < 3 * (size_t)w->scan->vertex_count; i++)
        w->positions[i] = (double)w->scan->positions[i];
    return APP_DONE;
}

/* First vertex of the primitive with the template's triangulation, -1 if none has it. */
static int32_t same_triangulation(const fit_work *w)
{
    const sup_anatomy *a = w->anatomy;
    for (int32_t p = 0; p < w->scan->primitive_count; p++) {
        const sup_primitive *primitive = &w->scan->primitives[p];
        if (primitive->vertex_count != a->vertex_count || primitive->triangle_count != a->triangle_count) continue;
        const int32_t *triangles = w->scan->triangles + 3 * (size_t)primitive->triangle_first;
        bool same = true;
        for (size_t i = 0; i < 3 * (size_t)a->triangle_count && same; i++)
            same = triangles[i] - primitive->vertex_first == a->triangles[i];
        if (same) return primitive->vertex_first;
    }
    return -1;
}

/* Predicts the masses that are not given from the shape. `rest` is in the composition's pose. */
static int predict_masses(fit_work *w, const double *rest)
{
    sup_error error = {0};
    double *coordinates = calloc((size_t)w->composition->mode_count + 1, sizeof *coordinates), fat = 0.0, muscle = 0.0;
    sup_sex sex = w->values->sex != SUP_SEX_UNKNOWN ? (sup_sex)w->values->sex : w->anatomy->sex;
    if (coordinates == NULL) return APP_OTHER;
    sup_result result = sup_composition_coordinates(&w->session->context, w->composition, rest, coordinates, &error);
    if (result == SUP_OK) sup_composition_masses(w->composition, coordinates, sex, &fat, &muscle);
    free(coordinates);
    if (result != SUP_OK) return app_fail(&error, APP_PHASE_LOAD, w->values->scan);
    if (w->fat == 0.0 && w->muscle == 0.0) {
        w->fat = fat;
        w->muscle = muscle;
        w->predicted = true;
    }
    return APP_DONE;
}

static int register_scan(fit_work *w, app_progress *progress)
{
    sup_error error = {0};
    const sup_context *context = &w->session->context;
    if (w->composition == NULL)
        return app_usage("%s does not have the template's triangulation: add --composition FILE to register it.",
                         app_clean(w->values->scan));
    double began = app_milliseconds();
    sup_shape shape = {w->scan->vertex_count, w->scan->triangle_count, w->positions, w->scan->triangles};
    sup_register_def def = {.landmarks = w->landmarks != NULL ? w->landmarks->items : NULL,
                            .landmark_count = w->landmarks != NULL ? w->landmarks->count : 0,
                            .progress = app_progress_report,
                            .progress_user = progress};
    if (sup_register(context, w->composition, shape, &def, &w->registration, &error) != SUP_OK)
        return app_fail(&error, APP_PHASE_LOAD, w->values->scan);
    w->register_ms = app_milliseconds() - began;
    if (sup_skin_like_template(context, w->anatomy, w->composition, w->registration->rest, w->registration->rest_joints,
                               w->posed, w->joints, &error) != SUP_OK)
        return app_fail(&error, APP_PHASE_LOAD, w->values->template_file);
    return predict_masses(w, w->registration->rest);
}

/* A skin that already has the triangulation. */
static int copy_skin(fit_work *w, int32_t first)
{
    sup_error error = {0};
    memmove(w->positions, w->positions + 3 * (size_t)first, 3 * (size_t)w->anatomy->vertex_count * sizeof(double));
    if (w->composition == NULL) {
        memcpy(w->posed, w->positions, 3 * (size_t)w->anatomy->vertex_count * sizeof(double));
        return APP_DONE;
    }
    if (sup_skin_like_template(&w->session->context, w->anatomy, w->composition, w->positions, NULL, w->posed,
                               w->joints, &error) != SUP_OK)
        return app_fail(&error, APP_PHASE_LOAD, w->values->template_file);
    return predict_masses(w, w->positions);
}

/* The target mass, and by how much the body misses it. */
static void print_target(const fit_work *w, double mass, double target)
{
    printf("; %s %.1f, missed by %+.1f", w->predicted ? "predicted" : "target", target, mass - target);
}

static double miss(double mass, double target)
{
    return target != 0.0 ? mass - target : 0.0;
}

static void print_result(const fit_work *w)
{
    const sup_body *b = w->body;
    const sup_body_masses *m = &b->masses;
    printf("%s: %.2f m, %s vertices per layer, %.1f s", app_clean(w->values->output), b->height,
           app_grouped(b->layers.vertex_count), 1e-3 * w->fit_ms);
    if (w->registration != NULL) printf(" after %.1f s of registration", 1e-3 * w->register_ms);
    printf("\n  fat        %.1f kg (range %.1f to %.1f), %.1f of it visceral", m->fat, m->fat_min, m->fat_max,
           m->visceral);
    if (m->fat_target != 0.0) print_target(w, m->fat, m->fat_target);
    printf("\n  muscle     %.1f kg (range %.1f to %.1f)", m->muscle, m->muscle_min, m->muscle_max);
    if (m->muscle_target != 0.0) print_target(w, m->muscle, m->muscle_target);
    printf("%s\n", m->clamped ? "; clamped to the range" : "");
    printf("  layers     %d vertices outside the next layer, %d inverted prisms, alignment error %.3f\n",
           (int)b->crossings, (int)b->inverted, b->alignment);
}

static void print_json(const fit_work *w)
{
    const sup_body *b = w->body;
    app_json json = {.file = stdout};
    app_json_object(&json, NULL);
    app_json_text(&json, "input", w->values->scan);
    app_json_text(&json, "output", w->values->output);
    app_json_integer(&json, "vertices", b->layers.vertex_count);
    app_json_number(&json, "height_m", b->height);
    app_json_number(&json, "fat_kg", b->masses.fat);
    app_json_number(&json, "fat_target_kg", b->masses.fat_target);
    app_json_number(&json, "fat_miss_kg", miss(b->masses.fat, b->masses.fat_target));
    app_json_number(&json, "fat_min_kg", b->masses.fat_min);
    app_json_number(&json, "fat_max_kg", b->masses.fat_max);
    app_json_number(&json, "visceral_kg", b->masses.visceral);
    app_json_number(&json, "muscle_kg", b->masses.muscle);
    app_json_number(&json, "muscle_target_kg", b->masses.muscle_target);
    app_json_number(&json, "muscle_miss_kg", miss(b->masses.muscle, b->masses.muscle_target));
    app_json_number(&json, "muscle_min_kg", b->masses.muscle_min);
    app_json_number(&json, "muscle_max_kg", b->masses.muscle_max);
    app_json_integer(&json, "clamped", b->masses.clamped);
    app_json_integer(&json, "crossings", b->crossings);
    app_json_integer(&json, "inverted", b->inverted);
    app_json_number(&json, "alignment", b->alignment);
    if (w->registration != NULL) app_json_numbers(&json, "from_scan", w->registration->from_scan, 12);
    app_json_number(&json, "register_ms", w->register_ms);
    app_json_number(&json, "fit_ms", w->fit_ms);
    app_json_object_end(&json);
}

static int save_body(const fit_work *w)
{
    sup_error error = {0};
    sup_character *character = NULL;
    sup_result result = sup_body_character(&w->session->context, w->body, &character, &error);
    if (result == SUP_OK) result = sup_character_save(&w->session->context, character, w->values->output, &error);
    sup_character_destroy(character);
    return result == SUP_OK ? APP_DONE : app_fail(&error, APP_PHASE_BAKE, w->values->output);
}

static int fit(fit_work *w)
{
    sup_error error = {0};
    app_progress progress;
    int status = load_inputs(w);
    if (status != APP_DONE) return status;
    w->fat = w->values->fat;
    w->muscle = w->values->muscle;
    app_progress_begin(&progress, w->values->quiet, w->values->json);
    int32_t first = same_triangulation(w);
    status = first >= 0 ? copy_skin(w, first) : register_scan(w, &progress);
    double began = app_milliseconds();
    if (status == APP_DONE) {
        sup_joints joints = {0};
        if (w->composition != NULL)
            joints = (sup_joints){w->composition->joint_count, (const char *const *)w->composition->joint_names,
                                  w->composition->parents, w->joints};
        sup_body_fit_def def = {.name = w->scan->name,
                                .skin = w->posed,
                                .joints = w->composition != NULL ? &joints : NULL,
                                .sex = (sup_sex)w->values->sex,
                                .fat = w->fat,
                                .muscle = w->muscle,
                                .no_details = w->values->no_details,
                                .progress = app_progress_report,
                                .progress_user = &progress};
        if (sup_body_fit(&w->session->context, w->anatomy, &def, &w->body, &error) != SUP_OK)
            status = app_fail(&error, APP_PHASE_LOAD, w->values->scan);
    }
    app_progress_end(&progress);
    w->fit_ms = app_milliseconds() - began;
    if (status == APP_DONE) status = save_body(w);
    if (status == APP_DONE && w->values->json) print_json(w);
    if (status == APP_DONE && !w->values->json && !w->values->quiet) print_result(w);
    return status;
}

int app_anatomy_fit(int argc, char **argv)
{
    fit_values values = {0};
    app_session session;
    int status = APP_DONE;
    if (!app_parse(&fit_verb, argc, argv, &values, &status)) return status;
    if (app_ending(values.output, endings) < 0)
        return app_usage("%s: The output file of a body must end in .glb.", app_clean(values.output));
    status = app_session_open(&session, values.threads, values.quiet);
    if (status != APP_DONE) return status;
    fit_work w = {.session = &session, .values = &values};
    status = fit(&w);
    sup_body_destroy(w.body);
    sup_registration_destroy(w.registration);
    sup_character_destroy(w.scan);
    sup_landmarks_destroy(w.landmarks);
    sup_composition_destroy(w.composition);
    sup_anatomy_destroy(w.anatomy);
    free(w.positions);
    free(w.posed);
    free(w.joints);
    app_session_close(&session);
    return status;
}

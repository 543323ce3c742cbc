/* cmd_bake.c - `supple bake`: a character and a motion in, skinned frames out. */
#include "json_out.h"
#include "options.h"
#include "progress.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { PARAM_LIMIT = 64, NAME_LIMIT = 256, ALL_FRAMES = -1 };

typedef struct bake_values {
    const char *input, *output, *method, *clip, *motion, *map, *skeleton, *frames;
    double fps;
    app_texts set;
    int weights, threads;
    bool no_normals, json, quiet;
} bake_values;

static const char *const weight_choices[] = {"auto", "file", "nearest", "heat", "rigid", NULL};
static const sup_weight_source weight_sources[] = {SUP_WEIGHTS_AUTO, SUP_WEIGHTS_FILE, SUP_WEIGHTS_NEAREST,
                                                   SUP_WEIGHTS_HEAT, SUP_WEIGHTS_RIGID};
static const char *const output_endings[] = {"glb", "pc2", "mdd", "obj"};
enum { ENDING_COUNT = sizeof output_endings / sizeof output_endings[0] };

#define AT(field) offsetof(bake_values, field)
static const app_option bake_options[] = {
    {.kind = APP_POSITIONAL,
     .name = "INPUT",
     .offset = AT(input),
     .help = "character file, mesh with --skeleton, .ini, or scene:NAME ('supple scenes')"},
    {.kind = APP_TEXT,
     .name = "output",
     .letter = 'o',
     .argument = "OUTPUT",
     .offset = AT(output),
     .required = true,
     .help = ".glb (motion as morph targets), .pc2, .mdd (point caches), .obj (a sequence)"},
    {.kind = APP_TEXT,
     .name = "method",
     .letter = 'm',
     .argument = "NAME",
     .offset = AT(method),
     .help = "skinning method ('supple methods'); the first of them when not given"},
    {.kind = APP_MANY,
     .name = "set",
     .letter = 's',
     .argument = "NAME=VALUE",
     .offset = AT(set),
     .help = "a parameter of the method; may be given again"},
    {.kind = APP_TEXT,
     .name = "clip",
     .letter = 'c',
     .argument = "NAME|INDEX",
     .offset = AT(clip),
     .help = "which motion of the file plays ('supple info'); else the first"},
    {.kind = APP_TEXT,
     .name = "motion",
     .argument = "FILE",
     .offset = AT(motion),
     .help = "a motion from another file: .bvh, .anim, or a character with a clip"},
    {.kind = APP_TEXT,
     .name = "map",
     .argument = "FILE",
     .offset = AT(map),
     .help = "joint names for --motion, a line each: my_joint = its_joint"},
    {.kind = APP_TEXT,
     .name = "skeleton",
     .argument = "FILE",
     .offset = AT(skeleton),
     .help = "a .skel or .bvh for a mesh without one"},
    {.kind = APP_NUMBER,
     .name = "fps",
     .argument = "NUMBER",
     .offset = AT(fps),
     .minimum = 0.001,
     .maximum = 10000.0,
     .help = "frames per second; 30 when not given"},
    {.kind = APP_TEXT,
     .name = "frames",
     .argument = "A:B",
     .offset = AT(frames),
     .help = "only frames A to B, both included, counted from 0; A: and :B work"},
    {.kind = APP_CHOICE,
     .name = "weights",
     .argument = "HOW",
     .offset = AT(weights),
     .choices = weight_choices,
     .help = "auto (the file's, else heat), file, nearest, heat, rigid"},
    {.kind = APP_WHOLE,
     .name = "threads",
     .letter = 'j',
     .argument = "N",
     .offset = AT(threads),
     .minimum = 0,
     .maximum = 1024,
     .help = "0 or not given: as many as the machine has; same result for any number"},
    {.kind = APP_FLAG, .name = "no-normals", .offset = AT(no_normals), .help = "leave normals out of the output"},
    {.kind = APP_FLAG, .name = "json", .offset = AT(json), .help = "the result as one JSON object on stdout"},
    {.kind = APP_FLAG, .name = "quiet", .letter = 'q', .offset = AT(quiet), .help = "no progress and no result line"},
};

static const app_verb bake_verb = {
    .name = "bake",
    .usage = "INPUT -o OUTPUT [options]",
    .summary = "Plays a motion on a character and writes the skinned result.",
    .details = "Vertices keep the order of the input, in its own world space. The output is written beside its place\n"
               "and renamed when whole: a failure or Ctrl-C leaves no half file and an older file untouched.\n\n"
               "Examples:\n"
               "  supple bake scene:human -o human.glb\n"
               "  supple bake dancer.glb -o dancer.pc2 --method dualquat --clip Samba --fps 60\n"
               "  supple bake hero.glb -o hero_walks.glb --motion walk.bvh --map joints.txt\n"
               "  supple bake body.obj -o body.mdd --skeleton body.skel --motion jump.anim\n\n"
               "Exit status: 0 done, 1 wrong usage, 2 bad input, 3 anything else (output, memory, Ctrl-C).\n",
    .options = bake_options,
    .option_count = (int)(sizeof bake_options / sizeof bake_options[0]),
};

/* Everything the bake needs, gathered before the work starts; freed in one place. */
typedef struct bake_job {
    const bake_values *values;
    app_session session;
    const sup_method *method;
    double params[PARAM_LIMIT];
    sup_character *character;
    sup_joint_map *map;
    sup_clip *motion;
    const sup_clip *clip; /* of the character, or the motion; NULL = the rest pose */
    int32_t first_frame, last_frame;
} bake_job;

static int check_ending(const char *output)
{
    const char *dot = strrchr(output, '.'), *slash = strrchr(output, '/');
    char ending[8] = "";
    if (dot != NULL && (slash == NULL || dot > slash) && strlen(dot) < sizeof ending)
        for (size_t i = 0; dot[i + 1] != '\0'; i++)
            ending[i] = (char)(dot[i + 1] | 0x20);
    for (int i = 0; i < ENDING_COUNT; i++)
        if (strcmp(ending, output_endings[i]) == 0) return APP_DONE;
    return app_usage("%s: The ending of the output says its format: .glb, .pc2, .mdd or .obj.", output);
}

static bool same_file(const char *a, const char *b)
{
    struct stat status_a, status_b;
    return a != NULL && b != NULL && stat(a, &status_a) == 0 && stat(b, &status_b) == 0 && S_ISREG(status_a.st_mode) &&
           status_a.st_dev == status_b.st_dev && status_a.st_ino == status_b.st_ino;
}

static int check_values(const bake_values *values)
{
    if (values->map != NULL && values->motion == NULL)
        return app_usage("--map %s: A joint map is for --motion, which is missing.", values->map);
    if (values->clip != NULL && values->motion != NULL)
        return app_usage("--clip %s: Give --clip or --motion, not both.", values->clip);
    if (values->json && values->quiet) return app_usage("Give --json or --quiet, not both.");
    if (same_file(values->input, values->output) || same_file(values->motion, values->output) ||
        same_file(values->skeleton, values->output) || same_file(values->map, values->output))
        return app_usage("%s: The output is one of the inputs; name another file.", values->output);
    return check_ending(values->output);
}

static int fail_method(const char *name)
{
    const char *names[NAME_LIMIT];
    char list[400] = "";
    int32_t count = sup_method_count() < NAME_LIMIT ? sup_method_count() : NAME_LIMIT;
    for (int32_t i = 0; i < count; i++) {
        size_t length = strlen(list);
        names[i] = sup_method_at(i)->name;
        snprintf(list + length, sizeof list - length, "%s%s", i > 0 ? ", " : "", names[i]);
    }
    const char *nearest = app_nearest(name, names, count);
    if (nearest != NULL)
        return app_usage("--method %s: There is no such method; did you mean %s? There are: %s.", name, nearest, list);
    return app_usage("--method %s: There is no such method; there are: %s.", name, list);
}

static int fail_param(const sup_method *method, const char *name)
{
    const char *names[PARAM_LIMIT];
    char list[600] = "";
    for (int32_t i = 0; i < method->param_count; i++) {
        size_t length = strlen(list);
        names[i] = method->params[i].name;
        snprintf(list + length, sizeof list - length, "%s%s", i > 0 ? ", " : "", names[i]);
    }
    const char *nearest = app_nearest(name, names, method->param_count);
    if (method->param_count == 0) return app_usage("--set %s: The method %s has no parameters.", name, method->name);
    if (nearest != NULL)
        return app_usage("--set %s: %s has no such parameter; did you mean %s? It has: %s.", name, method->name,
                         nearest, list);
    return app_usage("--set %s: %s has no such parameter; it has: %s.", name, method->name, list);
}

static bool has_param(const sup_method *method, const char *name)
{
    for (int32_t i = 0; i < method->param_count; i++)
        if (strcmp(method->params[i].name, name) == 0) return true;
    return false;
}

static int choose_method(bake_job *job)
{
    const bake_values *values = job->values;
    job->method = values->method != NULL ? sup_method_find(values->method) : sup_method_at(0);
    if (job->method == NULL) return fail_method(values->method != NULL ? values->method : "");
    if (job->method->param_count > PARAM_LIMIT) return app_usage("%s has too many parameters.", job->method->name);
    sup_method_defaults(job->method, job->params);
    for (int i = 0; i < values->set.count; i++) {
        const char *text = values->set.items[i], *equals = strchr(text, '=');
        char name[64];
        sup_error error = {0};
        if (equals == NULL || equals == text || (size_t)(equals - text) >= sizeof name)
            return app_usage("--set %s: Give a name and a value, such as --set stiffness=2.", text);
        snprintf(name, sizeof name, "%.*s", (int)(equals - text), text);
        if (!has_param(job->method, name)) return fail_param(job->method, name);
        if (sup_method_set(job->method, job->params, name, equals + 1, &error) != SUP_OK)
            return app_usage("--set %s: %s", text, error.message);
    }
    return APP_DONE;
}

static int fail_clip(const sup_character *character, const char *name, const char *input)
{
    const char *names[NAME_LIMIT];
    char list[1500] = "";
    int32_t count = character->clip_count < NAME_LIMIT ? character->clip_count : NAME_LIMIT;
    if (count == 0) return app_usage("--clip %s: %s has no clips; leave --clip out or give a --motion.", name, input);
    for (int32_t i = 0; i < count; i++) {
        size_t length = strlen(list);
        names[i] = character->clips[i].name;
        snprintf(list + length, sizeof list - length, "%s%d %s", i > 0 ? ", " : "", (int)i, names[i]);
    }
    const char *nearest = app_nearest(name, names, count);
    if (nearest != NULL)
        return app_usage("--clip %s: There is no such clip; did you mean %s? There are: %s.", name, nearest, list);
    return app_usage("--clip %s: There is no such clip; there are: %s.", name, list);
}

static int choose_clip(bake_job *job)
{
    const sup_character *character = job->character;
    const char *name = job->values->clip;
    double index = 0.0;
    if (name == NULL) {
        job->clip = character->clip_count > 0 ? &character->clips[0] : NULL;
        return APP_DONE;
    }
    int32_t found = sup_character_find_clip(character, name);
    if (found < 0 && app_parse_whole(name, &index) && index >= 0.0 && index < (double)character->clip_count)
        found = (int32_t)index;
    if (found < 0) return fail_clip(character, name, job->values->input);
    job->clip = &character->clips[found];
    return APP_DONE;
}

static int load_motion(bake_job *job)
{
    const bake_values *values = job->values;
    const sup_context *context = &job->session.context;
    sup_retarget_def retarget = sup_default_retarget_def();
    sup_load_def def = app_load_def(NULL);
    sup_error error = {0};
    if (values->map != NULL && sup_joint_map_load(context, values->map, &job->map, &error) != SUP_OK)
        return app_fail(&error, APP_PHASE_LOAD, values->map);
    retarget.map = job->map;
    if (sup_load_motion(context, values->motion, &def, job->character, &retarget, &job->motion, &error) != SUP_OK)
        return app_fail_load(&error, values->motion);
    job->clip = job->motion;
    return APP_DONE;
}

/* "A:B", "A:", ":B" or "A", whole numbers from 0. */
static bool parse_frames(const char *text, int32_t *first, int32_t *last)
{
    char part[2][16] = {"", ""};
    double number = 0.0;
    const char *colon = strchr(text, ':');
    size_t length = colon != NULL ? (size_t)(colon - text) : strlen(text);
    if (length >= sizeof part[0] || (colon != NULL && strlen(colon + 1) >= sizeof part[1])) return false;
    memcpy(part[0], text, length);
    if (colon != NULL) memcpy(part[1], colon + 1, strlen(colon + 1));
    if (part[0][0] == '\0' && part[1][0] == '\0') return false;
    *first = 0;
    *last = ALL_FRAMES;
    if (part[0][0] != '\0') {
        if (!app_parse_whole(part[0], &number) || number < 0.0) return false;
        *first = (int32_t)number;
    }
    if (colon == NULL) *last = *first;
    if (part[1][0] != '\0') {
        if (!app_parse_whole(part[1], &number) || number < (double)*first) return false;
        *last = (int32_t)number;
    }
    return true;
}

static int choose_frames(bake_job *job)
{
    const char *text = job->values->frames;
    int32_t count = job->clip != NULL ? sup_clip_frame_count(job->clip, job->values->fps) : 1;
    if (text != NULL && !parse_frames(text, &job->first_frame, &job->last_frame))
        return app_usage("--frames %s: Give two whole numbers from 0, the first not above the second, such as 0:59.",
                         text);
    if (job->first_frame >= count || job->last_frame >= count)
        return app_usage("--frames %s: The motion has %d frames at %g frames per second, 0 to %d.", text, (int)count,
                         job->values->fps, (int)count - 1);
    if (text == NULL || job->last_frame == ALL_FRAMES) job->last_frame = count - 1;
    return APP_DONE;
}

static int prepare(bake_job *job)
{
    int status = check_values(job->values);
    if (status == APP_DONE) status = choose_method(job);
    if (status == APP_DONE) status = app_session_open(&job->session, job->values->threads, job->values->quiet);
    if (status == APP_DONE)
        status = app_open_character(&job->session, job->values->input, job->values->skeleton, &job->character);
    if (status == APP_DONE) status = job->values->motion != NULL ? load_motion(job) : choose_clip(job);
    if (status == APP_DONE) status = choose_frames(job);
    return status;
}

static void print_json(const bake_job *job, const sup_bake_stats *stats, double total_ms)
{
    app_json json = {.file = stdout};
    app_json_object(&json, NULL);
    app_json_text(&json, "input", job->values->input);
    app_json_text(&json, "output", job->values->output);
    app_json_text(&json, "method", job->method->name);
    app_json_object(&json, "parameters");
    for (int32_t i = 0; i < job->method->param_count; i++)
        app_json_number(&json, job->method->params[i].name, job->params[i]);
    app_json_object_end(&json);
    app_json_text(&json, "clip", job->clip != NULL ? job->clip->name : NULL);
    app_json_number(&json, "fps", job->values->fps);
    app_json_integer(&json, "first_frame", job->first_frame);
    app_json_integer(&json, "last_frame", job->last_frame);
    app_json_integer(&json, "frames", stats->frame_count);
    app_json_integer(&json, "vertices", stats->vertex_count);
    app_json_integer(&json, "threads", job->session.context.tasks.worker_count);
    app_json_number(&json, "ms_per_frame", stats->step_ms);
    app_json_number(&json, "load_ms", job->session.load_ms);
    app_json_number(&json, "bind_ms", stats->bind_ms);
    app_json_number(&json, "write_ms", stats->write_ms);
    app_json_number(&json, "total_ms", total_ms);
    app_json_integer(&json, "bytes", (int64_t)stats->bytes);
    app_json_object_end(&json);
}

static void print_result(const bake_job *job, const sup_bake_stats *stats, double total_ms)
{
    printf("%s: %s frame%s, %s vertices, %.3g ms per frame\n", app_clean(job->values->output),
           app_grouped(stats->frame_count), stats->frame_count == 1 ? "" : "s", app_grouped(stats->vertex_count),
           stats->step_ms);
    if (job->clip == NULL)
        printf("  the rest pose, there is no clip;");
    else if (job->clip->name[0] == '\0')
        printf("  a clip without a name;");
    else
        printf("  clip %s;", app_clean(job->clip->name));
    printf(" method %s; %s in %.2f s (load %.0f ms, bind %.0f ms, write %.0f ms)\n", job->method->name,
           app_size((double)stats->bytes), total_ms / 1e3, job->session.load_ms, stats->bind_ms, stats->write_ms);
}

static int bake(bake_job *job)
{
    const bake_values *values = job->values;
    double began = app_milliseconds() - job->session.load_ms;
    sup_rig_def rig = sup_default_rig_def();
    sup_bake_stats stats = {0};
    sup_error error = {0};
    app_progress progress;
    rig.weights = weight_sources[values->weights];
    app_progress_begin(&progress, values->quiet, values->json);
    sup_bake_def def = {.method = job->method,
                        .values = job->params,
                        .rig = &rig,
                        .clip = job->clip,
                        .fps = values->fps,
                        .first_frame = job->first_frame,
                        .frame_count = job->last_frame - job->first_frame + 1,
                        .no_normals = values->no_normals,
                        .progress = app_progress_tell,
                        .progress_user = &progress};
    sup_result result = sup_bake(&job->session.context, job->character, &def, values->output, &stats, &error);
    app_progress_end(&progress);
    if (result == SUP_ERROR_CANCELLED) {
        app_say("%s: Stopped; nothing was written.", values->output);
        return APP_OTHER;
    }
    if (result != SUP_OK)
        return app_fail(&error, APP_PHASE_BAKE, result == SUP_ERROR_IO ? values->output : values->input);
    if (values->json) print_json(job, &stats, app_milliseconds() - began);
    if (!values->json && !values->quiet) print_result(job, &stats, app_milliseconds() - began);
    return APP_DONE;
}

int app_command_bake(int argc, char **argv)
{
    bake_values values = {.fps = 30.0};
    int status = APP_DONE;
    if (!app_parse(&bake_verb, argc, argv, &values, &status)) return status;
    bake_job job = {.values = &values, .last_frame = ALL_FRAMES};
    status = prepare(&job);
    if (status == APP_DONE) status = bake(&job);
    sup_clip_destroy(job.motion);
    sup_joint_map_destroy(job.map);
    sup_character_destroy(job.character);
    app_session_close(&job.session);
    return status;
}

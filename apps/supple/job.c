/* job.c - resolves the shared options of a verb: input, clip or motion, method and parameters, frames. */
#include "job.h"

#include <stdlib.h>
#include <string.h>

enum { NAME_LIMIT = 256, ALL_FRAMES = -1 };

const char *const app_weight_choices[] = {"auto", "file", "nearest", "heat", "rigid", NULL};

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
        return app_usage("--method %s: Unknown method; did you mean %s? Available: %s.", name, nearest, list);
    return app_usage("--method %s: Unknown method. Available: %s.", name, list);
}

static int fail_param(const sup_method *method, const char *name)
{
    const char *names[APP_PARAM_LIMIT];
    char list[600] = "";
    for (int32_t i = 0; i < method->param_count; i++) {
        size_t length = strlen(list);
        names[i] = method->params[i].name;
        snprintf(list + length, sizeof list - length, "%s%s", i > 0 ? ", " : "", names[i]);
    }
    const char *nearest = app_nearest(name, names, method->param_count);
    if (method->param_count == 0) return app_usage("--set %s: The method %s has no parameters.", name, method->name);
    if (nearest != NULL)
        return app_usage("--set %s: %s has no such parameter; did you mean %s? Available: %s.", name, method->name,
                         nearest, list);
    return app_usage("--set %s: %s has no such parameter. Available: %s.", name, method->name, list);
}

static bool has_param(const sup_method *method, const char *name)
{
    for (int32_t i = 0; i < method->param_count; i++)
        if (strcmp(method->params[i].name, name) == 0) return true;
    return false;
}

/* Applies every NAME=VALUE of `set` to the parameters of a method. */
static int apply_set(const sup_method *found, const app_texts *set, double *params)
{
    for (int i = 0; i < set->count; i++) {
        const char *text = set->items[i], *equals = strchr(text, '=');
        char param[64];
        sup_error error = {0};
        if (equals == NULL || equals == text || (size_t)(equals - text) >= sizeof param)
            return app_usage("--set %s: Expected NAME=VALUE, such as --set stiffness=2.", text);
        snprintf(param, sizeof param, "%.*s", (int)(equals - text), text);
        if (!has_param(found, param)) return fail_param(found, param);
        if (sup_method_set(found, params, param, equals + 1, &error) != SUP_OK)
            return app_usage("--set %s: %s", text, error.message);
    }
    return APP_DONE;
}

int app_choose_method(const char *name, const app_texts *set, const sup_method **method, double *params)
{
    const sup_method *found = name != NULL ? sup_method_find(name) : sup_method_at(0);
    if (found == NULL) return fail_method(name != NULL ? name : "");
    if (found->param_count > APP_PARAM_LIMIT) return app_usage("%s has too many parameters.", found->name);
    sup_method_defaults(found, params);
    *method = found;
    return apply_set(found, set, params);
}

/* Method and parameters from --settings; --set overrides them. */
static int load_settings(app_job *job)
{
    const app_job_values *values = job->values;
    sup_error error = {0};
    if (sup_settings_load(NULL, values->settings, &job->settings, &error) != SUP_OK)
        return app_fail(&error, APP_PHASE_LOAD, values->settings);
    job->method = job->settings->method;
    if (job->method->param_count > APP_PARAM_LIMIT) return app_usage("%s has too many parameters.", job->method->name);
    memcpy(job->params, job->settings->values, (size_t)job->method->param_count * sizeof *job->params);
    if (values->method != NULL && strcmp(values->method, job->method->name) != 0)
        return app_usage("--method %s: %s contains settings of %s; omit --method.", values->method, values->settings,
                         job->method->name);
    return apply_set(job->method, &values->set, job->params);
}

/* Loads --model with its method and the parameters of its bind; --set may change only live parameters. */
static int load_model(app_job *job)
{
    const app_job_values *values = job->values;
    sup_error error = {0};
    if (sup_model_load_file(&job->session.context, values->model, &job->model, &error) != SUP_OK)
        return app_fail(&error, APP_PHASE_LOAD, values->model);
    const sup_method *method = job->method = sup_model_method(job->model);
    if (values->method != NULL && strcmp(values->method, method->name) != 0)
        return app_usage("--method %s: %s was bound for %s; omit --method or bind again.", values->method,
                         values->model, method->name);
    if (method->param_count > APP_PARAM_LIMIT) return app_usage("%s has too many parameters.", method->name);
    const double *bound = sup_model_values(job->model);
    for (int32_t i = 0; i < method->param_count; i++)
        job->params[i] = bound[i];
    int status = apply_set(method, &values->set, job->params);
    for (int32_t i = 0; status == APP_DONE && i < method->param_count; i++)
        if (job->params[i] != bound[i] && !method->params[i].live)
            status = app_usage("--set %s: The parameter is fixed in %s; bind again with the new value.",
                               method->params[i].name, values->model);
    return status;
}

/* Painted maps must have the vertex count of the character. */
static int check_settings(const app_job *job)
{
    int32_t painted = job->settings->vertex_count, count = job->character->vertex_count;
    if (painted == 0 || painted == count) return APP_DONE;
    app_say("%s: The maps were painted on a character with %d vertices; this character has %d.", job->values->settings,
            (int)painted, (int)count);
    return APP_INPUT;
}

/* The model must belong to the loaded character. */
static int check_model(const app_job *job)
{
    sup_error error = {0};
    if (sup_model_check_character(job->model, job->character, &error) == SUP_OK) return APP_DONE;
    app_say("%s: %s", job->values->model, error.message);
    return APP_INPUT;
}

static int open_colliders(app_job *job)
{
    const app_texts *given = &job->values->colliders;
    if (given->count > 0 && (job->method->flags & SUP_METHOD_COLLIDES) == 0)
        return app_usage("--collider %s: The method %s does not support colliders; projective does.", given->items[0],
                         job->method->name);
    return app_colliders_open(&job->colliders, &job->session, job->character, given);
}

char *app_read_file(const char *path, size_t *size)
{
    FILE *file = fopen(path, "rb");
    size_t capacity = (size_t)1 << 16, used = 0;
    char *text = malloc(capacity);
    while (file != NULL && text != NULL) {
        size_t got = fread(text + used, 1, capacity - used - 1, file);
        used += got;
        if (got == 0) break;
        if (used + 1 < capacity) continue;
        char *larger = realloc(text, 2 * capacity);
        if (larger == NULL) free(text);
        text = larger;
        capacity *= 2;
    }
    bool failed = file == NULL || ferror(file) != 0;
    if (file != NULL) fclose(file);
    if (failed || text == NULL) {
        free(text);
        return NULL;
    }
    text[used] = '\0';
    *size = used;
    return text;
}

static int load_setup(app_job *job)
{
    if (job->values->setup == NULL) return APP_DONE;
    job->setup = app_read_file(job->values->setup, &job->setup_size);
    if (job->setup != NULL) return APP_DONE;
    app_say("--setup %s: The file cannot be read.", job->values->setup);
    return APP_INPUT;
}

int app_setup_check(const app_job_values *values, const sup_method *const *methods, int32_t count)
{
    char list[200] = "";
    if (values->setup == NULL) return APP_DONE;
    for (int32_t i = 0; i < count; i++)
        if ((methods[i]->flags & SUP_METHOD_SETUP) != 0) return APP_DONE;
    for (int32_t i = 0; i < sup_method_count(); i++)
        if ((sup_method_at(i)->flags & SUP_METHOD_SETUP) != 0)
            snprintf(list + strlen(list), sizeof list - strlen(list), "%s%s", list[0] != '\0' ? ", " : "",
                     sup_method_at(i)->name);
    return app_usage("--setup %s: The method %s accepts no setup; these methods do: %s.", values->setup,
                     methods[0]->name, list);
}

void app_setup_apply(const app_job *job, const sup_method *method, sup_bind_def *def)
{
    if ((method->flags & SUP_METHOD_SETUP) == 0) return;
    def->setup = job->setup;
    def->setup_size = job->setup_size;
}

static int fail_clip(const sup_character *character, const char *name, const char *input)
{
    const char *names[NAME_LIMIT];
    char list[1500] = "";
    int32_t count = character->clip_count < NAME_LIMIT ? character->clip_count : NAME_LIMIT;
    if (count == 0) return app_usage("--clip %s: %s has no clips; omit --clip or give --motion.", name, input);
    for (int32_t i = 0; i < count; i++) {
        size_t length = strlen(list);
        names[i] = character->clips[i].name;
        snprintf(list + length, sizeof list - length, "%s%d %s", i > 0 ? ", " : "", (int)i, names[i]);
    }
    const char *nearest = app_nearest(name, names, count);
    if (nearest != NULL)
        return app_usage("--clip %s: Unknown clip; did you mean %s? Available: %s.", name, nearest, list);
    return app_usage("--clip %s: Unknown clip. Available: %s.", name, list);
}

static int choose_clip(app_job *job)
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

static int load_motion(app_job *job)
{
    const app_job_values *values = job->values;
    const sup_context *context = &job->session.context;
    sup_retarget_def retarget = sup_default_retarget_def();
    sup_load_def def = app_load_def(NULL);
    sup_error error = {0};
    if (values->map != NULL && sup_joint_map_load(context, values->map, &job->map, &error) != SUP_OK)
        return app_fail(&error, APP_PHASE_LOAD, values->map);
    retarget.map = job->map;
    if (sup_load_motion(context, values->motion, &def, job->character, &retarget, &job->motion, &error) != SUP_OK)
        return app_fail_load(&error, values->motion);
    int32_t flips = values->raw_motion ? 0 : sup_clip_despike(job->motion);
    if (flips > 0 && !job->session.quiet)
        app_say("%s: Removed %d rotation flip%s of motion capture; --raw-motion keeps them.", values->motion,
                (int)flips, flips == 1 ? "" : "s");
    job->clip = job->motion;
    return APP_DONE;
}

bool app_parse_frames(const char *text, int32_t *first, int32_t *last)
{
    char bound[2][16] = {"", ""};
    double number = 0.0;
    const char *colon = strchr(text, ':');
    size_t length = colon != NULL ? (size_t)(colon - text) : strlen(text);
    if (length >= sizeof bound[0] || (colon != NULL && strlen(colon + 1) >= sizeof bound[1])) return false;
    memcpy(bound[0], text, length);
    if (colon != NULL) memcpy(bound[1], colon + 1, strlen(colon + 1));
    if (bound[0][0] == '\0' && bound[1][0] == '\0') return false;
    *first = 0;
    *last = ALL_FRAMES;
    if (bound[0][0] != '\0') {
        if (!app_parse_whole(bound[0], &number) || number < 0.0) return false;
        *first = (int32_t)number;
    }
    if (colon == NULL) *last = *first;
    if (bound[1][0] != '\0') {
        if (!app_parse_whole(bound[1], &number) || number < (double)*first) return false;
        *last = (int32_t)number;
    }
    return true;
}

static int choose_frames(app_job *job)
{
    const char *text = job->values->frames;
    double fps = job->values->fps;
    int32_t count = job->clip != NULL ? sup_clip_frame_count(job->clip, fps) : 1;
    job->frame_count = count;
    job->last_frame = ALL_FRAMES;
    if (text != NULL && !app_parse_frames(text, &job->first_frame, &job->last_frame))
        return app_usage("--frames %s: Expected two integers from 0 in ascending order, such as 0:59.", text);
    if (job->first_frame >= count || job->last_frame >= count)
        return app_usage("--frames %s: The animation has %d frames at %g frames per second, 0 to %d.", text, (int)count,
                         fps, (int)count - 1);
    if (job->last_frame == ALL_FRAMES) job->last_frame = count - 1;
    return APP_DONE;
}

static int check_values(const app_job_values *values)
{
    if (values->map != NULL && values->motion == NULL)
        return app_usage("--map %s: A joint map needs --motion.", values->map);
    if (values->clip != NULL && values->motion != NULL)
        return app_usage("--clip %s: Give --clip or --motion, not both.", values->clip);
    if (values->model != NULL && values->weights != 0)
        return app_usage("--weights: The weights are fixed in the model of --model; bind again with other weights.");
    if (values->model != NULL && values->settings != NULL)
        return app_usage(
            "--settings %s: The settings are fixed in the model of --model; bind again with these settings.",
            values->settings);
    if (values->model != NULL && values->setup != NULL)
        return app_usage("--setup %s: The setup is fixed in the model of --model; bind again with this setup.",
                         values->setup);
    if (values->json && values->quiet) return app_usage("Give --json or --quiet, not both.");
    return APP_DONE;
}

int app_job_open(app_job *job, const app_job_values *values)
{
    memset(job, 0, sizeof *job);
    job->values = values;
    int status = check_values(values);
    if (status == APP_DONE && values->settings != NULL)
        status = load_settings(job);
    else if (status == APP_DONE && values->model == NULL)
        status = app_choose_method(values->method, &values->set, &job->method, job->params);
    if (status == APP_DONE) status = app_session_open(&job->session, values->threads, values->quiet);
    if (status == APP_DONE && values->model != NULL) status = load_model(job);
    if (status == APP_DONE)
        status = app_open_character(&job->session, values->input, values->skeleton, &job->character);
    if (status == APP_DONE && job->settings != NULL) status = check_settings(job);
    if (status == APP_DONE && job->model != NULL) status = check_model(job);
    if (status == APP_DONE) status = load_setup(job);
    if (status == APP_DONE) status = open_colliders(job);
    if (status == APP_DONE) status = values->motion != NULL ? load_motion(job) : choose_clip(job);
    if (status == APP_DONE) status = choose_frames(job);
    return status;
}

void app_job_close(app_job *job)
{
    sup_clip_destroy(job->motion);
    sup_joint_map_destroy(job->map);
    app_colliders_close(&job->colliders);
    sup_settings_destroy(job->settings);
    sup_model_destroy(job->model);
    free(job->setup);
    sup_character_destroy(job->character);
    app_session_close(&job->session);
}

bool app_job_is_default(const app_job *job)
{
    const app_job_values *values = job->values;
    return values->method == NULL && values->settings == NULL && values->model == NULL && values->set.count == 0 &&
           values->setup == NULL;
}

sup_rig_def app_job_rig_def(const app_job_values *values)
{
    static const sup_weight_source sources[] = {SUP_WEIGHTS_AUTO, SUP_WEIGHTS_FILE, SUP_WEIGHTS_NEAREST,
                                                SUP_WEIGHTS_HEAT, SUP_WEIGHTS_RIGID};
    sup_rig_def def = sup_default_rig_def();
    def.weights = sources[values->weights];
    return def;
}

sup_result app_job_pose(const app_job *job, int32_t frame, sup_pose *pose)
{
    if (job->clip == NULL) return sup_pose_rest(job->character, pose);
    double time = sup_clip_frame_time(job->clip, job->values->fps, frame);
    return sup_pose_sample(job->character, job->clip, time, pose);
}

int app_ending(const char *path, const char *const *endings)
{
    const char *dot = strrchr(path, '.'), *slash = strrchr(path, '/');
    char ending[8] = "";
    if (dot != NULL && (slash == NULL || dot > slash) && strlen(dot) < sizeof ending)
        for (size_t i = 0; dot[i + 1] != '\0'; i++)
            ending[i] = (char)(dot[i + 1] | 0x20);
    for (int i = 0; endings[i] != NULL; i++)
        if (strcmp(ending, endings[i]) == 0) return i;
    return -1;
}

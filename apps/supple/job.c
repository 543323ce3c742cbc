/* job.c - choosing what a verb works on: input, clip or motion, method and settings, frames. */
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
        return app_usage("--method %s: There is no such method; did you mean %s? There are: %s.", name, nearest, list);
    return app_usage("--method %s: There is no such method; there are: %s.", name, list);
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

/* Every NAME=VALUE of `set` into the parameters of a method. */
static int apply_set(const sup_method *found, const app_texts *set, double *params)
{
    for (int i = 0; i < set->count; i++) {
        const char *text = set->items[i], *equals = strchr(text, '=');
        char param[64];
        sup_error error = {0};
        if (equals == NULL || equals == text || (size_t)(equals - text) >= sizeof param)
            return app_usage("--set %s: Give a name and a value, such as --set stiffness=2.", text);
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

/* The method and parameters of --settings, and those of --set over them. */
static int load_settings(app_take *take)
{
    const app_take_values *values = take->values;
    sup_error error = {0};
    if (sup_settings_load(NULL, values->settings, &take->settings, &error) != SUP_OK)
        return app_fail(&error, APP_PHASE_LOAD, values->settings);
    take->method = take->settings->method;
    if (take->method->param_count > APP_PARAM_LIMIT)
        return app_usage("%s has too many parameters.", take->method->name);
    memcpy(take->params, take->settings->values, (size_t)take->method->param_count * sizeof *take->params);
    if (values->method != NULL && strcmp(values->method, take->method->name) != 0)
        return app_usage("--method %s: %s is for %s; leave --method out.", values->method, values->settings,
                         take->method->name);
    return apply_set(take->method, &values->set, take->params);
}

/* The model of --model, with its method and the parameters that it was bound with; only live ones may be set. */
static int load_model(app_take *take)
{
    const app_take_values *values = take->values;
    sup_error error = {0};
    if (sup_model_load_file(&take->session.context, values->model, &take->model, &error) != SUP_OK)
        return app_fail(&error, APP_PHASE_LOAD, values->model);
    const sup_method *method = take->method = sup_model_method(take->model);
    if (values->method != NULL && strcmp(values->method, method->name) != 0)
        return app_usage("--method %s: %s was bound for %s; leave --method out or bind again.", values->method,
                         values->model, method->name);
    if (method->param_count > APP_PARAM_LIMIT) return app_usage("%s has too many parameters.", method->name);
    const double *bound = sup_model_values(take->model);
    for (int32_t i = 0; i < method->param_count; i++)
        take->params[i] = bound[i];
    int status = apply_set(method, &values->set, take->params);
    for (int32_t i = 0; status == APP_DONE && i < method->param_count; i++)
        if (take->params[i] != bound[i] && !method->params[i].live)
            status = app_usage("--set %s: It is fixed in %s: bind again with the new value.", method->params[i].name,
                               values->model);
    return status;
}

/* What was painted must have been painted on the character that was loaded. */
static int check_settings(const app_take *take)
{
    int32_t painted = take->settings->vertex_count, count = take->character->vertex_count;
    if (painted == 0 || painted == count) return APP_DONE;
    app_say("%s: It was painted on a character of %d vertices, and this one has %d.", take->values->settings,
            (int)painted, (int)count);
    return APP_INPUT;
}

/* The model must be of the character that was loaded. */
static int check_model(const app_take *take)
{
    sup_error error = {0};
    if (sup_model_check_character(take->model, take->character, &error) == SUP_OK) return APP_DONE;
    app_say("%s: %s", take->values->model, error.message);
    return APP_INPUT;
}

static int open_obstacles(app_take *take)
{
    const app_texts *given = &take->values->colliders;
    if (given->count > 0 && (take->method->flags & SUP_METHOD_COLLIDES) == 0)
        return app_usage("--collider %s: The method %s does not mind what is in the way; projective does.",
                         given->items[0], take->method->name);
    return app_obstacles_open(&take->obstacles, &take->session, take->character, given);
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

static int load_setup(app_take *take)
{
    if (take->values->setup == NULL) return APP_DONE;
    take->setup = app_read_file(take->values->setup, &take->setup_size);
    if (take->setup != NULL) return APP_DONE;
    app_say("--setup %s: The file cannot be read.", take->values->setup);
    return APP_INPUT;
}

int app_setup_check(const app_take_values *values, const sup_method *const *methods, int32_t count)
{
    char list[200] = "";
    if (values->setup == NULL) return APP_DONE;
    for (int32_t i = 0; i < count; i++)
        if ((methods[i]->flags & SUP_METHOD_SETUP) != 0) return APP_DONE;
    for (int32_t i = 0; i < sup_method_count(); i++)
        if ((sup_method_at(i)->flags & SUP_METHOD_SETUP) != 0)
            snprintf(list + strlen(list), sizeof list - strlen(list), "%s%s", list[0] != '\0' ? ", " : "",
                     sup_method_at(i)->name);
    return app_usage("--setup %s: The method %s takes no setup; these do: %s.", values->setup, methods[0]->name, list);
}

void app_setup_give(const app_take *take, const sup_method *method, sup_bind_def *def)
{
    if ((method->flags & SUP_METHOD_SETUP) == 0) return;
    def->setup = take->setup;
    def->setup_size = take->setup_size;
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

static int choose_clip(app_take *take)
{
    const sup_character *character = take->character;
    const char *name = take->values->clip;
    double index = 0.0;
    if (name == NULL) {
        take->clip = character->clip_count > 0 ? &character->clips[0] : NULL;
        return APP_DONE;
    }
    int32_t found = sup_character_find_clip(character, name);
    if (found < 0 && app_parse_whole(name, &index) && index >= 0.0 && index < (double)character->clip_count)
        found = (int32_t)index;
    if (found < 0) return fail_clip(character, name, take->values->input);
    take->clip = &character->clips[found];
    return APP_DONE;
}

static int load_motion(app_take *take)
{
    const app_take_values *values = take->values;
    const sup_context *context = &take->session.context;
    sup_retarget_def retarget = sup_default_retarget_def();
    sup_load_def def = app_load_def(NULL);
    sup_error error = {0};
    if (values->map != NULL && sup_joint_map_load(context, values->map, &take->map, &error) != SUP_OK)
        return app_fail(&error, APP_PHASE_LOAD, values->map);
    retarget.map = take->map;
    if (sup_load_motion(context, values->motion, &def, take->character, &retarget, &take->motion, &error) != SUP_OK)
        return app_fail_load(&error, values->motion);
    take->clip = take->motion;
    return APP_DONE;
}

bool app_parse_frames(const char *text, int32_t *first, int32_t *last)
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

static int choose_frames(app_take *take)
{
    const char *text = take->values->frames;
    double fps = take->values->fps;
    int32_t count = take->clip != NULL ? sup_clip_frame_count(take->clip, fps) : 1;
    take->frame_count = count;
    take->last_frame = ALL_FRAMES;
    if (text != NULL && !app_parse_frames(text, &take->first_frame, &take->last_frame))
        return app_usage("--frames %s: Give two whole numbers from 0, the first not above the second, such as 0:59.",
                         text);
    if (take->first_frame >= count || take->last_frame >= count)
        return app_usage("--frames %s: The motion has %d frames at %g frames per second, 0 to %d.", text, (int)count,
                         fps, (int)count - 1);
    if (take->last_frame == ALL_FRAMES) take->last_frame = count - 1;
    return APP_DONE;
}

static int check_values(const app_take_values *values)
{
    if (values->map != NULL && values->motion == NULL)
        return app_usage("--map %s: A joint map is for --motion, which is missing.", values->map);
    if (values->clip != NULL && values->motion != NULL)
        return app_usage("--clip %s: Give --clip or --motion, not both.", values->clip);
    if (values->model != NULL && values->weights != 0)
        return app_usage("--weights: They are in the model of --model: bind it again with other ones.");
    if (values->model != NULL && values->settings != NULL)
        return app_usage("--settings %s: They are in the model of --model: bind it again with other ones.",
                         values->settings);
    if (values->model != NULL && values->setup != NULL)
        return app_usage("--setup %s: It is in the model of --model: bind it again with another one.", values->setup);
    if (values->json && values->quiet) return app_usage("Give --json or --quiet, not both.");
    return APP_DONE;
}

int app_take_open(app_take *take, const app_take_values *values)
{
    memset(take, 0, sizeof *take);
    take->values = values;
    int status = check_values(values);
    if (status == APP_DONE && values->settings != NULL)
        status = load_settings(take);
    else if (status == APP_DONE && values->model == NULL)
        status = app_choose_method(values->method, &values->set, &take->method, take->params);
    if (status == APP_DONE) status = app_session_open(&take->session, values->threads, values->quiet);
    if (status == APP_DONE && values->model != NULL) status = load_model(take);
    if (status == APP_DONE)
        status = app_open_character(&take->session, values->input, values->skeleton, &take->character);
    if (status == APP_DONE && take->settings != NULL) status = check_settings(take);
    if (status == APP_DONE && take->model != NULL) status = check_model(take);
    if (status == APP_DONE) status = load_setup(take);
    if (status == APP_DONE) status = open_obstacles(take);
    if (status == APP_DONE) status = values->motion != NULL ? load_motion(take) : choose_clip(take);
    if (status == APP_DONE) status = choose_frames(take);
    return status;
}

void app_take_close(app_take *take)
{
    sup_clip_destroy(take->motion);
    sup_joint_map_destroy(take->map);
    app_obstacles_close(&take->obstacles);
    sup_settings_destroy(take->settings);
    sup_model_destroy(take->model);
    free(take->setup);
    sup_character_destroy(take->character);
    app_session_close(&take->session);
}

bool app_take_is_default(const app_take *take)
{
    const app_take_values *values = take->values;
    return values->method == NULL && values->settings == NULL && values->model == NULL && values->set.count == 0 &&
           values->setup == NULL;
}

sup_rig_def app_take_rig_def(const app_take_values *values)
{
    static const sup_weight_source sources[] = {SUP_WEIGHTS_AUTO, SUP_WEIGHTS_FILE, SUP_WEIGHTS_NEAREST,
                                                SUP_WEIGHTS_HEAT, SUP_WEIGHTS_RIGID};
    sup_rig_def def = sup_default_rig_def();
    def.weights = sources[values->weights];
    return def;
}

sup_result app_take_pose(const app_take *take, int32_t frame, sup_pose *pose)
{
    if (take->clip == NULL) return sup_pose_rest(take->character, pose);
    double time = sup_clip_frame_time(take->clip, take->values->fps, frame);
    return sup_pose_sample(take->character, take->clip, time, pose);
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

/* check_assets.c - runs every clip of every character with every method: reports refusals, non-finite values and
 * stretch.
 *
 *     check_assets [-m METHOD [-p NAME=VALUE]...]... [-s SCALE] [-k SKELETON] [-b MOTION] [-c CLIPS] FILE...
 *
 * Without -m all methods run; -p sets a parameter of the last -m. -s scales the characters that follow, -k is the
 * skeleton of the meshes that follow and -b a motion for all that follow ("-" for none), -c is the maximum number of
 * clips per file. One line per character and method; the exit status is 1 if a number was not finite or skin was lost,
 * and 2 if a character was refused. scripts/assets.sh runs it over the assets folder. */
#include "base/base.h"
#include "supple/supple.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { METHOD_LIMIT = 16, PARAM_LIMIT = 64 };
static const double FPS = 30.0;
/* Distance from linear blend skinning, in sizes of the character, beyond which a vertex counts as lost. */
static const double LOST = 0.5;

typedef struct checker {
    const sup_method *methods[METHOD_LIMIT];
    double values[METHOD_LIMIT][PARAM_LIMIT];
    int method_count, clip_limit;
    double scale;
    const char *skeleton, *motion;
    sup_context context;
    int refused, broken;
} checker;

typedef struct run {
    const sup_character *character;
    const sup_rig *rig;
    sup_clip *motion;
    sup_pose *pose;
    sup_instance *instance, *linear;
    float *positions, *blended; /* [vertex_count*3] by the method and by linear blend skinning */
    int64_t frames, nonfinite;
    double bind_ms, step_ms, stretch, away;
} run;

static double now_ms(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec * 1e3 + (double)time.tv_nsec * 1e-6;
}

static float *scaled(const float *from, size_t count, double scale)
{
    if (from == NULL) return NULL;
    float *to = malloc(count * sizeof *to + 1);
    for (size_t i = 0; i < count; i++)
        to[i] = (float)((double)from[i] * scale);
    return to;
}

/* The same character in another unit of length. Its arrays are leaked: the program ends soon. */
static sup_result scale_character(checker *c, sup_character **character, sup_error *error)
{
    sup_character copy = **character, *made = NULL;
    float s = (float)c->scale;
    sup_node *nodes = malloc((size_t)copy.node_count * sizeof *nodes + 1);
    sup_bone *bones = malloc((size_t)copy.bone_count * sizeof *bones + 1);
    sup_morph *morphs = malloc((size_t)copy.morph_count * sizeof *morphs + 1);
    sup_clip *clips = malloc((size_t)copy.clip_count * sizeof *clips + 1);
    for (int32_t n = 0; n < copy.node_count; n++) {
        nodes[n] = copy.nodes[n];
        sup_vec3 t = nodes[n].rest.translation;
        nodes[n].rest.translation = (sup_vec3){t.x * s, t.y * s, t.z * s};
    }
    for (int32_t b = 0; b < copy.bone_count; b++) {
        bones[b] = copy.bones[b];
        for (int r = 0; r < 3; r++)
            bones[b].inverse_bind.m[4 * r + 3] *= s;
    }
    for (int32_t m = 0; m < copy.morph_count; m++) {
        morphs[m] = copy.morphs[m];
        morphs[m].positions =
            scaled(morphs[m].positions, 3 * (size_t)copy.primitives[morphs[m].primitive].vertex_count, c->scale);
    }
    for (int32_t k = 0; k < copy.clip_count; k++) {
        clips[k] = copy.clips[k];
        sup_channel *channels = malloc((size_t)clips[k].channel_count * sizeof *channels + 1);
        for (int32_t i = 0; i < clips[k].channel_count; i++) {
            channels[i] = copy.clips[k].channels[i];
            size_t values =
                (size_t)channels[i].key_count * (channels[i].interpolation == SUP_INTERPOLATE_CUBIC ? 9 : 3);
            if (channels[i].target == SUP_CHANNEL_TRANSLATION)
                channels[i].values = scaled(channels[i].values, values, c->scale);
        }
        clips[k].channels = channels;
    }
    copy.nodes = nodes;
    copy.bones = bones;
    copy.morphs = morphs;
    copy.clips = clips;
    copy.positions = scaled(copy.positions, 3 * (size_t)copy.vertex_count, c->scale);
    if (copy.unit_metres > 0.0f) copy.unit_metres /= s;
    sup_result result = sup_character_create(&c->context, &copy, &made, error);
    if (result != SUP_OK) return result;
    sup_character_destroy(*character);
    *character = made;
    return SUP_OK;
}

static double edge_length(const float *p, int32_t a, int32_t b)
{
    double sum = 0.0;
    for (int k = 0; k < 3; k++)
        sum += pow((double)p[3 * (size_t)a + (size_t)k] - (double)p[3 * (size_t)b + (size_t)k], 2.0);
    return sqrt(sum);
}

/* Statistics of one frame: non-finite values, stretch of edges that are not tiny, lost vertices. */
static void inspect_frame(run *r)
{
    const sup_rig *rig = r->rig;
    for (size_t i = 0; i < 3 * (size_t)rig->vertex_count; i++)
        r->nonfinite += !isfinite(r->positions[i]);
    for (int32_t v = 0; v < rig->vertex_count; v++) {
        double sum = 0.0;
        for (int k = 0; k < 3; k++)
            sum += pow((double)r->positions[3 * (size_t)v + (size_t)k] - (double)r->blended[3 * (size_t)v + (size_t)k],
                       2.0);
        r->away = fmax(r->away, sqrt(sum) / (double)rig->size);
    }
    for (int32_t h = 0; h < 3 * rig->skin_triangle_count; h++) {
        int32_t a = rig->skin_to_vertex[rig->skin_triangles[h]],
                b = rig->skin_to_vertex[rig->skin_triangles[h % 3 == 2 ? h - 2 : h + 1]];
        double rest = edge_length(rig->positions, a, b);
        if (rest > 1e-3 * (double)rig->size) r->stretch = fmax(r->stretch, edge_length(r->positions, a, b) / rest);
    }
}

static sup_result play_clip(run *r, const sup_clip *clip)
{
    int32_t frames = clip != NULL ? sup_clip_frame_count(clip, FPS) : 30;
    sup_skin_out out = {.positions = r->positions}, blended = {.positions = r->blended};
    sup_result result = SUP_OK;
    for (int32_t f = 0; result == SUP_OK && f < frames; f++) {
        if (clip != NULL) result = sup_pose_sample(r->character, clip, sup_clip_frame_time(clip, FPS, f), r->pose);
        double began = now_ms();
        if (result == SUP_OK && f == 0) result = sup_instance_reset(r->instance, r->pose);
        if (result == SUP_OK) result = sup_instance_step(r->instance, r->pose, (float)(f == 0 ? 0.0 : 1.0 / FPS), &out);
        r->step_ms += now_ms() - began;
        if (result == SUP_OK) result = sup_instance_step(r->linear, r->pose, 0.0f, &blended);
        if (result == SUP_OK) inspect_frame(r);
        r->frames++;
    }
    return result;
}

static sup_result play_all(checker *c, run *r, const sup_model *model, const sup_model *linear, sup_error *error)
{
    sup_result result = sup_pose_create(&c->context, r->character, &r->pose, error);
    if (result == SUP_OK) result = sup_instance_create(&c->context, model, r->pose, &r->instance, error);
    if (result == SUP_OK) result = sup_instance_create(&c->context, linear, r->pose, &r->linear, error);
    if (result != SUP_OK) return result;
    int32_t clips = r->character->clip_count;
    for (int32_t k = 0; result == SUP_OK && k < clips && (c->clip_limit == 0 || k < c->clip_limit); k++)
        result = play_clip(r, &r->character->clips[k]);
    if (clips == 0) result = play_clip(r, r->motion);
    if (result != SUP_OK)
        snprintf(error->message, sizeof error->message, "A step failed: %s.", sup_result_name(result));
    return result;
}

static void check_method(checker *c, const char *name, const sup_character *character, const sup_rig *rig, int index)
{
    const sup_method *method = c->methods[index];
    sup_bind_def def = {.values = c->values[index]};
    run r = {.character = character, .rig = rig};
    sup_model *model = NULL, *linear = NULL;
    sup_error error = {0};
    r.positions = malloc(3 * (size_t)rig->vertex_count * sizeof(float));
    r.blended = malloc(3 * (size_t)rig->vertex_count * sizeof(float));
    double began = now_ms();
    sup_result result = sup_bind(&c->context, method, rig, &def, &model, &error);
    r.bind_ms = now_ms() - began;
    if (result == SUP_OK) result = sup_bind(&c->context, sup_method_find("linear"), rig, NULL, &linear, &error);
    if (result == SUP_OK && c->motion != NULL)
        result = sup_load_motion(&c->context, c->motion, NULL, character, NULL, &r.motion, &error);
    if (result == SUP_OK) result = play_all(c, &r, model, linear, &error);
    if (result != SUP_OK) {
        printf("%-32s %-10s REFUSED %s: %s\n", name, method->name, error.id, error.message);
        c->refused++;
    } else {
        bool bad = r.nonfinite > 0 || !(r.away < LOST);
        printf("%-32s %-10s %6d vertices %3d clips %5lld frames  bind %7.1f ms  step %7.3f ms  stretch %6.2f  "
               "from linear %.3f  %s\n",
               name, method->name, (int)rig->vertex_count, (int)character->clip_count, (long long)r.frames, r.bind_ms,
               r.step_ms / (double)r.frames, r.stretch, r.away, bad ? "BAD" : "ok");
        c->broken += bad;
    }
    fflush(stdout);
    sup_instance_destroy(r.instance);
    sup_instance_destroy(r.linear);
    sup_pose_destroy(r.pose);
    sup_clip_destroy(r.motion);
    sup_model_destroy(model);
    sup_model_destroy(linear);
    free(r.positions);
    free(r.blended);
}

static void check_file(checker *c, const char *path)
{
    const char *slash = strrchr(path, '/'), *name = slash != NULL ? slash + 1 : path;
    sup_load_def def = sup_default_load_def();
    sup_character *character = NULL;
    sup_rig *rig = NULL;
    sup_error error = {0};
    def.skeleton = c->skeleton;
    sup_result result = strncmp(path, "scene:", 6) == 0
                            ? sup_scene_create(&c->context, path + 6, 1.0, &character, &error)
                            : sup_load(&c->context, path, &def, &character, &error);
    if (result == SUP_OK && c->scale != 1.0) result = scale_character(c, &character, &error);
    if (result == SUP_OK) result = sup_rig_create(&c->context, character, NULL, &rig, &error);
    if (result != SUP_OK) {
        printf("%-32s %-10s REFUSED %s: %s\n", name, "-", error.id, error.message);
        c->refused++;
    }
    for (int m = 0; result == SUP_OK && m < c->method_count; m++)
        check_method(c, name, character, rig, m);
    sup_rig_destroy(rig);
    sup_character_destroy(character);
}

static bool add_method(checker *c, const sup_method *method)
{
    if (method == NULL || c->method_count == METHOD_LIMIT || method->param_count > PARAM_LIMIT) return false;
    sup_method_defaults(method, c->values[c->method_count]);
    c->methods[c->method_count++] = method;
    return true;
}

/* Returns false for invalid arguments. */
static bool take_option(checker *c, const char *option, const char *value)
{
    char name[64];
    const char *equals = strchr(value, '=');
    if (strcmp(option, "-m") == 0) return add_method(c, sup_method_find(value));
    if (strcmp(option, "-p") == 0) {
        if (c->method_count == 0 || equals == NULL || (size_t)(equals - value) >= sizeof name) return false;
        snprintf(name, sizeof name, "%.*s", (int)(equals - value), value);
        return sup_method_set(c->methods[c->method_count - 1], c->values[c->method_count - 1], name, equals + 1,
                              NULL) == SUP_OK;
    }
    if (strcmp(option, "-s") == 0) {
        c->scale = strtod(value, NULL);
    } else if (strcmp(option, "-k") == 0) {
        c->skeleton = strcmp(value, "-") != 0 ? value : NULL;
    } else if (strcmp(option, "-b") == 0) {
        c->motion = strcmp(value, "-") != 0 ? value : NULL;
    } else if (strcmp(option, "-c") == 0) {
        c->clip_limit = (int)strtol(value, NULL, 10);
    } else {
        return false;
    }
    return c->scale > 0.0 && c->clip_limit >= 0;
}

int main(int argc, char **argv)
{
    checker c = {.scale = 1.0};
    sup_thread_pool *pool = NULL;
    bool all = true;
    for (int i = 1; i < argc; i++)
        all = all && strcmp(argv[i], "-m") != 0;
    for (int32_t m = 0; all && m < sup_method_count(); m++)
        if ((sup_method_at(m)->flags & SUP_METHOD_LAYERS) == 0) add_method(&c, sup_method_at(m));
    if (sup_thread_pool_create(0, &pool, NULL) != SUP_OK) return 2;
    c.context.tasks = sup_thread_pool_tasks(pool);
    for (int i = 1; i < argc; i++) {
        if (argv[i][0] != '-') {
            check_file(&c, argv[i]);
            continue;
        }
        if (i + 1 >= argc || !take_option(&c, argv[i], argv[i + 1])) {
            fprintf(stderr, "check_assets: %s: see the head of bench/check_assets.c.\n", argv[i]);
            return 2;
        }
        i++;
    }
    printf("%d refused, %d bad\n", c.refused, c.broken);
    sup_thread_pool_destroy(pool);
    return c.broken > 0 ? 1 : c.refused > 0 ? 2 : 0;
}

/* play.c - frames of a motion in memory. */
#include "play.h"

#include "paint.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static int compare_numbers(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

typedef struct player {
    app_take *take;
    const sup_model *model;
    const double *params;
    sup_instance *instance;
    sup_pose *pose;
    double *times; /* [frames stepped] milliseconds */
} player;

static sup_result step(player *p, int32_t frame, int32_t index, float *positions)
{
    double began = app_milliseconds();
    float dt = index > 0 ? (float)(1.0 / p->take->values->fps) : 0.0f;
    sup_result result = app_take_pose(p->take, frame, p->pose);
    if (result == SUP_OK) result = sup_instance_step(p->instance, p->pose, dt, &(sup_skin_out){.positions = positions});
    p->times[index] = app_milliseconds() - began;
    return result;
}

/* Live parameters that were asked for after the bind, and what is in the way. */
static sup_result set_up(player *p, sup_error *error)
{
    const sup_method *method = sup_model_method(p->model);
    const double *bound = sup_model_values(p->model);
    const app_obstacles *obstacles = &p->take->obstacles;
    sup_result result = SUP_OK;
    for (int32_t i = 0; p->take->model != NULL && result == SUP_OK && i < method->param_count; i++)
        if (p->params[i] != bound[i])
            result = sup_instance_set(p->instance, method->params[i].name, p->params[i], error);
    if (result == SUP_OK && obstacles->count > 0)
        result = sup_instance_set_colliders(p->instance, obstacles->colliders, obstacles->count, error);
    return result;
}

static sup_result run(player *p, int32_t start, app_play *play, app_progress *progress, sup_error *error)
{
    const sup_context *context = &p->take->session.context;
    int32_t total = play->first_frame + play->frame_count - start;
    size_t frame_size = 3 * (size_t)play->vertex_count;
    sup_result result = app_take_pose(p->take, start, p->pose);
    if (result == SUP_OK) result = sup_instance_create(context, p->model, p->pose, &p->instance, error);
    if (result == SUP_OK) result = set_up(p, error);
    for (int32_t i = 0; result == SUP_OK && i < total; i++) {
        int32_t kept = start + i - play->first_frame;
        if (!app_progress_tell(progress, (float)i / (float)total, "skinning")) return SUP_ERROR_CANCELLED;
        /* Frames before the first one asked for are only passed through. */
        result = step(p, start + i, i, play->owned + frame_size * (size_t)(kept > 0 ? kept : 0));
    }
    if (result != SUP_OK) return result;
    if (play->watch != NULL) play->watch(play->watch_user, p->instance, p->pose);
    qsort(p->times, (size_t)total, sizeof *p->times, compare_numbers);
    play->step_ms = p->times[total / 2];
    return SUP_OK;
}

static int fail(const app_take *take, sup_result result, sup_error *error)
{
    if (error->id[0] == '\0') {
        error->result = result;
        snprintf(error->message, sizeof error->message, "%s",
                 result == SUP_ERROR_CANCELLED ? "Stopped." : "The motion cannot be skinned.");
    }
    return app_fail(error, APP_PHASE_BAKE, take->values->input);
}

int app_play_method(app_take *take, const sup_rig *rig, const sup_method *method, const double *params, int32_t first,
                    int32_t last, app_progress *progress, app_play *play)
{
    const sup_context *context = &take->session.context;
    int32_t start = (method->flags & SUP_METHOD_DYNAMIC) != 0 ? 0 : first;
    player p = {.take = take, .model = take->model, .params = params};
    sup_model *made = NULL;
    sup_error error = {0};
    double began = app_milliseconds();
    *play = (app_play){.watch = play->watch,
                       .watch_user = play->watch_user,
                       .first_frame = first,
                       .frame_count = last - first + 1,
                       .vertex_count = rig->vertex_count};
    int status = APP_DONE;
    sup_result result = SUP_OK;
    if (p.model == NULL) {
        app_paints paints;
        status = app_paint(take, rig, method, &paints);
        sup_bind_def def = {.values = params, .paints = paints.items, .paint_count = paints.count};
        app_setup_give(take, method, &def);
        result = status == APP_DONE ? sup_bind(context, method, rig, &def, &made, &error) : SUP_ERROR_ARGUMENT;
        app_paints_free(&paints);
        if (result == SUP_ERROR_DATA && app_take_is_default(take) && method == take->method) {
            app_say("warning: The method %s cannot be used, linear is instead: %s", method->name, error.message);
            error = (sup_error){0};
            result = sup_bind(context, sup_method_find("linear"), rig, NULL, &made, &error);
        }
        p.model = made;
    }
    play->bind_ms = app_milliseconds() - began;
    if (result == SUP_OK) result = sup_pose_create(context, take->character, &p.pose, &error);
    if (result == SUP_OK) {
        p.times = calloc((size_t)last - (size_t)start + 1, sizeof *p.times);
        play->owned = calloc((size_t)play->frame_count * (size_t)rig->vertex_count, 3 * sizeof(float));
        play->positions = play->owned;
        play->model_bytes = sup_model_bytes(p.model).size;
        result = p.times != NULL && play->owned != NULL ? run(&p, start, play, progress, &error) : SUP_ERROR_MEMORY;
    }
    sup_instance_destroy(p.instance);
    sup_pose_destroy(p.pose);
    sup_model_destroy(made);
    free(p.times);
    if (result == SUP_OK) return APP_DONE;
    app_progress_end(progress);
    app_play_close(play);
    return status != APP_DONE ? status : fail(take, result, &error);
}

static int check_finite(const char *path, const sup_cache *cache)
{
    for (int32_t f = 0; f < cache->frame_count; f++)
        for (int32_t v = 0; v < cache->vertex_count; v++) {
            const float *p = cache->positions + 3 * ((size_t)f * (size_t)cache->vertex_count + (size_t)v);
            if (isfinite(p[0]) && isfinite(p[1]) && isfinite(p[2])) continue;
            app_say("%s: Vertex %d of frame %d has a number that is not finite: bake it again.", path, (int)v, (int)f);
            return APP_INPUT;
        }
    return APP_DONE;
}

int app_play_cache(app_take *take, const sup_rig *rig, const char *path, app_play *play)
{
    sup_error error = {0};
    *play = (app_play){.vertex_count = rig->vertex_count};
    if (sup_cache_load(&take->session.context, path, rig->vertex_count, &play->cache, &error) != SUP_OK)
        return app_fail(&error, APP_PHASE_LOAD, path);
    play->frame_count = play->cache->frame_count;
    play->positions = play->cache->positions;
    return check_finite(path, play->cache);
}

void app_play_close(app_play *play)
{
    sup_cache_destroy(play->cache);
    free(play->owned);
    play->cache = NULL;
    play->owned = NULL;
    play->positions = NULL;
}

/* playback.c - the frames of an animation in memory. */
#include "playback.h"

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
    app_job *job;
    const sup_model *model;
    const double *params;
    sup_instance *instance;
    sup_pose *pose;
    double *times;        /* [frames stepped] milliseconds */
    int32_t motion_first; /* frames up to this one are at rest: sup_clip_first_frame */
} player;

static sup_result step(player *p, int32_t frame, int32_t index, float *positions)
{
    double began = app_milliseconds();
    bool is_initial = index == 0 || frame <= p->motion_first;
    float dt = is_initial ? 0.0f : (float)(1.0 / p->job->values->fps);
    sup_result result = app_job_pose(p->job, frame, p->pose);
    if (result == SUP_OK && index > 0 && is_initial) result = sup_instance_reset(p->instance, p->pose);
    if (result == SUP_OK) result = sup_instance_step(p->instance, p->pose, dt, &(sup_skin_out){.positions = positions});
    p->times[index] = app_milliseconds() - began;
    return result;
}

/* Sets live parameters that differ from the bind, and the colliders. */
static sup_result apply_live_settings(player *p, sup_error *error)
{
    const sup_method *method = sup_model_method(p->model);
    const double *bound = sup_model_values(p->model);
    const app_colliders *colliders = &p->job->colliders;
    sup_result result = SUP_OK;
    for (int32_t i = 0; p->job->model != NULL && result == SUP_OK && i < method->param_count; i++)
        if (p->params[i] != bound[i])
            result = sup_instance_set(p->instance, method->params[i].name, p->params[i], error);
    if (result == SUP_OK && colliders->count > 0)
        result = sup_instance_set_colliders(p->instance, colliders->items, colliders->count, error);
    return result;
}

static sup_result run(player *p, int32_t start, app_playback *playback, app_progress *progress, sup_error *error)
{
    const sup_context *context = &p->job->session.context;
    int32_t total = playback->first_frame + playback->frame_count - start;
    size_t frame_size = 3 * (size_t)playback->vertex_count;
    p->motion_first = sup_clip_first_frame(p->job->clip, p->job->values->fps);
    sup_result result = app_job_pose(p->job, start, p->pose);
    if (result == SUP_OK) result = sup_instance_create(context, p->model, p->pose, &p->instance, error);
    if (result == SUP_OK) result = apply_live_settings(p, error);
    for (int32_t i = 0; result == SUP_OK && i < total; i++) {
        int32_t stored = start + i - playback->first_frame;
        if (!app_progress_report(progress, (float)i / (float)total, "skinning")) return SUP_ERROR_CANCELLED;
        /* Frames before the first requested one are simulated and overwritten. */
        result = step(p, start + i, i, playback->owned + frame_size * (size_t)(stored > 0 ? stored : 0));
    }
    if (result != SUP_OK) return result;
    if (playback->on_last_frame != NULL) playback->on_last_frame(playback->on_last_frame_user, p->instance, p->pose);
    qsort(p->times, (size_t)total, sizeof *p->times, compare_numbers);
    playback->step_ms = p->times[total / 2];
    return SUP_OK;
}

static int fail(const app_job *job, sup_result result, sup_error *error)
{
    if (error->id[0] == '\0') {
        error->result = result;
        snprintf(error->message, sizeof error->message, "%s",
                 result == SUP_ERROR_CANCELLED ? "Cancelled." : "The animation cannot be skinned.");
    }
    return app_fail(error, APP_PHASE_BAKE, job->values->input);
}

int app_playback_run(app_job *job, const sup_rig *rig, const sup_method *method, const double *params, int32_t first,
                     int32_t last, app_progress *progress, app_playback *playback)
{
    const sup_context *context = &job->session.context;
    int32_t start = (method->flags & SUP_METHOD_DYNAMIC) != 0 ? 0 : first;
    player p = {.job = job, .model = job->model, .params = params};
    sup_model *made = NULL;
    sup_error error = {0};
    double began = app_milliseconds();
    *playback = (app_playback){.on_last_frame = playback->on_last_frame,
                               .on_last_frame_user = playback->on_last_frame_user,
                               .first_frame = first,
                               .frame_count = last - first + 1,
                               .vertex_count = rig->vertex_count};
    int status = APP_DONE;
    sup_result result = SUP_OK;
    if (p.model == NULL) {
        app_paints paints;
        status = app_paint(job, rig, method, &paints);
        sup_bind_def def = {.values = params, .paints = paints.items, .paint_count = paints.count};
        app_setup_apply(job, method, &def);
        result = status == APP_DONE ? sup_bind(context, method, rig, &def, &made, &error) : SUP_ERROR_ARGUMENT;
        app_paints_free(&paints);
        if (result == SUP_ERROR_DATA && app_job_is_default(job) && method == job->method) {
            app_say("warning: Falling back to the method linear because %s cannot be used: %s", method->name,
                    error.message);
            error = (sup_error){0};
            result = sup_bind(context, sup_method_find("linear"), rig, NULL, &made, &error);
        }
        p.model = made;
    }
    playback->bind_ms = app_milliseconds() - began;
    if (result == SUP_OK) result = sup_pose_create(context, job->character, &p.pose, &error);
    if (result == SUP_OK) {
        p.times = calloc((size_t)last - (size_t)start + 1, sizeof *p.times);
        playback->owned = calloc((size_t)playback->frame_count * (size_t)rig->vertex_count, 3 * sizeof(float));
        playback->positions = playback->owned;
        playback->model_bytes = sup_model_bytes(p.model).size;
        result =
            p.times != NULL && playback->owned != NULL ? run(&p, start, playback, progress, &error) : SUP_ERROR_MEMORY;
    }
    sup_instance_destroy(p.instance);
    sup_pose_destroy(p.pose);
    sup_model_destroy(made);
    free(p.times);
    if (result == SUP_OK) return APP_DONE;
    app_progress_end(progress);
    app_playback_close(playback);
    return status != APP_DONE ? status : fail(job, result, &error);
}

static int check_finite(const char *path, const sup_cache *cache)
{
    for (int32_t f = 0; f < cache->frame_count; f++)
        for (int32_t v = 0; v < cache->vertex_count; v++) {
            const float *p = cache->positions + 3 * ((size_t)f * (size_t)cache->vertex_count + (size_t)v);
            if (isfinite(p[0]) && isfinite(p[1]) && isfinite(p[2])) continue;
            app_say("%s: Vertex %d of frame %d has a NaN or infinite coordinate; bake again.", path, (int)v, (int)f);
            return APP_INPUT;
        }
    return APP_DONE;
}

int app_playback_load_cache(app_job *job, const sup_rig *rig, const char *path, app_playback *playback)
{
    sup_error error = {0};
    *playback = (app_playback){.vertex_count = rig->vertex_count};
    if (sup_cache_load(&job->session.context, path, rig->vertex_count, &playback->cache, &error) != SUP_OK)
        return app_fail(&error, APP_PHASE_LOAD, path);
    playback->frame_count = playback->cache->frame_count;
    playback->positions = playback->cache->positions;
    return check_finite(path, playback->cache);
}

void app_playback_close(app_playback *playback)
{
    sup_cache_destroy(playback->cache);
    free(playback->owned);
    playback->cache = NULL;
    playback->owned = NULL;
    playback->positions = NULL;
}

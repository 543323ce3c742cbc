/* on_device.c - bakes on a GPU. */
#include "on_device.h"

#include <stdlib.h>
#include <sys/stat.h>

const char *const app_device_choices[] = {"cpu", "cuda", NULL};

sup_device *app_open_device(const sup_context *context, int choice)
{
    sup_device *device = NULL;
    sup_error error = {0};
    if (choice != APP_DEVICE_CUDA || sup_device_cuda_create(context, 0, &device, &error) == SUP_OK) return device;
    app_say("%s Using the CPU instead.", error.message);
    return NULL;
}

typedef struct device_bake {
    const app_job *job;
    const sup_bake_def *def;
    sup_rig *rig;
    sup_model *made;        /* NULL with --model */
    const sup_model *model; /* `made`, or the model of --model */
    sup_crowd *crowd;
    sup_pose *pose;
    sup_cache_writer *writer;
    float *positions, *normals;
    sup_bake_stats stats;
} device_bake;

static sup_result make_model(device_bake *b, sup_error *error)
{
    const sup_context *context = &b->job->session.context;
    sup_bind_def bind = {.values = b->def->values,
                         .paints = b->def->paints,
                         .paint_count = b->def->paint_count,
                         .setup = b->def->setup,
                         .setup_size = b->def->setup_size};
    b->model = b->def->model;
    if (b->model != NULL) return SUP_OK;
    sup_result result = sup_rig_create(context, b->job->character, b->def->rig, &b->rig, error);
    if (result == SUP_OK) result = sup_bind(context, b->job->method, b->rig, &bind, &b->made, error);
    b->model = b->made;
    return result;
}

/* Sets live parameters that differ from the model. */
static sup_result set_values(device_bake *b, sup_error *error)
{
    const sup_method *method = sup_model_method(b->model);
    const double *bound = sup_model_values(b->model);
    sup_result result = SUP_OK;
    for (int32_t i = 0; b->def->values != NULL && result == SUP_OK && i < method->param_count; i++)
        if (b->def->values[i] != bound[i])
            result = sup_crowd_set(b->crowd, 0, method->params[i].name, b->def->values[i], error);
    return result;
}

static sup_result prepare(device_bake *b, sup_device *device, sup_error *error)
{
    const sup_context *context = &b->job->session.context;
    double start = app_milliseconds();
    sup_result result = make_model(b, error);
    if (result == SUP_OK) result = sup_pose_create(context, b->job->character, &b->pose, error);
    if (result == SUP_OK) result = app_job_pose(b->job, b->def->first_frame, b->pose);
    sup_crowd_def def = {.colliders = b->def->colliders, .collider_count = b->def->collider_count};
    if (result == SUP_OK) result = sup_crowd_create(device, b->model, &def, &b->crowd, error);
    if (result == SUP_OK) result = set_values(b, error);
    if (result == SUP_OK) result = sup_crowd_pose(b->crowd, 0, b->pose, error);
    if (result == SUP_OK) result = sup_crowd_reset(b->crowd, 0, error);
    b->stats.bind_ms = app_milliseconds() - start;
    size_t numbers = (size_t)b->job->character->vertex_count * 3 + 1;
    b->positions = calloc(numbers, sizeof(float));
    b->normals = calloc(numbers, sizeof(float));
    return result == SUP_OK && (b->positions == NULL || b->normals == NULL) ? SUP_ERROR_MEMORY : result;
}

static sup_result bake_frame(device_bake *b, int32_t i, sup_error *error)
{
    bool with_normals = i == 0 || !b->def->no_normals;
    sup_skin_out out = {.positions = b->positions, .normals = with_normals ? b->normals : NULL};
    double start = app_milliseconds();
    sup_result result = app_job_pose(b->job, b->def->first_frame + i, b->pose);
    if (result == SUP_OK) result = sup_crowd_pose(b->crowd, 0, b->pose, error);
    bool is_initial = i == 0 || b->def->first_frame + i <= sup_clip_first_frame(b->job->clip, b->def->fps);
    if (result == SUP_OK && i > 0 && is_initial) result = sup_crowd_reset(b->crowd, 0, error);
    if (result == SUP_OK)
        result = sup_crowd_step(b->crowd, is_initial ? 0.0f : (float)(1.0 / b->def->fps), NULL, error);
    if (result == SUP_OK) result = sup_crowd_read(b->crowd, 0, &out, error);
    double stepped = app_milliseconds();
    b->stats.step_ms += stepped - start;
    if (result == SUP_OK) result = sup_cache_write(b->writer, b->positions, out.normals, error);
    b->stats.write_ms += app_milliseconds() - stepped;
    return result;
}

static sup_result bake_frames(device_bake *b, sup_error *error)
{
    sup_result result = SUP_OK;
    int32_t count = b->def->frame_count;
    for (int32_t i = 0; result == SUP_OK && i < count; i++)
        result = b->def->progress(b->def->progress_user, (float)i / (float)count, "frames") ? bake_frame(b, i, error)
                                                                                            : SUP_ERROR_CANCELLED;
    if (result != SUP_OK) return result;
    double start = app_milliseconds();
    result = sup_cache_finish(b->writer, error);
    b->writer = NULL;
    b->stats.write_ms += app_milliseconds() - start;
    return result;
}

sup_result app_bake_on_device(sup_device *device, const app_job *job, const sup_bake_def *def, const char *path,
                              sup_bake_stats *stats, sup_error *error)
{
    device_bake b = {.job = job, .def = def};
    sup_cache_def cache = sup_default_cache_def();
    cache.frame_count = def->frame_count;
    cache.fps = def->fps;
    cache.start_time = (double)def->first_frame / def->fps;
    cache.normals = !def->no_normals;
    cache.name = job->clip != NULL ? job->clip->name : "rest";
    sup_result result = sup_cache_open(&job->session.context, path, job->character, &cache, &b.writer, error);
    if (result == SUP_OK) result = prepare(&b, device, error);
    if (result == SUP_OK) result = bake_frames(&b, error);
    b.stats.method = job->method;
    sup_cache_abandon(b.writer);
    sup_crowd_destroy(b.crowd);
    sup_pose_destroy(b.pose);
    sup_model_destroy(b.made);
    sup_rig_destroy(b.rig);
    free(b.positions);
    free(b.normals);
    struct stat file;
    if (result == SUP_OK && stat(path, &file) == 0) b.stats.bytes = (uint64_t)file.st_size;
    b.stats.frame_count = def->frame_count;
    b.stats.vertex_count = job->character->vertex_count;
    b.stats.step_ms /= (double)def->frame_count;
    if (result == SUP_OK) *stats = b.stats;
    return result;
}

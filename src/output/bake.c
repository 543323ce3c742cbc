/* bake.c - bakes a whole motion: rig, bind, then pose, step and write for every frame. */
#include "output/cache.h"

#include <math.h>
#include <time.h>

/* The state of one bake. */
typedef struct bake {
    const sup_context *context;
    const sup_character *character;
    sup_bake_def def;
    const sup_clip *clip; /* NULL: the rest pose */
    int32_t first, count; /* frames */
    int32_t motion_first; /* frames up to this one are at rest: sup_clip_first_frame */
    sup_rig *rig;
    sup_model *made;        /* NULL when def.model is given */
    const sup_model *model; /* def.model or `made` */
    sup_instance *instance;
    sup_pose *pose;
    sup_cache_writer *writer;
    float *positions, *normals; /* [vertex_count*3] */
    sup_bake_stats stats;
} bake;

static const float BIND_FRACTION = 0.1f; /* fraction of the progress */

sup_bake_def sup_default_bake_def(void)
{
    return (sup_bake_def){.fps = 30.0};
}

static double now_ms(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec * 1e3 + (double)time.tv_nsec * 1e-6;
}

static sup_result report(const bake *b, float fraction, const char *stage, sup_error *error)
{
    if (b->def.progress == NULL || b->def.progress(b->def.progress_user, fraction, stage)) return SUP_OK;
    return sup_fail(error, SUP_ERROR_CANCELLED, "bake.cancelled", b->character->name, "The bake was cancelled.");
}

static bool bind_progress(void *user, float fraction, const char *stage)
{
    const bake *b = user;
    return b->def.progress == NULL || b->def.progress(b->def.progress_user, BIND_FRACTION * fraction, stage);
}

/* A clip of another character may refer to nodes that do not exist here. */
static sup_result check_clip(const bake *b, sup_error *error)
{
    for (int32_t i = 0; b->clip != NULL && i < b->clip->channel_count; i++) {
        const sup_channel *channel = &b->clip->channels[i];
        int32_t limit =
            channel->target == SUP_CHANNEL_MORPH ? b->character->morph_weight_count : b->character->node_count;
        if (channel->index < 0 || channel->index >= limit)
            return sup_fail(
                error, SUP_ERROR_ARGUMENT, "bake.clip", b->clip->name,
                "The clip belongs to another character: it animates a node or morph weight that does not exist.");
    }
    return SUP_OK;
}

/* Selects the clip and the frame range. */
static sup_result choose_frames(bake *b, sup_error *error)
{
    const sup_character *character = b->character;
    if (b->def.fps == 0.0) b->def.fps = 30.0;
    if (!(b->def.fps > 0.0) || !isfinite(b->def.fps))
        return sup_fail(error, SUP_ERROR_ARGUMENT, "bake.fps", character->name,
                        "Frames per second must be a positive number.");
    b->clip = b->def.clip != NULL ? b->def.clip : character->clip_count > 0 ? &character->clips[0] : NULL;
    int32_t frames = b->clip != NULL ? sup_clip_frame_count(b->clip, b->def.fps) : 1;
    b->first = b->def.first_frame;
    b->motion_first = sup_clip_first_frame(b->clip, b->def.fps);
    b->count = b->def.frame_count != 0 ? b->def.frame_count : frames - b->first;
    if (b->first < 0 || b->count < 1 || b->first >= frames || b->count > frames - b->first)
        return sup_fail(error, SUP_ERROR_ARGUMENT, "bake.frames", b->clip != NULL ? b->clip->name : "",
                        "The motion has %d frame%s, 0 to %d: the requested %d frames from frame %d are out of range.",
                        frames, frames == 1 ? "" : "s", frames - 1, b->count, b->first);
    return check_clip(b, error);
}

static sup_result open_writer(bake *b, const char *path, sup_error *error)
{
    sup_cache_def cache = sup_default_cache_def();
    cache.frame_count = b->count;
    cache.fps = b->def.fps;
    cache.start_time = (double)b->first / b->def.fps;
    cache.normals = !b->def.no_normals;
    cache.name = b->clip != NULL ? b->clip->name : "rest";
    double start = now_ms();
    sup_result result = sup_cache_open(b->context, path, b->character, &cache, &b->writer, error);
    b->stats.write_ms = now_ms() - start;
    return result;
}

static sup_result pose_frame(bake *b, int32_t frame, sup_error *error)
{
    sup_result result = b->clip == NULL ? sup_pose_rest(b->character, b->pose)
                                        : sup_pose_sample(b->character, b->clip,
                                                          sup_clip_frame_time(b->clip, b->def.fps, frame), b->pose);
    return result == SUP_OK ? SUP_OK
                            : sup_fail(error, result, "bake.pose", b->character->name,
                                       "The pose of frame %d cannot be sampled.", frame);
}

/* A model passed by the caller must match this character and method. */
static sup_result check_model(const bake *b, sup_error *error)
{
    const sup_model *model = b->def.model;
    const sup_character *character = b->character;
    sup_result result = sup_model_check_character(model, character, error);
    if (result != SUP_OK) return result;
    if (b->def.method != NULL && b->def.method != sup_model_method(model))
        return sup_fail(error, SUP_ERROR_ARGUMENT, "bake.model.method", character->name,
                        "The model was bound for the method \"%s\", not for \"%s\": bind the character again.",
                        sup_model_method(model)->name, b->def.method->name);
    return SUP_OK;
}

/* If the default method, not requested by the caller, rejects the character, "linear" is used. */
static sup_result bind_method(bake *b, const sup_method *method, const sup_bind_def *def, sup_error *error)
{
    const sup_method *plain = sup_method_find("linear");
    sup_error bind_error = {0};
    sup_result result = sup_bind(b->context, method, b->rig, def, &b->made, &bind_error);
    if (result == SUP_ERROR_DATA && b->def.method == NULL && b->def.values == NULL && b->def.paint_count == 0 &&
        b->def.setup == NULL && method != plain) {
        sup_log(b->context, SUP_LOG_WARNING, "The method %s cannot be used; using %s instead: %s", method->name,
                plain->name, bind_error.message);
        return sup_bind(b->context, plain, b->rig, def, &b->made, error);
    }
    if (result != SUP_OK && error != NULL) *error = bind_error;
    return result;
}

static sup_result make_model(bake *b, sup_error *error)
{
    sup_bind_def bind = {.values = b->def.values,
                         .paints = b->def.paints,
                         .paint_count = b->def.paint_count,
                         .setup = b->def.setup,
                         .setup_size = b->def.setup_size,
                         .progress = bind_progress,
                         .progress_user = b};
    const sup_method *method = b->def.method != NULL ? b->def.method : sup_method_at(0);
    if (b->def.model != NULL) {
        b->model = b->def.model;
        return check_model(b, error);
    }
    sup_result result = report(b, 0.0f, "rig", error);
    if (result == SUP_OK) result = sup_rig_create(b->context, b->character, b->def.rig, &b->rig, error);
    if (result == SUP_OK) result = bind_method(b, method, &bind, error);
    b->model = b->made;
    return result;
}

/* Sets live parameters that differ from the model's values, and the scene colliders. */
static sup_result set_up_instance(bake *b, sup_error *error)
{
    const sup_method *method = sup_model_method(b->model);
    const double *bound = sup_model_values(b->model);
    sup_result result = SUP_OK;
    for (int32_t i = 0; b->def.values != NULL && result == SUP_OK && i < method->param_count; i++)
        if (b->def.values[i] != bound[i])
            result = sup_instance_set(b->instance, method->params[i].name, b->def.values[i], error);
    if (result == SUP_OK && b->def.collider_count > 0)
        result = sup_instance_set_colliders(b->instance, b->def.colliders, b->def.collider_count, error);
    return result;
}

static sup_result prepare(bake *b, sup_error *error)
{
    double start = now_ms();
    sup_result result = make_model(b, error);
    if (result == SUP_OK) result = sup_pose_create(b->context, b->character, &b->pose, error);
    if (result == SUP_OK) result = pose_frame(b, b->first, error);
    if (result == SUP_OK) result = sup_instance_create(b->context, b->model, b->pose, &b->instance, error);
    if (result == SUP_OK) result = set_up_instance(b, error);
    b->stats.bind_ms = now_ms() - start;
    if (result != SUP_OK) return result;
    size_t size = sup_size_multiply((size_t)b->character->vertex_count, 3 * sizeof(float));
    b->positions = sup_alloc(&b->context->allocator, size);
    b->normals = sup_alloc(&b->context->allocator, size);
    return b->positions != NULL && b->normals != NULL ? SUP_OK : sup_fail_memory(error, "the frames");
}

/* The first frame is the initial state: at rest in its pose, with a time step of 0. So is each frame up to the start of
 * the motion, after a leading T-pose. */
static sup_result bake_frame(bake *b, int32_t i, sup_error *error)
{
    double start = now_ms();
    bool with_normals = i == 0 || !b->def.no_normals;
    sup_skin_out out = {.positions = b->positions, .normals = with_normals ? b->normals : NULL};
    bool is_initial = i == 0 || b->first + i <= b->motion_first;
    sup_result result = i == 0 ? SUP_OK : pose_frame(b, b->first + i, error);
    if (result != SUP_OK) return result;
    if (i > 0 && is_initial) result = sup_instance_reset(b->instance, b->pose);
    if (result == SUP_OK)
        result = sup_instance_step(b->instance, b->pose, is_initial ? 0.0f : (float)(1.0 / b->def.fps), &out);
    if (result != SUP_OK)
        return sup_fail(error, result, "bake.step", b->character->name, "Frame %d cannot be skinned: %s.", b->first + i,
                        sup_result_name(result));
    double stepped = now_ms();
    result = sup_cache_write(b->writer, b->positions, with_normals ? b->normals : NULL, error);
    b->stats.step_ms += stepped - start;
    b->stats.write_ms += now_ms() - stepped;
    return result;
}

static sup_result bake_frames(bake *b, sup_error *error)
{
    sup_result result = SUP_OK;
    for (int32_t i = 0; result == SUP_OK && i < b->count; i++) {
        result = report(b, BIND_FRACTION + (1.0f - BIND_FRACTION) * (float)i / (float)b->count, "frames", error);
        if (result == SUP_OK) result = bake_frame(b, i, error);
    }
    if (result == SUP_OK) result = report(b, 1.0f, "finish", error);
    if (result != SUP_OK) return result;
    double start = now_ms();
    result = sup_cache_finish_counted(b->writer, &b->stats.bytes, error);
    b->writer = NULL;
    b->stats.write_ms += now_ms() - start;
    return result;
}

static void release(bake *b)
{
    size_t size = sup_size_multiply((size_t)b->character->vertex_count, 3 * sizeof(float));
    sup_cache_abandon(b->writer);
    sup_free(&b->context->allocator, b->positions, size);
    sup_free(&b->context->allocator, b->normals, size);
    sup_instance_destroy(b->instance);
    sup_pose_destroy(b->pose);
    sup_model_destroy(b->made);
    sup_rig_destroy(b->rig);
}

sup_result sup_bake(const sup_context *context, const sup_character *character, const sup_bake_def *def,
                    const char *path, sup_bake_stats *stats, sup_error *error)
{
    if (character == NULL || path == NULL)
        return sup_fail(error, SUP_ERROR_ARGUMENT, "argument.null", "",
                        "sup_bake: character and path must not be NULL.");
    sup_context resolved = sup_context_resolve(context);
    bake b = {.context = &resolved, .character = character, .def = def != NULL ? *def : sup_default_bake_def()};
    sup_result result = choose_frames(&b, error);
    /* Opens the output first: a wrong file extension or an unwritable folder is reported before any computation. */
    if (result == SUP_OK) result = open_writer(&b, path, error);
    if (result == SUP_OK) result = prepare(&b, error);
    const sup_method *method = result == SUP_OK ? sup_model_method(b.model) : NULL;
    if (result == SUP_OK) result = bake_frames(&b, error);
    release(&b);
    if (result != SUP_OK || stats == NULL) return result;
    b.stats.frame_count = b.count;
    b.stats.method = method;
    b.stats.vertex_count = character->vertex_count;
    b.stats.step_ms /= (double)b.count;
    *stats = b.stats;
    return SUP_OK;
}

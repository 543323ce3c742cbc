/* timing.c - times the stages of a method on one input. */
#include "timing.h"

#include <math.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_TIMES = 20000, MIN_FRAMES = 8 };

static int compare_numbers(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Collects the times of one stage. */
typedef struct stopwatch {
    double *times;
    int count;
    double began, total; /* milliseconds */
} stopwatch;

static void start(stopwatch *watch)
{
    watch->began = app_milliseconds();
}

static void stop(stopwatch *watch)
{
    double time = app_milliseconds() - watch->began;
    if (watch->count < MAX_TIMES) watch->times[watch->count++] = time;
    watch->total += time;
}

static app_times finish(stopwatch *watch)
{
    app_times result = {NAN, NAN, NAN, watch->count};
    if (watch->count > 0) {
        qsort(watch->times, (size_t)watch->count, sizeof(double), compare_numbers);
        result.median = watch->times[watch->count / 2];
        result.low = watch->times[watch->count / 10];
        result.high = watch->times[watch->count - 1 - watch->count / 10];
    }
    watch->count = 0;
    watch->total = 0.0;
    return result;
}

/* An allocator that counts bytes. */
typedef struct counter {
    atomic_size_t current, peak;
} counter;

static void *count_allocate(void *user, size_t size, size_t alignment)
{
    counter *c = user;
    size_t rounded = (size + alignment - 1) / alignment * alignment;
    void *memory = rounded >= size ? aligned_alloc(alignment, rounded > 0 ? rounded : alignment) : NULL;
    if (memory == NULL) return NULL;
    size_t current = atomic_fetch_add(&c->current, size) + size, peak = atomic_load(&c->peak);
    while (current > peak && !atomic_compare_exchange_weak(&c->peak, &peak, current)) {
    }
    return memory;
}

static void count_release(void *user, void *memory, size_t size)
{
    counter *c = user;
    if (memory == NULL) return;
    atomic_fetch_sub(&c->current, size);
    free(memory);
}

/* One method on one input, from loading to stepping. */
typedef struct trial {
    const app_timing_def *def;
    app_timing *timing;
    app_session session;
    sup_context context; /* the session's, with the counting allocator */
    counter memory;
    stopwatch watch;
    sup_character *character;
    const sup_clip *clip;
    sup_rig *rig;
    sup_model *model;
    sup_pose *pose;
    sup_instance **instances;
    sup_crowd *crowd; /* replaces `instances` on a device */
    float *positions, *normals;
    double *reference_positions, *reference_normals;
} trial;

static bool needs_more_runs(const trial *t, int minimum)
{
    return t->watch.count < minimum || (t->watch.count < MAX_TIMES && t->watch.total < 1e3 * t->def->seconds);
}

static int load(trial *t)
{
    const app_timing_def *def = t->def;
    int status = APP_DONE;
    while (status == APP_DONE && (t->watch.count == 0 || needs_more_runs(t, 1))) {
        sup_character_destroy(t->character);
        t->character = NULL;
        start(&t->watch);
        status = app_open_character(&t->session, def->input, def->skeleton, &t->character);
        stop(&t->watch);
    }
    t->timing->load = finish(&t->watch);
    if (status != APP_DONE) return status;
    int32_t clip = def->clip != NULL ? sup_character_find_clip(t->character, def->clip) : 0;
    if (clip < 0) return app_usage("--clip %s: Unknown clip of %s.", def->clip, def->input);
    t->clip = clip < t->character->clip_count ? &t->character->clips[clip] : NULL;
    return APP_DONE;
}

static sup_result make_rig(trial *t, sup_error *error)
{
    sup_result result = SUP_OK;
    while (result == SUP_OK && needs_more_runs(t, 1)) {
        sup_rig_destroy(t->rig);
        t->rig = NULL;
        start(&t->watch);
        result = sup_rig_create(&t->context, t->character, &t->def->rig, &t->rig, error);
        stop(&t->watch);
    }
    t->timing->rig = finish(&t->watch);
    return result;
}

static sup_result bind(trial *t, sup_error *error)
{
    sup_bind_def def = {.values = t->def->params, .setup = t->def->setup, .setup_size = t->def->setup_size};
    sup_result result = SUP_OK;
    while (result == SUP_OK && needs_more_runs(t, 1)) {
        sup_model_destroy(t->model);
        t->model = NULL;
        start(&t->watch);
        result = sup_bind(&t->context, t->def->method, t->rig, &def, &t->model, error);
        stop(&t->watch);
    }
    t->timing->bind = finish(&t->watch);
    t->timing->peak_bytes = atomic_load(&t->memory.peak);
    return result;
}

static void collect_stats(trial *t)
{
    const int32_t *stats = sup_model_array(t->model, "stats", SUP_ARRAY_INT32, 2);
    t->timing->simulated = stats != NULL ? stats[0] : -1;
    t->timing->elements = stats != NULL ? stats[1] : -1;
    t->timing->model_bytes = sup_model_bytes(t->model).size;
    t->timing->vertices = t->rig->vertex_count;
    t->timing->joints = t->rig->joint_count;
}

static sup_result open_instances(trial *t, sup_error *error)
{
    size_t vertices = (size_t)t->rig->vertex_count + 1, before = atomic_load(&t->memory.current);
    sup_result result = sup_pose_create(&t->context, t->character, &t->pose, error);
    t->instances = calloc((size_t)t->def->instances, sizeof(sup_instance *));
    t->positions = calloc(3 * vertices, sizeof(float));
    t->normals = calloc(3 * vertices, sizeof(float));
    t->reference_positions = calloc(3 * vertices, sizeof(double));
    t->reference_normals = calloc(3 * vertices, sizeof(double));
    if (t->instances == NULL || t->positions == NULL || t->normals == NULL || t->reference_positions == NULL ||
        t->reference_normals == NULL)
        return SUP_ERROR_MEMORY;
    if (result == SUP_OK && t->def->device != NULL)
        return sup_crowd_create(t->def->device, t->model, &(sup_crowd_def){.instance_count = t->def->instances},
                                &t->crowd, error);
    for (int i = 0; result == SUP_OK && i < t->def->instances; i++)
        result = sup_instance_create(&t->context, t->model, NULL, &t->instances[i], error);
    t->timing->state_bytes = (atomic_load(&t->memory.current) - before) / (size_t)t->def->instances;
    return result;
}

static int32_t frame_count(const trial *t)
{
    return t->clip != NULL ? sup_clip_frame_count(t->clip, 30.0) : 1;
}

static sup_result pose_at(trial *t, int32_t frame)
{
    if (t->clip == NULL) return sup_pose_rest(t->character, t->pose);
    return sup_pose_sample(t->character, t->clip, sup_clip_frame_time(t->clip, 30.0, frame % frame_count(t)), t->pose);
}

static sup_result time_pose(trial *t)
{
    sup_result result = SUP_OK;
    for (int32_t f = 0; result == SUP_OK && f < 4 * MAX_TIMES && needs_more_runs(t, MIN_FRAMES); f++) {
        start(&t->watch);
        result = pose_at(t, f);
        stop(&t->watch);
    }
    t->timing->pose = finish(&t->watch);
    return result;
}

/* Times all instances on a device, with the same pose. */
static sup_result time_crowd(trial *t, sup_error *error)
{
    sup_result result = SUP_OK;
    for (int32_t f = 0; result == SUP_OK && needs_more_runs(t, MIN_FRAMES); f++) {
        bool first = f % frame_count(t) == 0;
        result = pose_at(t, f);
        if (result == SUP_OK) result = sup_crowd_pose(t->crowd, -1, t->pose, error);
        if (result == SUP_OK && first) result = sup_crowd_reset(t->crowd, -1, error);
        start(&t->watch);
        if (result == SUP_OK) result = sup_crowd_step(t->crowd, first ? 0.0f : 1.0f / 30.0f, NULL, error);
        if (result == SUP_OK) result = sup_crowd_wait(t->crowd, error);
        stop(&t->watch);
    }
    t->timing->energy = (double)NAN;
    t->timing->step = finish(&t->watch);
    return result;
}

/* Loops over the clip; resets the instances at its first frame. */
static sup_result time_steps(trial *t)
{
    sup_result result = SUP_OK;
    sup_skin_out out = {.positions = t->positions, .normals = t->normals};
    double energy = 0.0;
    for (int32_t f = 0; result == SUP_OK && needs_more_runs(t, MIN_FRAMES); f++) {
        result = pose_at(t, f);
        bool first = f % frame_count(t) == 0;
        for (int i = 0; first && result == SUP_OK && i < t->def->instances; i++)
            result = sup_instance_reset(t->instances[i], t->pose);
        start(&t->watch);
        for (int i = 0; result == SUP_OK && i < t->def->instances; i++)
            result = sup_instance_step(t->instances[i], t->pose, first ? 0.0f : 1.0f / 30.0f, &out);
        stop(&t->watch);
        if (f < MIN_FRAMES) energy += sup_instance_energy(t->instances[0]) / MIN_FRAMES;
    }
    t->timing->energy = energy;
    t->timing->step = finish(&t->watch);
    return result;
}

/* --- Stages inside the step --- */

typedef struct observer {
    app_timing *timing;
    double last; /* milliseconds */
} observer;

static void stage_done(void *user, const char *stage)
{
    observer *o = user;
    app_timing *timing = o->timing;
    double current = app_milliseconds();
    int32_t i = 0;
    while (i < timing->step_stage_count && strcmp(timing->step_stages[i].name, stage) != 0)
        i++;
    if (i == APP_STEP_STAGE_LIMIT) return;
    if (i == timing->step_stage_count) {
        timing->step_stage_count++;
        snprintf(timing->step_stages[i].name, sizeof timing->step_stages[i].name, "%s", stage);
        timing->step_stages[i].ms = 0.0;
    }
    timing->step_stages[i].ms += current - o->last;
    o->last = app_milliseconds();
}

/* Times the stages of the step with the profiling hook; time_steps runs without it because it costs time. */
static sup_result time_step_stages(trial *t)
{
    sup_skin_out out = {.positions = t->positions, .normals = t->normals};
    observer o = {.timing = t->timing};
    int32_t frames = frame_count(t) < 60 ? frame_count(t) : 60;
    sup_result result = pose_at(t, 0);
    if (result == SUP_OK) result = sup_instance_reset(t->instances[0], t->pose);
    if (result == SUP_OK) result = sup_instance_observe(t->instances[0], stage_done, &o);
    for (int32_t f = 1; result == SUP_OK && f <= frames; f++) {
        result = pose_at(t, f);
        o.last = app_milliseconds();
        if (result == SUP_OK) result = sup_instance_step(t->instances[0], t->pose, 1.0f / 30.0f, &out);
    }
    sup_instance_observe(t->instances[0], NULL, NULL);
    for (int32_t i = 0; i < t->timing->step_stage_count; i++)
        t->timing->step_stages[i].ms /= (double)frames;
    return result;
}

/* Compares the solver with plain iterations and the scalar reference, over few steps: the reference is slow. */
static sup_result time_solver(trial *t, sup_error *error)
{
    const sup_method_inspection *inspection = t->def->method->inspection;
    if (inspection == NULL || inspection->compare == NULL || t->clip == NULL) return SUP_OK;
    sup_compare_input input = {.context = &t->session.context,
                               .rig = t->rig,
                               .values = t->def->params,
                               .clip = t->clip,
                               .max_steps = 4 + (int32_t)(144.0 * t->def->seconds),
                               .milliseconds = app_milliseconds};
    return inspection->compare(&input, &t->timing->solver, error);
}

static sup_result time_reference(trial *t)
{
    bool dual = strcmp(t->def->method->name, "dualquat") == 0;
    sup_result result = SUP_OK;
    for (int32_t f = 0; result == SUP_OK && needs_more_runs(t, 3); f++) {
        result = pose_at(t, f);
        start(&t->watch);
        if (result == SUP_OK)
            result = sup_reference_skin(NULL, t->rig, t->pose, dual, t->reference_positions, t->reference_normals);
        stop(&t->watch);
    }
    t->timing->reference = finish(&t->watch);
    return result;
}

static int run(trial *t)
{
    sup_error error = {0};
    t->watch.times = calloc(MAX_TIMES, sizeof(double));
    if (t->watch.times == NULL) {
        app_say("Out of memory for the times.");
        return APP_OTHER;
    }
    int status = load(t);
    if (status != APP_DONE) return status;
    sup_result result = make_rig(t, &error);
    if (result == SUP_OK) result = bind(t, &error);
    if (result == SUP_OK) {
        collect_stats(t);
        result = open_instances(t, &error);
    }
    if (result == SUP_OK) result = time_pose(t);
    if (result == SUP_OK) result = t->crowd != NULL ? time_crowd(t, &error) : time_steps(t);
    if (result == SUP_OK && t->crowd == NULL) result = time_step_stages(t);
    if (result == SUP_OK) result = time_reference(t);
    if (result == SUP_OK && t->def->compare_solver) result = time_solver(t, &error);
    if (result == SUP_OK) return APP_DONE;
    if (error.id[0] == '\0') {
        error.result = result;
        snprintf(error.message, sizeof error.message, "%s failed: %s.", t->def->method->name, sup_result_name(result));
    }
    return app_fail(&error, APP_PHASE_LOAD, t->def->input);
}

int app_timing_run(const app_timing_def *def, app_timing *timing)
{
    trial t = {.def = def, .timing = timing};
    *timing = (app_timing){.instances = def->instances, .contact = -1};
    timing->previous_step_ms = timing->previous_bind_ms = timing->previous_ratio = (double)NAN;
    snprintf(timing->input, sizeof timing->input, "%s", def->input);
    snprintf(timing->method, sizeof timing->method, "%s", def->method->name);
    snprintf(timing->device, sizeof timing->device, "%.60s",
             def->device != NULL ? sup_device_name(def->device) : "cpu");
    int status = app_session_open(&t.session, def->threads, true);
    t.context = t.session.context;
    t.context.allocator = (sup_allocator){count_allocate, count_release, &t.memory};
    timing->threads = t.context.tasks.worker_count;
    if (status == APP_DONE) status = run(&t);
    for (int i = 0; t.instances != NULL && i < def->instances; i++)
        sup_instance_destroy(t.instances[i]);
    sup_crowd_destroy(t.crowd);
    free(t.instances);
    free(t.positions);
    free(t.normals);
    free(t.reference_positions);
    free(t.reference_normals);
    free(t.watch.times);
    sup_pose_destroy(t.pose);
    sup_model_destroy(t.model);
    sup_rig_destroy(t.rig);
    sup_character_destroy(t.character);
    app_session_close(&t.session);
    return status;
}

double app_timing_ratio(const app_timing *timing)
{
    return timing->reference.low * timing->instances / timing->step.low;
}

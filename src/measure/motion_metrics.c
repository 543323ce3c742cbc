/* motion_metrics.c - metrics of all frames of a motion and their summary, with one measurer per thread.
 *
 * Drift and jitter need the skeleton: jitter is motion of the skin while the skeleton does not move, drift is the
 * difference of the skin between two frames with the same pose of the skeleton. */
#include "base/base.h"
#include "math/affine.h"
#include "supple/measure.h"

struct sup_motion_storage {
    sup_allocator allocator;
    sup_arena arena;
};

/* Special values of `reference`. */
enum { NO_POSE = -2, BIND_POSE = -1 };

/* Tolerances of equal poses, as fractions of the size. At rest the tolerance is stricter, because the jitter of the
 * skin is evaluated at 1e-5. */
static const double SAME_POSE = 1e-5, STILL = 1e-6;

typedef struct motion_work {
    const sup_context *context;
    const sup_rig *rig;
    const sup_motion_def *def;
    sup_rig_surface *surface;
    sup_measurer **measurers; /* [worker_count] created with the first frame of each worker */
    float **gathered;         /* [worker_count] surface positions */
    sup_frame_measure *frames;
    double *regions, *drift, *jitter;
    int32_t *reference; /* [frame_count] frame with the same pose, BIND_POSE or NO_POSE */
    bool *still;        /* [frame_count] the skeleton did not move since the previous frame */
    int32_t base;       /* first frame of the current batch */
    sup_result *result; /* [worker_count] */
    sup_error *error;   /* [worker_count] */
} motion_work;

/* Transformation of joint j from the bind pose to a frame; the identity for BIND_POSE. */
static sup_affine joint_motion(const motion_work *work, int32_t frame, int32_t j)
{
    if (frame == BIND_POSE) return sup_affine_identity();
    const sup_mat34 *nodes = work->def->nodes + (size_t)frame * (size_t)work->rig->character->node_count;
    return sup_affine_multiply(sup_affine_from_float(nodes[work->rig->joint_node[j]]),
                               sup_affine_from_float(work->rig->joint_inverse_bind[j]));
}

static bool same_pose(const motion_work *work, int32_t frame, int32_t other, double tolerance)
{
    for (int32_t j = 0; j < work->rig->joint_count; j++) {
        sup_affine a = joint_motion(work, frame, j), b = joint_motion(work, other, j);
        sup_vec3d head = sup_v3_load(work->rig->bone_head + 3 * (size_t)j);
        double away = sup_v3_distance(sup_affine_point(a, head), sup_affine_point(b, head));
        if (!(away <= tolerance * (double)work->rig->size)) return false;
        for (int k = 0; k < 12; k++)
            if (k % 4 != 3 && !(fabs(a.m[k] - b.m[k]) <= tolerance)) return false;
    }
    return true;
}

/* A frame has drift if the skeleton left its pose and returned to it. */
static void compare_poses(motion_work *work)
{
    bool left_bind = false, left_first = false;
    for (int32_t f = 0; f < work->def->frame_count; f++) {
        work->reference[f] = NO_POSE;
        work->still[f] = false;
        if (work->def->nodes == NULL) continue;
        bool at_bind = same_pose(work, f, BIND_POSE, SAME_POSE), at_first = same_pose(work, f, 0, SAME_POSE);
        if (at_bind && left_bind) work->reference[f] = BIND_POSE;
        if (at_first && left_first && !at_bind) work->reference[f] = 0;
        left_bind = left_bind || !at_bind;
        left_first = left_first || !at_first;
        work->still[f] = f > 0 && same_pose(work, f, f - 1, STILL);
    }
}

static double max_distance(const float *a, const float *b, int32_t count)
{
    double largest = 0.0;
    for (int32_t v = 0; v < count; v++) {
        double d = sup_v3_distance(sup_v3_load(a + 3 * (size_t)v), sup_v3_load(b + 3 * (size_t)v));
        if (isfinite(d) && d > largest) largest = d; /* values that are not finite are counted elsewhere */
    }
    return largest;
}

static const float *frame_positions(const motion_work *work, int32_t frame)
{
    return frame == BIND_POSE ? work->rig->positions
                              : work->def->positions + 3 * (size_t)frame * (size_t)work->rig->vertex_count;
}

static int32_t count_nonfinite(const float *positions, int32_t count)
{
    int32_t invalid = 0;
    for (int32_t v = 0; v < count; v++) {
        const float *p = positions + 3 * (size_t)v;
        invalid += isfinite(p[0]) && isfinite(p[1]) && isfinite(p[2]) ? 0 : 1;
    }
    return invalid;
}

static bool prepare_worker(motion_work *work, int32_t worker)
{
    if (work->measurers[worker] != NULL) return true;
    sup_context serial = *work->context;
    serial.tasks = sup_context_resolve(NULL).tasks; /* the threads are busy with frames */
    size_t size = 3 * (size_t)work->surface->surface.vertex_count * sizeof(float);
    work->gathered[worker] = sup_alloc(&serial.allocator, size);
    if (work->gathered[worker] == NULL)
        work->result[worker] = sup_fail_memory(&work->error[worker], "a frame");
    else
        work->result[worker] =
            sup_measurer_create(&serial, &work->surface->surface, &work->measurers[worker], &work->error[worker]);
    return work->result[worker] == SUP_OK;
}

static void measure_frame(motion_work *work, int32_t f, int32_t worker)
{
    const float *positions = frame_positions(work, f);
    int32_t count = work->rig->vertex_count;
    sup_frame_measure *frame = &work->frames[f];
    sup_rig_surface_gather(work->rig, positions, work->gathered[worker]);
    work->result[worker] = sup_measurer_frame(work->measurers[worker], work->gathered[worker], frame,
                                              work->regions + (size_t)f * (size_t)work->surface->surface.region_count);
    frame->nonfinite = count_nonfinite(positions, count); /* of all render vertices including props */
    int32_t reference = work->reference[f];
    double size = (double)work->rig->size;
    work->drift[f] =
        reference == NO_POSE ? -1.0 : max_distance(positions, frame_positions(work, reference), count) / size;
    work->jitter[f] = work->still[f] ? max_distance(positions, frame_positions(work, f - 1), count) / size : -1.0;
}

static void measure_frames(void *data, int32_t begin, int32_t end, int32_t worker)
{
    motion_work *work = data;
    for (int32_t i = begin; i < end; i++)
        if (work->result[worker] == SUP_OK && prepare_worker(work, worker)) measure_frame(work, work->base + i, worker);
}

static sup_result worst_result(const motion_work *work, int32_t workers, sup_error *error)
{
    for (int32_t w = 0; w < workers; w++)
        if (work->result[w] != SUP_OK) {
            if (work->error[w].id[0] == '\0') return sup_fail_memory(error, "the measures of a frame");
            if (error != NULL) *error = work->error[w];
            return work->result[w];
        }
    return SUP_OK;
}

/* In batches of a few frames per thread, so that progress is reported on the thread of the caller. */
static sup_result measure_all(motion_work *work, int32_t workers, sup_error *error)
{
    const sup_motion_def *def = work->def;
    int32_t batch = 4 * workers;
    for (work->base = 0; work->base < def->frame_count; work->base += batch) {
        int32_t remaining = def->frame_count - work->base;
        if (def->progress != NULL &&
            !def->progress(def->progress_user, (float)work->base / (float)def->frame_count, "measuring"))
            return sup_fail(error, SUP_ERROR_CANCELLED, "cancelled", "", "Measuring was cancelled.");
        sup_parallel(work->context, remaining < batch ? remaining : batch, 1, measure_frames, work);
        sup_result result = worst_result(work, workers, error);
        if (result != SUP_OK) return result;
    }
    return SUP_OK;
}

static void add_extremes(sup_motion_summary *s, const sup_frame_measure *f)
{
    if (fabs(f->volume_ratio - 1.0) > fabs(s->volume_ratio - 1.0)) s->volume_ratio = f->volume_ratio;
    s->volume_ratio_min = fmin(s->volume_ratio_min, f->volume_ratio);
    s->volume_ratio_max = fmax(s->volume_ratio_max, f->volume_ratio);
    if (f->intersections > s->intersections) s->intersections = f->intersections;
    if (f->rest_intersections > s->rest_intersections) s->rest_intersections = f->rest_intersections;
    if (f->close_intersections > s->close_intersections) s->close_intersections = f->close_intersections;
    if (f->flips > s->flips) s->flips = f->flips;
    s->intersections_sum += f->intersections;
    s->close_intersections_sum += f->close_intersections;
    s->nonfinite += f->nonfinite;
    s->penetration = fmax(s->penetration, f->penetration);
    s->stretch_min = fmin(s->stretch_min, f->stretch_min);
    s->stretch_max = fmax(s->stretch_max, f->stretch_max);
    s->area_max = fmax(s->area_max, f->area_max);
    s->angle_max = fmax(s->angle_max, f->angle_max);
    s->roughness = fmax(s->roughness, f->roughness);
    s->displacement_max = fmax(s->displacement_max, f->displacement_max);
}

static void add_means(sup_motion_summary *s, const sup_frame_measure *f, double weight)
{
    s->volume_ratio_mean += weight * f->volume_ratio;
    s->stretch_mean += weight * f->stretch_mean;
    s->area_mean += weight * f->area_mean;
    s->angle_mean += weight * f->angle_mean;
    s->roughness_mean += weight * f->roughness;
}

static void summarize_rest(const motion_work *work, sup_motion_summary *s)
{
    int32_t count = work->def->frame_count, start = 0;
    s->drift = s->jitter = -1.0;
    for (int32_t f = 0; f < count; f++) {
        bool last = f + 1 == count || work->reference[f + 1] != work->reference[f];
        if (last) s->drift = fmax(s->drift, work->drift[f]);
    }
    for (int32_t f = 0; f <= count; f++) {
        if (f < count && work->still[f]) continue;
        for (int32_t i = start + (f - start) / 2; i < f; i++)
            s->jitter = fmax(s->jitter, work->jitter[i]);
        start = f + 1;
    }
}

static sup_motion_summary summarize(const motion_work *work)
{
    const sup_frame_measure *first = &work->frames[0];
    sup_motion_summary s = {.volume_ratio = first->volume_ratio,
                            .volume_ratio_min = first->volume_ratio,
                            .volume_ratio_max = first->volume_ratio,
                            .stretch_min = first->stretch_min,
                            .stretch_max = first->stretch_max};
    for (int32_t f = 0; f < work->def->frame_count; f++) {
        add_extremes(&s, &work->frames[f]);
        add_means(&s, &work->frames[f], 1.0 / (double)work->def->frame_count);
    }
    summarize_rest(work, &s);
    return s;
}

static bool reserve(motion_work *work, sup_arena *result_arena, sup_arena *scratch, int32_t workers)
{
    size_t frames = (size_t)work->def->frame_count, count = (size_t)workers;
    work->frames = sup_arena_alloc(result_arena, frames, sizeof *work->frames);
    work->regions = sup_arena_alloc(result_arena, frames * (size_t)work->surface->surface.region_count, sizeof(double));
    work->drift = sup_arena_alloc(result_arena, frames, sizeof(double));
    work->jitter = sup_arena_alloc(result_arena, frames, sizeof(double));
    work->reference = sup_arena_alloc(scratch, frames, sizeof(int32_t));
    work->still = sup_arena_alloc(scratch, frames, sizeof(bool));
    work->measurers = sup_arena_alloc(scratch, count, sizeof(sup_measurer *));
    work->gathered = sup_arena_alloc(scratch, count, sizeof(float *));
    work->result = sup_arena_alloc(scratch, count, sizeof(sup_result));
    work->error = sup_arena_alloc(scratch, count, sizeof(sup_error));
    return work->frames != NULL && work->regions != NULL && work->drift != NULL && work->jitter != NULL &&
           work->reference != NULL && work->still != NULL && work->measurers != NULL && work->gathered != NULL &&
           work->result != NULL && work->error != NULL;
}

static sup_result run(motion_work *work, sup_motion_measure *out, sup_error *error)
{
    int32_t workers = work->context->tasks.worker_count;
    sup_arena scratch = sup_arena_create(&work->context->allocator);
    sup_result result = sup_rig_surface_create(work->context, work->rig, &work->surface, error);
    if (result == SUP_OK) {
        if (reserve(work, &out->storage->arena, &scratch, workers)) {
            compare_poses(work);
            result = measure_all(work, workers, error);
        } else {
            result = sup_fail_memory(error, "the measures");
        }
        size_t size = 3 * (size_t)work->surface->surface.vertex_count * sizeof(float);
        for (int32_t w = 0; work->measurers != NULL && work->gathered != NULL && w < workers; w++) {
            sup_measurer_destroy(work->measurers[w]);
            if (work->gathered[w] != NULL) sup_free(&work->context->allocator, work->gathered[w], size);
        }
    }
    if (result == SUP_OK) {
        out->frame_count = work->def->frame_count;
        out->region_count = work->surface->surface.region_count;
        out->frames = work->frames;
        out->region_volume_ratio = work->regions;
        out->drift = work->drift;
        out->jitter = work->jitter;
        out->summary = summarize(work);
    }
    sup_rig_surface_destroy(work->surface);
    sup_arena_destroy(&scratch);
    return result;
}

sup_result sup_measure_motion(const sup_context *context, const sup_rig *rig, const sup_motion_def *def,
                              sup_motion_measure **measure, sup_error *error)
{
    if (rig == NULL || def == NULL || measure == NULL || def->positions == NULL || def->frame_count < 1)
        return sup_fail(error, SUP_ERROR_ARGUMENT, "argument.null", "",
                        "sup_measure_motion needs a rig, at least one frame and an output pointer.");
    sup_context resolved = sup_context_resolve(context);
    sup_motion_measure *out = sup_alloc_zero(&resolved.allocator, sizeof *out);
    struct sup_motion_storage *storage = sup_alloc_zero(&resolved.allocator, sizeof *storage);
    if (out == NULL || storage == NULL) {
        sup_free(&resolved.allocator, out, sizeof *out);
        sup_free(&resolved.allocator, storage, sizeof *storage);
        return sup_fail_memory(error, "the measures");
    }
    storage->allocator = resolved.allocator;
    storage->arena = sup_arena_create(&resolved.allocator);
    out->storage = storage;
    motion_work work = {.context = &resolved, .rig = rig, .def = def};
    sup_result result = run(&work, out, error);
    if (result != SUP_OK) {
        sup_motion_measure_destroy(out);
        return result;
    }
    *measure = out;
    return SUP_OK;
}

void sup_motion_measure_destroy(sup_motion_measure *measure)
{
    if (measure == NULL) return;
    struct sup_motion_storage *storage = measure->storage;
    sup_allocator allocator = storage->allocator;
    sup_arena_destroy(&storage->arena);
    sup_free(&allocator, storage, sizeof *storage);
    sup_free(&allocator, measure, sizeof *measure);
}

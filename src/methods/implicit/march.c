/* march.c - implicit skinning without tracking: projects dual quaternion skinning onto the iso-surfaces in every frame.
 *
 * Based on: [vaillant2014iso] sections 2.3 and 3, which summarise the method of 2013; step size and angle are those of
 * two public implementations. Kept for comparison with tracking.
 *
 * A vertex moves along the gradient by a fraction of a Newton step and stops at its target value, or where the
 * direction of the gradient jumps: there two limbs are in contact. In between, vertices relax towards the mean value
 * coordinates of their rest ring, in the plane perpendicular to the gradient, and less the nearer they are to their
 * target value. */
#include "methods/implicit/track_work.h"

/* Fraction of a Newton step, minimum cosine between successive gradients, and the residual that counts as converged. */
static const float STEP_FRACTION = 0.35f, MIN_COSINE = 0.57357644f /* cos 55 degrees */, CONVERGED = 1e-4f;
static const float MIN_SLOPE = 0.02f;
enum { ITERATIONS = 30, STEPS = 2 };

/* State of a vertex, in normal[3]. */
enum { ACTIVE = 1, STOPPED = 0 };

static void start_vertex(sup_track_work *w, int64_t vertex)
{
    const float *m = w->arrays.transform + 12 * vertex, *rest = w->track->rest + 4 * vertex;
    float *p = w->arrays.position + 4 * vertex, *n = w->arrays.normal + 4 * vertex;
    for (int r = 0; r < 3; r++) {
        p[r] = m[4 * r] * rest[0] + m[4 * r + 1] * rest[1] + m[4 * r + 2] * rest[2] + m[4 * r + 3];
        n[r] = 0.0f;
    }
    p[3] = 0.0f;
    n[3] = w->track->target[vertex].gradient > 0.0f ? ACTIVE : STOPPED;
}

static void start_range(void *work, int32_t begin, int32_t end, int32_t worker)
{
    SUP_UNUSED(worker);
    sup_track_each_vertex(work, begin, end, start_vertex);
}

static void step_vertex(const sup_track_target *target, float value, const float gradient[3], float *position,
                        float *normal, float *residual)
{
    float slope = sqrtf(gradient[0] * gradient[0] + gradient[1] * gradient[1] + gradient[2] * gradient[2]);
    float cosine = 1.0f;
    *residual = target->iso - value;
    if (!(slope > MIN_SLOPE * target->gradient) || fabsf(*residual) < CONVERGED) {
        normal[3] = STOPPED;
        return;
    }
    if (normal[0] != 0.0f || normal[1] != 0.0f || normal[2] != 0.0f)
        cosine = (normal[0] * gradient[0] + normal[1] * gradient[1] + normal[2] * gradient[2]) / slope;
    for (int c = 0; c < 3; c++)
        normal[c] = gradient[c] / slope;
    if (cosine < MIN_COSINE) {
        normal[3] = STOPPED;
        position[3] = 1.0f;
        return;
    }
    float limit = 0.15f / target->gradient, step = STEP_FRACTION * *residual / slope;
    step = step > limit ? limit : step < -limit ? -limit : step;
    for (int c = 0; c < 3; c++)
        position[c] += step * normal[c];
}

static void step_range(void *work, int32_t begin, int32_t end, int32_t worker)
{
    sup_track_work *w = work;
    const sup_track *track = w->track;
    SUP_UNUSED(worker);
    for (int32_t i = begin; i < end; i++) {
        int32_t cluster = w->arrays.list[i], first = track->cluster_first[cluster], active = 0;
        int32_t count = track->cluster_first[cluster + 1] - first;
        for (int32_t k = 0; k < count; k++)
            active += w->arrays.normal[4 * (int64_t)(first + k) + 3] == ACTIVE ? 1 : 0;
        w->arrays.sums[SUP_TRACK_SUMS * (int64_t)cluster] = active > 0 ? (double)count : 0.0;
        if (active == 0) continue;
        sup_field_points points;
        sup_field_samples f;
        sup_track_load_points(track, w->arrays.position, cluster, &points);
        w->input->field(w->input->field_user, &points, &f, NULL);
        for (int32_t k = 0; k < count; k++) {
            int64_t vertex = first + k;
            const float gradient[3] = {f.x[k], f.y[k], f.z[k]};
            if (w->arrays.normal[4 * vertex + 3] == ACTIVE)
                step_vertex(&track->target[vertex], f.value[k], gradient, w->arrays.position + 4 * vertex,
                            w->arrays.normal + 4 * vertex, w->arrays.direction + 4 * vertex + 3);
        }
    }
}

/* Towards the mean of the neighbours, in the plane perpendicular to the gradient; reads `position`, writes
 * `descent`. */
static void relax_vertex(sup_track_work *w, int64_t vertex)
{
    const sup_track *track = w->track;
    const float *p = w->arrays.position + 4 * vertex, *n = w->arrays.normal + 4 * vertex;
    float *to = w->arrays.descent + 4 * vertex, sum = 0.0f, by[3] = {0, 0, 0};
    for (int32_t e = track->first[vertex]; e < track->first[vertex + 1]; e++) {
        sum += track->mean[e];
        for (int c = 0; c < 3; c++)
            by[c] += track->mean[e] * (w->arrays.position[4 * (int64_t)track->other[e] + c] - p[c]);
    }
    float excess = fabsf(w->arrays.direction[4 * vertex + 3]) - 1.0f,
          along = by[0] * n[0] + by[1] * n[1] + by[2] * n[2];
    float weight = n[3] == ACTIVE && sum > 0.5f ? fmaxf(0.0f, 1.0f - excess * excess * excess * excess) : 0.0f;
    weight *= track->target[vertex].relax;
    for (int c = 0; c < 3; c++)
        to[c] = p[c] + weight * (by[c] - along * n[c]);
}

static void relax_range(void *work, int32_t begin, int32_t end, int32_t worker)
{
    SUP_UNUSED(worker);
    sup_track_each_vertex(work, begin, end, relax_vertex);
}

static void copy_vertex(sup_track_work *w, int64_t vertex)
{
    memcpy(w->arrays.position + 4 * vertex, w->arrays.descent + 4 * vertex, 3 * sizeof(float));
}

static void copy_range(void *work, int32_t begin, int32_t end, int32_t worker)
{
    SUP_UNUSED(worker);
    sup_track_each_vertex(work, begin, end, copy_vertex);
}

void sup_track_project_frame(const sup_context *context, const sup_track *track, void *state,
                             const sup_track_input *input, sup_track_report *report)
{
    sup_track_work work = {.context = context, .track = track, .input = input};
    work.arrays = sup_track_arrays_of(track, state);
    for (int32_t cluster = 0; cluster < track->cluster_count; cluster++) {
        work.arrays.list[cluster] = cluster;
        work.arrays.awake[cluster] = SUP_TRACK_MOVING; /* in case tracking continues from here */
    }
    work.awake_count = track->cluster_count;
    sup_track_blend_transforms(&work);
    sup_track_run(&work, start_range);
    int64_t remaining = 1;
    memset(report, 0, sizeof *report);
    for (; report->iterations < ITERATIONS && remaining > 0; report->iterations++) {
        for (int i = 0; i < STEPS; i++) {
            sup_track_run(&work, step_range);
            remaining = 0;
            for (int32_t cluster = 0; cluster < track->cluster_count; cluster++)
                remaining += (int64_t)work.arrays.sums[SUP_TRACK_SUMS * (int64_t)cluster];
            report->evaluations += remaining;
        }
        sup_track_run(&work, relax_range);
        sup_track_run(&work, copy_range);
    }
    report->awake = track->vertex_count;
}

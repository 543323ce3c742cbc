/* march.c - implicit skinning without memory: from dual quaternion skinning to the iso-surfaces, in every frame.
 *
 * Based on: [vaillant2014iso] sections 2.3 and 3, which recount the method of 2013; step and angle are those of two public
 * implementations. Kept to be compared with tracking.
 *
 * A vertex marches along the gradient by part of a Newton step and stops at its value, or where the gradient's direction jumps:
 * that is where two parts of skin meet. In between vertices relax to the mean value coordinates of their rest ring, in
 * the plane across the gradient, and less the nearer they are to their value. */
#include "methods/implicit/track_work.h"

/* Part of a Newton step, cosine of the jump that stops a vertex, and the value that counts as reached. */
static const float STEP = 0.35f, JUMP = 0.57357644f /* cos 55 degrees */, THERE = 1e-4f;
static const float LEAST_SLOPE = 0.02f;
enum { ROUNDS = 30, MARCHES = 2 };

/* What a row is doing, in normal[3]. */
enum { MARCHING = 1, STOPPED = 0 };

static void start_row(sup_track_work *w, int64_t row)
{
    const float *m = w->rows.turn + 12 * row, *rest = w->track->rest + 4 * row;
    float *p = w->rows.place + 4 * row, *n = w->rows.normal + 4 * row;
    for (int r = 0; r < 3; r++) {
        p[r] = m[4 * r] * rest[0] + m[4 * r + 1] * rest[1] + m[4 * r + 2] * rest[2] + m[4 * r + 3];
        n[r] = 0.0f;
    }
    p[3] = 0.0f;
    n[3] = w->track->aim[row].gradient > 0.0f ? MARCHING : STOPPED;
}

static void start_some(void *work, int32_t begin, int32_t end, int32_t worker)
{
    SUP_UNUSED(worker);
    sup_track_each_row(work, begin, end, start_row);
}

static void march_row(const sup_track_aim *aim, float value, const float gradient[3], float *place, float *normal,
                      float *miss)
{
    float slope = sqrtf(gradient[0] * gradient[0] + gradient[1] * gradient[1] + gradient[2] * gradient[2]);
    float cosine = 1.0f;
    *miss = aim->iso - value;
    if (!(slope > LEAST_SLOPE * aim->gradient) || fabsf(*miss) < THERE) {
        normal[3] = STOPPED;
        return;
    }
    if (normal[0] != 0.0f || normal[1] != 0.0f || normal[2] != 0.0f)
        cosine = (normal[0] * gradient[0] + normal[1] * gradient[1] + normal[2] * gradient[2]) / slope;
    for (int c = 0; c < 3; c++)
        normal[c] = gradient[c] / slope;
    if (cosine < JUMP) {
        normal[3] = STOPPED;
        place[3] = 1.0f;
        return;
    }
    float most = 0.15f / aim->gradient, way = STEP * *miss / slope;
    way = way > most ? most : way < -most ? -most : way;
    for (int c = 0; c < 3; c++)
        place[c] += way * normal[c];
}

static void march_some(void *work, int32_t begin, int32_t end, int32_t worker)
{
    sup_track_work *w = work;
    const sup_track *track = w->track;
    SUP_UNUSED(worker);
    for (int32_t i = begin; i < end; i++) {
        int32_t block = w->rows.list[i], first = track->block_first[block], busy = 0;
        int32_t count = track->block_first[block + 1] - first;
        for (int32_t k = 0; k < count; k++)
            busy += w->rows.normal[4 * (int64_t)(first + k) + 3] == MARCHING ? 1 : 0;
        w->rows.sums[SUP_TRACK_SUMS * (int64_t)block] = busy > 0 ? (double)count : 0.0;
        if (busy == 0) continue;
        sup_field_points points;
        sup_field_samples f;
        sup_track_take_points(track, w->rows.place, block, &points);
        w->input->field(w->input->field_user, &points, &f, NULL);
        for (int32_t k = 0; k < count; k++) {
            int64_t row = first + k;
            const float gradient[3] = {f.x[k], f.y[k], f.z[k]};
            if (w->rows.normal[4 * row + 3] == MARCHING)
                march_row(&track->aim[row], f.value[k], gradient, w->rows.place + 4 * row, w->rows.normal + 4 * row,
                          w->rows.move + 4 * row + 3);
        }
    }
}

/* To the mean of the neighbours, seen in the plane across the gradient; reads `place`, writes `pull`. */
static void relax_row(sup_track_work *w, int64_t row)
{
    const sup_track *track = w->track;
    const float *p = w->rows.place + 4 * row, *n = w->rows.normal + 4 * row;
    float *to = w->rows.pull + 4 * row, sum = 0.0f, by[3] = {0, 0, 0};
    for (int32_t e = track->first[row]; e < track->first[row + 1]; e++) {
        sum += track->mean[e];
        for (int c = 0; c < 3; c++)
            by[c] += track->mean[e] * (w->rows.place[4 * (int64_t)track->other[e] + c] - p[c]);
    }
    float off = fabsf(w->rows.move[4 * row + 3]) - 1.0f, along = by[0] * n[0] + by[1] * n[1] + by[2] * n[2];
    float share = n[3] == MARCHING && sum > 0.5f ? fmaxf(0.0f, 1.0f - off * off * off * off) : 0.0f;
    share *= track->aim[row].relax;
    for (int c = 0; c < 3; c++)
        to[c] = p[c] + share * (by[c] - along * n[c]);
}

static void relax_some(void *work, int32_t begin, int32_t end, int32_t worker)
{
    SUP_UNUSED(worker);
    sup_track_each_row(work, begin, end, relax_row);
}

static void take_row(sup_track_work *w, int64_t row)
{
    memcpy(w->rows.place + 4 * row, w->rows.pull + 4 * row, 3 * sizeof(float));
}

static void take_some(void *work, int32_t begin, int32_t end, int32_t worker)
{
    SUP_UNUSED(worker);
    sup_track_each_row(work, begin, end, take_row);
}

void sup_track_march(const sup_context *context, const sup_track *track, void *state, const sup_track_input *input,
                     sup_track_report *report)
{
    sup_track_work work = {.context = context, .track = track, .input = input};
    work.rows = sup_track_rows_of(track, state);
    for (int32_t block = 0; block < track->block_count; block++) {
        work.rows.list[block] = block;
        work.rows.awake[block] = SUP_TRACK_UNREST; /* if tracking goes on from here */
    }
    work.awake_count = track->block_count;
    sup_track_turn_rows(&work);
    sup_track_run(&work, start_some);
    int64_t left = 1;
    memset(report, 0, sizeof *report);
    for (; report->rounds < ROUNDS && left > 0; report->rounds++) {
        for (int i = 0; i < MARCHES; i++) {
            sup_track_run(&work, march_some);
            left = 0;
            for (int32_t block = 0; block < track->block_count; block++)
                left += (int64_t)work.rows.sums[SUP_TRACK_SUMS * (int64_t)block];
            report->evaluations += left;
        }
        sup_track_run(&work, relax_some);
        sup_track_run(&work, take_some);
    }
    report->awake = track->row_count;
}

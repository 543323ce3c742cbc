/* project.c - vertices to their own value of the field, along its gradient.
 *
 * Based on: [vaillant2014iso] section 5, second stage.
 *
 * Deviates where the paper is silent: steps are no longer than CLAMP of the way from skin to axis, and between half an edge
 * and three; a step that does not come nearer is halved. On contact sheets, where the field has a double root, a parabola
 * through value and slope says how far the sheet is; the place that is aimed at is GAP above 0.5, on the vertex's own side, whatever
 * its value. Its own side is where its normal came from: a vertex that sees the gradient turn against its normal in a contact
 * is on the wrong one, and goes back through the sheet. */
#include "methods/implicit/track_work.h"

/* Of the field: nearer than this is there. */
static const float THERE = 1e-4f;
/* Longest step, in inverse gradients at rest, about the radius of a limb; but between so many edges. */
static const float CLAMP = 0.15f, CLAMP_LEAST = 0.5f, CLAMP_MOST = 3.0f;
/* A gradient shorter than this part of that at rest has no direction. */
static const float NO_SLOPE = 0.02f;

void sup_track_take_points(const sup_track *track, const float *place, int32_t block, sup_field_points *points)
{
    int32_t first = track->block_first[block], count = track->block_first[block + 1] - first;
    for (int32_t k = 0; k < SUP_FIELD_LANES; k++) {
        const float *p = place + 4 * (int64_t)(first + (k < count ? k : count - 1));
        points->x[k] = p[0];
        points->y[k] = p[1];
        points->z[k] = p[2];
    }
}

/* Value above 0.5 that is aimed at on a contact sheet. */
static const float GAP = 5e-4f;
/* Contact and cosine against the old normal from which on a row is on the wrong side; what that adds to its miss. */
static const float WRONG_CONTACT = 0.3f, WRONG_COSINE = -0.2f, WRONG = 0.1f;

/* What the field says at a row. */
typedef struct sample {
    float value, gradient[3], contact;
} sample;

/* Way along the gradient to the place GAP above the valley of a contact sheet, on this side of it or on the other. */
static float way_to_sheet(const sup_track_aim *aim, float value, float slope, bool wrong)
{
    float above = fmaxf(value - 0.5f, 0.0f), least = NO_SLOPE * aim->gradient;
    if (!(slope > least)) return 0.0f;
    float here = 2.0f * above / slope, there = 2.0f * sqrtf(GAP * fmaxf(above, GAP)) / slope;
    return wrong ? -(here + there) : there - here;
}

/* A step to the value that is aimed at; how far the value is off. The normal is kept where there is no slope, and on the
 * wrong side of a contact; `sheet`: how much of a contact sheet is felt, in [0, 1]. */
static float newton(const sup_track_aim *aim, const sample *s, float *normal, float step[3], float *sheet)
{
    const float *g = s->gradient;
    float slope = sqrtf(g[0] * g[0] + g[1] * g[1] + g[2] * g[2]);
    step[0] = step[1] = step[2] = 0.0f;
    *sheet = 0.0f;
    if (!(aim->gradient > 0.0f)) return 0.0f;
    bool sloping = slope > NO_SLOPE * aim->gradient;
    float cosine = sloping ? (normal[0] * g[0] + normal[1] * g[1] + normal[2] * g[2]) / slope : 1.0f;
    bool wrong = s->contact > WRONG_CONTACT && cosine < WRONG_COSINE;
    *sheet = wrong ? 1.0f : sup_track_sheet(aim, slope, s->contact);
    if (sloping && !wrong)
        for (int c = 0; c < 3; c++)
            normal[c] = g[c] / slope;
    float miss = aim->iso + *sheet * (0.5f + GAP - aim->iso) - s->value;
    if (!(slope > 0.0f)) return fabsf(miss);
    float most = fminf(fmaxf(CLAMP / aim->gradient, CLAMP_LEAST * aim->edge), CLAMP_MOST * aim->edge);
    float way = miss / slope;
    way += *sheet * (way_to_sheet(aim, s->value, slope, wrong) - way);
    way = way > most ? most : way < -most ? -most : way;
    for (int c = 0; c < 3; c++)
        step[c] = way * g[c] / slope;
    return fabsf(miss) + (wrong ? WRONG : 0.0f);
}

typedef struct lane {
    float from[3], step[3], miss; /* the best place so far, the step from it, and how far its value is off */
    bool done;
} lane;

/* Takes what the field says at a lane's place. */
static void judge_lane(const sup_track_aim *aim, const sample *s, float *place, float *normal, lane *l)
{
    float step[3], kept[3] = {normal[0], normal[1], normal[2]}, sheet;
    float miss = newton(aim, s, kept, step, &sheet);
    if (miss <= l->miss) {
        memcpy(l->from, place, sizeof l->from);
        memcpy(l->step, step, sizeof l->step);
        memcpy(normal, kept, sizeof kept);
        l->miss = miss;
        place[3] = sheet;
        normal[3] = miss;
        l->done = miss <= THERE || !(aim->gradient > 0.0f);
    } else
        for (int c = 0; c < 3; c++)
            l->step[c] *= 0.5f;
}

static int32_t project_block(sup_track_work *w, int32_t block, int32_t steps)
{
    const sup_track *track = w->track;
    int32_t first = track->block_first[block], count = track->block_first[block + 1] - first, looks = 0;
    lane lanes[SUP_FIELD_LANES];
    for (int32_t k = 0; k < count; k++)
        lanes[k] = (lane){.miss = INFINITY};
    for (bool busy = true; busy; looks++) {
        sup_field_points points;
        sup_field_samples samples;
        float contact[SUP_FIELD_LANES];
        sup_track_take_points(track, w->rows.place, block, &points);
        w->input->field(w->input->field_user, &points, &samples, contact);
        busy = false;
        for (int32_t k = 0; k < count; k++) {
            int64_t row = first + k;
            float *place = w->rows.place + 4 * row;
            lane *l = &lanes[k];
            if (l->done) continue;
            sample s = {samples.value[k], {samples.x[k], samples.y[k], samples.z[k]}, contact[k]};
            judge_lane(&track->aim[row], &s, place, w->rows.normal + 4 * row, l);
            bool last = looks == steps;
            for (int c = 0; c < 3; c++)
                place[c] = l->from[c] + (l->done || last ? 0.0f : l->step[c]);
            busy = busy || (!l->done && !last);
        }
    }
    return looks * count;
}

typedef struct project_work {
    sup_track_work *work;
    int32_t steps;
} project_work;

static void project_some(void *work, int32_t begin, int32_t end, int32_t worker)
{
    const project_work *p = work;
    SUP_UNUSED(worker);
    for (int32_t i = begin; i < end; i++) {
        int32_t block = p->work->rows.list[i];
        p->work->rows.sums[SUP_TRACK_SUMS * (int64_t)block] = (double)project_block(p->work, block, p->steps);
    }
}

void sup_track_project(sup_track_work *work, int32_t steps)
{
    project_work project = {work, steps};
    sup_parallel(work->context, work->awake_count, SUP_TRACK_GRAIN, project_some, &project);
    for (int32_t i = 0; i < work->awake_count; i++)
        work->evaluations += (int64_t)work->rows.sums[SUP_TRACK_SUMS * (int64_t)work->rows.list[i]];
}

void sup_track_newton_block(sup_track_work *work, int32_t block)
{
    const sup_track *track = work->track;
    int32_t first = track->block_first[block], count = track->block_first[block + 1] - first;
    sup_field_points points;
    sup_field_samples f;
    float contact[SUP_FIELD_LANES], moved = work->rows.moved[block];
    sup_track_take_points(track, work->rows.place, block, &points);
    work->input->field(work->input->field_user, &points, &f, contact);
    for (int32_t k = 0; k < count; k++) {
        int64_t row = first + k;
        float *place = work->rows.place + 4 * row, *normal = work->rows.normal + 4 * row, step[3];
        sample s = {f.value[k], {f.x[k], f.y[k], f.z[k]}, contact[k]};
        normal[3] = newton(&track->aim[row], &s, normal, step, place + 3);
        for (int c = 0; c < 3; c++)
            place[c] += step[c];
        float length = sqrtf(step[0] * step[0] + step[1] * step[1] + step[2] * step[2]);
        moved = fmaxf(moved, length / track->aim[row].edge);
    }
    work->rows.moved[block] = moved;
}

void sup_track_fit(const sup_track *track, void *state, sup_track_field_fn *field, const void *user, int32_t *off,
                   int32_t *sheet, int32_t *lost)
{
    sup_track_rows rows = sup_track_rows_of(track, state);
    *off = *sheet = *lost = 0;
    for (int32_t block = 0; block < track->block_count; block++) {
        sup_field_points points;
        sup_field_samples f;
        float contact[SUP_FIELD_LANES];
        sup_track_take_points(track, rows.place, block, &points);
        field(user, &points, &f, contact);
        for (int32_t row = track->block_first[block], k = 0; row < track->block_first[block + 1]; row++, k++) {
            sample s = {f.value[k], {f.x[k], f.y[k], f.z[k]}, contact[k]};
            float step[3], normal[3] = {0, 0, 0}, on = 0.0f, miss = newton(&track->aim[row], &s, normal, step, &on);
            bool feels = track->aim[row].gradient > 0.0f, there = fabsf(f.value[k] - track->aim[row].iso) <= 1e-3f;
            *lost += feels ? 0 : 1;
            *sheet += feels && !there && on > 0.0f && miss <= 1e-3f ? 1 : 0;
            *off += feels && !there && !(on > 0.0f && miss <= 1e-3f) ? 1 : 0;
        }
    }
}

/* project.c - vertices to their own value of the field, along its gradient.
 *
 * Based on: [vaillant2014iso] section 5, second stage.
 *
 * Deviates where the paper is silent: steps are no longer than CLAMP of the way from skin to axis, and between half an edge
 * and three; a step that does not come nearer is halved.
 *
 * Contact sheets are double roots of the field: values below 0.5 are nowhere, steps halve, and details are far away. There a
 * vertex aims at GAP from the sheet, by the difference of the two fields that meet, which has a slope. It stays on the side of
 * the field that it belongs to: one that is behind the sheet goes back. Sheets end before the joint; a vertex beyond goes
 * back along the fold, and relaxation does not push it there (`stop`). */
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

void sup_track_look(const sup_track *track, int32_t block, sup_track_field_fn *field, const void *user,
                    const sup_field_points *points, sup_field_samples *samples, sup_field_sides *sides)
{
    int32_t first = track->block_first[block], count = track->block_first[block + 1] - first;
    for (int32_t k = 0; k < SUP_FIELD_LANES; k++)
        sides->own[k] = track->own[first + (k < count ? k : count - 1)];
    field(user, points, samples, sides);
}

/* Cosine between the gradient and where dual quaternions have it from which on a row is on the other side of its limb. */
static const float FACING = -0.3f, ALONE = 1e-3f;
/* Edges from there that a row may be away on a limb that is not its own: what it feels of its own is less by ELSEWHERE. */
static const float STRAY = 10.0f, ELSEWHERE = 0.05f;
/* The same where its part is straight, and how straight that is: about 0.07 radians. */
static const float STRAY_STRAIGHT = 0.5f, STRAIGHT = 0.98f;
/* Less than at rest that a row may feel of its kin; and from where on it follows nothing else. */
static const float ASTRAY = 0.1f, ALL_ASTRAY = 0.2f;
/* More than at rest that a row may feel of strangers, and from there on until they press it all the way. */
static const float STRANGE_AT_REST = 0.1f, STRANGE = 0.05f;
/* More than its value that may be felt where a row is mended to. */
static const float MENDED = 0.2f;
/* Distance from a contact sheet that is aimed at, in edges. */
static const float GAP = 0.1f;

/* What the field says at a row: of the whole; and of a contact that the row is in. */
typedef struct sample {
    float value, gradient[3];
    float felt; /* of its own field; negative beside another */
    float contact;
    float side, across[3]; /* how much more of its own is felt than of the other, and its gradient */
    float left, out[3];    /* way until the contact's sheet ends, and the direction away from there */
    float pressed;         /* by a stranger, in [0, 1] */
} sample;

static float length_of(const float v[3])
{
    return sqrtf(v[0] * v[0] + v[1] * v[1] + v[2] * v[2]);
}

static float dot3(const float a[3], const float b[3])
{
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
}

static float clamp(float x, float low, float high)
{
    return x < low ? low : x > high ? high : x;
}

static void mix(sample *at, float share, float value, const float gradient[3])
{
    at->value += share * (value - at->value);
    at->contact *= 1.0f - share;
    for (int c = 0; c < 3; c++)
        at->gradient[c] += share * (gradient[c] - at->gradient[c]);
}

/* Contacts press skin into its own limb, never out of it: a row that feels much less of its kin than at rest lies on another limb,
 * and follows its kin alone until it is back. One that is inside a stranger goes to where its kin is felt as much as that,
 * whatever the angle between the two: where they point the same way their union would press it out of its own limb. */
static sample sample_of(const sup_track *track, int64_t row, const sup_field_samples *f, const sup_field_sides *s,
                        int32_t k)
{
    sample at = {f->value[k],
                 {f->x[k], f->y[k], f->z[k]},
                 s->felt[k],
                 s->contact[k],
                 s->side.value[k],
                 {s->side.x[k], s->side.y[k], s->side.z[k]},
                 s->end.value[k],
                 {s->end.x[k], s->end.y[k], s->end.z[k]},
                 0.0f};
    const sup_track_aim *aim = &track->aim[row];
    float keep = track->inward[4 * row + 3], less = keep - s->kin.value[k];
    float inside = s->strange.value[k] - sup_track_more(0.5f, track->strange[row] + STRANGE_AT_REST);
    if (inside > 0.0f) {
        const float across[3] = {s->kin.x[k] - s->strange.x[k], s->kin.y[k] - s->strange.y[k],
                                 s->kin.z[k] - s->strange.z[k]};
        float sheet = s->strange.value[k] + GAP * aim->edge * length_of(across);
        at.pressed = sheet > keep ? sup_track_less(inside / STRANGE, 1.0f) : 0.0f;
        mix(&at, at.pressed, aim->iso + s->kin.value[k] - sheet, across);
    }
    if (less > ASTRAY) {
        const float home[3] = {s->kin.x[k], s->kin.y[k], s->kin.z[k]};
        mix(&at, sup_track_less((less - ASTRAY) / (ALL_ASTRAY - ASTRAY), 1.0f), aim->iso - less, home);
    }
    return at;
}

static void add_step(float step[3], float way, float most, const float direction[3], float length)
{
    way = clamp(way, -most, most) / length;
    for (int c = 0; c < 3; c++)
        step[c] += way * direction[c];
}

/* How a contact holds a row. */
typedef struct hold {
    float sheet; /* how much, in [0, 1] */
    float off;   /* of the field: from the place beside the sheet that is aimed at */
    float over;  /* way beyond the end of the sheet */
    float end;   /* how much that end holds it, in [0, 1] */
} hold;

static hold hold_of(const sup_track_aim *aim, const sample *s, float slope, float across)
{
    hold h = {0};
    if (!(across > NO_SLOPE * aim->gradient) || !(s->contact > 0.0f)) return h;
    float gap = GAP * aim->edge * across, deep = clamp((s->contact - 0.1f) * 2.5f, 0.0f, 1.0f);
    h.off = gap - s->side;
    h.over = deep * sup_track_more(0.0f, -s->left);
    h.end = deep * clamp(1.0f - 2.0f * s->left / aim->edge, 0.0f, 1.0f);
    h.sheet = h.over > 0.0f
                  ? deep
                  : sup_track_more(sup_track_sheet(aim, slope, s->contact), deep * clamp(h.off / gap, 0.0f, 1.0f));
    return h;
}

/* The direction in the tangent plane that the end of a sheet closes. */
static void set_stop(const sample *s, const float *normal, float end, float *stop)
{
    float t[3], along = s->out[0] * normal[0] + s->out[1] * normal[1] + s->out[2] * normal[2];
    for (int c = 0; c < 3; c++)
        t[c] = along * normal[c] - s->out[c];
    float length = length_of(t);
    for (int c = 0; c < 3; c++)
        stop[c] = length > 0.0f ? t[c] / length : 0.0f;
    stop[3] = length > 0.0f ? end : 0.0f;
}

/* A step to the value that is aimed at; how far the value is off. The normal is kept where there is no slope. `sheet`: how
 * much a contact sheet holds the row, in [0, 1]. */
static float newton(const sup_track_aim *aim, const sample *s, float *normal, float *stop, float step[3], float *sheet)
{
    step[0] = step[1] = step[2] = stop[3] = *sheet = 0.0f;
    if (!(aim->gradient > 0.0f)) return 0.0f;
    float slope = length_of(s->gradient), across = length_of(s->across), miss = aim->iso - s->value, n[3] = {0, 0, 0};
    float most = clamp(CLAMP / aim->gradient, CLAMP_LEAST * aim->edge, CLAMP_MOST * aim->edge);
    hold h = hold_of(aim, s, slope, across);
    *sheet = sup_track_more(h.sheet, s->pressed);
    if (slope > 0.0f && h.sheet < 1.0f) {
        float share = 1.0f - h.sheet;
        add_step(step, share * miss / slope, share * most, s->gradient, slope);
        for (int c = 0; c < 3 && slope > NO_SLOPE * aim->gradient; c++)
            n[c] = share * s->gradient[c] / slope;
    }
    if (h.sheet > 0.0f) {
        add_step(step, h.sheet * h.off / across, h.sheet * most, s->across, across);
        for (int c = 0; c < 3; c++)
            n[c] += h.sheet * s->across[c] / across;
    }
    if (h.over > 0.0f) add_step(step, h.over, most, s->out, 1.0f);
    float length = length_of(n);
    for (int c = 0; c < 3 && length > 0.1f; c++)
        normal[c] = n[c] / length;
    if (h.end > 0.0f) set_stop(s, normal, h.end, stop);
    return (1.0f - h.sheet) * fabsf(miss) + h.sheet * 0.5f * fabsf(h.off) + h.over * aim->gradient;
}

typedef struct lane {
    float from[3], step[3], miss; /* the best place so far, the step from it, and how far its value is off */
    int32_t homes;                /* places that it started from anew; 2: it does so no more */
    bool done;
} lane;

/* Takes what the field says at a lane's place. */
static void judge_lane(const sup_track_aim *aim, const sample *s, float *place, float *normal, float *stop, lane *l)
{
    float step[3], kept[3] = {normal[0], normal[1], normal[2]}, sheet, end[4] = {0};
    float miss = newton(aim, s, kept, end, step, &sheet);
    if (miss <= l->miss) {
        memcpy(l->from, place, sizeof l->from);
        memcpy(l->step, step, sizeof l->step);
        memcpy(normal, kept, sizeof kept);
        memcpy(stop, end, sizeof end);
        l->miss = miss;
        place[3] = sheet;
        normal[3] = miss;
        l->done = miss <= THERE || !(aim->gradient > 0.0f);
    } else
        for (int c = 0; c < 3; c++)
            l->step[c] *= 0.5f;
}

/* Where a matrix, rest to pose, has a row, and its gradient. */
static void home_of(const sup_track *track, const float m[12], int64_t row, float home[3], float normal[3])
{
    const float *rest = track->rest + 4 * row, *inward = track->inward + 4 * row;
    for (int r = 0; r < 3; r++) {
        normal[r] = m[4 * r] * inward[0] + m[4 * r + 1] * inward[1] + m[4 * r + 2] * inward[2];
        home[r] = m[4 * r] * rest[0] + m[4 * r + 1] * rest[1] + m[4 * r + 2] * rest[2] + m[4 * r + 3];
    }
}

/* Rows that start anew. Where only its own limb is felt, a row went through that if its surface faces the other way than both dual
 * quaternions and its bone have it face. One is lost that feels nothing at all; one that lies on something else, in no
 * contact, far from where both have it; and one that is not where both have it though its part is straight and nothing presses
 * it. They start from where dual quaternions have them, and where that is in no field of their own, as in the flaps that
 * those make of deep folds, from where the bone has. */
static bool bring_home(const sup_track_work *w, const sample *s, int32_t joint, int64_t row, lane *l)
{
    const sup_track *track = w->track;
    const float *turn = w->rows.turn + 12 * row, *bone = w->input->joints[joint].place;
    float straight = w->rows.straight[joint], *place = w->rows.place + 4 * row, home[2][3], n[2][3],
          own = fabsf(s->felt);
    bool calm = straight > STRAIGHT && !(s->pressed > 0.0f);
    float faces = FACING * length_of(s->gradient), far = (calm ? STRAY_STRAIGHT : STRAY) * track->aim[row].edge;
    bool again = l->homes == 1, mine = track->own[row] >= 0.0f, through = fabsf(s->value - s->felt) <= ALONE;
    bool away = calm || (s->value - own > ELSEWHERE && s->contact < 0.1f);
    for (int i = 0; i < 2; i++) {
        home_of(track, i == 0 ? turn : bone, row, home[i], n[i]);
        const float way[3] = {home[i][0] - place[0], home[i][1] - place[1], home[i][2] - place[2]};
        through = through && dot3(n[i], s->gradient) < faces;
        away = away && dot3(way, way) > far * far;
    }
    bool leaves = again ? mine && own <= ALONE : through || (mine && (s->value <= ALONE || away));
    l->homes = leaves ? l->homes + 1 : 2;
    if (!leaves) return false;
    memcpy(place, home[again], sizeof home[0]);
    place[3] = 0.0f;
    memcpy(w->rows.normal + 4 * row, n[again], sizeof n[0]);
    return true;
}

/* Takes a row that was mended back where it came from if that led it into a contact, or deep inside. */
static bool take_back(const sup_track_work *w, const sample *s, int64_t row)
{
    float *move = w->rows.move + 4 * row, *place = w->rows.place + 4 * row;
    bool back = move[3] > 0.0f && (s->contact > 0.0f || s->value - w->track->aim[row].iso > MENDED);
    move[3] = 0.0f;
    for (int c = 0; c < 3 && back; c++)
        place[c] -= move[c];
    return back;
}

static int32_t project_block(sup_track_work *w, int32_t block, int32_t steps)
{
    const sup_track *track = w->track;
    int32_t first = track->block_first[block], count = track->block_first[block + 1] - first, looks = 0;
    const int32_t joint = track->block_joint[block];
    lane lanes[SUP_FIELD_LANES];
    for (int32_t k = 0; k < count; k++)
        lanes[k] = (lane){.miss = INFINITY};
    for (bool busy = true; busy; looks++) {
        sup_field_points points;
        sup_field_samples samples;
        sup_field_sides sides;
        sup_track_take_points(track, w->rows.place, block, &points);
        sup_track_look(track, block, w->input->field, w->input->field_user, &points, &samples, &sides);
        busy = false;
        for (int32_t k = 0; k < count; k++) {
            int64_t row = first + k;
            float *place = w->rows.place + 4 * row;
            lane *l = &lanes[k];
            if (l->done) continue;
            sample s = sample_of(track, row, &samples, &sides, k);
            if (take_back(w, &s, row) || (l->homes < 2 && bring_home(w, &s, joint, row, l))) {
                busy = true;
                continue;
            }
            judge_lane(&track->aim[row], &s, place, w->rows.normal + 4 * row, w->rows.stop + 4 * row, l);
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
    float drift;
} project_work;

static void project_some(void *work, int32_t begin, int32_t end, int32_t worker)
{
    const project_work *p = work;
    SUP_UNUSED(worker);
    for (int32_t i = begin; i < end; i++) {
        int32_t block = p->work->rows.list[i];
        double *sums = p->work->rows.sums + SUP_TRACK_SUMS * (int64_t)block;
        bool far = p->work->rows.drift[block] > p->drift;
        int32_t first = p->work->track->block_first[block], end_row = p->work->track->block_first[block + 1];
        sums[0] = far ? (double)project_block(p->work, block, p->steps) : 0.0;
        sums[1] = sums[0] > (double)(end_row - first) ? 1.0 : 0.0; /* more than the first look */
        for (int64_t row = first; row < end_row; row++)
            if (p->work->rows.place[4 * row + 3] > 0.0f) sums[1] = 1.0;
        if (far) p->work->rows.drift[block] = 0.0f;
    }
}

void sup_track_project(sup_track_work *work, int32_t steps, float drift)
{
    project_work project = {work, steps, drift};
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
    sup_field_sides sides;
    float moved = 0.0f;
    sup_track_take_points(track, work->rows.place, block, &points);
    sup_track_look(track, block, work->input->field, work->input->field_user, &points, &f, &sides);
    for (int32_t k = 0; k < count; k++) {
        int64_t row = first + k;
        float *place = work->rows.place + 4 * row, *normal = work->rows.normal + 4 * row, step[3];
        sample s = sample_of(track, row, &f, &sides, k);
        normal[3] = newton(&track->aim[row], &s, normal, work->rows.stop + 4 * row, step, place + 3);
        for (int c = 0; c < 3; c++)
            place[c] += step[c];
        float length = sqrtf(step[0] * step[0] + step[1] * step[1] + step[2] * step[2]);
        moved = sup_track_more(moved, length / track->aim[row].edge);
    }
    work->rows.moved[block] = sup_track_more(work->rows.moved[block], moved);
    work->rows.drift[block] = moved;
}

void sup_track_fit(const sup_track *track, void *state, sup_track_field_fn *field, const void *user, int32_t *off,
                   int32_t *sheet, int32_t *lost)
{
    sup_track_rows rows = sup_track_rows_of(track, state);
    *off = *sheet = *lost = 0;
    for (int32_t block = 0; block < track->block_count; block++) {
        sup_field_points points;
        sup_field_samples f;
        sup_field_sides sides;
        sup_track_take_points(track, rows.place, block, &points);
        sup_track_look(track, block, field, user, &points, &f, &sides);
        for (int32_t row = track->block_first[block], k = 0; row < track->block_first[block + 1]; row++, k++) {
            const sup_track_aim *aim = &track->aim[row];
            sample s = sample_of(track, row, &f, &sides, k);
            float across = length_of(s.across);
            hold h = hold_of(aim, &s, length_of(s.gradient), across);
            bool feels = aim->gradient > 0.0f, there = fabsf(s.value - aim->iso) <= 1e-3f;
            bool on = h.sheet > 0.0f && fabsf(h.off) <= GAP * aim->edge * across; /* beside its sheet, within a gap */
            *lost += feels ? 0 : 1;
            *sheet += feels && !there && on ? 1 : 0;
            *off += feels && !there && !on ? 1 : 0;
        }
    }
}

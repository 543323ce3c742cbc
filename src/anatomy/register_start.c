/* register_start.c - finds the up and front directions of a scan and the pose of its arms by exhaustive search.
 *
 * 24 rotations of the scan's axes and 24 of its principal axes, each with the template's arms as they are, hanging
 * and spread, are scored by the distance to the mean body; the best are fitted coarsely, and the one with the best
 * fit is used. This also distinguishes front and back: feet, knees, elbows and face fit on one side only. */
#include "anatomy/register.h"

enum { SCORE_POINTS = 180, RUN_POINTS = 700, POSES = 3, FRAMES = 2, ROTATIONS = 24, FINALISTS = 6, SEARCHES = 3 };
static const double score_limit = 0.25; /* metres */
static const double lost_limb_fraction =
    /* fraction of the scan farther than lost_distance from the template: a limb is lost */
    0.02;
static const double max_lost_fraction = 0.35; /* a larger fraction is another shape, not a lost limb */
static const double lost_distance = 0.05;     /* metres */
static const double max_score_ratio = 1.6;    /* relative to the best score */
static const double min_upright = 0.55;       /* fraction of the longest extent: the minimum height of a person */

typedef struct candidate {
    sup_quatd rotation;
    int32_t pose;
    double score, lost; /* metres; fraction of the scan */
    sup_body_state state;
} candidate;

/* Up and front of rotation t of a frame: 6 axes with 4 perpendicular directions each. */
static void axes_of_rotation(const sup_vec3d axes[3], int32_t t, sup_vec3d *up, sup_vec3d *front)
{
    int32_t u = t / 4 / 2, side = t % 4;
    *up = sup_v3_scale(axes[u], t / 4 % 2 == 0 ? 1.0 : -1.0);
    *front = sup_v3_scale(axes[(u + 1 + side / 2) % 3], side % 2 == 0 ? 1.0 : -1.0);
}

static sup_quatd rotation_of(sup_vec3d up, sup_vec3d front)
{
    sup_vec3d left = sup_v3_cross(up, front);
    sup_affine a = {{left.x, up.x, front.x, 0, left.y, up.y, front.y, 0, left.z, up.z, front.z, 0}};
    sup_quatd rotation = {0, 0, 0, 1};
    double stretch[9];
    sup_affine_polar(a, &rotation, stretch);
    return rotation;
}

/* Arms as they are (0), hanging (1), spread (2). */
static void set_arms(const sup_register_work *w, int32_t pose, sup_body_state *state)
{
    const sup_composition *c = w->composition;
    for (int side = 0; side < 2 && pose > 0; side++) {
        int32_t arm = w->roles.limb[side][SUP_ROLE_UPPER_ARM], hand = w->roles.limb[side][SUP_ROLE_HAND];
        if (arm <= 0 || hand < 0) continue;
        const double *a = c->joint_mean + 3 * (size_t)arm, *h = c->joint_mean + 3 * (size_t)hand;
        sup_vec3d now = sup_v3(h[0] - a[0], h[1] - a[1], h[2] - a[2]);
        double out = now.x < 0.0 ? -1.0 : 1.0;
        sup_vec3d target = pose == 1 ? sup_v3(0.12 * out, -1.0, 0.0) : sup_v3(out, 0.0, 0.0);
        state->local[arm] = sup_quatd_between(now, target);
    }
}

typedef struct box {
    sup_vec3d low, high;
} box;

/* Bounding box of points in rotated axes. */
static box box_in(const double *points, int32_t count, sup_quatd rotation)
{
    box b = {{INFINITY, INFINITY, INFINITY}, {-INFINITY, -INFINITY, -INFINITY}};
    sup_quatd back = sup_quatd_conjugate(rotation);
    for (int32_t i = 0; i < count; i++) {
        const double *p = points + 3 * (size_t)i;
        sup_vec3d x = sup_quatd_rotate(back, sup_v3(p[0], p[1], p[2]));
        b.low = sup_v3(fmin(b.low.x, x.x), fmin(b.low.y, x.y), fmin(b.low.z, x.z));
        b.high = sup_v3(fmax(b.high.x, x.x), fmax(b.high.y, x.y), fmax(b.high.z, x.z));
    }
    return b;
}

/* Rotates the template, scales it to the scan's height and aligns the bounding boxes. Returns false if the scan is
 * too low in this orientation. */
static bool align_to_scan(const sup_register_work *w, const sup_body_model *model, double *posed, candidate *c)
{
    const sup_scan *scan = &w->scan;
    box target = box_in(scan->samples, scan->sample_count, c->rotation);
    double height = target.high.y - target.low.y;
    if (height < min_upright * scan->height) return false;
    sup_body_state *s = &c->state;
    set_arms(w, c->pose, s);
    sup_body_state_update(w->composition, s);
    sup_body_skin(&w->context, model, s, posed, NULL);
    box own = box_in(posed, model->vertex_count, (sup_quatd){0, 0, 0, 1});
    s->log_scale = fmax(-0.5, fmin(0.35, log(height / (own.high.y - own.low.y))));
    s->local[0] = c->rotation;
    sup_body_state_update(w->composition, s);
    s->translation = sup_v3(0, 0, 0);
    sup_body_skin(&w->context, model, s, posed, NULL);
    own = box_in(posed, model->vertex_count, c->rotation);
    sup_vec3d offset =
        sup_v3_scale(sup_v3_sub(sup_v3_add(target.low, target.high), sup_v3_add(own.low, own.high)), 0.5);
    s->translation = sup_quatd_rotate(c->rotation, offset);
    return true;
}

/* Small models and their fits: the smallest scores starts, the other one fits them. */
typedef struct start_search {
    sup_register_work *work;
    sup_body_model tiny, small;
    sup_fit score_fit, run;
    candidate *list;
    int32_t count;
} start_search;

static sup_result open_search(start_search *t, sup_error *error)
{
    sup_register_work *w = t->work;
    int32_t score_step = w->scan.sample_count / SCORE_POINTS + 1, run = w->scan.sample_count / RUN_POINTS + 1;
    sup_result result = sup_body_model_make(&w->context, w->composition, SCORE_POINTS, &w->arena, &t->tiny, error);
    if (result == SUP_OK)
        result = sup_body_model_make(&w->context, w->composition, RUN_POINTS, &w->arena, &t->small, error);
    if (result == SUP_OK)
        result = sup_fit_open(&w->context, &t->tiny, &w->scan, score_step, w->joint_deviation, NULL, 0, &w->arena,
                              &t->score_fit, error);
    if (result == SUP_OK)
        result = sup_fit_open(&w->context, &t->small, &w->scan, run, w->joint_deviation, w->marks, w->mark_count,
                              &w->arena, &t->run, error);
    return result;
}

/* Appends a start with that rotation and pose, unless the orientation is impossible. */
static sup_result add_start(start_search *t, sup_quatd rotation, int32_t pose, sup_error *error)
{
    const sup_fit_settings settings = {.limit = score_limit, .cosine = 0.0};
    candidate *c = &t->list[t->count];
    *c = (candidate){.rotation = rotation, .pose = pose};
    if (!sup_body_state_make(t->work->composition, &t->work->arena, &c->state))
        return sup_fail_memory(error, "the registration");
    if (!align_to_scan(t->work, &t->tiny, t->score_fit.posed, c)) return SUP_OK;
    sup_result result = sup_fit_match(&t->score_fit, &c->state, &settings, error);
    if (result == SUP_OK) c->score = sup_fit_score(&t->score_fit, score_limit), t->count++;
    return result;
}

/* Whether each principal axis is within 20 degrees of an axis of the scan, so that the principal frame is redundant. */
static bool axes_agree(const sup_vec3d axes[3])
{
    static const double near = 0.94;
    for (int k = 0; k < 3; k++)
        if (fmax(fabs(axes[k].x), fmax(fabs(axes[k].y), fabs(axes[k].z))) < near) return false;
    return true;
}

static sup_result score_all(start_search *t, sup_error *error)
{
    const sup_vec3d own[3] = {{1, 0, 0}, {0, 1, 0}, {0, 0, 1}};
    const sup_vec3d *frames[FRAMES] = {own, t->work->scan.axes};
    int32_t count = (axes_agree(t->work->scan.axes) ? 1 : FRAMES) * ROTATIONS * POSES;
    sup_result result = SUP_OK;
    for (int32_t i = 0; i < count && result == SUP_OK; i++) {
        sup_vec3d up, front;
        axes_of_rotation(frames[i / (ROTATIONS * POSES)], i / POSES % ROTATIONS, &up, &front);
        result = add_start(t, rotation_of(up, front), i % POSES, error);
    }
    return result;
}

/* Sorts the best `keep` to the front; the two frames may contain the same orientation. */
static void sort_best(candidate *list, int32_t count, int32_t keep)
{
    for (int32_t i = 0; i < keep && i < count; i++)
        for (int32_t j = i + 1; j < count; j++)
            if (list[j].score < list[i].score) {
                candidate swap = list[i];
                list[i] = list[j];
                list[j] = swap;
            }
}

static bool same_rotation(sup_quatd a, sup_quatd b)
{
    static const double same = 0.97; /* |q . q'|: within 28 degrees */
    return fabs(a.x * b.x + a.y * b.y + a.z * b.z + a.w * b.w) > same;
}

/* Removes starts that equal a better one: nearly the same rotation and the same arms. */
static int32_t different(candidate *list, int32_t count)
{
    int32_t kept = 0;
    for (int32_t i = 0; i < count; i++) {
        bool is_new = true;
        for (int32_t j = 0; j < kept && is_new; j++)
            is_new = !same_rotation(list[i].rotation, list[j].rotation) || list[i].pose != list[j].pose;
        if (is_new) list[kept++] = list[i];
    }
    return kept;
}

static sup_result run_one(start_search *t, candidate *c, const sup_fit_settings *settings, sup_error *error)
{
    sup_fit_settings scoring = *settings;
    scoring.limit = 0.1, scoring.cosine = 0.3;
    sup_result result = sup_fit_run(&t->run, &c->state, settings, error);
    if (result == SUP_OK) result = sup_fit_match(&t->run, &c->state, &scoring, error);
    if (result == SUP_OK) c->score = sup_fit_score(&t->run, scoring.limit);
    if (result == SUP_OK) c->lost = sup_fit_unexplained(&t->run, lost_distance);
    return result;
}

/* Front and back look similar from afar: also tries the best starts rotated by half a turn about Y. */
static sup_result add_rotated(start_search *t, int32_t finalists, const sup_fit_settings *settings, sup_error *error)
{
    sup_result result = SUP_OK;
    t->count = finalists;
    for (int32_t i = 0; i < 2 && i < finalists && result == SUP_OK; i++) {
        sup_quatd rotated = sup_quatd_multiply(t->list[i].rotation, (sup_quatd){0, 1, 0, 0});
        bool tried = false;
        for (int32_t j = 0; j < t->count && !tried; j++)
            tried = same_rotation(t->list[j].rotation, rotated) && t->list[j].pose == t->list[i].pose;
        int32_t previous_count = t->count;
        if (!tried) result = add_start(t, rotated, t->list[i].pose, error);
        if (result == SUP_OK && t->count > previous_count)
            result = run_one(t, &t->list[previous_count], settings, error);
    }
    return result;
}

static int32_t minimum(int32_t a, int32_t b)
{
    return a < b ? a : b;
}

static sup_result select_start(start_search *t, sup_error *error)
{
    static const sup_fit_settings rough = {.limit = 0.25,
                                           .cosine = 0.1,
                                           .noise = 0.03,
                                           .tangent = 0.3,
                                           .pose = 1.0,
                                           .modes = 3,
                                           .max_iterations = 6,
                                           .use_marks = true};
    static const sup_fit_settings closer = {.limit = 0.12,
                                            .cosine = 0.3,
                                            .noise = 0.015,
                                            .tangent = 0.1,
                                            .pose = 1.0,
                                            .modes = 6,
                                            .max_iterations = 10,
                                            .use_marks = true};
    static const sup_fit_settings close = {.limit = 0.08,
                                           .cosine = 0.4,
                                           .noise = 0.010,
                                           .tangent = 0.05,
                                           .pose = 1.0,
                                           .modes = 8,
                                           .max_iterations = 8,
                                           .use_marks = true};
    int32_t finalists = minimum(t->count, FINALISTS);
    sup_result result = SUP_OK;
    for (int32_t i = 0; i < finalists && result == SUP_OK; i++)
        result = run_one(t, &t->list[i], &rough, error);
    sort_best(t->list, finalists, finalists);
    if (result == SUP_OK) result = add_rotated(t, finalists, &rough, error);
    sort_best(t->list, t->count, t->count);
    if (result == SUP_OK) result = sup_register_report_progress(t->work, 0.15f, "alignment", error);
    double best = t->list[0].score;
    for (finalists = 0; finalists < minimum(t->count, 4) && result == SUP_OK; finalists++) {
        if (t->list[finalists].score > max_score_ratio * best) break;
        result = run_one(t, &t->list[finalists], &closer, error);
    }
    sort_best(t->list, finalists, finalists);
    bool person = t->list[0].lost < max_lost_fraction;
    best = t->list[0].score;
    finalists = minimum(finalists, 2);
    for (int32_t i = 0; i < finalists && result == SUP_OK; i++) {
        if (t->list[i].score > max_score_ratio * best) continue;
        for (int n = 0; n < SEARCHES && person && t->list[i].lost > lost_limb_fraction && result == SUP_OK; n++) {
            result = sup_register_limbs(t->work, &t->run, true, &t->list[i].state, error);
            if (result == SUP_OK) result = run_one(t, &t->list[i], &closer, error);
        }
        if (result == SUP_OK && person) result = sup_register_limbs(t->work, &t->run, false, &t->list[i].state, error);
        if (result == SUP_OK) result = run_one(t, &t->list[i], &close, error);
        if (result == SUP_OK) result = sup_register_report_progress(t->work, 0.2f + 0.05f * (float)i, "limbs", error);
    }
    sort_best(t->list, finalists, finalists);
    return result;
}

sup_result sup_register_start(sup_register_work *w, sup_error *error)
{
    start_search t = {.work = w};
    t.list = sup_arena_alloc(&w->arena, FRAMES * ROTATIONS * POSES + 4, sizeof *t.list);
    if (t.list == NULL) return sup_fail_memory(error, "the registration");
    sup_result result = open_search(&t, error);
    if (result == SUP_OK) result = score_all(&t, error);
    if (result == SUP_OK) {
        sort_best(t.list, t.count, t.count);
        t.count = different(t.list, t.count);
        result =
            t.count > 0
                ? select_start(&t, error)
                : sup_fail(error, SUP_ERROR_DATA, "anatomy.scan.shape", "",
                           "The scan does not look like a person in any orientation: use a scan of one whole person.");
    }
    sup_fit_close(&t.score_fit);
    sup_fit_close(&t.run);
    if (result != SUP_OK) return result;
    sup_body_state_copy(w->composition, &t.list[0].state, &w->state);
    w->start = t.list[0].rotation;
    return SUP_OK;
}

/* register_start.c - where a scan's up and front are, and how its arms hang: all are tried.
 *
 * 24 turns of the scan's own axes and 24 of its principal axes, each with the template's arms as they are, hanging and
 * spread, are judged by distance to the mean; the best are fitted coarsely, and the one that fits best is taken. Front and
 * back of a person are told apart in this way as well: feet, knees, elbows and face fit on one side only. */
#include "anatomy/register.h"

enum { SCORE_POINTS = 180, RUN_POINTS = 700, POSES = 3, FRAMES = 2, TURNS = 24, FINALISTS = 6, SEARCHES = 3 };
static const double score_limit = 0.25;   /* metres */
static const double astray_share = 0.02;  /* of the scan, farther than astray_far from the template: a limb is lost */
static const double astray_most = 0.35;   /* more is no lost limb, but another shape */
static const double astray_far = 0.05;    /* metres */
static const double hopeless = 1.6;       /* times the best score */
static const double least_upright = 0.55; /* of the longest extent: a person is not lower than that */

typedef struct candidate {
    sup_quatd rotation;
    int32_t pose;
    double score, lost; /* metres; share of the scan */
    sup_body_state state;
} candidate;

/* Up and front of turn t in a frame: 6 axes with 4 directions across each. */
static void turn_axes(const sup_vec3d axes[3], int32_t t, sup_vec3d *up, sup_vec3d *front)
{
    int32_t u = t / 4 / 2, side = t % 4;
    *up = sup_v3_scale(axes[u], t / 4 % 2 == 0 ? 1.0 : -1.0);
    *front = sup_v3_scale(axes[(u + 1 + side / 2) % 3], side % 2 == 0 ? 1.0 : -1.0);
}

static sup_quatd turn_of(sup_vec3d up, sup_vec3d front)
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
        sup_vec3d wanted = pose == 1 ? sup_v3(0.12 * out, -1.0, 0.0) : sup_v3(out, 0.0, 0.0);
        state->local[arm] = sup_quatd_between(now, wanted);
    }
}

typedef struct box {
    sup_vec3d low, high;
} box;

/* Box of points in turned axes. */
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

/* The template turned, of the scan's height, its box on the scan's. False when the scan is too low this way up. */
static bool place(const sup_register_work *w, const sup_body_model *model, double *posed, candidate *c)
{
    const sup_scan *scan = &w->scan;
    box target = box_in(scan->samples, scan->sample_count, c->rotation);
    double height = target.high.y - target.low.y;
    if (height < least_upright * scan->height) return false;
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
    sup_vec3d way = sup_v3_scale(sup_v3_sub(sup_v3_add(target.low, target.high), sup_v3_add(own.low, own.high)), 0.5);
    s->translation = sup_quatd_rotate(c->rotation, way);
    return true;
}

/* Small models and their fits: the smallest judges starts, the other runs. */
typedef struct contest {
    sup_register_work *work;
    sup_body_model tiny, small;
    sup_fit judge, run;
    candidate *list;
    int32_t count;
} contest;

static sup_result open_contest(contest *t, sup_error *error)
{
    sup_register_work *w = t->work;
    int32_t judged = w->scan.sample_count / SCORE_POINTS + 1, run = w->scan.sample_count / RUN_POINTS + 1;
    sup_result result = sup_body_model_make(&w->context, w->composition, SCORE_POINTS, &w->arena, &t->tiny, error);
    if (result == SUP_OK)
        result = sup_body_model_make(&w->context, w->composition, RUN_POINTS, &w->arena, &t->small, error);
    if (result == SUP_OK)
        result = sup_fit_open(&w->context, &t->tiny, &w->scan, judged, w->joint_deviation, NULL, 0, &w->arena,
                              &t->judge, error);
    if (result == SUP_OK)
        result = sup_fit_open(&w->context, &t->small, &w->scan, run, w->joint_deviation, w->marks, w->mark_count,
                              &w->arena, &t->run, error);
    return result;
}

/* A start of that rotation and pose at the end of the list, unless it cannot be. */
static sup_result add_start(contest *t, sup_quatd rotation, int32_t pose, sup_error *error)
{
    const sup_fit_settings settings = {.limit = score_limit, .cosine = 0.0};
    candidate *c = &t->list[t->count];
    *c = (candidate){.rotation = rotation, .pose = pose};
    if (!sup_body_state_make(t->work->composition, &t->work->arena, &c->state))
        return sup_fail_memory(error, "the registration");
    if (!place(t->work, &t->tiny, t->judge.posed, c)) return SUP_OK;
    sup_result result = sup_fit_match(&t->judge, &c->state, &settings, error);
    if (result == SUP_OK) c->score = sup_fit_score(&t->judge, score_limit), t->count++;
    return result;
}

/* Whether each principal axis is within 20 degrees of one of the scan's own: then these say the same. */
static bool axes_agree(const sup_vec3d axes[3])
{
    static const double near = 0.94;
    for (int k = 0; k < 3; k++)
        if (fmax(fabs(axes[k].x), fmax(fabs(axes[k].y), fabs(axes[k].z))) < near) return false;
    return true;
}

static sup_result score_all(contest *t, sup_error *error)
{
    const sup_vec3d own[3] = {{1, 0, 0}, {0, 1, 0}, {0, 0, 1}};
    const sup_vec3d *frames[FRAMES] = {own, t->work->scan.axes};
    int32_t count = (axes_agree(t->work->scan.axes) ? 1 : FRAMES) * TURNS * POSES;
    sup_result result = SUP_OK;
    for (int32_t i = 0; i < count && result == SUP_OK; i++) {
        sup_vec3d up, front;
        turn_axes(frames[i / (TURNS * POSES)], i / POSES % TURNS, &up, &front);
        result = add_start(t, turn_of(up, front), i % POSES, error);
    }
    return result;
}

/* The best `keep` to the front; of one orientation the two frames may give the same. */
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

static bool same_turn(sup_quatd a, sup_quatd b)
{
    static const double same = 0.97; /* |q . q'|: within 28 degrees */
    return fabs(a.x * b.x + a.y * b.y + a.z * b.z + a.w * b.w) > same;
}

/* Leaves out starts that say the same as a better one: nearly the same rotation and the same arms. */
static int32_t different(candidate *list, int32_t count)
{
    int32_t kept = 0;
    for (int32_t i = 0; i < count; i++) {
        bool fresh = true;
        for (int32_t j = 0; j < kept && fresh; j++)
            fresh = !same_turn(list[i].rotation, list[j].rotation) || list[i].pose != list[j].pose;
        if (fresh) list[kept++] = list[i];
    }
    return kept;
}

static sup_result run_one(contest *t, candidate *c, const sup_fit_settings *settings, sup_error *error)
{
    sup_fit_settings judge = *settings;
    judge.limit = 0.1, judge.cosine = 0.3;
    sup_result result = sup_fit_run(&t->run, &c->state, settings, error);
    if (result == SUP_OK) result = sup_fit_match(&t->run, &c->state, &judge, error);
    if (result == SUP_OK) c->score = sup_fit_score(&t->run, judge.limit);
    if (result == SUP_OK) c->lost = sup_fit_unexplained(&t->run, astray_far);
    return result;
}

/* Front and back look alike from afar: the best starts are also tried the other way round. */
static sup_result add_turned(contest *t, int32_t runners, const sup_fit_settings *settings, sup_error *error)
{
    sup_result result = SUP_OK;
    t->count = runners;
    for (int32_t i = 0; i < 2 && i < runners && result == SUP_OK; i++) {
        sup_quatd turned = sup_quatd_multiply(t->list[i].rotation, (sup_quatd){0, 1, 0, 0});
        bool tried = false;
        for (int32_t j = 0; j < t->count && !tried; j++)
            tried = same_turn(t->list[j].rotation, turned) && t->list[j].pose == t->list[i].pose;
        int32_t before = t->count;
        if (!tried) result = add_start(t, turned, t->list[i].pose, error);
        if (result == SUP_OK && t->count > before) result = run_one(t, &t->list[before], settings, error);
    }
    return result;
}

static int32_t least(int32_t a, int32_t b)
{
    return a < b ? a : b;
}

static sup_result compete(contest *t, sup_error *error)
{
    static const sup_fit_settings rough = {.limit = 0.25,
                                           .cosine = 0.1,
                                           .noise = 0.03,
                                           .tangent = 0.3,
                                           .pose = 1.0,
                                           .modes = 3,
                                           .most = 6,
                                           .use_marks = true};
    static const sup_fit_settings closer = {.limit = 0.12,
                                            .cosine = 0.3,
                                            .noise = 0.015,
                                            .tangent = 0.1,
                                            .pose = 1.0,
                                            .modes = 6,
                                            .most = 10,
                                            .use_marks = true};
    static const sup_fit_settings close = {.limit = 0.08,
                                           .cosine = 0.4,
                                           .noise = 0.010,
                                           .tangent = 0.05,
                                           .pose = 1.0,
                                           .modes = 8,
                                           .most = 8,
                                           .use_marks = true};
    int32_t runners = least(t->count, FINALISTS);
    sup_result result = SUP_OK;
    for (int32_t i = 0; i < runners && result == SUP_OK; i++)
        result = run_one(t, &t->list[i], &rough, error);
    sort_best(t->list, runners, runners);
    if (result == SUP_OK) result = add_turned(t, runners, &rough, error);
    sort_best(t->list, t->count, t->count);
    if (result == SUP_OK) result = sup_register_report_progress(t->work, 0.15f, "alignment", error);
    double best = t->list[0].score;
    for (runners = 0; runners < least(t->count, 4) && result == SUP_OK; runners++) {
        if (t->list[runners].score > hopeless * best) break;
        result = run_one(t, &t->list[runners], &closer, error);
    }
    sort_best(t->list, runners, runners);
    bool person = t->list[0].lost < astray_most;
    best = t->list[0].score;
    runners = least(runners, 2);
    for (int32_t i = 0; i < runners && result == SUP_OK; i++) {
        if (t->list[i].score > hopeless * best) continue;
        for (int n = 0; n < SEARCHES && person && t->list[i].lost > astray_share && result == SUP_OK; n++) {
            result = sup_register_limbs(t->work, &t->run, true, &t->list[i].state, error);
            if (result == SUP_OK) result = run_one(t, &t->list[i], &closer, error);
        }
        if (result == SUP_OK && person) result = sup_register_limbs(t->work, &t->run, false, &t->list[i].state, error);
        if (result == SUP_OK) result = run_one(t, &t->list[i], &close, error);
        if (result == SUP_OK) result = sup_register_report_progress(t->work, 0.2f + 0.05f * (float)i, "limbs", error);
    }
    sort_best(t->list, runners, runners);
    return result;
}

sup_result sup_register_start(sup_register_work *w, sup_error *error)
{
    contest t = {.work = w};
    t.list = sup_arena_alloc(&w->arena, FRAMES * TURNS * POSES + 4, sizeof *t.list);
    if (t.list == NULL) return sup_fail_memory(error, "the registration");
    sup_result result = open_contest(&t, error);
    if (result == SUP_OK) result = score_all(&t, error);
    if (result == SUP_OK) {
        sort_best(t.list, t.count, t.count);
        t.count = different(t.list, t.count);
        result = t.count > 0
                     ? compete(&t, error)
                     : sup_fail(error, SUP_ERROR_DATA, "anatomy.scan.shape", "",
                                "The scan does not look like a person any way round: give the whole body of one "
                                "person.");
    }
    sup_fit_close(&t.judge);
    sup_fit_close(&t.run);
    if (result != SUP_OK) return result;
    sup_body_state_copy(w->composition, &t.list[0].state, &w->state);
    w->start = t.list[0].rotation;
    return SUP_OK;
}

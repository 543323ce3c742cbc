/* gauntlet_cases.c - runs the cases of one character: linear blending, then every method in the same frames. */
#include "gauntlet.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SETTINGS = 320, RATE_FPS = 120 };
/* Steps through a motion of 120 frames a second that give 120, 30 and 15. */
static const int32_t RATE_STEP[GAUNTLET_RATES] = {1, 4, 8};

typedef struct case_run {
    const gauntlet_options *options;
    const gauntlet_source *source;
    const gauntlet_output *output;
    int32_t character_index;
    sup_context context;
} case_run;

/* A case: linear blending in its frames, which all methods share. */
typedef struct test_case {
    gauntlet_character *character;
    const gauntlet_motion *motion;
    const gauntlet_motion *fine; /* the same at RATE_FPS, or NULL */
    const float *linear;
    gauntlet_result linear_result, dual_result;
    int32_t half;
} test_case;

static void note(const case_run *run, const char *motion, const char *method, const sup_error *error)
{
    char text[GAUNTLET_MESSAGE];
    snprintf(text, sizeof text, "%s%s%s%s%s: %s", run->source->name, motion[0] != '\0' ? ", " : "", motion,
             method[0] != '\0' ? ", " : "", method, error->message);
    run->output->note(run->output->user, text);
}

static gauntlet_row row_of(const case_run *run, const test_case *t, const char *method, int32_t method_index)
{
    gauntlet_row row = {.character_index = run->character_index,
                        .motion_index = t->motion->index,
                        .method_index = method_index,
                        .half = t->half,
                        .kind = run->source->kind,
                        .trial_count = 1,
                        .linear_crossings = t->linear_result.crossings};
    snprintf(row.character, sizeof row.character, "%s", t->character->name);
    gauntlet_motion_label(run->options, t->motion->name, row.motion);
    snprintf(row.method, sizeof row.method, "%s", method);
    return row;
}

/* --- Runs with other settings --- */

/* Bakes with one more setting than the options have; NULL if that fails. */
static float *bake_with(const case_run *run, const test_case *t, const char *method, const char *setting,
                        sup_error *error)
{
    char settings[SETTINGS];
    const char *own = run->options->settings;
    double ms;
    snprintf(settings, sizeof settings, "%s%s%s", own != NULL ? own : "", own != NULL ? "," : "", setting);
    return gauntlet_bake(&run->context, t->character, t->motion, method, settings, 0, &ms, error);
}

/* Volume of each frame and the measures of a run with one part switched off. False if it cannot be baked. */
static bool measure_without(const case_run *run, const test_case *t, const char *setting, const float *positions,
                            gauntlet_result *off, double *volumes, double *largest)
{
    sup_error error = {0};
    float *other = bake_with(run, t, "projective", setting, &error);
    if (other == NULL) {
        note(run, t->motion->name, setting, &error);
        return false;
    }
    *off = (gauntlet_result){0};
    gauntlet_measure(t->character, t->motion, other, NULL, NULL, off, volumes);
    *largest = gauntlet_compare(t->character, t->motion->frame_count, positions, other).largest;
    free(other);
    return true;
}

static void measure_switches(const case_run *run, const test_case *t, const float *positions, const double *volumes,
                             gauntlet_result *r)
{
    gauntlet_result off;
    double largest, *other = gauntlet_must(calloc((size_t)t->motion->frame_count + 1, sizeof *other));
    if (measure_without(run, t, "dynamic=off", positions, &off, other, &largest))
        r->dynamic_volume = fabs(r->volume_min - off.volume_min);
    if (measure_without(run, t, "contact=off", positions, &off, other, &largest)) r->contact_crossings = off.crossings;
    if (measure_without(run, t, "untangle=off", positions, &off, other, &largest)) {
        r->untangle_offset = largest;
        r->untangle_volume = 0.0;
        for (int32_t f = 0; f < t->motion->frame_count; f++)
            r->untangle_volume = fmax(r->untangle_volume, fabs(volumes[f] - other[f]));
    }
    free(other);
}

/* The settled shape of position: a run whose velocity relative to linear blending is damped within a step. */
static void measure_settled(const case_run *run, const test_case *t, const float *positions, gauntlet_result *r)
{
    sup_error error = {0};
    float *settled = bake_with(run, t, "position", "damping=1000", &error);
    if (settled == NULL) {
        note(run, t->motion->name, "damping=1000", &error);
        return;
    }
    r->settled_p95 = gauntlet_compare(t->character, t->motion->frame_count, positions, settled).p95;
    free(settled);
}

/* Keeps every `step`-th frame. */
static void thin_out(const gauntlet_character *c, float *positions, int32_t frame_count, int32_t step)
{
    size_t stride = 3 * (size_t)c->rig->vertex_count;
    for (int32_t f = 0; f * step < frame_count; f++)
        memmove(positions + (size_t)f * stride, positions + (size_t)f * (size_t)step * stride,
                stride * sizeof *positions);
}

/* The same motion at 120, 30 and 15 frames a second, measured in the frames that all have. */
static void measure_rates(const case_run *run, const test_case *t, const char *method, gauntlet_verdict *v)
{
    const int32_t coarsest = RATE_STEP[GAUNTLET_RATES - 1];
    gauntlet_result results[GAUNTLET_RATES] = {0}, linear_result = {0};
    gauntlet_motion common = gauntlet_every(t->fine, coarsest);
    sup_error error = {0};
    double ms;
    int32_t count = 0;
    float *linear = gauntlet_bake(&run->context, t->character, &common, "linear", NULL, 0, &ms, &error);
    if (linear != NULL) gauntlet_measure(t->character, &common, linear, NULL, NULL, &linear_result, NULL);
    for (; linear != NULL && count < GAUNTLET_RATES; count++) {
        gauntlet_motion m = gauntlet_every(t->fine, RATE_STEP[count]);
        float *positions =
            gauntlet_bake(&run->context, t->character, &m, method, run->options->settings, 0, &ms, &error);
        free(m.world);
        if (positions == NULL) break;
        thin_out(t->character, positions, m.frame_count, coarsest / RATE_STEP[count]);
        gauntlet_measure(t->character, &common, positions, linear, &linear_result, &results[count], NULL);
        free(positions);
    }
    free(linear);
    free(common.world);
    gauntlet_judge_rates(results, count, v);
}

/* --- One method --- */

static bool run_trial(const case_run *run, const test_case *t, const char *method, int32_t trial, gauntlet_row *row)
{
    const gauntlet_options *o = run->options;
    bool projective = strcmp(method, "projective") == 0, position = strcmp(method, "position") == 0;
    sup_error error = {0};
    gauntlet_result *r = &row->result;
    float *positions = gauntlet_bake(&run->context, t->character, t->motion, method, o->settings, (uint32_t)trial,
                                     &r->milliseconds, &error);
    if (positions == NULL) {
        note(run, t->motion->name, method, &error);
        return false;
    }
    double *volumes = gauntlet_must(calloc((size_t)t->motion->frame_count + 1, sizeof *volumes));
    gauntlet_measure(t->character, t->motion, positions, t->linear, &t->linear_result, r, volumes);
    if (t->motion->cut_spacing > 0)
        gauntlet_measure_cuts(&run->context, t->character, t->motion, method, o->settings, position, positions, r);
    if (o->switches && trial == 0 && projective) measure_switches(run, t, positions, volumes, r);
    if (o->switches && trial == 0 && position) measure_settled(run, t, positions, r);
    gauntlet_judge(method, t->character, t->motion, r, &t->linear_result, &t->dual_result, &row->verdict);
    if (trial == 0 && position && t->fine != NULL) measure_rates(run, t, method, &row->verdict);
    row->trial = trial;
    free(volumes);
    free(positions);
    return true;
}

/* Adds the failures of another trial; of those that both have, the larger one stays. */
static void merge(gauntlet_verdict *v, const gauntlet_verdict *other)
{
    for (int32_t i = 0; i < other->count; i++) {
        int32_t k = 0;
        while (k < v->count && strcmp(v->failures[k].bound, other->failures[i].bound) != 0)
            k++;
        if (k == GAUNTLET_FAILURES) return;
        if (k == v->count) v->failures[v->count++] = other->failures[i];
        if (other->failures[i].ratio > v->failures[k].ratio) v->failures[k] = other->failures[i];
    }
}

/* One row for all trials of --jitter: the measures of the worst of them, the failures of all. */
static void run_method(const case_run *run, const test_case *t, const char *method, int32_t method_index)
{
    gauntlet_row worst = row_of(run, t, method, method_index);
    gauntlet_verdict all = {0};
    int32_t trials = 0, failed = 0;
    for (int32_t trial = 0; trial <= run->options->jitter; trial++) {
        gauntlet_row row = row_of(run, t, method, method_index);
        if (!run_trial(run, t, method, trial, &row)) return;
        trials++;
        failed += row.verdict.count > 0;
        merge(&all, &row.verdict);
        if (trial == 0 || row.verdict.score > worst.verdict.score) worst = row;
    }
    all.score = worst.verdict.score;
    worst.verdict = all;
    worst.trial_count = trials;
    worst.failed_trials = failed;
    run->output->row(run->output->user, &worst);
}

/* --- Cases --- */

/* The reduced set of `make check`: both halves, every kind of motion, characters of every kind. */
static const struct {
    const char *character, *motion, *methods;
} quick_cases[] = {
    {"scene:human", "clip_squat", "projective"},
    {"scene:elephant", "tumble", "projective"},
    {"scene:hand", "clip_fist", "projective"},
    {"scene:arm", "clip_bend", "projective,position,implicit"},
    {"scene:arm", "hold", "projective"},
    {"scene:tbone", "snap", "projective"},
    {"scene:cylinder", "stretch", "projective"},
    {"scene:cylinder", "hold", "projective,position,implicit"},
    {"babylon_LeftHand_noanim", "rom", "projective"},
    {"kaykit_Barbarian", "clip_Idle", "projective"},
    {"khronos_CesiumMan", "clip_unnamed", "projective,position"},
    {"khronos_Fox", "tremble", "projective"},
    {"khronos_RiggedFigure", "tumble", "projective,position,implicit"},
    {"khronos_RiggedSimple", "rom", "projective"},
    {"khronos_SimpleSkin", "clip_unnamed", "projective"},
    {"m2m_Dragon", "clip_Fly Glide", "projective"},
    {"m2m_HumanBunny", "clip_jump360", "projective"},
    {"m2m_Snake", "clip_Coiled", "projective"},
    {"quat_Dolphin", "stretch", "projective"},
    {"quat_Frog", "clip_FrogArmature|Frog_Jump", "projective"},
    {"quat_Husky", "clip_AnimalArmature|Gallop", "projective"},
    {"quat_Knight", "snap", "projective,position"},
    {"quat_ManCasual", "bvh_cmu_49_06_cartwheel", "projective,position,implicit"},
    {"quat_PlatformerCharacter", "clip_CharacterArmature|Idle", "projective"},
    {"quat_PlatformerCharacter", "hold", "projective"},
    {"quat_RobotExpressive", "clip_Punch", "projective,implicit"},
    {"quat_Trex", "tremble", "projective"},
    {"quat_WomanCasual", "bvh_cmu_74_03_kick", "projective"},
    {"mh_male_average", "bvh_cmu_49_06_cartwheel", "projective"},
    {"tbone", "tumble", "projective"},
    {"male", "hold", "projective"},
    {"quat_Pig", "clip_Armature|Jump", "projective"},
    {"quat_Skeleton", "clip_SkeletonArmature|Skeleton_Idle", "projective"},
};

const char *gauntlet_quick_methods(const char *character, const char *motion)
{
    for (size_t i = 0; i < sizeof quick_cases / sizeof quick_cases[0]; i++)
        if (strcmp(quick_cases[i].character, character) == 0 &&
            (motion == NULL || strcmp(quick_cases[i].motion, motion) == 0))
            return quick_cases[i].methods;
    return NULL;
}

void gauntlet_motion_label(const gauntlet_options *o, const char *name, char label[GAUNTLET_NAME])
{
    const char *suffix = o->quick ? " (1 s)" : "";
    snprintf(label, GAUNTLET_NAME, "%.*s%s", (int)(GAUNTLET_NAME - 1 - strlen(suffix)), name, suffix);
}

gauntlet_range gauntlet_range_of(const gauntlet_options *o, int32_t share, int32_t share_count)
{
    return (gauntlet_range){.fps = o->rates ? RATE_FPS : o->fps,
                            .seconds = o->quick ? 1.0 : 2.0,
                            .filter = o->motions,
                            .quick = o->quick,
                            .share = share,
                            .share_count = share_count};
}

static bool in_half(const gauntlet_options *o, int32_t half)
{
    return o->half == NULL || strcmp(o->half, half == 0 ? "tuning" : "judging") == 0;
}

static bool is_quick(const char *method, const char *quick)
{
    return quick == NULL || strstr(quick, method) != NULL;
}

static void run_methods(const case_run *run, test_case *t, const char *quick)
{
    char methods[256], *rest = methods;
    int32_t index = 1;
    sup_error error = {0};
    if (strstr(run->options->methods, "implicit") != NULL && is_quick("implicit", quick)) {
        float *blended = gauntlet_bake(&run->context, t->character, t->motion, "dualquat", NULL, 0,
                                       &t->dual_result.milliseconds, &error);
        if (blended != NULL)
            gauntlet_measure(t->character, t->motion, blended, t->linear, &t->linear_result, &t->dual_result, NULL);
        free(blended);
    }
    snprintf(methods, sizeof methods, "%s", run->options->methods);
    for (char *name = strtok_r(methods, ",", &rest); name != NULL; name = strtok_r(NULL, ",", &rest), index++)
        if (strcmp(name, "linear") != 0 && is_quick(name, quick)) run_method(run, t, name, index);
}

static void run_case(void *user, gauntlet_character *c, const gauntlet_motion *m)
{
    const case_run *run = user;
    const char *quick = run->options->quick ? gauntlet_quick_methods(c->name, m->name) : NULL;
    test_case t = {
        .character = c, .motion = m, .half = gauntlet_half(c->name) == 0 && gauntlet_half(m->name) == 0 ? 0 : 1};
    gauntlet_motion coarse = {0};
    sup_error error = {0};
    if (!in_half(run->options, t.half) || (run->options->quick && quick == NULL) || m->frame_count < 4) return;
    if (run->options->rates) { /* the motion has RATE_FPS */
        coarse = gauntlet_every(m, (int32_t)(RATE_FPS / run->options->fps + 0.5));
        t.motion = &coarse;
        /* Noise and cuts are those of a frame: tremble and snap are other motions at another rate. */
        bool same = strcmp(m->name, "tremble") != 0 && m->cut_spacing == 0;
        t.fine = same && m->frame_count >= 8 * RATE_STEP[GAUNTLET_RATES - 1] ? m : NULL;
    }
    float *linear = gauntlet_bake(&run->context, c, t.motion, "linear", NULL, 0, &t.linear_result.milliseconds, &error);
    if (linear != NULL) {
        t.linear = linear;
        gauntlet_measure(c, t.motion, linear, NULL, NULL, &t.linear_result, NULL);
        gauntlet_row row = row_of(run, &t, "linear", 0);
        row.result = t.linear_result;
        run->output->row(run->output->user, &row);
        run_methods(run, &t, quick);
    } else {
        note(run, m->name, "linear", &error);
    }
    free(linear);
    free(coarse.world);
}

void gauntlet_run_character(const gauntlet_options *options, const gauntlet_source *source, int32_t index,
                            int32_t share, int32_t share_count, const gauntlet_output *output)
{
    case_run run = {.options = options, .source = source, .output = output, .character_index = index};
    gauntlet_character c;
    sup_error error = {0};
    if (!gauntlet_open(&run.context, source->path, source->name, &c, &error)) {
        if (share == 0) note(&run, "", "", &error);
        return;
    }
    gauntlet_range range = gauntlet_range_of(options, share, share_count);
    gauntlet_each_motion(&c, options->assets, &range, run_case, &run);
    gauntlet_close(&c);
}

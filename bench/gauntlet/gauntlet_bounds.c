/* gauntlet_bounds.c - the bounds of issue 18 for each method: never worse than linear blending. docs/quality.md lists
 * them. */
#include "gauntlet.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* Denominators of ratios where a bound is zero or nearly so: differences of this size count as 100 %. */
static const double PAIRS = 20.0, FLIPS = 5.0, VOLUME = 0.01, LENGTH = 1e-4;
/* RMS acceleration of linear blending, in sizes a frame squared, below which a clip is an idle. */
static const double IDLE = 5e-4;

static void require(gauntlet_verdict *v, const char *bound, bool holds, double value, double limit, double ratio)
{
    if (!(ratio <= 1e6)) ratio = 1e6; /* also where it is not a number */
    v->score = fmax(v->score, ratio);
    if (holds || v->count == GAUNTLET_FAILURES) return;
    gauntlet_failure *f = &v->failures[v->count++];
    *f = (gauntlet_failure){.value = value, .limit = limit, .ratio = ratio};
    snprintf(f->bound, sizeof f->bound, "%s", bound);
}

static void at_most(gauntlet_verdict *v, const char *bound, double value, double limit, double floor)
{
    require(v, bound, value <= limit, value, limit, 1.0 + (value - limit) / fmax(limit, floor));
}

/* Volume ratios: the ratio of a failure is that of the losses. */
static void volume_at_least(gauntlet_verdict *v, const char *bound, double value, double limit)
{
    require(v, bound, value >= limit, value, limit, 1.0 + (limit - value) / fmax(1.0 - limit, VOLUME));
}

/* An idle: hardly any motion in linear blending. */
static bool is_quiet(const gauntlet_motion *m, const gauntlet_result *linear)
{
    return strcmp(m->name, "tremble") == 0 || (strncmp(m->name, "clip_", 5) == 0 && linear->acceleration_rms < IDLE);
}

/* Runs with one part of the method switched off; negative values were not measured. */
static void judge_switches(const gauntlet_result *r, gauntlet_verdict *v)
{
    at_most(v, "dynamic volume", r->dynamic_volume, 0.015, VOLUME);
    if (r->contact_crossings >= 0)
        at_most(v, "contact crossings", (double)r->crossings, (double)r->contact_crossings, PAIRS);
    at_most(v, "untangle volume", r->untangle_volume, 0.005, VOLUME);
    at_most(v, "untangle offset", r->untangle_offset, 0.01, LENGTH);
}

static void judge_projective(const gauntlet_character *c, const gauntlet_motion *m, const gauntlet_result *r,
                             const gauntlet_result *linear, gauntlet_verdict *v)
{
    double stretch = fmax(linear->stretch_max, 3.0), compression = fmin(linear->stretch_min, 0.1) - 1e-6;
    at_most(v, "crossings", (double)r->crossings, (double)linear->crossings, PAIRS);
    if (strcmp(m->name, "stretch") == 0) {
        volume_at_least(v, "volume", r->volume_min, 0.9 * linear->volume_min);
        at_most(v, "largest volume", r->volume_max, 1.1 * linear->volume_max, VOLUME);
    } else {
        volume_at_least(v, "volume", r->volume_min, fmin(linear->volume_min, 1.0) - 0.01); /* no need to swell */
    }
    at_most(v, "flips", r->flips, linear->flips + 5, FLIPS);
    at_most(v, "stretch", r->stretch_max, stretch, LENGTH);
    require(v, "compression", r->stretch_min >= compression, r->stretch_min, compression,
            compression / fmax(r->stretch_min, LENGTH));
    at_most(v, "roughness", r->roughness, (c->multi_part ? 1.4 : 1.2) * linear->roughness + 1e-3, LENGTH);
    at_most(v, "rigid components", r->rigid_stretch, 0.01, LENGTH);
    if (is_quiet(m, linear)) {
        at_most(v, "acceleration", r->acceleration_rms, 1.2 * linear->acceleration_rms, LENGTH);
        at_most(v, "single-frame excess", r->acceleration_excess, 0.002, LENGTH);
    }
    if (m->hold_first >= 0) {
        at_most(v, "crossings while held", (double)r->hold_growth, 0.0, PAIRS);
        at_most(v, "motion while held", r->rest_motion, 1e-5, LENGTH);
    }
    if (m->cut_spacing > 0) at_most(v, "after a cut", r->cut_error, 1e-3, LENGTH);
    judge_switches(r, v);
}

static void judge_position(const gauntlet_motion *m, const gauntlet_result *r, const gauntlet_result *linear,
                           gauntlet_verdict *v)
{
    at_most(v, "crossings", (double)r->crossings, (double)linear->crossings, PAIRS);
    at_most(v, "flips", r->flips, linear->flips, FLIPS);
    at_most(v, "stretch", r->stretch_max, linear->stretch_max, LENGTH);
    if (strcmp(m->name, "stretch") != 0) {
        volume_at_least(v, "volume", r->volume_min, 0.98);
        at_most(v, "largest volume", r->volume_max, 1.02, VOLUME);
    }
    if (m->cut_spacing > 0) at_most(v, "after a cut", r->cut_error, 2e-3, LENGTH);
    at_most(v, "settled shape", r->settled_p95, 0.005, LENGTH);
}

static void judge_implicit(const gauntlet_motion *m, const gauntlet_result *r, const gauntlet_result *dual,
                           gauntlet_verdict *v)
{
    at_most(v, "crossings", (double)r->crossings, (double)dual->crossings, PAIRS);
    volume_at_least(v, "volume", r->volume_min, dual->volume_min - 0.03);
    at_most(v, "flips", r->flips, dual->flips, FLIPS);
    at_most(v, "stretch", r->stretch_max, dual->stretch_max, LENGTH);
    at_most(v, "rigid components", r->rigid_stretch, 0.01, LENGTH);
    if (m->hold_first >= 0) at_most(v, "motion while held", r->early_rest_motion, 1e-4, LENGTH);
    if (m->cut_spacing > 0) at_most(v, "after a cut", r->cut_error_p99, 2e-3, LENGTH); /* the same pose, another way */
}

/* Methods that blend joints and keep volume: they have no contact, so crossings and flips are not bounded. */
static void judge_blend(const gauntlet_motion *m, const gauntlet_result *r, const gauntlet_result *linear,
                        gauntlet_verdict *v)
{
    if (strcmp(m->name, "stretch") != 0) volume_at_least(v, "volume", r->volume_min, linear->volume_min - 0.01);
    at_most(v, "rigid components", r->rigid_stretch, 0.01, LENGTH);
}

void gauntlet_judge(const char *method, const gauntlet_character *c, const gauntlet_motion *m, const gauntlet_result *r,
                    const gauntlet_result *linear, const gauntlet_result *dual, gauntlet_verdict *v)
{
    *v = (gauntlet_verdict){0};
    if (strcmp(method, "projective") == 0) judge_projective(c, m, r, linear, v);
    if (strcmp(method, "position") == 0) judge_position(m, r, linear, v);
    if (strcmp(method, "implicit") == 0) judge_implicit(m, r, dual, v);
    if (strcmp(method, "cor") == 0 || strcmp(method, "stbs") == 0) judge_blend(m, r, linear, v);
}

void gauntlet_judge_rates(const gauntlet_result *r, int32_t count, gauntlet_verdict *v)
{
    static const double WITHIN = 1.25; /* largest / smallest */
    static const char *const names[] = {"rates: volume",   "rates: crossings",   "rates: flips",
                                        "rates: stretch",  "rates: compression", "rates: roughness",
                                        "rates: distance", "rates: acceleration"};
    /* Below these values a measure is as good as ideal, and its relative difference says nothing. */
    static const double ideal[] = {0.01, 20.0, 5.0, 1.0, 1.0, 0.01, 2e-3, 1e-4};
    enum { MEASURES = sizeof names / sizeof names[0] };
    double low[MEASURES], high[MEASURES];
    for (int32_t k = 0; k < count; k++) {
        double values[MEASURES] = {
            fabs(1.0 - r[k].volume_min),          (double)r[k].crossings, (double)r[k].flips, r[k].stretch_max,
            1.0 / fmax(r[k].stretch_min, LENGTH), r[k].roughness,         r[k].distance_p95,  r[k].acceleration_rms};
        for (int i = 0; i < MEASURES; i++) {
            double value = fmax(values[i], ideal[i]);
            low[i] = k == 0 ? value : fmin(low[i], value);
            high[i] = k == 0 ? value : fmax(high[i], value);
        }
    }
    for (int i = 0; count > 0 && i < MEASURES; i++)
        at_most(v, names[i], high[i], WITHIN * low[i], LENGTH);
}

/* pbd.c - one step: predict, iterate over levels and pieces; and how stiff each constraint is.
 *
 * Based on: [aburumman2016thesis] algorithm 5, lines 28 to 44, with velocities that live on between frames;
 * [macklin2016] algorithm 1.
 *
 * Physical units. With density r, size of the character s in metres, time step h, mean volume V of a particle and
 * q = r s^2 / h^2 (Pa), in the solver's lengths and masses:
 *     stretch  a spring of stiffness E U / d^2 along each edge, U the volume of the tets around it: springs in all
 *              directions are a solid of Young's modulus E and Poisson's ratio 1/4; compliance / h^2 = q / E * V d^2 / U
 *     volume   energy K/2 (v - v0)^2 / v0; for six times the volume compliance / h^2 = q / K * 36 V v0
 *     bind     stiffness B u^(1/3), u the particle's volume; compliance / h^2 = q / B * V / u^(1/3)
 *     follow   a spring of frequency f to linear blending: with t = (2 pi f h)^2 the end of an implicit step lies
 *              t / (1 + t) of the way, and the particle is heavier by 1 + t for all constraints: exact, no iteration. */
#include "methods/position/pbd_work.h"

#include "base/simd.h"

#include <math.h>

enum { PREDICT_ROWS = 1024 };
/* Furthest that a particle goes by its own velocity in one step, in sizes of the character. */
static const float FURTHEST = 0.1f;
/* Part of the rest gradients below which a tet counts as flat and is opened in several strides. */
static const float FLAT = 0.1f;
/* Compliance of what is switched off. */
static const double LOOSE = 1e20;

typedef struct pbd_state {
    sup_pbd_settings settings; /* that the arrays were made for */
    bool prepared;
    float last_seconds; /* of the step that made the velocity; 0: there is none */
    sup_pbd_work work;
    sup_pbd_regions regions;
} pbd_state;

/* Carves floats out of the state; with `base` NULL it only counts. */
static float *carve(unsigned char *base, size_t *size, int64_t count)
{
    float *at = base != NULL ? (float *)(void *)(base + *size) : NULL;
    *size += ((size_t)count * sizeof(float) + 63) / 64 * 64;
    return at;
}

static size_t lay_out(const sup_pbd *s, unsigned char *base, sup_pbd_work *w, sup_pbd_regions *regions)
{
    size_t size = (sizeof(pbd_state) + 63) / 64 * 64;
    int64_t rows = s->row_count, tets = (int64_t)s->volume_batches * SUP_PBD_LANES;
    int64_t edges = (int64_t)s->stretch_batches * SUP_PBD_LANES;
    w->rows = carve(base, &size, 4 * rows);
    w->before = carve(base, &size, 4 * rows);
    w->follow = carve(base, &size, rows);
    w->mass = carve(base, &size, rows);
    w->volume_soft = carve(base, &size, tets);
    w->volume_floor = carve(base, &size, tets);
    w->volume_lambda = carve(base, &size, tets);
    w->stretch_soft = carve(base, &size, edges);
    w->stretch_lambda = carve(base, &size, edges);
    w->bind_soft = carve(base, &size, rows);
    w->bind_lambda = carve(base, &size, rows);
    regions->firm = carve(base, &size, rows);
    regions->follow = carve(base, &size, rows);
    return size;
}

size_t sup_pbd_state_size(const sup_pbd *pbd)
{
    sup_pbd_work work;
    sup_pbd_regions regions;
    return lay_out(pbd, NULL, &work, &regions);
}

void sup_pbd_place(const sup_pbd *pbd, void *state, const float *guide)
{
    pbd_state *s = state;
    memcpy(s->work.rows, guide, (size_t)pbd->row_count * 4 * sizeof(float));
    for (int64_t i = 0; i < pbd->row_count; i++)
        s->work.rows[4 * i + 3] = s->work.mass[i];
    memcpy(s->work.before, s->work.rows, (size_t)pbd->row_count * 4 * sizeof(float));
    s->last_seconds = 0.0f;
}

void sup_pbd_start(const sup_pbd *pbd, void *state, const float *guide)
{
    pbd_state *s = state;
    memset(s, 0, sizeof *s);
    lay_out(pbd, state, &s->work, &s->regions);
    for (int64_t i = 0; i < pbd->row_count; i++)
        s->regions.firm[i] = s->regions.follow[i] = 1.0f;
    memcpy(s->work.mass, pbd->inverse_mass, (size_t)pbd->row_count * sizeof(float));
    sup_pbd_place(pbd, state, guide);
}

void sup_pbd_restore(const sup_pbd *pbd, void *state)
{
    pbd_state *s = state;
    sup_pbd_work kept = s->work;
    s->work = (sup_pbd_work){.raw = kept.raw, .keep = kept.keep, .ratio = kept.ratio, .furthest = kept.furthest};
    memcpy(s->work.gravity, kept.gravity, sizeof kept.gravity);
    memset(&s->regions, 0, sizeof s->regions);
    if (pbd != NULL) lay_out(pbd, state, &s->work, &s->regions);
}

void sup_pbd_stop(const sup_pbd *pbd, void *state)
{
    pbd_state *s = state;
    memcpy(s->work.before, s->work.rows, (size_t)pbd->row_count * 4 * sizeof(float));
}

sup_pbd_regions sup_pbd_regions_of(const sup_pbd *pbd, void *state)
{
    SUP_UNUSED(pbd);
    return ((pbd_state *)state)->regions;
}

float *sup_pbd_rows(const sup_pbd *pbd, void *state)
{
    SUP_UNUSED(pbd);
    return ((pbd_state *)state)->work.rows;
}

float *sup_pbd_before(const sup_pbd *pbd, void *state)
{
    SUP_UNUSED(pbd);
    return ((pbd_state *)state)->work.before;
}

/* --- Stiffness --- */

static bool same_settings(const sup_pbd_settings *a, const sup_pbd_settings *b)
{
    return a->raw == b->raw && a->seconds == b->seconds && a->stretch == b->stretch && a->volume == b->volume &&
           a->bind == b->bind && a->follow == b->follow && a->inertia == b->inertia && a->regions == b->regions;
}

/* Mean firmness of the corners of a lane. */
static double firmness(const pbd_state *s, const int32_t *corner, int32_t arity)
{
    double sum = 0.0;
    for (int32_t k = 0; k < arity; k++)
        sum += (double)s->regions.firm[corner[k * SUP_PBD_LANES]];
    return sum / arity;
}

/* k or compliance / h^2 of a constraint whose modulus, firmness included, is `modulus` and whose geometry is `shape`. */
static float softness(const sup_pbd_settings *set, double modulus, double shape)
{
    if (set->raw) return (float)fmin(fmax(modulus, 0.0), 1.0);
    double pressure = set->inertia / ((double)set->seconds * (double)set->seconds);
    return (float)(modulus > 0.0 ? fmin(pressure / modulus * shape, LOOSE) : LOOSE);
}

static void prepare_rows(const sup_pbd *pbd, pbd_state *s, const sup_pbd_settings *set)
{
    const double turn = 6.283185307179586 * (double)set->seconds, v = (double)pbd->mean_volume;
    for (int32_t i = 0; i < pbd->row_count; i++) {
        double part = set->follow * (double)s->regions.follow[i], base = (double)pbd->inverse_mass[i];
        double t = part * turn * part * turn, way = set->raw ? fmin(fmax(part, 0.0), 1.0) : t / (1.0 + t);
        if (!isfinite(way)) way = 1.0; /* a frequency without end */
        double size = cbrt(fmax((double)pbd->share[i], 1e-3 * v));
        s->work.follow[i] = base > 0.0 ? (float)way : 1.0f;
        s->work.mass[i] = (float)(set->raw ? base : base * (1.0 - way));
        s->work.bind_soft[i] = softness(set, set->bind * (double)s->regions.firm[i], v / size);
    }
}

static void prepare(const sup_pbd *pbd, pbd_state *s, const sup_pbd_settings *set)
{
    prepare_rows(pbd, s, set);
    for (int64_t i = 0; i < (int64_t)pbd->volume_batches * SUP_PBD_LANES; i++) {
        int64_t batch = i / SUP_PBD_LANES, lane = i % SUP_PBD_LANES;
        const int32_t *corner = pbd->volume_corner + batch * 4 * SUP_PBD_LANES + lane;
        double sum = 0.0, firm = set->raw ? firmness(s, corner, 4) : 1.0; /* soft flesh is no more compressible */
        for (int32_t k = 0; k < 4; k++)
            sum += (double)s->work.mass[corner[k * SUP_PBD_LANES]] *
                   (double)pbd->volume_area[(batch * 4 + k) * SUP_PBD_LANES + lane];
        s->work.volume_floor[i] = (float)fmax((double)FLAT * sum, 1e-24);
        s->work.volume_soft[i] =
            softness(set, set->volume * firm, 6.0 * (double)pbd->volume_rest[i] * (double)pbd->mean_volume);
    }
    for (int64_t i = 0; i < (int64_t)pbd->stretch_batches * SUP_PBD_LANES; i++) {
        const int32_t *corner = pbd->stretch_corner + i / SUP_PBD_LANES * 2 * SUP_PBD_LANES + i % SUP_PBD_LANES;
        s->work.stretch_soft[i] =
            softness(set, set->stretch * firmness(s, corner, 2), (double)pbd->stretch_compliance[i]);
    }
    s->settings = *set;
    s->prepared = true;
}

/* --- The step --- */

typedef struct level_work {
    const sup_pbd_work *work;
    const sup_pbd_kernels *kernels;
    int32_t first; /* piece of the level */
} level_work;

static void run_pieces(void *user, int32_t begin, int32_t end, int32_t worker)
{
    const level_work *level = user;
    SUP_UNUSED(worker);
    for (int32_t i = begin; i < end; i++)
        level->kernels->solve(level->work, level->first + i);
}

static void run_predict(void *user, int32_t begin, int32_t end, int32_t worker)
{
    const level_work *level = user;
    SUP_UNUSED(worker);
    level->kernels->predict(level->work, begin, end);
}

/* Sixteen lanes were measured 5 % slower than eight: batches wait for each other, and longer ones longer. */
static const sup_pbd_kernels *kernels_for(int32_t lanes)
{
#if defined(__x86_64__) && !defined(SUPPLE_SCALAR)
    if (lanes >= 8) return &sup_pbd_kernels_avx2;
#else
    SUP_UNUSED(lanes);
#endif
    return &sup_pbd_kernels_base;
}

static void begin_step(const sup_pbd *pbd, pbd_state *s, const sup_pbd_input *input)
{
    sup_pbd_work *w = &s->work;
    float h = input->settings.seconds;
    if (!s->prepared || !same_settings(&s->settings, &input->settings)) prepare(pbd, s, &input->settings);
    w->pbd = pbd;
    w->raw = input->settings.raw;
    w->guide = input->guide;
    w->guide_before = input->guide_before;
    w->bone = input->bone;
    for (int k = 0; k < 3; k++)
        w->gravity[k] = input->gravity[k] * h * h;
    w->keep = s->last_seconds > 0.0f ? (float)exp(-(double)input->damping * (double)h) : 1.0f;
    w->ratio = s->last_seconds > 0.0f ? h / s->last_seconds : 1.0f;
    w->furthest = FURTHEST;
    s->last_seconds = h;
    if (w->raw) return;
    memset(w->volume_lambda, 0, (size_t)pbd->volume_batches * SUP_PBD_LANES * sizeof(float));
    memset(w->stretch_lambda, 0, (size_t)pbd->stretch_batches * SUP_PBD_LANES * sizeof(float));
    memset(w->bind_lambda, 0, (size_t)pbd->row_count * sizeof(float));
}

bool sup_pbd_step_lanes(const sup_context *context, const sup_pbd *pbd, void *state, const sup_pbd_input *input,
                        int32_t lanes)
{
    pbd_state *s = state;
    begin_step(pbd, s, input);
    level_work level = {&s->work, kernels_for(lanes), 0};
    sup_parallel(context, pbd->row_count, PREDICT_ROWS, run_predict, &level);
    for (int32_t i = 0; i < input->iterations; i++) {
        for (int32_t k = 0; k < SUP_PBD_LEVELS; k++) {
            level.first = pbd->level_first[k];
            sup_parallel(context, pbd->level_first[k + 1] - level.first, 1, run_pieces, &level);
        }
        if (input->contact != NULL) input->contact(input->contact_user, context, s->work.rows);
    }
    if (level.kernels->sane(s->work.rows, pbd->row_count)) return true;
    sup_pbd_place(pbd, state, input->guide);
    return false;
}

bool sup_pbd_step(const sup_context *context, const sup_pbd *pbd, void *state, const sup_pbd_input *input)
{
    return sup_pbd_step_lanes(context, pbd, state, input, sup_simd_lanes());
}

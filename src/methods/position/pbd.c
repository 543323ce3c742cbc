/* pbd.c - one step: predict, then iterate over levels and clusters; and the compliance of each constraint.
 *
 * Based on: [aburumman2016thesis] algorithm 5, lines 28 to 44, with velocities that persist between frames;
 * [macklin2016] algorithm 1.
 *
 * Physical units. With density r, size of the character s in metres, timestep h, mean volume V of a particle and
 * q = r s^2 / h^2 (Pa), in lengths and masses of the solver:
 *     stretch  a spring of stiffness E U / d^2 along each edge, U the volume of the tets around it: springs in all
 *              directions are a solid of Young's modulus E and Poisson's ratio 1/4; compliance / h^2 = q / E * V d^2 /
 *              U
 *     volume   energy K/2 (v - v0)^2 / v0; for six times the volume compliance / h^2 = q / K * 36 V v0
 *     bind     stiffness B u^(1/3), u the volume of the particle; compliance / h^2 = q / B * V / u^(1/3)
 *     follow   a spring of frequency f to linear blending: with t = (2 pi f h)^2 an implicit step covers the fraction
 *              t / (1 + t) of the distance, and the particle is heavier by 1 + t in all constraints: exact, no
 *              iteration. */
#include "methods/position/pbd_work.h"

#include "base/simd.h"

#include <math.h>

enum { PREDICT_GRAIN = 1024 };
/* Maximum displacement of a particle by its own velocity in one step, in sizes of the character. */
static const float MAX_DISPLACEMENT = 0.1f;
/* Fraction of the rest gradients below which a tet counts as flat; its correction is then limited. */
static const float MIN_GRADIENT = 0.1f;
/* Compliance of a disabled constraint. */
static const double MAX_COMPLIANCE = 1e20;

typedef struct pbd_state {
    sup_pbd_settings settings; /* for which the arrays were computed */
    bool prepared;
    float last_seconds; /* duration of the previous step; 0: no velocity */
    sup_pbd_work work;
    sup_pbd_regions regions;
} pbd_state;

/* Reserves floats of the state; with `base` NULL only counts. */
static float *carve(unsigned char *base, size_t *size, int64_t count)
{
    float *at = base != NULL ? (float *)(void *)(base + *size) : NULL;
    *size += ((size_t)count * sizeof(float) + 63) / 64 * 64;
    return at;
}

static size_t lay_out(const sup_pbd *s, unsigned char *base, sup_pbd_work *w, sup_pbd_regions *regions)
{
    size_t size = (sizeof(pbd_state) + 63) / 64 * 64;
    int64_t slots = s->slot_count, tets = (int64_t)s->volume_batches * SUP_PBD_LANES;
    int64_t edges = (int64_t)s->stretch_batches * SUP_PBD_LANES;
    w->positions = carve(base, &size, 4 * slots);
    w->previous = carve(base, &size, 4 * slots);
    w->follow = carve(base, &size, slots);
    w->mass = carve(base, &size, slots);
    w->momentum = carve(base, &size, slots);
    w->volume_compliance = carve(base, &size, tets);
    w->volume_floor = carve(base, &size, tets);
    w->volume_lambda = carve(base, &size, tets);
    w->stretch_compliance = carve(base, &size, edges);
    w->stretch_lambda = carve(base, &size, edges);
    w->bind_compliance = carve(base, &size, slots);
    w->bind_lambda = carve(base, &size, slots);
    regions->stiffness = carve(base, &size, slots);
    regions->follow = carve(base, &size, slots);
    regions->damping = carve(base, &size, slots);
    return size;
}

size_t sup_pbd_state_size(const sup_pbd *pbd)
{
    sup_pbd_work work;
    sup_pbd_regions regions;
    return lay_out(pbd, NULL, &work, &regions);
}

void sup_pbd_set_positions(const sup_pbd *pbd, void *state, const float *guide)
{
    pbd_state *s = state;
    memcpy(s->work.positions, guide, (size_t)pbd->slot_count * 4 * sizeof(float));
    for (int64_t i = 0; i < pbd->slot_count; i++)
        s->work.positions[4 * i + 3] = s->work.mass[i];
    memcpy(s->work.previous, s->work.positions, (size_t)pbd->slot_count * 4 * sizeof(float));
    s->last_seconds = 0.0f;
}

void sup_pbd_init(const sup_pbd *pbd, void *state, const float *guide)
{
    pbd_state *s = state;
    memset(s, 0, sizeof *s);
    lay_out(pbd, state, &s->work, &s->regions);
    for (int64_t i = 0; i < pbd->slot_count; i++)
        s->regions.stiffness[i] = s->regions.follow[i] = 1.0f;
    memset(s->regions.damping, 0, (size_t)pbd->slot_count * sizeof(float));
    memcpy(s->work.mass, pbd->inverse_mass, (size_t)pbd->slot_count * sizeof(float));
    sup_pbd_set_positions(pbd, state, guide);
}

void sup_pbd_restore(const sup_pbd *pbd, void *state)
{
    pbd_state *s = state;
    sup_pbd_work saved = s->work;
    s->work = (sup_pbd_work){
        .raw = saved.raw, .retain = saved.retain, .ratio = saved.ratio, .max_displacement = saved.max_displacement};
    memcpy(s->work.gravity, saved.gravity, sizeof saved.gravity);
    memset(&s->regions, 0, sizeof s->regions);
    if (pbd != NULL) lay_out(pbd, state, &s->work, &s->regions);
}

void sup_pbd_stop(const sup_pbd *pbd, void *state)
{
    pbd_state *s = state;
    memcpy(s->work.previous, s->work.positions, (size_t)pbd->slot_count * 4 * sizeof(float));
}

sup_pbd_regions sup_pbd_regions_of(const sup_pbd *pbd, void *state)
{
    SUP_UNUSED(pbd);
    return ((pbd_state *)state)->regions;
}

float *sup_pbd_positions(const sup_pbd *pbd, void *state)
{
    SUP_UNUSED(pbd);
    return ((pbd_state *)state)->work.positions;
}

float *sup_pbd_previous(const sup_pbd *pbd, void *state)
{
    SUP_UNUSED(pbd);
    return ((pbd_state *)state)->work.previous;
}

/* --- Stiffness --- */

static bool same_settings(const sup_pbd_settings *a, const sup_pbd_settings *b)
{
    return a->raw == b->raw && a->seconds == b->seconds && a->stretch == b->stretch && a->volume == b->volume &&
           a->bind == b->bind && a->follow == b->follow && a->inertia == b->inertia && a->regions == b->regions;
}

/* Mean stiffness factor of the corners of a lane. */
static double mean_stiffness(const pbd_state *s, const int32_t *corner, int32_t arity)
{
    double sum = 0.0;
    for (int32_t k = 0; k < arity; k++)
        sum += (double)s->regions.stiffness[corner[k * SUP_PBD_LANES]];
    return sum / arity;
}

/* k or compliance / h^2 of a constraint with modulus `modulus`, stiffness factor included, and geometry `shape`. */
static float compliance_of(const sup_pbd_settings *set, double modulus, double shape)
{
    if (set->raw) return (float)fmin(fmax(modulus, 0.0), 1.0);
    double pressure = set->inertia / ((double)set->seconds * (double)set->seconds);
    return (float)(modulus > 0.0 ? fmin(pressure / modulus * shape, MAX_COMPLIANCE) : MAX_COMPLIANCE);
}

static void prepare_particles(const sup_pbd *pbd, pbd_state *s, const sup_pbd_settings *set)
{
    const double two_pi_h = 6.283185307179586 * (double)set->seconds, v = (double)pbd->mean_volume;
    for (int32_t i = 0; i < pbd->slot_count; i++) {
        double frequency = set->follow * (double)s->regions.follow[i], base = (double)pbd->inverse_mass[i];
        double t = frequency * two_pi_h * frequency * two_pi_h,
               fraction = set->raw ? fmin(fmax(frequency, 0.0), 1.0) : t / (1.0 + t);
        if (!isfinite(fraction)) fraction = 1.0; /* an infinite frequency */
        double size = cbrt(fmax((double)pbd->particle_volume[i], 1e-3 * v));
        s->work.follow[i] = base > 0.0 ? (float)fraction : 1.0f;
        s->work.mass[i] = (float)(set->raw ? base : base * (1.0 - fraction));
        s->work.momentum[i] = (float)exp(-(double)s->regions.damping[i] * (double)set->seconds);
        s->work.bind_compliance[i] = compliance_of(set, set->bind * (double)s->regions.stiffness[i], v / size);
    }
}

static void prepare(const sup_pbd *pbd, pbd_state *s, const sup_pbd_settings *set)
{
    prepare_particles(pbd, s, set);
    for (int64_t i = 0; i < (int64_t)pbd->volume_batches * SUP_PBD_LANES; i++) {
        int64_t batch = i / SUP_PBD_LANES, lane = i % SUP_PBD_LANES;
        const int32_t *corner = pbd->volume_corner + batch * 4 * SUP_PBD_LANES + lane;
        double sum = 0.0,
               stiffness = set->raw ? mean_stiffness(s, corner, 4) : 1.0; /* soft tissue is not more compressible */
        for (int32_t k = 0; k < 4; k++)
            sum += (double)s->work.mass[corner[k * SUP_PBD_LANES]] *
                   (double)pbd->volume_area[(batch * 4 + k) * SUP_PBD_LANES + lane];
        s->work.volume_floor[i] = (float)fmax((double)MIN_GRADIENT * sum, 1e-24);
        s->work.volume_compliance[i] =
            compliance_of(set, set->volume * stiffness, 6.0 * (double)pbd->volume_rest[i] * (double)pbd->mean_volume);
    }
    for (int64_t i = 0; i < (int64_t)pbd->stretch_batches * SUP_PBD_LANES; i++) {
        const int32_t *corner = pbd->stretch_corner + i / SUP_PBD_LANES * 2 * SUP_PBD_LANES + i % SUP_PBD_LANES;
        s->work.stretch_compliance[i] =
            compliance_of(set, set->stretch * mean_stiffness(s, corner, 2), (double)pbd->stretch_compliance[i]);
    }
    s->settings = *set;
    s->prepared = true;
}

/* --- The step --- */

typedef struct level_work {
    const sup_pbd_work *work;
    const sup_pbd_kernels *kernels;
    int32_t first; /* first cluster of the level */
} level_work;

static void run_clusters(void *user, int32_t begin, int32_t end, int32_t worker)
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

/* Sixteen lanes were measured 5 % slower than eight: batches depend on each other, and larger ones have longer
 * latency. */
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
    w->guide_previous = input->guide_previous;
    w->bone = input->bone;
    w->volume_rest = input->volume_rest != NULL ? input->volume_rest : pbd->volume_rest;
    w->stretch_rest = input->stretch_rest != NULL ? input->stretch_rest : pbd->stretch_rest;
    for (int k = 0; k < 3; k++)
        w->gravity[k] = input->gravity[k] * h * h;
    w->retain = s->last_seconds > 0.0f ? (float)exp(-(double)input->damping * (double)h) : 1.0f;
    w->ratio = s->last_seconds > 0.0f ? h / s->last_seconds : 1.0f;
    w->max_displacement = MAX_DISPLACEMENT;
    s->last_seconds = h;
    if (w->raw) return;
    memset(w->volume_lambda, 0, (size_t)pbd->volume_batches * SUP_PBD_LANES * sizeof(float));
    memset(w->stretch_lambda, 0, (size_t)pbd->stretch_batches * SUP_PBD_LANES * sizeof(float));
    memset(w->bind_lambda, 0, (size_t)pbd->slot_count * sizeof(float));
}

bool sup_pbd_step_lanes(const sup_context *context, const sup_pbd *pbd, void *state, const sup_pbd_input *input,
                        int32_t lanes)
{
    pbd_state *s = state;
    begin_step(pbd, s, input);
    level_work level = {&s->work, kernels_for(lanes), 0};
    sup_parallel(context, pbd->slot_count, PREDICT_GRAIN, run_predict, &level);
    for (int32_t i = 0; i < input->iterations; i++) {
        for (int32_t k = 0; k < SUP_PBD_LEVELS; k++) {
            level.first = pbd->level_first[k];
            sup_parallel(context, pbd->level_first[k + 1] - level.first, 1, run_clusters, &level);
        }
        if (input->contact != NULL) input->contact(input->contact_user, context, s->work.positions);
    }
    if (level.kernels->is_finite(s->work.positions, pbd->slot_count)) return true;
    sup_pbd_set_positions(pbd, state, input->guide);
    return false;
}

bool sup_pbd_step(const sup_context *context, const sup_pbd *pbd, void *state, const sup_pbd_input *input)
{
    return sup_pbd_step_lanes(context, pbd, state, input, sup_simd_lanes());
}

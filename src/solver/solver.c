/* solver.c - the step: stages in order, each a loop over clusters or ranges that threads share.
 *
 * Based on: [komaritzan2022] Algorithm 2.1, eq. 2.7 to 2.16. The local step and the matrix of the global step are
 * those of the thesis. Deviations, all of which reach the same minimum of eq. 2.12 in fewer iterations:
 * - The global step is solved for the increment: A d = -gradient. At the exact minimum d is zero, so float
 * suffices.
 * - Line 2 (z <- y) starts from x_n + (x_n - x_(n-1)) - A^-1 A_fb (second difference of the anchors), which is
 * exact for a linear system. Momentum alone lags behind whenever the skeleton accelerates.
 * - The local-global map is a fixed point iteration; Anderson acceleration (D. G. Anderson, 1965) combines its
 * images. The norm is that of A: d_i . A d_j = -d_i . g_j needs only a sum of products. All iterates are sums of
 * directions, so the quadratic bound of projective dynamics on a step is known without further work.
 * - An accelerated step that raises the objective is rejected; the plain step from the same point cannot raise it. */
#include "solver/contact_response.h"
#include "solver/solver_work.h"

#include "base/simd.h"

#include <math.h>

enum { NOW, PREVIOUS, WORK, SPARE };
enum { SKIN_GRAIN = 1024 };                                                         /* vertices per task */
enum { SUM_ENERGY, SUM_PRODUCT, SUM_OLD, SUM_NEW, SUM_MOVED, SUM_SIZE, SUM_INNER }; /* SUM_INNER + j: d_j . image */

const char *const sup_solver_stage_names[SUP_SOLVER_STAGE_COUNT] = {[SUP_SOLVER_START] = "start",
                                                                    [SUP_SOLVER_VOLUME] = "volume",
                                                                    [SUP_SOLVER_LOCAL] = "local",
                                                                    [SUP_SOLVER_GRADIENT] = "gradient",
                                                                    [SUP_SOLVER_SEPARATOR] = "solve separator",
                                                                    [SUP_SOLVER_BACKWARD] = "solve",
                                                                    [SUP_SOLVER_CONTACT] = "contact forces",
                                                                    [SUP_SOLVER_ACCELERATE] = "accelerate"};

/* --- Memory of a state --- */

typedef struct state_head {
    int32_t role[4]; /* buffers of x: NOW, PREVIOUS, and two for the step */
    int32_t contact_capacity;
} state_head;

/* What a state keeps from step to step. Anchors follow the unknowns in x. */
typedef struct solver_state {
    state_head *head;
    float *x[4];                          /* [(unknown_count+anchor_count)*4] */
    float *prediction, *prediction_error; /* [unknown_count*4] last prediction without the repeated error, its error */
} solver_state;

/* What a step needs besides; undefined between steps. */
typedef struct step_scratch {
    float *inertial;                      /* [unknown_count*4] y of eq. 2.9 */
    float *gradient;                      /* [unknown_count*4] */
    float *direction[SUP_SOLVER_HISTORY]; /* [(unknown_count+slot_count)*4] */
    float *copy, *partial, *anchors;      /* of sup_local_work */
    float *foot;                          /* [(unknown_count+anchor_count)*4] foot points of skin vertices, by node; */
    float *foot_points, *region_slot_lanes,
        *region_slot_pressure; /* as in sup_local_work; all of these with volume only */
    double *region_slot_volume;
    double *region;                             /* [region_count] volumes, then pressures */
    double *cluster_energy;                     /* [cluster_count] */
    double *sums;                               /* [(subdomain_count+1)*SUP_SOLVER_SUMS] */
    sup_contact_state *contacts;                /* [contact_capacity] */
    float *residual, *search, *image, *product; /* [unknown_count*4] of sup_contact_solve; only with contact_capacity */
} step_scratch;

static size_t carve_floats(unsigned char *block, size_t offset, int64_t count, float **to)
{
    if (block != NULL) *to = (float *)(void *)(block + offset);
    return offset + ((size_t)count * sizeof(float) + 63) / 64 * 64;
}

static size_t carve_doubles(unsigned char *block, size_t offset, int64_t count, double **to)
{
    float *floats = NULL;
    size_t end = carve_floats(block, offset, 2 * count, &floats);
    if (block != NULL) *to = (double *)(void *)floats;
    return end;
}

/* Pointers into the memory of a state; with block NULL only its size. */
static size_t carve(const sup_system *s, int32_t contacts, unsigned char *block, solver_state *state,
                    step_scratch *scratch)
{
    int64_t n = (int64_t)s->unknown_count * 4, all = n + (int64_t)s->anchor_count * 4;
    size_t at = 64;
    state->head = (state_head *)(void *)block;
    for (int32_t k = 0; k < 4; k++)
        at = carve_floats(block, at, all, &state->x[k]);
    at = carve_floats(block, at, n, &scratch->inertial);
    at = carve_floats(block, at, n, &scratch->gradient);
    at = carve_floats(block, at, n, &state->prediction);
    at = carve_floats(block, at, n, &state->prediction_error);
    for (int32_t k = 0; k < SUP_SOLVER_HISTORY; k++)
        at = carve_floats(block, at, n + (int64_t)s->subdomains.slot_count * 4, &scratch->direction[k]);
    at = carve_floats(block, at, (int64_t)s->copy_count * 4, &scratch->copy);
    at = carve_floats(block, at, (int64_t)s->copy_count * 4, &scratch->partial);
    at = carve_floats(block, at, (int64_t)s->anchored_batch_count * SUP_PRISM_ANCHOR_FLOATS, &scratch->anchors);
    if (s->volume > 0.0f) {
        at = carve_floats(block, at, all, &scratch->foot);
        at = carve_floats(block, at, (int64_t)s->batch_count * SUP_PRISM_FOOT_POINT_FLOATS, &scratch->foot_points);
        at = carve_floats(block, at, (int64_t)s->region_slot_count * SUP_PRISM_LANES, &scratch->region_slot_lanes);
        at = carve_floats(block, at, s->region_slot_count, &scratch->region_slot_pressure);
        at = carve_doubles(block, at, s->region_slot_count, &scratch->region_slot_volume);
        at = carve_doubles(block, at, s->region_count, &scratch->region);
    }
    at = carve_doubles(block, at, s->cluster_count, &scratch->cluster_energy);
    at = carve_doubles(block, at, (int64_t)sup_range_count(s) * SUP_SOLVER_SUMS, &scratch->sums);
    if (contacts <= 0) return at;
    float *states = NULL;
    at = carve_floats(block, at, (int64_t)contacts * (int64_t)(sizeof(sup_contact_state) / sizeof(float)), &states);
    scratch->contacts = (sup_contact_state *)(void *)states;
    float **vectors[4] = {&scratch->residual, &scratch->search, &scratch->image, &scratch->product};
    for (int32_t k = 0; k < 4; k++)
        at = carve_floats(block, at, n, vectors[k]);
    return at;
}

size_t sup_solver_state_size(const sup_system *system, int32_t contact_capacity)
{
    solver_state state = {0};
    step_scratch scratch = {0};
    return carve(system, contact_capacity, NULL, &state, &scratch);
}

static solver_state open_state(const sup_system *system, const void *memory, step_scratch *scratch)
{
    solver_state state = {0};
    step_scratch unused = {0};
    const state_head *head = memory;
    carve(system, head->contact_capacity, (unsigned char *)(uintptr_t)memory, &state,
          scratch != NULL ? scratch : &unused);
    return state;
}

static float *buffer(const solver_state *state, int32_t role)
{
    return state->x[state->head->role[role]];
}

static const sup_solver_kernels *kernels_for(int32_t lanes)
{
#if defined(__x86_64__) && !defined(SUPPLE_SCALAR)
    if (lanes == 16) return &sup_solver_kernels_avx512;
    if (lanes == 8) return &sup_solver_kernels_avx2;
#endif
    SUP_UNUSED(lanes);
    return &sup_solver_kernels_base;
}

/* --- A step in progress --- */

typedef struct step_work {
    /* What the caller and the model give. */
    const sup_context *context;
    const sup_system *system;
    const sup_solver_input *input;
    const sup_solver_kernels *kernels;
    bool keeps_volume;
    sup_step_limits limits;
    /* The state. */
    const float *now, *previous; /* x_n and x_(n-1) */
    float *prediction, *prediction_error;
    float *x, *x_other; /* current iterate, and the last or the next one */
    /* What iterations remember. */
    step_scratch scratch;
    sup_anderson anderson;
    float *solve;       /* the vector that is solved in place: one of the directions */
    const float *image; /* -A times the current direction: the gradient, unless contacts changed it */
    int32_t contact_count;
    bool contact_near; /* some contact adds stiffness to the system */
    float repeat;      /* fraction of the last prediction error that the prediction adds */
    float drop;        /* fraction of the last displacement that it drops */
    double rounding;   /* energy of rounding the positions to float */
    sup_solver_report report;
} step_work;

static step_work open_step(const sup_context *context, const sup_system *system, void *memory,
                           const sup_solver_input *input, int32_t lanes)
{
    step_work step = {.context = context, .system = system, .input = input, .kernels = kernels_for(lanes)};
    const solver_state state = open_state(system, memory, &step.scratch);
    step.now = buffer(&state, NOW);
    step.previous = buffer(&state, PREVIOUS);
    step.x = buffer(&state, WORK);
    step.x_other = buffer(&state, SPARE);
    step.prediction = state.prediction;
    step.prediction_error = state.prediction_error;
    step.keeps_volume = system->volume > 0.0f && input->bones != NULL;
    return step;
}

static void stage_done(const step_work *step, sup_solver_stage stage)
{
    if (step->input->stage_done != NULL) step->input->stage_done(step->input->stage_user, stage);
}

/* Runs a task for every range of unknowns, on all threads. */
static void for_ranges(step_work *step, sup_task_fn *fn)
{
    sup_parallel(step->context, sup_range_count(step->system), 1, fn, step);
}

static double sum_of(const step_work *step, int32_t index)
{
    return sup_range_sum(step->system, step->scratch.sums, index);
}

static void forward(const sup_system *s, int32_t range, float *solve)
{
    if (range < s->subdomains.subdomain_count) sup_float_subdomain_forward4(&s->factor, &s->subdomains, range, solve);
}

static void backward(const sup_system *s, int32_t range, float *solve)
{
    if (range < s->subdomains.subdomain_count) sup_float_subdomain_backward4(&s->factor, &s->subdomains, range, solve);
}

/* --- Start --- */

/* Targets of the anchors [anchor_count*4] into x, their second difference into `difference`; both by node. */
static void set_anchors(const sup_system *s, const float *anchors, const float *now, const float *previous, float *x,
                        float *difference)
{
    int64_t first = (int64_t)s->unknown_count * 4, end = first + (int64_t)s->anchor_count * 4;
    for (int64_t i = first; i < end; i += 4) {
        sup_four target = sup_four_load(anchors + (i - first)), last = sup_four_load(now + i);
        target[3] = 0.0f;
        sup_four second = target - last - (last - sup_four_load(previous + i));
        memcpy(x + i, &target, sizeof target);
        memcpy(difference + i, &second, sizeof second);
    }
}

/* Error of the last prediction, in the norm of the system's diagonal: its product with the error before it, both
 * squares, that of the last displacement and that of the body relative to its first vertex, which makes it independent
 * of the position in space. The prediction does not contain the oscillation of the tissue, which persists over several
 * steps. */
static void measure_prediction_error(const step_work *step, int64_t begin, int64_t end, double *sums)
{
    float *error = step->prediction_error;
    sup_four product = sup_four_splat(0.0f), old = product, new = product, moved = product, size = product;
    sup_four first = sup_four_load(step->now);
    for (int64_t i = begin; i < end; i++) {
        sup_four weight = sup_four_splat(step->system->diagonal[i]);
        sup_four last = sup_four_load(error + i * 4);
        sup_four now = sup_four_load(step->now + i * 4) - sup_four_load(step->prediction + i * 4);
        product = sup_four_fma(weight * last, now, product);
        old = sup_four_fma(weight * last, last, old);
        new = sup_four_fma(weight * now, now, new);
        memcpy(error + i * 4, &now, sizeof now);
        sup_four displacement = sup_four_load(step->now + i * 4) - sup_four_load(step->previous + i * 4);
        moved = sup_four_fma(weight * displacement, displacement, moved);
        sup_four extent = sup_four_load(step->now + i * 4) - first;
        size = sup_four_fma(weight * extent, extent, size);
    }
    sums[SUM_PRODUCT] = sums[SUM_OLD] = sums[SUM_NEW] = sums[SUM_MOVED] = sums[SUM_SIZE] = 0.0;
    for (int32_t k = 0; k < 3; k++) {
        sums[SUM_PRODUCT] += (double)sup_four_lane(product, k);
        sums[SUM_OLD] += (double)sup_four_lane(old, k);
        sums[SUM_NEW] += (double)sup_four_lane(new, k);
        sums[SUM_MOVED] += (double)sup_four_lane(moved, k);
        sums[SUM_SIZE] += (double)sup_four_lane(size, k);
    }
}

/* y of eq. 2.9, and the start of the iterations before the solve. */
static void predict(const step_work *step, int64_t begin, int64_t end)
{
    float square = step->system->time_step * step->system->time_step;
    const float *g = step->input->gravity;
    sup_four keep = sup_four_splat(1.0f - step->input->damping);
    sup_four fall = {g[0] * square, g[1] * square, g[2] * square, 0.0f};
    for (int64_t i = begin * 4; i < end * 4; i += 4) {
        sup_four now = sup_four_load(step->now + i), moved = now - sup_four_load(step->previous + i);
        sup_four inertial = sup_four_fma(keep, moved, now) + fall, extrapolated = now + moved; /* eq. 2.9 */
        memcpy(step->scratch.inertial + i, &inertial, sizeof inertial);
        memcpy(step->x + i, step->input->mode == SUP_SOLVER_PLAIN ? &inertial : &extrapolated, sizeof extrapolated);
    }
}

/* -A_fb times the anchors' second difference [anchor_count*4], into `solve`. */
static void pull_of_anchors(const sup_system *s, const float *difference, int64_t begin, int64_t end, float *solve)
{
    for (int64_t i = begin; i < end; i++) {
        sup_four pull = sup_four_splat(0.0f);
        for (int32_t k = s->coupling_first[i]; k < s->coupling_first[i + 1]; k++)
            pull = pull - sup_four_splat(s->coupling_value[k]) *
                              sup_four_load(difference + (int64_t)s->coupling_anchor[k] * 4);
        memcpy(solve + i * 4, &pull, sizeof pull);
    }
}

static void start_range(void *data, int32_t begin, int32_t end, int32_t worker)
{
    step_work *step = data;
    const float *difference = step->x_other + (int64_t)step->system->unknown_count * 4;
    SUP_UNUSED(worker);
    for (int32_t range = begin; range < end; range++) {
        int32_t first, last;
        sup_range_bounds(step->system, range, &first, &last);
        predict(step, first, last);
        if (step->input->mode == SUP_SOLVER_PLAIN) continue;
        measure_prediction_error(step, first, last, step->scratch.sums + (int64_t)range * SUP_SOLVER_SUMS);
        pull_of_anchors(step->system, difference, first, last, step->solve);
        forward(step->system, range, step->solve);
    }
}

static void finish_start_range(void *data, int32_t begin, int32_t end, int32_t worker)
{
    step_work *step = data;
    SUP_UNUSED(worker);
    for (int32_t range = begin; range < end; range++) {
        int32_t first, last;
        sup_range_bounds(step->system, range, &first, &last);
        backward(step->system, range, step->solve);
        sup_four repeat = sup_four_splat(step->repeat);
        for (int64_t i = (int64_t)first * 4; i < (int64_t)last * 4; i += 4) {
            sup_four prediction = sup_four_load(step->x + i) + sup_four_load(step->solve + i);
            if (step->drop > 0.0f)
                prediction = sup_four_fma(sup_four_splat(-step->drop),
                                          sup_four_load(step->now + i) - sup_four_load(step->previous + i), prediction);
            memcpy(step->prediction + i, &prediction, sizeof prediction);
            prediction = sup_four_fma(repeat, sup_four_load(step->prediction_error + i), prediction);
            memcpy(step->x + i, &prediction, sizeof prediction);
        }
    }
}

static void inner_sides(void *data, int32_t begin, int32_t end, int32_t worker)
{
    const step_work *step = data;
    const step_scratch *m = &step->scratch;
    SUP_UNUSED(worker);
    for (int32_t cluster = begin; cluster < end; cluster++) {
        step->kernels->anchors(step->system, step->x, m->copy, m->anchors, cluster);
        if (step->keeps_volume) step->kernels->foot_points(step->system, m->foot, m->copy, m->foot_points, cluster);
    }
}

/* Adds the caller's forces [skin_count*3] to the inertial positions of vertices that have a mass. */
static void add_forces(const sup_system *s, const float *force, int32_t begin, int32_t end, float *inertial)
{
    for (int32_t v = begin; v < end; v++) {
        int64_t i = s->node[v];
        if (i >= s->unknown_count || !(s->mass[i] > 0.0f)) continue;
        float inverse = 1.0f / s->mass[i];
        for (int32_t k = 0; k < 3; k++)
            inertial[i * 4 + k] += force[(int64_t)v * 3 + k] * inverse; /* dt^2 f / m */
    }
}

static void skin_vertices(void *data, int32_t begin, int32_t end, int32_t worker)
{
    const step_work *step = data;
    const sup_solver_input *input = step->input;
    SUP_UNUSED(worker);
    if (input->force != NULL) add_forces(step->system, input->force, begin, end, step->scratch.inertial);
    if (step->keeps_volume) sup_volume_foot_points(step->system, input->bones, begin, end, step->scratch.foot);
}

static void start(step_work *step)
{
    const sup_system *s = step->system;
    const sup_solver_input *input = step->input;
    set_anchors(s, input->anchors, step->now, step->previous, step->x, step->x_other);
    step->solve = step->scratch.direction[0];
    for_ranges(step, start_range);
    if (input->mode != SUP_SOLVER_PLAIN) {
        double error = sum_of(step, SUM_NEW);
        step->repeat = sup_prediction_repeat(sum_of(step, SUM_PRODUCT), sum_of(step, SUM_OLD), error);
        step->drop = sup_prediction_drop(s->is_static, error, sum_of(step, SUM_MOVED));
        step->rounding = sup_step_rounding(step->keeps_volume, sum_of(step, SUM_SIZE));
        sup_float_separator_solve4(&s->factor, &s->subdomains, step->solve);
        for_ranges(step, finish_start_range);
    }
    if (step->keeps_volume || input->force != NULL)
        sup_parallel(step->context, s->skin_count, SKIN_GRAIN, skin_vertices, step);
    sup_parallel(step->context, s->cluster_count, 2, inner_sides, step);
    memcpy(step->x_other + (int64_t)s->unknown_count * 4, step->x + (int64_t)s->unknown_count * 4,
           (size_t)s->anchor_count * 4 * sizeof(float));
}

/* --- One iteration --- */

static sup_local_work local_work(const step_work *step)
{
    const step_scratch *m = &step->scratch;
    sup_local_work work = {.system = step->system,
                           .x = step->x,
                           .anchors = m->anchors,
                           .copy = m->copy,
                           .partial = m->partial,
                           .energy = m->cluster_energy,
                           .shared_rotation = step->input->shared_rotation};
    if (step->keeps_volume) {
        work.foot_points = m->foot_points;
        work.pressure = m->region_slot_pressure;
        work.region_slot_lanes = m->region_slot_lanes;
        work.region_slot_volume = m->region_slot_volume;
    }
    return work;
}

static void local_clusters(void *data, int32_t begin, int32_t end, int32_t worker)
{
    const step_work *step = data;
    sup_local_work work = local_work(step);
    SUP_UNUSED(worker);
    for (int32_t cluster = begin; cluster < end; cluster++)
        step->kernels->local(&work, cluster);
}

static void gradient_range(void *data, int32_t begin, int32_t end, int32_t worker)
{
    const step_work *step = data;
    const step_scratch *m = &step->scratch;
    sup_gradient_work work = {step->system, step->x, m->inertial, m->partial, m->gradient, step->solve};
    SUP_UNUSED(worker);
    for (int32_t range = begin; range < end; range++) {
        int32_t first, last;
        sup_range_bounds(step->system, range, &first, &last);
        m->sums[(int64_t)range * SUP_SOLVER_SUMS + SUM_ENERGY] = step->kernels->gradient(&work, first, last);
        if (step->contact_count == 0) forward(step->system, range, step->solve);
    }
}

/* Gradient at x, its negative into `solve`; returns the objective of eq. 2.12. */
static double evaluate(step_work *step)
{
    const sup_system *s = step->system;
    const step_scratch *m = &step->scratch;
    double energy = 0.0;
    step->solve = m->direction[step->anderson.newest];
    if (step->keeps_volume) {
        sup_local_work work = local_work(step);
        energy = sup_volume_pressures(step->context, step->kernels, &work, m->region, m->region_slot_pressure);
        stage_done(step, SUP_SOLVER_VOLUME);
    }
    sup_parallel(step->context, s->cluster_count, 1, local_clusters, step);
    stage_done(step, SUP_SOLVER_LOCAL);
    for_ranges(step, gradient_range);
    energy += sum_of(step, SUM_ENERGY);
    for (int32_t k = 0; k < s->cluster_count; k++)
        energy += m->cluster_energy[k];
    stage_done(step, SUP_SOLVER_GRADIENT);
    if (step->contact_count == 0) return energy;
    sup_contacts_report contacts =
        sup_contacts_forces(m->contacts, step->contact_count, s->size, step->x, m->gradient, step->solve);
    energy += contacts.energy;
    step->report.contacts = contacts.pushing;
    step->contact_near = contacts.near;
    stage_done(step, SUP_SOLVER_CONTACT);
    return energy;
}

static void inner_range(void *data, int32_t begin, int32_t end, int32_t worker)
{
    const step_work *step = data;
    const step_scratch *m = &step->scratch;
    SUP_UNUSED(worker);
    for (int32_t range = begin; range < end; range++) {
        int32_t first, last;
        sup_range_bounds(step->system, range, &first, &last);
        if (step->contact_count == 0) backward(step->system, range, step->solve);
        for (int32_t j = 0; j <= step->anderson.newest; j++)
            m->sums[(int64_t)range * SUP_SOLVER_SUMS + SUM_INNER + j] =
                step->kernels->dot(m->direction[j], step->image, (int64_t)first * 4, (int64_t)last * 4);
    }
}

static void solve_with_contacts(step_work *step)
{
    const step_scratch *m = &step->scratch;
    sup_contact_solve work = {.context = step->context,
                              .system = step->system,
                              .kernels = step->kernels,
                              .contacts = m->contacts,
                              .count = step->contact_count,
                              .max_solves = sup_response_max_solves(step->input->shared_rotation),
                              .near = step->contact_near,
                              .gradient = m->gradient,
                              .solve = step->solve,
                              .residual = m->residual,
                              .search = m->search,
                              .image = m->image,
                              .product = m->product,
                              .sums = m->sums};
    step->report.contact_solves += sup_contacts_solve(&work);
    step->image = m->image;
}

/* The direction of the global step, and its products with the previous ones. */
static void find_direction(step_work *step)
{
    const sup_system *s = step->system;
    sup_anderson *anderson = &step->anderson;
    step->image = step->scratch.gradient;
    if (step->contact_count > 0)
        solve_with_contacts(step);
    else
        sup_float_separator_solve4(&s->factor, &s->subdomains, step->solve);
    stage_done(step, step->contact_count > 0 ? SUP_SOLVER_CONTACT : SUP_SOLVER_SEPARATOR);
    for_ranges(step, inner_range);
    int32_t k = anderson->newest;
    for (int32_t j = 0; j <= k; j++)
        anderson->inner[j][k] = anderson->inner[k][j] = -sum_of(step, SUM_INNER + j);
    stage_done(step, SUP_SOLVER_BACKWARD);
}

/* --- The next iterate --- */

static void mix_range(void *data, int32_t begin, int32_t end, int32_t worker)
{
    const step_work *step = data;
    const sup_anderson *anderson = &step->anderson;
    SUP_UNUSED(worker);
    for (int32_t range = begin; range < end; range++) {
        int32_t first, last;
        sup_range_bounds(step->system, range, &first, &last);
        step->kernels->mix(step->x, (const float *const *)step->scratch.direction, anderson->factor,
                           anderson->newest + 1, step->x_other, (int64_t)first * 4, (int64_t)last * 4);
    }
}

static void swap_iterates(step_work *step)
{
    float *x = step->x;
    step->x = step->x_other;
    step->x_other = x;
}

/* From x to the next iterate; x_other is then the last one. */
static void move(step_work *step)
{
    for_ranges(step, mix_range);
    swap_iterates(step);
    stage_done(step, SUP_SOLVER_ACCELERATE);
}

/* Back to the last iterate, and from there a fraction of the plain step. */
static void reject(step_work *step, double fraction)
{
    swap_iterates(step);
    step->anderson.newest--;
    sup_anderson_set_multiple(&step->anderson, fraction);
    move(step);
    step->anderson.newest++;
    step->report.rejected++;
}

static void iterate(step_work *step)
{
    sup_anderson *anderson = &step->anderson;
    sup_solver_report *report = &step->report;
    bool plain = step->input->mode == SUP_SOLVER_PLAIN, touching = step->contact_count > 0, accelerated = false;
    bool unsure = touching || (step->keeps_volume && !plain);
    double last = 0.0, fraction = 1.0;
    for (int32_t done = 0; done < step->limits.max_iterations;) {
        double energy = evaluate(step);
        if (done > 0 && sup_step_rejected(energy, last, accelerated, unsure)) {
            fraction = sup_step_backtrack(accelerated, fraction);
            accelerated = false;
            reject(step, fraction);
            if (fraction > 0.0) continue;
            break;
        }
        last = energy;
        find_direction(step);
        report->iterations = ++done;
        report->objective = energy;
        double previous = report->predicted;
        report->predicted = 0.5 * anderson->inner[anderson->newest][anderson->newest];
        bool stop = !plain && sup_step_converged(&step->limits, done, report->predicted, previous, energy,
                                                 (double)step->system->weight_sum, step->rounding);
        bool last_iteration = stop || done == step->limits.max_iterations;
        accelerated = !plain && sup_step_accelerates(anderson->newest, touching, last_iteration);
        sup_anderson_choose(anderson, accelerated);
        move(step);
        fraction = 1.0;
        anderson->newest = anderson->newest + 1 < SUP_SOLVER_HISTORY ? anderson->newest + 1 : 0;
        if (stop) break;
    }
}

/* --- The step --- */

/* Whether `count` vectors of four floats are within a limit; NaN is not. The fourth float is not read. */
static bool all_within(const float *values, int64_t count, float limit)
{
    sup_four zero = sup_four_splat(0.0f), outside = zero, sum = zero;
    for (int64_t i = 0; i < count; i++) {
        sup_four v = sup_four_load(values + i * 4);
        outside = outside + (sup_four)((v > limit) | (v < -limit)); /* all bits set is NaN */
        sum = sum + v * zero;
    }
    for (int32_t k = 0; k < 3; k++)
        if (!(outside[k] == 0.0f && sum[k] == 0.0f)) return false;
    return true;
}

static bool all_finite(const float *values, int64_t count)
{
    sup_four zero = sup_four_splat(0.0f), sum[2] = {zero, zero};
    int64_t i = 0;
    for (; i + 8 <= count; i += 8)
        for (int32_t k = 0; k < 2; k++)
            sum[k] = sum[k] + sup_four_load(values + i + 4 * k) * zero;
    sum[0] = sum[0] + sum[1];
    float rest = (sum[0][0] + sum[0][1]) + (sum[0][2] + sum[0][3]);
    for (; i < count; i++)
        rest += values[i] * 0.0f;
    return rest == 0.0f;
}

/* Largest coordinate, in sizes of the body. */
static const float MAX_COORDINATE = 1e6f;

static sup_result check_input(const sup_system *s, const sup_solver_input *input)
{
    bool good = input->anchors != NULL || s->anchor_count == 0;
    good = good && all_within(input->anchors, s->anchor_count, MAX_COORDINATE * s->size);
    good = good && (input->force == NULL || all_finite(input->force, (int64_t)s->skin_count * 3));
    for (int32_t k = 0; good && k < 3; k++)
        good = isfinite(input->gravity[k]);
    if (input->bones != NULL)
        good = good && all_within(input->bones, (int64_t)s->bone_count * 2, MAX_COORDINATE * s->size);
    return good && input->damping >= 0.0f && input->damping <= 1.0f ? SUP_OK : SUP_ERROR_DATA;
}

/* The iterate that the step ended at becomes NOW. */
static void finish_step(const step_work *step, const solver_state *state)
{
    state_head *head = state->head;
    int32_t last = head->role[PREVIOUS], work = head->role[WORK], spare = head->role[SPARE];
    bool in_work = step->x == state->x[work];
    head->role[PREVIOUS] = head->role[NOW];
    head->role[NOW] = in_work ? work : spare;
    head->role[WORK] = in_work ? spare : work;
    head->role[SPARE] = last;
}

sup_result sup_solver_step_lanes(const sup_context *context, const sup_system *system, void *state,
                                 const sup_solver_input *input, sup_solver_report *report, int32_t lanes)
{
    sup_result result = check_input(system, input);
    if (result != SUP_OK) return result;
    sup_context resolved = sup_context_resolve(context);
    const solver_state view = open_state(system, state, NULL);
    step_work step = open_step(&resolved, system, state, input, lanes);
    start(&step);
    step.contact_count = sup_contacts_prepare(system, input->contacts, input->contact_count,
                                              view.head->contact_capacity, step.now, step.scratch.contacts);
    stage_done(&step, SUP_SOLVER_START);
    step.limits = sup_step_limits_of(input->iterations, input->tolerance, input->mode == SUP_SOLVER_PLAIN,
                                     step.contact_count > 0, step.keeps_volume);
    iterate(&step);
    finish_step(&step, &view);
    if (report != NULL) *report = step.report;
    return SUP_OK;
}

sup_result sup_solver_step(const sup_context *context, const sup_system *system, void *state,
                           const sup_solver_input *input, sup_solver_report *report)
{
    return sup_solver_step_lanes(context, system, state, input, report, sup_simd_lanes());
}

/* Clears momentum: the previous step and the prediction are where the state is. */
static void clear_momentum(const sup_system *s, void *memory)
{
    const solver_state state = open_state(s, memory, NULL);
    const float *now = buffer(&state, NOW);
    memcpy(state.prediction, now, (size_t)s->unknown_count * 4 * sizeof(float));
    memset(state.prediction_error, 0, (size_t)s->unknown_count * 4 * sizeof(float));
    memcpy(buffer(&state, PREVIOUS), now, ((size_t)s->unknown_count + (size_t)s->anchor_count) * 4 * sizeof(float));
}

/* Largest displacement of a coordinate in the last step. */
static double max_displacement(const sup_system *s, void *memory)
{
    const solver_state state = open_state(s, memory, NULL);
    const float *now = buffer(&state, NOW), *previous = buffer(&state, PREVIOUS);
    double largest = 0.0;
    for (int64_t i = 0; i < (int64_t)s->unknown_count * 4; i++)
        largest = fmax(largest, fabs((double)now[i] - (double)previous[i]));
    return largest;
}

sup_result sup_solver_reset(const sup_context *context, const sup_system *system, void *state, int32_t contact_capacity,
                            const float *anchors, const float *skin, int32_t max_steps)
{
    const sup_system *s = system;
    *(state_head *)state = (state_head){.role = {0, 1, 2, 3}, .contact_capacity = contact_capacity};
    float *x = open_state(s, state, NULL).x[0];
    memcpy(x, s->rest, ((size_t)s->unknown_count + (size_t)s->anchor_count) * 4 * sizeof(float));
    for (int32_t v = 0; skin != NULL && v < s->skin_count; v++)
        if (s->node[v] < s->unknown_count)
            for (int32_t k = 0; k < 3; k++)
                if (isfinite(skin[(int64_t)v * 3 + k])) x[(int64_t)s->node[v] * 4 + k] = skin[(int64_t)v * 3 + k];
    clear_momentum(s, state);
    if (anchors == NULL) return SUP_OK;
    sup_solver_input input = {.anchors = anchors};
    return sup_solver_settle(context, s, state, &input, max_steps);
}

void sup_solver_set_positions(const sup_system *system, void *state, int32_t first, int32_t count,
                              const float *positions)
{
    const solver_state view = open_state(system, state, NULL);
    float *x = buffer(&view, NOW);
    for (int32_t i = 0; i < count; i++)
        if (system->node[first + i] < system->unknown_count)
            memcpy(x + (int64_t)system->node[first + i] * 4, positions + (int64_t)i * 3, 3 * sizeof(float));
    clear_momentum(system, state);
}

sup_result sup_solver_settle(const sup_context *context, const sup_system *system, void *state,
                             const sup_solver_input *input, int32_t max_steps)
{
    sup_solver_input damped = *input;
    damped.damping = 1.0f;
    for (int32_t step = 0; step < (max_steps > 1 ? max_steps : 1); step++) {
        sup_result result = sup_solver_step(context, system, state, &damped, NULL);
        if (result != SUP_OK) return result;
        double moved = max_displacement(system, state);
        clear_momentum(system, state);
        if (moved < SUP_SOLVER_SETTLED * (double)system->size) break;
    }
    return SUP_OK;
}

void sup_solver_shift(const sup_system *system, void *state, const float offset[3])
{
    const solver_state view = open_state(system, state, NULL);
    float *now = buffer(&view, NOW), *previous = buffer(&view, PREVIOUS);
    int64_t unknowns = system->unknown_count, all = unknowns + system->anchor_count;
    for (int64_t i = 0; i < all; i++)
        for (int32_t k = 0; k < 3; k++) {
            now[4 * i + k] += offset[k];
            previous[4 * i + k] += offset[k];
            if (i < unknowns) view.prediction[4 * i + k] += offset[k];
        }
}

void sup_solver_skin(const sup_system *system, const void *state, float *skin, int32_t stride)
{
    const float *x = sup_solver_positions(system, state);
    for (int64_t v = 0; v < system->skin_count; v++)
        memcpy(skin + v * stride, x + (int64_t)system->node[v] * 4, 3 * sizeof(float));
}

float *sup_solver_step_ends(const sup_system *system, void *state, const float **previous)
{
    const solver_state view = open_state(system, state, NULL);
    *previous = buffer(&view, PREVIOUS);
    return buffer(&view, NOW);
}

const float *sup_solver_positions(const sup_system *system, const void *state)
{
    const solver_state view = open_state(system, state, NULL);
    return buffer(&view, NOW);
}

void sup_solver_vertices(const sup_system *system, const void *state, float *vertices)
{
    const float *x = sup_solver_positions(system, state);
    for (int64_t v = 0; v < system->vertex_count; v++)
        memcpy(vertices + v * 3, x + (int64_t)system->node[v] * 4, 3 * sizeof(float));
}

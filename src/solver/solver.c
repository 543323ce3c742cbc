/* solver.c - the step: stages in order, each a loop over clusters that threads share.
 *
 * Based on: [komaritzan2022] Algorithm 2.1, eq. 2.7 to 2.16. The local step and the matrix of the global step are
 * those of the thesis. Deviations, all of them ways to the same minimum of eq. 2.12 in fewer iterations:
 * - The global step is solved for the increment: A d = -gradient. At the exact minimum d is zero, so float suffices.
 * - Line 2 (z <- y) starts from x_n + (x_n - x_(n-1)) - A^-1 A_fb (second difference of the anchors): where a linear
 *   system would go. Momentum alone leaves the tissue behind whenever the skeleton speeds up.
 * - The local-global map is a fixed point iteration; Anderson acceleration (D. G. Anderson, 1965) combines its images.
 *   The norm is that of A: d_i . A d_j = -d_i . g_j needs no more than a sum of products. All iterates are sums of
 *   directions, so what the quadratic bound of projective dynamics says about a step costs nothing to know.
 * - An accelerated step that raises the objective is taken back; the plain step from the same node cannot. */
#include "solver/solver_work.h"

#include "base/simd.h"

#include <math.h>

enum { NOW, BEFORE, WORK, SPARE };
enum { SKIN_GRAIN = 1024 }; /* vertices that a thread takes at a time */
enum { SUM_ENERGY, SUM_PRODUCT, SUM_OLD, SUM_NEW, SUM_MOVED, SUM_SIZE, SUM_INNER }; /* SUM_INNER + j: d_j . image */
const char *const sup_solver_stage_names[SUP_SOLVER_STAGE_COUNT] = {[SUP_SOLVER_START] = "start",
                                                                    [SUP_SOLVER_VOLUME] = "volume",
                                                                    [SUP_SOLVER_LOCAL] = "local",
                                                                    [SUP_SOLVER_GRADIENT] = "gradient",
                                                                    [SUP_SOLVER_SEPARATOR] = "solve top",
                                                                    [SUP_SOLVER_BACKWARD] = "solve",
                                                                    [SUP_SOLVER_CONTACT] = "contact forces",
                                                                    [SUP_SOLVER_ACCELERATE] = "accelerate"};

/* --- Memory --- */

static size_t carve_floats(unsigned char *block, size_t offset, int64_t count, float **to)
{
    if (block != NULL) *to = (float *)(void *)(block + offset);
    return offset + ((size_t)count * sizeof(float) + 63) / 64 * 64;
}

/* Where everything lies in a state; with block NULL only the size. */
static size_t carve(const sup_system *s, int32_t contacts, unsigned char *block, sup_solver_memory *m)
{
    int64_t n = (int64_t)s->unknown_count * 4, all = n + (int64_t)s->anchor_count * 4;
    size_t at = 64;
    m->head = (sup_solver_head *)(void *)block;
    for (int32_t k = 0; k < 4; k++)
        at = carve_floats(block, at, all, &m->x[k]);
    at = carve_floats(block, at, n, &m->inertial);
    at = carve_floats(block, at, n, &m->gradient);
    at = carve_floats(block, at, n, &m->guess);
    at = carve_floats(block, at, n, &m->miss);
    for (int32_t k = 0; k < SUP_SOLVER_HISTORY; k++)
        at = carve_floats(block, at, n + (int64_t)s->subdomains.slot_count * 4, &m->direction[k]);
    at = carve_floats(block, at, (int64_t)s->copy_count * 4, &m->copy);
    at = carve_floats(block, at, (int64_t)s->copy_count * 4, &m->partial);
    at = carve_floats(block, at, (int64_t)s->anchored_batch_count * SUP_PRISM_ANCHOR_FLOATS, &m->anchors);
    float *doubles = NULL, *rows = NULL;
    if (s->volume > 0.0f) {
        at = carve_floats(block, at, all, &m->foot);
        at = carve_floats(block, at, (int64_t)s->batch_count * SUP_PRISM_FEET_FLOATS, &m->feet);
        at = carve_floats(block, at, (int64_t)s->region_slot_count * SUP_PRISM_LANES, &m->region_slot_lanes);
        at = carve_floats(block, at, s->region_slot_count, &m->region_slot_pressure);
        at = carve_floats(block, at, (int64_t)s->region_slot_count * 2, &doubles);
        m->region_slot_volume = (double *)(void *)doubles;
        at = carve_floats(block, at, (int64_t)s->region_count * 2, &doubles);
        m->region = (double *)(void *)doubles;
    }
    at = carve_floats(block, at, (int64_t)s->cluster_count * 2, &doubles);
    m->cluster_energy = (double *)(void *)doubles;
    at = carve_floats(block, at, (int64_t)(s->subdomains.subdomain_count + 1) * SUP_SOLVER_SUMS * 2, &doubles);
    m->sums = (double *)(void *)doubles;
    if (contacts <= 0) return at;
    at = carve_floats(block, at, (int64_t)contacts * (int64_t)(sizeof(sup_contact_state) / sizeof(float)), &rows);
    m->rows = (sup_contact_state *)(void *)rows;
    float **vectors[4] = {&m->residual, &m->search, &m->image, &m->product};
    for (int32_t k = 0; k < 4; k++)
        at = carve_floats(block, at, n, vectors[k]);
    return at;
}

size_t sup_solver_state_size(const sup_system *system, int32_t contact_capacity)
{
    sup_solver_memory memory = {0};
    return carve(system, contact_capacity, NULL, &memory);
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

static sup_step open_step(const sup_context *context, const sup_system *system, void *state)
{
    sup_step step = {.context = context, .system = system};
    const sup_solver_head *head = state;
    carve(system, head->contact_capacity, state, &step.memory);
    step.now = step.memory.x[head->role[NOW]];
    step.before = step.memory.x[head->role[BEFORE]];
    step.x = step.memory.x[head->role[WORK]];
    step.x_last = step.memory.x[head->role[SPARE]];
    return step;
}

/* --- Running stages --- */

void sup_step_done(const sup_step *step, sup_solver_stage stage)
{
    if (step->input->stage_done != NULL) step->input->stage_done(step->input->stage_user, stage);
}

void sup_step_ranges(sup_step *step, sup_task_fn *fn)
{
    sup_parallel(step->context, sup_step_range_count(step), 1, fn, step);
}

double sup_step_sum(const sup_step *step, int32_t slot)
{
    double sum = 0.0;
    for (int32_t k = 0; k < sup_step_range_count(step); k++)
        sum += step->memory.sums[(int64_t)k * SUP_SOLVER_SUMS + slot];
    return sum;
}

static void forward(const sup_step *step, int32_t range)
{
    const sup_system *s = step->system;
    if (range < s->subdomains.subdomain_count) sup_float_subdomain_forward4(&s->factor, &s->subdomains, range, step->solve);
}

static void backward(const sup_step *step, int32_t range)
{
    const sup_system *s = step->system;
    if (range < s->subdomains.subdomain_count) sup_float_subdomain_backward4(&s->factor, &s->subdomains, range, step->solve);
}

/* --- Start --- */

/* The anchors' targets behind the unknowns of x, their second difference behind those of x_last. */
static void place_anchors(sup_step *step)
{
    const sup_system *s = step->system;
    int64_t first = (int64_t)s->unknown_count * 4, end = first + (int64_t)s->anchor_count * 4;
    for (int64_t i = first; i < end; i += 4) {
        sup_four target = sup_four_load(step->input->anchors + (i - first)), now = sup_four_load(step->now + i);
        target[3] = 0.0f;
        sup_four difference = target - now - (now - sup_four_load(step->before + i));
        memcpy(step->x + i, &target, sizeof target);
        memcpy(step->x_last + i, &difference, sizeof difference);
    }
}

/* How far the last guess was from where the step ended, in the norm of the system's diagonal: its product with the miss
 * before it, both squares, that of the way that the step went and that of the body, seen from its first vertex so that it
 * is the same everywhere. What the guess misses is what the tissue's own swinging adds; that goes on for a while. */
static void measure_miss(const sup_step *step, int32_t range, int64_t begin, int64_t end)
{
    float *miss = step->memory.miss, *guess = step->memory.guess;
    double *sums = step->memory.sums + (int64_t)range * SUP_SOLVER_SUMS;
    sup_four product = sup_four_splat(0.0f), old = product, new = product, moved = product, size = product;
    sup_four first = sup_four_load(step->now);
    for (int64_t i = begin; i < end; i++) {
        sup_four weight = sup_four_splat(step->system->diagonal[i]);
        sup_four before = sup_four_load(miss + i * 4);
        sup_four now = sup_four_load(step->now + i * 4) - sup_four_load(guess + i * 4);
        product = sup_four_fma(weight * before, now, product);
        old = sup_four_fma(weight * before, before, old);
        new = sup_four_fma(weight * now, now, new);
        memcpy(miss + i * 4, &now, sizeof now);
        sup_four way = sup_four_load(step->now + i * 4) - sup_four_load(step->before + i * 4);
        moved = sup_four_fma(weight * way, way, moved);
        sup_four node = sup_four_load(step->now + i * 4) - first;
        size = sup_four_fma(weight * node, node, size);
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

static void predict(const sup_step *step, int64_t begin, int64_t end)
{
    float square = step->system->time_step * step->system->time_step;
    const float *g = step->input->gravity;
    sup_four keep = sup_four_splat(1.0f - step->input->damping);
    sup_four fall = {g[0] * square, g[1] * square, g[2] * square, 0.0f};
    for (int64_t i = begin * 4; i < end * 4; i += 4) {
        sup_four now = sup_four_load(step->now + i), moved = now - sup_four_load(step->before + i);
        sup_four inertial = sup_four_fma(keep, moved, now) + fall, guess = now + moved; /* eq. 2.9 */
        memcpy(step->memory.inertial + i, &inertial, sizeof inertial);
        memcpy(step->x + i, step->input->mode == SUP_SOLVER_PLAIN ? &inertial : &guess, sizeof guess);
    }
}

/* The pull of the anchors' second difference, which stands in x_last. */
static void pull_of_anchors(const sup_step *step, int64_t begin, int64_t end)
{
    const sup_system *s = step->system;
    const float *anchors = step->x_last + (int64_t)s->unknown_count * 4;
    for (int64_t i = begin; i < end; i++) {
        sup_four pull = sup_four_splat(0.0f);
        for (int32_t k = s->coupling_first[i]; k < s->coupling_first[i + 1]; k++)
            pull =
                pull - sup_four_splat(s->coupling_value[k]) * sup_four_load(anchors + (int64_t)s->coupling_anchor[k] * 4);
        memcpy(step->solve + i * 4, &pull, sizeof pull);
    }
}

static void start_range(void *data, int32_t begin, int32_t end, int32_t worker)
{
    sup_step *step = data;
    SUP_UNUSED(worker);
    for (int32_t range = begin; range < end; range++) {
        int32_t first, last;
        sup_step_range(step, range, &first, &last);
        predict(step, first, last);
        if (step->input->mode == SUP_SOLVER_PLAIN) continue;
        measure_miss(step, range, first, last);
        pull_of_anchors(step, first, last);
        forward(step, range);
    }
}

static void finish_start_range(void *data, int32_t begin, int32_t end, int32_t worker)
{
    sup_step *step = data;
    SUP_UNUSED(worker);
    for (int32_t range = begin; range < end; range++) {
        int32_t first, last;
        sup_step_range(step, range, &first, &last);
        backward(step, range);
        sup_four repeat = sup_four_splat(step->repeat);
        for (int64_t i = (int64_t)first * 4; i < (int64_t)last * 4; i += 4) {
            sup_four guess = sup_four_load(step->x + i) + sup_four_load(step->solve + i);
            if (step->forget > 0.0f)
                guess = sup_four_fma(sup_four_splat(-step->forget),
                                     sup_four_load(step->now + i) - sup_four_load(step->before + i), guess);
            memcpy(step->memory.guess + i, &guess, sizeof guess);
            guess = sup_four_fma(repeat, sup_four_load(step->memory.miss + i), guess);
            memcpy(step->x + i, &guess, sizeof guess);
        }
    }
}

static void inner_sides(void *data, int32_t begin, int32_t end, int32_t worker)
{
    sup_step *step = data;
    SUP_UNUSED(worker);
    for (int32_t cluster = begin; cluster < end; cluster++) {
        step->kernels->anchors(step->system, step->x, step->memory.copy, step->memory.anchors, cluster);
        if (step->keeps_volume)
            step->kernels->feet(step->system, step->memory.foot, step->memory.copy, step->memory.feet, cluster);
    }
}

/* Forces of the caller's move the prediction of vertices that have a mass. */
static void add_forces(const sup_step *step, int32_t begin, int32_t end)
{
    const sup_system *s = step->system;
    for (int32_t v = begin; v < end; v++) {
        int64_t i = s->node[v];
        if (i >= s->unknown_count || !(s->mass[i] > 0.0f)) continue;
        float inverse = 1.0f / s->mass[i];
        for (int32_t k = 0; k < 3; k++)
            step->memory.inertial[i * 4 + k] += step->input->force[(int64_t)v * 3 + k] * inverse; /* dt^2 f / m */
    }
}

static void skin_vertices(void *data, int32_t begin, int32_t end, int32_t worker)
{
    const sup_step *step = data;
    SUP_UNUSED(worker);
    if (step->input->force != NULL) add_forces(step, begin, end);
    if (step->keeps_volume) sup_step_place_feet(step, begin, end);
}

static void start(sup_step *step)
{
    const sup_system *s = step->system;
    step->keeps_volume = s->volume > 0.0f && step->input->bones != NULL;
    place_anchors(step);
    step->solve = step->memory.direction[0];
    sup_step_ranges(step, start_range);
    if (step->input->mode != SUP_SOLVER_PLAIN) {
        double error = sup_step_sum(step, SUM_NEW);
        step->repeat = sup_prediction_repeat(sup_step_sum(step, SUM_PRODUCT), sup_step_sum(step, SUM_OLD), error);
        step->forget = sup_prediction_drop(s->is_static, error, sup_step_sum(step, SUM_MOVED));
        step->rounding = sup_step_rounding(step->keeps_volume, sup_step_sum(step, SUM_SIZE));
        sup_float_separator_solve4(&s->factor, &s->subdomains, step->solve);
        sup_step_ranges(step, finish_start_range);
    }
    if (step->keeps_volume || step->input->force != NULL)
        sup_parallel(step->context, s->skin_count, SKIN_GRAIN, skin_vertices, step);
    sup_parallel(step->context, s->cluster_count, 2, inner_sides, step);
    memcpy(step->x_last + (int64_t)s->unknown_count * 4, step->x + (int64_t)s->unknown_count * 4,
           (size_t)s->anchor_count * 4 * sizeof(float));
    sup_step_contact_prepare(step);
    sup_step_done(step, SUP_SOLVER_START);
}

/* --- One iteration --- */

sup_local_work sup_step_local_work(const sup_step *step)
{
    const sup_solver_memory *m = &step->memory;
    sup_local_work work = {.system = step->system,
                           .x = step->x,
                           .anchors = m->anchors,
                           .copy = m->copy,
                           .partial = m->partial,
                           .energy = m->cluster_energy,
                           .shared_rotation = step->input->shared_rotation};
    if (step->keeps_volume) {
        work.feet = m->feet;
        work.pressure = m->region_slot_pressure;
        work.region_slot_lanes = m->region_slot_lanes;
        work.region_slot_volume = m->region_slot_volume;
    }
    return work;
}

static void local_clusters(void *data, int32_t begin, int32_t end, int32_t worker)
{
    const sup_step *step = data;
    sup_local_work work = sup_step_local_work(step);
    SUP_UNUSED(worker);
    for (int32_t cluster = begin; cluster < end; cluster++)
        step->kernels->local(&work, cluster);
}

static void gradient_range(void *data, int32_t begin, int32_t end, int32_t worker)
{
    const sup_step *step = data;
    sup_gradient_work work = {step->system,          step->x,    step->memory.inertial, step->memory.partial,
                              step->memory.gradient, step->solve};
    SUP_UNUSED(worker);
    for (int32_t range = begin; range < end; range++) {
        int32_t first, last;
        sup_step_range(step, range, &first, &last);
        step->memory.sums[(int64_t)range * SUP_SOLVER_SUMS + SUM_ENERGY] = step->kernels->gradient(&work, first, last);
        if (step->contact_count == 0) forward(step, range);
    }
}

/* Gradient at x into memory, its negative into `solve`; returns the objective of eq. 2.12. */
static double evaluate(sup_step *step)
{
    step->solve = step->memory.direction[step->history];
    double energy = step->keeps_volume ? sup_step_pressures(step) : 0.0;
    sup_parallel(step->context, step->system->cluster_count, 1, local_clusters, step);
    sup_step_done(step, SUP_SOLVER_LOCAL);
    sup_step_ranges(step, gradient_range);
    energy += sup_step_sum(step, SUM_ENERGY);
    for (int32_t k = 0; k < step->system->cluster_count; k++)
        energy += step->memory.cluster_energy[k];
    sup_step_done(step, SUP_SOLVER_GRADIENT);
    if (step->contact_count == 0) return energy;
    energy += sup_step_contact_forces(step);
    sup_step_done(step, SUP_SOLVER_CONTACT);
    return energy;
}

static void inner_range(void *data, int32_t begin, int32_t end, int32_t worker)
{
    const sup_step *step = data;
    SUP_UNUSED(worker);
    for (int32_t range = begin; range < end; range++) {
        int32_t first, last;
        sup_step_range(step, range, &first, &last);
        if (step->contact_count == 0) backward(step, range);
        for (int32_t j = 0; j <= step->history; j++)
            step->memory.sums[(int64_t)range * SUP_SOLVER_SUMS + SUM_INNER + j] =
                step->kernels->dot(step->memory.direction[j], step->image, (int64_t)first * 4, (int64_t)last * 4);
    }
}

/* The direction of the global step, and its products with those before. */
static void find_direction(sup_step *step)
{
    const sup_system *s = step->system;
    step->image = step->memory.gradient;
    if (step->contact_count > 0)
        sup_step_contact_solve(step);
    else
        sup_float_separator_solve4(&s->factor, &s->subdomains, step->solve);
    sup_step_done(step, step->contact_count > 0 ? SUP_SOLVER_CONTACT : SUP_SOLVER_SEPARATOR);
    sup_step_ranges(step, inner_range);
    int32_t k = step->history;
    for (int32_t j = 0; j <= k; j++)
        step->inner[j][k] = step->inner[k][j] = -sup_step_sum(step, SUM_INNER + j);
    sup_step_done(step, SUP_SOLVER_BACKWARD);
}

/* --- The way to the next iterate --- */

static void mix_range(void *data, int32_t begin, int32_t end, int32_t worker)
{
    const sup_step *step = data;
    SUP_UNUSED(worker);
    for (int32_t range = begin; range < end; range++) {
        int32_t first, last;
        sup_step_range(step, range, &first, &last);
        step->kernels->mix(step->x, (const float *const *)step->memory.direction, step->factor, step->history + 1,
                           step->x_last, (int64_t)first * 4, (int64_t)last * 4);
    }
}

/* x_last becomes the next iterate, then they change nodes. */
static void move(sup_step *step)
{
    sup_step_ranges(step, mix_range);
    float *x = step->x;
    step->x = step->x_last;
    step->x_last = x;
    sup_step_done(step, SUP_SOLVER_ACCELERATE);
}

/* Back to the last iterate, and from there a part of the plain step. */
static void take_back(sup_step *step, double part)
{
    float *x = step->x;
    step->x = step->x_last;
    step->x_last = x;
    step->history--;
    sup_step_multiple(step, part);
    move(step);
    step->history++;
    step->report.rejected++;
}

static void iterate(sup_step *step)
{
    bool plain = step->input->mode == SUP_SOLVER_PLAIN, touching = step->contact_count > 0, accelerated = false;
    bool unsure = touching || (step->keeps_volume && !plain);
    double last = 0.0, fraction = 1.0;
    for (int32_t done = 0; done < step->limits.max_iterations;) {
        double energy = evaluate(step);
        if (done > 0 && sup_step_rejected(energy, last, accelerated, unsure)) {
            fraction = sup_step_backtrack(accelerated, fraction);
            accelerated = false;
            take_back(step, fraction);
            if (fraction > 0.0) continue;
            break;
        }
        last = energy;
        find_direction(step);
        step->report.iterations = ++done;
        step->report.objective = energy;
        double previous = step->report.predicted;
        step->report.predicted = 0.5 * step->inner[step->history][step->history];
        bool stop = !plain && sup_step_converged(&step->limits, done, step->report.predicted, previous, energy,
                                                 (double)step->system->weight_sum, step->rounding);
        accelerated = !plain && sup_step_accelerates(step->history, touching,
                                                     stop || done == step->limits.max_iterations);
        sup_step_choose(step, accelerated);
        move(step);
        fraction = 1.0;
        step->history = step->history + 1 < SUP_SOLVER_HISTORY ? step->history + 1 : 0;
        if (stop) break;
    }
}

/* --- The step --- */

/* Whether numbers are all within a limit; what is no number is not. Rows of four, the last not looked at. */
static bool all_within(const float *values, int64_t rows, float limit)
{
    sup_four zero = sup_four_splat(0.0f), most = zero, sum = zero;
    for (int64_t i = 0; i < rows; i++) {
        sup_four v = sup_four_load(values + i * 4);
        most = most + (sup_four)((v > limit) | (v < -limit)); /* not a number as soon as one is true */
        sum = sum + v * zero;
    }
    for (int32_t k = 0; k < 3; k++)
        if (!(most[k] == 0.0f && sum[k] == 0.0f)) return false;
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

static sup_result check_input(const sup_system *s, const sup_solver_input *input)
{
    bool good = input->anchors != NULL || s->anchor_count == 0;
    good = good && all_within(input->anchors, s->anchor_count, 1e6f * s->size);
    good = good && (input->force == NULL || all_finite(input->force, (int64_t)s->skin_count * 3));
    for (int32_t k = 0; good && k < 3; k++)
        good = isfinite(input->gravity[k]);
    if (input->bones != NULL) good = good && all_within(input->bones, (int64_t)s->bone_count * 2, 1e6f * s->size);
    return good && input->damping >= 0.0f && input->damping <= 1.0f ? SUP_OK : SUP_ERROR_DATA;
}

static void set_limits(sup_step *step)
{
    const sup_solver_input *input = step->input;
    step->limits = sup_step_limits_of(input->iterations, input->tolerance, input->mode == SUP_SOLVER_PLAIN,
                                      step->contact_count > 0, step->keeps_volume);
}

sup_result sup_solver_step_lanes(const sup_context *context, const sup_system *system, void *state,
                                 const sup_solver_input *input, sup_solver_report *report, int32_t lanes)
{
    sup_result result = check_input(system, input);
    if (result != SUP_OK) return result;
    sup_context resolved = sup_context_resolve(context);
    sup_step step = open_step(&resolved, system, state);
    step.input = input;
    step.kernels = kernels_for(lanes);
    start(&step);
    set_limits(&step);
    iterate(&step);
    sup_solver_head *head = state;
    int32_t last = head->role[BEFORE], work = head->role[WORK], spare = head->role[SPARE];
    bool in_work = step.x == step.memory.x[work];
    head->role[BEFORE] = head->role[NOW];
    head->role[NOW] = in_work ? work : spare;
    head->role[WORK] = in_work ? spare : work;
    head->role[SPARE] = last;
    if (report != NULL) *report = step.report;
    return SUP_OK;
}

sup_result sup_solver_step(const sup_context *context, const sup_system *system, void *state,
                           const sup_solver_input *input, sup_solver_report *report)
{
    return sup_solver_step_lanes(context, system, state, input, report, sup_simd_lanes());
}

/* Forgets momentum: the step before was here too, and so was the guess. */
static void stand_still(const sup_system *s, void *state)
{
    sup_step step = open_step(NULL, s, state);
    const sup_solver_head *head = state;
    memcpy(step.memory.guess, step.now, (size_t)s->unknown_count * 4 * sizeof(float));
    memset(step.memory.miss, 0, (size_t)s->unknown_count * 4 * sizeof(float));
    memcpy(step.memory.x[head->role[BEFORE]], step.now,
           ((size_t)s->unknown_count + (size_t)s->anchor_count) * 4 * sizeof(float));
}

static double furthest_move(const sup_step *step, int64_t count)
{
    double most = 0.0;
    for (int64_t i = 0; i < count; i++)
        most = fmax(most, fabs((double)step->now[i] - (double)step->before[i]));
    return most;
}

sup_result sup_solver_reset(const sup_context *context, const sup_system *system, void *state, int32_t contact_capacity,
                            const float *anchors, const float *skin, int32_t rounds)
{
    const sup_system *s = system;
    sup_solver_head *head = state;
    *head = (sup_solver_head){.role = {0, 1, 2, 3}, .contact_capacity = contact_capacity};
    sup_step step = open_step(NULL, s, state);
    size_t all = ((size_t)s->unknown_count + (size_t)s->anchor_count) * 4;
    float *x = step.memory.x[0];
    memcpy(x, s->rest, all * sizeof(float));
    for (int32_t v = 0; skin != NULL && v < s->skin_count; v++)
        if (s->node[v] < s->unknown_count)
            for (int32_t k = 0; k < 3; k++)
                if (isfinite(skin[(int64_t)v * 3 + k])) x[(int64_t)s->node[v] * 4 + k] = skin[(int64_t)v * 3 + k];
    stand_still(s, state);
    if (anchors == NULL) return SUP_OK;
    sup_solver_input input = {.anchors = anchors};
    return sup_solver_settle(context, s, state, &input, rounds);
}

void sup_solver_set_positions(const sup_system *system, void *state, int32_t first, int32_t count, const float *positions)
{
    sup_step step = open_step(NULL, system, state);
    const sup_solver_head *head = state;
    float *x = step.memory.x[head->role[NOW]];
    for (int32_t i = 0; i < count; i++)
        if (system->node[first + i] < system->unknown_count)
            memcpy(x + (int64_t)system->node[first + i] * 4, positions + (int64_t)i * 3, 3 * sizeof(float));
    stand_still(system, state);
}

sup_result sup_solver_settle(const sup_context *context, const sup_system *system, void *state,
                             const sup_solver_input *input, int32_t rounds)
{
    const sup_system *s = system;
    sup_solver_input still = *input;
    still.damping = 1.0f;
    for (int32_t round = 0; round < (rounds > 1 ? rounds : 1); round++) {
        sup_result result = sup_solver_step(context, s, state, &still, NULL);
        if (result != SUP_OK) return result;
        sup_step step = open_step(NULL, s, state);
        double moved = furthest_move(&step, (int64_t)s->unknown_count * 4);
        stand_still(s, state);
        if (moved < SUP_SOLVER_SETTLED * (double)s->size) break;
    }
    return SUP_OK;
}

void sup_solver_shift(const sup_system *system, void *state, const float offset[3])
{
    sup_step step = open_step(NULL, system, state);
    const sup_solver_head *head = state;
    int64_t unknowns = system->unknown_count, all = unknowns + system->anchor_count;
    for (int64_t i = 0; i < all; i++)
        for (int32_t k = 0; k < 3; k++) {
            step.memory.x[head->role[NOW]][4 * i + k] += offset[k];
            step.memory.x[head->role[BEFORE]][4 * i + k] += offset[k];
            if (i < unknowns) step.memory.guess[4 * i + k] += offset[k];
        }
}

void sup_solver_skin(const sup_system *system, const void *state, float *skin, int32_t stride)
{
    const float *x = sup_solver_positions(system, state);
    for (int64_t v = 0; v < system->skin_count; v++)
        memcpy(skin + v * stride, x + (int64_t)system->node[v] * 4, 3 * sizeof(float));
}

float *sup_solver_step_ends(const sup_system *system, void *state, const float **before)
{
    sup_step step = open_step(NULL, system, state);
    *before = step.before;
    return step.memory.x[((const sup_solver_head *)state)->role[NOW]];
}

const float *sup_solver_positions(const sup_system *system, const void *state)
{
    sup_solver_memory memory = {0};
    const sup_solver_head *head = state;
    carve(system, head->contact_capacity, (unsigned char *)(uintptr_t)state, &memory);
    return memory.x[head->role[NOW]];
}

void sup_solver_vertices(const sup_system *system, const void *state, float *vertices)
{
    const float *x = sup_solver_positions(system, state);
    for (int64_t v = 0; v < system->vertex_count; v++)
        memcpy(vertices + v * 3, x + (int64_t)system->node[v] * 4, 3 * sizeof(float));
}

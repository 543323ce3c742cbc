/* solver_contact.c - contacts in the global step, without a new factor.
 *
 * Based on: [komaritzan2022] section 3.2.5, A + A_col. A contact adds k/2 |n . d - offset|^2 where n . d < offset,
 * and across the normal k/2 |t|^2 as far as the cone of friction lets it (then a force of constant size), t being how
 * far d has moved across n in this step. Where a row pushes, its stiffness joins the system's matrix: A + C with
 * C = sum J^T P J, P = hold n n^T + slide (1 - n n^T). The factor of A serves as preconditioner of a few steps of
 * conjugate gradients (M. R. Hestenes, E. Stiefel, 1952): since A z = r is just what it solves, products with A are sums
 * of known vectors, and a step costs one solve and a few sums. The other way, a low-rank update, needs a solve for each
 * row and a dense factor of their size: four times slower at two hundred rows. Deviations from the thesis: rows act along their normal
 * instead of as three springs, so that they do not glue, and never pull; detection, not the solver, keeps a pair alive
 * while it is near. */
#include "methods/projective/solver_work.h"

#include "base/simd.h"

#include <math.h>

enum { SUM_RZ = 1, SUM_CURVATURE = 2 };
/* Steps of conjugate gradients a global step, and the part of the residual's square at which they end earlier. */
enum { MOST_SOLVES = 3 };
#define SOLVED 1e-2
/* Rows nearer than this part of the character's size stiffen the matrix before they push: most of those that begin to
 * push in an iteration are then foreseen, and the objective does not rise. */
#define NEAR 3e-4f
/* Times the stiffness of the row's vertices, each alone, where a row does not say. Against a patch of rows the tissue
 * gives way together, so that this holds it to a few hundredths of where it would have gone; more makes the system
 * harder to solve. */
#define DEFAULT_STIFFNESS 2.0f
#define STIFFEST 100.0f
/* Sum of squares of the weights that are not anchors', from which on a row is as stiff as it says: one that holds almost
 * only by anchors would throw its last vertex far away. */
#define LEAST_SHARE 0.1f

/* J y: what a row sees of a vector. `limit` leaves out places from there on (anchors do not move in a direction). */
static void row_of(const sup_contact_row *row, const float *y, int32_t limit, float d[3])
{
    d[0] = d[1] = d[2] = 0.0f;
    for (int32_t j = 0; j < 4; j++)
        for (int32_t k = 0; k < 3 && row->place[j] >= 0 && row->place[j] < limit; k++)
            d[k] += row->weight[j] * y[(int64_t)row->place[j] * 4 + k];
}

/* d of contact.h at positions x. */
static void difference(const sup_contact_row *row, const float *x, float d[3])
{
    row_of(row, x, INT32_MAX, d);
    for (int32_t k = 0; k < 3; k++)
        d[k] -= row->point[k];
}

/* y += scale J^T f, at unknowns. */
static void spread(const sup_step *step, const sup_contact_row *row, const float f[3], float scale, float *y)
{
    for (int32_t j = 0; j < 4; j++)
        for (int32_t k = 0; k < 3 && row->place[j] >= 0 && row->place[j] < step->system->unknown_count; k++)
            y[(int64_t)row->place[j] * 4 + k] += scale * row->weight[j] * f[k];
}

static float dot3(const float a[3], const float b[3])
{
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
}

/* A row of the caller's, if it makes sense: places in range, finite numbers, a unit normal, something to push. */
static bool make_row(const sup_step *step, const sup_contact *c, sup_contact_row *row)
{
    const sup_system *s = step->system;
    int32_t vertex[4] = {c->vertex, c->corner[0], c->corner[1], c->corner[2]};
    float weight[4] = {1.0f, -c->weight[0], -c->weight[1], -c->weight[2]};
    float give = 0.0f, moves = 0.0f; /* how far the row's vertices give way to a unit force, each alone; their share */
    *row = (sup_contact_row){.offset = c->offset, .friction = c->friction, .cap = -1.0f};
    if (c->vertex < 0) return false;
    for (int32_t j = 0; j < 4; j++) {
        if (vertex[j] >= s->skin_count || (j > 0 && vertex[j] == c->vertex)) return false;
        row->place[j] = vertex[j] >= 0 ? s->place[vertex[j]] : -1;
        row->weight[j] = row->place[j] >= 0 ? weight[j] : 0.0f;
        if (!isfinite(row->weight[j]) || fabsf(row->weight[j]) > 2.0f) return false;
        if (row->place[j] < 0 || row->place[j] >= s->unknown_count) continue;
        give += row->weight[j] * row->weight[j] / s->diagonal[row->place[j]];
        moves += row->weight[j] * row->weight[j];
    }
    float moved[3];
    for (int32_t k = 0; k < 3; k++) {
        row->normal[k] = c->normal[k];
        row->point[k] = c->point[k];
        moved[k] = c->motion[k];
        if (!isfinite(c->point[k]) || !isfinite(c->motion[k])) return false;
    }
    if (!(fabsf(dot3(row->normal, row->normal) - 1.0f) < 0.01f) || !isfinite(c->offset) || !isfinite(c->stiffness) ||
        !(c->friction >= 0.0f && c->friction <= 100.0f) || !(c->limit >= 0.0f) || !(c->press >= 0.0f) ||
        !(c->damping >= 0.0f && c->damping <= 100.0f) || !(give > 0.0f))
        return false;
    difference(row, step->now, row->start);
    for (int32_t k = 0; k < 3; k++)
        row->start[k] += moved[k]; /* from where the point was */
    row->limit = c->limit > 0.0f ? c->limit : INFINITY;
    row->stiffness = (c->stiffness > 0.0f ? fminf(c->stiffness, STIFFEST) : DEFAULT_STIFFNESS) / give;
    if (c->press > 0.0f) row->stiffness *= fminf(c->press, 1.0f);
    row->stiffness *= fminf(1.0f, moves / LEAST_SHARE);
    row->damping = c->damping * row->stiffness;
    return true;
}

void sup_step_contact_prepare(sup_step *step)
{
    int32_t most = step->memory.head->contact_capacity, count = step->input->contact_count;
    step->contact_count = 0;
    for (int32_t i = 0; i < count && step->contact_count < most; i++)
        if (make_row(step, &step->input->contacts[i], &step->memory.rows[step->contact_count])) step->contact_count++;
}

/* Friction of a row that pushes with `press`: adds its force, sets its stiffness, returns its energy. */
static float rub(sup_contact_row *row, const float d[3], float press, float force[3])
{
    if (!(row->friction > 0.0f)) return 0.0f;
    if (row->cap < 0.0f) row->cap = row->friction * press; /* known from here on: the objective must not change */
    float t[3], along = 0.0f;
    for (int32_t k = 0; k < 3; k++)
        t[k] = d[k] - row->start[k];
    along = dot3(t, row->normal);
    for (int32_t k = 0; k < 3; k++)
        t[k] -= along * row->normal[k];
    float length = sqrtf(dot3(t, t)), pull = row->stiffness * length;
    bool sticks = pull <= row->cap;
    row->slide = sticks ? row->stiffness : row->cap / length; /* slipping: the parabola that touches from above */
    for (int32_t k = 0; k < 3; k++)
        force[k] += row->slide * t[k];
    return sticks ? 0.5f * pull * length : row->cap * (length - 0.5f * row->cap / row->stiffness);
}

/* Pushes along the normal: sets the stiffness, returns the energy. `press` is how hard. */
static float push(sup_contact_row *row, float depth, float *press)
{
    if (depth < row->limit) {
        *press = row->stiffness * depth;
        row->hold += row->stiffness;
        return 0.5f * *press * depth;
    }
    *press = row->stiffness * row->limit; /* constant from here on: the parabola that touches from above */
    row->hold += *press / depth;
    return *press * (depth - 0.5f * row->limit);
}

double sup_step_contact_forces(sup_step *step)
{
    double energy = 0.0;
    step->report.contacts = 0;
    step->contact_near = false;
    for (int32_t i = 0; i < step->contact_count; i++) {
        sup_contact_row *row = &step->memory.rows[i];
        float d[3], force[3], press = 0.0f;
        difference(row, step->x, d);
        float along = dot3(row->normal, d), depth = row->offset - along;
        float moved = along - dot3(row->normal, row->start), drag = row->damping * moved;
        row->hold = row->damping;
        row->slide = 0.0f;
        energy += 0.5 * (double)drag * (double)moved;
        if (depth > 0.0f) {
            energy += (double)push(row, depth, &press);
            step->report.contacts++;
        } else if (depth > -NEAR * step->system->size) {
            row->hold += row->stiffness;
        }
        for (int32_t k = 0; k < 3; k++)
            force[k] = (drag - press) * row->normal[k];
        if (depth > 0.0f) energy += (double)rub(row, d, press, force);
        if (!(row->hold > 0.0f)) continue;
        step->contact_near = true;
        spread(step, row, force, 1.0f, step->memory.gradient);
        spread(step, row, force, -1.0f, step->solve);
    }
    return energy;
}

/* P d of a row. */
static void row_force(const sup_contact_row *row, const float d[3], float force[3])
{
    float along = dot3(d, row->normal);
    for (int32_t k = 0; k < 3; k++)
        force[k] = row->slide * d[k] + (row->hold - row->slide) * along * row->normal[k];
}

/* y . C y */
static double contact_curvature(const sup_step *step, const float *y)
{
    double sum = 0.0;
    for (int32_t i = 0; i < step->contact_count; i++) {
        const sup_contact_row *row = &step->memory.rows[i];
        float d[3], force[3];
        row_of(row, y, step->system->unknown_count, d);
        row_force(row, d, force);
        sum += (double)dot3(force, d);
    }
    return sum;
}

/* out += scale C y */
static void contact_product(const sup_step *step, const float *y, float scale, float *out)
{
    for (int32_t i = 0; i < step->contact_count; i++) {
        const sup_contact_row *row = &step->memory.rows[i];
        float d[3], force[3];
        row_of(row, y, step->system->unknown_count, d);
        row_force(row, d, force);
        spread(step, row, force, scale, out);
    }
}

static double range_dot(const sup_step *step, const float *a, const float *b, int32_t first, int32_t last)
{
    return step->kernels->dot(a, b, (int64_t)first * 4, (int64_t)last * 4);
}

static void solve_forward(void *data, int32_t begin, int32_t end, int32_t worker)
{
    const sup_step *step = data;
    const sup_system *s = step->system;
    SUP_UNUSED(worker);
    for (int32_t range = begin; range < end; range++)
        if (range < s->parts.part_count) sup_float_part_forward4(&s->factor, &s->parts, range, step->solve);
}

/* z in `solve`, and r . z. */
static void solve_backward(void *data, int32_t begin, int32_t end, int32_t worker)
{
    const sup_step *step = data;
    const sup_system *s = step->system;
    SUP_UNUSED(worker);
    for (int32_t range = begin; range < end; range++) {
        int32_t first, last;
        sup_step_range(step, range, &first, &last);
        if (range < s->parts.part_count) sup_float_part_backward4(&s->factor, &s->parts, range, step->solve);
        step->memory.sums[(int64_t)range * SUP_SOLVER_SUMS + SUM_RZ] =
            range_dot(step, step->memory.residual, step->solve, first, last);
    }
}

/* p = z + beta p, A p = r + beta A p, and p . A p. */
static void turn(void *data, int32_t begin, int32_t end, int32_t worker)
{
    const sup_step *step = data;
    const sup_solver_memory *m = &step->memory;
    SUP_UNUSED(worker);
    for (int32_t range = begin; range < end; range++) {
        int32_t first, last;
        sup_step_range(step, range, &first, &last);
        const float *search = m->search, *image = m->image;
        int64_t from = (int64_t)first * 4, to = (int64_t)last * 4;
        step->kernels->mix(step->solve, &search, &step->cg_factor, 1, m->search, from, to);
        step->kernels->mix(m->residual, &image, &step->cg_factor, 1, m->image, from, to);
        m->sums[(int64_t)range * SUP_SOLVER_SUMS + SUM_CURVATURE] = range_dot(step, m->search, m->image, first, last);
    }
}

/* d += alpha p, r -= alpha A p; what contacts add to the residual comes apart. */
static void advance(void *data, int32_t begin, int32_t end, int32_t worker)
{
    const sup_step *step = data;
    const sup_solver_memory *m = &step->memory;
    SUP_UNUSED(worker);
    for (int32_t range = begin; range < end; range++) {
        int32_t first, last;
        sup_step_range(step, range, &first, &last);
        const float *search = m->search, *image = m->image;
        int64_t from = (int64_t)first * 4, to = (int64_t)last * 4;
        float back = -step->cg_factor;
        step->kernels->mix(m->product, &search, &step->cg_factor, 1, m->product, from, to);
        step->kernels->mix(m->residual, &image, &back, 1, m->residual, from, to);
    }
}

static double precondition(sup_step *step)
{
    const sup_system *s = step->system;
    memcpy(step->solve, step->memory.residual, (size_t)s->unknown_count * 4 * sizeof(float));
    sup_step_ranges(step, solve_forward);
    sup_float_top_solve4(&s->factor, &s->parts, step->solve);
    sup_step_ranges(step, solve_backward);
    step->report.contact_solves++;
    return sup_step_sum(step, SUM_RZ);
}

void sup_step_contact_solve(sup_step *step)
{
    const sup_solver_memory *m = &step->memory;
    size_t bytes = (size_t)step->system->unknown_count * 4 * sizeof(float);
    memcpy(m->residual, step->solve, bytes); /* -g */
    memset(m->search, 0, bytes);
    memset(m->image, 0, bytes);
    memset(m->product, 0, bytes);
    double rz = precondition(step), first = rz;
    step->cg_factor = 0.0f;
    for (int32_t k = 0; k < MOST_SOLVES && rz > 0.0; k++) {
        sup_step_ranges(step, turn);
        double curvature = sup_step_sum(step, SUM_CURVATURE) + contact_curvature(step, m->search);
        double alpha = rz / curvature;
        if (!(curvature > 0.0) || !isfinite(alpha)) break;
        step->cg_factor = (float)alpha;
        contact_product(step, m->search, -step->cg_factor, m->residual);
        sup_step_ranges(step, advance);
        if (k + 1 == MOST_SOLVES || !step->contact_near) break; /* without rows the first step is exact */
        double next = precondition(step);
        step->cg_factor = (float)(next / rz);
        if (!(next > SOLVED * first) || !isfinite(step->cg_factor)) break;
        rz = next;
    }
    memcpy(step->solve, m->product, bytes);
    for (int64_t i = 0; i < (int64_t)step->system->unknown_count * 4; i++)
        m->image[i] = m->gradient[i] + m->residual[i];
    step->image = m->image;
}

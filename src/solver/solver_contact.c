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
#include "solver/contact_response.h"
#include "solver/solver_work.h"

#include "base/simd.h"

#include <math.h>

enum { SUM_RZ = 1, SUM_CURVATURE = 2 };
static sup_four four(const float *from)
{
    return sup_four_load(from);
}

static sup_four see(const int32_t node[4], const float weight[4], const float *y)
{
    sup_four d = sup_four_splat(weight[0]) * four(y + (int64_t)node[0] * 4);
    for (int32_t j = 1; j < 4; j++)
        d = d + sup_four_splat(weight[j]) * four(y + (int64_t)node[j] * 4);
    return d;
}

/* J y: what a row sees of a direction. Anchors do not move in it. */
static sup_four row_of(const sup_contact_state *row, const float *y)
{
    return see(row->moved, row->share, y);
}

/* d of contact_constraint.h at positions x. */
static sup_four difference(const sup_contact_state *row, const float *x)
{
    return see(row->node, row->weight, x) - four(row->point);
}

/* y += scale J^T f, at unknowns. */
static void spread(const sup_contact_state *row, sup_four f, float scale, float *y)
{
    for (int32_t j = 0; j < 4; j++) {
        float *to = y + (int64_t)row->moved[j] * 4;
        sup_four sum = four(to) + sup_four_splat(scale * row->share[j]) * f;
        memcpy(to, &sum, sizeof sum);
    }
}

static float dot3(sup_four a, sup_four b)
{
    sup_four product = a * b;
    return product[0] + product[1] + product[2];
}

/* A row of the caller's, if it makes sense: nodes in range, finite numbers, a unit normal, something to push. */
static bool make_row(const sup_step *step, const sup_contact *c, sup_contact_state *row)
{
    const sup_system *s = step->system;
    int32_t vertex[4] = {c->vertex, c->corner[0], c->corner[1], c->corner[2]};
    float weight[4] = {1.0f, -c->weight[0], -c->weight[1], -c->weight[2]};
    float give = 0.0f, moves = 0.0f; /* how far the row's vertices give way to a unit force, each alone; their share */
    *row = (sup_contact_state){.offset = c->offset, .friction = c->friction, .cap = -1.0f};
    if (c->vertex < 0) return false;
    for (int32_t j = 0; j < 4; j++) {
        if (vertex[j] >= s->skin_count || (j > 0 && vertex[j] == c->vertex)) return false;
        row->node[j] = vertex[j] >= 0 ? s->node[vertex[j]] : 0;
        row->weight[j] = vertex[j] >= 0 ? weight[j] : 0.0f;
        if (!isfinite(row->weight[j]) || fabsf(row->weight[j]) > SUP_RESPONSE_MAX_WEIGHT) return false;
        if (vertex[j] < 0 || row->node[j] >= s->unknown_count) continue;
        row->moved[j] = row->node[j];
        row->share[j] = row->weight[j];
        give += row->weight[j] * row->weight[j] / s->diagonal[row->node[j]];
        moves += row->weight[j] * row->weight[j];
    }
    for (int32_t k = 0; k < 3; k++) {
        row->normal[k] = c->normal[k];
        row->point[k] = c->point[k];
        if (!isfinite(c->point[k]) || !isfinite(c->motion[k])) return false;
    }
    if (!(fabsf(dot3(four(row->normal), four(row->normal)) - 1.0f) < SUP_RESPONSE_NORMAL_ERROR) ||
        !isfinite(c->offset) || !isfinite(c->stiffness) || !(c->limit >= 0.0f) || !(c->press >= 0.0f) ||
        !(c->friction >= 0.0f && c->friction <= SUP_RESPONSE_MAX_COEFFICIENT) ||
        !(c->damping >= 0.0f && c->damping <= SUP_RESPONSE_MAX_COEFFICIENT) || !(give > 0.0f))
        return false;
    sup_four motion = {c->motion[0], c->motion[1], c->motion[2], 0.0f};
    sup_four start = difference(row, step->now) + motion; /* from where the point was */
    memcpy(row->start, &start, sizeof start);
    row->limit = c->limit > 0.0f ? c->limit : INFINITY;
    float multiple = c->stiffness > 0.0f ? fminf(c->stiffness, SUP_RESPONSE_MAX_STIFFNESS) : SUP_RESPONSE_STIFFNESS;
    row->stiffness = sup_response_stiffness(multiple, give, c->press, moves);
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
static float rub(sup_contact_state *row, sup_four d, float press, sup_four *force)
{
    if (!(row->friction > 0.0f)) return 0.0f;
    row->cap = sup_response_friction_cap(row->cap, row->friction, press);
    sup_four t = d - four(row->start), normal = four(row->normal);
    t = t - sup_four_splat(dot3(t, normal)) * normal;
    sup_response_tangent slide = sup_response_slide(sqrtf(dot3(t, t)), row->stiffness, row->cap);
    row->slide = slide.stiffness;
    *force = *force + sup_four_splat(row->slide) * t;
    return slide.energy;
}

double sup_step_contact_forces(sup_step *step)
{
    double energy = 0.0;
    step->report.contacts = 0;
    step->contact_near = false;
    for (int32_t i = 0; i < step->contact_count; i++) {
        sup_contact_state *row = &step->memory.rows[i];
        sup_four normal = four(row->normal), d = difference(row, step->x);
        sup_response_normal c = sup_response_push(dot3(normal, d), dot3(normal, four(row->start)), row->offset,
                                                row->stiffness, row->limit, row->damping, step->system->size);
        row->hold = c.stiffness;
        row->slide = 0.0f;
        energy += 0.5 * (double)c.drag * (double)c.moved;
        energy += (double)c.energy;
        step->report.contacts += c.depth > 0.0f;
        sup_four force = sup_four_splat(c.drag - c.press) * normal;
        if (c.depth > 0.0f) energy += (double)rub(row, d, c.press, &force);
        if (!(row->hold > 0.0f)) continue;
        step->contact_near = true;
        spread(row, force, 1.0f, step->memory.gradient);
        spread(row, force, -1.0f, step->solve);
    }
    return energy;
}

/* P J y of every row, and y . C y. */
static double contact_product(const sup_step *step, const float *y)
{
    double sum = 0.0;
    for (int32_t i = 0; i < step->contact_count; i++) {
        sup_contact_state *row = &step->memory.rows[i];
        if (!(row->hold > 0.0f)) continue;
        sup_four normal = four(row->normal), d = row_of(row, y);
        sup_four force =
            sup_four_splat(row->slide) * d + sup_four_splat((row->hold - row->slide) * dot3(d, normal)) * normal;
        memcpy(row->force, &force, sizeof force);
        sum += (double)dot3(force, d);
    }
    return sum;
}

/* out += scale C y, of the y that was last given to contact_product. */
static void spread_product(const sup_step *step, float scale, float *out)
{
    for (int32_t i = 0; i < step->contact_count; i++)
        if (step->memory.rows[i].hold > 0.0f)
            spread(&step->memory.rows[i], four(step->memory.rows[i].force), scale, out);
}

static double range_dot(const sup_step *step, const float *a, const float *b, int32_t first, int32_t last)
{
    return step->kernels->dot(a, b, (int64_t)first * 4, (int64_t)last * 4);
}

static void copy_range(const float *from, float *to, int32_t first, int32_t last)
{
    memcpy(to + (int64_t)first * 4, from + (int64_t)first * 4, (size_t)(last - first) * 4 * sizeof(float));
}

/* r into `solve`, and there the first half of A z = r. Before the first step of conjugate gradients r is there alone. */
static void solve_forward(void *data, int32_t begin, int32_t end, int32_t worker)
{
    const sup_step *step = data;
    const sup_system *s = step->system;
    SUP_UNUSED(worker);
    for (int32_t range = begin; range < end; range++) {
        int32_t first, last;
        sup_step_range(step, range, &first, &last);
        if (step->cg_begins)
            copy_range(step->solve, step->memory.residual, first, last);
        else
            copy_range(step->memory.residual, step->solve, first, last);
        if (range < s->subdomains.subdomain_count) sup_float_subdomain_forward4(&s->factor, &s->subdomains, range, step->solve);
    }
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
        if (range < s->subdomains.subdomain_count) sup_float_subdomain_backward4(&s->factor, &s->subdomains, range, step->solve);
        step->memory.sums[(int64_t)range * SUP_SOLVER_SUMS + SUM_RZ] =
            range_dot(step, step->memory.residual, step->solve, first, last);
    }
}

/* p = z + beta p, A p = r + beta A p, and p . A p; p = z in the first step. */
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
        if (step->cg_begins) {
            copy_range(step->solve, m->search, first, last);
            copy_range(m->residual, m->image, first, last);
            memset(m->product + from, 0, (size_t)(to - from) * sizeof(float));
        } else {
            step->kernels->mix(step->solve, &search, &step->cg_factor, 1, m->search, from, to);
            step->kernels->mix(m->residual, &image, &step->cg_factor, 1, m->image, from, to);
        }
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
    sup_step_ranges(step, solve_forward);
    sup_float_separator_solve4(&s->factor, &s->subdomains, step->solve);
    sup_step_ranges(step, solve_backward);
    step->report.contact_solves++;
    return sup_step_sum(step, SUM_RZ);
}

/* The direction into `solve`, and what A makes of it: all but what is left of the residual, contacts aside. */
static void finish(void *data, int32_t begin, int32_t end, int32_t worker)
{
    static const float one = 1.0f;
    const sup_step *step = data;
    const sup_solver_memory *m = &step->memory;
    SUP_UNUSED(worker);
    for (int32_t range = begin; range < end; range++) {
        int32_t first, last;
        const float *residual = m->residual;
        sup_step_range(step, range, &first, &last);
        copy_range(m->product, step->solve, first, last);
        step->kernels->mix(m->gradient, &residual, &one, 1, m->image, (int64_t)first * 4, (int64_t)last * 4);
    }
}

void sup_step_contact_solve(sup_step *step)
{
    const sup_solver_memory *m = &step->memory;
    const int32_t max_solves = sup_response_max_solves(step->input->shared_rotation);
    step->cg_begins = true; /* -g is in `solve` */
    double rz = precondition(step), first = rz;
    for (int32_t k = 0; k < max_solves; k++) {
        sup_step_ranges(step, turn);
        step->cg_begins = false;
        double contacts = contact_product(step, m->search), curvature = sup_step_sum(step, SUM_CURVATURE) + contacts;
        step->cg_factor = sup_response_step_length(rz, curvature);
        if (step->cg_factor == 0.0f) break;
        spread_product(step, -step->cg_factor, m->residual);
        sup_step_ranges(step, advance);
        if (k + 1 == max_solves || !sup_response_leaves_residual(k, step->contact_near, contacts, curvature)) break;
        double next = precondition(step);
        if (!sup_response_next_search(next, rz, first, &step->cg_factor)) break;
        rz = next;
    }
    sup_step_ranges(step, finish);
    step->image = m->image;
}

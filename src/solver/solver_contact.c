/* solver_contact.c - contacts in the global step, without a new factorisation.
 *
 * Based on: [komaritzan2022] section 3.2.5, A + A_col. A contact adds k/2 |n . d - offset|^2 where n . d < offset,
 * and k/2 |t|^2 across the normal inside the friction cone (outside it a force of constant size); t is the
 * displacement of d across n in this step. A contact that pushes adds its stiffness to the matrix: A + C with C = sum
 * J^T P J, P = normal_stiffness n n^T + tangent_stiffness (1 - n n^T). The factor of A is the preconditioner of a few
 * iterations of conjugate gradients (M. R. Hestenes, E. Stiefel, 1952). It solves A z = r exactly, so products with A
 * are sums of known vectors, and an iteration costs one solve and a few sums. A low-rank update instead needs one solve
 * per contact and a dense factor of their number: four times slower with two hundred contacts. Deviations from the
 * thesis: contacts act along their normal instead of as three springs, so they do not stick to each other, and never
 * pull; detection, not the solver, keeps a pair while it is close. */
#include "solver/contact_response.h"
#include "solver/solver_work.h"

#include "base/simd.h"

#include <math.h>

enum { SUM_RZ = 1, SUM_CURVATURE = 2 };

static sup_four four(const float *from)
{
    return sup_four_load(from);
}

static sup_four weighted_sum(const int32_t node[4], const float weight[4], const float *y)
{
    sup_four d = sup_four_splat(weight[0]) * four(y + (int64_t)node[0] * 4);
    for (int32_t j = 1; j < 4; j++)
        d = d + sup_four_splat(weight[j]) * four(y + (int64_t)node[j] * 4);
    return d;
}

/* J y for a direction y, in which anchors do not move. */
static sup_four apply_jacobian(const sup_contact_state *contact, const float *y)
{
    return weighted_sum(contact->free_node, contact->free_weight, y);
}

/* d of contact_constraint.h at positions x. */
static sup_four difference(const sup_contact_state *contact, const float *x)
{
    return weighted_sum(contact->node, contact->weight, x) - four(contact->point);
}

/* y += scale J^T f, at unknowns. */
static void spread(const sup_contact_state *contact, sup_four f, float scale, float *y)
{
    for (int32_t j = 0; j < 4; j++) {
        float *to = y + (int64_t)contact->free_node[j] * 4;
        sup_four sum = four(to) + sup_four_splat(scale * contact->free_weight[j]) * f;
        memcpy(to, &sum, sizeof sum);
    }
}

static float dot3(sup_four a, sup_four b)
{
    sup_four product = a * b;
    return product[0] + product[1] + product[2];
}

/* Whether a contact of the caller is valid: finite, a unit normal, coefficients in range. */
static bool is_valid(const sup_contact *c)
{
    float square = c->normal[0] * c->normal[0] + c->normal[1] * c->normal[1] + c->normal[2] * c->normal[2];
    bool finite = isfinite(c->offset) && isfinite(c->stiffness);
    for (int32_t k = 0; k < 3; k++)
        finite = finite && isfinite(c->point[k]) && isfinite(c->motion[k]);
    return finite && fabsf(square - 1.0f) < SUP_RESPONSE_NORMAL_ERROR && c->limit >= 0.0f && c->press >= 0.0f &&
           c->friction >= 0.0f && c->friction <= SUP_RESPONSE_MAX_COEFFICIENT && c->damping >= 0.0f &&
           c->damping <= SUP_RESPONSE_MAX_COEFFICIENT;
}

/* Nodes and weights. `compliance`: sum of the compliances of the single vertices; `free_square`:
 * sum of squared weights of the unknowns. False: an index or a weight is out of range. */
static bool set_nodes(const sup_system *s, const sup_contact *c, sup_contact_state *contact, float *compliance,
                      float *free_square)
{
    int32_t vertex[4] = {c->vertex, c->corner[0], c->corner[1], c->corner[2]};
    float weight[4] = {1.0f, -c->weight[0], -c->weight[1], -c->weight[2]};
    if (c->vertex < 0) return false;
    for (int32_t j = 0; j < 4; j++) {
        if (vertex[j] >= s->skin_count || (j > 0 && vertex[j] == c->vertex)) return false;
        contact->node[j] = vertex[j] >= 0 ? s->node[vertex[j]] : 0;
        contact->weight[j] = vertex[j] >= 0 ? weight[j] : 0.0f;
        if (!isfinite(contact->weight[j]) || fabsf(contact->weight[j]) > SUP_RESPONSE_MAX_WEIGHT) return false;
        if (vertex[j] < 0 || contact->node[j] >= s->unknown_count) continue;
        contact->free_node[j] = contact->node[j];
        contact->free_weight[j] = contact->weight[j];
        *compliance += contact->weight[j] * contact->weight[j] / s->diagonal[contact->node[j]];
        *free_square += contact->weight[j] * contact->weight[j];
    }
    return *compliance > 0.0f;
}

/* False: the contact is invalid and is ignored. */
static bool prepare_contact(const sup_system *system, const sup_contact *c, const float *x, sup_contact_state *contact)
{
    float compliance = 0.0f, free_square = 0.0f;
    *contact = (sup_contact_state){.offset = c->offset, .friction = c->friction, .cap = -1.0f};
    if (!is_valid(c) || !set_nodes(system, c, contact, &compliance, &free_square)) return false;
    for (int32_t k = 0; k < 3; k++) {
        contact->normal[k] = c->normal[k];
        contact->point[k] = c->point[k];
    }
    sup_four motion = {c->motion[0], c->motion[1], c->motion[2], 0.0f};
    sup_four start = difference(contact, x) + motion; /* relative to where the point was */
    memcpy(contact->start, &start, sizeof start);
    contact->limit = c->limit > 0.0f ? c->limit : INFINITY;
    float multiple = c->stiffness > 0.0f ? fminf(c->stiffness, SUP_RESPONSE_MAX_STIFFNESS) : SUP_RESPONSE_STIFFNESS;
    contact->stiffness = sup_response_stiffness(multiple, compliance, c->press, free_square);
    contact->damping = c->damping * contact->stiffness;
    return true;
}

int32_t sup_contacts_prepare(const sup_system *system, const sup_contact *contacts, int32_t count, int32_t capacity,
                             const float *x, sup_contact_state *states)
{
    int32_t valid = 0;
    for (int32_t i = 0; i < count && valid < capacity; i++)
        valid += prepare_contact(system, &contacts[i], x, &states[valid]);
    return valid;
}

/* Friction of a contact that pushes with `press`: adds its force, sets its stiffness, returns its energy. */
static float add_friction(sup_contact_state *contact, sup_four d, float press, sup_four *force)
{
    if (!(contact->friction > 0.0f)) return 0.0f;
    contact->cap = sup_response_friction_cap(contact->cap, contact->friction, press);
    sup_four t = d - four(contact->start), normal = four(contact->normal);
    t = t - sup_four_splat(dot3(t, normal)) * normal;
    sup_response_tangent slide = sup_response_slide(sqrtf(dot3(t, t)), contact->stiffness, contact->cap);
    contact->tangent_stiffness = slide.stiffness;
    *force = *force + sup_four_splat(contact->tangent_stiffness) * t;
    return slide.energy;
}

sup_contacts_report sup_contacts_forces(sup_contact_state *contacts, int32_t count, float size, const float *x,
                                        float *gradient, float *solve)
{
    sup_contacts_report report = {0};
    for (int32_t i = 0; i < count; i++) {
        sup_contact_state *contact = &contacts[i];
        sup_four normal = four(contact->normal), d = difference(contact, x);
        sup_response_normal c = sup_response_push(dot3(normal, d), dot3(normal, four(contact->start)), contact->offset,
                                                  contact->stiffness, contact->limit, contact->damping, size);
        contact->normal_stiffness = c.stiffness;
        contact->tangent_stiffness = 0.0f;
        report.energy += 0.5 * (double)c.drag * (double)c.moved;
        report.energy += (double)c.energy;
        report.pushing += c.depth > 0.0f;
        sup_four force = sup_four_splat(c.drag - c.press) * normal;
        if (c.depth > 0.0f) report.energy += (double)add_friction(contact, d, c.press, &force);
        if (!(contact->normal_stiffness > 0.0f)) continue;
        report.near = true;
        spread(contact, force, 1.0f, gradient);
        spread(contact, force, -1.0f, solve);
    }
    return report;
}

/* --- Conjugate gradients --- */

/* P J y of every contact; returns y . C y. */
static double contact_product(const sup_contact_solve *work, const float *y)
{
    double sum = 0.0;
    for (int32_t i = 0; i < work->count; i++) {
        sup_contact_state *contact = &work->contacts[i];
        if (!(contact->normal_stiffness > 0.0f)) continue;
        sup_four normal = four(contact->normal), d = apply_jacobian(contact, y);
        float difference_of_stiffness = contact->normal_stiffness - contact->tangent_stiffness;
        sup_four force = sup_four_splat(contact->tangent_stiffness) * d +
                         sup_four_splat(difference_of_stiffness * dot3(d, normal)) * normal;
        memcpy(contact->force, &force, sizeof force);
        sum += (double)dot3(force, d);
    }
    return sum;
}

/* out += scale C y, for the y of the last contact_product. */
static void spread_product(const sup_contact_solve *work, float scale, float *out)
{
    for (int32_t i = 0; i < work->count; i++)
        if (work->contacts[i].normal_stiffness > 0.0f)
            spread(&work->contacts[i], four(work->contacts[i].force), scale, out);
}

static void for_ranges(sup_contact_solve *work, sup_task_fn *fn)
{
    sup_parallel(work->context, sup_range_count(work->system), 1, fn, work);
}

static void set_sum(const sup_contact_solve *work, int32_t range, int32_t index, const float *a, const float *b)
{
    int32_t first, last;
    sup_range_bounds(work->system, range, &first, &last);
    work->sums[(int64_t)range * SUP_SOLVER_SUMS + index] =
        work->kernels->dot(a, b, (int64_t)first * 4, (int64_t)last * 4);
}

static void copy_range(const float *from, float *to, int32_t first, int32_t last)
{
    memcpy(to + (int64_t)first * 4, from + (int64_t)first * 4, (size_t)(last - first) * 4 * sizeof(float));
}

/* First half of A z = r, in `solve`. In the first iteration r is only in `solve`. */
static void solve_forward(void *data, int32_t begin, int32_t end, int32_t worker)
{
    const sup_contact_solve *work = data;
    const sup_system *s = work->system;
    SUP_UNUSED(worker);
    for (int32_t range = begin; range < end; range++) {
        int32_t first, last;
        sup_range_bounds(s, range, &first, &last);
        if (work->first)
            copy_range(work->solve, work->residual, first, last);
        else
            copy_range(work->residual, work->solve, first, last);
        if (range < s->subdomains.subdomain_count)
            sup_float_subdomain_forward4(&s->factor, &s->subdomains, range, work->solve);
    }
}

/* Second half: z in `solve`, and r . z. */
static void solve_backward(void *data, int32_t begin, int32_t end, int32_t worker)
{
    const sup_contact_solve *work = data;
    const sup_system *s = work->system;
    SUP_UNUSED(worker);
    for (int32_t range = begin; range < end; range++) {
        if (range < s->subdomains.subdomain_count)
            sup_float_subdomain_backward4(&s->factor, &s->subdomains, range, work->solve);
        set_sum(work, range, SUM_RZ, work->residual, work->solve);
    }
}

/* p = z + beta p, A p = r + beta A p, and p . A p; p = z in the first iteration. */
static void update_search(void *data, int32_t begin, int32_t end, int32_t worker)
{
    const sup_contact_solve *work = data;
    SUP_UNUSED(worker);
    for (int32_t range = begin; range < end; range++) {
        int32_t first, last;
        sup_range_bounds(work->system, range, &first, &last);
        const float *search = work->search, *image = work->image;
        int64_t from = (int64_t)first * 4, to = (int64_t)last * 4;
        if (work->first) {
            copy_range(work->solve, work->search, first, last);
            copy_range(work->residual, work->image, first, last);
            memset(work->product + from, 0, (size_t)(to - from) * sizeof(float));
        } else {
            work->kernels->mix(work->solve, &search, &work->factor, 1, work->search, from, to);
            work->kernels->mix(work->residual, &image, &work->factor, 1, work->image, from, to);
        }
        set_sum(work, range, SUM_CURVATURE, work->search, work->image);
    }
}

/* d += alpha p, r -= alpha A p; spread_product adds the residual of the contacts. */
static void advance(void *data, int32_t begin, int32_t end, int32_t worker)
{
    const sup_contact_solve *work = data;
    SUP_UNUSED(worker);
    for (int32_t range = begin; range < end; range++) {
        int32_t first, last;
        sup_range_bounds(work->system, range, &first, &last);
        const float *search = work->search, *image = work->image;
        int64_t from = (int64_t)first * 4, to = (int64_t)last * 4;
        float negative = -work->factor;
        work->kernels->mix(work->product, &search, &work->factor, 1, work->product, from, to);
        work->kernels->mix(work->residual, &image, &negative, 1, work->residual, from, to);
    }
}

/* z = A^-1 r in `solve`; returns r . z. */
static double precondition(sup_contact_solve *work)
{
    const sup_system *s = work->system;
    for_ranges(work, solve_forward);
    sup_float_separator_solve4(&s->factor, &s->subdomains, work->solve);
    for_ranges(work, solve_backward);
    return sup_range_sum(s, work->sums, SUM_RZ);
}

/* The direction into `solve`, and -A times it into `image`: the gradient plus the remaining residual. */
static void finish(void *data, int32_t begin, int32_t end, int32_t worker)
{
    static const float one = 1.0f;
    const sup_contact_solve *work = data;
    SUP_UNUSED(worker);
    for (int32_t range = begin; range < end; range++) {
        int32_t first, last;
        const float *residual = work->residual;
        sup_range_bounds(work->system, range, &first, &last);
        copy_range(work->product, work->solve, first, last);
        work->kernels->mix(work->gradient, &residual, &one, 1, work->image, (int64_t)first * 4, (int64_t)last * 4);
    }
}

int32_t sup_contacts_solve(sup_contact_solve *work)
{
    const sup_system *s = work->system;
    int32_t solves = 1;
    work->first = true; /* -g is in `solve` */
    double rz = precondition(work), first_rz = rz;
    for (int32_t k = 0; k < work->max_solves; k++) {
        for_ranges(work, update_search);
        work->first = false;
        double contacts = contact_product(work, work->search);
        double curvature = sup_range_sum(s, work->sums, SUM_CURVATURE) + contacts;
        work->factor = sup_response_step_length(rz, curvature);
        if (work->factor == 0.0f) break;
        spread_product(work, -work->factor, work->residual);
        for_ranges(work, advance);
        if (k + 1 == work->max_solves || !sup_response_leaves_residual(k, work->near, contacts, curvature)) break;
        double next = precondition(work);
        solves++;
        if (!sup_response_next_search(next, rz, first_rz, &work->factor)) break;
        rz = next;
    }
    for_ranges(work, finish);
    return solves;
}

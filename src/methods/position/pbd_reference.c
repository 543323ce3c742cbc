/* pbd_reference.c - position based dynamics in double precision, one constraint after another, as in the equations.
 *
 * Based on: [aburumman2016thesis] eq. 3.16, 4.2 to 4.13, algorithm 5; [macklin2016] eq. 17, 18. */
#include "methods/position/pbd_reference.h"

#include "math/vec3.h"

typedef struct constraint {
    int32_t arity; /* 4: volume, 2: stretch, 1: bind */
    int32_t slot[4];
    double rest;    /* volume, length; bind: read from the input */
    double shape;   /* geometry factor of the compliance, see pbd.c */
    double area[4]; /* volume: squared rest gradients */
    double lambda;
} constraint;

struct sup_pbd_reference {
    sup_context context;
    const sup_pbd *pbd;
    sup_arena arena;
    int32_t count;
    constraint *constraints;  /* in the order of the solver */
    double *x, *previous, *w; /* [slot_count*3], [slot_count*3], [slot_count] */
    int32_t *cluster_first;   /* [cluster_count+1] first constraint */
    int32_t *cluster_rest;    /* [cluster_count] first constraint that is not a volume */
    const float *stiffness, *follow, *damping;
    double last_seconds;
};

double sup_pbd_volume(const double p[4][3], double gradient[4][3])
{
    sup_vec3d o = sup_v3(p[0][0], p[0][1], p[0][2]), e[3], g[3];
    for (int k = 0; k < 3; k++)
        e[k] = sup_v3_sub(sup_v3(p[k + 1][0], p[k + 1][1], p[k + 1][2]), o);
    for (int k = 0; k < 3; k++) {
        g[k] = sup_v3_scale(sup_v3_cross(e[(k + 1) % 3], e[(k + 2) % 3]), 1.0 / 6.0);
        gradient[k + 1][0] = g[k].x;
        gradient[k + 1][1] = g[k].y;
        gradient[k + 1][2] = g[k].z;
    }
    for (int c = 0; c < 3; c++)
        gradient[0][c] = -(gradient[1][c] + gradient[2][c] + gradient[3][c]);
    return sup_v3_dot(g[2], e[2]);
}

double sup_pbd_length(const double p[2][3], double gradient[2][3])
{
    sup_vec3d d = sup_v3(p[0][0] - p[1][0], p[0][1] - p[1][1], p[0][2] - p[1][2]);
    double length = sup_v3_length(d);
    for (int c = 0; c < 3; c++) {
        gradient[0][c] = length > 0.0 ? (p[0][c] - p[1][c]) / length : 0.0;
        gradient[1][c] = -gradient[0][c];
    }
    return length;
}

/* --- Creation --- */

static void add_volumes(sup_pbd_reference *r, int32_t first, int32_t end)
{
    const sup_pbd *s = r->pbd;
    for (int64_t i = (int64_t)first * SUP_PBD_LANES; i < (int64_t)end * SUP_PBD_LANES; i++) {
        const int32_t *corner = s->volume_corner + i / SUP_PBD_LANES * 4 * SUP_PBD_LANES + i % SUP_PBD_LANES;
        if (corner[0] == corner[SUP_PBD_LANES]) continue; /* unused lane */
        double rest = (double)s->volume_rest[i] / 6.0;
        constraint c = {.arity = 4, .rest = rest, .shape = rest * (double)s->mean_volume};
        for (int k = 0; k < 4; k++) {
            c.slot[k] = corner[k * SUP_PBD_LANES];
            c.area[k] = (double)s->volume_area[(i / SUP_PBD_LANES * 4 + k) * SUP_PBD_LANES + i % SUP_PBD_LANES] / 36.0;
        }
        r->constraints[r->count++] = c;
    }
}

static void add_stretches(sup_pbd_reference *r, int32_t first, int32_t end)
{
    const sup_pbd *s = r->pbd;
    for (int64_t i = (int64_t)first * SUP_PBD_LANES; i < (int64_t)end * SUP_PBD_LANES; i++) {
        const int32_t *corner = s->stretch_corner + i / SUP_PBD_LANES * 2 * SUP_PBD_LANES + i % SUP_PBD_LANES;
        if (corner[0] == corner[SUP_PBD_LANES]) continue;
        constraint c = {.arity = 2, .rest = (double)s->stretch_rest[i], .shape = (double)s->stretch_compliance[i]};
        c.slot[0] = corner[0];
        c.slot[1] = corner[SUP_PBD_LANES];
        r->constraints[r->count++] = c;
    }
}

static void add_binds(sup_pbd_reference *r, int32_t first, int32_t end)
{
    double v = (double)r->pbd->mean_volume;
    for (int32_t i = first; i < end; i++) {
        constraint c = {.arity = 1, .shape = v / cbrt(fmax((double)r->pbd->particle_volume[i], 1e-3 * v))};
        c.slot[0] = i;
        r->constraints[r->count++] = c;
    }
}

sup_result sup_pbd_reference_create(const sup_pbd *pbd, const double *positions, const sup_pbd_regions *regions,
                                    sup_pbd_reference **reference, sup_error *error)
{
    sup_context context = sup_context_resolve(NULL);
    sup_arena arena = sup_arena_create(&context.allocator);
    sup_pbd_reference *r = sup_arena_alloc(&arena, 1, sizeof *r);
    size_t n = (size_t)pbd->slot_count,
           maximum = n + (size_t)(pbd->volume_batches + pbd->stretch_batches) * SUP_PBD_LANES;
    constraint *constraints = sup_arena_alloc(&arena, maximum, sizeof(constraint));
    double *x = sup_arena_alloc(&arena, 3 * n, sizeof(double)),
           *previous = sup_arena_alloc(&arena, 3 * n, sizeof(double));
    double *w = sup_arena_alloc(&arena, n, sizeof(double));
    int32_t *clusters = sup_arena_alloc(&arena, 2 * (size_t)pbd->cluster_count + 1, sizeof(int32_t));
    if (clusters == NULL || r == NULL || constraints == NULL || x == NULL || previous == NULL || w == NULL) {
        sup_arena_destroy(&arena);
        return sup_fail_memory(error, "the reference");
    }
    *r = (sup_pbd_reference){.context = context,
                             .pbd = pbd,
                             .arena = arena,
                             .constraints = constraints,
                             .x = x,
                             .previous = previous,
                             .w = w,
                             .cluster_first = clusters,
                             .cluster_rest = clusters + pbd->cluster_count + 1,
                             .stiffness = regions->stiffness,
                             .follow = regions->follow,
                             .damping = regions->damping};
    for (size_t i = 0; i < n; i++)
        for (size_t c = 0; c < 3; c++)
            x[3 * i + c] = previous[3 * i + c] = positions[4 * i + c];
    for (int32_t cluster = 0; cluster < pbd->cluster_count; cluster++) {
        const sup_pbd_cluster *p = &pbd->clusters[cluster];
        r->cluster_first[cluster] = r->count;
        add_volumes(r, p->volume_first, p->volume_end);
        r->cluster_rest[cluster] = r->count;
        add_binds(r, p->particle_first, p->particle_end);
        add_stretches(r, p->stretch_first, p->stretch_end);
    }
    r->cluster_first[pbd->cluster_count] = r->count;
    *reference = r;
    return SUP_OK;
}

void sup_pbd_reference_destroy(sup_pbd_reference *reference)
{
    if (reference == NULL) return;
    sup_arena arena = reference->arena;
    sup_arena_destroy(&arena);
}

double *sup_pbd_reference_positions(sup_pbd_reference *reference)
{
    return reference->x;
}

double *sup_pbd_reference_previous(sup_pbd_reference *reference)
{
    return reference->previous;
}

/* --- The step --- */

static void predict(sup_pbd_reference *r, const sup_pbd_input *input)
{
    double h = (double)input->settings.seconds, two_pi_h = 6.283185307179586 * h;
    double ratio = r->last_seconds > 0.0 ? h / r->last_seconds : 1.0;
    for (int64_t i = 0; i < r->pbd->slot_count; i++) {
        double frequency = input->settings.follow * (double)r->follow[i], base = (double)r->pbd->inverse_mass[i];
        double t = frequency * two_pi_h * frequency * two_pi_h,
               fraction = input->settings.raw ? fmin(frequency, 1.0) : t / (1.0 + t), relative[3], square = 0.0;
        double damping = (r->last_seconds > 0.0 ? (double)input->damping : 0.0) + (double)r->damping[i],
               retain = exp(-damping * h);
        if (!(base > 0.0) || !isfinite(fraction)) fraction = 1.0;
        r->w[i] = input->settings.raw ? base : base * (1.0 - fraction);
        for (int c = 0; c < 3; c++) {
            double guide_motion = (double)input->guide[4 * i + c] - (double)input->guide_previous[4 * i + c];
            relative[c] = ((r->x[3 * i + c] - r->previous[3 * i + c]) * ratio - guide_motion) * retain;
            square += relative[c] * relative[c];
        }
        double cap = sqrt(square) > 0.1 ? 0.1 / sqrt(square) : 1.0;
        for (int c = 0; c < 3; c++) {
            double guide = (double)input->guide[4 * i + c],
                   guide_motion = guide - (double)input->guide_previous[4 * i + c];
            double y = r->x[3 * i + c] + guide_motion + relative[c] * cap + (double)input->gravity[c] * h * h;
            r->previous[3 * i + c] = r->x[3 * i + c];
            r->x[3 * i + c] = y + fraction * (guide - y);
        }
    }
    r->last_seconds = h;
}

/* Evaluates C and its gradients; false when the constraint does not exist. */
static bool evaluate(const sup_pbd_reference *r, const constraint *c, const sup_pbd_input *input, double *value,
                     double gradient[4][3])
{
    double p[4][3];
    for (int k = 0; k < c->arity; k++)
        memcpy(p[k], r->x + 3 * (int64_t)c->slot[k], sizeof p[k]);
    if (c->arity == 4)
        *value = sup_pbd_volume(p, gradient) - c->rest;
    else if (c->arity == 2)
        *value = sup_pbd_length(p, gradient) - c->rest;
    else if (input == NULL)
        return false;
    else {
        const float *bone = input->bone + 4 * (int64_t)c->slot[0];
        if (bone[3] < 0.0f) return false;
        for (int k = 0; k < 3; k++)
            p[1][k] = (double)bone[k];
        *value = sup_pbd_length(p, gradient) - (double)bone[3];
    }
    return true;
}

/* Minimum sum of squared gradients, a tenth of that at rest: limits the correction of flat tets. */
static double min_sum(const sup_pbd_reference *r, const constraint *c)
{
    double sum = 0.0;
    for (int k = 0; k < c->arity; k++)
        sum += 0.1 * r->w[c->slot[k]] * c->area[k];
    return sum;
}

static double modulus_of(const sup_pbd_reference *r, const constraint *c, const sup_pbd_settings *set)
{
    double stiffness = 0.0, modulus = c->arity == 4 ? set->volume : c->arity == 2 ? set->stretch : set->bind;
    for (int k = 0; k < c->arity; k++)
        stiffness += (double)r->stiffness[c->slot[k]] / c->arity;
    return c->arity == 4 && !set->raw ? modulus : modulus * stiffness;
}

static void project(sup_pbd_reference *r, constraint *c, const sup_pbd_input *input)
{
    double g[4][3], value, sum = 0.0, h = (double)input->settings.seconds;
    if (!evaluate(r, c, input, &value, g)) return;
    for (int k = 0; k < c->arity; k++)
        sum += r->w[c->slot[k]] * (g[k][0] * g[k][0] + g[k][1] * g[k][1] + g[k][2] * g[k][2]);
    double modulus = modulus_of(r, c, &input->settings), step;
    sum = fmax(sum, min_sum(r, c));
    if (sum <= 0.0) return;
    if (input->settings.raw)
        step = -fmin(modulus, 1.0) * value / sum;
    else if (modulus > 0.0) {
        double alpha = input->settings.inertia / (h * h) / modulus * c->shape;
        step = -(value + alpha * c->lambda) / (sum + alpha);
    } else
        return;
    c->lambda += step;
    for (int k = 0; k < c->arity; k++)
        for (int i = 0; i < 3; i++)
            r->x[3 * (int64_t)c->slot[k] + i] += r->w[c->slot[k]] * step * g[k][i];
}

static void project_some(sup_pbd_reference *r, int32_t first, int32_t end, const sup_pbd_input *input)
{
    for (int32_t i = first; i < end; i++)
        project(r, &r->constraints[i], input);
}

void sup_pbd_reference_step(sup_pbd_reference *r, const sup_pbd_input *input)
{
    predict(r, input);
    for (int32_t i = 0; i < r->count; i++)
        r->constraints[i].lambda = 0.0;
    for (int32_t iteration = 0; iteration < input->iterations; iteration++)
        for (int32_t cluster = 0; cluster < r->pbd->cluster_count; cluster++) {
            int32_t first = r->cluster_first[cluster], rest = r->cluster_rest[cluster],
                    end = r->cluster_first[cluster + 1];
            if (input->settings.raw)
                project_some(r, first, end, input);
            else { /* volume last */
                project_some(r, rest, end, input);
                project_some(r, first, rest, input);
            }
        }
}

void sup_pbd_reference_residual(const sup_pbd_reference *r, double *volume, double *stretch)
{
    double sum[2] = {0.0, 0.0};
    int64_t count[2] = {0, 0};
    for (int32_t i = 0; i < r->count; i++) {
        const constraint *c = &r->constraints[i];
        double g[4][3], value;
        if (c->arity == 1 || !evaluate(r, c, NULL, &value, g) || !(c->rest > 0.0)) continue;
        sum[c->arity == 2] += value / c->rest * (value / c->rest);
        count[c->arity == 2]++;
    }
    *volume = count[0] > 0 ? sum[0] / (double)count[0] : 0.0;
    *stretch = count[1] > 0 ? sum[1] / (double)count[1] : 0.0;
}

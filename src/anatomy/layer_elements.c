/* layer_elements.c - deformation gradients of polyhedra as a term of the surface fit.
 *
 * Based on: [komaritzan2022] section 2.2.2, eq. 2.18. F = sum_k x_k g_k^T with g_k = (E E^T)^-1 (x_k - mean) of the
 * rest shape; a flat element (a triangle) has the inverse within its plane. */
#include "anatomy/layer_elements.h"

#include "math/polar.h"

#include <math.h>

struct sup_elements {
    sup_context context;
    sup_arena arena;
    int32_t unknowns, count, corners;
    int32_t *points;    /* [count*corners] */
    double *gradients;  /* [count*corners*3] g_k, 1/m */
    double *weights;    /* [count] */
    double *fixed_part; /* [count*9] contribution of the fixed points to F */
    double *pull;       /* [count*9] w (T - fixed_part) */
    int32_t *first;     /* [unknowns+1] corners of elements at each unknown */
    int32_t *corner;    /* [first[unknowns]] element * corners + k */
    sup_csr matrix;
    sup_element_target_fn *target;
    void *user;
    const double *positions; /* of the projection in progress */
    double *right_side;
};

/* Gradients of one element; returns false if its rest shape is degenerate. */
static bool element_gradients(const sup_elements_def *def, int32_t e, double *gradients)
{
    const int32_t *points = def->points + (size_t)e * (size_t)def->corners;
    double mean[3] = {0.0, 0.0, 0.0}, spread[9] = {0.0}, u[9], s[3], v[9];
    for (int32_t k = 0; k < def->corners; k++)
        for (size_t q = 0; q < 3; q++)
            mean[q] += def->rest[3 * (size_t)points[k] + q] / def->corners;
    for (int32_t k = 0; k < def->corners; k++) {
        const double *p = def->rest + 3 * (size_t)points[k];
        for (int i = 0; i < 3; i++)
            for (int j = 0; j < 3; j++)
                spread[3 * i + j] += (p[i] - mean[i]) * (p[j] - mean[j]);
    }
    sup_svd3(spread, u, s, v);
    int rank = def->corners > 3 ? 3 : 2;
    if (!(s[rank - 1] > 1e-8 * s[0]) || !isfinite(s[0])) return false;
    for (int32_t k = 0; k < def->corners; k++) {
        const double *p = def->rest + 3 * (size_t)points[k];
        double *g = gradients + 3 * (size_t)k;
        g[0] = g[1] = g[2] = 0.0;
        for (int r = 0; r < rank; r++) {
            double along = (v[r] * (p[0] - mean[0]) + v[3 + r] * (p[1] - mean[1]) + v[6 + r] * (p[2] - mean[2])) / s[r];
            for (int i = 0; i < 3; i++)
                g[i] += along * v[3 * i + r];
        }
    }
    return true;
}

static sup_result build_matrix(sup_elements *elements, sup_error *error)
{
    size_t pairs = (size_t)elements->corners * (size_t)(elements->corners + 1) / 2;
    size_t size = sup_size_multiply((size_t)elements->count * pairs + 1, sizeof(sup_triplet));
    sup_triplet *triplets = sup_alloc(&elements->context.allocator, size);
    if (triplets == NULL) return sup_fail_memory(error, "the tissue between two layers");
    int64_t count = 0;
    for (int32_t e = 0; e < elements->count; e++) {
        const int32_t *points = elements->points + (size_t)e * (size_t)elements->corners;
        const double *g = elements->gradients + 3 * (size_t)e * (size_t)elements->corners;
        if (elements->weights[e] == 0.0) continue;
        for (int32_t a = 0; a < elements->corners; a++)
            for (int32_t b = 0; b <= a; b++) {
                if (points[a] >= elements->unknowns || points[b] >= elements->unknowns) continue;
                double dot = g[3 * a] * g[3 * b] + g[3 * a + 1] * g[3 * b + 1] + g[3 * a + 2] * g[3 * b + 2];
                triplets[count++] = (sup_triplet){points[a], points[b], elements->weights[e] * dot};
            }
    }
    sup_result result =
        sup_csr_from_triplets(&elements->context, elements->unknowns, triplets, count, &elements->matrix, error);
    sup_free(&elements->context.allocator, triplets, size);
    return result;
}

static void list_corners(sup_elements *elements)
{
    int32_t all = elements->count * elements->corners;
    for (int32_t i = 0; i < all; i++)
        if (elements->points[i] < elements->unknowns) elements->first[elements->points[i] + 1]++;
    for (int32_t v = 0; v < elements->unknowns; v++)
        elements->first[v + 1] += elements->first[v];
    for (int32_t i = 0; i < all; i++)
        if (elements->points[i] < elements->unknowns) elements->corner[elements->first[elements->points[i]]++] = i;
    for (int32_t v = elements->unknowns; v > 0; v--)
        elements->first[v] = elements->first[v - 1];
    elements->first[0] = 0;
}

static bool copy_arrays(sup_elements *made, const sup_elements_def *def)
{
    size_t count = (size_t)def->count, corners = count * (size_t)def->corners;
    made->points = sup_arena_copy(&made->arena, def->points, corners, sizeof(int32_t));
    made->weights = sup_arena_copy(&made->arena, def->weights, count, sizeof(double));
    made->gradients = sup_arena_alloc(&made->arena, 3 * corners, sizeof(double));
    made->fixed_part = sup_arena_alloc(&made->arena, 9 * count, sizeof(double));
    made->pull = sup_arena_alloc(&made->arena, 9 * count, sizeof(double));
    made->first = sup_arena_alloc(&made->arena, (size_t)def->unknown_count + 1, sizeof(int32_t));
    made->corner = sup_arena_alloc(&made->arena, corners, sizeof(int32_t));
    return made->points != NULL && made->weights != NULL && made->gradients != NULL && made->fixed_part != NULL &&
           made->pull != NULL && made->first != NULL && made->corner != NULL;
}

sup_result sup_elements_create(const sup_context *context, const sup_elements_def *def, sup_elements **elements,
                               sup_error *error)
{
    sup_context resolved = sup_context_resolve(context);
    sup_elements *made = sup_alloc_zero(&resolved.allocator, sizeof *made);
    if (made == NULL) return sup_fail_memory(error, "the tissue between two layers");
    made->context = resolved;
    made->arena = sup_arena_create(&resolved.allocator);
    made->unknowns = def->unknown_count;
    made->count = def->count;
    made->corners = def->corners;
    made->target = def->target;
    made->user = def->user;
    sup_result result = SUP_OK;
    if (!copy_arrays(made, def)) result = sup_fail_memory(error, "the tissue between two layers");
    if (result == SUP_OK) {
        for (int32_t e = 0; e < def->count; e++)
            if (!element_gradients(def, e, made->gradients + 3 * (size_t)e * (size_t)def->corners))
                made->weights[e] = 0.0;
        list_corners(made);
        sup_elements_set_fixed(made, def->rest + 3 * (size_t)def->unknown_count);
        result = build_matrix(made, error);
    }
    if (result != SUP_OK)
        sup_elements_destroy(made);
    else
        *elements = made;
    return result;
}

void sup_elements_destroy(sup_elements *elements)
{
    if (elements == NULL) return;
    sup_allocator allocator = elements->context.allocator;
    sup_csr_free(&elements->matrix);
    sup_arena_destroy(&elements->arena);
    sup_free(&allocator, elements, sizeof *elements);
}

/* f += x g^T */
static void add_outer(double f[9], const double *x, const double *g)
{
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++)
            f[3 * i + j] += x[i] * g[j];
}

void sup_elements_set_fixed(sup_elements *elements, const double *fixed_part)
{
    for (int32_t e = 0; e < elements->count; e++) {
        double *f = elements->fixed_part + 9 * (size_t)e;
        memset(f, 0, 9 * sizeof(double));
        for (int32_t k = 0; k < elements->corners; k++) {
            size_t at = (size_t)e * (size_t)elements->corners + (size_t)k;
            int32_t point = elements->points[at] - elements->unknowns;
            if (point >= 0) add_outer(f, fixed_part + 3 * (size_t)point, elements->gradients + 3 * at);
        }
    }
}

/* F of an element (eq. 2.18). */
static void gradient_of(const sup_elements *elements, int32_t e, const double *positions, double f[9])
{
    memcpy(f, elements->fixed_part + 9 * (size_t)e, 9 * sizeof(double));
    for (int32_t k = 0; k < elements->corners; k++) {
        size_t at = (size_t)e * (size_t)elements->corners + (size_t)k;
        int32_t point = elements->points[at];
        if (point < elements->unknowns) add_outer(f, positions + 3 * (size_t)point, elements->gradients + 3 * at);
    }
}

static void pull_range(void *user, int32_t begin, int32_t end, int32_t worker)
{
    sup_elements *elements = user;
    SUP_UNUSED(worker);
    for (int32_t e = begin; e < end; e++) {
        double f[9], target[9], *pull = elements->pull + 9 * (size_t)e;
        const double *fixed_part = elements->fixed_part + 9 * (size_t)e;
        if (elements->weights[e] == 0.0) {
            memset(pull, 0, 9 * sizeof(double));
            continue;
        }
        gradient_of(elements, e, elements->positions, f);
        elements->target(elements->user, e, f, target);
        for (int i = 0; i < 9; i++)
            pull[i] = elements->weights[e] * (target[i] - fixed_part[i]);
    }
}

static void gather_range(void *user, int32_t begin, int32_t end, int32_t worker)
{
    const sup_elements *elements = user;
    SUP_UNUSED(worker);
    for (int32_t v = begin; v < end; v++)
        for (int32_t i = elements->first[v]; i < elements->first[v + 1]; i++) {
            int32_t at = elements->corner[i];
            const double *g = elements->gradients + 3 * (size_t)at;
            const double *p = elements->pull + 9 * (size_t)(at / elements->corners);
            double *to = elements->right_side + 3 * (size_t)v;
            for (int k = 0; k < 3; k++)
                to[k] += p[3 * k] * g[0] + p[3 * k + 1] * g[1] + p[3 * k + 2] * g[2];
        }
}

static void project(void *user, const double *positions, double *right_side)
{
    sup_elements *elements = user;
    elements->positions = positions;
    elements->right_side = right_side;
    sup_parallel(&elements->context, elements->count, 512, pull_range, elements);
    sup_parallel(&elements->context, elements->unknowns, 512, gather_range, elements);
}

sup_fit_term sup_elements_term(sup_elements *elements)
{
    return (sup_fit_term){&elements->matrix, project, elements};
}

double sup_elements_energy(sup_elements *elements, const double *positions)
{
    double sum = 0.0;
    for (int32_t e = 0; e < elements->count; e++) {
        double f[9], target[9];
        if (elements->weights[e] == 0.0) continue;
        gradient_of(elements, e, positions, f);
        elements->target(elements->user, e, f, target);
        for (int i = 0; i < 9; i++)
            sum += elements->weights[e] * (f[i] - target[i]) * (f[i] - target[i]);
    }
    return sum;
}

/* surface_fit.c - local/global minimisation of bending energy (rotated Laplacians) plus targets.
 *
 * Based on: [komaritzan2022] eq. 4.1 to 4.3 and 2.17 (bending), solved in the projective framework of section 2.2.
 * Deviations: cotangent weights are limited to 20 (a corner of 3 degrees) and Voronoi areas to at least a hundredth
 * of the mean, so that slivers do not spoil the system; the global step solves for the change of the positions,
 * which is equivalent but stays accurate when weights differ by nine orders of magnitude. */
#include "anatomy/surface_fit.h"
#include "linalg/cholesky.h"
#include "math/vec3.h"

#include <math.h>

static const double cotangent_limit = 20.0;
static const double area_min_fraction = 0.01; /* fraction of the mean */

enum { FIT_GRAIN = 1024 };

struct sup_surface_fit {
    sup_context context;
    sup_arena arena;
    int32_t size;
    const unsigned char *fixed; /* [size] */
    sup_fit_term *terms;
    int32_t term_count;
    double *area; /* [size] */
    int32_t *first, *neighbour;
    double *weight;     /* weight of an edge of the Laplacian: (K x)_i = sum weight (x_i - x_j) */
    sup_csr stiffening; /* K^T A^-1 K without the rows of fixed vertices; zeros where terms have entries */
    sup_csr system;     /* same pattern */
    sup_cholesky *cholesky;
    double bending;
    double *target_weight; /* [size] times A_i */
    double *rest_length;   /* [size] |K x_rest| */
    double *rest;          /* [3*size] K x_rest, the direction if a vertex has no current one */
    double *local;         /* [3*size] (R_i K x_rest - K x) / A */
    double *change, *term_side, *workspace;
    const double *positions, *targets; /* of the current step */
};

static sup_vec3d at(const double *positions, int32_t vertex)
{
    const double *p = positions + 3 * (size_t)vertex;
    return sup_v3(p[0], p[1], p[2]);
}

/* Cotangent at corner k of a triangle, limited. */
static double corner_cotangent(const double *positions, const int32_t *t, int k)
{
    sup_vec3d a = sup_v3_sub(at(positions, t[(k + 1) % 3]), at(positions, t[k]));
    sup_vec3d b = sup_v3_sub(at(positions, t[(k + 2) % 3]), at(positions, t[k]));
    double dot = sup_v3_dot(a, b), cross = sup_v3_length(sup_v3_cross(a, b));
    if (!(fabs(dot) < cotangent_limit * cross)) return cross > 0.0 || dot != 0.0 ? copysign(cotangent_limit, dot) : 0.0;
    return dot / cross;
}

/* Mixed Voronoi areas: by the circumcentre, or halves and quarters if it lies outside. */
static void add_areas(const double *positions, const int32_t *t, const double cotangent[3], double *area)
{
    sup_vec3d p[3] = {at(positions, t[0]), at(positions, t[1]), at(positions, t[2])};
    double whole = 0.5 * sup_v3_length(sup_v3_cross(sup_v3_sub(p[1], p[0]), sup_v3_sub(p[2], p[0])));
    bool obtuse = cotangent[0] < 0.0 || cotangent[1] < 0.0 || cotangent[2] < 0.0;
    for (int k = 0; k < 3; k++) {
        int l = (k + 1) % 3, m = (k + 2) % 3;
        double to_l = sup_v3_distance(p[k], p[l]), to_m = sup_v3_distance(p[k], p[m]);
        if (obtuse)
            area[t[k]] += whole * (cotangent[k] < 0.0 ? 0.5 : 0.25);
        else
            area[t[k]] += (to_l * to_l * cotangent[m] + to_m * to_m * cotangent[l]) / 8.0;
    }
}

static sup_result measure_surface(sup_surface_fit *f, const sup_shape *s, sup_csr *stiffness, sup_error *error)
{
    size_t bytes = sup_size_multiply(3 * (size_t)s->triangle_count, sizeof(sup_triplet));
    sup_triplet *triplets = sup_alloc(&f->context.allocator, bytes);
    if (triplets == NULL) return sup_fail_memory(error, "a surface to fit");
    int64_t count = 0;
    for (int32_t i = 0; i < s->triangle_count; i++) {
        const int32_t *t = s->triangles + 3 * (size_t)i;
        double cotangent[3];
        for (int k = 0; k < 3; k++) {
            cotangent[k] = corner_cotangent(s->positions, t, k);
            triplets[count++] = (sup_triplet){t[(k + 1) % 3], t[(k + 2) % 3], 0.5 * cotangent[k]};
        }
        add_areas(s->positions, t, cotangent, f->area);
    }
    double mean = 0.0;
    for (int32_t v = 0; v < f->size; v++)
        mean += f->area[v] / f->size;
    for (int32_t v = 0; v < f->size; v++)
        f->area[v] = fmax(f->area[v], area_min_fraction * mean);
    sup_result result = sup_csr_from_triplets(&f->context, f->size, triplets, count, stiffness, error);
    sup_free(&f->context.allocator, triplets, bytes);
    if (result == SUP_OK && !(mean > 0.0)) {
        sup_csr_free(stiffness);
        result = sup_fail(error, SUP_ERROR_DATA, "anatomy.fit.flat", "", "The surface to fit has no area.");
    }
    return result;
}

/* Both directions of every edge, by vertex. */
static sup_result list_neighbours(sup_surface_fit *f, const sup_csr *k, sup_error *error)
{
    int32_t n = f->size, entries = k->first[n] - n;
    f->first = sup_arena_alloc(&f->arena, (size_t)n + 2, sizeof *f->first);
    f->neighbour = sup_arena_alloc(&f->arena, 2 * (size_t)entries + 1, sizeof *f->neighbour);
    f->weight = sup_arena_alloc(&f->arena, 2 * (size_t)entries + 1, sizeof *f->weight);
    if (f->first == NULL || f->neighbour == NULL || f->weight == NULL)
        return sup_fail_memory(error, "a surface to fit");
    for (int32_t i = 0; i < n; i++)
        for (int32_t e = k->first[i]; e < k->first[i + 1] - 1; e++) {
            f->first[i + 2]++;
            f->first[k->column[e] + 2]++;
        }
    for (int32_t i = 0; i < n; i++)
        f->first[i + 2] += f->first[i + 1];
    for (int32_t i = 0; i < n; i++)
        for (int32_t e = k->first[i]; e < k->first[i + 1] - 1; e++) {
            int32_t j = k->column[e], a = f->first[i + 1]++, b = f->first[j + 1]++;
            f->neighbour[a] = j;
            f->neighbour[b] = i;
            f->weight[a] = f->weight[b] = k->value[e];
        }
    return SUP_OK;
}

static bool is_fixed(const sup_surface_fit *f, int32_t vertex)
{
    return f->fixed[vertex] != 0;
}

/* Matrix row i of K, diagonal entry last, in `columns` and `values`. */
static int32_t laplacian_row(const sup_surface_fit *f, int32_t i, int32_t *columns, double *values)
{
    int32_t count = 0;
    double sum = 0.0;
    for (int32_t e = f->first[i]; e < f->first[i + 1]; e++) {
        columns[count] = f->neighbour[e];
        values[count++] = -f->weight[e];
        sum += f->weight[e];
    }
    columns[count] = i;
    values[count++] = sum;
    return count;
}

static sup_result add_row_squares(const sup_surface_fit *f, int32_t i, int32_t *columns, double *values,
                                  sup_array *triplets, sup_error *error)
{
    int32_t count = laplacian_row(f, i, columns, values);
    for (int32_t a = 0; a < count; a++)
        for (int32_t b = 0; b <= a; b++) {
            if (is_fixed(f, columns[a]) || is_fixed(f, columns[b])) continue;
            sup_triplet *t = sup_array_push(&f->context.allocator, triplets, 1);
            if (t == NULL) return sup_fail_memory(error, "a surface to fit");
            *t = (sup_triplet){columns[a], columns[b], values[a] * values[b] / f->area[i]};
        }
    return SUP_OK;
}

static sup_result add_term_pattern(const sup_surface_fit *f, const sup_csr *m, sup_array *triplets, sup_error *error)
{
    for (int32_t i = 0; i < f->size; i++)
        for (int32_t e = m->first[i]; e < m->first[i + 1]; e++) {
            if (is_fixed(f, i) || is_fixed(f, m->column[e])) continue;
            sup_triplet *t = sup_array_push(&f->context.allocator, triplets, 1);
            if (t == NULL) return sup_fail_memory(error, "a surface to fit");
            *t = (sup_triplet){i, m->column[e], 0.0};
        }
    return SUP_OK;
}

/* K^T A^-1 K of the free vertices, on the pattern of the whole system. */
static sup_result build_pattern(sup_surface_fit *f, sup_error *error)
{
    int32_t max_count = 0;
    for (int32_t i = 0; i < f->size; i++)
        max_count = f->first[i + 1] - f->first[i] > max_count ? f->first[i + 1] - f->first[i] : max_count;
    int32_t *columns = sup_arena_alloc(&f->arena, (size_t)max_count + 1, sizeof *columns);
    double *values = sup_arena_alloc(&f->arena, (size_t)max_count + 1, sizeof *values);
    if (columns == NULL || values == NULL) return sup_fail_memory(error, "a surface to fit");
    sup_array triplets = {.item_size = sizeof(sup_triplet)};
    sup_result result = SUP_OK;
    for (int32_t i = 0; i < f->size && result == SUP_OK; i++)
        result = add_row_squares(f, i, columns, values, &triplets, error);
    for (int32_t i = 0; i < f->term_count && result == SUP_OK; i++)
        result = add_term_pattern(f, f->terms[i].matrix, &triplets, error);
    const sup_triplet *list = (const sup_triplet *)(const void *)triplets.data;
    int64_t count = (int64_t)triplets.count;
    if (result == SUP_OK) result = sup_csr_from_triplets(&f->context, f->size, list, count, &f->stiffening, error);
    if (result == SUP_OK) result = sup_csr_from_triplets(&f->context, f->size, list, count, &f->system, error);
    sup_array_free(&f->context.allocator, &triplets);
    return result;
}

static sup_result allocate_state(sup_surface_fit *f, sup_error *error)
{
    size_t n = (size_t)f->size;
    double **arrays[7] = {&f->target_weight, &f->rest_length, &f->rest,     &f->local,
                          &f->change,        &f->term_side,   &f->workspace};
    size_t counts[7] = {n, n, 3 * n, 3 * n, 3 * n, 3 * n, (size_t)sup_cholesky_workspace(f->cholesky, 3)};
    for (int32_t i = 0; i < 7; i++) {
        *arrays[i] = sup_arena_alloc(&f->arena, counts[i] + 1, sizeof(double));
        if (*arrays[i] == NULL) return sup_fail_memory(error, "a surface to fit");
    }
    return SUP_OK;
}

static sup_result check_def(const sup_surface_fit_def *def, sup_error *error)
{
    const sup_shape *s = &def->surface;
    if (s->vertex_count < 3 || s->triangle_count < 1 || s->positions == NULL || s->triangles == NULL)
        return sup_fail(error, SUP_ERROR_DATA, "anatomy.fit.empty", "", "The surface to fit has no triangles.");
    for (int64_t i = 0; i < 3 * (int64_t)s->vertex_count; i++)
        if (!isfinite(s->positions[i]))
            return sup_fail(error, SUP_ERROR_DATA, "anatomy.fit.finite", "",
                            "Vertex %d has no finite position: repair the mesh.", (int)(i / 3));
    for (int32_t i = 0; i < s->triangle_count; i++) {
        const int32_t *t = s->triangles + 3 * (size_t)i;
        for (int k = 0; k < 3; k++)
            if (t[k] < 0 || t[k] >= s->vertex_count || t[k] == t[(k + 1) % 3])
                return sup_fail(error, SUP_ERROR_DATA, "anatomy.fit.triangle", "",
                                "Triangle %d does not have three different, existing vertices: repair the mesh.",
                                (int)i);
    }
    for (int32_t i = 0; i < def->term_count; i++)
        if (def->terms[i].matrix == NULL || def->terms[i].matrix->size != s->vertex_count ||
            def->terms[i].project == NULL || !sup_csr_well_formed(def->terms[i].matrix))
            return sup_fail(error, SUP_ERROR_ARGUMENT, "anatomy.fit.term", "",
                            "Term %d needs a well-formed matrix with one row per vertex, and a projection.", (int)i);
    return SUP_OK;
}

static sup_result build(sup_surface_fit *f, const sup_surface_fit_def *def, sup_error *error)
{
    size_t n = (size_t)f->size;
    unsigned char *fixed = sup_arena_alloc(&f->arena, n + 1, 1);
    f->area = sup_arena_alloc(&f->arena, n + 1, sizeof *f->area);
    f->terms = sup_arena_alloc(&f->arena, (size_t)f->term_count + 1, sizeof *f->terms);
    if (fixed == NULL || f->area == NULL || f->terms == NULL) return sup_fail_memory(error, "a surface to fit");
    if (def->fixed != NULL) memcpy(fixed, def->fixed, n);
    if (f->term_count > 0) memcpy(f->terms, def->terms, (size_t)f->term_count * sizeof *f->terms);
    f->fixed = fixed;
    sup_csr stiffness = {0};
    sup_result result = measure_surface(f, &def->surface, &stiffness, error);
    if (result == SUP_OK) {
        result = list_neighbours(f, &stiffness, error);
        sup_csr_free(&stiffness);
    }
    if (result == SUP_OK) result = build_pattern(f, error);
    if (result == SUP_OK) result = sup_cholesky_analyse(&f->context, &f->system, NULL, &f->cholesky, error);
    if (result == SUP_OK) result = allocate_state(f, error);
    if (result == SUP_OK) sup_surface_fit_set_rest(f, def->surface.positions);
    return result;
}

sup_result sup_surface_fit_create(const sup_context *context, const sup_surface_fit_def *def, sup_surface_fit **fit,
                                  sup_error *error)
{
    sup_result result = check_def(def, error);
    if (result != SUP_OK) return result;
    sup_context resolved = sup_context_resolve(context);
    sup_surface_fit *f = sup_alloc_zero(&resolved.allocator, sizeof *f);
    if (f == NULL) return sup_fail_memory(error, "a surface to fit");
    f->context = resolved;
    f->arena = sup_arena_create(&resolved.allocator);
    f->size = def->surface.vertex_count;
    f->term_count = def->term_count;
    result = build(f, def, error);
    if (result == SUP_OK)
        *fit = f;
    else
        sup_surface_fit_destroy(f);
    return result;
}

void sup_surface_fit_destroy(sup_surface_fit *f)
{
    if (f == NULL) return;
    sup_allocator allocator = f->context.allocator;
    sup_cholesky_destroy(f->cholesky);
    sup_csr_free(&f->stiffening);
    sup_csr_free(&f->system);
    sup_arena_destroy(&f->arena);
    sup_free(&allocator, f, sizeof *f);
}

const double *sup_surface_fit_areas(const sup_surface_fit *f)
{
    return f->area;
}

/* (K x)_i, which is -A_i times the Laplacian. */
static sup_vec3d bend(const sup_surface_fit *f, const double *positions, int32_t i)
{
    sup_vec3d own = at(positions, i), sum = {0.0, 0.0, 0.0};
    for (int32_t e = f->first[i]; e < f->first[i + 1]; e++)
        sum = sup_v3_madd(sum, f->weight[e], sup_v3_sub(own, at(positions, f->neighbour[e])));
    return sum;
}

static void put(double *to, int32_t i, sup_vec3d v)
{
    to[3 * (size_t)i] = v.x;
    to[3 * (size_t)i + 1] = v.y;
    to[3 * (size_t)i + 2] = v.z;
}

void sup_surface_fit_set_rest(sup_surface_fit *f, const double *rest)
{
    for (int32_t i = 0; i < f->size; i++) {
        sup_vec3d v = bend(f, rest, i);
        put(f->rest, i, v);
        f->rest_length[i] = sup_v3_length(v);
    }
}

/* system += matrix, whose pattern is contained in the system's, except at fixed vertices. */
static void add_matrix(const sup_surface_fit *f, sup_csr *system, const sup_csr *m)
{
    for (int32_t i = 0; i < f->size; i++) {
        if (is_fixed(f, i)) continue;
        int32_t to = system->first[i];
        for (int32_t e = m->first[i]; e < m->first[i + 1]; e++) {
            if (is_fixed(f, m->column[e])) continue;
            while (system->column[to] < m->column[e])
                to++;
            system->value[to] += m->value[e];
        }
    }
}

sup_result sup_surface_fit_set_weights(sup_surface_fit *f, double bending, const double *target_weight,
                                       sup_error *error)
{
    if (!(bending >= 0.0) || !isfinite(bending))
        return sup_fail(error, SUP_ERROR_ARGUMENT, "anatomy.fit.weight", "",
                        "Weights must be finite numbers of at least 0.");
    f->bending = bending;
    int32_t entries = f->system.first[f->size];
    for (int32_t e = 0; e < entries; e++)
        f->system.value[e] = bending * f->stiffening.value[e];
    for (int32_t i = 0; i < f->size; i++) {
        double w = target_weight != NULL ? target_weight[i] : 0.0;
        if (!(w >= 0.0) || !isfinite(w))
            return sup_fail(error, SUP_ERROR_ARGUMENT, "anatomy.fit.weight", "",
                            "Weights must be finite numbers of at least 0.");
        f->target_weight[i] = w * f->area[i];
        double *diagonal = &f->system.value[f->system.first[i + 1] - 1];
        *diagonal = is_fixed(f, i) ? 1.0 : *diagonal + f->target_weight[i];
    }
    for (int32_t i = 0; i < f->term_count; i++)
        add_matrix(f, &f->system, f->terms[i].matrix);
    sup_error why = {0};
    sup_result result = sup_cholesky_factorise(f->cholesky, &f->system, &why);
    if (result == SUP_ERROR_NUMERIC)
        return sup_fail(error, SUP_ERROR_DATA, "anatomy.fit.free", why.where,
                        "Parts of the surface are not constrained: give targets, fixed vertices or larger weights.");
    if (result != SUP_OK && error != NULL) *error = why;
    return result;
}

/* Local step: rotated rest Laplacians minus current ones, divided by the area. */
static void local_step_range(void *work, int32_t begin, int32_t end, int32_t worker)
{
    SUP_UNUSED(worker);
    sup_surface_fit *f = work;
    for (int32_t i = begin; i < end; i++) {
        sup_vec3d now = bend(f, f->positions, i), rotated = at(f->rest, i);
        double length = sup_v3_length(now);
        if (length > 0.0) rotated = sup_v3_scale(now, f->rest_length[i] / length); /* R_i of eq. 4.2 */
        put(f->local, i, sup_v3_scale(sup_v3_sub(rotated, now), f->bending / f->area[i]));
    }
}

/* Minus half the gradient of the energy, with fixed rotations and projections. */
static void gradient_range(void *work, int32_t begin, int32_t end, int32_t worker)
{
    SUP_UNUSED(worker);
    sup_surface_fit *f = work;
    for (int32_t i = begin; i < end; i++) {
        sup_vec3d sum = {0.0, 0.0, 0.0};
        if (!is_fixed(f, i)) {
            sum = sup_v3_add(bend(f, f->local, i), at(f->term_side, i));
            if (f->target_weight[i] > 0.0)
                sum = sup_v3_madd(sum, f->target_weight[i], sup_v3_sub(at(f->targets, i), at(f->positions, i)));
        }
        put(f->change, i, sum);
    }
}

static void apply_terms(sup_surface_fit *f, const double *positions)
{
    memset(f->term_side, 0, 3 * (size_t)f->size * sizeof(double));
    for (int32_t k = 0; k < f->term_count; k++) {
        sup_csr_multiply(f->terms[k].matrix, 3, positions, f->change);
        for (int64_t i = 0; i < 3 * (int64_t)f->size; i++)
            f->term_side[i] -= f->change[i];
    }
    for (int32_t k = 0; k < f->term_count; k++)
        f->terms[k].project(f->terms[k].user, positions, f->term_side);
}

sup_result sup_surface_fit_solve(sup_surface_fit *f, const double *targets, double tolerance, int32_t max_count,
                                 double *positions, int32_t *used, sup_error *error)
{
    if (!f->cholesky->factorised)
        return sup_fail(error, SUP_ERROR_ARGUMENT, "anatomy.fit.weight", "",
                        "Call sup_surface_fit_set_weights before solving.");
    int32_t done = 0;
    double moved = INFINITY;
    f->positions = positions;
    f->targets = targets;
    while (done < max_count && moved > tolerance) {
        apply_terms(f, positions);
        sup_parallel(&f->context, f->size, FIT_GRAIN, local_step_range, f);
        sup_parallel(&f->context, f->size, FIT_GRAIN, gradient_range, f);
        sup_cholesky_solve(f->cholesky, 3, f->change, f->change, f->workspace);
        moved = 0.0;
        for (int32_t i = 0; i < f->size; i++) {
            sup_vec3d change = at(f->change, i);
            moved = fmax(moved, sup_v3_length(change));
            put(positions, i, sup_v3_add(at(positions, i), change));
        }
        done++;
    }
    if (used != NULL) *used = done;
    if (!isfinite(moved) && max_count > 0)
        return sup_fail(error, SUP_ERROR_NUMERIC, "anatomy.fit.diverged", "",
                        "The surface fit diverged: check that the targets are finite.");
    return SUP_OK;
}

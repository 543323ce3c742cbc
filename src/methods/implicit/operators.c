/* operators.c - operators as solutions of the bi-Laplace equation, slice by slice.
 *
 * Based on: [vaillant2014iso] section 4.2, equations (1) and (2). Deviations:
 * - The lattice is rotated by 45 degrees (operators.h): bilinear lookups on a grid along f1 and f2 exceed 0.5 between
 *   the nodes of the contact surface by 8e-4 (65 nodes); here the contact surface is a line of nodes, and lookups stay
 *   within 5e-5 of 0.5 (0.01 in the last four cells before its end).
 * - The contact surface ends at 0.5 + 0.5 d (1 - e) rather than 0.5 + d / sqrt(2), which leaves the square for d >
 *   0.707 and coincides with g = 1 in the corner; e is four nodes of the lattice.
 * - Where a profile does not pass through nodes, the paper sets the corners of the cells around it to their signed
 *   distance from it. Here the function is 0.5 where the profile crosses an edge between two nodes: its slope is not
 *   constrained, so slices with and without bulge are continuous.
 * - The clean union (d = 0) has a crease on the diagonal around 0.5, where it is max(f1, f2). A smooth union has no
 *   slope at (0.5, 0.5), since it is constant along both f1 = 0.5 and f2 = 0.5 there; and that is the skin at every
 *   joint, where both fields are 0.5. See docs/methods/implicit.md for the effect.
 * - The paper does not give the second condition on the sides f = 1: here it is the natural one of the energy. */
#include "methods/implicit/operators.h"

#include "linalg/cholesky.h"
#include "linalg/order.h"

#include <math.h>

enum { CELLS = SUP_OPERATOR_CELLS };
/* Extent of the crease of the union in |f1 + f2 - 1|: full up to the first value, none from the second on. */
static const double crease_whole = 0.15, crease_end = 0.45;
static const double crossing_weight = 1e4; /* weight of a condition between two nodes; the stencil's diagonal is 20 */

/* Shared by all slices: the matrix of the energy without conditions, and an elimination order. */
typedef struct lattice {
    sup_context context;
    int32_t *index; /* [SUP_LATTICE_SIZE] unknown of a node, -1 outside of the square */
    int32_t count;
    sup_csr energy;
    int32_t *order; /* [count] */
} lattice;

typedef struct slice {
    double *value, *rhs;  /* [count] */
    unsigned char *fixed; /* [count] */
    double *entries;      /* [energy.first[count]] */
    sup_csr matrix;       /* the pattern of the lattice with its own entries */
} slice;

/* Reflects a node into the half of the square above the diagonal and the axis, where g is even. */
static void fold(int32_t *a, int32_t *b)
{
    while (*b < 0 || *a < *b) {
        int32_t keep = *a;
        if (*b < 0)
            *b = -*b;
        else {
            *a = *b;
            *b = keep;
        }
    }
}

static int32_t folded(const lattice *l, int32_t a, int32_t b)
{
    fold(&a, &b);
    return l->index[a * SUP_LATTICE_COLUMNS + b];
}

/* The squared Laplacian of one node, for all nodes that its stencil touches; 15 pairs. */
static int32_t add_laplacian(const lattice *l, int32_t a, int32_t b, sup_triplet *to)
{
    const int32_t node[5] = {l->index[a * SUP_LATTICE_COLUMNS + b], folded(l, a + 1, b), folded(l, a - 1, b),
                             folded(l, a, b + 1), folded(l, a, b - 1)};
    const double weight[5] = {-4.0, 1.0, 1.0, 1.0, 1.0};
    /* Weight from the number of mirror images: 8 nodes in general, 4 on a mirror axis, 1 in the corner. */
    double area = a == 0 ? 0.125 : (b == 0 || a == b ? 0.5 : 1.0);
    int32_t count = 0;
    for (int32_t i = 0; i < 5; i++)
        for (int32_t j = 0; j <= i; j++) {
            /* A pair of identical nodes appears as (i, j) only, but counts for (j, i) too. */
            double twice = i != j && node[i] == node[j] ? 2.0 : 1.0;
            to[count++] = (sup_triplet){node[i], node[j], area * twice * weight[i] * weight[j]};
        }
    return count;
}

static void lattice_close(lattice *l)
{
    const sup_allocator *memory = &l->context.allocator;
    sup_free(memory, l->index, SUP_LATTICE_SIZE * sizeof *l->index);
    sup_free(memory, l->order, (size_t)l->count * sizeof *l->order);
    sup_csr_free(&l->energy);
}

static sup_result lattice_open(const sup_context *context, lattice *l, sup_error *error)
{
    *l = (lattice){.context = *context};
    const sup_allocator *memory = &l->context.allocator;
    l->index = sup_alloc(memory, SUP_LATTICE_SIZE * sizeof *l->index);
    if (l->index == NULL) return sup_fail_memory(error, "an operator");
    for (int32_t i = 0; i < SUP_LATTICE_SIZE; i++)
        l->index[i] = sup_lattice_inside(i / SUP_LATTICE_COLUMNS, i % SUP_LATTICE_COLUMNS) ? l->count++ : -1;
    size_t size = (size_t)l->count * 15 * sizeof(sup_triplet);
    sup_triplet *triplets = sup_alloc(memory, size);
    l->order = sup_alloc(memory, (size_t)l->count * sizeof *l->order);
    sup_result result = triplets == NULL || l->order == NULL ? sup_fail_memory(error, "an operator") : SUP_OK;
    int32_t count = 0;
    for (int32_t b = 0; b < CELLS && result == SUP_OK; b++) /* natural on f1 = 1: no Laplacian there */
        for (int32_t a = b; a + b < 2 * CELLS; a++)
            count += add_laplacian(l, a, b, triplets + count);
    if (result == SUP_OK) result = sup_csr_from_triplets(context, l->count, triplets, count, &l->energy, error);
    if (result == SUP_OK) result = sup_order_minimum_degree(context, &l->energy, l->order, error);
    sup_free(memory, triplets, size);
    if (result != SUP_OK) lattice_close(l);
    return result;
}

static void slice_close(const lattice *l, slice *s)
{
    const sup_allocator *memory = &l->context.allocator;
    sup_free(memory, s->value, (size_t)l->count * 2 * sizeof *s->value);
    sup_free(memory, s->fixed, (size_t)l->count);
    sup_free(memory, s->entries, (size_t)l->energy.first[l->count] * sizeof *s->entries);
}

static bool slice_open(const lattice *l, slice *s)
{
    const sup_allocator *memory = &l->context.allocator;
    size_t entries = (size_t)l->energy.first[l->count] * sizeof *s->entries;
    s->value = sup_alloc_zero(memory, (size_t)l->count * 2 * sizeof *s->value);
    s->fixed = sup_alloc_zero(memory, (size_t)l->count);
    s->entries = sup_alloc(memory, entries);
    if (s->value == NULL || s->fixed == NULL || s->entries == NULL) {
        slice_close(l, s);
        return false;
    }
    s->rhs = s->value + l->count;
    memcpy(s->entries, l->energy.value, entries);
    s->matrix = l->energy;
    s->matrix.value = s->entries;
    return true;
}

static void fix(const lattice *l, slice *s, int32_t a, int32_t b, double value)
{
    int32_t node = l->index[a * SUP_LATTICE_COLUMNS + b];
    s->fixed[node] = 1;
    s->value[node] = value;
}

static void add_entry(slice *s, int32_t row, int32_t column, double value)
{
    for (int32_t e = s->matrix.first[row]; e < s->matrix.first[row + 1]; e++)
        if (s->matrix.column[e] == column) s->entries[e] += value;
}

/* Constrains g = 0.5 at fraction t between a node and its neighbour, eq. (2). */
static void cross_edge(const lattice *l, slice *s, const int32_t from[2], const int32_t to[2], double t)
{
    const double close = 1e-6;
    if (t <= close || t >= 1.0 - close) {
        const int32_t *node = t <= close ? from : to;
        if (sup_lattice_inside(node[0], node[1])) fix(l, s, node[0], node[1], 0.5);
        return;
    }
    if (!sup_lattice_inside(from[0], from[1]) || !sup_lattice_inside(to[0], to[1])) return;
    int32_t i = l->index[from[0] * SUP_LATTICE_COLUMNS + from[1]], j = l->index[to[0] * SUP_LATTICE_COLUMNS + to[1]];
    add_entry(s, i, i, crossing_weight * (1.0 - t) * (1.0 - t));
    add_entry(s, j, j, crossing_weight * t * t);
    add_entry(s, i > j ? i : j, i > j ? j : i, crossing_weight * t * (1.0 - t));
    s->rhs[i] += crossing_weight * (1.0 - t) * 0.5;
    s->rhs[j] += crossing_weight * t * 0.5;
    s->fixed[i] |= 2;
    s->fixed[j] |= 2;
}

/* All lattice lines along one axis that a profile segment crosses. */
static void cross_lines(const lattice *l, slice *s, const double from[2], const double to[2], int32_t axis)
{
    double low = fmin(from[axis], to[axis]), high = fmax(from[axis], to[axis]);
    if (!(high > low)) return;
    for (double line = ceil(low - 1e-9); line <= high + 1e-9; line += 1.0) {
        double t = (line - from[axis]) / (to[axis] - from[axis]);
        double coordinate = from[1 - axis] + fmin(fmax(t, 0.0), 1.0) * (to[1 - axis] - from[1 - axis]),
               cell = floor(coordinate);
        int32_t node[2], next[2];
        node[axis] = next[axis] = (int32_t)line;
        node[1 - axis] = (int32_t)cell;
        next[1 - axis] = (int32_t)cell + 1;
        cross_edge(l, s, node, next, coordinate - cell);
    }
}

/* Equations (1) and (2) of one slice. */
static void add_conditions(const lattice *l, slice *s, const sup_profile *profile, double d)
{
    double last[2] = {0.0, 0.0};
    for (int32_t k = 0; k < SUP_PROFILE_POINTS; k++) {
        double along = 0.5 * k / (SUP_PROFILE_POINTS - 1); /* along the straight line from (0.5, 0) to (0.5, 0.5) */
        double f1 = 0.5 + d * (profile->points[k][0] - 0.5), f2 = along + d * (profile->points[k][1] - along);
        double next[2] = {(f1 + f2) * CELLS, (f1 - f2) * CELLS};
        for (int32_t axis = 0; axis < 2 && k > 0; axis++)
            cross_lines(l, s, last, next, axis);
        memcpy(last, next, sizeof last);
    }
    double end = floor((1.0 + d * (2.0 * profile->contact - 1.0)) * CELLS + 0.5);
    for (int32_t a = (int32_t)ceil(last[0] - 1e-9); a <= (int32_t)end; a++)
        fix(l, s, a, 0, 0.5);
    for (int32_t b = 0; b <= CELLS; b++) {
        fix(l, s, b, b, (double)b / CELLS); /* g(f1, 0) = f1 */
        fix(l, s, 2 * CELLS - b, b, 1.0);   /* g(1, f2) = 1 */
    }
}

/* Moves known values to the right-hand side; known nodes keep an identity row, so the pattern stays the same. */
static void eliminate(slice *s)
{
    for (int32_t i = 0; i < s->matrix.size; i++) {
        bool known = (s->fixed[i] & 1) != 0;
        for (int32_t e = s->matrix.first[i]; e < s->matrix.first[i + 1]; e++) {
            int32_t j = s->matrix.column[e];
            bool other = (s->fixed[j] & 1) != 0;
            if (!known && !other) continue;
            if (i == j) {
                s->entries[e] = 1.0;
                continue;
            }
            if (!known) s->rhs[i] -= s->entries[e] * s->value[j];
            if (!other) s->rhs[j] -= s->entries[e] * s->value[i];
            s->entries[e] = 0.0;
        }
    }
    for (int32_t i = 0; i < s->matrix.size; i++)
        if ((s->fixed[i] & 1) != 0) s->rhs[i] = s->value[i];
}

static sup_result solve_slice(const lattice *l, const sup_profile *profile, double d, double *values,
                              unsigned char *fixed, sup_error *error)
{
    slice s = {0};
    if (!slice_open(l, &s)) return sup_fail_memory(error, "a slice of an operator");
    add_conditions(l, &s, profile, d);
    eliminate(&s);
    sup_cholesky *cholesky = NULL;
    const sup_cholesky_options options = {.order = l->order};
    sup_result result = sup_cholesky_analyse(&l->context, &s.matrix, &options, &cholesky, error);
    if (result == SUP_OK) result = sup_cholesky_factorise(cholesky, &s.matrix, error);
    size_t size = result == SUP_OK ? (size_t)sup_cholesky_workspace(cholesky, 1) * sizeof(double) : 0;
    double *workspace = sup_alloc(&l->context.allocator, size);
    if (result == SUP_OK && workspace == NULL) result = sup_fail_memory(error, "a slice of an operator");
    if (result == SUP_OK) sup_cholesky_solve(cholesky, 1, s.rhs, s.rhs, workspace);
    for (int32_t i = 0; i < SUP_LATTICE_SIZE && result == SUP_OK; i++) {
        values[i] = l->index[i] >= 0 ? s.rhs[l->index[i]] : 0.0;
        if (fixed != NULL) fixed[i] = l->index[i] >= 0 ? s.fixed[l->index[i]] : 1;
    }
    sup_free(&l->context.allocator, workspace, size);
    sup_cholesky_destroy(cholesky);
    slice_close(l, &s);
    return result;
}

sup_result sup_operator_solve(const sup_context *context_in, const sup_profile *profile, double d, double *values,
                              unsigned char *fixed, sup_error *error)
{
    sup_context context = sup_context_resolve(context_in);
    lattice l;
    sup_result result = lattice_open(&context, &l, error);
    if (result != SUP_OK) return result;
    result = solve_slice(&l, profile, d, values, fixed, error);
    lattice_close(&l);
    return result;
}

/* Crease weight of row a on the diagonal where d = 0: 1 around f1 = f2 = 0.5. */
static double crease_at(int32_t a)
{
    double away = fabs((double)a / CELLS - 1.0);
    double t = fmin(fmax((crease_end - away) / (crease_end - crease_whole), 0.0), 1.0);
    return t * t * (3.0 - 2.0 * t);
}

/* Blends from the smooth union to max(f1, f2) by the crease weight of each row. */
static void crease_union(double *values)
{
    for (int32_t a = 0; a < SUP_LATTICE_ROWS; a++)
        for (int32_t b = 0; b < SUP_LATTICE_COLUMNS; b++)
            if (sup_lattice_inside(a, b)) {
                double *value = values + a * SUP_LATTICE_COLUMNS + b;
                *value += crease_at(a) * (0.5 * (a + b) / CELLS - *value);
            }
}

/* A slice continued beyond its sides: even across the diagonal, or linear where there is a crease; even across the
 * axis; odd about g = 1 across the far side. */
static double beyond(const double *values, bool creased, int32_t a, int32_t b)
{
    double sign = 1.0, shift = 0.0, crease = creased && b < 0 && a >= 0 && a < SUP_LATTICE_ROWS ? crease_at(a) : 0.0;
    if (crease > 0.0) {
        const double *row = values + a * SUP_LATTICE_COLUMNS;
        return row[-b] + 2.0 * crease * (row[0] - row[-b]);
    }
    fold(&a, &b);
    while (a + b > 2 * CELLS) {
        int32_t keep = a;
        a = 2 * CELLS - b;
        b = 2 * CELLS - keep;
        shift += 2.0 * sign;
        sign = -sign;
        fold(&a, &b);
    }
    return shift + sign * values[a * SUP_LATTICE_COLUMNS + b];
}

/* Coefficients of quadratic B-splines from values: (1 - d2/8) along both axes, local and exact for cubics at the
 * nodes. */
static void write_coefficients(const double *values, bool creased, float *table)
{
    static const double filter[3] = {-0.125, 1.25, -0.125};
    for (int32_t row = 0; row < SUP_OPERATOR_ROWS; row++)
        for (int32_t column = 0; column < SUP_OPERATOR_COLUMNS; column++) {
            int32_t a = row - 1, b = column - 1;
            double sum = 0.0;
            /* Cells that no lookup reaches keep a finite value. */
            if (b <= CELLS + 1 && b <= a + 3 && a + b <= 2 * CELLS + 3)
                for (int32_t i = 0; i < 3; i++)
                    for (int32_t j = 0; j < 3; j++)
                        sum += filter[i] * filter[j] * beyond(values, creased, a + i - 1, b + j - 1);
            table[row * SUP_OPERATOR_COLUMNS + column] = (float)sum;
        }
}

typedef struct build {
    const lattice *lattice;
    const sup_profile *profiles;
    float *tables;
    double *values; /* [slice_count*SUP_LATTICE_SIZE] */
    sup_result *results;
    sup_error *errors;
} build;

static void build_slices(void *work, int32_t begin, int32_t end, int32_t worker)
{
    SUP_UNUSED(worker);
    build *b = work;
    for (int32_t i = begin; i < end; i++) {
        double d = (double)(i % SUP_OPERATOR_SLICES) / (SUP_OPERATOR_SLICES - 1);
        double *values = b->values + (size_t)i * SUP_LATTICE_SIZE;
        b->results[i] = solve_slice(b->lattice, &b->profiles[i / SUP_OPERATOR_SLICES], d, values, NULL, &b->errors[i]);
        if (b->results[i] != SUP_OK) continue;
        bool is_union = i % SUP_OPERATOR_SLICES == 0;
        if (is_union) crease_union(values);
        write_coefficients(values, is_union, b->tables + (size_t)i * SUP_OPERATOR_SLICE);
    }
}

sup_result sup_operators_build(const sup_context *context_in, const sup_profile *profiles, int32_t count, float *tables,
                               sup_error *error)
{
    sup_context context = sup_context_resolve(context_in);
    sup_arena arena = sup_arena_create(&context.allocator);
    size_t slices = (size_t)count * SUP_OPERATOR_SLICES;
    build work = {.profiles = profiles,
                  .tables = tables,
                  .values = sup_arena_alloc(&arena, slices * SUP_LATTICE_SIZE, sizeof(double)),
                  .results = sup_arena_alloc(&arena, slices, sizeof(sup_result)),
                  .errors = sup_arena_alloc(&arena, slices, sizeof(sup_error))};
    lattice l;
    sup_result result = SUP_OK;
    if (work.values == NULL || work.results == NULL || work.errors == NULL)
        result = sup_fail_memory(error, "the operators");
    else
        result = lattice_open(&context, &l, error);
    if (result == SUP_OK) {
        work.lattice = &l;
        sup_parallel(&context, (int32_t)slices, 1, build_slices, &work);
        for (size_t i = 0; i < slices && result == SUP_OK; i++) {
            result = work.results[i];
            if (result != SUP_OK && error != NULL) *error = work.errors[i];
        }
        lattice_close(&l);
    }
    sup_arena_destroy(&arena);
    return result;
}

static void spline(double x, double value[3], double slope[3])
{
    value[0] = 0.5 * (0.5 - x) * (0.5 - x);
    value[1] = 0.75 - x * x;
    value[2] = 0.5 * (0.5 + x) * (0.5 + x);
    slope[0] = x - 0.5;
    slope[1] = -2.0 * x;
    slope[2] = x + 0.5;
}

void sup_operator_at(const float *table, double f1, double f2, double d, double out[3])
{
    f1 = fmin(fmax(f1, 0.0), 1.0);
    f2 = fmin(fmax(f2, 0.0), 1.0);
    d = fmin(fmax(d, 0.0), 1.0) * (SUP_OPERATOR_SLICES - 1);
    double u = (f1 + f2) * CELLS, w = fabs(f1 - f2) * CELLS, row = floor(u + 0.5), column = floor(w + 0.5);
    double lower = fmin(floor(d), SUP_OPERATOR_SLICES - 2), along[3], across[3], along_slope[3], across_slope[3];
    double value = 0.0, by_u = 0.0, by_w = 0.0;
    spline(u - row, along, along_slope);
    spline(w - column, across, across_slope);
    for (int32_t k = 0; k < 18; k++) {
        int32_t i = k % 9 / 3, j = k % 3, layer = (int32_t)lower + k / 9;
        double weight = k < 9 ? 1.0 - (d - lower) : d - lower;
        double c =
            weight *
            (double)table[layer * SUP_OPERATOR_SLICE + ((int32_t)row + i) * SUP_OPERATOR_COLUMNS + (int32_t)column + j];
        value += along[i] * across[j] * c;
        by_u += along_slope[i] * across[j] * c;
        by_w += along[i] * across_slope[j] * c;
    }
    double sign = f1 > f2 ? 1.0 : (f1 < f2 ? -1.0 : 0.0);
    out[0] = value;
    out[1] = CELLS * (by_u + sign * by_w);
    out[2] = CELLS * (by_u - sign * by_w);
}

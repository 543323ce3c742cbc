/* fit_muscle.c - average, smallest and largest muscle surface of a person.
 *
 * Based on: [komaritzan2022] eq. 4.10, 4.11, 4.2 and 4.3 and the growth by muscle group of section 4.2.4.
 * Not specified in the thesis: a group grows by at most 0.8 and shrinks by at most 0.75 of its thickness; it stops
 * when half of its thick vertices (at least half as thick as the thickest) touch the skin or the bone; each
 * vertex also stops there individually. The smallest and largest surfaces are smoothed with w_reg = 1e-7, the last
 * weight of eq. 4.1. The bending weight is quartered per stage, not halved: same lines, half the factorisations. */
#include "anatomy/fit_muscle.h"

#include "anatomy/surface_fit.h"

#include <stdlib.h>

static const double first_bending = 0.01, bending_factor = 0.25, line_weight = 1.0;
static const double line_distance = 0.0002;              /* metres: distance from the lines at convergence */
static const double end_distance = 0.001;                /* metres: distance kept from bone and skin */
static const double max_growth = 0.8, max_shrink = 0.75; /* fractions of the thickness */
static const double thick_fraction = 0.5, tightest = 0.5;
static const double end_bending = 1e-7;
enum { MAX_STAGES = 16, STAGE_ITERATIONS = 12 };

typedef struct line_term {
    const sup_anatomy *anatomy;
    const double *skin, *bone;
    const double *minimum, *maximum; /* [vertex_count] fractions of the line */
} line_term;

static double line_fraction(const line_term *term, int32_t v, sup_vec3d p)
{
    double t = sup_v3_segment_parameter(p, sup_point(term->bone, v), sup_point(term->skin, v));
    return fmax(term->minimum[v], fmin(term->maximum[v], t));
}

static sup_vec3d line_point(const line_term *term, int32_t v, double fraction)
{
    return sup_v3_lerp(sup_point(term->bone, v), sup_point(term->skin, v), fraction);
}

/* A^T b of eq. 4.11: pi_L of every vertex. */
static void project_lines(void *user, const double *positions, double *right_side)
{
    const line_term *term = user;
    for (int32_t v = 0; v < term->anatomy->vertex_count; v++) {
        sup_vec3d target = line_point(term, v, line_fraction(term, v, sup_point(positions, v)));
        sup_point_set(right_side, v, sup_v3_madd(sup_point(right_side, v), 0.5 * line_weight, target));
    }
}

void sup_muscle_range(const sup_anatomy *anatomy, const double *skin, const double *bone, double *minimum,
                      double *maximum)
{
    for (int32_t v = 0; v < anatomy->vertex_count; v++) {
        double length = sup_v3_distance(sup_point(skin, v), sup_point(bone, v));
        double end = length > 0.0 ? fmin(end_distance / length, 0.4) : 0.4;
        minimum[v] = end;
        maximum[v] = 1.0 - end;
    }
}

void sup_muscle_positions(const sup_anatomy *anatomy, const double *skin, const double *bone, const double *fraction,
                          double *muscle)
{
    for (int32_t v = 0; v < anatomy->vertex_count; v++)
        sup_point_set(muscle, v, sup_v3_lerp(sup_point(bone, v), sup_point(skin, v), fraction[v]));
}

/* Diagonal matrix of eq. 4.11. */
static sup_result line_matrix(const sup_context *context, int32_t size, sup_csr *matrix, sup_error *error)
{
    sup_context resolved = sup_context_resolve(context);
    size_t bytes = (size_t)size * sizeof(sup_triplet);
    sup_triplet *triplets = sup_alloc(&resolved.allocator, bytes);
    if (triplets == NULL) return sup_fail_memory(error, "the muscles' fit");
    for (int32_t v = 0; v < size; v++)
        triplets[v] = (sup_triplet){v, v, 0.5 * line_weight};
    sup_result result = sup_csr_from_triplets(context, size, triplets, size, matrix, error);
    sup_free(&resolved.allocator, triplets, bytes);
    return result;
}

/* Visceral fat: the muscles of the abdomen bulge at least by their fraction in the template. */
static void raise_abdomen(const sup_anatomy *anatomy, const double *const scaled[3], double *minimum,
                          const double *maximum)
{
    for (int32_t v = 0; v < anatomy->vertex_count; v++) {
        if (anatomy->group[v] != SUP_GROUP_ABDOMEN) continue;
        sup_vec3d b = sup_point(scaled[2], v);
        double line_length = sup_v3_distance(sup_point(scaled[0], v), b),
               muscle_length = sup_v3_distance(sup_point(scaled[1], v), b);
        if (line_length > 0.0)
            minimum[v] = fmax(minimum[v], fmin(maximum[v], muscle_length / line_length)); /* beta_min */
    }
}

static sup_result fit_stages(const line_term *term, sup_surface_fit *solver, double *muscle, int32_t *stages,
                             sup_error *error)
{
    double bending = first_bending;
    sup_result result = SUP_OK;
    for (*stages = 0; *stages < MAX_STAGES && result == SUP_OK; ++*stages, bending *= bending_factor) {
        double farthest = 0.0;
        result = sup_surface_fit_set_weights(solver, bending, NULL, error);
        if (result == SUP_OK)
            result = sup_surface_fit_solve(solver, NULL, line_distance, STAGE_ITERATIONS, muscle, NULL, error);
        if (result != SUP_OK) break;
        for (int32_t v = 0; v < term->anatomy->vertex_count; v++) {
            sup_vec3d p = sup_point(muscle, v);
            farthest = fmax(farthest, sup_v3_distance(p, line_point(term, v, line_fraction(term, v, p))));
        }
        if (farthest < line_distance) break;
        sup_surface_fit_set_rest(solver, muscle);
    }
    return result;
}

sup_result sup_muscle_fit(const sup_context *context, const sup_anatomy *anatomy, const double *const scaled[3],
                          const double *skin, const double *bone, double *fraction, int32_t *stages, sup_error *error)
{
    sup_context resolved = sup_context_resolve(context);
    sup_arena arena = sup_arena_create(&resolved.allocator);
    size_t n = (size_t)anatomy->vertex_count;
    double *minimum = sup_arena_alloc(&arena, n, sizeof(double)), *maximum = sup_arena_alloc(&arena, n, sizeof(double));
    double *muscle = sup_arena_alloc(&arena, 3 * n, sizeof(double));
    line_term lines = {anatomy, skin, bone, minimum, maximum};
    sup_csr matrix = {0};
    sup_surface_fit *solver = NULL;
    sup_result result = SUP_OK;
    if (minimum == NULL || maximum == NULL || muscle == NULL) result = sup_fail_memory(error, "the muscles' fit");
    if (result == SUP_OK) result = line_matrix(context, anatomy->vertex_count, &matrix, error);
    if (result == SUP_OK) {
        sup_muscle_range(anatomy, skin, bone, minimum, maximum);
        raise_abdomen(anatomy, scaled, minimum, maximum);
        for (int32_t v = 0; v < anatomy->vertex_count; v++)
            sup_point_set(muscle, v, sup_point(anatomy->excluded[v] ? skin : scaled[1], v));
        sup_fit_term term = {&matrix, project_lines, &lines};
        sup_surface_fit_def def = {{anatomy->vertex_count, anatomy->triangle_count, scaled[1], anatomy->triangles},
                                   anatomy->excluded,
                                   &term,
                                   1};
        result = sup_surface_fit_create(context, &def, &solver, error);
    }
    if (result == SUP_OK) result = fit_stages(&lines, solver, muscle, stages, error);
    for (int32_t v = 0; v < anatomy->vertex_count && result == SUP_OK; v++)
        fraction[v] = line_fraction(&lines, v, sup_point(muscle, v));
    sup_surface_fit_destroy(solver);
    sup_csr_free(&matrix);
    sup_arena_destroy(&arena);
    return result;
}

static int compare_doubles(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Fraction of its thickness by which a group can grow (side 1) or shrink (side -1). */
static double group_reach(const line_term *term, const double *fraction, double scale, int group, int side,
                          double *slacks)
{
    const sup_anatomy *a = term->anatomy;
    double thickest = 0.0, limit = side > 0 ? max_growth : max_shrink;
    size_t count = 0;
    for (int32_t v = 0; v < a->vertex_count; v++)
        if (a->group[v] == group && !a->excluded[v]) thickest = fmax(thickest, a->thickness[v]);
    for (int32_t v = 0; v < a->vertex_count; v++) {
        if (a->group[v] != group || a->excluded[v] || !(a->thickness[v] > thick_fraction * thickest)) continue;
        double length = sup_v3_distance(sup_point(term->skin, v), sup_point(term->bone, v));
        double slack = side > 0 ? term->maximum[v] - fraction[v] : fraction[v] - term->minimum[v];
        slacks[count++] = slack * length / (scale * a->thickness[v]);
    }
    if (count == 0) return 0.0;
    qsort(slacks, count, sizeof *slacks, compare_doubles);
    return fmax(0.0, fmin(limit, slacks[(size_t)(tightest * (double)count)]));
}

static sup_result one_extreme(const line_term *term, sup_surface_fit *solver, const double *fraction, double scale,
                              int side, double *scratch, double *result_fraction, sup_error *error)
{
    const sup_anatomy *a = term->anatomy;
    double reach[SUP_GROUP_COUNT] = {0.0}, *targets = scratch, *muscle = scratch + 3 * (size_t)a->vertex_count;
    for (int group = 1; group < SUP_GROUP_COUNT; group++)
        reach[group] = group_reach(term, fraction, scale, group, side, scratch);
    for (int32_t v = 0; v < a->vertex_count; v++) {
        double length = sup_v3_distance(sup_point(term->skin, v), sup_point(term->bone, v));
        double move = length > 0.0 ? side * reach[a->group[v]] * scale * a->thickness[v] / length : 0.0;
        double to = fmax(term->minimum[v], fmin(term->maximum[v], fraction[v] + move));
        sup_point_set(targets, v, line_point(term, v, a->excluded[v] ? 1.0 : to));
        sup_point_set(muscle, v, line_point(term, v, a->excluded[v] ? 1.0 : fraction[v]));
    }
    sup_surface_fit_set_rest(solver, muscle);
    sup_result result = sup_surface_fit_solve(solver, targets, line_distance, STAGE_ITERATIONS, muscle, NULL, error);
    for (int32_t v = 0; v < a->vertex_count && result == SUP_OK; v++) {
        double to = line_fraction(term, v, sup_point(muscle, v));
        result_fraction[v] = side > 0 ? fmax(to, fraction[v]) : fmin(to, fraction[v]);
    }
    return result;
}

sup_result sup_muscle_extremes(const sup_context *context, const sup_anatomy *anatomy, const double *skin,
                               const double *bone, const double *fraction, double scale, double *smallest,
                               double *largest, sup_error *error)
{
    sup_context resolved = sup_context_resolve(context);
    sup_arena arena = sup_arena_create(&resolved.allocator);
    size_t n = (size_t)anatomy->vertex_count;
    double *minimum = sup_arena_alloc(&arena, n, sizeof(double)), *maximum = sup_arena_alloc(&arena, n, sizeof(double));
    double *scratch = sup_arena_alloc(&arena, 6 * n, sizeof(double));
    double *weights = sup_arena_alloc(&arena, n, sizeof(double));
    line_term lines = {anatomy, skin, bone, minimum, maximum};
    sup_surface_fit *solver = NULL;
    sup_result result = SUP_OK;
    if (minimum == NULL || maximum == NULL || scratch == NULL || weights == NULL)
        result = sup_fail_memory(error, "the muscles' fit");
    if (result == SUP_OK) {
        sup_muscle_range(anatomy, skin, bone, minimum, maximum);
        sup_muscle_positions(anatomy, skin, bone, fraction, scratch);
        for (size_t v = 0; v < n; v++)
            weights[v] = 1.0;
        sup_surface_fit_def def = {
            {anatomy->vertex_count, anatomy->triangle_count, scratch, anatomy->triangles}, anatomy->excluded, NULL, 0};
        result = sup_surface_fit_create(context, &def, &solver, error);
    }
    if (result == SUP_OK) result = sup_surface_fit_set_weights(solver, end_bending, weights, error);
    if (result == SUP_OK) result = one_extreme(&lines, solver, fraction, scale, -1, scratch, smallest, error);
    if (result == SUP_OK) result = one_extreme(&lines, solver, fraction, scale, 1, scratch, largest, error);
    sup_surface_fit_destroy(solver);
    sup_arena_destroy(&arena);
    return result;
}

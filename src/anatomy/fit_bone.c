/* fit_bone.c - quasi-static fit of the skeleton surface: bending, tissue between it and the skin, collisions.
 *
 * Based on: [komaritzan2022] eq. 4.7 to 4.9, with the printed weights. Deviations: a vertex already collides when it
 * is less than 1 mm below the skin, and the weight of a collision that a pass does not resolve is doubled instead of
 * increased by 1, so that a few passes are enough. */
#include "anatomy/fit_bone.h"

#include "anatomy/layer_elements.h"
#include "geometry/bvh.h"
#include "geometry/winding.h"
#include "math/polar.h"

static const double bending_weight = 0.1, tissue_weight = 0.01, collision_weight = 50.0;
/* Weight of the distance from the surface around the bones, per area: 1 mm weighs as much as a stretch of the tissue by
 * 0.1. Along that surface vertices are free to follow the skin. */
static const double tether_weight = 1e6;
static const double min_stretch = 0.2, max_stretch = 5.0; /* alpha */
/* metres below the skin: the collision target, and the depth that is no collision */
static const double beneath = 0.002, nearest = 0.001;
static const double tolerance = 0.0002; /* metres: convergence tolerance of a pass */
enum { MAX_COLLISION_PASSES = 8, MAX_ITERATIONS = 40 };

typedef struct bone_fit {
    const sup_context *context;
    const sup_anatomy *anatomy;
    const double *skin;
    double *bone;
    float *skin_float;
    double *normals; /* [triangle_count*3] normals of the scaled template's skin: the direction of free stretching */
    double *weights; /* [vertex_count] weights of collision targets, divided by the area A_i */
    double *growing; /* [vertex_count] w_i of eq. 4.9 */
    double *targets; /* [vertex_count*3] */
    /* [vertex_count*4] position at which a vertex was last found inside, and its distance from the skin: it is
     * inside as long as it has moved by less */
    double *seen;
    sup_bvh tree;
    sup_winding winding;
    sup_bvh tether;          /* surface around the bones */
    const double *areas;     /* [vertex_count] of the solver */
    const double *positions; /* of the projection in progress */
    double *right_side;
} bone_fit;

/* R B diag(1, 1, alpha) B^T of eq. 4.8. */
static void tissue_target(void *user, int32_t element, const double f[9], double target[9])
{
    const bone_fit *fit = user;
    const double *n = fit->normals + 3 * (size_t)element;
    double rotation[9], alpha = 0.0;
    sup_polar_rotation(f, rotation);
    for (int i = 0; i < 3; i++) { /* n^T S n with S = R^T F */
        double rotated = rotation[3 * i] * n[0] + rotation[3 * i + 1] * n[1] + rotation[3 * i + 2] * n[2];
        alpha += rotated * (f[3 * i] * n[0] + f[3 * i + 1] * n[1] + f[3 * i + 2] * n[2]);
    }
    alpha = fmax(min_stretch, fmin(max_stretch, alpha)) - 1.0;
    for (int i = 0; i < 3; i++) {
        double rotated = rotation[3 * i] * n[0] + rotation[3 * i + 1] * n[1] + rotation[3 * i + 2] * n[2];
        for (int j = 0; j < 3; j++)
            target[3 * i + j] = rotation[3 * i + j] + alpha * rotated * n[j];
    }
}

/* Prisms between skin (fixed) and bone (unknown) over the scaled template. */
static sup_result make_tissue(bone_fit *fit, sup_arena *arena, const double *scaled_skin, const double *scaled_bone,
                              sup_elements **tissue, sup_error *error)
{
    const sup_anatomy *a = fit->anatomy;
    size_t triangles = (size_t)a->triangle_count, vertices = (size_t)a->vertex_count;
    int32_t *corners_of = sup_arena_alloc(arena, 6 * triangles, sizeof *corners_of);
    double *weights = sup_arena_alloc(arena, triangles, sizeof *weights);
    double *rest = sup_arena_alloc(arena, 6 * vertices, sizeof *rest);
    fit->normals = sup_arena_alloc(arena, 3 * triangles, sizeof *fit->normals);
    if (corners_of == NULL || weights == NULL || rest == NULL || fit->normals == NULL)
        return sup_fail_memory(error, "the tissue between skin and bones");
    memcpy(rest, scaled_bone, 3 * vertices * sizeof *rest);
    memcpy(rest + 3 * vertices, scaled_skin, 3 * vertices * sizeof *rest);
    for (int32_t t = 0; t < a->triangle_count; t++) {
        const int32_t *c = a->triangles + 3 * (size_t)t;
        sup_vec3d p = sup_point(scaled_skin, c[0]);
        sup_vec3d n =
            sup_v3_cross(sup_v3_sub(sup_point(scaled_skin, c[1]), p), sup_v3_sub(sup_point(scaled_skin, c[2]), p));
        sup_point_set(fit->normals, t, sup_v3_unit_or(n, sup_v3(0.0, 0.0, 1.0)));
        for (int k = 0; k < 3; k++) {
            corners_of[6 * (size_t)t + (size_t)k] = a->vertex_count + c[k];
            corners_of[6 * (size_t)t + 3 + (size_t)k] = c[k];
        }
        bool layered = !(a->excluded[c[0]] && a->excluded[c[1]] && a->excluded[c[2]]);
        weights[t] = layered ? 0.5 * tissue_weight : 0.0;
    }
    sup_elements_def def = {.unknown_count = a->vertex_count,
                            .point_count = 2 * a->vertex_count,
                            .count = a->triangle_count,
                            .corners = 6,
                            .points = corners_of,
                            .rest = rest,
                            .weights = weights,
                            .target = tissue_target,
                            .user = fit};
    sup_result result = sup_elements_create(fit->context, &def, tissue, error);
    if (result == SUP_OK) sup_elements_set_fixed(*tissue, fit->skin);
    return result;
}

static void tether_range(void *user, int32_t begin, int32_t end, int32_t worker)
{
    const bone_fit *fit = user;
    SUP_UNUSED(worker);
    for (int32_t v = begin; v < end; v++) {
        if (fit->anatomy->excluded[v]) continue;
        sup_bvh_nearest near = sup_bvh_closest(&fit->tether, sup_point(fit->positions, v), INFINITY);
        double weight = 0.5 * tether_weight * fit->areas[v];
        sup_point_set(fit->right_side, v, sup_v3_madd(sup_point(fit->right_side, v), weight, near.point));
    }
}

static void project_tether(void *user, const double *positions, double *right_side)
{
    bone_fit *fit = user;
    sup_context resolved = sup_context_resolve(fit->context);
    fit->positions = positions;
    fit->right_side = right_side;
    sup_parallel(&resolved, fit->anatomy->vertex_count, 128, tether_range, fit);
}

static void collide_range(void *user, int32_t begin, int32_t end, int32_t worker)
{
    bone_fit *fit = user;
    SUP_UNUSED(worker);
    for (int32_t v = begin; v < end; v++) {
        if (fit->anatomy->excluded[v]) continue;
        sup_vec3d p = sup_point(fit->bone, v);
        double *seen = fit->seen + 4 * (size_t)v;
        if (sup_v3_distance(p, sup_v3(seen[0], seen[1], seen[2])) < seen[3] - nearest) continue;
        bool outside = sup_winding_number(&fit->winding, p) < 0.5;
        sup_bvh_nearest near = sup_bvh_closest(&fit->tree, p, INFINITY);
        seen[0] = p.x, seen[1] = p.y, seen[2] = p.z;
        seen[3] = outside ? 0.0 : near.distance;
        if (near.triangle < 0 || (!outside && near.distance >= nearest)) continue;
        const int32_t *c = fit->anatomy->triangles + 3 * (size_t)near.triangle;
        sup_vec3d o = sup_point(fit->skin, c[0]);
        sup_vec3d n =
            sup_v3_cross(sup_v3_sub(sup_point(fit->skin, c[1]), o), sup_v3_sub(sup_point(fit->skin, c[2]), o));
        n = sup_v3_unit_or(n, sup_v3(0.0, 0.0, 0.0));
        sup_point_set(fit->targets, v, sup_v3_madd(near.point, -beneath, n)); /* pi_S of eq. 4.9 */
        fit->growing[v] = fit->growing[v] > 0.0 ? 2.0 * fit->growing[v] : 1.0;
        fit->weights[v] = -1.0; /* collides in this pass */
    }
}

/* Sets targets and weights of the colliding vertices; returns their number. */
static int32_t detect(bone_fit *fit, const double *areas)
{
    int32_t count = 0;
    sup_context resolved = sup_context_resolve(fit->context);
    sup_parallel(&resolved, fit->anatomy->vertex_count, 128, collide_range, fit);
    for (int32_t v = 0; v < fit->anatomy->vertex_count; v++) {
        count += fit->weights[v] < 0.0;
        fit->weights[v] = 0.5 * collision_weight * fit->growing[v] / areas[v]; /* eq. 4.9 has no areas */
    }
    return count;
}

static sup_result minimise(bone_fit *fit, sup_surface_fit *solver, sup_bone_fit_report *report, sup_error *error)
{
    sup_result result = SUP_OK;
    *report = (sup_bone_fit_report){0};
    for (int32_t pass = 0; pass <= MAX_COLLISION_PASSES && result == SUP_OK; pass++) {
        int32_t used = 0;
        result = sup_surface_fit_set_weights(solver, bending_weight, fit->weights, error);
        if (result == SUP_OK)
            result = sup_surface_fit_solve(solver, fit->targets, tolerance, MAX_ITERATIONS, fit->bone, &used, error);
        report->passes++;
        report->iterations += used;
        if (result != SUP_OK) break;
        report->colliding = detect(fit, sup_surface_fit_areas(solver));
        if (report->colliding == 0) break;
    }
    return result;
}

static sup_result make_trees(bone_fit *fit, sup_arena *arena, sup_error *error)
{
    const sup_anatomy *a = fit->anatomy;
    size_t n = (size_t)a->vertex_count;
    sup_context resolved = sup_context_resolve(fit->context);
    fit->skin_float = sup_arena_alloc(arena, 3 * n, sizeof(float));
    fit->weights = sup_arena_alloc(arena, n, sizeof(double));
    fit->growing = sup_arena_alloc(arena, n, sizeof(double));
    fit->targets = sup_arena_alloc(arena, 3 * n, sizeof(double));
    fit->seen = sup_arena_alloc(arena, 4 * n, sizeof(double));
    if (fit->seen == NULL || fit->skin_float == NULL || fit->weights == NULL || fit->growing == NULL ||
        fit->targets == NULL)
        return sup_fail_memory(error, "the skeleton's fit");
    for (size_t i = 0; i < 3 * n; i++)
        fit->skin_float[i] = (float)fit->skin[i];
    sup_result result =
        sup_bvh_create(fit->context, fit->skin_float, a->triangle_count, a->triangles, &fit->tree, error);
    if (result != SUP_OK) return result;
    result =
        sup_winding_create(&resolved.allocator, fit->skin_float, a->triangle_count, a->triangles, &fit->winding, error);
    if (result != SUP_OK) sup_bvh_free(&fit->tree);
    return result;
}

/* The diagonal matrix of the tether; its values are set when the solver's areas are known. */
static sup_result make_tether(bone_fit *fit, sup_arena *arena, const double *surface, sup_csr *matrix, sup_error *error)
{
    const sup_anatomy *a = fit->anatomy;
    size_t n = (size_t)a->vertex_count;
    sup_triplet *triplets = sup_arena_alloc(arena, n, sizeof *triplets);
    float *positions = sup_arena_alloc(arena, 3 * n, sizeof *positions);
    if (triplets == NULL || positions == NULL) return sup_fail_memory(error, "the skeleton's fit");
    for (size_t i = 0; i < 3 * n; i++)
        positions[i] = (float)surface[i];
    for (int32_t v = 0; v < a->vertex_count; v++)
        triplets[v] = (sup_triplet){v, v, 1.0};
    sup_result result = sup_csr_from_triplets(fit->context, a->vertex_count, triplets, a->vertex_count, matrix, error);
    if (result == SUP_OK)
        result = sup_bvh_create(fit->context, positions, a->triangle_count, a->triangles, &fit->tether, error);
    return result;
}

static sup_result solve(bone_fit *fit, sup_arena *arena, const sup_bone_fit_def *def, sup_bone_fit_report *report,
                        sup_error *error)
{
    const sup_anatomy *a = fit->anatomy;
    sup_elements *tissue = NULL;
    sup_surface_fit *solver = NULL;
    sup_csr matrix = {0};
    sup_result result = make_tissue(fit, arena, def->scaled_skin, def->scaled_bone, &tissue, error);
    if (result == SUP_OK && def->tether != NULL) result = make_tether(fit, arena, def->tether, &matrix, error);
    if (result == SUP_OK) {
        sup_fit_term terms[2] = {sup_elements_term(tissue), {&matrix, project_tether, fit}};
        const double *rest = def->tether != NULL ? def->tether : def->scaled_bone;
        sup_surface_fit_def fit_def = {
            {a->vertex_count, a->triangle_count, rest, a->triangles}, a->excluded, terms, def->tether != NULL ? 2 : 1};
        result = sup_surface_fit_create(fit->context, &fit_def, &solver, error);
    }
    if (result == SUP_OK) {
        fit->areas = sup_surface_fit_areas(solver);
        for (int32_t v = 0; v < a->vertex_count && def->tether != NULL; v++)
            matrix.value[v] = 0.5 * tether_weight * fit->areas[v];
        for (int32_t v = 0; v < a->vertex_count; v++)
            if (a->excluded[v]) sup_point_set(fit->bone, v, sup_point(fit->skin, v));
        result = minimise(fit, solver, report, error);
    }
    sup_surface_fit_destroy(solver);
    sup_elements_destroy(tissue);
    sup_bvh_free(&fit->tether);
    sup_csr_free(&matrix);
    return result;
}

sup_result sup_bone_fit(const sup_context *context, const sup_anatomy *anatomy, const sup_bone_fit_def *def,
                        double *bone, sup_bone_fit_report *report, sup_error *error)
{
    sup_context resolved = sup_context_resolve(context);
    sup_arena arena = sup_arena_create(&resolved.allocator);
    bone_fit fit = {.context = context, .anatomy = anatomy, .skin = def->skin, .bone = bone};
    sup_result result = make_trees(&fit, &arena, error);
    if (result == SUP_OK) {
        result = solve(&fit, &arena, def, report, error);
        sup_winding_destroy(&fit.winding);
        sup_bvh_free(&fit.tree);
    }
    sup_arena_destroy(&arena);
    return result;
}

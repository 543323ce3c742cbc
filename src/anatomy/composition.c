/* composition.c - the surface template and the masses predicted from it: [komaritzan2022] 4.2.3.
 *
 * Deviation: the thesis removes head, hands and feet before the PCA; here one space of whole bodies serves
 * registration and masses, and the coordinates of a skin are found by least squares over the vertices that are not
 * excluded. */
#include "anatomy/composition.h"

#include "anatomy/joint_roles.h"
#include "linalg/small_dense.h"
#include "supple/rig.h"

#include <math.h>

/* standard deviation of a skin from the space, metres: weights the data against the prior */
static const double skin_noise = 0.005;
static const double smallest_mass = 0.01;

sup_composition *sup_composition_open(const sup_context *context)
{
    struct sup_anatomy_storage *storage = sup_anatomy_storage_create(context);
    if (storage == NULL) return NULL;
    sup_composition *composition = sup_arena_alloc(&storage->arena, 1, sizeof *composition);
    if (composition == NULL) {
        sup_anatomy_storage_destroy(storage);
        return NULL;
    }
    composition->storage = storage;
    return composition;
}

void sup_composition_destroy(sup_composition *composition)
{
    if (composition != NULL) sup_anatomy_storage_destroy(composition->storage);
}

/* --- Skin weights --- */

/* Without influences if the composition has none yet. */
static sup_result make_character(const sup_context *context, const sup_composition *c, const double *at_skin,
                                 const double *at_joints, sup_arena *arena, sup_character **character, sup_error *error)
{
    size_t joints = (size_t)c->joint_count, values = 3 * (size_t)c->vertex_count;
    sup_node *nodes = sup_arena_alloc(arena, joints + 1, sizeof *nodes);
    sup_bone *bones = sup_arena_alloc(arena, joints, sizeof *bones);
    float *positions = sup_arena_alloc(arena, values, sizeof *positions);
    float *weights = NULL;
    if (c->influence_first != NULL) {
        size_t count = (size_t)c->influence_first[c->vertex_count];
        weights = sup_arena_alloc(arena, count, sizeof *weights);
        for (size_t i = 0; weights != NULL && i < count; i++)
            weights[i] = (float)c->influence_weight[i];
    }
    if (nodes == NULL || bones == NULL || positions == NULL || (weights == NULL && c->influence_first != NULL))
        return sup_fail_memory(error, "the template's character");
    const sup_transform none = {.rotation = {0, 0, 0, 1}, .scale = {1, 1, 1}};
    for (size_t j = 0; j < joints; j++) {
        const double *at = at_joints + 3 * j, zero[3] = {0, 0, 0};
        const double *up = c->parents[j] < 0 ? zero : at_joints + 3 * (size_t)c->parents[j];
        nodes[j] = (sup_node){.name = c->joint_names[j], .parent = c->parents[j], .rest = none, .is_joint = true};
        nodes[j].rest.translation = (sup_vec3){(float)(at[0] - up[0]), (float)(at[1] - up[1]), (float)(at[2] - up[2])};
        bones[j].node = (int32_t)j;
        sup_mat34 inverse = {.m = {1, 0, 0, (float)-at[0], 0, 1, 0, (float)-at[1], 0, 0, 1, (float)-at[2]}};
        bones[j].inverse_bind = inverse;
    }
    nodes[joints] = (sup_node){.name = "skin", .parent = -1, .rest = none};
    for (size_t i = 0; i < values; i++)
        positions[i] = (float)at_skin[i];
    const sup_skin skin = {.name = "skin", .bone_count = c->joint_count};
    const sup_primitive primitive = {.name = "skin",
                                     .node = c->joint_count,
                                     .material = -1,
                                     .vertex_count = c->vertex_count,
                                     .triangle_count = c->triangle_count};
    const sup_character source = {.name = "body",
                                  .unit_metres = 1.0f,
                                  .influence_first = c->influence_first,
                                  .influence_bone = c->influence_joint,
                                  .influence_weight = weights,
                                  .node_count = c->joint_count + 1,
                                  .nodes = nodes,
                                  .bone_count = c->joint_count,
                                  .bones = bones,
                                  .skin_count = 1,
                                  .skins = &skin,
                                  .primitive_count = 1,
                                  .primitives = &primitive,
                                  .vertex_count = c->vertex_count,
                                  .positions = positions,
                                  .triangle_count = c->triangle_count,
                                  .triangles = c->triangles};
    return sup_character_create(context, &source, character, error);
}

static sup_result copy_weights_in(sup_composition *c, const sup_rig *rig, sup_error *error)
{
    sup_arena *arena = &c->storage->arena;
    size_t count = (size_t)rig->influence_first[rig->vertex_count];
    c->influence_first = sup_arena_copy(arena, rig->influence_first, (size_t)rig->vertex_count + 1, sizeof(int32_t));
    c->influence_joint = sup_arena_alloc(arena, count, sizeof(int32_t));
    c->influence_weight = sup_arena_alloc(arena, count, sizeof(double));
    if (c->influence_first == NULL || c->influence_joint == NULL || c->influence_weight == NULL)
        return sup_fail_memory(error, "the template's weights");
    for (size_t i = 0; i < count; i++) {
        c->influence_joint[i] = rig->joint_node[rig->influence_joint[i]];
        c->influence_weight[i] = (double)rig->influence_weight[i];
    }
    return SUP_OK;
}

/* At least half of the weight on head, hands or toes. */
static sup_result exclude(const sup_context *context, sup_composition *c, sup_error *error)
{
    sup_arena *arena = &c->storage->arena;
    unsigned char *marks = sup_arena_alloc(arena, (size_t)c->joint_count, 1);
    c->excluded = sup_arena_alloc(arena, (size_t)c->vertex_count, 1);
    if (marks == NULL || c->excluded == NULL) return sup_fail_memory(error, "the template");
    sup_joint_roles roles = {0};
    sup_result result = sup_joint_roles_find(context, c->joint_count, (const char *const *)c->joint_names, c->parents,
                                             c->joint_mean, &roles, error);
    if (result != SUP_OK) return result;
    sup_joint_mark_below(c->joint_count, c->parents, roles.head, marks);
    for (int side = 0; side < 2; side++) {
        sup_joint_mark_below(c->joint_count, c->parents, roles.limb[side][SUP_ROLE_HAND], marks);
        sup_joint_mark_below(c->joint_count, c->parents, roles.limb[side][SUP_ROLE_TOE], marks);
    }
    for (int32_t v = 0; v < c->vertex_count; v++) {
        double weight = 0.0;
        for (int32_t i = c->influence_first[v]; i < c->influence_first[v + 1]; i++)
            if (marks[c->influence_joint[i]] != 0) weight += c->influence_weight[i];
        c->excluded[v] = weight >= 0.5;
    }
    return SUP_OK;
}

sup_result sup_composition_compute_weights(const sup_context *context, sup_composition *composition, sup_error *error)
{
    sup_context resolved = sup_context_resolve(context);
    sup_arena arena = sup_arena_create(&resolved.allocator);
    sup_character *character = NULL;
    sup_rig *rig = NULL;
    sup_rig_def def = sup_default_rig_def();
    def.weights = SUP_WEIGHTS_HEAT;
    sup_result result =
        make_character(context, composition, composition->mean, composition->joint_mean, &arena, &character, error);
    if (result == SUP_OK) result = sup_rig_create(context, character, &def, &rig, error);
    if (result == SUP_OK) result = copy_weights_in(composition, rig, error);
    if (result == SUP_OK) result = exclude(context, composition, error);
    sup_rig_destroy(rig);
    sup_character_destroy(character);
    sup_arena_destroy(&arena);
    return result;
}

sup_result sup_composition_character(const sup_context *context, const sup_composition *composition, const double *skin,
                                     const double *joints, sup_character **character, sup_error *error)
{
    if (composition == NULL || skin == NULL || joints == NULL || character == NULL)
        return sup_fail(
            error, SUP_ERROR_ARGUMENT, "argument.null", "",
            "sup_composition_character needs a composition, a skin, joints and a pointer to the character.");
    sup_context resolved = sup_context_resolve(context);
    sup_arena arena = sup_arena_create(&resolved.allocator);
    sup_result result = make_character(context, composition, skin, joints, &arena, character, error);
    sup_arena_destroy(&arena);
    return result;
}

/* --- Coordinates and masses --- */

sup_result sup_coordinate_solver_make(const sup_composition *composition, sup_arena *arena,
                                      sup_coordinate_solver *solver, sup_error *error)
{
    size_t modes = (size_t)composition->mode_count, values = 3 * (size_t)composition->vertex_count;
    solver->composition = composition;
    solver->factor = sup_arena_alloc(arena, modes * modes, sizeof(double));
    if (solver->factor == NULL) return sup_fail_memory(error, "coordinates of a skin");
    for (size_t a = 0; a < modes; a++)
        for (size_t b = 0; b <= a; b++) {
            const double *first = composition->modes + a * values, *second = composition->modes + b * values;
            double sum = 0.0;
            for (size_t i = 0; i < values; i++)
                if (composition->excluded[i / 3] == 0) sum += first[i] * second[i];
            double deviation = composition->deviation[a];
            if (a == b) sum += deviation > 0.0 ? skin_noise * skin_noise / (deviation * deviation) : 1.0;
            solver->factor[a * modes + b] = sum;
        }
    if (!sup_dense_cholesky(composition->mode_count, solver->factor))
        return sup_fail(error, SUP_ERROR_NUMERIC, "anatomy.coordinates", "",
                        "The shape space of the composition is degenerate: train it again.");
    return SUP_OK;
}

void sup_coordinates_solve(const sup_coordinate_solver *solver, const double *skin, double *coordinates)
{
    const sup_composition *c = solver->composition;
    size_t values = 3 * (size_t)c->vertex_count;
    for (int32_t k = 0; k < c->mode_count; k++) {
        const double *mode = c->modes + (size_t)k * values;
        double sum = 0.0;
        for (size_t i = 0; i < values; i++)
            if (c->excluded[i / 3] == 0) sum += mode[i] * (skin[i] - c->mean[i]);
        coordinates[k] = sum;
    }
    sup_dense_cholesky_solve(c->mode_count, solver->factor, coordinates);
}

sup_result sup_composition_coordinates(const sup_context *context, const sup_composition *composition,
                                       const double *skin, double *coordinates, sup_error *error)
{
    if (composition == NULL || skin == NULL || coordinates == NULL)
        return sup_fail(error, SUP_ERROR_ARGUMENT, "argument.null", "",
                        "sup_composition_coordinates needs a composition, a skin and an array for the coordinates.");
    sup_context resolved = sup_context_resolve(context);
    sup_arena arena = sup_arena_create(&resolved.allocator);
    sup_coordinate_solver solver;
    sup_result result = sup_coordinate_solver_make(composition, &arena, &solver, error);
    if (result == SUP_OK) sup_coordinates_solve(&solver, skin, coordinates);
    sup_arena_destroy(&arena);
    return result;
}

void sup_composition_masses(const sup_composition *composition, const double *coordinates, sup_sex sex, double *fat,
                            double *muscle)
{
    size_t modes = (size_t)composition->mode_count, s = sex <= SUP_SEX_MALE ? (size_t)sex : 0;
    double f = composition->fat[s], m = composition->muscle[s];
    for (size_t k = 0; k < modes; k++) {
        f += composition->fat_slope[s * modes + k] * coordinates[k];    /* eq. 4.5 */
        m += composition->muscle_slope[s * modes + k] * coordinates[k]; /* eq. 4.6 */
    }
    if (fat != NULL) *fat = f > smallest_mass ? f : smallest_mass;
    if (muscle != NULL) *muscle = m > smallest_mass ? m : smallest_mass;
}

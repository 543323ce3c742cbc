/* template.c - builds the volumetric template from skin, bones, muscles and skeleton ([komaritzan2022] 4.2.2). */
#include "anatomy/template.h"
#include "anatomy/bone_surface.h"
#include "anatomy/enclosure.h"
#include "anatomy/muscle_surface.h"
#include "anatomy/template_check.h"
#include "anatomy/wrap.h"

#include <math.h>
#include <stdlib.h>
#include <time.h>

/* Parameters of the wrap, metres: see wrap.h. */
static const double wrap_cell = 0.005, wrap_closing = 0.04, wrap_offset = 0.002, wrap_margin = 0.004;
static const double skin_gap = 0.003;  /* distance of the skeleton surface from the skin, metres */
static const double min_layer = 0.001; /* distance of the muscle surface from the skeleton surface (4.2.2), metres */
enum { WRAP_VERTICES = 30000, TRUNK = 0, ARMS = 1, LEGS = 3, GROUP_COUNT = 5, PULLS = 6 };

static double seconds(void)
{
    struct timespec now;
    timespec_get(&now, TIME_UTC);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static sup_result report_progress(const sup_template_build *b, double fraction, const char *stage, sup_error *error)
{
    if (b->def->progress == NULL || b->def->progress(b->def->progress_user, (float)fraction, stage)) return SUP_OK;
    return sup_fail(error, SUP_ERROR_CANCELLED, "anatomy.cancelled", "", "The creation of the template was cancelled.");
}

static bool report_bone_progress(void *user, float fraction, const char *stage)
{
    const sup_template_build *b = user;
    return report_progress(b, 0.2 + 0.6 * (double)fraction, stage, NULL) == SUP_OK;
}

static sup_result allocate_maps(sup_template_build *b, sup_error *error)
{
    sup_anatomy *a = b->anatomy;
    const sup_anatomy_def *d = b->def;
    sup_arena *arena = &a->storage->arena;
    size_t n = (size_t)d->skin.vertex_count, joints = (size_t)d->joints.count;
    a->vertex_count = d->skin.vertex_count;
    a->triangle_count = d->skin.triangle_count;
    a->joint_count = d->joints.count;
    a->sex = d->sex;
    a->triangles = sup_arena_copy(arena, d->skin.triangles, 3 * (size_t)a->triangle_count, sizeof *a->triangles);
    a->skin = sup_arena_copy(arena, d->skin.positions, 3 * n, sizeof *a->skin);
    a->parents = sup_arena_copy(arena, d->joints.parents, joints, sizeof *a->parents);
    a->joints = sup_arena_copy(arena, d->joints.positions, 3 * joints, sizeof *a->joints);
    a->muscle = sup_arena_alloc(arena, 3 * n + 1, sizeof *a->muscle);
    a->bone = sup_arena_alloc(arena, 3 * n + 1, sizeof *a->bone);
    a->thickness = sup_arena_alloc(arena, n + 1, sizeof *a->thickness);
    a->bone_joint = sup_arena_alloc(arena, n + 1, sizeof *a->bone_joint);
    a->joint_names = sup_arena_alloc(arena, joints + 1, sizeof *a->joint_names);
    unsigned char **bytes[4] = {&a->excluded, &a->group, &a->region, &a->crotch};
    bool good = a->triangles != NULL && a->skin != NULL && a->parents != NULL && a->joints != NULL &&
                a->muscle != NULL && a->bone != NULL && a->thickness != NULL && a->bone_joint != NULL &&
                a->joint_names != NULL;
    for (int k = 0; k < 4; k++) {
        *bytes[k] = sup_arena_alloc(arena, n + 1, 1);
        good = good && *bytes[k] != NULL;
    }
    for (size_t j = 0; j < joints && good; j++) {
        a->joint_names[j] = sup_arena_string(arena, d->joints.names[j]);
        good = a->joint_names[j] != NULL;
    }
    b->skin_floats = sup_arena_alloc(&b->arena, 3 * n + 1, sizeof *b->skin_floats);
    if (!good || b->skin_floats == NULL) return sup_fail_memory(error, "a template");
    for (size_t i = 0; i < 3 * n; i++)
        b->skin_floats[i] = (float)d->skin.positions[i];
    return SUP_OK;
}

/* --- The wrap --- */

/* Groups of bones whose gaps are closed: trunk and head, each arm, each leg. */
static int32_t wrap_group(const sup_template_build *b, int32_t joint)
{
    const sup_anatomy *a = b->anatomy;
    bool left = a->joints[3 * (size_t)joint] > a->joints[0];
    switch (b->roles[joint]) {
    case SUP_BODY_UPPER_ARM:
    case SUP_BODY_FOREARM:
    case SUP_BODY_HAND:
        return ARMS + left;
    case SUP_BODY_UPPER_LEG:
    case SUP_BODY_LOWER_LEG:
    case SUP_BODY_FOOT:
    case SUP_BODY_TOE:
        return LEGS + left;
    default:
        return TRUNK;
    }
}

/* The triangles of one group of bones; returns their number. */
static int32_t group_triangles(const sup_template_build *b, int32_t group, int32_t *triangles)
{
    const sup_anatomy *a = b->anatomy;
    int32_t count = 0;
    for (int32_t p = 0; p < a->organ_count; p++) {
        if (a->organ_is_muscle[p] || wrap_group(b, a->organ_joint[p]) != group) continue;
        int32_t first = a->organ_triangle[p], more = a->organ_triangle[p + 1] - first;
        if (more > 0)
            memcpy(triangles + 3 * (size_t)count, a->detail_triangles + 3 * (size_t)first,
                   3 * (size_t)more * sizeof *triangles);
        count += more;
    }
    return count;
}

static sup_result make_wrap(sup_template_build *b, sup_error *error)
{
    const sup_anatomy *a = b->anatomy;
    float *positions = sup_arena_alloc(&b->arena, 3 * (size_t)a->detail_vertex_count + 1, sizeof *positions);
    int32_t *triangles = sup_arena_alloc(&b->arena, 3 * (size_t)a->detail_triangle_count + 1, sizeof *triangles);
    if (positions == NULL || triangles == NULL) return sup_fail_memory(error, "a template");
    for (size_t i = 0; i < 3 * (size_t)a->detail_vertex_count; i++)
        positions[i] = (float)a->detail[i];
    sup_mesh_sdf groups[GROUP_COUNT];
    int32_t count = 0;
    sup_result result = SUP_OK;
    for (int32_t g = 0; g < GROUP_COUNT && result == SUP_OK; g++) {
        int32_t more = group_triangles(b, g, triangles);
        if (more == 0) continue;
        result =
            sup_mesh_sdf_create(&b->context, a->detail_vertex_count, positions, more, triangles, &groups[count], error);
        count += result == SUP_OK;
    }
    sup_surface surface = {0};
    if (result == SUP_OK) {
        sup_wrap_def def = {groups,       count,       &b->skin_solid, wrap_cell,
                            wrap_closing, wrap_offset, wrap_margin,    WRAP_VERTICES};
        result = sup_wrap_create(&b->context, &def, &surface, error);
    }
    for (int32_t g = 0; g < count; g++)
        sup_mesh_sdf_free(&groups[g]);
    if (result != SUP_OK) return result;
    double *wrap_positions = sup_arena_alloc(&b->arena, 3 * (size_t)surface.vertex_count + 1, sizeof *wrap_positions);
    int32_t *corners =
        sup_arena_copy(&b->arena, surface.triangles, 3 * (size_t)surface.triangle_count + 1, sizeof *corners);
    if (wrap_positions != NULL && corners != NULL) {
        for (int32_t v = 0; v < surface.vertex_count; v++)
            sup_v3_put(wrap_positions, v, surface.positions[v]);
        b->wrap = (sup_shape){surface.vertex_count, surface.triangle_count, wrap_positions, corners};
    } else {
        result = sup_fail_memory(error, "a template");
    }
    sup_surface_free(&surface);
    return result;
}

static sup_result find_wrap(sup_template_build *b, sup_error *error)
{
    double began = seconds();
    sup_result result = sup_mesh_sdf_create(&b->context, b->skin.vertex_count, b->skin_floats, b->skin.triangle_count,
                                            b->skin.triangles, &b->skin_solid, error);
    if (result != SUP_OK) return result;
    b->wrap = b->def->wrap;
    if (b->wrap.triangle_count == 0) result = make_wrap(b, error);
    if (result == SUP_OK && b->wrap.triangle_count == 0)
        result = sup_fail(error, SUP_ERROR_DATA, "anatomy.bones.none", "",
                          "The bones leave no volume inside the skin for a wrap: check that bones and skin have the "
                          "same unit and position.");
    sup_wrap_topology topology = {0};
    if (result == SUP_OK)
        result = sup_wrap_measure(&b->context, b->wrap.vertex_count, b->wrap.triangle_count, b->wrap.triangles,
                                  &topology, error);
    b->report->wrap_vertices = b->wrap.vertex_count;
    b->report->wrap_components = topology.components;
    b->report->wrap_genus = topology.genus;
    b->report->wrap_seconds = seconds() - began;
    return result;
}

/* --- Layers --- */

/* In folds a line may leave the muscle surface: the few vertices of the skeleton surface that end outside move back
 * along their lines, at most to the muscle surface. */
static sup_result pull_bones_in(sup_template_build *b, sup_error *error)
{
    sup_anatomy *a = b->anatomy;
    sup_shape muscle = {a->vertex_count, a->triangle_count, a->muscle, a->triangles};
    unsigned char *outside = sup_arena_alloc(&b->arena, (size_t)a->vertex_count + 1, 1);
    if (outside == NULL) return sup_fail_memory(error, "a template");
    for (int pass = 0; pass < PULLS; pass++) {
        int32_t found = sup_points_outside(&b->context, &muscle, a->vertex_count, a->bone, a->excluded, outside);
        if (found < 0) return sup_fail_memory(error, "a template");
        if (found == 0) break;
        for (int32_t v = 0; v < a->vertex_count; v++) {
            if (!outside[v]) continue;
            sup_vec3d from = sup_v3_at(a->muscle, v), line = sup_v3_sub(sup_v3_at(a->bone, v), from);
            double length = sup_v3_length(line), limit = fmax(min_layer, 0.5 * length);
            if (length > limit) sup_v3_put(a->bone, v, sup_v3_madd(from, limit / length, line));
        }
    }
    return SUP_OK;
}

static sup_result make_layers(sup_template_build *b, sup_error *error)
{
    sup_anatomy *a = b->anatomy;
    double began = seconds();
    sup_bone_surface_report found = {0};
    sup_bone_surface_def bone = {.skin = b->skin,
                                 .excluded = a->excluded,
                                 .wrap = b->wrap,
                                 .skin_gap = skin_gap,
                                 .progress = report_bone_progress,
                                 .progress_user = b};
    sup_result result = sup_bone_surface(&b->context, &bone, a->bone, &found, error);
    b->report->iterations = found.iterations;
    b->report->fixed_targets = found.fixed_targets;
    b->report->collision_targets = found.collision_targets;
    b->report->wrap_outside = found.wrap_outside;
    b->report->bone_seconds = seconds() - began;
    if (result == SUP_OK) result = report_progress(b, 0.8, "muscle surface", error);
    if (result != SUP_OK) return result;
    began = seconds();
    sup_muscle_surface_def muscle = {.skin = b->skin,
                                     .bone = a->bone,
                                     .excluded = a->excluded,
                                     .organs = b->def->organs,
                                     .organ_count = b->def->organ_count,
                                     .min_distance = min_layer};
    result = sup_muscle_surface(&b->context, &muscle, a->muscle, a->thickness, error);
    if (result == SUP_OK) result = pull_bones_in(b, error);
    b->report->muscle_seconds = seconds() - began;
    return result;
}

static int rising(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static sup_result measure_alignment(sup_template_build *b, sup_error *error)
{
    sup_anatomy *a = b->anatomy;
    sup_shape bone = {a->vertex_count, a->triangle_count, a->bone, a->triangles};
    sup_mesh_view skin_view = {0}, bone_view = {0}, wrap_view = {0};
    double *errors = sup_arena_alloc(&b->arena, (size_t)a->vertex_count + 1, sizeof *errors);
    sup_result result = errors != NULL ? SUP_OK : sup_fail_memory(error, "a template");
    if (result == SUP_OK) result = sup_mesh_view_create(&b->context, &b->skin, &b->arena, &skin_view, error);
    if (result == SUP_OK) result = sup_mesh_view_create(&b->context, &bone, &b->arena, &bone_view, error);
    if (result == SUP_OK) result = sup_mesh_view_create(&b->context, &b->wrap, &b->arena, &wrap_view, error);
    int32_t count = 0;
    double sum = 0.0, distance = 0.0;
    for (int32_t v = 0; v < a->vertex_count && result == SUP_OK; v++) {
        if (a->excluded[v]) continue;
        errors[count] = sup_alignment(sup_v3_at(a->skin, v), sup_v3_at(skin_view.normals, v), sup_v3_at(a->bone, v),
                                      sup_v3_at(bone_view.normals, v));
        sum += errors[count++];
        distance += sup_bvh_closest(&wrap_view.bvh, sup_v3_at(a->bone, v), INFINITY).distance;
    }
    if (count > 0) {
        qsort(errors, (size_t)count, sizeof *errors, rising);
        b->report->alignment_mean = sum / count;
        b->report->alignment_p95 = errors[(size_t)(0.95 * (count - 1))];
        b->report->wrap_distance = distance / count;
    }
    sup_mesh_view_free(&skin_view);
    sup_mesh_view_free(&bone_view);
    sup_mesh_view_free(&wrap_view);
    return result;
}

/* Number of bone vertices (organs) outside the skeleton surface, without the bones of head, hands and feet. */
static int32_t details_outside(sup_template_build *b, const sup_shape *bone)
{
    const sup_anatomy *a = b->anatomy;
    int32_t count = 0;
    for (int32_t p = 0; p < a->organ_count; p++) {
        int32_t first = a->organ_vertex[p], more = a->organ_vertex[p + 1] - first;
        sup_body_role role = a->organ_joint[p] >= 0 ? b->roles[a->organ_joint[p]] : SUP_BODY_PELVIS;
        bool end = role == SUP_BODY_HEAD || role == SUP_BODY_HAND || role == SUP_BODY_FOOT || role == SUP_BODY_TOE;
        if (a->organ_is_muscle[p] || end) continue;
        int32_t found = sup_points_outside(&b->context, bone, more, a->detail + 3 * (size_t)first, NULL, NULL);
        count += found > 0 ? found : 0;
    }
    return count;
}

static sup_result measure_template(sup_template_build *b, sup_error *error)
{
    const sup_anatomy *a = b->anatomy;
    sup_anatomy_report *r = b->report;
    sup_shape muscle = {a->vertex_count, a->triangle_count, a->muscle, a->triangles};
    sup_shape bone = {a->vertex_count, a->triangle_count, a->bone, a->triangles};
    r->bone_outside = sup_points_outside(&b->context, &muscle, a->vertex_count, a->bone, a->excluded, NULL);
    r->muscle_outside = sup_points_outside(&b->context, &b->skin, a->vertex_count, a->muscle, a->excluded, NULL);
    r->detail_outside = details_outside(b, &bone);
    if (r->bone_outside < 0 || r->muscle_outside < 0 || r->wrap_outside < 0)
        return sup_fail_memory(error, "a template");
    r->inverted_fat = sup_prisms_inverted(a->triangle_count, a->triangles, a->muscle, a->skin, a->excluded, NULL);
    r->inverted_muscle = sup_prisms_inverted(a->triangle_count, a->triangles, a->bone, a->muscle, a->excluded, NULL);
    return measure_alignment(b, error);
}

static sup_result build(sup_template_build *b, sup_error *error)
{
    sup_result result = report_progress(b, 0.0, "checking", error);
    if (result == SUP_OK) result = sup_template_check(&b->context, b->def, error);
    if (result == SUP_OK) result = allocate_maps(b, error);
    if (result == SUP_OK) result = report_progress(b, 0.05, "weights", error);
    if (result == SUP_OK) result = sup_template_rig(b, error);
    if (result == SUP_OK) result = sup_template_smooth_folds(b, error);
    if (result == SUP_OK) result = sup_template_organs(b, error);
    if (result == SUP_OK) result = report_progress(b, 0.1, "wrap of the bones", error);
    if (result == SUP_OK) result = find_wrap(b, error);
    if (result == SUP_OK) result = make_layers(b, error);
    if (result == SUP_OK) result = report_progress(b, 0.95, "measuring", error);
    if (result == SUP_OK) result = sup_template_maps(b, error);
    return result == SUP_OK ? measure_template(b, error) : result;
}

sup_result sup_anatomy_create(const sup_context *context, const sup_anatomy_def *def, sup_anatomy **anatomy,
                              sup_anatomy_report *report, sup_error *error)
{
    if (def == NULL || anatomy == NULL)
        return sup_fail(error, SUP_ERROR_ARGUMENT, "argument.null", "",
                        "sup_anatomy_create needs a sup_anatomy_def and a pointer to the template.");
    sup_anatomy_report unused_report;
    sup_template_build b = {
        .context = sup_context_resolve(context), .def = def, .report = report != NULL ? report : &unused_report};
    memset(b.report, 0, sizeof *b.report);
    struct sup_anatomy_storage *storage = sup_anatomy_storage_create(&b.context);
    b.anatomy = storage != NULL ? sup_arena_alloc(&storage->arena, 1, sizeof *b.anatomy) : NULL;
    if (b.anatomy == NULL) {
        sup_anatomy_storage_destroy(storage);
        return sup_fail_memory(error, "a template");
    }
    b.anatomy->storage = storage;
    b.arena = sup_arena_create(&b.context.allocator);
    sup_result result = build(&b, error);
    if (b.skin_solid.triangles != NULL) sup_mesh_sdf_free(&b.skin_solid);
    sup_rig_destroy(b.rig);
    sup_character_destroy(b.character);
    sup_arena_destroy(&b.arena);
    if (result == SUP_OK)
        *anatomy = b.anatomy;
    else
        sup_anatomy_destroy(b.anatomy);
    return result;
}

void sup_anatomy_destroy(sup_anatomy *anatomy)
{
    if (anatomy != NULL) sup_anatomy_storage_destroy(anatomy->storage);
}

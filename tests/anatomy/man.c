#include "anatomy/man.h"
#include "test.h"

#include "base/base.h"
#include "geometry/remesh.h"

enum { JOINTS = 18 };

static const char *const joint_names[JOINTS] = {"hips",
                                                "spine",
                                                "chest",
                                                "neck",
                                                "head",
                                                "left_upper_arm",
                                                "left_forearm",
                                                "left_hand",
                                                "left_tip",
                                                "right_upper_arm",
                                                "right_forearm",
                                                "right_hand",
                                                "left_upper_leg",
                                                "left_lower_leg",
                                                "left_foot",
                                                "right_upper_leg",
                                                "right_lower_leg",
                                                "right_foot"};
static const int32_t joint_parents[JOINTS] = {-1, 0, 1, 2, 3, 2, 5, 6, 7, 2, 9, 10, 0, 12, 13, 0, 15, 16};
static const double joint_positions[3 * JOINTS] = {
    0,    1.0,  0, 0,    1.15, 0, 0,    1.3,  0, 0,     1.5,  0, 0,     1.6,  0, 0.2,   1.42, 0,
    0.45, 1.42, 0, 0.7,  1.42, 0, 0.85, 1.42, 0, -0.2,  1.42, 0, -0.45, 1.42, 0, -0.7,  1.42, 0,
    0.12, 0.95, 0, 0.14, 0.52, 0, 0.15, 0.12, 0, -0.12, 0.95, 0, -0.14, 0.52, 0, -0.15, 0.12, 0};

/* From joint to joint (or to a point if there is none), with the radius of the skin. */
typedef struct limb {
    double a[3], b[3], skin, muscle, bone;
} limb;
static const limb limbs[] = {
    {{0, 0.98, 0}, {0, 1.4, 0}, 0.15, 0.12, 0.07},           {{0, 1.4, 0}, {0, 1.6, 0}, 0.07, 0.05, 0.03},
    {{0, 1.66, 0}, {0, 1.68, 0}, 0.11, 0.1, 0.09},           {{0, 1.42, 0}, {0.45, 1.42, 0}, 0.065, 0.048, 0.02},
    {{0.45, 1.42, 0}, {0.85, 1.42, 0}, 0.05, 0.035, 0.02},   {{0, 1.42, 0}, {-0.45, 1.42, 0}, 0.065, 0.048, 0.02},
    {{-0.45, 1.42, 0}, {-0.85, 1.42, 0}, 0.05, 0.035, 0.02}, {{0.12, 0.95, 0}, {0.14, 0.52, 0}, 0.085, 0.065, 0.025},
    {{0.14, 0.52, 0}, {0.15, 0.06, 0}, 0.06, 0.045, 0.022},  {{-0.12, 0.95, 0}, {-0.14, 0.52, 0}, 0.085, 0.065, 0.025},
    {{-0.14, 0.52, 0}, {-0.15, 0.06, 0}, 0.06, 0.045, 0.022}};

static double field_of(const void *user, sup_vec3d p)
{
    int layer = *(const int *)user;
    double nearest = 1e9;
    for (size_t i = 0; i < sizeof limbs / sizeof limbs[0]; i++) {
        sup_vec3d a = sup_v3(limbs[i].a[0], limbs[i].a[1], limbs[i].a[2]);
        sup_vec3d b = sup_v3(limbs[i].b[0], limbs[i].b[1], limbs[i].b[2]);
        double radius = layer == 0 ? limbs[i].skin : layer == 1 ? limbs[i].muscle : limbs[i].bone;
        double d = sup_v3_distance(p, sup_v3_lerp(a, b, sup_v3_segment_parameter(p, a, b))) - radius;
        double blend = 0.5 + 0.5 * (d - nearest) / 0.04; /* smooth blend between limbs */
        blend = blend < 0.0 ? 0.0 : blend > 1.0 ? 1.0 : blend;
        nearest = d + (nearest - d) * blend - 0.04 * blend * (1.0 - blend);
        if (i == 0) nearest = d;
    }
    return nearest;
}

static double one(const void *user, sup_vec3d p)
{
    (void)user;
    (void)p;
    return 1.0;
}

static sup_shape surface_of(int layer, double cell, double **positions, int32_t **triangles)
{
    sup_context context = sup_context_resolve(NULL);
    sup_isosurface_def def = {.context = &context,
                              .field = {field_of, &layer},
                              .lower = {-1.0, -0.1, -0.3},
                              .upper = {1.0, 1.9, 0.3},
                              .cell = cell,
                              .slack = 1.5};
    sup_surface surface;
    sup_error error = {0};
    CHECK_OK(sup_isosurface(&def, &surface, &error), error);
    if (layer == 0) { /* uniform triangles */
        sup_remesh_def remesh = {.context = &context,
                                 .field = def.field,
                                 .rounds = 6,
                                 .gradation = 0.2,
                                 .vertex_target = 1.1 / (cell * cell)};
        CHECK_OK(sup_remesh(&remesh, &(sup_field){one, NULL}, &surface, &error), error);
    }
    *positions = malloc(3 * (size_t)surface.vertex_count * sizeof(double));
    *triangles = malloc(3 * (size_t)surface.triangle_count * sizeof(int32_t));
    CHECK(*positions != NULL && *triangles != NULL);
    memcpy(*positions, surface.positions, 3 * (size_t)surface.vertex_count * sizeof(double));
    memcpy(*triangles, surface.triangles, 3 * (size_t)surface.triangle_count * sizeof(int32_t));
    sup_shape shape = {surface.vertex_count, surface.triangle_count, *positions, *triangles};
    sup_surface_free(&surface);
    return shape;
}

void capsule_man_create(capsule_man *man, double cell)
{
    memset(man, 0, sizeof *man);
    man->def.skin = surface_of(0, cell, &man->skin_positions, &man->skin_triangles);
    for (int k = 0; k < 2; k++) {
        man->organs[k].shape = surface_of(2 - k, 0.02, &man->detail[k], &man->detail_triangles[k]);
        man->organs[k].name = k == 0 ? "bones" : "muscles";
        man->organs[k].is_muscle = k == 1;
        man->organs[k].joint = -1;
    }
    man->def.joints = (sup_joints){JOINTS, joint_names, joint_parents, joint_positions};
    man->def.organs = man->organs;
    man->def.organ_count = 2;
}

void capsule_man_free(capsule_man *man)
{
    free(man->skin_positions);
    free(man->skin_triangles);
    for (int k = 0; k < 2; k++) {
        free(man->detail[k]);
        free(man->detail_triangles[k]);
    }
}

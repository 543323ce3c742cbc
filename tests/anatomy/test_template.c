/* The template of a man made of capsules: nested layers, known thickness, file format, invalid input. */
#include "test.h"

#include "anatomy/body_roles.h"
#include "anatomy/bone_parts.h"
#include "anatomy/enclosure.h"
#include "supple/supple.h"
#include "anatomy/joint_match.h"
#include "anatomy/man.h"
#include "anatomy/shapes.h"
#include "anatomy/wrap.h"
#include "volume/solid.h"

static double distance_of(const double *a, const double *b)
{
    return sqrt((a[0] - b[0]) * (a[0] - b[0]) + (a[1] - b[1]) * (a[1] - b[1]) + (a[2] - b[2]) * (a[2] - b[2]));
}

TEST(enclosure_counts_outside_points_and_inverted_prisms)
{
    const double origin[3] = {0.0, 0.0, 0.0};
    owned_shape outer = shape_sphere(2, 1.0, origin), inner = shape_sphere(2, 0.5, origin);
    int32_t n = outer.shape.vertex_count, t = outer.shape.triangle_count;
    CHECK_EQ(sup_points_outside(NULL, &outer.shape, n, inner.positions, NULL, NULL), 0);
    CHECK_EQ(sup_points_outside(NULL, &inner.shape, n, outer.positions, NULL, NULL), n);
    CHECK_EQ(sup_prisms_inverted(t, outer.triangles, inner.positions, outer.positions, NULL, NULL), 0);
    CHECK_EQ(sup_prisms_inverted(t, outer.triangles, outer.positions, inner.positions, NULL, NULL), t);
    double volume = 0.0;
    for (int32_t i = 0; i < t; i++)
        volume += sup_prism_volume(inner.positions, outer.positions, outer.triangles + 3 * (size_t)i);
    double whole = 0.0, none[3 * 3] = {0};
    /* the shell is 7/8 of the solid; inner corners at the centre give the whole solid */
    for (int32_t i = 0; i < t; i++) {
        double corners[9];
        for (int k = 0; k < 9; k++)
            corners[k] = outer.positions[3 * outer.triangles[3 * i + k / 3] + k % 3];
        const int32_t own[3] = {0, 1, 2};
        whole += sup_prism_volume(none, corners, own);
    }
    CHECK_NEAR(volume, 0.875 * whole, 1e-9);
    inner.positions[0] = 1.2;
    CHECK_EQ(sup_points_outside(NULL, &outer.shape, n, inner.positions, NULL, NULL), 1);
    shape_free(&outer);
    shape_free(&inner);
}

TEST(body_roles_come_from_names_and_missing_joints_are_named)
{
    const char *const names[] = {"pelvis",     "spine_T7", "neck_C7", "head",   "jaw",        "clavicle_l",
                                 "shoulder_l", "elbow_l",  "wrist_l", "mcp3_l", "clavicle_r", "shoulder_r",
                                 "elbow_r",    "wrist_r",  "hip_l",   "knee_l", "ankle_l",    "mtp2_l",
                                 "hip_r",      "knee_r",   "ankle_r"};
    const int32_t parents[] = {-1, 0, 1, 2, 3, 1, 5, 6, 7, 8, 1, 10, 11, 12, 0, 14, 15, 16, 0, 18, 19};
    double positions_of[21 * 3] = {0};
    sup_joints joints = {21, names, parents, positions_of};
    sup_body_role roles[21];
    sup_error error = {0};
    CHECK_OK(sup_body_roles(NULL, &joints, roles, &error), error);
    static const sup_body_role expected[21] = {
        SUP_BODY_PELVIS,    SUP_BODY_SPINE,     SUP_BODY_NECK,    SUP_BODY_HEAD,      SUP_BODY_HEAD,
        SUP_BODY_CLAVICLE,  SUP_BODY_UPPER_ARM, SUP_BODY_FOREARM, SUP_BODY_HAND,      SUP_BODY_HAND,
        SUP_BODY_CLAVICLE,  SUP_BODY_UPPER_ARM, SUP_BODY_FOREARM, SUP_BODY_HAND,      SUP_BODY_UPPER_LEG,
        SUP_BODY_LOWER_LEG, SUP_BODY_FOOT,      SUP_BODY_TOE,     SUP_BODY_UPPER_LEG, SUP_BODY_LOWER_LEG,
        SUP_BODY_FOOT};
    for (int i = 0; i < 21; i++)
        CHECK_MSG(roles[i] == expected[i], "%s is %d", names[i], (int)roles[i]);
    joints.count = 18; /* without the right leg */
    CHECK_EQ(sup_body_roles(NULL, &joints, roles, &error), SUP_ERROR_DATA);
    CHECK_TEXT(error.id, "anatomy.skeleton.human");
    CHECK(strstr(error.message, "right thigh") != NULL);
}

/* A cage of bars: the wrap closes it and stays inside the skin and outside the bars. */
TEST(wrap_closes_rings_of_bones)
{
    const double origin[3] = {0.0, 0.0, 0.0};
    owned_shape skin = shape_sphere(3, 0.2, origin), sphere = shape_sphere(1, 0.012, origin);
    enum { BARS = 14 };
    int32_t n = sphere.shape.vertex_count, t = sphere.shape.triangle_count;
    float *positions = malloc(3 * (size_t)n * BARS * sizeof *positions), *outside = malloc(3 * 4098 * sizeof *outside);
    int32_t *triangles = malloc(3 * (size_t)t * BARS * sizeof *triangles);
    CHECK(positions != NULL && triangles != NULL && outside != NULL);
    for (int b = 0; b < BARS; b++)
        for (int32_t i = 0; i < 3 * n; i++) { /* stretched along y, around a circle */
            double offset[3] = {0.13 * cos(6.2831853 * b / BARS), 0.0, 0.13 * sin(6.2831853 * b / BARS)};
            positions[3 * n * b + i] = (float)((i % 3 == 1 ? 6.0 : 1.0) * sphere.positions[i] + offset[i % 3]);
        }
    for (int b = 0; b < BARS; b++)
        for (int32_t i = 0; i < 3 * t; i++)
            triangles[3 * t * b + i] = sphere.triangles[i] + n * b;
    for (int32_t i = 0; i < 3 * skin.shape.vertex_count; i++)
        outside[i] = (float)skin.positions[i];
    sup_context context = sup_context_resolve(NULL);
    sup_mesh_sdf bones, body;
    sup_error error = {0};
    CHECK_OK(sup_mesh_sdf_create(&context, n * BARS, positions, t * BARS, triangles, &bones, &error), error);
    CHECK_OK(sup_mesh_sdf_create(&context, skin.shape.vertex_count, outside, skin.shape.triangle_count, skin.triangles,
                                 &body, &error),
             error);
    sup_wrap_def def = {&bones, 1, &body, 0.008, 0.05, 0.003, 0.004, 2000};
    sup_surface wrap;
    CHECK_OK(sup_wrap_create(&context, &def, &wrap, &error), error);
    sup_wrap_topology topology;
    CHECK_OK(sup_wrap_measure(&context, wrap.vertex_count, wrap.triangle_count, wrap.triangles, &topology, &error),
             error);
    CHECK(topology.closed);
    CHECK_EQ(topology.components, 1);
    CHECK_EQ(topology.genus, 0);
    CHECK(wrap.vertex_count <= 2000);
    double *positions_of = malloc(3 * (size_t)wrap.vertex_count * sizeof *positions_of);
    CHECK(positions_of != NULL);
    memcpy(positions_of, wrap.positions, 3 * (size_t)wrap.vertex_count * sizeof *positions_of);
    sup_shape shape = {wrap.vertex_count, wrap.triangle_count, positions_of, wrap.triangles};
    CHECK_EQ(sup_points_outside(NULL, &skin.shape, wrap.vertex_count, positions_of, NULL, NULL), 0);
    const double middle[3] = {0.0, 0.0, 0.0}; /* inside the ring, far from every bar */
    CHECK_EQ(sup_points_outside(NULL, &shape, 1, middle, NULL, NULL), 0);
    free(positions_of);
    free(positions);
    free(triangles);
    free(outside);
    sup_surface_free(&wrap);
    sup_mesh_sdf_free(&bones);
    sup_mesh_sdf_free(&body);
    shape_free(&skin);
    shape_free(&sphere);
}

TEST(template_layers_are_nested)
{
    capsule_man man;
    capsule_man_create(&man, 0.045);
    sup_anatomy *a = NULL;
    sup_anatomy_report report;
    sup_error error = {0};
    man.def.sex = SUP_SEX_MALE;
    man.def.wrap = man.organs[0].shape; /* already closed, and a grid over the whole man is slow */
    CHECK_OK(sup_anatomy_create(NULL, &man.def, &a, &report, &error), error);
    CHECK_EQ(a->vertex_count, man.def.skin.vertex_count);
    CHECK_EQ(report.bone_outside, 0);
    CHECK_EQ(report.muscle_outside, 0);
    CHECK_EQ(report.inverted_fat, 0);
    CHECK_EQ(report.inverted_muscle, 0);
    CHECK(report.alignment_mean < 0.1);
    CHECK(report.alignment_p95 >= report.alignment_mean);
    int32_t groups[SUP_GROUP_COUNT] = {0}, excluded = 0;
    double thick = 0.0, gap = 0.0;
    int32_t thighs = 0;
    for (int32_t v = 0; v < a->vertex_count; v++) {
        const double *s = a->skin + 3 * v, *m = a->muscle + 3 * v, *b = a->bone + 3 * v;
        groups[a->group[v]]++;
        excluded += a->excluded[v];
        if (a->excluded[v]) {
            CHECK(distance_of(s, b) == 0.0 && distance_of(s, m) == 0.0);
            continue;
        }
        CHECK_NEAR(distance_of(s, m) + distance_of(m, b), distance_of(s, b), 1e-9); /* on the line */
        CHECK(distance_of(m, b) > 0.9e-3);
        if (a->group[v] == SUP_GROUP_UPPER_LEG && fabs(s[1] - 0.7) < 0.1) {
            thighs++;
            thick += a->thickness[v];
            gap += distance_of(s, m);
        }
    }
    CHECK(thighs > 10);
    CHECK_NEAR(thick / thighs, 0.04, 0.01); /* 65 - 25 mm, and the distance of the wrap from the bone */
    /* 85 - 65 mm, less the margin that flat triangles need to enclose the muscle */
    CHECK_NEAR(gap / thighs, 0.016, 0.006);
    CHECK(excluded > 20 && excluded < a->vertex_count / 2);
    CHECK(groups[SUP_GROUP_UPPER_LEG] > 0 && groups[SUP_GROUP_LOWER_LEG] > 0 && groups[SUP_GROUP_UPPER_ARM] > 0 &&
          groups[SUP_GROUP_LOWER_ARM] > 0 && groups[SUP_GROUP_ABDOMEN] > 0 && groups[SUP_GROUP_BACK] > 0);

    /* Written data is read back byte for byte. */
    sup_bytes first = {NULL, 0}, second = {NULL, 0};
    sup_anatomy *again = NULL;
    CHECK_OK(sup_anatomy_write(NULL, a, &first, &error), error);
    CHECK_OK(sup_anatomy_read(NULL, first, &again, &error), error);
    CHECK_OK(sup_anatomy_write(NULL, again, &second, &error), error);
    CHECK(first.size == second.size && memcmp(first.data, second.data, first.size) == 0);
    CHECK_TEXT(again->organ_names[1], "muscles");
    CHECK_EQ(again->sex, SUP_SEX_MALE);
    sup_anatomy_destroy(again);
    again = NULL;
    a->triangles[4] = a->vertex_count; /* the reader detects invalid content with a valid checksum */
    sup_anatomy_bytes_free(NULL, &second);
    CHECK_OK(sup_anatomy_write(NULL, a, &second, &error), error);
    CHECK_EQ(sup_anatomy_read(NULL, second, &again, &error), SUP_ERROR_FORMAT);
    CHECK(again == NULL);
    sup_anatomy_bytes_free(NULL, &first);
    sup_anatomy_bytes_free(NULL, &second);
    sup_anatomy_destroy(a);
    capsule_man_free(&man);
}

TEST(bone_parts_come_from_names)
{
    static const struct {
        const char *name;
        sup_bone_part part;
    } bones[] = {{"Right first rib", SUP_PART_THORAX},
                 {"rib_cage", SUP_PART_THORAX},
                 {"Body of sternum", SUP_PART_THORAX},
                 {"left costal cartilage", SUP_PART_THORAX},
                 {"Intervertebral disk of ninth thoracic vertebra", SUP_PART_THORAX},
                 {"left_shoulder_blade", SUP_PART_SHOULDER},
                 {"Left hip bone", SUP_PART_PELVIS},
                 {"Third lumbar vertebra", SUP_PART_LUMBAR},
                 {"Axis", SUP_PART_NECK},
                 {"Tribute", SUP_PART_UNKNOWN},
                 {"ilia.hips", SUP_PART_UNKNOWN},
                 {"Left femur", SUP_PART_UNKNOWN},
                 {"", SUP_PART_UNKNOWN}};
    for (size_t i = 0; i < sizeof bones / sizeof bones[0]; i++)
        CHECK_MSG(sup_bone_part_of_name(bones[i].name) == bones[i].part, "%s", bones[i].name);
    CHECK_EQ(sup_bone_part_of("Left femur", SUP_BODY_UPPER_LEG), SUP_PART_UPPER_LEG);
    CHECK_EQ(sup_bone_part_of("Left third rib", SUP_BODY_CLAVICLE), SUP_PART_THORAX);
}

TEST(joints_match_by_role_side_and_place)
{
    static const char *const names[] = {"pelvis",     "spine_L3", "spine_T7", "neck_C7", "head",       "clavicle_l",
                                        "shoulder_l", "elbow_l",  "wrist_l",  "mcp3_l",  "shoulder_r", "elbow_r",
                                        "wrist_r",    "hip_l",    "knee_l",   "ankle_l", "mtp2_l",     "hip_r",
                                        "knee_r",     "ankle_r",  "extra"};
    static const char *const expected[] = {"hips",       "spine",           "chest",           "neck",
                                           "head",       "chest",           "left_upper_arm",  "left_forearm",
                                           "left_hand",  "left_hand",       "right_upper_arm", "right_forearm",
                                           "right_hand", "left_upper_leg",  "left_lower_leg",  "left_foot",
                                           "left_foot",  "right_upper_leg", "right_lower_leg", "right_foot",
                                           "right_foot"};
    const int32_t parents[] = {-1, 0, 1, 2, 3, 2, 5, 6, 7, 8, 2, 10, 11, 0, 13, 14, 15, 0, 17, 18, 19};
    const double positions[] = {0,    0.94, 0,     0,    1.1,   0,     0,    1.27,  0,     0,    1.4,   0,    0,
                                1.5,  0,    0.02,  1.35, 0,     0.16,  1.34, 0,     0.21,  1.07, 0,     0.25, 0.83,
                                0,    0.27, 0.75,  0,    -0.16, 1.34,  0,    -0.21, 1.07,  0,    -0.25, 0.83, 0,
                                0.08, 0.84, 0,     0.07, 0.42,  0,     0.07, 0.08,  0,     0.09, 0.02,  0.1,  -0.08,
                                0.84, 0,    -0.07, 0.42, 0,     -0.07, 0.08, 0,     -0.07, 0.0,  0.1};
    enum { COUNT = sizeof names / sizeof names[0] };
    sup_joints from = {COUNT, names, parents, positions};
    int32_t match[COUNT];
    capsule_man man;
    sup_error error = {0};
    capsule_man_create(&man, 0.06);
    CHECK_OK(sup_joints_match(NULL, &from, &man.def.joints, match, &error), error);
    for (int j = 0; j < COUNT; j++)
        CHECK_MSG(match[j] >= 0 && strcmp(man.def.joints.names[match[j]], expected[j]) == 0, "%s is %s", names[j],
                  match[j] < 0 ? "-" : man.def.joints.names[match[j]]);
    from.count = 5; /* not a human */
    CHECK_EQ(sup_joints_match(NULL, &from, &man.def.joints, match, &error), SUP_ERROR_DATA);
    capsule_man_free(&man);
}

/* Part of the vertices of the muscles outside the skin after a step of a method with an arm raised; `farthest` gets the
 * largest distance of a muscle from its place in the rest pose. */
static double muscles_outside(const sup_character *c, const char *method, double angle, double *farthest)
{
    sup_error error = {0};
    sup_rig *rig = NULL;
    sup_pose *pose = NULL;
    sup_model *model = NULL;
    sup_instance *instance = NULL;
    CHECK_OK(sup_rig_create(NULL, c, NULL, &rig, &error), error);
    CHECK_OK(sup_pose_create(NULL, c, &pose, &error), error);
    CHECK_OK(sup_bind(NULL, sup_method_find(method), rig, NULL, &model, &error), error);
    CHECK_OK(sup_instance_create(NULL, model, NULL, &instance, &error), error);
    float *out = malloc(3 * (size_t)rig->vertex_count * sizeof *out);
    double *skin = malloc(3 * (size_t)rig->vertex_count * sizeof *skin);
    CHECK(out != NULL && skin != NULL);
    sup_transform *local = malloc((size_t)c->node_count * sizeof *local);
    CHECK(local != NULL);
    for (int32_t n = 0; n < c->node_count; n++) {
        local[n] = c->nodes[n].rest;
        if (strcmp(c->nodes[n].name, "left_upper_arm") == 0)
            local[n].rotation = (sup_quat){0.0f, 0.0f, (float)sin(0.5 * angle), (float)cos(0.5 * angle)};
    }
    CHECK_EQ(sup_pose_from_local(c, local, pose), SUP_OK);
    free(local);
    sup_skin_out where = {.positions = out};
    CHECK_EQ(sup_instance_reset(instance, pose), SUP_OK);
    for (int f = 0; f < 4; f++)
        CHECK_EQ(sup_instance_step(instance, pose, 1.0f / 30.0f, &where), SUP_OK);
    const sup_primitive *muscles = &c->primitives[c->primitive_count - 1];
    for (int32_t i = 0; i < 3 * rig->vertex_count; i++)
        skin[i] = (double)out[i];
    *farthest = 0.0;
    for (int32_t i = 3 * muscles->vertex_first; i < 3 * (muscles->vertex_first + muscles->vertex_count); i++)
        *farthest = fmax(*farthest, fabs(skin[i] - (double)rig->positions[i]));
    sup_shape surface = {c->primitives[0].vertex_count, c->primitives[0].triangle_count, skin, c->triangles};
    int32_t outside =
        sup_points_outside(NULL, &surface, muscles->vertex_count, skin + 3 * (size_t)muscles->vertex_first, NULL, NULL);
    free(out);
    free(skin);
    sup_instance_destroy(instance);
    sup_model_destroy(model);
    sup_pose_destroy(pose);
    double part = (double)outside / muscles->vertex_count;
    sup_rig_destroy(rig);
    return part;
}

/* Skin and bones carry the muscles: with one joint they leave the skin. */
static void check_muscles_in_motion(const sup_body *body)
{
    sup_error error = {0};
    sup_character *character = NULL;
    double farthest;
    CHECK_OK(sup_body_character(NULL, body, &character, &error), error);
    CHECK(muscles_outside(character, "anatomy", 0.0, &farthest) < 0.002);
    CHECK_MSG(farthest < 0.004, "at rest muscles are %g m away", farthest);
    double rigid = muscles_outside(character, "linear", -0.9, &farthest);
    double carried = muscles_outside(character, "anatomy", -0.9, &farthest);
    CHECK_MSG(rigid > 0.05 && carried < 0.01, "%g outside, %g with one joint", carried, rigid);
    sup_character_destroy(character);
}

/* Of the vertices that an organ's triangles use, along x. */
static double breadth(const sup_anatomy *a, int32_t organ)
{
    double low = INFINITY, high = -INFINITY;
    for (int32_t i = 3 * a->organ_triangle[organ]; i < 3 * a->organ_triangle[organ + 1]; i++) {
        low = fmin(low, a->detail[3 * a->detail_triangles[i]]);
        high = fmax(high, a->detail[3 * a->detail_triangles[i]]);
    }
    return high - low;
}

/* With the ribs as an organ of their own, the chest is held by their joint whatever moves the skin; in one mesh with
 * all other bones, by the weights of the skin. */
TEST(ribs_hold_the_chest)
{
    enum { SPINE = 1, CHEST = 2 };
    capsule_man man;
    capsule_man_create(&man, 0.045);
    sup_anatomy *parts = NULL, *whole = NULL;
    sup_error error = {0};
    man.def.wrap = man.organs[0].shape;
    CHECK_OK(sup_anatomy_create(NULL, &man.def, &whole, NULL, &error), error);
    /* separate triangles, those of the rib cage first */
    sup_shape bones = man.organs[0].shape;
    size_t corners = 3 * (size_t)bones.triangle_count;
    int32_t *triangles = malloc(corners * sizeof *triangles), ribs = 0, others = 0;
    double *positions = malloc(3 * corners * sizeof *positions);
    CHECK(triangles != NULL && positions != NULL);
    for (int32_t t = 0; t < bones.triangle_count; t++) {
        const double *p = bones.positions + 3 * bones.triangles[3 * t];
        bool rib = fabs(p[0]) < 0.1 && p[1] > 1.08 && p[1] < 1.42;
        int32_t to = 3 * (rib ? ribs++ : bones.triangle_count - ++others);
        for (int32_t k = 0; k < 3; k++) {
            memcpy(positions + 3 * (to + k), bones.positions + 3 * bones.triangles[3 * t + k], 3 * sizeof *positions);
            triangles[to + k] = to + k;
        }
    }
    for (int32_t i = 0; i < 3 * others; i++)
        triangles[3 * ribs + i] = i;
    sup_anatomy_organ organs[3] = {man.organs[0], man.organs[0], man.organs[1]};
    organs[0].name = "ribs";
    organs[0].shape = (sup_shape){3 * ribs, ribs, positions, triangles};
    organs[1].shape = (sup_shape){3 * others, others, positions + 9 * (size_t)ribs, triangles + 3 * (size_t)ribs};
    man.def.organs = organs;
    man.def.organ_count = 3;
    CHECK_OK(sup_anatomy_create(NULL, &man.def, &parts, NULL, &error), error);
    int32_t chest = 0, held = 0, by_weight = 0, belly = 0, free_belly = 0;
    for (int32_t v = 0; v < parts->vertex_count; v++) {
        const double *p = parts->skin + 3 * v;
        bool trunk = fabs(p[0]) < 0.1 && !parts->excluded[v];
        if (trunk && p[1] > 1.18 && p[1] < 1.3) {
            chest++;
            held += parts->bone_joint[v] == CHEST;
            by_weight += whole->bone_joint[v] == CHEST;
        }
        if (trunk && p[1] > 1.07 && p[1] < 1.2 && p[2] > 0.05) {
            belly++;
            free_belly += whole->bone_joint[v] < 0;
        }
    }
    CHECK_MSG(chest > 10 && belly > 3, "%d, %d vertices", chest, belly);
    CHECK_EQ(held, chest);
    CHECK(by_weight < chest);
    CHECK_EQ(free_belly, belly);
    CHECK(whole->organ_joint[0] >= 0);
    /* In a body that is much broader the rib cage keeps its breadth, all organs are inside the skin, and growth and
     * loss leave bones in their place. */
    sup_shape skin = {parts->vertex_count, parts->triangle_count, NULL, parts->triangles};
    double *broad = malloc(3 * (size_t)parts->vertex_count * sizeof *broad);
    CHECK(broad != NULL);
    for (int32_t i = 0; i < 3 * parts->vertex_count; i++)
        broad[i] = parts->skin[i] * (i % 3 == 1 ? 1.0 : i % 3 == 2 ? 1.5 : 1.25);
    skin.positions = broad;
    sup_body *body = NULL, *heavier = NULL, *lighter = NULL;
    sup_body_fit_def fit = {.skin = broad};
    CHECK_OK(sup_body_fit(NULL, parts, &fit, &body, &error), error);
    const sup_anatomy *b = &body->layers;
    double before = breadth(parts, 0), after = breadth(b, 0);
    CHECK_MSG(after > 0.95 * before && after < 1.05 * before, "ribs %g times as broad", after / before);
    CHECK_EQ(sup_points_outside(NULL, &skin, b->detail_vertex_count, b->detail, NULL, NULL), 0);
    sup_body_grow_def gain = {.fat = 8.0}, loss = {.fat = -2.0};
    CHECK_OK(sup_body_grow(NULL, body, &gain, &heavier, &error), error);
    CHECK_OK(sup_body_grow(NULL, body, &loss, &lighter, &error), error);
    for (int32_t i = 0; i < 3 * b->organ_vertex[2]; i++) { /* the bones */
        CHECK_NEAR(heavier->layers.detail[i], b->detail[i], 1e-9);
        CHECK_NEAR(lighter->layers.detail[i], b->detail[i], 1e-9);
    }
    check_muscles_in_motion(body);
    sup_body_destroy(body);
    sup_body_destroy(heavier);
    sup_body_destroy(lighter);
    free(broad);
    sup_anatomy_destroy(parts);
    sup_anatomy_destroy(whole);
    capsule_man_free(&man);
    free(triangles);
    free(positions);
}

static void refuse(const sup_anatomy_def *def, const char *id)
{
    sup_anatomy *a = NULL;
    sup_error error = {0};
    CHECK_EQ(sup_anatomy_create(NULL, def, &a, NULL, &error), SUP_ERROR_DATA);
    CHECK_TEXT(error.id, id);
    CHECK(strlen(error.message) > 20 && a == NULL);
}

static bool cancel_immediately(void *user, float fraction, const char *stage)
{
    (void)user;
    (void)fraction;
    (void)stage;
    return false;
}

TEST(template_refuses_invalid_input)
{
    capsule_man man;
    capsule_man_create(&man, 0.06);
    sup_anatomy_def def = man.def;
    def.joints.count = 0;
    refuse(&def, "anatomy.skeleton.none");
    def.joints.count = 12; /* no legs */
    refuse(&def, "anatomy.skeleton.human");
    def = man.def;
    def.organ_count = 0;
    refuse(&def, "anatomy.bones.none");
    def = man.def;
    def.skin.triangle_count = 0;
    refuse(&def, "anatomy.skin.none");
    def = man.def;
    def.skin.triangle_count -= 1;
    refuse(&def, "anatomy.skin.open");
    def = man.def;
    def.exclude = "hips"; /* and all its descendants */
    refuse(&def, "anatomy.excluded");
    def = man.def;
    def.progress = cancel_immediately;
    sup_anatomy *a = NULL;
    CHECK_EQ(sup_anatomy_create(NULL, &def, &a, NULL, NULL), SUP_ERROR_CANCELLED);
    for (int32_t i = 0; i < 3 * man.organs[0].shape.vertex_count; i++)
        man.detail[0][i] += i % 3 == 2 ? 0.5 : 0.0;
    refuse(&man.def, "anatomy.bones.outside");
    for (int32_t t = 0; t < man.def.skin.triangle_count; t++) {
        int32_t swap = man.skin_triangles[3 * t];
        man.skin_triangles[3 * t] = man.skin_triangles[3 * t + 1];
        man.skin_triangles[3 * t + 1] = swap;
    }
    refuse(&man.def, "anatomy.skin.inside_out");
    for (int32_t i = 0; i < 3 * man.def.skin.vertex_count; i++)
        man.skin_positions[i] *= 100.0;
    refuse(&man.def, "anatomy.units");
    man.skin_positions[7] = NAN;
    refuse(&man.def, "anatomy.finite");
    capsule_man_free(&man);
}

/* Retargeting: joint names, the same skeleton, other rest poses, orientations, up axes and sizes; shared asset
 * files. */
#include "math/affine.h"
#include "base/base.h"
#include "pose/joint_names.h"
#include "supple/load.h"
#include "supple/pose.h"
#include "test.h"

TEST(joint_names_of_many_naming_schemes)
{
    static const struct {
        const char *name, *base;
        sup_side side;
        int finger;
    } cases[] = {{"LeftUpLeg", "upleg", SUP_SIDE_LEFT, -1},
                 {"mixamorig:LeftUpLeg", "upleg", SUP_SIDE_LEFT, -1},
                 {"Armature|upleg_l", "upleg", SUP_SIDE_LEFT, -1},
                 {"L_UpLeg", "upleg", SUP_SIDE_LEFT, -1},
                 {"UpLeg.R", "upleg", SUP_SIDE_RIGHT, -1},
                 {"Bip01 R Thigh", "thigh", SUP_SIDE_RIGHT, -1},
                 {"rfemur", "femur", SUP_SIDE_RIGHT, -1},
                 {"leftarm", "arm", SUP_SIDE_LEFT, -1},
                 {"LHipJoint", "hip", SUP_SIDE_LEFT, -1},
                 {"root", "root", SUP_SIDE_NONE, -1},
                 {"Head", "head", SUP_SIDE_NONE, -1},
                 {"LeftHandIndex1", "handindex", SUP_SIDE_LEFT, 1},
                 {"thumb_02_r", "thumb", SUP_SIDE_RIGHT, 0},
                 {"finger5-2.L", "finger", SUP_SIDE_LEFT, 4},
                 {"MiddleHand.L", "middlehand", SUP_SIDE_LEFT, -1},
                 {"index_04_leaf_l", "indexleaf", SUP_SIDE_LEFT, -1},
                 {"", "", SUP_SIDE_NONE, -1},
                 {"leg_joint_L_3", "leg", SUP_SIDE_LEFT, -1}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        sup_joint_name name = sup_joint_name_parse(cases[i].name);
        CHECK_TEXT(name.base, cases[i].base);
        CHECK_MSG(name.side == cases[i].side, "side of %s", cases[i].name);
        CHECK_MSG(name.finger == cases[i].finger, "finger of %s: %d", cases[i].name, name.finger);
    }
    char longest[3000];
    for (size_t i = 0; i + 1 < sizeof longest; i++)
        longest[i] = i % 5 == 0 ? '_' : i % 7 == 0 ? '9' : 'Q';
    longest[sizeof longest - 1] = '\0';
    sup_joint_name name = sup_joint_name_parse(longest);
    CHECK(strlen(name.base) < sizeof name.base);
}

/* --- Two procedural humans --- */

enum { JOINTS = 20, KEYS = 9 };
/* Names in three naming schemes, parent, position: Y up, facing +Z, left at +X. */
static const struct {
    const char *names[3];
    int parent;
    double p[3];
} human[JOINTS] = {{{"Hips", "pelvis", "j_Root"}, -1, {0, 1, 0}},
                   {{"Spine", "spine_01", "Abdomen"}, 0, {0, 1.15, 0}},
                   {{"Spine1", "spine_02", "Chest"}, 1, {0, 1.35, 0}},
                   {{"Neck", "neck_01", "Neck"}, 2, {0, 1.5, 0}},
                   {{"Head", "head", "Head"}, 3, {0, 1.6, 0.02}},
                   {{"LeftShoulder", "clavicle_l", "Collar.L"}, 2, {0.03, 1.45, 0}},
                   {{"LeftArm", "upperarm_l", "Shoulder.L"}, 5, {0.18, 1.45, 0}},
                   {{"LeftForeArm", "lowerarm_l", "Elbow.L"}, 6, {0.45, 1.45, 0}},
                   {{"LeftHand", "hand_l", "Wrist.L"}, 7, {0.7, 1.45, 0}},
                   {{"RightShoulder", "clavicle_r", "Collar.R"}, 2, {-0.03, 1.45, 0}},
                   {{"RightArm", "upperarm_r", "Shoulder.R"}, 9, {-0.18, 1.45, 0}},
                   {{"RightForeArm", "lowerarm_r", "Elbow.R"}, 10, {-0.45, 1.45, 0}},
                   {{"RightHand", "hand_r", "Wrist.R"}, 11, {-0.7, 1.45, 0}},
                   {{"LeftUpLeg", "thigh_l", "Hip.L"}, 0, {0.1, 0.95, 0}},
                   {{"LeftLeg", "calf_l", "Knee.L"}, 13, {0.1, 0.5, 0.02}},
                   {{"LeftFoot", "foot_l", "Ankle.L"}, 14, {0.1, 0.08, 0}},
                   {{"RightUpLeg", "thigh_r", "Hip.R"}, 0, {-0.1, 0.95, 0}},
                   {{"RightLeg", "calf_r", "Knee.R"}, 16, {-0.1, 0.5, 0.02}},
                   {{"RightFoot", "foot_r", "Ankle.R"}, 17, {-0.1, 0.08, 0}},
                   {{"LeftToeBase", "ball_l", "Foot.L"}, 15, {0.1, 0.01, 0.15}}};

typedef struct human_def {
    int spelling;
    double scale, arms_down; /* arms_down: angle of the arms below the T-pose in radians */
    bool z_up, random_axes;
} human_def;

static sup_quatd random_turn(sup_random *random)
{
    sup_vec3d axis =
        sup_v3(sup_random_unit(random) - 0.5, sup_random_unit(random) - 0.5, sup_random_unit(random) - 0.5);
    return sup_quatd_from_axis_angle(axis, 3.0 * sup_random_unit(random));
}

static sup_vec3d human_place(const human_def *def, int joint)
{
    sup_vec3d p = sup_v3(human[joint].p[0], human[joint].p[1], human[joint].p[2]);
    if (joint >= 6 && joint <= 12 && joint != 9) { /* below a shoulder: rotate the arm down about it */
        int shoulder = joint < 9 ? 6 : 10;
        double sign = joint < 9 ? -1.0 : 1.0;
        sup_vec3d s = sup_v3(human[shoulder].p[0], human[shoulder].p[1], human[shoulder].p[2]);
        sup_quatd down = sup_quatd_from_axis_angle(sup_v3(0, 0, 1), sign * def->arms_down);
        p = sup_v3_add(s, sup_quatd_rotate(down, sup_v3_sub(p, s)));
    }
    p = sup_v3_scale(p, def->scale);
    return def->z_up ? sup_v3(p.x, -p.z, p.y) : p; /* facing -Y */
}

static sup_character *make_human(const human_def *def, bool with_clip)
{
    sup_node nodes[JOINTS];
    sup_quatd axes[JOINTS];
    sup_random random = {7};
    float times[KEYS], values[JOINTS][KEYS * 4], root[KEYS * 3];
    sup_channel channels[JOINTS + 1];
    for (int i = 0; i < JOINTS; i++) {
        int parent = human[i].parent;
        axes[i] = def->random_axes ? random_turn(&random) : (sup_quatd){0, 0, 0, 1};
        sup_vec3d p = human_place(def, i);
        sup_quatd q = axes[i];
        if (parent >= 0) {
            p = sup_quatd_rotate(sup_quatd_conjugate(axes[parent]), sup_v3_sub(p, human_place(def, parent)));
            q = sup_quatd_multiply(sup_quatd_conjugate(axes[parent]), q);
        }
        nodes[i] = (sup_node){human[i].names[def->spelling], parent, sup_transform_identity(), true};
        nodes[i].rest.translation = sup_v3_to_float(p);
        nodes[i].rest.rotation = sup_quatd_to_float(q);
        for (int k = 0; k < KEYS; k++) {
            sup_vec3d axis =
                sup_v3(sup_random_unit(&random) - 0.5, sup_random_unit(&random) - 0.5, sup_random_unit(&random) - 0.5);
            sup_quatd turn = sup_quatd_from_axis_angle(axis, k == 0 ? 0.0 : 0.9 * sup_random_unit(&random));
            sup_quat f = sup_quatd_to_float(sup_quatd_multiply(q, turn));
            memcpy(&values[i][4 * k], &f, sizeof f);
        }
        channels[i] = (sup_channel){SUP_CHANNEL_ROTATION, i, SUP_INTERPOLATE_LINEAR, KEYS, times, values[i]};
    }
    for (int k = 0; k < KEYS; k++) {
        times[k] = 0.25f * (float)k;
        root[3 * k] = nodes[0].rest.translation.x + 0.1f * (float)(def->scale * k);
        root[3 * k + 1] = nodes[0].rest.translation.y;
        root[3 * k + 2] = nodes[0].rest.translation.z;
    }
    channels[JOINTS] = (sup_channel){SUP_CHANNEL_TRANSLATION, 0, SUP_INTERPOLATE_LINEAR, KEYS, times, root};
    sup_clip clip = {"move", 0, 0, JOINTS + 1, channels};
    sup_character source = {.name = "human", .node_count = JOINTS, .nodes = nodes}, *made = NULL;
    sup_error error = {0};
    if (with_clip) source.clip_count = 1;
    source.clips = &clip;
    CHECK_OK(sup_character_create(NULL, &source, &made, &error), error);
    return made;
}

static sup_vec3d place_of(const sup_pose *pose, int node)
{
    return sup_v3((double)pose->world[node].m[3], (double)pose->world[node].m[7], (double)pose->world[node].m[11]);
}

/* Largest angle between bones of two poses, in degrees; `z_up` rotates the second from Z up to Y up. */
static double worst_bone(const sup_pose *a, const sup_pose *b, bool z_up)
{
    static const int bones[8][2] = {{6, 7}, {7, 8}, {10, 11}, {11, 12}, {13, 14}, {14, 15}, {16, 17}, {17, 18}};
    double worst = 0.0;
    for (int i = 0; i < 8; i++) {
        sup_vec3d u = sup_v3_sub(place_of(a, bones[i][1]), place_of(a, bones[i][0]));
        sup_vec3d v = sup_v3_sub(place_of(b, bones[i][1]), place_of(b, bones[i][0]));
        if (z_up) v = sup_v3(v.x, v.z, -v.y);
        double cosine = sup_v3_dot(sup_v3_unit_or(u, u), sup_v3_unit_or(v, v));
        worst = fmax(worst, acos(fmin(1.0, cosine)) * 57.29577951);
    }
    return worst;
}

/* A T-pose in centimetres, Y up, onto an A-pose in metres, Z up, with other names and random joint axes. */
TEST(retarget_preserves_limb_directions)
{
    const human_def from = {0, 100.0, 0.0, false, false};
    for (int spelling = 1; spelling < 3; spelling++) {
        const human_def to = {spelling, 1.0, 0.7, true, true};
        sup_character *source = make_human(&from, true), *target = make_human(&to, false);
        sup_clip *clip = NULL;
        sup_pose *a = NULL, *b = NULL;
        sup_error error = {0};
        CHECK_OK(sup_retarget(NULL, source, &source->clips[0], target, NULL, &clip, &error), error);
        CHECK_EQ(clip->channel_count, JOINTS + 1);
        CHECK_TEXT(clip->name, "move");
        CHECK_OK(sup_pose_create(NULL, source, &a, &error), error);
        CHECK_OK(sup_pose_create(NULL, target, &b, &error), error);
        for (int k = 0; k < KEYS; k++) {
            sup_pose_sample(source, &source->clips[0], 0.25 * k, a);
            sup_pose_sample(target, clip, 0.25 * k, b);
            CHECK_NEAR(worst_bone(a, b, true), 0.0, 0.05);
        }
        /* It walks to its left by 0.1 of its size per key. */
        CHECK_NEAR(b->world[0].m[3], 0.1 * (KEYS - 1), 1e-4);
        CHECK_NEAR(b->world[0].m[7], 0.0, 1e-4);
        sup_pose_destroy(a);
        sup_pose_destroy(b);
        sup_clip_destroy(clip);
        sup_character_destroy(source);
        sup_character_destroy(target);
    }
}

/* The first key is the source's rest pose: the target has the same pose, not its own rest pose. */
TEST(retarget_reproduces_the_rest_pose_of_the_source)
{
    const human_def from = {0, 1.0, 0.0, false, true}, to = {1, 1.0, 0.7, false, false};
    sup_character *source = make_human(&from, true), *target = make_human(&to, false);
    sup_retarget_def def = sup_default_retarget_def();
    sup_clip *clip = NULL;
    sup_pose *a = NULL, *b = NULL;
    sup_error error = {0};
    CHECK_OK(sup_pose_create(NULL, source, &a, &error), error);
    CHECK_OK(sup_pose_create(NULL, target, &b, &error), error);
    for (int i = 0; i < 2; i++) {
        def.source_rest_time = i == 0 ? -1.0 : 0.0; /* the same pose, from the nodes and from the clip */
        CHECK_OK(sup_retarget(NULL, source, &source->clips[0], target, &def, &clip, &error), error);
        CHECK_OK(sup_pose_sample(target, clip, 0.0, b), error);
        for (int n = 0; n < JOINTS; n++)
            CHECK_NEAR(sup_v3_distance(place_of(a, n), place_of(b, n)), 0.0, 1e-5);
        /* Hands rotate with the raised arms: about z by the angle of the arms. */
        for (int hand = 8; hand <= 12; hand += 4) {
            CHECK_NEAR(b->world[hand].m[0], cos(0.7), 1e-5);
            CHECK_NEAR(b->world[hand].m[4], hand == 8 ? sin(0.7) : -sin(0.7), 1e-5);
        }
        sup_clip_destroy(clip);
    }
    sup_pose_destroy(a);
    sup_pose_destroy(b);
    sup_character_destroy(source);
    sup_character_destroy(target);
}

static void check_same_motion(const sup_character *c, const sup_clip *clip, const sup_retarget_def *def, bool places,
                              double tolerance)
{
    sup_clip *made = NULL;
    sup_pose *a = NULL, *b = NULL;
    sup_error error = {0};
    CHECK_OK(sup_retarget(NULL, c, clip, c, def, &made, &error), error);
    CHECK_OK(sup_pose_create(NULL, c, &a, &error), error);
    CHECK_OK(sup_pose_create(NULL, c, &b, &error), error);
    double worst = 0.0, size = 0.0;
    for (int k = 0; k <= 20; k++) {
        double time = (double)clip->start + ((double)clip->end - (double)clip->start) * k / 20.0;
        sup_pose_sample(c, clip, time, a);
        sup_pose_sample(c, made, time, b);
        for (int32_t i = 0; i < c->node_count; i++)
            for (int e = 0; e < 12; e++) {
                double difference = fabs((double)a->world[i].m[e] - (double)b->world[i].m[e]);
                if (e % 4 == 3) size = fmax(size, fabs((double)a->world[i].m[e]));
                if (e % 4 != 3) worst = fmax(worst, difference);
                if (e % 4 == 3 && places) worst = fmax(worst, difference / fmax(size, 1e-9));
            }
    }
    CHECK_NEAR(worst, 0.0, tolerance);
    sup_pose_destroy(a);
    sup_pose_destroy(b);
    sup_clip_destroy(made);
}

TEST(retarget_same_skeleton_is_the_same_motion)
{
    const human_def def = {0, 100.0, 0.4, false, true};
    sup_character *c = make_human(&def, true);
    check_same_motion(c, &c->clips[0], NULL, true, 1e-7);
    /* Without root motion the clip is not copied: all channels but the translations are equal. */
    sup_retarget_def still = sup_default_retarget_def();
    still.keep_root_motion = false;
    check_same_motion(c, &c->clips[0], &still, false, 1e-5);
    /* With a joint map the clip is not copied either; all channels are equal. */
    static const char *const one[] = {"Hips"};
    sup_joint_map map = {1, one, one};
    sup_retarget_def mapped = sup_default_retarget_def();
    mapped.map = &map;
    check_same_motion(c, &c->clips[0], &mapped, true, 1e-5);
    sup_character_destroy(c);
}

TEST(retarget_without_root_motion_stays_in_place)
{
    const human_def from = {0, 1.0, 0.0, false, false}, to = {1, 2.0, 0.7, true, true};
    sup_character *source = make_human(&from, true), *target = make_human(&to, false);
    sup_retarget_def def = sup_default_retarget_def();
    sup_clip *clip = NULL;
    sup_pose *pose = NULL;
    sup_error error = {0};
    def.keep_root_motion = false;
    CHECK_OK(sup_retarget(NULL, source, &source->clips[0], target, &def, &clip, &error), error);
    CHECK_OK(sup_pose_create(NULL, target, &pose, &error), error);
    CHECK_OK(sup_pose_sample(target, clip, 2.0, pose), error);
    CHECK_NEAR(pose->world[0].m[3], 0.0, 1e-5);
    CHECK_NEAR(pose->world[0].m[7], 0.0, 1e-5);
    sup_pose_destroy(pose);
    sup_clip_destroy(clip);
    sup_character_destroy(source);
    sup_character_destroy(target);
}

static bool moves_node(const sup_clip *clip, int32_t node)
{
    for (int32_t c = 0; c < clip->channel_count; c++)
        if (clip->channels[c].index == node) return true;
    return false;
}

TEST(retarget_map_takes_precedence)
{
    const human_def from = {0, 1.0, 0.0, false, false}, to = {1, 1.0, 0.0, false, false};
    sup_character *source = make_human(&from, true), *target = make_human(&to, false);
    static const char *const ours[] = {"head", "hand_l"}, *const theirs[] = {NULL, "RightHand"};
    static const char *const wrong[] = {"nose"};
    sup_joint_map map = {2, ours, theirs}, bad_target = {1, wrong, theirs}, bad_source = {1, ours, wrong};
    sup_retarget_def def = sup_default_retarget_def();
    sup_clip *clip = NULL;
    sup_error error = {0};
    def.map = &map;
    CHECK_OK(sup_retarget(NULL, source, &source->clips[0], target, &def, &clip, &error), error);
    CHECK(!moves_node(clip, 4)); /* keeps its rest pose */
    CHECK(moves_node(clip, 8) && moves_node(clip, 3));
    sup_clip_destroy(clip);
    clip = NULL;
    def.map = &bad_target;
    CHECK_EQ(sup_retarget(NULL, source, &source->clips[0], target, &def, &clip, &error), SUP_ERROR_ARGUMENT);
    CHECK_TEXT(error.id, "retarget.map");
    CHECK(strstr(error.message, "nose") != NULL);
    def.map = &bad_source;
    CHECK_EQ(sup_retarget(NULL, source, &source->clips[0], target, &def, &clip, &error), SUP_ERROR_ARGUMENT);
    def = sup_default_retarget_def();
    def.source_rest_time = (double)NAN;
    CHECK_EQ(sup_retarget(NULL, source, &source->clips[0], target, &def, &clip, &error), SUP_ERROR_ARGUMENT);
    CHECK_EQ(sup_retarget(NULL, source, NULL, target, NULL, &clip, &error), SUP_ERROR_ARGUMENT);
    CHECK(clip == NULL);
    sup_character_destroy(source);
    sup_character_destroy(target);
}

TEST(retarget_error_lists_unmatched_joints)
{
    const human_def from = {0, 1.0, 0.0, false, false};
    sup_character *source = make_human(&from, true), *target = NULL;
    sup_clip *clip = NULL;
    sup_error error = {0};
    const char *text = "4\n0 0 0 alpha root\n0 1 0 beta alpha\n0 2 0 gamma beta\n0 3 0 delta gamma\n";
    CHECK_OK(sup_load_memory(NULL, "a.skel", (sup_bytes){text, strlen(text)}, NULL, &target, &error), error);
    CHECK_EQ(sup_retarget(NULL, source, &source->clips[0], target, NULL, &clip, &error), SUP_ERROR_DATA);
    CHECK_TEXT(error.id, "retarget.match");
    CHECK(strstr(error.message, "beta") != NULL && strstr(error.message, "Hips") != NULL);
    CHECK(clip == NULL);
    sup_character_destroy(source);
    sup_character_destroy(target);
}

/* --- Files --- */

static sup_character *load_asset(const char *path)
{
    sup_character *c = NULL;
    sup_error error = {0};
    CHECK_OK(sup_load(NULL, test_asset(path), NULL, &c, &error), error);
    return c;
}

static int32_t node_named(const sup_character *c, const char *name)
{
    int32_t node = sup_character_find_node(c, name);
    CHECK_MSG(node >= 0, "no joint %s", name);
    return node;
}

/* Motion capture onto a character with the same names: limb directions of the source, feet on the ground, left is
 * left. */
TEST(retarget_motion_capture_onto_makehuman)
{
    static const char *const motions[] = {"bvh/cmu_02_01_walk.bvh", "bvh/cmu_22_16_jumpingjacks.bvh",
                                          "bvh/cmu_42_01_stretch_30fps.bvh"};
    static const char *const bones[8][2] = {{"LeftArm", "LeftForeArm"},   {"LeftForeArm", "LeftHand"},
                                            {"RightArm", "RightForeArm"}, {"RightForeArm", "RightHand"},
                                            {"LeftUpLeg", "LeftLeg"},     {"LeftLeg", "LeftFoot"},
                                            {"RightUpLeg", "RightLeg"},   {"RightLeg", "RightFoot"}};
    for (int m = 0; m < 3; m++) {
        sup_character *source = load_asset(motions[m]), *target = load_asset("makehuman/mh_male_average.glb");
        sup_clip *clip = NULL;
        sup_pose *a = NULL, *b = NULL;
        sup_error error = {0};
        CHECK_OK(sup_retarget(NULL, source, &source->clips[0], target, NULL, &clip, &error), error);
        CHECK_OK(sup_pose_create(NULL, source, &a, &error), error);
        CHECK_OK(sup_pose_create(NULL, target, &b, &error), error);
        double lowest = 1e9, rest_height = place_of(b, node_named(target, "LeftToeBase")).y;
        for (int32_t k = 0; k < clip->channels[0].key_count; k += 3) {
            double time = (double)clip->channels[0].times[k];
            sup_pose_sample(source, &source->clips[0], time, a);
            sup_pose_sample(target, clip, time, b);
            for (int i = 0; i < 8; i++) {
                sup_vec3d u = sup_v3_sub(place_of(a, node_named(source, bones[i][1])),
                                         place_of(a, node_named(source, bones[i][0])));
                sup_vec3d v = sup_v3_sub(place_of(b, node_named(target, bones[i][1])),
                                         place_of(b, node_named(target, bones[i][0])));
                CHECK(sup_v3_dot(sup_v3_unit_or(u, u), sup_v3_unit_or(v, v)) > 0.99999);
            }
            lowest = fmin(lowest, place_of(b, node_named(target, "LeftToeBase")).y);
            lowest = fmin(lowest, place_of(b, node_named(target, "RightToeBase")).y);
        }
        CHECK_NEAR(lowest, rest_height, 0.03);
        sup_pose_destroy(a);
        sup_pose_destroy(b);
        sup_clip_destroy(clip);
        sup_character_destroy(source);
        sup_character_destroy(target);
    }
}

/* The clip of the character was made from the same capture by another program: trunk and legs must agree. */
TEST(retarget_agrees_with_another_program)
{
    static const char *const joints[] = {"Hips",     "Spine",     "Spine1",  "LeftShoulder", "LeftArm",
                                         "RightArm", "LeftUpLeg", "LeftLeg", "RightUpLeg",   "RightLeg"};
    sup_character *source = load_asset("bvh/cmu_74_03_kick.bvh"), *target = load_asset("makehuman/mh_male_average.glb");
    int32_t kick = sup_character_find_clip(target, "kick");
    sup_clip *clip = NULL;
    sup_pose *a = NULL, *b = NULL;
    sup_error error = {0};
    CHECK(kick >= 0);
    CHECK_OK(sup_retarget(NULL, source, &source->clips[0], target, NULL, &clip, &error), error);
    CHECK_OK(sup_pose_create(NULL, target, &a, &error), error);
    CHECK_OK(sup_pose_create(NULL, target, &b, &error), error);
    for (int k = 1; k < 32; k++) {
        double time = 0.1 * k;
        sup_pose_sample(target, &target->clips[kick], time, a);
        sup_pose_sample(target, clip, time + 1.0 / 120.0, b); /* the reference starts after the T-pose */
        for (int i = 0; i < 10; i++) {
            const float *u = a->world[node_named(target, joints[i])].m, *v = b->world[node_named(target, joints[i])].m;
            double trace = 0.0;
            for (int r = 0; r < 3; r++)
                for (int c = 0; c < 3; c++)
                    trace += (double)(u[4 * r + c] * v[4 * r + c]);
            CHECK_MSG(trace > 1.0 + 2.0 * cos(0.06), "%s is %g degrees off", joints[i],
                      acos((trace - 1.0) / 2.0) * 57.29577951);
        }
    }
    sup_pose_destroy(a);
    sup_pose_destroy(b);
    sup_clip_destroy(clip);
    sup_character_destroy(source);
    sup_character_destroy(target);
}

/* Every motion on every kind of rig: enough joints are matched, values are finite, heads are above hips on average, and
 * the left foot is on the left. */
TEST(retarget_every_motion_onto_every_rig)
{
    static const char *const motions[] = {"bvh/cmu_02_01_walk.bvh",  "bvh/cmu_02_03_run.bvh",
                                          "bvh/cmu_05_03_dance.bvh", "bvh/mh_walk1.bvh",
                                          "bvh/mh_zombieWalk1.bvh",  "bvh/mh_benchmark_pose.bvh"};
    static const struct {
        const char *path, *hips, *head, *left_knee, *right_knee;
        int up;
    } rigs[] = {{"makehuman/mh_male_obese.glb", "pelvis", "head", "calf_l", "calf_r", 1},
                {"gltf/quat_Knight.glb", "Hips", "Head", "LowerLeg.L", "LowerLeg.R", 1},
                {"gltf/khronos_CesiumMan.glb", "Skeleton_torso_joint_1", "Skeleton_neck_joint_2", "leg_joint_L_2",
                 "leg_joint_R_2", 1},
                {"gltf/m2m_HumanBunny.glb", "pelvis", "head", "calf_l", "calf_r", 1},
                {"gltf/kaykit_Barbarian.glb", "hips", "head", "lowerleg.l", "lowerleg.r", 1},
                {"fps/male/male.skel", "HumanoidRoot", "head", "l_knee", "r_knee", 2},
                {"anatomy/anatomy.skel", "pelvis", "head", "knee_l", "knee_r", 1}};
    for (int m = 0; m < 6; m++)
        for (int r = 0; r < 7; r++) {
            sup_character *source = load_asset(motions[m]), *target = load_asset(rigs[r].path);
            sup_clip *clip = NULL;
            sup_pose *pose = NULL;
            sup_error error = {0};
            CHECK_OK(sup_retarget(NULL, source, &source->clips[0], target, NULL, &clip, &error), error);
            CHECK_MSG(clip->channel_count >= 16, "%s on %s: %d channels", motions[m], rigs[r].path,
                      clip->channel_count);
            CHECK_OK(sup_pose_create(NULL, target, &pose, &error), error);
            double head = 0.0, left = 0.0, rest_left, size;
            int32_t joints[4] = {node_named(target, rigs[r].hips), node_named(target, rigs[r].head),
                                 node_named(target, rigs[r].left_knee), node_named(target, rigs[r].right_knee)};
            sup_vec3d rest_hips = place_of(pose, joints[0]);
            size = sup_v3_distance(rest_hips, place_of(pose, joints[1]));
            rest_left = sup_v3_sub(place_of(pose, joints[2]), place_of(pose, joints[3])).x;
            for (int k = 1; k <= 10; k++) {
                sup_pose_sample(target, clip, (double)clip->end * k / 10.0, pose);
                sup_vec3d spine = sup_v3_sub(place_of(pose, joints[1]), place_of(pose, joints[0]));
                sup_vec3d knees = sup_v3_sub(place_of(pose, joints[2]), place_of(pose, joints[3]));
                CHECK(sup_v3_finite(spine));
                CHECK_NEAR(sup_v3_length(spine) / size, 1.0, 0.25); /* connected */
                head += rigs[r].up == 1 ? spine.y : spine.z;
                left += m < 5 ? knees.x : rest_left;
            }
            CHECK_MSG(head > 5.0 * size, "%s on %s: the head is not up", motions[m], rigs[r].path);
            if (m == 0 || m == 3)
                CHECK_MSG(left * rest_left > 0.0, "%s on %s: left is right", motions[m], rigs[r].path);
            sup_pose_destroy(pose);
            sup_clip_destroy(clip);
            sup_character_destroy(source);
            sup_character_destroy(target);
        }
}

TEST(retarget_files_onto_themselves)
{
    static const char *const files[] = {"bvh/cmu_02_03_run.bvh", "bvh/mh_walk1.bvh", "gltf/m2m_Horse.glb",
                                        "gltf/quat_Knight.glb"};
    for (int i = 0; i < 4; i++) {
        sup_character *c = load_asset(files[i]);
        check_same_motion(c, &c->clips[0], NULL, true, 1e-5);
        sup_character_destroy(c);
    }
}

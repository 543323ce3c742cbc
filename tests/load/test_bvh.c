/* BVH: hierarchy, channels in any order, absolute and relative positions, invalid frame counts. */
#include "read_text.h"

static const char two[] =
    "HIERARCHY\nROOT Hips\n{\n OFFSET 0 10 0\n CHANNELS 6 Zrotation Xposition Yposition Zposition "
    "Xrotation Yrotation\n JOINT Left Arm {\n  OFFSET 5 0 0\n  CHANNELS 2 Yrotation Zrotation\n  "
    "End Site\n  {\n   OFFSET 0 3 0\n  }\n }\n}\nMOTION\nFrames: 2\nFrame Time: 0.5\n"
    "0 1 11 2 0 0 0 0\n90 1 11 2 0 0 0 90\n";

TEST(bvh_skeleton_and_motion)
{
    sup_character *c = GOOD("take/walk one.bvh", two);
    sup_pose *pose = NULL;
    sup_error error = {0};
    CHECK_EQ(c->node_count, 3);
    CHECK_TEXT(c->nodes[1].name, "Left Arm");
    CHECK_TEXT(c->nodes[2].name, "Left Arm_end");
    CHECK_EQ(c->nodes[2].parent, 1);
    CHECK(c->nodes[0].is_joint && c->nodes[2].is_joint);
    CHECK_NEAR(c->nodes[0].rest.translation.y, 10.0, 0.0);
    CHECK_EQ(c->clip_count, 1);
    CHECK_TEXT(c->clips[0].name, "walk one");
    CHECK_EQ(c->clips[0].channel_count, 3);
    CHECK_NEAR(c->clips[0].end, 0.5, 1e-7);
    CHECK_OK(sup_pose_create(NULL, c, &pose, &error), error);
    CHECK_OK(sup_pose_sample(c, &c->clips[0], 0.0, pose), error);
    CHECK_NEAR(pose->world[0].m[3], 1.0, 0.0); /* the position replaces the OFFSET */
    CHECK_NEAR(pose->world[0].m[7], 11.0, 0.0);
    CHECK_NEAR(pose->world[1].m[3], 6.0, 1e-6);
    CHECK_OK(sup_pose_sample(c, &c->clips[0], 0.5, pose), error);
    CHECK_NEAR(pose->world[1].m[7], 16.0, 1e-5); /* rotated up about z */
    CHECK_NEAR(pose->world[2].m[7], 13.0, 1e-5); /* and rotated again: 3 along -y */
    sup_pose_destroy(pose);
    sup_character_destroy(c);
}

/* Rotations are applied in the listed order: the product of the listed matrices. */
TEST(bvh_rotation_orders)
{
    static const char *const orders[6] = {"XYZ", "XZY", "YXZ", "YZX", "ZXY", "ZYX"};
    const double angle[3] = {20.0, -50.0, 110.0};
    for (int o = 0; o < 6; o++) {
        double expected[3] = {1, 2, 3};
        for (int k = 2; k >= 0; k--) { /* the last listed rotation acts first */
            int axis = orders[o][k] - 'X', u = (axis + 1) % 3, v = (axis + 2) % 3;
            double c = cos(angle[k] * 0.017453292519943295), s = sin(angle[k] * 0.017453292519943295);
            double a = expected[u], b = expected[v];
            expected[u] = c * a - s * b;
            expected[v] = s * a + c * b;
        }
        char text[600];
        snprintf(
            text, sizeof text,
            "HIERARCHY\nROOT r\n{\nOFFSET 0 0 0\nCHANNELS 3 %crotation %crotation %crotation\nEnd Site\n{\nOFFSET 1 2 "
            "3\n}\n}\nMOTION\nFrames: 1\nFrame Time: 0.1\n%g %g %g\n",
            orders[o][0], orders[o][1], orders[o][2], angle[0], angle[1], angle[2]);
        sup_character *c = GOOD("a.bvh", text);
        sup_pose *pose = NULL;
        sup_error error = {0};
        CHECK_OK(sup_pose_create(NULL, c, &pose, &error), error);
        CHECK_OK(sup_pose_sample(c, &c->clips[0], 0.0, pose), error);
        for (int k = 0; k < 3; k++)
            CHECK_NEAR(pose->world[1].m[4 * k + 3], expected[k], 1e-5);
        sup_pose_destroy(pose);
        sup_character_destroy(c);
    }
}

/* Positions of inner joints: those near the OFFSET replace it, those near zero are added to it. */
TEST(bvh_positions_are_absolute_or_relative)
{
    static const struct {
        const char *numbers;
        double x, y;
    } cases[] = {{"4 0.5", 4.0, 0.5}, {"0 0", 4.0, 0.0}, {"0.25 -1", 4.25, -1.0}, {"5 1", 5.0, 1.0}};
    for (int i = 0; i < 4; i++) {
        char text[400];
        snprintf(text, sizeof text,
                 "HIERARCHY\nROOT r\n{\nOFFSET 0 0 0\nJOINT a\n{\nOFFSET 4 0 7\nCHANNELS 2 Xposition Yposition\n}\n}\n"
                 "MOTION\nFrames: 1\nFrame Time: 0.1\n%s\n",
                 cases[i].numbers);
        sup_character *c = GOOD("a.bvh", text);
        const sup_channel *channel = &c->clips[0].channels[0];
        CHECK_EQ(channel->target, SUP_CHANNEL_TRANSLATION);
        CHECK_NEAR(channel->values[0], cases[i].x, 1e-6);
        CHECK_NEAR(channel->values[1], cases[i].y, 1e-6);
        CHECK_NEAR(channel->values[2], 7.0, 0.0); /* no channel: the OFFSET is kept */
        sup_character_destroy(c);
    }
}

TEST(bvh_skeleton_without_motion)
{
    sup_character *c = GOOD("a.bvh", "HIERARCHY\nROOT r\n{\nOFFSET 0 0 0\nCHANNELS 0\n}\nROOT s\n{\nOFFSET 1 0 0\n}\n");
    CHECK_EQ(c->node_count, 2);
    CHECK_EQ(c->nodes[1].parent, -1);
    CHECK_EQ(c->clip_count, 0);
    sup_character_destroy(c);
}

#define ONE "HIERARCHY\nROOT r\n{\nOFFSET 0 0 0\nCHANNELS 1 Xrotation\n}\nMOTION\n"

TEST(bvh_errors_name_the_line)
{
    CHECK_REJECTED("a.bvh", "", "bvh.hierarchy", 1);
    CHECK_REJECTED("a.bvh", "MOTION\n", "bvh.hierarchy", 1);
    CHECK_REJECTED("a.bvh", "HIERARCHY\n", "bvh.empty", 2);
    CHECK_REJECTED("a.bvh", "HIERARCHY\nROOT\n{\n", "bvh.name", 2);
    CHECK_REJECTED("a.bvh", "HIERARCHY\nROOT r\nOFFSET 0 0 0\n", "bvh.brace", 3);
    CHECK_REJECTED("a.bvh", "HIERARCHY\nROOT r\n{\nOFFSET 0 0\n}\n", "bvh.offset", 4);
    CHECK_REJECTED("a.bvh", "HIERARCHY\nROOT r\n{\nOFFSET 0 0 nan\n}\n", "bvh.offset", 4);
    CHECK_REJECTED("a.bvh", "HIERARCHY\nROOT r\n{\n}\n", "bvh.offset", 4);
    CHECK_REJECTED("a.bvh", "HIERARCHY\nROOT r\n{\nOFFSET 0 0 0\n", "bvh.brace", 5);
    CHECK_REJECTED("a.bvh", "HIERARCHY\nROOT r\n{\nOFFSET 0 0 0\n}\n}\n", "bvh.brace", 6);
    CHECK_REJECTED("a.bvh", "HIERARCHY\nJOINT r\n{\n", "bvh.hierarchy", 2);
    CHECK_REJECTED("a.bvh", "HIERARCHY\nROOT r\n{\nOFFSET 0 0 0\nCHANNELS 2 Xrotation Wrotation\n}\n", "bvh.channels",
                   5);
    CHECK_REJECTED("a.bvh", "HIERARCHY\nROOT r\n{\nOFFSET 0 0 0\nCHANNELS 9999999999 Xrotation\n}\n", "bvh.channels",
                   6);
    CHECK_REJECTED("a.bvh", "HIERARCHY\nROOT r\n{\nOFFSET 0 0 0\nEnd Site\n{\nCHANNELS 1 Xrotation\n", "bvh.channels",
                   7);
    CHECK_REJECTED("a.bvh", ONE "Frames: two\n", "bvh.frames", 8);
    CHECK_REJECTED("a.bvh", ONE "Frames: 4000000000\nFrame Time: 0.1\n1\n", "bvh.frames", 9);
    CHECK_REJECTED("a.bvh", ONE "Frames: 2\nFrame Time: 0\n1\n2\n", "bvh.frametime", 9);
    CHECK_REJECTED("a.bvh", ONE "Frames: 2\nFrame Time: 0.1\n1          \n", "bvh.frames", 11);
    CHECK_REJECTED("a.bvh", ONE "Frames: 1\nFrame Time: 0.1\n1\n2\n", "bvh.frames", 11);
    CHECK_REJECTED("a.bvh", ONE "Frames: 1\nFrame Time: 0.1\n1 2\n", "bvh.motion", 10);
    CHECK_REJECTED("a.bvh", ONE "Frames: 1\nFrame Time: 0.1\none\n", "bvh.motion", 10);
    CHECK_REJECTED("a.bvh", ONE "Frames: 1\nFrame Time: 0.1\ninf\n", "bvh.motion", 10);
    check_all_prefixes("a.bvh", two, strlen(two));
}

/* A chain of a hundred thousand joints: no recursion, linear time. */
TEST(bvh_deep_hierarchy)
{
    size_t joints = 100000, size = joints * 40 + 100, length;
    char *text = malloc(size);
    CHECK(text != NULL);
    length = (size_t)snprintf(text, size, "HIERARCHY\n");
    for (size_t i = 0; i < joints; i++)
        length += (size_t)snprintf(text + length, size - length, "%s j {\nOFFSET 0 1 0\n", i == 0 ? "ROOT" : "JOINT");
    for (size_t i = 0; i < joints; i++)
        length += (size_t)snprintf(text + length, size - length, "}\n");
    sup_character *c = read_good("a.bvh", text, length);
    CHECK_EQ(c->node_count, (long long)joints);
    sup_character_destroy(c);
    free(text);
}

TEST(bvh_assets)
{
    static const struct {
        const char *path;
        int32_t joints, frames;
    } files[] = {{"bvh/cmu_02_01_walk.bvh", 31, 344},
                 {"bvh/cmu_42_01_stretch_30fps.bvh", 31, 285},
                 {"bvh/mh_walk1.bvh", 75, 14},
                 {"bvh/mh_benchmark_pose.bvh", 163, 1}};
    for (int i = 0; i < 4; i++) {
        sup_character *c = NULL;
        sup_error error = {0};
        CHECK_OK(sup_load(NULL, test_asset(files[i].path), NULL, &c, &error), error);
        int32_t joints = 0;
        for (int32_t n = 0; n < c->node_count; n++)
            joints += strstr(c->nodes[n].name, "_end") == NULL ? 1 : 0;
        CHECK_EQ(joints, files[i].joints);
        CHECK_EQ(c->clips[0].channels[0].key_count, files[i].frames);
        sup_character_destroy(c);
    }
}

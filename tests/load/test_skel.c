/* .skel skeletons, .anim motions and the .ini files that refer to them. */
#include "load/read.h"
#include "read_text.h"

static const char chain[] = "3\n-6 0 0 a root\n1\t0\t0 c b # a comment\n-3 0 0 b a\n";

TEST(skel_positions_become_translations)
{
    sup_character *c = GOOD("x/chain.skel", chain);
    CHECK_TEXT(c->name, "chain");
    CHECK_EQ(c->node_count, 3);
    CHECK_TEXT(c->nodes[1].name, "c");
    CHECK_EQ(c->nodes[1].parent, 2); /* the parent comes later */
    CHECK_EQ(c->nodes[2].parent, 0);
    CHECK_EQ(c->nodes[0].parent, -1);
    CHECK_NEAR(c->nodes[1].rest.translation.x, 4.0, 0.0);
    CHECK_NEAR(c->nodes[0].rest.translation.x, -6.0, 0.0);
    CHECK(c->nodes[0].is_joint && c->nodes[1].is_joint);
    CHECK_NEAR(c->unit_metres, 0.0, 0.0);
    sup_character_destroy(c);
}

TEST(skel_a_joint_may_be_called_root)
{
    sup_character *c = GOOD("a.skel", "2\n0 1 0 root root\n0 2 0 child root\n");
    CHECK_EQ(c->nodes[0].parent, -1);
    CHECK_EQ(c->nodes[1].parent, 0);
    sup_character_destroy(c);
}

TEST(skel_errors_name_the_line)
{
    CHECK_REJECTED("a.skel", "", "skel.count", 1);
    CHECK_REJECTED("a.skel", "zero\n", "skel.count", 1);
    CHECK_REJECTED("a.skel", "0\n", "skel.empty", 1);
    CHECK_REJECTED("a.skel", "-3\n", "skel.count", 1);
    CHECK_REJECTED("a.skel", "4000000000\n0 0 0 a root\n", "skel.count", 1);
    CHECK_REJECTED("a.skel", "2\n0 0 0 a root          \n", "skel.number", 3);
    CHECK_REJECTED("a.skel", "1\n0 0 0 a root\n0 0 0 b root\n", "skel.count", 3);
    CHECK_REJECTED("a.skel", "1\n0 0 0 alone          \n", "skel.joint", 2);
    CHECK_REJECTED("a.skel", "1\n0 0 0 a root too\n", "skel.joint", 2);
    CHECK_REJECTED("a.skel", "1\n0 nought 0 a root\n", "skel.number", 2);
    CHECK_REJECTED("a.skel", "1\n0 nan 0 a root\n", "skel.number", 2);
    CHECK_REJECTED("a.skel", "1\n0 1e39 0 a root\n", "skel.number", 2);
    CHECK_REJECTED("a.skel", "2\n0 0 0 a root\n0 0 0 b c\n", "skel.parent", 3);
    CHECK_REJECTED("a.skel", "3\n0 0 0 a root\n0 0 0 b a\n0 0 0 a b\n", "skel.name", 4);
    CHECK_REJECTED("a.skel", "2\n0 0 0 a b\n0 0 0 b a\n", "character.node.cycle", 0);
    CHECK_REJECTED("a.skel", "1\n0 0 0 a a        \n", "character.node.cycle", 0);
    check_all_prefixes("a.skel", chain, strlen(chain));
}

static sup_result read_anim(const sup_character *target, const char *text, sup_clip **clip, sup_error *error)
{
    sup_context context = sup_context_resolve(NULL);
    sup_read_input input = {&context, "m/bend.anim", {text, strlen(text)}, {NULL, NULL}};
    return sup_read_anim(&input, target, clip, error);
}

static const char bend[] = "3 3\n0\n1 0 0\n1 0 0\n1 0 0\n0 0 0\n1\n1 0 0\n1 0 0\n0 0 2\n0 0 1.5707963\n"
                           "0\n1 0 0\n1 0 0\n0 0 1\n0 0 3.1415926\n";

/* Joint b rotates by a right angle about z: its child c moves up; a and b keep their positions. */
TEST(anim_rotates_joints_about_their_origin)
{
    sup_character *c = GOOD("chain.skel", chain);
    sup_clip *clip = NULL;
    sup_pose *pose = NULL;
    sup_error error = {0};
    CHECK_OK(read_anim(c, bend, &clip, &error), error);
    CHECK_TEXT(clip->name, "bend");
    CHECK_EQ(clip->channel_count, 3);
    CHECK_OK(sup_pose_create(NULL, c, &pose, &error), error);
    CHECK_OK(sup_pose_sample(c, clip, 1.0, pose), error);
    CHECK_NEAR(pose->world[2].m[3], -3.0, 1e-6);
    CHECK_NEAR(pose->world[1].m[3], -3.0, 1e-5);
    CHECK_NEAR(pose->world[1].m[7], 4.0, 1e-5);
    CHECK_OK(sup_pose_sample(c, clip, 0.5, pose), error);
    CHECK_NEAR(pose->world[1].m[7], 4.0 * sin(3.14159265 / 4), 1e-5);
    CHECK_NEAR(clip->end, 2.0, 0.0); /* a key with time 0 is moved to a second after the previous key */
    sup_pose_destroy(pose);
    sup_clip_destroy(clip);
    sup_character_destroy(c);
}

TEST(anim_with_fewer_joints_leaves_the_rest_still)
{
    sup_character *c = GOOD("chain.skel", chain);
    sup_clip *clip = NULL;
    sup_error error = {0};
    CHECK_OK(read_anim(c, "2 2\n0\n0 0 1\n0 0 1\n0 0\n1\n0 0 1\n0 0 1\n0.5 0.25\n", &clip, &error), error);
    CHECK_EQ(clip->channel_count, 2);
    CHECK_EQ(clip->channels[0].index, 0);
    CHECK_EQ(clip->channels[1].index, 1);
    CHECK_NEAR(clip->channels[1].values[6], sin(0.125), 1e-6);
    sup_clip_destroy(clip);
    sup_character_destroy(c);
}

static void check_anim_rejected(const sup_character *c, const char *text, const char *id)
{
    sup_clip *clip = NULL;
    sup_error error = {0};
    CHECK(read_anim(c, text, &clip, &error) != SUP_OK);
    CHECK(clip == NULL);
    CHECK_TEXT(error.id, id);
}

TEST(anim_reports_the_error_id)
{
    sup_character *c = GOOD("chain.skel", chain);
    check_anim_rejected(c, "", "anim.counts");
    check_anim_rejected(c, "x 3\n", "anim.counts");
    check_anim_rejected(c, "0 3\n", "anim.empty");
    check_anim_rejected(c, "2 4\n0\n", "anim.joints");
    check_anim_rejected(c, "2 0\n0\n", "anim.empty");
    check_anim_rejected(c, "4000000000 3\n0\n", "anim.counts");
    check_anim_rejected(c, "1 3\n0\n1 0 0\n1 0 0\n1 0 zero\n0 0 0\n", "anim.number");
    check_anim_rejected(c, "1 3\n0\n1 0 0\n1 0 0\n1 0 inf\n0 0 0\n", "anim.number");
    check_anim_rejected(c, "1 3\n0\n1 0 0\n1 0 0\n1 0 0\n0 0        \n", "anim.number");
    check_anim_rejected(c, "1 3\n0\n1 0 0\n1 0 0\n1 0 0\n0 0 0\n7\n", "anim.counts");
    for (size_t length = 0; length + 9 < strlen(bend); length++) {
        char text[sizeof bend];
        memcpy(text, bend, length);
        text[length] = '\0';
        sup_clip *clip = NULL;
        CHECK(read_anim(c, text, &clip, NULL) != SUP_OK);
    }
    sup_character_destroy(c);
    c = GOOD("a.obj", "v 0 0 0\n");
    check_anim_rejected(c, "1 0\n0\n\n", "anim.target");
    sup_character_destroy(c);
}

/* The cylinder of the assets: bends at the inner joints, its ends stay on the chain. */
TEST(ini_of_the_published_cylinder)
{
    sup_character *c = NULL;
    sup_pose *pose = NULL;
    sup_error error = {0};
    CHECK_OK(sup_load(NULL, test_asset("fps/cylinder/cylinder.ini"), NULL, &c, &error), error);
    CHECK_EQ(c->vertex_count, 800);
    CHECK_EQ(c->bone_count, 4);
    CHECK_EQ(c->clip_count, 1);
    CHECK_TEXT(c->clips[0].name, "cylinder");
    CHECK_OK(sup_pose_create(NULL, c, &pose, &error), error);
    CHECK_OK(sup_pose_sample(c, &c->clips[0], 1.0, pose), error);
    CHECK_NEAR(pose->world[0].m[3], -6.0, 1e-5);
    CHECK_NEAR(pose->world[1].m[3], -3.0, 1e-5);
    CHECK(pose->world[2].m[7] > 3.8f); /* the second bone points up: 1.6 rad about z */
    CHECK(pose->world[3].m[3] > 0.5f); /* the third points to the right: bent back by 1.89 rad */
    sup_pose_destroy(pose);
    sup_character_destroy(c);
}

TEST(ini_of_all_assets)
{
    static const char *const files[] = {"fps/male/male.ini", "fps/tbone/tbone.ini"};
    static const int32_t vertices[] = {23259, 2461}, joints[] = {63, 7};
    for (int i = 0; i < 2; i++) {
        sup_character *c = NULL;
        sup_error error = {0};
        CHECK_OK(sup_load(NULL, test_asset(files[i]), NULL, &c, &error), error);
        CHECK_EQ(c->vertex_count, vertices[i]);
        CHECK_EQ(c->bone_count, joints[i]);
        CHECK_EQ(c->clip_count, 1);
        sup_character_destroy(c);
    }
}

/* Every published motion fits its skeleton, including those with invalid times. */
TEST(anim_assets)
{
    static const char *const files[] = {"fps/male/male0.anim",   "fps/male/male1.anim",  "fps/male/male2.anim",
                                        "fps/male/male3.anim",   "fps/male/male4.anim",  "fps/male/male5.anim",
                                        "fps/tbone/tbone0.anim", "fps/tbone/tbone1.anim"};
    static const double ends[] = {2, 4, 2, 1, 2, 2, 2, 2};
    for (int i = 0; i < 8; i++) {
        sup_character *c = NULL;
        sup_clip *clip = NULL;
        sup_error error = {0};
        CHECK_OK(sup_load(NULL, test_asset(i < 6 ? "fps/male/male.skel" : "fps/tbone/tbone.skel"), NULL, &c, &error),
                 error);
        CHECK_OK(sup_load_motion(NULL, test_asset(files[i]), NULL, c, NULL, &clip, &error), error);
        CHECK_NEAR(clip->end, ends[i], 0.0);
        sup_clip_destroy(clip);
        sup_character_destroy(c);
    }
}

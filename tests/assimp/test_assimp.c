/* FBX and Collada through Assimp: the files of the assets, a small Collada file, bad files. */
#include "assimp_reader.h"
#include "supple/pose.h"
#include "test.h"

static sup_character *load_asset(const char *path)
{
    sup_load_def def = {.other = sup_read_assimp};
    sup_character *c = NULL;
    sup_error error = {0};
    CHECK_OK(sup_load(NULL, test_asset(path), &def, &c, &error), error);
    return c;
}

/* A rigged animal: weights, bones with their nodes, clips. Joints are the nodes that move vertices; leaf and helper
 * nodes are not joints. */
static void check_rigged(const char *path, int32_t bones, int32_t clips)
{
    sup_character *c = load_asset(path);
    sup_pose *pose = NULL;
    sup_error error = {0};
    int32_t joints = 0;
    for (int32_t i = 0; i < c->node_count; i++) {
        joints += c->nodes[i].is_joint ? 1 : 0;
        CHECK(strstr(c->nodes[i].name, "$AssimpFbx$") == NULL);
    }
    CHECK_EQ(joints, bones);
    CHECK_EQ(c->clip_count, clips);
    CHECK(c->vertex_count > 0 && c->triangle_count > 0 && c->normals != NULL);
    CHECK_NEAR(c->unit_metres, 0.01, 1e-6);
    int32_t weighted = 0;
    for (int32_t v = 0; v < c->vertex_count; v++) {
        float sum = 0.0f;
        for (int32_t k = c->influence_first[v]; k < c->influence_first[v + 1]; k++)
            sum += c->influence_weight[k];
        weighted += sum > 0.2f && sum < 1.5f ? 1 : 0;
    }
    CHECK(weighted > c->vertex_count * 97 / 100); /* sums as in the file: the rig normalizes them */
    CHECK_OK(sup_pose_create(NULL, c, &pose, &error), error);
    for (int32_t i = 0; i < c->clip_count; i++) {
        CHECK(c->clips[i].end > c->clips[i].start && c->clips[i].end < 60.0f);
        CHECK_EQ(sup_pose_sample(c, &c->clips[i], (double)c->clips[i].end * 0.5, pose), SUP_OK);
    }
    /* The rest pose differs from the bind pose, but not at the torso: its bones transform the skin like the node of the
     * mesh. */
    CHECK_EQ(sup_pose_rest(c, pose), SUP_OK);
    int32_t bound = 0;
    for (int32_t b = 0; b < c->bone_count; b++) {
        sup_mat34 m = sup_mat34_multiply(pose->world[c->bones[b].node], c->bones[b].inverse_bind);
        const sup_mat34 *mesh = &pose->world[c->primitives[0].node];
        double difference = 0.0, size = 0.0;
        for (int e = 0; e < 12; e++) {
            difference = fmax(difference, fabs((double)(m.m[e] - mesh->m[e])));
            size = fmax(size, fabs((double)mesh->m[e]));
        }
        bound += difference < 0.05 * size ? 1 : 0;
    }
    CHECK_MSG(bound >= 3, "only %d bones are in the bind pose", bound);
    sup_pose_destroy(pose);
    sup_character_destroy(c);
}

TEST(assimp_pig)
{
    check_rigged("fbx/quat_Pig.fbx", 24, 2);
}

TEST(assimp_skeleton)
{
    check_rigged("fbx/quat_Skeleton.fbx", 12, 5);
}

/* An animation without a mesh is retargeted to another character. */
TEST(assimp_motion_for_a_character)
{
    sup_character *motion = load_asset("fbx/cmu_91_48_jumpturn_animonly.fbx");
    CHECK_EQ(motion->vertex_count, 0);
    CHECK(motion->clip_count >= 1);
    CHECK(motion->node_count >= 43);
    CHECK(motion->nodes[sup_character_find_node(motion, "rCollar")].is_joint);
    sup_character_destroy(motion);
    sup_load_def def = {.other = sup_read_assimp};
    sup_character *target = load_asset("makehuman/mh_male_average.glb");
    sup_clip *clip = NULL;
    sup_error error = {0};
    CHECK_OK(
        sup_load_motion(NULL, test_asset("fbx/cmu_91_48_jumpturn_animonly.fbx"), &def, target, NULL, &clip, &error),
        error);
    CHECK(clip->channel_count > 15);
    CHECK(clip->end > 0.5f);
    sup_clip_destroy(clip);
    sup_character_destroy(target);
}

static const char collada[] =
    "<?xml version=\"1.0\"?><COLLADA xmlns=\"http://www.collada.org/2005/11/COLLADASchema\" version=\"1.4.1\"><asset>"
    "<up_axis>Y_UP</up_axis></asset><library_geometries><geometry id=\"g\" name=\"tri\"><mesh><source id=\"p\">"
    "<float_array id=\"pa\" count=\"12\">0 0 0 1 0 0 1 1 0 0 1 0</float_array><technique_common><accessor "
    "source=\"#pa\" "
    "count=\"4\" stride=\"3\"><param name=\"X\" type=\"float\"/><param name=\"Y\" type=\"float\"/><param name=\"Z\" "
    "type=\"float\"/></accessor></technique_common></source><vertices id=\"v\"><input semantic=\"POSITION\" "
    "source=\"#p\"/></vertices><polylist count=\"1\"><input semantic=\"VERTEX\" source=\"#v\" offset=\"0\"/><vcount>4"
    "</vcount><p>0 1 2 3</p></polylist></mesh></geometry></library_geometries><library_visual_scenes><visual_scene "
    "id=\"s\"><node id=\"n\" name=\"square\"><translate>0 0 5</translate><instance_geometry url=\"#g\"/></node>"
    "</visual_scene></library_visual_scenes><scene><instance_visual_scene url=\"#s\"/></scene></COLLADA>";

TEST(assimp_collada)
{
    sup_load_def def = {.other = sup_read_assimp};
    sup_character *c = NULL;
    sup_error error = {0};
    CHECK_OK(sup_load_memory(NULL, "square.dae", (sup_bytes){collada, strlen(collada)}, &def, &c, &error), error);
    CHECK_EQ(c->triangle_count, 2);
    CHECK_EQ(c->primitive_count, 1);
    CHECK_EQ(c->primitives[0].skin, -1);
    sup_pose *pose = NULL;
    CHECK_OK(sup_pose_create(NULL, c, &pose, &error), error);
    CHECK_NEAR(pose->world[c->primitives[0].node].m[11], 5.0, 1e-6);
    sup_pose_destroy(pose);
    sup_character_destroy(c);
}

TEST(assimp_rejects_bad_files)
{
    sup_load_def def = {.other = sup_read_assimp};
    sup_character *c = NULL;
    sup_error error = {0};
    sup_bytes junk = {"this is no model", 16}, nothing = {"", 0};
    CHECK_EQ(sup_load_memory(NULL, "a.fbx", junk, &def, &c, &error), SUP_ERROR_FORMAT);
    CHECK_TEXT(error.id, "assimp.read");
    CHECK_EQ(sup_load_memory(NULL, "a.fbx", nothing, &def, &c, &error), SUP_ERROR_FORMAT);
    CHECK_EQ(sup_load_memory(NULL, "a.dae", (sup_bytes){collada, 400}, &def, &c, &error), SUP_ERROR_FORMAT);
    CHECK_EQ(sup_load_memory(NULL, "a.xyz", junk, &def, &c, &error), SUP_ERROR_UNSUPPORTED);
    CHECK_TEXT(error.id, "load.format");
    CHECK(c == NULL);
}

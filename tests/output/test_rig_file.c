/* Saving a rig as a GLB: the loaded character skins like the rig, and unsupported rigs are rejected. */
#include "helpers.h"
#include "supple/supple.h"

/* Maximum distance of corresponding vertices in the middle of a clip, relative to the size. */
static double difference(const sup_rig *a, const sup_rig *b, int32_t clip)
{
    const sup_rig *rigs[2] = {a, b};
    double *positions[2];
    sup_error error;
    for (int k = 0; k < 2; k++) {
        const sup_character *character = rigs[k]->character;
        sup_pose *pose = NULL;
        CHECK_OK(sup_pose_create(NULL, character, &pose, &error), error);
        if (clip >= 0) {
            const sup_clip *c = &character->clips[clip];
            CHECK(sup_pose_sample(character, c, 0.4 * (double)c->start + 0.6 * (double)c->end, pose) == SUP_OK);
        }
        positions[k] = malloc((size_t)rigs[k]->vertex_count * 3 * sizeof(double));
        CHECK(sup_reference_skin(NULL, rigs[k], pose, false, positions[k], NULL) == SUP_OK);
        sup_pose_destroy(pose);
    }
    double maximum = 0.0;
    for (int32_t i = 0; i < 3 * a->vertex_count; i++)
        maximum = fmax(maximum, fabs(positions[0][i] - positions[1][i]));
    free(positions[0]);
    free(positions[1]);
    return maximum / (double)a->size;
}

/* Saves a rig of `character`, which is freed, loads it and compares both. */
static void check_round_trip(sup_character *character, const sup_rig_def *def)
{
    sup_rig *rig = NULL, *again = NULL;
    sup_error error;
    const char *path = test_temp("rig.glb");
    CHECK_OK(sup_rig_create(NULL, character, def, &rig, &error), error);
    CHECK_OK(sup_rig_save(NULL, rig, path, &error), error);
    sup_character *loaded = helper_read_gltf(path);
    CHECK_OK(sup_rig_create(NULL, loaded, &(sup_rig_def){.weights = SUP_WEIGHTS_FILE}, &again, &error), error);
    CHECK_EQ(again->vertex_count, rig->vertex_count);
    CHECK_EQ(loaded->triangle_count, character->triangle_count);
    CHECK_EQ(again->joint_count, rig->joint_count);
    CHECK_EQ(loaded->clip_count, character->clip_count);
    for (int32_t j = 0; j < rig->joint_count; j++)
        CHECK_TEXT(loaded->nodes[again->joint_node[j]].name, character->nodes[rig->joint_node[j]].name);
    CHECK(difference(rig, again, -1) < 1e-6);
    for (int32_t c = 0; c < character->clip_count; c++)
        CHECK(difference(rig, again, c) < 1e-5);
    sup_rig_destroy(again);
    sup_rig_destroy(rig);
    sup_character_destroy(loaded);
    sup_character_destroy(character);
}

static sup_character *scene(const char *name, double resolution)
{
    sup_character *character = NULL;
    sup_error error;
    CHECK_OK(sup_scene_create(NULL, name, resolution, &character, &error), error);
    return character;
}

TEST(saved_rig_gives_the_same_skinning)
{
    check_round_trip(scene("human", 0.1), NULL);
    check_round_trip(scene("arm", 0.2), &(sup_rig_def){.weights = SUP_WEIGHTS_HEAT, .max_influences = 6});
}

/* The tubes of the scene on two skeletons without a common root. */
TEST(mesh_without_weights_gets_a_skin)
{
    static const char skel[] = "4\n0 0.1 0 a root\n0 0.4 0 b a\n0 0.6 0 c root\n0 0.9 0 d c\n";
    sup_character *tube = scene("cylinder", 0.2), *bare = NULL, *skeleton = NULL, *joined = NULL;
    sup_character source = *tube;
    sup_primitive primitive = tube->primitives[0];
    sup_node node = {.name = "tube", .parent = -1, .rest = {.rotation = {0, 0, 0, 1}, .scale = {1, 1, 1}}};
    sup_error error;
    primitive.skin = -1;
    primitive.node = 0;
    source.nodes = &node;
    source.node_count = 1;
    source.primitives = &primitive;
    source.skins = NULL;
    source.bones = NULL;
    source.influence_first = NULL;
    source.skin_count = source.bone_count = source.clip_count = 0;
    CHECK_OK(sup_character_create(NULL, &source, &bare, &error), error);
    CHECK_OK(sup_load_memory(NULL, "s.skel", (sup_bytes){skel, strlen(skel)}, NULL, &skeleton, &error), error);
    CHECK_OK(sup_character_join(NULL, bare, skeleton, &joined, &error), error);
    check_round_trip(joined, NULL);
    sup_character_destroy(skeleton);
    sup_character_destroy(bare);
    sup_character_destroy(tube);
}

TEST(unsupported_rig_is_rejected)
{
    sup_character *character = scene("arm", 0.1);
    sup_rig *rig = NULL;
    sup_error error;
    CHECK_OK(sup_rig_create(NULL, character, NULL, &rig, &error), error);
    CHECK(sup_rig_save(NULL, NULL, "a.glb", &error) == SUP_ERROR_ARGUMENT);
    CHECK(sup_rig_save(NULL, rig, NULL, &error) == SUP_ERROR_ARGUMENT);
    CHECK(sup_rig_save(NULL, rig, "/nowhere/a.glb", &error) == SUP_ERROR_IO);
    int32_t *nodes = malloc((size_t)rig->joint_count * sizeof *nodes);
    memcpy(nodes, rig->joint_node, (size_t)rig->joint_count * sizeof *nodes);
    nodes[1] = nodes[0];
    sup_rig twice = *rig;
    twice.joint_node = nodes;
    const char *path = test_temp("twice.glb");
    CHECK(sup_rig_save(NULL, &twice, path, &error) == SUP_ERROR_UNSUPPORTED);
    CHECK_TEXT(error.id, "output.rig.twice");
    CHECK_EQ(helper_count_files("twice.glb"), 0);
    free(nodes);
    sup_rig_destroy(rig);
    sup_character_destroy(character);
}

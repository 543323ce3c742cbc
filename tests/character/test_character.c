/* What sup_character_finish accepts and rejects; joining a mesh with a skeleton. */
#include "character/character.h"
#include "test.h"

static sup_node nodes[3];
static sup_bone bones[2];
static sup_skin skins[1];
static sup_primitive primitives[1];
static float positions[9] = {0, 0, 0, 1, 0, 0, 0, 1, 0};
static int32_t triangles[3] = {0, 1, 2};
static int32_t first[4] = {0, 1, 2, 3};
static int32_t bone_index[3] = {0, 1, 0};
static float weight[3] = {1, 1, 1};
static float times[2] = {0.0f, 2.0f}, values[8] = {0, 0, 0, 1, 0, 0, 0, 1};
static sup_channel channel;
static sup_clip clip;

static sup_character sample(void)
{
    for (int i = 0; i < 3; i++)
        nodes[i] = (sup_node){i == 0 ? "a" : i == 1 ? "b" : "mesh", i == 1 ? 0 : -1, sup_transform_identity(), false};
    nodes[1].rest.translation.y = 1.0f;
    for (int i = 0; i < 2; i++)
        bones[i] = (sup_bone){i, sup_mat34_identity()};
    skins[0] = (sup_skin){"skin", 0, 2};
    primitives[0] = (sup_primitive){"primitive", 2, 0, 0, 0, -1, 0, 3, 0, 1};
    channel = (sup_channel){SUP_CHANNEL_ROTATION, 1, SUP_INTERPOLATE_LINEAR, 2, times, values};
    clip = (sup_clip){"turn", 0, 0, 1, &channel};
    return (sup_character){.name = "sample",
                           .node_count = 3,
                           .nodes = nodes,
                           .bone_count = 2,
                           .bones = bones,
                           .skin_count = 1,
                           .skins = skins,
                           .primitive_count = 1,
                           .primitives = primitives,
                           .vertex_count = 3,
                           .positions = positions,
                           .triangle_count = 1,
                           .triangles = triangles,
                           .influence_first = first,
                           .influence_bone = bone_index,
                           .influence_weight = weight,
                           .clip_count = 1,
                           .clips = &clip};
}

static const char *error_id_of(sup_character source)
{
    static sup_error error;
    sup_character *made = NULL;
    memset(&error, 0, sizeof error);
    CHECK(sup_character_create(NULL, &source, &made, &error) != SUP_OK);
    CHECK(made == NULL);
    return error.id;
}

TEST(create_copies_and_orders)
{
    sup_character source = sample(), *made = NULL;
    sup_error error;
    nodes[0].parent = 1; /* child before parent in the file's order */
    nodes[1].parent = -1;
    CHECK_OK(sup_character_create(NULL, &source, &made, &error), error);
    CHECK_EQ(made->node_count, 3);
    int32_t position[3];
    for (int32_t i = 0; i < 3; i++)
        position[made->node_order[i]] = i;
    CHECK(position[1] < position[0]);
    CHECK(made->nodes[0].is_joint && made->nodes[1].is_joint && !made->nodes[2].is_joint);
    CHECK_NEAR(made->clips[0].end, 2.0, 0.0);
    CHECK(made->positions != positions && made->positions[3] == 1.0f);
    CHECK_EQ(sup_character_find_node(made, "b"), 1);
    CHECK_EQ(sup_character_find_clip(made, "none"), -1);
    sup_character_destroy(made);
}

TEST(create_reports_the_error_id)
{
    sup_character bad = sample();
    nodes[0].parent = 1;
    CHECK_TEXT(error_id_of(bad), "character.node.cycle");
    bad = sample();
    nodes[0].parent = 9;
    CHECK_TEXT(error_id_of(bad), "character.node.parent");
    bad = sample();
    nodes[1].rest.scale.y = (float)NAN;
    CHECK_TEXT(error_id_of(bad), "character.node.nonfinite");
    bad = sample();
    bones[1].node = 3;
    CHECK_TEXT(error_id_of(bad), "character.bone.node");
    bad = sample();
    skins[0].bone_count = 3;
    CHECK_TEXT(error_id_of(bad), "character.skin.range");
    bad = sample();
    primitives[0].node = 7;
    CHECK_TEXT(error_id_of(bad), "character.primitive.range");
    bad = sample();
    bad.vertex_count = 2; /* triangle 2 now refers past the end */
    primitives[0].vertex_count = 2;
    CHECK_TEXT(error_id_of(bad), "character.triangle.range");
    bad = sample();
    bone_index[2] = 2;
    CHECK_TEXT(error_id_of(bad), "character.influence.range");
    bone_index[2] = 0;
    bad = sample();
    times[1] = -1.0f;
    CHECK_TEXT(error_id_of(bad), "character.clip.order");
    times[1] = (float)INFINITY;
    CHECK_TEXT(error_id_of(bad), "character.clip.nonfinite");
    times[1] = 2.0f;
    bad = sample();
    channel.index = 3;
    CHECK_TEXT(error_id_of(bad), "character.clip.target");
    bad = sample();
    channel.key_count = 0;
    CHECK_TEXT(error_id_of(bad), "character.clip.empty");
}

TEST(join_binds_a_mesh_to_a_skeleton)
{
    sup_character source = sample(), *mesh = NULL, *skeleton = NULL, *joined = NULL;
    sup_error error;
    source.clip_count = 0;
    primitives[0].node = 0;
    primitives[0].skin = -1;
    nodes[0].rest.translation.x = 5.0f;
    source.node_count = 1;
    source.bone_count = source.skin_count = 0;
    source.influence_first = NULL;
    CHECK_OK(sup_character_create(NULL, &source, &mesh, &error), error);
    source = sample();
    source.primitive_count = source.vertex_count = source.triangle_count = 0;
    source.influence_first = NULL;
    CHECK_OK(sup_character_create(NULL, &source, &skeleton, &error), error);
    CHECK_OK(sup_character_join(NULL, mesh, skeleton, &joined, &error), error);
    CHECK_EQ(joined->node_count, 4);
    CHECK_EQ(joined->primitives[0].node, 3);
    CHECK_EQ(joined->bone_count, 2);
    /* Bone 1 is at y = 1, the mesh at x = 5: mesh space -> joint space adds (5, -1, 0). */
    CHECK_NEAR(joined->bones[1].inverse_bind.m[3], 5.0, 1e-6);
    CHECK_NEAR(joined->bones[1].inverse_bind.m[7], -1.0, 1e-6);
    CHECK_EQ(joined->clip_count, 1);
    sup_character_destroy(joined);
    joined = NULL;
    CHECK_EQ(sup_character_join(NULL, skeleton, skeleton, &joined, &error), SUP_ERROR_DATA);
    CHECK_TEXT(error.id, "character.join.empty");
    sup_character_destroy(mesh);
    sup_character_destroy(skeleton);
}

/* test_character_save.c - a character written as GLB and loaded again is the same. */
#include "helpers.h"

#include "math/affine.h"
#include "supple/load.h"
#include "supple/scenes.h"

static void check_floats(const char *what, const float *a, const float *b, size_t count, double tolerance)
{
    CHECK_MSG((a == NULL) == (b == NULL), "%s: only one of both has them", what);
    for (size_t i = 0; a != NULL && i < count; i++)
        CHECK_MSG(fabs((double)a[i] - (double)b[i]) <= tolerance, "%s %zu: %.9g, expected %.9g", what, i, (double)b[i],
                  (double)a[i]);
}

static void check_nodes(const sup_character *a, const sup_character *b)
{
    CHECK(b->node_count >= a->node_count); /* nodes for primitives that share a node are appended */
    for (int32_t i = 0; i < a->node_count; i++) {
        CHECK_TEXT(b->nodes[i].name, a->nodes[i].name);
        CHECK_EQ(b->nodes[i].parent, a->nodes[i].parent);
        check_floats("rest", (const float *)&a->nodes[i].rest, (const float *)&b->nodes[i].rest, 10, 2e-6);
    }
    CHECK_EQ(b->bone_count, a->bone_count);
    CHECK_EQ(b->skin_count, a->skin_count);
    for (int32_t i = 0; i < a->bone_count; i++) {
        CHECK_EQ(b->bones[i].node, a->bones[i].node);
        check_floats("inverse bind", a->bones[i].inverse_bind.m, b->bones[i].inverse_bind.m, 12, 0.0);
    }
}

/* The weights of a vertex as stored: each bone once, positive, sum 1. */
static double true_weight(const sup_character *c, int32_t v, int32_t bone)
{
    double sum = 0.0, mine = 0.0;
    for (int32_t k = c->influence_first[v]; k < c->influence_first[v + 1]; k++) {
        double weight = (double)c->influence_weight[k];
        if (!(weight > 0.0) || !isfinite(weight)) continue;
        sum += weight;
        if (c->influence_bone[k] == bone) mine += weight;
    }
    bool first = false; /* a vertex without influences is assigned to the first bone */
    for (int32_t s = 0; s < c->skin_count; s++)
        first = first || c->skins[s].bone_first == bone;
    return sum > 0.0 ? mine / sum : first ? 1.0 : 0.0;
}

static void check_influences(const sup_character *a, const sup_character *b)
{
    for (int32_t v = 0; v < a->vertex_count; v++) {
        double sum = 0.0;
        for (int32_t k = b->influence_first[v]; k < b->influence_first[v + 1]; k++) {
            CHECK_NEAR(b->influence_weight[k], true_weight(a, v, b->influence_bone[k]), 1e-6);
            sum += (double)b->influence_weight[k];
        }
        if (a->influence_first[v + 1] > a->influence_first[v]) CHECK_NEAR(sum, 1.0, 1e-6);
    }
}

static void check_clips(const sup_character *a, const sup_character *b)
{
    CHECK_EQ(b->clip_count, a->clip_count);
    for (int32_t i = 0; i < a->clip_count; i++) {
        CHECK_TEXT(b->clips[i].name, a->clips[i].name);
        CHECK_NEAR(b->clips[i].end - b->clips[i].start, a->clips[i].end - a->clips[i].start, 1e-6);
    }
}

static void check_same(const sup_character *a, const sup_character *b)
{
    size_t vertices = (size_t)a->vertex_count;
    CHECK_EQ(b->vertex_count, a->vertex_count);
    CHECK_EQ(b->triangle_count, a->triangle_count);
    check_nodes(a, b);
    CHECK(memcmp(a->triangles, b->triangles, (size_t)a->triangle_count * 3 * sizeof(int32_t)) == 0);
    check_floats("position", a->positions, b->positions, vertices * 3, 0.0);
    check_floats("normal", a->normals, b->normals, vertices * 3, 1e-6);
    check_floats("muscle", a->muscle_positions, b->muscle_positions, vertices * 3, 0.0);
    check_floats("bone", a->bone_positions, b->bone_positions, vertices * 3, 0.0);
    check_influences(a, b);
    CHECK((a->bone_attachments == NULL) == (b->bone_attachments == NULL));
    CHECK(a->bone_attachments == NULL ||
          memcmp(a->bone_attachments, b->bone_attachments, vertices * sizeof(int32_t)) == 0);
    check_clips(a, b);
    CHECK(a->extras != NULL ? b->extras != NULL && strcmp(a->extras, b->extras) == 0 : b->extras == NULL);
}

/* Skins both characters: compares the result of channels, morphs and weights. */
static void check_plays_same(const sup_character *a, const sup_character *b, double tolerance)
{
    for (int32_t i = 0; i < a->clip_count; i++) {
        helper_frames x = helper_skin(a, &a->clips[i], 7.0, 5), y = helper_skin(b, &b->clips[i], 7.0, 5);
        double size = helper_size(helper_positions(&x, 0), a->vertex_count);
        check_floats("frame", x.positions, y.positions, (size_t)5 * (size_t)a->vertex_count * 3, tolerance * size);
        helper_frames_free(&x);
        helper_frames_free(&y);
    }
}

static sup_character *save_and_load(const sup_character *character, const char *name)
{
    const char *path = test_temp(name);
    sup_error error;
    sup_character *read = NULL;
    CHECK_OK(sup_character_save(NULL, character, path, &error), error);
    CHECK_OK(sup_load(NULL, path, NULL, &read, &error), error);
    return read;
}

TEST(character_with_layers_and_extras_round_trips)
{
    sup_character *human = NULL, *layered = NULL;
    sup_error error;
    CHECK_OK(sup_scene_create(NULL, "human", 0.1, &human, &error), error);
    size_t count = (size_t)human->vertex_count * 3;
    float *layers = malloc(count * 2 * sizeof *layers);
    for (size_t i = 0; i < count; i++) {
        layers[i] = human->positions[i] * 0.97f;
        layers[count + i] = human->positions[i] * 0.9f;
    }
    sup_character source = *human;
    source.muscle_positions = layers;
    source.bone_positions = layers + count;
    int32_t *holders = malloc(count / 3 * sizeof *holders);
    for (int32_t v = 0; v < human->vertex_count; v++)
        holders[v] = v % (human->bone_count + 1) - 1;
    source.bone_attachments = holders;
    source.extras = "{\"masses\":{\"fat\":12.5,\"muscle\":30},\"who\":\"J\\u00f6rg\"}";
    CHECK_OK(sup_character_create(NULL, &source, &layered, &error), error);
    free(layers);
    free(holders);
    CHECK(layered->extras != source.extras && layered->bone_positions[4] == human->positions[4] * 0.9f);
    sup_character *read = save_and_load(layered, "layers.glb");
    CHECK(strstr(read->extras, "\"fat\":12.5") != NULL);
    CHECK(strstr(read->extras, "J\xc3\xb6rg") != NULL);
    layered->extras = read->extras; /* the same JSON, written in UTF-8 */
    check_same(layered, read);
    check_plays_same(layered, read, 2e-6);
    sup_memory_file *file = NULL;
    CHECK_OK(sup_character_save_memory(NULL, layered, &file, &error), error);
    long size;
    unsigned char *bytes = helper_file(test_temp("none"), &size);
    CHECK(bytes == NULL && size == -1);
    sup_bytes memory = sup_memory_file_bytes(file);
    sup_character *again = NULL;
    CHECK_OK(sup_load_memory(NULL, "body.glb", memory, NULL, &again, &error), error);
    check_same(layered, again);
    sup_memory_file_destroy(file);
    sup_character_destroy(again);
    sup_character_destroy(read);
    sup_character_destroy(layered);
    sup_character_destroy(human);
}

/* Three primitives on two nodes in decreasing order, six influences per vertex, morphs with different key times. */
static sup_character *unusual_character(void)
{
    static float positions[36], influence_weight[4 * 6], offsets[12];
    static int32_t triangles[12], influence_first[13], influence_bone[4 * 6];
    static const float times[3] = {-0.5f, 0.0f, 0.5f}, weights[3] = {0.0f, 1.0f, 0.25f};
    static const float late[2] = {-0.25f, 0.5f}, steps[2] = {1.0f, 0.0f}, twice[4] = {-0.5f, 0.0f, 0.0f, 0.5f};
    static const float turns[16] = {0, 0, 0, 1, 0, 0, 0.6f, 0.8f, 0, 0, 0.8f, 0.6f, 0, 0, 2, 0};
    static sup_node nodes[7];
    static sup_bone bones[6];
    for (int32_t i = 0; i < 36; i++)
        positions[i] = (float)((i * 7) % 11) * 0.25f;
    for (int32_t i = 0; i < 12; i++) {
        triangles[i] = i;
        offsets[i] = (float)i;
    }
    for (int32_t i = 0; i < 7; i++)
        nodes[i] = (sup_node){i == 6 ? "body" : "joint", i == 0 ? -1 : 0, sup_transform_identity(), false};
    for (int32_t b = 0; b < 6; b++)
        bones[b] = (sup_bone){b, sup_mat34_identity()};
    for (int32_t v = 0; v < 12; v++)
        influence_first[v + 1] = (v + 1) * 6 < 24 ? (v + 1) * 6 : 24;
    for (int32_t k = 0; k < 24; k++) {
        influence_bone[k] = k % 6;
        influence_weight[k] = (float)(1 + k % 5); /* sum far from 1 */
    }
    influence_bone[1] = 0; /* duplicate bone */
    const sup_skin skin = {"", 0, 6};
    const sup_primitive primitives[3] = {
        {"a", 6, 0, 0, 0, 4, 0, 4, 0, 1}, {"b", 2, 1, 0, -1, 4, 4, 4, 1, 1}, {"c", 2, 2, 0, -1, -1, 8, 4, 2, 1}};
    triangles[3] = 4, triangles[4] = 5, triangles[5] = 6, triangles[6] = 8, triangles[7] = 9, triangles[8] = 10;
    const sup_morph morphs[3] = {
        {"up", 1, 0, 0.5f, offsets, NULL}, {"side", 1, 1, 0.0f, offsets, NULL}, {"c", 2, 2, 1.0f, NULL, NULL}};
    const sup_channel channels[3] = {{SUP_CHANNEL_MORPH, 0, SUP_INTERPOLATE_LINEAR, 3, times, weights},
                                     {SUP_CHANNEL_MORPH, 1, SUP_INTERPOLATE_LINEAR, 2, late, steps},
                                     {SUP_CHANNEL_ROTATION, 1, SUP_INTERPOLATE_LINEAR, 4, twice, turns}};
    const sup_clip clips[2] = {{"move", 0, 0, 3, channels}, {"empty", 0, 0, 0, NULL}};
    const sup_character source = {.name = "awk\xffward",
                                  .node_count = 7,
                                  .nodes = nodes,
                                  .bone_count = 6,
                                  .bones = bones,
                                  .skin_count = 1,
                                  .skins = &skin,
                                  .primitive_count = 3,
                                  .primitives = primitives,
                                  .vertex_count = 12,
                                  .positions = positions,
                                  .triangle_count = 3,
                                  .triangles = triangles,
                                  .influence_first = influence_first,
                                  .influence_bone = influence_bone,
                                  .influence_weight = influence_weight,
                                  .morph_count = 3,
                                  .morph_weight_count = 3,
                                  .morphs = morphs,
                                  .clip_count = 2,
                                  .clips = clips};
    sup_character *character = NULL;
    sup_error error;
    CHECK_OK(sup_character_create(NULL, &source, &character, &error), error);
    return character;
}

TEST(character_with_unusual_data_round_trips)
{
    sup_character *character = unusual_character();
    sup_character *read = save_and_load(character, "unusual_character.glb");
    check_nodes(character, read);
    CHECK_EQ(read->node_count, 9); /* two primitives on node 2, after one on node 6 */
    CHECK_EQ(read->nodes[7].parent, 2);
    check_floats("position", character->positions, read->positions, 36, 0.0);
    check_influences(character, read);
    CHECK_EQ(read->primitives[0].material, read->primitives[1].material);
    CHECK(read->primitives[0].material != read->primitives[2].material);
    CHECK_EQ(read->clip_count, 1); /* the other has no channels */
    CHECK_NEAR(read->clips[0].start, 0.0, 0.0);
    CHECK_NEAR(read->clips[0].end, 1.0, 0.0);
    character->clip_count = 1;
    check_plays_same(character, read, 1e-6);
    sup_character_destroy(read);
    sup_character_destroy(character);
}

TEST(unsupported_character_reports_the_error_id)
{
    sup_character *character = unusual_character();
    sup_error error;
    sup_memory_file *file = NULL;
    CHECK_EQ(sup_character_save(NULL, NULL, "x.glb", &error), SUP_ERROR_ARGUMENT);
    CHECK_EQ(sup_character_save_memory(NULL, character, NULL, &error), SUP_ERROR_ARGUMENT);
    CHECK_EQ(sup_character_save(NULL, character, "/nowhere/at/all.glb", &error), SUP_ERROR_IO);
    character->extras = "{\"broken\":";
    CHECK_EQ(sup_character_save_memory(NULL, character, &file, &error), SUP_ERROR_DATA);
    CHECK_TEXT(error.id, "output.glb.extras");
    character->extras = NULL;
    ((float *)character->positions)[17] = NAN;
    CHECK_EQ(sup_character_save_memory(NULL, character, &file, &error), SUP_ERROR_DATA);
    CHECK_TEXT(error.id, "output.glb.nonfinite");
    ((float *)character->positions)[17] = 0.0f;
    for (int32_t v = 0; v <= 12; v++)
        ((int32_t *)character->influence_first)[v] = 0;
    CHECK_EQ(sup_character_save_memory(NULL, character, &file, &error), SUP_ERROR_DATA);
    CHECK_TEXT(error.id, "output.glb.weights");
    CHECK(file == NULL && sup_memory_file_bytes(NULL).size == 0);
    sup_character_destroy(character);
}

/* Third-party files: morphs and rigid primitives, NaN weights, a plain character. */
TEST(assets_round_trip)
{
    static const char *const assets[] = {"gltf/quat_RobotExpressive.glb", "gltf/quat_Wasp_nanweights.glb",
                                         "gltf/khronos_CesiumMan.glb"};
    for (int32_t i = 0; i < SUP_COUNT(assets); i++) {
        sup_character *character = NULL;
        sup_error error;
        CHECK_OK(sup_load(NULL, test_asset(assets[i]), NULL, &character, &error), error);
        char name[32];
        snprintf(name, sizeof name, "asset%d.glb", (int)i);
        sup_character *read = save_and_load(character, name);
        check_same(character, read);
        if (i != 1) check_plays_same(character, read, 1e-5);
        sup_character_destroy(read);
        sup_character_destroy(character);
    }
}

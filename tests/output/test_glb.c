/* test_glb.c - written GLB files are loaded and played. */
#include "helpers.h"
#include "scene.h"

#include "load/document.h"
#include "load/json.h"
#include "math/affine.h"

/* Positions at the frames are those that were written; halfway between two frames they are the mean. */
static void check_plays(const char *path, const sup_character *original, const helper_frames *frames, double fps)
{
    sup_character *read = helper_read_gltf(path);
    double size = helper_size(helper_positions(frames, 0), frames->vertex_count);
    double tolerance = 4e-7 * (size + fabs((double)frames->positions[0]));
    CHECK_EQ(read->vertex_count, original->vertex_count);
    CHECK_EQ(read->triangle_count, original->triangle_count);
    CHECK_EQ(read->skin_count, 0);
    CHECK(read->clip_count <= 1);
    const sup_clip *clip = read->clip_count > 0 ? &read->clips[0] : NULL;
    if (clip != NULL) CHECK_EQ(sup_clip_frame_count(clip, fps), frames->frame_count);
    helper_frames played = helper_skin(read, clip, 2.0 * fps, frames->frame_count * 2 - 1);
    for (int32_t f = 0; f < played.frame_count; f++) {
        const float *a = helper_positions(frames, f / 2), *b = helper_positions(frames, (f + 1) / 2);
        const float *got = helper_positions(&played, f);
        for (int32_t i = 0; i < frames->vertex_count * 3; i++) {
            double expected = 0.5 * ((double)a[i] + (double)b[i]);
            double key_error = 1.2e-7 * f; /* rounding of float key times, in frames, times the motion per frame */
            CHECK_MSG(fabs((double)got[i] - expected) <= tolerance + key_error,
                      "%s: frame %g vertex %d: %.9g, expected %.9g", path, 0.5 * f, i / 3, (double)got[i], expected);
        }
    }
    helper_frames_free(&played);
    sup_character_destroy(read);
}

/* Mean angle between written and loaded normals, where present. */
static void check_normals(const char *path, const helper_frames *frames, double fps)
{
    sup_character *read = helper_read_gltf(path);
    helper_frames played = helper_skin(read, read->clip_count > 0 ? &read->clips[0] : NULL, fps, frames->frame_count);
    for (size_t i = 0; i + 2 < (size_t)frames->frame_count * (size_t)frames->vertex_count * 3; i += 3) {
        sup_vec3d expected = sup_v3_load(frames->normals + i), got = sup_v3_load(played.normals + i);
        if (sup_v3_length(got) > 0.0 && sup_v3_length(expected) > 0.0)
            CHECK_NEAR(sup_v3_distance(expected, got), 0.0, 2e-5);
    }
    helper_frames_free(&played);
    sup_character_destroy(read);
}

TEST(glb_without_document_plays)
{
    sup_character *character = helper_character(false);
    helper_frames frames = helper_wave(character, 7);
    sup_error error;
    const char *path = test_temp("arrays.glb");
    CHECK_OK(helper_write(path, character, &frames, NULL, &error), error);
    check_plays(path, character, &frames, 30.0);
    check_normals(path, &frames, 30.0);
    sup_character *read = helper_read_gltf(path);
    CHECK_TEXT(read->clips[0].name, "motion");
    CHECK_EQ(read->primitive_count, 2);
    CHECK_TEXT(read->nodes[0].name, "Body");
    CHECK_TEXT(read->nodes[1].name, "square");
    CHECK(memcmp(read->triangles, character->triangles, 18 * sizeof(int32_t)) == 0);
    CHECK(memcmp(read->texcoords, character->texcoords, 16 * sizeof(float)) == 0);
    sup_character_destroy(read);
    helper_frames_free(&frames);
    sup_character_destroy(character);
}

TEST(glb_reverses_mirrored_primitives)
{
    sup_character *character = helper_character(true);
    helper_frames frames = helper_skin(character, NULL, 30.0, 1);
    sup_error error;
    const char *path = test_temp("mirrored.glb");
    CHECK_OK(helper_write(path, character, &frames, NULL, &error), error);
    sup_character *read = helper_read_gltf(path);
    CHECK(memcmp(read->triangles, character->triangles, 12 * sizeof(int32_t)) == 0);
    const int32_t turned[6] = {4, 6, 5, 4, 7, 6};
    CHECK(memcmp(read->triangles + 12, turned, sizeof turned) == 0);
    CHECK_EQ(read->clip_count, 0); /* one frame: no animation */
    sup_character_destroy(read);
    helper_frames_free(&frames);
    sup_character_destroy(character);
}

TEST(glb_omits_targets_without_motion)
{
    sup_character *character = helper_character(false);
    helper_frames frames = helper_skin(character, NULL, 30.0, 5);
    sup_error error;
    long still = 0, moving = 0;
    const char *path = test_temp("still.glb");
    for (int32_t f = 0; f < 5; f++) /* primitive 0 moves in frame 3 only, primitive 1 never */
        frames.positions[(size_t)f * 24 + 4] += f == 3 ? 0.5f : 0.0f;
    CHECK_OK(helper_write(path, character, &frames, NULL, &error), error);
    check_plays(path, character, &frames, 30.0);
    free(helper_file(path, &still));
    sup_character *read = helper_read_gltf(path);
    for (int32_t i = 0; i < read->morph_count; i++)
        CHECK_EQ(read->morphs[i].primitive, 0);
    CHECK_EQ(read->morph_count, 4);
    sup_character_destroy(read);
    helper_frames wave = helper_wave(character, 5);
    path = test_temp("moving.glb");
    CHECK_OK(helper_write(path, character, &wave, NULL, &error), error);
    free(helper_file(path, &moving));
    CHECK(still < moving);
    helper_frames_free(&wave);
    helper_frames_free(&frames);
    sup_character_destroy(character);
}

TEST(glb_of_many_frames_plays)
{
    sup_character *character = helper_character(false);
    helper_frames frames = helper_wave(character, 700); /* weights stored as bytes */
    sup_error error;
    sup_cache_def def = {.fps = 24.0, .normals = false, .name = "long"};
    const char *path = test_temp("many.glb");
    CHECK_OK(helper_write(path, character, &frames, &def, &error), error);
    check_plays(path, character, &frames, 24.0);
    helper_frames_free(&frames);
    sup_character_destroy(character);
}

TEST(glb_header_and_chunks_are_valid)
{
    sup_character *character = helper_character(false);
    helper_frames frames = helper_wave(character, 3);
    sup_error error;
    long size = 0;
    uint32_t words[5], chunk[2];
    const char *path = test_temp("chunks.glb");
    CHECK_OK(helper_write(path, character, &frames, NULL, &error), error);
    unsigned char *file = helper_file(path, &size);
    memcpy(words, file, sizeof words);
    CHECK_EQ(words[0], 0x46546c67);
    CHECK_EQ(words[1], 2);
    CHECK_EQ(words[2], size);
    CHECK_EQ(words[3] % 4, 0);
    CHECK_EQ(words[4], 0x4e4f534a);
    memcpy(chunk, file + 20 + words[3], sizeof chunk);
    CHECK_EQ(chunk[1], 0x004e4942);
    CHECK_EQ(20 + words[3] + 8 + chunk[0], size);
    CHECK_EQ(chunk[0] % 4, 0);
    free(file);
    helper_frames_free(&frames);
    sup_character_destroy(character);
}

TEST(glb_rejects_more_than_4_gib)
{
    sup_character *character = helper_character(false);
    sup_cache_writer *writer = NULL;
    sup_error error;
    sup_cache_def def = sup_default_cache_def();
    def.frame_count = 100000;
    CHECK_EQ(sup_cache_open(NULL, test_temp("huge.glb"), character, &def, &writer, &error), SUP_ERROR_UNSUPPORTED);
    CHECK_TEXT(error.id, "output.glb.size");
    CHECK(strstr(error.message, ".pc2") != NULL && writer == NULL);
    def.frame_count = INT32_MAX;
    CHECK_EQ(sup_cache_open(NULL, test_temp("huge.glb"), character, &def, &writer, &error), SUP_ERROR_UNSUPPORTED);
    CHECK_EQ(helper_count_files("huge"), 0);
    sup_character_destroy(character);
}

/* glTF requires unit normals in the base; base plus target still equals the input. */
TEST(glb_base_normals_are_unit)
{
    sup_character *character = helper_character(false);
    helper_frames frames = helper_wave(character, 2);
    sup_error error;
    for (int32_t i = 0; i < 24; i++)
        frames.normals[i] *= 3.0f;
    memset(frames.normals + 6, 0, 3 * sizeof(float));   /* a zero normal */
    memset(frames.normals + 12, 0, 12 * sizeof(float)); /* a primitive without normals in either frame */
    memset(frames.normals + 24 + 12, 0, 12 * sizeof(float));
    const char *path = test_temp("unit.glb");
    CHECK_OK(helper_write(path, character, &frames, NULL, &error), error);
    sup_context context = sup_context_resolve(NULL);
    sup_json_tree tree = sup_json_tree_create(&context.allocator);
    sup_character *read = helper_read_gltf(path);
    CHECK_OK(sup_json_parse(&tree, path, read->document->json, &error), error);
    const sup_json *meshes = sup_json_get(tree.root, "meshes");
    for (int32_t m = 0; m < 2; m++) {
        const sup_json *primitive = sup_json_at(sup_json_get(sup_json_at(meshes, m), "primitives"), 0);
        CHECK((sup_json_get(sup_json_get(primitive, "attributes"), "NORMAL") != NULL) == (m == 0));
        CHECK((sup_json_get(sup_json_at(sup_json_get(primitive, "targets"), 0), "NORMAL") != NULL) == (m == 0));
    }
    for (int32_t v = 0; v < 4; v++)
        CHECK_NEAR(sup_v3_length(sup_v3_load(read->normals + 3 * v)), 1.0, 1e-6);
    helper_frames played = helper_skin(read, &read->clips[0], 30.0, 2);
    for (int32_t i = 24; i < 36; i++)
        CHECK_NEAR(played.normals[i], frames.normals[i], 1e-6);
    helper_frames_free(&played);
    sup_json_tree_destroy(&tree);
    sup_character_destroy(read);
    helper_frames_free(&frames);
    sup_character_destroy(character);
}

TEST(glb_names_are_utf8)
{
    sup_character *character = helper_character(false);
    helper_frames frames = helper_wave(character, 2);
    sup_error error;
    sup_cache_def def = {.normals = true, .name = "a\xff\"\n\xc3\xa9\xed\xa0\x80\xf0\x9f\x98\x80\xe2\x82"};
    const char *path = test_temp("names.glb");
    CHECK_OK(helper_write(path, character, &frames, &def, &error), error);
    sup_character *read = helper_read_gltf(path);
    CHECK_TEXT(read->clips[0].name, "a?\"\n\xc3\xa9???\xf0\x9f\x98\x80??");
    sup_character_destroy(read);
    helper_frames_free(&frames);
    sup_character_destroy(character);
}

/* --- Round trips of real files --- */

static const char *const others[] = {"anatomy/bones.glb", "scans/LeePerrySmith_head.glb"};

/* Members of the root that must not change. */
static void check_unchanged_members(const char *asset, const sup_character *before, const sup_character *after)
{
    static const char *const kept[] = {"materials", "textures", "samplers", "cameras", "extras"};
    sup_context context = sup_context_resolve(NULL);
    sup_json_tree a = sup_json_tree_create(&context.allocator), b = sup_json_tree_create(&context.allocator);
    sup_error error;
    CHECK_OK(sup_json_parse(&a, asset, before->document->json, &error), error);
    CHECK_OK(sup_json_parse(&b, asset, after->document->json, &error), error);
    for (int32_t i = 0; i < SUP_COUNT(kept); i++) {
        sup_array x = {.item_size = 1}, y = {.item_size = 1};
        const sup_json *old = sup_json_get(a.root, kept[i]), *new = sup_json_get(b.root, kept[i]);
        CHECK_MSG((old != NULL && sup_json_count(old) > 0) == (new != NULL), "%s: %s", asset, kept[i]);
        if (new == NULL) continue;
        CHECK(sup_json_write(old, &context.allocator, &x) && sup_json_write(new, &context.allocator, &y));
        CHECK_MSG(x.count == y.count && memcmp(x.data, y.data, x.count) == 0, "%s: %s changed", asset, kept[i]);
        sup_array_free(&context.allocator, &x);
        sup_array_free(&context.allocator, &y);
    }
    CHECK_EQ(sup_json_count(sup_json_get(b.root, "images")), sup_json_count(sup_json_get(a.root, "images")));
    CHECK(sup_json_get(b.root, "skins") == NULL);
    for (int32_t i = 0; i < before->node_count; i++)
        CHECK_TEXT(after->nodes[i].name, before->nodes[i].name);
    sup_json_tree_destroy(&a);
    sup_json_tree_destroy(&b);
}

/* The primitives of the output are those of the input: order, names of nodes, materials, triangles, texture
 * coordinates. */
static void check_primitives(const char *asset, const sup_character *before, const sup_character *after)
{
    CHECK_EQ(after->primitive_count, before->primitive_count);
    for (int32_t p = 0; p < before->primitive_count; p++) {
        const sup_primitive *a = &before->primitives[p], *b = &after->primitives[p];
        CHECK_MSG(a->vertex_first == b->vertex_first && a->vertex_count == b->vertex_count &&
                      a->triangle_first == b->triangle_first && a->triangle_count == b->triangle_count &&
                      a->material == b->material,
                  "%s: primitive %d", asset, p);
        if (before->nodes[a->node].name[0] != '\0') CHECK_TEXT(after->nodes[b->node].name, before->nodes[a->node].name);
        bool same = memcmp(before->triangles + (size_t)a->triangle_first * 3,
                           after->triangles + (size_t)a->triangle_first * 3, (size_t)a->triangle_count * 12) == 0;
        sup_affine world = sup_affine_identity();
        for (int32_t n = a->node; n >= 0; n = before->nodes[n].parent)
            world = sup_affine_multiply(sup_affine_from_transform(before->nodes[n].rest), world);
        bool mirrored = a->skin < 0 && sup_affine_determinant(world) < 0.0;
        CHECK_MSG(same != (mirrored && a->triangle_count > 0), "%s: triangles of primitive %d", asset, p);
    }
    CHECK((before->texcoords != NULL) == (after->texcoords != NULL));
    if (before->texcoords != NULL)
        CHECK(memcmp(before->texcoords, after->texcoords, (size_t)before->vertex_count * 8) == 0);
}

static void check_round_trip(const char *asset)
{
    char name[200];
    snprintf(name, sizeof name, "trip_%s", strchr(asset, '/') + 1);
    char *dot = strrchr(name, '.');
    snprintf(dot, sizeof name - (size_t)(dot - name), ".glb");
    sup_character *before = helper_read_gltf(test_asset(asset));
    const sup_clip *clip = before->clip_count > 0 ? &before->clips[0] : NULL;
    const double fps = 12.0;
    helper_frames frames = helper_skin(before, clip, fps, clip != NULL ? 4 : 1);
    sup_error error;
    sup_cache_def def = {.fps = fps, .normals = true};
    const char *path = test_temp(name);
    CHECK_OK(helper_write(path, before, &frames, &def, &error), error);
    check_plays(path, before, &frames, fps);
    check_normals(path, &frames, fps);
    sup_character *after = helper_read_gltf(path);
    check_unchanged_members(asset, before, after);
    check_primitives(asset, before, after);
    sup_character_destroy(after);
    helper_frames_free(&frames);
    sup_character_destroy(before);
}

TEST(glb_round_trip_of_every_asset)
{
    for (int32_t i = 0; i < TEST_CHARACTERS; i++)
        check_round_trip(test_characters[i]);
    for (int32_t i = 0; i < SUP_COUNT(others); i++)
        check_round_trip(others[i]);
}

/* The glTF reader: one small file for each feature. */
#include "gltf_make.h"
#include "load/base64.h"
#include "load/document.h"
#include "test.h"

static const float square[12] = {0, 0, 0, 1, 0, 0, 0, 1, 0, 1, 1, 0};
static const uint16_t square_indices[6] = {0, 1, 2, 2, 1, 3};

static void check_floats(const float *got, const float *expected, int count, double tolerance)
{
    CHECK(got != NULL);
    for (int i = 0; i < count; i++)
        CHECK_MSG(fabs((double)got[i] - (double)expected[i]) <= tolerance, "value %d is %.9g, expected %.9g", i,
                  (double)got[i], (double)expected[i]);
}

static void check_ints(const int32_t *got, const int32_t *expected, int count)
{
    for (int i = 0; i < count; i++)
        CHECK_MSG(got[i] == expected[i], "value %d is %d, expected %d", i, got[i], expected[i]);
}

TEST(gltf_primitives_follow_node_and_primitive_order)
{
    gltf_make *m = gltf_begin();
    int position = gltf_add_floats(m, square, "VEC3", 3, 4);
    int triangle = gltf_add_floats(m, square, "VEC3", 3, 3);
    int indices = gltf_add_array(m, square_indices, sizeof square_indices, MAKE_USHORT, "SCALAR", 6);
    gltf_finish(
        m,
        "\"meshes\":[{\"name\":\"two\",\"primitives\":[{\"attributes\":{\"POSITION\":%d},\"indices\":%d,\"material\":1}"
        ","
        "{\"attributes\":{\"POSITION\":%d}}]},{\"primitives\":[{\"attributes\":{\"POSITION\":%d},\"mode\":1},"
        "{\"attributes\":{}}]}],\"materials\":[{},{}],"
        "\"nodes\":[{\"name\":\"late\",\"mesh\":1},{\"name\":\"first\",\"mesh\":0,\"children\":[2]},{\"mesh\":0}],"
        "\"scenes\":[{\"nodes\":[1]}],\"scene\":0",
        position, indices, triangle, position);
    sup_character *c = gltf_read_built(m);
    static const int32_t expected[6][6] = {/* node, mesh, primitive, material, vertices, triangles */
                                           {0, 1, 0, -1, 4, 0}, {0, 1, 1, -1, 0, 0}, {1, 0, 0, 1, 4, 2},
                                           {1, 0, 1, -1, 3, 1}, {2, 0, 0, 1, 4, 2},  {2, 0, 1, -1, 3, 1}};
    static const int32_t corners[18] = {4, 5, 6, 6, 5, 7, 8, 9, 10, 11, 12, 13, 13, 12, 14, 15, 16, 17};
    CHECK_EQ(c->primitive_count, 6);
    for (int i = 0; i < 6; i++) {
        const sup_primitive *p = &c->primitives[i];
        int32_t got[6] = {p->node, p->mesh, p->index_in_mesh, p->material, p->vertex_count, p->triangle_count};
        check_ints(got, expected[i], 6);
        CHECK_EQ(p->skin, -1);
    }
    CHECK_EQ(c->vertex_count, 18);
    CHECK_EQ(c->triangle_count, 6);
    check_ints(c->triangles, corners, 18);
    check_floats(c->positions, square, 12, 0.0);
    check_floats(c->positions + 33, square, 12, 0.0);
    CHECK_TEXT(c->primitives[0].name, "late");
    CHECK_TEXT(c->primitives[2].name, "two");
    CHECK_TEXT(c->name, "made");
    CHECK(c->normals == NULL && c->tangents == NULL && c->texcoords == NULL);
    CHECK_EQ(c->influence_first[18], 0);
    CHECK_EQ(c->nodes[2].parent, 1);
    CHECK(!c->nodes[0].is_joint);
    CHECK(c->unit_metres == 1.0f);
    sup_character_destroy(c);
}

TEST(gltf_primitive_modes_and_index_types)
{
    static const uint8_t bytes[5] = {0, 1, 2, 3, 0};
    static const uint32_t words[5] = {3, 2, 1, 0, 3};
    gltf_make *m = gltf_begin();
    int position = gltf_add_floats(m, square, "VEC3", 3, 4);
    int small = gltf_add_array(m, bytes, sizeof bytes, MAKE_UBYTE, "SCALAR", 5);
    int large = gltf_add_array(m, words, sizeof words, MAKE_UINT, "SCALAR", 5);
    gltf_finish(
        m,
        "\"meshes\":[{\"primitives\":[{\"attributes\":{\"POSITION\":%d},\"indices\":%d,\"mode\":5},"
        "{\"attributes\":{\"POSITION\":%d},\"indices\":%d,\"mode\":6},{\"attributes\":{\"POSITION\":%d},\"mode\":5},"
        "{\"attributes\":{\"POSITION\":%d},\"mode\":0},{\"attributes\":{\"POSITION\":%d},\"indices\":%d}]}],"
        "\"nodes\":[{\"mesh\":0}]",
        position, small, position, large, position, position, position, small);
    sup_character *c = gltf_read_built(m);
    static const int32_t expected[27] = {/* strip */ 0,
                                         1,
                                         2,
                                         1,
                                         3,
                                         2,
                                         2,
                                         3,
                                         0,
                                         /* fan */ 6,
                                         5,
                                         7,
                                         5,
                                         4,
                                         7,
                                         4,
                                         7,
                                         7,
                                         /* strip without indices */ 8,
                                         9,
                                         10,
                                         9,
                                         11,
                                         10,
                                         /* five indices: one triangle */ 16,
                                         17,
                                         18};
    CHECK_EQ(c->triangle_count, 9);
    check_ints(c->triangles, expected, 27);
    CHECK_EQ(c->primitives[3].triangle_count, 0);
    CHECK_EQ(c->primitives[3].vertex_count, 4);
    sup_character_destroy(c);
}

TEST(gltf_interleaved_sparse_and_empty_accessors)
{
    struct {
        float position[3], uv[2];
    } vertices[3] = {{{1, 2, 3}, {0.5f, 0.25f}}, {{4, 5, 6}, {0, 1}}, {{7, 8, 9}, {1, 0}}};
    static const uint16_t at[2] = {0, 2};
    static const float with[6] = {-1, -2, -3, -4, -5, -6};
    static const uint8_t only = 1;
    char sparse[300];
    gltf_make *m = gltf_begin();
    int view = gltf_add_view(m, vertices, sizeof vertices, ",\"byteStride\":20");
    int indices = gltf_add_view(m, at, sizeof at, ""), values = gltf_add_view(m, with, sizeof with, "");
    int one = gltf_add_view(m, &only, 1, "");
    int uv = gltf_add_accessor(m, view, MAKE_FLOAT, "VEC2", 3, ",\"byteOffset\":12");
    snprintf(sparse, sizeof sparse,
             ",\"sparse\":{\"count\":2,\"indices\":{\"bufferView\":%d,\"componentType\":5123},\"values\":{"
             "\"bufferView\":%d}}",
             indices, values);
    int replaced = gltf_add_accessor(m, view, MAKE_FLOAT, "VEC3", 3, sparse);
    snprintf(sparse, sizeof sparse,
             ",\"sparse\":{\"count\":1,\"indices\":{\"bufferView\":%d,\"componentType\":5121},"
             "\"values\":{\"bufferView\":%d,\"byteOffset\":12}}",
             one, values);
    int zeros = gltf_add_accessor(m, -1, MAKE_FLOAT, "VEC3", 3, sparse);
    int none = gltf_add_accessor(m, -1, MAKE_FLOAT, "VEC3", 3, "");
    gltf_finish(m,
                "\"meshes\":[{\"primitives\":[{\"attributes\":{\"POSITION\":%d,\"TEXCOORD_0\":%d}},"
                "{\"attributes\":{\"POSITION\":%d}},{\"attributes\":{\"POSITION\":%d}}]}],\"nodes\":[{\"mesh\":0}]",
                replaced, uv, zeros, none);
    sup_character *c = gltf_read_built(m);
    static const float expected[27] = {-1, -2, -3, 4, 5, 6, -4, -5, -6, 0, 0, 0, -4, -5, -6};
    static const float uvs[18] = {0.5f, 0.25f, 0, 1, 1, 0};
    CHECK_EQ(c->vertex_count, 9);
    check_floats(c->positions, expected, 27, 0.0);
    check_floats(c->texcoords, uvs, 18, 0.0);
    sup_character_destroy(c);
}

TEST(gltf_quantised_attributes)
{
    static const int16_t positions[8] = {-32768, 0, 32767, 0, 16384, -5, 7, 0};
    static const int8_t normals[8] = {127, 0, 0, 0, -128, -127, 90, 0};
    static const int8_t tangents[8] = {0, 127, 0, 127, 0, 0, 127, -127};
    static const uint16_t uvs[4] = {65535, 0, 32768, 16384};
    static const uint8_t raw[8] = {1, 2, 3, 0, 4, 5, 255, 0};
    gltf_make *m = gltf_begin();
    int p = gltf_add_accessor(m, gltf_add_view(m, positions, 16, ",\"byteStride\":8"), MAKE_SHORT, "VEC3", 2,
                              ",\"normalized\":true");
    int q = gltf_add_accessor(m, gltf_add_view(m, raw, 8, ",\"byteStride\":4"), MAKE_UBYTE, "VEC3", 2, "");
    int n = gltf_add_accessor(m, gltf_add_view(m, normals, 8, ",\"byteStride\":4"), MAKE_BYTE, "VEC3", 2,
                              ",\"normalized\":true");
    int t = gltf_add_accessor(m, gltf_add_view(m, tangents, 8, ""), MAKE_BYTE, "VEC4", 2, ",\"normalized\":true");
    int uv = gltf_add_accessor(m, gltf_add_view(m, uvs, 8, ""), MAKE_USHORT, "VEC2", 2, ",\"normalized\":true");
    gltf_finish(m,
                "\"extensionsUsed\":[\"KHR_mesh_quantization\"],\"extensionsRequired\":[\"KHR_mesh_quantization\"],"
                "\"meshes\":[{\"primitives\":[{\"attributes\":{\"POSITION\":%d,\"NORMAL\":%d,\"TANGENT\":%d,\"TEXCOORD_"
                "0\":%d}},"
                "{\"attributes\":{\"POSITION\":%d}}]}],\"nodes\":[{\"mesh\":0}]",
                p, n, t, uv, q);
    sup_character *c = gltf_read_built(m);
    const float expected[12] = {-1, 0, 1, 16384.0f / 32767, -5.0f / 32767, 7.0f / 32767, 1, 2, 3, 4, 5, 255};
    const float uv_expected[8] = {1, 0, 32768.0f / 65535, 16384.0f / 65535, 0, 0, 0, 0};
    const float tangent_expected[16] = {0, 1, 0, 1, 0, 0, 1, -1};
    check_floats(c->positions, expected, 12, 1e-7);
    check_floats(c->texcoords, uv_expected, 8, 1e-7);
    check_floats(c->tangents, tangent_expected, 16, 1e-7);
    CHECK_NEAR(c->normals[0], 1.0, 1e-7);
    float length = sqrtf(c->normals[3] * c->normals[3] + c->normals[4] * c->normals[4] + c->normals[5] * c->normals[5]);
    CHECK_NEAR(length, 1.0, 1e-6);
    CHECK_NEAR(c->normals[3], c->normals[4], 1e-6);
    check_floats(c->normals + 6, (const float[6]){0}, 6, 0.0);
    sup_character_destroy(c);
}

TEST(gltf_node_transforms)
{
    gltf_make *m = gltf_begin();
    gltf_finish(m, "\"nodes\":[{\"matrix\":[0,2,0,0,-3,0,0,0,0,0,4,0,5,6,7,1],\"children\":[1,2]},"
                   "{\"translation\":[1,2,3],\"rotation\":[0,0,2,2],\"scale\":[1,0,-1]},{\"name\":\"\\u00e9\"}]");
    sup_character *c = gltf_read_built(m);
    const sup_transform *t = &c->nodes[0].rest;
    const float half = 0.70710678f;
    CHECK_EQ(c->node_count, 3);
    check_floats(&t->translation.x, (const float[3]){5, 6, 7}, 3, 0.0);
    check_floats(&t->scale.x, (const float[3]){2, 3, 4}, 3, 1e-6);
    CHECK_NEAR(fabsf(t->rotation.z), half, 1e-6);
    CHECK_NEAR(t->rotation.z, t->rotation.w, 1e-6);
    check_floats(&c->nodes[1].rest.rotation.x, (const float[4]){0, 0, half, half}, 4, 1e-6);
    check_floats(&c->nodes[1].rest.scale.x, (const float[3]){1, 0, -1}, 3, 0.0);
    check_floats(&c->nodes[2].rest.rotation.x, (const float[4]){0, 0, 0, 1}, 4, 0.0);
    CHECK_TEXT(c->nodes[2].name, "\xC3\xA9");
    CHECK_EQ(c->nodes[2].parent, 0);
    CHECK(c->nodes[0].is_joint && c->nodes[2].is_joint); /* only nodes: a skeleton without a mesh */
    CHECK_EQ(c->primitive_count, 0);
    sup_character_destroy(c);
}

/* Two skins over three of five nodes; weights as floats, normalised bytes (two sets) and shorts. */
TEST(gltf_skins_and_influences)
{
    static const uint8_t joints8[8] = {0, 1, 0, 0, 1, 0, 1, 77};
    static const uint16_t joints16[8] = {1, 0, 0, 0, 0, 0, 0, 1};
    static const uint8_t weights8[8] = {255, 0, 51, 0, 0, 102, 0, 0};
    const float weights[8] = {0.25f, 0.75f, 0, 0, NAN, -1, 0, 0};
    float matrices[32] = {0};
    for (int i = 0; i < 2; i++) {
        for (int k = 0; k < 16; k++)
            matrices[i * 16 + k] = (float)(i * 100 + k);
        matrices[i * 16 + 3] = matrices[i * 16 + 7] = matrices[i * 16 + 11] = 0;
        matrices[i * 16 + 15] = 1;
    }
    gltf_make *m = gltf_begin();
    int position = gltf_add_floats(m, square, "VEC3", 3, 2);
    int j0 = gltf_add_array(m, joints8, 8, MAKE_UBYTE, "VEC4", 2),
        j1 = gltf_add_array(m, joints16, 16, MAKE_USHORT, "VEC4", 2);
    int w0 = gltf_add_floats(m, weights, "VEC4", 4, 2);
    int w1 = gltf_add_accessor(m, gltf_add_view(m, weights8, 8, ""), MAKE_UBYTE, "VEC4", 2, ",\"normalized\":true");
    int binds = gltf_add_floats(m, matrices, "MAT4", 16, 2);
    gltf_finish(
        m,
        "\"meshes\":[{\"primitives\":[{\"attributes\":{\"POSITION\":%d,\"JOINTS_0\":%d,\"WEIGHTS_0\":%d,\"JOINTS_1\":%"
        "d,"
        "\"WEIGHTS_1\":%d}}]},{\"primitives\":[{\"attributes\":{\"POSITION\":%d}}]}],"
        "\"nodes\":[{\"mesh\":0,\"skin\":1},{\"mesh\":1},{\"children\":[3]},{\"children\":[4]},{},{\"mesh\":0}],"
        "\"skins\":[{\"joints\":[4],\"name\":\"one\"},{\"joints\":[3,2],\"inverseBindMatrices\":%d,\"skeleton\":2}]",
        position, j0, w0, j1, w1, position, binds);
    sup_character *c = gltf_read_built(m);
    CHECK_EQ(c->skin_count, 2);
    CHECK_EQ(c->bone_count, 3);
    CHECK_TEXT(c->skins[0].name, "one");
    CHECK_EQ(c->skins[1].bone_first, 1);
    CHECK_EQ(c->skins[1].bone_count, 2);
    static const int32_t nodes[3] = {4, 3, 2};
    for (int i = 0; i < 3; i++)
        CHECK_EQ(c->bones[i].node, nodes[i]);
    sup_mat34 identity = sup_mat34_identity();
    check_floats(c->bones[0].inverse_bind.m, identity.m, 12, 0.0);
    check_floats(c->bones[2].inverse_bind.m,
                 (const float[12]){100, 104, 108, 112, 101, 105, 109, 113, 102, 106, 110, 114}, 12, 0.0);
    CHECK(c->nodes[4].is_joint && c->nodes[3].is_joint && c->nodes[2].is_joint && !c->nodes[0].is_joint);
    CHECK_EQ(c->primitives[0].skin, 1);
    CHECK_EQ(c->primitives[1].skin, -1);
    CHECK_EQ(c->primitives[2].skin, -1);
    static const int32_t first[7] = {0, 4, 7, 7, 7, 7, 7}, bones[7] = {1, 2, 2, 1, 2, 1, 1};
    const float expected[7] = {0.25f, 0.75f, 1, 0.2f, NAN, -1, 0.4f};
    check_ints(c->influence_first, first, 7);
    check_ints(c->influence_bone, bones, 7);
    for (int i = 0; i < 7; i++)
        if (i != 4) CHECK_NEAR(c->influence_weight[i], expected[i], 1e-7);
    CHECK(isnan(c->influence_weight[4]));
    sup_character_destroy(c);
}

TEST(gltf_morph_targets)
{
    static const float offsets[6] = {0, 0, 1, 0, 2, 0};
    static const int8_t small[8] = {127, 0, 0, 0, 0, -127, 0, 0};
    static const uint8_t at = 1;
    char sparse[300];
    gltf_make *m = gltf_begin();
    int position = gltf_add_floats(m, square, "VEC3", 3, 2), full = gltf_add_floats(m, offsets, "VEC3", 3, 2);
    int quantised = gltf_add_accessor(m, gltf_add_view(m, small, 8, ",\"byteStride\":4"), MAKE_BYTE, "VEC3", 2,
                                      ",\"normalized\":true");
    int index = gltf_add_view(m, &at, 1, ""), value = gltf_add_view(m, offsets + 3, 12, "");
    snprintf(sparse, sizeof sparse,
             ",\"sparse\":{\"count\":1,\"indices\":{\"bufferView\":%d,\"componentType\":5121},\"values\":{"
             "\"bufferView\":%d}}",
             index, value);
    int thin = gltf_add_accessor(m, -1, MAKE_FLOAT, "VEC3", 2, sparse);
    gltf_finish(
        m,
        "\"meshes\":[{\"primitives\":[{\"attributes\":{\"POSITION\":%d},\"targets\":[{\"POSITION\":%d,\"NORMAL\":%d},"
        "{\"POSITION\":%d}]},{\"attributes\":{\"POSITION\":%d},\"targets\":[{\"POSITION\":%d},{\"NORMAL\":%d}]}],"
        "\"weights\":[0.5,0.25],\"extras\":{\"targetNames\":[\"smile\",\"frown\"]}}],"
        "\"nodes\":[{},{\"mesh\":0},{\"mesh\":0,\"weights\":[0,1]}]",
        position, full, quantised, thin, position, thin, full);
    sup_character *c = gltf_read_built(m);
    CHECK_EQ(c->morph_count, 8);
    CHECK_EQ(c->morph_weight_count, 4);
    static const int32_t slots[8] = {0, 1, 0, 1, 2, 3, 2, 3}, primitives[8] = {0, 0, 1, 1, 2, 2, 3, 3};
    static const float defaults[8] = {0.5f, 0.25f, 0.5f, 0.25f, 0, 1, 0, 1};
    for (int i = 0; i < 8; i++) {
        CHECK_EQ(c->morphs[i].weight, slots[i]);
        CHECK_EQ(c->morphs[i].primitive, primitives[i]);
        CHECK_NEAR(c->morphs[i].default_weight, defaults[i], 0.0);
        CHECK_TEXT(c->morphs[i].name, i % 2 == 0 ? "smile" : "frown");
    }
    check_floats(c->morphs[0].positions, offsets, 6, 0.0);
    check_floats(c->morphs[0].normals, (const float[6]){1, 0, 0, 0, -1, 0}, 6, 0.0);
    check_floats(c->morphs[1].positions, (const float[6]){0, 0, 0, 0, 2, 0}, 6, 0.0);
    CHECK(c->morphs[1].normals == NULL && c->morphs[3].positions == NULL && c->morphs[7].normals != NULL);
    sup_character_destroy(c);
}

TEST(gltf_animations)
{
    static const float times[3] = {0.5f, 1, 2}, moves[9] = {0, 0, 0, 1, 2, 3, 4, 5, 6};
    static const float cubic[27] = {0,  1,  2,  3,  4,  5,  6,  7,  8,  9,  10, 11, 12, 13,
                                    14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26};
    static const int16_t turns[12] = {0, 0, 0, 32767, 0, 0, 32767, 0, -32768, 0, 0, 0};
    static const float weights[6] = {0, 1, 2, 3, 4, 5};
    static const float cubic_weights[18] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17};
    gltf_make *m = gltf_begin();
    int position = gltf_add_floats(m, square, "VEC3", 3, 2), input = gltf_add_floats(m, times, "SCALAR", 1, 3);
    int move = gltf_add_floats(m, moves, "VEC3", 3, 3), scale = gltf_add_floats(m, cubic, "VEC3", 3, 9);
    int turn =
        gltf_add_accessor(m, gltf_add_view(m, turns, sizeof turns, ""), MAKE_SHORT, "VEC4", 3, ",\"normalized\":true");
    int weight = gltf_add_floats(m, weights, "SCALAR", 1, 6),
        cubic_weight = gltf_add_floats(m, cubic_weights, "SCALAR", 1, 18);
    gltf_finish(
        m,
        "\"meshes\":[{\"primitives\":[{\"attributes\":{\"POSITION\":%d},\"targets\":[{\"POSITION\":%d},{}]}]}],"
        "\"nodes\":[{\"mesh\":0},{\"mesh\":0}],\"animations\":[{\"name\":\"all\",\"samplers\":["
        "{\"input\":%d,\"output\":%d,\"interpolation\":\"STEP\"},{\"input\":%d,\"output\":%d},"
        "{\"input\":%d,\"output\":%d,\"interpolation\":\"CUBICSPLINE\"},{\"input\":%d,\"output\":%d,\"interpolation\":"
        "\"LINEAR\"},"
        "{\"input\":%d,\"output\":%d,\"interpolation\":\"CUBICSPLINE\"}],"
        "\"channels\":[{\"sampler\":0,\"target\":{\"node\":0,\"path\":\"translation\"}},"
        "{\"sampler\":1,\"target\":{\"node\":1,\"path\":\"rotation\"}},{\"sampler\":0,\"target\":{\"path\":"
        "\"translation\"}},"
        "{\"sampler\":2,\"target\":{\"node\":1,\"path\":\"scale\"}},{\"sampler\":0,\"target\":{\"path\":\"pointer\","
        "\"extensions\":{\"KHR_animation_pointer\":{\"pointer\":\"/"
        "x\"}}}},{\"sampler\":0,\"target\":{\"node\":0,\"path\":\"colour\"}},"
        "{\"sampler\":3,\"target\":{\"node\":1,\"path\":\"weights\"}},{\"sampler\":4,\"target\":{\"node\":0,\"path\":"
        "\"weights\"}}]},"
        "{\"channels\":[],\"samplers\":[]}]",
        position, position, input, move, input, turn, input, scale, input, weight, input, cubic_weight);
    sup_character *c = gltf_read_built(m);
    CHECK_EQ(c->clip_count, 2);
    const sup_clip *clip = &c->clips[0];
    CHECK_TEXT(clip->name, "all");
    CHECK_EQ(clip->channel_count, 7);
    CHECK(clip->start == 0.5f && clip->end == 2.0f);
    const sup_channel *ch = clip->channels;
    CHECK(ch[0].target == SUP_CHANNEL_TRANSLATION && ch[0].interpolation == SUP_INTERPOLATE_STEP && ch[0].index == 0);
    check_floats(ch[0].values, moves, 9, 0.0);
    check_floats(ch[0].times, times, 3, 0.0);
    CHECK(ch[1].target == SUP_CHANNEL_ROTATION && ch[1].interpolation == SUP_INTERPOLATE_LINEAR && ch[1].index == 1);
    check_floats(ch[1].values, (const float[12]){0, 0, 0, 1, 0, 0, 1, 0, -1, 0, 0, 0}, 12, 0.0);
    CHECK(ch[2].target == SUP_CHANNEL_SCALE && ch[2].interpolation == SUP_INTERPOLATE_CUBIC);
    check_floats(ch[2].values, cubic, 27, 0.0);
    for (int t = 0; t < 2; t++) {
        CHECK(ch[3 + t].target == SUP_CHANNEL_MORPH && ch[3 + t].index == 2 + t && ch[3 + t].key_count == 3);
        CHECK(ch[5 + t].target == SUP_CHANNEL_MORPH && ch[5 + t].index == t);
        for (int k = 0; k < 3; k++)
            CHECK_NEAR(ch[3 + t].values[k], weights[k * 2 + t], 0.0);
        for (int k = 0; k < 9; k++)
            CHECK_NEAR(ch[5 + t].values[k], cubic_weights[k * 2 + t], 0.0);
    }
    CHECK_EQ(c->clips[1].channel_count, 0);
    sup_character_destroy(c);
}

/* Streams of meshoptimizer's encoder for three float vertices and one triangle; the second buffer is a placeholder. */
TEST(gltf_meshopt_compression)
{
    static const char *const names[2] = {"EXT_meshopt_compression", "KHR_meshopt_compression"};
    unsigned char attributes[1 + 12 * 17 + 32] = {0xA0},
                                           triangle[] = {0xE1, 0xF0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0};
    for (int byte = 0; byte < 12; byte++) { /* all deltas stored: mode 3, zigzag of the difference */
        attributes[1 + byte * 17] = 3;
        for (int i = 0; i < 3; i++) {
            unsigned char now = ((const unsigned char *)square)[i * 12 + byte];
            unsigned char before = i > 0 ? ((const unsigned char *)square)[(i - 1) * 12 + byte] : 0;
            int delta = (int8_t)(now - before);
            attributes[1 + byte * 17 + 1 + i] = (unsigned char)(delta < 0 ? -2 * delta - 1 : 2 * delta);
        }
    }
    for (int pass = 0; pass < 2; pass++) {
        gltf_make *m = gltf_begin();
        gltf_add_view(m, attributes, sizeof attributes, "");
        gltf_add_view(m, triangle, sizeof triangle, "");
        int position = gltf_add_accessor(m, 2, MAKE_FLOAT, "VEC3", 3, "");
        int indices = gltf_add_accessor(m, 3, MAKE_USHORT, "SCALAR", 3, "");
        char views[1024];
        snprintf(
            views, sizeof views,
            "{\"buffer\":0,\"byteLength\":4},{\"buffer\":0,\"byteLength\":4},"
            "{\"buffer\":1,\"byteLength\":36,\"byteStride\":12,\"extensions\":{\"%s\":{\"buffer\":0,\"byteLength\":%zu,"
            "\"byteStride\":12,\"count\":3,\"mode\":\"ATTRIBUTES\",\"filter\":\"NONE\"}}},"
            "{\"buffer\":1,\"byteOffset\":36,\"byteLength\":6,\"extensions\":{\"%s\":{\"buffer\":0,\"byteOffset\":%zu,"
            "\"byteLength\":%zu,\"byteStride\":2,\"count\":3,\"mode\":\"TRIANGLES\"}}}",
            names[pass], sizeof attributes, names[pass], (sizeof attributes + 3) / 4 * 4, sizeof triangle);
        m->view_count = 0;
        size_t bytes = m->binary_size;
        m->binary_size = 0; /* buffers and views are written here */
        gltf_finish(
            m,
            "\"extensionsRequired\":[\"%s\"],\"buffers\":[{\"byteLength\":%zu},{\"byteLength\":42,\"extensions\":"
            "{\"%s\":{\"default_value\":true}}}],\"bufferViews\":[%s],\"meshes\":[{\"primitives\":[{\"attributes\":"
            "{\"POSITION\":%d},\"indices\":%d}]}],\"nodes\":[{\"mesh\":0}]",
            names[pass], bytes, names[pass], views, position, indices);
        m->binary_size = bytes;
        gltf_pack(m);
        sup_character *c = gltf_read_built(m);
        check_floats(c->positions, square, 9, 0.0);
        check_ints(c->triangles, (const int32_t[3]){0, 1, 2}, 3);
        CHECK_EQ(c->document->view_count, 4);
        CHECK_EQ(c->document->views[2].size, 36);
        CHECK(memcmp(c->document->views[2].data, square, 36) == 0);
        sup_character_destroy(c);
    }
}

/* A reader with two files that records the requested paths. */
typedef struct two_files {
    char asked[8][64];
    int count;
} two_files;

static sup_result read_two(void *user, const char *path, const sup_allocator *allocator, void **data, size_t *size,
                           sup_error *error)
{
    two_files *files = user;
    snprintf(files->asked[files->count++ % 8], 64, "%s", path);
    bool known = strcmp(path, "folder/a b.bin") == 0 || strcmp(path, "folder/skin.png") == 0;
    if (!known) return sup_fail(error, SUP_ERROR_IO, "file.open", path, "The file does not exist.");
    *size = sizeof square;
    *data = sup_alloc(allocator, *size + 1);
    memcpy(*data, square, *size);
    ((char *)*data)[*size] = 0;
    return SUP_OK;
}

TEST(gltf_external_files_and_data_uris)
{
    static const char text[] =
        "\xEF\xBB\xBF\n{\"asset\":{\"version\":\"2.0\"},\"buffers\":[{\"uri\":\"a%20b.bin\",\"byteLength\":48},"
        "{\"uri\":\"data:application/octet-stream;base64,AAABAAIA\",\"byteLength\":6}],\"bufferViews\":[{\"buffer\":0,"
        "\"byteLength\":48},{\"buffer\":1,\"byteLength\":6}],\"accessors\":[{\"bufferView\":0,\"componentType\":5126,"
        "\"type\":\"VEC3\",\"count\":4},{\"bufferView\":1,\"componentType\":5123,\"type\":\"SCALAR\",\"count\":3}],"
        "\"images\":[{\"uri\":\"skin.png\"},{\"uri\":\"missing.png\"},{\"bufferView\":0,\"mimeType\":\"image/png\"},"
        "{\"uri\":\"data:image/png;base64,QUJD\"},{\"uri\":\"https://example.org/x.png\"},{\"uri\":\"data:,x\"}],"
        "\"meshes\":[{\"primitives\":[{\"attributes\":{\"POSITION\":0},\"indices\":1}]}],\"nodes\":[{\"mesh\":0}]}";
    two_files files = {.count = 0};
    sup_file_reader reader = {read_two, &files};
    sup_error error = {0};
    sup_character *c = NULL;
    CHECK_OK(gltf_read_bytes("folder/x.gltf", text, sizeof text - 1, &reader, &c, &error), error);
    check_floats(c->positions, square, 12, 0.0);
    check_ints(c->triangles, (const int32_t[3]){0, 1, 2}, 3);
    CHECK_EQ(files.count, 3);
    CHECK_TEXT(files.asked[0], "folder/a b.bin");
    CHECK_TEXT(files.asked[2], "folder/missing.png");
    const struct sup_document *d = c->document;
    CHECK_EQ(d->view_count, 2);
    CHECK_EQ(d->image_count, 6);
    CHECK_EQ(d->images[0].size, 48);
    CHECK(d->images[1].data == NULL && d->images[2].data == NULL && d->images[4].data == NULL &&
          d->images[5].data == NULL);
    CHECK(d->images[3].size == 3 && memcmp(d->images[3].data, "ABC", 3) == 0);
    CHECK(d->json.size == sizeof text - 1 - 4 && ((const char *)d->json.data)[0] == '{');
    CHECK_TEXT(c->name, "x");
    sup_character_destroy(c);
}

TEST(gltf_base64)
{
    static const struct {
        const char *text, *data;
    } cases[] = {{"", ""},        {"QQ==", "A"},           {"QQ", "A"}, {"QUI=", "AB"}, {"QUI", "AB"},
                 {"QUJD", "ABC"}, {"+/+/", "\xFB\xFF\xBF"}};
    static const char *const bad[] = {"Q", "QUJDR", "QQ=", "Q===", "QU=D", "QU D", "====", "QUJ\xE9"};
    unsigned char data[16];
    size_t size;
    for (int i = 0; i < SUP_COUNT(cases); i++) {
        CHECK(sup_base64_decode(cases[i].text, strlen(cases[i].text), data, &size));
        CHECK(size == strlen(cases[i].data) && memcmp(data, cases[i].data, size) == 0);
        CHECK(size <= sup_base64_bound(strlen(cases[i].text)));
    }
    for (int i = 0; i < SUP_COUNT(bad); i++)
        CHECK_MSG(!sup_base64_decode(bad[i], strlen(bad[i]), data, &size), "%s", bad[i]);
}

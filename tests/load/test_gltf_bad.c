/* The glTF reader with truncated, damaged or malicious files: each fails with its own error id, and memory use is
 * bounded by the file size. */
#include "gltf_make.h"
#include "test.h"

static const float points[12] = {0, 0, 0, 1, 0, 0, 0, 1, 0, 1, 1, 0};

/* A skinned triangle with a morph target and a clip; accessors 0 position, 1 joints, 2 weights, 3 indices, 4 matrices,
 * 5 times, 6 translations. */
static gltf_make *make_arrays(void)
{
    static const uint8_t joints[12] = {0, 1, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0};
    static const float weights[12] = {0.5f, 0.5f, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0};
    static const uint16_t indices[3] = {0, 1, 2};
    static const float matrices[32] = {1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1,
                                       1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1};
    static const float times[2] = {0, 1};
    gltf_make *m = gltf_begin();
    gltf_add_floats(m, points, "VEC3", 3, 3);
    gltf_add_array(m, joints, sizeof joints, MAKE_UBYTE, "VEC4", 3);
    gltf_add_floats(m, weights, "VEC4", 4, 3);
    gltf_add_array(m, indices, sizeof indices, MAKE_USHORT, "SCALAR", 3);
    gltf_add_floats(m, matrices, "MAT4", 16, 2);
    gltf_add_floats(m, times, "SCALAR", 1, 2);
    gltf_add_floats(m, points, "VEC3", 3, 2);
    return m;
}

static const char *const body =
    "\"meshes\":[{\"primitives\":[{\"attributes\":{\"POSITION\":0,\"JOINTS_0\":1,\"WEIGHTS_0\":2},\"indices\":3,"
    "\"targets\":[{\"POSITION\":0}]}]}],\"nodes\":[{\"mesh\":0,\"skin\":0},{\"children\":[2]},{\"translation\":[0,1,0]}"
    "],"
    "\"skins\":[{\"joints\":[1,2],\"inverseBindMatrices\":4}],\"animations\":[{\"samplers\":[{\"input\":5,\"output\":6}"
    "],"
    "\"channels\":[{\"sampler\":0,\"target\":{\"node\":2,\"path\":\"translation\"}}]}]";

static gltf_make *make_valid(void)
{
    gltf_make *m = make_arrays();
    gltf_finish(m, "%s", body);
    return m;
}

/* The valid file with `from` (must occur) replaced by `to`. */
static gltf_make *make_changed(const char *from, const char *to)
{
    gltf_make *m = make_valid();
    char *at = strstr(m->json, from);
    CHECK_MSG(at != NULL, "the file has no %s", from);
    size_t rest = strlen(at + strlen(from)) + 1;
    memmove(at + strlen(to), at + strlen(from), rest);
    memcpy(at, to, strlen(to));
    m->json_size = strlen(m->json);
    gltf_pack(m);
    return m;
}

TEST(gltf_base_file_of_bad_cases_is_valid)
{
    sup_character *c = gltf_read_built(make_valid());
    CHECK_EQ(c->vertex_count, 3);
    CHECK_EQ(c->morph_count, 1);
    CHECK_EQ(c->clips[0].channel_count, 1);
    sup_character_destroy(c);
}

TEST(gltf_bad_members)
{
    static const struct {
        const char *from, *to, *id;
    } cases[] = {
        /* indices out of range or of the wrong type */
        {"\"POSITION\":0,", "\"POSITION\":7,", "gltf.index"},
        {"\"POSITION\":0,", "\"POSITION\":-1,", "gltf.index"},
        {"\"POSITION\":0,", "\"POSITION\":\"0\",", "gltf.index"},
        {"\"POSITION\":0,", "\"POSITION\":0.5,", "gltf.index"},
        {"\"POSITION\":0,", "\"POSITION\":1e300,", "gltf.index"},
        {"\"indices\":3", "\"indices\":99", "gltf.index"},
        {"\"indices\":3", "\"indices\":5", "gltf.mesh.indices"},
        {"\"indices\":3", "\"mode\":7", "gltf.number"},
        {"\"indices\":3", "\"material\":0", "gltf.index"},
        {"\"mesh\":0", "\"mesh\":1", "gltf.index"},
        {"\"skin\":0", "\"skin\":4294967296", "gltf.index"},
        {"\"input\":5", "\"input\":50", "gltf.index"},
        {"\"input\":5", "\"input\":0", "gltf.animation.sampler"},
        {"\"input\":5", "\"inpud\":0", "gltf.animation.sampler"},
        {"\"output\":6}", "\"output\":6,\"interpolation\":\"MAGIC\"}", "gltf.animation.sampler"},
        {"\"output\":6}", "\"output\":6,\"interpolation\":\"CUBICSPLINE\"}", "gltf.animation.count"},
        {"\"output\":6}", "\"output\":2}", "gltf.animation.count"},
        {"\"sampler\":0", "\"sampler\":1", "gltf.index"},
        {"\"sampler\":0", "\"simpler\":1", "gltf.object"},
        {"\"node\":2,\"path\"", "\"node\":3,\"path\"", "gltf.index"},
        {"\"path\":\"translation\"", "\"path\":\"rotation\"", "gltf.animation.count"},
        {"\"node\":2,\"path\":\"translation\"", "\"node\":0,\"path\":\"weights\"", "gltf.animation.count"},
        {"\"joints\":[1,2]", "\"joints\":[1,3]", "gltf.skin.joint"},
        {"\"joints\":[1,2]", "\"joints\":[1,null]", "gltf.skin.joint"},
        {"\"joints\":[1,2]", "\"joints\":[]", "gltf.skin.empty"},
        {"\"joints\":[1,2]", "\"joints\":{}", "gltf.skin.empty"},
        {"\"joints\":[1,2]", "\"joints\":[1]", "gltf.mesh.joint"},
        {"\"joints\":[1,2]", "\"joints\":[0,1,2]", "gltf.skin.matrices"},
        {"\"inverseBindMatrices\":4", "\"inverseBindMatrices\":0", "gltf.skin.matrices"},
        /* attributes with wrong counts or types */
        {"\"JOINTS_0\":1", "\"JOINTS_0\":4", "gltf.mesh.influences"},
        {"\"JOINTS_0\":1", "\"JOINTS_0\":6", "gltf.mesh.influences"},
        {"\"WEIGHTS_0\":2", "\"WEIGHTS_0\":0", "gltf.mesh.influences"},
        {"\"JOINTS_0\":1,", "", "gltf.mesh.influences"},
        {"\"POSITION\":0,", "\"POSITION\":2,", "gltf.mesh.attribute"},
        {"\"POSITION\":0,", "\"POSITION\":0,\"NORMAL\":6,", "gltf.mesh.attribute"},
        {"\"POSITION\":0,", "\"POSITION\":6,", "gltf.mesh.index"},
        {"[{\"POSITION\":0}]", "[{\"POSITION\":6}]", "gltf.morph"},
        {"[{\"POSITION\":0}]", "[{\"POSITION\":77}]", "gltf.index"},
        {"[{\"POSITION\":0}]", "[4]", "gltf.object"},
        {"[{\"POSITION\":0}]", "4", "gltf.list"},
        /* nodes */
        {"\"children\":[2]", "\"children\":[3]", "gltf.index"},
        {"\"children\":[2]", "\"children\":[2,2]", "gltf.node.parents"},
        {"\"children\":[2]", "\"children\":[1]", "character.node.cycle"},
        {"{\"translation\":[0,1,0]}", "{\"children\":[1]}", "character.node.cycle"},
        {"{\"translation\":[0,1,0]}", "{\"children\":[0]},{\"children\":[0]}", "gltf.node.parents"},
        {"\"translation\":[0,1,0]", "\"translation\":[0,1]", "gltf.numbers"},
        {"\"translation\":[0,1,0]", "\"translation\":[0,1,\"x\"]", "gltf.numbers"},
        {"\"translation\":[0,1,0]", "\"translation\":[0,1,1e999]", "character.node.nonfinite"},
        {"\"translation\":[0,1,0]", "\"rotation\":[0,1,1e999,0]", "character.node.nonfinite"},
        {"\"translation\":[0,1,0]", "\"matrix\":[1,0,0,0,0,1,0,0,0,0,1,0,0,1e999,0,1]", "gltf.node.nonfinite"},
        {"\"translation\":[0,1,0]", "\"matrix\":[1,0,0]", "gltf.numbers"},
        {"\"nodes\":[", "\"nodes\":[7,", "gltf.object"},
        {"\"nodes\":[{", "\"nodes\":[[{", "json.comma"},
        {"\"animations\":[", "\"animations\":[false,", "gltf.object"},
        /* accessors, views, buffers */
        {"\"count\":3", "\"count\":4", "gltf.accessor.range"},
        {"\"count\":3", "\"count\":-3", "gltf.number"},
        {"\"count\":3", "\"count\":99999999999", "gltf.number"},
        {"\"count\":3", "\"count\":3,\"byteOffset\":4", "gltf.accessor.range"},
        {"\"count\":3", "\"count\":3,\"byteOffset\":9007199254740991", "gltf.accessor.range"},
        {"\"count\":3", "\"count\":3,\"byteOffset\":-4", "gltf.number"},
        {"\"count\":3", "\"count\":3,\"sparse\":{\"count\":1}", "gltf.number"},
        {"\"count\":3", "\"count\":3,\"sparse\":{\"count\":4}", "gltf.number"},
        {"\"count\":3",
         "\"count\":3,\"sparse\":{\"count\":3,\"indices\":{\"bufferView\":4,\"componentType\":5125},\"values\":{"
         "\"bufferView\":0}}",
         "gltf.accessor.sparse"},
        {"\"count\":3",
         "\"count\":3,\"sparse\":{\"count\":1,\"indices\":{\"bufferView\":6,\"componentType\":5126},\"values\":{"
         "\"bufferView\":0}}",
         "gltf.accessor.type"},
        {"\"count\":3",
         "\"count\":3,\"sparse\":{\"count\":1,\"indices\":{\"componentType\":5125},\"values\":{\"bufferView\":0}}",
         "gltf.accessor.sparse"},
        {"\"count\":3",
         "\"count\":3,\"sparse\":{\"count\":2,\"indices\":{\"bufferView\":3,\"componentType\":5125},\"values\":{"
         "\"bufferView\":0}}",
         "gltf.accessor.range"},
        {"\"type\":\"VEC3\",\"count\":2", /* index 2 of the triangle is out of range */
         "\"type\":\"VEC3\",\"count\":2,\"sparse\":{\"count\":1,\"indices\":{\"bufferView\":3,\"byteOffset\":4,"
         "\"componentType\":5123},\"values\":{\"bufferView\":0}}",
         "gltf.accessor.sparse"},
        {"\"byteOffset\":240,\"byteLength\":24", "\"byteOffset\":240,\"byteLength\":25", "gltf.view.range"},
        {"\"byteOffset\":240,\"byteLength\":24", "\"byteOffset\":265,\"byteLength\":0", "gltf.view.range"},
        {"\"type\":\"VEC3\"", "\"type\":\"VEC5\"", "gltf.accessor.type"},
        {"\"type\":\"VEC3\"", "\"type\":3", "gltf.accessor.type"},
        {"\"componentType\":5126", "\"componentType\":5124", "gltf.accessor.type"},
        {"\"bufferView\":0", "\"bufferView\":7", "gltf.index"},
        {"\"byteLength\":36}", "\"byteLength\":36,\"byteStride\":4}", "gltf.accessor.stride"},
        {"\"byteLength\":36}", "\"byteLength\":36,\"byteStride\":16}", "gltf.accessor.range"},
        {"\"byteLength\":36}", "\"byteLength\":35}", "gltf.accessor.range"},
        {"\"byteLength\":36}", "\"byteLength\":9007199254740991}", "gltf.view.range"},
        {"\"byteOffset\":0", "\"byteOffset\":9007199254740991", "gltf.view.range"},
        {"{\"buffer\":0,", "{\"buffer\":1,", "gltf.index"},
        {"{\"buffer\":0,", "{", "gltf.view.buffer"},
        {"\"buffers\":[{\"byteLength\":", "\"buffers\":[{\"byteLength\":9", "gltf.buffer.range"},
        {"\"buffers\":[{\"byteLength\":", "\"buffers\":[{\"byteLang\":", "gltf.number"},
        {"\"buffers\":[{", "\"buffers\":[{\"uri\":\"data:;base64,AAAA\",", "gltf.buffer.range"},
        {"\"buffers\":[{", "\"buffers\":[{\"uri\":\"data:;base64,A?AA\",", "gltf.uri.data"},
        {"\"buffers\":[{", "\"buffers\":[{\"uri\":\"data:AAAA\",", "gltf.uri.data"},
        {"\"buffers\":[{", "\"buffers\":[{},{", "gltf.number"},
        {"\"buffers\":[{", "\"buffers\":[{\"extensions\":{\"EXT_meshopt_compression\":{\"default_value\":true}},",
         "gltf.buffer.missing"},
        {"\"byteLength\":36}", "\"byteLength\":36,\"extensions\":{\"EXT_meshopt_compression\":{}}}", "gltf.number"},
        {"\"byteLength\":36}",
         "\"byteLength\":36,\"extensions\":{\"EXT_meshopt_compression\":{\"buffer\":0,\"byteLength\":36,\"count\":3,"
         "\"byteStride\":12,\"mode\":\"ATTRIBUTES\"}}}",
         "gltf.meshopt.stream"},
        {"\"byteLength\":36}",
         "\"byteLength\":36,\"extensions\":{\"EXT_meshopt_compression\":{\"buffer\":0,\"byteLength\":36,\"count\":4,"
         "\"byteStride\":12,\"mode\":\"ATTRIBUTES\"}}}",
         "gltf.meshopt.layout"},
        {"\"byteLength\":36}",
         "\"byteLength\":36,\"extensions\":{\"EXT_meshopt_compression\":{\"buffer\":0,\"byteLength\":36,\"count\":3,"
         "\"byteStride\":12,\"mode\":\"ZIP\"}}}",
         "gltf.meshopt.layout"},
        /* the document */
        {"\"asset\"", "\"assets\"", "gltf.asset"},
        {"\"nodes\":[", "\"nodes\":1,\"knots\":[", "gltf.list"},
        {"\"meshes\":[", "\"meshes\":\"\",\"x\":[", "gltf.list"},
        {"\"primitives\":[", "\"primitives\":{},\"x\":[", "gltf.list"},
        {"\"bufferViews\":[", "\"bufferViews\":[[],", "gltf.object"},
    };
    for (int i = 0; i < SUP_COUNT(cases); i++)
        gltf_check_rejected(make_changed(cases[i].from, cases[i].to), SUP_ERROR_FORMAT, cases[i].id);
}

TEST(gltf_bad_versions_and_extensions)
{
    gltf_check_rejected(make_changed("\"2.0\"", "\"1.0\""), SUP_ERROR_UNSUPPORTED, "gltf.version");
    gltf_check_rejected(make_changed("\"2.0\"", "\"2.1\",\"minVersion\":\"2.1\""), SUP_ERROR_UNSUPPORTED,
                        "gltf.version");
    gltf_check_rejected(make_changed("\"asset\"", "\"extensionsRequired\":[\"KHR_draco_mesh_compression\"],\"asset\""),
                        SUP_ERROR_UNSUPPORTED, "gltf.extension.draco");
    gltf_check_rejected(make_changed("\"asset\"", "\"extensionsRequired\":[\"ACME_new\"],\"asset\""),
                        SUP_ERROR_UNSUPPORTED, "gltf.extension");
    gltf_check_rejected(make_changed("\"asset\"", "\"extensionsRequired\":[5],\"asset\""), SUP_ERROR_FORMAT,
                        "gltf.extension");
    gltf_make *m =
        make_changed("\"asset\"", "\"extensionsRequired\":[\"KHR_materials_unlit\",\"KHR_texture_transform\"],"
                                  "\"extensionsUsed\":[\"KHR_draco_mesh_compression\"],\"asset\"");
    sup_character_destroy(gltf_read_built(m));
    sup_error error = {0};
    sup_character *c = NULL;
    m = make_changed("\"asset\"", "\"extensionsRequired\":[\"ACME_new\"],\"asset\"");
    gltf_read_bytes("made.glb", m->file, m->file_size, NULL, &c, &error);
    CHECK(strstr(error.message, "ACME_new") != NULL);
    CHECK_TEXT(error.where, "made.glb");
}

static void check_rejected_bytes(const void *data, size_t size, sup_result result, const char *id)
{
    sup_error error = {0};
    sup_character *c = NULL;
    sup_result got = gltf_read_bytes("x.glb", data, size, NULL, &c, &error);
    CHECK_MSG(got == result && strcmp(error.id, id) == 0, "expected %d %s, got %d %s", result, id, got, error.id);
}

TEST(gltf_bad_containers)
{
    check_rejected_bytes("", 0, SUP_ERROR_FORMAT, "gltf.magic");
    check_rejected_bytes("hello", 5, SUP_ERROR_FORMAT, "gltf.magic");
    check_rejected_bytes("  [1]", 5, SUP_ERROR_FORMAT, "gltf.magic");
    check_rejected_bytes("{", 1, SUP_ERROR_FORMAT, "json.key");
    check_rejected_bytes("{}", 2, SUP_ERROR_FORMAT, "gltf.asset");
    check_rejected_bytes("glTF", 4, SUP_ERROR_FORMAT, "gltf.glb.truncated");
    gltf_make *m = make_valid();
    m->file[4] = 1;
    check_rejected_bytes(m->file, m->file_size, SUP_ERROR_UNSUPPORTED, "gltf.version");
    m = make_valid();
    check_rejected_bytes(m->file, m->file_size - 1, SUP_ERROR_FORMAT, "gltf.glb.truncated");
    memset(m->file + 8, 0xFF, 4);
    check_rejected_bytes(m->file, m->file_size, SUP_ERROR_FORMAT, "gltf.glb.truncated");
    m = make_valid();
    memset(m->file + 12, 0xFF, 4); /* a chunk of 4 GB */
    check_rejected_bytes(m->file, m->file_size, SUP_ERROR_FORMAT, "gltf.glb.chunk");
    m = make_valid();
    m->file[16] = 'X';
    check_rejected_bytes(m->file, m->file_size, SUP_ERROR_FORMAT, "gltf.glb.json");
    m = make_valid();
    size_t binary = 20 + (m->json_size + 3) / 4 * 4;
    memset(m->file + binary, 0xFF, 4);
    check_rejected_bytes(m->file, m->file_size, SUP_ERROR_FORMAT, "gltf.glb.chunk");
    m = make_valid();
    memset(m->file + binary + 4, 'x', 4); /* a chunk of another kind: no binary data */
    check_rejected_bytes(m->file, m->file_size, SUP_ERROR_FORMAT, "gltf.buffer.missing");
    m = make_valid();
    memset(m->file + 20 + m->json_size, 0, binary - 20 - m->json_size); /* padded with zeros: accepted */
    sup_character_destroy(gltf_read_built(m));
}

TEST(gltf_bad_external_files)
{
    sup_error error = {0};
    sup_character *c = NULL;
    static const char *const uris[] = {"no such file.bin", "https://example.org/x.bin", "/no/such/file"};
    static const char *const ids[] = {"file.open", "gltf.uri.scheme", "file.open"};
    for (int i = 0; i < 3; i++) {
        char text[256];
        int size =
            snprintf(text, sizeof text,
                     "{\"asset\":{\"version\":\"2.0\"},\"buffers\":[{\"uri\":\"%s\",\"byteLength\":4}]}", uris[i]);
        CHECK(gltf_read_bytes("x.gltf", text, (size_t)size, NULL, &c, &error) != SUP_OK);
        CHECK_TEXT(error.id, ids[i]);
    }
    static char text[8192];
    int size =
        snprintf(text, sizeof text, "{\"asset\":{\"version\":\"2.0\"},\"buffers\":[{\"byteLength\":4,\"uri\":\"");
    memset(text + size, 'a', 5000);
    strcpy(text + size + 5000, "\"}]}");
    CHECK(gltf_read_bytes("x.gltf", text, strlen(text), NULL, &c, &error) == SUP_ERROR_FORMAT);
    CHECK_TEXT(error.id, "gltf.uri.long");
}

TEST(gltf_bad_numbers_in_arrays)
{
    const float infinite[2] = {0, INFINITY}, back[2] = {1, 0};
    gltf_make *m = make_arrays();
    gltf_add_floats(m, infinite, "SCALAR", 1, 2);
    gltf_add_floats(m, back, "SCALAR", 1, 2);
    const char *animation = "\"nodes\":[{}],\"animations\":[{\"samplers\":[{\"input\":%d,\"output\":%d}],\"channels\":"
                            "[{\"sampler\":0,\"target\":{\"node\":0,\"path\":\"translation\"}}]}]";
    char text[512];
    snprintf(text, sizeof text, animation, 7, 6);
    gltf_finish(m, "%s", text);
    gltf_check_rejected(m, SUP_ERROR_FORMAT, "character.clip.nonfinite");
    snprintf(text, sizeof text, animation, 8, 6);
    gltf_finish(m, "%s", text);
    gltf_check_rejected(m, SUP_ERROR_FORMAT, "character.clip.order");
    float matrices[32] = {0};
    matrices[5] = NAN;
    m = make_arrays();
    gltf_add_floats(m, matrices, "MAT4", 16, 2);
    gltf_finish(m, "\"nodes\":[{},{}],\"skins\":[{\"joints\":[0,1],\"inverseBindMatrices\":7}]");
    gltf_check_rejected(m, SUP_ERROR_FORMAT, "gltf.skin.nonfinite");
}

TEST(gltf_bad_positions_are_kept)
{
    const float positions[9] = {NAN, 0, 0, 1, INFINITY, 0, 0, 1, 0};
    gltf_make *m = gltf_begin();
    gltf_add_floats(m, positions, "VEC3", 3, 3);
    gltf_finish(
        m, "\"meshes\":[{\"primitives\":[{\"attributes\":{\"POSITION\":0,\"NORMAL\":0}}]}],\"nodes\":[{\"mesh\":0}]");
    sup_character *c = gltf_read_built(m);
    CHECK(isnan(c->positions[0]) && isinf(c->positions[4]));
    for (int i = 0; i < 6; i++)
        CHECK(c->normals[i] == 0.0f);
    CHECK(c->normals[7] == 1.0f);
    sup_character_destroy(c);
}

/* An allocator that counts live bytes and fails after a number of calls. */
typedef struct counting {
    sup_allocator real;
    size_t held, maximum;
    int calls_left;
} counting;

static void *counting_allocate(void *user, size_t size, size_t alignment)
{
    counting *c = user;
    if (c->calls_left-- <= 0) return NULL;
    void *memory = c->real.allocate(c->real.user, size, alignment);
    if (memory == NULL) return NULL;
    c->held += size;
    c->maximum = c->held > c->maximum ? c->held : c->maximum;
    return memory;
}

static void counting_release(void *user, void *memory, size_t size)
{
    counting *c = user;
    c->held -= size;
    c->real.release(c->real.user, memory, size);
}

static sup_result read_counted(const gltf_make *m, counting *c, int calls, sup_character **character, sup_error *error)
{
    sup_context context = sup_context_resolve(NULL);
    *c = (counting){context.allocator, 0, 0, calls};
    context.allocator = (sup_allocator){counting_allocate, counting_release, c};
    sup_read_input input = {&context, "made.glb", {m->file, m->file_size}, sup_file_reader_resolve(NULL)};
    return sup_read_gltf(&input, character, error);
}

static void check_bounded(const gltf_make *m)
{
    counting count;
    sup_error error = {0};
    sup_character *c = NULL;
    CHECK_EQ(read_counted(m, &count, INT32_MAX, &c, &error), SUP_ERROR_FORMAT);
    CHECK_TEXT(error.id, "gltf.size");
    CHECK_MSG(count.maximum < 40u << 20, "%zu bytes taken", count.maximum);
    CHECK_EQ(count.held, 0);
}

TEST(gltf_bad_counts_do_not_allocate)
{
    gltf_make *m = gltf_begin();
    gltf_add_accessor(m, -1, MAKE_FLOAT, "VEC3", 100000000, "");
    gltf_finish(m, "\"meshes\":[{\"primitives\":[{\"attributes\":{\"POSITION\":0}}]}],\"nodes\":[{\"mesh\":0}]");
    check_bounded(m);
    m = gltf_begin();
    gltf_add_accessor(m, -1, MAKE_USHORT, "SCALAR", 100000000, "");
    gltf_add_accessor(m, -1, MAKE_FLOAT, "VEC3", 3, "");
    gltf_finish(
        m, "\"meshes\":[{\"primitives\":[{\"attributes\":{\"POSITION\":1},\"indices\":0}]}],\"nodes\":[{\"mesh\":0}]");
    check_bounded(m);
    m = gltf_begin();
    gltf_add_accessor(m, -1, MAKE_FLOAT, "SCALAR", 100000000, "");
    gltf_add_accessor(m, -1, MAKE_FLOAT, "VEC3", 100000000, "");
    gltf_finish(
        m, "\"nodes\":[{}],\"animations\":[{\"samplers\":[{\"input\":0,\"output\":1}],\"channels\":[{\"sampler\":0,"
           "\"target\":{\"node\":0,\"path\":\"scale\"}}]}]");
    check_bounded(m);
    /* instances: 2500 of 4000 vertices, from a file of 80 kB */
    m = gltf_begin();
    static float many[3 * 4000];
    gltf_add_floats(m, many, "VEC3", 3, 4000);
    static char nodes[40000];
    size_t at = 0;
    for (int i = 0; i < 2500; i++)
        at += (size_t)snprintf(nodes + at, sizeof nodes - at, "%s{\"mesh\":0}", i > 0 ? "," : "");
    gltf_finish(m, "\"meshes\":[{\"primitives\":[{\"attributes\":{\"POSITION\":0}}]}],\"nodes\":[%s]", nodes);
    check_bounded(m);
}

TEST(gltf_handles_out_of_memory)
{
    gltf_make *m = make_valid();
    bool whole = false;
    int calls = 0;
    for (; calls < 200 && !whole; calls++) {
        counting count;
        sup_error error = {0};
        sup_character *c = NULL;
        sup_result result = read_counted(m, &count, calls, &c, &error);
        whole = result == SUP_OK;
        CHECK(whole || result == SUP_ERROR_MEMORY);
        count.calls_left = INT32_MAX;
        if (whole) sup_character_destroy(c);
        CHECK_EQ(count.held, 0);
    }
    CHECK(whole && calls > 3);
}

TEST(gltf_survives_every_truncation)
{
    gltf_make *m = make_valid();
    sup_error error = {0};
    sup_character *c = NULL;
    for (size_t size = 0; size < m->file_size; size++)
        CHECK(gltf_read_bytes("cut.glb", m->file, size, NULL, &c, &error) != SUP_OK);
    for (size_t size = 0; size < m->json_size; size++) /* the text alone, and with a header of the truncated size */
        CHECK(gltf_read_bytes("cut.gltf", m->json, size, NULL, &c, &error) != SUP_OK);
    for (size_t size = 20; size < m->file_size; size++) {
        unsigned char *copy = m->file;
        for (int i = 0; i < 4; i++)
            copy[8 + i] = (unsigned char)(size >> (8 * i));
        if (gltf_read_bytes("cut.glb", copy, size, NULL, &c, &error) == SUP_OK) sup_character_destroy(c);
    }
}

TEST(gltf_survives_corrupt_bytes)
{
    sup_random random = {11};
    gltf_make *m = make_valid();
    static unsigned char whole[131072];
    size_t size = m->file_size;
    memcpy(whole, m->file, size);
    int read = 0;
    for (int iteration = 0; iteration < 6000; iteration++) {
        static const char digits[] = "0123456789-,]}{[\"";
        sup_error error = {0};
        sup_character *c = NULL;
        memcpy(m->file, whole, size);
        for (int k = 0; k < 1 + iteration % 3; k++) {
            size_t at = sup_random_u32(&random) % size;
            m->file[at] = iteration % 2 == 0 ? (unsigned char)sup_random_u32(&random)
                                             : (unsigned char)digits[sup_random_u32(&random) % (sizeof digits - 1)];
        }
        if (gltf_read_bytes("damaged.glb", m->file, size, NULL, &c, &error) == SUP_OK) {
            sup_character_destroy(c);
            read++;
        } else {
            CHECK(error.id[0] != '\0' && error.message[0] != '\0');
        }
    }
    CHECK(read > 0 && read < 6000);
}

/* test_glb_document.c - a hand-written document with members that must be kept, removed or repaired. */
#include "helpers.h"

#include "load/document.h"
#include "load/json.h"

static const unsigned char png[] = {
    0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a, 0x00, 0x00, 0x00, 0x0d, 0x49, 0x48, 0x44, 0x52, 0x00, 0x00,
    0x00, 0x01, 0x00, 0x00, 0x00, 0x01, 0x08, 0x02, 0x00, 0x00, 0x00, 0x90, 0x77, 0x53, 0xde, 0x00, 0x00, 0x00,
    0x0c, 0x49, 0x44, 0x41, 0x54, 0x78, 0x9c, 0x63, 0xf8, 0xdf, 0xe0, 0x00, 0x00, 0x04, 0x41, 0x01, 0xc0, 0x0c,
    0xd1, 0xed, 0x91, 0x00, 0x00, 0x00, 0x00, 0x49, 0x45, 0x4e, 0x44, 0xae, 0x42, 0x60, 0x82,
};

static const char document_text[] =
    "{\"asset\":{\"version\":\"2.0\",\"generator\":\"hand\",\"copyright\":\"nobody\"},"
    "\"extensionsUsed\":[\"KHR_mesh_quantization\",\"EXT_meshopt_compression\",\"VENDOR_test\"],"
    "\"extensionsRequired\":[\"KHR_mesh_quantization\"],"
    "\"extensions\":{\"VENDOR_test\":{\"data\":[{\"bufferView\":3}]}},"
    "\"scene\":0,\"scenes\":[{\"nodes\":[0]},{\"name\":\"second\",\"nodes\":[4]}],"
    "\"nodes\":[{\"name\":\"root\",\"rotation\":[0,0,0,2],\"children\":[1,2,3]},"
    "{\"name\":\"mirror\",\"mesh\":0,\"scale\":[-1,1,1],\"translation\":[5,0,0]},"
    "{\"mesh\":0,\"extras\":{\"keep\":1}},"
    "{\"name\":\"eye\",\"camera\":0,\"translation\":[0,0,9]},"
    "{\"name\":\"other\",\"mesh\":1,\"weights\":[0.25],\"skin\":0,\"children\":[]}],"
    "\"cameras\":[{\"type\":\"perspective\",\"perspective\":{\"yfov\":1,\"znear\":0.1}}],"
    "\"skins\":[{\"joints\":[0]}],"
    "\"materials\":[{\"name\":\"red\",\"extensions\":{\"KHR_materials_unlit\":{}},"
    "\"pbrMetallicRoughness\":{\"baseColorTexture\":{\"index\":0}}}],"
    "\"textures\":[{\"source\":0}],\"images\":[{\"bufferView\":4,\"mimeType\":\"image/jpeg\"}],"
    "\"meshes\":[{\"name\":\"quad\",\"extras\":{\"keep\":2},\"primitives\":["
    "{\"attributes\":{\"POSITION\":0,\"TEXCOORD_0\":1,\"TEXCOORD_1\":6,\"COLOR_0\":2},\"indices\":3,\"mode\":5,"
    "\"material\":0},"
    "{\"attributes\":{\"POSITION\":0,\"_ID\":7},\"mode\":0}]},"
    "{\"name\":\"soft\",\"weights\":[0],\"extras\":{\"targetNames\":[\"old\"],\"keep\":3},\"primitives\":["
    "{\"attributes\":{\"POSITION\":0,\"COLOR_0\":4,\"JOINTS_0\":8,\"WEIGHTS_0\":9},\"indices\":3,\"mode\":5,"
    "\"targets\":[{\"POSITION\":0}]}]}],"
    "\"animations\":[{\"name\":\"old\",\"samplers\":[{\"input\":10,\"output\":11}],"
    "\"channels\":[{\"sampler\":0,\"target\":{\"node\":1,\"path\":\"translation\"}}]}],"
    "\"accessors\":["
    "{\"bufferView\":0,\"componentType\":5126,\"count\":4,\"type\":\"VEC3\",\"min\":[0,0,0],\"max\":[1,1,0]},"
    "{\"bufferView\":0,\"byteOffset\":12,\"componentType\":5122,\"normalized\":true,\"count\":4,\"type\":\"VEC2\","
    "\"name\":\"uv\"},"
    "{\"bufferView\":0,\"byteOffset\":16,\"componentType\":5121,\"normalized\":true,\"count\":4,\"type\":\"VEC4\"},"
    "{\"bufferView\":1,\"componentType\":5121,\"count\":4,\"type\":\"SCALAR\",\"max\":[99]},"
    "{\"bufferView\":2,\"componentType\":5126,\"count\":4,\"type\":\"VEC4\"},"
    "{\"bufferView\":2,\"componentType\":5126,\"count\":4,\"type\":\"VEC4\",\"name\":\"nobody uses it\"},"
    "{\"componentType\":5126,\"count\":4,\"type\":\"VEC2\",\"sparse\":{\"count\":1,\"indices\":{\"bufferView\":1,"
    "\"byteOffset\":2,\"componentType\":5121},\"values\":{\"bufferView\":3}}},"
    "{\"bufferView\":3,\"componentType\":5126,\"count\":4000,\"type\":\"SCALAR\"},"
    "{\"bufferView\":5,\"componentType\":5121,\"count\":4,\"type\":\"VEC4\"},"
    "{\"bufferView\":5,\"byteOffset\":16,\"componentType\":5121,\"normalized\":true,\"count\":4,\"type\":\"VEC4\"},"
    "{\"bufferView\":6,\"componentType\":5126,\"count\":2,\"type\":\"SCALAR\",\"min\":[0],\"max\":[1]},"
    "{\"bufferView\":6,\"byteOffset\":8,\"componentType\":5126,\"count\":2,\"type\":\"VEC3\"}],"
    "\"bufferViews\":[{\"buffer\":0,\"byteLength\":80,\"byteStride\":20},"
    "{\"buffer\":0,\"byteOffset\":80,\"byteLength\":4},"
    "{\"buffer\":0,\"byteOffset\":84,\"byteLength\":64},"
    "{\"buffer\":0,\"byteOffset\":148,\"byteLength\":8},"
    "{\"buffer\":0,\"byteOffset\":256,\"byteLength\":69},"
    "{\"buffer\":0,\"byteOffset\":156,\"byteLength\":32},"
    "{\"buffer\":0,\"byteOffset\":188,\"byteLength\":32}],"
    "\"buffers\":[{\"byteLength\":512}]}";

/* 4 vertices: position, two normalised shorts, four bytes of colour. */
static void fill_bytes(unsigned char *bytes)
{
    static const float corners[4][3] = {{0, 0, 0}, {1, 0, 0}, {0, 1, 0}, {1, 1, 0}};
    static const float special[2] = {0.75f, 0.5f};
    for (int v = 0; v < 4; v++) {
        int16_t uv[2] = {(int16_t)(v * 1000), (int16_t)(-v)};
        unsigned char colour[4] = {(unsigned char)(v * 50), 1, 2, 255};
        float bright[4] = {v == 1 ? (float)NAN : 1.5f, -0.5f, 0.25f, 1.0f};
        memcpy(bytes + 20 * v, corners[v], 12);
        memcpy(bytes + 20 * v + 12, uv, 4);
        memcpy(bytes + 20 * v + 16, colour, 4);
        memcpy(bytes + 84 + 16 * v, bright, 16);
        bytes[80 + v] = (unsigned char)v;
        bytes[156 + 16 + 4 * v] = 255;
    }
    memcpy(bytes + 148, special, 8);
    memcpy(bytes + 256, png, sizeof png);
    const float one = 1.0f;
    memcpy(bytes + 192, &one, 4);
}

static const char *write_document(void)
{
    unsigned char bytes[512] = {0};
    char text[8192];
    size_t length = sizeof document_text - 1;
    memcpy(text, document_text, length);
    while (length % 4 != 0)
        text[length++] = ' ';
    fill_bytes(bytes);
    uint32_t head[5] = {0x46546c67, 2, (uint32_t)(28 + length + 512), (uint32_t)length, 0x4e4f534a};
    uint32_t chunk[2] = {512, 0x004e4942};
    const char *path = test_temp("hand_input.bin");
    FILE *file = fopen(path, "wb");
    CHECK(file != NULL);
    CHECK(fwrite(head, 1, 20, file) == 20 && fwrite(text, 1, length, file) == length &&
          fwrite(chunk, 1, 8, file) == 8 && fwrite(bytes, 1, 512, file) == 512);
    fclose(file);
    return path;
}

typedef struct round_trip {
    sup_character *before, *after;
    helper_frames frames;
    sup_json_tree tree; /* of the output */
    sup_json *root;
} round_trip;

static round_trip make_round_trip(void)
{
    round_trip t = {0};
    sup_error error;
    sup_context context = sup_context_resolve(NULL);
    t.before = helper_read_gltf(write_document());
    t.frames = helper_wave(t.before, 3);
    const char *path = test_temp("hand.glb");
    CHECK_OK(helper_write(path, t.before, &t.frames, NULL, &error), error);
    t.after = helper_read_gltf(path);
    t.tree = sup_json_tree_create(&context.allocator);
    CHECK_OK(sup_json_parse(&t.tree, path, t.after->document->json, &error), error);
    t.root = t.tree.root;
    return t;
}

static void end_round_trip(round_trip *t)
{
    sup_json_tree_destroy(&t->tree);
    sup_character_destroy(t->after);
    sup_character_destroy(t->before);
    helper_frames_free(&t->frames);
}

static int64_t whole(const sup_json *value)
{
    int64_t number = -1;
    sup_json_integer(value, &number);
    return number;
}

static const sup_json *primitive_of(const round_trip *t, int32_t mesh, int32_t primitive)
{
    const sup_json *meshes = sup_json_get(t->root, "meshes");
    return sup_json_at(sup_json_get(sup_json_at(meshes, mesh), "primitives"), primitive);
}

/* The text of a value, for comparison. Valid until the next call. */
static const char *text_of(const sup_json *value)
{
    static char buffer[1000];
    sup_context context = sup_context_resolve(NULL);
    sup_array text = {.item_size = 1};
    CHECK(value != NULL && sup_json_write(value, &context.allocator, &text) && text.count < sizeof buffer);
    memcpy(buffer, text.data, text.count);
    buffer[text.count] = '\0';
    sup_array_free(&context.allocator, &text);
    return buffer;
}

/* Bytes of the view behind an accessor of the output. */
static const void *accessor_bytes(const round_trip *t, int64_t accessor, int64_t count, const char *type,
                                  int64_t component)
{
    const sup_json *a = sup_json_at(sup_json_get(t->root, "accessors"), accessor);
    CHECK_EQ(whole(sup_json_get(a, "count")), count);
    CHECK_EQ(whole(sup_json_get(a, "componentType")), component);
    CHECK_TEXT(sup_json_text(sup_json_get(a, "type")), type);
    return t->after->document->views[whole(sup_json_get(a, "bufferView"))].data;
}

TEST(document_nodes_and_scenes)
{
    round_trip t = make_round_trip();
    const sup_json *nodes = sup_json_get(t.root, "nodes"), *scenes = sup_json_get(t.root, "scenes");
    CHECK_EQ(sup_json_count(nodes), 8);
    CHECK_TEXT(text_of(sup_json_get(sup_json_at(scenes, 0), "nodes")), "[0,5,6]");
    CHECK_TEXT(text_of(sup_json_get(sup_json_at(scenes, 1), "nodes")), "[4,7]");
    CHECK_TEXT(text_of(sup_json_at(nodes, 0)), "{\"name\":\"root\",\"rotation\":[0,0,0,1],\"children\":[1,2,3]}");
    CHECK_TEXT(text_of(sup_json_at(nodes, 1)), "{\"name\":\"mirror\",\"scale\":[-1,1,1],\"translation\":[5,0,0]}");
    CHECK_TEXT(text_of(sup_json_at(nodes, 2)), "{\"extras\":{\"keep\":1}}");
    CHECK_TEXT(text_of(sup_json_at(nodes, 3)), "{\"name\":\"eye\",\"camera\":0,\"translation\":[0,0,9]}");
    CHECK_TEXT(text_of(sup_json_at(nodes, 4)), "{\"name\":\"other\"}");
    CHECK_TEXT(text_of(sup_json_at(nodes, 5)), "{\"name\":\"mirror\",\"mesh\":0}");
    CHECK_TEXT(text_of(sup_json_at(nodes, 6)), "{\"name\":\"quad\",\"mesh\":1}");
    CHECK_TEXT(text_of(sup_json_at(nodes, 7)), "{\"name\":\"other\",\"mesh\":2}");
    CHECK_TEXT(sup_json_text(sup_json_get(sup_json_get(t.root, "asset"), "copyright")), "nobody");
    CHECK(strncmp(sup_json_text(sup_json_get(sup_json_get(t.root, "asset"), "generator")), "Supple ", 7) == 0);
    end_round_trip(&t);
}

TEST(document_meshes)
{
    round_trip t = make_round_trip();
    const sup_json *meshes = sup_json_get(t.root, "meshes");
    CHECK_EQ(sup_json_count(meshes), 3);
    CHECK_TEXT(text_of(sup_json_get(sup_json_at(meshes, 0), "extras")), "{\"keep\":2}");
    CHECK_TEXT(text_of(sup_json_get(sup_json_at(meshes, 2), "extras")), "{\"keep\":3}");
    CHECK_TEXT(text_of(sup_json_get(sup_json_at(meshes, 2), "weights")), "[0,0]");
    CHECK(sup_json_get(t.root, "skins") == NULL);
    /* The strip of the mirrored instance became triangles with reversed orientation; the other kept its indices. */
    const sup_json *mirrored = primitive_of(&t, 0, 0), *plain = primitive_of(&t, 1, 0);
    CHECK(sup_json_get(mirrored, "mode") == NULL);
    const uint16_t turned[6] = {0, 2, 1, 1, 2, 3};
    CHECK(memcmp(accessor_bytes(&t, whole(sup_json_get(mirrored, "indices")), 6, "SCALAR", 5123), turned, 12) == 0);
    CHECK_EQ(whole(sup_json_get(plain, "mode")), 5);
    const unsigned char strip[4] = {0, 1, 2, 3};
    CHECK(memcmp(accessor_bytes(&t, whole(sup_json_get(plain, "indices")), 4, "SCALAR", 5121), strip, 4) == 0);
    /* Points stay points, and an attribute with a wrong size is dropped. */
    CHECK_EQ(whole(sup_json_get(primitive_of(&t, 0, 1), "mode")), 0);
    CHECK(sup_json_get(sup_json_get(primitive_of(&t, 0, 1), "attributes"), "_ID") == NULL);
    for (int32_t m = 0; m < 3; m++)
        for (int32_t p = 0; p < (m == 2 ? 1 : 2); p++)
            CHECK_EQ(sup_json_count(sup_json_get(primitive_of(&t, m, p), "targets")), 2);
    const sup_json *attributes = sup_json_get(primitive_of(&t, 2, 0), "attributes");
    CHECK(sup_json_get(attributes, "JOINTS_0") == NULL && sup_json_get(attributes, "WEIGHTS_0") == NULL);
    end_round_trip(&t);
}

TEST(document_attributes_are_the_same_bytes)
{
    round_trip t = make_round_trip();
    unsigned char bytes[512] = {0};
    fill_bytes(bytes);
    const sup_json *a = sup_json_get(primitive_of(&t, 0, 0), "attributes");
    const sup_json *b = sup_json_get(primitive_of(&t, 1, 0), "attributes");
    static const char *const shared[] = {"TEXCOORD_0", "TEXCOORD_1", "COLOR_0"};
    for (int32_t i = 0; i < 3; i++)
        CHECK(whole(sup_json_get(a, shared[i])) >= 0 &&
              whole(sup_json_get(a, shared[i])) == whole(sup_json_get(b, shared[i])));
    const unsigned char *uv = accessor_bytes(&t, whole(sup_json_get(a, "TEXCOORD_0")), 4, "VEC2", 5122);
    const unsigned char *colour = accessor_bytes(&t, whole(sup_json_get(a, "COLOR_0")), 4, "VEC4", 5121);
    for (int v = 0; v < 4; v++) {
        CHECK(memcmp(uv + 4 * v, bytes + 20 * v + 12, 4) == 0);
        CHECK(memcmp(colour + 4 * v, bytes + 20 * v + 16, 4) == 0);
    }
    const float dense[8] = {0, 0, 0, 0, 0.75f, 0.5f, 0, 0}; /* the sparse accessor */
    CHECK(memcmp(accessor_bytes(&t, whole(sup_json_get(a, "TEXCOORD_1")), 4, "VEC2", 5126), dense, 32) == 0);
    const float clamped[16] = {1, 0, 0.25f, 1, 0, 0, 0.25f, 1, 1, 0, 0.25f, 1, 1, 0, 0.25f, 1};
    const sup_json *soft = sup_json_get(primitive_of(&t, 2, 0), "attributes");
    CHECK(memcmp(accessor_bytes(&t, whole(sup_json_get(soft, "COLOR_0")), 4, "VEC4", 5126), clamped, 64) == 0);
    end_round_trip(&t);
}

TEST(document_extensions_and_images)
{
    round_trip t = make_round_trip();
    const sup_json *used = sup_json_get(t.root, "extensionsUsed");
    static const char *const expected[] = {"VENDOR_test", "KHR_materials_unlit", "KHR_mesh_quantization"};
    CHECK_EQ(sup_json_count(used), 3);
    for (int32_t i = 0; i < 3; i++) {
        bool found = false;
        for (int32_t k = 0; k < 3; k++)
            found = found || sup_json_equals(sup_json_at(used, k), expected[i]);
        CHECK(found);
    }
    CHECK_TEXT(text_of(sup_json_get(t.root, "extensionsRequired")), "[\"KHR_mesh_quantization\"]");
    const sup_json *vendor = sup_json_get(sup_json_get(t.root, "extensions"), "VENDOR_test");
    sup_bytes view =
        t.after->document->views[whole(sup_json_get(sup_json_at(sup_json_get(vendor, "data"), 0), "bufferView"))];
    const float special[2] = {0.75f, 0.5f};
    CHECK(view.size == 8 && memcmp(view.data, special, 8) == 0);
    const sup_json *image = sup_json_at(sup_json_get(t.root, "images"), 0);
    CHECK_TEXT(sup_json_text(sup_json_get(image, "mimeType")), "image/png"); /* the input had a wrong MIME type */
    view = t.after->document->views[whole(sup_json_get(image, "bufferView"))];
    CHECK(view.size == sizeof png && memcmp(view.data, png, sizeof png) == 0);
    end_round_trip(&t);
}

/* No unused data remains: views fill the buffer except for padding, and every accessor is referenced. */
TEST(document_has_no_unused_data)
{
    round_trip t = make_round_trip();
    int64_t views = 0, padded = 0;
    const sup_json *list = sup_json_get(t.root, "bufferViews");
    for (int32_t i = 0; i < sup_json_count(list); i++) {
        int64_t length = whole(sup_json_get(sup_json_at(list, i), "byteLength"));
        views += length;
        padded += (length + 3) / 4 * 4;
    }
    int64_t bytes = whole(sup_json_get(sup_json_at(sup_json_get(t.root, "buffers"), 0), "byteLength"));
    CHECK_EQ(bytes, padded);
    CHECK(bytes - views < 4 * sup_json_count(list));
    for (int32_t i = 0; i < sup_json_count(sup_json_get(t.root, "accessors")); i++)
        CHECK(!sup_json_equals(sup_json_get(sup_json_at(sup_json_get(t.root, "accessors"), i), "name"),
                               "nobody uses it"));
    CHECK_EQ(sup_json_count(sup_json_get(t.root, "animations")), 1);
    CHECK_TEXT(t.after->clips[0].name, "motion");
    end_round_trip(&t);
}

/* External images are embedded; a missing image keeps its URI. */
TEST(document_embeds_images)
{
    static const char text[] =
        "{\"asset\":{\"version\":\"2.0\"},\"images\":[{\"uri\":\"%s\"},{\"uri\":\"not_there.png\"}],"
        "\"textures\":[{\"source\":0},{\"source\":1}],\"nodes\":[{\"mesh\":0}],"
        "\"meshes\":[{\"primitives\":[{\"attributes\":{\"POSITION\":0}}]}],"
        "\"accessors\":[{\"bufferView\":0,\"componentType\":5126,\"count\":3,\"type\":\"VEC3\",\"min\":[0,0,0],"
        "\"max\":[0,0,0]}],\"bufferViews\":[{\"buffer\":0,\"byteLength\":36}],"
        "\"buffers\":[{\"byteLength\":36,\"uri\":\"data:application/octet-stream;base64,"
        "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA\"}]}";
    char json[2000];
    const char *image_path = test_temp("beside.png"), *input = test_temp("pictures.gltf"),
               *path = test_temp("pictures.bin.glb");
    FILE *file = fopen(image_path, "wb");
    CHECK(file != NULL && fwrite(png, 1, sizeof png, file) == sizeof png && fclose(file) == 0);
    snprintf(json, sizeof json, text, strrchr(image_path, '/') + 1);
    helper_put_file(input, json);
    sup_error error;
    sup_character *before = helper_read_gltf(input);
    helper_frames frames = helper_wave(before, 2);
    CHECK_OK(helper_write(path, before, &frames, NULL, &error), error);
    remove(image_path);
    sup_character *after = helper_read_gltf(path);
    sup_context context = sup_context_resolve(NULL);
    sup_json_tree tree = sup_json_tree_create(&context.allocator);
    CHECK_OK(sup_json_parse(&tree, path, after->document->json, &error), error);
    const sup_json *images = sup_json_get(tree.root, "images"), *image = sup_json_at(images, 0);
    CHECK(sup_json_get(image, "uri") == NULL);
    CHECK_TEXT(sup_json_text(sup_json_get(image, "mimeType")), "image/png");
    sup_bytes view = after->document->views[whole(sup_json_get(image, "bufferView"))];
    CHECK(view.size == sizeof png && memcmp(view.data, png, sizeof png) == 0);
    CHECK_TEXT(sup_json_text(sup_json_get(sup_json_at(images, 1), "uri")), "not_there.png");
    CHECK_EQ(sup_json_count(sup_json_get(tree.root, "scenes")), 1); /* the input had none */
    sup_json_tree_destroy(&tree);
    sup_character_destroy(after);
    sup_character_destroy(before);
    helper_frames_free(&frames);
    remove(path); /* the validator would report the missing image */
}

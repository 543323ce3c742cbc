/* PLY: equal meshes in the three encodings, properties in any order, unknown properties, invalid counts. */
#include "read_text.h"

enum { ASCII, LITTLE, BIG };
typedef struct buffer {
    char data[4096];
    size_t size;
    int encoding;
} buffer;

static void put_text(buffer *b, const char *text)
{
    size_t length = strlen(text);
    memcpy(b->data + b->size, text, length);
    b->size += length;
}

/* One value: 'f' float, 'd' double, 'i' int, 'h' short, 'b' byte. */
static void put(buffer *b, char type, double value)
{
    char bytes[8];
    float f = (float)value;
    int32_t i = (int32_t)value;
    int16_t h = (int16_t)i;
    int8_t c = (int8_t)i;
    size_t size = type == 'd' ? 8 : type == 'h' ? 2 : type == 'b' ? 1 : 4;
    if (b->encoding == ASCII) {
        b->size += (size_t)snprintf(b->data + b->size, 32, "%g ", value);
        return;
    }
    memcpy(bytes,
           type == 'd'   ? (void *)&value
           : type == 'f' ? (void *)&f
           : type == 'i' ? (void *)&i
           : type == 'h' ? (void *)&h
                         : (void *)&c,
           size);
    for (size_t k = 0; k < size; k++)
        b->data[b->size++] = bytes[b->encoding == BIG ? size - 1 - k : k];
}

static const char *const encodings[] = {"ascii", "binary_little_endian", "binary_big_endian"};

/* Unknown elements and properties, normals before positions in another order, doubles, lists of two types. */
static buffer make_mesh(int encoding, const char *line_end)
{
    static const char *const lines[] = {"element extra 2",
                                        "property short a",
                                        "property list uchar int many",
                                        "element vertex 4",
                                        "property uchar red",
                                        "property float nz",
                                        "property float nx",
                                        "property float ny",
                                        "property double z",
                                        "property float x",
                                        "property list char short junk",
                                        "property float y",
                                        "element face 2",
                                        "property float quality",
                                        "property list uchar int vertex_indices",
                                        "property uchar flags",
                                        "end_header"};
    static const float xy[8] = {0, 0, 1, 0, 1, 1, 0, 1};
    buffer b = {.encoding = encoding};
    put_text(&b, "ply");
    put_text(&b, line_end);
    put_text(&b, "format ");
    put_text(&b, encodings[encoding]);
    put_text(&b, " 1.0");
    put_text(&b, line_end);
    put_text(&b, "comment a comment of any words");
    put_text(&b, line_end);
    for (int i = 0; i < 17; i++) {
        put_text(&b, lines[i]);
        put_text(&b, line_end);
    }
    for (int i = 0; i < 2; i++) {
        put(&b, 'h', -7);
        put(&b, 'b', i * 2);
        for (int k = 0; k < i * 2; k++)
            put(&b, 'i', 13);
    }
    for (int i = 0; i < 4; i++) {
        const double values[] = {10, 1, 0, 0, 5};
        put(&b, 'b', values[0]);
        put(&b, 'f', values[1]);
        put(&b, 'f', values[2]);
        put(&b, 'f', values[3]);
        put(&b, 'd', values[4]);
        put(&b, 'f', (double)xy[2 * i]);
        put(&b, 'b', 1);
        put(&b, 'h', 300);
        put(&b, 'f', (double)xy[2 * i + 1]);
    }
    put(&b, 'f', 0.5);
    put(&b, 'b', 4);
    for (int i = 0; i < 4; i++)
        put(&b, 'i', i);
    put(&b, 'b', 1);
    put(&b, 'f', 0.5);
    put(&b, 'b', 3);
    for (int i = 0; i < 3; i++)
        put(&b, 'i', i);
    put(&b, 'b', 1);
    return b;
}

TEST(ply_encodings_give_the_same_mesh)
{
    for (int encoding = ASCII; encoding <= BIG; encoding++)
        for (int end = 0; end < 3; end++) {
            buffer b = make_mesh(encoding, end == 0 ? "\n" : end == 1 ? "\r\n" : "\r");
            sup_character *c = read_good("a.ply", b.data, b.size);
            CHECK_EQ(c->vertex_count, 4);
            CHECK_EQ(c->triangle_count, 3);
            CHECK_NEAR(area_z(c), 3.0, 1e-6);
            CHECK_NEAR(c->positions[2], 5.0, 0.0);
            CHECK(c->normals != NULL);
            CHECK_NEAR(c->normals[2], 1.0, 0.0);
            sup_character_destroy(c);
        }
}

TEST(ply_survives_every_prefix)
{
    for (int encoding = ASCII; encoding <= BIG; encoding++) {
        buffer b = make_mesh(encoding, "\n");
        check_all_prefixes("a.ply", b.data, b.size);
        for (size_t cut = 1; encoding != ASCII && cut < 20; cut++) {
            sup_character *c = NULL;
            CHECK(sup_load_memory(NULL, "a.ply", (sup_bytes){b.data, b.size - cut}, NULL, &c, NULL) != SUP_OK);
        }
    }
}

#define HEAD "ply\nformat ascii 1.0\n"
#define XYZ "property float x\nproperty float y\nproperty float z\n"
#define FACE "property list uchar int vertex_index\n"

TEST(ply_reports_the_error_id)
{
    CHECK_REJECTED("a.ply", "", "ply.magic", 1);
    CHECK_REJECTED("a.ply", "plywood\n", "ply.magic", 1);
    CHECK_REJECTED("a.ply", "ply\nformat ascii 1.0\n", "ply.header", 3);
    CHECK_REJECTED("a.ply", "ply\nformat morse 1.0\n", "ply.format", 2);
    CHECK_REJECTED("a.ply", "ply\nelement vertex 1\n" XYZ "end_header\n0 0 0\n", "ply.format", 6);
    CHECK_REJECTED("a.ply", HEAD "elephant\n", "ply.header", 3);
    CHECK_REJECTED("a.ply", HEAD "property float x\n", "ply.property", 3);
    CHECK_REJECTED("a.ply", HEAD "element vertex many\n", "ply.element", 3);
    CHECK_REJECTED("a.ply", HEAD "element vertex -1\n", "ply.element", 3);
    CHECK_REJECTED("a.ply", HEAD "element vertex 1\nproperty complex x\n", "ply.property", 4);
    CHECK_REJECTED("a.ply", HEAD "element vertex 1\nproperty list float int x\n", "ply.property", 4);
    CHECK_REJECTED("a.ply", HEAD "element vertex 1\n" XYZ "property float x\n", "ply.property", 7);
    CHECK_REJECTED("a.ply", HEAD "element vertex 0\n" XYZ "end_header\n", "mesh.empty", 0);
    CHECK_REJECTED("a.ply", HEAD "end_header\n", "mesh.empty", 0);
    CHECK_REJECTED("a.ply", HEAD "element vertex 1\nproperty float x\nproperty float y\nend_header\n0 0\n",
                   "ply.position", 0);
    CHECK_REJECTED("a.ply", HEAD "element vertex 4000000000\n" XYZ "end_header\n0 0 0\n", "ply.count", 8);
    CHECK_REJECTED("a.ply", HEAD "element vertex 2\n" XYZ "end_header\n0 0 0\n0 0 zero\n", "ply.data", 9);
    CHECK_REJECTED("a.ply", HEAD "element vertex 1\n" XYZ "element face 1\n" FACE "end_header\n0 0 0\n3 0 0 1\n",
                   "mesh.face.range", 0);
    CHECK_REJECTED("a.ply", HEAD "element vertex 1\n" XYZ "element face 1\n" FACE "end_header\n0 0 0\n3 0 0 -1\n",
                   "mesh.face.range", 0);
    CHECK_REJECTED("a.ply", HEAD "element vertex 1\n" XYZ "element face 1\n" FACE "end_header\n0 0 0\n3 0 0 0.5\n",
                   "mesh.face.range", 0);
    CHECK_REJECTED("a.ply", HEAD "element vertex 1\n" XYZ "element face 1\n" FACE "end_header\n0 0 0\n250 0 0\n",
                   "ply.list", 11);
    CHECK_REJECTED("a.ply", HEAD "element vertex 1\n" XYZ "element vertex 1\n" XYZ "end_header\n0 0 0\n0 0 0\n",
                   "ply.element", 0);
}

/* An element without properties has no data, for any declared count. */
TEST(ply_empty_elements)
{
    sup_character *c = GOOD("a.ply", HEAD "element nothing 4000000000\nelement vertex 1\n" XYZ "end_header\n1 2 3\n");
    CHECK_NEAR(c->positions[2], 3.0, 0.0);
    sup_character_destroy(c);
}

TEST(ply_assets)
{
    static const struct {
        const char *path;
        int32_t vertices, triangles;
    } files[] = {{"anatomy/skin_wrap.ply", 13982, 27960},
                 {"anatomy/muscle_wrap.ply", 32749, 65524},
                 {"scans/scan_male_obese_armsdown.ply", 48850, 82820}};
    for (int i = 0; i < 3; i++) {
        sup_character *c = NULL;
        sup_error error = {0};
        CHECK_OK(sup_load(NULL, test_asset(files[i].path), NULL, &c, &error), error);
        CHECK_EQ(c->vertex_count, files[i].vertices);
        CHECK_EQ(c->triangle_count, files[i].triangles);
        sup_character_destroy(c);
    }
}

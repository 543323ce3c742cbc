/* STL: detection of text and binary, several solids, invalid counts. */
#include "read_text.h"

static const char triangle[] =
    "solid cube of mine\n facet normal 0 0 1\n  outer loop\n   vertex 0 0 0\n   vertex 1 0 0\n"
    "   vertex 0 1 0\n  endloop\n endfacet\nendsolid cube of mine\n";

TEST(stl_text)
{
    char text[600];
    snprintf(text, sizeof text, "%s%s", triangle, triangle);
    sup_character *c = GOOD("a.stl", text);
    CHECK_EQ(c->triangle_count, 2);
    CHECK_EQ(c->vertex_count, 6);
    CHECK_NEAR(area_z(c), 2.0, 1e-6);
    CHECK_EQ(c->triangles[5], 5);
    sup_character_destroy(c);
    c = GOOD("a.stl", "SOLID\nFACET NORMAL 0 0 1 OUTER LOOP VERTEX 0 0 0 VERTEX 1 0 0 VERTEX 0 1 0 ENDLOOP ENDFACET");
    CHECK_EQ(c->triangle_count, 1);
    sup_character_destroy(c);
}

/* A binary file of `count` facets that declares `declared`. */
static size_t make_binary(char *data, const char *header, uint32_t declared, int count)
{
    memset(data, 0, 84);
    for (size_t i = 0; header[i] != '\0'; i++)
        data[i] = header[i];
    memcpy(data + 80, &declared, 4);
    for (int f = 0; f < count; f++) {
        const float values[12] = {0, 0, 1, (float)f, 0, 0, (float)f + 1, 0, 0, (float)f, 1, 0};
        memset(data + 84 + 50 * f, 0, 50);
        memcpy(data + 84 + 50 * f, values, 48);
    }
    return 84 + 50 * (size_t)count;
}

TEST(stl_binary)
{
    static const char *const headers[] = {"made by a test", "solid but binary", "solid\nfacet normal"};
    char data[84 + 50 * 4];
    for (int i = 0; i < 3; i++) {
        size_t size = make_binary(data, headers[i], 3, 3);
        sup_character *c = read_good("a.stl", data, size);
        CHECK_EQ(c->triangle_count, 3);
        CHECK_NEAR(c->positions[9 * 2 + 3], 3.0, 0.0);
        sup_character_destroy(c);
        c = read_good("a.stl", data, make_binary(data, headers[i], 3, 4)); /* more bytes than needed */
        CHECK_EQ(c->triangle_count, 3);
        sup_character_destroy(c);
        check_rejected("a.stl", data, make_binary(data, headers[i], 4, 3), "stl.count", 0);
        check_rejected("a.stl", data, make_binary(data, headers[i], 0xffffffffu, 3), "stl.count", 0);
    }
    check_rejected("a.stl", data, make_binary(data, "", 0, 0), "mesh.empty", 0);
    check_all_prefixes("a.stl", data, make_binary(data, "solid", 2, 2));
}

TEST(stl_errors_name_the_line)
{
    CHECK_REJECTED("a.stl", "", "stl.short", 0);
    CHECK_REJECTED("a.stl", "not an stl", "stl.short", 0);
    CHECK_REJECTED("a.stl", "solid empty\nendsolid\n", "mesh.empty", 0);
    CHECK_REJECTED("a.stl", "solid\nfacet normal 0 0 1\nouter loop\nvertex 0 0\n", "stl.number", 4);
    CHECK_REJECTED("a.stl", "solid\nfacet normal 0 0 1\nouter loop\nvertex 0 0 x\n", "stl.number", 4);
    CHECK_REJECTED("a.stl", "solid\nfacet normal 0 0 1\nouter loop\nvertex 0 0 0\nvertex 0 0 0\nendloop\n", "stl.facet",
                   6);
    CHECK_REJECTED("a.stl",
                   "solid\nfacet normal 0 0 1\nouter loop\nvertex 0 0 0\nvertex 0 0 0\nvertex 0 0 0\nvertex 0 0 0",
                   "stl.facet", 7);
    CHECK_REJECTED("a.stl",
                   "solid\nfacet normal 0 0 1\nouter loop\nvertex 0 0 0\nvertex 0 0 0\nvertex 0 0 0\nendloop\n",
                   "stl.facet", 8);
    CHECK_REJECTED("a.stl", "solid\nfacette\n", "stl.word", 2);
    check_all_prefixes("a.stl", triangle, strlen(triangle));
}

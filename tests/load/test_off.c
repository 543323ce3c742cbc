/* OFF: variants, comments, polygons, invalid counts. */
#include "read_text.h"

TEST(off_variants)
{
    static const char *const files[] = {
        "OFF\n4 1 0\n0 0 0\n1 0 0\n1 1 0\n0 1 0\n4 0 1 2 3\n",
        "OFF 4 1 0\n0 0 0\n1 0 0\n1 1 0\n0 1 0\n4 0 1 2 3 255 0 0\n",
        "# comment\n4 1 0 # counts alone\n0 0 0 # a\n\n1 0 0\n1 1 0\n0 1 0\n4 0 1 2 3",
        "COFF\r\n4 1 0\r\n0 0 0 1 0 0 1\r\n1 0 0 1 0 0 1\r\n1 1 0 1 0 0 1\r\n0 1 0 1 0 0 1\r\n4 0 1 2 3\r\n",
        "NOFF\n4 1\n0 0 0 0 0 1\n1 0 0 0 0 1\n1 1 0 0 0 1\n0 1 0 0 0 1\n4 0 1 2 3\n",
        ("STCNOFF\n4 1 0\n0 0 0 0 0 1 9 9 9 9 0 0.25\n1 0 0 0 0 1 9 9 9 9 1 0\n1 1 0 0 0 1 9 9 9 9 1 1\n"
         "0 1 0 0 0 1 9 9 9 9 0 1\n4 0 1 2 3\n")};
    for (int i = 0; i < 6; i++) {
        sup_character *c = GOOD("a.off", files[i]);
        CHECK_EQ(c->vertex_count, 4);
        CHECK_EQ(c->triangle_count, 2);
        CHECK_NEAR(area_z(c), 2.0, 1e-6);
        CHECK((c->normals != NULL) == (i >= 4));
        CHECK((c->texcoords != NULL) == (i == 5));
        if (i >= 4) CHECK_NEAR(c->normals[11], 1.0, 0.0);
        if (i == 5) CHECK_NEAR(c->texcoords[1], 0.75, 1e-7);
        sup_character_destroy(c);
    }
}

TEST(off_skips_edges_and_triangulates_polygons)
{
    sup_character *c = GOOD("a.off", "OFF\n5 3 0\n0 0 0\n2 0 0\n2 2 0\n1 0.5 0\n0 2 0\n2 0 1\n5 0 1 2 3 4\n0\n");
    CHECK_EQ(c->triangle_count, 3);
    CHECK_NEAR(area_z(c), 5.0, 1e-6);
    CHECK_NEAR(area_z_absolute(c), 5.0, 1e-6);
    sup_character_destroy(c);
}

TEST(off_errors_name_the_line)
{
    CHECK_REJECTED("a.off", "", "off.empty", 1);
    CHECK_REJECTED("a.off", "PLY\n", "off.header", 1);
    CHECK_REJECTED("a.off", "OFF BINARY\n", "off.binary", 0);
    CHECK_REJECTED("a.off", "4OFF\n1 0 0\n", "off.dimension", 0);
    CHECK_REJECTED("a.off", "OFF\n-1 0 0\n", "off.counts", 2);
    CHECK_REJECTED("a.off", "OFF\n3\n", "off.counts", 2);
    CHECK_REJECTED("a.off", "OFF\n4000000000 0 0\n0 0 0\n", "off.counts", 2);
    CHECK_REJECTED("a.off", "OFF\n1 99999999 0\n0 0 0\n", "off.counts", 2);
    CHECK_REJECTED("a.off", "OFF\n0 0 0\n", "mesh.empty", 0);
    CHECK_REJECTED("a.off", "OFF\n2 0 0\n0 0 0\n0 zero 0\n", "off.number", 4);
    CHECK_REJECTED("a.off", "OFF\n2 0 0\n0 0 0\n0 0\n0\n", "off.number", 4);
    CHECK_REJECTED("a.off", "OFF\n2 0 0\n0 0 0\n           \n", "off.number", 5);
    CHECK_REJECTED("a.off", "OFF\n1 1 0\n0 0 0\n3 0 0 1\n", "off.face.range", 4);
    CHECK_REJECTED("a.off", "OFF\n1 1 0\n0 0 0\n3 0 0 -1\n", "off.face.range", 4);
    CHECK_REJECTED("a.off", "OFF\n1 1 0\n0 0 0\n3 0 0\n        ", "off.face", 4);
    CHECK_REJECTED("a.off", "OFF\n1 1 0\n0 0 0\n3000000000 0 0\n", "off.face", 4);
}

TEST(off_survives_every_prefix)
{
    const char *text = "STCNOFF\n2 2 0\n0 0 0 0 0 1 9 9 9 9 0 0.25\n1 0 0 0 0 1 9 9 9 9 1 0\n3 0 1 0\n4 0 1 0 1\n";
    check_all_prefixes("a.off", text, strlen(text));
}

TEST(off_assets)
{
    sup_character *c = NULL;
    sup_error error = {0};
    CHECK_OK(sup_load(NULL, test_asset("fps/male/male.off"), NULL, &c, &error), error);
    CHECK_EQ(c->vertex_count, 23259);
    CHECK_EQ(c->triangle_count, 46514);
    CHECK_NEAR(c->positions[0], -1.3142998219, 1e-6);
    sup_character_destroy(c);
}

/* OBJ: vertex order, index forms, polygons, vertex attributes, invalid files. */
#include "read_text.h"

TEST(obj_keeps_the_order_of_v_lines)
{
    sup_character *c =
        GOOD("box/thing.obj", "# comment\r\nmtllib a.mtl\r\no one\r\nv 0 0 0 1 0.5 0.5 0.5\r\nv 1 0 0\r\n"
                              "g two\r\nv 1 1 0\r\nusemtl red\r\nv 0 1 0\r\nf 4 1 2 3\r\n");
    CHECK_TEXT(c->name, "thing");
    CHECK_EQ(c->vertex_count, 4);
    CHECK_EQ(c->primitive_count, 1);
    CHECK_EQ(c->triangle_count, 2);
    CHECK_NEAR(c->positions[3], 1.0, 0.0);
    CHECK_NEAR(c->positions[10], 1.0, 0.0);
    CHECK_NEAR(area_z(c), 2.0, 1e-6);
    CHECK(c->normals == NULL && c->texcoords == NULL);
    CHECK_EQ(c->primitives[0].material, -1);
    sup_character_destroy(c);
}

TEST(obj_index_forms)
{
    static const char *const faces[] = {"f 1 2 3",          "f 1/1 2/2 3/3",
                                        "f 1//1 2//1 3//1", "f 1/1/1 2/2/1 3/3/1",
                                        "f -3 -2 -1",       "f -3/-3/-1 -2/-2/-1 -1/-1/-1",
                                        "f 1/ 2/ 3/",       "f 1 \\\n 2 \\\r\n3"};
    for (int i = 0; i < 8; i++) {
        char text[400];
        snprintf(text, sizeof text, "v 0 0 0\nv 1 0 0\nv 0 1 0\nvt 0 0\nvt 1 0\nvt 0 1\nvn 0 0 1\n%s\n", faces[i]);
        sup_character *c = GOOD("a.obj", text);
        CHECK_EQ(c->triangle_count, 1);
        for (int k = 0; k < 3; k++)
            CHECK_EQ(c->triangles[k], k);
        sup_character_destroy(c);
    }
}

TEST(obj_keeps_normals_and_texcoords_where_vertices_have_one)
{
    const char *square = "v 0 0 0\nv 1 0 0\nv 1 1 0\nv 0 1 0\nvn 0 0 1\nvn 0 0 1\nvn 1 0 0\nvt 0.25 0.75\nvt 1 0\n";
    char text[400];
    snprintf(text, sizeof text, "%sf 1/1/1 2/1/2 3/1/1\nf 1/1/2 3/1/1 4/2/1\n", square);
    sup_character *c = GOOD("a.obj", text); /* different indices, same values */
    CHECK(c->normals != NULL && c->texcoords != NULL);
    CHECK_NEAR(c->normals[2], 1.0, 0.0);
    CHECK_NEAR(c->texcoords[0], 0.25, 0.0);
    CHECK_NEAR(c->texcoords[1], 0.25, 1e-7); /* v points down */
    sup_character_destroy(c);
    snprintf(text, sizeof text, "%sf 1/1/1 2/1/1 3/1/1\nf 1/2/3 3/1/1 4/1/1\n", square);
    c = GOOD("a.obj", text); /* vertex 1 would have to be split */
    CHECK(c->normals == NULL && c->texcoords == NULL);
    CHECK_EQ(c->vertex_count, 4);
    sup_character_destroy(c);
}

/* A concave quad has one valid diagonal, for any first corner. */
TEST(obj_concave_quads_do_not_fold)
{
    for (int start = 0; start < 4; start++) {
        char text[200];
        snprintf(text, sizeof text, "v 0 0 0\nv 4 0 0\nv 1 1 0\nv 0 4 0\nf %d %d %d %d\n", start + 1,
                 (start + 1) % 4 + 1, (start + 2) % 4 + 1, (start + 3) % 4 + 1);
        sup_character *c = GOOD("a.obj", text);
        CHECK_NEAR(area_z(c), 8.0, 1e-5);
        CHECK_NEAR(area_z_absolute(c), 8.0, 1e-5);
        sup_character_destroy(c);
    }
}

/* A random star polygon: triangles must not overlap and must cover it. */
TEST(obj_star_polygons_are_triangulated_without_overlap)
{
    for (int corners = 5; corners < 60; corners += 7) {
        char text[8192];
        size_t length = 0;
        double expected = 0.0, last[2] = {0, 0}, first[2] = {0, 0};
        for (int i = 0; i < corners; i++) {
            double angle = 6.283185307 * i / corners, radius = i % 2 == 0 ? 1.0 : 0.2 + 0.1 * (i * 7 % 5);
            double p[2] = {radius * cos(angle), radius * sin(angle)};
            length +=
                (size_t)snprintf(text + length, sizeof text - length, "v %.6f %.6f %.6f\n", p[0], p[1], 0.1 * p[0]);
            if (i > 0) expected += last[0] * p[1] - last[1] * p[0];
            if (i == 0) memcpy(first, p, sizeof p);
            memcpy(last, p, sizeof p);
        }
        expected += last[0] * first[1] - last[1] * first[0];
        length += (size_t)snprintf(text + length, sizeof text - length, "f");
        for (int i = 0; i < corners; i++)
            length += (size_t)snprintf(text + length, sizeof text - length, " %d", i + 1);
        sup_character *c = GOOD("a.obj", text);
        CHECK_EQ(c->triangle_count, corners - 2);
        CHECK_NEAR(area_z(c), expected, 1e-4);
        CHECK_NEAR(area_z_absolute(c), expected, 1e-4);
        sup_character_destroy(c);
    }
}

TEST(obj_odd_faces_and_numbers)
{
    sup_character *c = GOOD("a.obj", "v nan 0 0\nv 1e0 0 inf\nv 0 1 0\nf 1 2\nf 1\nf\nl 1 2 3\nf 1 1 1 1 1\nf 1 2 3");
    CHECK_EQ(c->triangle_count, 4);
    CHECK(isnan(c->positions[0]) && isinf(c->positions[5]));
    sup_character_destroy(c);
    c = GOOD("a.obj", "v 1 2 3\n"); /* points without faces are accepted: the rig reports the missing triangles */
    CHECK_EQ(c->triangle_count, 0);
    sup_character_destroy(c);
}

TEST(obj_errors_name_the_line)
{
    CHECK_REJECTED("a.obj", "", "mesh.empty", 0);
    CHECK_REJECTED("a.obj", "hello world\n", "mesh.empty", 0);
    CHECK_REJECTED("a.obj", "v 0 0 0\nv 1 x 0\n", "obj.number", 2);
    CHECK_REJECTED("a.obj", "v 0 0 0\n\nv 1 0\n", "obj.number", 3);
    CHECK_REJECTED("a.obj", "v 0 0 0\nvn 1 0\n", "obj.number", 2);
    CHECK_REJECTED("a.obj", "v 0 0 0\nf 1 1 -2\n", "obj.face", 2);
    CHECK_REJECTED("a.obj", "v 0 0 0\nf 1 1 0\n", "obj.face", 2);
    CHECK_REJECTED("a.obj", "v 0 0 0\nf 1 1 1x\n", "obj.face", 2);
    CHECK_REJECTED("a.obj", "v 0 0 0\nf 1/1/1/1 1 1\n", "obj.face", 2);
    CHECK_REJECTED("a.obj", "v 0 0 0\nf 1 1 99999999999\n", "obj.face", 2);
    CHECK_REJECTED("a.obj", "v 0 0 0\nf 1 1 2\n", "mesh.face.range", 0);
    CHECK_REJECTED("a.obj", "v 0 0 0\nf 1//1 1//1 1//1\n", "obj.face.range", 0);
}

TEST(obj_survives_every_prefix)
{
    const char *text =
        "\xEF\xBB\xBFv 0 0 0\nv 1 0 0\nv 1 1 0\nv 0 1 0\nvt 0 0\nvn 0 0 1\nf 1/1/1 2/1/1 3/1/1 \\\n4/1/1\n"
        "f -1//-1 -2//1 -3//1 -4//1 -1//1\n";
    check_all_prefixes("a.obj", text, strlen(text));
}

/* A line of a megabyte, and a polygon of many corners. */
TEST(obj_long_lines)
{
    size_t corners = 200000, size = corners * 8 + 200;
    char *text = malloc(size);
    CHECK(text != NULL);
    size_t length = (size_t)snprintf(text, size, "v 0 0 0\nv 1 0 0\nv 0 1 0\nf");
    for (size_t i = 0; i < corners; i++)
        length += (size_t)snprintf(text + length, size - length, " %d", (int)(i % 3) + 1);
    sup_character *c = read_good("a.obj", text, length);
    CHECK_EQ(c->triangle_count, (long long)corners - 2);
    sup_character_destroy(c);
    free(text);
}

TEST(obj_assets)
{
    static const struct {
        const char *path;
        int32_t vertices, triangles;
    } files[] = {{"makehuman/mh_male_average.obj", 13380, 26756},
                 {"static/hand_closed.obj", 7993, 15982},
                 {"static/koala_low.obj", 3560, 7116},
                 {"static/smpl_human_man.obj", 6890, 13776}};
    for (int i = 0; i < 4; i++) {
        sup_character *c = NULL;
        sup_error error = {0};
        CHECK_OK(sup_load(NULL, test_asset(files[i].path), NULL, &c, &error), error);
        CHECK_EQ(c->vertex_count, files[i].vertices);
        CHECK_EQ(c->triangle_count, files[i].triangles);
        sup_character_destroy(c);
    }
}

/* Brushes: masks over the render vertices. */
#include "make.h"
#include "supple/paint.h"

TEST(sphere_mask_is_one_inside_and_fades_over_the_border)
{
    sup_character *c = make_build(make_tube(8.0f));
    sup_rig *rig = make_rig(c, NULL);
    float *mask = malloc((size_t)rig->vertex_count * sizeof *mask);
    sup_error error = {0};
    int32_t joint = rig->joint_count - 1, between = 0;
    CHECK_OK(sup_paint_sphere(rig, joint, 1.5, 2.0, mask, &error), error);
    for (int32_t v = 0; v < rig->vertex_count; v++) {
        double d = 0.0;
        for (int k = 0; k < 3; k++)
            d += pow((double)rig->positions[3 * v + k] - (double)rig->bone_head[3 * joint + k], 2.0);
        d = sqrt(d);
        CHECK(d > 1.5 || mask[v] == 1.0f);
        CHECK(d < 3.5 || mask[v] == 0.0f);
        CHECK(mask[v] >= 0.0f && mask[v] <= 1.0f);
        if (d > 1.5 && d < 3.5) CHECK_NEAR(mask[v], 0.5 + 0.5 * cos(3.14159265 * (d - 1.5) / 2.0), 0.02);
        between += d > 1.6 && d < 3.4;
    }
    CHECK(between > 0);
    CHECK_OK(sup_paint_sphere(rig, joint, 1.5, 0.0, mask, &error), error); /* a border of 0 must not divide by zero */
    for (int32_t v = 0; v < rig->vertex_count; v++)
        CHECK(mask[v] == 0.0f || mask[v] == 1.0f);
    CHECK_EQ(sup_paint_sphere(rig, joint, -1.0, 0.0, mask, &error), SUP_ERROR_ARGUMENT);
    CHECK_EQ(sup_paint_sphere(rig, joint, NAN, 0.0, mask, NULL), SUP_ERROR_ARGUMENT);
    CHECK_EQ(sup_paint_sphere(rig, joint, 1.0, INFINITY, mask, NULL), SUP_ERROR_ARGUMENT);
    CHECK_EQ(sup_paint_sphere(rig, rig->joint_count, 1.0, 0.0, mask, &error), SUP_ERROR_ARGUMENT);
    CHECK_EQ(sup_paint_sphere(NULL, 0, 1.0, 0.0, mask, &error), SUP_ERROR_ARGUMENT);
    free(mask);
    sup_rig_destroy(rig);
    sup_character_destroy(c);
}

TEST(joint_mask_is_the_weight_of_its_subtree)
{
    sup_character *c = make_build(make_tube(8.0f));
    sup_rig *rig = make_rig(c, NULL);
    float *all = malloc((size_t)rig->vertex_count * sizeof *all),
          *upper = malloc((size_t)rig->vertex_count * sizeof *upper);
    CHECK_EQ(rig->joint_count, 2);
    CHECK_EQ(sup_paint_joint(rig, 0, all, NULL), SUP_OK);
    CHECK_EQ(sup_paint_joint(rig, 1, upper, NULL), SUP_OK);
    for (int32_t v = 0; v < rig->vertex_count; v++) {
        double own = 0.0;
        for (int32_t k = rig->influence_first[v]; k < rig->influence_first[v + 1]; k++)
            if (rig->influence_joint[k] == 1) own += (double)rig->influence_weight[k];
        CHECK_NEAR(all[v], 1.0, 1e-6); /* the root and all its descendants */
        CHECK_NEAR(upper[v], own, 1e-6);
    }
    CHECK_EQ(sup_paint_joint(rig, -1, all, NULL), SUP_ERROR_ARGUMENT);
    CHECK_EQ(sup_rig_find_joint(rig, c->nodes[rig->joint_node[1]].name), 1);
    CHECK_EQ(sup_rig_find_joint(rig, "nobody"), -1);
    CHECK_EQ(sup_rig_find_joint(rig, NULL), -1);
    free(all);
    free(upper);
    sup_rig_destroy(rig);
    sup_character_destroy(c);
}

TEST(primitive_mask_covers_its_vertices)
{
    sup_character *c = make_build(make_tube(8.0f));
    sup_rig *rig = make_rig(c, NULL);
    float *mask = malloc((size_t)rig->vertex_count * sizeof *mask);
    CHECK_EQ(sup_paint_primitive(rig, 0, mask, NULL), SUP_OK);
    for (int32_t v = 0; v < rig->vertex_count; v++)
        CHECK(mask[v] == 1.0f);
    CHECK_EQ(sup_paint_primitive(rig, c->primitive_count, mask, NULL), SUP_ERROR_ARGUMENT);
    free(mask);
    sup_rig_destroy(rig);
    sup_character_destroy(c);
}

static sup_result numbers(const sup_rig *rig, const char *text, float *mask, sup_error *error)
{
    return sup_paint_numbers(rig, (sup_bytes){text, strlen(text)}, mask, error);
}

TEST(numbers_must_match_the_vertex_count)
{
    sup_character *c = make_build(make_tube(8.0f));
    sup_rig *rig = make_rig(c, NULL);
    float *mask = malloc((size_t)rig->vertex_count * sizeof *mask);
    char *text = calloc(1, (size_t)rig->vertex_count * 16 + 64);
    sup_error error = {0};
    strcpy(text, "# a comment 1 2 3\n");
    for (int32_t v = 0; v < rig->vertex_count; v++)
        sprintf(text + strlen(text), "%d.5%s", v % 7, v % 3 == 0 ? "\r\n" : (v % 3 == 1 ? ", " : "\t# more\n"));
    CHECK_OK(numbers(rig, text, mask, &error), error);
    for (int32_t v = 0; v < rig->vertex_count; v++)
        CHECK(mask[v] == (float)(v % 7) + 0.5f);
    strcat(text, " 1");
    CHECK_EQ(numbers(rig, text, mask, &error), SUP_ERROR_DATA);
    CHECK_TEXT(error.id, "paint.count");
    CHECK_EQ(numbers(rig, "", mask, &error), SUP_ERROR_DATA);
    CHECK_EQ(sup_paint_numbers(rig, (sup_bytes){NULL, 0}, mask, &error), SUP_ERROR_DATA);
    static const char *const bad[] = {"1 2 nan", "1 inf", "1 2 x", "1 2..3", "1e400", "- 1", "1;2;;x"};
    for (int i = 0; i < 7; i++) {
        CHECK_EQ(numbers(rig, bad[i], mask, &error), SUP_ERROR_FORMAT);
        CHECK_TEXT(error.id, "paint.number");
    }
    free(text);
    free(mask);
    sup_rig_destroy(rig);
    sup_character_destroy(c);
}

TEST(strokes_blend)
{
    float mask[5] = {0.0f, 0.25f, 1.0f, 7.0f, NAN}, values[5] = {2.0f, 2.0f, 2.0f, 2.0f, 2.0f};
    sup_paint_blend(5, mask, 10.0, values);
    CHECK_NEAR(values[0], 2.0, 0.0);
    CHECK_NEAR(values[1], 4.0, 1e-6);
    CHECK_NEAR(values[2], 10.0, 0.0);
    CHECK_NEAR(values[3], 10.0, 0.0);
    CHECK_NEAR(values[4], 2.0, 0.0);
}

/* The anatomy of the built-in human: surfaces below its skin, bones and muscles as meshes. */
#include "math/vec3.h"
#include "scene.h"
#include "test.h"

#include "supple/supple.h"

static sup_vec3d point(const float *points, int32_t v)
{
    return sup_v3_load(points + 3 * (size_t)v);
}

static const char *attachment_name(const sup_character *c, int32_t v)
{
    return c->bone_attachments[v] < 0 ? "" : c->nodes[c->bones[c->bone_attachments[v]].node].name;
}

TEST(muscle_is_between_skin_and_bone)
{
    sup_character *c = test_scene("human", 0.1);
    CHECK(c->muscle_positions != NULL && c->bone_positions != NULL && c->bone_attachments != NULL);
    int32_t layered = 0, inward = 0, torso = 0;
    for (int32_t v = 0; v < c->vertex_count; v++) {
        sup_vec3d skin = point(c->positions, v), muscle = point(c->muscle_positions, v),
                  bone = point(c->bone_positions, v);
        double depth = sup_v3_distance(skin, bone), fat = sup_v3_distance(skin, muscle);
        CHECK(c->bone_attachments[v] >= -1 && c->bone_attachments[v] < c->bone_count);
        if (depth == 0.0) {
            CHECK(fat == 0.0 && c->bone_attachments[v] == -1);
            continue;
        }
        layered++;
        /* On the line, in this order, at least a millimetre thick each. */
        CHECK_NEAR(fat + sup_v3_distance(muscle, bone), depth, 1e-6);
        CHECK(fat > 0.001 && depth - fat > 0.001);
        inward += sup_v3_dot(sup_v3_sub(bone, skin), point(c->normals, v)) < 0.0;
        if (fabs(skin.x) > 0.10 || skin.y < 1.0 || skin.y > 1.36) continue;
        torso++;
        CHECK(depth < 0.11);
        if (skin.y > 1.20) CHECK_TEXT(attachment_name(c, v), fabs(skin.x) < 0.04 ? "chest" : attachment_name(c, v));
        if (skin.y > 1.02 && skin.y < 1.06 && skin.z > 0.06) CHECK_TEXT(attachment_name(c, v), "");
    }
    CHECK(layered > c->vertex_count / 3 && torso > 50);
    CHECK(inward > layered * 98 / 100);
    sup_character_destroy(c);
}

TEST(layers_are_symmetric)
{
    sup_character *c = test_scene("human", 0.1);
    double left[2] = {0}, right[2] = {0};
    for (int32_t v = 0; v < c->vertex_count; v++) {
        if (fabsf(c->positions[3 * v]) < 1e-4f) continue;
        double *sum = c->positions[3 * v] > 0.0f ? left : right;
        sum[0] += sup_v3_distance(point(c->positions, v), point(c->muscle_positions, v));
        sum[1] += sup_v3_distance(point(c->positions, v), point(c->bone_positions, v));
    }
    CHECK_NEAR(left[0] / right[0], 1.0, 0.002);
    CHECK_NEAR(left[1] / right[1], 1.0, 0.002);
    sup_character_destroy(c);
}

/* Six times the volume of a primitive, in the world. */
static double primitive_volume6(const sup_character *c, const sup_primitive *primitive)
{
    double sum = 0.0;
    for (int32_t t = primitive->triangle_first; t < primitive->triangle_first + primitive->triangle_count; t++) {
        const int32_t *v = c->triangles + 3 * (size_t)t;
        sum +=
            sup_v3_dot(point(c->positions, v[0]), sup_v3_cross(point(c->positions, v[1]), point(c->positions, v[2])));
    }
    return sum;
}

TEST(bones_and_muscles_have_plausible_volumes)
{
    static const char *const names[2] = {"human.bones", "human.muscles"}, *const some[2] = {"rib_cage", "left_calf"};
    for (int kind = 0; kind < 2; kind++) {
        sup_character *c = NULL;
        sup_error error;
        bool found = false;
        CHECK_OK(sup_scene_create(NULL, names[kind], 0.1, &c, &error), error);
        CHECK(c->primitive_count > 15);
        for (int32_t p = 0; p < c->primitive_count; p++) {
            found = found || strcmp(c->primitives[p].name, some[kind]) == 0;
            double volume = primitive_volume6(c, &c->primitives[p]) / 6.0;
            CHECK_MSG(volume > 1e-5 && volume < 0.02, "%s: %g", c->primitives[p].name, volume);
        }
        CHECK(found);
        sup_character_destroy(c);
    }
    sup_character *none = NULL;
    sup_error error;
    CHECK_EQ(sup_scene_create(NULL, "hand.bones", 0.1, &none, &error), SUP_ERROR_ARGUMENT);
    CHECK_TEXT(error.id, "scene.name");
    CHECK_EQ(sup_scene_create(NULL, "human.nerves", 0.1, &none, &error), SUP_ERROR_ARGUMENT);
}

/* Linear blending and dual quaternions on real characters, from file to skin, against the double reference. */
#include "measure/reference.h"
#include "supple/supple.h"
#include "test.h"

static void check_pose(const sup_rig *rig, const sup_model *model, sup_instance *instance, const sup_pose *pose,
                       const char *name)
{
    size_t n = (size_t)rig->vertex_count;
    bool dual = strcmp(sup_model_method(model)->name, "dualquat") == 0;
    float *positions = calloc(n, 12), *normals = calloc(n, 12);
    double *wanted = calloc(n, 24), *wanted_normals = calloc(n, 24);
    sup_affine *matrices = calloc(n, sizeof *matrices);
    CHECK_EQ(sup_instance_step(instance, pose, 0.02f, &(sup_skin_out){.positions = positions, .normals = normals}),
             SUP_OK);
    sup_reference_skin_all(NULL, rig, pose, dual ? SUP_REFERENCE_DUAL : SUP_REFERENCE_LINEAR, NULL,
                           &(sup_reference_out){wanted, wanted_normals, NULL, matrices});
    double worst = 0.0, size = (double)rig->size;
    int32_t turned = 0;
    for (size_t v = 0; v < n; v++) {
        double off = sup_v3_distance(sup_v3_load(positions + 3 * v),
                                     sup_v3(wanted[3 * v], wanted[3 * v + 1], wanted[3 * v + 2]));
        worst = fmax(worst, off / size);
        CHECK_NEAR(sup_v3_length(sup_v3_load(normals + 3 * v)), 1.0, 1e-5);
        double cosine = sup_v3_dot(sup_v3_load(normals + 3 * v),
                                   sup_v3(wanted_normals[3 * v], wanted_normals[3 * v + 1], wanted_normals[3 * v + 2]));
        turned += cosine < 0.999;
    }
    CHECK_MSG(worst < 2e-5, "%s %s: error of %g sizes", name, sup_model_method(model)->name, worst);
    CHECK_MSG(turned * 1000 <= (int32_t)n, "%s %s: %d wrong normals", name, sup_model_method(model)->name, turned);
    free(positions);
    free(normals);
    free(wanted);
    free(wanted_normals);
    free(matrices);
}

static void check_asset(const char *relative)
{
    sup_character *character = NULL;
    sup_rig *rig = NULL;
    sup_pose *pose = NULL;
    sup_error error;
    CHECK_OK(sup_load(NULL, test_asset(relative), NULL, &character, &error), error);
    CHECK_OK(sup_rig_create(NULL, character, NULL, &rig, &error), error);
    CHECK_OK(sup_pose_create(NULL, character, &pose, &error), error);
    static const char *const methods[] = {"linear", "dualquat"};
    for (int32_t m = 0; m < 2; m++) {
        sup_model *model = NULL;
        sup_instance *instance = NULL;
        CHECK_OK(sup_bind(NULL, sup_method_find(methods[m]), rig, NULL, &model, &error), error);
        CHECK_OK(sup_instance_create(NULL, model, NULL, &instance, &error), error);
        for (int32_t frame = 0; frame < 4; frame++) {
            const sup_clip *clip = character->clip_count > 0 ? &character->clips[0] : NULL;
            if (clip != NULL)
                CHECK_EQ(sup_pose_sample(character, clip, 0.25 * frame * (double)clip->end, pose), SUP_OK);
            for (int32_t w = 0; w < pose->morph_weight_count; w++)
                pose->morph_weights[w] = 0.3f * (float)(w % 3) * (float)frame;
            check_pose(rig, model, instance, pose, relative);
        }
        sup_instance_destroy(instance);
        sup_model_destroy(model);
    }
    sup_pose_destroy(pose);
    sup_rig_destroy(rig);
    sup_character_destroy(character);
}

TEST(asset_cesium_man)
{
    check_asset("gltf/khronos_CesiumMan.glb");
}

TEST(asset_fox)
{
    check_asset("gltf/khronos_Fox.glb");
}

TEST(asset_robot_with_morph_targets)
{
    check_asset("gltf/quat_RobotExpressive.glb");
}

TEST(asset_barbarian_with_props)
{
    check_asset("gltf/kaykit_Barbarian.glb");
}

TEST(asset_dragon)
{
    check_asset("gltf/m2m_Dragon.glb");
}

TEST(asset_woman)
{
    check_asset("gltf/quat_WomanCasual.glb");
}

/* test_bake.c - baking whole motions. */
#include "helpers.h"
#include "scene.h"

static sup_character *load(const char *asset)
{
    return helper_read_gltf(test_asset(asset));
}

/* The baked file equals the output of the method, frame by frame. */
static void check_against_steps(const sup_character *character, const char *path, const sup_bake_def *def,
                                int32_t frame_count)
{
    sup_error error;
    sup_rig *rig = NULL;
    sup_model *model = NULL;
    sup_pose *pose = NULL;
    sup_instance *instance = NULL;
    long size = 0;
    const sup_clip *clip = &character->clips[0];
    unsigned char *file = helper_file(path, &size);
    size_t bytes = (size_t)character->vertex_count * 12;
    CHECK_EQ(size, 32 + (long)bytes * frame_count);
    float *positions = malloc(bytes);
    CHECK_OK(sup_rig_create(NULL, character, NULL, &rig, &error), error);
    CHECK_OK(sup_bind(NULL, def->method, rig, NULL, &model, &error), error);
    CHECK_OK(sup_pose_create(NULL, character, &pose, &error), error);
    CHECK_OK(sup_instance_create(NULL, model, NULL, &instance, &error), error);
    for (int32_t f = 0; f < frame_count; f++) {
        sup_skin_out out = {.positions = positions};
        CHECK_EQ(sup_pose_sample(character, clip, sup_clip_frame_time(clip, def->fps, def->first_frame + f), pose), 0);
        CHECK_EQ(sup_instance_step(instance, pose, (float)(1.0 / def->fps), &out), SUP_OK);
        CHECK(memcmp(positions, file + 32 + (size_t)f * bytes, bytes) == 0);
    }
    free(positions);
    free(file);
    sup_instance_destroy(instance);
    sup_pose_destroy(pose);
    sup_model_destroy(model);
    sup_rig_destroy(rig);
}

TEST(bake_equals_the_steps_of_the_method)
{
    sup_character *character = load("gltf/khronos_Fox.glb");
    sup_error error;
    for (int32_t m = 0; m < sup_method_count(); m++) {
        if ((sup_method_at(m)->flags & SUP_METHOD_LAYERS) != 0) continue; /* the fox has no layers */
        sup_bake_def def = sup_default_bake_def();
        sup_bake_stats stats;
        def.method = sup_method_at(m);
        def.fps = 24.0;
        def.first_frame = 3;
        def.frame_count = 7;
        const char *path = test_temp("fox.pc2");
        CHECK_OK(sup_bake(NULL, character, &def, path, &stats, &error), error);
        CHECK_EQ(stats.frame_count, 7);
        CHECK_EQ(stats.vertex_count, 1728);
        CHECK_EQ(stats.bytes, 32 + 7 * 1728 * 12);
        CHECK(stats.bind_ms > 0.0 && stats.step_ms > 0.0 && stats.write_ms > 0.0);
        if ((def.method->flags & SUP_METHOD_DYNAMIC) == 0) check_against_steps(character, path, &def, 7);
    }
    sup_character_destroy(character);
}

TEST(bake_uses_the_whole_first_clip)
{
    sup_character *character = load("gltf/khronos_Fox.glb");
    sup_error error;
    sup_bake_stats stats;
    long size = 0;
    const char *path = test_temp("fox.glb");
    CHECK_OK(sup_bake(NULL, character, NULL, path, &stats, &error), error);
    CHECK_EQ(stats.frame_count, sup_clip_frame_count(&character->clips[0], 30.0));
    free(helper_file(path, &size));
    CHECK_EQ(size, (long)stats.bytes);
    sup_character *read = helper_read_gltf(path);
    CHECK_TEXT(read->clips[0].name, character->clips[0].name);
    CHECK_EQ(sup_clip_frame_count(&read->clips[0], 30.0), stats.frame_count);
    sup_character_destroy(read);
    sup_character_destroy(character);
}

TEST(bake_rejects_frames_out_of_range)
{
    sup_character *character = load("gltf/khronos_Fox.glb");
    sup_error error;
    int32_t frames = sup_clip_frame_count(&character->clips[0], 30.0);
    const int32_t ranges[][2] = {{0, frames + 1}, {-1, 3}, {5, -1}, {frames, 0}, {1, frames}, {INT32_MAX, INT32_MAX}};
    char text[100];
    snprintf(text, sizeof text, "%d frames, 0 to %d", frames, frames - 1);
    for (int32_t i = 0; i < SUP_COUNT(ranges); i++) {
        sup_bake_def def = sup_default_bake_def();
        def.first_frame = ranges[i][0];
        def.frame_count = ranges[i][1];
        CHECK_EQ(sup_bake(NULL, character, &def, test_temp("range.glb"), NULL, &error), SUP_ERROR_ARGUMENT);
        CHECK_TEXT(error.id, "bake.frames");
        CHECK(strstr(error.message, text) != NULL);
    }
    sup_bake_def def = sup_default_bake_def();
    def.first_frame = frames - 1;
    def.frame_count = 1;
    CHECK_OK(sup_bake(NULL, character, &def, test_temp("range.glb"), NULL, &error), error);
    def = sup_default_bake_def();
    def.fps = -3.0;
    CHECK_EQ(sup_bake(NULL, character, &def, test_temp("range.glb"), NULL, &error), SUP_ERROR_ARGUMENT);
    CHECK_EQ(sup_bake(NULL, character, NULL, test_temp("range.xyz"), NULL, &error), SUP_ERROR_ARGUMENT);
    CHECK_EQ(sup_bake(NULL, NULL, NULL, "a.glb", NULL, &error), SUP_ERROR_ARGUMENT);
    CHECK_EQ(sup_bake(NULL, character, NULL, NULL, NULL, &error), SUP_ERROR_ARGUMENT);
    sup_channel far = character->clips[0].channels[0];
    far.index = character->node_count;
    sup_clip foreign = {"foreign", 0.0f, 1.0f, 1, &far};
    def = sup_default_bake_def();
    def.clip = &foreign;
    CHECK_EQ(sup_bake(NULL, character, &def, test_temp("range.glb"), NULL, &error), SUP_ERROR_ARGUMENT);
    CHECK_TEXT(error.id, "bake.clip");
    test_temp("range.glb");
    sup_character_destroy(character);
}

typedef struct watch {
    int calls, stop_at;
    float last;
} watch;

static bool on_progress(void *user, float fraction, const char *stage)
{
    watch *w = user;
    CHECK(fraction >= w->last && fraction <= 1.0f && stage != NULL);
    w->last = fraction;
    return ++w->calls != w->stop_at;
}

TEST(bake_reports_progress_and_can_be_cancelled)
{
    sup_character *character = load("gltf/khronos_RiggedSimple.glb");
    sup_error error;
    watch w = {0, -1, 0.0f};
    sup_bake_def def = sup_default_bake_def();
    def.progress = on_progress;
    def.progress_user = &w;
    const char *path = test_temp("progress.glb");
    CHECK_OK(sup_bake(NULL, character, &def, path, NULL, &error), error);
    CHECK(w.last == 1.0f);
    remove(path);
    int calls = w.calls;
    for (int stop = 1; stop <= calls; stop += 1 + calls / 20) {
        w = (watch){0, stop, 0.0f};
        CHECK_EQ(sup_bake(NULL, character, &def, path, NULL, &error), SUP_ERROR_CANCELLED);
        CHECK_EQ(helper_count_files("test_output_progress"), 0);
    }
    sup_character_destroy(character);
}

TEST(bake_without_a_clip_writes_the_rest_pose)
{
    sup_character *character = load("gltf/babylon_LeftHand_noanim.glb");
    sup_error error;
    sup_bake_stats stats;
    const char *path = test_temp("rest.glb");
    CHECK_OK(sup_bake(NULL, character, NULL, path, &stats, &error), error);
    CHECK_EQ(stats.frame_count, 1);
    helper_frames rest = helper_skin(character, NULL, 30.0, 1);
    sup_character *read = helper_read_gltf(path);
    double size = helper_size(rest.positions, rest.vertex_count);
    CHECK_EQ(read->clip_count, 0);
    for (int32_t i = 0; i < rest.vertex_count * 3; i++)
        CHECK_NEAR(read->positions[i], rest.positions[i], 1e-5 * size);
    sup_character_destroy(read);
    helper_frames_free(&rest);
    sup_character_destroy(character);
}

/* The input is in memory: its file may be the output. */
TEST(bake_over_its_own_input)
{
    sup_character *character = load("gltf/khronos_CesiumMan.glb");
    sup_error error;
    char path[4200];
    snprintf(path, sizeof path, "%s", test_temp("own.glb"));
    CHECK_OK(sup_bake(NULL, character, NULL, path, NULL, &error), error);
    sup_character_destroy(character);
    character = helper_read_gltf(path);
    helper_frames frames = helper_skin(character, &character->clips[0], 30.0, 5);
    CHECK_OK(helper_write(path, character, &frames, NULL, &error), error); /* writes the baked file again */
    sup_character *again = helper_read_gltf(path);
    helper_frames second = helper_skin(again, &again->clips[0], 30.0, 5);
    for (int32_t i = 0; i < 5 * frames.vertex_count * 3; i++)
        CHECK_NEAR(second.positions[i], frames.positions[i], 1e-6);
    helper_frames_free(&frames);
    helper_frames_free(&second);
    sup_character_destroy(again);
    sup_character_destroy(character);
}

/* Every character, a few frames, alternating linear and dual quaternion skinning; the glTF validator checks the files
 * later. */
TEST(bake_every_asset)
{
    for (int32_t i = 0; i < TEST_CHARACTERS; i++) {
        sup_character *character = load(test_characters[i]);
        sup_error error;
        sup_bake_stats stats;
        char name[200];
        sup_bake_def def = sup_default_bake_def();
        def.method = sup_method_find(i % 2 == 0 ? "linear" : "dualquat");
        if (character->clip_count > 0) def.frame_count = 5;
        snprintf(name, sizeof name, "bake_%d.glb", (int)i);
        const char *path = test_temp(name);
        CHECK_OK(sup_bake(NULL, character, &def, path, &stats, &error), error);
        sup_character *read = helper_read_gltf(path);
        CHECK_EQ(read->vertex_count, character->vertex_count);
        CHECK_EQ(read->clip_count, character->clip_count > 0 ? 1 : 0);
        for (int32_t v = 0; v < read->vertex_count * 3; v++)
            CHECK(isfinite(read->positions[v]));
        sup_character_destroy(read);
        sup_character_destroy(character);
    }
}

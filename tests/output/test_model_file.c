/* Model files: round trips, and error ids of damaged files. */
#include "base/base.h"
#include "supple/supple.h"
#include "scene.h"
#include "test.h"

static sup_model *bind_scene(const char *name)
{
    const sup_method *method = sup_method_find(name);
    bool layers = (method->flags & SUP_METHOD_LAYERS) != 0;
    sup_character *character = layers ? test_scene("human", 0.1) : test_scene("cylinder", 0.25);
    sup_rig *rig = NULL;
    sup_model *model = NULL;
    sup_error error;
    CHECK_OK(sup_rig_create(NULL, character, NULL, &rig, &error), error);
    CHECK_OK(sup_bind(NULL, method, rig, NULL, &model, &error), error);
    sup_rig_destroy(rig);
    sup_character_destroy(character);
    return model;
}

static void write_bytes(const char *path, const void *data, size_t size)
{
    FILE *file = fopen(path, "wb");
    CHECK(file != NULL);
    CHECK(fwrite(data, 1, size, file) == size);
    CHECK(fclose(file) == 0);
}

TEST(saved_model_round_trips)
{
    for (int32_t m = 0; m < sup_method_count(); m++) {
        sup_model *model = bind_scene(sup_method_at(m)->name), *loaded = NULL;
        sup_error error;
        const char *path = test_temp("model.supple");
        CHECK_OK(sup_model_save(model, path, &error), error);
        CHECK_OK(sup_model_load_file(NULL, path, &loaded, &error), error);
        sup_bytes a = sup_model_bytes(model), b = sup_model_bytes(loaded);
        CHECK(a.size == b.size && memcmp(a.data, b.data, a.size) == 0);
        CHECK(sup_model_method(loaded) == sup_method_at(m));
        sup_model_destroy(loaded);
        sup_model_destroy(model);
    }
}

TEST(damaged_files_are_rejected_with_their_path)
{
    sup_model *model = bind_scene("linear"), *loaded = NULL;
    sup_bytes bytes = sup_model_bytes(model);
    unsigned char *copy = malloc(bytes.size + 1);
    const char *path = test_temp("damaged.supple");
    sup_random random = {3};
    sup_error error;
    memcpy(copy, bytes.data, bytes.size);
    copy[bytes.size] = 0;
    for (int i = 0; i < 200; i++) {
        size_t at = i < 64 ? (size_t)i : (size_t)(sup_random_unit(&random) * (double)bytes.size);
        bool flip = i % 2 == 0;
        copy[at] ^= flip ? (unsigned char)(1u << (i / 2 % 8)) : 0;
        write_bytes(path, copy, flip ? bytes.size : at);
        sup_result result = sup_model_load_file(NULL, path, &loaded, &error);
        CHECK_MSG(result == SUP_ERROR_FORMAT || result == SUP_ERROR_UNSUPPORTED, "%s %zu: %d", flip ? "flip" : "cut",
                  at, result);
        CHECK(loaded == NULL && strncmp(error.id, "model.", 6) == 0 && error.message[0] != '\0' &&
              error.where[0] != '\0');
        copy[at] ^= flip ? (unsigned char)(1u << (i / 2 % 8)) : 0;
    }
    write_bytes(path, copy, bytes.size + 1);
    CHECK_EQ(sup_model_load_file(NULL, path, &loaded, &error), SUP_ERROR_FORMAT);
    write_bytes(path, copy, bytes.size);
    CHECK_OK(sup_model_load_file(NULL, path, &loaded, &error), error);
    sup_model_destroy(loaded);
    sup_model_destroy(model);
    free(copy);
}

TEST(invalid_arguments_and_paths)
{
    sup_model *model = bind_scene("linear"), *loaded = NULL;
    sup_error error;
    CHECK_EQ(sup_model_save(NULL, test_temp("x.supple"), &error), SUP_ERROR_ARGUMENT);
    CHECK_EQ(sup_model_save(model, NULL, &error), SUP_ERROR_ARGUMENT);
    CHECK_EQ(sup_model_save(model, "/no/such/folder/x.supple", &error), SUP_ERROR_IO);
    CHECK_EQ(sup_model_load_file(NULL, NULL, &loaded, &error), SUP_ERROR_ARGUMENT);
    CHECK_EQ(sup_model_load_file(NULL, test_temp("x.supple"), NULL, &error), SUP_ERROR_ARGUMENT);
    CHECK_EQ(sup_model_load_file(NULL, test_temp("x.supple"), &loaded, &error), SUP_ERROR_IO);
    CHECK_EQ(sup_model_load_file(NULL, test_temp("x.supple"), &loaded, NULL), SUP_ERROR_IO);
    sup_model_destroy(model);
}

/* A bake with a model equals the bake without; a model of another character or method is rejected. */
TEST(bake_accepts_a_model)
{
    sup_character *character = NULL, *other = NULL;
    sup_cache *with = NULL, *without = NULL;
    sup_model *model = bind_scene("dualquat");
    sup_error error;
    CHECK_OK(sup_scene_create(NULL, "cylinder", 0.25, &character, &error), error);
    CHECK_OK(sup_scene_create(NULL, "arm", 0.25, &other, &error), error);
    sup_bake_def def = {.model = model, .frame_count = 5};
    sup_bake_stats stats;
    const char *a = test_temp("with.pc2"), *b = test_temp("without.pc2");
    CHECK_OK(sup_bake(NULL, character, &def, a, &stats, &error), error);
    CHECK(stats.method == sup_method_find("dualquat"));
    def = (sup_bake_def){.method = sup_method_find("dualquat"), .frame_count = 5};
    CHECK_OK(sup_bake(NULL, character, &def, b, &stats, &error), error);
    CHECK_OK(sup_cache_load(NULL, a, 0, &with, &error), error);
    CHECK_OK(sup_cache_load(NULL, b, 0, &without, &error), error);
    CHECK(memcmp(with->positions, without->positions, (size_t)with->vertex_count * 60) == 0);
    def = (sup_bake_def){.model = model, .frame_count = 1};
    CHECK_EQ(sup_bake(NULL, other, &def, a, NULL, &error), SUP_ERROR_DATA);
    CHECK_TEXT(error.id, "model.character");
    def.method = sup_method_find("linear");
    CHECK_EQ(sup_bake(NULL, character, &def, a, NULL, &error), SUP_ERROR_ARGUMENT);
    CHECK_TEXT(error.id, "bake.model.method");
    sup_collider sphere = sup_collider_sphere((sup_vec3){0, 0, 0}, 1.0f);
    def = (sup_bake_def){.model = model, .frame_count = 1, .colliders = &sphere, .collider_count = 1};
    CHECK_EQ(sup_bake(NULL, character, &def, a, NULL, &error), SUP_ERROR_UNSUPPORTED);
    CHECK_TEXT(error.id, "collider.method");
    sup_cache_destroy(with);
    sup_cache_destroy(without);
    sup_model_destroy(model);
    sup_character_destroy(other);
    sup_character_destroy(character);
}

/* test_obj_sequence.c - OBJ files, and numbers as text. */
#include "helpers.h"

#include "output/number_text.h"

#include <unistd.h>

static void check_number(float value)
{
    char text[64];
    memset(text, '#', sizeof text);
    char *end = sup_put_float(text, value);
    CHECK(end - text <= SUP_NUMBER_TEXT && end > text);
    *end = '\0';
    char *stop = NULL;
    float back = strtof(text, &stop);
    CHECK_MSG(stop == end && back == value, "%.9g became %s", (double)value, text);
}

TEST(numbers_read_back_as_the_same_float)
{
    static const float samples[] = {
        0.0f,        -0.0f,        1.0f,  -1.0f,         0.1f,     9.99999999f,     1e9f,           999999999.0f,
        99999999.0f, 123456789.0f, 1e-5f, 9.9999997e-6f, 1.5e-45f, 1.17549435e-38f, 3.40282347e38f, -3.40282347e38f,
        16777216.0f, 0.00001234f,  1e10f, 1e20f,         1e-20f,   0.333333343f,    1e8f,           5e8f};
    for (int32_t i = 0; i < SUP_COUNT(samples); i++)
        check_number(samples[i]);
    sup_random random = {7};
    for (int i = 0; i < 300000; i++) {
        uint32_t bits = sup_random_u32(&random);
        float value;
        memcpy(&value, &bits, sizeof value);
        if (isfinite(value)) check_number(value);
        check_number((float)(sup_random_unit(&random) * 4.0 - 2.0));
    }
    char text[16];
    static const int32_t whole[] = {0, 9, 10, 99, 100, 12345, 1000000, INT32_MAX};
    for (int32_t i = 0; i < SUP_COUNT(whole); i++) {
        *sup_put_int(text, whole[i]) = '\0';
        CHECK_EQ(atoll(text), whole[i]);
    }
}

static void remove_frames(const char *name, int count)
{
    char file[64];
    for (int i = 0; i < count; i++) {
        snprintf(file, sizeof file, "%s_%04d.obj", name, i);
        test_temp(file);
    }
}

TEST(obj_sequence_has_every_frame)
{
    sup_character *character = helper_character(true);
    helper_frames frames = helper_wave(character, 3);
    sup_error error;
    long size = 0;
    remove_frames("seq", 3);
    CHECK_OK(helper_write(test_temp("seq.obj"), character, &frames, NULL, &error), error);
    CHECK_EQ(helper_count_files("test_output_seq"), 3);
    for (int32_t f = 0; f < 3; f++) {
        char name[4200];
        snprintf(name, sizeof name, "%s/test_files/test_output_seq_%04d.obj", SUPPLE_BINARY_DIR, f);
        unsigned char *file = helper_file(name, &size);
        CHECK(size > 0);
        int vertex = 0, normal = 0, texcoord = 0, faces = 0;
        for (char *line = strtok((char *)file, "\n"); line != NULL; line = strtok(NULL, "\n")) {
            float v[3];
            if (sscanf(line, "v %f %f %f", &v[0], &v[1], &v[2]) == 3)
                CHECK(memcmp(v, helper_positions(&frames, f) + 3 * vertex++, sizeof v) == 0);
            if (sscanf(line, "vn %f %f %f", &v[0], &v[1], &v[2]) == 3)
                CHECK(memcmp(v, helper_normals(&frames, f) + 3 * normal++, sizeof v) == 0);
            if (sscanf(line, "vt %f %f", &v[0], &v[1]) == 2) {
                CHECK(v[0] == character->texcoords[2 * texcoord] &&
                      v[1] == 1.0f - character->texcoords[2 * texcoord + 1]);
                texcoord++;
            }
            if (line[0] == 'f' && faces++ == 4)
                CHECK_TEXT(line, "f 5/5/5 7/7/7 6/6/6"); /* mirrored: reversed orientation */
            if (line[0] == 'f' && faces == 1) CHECK_TEXT(line, "f 1/1/1 3/3/3 2/2/2");
            if (line[0] == 'o') CHECK(strcmp(line, "o tetrahedron") == 0 || strcmp(line, "o square") == 0);
        }
        CHECK(vertex == 8 && normal == 8 && texcoord == 8 && faces == 6);
        free(file);
    }
    helper_frames_free(&frames);
    sup_character_destroy(character);
}

/* Frame 2 cannot be renamed: the older files of frames 0 and 1 are restored. */
TEST(obj_sequence_is_atomic)
{
    sup_character *character = helper_character(false);
    helper_frames frames = helper_wave(character, 4);
    sup_error error;
    sup_cache_writer *writer = NULL;
    sup_cache_def def = sup_default_cache_def();
    char first[4200], folder[4200], inside[4300];
    long size = 0;
    def.frame_count = 4;
    remove_frames("undo", 4);
    const char *path = test_temp("undo.obj");
    snprintf(first, sizeof first, "%.*s_0000.obj", (int)strlen(path) - 4, path);
    snprintf(folder, sizeof folder, "%.*s_0002.obj", (int)strlen(path) - 4, path);
    snprintf(inside, sizeof inside, "%s/file", folder);
    helper_put_file(first, "older");
    CHECK_OK(sup_cache_open(NULL, path, character, &def, &writer, &error), error);
    for (int32_t f = 0; f < 4; f++)
        CHECK_OK(sup_cache_write(writer, helper_positions(&frames, f), NULL, &error), error);
    char command[9000];
    snprintf(command, sizeof command, "mkdir '%s' && touch '%s'", folder, inside);
    CHECK_EQ(system(command), 0);
    CHECK_EQ(sup_cache_finish(writer, &error), SUP_ERROR_IO);
    CHECK_TEXT(error.id, "file.rename");
    remove(inside);
    remove(folder);
    unsigned char *file = helper_file(first, &size);
    CHECK_TEXT((const char *)file, "older");
    CHECK_EQ(helper_count_files("test_output_undo"), 1);
    free(file);
    /* Without errors the older file is replaced. */
    CHECK_OK(helper_write(path, character, &frames, NULL, &error), error);
    CHECK_EQ(helper_count_files("test_output_undo"), 4);
    file = helper_file(first, &size);
    CHECK(size > 100 && file[0] == '#');
    free(file);
    remove_frames("undo", 4);
    helper_frames_free(&frames);
    sup_character_destroy(character);
}

/* The temporary file of frame 1 is deleted before it is renamed: the older files of frames 0 and 1 are kept. */
TEST(obj_sequence_survives_a_lost_file)
{
    sup_character *character = helper_character(false);
    helper_frames frames = helper_wave(character, 2);
    sup_error error;
    sup_cache_writer *writer = NULL;
    sup_cache_def def = sup_default_cache_def();
    char name[2][4200], lost[4300];
    long size = 0;
    def.frame_count = 2;
    remove_frames("lost", 2);
    const char *path = test_temp("lost.obj");
    for (int i = 0; i < 2; i++) {
        snprintf(name[i], sizeof name[i], "%.*s_000%d.obj", (int)strlen(path) - 4, path, i);
        helper_put_file(name[i], i == 0 ? "zero" : "one");
    }
    CHECK_OK(sup_cache_open(NULL, path, character, &def, &writer, &error), error);
    for (int32_t f = 0; f < 2; f++)
        CHECK_OK(sup_cache_write(writer, helper_positions(&frames, f), NULL, &error), error);
    snprintf(lost, sizeof lost, "%s.part%ld", name[1], (long)getpid());
    CHECK_EQ(remove(lost), 0);
    CHECK_EQ(sup_cache_finish(writer, &error), SUP_ERROR_IO);
    for (int i = 0; i < 2; i++) {
        unsigned char *file = helper_file(name[i], &size);
        CHECK_TEXT((const char *)file, i == 0 ? "zero" : "one");
        free(file);
    }
    CHECK_EQ(helper_count_files("test_output_lost"), 2);
    remove_frames("lost", 2);
    helper_frames_free(&frames);
    sup_character_destroy(character);
}

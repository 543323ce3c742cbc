/* test_point_cache.c - PC2 and MDD byte for byte. */
#include "helpers.h"

static uint32_t word(const unsigned char *at, bool big)
{
    uint32_t value = 0;
    for (int i = 0; i < 4; i++)
        value |= (uint32_t)at[i] << (big ? 24 - 8 * i : 8 * i);
    return value;
}

static float number(const unsigned char *at, bool big)
{
    uint32_t bits = word(at, big);
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

TEST(pc2_is_as_documented)
{
    sup_character *character = helper_character(false);
    helper_frames frames = helper_wave(character, 5);
    sup_error error;
    long size = 0;
    sup_cache_def def = {.fps = 24.0, .start_time = 0.5};
    const char *path = test_temp("wave.pc2");
    CHECK_OK(helper_write(path, character, &frames, &def, &error), error);
    unsigned char *file = helper_file(path, &size);
    CHECK_EQ(size, 32 + 5 * 8 * 12);
    CHECK(memcmp(file, "POINTCACHE2\0", 12) == 0);
    CHECK_EQ(word(file + 12, false), 1);
    CHECK_EQ(word(file + 16, false), 8);
    CHECK_NEAR(number(file + 20, false), 12.0, 0.0); /* start frame */
    CHECK_NEAR(number(file + 24, false), 1.0, 0.0);
    CHECK_EQ(word(file + 28, false), 5);
    for (int i = 0; i < 5 * 24; i++)
        CHECK(number(file + 32 + 4 * i, false) == frames.positions[i]);
    free(file);
    helper_frames_free(&frames);
    sup_character_destroy(character);
}

TEST(mdd_is_as_documented)
{
    sup_character *character = helper_character(false);
    helper_frames frames = helper_wave(character, 5);
    sup_error error;
    long size = 0;
    sup_cache_def def = {.fps = 24.0, .start_time = 0.5};
    const char *path = test_temp("wave.MDD"); /* file extensions ignore case */
    CHECK_OK(helper_write(path, character, &frames, &def, &error), error);
    unsigned char *file = helper_file(path, &size);
    CHECK_EQ(size, 8 + 5 * 4 + 5 * 8 * 12);
    CHECK_EQ(word(file, true), 5);
    CHECK_EQ(word(file + 4, true), 8);
    for (int i = 0; i < 5; i++)
        CHECK_NEAR(number(file + 8 + 4 * i, true), 0.5 + i / 24.0, 1e-6);
    for (int i = 0; i < 5 * 24; i++)
        CHECK(number(file + 28 + 4 * i, true) == frames.positions[i]);
    free(file);
    helper_frames_free(&frames);
    sup_character_destroy(character);
}

/* test_cache.c - invalid arguments, non-finite numbers, full disks: a clear error, no files left, older files
 * unchanged. */
#include "helpers.h"

#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

static const char *const extensions[] = {"glb", "pc2", "mdd", "obj"};

static const char *named(const char *stem, const char *extension)
{
    char name[100];
    snprintf(name, sizeof name, "%s.%s", stem, extension);
    return test_temp(name);
}

/* The first file of a writer (a sequence has numbers), with an older file of that name. */
static const char *write_older(const char *path)
{
    static char first[4200];
    const char *dot = strrchr(path, '.');
    snprintf(first, sizeof first, "%.*s%s%s", (int)(dot - path), path, strcmp(dot, ".obj") == 0 ? "_0000" : "", dot);
    helper_put_file(first, "older");
    return first;
}

/* Only the older file exists; removes it. */
static void check_only_older(const char *first, const char *text)
{
    long size = 0;
    unsigned char *file = helper_file(first, &size);
    CHECK_MSG(size == 5 && memcmp(file, "older", 5) == 0, "%s was changed", first);
    free(file);
    CHECK_MSG(helper_count_files(text) == 1, "%s left files behind", first);
    remove(first);
}

TEST(open_rejects_invalid_arguments)
{
    sup_character *character = helper_character(false);
    sup_cache_writer *writer = NULL;
    sup_error error;
    sup_cache_def def = sup_default_cache_def();
    def.frame_count = 1;
    CHECK_EQ(sup_cache_open(NULL, test_temp("x.fbx"), character, &def, &writer, &error), SUP_ERROR_ARGUMENT);
    CHECK_TEXT(error.id, "output.extension");
    CHECK(strstr(error.message, ".glb") && strstr(error.message, ".pc2") && strstr(error.message, ".mdd") &&
          strstr(error.message, ".obj"));
    CHECK_EQ(sup_cache_open(NULL, "no_ending", character, &def, &writer, &error), SUP_ERROR_ARGUMENT);
    CHECK_EQ(sup_cache_open(NULL, "", character, &def, &writer, &error), SUP_ERROR_ARGUMENT);
    CHECK_EQ(sup_cache_open(NULL, NULL, character, &def, &writer, &error), SUP_ERROR_ARGUMENT);
    CHECK_EQ(sup_cache_open(NULL, "a.glb", NULL, &def, &writer, &error), SUP_ERROR_ARGUMENT);
    for (int32_t i = 0; i < SUP_COUNT(extensions); i++) {
        sup_cache_def bad = def;
        bad.frame_count = 0;
        CHECK_EQ(sup_cache_open(NULL, named("x", extensions[i]), character, &bad, &writer, &error), SUP_ERROR_ARGUMENT);
        bad = def;
        bad.fps = -1.0;
        CHECK_EQ(sup_cache_open(NULL, named("x", extensions[i]), character, &bad, &writer, &error), SUP_ERROR_ARGUMENT);
        bad.fps = (double)NAN;
        CHECK_EQ(sup_cache_open(NULL, named("x", extensions[i]), character, &bad, &writer, &error), SUP_ERROR_ARGUMENT);
    }
    sup_character empty = {.name = "empty_character"}, *empty_character = NULL;
    CHECK_OK(sup_character_create(NULL, &empty, &empty_character, &error), error);
    CHECK_EQ(sup_cache_open(NULL, test_temp("x.glb"), empty_character, &def, &writer, &error), SUP_ERROR_DATA);
    CHECK_TEXT(error.id, "output.empty");
    CHECK(writer == NULL);
    sup_character_destroy(empty_character);
    sup_character_destroy(character);
    sup_cache_abandon(NULL);
    CHECK_EQ(sup_cache_finish(NULL, &error), SUP_ERROR_ARGUMENT);
}

TEST(nonfinite_values_are_reported_with_frame_and_vertex)
{
    sup_character *character = helper_character(false);
    helper_frames frames = helper_wave(character, 3);
    sup_error error;
    for (int32_t i = 0; i < SUP_COUNT(extensions); i++) {
        float *bad = &frames.positions[2 * 24 + 6 * 3 + 1], good = *bad;
        const char *path = named("nan", extensions[i]), *first = write_older(path);
        *bad = i % 2 == 0 ? (float)NAN : -(float)INFINITY;
        CHECK_EQ(helper_write(path, character, &frames, NULL, &error), SUP_ERROR_DATA);
        CHECK_TEXT(error.id, "output.nonfinite");
        CHECK(strstr(error.message, "vertex 6") && strstr(error.message, "frame 2") && strstr(error.message, "square"));
        *bad = good;
        check_only_older(first, "test_output_nan");
    }
    frames.normals[5] = (float)NAN;
    CHECK_EQ(helper_write(test_temp("nan.glb"), character, &frames, NULL, &error), SUP_ERROR_DATA);
    helper_frames_free(&frames);
    sup_character_destroy(character);
}

TEST(frame_count_must_match_the_declaration)
{
    sup_character *character = helper_character(false);
    helper_frames frames = helper_wave(character, 2);
    sup_error error;
    sup_cache_def def = sup_default_cache_def();
    def.frame_count = 2;
    for (int32_t i = 0; i < SUP_COUNT(extensions); i++) {
        sup_cache_writer *writer = NULL;
        const char *path = named("count", extensions[i]), *first = write_older(path);
        CHECK_OK(sup_cache_open(NULL, path, character, &def, &writer, &error), error);
        CHECK_OK(sup_cache_write(writer, helper_positions(&frames, 0), helper_normals(&frames, 0), &error), error);
        CHECK_EQ(sup_cache_finish(writer, &error), SUP_ERROR_ARGUMENT); /* one frame of two */
        CHECK_TEXT(error.id, "output.frames");
        check_only_older(first, "test_output_count");
        write_older(path);
        CHECK_OK(sup_cache_open(NULL, path, character, &def, &writer, &error), error);
        CHECK_OK(sup_cache_write(writer, helper_positions(&frames, 0), NULL, &error), error);
        CHECK_EQ(sup_cache_write(writer, helper_positions(&frames, 1), helper_normals(&frames, 1), &error),
                 SUP_ERROR_ARGUMENT); /* normals in some frames only */
        CHECK_TEXT(error.id, "output.normals");
        CHECK_EQ(sup_cache_write(writer, helper_positions(&frames, 1), NULL, &error), SUP_ERROR_ARGUMENT);
        CHECK_TEXT(error.id, "output.failed");
        CHECK_EQ(sup_cache_finish(writer, &error), SUP_ERROR_ARGUMENT);
        check_only_older(first, "test_output_count");
        write_older(path);
        CHECK_OK(sup_cache_open(NULL, path, character, &def, &writer, &error), error);
        CHECK_OK(sup_cache_write(writer, helper_positions(&frames, 0), NULL, &error), error);
        CHECK_OK(sup_cache_write(writer, helper_positions(&frames, 1), NULL, &error), error);
        CHECK_EQ(sup_cache_write(writer, helper_positions(&frames, 1), NULL, &error), SUP_ERROR_ARGUMENT);
        sup_cache_abandon(writer);
        check_only_older(first, "test_output_count");
    }
    helper_frames_free(&frames);
    sup_character_destroy(character);
}

/* A file size limit simulates a full disk: writes fail at every possible position. */
TEST(full_disk_leaves_no_files)
{
    sup_character *character = helper_character(false);
    helper_frames frames = helper_wave(character, 40);
    sup_error error;
    struct rlimit before, small;
    CHECK_EQ(getrlimit(RLIMIT_FSIZE, &before), 0);
    void (*handler)(int) = signal(SIGXFSZ, SIG_IGN);
    for (int32_t i = 0; i < SUP_COUNT(extensions); i++) {
        long size = 0;
        char path[4200];
        snprintf(path, sizeof path, "%s", named("full", extensions[i]));
        const char *first = write_older(path);
        CHECK_OK(helper_write(path, character, &frames, NULL, &error), error);
        free(helper_file(first, &size));
        for (int32_t f = 0; f < 40; f++) {
            char name[40];
            snprintf(name, sizeof name, "full_%04d.obj", f);
            test_temp(name);
        }
        for (long limit = 0; limit < size; limit += 1 + size / 9) {
            write_older(path);
            small = before;
            small.rlim_cur = (rlim_t)limit;
            CHECK_EQ(setrlimit(RLIMIT_FSIZE, &small), 0);
            sup_result result = helper_write(path, character, &frames, NULL, &error);
            CHECK_EQ(setrlimit(RLIMIT_FSIZE, &before), 0);
            CHECK_MSG(result == SUP_ERROR_IO, "%s with %ld of %ld bytes: %d", extensions[i], limit, size, (int)result);
            CHECK_TEXT(error.id, "file.write");
            check_only_older(first, "test_output_full");
        }
    }
    signal(SIGXFSZ, handler);
    helper_frames_free(&frames);
    sup_character_destroy(character);
}

TEST(paths_that_cannot_be_written)
{
    sup_character *character = helper_character(false);
    helper_frames frames = helper_wave(character, 2);
    sup_error error;
    char path[4200], target[4200];
    long size = 0;
    for (int32_t i = 0; i < SUP_COUNT(extensions); i++) {
        snprintf(path, sizeof path, "%s/test_files/no/such/folder/x.%s", SUPPLE_BINARY_DIR, extensions[i]);
        CHECK_EQ(helper_write(path, character, &frames, NULL, &error), SUP_ERROR_IO);
        CHECK_TEXT(error.id, "file.create");
        CHECK(strstr(error.where, "no/such/folder") != NULL);
    }
    const char *folder = test_temp("folder.glb");
    CHECK_EQ(mkdir(folder, 0777), 0);
    CHECK_EQ(helper_write(folder, character, &frames, NULL, &error), SUP_ERROR_IO);
    CHECK_TEXT(error.id, "file.folder");
    rmdir(folder);
    const char *link = test_temp("device.glb");
    CHECK_EQ(symlink("/dev/full", link), 0);
    CHECK_EQ(helper_write(link, character, &frames, NULL, &error), SUP_ERROR_IO);
    CHECK_TEXT(error.id, "file.special");
    remove(link);
    /* A symbolic link stays a link; its target gets the bytes. */
    link = test_temp("link.glb");
    snprintf(target, sizeof target, "%s", test_temp("target.glb"));
    helper_put_file(target, "older");
    CHECK_EQ(symlink(target, link), 0);
    CHECK_OK(helper_write(link, character, &frames, NULL, &error), error);
    struct stat status;
    CHECK(lstat(link, &status) == 0 && S_ISLNK(status.st_mode));
    free(helper_file(target, &size));
    CHECK(size > 100);
    memset(path, 'a', sizeof path);
    memcpy(path + sizeof path - 5, ".glb", 5);
    CHECK_EQ(helper_write(path, character, &frames, NULL, &error), SUP_ERROR_IO);
    helper_frames_free(&frames);
    sup_character_destroy(character);
}

/* An allocator that fails its n-th request: every error path of the writers frees all memory. */
typedef struct scarce {
    int left;
    long held;
} scarce;

static void *limited_allocate(void *user, size_t size, size_t alignment)
{
    scarce *s = user;
    if (s->left-- <= 0) return NULL;
    s->held += (long)size;
    return aligned_alloc(alignment, (size + alignment - 1) / alignment * alignment);
}

static void limited_release(void *user, void *memory, size_t size)
{
    ((scarce *)user)->held -= (long)size;
    free(memory);
}

TEST(out_of_memory_is_handled)
{
    sup_character *character = helper_character(true);
    helper_frames frames = helper_wave(character, 3);
    sup_error error;
    for (int32_t i = 0; i < SUP_COUNT(extensions); i++) {
        int limit = 0;
        for (sup_result result = SUP_ERROR_MEMORY; result != SUP_OK; limit++) {
            scarce s = {limit, 0};
            sup_context context = {.allocator = {limited_allocate, limited_release, &s}};
            sup_cache_def def = sup_default_cache_def();
            sup_cache_writer *writer = NULL;
            def.frame_count = 3;
            result = sup_cache_open(&context, named("scarce", extensions[i]), character, &def, &writer, &error);
            for (int32_t f = 0; result == SUP_OK && f < 3; f++)
                result = sup_cache_write(writer, helper_positions(&frames, f), helper_normals(&frames, f), &error);
            if (result == SUP_OK)
                result = sup_cache_finish(writer, &error);
            else
                sup_cache_abandon(writer);
            CHECK_MSG(result == SUP_OK || result == SUP_ERROR_MEMORY, "%s: %d", extensions[i], (int)result);
            CHECK_EQ(s.held, 0);
            if (result != SUP_OK) CHECK_EQ(helper_count_files("test_output_scarce"), 0);
        }
        CHECK(limit > 2);
        named("scarce", extensions[i]);
        for (int f = 0; f < 3; f++) {
            char name[40];
            snprintf(name, sizeof name, "scarce_%04d.obj", f);
            test_temp(name);
        }
    }
    helper_frames_free(&frames);
    sup_character_destroy(character);
}

/* Two writers of one process with the same path: each uses a separate temporary file. */
TEST(two_writers_do_not_conflict)
{
    sup_character *character = helper_character(false);
    helper_frames frames = helper_wave(character, 2), still = helper_skin(character, NULL, 30.0, 2);
    const helper_frames *both[2] = {&frames, &still};
    sup_error error;
    sup_cache_def def = sup_default_cache_def();
    sup_cache_writer *writers[2];
    long size = 0;
    def.frame_count = 2;
    const char *path = test_temp("two.pc2");
    for (int i = 0; i < 2; i++)
        CHECK_OK(sup_cache_open(NULL, path, character, &def, &writers[i], &error), error);
    for (int32_t f = 0; f < 2; f++)
        for (int i = 0; i < 2; i++)
            CHECK_OK(sup_cache_write(writers[i], helper_positions(both[i], f), NULL, &error), error);
    for (int i = 0; i < 2; i++) {
        CHECK_OK(sup_cache_finish(writers[i], &error), error);
        unsigned char *file = helper_file(path, &size);
        CHECK_EQ(size, 32 + 2 * 8 * 12);
        CHECK(memcmp(file + 32, both[i]->positions, 2 * 8 * 12) == 0);
        free(file);
    }
    CHECK_EQ(helper_count_files("test_output_two"), 1);
    helper_frames_free(&frames);
    helper_frames_free(&still);
    sup_character_destroy(character);
}

/* Reading whole files: regular files, pipes, empty files, folders; resolving relative paths. */
#include "load/file.h"
#include "test.h"

#include <sys/stat.h>
#include <unistd.h>

static sup_allocator allocator(void)
{
    return sup_context_resolve(NULL).allocator;
}

static void check_pipe(size_t length)
{
    const char *path = test_temp("pipe");
    sup_allocator memory = allocator();
    void *data = NULL;
    size_t size = 99;
    sup_error error;
    CHECK_EQ(mkfifo(path, 0600), 0);
    if (fork() == 0) {
        FILE *file = fopen(path, "wb");
        for (size_t i = 0; i < length; i++)
            fputc((int)(i % 251), file);
        fclose(file);
        _exit(0);
    }
    CHECK_OK(sup_file_read(path, &memory, &data, &size, &error), error);
    CHECK_EQ(size, length);
    for (size_t i = 0; i < length; i++)
        CHECK_EQ(((unsigned char *)data)[i], i % 251);
    CHECK_EQ(((unsigned char *)data)[length], 0);
    sup_free(&memory, data, size + 1);
    remove(path);
}

TEST(pipes_are_read_to_their_end)
{
    check_pipe(0);
    check_pipe(1);
    check_pipe(200000);
}

TEST(unreadable_files_report_the_reason)
{
    sup_allocator memory = allocator();
    void *data = NULL;
    size_t size = 0;
    sup_error error;
    CHECK_EQ(sup_file_read("/nowhere/at/all.glb", &memory, &data, &size, &error), SUP_ERROR_IO);
    CHECK_TEXT(error.id, "file.open");
    CHECK_EQ(sup_file_read("/tmp", &memory, &data, &size, &error), SUP_ERROR_IO);
    CHECK_TEXT(error.id, "file.folder");
    CHECK(data == NULL);
}

TEST(relative_paths_are_resolved)
{
    char path[64];
    CHECK(sup_path_resolve("a/b.gltf", "c%20d.bin", true, path, sizeof path));
    CHECK_TEXT(path, "a/c d.bin");
    CHECK(sup_path_resolve("b.gltf", "c%20d.bin", false, path, sizeof path));
    CHECK_TEXT(path, "c%20d.bin");
    CHECK(sup_path_resolve("a/b.gltf", "/x/y", false, path, sizeof path));
    CHECK_TEXT(path, "/x/y");
    CHECK(!sup_path_resolve("a/b.gltf", "much/too/long", false, path, 10));
    sup_path_extension("x.tar/Hero.GLB", path, sizeof path);
    CHECK_TEXT(path, "glb");
    sup_path_extension("x.tar/hero", path, sizeof path);
    CHECK_TEXT(path, "");
}

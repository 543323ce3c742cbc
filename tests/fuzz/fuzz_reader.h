/* fuzz_reader.h - what the fuzz targets of the readers share. What a reader makes must be what others may rely on. */
#ifndef SUP_TESTS_FUZZ_READER_H
#define SUP_TESTS_FUZZ_READER_H

#include "load/read.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Files that a file names: a small mesh, skeleton or motion for each ending. */
static inline sup_result fuzz_read_file(void *user, const char *path, const sup_allocator *allocator, void **data,
                                        size_t *size, sup_error *error)
{
    static const char *const files[][2] = {{".obj", "v 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 3\n"},
                                           {".skel", "2\n0 0 0 a root\n0 1 0 b a\n"},
                                           {".anim", "1 2\n0\n1 0 0\n0 1 0\n0.5 1\n"}};
    SUP_UNUSED(user);
    size_t length = strlen(path);
    for (int i = 0; i < 3; i++) {
        size_t ending = strlen(files[i][0]);
        if (length < ending || strcmp(path + length - ending, files[i][0]) != 0) continue;
        *size = strlen(files[i][1]);
        *data = sup_alloc(allocator, *size + 1);
        if (*data == NULL) return sup_fail_memory(error, path);
        memcpy(*data, files[i][1], *size + 1);
        return SUP_OK;
    }
    return sup_fail(error, SUP_ERROR_IO, "fuzz", path, "There is no such file.");
}

static inline unsigned fuzz_touch(const void *bytes, size_t size)
{
    unsigned sum = 0;
    for (size_t i = 0; bytes != NULL && i < size; i++)
        sum += ((const unsigned char *)bytes)[i];
    return sum;
}

static inline void fuzz_touch_clip(const sup_clip *clip)
{
    volatile unsigned sum = (unsigned)strlen(clip->name);
    for (int32_t c = 0; c < clip->channel_count; c++) {
        const sup_channel *channel = &clip->channels[c];
        size_t width = channel->target == SUP_CHANNEL_ROTATION ? 4 : 3;
        sum += fuzz_touch(channel->times, (size_t)channel->key_count * 4);
        sum += fuzz_touch(channel->values, (size_t)channel->key_count * width * 4);
    }
    SUP_UNUSED(sum);
}

static inline void fuzz_touch_character(const sup_character *c)
{
    size_t vertices = (size_t)c->vertex_count;
    volatile unsigned sum = fuzz_touch(c->positions, vertices * 12) + fuzz_touch(c->normals, vertices * 12);
    sum += fuzz_touch(c->texcoords, vertices * 8) + fuzz_touch(c->triangles, (size_t)c->triangle_count * 12);
    for (int32_t i = 0; i < c->node_count; i++)
        sum += (unsigned)strlen(c->nodes[i].name) + (unsigned)c->node_order[i];
    for (int32_t i = 0; i < c->clip_count; i++)
        fuzz_touch_clip(&c->clips[i]);
    SUP_UNUSED(sum);
}

/* Runs one reader over the bytes; the character, or NULL when they are refused. The caller destroys it. */
static inline sup_character *fuzz_read(sup_read_fn *fn, const char *name, const uint8_t *data, size_t size)
{
    sup_context context = sup_context_resolve(NULL);
    char *copy = malloc(size + 1); /* a zero follows the data, as after a file */
    if (copy == NULL) return NULL;
    if (size > 0) memcpy(copy, data, size);
    copy[size] = '\0';
    sup_read_input input = {&context, name, {copy, size}, {fuzz_read_file, NULL}};
    sup_error error = {0};
    sup_character *character = NULL;
    sup_result result = fn(&input, &character, &error);
    free(copy);
    if (result == SUP_OK) fuzz_touch_character(character);
    if ((result == SUP_OK) != (character != NULL)) abort();
    if (result != SUP_OK && (error.id[0] == '\0' || error.message[0] == '\0')) abort();
    return character;
}

#endif

/* read_landmarks.c - known positions on a scan, one per line: VERTEX x y z, or JOINT_NAME x y z. */
#include "load/file.h"
#include "load/landmarks.h"
#include "load/text_cursor.h"

#include <math.h>

struct sup_landmarks_storage {
    sup_arena arena;
    sup_allocator allocator;
};

static sup_result read_line(sup_text_cursor *cursor, sup_arena *arena, sup_landmark *landmark, sup_error *error)
{
    int64_t vertex = -1;
    *landmark = (sup_landmark){.vertex = -1};
    if (sup_text_int64(cursor, &vertex)) {
        if (vertex < 0 || vertex > INT32_MAX)
            return sup_text_fail(cursor, error, "landmarks.vertex", "A vertex index must be 0 or greater.");
        landmark->vertex = (int32_t)vertex;
    } else {
        sup_word name = sup_text_word(cursor);
        landmark->joint = sup_arena_string_n(arena, name.text, name.length);
        if (landmark->joint == NULL) return sup_fail_memory(error, "the landmarks");
    }
    for (int k = 0; k < 3; k++)
        if (!sup_text_double(cursor, &landmark->position[k]) || !isfinite(landmark->position[k]))
            return sup_text_fail_expected(cursor, error, "landmarks.position",
                                          "a vertex index or joint name and x y z");
    return SUP_OK;
}

sup_result sup_landmarks_read(const sup_context *context, const char *name, sup_bytes bytes, sup_landmarks **landmarks,
                              sup_error *error)
{
    sup_context resolved = sup_context_resolve(context);
    struct sup_landmarks_storage *storage = sup_alloc_zero(&resolved.allocator, sizeof *storage);
    if (storage == NULL) return sup_fail_memory(error, "the landmarks");
    storage->allocator = resolved.allocator;
    storage->arena = sup_arena_create(&resolved.allocator);
    sup_array items = {.item_size = sizeof(sup_landmark)};
    sup_text_cursor cursor = sup_text_open(bytes, name, '#');
    sup_result result = SUP_OK;
    while (result == SUP_OK && sup_text_skip_to_word(&cursor)) {
        sup_landmark *landmark = sup_array_push(&resolved.allocator, &items, 1);
        result = landmark != NULL ? read_line(&cursor, &storage->arena, landmark, error)
                                  : sup_fail_memory(error, "the landmarks");
    }
    sup_landmarks *made = sup_arena_alloc(&storage->arena, 1, sizeof *made);
    const sup_landmark *copy = sup_arena_copy(&storage->arena, items.data, items.count, sizeof(sup_landmark));
    if (result == SUP_OK && (made == NULL || (copy == NULL && items.count > 0)))
        result = sup_fail_memory(error, "the landmarks");
    if (result == SUP_OK) {
        *made = (sup_landmarks){(int32_t)items.count, copy, storage};
        *landmarks = made;
    } else {
        sup_arena_destroy(&storage->arena);
        sup_free(&resolved.allocator, storage, sizeof *storage);
    }
    sup_array_free(&resolved.allocator, &items);
    return result;
}

sup_result sup_landmarks_load(const sup_context *context, const char *path, sup_landmarks **landmarks, sup_error *error)
{
    if (path == NULL || landmarks == NULL)
        return sup_fail(error, SUP_ERROR_ARGUMENT, "argument.null", "",
                        "sup_landmarks_load: path and landmarks must not be NULL.");
    sup_context resolved = sup_context_resolve(context);
    void *data = NULL;
    size_t size = 0;
    sup_result result = sup_file_read(path, &resolved.allocator, &data, &size, error);
    if (result != SUP_OK) return result;
    result = sup_landmarks_read(context, path, (sup_bytes){data, size}, landmarks, error);
    sup_free(&resolved.allocator, data, size + 1);
    return result;
}

void sup_landmarks_destroy(sup_landmarks *landmarks)
{
    if (landmarks == NULL) return;
    struct sup_landmarks_storage *storage = landmarks->storage;
    sup_allocator allocator = storage->allocator;
    sup_arena_destroy(&storage->arena);
    sup_free(&allocator, storage, sizeof *storage);
}

/* memory.c - the default allocator, arenas and growing arrays. */
#include "base/base.h"

#include <stdlib.h>

enum { SUP_ALIGNMENT = 64, SUP_ARENA_BLOCK = 64 * 1024, SUP_ARENA_LARGE = 4096 };

static void *default_allocate(void *user, size_t size, size_t alignment)
{
    SUP_UNUSED(user);
    if (size > SIZE_MAX - alignment) return NULL;
    size_t rounded = (size + alignment - 1) / alignment * alignment; /* aligned_alloc needs a multiple */
    return aligned_alloc(alignment, rounded == 0 ? alignment : rounded);
}

static void default_release(void *user, void *memory, size_t size)
{
    SUP_UNUSED(user);
    SUP_UNUSED(size);
    free(memory);
}

static void run_serially(void *user, int32_t count, int32_t grain, sup_task_fn *fn, void *work)
{
    SUP_UNUSED(user);
    int32_t step = grain > 0 ? grain : 1;
    for (int32_t begin = 0; begin < count; begin += step)
        fn(work, begin, count - begin < step ? count : begin + step, 0);
}

sup_context sup_context_resolve(const sup_context *context)
{
    sup_context resolved = {0};
    if (context != NULL) resolved = *context;
    if (resolved.allocator.allocate == NULL || resolved.allocator.release == NULL) {
        resolved.allocator.allocate = default_allocate;
        resolved.allocator.release = default_release;
        resolved.allocator.user = NULL;
    }
    if (resolved.tasks.run == NULL) {
        resolved.tasks.run = run_serially;
        resolved.tasks.worker_count = 1;
    }
    return resolved;
}

void *sup_alloc(const sup_allocator *allocator, size_t size)
{
    if (size > SIZE_MAX / 2) return NULL;
    return allocator->allocate(allocator->user, size == 0 ? 1 : size, SUP_ALIGNMENT);
}

void *sup_alloc_zero(const sup_allocator *allocator, size_t size)
{
    void *memory = sup_alloc(allocator, size);
    if (memory != NULL && size > 0) memset(memory, 0, size);
    return memory;
}

void sup_free(const sup_allocator *allocator, void *memory, size_t size)
{
    if (memory != NULL) allocator->release(allocator->user, memory, size == 0 ? 1 : size);
}

size_t sup_size_multiply(size_t count, size_t size)
{
    return size != 0 && count > SIZE_MAX / size ? SIZE_MAX : count * size;
}

struct sup_arena_block {
    struct sup_arena_block *next;
    size_t size, used; /* bytes, this header included */
};

sup_arena sup_arena_create(const sup_allocator *allocator)
{
    sup_arena arena = {*allocator, NULL};
    return arena;
}

/* Adds a block with an aligned header and returns its first `bytes`. A block for one large request is inserted after
 * the current block, which stays in use for small requests. */
static void *arena_add_block(sup_arena *arena, size_t header, size_t bytes, size_t capacity)
{
    if (capacity > SIZE_MAX / 2 - header) return NULL;
    struct sup_arena_block *block = sup_alloc_zero(&arena->allocator, header + capacity);
    if (block == NULL) return NULL;
    block->size = header + capacity;
    block->used = header + bytes;
    bool full = capacity == bytes && arena->blocks != NULL;
    block->next = full ? arena->blocks->next : arena->blocks;
    if (full)
        arena->blocks->next = block;
    else
        arena->blocks = block;
    return (unsigned char *)block + header;
}

void *sup_arena_alloc(sup_arena *arena, size_t count, size_t size)
{
    size_t bytes = sup_size_multiply(count, size);
    if (bytes > SIZE_MAX / 2) return NULL;
    bytes = (bytes + 15) / 16 * 16;
    if (bytes == 0) bytes = 16;
    if (bytes >= SUP_ARENA_LARGE) return arena_add_block(arena, SUP_ALIGNMENT, bytes, bytes);
    struct sup_arena_block *block = arena->blocks;
    if (block != NULL && block->size - block->used >= bytes) {
        void *memory = (unsigned char *)block + block->used;
        block->used += bytes;
        return memory;
    }
    return arena_add_block(arena, SUP_ALIGNMENT, bytes, SUP_ARENA_BLOCK);
}

void *sup_arena_copy(sup_arena *arena, const void *source, size_t count, size_t size)
{
    if (source == NULL) return NULL;
    void *memory = sup_arena_alloc(arena, count, size);
    if (memory != NULL && count * size > 0) memcpy(memory, source, count * size);
    return memory;
}

char *sup_arena_string_n(sup_arena *arena, const char *text, size_t length)
{
    char *copy = length < SIZE_MAX ? sup_arena_alloc(arena, length + 1, 1) : NULL;
    if (copy != NULL && length > 0) memcpy(copy, text, length);
    return copy;
}

char *sup_arena_string(sup_arena *arena, const char *text)
{
    return text == NULL ? sup_arena_string_n(arena, "", 0) : sup_arena_string_n(arena, text, strlen(text));
}

void sup_arena_destroy(sup_arena *arena)
{
    struct sup_arena_block *block = arena->blocks;
    while (block != NULL) {
        struct sup_arena_block *next = block->next;
        sup_free(&arena->allocator, block, block->size);
        block = next;
    }
    arena->blocks = NULL;
}

void *sup_array_push(const sup_allocator *allocator, sup_array *array, size_t extra)
{
    if (extra > array->capacity - array->count) {
        size_t needed = array->count + extra;
        size_t capacity = array->capacity < 16 ? 16 : array->capacity * 2;
        if (needed < extra || capacity < array->capacity) return NULL;
        if (capacity < needed) capacity = needed;
        unsigned char *data = sup_alloc(allocator, sup_size_multiply(capacity, array->item_size));
        if (data == NULL) return NULL;
        if (array->count > 0) memcpy(data, array->data, array->count * array->item_size);
        sup_free(allocator, array->data, array->capacity * array->item_size);
        array->data = data;
        array->capacity = capacity;
    }
    void *first = array->data + array->count * array->item_size;
    array->count += extra;
    return first;
}

void sup_array_free(const sup_allocator *allocator, sup_array *array)
{
    sup_free(allocator, array->data, array->capacity * array->item_size);
    array->data = NULL;
    array->count = array->capacity = 0;
}

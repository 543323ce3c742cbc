/* heap.c - malloc and free for supple.wasm in a few hundred bytes; those of wasi-libc add 3 kB to the compressed file.
 *
 * First fit from one address-ordered free list; adjacent free blocks are merged. Binding allocates a few large
 * blocks and stepping allocates nothing, so the list is short. Single-threaded. */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { UNIT = 16, PAGE = 65536 };

/* Header of a block; `size` includes the header and is a multiple of UNIT. `next` is valid for free blocks only. */
typedef struct block {
    size_t size;
    struct block *next;
    size_t unused[2];
} block;

_Static_assert(sizeof(block) == UNIT, "blocks are aligned for all types");

extern unsigned char __heap_base; /* defined by the linker */
static block *free_blocks;
static uintptr_t heap_end;

static block *end_of(block *b)
{
    return (block *)((unsigned char *)b + b->size);
}

/* Inserts a block into the free list and merges it with adjacent blocks. */
static void insert_free(block *b)
{
    block **at = &free_blocks, *previous = NULL;
    while (*at != NULL && *at < b) {
        previous = *at;
        at = &previous->next;
    }
    b->next = *at;
    *at = b;
    if (b->next != NULL && end_of(b) == b->next) {
        b->size += b->next->size;
        b->next = b->next->next;
    }
    if (previous != NULL && end_of(previous) == b) {
        previous->size += b->size;
        previous->next = b->next;
    }
}

static int grow(size_t size)
{
    uintptr_t from = heap_end != 0 ? heap_end : ((uintptr_t)&__heap_base + UNIT - 1) / UNIT * UNIT;
    uintptr_t memory_end = (uintptr_t)__builtin_wasm_memory_size(0) * PAGE;
    size_t available = memory_end - from; /* rest of the initial pages; 0 later */
    size_t pages = available < size ? (size - available + PAGE - 1) / PAGE : 0;
    if (pages > 0 && __builtin_wasm_memory_grow(0, pages) == SIZE_MAX) return 0;
    heap_end = memory_end + pages * PAGE;
    block *b = (block *)from; /* NOLINT(performance-no-int-to-ptr) */
    b->size = heap_end - from;
    insert_free(b);
    return 1;
}

/* Allocates from the end of the first free block that is large enough. */
static block *remove_fit(size_t size)
{
    do {
        for (block **at = &free_blocks; *at != NULL; at = &(*at)->next) {
            block *b = *at;
            if (b->size < size) continue;
            if (b->size == size) {
                *at = b->next;
                return b;
            }
            b->size -= size;
            block *allocated = end_of(b);
            allocated->size = size;
            return allocated;
        }
    } while (grow(size));
    return NULL;
}

void *malloc(size_t bytes)
{
    block *b = bytes < SIZE_MAX - 2 * UNIT ? remove_fit((bytes + 2 * UNIT - 1) / UNIT * UNIT) : NULL;
    return b != NULL ? b + 1 : NULL;
}

void free(void *memory)
{
    if (memory != NULL) insert_free((block *)memory - 1);
}

void *calloc(size_t count, size_t size)
{
    size_t bytes;
    void *memory = __builtin_mul_overflow(count, size, &bytes) ? NULL : malloc(bytes);
    return memory != NULL ? memset(memory, 0, bytes) : NULL;
}

void *realloc(void *memory, size_t bytes)
{
    size_t old_bytes = memory != NULL ? ((block *)memory - 1)->size - UNIT : 0;
    if (memory != NULL && bytes <= old_bytes) return memory;
    void *larger = malloc(bytes);
    if (larger == NULL || memory == NULL) return larger;
    memcpy(larger, memory, old_bytes);
    free(memory);
    return larger;
}

/* Frees the bytes before the first address that is a multiple of `alignment`. */
void *aligned_alloc(size_t alignment, size_t bytes)
{
    if (alignment <= UNIT) return malloc(bytes);
    void *memory = bytes < SIZE_MAX - alignment ? malloc(bytes + alignment) : NULL;
    if (memory == NULL) return NULL;
    size_t skipped = (alignment - (uintptr_t)memory % alignment) % alignment;
    if (skipped == 0) return memory;
    block *front = (block *)memory - 1, *b = (block *)((unsigned char *)front + skipped);
    b->size = front->size - skipped;
    front->size = skipped;
    insert_free(front);
    return b + 1;
}

/* heap.c - malloc and free for supple.wasm, in a few hundred bytes: those of wasi-libc take 3 kB of the compressed file.
 *
 * One list of free blocks by address; the first that fits is cut, and neighbours are joined when a block comes back. Binding takes
 * a few large pieces and steps take nothing, so that the list is short. One thread. */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { UNIT = 16, PAGE = 65536 };

/* In front of each block, of which size is all: whole UNITs. `next` of free blocks alone. */
typedef struct block {
    size_t size;
    struct block *next;
    size_t unused[2];
} block;

_Static_assert(sizeof(block) == UNIT, "blocks begin where numbers of any kind may");

extern unsigned char __heap_base; /* of the linker */
static block *free_blocks;
static uintptr_t heap_end;

static block *end_of(block *b)
{
    return (block *)((unsigned char *)b + b->size);
}

/* Puts a block where it belongs, and makes one of it and those that it touches. */
static void give_back(block *b)
{
    block **at = &free_blocks, *before = NULL;
    while (*at != NULL && *at < b) {
        before = *at;
        at = &before->next;
    }
    b->next = *at;
    *at = b;
    if (b->next != NULL && end_of(b) == b->next) {
        b->size += b->next->size;
        b->next = b->next->next;
    }
    if (before != NULL && end_of(before) == b) {
        before->size += b->size;
        before->next = b->next;
    }
}

static int grow(size_t size)
{
    uintptr_t from = heap_end != 0 ? heap_end : ((uintptr_t)&__heap_base + UNIT - 1) / UNIT * UNIT;
    uintptr_t whole = (uintptr_t)__builtin_wasm_memory_size(0) * PAGE;
    size_t there = whole - from; /* what is left of the first pages; later nothing */
    size_t pages = there < size ? (size - there + PAGE - 1) / PAGE : 0;
    if (pages > 0 && __builtin_wasm_memory_grow(0, pages) == SIZE_MAX) return 0;
    heap_end = whole + pages * PAGE;
    block *b = (block *)from; /* NOLINT(performance-no-int-to-ptr) */
    b->size = heap_end - from;
    give_back(b);
    return 1;
}

/* The end of the first free block that is large enough. */
static block *take(size_t size)
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
            block *taken = end_of(b);
            taken->size = size;
            return taken;
        }
    } while (grow(size));
    return NULL;
}

void *malloc(size_t bytes)
{
    block *b = bytes < SIZE_MAX - 2 * UNIT ? take((bytes + 2 * UNIT - 1) / UNIT * UNIT) : NULL;
    return b != NULL ? b + 1 : NULL;
}

void free(void *memory)
{
    if (memory != NULL) give_back((block *)memory - 1);
}

void *calloc(size_t count, size_t size)
{
    size_t bytes;
    void *memory = __builtin_mul_overflow(count, size, &bytes) ? NULL : malloc(bytes);
    return memory != NULL ? memset(memory, 0, bytes) : NULL;
}

void *realloc(void *memory, size_t bytes)
{
    size_t had = memory != NULL ? ((block *)memory - 1)->size - UNIT : 0;
    if (memory != NULL && bytes <= had) return memory;
    void *larger = malloc(bytes);
    if (larger == NULL || memory == NULL) return larger;
    memcpy(larger, memory, had);
    free(memory);
    return larger;
}

/* What is in front of the first place that is a multiple of `alignment` goes back. */
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
    give_back(front);
    return b + 1;
}

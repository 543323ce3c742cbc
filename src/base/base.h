/* base.h (internal) - memory, errors, text and tasks for all other folders. The core does not use stdio. */
#ifndef SUP_BASE_BASE_H
#define SUP_BASE_BASE_H

#include "supple/base.h"

#include <stdarg.h>
#include <string.h>

#define SUP_UNUSED(x) ((void)(x))
#define SUP_COUNT(array) ((int32_t)(sizeof(array) / sizeof((array)[0])))

/* The context with defaults in place of zero members; NULL gives all defaults. */
sup_context sup_context_resolve(const sup_context *context);

/* --- Memory: NULL only when the allocator fails, also for size 0. 64-byte aligned. --- */
void *sup_alloc(const sup_allocator *allocator, size_t size);
void *sup_alloc_zero(const sup_allocator *allocator, size_t size);
void sup_free(const sup_allocator *allocator, void *memory, size_t size);
/* count * size, or SIZE_MAX on overflow: an allocation of SIZE_MAX always fails. */
size_t sup_size_multiply(size_t count, size_t size);

/* Arena: many small allocations, freed together. Zeroed, 16-byte aligned (64 for blocks of 4096 and more). */
typedef struct sup_arena {
    sup_allocator allocator;
    struct sup_arena_block *blocks; /* newest first */
} sup_arena;
sup_arena sup_arena_create(const sup_allocator *allocator);
void *sup_arena_alloc(sup_arena *arena, size_t count, size_t size); /* NULL on overflow or when out of memory */
void *sup_arena_copy(sup_arena *arena, const void *source, size_t count, size_t size); /* NULL source: NULL */
char *sup_arena_string(sup_arena *arena, const char *text);                            /* NULL text: "" */
char *sup_arena_string_n(sup_arena *arena, const char *text, size_t length);
void sup_arena_destroy(sup_arena *arena);

/* Growing array for counts that are not known in advance. Zero-initialise; set item_size once. */
typedef struct sup_array {
    unsigned char *data;
    size_t count, capacity, item_size;
} sup_array;
/* Appends `extra` uninitialised items and returns a pointer to the first; NULL when out of memory. */
void *sup_array_push(const sup_allocator *allocator, sup_array *array, size_t extra);
void sup_array_free(const sup_allocator *allocator, sup_array *array);

/* --- Text. Formats: %s %c %d %u %lld %llu %zu %g (6 digits) %.Ng %% and widths like %04d. Always zero-terminated.
 * --- */
size_t sup_format(char *buffer, size_t size, const char *format, ...) __attribute__((format(printf, 3, 4)));
size_t sup_format_v(char *buffer, size_t size, const char *format, va_list args);
/* Parses a number at the start of [text, end), independent of the locale. Returns the pointer past it, or NULL if there
 * is no number. Overflow gives infinity; accepts "nan" and "inf". */
const char *sup_parse_double(const char *text, const char *end, double *value);
const char *sup_parse_int64(const char *text, const char *end, int64_t *value);
bool sup_text_equal(const char *a, const char *b);        /* NULL-safe */
bool sup_text_equal_nocase(const char *a, const char *b); /* ASCII */

/* --- Errors --- */
/* Fills `error` (may be NULL) and returns `result`: return sup_fail(error, SUP_ERROR_DATA, "rig.empty", where, ...). */
sup_result sup_fail(sup_error *error, sup_result result, const char *id, const char *where, const char *format, ...)
    __attribute__((format(printf, 5, 6)));
sup_result sup_fail_memory(sup_error *error, const char *what);
#ifdef __clang_analyzer__
/* The analyser reads one file at a time: show it that these functions return failures, to avoid false positives. */
#define sup_fail(error, result, ...) (sup_fail(error, result, __VA_ARGS__), (result))
#define sup_fail_memory(error, what) (sup_fail_memory(error, what), SUP_ERROR_MEMORY)
#endif
void sup_log(const sup_context *context, sup_log_level level, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* --- Tasks --- */
/* Runs on context->tasks, or on the calling thread if there is only one chunk or worker. */
void sup_parallel(const sup_context *context, int32_t count, int32_t grain, sup_task_fn *fn, void *work);

/* --- Hash --- */
uint64_t sup_hash64(const void *data, size_t size, uint64_t seed); /* the same on all platforms of one endianness */
uint32_t sup_crc32(const void *data, size_t size);

/* Deterministic pseudo-random numbers for sampling at bind time and for tests. */
typedef struct sup_random {
    uint64_t state;
} sup_random;
uint32_t sup_random_u32(sup_random *random);
double sup_random_unit(sup_random *random); /* [0, 1) */

#endif

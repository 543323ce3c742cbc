/* base.h - results, errors, memory, tasks and logging: how the library meets the program around it.
 *
 * Everything here is optional for a caller: NULL for a context or an error means "use the defaults" or
 * "I do not want the details". The library never prints, exits or aborts. */
#ifndef SUPPLE_BASE_H
#define SUPPLE_BASE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
#define SUP_EXTERN extern "C"
#else
#define SUP_EXTERN extern
#endif
#if defined(_WIN32) && defined(SUPPLE_SHARED)
#ifdef SUPPLE_BUILD
#define SUP_API SUP_EXTERN __declspec(dllexport)
#else
#define SUP_API SUP_EXTERN __declspec(dllimport)
#endif
#elif defined(__GNUC__)
#define SUP_API SUP_EXTERN __attribute__((visibility("default")))
#else
#define SUP_API SUP_EXTERN
#endif

#define SUPPLE_VERSION_MAJOR 0
#define SUPPLE_VERSION_MINOR 1
#define SUPPLE_VERSION_PATCH 0

/* Version of the library that was linked, as major * 10000 + minor * 100 + patch: compare it with the header's. */
SUP_API int32_t sup_version(void);

/* 0 is success, negative values are failures. */
typedef enum sup_result {
    SUP_OK = 0,
    SUP_ERROR_ARGUMENT = -1,    /* the call itself is wrong: NULL, index out of range, unknown name */
    SUP_ERROR_MEMORY = -2,      /* the allocator refused */
    SUP_ERROR_IO = -3,          /* a path cannot be read or written, the disk is full */
    SUP_ERROR_FORMAT = -4,      /* the file is damaged or lies about itself */
    SUP_ERROR_UNSUPPORTED = -5, /* the file is fine but uses something this build does not know */
    SUP_ERROR_DATA = -6,        /* the mesh or the skeleton cannot be used: rig says why */
    SUP_ERROR_NUMERIC = -7,     /* a computation failed: matrix not positive definite, no convergence */
    SUP_ERROR_CANCELLED = -8,   /* the caller's progress callback asked to stop */
    SUP_ERROR_DEVICE = -9       /* a GPU failed or was lost */
} sup_result;

/* A short English name of a result, such as "damaged file". Never NULL. */
SUP_API const char *sup_result_name(sup_result result);

/* What went wrong, for people and for programs. Filled by the first failure; untouched on success. */
typedef struct sup_error {
    sup_result result;
    char id[48];       /* stable, for programs and for searching: "gltf.accessor.range" */
    char message[400]; /* one sentence that says what is wrong and what to do */
    char where[240];   /* file, node, line or element it was found in; "" when it has no place */
} sup_error;

/* Memory. `alignment` is a power of two up to 64. `release` gets the size that was asked for. */
typedef struct sup_allocator {
    void *(*allocate)(void *user, size_t size, size_t alignment);
    void (*release)(void *user, void *memory, size_t size);
    void *user;
} sup_allocator;

/* One piece of parallel work: elements [begin, end). `worker` is in [0, worker_count). */
typedef void sup_task_fn(void *work, int32_t begin, int32_t end, int32_t worker);

/* Threads. `run` calls `fn` over [0, count) in pieces of `grain` elements (the last may be shorter), piece i
 * covering [i*grain, ...), and returns when all are done. Pieces never depend on the number of threads. */
typedef struct sup_tasks {
    void (*run)(void *user, int32_t count, int32_t grain, sup_task_fn *fn, void *work);
    int32_t worker_count; /* upper bound of `worker` + 1 */
    void *user;
} sup_tasks;

typedef enum sup_log_level { SUP_LOG_INFO, SUP_LOG_WARNING } sup_log_level;
typedef void sup_log_fn(void *user, sup_log_level level, const char *message);

/* Progress of a long call, fraction in [0, 1]. Return false to cancel: the call ends with SUP_ERROR_CANCELLED. */
typedef bool sup_progress_fn(void *user, float fraction, const char *stage);

/* How the library reaches the outside. Zero-initialise it and set what you want; zero members mean defaults:
 * the C allocator, one thread, silence. Objects copy the context; what `user` points at must outlive them. */
typedef struct sup_context {
    sup_allocator allocator;
    sup_tasks tasks;
    sup_log_fn *log;
    void *log_user;
} sup_context;

/* A thread pool for sup_context.tasks. thread_count 0 = as many as the machine has; the calling thread counts
 * as one of them. On platforms without threads it runs everything on the caller. */
typedef struct sup_thread_pool sup_thread_pool;
SUP_API sup_result sup_thread_pool_create(int32_t thread_count, sup_thread_pool **pool, sup_error *error);
SUP_API sup_tasks sup_thread_pool_tasks(sup_thread_pool *pool);
SUP_API void sup_thread_pool_destroy(sup_thread_pool *pool);

/* A view of somebody else's bytes. */
typedef struct sup_bytes {
    const void *data;
    size_t size;
} sup_bytes;

#endif

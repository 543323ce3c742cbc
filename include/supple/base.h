/* base.h - results, errors, memory allocation, tasks and logging: the interface between the library and its host.
 *
 * Callers may pass NULL for a context (use the defaults) and for an error (ignore the details). The library never
 * prints, exits or aborts. */
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

/* Version of the linked library as major * 10000 + minor * 100 + patch; compare it with the macros above. */
SUP_API int32_t sup_version(void);

/* 0 is success, negative values are failures. */
typedef enum sup_result {
    SUP_OK = 0,
    SUP_ERROR_ARGUMENT = -1,    /* invalid argument: NULL, index out of range, unknown name */
    SUP_ERROR_MEMORY = -2,      /* the allocator returned NULL */
    SUP_ERROR_IO = -3,          /* a path cannot be read or written, or the disk is full */
    SUP_ERROR_FORMAT = -4,      /* the file is damaged or inconsistent */
    SUP_ERROR_UNSUPPORTED = -5, /* the file is valid but uses a feature that this build does not support */
    SUP_ERROR_DATA = -6,        /* the mesh or the skeleton cannot be used; the message gives the reason */
    SUP_ERROR_NUMERIC = -7,     /* a computation failed: matrix not positive definite, no convergence */
    SUP_ERROR_CANCELLED = -8,   /* the caller's progress callback asked to stop */
    SUP_ERROR_DEVICE = -9       /* a GPU failed or was lost */
} sup_result;

/* A short English name of a result, such as "damaged file". Never NULL. */
SUP_API const char *sup_result_name(sup_result result);

/* Details of a failure. Written by the first failure of a call; unchanged on success. */
typedef struct sup_error {
    sup_result result;
    char id[48];       /* stable identifier, such as "gltf.accessor.range" */
    char message[400]; /* what is wrong and what to do, in English */
    char where[240];   /* file, node, line or element that has the problem; "" when unknown */
} sup_error;

/* Memory allocator. `alignment` is a power of two up to 64. `release` receives the size passed to `allocate`. */
typedef struct sup_allocator {
    void *(*allocate)(void *user, size_t size, size_t alignment);
    void (*release)(void *user, void *memory, size_t size);
    void *user;
} sup_allocator;

/* One chunk of a parallel loop: elements [begin, end). `worker` is in [0, worker_count). */
typedef void sup_task_fn(void *work, int32_t begin, int32_t end, int32_t worker);

/* Task scheduler. `run` calls `fn` over [0, count) in chunks of `grain` elements (the last may be shorter), chunk i
 * starting at i*grain, and returns when all are done. The chunks must not depend on the number of threads. */
typedef struct sup_tasks {
    void (*run)(void *user, int32_t count, int32_t grain, sup_task_fn *fn, void *work);
    int32_t worker_count; /* upper bound of `worker` + 1 */
    void *user;
} sup_tasks;

typedef enum sup_log_level { SUP_LOG_INFO, SUP_LOG_WARNING } sup_log_level;
typedef void sup_log_fn(void *user, sup_log_level level, const char *message);

/* Progress of a long call, `fraction` in [0, 1]. Return false to cancel: the call then returns SUP_ERROR_CANCELLED. */
typedef bool sup_progress_fn(void *user, float fraction, const char *stage);

/* Services that the host provides. Zero-initialise it and set what you need; zero members select the defaults: the C
 * allocator, one thread, no log. Objects copy the context; the data behind the `user` pointers must outlive them. */
typedef struct sup_context {
    sup_allocator allocator;
    sup_tasks tasks;
    sup_log_fn *log;
    void *log_user;
} sup_context;

/* A thread pool for sup_context.tasks. thread_count 0 = one per processor; the count includes the calling thread. On
 * platforms without threads all tasks run on the calling thread. */
typedef struct sup_thread_pool sup_thread_pool;
SUP_API sup_result sup_thread_pool_create(int32_t thread_count, sup_thread_pool **pool, sup_error *error);
SUP_API sup_tasks sup_thread_pool_tasks(sup_thread_pool *pool);
SUP_API void sup_thread_pool_destroy(sup_thread_pool *pool);

/* A byte range owned by the caller. */
typedef struct sup_bytes {
    const void *data;
    size_t size;
} sup_bytes;

#endif

/* task.c - a small thread pool. Workers spin briefly for the next job of a frame, then sleep: jobs are short compared
 * with a wake-up. Threads take chunks from one counter, so any thread may run any chunk. Results do not depend on the
 * number of threads, because the chunks do not. */
#include "base/base.h"

void sup_parallel(const sup_context *context, int32_t count, int32_t grain, sup_task_fn *fn, void *work)
{
    if (count <= 0) return;
    if (grain < 1) grain = 1;
    if (context->tasks.worker_count <= 1 || count <= grain)
        for (int32_t begin = 0; begin < count; begin += grain)
            fn(work, begin, count - begin < grain ? count : begin + grain, 0);
    else
        context->tasks.run(context->tasks.user, count, grain, fn, work);
}

#if defined(__wasm__)

struct sup_thread_pool {
    int32_t unused;
};

static sup_thread_pool single_pool;

sup_result sup_thread_pool_create(int32_t thread_count, sup_thread_pool **pool, sup_error *error)
{
    SUP_UNUSED(thread_count);
    SUP_UNUSED(error);
    *pool = &single_pool;
    return SUP_OK;
}

sup_tasks sup_thread_pool_tasks(sup_thread_pool *pool)
{
    SUP_UNUSED(pool);
    return sup_context_resolve(NULL).tasks;
}

void sup_thread_pool_destroy(sup_thread_pool *pool)
{
    SUP_UNUSED(pool);
}

#else

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <unistd.h>

enum { SUP_SPIN_ITERATIONS = 2000, SUP_MAX_THREADS = 256, CLOSED = -(1 << 20) };

struct sup_thread_pool {
    pthread_mutex_t caller; /* allows one job at a time */
    pthread_mutex_t mutex;  /* protects `wake` */
    pthread_cond_t wake;
    pthread_t *threads;
    int32_t thread_count; /* including the calling thread */
    atomic_bool quit;
    /* The current job, published to the workers by incrementing `generation`. `gate` counts the workers that run the
     * job; CLOSED is added while there is no job, and a worker that increments it then leaves at once. The caller waits
     * only for workers that entered: one that sleeps or is not scheduled costs nothing. */
    sup_task_fn *fn;
    void *work;
    int32_t count, grain;
    atomic_uint generation;
    atomic_int next; /* next chunk to run */
    atomic_int gate;
};

typedef struct worker_start {
    sup_thread_pool *pool;
    int32_t index;
} worker_start;

static void run_chunks(sup_thread_pool *pool, int32_t worker)
{
    int32_t chunks = (pool->count - 1) / pool->grain + 1;
    for (;;) {
        int32_t chunk = atomic_fetch_add_explicit(&pool->next, 1, memory_order_relaxed);
        if (chunk >= chunks) return;
        int32_t begin = chunk * pool->grain;
        pool->fn(pool->work, begin, pool->count - begin < pool->grain ? pool->count : begin + pool->grain, worker);
    }
}

/* Waits for a generation other than `seen`: spins, yields, then sleeps. */
static unsigned wait_for_job(sup_thread_pool *pool, unsigned seen)
{
    for (int i = 0; i < SUP_SPIN_ITERATIONS; i++) {
        unsigned generation = atomic_load_explicit(&pool->generation, memory_order_acquire);
        if (generation != seen) return generation;
        if (i % 64 == 63) sched_yield();
    }
    pthread_mutex_lock(&pool->mutex);
    while (atomic_load(&pool->generation) == seen)
        pthread_cond_wait(&pool->wake, &pool->mutex);
    unsigned generation = atomic_load(&pool->generation);
    pthread_mutex_unlock(&pool->mutex);
    return generation;
}

static void *worker_main(void *argument)
{
    worker_start start = *(worker_start *)argument;
    free(argument);
    unsigned seen = 0;
    for (;;) {
        seen = wait_for_job(start.pool, seen);
        if (atomic_load(&start.pool->quit)) return NULL;
        if (atomic_fetch_add_explicit(&start.pool->gate, 1, memory_order_acquire) >= 0)
            run_chunks(start.pool, start.index);
        atomic_fetch_sub_explicit(&start.pool->gate, 1, memory_order_release);
    }
}

static void publish(sup_thread_pool *pool)
{
    pthread_mutex_lock(&pool->mutex);
    atomic_fetch_add_explicit(&pool->generation, 1, memory_order_release);
    pthread_cond_broadcast(&pool->wake);
    pthread_mutex_unlock(&pool->mutex);
}

static void pool_run(void *user, int32_t count, int32_t grain, sup_task_fn *fn, void *work)
{
    sup_thread_pool *pool = user;
    if (count <= 0) return;
    pthread_mutex_lock(&pool->caller);
    pool->fn = fn;
    pool->work = work;
    pool->count = count;
    pool->grain = grain > 0 ? grain : 1;
    atomic_store_explicit(&pool->next, 0, memory_order_relaxed);
    atomic_fetch_sub_explicit(&pool->gate, CLOSED, memory_order_release); /* open */
    publish(pool);
    run_chunks(pool, 0);
    atomic_fetch_add_explicit(&pool->gate, CLOSED, memory_order_acq_rel);
    for (int i = 1; atomic_load_explicit(&pool->gate, memory_order_acquire) != CLOSED; i++)
        if (i % 64 == 0) sched_yield();
    pthread_mutex_unlock(&pool->caller);
}

static int32_t processor_count(void)
{
    long online = sysconf(_SC_NPROCESSORS_ONLN);
    return online < 1 ? 1 : online > SUP_MAX_THREADS ? SUP_MAX_THREADS : (int32_t)online;
}

sup_result sup_thread_pool_create(int32_t thread_count, sup_thread_pool **pool_out, sup_error *error)
{
    if (thread_count < 0 || thread_count > SUP_MAX_THREADS)
        return sup_fail(error, SUP_ERROR_ARGUMENT, "threads.count", "",
                        "The number of threads must be from 0 (one per processor) to %d, not %d.", SUP_MAX_THREADS,
                        thread_count);
    if (thread_count == 0) thread_count = processor_count();
    sup_thread_pool *pool = calloc(1, sizeof *pool);
    if (pool == NULL) return sup_fail_memory(error, "a thread pool");
    pool->threads = calloc((size_t)thread_count, sizeof *pool->threads);
    if (pool->threads == NULL) {
        free(pool);
        return sup_fail_memory(error, "a thread pool");
    }
    pthread_mutex_init(&pool->caller, NULL);
    pthread_mutex_init(&pool->mutex, NULL);
    pthread_cond_init(&pool->wake, NULL);
    pool->thread_count = 1;
    atomic_init(&pool->gate, CLOSED);
    for (int32_t i = 1; i < thread_count; i++) {
        worker_start *start = malloc(sizeof *start);
        if (start == NULL) break; /* fewer threads do the same work */
        start->pool = pool;
        start->index = i;
        if (pthread_create(&pool->threads[i], NULL, worker_main, start) != 0) {
            free(start);
            break;
        }
        pool->thread_count++;
    }
    *pool_out = pool;
    return SUP_OK;
}

sup_tasks sup_thread_pool_tasks(sup_thread_pool *pool)
{
    sup_tasks tasks = {pool_run, pool->thread_count, pool};
    return tasks;
}

void sup_thread_pool_destroy(sup_thread_pool *pool)
{
    if (pool == NULL) return;
    atomic_store(&pool->quit, true);
    publish(pool);
    for (int32_t i = 1; i < pool->thread_count; i++)
        pthread_join(pool->threads[i], NULL);
    pthread_cond_destroy(&pool->wake);
    pthread_mutex_destroy(&pool->mutex);
    pthread_mutex_destroy(&pool->caller);
    free(pool->threads);
    free(pool);
}

#endif

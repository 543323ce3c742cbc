/* Every element is visited once, in chunks that do not depend on the number of threads. */
#include "base/base.h"
#include "test.h"

#include <stdatomic.h>

enum { ELEMENTS = 10007, GRAIN = 64 };
typedef struct visits {
    atomic_int element[ELEMENTS];
    atomic_int piece_end[ELEMENTS];
} visits;
static visits visited;

static void visit(void *work, int32_t begin, int32_t end, int32_t worker)
{
    visits *v = work;
    CHECK(worker >= 0 && worker < 8);
    for (int32_t i = begin; i < end; i++)
        atomic_fetch_add(&v->element[i], 1);
    atomic_store(&v->piece_end[begin], end);
}

static void check_visits(const sup_context *context)
{
    memset(&visited, 0, sizeof visited);
    sup_parallel(context, ELEMENTS, GRAIN, visit, &visited);
    for (int32_t i = 0; i < ELEMENTS; i++) {
        CHECK_EQ(visited.element[i], 1);
        int32_t expected = i % GRAIN != 0 ? 0 : i + GRAIN < ELEMENTS ? i + GRAIN : ELEMENTS;
        CHECK_EQ(visited.piece_end[i], expected);
    }
}

TEST(parallel_visits_every_element_once)
{
    sup_context context = sup_context_resolve(NULL);
    check_visits(&context);
    for (int32_t threads = 1; threads <= 8; threads *= 2) {
        sup_thread_pool *pool = NULL;
        sup_error error;
        CHECK_OK(sup_thread_pool_create(threads, &pool, &error), error);
        context.tasks = sup_thread_pool_tasks(pool);
        for (int round = 0; round < 200; round++)
            check_visits(&context);
        sup_thread_pool_destroy(pool);
    }
}

TEST(thread_pool_rejects_invalid_counts)
{
    sup_thread_pool *pool = NULL;
    sup_error error;
    CHECK_EQ(sup_thread_pool_create(-1, &pool, &error), SUP_ERROR_ARGUMENT);
    CHECK_EQ(sup_thread_pool_create(100000, &pool, &error), SUP_ERROR_ARGUMENT);
    CHECK(pool == NULL);
}

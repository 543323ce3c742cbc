/* emulator.cpp - threads of a GPU as fibres. See cuda_runtime.h.
 *
 * A block runs on one worker, a CPU thread, which owns the block's static shared memory. The worker runs every
 * fibre until it waits or ends: the lanes of a warp as long as one of them is ready, then the next warp. */
#include "emulator.h"

#include <emmintrin.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <numeric>
#include <thread>
#include <vector>

#include <cuda_runtime.h>

#if defined(__SANITIZE_ADDRESS__)
#define WITH_ADDRESS_SANITIZER 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define WITH_ADDRESS_SANITIZER 1
#endif
#endif
#if defined(WITH_ADDRESS_SANITIZER)
#include <sanitizer/common_interface_defs.h>
#endif

namespace emulated
{
void fail(const char *what)
{
    fprintf(stderr, "emulator: %s\n", what);
    abort();
}
} // namespace emulated

namespace
{
using emulated::fail;

enum { WARP = 32, PATIENCE = 4 };
#if defined(WITH_ADDRESS_SANITIZER)
const size_t STACK = 512 * 1024; /* stack size of a fibre in bytes; untouched pages use no memory */
#else
const size_t STACK = 128 * 1024;
#endif

std::atomic<unsigned> the_order{0};

/* The i-th of `count` items in the current order. */
unsigned turn_of(unsigned i, unsigned count, unsigned order, unsigned salt)
{
    if (order == 0) return i;
    if (order == 1) return count - 1 - i;
    unsigned step = (order * 2654435761u ^ salt * 40503u) % count;
    while (std::gcd(step, count) != 1)
        step++;
    return (unsigned)(((unsigned long)i * step + salt * 7 + order) % count);
}

struct copy {
    void *to;
    const void *from;
};

struct fibre {
    void *stack_pointer;
    char *stack;
    uint3 thread;
    emulated::together collective; /* operation of its warp when all lanes have arrived */
    unsigned mask;
    void *operands;
    bool waited; /* for the previous kernel */
    std::vector<copy> copies;
    std::vector<size_t> groups; /* end of each in `copies` */
    void *fake_stack;
};

/* State of a lane: ready, polling a message of another block, at the barrier of the block, at a warp operation, or
 * finished. */
struct warp {
    unsigned ready, paused, at_block, met, ended;
};
} // namespace

/* Saves the callee-saved registers, and resumes where `to` was saved. */
extern "C" void emulated_switch(void **from, void *to);
asm(".text\n"
    ".globl emulated_switch\n"
    ".type emulated_switch, @function\n"
    "emulated_switch:\n"
    "    pushq %rbp\n    pushq %rbx\n    pushq %r12\n    pushq %r13\n    pushq %r14\n    pushq %r15\n"
    "    movq %rsp, (%rdi)\n"
    "    movq %rsi, %rsp\n"
    "    popq %r15\n    popq %r14\n    popq %r13\n    popq %r12\n    popq %rbx\n    popq %rbp\n"
    "    ret\n"
    ".size emulated_switch, . - emulated_switch\n");

namespace
{
struct launch_job {
    dim3 grid, block;
    size_t shared;
    std::function<void()> body;
    std::atomic<unsigned> next{0}; /* block */
    unsigned blocks, order;
};

extern "C" void fibre_begins();

class worker
{
  public:
    worker()
    {
        pthread_attr_t attributes;
        void *bottom = NULL;
        pthread_getattr_np(pthread_self(), &attributes);
        pthread_attr_getstack(&attributes, &bottom, &own_size);
        pthread_attr_destroy(&attributes);
        own_stack = bottom;
    }
    worker(const worker &) = delete;
    worker &operator=(const worker &) = delete;
    ~worker()
    {
        for (fibre &f : fibres)
            munmap(f.stack, STACK);
    }

    /* Runs blocks of a launch until none is left. */
    void work(launch_job &job)
    {
        for (unsigned i; (i = job.next.fetch_add(1)) < job.blocks;)
            run_block(job, turn_of(i, job.blocks, job.order, 0));
    }

    /* --- Called by the running fibre --- */

    /* Polls again after others have run. */
    void pause()
    {
        warp &w = warps[warp_of(*current)];
        w.ready &= ~bit_of(*current);
        w.paused |= bit_of(*current);
        leave(false);
    }

    int block_barrier(int vote)
    {
        warp &w = warps[warp_of(*current)];
        w.ready &= ~bit_of(*current);
        w.at_block |= bit_of(*current);
        went = true;
        any = any || vote != 0;
        if (++waiting == alive)
            release_block();
        else
            leave(false);
        return voted;
    }

    void warp_collective(unsigned mask, emulated::together all, void *operands)
    {
        fibre &f = *current;
        warp &w = warps[warp_of(f)];
        if ((mask & bit_of(f)) == 0) fail("a lane calls a warp operation with a mask that does not contain it");
        f.collective = all, f.mask = mask, f.operands = operands;
        w.ready &= ~bit_of(f);
        w.met |= bit_of(f);
        went = true;
        if (!release_warp(warp_of(f), mask)) leave(false);
    }

    void body()
    {
        arrived(NULL);
        the_job->body();
        if (!current->waited) fail("a thread ended without having waited for the kernel before");
        if (!current->copies.empty()) fail("a thread ended before its copies were waited for");
        went = true;
        if (waiting == --alive && waiting > 0) release_block();
        end_lane(*current);
        leave(true);
        fail("a fibre came back after its end");
    }

    fibre *current = NULL;
    char *shared = NULL;

  private:
    std::vector<fibre> fibres;
    std::unique_ptr<char[]> shared_owner;
    launch_job *the_job = NULL;
    void *scheduler = NULL, *own_fake = NULL;
    const void *own_stack = NULL;
    size_t own_size = 0;
    unsigned count = 0, alive = 0, waiting = 0, order = 0;
    bool any = false, voted = false;
    bool went = false; /* some fibre did more than poll */
    warp warps[WARP];

    static unsigned warp_of(const fibre &f)
    {
        return f.thread.x / WARP;
    }

    static unsigned bit_of(const fibre &f)
    {
        return 1u << f.thread.x % WARP;
    }

    /* A sanitizer has to know the current stack. */
    static void departs(void **fake, const void *stack, size_t size)
    {
#if defined(WITH_ADDRESS_SANITIZER)
        __sanitizer_start_switch_fiber(fake, stack, size);
#else
        (void)fake, (void)stack, (void)size;
#endif
    }

    static void arrived(void *fake)
    {
#if defined(WITH_ADDRESS_SANITIZER)
        __sanitizer_finish_switch_fiber(fake, NULL, NULL);
#else
        (void)fake;
#endif
    }

    /* The next ready lane of a warp after lane `last`, or NULL. */
    fibre *next_lane(unsigned w, unsigned last)
    {
        const unsigned ready = warps[w].ready;
        if (ready == 0) return NULL;
        unsigned lane = last;
        if (order == 0) {
            const unsigned later = ready & ~(~0u >> (31 - last));
            lane = (unsigned)__builtin_ctz(later != 0 ? later : ready);
        } else {
            const unsigned step = order == 1 ? 31 : 2 * (order % 16) + 1; /* odd: reaches all 32 */
            do
                lane = (lane + step) % WARP;
            while ((ready >> lane & 1) == 0);
        }
        return &fibres[w * WARP + lane];
    }

    /* Resumes another lane of the warp, or the scheduler. */
    void leave(bool for_good)
    {
        fibre &f = *current;
        fibre *next = next_lane(warp_of(f), f.thread.x % WARP);
        if (next != NULL) {
            departs(for_good ? NULL : &f.fake_stack, next->stack, STACK);
            current = next;
            threadIdx = next->thread;
            emulated_switch(&f.stack_pointer, next->stack_pointer);
        } else {
            departs(for_good ? NULL : &f.fake_stack, own_stack, own_size);
            emulated_switch(&f.stack_pointer, scheduler);
        }
        arrived(f.fake_stack);
    }

    void resume(fibre &f)
    {
        current = &f;
        threadIdx = f.thread;
        departs(&own_fake, f.stack, STACK);
        emulated_switch(&scheduler, f.stack_pointer);
        arrived(own_fake);
    }

    void release_block()
    {
        voted = any, any = false, waiting = 0;
        for (unsigned w = 0; w * WARP < count; w++) {
            warps[w].ready |= warps[w].at_block;
            warps[w].at_block = 0;
        }
    }

    /* Performs the operation of a mask once all of its unfinished lanes have arrived. */
    bool release_warp(unsigned number, unsigned mask)
    {
        warp &w = warps[number];
        const fibre *lanes = &fibres[number * WARP];
        const unsigned wanted = mask & ~w.ended;
        if (wanted == 0 || (w.met & wanted) != wanted) return false;
        void *operands[WARP] = {};
        const emulated::together all = lanes[__builtin_ctz(wanted)].collective;
        for (unsigned rest = wanted; rest != 0; rest &= rest - 1) {
            const int k = __builtin_ctz(rest);
            if (lanes[k].mask != mask) return false; /* it waits for others */
            if (lanes[k].collective != all) fail("lanes of a warp wait in different calls");
            operands[k] = lanes[k].operands;
        }
        all(operands, mask);
        w.met &= ~wanted;
        w.ready |= wanted;
        return true;
    }

    /* Others may have waited only for a lane that has finished. */
    void end_lane(const fibre &f)
    {
        warp &w = warps[warp_of(f)];
        w.ready &= ~bit_of(f);
        w.ended |= bit_of(f);
        for (unsigned rest = w.met; rest != 0; rest &= rest - 1)
            release_warp(warp_of(f), fibres[warp_of(f) * WARP + (unsigned)__builtin_ctz(rest)].mask);
    }

    void prepare(const launch_job &job, unsigned index)
    {
        while (fibres.size() < (count + WARP - 1) / WARP * WARP) {
            void *stack = mmap(NULL, STACK, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
            if (stack == MAP_FAILED) fail("no memory for a stack");
            fibres.emplace_back();
            fibres.back().stack = (char *)stack;
        }
        gridDim = job.grid, blockDim = job.block;
        blockIdx = {index % job.grid.x, index / job.grid.x % job.grid.y, index / job.grid.x / job.grid.y};
        for (unsigned w = 0; w < WARP; w++) { /* lanes beyond the last count as finished */
            const unsigned there = count >= (w + 1) * WARP ? ~0u : count <= w * WARP ? 0u : ~(~0u << count % WARP);
            warps[w] = {there, 0, 0, 0, ~there};
        }
        for (unsigned i = 0; i < count; i++) {
            fibre &f = fibres[i];
            f.thread = {i, 0, 0};
            f.fake_stack = NULL;
            f.waited = false;
            void **top =
                (void **)(f.stack + STACK - i % 61 * 192); /* otherwise all stacks would share a few cache lines */
            *--top = NULL;                                 /* return address of the entry */
            *--top = (void *)fibre_begins;
            for (int k = 0; k < 6; k++)
                *--top = NULL;
            f.stack_pointer = top;
        }
    }

    /* Runs every warp as far as possible. Returns whether a lane still polls. */
    bool sweep()
    {
        const unsigned all = (count + WARP - 1) / WARP;
        for (unsigned w = 0; w < all; w++) {
            warps[w].ready |= warps[w].paused;
            warps[w].paused = 0;
        }
        unsigned paused = 0;
        for (unsigned i = 0; i < all; i++) {
            const unsigned w = turn_of(i, all, order, 1);
            for (fibre *f; (f = next_lane(w, WARP - 1)) != NULL;)
                resume(*f);
        }
        for (unsigned w = 0; w < all; w++)
            paused |= warps[w].paused;
        return paused != 0;
    }

    void run_block(launch_job &job, unsigned index)
    {
        the_job = &job;
        order = job.order;
        count = alive = job.block.x;
        waiting = 0, any = voted = false;
        /* Exact size, so that a sanitizer detects overruns; NaN, so that uninitialised reads show. */
        shared_owner.reset(new char[job.shared + 16]);
        shared = shared_owner.get();
        shared += (16 - (uintptr_t)shared % 16) % 16;
        memset(shared, 0xff, job.shared);
        prepare(job, index);
        for (unsigned idle = 0; alive > 0;) {
            went = false;
            const bool looks = sweep();
            idle = went ? 0 : idle + 1;
            if (idle == 0 || alive == 0) continue;
            if (!looks) fail("threads of a block wait for others that never come");
            if (idle < PATIENCE) /* another block has to run first */
                sched_yield();
            else
                std::this_thread::sleep_for(std::chrono::microseconds(20));
        }
    }
};

thread_local worker *mine = NULL;

extern "C" void fibre_begins()
{
    mine->body();
}

/* Worker threads that persist between launches. */
class crew
{
  public:
    ~crew()
    {
        {
            std::lock_guard<std::mutex> hold(lock);
            quit = true;
        }
        begin.notify_all();
        for (std::thread &t : threads)
            t.join();
    }

    void run(launch_job &job, unsigned at_once)
    {
        std::lock_guard<std::mutex> one_launch(launches);
        std::unique_lock<std::mutex> hold(lock);
        while (threads.size() < at_once)
            threads.emplace_back([this, number = (unsigned)threads.size(), since = round] { live(number, since); });
        current = &job, wanted = at_once, busy = at_once, round++;
        begin.notify_all();
        end.wait(hold, [this] { return busy == 0; });
    }

  private:
    std::mutex launches, lock;
    std::condition_variable begin, end;
    std::vector<std::thread> threads;
    launch_job *current = NULL;
    unsigned wanted = 0, busy = 0;
    unsigned long round = 0;
    bool quit = false;

    void live(unsigned number, unsigned long since)
    {
        worker self;
        mine = &self;
        std::unique_lock<std::mutex> hold(lock);
        for (;;) {
            begin.wait(hold, [&] { return quit || round != since; });
            if (quit) return;
            since = round;
            if (number >= wanted) continue;
            launch_job *job = current;
            hold.unlock();
            self.work(*job);
            hold.lock();
            if (--busy == 0) end.notify_all();
        }
    }
};

crew &the_crew()
{
    static crew all;
    return all;
}
} // namespace

/* --- Called by kernels --- */

thread_local uint3 threadIdx, blockIdx;
thread_local dim3 blockDim, gridDim;

namespace emulated
{
void *shared_memory()
{
    return mine->shared;
}

void wait_for_kernel()
{
    mine->current->waited = true;
}

void begin_copy(void *to, const void *from)
{
    if ((uintptr_t)to % 16 != 0 || (uintptr_t)from % 16 != 0) fail("a copy of 16 bytes that are not aligned");
    mine->current->copies.push_back({to, from});
}

void end_group()
{
    fibre &f = *mine->current;
    f.groups.push_back(f.copies.size());
}

void wait_groups(int but)
{
    fibre &f = *mine->current;
    if ((int)f.groups.size() <= but) return;
    const size_t done = f.groups.size() - (size_t)but, copied = f.groups[done - 1];
    for (size_t i = 0; i < copied; i++)
        memcpy(f.copies[i].to, f.copies[i].from, 16);
    f.copies.erase(f.copies.begin(), f.copies.begin() + (ptrdiff_t)copied);
    f.groups.erase(f.groups.begin(), f.groups.begin() + (ptrdiff_t)done);
    for (size_t &end : f.groups)
        end -= copied;
}

/* Processors with AVX store and load 16 aligned bytes atomically. */
void store_message(void *to, unsigned long long low, unsigned long long high)
{
    *(volatile __m128i *)to = _mm_set_epi64x((long long)high, (long long)low);
}

void load_message_words(const void *from, unsigned long long &low, unsigned long long &high)
{
    mine->pause();
    const __m128i all = *(const volatile __m128i *)from;
    low = (unsigned long long)_mm_cvtsi128_si64(all);
    high = (unsigned long long)_mm_cvtsi128_si64(_mm_unpackhi_epi64(all, all));
}

int block_barrier(int vote)
{
    return mine->block_barrier(vote);
}

void warp_collective(unsigned mask, together all, void *operands)
{
    mine->warp_collective(mask, all, operands);
}

void swap_lanes(void *const operands[32], unsigned)
{
    for (int i = 0; i < WARP; i++) {
        exchange *e = (exchange *)operands[i];
        if (e == NULL) continue;
        const exchange *from = (const exchange *)operands[e->from];
        if (from == NULL) fail("a lane takes a number of one that is not there");
        e->got = from->mine;
    }
}

void ballot(void *const operands[32], unsigned)
{
    unsigned all = 0;
    for (int i = 0; i < WARP; i++)
        if (operands[i] != NULL && ((vote *)operands[i])->mine != 0) all |= 1u << i;
    for (int i = 0; i < WARP; i++)
        if (operands[i] != NULL) ((vote *)operands[i])->got = all;
}

void least(void *const operands[32], unsigned)
{
    unsigned all = UINT_MAX;
    for (int i = 0; i < WARP; i++)
        if (operands[i] != NULL) all = std::min(all, ((vote *)operands[i])->mine);
    for (int i = 0; i < WARP; i++)
        if (operands[i] != NULL) ((vote *)operands[i])->got = all;
}

void largest(void *const operands[32], unsigned)
{
    unsigned all = 0;
    for (int i = 0; i < WARP; i++)
        if (operands[i] != NULL) all = std::max(all, ((vote *)operands[i])->mine);
    for (int i = 0; i < WARP; i++)
        if (operands[i] != NULL) ((vote *)operands[i])->got = all;
}

/* Lanes with equal values. */
void match(void *const operands[32], unsigned)
{
    for (int i = 0; i < WARP; i++)
        for (int k = 0; operands[i] != NULL && k < WARP; k++)
            if (operands[k] != NULL && ((vote *)operands[k])->mine == ((vote *)operands[i])->mine)
                ((vote *)operands[i])->got |= 1u << k;
}

/* The bits of a number that the tensor cores use. */
static double short_number(unsigned bits)
{
    return (double)__uint_as_float(bits & 0xffffe000u);
}

/* Layouts as in src/cuda/machine.cuh. */
void multiply_tiles(void *const operands[32], unsigned)
{
    double a[16][8], b[8][8], sum[16][8];
    for (int lane = 0; lane < WARP; lane++) {
        const tile_operands *t = (const tile_operands *)operands[lane];
        if (t == NULL) fail("a warp that is not whole multiplies matrices");
        const int group = lane / 4, at = lane % 4;
        for (int i = 0; i < 4; i++) {
            a[group + i % 2 * 8][at + i / 2 * 4] = short_number(t->a[i]);
            sum[group + i / 2 * 8][2 * at + i % 2] = (double)t->sum[i];
        }
        for (int i = 0; i < 2; i++)
            b[at + i * 4][group] = short_number(t->b[i]);
    }
    for (int row = 0; row < 16; row++)
        for (int k = 0; k < 8; k++)
            for (int column = 0; column < 8; column++)
                sum[row][column] += a[row][k] * b[k][column];
    for (int lane = 0; lane < WARP; lane++)
        for (int i = 0; i < 4; i++)
            ((const tile_operands *)operands[lane])->sum[i] = (float)sum[lane / 4 + i / 2 * 8][2 * (lane % 4) + i % 2];
}
} // namespace emulated

namespace emulated
{
void run(dim3 grid, dim3 block, size_t shared, bool cooperative, const std::function<void()> &body)
{
    const unsigned blocks = grid.x * grid.y * grid.z;
    launch_job job;
    job.grid = grid, job.block = block, job.shared = shared, job.body = body;
    job.blocks = blocks, job.order = the_order;
    the_crew().run(job, cooperative ? blocks : std::min(blocks, std::max(1u, std::thread::hardware_concurrency())));
}
} // namespace emulated

extern "C" void emulated_order(unsigned order)
{
    the_order = order;
}

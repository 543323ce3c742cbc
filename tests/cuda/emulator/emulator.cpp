/* emulator.cpp - threads of a GPU as fibres. See cuda_runtime.h.
 *
 * A block belongs to one worker, a thread of the CPU, and static shared memory to that thread. The worker gives every fibre its turn until it
 * waits or ends: lanes of a warp as long as one of them can go on, then the next warp. */
#include "emulator.h"

#include <emmintrin.h>
#include <malloc.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <map>
#include <memory>
#include <mutex>
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

namespace
{
enum { WARP = 32, SHARED_LIMIT = 227 * 1024, SHARED_PLAIN = 48 * 1024 };
/* An H200 has 132; blocks that wait for each other are as many threads. */
enum { PROCESSORS = 32 };
const size_t MEMORY = (size_t)3 << 30; /* bytes */
#if defined(WITH_ADDRESS_SANITIZER)
const size_t STACK = 512 * 1024; /* bytes of a fibre; pages that are never touched cost nothing */
#else
const size_t STACK = 128 * 1024;
#endif

[[noreturn]] void fail(const char *what)
{
    fprintf(stderr, "emulator: %s\n", what);
    abort();
}

std::atomic<unsigned> the_order{0};
std::atomic<unsigned long> launch_count{0};
std::atomic<size_t> memory_used{0};

/* The i-th of `count` things to come to its turn. */
unsigned turn_of(unsigned i, unsigned count, unsigned order, unsigned salt)
{
    if (order == 0) return i;
    if (order == 1) return count - 1 - i;
    unsigned step = (order * 2654435761u ^ salt * 40503u) % count;
    while (std::__gcd(step, count) != 1)
        step++;
    return (unsigned)(((unsigned long)i * step + salt * 7 + order) % count);
}

struct copy {
    void *to;
    const void *from;
};

enum state { READY, PAUSED, AT_BLOCK, AT_WARP, ENDED };

struct fibre {
    void *stack_pointer;
    char *stack;
    uint3 thread;
    state now;
    emulated::together meets; /* what its warp does when all are there */
    unsigned mask;
    void *operands;
    std::vector<copy> copies;
    std::vector<size_t> groups; /* where each ends in `copies` */
    void *fake_stack;
};
} // namespace

/* Saves what a function must keep, and goes on where `to` was saved. */
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
    worker() = default;
    worker(const worker &) = delete;
    worker &operator=(const worker &) = delete;
    ~worker()
    {
        for (fibre &f : fibres)
            munmap(f.stack, STACK);
    }

    /* Blocks of a launch until none is left. */
    void work(launch_job &job)
    {
        for (unsigned i; (i = job.next.fetch_add(1)) < job.blocks;)
            run_block(job, turn_of(i, job.blocks, job.order, 0));
    }

    /* --- Called by the fibre whose turn it is --- */

    void leave(state why)
    {
        fibre &f = *current;
        f.now = why;
#if defined(WITH_ADDRESS_SANITIZER)
        __sanitizer_start_switch_fiber(why == ENDED ? NULL : &f.fake_stack, own_stack, own_size);
#endif
        emulated_switch(&f.stack_pointer, scheduler);
#if defined(WITH_ADDRESS_SANITIZER)
        __sanitizer_finish_switch_fiber(f.fake_stack, &own_stack, &own_size);
#endif
    }

    void body()
    {
#if defined(WITH_ADDRESS_SANITIZER)
        __sanitizer_finish_switch_fiber(NULL, &own_stack, &own_size);
#endif
        the_job->body();
        if (!current->copies.empty()) fail("a thread ended before its copies were waited for");
        alive--;
        if (waiting > 0 && waiting == alive) release_block();
        end_lane(*current);
        leave(ENDED);
        fail("a fibre came back after its end");
    }

    int meet_block(int vote)
    {
        any = any || vote != 0;
        current->now = AT_BLOCK;
        if (++waiting == alive)
            release_block();
        else
            leave(AT_BLOCK);
        return voted;
    }

    void meet_warp(unsigned mask, emulated::together all, void *operands)
    {
        fibre &f = *current;
        if ((mask >> f.thread.x % WARP & 1) == 0) fail("a lane meets others under a mask that leaves it out");
        f.meets = all, f.mask = mask, f.operands = operands;
        f.now = AT_WARP;
        met[warp_of(f)] |= 1u << f.thread.x % WARP;
        release_warp(warp_of(f), mask);
        if (f.now == AT_WARP) leave(AT_WARP);
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
    unsigned count = 0, alive = 0, waiting = 0;
    bool any = false, voted = false;
    unsigned met[WARP] = {}, ended[WARP] = {}; /* lanes of each warp */

    unsigned warp_of(const fibre &f) const
    {
        return f.thread.x / WARP;
    }

    void release_block()
    {
        voted = any, any = false, waiting = 0;
        for (unsigned i = 0; i < count; i++)
            if (fibres[i].now == AT_BLOCK) fibres[i].now = READY;
    }

    /* Those who met under a mask do what they came for, once all of its lanes that have not ended are there. */
    void release_warp(unsigned warp, unsigned mask)
    {
        const unsigned first = warp * WARP, wanted = mask & ~ended[warp];
        if (wanted == 0 || (met[warp] & wanted) != wanted) return;
        void *operands[WARP] = {};
        const emulated::together all = fibres[first + (unsigned)__builtin_ctz(wanted)].meets;
        for (unsigned rest = wanted; rest != 0; rest &= rest - 1) {
            const unsigned k = (unsigned)__builtin_ctz(rest);
            const fibre &f = fibres[first + k];
            if (f.mask != mask) return; /* it waits for others */
            if (f.meets != all) fail("lanes of a warp meet in different calls");
            operands[k] = f.operands;
        }
        all(operands, mask);
        met[warp] &= ~wanted;
        for (unsigned rest = wanted; rest != 0; rest &= rest - 1)
            fibres[first + (unsigned)__builtin_ctz(rest)].now = READY;
    }

    /* A lane has ended: others may have waited for it only. */
    void end_lane(const fibre &f)
    {
        const unsigned warp = warp_of(f);
        ended[warp] |= 1u << f.thread.x % WARP;
        for (unsigned rest = met[warp]; rest != 0; rest &= rest - 1)
            release_warp(warp, fibres[warp * WARP + (unsigned)__builtin_ctz(rest)].mask);
    }

    void prepare(const launch_job &job, unsigned index)
    {
        while (fibres.size() < count) {
            void *stack = mmap(NULL, STACK, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
            if (stack == MAP_FAILED) fail("no memory for a stack");
            fibres.emplace_back();
            fibres.back().stack = (char *)stack;
        }
        gridDim = job.grid, blockDim = job.block;
        blockIdx = {index % job.grid.x, index / job.grid.x % job.grid.y, index / job.grid.x / job.grid.y};
        for (unsigned w = 0; w < WARP; w++) /* lanes behind the last have ended */
            met[w] = 0, ended[w] = count >= (w + 1) * WARP ? 0u : count <= w * WARP ? ~0u : ~0u << count % WARP;
        for (unsigned i = 0; i < count; i++) {
            fibre &f = fibres[i];
            f.thread = {i, 0, 0};
            f.now = READY;
            f.fake_stack = NULL;
            void **top = (void **)(f.stack + STACK);
            *--top = NULL; /* where the entry would go back to */
            *--top = (void *)fibre_begins;
            for (int k = 0; k < 6; k++)
                *--top = NULL;
            f.stack_pointer = top;
        }
    }

    void resume(fibre &f)
    {
        current = &f;
        threadIdx = f.thread;
#if defined(WITH_ADDRESS_SANITIZER)
        __sanitizer_start_switch_fiber(&own_fake, f.stack, STACK);
#endif
        emulated_switch(&scheduler, f.stack_pointer);
#if defined(WITH_ADDRESS_SANITIZER)
        __sanitizer_finish_switch_fiber(own_fake, NULL, NULL);
#endif
    }

    /* Every warp as far as it comes. Whether one did more than look again. */
    bool sweep(unsigned order)
    {
        bool went = false;
        const unsigned warps = (count + WARP - 1) / WARP;
        for (unsigned i = 0; i < count; i++)
            if (fibres[i].now == PAUSED) fibres[i].now = READY;
        for (unsigned w = 0; w < warps; w++) {
            const unsigned first = turn_of(w, warps, order, 1) * WARP, lanes = std::min<unsigned>(WARP, count - first);
            for (bool again = true; again;) {
                again = false;
                for (unsigned k = 0; k < lanes; k++) {
                    fibre &f = fibres[first + turn_of(k, lanes, order, first)];
                    if (f.now != READY) continue;
                    resume(f);
                    again = true;
                    went = went || f.now != PAUSED;
                }
            }
        }
        return went;
    }

    void run_block(launch_job &job, unsigned index)
    {
        the_job = &job;
        count = alive = job.block.x;
        waiting = 0, any = voted = false;
        /* Its own size, so that a sanitizer sees its end; NaN, so that what nobody wrote shows. */
        shared_owner.reset(new char[job.shared + 16]);
        shared = shared_owner.get();
        shared += (16 - (uintptr_t)shared % 16) % 16;
        memset(shared, 0xff, job.shared);
        prepare(job, index);
        while (alive > 0) {
            if (sweep(job.order)) continue;
            if (alive > 0 && std::none_of(fibres.begin(), fibres.begin() + count, [](const fibre &f) { return f.now == PAUSED; }))
                fail("threads of a block wait for others that never come");
            sched_yield(); /* another block has to come first */
        }
    }
};

thread_local worker *mine = NULL;

extern "C" void fibre_begins()
{
    mine->body();
}

/* Threads that stay between launches. */
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

/* --- What kernels call --- */

thread_local uint3 threadIdx, blockIdx;
thread_local dim3 blockDim, gridDim;

namespace emulated
{
void *shared_memory()
{
    return mine->shared;
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

/* Processors with AVX write and read 16 aligned bytes in one go. */
void store_word(void *to, unsigned long long low, unsigned long long high)
{
    *(volatile __m128i *)to = _mm_set_epi64x((long long)high, (long long)low);
}

void load_word(const void *from, unsigned long long &low, unsigned long long &high)
{
    mine->leave(PAUSED);
    const __m128i all = *(const volatile __m128i *)from;
    low = (unsigned long long)_mm_cvtsi128_si64(all);
    high = (unsigned long long)_mm_cvtsi128_si64(_mm_unpackhi_epi64(all, all));
}

int meet_block(int vote)
{
    return mine->meet_block(vote);
}

void meet_warp(unsigned mask, together all, void *operands)
{
    mine->meet_warp(mask, all, operands);
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

/* Lanes with the same number. */
void match(void *const operands[32], unsigned)
{
    for (int i = 0; i < WARP; i++)
        for (int k = 0; operands[i] != NULL && k < WARP; k++)
            if (operands[k] != NULL && ((vote *)operands[k])->mine == ((vote *)operands[i])->mine)
                ((vote *)operands[i])->got |= 1u << k;
}

/* What the tensor cores take of a number. */
static double short_number(unsigned bits)
{
    return (double)__uint_as_float(bits & 0xffffe000u);
}

/* Layouts as src/cuda/machine.cuh says. */
void multiply_tiles(void *const operands[32], unsigned)
{
    double a[16][8], b[8][8];
    for (int lane = 0; lane < WARP; lane++) {
        const tile_operands *t = (const tile_operands *)operands[lane];
        if (t == NULL) fail("a warp that is not whole multiplies matrices");
        const int group = lane / 4, at = lane % 4;
        for (int i = 0; i < 4; i++)
            a[group + i % 2 * 8][at + i / 2 * 4] = short_number(t->a[i]);
        for (int i = 0; i < 2; i++)
            b[at + i * 4][group] = short_number(t->b[i]);
    }
    for (int lane = 0; lane < WARP; lane++) {
        const tile_operands *t = (const tile_operands *)operands[lane];
        for (int i = 0; i < 4; i++) {
            double sum = (double)t->sum[i];
            for (int k = 0; k < 8; k++)
                sum += a[lane / 4 + i / 2 * 8][k] * b[k][2 * (lane % 4) + i % 2];
            t->sum[i] = (float)sum;
        }
    }
}
} // namespace emulated

/* --- The runtime: everything is done when a call is back, unless it is recorded --- */

struct emulated_stream {
    emulated_graph *records;
};
struct emulated_graph {
    std::vector<std::function<void()>> calls;
};
struct emulated_event {
    std::chrono::steady_clock::time_point when;
};

namespace
{
std::mutex allowed_lock;
std::map<const void *, int> allowed; /* shared memory of kernels */

cudaError_t call(cudaStream_t stream, std::function<void()> what)
{
    if (stream != NULL && stream->records != NULL)
        stream->records->calls.push_back(std::move(what));
    else
        what();
    return cudaSuccess;
}
} // namespace

namespace emulated
{
cudaError_t allow_shared(const void *kernel, int bytes)
{
    std::lock_guard<std::mutex> hold(allowed_lock);
    if (bytes > SHARED_LIMIT) return cudaErrorInvalidValue;
    allowed[kernel] = bytes;
    return cudaSuccess;
}

static bool is_cooperative(const cudaLaunchConfig_t &config)
{
    for (unsigned i = 0; i < config.numAttrs; i++)
        if (config.attrs[i].id == cudaLaunchAttributeCooperative && config.attrs[i].val.cooperative != 0) return true;
    return false;
}

cudaError_t launch(const cudaLaunchConfig_t &config, const void *kernel, std::function<void()> body)
{
    {
        std::lock_guard<std::mutex> hold(allowed_lock);
        const auto found = allowed.find(kernel);
        if (config.dynamicSmemBytes > (size_t)(found == allowed.end() ? SHARED_PLAIN : found->second)) fail("more shared memory than allowed");
    }
    const dim3 grid = config.gridDim, block = config.blockDim;
    if (grid.x == 0 || grid.y == 0 || grid.z == 0 || block.x == 0 || block.x > 1024 || block.y * block.z != 1) fail("a launch of no shape");
    const unsigned blocks = grid.x * grid.y * grid.z;
    const bool cooperative = is_cooperative(config);
    if (cooperative && blocks > PROCESSORS) fail("more blocks wait for each other than fit the device");
    const size_t shared = config.dynamicSmemBytes;
    return call(config.stream, [=] {
        launch_job job;
        job.grid = grid, job.block = block, job.shared = shared, job.body = body;
        job.blocks = blocks, job.order = the_order;
        launch_count++;
        the_crew().run(job, cooperative ? blocks : std::min(blocks, std::max(1u, std::thread::hardware_concurrency())));
    });
}
} // namespace emulated

extern "C" void emulated_order(unsigned order)
{
    the_order = order;
}

extern "C" unsigned long emulated_launches(void)
{
    return launch_count;
}

cudaError_t cudaGetDeviceCount(int *count)
{
    *count = 1;
    return cudaSuccess;
}

cudaError_t cudaGetDeviceProperties(cudaDeviceProp *p, int)
{
    memset(p, 0, sizeof *p);
    snprintf(p->name, sizeof p->name, "a GPU emulated by the CPU");
    p->major = 9;
    p->cooperativeLaunch = 1;
    p->multiProcessorCount = PROCESSORS;
    p->sharedMemPerBlockOptin = SHARED_LIMIT;
    p->totalGlobalMem = MEMORY;
    return cudaSuccess;
}

cudaError_t cudaSetDevice(int index)
{
    return index == 0 ? cudaSuccess : cudaErrorInvalidDevice;
}

cudaError_t cudaGetLastError()
{
    return cudaSuccess;
}

const char *cudaGetErrorString(cudaError_t error)
{
    return error == cudaErrorMemoryAllocation ? "out of memory" : "invalid argument";
}

cudaError_t cudaMalloc(void **memory, size_t size)
{
    *memory = NULL;
    if (size > MEMORY - std::min<size_t>(MEMORY, memory_used)) return cudaErrorMemoryAllocation;
    *memory = aligned_alloc(256, (size + 255) / 256 * 256);
    if (*memory == NULL) return cudaErrorMemoryAllocation;
    memory_used += malloc_usable_size(*memory);
    return cudaSuccess;
}

cudaError_t cudaFree(void *memory)
{
    memory_used -= malloc_usable_size(memory);
    free(memory);
    return cudaSuccess;
}

cudaError_t cudaMallocHost(void **memory, size_t size)
{
    return cudaMalloc(memory, size);
}

cudaError_t cudaFreeHost(void *memory)
{
    return cudaFree(memory);
}

cudaError_t cudaMemset(void *memory, int value, size_t size)
{
    memset(memory, value, size);
    return cudaSuccess;
}

cudaError_t cudaMemsetAsync(void *memory, int value, size_t size, cudaStream_t stream)
{
    return call(stream, [=] { memset(memory, value, size); });
}

cudaError_t cudaMemcpy(void *to, const void *from, size_t size, int)
{
    memmove(to, from, size);
    return cudaSuccess;
}

cudaError_t cudaMemcpyAsync(void *to, const void *from, size_t size, int, cudaStream_t stream)
{
    return call(stream, [=] { memmove(to, from, size); });
}

cudaError_t cudaMemcpy2D(void *to, size_t to_stride, const void *from, size_t from_stride, size_t row, size_t rows, int)
{
    for (size_t i = 0; i < rows; i++)
        memmove((char *)to + i * to_stride, (const char *)from + i * from_stride, row);
    return cudaSuccess;
}

cudaError_t cudaStreamCreateWithFlags(cudaStream_t *stream, unsigned)
{
    *stream = new emulated_stream{NULL};
    return cudaSuccess;
}

cudaError_t cudaStreamDestroy(cudaStream_t stream)
{
    delete stream;
    return cudaSuccess;
}

cudaError_t cudaStreamSynchronize(cudaStream_t)
{
    return cudaSuccess;
}

cudaError_t cudaStreamBeginCapture(cudaStream_t stream, int)
{
    stream->records = new emulated_graph;
    return cudaSuccess;
}

cudaError_t cudaStreamEndCapture(cudaStream_t stream, cudaGraph_t *graph)
{
    *graph = stream->records;
    stream->records = NULL;
    return cudaSuccess;
}

cudaError_t cudaGraphInstantiate(cudaGraphExec_t *ready, cudaGraph_t graph, unsigned long long)
{
    *ready = new emulated_graph(*graph);
    return cudaSuccess;
}

cudaError_t cudaGraphLaunch(cudaGraphExec_t graph, cudaStream_t)
{
    for (const std::function<void()> &one : graph->calls)
        one();
    return cudaSuccess;
}

cudaError_t cudaGraphDestroy(cudaGraph_t graph)
{
    delete graph;
    return cudaSuccess;
}

cudaError_t cudaGraphExecDestroy(cudaGraphExec_t graph)
{
    delete graph;
    return cudaSuccess;
}

cudaError_t cudaEventCreate(cudaEvent_t *event)
{
    *event = new emulated_event;
    return cudaSuccess;
}

cudaError_t cudaEventDestroy(cudaEvent_t event)
{
    delete event;
    return cudaSuccess;
}

cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t)
{
    event->when = std::chrono::steady_clock::now();
    return cudaSuccess;
}

cudaError_t cudaEventSynchronize(cudaEvent_t)
{
    return cudaSuccess;
}

cudaError_t cudaEventElapsedTime(float *milliseconds, cudaEvent_t begin, cudaEvent_t end)
{
    *milliseconds = std::chrono::duration<float, std::milli>(end->when - begin->when).count();
    return cudaSuccess;
}

cudaError_t cudaDeviceSynchronize()
{
    return cudaSuccess;
}

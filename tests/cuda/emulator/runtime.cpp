/* runtime.cpp (emulator) - calls of the CUDA runtime: every call is synchronous, unless it is captured. */
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <map>
#include <mutex>
#include <vector>

#include <cuda_runtime.h>

enum { SHARED_LIMIT = 227 * 1024, SHARED_PLAIN = 48 * 1024 }; /* maximum of a block in bytes, and default */
enum { PROCESSORS = 32 };              /* an H200 has 132; blocks that wait for each other need as many threads */
const size_t MEMORY = (size_t)3 << 30; /* bytes */

static std::atomic<size_t> memory_used{0};

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
        if (config.dynamicSmemBytes > (size_t)(found == allowed.end() ? SHARED_PLAIN : found->second))
            fail("more shared memory than allowed");
    }
    const dim3 grid = config.gridDim, block = config.blockDim;
    if (grid.x == 0 || grid.y == 0 || grid.z == 0 || block.x == 0 || block.x > 1024 || block.y * block.z != 1)
        fail("a launch of no shape");
    const unsigned blocks = grid.x * grid.y * grid.z;
    const bool cooperative = is_cooperative(config);
    if (cooperative && blocks > PROCESSORS) fail("more blocks wait for each other than fit the device");
    const size_t shared = config.dynamicSmemBytes;
    return call(config.stream, [=] { emulated::run(grid, block, shared, cooperative, body); });
}
} // namespace emulated

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
    if (posix_memalign(memory, 256, size) != 0) return cudaErrorMemoryAllocation; /* exact size, for sanitizers */
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

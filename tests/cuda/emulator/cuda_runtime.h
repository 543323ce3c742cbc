/* cuda_runtime.h (emulator) - the subset of CUDA that src/cuda uses, on a CPU, for tests without a GPU.
 *
 * Every thread of a block is a fibre of one CPU thread (emulator.cpp); blocks that wait for each other are CPU
 * threads. Fibres switch at barriers, votes and shuffles. Thousands of times slower than a GPU, but it detects what
 * a GPU does not: threads that wait for a barrier that others never reach, lanes of a warp that wait at different
 * calls, results that depend on the order of threads (emulated_order), and under a sanitizer every access beyond an
 * array. Rounding is that of the CPU, not the GPU's bits. */
#ifndef SUP_EMULATED_CUDA_H
#define SUP_EMULATED_CUDA_H

#include <limits.h>
#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <functional>

#define __device__
#define __host__
#define __global__ static
#define __constant__ static
#define __shared__ static thread_local
#define __forceinline__ inline
#define __noinline__ __attribute__((noinline))
#define __grid_constant__
#define __align__(bytes) __attribute__((aligned(bytes)))
#define __launch_bounds__(...)

/* --- Small vectors --- */

struct alignas(8) float2 {
    float x, y;
};
struct float3 {
    float x, y, z;
};
struct alignas(16) float4 {
    float x, y, z, w;
};
struct alignas(8) int2 {
    int x, y;
};
struct int3 {
    int x, y, z;
};
struct alignas(16) int4 {
    int x, y, z, w;
};
struct alignas(8) uint2 {
    unsigned x, y;
};
struct uint3 {
    unsigned x, y, z;
};
struct alignas(16) uint4 {
    unsigned x, y, z, w;
};
struct alignas(4) uchar4 {
    unsigned char x, y, z, w;
};
struct alignas(8) ushort4 {
    unsigned short x, y, z, w;
};
struct alignas(16) double2 {
    double x, y;
};

static inline float2 make_float2(float x, float y)
{
    return {x, y};
}

static inline float3 make_float3(float x, float y, float z)
{
    return {x, y, z};
}

static inline float4 make_float4(float x, float y, float z, float w)
{
    return {x, y, z, w};
}

static inline int2 make_int2(int x, int y)
{
    return {x, y};
}

static inline int4 make_int4(int x, int y, int z, int w)
{
    return {x, y, z, w};
}

static inline uint2 make_uint2(unsigned x, unsigned y)
{
    return {x, y};
}

static inline uint4 make_uint4(unsigned x, unsigned y, unsigned z, unsigned w)
{
    return {x, y, z, w};
}

struct dim3 {
    unsigned x, y, z;
    dim3(unsigned x_ = 1, unsigned y_ = 1, unsigned z_ = 1) : x(x_), y(y_), z(z_)
    {
    }
};

/* --- Thread indices and synchronisation --- */

extern thread_local uint3 threadIdx, blockIdx;
extern thread_local dim3 blockDim, gridDim;

namespace emulated
{
void *shared_memory();
void wait_for_kernel();                      /* no other kernel runs, but a thread must not end without this call */
void begin_copy(void *to, const void *from); /* of 16 bytes */
void end_group();
void wait_groups(int but); /* all but the last */
void store_message(void *to, unsigned long long low, unsigned long long high);
/* Other threads run first. */
void load_message_words(const void *from, unsigned long long &low, unsigned long long &high);

int block_barrier(int vote); /* the barrier of a block: whether any thread voted */

/* Waits for the unfinished lanes of `mask`; the last one runs `all` on the operands of all lanes, NULL for missing
 * ones. */
typedef void (*together)(void *const operands[32], unsigned mask);
void warp_collective(unsigned mask, together all, void *operands);

/* Value of each lane, source lane, and result. */
struct exchange {
    uint64_t mine, got;
    int from;
};
void swap_lanes(void *const operands[32], unsigned mask);

struct tile_operands {
    unsigned a[4], b[2];
    float *sum;
};
void multiply_tiles(void *const operands[32], unsigned mask);

struct vote {
    unsigned mine, got;
};
void ballot(void *const operands[32], unsigned mask);
void least(void *const operands[32], unsigned mask);
void largest(void *const operands[32], unsigned mask);
void match(void *const operands[32], unsigned mask);

static inline int lane()
{
    return (int)(threadIdx.x % 32);
}

template <typename V> static inline V take(unsigned mask, V value, int from)
{
    static_assert(sizeof(V) == 4 || sizeof(V) == 8, "a number");
    exchange e = {0, 0, from >= 0 && from < 32 ? from : lane()};
    memcpy(&e.mine, &value, sizeof value);
    warp_collective(mask, swap_lanes, &e);
    memcpy(&value, &e.got, sizeof value);
    return value;
}

static inline unsigned warp_vote(unsigned mask, together all, unsigned value)
{
    vote v = {value, 0};
    warp_collective(mask, all, &v);
    return v.got;
}
} // namespace emulated

static inline void __syncthreads()
{
    emulated::block_barrier(0);
}

static inline int __syncthreads_or(int vote)
{
    return emulated::block_barrier(vote);
}

static inline void __syncwarp(unsigned mask = 0xffffffffu)
{
    emulated::warp_vote(mask, emulated::ballot, 0u);
}

static inline unsigned __ballot_sync(unsigned mask, int vote)
{
    return emulated::warp_vote(mask, emulated::ballot, vote != 0);
}

static inline int __any_sync(unsigned mask, int vote)
{
    return __ballot_sync(mask, vote) != 0;
}

static inline int __all_sync(unsigned mask, int vote)
{
    return __ballot_sync(mask, !vote) == 0;
}

static inline unsigned __match_any_sync(unsigned mask, int value)
{
    return emulated::warp_vote(mask, emulated::match, (unsigned)value);
}

static inline unsigned __reduce_min_sync(unsigned mask, unsigned value)
{
    return emulated::warp_vote(mask, emulated::least, value);
}

static inline unsigned __reduce_max_sync(unsigned mask, unsigned value)
{
    return emulated::warp_vote(mask, emulated::largest, value);
}

/* Signed numbers: the same order, shifted by half of the range. */
static inline int __reduce_min_sync(unsigned mask, int value)
{
    return (int)(__reduce_min_sync(mask, (unsigned)value ^ 0x80000000u) ^ 0x80000000u);
}

static inline int __reduce_max_sync(unsigned mask, int value)
{
    return (int)(__reduce_max_sync(mask, (unsigned)value ^ 0x80000000u) ^ 0x80000000u);
}

template <typename V> static inline V __shfl_sync(unsigned mask, V value, int from)
{
    return emulated::take(mask, value, from & 31);
}

template <typename V> static inline V __shfl_xor_sync(unsigned mask, V value, int bits)
{
    return emulated::take(mask, value, emulated::lane() ^ bits);
}

template <typename V> static inline V __shfl_down_sync(unsigned mask, V value, int by)
{
    return emulated::take(mask, value, emulated::lane() + by);
}

template <typename V> static inline V __shfl_up_sync(unsigned mask, V value, int by)
{
    return emulated::take(mask, value, emulated::lane() - by);
}

/* --- Arithmetic --- */

template <typename To, typename From> static inline To emulated_bits(From from)
{
    static_assert(sizeof(To) == sizeof(From), "the same size");
    To to;
    memcpy(&to, &from, sizeof to);
    return to;
}

static inline unsigned __float_as_uint(float x)
{
    return emulated_bits<unsigned>(x);
}

static inline int __float_as_int(float x)
{
    return emulated_bits<int>(x);
}

static inline float __uint_as_float(unsigned x)
{
    return emulated_bits<float>(x);
}

static inline float __int_as_float(int x)
{
    return emulated_bits<float>(x);
}

static inline long long __double_as_longlong(double x)
{
    return emulated_bits<long long>(x);
}

static inline double __longlong_as_double(long long x)
{
    return emulated_bits<double>(x);
}

static inline int __popc(unsigned x)
{
    return __builtin_popcount(x);
}

static inline int __ffs(int x)
{
    return __builtin_ffs(x);
}

static inline int __ffsll(long long x)
{
    return __builtin_ffsll(x);
}

static inline int __clz(int x)
{
    return x == 0 ? 32 : __builtin_clz((unsigned)x);
}

static inline float __fdividef(float a, float b)
{
    return a / b;
}

static inline double rsqrt(double x)
{
    return 1.0 / sqrt(x);
}

static inline float rsqrtf(float x)
{
    return 1.0f / sqrtf(x);
}

static inline int min(int a, int b)
{
    return b < a ? b : a;
}

static inline int max(int a, int b)
{
    return a < b ? b : a;
}

static inline unsigned min(unsigned a, unsigned b)
{
    return b < a ? b : a;
}

static inline unsigned max(unsigned a, unsigned b)
{
    return a < b ? b : a;
}

template <typename V> static inline V atomicAdd(V *to, V by)
{
    return __atomic_fetch_add(to, by, __ATOMIC_RELAXED);
}

static inline int atomicOr(int *to, int bits)
{
    return __atomic_fetch_or(to, bits, __ATOMIC_RELAXED);
}

static inline unsigned atomicOr(unsigned *to, unsigned bits)
{
    return __atomic_fetch_or(to, bits, __ATOMIC_RELAXED);
}

static inline int atomicAnd(int *to, int bits)
{
    return __atomic_fetch_and(to, bits, __ATOMIC_RELAXED);
}

static inline unsigned atomicAnd(unsigned *to, unsigned bits)
{
    return __atomic_fetch_and(to, bits, __ATOMIC_RELAXED);
}

static inline int atomicCAS(int *to, int was, int other)
{
    __atomic_compare_exchange_n(to, &was, other, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED);
    return was;
}

template <typename V> static inline V atomicMax(V *to, V other)
{
    V was = __atomic_load_n(to, __ATOMIC_RELAXED);
    while (was < other && !__atomic_compare_exchange_n(to, &was, other, true, __ATOMIC_RELAXED, __ATOMIC_RELAXED)) {
    }
    return was;
}

template <typename V> static inline V atomicMin(V *to, V other)
{
    V was = __atomic_load_n(to, __ATOMIC_RELAXED);
    while (other < was && !__atomic_compare_exchange_n(to, &was, other, true, __ATOMIC_RELAXED, __ATOMIC_RELAXED)) {
    }
    return was;
}

/* --- The runtime --- */

typedef int cudaError_t;
enum { cudaSuccess = 0, cudaErrorInvalidValue = 1, cudaErrorMemoryAllocation = 2, cudaErrorInvalidDevice = 101 };
enum { cudaMemcpyDefault = 4, cudaStreamNonBlocking = 1, cudaStreamCaptureModeThreadLocal = 1 };
enum { cudaFuncAttributeMaxDynamicSharedMemorySize = 8 };
enum { cudaLaunchAttributeCooperative = 2, cudaLaunchAttributeProgrammaticStreamSerialization = 6 };

typedef struct emulated_stream *cudaStream_t;
typedef struct emulated_graph *cudaGraph_t, *cudaGraphExec_t;
typedef struct emulated_event *cudaEvent_t;

struct cudaDeviceProp {
    char name[256];
    int major, minor, cooperativeLaunch, multiProcessorCount;
    size_t sharedMemPerBlockOptin, totalGlobalMem;
};

struct cudaLaunchAttribute {
    int id;
    struct {
        int cooperative, programmaticStreamSerializationAllowed;
    } val;
};

struct cudaLaunchConfig_t {
    dim3 gridDim, blockDim;
    size_t dynamicSmemBytes;
    cudaStream_t stream;
    cudaLaunchAttribute *attrs;
    unsigned numAttrs;
};

cudaError_t cudaGetDeviceCount(int *count);
cudaError_t cudaGetDeviceProperties(cudaDeviceProp *properties, int index);
cudaError_t cudaSetDevice(int index);
cudaError_t cudaGetLastError();
const char *cudaGetErrorString(cudaError_t error);
cudaError_t cudaMalloc(void **memory, size_t size);
cudaError_t cudaFree(void *memory);
cudaError_t cudaMallocHost(void **memory, size_t size);
cudaError_t cudaFreeHost(void *memory);
cudaError_t cudaMemset(void *memory, int value, size_t size);
cudaError_t cudaMemcpy(void *to, const void *from, size_t size, int kind);
cudaError_t cudaMemcpyAsync(void *to, const void *from, size_t size, int kind, cudaStream_t stream);
cudaError_t cudaMemcpy2D(void *to, size_t to_stride, const void *from, size_t from_stride, size_t row, size_t rows,
                         int kind);
cudaError_t cudaMemsetAsync(void *memory, int value, size_t size, cudaStream_t stream);
cudaError_t cudaStreamCreateWithFlags(cudaStream_t *stream, unsigned flags);
cudaError_t cudaStreamDestroy(cudaStream_t stream);
cudaError_t cudaStreamSynchronize(cudaStream_t stream);
cudaError_t cudaStreamBeginCapture(cudaStream_t stream, int mode);
cudaError_t cudaStreamEndCapture(cudaStream_t stream, cudaGraph_t *graph);
cudaError_t cudaGraphInstantiate(cudaGraphExec_t *ready, cudaGraph_t graph, unsigned long long flags);
cudaError_t cudaGraphLaunch(cudaGraphExec_t graph, cudaStream_t stream);
cudaError_t cudaGraphDestroy(cudaGraph_t graph);
cudaError_t cudaGraphExecDestroy(cudaGraphExec_t graph);
cudaError_t cudaEventCreate(cudaEvent_t *event);
cudaError_t cudaEventDestroy(cudaEvent_t event);
cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream);
cudaError_t cudaEventSynchronize(cudaEvent_t event);
cudaError_t cudaEventElapsedTime(float *milliseconds, cudaEvent_t begin, cudaEvent_t end);
cudaError_t cudaDeviceSynchronize();

namespace emulated
{
cudaError_t allow_shared(const void *kernel, int bytes);
[[noreturn]] void fail(const char *what); /* errors that on a GPU are a hang or undefined results */
void run(dim3 grid, dim3 block, size_t shared, bool cooperative, const std::function<void()> &body);
cudaError_t launch(const cudaLaunchConfig_t &config, const void *kernel, std::function<void()> body);
} // namespace emulated

template <typename... P> static inline cudaError_t cudaFuncSetAttribute(void (*kernel)(P...), int, int value)
{
    return emulated::allow_shared((const void *)kernel, value);
}

static inline cudaError_t cudaFuncSetAttribute(const void *kernel, int, int value)
{
    return emulated::allow_shared(kernel, value);
}

template <typename... P, typename... A>
static inline cudaError_t cudaLaunchKernelEx(const cudaLaunchConfig_t *config, void (*kernel)(P...), A... args)
{
    return emulated::launch(*config, (const void *)kernel, [=] { kernel(P(args)...); });
}

#endif

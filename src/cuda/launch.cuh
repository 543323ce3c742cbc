/* launch.cuh (internal) - kernels that start before the previous kernel has ended (programmatic dependent launch). */
#ifndef SUP_CUDA_LAUNCH_CUH
#define SUP_CUDA_LAUNCH_CUH

#include "cuda/machine.cuh"

/* A launch that, if `early`, may begin before the previous kernel has ended (wait_for_kernel). An early kernel
 * inherits the split of a multiprocessor's memory between cache and shared memory from its predecessor: kernels of a
 * crowd that depend on the cache must not be early after one that used most of the memory as shared memory, and
 * neither may their successors. */
template <typename... P, typename... A>
static void launch_when(bool early, void (*kernel)(P...), dim3 grid, int threads, size_t shared, cudaStream_t stream,
                        A... args)
{
    cudaLaunchAttribute attribute = {};
    attribute.id = cudaLaunchAttributeProgrammaticStreamSerialization;
    attribute.val.programmaticStreamSerializationAllowed = early;
    cudaLaunchConfig_t config = {};
    config.gridDim = grid;
    config.blockDim = dim3(threads);
    config.dynamicSmemBytes = shared;
    config.stream = stream;
    config.attrs = &attribute;
    config.numAttrs = 1;
    cudaLaunchKernelEx(&config, kernel, args...);
}

template <typename... P, typename... A>
static void launch_early(void (*kernel)(P...), dim3 grid, int threads, size_t shared, cudaStream_t stream, A... args)
{
    launch_when(true, kernel, grid, threads, shared, stream, args...);
}

#endif

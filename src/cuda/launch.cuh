/* launch.cuh (internal) - kernels that are launched before those before them have ended. */
#ifndef SUP_CUDA_LAUNCH_CUH
#define SUP_CUDA_LAUNCH_CUH

#include "cuda/machine.cuh"

/* A launch that may begin before the kernel before it has ended (wait_for_kernel), where it is `early`. What begins early finds the
 * memory of a multiprocessor split as the kernel before wanted it: kernels of a crowd that live by the cache must not after one that
 * took max_nodes of it as shared memory, nor would those behind them get it back. */
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

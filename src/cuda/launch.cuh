/* launch.cuh (internal) - kernels that are launched before those before them have ended. */
#ifndef SUP_CUDA_LAUNCH_CUH
#define SUP_CUDA_LAUNCH_CUH

#include "cuda/machine.cuh"

/* A launch that may begin before the kernel before it has ended (wait_for_kernel). */
template <typename... P, typename... A>
static void launch_early(void (*kernel)(P...), dim3 grid, int threads, size_t shared, cudaStream_t stream, A... args)
{
    cudaLaunchAttribute early = {};
    early.id = cudaLaunchAttributeProgrammaticStreamSerialization;
    early.val.programmaticStreamSerializationAllowed = 1;
    cudaLaunchConfig_t config = {};
    config.gridDim = grid;
    config.blockDim = dim3(threads);
    config.dynamicSmemBytes = shared;
    config.stream = stream;
    config.attrs = &early;
    config.numAttrs = 1;
    cudaLaunchKernelEx(&config, kernel, args...);
}

#endif

/* prefix_sum.cuh (internal) - sums over the threads of a block, in their command. */
#ifndef SUP_CUDA_PREFIX_SUM_CUH
#define SUP_CUDA_PREFIX_SUM_CUH

#include <cuda_runtime.h>

/* The sum of `own` of the threads before this one, and of all T. `warps`: T / 32 numbers of shared memory. */
template <int T, typename V> static __device__ V scan_block(V own, V *warps, V &all)
{
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    V before = own;
    for (int step = 1; step < 32; step <<= 1) {
        const V other = __shfl_up_sync(0xffffffffu, before, step);
        if (lane >= step) before += other;
    }
    if (lane == 31) warps[warp] = before;
    __syncthreads();
    before -= own;
    all = 0;
    for (int i = 0; i < T / 32; i++) {
        if (i < warp) before += warps[i];
        all += warps[i];
    }
    __syncthreads();
    return before;
}

#endif

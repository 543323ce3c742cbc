/* prefix_sum.cuh (internal) - prefix sums over the threads of a block. */
#ifndef SUP_CUDA_PREFIX_SUM_CUH
#define SUP_CUDA_PREFIX_SUM_CUH

#include <cuda_runtime.h>

/* Sum of `own` over the threads before this one, and over all T in `all`. `warps`: T / 32 values in shared memory. */
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

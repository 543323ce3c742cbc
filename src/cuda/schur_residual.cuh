/* schur_residual.cuh (internal) - residual of the separator. */
#ifndef SUP_CUDA_SCHUR_RESIDUAL_CUH
#define SUP_CUDA_SCHUR_RESIDUAL_CUH

#include "cuda/gpu.h"

/* At a node, summed over its slots in their order: the same bits every time. */
static __device__ float4 separator_residual(const float4 *slot, int first, int end)
{
    enum { AT_ONCE = 3 };
    const float4 none = make_float4(0.0f, 0.0f, 0.0f, 0.0f);
    float4 sum = none;
    for (; first < end; first += AT_ONCE) {
        float4 v[AT_ONCE]; /* all loads in flight at once */
#pragma unroll
        for (int k = 0; k < AT_ONCE; k++)
            v[k] = first + k < end ? slot[first + k] : none;
#pragma unroll
        for (int k = 0; k < AT_ONCE; k++)
            sum.x -= v[k].x, sum.y -= v[k].y, sum.z -= v[k].z;
    }
    return sum;
}

#endif

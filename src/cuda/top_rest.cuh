/* top_rest.cuh (internal) - what the parts leave to the top. */
#ifndef SUP_CUDA_TOP_REST_CUH
#define SUP_CUDA_TOP_REST_CUH

#include "cuda/gpu.h"

/* At a place, from its slots, in their order: the same bits every time. */
static __device__ float4 top_rest(const float4 *slot, int first, int end)
{
    float4 sum = make_float4(0.0f, 0.0f, 0.0f, 0.0f);
#pragma unroll 4
    for (int e = first; e < end; e++) {
        float4 v = slot[e];
        sum.x -= v.x, sum.y -= v.y, sum.z -= v.z;
    }
    return sum;
}

#endif

/* vectors.cuh (internal) - vectors of a node: four floats, the last one 0. */
#ifndef SUP_CUDA_VECTORS_CUH
#define SUP_CUDA_VECTORS_CUH

#include <cuda_runtime.h>

static __device__ float4 add_scaled(float4 a, float s, float4 b)
{
    return make_float4(fmaf(s, b.x, a.x), fmaf(s, b.y, a.y), fmaf(s, b.z, a.z), 0.0f);
}

static __device__ float4 minus(float4 a, float4 b)
{
    return make_float4(a.x - b.x, a.y - b.y, a.z - b.z, 0.0f);
}

static __device__ float dot(float4 a, float4 b)
{
    return fmaf(a.x, b.x, fmaf(a.y, b.y, a.z * b.z));
}

static __device__ void put(float *to, float4 v)
{
    to[0] = v.x, to[1] = v.y, to[2] = v.z;
}

static __device__ float4 get(const float *from)
{
    return make_float4(from[0], from[1], from[2], 0.0f);
}

#endif

/* store_vertex.cuh (internal) - stores positions, unit normals and tangents in the output arrays. */
#ifndef SUP_CUDA_STORE_VERTEX_CUH
#define SUP_CUDA_STORE_VERTEX_CUH

#include "cuda/gpu_render_mesh.h"

static __device__ void store3(float *array, size_t vertex_stride, size_t instance_stride, int vertex, int character,
                              float x, float y, float z)
{
    float *to = (float *)((char *)array + (size_t)character * instance_stride + (size_t)vertex * vertex_stride);
    to[0] = x;
    to[1] = y;
    to[2] = z;
}

static __device__ void store_unit(const sup_gpu_out &out, int vertex, int character, float x, float y, float z,
                                  const float default_value[3])
{
    float square = x * x + y * y + z * z, scale = rsqrtf(square);
    bool good = square > 1e-12f && square < 1e30f;
    store3(out.normals, out.vertex_stride[1], out.instance_stride[1], vertex, character,
           good ? x * scale : default_value[0], good ? y * scale : default_value[1],
           good ? z * scale : default_value[2]);
}

static __device__ void store_tangent(const sup_gpu_out &out, int vertex, int character, const float t[3], float hand,
                                     const float default_value[3])
{
    float square = t[0] * t[0] + t[1] * t[1] + t[2] * t[2], scale = rsqrtf(square);
    bool good = square > 1e-12f && square < 1e30f;
    float *to = (float *)((char *)out.tangents + (size_t)character * out.instance_stride[2] +
                          (size_t)vertex * out.vertex_stride[2]);
    for (int k = 0; k < 3; k++)
        to[k] = good ? t[k] * scale : default_value[k];
    to[3] = hand;
}

#endif

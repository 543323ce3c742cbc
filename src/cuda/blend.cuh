/* blend.cuh (internal) - linear blending of the simulated skin, as in methods/projective/projective_blend.c. */
#ifndef SUP_CUDA_BLEND_CUH
#define SUP_CUDA_BLEND_CUH

#include "cuda/gpu.h"
#include "cuda/vectors.cuh"

/* Any position, moved like simulated skin vertex v by linear blending. */
static __device__ float4 blend(const sup_gpu_body &body, const float *joints, int v, float4 from)
{
    float row[12];
    for (int i = 0; i < 12; i++)
        row[i] = 0.0f;
    for (int k = 0; k < 4; k++) {
        const float *m = joints + (size_t)body.start_joint[4 * (size_t)v + k] * 12;
        float weight = body.start_weight[4 * (size_t)v + k];
        for (int i = 0; i < 12; i++)
            row[i] = fmaf(weight, m[i], row[i]);
    }
    return make_float4(row[0] * from.x + row[1] * from.y + (row[2] * from.z + row[3]),
                       row[4] * from.x + row[5] * from.y + (row[6] * from.z + row[7]),
                       row[8] * from.x + row[9] * from.y + (row[10] * from.z + row[11]), 0.0f);
}

static __device__ float4 blend_vertex(const sup_gpu_body &body, const float *joints, int v)
{
    return blend(body, joints, v, get(body.start_rest + 3 * (size_t)v));
}

#endif

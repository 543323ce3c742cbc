/* rest.cu - putting characters at rest on the device: projective_step.c and solver.c, put_at_rest and stand_still. */
#include "cuda/gpu.h"

#include <cuda_runtime.h>

__global__ void still_kernel(const __grid_constant__ sup_gpu_system s, const __grid_constant__ sup_gpu_state st)
{
    int character = blockIdx.y, i = blockIdx.x * blockDim.x + threadIdx.x, phase = st.progress[character].phase;
    size_t at = (size_t)character * s.unknown_count + i, anchor = (size_t)character * s.anchor_count + i;
    if (i < s.unknown_count) {
        float4 now = st.x[phase & 1][at];
        st.x[1 - (phase & 1)][at] = st.guess[at] = now;
        st.miss[at] = make_float4(0.0f, 0.0f, 0.0f, 0.0f);
    }
    if (i < s.anchor_count) st.anchors[(phase + 1) % 3][anchor] = st.anchors[(phase + 2) % 3][anchor];
}

/* Unknowns where they rest; the anchors of the pose for all phases. */
__global__ void rest_kernel(const __grid_constant__ sup_gpu_system s, const __grid_constant__ sup_gpu_state st,
                            const __grid_constant__ sup_gpu_rest r)
{
    int character = blockIdx.y, i = blockIdx.x * blockDim.x + threadIdx.x;
    size_t at = (size_t)character * s.unknown_count + i, anchor = (size_t)character * s.anchor_count + i;
    if (i < s.unknown_count) st.x[0][at] = make_float4(r.rest[3 * i], r.rest[3 * i + 1], r.rest[3 * i + 2], 0.0f);
    if (i >= s.anchor_count) return;
    st.anchors[1][anchor] = st.anchors[2][anchor] = st.anchors[0][anchor];
    st.bend[anchor] = make_float4(0.0f, 0.0f, 0.0f, 0.0f);
}

/* The skin by linear blending. */
__global__ void blend_kernel(const __grid_constant__ sup_gpu_system s, const __grid_constant__ sup_gpu_state st,
                             const __grid_constant__ sup_gpu_rest r, const float *joints)
{
    int character = blockIdx.y, i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= r.skin_count) return;
    float sum[3] = {0.0f, 0.0f, 0.0f};
    const float *p = r.start_rest + 3 * (size_t)i;
    for (int k = 0; k < 4; k++) {
        const float *m = joints + ((size_t)character * r.joint_count + r.start_joint[4 * (size_t)i + k]) * 12;
        float weight = r.start_weight[4 * (size_t)i + k];
        for (int c = 0; c < 3; c++)
            sum[c] += weight * (m[4 * c] * p[0] + m[4 * c + 1] * p[1] + m[4 * c + 2] * p[2] + m[4 * c + 3]);
    }
    st.x[0][(size_t)character * s.unknown_count + r.place[i]] = make_float4(sum[0], sum[1], sum[2], 0.0f);
}

__global__ void phase_kernel(const __grid_constant__ sup_gpu_state st)
{
    int c = blockIdx.x * blockDim.x + threadIdx.x;
    if (c < st.count) st.progress[c].phase = 0;
}

static dim3 grid_for(int numbers, int count)
{
    return dim3((numbers + 255) / 256, count);
}

static int most_of(const sup_gpu_system *s)
{
    return s->unknown_count > s->anchor_count ? s->unknown_count : s->anchor_count;
}

extern "C" int sup_gpu_still(const sup_gpu_system *system, const sup_gpu_state *state, void *stream)
{
    still_kernel<<<grid_for(most_of(system), state->count), 256, 0, (cudaStream_t)stream>>>(*system, *state);
    return (int)cudaGetLastError();
}

extern "C" int sup_gpu_first_phase(const sup_gpu_state *state, void *stream)
{
    phase_kernel<<<(state->count + 255) / 256, 256, 0, (cudaStream_t)stream>>>(*state);
    return (int)cudaGetLastError();
}

extern "C" int sup_gpu_reset(const sup_gpu_system *system, const sup_gpu_state *state, const sup_gpu_rest *rest,
                             const float *joints, void *stream)
{
    cudaStream_t on = (cudaStream_t)stream;
    rest_kernel<<<grid_for(most_of(system), state->count), 256, 0, on>>>(*system, *state, *rest);
    blend_kernel<<<grid_for(rest->skin_count, state->count), 256, 0, on>>>(*system, *state, *rest, joints);
    return sup_gpu_still(system, state, stream);
}

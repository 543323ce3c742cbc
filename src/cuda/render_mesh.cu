/* render_mesh.cu - the render mesh on the device: normals of the simulated skin, upsampling, and tangents if requested.
 *
 * Based on: [komaritzan2022] eq. 3.9. The same sums as src/upsample, in another order. */
#include "cuda/gpu_render_mesh.h"
#include "cuda/launch.cuh"
#include "cuda/store_vertex.cuh"

enum { THREADS = 256, AT_A_TIME = 3 };

/* Simulated skin of a character: of the last step, or extrapolated to the current pose. */
static __device__ const float4 *simulated_skin(const sup_gpu_state &st, int coarse_count, int character,
                                               bool extrapolated)
{
    const float4 *from = extrapolated ? st.extrapolated : st.skin[st.progress[character].phase & 1];
    return from + (size_t)character * coarse_count;
}

/* Quantises a component of a unit vector to ten bits: mantissa bits of 1.5 + n/2, which is in [1, 2). */
static __device__ unsigned ten_bits(float n)
{
    return (unsigned)min(max((int)rintf(512.0f + 512.0f * n), 0), 1023);
}

/* Component k as 1.5 + n/2: the bits are the upper mantissa bits of a float in [1, 2). */
static __device__ float half_above(unsigned bits, int k)
{
    const unsigned shifted = k == 0 ? bits << 13 : k == 1 ? bits << 3 : bits >> 7;
    return __uint_as_float((shifted & 0x007fe000u) | 0x3f800000u);
}

/* Coarse positions interleaved with unit normals. */
__global__ void __launch_bounds__(THREADS) coarse_kernel(const __grid_constant__ sup_gpu_upsample up,
                                                         const __grid_constant__ sup_gpu_state st, bool extrapolated)
{
    wait_for_kernel();
    int v = blockIdx.x * THREADS + threadIdx.x, character = blockIdx.y;
    if (v >= up.coarse_count || st.commands[character].hidden) return;
    const float4 *skin = simulated_skin(st, up.coarse_count, character, extrapolated);
    float n[3] = {0.0f, 0.0f, 0.0f};
    for (int first = up.corner_first[v], end = up.corner_first[v + 1]; first < end; first += AT_A_TIME) {
        float4 at[AT_A_TIME][3]; /* all loads in flight at once; triangles beyond the end have no area */
#pragma unroll
        for (int i = 0; i < AT_A_TIME; i++) {
            const int32_t *corner = up.triangles + 3 * (size_t)up.corner_triangle[min(first + i, end - 1)];
            for (int k = 0; k < 3; k++)
                at[i][k] = skin[corner[first + i < end ? k : 0]];
        }
#pragma unroll
        for (int i = 0; i < AT_A_TIME; i++) {
            const float4 a = at[i][0], b = at[i][1], c = at[i][2];
            n[0] += (b.y - a.y) * (c.z - a.z) - (b.z - a.z) * (c.y - a.y);
            n[1] += (b.z - a.z) * (c.x - a.x) - (b.x - a.x) * (c.z - a.z);
            n[2] += (b.x - a.x) * (c.y - a.y) - (b.y - a.y) * (c.x - a.x);
        }
    }
    float4 own = skin[v];
    /* Squares of areas may overflow: scale first. */
    float size = fmaxf(fabsf(n[0]), fmaxf(fabsf(n[1]), fabsf(n[2])));
    bool good = size > 0.0f && size < 1e30f;
    float a = n[0] / size, b = n[1] / size, c = n[2] / size, over = 1.0f / sqrtf(a * a + b * b + c * c);
    const float *rest = up.rest_normal + 3 * (size_t)v;
    float4 *to = (float4 *)(up.coarse + ((size_t)character * up.coarse_count + v) * 8);
    const float unit[3] = {good ? a * over : rest[0], good ? b * over : rest[1], good ? c * over : rest[2]};
    to[0] = make_float4(own.x, unit[0], own.y, unit[1]);
    to[1] = make_float4(own.z, unit[2], 0.0f, 0.0f);
    if (up.packed == NULL) return;
    const unsigned bits = ten_bits(unit[0]) | ten_bits(unit[1]) << 10 | ten_bits(unit[2]) << 20;
    up.packed[(size_t)character * up.coarse_count + v] = make_float4(own.x, own.y, own.z, __uint_as_float(bits));
}

/* A render vertex of `C` characters: eq. 3.9. Plain vertices have two weights per slot, one for positions and one for
 * normals; followers have four. Plain vertices of crowds read the packed array, since they are bound by memory
 * bandwidth. `S` threads share a vertex, each with every S-th of its slots, so that a single character fills the
 * device. */
template <int C, int S, bool FOLLOWER>
static __device__ void upsample_vertex(const sup_gpu_upsample &up, int count, const sup_gpu_command *commands,
                                       const sup_gpu_out &out, int block)
{
    int vertices = FOLLOWER ? up.row_count - up.plain_count : up.plain_count;
    int thread = block * THREADS + threadIdx.x, lane = thread % S, first = blockIdx.y * C;
    int at = min(thread / S, vertices - 1),
        row = FOLLOWER ? up.plain_count + at
                       : at; /* threads beyond the end repeat the last one, so that warps are complete */
    bool any = false;
    for (int c = 0; c < C; c++)
        any = any || (first + c < count && !commands[first + c].hidden);
    if (!any) return;
    constexpr bool PACKED = C > 1 && !FOLLOWER;
    float sum[C][6], weight_sum = 0.0f;
    for (int c = 0; c < C; c++)
        for (int k = 0; k < 6; k++)
            sum[c][k] = 0.0f;
    int nearest = 0;
#pragma unroll(C == 1 ? 6 : 2)
    for (int slot = lane; slot < up.slots; slot += S) {
        size_t entry = (size_t)slot * up.row_count + row;
        int index = up.narrow != NULL ? up.narrow[entry] : up.wide[entry];
        float4 w;
        if (FOLLOWER)
            w = ((const float4 *)up.followers)[(size_t)slot * vertices + at];
        else {
            float2 pair = ((const float2 *)up.plain)[(size_t)slot * vertices + at];
            w = make_float4(pair.x, 0.0f, 0.0f, pair.y);
        }
        if (slot == 0) nearest = index;
        weight_sum += w.w;
#pragma unroll
        for (int c = 0; c < C; c++) {
            int character = min(first + c, count - 1);
            if (PACKED) {
                const float4 v = up.packed[(size_t)character * up.coarse_count + index];
                const float position[3] = {v.x, v.y, v.z};
                for (int k = 0; k < 3; k++) {
                    sum[c][k] = fmaf(w.x, position[k], sum[c][k]);
                    sum[c][3 + k] = fmaf(w.w, half_above(__float_as_uint(v.w), k), sum[c][3 + k]);
                }
                continue;
            }
            const float4 *from = (const float4 *)(up.coarse + ((size_t)character * up.coarse_count + index) * 8);
            float4 a = from[0];
            float2 b = *(const float2 *)(from + 1);
            sum[c][0] = fmaf(w.x, a.x, sum[c][0]);
            sum[c][1] = fmaf(w.x, a.z, sum[c][1]);
            sum[c][2] = fmaf(w.x, b.x, sum[c][2]);
            sum[c][3] = fmaf(w.w, a.y, sum[c][3]);
            sum[c][4] = fmaf(w.w, a.w, sum[c][4]);
            sum[c][5] = fmaf(w.w, b.y, sum[c][5]);
            if (!FOLLOWER) continue;
            sum[c][0] = fmaf(w.y, a.y, sum[c][0]);
            sum[c][1] = fmaf(w.y, a.w, sum[c][1]);
            sum[c][2] = fmaf(w.y, b.y, sum[c][2]);
            sum[c][3] = fmaf(w.z, a.x, sum[c][3]);
            sum[c][4] = fmaf(w.z, a.z, sum[c][4]);
            sum[c][5] = fmaf(w.z, b.x, sum[c][5]);
        }
    }
    nearest = __shfl_sync(0xffffffffu, nearest, threadIdx.x % 32 / S * S); /* of the first slot */
#pragma unroll
    for (int c = 0; c < C; c++)
        for (int k = 0; k < 6; k++)
            for (int d = 1; d < S; d <<= 1)
                sum[c][k] += __shfl_xor_sync(0xffffffffu, sum[c][k], d);
    if (lane > 0 || thread / S >= vertices) return;
    int vertex = up.row_vertex[row];
#pragma unroll
    for (int c = 0; c < C; c++) {
        int character = first + c;
        if (character >= count || commands[character].hidden) continue;
        if (out.positions != NULL)
            store3(out.positions, out.vertex_stride[0], out.instance_stride[0], vertex, character, sum[c][0], sum[c][1],
                   sum[c][2]);
        if (out.normals == NULL) continue;
        for (int k = 3; PACKED && k < 6; k++)
            sum[c][k] = 2.0f * sum[c][k] - 3.0f * weight_sum;
        const float *from = up.coarse + ((size_t)character * up.coarse_count + nearest) * 8;
        const float default_value[3] = {from[1], from[3], from[5]};
        store_unit(out, vertex, character, sum[c][3], sum[c][4], sum[c][5], default_value);
    }
}

/* Thread blocks of plain vertices, then of followers. */
template <int C, int S>
__global__ void __launch_bounds__(THREADS)
    upsample_kernel(const __grid_constant__ sup_gpu_upsample up, int count, const sup_gpu_command *commands,
                    const __grid_constant__ sup_gpu_out out, int plain_blocks)
{
    wait_for_kernel();
    if ((int)blockIdx.x < plain_blocks)
        upsample_vertex<C, S, false>(up, count, commands, out, blockIdx.x);
    else
        upsample_vertex<C, S, true>(up, count, commands, out, (int)blockIdx.x - plain_blocks);
}

/* --- Tangents --- */

/* Any direction in the plane of a normal (upsample_kernel.h). */
static __device__ void any_tangent(const float n[3], float to[3])
{
    const int axis = fabsf(n[0]) < 0.6f ? 0 : 1;
    const float along = n[axis], scale = 1.0f / sqrtf(1.0f - along * along);
    for (int k = 0; k < 3; k++)
        to[k] = ((k == axis ? 1.0f : 0.0f) - along * n[k]) * scale;
}

/* One thread per render vertex, after its normal is stored: tangents are projected into the plane of the normal. */
__global__ void __launch_bounds__(THREADS)
    tangents_kernel(const __grid_constant__ sup_gpu_upsample up, const sup_gpu_command *commands,
                    const __grid_constant__ sup_gpu_out out)
{
    wait_for_kernel();
    const int row = blockIdx.x * THREADS + threadIdx.x, character = blockIdx.y;
    if (row >= up.row_count || commands[character].hidden) return;
    float t[3] = {0.0f, 0.0f, 0.0f}, any[3];
    for (int slot = 0; slot < up.slots; slot++) {
        const size_t entry = (size_t)slot * up.row_count + row;
        const int index = up.narrow != NULL ? up.narrow[entry] : up.wide[entry];
        const float2 w = ((const float2 *)up.tangent_weights)[entry];
        const float *from = up.coarse + ((size_t)character * up.coarse_count + index) * 8;
        for (int k = 0; k < 3; k++)
            t[k] = fmaf(w.x, from[2 * k], fmaf(w.y, from[2 * k + 1], t[k]));
    }
    const int vertex = up.row_vertex[row];
    const float *n = (const float *)((const char *)out.normals + (size_t)character * out.instance_stride[1] +
                                     (size_t)vertex * out.vertex_stride[1]);
    const float along = t[0] * n[0] + t[1] * n[1] + t[2] * n[2];
    for (int k = 0; k < 3; k++)
        t[k] -= along * n[k];
    any_tangent(n, any);
    store_tangent(out, vertex, character, t, up.tangent_signs[row], any);
}

/* --- Launches --- */

template <int C, int S>
static void launch_upsample(const sup_gpu_upsample &up, const sup_gpu_state &st, const sup_gpu_out &out,
                            cudaStream_t stream)
{
    int followers = up.row_count - up.plain_count, plain_blocks = (up.plain_count * S + THREADS - 1) / THREADS;
    dim3 grid(plain_blocks + (followers * S + THREADS - 1) / THREADS, (st.count + C - 1) / C);
    if (grid.x > 0)
        launch_early(upsample_kernel<C, S>, grid, THREADS, 0, stream, up, st.count, st.commands, out, plain_blocks);
}

extern "C" int sup_gpu_render_mesh(const sup_gpu_upsample *up, const sup_gpu_state *state, bool extrapolated,
                                   const sup_gpu_out *out, void *stream)
{
    dim3 grid((up->coarse_count + THREADS - 1) / THREADS, state->count);
    launch_early(coarse_kernel, grid, THREADS, 0, (cudaStream_t)stream, *up, *state, extrapolated);
    if (state->count <= 2)
        launch_upsample<1, 4>(*up, *state, *out, (cudaStream_t)stream);
    else
        launch_upsample<4, 1>(*up, *state, *out, (cudaStream_t)stream);
    dim3 vertices((up->row_count + THREADS - 1) / THREADS, state->count);
    if (out->tangents != NULL && vertices.x > 0)
        launch_early(tangents_kernel, vertices, THREADS, 0, (cudaStream_t)stream, *up, state->commands, *out);
    return (int)cudaGetLastError();
}

/* show.cu - the shown skin on the device: normals of the simulated skin, then upsampling.
 *
 * Based on: [komaritzan2022] eq. 3.9. The same sums as src/upsample, in another order. */
#include "cuda/gpu_show.h"
#include "cuda/store.cuh"

enum { THREADS = 256 };

/* Between two steps: `t` of the way back. */
static __device__ float4 between(const float4 *now, const float4 *before, int place, float t)
{
    float4 a = now[place];
    if (t == 0.0f) return a;
    float4 b = before[place];
    return make_float4(a.x + t * (b.x - a.x), a.y + t * (b.y - a.y), a.z + t * (b.z - a.z), 0.0f);
}

/* Coarse positions between two steps, with unit normals, side by side. */
__global__ void __launch_bounds__(THREADS)
    coarse_kernel(const __grid_constant__ sup_gpu_upsample up, const char *phases, size_t phase_stride, const float4 *x0,
                  const float4 *x1, int unknown_count, const float *blend)
{
    int v = blockIdx.x * THREADS + threadIdx.x, character = blockIdx.y;
    if (v >= up.coarse_count) return;
    bool odd = (*(const int32_t *)(phases + character * phase_stride) & 1) != 0;
    const float4 *now = (odd ? x1 : x0) + (size_t)character * unknown_count;
    const float4 *before = (odd ? x0 : x1) + (size_t)character * unknown_count;
    float t = *blend, n[3] = {0.0f, 0.0f, 0.0f};
    for (int i = up.corner_first[v]; i < up.corner_first[v + 1]; i++) {
        const int32_t *corner = up.triangles + 3 * (size_t)up.corner_triangle[i];
        float4 a = between(now, before, up.place[corner[0]], t), b = between(now, before, up.place[corner[1]], t);
        float4 c = between(now, before, up.place[corner[2]], t);
        n[0] += (b.y - a.y) * (c.z - a.z) - (b.z - a.z) * (c.y - a.y);
        n[1] += (b.z - a.z) * (c.x - a.x) - (b.x - a.x) * (c.z - a.z);
        n[2] += (b.x - a.x) * (c.y - a.y) - (b.y - a.y) * (c.x - a.x);
    }
    float4 own = between(now, before, up.place[v], t);
    /* Squares of areas are beyond float: scale first. */
    float size = fmaxf(fabsf(n[0]), fmaxf(fabsf(n[1]), fabsf(n[2])));
    bool good = size > 0.0f && size < 1e30f;
    float a = n[0] / size, b = n[1] / size, c = n[2] / size, over = 1.0f / sqrtf(a * a + b * b + c * c);
    const float *rest = up.rest_normal + 3 * (size_t)v;
    float4 *to = (float4 *)(up.coarse + ((size_t)character * up.coarse_count + v) * 8);
    to[0] = make_float4(own.x, good ? a * over : rest[0], own.y, good ? b * over : rest[1]);
    to[1] = make_float4(own.z, good ? c * over : rest[2], 0.0f, 0.0f);
}

/* A row of `C` characters: eq. 3.9. Plain rows have a weight for positions and one for normals; riding rows four. */
template <int C, bool RIDING>
__global__ void __launch_bounds__(THREADS)
    rows_kernel(const __grid_constant__ sup_gpu_upsample up, int count, const __grid_constant__ sup_gpu_out out)
{
    int rows = RIDING ? up.row_count - up.plain_count : up.plain_count;
    int at = blockIdx.x * THREADS + threadIdx.x, row = RIDING ? up.plain_count + at : at, first = blockIdx.y * C;
    if (at >= rows) return;
    float sum[C][6];
    for (int c = 0; c < C; c++)
        for (int k = 0; k < 6; k++)
            sum[c][k] = 0.0f;
    int nearest = 0;
#pragma unroll (C == 1 ? 8 : 2)
    for (int slot = 0; slot < up.slots; slot++) {
        size_t entry = (size_t)slot * up.row_count + row;
        int index = up.narrow != NULL ? up.narrow[entry] : up.wide[entry];
        float4 w;
        if (RIDING)
            w = ((const float4 *)up.riding)[(size_t)slot * rows + at];
        else {
            float2 pair = ((const float2 *)up.plain)[(size_t)slot * rows + at];
            w = make_float4(pair.x, 0.0f, 0.0f, pair.y);
        }
        if (slot == 0) nearest = index;
#pragma unroll
        for (int c = 0; c < C; c++) {
            int character = min(first + c, count - 1);
            const float4 *from = (const float4 *)(up.coarse + ((size_t)character * up.coarse_count + index) * 8);
            float4 a = from[0];
            float2 b = *(const float2 *)(from + 1);
            sum[c][0] = fmaf(w.x, a.x, sum[c][0]);
            sum[c][1] = fmaf(w.x, a.z, sum[c][1]);
            sum[c][2] = fmaf(w.x, b.x, sum[c][2]);
            sum[c][3] = fmaf(w.w, a.y, sum[c][3]);
            sum[c][4] = fmaf(w.w, a.w, sum[c][4]);
            sum[c][5] = fmaf(w.w, b.y, sum[c][5]);
            if (!RIDING) continue;
            sum[c][0] = fmaf(w.y, a.y, sum[c][0]);
            sum[c][1] = fmaf(w.y, a.w, sum[c][1]);
            sum[c][2] = fmaf(w.y, b.y, sum[c][2]);
            sum[c][3] = fmaf(w.z, a.x, sum[c][3]);
            sum[c][4] = fmaf(w.z, a.z, sum[c][4]);
            sum[c][5] = fmaf(w.z, b.x, sum[c][5]);
        }
    }
    int vertex = up.row_vertex[row];
#pragma unroll
    for (int c = 0; c < C; c++) {
        int character = first + c;
        if (character >= count) continue;
        if (out.positions != NULL)
            store3(out.positions, out.vertex_stride[0], out.instance_stride[0], vertex, character, sum[c][0], sum[c][1],
                   sum[c][2]);
        if (out.normals == NULL) continue;
        const float *from = up.coarse + ((size_t)character * up.coarse_count + nearest) * 8;
        const float fallback[3] = {from[1], from[3], from[5]};
        store_unit(out, vertex, character, sum[c][3], sum[c][4], sum[c][5], fallback);
    }
}

template <int C> static void launch_rows(const sup_gpu_upsample &up, int count, const sup_gpu_out &out, cudaStream_t stream)
{
    int riding = up.row_count - up.plain_count, groups = (count + C - 1) / C;
    if (up.plain_count > 0)
        rows_kernel<C, false><<<dim3((up.plain_count + THREADS - 1) / THREADS, groups), THREADS, 0, stream>>>(up, count, out);
    if (riding > 0)
        rows_kernel<C, true><<<dim3((riding + THREADS - 1) / THREADS, groups), THREADS, 0, stream>>>(up, count, out);
}

extern "C" int sup_gpu_show(const sup_gpu_upsample *up, int32_t count, const int32_t *phases, size_t phase_stride,
                            sup_gpu_four *const x[2], int32_t unknown_count, const float *blend, const sup_gpu_out *out,
                            void *stream)
{
    dim3 grid((up->coarse_count + THREADS - 1) / THREADS, count);
    coarse_kernel<<<grid, THREADS, 0, (cudaStream_t)stream>>>(*up, (const char *)phases, phase_stride, x[0], x[1],
                                                              unknown_count, blend);
    if (count <= 2)
        launch_rows<1>(*up, count, *out, (cudaStream_t)stream);
    else
        launch_rows<4>(*up, count, *out, (cudaStream_t)stream);
    return (int)cudaGetLastError();
}

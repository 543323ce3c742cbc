/* persistent_schur.cuh (internal) - separator stage of a solve (subdomains.h) by the blocks of step_persistent.cu,
 * one tile of S^-1 each. */
#ifndef SUP_CUDA_PERSISTENT_SCHUR_CUH
#define SUP_CUDA_PERSISTENT_SCHUR_CUH

#include "cuda/persistent_view.cuh"

/* Residual of a separator node, summed over its slots in their order. */
static __device__ float4 poll_separator_residual(const sup_gpu_message *slot, int2 range, unsigned epoch)
{
    enum { AT_ONCE = 4 };
    float4 sum = make_float4(0.0f, 0.0f, 0.0f, 0.0f);
#pragma unroll 1
    for (int first = range.x; first < range.y; first += AT_ONCE) {
        int index[AT_ONCE];
        uint4 message[AT_ONCE];
#pragma unroll
        for (int k = 0; k < AT_ONCE; k++)
            index[k] = first + k < range.y ? first + k : -1;
        poll<AT_ONCE>(slot, index, epoch, message);
#pragma unroll
        for (int k = 0; k < AT_ONCE; k++)
            sum = minus(sum, vector_of(message[k]));
    }
    return sum;
}

/* A few rows of the tile times the residual at its columns, by a warp; published immediately. Lane k < TILE_ROWS
 * returns the product of its row's result with the residual there. */
static __device__ float multiply_rows(const tile_view &t, int first, sup_gpu_message *out, unsigned epoch)
{
    const unsigned all = 0xffffffffu;
    const int lane = threadIdx.x % 32, quarters = t.columns / 4;
    const float4 *residual = (const float4 *)t.residual, *rows = (const float4 *)t.numbers;
    float sum[16]; /* row by row */
#pragma unroll
    for (int i = 0; i < 16; i++)
        sum[i] = 0.0f;
#pragma unroll 2
    for (int j = lane; j < quarters; j += 32) {
        const float4 v[3] = {residual[j], residual[quarters + j], residual[2 * quarters + j]};
#pragma unroll
        for (int r = 0; r < TILE_ROWS; r++) {
            const float4 m = rows[min(first + r, t.row_count - 1) * quarters + j];
#pragma unroll
            for (int k = 0; k < 3; k++)
                sum[3 * r + k] =
                    fmaf(m.x, v[k].x, fmaf(m.y, v[k].y, fmaf(m.z, v[k].z, fmaf(m.w, v[k].w, sum[3 * r + k]))));
        }
    }
    const float total = warp_sums<16>(sum);
    const int own = lane < TILE_ROWS ? lane : 0, row = first + own;
    const float x = __shfl_sync(all, total, 6 * own), y = __shfl_sync(all, total, 6 * own + 2);
    const float z = __shfl_sync(all, total, 6 * own + 4);
    if (lane >= TILE_ROWS || row >= t.row_count) return 0.0f;
    publish(out + row, x, y, z, epoch);
    return dot(make_float4(x, y, z, 0.0f), t.row_residual[row]);
}

/* One separator solve, from the subdomains' messages of an epoch. A barrier must precede the next use of `sums`. */
static __device__ void solve_separator(const sup_gpu_system &s, const sup_gpu_messages &messages, const tile_view &t,
                                       unsigned epoch)
{
    const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    __syncwarp(); /* messages of the warp's own lanes are published */
#pragma unroll 1
    for (int i = threadIdx.x; i < t.columns + t.row_count && t.row_count > 0; i += T) {
        const float4 v = poll_separator_residual(messages.slot[epoch & 1], t.range[i], epoch);
        if (i < t.columns)
            t.residual[i] = v.x, t.residual[t.columns + i] = v.y, t.residual[2 * t.columns + i] = v.z;
        else
            t.row_residual[i - t.columns] = v;
    }
    __syncthreads();
    float product = 0.0f;
#pragma unroll 1
    for (int first = warp * TILE_ROWS; first < t.row_count; first += T / 32 * TILE_ROWS)
        product += multiply_rows(t, first, messages.separator[epoch & 1] + t.first_out, epoch);
    for (int d = 4; d > 0; d >>= 1) /* TILE_ROWS lanes have a product */
        product += __shfl_xor_sync(0xffffffffu, product, d);
    if (lane == 0) t.sums[warp] = product;
    __syncthreads();
    if (warp > 0) return;
    float total = lane < T / 32 ? t.sums[lane] : 0.0f;
    for (int d = 8; d > 0; d >>= 1)
        total += __shfl_xor_sync(0xffffffffu, total, d);
    if (lane == 0) publish(messages.sum[epoch & 1] + 3 * s.subdomain_count + blockIdx.x, total, 0.0f, 0.0f, epoch);
}

#endif

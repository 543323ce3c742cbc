/* schur.cu - separator stage of the solve: d_t = S^-1 (r_t - sum_p A_tp y_p), for one character or for a crowd. See
 * subdomains.h. */
#include "cuda/step_control.cuh"
#include "cuda/tensor.cuh"
#include "cuda/schur_residual.cuh"

enum { SINGLE_THREADS = 32 * SUP_GPU_SCHUR_ROWS_SINGLE };

/* Whether conjugate gradients of a character need this solve. */
static __device__ bool needs_solve(const sup_gpu_state &st, int character, int solve)
{
    const sup_gpu_cg &previous = st.cg[(size_t)character * SUP_RESPONSE_MAX_SOLVES + solve - 1];
    return st.progress[character].contacts > 0 && !previous.ended && !previous.last;
}

/* Single characters: one warp per row. */
__global__ void __launch_bounds__(SINGLE_THREADS)
    schur_single_kernel(const __grid_constant__ sup_gpu_system s, const __grid_constant__ sup_gpu_state st,
                        int iteration, int solve)
{
    SHARED_ARRAY(float, residual); /* [3*separator_stride] x, then y, then z */
    __shared__ float products[SUP_GPU_SCHUR_ROWS_SINGLE];
    int character = blockIdx.y, lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    int row = blockIdx.x * SUP_GPU_SCHUR_ROWS_SINGLE + warp, quarters = s.separator_stride / 4;
    const float4 *slot = st.slot + (size_t)character * s.slot_count;
    const float4 *inverse =
        (const float4 *)(s.schur_inverse + (size_t)min(row, s.separator_count - 1) * s.separator_stride);
    enum { AHEAD = 12 };
    float4 m[AHEAD]; /* loaded before the residual is known */
#pragma unroll
    for (int j = 0; j < AHEAD; j++)
        m[j] = lane + 32 * j < quarters ? inverse[lane + 32 * j] : make_float4(0.0f, 0.0f, 0.0f, 0.0f);
    wait_for_kernel();
    if (is_finished(st, iteration, character) || (solve > 0 && !needs_solve(st, character, solve))) return;
    for (int i = threadIdx.x; i < s.separator_stride; i += SINGLE_THREADS) {
        float4 v = i < s.separator_count ? separator_residual(slot, s.separator_first[i], s.separator_first[i + 1])
                                         : make_float4(0.0f, 0.0f, 0.0f, 0.0f);
        residual[i] = v.x, residual[s.separator_stride + i] = v.y, residual[2 * s.separator_stride + i] = v.z;
    }
    __syncthreads();
    float sum[3] = {0.0f, 0.0f, 0.0f};
#pragma unroll
    for (int j = 0; j < AHEAD; j++)
        for (int k = 0; k < 3; k++) {
            if (lane + 32 * j >= quarters) continue;
            float4 v = ((const float4 *)residual)[k * quarters + lane + 32 * j];
            sum[k] = fmaf(m[j].x, v.x, fmaf(m[j].y, v.y, fmaf(m[j].z, v.z, fmaf(m[j].w, v.w, sum[k]))));
        }
#pragma unroll 3
    for (int j = lane + 32 * AHEAD; j < quarters; j += 32) {
        float4 n = inverse[j];
        for (int k = 0; k < 3; k++) {
            float4 v = ((const float4 *)residual)[k * quarters + j];
            sum[k] = fmaf(n.x, v.x, fmaf(n.y, v.y, fmaf(n.z, v.z, fmaf(n.w, v.w, sum[k]))));
        }
    }
    for (int d = 16; d > 0; d >>= 1)
        for (int k = 0; k < 3; k++)
            sum[k] += __shfl_xor_sync(0xffffffffu, sum[k], d);
    if (lane == 0) {
        products[warp] = 0.0f;
        if (row < s.separator_count) {
            st.separator[(size_t)character * s.separator_count + row] = make_float4(sum[0], sum[1], sum[2], 0.0f);
            products[warp] = sum[0] * residual[row] + sum[1] * residual[s.separator_stride + row] +
                             sum[2] * residual[2 * s.separator_stride + row];
        }
    }
    __syncthreads();
    if (threadIdx.x > 0) return;
    float total = 0.0f;
    for (int k = 0; k < SUP_GPU_SCHUR_ROWS_SINGLE; k++)
        total += products[k];
    st.sums[((size_t)character * SUP_GPU_SUMS + SUM_NEWEST) * st.sum_stride + s.subdomain_count + blockIdx.x] = total;
}

/* --- Crowds --- */

enum {
    COLUMNS = 3 * SUP_GPU_SCHUR_LOCKSTEP,
    CHUNK = 32,
    STAGES = 2,
    ROW_STRIDE = SUP_GPU_SCHUR_ROWS + 8, /* strides of a chunk in shared memory, chosen to avoid bank conflicts */
    COLUMN_STRIDE = COLUMNS + 8,
    STAGE = CHUNK * (ROW_STRIDE + COLUMN_STRIDE),
    TILES = COLUMNS / 8
};

/* Whether any character of a group needs this solve. */
static __device__ bool group_needs_solve(const sup_gpu_state &st, int group, int iteration, int solve)
{
    bool any = false;
    for (int c = group * SUP_GPU_SCHUR_LOCKSTEP; c < min(st.count, (group + 1) * SUP_GPU_SCHUR_LOCKSTEP); c++)
        any = any || (!is_finished(st, iteration, c) && (solve == 0 || needs_solve(st, c, solve)));
    return any;
}

__global__ void __launch_bounds__(256)
    schur_gather_kernel(const __grid_constant__ sup_gpu_system s, const __grid_constant__ sup_gpu_state st,
                        int iteration, int solve)
{
    int group = blockIdx.y, node = blockIdx.x * 256 + threadIdx.x;
    int character = group * SUP_GPU_SCHUR_LOCKSTEP + blockIdx.z;
    wait_for_kernel();
    if (node >= s.separator_stride || !group_needs_solve(st, group, iteration, solve)) return;
    float4 v = make_float4(0.0f, 0.0f, 0.0f, 0.0f);
    if (character < st.count && node < s.separator_count)
        v = separator_residual(st.slot + (size_t)character * s.slot_count, s.separator_first[node],
                               s.separator_first[node + 1]);
    float *to = st.rhs + ((size_t)group * s.separator_stride + node) * COLUMNS + blockIdx.z * 3;
    to[0] = v.x, to[1] = v.y, to[2] = v.z;
}

/* Begins to copy a chunk of the terms: rows of S^-1, which is symmetric, then the residuals of the separator. */
static __device__ void load_chunk(const sup_gpu_system &s, const float *inverse, const float *from, int chunk,
                                  float *stage)
{
    if (chunk < s.separator_stride) {
        for (int i = threadIdx.x; i < CHUNK * SUP_GPU_SCHUR_ROWS / 4; i += 256) {
            const int term = i / (SUP_GPU_SCHUR_ROWS / 4), row = i % (SUP_GPU_SCHUR_ROWS / 4) * 4;
            int j = min(chunk + term, s.separator_count - 1); /* beyond the last: multiplied by zero */
            copy_chunk(stage + term * ROW_STRIDE + row, inverse + (size_t)j * s.separator_stride + row);
        }
        for (int i = threadIdx.x; i < CHUNK * COLUMNS / 4; i += 256)
            copy_chunk(stage + CHUNK * ROW_STRIDE + i / (COLUMNS / 4) * COLUMN_STRIDE + i % (COLUMNS / 4) * 4,
                       from + (size_t)chunk * COLUMNS + 4 * i);
    }
    end_group();
}

/* Rows of S^-1 times columns of characters, chunk by chunk; the next chunk is copied while one is multiplied. A warp
 * has 16 rows and all columns; two warps share them, half of the terms each, summed in order. */
__global__ void __launch_bounds__(256, 3)
    schur_crowd_kernel(const __grid_constant__ sup_gpu_system s, const __grid_constant__ sup_gpu_state st,
                       int iteration, int solve)
{
    __shared__ __align__(16) float stages[STAGES * STAGE];
    float *total = stages; /* [SUP_GPU_SCHUR_ROWS*(COLUMNS+1)] afterwards */
    const int group = blockIdx.y, lane = threadIdx.x % 32, tile_row = lane / 4, at = lane % 4;
    const int slice = threadIdx.x / 128, row = threadIdx.x / 32 % 4 * 16 + tile_row;
    const float *from = st.rhs + (size_t)group * s.separator_stride * COLUMNS;
    const float *inverse = s.schur_inverse + blockIdx.x * SUP_GPU_SCHUR_ROWS;
    float sum[TILES][4] = {};
    wait_for_kernel();
    if (!group_needs_solve(st, group, iteration, solve)) return;
    for (int k = 0; k < STAGES - 1; k++)
        load_chunk(s, inverse, from, k * CHUNK, stages + k * STAGE);
    for (int chunk = 0, stage = 0; chunk < s.separator_stride;
         chunk += CHUNK, stage = stage + 1 < STAGES ? stage + 1 : 0) {
        wait_groups<STAGES - 2>();
        __syncthreads();
        load_chunk(s, inverse, from, chunk + (STAGES - 1) * CHUNK, stages + (stage + STAGES - 1) % STAGES * STAGE);
        const float *m = stages + stage * STAGE + row, *in = stages + stage * STAGE + CHUNK * ROW_STRIDE + tile_row;
#pragma unroll
        for (int k = 0; k < CHUNK; k += 16) {
            const int k0 = k + slice * 8 + at, k1 = k0 + 4;
            const float a[4] = {m[k0 * ROW_STRIDE], m[k0 * ROW_STRIDE + 8], m[k1 * ROW_STRIDE], m[k1 * ROW_STRIDE + 8]};
            float b[TILES][2];
#pragma unroll
            for (int t = 0; t < TILES; t++)
                b[t][0] = in[k0 * COLUMN_STRIDE + 8 * t], b[t][1] = in[k1 * COLUMN_STRIDE + 8 * t];
            multiply_tiles<TILES>(sum, a, b);
        }
    }
    wait_groups<0>();
    for (int pass = 0; pass < 2; pass++) { /* one slice after the other */
        __syncthreads();
        if (slice != pass) continue;
#pragma unroll
        for (int i = 0; i < 4 * TILES; i++) {
            float *to = total + (row + i % 4 / 2 * 8) * (COLUMNS + 1) + i / 4 * 8 + 2 * at + i % 2;
            *to = pass == 0 ? sum[i / 4][i % 4] : *to + sum[i / 4][i % 4];
        }
    }
    __syncthreads();
    for (int i = threadIdx.x; i < SUP_GPU_SCHUR_ROWS * SUP_GPU_SCHUR_LOCKSTEP; i += 256) {
        int r = i % SUP_GPU_SCHUR_ROWS, c = i / SUP_GPU_SCHUR_ROWS, character = group * SUP_GPU_SCHUR_LOCKSTEP + c;
        int node = blockIdx.x * SUP_GPU_SCHUR_ROWS + r;
        const float *d = total + r * (COLUMNS + 1) + 3 * c, *b = from + (size_t)node * COLUMNS + 3 * c;
        float product = 0.0f;
        if (node < s.separator_count && character < st.count) {
            st.separator[(size_t)character * s.separator_count + node] = make_float4(d[0], d[1], d[2], 0.0f);
            product = d[0] * b[0] + d[1] * b[1] + d[2] * b[2];
        }
        for (int k = 16; k > 0; k >>= 1) /* a warp has 32 rows of one character */
            product += __shfl_xor_sync(0xffffffffu, product, k);
        if (threadIdx.x % 32 == 0 && character < st.count)
            st.sums[((size_t)character * SUP_GPU_SUMS + SUM_NEWEST) * st.sum_stride + s.subdomain_count +
                    blockIdx.x * 2 + r / 32] = product;
    }
}

/* --- Launches --- */

static size_t single_shared(const sup_gpu_system *system)
{
    return (size_t)system->separator_stride * 3 * sizeof(float);
}

extern "C" size_t sup_gpu_schur_shared(const sup_gpu_system *system)
{
    return system->lockstep > 1 ? 0 : single_shared(system);
}

extern "C" int32_t sup_gpu_schur_sum_count(const sup_gpu_system *system)
{
    return system->lockstep > 1 ? system->separator_stride / SUP_GPU_SCHUR_ROWS * 2
                                : (system->separator_count + SUP_GPU_SCHUR_ROWS_SINGLE - 1) / SUP_GPU_SCHUR_ROWS_SINGLE;
}

extern "C" int sup_gpu_schur_prepare(const sup_gpu_system *system)
{
    if (system->lockstep > 1) return 0;
    return (int)cudaFuncSetAttribute(schur_single_kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                     (int)single_shared(system));
}

extern "C" int sup_gpu_schur(const sup_gpu_system *system, const sup_gpu_state *state, int32_t iteration, int32_t solve,
                             void *stream)
{
    const sup_gpu_system &s = *system;
    const sup_gpu_state &st = *state;
    cudaStream_t on = (cudaStream_t)stream;
    if (s.separator_count == 0) return 0;
    if (s.lockstep == 1) {
        dim3 grid(sup_gpu_schur_sum_count(&s), st.count);
        launch_early(schur_single_kernel, grid, SINGLE_THREADS, single_shared(&s), on, s, st, (int)iteration,
                     (int)solve);
        return (int)cudaGetLastError();
    }
    int groups = (st.count + SUP_GPU_SCHUR_LOCKSTEP - 1) / SUP_GPU_SCHUR_LOCKSTEP;
    launch_early(schur_gather_kernel, dim3((s.separator_stride + 255) / 256, groups, SUP_GPU_SCHUR_LOCKSTEP), 256, 0,
                 on, s, st, (int)iteration, (int)solve);
    launch_early(schur_crowd_kernel, dim3(s.separator_stride / SUP_GPU_SCHUR_ROWS, groups), 256, 0, on, s, st,
                 (int)iteration, (int)solve);
    return (int)cudaGetLastError();
}

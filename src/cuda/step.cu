/* step.cu - a step of projective dynamics on the device: the solver of methods/projective/solver.c, stage by stage.
 *
 * Based on: [komaritzan2022] Algorithm 2.1, eq. 2.7 to 2.16, and section 3.4.2 (projective skinning on a GPU). Deviation:
 * where the thesis launches about 310 kernels a step (ten local-global times ten PCG iterations), an iteration here is
 * two: every part of the tissue by a block of threads of its own, then the top (blocks.h). The solve is exact, so that
 * harmonic start and Anderson acceleration work as on the CPU.
 *
 *     start   inertial prediction, the anchors' pull, first half of its solve
 *     top     S^-1 of what the parts left over
 *     local   second half of the solve, the accelerated step, rotations, gradient, first half of the next solve
 *
 * A block handles one part of C characters: their inverses and prisms are read once. Sums are taken in a fixed order. */
#include "cuda/gpu.h"
#include "methods/projective/prism.h"

#define LIMIT SUP_BLOCK_LIMIT

/* Floats a row of right-hand sides of C characters, whole float4. */
template <int C> struct width {
    enum { value = (3 * C + 3) / 4 * 4 };
};

enum { SUM_ENERGY = 0, SUM_NEWEST = 1, SUM_OLDER = 2 };      /* of a local step */
enum { SUM_PRODUCT = 2, SUM_OLD = 3, SUM_NEW = 4 };          /* of the start */
#define ROUNDING 1e-6 /* what float rounding may do to the objective without being a rise */

/* --- Pieces of a block's work --- */

struct plan { /* what a character does in this kernel */
    int active, accepted, finish;
    int history; /* the newest direction's place */
    int base, target;
    float factor[SUP_GPU_HISTORY];
    float repeat;
};

/* A part and its characters; pointers into shared memory. */
template <int C> struct block_view {
    sup_block_part part;
    int first, live; /* characters */
    float *inverse;  /* [part.count*LIMIT] */
    float *in, *out; /* [LIMIT*width] */
    float *half;     /* [LIMIT*width*(slices-1)] */
    float *slots;    /* [most_slots*width] the newest direction at the top */
    float *left;     /* [most_slots*width] gradient there, as far as the part knows it */
    float *x;        /* [C*most_local*3] */
    float *force;    /* [18*most_prisms] */
    float *sums;     /* [32*SUP_GPU_SUMS] */
    const unsigned char *pack;
    template <typename A> __device__ const A *at(int array) const
    {
        return (const A *)(pack + part.pack[array]);
    }
    /* The place of the top of a slot, and whether this part takes care of it. */
    __device__ int top_place(int slot, bool &own) const
    {
        int place = at<int32_t>(SUP_PACK_PLACE)[slot];
        own = place >= 0;
        return own ? place : -1 - place;
    }
};

template <int C, int T> static size_t shared_bytes(const sup_gpu_system &s)
{
    size_t floats = (size_t)LIMIT * LIMIT + (size_t)(1 + T / LIMIT) * LIMIT * width<C>::value +
                    (size_t)2 * s.most_slots * width<C>::value + (size_t)18 * s.most_prisms + 32 * SUP_GPU_SUMS +
                    ((size_t)C * s.most_local * 3 + 3) / 4 * 4;
    return floats * sizeof(float) + (size_t)s.most_pack;
}

template <int C, int T>
static __device__ block_view<C> open_block(const sup_gpu_system &s, const sup_gpu_state &st, float *shared)
{
    const int w = width<C>::value;
    block_view<C> b;
    b.part = s.parts[blockIdx.x];
    b.first = blockIdx.y * C;
    b.live = min(C, st.count - b.first);
    b.inverse = shared;
    b.in = b.inverse + LIMIT * LIMIT;
    b.out = b.in + LIMIT * w;
    b.half = b.out + LIMIT * w;
    b.slots = b.half + (T / LIMIT - 1) * LIMIT * w;
    b.left = b.slots + s.most_slots * w;
    b.force = b.left + s.most_slots * w;
    b.sums = b.force + 18 * s.most_prisms;
    b.x = b.sums + 32 * SUP_GPU_SUMS;
    b.pack = (const unsigned char *)(b.x + (C * s.most_local * 3 + 3) / 4 * 4);
    return b;
}

static __device__ void copy_chunk(void *to, const void *from)
{
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"((unsigned)__cvta_generic_to_shared(to)), "l"(from));
}

/* Begins to copy the part's arrays, then its inverse, into shared memory. */
template <int C, int T> static __device__ void load_part(const sup_gpu_system &s, const block_view<C> &b)
{
    for (int i = threadIdx.x * 16; i < b.part.pack_size; i += T * 16)
        copy_chunk((void *)(b.pack + i), s.pack + b.part.pack_first + i);
    asm volatile("cp.async.commit_group;");
    const float *from = s.inverse + (size_t)blockIdx.x * LIMIT * LIMIT;
    for (int i = threadIdx.x * 4; i < b.part.count * LIMIT; i += T * 4)
        copy_chunk(b.inverse + i, from + i);
    asm volatile("cp.async.commit_group;");
}

/* The arrays are there; the inverse as well. Own copies only: a barrier must follow. */
static __device__ void wait_pack()
{
    asm volatile("cp.async.wait_group 1;");
}

static __device__ void wait_inverse()
{
    asm volatile("cp.async.wait_group 0;");
}

/* Threads from D on, T - D of them: the others are doing something else. */
template <int T, int D> static __device__ void meet()
{
    if (D == 0)
        __syncthreads();
    else
        asm volatile("bar.sync 1, %0;" ::"n"(T - D) : "memory");
}

/* out = inverse * in for all right-hand sides. Several threads share a row; their sums are added in order. */
template <int C, int T, int D> static __device__ void multiply(const block_view<C> &b)
{
    const int w = width<C>::value, slices = (T - D) / LIMIT;
    int thread = threadIdx.x - D, row = thread % LIMIT, slice = thread / LIMIT, n = b.part.count;
    float sum[width<C>::value];
#pragma unroll
    for (int k = 0; k < w; k++)
        sum[k] = 0.0f;
    if (row < n) {
#pragma unroll 8
        for (int j = slice; j < n; j += slices) {
            float m = b.inverse[j * LIMIT + row];
            const float4 *in = (const float4 *)(b.in + j * w);
#pragma unroll
            for (int k = 0; k < w / 4; k++) {
                float4 v = in[k];
                sum[4 * k] = fmaf(m, v.x, sum[4 * k]);
                sum[4 * k + 1] = fmaf(m, v.y, sum[4 * k + 1]);
                sum[4 * k + 2] = fmaf(m, v.z, sum[4 * k + 2]);
                sum[4 * k + 3] = fmaf(m, v.w, sum[4 * k + 3]);
            }
        }
        if (slice > 0)
#pragma unroll
            for (int k = 0; k < w; k++)
                b.half[((slice - 1) * w + k) * LIMIT + row] = sum[k];
    }
    meet<T, D>();
    if (slice == 0 && row < n)
#pragma unroll
        for (int k = 0; k < w; k++) {
            float total = sum[k];
#pragma unroll
            for (int h = 0; h < slices - 1; h++)
                total += b.half[(h * w + k) * LIMIT + row];
            b.out[row * w + k] = total;
        }
    meet<T, D>();
}

/* Adds up `count` values of every thread, in a fixed order, into the sums of the character and part. */
template <int T>
static __device__ void reduce(float *shared, const float *values, int count, const sup_gpu_state &st, int character,
                              const int *slot_of)
{
    int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    for (int k = 0; k < count; k++) {
        float v = values[k];
        for (int d = 16; d > 0; d >>= 1)
            v += __shfl_xor_sync(0xffffffffu, v, d);
        if (lane == 0) shared[k * 32 + warp] = v;
    }
    __syncthreads();
    if (threadIdx.x < count) {
        float total = 0.0f;
        for (int k = 0; k < T / 32; k++)
            total += shared[threadIdx.x * 32 + k];
        st.sums[((size_t)character * SUP_GPU_SUMS + slot_of[threadIdx.x]) * st.sum_rows + blockIdx.x] = total;
    }
    __syncthreads();
}

/* First half of a solve: `in` holds r of the part, `left` the gradient at its slots. y goes out, gradient + A_tp y_p into
 * the slots, r . y into the sums. */
template <int C, int T>
static __device__ void forward(const sup_gpu_system &s, const sup_gpu_state &st, const block_view<C> &b)
{
    const int w = width<C>::value;
    const uint16_t *begin = b.template at<uint16_t>(SUP_PACK_COL_BEGIN), *row = b.template at<uint16_t>(SUP_PACK_COL_ROW);
    const float *value = b.template at<float>(SUP_PACK_COL_VALUE);
    const int32_t *slot = b.template at<int32_t>(SUP_PACK_SLOT);
    multiply<C, T, 0>(b);
    for (int c = 0; c < b.live; c++) {
        float *y = st.y + ((size_t)(b.first + c) * s.interior_count + b.part.first) * 3, product = 0.0f;
        float *to = st.slot + (size_t)(b.first + c) * s.top_count * s.top_fan * 3;
        for (int i = threadIdx.x; i < (b.part.count + b.part.slot_count) * 3; i += T) {
            int local = i / 3, k = 3 * c + i - 3 * local;
            if (local < b.part.count) {
                float v = b.out[local * w + k];
                product = fmaf(v, b.in[local * w + k], product);
                y[i] = v;
                continue;
            }
            local -= b.part.count;
            float sum = b.left[local * w + k];
            for (int e = begin[local]; e < begin[local + 1]; e++)
                sum = fmaf(value[e], b.out[row[e] * w + k], sum);
            to[slot[local] * 3 + i % 3] = sum;
        }
        const int newest = SUM_NEWEST;
        reduce<T>(b.sums, &product, 1, st, b.first + c, &newest);
    }
}

/* The newest direction at the part's places of the top into `slots`, of its own unknowns into `out`. By the threads from D
 * on. */
template <int C, int T, int D>
static __device__ void backward(const sup_gpu_system &s, const sup_gpu_state &st, const block_view<C> &b)
{
    const int w = width<C>::value, thread = threadIdx.x - D, all = T - D;
    const uint16_t *begin = b.template at<uint16_t>(SUP_PACK_ROW_BEGIN), *slot_of = b.template at<uint16_t>(SUP_PACK_ROW_SLOT);
    const float *value = b.template at<float>(SUP_PACK_ROW_VALUE);
    float y[(3 * LIMIT * C + all - 1) / all]; /* asked for early */
#pragma unroll
    for (int r = 0; r < (3 * LIMIT * C + all - 1) / all; r++) {
        int i = thread + r * all, c = i / (3 * b.part.count), k = i - c * 3 * b.part.count;
        y[r] = c < b.live ? st.y[((size_t)(b.first + c) * s.interior_count + b.part.first) * 3 + k] : 0.0f;
    }
    for (int i = thread; i < b.part.slot_count * 3 * b.live; i += all) {
        int c = i / (3 * b.part.slot_count), slot = i / 3 - c * b.part.slot_count, k = i % 3;
        bool own;
        int place = b.top_place(slot, own);
        b.slots[slot * w + 3 * c + k] = st.top[((size_t)(b.first + c) * s.top_count + place) * 3 + k];
    }
    meet<T, D>();
    for (int i = thread; i < b.part.count * 3 * C; i += all) {
        int row = i / (3 * C), k = i % (3 * C);
        float sum = 0.0f;
        for (int e = begin[row]; e < begin[row + 1]; e++)
            sum = fmaf(value[e], b.slots[slot_of[e] * w + k], sum);
        b.in[row * w + k] = sum;
    }
    meet<T, D>();
    multiply<C, T, D>(b);
#pragma unroll
    for (int r = 0; r < (3 * LIMIT * C + all - 1) / all; r++) {
        int i = thread + r * all, c = i / (3 * b.part.count), k = i - c * 3 * b.part.count;
        if (c < b.live) b.out[k / 3 * w + 3 * c + k % 3] = y[r] - b.out[k / 3 * w + 3 * c + k % 3];
    }
}

/* --- Start --- */

/* Eq. 2.9, and the pull of the anchors' second difference, which is the gradient that the start is solved from. */
template <int C, int T>
__global__ void __launch_bounds__(T)
    start_kernel(const __grid_constant__ sup_gpu_system s, const __grid_constant__ sup_gpu_state st)
{
    extern __shared__ __align__(16) float shared[];
    const int w = width<C>::value, slots[3] = {SUM_PRODUCT, SUM_OLD, SUM_NEW};
    block_view<C> b = open_block<C, T>(s, st, shared);
    load_part<C, T>(s, b);
    wait_pack();
    __syncthreads();
    for (int c = 0; c < b.live; c++) {
        const sup_gpu_orders &in = st.orders[b.first + c];
        const int phase = st.progress[b.first + c].phase;
        size_t at = (size_t)(b.first + c) * s.unknown_count * 3;
        const float *now = st.x[phase & 1] + at, *before = st.x[1 - (phase & 1)] + at;
        const float *bend = st.bend + (size_t)(b.first + c) * s.anchor_count * 3;
        float sums[3] = {0.0f, 0.0f, 0.0f};
        for (int i = threadIdx.x; i < (b.part.count + b.part.slot_count) * 3; i += T) {
            int local = i / 3, k = i - 3 * local, place = b.part.first + local;
            bool own = true;
            if (local >= b.part.count) place = s.interior_count + b.top_place(local - b.part.count, own);
            float pull = 0.0f;
            if (own) {
                int q = place * 3 + k, end = s.pull_first[place + 1];
                float x = now[q], moved = x - before[q], miss = x - st.guess[at + q], old = st.miss[at + q];
                float weight = s.diagonal[place];
#pragma unroll 4
                for (int e = s.pull_first[place]; e < end; e++)
                    pull = fmaf(s.pull_value[e], bend[s.pull_anchor[e] * 3 + k], pull);
                st.inertial[at + q] = fmaf(in.keep, moved, x) + in.fall[k];
                st.miss[at + q] = miss;
                sums[0] = fmaf(weight * old, miss, sums[0]);
                sums[1] = fmaf(weight * old, old, sums[1]);
                sums[2] = fmaf(weight * miss, miss, sums[2]);
            }
            if (local < b.part.count)
                b.in[local * w + 3 * c + k] = -pull;
            else
                b.left[(local - b.part.count) * w + 3 * c + k] = pull;
        }
        reduce<T>(b.sums, sums, 3, st, b.first + c, slots);
    }
    wait_inverse();
    __syncthreads();
    forward<C, T>(s, st, b);
}

/* --- The top --- */

/* What is left for the top: r_t - sum_p A_tp y_p; number i of it. */
static __device__ float top_rest(const sup_gpu_system &s, const float *slot, int i)
{
    int place = i / 3;
    const float *from = slot + place * s.top_fan * 3 + (i - 3 * place);
    float sum = 0.0f;
    for (int e = 0; e < s.top_fan; e++)
        sum += from[3 * e];
    return -sum;
}

static __device__ bool is_over(const sup_gpu_state &st, int turn, int character)
{
    return turn >= 0 && st.control[turn & 1][character].over;
}

enum { TOP_THREADS = 32 * SUP_GPU_TOP_ROWS_ALONE };

/* Single characters: a warp a row. */
__global__ void __launch_bounds__(TOP_THREADS)
    top_alone_kernel(const __grid_constant__ sup_gpu_system s, const __grid_constant__ sup_gpu_state st, int turn)
{
    extern __shared__ __align__(16) float rest[]; /* [3*top_stride] x, then y, then z */
    __shared__ float products[SUP_GPU_TOP_ROWS_ALONE];
    int character = blockIdx.y, lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    int row = blockIdx.x * SUP_GPU_TOP_ROWS_ALONE + warp, quarters = s.top_stride / 4;
    const float *slot = st.slot + (size_t)character * s.top_count * s.top_fan * 3;
    if (is_over(st, turn, character)) return;
#pragma unroll 4
    for (int i = threadIdx.x; i < s.top_stride * 3; i += TOP_THREADS)
        rest[i % 3 * s.top_stride + i / 3] = i < s.top_count * 3 ? top_rest(s, slot, i) : 0.0f;
    __syncthreads();
    float sum[3] = {0.0f, 0.0f, 0.0f};
    if (row < s.top_count) {
        const float4 *inverse = (const float4 *)(s.top_inverse + (size_t)row * s.top_stride);
#pragma unroll 3
        for (int j = lane; j < quarters; j += 32) {
            float4 m = inverse[j];
            for (int k = 0; k < 3; k++) {
                float4 v = ((const float4 *)rest)[k * quarters + j];
                sum[k] = fmaf(m.x, v.x, fmaf(m.y, v.y, fmaf(m.z, v.z, fmaf(m.w, v.w, sum[k]))));
            }
        }
    }
    for (int d = 16; d > 0; d >>= 1)
        for (int k = 0; k < 3; k++)
            sum[k] += __shfl_xor_sync(0xffffffffu, sum[k], d);
    if (lane == 0) {
        float product = 0.0f;
        for (int k = 0; row < s.top_count && k < 3; k++) {
            st.top[((size_t)character * s.top_count + row) * 3 + k] = sum[k];
            product = fmaf(sum[k], rest[k * s.top_stride + row], product);
        }
        products[warp] = product;
    }
    __syncthreads();
    if (threadIdx.x > 0) return;
    float total = 0.0f;
    for (int k = 0; k < SUP_GPU_TOP_ROWS_ALONE; k++)
        total += products[k];
    st.sums[((size_t)character * SUP_GPU_SUMS + SUM_NEWEST) * st.sum_rows + s.part_count + blockIdx.x] = total;
}

enum { TOP_COLUMNS = 3 * SUP_GPU_TOP_LOCKSTEP };

__global__ void __launch_bounds__(256)
    top_gather_kernel(const __grid_constant__ sup_gpu_system s, const __grid_constant__ sup_gpu_state st)
{
    int group = blockIdx.y, i = blockIdx.x * 256 + threadIdx.x;
    int character = group * SUP_GPU_TOP_LOCKSTEP + blockIdx.z, place = i / 3;
    if (i >= s.top_count * 3) return;
    float v = character < st.count ? top_rest(s, st.slot + (size_t)character * s.top_count * s.top_fan * 3, i) : 0.0f;
    st.rhs[((size_t)group * s.top_count + place) * TOP_COLUMNS + blockIdx.z * 3 + i - 3 * place] = v;
}

/* Crowds: rows x columns of characters. Each thread has 4 rows and 6 columns; four threads share them, each a quarter of
 * the terms, added up in order. */
__global__ void __launch_bounds__(256) top_crowd_kernel(const __grid_constant__ sup_gpu_system s, const __grid_constant__ sup_gpu_state st)
{
    extern __shared__ __align__(16) float rest[]; /* [top_count*TOP_COLUMNS], then sums */
    int group = blockIdx.y, rows = threadIdx.x % 16, columns = threadIdx.x / 16 % 4, slice = threadIdx.x / 64;
    int row = blockIdx.x * SUP_GPU_TOP_ROWS + rows * 4;
    const float *from = st.rhs + (size_t)group * s.top_count * TOP_COLUMNS;
    for (int i = threadIdx.x * 4; i < s.top_count * TOP_COLUMNS; i += 1024)
        *(float4 *)(rest + i) = *(const float4 *)(from + i);
    __syncthreads();
    float sum[4][6] = {{0}};
#pragma unroll 4
    for (int j = slice; j < s.top_count; j += 4) {
        float4 m = *(const float4 *)(s.top_inverse + (size_t)j * s.top_stride + row);
        const float2 *in = (const float2 *)(rest + j * TOP_COLUMNS + columns * 6);
        float2 v[3] = {in[0], in[1], in[2]};
        float a[4] = {m.x, m.y, m.z, m.w}, c[6] = {v[0].x, v[0].y, v[1].x, v[1].y, v[2].x, v[2].y};
#pragma unroll
        for (int r = 0; r < 4; r++)
#pragma unroll
            for (int k = 0; k < 6; k++)
                sum[r][k] = fmaf(a[r], c[k], sum[r][k]);
    }
    float *parts = rest + s.top_count * TOP_COLUMNS, *mine = parts + threadIdx.x * 25;
    for (int i = 0; i < 24; i++)
        mine[i] = sum[i / 6][i % 6];
    __syncthreads();
    /* Row r of 64, character c of 8: three sums each. */
    for (int i = threadIdx.x; i < SUP_GPU_TOP_ROWS * SUP_GPU_TOP_LOCKSTEP; i += 256) {
        int r = i % SUP_GPU_TOP_ROWS, c = i / SUP_GPU_TOP_ROWS, character = group * SUP_GPU_TOP_LOCKSTEP + c;
        int place = blockIdx.x * SUP_GPU_TOP_ROWS + r;
        float product = 0.0f;
        for (int k = 0; k < 3; k++) {
            int column = 3 * c + k;
            const float *p = parts + (column / 6 * 16 + r / 4) * 25 + r % 4 * 6 + column % 6;
            float total = p[0] + p[64 * 25] + p[128 * 25] + p[192 * 25];
            if (place >= s.top_count || character >= st.count) continue;
            st.top[((size_t)character * s.top_count + place) * 3 + k] = total;
            product = fmaf(total, rest[place * TOP_COLUMNS + column], product);
        }
        for (int d = 16; d > 0; d >>= 1) /* a warp has 32 rows of one character */
            product += __shfl_xor_sync(0xffffffffu, product, d);
        if (threadIdx.x % 32 == 0 && character < st.count)
            st.sums[((size_t)character * SUP_GPU_SUMS + SUM_NEWEST) * st.sum_rows + s.part_count + blockIdx.x * 2 +
                    r / 32] = product;
    }
}

/* --- The accelerated step: solver.c, on what the sums say --- */

/* A sum over the parts (and, the newest direction's, blocks of the top) by a warp. */
static __device__ double sum_rows(const sup_gpu_state &st, int character, int value, int rows)
{
    const float *from = st.sums + ((size_t)character * SUP_GPU_SUMS + value) * st.sum_rows;
    double sum = 0.0;
#pragma unroll 4
    for (int i = threadIdx.x % 32; i < rows; i += 32)
        sum += (double)from[i];
    for (int d = 16; d > 0; d >>= 1)
        sum += __shfl_xor_sync(0xffffffffu, sum, d);
    return sum;
}

/* As solve_small of solver.c. */
static __device__ void solve_small(int size, double b[SUP_GPU_HISTORY][SUP_GPU_HISTORY], double *c)
{
    double inverse[SUP_GPU_HISTORY];
    for (int i = 0; i < size; i++) {
        bool lost = !(b[i][i] > 0.0) || (i > 0 && !(b[i][i] > 1e-7 * b[0][0]));
        inverse[i] = lost ? 0.0 : 1.0 / b[i][i];
        for (int j = i + 1; j < size; j++) {
            double part = b[j][i] * inverse[i];
            for (int k = i + 1; k < size; k++)
                b[j][k] -= part * b[i][k];
            c[j] -= part * c[i];
        }
    }
    for (int i = size - 1; i >= 0; i--) {
        for (int j = i + 1; j < size; j++)
            c[i] -= b[i][j] * c[j];
        c[i] *= inverse[i];
    }
}

static __device__ void set_multiple(sup_gpu_control &c, int k, double multiple, float *factor)
{
    for (int i = 0; i <= k; i++) {
        c.coefficient[k + 1][i] = i < k ? c.coefficient[k][i] : multiple;
        factor[i] = i < k ? 0.0f : (float)multiple;
    }
}

/* Weights of the images that make the combined direction shortest, and the step to it (solver.c: anderson_weights,
 * set_step, step_slope, choose_step). */
static __device__ void choose_step(sup_gpu_control &c, float *factor)
{
    double b[SUP_GPU_HISTORY][SUP_GPU_HISTORY], t[SUP_GPU_HISTORY], weight[SUP_GPU_HISTORY];
    int k = c.history;
    for (int i = 0; i < k; i++) {
        for (int j = 0; j < k; j++)
            b[k - 1 - i][k - 1 - j] = c.inner[i][j] - c.inner[i][k] - c.inner[j][k] + c.inner[k][k];
        t[k - 1 - i] = c.inner[k][k] - c.inner[i][k];
    }
    solve_small(k, b, t);
    weight[k] = 1.0;
    for (int i = 0; i < k; i++) {
        weight[i] = t[k - 1 - i];
        weight[k] -= weight[i];
    }
    double slope = 0.0, square = 0.0, plain = c.inner[k][k];
    for (int i = 0; i <= k; i++) {
        double next = weight[i];
        for (int j = i + 1; j <= k; j++)
            next += weight[j] * c.coefficient[j][i];
        c.coefficient[k + 1][i] = next;
        factor[i] = (float)(next - (i < k ? c.coefficient[k][i] : 0.0));
    }
    for (int i = 0; i <= k; i++) {
        slope -= (double)factor[i] * c.inner[i][k];
        for (int j = 0; j <= k; j++)
            square += (double)factor[i] * (double)factor[j] * c.inner[i][j];
    }
    if (slope > -0.5 * plain || square > 36.0 * plain) set_multiple(c, k, 1.9, factor);
}

/* What the last local step found (sums, [SUP_GPU_SUMS]) decides what comes next. Every part of the character finds the
 * same; the first one keeps it. */
static __device__ void decide(const sup_gpu_system &s, const sup_gpu_state &st, int character, bool last_turn,
                              const double *sums, sup_gpu_control &c, plan &p)
{
    const sup_gpu_orders &in = st.orders[character];
    double energy = sums[SUM_ENERGY], newest = sums[SUM_NEWEST];
    const double *older = sums + SUM_OLDER;
    int k = c.history;
    bool rose = c.done > 0 && !(energy <= c.last + ROUNDING * fabs(c.last));
    p.active = 1;
    p.target = 3 - c.base - c.current;
    p.accepted = !(rose && c.accelerated);
    if (!p.accepted) { /* back to the last iterate, and from there the plain step */
        set_multiple(c, k - 1, 1.0, p.factor);
        p.history = k;
        p.base = c.base;
        c.accelerated = 0;
        c.rejected++;
        p.finish = last_turn;
        c.current = p.target;
    } else {
        for (int j = 0; j < k; j++)
            c.inner[j][k] = c.inner[k][j] = -older[j];
        c.inner[k][k] = newest;
        c.last = energy;
        c.done++;
        double gain = 0.5 * newest;
        bool stop = !in.plain && (gain <= (double)in.tolerance * energy || gain <= 1e-12 * (double)s.weight_sum);
        c.accelerated = !in.plain && k > 0 && k + 1 < SUP_GPU_HISTORY;
        if (c.accelerated)
            choose_step(c, p.factor);
        else
            set_multiple(c, k, 1.0, p.factor);
        p.history = k;
        p.base = c.current;
        c.base = c.current;
        c.current = p.target;
        c.history = k + 1 < SUP_GPU_HISTORY ? k + 1 : 0;
        p.finish = last_turn || stop || c.done >= in.most;
    }
    c.over = p.finish;
    if (blockIdx.x == 0 && p.finish) {
        st.progress[character].iterations = c.done;
        st.progress[character].rejected = c.rejected;
        st.progress[character].objective = (float)c.last;
    }
}

/* The first turn: nothing is known but how much of the last miss to repeat (solver.c: miss_to_repeat). */
static __device__ void begin(const sup_gpu_state &st, int character, const double *sums, plan &p)
{
    double product = sums[SUM_PRODUCT], larger = fmax(sums[SUM_OLD], sums[SUM_NEW]);
    p.active = 1;
    p.accepted = 1;
    p.finish = 0;
    p.history = 0;
    p.base = p.target = 0;
    p.repeat = product > 0.0 && larger > 0.0 ? (float)(product / larger) : 0.0f;
    if (blockIdx.x != 0) return;
    sup_gpu_control &c = st.control[0][character];
    c.last = 0.0;
    c.history = c.done = c.accelerated = c.rejected = c.over = 0;
    c.current = 0;
    c.base = 1;
}

/* The step: own unknowns and places of the top into shared memory; what the part owns to where it is kept. */
template <int C, int T>
static __device__ void move(const sup_gpu_system &s, const sup_gpu_state &st, const block_view<C> &b, const plan &p,
                            int turn, int c)
{
    const int w = width<C>::value, phase = st.progress[b.first + c].phase;
    size_t at = (size_t)(b.first + c) * s.unknown_count * 3;
    const bool plain = st.orders[b.first + c].plain != 0;
    const float *base = turn == 0 ? plain ? st.inertial : st.x[phase & 1] : st.iterate[p.base];
    float *to = p.finish ? st.x[1 - (phase & 1)] : st.iterate[p.target], *x = b.x + c * s.most_local * 3;
    for (int i = threadIdx.x; i < (b.part.count + b.part.slot_count) * 3; i += T) {
        int local = i / 3, k = i - 3 * local, place = b.part.first + local;
        bool own = true;
        float d;
        if (local < b.part.count)
            d = b.out[local * w + 3 * c + k];
        else {
            local -= b.part.count;
            place = s.interior_count + b.top_place(local, own);
            d = b.slots[local * w + 3 * c + k];
        }
        size_t q = at + (size_t)(place * 3 + k);
        float next = base[q];
        if (turn > 0) {
            float old[SUP_GPU_HISTORY];
#pragma unroll
            for (int j = 0; j < SUP_GPU_HISTORY; j++) /* all are asked for before the first is used */
                old[j] = j < p.history ? st.direction[j][q] : 0.0f;
#pragma unroll
            for (int j = 0; j < SUP_GPU_HISTORY; j++)
                if (j < p.history) next = fmaf(p.factor[j], old[j], next);
            if (p.accepted) next = fmaf(p.factor[p.history], d, next);
            if (p.accepted && own) st.direction[p.history][q] = d;
        } else if (!plain) { /* where a linear system would go, and part of the last miss */
            float guess = next + (next - st.x[1 - (phase & 1)][q]) + d;
            next = fmaf(p.repeat, st.miss[q], guess);
            if (own) st.guess[q] = guess;
        }
        x[i] = next;
        if (own) to[q] = next;
    }
}

/* Anchors where the phase has them, behind the unknowns; by the threads [0, count). */
template <int C>
static __device__ void load_anchors(const sup_gpu_system &s, const sup_gpu_state &st, const block_view<C> &b, int count)
{
    const int32_t *anchor = b.template at<int32_t>(SUP_PACK_ANCHOR);
    for (int c = 0; c < b.live; c++) {
        const float *from =
            st.anchors[st.progress[b.first + c].phase % 3] + (size_t)(b.first + c) * s.anchor_count * 3;
        float *to = b.x + c * s.most_local * 3 + (b.part.count + b.part.slot_count) * 3;
#pragma unroll 4
        for (int i = threadIdx.x; i < b.part.anchor_count * 3; i += count)
            to[i] = from[anchor[i / 3] * 3 + i % 3];
    }
}

/* --- The local step --- */

static __device__ sup_wide3 corner_position(const float *x, int place)
{
    return sup_wide3{x[3 * place], x[3 * place + 1], x[3 * place + 2]};
}

/* Forces of the part's prisms into shared memory; returns their energy. */
template <int C, int T>
static __device__ float prism_forces(const sup_gpu_system &s, const block_view<C> &b, const float *x, bool shared_rotation)
{
    float energy = 0.0f;
    for (int i = threadIdx.x; i < b.part.prism_count; i += T) {
        unsigned at = (unsigned)(b.part.prism_first + i), batch = at / SUP_PRISM_LANES, lane = at % SUP_PRISM_LANES;
        const uint16_t *corner = b.template at<uint16_t>(SUP_PACK_CORNER) + i;
        sup_wide3 last = corner_position(x, corner[CORNER_C1 * b.part.prism_stride]), edge[5], sum[5];
#pragma unroll
        for (int k = 0; k < 5; k++)
            edge[k] = sup_wide3_sub(corner_position(x, corner[k * b.part.prism_stride]), last);
        energy += prism(s.tets + batch * SUP_PRISM_FLOATS + lane, edge, 5, shared_rotation, sum);
        float *to = b.force + i;
        sup_wide3 rest = {0.0f, 0.0f, 0.0f};
#pragma unroll
        for (int k = 0; k < 5; k++) {
            to[(3 * k) * b.part.prism_stride] = sum[k].x;
            to[(3 * k + 1) * b.part.prism_stride] = sum[k].y;
            to[(3 * k + 2) * b.part.prism_stride] = sum[k].z;
            rest = sup_wide3_sub(rest, sum[k]);
        }
        to[15 * b.part.prism_stride] = rest.x;
        to[16 * b.part.prism_stride] = rest.y;
        to[17 * b.part.prism_stride] = rest.z;
    }
    return 0.5f * energy;
}

/* The gradient from the forces and momentum: into `in` as -g, at the top's slots into `left`, and its products with all
 * directions so far into values[SUM_OLDER..]. The newest direction is still in shared memory. */
template <int C, int T>
static __device__ void gradient(const sup_gpu_system &s, const sup_gpu_state &st, const block_view<C> &b, const float *x,
                                int c, int history, int newest, float *values)
{
    const int w = width<C>::value;
    size_t at = (size_t)(b.first + c) * s.unknown_count * 3;
    const uint16_t *begin = b.template at<uint16_t>(SUP_PACK_SUM_BEGIN), *from = b.template at<uint16_t>(SUP_PACK_SUM_FROM);
    const float *masses = b.template at<float>(SUP_PACK_MASS);
    for (int i = threadIdx.x; i < (b.part.count + b.part.slot_count) * 3; i += T) {
        int local = i / 3, k = i - 3 * local, place = b.part.first + local;
        bool interior = local < b.part.count, own;
        if (!interior) place = s.interior_count + b.top_place(local - b.part.count, own);
        size_t q = at + (size_t)(place * 3 + k);
        float mass = masses[local], d[SUP_GPU_HISTORY], inertial = mass > 0.0f ? st.inertial[q] : x[i], g = 0.0f;
#pragma unroll
        for (int j = 0; j < SUP_GPU_HISTORY; j++)
            d[j] = j < history && j != newest ? st.direction[j][q] : 0.0f;
        const float *force = b.force + k * b.part.prism_stride;
        for (int e = begin[local]; e < begin[local + 1]; e++)
            g += force[from[e]];
        float apart = x[i] - inertial, fresh;
        g = fmaf(mass, apart, g);
        values[SUM_ENERGY] = fmaf(0.5f * mass * apart, apart, values[SUM_ENERGY]);
        if (interior) {
            b.in[local * w + 3 * c + k] = -g;
            fresh = b.out[local * w + 3 * c + k];
        } else {
            b.left[(local - b.part.count) * w + 3 * c + k] = g;
            fresh = b.slots[(local - b.part.count) * w + 3 * c + k];
        }
#pragma unroll
        for (int j = 0; j < SUP_GPU_HISTORY; j++)
            if (j < history) values[SUM_OLDER + j] = fmaf(j == newest ? fresh : d[j], g, values[SUM_OLDER + j]);
    }
}

/* One local step of one character, after its move. */
template <int C, int T>
static __device__ void evaluate(const sup_gpu_system &s, const sup_gpu_state &st, const block_view<C> &b, const plan &p,
                                int turn, int c)
{
    const sup_gpu_orders &in = st.orders[b.first + c];
    float *x = b.x + (size_t)c * s.most_local * 3, values[SUP_GPU_SUMS];
#pragma unroll
    for (int k = 0; k < SUP_GPU_SUMS; k++)
        values[k] = 0.0f;
    values[SUM_ENERGY] = prism_forces<C, T>(s, b, x, in.shared != 0);
    __syncthreads();
    int full = p.accepted ? p.history + 1 : p.history; /* directions, before the memory starts anew */
    int history = turn == 0 || full >= SUP_GPU_HISTORY ? 0 : full;
    gradient<C, T>(s, st, b, x, c, history, turn > 0 && p.accepted ? p.history : -1, values);
    int slots[SUP_GPU_SUMS];
#pragma unroll
    for (int k = 0; k < SUP_GPU_SUMS; k++)
        slots[k] = k;
    reduce<T>(b.sums, values, SUM_OLDER + history, st, b.first + c, slots);
}

static __device__ void copy_control(sup_gpu_control *to, const sup_gpu_control *from)
{
    for (int i = threadIdx.x % 32; i < (int)(sizeof(sup_gpu_control) / sizeof(int)); i += 32)
        ((int *)to)[i] = ((const int *)from)[i];
    __syncwarp();
}

/* Sums by the first `threads` threads, then one thread a character decides. */
template <int C, int D>
static __device__ void decide_all(const sup_gpu_system &s, const sup_gpu_state &st, const block_view<C> &b, int turn,
                                  bool last_turn, int top_blocks, sup_gpu_control *controls, double *sums, plan *plans)
{
    int warp = threadIdx.x / 32, warps = D / 32;
    for (int c = warp; turn > 0 && c < b.live; c += warps)
        copy_control(&controls[c], &st.control[(turn - 1) & 1][b.first + c]);
    for (int i = warp; i < b.live * SUP_GPU_SUMS; i += warps) {
        int c = i / SUP_GPU_SUMS, value = i % SUP_GPU_SUMS;
        if (value >= SUM_OLDER + 3 && turn < value - SUM_OLDER) continue; /* not that many directions yet */
        double sum = sum_rows(st, b.first + c, value, s.part_count + (value == SUM_NEWEST ? top_blocks : 0));
        if (threadIdx.x % 32 == 0) sums[i] = sum;
    }
    asm volatile("bar.sync 2, %0;" ::"n"(D) : "memory");
    for (int c = warp; c < C; c += warps) {
        int character = b.first + c;
        bool live = c < b.live, over = live && turn > 0 && controls[c].over;
        if (threadIdx.x % 32 == 0) {
            plans[c].active = 0;
            if (live && turn == 0) begin(st, character, sums + c * SUP_GPU_SUMS, plans[c]);
            if (live && turn > 0 && !over)
                decide(s, st, character, last_turn, sums + c * SUP_GPU_SUMS, controls[c], plans[c]);
        }
        __syncwarp();
        if (live && turn > 0 && blockIdx.x == 0) copy_control(&st.control[turn & 1][character], &controls[c]);
    }
}

template <int C, int T>
__global__ void __launch_bounds__(T, C > 1 ? 2 : 1)
    local_kernel(const __grid_constant__ sup_gpu_system s, const __grid_constant__ sup_gpu_state st, int turn,
                 int last_turn, int top_blocks)
{
    /* For one character some threads decide while the others finish the solve; in a crowd other blocks fill the gaps. */
    enum { D = C == 1 ? 128 : T, BACK = C == 1 ? D : 0 };
    extern __shared__ __align__(16) float shared[];
    __shared__ plan plans[C];
    __shared__ sup_gpu_control controls[C];
    __shared__ double sums[C * SUP_GPU_SUMS];
    block_view<C> b = open_block<C, T>(s, st, shared);
    bool any = false, more = false;
    for (int c = 0; c < b.live; c++)
        any = any || turn == 0 || !is_over(st, turn - 1, b.first + c);
    if (!any) {
        if (blockIdx.x == 0 && threadIdx.x < b.live) st.control[turn & 1][b.first + threadIdx.x].over = 1;
        return;
    }
    load_part<C, T>(s, b);
    wait_inverse();
    __syncthreads();
    if (threadIdx.x < D) {
        decide_all<C, D>(s, st, b, turn, last_turn != 0, top_blocks, controls, sums, plans);
        load_anchors<C>(s, st, b, D);
    }
    if ((int)threadIdx.x >= BACK) backward<C, T, BACK>(s, st, b);
    __syncthreads();
    for (int c = 0; c < b.live; c++) {
        if (plans[c].active) move<C, T>(s, st, b, plans[c], turn, c);
        more = more || (plans[c].active && !plans[c].finish);
    }
    if (!more) return;
    __syncthreads();
    for (int c = 0; c < b.live; c++)
        if (plans[c].active && !plans[c].finish) evaluate<C, T>(s, st, b, plans[c], turn, c);
    forward<C, T>(s, st, b);
}

/* The phase goes on: what was solved for is now. */
__global__ void end_kernel(const __grid_constant__ sup_gpu_state st)
{
    int c = blockIdx.x * blockDim.x + threadIdx.x;
    if (c < st.count) st.progress[c].phase = (st.progress[c].phase + 1) % 6;
}

__global__ void still_kernel(const __grid_constant__ sup_gpu_system s, const __grid_constant__ sup_gpu_state st)
{
    int character = blockIdx.y, i = blockIdx.x * blockDim.x + threadIdx.x;
    const int phase = st.progress[character].phase;
    size_t at = (size_t)character * s.unknown_count * 3 + i, anchor = (size_t)character * s.anchor_count * 3 + i;
    if (i < s.unknown_count * 3) {
        float now = st.x[phase & 1][at];
        st.x[1 - (phase & 1)][at] = st.guess[at] = now;
        st.miss[at] = 0.0f;
    }
    if (i < s.anchor_count * 3) st.anchors[(phase + 1) % 3][anchor] = st.anchors[(phase + 2) % 3][anchor];
}

/* Vertex `i` of the skin, or unknown `i` of the others: one thread writes each place. */
__global__ void __launch_bounds__(256)
    rest_kernel(const __grid_constant__ sup_gpu_system s, const __grid_constant__ sup_gpu_state st,
                const __grid_constant__ sup_gpu_rest r, const float *joints, int skin)
{
    int character = blockIdx.y, i = blockIdx.x * 256 + threadIdx.x;
    size_t at = (size_t)character * s.unknown_count * 3, anchor = (size_t)character * s.anchor_count * 3;
    if (!skin) {
        if (i < s.unknown_count * 3) st.x[0][at + i] = r.rest[i];
        if (i < s.anchor_count * 3) st.anchors[1][anchor + i] = st.anchors[2][anchor + i] = st.anchors[0][anchor + i];
        return;
    }
    if (i >= r.skin_count) return;
    float sum[3] = {0.0f, 0.0f, 0.0f};
    const float *p = r.start_rest + 3 * (size_t)i;
    for (int k = 0; k < 4; k++) {
        const float *m = joints + ((size_t)character * r.joint_count + r.start_joint[4 * (size_t)i + k]) * 12;
        float weight = r.start_weight[4 * (size_t)i + k];
        for (int c = 0; c < 3; c++)
            sum[c] += weight * (m[4 * c] * p[0] + m[4 * c + 1] * p[1] + m[4 * c + 2] * p[2] + m[4 * c + 3]);
    }
    for (int c = 0; c < 3; c++)
        st.x[0][at + (size_t)r.place[i] * 3 + c] = sum[c];
}

__global__ void phase_kernel(const __grid_constant__ sup_gpu_state st)
{
    int c = blockIdx.x * blockDim.x + threadIdx.x;
    if (c < st.count) st.progress[c].phase = 0;
}

/* --- Launches --- */

enum { ALONE_THREADS = 384, CROWD_THREADS = 256 };

extern "C" size_t sup_gpu_step_shared(const sup_gpu_system *system, int32_t lockstep)
{
    return lockstep == 1 ? shared_bytes<1, ALONE_THREADS>(*system)
                         : shared_bytes<SUP_GPU_LOCKSTEP, CROWD_THREADS>(*system);
}

extern "C" size_t sup_gpu_top_shared(const sup_gpu_system *system, bool crowd)
{
    return (crowd ? (size_t)system->top_count * TOP_COLUMNS + 256 * 25 : (size_t)system->top_stride * 3) * sizeof(float);
}

extern "C" int sup_gpu_step_prepare(const sup_gpu_system *system, bool crowd)
{
    struct {
        const void *kernel;
        size_t shared;
    } const kernels[] = {
        {(const void *)start_kernel<1, ALONE_THREADS>, sup_gpu_step_shared(system, 1)},
        {(const void *)local_kernel<1, ALONE_THREADS>, sup_gpu_step_shared(system, 1)},
        {(const void *)start_kernel<SUP_GPU_LOCKSTEP, CROWD_THREADS>, sup_gpu_step_shared(system, SUP_GPU_LOCKSTEP)},
        {(const void *)local_kernel<SUP_GPU_LOCKSTEP, CROWD_THREADS>, sup_gpu_step_shared(system, SUP_GPU_LOCKSTEP)},
        {(const void *)top_alone_kernel, sup_gpu_top_shared(system, false)},
        {(const void *)top_crowd_kernel, crowd ? sup_gpu_top_shared(system, true) : 0},
    };
    for (size_t i = 0; i < sizeof kernels / sizeof kernels[0]; i++) {
        cudaError_t error = cudaFuncSetAttribute(kernels[i].kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                                 (int)kernels[i].shared);
        if (error != cudaSuccess) return (int)error;
    }
    return 0;
}

static int launch_top(const sup_gpu_system &s, const sup_gpu_state &st, bool crowd, int turn, cudaStream_t stream)
{
    if (s.top_count == 0) return 0;
    if (!crowd) {
        int blocks = (s.top_count + SUP_GPU_TOP_ROWS_ALONE - 1) / SUP_GPU_TOP_ROWS_ALONE;
        top_alone_kernel<<<dim3(blocks, st.count), TOP_THREADS, sup_gpu_top_shared(&s, false), stream>>>(s, st, turn);
        return (int)cudaGetLastError();
    }
    int groups = (st.count + SUP_GPU_TOP_LOCKSTEP - 1) / SUP_GPU_TOP_LOCKSTEP;
    top_gather_kernel<<<dim3((s.top_count * 3 + 255) / 256, groups, SUP_GPU_TOP_LOCKSTEP), 256, 0, stream>>>(s, st);
    top_crowd_kernel<<<dim3(s.top_stride / SUP_GPU_TOP_ROWS, groups), 256, sup_gpu_top_shared(&s, true), stream>>>(s, st);
    return (int)cudaGetLastError();
}

template <int C, int T>
static int launch_step(const sup_gpu_system &s, const sup_gpu_state &st, int most, cudaStream_t stream)
{
    dim3 grid(s.part_count, (st.count + C - 1) / C);
    size_t shared = sup_gpu_step_shared(&s, C);
    int top_blocks = C == 1 ? (s.top_count + SUP_GPU_TOP_ROWS_ALONE - 1) / SUP_GPU_TOP_ROWS_ALONE
                            : s.top_stride / SUP_GPU_TOP_ROWS * 2;
    start_kernel<C, T><<<grid, T, shared, stream>>>(s, st);
    int error = launch_top(s, st, C > 1, -1, stream);
    for (int turn = 0; error == 0 && turn <= most; turn++) {
        local_kernel<C, T><<<grid, T, shared, stream>>>(s, st, turn, turn == most, top_blocks);
        if (turn < most) error = launch_top(s, st, C > 1, turn, stream);
    }
    end_kernel<<<(st.count + 255) / 256, 256, 0, stream>>>(st);
    return error != 0 ? error : (int)cudaGetLastError();
}

extern "C" int sup_gpu_step(const sup_gpu_system *system, const sup_gpu_state *state, int32_t most, void *stream)
{
    if (state->count <= 2) return launch_step<1, ALONE_THREADS>(*system, *state, most, (cudaStream_t)stream);
    return launch_step<SUP_GPU_LOCKSTEP, CROWD_THREADS>(*system, *state, most, (cudaStream_t)stream);
}

extern "C" int sup_gpu_still(const sup_gpu_system *system, const sup_gpu_state *state, void *stream)
{
    int most = (system->unknown_count > system->anchor_count ? system->unknown_count : system->anchor_count) * 3;
    still_kernel<<<dim3((most + 255) / 256, state->count), 256, 0, (cudaStream_t)stream>>>(*system, *state);
    return (int)cudaGetLastError();
}

extern "C" int sup_gpu_reset(const sup_gpu_system *system, const sup_gpu_state *state, const sup_gpu_rest *rest,
                             const float *joints, void *stream)
{
    int most = (system->unknown_count > system->anchor_count ? system->unknown_count : system->anchor_count) * 3;
    cudaStream_t on = (cudaStream_t)stream;
    rest_kernel<<<dim3((most + 255) / 256, state->count), 256, 0, on>>>(*system, *state, *rest, joints, 0);
    rest_kernel<<<dim3((rest->skin_count + 255) / 256, state->count), 256, 0, on>>>(*system, *state, *rest, joints, 1);
    return sup_gpu_still(system, state, stream);
}

extern "C" int sup_gpu_first_phase(const sup_gpu_state *state, void *stream)
{
    phase_kernel<<<(state->count + 255) / 256, 256, 0, (cudaStream_t)stream>>>(*state);
    return (int)cudaGetLastError();
}

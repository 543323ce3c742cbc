/* step_block.cuh (internal) - a thread block that works on one subdomain of C characters: its shared memory,
 * products with the subdomain's inverse, sums, and the two halves of a solve (subdomains.h). */
#ifndef SUP_CUDA_STEP_BLOCK_CUH
#define SUP_CUDA_STEP_BLOCK_CUH

#include "cuda/step_control.cuh"
#include "cuda/tensor.cuh"

enum { STEP_SINGLE_THREADS = 512, STEP_CROWD_THREADS = 384 };

/* Maximum unknowns of a subdomain, for blocks of C characters. */
template <int C> struct limit {
    enum { value = C == 1 ? SUP_SUBDOMAIN_LIMIT_SINGLE : SUP_SUBDOMAIN_LIMIT };
};

/* Floats per row of right-hand sides of C characters, a multiple of 4. */
template <int C> struct width {
    enum { value = (3 * C + 3) / 4 * 4 };
};

/* Floats of the right-hand sides of a subdomain; products of crowds read four more. */
template <int C> struct in_size {
    enum { value = limit<C>::value * width<C>::value + (C > 1 ? 4 : 0) };
};

/* A subdomain and its characters; pointers into shared memory. */
template <int C> struct block_view {
    const sup_subdomain &subdomain; /* also in shared memory, after the first barrier */
    int first, live;                /* characters */
    const float *inverse; /* [subdomain.count*LIMIT] in shared memory for one character, in global memory for crowds */
    float *in, *out;      /* [LIMIT*width] */
    float *half;          /* [LIMIT*width*(slices-1)], the same memory as `force` */
    float *force;         /* [3*SUP_SUBDOMAIN_FORCES*max_prisms] in local_kernel, else [max_prisms] */
    float *slots;         /* [max_slots*width] the newest direction at the separator */
    float *slot_gradient; /* [max_slots*width] the subdomain's contribution to the gradient there */
    float *sums;          /* [32*SUP_GPU_SUMS_PADDED] */
    float *x;             /* [C*max_nodes*3] */
    float *foot_points;   /* [max_nodes*4] with volume; of character c at c % foot_point_count * foot_point_step */
    int max_nodes;        /* nodes: all, or without anchors that are not skin */
    int foot_point_count, foot_point_step;
    float *pressure; /* [C*max_region_slots], then the energies of the regions that the subdomain sums */
    const unsigned char *pack;
    const float *tets;         /* of its prisms, in batches */
    const float *blend_weight; /* and their regions (subdomains.h) */
    const uint16_t *blend_region_slot;
    __device__ block_view(const sup_subdomain &shared_subdomain) : subdomain(shared_subdomain)
    {
    }
    template <typename A> __device__ const A *at(int array) const
    {
        return (const A *)(pack + subdomain.pack[array]);
    }
    /* Index in a vector of an unknown or slot of the subdomain; `own`: whether the subdomain owns it. */
    __device__ int node(int interior_count, int local, bool &own) const
    {
        own = true;
        if (local < subdomain.count) return subdomain.first + local;
        int separator = at<int32_t>(SUP_PACK_NODE)[local - subdomain.count];
        own = separator >= 0;
        return interior_count + (own ? separator : -1 - separator);
    }
    /* Values of character c in the row of an unknown or slot. */
    __device__ float *row(float *unknowns, float *separators, int local, int c) const
    {
        const int w = width<C>::value;
        return (local < subdomain.count ? unknowns + local * w : separators + (local - subdomain.count) * w) + 3 * c;
    }
};

/* Sizes in shared memory. `F`: with the forces of prisms. Without `X` there are no positions: for kernels that only
 * solve. */
template <int C, int T, bool F = false, bool X = true> struct sizes {
    enum { LIMIT = limit<C>::value };
    int inverse, in, out, scratch, slots, slot_gradient, x, foot_points, pressure; /* floats */
    int max_nodes;
    __host__ __device__ sizes(const sup_gpu_system &s)
    {
        int half = (T / LIMIT - 1) * LIMIT * width<C>::value;
        int force = (F ? 3 * SUP_SUBDOMAIN_FORCES : X ? C : 0) * s.max_prisms;
        max_nodes = F ? s.max_local : s.max_foot_points;
        const int one = X && s.volume > 0.0f ? max_nodes * 4 : 0;
        inverse = C == 1 ? LIMIT * LIMIT : 0;
        in = in_size<C>::value;
        out = LIMIT * width<C>::value;
        scratch = half > force ? half : force;
        slots = s.max_slots * width<C>::value;
        slot_gradient = F || !X ? slots : 0;
        x = X ? (C * max_nodes * 3 + 3) / 4 * 4 : 0;
        foot_points = C * one;
        pressure = F ? (2 * C * s.max_region_slots + 3) / 4 * 4 : 0;
    }
    __host__ __device__ int pack_offset() const
    {
        return inverse + in + out + scratch + slots + slot_gradient + 32 * SUP_GPU_SUMS_PADDED + x + foot_points +
               pressure;
    }
    size_t bytes(const sup_gpu_system &s) const
    {
        return (size_t)pack_offset() * sizeof(float) + (size_t)s.max_pack;
    }
};

template <int C, int T, bool F = false, bool X = true>
static __device__ block_view<C> open_block(const sup_gpu_system &s, const sup_gpu_state &st, float *shared)
{
    enum { LIMIT = limit<C>::value };
    const sizes<C, T, F, X> size(s);
    __shared__ sup_subdomain subdomain;
    const sup_subdomain *from = &s.subdomains[min(
        (int)blockIdx.x, s.subdomain_count - 1)]; /* step_persistent.cu has blocks without a subdomain */
    for (int i = threadIdx.x; i < (int)(sizeof subdomain / sizeof(int)); i += T)
        ((int *)&subdomain)[i] = ((const int *)from)[i];
    block_view<C> b(subdomain);
    b.first = blockIdx.y * C;
    b.live = min(C, st.count - b.first);
    b.inverse = C == 1 ? shared : s.inverse + (size_t)blockIdx.x * LIMIT * LIMIT;
    b.in = shared + size.inverse;
    b.out = b.in + size.in;
    b.half = b.force = b.out + size.out;
    b.slots = b.half + size.scratch;
    b.slot_gradient = b.slots + size.slots;
    b.sums = b.slot_gradient + size.slot_gradient;
    b.x = b.sums + 32 * SUP_GPU_SUMS_PADDED;
    b.foot_points = b.x + size.x;
    b.pressure = b.foot_points + size.foot_points;
    b.foot_point_count = C;
    b.foot_point_step = size.max_nodes * 4;
    b.max_nodes = size.max_nodes;
    b.pack = (const unsigned char *)(shared + size.pack_offset());
    b.tets = s.tets + (size_t)from->prism_first / SUP_PRISM_LANES * SUP_PRISM_FLOATS;
    b.blend_weight = s.blend_weight + from->blend_first;
    b.blend_region_slot = s.blend_region_slot + from->blend_first;
    return b;
}

template <int T> static __device__ void load_pack(const sup_gpu_system &s, const void *pack)
{
    for (int i = threadIdx.x * 4; i < s.max_pack / 4; i += T * 4)
        copy_chunk((const float *)pack + i, (const float *)(s.pack + (size_t)blockIdx.x * s.max_pack) + i);
    end_group();
}

/* Begins to copy the subdomain's arrays, then its inverse, into shared memory. They are constant, so this may begin
 * before the previous kernel has ended; `wait_for_kernel` then waits for that kernel. */
template <int C, int T, bool F = false, bool X = true>
static __device__ void load_subdomain(const sup_gpu_system &s, float *shared)
{
    enum { LIMIT = limit<C>::value };
    const sizes<C, T, F, X> size(s);
    load_pack<T>(s, shared + size.pack_offset());
    const float *from = s.inverse + (size_t)blockIdx.x * LIMIT * LIMIT;
    for (int i = threadIdx.x * 4; C == 1 && i < LIMIT * LIMIT; i += T * 4)
        copy_chunk(shared + i, from + i);
    end_group();
}

/* Wait for the arrays; for the inverse as well. Only for the thread's own copies: a barrier must follow. */
static __device__ void wait_pack()
{
    wait_groups<1>();
}

static __device__ void wait_inverse()
{
    wait_groups<0>();
}

/* out = inverse * in for the right-hand sides of a crowd's characters: sixteen rows and a slice of the terms per
 * warp; slices are summed in order. Rows of `in` beyond the last are zero, like those of the inverse: `clear_padding`.
 * Columns beyond the last belong to the next row, and their products are ignored. */
template <int C, int T> static __device__ void multiply_crowd(const block_view<C> &b)
{
    enum {
        LIMIT = limit<C>::value,
        ROW = width<C>::value,
        SLICES = T / LIMIT,
        STRIPS = LIMIT / 16,
        TILES = (ROW + 7) / 8
    };
    const int lane = threadIdx.x % 32, group = lane / 4, at = lane % 4, n = b.subdomain.count;
    for (int task = threadIdx.x / 32; task < STRIPS * SLICES; task += T / 32) {
        const int slice = task / STRIPS, row = task % STRIPS * 16 + group;
        const float *inverse = b.inverse + (slice * 8 + at) * LIMIT + row, *in = b.in + (slice * 8 + at) * ROW + group;
        const int steps = row - group < n ? (n - slice * 8 + 8 * SLICES - 1) / (8 * SLICES) : 0;
        float sum[TILES][4] = {};
#pragma unroll 4
        for (int k = 0; k < steps; k++, inverse += 8 * SLICES * LIMIT, in += 8 * SLICES * ROW) {
            const float a[4] = {inverse[0], inverse[8], inverse[4 * LIMIT], inverse[4 * LIMIT + 8]};
            float v[TILES][2];
#pragma unroll
            for (int t = 0; t < TILES; t++)
                v[t][0] = in[8 * t], v[t][1] = in[4 * ROW + 8 * t];
            multiply_tiles<TILES>(sum, a, v);
        }
        float *to = (slice == 0 ? b.out : b.half + (slice - 1) * LIMIT * ROW) + row * ROW + 2 * at;
#pragma unroll
        for (int t = 0; t < TILES; t++) {
            if (8 * t + 2 * at >= ROW) continue;
            *(float2 *)(to + 8 * t) = make_float2(sum[t][0], sum[t][1]);
            *(float2 *)(to + 8 * ROW + 8 * t) = make_float2(sum[t][2], sum[t][3]);
        }
    }
    __syncthreads();
    for (int i = threadIdx.x; i < n * ROW / 4; i += T) {
        float4 total = ((float4 *)b.out)[i];
#pragma unroll
        for (int h = 0; h < SLICES - 1; h++) {
            const float4 more = ((const float4 *)b.half)[h * LIMIT * ROW / 4 + i];
            total.x += more.x, total.y += more.y, total.z += more.z, total.w += more.w;
        }
        ((float4 *)b.out)[i] = total;
    }
    __syncthreads();
}

/* Zeros the rows of `in` beyond the last, up to whole tiles; once, before the barrier in front of the first
 * product. */
template <int C> static __device__ void clear_padding(const block_view<C> &b)
{
    const int first = b.subdomain.count * width<C>::value, end = (b.subdomain.count + 7) / 8 * 8 * width<C>::value;
    if (C > 1 && first + (int)threadIdx.x < end) b.in[first + threadIdx.x] = 0.0f;
}

/* The same for one character: several threads share a row; their sums are added in order. */
template <int C, int T> static __device__ void multiply_single(const block_view<C> &b)
{
    enum { LIMIT = limit<C>::value };
    const int w = width<C>::value, slices = T / LIMIT;
    int row = threadIdx.x % LIMIT, slice = threadIdx.x / LIMIT, n = b.subdomain.count;
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
    __syncthreads();
    if (slice == 0 && row < n)
#pragma unroll
        for (int k = 0; k < w; k++) {
            float total = sum[k];
#pragma unroll
            for (int h = 0; h < slices - 1; h++)
                total += b.half[(h * w + k) * LIMIT + row];
            b.out[row * w + k] = total;
        }
    __syncthreads();
}

template <int C, int T> static __device__ void multiply(const block_view<C> &b)
{
    if constexpr (C > 1)
        multiply_crowd<C, T>(b);
    else
        multiply_single<C, T>(b);
}

/* Sums of N values over a warp, N a power of two: lanes exchange half of their values and end with one sum each,
 * that of value lane / (32 / N). */
template <int N, int HALF = N / 2, int D = 16, typename V> static __device__ __forceinline__ V warp_sums(V (&v)[N])
{
    if constexpr (HALF > 0) {
        const bool upper = (threadIdx.x & D) != 0;
#pragma unroll
        for (int k = 0; k < HALF; k++) {
            V give = upper ? v[k] : v[k + HALF], keep = upper ? v[k + HALF] : v[k];
            v[k] = keep + __shfl_xor_sync(0xffffffffu, give, D);
        }
        return warp_sums<N, HALF / 2, D / 2>(v);
    } else {
#pragma unroll
        for (int d = D; d > 0; d >>= 1)
            v[0] += __shfl_xor_sync(0xffffffffu, v[0], d);
        return v[0];
    }
}

/* Sums of the values of all threads, in a fixed order, into the sums of the subdomain: value k goes to `first` + k %
 * each of character + k / each, if bit k of `which` is set. A barrier must precede the next call. */
template <int T, int N>
static __device__ void reduce(float *shared, float (&values)[N], unsigned which, const sup_gpu_state &st, int character,
                              int first, int each)
{
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    const float sum = warp_sums<N>(values);
    if (lane % (32 / N) == 0) shared[lane / (32 / N) * 32 + warp] = sum;
    __syncthreads();
    const int k = threadIdx.x;
    if (k >= N || (which >> k & 1u) == 0) return;
    float total = 0.0f;
#pragma unroll
    for (int w = 0; w < T / 32; w++)
        total += shared[k * 32 + w];
    st.sums[((size_t)(character + k / each) * SUP_GPU_SUMS + first + k % each) * st.sum_stride + blockIdx.x] = total;
}

/* Which of C equal intervals of `length` a number is in: cheaper than a division. */
template <int C> static __device__ int which_of(int number, int length)
{
    int which = 0;
#pragma unroll
    for (int c = 1; c < C; c++)
        which += number >= c * length;
    return which;
}

/* Adds to the value of character c; all values stay in registers. */
template <int C> static __device__ void add_to(float (&values)[C], int c, float what)
{
#pragma unroll
    for (int k = 0; k < C; k++)
        values[k] += k == c ? what : 0.0f;
}

/* All characters of a block. */
template <int C> static __device__ unsigned all_of(const block_view<C> &b)
{
    return (1u << b.live) - 1u;
}

/* First half of a solve: `in` holds r of the subdomain, `slot_gradient` the gradient at its slots. Writes y,
 * gradient + A_tp y_p of the slots, and r . y into the sums, for the characters of `which`. */
template <int C, int T>
static __device__ void forward(const sup_gpu_system &s, const sup_gpu_state &st, const block_view<C> &b, unsigned which)
{
    const int w = width<C>::value;
    const uint16_t *begin = b.template at<uint16_t>(SUP_PACK_COL_BEGIN),
                   *row = b.template at<uint16_t>(SUP_PACK_COL_ROW);
    const float *value = b.template at<float>(SUP_PACK_COL_VALUE);
    const int32_t *slot = b.template at<int32_t>(SUP_PACK_SLOT);
    multiply<C, T>(b);
    const int nodes = b.subdomain.count + b.subdomain.slot_count;
    float product[C];
#pragma unroll
    for (int k = 0; k < C; k++)
        product[k] = 0.0f;
    for (int n = threadIdx.x; n < nodes * b.live; n += T) {
        const int c = which_of<C>(n, nodes), i = n - c * nodes;
        if ((which >> c & 1u) == 0) continue;
        if (i < b.subdomain.count) {
            const float *v = b.out + i * w + 3 * c, *r = b.in + i * w + 3 * c;
            add_to<C>(product, c, fmaf(v[0], r[0], fmaf(v[1], r[1], v[2] * r[2])));
            st.y[(size_t)(b.first + c) * s.interior_count + b.subdomain.first + i] =
                make_float4(v[0], v[1], v[2], 0.0f);
            continue;
        }
        const int local = i - b.subdomain.count;
        const float *g = b.slot_gradient + local * w + 3 * c;
        float4 sum = make_float4(g[0], g[1], g[2], 0.0f);
        for (int e = begin[local]; e < begin[local + 1]; e++) {
            const float *v = b.out + row[e] * w + 3 * c;
            sum.x = fmaf(value[e], v[0], sum.x);
            sum.y = fmaf(value[e], v[1], sum.y);
            sum.z = fmaf(value[e], v[2], sum.z);
        }
        st.slot[(size_t)(b.first + c) * s.slot_count + slot[local]] = sum;
    }
    reduce<T, C>(b.sums, product, which, st, b.first, SUM_NEWEST, 1);
}

/* Second half: the newest direction at the subdomain's separator nodes into `slots`, at its own unknowns into
 * `out`. */
template <int C, int T>
static __device__ void backward(const sup_gpu_system &s, const sup_gpu_state &st, const block_view<C> &b)
{
    enum { LIMIT = limit<C>::value };
    const int w = width<C>::value, thread = threadIdx.x, all = T, passes = (LIMIT * C + all - 1) / all;
    const uint16_t *begin = b.template at<uint16_t>(SUP_PACK_ROW_BEGIN),
                   *slot_of = b.template at<uint16_t>(SUP_PACK_ROW_SLOT);
    const float *value = b.template at<float>(SUP_PACK_ROW_VALUE);
    float4 y[passes]; /* loaded early */
#pragma unroll
    for (int r = 0; r < passes; r++) {
        int i = thread + r * all, c = i / LIMIT, row = i % LIMIT;
        if (c < b.live && row < b.subdomain.count)
            y[r] = st.y[(size_t)(b.first + c) * s.interior_count + b.subdomain.first + row];
    }
    for (int i = thread; i < b.subdomain.slot_count * b.live; i += all) {
        int c = which_of<C>(i, b.subdomain.slot_count), slot = i - c * b.subdomain.slot_count;
        bool own;
        int node = b.node(0, b.subdomain.count + slot, own);
        float4 v = st.separator[(size_t)(b.first + c) * s.separator_count + node];
        float *to = b.slots + slot * w + 3 * c;
        to[0] = v.x, to[1] = v.y, to[2] = v.z;
    }
    __syncthreads();
    for (int i = thread; i < b.subdomain.count * C; i += all) {
        int c = which_of<C>(i, b.subdomain.count), row = i - c * b.subdomain.count;
        float sum[3] = {0.0f, 0.0f, 0.0f};
        for (int e = begin[row]; e < begin[row + 1]; e++)
            for (int k = 0; k < 3; k++)
                sum[k] = fmaf(value[e], b.slots[slot_of[e] * w + 3 * c + k], sum[k]);
        for (int k = 0; k < 3; k++)
            b.in[row * w + 3 * c + k] = sum[k];
    }
    __syncthreads();
    multiply<C, T>(b);
#pragma unroll
    for (int r = 0; r < passes; r++) {
        int i = thread + r * all, c = i / LIMIT, row = i % LIMIT;
        if (c >= b.live || row >= b.subdomain.count) continue;
        float *to = b.out + row * w + 3 * c;
        to[0] = y[r].x - to[0], to[1] = y[r].y - to[1], to[2] = y[r].z - to[2];
    }
}

#endif

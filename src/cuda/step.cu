/* step.cu - a step of projective dynamics on the device: the solver of methods/projective/solver.c, stage by stage.
 *
 * Based on: [komaritzan2022] Algorithm 2.1, eq. 2.7 to 2.16, and section 3.4.2 (projective skinning on a GPU). Deviation:
 * where the thesis launches about 310 kernels a step (ten local-global times ten PCG iterations), an iteration here is
 * two: every part of the tissue by a block of threads of its own, then the top (blocks.h, top.cu). The solve is exact, so
 * that harmonic start and Anderson acceleration work as on the CPU.
 *
 *     start   inertial prediction, the anchors' pull, first half of its solve
 *     top     S^-1 of what the parts left over
 *     local   second half of the solve, the accelerated step, rotations, gradient, first half of the next solve
 *
 * A block handles one part of C characters: their inverses and prisms are read once. Sums are taken in a fixed order. */
#include "cuda/lanes.cuh"
#include "cuda/step_block.cuh"
#include "methods/projective/prism.h"

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

/* --- Start --- */

/* Eq. 2.9, and the pull of the anchors' second difference, which is the gradient that the start is solved from. */
template <int C, int T>
__global__ void __launch_bounds__(T)
    start_kernel(const __grid_constant__ sup_gpu_system s, const __grid_constant__ sup_gpu_state st)
{
    extern __shared__ __align__(16) float shared[];
    load_part<C, T>(s, shared);
    block_view<C> b = open_block<C, T>(s, st, shared);
    wait_pack();
    wait_for_kernel();
    __syncthreads();
    for (int c = 0; c < b.live; c++) {
        const sup_gpu_orders &in = st.orders[b.first + c];
        const int phase = st.progress[b.first + c].phase;
        size_t at = (size_t)(b.first + c) * s.unknown_count;
        const float4 *bend = st.bend + (size_t)(b.first + c) * s.anchor_count;
        const float4 fall = make_float4(in.fall[0], in.fall[1], in.fall[2], 0.0f);
        float sums[SUP_GPU_SUMS] = {0.0f};
        for (int i = threadIdx.x; i < b.part.count + b.part.slot_count; i += T) {
            bool own;
            int place = b.place(s.interior_count, i, own);
            float4 pull = make_float4(0.0f, 0.0f, 0.0f, 0.0f);
            if (own) {
                float4 x = st.x[phase & 1][at + place], moved = minus(x, st.x[1 - (phase & 1)][at + place]);
                float4 miss = minus(x, st.guess[at + place]), old = st.miss[at + place];
                float weight = s.diagonal[place];
                int end = s.pull_first[place + 1];
#pragma unroll 4
                for (int e = s.pull_first[place]; e < end; e++)
                    pull = add_scaled(pull, s.pull_value[e], bend[s.pull_anchor[e]]);
                st.inertial[at + place] = add_scaled(add_scaled(x, in.keep, moved), 1.0f, fall);
                st.miss[at + place] = miss;
                sums[0] = fmaf(weight, dot(old, miss), sums[0]);
                sums[1] = fmaf(weight, dot(old, old), sums[1]);
                sums[2] = fmaf(weight, dot(miss, miss), sums[2]);
            }
            put(b.row(b.in, b.left, i, c),
                i < b.part.count ? make_float4(-pull.x, -pull.y, -pull.z, 0.0f) : pull);
        }
        reduce<T>(b.sums, sums, 3, st, b.first + c, SUM_PRODUCT);
    }
    wait_inverse();
    __syncthreads();
    forward<C, T>(s, st, b);
}

/* --- The accelerated step --- */

/* Own unknowns and places of the top into shared memory; what the part owns to where it is kept. */
template <int C, int T>
static __device__ void move(const sup_gpu_system &s, const sup_gpu_state &st, const block_view<C> &b, const plan &p,
                            int turn, int c)
{
    const int phase = st.progress[b.first + c].phase;
    const bool plain = st.orders[b.first + c].plain != 0;
    size_t at = (size_t)(b.first + c) * s.unknown_count;
    const float4 *base = turn == 0 ? plain ? st.inertial : st.x[phase & 1] : st.iterate[p.base];
    float4 *to = p.finish ? st.x[1 - (phase & 1)] : st.iterate[p.target];
    for (int i = threadIdx.x; i < b.part.count + b.part.slot_count; i += T) {
        bool own;
        size_t q = at + b.place(s.interior_count, i, own);
        float4 d = get(b.row(b.out, b.slots, i, c)), next = base[q];
        if (turn > 0) {
            float4 old[SUP_GPU_HISTORY];
#pragma unroll
            for (int j = 0; j < SUP_GPU_HISTORY; j++) /* all are asked for before the first is used */
                if (j < p.history) old[j] = st.direction[j][q];
#pragma unroll
            for (int j = 0; j < SUP_GPU_HISTORY; j++)
                if (j < p.history) next = add_scaled(next, p.factor[j], old[j]);
            if (p.accepted) next = add_scaled(next, p.factor[p.history], d);
            if (p.accepted && own) st.direction[p.history][q] = d;
        } else if (!plain) { /* where a linear system would go, and part of the last miss */
            float4 moved = minus(next, st.x[1 - (phase & 1)][q]), miss = st.miss[q];
            float4 guess = add_scaled(add_scaled(next, 1.0f, moved), 1.0f, d);
            next = add_scaled(guess, p.repeat, miss);
            if (own) st.guess[q] = guess;
        }
        put(b.x + (c * s.most_local + i) * 3, next);
        if (own) to[q] = next;
    }
}

/* Anchors where the phase has them, behind the unknowns; by the threads [0, count). */
template <int C>
static __device__ void load_anchors(const sup_gpu_system &s, const sup_gpu_state &st, const block_view<C> &b, int count)
{
    const int32_t *anchor = b.template at<int32_t>(SUP_PACK_ANCHOR);
    for (int c = 0; c < b.live; c++) {
        const float4 *from = st.anchors[st.progress[b.first + c].phase % 3] + (size_t)(b.first + c) * s.anchor_count;
        float *to = b.x + (c * s.most_local + b.part.count + b.part.slot_count) * 3;
        for (int i = threadIdx.x; i < b.part.anchor_count; i += count)
            put(to + 3 * i, from[anchor[i]]);
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
    size_t at = (size_t)(b.first + c) * s.unknown_count;
    const uint16_t *begin = b.template at<uint16_t>(SUP_PACK_SUM_BEGIN), *from = b.template at<uint16_t>(SUP_PACK_SUM_FROM);
    const float *masses = b.template at<float>(SUP_PACK_MASS);
    const int stride = b.part.prism_stride;
    for (int i = threadIdx.x; i < b.part.count + b.part.slot_count; i += T) {
        bool own;
        size_t q = at + b.place(s.interior_count, i, own);
        float mass = masses[i];
        float4 here = get(x + 3 * i), inertial = here, g = make_float4(0.0f, 0.0f, 0.0f, 0.0f), d[SUP_GPU_HISTORY];
        if (mass > 0.0f) inertial = st.inertial[q];
#pragma unroll
        for (int j = 0; j < SUP_GPU_HISTORY; j++)
            if (j < history && j != newest) d[j] = st.direction[j][q];
        for (int e = begin[i]; e < begin[i + 1]; e++) {
            const float *f = b.force + from[e];
            g.x += f[0];
            g.y += f[stride];
            g.z += f[2 * stride];
        }
        float4 apart = minus(here, inertial), fresh = get(b.row(b.out, b.slots, i, c));
        g = add_scaled(g, mass, apart);
        values[SUM_ENERGY] = fmaf(0.5f * mass, dot(apart, apart), values[SUM_ENERGY]);
        put(b.row(b.in, b.left, i, c), i < b.part.count ? make_float4(-g.x, -g.y, -g.z, 0.0f) : g);
#pragma unroll
        for (int j = 0; j < SUP_GPU_HISTORY; j++)
            if (j < history) values[SUM_OLDER + j] += dot(j == newest ? fresh : d[j], g);
    }
}

/* One local step of one character, after its move. */
template <int C, int T>
static __device__ void evaluate(const sup_gpu_system &s, const sup_gpu_state &st, const block_view<C> &b, const plan &p,
                                int turn, int c)
{
    float *x = b.x + c * s.most_local * 3, values[SUP_GPU_SUMS];
#pragma unroll
    for (int k = 0; k < SUP_GPU_SUMS; k++)
        values[k] = 0.0f;
    values[SUM_ENERGY] = prism_forces<C, T>(s, b, x, st.orders[b.first + c].shared != 0);
    __syncthreads();
    int full = p.accepted ? p.history + 1 : p.history; /* directions, before the memory starts anew */
    int history = turn == 0 || full >= SUP_GPU_HISTORY ? 0 : full;
    gradient<C, T>(s, st, b, x, c, history, turn > 0 && p.accepted ? p.history : -1, values);
    values[SUM_NEWEST] = 0.0f; /* comes with the solve */
    reduce<T>(b.sums, values, SUM_OLDER + history, st, b.first + c, SUM_ENERGY);
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
    load_part<C, T>(s, shared);
    block_view<C> b = open_block<C, T>(s, st, shared);
    bool any = false, more = false;
    wait_for_kernel();
    wait_inverse();
    for (int c = 0; c < b.live; c++)
        any = any || turn == 0 || !is_over(st, turn - 1, b.first + c);
    if (!any) {
        if (blockIdx.x == 0 && threadIdx.x < b.live) st.control[turn & 1][b.first + threadIdx.x].over = 1;
        return;
    }
    __syncthreads();
    if (threadIdx.x < D) {
        decide_all<C, D>(s, st, b.first, b.live, turn, last_turn != 0, top_blocks, controls, sums, plans);
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
    wait_for_kernel();
    int c = blockIdx.x * blockDim.x + threadIdx.x;
    if (c < st.count) st.progress[c].phase = (st.progress[c].phase + 1) % 6;
}

/* --- Launches --- */

enum { ALONE_THREADS = 384, CROWD_THREADS = 256 };

extern "C" size_t sup_gpu_step_shared(const sup_gpu_system *system, int32_t lockstep)
{
    return lockstep == 1 ? sizes<1, ALONE_THREADS>(*system).bytes(*system)
                         : sizes<SUP_GPU_LOCKSTEP, CROWD_THREADS>(*system).bytes(*system);
}

extern "C" int sup_gpu_step_prepare(const sup_gpu_system *system, bool crowd)
{
    const void *kernels[2][2] = {
        {(const void *)start_kernel<1, ALONE_THREADS>, (const void *)local_kernel<1, ALONE_THREADS>},
        {(const void *)start_kernel<SUP_GPU_LOCKSTEP, CROWD_THREADS>,
         (const void *)local_kernel<SUP_GPU_LOCKSTEP, CROWD_THREADS>}};
    for (int i = 0; i < 4; i++) {
        cudaError_t error = cudaFuncSetAttribute(kernels[i / 2][i % 2], cudaFuncAttributeMaxDynamicSharedMemorySize,
                                                 (int)sup_gpu_step_shared(system, i < 2 ? 1 : SUP_GPU_LOCKSTEP));
        if (error != cudaSuccess) return (int)error;
    }
    return sup_gpu_top_prepare(system, crowd);
}

template <int C, int T>
static int launch_step(const sup_gpu_system &s, const sup_gpu_state &st, int most, cudaStream_t stream)
{
    dim3 grid(s.part_count, (st.count + C - 1) / C);
    size_t shared = sup_gpu_step_shared(&s, C);
    int top_blocks = sup_gpu_top_rows(&s, C > 1);
    launch_early(start_kernel<C, T>, grid, T, shared, stream, s, st);
    int error = sup_gpu_top(&s, &st, C > 1, -1, stream);
    for (int turn = 0; error == 0 && turn <= most; turn++) {
        launch_early(local_kernel<C, T>, grid, T, shared, stream, s, st, turn, (int)(turn == most), top_blocks);
        if (turn < most) error = sup_gpu_top(&s, &st, C > 1, turn, stream);
    }
    launch_early(end_kernel, dim3((st.count + 255) / 256), 256, 0, stream, st);
    return error != 0 ? error : (int)cudaGetLastError();
}

extern "C" int sup_gpu_step(const sup_gpu_system *system, const sup_gpu_state *state, int32_t most, void *stream)
{
    if (state->count <= 2) return launch_step<1, ALONE_THREADS>(*system, *state, most, (cudaStream_t)stream);
    return launch_step<SUP_GPU_LOCKSTEP, CROWD_THREADS>(*system, *state, most, (cudaStream_t)stream);
}

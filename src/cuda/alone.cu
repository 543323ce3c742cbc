/* alone.cu - the step of one character in one launch: all of step.cu, top.cu and contact_solve.cu by blocks that stay.
 *
 * Based on: as step.cu. A character by itself fills the device for a few microseconds at a time, and what kernels cost is their
 * beginning: fetching the part, and waiting for what the kernel before left in memory. Here a block keeps its part, its prisms
 * and its rows of S^-1 in fast memory from beginning to end, and all blocks meet where kernels would end. The arithmetic is
 * that of the kernels; sums have other blocks and so other roundings. */
#include "cuda/cg_part.cuh"
#include "cuda/step_part.cuh"
#include "cuda/top_rest.cuh"

enum { T = STEP_ALONE_THREADS, SLICES = 4, AT_ONCE = 3, MOST_ROWS = 32, TOP_PLACES = 3, TOP_SLOTS = 3 };

/* --- Meetings --- */

/* Where all blocks wait for each other. The highest bit of the number changes when the last one has come; what is below is then
 * what it was. */
struct meeting {
    unsigned *arrived;
    unsigned side;
};

#define MEETING_SIDE 0x80000000u

static __device__ unsigned look_at(const unsigned *arrived)
{
    unsigned now;
    asm volatile("ld.acquire.gpu.global.u32 %0, [%1];" : "=r"(now) : "l"(arrived) : "memory");
    return now;
}

/* One of `count` comes, by one thread, after a barrier of the block. */
static __device__ void arrive(const meeting &m, bool leads, int count)
{
    unsigned add = leads ? MEETING_SIDE - (unsigned)(count - 1) : 1u;
    asm volatile("red.release.gpu.global.add.u32 [%0], %1;" ::"l"(m.arrived), "r"(add) : "memory");
}

/* Until all have come. */
static __device__ void wait_for(meeting &m)
{
    if (threadIdx.x == 0)
        while (((look_at(m.arrived) ^ m.side) & MEETING_SIDE) == 0) {
        }
    m.side ^= MEETING_SIDE;
    __syncthreads();
}

static __device__ void meet(meeting &m)
{
    __syncthreads();
    if (threadIdx.x == 0) arrive(m, blockIdx.x == 0, (int)gridDim.x);
    wait_for(m);
}

/* --- Fast memory --- */

/* Floats behind those of a block of step.cu. */
struct alone_sizes {
    size_t before, tets, weights, seats, rows, rest, first, partial;
    int32_t row_count;
    __host__ __device__ alone_sizes(const sup_gpu_system &s, int blocks)
    {
        before = sizes<1, T, true>(s).before_pack() + (size_t)s.most_pack / sizeof(float);
        row_count = (s.top_count + blocks - 1) / blocks;
        tets = ((size_t)s.most_prisms + SUP_PRISM_LANES - 1) / SUP_PRISM_LANES * SUP_PRISM_FLOATS;
        weights = (size_t)s.most_blend;
        seats = ((size_t)s.most_blend + 7) / 8 * 4;
        rows = (size_t)row_count * s.top_stride;
        rest = 3 * (size_t)s.top_stride;
        first = ((size_t)s.top_count + 4) / 4 * 4;
        partial = (size_t)row_count * SLICES * 4;
    }
    __host__ __device__ size_t bytes() const
    {
        return (before + tets + weights + seats + rows + rest + first + partial) * sizeof(float);
    }
};

/* The block's rows of the top, in fast memory. */
struct top_block {
    const float *rows;  /* [count*top_stride] of S^-1 */
    float *rest;        /* [3*top_stride] x, then y, then z */
    const int *first;   /* [top_count+1] slots of a place */
    float *partial;     /* [count*SLICES*4] */
    int begin, count;
};

static __device__ void copy_floats(float *to, const void *from, size_t count)
{
    for (size_t i = threadIdx.x * 4; i < count; i += T * 4)
        copy_chunk(to + i, (const float *)from + i);
}

/* Begins to copy what never changes; `b` looks at it from now on. */
static __device__ top_block load_alone(const sup_gpu_system &s, float *shared, block_view<1> &b, bool has_part)
{
    const alone_sizes size(s, (int)gridDim.x);
    float *tets = shared + size.before, *weights = tets + size.tets, *seats = weights + size.weights;
    float *rows = seats + size.seats, *first;
    top_block top;
    top.rest = rows + size.rows;
    first = top.rest + size.rest;
    top.partial = first + size.first;
    top.begin = min((int)blockIdx.x * size.row_count, s.top_count);
    top.count = min(size.row_count, s.top_count - top.begin);
    if (has_part) {
        const sup_block_part &part = s.parts[blockIdx.x];
        size_t prisms = ((size_t)part.prism_count + SUP_PRISM_LANES - 1) / SUP_PRISM_LANES * SUP_PRISM_FLOATS;
        size_t blends = (size_t)part.blend_count * part.prism_stride;
        copy_floats(tets, b.tets, prisms);
        copy_floats(weights, b.blend_weight, blends);
        copy_floats(seats, b.blend_seat, blends / 2);
    }
    copy_floats(rows, s.top_inverse + (size_t)top.begin * s.top_stride, (size_t)top.count * s.top_stride);
    asm volatile("cp.async.commit_group;");
    for (int i = threadIdx.x; i <= s.top_count; i += T)
        ((int *)first)[i] = s.top_first[i];
    b.tets = tets;
    b.blend_weight = weights;
    b.blend_seat = (const uint16_t *)seats;
    top.rows = rows;
    top.first = (const int *)first;
    return top;
}

/* --- The top --- */

/* A few rows of S^-1 times a slice of the rest, by a warp. */
static __device__ void multiply_rows(const sup_gpu_system &s, const top_block &t, int first, int slice)
{
    const int lane = threadIdx.x % 32, quarters = s.top_stride / 4, each = quarters / SLICES;
    const float4 *rest = (const float4 *)t.rest, *rows = (const float4 *)t.rows;
    float sum[16]; /* row by row */
#pragma unroll
    for (int i = 0; i < 16; i++)
        sum[i] = 0.0f;
    for (int j = slice * each + lane; j < (slice + 1) * each; j += 32) {
        float4 v[3] = {rest[j], rest[quarters + j], rest[2 * quarters + j]};
#pragma unroll
        for (int r = 0; r < AT_ONCE; r++) {
            float4 m = rows[min(first + r, t.count - 1) * quarters + j];
#pragma unroll
            for (int k = 0; k < 3; k++)
                sum[3 * r + k] = fmaf(m.x, v[k].x, fmaf(m.y, v[k].y, fmaf(m.z, v[k].z, fmaf(m.w, v[k].w, sum[3 * r + k]))));
        }
    }
    const float total = warp_sums<16>(sum);
    const int value = lane / 2, row = first + value / 3;
    if (lane % 2 == 0 && value < 3 * AT_ONCE && row < t.count) t.partial[(row * SLICES + slice) * 4 + value % 3] = total;
}

/* What the parts leave to the top, at a few places a thread: all is asked for before the first of it is needed. */
static __device__ void gather_rest(const sup_gpu_system &s, const sup_gpu_state &st, const top_block &t, int first)
{
    float4 v[TOP_PLACES][TOP_SLOTS];
    int begin[TOP_PLACES], end[TOP_PLACES];
#pragma unroll
    for (int k = 0; k < TOP_PLACES; k++) {
        const int i = first + k * T + threadIdx.x;
        begin[k] = i < s.top_count ? t.first[i] : 0;
        end[k] = i < s.top_count ? t.first[i + 1] : 0;
#pragma unroll
        for (int e = 0; e < TOP_SLOTS; e++)
            v[k][e] = begin[k] + e < end[k] ? st.slot[begin[k] + e] : make_float4(0.0f, 0.0f, 0.0f, 0.0f);
    }
#pragma unroll
    for (int k = 0; k < TOP_PLACES; k++) {
        const int i = first + k * T + threadIdx.x;
        float4 sum = make_float4(0.0f, 0.0f, 0.0f, 0.0f);
        if (begin[k] + TOP_SLOTS < end[k]) sum = top_rest(st.slot, begin[k] + TOP_SLOTS, end[k]);
#pragma unroll
        for (int e = 0; e < TOP_SLOTS; e++)
            sum.x -= v[k][e].x, sum.y -= v[k][e].y, sum.z -= v[k][e].z;
        if (i < s.top_stride) t.rest[i] = sum.x, t.rest[s.top_stride + i] = sum.y, t.rest[2 * s.top_stride + i] = sum.z;
    }
}

static __device__ void solve_top(const sup_gpu_system &s, const sup_gpu_state &st, const top_block &t)
{
    for (int first = 0; first < s.top_stride && t.count > 0; first += T * TOP_PLACES)
        gather_rest(s, st, t, first);
    __syncthreads();
    const int warp = threadIdx.x / 32, groups = T / 32 / SLICES;
    for (int first = warp / SLICES * AT_ONCE; warp < groups * SLICES && first < t.count; first += groups * AT_ONCE)
        multiply_rows(s, t, first, warp % SLICES);
    __syncthreads();
    if (warp > 0) return;
    float product = 0.0f;
    if ((int)threadIdx.x < t.count) {
        const float4 *part = (const float4 *)t.partial + threadIdx.x * SLICES;
        const int row = t.begin + threadIdx.x;
        float4 d = part[0];
        for (int k = 1; k < SLICES; k++)
            d.x += part[k].x, d.y += part[k].y, d.z += part[k].z;
        st.top[row] = make_float4(d.x, d.y, d.z, 0.0f);
        product = d.x * t.rest[row] + d.y * t.rest[s.top_stride + row] + d.z * t.rest[2 * s.top_stride + row];
    }
    for (int d = 16; d > 0; d >>= 1)
        product += __shfl_xor_sync(0xffffffffu, product, d);
    if (threadIdx.x == 0) st.sums[(size_t)SUM_NEWEST * st.sum_rows + s.part_count + blockIdx.x] = product;
}

/* --- Contacts --- */

/* r . z of solve k, and whether to search on. */
static __device__ cg_plan plan_search(const sup_gpu_system &s, const sup_gpu_state &st, int k, double *rz)
{
    cg_plan plan = {0, 1, 0.0f};
    double now = sum_rows(st, 0, SUM_NEWEST, s.part_count + gridDim.x);
    plan.active = now > 0.0;
    if (k > 0) {
        double beta = now / rz[k - 1];
        plan.active = plan.active && now > CONTACT_SOLVED * rz[0] && isfinite(beta);
        plan.factor = (float)beta;
    }
    if (threadIdx.x == 0) rz[k] = now;
    return plan;
}

/* Rows in the search direction, a share of them a block. */
static __device__ void share_rows(const sup_gpu_system &s, const sup_gpu_state &st, float *shared_sums)
{
    const int each = (s.skin_count + gridDim.x - 1) / gridDim.x, begin = blockIdx.x * each;
    const contact_view view = open_contacts(s, st, 0);
    float values[1] = {0.0f};
    for (int v = begin + threadIdx.x; v < min(begin + each, s.skin_count); v += T) {
        const sup_gpu_row row = view.rows[v]; /* asked for before it is known whether there is one */
        float curvature = 0.0f;
        if (view.pair[v] >= 0) view.force[v] = row_force(s, row, st.search, curvature);
        values[0] += curvature;
    }
    reduce<T, 1>(shared_sums, values, 1u, st, 0, SUM_CONTACTS, 1);
}

/* The rows at the positions of a local step, by the blocks that have no part, while others are at their prisms. */
static __device__ void push_rows(const sup_gpu_system &s, const sup_gpu_state &st, float *shared_sums, int turn)
{
    const int helpers = (int)gridDim.x - s.part_count, each = (s.skin_count + helpers - 1) / helpers;
    const int begin = ((int)blockIdx.x - s.part_count) * each;
    const contact_view view = open_contacts(s, st, 0);
    const float4 *x = st.iterate[st.control[turn & 1][0].current];
    float values[SUP_GPU_SUMS_ALL] = {0.0f};
    for (int v = begin + threadIdx.x; v < min(begin + each, s.skin_count); v += T) {
        if (view.pair[v] < 0) continue;
        const row_push p = push_row(s, view, x, view.rows[v]);
        view.force[v] = p.force;
        keep_row(view.rows[v], p, values);
    }
    reduce<T, SUP_GPU_SUMS_ALL>(shared_sums, values, 1u << SUM_ENERGY | 1u << SUM_NEAR | 1u << SUM_PUSHING, st, 0, SUM_ENERGY,
                                SUP_GPU_SUMS_ALL);
}

/* The same for the places, at the end. */
static __device__ void share_end(const sup_gpu_system &s, const sup_gpu_state &st, float *shared_sums, int history,
                                 float factor)
{
    const int each = (s.unknown_count + gridDim.x - 1) / gridDim.x, begin = blockIdx.x * each;
    float values[SUP_GPU_SUMS_ALL] = {0.0f};
    for (int i = begin + threadIdx.x; i < min(begin + each, s.unknown_count); i += T)
        end_place(s, st, 0, i, factor, history, values);
    reduce<T, SUP_GPU_SUMS_ALL>(shared_sums, values, (2u << history) - 1u, st, 0, SUM_NEWEST, SUP_GPU_SUMS_ALL);
}

/* The direction with contacts, after the first solve of it: contact_solve.cu. */
static __device__ void solve_contacts(const sup_gpu_system &s, const sup_gpu_state &st, const block_view<1> &b,
                                      const top_block &top, meeting &m, bool has_part, int turn)
{
    __shared__ cg_plan plan;
    __shared__ double rz[SUP_GPU_SOLVES];
    const int history = st.control[turn & 1][0].history;
    for (int k = 0;; k++) {
        if (threadIdx.x < 32) {
            cg_plan search = plan_search(s, st, k, rz);
            if (threadIdx.x == 0) plan = search;
        }
        __syncthreads();
        const bool searches = plan.active;
        if (has_part && (searches || k == 0)) {
            backward<1, T>(s, st, b);
            __syncthreads();
            turn_search<1, T>(s, st, b, 1u, k, &plan);
        }
        meet(m);
        if (!searches) {
            if (threadIdx.x == 0) plan.factor = 0.0f;
            break;
        }
        share_rows(s, st, b.sums);
        meet(m);
        if (threadIdx.x < 32) {
            const cg_length length = step_length(s, st, 0, rz[k], (int)gridDim.x, (int)gridDim.x);
            const bool on = k + 1 < solves_of(st, 0) && length.alpha != 0.0f && length.near;
            if (threadIdx.x == 0) plan = cg_plan{on, 1, length.alpha};
        }
        __syncthreads();
        if (!plan.active) break; /* the step along this direction is the last */
        if (has_part) {
            step_part<1, T>(s, st, b, &plan);
            __syncthreads();
            forward<1, T>(s, st, b);
        }
        meet(m);
        solve_top(s, st, top);
        meet(m);
    }
    __syncthreads();
    share_end(s, st, b.sums, history, plan.factor);
    meet(m);
}

/* --- The step --- */

/* The accelerated step of a part; true: it was the last. */
static __device__ bool move_part(const sup_gpu_system &s, const sup_gpu_state &st, const block_view<1> &b, int turn,
                                 bool last_turn, bool touching)
{
    __shared__ plan next;
    __shared__ sup_gpu_control control;
    __shared__ double sums[SUP_GPU_SUMS];
    const int blocks = (int)gridDim.x;
    decide_all<1, T, true>(s, st, 0, 1, turn, last_turn, blocks, blocks, blocks, &control, sums, &next);
    if (turn == 0 || !touching) backward<1, T>(s, st, b);
    __syncthreads();
    move<1, T>(s, st, b, &next, turn);
    __syncthreads();
    const bool finish = next.finish;
    if (s.volume > 0.0f) volumes<1, T>(s, st, b, &next);
    return finish;
}

/* The local step of a part, and the first half of the solve. */
static __device__ void local_part(const sup_gpu_system &s, const sup_gpu_state &st, const block_view<1> &b, meeting &pushed,
                                  int turn, bool touching)
{
    local_view now = view_local(st, turn, 0);
    now.over = 0; /* known, and not waited for */
    float values[SUP_GPU_SUMS_ALL];
    if (s.volume > 0.0f) pressures<1, T>(s, st, b, &now);
    __syncthreads();
    evaluate<1, T>(s, st, b, now, 0, values);
    if (touching) {
        wait_for(pushed);
        contact_gradient<1, T>(s, st, b, 0, NULL, values);
    }
    reduce_local<T>(st, b.sums, now, 0, values);
    __syncthreads();
    forward<1, T>(s, st, b);
}

static __device__ void push_for_others(const sup_gpu_system &s, const sup_gpu_state &st, float *shared_sums, meeting &pushed,
                                       int turn)
{
    push_rows(s, st, shared_sums, turn);
    __syncthreads();
    if (threadIdx.x == 0) arrive(pushed, (int)blockIdx.x == s.part_count, (int)gridDim.x - s.part_count);
}

__global__ void __launch_bounds__(T, 1)
    alone_kernel(const __grid_constant__ sup_gpu_system s, const __grid_constant__ sup_gpu_state st, int turns)
{
    extern __shared__ __align__(16) float shared[];
    const bool has_part = (int)blockIdx.x < s.part_count;
    meeting m = {st.meeting, 0}, pushed = {st.meeting + 32, 0};
    if (has_part) load_part<1, T, true>(s, shared);
    block_view<1> b = open_block<1, T, true>(s, st, shared);
    top_block top = load_alone(s, shared, b, has_part);
    wait_for_kernel();
    const bool touching = st.pair != NULL && st.progress[0].rows > 0;
    if (threadIdx.x == 0) { /* neither can change before this block has come */
        m.side = look_at(m.arrived) & MEETING_SIDE;
        pushed.side = look_at(pushed.arrived) & MEETING_SIDE;
    }
    if (st.progress[0].asleep) {
        wait_inverse();
        return;
    }
    asm volatile("cp.async.wait_group 1;"); /* all but the top's rows */
    __syncthreads();
    if (has_part) {
        predict<1, T>(s, st, b);
        forward<1, T>(s, st, b);
        load_anchors<1, T>(s, st, b);
        if (s.volume > 0.0f) load_feet<1, T>(s, st, b, 0);
    }
    wait_inverse();
    meet(m);
    solve_top(s, st, top);
    meet(m);
    for (int turn = 0;; turn++) {
        if (has_part && move_part(s, st, b, turn, turn == turns, touching)) {
            __syncthreads();
            if (threadIdx.x == 0) arrive(m, blockIdx.x == 0, (int)gridDim.x);
            return;
        }
        meet(m);
        if (!has_part && is_over(st, turn, 0)) return;
        if (has_part)
            local_part(s, st, b, pushed, turn, touching);
        else if (touching)
            push_for_others(s, st, b.sums, pushed, turn);
        meet(m);
        solve_top(s, st, top);
        meet(m);
        if (touching) solve_contacts(s, st, b, top, m, has_part, turn);
    }
}

/* --- Launches --- */

extern "C" int32_t sup_gpu_alone_blocks(const sup_gpu_system *system, int32_t processors, size_t shared_limit)
{
    const sup_gpu_system &s = *system;
    if (s.lockstep != 1 || s.part_count >= processors) return 0;
    int32_t spread = (s.top_count + 3) / 4, blocks = spread < processors ? spread : processors;
    if (blocks <= s.part_count) blocks = s.part_count + 1; /* at least one for contacts */
    const alone_sizes size(s, blocks);
    return size.row_count <= MOST_ROWS && size.bytes() <= shared_limit ? blocks : 0;
}

extern "C" int sup_gpu_alone_prepare(const sup_gpu_system *system)
{
    if (system->alone_blocks == 0) return 0;
    return (int)cudaFuncSetAttribute(alone_kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                     (int)alone_sizes(*system, system->alone_blocks).bytes());
}

extern "C" int sup_gpu_alone(const sup_gpu_system *system, const sup_gpu_state *state, int32_t turns, void *stream)
{
    cudaLaunchAttribute attributes[2] = {};
    attributes[0].id = cudaLaunchAttributeCooperative; /* all blocks at once, or none: they wait for each other */
    attributes[0].val.cooperative = 1;
    attributes[1].id = cudaLaunchAttributeProgrammaticStreamSerialization; /* launch_early */
    attributes[1].val.programmaticStreamSerializationAllowed = 1;
    cudaLaunchConfig_t config = {};
    config.gridDim = dim3(system->alone_blocks);
    config.blockDim = dim3(T);
    config.dynamicSmemBytes = alone_sizes(*system, system->alone_blocks).bytes();
    config.stream = (cudaStream_t)stream;
    config.attrs = attributes;
    config.numAttrs = 2;
    return (int)cudaLaunchKernelEx(&config, alone_kernel, *system, *state, (int)turns);
}

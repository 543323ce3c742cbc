/* step_persistent.cu - the step of one character in one launch: all of step.cu, schur.cu and contact_solve.cu by blocks that stay.
 *
 * Based on: as step.cu. A character by itself fills the device for a few microseconds at a time, and what kernels cost is their
 * beginning: fetching the part, and waiting for what the kernel before left in memory. Here a block keeps its part and its
 * tile of S^-1 in fast memory from beginning to end (persistent_view.cuh), and blocks do not meet: what one needs of others
 * comes in words (persistent_messages.cuh). An iteration has three ways through the memory: slots to the top, the top's direction
 * and all sums back, volumes of chambers; the last one while rotations are found. All parts decide the same by themselves,
 * two warps of them while the others solve. Blocks without a part are told by the first one what comes next.
 *
 * The arithmetic is that of the kernels; sums have another order and so other roundings. */
#include "cuda/persistent_contact.cuh"

/* --- Orders --- */

enum { ORDER_LOCAL = 1, ORDER_SEARCH, ORDER_SOLVE, ORDER_END };

/* Rounds and orders so far. */
struct clocks {
    unsigned round, order;
};

/* By one thread. */
static __device__ void give_order(const sup_gpu_state &st, int what, unsigned round, unsigned number)
{
    if (blockIdx.x == 0) tell(st.words.order, (unsigned)what, round, 0u, number);
}

static __device__ uint2 wait_for_order(const sup_gpu_state &st, unsigned number)
{
    __shared__ uint2 order;
    __syncthreads();
    if (threadIdx.x == 0) {
        const int index[1] = {0};
        uint4 word[1];
        hear<1>(st.words.order, index, number, word);
        order = make_uint2(word[0].x, word[0].y);
    }
    __syncthreads();
    return order;
}

/* --- Decisions, by the last two warps --- */

/* What the two keep between them, in fast memory. */
struct judge {
    double sums[SUP_GPU_SUMS_ALL];
    double other; /* what the second warp found */
    double energy, pushing;
    double rz, first_rz;
    int near;
    sup_gpu_control control;
    plan next;
    cg_plan search;
};

/* The first N numbers of words [first, end) by a warp; those behind them are 0. */
template <int N>
static __device__ void sum_words(const sup_gpu_message *words, int first, int end, unsigned round, double (&sum)[N])
{
    enum { AT_ONCE = 5 };
    const int lane = threadIdx.x % 32;
#pragma unroll
    for (int n = 0; n < N; n++)
        sum[n] = 0.0;
#pragma unroll 1
    for (int at = first + lane; at - lane < end; at += 32 * AT_ONCE) {
        int index[AT_ONCE];
        uint4 word[AT_ONCE];
#pragma unroll
        for (int k = 0; k < AT_ONCE; k++)
            index[k] = at + 32 * k < end ? at + 32 * k : -1;
        hear<AT_ONCE>(words, index, round, word);
#pragma unroll
        for (int k = 0; k < AT_ONCE; k++) {
            const float number[3] = {__uint_as_float(word[k].x), __uint_as_float(word[k].y),
                                     __uint_as_float(word[k].z)};
#pragma unroll
            for (int n = 0; n < 3; n++) /* all of them: see look_at */
                sum[n < N ? n : N - 1] += (double)number[n];
        }
    }
    __syncwarp();
#pragma unroll
    for (int n = 0; n < N; n++)
        sum[n] = warp_sum(sum[n]);
}

/* Words [0, 3*count), nine numbers a part, by a warp, into sums. Every third lane has the same numbers of a part. */
static __device__ void sum_parts(const sup_gpu_message *words, int count, unsigned round, double *sums)
{
    enum { AT_ONCE = 8, LANES = 30 };
    const unsigned all = 0xffffffffu;
    const int lane = threadIdx.x % 32;
    double sum[3] = {0.0, 0.0, 0.0};
#pragma unroll 1
    for (int at = lane; at - lane < 3 * count; at += LANES * AT_ONCE) {
        int index[AT_ONCE];
        uint4 word[AT_ONCE];
#pragma unroll
        for (int k = 0; k < AT_ONCE; k++)
            index[k] = lane < LANES && at + LANES * k < 3 * count ? at + LANES * k : -1;
        hear<AT_ONCE>(words, index, round, word);
#pragma unroll
        for (int k = 0; k < AT_ONCE; k++) {
            sum[0] += (double)__uint_as_float(word[k].x);
            sum[1] += (double)__uint_as_float(word[k].y);
            sum[2] += (double)__uint_as_float(word[k].z);
        }
    }
    __syncwarp();
#pragma unroll
    for (int n = 0; n < 3; n++) { /* ten lanes have the same */
        double v = sum[n] + __shfl_down_sync(all, sum[n], 15), last = __shfl_down_sync(all, v, 12);
        v += __shfl_down_sync(all, v, 6);
        v += __shfl_down_sync(all, v, 3) + last;
        if (lane < 3) sums[3 * lane + n] = v;
    }
    __syncwarp();
}

/* Sums of the parts in a round, by the first warp; the products of the tiles as well where the round had a solve, by the
 * second. A barrier must follow. */
static __device__ void collect(const sup_gpu_system &s, const sup_gpu_state &st, judge &j, bool solved, unsigned round)
{
    const sup_gpu_message *words = st.words.sum[round & 1];
    if (threadIdx.x < T - 32) {
        sum_parts(words, s.part_count, round, j.sums);
        return;
    }
    double sum[1] = {0.0};
    if (solved) sum_words<1>(words, 3 * s.part_count, 3 * s.part_count + (int)gridDim.x, round, sum);
    if (threadIdx.x % 32 == 0) j.other = sum[0];
}

/* What comes after a round, by the first warp. */
static __device__ void decide_turn(const sup_gpu_system &s, const sup_gpu_state &st, judge &j, int turn, bool last_turn,
                                   bool touching, clocks clock)
{
    const int lane = threadIdx.x % 32;
    if (lane == 0) {
        j.sums[SUM_NEWEST] += j.other;
        if (turn == 0)
            begin(s, st, 0, j.sums, j.control, j.next);
        else if (touching)
            j.sums[SUM_ENERGY] = j.energy, j.sums[SUM_PUSHING] = j.pushing;
    }
    __syncwarp();
    if (turn > 0) decide(s, st, 0, last_turn, j.sums, j.control, j.next);
    __syncwarp();
    if (lane == 0) give_order(st, j.next.finish ? ORDER_END : ORDER_LOCAL, clock.round + 1, clock.order + 1);
}

/* Conjugate gradients: whether to search on after solve k, and what of the last direction to keep. By the first warp. */
static __device__ void decide_search(const sup_gpu_system &s, const sup_gpu_state &st, judge &j, int k, clocks clock)
{
    double help[3] = {0.0, 0.0, 0.0};
    if (k == 0) sum_words<3>(st.words.helped, s.part_count, (int)gridDim.x, clock.round, help);
    if (threadIdx.x % 32 > 0) return;
    const double now = j.sums[SUM_NEWEST] + j.other;
    bool active = now > 0.0;
    if (k == 0) {
        j.energy = j.sums[SUM_ENERGY] + help[0];
        j.near = help[1] > 0.0;
        j.pushing = help[2];
        j.first_rz = now;
    } else {
        active = sup_response_next_search(now, j.rz, j.first_rz, &j.search.factor) && active;
    }
    j.rz = now;
    j.search.active = active;
    if (active) give_order(st, ORDER_SEARCH, clock.round, clock.order + 1);
}

/* How far to go along the search direction, and whether there is another one. By the first warp. */
static __device__ void decide_length(const sup_gpu_state &st, judge &j, int k, clocks clock)
{
    double curvature[2]; /* all, and that of the rows */
    sum_words<2>(st.words.curve[clock.round & 1], 0, (int)gridDim.x, clock.round, curvature);
    if (threadIdx.x % 32 > 0) return;
    j.search.factor = sup_response_step_length(j.rz, curvature[0]);
    j.search.active = k + 1 < solves_of(st, 0) && j.search.factor != 0.0f &&
                      sup_response_leaves_residual(k, j.near != 0, curvature[1], curvature[0]);
    if (j.search.active) give_order(st, ORDER_SOLVE, clock.round + 1, clock.order + 1);
}

/* --- Parts --- */

/* What a block works with. */
struct team {
    const sup_gpu_system &s;
    const sup_gpu_state &st;
    const part_view &v;
    const tile_view &tile;
    judge &j;
    int across;
    bool touching;
};

/* The last two warps decide, while others solve; the first of the two has all sums. */
static __device__ bool is_judge()
{
    return threadIdx.x >= SOLVERS;
}

static __device__ bool is_first_judge()
{
    return threadIdx.x >= SOLVERS && threadIdx.x < T - 32;
}

/* Gradient at x, some threads a place: what there is to solve for into `in` and `left`, its products with all
 * directions so far into the values. */
static __device__ void find_gradient(const team &t, int history, float (&values)[SUP_GPU_SUMS_ALL], unsigned round)
{
    const part_view &v = t.v;
    const int n = v.b.part.count, lane = threadIdx.x % PLACE_LANES;
    const float *masses = v.b.at<float>(SUP_PACK_MASS);
    const contact_view view = open_contacts(t.s, t.st, 0);
    float products[2] = {0.0f, 0.0f}; /* with direction `lane`, and the one PLACE_LANES on */
#pragma unroll 1
    for (int at = threadIdx.x; at - (int)threadIdx.x % 32 < PLACE_LANES * v.places; at += T) { /* whole warps */
        const int i = min(at / PLACE_LANES, v.places - 1);
        float4 g = add_forces(v.b, i);
        if (at >= PLACE_LANES * v.places) continue;
        const float4 apart = minus(get(v.b.x + 3 * i), get(v.inertial + 3 * i));
        g = add_scaled(g, masses[i], apart);
        if (t.touching) {
            bool own;
            const int q = v.b.place(t.s.interior_count, i, own);
            if (own && lane == 0) g = add_scaled(g, 1.0f, hear_rows(view, t.st.words.push, q, round));
            if (lane == 0 && i >= n) tell(t.st.words.raw + v.b.at<int32_t>(SUP_PACK_SLOT)[i - n], g.x, g.y, g.z, round);
        }
        if (lane == 0) {
            values[SUM_ENERGY] = fmaf(0.5f * masses[i], dot(apart, apart), values[SUM_ENERGY]);
            if (i < n)
                v.in[i] = make_float4(-g.x, -g.y, -g.z, 0.0f);
            else
                v.left[i - n] = g;
        }
#pragma unroll
        for (int k = 0; k < 2; k++)
            if (lane + PLACE_LANES * k < history) products[k] += dot(get(v.older(lane + PLACE_LANES * k, i)), g);
    }
#pragma unroll
    for (int j = 0; j < SUP_SOLVER_HISTORY - 1; j++)
        values[SUM_OLDER + j] = j % PLACE_LANES == lane ? products[j / PLACE_LANES] : 0.0f;
}

/* The thread's place in conjugate gradients (solver_contact.c). */
struct cg_place {
    float4 search, image, residual, product, gradient;
    int q;
    bool here, own;
};

static __device__ cg_place open_place(const team &t, unsigned round)
{
    const part_view &v = t.v;
    const int i = threadIdx.x, n = v.b.part.count;
    const float4 none = make_float4(0.0f, 0.0f, 0.0f, 0.0f);
    cg_place c = {none, none, none, none, none, 0, i < v.places, false};
    if (!c.here) return c;
    c.q = v.b.place(t.s.interior_count, i, c.own);
    if (i < n) {
        c.residual = v.in[i];
    } else if (c.own) {
        const int place = c.q - t.s.interior_count;
        c.residual = hear_rest(t.st.words.raw, make_int2(t.s.top_first[place], t.s.top_first[place + 1]), round);
    }
    c.gradient = minus(none, c.residual);
    c.image = c.residual;
    return c;
}

/* The search direction is told, and its product with its image. */
static __device__ void tell_search(const team &t, const cg_place &c, unsigned round)
{
    float sum = c.own ? dot(c.search, c.image) : 0.0f;
    if (c.own) tell(t.st.words.search[round & 1] + c.q, c.search.x, c.search.y, c.search.z, round);
    for (int d = 16; d > 0; d >>= 1)
        sum += __shfl_xor_sync(0xffffffffu, sum, d);
    if (threadIdx.x % 32 == 0) t.v.b.sums[threadIdx.x / 32] = sum;
    __syncthreads();
    if (threadIdx.x == 0)
        tell(t.st.words.curve[round & 1] + blockIdx.x, sum_of_warps(t.v.b.sums, 0), 0.0f, 0.0f, round);
}

/* Along the search direction. */
static __device__ void step_along(const team &t, const contact_view &view, cg_place &c, float alpha, unsigned round)
{
    c.product = add_scaled(c.product, alpha, c.search);
    if (!c.own) return;
    const float4 rows = hear_rows(view, t.st.words.row[round & 1], c.q, round);
    c.residual = add_scaled(c.residual, -alpha, add_scaled(c.image, 1.0f, rows));
}

/* What is left to solve for. */
static __device__ void load_residual(const team &t, const cg_place &c)
{
    const int i = threadIdx.x, n = t.v.b.part.count;
    if (c.here && i < n)
        t.v.in[i] = c.residual;
    else if (c.here)
        t.v.left[i - n] = c.own ? make_float4(-c.residual.x, -c.residual.y, -c.residual.z, 0.0f) : c.residual;
}

/* Its products with the directions so far; image = g + r: - (A + C) d. */
static __device__ void tell_products(const team &t, const cg_place &c, unsigned round)
{
    const float4 image = add_scaled(c.gradient, 1.0f, c.residual);
    float values[SUP_GPU_SUMS_ALL];
#pragma unroll
    for (int k = 0; k < SUP_GPU_SUMS_ALL; k++)
        values[k] = 0.0f;
    if (c.own) {
        values[SUM_NEWEST] = -dot(c.product, image);
#pragma unroll
        for (int j = 0; j < SUP_SOLVER_HISTORY - 1; j++)
            if (j < t.j.control.history) values[SUM_OLDER + j] = dot(get(t.v.older(j, threadIdx.x)), image);
    }
    __syncthreads();
    add_up(t.v.b.sums, values);
    __syncthreads();
    tell_sums(t.st.words, t.v.b.sums, round);
}

/* A step of conjugate gradients after solve k, whose direction at the thread's place is z. False: it was the last. */
static __device__ bool search_on(const team &t, cg_place &c, int k, float4 z, clocks &clock)
{
    if (!t.j.search.active) return false;
    const float beta = k > 0 ? t.j.search.factor : 0.0f;
    clock.order++;
    c.search = add_scaled(z, beta, c.search);
    if (k > 0) c.image = add_scaled(c.residual, beta, c.image);
    tell_search(t, c, clock.round);
    __syncthreads();
    if (is_first_judge()) decide_length(t.st, t.j, k, clock);
    __syncthreads();
    step_along(t, open_contacts(t.s, t.st, 0), c, t.j.search.factor, clock.round);
    clock.order += t.j.search.active;
    return t.j.search.active;
}

enum { STAGE_START, STAGE_LOCAL, STAGE_SEARCH };

/* What a stage after the start solves for into `in` and `left`, and its sums. */
static __device__ void prepare_solve(const team &t, int stage, const cg_place &c, float (&values)[SUP_GPU_SUMS_ALL],
                                     unsigned round)
{
#pragma unroll
    for (int k = 0; k < SUP_GPU_SUMS_ALL; k++)
        values[k] = 0.0f;
    if (stage == STAGE_LOCAL) {
        values[SUM_ENERGY] = find_forces(t.s, t.st, t.v, round);
        find_gradient(t, t.touching ? 0 : t.j.control.history, values, round); /* with rows tell_products has them */
    } else {
        load_residual(t, c);
    }
}

/* The first solve of a step needs no more than the part; what others need is fetched now. */
static __device__ void load_rest(const team &t)
{
    load_anchors<1, T>(t.s, t.st, t.v.b);
    if (t.s.volume > 0.0f) load_feet<1, T>(t.s, t.st, t.v.b, 0);
    wait_inverse();
}

/* The second half of a solve, while the judges decide what comes next: the direction at the thread's place. Where there are
 * contacts, a step of conjugate gradients more; `again` where that needs another solve. */
static __device__ float4 finish_solve(const team &t, int stage, int turn, bool last_turn, int k, cg_place &c,
                                      clocks &clock, bool &again, move_view &m)
{
    again = false;
    for (bool products = false;; products = true) {
        const bool plain = products || stage == STAGE_START || !t.touching;
        if (is_judge())
            collect(t.s, t.st, t.j, !products, clock.round);
        else if (!products)
            hear_slots(t.s, t.st.words, t.v, t.across, clock.round);
        __syncthreads();
        if (is_first_judge() && plain)
            decide_turn(t.s, t.st, t.j, turn, last_turn, t.touching, clock);
        else if (is_first_judge())
            decide_search(t.s, t.st, t.j, k, clock);
        else if (!products)
            backward(t.v);
        if (plain) fetch_move(t.v, m);
        __syncthreads();
        if (plain) return products ? c.product : newest_at(t.v);
        if (k == 0) c = open_place(t, clock.round);
        again = search_on(t, c, k, newest_at(t.v), clock);
        if (again) return c.product;
        tell_products(t, c, ++clock.round);
    }
}

static __device__ void run_part(const team &t, const pull_view &pull, int turns, clocks &clock)
{
    cg_place c = {};
    int stage = STAGE_START, turn = 0, k = 0;
    float values[SUP_GPU_SUMS_ALL];
    predict(t.s, t.st, t.v, pull, values);
    for (;;) {
        if (stage != STAGE_START) prepare_solve(t, stage, c, values, clock.round);
        __syncthreads();
        forward(t.st.words, t.v, values, clock.round);
        if (stage == STAGE_START) load_rest(t);
        solve_top(t.s, t.st.words, t.tile, clock.round);
        bool again;
        move_view m;
        const float4 d = finish_solve(t, stage, turn, turn == turns, k, c, clock, again, m);
        clock.round++;
        if (again) {
            stage = STAGE_SEARCH;
            k++;
            continue;
        }
        clock.order++;
        const bool finish = t.j.next.finish;
        move_place(t.s, t.st, t.v, t.j.next, m, turn, d, t.touching, clock.round);
        if (finish) return;
        stage = STAGE_LOCAL;
        k = 0;
        turn++;
        __syncthreads();
    }
}

/* --- Blocks without a part --- */

static __device__ void run_helper(const team &t, clocks &clock)
{
    wait_inverse();
    __syncthreads();
    solve_top(t.s, t.st.words, t.tile, clock.round);
    for (;;) {
        const uint2 order = wait_for_order(t.st, ++clock.order);
        const unsigned round = order.y;
        if (order.x == ORDER_END) return;
        if (order.x == ORDER_SEARCH) {
            search_rows(t.s, t.st, t.tile.sums, round);
            continue;
        }
        if (order.x == ORDER_LOCAL && t.touching) push_rows(t.s, t.st, t.tile.sums, round);
        solve_top(t.s, t.st.words, t.tile, round);
    }
}

/* --- The step --- */

__global__ void __launch_bounds__(T, 1)
    alone_kernel(const __grid_constant__ sup_gpu_system s, const __grid_constant__ sup_gpu_state st, int turns)
{
    SHARED_ARRAY(float, shared);
    __shared__ sup_subdomain part;
    __shared__ judge j;
    const bool has_part = (int)blockIdx.x < s.part_count;
    const alone_sizes size(s, (int)gridDim.x);
    if (has_part) load_alone(s, shared, size);
    const part_view v = open_alone(s, shared, size, part);
    const tile_view tile = open_tile(s, shared, size);
    wait_groups<1>(); /* what the start needs of the part */
    __syncthreads();
    pull_view pull = {};
    if (has_part) pull = fetch_pull(s, v);
    wait_for_kernel();
    if (st.progress[0].asleep) {
        wait_inverse();
        return;
    }
    clocks clock = {st.words.clock[0] + 1, st.words.clock[1]};
    const team t = {s, st, v, tile, j, top_shape(s, (int)gridDim.x).across, st.progress[0].rows > 0};
    if (has_part)
        run_part(t, pull, turns, clock);
    else
        run_helper(t, clock);
    if (blockIdx.x == 0 && threadIdx.x == 0) st.words.clock[0] = clock.round, st.words.clock[1] = clock.order;
}

/* --- Launches --- */

extern "C" int32_t sup_gpu_persistent_blocks(const sup_gpu_system *system, int32_t processors, size_t shared_limit)
{
    const sup_gpu_system &s = *system;
    if (s.lockstep != 1 || s.part_count >= processors || LIMIT + s.most_slots > T) return 0;
    int32_t spread = (s.top_count + 3) / 4, blocks = spread < processors ? spread : processors;
    if (blocks <= s.part_count) blocks = s.part_count + 1; /* at least one for contacts */
    return alone_sizes(s, blocks).all * sizeof(float) + 4096 <= shared_limit ? blocks : 0;
}

extern "C" int32_t sup_gpu_persistent_tiles(const sup_gpu_system *system)
{
    return top_shape(*system, system->alone_blocks).across;
}

extern "C" int sup_gpu_persistent_prepare(const sup_gpu_system *system)
{
    if (system->alone_blocks == 0) return 0;
    return (int)cudaFuncSetAttribute(alone_kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                     (int)(alone_sizes(*system, system->alone_blocks).all * sizeof(float)));
}

extern "C" int sup_gpu_persistent(const sup_gpu_system *system, const sup_gpu_state *state, int32_t turns, void *stream)
{
    cudaLaunchAttribute attributes[2] = {};
    attributes[0].id = cudaLaunchAttributeCooperative; /* all blocks at once, or none: they wait for each other */
    attributes[0].val.cooperative = 1;
    attributes[1].id = cudaLaunchAttributeProgrammaticStreamSerialization; /* launch_early */
    attributes[1].val.programmaticStreamSerializationAllowed = 1;
    cudaLaunchConfig_t config = {};
    config.gridDim = dim3(system->alone_blocks);
    config.blockDim = dim3(T);
    config.dynamicSmemBytes = alone_sizes(*system, system->alone_blocks).all * sizeof(float);
    config.stream = (cudaStream_t)stream;
    config.attrs = attributes;
    config.numAttrs = 2;
    return (int)cudaLaunchKernelEx(&config, alone_kernel, *system, *state, (int)turns);
}

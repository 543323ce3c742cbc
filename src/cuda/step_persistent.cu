/* step_persistent.cu - the step of a single character in one launch: step.cu, schur.cu and contact_solve.cu by
 * persistent thread blocks.
 *
 * Based on: as step.cu. A single character keeps the device busy only for a few microseconds at a time, so the cost
 * of a kernel is its start: loading the subdomain and waiting for the results of the previous kernel. Here a block
 * keeps its subdomain and its tile of S^-1 in shared memory for the whole step (persistent_view.cuh), and there are
 * no grid barriers: data of other blocks comes in messages (persistent_messages.cuh). An iteration has three memory
 * round trips: slots to the separator, the separator's direction and all sums back, volumes of regions; the last
 * one is hidden by the rotations. All subdomains make the same decisions, by two warps while the others solve.
 * Blocks without a subdomain receive commands from the first block.
 *
 * The arithmetic is that of the kernels; sums have a different order and thus different rounding. */
#include "cuda/persistent_contact.cuh"

/* --- Commands --- */

enum { COMMAND_LOCAL = 1, COMMAND_SEARCH, COMMAND_SOLVE, COMMAND_END };

/* Epochs and commands so far. */
struct clocks {
    unsigned epoch, command;
};

/* By one thread. */
static __device__ void publish_command(const sup_gpu_state &st, int what, unsigned epoch, unsigned number)
{
    if (blockIdx.x == 0) publish(st.messages.command, (unsigned)what, epoch, 0u, number);
}

static __device__ uint2 poll_command(const sup_gpu_state &st, unsigned number)
{
    __shared__ uint2 command;
    __syncthreads();
    if (threadIdx.x == 0) {
        const int index[1] = {0};
        uint4 message[1];
        poll<1>(st.messages.command, index, number, message);
        command = make_uint2(message[0].x, message[0].y);
    }
    __syncthreads();
    return command;
}

/* --- Decisions, by the last two warps --- */

/* Shared memory of the two control warps. */
struct control_state {
    double sums[SUP_GPU_SUMS_PADDED];
    double other; /* result of the second warp */
    double energy, active_contacts;
    double rz, first_rz;
    int near;
    sup_gpu_control control;
    sup_gpu_iteration next;
    cg_control search;
};

/* Sums of the first N values of messages [first, end), by a warp; the values behind them are 0. */
template <int N>
static __device__ void sum_messages(const sup_gpu_message *messages, int first, int end, unsigned epoch,
                                    double (&sum)[N])
{
    enum { AT_ONCE = 5 };
    const int lane = threadIdx.x % 32;
#pragma unroll
    for (int n = 0; n < N; n++)
        sum[n] = 0.0;
#pragma unroll 1
    for (int at = first + lane; at - lane < end; at += 32 * AT_ONCE) {
        int index[AT_ONCE];
        uint4 message[AT_ONCE];
#pragma unroll
        for (int k = 0; k < AT_ONCE; k++)
            index[k] = at + 32 * k < end ? at + 32 * k : -1;
        poll<AT_ONCE>(messages, index, epoch, message);
#pragma unroll
        for (int k = 0; k < AT_ONCE; k++) {
            const float number[3] = {__uint_as_float(message[k].x), __uint_as_float(message[k].y),
                                     __uint_as_float(message[k].z)};
#pragma unroll
            for (int n = 0; n < 3; n++) /* all of them: see load_message */
                sum[n < N ? n : N - 1] += (double)number[n];
        }
    }
    __syncwarp();
#pragma unroll
    for (int n = 0; n < N; n++)
        sum[n] = warp_sum(sum[n]);
}

/* Messages [0, 3*count), nine values per subdomain, by a warp, into sums. Every third lane has the same values of a
 * subdomain. */
static __device__ void sum_subdomains(const sup_gpu_message *messages, int count, unsigned epoch, double *sums)
{
    enum { AT_ONCE = 8, LANES = 30 };
    const unsigned all = 0xffffffffu;
    const int lane = threadIdx.x % 32;
    double sum[3] = {0.0, 0.0, 0.0};
#pragma unroll 1
    for (int at = lane; at - lane < 3 * count; at += LANES * AT_ONCE) {
        int index[AT_ONCE];
        uint4 message[AT_ONCE];
#pragma unroll
        for (int k = 0; k < AT_ONCE; k++)
            index[k] = lane < LANES && at + LANES * k < 3 * count ? at + LANES * k : -1;
        poll<AT_ONCE>(messages, index, epoch, message);
#pragma unroll
        for (int k = 0; k < AT_ONCE; k++) {
            sum[0] += (double)__uint_as_float(message[k].x);
            sum[1] += (double)__uint_as_float(message[k].y);
            sum[2] += (double)__uint_as_float(message[k].z);
        }
    }
    __syncwarp();
#pragma unroll
    for (int n = 0; n < 3; n++) { /* ten lanes have the same value */
        double v = sum[n] + __shfl_down_sync(all, sum[n], 15), last = __shfl_down_sync(all, v, 12);
        v += __shfl_down_sync(all, v, 6);
        v += __shfl_down_sync(all, v, 3) + last;
        if (lane < 3) sums[3 * lane + n] = v;
    }
    __syncwarp();
}

/* Sums of the subdomains in an epoch, by the first control warp; if the epoch had a solve, the products of the tiles
 * by the second. A barrier must follow. */
static __device__ void poll_sums(const sup_gpu_system &s, const sup_gpu_state &st, control_state &j, bool solved,
                                 unsigned epoch)
{
    const sup_gpu_message *messages = st.messages.sum[epoch & 1];
    if (threadIdx.x < T - 32) {
        sum_subdomains(messages, s.subdomain_count, epoch, j.sums);
        return;
    }
    double sum[1] = {0.0};
    if (solved) sum_messages<1>(messages, 3 * s.subdomain_count, 3 * s.subdomain_count + (int)gridDim.x, epoch, sum);
    if (threadIdx.x % 32 == 0) j.other = sum[0];
}

/* The stage after an epoch, by the first control warp. */
static __device__ void control_iteration(const sup_gpu_system &s, const sup_gpu_state &st, control_state &j,
                                         int iteration, bool last_iteration, bool touching, clocks clock)
{
    const int lane = threadIdx.x % 32;
    if (lane == 0) {
        j.sums[SUM_NEWEST] += j.other;
        if (iteration == 0)
            begin(s, st, 0, j.sums, j.control, j.next);
        else if (touching)
            j.sums[SUM_ENERGY] = j.energy, j.sums[SUM_ACTIVE] = j.active_contacts;
    }
    __syncwarp();
    if (iteration > 0) control_step(s, st, 0, last_iteration, j.sums, j.control, j.next);
    __syncwarp();
    if (lane == 0) publish_command(st, j.next.finish ? COMMAND_END : COMMAND_LOCAL, clock.epoch + 1, clock.command + 1);
}

/* Conjugate gradients: whether to continue after solve k, and the weight of the last direction. By the first control
 * warp. */
static __device__ void control_search(const sup_gpu_system &s, const sup_gpu_state &st, control_state &j, int k,
                                      clocks clock)
{
    double help[3] = {0.0, 0.0, 0.0};
    if (k == 0) sum_messages<3>(st.messages.contact_sums, s.subdomain_count, (int)gridDim.x, clock.epoch, help);
    if (threadIdx.x % 32 > 0) return;
    const double now = j.sums[SUM_NEWEST] + j.other;
    bool active = now > 0.0;
    if (k == 0) {
        j.energy = j.sums[SUM_ENERGY] + help[0];
        j.near = help[1] > 0.0;
        j.active_contacts = help[2];
        j.first_rz = now;
    } else {
        active = sup_response_next_search(now, j.rz, j.first_rz, &j.search.factor) && active;
    }
    j.rz = now;
    j.search.active = active;
    if (active) publish_command(st, COMMAND_SEARCH, clock.epoch, clock.command + 1);
}

/* Step length along the search direction, and whether another one follows. By the first control warp. */
static __device__ void control_step_length(const sup_gpu_state &st, control_state &j, int k, clocks clock)
{
    double curvature[2]; /* total, and that of the contacts */
    sum_messages<2>(st.messages.curve[clock.epoch & 1], 0, (int)gridDim.x, clock.epoch, curvature);
    if (threadIdx.x % 32 > 0) return;
    j.search.factor = sup_response_step_length(j.rz, curvature[0]);
    j.search.active = k + 1 < max_solves_of(st, 0) && j.search.factor != 0.0f &&
                      sup_response_leaves_residual(k, j.near != 0, curvature[1], curvature[0]);
    if (j.search.active) publish_command(st, COMMAND_SOLVE, clock.epoch + 1, clock.command + 1);
}

/* --- Subdomains --- */

/* Work of a block. */
struct block_work {
    const sup_gpu_system &s;
    const sup_gpu_state &st;
    const subdomain_view &v;
    const tile_view &tile;
    control_state &j;
    int across;
    bool touching;
};

/* The last two warps control the step, while the others solve; the first of the two has all sums. */
static __device__ bool is_control_warp()
{
    return threadIdx.x >= SOLVERS;
}

static __device__ bool is_first_control_warp()
{
    return threadIdx.x >= SOLVERS && threadIdx.x < T - 32;
}

/* Gradient at x, NODE_LANES threads per node: the right-hand side into `in` and `slot_gradient`, its products with all
 * directions so far into `values`. */
static __device__ void find_gradient(const block_work &t, int history, float (&values)[SUP_GPU_SUMS_PADDED],
                                     unsigned epoch)
{
    const subdomain_view &v = t.v;
    const int n = v.b.subdomain.count, lane = threadIdx.x % NODE_LANES;
    const float *masses = v.b.at<float>(SUP_PACK_MASS);
    const contact_view view = open_contacts(t.s, t.st, 0);
    float products[2] = {0.0f, 0.0f}; /* with directions `lane` and `lane` + NODE_LANES */
#pragma unroll 1
    for (int at = threadIdx.x; at - (int)threadIdx.x % 32 < NODE_LANES * v.nodes; at += T) { /* whole warps */
        const int i = min(at / NODE_LANES, v.nodes - 1);
        float4 g = add_forces(v.b, i);
        if (at >= NODE_LANES * v.nodes) continue;
        const float4 difference = minus(get(v.b.x + 3 * i), get(v.inertial + 3 * i));
        g = add_scaled(g, masses[i], difference);
        if (t.touching) {
            bool own;
            const int q = v.b.node(t.s.interior_count, i, own);
            if (own && lane == 0) g = add_scaled(g, 1.0f, poll_node_contacts(view, t.st.messages.push, q, epoch));
            if (lane == 0 && i >= n)
                publish(t.st.messages.raw_gradient + v.b.at<int32_t>(SUP_PACK_SLOT)[i - n], g.x, g.y, g.z, epoch);
        }
        if (lane == 0) {
            values[SUM_ENERGY] = fmaf(0.5f * masses[i], dot(difference, difference), values[SUM_ENERGY]);
            if (i < n)
                v.in[i] = make_float4(-g.x, -g.y, -g.z, 0.0f);
            else
                v.slot_gradient[i - n] = g;
        }
#pragma unroll
        for (int k = 0; k < 2; k++)
            if (lane + NODE_LANES * k < history) products[k] += dot(get(v.older(lane + NODE_LANES * k, i)), g);
    }
#pragma unroll
    for (int j = 0; j < SUP_SOLVER_HISTORY - 1; j++)
        values[SUM_OLDER + j] = j % NODE_LANES == lane ? products[j / NODE_LANES] : 0.0f;
}

/* The thread's node in conjugate gradients (solver_contact.c). */
struct cg_node {
    float4 search, image, residual, product, gradient;
    int q;
    bool here, own;
};

static __device__ cg_node open_node(const block_work &t, unsigned epoch)
{
    const subdomain_view &v = t.v;
    const int i = threadIdx.x, n = v.b.subdomain.count;
    const float4 none = make_float4(0.0f, 0.0f, 0.0f, 0.0f);
    cg_node c = {none, none, none, none, none, 0, i < v.nodes, false};
    if (!c.here) return c;
    c.q = v.b.node(t.s.interior_count, i, c.own);
    if (i < n) {
        c.residual = v.in[i];
    } else if (c.own) {
        const int node = c.q - t.s.interior_count;
        c.residual = poll_separator_residual(
            t.st.messages.raw_gradient, make_int2(t.s.separator_first[node], t.s.separator_first[node + 1]), epoch);
    }
    c.gradient = minus(none, c.residual);
    c.image = c.residual;
    return c;
}

/* Publishes the search direction and its product with its image. */
static __device__ void publish_search(const block_work &t, const cg_node &c, unsigned epoch)
{
    float sum = c.own ? dot(c.search, c.image) : 0.0f;
    if (c.own) publish(t.st.messages.search[epoch & 1] + c.q, c.search.x, c.search.y, c.search.z, epoch);
    for (int d = 16; d > 0; d >>= 1)
        sum += __shfl_xor_sync(0xffffffffu, sum, d);
    if (threadIdx.x % 32 == 0) t.v.b.sums[threadIdx.x / 32] = sum;
    __syncthreads();
    if (threadIdx.x == 0)
        publish(t.st.messages.curve[epoch & 1] + blockIdx.x, sum_of_warps(t.v.b.sums, 0), 0.0f, 0.0f, epoch);
}

/* Step along the search direction. */
static __device__ void step_along(const block_work &t, const contact_view &view, cg_node &c, float alpha,
                                  unsigned epoch)
{
    c.product = add_scaled(c.product, alpha, c.search);
    if (!c.own) return;
    const float4 forces = poll_node_contacts(view, t.st.messages.contact[epoch & 1], c.q, epoch);
    c.residual = add_scaled(c.residual, -alpha, add_scaled(c.image, 1.0f, forces));
}

/* The residual as the next right-hand side. */
static __device__ void load_residual(const block_work &t, const cg_node &c)
{
    const int i = threadIdx.x, n = t.v.b.subdomain.count;
    if (c.here && i < n)
        t.v.in[i] = c.residual;
    else if (c.here)
        t.v.slot_gradient[i - n] = c.own ? make_float4(-c.residual.x, -c.residual.y, -c.residual.z, 0.0f) : c.residual;
}

/* Its products with the directions so far; image = g + r: - (A + C) d. */
static __device__ void publish_products(const block_work &t, const cg_node &c, unsigned epoch)
{
    const float4 image = add_scaled(c.gradient, 1.0f, c.residual);
    float values[SUP_GPU_SUMS_PADDED];
#pragma unroll
    for (int k = 0; k < SUP_GPU_SUMS_PADDED; k++)
        values[k] = 0.0f;
    if (c.own) {
        values[SUM_NEWEST] = -dot(c.product, image);
#pragma unroll
        for (int j = 0; j < SUP_SOLVER_HISTORY - 1; j++)
            if (j < t.j.control.history) values[SUM_OLDER + j] = dot(get(t.v.older(j, threadIdx.x)), image);
    }
    __syncthreads();
    sum_over_warps(t.v.b.sums, values);
    __syncthreads();
    publish_sums(t.st.messages, t.v.b.sums, epoch);
}

/* An iteration of conjugate gradients after solve k, whose direction at the thread's node is z. False: it was the
 * last. */
static __device__ bool continue_search(const block_work &t, cg_node &c, int k, float4 z, clocks &clock)
{
    if (!t.j.search.active) return false;
    const float beta = k > 0 ? t.j.search.factor : 0.0f;
    clock.command++;
    c.search = add_scaled(z, beta, c.search);
    if (k > 0) c.image = add_scaled(c.residual, beta, c.image);
    publish_search(t, c, clock.epoch);
    __syncthreads();
    if (is_first_control_warp()) control_step_length(t.st, t.j, k, clock);
    __syncthreads();
    step_along(t, open_contacts(t.s, t.st, 0), c, t.j.search.factor, clock.epoch);
    clock.command += t.j.search.active;
    return t.j.search.active;
}

enum { STAGE_START, STAGE_LOCAL, STAGE_SEARCH };

/* Right-hand side of a stage after the start into `in` and `slot_gradient`, and its sums. */
static __device__ void prepare_solve(const block_work &t, int stage, const cg_node &c,
                                     float (&values)[SUP_GPU_SUMS_PADDED], unsigned epoch)
{
#pragma unroll
    for (int k = 0; k < SUP_GPU_SUMS_PADDED; k++)
        values[k] = 0.0f;
    if (stage == STAGE_LOCAL) {
        values[SUM_ENERGY] = find_forces(t.s, t.st, t.v, epoch);
        find_gradient(t, t.touching ? 0 : t.j.control.history, values,
                      epoch); /* with contacts publish_products computes them */
    } else {
        load_residual(t, c);
    }
}

/* The first solve of a step needs only the subdomain's solve matrix; the other data is loaded meanwhile. */
static __device__ void load_inputs(const block_work &t)
{
    load_anchors<1, T>(t.s, t.st, t.v.b);
    if (t.s.volume > 0.0f) load_foot_points<1, T>(t.s, t.st, t.v.b, 0);
    wait_inverse();
}

/* The second half of a solve, while the control warps decide the next stage: returns the direction at the thread's
 * node. With contacts, one more iteration of conjugate gradients; `again`: it needs another solve. */
static __device__ float4 finish_solve(const block_work &t, int stage, int iteration, bool last_iteration, int k,
                                      cg_node &c, clocks &clock, bool &again, move_view &m)
{
    again = false;
    for (bool products = false;; products = true) {
        const bool plain = products || stage == STAGE_START || !t.touching;
        if (is_control_warp())
            poll_sums(t.s, t.st, t.j, !products, clock.epoch);
        else if (!products)
            poll_separator(t.s, t.st.messages, t.v, t.across, clock.epoch);
        __syncthreads();
        if (is_first_control_warp() && plain)
            control_iteration(t.s, t.st, t.j, iteration, last_iteration, t.touching, clock);
        else if (is_first_control_warp())
            control_search(t.s, t.st, t.j, k, clock);
        else if (!products)
            backward(t.v);
        if (plain) fetch_move(t.v, m);
        __syncthreads();
        if (plain) return products ? c.product : newest_at(t.v);
        if (k == 0) c = open_node(t, clock.epoch);
        again = continue_search(t, c, k, newest_at(t.v), clock);
        if (again) return c.product;
        publish_products(t, c, ++clock.epoch);
    }
}

static __device__ void run_subdomain(const block_work &t, const pull_view &pull, int iterations, clocks &clock)
{
    cg_node c = {};
    int stage = STAGE_START, iteration = 0, k = 0;
    float values[SUP_GPU_SUMS_PADDED];
    predict(t.s, t.st, t.v, pull, values);
    for (;;) {
        if (stage != STAGE_START) prepare_solve(t, stage, c, values, clock.epoch);
        __syncthreads();
        forward(t.st.messages, t.v, values, clock.epoch);
        if (stage == STAGE_START) load_inputs(t);
        solve_separator(t.s, t.st.messages, t.tile, clock.epoch);
        bool again;
        move_view m;
        const float4 d = finish_solve(t, stage, iteration, iteration == iterations, k, c, clock, again, m);
        clock.epoch++;
        if (again) {
            stage = STAGE_SEARCH;
            k++;
            continue;
        }
        clock.command++;
        const bool finish = t.j.next.finish;
        move_node(t.s, t.st, t.v, t.j.next, m, iteration, d, t.touching, clock.epoch);
        if (finish) return;
        stage = STAGE_LOCAL;
        k = 0;
        iteration++;
        __syncthreads();
    }
}

/* --- Blocks without a subdomain --- */

static __device__ void run_contact_block(const block_work &t, clocks &clock)
{
    wait_inverse();
    __syncthreads();
    solve_separator(t.s, t.st.messages, t.tile, clock.epoch);
    for (;;) {
        const uint2 command = poll_command(t.st, ++clock.command);
        const unsigned epoch = command.y;
        if (command.x == COMMAND_END) return;
        if (command.x == COMMAND_SEARCH) {
            search_contacts(t.s, t.st, t.tile.sums, epoch);
            continue;
        }
        if (command.x == COMMAND_LOCAL && t.touching) push_contacts(t.s, t.st, t.tile.sums, epoch);
        solve_separator(t.s, t.st.messages, t.tile, epoch);
    }
}

/* --- The step --- */

__global__ void __launch_bounds__(T, 1) persistent_kernel(const __grid_constant__ sup_gpu_system s,
                                                          const __grid_constant__ sup_gpu_state st, int iterations)
{
    SHARED_ARRAY(float, shared);
    __shared__ sup_subdomain subdomain;
    __shared__ control_state j;
    const bool has_subdomain = (int)blockIdx.x < s.subdomain_count;
    const persistent_sizes size(s, (int)gridDim.x);
    if (has_subdomain) load_persistent(s, shared, size);
    const subdomain_view v = open_persistent(s, shared, size, subdomain);
    const tile_view tile = open_tile(s, shared, size);
    wait_groups<1>(); /* data of the subdomain for the start */
    __syncthreads();
    pull_view pull = {};
    if (has_subdomain) pull = fetch_pull(s, v);
    wait_for_kernel();
    if (st.progress[0].asleep) {
        wait_inverse();
        return;
    }
    clocks clock = {st.messages.clock[0] + 1, st.messages.clock[1]};
    const block_work t = {s, st, v, tile, j, schur_tiles(s, (int)gridDim.x).across, st.progress[0].contacts > 0};
    if (has_subdomain)
        run_subdomain(t, pull, iterations, clock);
    else
        run_contact_block(t, clock);
    if (blockIdx.x == 0 && threadIdx.x == 0) st.messages.clock[0] = clock.epoch, st.messages.clock[1] = clock.command;
}

/* --- Launches --- */

extern "C" int32_t sup_gpu_persistent_blocks(const sup_gpu_system *system, int32_t processors, size_t shared_limit)
{
    const sup_gpu_system &s = *system;
    if (s.lockstep != 1 || s.subdomain_count >= processors || LIMIT + s.max_slots > T) return 0;
    int32_t spread = (s.separator_count + 3) / 4, blocks = spread < processors ? spread : processors;
    if (blocks <= s.subdomain_count) blocks = s.subdomain_count + 1; /* at least one for contacts */
    return persistent_sizes(s, blocks).all * sizeof(float) + 4096 <= shared_limit ? blocks : 0;
}

extern "C" int32_t sup_gpu_persistent_tiles(const sup_gpu_system *system)
{
    return schur_tiles(*system, system->persistent_blocks).across;
}

extern "C" int sup_gpu_persistent_prepare(const sup_gpu_system *system)
{
    if (system->persistent_blocks == 0) return 0;
    return (int)cudaFuncSetAttribute(persistent_kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                     (int)(persistent_sizes(*system, system->persistent_blocks).all * sizeof(float)));
}

extern "C" int sup_gpu_persistent(const sup_gpu_system *system, const sup_gpu_state *state, int32_t iterations,
                                  void *stream)
{
    cudaLaunchAttribute attributes[2] = {};
    attributes[0].id =
        cudaLaunchAttributeCooperative; /* all blocks run at the same time, or none: they wait for each other */
    attributes[0].val.cooperative = 1;
    attributes[1].id = cudaLaunchAttributeProgrammaticStreamSerialization; /* launch_early */
    attributes[1].val.programmaticStreamSerializationAllowed = 1;
    cudaLaunchConfig_t config = {};
    config.gridDim = dim3(system->persistent_blocks);
    config.blockDim = dim3(T);
    config.dynamicSmemBytes = persistent_sizes(*system, system->persistent_blocks).all * sizeof(float);
    config.stream = (cudaStream_t)stream;
    config.attrs = attributes;
    config.numAttrs = 2;
    return (int)cudaLaunchKernelEx(&config, persistent_kernel, *system, *state, (int)iterations);
}

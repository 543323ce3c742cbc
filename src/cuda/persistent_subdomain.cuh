/* persistent_subdomain.cuh (internal) - work of a block of step_persistent.cu on its subdomain: both halves of a
 * solve, the accelerated step, the local step. The formulas are those of step_subdomain.cuh. A thread has a node of
 * the subdomain, whose private data is in shared memory; data for other blocks is published in messages. */
#ifndef SUP_CUDA_PERSISTENT_SUBDOMAIN_CUH
#define SUP_CUDA_PERSISTENT_SUBDOMAIN_CUH

#include "cuda/persistent_view.cuh"

/* --- Sums --- */

enum { SUBDOMAIN_SUMS = 9 }; /* SUM_ENERGY to the last of SUM_OLDER: three messages */

/* Sums over the warps of a block, first stage; a barrier must follow. */
static __device__ void sum_over_warps(float *shared, float (&values)[SUP_GPU_SUMS_PADDED])
{
    const float sum = warp_sums<SUP_GPU_SUMS_PADDED>(values);
    if (threadIdx.x % 2 == 0) shared[threadIdx.x % 32 / 2 * 32 + threadIdx.x / 32] = sum;
}

static __device__ float sum_of_warps(const float *shared, int value)
{
    const float4 *from = (const float4 *)(shared + value * 32);
    float total = 0.0f;
#pragma unroll
    for (int w = 0; w < T / 128; w++)
        total += (from[w].x + from[w].y) + (from[w].z + from[w].w);
    return total;
}

/* Second stage: the last warp publishes them. */
static __device__ void publish_sums(const sup_gpu_messages &messages, const float *shared, unsigned epoch)
{
    const unsigned all = 0xffffffffu;
    const int lane = (int)threadIdx.x - (T - 32), k = 3 * min(lane, SUBDOMAIN_SUMS / 3 - 1);
    if (lane < 0) return;
    const float sum = sum_of_warps(shared, min(lane, SUBDOMAIN_SUMS - 1));
    const float a = __shfl_sync(all, sum, k), b = __shfl_sync(all, sum, k + 1), c = __shfl_sync(all, sum, k + 2);
    if (lane < SUBDOMAIN_SUMS / 3) publish(messages.sum[epoch & 1] + 3 * blockIdx.x + lane, a, b, c, epoch);
}

/* --- A solve --- */

/* First half: `in` holds r of the subdomain, `slot_gradient` the gradient at its slots. Keeps y; publishes gradient
 * + A_tp y_p of the slots and the sums, including r . y. */
static __device__ void forward(const sup_gpu_messages &messages, const subdomain_view &v,
                               float (&values)[SUP_GPU_SUMS_PADDED], unsigned epoch)
{
    const int n = v.b.subdomain.count, slice = v.slice, row = v.row;
    const bool here = slice < v.slices && row < v.nodes;
    float4 sum = make_float4(0.0f, 0.0f, 0.0f, 0.0f);
    if (here) {
#pragma unroll 4
        for (int j = slice; j < n; j += v.slices)
            sum = add_scaled(sum, v.solve[j * v.stride + row], v.in[j]);
        if (row < n) values[SUM_NEWEST] += dot(sum, v.in[row]);
        if (slice > 0) put(v.half + 3 * ((slice - 1) * v.wide + row), sum);
    }
    sum_over_warps(v.b.sums, values);
    __syncthreads();
    publish_sums(messages, v.b.sums, epoch);
    if (slice > 0 || !here) return;
#pragma unroll 1
    for (int h = 0; h < v.slices - 1; h++)
        sum = add_scaled(sum, 1.0f, get(v.half + 3 * (h * v.wide + row)));
    if (row < n) {
        v.y[row] = sum;
        return;
    }
    sum = add_scaled(v.slot_gradient[row - n], 1.0f, sum);
    publish(messages.slot[epoch & 1] + v.b.at<int32_t>(SUP_PACK_SLOT)[row - n], sum.x, sum.y, sum.z, epoch);
}

/* Second half, first stage: the newest direction at the subdomain's separator nodes into `slots`, summed over the
 * tiles of their rows. By the first SOLVERS threads; a barrier must follow. */
static __device__ void poll_separator(const sup_gpu_system &s, const sup_gpu_messages &messages,
                                      const subdomain_view &v, int across, unsigned epoch)
{
    enum { AT_ONCE = 6 };
#pragma unroll 1
    for (int i = threadIdx.x; i < v.b.subdomain.slot_count; i += SOLVERS) {
        bool own;
        const int node = v.b.node(0, v.b.subdomain.count + i, own);
        float4 sum = make_float4(0.0f, 0.0f, 0.0f, 0.0f);
#pragma unroll 1
        for (int first = 0; first < across; first += AT_ONCE) {
            int index[AT_ONCE];
            uint4 message[AT_ONCE];
#pragma unroll
            for (int k = 0; k < AT_ONCE; k++)
                index[k] = first + k < across ? (first + k) * s.separator_count + node : -1;
            poll<AT_ONCE>(messages.separator[epoch & 1], index, epoch, message);
#pragma unroll
            for (int k = 0; k < AT_ONCE; k++)
                sum = add_scaled(sum, 1.0f, vector_of(message[k]));
        }
        v.slots[i] = sum;
    }
}

/* Second stage: subtracts their effect on the subdomain's own unknowns, four threads per row. y becomes the
 * direction. */
static __device__ void backward(const subdomain_view &v)
{
    enum { LANES = 4 };
    const int row = threadIdx.x / LANES, lane = threadIdx.x % LANES, n = v.b.subdomain.count,
              slots = v.b.subdomain.slot_count;
    if (threadIdx.x >= LIMIT * LANES) return;
    float4 sum = make_float4(0.0f, 0.0f, 0.0f, 0.0f);
    const float *m = v.solve + min(row, n - 1) * v.stride + n;
#pragma unroll 4
    for (int i = lane; i < slots; i += LANES)
        sum = add_scaled(sum, m[i], v.slots[i]);
    for (int d = LANES / 2; d > 0; d >>= 1) {
        sum.x += __shfl_xor_sync(0xffffffffu, sum.x, d);
        sum.y += __shfl_xor_sync(0xffffffffu, sum.y, d);
        sum.z += __shfl_xor_sync(0xffffffffu, sum.z, d);
    }
    if (lane == 0 && row < n) v.y[row] = minus(v.y[row], sum);
}

/* The newest direction at the thread's node, after a barrier. */
static __device__ float4 newest_at(const subdomain_view &v)
{
    const int i = threadIdx.x, n = v.b.subdomain.count;
    return i < n ? v.y[i] : i < v.nodes ? v.slots[i - n] : make_float4(0.0f, 0.0f, 0.0f, 0.0f);
}

/* --- The accelerated step --- */

enum { PULLS = 6 };

/* Constant inputs of the prediction at the thread's node: loaded before the previous kernel has ended. */
struct pull_view {
    int q, begin, end, anchor[PULLS];
    float weight, value[PULLS];
    bool own;
};

static __device__ pull_view fetch_pull(const sup_gpu_system &s, const subdomain_view &v)
{
    pull_view p = {};
    if ((int)threadIdx.x >= v.nodes) return p;
    p.q = v.b.node(s.interior_count, threadIdx.x, p.own);
    p.begin = s.pull_first[p.q];
    p.end = s.pull_first[p.q + 1];
    p.weight = s.diagonal[p.q];
#pragma unroll
    for (int k = 0; k < PULLS; k++) {
        const bool here = p.begin + k < p.end;
        p.anchor[k] = here ? s.pull_anchor[p.begin + k] : 0;
        p.value[k] = here ? s.pull_value[p.begin + k] : 0.0f;
    }
    return p;
}

/* Eq. 2.9 at the thread's node, and the pull of the anchors. Position, displacement and prediction error of the node
 * stay in `x`, `base` and the first direction for the start. */
static __device__ void predict(const sup_gpu_system &s, const sup_gpu_state &st, const subdomain_view &v,
                               const pull_view &p, float (&values)[SUP_GPU_SUMS_PADDED])
{
    const int i = threadIdx.x, n = v.b.subdomain.count;
    const predict_view view = view_predict(s, st, 0);
    float sums[8] = {0.0f};
    if (i < v.nodes) {
        float4 pull = make_float4(0.0f, 0.0f, 0.0f, 0.0f), inertial = pull;
        const float4 x = st.x[view.now][p.q], prediction = st.prediction[p.q], before = st.x[1 - view.now][p.q];
        if (p.own) {
            float4 acceleration[PULLS];
#pragma unroll
            for (int k = 0; k < PULLS; k++)
                acceleration[k] = view.acceleration[p.anchor[k]]; /* any value, times 0, where there are fewer */
            inertial = predict_node(st, view, p.q, p.weight, sums);
            if (p.begin + PULLS < p.end) pull = pull_of_anchors(s, view, p.begin + PULLS, p.end);
#pragma unroll
            for (int k = 0; k < PULLS; k++)
                pull = add_scaled(pull, p.value[k], acceleration[k]);
        }
        put(v.b.x + 3 * i, x);
        put(v.base + 3 * i, minus(x, before));
        put(v.older(0, i), minus(x, prediction));
        put(v.inertial + 3 * i, inertial);
        if (i < n)
            v.in[i] = make_float4(-pull.x, -pull.y, -pull.z, 0.0f);
        else
            v.slot_gradient[i - n] = pull;
    }
#pragma unroll
    for (int k = 0; k < SUP_GPU_SUMS_PADDED; k++)
        values[k] = k >= SUM_PRODUCT && k <= SUM_SIZE ? sums[k - SUM_PRODUCT] : 0.0f;
}

/* Inputs of the next iterate at the thread's node, loaded while the control warps decide. */
struct move_view {
    float4 x, base, older[SUP_SOLVER_HISTORY - 1];
};

static __device__ void fetch_move(const subdomain_view &v, move_view &m)
{
    const int i = threadIdx.x;
    if (i >= v.nodes) return;
    m.x = get(v.b.x + 3 * i);
    m.base = get(v.base + 3 * i);
#pragma unroll
    for (int j = 0; j < SUP_SOLVER_HISTORY - 1; j++)
        m.older[j] = get(v.older(j, i));
}

/* The next iterate at the thread's node, `d` the newest direction there. */
static __device__ void move_node(const sup_gpu_system &s, const sup_gpu_state &st, const subdomain_view &v,
                                 const sup_gpu_iteration &p, const move_view &m, int iteration, float4 d, bool touching,
                                 unsigned epoch)
{
    const int i = threadIdx.x;
    if (i >= v.nodes) return;
    bool own;
    const int q = v.b.node(s.interior_count, i, own);
    float4 next;
    if (iteration == 0) { /* exact for a linear system, plus a fraction of the last prediction error */
        const float4 prediction = add_scaled(add_scaled(m.x, 1.0f - p.drop, m.base), 1.0f, d);
        if (own) st.prediction[q] = prediction;
        next = add_scaled(prediction, p.repeat, m.older[0]);
    } else {
        next = p.accepted ? m.x : m.base;
        put(v.base + 3 * i, next);
#pragma unroll
        for (int j = 0; j < SUP_SOLVER_HISTORY - 1; j++)
            if (j < p.history) next = add_scaled(next, p.factor[j], m.older[j]);
        if (p.accepted) {
            next = add_scaled(next, p.factor[p.history], d);
            put(v.older(p.history, i), d);
        }
    }
    put(v.b.x + 3 * i, next);
    if (!own) return;
    if (p.finish)
        st.x[1 - (st.progress[0].phase & 1)][q] = next;
    else if (touching)
        publish(st.messages.node + q, next.x, next.y, next.z, epoch);
}

/* --- Volume --- */

enum { PUBLISH_LANES = 8, REGION_SLOT_LANES = 4, REGION_SLOTS_PER_PASS = (T - SOLVERS) / REGION_SLOT_LANES };

/* LANES threads, starting at thread `from`, that share a region slot. */
template <int LANES> struct region_slot_view {
    int region_slot, lane;
    bool here;
    __device__ region_slot_view(int from, int first, int count)
    {
        const int thread = (int)threadIdx.x - from;
        region_slot = first + thread / LANES;
        lane = thread % LANES;
        here = region_slot < count;
    }
    __device__ double sum(double value) const
    {
#pragma unroll
        for (int d = LANES / 2; d > 0; d >>= 1)
            value += __shfl_xor_sync(0xffffffffu, value, d);
        return value;
    }
};

/* Six times the volumes of the subdomain's wedges. */
static __device__ void find_wedges(const subdomain_view &v)
{
#pragma unroll 1
    for (int i = threadIdx.x; i < v.b.subdomain.prism_count; i += T) {
        const wedge under = wedge_of<1>(v.b, v.b.x, v.b.foot_points, i);
        v.wedges[i] = wedge_volume6(&under);
    }
}

/* Publishes their contributions to its volume regions. */
static __device__ void publish_volumes(const sup_gpu_messages &messages, const subdomain_view &v, unsigned epoch)
{
    const block_view<1> &b = v.b;
    const uint16_t *begin = b.at<uint16_t>(SUP_PACK_REGION_SLOT_BEGIN),
                   *prism = b.at<uint16_t>(SUP_PACK_REGION_SLOT_PRISM);
    const float *weights = b.at<float>(SUP_PACK_REGION_SLOT_WEIGHT);
#pragma unroll 1
    for (int first = 0; first < b.subdomain.region_slot_count; first += T / PUBLISH_LANES) {
        const region_slot_view<PUBLISH_LANES> at(0, first, b.subdomain.region_slot_count);
        if (at.region_slot - (int)threadIdx.x % 32 / PUBLISH_LANES >= b.subdomain.region_slot_count)
            continue; /* no lane of the warp has one */
        double sum = 0.0;
#pragma unroll 2
        for (int e = at.here ? begin[at.region_slot] + at.lane : 0; at.here && e < begin[at.region_slot + 1];
             e += PUBLISH_LANES)
            sum += (double)(weights[e] * v.wedges[prism[e]]);
        __syncwarp();
        sum = at.sum(sum);
        const unsigned long long bits = (unsigned long long)__double_as_longlong(sum);
        if (at.here && at.lane == 0)
            publish(messages.volume + b.subdomain.region_slot_first + at.region_slot, (unsigned)bits,
                    (unsigned)(bits >> 32), 0u, epoch);
    }
}

/* Volume of a region, summed over its region slots; a lane's partial sum. */
static __device__ double poll_volume(const sup_gpu_messages &messages, const int32_t *region_slots, int first, int end,
                                     unsigned epoch)
{
    enum { AT_ONCE = 6 };
    double sum = 0.0;
#pragma unroll 1
    for (; first < end; first += AT_ONCE * REGION_SLOT_LANES) {
        int index[AT_ONCE];
        uint4 message[AT_ONCE];
#pragma unroll
        for (int k = 0; k < AT_ONCE; k++)
            index[k] = first + k * REGION_SLOT_LANES < end ? region_slots[first + k * REGION_SLOT_LANES] : -1;
        poll<AT_ONCE>(messages.volume, index, epoch, message);
#pragma unroll
        for (int k = 0; k < AT_ONCE; k++)
            sum += double_of(message[k]);
    }
    return sum;
}

/* Pressures of the subdomain's regions (step_control.h), and the energies of those that it sums, by the last warps. */
static __device__ void find_pressures(const sup_gpu_system &s, const sup_gpu_messages &messages,
                                      const subdomain_view &v, unsigned epoch)
{
    const block_view<1> &b = v.b;
    const uint16_t *begin = b.at<uint16_t>(SUP_PACK_REGION_BEGIN);
    const int32_t *region_slots = b.at<int32_t>(SUP_PACK_REGION_SLOTS);
#pragma unroll 1
    for (int first = 0; first < b.subdomain.region_slot_count; first += REGION_SLOTS_PER_PASS) {
        const region_slot_view<REGION_SLOT_LANES> at(SOLVERS, first, b.subdomain.region_slot_count);
        double sum = at.here ? poll_volume(messages, region_slots, begin[at.region_slot] + at.lane,
                                           begin[at.region_slot + 1], epoch)
                             : 0.0;
        __syncwarp();
        sum = at.sum(sum);
        if (!at.here || at.lane > 0) continue;
        const float marked =
            b.at<float>(SUP_PACK_REGION_SLOT_REST)[at.region_slot]; /* negative: another subdomain sums its energy */
        const double rest = fabs((double)marked), excess = sum * invert(rest) - 1.0;
        const double u = invert(sup_volume_denominator(excess));
        const sup_volume_response response = sup_volume_respond((double)s.volume, rest, excess, u);
        b.pressure[at.region_slot] = (float)response.pressure;
        b.pressure[s.max_region_slots + at.region_slot] = marked > 0.0f ? (float)response.energy : 0.0f;
    }
}

/* Adds pressures on the wedges to the forces of the first tetrahedron of a prism, in the thread that wrote those. */
static __device__ void press_wedges(const subdomain_view &v)
{
    const block_view<1> &b = v.b;
    const pressed_view<1> under = {b, b.x, b.foot_points, b.pressure};
    const int stride = b.subdomain.prism_stride;
#pragma unroll 1
    for (int i = threadIdx.x; i < b.subdomain.prism_count && threadIdx.x < SOLVERS; i += SOLVERS) {
        sup_wide3 pressed[5] = {};
        press<1>(under, i, pressed);
#pragma unroll
        for (int k = 0; k < 3; k++) {
            float *to = b.force + 3 * k * stride + i;
            to[0] += pressed[k].x, to[stride] += pressed[k].y, to[2 * stride] += pressed[k].z;
        }
    }
}

/* --- The local step --- */

enum { NODE_LANES = 4 };

static __device__ float sum_of_node(float sum)
{
    for (int d = NODE_LANES / 2; d > 0; d >>= 1)
        sum += __shfl_xor_sync(0xffffffffu, sum, d);
    return sum;
}

/* Sum of the forces at a node, by NODE_LANES threads. */
static __device__ float4 add_forces(const block_view<1> &b, int i)
{
    const uint16_t *begin = b.at<uint16_t>(SUP_PACK_SUM_BEGIN), *from = b.at<uint16_t>(SUP_PACK_SUM_FROM);
    const int stride = b.subdomain.prism_stride, end = begin[i + 1];
    float4 g = make_float4(0.0f, 0.0f, 0.0f, 0.0f);
#pragma unroll 2
    for (int e = begin[i] + (int)threadIdx.x % NODE_LANES; e < end; e += NODE_LANES) {
        const float *f = b.force + from[e];
        g.x += f[0], g.y += f[stride], g.z += f[2 * stride];
    }
    __syncwarp();
    return make_float4(sum_of_node(g.x), sum_of_node(g.y), sum_of_node(g.z), 0.0f);
}

/* Forces of the subdomain's tetrahedra and regions at x; returns the energy of both. While most threads compute
 * rotations, the last warps poll the volumes of other subdomains. */
static __device__ float find_forces(const sup_gpu_system &s, const sup_gpu_state &st, const subdomain_view &v,
                                    unsigned epoch)
{
    const block_view<1> &b = v.b;
    const pressed_view<1> unpressed = {b, b.x, b.foot_points, NULL};
    const bool volume = s.volume > 0.0f;
    float energy = 0.0f;
    if (volume) find_wedges(v);
    __syncthreads();
    if (volume) publish_volumes(st.messages, v, epoch);
    if (threadIdx.x < SOLVERS) {
        energy = prism_forces<1, SOLVERS>(b, b.x, st.commands[0].shared_rotation != 0, unpressed);
    } else if (volume) {
        find_pressures(s, st.messages, v, epoch);
    }
    __syncthreads();
    if (volume) {
        press_wedges(v);
        for (int i = threadIdx.x; i < b.subdomain.region_slot_count; i += T)
            energy += b.pressure[s.max_region_slots + i];
    }
    __syncthreads();
    return energy;
}

#endif

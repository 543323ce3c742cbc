/* step_subdomain.cuh (internal) - work of a thread block on its subdomain of a character in a step: prediction, the
 * accelerated step, volumes, the local step. See step.cu. */
#ifndef SUP_CUDA_STEP_SUBDOMAIN_CUH
#define SUP_CUDA_STEP_SUBDOMAIN_CUH

#include "cuda/lanes.cuh"
#include "cuda/contact_constraints.cuh"
#include "cuda/step_block.cuh"
#include "solver/wedge.h"

#include <limits.h>

/* --- Start --- */

/* Inputs of the prediction of a character. */
struct predict_view {
    const float4 *acceleration;
    size_t at; /* of the character's first node */
    int now;
    float momentum; /* fraction that damping leaves */
    float4 fall, first;
};

static __device__ predict_view view_predict(const sup_gpu_system &s, const sup_gpu_state &st, int character)
{
    const sup_gpu_command &in = st.commands[character];
    predict_view v;
    v.acceleration = st.anchor_acceleration + (size_t)character * s.anchor_count;
    v.at = (size_t)character * s.unknown_count;
    v.now = st.progress[character].phase & 1;
    v.momentum = 1.0f - st.progress[character].damping;
    v.fall = make_float4(in.fall[0], in.fall[1], in.fall[2], 0.0f);
    v.first = st.x[v.now][v.at + s.first_node];
    return v;
}

/* Eq. 2.9 at a node; products of the last prediction error into `sums`. */
static __device__ float4 predict_node(const sup_gpu_state &st, const predict_view &v, int node, float weight,
                                      float (&sums)[8])
{
    const size_t q = v.at + node;
    float4 x = st.x[v.now][q], moved = minus(x, st.x[1 - v.now][q]);
    float4 error = minus(x, st.prediction[q]), old = st.prediction_error[q], difference = minus(x, v.first);
    float4 inertial = add_scaled(add_scaled(add_scaled(x, v.momentum, moved), 1.0f, v.fall), 1.0f, st.limit_push[q]);
    st.prediction_error[q] = error;
    sums[0] = fmaf(weight, dot(old, error), sums[0]);
    sums[1] = fmaf(weight, dot(old, old), sums[1]);
    sums[2] = fmaf(weight, dot(error, error), sums[2]);
    sums[3] = fmaf(weight, dot(moved, moved), sums[3]);
    sums[4] = fmaf(weight, dot(difference, difference), sums[4]);
    return inertial;
}

/* Pull of the anchors' second difference at a node, from entries [begin, end) of its couplings. */
static __device__ float4 pull_of_anchors(const sup_gpu_system &s, const predict_view &v, int begin, int end)
{
    enum { AT_ONCE = 4 };
    float4 pull = make_float4(0.0f, 0.0f, 0.0f, 0.0f);
#pragma unroll 1
    for (int first = begin; first < end; first += AT_ONCE) {
        float value[AT_ONCE];
        float4 acceleration[AT_ONCE];
#pragma unroll
        for (int k = 0; k < AT_ONCE; k++) {
            const int e = min(first + k, end - 1);
            value[k] = first + k < end ? s.pull_value[e] : 0.0f;
            acceleration[k] = v.acceleration[s.pull_anchor[e]];
        }
#pragma unroll
        for (int k = 0; k < AT_ONCE; k++)
            pull = add_scaled(pull, value[k], acceleration[k]);
    }
    return pull;
}

/* Couplings of a node to anchors, and its weight in sums. Constant; beyond the last node: any. */
struct pull_list {
    int begin, end;
    float weight;
};

static __device__ pull_list fetch_pulls(const sup_gpu_system &s, int node)
{
    const int at = min(node, s.unknown_count - 1);
    return {s.pull_first[at], s.pull_first[at + 1], s.diagonal[at]};
}

/* The prediction, and the pull, which is the gradient of the start, into `gradient`: by blocks of T threads, at most
 * one per subdomain of a character. Nodes are processed in order: by subdomain, in the few blocks that solve, it
 * takes longer. */
template <int T> static __device__ void predict(const sup_gpu_system &s, const sup_gpu_state &st, float *shared)
{
    enum { SUMS = 8, USED = 5 }; /* five of them are used */
    const int character = blockIdx.y, blocks = gridDim.x, warp = threadIdx.x / 32;
    int node = blockIdx.x * T + threadIdx.x;
    pull_list pulls = fetch_pulls(s, node);
    float sums[SUMS] = {0.0f};
    wait_for_kernel();
    const predict_view view = view_predict(s, st, character);
    while (node < s.unknown_count) {
        const float4 pull = pull_of_anchors(s, view, pulls.begin, pulls.end);
        st.inertial[view.at + node] = predict_node(st, view, node, pulls.weight, sums);
        st.gradient[view.at + node] = pull;
        node += blocks * T;
        pulls = fetch_pulls(s, node);
    }
    const float sum = warp_sums<SUMS>(sums);
    if (threadIdx.x % 4 == 0) shared[threadIdx.x % 32 / 4 * 32 + warp] = sum;
    __syncthreads();
    if (threadIdx.x >= USED) return;
    float total = 0.0f;
    for (int w = 0; w < T / 32; w++)
        total += shared[threadIdx.x * 32 + w];
    float *sums_of_blocks = st.sums + ((size_t)character * SUP_GPU_SUMS + SUM_PRODUCT + threadIdx.x) * st.sum_stride;
    for (int k = blockIdx.x; k < s.subdomain_count; k += blocks) /* readers expect one sum per subdomain */
        sums_of_blocks[k] = k == (int)blockIdx.x ? total : 0.0f;
}

/* The pull into `in` and `slot_gradient`. */
template <int C, int T>
static __device__ void load_pull(const sup_gpu_system &s, const sup_gpu_state &st, const block_view<C> &b)
{
    const int nodes = b.subdomain.count + b.subdomain.slot_count;
    for (int n = threadIdx.x; n < nodes * b.live; n += T) {
        const int c = which_of<C>(n, nodes), i = n - c * nodes;
        bool own;
        const int node = b.node(s.interior_count, i, own);
        float4 pull = make_float4(0.0f, 0.0f, 0.0f, 0.0f);
        if (own) pull = st.gradient[(size_t)(b.first + c) * s.unknown_count + node];
        put(b.row(b.in, b.slot_gradient, i, c),
            i < b.subdomain.count ? make_float4(-pull.x, -pull.y, -pull.z, 0.0f) : pull);
    }
    __syncthreads();
}

/* --- The accelerated step --- */

/* The next iterate at one node of a character; `d` is the newest direction there. */
static __device__ float4 next_node(const sup_gpu_state &st, const sup_gpu_iteration &p, int iteration, int phase,
                                   size_t q, float4 d, bool own)
{
    if (iteration == 0) { /* exact for a linear system, plus a fraction of the last prediction error */
        float4 now = st.x[phase & 1][q], moved = minus(now, st.x[1 - (phase & 1)][q]), error = st.prediction_error[q];
        float4 prediction = add_scaled(add_scaled(now, 1.0f - p.drop, moved), 1.0f, d);
        if (own) st.prediction[q] = prediction;
        return add_scaled(prediction, p.repeat, error);
    }
    float4 next = st.iterate[p.base][q];
#pragma unroll
    for (int j = 0; j < SUP_SOLVER_HISTORY; j++)
        if (j < p.history) next = add_scaled(next, p.factor[j], st.direction[j][q]);
    return p.accepted ? add_scaled(next, p.factor[p.history], d) : next;
}

/* Own unknowns and separator nodes into shared memory; owned nodes also into the state. */
template <int C, int T>
static __device__ void move(const sup_gpu_system &s, const sup_gpu_state &st, const block_view<C> &b,
                            const sup_gpu_iteration *next, int iteration)
{
    const int nodes = b.subdomain.count + b.subdomain.slot_count;
    for (int n = threadIdx.x; n < nodes * b.live; n += T) {
        const int c = which_of<C>(n, nodes), i = n - c * nodes, character = b.first + c;
        const sup_gpu_iteration &p = next[c];
        if (!p.active) continue;
        const int phase = st.progress[character].phase;
        const bool touching =
            iteration > 0 && st.progress[character].contacts > 0; /* its direction is in memory already */
        bool own;
        size_t q = (size_t)character * s.unknown_count + b.node(s.interior_count, i, own);
        float4 d = touching ? st.direction[p.history][q] : get(b.row(b.out, b.slots, i, c));
        float4 position = next_node(st, p, iteration, phase, q, d, own);
        put(b.x + (c * b.max_nodes + i) * 3, position);
        if (!own) continue;
        if (iteration > 0 && p.accepted && !touching) st.direction[p.history][q] = d;
        (p.finish ? st.x[1 - (phase & 1)] : st.iterate[p.target])[q] = position;
    }
}

/* Anchors of the phase, after the unknowns; at most `max_count` of them. */
template <int C, int T>
static __device__ void load_anchors(const sup_gpu_system &s, const sup_gpu_state &st, const block_view<C> &b,
                                    int max_count = INT_MAX)
{
    const int32_t *anchor = b.template at<int32_t>(SUP_PACK_ANCHOR);
    for (int c = 0; c < b.live; c++) {
        const float4 *from = st.anchors[st.progress[b.first + c].phase % 3] + (size_t)(b.first + c) * s.anchor_count;
        float *to = b.x + (c * b.max_nodes + b.subdomain.count + b.subdomain.slot_count) * 3;
        for (int i = threadIdx.x; i < min(max_count, b.subdomain.anchor_count); i += T)
            put(to + 3 * i, from[anchor[i]]);
    }
}

/* Begins to copy the foot points of one character at the subdomain's nodes; with volume only. `wait_inverse` waits
 * for it. */
template <int C, int T>
static __device__ void load_foot_points(const sup_gpu_system &s, const sup_gpu_state &st, const block_view<C> &b, int c)
{
    const int32_t *anchor = b.template at<int32_t>(SUP_PACK_ANCHOR);
    const float4 *from = st.foot_points + (size_t)(b.first + c) * (s.unknown_count + s.anchor_count);
    const int free_count = b.subdomain.count + b.subdomain.slot_count;
    float *to = b.foot_points + c % b.foot_point_count * b.foot_point_step;
    for (int i = threadIdx.x; i < b.subdomain.foot_count; i += T) {
        bool own;
        copy_chunk(to + 4 * i,
                   &from[i < free_count ? b.node(s.interior_count, i, own) : s.unknown_count + anchor[i - free_count]]);
    }
    end_group();
}

static __device__ sup_wide3 corner_position(const float *x, int node)
{
    return sup_wide3{x[3 * node], x[3 * node + 1], x[3 * node + 2]};
}

/* The wedge between the outer side of a prism and its foot points. */
static __device__ wedge wedge_between(const sup_wide3 skin[3], const sup_wide3 foot[3])
{
    sup_wide3 p = sup_wide3_sub(foot[0], foot[2]), q = sup_wide3_sub(foot[1], foot[2]);
    return wedge{sup_wide3_sub(skin[0], foot[2]), sup_wide3_sub(skin[1], foot[2]),
                 sup_wide3_sub(sup_wide3_sub(skin[2], foot[2]), q), wedge_cross(p, q)};
}

template <int C>
static __device__ wedge wedge_of(const block_view<C> &b, const float *x, const float *foot_points, int prism)
{
    const uint16_t *corner = b.template at<uint16_t>(SUP_PACK_CORNER) + prism;
    sup_wide3 skin[3], foot[3];
#pragma unroll
    for (int k = 0; k < 3; k++) {
        const int node = corner[k * b.subdomain.prism_stride];
        const float4 at = ((const float4 *)foot_points)[node];
        skin[k] = corner_position(x, node);
        foot[k] = sup_wide3{at.x, at.y, at.z};
    }
    return wedge_between(skin, foot);
}

/* Contributions of the subdomain to the volume regions of all active characters: wedges into shared memory, then eight
 * threads per region slot. */
template <int C, int T>
static __device__ void volumes(const sup_gpu_system &s, const sup_gpu_state &st, const block_view<C> &b,
                               const sup_gpu_iteration *next)
{
    enum { LANES = 8 };
    const int prisms = b.subdomain.prism_count, region_slots = b.subdomain.region_slot_count;
    for (int n = threadIdx.x; n < prisms * b.live; n += T) {
        const int c = which_of<C>(n, prisms), i = n - c * prisms;
        if (!next[c].active || next[c].finish) continue;
        wedge under = wedge_of<C>(b, b.x + c * b.max_nodes * 3, b.foot_points + c * b.foot_point_step, i);
        b.force[c * s.max_prisms + i] = wedge_volume6(&under);
    }
    __syncthreads();
    const uint16_t *begin = b.template at<uint16_t>(SUP_PACK_REGION_SLOT_BEGIN),
                   *prism = b.template at<uint16_t>(SUP_PACK_REGION_SLOT_PRISM);
    const float *weights = b.template at<float>(SUP_PACK_REGION_SLOT_WEIGHT);
    const int lane = threadIdx.x % LANES, all = region_slots * b.live;
    for (int first = 0; first < all; first += T / LANES) {
        const int n = first + threadIdx.x / LANES, c = n < all ? which_of<C>(n, region_slots) : 0,
                  region_slot = n - c * region_slots;
        const bool here = n < all && next[c].active && !next[c].finish;
        double sum = 0.0;
        for (int e = here ? begin[region_slot] + lane : 0; here && e < begin[region_slot + 1]; e += LANES)
            sum += (double)(weights[e] * b.force[c * s.max_prisms + prism[e]]);
        for (int d = LANES / 2; d > 0; d >>= 1)
            sum += __shfl_xor_sync(0xffffffffu, sum, d);
        if (here && lane == 0)
            st.region_slot_volume[(size_t)(b.first + c) * s.region_slot_count + b.subdomain.region_slot_first +
                                  region_slot] = sum;
    }
}

/* --- The local step --- */

enum { REGION_SLOTS_AT_ONCE = 8 };

/* A local step of a character. */
struct local_view {
    int finished, current, history, shared_rotation, contacts;
};

static __device__ local_view view_local(const sup_gpu_state &st, int iteration, int character)
{
    const sup_gpu_control &c = st.control[iteration & 1][character];
    return local_view{c.finished, c.current, c.history, st.commands[character].shared_rotation,
                      st.progress[character].contacts};
}

/* Pressures of the subdomain's regions (step_control.h) of all active characters into shared memory, with the
 * energies of those that it sums. */
template <int C, int T>
static __device__ void pressures(const sup_gpu_system &s, const sup_gpu_state &st, const block_view<C> &b,
                                 const local_view *views)
{
    const uint16_t *begin = b.template at<uint16_t>(SUP_PACK_REGION_BEGIN);
    const int32_t *region_slots = b.template at<int32_t>(SUP_PACK_REGION_SLOTS);
    const int count = b.subdomain.region_slot_count;
    for (int n = threadIdx.x; n < count * b.live; n += T) {
        const int c = which_of<C>(n, count), i = n - c * count;
        if (views[c].finished) continue;
        const double *volume = st.region_slot_volume + (size_t)(b.first + c) * s.region_slot_count;
        double sum = 0.0, rest = (double)b.template at<float>(SUP_PACK_REGION_SLOT_REST)[i];
        const bool sums_energy = rest > 0.0;
        rest = fabs(rest);
        for (int first = begin[i], end = begin[i + 1]; first < end; first += REGION_SLOTS_AT_ONCE) {
            double v[REGION_SLOTS_AT_ONCE]; /* all loads in flight at once */
#pragma unroll
            for (int k = 0; k < REGION_SLOTS_AT_ONCE; k++)
                v[k] = first + k < end ? volume[region_slots[first + k]] : 0.0;
#pragma unroll
            for (int k = 0; k < REGION_SLOTS_AT_ONCE; k++)
                sum += v[k];
        }
        const double excess = sum / rest - 1.0, u = 1.0 / sup_volume_denominator(excess);
        const sup_volume_response response = sup_volume_respond((double)s.volume, rest, excess, u);
        b.pressure[c * s.max_region_slots + i] = (float)response.pressure;
        b.pressure[(C + c) * s.max_region_slots + i] = sums_energy ? (float)response.energy : 0.0f;
    }
}

static __device__ void put_force(float *to, int stride, sup_wide3 v)
{
    to[0] = v.x, to[stride] = v.y, to[2 * stride] = v.z;
}

/* One character of a subdomain. */
template <int C> struct pressed_view {
    const block_view<C> &b;
    const float *x, *foot_points, *pressure;
};

/* Forces of the pressures on the outer corners of a prism's wedge. */
template <int C> static __device__ void press(const pressed_view<C> &v, int prism, sup_wide3 sum[5])
{
    float scale = 0.0f;
    for (int k = 0; k < v.b.subdomain.blend_count; k++) {
        int at = k * v.b.subdomain.prism_stride + prism;
        scale = fmaf(v.b.blend_weight[at], v.pressure[v.b.blend_region_slot[at]], scale);
    }
    wedge under = wedge_of<C>(v.b, v.x, v.foot_points, prism);
    wedge_press(&under, scale, sum);
}

static __device__ sup_wide3 plus(sup_wide3 a, sup_wide3 b)
{
    return sup_wide3{a.x + b.x, a.y + b.y, a.z + b.z};
}

/* Deformation gradient of a tetrahedron of a prism, with edges from the last corner. */
static __device__ void deform(const float *tet, int t, const uint16_t *corner, int stride, const float *x,
                              sup_wide3 g[3], float f[9])
{
    const sup_wide3 last = corner_position(x, corner[CORNER_C1 * stride]);
    load_gradients(tet, g);
#pragma unroll
    for (int i = 0; i < 9; i++)
        f[i] = 0.0f;
#pragma unroll
    for (int k = 0; k < 3; k++)
        sup_wide3_outer(sup_wide3_sub(corner_position(x, corner[edge_corner(t, k) * stride]), last), g[k], f);
}

/* Mean of all three ([komaritzan2018], section 6): prism_shared of prism.h. */
static __device__ void deform_prism(const float *tets, const uint16_t *corner, int stride, const float *x,
                                    float mean[9])
{
    float total = 0.0f;
#pragma unroll
    for (int i = 0; i < 9; i++)
        mean[i] = 0.0f;
    for (int t = 0; t < 3; t++) {
        sup_wide3 g[3];
        float f[9], w = tets[(10 * t + 9) * SUP_PRISM_LANES];
        deform(tets + 10 * t * SUP_PRISM_LANES, t, corner, stride, x, g, f);
        total += w;
#pragma unroll
        for (int i = 0; i < 9; i++)
            mean[i] = fmaf(w, f[i], mean[i]);
    }
#pragma unroll
    for (int i = 0; i < 9; i++)
        mean[i] /= total;
}

/* A tetrahedron of a subdomain. */
struct tet_view {
    const float *tets; /* of its prism */
    const float *tet;
    const uint16_t *corner;
    float *to; /* its forces */
    int t, stride;
};

template <int C> static __device__ tet_view view_tet(const block_view<C> &b, int t, int i)
{
    const unsigned padded = (unsigned)i;
    tet_view v;
    v.tets = b.tets + padded / SUP_PRISM_LANES * SUP_PRISM_FLOATS + padded % SUP_PRISM_LANES;
    v.tet = v.tets + 10 * t * SUP_PRISM_LANES;
    v.corner = b.template at<uint16_t>(SUP_PACK_CORNER) + i;
    v.to = b.force + SUP_SUBDOMAIN_FORCES * t * b.subdomain.prism_stride + i;
    v.t = t;
    v.stride = b.subdomain.prism_stride;
    return v;
}

/* Forces w (F - R) g_k on its corners, plus the pressures for the first tetrahedron of a prism; returns twice its
 * energy (eq. 2.16). */
template <int C>
static __device__ float push_tet(const tet_view &v, float f[9], const float r[9], const pressed_view<C> &under,
                                 int prism)
{
    sup_wide3 g[3], all = {0.0f, 0.0f, 0.0f}, pressed[5] = {};
    if (v.t == 0 && under.pressure != NULL) press<C>(under, prism, pressed);
    const float w = v.tet[9 * SUP_PRISM_LANES];
    load_gradients(v.tet, g);
#pragma unroll
    for (int k = 0; k < 9; k++)
        f[k] -= r[k];
    float energy = w * sup_element_square(f);
#pragma unroll
    for (int k = 0; k < 9; k++)
        f[k] *= w;
#pragma unroll
    for (int k = 0; k < 3; k++) {
        float *to = v.to + 3 * k * v.stride;
        sup_wide3 own = sup_wide3_apply(f, g[k], sup_wide3{0.0f, 0.0f, 0.0f});
        all = plus(all, own);
        put_force(to, v.stride, plus(own, pressed[k]));
    }
    put_force(v.to + 9 * v.stride, v.stride, sup_wide3{-all.x, -all.y, -all.z}); /* forces of strain sum to zero */
    return energy;
}

/* Deformation gradient of a tetrahedron, and the one that its rotation is computed from. */
static __device__ void deform_both(const tet_view &v, const float *x, bool shared_rotation, float f[9], float of[9])
{
    sup_wide3 g[3];
    deform(v.tet, v.t, v.corner, v.stride, x, g, f);
    if (shared_rotation) {
        deform_prism(v.tets, v.corner, v.stride, x, of);
        return;
    }
#pragma unroll
    for (int k = 0; k < 9; k++)
        of[k] = f[k];
}

/* Forces of the subdomain's tetrahedra into shared memory, one thread each; returns their energy. Threads of a warp
 * have the same tetrahedron of different prisms. The few whose rotation has no closed form are computed last. */
template <int C, int T>
static __device__ float prism_forces(const block_view<C> &b, const float *x, bool shared_rotation,
                                     const pressed_view<C> &under)
{
    const int stride = b.subdomain.prism_stride;
    float energy = 0.0f;
    unsigned again = 0, pass = 1;
    for (int at = threadIdx.x; at < 3 * stride; at += T, pass <<= 1) {
        const int t = at / stride, i = at - t * stride;
        if (i >= b.subdomain.prism_count) continue;
        const tet_view v = view_tet<C>(b, t, i);
        float f[9], of[9], r[9];
        deform_both(v, x, shared_rotation, f, of);
        sup_element_rotation(of, r);
        if (r[0] == r[0])
            energy += push_tet<C>(v, f, r, under, i);
        else
            again |= pass;
    }
    for (int at = threadIdx.x; again != 0; at += T, again >>= 1) {
        if ((again & 1u) == 0) continue;
        const tet_view v = view_tet<C>(b, at / stride, at % stride);
        float f[9], of[9], r[9];
        deform_both(v, x, shared_rotation, f, of);
        sup_nearest_rotation(of, r);
        energy += push_tet<C>(v, f, r, under, at % stride);
    }
    return 0.5f * energy;
}

/* Gradient of the forces and momentum, two threads per node: -g into `in`, at separator slots g into
 * `slot_gradient`, and its products with all directions so far into values[SUM_OLDER..]. */
template <int C, int T>
static __device__ void gradient(const sup_gpu_system &s, const sup_gpu_state &st, const block_view<C> &b,
                                const float *x, int c, int history, float *values)
{
    const int stride = b.subdomain.prism_stride, nodes = b.subdomain.count + b.subdomain.slot_count,
              half = threadIdx.x % 2;
    size_t at = (size_t)(b.first + c) * s.unknown_count;
    const uint16_t *begin = b.template at<uint16_t>(SUP_PACK_SUM_BEGIN),
                   *from = b.template at<uint16_t>(SUP_PACK_SUM_FROM);
    const float *masses = b.template at<float>(SUP_PACK_MASS);
    for (int n = threadIdx.x; n - (int)threadIdx.x % 32 < 2 * nodes; n += T) { /* whole warps */
        const int i = min(n / 2, nodes - 1);
        bool own;
        size_t q = at + b.node(s.interior_count, i, own);
        float mass = masses[i];
        float4 here = get(x + 3 * i), inertial = here, g = make_float4(0.0f, 0.0f, 0.0f, 0.0f);
        if (mass > 0.0f) inertial = st.inertial[q];
        for (int e = begin[i] + half; e < begin[i + 1]; e += 2) {
            const float *f = b.force + from[e];
            g.x += f[0];
            g.y += f[stride];
            g.z += f[2 * stride];
        }
        g.x += __shfl_xor_sync(0xffffffffu, g.x, 1);
        g.y += __shfl_xor_sync(0xffffffffu, g.y, 1);
        g.z += __shfl_xor_sync(0xffffffffu, g.z, 1);
        float4 difference = minus(here, inertial);
        g = add_scaled(g, mass, difference);
        if (n >= 2 * nodes) continue;
        if (half == 0) {
            values[SUM_ENERGY] = fmaf(0.5f * mass, dot(difference, difference), values[SUM_ENERGY]);
            put(b.row(b.in, b.slot_gradient, i, c), i < b.subdomain.count ? make_float4(-g.x, -g.y, -g.z, 0.0f) : g);
        }
#pragma unroll
        for (int j = 0; j < SUP_SOLVER_HISTORY; j++)
            if (j < history && j % 2 == half) values[SUM_OLDER + j] += dot(st.direction[j][q], g);
    }
}

/* Adds contact forces to it, after a barrier, and stores the gradient for contact_solve.cu. */
template <int C, int T>
static __device__ void contact_gradient(const sup_gpu_system &s, const sup_gpu_state &st, const block_view<C> &b, int c,
                                        const float4 *x, float *values)
{ /* x NULL: the contact forces are computed already */
    const int character = b.first + c;
    const contact_view view = open_contacts(s, st, character);
    const int32_t *slot = b.template at<int32_t>(SUP_PACK_SLOT);
    for (int i = threadIdx.x; i < b.subdomain.count + b.subdomain.slot_count; i += T) {
        bool own;
        const int node = b.node(s.interior_count, i, own);
        float *row = b.row(b.in, b.slot_gradient, i, c);
        const bool inside = i < b.subdomain.count;
        float4 g = get(row);
        if (inside) g = make_float4(-g.x, -g.y, -g.z, 0.0f);
        if (own)
            g = add_scaled(g, 1.0f, x == NULL ? gather_contacts(view, node) : contact_forces(s, view, x, node, values));
        put(row, inside ? make_float4(-g.x, -g.y, -g.z, 0.0f) : g);
        if (inside)
            st.gradient[(size_t)character * s.unknown_count + node] = g;
        else
            st.raw_gradient[(size_t)character * s.slot_count + slot[i - b.subdomain.count]] = g;
    }
}

/* A local step of one character with given pressures and foot points: forces, and the gradient without contacts. */
template <int C, int T>
static __device__ void evaluate(const sup_gpu_system &s, const sup_gpu_state &st, const block_view<C> &b,
                                const local_view &now, int c, float (&values)[SUP_GPU_SUMS_PADDED])
{
    float *x = b.x + c * b.max_nodes * 3;
    const float *pressure = b.pressure + c * s.max_region_slots;
    const pressed_view<C> under = {b, x, b.foot_points + c % b.foot_point_count * b.foot_point_step,
                                   s.volume > 0.0f ? pressure : NULL};
#pragma unroll
    for (int k = 0; k < SUP_GPU_SUMS_PADDED; k++)
        values[k] = 0.0f;
    for (int i = threadIdx.x; s.volume > 0.0f && i < b.subdomain.region_slot_count; i += T)
        values[SUM_ENERGY] += pressure[C * s.max_region_slots + i];
    values[SUM_ENERGY] += prism_forces<C, T>(b, x, now.shared_rotation != 0, under);
    __syncthreads();
    gradient<C, T>(s, st, b, x, c, now.contacts > 0 ? 0 : now.history,
                   values); /* with contacts cg_end_kernel computes the products */
}

template <int T>
static __device__ void reduce_local(const sup_gpu_state &st, float *shared, const local_view &now, int character,
                                    float (&values)[SUP_GPU_SUMS_PADDED])
{
    const int count = now.contacts > 0 ? SUM_ACTIVE + 1 : SUM_OLDER + now.history;
    reduce<T, SUP_GPU_SUMS_PADDED>(shared, values, (1u << count) - 1u, st, character, SUM_ENERGY, SUP_GPU_SUMS_PADDED);
}

/* Iterates into shared memory. */
template <int C, int T>
static __device__ void load_iterates(const sup_gpu_system &s, const sup_gpu_state &st, const block_view<C> &b,
                                     const local_view *views)
{
    const int nodes = b.subdomain.count + b.subdomain.slot_count;
    for (int n = threadIdx.x; n < nodes * b.live; n += T) {
        const int c = which_of<C>(n, nodes), i = n - c * nodes;
        bool own;
        const size_t q = (size_t)(b.first + c) * s.unknown_count + b.node(s.interior_count, i, own);
        put(b.x + (c * b.max_nodes + i) * 3, st.iterate[views[c].current][q]);
    }
}

#endif

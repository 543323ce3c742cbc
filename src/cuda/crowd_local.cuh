/* crowd_local.cuh (internal) - the local step of a subdomain in a crowd: as in step_subdomain.cuh, one thread per
 * prism.
 *
 * A single character fills the device only with one thread per tetrahedron. In a crowd a thread can process all
 * three tetrahedra of a prism, which it loads once, and write one force per corner instead of one per tetrahedron
 * and corner. Forces of two characters are in shared memory at a time. */
#ifndef SUP_CUDA_CROWD_LOCAL_CUH
#define SUP_CUDA_CROWD_LOCAL_CUH

#include "cuda/step_subdomain.cuh"

enum {
    CROWD_THREADS = 256,
    CROWD = SUP_GPU_LOCKSTEP,
    PAIR = 2,
    EACH = 128,
    BLENDS_AT_ONCE = 3
}; /* EACH: threads per character while the two are processed in parallel */

typedef block_view<CROWD> crowd_view;

/* Floats in shared memory; products of the solve reuse the memory of the forces. */
struct crowd_sizes {
    int in, scratch, slot_gradient, sums, x, foot_points, pressure;
    __host__ __device__ crowd_sizes(const sup_gpu_system &s)
    {
        enum { LIMIT = limit<CROWD>::value, ROW = width<CROWD>::value };
        const int products = CROWD_THREADS / LIMIT * LIMIT * ROW, forces = PAIR * s.max_forces;
        in = in_size<CROWD>::value;
        scratch = ((products > forces ? products : forces) + 3) / 4 * 4;
        slot_gradient = s.max_slots * ROW;
        sums = PAIR * 32 * SUP_GPU_SUMS_PADDED;
        x = CROWD * s.max_local * 4;
        foot_points = s.volume > 0.0f ? PAIR * s.max_foot_points * 4 : 0;
        pressure = (2 * CROWD * s.max_region_slots + 3) / 4 * 4;
    }
    __host__ __device__ int pack_offset() const
    {
        return in + scratch + slot_gradient + sums + x + foot_points + pressure;
    }
    size_t bytes(const sup_gpu_system &s) const
    {
        return (size_t)pack_offset() * sizeof(float) + (size_t)s.max_pack;
    }
};

static __device__ crowd_view open_crowd(const sup_gpu_system &s, const sup_gpu_state &st, float *shared)
{
    const crowd_sizes size(s);
    __shared__ sup_subdomain subdomain;
    const sup_subdomain *from = &s.subdomains[blockIdx.x];
    for (int i = threadIdx.x; i < (int)(sizeof subdomain / sizeof(int)); i += CROWD_THREADS)
        ((int *)&subdomain)[i] = ((const int *)from)[i];
    crowd_view b(subdomain);
    b.first = blockIdx.y * CROWD;
    b.live = min((int)CROWD, st.count - b.first);
    b.inverse = s.inverse + (size_t)blockIdx.x * limit<CROWD>::value * limit<CROWD>::value;
    b.in = shared;
    b.force = b.out = b.in + size.in;
    b.half = b.out + limit<CROWD>::value * width<CROWD>::value;
    b.slots = NULL;
    b.slot_gradient = b.force + size.scratch;
    b.sums = b.slot_gradient + size.slot_gradient;
    b.x = b.sums + size.sums;
    b.foot_points = b.x + size.x;
    b.max_nodes = s.max_local;
    b.foot_point_count = PAIR;
    b.foot_point_step = s.max_foot_points * 4;
    b.pressure = b.foot_points + size.foot_points;
    b.pack = (const unsigned char *)(b.pressure + size.pressure);
    b.tets = s.tets + (size_t)from->prism_first / SUP_PRISM_LANES * SUP_PRISM_FLOATS;
    b.blend_weight = s.blend_weight + from->blend_first;
    b.blend_region_slot = s.blend_region_slot + from->blend_first;
    return b;
}

/* Begins to copy the iterates and the anchors of all characters. */
static __device__ void load_nodes(const sup_gpu_system &s, const sup_gpu_state &st, const crowd_view &b,
                                  const local_view *views)
{
    const int32_t *anchor = b.at<int32_t>(SUP_PACK_ANCHOR);
    const int free_count = b.subdomain.count + b.subdomain.slot_count;
    const float4 *from[CROWD], *given[CROWD];
#pragma unroll
    for (int c = 0; c < CROWD; c++) {
        const int here = min(c, b.live - 1); /* nodes of missing and finished characters are not used */
        from[c] = st.iterate[views[here].current] + (size_t)(b.first + here) * s.unknown_count;
        given[c] = st.anchors[st.progress[b.first + here].phase % 3] + (size_t)(b.first + here) * s.anchor_count;
    }
    for (int i = threadIdx.x; i < free_count; i += CROWD_THREADS) {
        bool own;
        const int node = b.node(s.interior_count, i, own);
#pragma unroll
        for (int c = 0; c < CROWD; c++)
            copy_chunk(b.x + 4 * (c * s.max_local + i), from[c] + node);
    }
    for (int i = threadIdx.x; i < b.subdomain.anchor_count; i += CROWD_THREADS) {
        const int which = anchor[i];
#pragma unroll
        for (int c = 0; c < CROWD; c++)
            copy_chunk(b.x + 4 * (c * s.max_local + free_count + i), given[c] + which);
    }
}

static __device__ sup_wide3 node_position(const float4 *x, unsigned node)
{
    const float4 v = x[node];
    return sup_wide3{v.x, v.y, v.z};
}

/* A prism of a character. */
struct crowd_prism {
    const float *tets;
    const uint16_t *corner;        /* with a stride */
    const float4 *x, *foot_points; /* NULL: no volume */
    float *force;
    float pressure; /* on its wedge */
    int stride, loose_stride;
    bool shared_rotation;
};

/* Adds the pressure on the wedge under a prism to the forces on its outer corners. */
static __device__ void press_wedge(const crowd_prism &p, sup_wide3 sum[5])
{
    sup_wide3 skin[3], foot[3];
#pragma unroll
    for (int k = 0; k < 3; k++) {
        const unsigned node = p.corner[k * p.stride];
        skin[k] = node_position(p.x, node);
        foot[k] = node_position(p.foot_points, node);
    }
    const wedge under = wedge_between(skin, foot);
    wedge_press(&under, p.pressure, sum);
}

/* Edges of a prism from its last corner. */
static __device__ void edges_of(const crowd_prism &p, sup_wide3 edge[5])
{
    const sup_wide3 last = node_position(p.x, p.corner[CORNER_C1 * p.stride]);
#pragma unroll
    for (int k = 0; k < 5; k++)
        edge[k] = sup_wide3_sub(node_position(p.x, p.corner[k * p.stride]), last);
}

/* Forces of a prism into shared memory. CORNERS: 3 where its inner side is anchored, else 5. */
template <int CORNERS> static __device__ void put_forces(const crowd_prism &p, int prism, sup_wide3 sum[5])
{
    if (CORNERS == 5) {
        float *to = p.force + 9 * p.stride + 3 * prism;
        const int step = 3 * p.loose_stride;
        const sup_wide3 all = plus(plus(plus(sum[0], sum[1]), plus(sum[2], sum[3])), sum[4]);
        put_force(to, 1, sum[3]);
        put_force(to + step, 1, sum[4]);
        put_force(to + 2 * step, 1, sup_wide3{-all.x, -all.y, -all.z}); /* forces of strain sum to zero */
    }
    if (p.foot_points != NULL) press_wedge(p, sum);
#pragma unroll
    for (int k = 0; k < 3; k++)
        put_force(p.force + 3 * (k * p.stride + prism), 1, sum[k]);
}

/* Returns twice the strain energy; NaN where the rotation has no closed form. */
template <int CORNERS> static __device__ __forceinline__ float push_prism(const crowd_prism &p, int prism)
{
    sup_wide3 edge[5], sum[5];
    edges_of(p, edge);
    const float energy = ::prism(p.tets, edge, CORNERS, p.shared_rotation, sum);
    put_forces<CORNERS>(p, prism, sum);
    return energy;
}

/* The same for all matrices, for the few prisms that need it. */
static __device__ __noinline__ float repair_prism(const crowd_prism &p, int prism, bool loose)
{
    sup_wide3 edge[5], sum[5] = {};
    float f[3][9], mean[9] = {0.0f}, energy = 0.0f, total = 0.0f;
    edges_of(p, edge);
    for (int t = 0; t < 3; t++) {
        const float w = p.tets[(10 * t + 9) * SUP_PRISM_LANES];
        strain(p.tets + 10 * t * SUP_PRISM_LANES, t, edge, f[t]);
        total += w;
        for (int i = 0; i < 9; i++)
            mean[i] = fmaf(w, f[t][i], mean[i]);
    }
    for (int i = 0; i < 9; i++)
        mean[i] /= total;
    for (int t = 0; t < 3; t++) {
        float r[9];
        sup_nearest_rotation(p.shared_rotation ? mean : f[t], r);
        energy += push(p.tets + 10 * t * SUP_PRISM_LANES, t, 5, f[t], r, sum);
    }
    if (loose)
        put_forces<5>(p, prism, sum);
    else
        put_forces<3>(p, prism, sum);
    return energy;
}

static __device__ crowd_prism view_prism(const sup_gpu_system &s, const crowd_view &b, const local_view *views, int c,
                                         int which, int i)
{
    const unsigned at = (unsigned)i;
    const float *pressure = b.pressure + c * s.max_region_slots;
    crowd_prism p;
    p.tets = b.tets + at / SUP_PRISM_LANES * SUP_PRISM_FLOATS + at % SUP_PRISM_LANES;
    p.corner = b.at<uint16_t>(SUP_PACK_CORNER) + i;
    p.x = (const float4 *)b.x + c * s.max_local;
    p.foot_points = s.volume > 0.0f ? (const float4 *)(b.foot_points + which * b.foot_point_step) : NULL;
    p.force = b.force + which * s.max_forces;
    p.stride = b.subdomain.prism_stride;
    p.loose_stride = b.subdomain.loose_stride;
    p.shared_rotation = views[c].shared_rotation != 0;
    p.pressure = 0.0f;
    for (int first = 0; s.volume > 0.0f && first < b.subdomain.blend_count; first += BLENDS_AT_ONCE) {
        float weight[BLENDS_AT_ONCE]; /* all loads in flight at once */
        int region_slot[BLENDS_AT_ONCE];
#pragma unroll
        for (int k = 0; k < BLENDS_AT_ONCE; k++) {
            const bool there = first + k < b.subdomain.blend_count;
            weight[k] = there ? b.blend_weight[(first + k) * p.stride + i] : 0.0f;
            region_slot[k] = there ? b.blend_region_slot[(first + k) * p.stride + i] : 0;
        }
#pragma unroll
        for (int k = 0; k < BLENDS_AT_ONCE; k++)
            p.pressure = fmaf(weight[k], pressure[region_slot[k]], p.pressure);
    }
    return p;
}

/* Forces of the subdomain's prisms of two characters, one thread per prism, 32 per warp. Returns their energies. The
 * few whose rotations have no closed form are computed last. */
static __device__ void crowd_forces(const sup_gpu_system &s, const crowd_view &b, const local_view *views, int first,
                                    float (&energy)[PAIR])
{
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32, chunks = b.subdomain.prism_stride / 32;
    unsigned again = 0, pass = 1;
    energy[0] = energy[1] = 0.0f;
    for (int item = warp; item < PAIR * chunks; item += CROWD_THREADS / 32, pass <<= 1) {
        const int which = item >= chunks, c = first + which, i = (item - which * chunks) * 32 + lane;
        if (c >= b.live || views[c].finished || i >= b.subdomain.prism_count) continue;
        const crowd_prism p = view_prism(s, b, views, c, which, i);
        const float twice = i - lane < p.loose_stride ? push_prism<5>(p, i) : push_prism<3>(p, i);
        if (!(twice == twice)) {
            again |= pass;
            continue;
        }
        energy[0] += which == 0 ? 0.5f * twice : 0.0f;
        energy[1] += which == 1 ? 0.5f * twice : 0.0f;
    }
    for (int item = warp; again != 0; item += CROWD_THREADS / 32, again >>= 1) {
        if ((again & 1u) == 0) continue;
        const int which = item >= chunks, i = (item - which * chunks) * 32 + lane;
        const crowd_prism p = view_prism(s, b, views, first + which, which, i);
        const float twice = repair_prism(p, i, i - lane < p.loose_stride);
        energy[0] += which == 0 ? 0.5f * twice : 0.0f;
        energy[1] += which == 1 ? 0.5f * twice : 0.0f;
    }
}

/* Gradient of two characters, half of the threads each: gradient() and contact_gradient() of step_subdomain.cuh.
 * `values` belong to the thread's character. */
static __device__ void crowd_gradient(const sup_gpu_system &s, const sup_gpu_state &st, const crowd_view &b,
                                      const local_view &now, int c, float (&values)[SUP_GPU_SUMS_PADDED])
{
    const int character = b.first + c, nodes = b.subdomain.count + b.subdomain.slot_count, which = threadIdx.x / EACH;
    const size_t at = (size_t)character * s.unknown_count;
    const uint16_t *begin = b.at<uint16_t>(SUP_PACK_SUM_BEGIN), *from = b.at<uint16_t>(SUP_PACK_SUM_FROM);
    const float *masses = b.at<float>(SUP_PACK_MASS), *force = b.force + which * s.max_forces;
    const float4 *x = (const float4 *)b.x + c * s.max_local;
    const int32_t *slot = b.at<int32_t>(SUP_PACK_SLOT);
    const bool touching = now.contacts > 0;
    const contact_view contacts = touching ? open_contacts(s, st, character) : contact_view{};
    for (int i = threadIdx.x % EACH; i < nodes; i += EACH) {
        bool own;
        const int node = b.node(s.interior_count, i, own);
        const float mass = masses[i];
        const bool inside = i < b.subdomain.count;
        float4 here = x[i], inertial = here, g = make_float4(0.0f, 0.0f, 0.0f, 0.0f);
        if (mass > 0.0f) inertial = st.inertial[at + node];
        const int has_contacts =
            touching && own ? contacts.node_contact_first[node + 1] - contacts.node_contact_first[node] : 0;
        for (int e = begin[i], end = begin[i + 1]; e < end; e++) {
            const float *f = force + from[e];
            g.x += f[0], g.y += f[1], g.z += f[2];
        }
        const float4 difference = minus(here, inertial);
        g = add_scaled(g, mass, difference);
        values[SUM_ENERGY] = fmaf(0.5f * mass, dot(difference, difference), values[SUM_ENERGY]);
        if (touching) {
            if (has_contacts > 0)
                g = add_scaled(g, 1.0f, contact_forces(s, contacts, st.iterate[now.current] + at, node, values));
            if (inside)
                st.gradient[at + node] = g;
            else
                st.raw_gradient[(size_t)character * s.slot_count + slot[i - b.subdomain.count]] = g;
        } else {
#pragma unroll
            for (int j = 0; j < SUP_SOLVER_HISTORY - 1; j++)
                if (j < now.history) values[SUM_OLDER + j] += dot(st.direction[j][at + node], g);
        }
        put(b.row(b.in, b.slot_gradient, i, c), inside ? make_float4(-g.x, -g.y, -g.z, 0.0f) : g);
    }
}

/* Sums of a local step of two characters; every thread has a partial sum of both energies in `energy`, and `values`
 * of its own character only. */
static __device__ void crowd_sums(const sup_gpu_state &st, const crowd_view &b, const local_view *views, int first,
                                  float (&energy)[PAIR], float (&values)[SUP_GPU_SUMS_PADDED])
{
    enum { WARPS = CROWD_THREADS / 32, OF_EACH = EACH / 32, N = SUP_GPU_SUMS_PADDED };
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    const float strain = warp_sums<PAIR>(energy), sum = warp_sums<N>(values);
    float *strains = b.sums + 32 * N;
    if (lane % (32 / PAIR) == 0) strains[lane / (32 / PAIR) * 32 + warp] = strain;
    if (lane % (32 / N) == 0) b.sums[lane / (32 / N) * 32 + warp] = sum;
    __syncthreads();
    const int which = threadIdx.x / N, k = threadIdx.x % N, c = first + which;
    if (which >= PAIR || c >= b.live || views[c].finished ||
        k >= (views[c].contacts > 0 ? SUM_ACTIVE + 1 : SUM_OLDER + views[c].history))
        return;
    float total = 0.0f;
#pragma unroll
    for (int w = 0; w < OF_EACH; w++)
        total += b.sums[k * 32 + which * OF_EACH + w];
    for (int w = 0; k == SUM_ENERGY && w < WARPS; w++)
        total += strains[which * 32 + w];
    st.sums[((size_t)(b.first + c) * SUP_GPU_SUMS + SUM_ENERGY + k) * st.sum_stride + blockIdx.x] = total;
}

/* A local step of two characters whose nodes are in shared memory. */
static __device__ void crowd_pair(const sup_gpu_system &s, const sup_gpu_state &st, const crowd_view &b,
                                  const local_view *views, int first)
{
    const int which = threadIdx.x / EACH, c = first + which;
    float energy[PAIR], values[SUP_GPU_SUMS_PADDED];
    wait_inverse();
    __syncthreads();
    crowd_forces(s, b, views, first, energy);
    __syncthreads();
    for (int next = first + PAIR; s.volume > 0.0f && next < min(b.live, first + 2 * PAIR); next++)
        load_foot_points<CROWD, CROWD_THREADS>(s, st, b, next);
#pragma unroll
    for (int k = 0; k < SUP_GPU_SUMS_PADDED; k++)
        values[k] = 0.0f;
    if (which < PAIR && c < b.live && !views[c].finished) {
        const float *energies = b.pressure + (CROWD + c) * s.max_region_slots;
        for (int i = threadIdx.x % EACH; s.volume > 0.0f && i < b.subdomain.region_slot_count; i += EACH)
            values[SUM_ENERGY] += energies[i];
        crowd_gradient(s, st, b, views[c], c, values);
    }
    crowd_sums(st, b, views, first, energy, values);
}

#endif

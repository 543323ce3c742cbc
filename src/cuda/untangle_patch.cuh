/* untangle_patch.cuh (internal) - patches that skins which cross cut out of each other: untangle/untangle.c. */
#ifndef SUP_CUDA_UNTANGLE_PATCH_CUH
#define SUP_CUDA_UNTANGLE_PATCH_CUH

#include "cuda/untangle_lists.cuh"

/* As in untangle.c, where they are explained. */
#define AGREE 0.6f
#define LEAST_AGREE 0.05f

/* --- Walls --- */

/* The edge from a vertex to another one among the view's neighbours, -1 for none. */
static __device__ int edge_to(const part_work &w, int v, int other)
{
    int found = -1;
    for (int e = w.view.neighbour_first[v], end = w.view.neighbour_first[v + 1]; e < end; e++)
        if (w.view.neighbours[e] == other) found = e;
    return found;
}

/* Marks what ends at an edge that crosses something, and the edge, from both ends: patches end there. By the block. */
static __device__ void raise_walls(part_work &w)
{
    for (int i = threadIdx.x; i < 2 * w.counts.hits; i += MOVE_THREADS) {
        sup_gpu_untangle_hit &hit = w.r.hits[i / 2];
        const int v = i % 2 ? hit.outside : hit.inside, e = edge_to(w, v, i % 2 ? hit.inside : hit.outside);
        atomicOr(&w.r.state[v], i % 2 ? OUTSIDE : SEED);
        hit.wall[i % 2] = e;
        if (e >= 0) w.r.wall[e] = 1;
    }
    __syncthreads();
}

/* --- Floods --- */

enum {
    FLOOD_LANES = 16, /* edges of a vertex side by side, of one a group */
    FLOOD_GROUPS = MOVE_THREADS / FLOOD_LANES
};
static_assert(FLOOD_GROUPS == 32 && PATCH + MOVE_THREADS < FLOOD_SLOTS, "a lane a group; a slot a vertex");

/* What a thread looks at: an edge of the vertices of the queue, -1 for none; whether all edges are of one vertex. */
struct flood_step {
    int edge;
    bool alone;
};

/* The next edges of the vertices from number `at` of the queue on, `count` in all, in order. One with more edges than lanes comes alone;
 * walk: how many of its edges were seen. By the block: every warp looks at all that the block takes. */
static __device__ flood_step next_edges(const part_work &w, int count, int &at, int &walk)
{
    const int lane = lane_of(), group = (int)threadIdx.x / FLOOD_LANES, own = min(at + lane, count - 1);
    const int2 edges = w.scratch.flood.edges[min(own, PATCH)];
    const unsigned wide = __ballot_sync(0xffffffffu, edges.y - edges.x > FLOOD_LANES);
    const bool alone = (wide & 1u) != 0;
    const int taken = alone ? 1 : min(wide != 0 ? __ffs((int)wide) - 1 : FLOOD_GROUPS, count - at);
    const int begin = __shfl_sync(0xffffffffu, edges.x, alone ? 0 : group);
    const int end = __shfl_sync(0xffffffffu, edges.y, alone ? 0 : group);
    const int e = begin + (alone ? walk + (int)threadIdx.x : (int)threadIdx.x % FLOOD_LANES);
    walk = alone && begin + walk + MOVE_THREADS < end ? walk + MOVE_THREADS : 0;
    at += walk == 0 ? taken : 0;
    return {e < end && (alone || group < taken) ? e : -1, alone};
}

/* The slot of a vertex, whether it is there or comes there now; `put` false: -1 where it is not. */
static __device__ int find_slot(part_work &w, int v, bool put)
{
    for (unsigned slot = (unsigned)v * 2654435761u >> 22;; slot = (slot + 1) % FLOOD_SLOTS) {
        const int there = put ? atomicCAS(&w.scratch.flood.vertex[slot], NONE, v) : w.scratch.flood.vertex[slot];
        if (there == v || (there == NONE && put)) return (int)slot;
        if (there == NONE) return -1;
    }
}

/* How many of the block's threads have `first`, in all, and before this one. Vertices after the first one, each a group of threads, have no
 * turn any more once the flood, `count` before, is too large: `first` is taken from their threads. */
static __device__ int count_firsts(part_work &w, int count, bool alone, bool &first, int &all)
{
    const unsigned everyone = 0xffffffffu, mine = __ballot_sync(everyone, first);
    const int lane = lane_of(), group = (int)threadIdx.x / FLOOD_LANES;
    const unsigned its = mine >> (lane & FLOOD_LANES) & ((1u << FLOOD_LANES) - 1u);
    if (lane % FLOOD_LANES == 0) w.groups[group] = __popc(its);
    __syncthreads();
    const int own = w.groups[lane];
    int through = own;
    for (int step = 1; step < 32; step <<= 1) {
        const int other = __shfl_up_sync(everyone, through, step);
        if (lane >= step) through += other;
    }
    const unsigned late = __ballot_sync(everyone, !alone && lane > 0 && count + through - own > PATCH);
    const int end = late != 0 ? __ffs((int)late) - 1 : FLOOD_GROUPS;
    all = __shfl_sync(everyone, through, end - 1);
    first = first && group < end;
    return __shfl_sync(everyone, through - own, group) + __popc(its & ((1u << lane % FLOOD_LANES) - 1u));
}

/* Vertex number `at` of a flood; those of them that have a turn are no more than PATCH. */
static __device__ void put_member(part_work &w, int at, int v, int2 edges)
{
    w.r.queue[min(at, w.view.vertex_count - 1)] = v;
    if (at <= PATCH) w.scratch.flood.edges[at] = edges;
}

/* All that is on the side of a vertex where an edge crosses, along edges that do not, into the queue. Returns how many; more than
 * PATCH: it does not end. By the block. */
static __device__ int flood(part_work &w, int seed)
{
    for (int i = threadIdx.x; i < FLOOD_SLOTS; i += MOVE_THREADS) {
        w.scratch.flood.vertex[i] = NONE;
        w.scratch.flood.turn[i] = INT_MAX;
    }
    if (threadIdx.x == 0) put_member(w, 0, seed, edges_of(w, seed));
    __syncthreads();
    if (threadIdx.x == 0) w.scratch.flood.turn[find_slot(w, seed, true)] = -1;
    int count = 1, turn = threadIdx.x;
    for (int at = 0, walk = 0; at < count && (count <= PATCH || walk > 0); turn += MOVE_THREADS) {
        const flood_step step = next_edges(w, count, at, walk);
        const int next = step.edge >= 0 && !w.r.wall[step.edge] ? w.view.neighbours[step.edge] : (int)NONE;
        const int2 edges = edges_of(w, max(next, 0)); /* on its way, whether it is needed or not */
        const bool wanted = next >= 0 && !(w.r.state[max(next, 0)] & PATCHED);
        /* A vertex that comes alone may have more edges than there are slots, but no two to the same vertex. */
        const int slot = wanted ? find_slot(w, next, count <= PATCH) : -1;
        if (slot >= 0) atomicMin(&w.scratch.flood.turn[slot], turn);
        __syncthreads();
        bool first = wanted && (slot < 0 || w.scratch.flood.turn[slot] == turn);
        int all;
        const int before = count_firsts(w, count, step.alone, first, all);
        if (first) put_member(w, count + before, next, edges);
        count += all;
        __syncthreads();
    }
    return min(count, w.view.vertex_count);
}

/* --- Patches --- */

/* The patch around a vertex; `outer`: what is outside. By the block. */
static __device__ void make_patch(part_work &w, int first, bool outer)
{
    const int side = outer ? OUTSIDE : SEED, number = w.counts.patches, count = flood(w, first);
    const bool closed = count <= PATCH && number < SUP_GPU_UNTANGLE_PATCHES;
    const int32_t *queue = w.r.queue;
    if (closed)
        append_own<2>(
            w, count, true, [=](int g, int k) { return k == 0 ? queue[g] : (int)END; }, 0u);
    bool deep = false;
    for (int i = threadIdx.x; i < count; i += MOVE_THREADS) {
        const int v = queue[i];
        const bool seed = (w.r.state[v] & side) != 0;
        deep = deep || !seed;
        if (!closed && !seed) continue;
        w.r.vertex[v].patch = closed ? number : (int)OPEN;
        w.r.state[v] |= PATCHED;
        if (closed) join(w, first, v);
    }
    deep = __syncthreads_or(deep);
    if (closed && threadIdx.x == 0) {
        sup_gpu_untangle_patch patch = {};
        patch.deep = deep;
        patch.outer = outer;
        w.r.patches[number] = patch;
        w.counts.patches = number + 1;
    }
    __syncthreads();
}

/* Two skins that cross cut a patch out of each other: what is inside. By the block. */
static __device__ void make_inner(part_work &w)
{
    const sup_gpu_untangle_hit *hits = w.r.hits;
    if (threadIdx.x == 0) w.counts.list = w.counts.patches = 0;
    __syncthreads();
    append<2>(w, w.counts.hits, true, [=](int g, int k) { return k == 0 ? hits[g].inside : (int)END; });
    raise_walls(w);
    const int seeds = w.counts.list;
    for (int i = 0; i < seeds;) {
        const int own = i + (int)threadIdx.x;
        const int next = first_thread(w, own < seeds && !(w.r.state[w.r.list[min(own, seeds - 1)]] & PATCHED));
        if (next < MOVE_THREADS) make_patch(w, w.r.list[i + next], false);
        i += next < MOVE_THREADS ? next + 1 : MOVE_THREADS;
    }
    __syncthreads();
}

/* A hit whose inner end is in a patch with no way out. */
static __device__ bool is_torn(const part_work &w, const sup_gpu_untangle_hit &hit)
{
    const int inner = w.r.vertex[hit.inside].patch;
    return inner >= 0 && !w.r.patches[inner].outer && w.r.patches[inner].torn;
}

/* Where what is inside does not end, or has no way out, the patch is what is outside, if that ends. */
static __device__ void make_outer(part_work &w)
{
    const int hits = w.counts.hits;
    for (int i = 0; i < hits;) {
        const int own = i + (int)threadIdx.x;
        const sup_gpu_untangle_hit &hit = w.r.hits[min(own, hits - 1)];
        const bool without = own < hits && !(w.r.state[hit.outside] & PATCHED) &&
                             (w.r.vertex[hit.inside].patch == OPEN || is_torn(w, hit));
        const int next = first_thread(w, without);
        if (next < MOVE_THREADS) make_patch(w, w.r.hits[i + next].outside, true);
        i += next < MOVE_THREADS ? next + 1 : MOVE_THREADS;
    }
    for (int i = threadIdx.x; i < hits; i += MOVE_THREADS) {
        const sup_gpu_untangle_hit &hit = w.r.hits[i];
        const int outer = w.r.vertex[hit.outside].patch;
        if (is_torn(w, hit) && outer >= 0 && w.r.patches[outer].outer)
            w.r.patches[w.r.vertex[hit.inside].patch].left = 1;
    }
    __syncthreads();
}

/* The patch that a hit belongs to, -1 for none. */
static __device__ int patch_of(const part_work &w, const sup_gpu_untangle_hit &hit)
{
    const int inner = w.r.vertex[hit.inside].patch, outer = w.r.vertex[hit.outside].patch;
    const bool inside = inner >= 0 && !w.r.patches[inner].outer;
    if (inside && !w.r.patches[inner].left) return inner;
    if (outer >= 0 && w.r.patches[outer].outer) return outer;
    return inside ? inner : -1;
}

/* The plane of a patch: its hits in order, by a warp whose first lanes have a number each, as they stand side by side in a hit. */
static __device__ void fit_patch(part_work &w, int number, int hits)
{
    enum { NORMAL = SUP_GPU_UNTANGLE_NORMAL, EDGE = SUP_GPU_UNTANGLE_EDGE };
    const unsigned all = 0xffffffffu;
    const int lane = lane_of(), own = min(lane, SUP_GPU_UNTANGLE_MEANS - 1);
    sup_gpu_untangle_patch &patch = w.r.patches[number];
    const float sign = patch.outer && own >= NORMAL && own < EDGE ? -1.0f : 1.0f; /* the way out, or in */
    float sum = 0.0f, weight = 0.0f;
    for (int base = 0; base < hits; base += 32) {
        unsigned its = __ballot_sync(all, base + lane < hits && w.r.hits[min(base + lane, hits - 1)].patch == number);
        for (; its != 0; its &= its - 1) {
            sum += sign * w.r.hits[base + __ffs((int)its) - 1].means[own];
            weight += 1.0f;
        }
    }
    float4 normal = make_float4(__shfl_sync(all, sum, NORMAL), __shfl_sync(all, sum, NORMAL + 1),
                                __shfl_sync(all, sum, NORMAL + 2), 0.0f);
    const float length = sqrtf(dot(normal, normal));
    const bool left = !(length > LEAST_AGREE * weight);
    if (lane < SUP_GPU_UNTANGLE_MEANS) {
        const float by = own >= NORMAL && own < EDGE ? length : weight, mean = sum / by;
        const bool kept = left && own != SUP_GPU_UNTANGLE_SHARE && own != EDGE;
        patch.means[own] = kept ? sum : mean;
    }
    if (lane == 0) {
        patch.weight = weight;
        patch.torn = !(length > AGREE * weight);
        patch.left = left;
    }
}

/* Whose hits are whose; then the planes of the patches from `first` on. */
static __device__ void fit_patches(part_work &w, int first)
{
    const int hits = w.counts.hits, patches = w.counts.patches;
    for (int i = threadIdx.x; i < hits; i += MOVE_THREADS)
        w.r.hits[i].patch = patch_of(w, w.r.hits[i]);
    __syncthreads();
    for (int i = first + (int)threadIdx.x / 32; i < patches; i += MOVE_WARPS)
        fit_patch(w, i, hits);
    __syncthreads();
}

static __device__ void make_patches(part_work &w)
{
    make_inner(w);
    fit_patches(w, 0);
    const int inner = w.counts.patches;
    make_outer(w);
    fit_patches(w, inner);
}

#endif

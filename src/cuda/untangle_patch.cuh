/* untangle_patch.cuh (internal) - patches that crossing skins cut out of each other: untangle/untangle.c on the
 * device. */
#ifndef SUP_CUDA_UNTANGLE_PATCH_CUH
#define SUP_CUDA_UNTANGLE_PATCH_CUH

#include "cuda/untangle_lists.cuh"

/* --- Boundaries --- */

/* The edge from a vertex to another one in the view's neighbours, -1 for none. */
static __device__ int edge_to(const untangle_work &w, int v, int other)
{
    int found = -1;
    for (int e = w.view.neighbour_first[v], end = w.view.neighbour_first[v + 1]; e < end; e++)
        if (w.view.neighbours[e] == other) found = e;
    return found;
}

/* Marks the ends of crossing edges, and the edges, from both ends, as boundaries of patches. By the block. */
static __device__ void mark_boundaries(untangle_work &w)
{
    for (int i = threadIdx.x; i < 2 * w.counts.crossings; i += MOVE_THREADS) {
        sup_gpu_untangle_crossing &crossing = w.r.crossings[i / 2];
        const int v = i % 2 ? crossing.outside : crossing.inside,
                  e = edge_to(w, v, i % 2 ? crossing.inside : crossing.outside);
        atomicOr(&w.r.state[v], i % 2 ? SUP_UNTANGLE_OUTSIDE : SUP_UNTANGLE_INSIDE);
        crossing.boundary[i % 2] = e;
        if (e >= 0) w.r.boundary[e] = 1;
    }
    __syncthreads();
}

/* --- Flood fill --- */

enum {
    FLOOD_LANES = 16, /* threads of a group: edges of one vertex */
    FLOOD_GROUPS = MOVE_THREADS / FLOOD_LANES
};
static_assert(FLOOD_GROUPS == 32 && SUP_UNTANGLE_MAX_PATCH + MOVE_THREADS < FLOOD_SLOTS,
              "a lane for each group, a slot for each vertex");

/* Work item of a thread: an edge of the vertices of the queue, -1 for none; whether all edges are of one vertex. */
struct flood_step {
    int edge;
    bool single;
};

/* The next edges of the vertices from number `at` of the queue on, `count` in all, in order. A vertex with more edges
 * than lanes is processed alone; seen: number of its edges so far. By the block: every warp computes the same
 * schedule. */
static __device__ flood_step next_edges(const untangle_work &w, int count, int &at, int &seen)
{
    const int lane = lane_of(), group = (int)threadIdx.x / FLOOD_LANES, own = min(at + lane, count - 1);
    const int2 edges = w.scratch.flood.edges[min(own, SUP_UNTANGLE_MAX_PATCH)];
    const unsigned wide = __ballot_sync(0xffffffffu, edges.y - edges.x > FLOOD_LANES);
    const bool single = (wide & 1u) != 0;
    const int taken = single ? 1 : min(wide != 0 ? __ffs((int)wide) - 1 : FLOOD_GROUPS, count - at);
    const int begin = __shfl_sync(0xffffffffu, edges.x, single ? 0 : group);
    const int end = __shfl_sync(0xffffffffu, edges.y, single ? 0 : group);
    const int e = begin + (single ? seen + (int)threadIdx.x : (int)threadIdx.x % FLOOD_LANES);
    seen = single && begin + seen + MOVE_THREADS < end ? seen + MOVE_THREADS : 0;
    at += seen == 0 ? taken : 0;
    return {e < end && (single || group < taken) ? e : -1, single};
}

/* The hash slot of a vertex; `put`: inserts it if needed, else -1 where it is missing. */
static __device__ int find_slot(untangle_work &w, int v, bool put)
{
    for (unsigned slot = (unsigned)v * 2654435761u >> 22;; slot = (slot + 1) % FLOOD_SLOTS) {
        const int found = put ? atomicCAS(&w.scratch.flood.vertex[slot], NONE, v) : w.scratch.flood.vertex[slot];
        if (found == v || (found == NONE && put)) return (int)slot;
        if (found == NONE) return -1;
    }
}

/* Number of the block's threads with `first`, in all, and before this one. Once the flood, `count` vertices before,
 * is too large, later vertices of the queue, each a group of threads, add nothing: `first` is cleared for their
 * threads. */
static __device__ int count_firsts(untangle_work &w, int count, bool single, bool &first, int &all)
{
    const unsigned all_lanes = 0xffffffffu, ballot = __ballot_sync(all_lanes, first);
    const int lane = lane_of(), group = (int)threadIdx.x / FLOOD_LANES;
    const unsigned members = ballot >> (lane & FLOOD_LANES) & ((1u << FLOOD_LANES) - 1u);
    if (lane % FLOOD_LANES == 0) w.groups[group] = __popc(members);
    __syncthreads();
    const int own = w.groups[lane];
    int through = own;
    for (int step = 1; step < 32; step <<= 1) {
        const int other = __shfl_up_sync(all_lanes, through, step);
        if (lane >= step) through += other;
    }
    const unsigned late =
        __ballot_sync(all_lanes, !single && lane > 0 && count + through - own > SUP_UNTANGLE_MAX_PATCH);
    const int end = late != 0 ? __ffs((int)late) - 1 : FLOOD_GROUPS;
    all = __shfl_sync(all_lanes, through, end - 1);
    first = first && group < end;
    return __shfl_sync(all_lanes, through - own, group) + __popc(members & ((1u << lane % FLOOD_LANES) - 1u));
}

/* Stores vertex number `at` of a flood; at most SUP_UNTANGLE_MAX_PATCH of them are expanded. */
static __device__ void put_member(untangle_work &w, int at, int v, int2 edges)
{
    w.r.queue[min(at, w.view.vertex_count - 1)] = v;
    if (at <= SUP_UNTANGLE_MAX_PATCH) w.scratch.flood.edges[at] = edges;
}

/* Flood fill from one end of a crossing edge along edges that do not cross, into the queue. Returns the number of
 * vertices; more than SUP_UNTANGLE_MAX_PATCH: the patch is open. By the block. */
static __device__ int flood(untangle_work &w, int seed)
{
    for (int i = threadIdx.x; i < FLOOD_SLOTS; i += MOVE_THREADS) {
        w.scratch.flood.vertex[i] = NONE;
        w.scratch.flood.owner[i] = INT_MAX;
    }
    if (threadIdx.x == 0) put_member(w, 0, seed, edges_of(w, seed));
    __syncthreads();
    if (threadIdx.x == 0) w.scratch.flood.owner[find_slot(w, seed, true)] = -1;
    int count = 1, owner = threadIdx.x;
    for (int at = 0, seen = 0; at < count && (count <= SUP_UNTANGLE_MAX_PATCH || seen > 0); owner += MOVE_THREADS) {
        const flood_step step = next_edges(w, count, at, seen);
        const int next = step.edge >= 0 && !w.r.boundary[step.edge] ? w.view.neighbours[step.edge] : (int)NONE;
        const int2 edges = edges_of(w, max(next, 0)); /* load in flight, needed or not */
        const bool selects = next >= 0 && !(w.r.state[max(next, 0)] & SUP_UNTANGLE_PATCHED);
        /* A vertex that is processed alone may have more edges than slots, but no two edges to the same vertex. */
        const int slot = selects ? find_slot(w, next, count <= SUP_UNTANGLE_MAX_PATCH) : -1;
        if (slot >= 0) atomicMin(&w.scratch.flood.owner[slot], owner);
        __syncthreads();
        bool first = selects && (slot < 0 || w.scratch.flood.owner[slot] == owner);
        int all;
        const int before = count_firsts(w, count, step.single, first, all);
        if (first) put_member(w, count + before, next, edges);
        count += all;
        __syncthreads();
    }
    return min(count, w.view.vertex_count);
}

/* --- Patches --- */

/* The patch around a vertex; `outer`: made of the skin outside. By the block. */
static __device__ void make_patch(untangle_work &w, int first, bool outer)
{
    const int side = outer ? SUP_UNTANGLE_OUTSIDE : SUP_UNTANGLE_INSIDE, number = w.counts.patches,
              count = flood(w, first);
    const bool closed = count <= SUP_UNTANGLE_MAX_PATCH && number < SUP_GPU_UNTANGLE_PATCHES;
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
        w.r.vertex[v].patch = closed ? number : (int)SUP_UNTANGLE_OPEN;
        w.r.state[v] |= SUP_UNTANGLE_PATCHED;
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

/* Two skins that cross cut patches out of each other: those that are inside. By the block. */
static __device__ void make_inner_patches(untangle_work &w)
{
    const sup_gpu_untangle_crossing *crossings = w.r.crossings;
    if (threadIdx.x == 0) w.counts.list = w.counts.patches = 0;
    __syncthreads();
    append<2>(w, w.counts.crossings, true, [=](int g, int k) { return k == 0 ? crossings[g].inside : (int)END; });
    mark_boundaries(w);
    const int seeds = w.counts.list;
    for (int i = 0; i < seeds;) {
        const int own = i + (int)threadIdx.x;
        const int next =
            first_thread(w, own < seeds && !(w.r.state[w.r.list[min(own, seeds - 1)]] & SUP_UNTANGLE_PATCHED));
        if (next < MOVE_THREADS) make_patch(w, w.r.list[i + next], false);
        i += next < MOVE_THREADS ? next + 1 : MOVE_THREADS;
    }
    __syncthreads();
}

/* A crossing whose inner end is in a patch without a clear direction. */
static __device__ bool is_ambiguous(const untangle_work &w, const sup_gpu_untangle_crossing &crossing)
{
    const int inner = w.r.vertex[crossing.inside].patch;
    return inner >= 0 && !w.r.patches[inner].outer && w.r.patches[inner].ambiguous;
}

/* Where the inner patch is open or ambiguous, the patch is the skin outside, if that is closed. */
static __device__ void make_outer_patches(untangle_work &w)
{
    const int crossings = w.counts.crossings;
    for (int i = 0; i < crossings;) {
        const int own = i + (int)threadIdx.x;
        const sup_gpu_untangle_crossing &crossing = w.r.crossings[min(own, crossings - 1)];
        const bool without = own < crossings && !(w.r.state[crossing.outside] & SUP_UNTANGLE_PATCHED) &&
                             (w.r.vertex[crossing.inside].patch == SUP_UNTANGLE_OPEN || is_ambiguous(w, crossing));
        const int next = first_thread(w, without);
        if (next < MOVE_THREADS) make_patch(w, w.r.crossings[i + next].outside, true);
        i += next < MOVE_THREADS ? next + 1 : MOVE_THREADS;
    }
    for (int i = threadIdx.x; i < crossings; i += MOVE_THREADS) {
        const sup_gpu_untangle_crossing &crossing = w.r.crossings[i];
        const int outer = w.r.vertex[crossing.outside].patch;
        if (is_ambiguous(w, crossing) && outer >= 0 && w.r.patches[outer].outer)
            w.r.patches[w.r.vertex[crossing.inside].patch].skipped = 1;
    }
    __syncthreads();
}

/* The patch that a crossing belongs to, -1 for none. */
static __device__ int patch_of(const untangle_work &w, const sup_gpu_untangle_crossing &crossing)
{
    const int inner = w.r.vertex[crossing.inside].patch, outer = w.r.vertex[crossing.outside].patch;
    const sup_gpu_untangle_patch &first = w.r.patches[max(inner, 0)], &second = w.r.patches[max(outer, 0)];
    return sup_untangle_choose_patch(inner, first.outer != 0, first.skipped != 0, outer, second.outer != 0);
}

/* The plane of a patch: sums over its crossings in order, by a warp whose first lanes have one of the means each. */
static __device__ void fit_patch(untangle_work &w, int number, int crossings)
{
    enum { NORMAL = SUP_GPU_UNTANGLE_NORMAL, EDGE = SUP_GPU_UNTANGLE_EDGE };
    const unsigned all = 0xffffffffu;
    const int lane = lane_of(), own = min(lane, SUP_GPU_UNTANGLE_MEANS - 1);
    sup_gpu_untangle_patch &patch = w.r.patches[number];
    const float sign = patch.outer && own >= NORMAL && own < EDGE ? -1.0f : 1.0f; /* outwards, or inwards */
    float sum = 0.0f, weight = 0.0f;
    for (int base = 0; base < crossings; base += 32) {
        unsigned members = __ballot_sync(all, base + lane < crossings &&
                                                  w.r.crossings[min(base + lane, crossings - 1)].patch == number);
        for (; members != 0; members &= members - 1) {
            sum += sign * w.r.crossings[base + __ffs((int)members) - 1].means[own];
            weight += 1.0f;
        }
    }
    float4 normal = make_float4(__shfl_sync(all, sum, NORMAL), __shfl_sync(all, sum, NORMAL + 1),
                                __shfl_sync(all, sum, NORMAL + 2), 0.0f);
    const float length = sqrtf(dot(normal, normal));
    const bool skipped = sup_untangle_is_skipped(length, weight);
    if (lane < SUP_GPU_UNTANGLE_MEANS) {
        const float by = own >= NORMAL && own < EDGE ? length : weight, mean = sum / by;
        const bool kept = skipped && own != SUP_GPU_UNTANGLE_FRACTION && own != EDGE;
        patch.means[own] = kept ? sum : mean;
    }
    if (lane == 0) {
        patch.weight = weight;
        patch.ambiguous = sup_untangle_is_ambiguous(length, weight);
        patch.skipped = skipped;
    }
}

/* The patch of each crossing; then the planes of the patches from `first` on. */
static __device__ void fit_patches(untangle_work &w, int first)
{
    const int crossings = w.counts.crossings, patches = w.counts.patches;
    for (int i = threadIdx.x; i < crossings; i += MOVE_THREADS)
        w.r.crossings[i].patch = patch_of(w, w.r.crossings[i]);
    __syncthreads();
    for (int i = first + (int)threadIdx.x / 32; i < patches; i += MOVE_WARPS)
        fit_patch(w, i, crossings);
    __syncthreads();
}

static __device__ void make_patches(untangle_work &w)
{
    make_inner_patches(w);
    fit_patches(w, 0);
    const int inner = w.counts.patches;
    make_outer_patches(w);
    fit_patches(w, inner);
}

#endif

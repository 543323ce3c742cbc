/* untangle_lists.cuh (internal) - lists of the vertices that untangling moves, and connected components.
 *
 * The CPU (untangle/untangle.c) appends vertices one by one, and its lists depend on that order. Here a block
 * processes all groups of vertices of such a walk in parallel: a vertex is owned by the first group that contains it,
 * and groups append in order. So the lists are those of the CPU. */
#ifndef SUP_CUDA_UNTANGLE_LISTS_CUH
#define SUP_CUDA_UNTANGLE_LISTS_CUH

#include "cuda/untangle_find.cuh"
#include "cuda/prefix_sum.cuh"

enum { MOVE_THREADS = 512, MOVE_WARPS = MOVE_THREADS / 32 }; /* of the block that untangles a character */
enum { NO_PATCH = -1, OPEN = -2 };
enum { NONE = -1, END = -2 }; /* no vertex; end of the group */
enum { MAX_WALKS = 64 };      /* of a character: see claim */

/* Lengths of the lists. */
struct list_counts {
    int list, known, patches, crossings, pairs, dirty, joins, moved;
    int walks; /* so far: keys of later walks are larger than those of all earlier ones */
};

enum { FLOOD_SLOTS = 1024 }; /* at least SUP_UNTANGLE_MAX_PATCH plus one vertex for each thread */

/* Shared memory of successive stages. */
union shared_scratch {
    struct {
        int vertex[FLOOD_SLOTS], owner[FLOOD_SLOTS]; /* hash table of the vertices reached, and when */
        int2 edges[SUP_UNTANGLE_MAX_PATCH + 1];      /* of the vertices in the queue: the first, and past the last */
    } flood;                                         /* untangle_patch.cuh */
    uint32_t bits[2048];                             /* untangle_edges.cuh: of slots in the list */
    unsigned char done[MOVE_THREADS];                /* untangle_move.cuh: follow_rings */
};

/* A character that a block untangles, in shared memory. */
struct untangle_work {
    sup_untangle_view view;
    untangle_search search;     /* with the current positions */
    const unsigned char *fixed; /* of sup_gpu_untangle, as the next two */
    const float *coarse_rest, *gap;
    const int32_t *vertex_first, *vertex_clusters;
    const int32_t *collider; /* [coarse_count] that the skin is in contact with, -1 for none; NULL without colliders */
    float *offset;           /* of the last frame */
    uint32_t *moved;         /* bits of vertices with such an offset */
    sup_gpu_untangle_scratch r;
    uint32_t *bits; /* of slots in the list: scratch.bits where they fit */
    list_counts counts;
    int2 joins[32]; /* untangle_edges.cuh: queue_join */
    union {
        unsigned long long sums[MOVE_WARPS]; /* of scan_block */
        int groups[2 * MOVE_WARPS];          /* untangle_patch.cuh: count_firsts */
    };
    shared_scratch scratch;
};

/* Skin that must not move: painted rigid, or in contact with a collider. */
static __device__ bool is_fixed(const untangle_work &w, int coarse)
{
    return w.fixed[coarse] || (w.collider != NULL && w.collider[coarse] >= 0);
}

static __device__ int lane_of()
{
    return (int)(threadIdx.x % 32);
}

static __device__ unsigned lanes_before()
{
    return (1u << lane_of()) - 1u;
}

/* Loads a vertex into `vertex` when it becomes known. Other vertices are at their start positions. */
static __device__ void load_vertex(const untangle_work &w, int v, float4 start, float4 x)
{
    sup_gpu_untangle_vertex &to = w.r.vertex[v];
    to.start = start;
    to.x = to.best = x;
    to.move = to.push = make_float4(0.0f, 0.0f, 0.0f, 0.0f);
    to.patch = NO_PATCH;
    to.parent = v;
    to.crossings = to.best_crossings = to.sum = to.best_sum = to.at = to.pad = 0;
}

/* --- Walks --- */

/* Calls f(v, state) for the vertices of group g of `items` that it owns, in order, with the loads of BATCH vertices
 * in flight. `key` 0: no vertex is in two groups. */
template <int BATCH, typename Items, typename F>
static __device__ void for_own(const untangle_work &w, const Items &items, int g, unsigned key, F f)
{
    for (int k = 0;; k += BATCH) {
        int v[BATCH];
        unsigned owner[BATCH];
        int state[BATCH]; /* valid if the group owns the vertex: no other thread writes it then */
#pragma unroll
        for (int j = 0; j < BATCH; j++)
            v[j] = items(g, k + j);
#pragma unroll
        for (int j = 0; j < BATCH; j++) {
            owner[j] = v[j] >= 0 && key != 0 ? w.r.owner[v[j]] : key;
            state[j] = v[j] >= 0 ? w.r.state[v[j]] : 0;
        }
#pragma unroll
        for (int j = 0; j < BATCH; j++)
            if (v[j] >= 0 && owner[j] == key) f(v[j], state[j]);
        if (v[BATCH - 1] == END) return;
    }
}

/* Claims the vertices of a walk: the first group that contains a vertex owns it. Returns the key of this thread's
 * first group; the keys of its later groups decrease by one for each group. */
template <int BATCH, typename Items> static __device__ unsigned claim(untangle_work &w, int groups, const Items &items)
{
    const unsigned last = ((unsigned)w.counts.walks + 1u) * (0xffffffffu / MAX_WALKS);
    for (int g = threadIdx.x; g < groups; g += MOVE_THREADS)
        for (int k = 0;; k += BATCH) {
            int v[BATCH];
#pragma unroll
            for (int j = 0; j < BATCH; j++)
                v[j] = items(g, k + j);
#pragma unroll
            for (int j = 0; j < BATCH; j++)
                if (v[j] >= 0) atomicMax(&w.r.owner[v[j]], last - 1u - (unsigned)g);
            if (v[BATCH - 1] == END) break;
        }
    __syncthreads();
    if (threadIdx.x == 0) w.counts.walks++;
    return last - 1u - threadIdx.x;
}

/* Appends the vertices that `groups` groups own, with a key each, to the known ones and, where `moves`, to the list
 * of the vertices that this iteration moves. By the block. */
template <int BATCH, typename Items>
static __device__ void append_own(untangle_work &w, int groups, bool moves, const Items &items, unsigned key)
{
    typedef unsigned long long both; /* the higher half counts newly known vertices, the lower one newly listed ones */
    const int begin[2] = {w.counts.known, w.counts.list}, flags = moves ? KNOWN | LISTED : KNOWN;
    both earlier = 0;
    for (int base = 0; base < groups; base += MOVE_THREADS) {
        const int g = base + (int)threadIdx.x;
        const unsigned own = key != 0 ? key - (unsigned)base : 0u;
        both own_bits = 0, all;
        if (g < groups)
            for_own<BATCH>(w, items, g, own, [&](int, int state) {
                const int missing = flags & ~state;
                own_bits += (both)(missing & KNOWN ? 1 : 0) << 32 | (missing & LISTED ? 1 : 0);
            });
        const both at = earlier + scan_block<MOVE_THREADS>(own_bits, w.sums, all);
        int known = begin[0] + (int)(at >> 32), list = begin[1] + (int)at;
        if (own_bits != 0)
            for_own<BATCH>(w, items, g, own, [&](int v, int state) {
                const int missing = flags & ~state;
                if ((missing & KNOWN) && known < w.view.vertex_count) {
                    const float4 start = start_of(w.search.positions, v);
                    w.r.known[known++] = v;
                    load_vertex(w, v, start, start);
                }
                if ((missing & LISTED) && list < w.view.vertex_count) {
                    w.r.vertex[v].at = list;
                    w.r.list[list++] = v;
                }
                w.r.state[v] = state | missing;
            });
        earlier += all;
    }
    __syncthreads();
    if (threadIdx.x == 0) {
        w.counts.known = min(begin[0] + (int)(earlier >> 32), w.view.vertex_count);
        w.counts.list = min(begin[1] + (int)earlier, w.view.vertex_count);
    }
    __syncthreads();
}

/* The same, in the order of the groups and of their vertices, each vertex once. items(g, k): vertex number k of group
 * g, NONE, or END; the vertices of one group are different. */
template <int BATCH, typename Items>
static __device__ void append(untangle_work &w, int groups, bool moves, const Items &items)
{
    const unsigned key = claim<BATCH>(w, groups, items);
    append_own<BATCH>(w, groups, moves, items, key);
}

/* The first of the block's threads with `is`, MOVE_THREADS for none. */
static __device__ int first_thread(untangle_work &w, bool is)
{
    const unsigned own_bits = __ballot_sync(0xffffffffu, is);
    if (lane_of() == 0) w.sums[threadIdx.x / 32] = own_bits;
    __syncthreads();
    const unsigned theirs = lane_of() < MOVE_WARPS ? (unsigned)w.sums[lane_of()] : 0u;
    const unsigned some = __ballot_sync(0xffffffffu, theirs != 0);
    const int warp = some != 0 ? __ffs((int)some) - 1 : 0;
    const unsigned bits = __shfl_sync(0xffffffffu, theirs, warp);
    __syncthreads();
    return some != 0 ? 32 * warp + __ffs((int)bits) - 1 : MOVE_THREADS;
}

/* --- Connected components: moved, or skipped, as a whole --- */

/* The root, which is the smallest vertex, of a component; other threads may join it meanwhile. */
static __device__ int component_of(const untangle_work &w, int v)
{
    for (;;) {
        const int parent = w.r.vertex[v].parent;
        if (parent == v) return v;
        const int above = w.r.vertex[parent].parent;
        if (above != parent) w.r.vertex[v].parent = above;
        v = above;
    }
}

/* Concurrent joins in any order lead to the same root: the smallest vertex. */
static __device__ void join(const untangle_work &w, int a, int b)
{
    int x = w.r.vertex[a].parent, y = w.r.vertex[b].parent;
    if (x == y) return;
    x = component_of(w, x);
    y = component_of(w, y);
    while (x != y) {
        const int low = min(x, y), high = max(x, y), parent = atomicCAS(&w.r.vertex[high].parent, high, low);
        if (parent == high) return;
        x = low;
        y = component_of(w, parent); /* smaller than `high`: terminates */
    }
}

/* --- Edges --- */

/* The edges of a vertex in the view's neighbours: the first, and past the last. */
static __device__ int2 edges_of(const untangle_work &w, int v)
{
    return make_int2(w.view.neighbour_first[v], w.view.neighbour_first[v + 1]);
}

/* Calls f(v, neighbour) for the edges of list[begin, end), eight threads a vertex; loads of the next vertex are in
 * flight meanwhile. By the block. */
template <typename F> static __device__ void for_edges(const untangle_work &w, int begin, int end, F f)
{
    enum { LANES = 8, STEP = MOVE_THREADS / LANES };
    int at = begin + (int)threadIdx.x / LANES, v = at < end ? w.r.list[at] : (int)NONE;
    int next = at + STEP < end ? w.r.list[at + STEP] : (int)NONE;
    int2 edges = edges_of(w, max(v, 0));
    while (v >= 0) {
        const int2 ahead = edges_of(w, max(next, 0));
        const int after = at + 2 * STEP < end ? w.r.list[at + 2 * STEP] : (int)NONE;
        for (int e = edges.x + (int)threadIdx.x % LANES; e < edges.y; e += LANES)
            f(v, w.view.neighbours[e]);
        at += STEP;
        v = next;
        next = after;
        edges = ahead;
    }
}

#endif

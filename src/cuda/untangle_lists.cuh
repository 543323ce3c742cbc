/* untangle_lists.cuh (internal) - lists of vertices of the shown skin that are parted, and what hangs together.
 *
 * The CPU (untangle/untangle.c) goes through them one by one, and what it comes to depends on the order. Here a block
 * takes all steps of such a walk at a time: each vertex is taken by the first step that wants it, and lists grow in the
 * order of the steps. So lists are those of the CPU. */
#ifndef SUP_CUDA_UNTANGLE_LISTS_CUH
#define SUP_CUDA_UNTANGLE_LISTS_CUH

#include "cuda/untangle_find.cuh"
#include "cuda/prefix_sum.cuh"

enum { MOVE_THREADS = 512, MOVE_WARPS = MOVE_THREADS / 32 }; /* of the block that parts a character */
enum { NO_PATCH = -1, OPEN = -2 };
enum { NONE = -1, END = -2 }; /* no vertex; no further one */
enum { MOST_WALKS = 64 };     /* of a character: take_turns */

/* Lengths of the lists. */
struct part_counts {
    int list, known, patches, hits, pairs, dirty, joins, moved;
    int walks; /* so far: later ones win the turns of all before them */
};

enum { PATCH = 300 };        /* untangle.c */
enum { FLOOD_SLOTS = 1024 }; /* PATCH, and a vertex each of the threads, at most */

/* What one step after the other needs in fast memory. */
union part_scratch {
    struct {
        int vertex[FLOOD_SLOTS], turn[FLOOD_SLOTS]; /* a table of those that it came to, and when */
        int2 edges[PATCH + 1];                      /* of those in the queue: the first, and past the last */
    } flood;                                        /* untangle_patch.cuh */
    uint32_t bits[2048];                            /* untangle_edges.cuh: of places in the list */
    unsigned char done[MOVE_THREADS];               /* untangle_move.cuh: follow_all */
};

/* A character that a block parts, in shared memory. */
struct part_work {
    sup_untangle_view view;
    part_search search;        /* places as they are known */
    const unsigned char *held; /* of sup_gpu_untangle, as the next two */
    const float *coarse_rest, *gap;
    const int32_t *vertex_first, *vertex_clusters;
    const int32_t *touched; /* [coarse_count] collider that skin lies on, -1 for none; NULL without colliders */
    float *offset;          /* of the last frame */
    uint32_t *moved;        /* bits of vertices that were */
    sup_gpu_untangle_room r;
    uint32_t *bits; /* of places in the list: scratch.bits where they fit */
    part_counts counts;
    int2 joins[32]; /* untangle_edges.cuh: join_later */
    union {
        unsigned long long sums[MOVE_WARPS]; /* of scan_block */
        int groups[2 * MOVE_WARPS];          /* untangle_patch.cuh: count_firsts */
    };
    part_scratch scratch;
};

/* Whether skin must not move there: painted rigid, or on a collider. */
static __device__ bool is_held(const part_work &w, int coarse)
{
    return w.held[coarse] || (w.touched != NULL && w.touched[coarse] >= 0);
}

static __device__ int lane_of()
{
    return (int)(threadIdx.x % 32);
}

static __device__ unsigned lanes_before()
{
    return (1u << lane_of()) - 1u;
}

/* A vertex is known before anything else is asked of it. What nothing is known of is where it came. */
static __device__ void load_vertex(const part_work &w, int v, float4 from, float4 x)
{
    sup_gpu_untangle_vertex &to = w.r.vertex[v];
    to.from = from;
    to.x = to.best = x;
    to.move = to.way = make_float4(0.0f, 0.0f, 0.0f, 0.0f);
    to.patch = NO_PATCH;
    to.parent = v;
    to.hits = to.best_hits = to.sum = to.best_sum = to.at = to.pad = 0;
}

/* --- Walks --- */

/* Calls f(v, state) for the vertices of group g of `items` that it is the first to want: in turn, AT_ONCE on the way at a time. `key` 0: all
 * are different. */
template <int AT_ONCE, typename Items, typename F>
static __device__ void for_own(const part_work &w, const Items &items, int g, unsigned key, F f)
{
    for (int k = 0;; k += AT_ONCE) {
        int v[AT_ONCE];
        unsigned turn[AT_ONCE];
        int state[AT_ONCE]; /* of use where it is this group's turn: nobody else writes it then */
#pragma unroll
        for (int j = 0; j < AT_ONCE; j++)
            v[j] = items(g, k + j);
#pragma unroll
        for (int j = 0; j < AT_ONCE; j++) {
            turn[j] = v[j] >= 0 && key != 0 ? w.r.turn[v[j]] : key;
            state[j] = v[j] >= 0 ? w.r.state[v[j]] : 0;
        }
#pragma unroll
        for (int j = 0; j < AT_ONCE; j++)
            if (v[j] >= 0 && turn[j] == key) f(v[j], state[j]);
        if (v[AT_ONCE - 1] == END) return;
    }
}

/* The turns of a walk: the first of the groups that want a vertex has it. Returns the key of this thread's first group; each after it has
 * one less. */
template <int AT_ONCE, typename Items>
static __device__ unsigned take_turns(part_work &w, int groups, const Items &items)
{
    const unsigned last = ((unsigned)w.counts.walks + 1u) * (0xffffffffu / MOST_WALKS);
    for (int g = threadIdx.x; g < groups; g += MOVE_THREADS)
        for (int k = 0;; k += AT_ONCE) {
            int v[AT_ONCE];
#pragma unroll
            for (int j = 0; j < AT_ONCE; j++)
                v[j] = items(g, k + j);
#pragma unroll
            for (int j = 0; j < AT_ONCE; j++)
                if (v[j] >= 0) atomicMax(&w.r.turn[v[j]], last - 1u - (unsigned)g);
            if (v[AT_ONCE - 1] == END) break;
        }
    __syncthreads();
    if (threadIdx.x == 0) w.counts.walks++;
    return last - 1u - threadIdx.x;
}

/* Adds the vertices of `groups` groups, which have a key each, to those that are known and, where `moves`, to those that are
 * moved in this round. By the block. */
template <int AT_ONCE, typename Items>
static __device__ void append_own(part_work &w, int groups, bool moves, const Items &items, unsigned key)
{
    typedef unsigned long long both; /* the higher half counts what was not known, the lower one what was not moved */
    const int begin[2] = {w.counts.known, w.counts.list}, flags = moves ? KNOWN | LISTED : KNOWN;
    both before = 0;
    for (int base = 0; base < groups; base += MOVE_THREADS) {
        const int g = base + (int)threadIdx.x;
        const unsigned own = key != 0 ? key - (unsigned)base : 0u;
        both mine = 0, all;
        if (g < groups)
            for_own<AT_ONCE>(w, items, g, own, [&](int, int state) {
                const int lacks = flags & ~state;
                mine += (both)(lacks & KNOWN ? 1 : 0) << 32 | (lacks & LISTED ? 1 : 0);
            });
        const both at = before + scan_block<MOVE_THREADS>(mine, w.sums, all);
        int known = begin[0] + (int)(at >> 32), list = begin[1] + (int)at;
        if (mine != 0)
            for_own<AT_ONCE>(w, items, g, own, [&](int v, int state) {
                const int lacks = flags & ~state;
                if ((lacks & KNOWN) && known < w.view.vertex_count) {
                    const float4 from = came_from(w.search.places, v);
                    w.r.known[known++] = v;
                    load_vertex(w, v, from, from);
                }
                if ((lacks & LISTED) && list < w.view.vertex_count) {
                    w.r.vertex[v].at = list;
                    w.r.list[list++] = v;
                }
                w.r.state[v] = state | lacks;
            });
        before += all;
    }
    __syncthreads();
    if (threadIdx.x == 0) {
        w.counts.known = min(begin[0] + (int)(before >> 32), w.view.vertex_count);
        w.counts.list = min(begin[1] + (int)before, w.view.vertex_count);
    }
    __syncthreads();
}

/* The same in the order of the groups and of what is in them, each vertex once. items(g, k): vertex number k of group g, NONE, or END;
 * those of one group are different. */
template <int AT_ONCE, typename Items>
static __device__ void append(part_work &w, int groups, bool moves, const Items &items)
{
    const unsigned key = take_turns<AT_ONCE>(w, groups, items);
    append_own<AT_ONCE>(w, groups, moves, items, key);
}

/* The least of the block's threads with `is`, MOVE_THREADS for none. */
static __device__ int first_thread(part_work &w, bool is)
{
    const unsigned mine = __ballot_sync(0xffffffffu, is);
    if (lane_of() == 0) w.sums[threadIdx.x / 32] = mine;
    __syncthreads();
    const unsigned theirs = lane_of() < MOVE_WARPS ? (unsigned)w.sums[lane_of()] : 0u;
    const unsigned some = __ballot_sync(0xffffffffu, theirs != 0);
    const int warp = some != 0 ? __ffs((int)some) - 1 : 0;
    const unsigned bits = __shfl_sync(0xffffffffu, theirs, warp);
    __syncthreads();
    return some != 0 ? 32 * warp + __ffs((int)bits) - 1 : MOVE_THREADS;
}

/* --- What hangs together: it is moved, or left, as a whole --- */

/* The least vertex of its cluster, or of what was its cluster a moment ago. */
static __device__ int cluster_of(const part_work &w, int v)
{
    for (;;) {
        const int parent = w.r.vertex[v].parent;
        if (parent == v) return v;
        const int above = w.r.vertex[parent].parent;
        if (above != parent) w.r.vertex[v].parent = above;
        v = above;
    }
}

/* Whoever joins what at the same time: the least vertex comes to stand for all. */
static __device__ void join(const part_work &w, int a, int b)
{
    int x = w.r.vertex[a].parent, y = w.r.vertex[b].parent;
    if (x == y) return;
    x = cluster_of(w, x);
    y = cluster_of(w, y);
    while (x != y) {
        const int low = min(x, y), high = max(x, y), parent = atomicCAS(&w.r.vertex[high].parent, high, low);
        if (parent == high) return;
        x = low;
        y = cluster_of(w, parent); /* less than `high`: this ends */
    }
}

/* --- Edges --- */

/* The edges of a vertex among the view's neighbours: the first, and past the last. */
static __device__ int2 edges_of(const part_work &w, int v)
{
    return make_int2(w.view.neighbour_first[v], w.view.neighbour_first[v + 1]);
}

/* Calls f(v, neighbour) for the edges of list[begin, end), eight of a vertex side by side; those of the next vertex are on the way
 * meanwhile. By the block. */
template <typename F> static __device__ void for_edges(const part_work &w, int begin, int end, F f)
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

/* part_lists.cuh (internal) - lists of vertices of the shown skin that are parted, and what hangs together.
 *
 * The CPU (methods/projective/part_skin.c) goes through them one by one, and what it comes to depends on the order. Here a warp
 * takes 32 steps of such a walk at a time: its threads are in the order of the CPU's loop, of threads with the same vertex
 * the first one counts, and lists grow in the order of the threads. So lists are those of the CPU. */
#ifndef SUP_CUDA_PART_LISTS_CUH
#define SUP_CUDA_PART_LISTS_CUH

#include "cuda/part_find.cuh"

enum { NO_PATCH = -1, OPEN = -2 };

/* Lengths of the lists, in shared memory. */
struct part_counts {
    int list, known, loaded, patches, hits, pairs, moved, torn;
};

/* A character that a block parts. */
struct part_work {
    const sup_gpu_part *g;
    const sup_part_view *view;
    part_places places; /* as they are loaded */
    const float *offset;
    const int32_t *touched; /* [coarse_count] collider that skin lies on, -1 for none; NULL without colliders */
    float keep;
    int32_t *active;
    int active_count;
    float4 *boxes;
    unsigned long long *pairs;
    sup_gpu_part_room r;
    part_counts *counts;
};

/* Whether skin must not move there: painted rigid, or on a collider. */
static __device__ bool is_held(const part_work &w, int coarse)
{
    return w.g->held[coarse] || (w.touched != NULL && w.touched[coarse] >= 0);
}

static __device__ int lane_of()
{
    return (int)(threadIdx.x % 32);
}

static __device__ unsigned lanes_before()
{
    return (1u << lane_of()) - 1u;
}

/* Every vertex is loaded before anything else is asked of it. Threads that load the same one at a time write the same; who
 * looks at it waits for all of them first. */
static __device__ void load_vertex(const part_work &w, int v)
{
    if (w.r.state[v] & LOADED) return;
    sup_gpu_part_vertex &to = w.r.vertex[v];
    const float4 none = make_float4(0.0f, 0.0f, 0.0f, 0.0f);
    to.from = came_from(w.places, v);
    to.x = w.offset != NULL ? add_scaled(to.from, w.keep, get(w.offset + 3 * (size_t)v)) : to.from;
    to.best = to.move = to.way = none;
    to.patch = NO_PATCH;
    to.parent = v;
    to.hits = to.best_hits = to.sum = to.best_sum = to.at = to.pad = 0;
    if (!(atomicOr(&w.r.state[v], LOADED) & LOADED)) w.r.loaded[atomicAdd(&w.counts->loaded, 1)] = v;
}

/* Adds vertices to a list in the order of the threads, each once, by a warp; v < 0: none. Those with `flag` are on it. Returns
 * the place that a thread's own vertex got, -1 where it was on it before. */
static __device__ int append(const part_work &w, int32_t *list, int *count, int flag, int v)
{
    const unsigned all = 0xffffffffu;
    const bool wanted = v >= 0 && !(w.r.state[v >= 0 ? v : 0] & flag);
    const unsigned same = __match_any_sync(all, wanted ? v : -1 - lane_of());
    const bool first = wanted && (same & lanes_before()) == 0;
    const unsigned added = __ballot_sync(all, first);
    const int begin = *count, at = begin + __popc(added & lanes_before());
    if (first) {
        list[at] = v;
        w.r.state[v] |= flag;
    }
    __syncwarp();
    if (lane_of() == 0) *count = begin + __popc(added);
    __syncwarp();
    return first ? at : -1;
}

/* From now on their places count. */
static __device__ void know(const part_work &w, int v)
{
    if (v >= 0) load_vertex(w, v);
    __syncwarp();
    if (append(w, w.r.known, &w.counts->known, KNOWN, v) >= 0) w.r.vertex[v].best = w.r.vertex[v].x;
    __syncwarp();
}

/* They are moved in this round. */
static __device__ void enlist(const part_work &w, int v)
{
    know(w, v);
    const int at = append(w, w.r.list, &w.counts->list, LISTED, v);
    if (at >= 0) w.r.vertex[v].at = at;
    __syncwarp();
}

/* --- What hangs together: it is moved, or left, as a whole --- */

/* The least vertex of its cluster, whoever joined it when. */
static __device__ int cluster_of(const part_work &w, int v)
{
    for (;;) {
        const int parent = *(volatile int32_t *)&w.r.vertex[v].parent;
        if (parent == v) return v;
        const int above = *(volatile int32_t *)&w.r.vertex[parent].parent;
        if (above != parent) *(volatile int32_t *)&w.r.vertex[v].parent = above;
        v = above;
    }
}

static __device__ void join(const part_work &w, int a, int b)
{
    for (;;) {
        const int x = cluster_of(w, a), y = cluster_of(w, b), low = min(x, y), high = max(x, y);
        if (low == high || atomicCAS(&w.r.vertex[high].parent, high, low) == high) return;
    }
}

/* --- Edges in turn --- */

/* Where a walk over the edges of a list's vertices is. */
struct edge_walk {
    int at;   /* in the list */
    int edge; /* of that vertex, from its first on */
};

/* The next edges of the vertices list[walk.at, end), one for each thread, in order: four vertices at a time, one where it has more
 * than eight. *from, *edge: of the thread's own, -1 for none; *turn: which of the vertices. */
static __device__ void next_edges(const part_work &w, const int32_t *list, int end, edge_walk &walk, int &from,
                                  int &edge, int &turn)
{
    const int32_t *first = w.view->neighbour_first;
    const int lane = lane_of(), own = walk.at + lane / 8;
    int v = own < end ? list[own] : -1, begin = v >= 0 ? first[v] : 0, degree = v >= 0 ? first[v + 1] - begin : 0;
    const unsigned wide = __ballot_sync(0xffffffffu, degree > 8);
    turn = lane / 8;
    if (walk.edge > 0 || (wide & 0xffu) != 0) { /* the first one alone */
        v = __shfl_sync(0xffffffffu, v, 0);
        begin = __shfl_sync(0xffffffffu, begin, 0);
        degree = __shfl_sync(0xffffffffu, degree, 0);
        const int k = walk.edge + lane;
        turn = 0;
        from = k < degree ? v : -1;
        edge = k < degree ? begin + k : -1;
        walk.edge = walk.edge + 32 < degree ? walk.edge + 32 : 0;
        walk.at += walk.edge == 0;
        return;
    }
    const int taken = wide != 0 ? (__ffs((int)wide) - 1) / 8 : 4;
    const bool has = turn < taken && lane % 8 < degree;
    from = has ? v : -1;
    edge = has ? begin + lane % 8 : -1;
    walk.at += min(taken, end - walk.at);
}

/* Neighbours of list[begin, end) are loaded, by the whole block. */
static __device__ void load_around(const part_work &w, int begin, int end)
{
    for (int i = begin + (int)threadIdx.x; i < end; i += PART_THREADS)
        for (int e = w.view->neighbour_first[w.r.list[i]]; e < w.view->neighbour_first[w.r.list[i] + 1]; e++)
            load_vertex(w, w.view->neighbours[e]);
    __syncthreads();
}

#endif

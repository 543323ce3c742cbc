/* untangle_edges.cuh (internal) - edges at what was moved are made no longer than they may be: untangle/untangle.c.
 *
 * The CPU sweeps over the edges in the order of a list, and each is shortened with what those before it left. Here the block looks which are too
 * long, and a warp goes through the vertices of those alone; what that moves is looked at again at once. */
#ifndef SUP_CUDA_UNTANGLE_EDGES_CUH
#define SUP_CUDA_UNTANGLE_EDGES_CUH

#include "cuda/untangle_lists.cuh"

/* As in untangle.c, where they are explained. */
#define LONGEST 1.3f
#define MOST_STRETCH 2.0f
#define HEAVY 0.25f

/* An end of an edge. */
struct edge_end {
    float4 x, from, rest;
    float most; /* of what was asked of it */
    int state, coarse;
};

static __device__ edge_end end_at(const part_work &w, int v)
{
    /* All at once: what is not known has nothing there, but need not wait for that. */
    const sup_gpu_untangle_vertex &vertex = w.r.vertex[v];
    edge_end end = {vertex.x,     vertex.from,  get(w.view.rest + 3 * (size_t)v),
                    vertex.way.w, w.r.state[v], w.view.coarse[v]};
    if (end.state & KNOWN) return end;
    end.x = end.from = came_from(w.search.places, v);
    end.most = 0.0f;
    return end;
}

/* How much of what an edge is too long an end takes, by that of the other one. */
static __device__ float give_of(const part_work &w, const edge_end &end)
{
    return is_held(w, end.coarse) ? 0.0f : end.most > 0.0f ? HEAVY : 1.0f;
}

/* Whether an edge is too long; then the part of it that is too much, by what both ends give. */
static __device__ bool is_long(const part_work &w, const edge_end &a, const edge_end &b, float &way)
{
    const float4 d = minus(b.x, a.x), from = minus(a.from, b.from), rest = minus(a.rest, b.rest);
    const float square = dot(d, d), rest2 = dot(rest, rest);
    const float most = fminf(LONGEST * LONGEST * fmaxf(dot(from, from), rest2), MOST_STRETCH * MOST_STRETCH * rest2);
    if (!(square > 1.001f * most)) return false;
    const float sum = give_of(w, a) + give_of(w, b);
    way = (1.0f - sqrtf(most / square)) / sum;
    return sum > 0.0f;
}

/* The edge between a vertex of the list and another one, if it is too long, is to be seen to: from the lesser end if both are listed. Returns
 * whether it is. */
static __device__ bool look_at(const part_work &w, int v, int other)
{
    const edge_end a = end_at(w, v), b = end_at(w, other);
    float way;
    if (!is_long(w, a, b, way)) return false;
    const int at = w.r.vertex[(b.state & LISTED) && other < v ? other : v].at;
    atomicOr(&w.bits[at / 32], 1u << at % 32);
    return true;
}

/* The ends of edges that were shortened come to the list, in the order of the threads; `x`: where they are now. By a warp. */
static __device__ void enlist_ends(part_work &w, int v, bool shortened, const edge_end &end)
{
    const bool knows = shortened && !(end.state & KNOWN), lists = shortened && !(end.state & LISTED);
    const unsigned known = __ballot_sync(0xffffffffu, knows), list = __ballot_sync(0xffffffffu, lists);
    const int at[2] = {w.counts.known + __popc(known & lanes_before()), w.counts.list + __popc(list & lanes_before())};
    if (knows) {
        w.r.known[min(at[0], w.view.vertex_count - 1)] = v;
        load_vertex(w, v, end.from, end.from);
    }
    if (lists) {
        w.r.list[min(at[1], w.view.vertex_count - 1)] = v;
        w.r.vertex[v].at = min(at[1], w.view.vertex_count - 1);
        w.r.state[v] = end.state | KNOWN | LISTED;
    }
    if (shortened) w.r.vertex[v].x = end.x;
    __syncwarp();
    if (lane_of() == 0) {
        w.counts.known = min(w.counts.known + __popc(known), w.view.vertex_count);
        w.counts.list = min(w.counts.list + __popc(list), w.view.vertex_count);
    }
    __syncwarp();
}

/* Clusters have time until the sweeps are over. By a warp: join_now joins them. */
static __device__ void join_now(part_work &w)
{
    const int count = w.counts.joins;
    if (lane_of() < count) join(w, w.joins[lane_of()].x, w.joins[lane_of()].y);
    __syncwarp();
    if (lane_of() == 0) w.counts.joins = 0;
    __syncwarp();
}

static __device__ void join_later(part_work &w, int v, bool shortened, int other)
{
    const unsigned some = __ballot_sync(0xffffffffu, shortened);
    if (w.counts.joins + __popc(some) > 32) join_now(w);
    const int begin = w.counts.joins;
    if (shortened) w.joins[begin + __popc(some & lanes_before())] = make_int2(v, other);
    __syncwarp();
    if (lane_of() == 0) w.counts.joins = begin + __popc(some);
    __syncwarp();
}

/* Edges of vertices that were moved are looked at: v, and those of the threads with `moved`. By a warp. */
static __device__ void look_around(part_work &w, int v, bool moved, int other)
{
    enum { LANES = 8 };
    for (unsigned rest = __ballot_sync(0xffffffffu, moved), begin = 1; begin != 0 || rest != 0; begin = 0) {
        int own = begin && lane_of() < LANES ? v : (int)NONE; /* whose edges this thread looks at */
        for (int group = (int)begin; group < 32 / LANES && rest != 0; group++, rest &= rest - 1) {
            const int next = __shfl_sync(0xffffffffu, other, __ffs((int)rest) - 1);
            if (lane_of() / LANES == group) own = next;
        }
        const int last = own >= 0 ? w.view.neighbour_first[own + 1] : 0;
        for (int e = own >= 0 ? w.view.neighbour_first[own] + lane_of() % LANES : 0; e < last; e += LANES)
            look_at(w, own, w.view.neighbours[e]);
    }
    __syncwarp();
}

/* The edges of a listed vertex, in turn, by a warp. Returns whether one was too long. */
static __device__ bool shorten_edges(part_work &w, int v)
{
    const unsigned all = 0xffffffffu;
    bool any = false;
    edge_end a = end_at(w, v);
    for (int base = w.view.neighbour_first[v], last = w.view.neighbour_first[v + 1]; base < last; base += 32) {
        const int other = base + lane_of() < last ? w.view.neighbours[base + lane_of()] : (int)NONE;
        edge_end b = end_at(w, other >= 0 ? other : v);
        const bool own = other >= 0 && !((b.state & LISTED) && other < v); /* it is seen to from v */
        bool shortened = false;
        for (int from = 0;;) {
            float way = 0.0f;
            const unsigned some = __ballot_sync(all, own && lane_of() >= from && is_long(w, a, b, way));
            if (some == 0) break;
            const int lane = __ffs((int)some) - 1;
            float4 x = a.x;
            if (lane_of() == lane) {
                const float4 d = minus(b.x, a.x);
                x = add_scaled(a.x, give_of(w, a) * way, d);
                b.x = add_scaled(b.x, -give_of(w, b) * way, d);
                shortened = true;
            }
            a.x = make_float4(__shfl_sync(all, x.x, lane), __shfl_sync(all, x.y, lane), __shfl_sync(all, x.z, lane),
                              0.0f);
            from = lane + 1;
        }
        if (__ballot_sync(all, shortened) == 0) continue;
        enlist_ends(w, other, shortened, b);
        if (lane_of() == 0) w.r.vertex[v].x = a.x;
        join_later(w, v, shortened, other);
        look_around(w, v, shortened, other);
        any = true;
    }
    return any;
}

/* The next place of the list from `at` on whose edges are to be looked at, by a warp; -1: none. */
static __device__ int next_place(const part_work &w, int at)
{
    for (int word = at / 32, count = (w.counts.list + 31) / 32; word < count; word += 32) {
        const int own = word + lane_of();
        unsigned bits = own < count ? w.bits[own] : 0u;
        if (own == at / 32) bits &= ~((1u << at % 32) - 1u);
        const unsigned some = __ballot_sync(0xffffffffu, bits != 0);
        if (some == 0) continue;
        const int lane = __ffs((int)some) - 1;
        return 32 * (word + lane) + __ffs((int)__shfl_sync(0xffffffffu, bits, lane)) - 1;
    }
    return -1;
}

/* Sweeps over the edges in the order of the list, by a warp. */
static __device__ void sweep_edges(part_work &w, int sweeps)
{
    bool any = true;
    for (int sweep = 0; sweep < sweeps && any; sweep++) {
        any = false;
        for (int at = next_place(w, 0); at >= 0; at = next_place(w, at + 1)) {
            __syncwarp(); /* all have looked before anyone writes there */
            if (lane_of() == 0) w.bits[at / 32] &= ~(1u << at % 32);
            __syncwarp();
            any = shorten_edges(w, w.r.list[at]) || any;
        }
    }
    join_now(w);
}

/* The skin around comes along, as far as it has to. By the block. */
static __device__ void limit_edges(part_work &w, int sweeps)
{
    const int words = (w.view.vertex_count + 31) / 32;
    bool any = false;
    for (int i = threadIdx.x; i < words; i += MOVE_THREADS)
        w.bits[i] = 0;
    __syncthreads();
    for_edges(w, 0, w.counts.list, [&](int v, int other) { any = look_at(w, v, other) || any; });
    if (!__syncthreads_or(any)) return;
    if (threadIdx.x < 32) sweep_edges(w, sweeps);
    __syncthreads();
}

#endif

/* untangle_edges.cuh (internal) - limits the length of edges at moved vertices: untangle/untangle.c on the device.
 *
 * The CPU sweeps over the edges in the order of a list, each with the results of earlier ones. Here the block finds
 * the edges that are too long, and one warp processes the vertices of those in order; edges of vertices that it moves
 * are checked again. */
#ifndef SUP_CUDA_UNTANGLE_EDGES_CUH
#define SUP_CUDA_UNTANGLE_EDGES_CUH

#include "cuda/untangle_lists.cuh"

/* An end of an edge. */
struct edge_end {
    float4 x, start, rest;
    float longest; /* requested displacement */
    int state, coarse;
};

static __device__ edge_end end_at(const untangle_work &w, int v)
{
    /* All loads in flight at once, also for vertices that turn out not to be known. */
    const sup_gpu_untangle_vertex &vertex = w.r.vertex[v];
    edge_end end = {vertex.x,      vertex.start, get(w.view.rest + 3 * (size_t)v),
                    vertex.push.w, w.r.state[v], w.view.coarse[v]};
    if (end.state & SUP_UNTANGLE_KNOWN) return end;
    end.x = end.start = start_of(w.search.positions, v);
    end.longest = 0.0f;
    return end;
}

static __device__ float mobility_of(const untangle_work &w, const edge_end &end)
{
    return sup_untangle_mobility(is_fixed(w, end.coarse), end.longest > 0.0f);
}

/* Whether an edge is too long and can be shortened; then the excess fraction for each unit of mobility. */
static __device__ bool is_long(const untangle_work &w, const edge_end &a, const edge_end &b, float &push)
{
    const float4 d = minus(b.x, a.x), start = minus(a.start, b.start), rest = minus(a.rest, b.rest);
    const float square = dot(d, d);
    const float longest = sup_untangle_max_edge2(dot(start, start), dot(rest, rest));
    if (!sup_untangle_is_long(square, longest)) return false;
    const float sum = mobility_of(w, a) + mobility_of(w, b);
    push = sup_untangle_excess(square, longest, sum);
    return sum > 0.0f;
}

/* Marks an edge between a listed vertex and another one for shortening if it is too long: at the smaller end if both
 * are listed. Returns whether it is too long. */
static __device__ bool check_edge(const untangle_work &w, int v, int other)
{
    const edge_end a = end_at(w, v), b = end_at(w, other);
    float push;
    if (!is_long(w, a, b, push)) return false;
    const int at = w.r.vertex[(b.state & SUP_UNTANGLE_LISTED) && other < v ? other : v].at;
    atomicOr(&w.bits[at / 32], 1u << at % 32);
    return true;
}

/* Appends the ends of shortened edges to the list, in the order of the threads, with their positions. By a warp. */
static __device__ void enlist_ends(untangle_work &w, int v, bool shortened, const edge_end &end)
{
    const bool knows = shortened && !(end.state & SUP_UNTANGLE_KNOWN),
               lists = shortened && !(end.state & SUP_UNTANGLE_LISTED);
    const unsigned known = __ballot_sync(0xffffffffu, knows), list = __ballot_sync(0xffffffffu, lists);
    const int at[2] = {w.counts.known + __popc(known & lanes_before()), w.counts.list + __popc(list & lanes_before())};
    if (knows) {
        w.r.known[min(at[0], w.view.vertex_count - 1)] = v;
        load_vertex(w, v, end.start, end.start);
    }
    if (lists) {
        w.r.list[min(at[1], w.view.vertex_count - 1)] = v;
        w.r.vertex[v].at = min(at[1], w.view.vertex_count - 1);
        w.r.state[v] = end.state | SUP_UNTANGLE_KNOWN | SUP_UNTANGLE_LISTED;
    }
    if (shortened) w.r.vertex[v].x = end.x;
    __syncwarp();
    if (lane_of() == 0) {
        w.counts.known = min(w.counts.known + __popc(known), w.view.vertex_count);
        w.counts.list = min(w.counts.list + __popc(list), w.view.vertex_count);
    }
    __syncwarp();
}

/* Joins of components are queued until the sweeps are over, or the queue is full. By a warp. */
static __device__ void apply_joins(untangle_work &w)
{
    const int count = w.counts.joins;
    if (lane_of() < count) join(w, w.joins[lane_of()].x, w.joins[lane_of()].y);
    __syncwarp();
    if (lane_of() == 0) w.counts.joins = 0;
    __syncwarp();
}

static __device__ void queue_join(untangle_work &w, int v, bool shortened, int other)
{
    const unsigned some = __ballot_sync(0xffffffffu, shortened);
    if (w.counts.joins + __popc(some) > 32) apply_joins(w);
    const int begin = w.counts.joins;
    if (shortened) w.joins[begin + __popc(some & lanes_before())] = make_int2(v, other);
    __syncwarp();
    if (lane_of() == 0) w.counts.joins = begin + __popc(some);
    __syncwarp();
}

/* Checks the edges of moved vertices: v, and those of the threads with `moved`. By a warp. */
static __device__ void check_around(untangle_work &w, int v, bool moved, int other)
{
    enum { LANES = 8 };
    for (unsigned rest = __ballot_sync(0xffffffffu, moved), begin = 1; begin != 0 || rest != 0; begin = 0) {
        int own = begin && lane_of() < LANES ? v : (int)NONE; /* vertex whose edges this thread checks */
        for (int group = (int)begin; group < 32 / LANES && rest != 0; group++, rest &= rest - 1) {
            const int next = __shfl_sync(0xffffffffu, other, __ffs((int)rest) - 1);
            if (lane_of() / LANES == group) own = next;
        }
        const int last = own >= 0 ? w.view.neighbour_first[own + 1] : 0;
        for (int e = own >= 0 ? w.view.neighbour_first[own] + lane_of() % LANES : 0; e < last; e += LANES)
            check_edge(w, own, w.view.neighbours[e]);
    }
    __syncwarp();
}

/* Shortens the edges of a listed vertex in order, by a warp. Returns whether one was too long. */
static __device__ bool shorten_edges(untangle_work &w, int v)
{
    const unsigned all = 0xffffffffu;
    bool any = false;
    edge_end a = end_at(w, v);
    for (int base = w.view.neighbour_first[v], last = w.view.neighbour_first[v + 1]; base < last; base += 32) {
        const int other = base + lane_of() < last ? w.view.neighbours[base + lane_of()] : (int)NONE;
        edge_end b = end_at(w, other >= 0 ? other : v);
        const bool own =
            other >= 0 && !((b.state & SUP_UNTANGLE_LISTED) && other < v); /* this edge is processed at v */
        bool shortened = false;
        for (int start = 0;;) {
            float push = 0.0f;
            const unsigned some = __ballot_sync(all, own && lane_of() >= start && is_long(w, a, b, push));
            if (some == 0) break;
            const int lane = __ffs((int)some) - 1;
            float4 x = a.x;
            if (lane_of() == lane) {
                const float4 d = minus(b.x, a.x);
                x = add_scaled(a.x, mobility_of(w, a) * push, d);
                b.x = add_scaled(b.x, -mobility_of(w, b) * push, d);
                shortened = true;
            }
            a.x = make_float4(__shfl_sync(all, x.x, lane), __shfl_sync(all, x.y, lane), __shfl_sync(all, x.z, lane),
                              0.0f);
            start = lane + 1;
        }
        if (__ballot_sync(all, shortened) == 0) continue;
        enlist_ends(w, other, shortened, b);
        if (lane_of() == 0) w.r.vertex[v].x = a.x;
        queue_join(w, v, shortened, other);
        check_around(w, v, shortened, other);
        any = true;
    }
    return any;
}

/* The next slot of the list from `at` on with marked edges, by a warp; -1: none. */
static __device__ int next_slot(const untangle_work &w, int at)
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
static __device__ void sweep_edges(untangle_work &w, int sweeps)
{
    bool any = true;
    for (int sweep = 0; sweep < sweeps && any; sweep++) {
        any = false;
        for (int at = next_slot(w, 0); at >= 0; at = next_slot(w, at + 1)) {
            __syncwarp(); /* all threads read before one writes */
            if (lane_of() == 0) w.bits[at / 32] &= ~(1u << at % 32);
            __syncwarp();
            any = shorten_edges(w, w.r.list[at]) || any;
        }
    }
    apply_joins(w);
}

/* Shortens edges of moved vertices; neighbours are moved and listed as needed. By the block. */
static __device__ void limit_edges(untangle_work &w, int sweeps)
{
    const int words = (w.view.vertex_count + 31) / 32;
    bool any = false;
    for (int i = threadIdx.x; i < words; i += MOVE_THREADS)
        w.bits[i] = 0;
    __syncthreads();
    for_edges(w, 0, w.counts.list, [&](int v, int other) { any = check_edge(w, v, other) || any; });
    if (!__syncthreads_or(any)) return;
    if (threadIdx.x < 32) sweep_edges(w, sweeps);
    __syncthreads();
}

#endif

/* untangle_move.cuh (internal) - what crosses is moved apart: untangle/untangle.c. All by the block.
 *
 * Skin around what is moved is seen to one vertex after the other, each with what those before it left. The same comes of it
 * here: those go on whose neighbours before them are done. */
#ifndef SUP_CUDA_UNTANGLE_MOVE_CUH
#define SUP_CUDA_UNTANGLE_MOVE_CUH

#include "cuda/untangle_patch.cuh"

#include <stddef.h>

/* As in untangle.c, where they are explained. */
enum { AROUND = 2 };
#define FARTHEST 6.0f
#define GAP_PART 0.03f
#define REACH 2.5f
#define FOLLOW 0.8f
#define KIN_GAPS 3.0f
#define FOLD_PUSH 0.2f
#define FOLD_SMOOTH 0.8f

static __device__ const int32_t *corners_of(const part_work &w, const sup_gpu_untangle_hit &hit)
{
    return w.view.triangles + 3 * (size_t)hit.triangle;
}

/* --- The best of all rounds --- */

/* What a hit touches: inner end, outer end, corners of the triangle. */
struct touched_items {
    const sup_gpu_untangle_hit *hits;
    const int32_t *triangles;

    __device__ int operator()(int g, int k) const
    {
        const sup_gpu_untangle_hit &hit = hits[g];
        return k == 0   ? hit.inside
               : k == 1 ? hit.outside
               : k < 5  ? triangles[3 * (size_t)hit.triangle + k - 2]
                        : (int)END;
    }
};

/* What hits touch is known and hangs together. */
static __device__ void know_hits(part_work &w)
{
    enum { JOINS = 4 };
    const touched_items items = {w.r.hits, w.view.triangles};
    append<6>(w, w.counts.hits, false, items);
    for (int i = threadIdx.x; i < JOINS * w.counts.hits; i += MOVE_THREADS) {
        const int inside = items(i / JOINS, 0);
        if (i % JOINS == 0) atomicAdd(&w.r.vertex[inside].hits, 1);
        join(w, inside, items(i / JOINS, 1 + i % JOINS));
    }
    __syncthreads();
}

/* Clusters that cross less than ever before keep their places. */
static __device__ void keep_best(part_work &w, bool first)
{
    for (int i = threadIdx.x; i < w.counts.known; i += MOVE_THREADS) {
        sup_gpu_untangle_vertex &vertex = w.r.vertex[w.r.known[i]];
        vertex.hits = vertex.sum = vertex.best_sum = 0;
    }
    __syncthreads();
    know_hits(w);
    const int known = w.counts.known;
    for (int i = threadIdx.x; i < known; i += MOVE_THREADS) {
        sup_gpu_untangle_vertex &vertex = w.r.vertex[w.r.known[i]];
        sup_gpu_untangle_vertex &root = w.r.vertex[cluster_of(w, w.r.known[i])];
        if (first) vertex.best_hits = vertex.hits;
        if (vertex.hits != 0) atomicAdd(&root.sum, vertex.hits);
        if (vertex.best_hits != 0) atomicAdd(&root.best_sum, vertex.best_hits);
    }
    __syncthreads();
    for (int i = threadIdx.x; i < known; i += MOVE_THREADS) {
        sup_gpu_untangle_vertex &vertex = w.r.vertex[w.r.known[i]];
        const sup_gpu_untangle_vertex &root = w.r.vertex[cluster_of(w, w.r.known[i])];
        if (root.sum >= root.best_sum) continue;
        vertex.best_hits = vertex.hits;
        vertex.best = vertex.x;
    }
    __syncthreads();
}

/* --- What is asked for --- */

/* What was asked of a vertex before, and the longest of it, and this. */
static __device__ float4 ask(float4 asked, float4 normal, float way)
{
    const float most = fmaxf(asked.w, fabsf(way));
    asked = add_scaled(asked, way, normal);
    asked.w = most;
    return asked;
}

/* Patches go to their planes as a whole, but for the share of what they are in. */
static __device__ void ask_patches(part_work &w)
{
    for (int i = threadIdx.x; i < w.counts.list; i += MOVE_THREADS) {
        sup_gpu_untangle_vertex &vertex = w.r.vertex[w.r.list[i]];
        if (vertex.patch < 0) continue;
        sup_gpu_untangle_patch &patch = w.r.patches[vertex.patch];
        if (!patch.deep || patch.left) continue;
        const float4 normal = get(patch.means + SUP_GPU_UNTANGLE_NORMAL);
        const float depth = dot(normal, minus(get(patch.means + SUP_GPU_UNTANGLE_POINT), vertex.x));
        if (!(depth > 0.0f)) continue;
        atomicMax(&patch.depth, __float_as_int(depth));
        const float gap = GAP_PART * patch.means[SUP_GPU_UNTANGLE_EDGE];
        vertex.way = ask(vertex.way, normal, (1.0f - patch.means[SUP_GPU_UNTANGLE_SHARE]) * (depth + gap));
    }
    __syncthreads();
}

/* Two places near each other along the skin: what crosses there is no contact but a fold that is too tight. */
static __device__ bool is_fold(const part_work &w, const sup_gpu_untangle_hit &hit)
{
    const int a = w.view.coarse[hit.inside], b = w.view.coarse[corners_of(w, hit)[0]];
    const float4 d = minus(get(w.coarse_rest + 3 * (size_t)a), get(w.coarse_rest + 3 * (size_t)b));
    const float most = KIN_GAPS * (w.gap[a] + w.gap[b]);
    return dot(d, d) < most * most;
}

/* What a hit asks of its end and of the corners of its triangle. */
static __device__ void set_asked(part_work &w, sup_gpu_untangle_hit &hit)
{
    const bool has = hit.patch >= 0;
    const sup_gpu_untangle_patch &patch = w.r.patches[has ? hit.patch : 0];
    const bool outer = has && patch.outer, deep = has && patch.deep, left = has && patch.left;
    const float share = hit.means[SUP_GPU_UNTANGLE_SHARE], edge = hit.means[SUP_GPU_UNTANGLE_EDGE], *b = hit.weight;
    float *normal = hit.means + SUP_GPU_UNTANGLE_NORMAL;
    for (int k = 0; k < 3; k++)
        normal[k] = deep ? patch.means[SUP_GPU_UNTANGLE_NORMAL + k] : outer ? -normal[k] : normal[k];
    const float end = fminf(outer ? hit.height : hit.depth, REACH * edge);
    const float depth = GAP_PART * edge + (deep ? __int_as_float(patch.depth) : end);
    hit.asks[0] = deep || left ? (int)NONE : outer ? hit.outside : hit.inside;
    hit.way[0] = (1.0f - share) * depth;
    for (int k = 0; k < 3; k++) {
        hit.asks[1 + k] = left ? (int)NONE : corners_of(w, hit)[k];
        hit.way[1 + k] = -share * depth * b[k] / (b[0] * b[0] + b[1] * b[1] + b[2] * b[2]);
    }
    hit.fold = !has && is_fold(w, hit);
    if (!hit.fold) return;
    atomicOr(&w.r.state[hit.inside], FOLD);
    atomicOr(&w.r.state[hit.outside], FOLD);
    for (int k = 0; k < 3; k++)
        atomicOr(&w.r.state[hit.asks[1 + k]], FOLD);
}

/* What hits ask of a vertex: those four, and in a fold only that its outer end is moved. */
struct asked_items {
    const sup_gpu_untangle_hit *hits;

    __device__ int operator()(int g, int k) const
    {
        const sup_gpu_untangle_hit &hit = hits[g];
        return k < 4 ? hit.asks[k] : k > 4 ? (int)END : hit.fold ? hit.outside : (int)NONE;
    }
};

static_assert(offsetof(sup_gpu_untangle_hit, asks) % 16 == 0 && sizeof(sup_gpu_untangle_hit) % 16 == 0, "four at a time");

/* In the order of the hits: also where several ask the same vertex. */
static __device__ void ask_hits(part_work &w)
{
    const int hits = w.counts.hits;
    for (int i = threadIdx.x; i < hits; i += MOVE_THREADS)
        set_asked(w, w.r.hits[i]);
    __syncthreads();
    append<6>(w, hits, true, asked_items{w.r.hits});
    for (int i = threadIdx.x; i < w.counts.list; i += MOVE_THREADS) {
        const int v = w.r.list[i];
        float4 way = w.r.vertex[v].way;
#pragma unroll 4
        for (int h = 0; h < hits; h++) { /* all threads look at the same one */
            const sup_gpu_untangle_hit &hit = w.r.hits[h];
            const int4 asks = *(const int4 *)hit.asks;
            if (asks.x != v && asks.y != v && asks.z != v && asks.w != v) continue;
            const int k = asks.x == v ? 0 : asks.y == v ? 1 : asks.z == v ? 2 : 3;
            way = ask(way, get(hit.means + SUP_GPU_UNTANGLE_NORMAL), hit.way[k]);
        }
        w.r.vertex[v].way = way;
    }
    __syncthreads();
}

/* --- Moves --- */

/* What all crossings together ask of a vertex, but no farther than one of them; folds are smoothed. */
static __device__ void set_moves(part_work &w)
{
    const int32_t *first = w.view.neighbour_first;
    for (int i = threadIdx.x; i < w.counts.list; i += MOVE_THREADS) {
        const int v = w.r.list[i];
        sup_gpu_untangle_vertex &vertex = w.r.vertex[v];
        const bool fold = (w.r.state[v] & FOLD) != 0;
        const float length = sqrtf(dot(vertex.way, vertex.way));
        float scale = fold ? FOLD_PUSH : 1.0f;
        if (length > vertex.way.w) scale *= vertex.way.w / length;
        const float4 none = make_float4(0.0f, 0.0f, 0.0f, 0.0f);
        float4 move = add_scaled(none, scale, vertex.way);
        if (fold) {
            float4 sum = none;
            for (int e = first[v]; e < first[v + 1]; e++)
                sum = add_scaled(sum, 1.0f, place_of(w.search.places, w.view.neighbours[e]));
            const float4 mean = add_scaled(none, 1.0f / (float)(first[v + 1] - first[v]), sum);
            move = add_scaled(move, FOLD_SMOOTH, minus(mean, vertex.x));
        }
        vertex.move = move;
    }
    __syncthreads();
}

/* Neighbours of what is in a list. */
struct around_items {
    const int32_t *list, *first, *neighbours;

    __device__ int operator()(int g, int k) const
    {
        const int v = list[g], e = first[v] + k;
        return e < first[v + 1] ? neighbours[e] : (int)END;
    }
};

/* Rings around what is moved. */
static __device__ void enlist_around(part_work &w)
{
    for (int ring = 0, begin = 0; ring < AROUND; ring++) {
        const int end = w.counts.list;
        append<9>(w, end - begin, true, around_items{w.r.list + begin, w.view.neighbour_first, w.view.neighbours});
        for_edges(w, begin, end, [&](int v, int next) { join(w, v, next); });
        begin = end;
        __syncthreads();
    }
}

/* The mean of what neighbours do: of those that are moved. The first of them, or NONE, are in `near`. */
template <int NEAR> static __device__ float4 mean_move(const part_work &w, const int *near, int begin, int end)
{
    float4 sum = make_float4(0.0f, 0.0f, 0.0f, 0.0f);
#pragma unroll
    for (int j = 0; j < NEAR; j++)
        if (near[j] >= 0) sum = add_scaled(sum, 1.0f, w.r.vertex[near[j]].move);
    for (int e = begin + NEAR; e < end; e++) {
        const int other = w.view.neighbours[e];
        if (w.r.state[other] & LISTED) sum = add_scaled(sum, 1.0f, w.r.vertex[other].move);
    }
    const float scale = FOLLOW / (float)(end - begin);
    return make_float4(scale * sum.x, scale * sum.y, scale * sum.z, 0.0f);
}

/* The rings from list[moved] on: a vertex after those of its neighbours that are before it in the list. */
static __device__ void follow_all(part_work &w, int moved)
{
    enum { NEAR = 8 };
    const int count = w.counts.list;
    volatile unsigned char *done = w.scratch.done;
    for (int base = moved; base < count; base += MOVE_THREADS) {
        const int i = base + (int)threadIdx.x, v = i < count ? w.r.list[i] : -1;
        const int begin = v >= 0 ? w.view.neighbour_first[v] : 0, end = v >= 0 ? w.view.neighbour_first[v + 1] : 0;
        int near[NEAR], before[NEAR]; /* the latter: place among those that go on at the same time, -1 for none */
#pragma unroll
        for (int j = 0; j < NEAR; j++)
            near[j] = begin + j < end ? w.view.neighbours[begin + j] : (int)NONE;
#pragma unroll
        for (int j = 0; j < NEAR; j++) {
            if (near[j] >= 0 && !(w.r.state[near[j]] & LISTED)) near[j] = NONE;
            const int at = near[j] >= 0 ? w.r.vertex[near[j]].at : -1;
            before[j] = at >= base && at < i ? at - base : -1;
        }
        bool waits = v >= 0;
        done[threadIdx.x] = 0;
        while (__syncthreads_or(waits)) {
            bool ready = waits;
#pragma unroll
            for (int j = 0; j < NEAR; j++)
                ready = ready && (before[j] < 0 || done[before[j]]);
            for (int e = begin + NEAR; e < end && ready; e++) {
                const int other = w.view.neighbours[e], at = w.r.vertex[other].at;
                ready = !(w.r.state[other] & LISTED) || at < base || at >= i || done[at - base];
            }
            __syncthreads();
            if (ready) {
                w.r.vertex[v].move = mean_move<NEAR>(w, near, begin, end);
                done[threadIdx.x] = 1;
                waits = false;
            }
        }
    }
}

/* By what was found, but never far from where it came. */
static __device__ void move_all(part_work &w)
{
    for (int i = threadIdx.x; i < w.counts.list; i += MOVE_THREADS) {
        const int coarse = w.view.coarse[w.r.list[i]];
        sup_gpu_untangle_vertex &vertex = w.r.vertex[w.r.list[i]];
        const float4 off = minus(add_scaled(vertex.x, 1.0f, vertex.move), vertex.from);
        const float length = sqrtf(dot(off, off)), most = is_held(w, coarse) ? 0.0f : FARTHEST * w.gap[coarse];
        vertex.x = add_scaled(vertex.from, length > most ? most / length : 1.0f, off);
        vertex.move = make_float4(0.0f, 0.0f, 0.0f, 0.0f);
        vertex.way.x = vertex.way.y = vertex.way.z = 0.0f;
    }
    __syncthreads();
}

#endif

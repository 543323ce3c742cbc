/* untangle_move.cuh (internal) - moves crossing skin apart: untangle/untangle.c on the device. All functions by the
 * block.
 *
 * The CPU processes the skin around moved vertices sequentially, each vertex with the results of earlier ones. Here a
 * vertex waits until its earlier neighbours are done: the result is the same. */
#ifndef SUP_CUDA_UNTANGLE_MOVE_CUH
#define SUP_CUDA_UNTANGLE_MOVE_CUH

#include "cuda/untangle_patch.cuh"

#include <stddef.h>

static __device__ const int32_t *corners_of(const untangle_work &w, const sup_gpu_untangle_crossing &crossing)
{
    return w.view.triangles + 3 * (size_t)crossing.triangle;
}

/* --- The best of all iterations --- */

/* Vertices of a crossing: inner end, outer end, corners of the triangle. */
struct crossing_items {
    const sup_gpu_untangle_crossing *crossings;
    const int32_t *triangles;

    __device__ int operator()(int g, int k) const
    {
        const sup_gpu_untangle_crossing &crossing = crossings[g];
        return k == 0   ? crossing.inside
               : k == 1 ? crossing.outside
               : k < 5  ? triangles[3 * (size_t)crossing.triangle + k - 2]
                        : (int)END;
    }
};

/* Vertices of a crossing become known and one component. */
static __device__ void add_crossing_vertices(untangle_work &w)
{
    enum { JOINS = 4 };
    const crossing_items items = {w.r.crossings, w.view.triangles};
    append<6>(w, w.counts.crossings, false, items);
    for (int i = threadIdx.x; i < JOINS * w.counts.crossings; i += MOVE_THREADS) {
        const int inside = items(i / JOINS, 0);
        if (i % JOINS == 0) atomicAdd(&w.r.vertex[inside].crossings, 1);
        join(w, inside, items(i / JOINS, 1 + i % JOINS));
    }
    __syncthreads();
}

/* Components that cross less than in all previous iterations store their positions. */
static __device__ void keep_best(untangle_work &w, bool first)
{
    for (int i = threadIdx.x; i < w.counts.known; i += MOVE_THREADS) {
        sup_gpu_untangle_vertex &vertex = w.r.vertex[w.r.known[i]];
        vertex.crossings = vertex.sum = vertex.best_sum = 0;
    }
    __syncthreads();
    add_crossing_vertices(w);
    const int known = w.counts.known;
    for (int i = threadIdx.x; i < known; i += MOVE_THREADS) {
        sup_gpu_untangle_vertex &vertex = w.r.vertex[w.r.known[i]];
        sup_gpu_untangle_vertex &root = w.r.vertex[component_of(w, w.r.known[i])];
        if (first) vertex.best_crossings = vertex.crossings;
        if (vertex.crossings != 0) atomicAdd(&root.sum, vertex.crossings);
        if (vertex.best_crossings != 0) atomicAdd(&root.best_sum, vertex.best_crossings);
    }
    __syncthreads();
    for (int i = threadIdx.x; i < known; i += MOVE_THREADS) {
        sup_gpu_untangle_vertex &vertex = w.r.vertex[w.r.known[i]];
        const sup_gpu_untangle_vertex &root = w.r.vertex[component_of(w, w.r.known[i])];
        if (root.sum >= root.best_sum) continue;
        vertex.best_crossings = vertex.crossings;
        vertex.best = vertex.x;
    }
    __syncthreads();
}

/* --- Displacements --- */

/* Adds a displacement to the sum of a vertex, whose w is the longest of them. */
static __device__ float4 add_push(float4 sum, float4 normal, float push)
{
    const float longest = fmaxf(sum.w, fabsf(push));
    sum = add_scaled(sum, push, normal);
    sum.w = longest;
    return sum;
}

/* Patches move to their planes as a whole, apart from the fraction that the other skin takes. */
static __device__ void push_patches(untangle_work &w)
{
    for (int i = threadIdx.x; i < w.counts.list; i += MOVE_THREADS) {
        sup_gpu_untangle_vertex &vertex = w.r.vertex[w.r.list[i]];
        if (vertex.patch < 0) continue;
        sup_gpu_untangle_patch &patch = w.r.patches[vertex.patch];
        if (!patch.deep || patch.skipped) continue;
        const float4 normal = get(patch.means + SUP_GPU_UNTANGLE_NORMAL);
        const float depth = dot(normal, minus(get(patch.means + SUP_GPU_UNTANGLE_POINT), vertex.x));
        if (!(depth > 0.0f)) continue;
        atomicMax(&patch.depth, __float_as_int(depth));
        vertex.push = add_push(
            vertex.push, normal,
            sup_untangle_patch_push(depth, patch.means[SUP_GPU_UNTANGLE_EDGE], patch.means[SUP_GPU_UNTANGLE_FRACTION]));
    }
    __syncthreads();
}

static __device__ bool is_fold(const untangle_work &w, const sup_gpu_untangle_crossing &crossing)
{
    const int a = w.view.coarse[crossing.inside], b = w.view.coarse[corners_of(w, crossing)[0]];
    const float4 d = minus(get(w.coarse_rest + 3 * (size_t)a), get(w.coarse_rest + 3 * (size_t)b));
    return sup_untangle_is_fold(dot(d, d), w.gap[a], w.gap[b]);
}

/* Displacements that a crossing requests of its end and of the corners of its triangle. */
static __device__ void set_pushes(untangle_work &w, sup_gpu_untangle_crossing &crossing)
{
    const bool has = crossing.patch >= 0;
    const sup_gpu_untangle_patch &patch = w.r.patches[has ? crossing.patch : 0];
    const bool outer = has && patch.outer, deep = has && patch.deep, skipped = has && patch.skipped;
    const float fraction = crossing.means[SUP_GPU_UNTANGLE_FRACTION], edge = crossing.means[SUP_GPU_UNTANGLE_EDGE],
                *b = crossing.weight;
    float *normal = crossing.means + SUP_GPU_UNTANGLE_NORMAL;
    for (int k = 0; k < 3; k++)
        normal[k] = deep ? patch.means[SUP_GPU_UNTANGLE_NORMAL + k] : outer ? -normal[k] : normal[k];
    const float end = sup_untangle_limit_depth(outer ? crossing.height : crossing.depth, edge);
    const float depth = sup_untangle_crossing_push(deep ? __int_as_float(patch.depth) : end, edge);
    crossing.targets[0] = deep || skipped ? (int)NONE : outer ? crossing.outside : crossing.inside;
    crossing.push[0] = (1.0f - fraction) * depth;
    for (int k = 0; k < 3; k++) {
        crossing.targets[1 + k] = skipped ? (int)NONE : corners_of(w, crossing)[k];
        crossing.push[1 + k] = -fraction * depth * b[k] / (b[0] * b[0] + b[1] * b[1] + b[2] * b[2]);
    }
    crossing.fold = !has && is_fold(w, crossing);
    if (!crossing.fold) return;
    atomicOr(&w.r.state[crossing.inside], SUP_UNTANGLE_FOLD);
    atomicOr(&w.r.state[crossing.outside], SUP_UNTANGLE_FOLD);
    for (int k = 0; k < 3; k++)
        atomicOr(&w.r.state[crossing.targets[1 + k]], SUP_UNTANGLE_FOLD);
}

/* Vertices that a crossing moves: those four, and in a fold its outer end. */
struct pushed_items {
    const sup_gpu_untangle_crossing *crossings;

    __device__ int operator()(int g, int k) const
    {
        const sup_gpu_untangle_crossing &crossing = crossings[g];
        return k < 4 ? crossing.targets[k] : k > 4 ? (int)END : crossing.fold ? crossing.outside : (int)NONE;
    }
};

static_assert(offsetof(sup_gpu_untangle_crossing, targets) % 16 == 0 && sizeof(sup_gpu_untangle_crossing) % 16 == 0,
              "loads of four");

/* In the order of the crossings, also where several push the same vertex. */
static __device__ void push_crossings(untangle_work &w)
{
    const int crossings = w.counts.crossings;
    for (int i = threadIdx.x; i < crossings; i += MOVE_THREADS)
        set_pushes(w, w.r.crossings[i]);
    __syncthreads();
    append<6>(w, crossings, true, pushed_items{w.r.crossings});
    for (int i = threadIdx.x; i < w.counts.list; i += MOVE_THREADS) {
        const int v = w.r.list[i];
        float4 push = w.r.vertex[v].push;
#pragma unroll 4
        for (int h = 0; h < crossings; h++) { /* all threads read the same one */
            const sup_gpu_untangle_crossing &crossing = w.r.crossings[h];
            const int4 targets = *(const int4 *)crossing.targets;
            if (targets.x != v && targets.y != v && targets.z != v && targets.w != v) continue;
            const int k = targets.x == v ? 0 : targets.y == v ? 1 : targets.z == v ? 2 : 3;
            push = add_push(push, get(crossing.means + SUP_GPU_UNTANGLE_NORMAL), crossing.push[k]);
        }
        w.r.vertex[v].push = push;
    }
    __syncthreads();
}

/* --- Moves --- */

/* The displacements that all crossings request of a vertex, combined; folds are smoothed. */
static __device__ void set_moves(untangle_work &w)
{
    const int32_t *first = w.view.neighbour_first;
    for (int i = threadIdx.x; i < w.counts.list; i += MOVE_THREADS) {
        const int v = w.r.list[i];
        sup_gpu_untangle_vertex &vertex = w.r.vertex[v];
        const bool fold = (w.r.state[v] & SUP_UNTANGLE_FOLD) != 0;
        const float scale = sup_untangle_push_scale(fold, sqrtf(dot(vertex.push, vertex.push)), vertex.push.w);
        const float4 none = make_float4(0.0f, 0.0f, 0.0f, 0.0f);
        float4 move = add_scaled(none, scale, vertex.push);
        if (fold) {
            float4 sum = none;
            for (int e = first[v]; e < first[v + 1]; e++)
                sum = add_scaled(sum, 1.0f, position_of(w.search.positions, w.view.neighbours[e]));
            const float4 mean = add_scaled(none, 1.0f / (float)(first[v + 1] - first[v]), sum);
            move = add_scaled(move, SUP_UNTANGLE_FOLD_SMOOTH, minus(mean, vertex.x));
        }
        vertex.move = move;
    }
    __syncthreads();
}

/* Neighbours of the vertices of a list. */
struct ring_items {
    const int32_t *list, *first, *neighbours;

    __device__ int operator()(int g, int k) const
    {
        const int v = list[g], e = first[v] + k;
        return e < first[v + 1] ? neighbours[e] : (int)END;
    }
};

/* Rings around moved vertices. */
static __device__ void enlist_rings(untangle_work &w)
{
    for (int ring = 0, begin = 0; ring < SUP_UNTANGLE_RINGS; ring++) {
        const int end = w.counts.list;
        append<9>(w, end - begin, true, ring_items{w.r.list + begin, w.view.neighbour_first, w.view.neighbours});
        for_edges(w, begin, end, [&](int v, int next) { join(w, v, next); });
        begin = end;
        __syncthreads();
    }
}

/* Mean displacement of the listed neighbours. The first of them, or NONE, are in `near`. */
template <int NEAR> static __device__ float4 mean_move(const untangle_work &w, const int *near, int begin, int end)
{
    float4 sum = make_float4(0.0f, 0.0f, 0.0f, 0.0f);
#pragma unroll
    for (int j = 0; j < NEAR; j++)
        if (near[j] >= 0) sum = add_scaled(sum, 1.0f, w.r.vertex[near[j]].move);
    for (int e = begin + NEAR; e < end; e++) {
        const int other = w.view.neighbours[e];
        if (w.r.state[other] & SUP_UNTANGLE_LISTED) sum = add_scaled(sum, 1.0f, w.r.vertex[other].move);
    }
    const float scale = SUP_UNTANGLE_FOLLOW / (float)(end - begin);
    return make_float4(scale * sum.x, scale * sum.y, scale * sum.z, 0.0f);
}

/* The rings from list[moved] on: a vertex after its neighbours that are earlier in the list. */
static __device__ void follow_rings(untangle_work &w, int moved)
{
    enum { NEAR = 8 };
    const int count = w.counts.list;
    volatile unsigned char *done = w.scratch.done;
    for (int base = moved; base < count; base += MOVE_THREADS) {
        const int i = base + (int)threadIdx.x, v = i < count ? w.r.list[i] : -1;
        const int begin = v >= 0 ? w.view.neighbour_first[v] : 0, end = v >= 0 ? w.view.neighbour_first[v + 1] : 0;
        int near[NEAR], earlier[NEAR]; /* the latter: index in this batch of threads, -1 for none */
#pragma unroll
        for (int j = 0; j < NEAR; j++)
            near[j] = begin + j < end ? w.view.neighbours[begin + j] : (int)NONE;
#pragma unroll
        for (int j = 0; j < NEAR; j++) {
            if (near[j] >= 0 && !(w.r.state[near[j]] & SUP_UNTANGLE_LISTED)) near[j] = NONE;
            const int at = near[j] >= 0 ? w.r.vertex[near[j]].at : -1;
            earlier[j] = at >= base && at < i ? at - base : -1;
        }
        bool waits = v >= 0;
        done[threadIdx.x] = 0;
        while (__syncthreads_or(waits)) {
            bool ready = waits;
#pragma unroll
            for (int j = 0; j < NEAR; j++)
                ready = ready && (earlier[j] < 0 || done[earlier[j]]);
            for (int e = begin + NEAR; e < end && ready; e++) {
                const int other = w.view.neighbours[e], at = w.r.vertex[other].at;
                ready = !(w.r.state[other] & SUP_UNTANGLE_LISTED) || at < base || at >= i || done[at - base];
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

/* Applies the moves, with a limited offset from the positions before untangling. */
static __device__ void move_all(untangle_work &w)
{
    for (int i = threadIdx.x; i < w.counts.list; i += MOVE_THREADS) {
        const int coarse = w.view.coarse[w.r.list[i]];
        sup_gpu_untangle_vertex &vertex = w.r.vertex[w.r.list[i]];
        const float4 off = minus(add_scaled(vertex.x, 1.0f, vertex.move), vertex.start);
        const float scale =
            sup_untangle_offset_scale(is_fixed(w, coarse), sqrtf(dot(off, off)), w.gap[coarse], w.view.size);
        vertex.x = add_scaled(vertex.start, scale, off);
        vertex.move = make_float4(0.0f, 0.0f, 0.0f, 0.0f);
        vertex.push.x = vertex.push.y = vertex.push.z = 0.0f;
    }
    __syncthreads();
}

#endif

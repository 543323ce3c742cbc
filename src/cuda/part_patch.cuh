/* part_patch.cuh (internal) - patches that skins which cross cut out of each other: methods/projective/part_skin.c. */
#ifndef SUP_CUDA_PART_PATCH_CUH
#define SUP_CUDA_PART_PATCH_CUH

#include "cuda/part_lists.cuh"

/* As in part_skin.c, where they are explained. */
enum { PATCH = 300 };
#define AGREE 0.6f
#define LEAST_AGREE 0.05f

/* Marks the edge of a hit, from both ends: patches end there. */
static __device__ void set_wall(const part_work &w, const sup_gpu_part_hit &hit, unsigned char wall)
{
    const int32_t *first = w.view->neighbour_first, *neighbours = w.view->neighbours;
    const int ends[2] = {hit.inside, hit.outside};
    for (int k = 0; k < 2; k++)
        for (int e = first[ends[k]]; e < first[ends[k] + 1]; e++)
            if (neighbours[e] == ends[1 - k]) w.r.wall[e] = wall;
}

/* All that is on the side of a vertex where an edge crosses, along edges that do not, by a warp. Returns how many; more than
 * PATCH: it does not end. */
static __device__ int flood(const part_work &w, int seed, int patch)
{
    const unsigned all = 0xffffffffu;
    int count = 1;
    if (lane_of() == 0) {
        w.r.queue[0] = seed;
        w.r.vertex[seed].patch = patch;
    }
    __syncwarp();
    for (edge_walk walk = {0, 0}; walk.at < count && (count <= PATCH || walk.edge > 0);) {
        int from, edge, turn;
        next_edges(w, w.r.queue, count, walk, from, edge, turn);
        const int next = edge >= 0 && !w.r.wall[edge] ? w.view->neighbours[edge] : -1;
        if (next >= 0) load_vertex(w, next);
        __syncwarp();
        const bool wanted = next >= 0 && w.r.vertex[next >= 0 ? next : 0].patch == NO_PATCH;
        const unsigned same = __match_any_sync(all, wanted ? next : -1 - lane_of());
        bool first = wanted && (same & lanes_before()) == 0;
        unsigned added = __ballot_sync(all, first);
        /* Vertices have no turn any more once there are too many. */
        first = first && (turn == 0 || count + __popc(added & ((1u << 8 * turn) - 1u)) <= PATCH);
        added = __ballot_sync(all, first);
        if (first) {
            w.r.vertex[next].patch = patch;
            w.r.queue[count + __popc(added & lanes_before())] = next;
        }
        count += __popc(added);
        __syncwarp();
    }
    return count;
}

/* The patch around a vertex, by a warp; `outer`: what is outside. */
static __device__ void make_patch(const part_work &w, int first, bool outer)
{
    const int side = outer ? OUTSIDE : SEED, number = w.counts->patches, count = flood(w, first, number);
    const bool closed = count <= PATCH && number < SUP_GPU_PART_PATCHES;
    bool deep = false;
    for (int base = 0; base < count; base += 32) {
        const int v = base + lane_of() < count ? w.r.queue[base + lane_of()] : -1;
        const bool seed = v >= 0 && (w.r.state[v] & side) != 0;
        deep = deep || (v >= 0 && !seed);
        if (!closed) {
            if (v >= 0) w.r.vertex[v].patch = seed ? OPEN : NO_PATCH;
            continue;
        }
        enlist(w, v);
        if (v >= 0) join(w, first, v);
    }
    deep = __ballot_sync(0xffffffffu, deep) != 0;
    if (closed && lane_of() == 0) {
        sup_gpu_part_patch patch = {};
        patch.deep = deep;
        patch.outer = outer;
        w.r.patches[number] = patch;
        w.counts->patches = number + 1;
    }
    __syncwarp();
}

/* Two skins that cross cut a patch out of each other: what is inside. By the block. */
static __device__ void make_inner(const part_work &w)
{
    const int hits = w.counts->hits;
    if (threadIdx.x < 32)
        for (int base = 0; base < hits; base += 32)
            enlist(w, base + lane_of() < hits ? w.r.hits[base + lane_of()].inside : -1);
    __syncthreads();
    for (int i = threadIdx.x; i < hits; i += PART_THREADS) {
        atomicOr(&w.r.state[w.r.hits[i].inside], SEED);
        atomicOr(&w.r.state[w.r.hits[i].outside], OUTSIDE);
        set_wall(w, w.r.hits[i], 1);
    }
    if (threadIdx.x == 0) w.counts->patches = 0;
    __syncthreads();
    for (int i = 0, seeds = w.counts->list; threadIdx.x < 32 && i < seeds;) {
        const int own = i + lane_of();
        const unsigned without =
            __ballot_sync(0xffffffffu, own < seeds && w.r.vertex[w.r.list[min(own, seeds - 1)]].patch == NO_PATCH);
        if (without == 0) {
            i += 32;
            continue;
        }
        i += __ffs((int)without) - 1;
        make_patch(w, w.r.list[i++], false);
    }
    __syncthreads();
}

/* Where what is inside does not end, or has no way out, the patch is what is outside, if that ends. */
static __device__ void make_outer(const part_work &w)
{
    const int hits = w.counts->hits;
    for (int base = 0; threadIdx.x < 32 && base < hits; base += 32) {
        const int inner = w.r.vertex[w.r.hits[min(base + lane_of(), hits - 1)].inside].patch;
        const bool torn = inner >= 0 && !w.r.patches[max(inner, 0)].outer && w.r.patches[max(inner, 0)].torn;
        unsigned some = __ballot_sync(0xffffffffu, base + lane_of() < hits && (inner == OPEN || torn));
        for (; some != 0; some &= some - 1) {
            const int lane = __ffs((int)some) - 1, outside = w.r.hits[base + lane].outside;
            const bool without = w.r.vertex[outside].patch == NO_PATCH;
            __syncwarp(); /* all have looked before anyone writes there */
            if (without) make_patch(w, outside, true);
            const int outer = w.r.vertex[outside].patch;
            if (lane == lane_of() && torn && outer >= 0 && w.r.patches[outer].outer) w.r.patches[inner].left = 1;
            __syncwarp();
        }
    }
    __syncthreads();
}

/* The patch that a hit belongs to, -1 for none. */
static __device__ int patch_of(const part_work &w, const sup_gpu_part_hit &hit)
{
    const int inner = w.r.vertex[hit.inside].patch, outer = w.r.vertex[hit.outside].patch;
    const bool inside = inner >= 0 && !w.r.patches[inner].outer;
    if (inside && !w.r.patches[inner].left) return inner;
    if (outer >= 0 && w.r.patches[outer].outer) return outer;
    return inside ? inner : -1;
}

/* The plane of a patch: its hits in order. */
static __device__ void fit_patch(const part_work &w, int number, int hits)
{
    sup_gpu_part_patch patch = w.r.patches[number];
    for (int i = 0; i < hits; i++) {
        const sup_gpu_part_hit &hit = w.r.hits[i];
        if (hit.patch != number) continue;
        for (int k = 0; k < 3; k++) {
            patch.point[k] += hit.point[k];
            patch.normal[k] += patch.outer ? -hit.normal[k] : hit.normal[k]; /* the way out, or in */
        }
        patch.share += hit.share;
        patch.edge += hit.edge;
        patch.weight += 1.0f;
    }
    const float4 normal = get(patch.normal);
    const float length = sqrtf(dot(normal, normal));
    patch.torn = !(length > AGREE * patch.weight);
    patch.left = !(length > LEAST_AGREE * patch.weight);
    for (int k = 0; k < 3 && !patch.left; k++) {
        patch.normal[k] /= length;
        patch.point[k] /= patch.weight;
    }
    patch.share /= patch.weight;
    patch.edge /= patch.weight;
    w.r.patches[number] = patch;
}

/* Whose hits are whose; then the planes of the patches from `first` on. */
static __device__ void fit_patches(const part_work &w, int first)
{
    const int hits = w.counts->hits, patches = w.counts->patches;
    for (int i = threadIdx.x; i < hits; i += PART_THREADS)
        w.r.hits[i].patch = patch_of(w, w.r.hits[i]);
    __syncthreads();
    for (int i = first + (int)threadIdx.x; i < patches; i += PART_THREADS)
        fit_patch(w, i, hits);
    __syncthreads();
}

static __device__ void make_patches(const part_work &w)
{
    make_inner(w);
    fit_patches(w, 0);
    const int inner = w.counts->patches;
    __syncthreads();
    make_outer(w);
    fit_patches(w, inner);
}

#endif

/* part_move.cuh (internal) - what crosses is moved apart, and edges are shortened: methods/projective/part_skin.c.
 *
 * Skin around what is moved and edges that are too long are seen to one after the other, each with what those before it left. The
 * same comes of it here: of 32 vertices those go on whose neighbours before them are done; and only edges that something
 * moved at are looked at again. */
#ifndef SUP_CUDA_PART_MOVE_CUH
#define SUP_CUDA_PART_MOVE_CUH

#include "cuda/part_patch.cuh"

/* As in part_skin.c, where they are explained. */
enum { AROUND = 2 };
#define FARTHEST 6.0f
#define LONGEST 1.3f
#define MOST_STRETCH 2.0f
#define HEAVY 0.25f
#define GAP_PART 0.03f
#define REACH 2.5f
#define FOLLOW 0.8f
#define KIN_GAPS 3.0f
#define FOLD_PUSH 0.2f
#define FOLD_SMOOTH 0.8f

static __device__ const int32_t *corners_of(const part_work &w, const sup_gpu_part_hit &hit)
{
    return w.view->triangles + 3 * (size_t)hit.triangle;
}

/* --- The best of all rounds --- */

/* What hits touch is known and hangs together, by a warp: inner end, outer end, corners of the triangle. */
static __device__ void know_hits(const part_work &w)
{
    enum { EACH = 5 };
    const int items = EACH * w.counts->hits;
    for (int base = 0; base < items; base += 32) {
        const int item = base + lane_of(), k = item % EACH;
        const sup_gpu_part_hit &hit = w.r.hits[min(item, items - 1) / EACH];
        const int v = item >= items ? -1
                      : k == 0      ? hit.inside
                      : k == 1      ? hit.outside
                                    : corners_of(w, hit)[max(k, 2) - 2];
        know(w, v);
        if (v >= 0 && k > 0) join(w, hit.inside, v);
        if (v >= 0 && k == 0) atomicAdd(&w.r.vertex[v].hits, 1);
        __syncwarp();
    }
}

/* Clusters that cross less than ever before keep their places. By the block. */
static __device__ void keep_best(const part_work &w, bool first)
{
    for (int i = threadIdx.x; i < w.counts->known; i += PART_THREADS)
        w.r.vertex[w.r.known[i]].hits = 0;
    __syncthreads();
    if (threadIdx.x < 32) know_hits(w);
    __syncthreads();
    const int known = w.counts->known;
    for (int i = threadIdx.x; i < known; i += PART_THREADS) {
        sup_gpu_part_vertex &vertex = w.r.vertex[w.r.known[i]];
        vertex.sum = vertex.best_sum = 0;
        if (first) vertex.best_hits = vertex.hits;
    }
    __syncthreads();
    for (int i = threadIdx.x; i < known; i += PART_THREADS) {
        const sup_gpu_part_vertex &vertex = w.r.vertex[w.r.known[i]];
        sup_gpu_part_vertex &root = w.r.vertex[cluster_of(w, w.r.known[i])];
        if (vertex.hits != 0) atomicAdd(&root.sum, vertex.hits);
        if (vertex.best_hits != 0) atomicAdd(&root.best_sum, vertex.best_hits);
    }
    __syncthreads();
    for (int i = threadIdx.x; i < known; i += PART_THREADS) {
        sup_gpu_part_vertex &vertex = w.r.vertex[w.r.known[i]];
        const sup_gpu_part_vertex &root = w.r.vertex[cluster_of(w, w.r.known[i])];
        if (root.sum >= root.best_sum) continue;
        vertex.best_hits = vertex.hits;
        vertex.best = vertex.x;
    }
    __syncthreads();
}

/* --- What is asked for --- */

static __device__ void ask(const part_work &w, int v, float4 normal, float way)
{
    sup_gpu_part_vertex &vertex = w.r.vertex[v];
    const float most = fmaxf(vertex.way.w, fabsf(way));
    vertex.way = add_scaled(vertex.way, way, normal);
    vertex.way.w = most;
}

/* Patches go to their planes as a whole, but for the share of what they are in. By the block. */
static __device__ void ask_patches(const part_work &w)
{
    for (int i = threadIdx.x; i < w.counts->list; i += PART_THREADS) {
        const sup_gpu_part_vertex &vertex = w.r.vertex[w.r.list[i]];
        if (vertex.patch < 0) continue;
        sup_gpu_part_patch &patch = w.r.patches[vertex.patch];
        if (!patch.deep || patch.left) continue;
        const float4 normal = get(patch.normal);
        const float depth = dot(normal, minus(get(patch.point), vertex.x));
        if (!(depth > 0.0f)) continue;
        atomicMax(&patch.depth, __float_as_int(depth));
        ask(w, w.r.list[i], normal, (1.0f - patch.share) * (depth + GAP_PART * patch.edge));
    }
    __syncthreads();
}

/* Two places near each other along the skin: what crosses there is no contact but a fold that is too tight. */
static __device__ bool is_fold(const part_work &w, const sup_gpu_part_hit &hit)
{
    const int a = w.view->coarse[hit.inside], b = w.view->coarse[corners_of(w, hit)[0]];
    const float4 d = minus(get(w.g->coarse_rest + 3 * (size_t)a), get(w.g->coarse_rest + 3 * (size_t)b));
    const float most = KIN_GAPS * (w.g->gap[a] + w.g->gap[b]);
    return dot(d, d) < most * most;
}

/* What a hit asks of its end (item 0), of a corner of its triangle (1 to 3) or, in a fold, only that its outer end is moved (4): the
 * vertex, -1 for none, and how far. */
static __device__ int asked(const part_work &w, const sup_gpu_part_hit &hit, int item, float4 &normal, float &way)
{
    const bool has = hit.patch >= 0;
    const sup_gpu_part_patch &patch = w.r.patches[has ? hit.patch : 0];
    way = 0.0f;
    normal = get(hit.normal);
    if (has && patch.left) return -1;
    const bool outer = has && patch.outer, deep = has && patch.deep;
    if (item == 4) return !has && is_fold(w, hit) ? hit.outside : -1;
    if (deep)
        normal = get(patch.normal);
    else if (outer)
        normal = make_float4(-normal.x, -normal.y, -normal.z, 0.0f);
    const float end = fminf(outer ? hit.height : hit.depth, REACH * hit.edge);
    const float depth = GAP_PART * hit.edge + (deep ? __int_as_float(patch.depth) : end), *b = hit.weight;
    if (item == 0) {
        way = (1.0f - hit.share) * depth;
        return deep ? -1 : outer ? hit.outside : hit.inside;
    }
    way = -hit.share * depth * b[item - 1] / (b[0] * b[0] + b[1] * b[1] + b[2] * b[2]);
    return corners_of(w, hit)[item - 1];
}

/* By a warp, in the order of the hits: also where several ask the same vertex. */
static __device__ void ask_hits(const part_work &w)
{
    enum { EACH = 5 };
    const unsigned all = 0xffffffffu;
    const int items = EACH * w.counts->hits;
    for (int base = 0; base < items; base += 32) {
        const int item = base + lane_of(), k = item % EACH;
        const sup_gpu_part_hit &hit = w.r.hits[min(item, items - 1) / EACH];
        float4 normal = make_float4(0.0f, 0.0f, 0.0f, 0.0f);
        float way = 0.0f;
        const int v = item < items ? asked(w, hit, k, normal, way) : -1;
        enlist(w, v);
        const bool adds = v >= 0 && k < 4;
        const unsigned same = __match_any_sync(all, adds ? v : -1 - lane_of());
        const int turn = __popc(same & lanes_before());
        for (int now = 0; __ballot_sync(all, adds && turn >= now) != 0; now++) {
            if (adds && turn == now) ask(w, v, normal, way);
            __syncwarp();
        }
        if (v >= 0 && k == 4) {
            atomicOr(&w.r.state[hit.inside], FOLD);
            atomicOr(&w.r.state[hit.outside], FOLD);
            for (int c = 0; c < 3; c++)
                atomicOr(&w.r.state[corners_of(w, hit)[c]], FOLD);
        }
        __syncwarp();
    }
}

/* --- Moves --- */

/* What all crossings together ask of a vertex, but no farther than one of them; folds are smoothed. By the block. */
static __device__ void set_moves(const part_work &w)
{
    const int32_t *first = w.view->neighbour_first;
    for (int i = threadIdx.x; i < w.counts->list; i += PART_THREADS) {
        const int v = w.r.list[i];
        sup_gpu_part_vertex &vertex = w.r.vertex[v];
        const bool fold = (w.r.state[v] & FOLD) != 0;
        const float length = sqrtf(dot(vertex.way, vertex.way));
        float scale = fold ? FOLD_PUSH : 1.0f;
        if (length > vertex.way.w) scale *= vertex.way.w / length;
        const float4 none = make_float4(0.0f, 0.0f, 0.0f, 0.0f);
        vertex.move = add_scaled(none, scale, vertex.way);
        if (!fold) continue;
        float4 sum = none;
        for (int e = first[v]; e < first[v + 1]; e++)
            sum = add_scaled(sum, 1.0f, w.r.vertex[w.view->neighbours[e]].x);
        const float4 mean = add_scaled(none, 1.0f / (float)(first[v + 1] - first[v]), sum);
        vertex.move = add_scaled(vertex.move, FOLD_SMOOTH, minus(mean, vertex.x));
    }
    __syncthreads();
}

/* Rings around what is moved, by a warp. */
static __device__ void enlist_around(const part_work &w)
{
    for (int ring = 0, begin = 0; ring < AROUND; ring++) {
        const int end = w.counts->list;
        for (edge_walk walk = {begin, 0}; walk.at < end;) {
            int from, edge, turn;
            next_edges(w, w.r.list, end, walk, from, edge, turn);
            const int next = edge >= 0 ? w.view->neighbours[edge] : -1;
            enlist(w, next);
            if (next >= 0) join(w, from, next);
            __syncwarp();
        }
        begin = end;
    }
}

/* A vertex of a ring follows its neighbours. */
static __device__ void follow(const part_work &w, int v)
{
    const int begin = w.view->neighbour_first[v], end = w.view->neighbour_first[v + 1];
    float4 sum = make_float4(0.0f, 0.0f, 0.0f, 0.0f);
    for (int e = begin; e < end; e++)
        sum = add_scaled(sum, 1.0f, w.r.vertex[w.view->neighbours[e]].move);
    const float scale = FOLLOW / (float)(end - begin);
    w.r.vertex[v].move = make_float4(scale * sum.x, scale * sum.y, scale * sum.z, 0.0f);
}

/* The rings from list[moved] on, by a warp: a vertex after those of its neighbours that are before it in the list. */
static __device__ void follow_all(const part_work &w, int moved)
{
    const int count = w.counts->list;
    for (int base = moved; base < count; base += 32) {
        const int i = base + lane_of(), v = i < count ? w.r.list[i] : -1;
        unsigned needs = 0, done = 0;
        for (int e = v >= 0 ? w.view->neighbour_first[v] : 0; v >= 0 && e < w.view->neighbour_first[v + 1]; e++) {
            const int other = w.view->neighbours[e], at = w.r.vertex[other].at;
            if ((w.r.state[other] & LISTED) && at >= base && at < i) needs |= 1u << (at - base);
        }
        for (bool own = v >= 0; __ballot_sync(0xffffffffu, own) != 0;) {
            const bool ready = own && (needs & ~done) == 0;
            if (ready) follow(w, v);
            __syncwarp();
            own = own && !ready;
            done |= __ballot_sync(0xffffffffu, ready);
        }
        __syncwarp();
    }
}

/* By what was found, but never far from where it came. By the block. */
static __device__ void move_all(const part_work &w)
{
    for (int i = threadIdx.x; i < w.counts->list; i += PART_THREADS) {
        const int coarse = w.view->coarse[w.r.list[i]];
        sup_gpu_part_vertex &vertex = w.r.vertex[w.r.list[i]];
        const float4 off = minus(add_scaled(vertex.x, 1.0f, vertex.move), vertex.from);
        const float length = sqrtf(dot(off, off)), most = is_held(w, coarse) ? 0.0f : FARTHEST * w.g->gap[coarse];
        vertex.x = add_scaled(vertex.from, length > most ? most / length : 1.0f, off);
        vertex.move = make_float4(0.0f, 0.0f, 0.0f, 0.0f);
        vertex.way.x = vertex.way.y = vertex.way.z = 0.0f;
    }
    __syncthreads();
}

/* --- Edges --- */

/* How much of what an edge is too long a vertex takes, by that of the other end. */
static __device__ float give_of(const part_work &w, int v)
{
    return is_held(w, w.view->coarse[v]) ? 0.0f : w.r.vertex[v].way.w > 0.0f ? HEAVY : 1.0f;
}

/* Whether the edge from v to `other` is seen to from v and is too long; then the part of it that is too much, by what both
 * give. */
static __device__ bool is_long(const part_work &w, int v, int other, float &way)
{
    if ((w.r.state[other] & LISTED) && other < v) return false;
    const sup_gpu_part_vertex &a = w.r.vertex[v], &b = w.r.vertex[other];
    const float4 d = minus(b.x, a.x), from = minus(a.from, b.from);
    const float4 rest = minus(get(w.view->rest + 3 * (size_t)v), get(w.view->rest + 3 * (size_t)other));
    const float square = dot(d, d), rest2 = dot(rest, rest);
    const float most = fminf(LONGEST * LONGEST * fmaxf(dot(from, from), rest2), MOST_STRETCH * MOST_STRETCH * rest2);
    if (!(square > 1.001f * most)) return false;
    const float sum = give_of(w, v) + give_of(w, other);
    way = (1.0f - sqrtf(most / square)) / sum;
    return sum > 0.0f;
}

/* Vertices of the list whose edges are to be looked at: those of a vertex that was moved, from both ends. By a warp. */
static __device__ void look_again(const part_work &w, int v)
{
    const int begin = w.view->neighbour_first[v], end = w.view->neighbour_first[v + 1];
    for (int e = begin - 1 + lane_of(); e < end; e += 32) {
        const int u = e < begin ? v : w.view->neighbours[e], at = w.r.vertex[u].at;
        if (w.r.state[u] & LISTED) atomicOr(&w.r.bits[at / 32], 1u << at % 32);
    }
    __syncwarp();
}

/* The edges of a listed vertex, in turn, by a warp. Returns whether one was too long. */
static __device__ bool shorten_edges(const part_work &w, int v)
{
    const unsigned all = 0xffffffffu;
    bool any = false;
    for (int base = w.view->neighbour_first[v], end = w.view->neighbour_first[v + 1]; base < end; base += 32) {
        const int other = base + lane_of() < end ? w.view->neighbours[base + lane_of()] : -1;
        if (other >= 0) load_vertex(w, other);
        __syncwarp();
        for (int from = 0; from < 32;) {
            float way = 0.0f;
            const bool is = other >= 0 && lane_of() >= from && is_long(w, v, other, way);
            const unsigned some = __ballot_sync(all, is);
            if (some == 0) break;
            const int lane = __ffs((int)some) - 1, end_of = __shfl_sync(all, other, lane);
            enlist(w, lane_of() == lane ? other : -1);
            if (lane_of() == lane) {
                sup_gpu_part_vertex &a = w.r.vertex[v], &b = w.r.vertex[other];
                const float4 d = minus(b.x, a.x);
                const float give[2] = {give_of(w, v), give_of(w, other)};
                join(w, v, other);
                a.x = add_scaled(a.x, give[0] * way, d);
                b.x = add_scaled(b.x, -give[1] * way, d);
            }
            __syncwarp();
            look_again(w, end_of);
            from = lane + 1;
            any = true;
        }
        __syncwarp();
    }
    if (any) look_again(w, v);
    return any;
}

/* The next place of the list from `at` on whose edges are to be looked at, by a warp; -1: none. */
static __device__ int next_place(const part_work &w, int at)
{
    for (int word = at / 32, count = (w.counts->list + 31) / 32; word < count; word += 32) {
        const int own = word + lane_of();
        unsigned bits = own < count ? w.r.bits[own] : 0u;
        if (own == at / 32) bits &= ~((1u << at % 32) - 1u);
        const unsigned some = __ballot_sync(0xffffffffu, bits != 0);
        if (some == 0) continue;
        const int lane = __ffs((int)some) - 1;
        return 32 * (word + lane) + __ffs((int)__shfl_sync(0xffffffffu, bits, lane)) - 1;
    }
    return -1;
}

/* Sweeps over the edges in the order of the list, by a warp. */
static __device__ void sweep_edges(const part_work &w, int sweeps)
{
    bool any = true;
    for (int sweep = 0; sweep < sweeps && any; sweep++) {
        any = false;
        for (int at = next_place(w, 0); at >= 0; at = next_place(w, at + 1)) {
            if (lane_of() == 0) w.r.bits[at / 32] &= ~(1u << at % 32);
            __syncwarp();
            any = shorten_edges(w, w.r.list[at]) || any;
        }
    }
}

/* Edges at what was moved are made no longer than they may be: the skin around comes along, as far as it has to. */
static __device__ void limit_edges(const part_work &w, int sweeps)
{
    const int count = w.counts->list;
    load_around(w, 0, count);
    for (int i = threadIdx.x; i < count; i += PART_THREADS) {
        const int v = w.r.list[i];
        bool any = false;
        float way;
        for (int e = w.view->neighbour_first[v]; e < w.view->neighbour_first[v + 1] && !any; e++)
            any = is_long(w, v, w.view->neighbours[e], way);
        if (any) atomicOr(&w.r.bits[i / 32], 1u << i % 32);
    }
    __syncthreads();
    if (threadIdx.x < 32) sweep_edges(w, sweeps);
    __syncthreads();
    for (int i = threadIdx.x; i < (w.counts->list + 31) / 32; i += PART_THREADS)
        w.r.bits[i] = 0;
    __syncthreads();
}

#endif

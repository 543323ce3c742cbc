/* untangle.cu - what still crosses in the shown skin is parted: untangle/untangle.c on the device.
 *
 *     choose   a block a character: clusters of triangles near skin that detection has found near other skin
 *     bound    boxes and cones of those
 *     find     triangles that cross each other in them
 *     part     a block a character, where something crosses or was moved in the last frame: rounds of moving and finding again
 *
 * A character in which nothing crosses ends after `find`, one that nothing is near after `choose`. What is done and in which order is
 * the CPU's. */
#include "cuda/untangle_edges.cuh"
#include "cuda/untangle_move.cuh"
#include "cuda/store_vertex.cuh"
#include "cuda/sleep.cuh"

enum { ROUNDS = 10, SWEEPS = 4, LAST_SWEEPS = 12 }; /* untangle.c */
enum { CHOOSE_THREADS = 1024, NEAR_AT_ONCE = 5, CLUSTERS_AT_ONCE = 4 };
static_assert(ROUNDS * (3 + AROUND) + 2 < MOST_WALKS, "turns of a character");
#define LEAST_OFFSET 1e-4f /* untangle.c */

/* --- Where to look --- */

/* What is shown of a character in this frame; projective_step.c: part. */
static __device__ sup_gpu_untangle_frame begin_frame(const sup_gpu_untangle &g, const sup_gpu_state &st, int character)
{
    const sup_gpu_progress &p = st.progress[character];
    const sup_gpu_command &in = st.orders[character];
    sup_gpu_untangle_frame frame = g.frame[character];
    const bool rests = sup_rest_keeps_offsets(p.still, p.calm_part);
    frame.shows = in.contact && in.parting && !in.hidden;
    frame.keep = frame.stale ? 0.0f : rests ? 1.0f : *g.keep;
    frame.stale = !frame.shows;
    frame.active_count = frame.pair_count = 0;
    return frame;
}

/* Of some vertices, CHOOSE_THREADS apart, the first of their clusters, and where the others are; whether they are always looked
 * at. Never changes. */
struct near_view {
    int cluster[NEAR_AT_ONCE][CLUSTERS_AT_ONCE]; /* -1: none */
    int next[NEAR_AT_ONCE], end[NEAR_AT_ONCE];
    bool always[NEAR_AT_ONCE];
};

static __device__ near_view fetch_near(const sup_untangle_view &view, int v)
{
    near_view own = {};
#pragma unroll
    for (int k = 0; k < NEAR_AT_ONCE; k++, v += CHOOSE_THREADS) {
        const bool there = v < view.coarse_count;
        own.next[k] = there ? view.coarse_first[v] : 0;
        own.end[k] = there ? view.coarse_first[v + 1] : 0;
        own.always[k] = there && (view.close[v] & SUP_UNTANGLE_BETWEEN) != 0;
    }
#pragma unroll
    for (int k = 0; k < NEAR_AT_ONCE; k++) {
#pragma unroll
        for (int i = 0; i < CLUSTERS_AT_ONCE; i++)
            own.cluster[k][i] = own.next[k] + i < own.end[k] ? view.coarse_clusters[own.next[k] + i] : -1;
        own.next[k] += CLUSTERS_AT_ONCE;
    }
    return own;
}

static __device__ void choose_cluster(uint32_t *chosen, int cluster)
{
    atomicOr(&chosen[cluster / 32], 1u << cluster % 32);
}

/* Bits of the clusters around those of the vertices that are near something. */
static __device__ void choose_clusters(const sup_untangle_view &view, const unsigned char *near, const near_view &own, int v,
                                      uint32_t *chosen)
{
    bool wanted[NEAR_AT_ONCE];
#pragma unroll
    for (int k = 0; k < NEAR_AT_ONCE; k++)
        wanted[k] = own.always[k] || (v + k * CHOOSE_THREADS < view.coarse_count && near[v + k * CHOOSE_THREADS] != 0);
#pragma unroll
    for (int k = 0; k < NEAR_AT_ONCE; k++) {
#pragma unroll
        for (int i = 0; i < CLUSTERS_AT_ONCE; i++)
            if (wanted[k] && own.cluster[k][i] >= 0) choose_cluster(chosen, own.cluster[k][i]);
        for (int i = own.next[k]; wanted[k] && i < own.end[k]; i++)
            choose_cluster(chosen, view.coarse_clusters[i]);
    }
}

__global__ void __launch_bounds__(CHOOSE_THREADS)
    choose_kernel(const __grid_constant__ sup_gpu_untangle g, const __grid_constant__ sup_gpu_state st)
{
    __shared__ int warps[CHOOSE_THREADS / 32];
    const sup_untangle_view &view = g.view;
    const int character = blockIdx.x, words = (g.cluster_count + 31) / 32;
    near_view own = fetch_near(view, threadIdx.x);
    wait_for_kernel();
    sup_gpu_untangle_frame frame = begin_frame(g, st, character);
    uint32_t *chosen = g.chosen + (size_t)character * g.words;
    const unsigned char *near = st.near + (size_t)character * view.coarse_count;
    int32_t *active = g.active + (size_t)character * g.cluster_count;
    const bool looks = frame.shows && !st.progress[character].asleep;
    for (int i = threadIdx.x; i < words && looks; i += CHOOSE_THREADS)
        chosen[i] = 0;
    __syncthreads();
    for (int v = threadIdx.x; v - (int)threadIdx.x < view.coarse_count && looks;) {
        choose_clusters(view, near, own, v, chosen);
        v += CHOOSE_THREADS * NEAR_AT_ONCE;
        own = fetch_near(view, v);
    }
    __syncthreads();
    for (int base = 0; base < words && looks; base += CHOOSE_THREADS) {
        const int word = base + (int)threadIdx.x;
        uint32_t bits = word < words ? chosen[word] : 0u;
        int all, at = frame.active_count + scan_block<CHOOSE_THREADS>(__popc(bits), warps, all);
        for (; bits != 0; bits &= bits - 1)
            active[at++] = 32 * word + __ffs((int)bits) - 1;
        frame.active_count += all;
    }
    if (threadIdx.x == 0) g.frame[character] = frame;
}

static __device__ part_places places_of(const sup_gpu_untangle &g, const sup_gpu_out &out, const sup_gpu_untangle_frame &frame,
                                        int character)
{
    part_places p = {};
    p.view = &g.view;
    p.first_shown = g.first_shown;
    p.shown = (const char *)out.positions + (size_t)character * out.instance_stride[0];
    p.stride = out.vertex_stride[0];
    p.keep = frame.keep;
    if (frame.moved > 0) p.offset = g.offset + 3 * (size_t)character * g.view.vertex_count;
    return p;
}

static __device__ part_boxes boxes_of(const sup_gpu_untangle &g, int character)
{
    return {g.box + SUP_GPU_UNTANGLE_BOX_FOURS * (size_t)character * g.cluster_count, g.cluster_count};
}

__global__ void __launch_bounds__(PART_THREADS)
    bound_kernel(const __grid_constant__ sup_gpu_untangle g, const __grid_constant__ sup_gpu_out out)
{
    wait_for_kernel();
    const int character = blockIdx.y, warp = blockIdx.x * PART_WARPS + threadIdx.x / 32;
    const sup_gpu_untangle_frame frame = g.frame[character];
    bound_clusters(places_of(g, out, frame, character), g.active + (size_t)character * g.cluster_count, NULL,
                  frame.active_count, warp, gridDim.x * PART_WARPS, boxes_of(g, character));
}

__global__ void __launch_bounds__(PART_THREADS)
    find_kernel(const __grid_constant__ sup_gpu_untangle g, const __grid_constant__ sup_gpu_out out)
{
    __shared__ part_triangle own[PART_WARPS][CLUSTER];
    __shared__ part_search search; /* threads have no room for so many addresses */
    wait_for_kernel();
    const int character = blockIdx.y, warps = gridDim.x * PART_WARPS;
    if (threadIdx.x == 0) {
        const sup_gpu_untangle_frame frame = g.frame[character];
        search = {places_of(g, out, frame, character),
                  g.active + (size_t)character * g.cluster_count,
                  frame.active_count,
                  NULL,
                  boxes_of(g, character),
                  g.pair + (size_t)character * SUP_GPU_UNTANGLE_PAIRS,
                  &g.frame[character].pair_count};
    }
    __syncthreads();
    for (int i = blockIdx.x * PART_WARPS + threadIdx.x / 32; i < search.active_count * g.split; i += warps)
        find_crossings(search, own[threadIdx.x / 32], i / g.split, i % g.split, g.split);
}

/* --- Parting --- */

static __device__ sup_gpu_untangle_room room_at(const sup_gpu_untangle &g, int number)
{
    const size_t n = number, vertices = n * g.view.vertex_count;
    sup_gpu_untangle_room r = g.room;
    r.vertex += vertices;
    r.state += vertices;
    r.wall += n * g.view.neighbour_first[g.view.vertex_count];
    r.turn += vertices;
    r.list += vertices;
    r.known += vertices;
    r.queue += vertices;
    r.bits += n * g.words;
    r.dirty += n * g.cluster_count;
    r.again += n * g.cluster_count;
    r.place += n * g.cluster_count;
    r.hits += n * SUP_GPU_UNTANGLE_HITS;
    r.patches += n * SUP_GPU_UNTANGLE_PATCHES;
    r.sorted += n * SUP_GPU_UNTANGLE_PAIRS;
    return r;
}

/* Pairs in the order in which the CPU finds them, by the block. */
static __device__ void sort_pairs(const part_work &w, int count)
{
    for (int i = threadIdx.x; i < count; i += MOVE_THREADS) {
        const unsigned long long key = w.search.pairs[i];
        int rank = 0;
#pragma unroll 8
        for (int k = 0; k < count; k++)
            rank += w.search.pairs[k] < key;
        w.r.sorted[rank] = key;
    }
    __syncthreads();
}

/* How many hits of a sorted pair are kept: as many of a cluster as the CPU has room for. */
static __device__ int kept_of(const part_work &w, int i)
{
    enum { MOST_OF_CLUSTER = 48 }; /* untangle_internal.h: SUP_UNTANGLE_HITS */
    const unsigned long long key = w.r.sorted[i];
    int room = MOST_OF_CLUSTER;
    for (int k = i - 1; k >= 0 && room > 0 && cluster_of(w.r.sorted[k]) == cluster_of(key); k--)
        room -= hits_of(w.r.sorted[k]);
    return max(0, min(hits_of(key), room));
}

/* Returns how many hits the pairs come to, by the block; -1: there are too many. */
static __device__ int take_pairs(part_work &w, int count)
{
    if (count > SUP_GPU_UNTANGLE_PAIRS) return -1;
    sort_pairs(w, count);
    unsigned long long hits = 0, all;
    for (int base = 0; base < count; base += MOVE_THREADS) {
        const int i = base + (int)threadIdx.x;
        const unsigned long long kept = i < count ? kept_of(w, i) : 0;
        const int first = (int)(hits + scan_block<MOVE_THREADS>(kept, w.sums, all));
        const int room = min((int)kept, SUP_GPU_UNTANGLE_HITS - first);
        if (room > 0) {
            const unsigned long long key = w.r.sorted[i];
            const part_triangle a = triangle_of(w.search.places, first_of(key));
            const part_triangle b = triangle_of(w.search.places, second_of(key));
            const int own = cut(a, first_of(key), b, w.r.hits + first, room);
            cut(b, second_of(key), a, w.r.hits + first + own, room - own);
        }
        hits += all;
    }
    const int taken = min((int)hits, SUP_GPU_UNTANGLE_HITS);
    if (threadIdx.x == 0) w.counts.hits = taken;
    __syncthreads();
    return taken;
}

/* Where clusters are among the active ones. By the block. */
static __device__ void place_clusters(const part_work &w)
{
    for (int i = threadIdx.x; i < w.search.active_count; i += MOVE_THREADS)
        w.r.place[w.search.active[i]] = i;
}

/* Active clusters to compare again: something of them has moved. By the block. */
static __device__ void mark_dirty(part_work &w)
{
    const int count = w.search.active_count;
    for (int i = threadIdx.x; i < w.counts.list; i += MOVE_THREADS) {
        const int v = w.r.list[i];
        for (int k = w.vertex_first[v]; k < w.vertex_first[v + 1]; k++) {
            const int cluster = w.vertex_clusters[k], at = w.r.place[cluster];
            if (at >= 0 && at < count && w.search.active[at] == cluster) w.r.dirty[at] = 1;
        }
    }
    if (threadIdx.x == 0) w.counts.dirty = 0;
    __syncthreads();
    for (int i = threadIdx.x; i < count; i += MOVE_THREADS)
        if (w.r.dirty[i]) w.r.again[atomicAdd(&w.counts.dirty, 1)] = i;
    __syncthreads();
}

/* What crosses now; as take_pairs. */
static __device__ int find_again(part_work &w, part_triangle (*own)[CLUSTER])
{
    enum { TASKS = 8 * MOVE_WARPS }; /* as many at least, so that warps have about the same to do */
    const int warp = threadIdx.x / 32, dirty = w.counts.dirty, split = dirty > 0 ? (TASKS + dirty - 1) / dirty : 1;
    if (threadIdx.x == 0) w.counts.pairs = 0;
    bound_clusters(w.search.places, w.search.active, w.r.again, dirty, warp, MOVE_WARPS, w.search.boxes);
    __syncthreads();
    for (int i = warp; i < dirty * split; i += MOVE_WARPS)
        find_crossings(w.search, own[warp], w.r.again[i / split], i % split, split);
    __syncthreads();
    const int pairs = w.counts.pairs;
    for (int i = threadIdx.x; i < dirty; i += MOVE_THREADS)
        w.r.dirty[w.r.again[i]] = 0;
    __syncthreads();
    return take_pairs(w, pairs);
}

/* The marks of a round are gone. */
static __device__ void end_round(part_work &w)
{
    for (int i = threadIdx.x; i < w.counts.list; i += MOVE_THREADS) {
        sup_gpu_untangle_vertex &vertex = w.r.vertex[w.r.list[i]];
        vertex.way.w = 0.0f;
        vertex.patch = NO_PATCH;
        w.r.state[w.r.list[i]] &= KNOWN;
    }
    __syncthreads();
    for (int i = threadIdx.x; i < w.counts.hits; i += MOVE_THREADS) {
        const sup_gpu_untangle_hit &hit = w.r.hits[i];
        for (int k = 0; k < 2; k++)
            if (hit.wall[k] >= 0) w.r.wall[hit.wall[k]] = 0;
        atomicAnd(&w.r.state[hit.outside], ~(OUTSIDE | PATCHED));
        w.r.vertex[hit.outside].patch = NO_PATCH;
    }
    __syncthreads();
}

/* One round of moving. */
static __device__ void part_once(part_work &w)
{
    make_patches(w);
    ask_patches(w);
    ask_hits(w);
    set_moves(w);
    const int moved = w.counts.list;
    enlist_around(w);
    for (int round = 0; round < AROUND; round++)
        follow_all(w, moved);
    move_all(w);
    limit_edges(w, SWEEPS);
    mark_dirty(w);
    end_round(w);
}

/* The list of what is known, in the same order. */
static __device__ void list_known(part_work &w, int v, int at, int state)
{
    w.r.vertex[v].at = at;
    w.r.state[v] = state;
    w.r.list[at] = v;
}

/* What was moved in the last frame begins there, but for a part, in the order of the vertices; state: KNOWN, or where nothing crosses it is the list
 * too. By the block. */
static __device__ void know_moved(part_work &w, float keep, int state)
{
    unsigned long long known = 0, all;
    for (int base = 0, words = (w.view.vertex_count + 31) / 32; base < words; base += MOVE_THREADS) {
        const int own = base + (int)threadIdx.x;
        uint32_t bits = own < words ? w.moved[own] : 0u;
        int at = (int)(known + scan_block<MOVE_THREADS>((unsigned long long)__popc(bits), w.sums, all));
        for (; bits != 0; bits &= bits - 1)
            w.r.known[at++] = 32 * own + __ffs((int)bits) - 1;
        known += all;
    }
    if (threadIdx.x == 0) w.counts.known = w.counts.list = (int)known;
    __syncthreads();
    for (int i = threadIdx.x; i < (int)known; i += MOVE_THREADS) {
        const int v = w.r.known[i];
        const float4 from = came_from(w.search.places, v);
        load_vertex(w, v, from, add_scaled(from, keep, get(w.offset + 3 * (size_t)v)));
        list_known(w, v, i, state);
    }
    __syncthreads();
}

/* The best places of all rounds side by side. By the block. */
static __device__ void take_best(part_work &w)
{
    const int known = w.counts.known;
    for (int i = threadIdx.x; i < known; i += MOVE_THREADS) {
        const int v = w.r.known[i];
        w.r.vertex[v].x = w.r.vertex[v].best;
        list_known(w, v, i, KNOWN | LISTED);
    }
    if (threadIdx.x == 0) w.counts.list = known;
    __syncthreads();
}

/* Places to the shown skin, and what was moved to the next frame; the room is left as it was found. Returns how many were moved, to
 * the first thread. */
static __device__ int write_back(part_work &w, const sup_gpu_out &out, int character)
{
    const int known = w.counts.known;
    for (int base = 0; base < known; base += MOVE_THREADS) {
        const int i = base + (int)threadIdx.x, v = w.r.known[min(i, known - 1)];
        const float4 x = w.r.vertex[v].x, off = minus(x, w.r.vertex[v].from);
        const float length = sqrtf(dot(off, off));
        const bool some = i < known && length > LEAST_OFFSET * w.gap[w.view.coarse[v]] && isfinite(length);
        const unsigned all = __ballot_sync(0xffffffffu, some);
        if (lane_of() == 0) atomicAdd(&w.counts.moved, __popc(all));
        if (i >= known) continue;
        put(w.offset + 3 * (size_t)v, some ? off : make_float4(0.0f, 0.0f, 0.0f, 0.0f));
        if (some)
            atomicOr(&w.moved[v / 32], 1u << v % 32);
        else
            atomicAnd(&w.moved[v / 32], ~(1u << v % 32));
        for (int k = w.view.shown_first[v]; k < w.view.shown_first[v + 1]; k++)
            store3(out.positions, out.vertex_stride[0], out.instance_stride[0], w.view.shown[k], character, x.x, x.y,
                   x.z);
        w.r.state[v] = 0;
        w.r.turn[v] = 0;
    }
    __syncthreads();
    return w.counts.moved;
}

/* What is the same for all characters of a block. */
static __device__ void open_room(part_work &w, const sup_gpu_untangle &g)
{
    w.view = g.view;
    w.r = room_at(g, blockIdx.x);
    w.held = g.held;
    w.coarse_rest = g.coarse_rest;
    w.gap = g.gap;
    w.vertex_first = g.vertex_first;
    w.vertex_clusters = g.vertex_clusters;
    w.search.pair_count = &w.counts.pairs;
    w.search.dirty = w.r.dirty;
    w.bits = g.view.vertex_count <= 8 * (int)sizeof w.scratch.bits ? w.scratch.bits : w.r.bits;
}

static __device__ void open_character(part_work &w, const sup_gpu_untangle &g, const sup_gpu_state &st,
                                      const sup_gpu_out &out, const sup_gpu_untangle_frame &frame, int character)
{
    w.search.places = places_of(g, out, frame, character);
    w.search.places.view = &w.view;
    w.search.places.offset = NULL; /* what was moved is known */
    w.search.places.state = w.r.state;
    w.search.places.vertex = w.r.vertex;
    w.search.active = g.active + (size_t)character * g.cluster_count;
    w.search.active_count = frame.active_count;
    w.search.boxes = boxes_of(g, character);
    w.search.pairs = g.pair + (size_t)character * SUP_GPU_UNTANGLE_PAIRS;
    w.touched = st.touched != NULL ? st.touched + (size_t)character * g.view.coarse_count : NULL;
    w.offset = g.offset + 3 * (size_t)character * g.view.vertex_count;
    w.moved = g.moved + (size_t)character * g.words;
    w.counts = part_counts{};
}

/* Rounds of moving, and the best of them. By the block. */
static __device__ void part_pairs(part_work &w, int pairs, part_triangle (*own)[CLUSTER])
{
    place_clusters(w);
    int round = 0, hits = take_pairs(w, pairs);
    for (; hits > 0 && round < ROUNDS; round++) {
        keep_best(w, round == 0);
        part_once(w);
        hits = find_again(w, own);
    }
    if (hits >= 0) keep_best(w, false);
    take_best(w);
}

/* A character, if something crosses in it, or, where `crosses` is not set, only was moved in the last frame. By the block. */
static __device__ void part_character(part_work &w, part_triangle (*own)[CLUSTER], const sup_gpu_untangle &g,
                                      const sup_gpu_state &st, const sup_gpu_out &out, int character, bool crosses)
{
    const sup_gpu_untangle_frame frame = g.frame[character];
    const bool looks = !st.progress[character].asleep;
    const int pairs = frame.pair_count <= SUP_GPU_UNTANGLE_PAIRS ? frame.pair_count : 0;
    if (!frame.shows || (pairs > 0) != crosses || (frame.moved == 0 && pairs == 0)) return;
    if (threadIdx.x == 0) open_character(w, g, st, out, frame, character);
    __syncthreads();
    if (frame.moved > 0) know_moved(w, frame.keep, crosses ? KNOWN : KNOWN | LISTED);
    if (crosses) part_pairs(w, pairs, own);
    if (looks) limit_edges(w, LAST_SWEEPS);
    const int moved = write_back(w, out, character);
    if (threadIdx.x == 0) g.frame[character].moved = moved;
    __syncthreads();
}

/* Blocks take characters in turn: there is no room for more of them at a time. First those that take longest. */
__global__ void __launch_bounds__(MOVE_THREADS, 1)
    part_kernel(const __grid_constant__ sup_gpu_untangle g, const __grid_constant__ sup_gpu_state st,
                const __grid_constant__ sup_gpu_out out)
{
    __shared__ part_triangle own[MOVE_WARPS][CLUSTER];
    __shared__ part_work w; /* one for all: threads have no room for so many addresses */
    if (threadIdx.x == 0) open_room(w, g);
    wait_for_kernel();
    for (int crosses = 1; crosses >= 0; crosses--)
        for (int character = blockIdx.x; character < st.count; character += gridDim.x)
            part_character(w, own, g, st, out, character, crosses != 0);
}

/* Nothing was moved. */
__global__ void __launch_bounds__(PART_THREADS) part_reset_kernel(const __grid_constant__ sup_gpu_untangle g, int first)
{
    wait_for_kernel();
    const int character = first + (int)blockIdx.y, i = blockIdx.x * PART_THREADS + threadIdx.x;
    const size_t n = g.view.vertex_count;
    const sup_gpu_untangle_frame none = {};
    if (i < (int)n) put(g.offset + 3 * (character * n + i), make_float4(0.0f, 0.0f, 0.0f, 0.0f));
    if (i < g.words) g.moved[(size_t)character * g.words + i] = 0;
    if (i == 0) g.frame[character] = none;
}

/* --- Launches --- */

extern "C" int sup_gpu_untangle_step(const sup_gpu_untangle *part, const sup_gpu_state *state, const sup_gpu_out *out,
                                 void *stream)
{
    cudaStream_t on = (cudaStream_t)stream;
    if (part->view.triangle_count == 0 || out->positions == NULL) return 0;
    launch_early(choose_kernel, dim3(state->count), CHOOSE_THREADS, 0, on, *part, *state);
    launch_early(bound_kernel, dim3(part->joined, state->count), PART_THREADS, 0, on, *part, *out);
    launch_early(find_kernel, dim3(part->joined, state->count), PART_THREADS, 0, on, *part, *out);
    launch_early(part_kernel, dim3(part->room_count), MOVE_THREADS, 0, on, *part, *state, *out);
    return (int)cudaGetLastError();
}

extern "C" int sup_gpu_untangle_reset(const sup_gpu_untangle *part, int32_t first, int32_t count, void *stream)
{
    if (part->view.triangle_count == 0) return 0;
    const int most = part->view.vertex_count > part->words ? part->view.vertex_count : part->words;
    dim3 grid((most + PART_THREADS - 1) / PART_THREADS, count);
    launch_early(part_reset_kernel, grid, PART_THREADS, 0, (cudaStream_t)stream, *part, first);
    return (int)cudaGetLastError();
}

/* part.cu - what still crosses in the shown skin is parted: methods/projective/part_skin.c on the device.
 *
 *     choose   a block a character: bundles of triangles near skin that detection has found near other skin
 *     bound    boxes and cones of those
 *     find     triangles that cross each other in them
 *     part     a block a character, where something crosses or was moved in the last frame: rounds of moving and finding again
 *
 * A character in which nothing crosses ends after `find`, one that nothing is near after `choose`. What is done and in which order is
 * the CPU's. */
#include "cuda/part_move.cuh"
#include "cuda/scan.cuh"
#include "cuda/store.cuh"
#include "cuda/wake.cuh"

enum { ROUNDS = 10, SWEEPS = 4, LAST_SWEEPS = 12, CHOOSE_THREADS = 512 }; /* part_skin.c */
#define LEAST_OFFSET 1e-4f                                                /* part_skin.c */

/* --- Where to look --- */

/* What is shown of a character in this frame; projective_step.c: part. */
static __device__ sup_gpu_part_frame begin_frame(const sup_gpu_part &g, const sup_gpu_state &st, int character)
{
    const sup_gpu_progress &p = st.progress[character];
    const sup_gpu_orders &in = st.orders[character];
    sup_gpu_part_frame frame = g.frame[character];
    const bool rests = p.still >= STILL_CALM || (p.still > STILL_EASE && p.calm_part < 1.0f);
    frame.shows = in.contact && in.parting && !in.hidden;
    frame.keep = frame.stale ? 0.0f : rests ? 1.0f : *g.keep;
    frame.stale = !frame.shows;
    frame.active_count = frame.pair_count = 0;
    return frame;
}

__global__ void __launch_bounds__(CHOOSE_THREADS)
    choose_kernel(const __grid_constant__ sup_gpu_part g, const __grid_constant__ sup_gpu_state st)
{
    __shared__ int warps[CHOOSE_THREADS / 32];
    wait_for_kernel();
    const sup_part_view &view = g.view;
    const int character = blockIdx.x, words = (g.bundle_count + 31) / 32;
    sup_gpu_part_frame frame = begin_frame(g, st, character);
    uint32_t *chosen = g.chosen + (size_t)character * g.words;
    const unsigned char *near = st.near + (size_t)character * view.coarse_count;
    int32_t *active = g.active + (size_t)character * g.bundle_count;
    const bool looks = frame.shows && !st.progress[character].asleep;
    for (int i = threadIdx.x; i < words && looks; i += CHOOSE_THREADS)
        chosen[i] = 0;
    __syncthreads();
    for (int v = threadIdx.x; v < view.coarse_count && looks; v += CHOOSE_THREADS) {
        if (near[v] == 0 && (view.close[v] & SUP_PART_BETWEEN) == 0) continue;
        for (int i = view.coarse_first[v]; i < view.coarse_first[v + 1]; i++)
            atomicOr(&chosen[view.coarse_bundles[i] / 32], 1u << view.coarse_bundles[i] % 32);
    }
    __syncthreads();
    for (int base = 0; base < words && looks; base += CHOOSE_THREADS) {
        const int own = base + (int)threadIdx.x;
        uint32_t bits = own < words ? chosen[own] : 0u;
        int all, at = frame.active_count + scan_block<CHOOSE_THREADS>(__popc(bits), warps, all);
        for (; bits != 0; bits &= bits - 1)
            active[at++] = 32 * own + __ffs((int)bits) - 1;
        frame.active_count += all;
    }
    if (threadIdx.x == 0) g.frame[character] = frame;
}

static __device__ part_places places_of(const sup_gpu_part &g, const sup_gpu_out &out, const sup_gpu_part_frame &frame,
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

static __device__ float4 *boxes_of(const sup_gpu_part &g, int character)
{
    return g.box + SUP_GPU_PART_BOX_FOURS * (size_t)character * g.bundle_count;
}

__global__ void __launch_bounds__(PART_THREADS)
    bound_kernel(const __grid_constant__ sup_gpu_part g, const __grid_constant__ sup_gpu_out out)
{
    wait_for_kernel();
    const int character = blockIdx.y, warp = blockIdx.x * PART_WARPS + threadIdx.x / 32;
    const sup_gpu_part_frame frame = g.frame[character];
    bound_bundles(places_of(g, out, frame, character), g.active + (size_t)character * g.bundle_count,
                  frame.active_count, NULL, warp, gridDim.x * PART_WARPS, boxes_of(g, character));
}

__global__ void __launch_bounds__(PART_THREADS)
    find_kernel(const __grid_constant__ sup_gpu_part g, const __grid_constant__ sup_gpu_out out)
{
    __shared__ part_triangle own[PART_WARPS][BUNDLE];
    wait_for_kernel();
    const int character = blockIdx.y, warps = gridDim.x * PART_WARPS;
    const sup_gpu_part_frame frame = g.frame[character];
    const part_search search = {places_of(g, out, frame, character),
                                g.active + (size_t)character * g.bundle_count,
                                frame.active_count,
                                NULL,
                                boxes_of(g, character),
                                g.pair + (size_t)character * SUP_GPU_PART_PAIRS,
                                &g.frame[character].pair_count,
                                own[threadIdx.x / 32]};
    for (int i = blockIdx.x * PART_WARPS + threadIdx.x / 32; i < frame.active_count * g.split; i += warps)
        find_crossings(search, i / g.split, i % g.split, g.split);
}

/* --- Parting --- */

static __device__ sup_gpu_part_room room_at(const sup_gpu_part &g, int number)
{
    const size_t n = number, vertices = n * g.view.vertex_count;
    sup_gpu_part_room r = g.room;
    r.vertex += vertices;
    r.state += vertices;
    r.wall += n * g.view.neighbour_first[g.view.vertex_count];
    r.list += vertices;
    r.known += vertices;
    r.loaded += vertices;
    r.queue += vertices;
    r.bits += n * g.words;
    r.dirty += n * g.bundle_count;
    r.hits += n * SUP_GPU_PART_HITS;
    r.patches += n * SUP_GPU_PART_PATCHES;
    r.sorted += n * SUP_GPU_PART_PAIRS;
    return r;
}

/* Pairs in the order in which the CPU finds them, by the block. */
static __device__ void sort_pairs(const part_work &w, int count)
{
    for (int i = threadIdx.x; i < count; i += PART_THREADS) {
        const unsigned long long key = w.pairs[i];
        int rank = 0;
        for (int k = 0; k < count; k++)
            rank += w.pairs[k] < key;
        w.r.sorted[rank] = key;
    }
    __syncthreads();
}

/* Sum over this thread and those before it whose `group`, rising, is the same. */
static __device__ int sum_group(int own, int group)
{
    for (int step = 1; step < 32; step <<= 1) {
        const int other = __shfl_up_sync(0xffffffffu, own, step), its = __shfl_up_sync(0xffffffffu, group, step);
        if (lane_of() >= step && its == group) own += other;
    }
    return own;
}

/* The hits of the sorted pairs, by a warp: as many of a bundle as the CPU keeps. */
static __device__ void list_hits(const part_work &w, int count)
{
    enum { MOST_OF_BUNDLE = 48 }; /* part_internal.h: SUP_PART_HITS */
    int hits = 0, last = -1, before = 0;
    for (int base = 0; base < count; base += 32) {
        const int i = base + lane_of();
        const unsigned long long key = w.r.sorted[min(i, count - 1)];
        const part_triangle a = triangle_of(w.places, first_of(key)), b = triangle_of(w.places, second_of(key));
        const int bundle = i < count ? (int)(key >> 32) : INT_MAX;
        const int one = i < count ? cut(a, 0, b, NULL, 3) : 0, two = i < count ? cut(b, 0, a, NULL, 3) : 0;
        const int through = sum_group(one + two, bundle) + (bundle == last ? before : 0);
        const int kept = max(0, min(one + two, MOST_OF_BUNDLE - (through - one - two)));
        const int end = sum_group(kept, 0), first = hits + end - kept;
        if (kept > 0) {
            const int own = cut(a, first_of(key), b, w.r.hits + first, kept);
            cut(b, second_of(key), a, w.r.hits + first + own, kept - own);
        }
        hits += __shfl_sync(0xffffffffu, end, 31);
        last = __shfl_sync(0xffffffffu, bundle, 31);
        before = __shfl_sync(0xffffffffu, through, 31);
    }
    if (lane_of() == 0) w.counts->hits = hits;
}

/* Returns how many hits the pairs come to, by the block; -1: there are too many. */
static __device__ int take_pairs(const part_work &w, int count)
{
    if (count > SUP_GPU_PART_PAIRS) return -1;
    sort_pairs(w, count);
    if (threadIdx.x < 32) list_hits(w, count);
    __syncthreads();
    return w.counts->hits;
}

/* Bundles to compare again: they have moved. */
static __device__ void mark_dirty(const part_work &w)
{
    const int corners = 3 * BUNDLE, all = 3 * w.view->triangle_count;
    for (int i = threadIdx.x / 32; i < w.active_count; i += PART_WARPS) {
        bool any = false;
        for (int k = corners * w.active[i] + lane_of(), end = min(all, corners * (w.active[i] + 1)); k < end; k += 32)
            any = any || (w.r.state[w.view->triangles[k]] & LISTED) != 0;
        any = __any_sync(0xffffffffu, any);
        if (lane_of() == 0) w.r.dirty[i] = any;
    }
    __syncthreads();
}

/* What crosses now; as take_pairs. */
static __device__ int find_again(const part_work &w, part_triangle (*own)[BUNDLE])
{
    const int warp = threadIdx.x / 32;
    if (threadIdx.x == 0) w.counts->pairs = 0;
    bound_bundles(w.places, w.active, w.active_count, w.r.dirty, warp, PART_WARPS, w.boxes);
    __syncthreads();
    const part_search search = {w.places, w.active, w.active_count,   w.r.dirty,
                                w.boxes,  w.pairs,  &w.counts->pairs, own[warp]};
    for (int i = warp; i < w.active_count; i += PART_WARPS)
        if (w.r.dirty[i]) find_crossings(search, i, 0, 1);
    __syncthreads();
    const int pairs = w.counts->pairs;
    __syncthreads();
    return take_pairs(w, pairs);
}

/* One round of moving; then the marks of it are gone. */
static __device__ void part_once(const part_work &w)
{
    if (threadIdx.x == 0) w.counts->list = 0;
    __syncthreads();
    make_patches(w);
    ask_patches(w);
    if (threadIdx.x < 32) ask_hits(w);
    __syncthreads();
    const int moved = w.counts->list;
    load_around(w, 0, moved);
    set_moves(w);
    if (threadIdx.x < 32) enlist_around(w);
    __syncthreads();
    load_around(w, moved, w.counts->list);
    for (int round = 0; round < AROUND && threadIdx.x < 32; round++)
        follow_all(w, moved);
    __syncthreads();
    move_all(w);
    limit_edges(w, SWEEPS);
    mark_dirty(w);
    for (int i = threadIdx.x; i < w.counts->list; i += PART_THREADS) {
        sup_gpu_part_vertex &vertex = w.r.vertex[w.r.list[i]];
        vertex.way.w = 0.0f;
        vertex.patch = NO_PATCH;
        w.r.state[w.r.list[i]] &= LOADED | KNOWN;
    }
    __syncthreads();
    for (int i = threadIdx.x; i < w.counts->hits; i += PART_THREADS) {
        set_wall(w, w.r.hits[i], 0);
        atomicAnd(&w.r.state[w.r.hits[i].outside], ~(int)OUTSIDE);
        w.r.vertex[w.r.hits[i].outside].patch = NO_PATCH;
    }
    __syncthreads();
}

/* What was moved in the last frame begins there, in the order of the vertices, by a warp. */
static __device__ void know_moved(const part_work &w, const uint32_t *moved)
{
    const int words = (w.view->vertex_count + 31) / 32;
    for (int base = 0; base < words; base += 32) {
        const uint32_t own = base + lane_of() < words ? moved[base + lane_of()] : 0u;
        for (unsigned some = __ballot_sync(0xffffffffu, own != 0); some != 0; some &= some - 1) {
            const int word = __ffs((int)some) - 1;
            const uint32_t bits = __shfl_sync(0xffffffffu, own, word);
            know(w, bits >> lane_of() & 1u ? 32 * (base + word) + lane_of() : -1);
        }
    }
}

/* The best places of all rounds side by side. By the block. */
static __device__ void take_best(const part_work &w)
{
    const int known = w.counts->known;
    __syncthreads();
    if (threadIdx.x == 0) w.counts->list = 0;
    for (int i = threadIdx.x; i < known; i += PART_THREADS)
        w.r.vertex[w.r.known[i]].x = w.r.vertex[w.r.known[i]].best;
    __syncthreads();
    for (int base = 0; base < known && threadIdx.x < 32; base += 32)
        enlist(w, base + lane_of() < known ? w.r.known[base + lane_of()] : -1);
    __syncthreads();
    limit_edges(w, LAST_SWEEPS);
}

/* Places to the shown skin, and what was moved to the next frame; the room is left as it was found. */
static __device__ void write_back(const part_work &w, const sup_gpu_out &out, int character, uint32_t *moved)
{
    float *offset = w.g->offset + 3 * (size_t)character * w.view->vertex_count;
    for (int i = threadIdx.x; i < w.counts->known; i += PART_THREADS) {
        const int v = w.r.known[i];
        const float4 x = w.r.vertex[v].x, off = minus(x, w.r.vertex[v].from);
        const float length = sqrtf(dot(off, off));
        const bool some = length > LEAST_OFFSET * w.g->gap[w.view->coarse[v]] && isfinite(length);
        put(offset + 3 * (size_t)v, some ? off : make_float4(0.0f, 0.0f, 0.0f, 0.0f));
        if (some) {
            atomicOr(&moved[v / 32], 1u << v % 32);
            atomicAdd(&w.counts->moved, 1);
        } else {
            atomicAnd(&moved[v / 32], ~(1u << v % 32));
        }
        for (int k = w.view->shown_first[v]; k < w.view->shown_first[v + 1]; k++)
            store3(out.positions, out.vertex_stride[0], out.instance_stride[0], w.view->shown[k], character, x.x, x.y,
                   x.z);
    }
    for (int i = threadIdx.x; i < w.counts->loaded; i += PART_THREADS)
        w.r.state[w.r.loaded[i]] = 0;
    __syncthreads();
    if (threadIdx.x == 0) w.g->frame[character].moved = w.counts->moved;
    __syncthreads();
}

static __device__ part_work open_work(const sup_gpu_part &g, const sup_gpu_state &st, const sup_gpu_out &out,
                                      const sup_gpu_part_frame &frame, int character, part_counts &counts)
{
    part_work w;
    w.g = &g;
    w.view = &g.view;
    w.r = room_at(g, blockIdx.x);
    w.places = places_of(g, out, frame, character);
    w.offset = w.places.offset;
    w.touched = st.touched != NULL ? st.touched + (size_t)character * g.view.coarse_count : NULL;
    w.keep = frame.keep;
    w.places.offset = NULL; /* what was moved is loaded */
    w.places.state = w.r.state;
    w.places.vertex = w.r.vertex;
    w.active = g.active + (size_t)character * g.bundle_count;
    w.active_count = frame.active_count;
    w.boxes = boxes_of(g, character);
    w.pairs = g.pair + (size_t)character * SUP_GPU_PART_PAIRS;
    w.counts = &counts;
    return w;
}

static __device__ void part_character(const part_work &w, int pairs, part_triangle (*own)[BUNDLE])
{
    int round = 0, hits = take_pairs(w, pairs);
    for (; hits > 0 && round < ROUNDS; round++) {
        keep_best(w, round == 0);
        part_once(w);
        hits = find_again(w, own);
    }
    if (round > 0 && hits >= 0) keep_best(w, false);
    take_best(w);
}

/* Blocks take characters in turn: there is no room for more of them at a time. */
__global__ void __launch_bounds__(PART_THREADS)
    part_kernel(const __grid_constant__ sup_gpu_part g, const __grid_constant__ sup_gpu_state st,
                const __grid_constant__ sup_gpu_out out)
{
    __shared__ part_triangle own[PART_WARPS][BUNDLE];
    __shared__ part_counts counts;
    __shared__ part_work w; /* one for all: threads have no room for so many addresses */
    wait_for_kernel();
    for (int character = blockIdx.x; character < st.count; character += gridDim.x) {
        const sup_gpu_part_frame frame = g.frame[character];
        const int pairs = frame.pair_count <= SUP_GPU_PART_PAIRS ? frame.pair_count : 0;
        if (!frame.shows || (frame.moved == 0 && pairs == 0)) continue;
        uint32_t *moved = g.moved + (size_t)character * g.words;
        if (threadIdx.x == 0) {
            counts = part_counts{};
            w = open_work(g, st, out, frame, character, counts);
        }
        __syncthreads();
        if (threadIdx.x < 32 && frame.moved > 0) know_moved(w, moved);
        __syncthreads();
        if (!st.progress[character].asleep) part_character(w, pairs, own);
        write_back(w, out, character, moved);
    }
}

/* Nothing was moved. */
__global__ void __launch_bounds__(PART_THREADS) part_reset_kernel(const __grid_constant__ sup_gpu_part g, int first)
{
    wait_for_kernel();
    const int character = first + (int)blockIdx.y, i = blockIdx.x * PART_THREADS + threadIdx.x;
    const size_t n = g.view.vertex_count;
    const sup_gpu_part_frame none = {};
    if (i < (int)n) put(g.offset + 3 * (character * n + i), make_float4(0.0f, 0.0f, 0.0f, 0.0f));
    if (i < g.words) g.moved[(size_t)character * g.words + i] = 0;
    if (i == 0) g.frame[character] = none;
}

/* --- Launches --- */

extern "C" int sup_gpu_part_step(const sup_gpu_part *part, const sup_gpu_state *state, const sup_gpu_out *out,
                                 void *stream)
{
    cudaStream_t on = (cudaStream_t)stream;
    if (part->view.triangle_count == 0 || out->positions == NULL) return 0;
    launch_early(choose_kernel, dim3(state->count), CHOOSE_THREADS, 0, on, *part, *state);
    launch_early(bound_kernel, dim3(part->joined, state->count), PART_THREADS, 0, on, *part, *out);
    launch_early(find_kernel, dim3(part->joined, state->count), PART_THREADS, 0, on, *part, *out);
    launch_early(part_kernel, dim3(part->room_count), PART_THREADS, 0, on, *part, *state, *out);
    return (int)cudaGetLastError();
}

extern "C" int sup_gpu_part_reset(const sup_gpu_part *part, int32_t first, int32_t count, void *stream)
{
    if (part->view.triangle_count == 0) return 0;
    const int most = part->view.vertex_count > part->words ? part->view.vertex_count : part->words;
    dim3 grid((most + PART_THREADS - 1) / PART_THREADS, count);
    launch_early(part_reset_kernel, grid, PART_THREADS, 0, (cudaStream_t)stream, *part, first);
    return (int)cudaGetLastError();
}

/* untangle.cu - removes self-intersections of the render mesh: untangle/untangle.c on the device.
 *
 *     select    a block a character: clusters of triangles near skin that detection has found near other skin
 *     bound     boxes and normal cones of those
 *     find      pairs of crossing triangles in them
 *     untangle  a block a character, where something crosses or has an offset of the last frame: moving and finding
 *
 * A character without crossings ends after `find`, one without near skin after `select`. The algorithm and its order
 * are those of the CPU. */
#include "cuda/untangle_edges.cuh"
#include "cuda/untangle_move.cuh"
#include "cuda/store_vertex.cuh"
#include "cuda/sleep.cuh"

enum { SELECT_THREADS = 1024, NEAR_BATCH = 5, CLUSTER_BATCH = 4 };
static_assert(SUP_UNTANGLE_ITERATIONS * (3 + SUP_UNTANGLE_RINGS) + 2 < MAX_WALKS, "walks of a character");

/* --- Selection of clusters --- */

/* Whether a character is untangled in this frame, as in projective_step.c. */
static __device__ sup_gpu_untangle_frame begin_frame(const sup_gpu_untangle &g, const sup_gpu_state &st, int character)
{
    const sup_gpu_progress &p = st.progress[character];
    const sup_gpu_command &in = st.commands[character];
    sup_gpu_untangle_frame frame = g.frame[character];
    const bool at_rest = sup_rest_keeps_offsets(p.rest_steps, p.rest_damping_fraction, p.rest_damping_mean);
    frame.untangles = in.contact && in.untangling && !in.hidden;
    frame.offset_fraction = sup_untangle_offset_fraction(!frame.stale, at_rest, g.frame_time[0]);
    frame.limited = !frame.stale;
    frame.stale = !frame.untangles;
    frame.active_count = frame.pair_count = 0;
    return frame;
}

/* Some simulated vertices, SELECT_THREADS apart: the first of their clusters, and the range of the others; whether
 * those are always searched. Constant over time. */
struct near_batch {
    int cluster[NEAR_BATCH][CLUSTER_BATCH]; /* -1: none */
    int next[NEAR_BATCH], end[NEAR_BATCH];
    bool always[NEAR_BATCH];
};

static __device__ near_batch fetch_near(const sup_untangle_view &view, int v)
{
    near_batch own = {};
#pragma unroll
    for (int k = 0; k < NEAR_BATCH; k++, v += SELECT_THREADS) {
        const bool exists = v < view.coarse_count;
        own.next[k] = exists ? view.coarse_first[v] : 0;
        own.end[k] = exists ? view.coarse_first[v + 1] : 0;
        own.always[k] = exists && (view.rest_contact[v] & SUP_UNTANGLE_REST_SEARCHED) != 0;
    }
#pragma unroll
    for (int k = 0; k < NEAR_BATCH; k++) {
#pragma unroll
        for (int i = 0; i < CLUSTER_BATCH; i++)
            own.cluster[k][i] = own.next[k] + i < own.end[k] ? view.coarse_clusters[own.next[k] + i] : -1;
        own.next[k] += CLUSTER_BATCH;
    }
    return own;
}

static __device__ void select_cluster(uint32_t *selected, int cluster)
{
    atomicOr(&selected[cluster / 32], 1u << cluster % 32);
}

/* Sets the bits of the clusters at vertices that are near other skin. */
static __device__ void select_clusters(const sup_untangle_view &view, const unsigned char *near, const near_batch &own,
                                       int v, uint32_t *selected)
{
    bool selects[NEAR_BATCH];
#pragma unroll
    for (int k = 0; k < NEAR_BATCH; k++)
        selects[k] = own.always[k] || (v + k * SELECT_THREADS < view.coarse_count && near[v + k * SELECT_THREADS] != 0);
#pragma unroll
    for (int k = 0; k < NEAR_BATCH; k++) {
#pragma unroll
        for (int i = 0; i < CLUSTER_BATCH; i++)
            if (selects[k] && own.cluster[k][i] >= 0) select_cluster(selected, own.cluster[k][i]);
        for (int i = own.next[k]; selects[k] && i < own.end[k]; i++)
            select_cluster(selected, view.coarse_clusters[i]);
    }
}

__global__ void __launch_bounds__(SELECT_THREADS)
    select_kernel(const __grid_constant__ sup_gpu_untangle g, const __grid_constant__ sup_gpu_state st)
{
    __shared__ int warps[SELECT_THREADS / 32];
    const sup_untangle_view &view = g.view;
    const int character = blockIdx.x, words = (g.cluster_count + 31) / 32;
    near_batch own = fetch_near(view, threadIdx.x);
    wait_for_kernel();
    sup_gpu_untangle_frame frame = begin_frame(g, st, character);
    uint32_t *selected = g.selected + (size_t)character * g.words;
    const unsigned char *near = st.near + (size_t)character * view.coarse_count;
    int32_t *active = g.active + (size_t)character * g.cluster_count;
    const sup_gpu_progress &progress = st.progress[character];
    const bool searches = frame.untangles && !progress.asleep &&
                          !sup_rest_freezes_untangling(progress.rest_steps, progress.rest_damping_mean);
    for (int i = threadIdx.x; i < words && searches; i += SELECT_THREADS)
        selected[i] = 0;
    __syncthreads();
    for (int v = threadIdx.x; v - (int)threadIdx.x < view.coarse_count && searches;) {
        select_clusters(view, near, own, v, selected);
        v += SELECT_THREADS * NEAR_BATCH;
        own = fetch_near(view, v);
    }
    __syncthreads();
    for (int base = 0; base < words && searches; base += SELECT_THREADS) {
        const int word = base + (int)threadIdx.x;
        uint32_t bits = word < words ? selected[word] : 0u;
        int all, at = frame.active_count + scan_block<SELECT_THREADS>(__popc(bits), warps, all);
        for (; bits != 0; bits &= bits - 1)
            active[at++] = 32 * word + __ffs((int)bits) - 1;
        frame.active_count += all;
    }
    if (threadIdx.x == 0) g.frame[character] = frame;
}

static __device__ untangle_positions positions_of(const sup_gpu_untangle &g, const sup_gpu_out &out,
                                                  const sup_gpu_untangle_frame &frame, int character)
{
    untangle_positions p = {};
    p.view = &g.view;
    p.first_render = g.first_render;
    p.render = (const char *)out.positions + (size_t)character * out.instance_stride[0];
    p.stride = out.vertex_stride[0];
    p.offset_fraction = frame.offset_fraction;
    if (frame.moved > 0) p.offset = g.offset + 3 * (size_t)character * g.view.vertex_count;
    return p;
}

static __device__ cluster_boxes boxes_of(const sup_gpu_untangle &g, int character)
{
    return {g.box + SUP_GPU_UNTANGLE_BOX_FOURS * (size_t)character * g.cluster_count, g.cluster_count};
}

__global__ void __launch_bounds__(FIND_THREADS)
    bound_kernel(const __grid_constant__ sup_gpu_untangle g, const __grid_constant__ sup_gpu_out out)
{
    wait_for_kernel();
    const int character = blockIdx.y, warp = blockIdx.x * FIND_WARPS + threadIdx.x / 32;
    const sup_gpu_untangle_frame frame = g.frame[character];
    bound_clusters(positions_of(g, out, frame, character), g.active + (size_t)character * g.cluster_count, NULL,
                   frame.active_count, warp, gridDim.x * FIND_WARPS, boxes_of(g, character));
}

__global__ void __launch_bounds__(FIND_THREADS)
    find_kernel(const __grid_constant__ sup_gpu_untangle g, const __grid_constant__ sup_gpu_out out)
{
    __shared__ triangle own[FIND_WARPS][CLUSTER];
    __shared__ untangle_search search; /* shared: too many addresses for the registers of each thread */
    wait_for_kernel();
    const int character = blockIdx.y, warps = gridDim.x * FIND_WARPS;
    if (threadIdx.x == 0) {
        const sup_gpu_untangle_frame frame = g.frame[character];
        search = {positions_of(g, out, frame, character),
                  g.active + (size_t)character * g.cluster_count,
                  frame.active_count,
                  NULL,
                  boxes_of(g, character),
                  g.pair + (size_t)character * SUP_GPU_UNTANGLE_PAIRS,
                  &g.frame[character].pair_count};
    }
    __syncthreads();
    for (int i = blockIdx.x * FIND_WARPS + threadIdx.x / 32; i < search.active_count * g.split; i += warps)
        find_crossings(search, own[threadIdx.x / 32], i / g.split, i % g.split, g.split);
}

/* --- Untangling --- */

static __device__ sup_gpu_untangle_scratch scratch_at(const sup_gpu_untangle &g, int number)
{
    const size_t n = number, vertices = n * g.view.vertex_count;
    sup_gpu_untangle_scratch r = g.scratch;
    r.vertex += vertices;
    r.state += vertices;
    r.boundary += n * g.view.neighbour_first[g.view.vertex_count];
    r.owner += vertices;
    r.list += vertices;
    r.known += vertices;
    r.queue += vertices;
    r.bits += n * g.words;
    r.dirty += n * g.cluster_count;
    r.dirty_list += n * g.cluster_count;
    r.slot += n * g.cluster_count;
    r.crossings += n * SUP_GPU_UNTANGLE_CROSSINGS;
    r.patches += n * SUP_GPU_UNTANGLE_PATCHES;
    r.sorted += n * SUP_GPU_UNTANGLE_PAIRS;
    return r;
}

/* Sorts pairs into the order in which the CPU finds them, by the block. */
static __device__ void sort_pairs(const untangle_work &w, int count)
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

/* Number of stored crossings of a sorted pair: no more for a cluster than the CPU stores. */
static __device__ int stored_of(const untangle_work &w, int i)
{
    const unsigned long long key = w.r.sorted[i];
    int capacity = SUP_UNTANGLE_MAX_CROSSINGS;
    for (int k = i - 1; k >= 0 && capacity > 0 && cluster_of(w.r.sorted[k]) == cluster_of(key); k--)
        capacity -= crossings_of(w.r.sorted[k]);
    return max(0, min(crossings_of(key), capacity));
}

/* Computes the crossings of the pairs, by the block. Returns their number; -1: too many pairs. */
static __device__ int load_crossings(untangle_work &w, int count)
{
    if (count > SUP_GPU_UNTANGLE_PAIRS) return -1;
    sort_pairs(w, count);
    unsigned long long crossings = 0, all;
    for (int base = 0; base < count; base += MOVE_THREADS) {
        const int i = base + (int)threadIdx.x;
        const unsigned long long stored = i < count ? stored_of(w, i) : 0;
        const int first = (int)(crossings + scan_block<MOVE_THREADS>(stored, w.sums, all));
        const int capacity = min((int)stored, SUP_GPU_UNTANGLE_CROSSINGS - first);
        if (capacity > 0) {
            const unsigned long long key = w.r.sorted[i];
            const triangle a = triangle_of(w.search.positions, first_of(key));
            const triangle b = triangle_of(w.search.positions, second_of(key));
            const int own = cross_edges(a, first_of(key), b, w.r.crossings + first, capacity);
            cross_edges(b, second_of(key), a, w.r.crossings + first + own, capacity - own);
        }
        crossings += all;
    }
    const int taken = min((int)crossings, SUP_GPU_UNTANGLE_CROSSINGS);
    if (threadIdx.x == 0) w.counts.crossings = taken;
    __syncthreads();
    return taken;
}

/* Index of each active cluster among the active ones. By the block. */
static __device__ void index_clusters(const untangle_work &w)
{
    for (int i = threadIdx.x; i < w.search.active_count; i += MOVE_THREADS)
        w.r.slot[w.search.active[i]] = i;
}

/* Lists the active clusters that have moved and are compared again. By the block. */
static __device__ void mark_dirty(untangle_work &w)
{
    const int count = w.search.active_count;
    for (int i = threadIdx.x; i < w.counts.list; i += MOVE_THREADS) {
        const int v = w.r.list[i];
        for (int k = w.vertex_first[v]; k < w.vertex_first[v + 1]; k++) {
            const int cluster = w.vertex_clusters[k], at = w.r.slot[cluster];
            if (at >= 0 && at < count && w.search.active[at] == cluster) w.r.dirty[at] = 1;
        }
    }
    if (threadIdx.x == 0) w.counts.dirty = 0;
    __syncthreads();
    for (int i = threadIdx.x; i < count; i += MOVE_THREADS)
        if (w.r.dirty[i]) w.r.dirty_list[atomicAdd(&w.counts.dirty, 1)] = i;
    __syncthreads();
}

/* Finds the crossings after a move; returns as load_crossings. */
static __device__ int find_again(untangle_work &w, triangle (*own)[CLUSTER])
{
    enum { TASKS = 8 * MOVE_WARPS }; /* minimum number of tasks, to balance the warps */
    const int warp = threadIdx.x / 32, dirty = w.counts.dirty, split = dirty > 0 ? (TASKS + dirty - 1) / dirty : 1;
    if (threadIdx.x == 0) w.counts.pairs = 0;
    bound_clusters(w.search.positions, w.search.active, w.r.dirty_list, dirty, warp, MOVE_WARPS, w.search.boxes);
    __syncthreads();
    for (int i = warp; i < dirty * split; i += MOVE_WARPS)
        find_crossings(w.search, own[warp], w.r.dirty_list[i / split], i % split, split);
    __syncthreads();
    const int pairs = w.counts.pairs;
    for (int i = threadIdx.x; i < dirty; i += MOVE_THREADS)
        w.r.dirty[w.r.dirty_list[i]] = 0;
    __syncthreads();
    return load_crossings(w, pairs);
}

/* Clears the marks of an iteration. */
static __device__ void clear_marks(untangle_work &w)
{
    for (int i = threadIdx.x; i < w.counts.list; i += MOVE_THREADS) {
        sup_gpu_untangle_vertex &vertex = w.r.vertex[w.r.list[i]];
        vertex.push.w = 0.0f;
        vertex.patch = SUP_UNTANGLE_NO_PATCH;
        w.r.state[w.r.list[i]] &= SUP_UNTANGLE_KNOWN;
    }
    __syncthreads();
    for (int i = threadIdx.x; i < w.counts.crossings; i += MOVE_THREADS) {
        const sup_gpu_untangle_crossing &crossing = w.r.crossings[i];
        for (int k = 0; k < 2; k++)
            if (crossing.boundary[k] >= 0) w.r.boundary[crossing.boundary[k]] = 0;
        atomicAnd(&w.r.state[crossing.outside], ~(SUP_UNTANGLE_OUTSIDE | SUP_UNTANGLE_PATCHED));
        w.r.vertex[crossing.outside].patch = SUP_UNTANGLE_NO_PATCH;
    }
    __syncthreads();
}

/* Moves the skin at the crossings once. */
static __device__ void move_apart(untangle_work &w)
{
    make_patches(w);
    push_patches(w);
    push_crossings(w);
    set_moves(w);
    const int moved = w.counts.list;
    enlist_rings(w);
    for (int iteration = 0; iteration < SUP_UNTANGLE_RINGS; iteration++)
        follow_rings(w, moved);
    move_all(w);
    limit_edges(w, SUP_UNTANGLE_SWEEPS);
    mark_dirty(w);
    clear_marks(w);
}

/* Lists a known vertex. */
static __device__ void list_known(untangle_work &w, int v, int at, int state)
{
    w.r.vertex[v].at = at;
    w.r.state[v] = state;
    w.r.list[at] = v;
}

/* Vertices with an offset of the last frame begin there, in ascending order; state: SUP_UNTANGLE_KNOWN, with
 * SUP_UNTANGLE_LISTED where nothing crosses. By the block. */
static __device__ void add_offset_vertices(untangle_work &w, float offset_fraction, int state)
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
        const float4 start = start_of(w.search.positions, v);
        load_vertex(w, v, start, add_scaled(start, offset_fraction, get(w.offset + 3 * (size_t)v)));
        list_known(w, v, i, state);
    }
    __syncthreads();
}

/* The best positions of all iterations. By the block. */
static __device__ void restore_best(untangle_work &w)
{
    const int known = w.counts.known;
    for (int i = threadIdx.x; i < known; i += MOVE_THREADS) {
        const int v = w.r.known[i];
        w.r.vertex[v].x = w.r.vertex[v].best;
        list_known(w, v, i, SUP_UNTANGLE_KNOWN | SUP_UNTANGLE_LISTED);
    }
    if (threadIdx.x == 0) w.counts.list = known;
    __syncthreads();
}

/* --- Limits of the offsets, as in untangle.c --- */

/* Scales the offset of a vertex and limits its length. */
static __device__ void scale_offset(untangle_work &w, int v, float scale)
{
    sup_gpu_untangle_vertex &vertex = w.r.vertex[v];
    const float4 zero = make_float4(0.0f, 0.0f, 0.0f, 0.0f),
                 offset = add_scaled(zero, scale, minus(vertex.x, vertex.start));
    const float limit =
        sup_untangle_final_scale(is_fixed(w, w.view.coarse[v]), sqrtf(dot(offset, offset)), w.view.size);
    vertex.x = add_scaled(vertex.start, limit, offset);
}

/* Limits the change of an offset since the last frame. Its decay is not a change. `max`: length of the change. */
static __device__ void limit_change(untangle_work &w, int v, float offset_fraction, float max)
{
    sup_gpu_untangle_vertex &vertex = w.r.vertex[v];
    const float4 last = get(w.offset + 3 * (size_t)v), offset = minus(vertex.x, vertex.start);
    const float4 kept = add_scaled(vertex.start, sup_untangle_kept_fraction(&offset.x, &last.x, offset_fraction), last),
                 change = minus(vertex.x, kept);
    const float length = sqrtf(dot(change, change));
    vertex.x = add_scaled(kept, length > max ? max / length : 1.0f, change);
}

/* Change of the volume by the offsets; the same value in all threads. `partial` [MOVE_WARPS]: shared memory. */
static __device__ double volume_change(untangle_work &w, double *partial)
{
    const float4 origin = w.r.vertex[w.r.known[0]].start;
    double sum = 0.0;
    for (int t = threadIdx.x; t < w.view.triangle_count; t += MOVE_THREADS) {
        const int *c = w.view.triangles + 3 * (size_t)t;
        if (!((w.r.state[c[0]] | w.r.state[c[1]] | w.r.state[c[2]]) & SUP_UNTANGLE_KNOWN)) continue;
        float start[3][3], x[3][3];
        for (int k = 0; k < 3; k++) {
            const bool known = w.r.state[c[k]] & SUP_UNTANGLE_KNOWN;
            const float4 from = known ? w.r.vertex[c[k]].start : start_of(w.search.positions, c[k]);
            const float4 a = minus(from, origin), b = minus(known ? w.r.vertex[c[k]].x : from, origin);
            start[k][0] = a.x, start[k][1] = a.y, start[k][2] = a.z;
            x[k][0] = b.x, x[k][1] = b.y, x[k][2] = b.z;
        }
        sum += sup_untangle_volume6(x[0], x[1], x[2]) - sup_untangle_volume6(start[0], start[1], start[2]);
    }
    for (int d = 16; d > 0; d >>= 1)
        sum += __shfl_xor_sync(0xffffffffu, sum, d);
    if (lane_of() == 0) partial[threadIdx.x / 32] = sum;
    __syncthreads();
    double total = 0.0;
    for (int i = 0; i < MOVE_WARPS; i++)
        total += partial[i];
    return total / 6.0;
}

/* Offsets stay small, change the volume by no more than a budget, and change slowly. By the block. */
static __device__ void limit_offsets(untangle_work &w, const sup_gpu_untangle &g, const sup_gpu_state &st,
                                     int character, const sup_gpu_untangle_frame &frame, double *partial)
{
    const int known = w.counts.known;
    if (known == 0) return;
    for (int i = threadIdx.x; i < known; i += MOVE_THREADS)
        scale_offset(w, w.r.known[i], 1.0f);
    __syncthreads();
    const float scale = sup_untangle_volume_scale(volume_change(w, partial), (double)w.view.rest_volume);
    __syncthreads();
    for (int i = threadIdx.x; i < known; i += MOVE_THREADS) {
        const int v = w.r.known[i];
        const size_t skin = (size_t)character * w.view.coarse_count + w.view.coarse[v];
        const float4 motion = minus(st.skin[0][skin], st.skin[1][skin]);
        scale_offset(w, v, scale);
        if (frame.limited)
            limit_change(
                w, v, frame.offset_fraction,
                sup_untangle_max_change(w.view.size, g.frame_time[1], sqrtf(dot(motion, motion)), g.step_seconds));
    }
    __syncthreads();
}

/* Positions to the render mesh, offsets to the next frame; clears the scratch memory. Returns the number of offsets,
 * to the first thread. */
static __device__ int write_back(untangle_work &w, const sup_gpu_out &out, int character)
{
    const int known = w.counts.known;
    for (int base = 0; base < known; base += MOVE_THREADS) {
        const int i = base + (int)threadIdx.x, v = w.r.known[min(i, known - 1)];
        const float4 x = w.r.vertex[v].x, off = minus(x, w.r.vertex[v].start);
        const float length = sqrtf(dot(off, off));
        const bool some = i < known && sup_untangle_stores_offset(length, w.gap[w.view.coarse[v]]);
        const unsigned all = __ballot_sync(0xffffffffu, some);
        if (lane_of() == 0) atomicAdd(&w.counts.moved, __popc(all));
        if (i >= known) continue;
        put(w.offset + 3 * (size_t)v, some ? off : make_float4(0.0f, 0.0f, 0.0f, 0.0f));
        if (some)
            atomicOr(&w.moved[v / 32], 1u << v % 32);
        else
            atomicAnd(&w.moved[v / 32], ~(1u << v % 32));
        for (int k = w.view.render_first[v]; k < w.view.render_first[v + 1]; k++)
            store3(out.positions, out.vertex_stride[0], out.instance_stride[0], w.view.render_vertices[k], character,
                   x.x, x.y, x.z);
        w.r.state[v] = 0;
        w.r.owner[v] = 0;
    }
    __syncthreads();
    return w.counts.moved;
}

/* The same for all characters of a block. */
static __device__ void open_scratch(untangle_work &w, const sup_gpu_untangle &g)
{
    w.view = g.view;
    w.r = scratch_at(g, blockIdx.x);
    w.fixed = g.fixed;
    w.coarse_rest = g.coarse_rest;
    w.gap = g.gap;
    w.vertex_first = g.vertex_first;
    w.vertex_clusters = g.vertex_clusters;
    w.search.pair_count = &w.counts.pairs;
    w.search.dirty = w.r.dirty;
    w.bits = g.view.vertex_count <= 8 * (int)sizeof w.scratch.bits ? w.scratch.bits : w.r.bits;
}

static __device__ void open_character(untangle_work &w, const sup_gpu_untangle &g, const sup_gpu_state &st,
                                      const sup_gpu_out &out, const sup_gpu_untangle_frame &frame, int character)
{
    w.search.positions = positions_of(g, out, frame, character);
    w.search.positions.view = &w.view;
    w.search.positions.offset = NULL; /* those vertices are known */
    w.search.positions.state = w.r.state;
    w.search.positions.vertex = w.r.vertex;
    w.search.active = g.active + (size_t)character * g.cluster_count;
    w.search.active_count = frame.active_count;
    w.search.boxes = boxes_of(g, character);
    w.search.pairs = g.pair + (size_t)character * SUP_GPU_UNTANGLE_PAIRS;
    w.collider = st.touched != NULL ? st.touched + (size_t)character * g.view.coarse_count : NULL;
    w.offset = g.offset + 3 * (size_t)character * g.view.vertex_count;
    w.moved = g.moved + (size_t)character * g.words;
    w.counts = list_counts{};
}

/* Iterations of moving, and the best of them. By the block. */
static __device__ void untangle_pairs(untangle_work &w, int pairs, triangle (*own)[CLUSTER])
{
    index_clusters(w);
    int iteration = 0, crossings = load_crossings(w, pairs);
    for (; crossings > 0 && iteration < SUP_UNTANGLE_ITERATIONS; iteration++) {
        keep_best(w, iteration == 0);
        move_apart(w);
        crossings = find_again(w, own);
    }
    if (crossings >= 0) keep_best(w, false);
    restore_best(w);
}

/* A character with crossings, or, where `crosses` is not set, with offsets of the last frame only. By the block. */
static __device__ void untangle_character(untangle_work &w, triangle (*own)[CLUSTER], const sup_gpu_untangle &g,
                                          const sup_gpu_state &st, const sup_gpu_out &out, int character, bool crosses,
                                          double *partial)
{
    const sup_gpu_untangle_frame frame = g.frame[character];
    const bool searches = !st.progress[character].asleep;
    const int pairs = frame.pair_count <= SUP_GPU_UNTANGLE_PAIRS ? frame.pair_count : 0;
    if (!frame.untangles || (pairs > 0) != crosses || (frame.moved == 0 && pairs == 0)) return;
    if (threadIdx.x == 0) open_character(w, g, st, out, frame, character);
    __syncthreads();
    if (frame.moved > 0)
        add_offset_vertices(w, frame.offset_fraction,
                            crosses ? SUP_UNTANGLE_KNOWN : SUP_UNTANGLE_KNOWN | SUP_UNTANGLE_LISTED);
    if (crosses) untangle_pairs(w, pairs, own);
    if (searches) limit_edges(w, SUP_UNTANGLE_LAST_SWEEPS);
    if (searches) limit_offsets(w, g, st, character, frame, partial);
    const int moved = write_back(w, out, character);
    if (threadIdx.x == 0) g.frame[character].moved = moved;
    __syncthreads();
}

/* Each block processes characters one after the other, limited by the scratch memory; first those that take longest. */
__global__ void __launch_bounds__(MOVE_THREADS, 1)
    untangle_kernel(const __grid_constant__ sup_gpu_untangle g, const __grid_constant__ sup_gpu_state st,
                    const __grid_constant__ sup_gpu_out out)
{
    __shared__ triangle own[MOVE_WARPS][CLUSTER];
    __shared__ double partial[MOVE_WARPS];
    __shared__ untangle_work w; /* shared: too many addresses for the registers of each thread */
    if (threadIdx.x == 0) open_scratch(w, g);
    wait_for_kernel();
    for (int crosses = 1; crosses >= 0; crosses--)
        for (int character = blockIdx.x; character < st.count; character += gridDim.x)
            untangle_character(w, own, g, st, out, character, crosses != 0, partial);
}

/* Clears the offsets. */
__global__ void __launch_bounds__(FIND_THREADS)
    untangle_reset_kernel(const __grid_constant__ sup_gpu_untangle g, int first)
{
    wait_for_kernel();
    const int character = first + (int)blockIdx.y, i = blockIdx.x * FIND_THREADS + threadIdx.x;
    const size_t n = g.view.vertex_count;
    sup_gpu_untangle_frame none = {};
    none.stale = 1; /* as the CPU after a reset: the next change is not limited */
    if (i < (int)n) put(g.offset + 3 * (character * n + i), make_float4(0.0f, 0.0f, 0.0f, 0.0f));
    if (i < g.words) g.moved[(size_t)character * g.words + i] = 0;
    if (i == 0) g.frame[character] = none;
}

/* --- Launches --- */

extern "C" int sup_gpu_untangle_step(const sup_gpu_untangle *untangle, const sup_gpu_state *state,
                                     const sup_gpu_out *out, void *stream)
{
    cudaStream_t on = (cudaStream_t)stream;
    if (untangle->view.triangle_count == 0 || out->positions == NULL) return 0;
    launch_early(select_kernel, dim3(state->count), SELECT_THREADS, 0, on, *untangle, *state);
    launch_early(bound_kernel, dim3(untangle->joined, state->count), FIND_THREADS, 0, on, *untangle, *out);
    launch_early(find_kernel, dim3(untangle->joined, state->count), FIND_THREADS, 0, on, *untangle, *out);
    launch_early(untangle_kernel, dim3(untangle->scratch_count), MOVE_THREADS, 0, on, *untangle, *state, *out);
    return (int)cudaGetLastError();
}

extern "C" int sup_gpu_untangle_reset(const sup_gpu_untangle *untangle, int32_t first, int32_t count, void *stream)
{
    if (untangle->view.triangle_count == 0) return 0;
    const int size = untangle->view.vertex_count > untangle->words ? untangle->view.vertex_count : untangle->words;
    dim3 grid((size + FIND_THREADS - 1) / FIND_THREADS, count);
    launch_early(untangle_reset_kernel, grid, FIND_THREADS, 0, (cudaStream_t)stream, *untangle, first);
    return (int)cudaGetLastError();
}

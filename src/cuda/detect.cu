/* detect.cu - which skin vertices are inside another part of the body: contact/detect.c on the device.
 *
 * Based on: [komaritzan2022] section 3.2.5, "GPU-Based Global Collision Handling", which hashes vertices and tetrahedra into
 * cells. As on the CPU (detect.h says why) both lie in groups that were made once; a warp compares the box of its cell of
 * tetrahedra with those of all groups of vertices, and tests only what meets. The nearest triangle of a vertex is the least of
 * integer keys, and lists are sorted: the same rows from run to run. */
#include "cuda/detect_constraints.cuh"

/* --- Vertices in tetrahedra --- */

/* A vertex that is inside a tetrahedron of the triangle, which is not its own. */
static __device__ void consider(const work &w, int v, int triangle)
{
    const self own = open_self(w, v);
    sight view = look(w, own.place, triangle);
    if (!isfinite(view.distance2) || !may_touch(w, own, triangle, view, FACING_NEAR)) return;
    /* Skin that is near in the bind pose is no pair before it pushes. */
    float slack = w.d->slack[v];
    if (slack > 0.0f && !(view.height < gap_at(w, v, triangle, view) - slack)) return;
    mark_near(w, v, triangle);
    if (!may_touch(w, own, triangle, view, 0.0f)) return;
    /* Positive floats are in the order of their bits, and the least key wins, whatever the order. */
    atomicMin(&w.nearest[v], (unsigned long long)__float_as_uint(view.distance2) << 32 | (unsigned)triangle);
}

/* A tetrahedron: the map from a point to the weights of its last three corners (detect_internal.h), and its triangle. */
struct tet_map {
    float first[3], row[9];
    int corner[3], triangle;
};

static __device__ tet_map map_tet(const work &w, int tet, bool there)
{
    const int4 corner = ((const int4 *)w.d->tets)[there ? tet : 0];
    const float4 first = w.points[corner.x];
    const float4 e[3] = {minus(w.points[corner.y], first), minus(w.points[corner.z], first),
                         minus(w.points[corner.w], first)};
    const float det = dot(e[0], cross(e[1], e[2])), scale = 1.0f / det;
    tet_map m;
    m.triangle = w.d->tet_triangle[there ? tet : 0];
    m.first[0] = there && det > 0.0f ? first.x : NAN;
    m.first[1] = first.y;
    m.first[2] = first.z;
#pragma unroll
    for (int k = 0; k < 3; k++) {
        const float4 row = cross(e[(k + 1) % 3], e[(k + 2) % 3]);
        m.corner[k] = w.d->triangles[3 * (size_t)m.triangle + k];
        m.row[3 * k] = row.x * scale;
        m.row[3 * k + 1] = row.y * scale;
        m.row[3 * k + 2] = row.z * scale;
    }
    return m;
}

/* Whether a point, vertex v, is inside, and no corner of the triangle. */
static __device__ bool is_inside(const tet_map &m, float4 p, int v)
{
    const float x = p.x - m.first[0], y = p.y - m.first[1], z = p.z - m.first[2];
    float weight[3];
#pragma unroll
    for (int r = 0; r < 3; r++)
        weight[r] = fmaf(m.row[3 * r], x, fmaf(m.row[3 * r + 1], y, m.row[3 * r + 2] * z));
    return fminf(fminf(weight[0], weight[1]), weight[2]) > -1e-5f && weight[0] + weight[1] + weight[2] < 1.0f + 1e-5f &&
           v != m.corner[0] && v != m.corner[1] && v != m.corner[2];
}

/* The box of a cell. */
struct cell_box {
    float4 lower, upper, low_diagonals, high_diagonals;
};

static __device__ bool is_within(float4 p, const cell_box &box)
{
    float at[AXES];
    along_axes(p, at);
    return !(p.x > box.upper.x || p.x < box.lower.x || p.y > box.upper.y || p.y < box.lower.y || p.z > box.upper.z ||
             p.z < box.lower.z || at[3] > box.high_diagonals.x || at[3] < box.low_diagonals.x ||
             at[4] > box.high_diagonals.y || at[4] < box.low_diagonals.y || at[5] > box.high_diagonals.z ||
             at[5] < box.low_diagonals.z || at[6] > box.high_diagonals.w || at[6] < box.low_diagonals.w);
}

static __device__ bool boxes_meet(float4 lower, float4 upper, const cell_box &box)
{
    return !(lower.x > box.upper.x || upper.x < box.lower.x || lower.y > box.upper.y || upper.y < box.lower.y ||
             lower.z > box.upper.z || upper.z < box.lower.z);
}

/* The first place of a set, which it leaves; -1 for none. */
static __device__ int take_first(unsigned &set)
{
    int first = __ffs((int)set) - 1;
    set &= set - 1u;
    return first;
}

/* A warp's own, in fast memory. */
struct test_room {
    float4 near[2 * 32];            /* places, and vertices as bits */
    int2 hits[2 * 32];              /* a vertex, and a triangle that it is in a tetrahedron of */
    float4 normal[SUP_DETECT_TETS]; /* unit, of the triangles of its cell, once they are needed */
};

/* Vertices that are in the box of a warp's cell, which has the tetrahedra from `first` on. */
struct cell_work {
    test_room *room;
    int count, hits, first, tets;
    int faced;     /* of the vertices, the first so many have a triangle that they may touch */
    int triangles; /* -1: not there yet */
    int segment;     /* of bone that each of the triangles has a corner of, -1 for none */
};

/* Normals of a cell's triangles, and their segment of bone. */
static __device__ void ready_triangles(const work &w, cell_work &cell)
{
    enum { ROUNDS = (SUP_DETECT_TETS + 31) / 32 };
    const unsigned all = 0xffffffffu;
    const sup_detect &d = *w.d;
    const int lane = threadIdx.x % 32;
    int triangle[ROUNDS], low = INT_MAX, high = -1;
    bool new_one[ROUNDS];
    float4 normal[ROUNDS];
#pragma unroll
    for (int r = 0; r < ROUNDS; r++) {
        const int tet = cell.first + min(32 * r + lane, cell.tets - 1);
        triangle[r] = d.tet_triangle[tet];
        new_one[r] = 32 * r + lane < cell.tets && (tet == cell.first || d.tet_triangle[tet - 1] != triangle[r]);
    }
#pragma unroll
    for (int r = 0; r < ROUNDS; r++) {
        const int32_t *t = d.triangles + 3 * (size_t)triangle[r];
        const float4 c = w.skin[t[0]];
        normal[r] = unit(cross(minus(w.skin[t[1]], c), minus(w.skin[t[2]], c)));
        low = min(low, d.foot_segment[t[0]]);
        high = max(high, d.foot_segment[t[0]]);
    }
    cell.triangles = 0;
#pragma unroll
    for (int r = 0; r < ROUNDS; r++) {
        const unsigned added = __ballot_sync(all, new_one[r]);
        if (new_one[r]) cell.room->normal[cell.triangles + __popc(added & ((1u << lane) - 1u))] = normal[r];
        cell.triangles += __popc(added);
    }
    low = __reduce_min_sync(all, low);
    high = __reduce_max_sync(all, high);
    cell.segment = low == high ? low : -1;
    __syncwarp();
}

/* Whether a vertex may_touch a triangle of the cell at all: by the normals, and by whether skin of one segment may touch itself
 * there. Skin beside its own cell faces the same way (detect.c: may_meet). */
static __device__ bool is_faced(const work &w, const cell_work &cell, int v)
{
    const bool kin = w.d->foot_segment[v] == cell.segment;
    const float limit = facing(kin ? SAME_SEGMENT : STRANGERS) + FACING_NEAR + 1e-5f;
    const float4 normal = w.normal[v];
    bool faced = false;
    for (int i = 0; i < cell.triangles && !faced; i++)
        faced = !(dot(cell.room->normal[i], normal) > limit);
    return faced && (!kin || w.d->folds[v]);
}

/* Leaves out vertices that are not faced. */
static __device__ __noinline__ void choose_faced(const work &w, cell_work &cell)
{
    const int lane = threadIdx.x % 32, end = cell.count;
    __syncwarp();
    if (cell.triangles < 0) ready_triangles(w, cell);
    cell.count = cell.faced;
    for (int begin = cell.faced; begin < end; begin += 32) {
        const float4 p = cell.room->near[min(begin + lane, end - 1)];
        const bool in = begin + lane < end && is_faced(w, cell, __float_as_int(p.w));
        const unsigned faced = __ballot_sync(0xffffffffu, in);
        __syncwarp(); /* all have read theirs before one writes */
        if (in) cell.room->near[cell.count + __popc(faced & ((1u << lane) - 1u))] = p;
        cell.count += __popc(faced);
        __syncwarp();
    }
    cell.faced = cell.count;
}

/* The first 32 hits, or all: a thread each. Those behind them move up. */
static __device__ __noinline__ void consider_hits(const work &w, test_room &room, int count)
{
    const int lane = threadIdx.x % 32;
    __syncwarp();
    if (lane < count) consider(w, room.hits[lane].x, room.hits[lane].y);
    __syncwarp();
    if (lane + 32 < count) room.hits[lane] = room.hits[lane + 32];
    __syncwarp();
}

/* `near` against tetrahedra that `lanes` threads have one each of, from number `begin` of the cell on. Returns the hits that are
 * still to be looked at. */
static __device__ int test_tets(const work &w, const cell_work &cell, int begin, int lanes)
{
    const int lane = threadIdx.x % 32, own = begin + lane % lanes, each = 32 / lanes, half = lane / lanes;
    const tet_map map = map_tet(w, cell.first + own, own < cell.tets);
    unsigned long long inside = 0; /* of those that this thread looks at: every one without knowing of the others */
    int hits = cell.hits;
#pragma unroll 4
    for (int i = 0; i * each < cell.count; i++) {
        const int n = i * each + half;
        const float4 p = cell.room->near[min(n, cell.count - 1)];
        if (n < cell.count && is_inside(map, p, __float_as_int(p.w))) inside |= 1ull << i;
    }
    for (unsigned some; (some = __ballot_sync(0xffffffffu, inside != 0)) != 0;) {
        if (inside != 0) {
            const int n = (__ffsll((long long)inside) - 1) * each + half;
            const int2 hit = make_int2(__float_as_int(cell.room->near[n].w), map.triangle);
            cell.room->hits[hits + __popc(some & ((1u << lane) - 1u))] = hit;
            inside &= inside - 1;
        }
        hits += __popc(some);
        if (hits < 32) continue;
        consider_hits(w, *cell.room, hits);
        hits -= 32;
    }
    return hits;
}

/* The vertices that are faced, and none are left: the first 32 tetrahedra, then the others, which half a warp has each. */
static __device__ __noinline__ void test_near(const work &w, cell_work &cell)
{
    __syncwarp();
#pragma unroll 1
    for (int begin = 0; begin < cell.tets; begin += 32)
        cell.hits = test_tets(w, cell, begin, begin == 0 ? 32 : 16);
    __syncwarp();
    cell.count = cell.faced = 0;
}

/* A vertex of the next two groups of `blocks`, which they leave: its place, and its number as bits. */
static __device__ float4 fetch_vertex(const work &w, int base, int split, unsigned &blocks)
{
    const int one = take_first(blocks), other = take_first(blocks), block = threadIdx.x % 32 < 16 ? one : other;
    if (block < 0) return make_float4(0.0f, 0.0f, 0.0f, __int_as_float(-1));
    return w.grouped[(base + block * split) * SUP_DETECT_CLUSTER + threadIdx.x % 16];
}

/* Vertices of the groups `blocks` of those from `base` on that are in the box, two groups at a time. */
static __device__ void test_blocks(const work &w, const cell_box &box, int base, int split, unsigned blocks,
                                   cell_work &cell)
{
    const unsigned all = 0xffffffffu;
    const int lane = threadIdx.x % 32;
    bool more = blocks != 0;
    float4 next = fetch_vertex(w, base, split, blocks);
    while (more) {
        const float4 p = next;
        more = blocks != 0;
        next = fetch_vertex(w, base, split, blocks); /* on the way while this one is looked at */
        const int v = __float_as_int(p.w);
        bool in = v >= 0 && is_within(p, box);
        const unsigned near = __ballot_sync(all, in);
        if (in) cell.room->near[cell.count + __popc(near & ((1u << lane) - 1u))] = p;
        cell.count += __popc(near);
        if (cell.count > 32) choose_faced(w, cell);
        if (cell.count > 32) test_near(w, cell);
    }
}

/* A cell, by a warp: part `part` of the groups of vertices, which `split` warps share in turn: neighbours in space, which are busy
 * together, apart. A warp that has a cell by itself looks at clusters of groups first. */
static __device__ void test_cell(const work &w, int number, int part, int split, test_room &room)
{
    static_assert(SUP_DETECT_TETS <= 48, "tetrahedra of a cell");
    const unsigned all = 0xffffffffu;
    const sup_detect &d = *w.d;
    const int lane = threadIdx.x % 32, clusters = clusters_of(d), first = d.cell_tet_first[number];
    const float4 *from = w.cell_box + SUP_GPU_CELL_FOURS * number, *boxes = w.block_box;
    const cell_box box = {from[0], from[1], from[2], from[3]};
    cell_work cell = {&room, 0, 0, first, d.cell_tet_first[number + 1] - first, 0, -1, -1};
    const int rounds = (d.block_count + 32 * split - 1) / (32 * split);
    for (int start = 0; start < rounds && cell.tets > 0; start += 32) {
        const int cluster = d.block_count + min(start + lane, clusters - 1);
        unsigned some = __ballot_sync(
            all, start + lane < rounds && (split > 1 || boxes_meet(boxes[2 * cluster], boxes[2 * cluster + 1], box)));
        while (some != 0) {
            const int base = (start + take_first(some)) * 32 * split + part, own = base + lane * split;
            const bool meet = own < d.block_count && boxes_meet(boxes[2 * own], boxes[2 * own + 1], box);
            test_blocks(w, box, base, split, __ballot_sync(all, meet), cell);
        }
    }
    if (cell.count > 0) choose_faced(w, cell);
    if (cell.count > 0) test_near(w, cell);
    if (cell.hits > 0) consider_hits(w, room, cell.hits);
}

/* --- Kernels --- */

__global__ void __launch_bounds__(THREADS)
    points_kernel(const __grid_constant__ sup_gpu_detect detect, const __grid_constant__ sup_gpu_state st,
                  const float *all_ends)
{
    const int character = blockIdx.y, v = blockIdx.x * THREADS + threadIdx.x;
    fan_view fan = fetch_fan(detect.view, v);
    wait_for_kernel();
    if (v < detect.view.vertex_count && looks(st, character)) find_point(detect, st, all_ends, character, v, fan);
}

/* Boxes of the groups of vertices, of `clusters` clusters of them, and of the cells. */
__global__ void __launch_bounds__(THREADS)
    boxes_kernel(const __grid_constant__ sup_gpu_detect detect, const __grid_constant__ sup_gpu_state st, int clusters)
{
    wait_for_kernel();
    const sup_detect &d = detect.view;
    const int character = blockIdx.y, i = blockIdx.x * WARPS + threadIdx.x / 32;
    const int cluster = i - d.block_count, cell = cluster - clusters;
    if (cell >= d.cell_count || !looks(st, character)) return;
    const work w = open_work(detect, st, character);
    const int first = cluster < 0 ? i : cluster * CLUSTER;
    if (cell >= 0)
        bound_cell(w, cell, w.cell_box + SUP_GPU_CELL_FOURS * cell);
    else
        bound_groups(w, first, cluster < 0 ? 1 : min(CLUSTER, d.block_count - first), w.block_box + 2 * i);
}

__global__ void __launch_bounds__(TEST_THREADS, 8)
    test_kernel(const __grid_constant__ sup_gpu_detect detect, const __grid_constant__ sup_gpu_state st, int split)
{
    __shared__ test_room room[TEST_WARPS];
    wait_for_kernel();
    const int warp = threadIdx.x / 32, number = blockIdx.x * TEST_WARPS + warp;
    if (number >= detect.view.cell_count * split || !looks(st, blockIdx.y)) return;
    test_cell(open_work(detect, st, blockIdx.y), number / split, number % split, split, room[warp]);
}

template <int LANES>
__global__ void __launch_bounds__(THREADS)
    pairs_kernel(const __grid_constant__ sup_gpu_detect detect, const __grid_constant__ sup_gpu_system s,
                 const __grid_constant__ sup_gpu_state st)
{
    wait_for_kernel();
    const int character = blockIdx.y, v = (blockIdx.x * THREADS + threadIdx.x) / LANES;
    if (!looks(st, character)) return;
    count_rows(st, character, find_row<LANES>(s, st, open_work(detect, st, character), character, v));
}

/* --- Launches --- */

extern "C" int32_t sup_gpu_detect_boxes(const sup_detect *view)
{
    return 2 * (view->block_count + clusters_of(*view));
}

extern "C" int sup_gpu_detect_step(const sup_gpu_detect *detect, const sup_gpu_system *system,
                                   const sup_gpu_state *state, const sup_gpu_body *body, void *stream)
{
    const sup_detect &d = detect->view;
    cudaStream_t on = (cudaStream_t)stream;
    const bool alone = system->lockstep == 1;
    const int split = alone ? ALONE_SPLIT : 1, clusters = alone ? 0 : clusters_of(d), lanes = alone ? 4 : 1;
    const int boxes = d.block_count + clusters + d.cell_count;
    const dim3 vertices((d.vertex_count + THREADS - 1) / THREADS, state->count);
    const dim3 pairs((lanes * d.vertex_count + THREADS - 1) / THREADS, state->count);
    launch_early(points_kernel, vertices, THREADS, 0, on, *detect, *state, body->ends);
    launch_early(boxes_kernel, dim3((boxes + WARPS - 1) / WARPS, state->count), THREADS, 0, on, *detect, *state,
                 clusters);
    launch_early(test_kernel, dim3((d.cell_count * split + TEST_WARPS - 1) / TEST_WARPS, state->count), TEST_THREADS, 0,
                 on, *detect, *state, split);
    launch_early(alone ? pairs_kernel<4> : pairs_kernel<1>, pairs, THREADS, 0, on, *detect, *system, *state);
    return (int)cudaGetLastError();
}

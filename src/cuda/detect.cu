/* detect.cu - which skin vertices are inside another part of the body: methods/projective/detect.c on the device.
 *
 * Based on: [komaritzan2022] section 3.2.5, "GPU-Based Global Collision Handling", which hashes vertices and tetrahedra into
 * cells. As on the CPU (detect.h says why) both lie in groups that were made once; a warp compares the box of its cell of
 * tetrahedra with those of all groups of vertices, and tests only what meets. The nearest triangle of a vertex is the least of
 * integer keys, and lists are sorted: the same rows from run to run. */
#include "cuda/gpu_contact.h"
#include "cuda/launch.cuh"
#include "cuda/vectors.cuh"
#include "cuda/wake.cuh"

#include <limits.h>
#include <math.h>

/* As in detect.c, where they are explained. */
#define REACH_OF_GAP 1.3f
#define MOST_OF_OWN_GAP 2.0f
#define KEEP_DISTANCE 1.7f
#define KEEP_BESIDE 0.5f
#define OWN_NORMAL 0.5f
#define FACING_KEPT 0.2f
#define FACING_NEAR 0.5f
#define FOLD_DEPTH 2.0f
#define PUSH_GAP 1.0f
#define LIMIT_GAP 2.0f
#define PRESS_FLESH 0.5f
#define LEAST_PRESS 1e-3f
#define ROW_STIFFNESS 1.0f
#define ROW_DAMPING 0.3f
#define LEAST_SHARE 0.1f /* solver_contact.c */
#define NO_PAIR 0xffffffffffffffffull
enum { STRANGERS, SAME_PIECE, NEIGHBOURS };
enum {
    WALK_STEPS = 8,
    THREADS = 256,
    WARPS = THREADS / 32,
    TEST_THREADS = 128,
    TEST_WARPS = TEST_THREADS / 32,
    ALONE_SPLIT = 6,
    FAN_AT_A_TIME = 3
};

static __device__ float facing(int kin)
{
    return kin == STRANGERS ? 0.3f : kin == SAME_PIECE ? 0.0f : -0.5f;
}

static __device__ float touch_gap(int kin)
{
    return kin == NEIGHBOURS ? 0.2f : 0.85f;
}

/* One character. */
struct work {
    const sup_detect *d;
    const float4 *skin, *normal, *points;
    unsigned long long *nearest;
    unsigned char *near;
};

static __device__ work open_work(const sup_gpu_detect &detect, const sup_gpu_state &st, int character)
{
    work w;
    size_t at = (size_t)character * detect.view.vertex_count;
    w.d = &detect.view;
    w.skin = st.carried + at;
    w.normal = detect.normal + at;
    w.points = detect.points + 2 * at;
    w.nearest = detect.nearest + at;
    w.near = st.near + at;
    return w;
}

static __device__ bool looks(const sup_gpu_state &st, int character)
{
    return st.orders[character].contact && !st.progress[character].asleep;
}

/* Groups of vertices go by BUNDLE, one for each thread of a warp. */
enum { BUNDLE = 32, CELL_FOURS = SUP_GPU_CELL_FOURS };

static __host__ __device__ int bundles_of(const sup_detect &d)
{
    return (d.block_count + BUNDLE - 1) / BUNDLE;
}

static __device__ float4 cross(float4 a, float4 b)
{
    return make_float4(a.y * b.z - a.z * b.y, a.z * b.x - a.x * b.z, a.x * b.y - a.y * b.x, 0.0f);
}

/* Zero where there is none. */
static __device__ float4 unit(float4 a)
{
    float length = sqrtf(dot(a, a)), scale = length > 0.0f ? 1.0f / length : 0.0f;
    return make_float4(a.x * scale, a.y * scale, a.z * scale, 0.0f);
}

/* --- Points and boxes --- */

__global__ void __launch_bounds__(THREADS)
    points_kernel(const __grid_constant__ sup_gpu_detect detect, const __grid_constant__ sup_gpu_state st,
                  const float *all_ends)
{
    wait_for_kernel();
    const sup_detect &d = detect.view;
    int character = blockIdx.y, v = blockIdx.x * THREADS + threadIdx.x;
    if (v >= d.vertex_count || !looks(st, character)) return;
    size_t at = (size_t)character * d.vertex_count;
    const float4 *skin = st.carried + at;
    float4 sum = make_float4(0.0f, 0.0f, 0.0f, 0.0f), own = skin[v];
    for (int first = d.fan_first[v], end = d.fan_first[v + 1]; first < end; first += FAN_AT_A_TIME) {
        float4 corner[FAN_AT_A_TIME][3]; /* all on the way at once; those beyond have no area */
#pragma unroll
        for (int i = 0; i < FAN_AT_A_TIME; i++) {
            const int32_t *t = d.triangles + 3 * (size_t)d.fan[min(first + i, end - 1)];
            for (int k = 0; k < 3; k++)
                corner[i][k] = skin[t[first + i < end ? k : 0]];
        }
#pragma unroll
        for (int i = 0; i < FAN_AT_A_TIME; i++)
            sum = add_scaled(sum, 1.0f, cross(minus(corner[i][1], corner[i][0]), minus(corner[i][2], corner[i][0])));
    }
    float4 normal = unit(sum);
    const float *ends = all_ends + ((size_t)character * d.piece_count + d.foot_piece[v]) * 8;
    float4 from = get(ends);
    detect.normal[at + v] = normal;
    detect.points[2 * at + v] = add_scaled(own, REACH_OF_GAP * d.gap[v], normal);
    detect.points[2 * at + d.vertex_count + v] = add_scaled(from, d.foot_at[v], minus(get(ends + 4), from));
    detect.nearest[at + v] = NO_PAIR;
    st.near[at + v] = 0;
}

/* Numbers that are in the order of floats; what is no number is beyond all of them. */
static __device__ int in_order(float v)
{
    const int bits = __float_as_int(v);
    return bits ^ (bits >> 31 & 0x7fffffff);
}

static __device__ float from_order(int v)
{
    return __int_as_float(v ^ (v >> 31 & 0x7fffffff));
}

/* How far points reach along the axes and along the four diagonals of a cube. */
enum { AXES = 7 };

static __device__ void along_axes(float4 p, float to[AXES])
{
    const float sum = p.x + p.y, difference = p.x - p.y;
    to[0] = p.x, to[1] = p.y, to[2] = p.z;
    to[3] = sum + p.z, to[4] = sum - p.z, to[5] = difference + p.z, to[6] = difference - p.z;
}

/* Boxes of the groups of vertices, of BUNDLE groups each, and of the cells, with their diagonals: a warp each. */
__global__ void __launch_bounds__(THREADS)
    boxes_kernel(const __grid_constant__ sup_gpu_detect detect, const __grid_constant__ sup_gpu_state st)
{
    wait_for_kernel();
    const sup_detect &d = detect.view;
    const int character = blockIdx.y, i = blockIdx.x * WARPS + threadIdx.x / 32, lane = threadIdx.x % 32;
    const int bundle = i - d.block_count, cell = bundle - bundles_of(d);
    if (cell >= d.cell_count || !looks(st, character)) return;
    const work w = open_work(detect, st, character);
    float lower[AXES], upper[AXES], at[AXES];
    for (int k = 0; k < AXES; k++)
        lower[k] = INFINITY, upper[k] = -INFINITY;
    const int each = bundle < 0 ? SUP_DETECT_BLOCK : BUNDLE * SUP_DETECT_BLOCK;
    const int first = cell >= 0 ? d.cell_point_first[cell] : (bundle < 0 ? i : bundle) * each;
    const int end = cell >= 0 ? d.cell_point_first[cell + 1] : min(first + each, d.block_count * SUP_DETECT_BLOCK);
    for (int e = first + lane; e < end; e += 32) {
        int point = cell < 0 ? d.block_vertex[e] : d.cell_point[e];
        if (point < 0) continue;
        along_axes(cell < 0 ? w.skin[point] : w.points[point], at);
#pragma unroll
        for (int k = 0; k < AXES; k++) {
            lower[k] = fminf(lower[k], at[k]); /* what is no number is left out */
            upper[k] = fmaxf(upper[k], at[k]);
        }
    }
    for (int k = 0; k < AXES && (k < 3 || cell >= 0); k++) {
        lower[k] = from_order(__reduce_min_sync(0xffffffffu, in_order(lower[k])));
        upper[k] = from_order(__reduce_max_sync(0xffffffffu, in_order(upper[k])));
    }
    if (lane > 0) return;
    float4 *to = cell < 0 ? detect.block_box + 2 * ((size_t)character * (d.block_count + bundles_of(d)) + i)
                          : detect.cell_box + CELL_FOURS * ((size_t)character * d.cell_count + cell);
    to[0] = make_float4(lower[0], lower[1], lower[2], 0.0f);
    to[1] = make_float4(upper[0], upper[1], upper[2], 0.0f);
    if (cell < 0) return;
    to[2] = make_float4(lower[3], lower[4], lower[5], lower[6]);
    to[3] = make_float4(upper[3], upper[4], upper[5], upper[6]);
}

/* --- One vertex and one triangle --- */

static __device__ bool in_ring(const sup_detect &d, int v, int other)
{
    int low = d.ring_first[v], end = d.ring_first[v + 1], high = end; /* rising */
    while (low < high) {
        int middle = (low + high) / 2;
        if (d.ring[middle] < other)
            low = middle + 1;
        else
            high = middle;
    }
    return low < end && d.ring[low] == other;
}

static __device__ int kin_of(const sup_detect &d, int v, int triangle)
{
    const int32_t *t = d.triangles + 3 * (size_t)triangle;
    if (in_ring(d, v, t[0]) || in_ring(d, v, t[1]) || in_ring(d, v, t[2])) return NEIGHBOURS;
    int piece = d.foot_piece[v];
    return piece == d.foot_piece[t[0]] || piece == d.foot_piece[t[1]] || piece == d.foot_piece[t[2]] ? SAME_PIECE
                                                                                                     : STRANGERS;
}

static __device__ bool is_corner(const sup_detect &d, int v, int triangle)
{
    const int32_t *t = d.triangles + 3 * (size_t)triangle;
    return t[0] == v || t[1] == v || t[2] == v;
}

/* A vertex seen from a triangle. */
struct sight {
    float4 normal;   /* unit */
    float height;    /* of the vertex above the plane */
    float distance2; /* to the nearest point of the triangle */
    float weight[3]; /* of that point */
};

/* Weight of the second end at the point of segment ab nearest to p. */
static __device__ float along(float4 p, float4 a, float4 b)
{
    float4 d = minus(b, a);
    float dd = dot(d, d), s = dd > 0.0f ? dot(minus(p, a), d) / dd : 0.0f;
    return s < 0.0f ? 0.0f : s > 1.0f ? 1.0f : s;
}

static __device__ sight look(const work &w, float4 p, int triangle)
{
    const int32_t *t = w.d->triangles + 3 * (size_t)triangle;
    const float4 c[3] = {w.skin[t[0]], w.skin[t[1]], w.skin[t[2]]};
    float4 area = cross(minus(c[1], c[0]), minus(c[2], c[0]));
    sight view;
    view.normal = unit(area);
    view.height = dot(view.normal, minus(p, c[0]));
    view.distance2 = INFINITY;
    float whole = dot(area, area), least = INFINITY;
#pragma unroll
    for (int k = 0; k < 3; k++) {
        view.weight[k] = dot(area, cross(minus(c[(k + 1) % 3], p), minus(c[(k + 2) % 3], p))) / whole;
        least = fminf(least, view.weight[k]);
    }
    if (whole > 0.0f && least >= 0.0f) {
        float sum = view.weight[0] + view.weight[1] + view.weight[2];
#pragma unroll
        for (int k = 0; k < 3; k++)
            view.weight[k] /= sum;
        view.distance2 = view.height * view.height;
        return view;
    }
#pragma unroll
    for (int k = 0; k < 3; k++) { /* outside: on the nearest edge */
        float s = along(p, c[k], c[(k + 1) % 3]);
        float4 off = minus(p, add_scaled(c[k], s, minus(c[(k + 1) % 3], c[k])));
        if (!(dot(off, off) < view.distance2)) continue;
        view.distance2 = dot(off, off);
        view.weight[k] = 1.0f - s;
        view.weight[(k + 1) % 3] = s;
        view.weight[(k + 2) % 3] = 0.0f;
    }
    return view;
}

/* Gap of a vertex at the nearest point. */
static __device__ float gap_at(const work &w, int v, int triangle, const sight &view)
{
    const int32_t *t = w.d->triangles + 3 * (size_t)triangle;
    const float *gap = w.d->gap;
    return fminf(view.weight[0] * gap[t[0]] + view.weight[1] * gap[t[1]] + view.weight[2] * gap[t[2]],
                 MOST_OF_OWN_GAP * gap[v]);
}

static __device__ float4 foot_point(const work &w, int v)
{
    return w.points[w.d->vertex_count + v];
}

/* Two outer sides that meet. `more` is allowed to a pair that is there. */
static __device__ bool may_touch(const work &w, int v, int triangle, const sight &view, float more)
{
    const sup_detect &d = *w.d;
    if (is_corner(d, v, triangle)) return false;
    /* First what is known at once: strangers may face each other the most. */
    float4 flesh = unit(minus(w.skin[v], foot_point(w, v)));
    float agree = dot(view.normal, w.normal[v]);
    if (!(agree < facing(STRANGERS) + more && dot(view.normal, flesh) < facing(STRANGERS) + more)) return false;
    int kin = kin_of(d, v, triangle);
    if (kin == STRANGERS) return true;
    return agree < facing(kin) + more && d.folds[v] && d.folds[d.vertex_count + triangle] &&
           !(view.height < -FOLD_DEPTH * (1.0f + more) * gap_at(w, v, triangle, view));
}

/* --- Vertices in tetrahedra --- */

/* For parting (part.cu). */
static __device__ void mark_near(const work &w, int v, int triangle)
{
    const int32_t *t = w.d->triangles + 3 * (size_t)triangle;
    w.near[v] = w.near[t[0]] = w.near[t[1]] = w.near[t[2]] = 1;
}

/* A vertex that is inside a tetrahedron of the triangle, which is not its own. */
static __device__ __noinline__ void consider(const work &w, int v, int triangle)
{
    sight view = look(w, w.skin[v], triangle);
    if (!isfinite(view.distance2) || !may_touch(w, v, triangle, view, FACING_NEAR)) return;
    /* Skin that is near in the bind pose is no pair before it pushes. */
    float slack = w.d->slack[v];
    if (slack > 0.0f && !(view.height < gap_at(w, v, triangle, view) - slack)) return;
    mark_near(w, v, triangle);
    if (!may_touch(w, v, triangle, view, 0.0f)) return;
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

/* Vertices that are in the box of a warp's cell, which has the tetrahedra from `first` on. */
struct cell_work {
    float4 *near;   /* [2*32] places, and vertices as bits */
    float4 *normal; /* [SUP_DETECT_TETS] unit, of its triangles, once they are needed */
    int count, first, tets;
    int faced;            /* of the vertices, the first so many have a triangle that they may touch */
    int triangles, piece; /* -1: not there yet; of bone that each of them has a corner of, -1 for none */
};

static __device__ void ready_triangles(const work &w, cell_work &cell)
{
    const sup_detect &d = *w.d;
    const int lane = threadIdx.x % 32;
    int low = INT_MAX, high = -1;
    cell.triangles = 0;
    for (int begin = 0; begin < cell.tets; begin += 32) {
        const int tet = cell.first + min(begin + lane, cell.tets - 1), triangle = d.tet_triangle[tet];
        const int32_t *t = d.triangles + 3 * (size_t)triangle;
        const bool new_one = begin + lane < cell.tets && (tet == cell.first || d.tet_triangle[tet - 1] != triangle);
        const unsigned added = __ballot_sync(0xffffffffu, new_one);
        const float4 c = w.skin[t[0]], normal = unit(cross(minus(w.skin[t[1]], c), minus(w.skin[t[2]], c)));
        if (new_one) cell.normal[cell.triangles + __popc(added & ((1u << lane) - 1u))] = normal;
        cell.triangles += __popc(added);
        low = min(low, d.foot_piece[t[0]]);
        high = max(high, d.foot_piece[t[0]]);
    }
    low = __reduce_min_sync(0xffffffffu, low);
    cell.piece = low == __reduce_max_sync(0xffffffffu, high) ? low : -1;
    __syncwarp();
}

/* Whether a vertex may_touch a triangle of the cell at all: by the normals, and by whether skin of one piece may touch itself
 * there. Skin beside its own cell faces the same way (detect.c: may_meet). */
static __device__ bool is_faced(const work &w, const cell_work &cell, int v)
{
    const bool kin = w.d->foot_piece[v] == cell.piece;
    const float limit = facing(kin ? SAME_PIECE : STRANGERS) + FACING_NEAR + 1e-5f;
    const float4 normal = w.normal[v];
    bool faced = false;
    for (int i = 0; i < cell.triangles && !faced; i++)
        faced = !(dot(cell.normal[i], normal) > limit);
    return faced && (!kin || w.d->folds[v]);
}

/* Leaves out vertices that are not faced. */
static __device__ __noinline__ void choose_faced(const work &w, cell_work &cell)
{
    const int lane = threadIdx.x % 32, end = cell.count;
    __syncwarp();
    if (cell.triangles < 0) ready_triangles(w, cell);
    for (int begin = cell.count = cell.faced; begin < end; begin += 32) {
        const float4 p = cell.near[min(begin + lane, end - 1)];
        const bool in = begin + lane < end && is_faced(w, cell, __float_as_int(p.w));
        const unsigned faced = __ballot_sync(0xffffffffu, in);
        if (in) cell.near[cell.count + __popc(faced & ((1u << lane) - 1u))] = p;
        cell.count += __popc(faced);
        __syncwarp();
    }
    cell.faced = cell.count;
}

/* `near` against tetrahedra that `lanes` threads have one each of, from number `begin` of the cell on. */
static __device__ void test_tets(const work &w, const cell_work &cell, int begin, int lanes)
{
    const int lane = threadIdx.x % 32, own = begin + lane % lanes;
    const tet_map map = map_tet(w, cell.first + own, own < cell.tets);
    for (int i = lane / lanes; i < cell.count; i += 32 / lanes) {
        const float4 p = cell.near[i];
        if (is_inside(map, p, __float_as_int(p.w))) consider(w, __float_as_int(p.w), map.triangle);
    }
}

/* The vertices that are faced, and none are left: the first 32 tetrahedra, then the others, which half a warp has each. */
static __device__ __noinline__ void test_near(const work &w, cell_work &cell)
{
    __syncwarp();
    test_tets(w, cell, 0, 32);
    if (cell.tets > 32) test_tets(w, cell, 32, 16);
    __syncwarp();
    cell.count = cell.faced = 0;
}

/* Vertices of the groups `blocks` of those from `base` on that are in the box, two groups at a time. */
static __device__ void test_blocks(const work &w, const cell_box &box, int base, int split, unsigned blocks,
                                   cell_work &cell)
{
    const unsigned all = 0xffffffffu;
    const int lane = threadIdx.x % 32;
    while (blocks != 0) {
        const int one = take_first(blocks), other = take_first(blocks), block = lane < 16 ? one : other;
        const int v = block >= 0 ? w.d->block_vertex[(base + block * split) * SUP_DETECT_BLOCK + lane % 16] : -1;
        float4 p = w.skin[v >= 0 ? v : 0];
        bool in = v >= 0 && is_within(p, box);
        const unsigned near = __ballot_sync(all, in);
        p.w = __int_as_float(v);
        if (in) cell.near[cell.count + __popc(near & ((1u << lane) - 1u))] = p;
        cell.count += __popc(near);
        if (cell.count > 32) choose_faced(w, cell);
        if (cell.count > 32) test_near(w, cell);
    }
}

/* A cell, by `split` warps that share the groups of vertices in turn: neighbours in space, which are busy together, apart. A warp
 * that has a cell by itself looks at bundles of groups first. */
__global__ void __launch_bounds__(TEST_THREADS, 8)
    test_kernel(const __grid_constant__ sup_gpu_detect detect, const __grid_constant__ sup_gpu_state st, int split)
{
    static_assert(SUP_DETECT_TETS <= 48, "tetrahedra of a cell");
    __shared__ float4 near[TEST_WARPS][2 * 32], normal[TEST_WARPS][SUP_DETECT_TETS];
    wait_for_kernel();
    const unsigned all = 0xffffffffu;
    const sup_detect &d = detect.view;
    const int character = blockIdx.y, warp = threadIdx.x / 32, lane = threadIdx.x % 32, bundles = bundles_of(d);
    const int number = (blockIdx.x * TEST_WARPS + warp) / split, part = (blockIdx.x * TEST_WARPS + warp) % split;
    if (number >= d.cell_count || !looks(st, character)) return;
    const work w = open_work(detect, st, character);
    const float4 *from = detect.cell_box + CELL_FOURS * ((size_t)character * d.cell_count + number);
    const float4 *boxes = detect.block_box + 2 * (size_t)character * (d.block_count + bundles);
    const cell_box box = {from[0], from[1], from[2], from[3]};
    const int first = d.cell_tet_first[number];
    cell_work cell = {near[warp], normal[warp], 0, first, d.cell_tet_first[number + 1] - first, 0, -1, -1};
    const int rounds = (d.block_count + 32 * split - 1) / (32 * split);
    for (int start = 0; start < rounds && cell.tets > 0; start += 32) {
        const int bundle = d.block_count + min(start + lane, bundles - 1);
        unsigned some = __ballot_sync(
            all, start + lane < rounds && (split > 1 || boxes_meet(boxes[2 * bundle], boxes[2 * bundle + 1], box)));
        while (some != 0) {
            const int base = (start + take_first(some)) * 32 * split + part, own = base + lane * split;
            const bool meet = own < d.block_count && boxes_meet(boxes[2 * own], boxes[2 * own + 1], box);
            test_blocks(w, box, base, split, __ballot_sync(all, meet), cell);
        }
    }
    if (cell.count > 0) choose_faced(w, cell);
    if (cell.count > 0) test_near(w, cell);
}

/* --- Pairs and rows --- */

/* Down to the triangle nearest to the vertex, from neighbour to neighbour. */
static __device__ int walk(const work &w, int v, int triangle, float more, sight &view)
{
    float4 p = w.skin[v];
    view = look(w, p, triangle);
    for (int step = 0; step < WALK_STEPS; step++) {
        const int32_t *beside = w.d->beside + 3 * (size_t)triangle;
        int best = -1;
        sight best_view = view;
        for (int k = 0; k < 3; k++) {
            if (beside[k] < 0) continue;
            sight next = look(w, p, beside[k]);
            if (!(next.distance2 < best_view.distance2) || !may_touch(w, v, beside[k], next, more)) continue;
            best = beside[k];
            best_view = next;
        }
        if (best < 0) break;
        triangle = best;
        view = best_view;
    }
    return triangle;
}

static __device__ float flesh_depth(const work &w, int v)
{
    float4 d = minus(w.skin[v], foot_point(w, v));
    return sqrtf(dot(d, d));
}

static __device__ float prism_depth(const work &w, int triangle)
{
    const int32_t *t = w.d->triangles + 3 * (size_t)triangle;
    return fmaxf(flesh_depth(w, t[0]), fmaxf(flesh_depth(w, t[1]), flesh_depth(w, t[2])));
}

static __device__ bool stays(const work &w, int v, int triangle, const sight &view)
{
    float reach = KEEP_BESIDE * w.d->edge[0], beside2 = view.distance2 - view.height * view.height;
    float deepest = prism_depth(w, triangle), gap = gap_at(w, v, triangle, view);
    return view.height < KEEP_DISTANCE * gap - w.d->slack[v] && beside2 < reach * reach &&
           dot(view.normal, view.normal) > 0.5f && may_touch(w, v, triangle, view, FACING_KEPT) &&
           view.distance2 < 2.0f * deepest * deepest;
}

/* Height at which the vertex touches. */
static __device__ float touch_height(const work &w, int v, int triangle, const sight &view)
{
    const float gap = gap_at(w, v, triangle, view);
    return fminf(touch_gap(kin_of(*w.d, v, triangle)) * gap, gap - w.d->slack[v]);
}

/* The triangle that the vertex touches now, -1 for none. `anew`: pairs that push and would not be found now end. */
static __device__ int update_pair(const work &w, int v, int triangle, bool anew, sight &view)
{
    unsigned long long key = w.nearest[v];
    if (triangle >= 0) {
        triangle = walk(w, v, triangle, FACING_KEPT, view);
        const bool left_over = anew && key == NO_PAIR && view.height < touch_height(w, v, triangle, view);
        if (!left_over && stays(w, v, triangle, view)) return triangle;
    }
    if (key == NO_PAIR) return -1;
    return walk(w, v, (int)(key & 0xffffffffu), 0.0f, view);
}

static __device__ float4 push_normal(const work &w, int v, int triangle, const sight &view)
{
    const int32_t *t = w.d->triangles + 3 * (size_t)triangle;
    float4 sum = make_float4(0.0f, 0.0f, 0.0f, 0.0f);
    for (int k = 0; k < 3; k++)
        sum = add_scaled(sum, view.weight[k], w.normal[t[k]]);
    sum = unit(add_scaled(unit(sum), -OWN_NORMAL, w.normal[v]));
    return dot(sum, view.normal) > 0.2f ? sum : view.normal;
}

/* Where the row's vertices were at the start of the step, and how far they give way to a unit force, each alone. */
static __device__ float start_row(const sup_gpu_system &s, const sup_gpu_state &st, int character, sup_gpu_row &row,
                                  float &moves)
{
    const int phase = st.progress[character].phase;
    const float4 *x = st.x[phase & 1] + (size_t)character * s.unknown_count;
    const float4 *anchors = st.anchors[(phase + 2) % 3] + (size_t)character * s.anchor_count;
    float4 start = make_float4(0.0f, 0.0f, 0.0f, 0.0f);
    float give = 0.0f;
    moves = 0.0f;
    for (int j = 0; j < 4; j++) {
        bool free_place = row.place[j] < s.unknown_count;
        if (free_place) {
            give += row.weight[j] * row.weight[j] / s.diagonal[row.place[j]];
            moves += row.weight[j] * row.weight[j];
        }
        start =
            add_scaled(start, row.weight[j], free_place ? x[row.place[j]] : anchors[row.place[j] - s.unknown_count]);
    }
    put(row.start, start);
    return give;
}

/* detect.c and solver_contact.c: make_row. Rows that make no sense push nothing. */
static __device__ sup_gpu_row make_row(const sup_gpu_system &s, const sup_gpu_state &st, const work &w, int character,
                                       int v, int triangle, const sight &view)
{
    const int32_t *t = w.d->triangles + 3 * (size_t)triangle;
    sup_gpu_row row = {};
    float4 normal = push_normal(w, v, triangle, view), off = w.skin[v];
    float gap = gap_at(w, v, triangle, view), slack = w.d->slack[v], touch = touch_height(w, v, triangle, view);
    float away =
        (view.height - touch) / (KEEP_DISTANCE * gap - slack - touch); /* 0 where the row pushes, 1 where it ends */
    float flesh = PRESS_FLESH * 0.5f * (prism_depth(w, triangle) + flesh_depth(w, v));
    row.place[0] = s.place[v];
    row.weight[0] = 1.0f;
    for (int k = 0; k < 3; k++) {
        row.place[1 + k] = s.place[t[k]];
        row.weight[1 + k] = -view.weight[k];
        off = add_scaled(off, -view.weight[k], w.skin[t[k]]);
    }
    put(row.normal, normal);
    row.offset = fminf(touch, dot(normal, off) + PUSH_GAP * gap);
    row.friction = st.orders[character].friction;
    row.limit = LIMIT_GAP * gap > 0.0f ? LIMIT_GAP * gap : INFINITY;
    row.cap = -1.0f;
    float moves, give = start_row(s, st, character, row, moves);
    row.stiffness = ROW_STIFFNESS * fminf(1.0f, fmaxf(LEAST_PRESS, 2.0f + 2.0f * view.height / flesh)) / give;
    row.stiffness *= fminf(1.0f, moves / LEAST_SHARE);
    row.damping = ROW_DAMPING * fminf(1.0f, fmaxf(0.0f, 1.0f - away)) * row.stiffness;
    bool sound = fabsf(dot(normal, normal) - 1.0f) < 0.01f && isfinite(row.offset) && isfinite(row.stiffness) &&
                 isfinite(row.damping) && give > 0.0f;
    for (int k = 1; k < 4; k++)
        sound = sound && fabsf(row.weight[k]) <= 2.0f;
    if (sound) return row;
    for (int k = 0; k < 4; k++)
        row.weight[k] = 0.0f;
    put(row.normal, make_float4(0.0f, 0.0f, 0.0f, 0.0f));
    put(row.start, make_float4(0.0f, 0.0f, 0.0f, 0.0f));
    row.offset = row.stiffness = row.damping = row.friction = 0.0f;
    return row;
}

__global__ void __launch_bounds__(THREADS)
    pairs_kernel(const __grid_constant__ sup_gpu_detect detect, const __grid_constant__ sup_gpu_system s,
                 const __grid_constant__ sup_gpu_state st)
{
    wait_for_kernel();
    int character = blockIdx.y, v = blockIdx.x * THREADS + threadIdx.x;
    if (!looks(st, character)) return;
    const work w = open_work(detect, st, character);
    size_t at = (size_t)character * s.row_count + v;
    bool pushes = false;
    if (v < s.skin_count && (st.pair[at] >= 0 || w.nearest[v] != NO_PAIR)) {
        sight view;
        int triangle = update_pair(w, v, st.pair[at], st.progress[character].still == STILL_TOUCH, view);
        st.pair[at] = triangle;
        pushes = triangle >= 0;
        if (pushes) {
            st.rows[at] = make_row(s, st, w, character, v, triangle, view);
            mark_near(w, v, triangle);
        }
    }
    unsigned found = __ballot_sync(0xffffffffu, pushes);
    if (threadIdx.x % 32 == 0 && found != 0) atomicAdd(&st.progress[character].rows, __popc(found));
}

/* --- Launches --- */

extern "C" int32_t sup_gpu_detect_boxes(const sup_detect *view)
{
    return 2 * (view->block_count + bundles_of(*view));
}

extern "C" int sup_gpu_detect_step(const sup_gpu_detect *detect, const sup_gpu_system *system,
                                   const sup_gpu_state *state, const sup_gpu_body *body, void *stream)
{
    const sup_detect &d = detect->view;
    cudaStream_t on = (cudaStream_t)stream;
    int boxes = d.block_count + bundles_of(d) + d.cell_count, split = system->lockstep == 1 ? ALONE_SPLIT : 1;
    dim3 vertices((d.vertex_count + THREADS - 1) / THREADS, state->count);
    launch_early(points_kernel, vertices, THREADS, 0, on, *detect, *state, body->ends);
    launch_early(boxes_kernel, dim3((boxes + WARPS - 1) / WARPS, state->count), THREADS, 0, on, *detect, *state);
    launch_early(test_kernel, dim3((d.cell_count * split + TEST_WARPS - 1) / TEST_WARPS, state->count), TEST_THREADS, 0,
                 on, *detect, *state, split);
    launch_early(pairs_kernel, vertices, THREADS, 0, on, *detect, *system, *state);
    return (int)cudaGetLastError();
}

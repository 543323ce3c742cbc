/* untangle_find.cuh (internal) - finds edges of the render mesh that cross triangles: untangle/untangle_find.c on the
 * device.
 *
 * As there: boxes of triangle clusters, then the triangles of clusters whose boxes overlap. A warp compares its
 * cluster with 32 others at a time. Pairs of crossing triangles are stored as keys that sort into the order in which
 * the CPU finds them. */
#ifndef SUP_CUDA_UNTANGLE_FIND_CUH
#define SUP_CUDA_UNTANGLE_FIND_CUH

#include "cuda/gpu_untangle.h"
#include "cuda/launch.cuh"
#include "cuda/vectors.cuh"
#include "untangle/untangle_rules.h"

#include <limits.h>
#include <math.h>

enum { FIND_THREADS = 256, FIND_WARPS = FIND_THREADS / 32, CLUSTER = SUP_UNTANGLE_CLUSTER };
/* Flags of sup_gpu_untangle_scratch.state, as in untangle.c. KNOWN: its position is in `vertex`; PATCHED: its patch
 * is not NO_PATCH. */
enum { KNOWN = 1, INSIDE = 2, OUTSIDE = 4, LISTED = 8, FOLD = 16, PATCHED = 32 };

/* Positions of the vertices of a character. */
struct untangle_positions {
    const sup_untangle_view *view;
    const int32_t *first_render; /* of sup_gpu_untangle */
    const char *render;          /* the character's render vertices, */
    size_t stride;               /* bytes from one to the next */
    /* Before the first iteration: offsets of the last frame, NULL for none. */
    const float *offset;
    float offset_fraction;
    /* Later: positions of known vertices. */
    const int32_t *state;
    const sup_gpu_untangle_vertex *vertex;
};

/* Position of a vertex before untangling. */
static __device__ float4 start_of(const untangle_positions &p, int v)
{
    return get((const float *)(p.render + (size_t)p.first_render[v] * p.stride));
}

static __device__ float4 position_of(const untangle_positions &p, int v)
{
    if (p.state != NULL) { /* both loads in flight at once */
        const float4 x = p.vertex[v].x;
        const int state = p.state[v];
        const float *from = (const float *)(p.render + (size_t)p.first_render[v] * p.stride);
        return state & KNOWN ? x : get(from);
    }
    const float4 from = start_of(p, v);
    return p.offset != NULL ? add_scaled(from, p.offset_fraction, get(p.offset + 3 * (size_t)v)) : from;
}

static __device__ float4 cross_of(float4 a, float4 b)
{
    return make_float4(a.y * b.z - a.z * b.y, a.z * b.x - a.x * b.z, a.x * b.y - a.y * b.x, 0.0f);
}

/* A triangle. The normal has twice the area's length; its w is the rounding error of a height times that length. */
struct triangle {
    int corner[3];
    bool counts; /* false: it is skipped */
    float4 p[3], normal;
};

static __device__ triangle triangle_of(const untangle_positions &positions, int number)
{
    const sup_untangle_view &view = *positions.view;
    const int last = view.triangle_count - 1, at = min(number, last);
    triangle t;
    for (int k = 0; k < 3; k++) {
        t.corner[k] = view.triangles[3 * (size_t)at + k];
        t.p[k] = position_of(positions, t.corner[k]);
    }
    t.counts = number <= last && !view.crosses_at_rest[at];
    const float4 e = minus(t.p[1], t.p[0]), f = minus(t.p[2], t.p[0]);
    t.normal = cross_of(e, f);
    t.normal.w = SUP_UNTANGLE_ROUNDING * sqrtf(dot(t.normal, t.normal) * fmaxf(dot(e, e), dot(f, f)));
    return t;
}

static __device__ float4 lower_of(const triangle &t)
{
    return make_float4(fminf(t.p[0].x, fminf(t.p[1].x, t.p[2].x)), fminf(t.p[0].y, fminf(t.p[1].y, t.p[2].y)),
                       fminf(t.p[0].z, fminf(t.p[1].z, t.p[2].z)), 0.0f);
}

static __device__ float4 upper_of(const triangle &t)
{
    return make_float4(fmaxf(t.p[0].x, fmaxf(t.p[1].x, t.p[2].x)), fmaxf(t.p[0].y, fmaxf(t.p[1].y, t.p[2].y)),
                       fmaxf(t.p[0].z, fmaxf(t.p[1].z, t.p[2].z)), 0.0f);
}

static __device__ bool boxes_overlap(float4 lower, float4 upper, float4 other_lower, float4 other_upper)
{
    return !(upper.x < other_lower.x || other_upper.x < lower.x || upper.y < other_lower.y || other_upper.y < lower.y ||
             upper.z < other_lower.z || other_upper.z < lower.z);
}

/* --- Clusters --- */

/* Boxes of a character's active clusters, structure of arrays of `count`, for coalesced loads: lower corners, w the
 * cosine of the normal cone; upper corners; axes of the cones. */
struct cluster_boxes {
    float4 *lower;
    int count;
};

static __device__ float4 &upper_at(const cluster_boxes &boxes, int i)
{
    return boxes.lower[boxes.count + i];
}

static __device__ float4 &axis_at(const cluster_boxes &boxes, int i)
{
    return boxes.lower[2 * boxes.count + i];
}

static __device__ float minimum_of_cluster(float value)
{
    for (int d = CLUSTER / 2; d > 0; d >>= 1)
        value = fminf(value, __shfl_xor_sync(0xffffffffu, value, d));
    return value;
}

/* Box and normal cone of a cluster, by half a warp. */
static __device__ void bound_cluster(const untangle_positions &positions, int cluster, bool write,
                                     const cluster_boxes &boxes, int at)
{
    const unsigned all = 0xffffffffu;
    const int lane = threadIdx.x % CLUSTER, first = threadIdx.x % 32 - lane;
    const triangle t = triangle_of(positions, cluster * CLUSTER + lane);
    const float4 low = lower_of(t), high = upper_of(t);
    const float lower[3] = {low.x, low.y, low.z}, upper[3] = {high.x, high.y, high.z};
    float whole[6];
    for (int k = 0; k < 3; k++) {
        whole[k] = minimum_of_cluster(t.counts ? lower[k] : INFINITY);
        whole[3 + k] = -minimum_of_cluster(t.counts ? -upper[k] : INFINITY);
    }
    float4 sum = make_float4(0.0f, 0.0f, 0.0f, 0.0f);
    for (int i = 0; i < CLUSTER; i++) { /* in the order of the triangles, as on the CPU */
        sum.x += __shfl_sync(all, t.normal.x, first + i);
        sum.y += __shfl_sync(all, t.normal.y, first + i);
        sum.z += __shfl_sync(all, t.normal.z, first + i);
    }
    const float length = sqrtf(dot(sum, sum)), scale = length > 0.0f ? 1.0f / length : 0.0f;
    const float4 axis = make_float4(sum.x * scale, sum.y * scale, sum.z * scale, 0.0f);
    const float size = sqrtf(dot(t.normal, t.normal));
    const float cosine = fminf(1.0f, minimum_of_cluster(size > 0.0f ? dot(t.normal, axis) / size : 1.0f));
    if (lane > 0 || !write) return;
    boxes.lower[at] = make_float4(whole[0], whole[1], whole[2], cosine);
    upper_at(boxes, at) = make_float4(whole[3], whole[4], whole[5], 0.0f);
    axis_at(boxes, at) = axis;
}

/* Bounds `count` active clusters: those with the indices `which`, unless it is NULL. By `warps` warps of which this
 * is number `warp`. */
static __device__ void bound_clusters(const untangle_positions &positions, const int32_t *active, const int32_t *which,
                                      int count, int warp, int warps, const cluster_boxes &boxes)
{
    for (int i = 2 * warp; i < count; i += 2 * warps) {
        const int own = i + (int)threadIdx.x % 32 / CLUSTER, last = min(own, count - 1);
        const int at = which != NULL ? which[last] : last;
        bound_cluster(positions, active[at], own < count, boxes, at);
    }
}

/* All normals of two clusters are within 90 degrees of each other. */
static __device__ bool cones_agree(const cluster_boxes &boxes, int i, int j)
{
    return sup_untangle_cones_agree(boxes.lower[i].w, boxes.lower[j].w, dot(axis_at(boxes, i), axis_at(boxes, j)));
}

static __device__ bool is_adjacent(const sup_untangle_view &view, int a, int b)
{
    if (a == b) return true;
    for (int i = view.adjacent_first[a]; i < view.adjacent_first[a + 1]; i++)
        if (view.adjacent[i] == b) return true;
    return false;
}

/* --- Triangles --- */

static __device__ bool share_corner(const triangle &a, const triangle &b)
{
    for (int i = 0; i < 3; i++)
        if (a.corner[i] == b.corner[0] || a.corner[i] == b.corner[1] || a.corner[i] == b.corner[2]) return true;
    return false;
}

/* Some corners of `of` are below the plane of `t` and some above it. */
static __device__ bool on_both_sides(const triangle &of, const triangle &t)
{
    float low = INFINITY, high = -INFINITY;
#pragma unroll
    for (int c = 0; c < 3; c++) {
        const float height = dot(t.normal, minus(of.p[c], t.p[0]));
        low = fminf(low, height);
        high = fmaxf(high, height);
    }
    return low < -t.normal.w && t.normal.w < high;
}

/* Point where the edge from `in` to `far` crosses the plane of `t`, and its barycentric weights; whether it is in the
 * triangle. */
static __device__ bool cross_edge(const triangle &t, float4 in, float4 far, float s, float square, float4 &point,
                                  float weight[3])
{
    point = add_scaled(in, s, minus(far, in));
#pragma unroll
    for (int k = 0; k < 3; k++) {
        const float4 a = t.p[(k + 1) % 3], b = t.p[(k + 2) % 3];
        weight[k] = dot(t.normal, cross_of(minus(b, a), minus(point, a))) / square;
        if (!(weight[k] >= 0.0f)) return false;
    }
    return true;
}

/* Edges of `of` that cross `t`, triangle number `number`: at most `capacity` crossings into `to`, or only their
 * number where that is NULL. One function for both, since both must round alike. */
static __device__ __noinline__ int cross_edges(const triangle &t, int number, const triangle &of,
                                               sup_gpu_untangle_crossing *to, int capacity)
{
    const float square = dot(t.normal, t.normal), other = dot(of.normal, of.normal);
    float height[3];
    int count = 0;
#pragma unroll
    for (int c = 0; c < 3; c++)
        height[c] = dot(t.normal, minus(of.p[c], t.p[0]));
#pragma unroll
    for (int c = 0; c < 3; c++) {
        const int next = (c + 1) % 3;
        const bool first = height[c] < height[next]; /* the first end is inside */
        const float low = first ? height[c] : height[next], high = first ? height[next] : height[c];
        if (!(square > 0.0f) || !sup_untangle_crosses_plane(low, high) || count == capacity) continue;
        float4 point;
        sup_gpu_untangle_crossing crossing = {};
        if (!cross_edge(t, first ? of.p[c] : of.p[next], first ? of.p[next] : of.p[c], low / (low - high), square,
                        point, crossing.weight))
            continue;
        if (to != NULL) {
            const float area = sqrtf(square), edge = sup_untangle_edge_of(area);
            const float edge_of = sup_untangle_edge_of(sqrtf(other));
            crossing.inside = first ? of.corner[c] : of.corner[next];
            crossing.outside = first ? of.corner[next] : of.corner[c];
            crossing.triangle = number;
            put(crossing.means + SUP_GPU_UNTANGLE_POINT, point);
            put(crossing.means + SUP_GPU_UNTANGLE_NORMAL,
                make_float4(t.normal.x / area, t.normal.y / area, t.normal.z / area, 0.0f));
            crossing.means[SUP_GPU_UNTANGLE_FRACTION] = sup_untangle_triangle_fraction(edge, edge_of);
            crossing.means[SUP_GPU_UNTANGLE_EDGE] = fminf(edge, edge_of);
            crossing.depth = -low / area;
            crossing.height = high / area;
            to[count] = crossing;
        }
        count++;
    }
    return count;
}

/* Triangle `lane` of cluster i and `other` of cluster j, and the number of their crossings, at most six. Keys sort in
 * the order in which the CPU compares them. */
static __device__ unsigned long long key_of(int i, int j, int lane, int other, int crossings)
{
    return (unsigned long long)i << 35 | (unsigned long long)j << 11 | (unsigned)(lane << 7 | other << 3 | crossings);
}

static __device__ int cluster_of(unsigned long long key)
{
    return (int)(key >> 35);
}

static __device__ int first_of(unsigned long long key)
{
    return cluster_of(key) * CLUSTER + (int)(key >> 7 & 15);
}

static __device__ int second_of(unsigned long long key)
{
    return (int)(key >> 11 & 0xffffff) * CLUSTER + (int)(key >> 3 & 15);
}

static __device__ int crossings_of(unsigned long long key)
{
    return (int)(key & 7);
}

/* Clusters of a character that are searched. */
struct untangle_search {
    untangle_positions positions;
    const int32_t *active;
    int active_count;
    const int32_t *dirty; /* NULL: all of them */
    cluster_boxes boxes;
    unsigned long long *pairs; /* [SUP_GPU_UNTANGLE_PAIRS] */
    int *pair_count;
};

/* Triangles of active cluster i, in own[CLUSTER], against those of active cluster j, by half a warp; j < 0: none.
 * Only triangles in the intersection of both boxes can cross. */
static __device__ void compare(const untangle_search &s, const triangle *own, int i, int j)
{
    const int lane = threadIdx.x % 32, other = lane % CLUSTER;
    const float4 low_one = s.boxes.lower[i], low_two = s.boxes.lower[max(j, 0)];
    const float4 high_one = upper_at(s.boxes, i), high_two = upper_at(s.boxes, max(j, 0));
    const float4 lower =
        make_float4(fmaxf(low_one.x, low_two.x), fmaxf(low_one.y, low_two.y), fmaxf(low_one.z, low_two.z), 0.0f);
    const float4 upper =
        make_float4(fminf(high_one.x, high_two.x), fminf(high_one.y, high_two.y), fminf(high_one.z, high_two.z), 0.0f);
    const triangle &adjacent = own[other];
    const bool within =
        j >= 0 && adjacent.counts && boxes_overlap(lower_of(adjacent), upper_of(adjacent), lower, upper);
    unsigned lanes = __ballot_sync(0xffffffffu, within) >> (lane - other) & 0xffffu;
    if (lanes == 0) return;
    const triangle theirs = triangle_of(s.positions, s.active[j] * CLUSTER + other);
    const float4 low = lower_of(theirs), high = upper_of(theirs);
    if (!theirs.counts || !boxes_overlap(low, high, lower, upper)) return;
    for (; lanes != 0; lanes &= lanes - 1) {
        const int number = __ffs((int)lanes) - 1;
        const triangle &t = own[number];
        if ((i == j && other <= number) || !boxes_overlap(low, high, lower_of(t), upper_of(t)) ||
            share_corner(t, theirs) || !on_both_sides(t, theirs) || !on_both_sides(theirs, t))
            continue;
        const int crossings = cross_edges(t, 0, theirs, NULL, 3) + cross_edges(theirs, 0, t, NULL, 3);
        if (crossings == 0) continue;
        const int at = atomicAdd(s.pair_count, 1);
        if (at < SUP_GPU_UNTANGLE_PAIRS) s.pairs[at] = key_of(s.active[i], s.active[j], number, other, crossings);
    }
}

/* Active cluster i against all others, with own[CLUSTER] in shared memory for its triangles, by `split` warps of
 * which this is number `rank`. Where neither has moved, nothing crosses. */
static __device__ void find_crossings(const untangle_search &s, triangle *own, int i, int rank, int split)
{
    const int lane = threadIdx.x % 32;
    bool loaded = false;
    for (int base = (s.dirty == NULL ? i / 32 * 32 : 0) + 32 * rank; base < s.active_count; base += 32 * split) {
        const int j = base + lane;
        const int at = min(j, s.active_count - 1);
        const bool overlaps =
            j < s.active_count && (j >= i || (s.dirty != NULL && !s.dirty[j])) &&
            boxes_overlap(s.boxes.lower[i], upper_at(s.boxes, i), s.boxes.lower[at], upper_at(s.boxes, at)) &&
            !(cones_agree(s.boxes, i, at) && is_adjacent(*s.positions.view, s.active[i], s.active[j]));
        unsigned others = __ballot_sync(0xffffffffu, overlaps);
        if (others != 0 && !loaded) {
            if (lane < CLUSTER) own[lane] = triangle_of(s.positions, s.active[i] * CLUSTER + lane);
            __syncwarp();
            loaded = true;
        }
        while (others != 0) { /* two at a time */
            const unsigned next = others & (others - 1);
            const unsigned its = lane < CLUSTER ? others : next;
            others = next & (next - 1);
            compare(s, own, i, its != 0 ? base + __ffs((int)its) - 1 : -1);
        }
    }
    __syncwarp(); /* before `own` is overwritten */
}

#endif

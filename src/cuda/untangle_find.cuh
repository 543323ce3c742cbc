/* untangle_find.cuh (internal) - edges of the shown skin that go through triangles: untangle/untangle_find.c on the device.
 *
 * As there: boxes of clusters of triangles, then the triangles of clusters that meet. A warp has a cluster and looks at 32 others at
 * a time. Triangles that cross are kept as keys that sort into the order in which the CPU finds them. */
#ifndef SUP_CUDA_UNTANGLE_FIND_CUH
#define SUP_CUDA_UNTANGLE_FIND_CUH

#include "cuda/gpu_untangle.h"
#include "cuda/launch.cuh"
#include "cuda/vectors.cuh"

#include <limits.h>
#include <math.h>

enum { PART_THREADS = 256, PART_WARPS = PART_THREADS / 32, CLUSTER = SUP_UNTANGLE_CLUSTER };
/* Of sup_gpu_untangle_room.state: untangle.c. What is known has its place in `vertex`; PATCHED: its patch is not NO_PATCH. */
enum { KNOWN = 1, SEED = 2, OUTSIDE = 4, LISTED = 8, FOLD = 16, PATCHED = 32 };
#define ROUNDING 2e-6f /* untangle_kernel.h */

/* Where the vertices of a character are. */
struct part_places {
    const sup_untangle_view *view;
    const int32_t *first_shown; /* of sup_gpu_untangle */
    const char *shown;          /* the character's positions, */
    size_t stride;              /* bytes from one to the next */
    /* Before anything is moved: NULL where nothing was moved in the last frame either. */
    const float *offset;
    float keep;
    /* And after: where those are that are known. */
    const int32_t *state;
    const sup_gpu_untangle_vertex *vertex;
};

/* Where a vertex came. */
static __device__ float4 came_from(const part_places &p, int v)
{
    return get((const float *)(p.shown + (size_t)p.first_shown[v] * p.stride));
}

static __device__ float4 place_of(const part_places &p, int v)
{
    if (p.state != NULL) { /* both at once: it need not wait for one to ask for the other */
        const float4 x = p.vertex[v].x;
        const int state = p.state[v];
        const float *from = (const float *)(p.shown + (size_t)p.first_shown[v] * p.stride);
        return state & KNOWN ? x : get(from);
    }
    const float4 from = came_from(p, v);
    return p.offset != NULL ? add_scaled(from, p.keep, get(p.offset + 3 * (size_t)v)) : from;
}

static __device__ float4 cross_of(float4 a, float4 b)
{
    return make_float4(a.y * b.z - a.z * b.y, a.z * b.x - a.x * b.z, a.x * b.y - a.y * b.x, 0.0f);
}

/* A triangle; of the normal, twice the area long, w is the rounding of a height times that length. */
struct part_triangle {
    int corner[3];
    bool counts; /* others are nowhere */
    float4 p[3], normal;
};

static __device__ part_triangle triangle_of(const part_places &places, int number)
{
    const sup_untangle_view &view = *places.view;
    const int last = view.triangle_count - 1, at = min(number, last);
    part_triangle t;
    for (int k = 0; k < 3; k++) {
        t.corner[k] = view.triangles[3 * (size_t)at + k];
        t.p[k] = place_of(places, t.corner[k]);
    }
    t.counts = number <= last && !view.crossed[at];
    const float4 e = minus(t.p[1], t.p[0]), f = minus(t.p[2], t.p[0]);
    t.normal = cross_of(e, f);
    t.normal.w = ROUNDING * sqrtf(dot(t.normal, t.normal) * fmaxf(dot(e, e), dot(f, f)));
    return t;
}

static __device__ float4 lower_of(const part_triangle &t)
{
    return make_float4(fminf(t.p[0].x, fminf(t.p[1].x, t.p[2].x)), fminf(t.p[0].y, fminf(t.p[1].y, t.p[2].y)),
                       fminf(t.p[0].z, fminf(t.p[1].z, t.p[2].z)), 0.0f);
}

static __device__ float4 upper_of(const part_triangle &t)
{
    return make_float4(fmaxf(t.p[0].x, fmaxf(t.p[1].x, t.p[2].x)), fmaxf(t.p[0].y, fmaxf(t.p[1].y, t.p[2].y)),
                       fmaxf(t.p[0].z, fmaxf(t.p[1].z, t.p[2].z)), 0.0f);
}

static __device__ bool boxes_meet(float4 lower, float4 upper, float4 other_lower, float4 other_upper)
{
    return !(upper.x < other_lower.x || other_upper.x < lower.x || upper.y < other_lower.y || other_upper.y < lower.y ||
             upper.z < other_lower.z || other_upper.z < lower.z);
}

/* --- Bundles --- */

/* Boxes of a character's active clusters, array after array of `count`, so that threads side by side read what is side by side: lower
 * corners, w the cosine of the cone; upper ones; axes. */
struct part_boxes {
    float4 *lower;
    int count;
};

static __device__ float4 &upper_at(const part_boxes &boxes, int i)
{
    return boxes.lower[boxes.count + i];
}

static __device__ float4 &axis_at(const part_boxes &boxes, int i)
{
    return boxes.lower[2 * boxes.count + i];
}

static __device__ float least_of_cluster(float value)
{
    for (int d = CLUSTER / 2; d > 0; d >>= 1)
        value = fminf(value, __shfl_xor_sync(0xffffffffu, value, d));
    return value;
}

/* Box and cone of a cluster, by half a warp. */
static __device__ void bound_cluster(const part_places &places, int cluster, bool write, const part_boxes &boxes, int at)
{
    const unsigned all = 0xffffffffu;
    const int lane = threadIdx.x % CLUSTER, first = threadIdx.x % 32 - lane;
    const part_triangle t = triangle_of(places, cluster * CLUSTER + lane);
    const float4 low = lower_of(t), high = upper_of(t);
    const float lower[3] = {low.x, low.y, low.z}, upper[3] = {high.x, high.y, high.z};
    float whole[6];
    for (int k = 0; k < 3; k++) {
        whole[k] = least_of_cluster(t.counts ? lower[k] : INFINITY);
        whole[3 + k] = -least_of_cluster(t.counts ? -upper[k] : INFINITY);
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
    const float cosine = fminf(1.0f, least_of_cluster(size > 0.0f ? dot(t.normal, axis) / size : 1.0f));
    if (lane > 0 || !write) return;
    boxes.lower[at] = make_float4(whole[0], whole[1], whole[2], cosine);
    upper_at(boxes, at) = make_float4(whole[3], whole[4], whole[5], 0.0f);
    axis_at(boxes, at) = axis;
}

/* Those of the active clusters, `count` of them: those at the places `which`, where it is given. By `warps` warps of which this is
 * number `warp`. */
static __device__ void bound_clusters(const part_places &places, const int32_t *active, const int32_t *which, int count,
                                     int warp, int warps, const part_boxes &boxes)
{
    for (int i = 2 * warp; i < count; i += 2 * warps) {
        const int own = i + (int)threadIdx.x % 32 / CLUSTER, last = min(own, count - 1);
        const int at = which != NULL ? which[last] : last;
        bound_cluster(places, active[at], own < count, boxes, at);
    }
}

/* All normals of two clusters are within a quarter turn of each other. */
static __device__ bool same_way(const part_boxes &boxes, int i, int j)
{
    const float cosine_a = boxes.lower[i].w, cosine_b = boxes.lower[j].w;
    const float sine_a = sqrtf(1.0f - cosine_a * cosine_a), sine_b = sqrtf(1.0f - cosine_b * cosine_b);
    return cosine_a > 0.0f && cosine_b > 0.0f && cosine_a * cosine_b > sine_a * sine_b &&
           dot(axis_at(boxes, i), axis_at(boxes, j)) > sine_a * cosine_b + sine_b * cosine_a;
}

static __device__ bool is_beside(const sup_untangle_view &view, int a, int b)
{
    if (a == b) return true;
    for (int i = view.beside_first[a]; i < view.beside_first[a + 1]; i++)
        if (view.beside[i] == b) return true;
    return false;
}

/* --- Triangles --- */

static __device__ bool share_corner(const part_triangle &a, const part_triangle &b)
{
    for (int i = 0; i < 3; i++)
        if (a.corner[i] == b.corner[0] || a.corner[i] == b.corner[1] || a.corner[i] == b.corner[2]) return true;
    return false;
}

/* Of three heights some are below and some above a plane. */
static __device__ bool on_both_sides(const part_triangle &of, const part_triangle &t)
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

/* Weights of the point in which the edge from `in` to `far` meets the plane of `t`; whether it is in the triangle. */
static __device__ bool goes_through(const part_triangle &t, float4 in, float4 far, float s, float square, float4 &point,
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

/* Edges of `of` that go through `t`, triangle number `number`: at most `room` hits at `to`, or only their number where that
 * is NULL. One piece of code for both: they must not be rounded differently. */
static __device__ __noinline__ int cut(const part_triangle &t, int number, const part_triangle &of,
                                       sup_gpu_untangle_hit *to, int room)
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
        const bool first = height[c] < height[next]; /* which end is inside */
        const float low = first ? height[c] : height[next], high = first ? height[next] : height[c];
        if (!(square > 0.0f) || !(low < 0.0f && high >= 0.0f) || count == room) continue;
        float4 point;
        sup_gpu_untangle_hit hit = {};
        if (!goes_through(t, first ? of.p[c] : of.p[next], first ? of.p[next] : of.p[c], low / (low - high), square,
                          point, hit.weight))
            continue;
        if (to != NULL) {
            const float area = sqrtf(square), edge = sqrtf(area), edge_of = sqrtf(sqrtf(other));
            hit.inside = first ? of.corner[c] : of.corner[next];
            hit.outside = first ? of.corner[next] : of.corner[c];
            hit.triangle = number;
            put(hit.means + SUP_GPU_UNTANGLE_POINT, point);
            put(hit.means + SUP_GPU_UNTANGLE_NORMAL,
                make_float4(t.normal.x / area, t.normal.y / area, t.normal.z / area, 0.0f));
            hit.means[SUP_GPU_UNTANGLE_SHARE] = edge / (edge + edge_of);
            hit.means[SUP_GPU_UNTANGLE_EDGE] = fminf(edge, edge_of);
            hit.depth = -low / area;
            hit.height = high / area;
            to[count] = hit;
        }
        count++;
    }
    return count;
}

/* Triangle `lane` of cluster i and `other` of cluster j, and their hits, at most six: in the order in which the CPU compares them. */
static __device__ unsigned long long key_of(int i, int j, int lane, int other, int hits)
{
    return (unsigned long long)i << 35 | (unsigned long long)j << 11 | (unsigned)(lane << 7 | other << 3 | hits);
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

static __device__ int hits_of(unsigned long long key)
{
    return (int)(key & 7);
}

/* Bundles of a character that are compared. */
struct part_search {
    part_places places;
    const int32_t *active;
    int active_count;
    const int32_t *dirty; /* NULL: all of them */
    part_boxes boxes;
    unsigned long long *pairs; /* [SUP_GPU_UNTANGLE_PAIRS] */
    int *pair_count;
};

/* Triangles of cluster number i, which are in own[CLUSTER], against those of number j, by half a warp; j < 0: none. Only what is in the
 * box that the clusters have in common can cross. */
static __device__ void compare(const part_search &s, const part_triangle *own, int i, int j)
{
    const int lane = threadIdx.x % 32, other = lane % CLUSTER;
    const float4 low_one = s.boxes.lower[i], low_two = s.boxes.lower[max(j, 0)];
    const float4 high_one = upper_at(s.boxes, i), high_two = upper_at(s.boxes, max(j, 0));
    const float4 lower =
        make_float4(fmaxf(low_one.x, low_two.x), fmaxf(low_one.y, low_two.y), fmaxf(low_one.z, low_two.z), 0.0f);
    const float4 upper =
        make_float4(fminf(high_one.x, high_two.x), fminf(high_one.y, high_two.y), fminf(high_one.z, high_two.z), 0.0f);
    const part_triangle &beside = own[other];
    const bool within = j >= 0 && beside.counts && boxes_meet(lower_of(beside), upper_of(beside), lower, upper);
    unsigned mine = __ballot_sync(0xffffffffu, within) >> (lane - other) & 0xffffu;
    if (mine == 0) return;
    const part_triangle theirs = triangle_of(s.places, s.active[j] * CLUSTER + other);
    const float4 low = lower_of(theirs), high = upper_of(theirs);
    if (!theirs.counts || !boxes_meet(low, high, lower, upper)) return;
    for (; mine != 0; mine &= mine - 1) {
        const int number = __ffs((int)mine) - 1;
        const part_triangle &t = own[number];
        if ((i == j && other <= number) || !boxes_meet(low, high, lower_of(t), upper_of(t)) ||
            share_corner(t, theirs) || !on_both_sides(t, theirs) || !on_both_sides(theirs, t))
            continue;
        const int hits = cut(t, 0, theirs, NULL, 3) + cut(theirs, 0, t, NULL, 3);
        if (hits == 0) continue;
        const int at = atomicAdd(s.pair_count, 1);
        if (at < SUP_GPU_UNTANGLE_PAIRS) s.pairs[at] = key_of(s.active[i], s.active[j], number, other, hits);
    }
}

/* Bundle number i against all others, with own[CLUSTER] in shared memory for its triangles, by `split` warps of which this is number `part`: where neither moved, nothing crosses. */
static __device__ void find_crossings(const part_search &s, part_triangle *own, int i, int part, int split)
{
    const int lane = threadIdx.x % 32;
    bool there = false;
    for (int base = (s.dirty == NULL ? i / 32 * 32 : 0) + 32 * part; base < s.active_count; base += 32 * split) {
        const int j = base + lane;
        const int at = min(j, s.active_count - 1);
        const bool meets =
            j < s.active_count && (j >= i || (s.dirty != NULL && !s.dirty[j])) &&
            boxes_meet(s.boxes.lower[i], upper_at(s.boxes, i), s.boxes.lower[at], upper_at(s.boxes, at)) &&
            !(same_way(s.boxes, i, at) && is_beside(*s.places.view, s.active[i], s.active[j]));
        unsigned others = __ballot_sync(0xffffffffu, meets);
        if (others != 0 && !there) {
            if (lane < CLUSTER) own[lane] = triangle_of(s.places, s.active[i] * CLUSTER + lane);
            __syncwarp();
            there = true;
        }
        while (others != 0) { /* two at a time */
            const unsigned next = others & (others - 1);
            const unsigned its = lane < CLUSTER ? others : next;
            others = next & (next - 1);
            compare(s, own, i, its != 0 ? base + __ffs((int)its) - 1 : -1);
        }
    }
    __syncwarp(); /* before another cluster comes to `own` */
}

#endif

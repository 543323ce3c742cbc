/* detect_query.cuh (internal) - detection of contact: the skin of a step, and one vertex seen from one triangle. See detect.cu. */
#ifndef SUP_CUDA_DETECT_QUERY_CUH
#define SUP_CUDA_DETECT_QUERY_CUH

#include "cuda/gpu_contact.h"
#include "cuda/launch.cuh"
#include "cuda/vectors.cuh"

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
#define NO_PAIR 0xffffffffffffffffull
enum { STRANGERS, SAME_SEGMENT, NEIGHBOURS, UNKNOWN };
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
    return kin == STRANGERS ? 0.3f : kin == SAME_SEGMENT ? 0.0f : -0.5f;
}

static __device__ float touch_gap(int kin)
{
    return kin == NEIGHBOURS ? 0.2f : 0.85f;
}

/* Groups of vertices go by CLUSTER, one for each thread of a warp. */
enum { CLUSTER = 32 };

static __host__ __device__ int clusters_of(const sup_detect &d)
{
    return (d.block_count + CLUSTER - 1) / CLUSTER;
}

/* One character. */
struct work {
    const sup_detect *d;
    const float4 *skin, *normal, *points;
    float4 *grouped, *block_box, *cell_box; /* of sup_gpu_detect */
    unsigned long long *nearest;
    unsigned char *near;
};

static __device__ work open_work(const sup_gpu_detect &detect, const sup_gpu_state &st, int character)
{
    work w;
    size_t at = (size_t)character * detect.view.vertex_count;
    w.d = &detect.view;
    w.skin = st.extrapolated + at;
    w.normal = detect.normal + at;
    w.points = detect.points + 2 * at;
    w.grouped = detect.grouped + (size_t)character * detect.view.block_count * SUP_DETECT_CLUSTER;
    w.block_box = detect.block_box + 2 * (size_t)character * (detect.view.block_count + clusters_of(detect.view));
    w.cell_box = detect.cell_box + SUP_GPU_CELL_FOURS * (size_t)character * detect.view.cell_count;
    w.nearest = detect.nearest + at;
    w.near = st.near + at;
    return w;
}

static __device__ bool looks(const sup_gpu_state &st, int character)
{
    return st.commands[character].contact && !st.progress[character].asleep;
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

/* --- Points --- */

/* Triangles around a vertex, and the corners of some of them: those beyond the last have no area. Never changes. */
struct fan_view {
    int next, end; /* of the fan */
    int corner[FAN_AT_A_TIME][3];
};

static __device__ void fetch_corners(const sup_detect &d, fan_view &fan)
{
#pragma unroll
    for (int i = 0; i < FAN_AT_A_TIME && fan.next < fan.end; i++) {
        const int32_t *t = d.triangles + 3 * (size_t)d.fan[min(fan.next + i, fan.end - 1)];
#pragma unroll
        for (int k = 0; k < 3; k++)
            fan.corner[i][k] = t[fan.next + i < fan.end ? k : 0];
    }
}

static __device__ fan_view fetch_fan(const sup_detect &d, int v)
{
    fan_view fan = {};
    if (v >= d.vertex_count) return fan;
    fan.next = d.fan_first[v];
    fan.end = d.fan_first[v + 1];
    fetch_corners(d, fan);
    return fan;
}

/* A vertex pushed out by the gap, its foot and its normal; nothing is near it. */
static __device__ void find_point(const sup_gpu_detect &detect, const sup_gpu_state &st, const float *all_ends,
                                  int character, int v, fan_view &fan)
{
    const sup_detect &d = detect.view;
    const size_t at = (size_t)character * d.vertex_count;
    const float4 *skin = st.extrapolated + at;
    const float *ends = all_ends + ((size_t)character * d.segment_count + d.foot_segment[v]) * 8;
    const float4 own = skin[v], from = get(ends), to = get(ends + 4);
    float4 sum = make_float4(0.0f, 0.0f, 0.0f, 0.0f);
    while (fan.next < fan.end) {
        float4 corner[FAN_AT_A_TIME][3]; /* all on the way at once, and where the next ones are */
#pragma unroll
        for (int i = 0; i < FAN_AT_A_TIME; i++)
            for (int k = 0; k < 3; k++)
                corner[i][k] = skin[fan.corner[i][k]];
        fan.next += FAN_AT_A_TIME;
        fetch_corners(d, fan);
#pragma unroll
        for (int i = 0; i < FAN_AT_A_TIME; i++)
            sum = add_scaled(sum, 1.0f, cross(minus(corner[i][1], corner[i][0]), minus(corner[i][2], corner[i][0])));
    }
    const float4 normal = unit(sum);
    detect.normal[at + v] = normal;
    detect.points[2 * at + v] = add_scaled(own, REACH_OF_GAP * d.gap[v], normal);
    detect.points[2 * at + d.vertex_count + v] = add_scaled(from, d.foot_at[v], minus(to, from));
    detect.nearest[at + v] = NO_PAIR;
    st.near[at + v] = 0;
}

/* --- Boxes, by a warp each --- */

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

/* Along the first N of them. */
template <int N> struct reach {
    float lower[N], upper[N];
};

/* Of the places index[first, end) of `from`; negative ones are none. Those places and their indices as bits into `copy`, if it is
 * not NULL. */
template <int N>
static __device__ reach<N> reach_of(const float4 *from, const int32_t *index, int first, int end, float4 *copy)
{
    reach<N> r;
#pragma unroll
    for (int k = 0; k < N; k++)
        r.lower[k] = INFINITY, r.upper[k] = -INFINITY;
#pragma unroll 2
    for (int e = first + (int)threadIdx.x % 32; e < end; e += 32) {
        const int point = index[e];
        float4 p = from[max(point, 0)];
        float at[AXES];
        along_axes(p, at);
        p.w = __int_as_float(point);
        if (copy != NULL) copy[e] = p;
#pragma unroll
        for (int k = 0; k < N && point >= 0; k++) {
            r.lower[k] = fminf(r.lower[k], at[k]); /* what is no number is left out */
            r.upper[k] = fmaxf(r.upper[k], at[k]);
        }
    }
#pragma unroll
    for (int k = 0; k < N; k++) {
        r.lower[k] = from_order(__reduce_min_sync(0xffffffffu, in_order(r.lower[k])));
        r.upper[k] = from_order(__reduce_max_sync(0xffffffffu, in_order(r.upper[k])));
    }
    return r;
}

/* The box of the vertices of `count` groups, which a single one puts in line. */
static __device__ void bound_groups(const work &w, int first, int count, float4 *to)
{
    const int begin = first * SUP_DETECT_CLUSTER, end = (first + count) * SUP_DETECT_CLUSTER;
    const reach<3> r = reach_of<3>(w.skin, w.d->block_vertex, begin, end, count == 1 ? w.grouped : NULL);
    if (threadIdx.x % 32 > 0) return;
    to[0] = make_float4(r.lower[0], r.lower[1], r.lower[2], 0.0f);
    to[1] = make_float4(r.upper[0], r.upper[1], r.upper[2], 0.0f);
}

/* The box of a cell, with its diagonals. */
static __device__ void bound_cell(const work &w, int cell, float4 *to)
{
    const int32_t *first = w.d->cell_point_first + cell;
    const reach<AXES> r = reach_of<AXES>(w.points, w.d->cell_point, first[0], first[1], NULL);
    if (threadIdx.x % 32 > 0) return;
    to[0] = make_float4(r.lower[0], r.lower[1], r.lower[2], 0.0f);
    to[1] = make_float4(r.upper[0], r.upper[1], r.upper[2], 0.0f);
    to[2] = make_float4(r.lower[3], r.lower[4], r.lower[5], r.lower[6]);
    to[3] = make_float4(r.upper[3], r.upper[4], r.upper[5], r.upper[6]);
}

/* --- One vertex and one triangle --- */

/* Whether one of three vertices is at most two edges away from v: three searches side by side, with their reads on the way together. */
static __device__ bool in_ring(const sup_detect &d, int v, const int32_t *others)
{
    int at[3], count = d.ring_first[v + 1] - d.ring_first[v];
    bool found = false;
#pragma unroll
    for (int k = 0; k < 3; k++)
        at[k] = d.ring_first[v];
    for (; count > 1; count -= count / 2) /* where it is, if it is there, in [at, at + count): rising */
#pragma unroll
        for (int k = 0; k < 3; k++)
            at[k] += d.ring[at[k] + count / 2 - 1] < others[k] ? count / 2 : 0;
#pragma unroll
    for (int k = 0; k < 3; k++)
        found = found || (count > 0 && d.ring[at[k]] == others[k]);
    return found;
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
    int kin;         /* kin_of, once somebody asked */
};

static __device__ int find_kin(const sup_detect &d, int v, int triangle)
{
    const int32_t *t = d.triangles + 3 * (size_t)triangle;
    const int segment = d.foot_segment[v];
    if (in_ring(d, v, t)) return NEIGHBOURS;
    return segment == d.foot_segment[t[0]] || segment == d.foot_segment[t[1]] || segment == d.foot_segment[t[2]] ? SAME_SEGMENT
                                                                                                     : STRANGERS;
}

static __device__ int kin_of(const sup_detect &d, int v, int triangle, sight &view)
{
    if (view.kin == UNKNOWN) view.kin = find_kin(d, v, triangle);
    return view.kin;
}

/* Weight of the second end at the point of segment ab nearest to p. */
static __device__ float along(float4 p, float4 a, float4 b)
{
    float4 d = minus(b, a);
    float dd = dot(d, d), s = dd > 0.0f ? dot(minus(p, a), d) / dd : 0.0f;
    return s < 0.0f ? 0.0f : s > 1.0f ? 1.0f : s;
}

/* A point seen from a triangle with corners c. */
static __device__ sight look(float4 p, const float4 (&c)[3])
{
    float4 area = cross(minus(c[1], c[0]), minus(c[2], c[0]));
    sight view;
    view.normal = unit(area);
    view.height = dot(view.normal, minus(p, c[0]));
    view.distance2 = INFINITY;
    view.kin = UNKNOWN;
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

static __device__ void fetch_triangle(const work &w, int triangle, float4 (&c)[3])
{
    const int32_t *t = w.d->triangles + 3 * (size_t)triangle;
#pragma unroll
    for (int k = 0; k < 3; k++)
        c[k] = w.skin[t[k]];
}

static __device__ sight look(const work &w, float4 p, int triangle)
{
    float4 c[3];
    fetch_triangle(w, triangle, c);
    return look(p, c);
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

/* A vertex that looks for a triangle. */
struct self {
    int v;
    float4 place, normal, flesh; /* flesh: the way from its foot, unit */
};

static __device__ self open_self(const work &w, int v)
{
    const float4 place = w.skin[v];
    return {v, place, w.normal[v], unit(minus(place, foot_point(w, v)))};
}

/* Two outer sides that meet. `more` is allowed to a pair that is there. */
static __device__ bool may_touch(const work &w, const self &own, int triangle, sight &view, float more)
{
    const sup_detect &d = *w.d;
    const int v = own.v;
    if (is_corner(d, v, triangle)) return false;
    /* First what is known at once: strangers may face each other the most. */
    float agree = dot(view.normal, own.normal);
    if (!(agree < facing(STRANGERS) + more && dot(view.normal, own.flesh) < facing(STRANGERS) + more)) return false;
    const int kin = kin_of(d, v, triangle, view);
    if (kin == STRANGERS) return true;
    return agree < facing(kin) + more && d.folds[v] && d.folds[d.vertex_count + triangle] &&
           !(view.height < -FOLD_DEPTH * (1.0f + more) * gap_at(w, v, triangle, view));
}

/* For parting (untangle.cu). */
static __device__ void mark_near(const work &w, int v, int triangle)
{
    const int32_t *t = w.d->triangles + 3 * (size_t)triangle;
    w.near[v] = w.near[t[0]] = w.near[t[1]] = w.near[t[2]] = 1;
}

#endif

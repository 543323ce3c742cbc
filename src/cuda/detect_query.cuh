/* detect_query.cuh (internal) - contact detection: the skin of a timestep, its boxes, and one vertex relative to one
 * triangle. See detect.cu. */
#ifndef SUP_CUDA_DETECT_QUERY_CUH
#define SUP_CUDA_DETECT_QUERY_CUH

#include "contact/contact_rules.h"
#include "cuda/gpu_contact.h"
#include "cuda/launch.cuh"
#include "cuda/vectors.cuh"

#include <math.h>

#define NO_PAIR 0xffffffffffffffffull
enum { UNKNOWN_RELATION = -1 };
enum {
    THREADS = 256,
    WARPS = THREADS / 32,
    TEST_THREADS = 128,
    TEST_WARPS = TEST_THREADS / 32,
    SINGLE_SPLIT = 6,
    FAN_BATCH = 3
};

/* Vertex clusters of a node of the box hierarchy, one for each thread of a warp. */
enum { NODE = 32 };

static __host__ __device__ int nodes_of(const sup_detect &d)
{
    return (d.vertex_cluster_count + NODE - 1) / NODE;
}

/* One character. */
struct work {
    const sup_detect *d;
    const float4 *skin, *normal, *points;
    float4 *clustered, *cluster_box, *tet_cluster_box; /* of sup_gpu_detect */
    unsigned long long *nearest;
    unsigned char *near;
};

static __device__ work open_character(const sup_gpu_detect &detect, const sup_gpu_state &st, int character)
{
    work w;
    size_t at = (size_t)character * detect.view.vertex_count;
    w.d = &detect.view;
    w.skin = st.extrapolated + at;
    w.normal = detect.normal + at;
    w.points = detect.points + 2 * at;
    w.clustered = detect.clustered + (size_t)character * detect.view.vertex_cluster_count * SUP_DETECT_CLUSTER;
    w.cluster_box =
        detect.cluster_box + 2 * (size_t)character * (detect.view.vertex_cluster_count + nodes_of(detect.view));
    w.tet_cluster_box =
        detect.tet_cluster_box + SUP_GPU_TET_BOX_FOURS * (size_t)character * detect.view.tet_cluster_count;
    w.nearest = detect.nearest + at;
    w.near = st.near + at;
    return w;
}

static __device__ bool is_active(const sup_gpu_state &st, int character)
{
    return st.commands[character].contact && !st.progress[character].asleep;
}

static __device__ float4 cross(float4 a, float4 b)
{
    return make_float4(a.y * b.z - a.z * b.y, a.z * b.x - a.x * b.z, a.x * b.y - a.y * b.x, 0.0f);
}

/* Unit vector; zero where a is. */
static __device__ float4 unit(float4 a)
{
    float length = sqrtf(dot(a, a)), scale = length > 0.0f ? 1.0f / length : 0.0f;
    return make_float4(a.x * scale, a.y * scale, a.z * scale, 0.0f);
}

/* --- Points --- */

/* Triangles around a vertex, and the corners of a batch of them: those beyond the last are degenerate. Constant over
 * time. */
struct fan_view {
    int next, end; /* of the fan */
    int corner[FAN_BATCH][3];
};

static __device__ void fetch_corners(const sup_detect &d, fan_view &fan)
{
#pragma unroll
    for (int i = 0; i < FAN_BATCH && fan.next < fan.end; i++) {
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

/* Offsets a vertex by the gap, finds its foot point and its normal, and clears its nearest triangle. */
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
        float4 corner[FAN_BATCH][3]; /* all loads in flight at once, with the indices of the next batch */
#pragma unroll
        for (int i = 0; i < FAN_BATCH; i++)
            for (int k = 0; k < 3; k++)
                corner[i][k] = skin[fan.corner[i][k]];
        fan.next += FAN_BATCH;
        fetch_corners(d, fan);
#pragma unroll
        for (int i = 0; i < FAN_BATCH; i++)
            sum = add_scaled(sum, 1.0f, cross(minus(corner[i][1], corner[i][0]), minus(corner[i][2], corner[i][0])));
    }
    const float4 normal = unit(sum);
    detect.normal[at + v] = normal;
    detect.points[2 * at + v] = add_scaled(own, SUP_CONTACT_REACH * d.gap[v], normal);
    detect.points[2 * at + d.vertex_count + v] = add_scaled(from, d.foot_parameter[v], minus(to, from));
    detect.nearest[at + v] = NO_PAIR;
    st.near[at + v] = 0;
}

/* --- Boxes, by a warp each --- */

/* Integers in the order of floats; NaN is beyond all of them. */
static __device__ int ordered_bits(float v)
{
    const int bits = __float_as_int(v);
    return bits ^ (bits >> 31 & 0x7fffffff);
}

static __device__ float from_ordered_bits(int v)
{
    return __int_as_float(v ^ (v >> 31 & 0x7fffffff));
}

/* Extents of points along the axes and along the four diagonals of a cube. */
enum { AXES = 7 };

static __device__ void project(float4 p, float to[AXES])
{
    const float sum = p.x + p.y, difference = p.x - p.y;
    to[0] = p.x, to[1] = p.y, to[2] = p.z;
    to[3] = sum + p.z, to[4] = sum - p.z, to[5] = difference + p.z, to[6] = difference - p.z;
}

/* Along the first N of them. */
template <int N> struct extent {
    float lower[N], upper[N];
};

/* Of the points index[first, end) of `from`; negative indices are skipped. Writes the points, with their indices as
 * bits in w, to `copy` unless it is NULL. By a warp. */
template <int N>
static __device__ extent<N> extent_of(const float4 *from, const int32_t *index, int first, int end, float4 *copy)
{
    extent<N> r;
#pragma unroll
    for (int k = 0; k < N; k++)
        r.lower[k] = INFINITY, r.upper[k] = -INFINITY;
#pragma unroll 2
    for (int e = first + (int)threadIdx.x % 32; e < end; e += 32) {
        const int point = index[e];
        float4 p = from[max(point, 0)];
        float at[AXES];
        project(p, at);
        p.w = __int_as_float(point);
        if (copy != NULL) copy[e] = p;
#pragma unroll
        for (int k = 0; k < N && point >= 0; k++) {
            r.lower[k] = fminf(r.lower[k], at[k]); /* ignores NaN */
            r.upper[k] = fmaxf(r.upper[k], at[k]);
        }
    }
#pragma unroll
    for (int k = 0; k < N; k++) {
        r.lower[k] = from_ordered_bits(__reduce_min_sync(0xffffffffu, ordered_bits(r.lower[k])));
        r.upper[k] = from_ordered_bits(__reduce_max_sync(0xffffffffu, ordered_bits(r.upper[k])));
    }
    return r;
}

/* The box of `count` vertex clusters; for a single one, also its vertices in cluster order. */
static __device__ void bound_vertex_clusters(const work &w, int first, int count, float4 *to)
{
    const int begin = first * SUP_DETECT_CLUSTER, end = (first + count) * SUP_DETECT_CLUSTER;
    const extent<3> r = extent_of<3>(w.skin, w.d->vertex_clusters, begin, end, count == 1 ? w.clustered : NULL);
    if (threadIdx.x % 32 > 0) return;
    to[0] = make_float4(r.lower[0], r.lower[1], r.lower[2], 0.0f);
    to[1] = make_float4(r.upper[0], r.upper[1], r.upper[2], 0.0f);
}

/* The box of a tet cluster, with its extents along the diagonals. */
static __device__ void bound_tet_cluster(const work &w, int cluster, float4 *to)
{
    const int32_t *first = w.d->tet_cluster_point_first + cluster;
    const extent<AXES> r = extent_of<AXES>(w.points, w.d->tet_cluster_points, first[0], first[1], NULL);
    if (threadIdx.x % 32 > 0) return;
    to[0] = make_float4(r.lower[0], r.lower[1], r.lower[2], 0.0f);
    to[1] = make_float4(r.upper[0], r.upper[1], r.upper[2], 0.0f);
    to[2] = make_float4(r.lower[3], r.lower[4], r.lower[5], r.lower[6]);
    to[3] = make_float4(r.upper[3], r.upper[4], r.upper[5], r.upper[6]);
}

/* --- One vertex and one triangle --- */

/* Whether one of three vertices is at most two edges away from v: three binary searches with their loads in flight
 * together. */
static __device__ bool in_ring(const sup_detect &d, int v, const int32_t *others)
{
    int at[3], count = d.ring_first[v + 1] - d.ring_first[v];
    bool found = false;
#pragma unroll
    for (int k = 0; k < 3; k++)
        at[k] = d.ring_first[v];
    for (; count > 1; count -= count / 2) /* it is in [at, at + count), ascending, if it is in the ring */
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

/* A vertex relative to a triangle. */
struct contact_query {
    float4 normal;   /* unit */
    float height;    /* of the vertex above the plane */
    float distance2; /* to the nearest point of the triangle */
    float weight[3]; /* of that point */
    int relation;    /* sup_skin_relation, or UNKNOWN_RELATION until it is needed */
};

static __device__ sup_skin_relation find_relation(const sup_detect &d, int v, int triangle)
{
    const int32_t *t = d.triangles + 3 * (size_t)triangle;
    const int segment = d.foot_segment[v];
    if (in_ring(d, v, t)) return SUP_SKIN_ADJACENT;
    return segment == d.foot_segment[t[0]] || segment == d.foot_segment[t[1]] || segment == d.foot_segment[t[2]]
               ? SUP_SKIN_SAME_SEGMENT
               : SUP_SKIN_DISTANT;
}

static __device__ sup_skin_relation relation_of(const sup_detect &d, int v, int triangle, contact_query &query)
{
    if (query.relation == UNKNOWN_RELATION) query.relation = find_relation(d, v, triangle);
    return (sup_skin_relation)query.relation;
}

/* Weight of the second end at the point of segment ab nearest to p. */
static __device__ float along(float4 p, float4 a, float4 b)
{
    float4 d = minus(b, a);
    float dd = dot(d, d), s = dd > 0.0f ? dot(minus(p, a), d) / dd : 0.0f;
    return s < 0.0f ? 0.0f : s > 1.0f ? 1.0f : s;
}

/* A point relative to a triangle with corners c. */
static __device__ contact_query query_triangle(float4 p, const float4 (&c)[3])
{
    float4 area = cross(minus(c[1], c[0]), minus(c[2], c[0]));
    contact_query query;
    query.normal = unit(area);
    query.height = dot(query.normal, minus(p, c[0]));
    query.distance2 = INFINITY;
    query.relation = UNKNOWN_RELATION;
    float whole = dot(area, area), minimum = INFINITY;
#pragma unroll
    for (int k = 0; k < 3; k++) {
        query.weight[k] = dot(area, cross(minus(c[(k + 1) % 3], p), minus(c[(k + 2) % 3], p))) / whole;
        minimum = fminf(minimum, query.weight[k]);
    }
    if (whole > 0.0f && minimum >= 0.0f) {
        float sum = query.weight[0] + query.weight[1] + query.weight[2];
#pragma unroll
        for (int k = 0; k < 3; k++)
            query.weight[k] /= sum;
        query.distance2 = query.height * query.height;
        return query;
    }
#pragma unroll
    for (int k = 0; k < 3; k++) { /* outside: on the nearest edge */
        float s = along(p, c[k], c[(k + 1) % 3]);
        float4 off = minus(p, add_scaled(c[k], s, minus(c[(k + 1) % 3], c[k])));
        if (!(dot(off, off) < query.distance2)) continue;
        query.distance2 = dot(off, off);
        query.weight[k] = 1.0f - s;
        query.weight[(k + 1) % 3] = s;
        query.weight[(k + 2) % 3] = 0.0f;
    }
    return query;
}

static __device__ void fetch_triangle(const work &w, int triangle, float4 (&c)[3])
{
    const int32_t *t = w.d->triangles + 3 * (size_t)triangle;
#pragma unroll
    for (int k = 0; k < 3; k++)
        c[k] = w.skin[t[k]];
}

static __device__ contact_query query_triangle(const work &w, float4 p, int triangle)
{
    float4 c[3];
    fetch_triangle(w, triangle, c);
    return query_triangle(p, c);
}

static __device__ float gap_at(const work &w, int v, int triangle, const contact_query &query)
{
    const int32_t *t = w.d->triangles + 3 * (size_t)triangle;
    const float *gap = w.d->gap;
    return sup_contact_pair_gap(query.weight, gap[t[0]], gap[t[1]], gap[t[2]], gap[v]);
}

static __device__ float4 foot_point(const work &w, int v)
{
    return w.points[w.d->vertex_count + v];
}

/* A vertex that is tested against triangles. */
struct query_vertex {
    int v;
    float4 position, normal, bone_direction; /* the last: unit, from its foot point */
};

static __device__ query_vertex open_vertex(const work &w, int v)
{
    const float4 position = w.skin[v];
    return {v, position, w.normal[v], unit(minus(position, foot_point(w, v)))};
}

/* As in detect.c: two outer sides that collide, where skin of one segment may collide with itself at all. */
static __device__ bool may_pair(const work &w, const query_vertex &own, int triangle, contact_query &query,
                                float tolerance)
{
    const sup_detect &d = *w.d;
    const int v = own.v;
    if (is_corner(d, v, triangle)) return false;
    /* Conditions without a search first: distant skin has the widest limits. */
    const float cosine = dot(query.normal, own.normal), bone_cosine = dot(query.normal, own.bone_direction);
    if (!sup_contact_faces(SUP_SKIN_DISTANT, cosine, bone_cosine, tolerance)) return false;
    const sup_skin_relation relation = relation_of(d, v, triangle, query);
    if (relation == SUP_SKIN_DISTANT) return true;
    return sup_contact_faces(relation, cosine, bone_cosine, tolerance) && d.self_contact[v] &&
           d.self_contact[d.vertex_count + triangle] &&
           sup_contact_in_fold(query.height, gap_at(w, v, triangle, query), tolerance);
}

/* For untangling (untangle.cu). */
static __device__ void mark_near(const work &w, int v, int triangle)
{
    const int32_t *t = w.d->triangles + 3 * (size_t)triangle;
    w.near[v] = w.near[t[0]] = w.near[t[1]] = w.near[t[2]] = 1;
}

#endif

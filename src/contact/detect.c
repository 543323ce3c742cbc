/* detect.c - contact detection of a timestep: points, boxes, vertices in tetrahedra, pairs, contacts. See detect.h. */
#include "base/simd.h"
#include "contact/contact_rules.h"
#include "contact/detect_internal.h"

#include <math.h>

static const uint64_t no_pair = UINT64_MAX;

enum {
    GRAIN_POINTS = 512, /* items of a task: vertices, */
    GRAIN_FACES = 1024, /* triangles, */
    GRAIN_NODES = 2,    /* nodes of SUP_DETECT_CLUSTER vertex clusters, */
    GRAIN_BOXES = 64,   /* tet clusters to bound, */
    GRAIN_TETS = 16,    /* tet clusters to test, */
    GRAIN_PAIRS = 256   /* vertices */
};

static void *carve(unsigned char *base, size_t *size, size_t count, size_t item)
{
    void *at = base == NULL ? NULL : base + *size;
    *size += (count * item + 63) / 64 * 64;
    return at;
}

sup_detect_arrays sup_detect_layout(const sup_detect *detect, void *state)
{
    unsigned char *base = state;
    size_t n = (size_t)detect->vertex_count, size = 0;
    int32_t nodes = sup_detect_node_count(detect->vertex_cluster_count);
    sup_detect_arrays a;
    a.points = carve(base, &size, 8 * n, sizeof *a.points);
    a.skin = carve(base, &size, 4 * n, sizeof *a.skin);
    a.normal = carve(base, &size, 4 * n, sizeof *a.normal);
    a.bone_direction = carve(base, &size, 4 * n, sizeof *a.bone_direction);
    a.area = carve(base, &size, 4 * (size_t)detect->triangle_count, sizeof *a.area);
    a.cluster_lanes =
        carve(base, &size, (size_t)detect->vertex_cluster_count * SUP_DETECT_CLUSTER_ARRAYS * SUP_DETECT_CLUSTER,
              sizeof *a.cluster_lanes);
    a.cluster_segment = carve(base, &size, (size_t)detect->vertex_cluster_count, sizeof *a.cluster_segment);
    a.cluster_self_contact = carve(base, &size, (size_t)detect->vertex_cluster_count, sizeof *a.cluster_self_contact);
    a.cluster_box = carve(base, &size, (size_t)nodes, sizeof *a.cluster_box);
    a.node_box = carve(base, &size, (size_t)sup_detect_node_count(nodes), sizeof *a.node_box);
    a.tet_cluster_box = carve(base, &size, (size_t)detect->tet_cluster_count, sizeof *a.tet_cluster_box);
    a.nearest = carve(base, &size, n, sizeof *a.nearest);
    a.pair = carve(base, &size, n, sizeof *a.pair);
    a.onset = carve(base, &size, n, sizeof *a.onset);
    a.near = carve(base, &size, n, sizeof *a.near);
    a.separated = carve(base, &size, (size_t)detect->segment_count, sizeof *a.separated);
    a.contact_count = carve(base, &size, n / GRAIN_PAIRS + 1, sizeof *a.contact_count);
    a.size = size;
    return a;
}

size_t sup_detect_state_size(const sup_detect *detect)
{
    return sup_detect_layout(detect, NULL).size;
}

void sup_detect_reset(const sup_detect *detect, void *state)
{
    sup_detect_arrays a = sup_detect_layout(detect, state);
    if (a.pair == NULL || a.separated == NULL) return;
    for (int32_t v = 0; v < detect->vertex_count; v++) {
        a.pair[v] = -1;
        a.onset[v] = 0.0f;
        a.near[v] = 0;
    }
    memset(a.separated, 0, (size_t)detect->segment_count);
}

const int32_t *sup_detect_pairs(const sup_detect *detect, const void *state)
{
    return sup_detect_layout(detect, (void *)state).pair;
}

const unsigned char *sup_detect_near(const sup_detect *detect, const void *state)
{
    return (const unsigned char *)sup_detect_layout(detect, (void *)state).near;
}

typedef struct detect_work {
    const sup_detect *detect;
    const sup_detect_input *input;
    const sup_detect_kernels *kernels;
    sup_detect_arrays a;
    sup_contact *contacts;
    int32_t *self_contact; /* as in sup_detect, written in the bind pose; else NULL */
} detect_work;

const sup_detect_kernels *sup_detect_choose_kernels(void)
{
#if defined(__x86_64__) && !defined(SUPPLE_SCALAR)
    int32_t lanes = sup_simd_lanes();
    if (lanes == 16) return &sup_detect_kernels_avx512;
    if (lanes == 8) return &sup_detect_kernels_avx2;
#endif
    return &sup_detect_kernels_base;
}

/* --- Points and boxes --- */

static void store_four(float *to, sup_four v)
{
    memcpy(to, &v, sizeof v);
}

/* Unit vector; zero where v is. */
static sup_four unit_four(sup_four v)
{
    float length = sqrtf(v[0] * v[0] + v[1] * v[1] + v[2] * v[2]);
    return length > 0.0f ? v / sup_four_splat(length) : sup_four_splat(0.0f);
}

/* The skin, its foot points, and the directions between them. */
static void load_skin(void *data, int32_t begin, int32_t end, int32_t worker)
{
    detect_work *work = data;
    const sup_detect *d = work->detect;
    float *foot_points = work->a.points + 4 * (size_t)d->vertex_count;
    SUP_UNUSED(worker);
    for (int32_t v = begin; v < end; v++) {
        const float *ends = work->input->segment_ends + 6 * (size_t)d->foot_segment[v];
        const float *skin = work->input->skin + (size_t)v * (size_t)work->input->skin_stride;
        sup_four at = {skin[0], skin[1], skin[2], 0.0f}, from = {ends[0], ends[1], ends[2], 0.0f};
        sup_four to = {ends[3], ends[4], ends[5], 0.0f},
                 foot = from + sup_four_splat(d->foot_parameter[v]) * (to - from);
        store_four(work->a.skin + 4 * (size_t)v, at);
        store_four(foot_points + 4 * (size_t)v, foot);
        store_four(work->a.bone_direction + 4 * (size_t)v, unit_four(at - foot));
        atomic_store_explicit(&work->a.nearest[v], no_pair, memory_order_relaxed);
        atomic_store_explicit(&work->a.near[v], 0, memory_order_relaxed);
    }
}

static void find_face_normals(void *data, int32_t begin, int32_t end, int32_t worker)
{
    detect_work *work = data;
    SUP_UNUSED(worker);
    for (int32_t t = begin; t < end; t++) {
        const int32_t *corner = work->detect->triangles + 3 * (size_t)t;
        sup_four a = sup_four_load(work->a.skin + 4 * (size_t)corner[0]);
        sup_four e = sup_four_load(work->a.skin + 4 * (size_t)corner[1]) - a;
        sup_four f = sup_four_load(work->a.skin + 4 * (size_t)corner[2]) - a;
        store_four(work->a.area + 4 * (size_t)t,
                   __builtin_shufflevector(e, e, 1, 2, 0, 3) * __builtin_shufflevector(f, f, 2, 0, 1, 3) -
                       __builtin_shufflevector(e, e, 2, 0, 1, 3) * __builtin_shufflevector(f, f, 1, 2, 0, 3));
    }
}

/* Vertex normals, and the skin offset along them. */
static void find_points(void *data, int32_t begin, int32_t end, int32_t worker)
{
    detect_work *work = data;
    const sup_detect *d = work->detect;
    SUP_UNUSED(worker);
    for (int32_t v = begin; v < end; v++) {
        sup_four sum = sup_four_splat(0.0f);
        for (int32_t i = d->fan_first[v]; i < d->fan_first[v + 1]; i++)
            sum = sum + sup_four_load(work->a.area + 4 * (size_t)d->fan[i]);
        float length = sqrtf(sum[0] * sum[0] + sum[1] * sum[1] + sum[2] * sum[2]);
        sup_four normal = sum * sup_four_splat(length > 0.0f ? 1.0f / length : 0.0f);
        store_four(work->a.normal + 4 * (size_t)v, normal);
        store_four(work->a.points + 4 * (size_t)v, sup_four_load(work->a.skin + 4 * (size_t)v) +
                                                       sup_four_splat(SUP_CONTACT_REACH * d->gap[v]) * normal);
    }
}

static sup_detect_box box_none(void)
{
    return (sup_detect_box){{INFINITY, INFINITY, INFINITY, INFINITY}, {-INFINITY, -INFINITY, -INFINITY, -INFINITY}};
}

/* NaN bounds are ignored. */
static void box_add(sup_detect_box *box, const float *lower, const float *upper)
{
    for (int32_t k = 0; k < 4; k++) {
        box->lower[k] = lower[k] < box->lower[k] ? lower[k] : box->lower[k];
        box->upper[k] = upper[k] > box->upper[k] ? upper[k] : box->upper[k];
    }
}

/* Box i of a node. */
static void put_box(sup_detect_boxes boxes, int32_t i, const sup_detect_box *box)
{
    for (int32_t k = 0; k < 3; k++) {
        boxes[k][i] = box->lower[k];
        boxes[3 + k][i] = box->upper[k];
    }
}

static float *lanes_of(const detect_work *work, int32_t cluster)
{
    return work->a.cluster_lanes + (size_t)cluster * SUP_DETECT_CLUSTER_ARRAYS * SUP_DETECT_CLUSTER;
}

static void put_lane(float *lanes, int32_t lane, const float *p)
{
    for (int32_t k = 0; k < 3; k++)
        lanes[k * SUP_DETECT_CLUSTER + lane] = p[k];
}

static sup_detect_box load_vertex_cluster(detect_work *work, int32_t cluster)
{
    static const float none[3] = {INFINITY, INFINITY, INFINITY};
    const sup_detect *d = work->detect;
    const int32_t *vertex = d->vertex_clusters + (size_t)cluster * SUP_DETECT_CLUSTER;
    float *lanes = lanes_of(work, cluster);
    sup_detect_box box = box_none();
    int32_t segment = vertex[0] >= 0 ? d->foot_segment[vertex[0]] : -1;
    uint32_t allowed = 0;
    for (int32_t i = 0; i < SUP_DETECT_CLUSTER; i++) {
        size_t v = (size_t)(vertex[i] >= 0 ? vertex[i] : 0);
        const float *p = work->a.skin + 4 * v;
        put_lane(lanes, i, vertex[i] >= 0 ? p : none);
        put_lane(lanes + 3 * SUP_DETECT_CLUSTER, i, work->a.normal + 4 * v);
        put_lane(lanes + 6 * SUP_DETECT_CLUSTER, i, work->a.bone_direction + 4 * v);
        if (vertex[i] < 0) continue;
        box_add(&box, p, p);
        if (d->foot_segment[v] != segment) segment = -1;
        allowed |= (uint32_t)(work->self_contact != NULL || d->self_contact[v] != 0) << i;
    }
    work->a.cluster_segment[cluster] = segment;
    work->a.cluster_self_contact[cluster] = allowed;
    return box;
}

static void bound_nodes(void *data, int32_t begin, int32_t end, int32_t worker)
{
    detect_work *work = data;
    const int32_t clusters = work->detect->vertex_cluster_count;
    SUP_UNUSED(worker);
    for (int32_t node = begin; node < end; node++) {
        sup_detect_box whole = box_none();
        for (int32_t i = 0; i < SUP_DETECT_CLUSTER; i++) {
            int32_t cluster = node * SUP_DETECT_CLUSTER + i;
            sup_detect_box box = cluster < clusters ? load_vertex_cluster(work, cluster) : box_none();
            put_box(work->a.cluster_box[node], i, &box);
            box_add(&whole, box.lower, box.upper);
        }
        put_box(work->a.node_box[node / SUP_DETECT_CLUSTER], node % SUP_DETECT_CLUSTER, &whole);
    }
}

static void bound_tet_clusters(void *data, int32_t begin, int32_t end, int32_t worker)
{
    detect_work *work = data;
    const sup_detect *d = work->detect;
    SUP_UNUSED(worker);
    for (int32_t number = begin; number < end; number++) {
        sup_detect_box box = box_none();
        for (int32_t i = d->tet_cluster_point_first[number]; i < d->tet_cluster_point_first[number + 1]; i++) {
            const float *p = work->a.points + 4 * (size_t)d->tet_cluster_points[i];
            box_add(&box, p, p);
        }
        work->a.tet_cluster_box[number] = box;
    }
}

/* Empty boxes where the last node of nodes is not full. */
static void fill_last_node(detect_work *work)
{
    int32_t nodes = sup_detect_node_count(work->detect->vertex_cluster_count);
    const sup_detect_box none = box_none();
    for (int32_t i = nodes; i % SUP_DETECT_CLUSTER != 0; i++)
        put_box(work->a.node_box[i / SUP_DETECT_CLUSTER], i % SUP_DETECT_CLUSTER, &none);
}

/* --- One vertex and one triangle --- */

typedef struct vec {
    float x, y, z;
} vec;

static vec load(const float *p)
{
    return (vec){p[0], p[1], p[2]};
}

static vec sub(vec a, vec b)
{
    return (vec){a.x - b.x, a.y - b.y, a.z - b.z};
}

static vec madd(vec a, float s, vec b)
{
    return (vec){a.x + s * b.x, a.y + s * b.y, a.z + s * b.z};
}

static float dot(vec a, vec b)
{
    return a.x * b.x + a.y * b.y + a.z * b.z;
}

static vec cross(vec a, vec b)
{
    return (vec){a.y * b.z - a.z * b.y, a.z * b.x - a.x * b.z, a.x * b.y - a.y * b.x};
}

static vec skin_point(const detect_work *work, int32_t v)
{
    return load(work->a.skin + 4 * (size_t)v);
}

/* Unit vector; zero where a is. */
static vec unit(vec a)
{
    float length = sqrtf(dot(a, a));
    return length > 0.0f ? (vec){a.x / length, a.y / length, a.z / length} : (vec){0.0f, 0.0f, 0.0f};
}

static vec vertex_normal(const detect_work *work, int32_t v)
{
    return load(work->a.normal + 4 * (size_t)v);
}

static bool in_ring(const sup_detect *d, int32_t v, int32_t other)
{
    for (int32_t i = d->ring_first[v]; i < d->ring_first[v + 1]; i++)
        if (d->ring[i] >= other) return d->ring[i] == other;
    return false;
}

static sup_skin_relation relation_of(const sup_detect *d, int32_t v, int32_t triangle)
{
    const int32_t *t = d->triangles + 3 * (size_t)triangle, *segment = d->foot_segment;
    if (in_ring(d, v, t[0]) || in_ring(d, v, t[1]) || in_ring(d, v, t[2])) return SUP_SKIN_ADJACENT;
    return segment[v] == segment[t[0]] || segment[v] == segment[t[1]] || segment[v] == segment[t[2]]
               ? SUP_SKIN_SAME_SEGMENT
               : SUP_SKIN_DISTANT;
}

static bool is_corner(const sup_detect *d, int32_t v, int32_t triangle)
{
    const int32_t *t = d->triangles + 3 * (size_t)triangle;
    return t[0] == v || t[1] == v || t[2] == v;
}

/* A vertex relative to a triangle. */
typedef struct contact_query {
    vec normal;      /* unit */
    float height;    /* of the vertex above the plane */
    float distance2; /* to the nearest point of the triangle */
    float weight[3]; /* of that point */
} contact_query;

/* Weight of the second end at the point of segment ab nearest to p. */
static float along(vec p, vec a, vec b)
{
    vec d = sub(b, a);
    float dd = dot(d, d), s = dd > 0.0f ? dot(sub(p, a), d) / dd : 0.0f;
    return s < 0.0f ? 0.0f : s > 1.0f ? 1.0f : s;
}

static contact_query query_triangle(const detect_work *work, vec p, int32_t triangle)
{
    const int32_t *t = work->detect->triangles + 3 * (size_t)triangle;
    const vec c[3] = {skin_point(work, t[0]), skin_point(work, t[1]), skin_point(work, t[2])};
    vec area = cross(sub(c[1], c[0]), sub(c[2], c[0]));
    contact_query query = {.normal = unit(area), .distance2 = INFINITY};
    query.height = dot(query.normal, sub(p, c[0]));
    float whole = dot(area, area), weight[3], least = INFINITY;
    for (int32_t k = 0; k < 3; k++) {
        weight[k] = dot(area, cross(sub(c[(k + 1) % 3], p), sub(c[(k + 2) % 3], p))) / whole;
        least = weight[k] < least ? weight[k] : least;
    }
    if (whole > 0.0f && least >= 0.0f) {
        float sum = weight[0] + weight[1] + weight[2];
        for (int32_t k = 0; k < 3; k++)
            query.weight[k] = weight[k] / sum;
        query.distance2 = query.height * query.height;
        return query;
    }
    for (int32_t k = 0; k < 3; k++) { /* outside: on the nearest edge */
        int32_t next = (k + 1) % 3;
        float s = along(p, c[k], c[next]);
        vec off = sub(p, madd(c[k], s, sub(c[next], c[k])));
        if (!(dot(off, off) < query.distance2)) continue;
        query.distance2 = dot(off, off);
        query.weight[k] = 1.0f - s;
        query.weight[next] = s;
        query.weight[(k + 2) % 3] = 0.0f;
    }
    return query;
}

/* --- Vertices in tetrahedra --- */

/* The smallest key wins in any order: the same result for any number of threads. */
static void atomic_minimum(_Atomic uint64_t *slot, uint64_t key)
{
    uint64_t old = atomic_load_explicit(slot, memory_order_relaxed);
    while (key < old &&
           !atomic_compare_exchange_weak_explicit(slot, &old, key, memory_order_relaxed, memory_order_relaxed)) {
    }
}

static float gap_at(const detect_work *work, int32_t v, int32_t triangle, const contact_query *query)
{
    const int32_t *t = work->detect->triangles + 3 * (size_t)triangle;
    const float *gap = work->detect->gap;
    return sup_contact_pair_gap(query->weight, gap[t[0]], gap[t[1]], gap[t[2]], gap[v]);
}

static vec foot_point(const detect_work *work, int32_t v)
{
    return load(work->a.points + 4 * (size_t)(work->detect->vertex_count + v));
}

/* Two outer sides that collide (sup_contact_faces), where skin of one segment may collide with itself at all.
 * `tolerance` is larger for a pair that exists. */
static bool may_pair(const detect_work *work, int32_t v, int32_t triangle, const contact_query *query, float tolerance)
{
    const sup_detect *d = work->detect;
    if (is_corner(d, v, triangle)) return false;
    sup_skin_relation relation = relation_of(d, v, triangle);
    if (relation != SUP_SKIN_DISTANT &&
        (!d->self_contact[v] || !d->self_contact[d->vertex_count + triangle] ||
         !sup_contact_in_fold(query->height, gap_at(work, v, triangle, query), tolerance)))
        return false;
    return sup_contact_faces(relation, dot(query->normal, vertex_normal(work, v)),
                             dot(query->normal, load(work->a.bone_direction + 4 * (size_t)v)), tolerance);
}

static void offer_pair(const detect_work *work, int32_t v, int32_t triangle, float rank)
{
    uint32_t bits; /* positive floats are ordered as their bits are */
    memcpy(&bits, &rank, sizeof bits);
    atomic_minimum(&work->a.nearest[v], (uint64_t)bits << 32 | (uint32_t)triangle);
}

/* For untangling (sup_detect_near). */
static void mark_near(const detect_work *work, int32_t v, int32_t triangle)
{
    const int32_t *t = work->detect->triangles + 3 * (size_t)triangle, vertices[4] = {v, t[0], t[1], t[2]};
    for (int32_t k = 0; k < 4; k++)
        atomic_store_explicit(&work->a.near[vertices[k]], 1, memory_order_relaxed);
}

static void test_candidate(const detect_work *work, int32_t v, int32_t triangle)
{
    /* Early out: most candidates fail this test of may_pair. */
    vec normal = unit(load(work->a.area + 4 * (size_t)triangle));
    if (is_corner(work->detect, v, triangle) ||
        !(dot(normal, vertex_normal(work, v)) < sup_contact_facing(SUP_SKIN_DISTANT) + SUP_CONTACT_FACING_NEAR))
        return;
    contact_query query = query_triangle(work, skin_point(work, v), triangle);
    if (!isfinite(query.distance2) || !may_pair(work, v, triangle, &query, SUP_CONTACT_FACING_NEAR)) return;
    float slack = work->detect->slack[v];
    if (slack > 0.0f && sup_contact_within_slack(query.height, gap_at(work, v, triangle, &query), slack)) return;
    mark_near(work, v, triangle);
    if (!may_pair(work, v, triangle, &query, 0.0f)) return;
    offer_pair(work, v, triangle, query.distance2);
}

/* The bind pose: a depth below the gap becomes slack; skin inside prisms of its own segment looks like a fold and
 * gets no self contact. */
static void test_bind_pose(const detect_work *work, int32_t v, int32_t triangle)
{
    const sup_detect *d = work->detect;
    contact_query query = query_triangle(work, skin_point(work, v), triangle);
    float gap = gap_at(work, v, triangle, &query), depth = gap - query.height;
    if (is_corner(d, v, triangle) || !(depth > 0.0f) || !isfinite(depth)) return;
    if (relation_of(d, v, triangle) != SUP_SKIN_DISTANT && query.height < -SUP_CONTACT_REST_OVERLAP * gap)
        work->self_contact[v] = work->self_contact[d->vertex_count + triangle] = 0;
    else if (dot(query.normal, vertex_normal(work, v)) < sup_contact_facing(SUP_SKIN_DISTANT))
        offer_pair(work, v, triangle, 1.0f / depth);
}

/* A tet cluster under test: its triangles are loaded when the first vertex is near, its tetrahedra when such a vertex
 * faces it. */
typedef struct cluster_test {
    int32_t cluster, first, count;
    int32_t segment;    /* of bone that each of its triangles has a corner on, -1 for none */
    int32_t face_count; /* -1: not loaded yet; more than SUP_DETECT_TET_CLUSTER: they do not fit */
    bool mapped;
    sup_detect_faces faces;
    sup_detect_maps maps;
} cluster_test;

static void load_faces(const detect_work *work, cluster_test *test)
{
    const sup_detect *d = work->detect;
    int32_t last = -1;
    test->face_count = 0;
    for (int32_t t = test->first; t < test->first + test->count; t++) {
        int32_t triangle = d->tet_triangle[t], segment = d->foot_segment[d->triangles[3 * (size_t)triangle]];
        if (triangle == last) continue;
        test->segment = test->face_count == 0 || segment == test->segment ? segment : -1;
        last = triangle;
        if (++test->face_count > SUP_DETECT_TET_CLUSTER) return;
        sup_four area = sup_four_load(work->a.area + 4 * (size_t)triangle);
        float length = sqrtf(area[0] * area[0] + area[1] * area[1] + area[2] * area[2]);
        area = length > 0.0f ? area : sup_four_splat(0.0f);
        area[3] = length;
        store_four(test->faces[test->face_count - 1], area);
    }
}

/* Which of these vertices of a cluster may form a pair with any triangle of the tet cluster: by the normals, and by
 * whether skin of one segment may collide with itself there. */
static uint32_t may_collide(const detect_work *work, cluster_test *test, int32_t cluster, uint32_t lanes)
{
    if (test->face_count < 0) load_faces(work, test);
    if (test->face_count > SUP_DETECT_TET_CLUSTER) return lanes;
    bool same_segment = test->segment >= 0 && work->a.cluster_segment[cluster] == test->segment;
    const float limits[2] = {sup_contact_cluster_facing(same_segment ? SUP_SKIN_SAME_SEGMENT : SUP_SKIN_DISTANT),
                             sup_contact_cluster_facing(SUP_SKIN_DISTANT)};
    if (same_segment) lanes &= work->a.cluster_self_contact[cluster];
    return work->kernels->face(lanes_of(work, cluster), lanes, test->faces, test->face_count, limits);
}

static void test_vertex_cluster(detect_work *work, cluster_test *test, int32_t cluster)
{
    const sup_detect *d = work->detect;
    const int32_t *vertex = d->vertex_clusters + (size_t)cluster * SUP_DETECT_CLUSTER;
    const float *lanes = lanes_of(work, cluster);
    uint64_t bits[SUP_DETECT_CLUSTER];
    uint32_t near = work->kernels->within(lanes, &work->a.tet_cluster_box[test->cluster]);
    if (near != 0 && work->self_contact == NULL)
        near = may_collide(work, test, cluster, near); /* the bind pose has other rules */
    if (near == 0) return;
    if (!test->mapped) work->kernels->map(work->a.points, d->tets + 4 * (size_t)test->first, test->count, test->maps);
    test->mapped = true;
    near = work->kernels->inside(test->maps, test->count, lanes, near, bits);
    for (; near != 0; near &= near - 1) {
        int32_t lane = __builtin_ctz(near), v = vertex[lane];
        if (v < 0) continue; /* only where a box is infinite */
        for (uint64_t inside = bits[lane]; inside != 0; inside &= inside - 1) {
            int32_t triangle = d->tet_triangle[test->first + __builtin_ctzll(inside)];
            if (work->self_contact != NULL)
                test_bind_pose(work, v, triangle);
            else
                test_candidate(work, v, triangle);
        }
    }
}

static void test_tet_cluster(detect_work *work, int32_t number)
{
    const sup_detect *d = work->detect;
    cluster_test test;
    test.cluster = number;
    test.first = d->tet_cluster_first[number];
    test.count = d->tet_cluster_first[number + 1] - test.first;
    test.segment = test.face_count = -1;
    test.mapped = false;
    if (test.count == 0) return;
    const sup_detect_box *box = &work->a.tet_cluster_box[number];
    int32_t roots = sup_detect_node_count(sup_detect_node_count(d->vertex_cluster_count));
    for (int32_t root = 0; root < roots; root++) {
        uint32_t nodes = work->kernels->overlap(work->a.node_box[root], box);
        for (; nodes != 0; nodes &= nodes - 1) {
            int32_t node = root * SUP_DETECT_CLUSTER + __builtin_ctz(nodes);
            uint32_t clusters = work->kernels->overlap(work->a.cluster_box[node], box);
            for (; clusters != 0; clusters &= clusters - 1)
                test_vertex_cluster(work, &test, node * SUP_DETECT_CLUSTER + __builtin_ctz(clusters));
        }
    }
}

static void test_tet_clusters(void *data, int32_t begin, int32_t end, int32_t worker)
{
    SUP_UNUSED(worker);
    for (int32_t number = begin; number < end; number++)
        test_tet_cluster(data, number);
}

/* --- Pairs and contacts --- */

/* Descends to the triangle nearest to the vertex, from neighbour to neighbour. */
static int32_t walk(const detect_work *work, int32_t v, int32_t triangle, float tolerance, contact_query *query)
{
    vec p = skin_point(work, v);
    *query = query_triangle(work, p, triangle);
    for (int32_t step = 0; step < SUP_CONTACT_WALK_STEPS; step++) {
        const int32_t *adjacent = work->detect->adjacent + 3 * (size_t)triangle;
        int32_t best = -1;
        contact_query best_query = *query;
        for (int32_t k = 0; k < 3; k++) {
            if (adjacent[k] < 0) continue;
            contact_query next = query_triangle(work, p, adjacent[k]);
            if (!(next.distance2 < best_query.distance2) || !may_pair(work, v, adjacent[k], &next, tolerance)) continue;
            best = adjacent[k];
            best_query = next;
        }
        if (best < 0) break;
        triangle = best;
        *query = best_query;
    }
    return triangle;
}

/* Distance from the skin to the bone line. */
static float tissue_depth(const detect_work *work, int32_t v)
{
    vec d = sub(skin_point(work, v), foot_point(work, v));
    return sqrtf(dot(d, d));
}

/* Depth of the prism of a triangle: a deeper vertex has come out on the other side. */
static float prism_depth(const detect_work *work, int32_t triangle)
{
    const int32_t *t = work->detect->triangles + 3 * (size_t)triangle;
    return fmaxf(tissue_depth(work, t[0]), fmaxf(tissue_depth(work, t[1]), tissue_depth(work, t[2])));
}

static float touch_height(const detect_work *work, int32_t v, int32_t triangle, const contact_query *query)
{
    return sup_contact_touch_height(relation_of(work->detect, v, triangle), gap_at(work, v, triangle, query),
                                    work->detect->slack[v]);
}

static float release_height(const detect_work *work, int32_t v, int32_t triangle, const contact_query *query)
{
    return sup_contact_release_height(gap_at(work, v, triangle, query), work->detect->slack[v]);
}

static bool is_kept(const detect_work *work, int32_t v, int32_t triangle, const contact_query *query)
{
    return sup_contact_is_kept(query->height, query->distance2, dot(query->normal, query->normal),
                               gap_at(work, v, triangle, query), work->detect->slack[v], work->detect->edge[0],
                               prism_depth(work, triangle)) &&
           may_pair(work, v, triangle, query, SUP_CONTACT_FACING_KEPT);
}

/* The vertex, or all of the triangle, belongs to segments whose pairs are released. */
static bool is_released(const detect_work *work, int32_t v, int32_t triangle)
{
    const int32_t *t = work->detect->triangles + 3 * (size_t)triangle, *segment = work->detect->foot_segment;
    const unsigned char *separated = work->a.separated;
    return work->input->release_separated &&
           (separated[segment[v]] ||
            (separated[segment[t[0]]] && separated[segment[t[1]]] && separated[segment[t[2]]]));
}

/* The triangle that the vertex forms a pair with now, -1 for none. */
static int32_t update_pair(const detect_work *work, int32_t v, contact_query *query)
{
    uint64_t key = atomic_load_explicit(&work->a.nearest[v], memory_order_relaxed);
    int32_t triangle = work->a.pair[v];
    if (work->input->frozen && triangle >= 0) *query = query_triangle(work, skin_point(work, v), triangle);
    if (work->input->frozen) return triangle;
    if (triangle < 0 && key == no_pair) return -1;
    if (triangle >= 0) {
        triangle = walk(work, v, triangle, SUP_CONTACT_FACING_KEPT, query);
        bool stale = work->input->end_stale && key == no_pair && query->height < touch_height(work, v, triangle, query);
        if (!stale && is_kept(work, v, triangle, query)) return triangle;
    }
    if (key == no_pair) return -1;
    return walk(work, v, (int32_t)(key & 0xffffffffu), 0.0f, query);
}

/* Direction of the push: continuous while the vertex slides over the triangles, and between the two surfaces. */
static vec push_normal(const detect_work *work, int32_t v, int32_t triangle, const contact_query *query)
{
    const int32_t *t = work->detect->triangles + 3 * (size_t)triangle;
    vec sum = {0.0f, 0.0f, 0.0f};
    for (int32_t k = 0; k < 3; k++)
        sum = madd(sum, query->weight[k], vertex_normal(work, t[k]));
    sum = unit(madd(unit(sum), -SUP_CONTACT_OWN_NORMAL, vertex_normal(work, v)));
    return sup_contact_uses_smooth_normal(dot(sum, query->normal)) ? sum : query->normal;
}

static sup_contact make_contact(const detect_work *work, int32_t v, int32_t triangle, const contact_query *query)
{
    vec normal = push_normal(work, v, triangle, query);
    float gap = gap_at(work, v, triangle, query), touch = touch_height(work, v, triangle, query);
    const int32_t *corner = work->detect->triangles + 3 * (size_t)triangle;
    vec off = skin_point(work, v);
    for (int32_t k = 0; k < 3; k++)
        off = madd(off, -query->weight[k], skin_point(work, corner[k]));
    sup_contact contact = {
        .vertex = v,
        .normal = {normal.x, normal.y, normal.z},
        .offset = sup_contact_offset(touch, dot(normal, off), gap),
        .stiffness = work->input->stiffness > 0.0f ? work->input->stiffness : SUP_CONTACT_STIFFNESS,
        .friction = work->input->friction,
        .limit = SUP_CONTACT_FORCE_LIMIT * gap,
        .damping = sup_contact_damping(query->height, touch, release_height(work, v, triangle, query)),
        .press =
            sup_contact_pressure(query->height, prism_depth(work, triangle), tissue_depth(work, v)) * work->a.onset[v]};
    for (int32_t k = 0; k < 3; k++) {
        contact.corner[k] = corner[k];
        contact.weight[k] = query->weight[k];
    }
    return contact;
}

/* Displacement in the last timestep, relative to the point of the triangle. */
static float displacement_of(const detect_work *work, int32_t v, int32_t triangle, const contact_query *query)
{
    const int32_t *t = work->detect->triangles + 3 * (size_t)triangle;
    const float *before = work->input->skin_before;
    size_t stride = (size_t)work->input->skin_stride;
    vec d = sub(skin_point(work, v), load(before + stride * (size_t)v));
    for (int32_t k = 0; k < 3; k++)
        d = madd(d, -query->weight[k], sub(skin_point(work, t[k]), load(before + stride * (size_t)t[k])));
    return sqrtf(dot(d, d));
}

static float onset_of(const detect_work *work, int32_t v, int32_t triangle, const contact_query *query)
{
    if (work->input->skin_before == NULL) return 1.0f;
    return sup_contact_onset(work->a.onset[v], displacement_of(work, v, triangle, query), work->detect->gap[v]);
}

static void update_pairs(void *data, int32_t begin, int32_t end, int32_t worker)
{
    detect_work *work = data;
    int32_t count = 0;
    SUP_UNUSED(worker);
    for (int32_t v = begin; v < end; v++) {
        contact_query query;
        int32_t triangle = update_pair(work, v, &query);
        if (triangle < 0 || is_released(work, v, triangle)) {
            work->a.pair[v] = -1;
            work->a.onset[v] = 0.0f;
            continue;
        }
        work->a.pair[v] = triangle;
        work->a.onset[v] = onset_of(work, v, triangle, &query);
        work->contacts[begin + count++] = make_contact(work, v, triangle, &query);
        mark_near(work, v, triangle);
    }
    work->a.contact_count[begin / GRAIN_PAIRS] = count;
}

static void find_nearest(const sup_context *context, detect_work *work)
{
    const sup_detect *d = work->detect;
    sup_parallel(context, d->vertex_count, GRAIN_POINTS, load_skin, work);
    sup_parallel(context, d->triangle_count, GRAIN_FACES, find_face_normals, work);
    sup_parallel(context, d->vertex_count, GRAIN_POINTS, find_points, work);
    sup_parallel(context, sup_detect_node_count(d->vertex_cluster_count), GRAIN_NODES, bound_nodes, work);
    fill_last_node(work);
    sup_parallel(context, d->tet_cluster_count, GRAIN_BOXES, bound_tet_clusters, work);
    sup_parallel(context, d->tet_cluster_count, GRAIN_TETS, test_tet_clusters, work);
}

int32_t sup_detect_step(const sup_context *context, const sup_detect *detect, void *state,
                        const sup_detect_input *input, sup_contact *contacts)
{
    detect_work work = {detect, input, sup_detect_choose_kernels(), sup_detect_layout(detect, state), contacts, NULL};
    find_nearest(context, &work);
    sup_parallel(context, detect->vertex_count, GRAIN_PAIRS, update_pairs, &work);
    return sup_contact_compact(contacts, detect->vertex_count, GRAIN_PAIRS, work.a.contact_count);
}

void sup_detect_find_separated(const sup_context *context, const sup_detect *detect, void *state,
                               const sup_detect_input *input)
{
    detect_work work = {detect, input, sup_detect_choose_kernels(), sup_detect_layout(detect, state), NULL, NULL};
    if (work.a.separated == NULL) return;
    memset(work.a.separated, 1, (size_t)detect->segment_count);
    find_nearest(context, &work);
    for (int32_t v = 0; v < detect->vertex_count; v++) {
        uint64_t key = atomic_load_explicit(&work.a.nearest[v], memory_order_relaxed);
        contact_query query;
        if (key == no_pair) continue;
        int32_t triangle = walk(&work, v, (int32_t)(key & 0xffffffffu), 0.0f, &query);
        float touch =
            touch_height(&work, v, triangle, &query) - SUP_CONTACT_SEPARATION * gap_at(&work, v, triangle, &query);
        if (!(query.height < touch)) continue;
        work.a.separated[detect->foot_segment[v]] = 0;
        for (int32_t k = 0; k < 3; k++)
            work.a.separated[detect->foot_segment[detect->triangles[3 * (size_t)triangle + (size_t)k]]] = 0;
    }
}

void sup_detect_bind_pose(const sup_context *context, const sup_detect *detect, void *state,
                          const sup_detect_input *input, float *depth, int32_t *self_contact)
{
    detect_work work = {detect, input,       sup_detect_choose_kernels(), sup_detect_layout(detect, state),
                        NULL,   self_contact};
    sup_context serial = *context; /* writes to self_contact are not atomic */
    serial.tasks = (sup_tasks){0};
    serial = sup_context_resolve(&serial);
    find_nearest(&serial, &work);
    for (int32_t v = 0; v < detect->vertex_count; v++) {
        uint64_t key = atomic_load_explicit(&work.a.nearest[v], memory_order_relaxed);
        uint32_t bits = (uint32_t)(key >> 32);
        float rank = 0.0f;
        memcpy(&rank, &bits, sizeof rank);
        depth[v] = key == no_pair ? 0.0f : 1.0f / rank;
    }
}

/* detect.cu - contact detection of the skin with itself: contact/detect.c on the device.
 *
 * Based on: [komaritzan2022] section 3.2.5, "GPU-Based Global Collision Handling", which hashes vertices and
 * tetrahedra into cells. As on the CPU (detect.h gives the reason) both lie in clusters that were built once; a warp
 * compares the box of its tet cluster with those of all vertex clusters, and tests only clusters whose boxes overlap.
 * The nearest triangle of a vertex is the minimum of integer keys, and lists are sorted: the contacts are the same
 * from run to run. */
#include "cuda/detect_constraints.cuh"

/* --- Vertices in tetrahedra --- */

/* A vertex that is inside a tetrahedron of the triangle, and is none of its corners. */
static __device__ void test_candidate(const work &w, int v, int triangle)
{
    const query_vertex own = open_vertex(w, v);
    contact_query query = query_triangle(w, own.position, triangle);
    if (!isfinite(query.distance2) || !may_pair(w, own, triangle, query, SUP_CONTACT_FACING_NEAR)) return;
    float slack = w.d->slack[v];
    if (slack > 0.0f && sup_contact_within_slack(query.height, gap_at(w, v, triangle, query), slack)) return;
    mark_near(w, v, triangle);
    if (!may_pair(w, own, triangle, query, 0.0f)) return;
    /* Positive floats are ordered as their bits are; the minimum does not depend on thread timing. */
    atomicMin(&w.nearest[v], (unsigned long long)__float_as_uint(query.distance2) << 32 | (unsigned)triangle);
}

/* A tetrahedron: the map from a point to the weights of its last three corners (detect_internal.h); its triangle. */
struct tet_map {
    float first[3], matrix[9];
    int corner[3], triangle;
};

static __device__ tet_map map_tet(const work &w, int tet, bool exists)
{
    const int4 corner = ((const int4 *)w.d->tets)[exists ? tet : 0];
    const float4 first = w.points[corner.x];
    const float4 e[3] = {minus(w.points[corner.y], first), minus(w.points[corner.z], first),
                         minus(w.points[corner.w], first)};
    const float det = dot(e[0], cross(e[1], e[2])), scale = 1.0f / det;
    tet_map m;
    m.triangle = w.d->tet_triangle[exists ? tet : 0];
    m.first[0] = exists && det > 0.0f ? first.x : NAN;
    m.first[1] = first.y;
    m.first[2] = first.z;
#pragma unroll
    for (int k = 0; k < 3; k++) {
        const float4 matrix_row = cross(e[(k + 1) % 3], e[(k + 2) % 3]);
        m.corner[k] = w.d->triangles[3 * (size_t)m.triangle + k];
        m.matrix[3 * k] = matrix_row.x * scale;
        m.matrix[3 * k + 1] = matrix_row.y * scale;
        m.matrix[3 * k + 2] = matrix_row.z * scale;
    }
    return m;
}

/* Whether a point, vertex v, is inside, and not a corner of the triangle. */
static __device__ bool is_inside(const tet_map &m, float4 p, int v)
{
    const float x = p.x - m.first[0], y = p.y - m.first[1], z = p.z - m.first[2];
    float weight[3];
#pragma unroll
    for (int r = 0; r < 3; r++)
        weight[r] = fmaf(m.matrix[3 * r], x, fmaf(m.matrix[3 * r + 1], y, m.matrix[3 * r + 2] * z));
    return fminf(fminf(weight[0], weight[1]), weight[2]) > -SUP_CONTACT_TET_TOLERANCE &&
           weight[0] + weight[1] + weight[2] < 1.0f + SUP_CONTACT_TET_TOLERANCE && v != m.corner[0] &&
           v != m.corner[1] && v != m.corner[2];
}

/* The box of a tet cluster. */
struct tet_cluster_box {
    float4 lower, upper, low_diagonals, high_diagonals;
};

static __device__ bool is_within(float4 p, const tet_cluster_box &box)
{
    float at[AXES];
    project(p, at);
    return !(p.x > box.upper.x || p.x < box.lower.x || p.y > box.upper.y || p.y < box.lower.y || p.z > box.upper.z ||
             p.z < box.lower.z || at[3] > box.high_diagonals.x || at[3] < box.low_diagonals.x ||
             at[4] > box.high_diagonals.y || at[4] < box.low_diagonals.y || at[5] > box.high_diagonals.z ||
             at[5] < box.low_diagonals.z || at[6] > box.high_diagonals.w || at[6] < box.low_diagonals.w);
}

static __device__ bool boxes_overlap(float4 lower, float4 upper, const tet_cluster_box &box)
{
    return !(lower.x > box.upper.x || upper.x < box.lower.x || lower.y > box.upper.y || upper.y < box.lower.y ||
             lower.z > box.upper.z || upper.z < box.lower.z);
}

/* Removes the first element of a bit set and returns it; -1 for none. */
static __device__ int pop_first(unsigned &set)
{
    int first = __ffs((int)set) - 1;
    set &= set - 1u;
    return first;
}

/* Shared memory of a warp. */
struct test_scratch {
    float4 near[2 * 32];                    /* positions; w: bits of the vertex */
    int2 candidates[2 * 32];                /* a vertex, and a triangle with a tetrahedron that contains it */
    float4 normal[SUP_DETECT_CLUSTER_TETS]; /* unit, of the triangles of the tet cluster, loaded when needed */
};

/* A tet cluster under test, and the vertices in its box that wait for the test. */
struct cluster_test {
    test_scratch *scratch;
    int count, candidates; /* vertices in scratch->near, entries of scratch->candidates */
    int first, tets;       /* tetrahedra */
    int faced;             /* the first so many of the vertices face a triangle */
    int triangles;         /* -1: not loaded yet */
    int segment;           /* of bone that each of the triangles has a corner on, -1 for none */
};

/* Normals of a tet cluster's triangles, and their bone segment. */
static __device__ void load_triangles(const work &w, cluster_test &test)
{
    enum { BATCHES = (SUP_DETECT_CLUSTER_TETS + 31) / 32 };
    const unsigned all = 0xffffffffu;
    const sup_detect &d = *w.d;
    const int lane = threadIdx.x % 32;
    int triangle[BATCHES], low = INT_MAX, high = -1;
    bool new_one[BATCHES];
    float4 normal[BATCHES];
#pragma unroll
    for (int r = 0; r < BATCHES; r++) {
        const int tet = test.first + min(32 * r + lane, test.tets - 1);
        triangle[r] = d.tet_triangle[tet];
        new_one[r] = 32 * r + lane < test.tets && (tet == test.first || d.tet_triangle[tet - 1] != triangle[r]);
    }
#pragma unroll
    for (int r = 0; r < BATCHES; r++) {
        const int32_t *t = d.triangles + 3 * (size_t)triangle[r];
        const float4 c = w.skin[t[0]];
        normal[r] = unit(cross(minus(w.skin[t[1]], c), minus(w.skin[t[2]], c)));
        low = min(low, d.foot_segment[t[0]]);
        high = max(high, d.foot_segment[t[0]]);
    }
    test.triangles = 0;
#pragma unroll
    for (int r = 0; r < BATCHES; r++) {
        const unsigned added = __ballot_sync(all, new_one[r]);
        if (new_one[r]) test.scratch->normal[test.triangles + __popc(added & ((1u << lane) - 1u))] = normal[r];
        test.triangles += __popc(added);
    }
    low = __reduce_min_sync(all, low);
    high = __reduce_max_sync(all, high);
    test.segment = low == high ? low : -1;
    __syncwarp();
}

/* Whether a vertex may form a pair with any triangle of the tet cluster: by the normals, and by whether skin of one
 * segment may collide with itself there (may_collide of detect.c). */
static __device__ bool is_faced(const work &w, const cluster_test &test, int v)
{
    const bool same_segment = w.d->foot_segment[v] == test.segment;
    const float limit = sup_contact_cluster_facing(same_segment ? SUP_SKIN_SAME_SEGMENT : SUP_SKIN_DISTANT);
    const float4 normal = w.normal[v];
    bool faced = false;
    for (int i = 0; i < test.triangles && !faced; i++)
        faced = !(dot(test.scratch->normal[i], normal) > limit);
    return faced && (!same_segment || w.d->self_contact[v]);
}

/* Drops vertices that face no triangle. */
static __device__ __noinline__ void choose_faced(const work &w, cluster_test &test)
{
    const int lane = threadIdx.x % 32, end = test.count;
    __syncwarp();
    if (test.triangles < 0) load_triangles(w, test);
    test.count = test.faced;
    for (int begin = test.faced; begin < end; begin += 32) {
        const float4 p = test.scratch->near[min(begin + lane, end - 1)];
        const bool in = begin + lane < end && is_faced(w, test, __float_as_int(p.w));
        const unsigned faced = __ballot_sync(0xffffffffu, in);
        __syncwarp(); /* all threads read before one writes */
        if (in) test.scratch->near[test.count + __popc(faced & ((1u << lane) - 1u))] = p;
        test.count += __popc(faced);
        __syncwarp();
    }
    test.faced = test.count;
}

/* Tests the first 32 candidates, or all, a thread each, and moves the rest to the front. */
static __device__ __noinline__ void test_candidates(const work &w, test_scratch &scratch, int count)
{
    const int lane = threadIdx.x % 32;
    __syncwarp();
    if (lane < count) test_candidate(w, scratch.candidates[lane].x, scratch.candidates[lane].y);
    __syncwarp();
    if (lane + 32 < count) scratch.candidates[lane] = scratch.candidates[lane + 32];
    __syncwarp();
}

/* `near` against the tetrahedra from number `begin` of the cluster on, one for each of `lanes` threads. Returns the
 * number of candidates that are still to be tested. */
static __device__ int test_tets(const work &w, const cluster_test &test, int begin, int lanes)
{
    const int lane = threadIdx.x % 32, own = begin + lane % lanes, each = 32 / lanes, half = lane / lanes;
    const tet_map map = map_tet(w, test.first + own, own < test.tets);
    unsigned long long inside = 0; /* of the vertices of this thread, each tested independently */
    int candidates = test.candidates;
#pragma unroll 4
    for (int i = 0; i * each < test.count; i++) {
        const int n = i * each + half;
        const float4 p = test.scratch->near[min(n, test.count - 1)];
        if (n < test.count && is_inside(map, p, __float_as_int(p.w))) inside |= 1ull << i;
    }
    for (unsigned some; (some = __ballot_sync(0xffffffffu, inside != 0)) != 0;) {
        if (inside != 0) {
            const int n = (__ffsll((long long)inside) - 1) * each + half;
            const int2 candidate = make_int2(__float_as_int(test.scratch->near[n].w), map.triangle);
            test.scratch->candidates[candidates + __popc(some & ((1u << lane) - 1u))] = candidate;
            inside &= inside - 1;
        }
        candidates += __popc(some);
        if (candidates < 32) continue;
        test_candidates(w, *test.scratch, candidates);
        candidates -= 32;
    }
    return candidates;
}

/* Tests all waiting vertices: against the first 32 tetrahedra, then against the others, by half a warp each. */
static __device__ __noinline__ void test_near(const work &w, cluster_test &test)
{
    __syncwarp();
#pragma unroll 1
    for (int begin = 0; begin < test.tets; begin += 32)
        test.candidates = test_tets(w, test, begin, begin == 0 ? 32 : 16);
    __syncwarp();
    test.count = test.faced = 0;
}

/* A vertex of the next two clusters of `set`, which are removed: its position, and its index as bits in w. */
static __device__ float4 fetch_vertex(const work &w, int base, int split, unsigned &set)
{
    const int one = pop_first(set), other = pop_first(set), cluster = threadIdx.x % 32 < 16 ? one : other;
    if (cluster < 0) return make_float4(0.0f, 0.0f, 0.0f, __int_as_float(-1));
    return w.clustered[(base + cluster * split) * SUP_DETECT_CLUSTER + threadIdx.x % 16];
}

/* Vertices in the box, of the clusters `set` of those from `base` on, two clusters at a time. */
static __device__ void test_vertex_clusters(const work &w, const tet_cluster_box &box, int base, int split,
                                            unsigned set, cluster_test &test)
{
    const unsigned all = 0xffffffffu;
    const int lane = threadIdx.x % 32;
    bool more = set != 0;
    float4 next = fetch_vertex(w, base, split, set);
    while (more) {
        const float4 p = next;
        more = set != 0;
        next = fetch_vertex(w, base, split, set); /* in flight while this one is tested */
        const int v = __float_as_int(p.w);
        bool in = v >= 0 && is_within(p, box);
        const unsigned near = __ballot_sync(all, in);
        if (in) test.scratch->near[test.count + __popc(near & ((1u << lane) - 1u))] = p;
        test.count += __popc(near);
        if (test.count > 32) choose_faced(w, test);
        if (test.count > 32) test_near(w, test);
    }
}

/* A tet cluster, by a warp: number `rank` of the `split` warps that share the vertex clusters, interleaved, so that
 * spatial neighbours, which are often hit together, go to different warps. A warp without others tests nodes of
 * clusters first. */
static __device__ void test_tet_cluster(const work &w, int number, int rank, int split, test_scratch &scratch)
{
    static_assert(SUP_DETECT_CLUSTER_TETS <= 48, "tetrahedra of a tet cluster");
    const unsigned all = 0xffffffffu;
    const sup_detect &d = *w.d;
    const int lane = threadIdx.x % 32, nodes = nodes_of(d), first = d.tet_cluster_first[number];
    const float4 *from = w.tet_cluster_box + SUP_GPU_TET_BOX_FOURS * number, *boxes = w.cluster_box;
    const tet_cluster_box box = {from[0], from[1], from[2], from[3]};
    cluster_test test = {&scratch, 0, 0, first, d.tet_cluster_first[number + 1] - first, 0, -1, -1};
    const int batches = (d.vertex_cluster_count + 32 * split - 1) / (32 * split);
    for (int start = 0; start < batches && test.tets > 0; start += 32) {
        const int node = d.vertex_cluster_count + min(start + lane, nodes - 1);
        unsigned some = __ballot_sync(all, start + lane < batches &&
                                               (split > 1 || boxes_overlap(boxes[2 * node], boxes[2 * node + 1], box)));
        while (some != 0) {
            const int base = (start + pop_first(some)) * 32 * split + rank, own = base + lane * split;
            const bool overlaps =
                own < d.vertex_cluster_count && boxes_overlap(boxes[2 * own], boxes[2 * own + 1], box);
            test_vertex_clusters(w, box, base, split, __ballot_sync(all, overlaps), test);
        }
    }
    if (test.count > 0) choose_faced(w, test);
    if (test.count > 0) test_near(w, test);
    if (test.candidates > 0) test_candidates(w, scratch, test.candidates);
}

/* --- Kernels --- */

__global__ void __launch_bounds__(THREADS)
    points_kernel(const __grid_constant__ sup_gpu_detect detect, const __grid_constant__ sup_gpu_state st,
                  const float *all_ends)
{
    const int character = blockIdx.y, v = blockIdx.x * THREADS + threadIdx.x;
    fan_view fan = fetch_fan(detect.view, v);
    wait_for_kernel();
    if (v < detect.view.vertex_count && is_active(st, character)) find_point(detect, st, all_ends, character, v, fan);
}

/* Boxes of the vertex clusters, of `nodes` nodes of them, and of the tet clusters. */
__global__ void __launch_bounds__(THREADS)
    boxes_kernel(const __grid_constant__ sup_gpu_detect detect, const __grid_constant__ sup_gpu_state st, int nodes)
{
    wait_for_kernel();
    const sup_detect &d = detect.view;
    const int character = blockIdx.y, i = blockIdx.x * WARPS + threadIdx.x / 32;
    const int node = i - d.vertex_cluster_count, number = node - nodes;
    if (number >= d.tet_cluster_count || !is_active(st, character)) return;
    const work w = open_character(detect, st, character);
    const int first = node < 0 ? i : node * NODE;
    if (number >= 0)
        bound_tet_cluster(w, number, w.tet_cluster_box + SUP_GPU_TET_BOX_FOURS * number);
    else
        bound_vertex_clusters(w, first, node < 0 ? 1 : min(NODE, d.vertex_cluster_count - first),
                              w.cluster_box + 2 * i);
}

__global__ void __launch_bounds__(TEST_THREADS, 8)
    test_kernel(const __grid_constant__ sup_gpu_detect detect, const __grid_constant__ sup_gpu_state st, int split)
{
    __shared__ test_scratch scratch[TEST_WARPS];
    wait_for_kernel();
    const int warp = threadIdx.x / 32, number = blockIdx.x * TEST_WARPS + warp;
    if (number >= detect.view.tet_cluster_count * split || !is_active(st, blockIdx.y)) return;
    test_tet_cluster(open_character(detect, st, blockIdx.y), number / split, number % split, split, scratch[warp]);
}

template <int LANES>
__global__ void __launch_bounds__(THREADS)
    pairs_kernel(const __grid_constant__ sup_gpu_detect detect, const __grid_constant__ sup_gpu_system s,
                 const __grid_constant__ sup_gpu_state st)
{
    wait_for_kernel();
    const int character = blockIdx.y, v = (blockIdx.x * THREADS + threadIdx.x) / LANES;
    if (!is_active(st, character)) return;
    count_contacts(st, character, find_contact<LANES>(s, st, open_character(detect, st, character), character, v));
}

/* --- Launches --- */

extern "C" int32_t sup_gpu_detect_boxes(const sup_detect *view)
{
    return 2 * (view->vertex_cluster_count + nodes_of(*view));
}

extern "C" int sup_gpu_detect_step(const sup_gpu_detect *detect, const sup_gpu_system *system,
                                   const sup_gpu_state *state, const sup_gpu_body *body, void *stream)
{
    const sup_detect &d = detect->view;
    cudaStream_t on = (cudaStream_t)stream;
    const bool single = system->lockstep == 1;
    const int split = single ? SINGLE_SPLIT : 1, nodes = single ? 0 : nodes_of(d), lanes = single ? 4 : 1;
    const int boxes = d.vertex_cluster_count + nodes + d.tet_cluster_count;
    const dim3 vertices((d.vertex_count + THREADS - 1) / THREADS, state->count);
    const dim3 pairs((lanes * d.vertex_count + THREADS - 1) / THREADS, state->count);
    launch_early(points_kernel, vertices, THREADS, 0, on, *detect, *state, body->ends);
    launch_early(boxes_kernel, dim3((boxes + WARPS - 1) / WARPS, state->count), THREADS, 0, on, *detect, *state, nodes);
    launch_early(test_kernel, dim3((d.tet_cluster_count * split + TEST_WARPS - 1) / TEST_WARPS, state->count),
                 TEST_THREADS, 0, on, *detect, *state, split);
    launch_early(single ? pairs_kernel<4> : pairs_kernel<1>, pairs, THREADS, 0, on, *detect, *system, *state);
    return (int)cudaGetLastError();
}

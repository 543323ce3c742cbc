/* crossings.c - self-intersections of the skin and their depth.
 *
 * Crossing pairs are found exactly, with a bounding volume hierarchy. Depth starts at the crossing pairs that did not
 * cross at rest: vertices next to them that are inside the closed skin (signed ray crossings, majority of three rays)
 * are flood-filled over the mesh; the depth of a vertex is the distance to the nearest triangle through which it can
 * exit. */
#include "geometry/predicates.h"
#include "math/vec3.h"
#include "measure/measurer.h"

#include <stdlib.h>

static int64_t pair_key(int32_t a, int32_t b)
{
    return a < b ? (int64_t)a << 32 | (int64_t)b : (int64_t)b << 32 | (int64_t)a;
}

static int compare_keys(const void *a, const void *b)
{
    int64_t p = *(const int64_t *)a, q = *(const int64_t *)b;
    return p < q ? -1 : p > q;
}

typedef struct pair_search {
    sup_measurer *m;
    const float *positions;
    bool failed;
} pair_search;

static bool share_vertex(const int32_t *a, const int32_t *b)
{
    for (int i = 0; i < 3; i++)
        if (a[i] == b[0] || a[i] == b[1] || a[i] == b[2]) return true;
    return false;
}

static bool boxes_apart(const float *const p[3], const float *const q[3])
{
    for (int k = 0; k < 3; k++) {
        float p_low = fminf(fminf(p[0][k], p[1][k]), p[2][k]), p_high = fmaxf(fmaxf(p[0][k], p[1][k]), p[2][k]);
        float q_low = fminf(fminf(q[0][k], q[1][k]), q[2][k]), q_high = fmaxf(fmaxf(q[0][k], q[1][k]), q[2][k]);
        if (p_low > q_high || q_low > p_high) return true;
    }
    return false;
}

static bool visit_pair(void *user, int32_t a, int32_t b)
{
    pair_search *search = user;
    const sup_closed_surface *closed = &search->m->closed;
    if (a >= closed->triangle_count || b >= closed->triangle_count) return true; /* fans are not skin */
    const int32_t *ta = closed->triangles + 3 * (size_t)a, *tb = closed->triangles + 3 * (size_t)b;
    if (share_vertex(ta, tb)) return true;
    const float *p[3], *q[3];
    for (int i = 0; i < 3; i++) {
        p[i] = search->positions + 3 * (size_t)ta[i];
        q[i] = search->positions + 3 * (size_t)tb[i];
    }
    if (boxes_apart(p, q) || !sup_triangles_intersect(p, q)) return true;
    int64_t *key = sup_array_push(&search->m->context.allocator, &search->m->pairs, 1);
    if (key == NULL) {
        search->failed = true;
        return false;
    }
    *key = pair_key(a, b);
    return true;
}

/* Finds all crossing pairs of `positions`, to which the tree must be fitted, in ascending order in m->pairs. */
static bool find_pairs(sup_measurer *m, const float *positions)
{
    pair_search search = {m, positions, false};
    m->pairs.count = 0;
    sup_bvh_self_pairs(&m->tree, visit_pair, &search);
    if (m->pairs.count > 1) qsort(m->pairs.data, m->pairs.count, sizeof(int64_t), compare_keys);
    return !search.failed;
}

typedef struct ray_count {
    const sup_measurer *m;
    int32_t vertex;    /* its own triangles are ignored */
    int32_t crossings; /* exits minus entries, with the orientation of each component */
} ray_count;

static bool count_crossing(void *user, const sup_bvh_hit *hit)
{
    ray_count *ray = user;
    const int32_t *t = ray->m->closed.triangles + 3 * (size_t)hit->triangle;
    if (t[0] == ray->vertex || t[1] == ray->vertex || t[2] == ray->vertex) return false;
    bool outward = ray->m->component_sign[ray->m->closed.component[t[0]]] > 0.0;
    ray->crossings += outward ? hit->facing : -hit->facing;
    return false; /* continue with the next hit */
}

static sup_vec3d vertex_normal(const sup_measurer *m, const float *positions, int32_t v)
{
    const sup_adjacency *adjacency = &m->closed.adjacency;
    sup_vec3d normal = sup_v3(0, 0, 0);
    for (int32_t i = adjacency->vertex_first[v]; i < adjacency->vertex_first[v + 1]; i++) {
        const int32_t *t = m->closed.triangles + 3 * (size_t)(adjacency->vertex_halves[i] / 3);
        sup_vec3d a = sup_v3_load(positions + 3 * (size_t)t[0]);
        normal = sup_v3_add(normal, sup_v3_cross(sup_v3_sub(sup_v3_load(positions + 3 * (size_t)t[1]), a),
                                                 sup_v3_sub(sup_v3_load(positions + 3 * (size_t)t[2]), a)));
    }
    normal = sup_v3_unit_or(normal, sup_v3(0, 0, 0));
    return sup_v3_scale(normal, m->component_sign[m->closed.component[v]]);
}

/* Whether the point just outside the skin at vertex v is inside the skin. Rays along the normal and two tilted ones. */
static bool vertex_inside(const sup_measurer *m, const float *positions, int32_t v)
{
    if (m->closed.component[v] < 0) return false;
    sup_vec3d normal = vertex_normal(m, positions, v);
    if (sup_v3_dot(normal, normal) == 0.0) return false;
    sup_vec3d other = fabs(normal.x) < 0.6 ? sup_v3(1, 0, 0) : sup_v3(0, 1, 0);
    sup_vec3d side = sup_v3_unit_or(sup_v3_cross(normal, other), sup_v3(0, 0, 0));
    int votes = 0;
    for (int i = 0; i < 3; i++) {
        double tilt = i == 0 ? 0.0137 : i == 1 ? 0.171 : -0.233; /* avoids symmetry axes of the mesh */
        ray_count count = {m, v, 0};
        sup_vec3d start = sup_v3_madd(sup_v3_load(positions + 3 * (size_t)v), 1e-5 * m->mean_edge, normal);
        sup_bvh_ray ray = {start, sup_v3_madd(normal, tilt, side), 0.0, INFINITY, count_crossing, &count};
        sup_bvh_ray_any(&m->tree, &ray);
        votes += count.crossings > 0 ? 1 : 0;
    }
    return votes >= 2;
}

typedef struct depth_search {
    const sup_measurer *m;
    sup_vec3d point, normal;
} depth_search;

/* Only triangles that face the vertex and have it behind them are an exit. */
static bool is_exit(void *user, int32_t triangle)
{
    const depth_search *search = user;
    const int32_t *t = search->m->closed.triangles + 3 * (size_t)triangle;
    const float *positions = search->m->current;
    sup_vec3d a = sup_v3_load(positions + 3 * (size_t)t[0]);
    sup_vec3d n = sup_v3_cross(sup_v3_sub(sup_v3_load(positions + 3 * (size_t)t[1]), a),
                               sup_v3_sub(sup_v3_load(positions + 3 * (size_t)t[2]), a));
    n = sup_v3_scale(n, search->m->component_sign[search->m->closed.component[t[0]]]);
    return sup_v3_dot(n, search->normal) < 0.0 && sup_v3_dot(n, sup_v3_sub(search->point, a)) < 0.0;
}

static double vertex_depth(const sup_measurer *m, int32_t v)
{
    depth_search search = {m, sup_v3_load(m->current + 3 * (size_t)v), vertex_normal(m, m->current, v)};
    sup_bvh_nearest nearest = sup_bvh_closest_of(&m->tree, search.point, m->size, is_exit, &search);
    return nearest.triangle >= 0 ? nearest.distance / m->size : 0.0;
}

static int32_t enqueue(sup_measurer *m, int32_t v, int32_t count)
{
    if (m->visited[v]) return count;
    m->visited[v] = 1;
    m->queue[count] = v;
    return count + 1;
}

/* Flood fill from the crossing triangles over all vertices inside the skin. */
static double flood_depth(sup_measurer *m)
{
    const sup_adjacency *adjacency = &m->closed.adjacency;
    int32_t queued = 0;
    double deepest = 0.0;
    memset(m->visited, 0, (size_t)m->closed.vertex_count);
    memset(m->depth, 0, (size_t)m->closed.vertex_count * sizeof *m->depth);
    for (int32_t i = 0; i < 2 * m->pair_index_count; i++)
        for (int c = 0; c < 3; c++)
            queued = enqueue(m, m->closed.triangles[3 * (size_t)m->pair_indices[i] + (size_t)c], queued);
    for (int32_t done = 0; done < queued; done++) {
        int32_t v = m->queue[done];
        if (m->rest_inside[v] || !vertex_inside(m, m->current, v)) continue;
        m->depth[v] = (float)vertex_depth(m, v);
        deepest = fmax(deepest, (double)m->depth[v]);
        for (int32_t i = adjacency->vertex_first[v]; i < adjacency->vertex_first[v + 1]; i++) {
            int32_t triangle = adjacency->vertex_halves[i] / 3;
            for (int c = 0; c < 3; c++)
                queued = enqueue(m, m->closed.triangles[3 * (size_t)triangle + (size_t)c], queued);
        }
    }
    return deepest;
}

enum { NEIGHBOUR_RINGS = 6 };

/* Whether a path of at most NEIGHBOUR_RINGS edges connects two triangles. Leaves m->visited clear. */
static bool are_neighbours(sup_measurer *m, const int32_t *from, const int32_t *to)
{
    const sup_adjacency *adjacency = &m->closed.adjacency;
    int32_t queued = 0, begin = 0;
    for (int c = 0; c < 3; c++)
        queued = enqueue(m, from[c], queued);
    for (int ring = 0; ring < NEIGHBOUR_RINGS; ring++)
        for (int32_t end = queued; begin < end; begin++)
            for (int32_t v = m->queue[begin], i = adjacency->vertex_first[v]; i < adjacency->vertex_first[v + 1]; i++)
                for (int c = 0; c < 3; c++)
                    queued = enqueue(m, m->closed.triangles[adjacency->vertex_halves[i] / 3 * 3 + c], queued);
    bool reached = m->visited[to[0]] || m->visited[to[1]] || m->visited[to[2]];
    for (int32_t i = 0; i < queued; i++)
        m->visited[m->queue[i]] = 0;
    return reached;
}

/* Whether the triangles are nearer to each other at rest than their longest edge, and not neighbours along the skin. */
static bool close_at_rest(sup_measurer *m, int32_t a, int32_t b)
{
    const int32_t *p = m->closed.triangles + 3 * (size_t)a, *q = m->closed.triangles + 3 * (size_t)b;
    double nearest = INFINITY, longest = 0.0;
    for (int i = 0; i < 3; i++) {
        sup_vec3d at = sup_v3_load(m->rest + 3 * (size_t)p[i]), other = sup_v3_load(m->rest + 3 * (size_t)q[i]);
        longest = fmax(longest, sup_v3_distance(at, sup_v3_load(m->rest + 3 * (size_t)p[(i + 1) % 3])));
        longest = fmax(longest, sup_v3_distance(other, sup_v3_load(m->rest + 3 * (size_t)q[(i + 1) % 3])));
        for (int j = 0; j < 3; j++)
            nearest = fmin(nearest, sup_v3_distance(at, sup_v3_load(m->rest + 3 * (size_t)q[j])));
    }
    return nearest < longest && !are_neighbours(m, p, q);
}

/* Collects the pairs of the frame that did not cross at rest; both lists are sorted. */
static bool collect_new_pairs(sup_measurer *m, sup_frame_measure *out)
{
    const int64_t *pairs = (const int64_t *)(const void *)m->pairs.data;
    int32_t count = (int32_t)m->pairs.count, rest = 0;
    if (count > m->pair_index_capacity) {
        m->pair_indices = sup_arena_alloc(&m->arena, 4 * (size_t)count, sizeof(int32_t));
        if (m->pair_indices == NULL) return false;
        m->pair_index_capacity = 2 * count;
    }
    m->pair_index_count = 0;
    out->rest_intersections = out->close_intersections = 0;
    memset(m->visited, 0, (size_t)m->closed.vertex_count);
    for (int32_t i = 0; i < count; i++) {
        while (rest < m->rest_pair_count && m->rest_pairs[rest] < pairs[i])
            rest++;
        if (rest < m->rest_pair_count && m->rest_pairs[rest] == pairs[i]) {
            out->rest_intersections++;
            continue;
        }
        m->pair_indices[2 * m->pair_index_count] = (int32_t)(pairs[i] >> 32);
        m->pair_indices[2 * m->pair_index_count + 1] = (int32_t)(pairs[i] & 0xffffffff);
        out->close_intersections += close_at_rest(m, (int32_t)(pairs[i] >> 32), (int32_t)(pairs[i] & 0xffffffff));
        m->pair_index_count++;
    }
    out->intersections = m->pair_index_count;
    return true;
}

static void test_rest_vertices(void *work, int32_t begin, int32_t end, int32_t worker)
{
    sup_measurer *m = work;
    SUP_UNUSED(worker);
    for (int32_t v = begin; v < end; v++)
        m->rest_inside[v] = vertex_inside(m, m->rest, v);
}

sup_result sup_measure_rest_contact(sup_measurer *m, sup_error *error)
{
    sup_result result = sup_bvh_create(&m->context, m->rest, m->closed.triangle_count + m->closed.fan_count,
                                       m->closed.triangles, &m->tree, error);
    if (result != SUP_OK) return result;
    if (!find_pairs(m, m->rest)) return sup_fail_memory(error, "the crossing pairs");
    m->rest_pair_count = (int32_t)m->pairs.count;
    m->rest_pairs = sup_arena_copy(&m->arena, m->pairs.count > 0 ? m->pairs.data : (unsigned char *)"", m->pairs.count,
                                   sizeof(int64_t));
    if (m->rest_pairs == NULL) return sup_fail_memory(error, "the crossing pairs");
    sup_parallel(&m->context, m->closed.vertex_count, 256, test_rest_vertices, m);
    return SUP_OK;
}

sup_result sup_measure_contact(sup_measurer *m, sup_frame_measure *out)
{
    sup_bvh_refit(&m->tree, m->current);
    if (!find_pairs(m, m->current) || !collect_new_pairs(m, out)) return SUP_ERROR_MEMORY;
    out->penetration = flood_depth(m);
    return SUP_OK;
}

/* detect_bind.c - builds the arrays of contact detection: tetrahedra down to the bone lines, clusters, adjacency. See
 * detect.h. */
#include "geometry/adjacency.h"
#include "geometry/spatial_sort.h"
#include "contact/contact_tuning.h"
#include "contact/detect_internal.h"

#include <math.h>
#include <stdlib.h>

enum { SLACK_ITERATIONS = 8 };
static const double FLAT_VOLUME = 1e-3; /* of the largest tetrahedron of its prism: smaller ones are dropped */
static const double FLAT_PRISM = 1e-7;  /* of its longest edge cubed: a degenerate prism */

typedef struct detect_build {
    const sup_context *context;
    const sup_detect_def *def;
    sup_detect *detect;
    sup_arena *arena, scratch;
    sup_adjacency adjacency;
    int32_t *triangle_tet_first; /* [triangle_count+1] */
    int32_t *tets;               /* [3*triangle_count*4] by triangle */
} detect_build;

static bool build_foot_points(detect_build *b)
{
    const sup_detect_def *def = b->def;
    size_t n = (size_t)def->vertex_count;
    int32_t *segment = sup_arena_alloc(b->arena, n, sizeof *segment);
    float *at = sup_arena_alloc(b->arena, n, sizeof *at);
    b->detect->foot_segment = segment;
    b->detect->foot_parameter = at;
    b->detect->triangles = sup_arena_copy(b->arena, def->triangles, 3 * (size_t)def->triangle_count, sizeof(int32_t));
    if (segment == NULL || at == NULL || b->detect->triangles == NULL) return false;
    for (size_t v = 0; v < n; v++) {
        segment[v] = def->foot_points[v].segment;
        at[v] = (float)def->foot_points[v].parameter;
    }
    return true;
}

static int compare_int32(const void *a, const void *b)
{
    int32_t x = *(const int32_t *)a, y = *(const int32_t *)b;
    return (x > y) - (x < y);
}

/* Ascending. Most lists are short. */
static void sort_int32(int32_t *items, int32_t count)
{
    enum { SHORT_LIST = 64 };
    if (count > SHORT_LIST) {
        qsort(items, (size_t)count, sizeof *items, compare_int32);
        return;
    }
    for (int32_t i = 1; i < count; i++) {
        int32_t item = items[i], at = i;
        for (; at > 0 && items[at - 1] > item; at--)
            items[at] = items[at - 1];
        items[at] = item;
    }
}

/* Vertices at most two edges from v, unsorted, into `out` (NULL: only counted). Returns their number. */
static int32_t two_ring(const int32_t *first, const int32_t *neighbours, int32_t v, int32_t *seen, int32_t *out)
{
    int32_t count = 0;
    seen[v] = v;
    for (int32_t i = first[v]; i < first[v + 1]; i++) {
        int32_t a = neighbours[i];
        for (int32_t j = first[a] - 1; j < first[a + 1]; j++) { /* a itself, then its neighbours */
            int32_t c = j < first[a] ? a : neighbours[j];
            if (seen[c] == v) continue;
            seen[c] = v;
            if (out != NULL) out[count] = c;
            count++;
        }
    }
    return count;
}

static bool build_rings(detect_build *b)
{
    const int32_t n = b->def->vertex_count;
    size_t edges = 2 * (size_t)b->adjacency.edge_count;
    int32_t *first = sup_arena_alloc(&b->scratch, (size_t)n + 1, sizeof *first);
    int32_t *neighbours = sup_arena_alloc(&b->scratch, edges, sizeof *neighbours);
    int32_t *seen = sup_arena_alloc(&b->scratch, (size_t)n, sizeof *seen);
    int32_t *ring_first = sup_arena_alloc(b->arena, (size_t)n + 1, sizeof *ring_first);
    if (first == NULL || neighbours == NULL || seen == NULL || ring_first == NULL) return false;
    sup_adjacency_neighbours(&b->adjacency, first, neighbours);
    memset(seen, 0xff, (size_t)n * sizeof *seen);
    for (int32_t v = 0; v < n; v++) {
        int64_t end = (int64_t)ring_first[v] + two_ring(first, neighbours, v, seen, NULL);
        if (end > INT32_MAX) return false;
        ring_first[v + 1] = (int32_t)end;
    }
    int32_t *ring = sup_arena_alloc(b->arena, (size_t)ring_first[n], sizeof *ring);
    if (ring == NULL) return false;
    memset(seen, 0xff, (size_t)n * sizeof *seen);
    for (int32_t v = 0; v < n; v++) {
        int32_t count = two_ring(first, neighbours, v, seen, ring + ring_first[v]);
        sort_int32(ring + ring_first[v], count);
    }
    b->detect->ring_first = ring_first;
    b->detect->ring = ring;
    return true;
}

static bool build_surface(detect_build *b)
{
    const sup_adjacency *adjacency = &b->adjacency;
    size_t half_edges = 3 * (size_t)b->def->triangle_count;
    int32_t *adjacent = sup_arena_alloc(b->arena, half_edges, sizeof *adjacent);
    int32_t *fan = sup_arena_alloc(b->arena, half_edges, sizeof *fan);
    float *edge = sup_arena_alloc(b->arena, 1, sizeof *edge);
    b->detect->fan_first =
        sup_arena_copy(b->arena, adjacency->vertex_first, (size_t)b->def->vertex_count + 1, sizeof(int32_t));
    if (adjacent == NULL || fan == NULL || edge == NULL || b->detect->fan_first == NULL) return false;
    for (size_t h = 0; h < half_edges; h++) {
        adjacent[h] = adjacency->half_twin[h] >= 0 ? adjacency->half_twin[h] / 3 : -1;
        fan[h] = adjacency->vertex_halves[h] / 3;
    }
    double sum = 0.0;
    for (int32_t e = 0; e < adjacency->edge_count; e++) {
        const double *p = b->def->skin + 3 * (size_t)adjacency->edge_vertices[2 * e];
        const double *q = b->def->skin + 3 * (size_t)adjacency->edge_vertices[2 * e + 1];
        sum += sup_v3_distance(sup_v3(p[0], p[1], p[2]), sup_v3(q[0], q[1], q[2]));
    }
    edge[0] = (float)(sum / adjacency->edge_count);
    b->detect->adjacent = adjacent;
    b->detect->fan = fan;
    b->detect->edge = edge;
    return true;
}

static double bone_distance(const sup_detect_def *def, int32_t v);

static bool build_gap(detect_build *b)
{
    const sup_adjacency *adjacency = &b->adjacency;
    size_t n = (size_t)b->def->vertex_count;
    float *gap = sup_arena_alloc(b->arena, n, sizeof *gap);
    double *sum = sup_arena_alloc(&b->scratch, 2 * n, sizeof *sum);
    if (gap == NULL || sum == NULL) return false;
    for (int32_t e = 0; e < adjacency->edge_count; e++) {
        const int32_t *ends = adjacency->edge_vertices + 2 * (size_t)e;
        double length =
            sup_v3_distance(sup_tissue_point(b->def->skin, ends[0]), sup_tissue_point(b->def->skin, ends[1]));
        for (int32_t k = 0; k < 2; k++) {
            sum[2 * (size_t)ends[k]] += length;
            sum[2 * (size_t)ends[k] + 1] += 1.0;
        }
    }
    for (size_t v = 0; v < n; v++)
        gap[v] = (float)fmin(SUP_CONTACT_GAP_EDGE * sum[2 * v] / fmax(sum[2 * v + 1], 1.0),
                             SUP_CONTACT_GAP_TISSUE * bone_distance(b->def, (int32_t)v));
    b->detect->gap = gap;
    return true;
}

/* --- Tetrahedra --- */

static sup_vec3d rest_point(const sup_detect_def *def, int32_t point)
{
    if (point < def->vertex_count) {
        const double *p = def->skin + 3 * (size_t)point;
        return sup_v3(p[0], p[1], p[2]);
    }
    sup_foot_point foot = def->foot_points[point - def->vertex_count];
    return sup_v3_lerp(def->segments[foot.segment].from, def->segments[foot.segment].to, foot.parameter);
}

/* Distance of a skin vertex from the bone line, bind pose. */
static double bone_distance(const sup_detect_def *def, int32_t v)
{
    return sup_v3_distance(rest_point(def, v), rest_point(def, def->vertex_count + v));
}

static double rest_volume(const sup_detect_def *def, const int32_t *tet)
{
    sup_vec3d a = rest_point(def, tet[0]);
    sup_vec3d b = sup_v3_sub(rest_point(def, tet[1]), a), c = sup_v3_sub(rest_point(def, tet[2]), a);
    return sup_v3_dot(b, sup_v3_cross(c, sup_v3_sub(rest_point(def, tet[3]), a)));
}

static double longest_edge(const sup_detect_def *def, const int32_t *corner)
{
    double longest = 0.0;
    for (int32_t k = 0; k < 3; k++) {
        sup_vec3d p = rest_point(def, corner[k]);
        longest = fmax(longest, sup_v3_distance(p, rest_point(def, corner[(k + 1) % 3])));
        longest = fmax(longest, sup_v3_distance(p, rest_point(def, def->vertex_count + corner[k])));
    }
    return longest;
}

/* The prism of a triangle, with foot points instead of the tissue's base points. Returns the number of its tetrahedra
 * that are not flat. */
static int32_t split_prism(const sup_detect_def *def, const int32_t *triangle, int32_t *tets)
{
    int32_t all[12], kept = 0;
    sup_tissue_split(triangle, def->vertex_count, all);
    double volume[3], largest = 0.0, longest = longest_edge(def, triangle);
    for (int32_t i = 0; i < 3; i++) {
        volume[i] = rest_volume(def, all + 4 * i);
        largest = fmax(largest, fabs(volume[i]));
    }
    for (int32_t i = 0; i < 3; i++) {
        if (!(fabs(volume[i]) > FLAT_VOLUME * largest) || !(largest > FLAT_PRISM * longest * longest * longest))
            continue;
        bool inverted = volume[i] < 0.0;
        int32_t *to = tets + 4 * (size_t)kept++;
        memcpy(to, all + 4 * i, 4 * sizeof *to);
        if (inverted) {
            to[1] = all[4 * i + 2];
            to[2] = all[4 * i + 1];
        }
    }
    return kept;
}

static bool is_excluded(const detect_build *b, int32_t v)
{
    return b->def->excluded != NULL && b->def->excluded[v] != 0;
}

static bool split_prisms(detect_build *b)
{
    const sup_detect_def *def = b->def;
    size_t m = (size_t)def->triangle_count;
    b->triangle_tet_first = sup_arena_alloc(&b->scratch, m + 1, sizeof(int32_t));
    b->tets = sup_arena_alloc(&b->scratch, 12 * m, sizeof(int32_t));
    if (b->triangle_tet_first == NULL || b->tets == NULL) return false;
    for (size_t t = 0; t < m; t++) {
        const int32_t *c = def->triangles + 3 * t;
        int32_t first = b->triangle_tet_first[t];
        bool pairs = !is_excluded(b, c[0]) && !is_excluded(b, c[1]) && !is_excluded(b, c[2]);
        b->triangle_tet_first[t + 1] = first + (pairs ? split_prism(def, c, b->tets + 4 * (size_t)first) : 0);
    }
    b->detect->tet_count = b->triangle_tet_first[m];
    return true;
}

/* --- Clusters --- */

static sup_spatial_item item_at(sup_vec3d at, int32_t item, int32_t segment)
{
    return (sup_spatial_item){.at = {at.x, at.y, at.z}, .item = item, .partition = segment};
}

/* Splits items[begin, end) in halves until each has at most `maximum` items; writes the ends of the clusters to `ends`.
 * Returns the number of clusters. */
static int32_t split_clusters(sup_spatial_item *items, int32_t begin, int32_t end, int32_t maximum, int32_t *ends)
{
    int32_t stack[64], depth = 0, clusters = 0; /* ends of the ranges still to split; halves: at most 32 levels */
    while (begin < end || depth > 0) {
        if (end - begin > maximum) {
            int32_t wanted = (end - begin + maximum - 1) / maximum, middle = wanted / 2 * maximum;
            sup_spatial_split_longest(items + begin, end - begin, middle, maximum);
            stack[depth++] = end;
            end = begin + middle;
            continue;
        }
        if (begin < end) ends[clusters++] = end;
        if (depth == 0) break;
        begin = end;
        end = stack[--depth];
    }
    return clusters;
}

/* Clusters of one segment each, segments in order: ends[clusters]. Returns the number of clusters. */
static int32_t make_clusters(sup_spatial_item *items, int32_t count, int32_t segment_count, int32_t maximum,
                             int32_t *ends)
{
    int32_t clusters = 0;
    sup_spatial_sort_partitions(items, count);
    for (int32_t segment = 0, begin = 0; segment < segment_count; segment++) {
        int32_t end = begin;
        while (end < count && items[end].partition == segment)
            end++;
        clusters += split_clusters(items, begin, end, maximum, ends + clusters);
        begin = end;
    }
    return clusters;
}

static bool build_vertex_clusters(detect_build *b)
{
    const sup_detect_def *def = b->def;
    size_t n = (size_t)def->vertex_count;
    sup_spatial_item *items = sup_arena_alloc(&b->scratch, n, sizeof *items);
    int32_t *ends = sup_arena_alloc(&b->scratch, n, sizeof *ends);
    if (items == NULL || ends == NULL) return false;
    int32_t count = 0;
    for (int32_t v = 0; v < def->vertex_count; v++)
        if (!is_excluded(b, v)) items[count++] = item_at(rest_point(def, v), v, def->foot_points[v].segment);
    int32_t clusters = make_clusters(items, count, def->segment_count, SUP_DETECT_CLUSTER, ends);
    int32_t *vertex = sup_arena_alloc(b->arena, (size_t)clusters * SUP_DETECT_CLUSTER, sizeof *vertex);
    if (vertex == NULL) return false;
    for (int32_t cluster = 0; cluster < clusters; cluster++) {
        int32_t begin = cluster > 0 ? ends[cluster - 1] : 0;
        for (int32_t i = 0; i < SUP_DETECT_CLUSTER; i++)
            vertex[cluster * SUP_DETECT_CLUSTER + i] = begin + i < ends[cluster] ? items[begin + i].item : -1;
    }
    b->detect->vertex_cluster_count = clusters;
    b->detect->vertex_clusters = vertex;
    return true;
}

/* Triangles that have tetrahedra, at their centroids. */
static int32_t list_triangles(const detect_build *b, sup_spatial_item *items)
{
    const sup_detect_def *def = b->def;
    int32_t count = 0;
    for (int32_t t = 0; t < def->triangle_count; t++) {
        const int32_t *c = def->triangles + 3 * (size_t)t;
        if (b->triangle_tet_first[t] == b->triangle_tet_first[t + 1]) continue;
        sup_vec3d sum = sup_v3_add(sup_v3_add(rest_point(def, c[0]), rest_point(def, c[1])), rest_point(def, c[2]));
        items[count++] = item_at(sup_v3_scale(sum, 1.0 / 3.0), t, def->foot_points[c[0]].segment);
    }
    return count;
}

/* The points of a cluster's tetrahedra, once each, ascending. seen: the last cluster of each point, -1 for none.
 * Returns their number. */
static int32_t list_points(const int32_t *tets, int32_t count, int32_t cluster, int32_t *seen, int32_t *points)
{
    int32_t kept = 0;
    for (int32_t i = 0; i < 4 * count; i++) {
        if (seen[tets[i]] == cluster) continue;
        seen[tets[i]] = cluster;
        points[kept++] = tets[i];
    }
    sort_int32(points, kept);
    return kept;
}

typedef struct tet_cluster_arrays {
    int32_t *tet_first, *point_first, *points, *tets, *tet_triangle;
    int32_t *seen; /* [2*vertex_count] scratch of list_points */
} tet_cluster_arrays;

static void fill_tet_clusters(const detect_build *b, const sup_spatial_item *items, const int32_t *ends,
                              int32_t clusters, tet_cluster_arrays *c)
{
    for (int32_t cluster = 0; cluster < clusters; cluster++) {
        int32_t first = c->tet_first[cluster], count = 0, point_first = c->point_first[cluster];
        for (int32_t i = cluster > 0 ? ends[cluster - 1] : 0; i < ends[cluster]; i++) {
            int32_t triangle = items[i].item, from = b->triangle_tet_first[triangle];
            int32_t tets = b->triangle_tet_first[triangle + 1] - from;
            memcpy(c->tets + 4 * (size_t)(first + count), b->tets + 4 * (size_t)from,
                   4 * (size_t)tets * sizeof(int32_t));
            for (int32_t k = 0; k < tets; k++)
                c->tet_triangle[first + count++] = triangle;
        }
        c->tet_first[cluster + 1] = first + count;
        c->point_first[cluster + 1] =
            point_first + list_points(c->tets + 4 * (size_t)first, count, cluster, c->seen, c->points + point_first);
    }
}

static bool build_tet_clusters(detect_build *b)
{
    const sup_detect_def *def = b->def;
    sup_detect *d = b->detect;
    size_t m = (size_t)def->triangle_count, tets = (size_t)d->tet_count;
    sup_spatial_item *items = sup_arena_alloc(&b->scratch, m, sizeof *items);
    int32_t *ends = sup_arena_alloc(&b->scratch, m, sizeof *ends);
    if (items == NULL || ends == NULL) return false;
    d->tet_cluster_count =
        make_clusters(items, list_triangles(b, items), def->segment_count, SUP_DETECT_TET_CLUSTER, ends);
    tet_cluster_arrays c = {sup_arena_alloc(b->arena, (size_t)d->tet_cluster_count + 1, sizeof(int32_t)),
                            sup_arena_alloc(b->arena, (size_t)d->tet_cluster_count + 1, sizeof(int32_t)),
                            sup_arena_alloc(&b->scratch, 4 * tets, sizeof(int32_t)),
                            sup_arena_alloc(b->arena, 4 * tets, sizeof(int32_t)),
                            sup_arena_alloc(b->arena, tets, sizeof(int32_t)),
                            sup_arena_alloc(&b->scratch, 2 * (size_t)def->vertex_count, sizeof(int32_t))};
    if (c.tet_first == NULL || c.point_first == NULL || c.points == NULL || c.tets == NULL || c.tet_triangle == NULL ||
        c.seen == NULL)
        return false;
    memset(c.seen, 0xff, 2 * (size_t)def->vertex_count * sizeof(int32_t));
    fill_tet_clusters(b, items, ends, d->tet_cluster_count, &c);
    d->tet_cluster_first = c.tet_first;
    d->tet_cluster_point_first = c.point_first;
    d->tet_cluster_points =
        sup_arena_copy(b->arena, c.points, (size_t)c.point_first[d->tet_cluster_count], sizeof(int32_t));
    d->tets = c.tets;
    d->tet_triangle = c.tet_triangle;
    return d->tet_cluster_points != NULL;
}

/* --- The bind pose --- */

/* Extends the exclusion from self contact to adjacent skin: triangles of excluded vertices, then vertices of excluded
 * triangles. */
static void spread_exclusion(const sup_detect *d, int32_t *self_contact)
{
    const int32_t n = d->vertex_count;
    for (int32_t t = 0; t < d->triangle_count; t++)
        for (int32_t k = 0; k < 3; k++)
            if (!self_contact[d->triangles[3 * (size_t)t + (size_t)k]]) self_contact[n + t] = 0;
    for (int32_t t = 0; t < d->triangle_count; t++)
        for (int32_t k = 0; k < 3 && !self_contact[n + t]; k++)
            self_contact[d->triangles[3 * (size_t)t + (size_t)k]] = 0;
}

/* Contacts have other normals and triangles than prisms: adds slack until no contact pushes in the bind pose. */
static void fit_slack(const detect_build *b, void *state, const sup_detect_input *input, sup_contact *contacts,
                      float *slack)
{
    for (int32_t iteration = 0; iteration < SLACK_ITERATIONS; iteration++) {
        int32_t pushing = 0;
        sup_detect_reset(b->detect, state);
        int32_t count = sup_detect_step(b->context, b->detect, state, input, contacts);
        for (int32_t i = 0; i < count; i++) {
            const sup_contact *contact = &contacts[i];
            sup_vec3d off = sup_v3_load(input->skin + 3 * (size_t)contact->vertex);
            for (int32_t k = 0; k < 3; k++)
                off = sup_v3_madd(off, -(double)contact->weight[k],
                                  sup_v3_load(input->skin + 3 * (size_t)contact->corner[k]));
            double depth = (double)contact->offset - sup_v3_dot(off, sup_v3_load(contact->normal));
            if (!(depth > 0.0)) continue;
            slack[contact->vertex] +=
                (float)(SUP_CONTACT_SLACK_FACTOR * depth + SUP_CONTACT_SLACK_MARGIN * (double)b->detect->edge[0]);
            pushing++;
        }
        if (pushing == 0) break;
    }
}

static bool build_slack(detect_build *b)
{
    const sup_detect_def *def = b->def;
    size_t n = (size_t)def->vertex_count, marks = n + (size_t)def->triangle_count;
    float *slack = sup_arena_alloc(b->arena, n, sizeof *slack);
    int32_t *self_contact = sup_arena_alloc(b->arena, marks, sizeof *self_contact);
    float *skin = sup_arena_alloc(&b->scratch, 3 * n, sizeof *skin);
    float *ends = sup_arena_alloc(&b->scratch, 6 * (size_t)def->segment_count, sizeof *ends);
    unsigned char *state = sup_arena_alloc(&b->scratch, sup_detect_state_size(b->detect) + 64, 1);
    sup_contact *contacts = sup_arena_alloc(&b->scratch, n, sizeof *contacts);
    if (contacts == NULL || slack == NULL || self_contact == NULL || skin == NULL || ends == NULL || state == NULL)
        return false;
    for (size_t i = 0; i < 3 * n; i++)
        skin[i] = (float)def->skin[i];
    for (size_t i = 0; i < marks; i++)
        self_contact[i] = 1;
    for (int32_t p = 0; p < def->segment_count; p++) {
        sup_v3_store(ends + 6 * (size_t)p, def->segments[p].from);
        sup_v3_store(ends + 6 * (size_t)p + 3, def->segments[p].to);
    }
    sup_detect_input input = {.skin = skin, .skin_stride = 3, .segment_ends = ends};
    b->detect->slack = slack;
    b->detect->self_contact = self_contact;
    state += (64 - (uintptr_t)state % 64) % 64;
    sup_detect_bind_pose(b->context, b->detect, state, &input, slack, self_contact);
    spread_exclusion(b->detect, self_contact);
    for (size_t v = 0; v < n; v++)
        if (slack[v] > 0.0f)
            slack[v] = (float)(SUP_CONTACT_SLACK_FACTOR * (double)slack[v] +
                               SUP_CONTACT_SLACK_MARGIN * (double)b->detect->edge[0]);
    fit_slack(b, state, &input, contacts, slack);
    return true;
}

static sup_result check_def(const sup_detect_def *def, sup_error *error)
{
    if (def->vertex_count < 1 || def->triangle_count < 1 || def->segment_count < 1 ||
        def->vertex_count > INT32_MAX / 48 || def->triangle_count > INT32_MAX / 48)
        return sup_fail(error, SUP_ERROR_DATA, "contact.size", "",
                        "Contact detection needs at least one vertex, triangle and bone segment, and fewer than 44 "
                        "million of each.");
    for (int32_t v = 0; v < def->vertex_count; v++)
        if (def->foot_points[v].segment < 0 || def->foot_points[v].segment >= def->segment_count)
            return sup_fail(error, SUP_ERROR_DATA, "contact.foot", "",
                            "Skin vertex %d has no foot point on a bone segment.", v);
    return SUP_OK;
}

sup_result sup_detect_create(const sup_context *context, const sup_detect_def *def, sup_arena *arena,
                             sup_detect *detect, sup_error *error)
{
    sup_context resolved = sup_context_resolve(context);
    detect_build b = {.context = &resolved, .def = def, .detect = detect, .arena = arena};
    sup_result result = check_def(def, error);
    if (result != SUP_OK) return result;
    result = sup_adjacency_create(&resolved.allocator, def->vertex_count, def->triangle_count, def->triangles,
                                  &b.adjacency, error);
    if (result != SUP_OK) return result;
    *detect = (sup_detect){
        .vertex_count = def->vertex_count, .triangle_count = def->triangle_count, .segment_count = def->segment_count};
    b.scratch = sup_arena_create(&resolved.allocator);
    bool done = build_foot_points(&b) && build_rings(&b) && build_surface(&b) && build_gap(&b) && split_prisms(&b) &&
                build_vertex_clusters(&b) && build_tet_clusters(&b) && build_slack(&b);
    sup_arena_destroy(&b.scratch);
    sup_adjacency_destroy(&b.adjacency);
    return done ? SUP_OK : sup_fail_memory(error, "contact detection");
}

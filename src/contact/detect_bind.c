/* detect_bind.c - what detection needs once: tetrahedra down to the bone lines, groups, neighbours. See detect.h. */
#include "geometry/adjacency.h"
#include "geometry/spatial_sort.h"
#include "contact/detect_internal.h"

#include <math.h>
#include <stdlib.h>

enum { slack_rounds = 8 };
static const double flat_volume = 1e-3;  /* of the largest tetrahedron of its prism: dropped */
static const double flat_prism = 1e-7;   /* of its longest edge cubed: a prism without room */
static const double gap_edge = 0.5;      /* gap, of the mean length of the edges at a vertex, */
static const double gap_flesh = 0.25;    /* and of its distance from the bone line at most */
static const double slack_factor = 1.02; /* of the depth in the bind pose, */
static const double slack_margin = 1e-3; /* and of the mean edge: rounding is no contact */

typedef struct detect_build {
    const sup_context *context;
    const sup_detect_def *def;
    sup_detect *detect;
    sup_arena *arena, scratch;
    sup_adjacency adjacency;
    int32_t *triangle_tet_first; /* [triangle_count+1] */
    int32_t *tets;               /* [3*triangle_count*4] by triangle */
} detect_build;

static bool build_feet(detect_build *b)
{
    const sup_detect_def *def = b->def;
    size_t n = (size_t)def->vertex_count;
    int32_t *segment = sup_arena_alloc(b->arena, n, sizeof *segment);
    float *at = sup_arena_alloc(b->arena, n, sizeof *at);
    b->detect->foot_segment = segment;
    b->detect->foot_at = at;
    b->detect->triangles = sup_arena_copy(b->arena, def->triangles, 3 * (size_t)def->triangle_count, sizeof(int32_t));
    if (segment == NULL || at == NULL || b->detect->triangles == NULL) return false;
    for (size_t v = 0; v < n; v++) {
        segment[v] = def->feet[v].segment;
        at[v] = (float)def->feet[v].parameter;
    }
    return true;
}

static int compare_int32(const void *a, const void *b)
{
    int32_t x = *(const int32_t *)a, y = *(const int32_t *)b;
    return (x > y) - (x < y);
}

/* Vertices at most two edges from v, unsorted, into `out` (NULL: only counted). */
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
        qsort(ring + ring_first[v], (size_t)count, sizeof *ring, compare_int32);
    }
    b->detect->ring_first = ring_first;
    b->detect->ring = ring;
    return true;
}

static bool build_surface(detect_build *b)
{
    const sup_adjacency *adjacency = &b->adjacency;
    size_t halves = 3 * (size_t)b->def->triangle_count;
    int32_t *beside = sup_arena_alloc(b->arena, halves, sizeof *beside);
    int32_t *fan = sup_arena_alloc(b->arena, halves, sizeof *fan);
    float *edge = sup_arena_alloc(b->arena, 1, sizeof *edge);
    b->detect->fan_first =
        sup_arena_copy(b->arena, adjacency->vertex_first, (size_t)b->def->vertex_count + 1, sizeof(int32_t));
    if (beside == NULL || fan == NULL || edge == NULL || b->detect->fan_first == NULL) return false;
    for (size_t h = 0; h < halves; h++) {
        beside[h] = adjacency->half_twin[h] >= 0 ? adjacency->half_twin[h] / 3 : -1;
        fan[h] = adjacency->vertex_halves[h] / 3;
    }
    double sum = 0.0;
    for (int32_t e = 0; e < adjacency->edge_count; e++) {
        const double *p = b->def->skin + 3 * (size_t)adjacency->edge_vertices[2 * e];
        const double *q = b->def->skin + 3 * (size_t)adjacency->edge_vertices[2 * e + 1];
        sum += sup_v3_distance(sup_v3(p[0], p[1], p[2]), sup_v3(q[0], q[1], q[2]));
    }
    edge[0] = (float)(sum / adjacency->edge_count);
    b->detect->beside = beside;
    b->detect->fan = fan;
    b->detect->edge = edge;
    return true;
}

static double from_foot(const sup_detect_def *def, int32_t v);

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
        gap[v] =
            (float)fmin(gap_edge * sum[2 * v] / fmax(sum[2 * v + 1], 1.0), gap_flesh * from_foot(b->def, (int32_t)v));
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
    sup_foot_point foot = def->feet[point - def->vertex_count];
    return sup_v3_lerp(def->segments[foot.segment].from, def->segments[foot.segment].to, foot.parameter);
}

/* Distance of a skin vertex from the bone line. */
static double from_foot(const sup_detect_def *def, int32_t v)
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

/* The prism of a triangle, its feet in the place of the bases. Returns how many of its tetrahedra are not flat. */
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
        if (!(fabs(volume[i]) > flat_volume * largest) || !(largest > flat_prism * longest * longest * longest))
            continue;
        bool turned = volume[i] < 0.0;
        int32_t *to = tets + 4 * (size_t)kept++;
        memcpy(to, all + 4 * i, 4 * sizeof *to);
        if (turned) {
            to[1] = all[4 * i + 2];
            to[2] = all[4 * i + 1];
        }
    }
    return kept;
}

static bool split_prisms(detect_build *b)
{
    const sup_detect_def *def = b->def;
    size_t m = (size_t)def->triangle_count;
    b->triangle_tet_first = sup_arena_alloc(&b->scratch, m + 1, sizeof(int32_t));
    b->tets = sup_arena_alloc(&b->scratch, 12 * m, sizeof(int32_t));
    if (b->triangle_tet_first == NULL || b->tets == NULL) return false;
    for (size_t t = 0; t < m; t++) {
        int32_t first = b->triangle_tet_first[t];
        b->triangle_tet_first[t + 1] = first + split_prism(def, def->triangles + 3 * t, b->tets + 4 * (size_t)first);
    }
    b->detect->tet_count = b->triangle_tet_first[m];
    return true;
}

/* --- Groups --- */

static sup_spatial_item placed(sup_vec3d at, int32_t item, int32_t segment)
{
    return (sup_spatial_item){.at = {at.x, at.y, at.z}, .item = item, .group = segment};
}

/* Cuts items[begin, end) in halves until `most` or fewer are left; ends of the groups go to `ends`. */
static int32_t cut_groups(sup_spatial_item *items, int32_t begin, int32_t end, int32_t most, int32_t *ends)
{
    int32_t stack[64], depth = 0, groups = 0; /* ends of the ranges to come; halves: 32 levels at most */
    while (begin < end || depth > 0) {
        if (end - begin > most) {
            sup_spatial_sort_longest(items + begin, end - begin);
            int32_t parts = (end - begin + most - 1) / most;
            stack[depth++] = end;
            end = begin + parts / 2 * most;
            continue;
        }
        if (begin < end) ends[groups++] = end;
        if (depth == 0) break;
        begin = end;
        end = stack[--depth];
    }
    return groups;
}

/* Groups of one segment each, segments in order: ends[groups]. Returns how many groups. */
static int32_t make_groups(sup_spatial_item *items, int32_t count, int32_t segment_count, int32_t most, int32_t *ends)
{
    int32_t groups = 0;
    sup_spatial_sort_clusters(items, count);
    for (int32_t segment = 0, begin = 0; segment < segment_count; segment++) {
        int32_t end = begin;
        while (end < count && items[end].group == segment)
            end++;
        groups += cut_groups(items, begin, end, most, ends + groups);
        begin = end;
    }
    return groups;
}

static bool build_blocks(detect_build *b)
{
    const sup_detect_def *def = b->def;
    size_t n = (size_t)def->vertex_count;
    sup_spatial_item *items = sup_arena_alloc(&b->scratch, n, sizeof *items);
    int32_t *ends = sup_arena_alloc(&b->scratch, n, sizeof *ends);
    if (items == NULL || ends == NULL) return false;
    for (size_t v = 0; v < n; v++)
        items[v] = placed(rest_point(def, (int32_t)v), (int32_t)v, def->feet[v].segment);
    int32_t blocks = make_groups(items, def->vertex_count, def->segment_count, SUP_DETECT_CLUSTER, ends);
    int32_t *vertex = sup_arena_alloc(b->arena, (size_t)blocks * SUP_DETECT_CLUSTER, sizeof *vertex);
    if (vertex == NULL) return false;
    for (int32_t block = 0; block < blocks; block++) {
        int32_t begin = block > 0 ? ends[block - 1] : 0;
        for (int32_t i = 0; i < SUP_DETECT_CLUSTER; i++)
            vertex[block * SUP_DETECT_CLUSTER + i] = begin + i < ends[block] ? items[begin + i].item : -1;
    }
    b->detect->block_count = blocks;
    b->detect->block_vertex = vertex;
    return true;
}

/* Triangles whose prism has room, at their middle. */
static int32_t list_triangles(const detect_build *b, sup_spatial_item *items)
{
    const sup_detect_def *def = b->def;
    int32_t count = 0;
    for (int32_t t = 0; t < def->triangle_count; t++) {
        const int32_t *c = def->triangles + 3 * (size_t)t;
        if (b->triangle_tet_first[t] == b->triangle_tet_first[t + 1]) continue;
        sup_vec3d sum = sup_v3_add(sup_v3_add(rest_point(def, c[0]), rest_point(def, c[1])), rest_point(def, c[2]));
        items[count++] = placed(sup_v3_scale(sum, 1.0 / 3.0), t, def->feet[c[0]].segment);
    }
    return count;
}

/* The points of a cell's tetrahedra, once each, rising. Returns how many. */
static int32_t list_points(const int32_t *tets, int32_t count, int32_t *points)
{
    int32_t kept = 0;
    memcpy(points, tets, 4 * (size_t)count * sizeof *points);
    qsort(points, 4 * (size_t)count, sizeof *points, compare_int32);
    for (int32_t i = 0; i < 4 * count; i++)
        if (i == 0 || points[i] != points[kept - 1]) points[kept++] = points[i];
    return kept;
}

typedef struct cell_arrays {
    int32_t *tet_first, *point_first, *points, *tets, *tet_triangle;
} cell_arrays;

static void fill_cells(const detect_build *b, const sup_spatial_item *items, const int32_t *ends, int32_t cells,
                       cell_arrays *c)
{
    for (int32_t cell = 0; cell < cells; cell++) {
        int32_t first = c->tet_first[cell], count = 0, point_first = c->point_first[cell];
        for (int32_t i = cell > 0 ? ends[cell - 1] : 0; i < ends[cell]; i++) {
            int32_t triangle = items[i].item, from = b->triangle_tet_first[triangle];
            int32_t tets = b->triangle_tet_first[triangle + 1] - from;
            memcpy(c->tets + 4 * (size_t)(first + count), b->tets + 4 * (size_t)from,
                   4 * (size_t)tets * sizeof(int32_t));
            for (int32_t k = 0; k < tets; k++)
                c->tet_triangle[first + count++] = triangle;
        }
        c->tet_first[cell + 1] = first + count;
        c->point_first[cell + 1] =
            point_first + list_points(c->tets + 4 * (size_t)first, count, c->points + point_first);
    }
}

static bool build_cells(detect_build *b)
{
    const sup_detect_def *def = b->def;
    sup_detect *d = b->detect;
    size_t m = (size_t)def->triangle_count, tets = (size_t)d->tet_count;
    sup_spatial_item *items = sup_arena_alloc(&b->scratch, m, sizeof *items);
    int32_t *ends = sup_arena_alloc(&b->scratch, m, sizeof *ends);
    if (items == NULL || ends == NULL) return false;
    d->cell_count = make_groups(items, list_triangles(b, items), def->segment_count, SUP_DETECT_CELL, ends);
    cell_arrays c = {sup_arena_alloc(b->arena, (size_t)d->cell_count + 1, sizeof(int32_t)),
                     sup_arena_alloc(b->arena, (size_t)d->cell_count + 1, sizeof(int32_t)),
                     sup_arena_alloc(&b->scratch, 4 * tets, sizeof(int32_t)),
                     sup_arena_alloc(b->arena, 4 * tets, sizeof(int32_t)),
                     sup_arena_alloc(b->arena, tets, sizeof(int32_t))};
    if (c.tet_first == NULL || c.point_first == NULL || c.points == NULL || c.tets == NULL || c.tet_triangle == NULL)
        return false;
    fill_cells(b, items, ends, d->cell_count, &c);
    d->cell_tet_first = c.tet_first;
    d->cell_point_first = c.point_first;
    d->cell_point = sup_arena_copy(b->arena, c.points, (size_t)c.point_first[d->cell_count], sizeof(int32_t));
    d->tets = c.tets;
    d->tet_triangle = c.tet_triangle;
    return d->cell_point != NULL;
}

/* --- The bind pose --- */

/* What overlaps spoils what is around it: triangles of marked vertices and vertices of marked triangles. */
static void spread_marks(const sup_detect *d, int32_t *folds)
{
    const int32_t n = d->vertex_count;
    for (int32_t t = 0; t < d->triangle_count; t++)
        for (int32_t k = 0; k < 3; k++)
            if (!folds[d->triangles[3 * (size_t)t + (size_t)k]]) folds[n + t] = 0;
    for (int32_t t = 0; t < d->triangle_count; t++)
        for (int32_t k = 0; k < 3 && !folds[n + t]; k++)
            folds[d->triangles[3 * (size_t)t + (size_t)k]] = 0;
}

/* Rows see other normals and triangles than the prisms do: slack until no row pushes in the bind pose. */
static void quiet_rows(const detect_build *b, void *state, const sup_detect_input *input, sup_contact *rows,
                       float *slack)
{
    for (int32_t round = 0; round < slack_rounds; round++) {
        int32_t pushing = 0;
        sup_detect_reset(b->detect, state);
        int32_t count = sup_detect_step(b->context, b->detect, state, input, rows);
        for (int32_t i = 0; i < count; i++) {
            const sup_contact *row = &rows[i];
            sup_vec3d off = sup_v3_load(input->skin + 3 * (size_t)row->vertex);
            for (int32_t k = 0; k < 3; k++)
                off = sup_v3_madd(off, -(double)row->weight[k], sup_v3_load(input->skin + 3 * (size_t)row->corner[k]));
            double depth = (double)row->offset - sup_v3_dot(off, sup_v3_load(row->normal));
            if (!(depth > 0.0)) continue;
            slack[row->vertex] += (float)(slack_factor * depth + slack_margin * (double)b->detect->edge[0]);
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
    int32_t *folds = sup_arena_alloc(b->arena, marks, sizeof *folds);
    float *skin = sup_arena_alloc(&b->scratch, 3 * n, sizeof *skin);
    float *ends = sup_arena_alloc(&b->scratch, 6 * (size_t)def->segment_count, sizeof *ends);
    unsigned char *state = sup_arena_alloc(&b->scratch, sup_detect_state_size(b->detect) + 64, 1);
    sup_contact *rows = sup_arena_alloc(&b->scratch, n, sizeof *rows);
    if (rows == NULL || slack == NULL || folds == NULL || skin == NULL || ends == NULL || state == NULL) return false;
    for (size_t i = 0; i < 3 * n; i++)
        skin[i] = (float)def->skin[i];
    for (size_t i = 0; i < marks; i++)
        folds[i] = 1;
    for (int32_t p = 0; p < def->segment_count; p++) {
        sup_v3_store(ends + 6 * (size_t)p, def->segments[p].from);
        sup_v3_store(ends + 6 * (size_t)p + 3, def->segments[p].to);
    }
    sup_detect_input input = {.skin = skin, .skin_stride = 3, .segment_ends = ends};
    b->detect->slack = slack;
    b->detect->folds = folds;
    state += (64 - (uintptr_t)state % 64) % 64;
    sup_detect_bind_pose(b->context, b->detect, state, &input, slack, folds);
    spread_marks(b->detect, folds);
    for (size_t v = 0; v < n; v++)
        if (slack[v] > 0.0f)
            slack[v] = (float)(slack_factor * (double)slack[v] + slack_margin * (double)b->detect->edge[0]);
    quiet_rows(b, state, &input, rows, slack);
    return true;
}

static sup_result check_def(const sup_detect_def *def, sup_error *error)
{
    if (def->vertex_count < 1 || def->triangle_count < 1 || def->segment_count < 1 ||
        def->vertex_count > INT32_MAX / 48 || def->triangle_count > INT32_MAX / 48)
        return sup_fail(error, SUP_ERROR_DATA, "contact.size", "",
                        "Contact needs a skin and a skeleton of usable size.");
    for (int32_t v = 0; v < def->vertex_count; v++)
        if (def->feet[v].segment < 0 || def->feet[v].segment >= def->segment_count)
            return sup_fail(error, SUP_ERROR_DATA, "contact.foot", "", "Skin vertex %d has no foot on the skeleton.",
                            v);
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
    bool done = build_feet(&b) && build_rings(&b) && build_surface(&b) && build_gap(&b) && split_prisms(&b) &&
                build_blocks(&b) && build_cells(&b) && build_slack(&b);
    sup_arena_destroy(&b.scratch);
    sup_adjacency_destroy(&b.adjacency);
    return done ? SUP_OK : sup_fail_memory(error, "contact detection");
}

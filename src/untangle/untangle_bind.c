/* untangle_bind.c - builds the arrays of untangling: triangles of the render mesh in clusters, adjacency, mappings. */
#include "geometry/adjacency.h"
#include "geometry/spatial_sort.h"
#include "untangle/untangle.h"
#include "untangle/untangle_rules.h"

#include <math.h>
#include "untangle/untangle_tuning.h"

typedef struct untangle_build {
    const sup_context *context;
    const sup_rig *rig;
    const sup_simulated_surface *surface;
    const sup_detect *detect;
    sup_model_builder *builder;
    sup_arena arena;
    sup_adjacency adjacency;
    int32_t *nearest;    /* [fine_count] simulated vertex nearest along the skin */
    int32_t *cluster_of; /* [fine_triangle_count] of each triangle of the surface */
    sup_untangle_view view;
} untangle_build;

/* Breadth-first from the simulated vertices; vertices that are not reached get the first one. */
static bool find_nearest(untangle_build *b, const int32_t *first, const int32_t *neighbours)
{
    const sup_simulated_surface *s = b->surface;
    int32_t *queue = sup_arena_alloc(&b->arena, (size_t)s->fine_count, sizeof *queue), end = 0;
    b->nearest = sup_model_add(b->builder, "untangle.coarse", SUP_ARRAY_INT32, s->fine_count);
    if (queue == NULL || b->nearest == NULL) return false;
    for (int32_t v = 0; v < s->fine_count; v++)
        b->nearest[v] = -1;
    for (int32_t v = 0; v < s->coarse_count; v++) {
        b->nearest[s->coarse_fine[v]] = v;
        queue[end++] = s->coarse_fine[v];
    }
    for (int32_t i = 0; i < end; i++)
        for (int32_t k = first[queue[i]]; k < first[queue[i] + 1]; k++)
            if (b->nearest[neighbours[k]] < 0) {
                b->nearest[neighbours[k]] = b->nearest[queue[i]];
                queue[end++] = neighbours[k];
            }
    for (int32_t v = 0; v < s->fine_count; v++)
        if (b->nearest[v] < 0) b->nearest[v] = 0;
    return true;
}

static bool add_neighbours(untangle_build *b)
{
    int32_t n = b->surface->fine_count;
    int32_t *first = sup_model_add(b->builder, "untangle.neighbour_first", SUP_ARRAY_INT32, (int64_t)n + 1);
    int32_t *neighbours =
        sup_model_add(b->builder, "untangle.neighbours", SUP_ARRAY_INT32, 2 * (int64_t)b->adjacency.edge_count);
    if (first == NULL || neighbours == NULL) return false;
    sup_adjacency_neighbours(&b->adjacency, first, neighbours);
    b->view.neighbour_first = first;
    b->view.neighbours = neighbours;
    return find_nearest(b, first, neighbours);
}

/* Render vertices at each vertex. */
static bool add_render_vertices(untangle_build *b)
{
    const sup_rig *rig = b->rig;
    int32_t n = b->surface->fine_count, count = 0;
    int32_t *fine = sup_arena_alloc(&b->arena, (size_t)rig->skin_vertex_count, sizeof *fine);
    int32_t *first = sup_model_add(b->builder, "untangle.render_first", SUP_ARRAY_INT32, (int64_t)n + 1);
    if (fine == NULL || first == NULL) return false;
    for (int32_t v = 0; v < n; v++)
        fine[b->surface->fine_source[v]] = v + 1;
    for (int32_t v = 0; v < rig->vertex_count; v++) {
        int32_t at = rig->vertex_to_skin[v] >= 0 ? fine[rig->vertex_to_skin[v]] : 0;
        if (at == 0) continue;
        first[at]++;
        count++;
    }
    int32_t *render_vertices = sup_model_add(b->builder, "untangle.render_vertices", SUP_ARRAY_INT32, count);
    int32_t *next = sup_arena_alloc(&b->arena, (size_t)n, sizeof *next);
    if (render_vertices == NULL || next == NULL) return false;
    for (int32_t v = 0; v < n; v++) {
        first[v + 1] += first[v];
        next[v] = first[v];
    }
    for (int32_t v = 0; v < rig->vertex_count; v++) {
        int32_t at = rig->vertex_to_skin[v] >= 0 ? fine[rig->vertex_to_skin[v]] : 0;
        if (at > 0) render_vertices[next[at - 1]++] = v;
    }
    b->view.render_first = first;
    b->view.render_vertices = render_vertices;
    return true;
}

/* Splits items[begin, end) in halves at cluster boundaries, until each range is in one cluster. */
static void split_clusters(sup_spatial_item *items, int32_t begin, int32_t end)
{
    int32_t stack[64], depth = 0; /* ends of the ranges still to split; halves: at most 32 levels */
    for (;;) {
        int32_t first = begin / SUP_UNTANGLE_CLUSTER + 1, last = (end - 1) / SUP_UNTANGLE_CLUSTER;
        if (begin < end && first <= last) {
            int32_t middle = (first + last) / 2 * SUP_UNTANGLE_CLUSTER;
            sup_spatial_split_longest(items + begin, end - begin, middle - begin, SUP_UNTANGLE_CLUSTER);
            stack[depth++] = end;
            end = middle;
            continue;
        }
        if (depth == 0) break;
        begin = end;
        end = stack[--depth];
    }
}

/* Triangles by the vertex cluster of detection that their simulated vertex is in, and within it by position. */
static void order_triangles(const untangle_build *b, const int32_t *partition, sup_spatial_item *order)
{
    const sup_simulated_surface *s = b->surface;
    int32_t count = s->fine_triangle_count;
    for (int32_t t = 0; t < count; t++) {
        const int32_t *corner = s->fine_triangles + 3 * (size_t)t;
        order[t] = (sup_spatial_item){.partition = partition[b->nearest[corner[0]]], .item = t};
        for (int32_t k = 0; k < 9; k++)
            order[t].at[k % 3] += (double)s->fine_positions[3 * (size_t)corner[k / 3] + (size_t)(k % 3)] / 3.0;
    }
    sup_spatial_sort_partitions(order, count);
    for (int32_t begin = 0, end = 0; begin < count; begin = end) {
        while (end < count && order[end].partition == order[begin].partition)
            end++;
        split_clusters(order, begin, end);
    }
}

static bool add_triangles(untangle_build *b)
{
    const sup_simulated_surface *s = b->surface;
    const sup_detect *d = b->detect;
    int32_t count = s->fine_triangle_count;
    int32_t *partition = sup_arena_alloc(&b->arena, (size_t)s->coarse_count, sizeof *partition);
    sup_spatial_item *order = sup_arena_alloc(&b->arena, (size_t)count, sizeof *order);
    int32_t *triangles = sup_model_add(b->builder, "untangle.triangles", SUP_ARRAY_INT32, 3 * (int64_t)count);
    b->cluster_of = sup_arena_alloc(&b->arena, (size_t)count, sizeof *b->cluster_of);
    if (partition == NULL || order == NULL || triangles == NULL || b->cluster_of == NULL) return false;
    for (int32_t i = 0; i < d->vertex_cluster_count * SUP_DETECT_CLUSTER; i++)
        if (d->vertex_clusters[i] >= 0) partition[d->vertex_clusters[i]] = i / SUP_DETECT_CLUSTER;
    order_triangles(b, partition, order);
    for (int32_t t = 0; t < count; t++) {
        memcpy(triangles + 3 * (size_t)t, s->fine_triangles + 3 * (size_t)order[t].item, 3 * sizeof *triangles);
        b->cluster_of[order[t].item] = t / SUP_UNTANGLE_CLUSTER;
    }
    b->view.triangles = triangles;
    return true;
}

void sup_untangle_list_clusters(const sup_untangle_view *view, const int32_t *target, int32_t target_count,
                                int32_t *seen, int32_t *first, int32_t *list)
{
    memset(seen, 0xff, (size_t)target_count * sizeof *seen);
    for (int32_t k = 0; k < 3 * view->triangle_count; k++) {
        int32_t v = view->triangles[k], t = target != NULL ? target[v] : v, cluster = k / (3 * SUP_UNTANGLE_CLUSTER);
        if (seen[t] == cluster) continue;
        seen[t] = cluster;
        if (list == NULL)
            first[t + 1]++;
        else
            list[first[t]++] = cluster;
    }
}

static bool add_coarse(untangle_build *b)
{
    int32_t n = b->surface->coarse_count;
    int32_t *seen = sup_arena_alloc(&b->arena, (size_t)n, sizeof *seen);
    int32_t *first = sup_model_add(b->builder, "untangle.coarse_first", SUP_ARRAY_INT32, (int64_t)n + 1);
    if (seen == NULL || first == NULL) return false;
    sup_untangle_list_clusters(&b->view, b->nearest, n, seen, first, NULL);
    for (int32_t v = 0; v < n; v++)
        first[v + 1] += first[v];
    int32_t *list = sup_model_add(b->builder, "untangle.coarse_clusters", SUP_ARRAY_INT32, first[n]);
    if (list == NULL) return false;
    sup_untangle_list_clusters(&b->view, b->nearest, n, seen, first, list);
    memmove(first + 1, first, (size_t)n * sizeof *first);
    first[0] = 0;
    b->view.coarse_first = first;
    b->view.coarse_clusters = list;
    return true;
}

/* Clusters adjacent to one. `list` NULL: only counted. Returns their number. */
static int32_t list_adjacent(const untangle_build *b, int32_t cluster, int32_t *seen, int32_t *list)
{
    const sup_adjacency *a = &b->adjacency;
    int32_t corners = 3 * SUP_UNTANGLE_CLUSTER, all = 3 * b->view.triangle_count, count = 0;
    seen[cluster] = cluster;
    for (int32_t k = cluster * corners; k < (cluster + 1) * corners && k < all; k++) {
        int32_t v = b->view.triangles[k];
        for (int32_t i = a->vertex_first[v]; i < a->vertex_first[v + 1]; i++) {
            int32_t other = b->cluster_of[a->vertex_halves[i] / 3];
            if (seen[other] == cluster) continue;
            seen[other] = cluster;
            if (list != NULL) list[count] = other;
            count++;
        }
    }
    return count;
}

static bool add_adjacent(untangle_build *b)
{
    int32_t clusters = (b->view.triangle_count + SUP_UNTANGLE_CLUSTER - 1) / SUP_UNTANGLE_CLUSTER;
    int32_t *seen = sup_arena_alloc(&b->arena, (size_t)clusters, sizeof *seen);
    int32_t *first = sup_model_add(b->builder, "untangle.adjacent_first", SUP_ARRAY_INT32, (int64_t)clusters + 1);
    if (seen == NULL || first == NULL) return false;
    memset(seen, 0xff, (size_t)clusters * sizeof *seen);
    for (int32_t i = 0; i < clusters; i++)
        first[i + 1] = first[i] + list_adjacent(b, i, seen, NULL);
    int32_t *list = sup_model_add(b->builder, "untangle.adjacent", SUP_ARRAY_INT32, first[clusters]);
    if (list == NULL) return false;
    memset(seen, 0xff, (size_t)clusters * sizeof *seen);
    for (int32_t i = 0; i < clusters; i++)
        list_adjacent(b, i, seen, list + first[i]);
    b->view.adjacent_first = first;
    b->view.adjacent = list;
    return true;
}

static bool add_rest(untangle_build *b)
{
    int64_t count = 3 * (int64_t)b->surface->fine_count;
    float *rest = sup_model_add(b->builder, "untangle.rest", SUP_ARRAY_FLOAT, count);
    float *scale = sup_model_add(b->builder, "untangle.scale", SUP_ARRAY_FLOAT, 2);
    if (rest == NULL || scale == NULL) return false;
    memcpy(rest, b->surface->fine_positions, (size_t)count * sizeof *rest);
    double volume = 0.0;
    for (int32_t t = 0; t < b->surface->fine_triangle_count; t++) {
        const int32_t *c = b->surface->fine_triangles + 3 * (size_t)t;
        volume += sup_untangle_volume6(rest + 3 * (size_t)c[0], rest + 3 * (size_t)c[1], rest + 3 * (size_t)c[2]) / 6.0;
    }
    b->view.size = scale[0] = b->rig->size;
    b->view.rest_volume = scale[1] = (float)volume;
    b->view.rest = rest;
    return true;
}

static bool mark_rest_crossings(untangle_build *b)
{
    unsigned char *crosses =
        sup_model_add(b->builder, "untangle.crosses_at_rest", SUP_ARRAY_BYTE, b->view.triangle_count);
    void *scratch = sup_arena_alloc(&b->arena, sup_untangle_scratch(&b->view) + 64, 1);
    if (crosses == NULL || scratch == NULL) return false;
    b->view.crosses_at_rest = crosses;
    sup_untangle_mark(b->context, &b->view, b->surface->fine_positions, scratch, crosses);
    return true;
}

sup_result sup_untangle_bind(const sup_context *context, const sup_rig *rig, const sup_simulated_surface *surface,
                             const sup_detect *detect, const unsigned char *rest_contact, sup_model_builder *builder,
                             sup_error *error)
{
    untangle_build b = {.context = context,
                        .rig = rig,
                        .surface = surface,
                        .detect = detect,
                        .builder = builder,
                        .arena = sup_arena_create(&context->allocator)};
    bool fits = (int64_t)surface->fine_count <= SUP_UNTANGLE_MAX_FINENESS * (int64_t)surface->coarse_count;
    int32_t *sizes = sup_model_add(builder, "untangle.sizes", SUP_ARRAY_INT32, 3);
    unsigned char *flags = sup_model_add(builder, "untangle.rest_contact", SUP_ARRAY_BYTE, surface->coarse_count);
    if (sizes == NULL || flags == NULL) return sup_fail_memory(error, "untangling");
    memcpy(flags, rest_contact, (size_t)surface->coarse_count);
    b.view.rest_contact = flags;
    b.view.vertex_count = sizes[0] = fits ? surface->fine_count : 0;
    b.view.triangle_count = sizes[1] = fits ? surface->fine_triangle_count : 0;
    b.view.coarse_count = sizes[2] = surface->coarse_count;
    if (!fits) return SUP_OK;
    sup_result result = sup_adjacency_create(&context->allocator, surface->fine_count, surface->fine_triangle_count,
                                             surface->fine_triangles, &b.adjacency, error);
    if (result != SUP_OK) return result;
    bool allocated = add_neighbours(&b) && add_render_vertices(&b) && add_triangles(&b) && add_coarse(&b) &&
                     add_adjacent(&b) && add_rest(&b) && mark_rest_crossings(&b);
    sup_adjacency_destroy(&b.adjacency);
    sup_arena_destroy(&b.arena);
    return allocated ? SUP_OK : sup_fail_memory(error, "untangling");
}

/* --- Back from the model --- */

static bool within(const int32_t *values, int64_t count, int32_t limit)
{
    for (int64_t i = 0; i < count; i++)
        if (values[i] < 0 || values[i] >= limit) return false;
    return true;
}

/* `count` lists: their starts, from 0 up to the total length, into *first; their entries, less than `limit`, into
 * *list; at least `minimum` entries each. */
static bool open_lists(const sup_model *model, const char *first_name, const char *name, int64_t count, int32_t limit,
                       int32_t minimum, const int32_t **first, const int32_t **list)
{
    int64_t total = sup_model_array_count(model, name);
    *first = sup_model_array(model, first_name, SUP_ARRAY_INT32, count + 1);
    *list = sup_model_array(model, name, SUP_ARRAY_INT32, -1);
    if (*first == NULL || *list == NULL || (*first)[0] != 0 || (*first)[count] != total) return false;
    for (int64_t i = 0; i < count; i++)
        if ((*first)[i + 1] < (*first)[i] + minimum) return false;
    return within(*list, total, limit);
}

static bool open_arrays(const sup_model *model, sup_untangle_view *v)
{
    int64_t clusters = ((int64_t)v->triangle_count + SUP_UNTANGLE_CLUSTER - 1) / SUP_UNTANGLE_CLUSTER;
    v->triangles = sup_model_array(model, "untangle.triangles", SUP_ARRAY_INT32, 3 * (int64_t)v->triangle_count);
    v->coarse = sup_model_array(model, "untangle.coarse", SUP_ARRAY_INT32, v->vertex_count);
    v->crosses_at_rest = sup_model_array(model, "untangle.crosses_at_rest", SUP_ARRAY_BYTE, v->triangle_count);
    v->rest = sup_model_array(model, "untangle.rest", SUP_ARRAY_FLOAT, 3 * (int64_t)v->vertex_count);
    const float *scale = sup_model_array(model, "untangle.scale", SUP_ARRAY_FLOAT, 2);
    if (scale == NULL || !isfinite(scale[0]) || !isfinite(scale[1])) return false;
    v->size = scale[0];
    v->rest_volume = scale[1];
    return v->triangles != NULL && v->crosses_at_rest != NULL && v->coarse != NULL && v->rest != NULL &&
           within(v->coarse, v->vertex_count, v->coarse_count) &&
           within(v->triangles, 3 * (int64_t)v->triangle_count, v->vertex_count) &&
           open_lists(model, "untangle.coarse_first", "untangle.coarse_clusters", v->coarse_count, (int32_t)clusters, 0,
                      &v->coarse_first, &v->coarse_clusters) &&
           open_lists(model, "untangle.adjacent_first", "untangle.adjacent", clusters, (int32_t)clusters, 0,
                      &v->adjacent_first, &v->adjacent) &&
           open_lists(model, "untangle.neighbour_first", "untangle.neighbours", v->vertex_count, v->vertex_count, 0,
                      &v->neighbour_first, &v->neighbours) &&
           open_lists(model, "untangle.render_first", "untangle.render_vertices", v->vertex_count,
                      sup_model_vertex_count(model), 1, &v->render_first, &v->render_vertices);
}

sup_result sup_untangle_open(const sup_model *model, sup_untangle_view *view, sup_error *error)
{
    const int32_t *sizes = sup_model_array(model, "untangle.sizes", SUP_ARRAY_INT32, 3);
    bool good = sizes != NULL;
    for (int32_t i = 0; good && i < 3; i++)
        good = sizes[i] >= 0 && sizes[i] <= INT32_MAX / 16;
    sup_untangle_view v = {0};
    if (good) {
        v = (sup_untangle_view){.vertex_count = sizes[0], .triangle_count = sizes[1], .coarse_count = sizes[2]};
        v.rest_contact = sup_model_array(model, "untangle.rest_contact", SUP_ARRAY_BYTE, v.coarse_count);
        good = v.rest_contact != NULL && (v.triangle_count == 0 || open_arrays(model, &v));
    }
    if (!good)
        return sup_fail(error, SUP_ERROR_FORMAT, "untangle.damaged", "",
                        "The model's arrays of untangling are damaged: bind the character again.");
    *view = v;
    return SUP_OK;
}

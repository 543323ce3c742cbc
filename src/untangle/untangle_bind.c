/* untangle_bind.c - what parting the shown skin needs once: its triangles in clusters, who is beside whom, what is where. */
#include "geometry/adjacency.h"
#include "geometry/spatial_sort.h"
#include "untangle/untangle.h"

/* A skin of more vertices for each simulated one is not parted: it would cost more than the simulation. */
enum { FINEST = 8 };

typedef struct part_build {
    const sup_context *context;
    const sup_rig *rig;
    const sup_simulated_surface *surface;
    const sup_detect *detect;
    sup_model_builder *builder;
    sup_arena arena;
    sup_adjacency adjacency;
    int32_t *near;      /* [fine_count] simulated vertex nearest along the skin */
    int32_t *cluster_of; /* [fine_triangle_count] of each triangle of the surface */
    sup_untangle_view view;
} part_build;

/* Breadth first from the simulated vertices; what they do not reach goes with the first one. */
static bool find_near(part_build *b, const int32_t *first, const int32_t *neighbours)
{
    const sup_simulated_surface *s = b->surface;
    int32_t *queue = sup_arena_alloc(&b->arena, (size_t)s->fine_count, sizeof *queue), end = 0;
    b->near = sup_model_add(b->builder, "part.coarse", SUP_ARRAY_INT32, s->fine_count);
    if (queue == NULL || b->near == NULL) return false;
    for (int32_t v = 0; v < s->fine_count; v++)
        b->near[v] = -1;
    for (int32_t v = 0; v < s->coarse_count; v++) {
        b->near[s->coarse_fine[v]] = v;
        queue[end++] = s->coarse_fine[v];
    }
    for (int32_t i = 0; i < end; i++)
        for (int32_t k = first[queue[i]]; k < first[queue[i] + 1]; k++)
            if (b->near[neighbours[k]] < 0) {
                b->near[neighbours[k]] = b->near[queue[i]];
                queue[end++] = neighbours[k];
            }
    for (int32_t v = 0; v < s->fine_count; v++)
        if (b->near[v] < 0) b->near[v] = 0;
    return true;
}

static bool add_neighbours(part_build *b)
{
    int32_t n = b->surface->fine_count;
    int32_t *first = sup_model_add(b->builder, "part.neighbour_first", SUP_ARRAY_INT32, (int64_t)n + 1);
    int32_t *neighbours =
        sup_model_add(b->builder, "part.neighbours", SUP_ARRAY_INT32, 2 * (int64_t)b->adjacency.edge_count);
    if (first == NULL || neighbours == NULL) return false;
    sup_adjacency_neighbours(&b->adjacency, first, neighbours);
    b->view.neighbour_first = first;
    b->view.neighbours = neighbours;
    return find_near(b, first, neighbours);
}

/* Output vertices at each vertex. */
static bool add_shown(part_build *b)
{
    const sup_rig *rig = b->rig;
    int32_t n = b->surface->fine_count, count = 0;
    int32_t *fine = sup_arena_alloc(&b->arena, (size_t)rig->skin_vertex_count, sizeof *fine);
    int32_t *first = sup_model_add(b->builder, "part.shown_first", SUP_ARRAY_INT32, (int64_t)n + 1);
    if (fine == NULL || first == NULL) return false;
    for (int32_t v = 0; v < n; v++)
        fine[b->surface->fine_source[v]] = v + 1;
    for (int32_t v = 0; v < rig->vertex_count; v++) {
        int32_t at = rig->vertex_to_skin[v] >= 0 ? fine[rig->vertex_to_skin[v]] : 0;
        if (at == 0) continue;
        first[at]++;
        count++;
    }
    int32_t *shown = sup_model_add(b->builder, "part.shown", SUP_ARRAY_INT32, count);
    int32_t *next = sup_arena_alloc(&b->arena, (size_t)n, sizeof *next);
    if (shown == NULL || next == NULL) return false;
    for (int32_t v = 0; v < n; v++) {
        first[v + 1] += first[v];
        next[v] = first[v];
    }
    for (int32_t v = 0; v < rig->vertex_count; v++) {
        int32_t at = rig->vertex_to_skin[v] >= 0 ? fine[rig->vertex_to_skin[v]] : 0;
        if (at > 0) shown[next[at - 1]++] = v;
    }
    b->view.shown_first = first;
    b->view.shown = shown;
    return true;
}

/* Cuts items[begin, end) in halves between clusters, until they are in one each. */
static void cut_clusters(sup_spatial_item *items, int32_t begin, int32_t end)
{
    int32_t stack[64], depth = 0; /* ends of the ranges to come; halves: 32 levels at most */
    for (;;) {
        int32_t first = begin / SUP_UNTANGLE_CLUSTER + 1, last = (end - 1) / SUP_UNTANGLE_CLUSTER;
        if (begin < end && first <= last) {
            sup_spatial_sort_longest(items + begin, end - begin);
            stack[depth++] = end;
            end = (first + last) / 2 * SUP_UNTANGLE_CLUSTER;
            continue;
        }
        if (depth == 0) break;
        begin = end;
        end = stack[--depth];
    }
}

/* Triangles by the block of detection that their simulated vertex is in, and within it by place. */
static void order_triangles(const part_build *b, const int32_t *block, sup_spatial_item *order)
{
    const sup_simulated_surface *s = b->surface;
    int32_t count = s->fine_triangle_count;
    for (int32_t t = 0; t < count; t++) {
        const int32_t *corner = s->fine_triangles + 3 * (size_t)t;
        order[t] = (sup_spatial_item){.group = block[b->near[corner[0]]], .item = t};
        for (int32_t k = 0; k < 9; k++)
            order[t].at[k % 3] += (double)s->fine_positions[3 * (size_t)corner[k / 3] + (size_t)(k % 3)] / 3.0;
    }
    sup_spatial_sort_clusters(order, count);
    for (int32_t begin = 0, end = 0; begin < count; begin = end) {
        while (end < count && order[end].group == order[begin].group)
            end++;
        cut_clusters(order, begin, end);
    }
}

static bool add_triangles(part_build *b)
{
    const sup_simulated_surface *s = b->surface;
    const sup_detect *d = b->detect;
    int32_t count = s->fine_triangle_count;
    int32_t *block = sup_arena_alloc(&b->arena, (size_t)s->coarse_count, sizeof *block);
    sup_spatial_item *order = sup_arena_alloc(&b->arena, (size_t)count, sizeof *order);
    int32_t *triangles = sup_model_add(b->builder, "part.triangles", SUP_ARRAY_INT32, 3 * (int64_t)count);
    b->cluster_of = sup_arena_alloc(&b->arena, (size_t)count, sizeof *b->cluster_of);
    if (block == NULL || order == NULL || triangles == NULL || b->cluster_of == NULL) return false;
    for (int32_t i = 0; i < d->block_count * SUP_DETECT_CLUSTER; i++)
        if (d->block_vertex[i] >= 0) block[d->block_vertex[i]] = i / SUP_DETECT_CLUSTER;
    order_triangles(b, block, order);
    for (int32_t t = 0; t < count; t++) {
        memcpy(triangles + 3 * (size_t)t, s->fine_triangles + 3 * (size_t)order[t].item, 3 * sizeof *triangles);
        b->cluster_of[order[t].item] = t / SUP_UNTANGLE_CLUSTER;
    }
    b->view.triangles = triangles;
    return true;
}

void sup_untangle_list_clusters(const sup_untangle_view *view, const int32_t *row, int32_t row_count, int32_t *seen,
                           int32_t *first, int32_t *list)
{
    memset(seen, 0xff, (size_t)row_count * sizeof *seen);
    for (int32_t k = 0; k < 3 * view->triangle_count; k++) {
        int32_t v = view->triangles[k], r = row != NULL ? row[v] : v, cluster = k / (3 * SUP_UNTANGLE_CLUSTER);
        if (seen[r] == cluster) continue;
        seen[r] = cluster;
        if (list == NULL)
            first[r + 1]++;
        else
            list[first[r]++] = cluster;
    }
}

static bool add_coarse(part_build *b)
{
    int32_t n = b->surface->coarse_count;
    int32_t *seen = sup_arena_alloc(&b->arena, (size_t)n, sizeof *seen);
    int32_t *first = sup_model_add(b->builder, "part.coarse_first", SUP_ARRAY_INT32, (int64_t)n + 1);
    if (seen == NULL || first == NULL) return false;
    sup_untangle_list_clusters(&b->view, b->near, n, seen, first, NULL);
    for (int32_t v = 0; v < n; v++)
        first[v + 1] += first[v];
    int32_t *list = sup_model_add(b->builder, "part.coarse_clusters", SUP_ARRAY_INT32, first[n]);
    if (list == NULL) return false;
    sup_untangle_list_clusters(&b->view, b->near, n, seen, first, list);
    memmove(first + 1, first, (size_t)n * sizeof *first);
    first[0] = 0;
    b->view.coarse_first = first;
    b->view.coarse_clusters = list;
    return true;
}

/* Bundles beside one. `list` NULL: only counted. */
static int32_t list_beside(const part_build *b, int32_t cluster, int32_t *seen, int32_t *list)
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

static bool add_beside(part_build *b)
{
    int32_t clusters = (b->view.triangle_count + SUP_UNTANGLE_CLUSTER - 1) / SUP_UNTANGLE_CLUSTER;
    int32_t *seen = sup_arena_alloc(&b->arena, (size_t)clusters, sizeof *seen);
    int32_t *first = sup_model_add(b->builder, "part.beside_first", SUP_ARRAY_INT32, (int64_t)clusters + 1);
    if (seen == NULL || first == NULL) return false;
    memset(seen, 0xff, (size_t)clusters * sizeof *seen);
    for (int32_t i = 0; i < clusters; i++)
        first[i + 1] = first[i] + list_beside(b, i, seen, NULL);
    int32_t *list = sup_model_add(b->builder, "part.beside", SUP_ARRAY_INT32, first[clusters]);
    if (list == NULL) return false;
    memset(seen, 0xff, (size_t)clusters * sizeof *seen);
    for (int32_t i = 0; i < clusters; i++)
        list_beside(b, i, seen, list + first[i]);
    b->view.beside_first = first;
    b->view.beside = list;
    return true;
}

static bool add_rest(part_build *b)
{
    int64_t count = 3 * (int64_t)b->surface->fine_count;
    float *rest = sup_model_add(b->builder, "part.rest", SUP_ARRAY_FLOAT, count);
    if (rest == NULL) return false;
    memcpy(rest, b->surface->fine_positions, (size_t)count * sizeof *rest);
    b->view.rest = rest;
    return true;
}

static bool add_crossed(part_build *b)
{
    unsigned char *crossed = sup_model_add(b->builder, "part.crossed", SUP_ARRAY_BYTE, b->view.triangle_count);
    void *scratch = sup_arena_alloc(&b->arena, sup_untangle_scratch(&b->view) + 64, 1);
    if (crossed == NULL || scratch == NULL) return false;
    b->view.crossed = crossed;
    sup_untangle_mark(b->context, &b->view, b->surface->fine_positions, scratch, crossed);
    return true;
}

sup_result sup_untangle_bind(const sup_context *context, const sup_rig *rig, const sup_simulated_surface *surface,
                         const sup_detect *detect, const unsigned char *close, sup_model_builder *builder,
                         sup_error *error)
{
    part_build b = {.context = context,
                    .rig = rig,
                    .surface = surface,
                    .detect = detect,
                    .builder = builder,
                    .arena = sup_arena_create(&context->allocator)};
    bool fits = (int64_t)surface->fine_count <= FINEST * (int64_t)surface->coarse_count;
    int32_t *sizes = sup_model_add(builder, "part.sizes", SUP_ARRAY_INT32, 3);
    unsigned char *flags = sup_model_add(builder, "part.close", SUP_ARRAY_BYTE, surface->coarse_count);
    if (sizes == NULL || flags == NULL) return sup_fail_memory(error, "the shown skin");
    memcpy(flags, close, (size_t)surface->coarse_count);
    b.view.close = flags;
    b.view.vertex_count = sizes[0] = fits ? surface->fine_count : 0;
    b.view.triangle_count = sizes[1] = fits ? surface->fine_triangle_count : 0;
    b.view.coarse_count = sizes[2] = surface->coarse_count;
    if (!fits) return SUP_OK;
    sup_result result = sup_adjacency_create(&context->allocator, surface->fine_count, surface->fine_triangle_count,
                                             surface->fine_triangles, &b.adjacency, error);
    if (result != SUP_OK) return result;
    bool room = add_neighbours(&b) && add_shown(&b) && add_triangles(&b) && add_coarse(&b) && add_beside(&b) &&
                add_rest(&b) && add_crossed(&b);
    sup_adjacency_destroy(&b.adjacency);
    sup_arena_destroy(&b.arena);
    return room ? SUP_OK : sup_fail_memory(error, "the shown skin");
}

/* --- Back from the model --- */

static bool within(const int32_t *values, int64_t count, int32_t limit)
{
    for (int64_t i = 0; i < count; i++)
        if (values[i] < 0 || values[i] >= limit) return false;
    return true;
}

/* Rows of `count` things, from 0 up to the length of the list, which goes to *list. */
static bool open_rows(const sup_model *model, const char *first_name, const char *name, int64_t count, int32_t limit,
                      int32_t least, const int32_t **first, const int32_t **list)
{
    int64_t total = sup_model_array_count(model, name);
    *first = sup_model_array(model, first_name, SUP_ARRAY_INT32, count + 1);
    *list = sup_model_array(model, name, SUP_ARRAY_INT32, -1);
    if (*first == NULL || *list == NULL || (*first)[0] != 0 || (*first)[count] != total) return false;
    for (int64_t i = 0; i < count; i++)
        if ((*first)[i + 1] < (*first)[i] + least) return false;
    return within(*list, total, limit);
}

static bool open_arrays(const sup_model *model, sup_untangle_view *v)
{
    int64_t clusters = ((int64_t)v->triangle_count + SUP_UNTANGLE_CLUSTER - 1) / SUP_UNTANGLE_CLUSTER;
    v->triangles = sup_model_array(model, "part.triangles", SUP_ARRAY_INT32, 3 * (int64_t)v->triangle_count);
    v->coarse = sup_model_array(model, "part.coarse", SUP_ARRAY_INT32, v->vertex_count);
    v->crossed = sup_model_array(model, "part.crossed", SUP_ARRAY_BYTE, v->triangle_count);
    v->rest = sup_model_array(model, "part.rest", SUP_ARRAY_FLOAT, 3 * (int64_t)v->vertex_count);
    return v->triangles != NULL && v->crossed != NULL && v->coarse != NULL && v->rest != NULL &&
           within(v->coarse, v->vertex_count, v->coarse_count) &&
           within(v->triangles, 3 * (int64_t)v->triangle_count, v->vertex_count) &&
           open_rows(model, "part.coarse_first", "part.coarse_clusters", v->coarse_count, (int32_t)clusters, 0,
                     &v->coarse_first, &v->coarse_clusters) &&
           open_rows(model, "part.beside_first", "part.beside", clusters, (int32_t)clusters, 0, &v->beside_first,
                     &v->beside) &&
           open_rows(model, "part.neighbour_first", "part.neighbours", v->vertex_count, v->vertex_count, 0,
                     &v->neighbour_first, &v->neighbours) &&
           open_rows(model, "part.shown_first", "part.shown", v->vertex_count, sup_model_vertex_count(model), 1,
                     &v->shown_first, &v->shown);
}

sup_result sup_untangle_open(const sup_model *model, sup_untangle_view *view, sup_error *error)
{
    const int32_t *sizes = sup_model_array(model, "part.sizes", SUP_ARRAY_INT32, 3);
    bool good = sizes != NULL;
    for (int32_t i = 0; good && i < 3; i++)
        good = sizes[i] >= 0 && sizes[i] <= INT32_MAX / 16;
    sup_untangle_view v = {0};
    if (good) {
        v = (sup_untangle_view){.vertex_count = sizes[0], .triangle_count = sizes[1], .coarse_count = sizes[2]};
        v.close = sup_model_array(model, "part.close", SUP_ARRAY_BYTE, v.coarse_count);
        good = v.close != NULL && (v.triangle_count == 0 || open_arrays(model, &v));
    }
    if (!good)
        return sup_fail(error, SUP_ERROR_FORMAT, "part.damaged", "",
                        "The arrays of the shown skin are damaged: bind the character again.");
    *view = v;
    return SUP_OK;
}

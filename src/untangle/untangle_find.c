/* untangle_find.c - finds self-intersections of the render mesh: edges that cross triangles. See untangle.h.
 *
 * Triangles lie in clusters that were built at bind time. Those near skin that detection has found near other skin
 * are searched: first the boxes of clusters are compared, then the triangles of clusters whose boxes overlap, a whole
 * cluster at a time. Boxes of adjacent clusters always overlap; where all their normals are within 90 degrees of each
 * other they are no fold, and are not compared. */
#include "base/simd.h"
#include "untangle/untangle_internal.h"
#include "untangle/untangle_rules.h"

#include <math.h>

enum { GRAIN_BOUND = SUP_DETECT_CLUSTER, GRAIN_FIND = 8 }; /* clusters of a task */

/* Arguments of a parallel task. */
typedef struct find_task {
    const sup_untangle_mesh *mesh;
    sup_untangle_search *search;
    sup_untangle_crossings *crossings;
} find_task;

static void *carve(unsigned char *base, size_t *size, size_t count, size_t item)
{
    void *at = base == NULL ? NULL : base + *size;
    *size += (count * item + 63) / 64 * 64;
    return at;
}

static void choose_kernels(sup_untangle_search *search)
{
    search->boxes = sup_detect_choose_kernels();
    search->kernels = &sup_untangle_kernels_base;
#if defined(__x86_64__) && !defined(SUPPLE_SCALAR)
    int32_t lanes = sup_simd_lanes();
    if (lanes == 16) search->kernels = &sup_untangle_kernels_avx512;
    if (lanes == 8) search->kernels = &sup_untangle_kernels_avx2;
#endif
}

static int32_t count_clusters(const sup_untangle_view *view)
{
    return (view->triangle_count + SUP_UNTANGLE_CLUSTER - 1) / SUP_UNTANGLE_CLUSTER;
}

sup_untangle_buffers sup_untangle_layout(const sup_untangle_view *view, void *scratch)
{
    sup_untangle_buffers b = {.mesh.view = view};
    sup_untangle_search *search = &b.search;
    size_t n = (size_t)view->vertex_count, clusters = (size_t)count_clusters(view), *size = &b.size;
    b.mesh.vertex = carve(scratch, size, n, sizeof *b.mesh.vertex);
    b.mesh.state = carve(scratch, size, n, sizeof *b.mesh.state);
    b.patches.boundary = carve(scratch, size, n > 0 ? (size_t)view->neighbour_first[n] : 0, sizeof *b.patches.boundary);
    b.moved = carve(scratch, size, n, sizeof *b.moved);
    b.mesh.known = carve(scratch, size, n, sizeof *b.mesh.known);
    b.patches.queue = carve(scratch, size, n, sizeof *b.patches.queue);
    search->active = carve(scratch, size, clusters, sizeof *search->active);
    search->dirty = carve(scratch, size, clusters, sizeof *search->dirty);
    search->clusters = carve(scratch, size, clusters, sizeof *search->clusters);
    search->box = carve(scratch, size, clusters, sizeof *search->box);
    search->node_box = carve(scratch, size, clusters / SUP_DETECT_CLUSTER + 1, sizeof *search->node_box);
    b.crossings.count = carve(scratch, size, clusters, sizeof *b.crossings.count);
    b.crossings.items = carve(scratch, size, clusters * SUP_UNTANGLE_MAX_CROSSINGS, sizeof *b.crossings.items);
    b.patches.items = carve(scratch, size, SUP_UNTANGLE_MAX_PATCHES, sizeof *b.patches.items);
    if (scratch == NULL) return b;
    choose_kernels(search);
    memset(b.mesh.state, 0, n);
    return b;
}

size_t sup_untangle_scratch(const sup_untangle_view *view)
{
    return sup_untangle_layout(view, NULL).size;
}

const float *sup_untangle_position(const sup_untangle_mesh *mesh, int32_t v)
{
    const sup_untangle_view *view = mesh->view;
    size_t index = (size_t)(mesh->welded ? v : view->render_vertices[view->render_first[v]]);
    return (const float *)(const void *)(mesh->positions + index * mesh->stride);
}

void sup_untangle_select(const sup_untangle_view *view, const unsigned char *near, sup_untangle_search *search)
{
    int32_t clusters = count_clusters(view);
    memset(search->dirty, 0, (size_t)clusters);
    for (int32_t v = 0; v < view->coarse_count; v++) {
        if (near[v] == 0 && (view->rest_contact[v] & SUP_UNTANGLE_REST_SEARCHED) == 0) continue;
        for (int32_t i = view->coarse_first[v]; i < view->coarse_first[v + 1]; i++)
            search->dirty[view->coarse_clusters[i]] = 1;
    }
    for (int32_t c = 0; c < clusters; c++)
        if (search->dirty[c]) search->active[search->active_count++] = c;
    memset(search->dirty, 1, (size_t)search->active_count);
}

/* --- Clusters --- */

static void put_box(float (*boxes)[SUP_DETECT_CLUSTER], int32_t lane, const float *lower, const float *upper)
{
    for (int32_t k = 0; k < 3; k++) {
        boxes[k][lane] = lower[k];
        boxes[3 + k][lane] = upper[k];
    }
}

static void widen(float *lower, float *upper, const float *other_lower, const float *other_upper)
{
    for (int32_t k = 0; k < 3; k++) {
        lower[k] = other_lower[k] < lower[k] ? other_lower[k] : lower[k];
        upper[k] = other_upper[k] > upper[k] ? other_upper[k] : upper[k];
    }
}

/* Skipped triangles get empty boxes. Returns the box of all. */
static sup_detect_box load_cluster(const sup_untangle_mesh *mesh, const sup_untangle_search *search, int32_t number,
                                   sup_untangle_cluster *cluster)
{
    const sup_untangle_view *view = mesh->view;
    const float empty[] = {INFINITY, INFINITY, INFINITY, -INFINITY, -INFINITY, -INFINITY};
    sup_detect_box whole = {{INFINITY, INFINITY, INFINITY, 0.0f}, {-INFINITY, -INFINITY, -INFINITY, 0.0f}};
    uint32_t counts = 0;
    for (int32_t lane = 0; lane < SUP_UNTANGLE_CLUSTER; lane++) {
        int32_t triangle = number * SUP_UNTANGLE_CLUSTER + lane, last = view->triangle_count - 1;
        const int32_t *corner = view->triangles + 3 * (size_t)(triangle < last ? triangle : last);
        for (int32_t c = 0; c < 3; c++) {
            bool loaded = (mesh->state[corner[c]] & SUP_UNTANGLE_LOADED) != 0;
            const float *p = loaded ? mesh->vertex[corner[c]].x : sup_untangle_position(mesh, corner[c]);
            for (int32_t k = 0; k < 3; k++)
                cluster->corner[3 * c + k][lane] = p[k];
        }
        if (triangle <= last && (search->at_rest || !view->crosses_at_rest[triangle])) counts |= 1u << lane;
    }
    search->kernels->bound(cluster);
    for (int32_t lane = 0; lane < SUP_UNTANGLE_CLUSTER; lane++) {
        for (int32_t k = 0; k < 6 && !(counts >> lane & 1); k++)
            cluster->box[k][lane] = empty[k];
        const float lower[] = {cluster->box[0][lane], cluster->box[1][lane], cluster->box[2][lane]};
        const float upper[] = {cluster->box[3][lane], cluster->box[4][lane], cluster->box[5][lane]};
        widen(whole.lower, whole.upper, lower, upper);
    }
    return whole;
}

static void load_clusters(void *data, int32_t begin, int32_t end, int32_t worker)
{
    const find_task *task = data;
    sup_untangle_search *s = task->search;
    SUP_UNUSED(worker);
    for (int32_t i = begin; i < end; i++) {
        if (!s->dirty[i]) continue;
        s->box[i] = load_cluster(task->mesh, s, s->active[i], &s->clusters[i]);
        put_box(s->node_box[i / SUP_DETECT_CLUSTER], i % SUP_DETECT_CLUSTER, s->box[i].lower, s->box[i].upper);
    }
}

/* Clusters that share a vertex, or are the same. */
static bool is_adjacent(const sup_untangle_view *view, int32_t a, int32_t b)
{
    if (a == b) return true;
    for (int32_t i = view->adjacent_first[a]; i < view->adjacent_first[a + 1]; i++)
        if (view->adjacent[i] == b) return true;
    return false;
}

/* Adjacent clusters without a fold between them; in the bind pose none. */
static bool is_smooth(const sup_untangle_view *view, const sup_untangle_search *s, int32_t i, int32_t j)
{
    const sup_untangle_cluster *a = &s->clusters[i], *b = &s->clusters[j];
    float axes_dot = a->axis[0] * b->axis[0] + a->axis[1] * b->axis[1] + a->axis[2] * b->axis[2];
    return !s->at_rest && sup_untangle_cones_agree(a->cosine, b->cosine, axes_dot) &&
           is_adjacent(view, s->active[i], s->active[j]);
}

/* --- Triangles --- */

static vec cross(vec a, vec b)
{
    return (vec){a.y * b.z - a.z * b.y, a.z * b.x - a.x * b.z, a.x * b.y - a.y * b.x};
}

typedef struct triangle {
    int32_t index;
    const int32_t *corner;
    float p[3][3];
    vec normal;   /* of twice the area's length, */
    float square; /* of that length */
} triangle;

static const int32_t *corners_at(const sup_untangle_view *view, const sup_untangle_search *s, int32_t i, int32_t lane)
{
    return view->triangles + 3 * (size_t)(s->active[i] * SUP_UNTANGLE_CLUSTER + lane);
}

static triangle triangle_at(const sup_untangle_view *view, const sup_untangle_search *s, int32_t i, int32_t lane)
{
    triangle t = {.index = s->active[i] * SUP_UNTANGLE_CLUSTER + lane, .corner = corners_at(view, s, i, lane)};
    for (int32_t k = 0; k < 9; k++)
        t.p[k / 3][k % 3] = s->clusters[i].corner[k][lane];
    t.normal = cross(sub(t.p[1], t.p[0]), sub(t.p[2], t.p[0]));
    t.square = dot(t.normal, t.normal);
    return t;
}

static bool share_corner(const int32_t *a, const int32_t *b)
{
    for (int32_t i = 0; i < 3; i++)
        if (a[i] == b[0] || a[i] == b[1] || a[i] == b[2]) return true;
    return false;
}

/* The edge of `of` from its corner `in` below the plane of `t` to `far` above it: whether it crosses the triangle. */
static bool cross_edge(const triangle *t, const triangle *of, int32_t in, int32_t far, const float height[3],
                       sup_untangle_crossing *crossing)
{
    float s = height[in] / (height[in] - height[far]);
    for (int32_t k = 0; k < 3; k++)
        crossing->point[k] = of->p[in][k] + s * (of->p[far][k] - of->p[in][k]);
    for (int32_t k = 0; k < 3; k++) {
        const float *a = t->p[(k + 1) % 3], *b = t->p[(k + 2) % 3];
        crossing->weight[k] = dot(t->normal, cross(sub(b, a), sub(crossing->point, a))) / t->square;
        if (!(crossing->weight[k] >= 0.0f)) return false;
    }
    float area = sqrtf(t->square), edge = sup_untangle_edge_of(area), other = sup_untangle_edge_of(sqrtf(of->square));
    crossing->inside = of->corner[in];
    crossing->outside = of->corner[far];
    crossing->triangle = t->index;
    crossing->edge_of = of->index;
    crossing->normal[0] = t->normal.x / area;
    crossing->normal[1] = t->normal.y / area;
    crossing->normal[2] = t->normal.z / area;
    crossing->depth = -height[in] / area;
    crossing->height = height[far] / area;
    crossing->fraction = sup_untangle_triangle_fraction(edge, other);
    crossing->edge = edge < other ? edge : other;
    return true;
}

/* Appends the edges of `of` that cross `t`. Returns the new number of crossings. */
static int32_t cross_edges(const triangle *t, const triangle *of, sup_untangle_crossing *crossings, int32_t count)
{
    float height[3];
    for (int32_t c = 0; c < 3; c++)
        height[c] = dot(t->normal, sub(of->p[c], t->p[0]));
    for (int32_t c = 0; c < 3 && t->square > 0.0f; c++) {
        int32_t next = (c + 1) % 3, in = height[c] < height[next] ? c : next, far = in == c ? next : c;
        if (!sup_untangle_crosses_plane(height[in], height[far]) || count == SUP_UNTANGLE_MAX_CROSSINGS) continue;
        if (cross_edge(t, of, in, far, height, &crossings[count])) count++;
    }
    return count;
}

/* Triangles of active cluster i against those of active cluster j. */
static int32_t compare(const sup_untangle_view *view, const sup_untangle_search *s, int32_t i, int32_t j,
                       sup_untangle_crossing *crossings, int32_t count)
{
    uint32_t lanes = s->boxes->overlap(s->clusters[i].box, &s->box[j]);
    for (; lanes != 0; lanes &= lanes - 1) {
        int32_t lane = __builtin_ctz(lanes);
        uint32_t others = s->kernels->cross(&s->clusters[i], lane, &s->clusters[j]);
        if (i == j) others &= 0xfffffffeu << lane;
        for (; others != 0; others &= others - 1) {
            int32_t other = __builtin_ctz(others);
            if (share_corner(corners_at(view, s, i, lane), corners_at(view, s, j, other))) continue;
            triangle a = triangle_at(view, s, i, lane), b = triangle_at(view, s, j, other);
            count = cross_edges(&a, &b, crossings, count);
            count = cross_edges(&b, &a, crossings, count);
        }
    }
    return count;
}

/* Dirty clusters against all: where neither has moved, nothing crosses. */
static void find_crossings(void *data, int32_t begin, int32_t end, int32_t worker)
{
    const find_task *task = data;
    const sup_untangle_search *s = task->search;
    SUP_UNUSED(worker);
    for (int32_t i = begin; i < end; i++) {
        sup_untangle_crossing *crossings = task->crossings->items + (size_t)i * SUP_UNTANGLE_MAX_CROSSINGS;
        int32_t count = 0;
        int32_t node =
            s->all_dirty ? i / SUP_DETECT_CLUSTER : 0; /* earlier clusters are compared with i by themselves */
        for (; node * SUP_DETECT_CLUSTER < s->active_count && s->dirty[i]; node++) {
            uint32_t others = s->boxes->overlap(s->node_box[node], &s->box[i]);
            for (; others != 0; others &= others - 1) {
                int32_t j = node * SUP_DETECT_CLUSTER + __builtin_ctz(others);
                if (j < s->active_count && (j >= i || !s->dirty[j]) && !is_smooth(task->mesh->view, s, i, j))
                    count = compare(task->mesh->view, s, i, j, crossings, count);
            }
        }
        task->crossings->count[i] = count;
    }
}

int32_t sup_untangle_find(const sup_context *context, const sup_untangle_mesh *mesh, sup_untangle_search *search,
                          sup_untangle_crossings *crossings)
{
    find_task task = {mesh, search, crossings};
    search->all_dirty = true;
    for (int32_t i = 0; i < search->active_count && search->all_dirty; i++)
        search->all_dirty = search->dirty[i] != 0;
    sup_parallel(context, search->active_count, GRAIN_BOUND, load_clusters, &task);
    sup_parallel(context, search->active_count, GRAIN_FIND, find_crossings, &task);
    crossings->cluster_count = search->active_count;
    int32_t total = 0;
    for (int32_t i = 0; i < crossings->cluster_count; i++)
        total += crossings->count[i];
    return total;
}

const sup_untangle_crossing *sup_untangle_next(const sup_untangle_crossings *crossings, sup_untangle_iterator *at)
{
    while (at->cluster < 0 || at->next >= crossings->count[at->cluster]) {
        if (++at->cluster >= crossings->cluster_count) return NULL;
        at->next = 0;
    }
    return &crossings->items[(size_t)at->cluster * SUP_UNTANGLE_MAX_CROSSINGS + (size_t)at->next++];
}

void sup_untangle_mark(const sup_context *context, const sup_untangle_view *view, const float *positions, void *scratch,
                       unsigned char *crosses)
{
    if (scratch == NULL) return;
    sup_untangle_buffers b = sup_untangle_layout(view, scratch);
    b.mesh.positions = (const unsigned char *)positions;
    b.mesh.stride = 3 * sizeof *positions;
    b.mesh.welded = true;
    b.search.at_rest = true;
    for (int32_t clusters = count_clusters(view); b.search.active_count < clusters; b.search.active_count++) {
        b.search.active[b.search.active_count] = b.search.active_count;
        b.search.dirty[b.search.active_count] = 1;
    }
    sup_untangle_find(context, &b.mesh, &b.search, &b.crossings);
    sup_untangle_iterator at = {-1, 0};
    const sup_untangle_crossing *crossing;
    while ((crossing = sup_untangle_next(&b.crossings, &at)) != NULL)
        crosses[crossing->triangle] = crosses[crossing->edge_of] = 1;
}

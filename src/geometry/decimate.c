/* decimate.c - half-edge collapses by quadric error, cheapest first.
 *
 * Based on: [garland1997], quadrics and their sum as the cost of a collapse; [komaritzan2022], 3.2.4: half-edge
 * collapses, so that the coarse vertices are some of the fine ones.
 *
 * Deviations:
 * - Planes are weighted by area, and a small fraction of the distance to the original points is added: on flat and
 *   uniformly curved skin plain quadrics do not determine the vertex positions, but a simulation needs even triangles.
 * - A cost is updated when its vertex becomes the cheapest, not after every change of a neighbour: quadrics only grow,
 *   so an old cost is nearly always a lower bound, and most updates are never needed. */
#include "geometry/decimate.h"
#include "geometry/adjacency.h"
#include "math/vec3.h"

enum { STAR_MAX = 128 }; /* triangles around a vertex; vertices with more are kept */

static const double BORDER_WEIGHT = 10.0; /* of the planes perpendicular to border edges, per squared edge length */

/* Symmetric quadric p A p + 2 b p + c: the weighted sum of squared distances of p to planes and points. */
typedef struct quadric {
    double xx, xy, xz, yy, yz, zz, x, y, z, c;
} quadric;

/* Limits of a collapse; relaxed from pass to pass until the target is reached. */
typedef struct limits {
    double aspect;     /* longest edge / height, relative to the def's limit */
    double turn;       /* minimum cosine between the normals of a triangle before and after the collapse */
    double total_turn; /* the same, relative to the input triangle */
    int32_t valence;   /* triangles around a vertex */
} limits;

static const limits PASSES[] = {{1.0, 0.5, 0.2, 10}, {1.5, 0.25, 0.0, 14}, {4.0, 0.1, -0.5, 32}, {1e9, 0.01, -0.7, 64}};

typedef struct heap_item {
    double cost;
    int32_t vertex;
} heap_item;

typedef struct star {
    int32_t count;             /* -1: more than STAR_MAX */
    int32_t corners[STAR_MAX]; /* 3 t + k at that vertex */
    int32_t ring_count;
    heap_item ring[2 * STAR_MAX]; /* neighbours, and the cost to merge into them */
} star;

/* Corner 3 t + k of triangle t. */
typedef struct corner_link {
    int32_t vertex; /* -1 in the first corner of a removed triangle */
    int32_t next;   /* next corner at the same vertex, or -1; the list may contain removed triangles */
} corner_link;

/* One cache line per vertex, because collapses access the mesh in random order. */
typedef struct vertex_state {
    sup_vec3d position; /* centred, of size 1 */
    double own_error;   /* error at its position */
    double importance;
    int32_t first; /* start of the list of corners, -1: removed */
    int32_t mark;  /* stamp of the last star that contained it */
    int32_t links; /* triangles at the edge to it in that star */
    bool fixed;    /* must be kept */
    bool parked;   /* not in the heap */
} vertex_state;

typedef struct decimation {
    vertex_state *vertices;
    quadric *error;       /* [vertex_count] */
    corner_link *corners; /* [triangle_count*3] */
    sup_vec3d *normal;    /* [triangle_count] unit normals of the input */
    int32_t *renumbered;  /* [vertex_count] */
    heap_item *heap;
    int32_t heap_count, vertex_count, triangle_count, live_count, stamp;
    double aspect_limit;
    const limits *limits;
    sup_arena arena;
} decimation;

/* --- Quadrics --- */
static void add_plane(quadric *q, sup_vec3d n, sup_vec3d p, double weight)
{
    double d = -sup_v3_dot(n, p);
    q->xx += weight * n.x * n.x;
    q->xy += weight * n.x * n.y;
    q->xz += weight * n.x * n.z;
    q->yy += weight * n.y * n.y;
    q->yz += weight * n.y * n.z;
    q->zz += weight * n.z * n.z;
    q->x += weight * d * n.x;
    q->y += weight * d * n.y;
    q->z += weight * d * n.z;
    q->c += weight * d * d;
}

static void add_point(quadric *q, sup_vec3d p, double weight)
{
    q->xx += weight;
    q->yy += weight;
    q->zz += weight;
    q->x -= weight * p.x;
    q->y -= weight * p.y;
    q->z -= weight * p.z;
    q->c += weight * sup_v3_dot(p, p);
}

static void add_quadric(quadric *q, const quadric *other)
{
    q->xx += other->xx;
    q->xy += other->xy;
    q->xz += other->xz;
    q->yy += other->yy;
    q->yz += other->yz;
    q->zz += other->zz;
    q->x += other->x;
    q->y += other->y;
    q->z += other->z;
    q->c += other->c;
}

static double evaluate(const quadric *q, sup_vec3d p)
{
    double square = q->xx * p.x * p.x + q->yy * p.y * p.y + q->zz * p.z * p.z +
                    2.0 * (q->xy * p.x * p.y + q->xz * p.x * p.z + q->yz * p.y * p.z);
    return square + 2.0 * (q->x * p.x + q->y * p.y + q->z * p.z) + q->c;
}

/* --- Stars --- */
static int32_t following(int32_t corner)
{
    return corner % 3 == 2 ? corner - 2 : corner + 1;
}

static int32_t preceding(int32_t corner)
{
    return corner % 3 == 0 ? corner + 2 : corner - 1;
}

static bool is_gone(const decimation *d, int32_t corner)
{
    return d->corners[corner - corner % 3].vertex < 0;
}

/* The triangles around v; removes deleted ones from its list. */
static void gather(decimation *d, int32_t v, star *s)
{
    int32_t *link = &d->vertices[v].first;
    s->count = 0;
    while (*link >= 0) {
        int32_t corner = *link;
        if (is_gone(d, corner)) {
            *link = d->corners[corner].next;
            continue;
        }
        if (s->count == STAR_MAX) {
            s->count = -1;
            return;
        }
        s->corners[s->count++] = corner;
        link = &d->corners[corner].next;
    }
}

/* Lists and marks the neighbours in a star; links[w] is the number of triangles at the edge to w. */
static void find_ring(decimation *d, star *s)
{
    d->stamp++;
    s->ring_count = 0;
    for (int32_t i = 0; i < s->count; i++) {
        const int32_t ends[2] = {d->corners[following(s->corners[i])].vertex,
                                 d->corners[preceding(s->corners[i])].vertex};
        for (int32_t k = 0; k < 2; k++) {
            bool is_new = d->vertices[ends[k]].mark != d->stamp;
            d->vertices[ends[k]].mark = d->stamp;
            d->vertices[ends[k]].links = is_new ? 1 : d->vertices[ends[k]].links + 1;
            if (is_new) s->ring[s->ring_count++].vertex = ends[k];
        }
    }
}

/* --- Heap: smallest cost first, then the smaller vertex --- */
static bool is_before(heap_item a, heap_item b)
{
    return a.cost < b.cost || (a.cost == b.cost && a.vertex < b.vertex);
}

static void sift_down(decimation *d, int32_t at, heap_item item)
{
    for (;;) {
        int32_t child = 2 * at + 1;
        if (child >= d->heap_count) break;
        if (child + 1 < d->heap_count && is_before(d->heap[child + 1], d->heap[child])) child++;
        if (!is_before(d->heap[child], item)) break;
        d->heap[at] = d->heap[child];
        at = child;
    }
    d->heap[at] = item;
}

static void push(decimation *d, heap_item item)
{
    int32_t at = d->heap_count++;
    while (at > 0 && is_before(item, d->heap[(at - 1) / 2])) {
        d->heap[at] = d->heap[(at - 1) / 2];
        at = (at - 1) / 2;
    }
    d->heap[at] = item;
    d->vertices[item.vertex].parked = false;
}

static void pop(decimation *d)
{
    heap_item last = d->heap[--d->heap_count];
    if (d->heap_count > 0) sift_down(d, 0, last);
}

/* --- Costs and validity --- */
/* Costs to merge u into each neighbour of its ring. */
static void evaluate_ring(const decimation *d, int32_t u, star *s)
{
    for (int32_t i = 0; i < s->ring_count; i++) {
        int32_t v = s->ring[i].vertex;
        double cost = evaluate(&d->error[u], d->vertices[v].position) + d->vertices[v].own_error;
        s->ring[i].cost = (cost > 0.0 ? cost : 0.0) * d->vertices[u].importance;
    }
}

/* The first neighbour after `tried` in the order (cost, neighbour); vertex -1 for none. */
static heap_item next_target(const star *s, heap_item tried)
{
    heap_item best = {INFINITY, -1};
    for (int32_t i = 0; i < s->ring_count; i++)
        if (is_before(tried, s->ring[i]) && is_before(s->ring[i], best)) best = s->ring[i];
    return best;
}

/* Longest edge to height; INFINITY without area. */
static double aspect_of(sup_vec3d a, sup_vec3d b, sup_vec3d c, double twice_area)
{
    sup_vec3d ab = sup_v3_sub(b, a), bc = sup_v3_sub(c, b), ca = sup_v3_sub(a, c);
    double square = fmax(sup_v3_dot(ab, ab), fmax(sup_v3_dot(bc, bc), sup_v3_dot(ca, ca)));
    return twice_area > 0.0 ? square / twice_area : INFINITY;
}

/* Whether `corner` of its triangle may move to p. */
static bool triangle_allows(const decimation *d, int32_t corner, sup_vec3d p, double *worst_before, double *worst)
{
    sup_vec3d u = d->vertices[d->corners[corner].vertex].position;
    sup_vec3d a = d->vertices[d->corners[following(corner)].vertex].position,
              b = d->vertices[d->corners[preceding(corner)].vertex].position;
    sup_vec3d before = sup_v3_cross(sup_v3_sub(a, u), sup_v3_sub(b, u));
    sup_vec3d after = sup_v3_cross(sup_v3_sub(a, p), sup_v3_sub(b, p));
    double length_before = sup_v3_length(before), length = sup_v3_length(after);
    *worst_before = fmax(*worst_before, aspect_of(u, a, b, length_before));
    *worst = fmax(*worst, aspect_of(p, a, b, length));
    if (length_before == 0.0) return true;
    return sup_v3_dot(before, after) >= d->limits->turn * length_before * length && length > 0.0 &&
           sup_v3_dot(d->normal[corner / 3], after) >= d->limits->total_turn * length;
}

static bool shape_allows(const decimation *d, const star *s, int32_t v)
{
    double worst_before = 0.0, worst = 0.0;
    for (int32_t i = 0; i < s->count; i++) {
        int32_t corner = s->corners[i];
        if (d->corners[following(corner)].vertex == v || d->corners[preceding(corner)].vertex == v) continue;
        if (!triangle_allows(d, corner, d->vertices[v].position, &worst_before, &worst)) return false;
    }
    double limit = d->aspect_limit * d->limits->aspect;
    return worst <= (worst_before > limit ? worst_before : limit);
}

/* The third corner of a triangle that contains `v` and the vertex at `corner`, -1 if it does not contain v. */
static int32_t opposite(const decimation *d, int32_t corner, int32_t v)
{
    int32_t a = d->corners[following(corner)].vertex, b = d->corners[preceding(corner)].vertex;
    return a == v ? b : (b == v ? a : -1);
}

/* Whether a star has a triangle with the corners a and b. */
static bool holds_edge(const decimation *d, const star *s, int32_t a, int32_t b)
{
    for (int32_t i = 0; i < s->count; i++)
        if (opposite(d, s->corners[i], a) == b) return true;
    return false;
}

/* Link condition: u and v have no common neighbours except those of the triangles at their edge, a border vertex moves
 * only along the border, no two triangles become equal and no corner loses all triangles. The ring of u must be
 * marked. */
static bool topology_allows(decimation *d, const star *around_u, int32_t v, const star *around_v)
{
    int32_t apexes[2] = {-1, -1}, found = 0, beside_apex = 0;
    bool on_border = false;
    for (int32_t i = 0; i < around_u->count; i++) {
        int32_t a = d->corners[following(around_u->corners[i])].vertex,
                b = d->corners[preceding(around_u->corners[i])].vertex;
        int32_t apex = opposite(d, around_u->corners[i], v);
        on_border = on_border || d->vertices[a].links == 1 || d->vertices[b].links == 1;
        if (apex >= 0 && found < 2) apexes[found++] = apex;
    }
    if (on_border && d->vertices[v].links != 1) return false;
    for (int32_t i = 0; i < around_v->count; i++) {
        int32_t a = d->corners[following(around_v->corners[i])].vertex,
                b = d->corners[preceding(around_v->corners[i])].vertex;
        bool shares_a = d->vertices[a].mark == d->stamp, shares_b = d->vertices[b].mark == d->stamp;
        if (shares_a && a != apexes[0] && a != apexes[1]) return false;
        if (shares_b && b != apexes[0] && b != apexes[1]) return false;
        if (shares_a && shares_b && holds_edge(d, around_u, a, b)) return false;
        beside_apex += a == apexes[0] || b == apexes[0];
    }
    bool is_ear = around_u->count == 1; /* then the apex must have another triangle with v */
    return !is_ear || beside_apex > 1;
}

static bool may_collapse(decimation *d, const star *around_u, int32_t v, star *around_v)
{
    gather(d, v, around_v);
    if (around_v->count < 0) return false;
    int32_t valence = around_v->count + around_u->count - 2 * d->vertices[v].links;
    int32_t limit = d->limits->valence > around_v->count ? d->limits->valence : around_v->count;
    if (valence > limit || valence > STAR_MAX) return false;
    return topology_allows(d, around_u, v, around_v) && shape_allows(d, around_u, v);
}

/* --- Collapse --- */
static void wake(decimation *d, int32_t v)
{
    if (d->vertices[v].parked && !d->vertices[v].fixed) push(d, (heap_item){0.0, v});
}

/* Merges u into v. */
static void collapse(decimation *d, int32_t u, const star *around_u, int32_t v, const star *around_v)
{
    int32_t list = -1;
    for (int32_t k = 0; k < 2; k++) {
        const star *s = k == 0 ? around_u : around_v;
        for (int32_t i = s->count - 1; i >= 0; i--) {
            int32_t corner = s->corners[i];
            if (opposite(d, corner, k == 0 ? v : u) >= 0) continue; /* contains both */
            d->corners[corner].vertex = v;
            d->corners[corner].next = list;
            list = corner;
        }
    }
    for (int32_t i = 0; i < around_u->count; i++) {
        int32_t corner = around_u->corners[i];
        if (d->corners[corner].vertex == u) d->corners[corner - corner % 3].vertex = -1;
    }
    d->vertices[v].first = list;
    d->vertices[u].first = -1;
    d->live_count--;
    add_quadric(&d->error[v], &d->error[u]);
    d->vertices[v].own_error = evaluate(&d->error[v], d->vertices[v].position);
    wake(d, v);
    for (int32_t corner = list; corner >= 0; corner = d->corners[corner].next) {
        wake(d, d->corners[following(corner)].vertex);
        wake(d, d->corners[preceding(corner)].vertex);
    }
}

/* Processes the cheapest vertex: collapses it, reinserts it with its current cost, or removes it from the heap until a
 * neighbour changes. */
static void take_cheapest(decimation *d, star *around_u, star *around_v)
{
    int32_t u = d->heap[0].vertex;
    gather(d, u, around_u);
    find_ring(d, around_u);
    evaluate_ring(d, u, around_u);
    heap_item target = next_target(around_u, (heap_item){-1.0, -1});
    for (; target.vertex >= 0; target = next_target(around_u, target)) {
        heap_item item = {target.cost, u};
        bool is_cheapest = d->heap_count < 2 || is_before(item, d->heap[1]);
        if (d->heap_count > 2 && !is_before(item, d->heap[2])) is_cheapest = false;
        if (target.cost > d->heap[0].cost && !is_cheapest) {
            sift_down(d, 0, item);
            return;
        }
        if (may_collapse(d, around_u, target.vertex, around_v)) {
            pop(d);
            collapse(d, u, around_u, target.vertex, around_v);
            return;
        }
    }
    pop(d);
    d->vertices[u].parked = true;
}

static void decimate_to(decimation *d, int32_t target)
{
    star around_u, around_v;
    for (int32_t pass = 0; pass < SUP_COUNT(PASSES) && d->live_count > target; pass++) {
        d->limits = &PASSES[pass];
        for (int32_t v = 0; v < d->vertex_count; v++) {
            if (!d->vertices[v].parked || d->vertices[v].fixed || d->vertices[v].first < 0) continue;
            gather(d, v, &around_u);
            find_ring(d, &around_u);
            evaluate_ring(d, v, &around_u);
            heap_item cheapest = next_target(&around_u, (heap_item){-1.0, -1});
            if (cheapest.vertex >= 0) push(d, (heap_item){cheapest.cost, v});
        }
        while (d->heap_count > 0 && d->live_count > target)
            take_cheapest(d, &around_u, &around_v);
    }
}

/* --- Set-up --- */
static void scale_positions(decimation *d, const float *positions)
{
    sup_vec3d lower = sup_v3(INFINITY, INFINITY, INFINITY), upper = sup_v3(-INFINITY, -INFINITY, -INFINITY);
    for (int32_t v = 0; v < d->vertex_count; v++) {
        sup_vec3d p = d->vertices[v].position = sup_v3_load(positions + 3 * (size_t)v);
        lower = sup_v3(fmin(lower.x, p.x), fmin(lower.y, p.y), fmin(lower.z, p.z));
        upper = sup_v3(fmax(upper.x, p.x), fmax(upper.y, p.y), fmax(upper.z, p.z));
    }
    double size = sup_v3_distance(lower, upper), scale = size > 0.0 ? 1.0 / size : 1.0;
    sup_vec3d centre = sup_v3_lerp(lower, upper, 0.5);
    for (int32_t v = 0; v < d->vertex_count; v++)
        d->vertices[v].position = sup_v3_scale(sup_v3_sub(d->vertices[v].position, centre), scale);
}

static void make_quadrics(decimation *d, const sup_adjacency *adjacency, double evenness)
{
    for (int32_t t = 0; t < d->triangle_count; t++) {
        const int32_t *corners = adjacency->triangles + 3 * (size_t)t;
        sup_vec3d p[3] = {d->vertices[corners[0]].position, d->vertices[corners[1]].position,
                          d->vertices[corners[2]].position};
        sup_vec3d cross = sup_v3_cross(sup_v3_sub(p[1], p[0]), sup_v3_sub(p[2], p[0]));
        sup_vec3d normal = d->normal[t] = sup_v3_unit_or(cross, sup_v3(0.0, 0.0, 0.0));
        double area = sup_v3_length(cross) / 6.0; /* a third of the triangle */
        for (int32_t k = 0; k < 3; k++) {
            add_plane(&d->error[corners[k]], normal, p[0], area);
            add_point(&d->error[corners[k]], p[k], area * evenness);
            if (adjacency->half_twin[3 * t + k] != SUP_HALF_BOUNDARY) continue;
            sup_vec3d edge = sup_v3_sub(p[(k + 1) % 3], p[k]), side = sup_v3_cross(edge, normal);
            double weight = BORDER_WEIGHT * sup_v3_dot(edge, edge);
            side = sup_v3_unit_or(side, sup_v3(0.0, 0.0, 0.0));
            add_plane(&d->error[corners[k]], side, p[k], weight);
            add_plane(&d->error[corners[(k + 1) % 3]], side, p[k], weight);
        }
    }
    for (int32_t v = 0; v < d->vertex_count; v++)
        d->vertices[v].own_error = evaluate(&d->error[v], d->vertices[v].position);
}

/* Number of triangles that are connected with the first one at v by edges at v. */
static int32_t fan_size(const sup_adjacency *adjacency, int32_t v)
{
    int32_t start = adjacency->vertex_halves[adjacency->vertex_first[v]], count = 1;
    for (int32_t direction = 0; direction < 2; direction++) {
        int32_t edge = direction == 0 ? start : sup_half_previous(start), twin;
        while ((twin = adjacency->half_twin[edge]) >= 0) {
            bool leaves = adjacency->triangles[twin] == v;
            int32_t corner = leaves ? twin : sup_half_next(twin);
            if (corner == start) return count;
            count++;
            edge = leaves ? sup_half_previous(corner) : corner;
        }
    }
    return count;
}

/* Keeps vertices of non-manifold edges and vertices with more than one fan of triangles. */
static void fix_vertices(decimation *d, const sup_adjacency *adjacency)
{
    for (int32_t v = 0; v < d->vertex_count; v++)
        d->vertices[v].fixed = isinf(d->vertices[v].importance);
    for (int32_t h = 0; h < 3 * d->triangle_count; h++)
        if (adjacency->half_twin[h] == SUP_HALF_NON_MANIFOLD)
            d->vertices[adjacency->triangles[h]].fixed = d->vertices[adjacency->triangles[sup_half_next(h)]].fixed =
                true;
    for (int32_t v = 0; v < d->vertex_count; v++) {
        int32_t count = adjacency->vertex_first[v + 1] - adjacency->vertex_first[v];
        d->live_count += count > 0;
        d->vertices[v].parked = true;
        d->vertices[v].first = -1;
        if (count > 0 && !d->vertices[v].fixed && fan_size(adjacency, v) != count) d->vertices[v].fixed = true;
    }
    for (int32_t i = 3 * d->triangle_count - 1; i >= 0; i--) {
        int32_t v = adjacency->triangles[i];
        d->corners[i] = (corner_link){v, d->vertices[v].first};
        d->vertices[v].first = i;
    }
}

static sup_result check_input(int32_t vertex_count, int32_t triangle_count, const int32_t *triangles,
                              const sup_decimate_def *def, sup_error *error)
{
    for (int64_t i = 0; i < 3 * (int64_t)triangle_count; i++)
        if (triangles[i] < 0 || triangles[i] >= vertex_count || triangles[i] == triangles[i - i % 3 + (i + 1) % 3])
            return sup_fail(error, SUP_ERROR_ARGUMENT, "decimate.triangle", "",
                            "Triangle %lld has a corner out of range or a repeated corner.", (long long)(i / 3));
    for (int32_t v = 0; def->importance != NULL && v < vertex_count; v++)
        if (!(def->importance[v] >= 0.0f))
            return sup_fail(error, SUP_ERROR_ARGUMENT, "decimate.importance", "",
                            "The importance of vertex %d must be a number of at least 0.", v);
    return SUP_OK;
}

static bool reserve(decimation *d)
{
    size_t vertices = (size_t)d->vertex_count, corners = 3 * (size_t)d->triangle_count;
    d->vertices = sup_arena_alloc(&d->arena, vertices, sizeof *d->vertices);
    d->error = sup_arena_alloc(&d->arena, vertices, sizeof *d->error);
    d->corners = sup_arena_alloc(&d->arena, corners, sizeof *d->corners);
    d->normal = sup_arena_alloc(&d->arena, (size_t)d->triangle_count, sizeof *d->normal);
    d->renumbered = sup_arena_alloc(&d->arena, vertices, sizeof *d->renumbered);
    d->heap = sup_arena_alloc(&d->arena, vertices, sizeof *d->heap);
    return d->vertices != NULL && d->error != NULL && d->corners != NULL && d->normal != NULL &&
           d->renumbered != NULL && d->heap != NULL;
}

static sup_result extract(const decimation *d, const sup_allocator *allocator, sup_decimated *decimated,
                          sup_error *error)
{
    sup_decimated out = {.allocator = *allocator, .vertex_count = d->live_count};
    for (int32_t t = 0; t < d->triangle_count; t++)
        out.triangle_count += d->corners[3 * (size_t)t].vertex >= 0;
    out.vertices = sup_alloc(allocator, (size_t)out.vertex_count * sizeof *out.vertices);
    out.triangles = sup_alloc(allocator, 3 * (size_t)out.triangle_count * sizeof *out.triangles);
    if (out.vertices == NULL || out.triangles == NULL) {
        sup_decimated_free(&out);
        return sup_fail_memory(error, "the coarse mesh");
    }
    int32_t vertices = 0, corners = 0;
    for (int32_t v = 0; v < d->vertex_count; v++) {
        if (d->vertices[v].first < 0) continue;
        out.vertices[vertices] = v;
        d->renumbered[v] = vertices++;
    }
    for (int32_t t = 0; t < d->triangle_count; t++)
        for (int32_t k = 0; k < 3 && d->corners[3 * (size_t)t].vertex >= 0; k++)
            out.triangles[corners++] = d->renumbered[d->corners[3 * (size_t)t + (size_t)k].vertex];
    *decimated = out;
    return SUP_OK;
}

sup_result sup_decimate(const sup_context *context, int32_t vertex_count, const float *positions,
                        int32_t triangle_count, const int32_t *triangles, const sup_decimate_def *def,
                        sup_decimated *decimated, sup_error *error)
{
    sup_context resolved = sup_context_resolve(context);
    sup_adjacency adjacency;
    sup_result result = check_input(vertex_count, triangle_count, triangles, def, error);
    if (result == SUP_OK)
        result = sup_adjacency_create(&resolved.allocator, vertex_count, triangle_count, triangles, &adjacency, error);
    if (result != SUP_OK) return result;
    decimation d = {.vertex_count = vertex_count, .triangle_count = triangle_count};
    d.arena = sup_arena_create(&resolved.allocator);
    d.aspect_limit = def->aspect_limit > 0.0 ? def->aspect_limit : 5.0;
    bool ok = reserve(&d);
    if (ok) {
        for (int32_t v = 0; v < vertex_count; v++) /* an importance of 0 must preserve the order of costs */
            d.vertices[v].importance = def->importance != NULL ? fmax((double)def->importance[v], 1e-9) : 1.0;
        scale_positions(&d, positions);
        double evenness = def->evenness == 0.0 ? 0.02 : fmax(def->evenness, 0.0);
        make_quadrics(&d, &adjacency, evenness);
        fix_vertices(&d, &adjacency);
    }
    sup_adjacency_destroy(&adjacency);
    if (ok) {
        decimate_to(&d, def->vertex_target);
        result = extract(&d, &resolved.allocator, decimated, error);
    } else {
        result = sup_fail_memory(error, "decimating the mesh");
    }
    sup_arena_destroy(&d.arena);
    return result;
}

void sup_decimated_free(sup_decimated *decimated)
{
    sup_free(&decimated->allocator, decimated->vertices, (size_t)decimated->vertex_count * sizeof(int32_t));
    sup_free(&decimated->allocator, decimated->triangles, 3 * (size_t)decimated->triangle_count * sizeof(int32_t));
    *decimated = (sup_decimated){.allocator = decimated->allocator};
}

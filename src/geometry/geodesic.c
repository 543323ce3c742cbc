/* geodesic.c - wavefront propagation over a triangle mesh from source vertices, nearest first.
 *
 * Based on: [kimmel1998], fast marching: a front passes through a triangle from an edge to the third corner.
 *
 * Deviations:
 * - The front is circular, not straight [novotni2002]: the two distances at an edge determine a virtual source in the
 *   plane of the triangle; the third corner gets its distance from that source if it is visible through the edge. That
 *   is exact on developable surfaces; a straight front has an error of 5 to 10 % within the few edges needed here.
 * - A vertex whose distance decreases after it was processed is processed again. Fast marching must split obtuse
 *   triangles instead.
 *
 * The k nearest of many sources: a source that is among the k nearest of a vertex is so on the whole shortest path to
 * it. So the front of a source is limited to the vertices with d <= bound(v) = min over sources c of R(c) + d(c, v),
 * where R(c) is an upper bound of the distance from c within which there are k sources. Sources are processed in
 * parallel, and their results are merged in order. */
#include "geometry/geodesic.h"
#include "geometry/adjacency.h"
#include "math/vec3.h"

enum { BATCH_MAX = 128, BATCH_MIN = 8, BATCH_ENTRIES = 1 << 20, SOURCE_GRAIN = 4 };

static const double BOUND_SLACK = 1.02;  /* tolerance of the triangle inequality: distances are not exact */
static const double WORTH_A_TURN = 1e-7; /* smallest relative decrease of a distance that is propagated */

/* Beyond the bound a front is followed for one more ring of triangles, and where they are thin for so many edges: a
 * path between thin triangles has their corners far beside it. */
static const double NARROW = 4.0;       /* edges */
static const double WELL_SHAPED = 0.25; /* smallest height of the triangles at a vertex, in longest edges */

/* The triangle of a half-edge from a to b, flattened: a at the origin, b at (length, 0), the third corner c. */
typedef struct flat_triangle {
    double length, x, y; /* y >= 0 */
} flat_triangle;

/* A triangle at a vertex with its other two corners, flattened along the half-edges at the vertex. */
typedef struct fan_triangle {
    flat_triangle to_b, from_c;
    int32_t b, c;
} fan_triangle;

typedef struct surface {
    sup_adjacency adjacency;
    const float *positions;
    fan_triangle *fan; /* [triangle_count*3] in the order of adjacency.vertex_halves */
    double *longest;   /* [vertex_count] edge at a vertex */
} surface;

/* Distances up to which the vertices are expanded. */
typedef struct reaches {
    double *bound;  /* [vertex_count] of the distances that are wanted */
    double *near;   /* [vertex_count] when the front comes from a vertex within its bound */
    double *beyond; /* [vertex_count] when it comes from another */
} reaches;

typedef struct heap_item {
    double distance;
    int32_t vertex;
} heap_item;

/* A wavefront. */
typedef struct front {
    double *distance;      /* INFINITY: not reached */
    const reaches *within; /* NULL: no limit */
    const double *limit;   /* distance up to which a vertex is expanded, one of `within`; NULL: any */
    int32_t *label;        /* source of each distance; NULL if there is only one source */
    int32_t *slot;         /* index in the heap, -1: not in it */
    heap_item *heap;       /* by distance, then vertex */
    int32_t heap_count;
    int32_t *reached, reached_count; /* vertices in the order of their first distance */
    bool along_edges;                /* do not cross triangles */
} front;

/* --- Heap --- */
static bool is_nearer(heap_item a, heap_item b)
{
    return a.distance < b.distance || (a.distance == b.distance && a.vertex < b.vertex);
}

static void set_slot(front *f, int32_t at, heap_item item)
{
    f->heap[at] = item;
    f->slot[item.vertex] = at;
}

static void sift_up(front *f, int32_t at, heap_item item)
{
    while (at > 0 && is_nearer(item, f->heap[(at - 1) / 2])) {
        set_slot(f, at, f->heap[(at - 1) / 2]);
        at = (at - 1) / 2;
    }
    set_slot(f, at, item);
}

static int32_t take_nearest(front *f)
{
    int32_t nearest = f->heap[0].vertex, count = --f->heap_count, at = 0;
    heap_item last = f->heap[count];
    f->slot[nearest] = -1;
    if (count == 0) return nearest;
    for (;;) {
        int32_t child = 2 * at + 1;
        if (child >= count) break;
        child += child + 1 < count && is_nearer(f->heap[child + 1], f->heap[child]);
        if (!is_nearer(f->heap[child], last)) break;
        set_slot(f, at, f->heap[child]);
        at = child;
    }
    set_slot(f, at, last);
    return nearest;
}

/* --- Front --- */
static void start_front(front *f)
{
    for (int32_t i = 0; i < f->reached_count; i++) {
        f->distance[f->reached[i]] = INFINITY;
        f->slot[f->reached[i]] = -1;
    }
    f->heap_count = 0;
    f->reached_count = 0;
}

static bool is_known(const front *f, int32_t v)
{
    return f->distance[v] < INFINITY;
}

static void set_distance(front *f, int32_t v, double distance, int32_t label)
{
    if (!is_known(f, v)) f->reached[f->reached_count++] = v;
    f->distance[v] = distance;
    if (f->label != NULL) f->label[v] = label;
    if (f->limit != NULL && distance > f->limit[v]) return; /* it is in the heap only with smaller distances */
    sift_up(f, f->slot[v] >= 0 ? f->slot[v] : f->heap_count++, (heap_item){distance, v});
}

static void offer(front *f, int32_t v, double distance, int32_t label)
{
    if (distance < f->distance[v] * (1.0 - WORTH_A_TURN)) set_distance(f, v, distance, label);
}

/* Squared distance of the third corner from a virtual source at distances `da` and `db` from the ends of the edge, on
 * its other side; INFINITY if the corner is not visible through the edge. */
static inline double cross_triangle(const flat_triangle *t, double da, double db)
{
    double x = 0.5 * (t->length + (da - db) * (da + db) / t->length);
    double square = (da - x) * (da + x);
    if (!(square > 0.0)) return INFINITY;
    double y = sqrt(square), rise = t->y + y;
    double seen = x * t->y + t->x * y; /* intersection of the line of sight with the edge, times its rise */
    if (seen < 0.0 || seen > t->length * rise) return INFINITY;
    return (t->x - x) * (t->x - x) + rise * rise;
}

/* The distance of c across an edge whose ends have the distances da and db, if it is less than `known`; else `known`.
 * A line of sight crosses the edge at a point p: from the source to p it is at least da - |ap| and db - |pb| long, from
 * p to c at least the height of the triangle. */
static inline double across(const flat_triangle *t, double da, double db, double known)
{
    if (0.5 * (da + db - t->length) + t->y >= known) return known;
    double square = cross_triangle(t, da, db);
    return square < known * known ? sqrt(square) : known;
}

/* Offers a distance to v, whose distance is `known`. Returns the distance of v. */
static inline double offer_known(front *f, int32_t v, double distance, double known, int32_t label)
{
    if (!(distance < known * (1.0 - WORTH_A_TURN))) return known;
    set_distance(f, v, distance, label);
    return distance;
}

static void expand(front *f, const surface *s, int32_t v)
{
    const double *distance = f->distance, own = distance[v];
    const int32_t *labels = f->label;
    int32_t label = labels != NULL ? labels[v] : 0;
    if (f->within != NULL) f->limit = own > f->within->bound[v] ? f->within->beyond : f->within->near;
    const fan_triangle *end = s->fan + s->adjacency.vertex_first[v + 1];
    for (const fan_triangle *t = s->fan + s->adjacency.vertex_first[v]; t < end; t++) {
        double db = distance[t->b], dc = distance[t->c];
        bool knows_b = db < INFINITY, knows_c = dc < INFINITY;
        db = offer_known(f, t->b, own + t->to_b.length, db, label);
        dc = offer_known(f, t->c, own + t->from_c.length, dc, label);
        if (f->along_edges) continue;
        if (knows_b && (labels == NULL || labels[t->b] == label))
            dc = offer_known(f, t->c, across(&t->to_b, own, db, dc), dc, label);
        if (knows_c && (labels == NULL || labels[t->c] == label))
            offer_known(f, t->b, across(&t->from_c, dc, own, db), db, label);
    }
}

/* Propagates until no vertex is left within reach or `sources_wanted` marked vertices are processed. */
static void run_front(front *f, const surface *s, const int32_t *source_of, int32_t sources_wanted)
{
    int32_t found = 0;
    while (f->heap_count > 0) {
        int32_t v = take_nearest(f);
        if (source_of != NULL && source_of[v] >= 0 && ++found > sources_wanted) return;
        expand(f, s, v);
    }
}

static bool reserve_front(sup_arena *arena, int32_t vertex_count, bool labelled, front *f)
{
    size_t count = (size_t)vertex_count;
    *f = (front){0};
    f->distance = sup_arena_alloc(arena, count, sizeof *f->distance);
    f->slot = sup_arena_alloc(arena, count, sizeof *f->slot);
    f->heap = sup_arena_alloc(arena, count, sizeof *f->heap);
    f->reached = sup_arena_alloc(arena, count, sizeof *f->reached);
    if (labelled) f->label = sup_arena_alloc(arena, count, sizeof *f->label);
    bool ok = f->distance != NULL && f->slot != NULL && f->heap != NULL && f->reached != NULL &&
              (f->label != NULL || !labelled);
    for (size_t v = 0; ok && v < count; v++) {
        f->distance[v] = INFINITY;
        f->slot[v] = -1;
    }
    return ok;
}

/* --- Surface --- */
static sup_vec3d surface_point(const surface *s, int32_t vertex)
{
    return sup_v3_load(s->positions + 3 * (size_t)vertex);
}

static flat_triangle lay_flat(sup_vec3d a, sup_vec3d b, sup_vec3d c)
{
    sup_vec3d ab = sup_v3_sub(b, a), ac = sup_v3_sub(c, a);
    flat_triangle flat = {sup_v3_length(ab), 0.0, sup_v3_length(ac)};
    if (flat.length > 0.0) {
        flat.x = sup_v3_dot(ab, ac) / flat.length;
        flat.y = sup_v3_length(sup_v3_cross(ab, ac)) / flat.length;
    }
    return flat;
}

static sup_result create_surface(const sup_allocator *allocator, const sup_geodesic_mesh *mesh, int32_t source_count,
                                 const int32_t *sources, surface *s, sup_error *error)
{
    for (int32_t i = 0; i < source_count; i++)
        if (sources[i] < 0 || sources[i] >= mesh->vertex_count)
            return sup_fail(error, SUP_ERROR_ARGUMENT, "geodesic.source", "", "Source %d is not a vertex of the mesh.",
                            i);
    sup_result result = sup_adjacency_create(allocator, mesh->vertex_count, mesh->triangle_count, mesh->triangles,
                                             &s->adjacency, error);
    if (result != SUP_OK) return result;
    s->positions = mesh->positions;
    s->fan = sup_arena_alloc(&s->adjacency.arena, 3 * (size_t)mesh->triangle_count, sizeof *s->fan);
    s->longest = sup_arena_alloc(&s->adjacency.arena, (size_t)mesh->vertex_count, sizeof *s->longest);
    if (s->fan == NULL || s->longest == NULL) {
        sup_adjacency_destroy(&s->adjacency);
        return sup_fail_memory(error, "geodesic distances");
    }
    for (int32_t v = 0; v < mesh->vertex_count; v++)
        for (int32_t i = s->adjacency.vertex_first[v]; i < s->adjacency.vertex_first[v + 1]; i++) {
            int32_t half = s->adjacency.vertex_halves[i];
            int32_t b = mesh->triangles[sup_half_next(half)], c = mesh->triangles[sup_half_previous(half)];
            sup_vec3d p[3] = {surface_point(s, v), surface_point(s, b), surface_point(s, c)};
            s->fan[i] = (fan_triangle){lay_flat(p[0], p[1], p[2]), lay_flat(p[2], p[0], p[1]), b, c};
            s->longest[v] = fmax(s->longest[v], fmax(s->fan[i].to_b.length, s->fan[i].from_c.length));
        }
    return SUP_OK;
}

sup_result sup_geodesic_distance(const sup_context *context, const sup_geodesic_mesh *mesh, int32_t source_count,
                                 const int32_t *sources, double *distance, int32_t *nearest, sup_error *error)
{
    sup_context resolved = sup_context_resolve(context);
    surface s;
    front f;
    sup_result result = create_surface(&resolved.allocator, mesh, source_count, sources, &s, error);
    if (result != SUP_OK) return result;
    if (reserve_front(&s.adjacency.arena, mesh->vertex_count, true, &f)) {
        start_front(&f);
        for (int32_t i = 0; i < source_count; i++)
            offer(&f, sources[i], 0.0, i);
        run_front(&f, &s, NULL, 0);
        for (int32_t v = 0; v < mesh->vertex_count; v++) {
            distance[v] = f.distance[v];
            if (nearest != NULL) nearest[v] = is_known(&f, v) ? f.label[v] : -1;
        }
    } else {
        result = sup_fail_memory(error, "geodesic distances");
    }
    sup_adjacency_destroy(&s.adjacency);
    return result;
}

/* --- Nearest sources --- */
typedef struct entry {
    int32_t vertex;
    float distance;
} entry;

typedef struct nearest_work {
    surface surface;
    int32_t source_count, count;
    const int32_t *sources;
    int32_t *source_of; /* [vertex_count] source at a vertex, -1 for none */
    reaches within;
    front *fronts; /* [worker_count] */
    int32_t batch_first, capacity;
    entry *entries;       /* [batch * capacity] */
    int32_t *entry_count; /* [batch] of a source; -1: more than the capacity */
    int32_t *nearest;     /* results, the caller's */
    float *distance;
    sup_arena arena;
} nearest_work;

/* Graph with edges between sources whose Voronoi cells are adjacent; edge lengths are lengths of surface paths. */
typedef struct source_graph {
    int32_t *first, *target;
    double *length;
} source_graph;

static bool create_graph(nearest_work *w, const front *cells, source_graph *graph)
{
    const sup_adjacency *a = &w->surface.adjacency;
    int32_t sources = w->source_count, edges = 0;
    graph->first = sup_arena_alloc(&w->arena, (size_t)sources + 2, sizeof *graph->first);
    if (graph->first == NULL) return false;
    for (int32_t pass = 0; pass < 2; pass++) {
        for (int32_t e = 0; e < a->edge_count; e++) {
            int32_t u = a->edge_vertices[2 * e], v = a->edge_vertices[2 * e + 1];
            if (!is_known(cells, u) || !is_known(cells, v) || cells->label[u] == cells->label[v]) continue;
            double length = cells->distance[u] + cells->distance[v];
            length += sup_v3_distance(surface_point(&w->surface, u), surface_point(&w->surface, v));
            for (int32_t k = 0; k < 2; k++) {
                int32_t from = cells->label[k == 0 ? u : v], to = cells->label[k == 0 ? v : u];
                if (pass == 0) {
                    graph->first[from + 2]++;
                    edges++;
                } else {
                    int32_t at = graph->first[from + 1]++;
                    graph->target[at] = to;
                    graph->length[at] = length;
                }
            }
        }
        if (pass == 1) break;
        for (int32_t i = 1; i <= sources; i++)
            graph->first[i + 1] += graph->first[i];
        graph->target = sup_arena_alloc(&w->arena, (size_t)edges, sizeof *graph->target);
        graph->length = sup_arena_alloc(&w->arena, (size_t)edges, sizeof *graph->length);
        if (graph->target == NULL || graph->length == NULL) return false;
    }
    return true;
}

/* Graph distance from a source within which there are `count` sources, including itself. */
static double graph_radius(const source_graph *graph, front *f, int32_t source, int32_t count)
{
    start_front(f);
    offer(f, source, 0.0, 0);
    for (int32_t found = 1; f->heap_count > 0; found++) {
        int32_t at = take_nearest(f);
        if (found == count) return f->distance[at];
        for (int32_t i = graph->first[at]; i < graph->first[at + 1]; i++)
            offer(f, graph->target[i], f->distance[at] + graph->length[i], 0);
    }
    return INFINITY;
}

static bool is_well_shaped(const surface *s, int32_t v)
{
    double lowest = INFINITY;
    for (int32_t i = s->adjacency.vertex_first[v]; i < s->adjacency.vertex_first[v + 1]; i++)
        lowest = fmin(lowest, fmin(s->fan[i].to_b.y, s->fan[i].from_c.y));
    return lowest > WELL_SHAPED * s->longest[v];
}

static bool make_bounds(nearest_work *w)
{
    front cells, ways;
    source_graph graph;
    int32_t vertices = w->surface.adjacency.vertex_count;
    double *radius = sup_arena_alloc(&w->arena, (size_t)w->source_count, sizeof *radius);
    if (radius == NULL || !reserve_front(&w->arena, vertices, true, &cells) ||
        !reserve_front(&w->arena, vertices, false, &ways))
        return false;
    start_front(&cells);
    for (int32_t i = 0; i < w->source_count; i++)
        offer(&cells, w->sources[i], 0.0, i);
    run_front(&cells, &w->surface, NULL, 0);
    if (!create_graph(w, &cells, &graph)) return false;
    for (int32_t i = 0; i < w->source_count; i++)
        radius[i] = graph_radius(&graph, &ways, i, w->count);
    ways.along_edges = true;
    start_front(&ways);
    for (int32_t i = 0; i < w->source_count; i++)
        if (radius[i] < INFINITY) offer(&ways, w->sources[i], radius[i], 0);
    run_front(&ways, &w->surface, NULL, 0);
    for (int32_t v = 0; v < vertices; v++) {
        w->within.bound[v] = ways.distance[v] * BOUND_SLACK;
        w->within.near[v] = fmax(w->within.bound[v], NARROW * w->surface.longest[v]);
        w->within.beyond[v] = is_well_shaped(&w->surface, v) ? w->within.bound[v] : w->within.near[v];
    }
    return true;
}

/* Vertices that one source reaches within the bounds; -1 if they exceed the capacity. */
static int32_t run_source(const nearest_work *w, front *f, int32_t source, int32_t capacity, entry *entries)
{
    int32_t count = 0;
    start_front(f);
    f->within = &w->within;
    f->limit = NULL;
    offer(f, w->sources[source], 0.0, 0);
    run_front(f, &w->surface, NULL, 0);
    for (int32_t i = 0; i < f->reached_count; i++) {
        int32_t v = f->reached[i];
        if (f->distance[v] > w->within.bound[v]) continue;
        if (count == capacity) return -1;
        entries[count++] = (entry){v, (float)f->distance[v]};
    }
    return count;
}

static void run_sources(void *work, int32_t begin, int32_t end, int32_t worker)
{
    const nearest_work *w = work;
    for (int32_t i = begin; i < end; i++)
        w->entry_count[i] = run_source(w, &w->fronts[worker], w->batch_first + i, w->capacity,
                                       w->entries + (size_t)i * (size_t)w->capacity);
}

/* Inserts a source into the sorted list of a vertex. */
static void insert(nearest_work *w, int32_t source, entry item)
{
    int32_t *nearest = w->nearest + (size_t)item.vertex * (size_t)w->count;
    float *distance = w->distance + (size_t)item.vertex * (size_t)w->count;
    int32_t at = w->count - 1;
    if (!(item.distance < distance[at])) return;
    for (; at > 0 && distance[at - 1] > item.distance; at--) {
        distance[at] = distance[at - 1];
        nearest[at] = nearest[at - 1];
    }
    distance[at] = item.distance;
    nearest[at] = source;
}

/* From a vertex to its sources: for the few vertices whose list is incomplete within the bounds. */
static void search_from(nearest_work *w, front *f, int32_t vertex)
{
    for (int32_t k = 0; k < w->count; k++)
        w->distance[(size_t)vertex * (size_t)w->count + (size_t)k] = INFINITY;
    start_front(f);
    f->within = NULL;
    f->limit = NULL;
    offer(f, vertex, 0.0, 0);
    run_front(f, &w->surface, w->source_of, w->count);
    for (int32_t i = 0; i < f->reached_count; i++) {
        int32_t source = w->source_of[f->reached[i]];
        if (source >= 0) insert(w, source, (entry){vertex, (float)f->distance[f->reached[i]]});
    }
}

static void find_nearest(const sup_context *context, nearest_work *w, int32_t batch, entry *overflow)
{
    int32_t vertices = w->surface.adjacency.vertex_count;
    for (w->batch_first = 0; w->batch_first < w->source_count; w->batch_first += batch) {
        int32_t left = w->source_count - w->batch_first, count = left < batch ? left : batch;
        sup_parallel(context, count, SOURCE_GRAIN, run_sources, w);
        for (int32_t i = 0; i < count; i++) {
            const entry *entries = w->entries + (size_t)i * (size_t)w->capacity;
            int32_t found = w->entry_count[i];
            if (found < 0) {
                found = run_source(w, &w->fronts[0], w->batch_first + i, vertices, overflow);
                entries = overflow;
            }
            for (int32_t k = 0; k < found; k++)
                insert(w, w->batch_first + i, entries[k]);
        }
    }
    for (int32_t v = 0; v < vertices; v++) {
        bool is_short = w->nearest[(size_t)v * (size_t)w->count + (size_t)w->count - 1] < 0;
        if (is_short && w->within.bound[v] < INFINITY) search_from(w, &w->fronts[0], v);
    }
}

static int32_t entry_capacity(const nearest_work *w)
{
    int64_t vertices = w->surface.adjacency.vertex_count;
    int64_t capacity = 8 * w->count * (vertices / (w->source_count + 1) + 1) + 256;
    return (int32_t)(capacity < vertices ? capacity : vertices);
}

sup_result sup_geodesic_nearest(const sup_context *context, const sup_geodesic_mesh *mesh, int32_t source_count,
                                const int32_t *sources, int32_t count, int32_t *nearest, float *distance,
                                sup_error *error)
{
    sup_context resolved = sup_context_resolve(context);
    nearest_work w = {.source_count = source_count, .count = count, .sources = sources};
    w.nearest = nearest;
    w.distance = distance;
    for (size_t i = 0; i < (size_t)mesh->vertex_count * (size_t)count; i++) {
        nearest[i] = -1;
        distance[i] = INFINITY;
    }
    if (source_count == 0 || count == 0 || mesh->vertex_count == 0) return SUP_OK;
    sup_result result = create_surface(&resolved.allocator, mesh, source_count, sources, &w.surface, error);
    if (result != SUP_OK) return result;
    size_t vertices = (size_t)mesh->vertex_count, workers = (size_t)resolved.tasks.worker_count;
    w.arena = sup_arena_create(&resolved.allocator);
    w.capacity = entry_capacity(&w);
    int32_t batch = BATCH_ENTRIES / w.capacity;
    batch = batch < BATCH_MIN ? BATCH_MIN : (batch > BATCH_MAX ? BATCH_MAX : batch);
    w.source_of = sup_arena_alloc(&w.arena, vertices, sizeof *w.source_of);
    w.within.bound = sup_arena_alloc(&w.arena, vertices, sizeof(double));
    w.within.near = sup_arena_alloc(&w.arena, vertices, sizeof(double));
    w.within.beyond = sup_arena_alloc(&w.arena, vertices, sizeof(double));
    w.fronts = sup_arena_alloc(&w.arena, workers, sizeof *w.fronts);
    w.entries = sup_arena_alloc(&w.arena, (size_t)batch * (size_t)w.capacity, sizeof *w.entries);
    w.entry_count = sup_arena_alloc(&w.arena, (size_t)batch, sizeof *w.entry_count);
    entry *overflow = sup_arena_alloc(&w.arena, vertices, sizeof *overflow);
    bool ok = w.source_of != NULL && w.within.bound != NULL && w.within.near != NULL && w.within.beyond != NULL &&
              w.fronts != NULL && w.entries != NULL && w.entry_count != NULL && overflow != NULL;
    for (size_t i = 0; ok && i < workers; i++)
        ok = reserve_front(&w.arena, mesh->vertex_count, false, &w.fronts[i]);
    if (ok) {
        for (size_t v = 0; v < vertices; v++)
            w.source_of[v] = -1;
        for (int32_t i = 0; i < source_count; i++)
            w.source_of[sources[i]] = i;
        ok = make_bounds(&w);
    }
    if (ok) find_nearest(&resolved, &w, batch, overflow);
    sup_arena_destroy(&w.arena);
    sup_adjacency_destroy(&w.surface.adjacency);
    return ok ? SUP_OK : sup_fail_memory(error, "geodesic distances");
}

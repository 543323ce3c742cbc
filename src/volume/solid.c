/* solid.c - orientation of shells, signed distance, and thickness measured by rays. */
#include "volume/solid.h"

#include "geometry/adjacency.h"
#include "geometry/normals.h"

enum { TRIANGLE_GRAIN = 128, SUBDIVISION_MAX = 32 };
/* Maximum number of triangles visited to find a path along the surface, and the capacity of their hash table. Longer
 * walks count as connected. */
enum { WALK_MAX = 2048, WALK_CAPACITY = 4096 };

static const double inside_winding = 0.5;
static const double nearly_closed = 0.1; /* maximum length of the sum of all normals, relative to the area */
static const double layer = 0.1;         /* of the spacing: closer surfaces are merged */
static const double touching = 1e-3;     /* of the spacing: narrower gaps are ignored */
static const double narrow = 0.5;        /* of the reach: wider gaps contain vertices anyway */
static const double around_gap =
    5.0; /* in spacings, or in gap widths: sides connected within this radius are neighbours */

static sup_vec3d corner(const sup_solid *solid, int32_t triangle, int k)
{
    return sup_v3_load(solid->positions + 3 * (size_t)solid->triangles[3 * (size_t)triangle + (size_t)k]);
}

/* Copies the triangles that have three distinct corners. */
static bool copy_triangles(sup_solid *solid, int32_t count, const int32_t *triangles)
{
    solid->triangles = sup_arena_alloc(&solid->arena, 3 * (size_t)count, sizeof *solid->triangles);
    solid->triangle_source = sup_arena_alloc(&solid->arena, (size_t)count, sizeof *solid->triangle_source);
    if (solid->triangles == NULL || solid->triangle_source == NULL) return false;
    for (int32_t t = 0; t < count; t++) {
        const int32_t *c = triangles + 3 * (size_t)t;
        if (c[0] == c[1] || c[1] == c[2] || c[2] == c[0]) continue;
        memcpy(solid->triangles + 3 * (size_t)solid->triangle_count, c, 3 * sizeof *c);
        solid->triangle_source[solid->triangle_count++] = t;
    }
    return true;
}

static void find_box(sup_solid *solid)
{
    double low[3] = {INFINITY, INFINITY, INFINITY}, high[3] = {-INFINITY, -INFINITY, -INFINITY};
    for (size_t i = 0; i < 3 * (size_t)solid->triangle_count; i++)
        for (int k = 0; k < 3; k++) {
            double x = (double)solid->positions[3 * (size_t)solid->triangles[i] + (size_t)k];
            low[k] = fmin(low[k], x);
            high[k] = fmax(high[k], x);
        }
    solid->lower = sup_v3(low[0], low[1], low[2]);
    solid->upper = sup_v3(high[0], high[1], high[2]);
}

/* Flips the shells whose volume about their centroid is negative; shells that are wide open have no meaningful
 * volume. */
static bool orient_shells(sup_solid *solid, int32_t vertex_count)
{
    solid->component = sup_arena_alloc(&solid->arena, (size_t)vertex_count, sizeof *solid->component);
    if (solid->component == NULL) return false;
    solid->component_count =
        sup_mesh_components(vertex_count, solid->triangle_count, solid->triangles, solid->component);
    size_t shells = (size_t)solid->component_count;
    sup_vec3d *middle = sup_arena_alloc(&solid->arena, shells, sizeof *middle);
    double *area = sup_arena_alloc(&solid->arena, shells, sizeof *area);
    double *volume = sup_arena_alloc(&solid->arena, shells, sizeof *volume);
    sup_vec3d *open = sup_arena_alloc(&solid->arena, shells, sizeof *open); /* zero for a closed surface */
    if (middle == NULL || area == NULL || volume == NULL || open == NULL) return false;
    for (int pass = 0; pass < 2; pass++)
        for (int32_t t = 0; t < solid->triangle_count; t++) {
            int32_t shell = solid->component[solid->triangles[3 * (size_t)t]];
            sup_vec3d cross = sup_triangle_cross(solid->positions, solid->triangles + 3 * (size_t)t);
            sup_vec3d sum = sup_v3_add(sup_v3_add(corner(solid, t, 0), corner(solid, t, 1)), corner(solid, t, 2));
            double size = sup_v3_length(cross);
            if (pass == 0) {
                middle[shell] = sup_v3_madd(middle[shell], size / 3.0, sum);
                area[shell] += size;
                open[shell] = sup_v3_add(open[shell], cross);
            } else if (area[shell] > 0.0) {
                sup_vec3d from = sup_v3_scale(middle[shell], 1.0 / area[shell]);
                volume[shell] += sup_v3_dot(cross, sup_v3_sub(sup_v3_scale(sum, 1.0 / 3.0), from));
            }
        }
    for (size_t i = 0; i < shells; i++) {
        if (sup_v3_length(open[i]) > nearly_closed * area[i]) volume[i] = 0.0;
        solid->flipped += volume[i] < 0.0;
    }
    for (int32_t t = 0; t < solid->triangle_count; t++) {
        int32_t *c = solid->triangles + 3 * (size_t)t;
        if (!(volume[solid->component[c[0]]] < 0.0)) continue;
        int32_t kept = c[1];
        c[1] = c[2];
        c[2] = kept;
    }
    return true;
}

static sup_result build(const sup_context *context, sup_solid *solid, int32_t vertex_count, int32_t triangle_count,
                        const int32_t *triangles, sup_error *error)
{
    if (!copy_triangles(solid, triangle_count, triangles) || !orient_shells(solid, vertex_count))
        return sup_fail_memory(error, "the inside of a skin");
    find_box(solid);
    sup_result result = sup_winding_create(&context->allocator, solid->positions, solid->triangle_count,
                                           solid->triangles, &solid->winding, error);
    if (result != SUP_OK) return result;
    if (!(solid->winding.area > 0.0))
        return sup_fail(error, SUP_ERROR_DATA, "solid.empty", "",
                        "The skin has no triangle with an area: there is no inside to fill.");
    return sup_bvh_create(context, solid->positions, solid->triangle_count, solid->triangles, &solid->bvh, error);
}

sup_result sup_solid_create(const sup_context *context, int32_t vertex_count, const float *positions,
                            int32_t triangle_count, const int32_t *triangles, sup_solid *solid, sup_error *error)
{
    sup_solid made = {.vertex_count = vertex_count, .positions = positions};
    made.arena = sup_arena_create(&context->allocator);
    sup_result result = build(context, &made, vertex_count, triangle_count, triangles, error);
    if (result != SUP_OK) {
        sup_solid_free(&made);
        return result;
    }
    *solid = made;
    return SUP_OK;
}

void sup_solid_free(sup_solid *solid)
{
    if (solid->bvh.nodes != NULL) sup_bvh_free(&solid->bvh);
    if (solid->winding.nodes != NULL) sup_winding_destroy(&solid->winding);
    sup_arena_destroy(&solid->arena);
    memset(solid, 0, sizeof *solid);
}

static bool is_inside(const sup_solid *solid, sup_vec3d p)
{
    return sup_winding_number(&solid->winding, p) > inside_winding;
}

sup_solid_nearest sup_solid_distance(const sup_solid *solid, sup_vec3d p, double limit)
{
    sup_bvh_nearest at = sup_bvh_closest(&solid->bvh, p, limit);
    double distance = at.triangle >= 0 ? at.distance : limit;
    sup_solid_nearest nearest = {is_inside(solid, p) ? -distance : distance, at.triangle};
    return nearest;
}

/* --- Thickness --- */
typedef struct measuring {
    sup_solid *solid;
    double spacing, reach;
    int32_t *first;            /* [triangle_count+1] samples of a triangle are [first, next) */
    sup_solid_sample *samples; /* of all triangles; thickness INFINITY beyond reach */
    sup_solid_sample *gaps;    /* the same for the outside */
    sup_adjacency around;
} measuring;

typedef struct crossing {
    const sup_solid *solid;
    sup_vec3d origin, direction;
    double step; /* offset beyond a hit before the next ray */
} crossing;

static bool inside_ends(void *user, const sup_bvh_hit *hit)
{
    const crossing *c = user;
    return hit->facing > 0 && !is_inside(c->solid, sup_v3_madd(c->origin, hit->t + c->step, c->direction));
}

static int32_t subdivisions(const measuring *m, int32_t t)
{
    double longest = 0.0;
    for (int k = 0; k < 3; k++)
        longest = fmax(longest, sup_v3_distance(corner(m->solid, t, k), corner(m->solid, t, (k + 1) % 3)));
    double count = ceil(longest / m->spacing);
    return count < 1.0 ? 1 : count > SUBDIVISION_MAX ? SUBDIVISION_MAX : (int32_t)count;
}

/* Distance from a point of the surface to the end of the inside; INFINITY beyond reach, and where there is no
 * inside. */
static double measure_point(const measuring *m, sup_vec3d p, sup_vec3d normal)
{
    double step = layer * m->spacing;
    crossing c = {m->solid, p, sup_v3_scale(normal, -1.0), step};
    sup_bvh_ray ray = {p, c.direction, step, m->reach, inside_ends, &c};
    sup_bvh_hit hit;
    if (!sup_bvh_ray_first(&m->solid->bvh, &ray, &hit)) return INFINITY;
    return is_inside(m->solid, sup_v3_madd(p, 0.5 * hit.t, c.direction)) ? hit.t : INFINITY;
}

static bool gap_ends(void *user, const sup_bvh_hit *hit)
{
    SUP_UNUSED(user);
    return hit->facing < 0;
}

/* Triangles visited on a walk over the surface, in a hash table. */
typedef struct walk {
    int32_t seen[WALK_MAX], count, slot[WALK_CAPACITY];
} walk;

/* Marks a triangle as visited; returns false if the table is full. */
static bool add_visited(walk *w, int32_t triangle)
{
    uint32_t at = (uint32_t)triangle * 2654435769u % WALK_CAPACITY;
    while (w->slot[at] >= 0 && w->seen[w->slot[at]] != triangle)
        at = (at + 1) % WALK_CAPACITY;
    if (w->slot[at] >= 0) return true;
    if (w->count == WALK_MAX) return false;
    w->slot[at] = w->count;
    w->seen[w->count++] = triangle;
    return true;
}

/* Whether the surface connects two of its triangles within a sphere: the path crosses edges inside of it. */
static bool joined(const measuring *m, int32_t from, int32_t to, sup_vec3d middle, double radius)
{
    walk w;
    w.count = 0;
    memset(w.slot, 0xff, sizeof w.slot);
    add_visited(&w, from);
    for (int32_t i = 0; i < w.count; i++)
        for (int k = 0; k < 3; k++) {
            sup_vec3d a = corner(m->solid, w.seen[i], k), b = corner(m->solid, w.seen[i], (k + 1) % 3);
            sup_vec3d near = sup_v3_lerp(a, b, sup_v3_segment_parameter(middle, a, b));
            if (sup_v3_distance(near, middle) > radius) continue;
            int32_t edge = m->around.half_edge[3 * w.seen[i] + k];
            for (int32_t h = m->around.edge_first[edge]; h < m->around.edge_first[edge + 1]; h++) {
                int32_t next = m->around.edge_halves[h] / 3;
                if (next == to || !add_visited(&w, next)) return true;
            }
        }
    return false;
}

/* Distance from a point of the surface through the outside to another part of the same shell; INFINITY if there is
 * none. */
static double measure_gap(const measuring *m, int32_t t, sup_vec3d p, sup_vec3d normal)
{
    const sup_solid *solid = m->solid;
    sup_bvh_ray ray = {p, normal, touching * m->spacing, narrow * m->reach, gap_ends, NULL};
    sup_bvh_hit hit;
    if (!sup_bvh_ray_first(&solid->bvh, &ray, &hit)) return INFINITY;
    sup_vec3d middle = sup_v3_madd(p, 0.5 * hit.t, normal);
    if (solid->component[solid->triangles[3 * (size_t)t]] !=
            solid->component[solid->triangles[3 * (size_t)hit.triangle]] ||
        is_inside(solid, middle) || joined(m, t, hit.triangle, middle, fmax(around_gap * m->spacing, hit.t)))
        return INFINITY;
    return hit.t;
}

static void measure_triangles(void *work, int32_t begin, int32_t end, int32_t worker)
{
    measuring *m = work;
    SUP_UNUSED(worker);
    for (int32_t t = begin; t < end; t++) {
        if (m->first[t] == m->first[t + 1]) continue;
        sup_vec3d cross = sup_triangle_cross(m->solid->positions, m->solid->triangles + 3 * (size_t)t);
        sup_vec3d normal = sup_v3_unit_or(cross, sup_v3(0.0, 0.0, 0.0));
        int32_t n = subdivisions(m, t), at = m->first[t];
        sup_vec3d a = corner(m->solid, t, 0);
        sup_vec3d ab = sup_v3_sub(corner(m->solid, t, 1), a), ac = sup_v3_sub(corner(m->solid, t, 2), a);
        for (int32_t i = 0; i < n; i++)
            for (int32_t j = 0; j < 2 * (n - i) - 1; j++) { /* centroids of the small triangles, up and down */
                double third = j % 2 == 0 ? 1.0 / 3.0 : 2.0 / 3.0, column = j / 2; // NOLINT(bugprone-integer-division)
                sup_vec3d p = sup_v3_madd(sup_v3_madd(a, (i + third) / n, ab), (column + third) / n, ac);
                bool flat = !(sup_v3_dot(normal, normal) > 0.0);
                double thickness = flat ? INFINITY : measure_point(m, p, normal);
                double gap = flat ? INFINITY : measure_gap(m, t, p, normal);
                if (thickness < INFINITY)
                    m->samples[at] = (sup_solid_sample){p, sup_v3_madd(p, -0.5 * thickness, normal), thickness};
                else
                    m->samples[at].thickness = INFINITY;
                if (gap < INFINITY)
                    m->gaps[at] = (sup_solid_sample){p, sup_v3_madd(p, 0.5 * gap, normal), gap};
                else
                    m->gaps[at].thickness = INFINITY;
                at++;
            }
    }
}

/* Small triangles share one sample: it goes to the triangle at which the accumulated area reaches a full sample. */
static int64_t count_samples(measuring *m)
{
    int64_t total = 0;
    double area = 0.0, sample_area = m->spacing * m->spacing;
    for (int32_t t = 0; t < m->solid->triangle_count && total <= INT32_MAX; t++) {
        int64_t n = subdivisions(m, t);
        m->first[t] = (int32_t)total;
        area += 0.5 * sup_v3_length(sup_triangle_cross(m->solid->positions, m->solid->triangles + 3 * (size_t)t));
        if (n == 1 && area < sample_area) continue;
        area = 0.0;
        total += n * n;
    }
    if (total <= INT32_MAX) m->first[m->solid->triangle_count] = (int32_t)total;
    return total;
}

/* Keeps the samples within reach. */
static bool keep_samples(sup_solid *solid, sup_solid_sample *all, int64_t total, int32_t *count,
                         sup_solid_sample **kept)
{
    *count = 0;
    for (int64_t i = 0; i < total; i++)
        if (all[i].thickness < INFINITY) all[(*count)++] = all[i];
    *kept = sup_arena_copy(&solid->arena, all, (size_t)*count, sizeof *all);
    return *kept != NULL;
}

sup_result sup_solid_measure(const sup_context *context, sup_solid *solid, double spacing, double reach,
                             sup_error *error)
{
    measuring m = {.solid = solid, .spacing = spacing, .reach = reach};
    sup_result result = sup_adjacency_create(&context->allocator, solid->vertex_count, solid->triangle_count,
                                             solid->triangles, &m.around, error);
    if (result != SUP_OK) return result;
    sup_arena scratch = sup_arena_create(&context->allocator);
    m.first = sup_arena_alloc(&scratch, (size_t)solid->triangle_count + 1, sizeof *m.first);
    bool ok = m.first != NULL;
    int64_t total = ok ? count_samples(&m) : 0;
    ok = ok && total <= INT32_MAX;
    if (ok) {
        m.samples = sup_arena_alloc(&scratch, (size_t)total, sizeof *m.samples);
        m.gaps = sup_arena_alloc(&scratch, (size_t)total, sizeof *m.gaps);
        ok = m.samples != NULL && m.gaps != NULL;
    }
    if (ok) {
        sup_parallel(context, solid->triangle_count, TRIANGLE_GRAIN, measure_triangles, &m);
        ok = keep_samples(solid, m.samples, total, &solid->sample_count, &solid->samples) &&
             keep_samples(solid, m.gaps, total, &solid->gap_count, &solid->gaps);
    }
    sup_arena_destroy(&scratch);
    sup_adjacency_destroy(&m.around);
    return ok ? SUP_OK : sup_fail_memory(error, "the thickness of a skin");
}

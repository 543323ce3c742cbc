/* scan.c - prepares a scan: removes unusable data, estimates its unit from its height, orients its triangles
 * outward. */
#include "anatomy/scan.h"

#include "anatomy/array_store.h"
#include "geometry/adjacency.h"

enum { MAX_CLOUD_POINTS = 60000 };
static const double min_height = 0.5, max_height = 2.5, usual_height = 1.68; /* metres */

static sup_result refuse(sup_error *error, const char *id, const char *message)
{
    return sup_fail(error, SUP_ERROR_DATA, id, "", "%s", message);
}

/* --- Input --- */

static sup_vec3d corner_of(sup_shape s, int32_t v)
{
    const double *p = s.positions + 3 * (size_t)v;
    return sup_v3(p[0], p[1], p[2]);
}

static bool usable(sup_shape s, const int32_t *t)
{
    for (int k = 0; k < 3; k++)
        if (t[k] < 0 || t[k] >= s.vertex_count || !sup_v3_finite(corner_of(s, t[k]))) return false;
    return t[0] != t[1] && t[1] != t[2] && t[2] != t[0];
}

static sup_vec3d cross_of(sup_shape s, const int32_t *t)
{
    sup_vec3d a = corner_of(s, t[0]);
    return sup_v3_cross(sup_v3_sub(corner_of(s, t[1]), a), sup_v3_sub(corner_of(s, t[2]), a));
}

/* Points that represent the scan: centres of triangles with their areas, or the points of the cloud. element[i] is
 * the triangle or vertex of point i. */
static bool gather_points(sup_shape s, bool is_cloud, sup_arena *arena, sup_scan_points *p, int32_t **element)
{
    size_t capacity = (size_t)(is_cloud ? s.vertex_count : s.triangle_count);
    p->at = sup_arena_alloc(arena, capacity, sizeof *p->at);
    p->weight = sup_arena_alloc(arena, capacity, sizeof *p->weight);
    p->keep = sup_arena_alloc(arena, capacity, 1);
    p->normal = sup_arena_alloc(arena, capacity, sizeof *p->normal);
    *element = sup_arena_alloc(arena, capacity, sizeof **element);
    if (p->at == NULL || p->weight == NULL || p->keep == NULL || *element == NULL || p->normal == NULL) return false;
    int32_t step = is_cloud ? 1 + s.vertex_count / MAX_CLOUD_POINTS : 1;
    for (int32_t i = 0; i < (int32_t)capacity; i += step) {
        const int32_t *t = is_cloud ? NULL : s.triangles + 3 * (size_t)i;
        if (is_cloud ? !sup_v3_finite(corner_of(s, i)) : !usable(s, t)) continue;
        double area = is_cloud ? 1.0 : 0.5 * sup_v3_length(cross_of(s, t));
        if (!(area > 0.0) || !isfinite(area)) continue;
        p->at[p->count] =
            is_cloud ? corner_of(s, i)
                     : sup_v3_scale(sup_v3_add(corner_of(s, t[0]), sup_v3_add(corner_of(s, t[1]), corner_of(s, t[2]))),
                                    1.0 / 3.0);
        if (!is_cloud) p->normal[p->count] = sup_v3_scale(cross_of(s, t), 0.5 / area);
        p->weight[p->count] = area;
        (*element)[p->count++] = i;
    }
    return true;
}

/* Metres per unit: of the common units the one whose height is nearest to the usual height, as a ratio. */
static double guess_unit(double height)
{
    static const double units[] = {1.0, 0.01, 0.001, 0.1, 0.0254, 0.3048};
    double best = INFINITY, found = 0.0;
    for (int i = 0; i < SUP_COUNT(units); i++) {
        double metres = height * units[i], off = fabs(log(metres / usual_height));
        if (metres >= min_height && metres <= max_height && off < best) best = off, found = units[i];
    }
    return found > 0.0 ? found : usual_height / height; /* no common unit: assume a person of usual height */
}

/* --- Mesh and samples --- */

static sup_result keep_mesh(sup_shape s, const sup_scan_points *p, const int32_t *element, sup_arena *arena,
                            sup_scan *scan, sup_error *error)
{
    int32_t *map = sup_arena_alloc(arena, (size_t)s.vertex_count, sizeof *map);
    scan->triangles = sup_arena_alloc(arena, 3 * (size_t)p->count, sizeof(int32_t));
    scan->positions = sup_arena_alloc(arena, 3 * (size_t)s.vertex_count, sizeof(float));
    scan->area = sup_arena_alloc(arena, (size_t)p->count, sizeof(double));
    if (scan->area == NULL || map == NULL || scan->triangles == NULL || scan->positions == NULL)
        return sup_fail_memory(error, "the scan");
    for (int32_t i = 0; i < p->count; i++) {
        if (p->keep[i] == 0) continue;
        int32_t corners[3] = {element[i], element[i], element[i]};
        if (!scan->is_cloud) memcpy(corners, s.triangles + 3 * (size_t)element[i], sizeof corners);
        for (int k = 0; k < 3; k++) {
            if (map[corners[k]] == 0) {
                sup_vec3d x = sup_v3_scale(sup_v3_sub(corner_of(s, corners[k]), scan->centre), scan->metres_per_unit);
                sup_v3_store(scan->positions + 3 * (size_t)scan->vertex_count, x);
                map[corners[k]] = ++scan->vertex_count;
            }
            scan->triangles[3 * (size_t)scan->triangle_count + (size_t)k] = map[corners[k]] - 1;
        }
        scan->area[scan->triangle_count++] = p->weight[i];
    }
    return SUP_OK;
}

static sup_vec3d scan_corner(const sup_scan *scan, int32_t triangle, int k)
{
    return sup_v3_load(scan->positions + 3 * (size_t)scan->triangles[3 * (size_t)triangle + (size_t)k]);
}

static sup_vec3d scan_cross(const sup_scan *scan, int32_t t)
{
    sup_vec3d a = scan_corner(scan, t, 0);
    return sup_v3_cross(sup_v3_sub(scan_corner(scan, t, 1), a), sup_v3_sub(scan_corner(scan, t, 2), a));
}

/* The origin is in the middle of the kept scan, so that holes contribute little to the volume. */
static void flip_inside_out(sup_scan *scan)
{
    double volume = 0.0;
    for (int32_t t = 0; t < scan->triangle_count; t++)
        volume += sup_v3_dot(scan_corner(scan, t, 0), scan_cross(scan, t));
    scan->inside_out = volume < 0.0;
    for (int32_t t = 0; scan->inside_out && t < scan->triangle_count; t++) {
        int32_t *c = scan->triangles + 3 * (size_t)t, keep = c[1];
        c[1] = c[2];
        c[2] = keep;
    }
}

static sup_result find_borders(const sup_allocator *allocator, sup_scan *scan, sup_error *error)
{
    sup_adjacency a;
    sup_result result =
        sup_adjacency_create(allocator, scan->vertex_count, scan->triangle_count, scan->triangles, &a, error);
    if (result != SUP_OK) return result;
    for (int32_t h = 0; h < 3 * scan->triangle_count; h++)
        if (a.half_twin[h] == SUP_HALF_BOUNDARY) scan->border[h / 3] |= (unsigned char)(1 << h % 3);
    sup_adjacency_destroy(&a);
    return SUP_OK;
}

static void put_normal(sup_scan *scan, int32_t triangle, sup_vec3d n)
{
    double *to = scan->normals + 3 * (size_t)triangle;
    to[0] = n.x, to[1] = n.y, to[2] = n.z;
}

static sup_result find_normals(const sup_allocator *allocator, const sup_scan_points *points, sup_arena *arena,
                               sup_scan *scan, sup_error *error)
{
    scan->normals = sup_arena_alloc(arena, 3 * (size_t)scan->triangle_count, sizeof(double));
    scan->border = sup_arena_alloc(arena, (size_t)scan->triangle_count, 1);
    if (scan->normals == NULL || scan->border == NULL) return sup_fail_memory(error, "the scan");
    if (scan->is_cloud) {
        for (int32_t i = 0, t = 0; i < points->count; i++)
            if (points->keep[i] != 0) put_normal(scan, t++, points->normal[i]);
        return SUP_OK;
    }
    flip_inside_out(scan);
    for (int32_t t = 0; t < scan->triangle_count; t++)
        put_normal(scan, t, sup_v3_unit_or(scan_cross(scan, t), sup_v3(0, 0, 0)));
    return find_borders(allocator, scan, error);
}

/* Even sampling by area: a random point in a triangle each time the accumulated area passes a step. */
static sup_result spread(int32_t target, sup_arena *arena, sup_scan *scan, sup_error *error)
{
    size_t capacity = (size_t)target + 2;
    scan->samples = sup_arena_alloc(arena, 3 * capacity, sizeof(double));
    scan->sample_normals = sup_arena_alloc(arena, 3 * capacity, sizeof(double));
    if (scan->samples == NULL || scan->sample_normals == NULL) return sup_fail_memory(error, "the scan");
    double all = 0.0, run = 0.0;
    for (int32_t t = 0; t < scan->triangle_count; t++)
        all += scan->area[t];
    double step = all / (double)target;
    scan->sample_area = step * scan->metres_per_unit * scan->metres_per_unit;
    sup_random random = {11};
    for (int32_t t = 0; t < scan->triangle_count; t++) {
        run += scan->area[t];
        for (; run >= step && scan->sample_count < (int32_t)capacity; run -= step) {
            double u = sup_random_unit(&random), v = sup_random_unit(&random);
            if (u + v > 1.0) u = 1.0 - u, v = 1.0 - v;
            sup_vec3d a = scan_corner(scan, t, 0);
            sup_vec3d x = sup_v3_madd(sup_v3_madd(a, u, sup_v3_sub(scan_corner(scan, t, 1), a)), v,
                                      sup_v3_sub(scan_corner(scan, t, 2), a));
            double *to = scan->samples + 3 * (size_t)scan->sample_count;
            to[0] = x.x, to[1] = x.y, to[2] = x.z;
            memcpy(scan->sample_normals + 3 * (size_t)scan->sample_count++, scan->normals + 3 * (size_t)t,
                   3 * sizeof(double));
        }
    }
    return SUP_OK;
}

static sup_result build(const sup_context *context, sup_shape shape, const sup_scan_points *points,
                        const int32_t *element, int32_t sample_target, sup_arena *arena, sup_scan *scan,
                        sup_error *error)
{
    sup_result result = keep_mesh(shape, points, element, arena, scan, error);
    if (result == SUP_OK) result = find_normals(&context->allocator, points, arena, scan, error);
    if (result == SUP_OK) result = spread(sample_target, arena, scan, error);
    if (result == SUP_OK)
        result = sup_bvh_create(context, scan->positions, scan->triangle_count, scan->triangles, &scan->bvh, error);
    return result;
}

sup_result sup_scan_make(const sup_context *context, sup_shape shape, double metres_per_unit, int32_t sample_target,
                         sup_arena *arena, sup_scan *scan, sup_error *error)
{
    enum { MIN_POINTS = 200 };
    sup_context resolved = sup_context_resolve(context);
    *scan = (sup_scan){.is_cloud = shape.triangle_count == 0};
    if (shape.vertex_count < MIN_POINTS || shape.positions == NULL)
        return refuse(error, "anatomy.scan.empty",
                      "The scan has almost no data: use a scan of the surface of a whole person.");
    sup_scan_points points = {0};
    int32_t *element = NULL;
    if (!gather_points(shape, scan->is_cloud, arena, &points, &element)) return sup_fail_memory(error, "the scan");
    if (points.count < MIN_POINTS)
        return refuse(error, "anatomy.scan.empty",
                      "The scan has no surface: its triangles have no area or their positions are not numbers.");
    if (scan->is_cloud && !sup_scan_cloud_normals(&resolved.allocator, &points))
        return sup_fail_memory(error, "the scan");
    if (!sup_scan_clean(&resolved.allocator, &points, &scan->dropped)) return sup_fail_memory(error, "the scan");
    double extent[3] = {0};
    sup_scan_axes(&points, &scan->centre, scan->axes, extent);
    double longest = fmax(extent[0], fmax(extent[1], extent[2]));
    if (!(longest > 0.0) || !isfinite(longest))
        return refuse(error, "anatomy.scan.empty",
                      "All points of the scan coincide, or its size is not representable: check the file.");
    scan->metres_per_unit = metres_per_unit > 0.0 ? metres_per_unit : guess_unit(longest);
    scan->height = longest * scan->metres_per_unit;
    return build(&resolved, shape, &points, element, sample_target, arena, scan, error);
}

void sup_scan_free(sup_scan *scan)
{
    sup_bvh_free(&scan->bvh);
}

/* --- Queries --- */

typedef struct facing {
    const sup_scan *scan;
    sup_vec3d normal;
    double cosine;
} facing;

static double alike(const sup_scan *scan, int32_t triangle, sup_vec3d normal)
{
    const double *n = scan->normals + 3 * (size_t)triangle;
    double cosine = n[0] * normal.x + n[1] * normal.y + n[2] * normal.z;
    return scan->is_cloud ? fabs(cosine) : cosine;
}

static bool faces(void *user, int32_t triangle)
{
    const facing *f = user;
    return alike(f->scan, triangle, f->normal) >= f->cosine;
}

sup_vec3d sup_scan_normal(const sup_scan *scan, int32_t triangle, sup_vec3d towards)
{
    const double *p = scan->normals + 3 * (size_t)triangle;
    sup_vec3d n = sup_v3(p[0], p[1], p[2]);
    return scan->is_cloud && sup_v3_dot(n, towards) < 0.0 ? sup_v3_scale(n, -1.0) : n;
}

sup_bvh_nearest sup_scan_closest(const sup_scan *scan, sup_vec3d point, sup_vec3d normal, double limit, double cosine,
                                 bool *border)
{
    static const double beside = 0.7; /* sine of the angle between the line to the point and the normal */
    facing f = {scan, normal, cosine};
    sup_bvh_nearest found = sup_bvh_closest_of(&scan->bvh, point, limit, faces, &f);
    *border = false;
    if (found.triangle < 0 || scan->border[found.triangle] == 0 || !(found.distance > 0.0)) return found;
    static const double rim = 1e-9;
    const double weights[3] = {1.0 - found.u - found.v, found.u, found.v};
    bool on_rim = false;
    for (int k = 0; k < 3; k++) /* corner k + 2 is not on edge k */
        if ((scan->border[found.triangle] >> k & 1) != 0 && weights[(k + 2) % 3] < rim) on_rim = true;
    sup_vec3d offset = sup_v3_sub(point, found.point);
    double along = sup_v3_dot(offset, sup_scan_normal(scan, found.triangle, normal));
    *border =
        on_rim && found.distance * found.distance - along * along > beside * beside * found.distance * found.distance;
    return found;
}

/* triangulate.c - polygon triangulation: the better diagonal for quads, ear clipping for larger polygons. */
#include "load/mesh.h"

#include "math/vec3.h"

/* Ear clipping is quadratic in the number of corners; larger polygons are split into a fan. */
enum { SUP_EAR_LIMIT = 1024 };

static sup_vec3d corner_at(const float *positions, const int32_t *corners, int32_t i)
{
    return sup_v3_load(positions + (size_t)corners[i] * 3);
}

static sup_vec3d triangle_normal(sup_vec3d a, sup_vec3d b, sup_vec3d c)
{
    return sup_v3_cross(sup_v3_sub(b, a), sup_v3_sub(c, a));
}

static void write_triangle(int32_t *triangles, int32_t index, int32_t a, int32_t b, int32_t c)
{
    triangles[3 * index] = a;
    triangles[3 * index + 1] = b;
    triangles[3 * index + 2] = c;
}

/* A diagonal is valid when both triangles have the same orientation (otherwise it is outside a concave quad); of two
 * valid diagonals the shorter is used, the first when equal. */
static void cut_quad(const float *positions, const int32_t *corners, int32_t *triangles)
{
    sup_vec3d p[4];
    for (int32_t i = 0; i < 4; i++)
        p[i] = corner_at(positions, corners, i);
    double facing02 = sup_v3_dot(triangle_normal(p[0], p[1], p[2]), triangle_normal(p[0], p[2], p[3]));
    double facing13 = sup_v3_dot(triangle_normal(p[1], p[2], p[3]), triangle_normal(p[1], p[3], p[0]));
    bool shorter13 = sup_v3_distance(p[1], p[3]) < sup_v3_distance(p[0], p[2]) * (1.0 - 1e-6);
    bool use13 =
        (facing02 > 0.0) == (facing13 > 0.0) ? (facing02 > 0.0 ? shorter13 : facing13 > facing02) : facing13 > 0.0;
    int32_t first = use13 ? 1 : 0;
    write_triangle(triangles, 0, first, first + 1, first + 2);
    write_triangle(triangles, 1, first, first + 2, (first + 3) % 4);
}

/* Newell's normal: length is twice the area; well defined for non-planar and non-convex polygons. */
static sup_vec3d polygon_normal(const float *positions, const int32_t *corners, int32_t count)
{
    sup_vec3d origin = corner_at(positions, corners, 0), normal = sup_v3(0, 0, 0);
    for (int32_t i = 1; i + 1 < count; i++)
        normal = sup_v3_add(
            normal, triangle_normal(origin, corner_at(positions, corners, i), corner_at(positions, corners, i + 1)));
    return normal;
}

/* The polygon projected along its normal, as a ring of the remaining corners. */
typedef struct ring {
    const float *positions;
    const int32_t *corners;
    sup_vec3d normal;
    int32_t *next, *previous;
} ring;

/* Twice the signed area of a triangle of corners, projected along the normal. */
static double area(const ring *r, int32_t a, int32_t b, int32_t c)
{
    return sup_v3_dot(r->normal,
                      triangle_normal(corner_at(r->positions, r->corners, a), corner_at(r->positions, r->corners, b),
                                      corner_at(r->positions, r->corners, c)));
}

static bool is_ear(const ring *r, int32_t tip)
{
    int32_t a = r->previous[tip], c = r->next[tip];
    if (!(area(r, a, tip, c) > 0.0)) return false;
    for (int32_t p = r->next[c]; p != a; p = r->next[p]) {
        int32_t vertex = r->corners[p];
        if (vertex == r->corners[a] || vertex == r->corners[tip] || vertex == r->corners[c]) continue;
        bool reflex = !(area(r, r->previous[p], p, r->next[p]) > 0.0); /* only reflex corners can be inside an ear */
        if (reflex && area(r, a, tip, p) >= 0.0 && area(r, tip, c, p) >= 0.0 && area(r, c, a, p) >= 0.0) return false;
    }
    return true;
}

/* The next ear from `start` on; for a degenerate polygon without ears, any corner that is not flat, or `start`. */
static int32_t find_ear(const ring *r, int32_t start, int32_t remaining)
{
    int32_t tip = start;
    for (int32_t i = 0; i < remaining; i++, tip = r->next[tip])
        if (is_ear(r, tip)) return tip;
    for (int32_t i = 0; i < remaining; i++, tip = r->next[tip])
        if (area(r, r->previous[tip], tip, r->next[tip]) > 0.0) return tip;
    return start;
}

static void cut_ears(const float *positions, const int32_t *corners, int32_t count, int32_t *scratch,
                     int32_t *triangles)
{
    ring r = {positions, corners, polygon_normal(positions, corners, count), scratch, scratch + count};
    for (int32_t i = 0; i < count; i++) {
        r.next[i] = i + 1 < count ? i + 1 : 0;
        r.previous[i] = i > 0 ? i - 1 : count - 1;
    }
    int32_t tip = 1;
    for (int32_t made = 0; made < count - 2; made++) {
        tip = find_ear(&r, tip, count - made);
        int32_t a = r.previous[tip], c = r.next[tip];
        write_triangle(triangles, made, a, tip, c);
        r.next[a] = c;
        r.previous[c] = a;
        tip = c; /* clipping every other corner avoids one long fan */
    }
}

void sup_triangulate(const float *positions, const int32_t *corners, int32_t count, int32_t *scratch,
                     int32_t *triangles)
{
    if (count == 4) {
        cut_quad(positions, corners, triangles);
    } else if (count == 3 || count > SUP_EAR_LIMIT) {
        for (int32_t i = 0; i < count - 2; i++)
            write_triangle(triangles, i, 0, i + 1, i + 2);
    } else {
        cut_ears(positions, corners, count, scratch, triangles);
    }
}

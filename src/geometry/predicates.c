/* predicates.c - exact orientation tests and triangle intersection. */
#include "geometry/predicates.h"

#include <math.h>

/* Exact sum of doubles as a non-overlapping expansion, smallest component first. */
typedef struct expansion {
    double component[64];
    int count;
} expansion;

/* Grow-expansion of [shewchuk1997], figure 6. */
static void expansion_add(expansion *e, double value)
{
    double carry = value;
    int count = 0;
    for (int i = 0; i < e->count; i++) {
        double sum = carry + e->component[i];
        double virtual_component = sum - carry;
        double error = (carry - (sum - virtual_component)) + (e->component[i] - virtual_component);
        carry = sum;
        if (error != 0.0) e->component[count++] = error;
    }
    if (carry != 0.0) e->component[count++] = carry;
    e->count = count;
}

static int expansion_sign(const expansion *e)
{
    double largest = e->count > 0 ? e->component[e->count - 1] : 0.0;
    return largest > 0.0 ? 1 : largest < 0.0 ? -1 : 0;
}

/* sign * x y z: the product of two floats is exact in double; fma computes the rounding error of the third factor. */
static void add_product(expansion *e, double sign, float x, float y, float z)
{
    double xy = sign * (double)x * (double)y;
    double product = xy * (double)z;
    expansion_add(e, fma(xy, (double)z, -product));
    expansion_add(e, product);
}

/* sign * det(a, b, c) by its six products. */
static void add_determinant(expansion *e, double sign, const float *a, const float *b, const float *c)
{
    for (int i = 0; i < 3; i++) {
        int j = (i + 1) % 3, k = (i + 2) % 3;
        add_product(e, sign, a[i], b[j], c[k]);
        add_product(e, -sign, a[i], b[k], c[j]);
    }
}

static int orient3d_exact(const float *a, const float *b, const float *c, const float *d)
{
    expansion e = {.count = 0};
    add_determinant(&e, 1.0, a, b, c);
    add_determinant(&e, -1.0, d, b, c);
    add_determinant(&e, -1.0, a, d, c);
    add_determinant(&e, -1.0, a, b, d);
    return expansion_sign(&e);
}

int sup_orient3d(const float *a, const float *b, const float *c, const float *d)
{
    double ax = (double)a[0] - (double)d[0], ay = (double)a[1] - (double)d[1], az = (double)a[2] - (double)d[2];
    double bx = (double)b[0] - (double)d[0], by = (double)b[1] - (double)d[1], bz = (double)b[2] - (double)d[2];
    double cx = (double)c[0] - (double)d[0], cy = (double)c[1] - (double)d[1], cz = (double)c[2] - (double)d[2];
    double det = ax * (by * cz - bz * cy) + ay * (bz * cx - bx * cz) + az * (bx * cy - by * cx);
    double permanent = fabs(ax) * (fabs(by * cz) + fabs(bz * cy)) + fabs(ay) * (fabs(bz * cx) + fabs(bx * cz)) +
                       fabs(az) * (fabs(bx * cy) + fabs(by * cx));
    /* (7 + 56 eps) eps of [shewchuk1997], section 4.3, rounded up; eps = 2^-53. */
    double bound = 8e-16 * permanent;
    if (det > bound) return 1;
    if (det < -bound) return -1;
    return orient3d_exact(a, b, c, d);
}

int sup_orient2d(const float *a, const float *b, const float *c, int i, int j)
{
    double left = ((double)a[i] - (double)c[i]) * ((double)b[j] - (double)c[j]);
    double right = ((double)a[j] - (double)c[j]) * ((double)b[i] - (double)c[i]);
    double det = left - right, bound = 4e-16 * (fabs(left) + fabs(right));
    if (det > bound) return 1;
    if (det < -bound) return -1;
    expansion e = {.count = 0};
    expansion_add(&e, (double)a[i] * (double)b[j]);
    expansion_add(&e, -((double)a[i] * (double)c[j]));
    expansion_add(&e, -((double)c[i] * (double)b[j]));
    expansion_add(&e, -((double)a[j] * (double)b[i]));
    expansion_add(&e, (double)a[j] * (double)c[i]);
    expansion_add(&e, (double)c[j] * (double)b[i]);
    return expansion_sign(&e);
}

static bool between(float low, float value, float high)
{
    return low <= high ? low <= value && value <= high : high <= value && value <= low;
}

/* Closed segments ab and cd in the plane (i, j). */
static bool segments_meet_2d(const float *a, const float *b, const float *c, const float *d, int i, int j)
{
    int abc = sup_orient2d(a, b, c, i, j), abd = sup_orient2d(a, b, d, i, j);
    int cda = sup_orient2d(c, d, a, i, j), cdb = sup_orient2d(c, d, b, i, j);
    if (abc * abd < 0 && cda * cdb < 0) return true;
    if (abc == 0 && between(a[i], c[i], b[i]) && between(a[j], c[j], b[j])) return true;
    if (abd == 0 && between(a[i], d[i], b[i]) && between(a[j], d[j], b[j])) return true;
    if (cda == 0 && between(c[i], a[i], d[i]) && between(c[j], a[j], d[j])) return true;
    return cdb == 0 && between(c[i], b[i], d[i]) && between(c[j], b[j], d[j]);
}

static bool inside_2d(const float *x, const float *const t[3], int i, int j)
{
    int s0 = sup_orient2d(t[0], t[1], x, i, j), s1 = sup_orient2d(t[1], t[2], x, i, j),
        s2 = sup_orient2d(t[2], t[0], x, i, j);
    return (s0 >= 0 && s1 >= 0 && s2 >= 0) || (s0 <= 0 && s1 <= 0 && s2 <= 0);
}

/* Two coordinates in which the projected triangle has area; false if there are none. */
static bool find_plane(const float *const t[3], int *i, int *j)
{
    for (int axis = 0; axis < 3; axis++) {
        *i = (axis + 1) % 3;
        *j = (axis + 2) % 3;
        if (sup_orient2d(t[0], t[1], t[2], *i, *j) != 0) return true;
    }
    return false;
}

/* Whether segment ab intersects a triangle with area. */
static bool segment_meets(const float *a, const float *b, const float *const t[3])
{
    int sa = sup_orient3d(t[0], t[1], t[2], a), sb = sup_orient3d(t[0], t[1], t[2], b);
    if (sa * sb > 0) return false;
    if (sa == 0 && sb == 0) {
        int i, j;
        find_plane(t, &i, &j);
        return inside_2d(a, t, i, j) || segments_meet_2d(a, b, t[0], t[1], i, j) ||
               segments_meet_2d(a, b, t[1], t[2], i, j) || segments_meet_2d(a, b, t[2], t[0], i, j);
    }
    int s0 = sup_orient3d(a, b, t[0], t[1]), s1 = sup_orient3d(a, b, t[1], t[2]), s2 = sup_orient3d(a, b, t[2], t[0]);
    return (s0 >= 0 && s1 >= 0 && s2 >= 0) || (s0 <= 0 && s1 <= 0 && s2 <= 0);
}

static bool edges_meet(const float *const from[3], const float *const t[3])
{
    for (int e = 0; e < 3; e++)
        if (segment_meets(from[e], from[(e + 1) % 3], t)) return true;
    return false;
}

/* All corners of q strictly on one side of p's plane. */
static bool apart(const float *const p[3], const float *const q[3])
{
    int s0 = sup_orient3d(p[0], p[1], p[2], q[0]);
    return s0 != 0 && s0 == sup_orient3d(p[0], p[1], p[2], q[1]) && s0 == sup_orient3d(p[0], p[1], p[2], q[2]);
}

/* Segments of two triangles without area: they intersect if they are coplanar and cross in every coordinate plane. */
static bool flat_triangles_meet(const float *const p[3], const float *const q[3])
{
    for (int e = 0; e < 9; e++) {
        const float *a = p[e % 3], *b = p[(e + 1) % 3], *c = q[e / 3], *d = q[(e / 3 + 1) % 3];
        if (sup_orient3d(a, b, c, d) != 0) continue;
        bool all = true;
        for (int axis = 0; axis < 3 && all; axis++)
            all = segments_meet_2d(a, b, c, d, (axis + 1) % 3, (axis + 2) % 3);
        if (all) return true;
    }
    return false;
}

bool sup_triangles_intersect(const float *const p[3], const float *const q[3])
{
    if (apart(p, q) || apart(q, p)) return false;
    int i, j;
    bool p_has_area = find_plane(p, &i, &j), q_has_area = find_plane(q, &i, &j);
    if (q_has_area && edges_meet(p, q)) return true;
    if (p_has_area && edges_meet(q, p)) return true;
    return !p_has_area && !q_has_area && flat_triangles_meet(p, q);
}

/* Orientation tests and triangle intersection against exact integer arithmetic and constructed cases. */
#include "base/base.h"
#include "geometry/predicates.h"
#include "test.h"

static int sign_of(__int128 value)
{
    return value > 0 ? 1 : value < 0 ? -1 : 0;
}

/* Integer coordinates up to 2^20: every determinant fits 128 bits, so this reference is exact. */
static int orient3d_integer(const long long *a, const long long *b, const long long *c, const long long *d)
{
    __int128 m[3][3];
    for (int k = 0; k < 3; k++) {
        m[0][k] = a[k] - d[k];
        m[1][k] = b[k] - d[k];
        m[2][k] = c[k] - d[k];
    }
    return sign_of(m[0][0] * (m[1][1] * m[2][2] - m[1][2] * m[2][1]) -
                   m[0][1] * (m[1][0] * m[2][2] - m[1][2] * m[2][0]) +
                   m[0][2] * (m[1][0] * m[2][1] - m[1][1] * m[2][0]));
}

static void random_point(sup_random *random, int range, long long *p, float *f)
{
    for (int k = 0; k < 3; k++) {
        p[k] = (long long)(sup_random_u32(random) % (unsigned)(2 * range + 1)) - range;
        f[k] = (float)p[k];
    }
}

TEST(orient3d_is_exact_on_integers)
{
    sup_random random = {11};
    const int ranges[] = {1, 2, 5, 1000, 1 << 20};
    for (int r = 0; r < 5; r++)
        for (int i = 0; i < 20000; i++) {
            long long p[4][3];
            float f[4][3];
            for (int v = 0; v < 4; v++)
                random_point(&random, ranges[r], p[v], f[v]);
            CHECK_EQ(sup_orient3d(f[0], f[1], f[2], f[3]), orient3d_integer(p[0], p[1], p[2], p[3]));
        }
}

/* Points on the plane x + y + z = s, then one moved by the last bit: only the exact sum resolves the sign. */
TEST(orient3d_resolves_the_last_bit)
{
    float a[3] = {1.0f, 0.0f, 0.0f}, b[3] = {0.0f, 1.0f, 0.0f}, c[3] = {0.0f, 0.0f, 1.0f};
    float d[3] = {0.5f, 0.25f, 0.25f};
    CHECK_EQ(sup_orient3d(a, b, c, d), 0);
    float up[3] = {d[0], nextafterf(d[1], 1.0f), d[2]}, down[3] = {d[0], nextafterf(d[1], 0.0f), d[2]};
    CHECK(sup_orient3d(a, b, c, up) == -sup_orient3d(a, b, c, down));
    CHECK(sup_orient3d(a, b, c, up) != 0);
    float tiny[4][3] = {{1e-30f, 0, 0}, {0, 1e-30f, 0}, {0, 0, 1e-30f}, {0, 0, 0}};
    CHECK(sup_orient3d(tiny[0], tiny[1], tiny[2], tiny[3]) != 0);
    float wide[4][3] = {{1e8f, 1.0f, 0}, {1e8f, 2.0f, 0}, {1e8f, 1.0f, 1e-8f}, {1e8f, 1.5f, 5e-9f}};
    CHECK_EQ(sup_orient3d(wide[0], wide[1], wide[2], wide[3]), 0);
}

/* Another exact reference: triangles intersect if an edge of one intersects the other, tested with rational parameters;
 * coplanar pairs are excluded (tested below). Returns -1 if it does not apply. */
static int meet_integer(long long t[6][3])
{
    int meet = 0;
    for (int side = 0; side < 2; side++) {
        long long(*tri)[3] = t + 3 * side, (*other)[3] = t + 3 * (1 - side);
        for (int e = 0; e < 3; e++) {
            const long long *a = other[e], *b = other[(e + 1) % 3];
            int sa = orient3d_integer(tri[0], tri[1], tri[2], a), sb = orient3d_integer(tri[0], tri[1], tri[2], b);
            if (sa == 0 && sb == 0) return -1;
            if (sa * sb > 0) continue;
            int s[3];
            for (int k = 0; k < 3; k++)
                s[k] = orient3d_integer(a, b, tri[k], tri[(k + 1) % 3]);
            if (!((s[0] > 0 || s[1] > 0 || s[2] > 0) && (s[0] < 0 || s[1] < 0 || s[2] < 0))) meet = 1;
        }
    }
    return meet;
}

TEST(triangle_intersection_matches_exact_reference)
{
    sup_random random = {12};
    int counts[2] = {0, 0};
    for (int i = 0; i < 200000; i++) {
        long long p[6][3];
        float f[6][3];
        for (int v = 0; v < 6; v++)
            random_point(&random, i % 2 == 0 ? 3 : 50, p[v], f[v]);
        int expected = meet_integer(p);
        if (expected < 0) continue;
        const float *a[3] = {f[0], f[1], f[2]}, *b[3] = {f[3], f[4], f[5]};
        CHECK_EQ(sup_triangles_intersect(a, b), expected);
        CHECK_EQ(sup_triangles_intersect(b, a), expected);
        counts[expected]++;
    }
    CHECK(counts[0] > 10000 && counts[1] > 10000);
}

static bool meet(const float a[9], const float b[9])
{
    const float *p[3] = {a, a + 3, a + 6}, *q[3] = {b, b + 3, b + 6};
    CHECK(sup_triangles_intersect(p, q) == sup_triangles_intersect(q, p));
    return sup_triangles_intersect(p, q);
}

TEST(triangle_intersection_of_coplanar_triangles)
{
    const float big[9] = {0, 0, 1, 4, 0, 1, 0, 4, 1}, inside[9] = {1, 1, 1, 1.5f, 1, 1, 1, 1.5f, 1};
    const float beside[9] = {3, 3, 1, 4, 3, 1, 3, 4, 1}, touching[9] = {4, 0, 1, 5, 0, 1, 5, 1, 1};
    const float above[9] = {1, 1, 2, 1.5f, 1, 2, 1, 1.5f, 2}, crossing[9] = {-1, 1, 1, 5, 1, 1, 5, 1.1f, 1};
    CHECK(meet(big, inside));
    CHECK(!meet(big, beside));
    CHECK(meet(big, touching));
    CHECK(!meet(big, above));
    CHECK(meet(big, crossing));
    CHECK(meet(big, big));
}

TEST(triangle_intersection_of_segments_and_points)
{
    const float big[9] = {0, 0, 0, 4, 0, 0, 0, 4, 0};
    const float needle[9] = {1, 1, -1, 1, 1, 1, 1, 1, 0}, miss[9] = {3, 3, -1, 3, 3, 1, 3, 3, 0};
    const float point[9] = {1, 1, 0, 1, 1, 0, 1, 1, 0}, off[9] = {1, 1, 1, 1, 1, 1, 1, 1, 1};
    CHECK(meet(big, needle));
    CHECK(!meet(big, miss));
    CHECK(meet(big, point));
    CHECK(!meet(big, off));
    const float other[9] = {0, 1, 0, 2, 1, 0, 1, 1, 0}, apart[9] = {0, 1, 5, 2, 1, 5, 1, 1, 5};
    CHECK(meet(needle, other));
    CHECK(!meet(needle, apart));
}

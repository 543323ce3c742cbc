/* Normals: exact on planes and boxes, independent of the triangulation of a face. */
#include "geometry/normals.h"
#include "test.h"

TEST(cube_corners_point_along_diagonals)
{
    /* Area times angle: a corner has a right angle in each face, for any triangulation of the face. */
    static const float p[] = {0, 0, 0, 1, 0, 0, 1, 1, 0, 0, 1, 0, 0, 0, 1, 1, 0, 1, 1, 1, 1, 0, 1, 1};
    static const int32_t t[] = {0, 2, 1, 0, 3, 2, 4, 5, 6, 4, 6, 7, 0, 1, 5, 0, 5, 4,
                                1, 2, 6, 1, 6, 5, 2, 3, 7, 2, 7, 6, 3, 0, 4, 3, 4, 7};
    double n[24];
    sup_vertex_normals(8, p, 12, t, NULL, n);
    for (int v = 0; v < 8; v++)
        for (int k = 0; k < 3; k++)
            CHECK_NEAR(n[3 * v + k], (p[3 * v + k] > 0.5f ? 1 : -1) / sqrt(3.0), 1e-12);
}

TEST(vertex_map_smooths_seams)
{
    static const float p[] = {0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 0, 0, 1, 0, 0, 0, 1};
    static const int32_t t[] = {0, 1, 2, 3, 4, 5}, map[] = {0, 1, 2, 0, 2, 5};
    double n[18];
    sup_vertex_normals(6, p, 2, t, map, n);
    CHECK_NEAR(n[0], sqrt(0.5), 1e-12);
    CHECK_NEAR(n[2], sqrt(0.5), 1e-12);
    CHECK(n[9] == 0.0 && n[10] == 0.0 && n[11] == 0.0);
}

TEST(angles_sum_to_pi_and_are_zero_without_area)
{
    sup_vec3d zero = sup_v3(0, 0, 0);
    static const float p[] = {0, 0, 0, 3, 1, 0, 1, 2, 5, 6, 2, 0};
    static const int32_t t[] = {0, 1, 2}, flat[] = {0, 1, 3}, again[] = {0, 1, 1};
    double angles[3], n[12];
    sup_triangle_angles(p, t, angles);
    CHECK_NEAR(angles[0] + angles[1] + angles[2], 3.14159265358979, 1e-12);
    sup_triangle_angles(p, flat, angles);
    CHECK(angles[0] == 0.0 && angles[1] == 0.0 && angles[2] == 0.0);
    CHECK(sup_v3_distance(sup_triangle_cross(p, again), zero) == 0.0);
    sup_vertex_normals(4, p, 1, flat, NULL, n);
    for (int i = 0; i < 12; i++)
        CHECK(n[i] == 0.0);
}

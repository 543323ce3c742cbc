/* normals.c - normals of triangles and vertices. */
#include "geometry/normals.h"

sup_vec3d sup_triangle_cross(const float *positions, const int32_t corners[3])
{
    sup_vec3d a = sup_v3_load(positions + 3 * (size_t)corners[0]);
    sup_vec3d b = sup_v3_load(positions + 3 * (size_t)corners[1]);
    sup_vec3d c = sup_v3_load(positions + 3 * (size_t)corners[2]);
    return sup_v3_cross(sup_v3_sub(b, a), sup_v3_sub(c, a));
}

void sup_triangle_angles(const float *positions, const int32_t corners[3], double angles[3])
{
    double twice_area = sup_v3_length(sup_triangle_cross(positions, corners));
    for (int k = 0; k < 3; k++) {
        sup_vec3d p = sup_v3_load(positions + 3 * (size_t)corners[k]);
        sup_vec3d u = sup_v3_sub(sup_v3_load(positions + 3 * (size_t)corners[(k + 1) % 3]), p);
        sup_vec3d v = sup_v3_sub(sup_v3_load(positions + 3 * (size_t)corners[(k + 2) % 3]), p);
        angles[k] = twice_area > 0.0 ? atan2(twice_area, sup_v3_dot(u, v)) : 0.0;
    }
}

void sup_vertex_normals(int32_t vertex_count, const float *positions, int32_t triangle_count, const int32_t *triangles,
                        const int32_t *vertex_map, double *normals)
{
    for (size_t i = 0; i < 3 * (size_t)vertex_count; i++)
        normals[i] = 0.0;
    for (int32_t t = 0; t < triangle_count; t++) {
        const int32_t *corners = triangles + 3 * (size_t)t;
        sup_vec3d cross = sup_triangle_cross(positions, corners);
        double angles[3];
        sup_triangle_angles(positions, corners, angles);
        for (int k = 0; k < 3; k++) {
            double *sum = normals + 3 * (size_t)(vertex_map != NULL ? vertex_map[corners[k]] : corners[k]);
            sum[0] += angles[k] * cross.x;
            sum[1] += angles[k] * cross.y;
            sum[2] += angles[k] * cross.z;
        }
    }
    for (int32_t v = 0; v < vertex_count; v++) {
        double *n = normals + 3 * (size_t)v;
        sup_vec3d unit = sup_v3_unit_or(sup_v3(n[0], n[1], n[2]), sup_v3(0.0, 0.0, 0.0));
        n[0] = unit.x;
        n[1] = unit.y;
        n[2] = unit.z;
    }
}

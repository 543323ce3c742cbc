/* volume.c - enclosed volume by the divergence theorem, per component. */
#include "math/vec3.h"
#include "measure/measurer.h"

/* Volume of the tet of a triangle and `origin`, the first vertex of the surface: a near origin avoids cancellation when
 * the character is far from the world origin. */
static double triangle_volume(const float *positions, const int32_t *t, sup_vec3d origin)
{
    sup_vec3d a = sup_v3_sub(sup_v3_load(positions + 3 * (size_t)t[0]), origin);
    sup_vec3d b = sup_v3_sub(sup_v3_load(positions + 3 * (size_t)t[1]), origin);
    sup_vec3d c = sup_v3_sub(sup_v3_load(positions + 3 * (size_t)t[2]), origin);
    return sup_v3_dot(a, sup_v3_cross(b, c)) / 6.0;
}

void sup_component_signs(const sup_closed_surface *closed, const float *positions, double *sign)
{
    int32_t total = closed->triangle_count + closed->fan_count;
    if (total == 0) return;
    sup_vec3d origin = sup_v3_load(positions);
    for (int32_t c = 0; c < closed->component_count; c++)
        sign[c] = 0.0;
    for (int32_t t = 0; t < total; t++)
        sign[closed->component[closed->triangles[3 * (size_t)t]]] +=
            triangle_volume(positions, closed->triangles + 3 * (size_t)t, origin);
    for (int32_t c = 0; c < closed->component_count; c++)
        sign[c] = sign[c] < 0.0 ? -1.0 : 1.0;
}

double sup_closed_volume(const sup_closed_surface *closed, const float *positions, const double *component_sign)
{
    int32_t total = closed->triangle_count + closed->fan_count;
    double volume = 0.0;
    if (total == 0) return 0.0;
    sup_vec3d origin = sup_v3_load(positions);
    for (int32_t t = 0; t < total; t++) {
        double sign =
            component_sign != NULL ? component_sign[closed->component[closed->triangles[3 * (size_t)t]]] : 1.0;
        volume += sign * triangle_volume(positions, closed->triangles + 3 * (size_t)t, origin);
    }
    return volume;
}

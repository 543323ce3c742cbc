/* nearest_facing.c - see nearest_facing.h. */
#include "methods/position/nearest_facing.h"

#include "geometry/normals.h"

/* Cosine between normals below which a triangle faces the opposite direction. */
static const double OPPOSITE = -0.2;

typedef struct facing {
    const sup_bvh *bvh;
    sup_vec3d outward;
} facing;

static double agreement(const facing *f, int32_t triangle)
{
    sup_vec3d n = sup_triangle_cross(f->bvh->positions, f->bvh->triangles + 3 * (int64_t)triangle);
    return sup_v3_dot(sup_v3_unit_or(n, f->outward), f->outward);
}

static bool faces_along(void *user, int32_t triangle)
{
    return agreement(user, triangle) > 0.0;
}

sup_bvh_nearest sup_nearest_facing(const sup_bvh *bvh, sup_vec3d point, sup_vec3d outward, double reach)
{
    facing f = {bvh, outward};
    sup_bvh_nearest near = sup_bvh_closest(bvh, point, INFINITY);
    if (near.triangle < 0 || agreement(&f, near.triangle) >= OPPOSITE) return near;
    sup_bvh_nearest along = sup_bvh_closest_of(bvh, point, near.distance + reach, faces_along, &f);
    return along.triangle >= 0 ? along : near;
}

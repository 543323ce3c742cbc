/* collide_query.h (internal) - where a point is, seen from a thing: one source for the CPU and for threads of a GPU. Includers
 * define SUP_SOLID, what stands before a function, and the two questions to a mesh. See collide_points.h. */
#include "geometry/collide_points.h"

SUP_SOLID bool mesh_inside(const sup_bvh *mesh, sup_vec3d point);
SUP_SOLID sup_bvh_nearest mesh_closest(const sup_bvh *mesh, sup_vec3d point, double limit);

SUP_SOLID sup_vec3d nowhere(void)
{
    return sup_v3(0.0, 0.0, 0.0);
}

SUP_SOLID sup_vec3d turn(const sup_affine *a, sup_vec3d v)
{
    const double *m = a->m;
    return sup_v3(m[0] * v.x + m[1] * v.y + m[2] * v.z, m[4] * v.x + m[5] * v.y + m[6] * v.z,
                  m[8] * v.x + m[9] * v.y + m[10] * v.z);
}

SUP_SOLID sup_vec3d carry(const sup_affine *a, sup_vec3d p)
{
    return sup_v3_add(turn(a, p), sup_v3(a->m[3], a->m[7], a->m[11]));
}

/* Nearest surface point and outward normal in the thing's own space; the height there. */
typedef struct own_view {
    sup_vec3d point, normal;
    double height;
} own_view;

SUP_SOLID own_view look_plane(const sup_solid *c, sup_vec3d p)
{
    sup_vec3d n = sup_v3_unit_or(sup_v3_sub(c->to, c->from), nowhere());
    double height = sup_v3_dot(n, sup_v3_sub(p, c->from));
    own_view view = {sup_v3_madd(p, -height, n), n, height};
    return view;
}

SUP_SOLID own_view look_capsule(const sup_solid *c, sup_vec3d p)
{
    sup_vec3d axis = sup_v3_lerp(c->from, c->to, sup_v3_segment_parameter(p, c->from, c->to));
    sup_vec3d out = sup_v3_sub(p, axis);
    double distance = sup_v3_length(out);
    if (!(distance > 0.0)) { /* on the axis: any way out that stands on it */
        sup_vec3d d = sup_v3_sub(c->to, c->from);
        sup_vec3d other = fabs(d.x) <= fabs(d.y) && fabs(d.x) <= fabs(d.z) ? sup_v3(1.0, 0.0, 0.0)
                          : fabs(d.y) <= fabs(d.z)                         ? sup_v3(0.0, 1.0, 0.0)
                                                                           : sup_v3(0.0, 0.0, 1.0);
        out = sup_v3_length(d) > 0.0 ? sup_v3_cross(d, other) : other;
    }
    sup_vec3d n = sup_v3_unit_or(out, nowhere());
    own_view view = {sup_v3_madd(axis, c->radius, n), n, distance - c->radius};
    return view;
}

SUP_SOLID bool in_mesh_box(const sup_bvh *mesh, sup_vec3d p, double limit)
{
    if (mesh->node_count < 1) return false;
    const float *lower = mesh->nodes[0].lower, *upper = mesh->nodes[0].upper;
    return p.x >= (double)lower[0] - limit && p.x <= (double)upper[0] + limit && p.y >= (double)lower[1] - limit &&
           p.y <= (double)upper[1] + limit && p.z >= (double)lower[2] - limit && p.z <= (double)upper[2] + limit;
}

SUP_SOLID sup_vec3d face_normal(const sup_bvh *mesh, int32_t triangle)
{
    const int32_t *t = mesh->triangles + 3 * (size_t)triangle;
    sup_vec3d a = sup_v3_load(mesh->positions + 3 * (size_t)t[0]);
    return sup_v3_unit_or(sup_v3_cross(sup_v3_sub(sup_v3_load(mesh->positions + 3 * (size_t)t[1]), a),
                                       sup_v3_sub(sup_v3_load(mesh->positions + 3 * (size_t)t[2]), a)),
                          nowhere());
}

SUP_SOLID bool look_mesh(const sup_solid *c, sup_vec3d p, double limit, own_view *view)
{
    if (!in_mesh_box(c->mesh, p, limit)) return false;
    bool inside = mesh_inside(c->mesh, p);
    sup_bvh_nearest nearest = mesh_closest(c->mesh, p, inside ? INFINITY : limit);
    if (nearest.triangle < 0) return false;
    sup_vec3d out = inside ? sup_v3_sub(nearest.point, p) : sup_v3_sub(p, nearest.point);
    view->point = nearest.point;
    view->height = inside ? -nearest.distance : nearest.distance;
    view->normal = sup_v3_unit_or(out, face_normal(c->mesh, nearest.triangle));
    return true;
}

SUP_SOLID bool look(const sup_solid *solid, const sup_solid_space *space, sup_vec3d point, double limit,
                    sup_solid_view *view)
{
    if (!sup_v3_finite(point)) return false;
    sup_vec3d p = carry(&space->inverse, point);
    double scale = space->scale;
    own_view own;
    if (solid->shape == SUP_COLLIDER_MESH) {
        if (!look_mesh(solid, p, scale * limit, &own)) return false;
    } else
        own = solid->shape == SUP_COLLIDER_PLANE ? look_plane(solid, p) : look_capsule(solid, p);
    if (!(own.height < scale * limit) || !sup_v3_finite(own.point)) return false;
    view->point = carry(&solid->world, own.point);
    view->normal = sup_v3_unit_or(turn(&solid->world, own.normal), nowhere());
    view->height = own.height / scale;
    view->motion = sup_v3_sub(view->point, carry(&solid->before, own.point));
    return sup_v3_dot(view->normal, view->normal) > 0.5 && sup_v3_finite(view->point) && sup_v3_finite(view->motion);
}

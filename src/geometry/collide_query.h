/* collide_query.h (internal) - a point relative to a collider: one source for the CPU and the GPU. Includers define
 * SUP_COLLIDER_QUERY, the qualifiers of a function, and the two queries of a mesh. See collide_points.h. */
#include "geometry/collide_points.h"

SUP_COLLIDER_QUERY bool mesh_inside(const sup_bvh *mesh, sup_vec3d point);
SUP_COLLIDER_QUERY sup_bvh_nearest mesh_closest(const sup_bvh *mesh, sup_vec3d point, double limit);

SUP_COLLIDER_QUERY sup_vec3d zero_vector(void)
{
    return sup_v3(0.0, 0.0, 0.0);
}

SUP_COLLIDER_QUERY sup_vec3d rotate(const sup_affine *a, sup_vec3d v)
{
    const double *m = a->m;
    return sup_v3(m[0] * v.x + m[1] * v.y + m[2] * v.z, m[4] * v.x + m[5] * v.y + m[6] * v.z,
                  m[8] * v.x + m[9] * v.y + m[10] * v.z);
}

SUP_COLLIDER_QUERY sup_vec3d transform(const sup_affine *a, sup_vec3d p)
{
    return sup_v3_add(rotate(a, p), sup_v3(a->m[3], a->m[7], a->m[11]));
}

/* Nearest surface point, outward normal and height, in the collider's local space. */
typedef struct local_query {
    sup_vec3d point, normal;
    double height;
} local_query;

SUP_COLLIDER_QUERY local_query query_plane(const sup_posed_collider *c, sup_vec3d p)
{
    sup_vec3d n = sup_v3_unit_or(sup_v3_sub(c->to, c->from), zero_vector());
    double height = sup_v3_dot(n, sup_v3_sub(p, c->from));
    local_query query = {sup_v3_madd(p, -height, n), n, height};
    return query;
}

SUP_COLLIDER_QUERY local_query query_capsule(const sup_posed_collider *c, sup_vec3d p)
{
    sup_vec3d axis = sup_v3_lerp(c->from, c->to, sup_v3_segment_parameter(p, c->from, c->to));
    sup_vec3d out = sup_v3_sub(p, axis);
    double distance = sup_v3_length(out);
    if (!(distance > 0.0)) { /* on the axis: any direction perpendicular to it */
        sup_vec3d d = sup_v3_sub(c->to, c->from);
        sup_vec3d other = fabs(d.x) <= fabs(d.y) && fabs(d.x) <= fabs(d.z) ? sup_v3(1.0, 0.0, 0.0)
                          : fabs(d.y) <= fabs(d.z)                         ? sup_v3(0.0, 1.0, 0.0)
                                                                           : sup_v3(0.0, 0.0, 1.0);
        out = sup_v3_length(d) > 0.0 ? sup_v3_cross(d, other) : other;
    }
    sup_vec3d n = sup_v3_unit_or(out, zero_vector());
    local_query query = {sup_v3_madd(axis, c->radius, n), n, distance - c->radius};
    return query;
}

SUP_COLLIDER_QUERY bool in_mesh_box(const sup_bvh *mesh, sup_vec3d p, double limit)
{
    if (mesh->node_count < 1) return false;
    const float *lower = mesh->nodes[0].lower, *upper = mesh->nodes[0].upper;
    return p.x >= (double)lower[0] - limit && p.x <= (double)upper[0] + limit && p.y >= (double)lower[1] - limit &&
           p.y <= (double)upper[1] + limit && p.z >= (double)lower[2] - limit && p.z <= (double)upper[2] + limit;
}

SUP_COLLIDER_QUERY sup_vec3d face_normal(const sup_bvh *mesh, int32_t triangle)
{
    const int32_t *t = mesh->triangles + 3 * (size_t)triangle;
    sup_vec3d a = sup_v3_load(mesh->positions + 3 * (size_t)t[0]);
    return sup_v3_unit_or(sup_v3_cross(sup_v3_sub(sup_v3_load(mesh->positions + 3 * (size_t)t[1]), a),
                                       sup_v3_sub(sup_v3_load(mesh->positions + 3 * (size_t)t[2]), a)),
                          zero_vector());
}

SUP_COLLIDER_QUERY bool query_mesh(const sup_posed_collider *c, sup_vec3d p, double limit, local_query *query)
{
    if (!in_mesh_box(c->mesh, p, limit)) return false;
    bool inside = mesh_inside(c->mesh, p);
    sup_bvh_nearest nearest = mesh_closest(c->mesh, p, inside ? INFINITY : limit);
    if (nearest.triangle < 0) return false;
    sup_vec3d out = inside ? sup_v3_sub(nearest.point, p) : sup_v3_sub(p, nearest.point);
    query->point = nearest.point;
    query->height = inside ? -nearest.distance : nearest.distance;
    query->normal = sup_v3_unit_or(out, face_normal(c->mesh, nearest.triangle));
    return true;
}

SUP_COLLIDER_QUERY bool query_collider(const sup_posed_collider *collider, const sup_collider_space *space,
                                       sup_vec3d point, double limit, sup_collider_query *query)
{
    if (!sup_v3_finite(point)) return false;
    sup_vec3d p = transform(&space->inverse, point);
    double scale = space->scale;
    local_query local;
    if (collider->shape == SUP_COLLIDER_MESH) {
        if (!query_mesh(collider, p, scale * limit, &local)) return false;
    } else
        local = collider->shape == SUP_COLLIDER_PLANE ? query_plane(collider, p) : query_capsule(collider, p);
    if (!(local.height < scale * limit) || !sup_v3_finite(local.point)) return false;
    query->point = transform(&collider->world, local.point);
    query->normal = sup_v3_unit_or(rotate(&collider->world, local.normal), zero_vector());
    query->height = local.height / scale;
    query->motion = sup_v3_sub(query->point, transform(&collider->previous, local.point));
    return sup_v3_dot(query->normal, query->normal) > 0.5 && sup_v3_finite(query->point) &&
           sup_v3_finite(query->motion);
}

/* Height below which a point is in contact with a collider; a contact that exists ends `release` higher. */
SUP_COLLIDER_QUERY double contact_limit(float gap, float release, bool exists)
{
    return (double)gap + (exists ? (double)release : 0.0);
}

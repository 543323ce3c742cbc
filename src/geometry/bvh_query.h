/* bvh_query.h (internal) - ray and nearest-point queries of a bounding volume hierarchy, one source for CPU and GPU.
 * Includers define SUP_BVH_QUERY, the specifiers of a function. See bvh.h. */
#include "geometry/bvh.h"

/* Bound of the tree depth: from level SUP_BVH_DEPTH on nodes are split into equal halves, at most 31 further levels. A
 * query stores at most one node per level. */
enum { SUP_BVH_DEPTH = 32, SUP_BVH_STACK = SUP_BVH_DEPTH + 32 + 2 };

SUP_BVH_QUERY sup_vec3d corner(const sup_bvh *bvh, int32_t triangle, int k)
{
    return sup_v3_load(bvh->positions + (int64_t)bvh->triangles[(int64_t)triangle * 3 + k] * 3);
}

/* Whether [t_min, t_max] of the ray intersects the box, with a tolerance for rounding. */
SUP_BVH_QUERY bool ray_hits_box(const sup_bvh_node *node, const double origin[3], const double direction[3],
                                const double inverse[3], double t_min, double t_max)
{
    for (int k = 0; k < 3; k++) {
        double low = (double)node->lower[k] - origin[k], high = (double)node->upper[k] - origin[k];
        if (direction[k] > 0.0 || direction[k] < 0.0) {
            double a = low * inverse[k], b = high * inverse[k];
            double enter = a < b ? a : b, leave = a < b ? b : a;
            enter -= 1e-12 * fabs(enter);
            leave += 1e-12 * fabs(leave);
            if (enter > t_min) t_min = enter;
            if (leave < t_max) t_max = leave;
            if (t_min > t_max) return false;
        } else if (low > 0.0 || high < 0.0) {
            return false;
        }
    }
    return true;
}

/* T. Moeller, B. Trumbore 1997. Edges belong to the triangle, with a tolerance for rounding, so that no ray passes
 * between two adjacent triangles. */
SUP_BVH_QUERY bool ray_hits_triangle(const sup_bvh *bvh, const sup_bvh_ray *ray, int32_t triangle, sup_bvh_hit *hit)
{
    const double tolerance = 1e-12;
    sup_vec3d a = corner(bvh, triangle, 0);
    sup_vec3d ab = sup_v3_sub(corner(bvh, triangle, 1), a), ac = sup_v3_sub(corner(bvh, triangle, 2), a);
    sup_vec3d p = sup_v3_cross(ray->direction, ac);
    double determinant = sup_v3_dot(ab, p);
    if (!(determinant > 0.0 || determinant < 0.0)) return false; /* parallel or without area */
    double inverse = 1.0 / determinant;
    if (!isfinite(inverse)) return false;
    sup_vec3d to = sup_v3_sub(ray->origin, a);
    double u = sup_v3_dot(to, p) * inverse;
    if (!(u >= -tolerance && u <= 1.0 + tolerance)) return false;
    sup_vec3d q = sup_v3_cross(to, ab);
    double v = sup_v3_dot(ray->direction, q) * inverse;
    if (!(v >= -tolerance && u + v <= 1.0 + tolerance)) return false;
    double t = sup_v3_dot(ac, q) * inverse;
    if (!(t >= ray->t_min && t <= ray->t_max)) return false;
    const sup_bvh_hit found = {triangle, t, u, v, determinant < 0.0 ? 1 : -1};
    *hit = found;
    return true;
}

/* The nearest hit, or any hit if `any`. */
SUP_BVH_QUERY bool trace(const sup_bvh *bvh, const sup_bvh_ray *ray, bool any, sup_bvh_hit *nearest)
{
    int32_t stack[SUP_BVH_STACK], depth = 0;
    sup_bvh_ray r = *ray;
    bool found = false;
    const double origin[3] = {r.origin.x, r.origin.y, r.origin.z};
    const double direction[3] = {r.direction.x, r.direction.y, r.direction.z};
    const double inverse[3] = {1.0 / direction[0], 1.0 / direction[1], 1.0 / direction[2]};
    if (bvh->node_count > 0) stack[depth++] = 0;
    while (depth > 0) {
        int32_t index = stack[--depth];
        const sup_bvh_node *node = &bvh->nodes[index];
        if (!ray_hits_box(node, origin, direction, inverse, r.t_min, r.t_max)) continue;
        if (node->count == 0) {
            stack[depth++] = node->first;
            stack[depth++] = index + 1;
            continue;
        }
        for (int32_t k = 0; k < node->count; k++) {
            sup_bvh_hit hit;
            if (!ray_hits_triangle(bvh, &r, bvh->order[node->first + k], &hit)) continue;
            bool later = found && (hit.t > nearest->t || (hit.t >= nearest->t && hit.triangle > nearest->triangle));
            if (later || (r.accept != NULL && !r.accept(r.user, &hit))) continue;
            *nearest = hit;
            if (any) return true;
            found = true;
            r.t_max = hit.t;
        }
    }
    return found;
}

SUP_BVH_QUERY double box_distance2(const sup_bvh_node *node, sup_vec3d p)
{
    const double at[3] = {p.x, p.y, p.z};
    double sum = 0.0;
    for (int k = 0; k < 3; k++) {
        double low = (double)node->lower[k] - at[k], high = at[k] - (double)node->upper[k];
        double d = low > 0.0 ? low : (high > 0.0 ? high : 0.0);
        sum += d * d;
    }
    return sum;
}

/* Nearest point of edge ab as the weight of b. */
SUP_BVH_QUERY double edge_weight(sup_vec3d p, sup_vec3d a, sup_vec3d b, double *distance2)
{
    double t = sup_v3_segment_parameter(p, a, b);
    sup_vec3d to = sup_v3_sub(p, sup_v3_lerp(a, b, t));
    *distance2 = sup_v3_dot(to, to);
    return t;
}

/* Barycentric weights of the nearest point: the projection if it is inside, else the nearest point of the edges. */
SUP_BVH_QUERY void nearest_on_triangle(const sup_vec3d c[3], sup_vec3d p, double *u, double *v)
{
    sup_vec3d ab = sup_v3_sub(c[1], c[0]), ac = sup_v3_sub(c[2], c[0]), ap = sup_v3_sub(p, c[0]);
    double aa = sup_v3_dot(ab, ab), bb = sup_v3_dot(ac, ac), mixed = sup_v3_dot(ab, ac);
    double pa = sup_v3_dot(ap, ab), pb = sup_v3_dot(ap, ac);
    double determinant = aa * bb - mixed * mixed;
    if (determinant > 1e-14 * aa * bb) {
        *u = (bb * pa - mixed * pb) / determinant;
        *v = (aa * pb - mixed * pa) / determinant;
        if (*u >= 0.0 && *v >= 0.0 && *u + *v <= 1.0) return;
    }
    double d0, d1, d2;
    double t0 = edge_weight(p, c[0], c[1], &d0), t1 = edge_weight(p, c[1], c[2], &d1),
           t2 = edge_weight(p, c[2], c[0], &d2);
    if (d0 <= d1 && d0 <= d2)
        *u = t0, *v = 0.0;
    else if (d1 <= d2)
        *u = 1.0 - t1, *v = t1;
    else
        *u = 0.0, *v = 1.0 - t2;
}

SUP_BVH_QUERY void try_triangle(const sup_bvh *bvh, int32_t triangle, sup_vec3d point, double *best,
                                sup_bvh_nearest *nearest)
{
    sup_vec3d c[3] = {corner(bvh, triangle, 0), corner(bvh, triangle, 1), corner(bvh, triangle, 2)};
    double u, v;
    nearest_on_triangle(c, point, &u, &v);
    sup_vec3d at = sup_v3_madd(sup_v3_madd(c[0], u, sup_v3_sub(c[1], c[0])), v, sup_v3_sub(c[2], c[0]));
    sup_vec3d to = sup_v3_sub(point, at);
    double distance2 = sup_v3_dot(to, to);
    bool closer = distance2 < *best || (distance2 <= *best && (nearest->triangle < 0 || triangle < nearest->triangle));
    if (!closer) return;
    *best = distance2;
    const sup_bvh_nearest found = {triangle, u, v, sqrt(distance2), at};
    *nearest = found;
}

SUP_BVH_QUERY sup_bvh_nearest closest_of(const sup_bvh *bvh, sup_vec3d point, double limit, sup_bvh_choose_fn *accept,
                                         void *user)
{
    int32_t stack[SUP_BVH_STACK], depth = 0;
    double distance[SUP_BVH_STACK]; /* squared, of the boxes of the stack */
    sup_bvh_nearest nearest = {-1, 0.0, 0.0, INFINITY, point};
    double best = limit * limit;
    if (bvh->node_count > 0) {
        distance[depth] = box_distance2(&bvh->nodes[0], point);
        stack[depth++] = 0;
    }
    while (depth > 0) {
        int32_t index = stack[--depth];
        const sup_bvh_node *node = &bvh->nodes[index];
        if (distance[depth] > best) continue;
        if (node->count == 0) { /* visit the nearer child first: push it last */
            int32_t left = index + 1, right = node->first;
            double to_left = box_distance2(&bvh->nodes[left], point),
                   to_right = box_distance2(&bvh->nodes[right], point);
            bool left_first = to_left <= to_right;
            stack[depth] = left_first ? right : left;
            distance[depth++] = left_first ? to_right : to_left;
            stack[depth] = left_first ? left : right;
            distance[depth++] = left_first ? to_left : to_right;
            continue;
        }
        for (int32_t k = 0; k < node->count; k++) {
            int32_t triangle = bvh->order[node->first + k];
            if (accept == NULL || accept(user, triangle)) try_triangle(bvh, triangle, point, &best, &nearest);
        }
    }
    return nearest;
}

SUP_BVH_QUERY bool count_crossing(void *user, const sup_bvh_hit *hit)
{
    *(int32_t *)user += hit->facing;
    return false; /* continue with the next hit */
}

SUP_BVH_QUERY bool is_inside(const sup_bvh *bvh, sup_vec3d point)
{
    /* Oblique directions, because models have many axis-aligned faces and edges. All sign combinations of one
     * direction, so that the result is symmetric for mirrored models. */
    enum { RAY_COUNT = 8 };
    int32_t inside = 0;
    for (int32_t k = 0; k < RAY_COUNT; k++) {
        int32_t crossings = 0;
        sup_vec3d direction = sup_v3(k & 1 ? -0.6133 : 0.6133, k & 2 ? -0.5471 : 0.5471, k & 4 ? -0.5699 : 0.5699);
        sup_bvh_ray ray = {point, direction, 0.0, INFINITY, count_crossing, &crossings};
        sup_bvh_hit hit;
        trace(bvh, &ray, true, &hit);
        inside += crossings != 0;
    }
    return 2 * inside >= RAY_COUNT;
}

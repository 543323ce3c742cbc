/* bone_collide.c - collisions of the shrinking surface with the wrap, and the retreat that resolves them.
 *
 * [komaritzan2022] 4.2.2, collision targets: the linear path from the current position back to the skin is followed
 * to the first state without collision; of several, the one nearest to the skin is used. Here a vertex collides when
 * the wrap lies between it and its skin vertex, and a triangle when a vertex of the wrap is outside of it; both are
 * tested at the current positions, instead of all pairs over time. */
#include "anatomy/bone_surface.h"

#include <math.h>

enum { VERTEX_GRAIN = 128, HALVINGS = 10 };
static const double clearance = 5e-4; /* distance kept from the wrap, metres */
static const double default_retreat = 0.2;

/* Fraction of the line to the skin after which a vertex leaves the wrap. */
static void collide_vertices(void *work, int32_t begin, int32_t end, int32_t worker)
{
    SUP_UNUSED(worker);
    sup_bone_surface_state *s = work;
    for (int32_t v = begin; v < end; v++) {
        s->retreat[v] = -1.0;
        if (s->def->excluded[v]) continue;
        sup_vec3d skin = sup_v3_at(s->skin, v), line = sup_v3_sub(sup_v3_at(s->positions, v), skin);
        double length = sup_v3_length(line);
        sup_bvh_ray ray = {.origin = skin, .direction = line, .t_min = 0.0, .t_max = 1.0};
        sup_bvh_hit hit;
        if (!(length > 1e-9) || !sup_bvh_ray_first(&s->wrap_view.bvh, &ray, &hit)) continue;
        s->retreat[v] = fmin(1.0, 1.0 - hit.t + clearance / length);
    }
}

/* Signed distance of a point above the plane of a triangle that has retreated by `fraction` towards the skin. */
static double height_above(const sup_bone_surface_state *s, int32_t triangle, double fraction, sup_vec3d p)
{
    const int32_t *c = s->own_view.triangles + 3 * (size_t)triangle;
    sup_vec3d q[3];
    for (int k = 0; k < 3; k++)
        q[k] = sup_v3_lerp(sup_v3_at(s->positions, c[k]), sup_v3_at(s->skin, c[k]), fraction);
    sup_vec3d normal = sup_v3_cross(sup_v3_sub(q[1], q[0]), sup_v3_sub(q[2], q[0]));
    return sup_v3_dot(sup_v3_unit_or(normal, sup_v3(0.0, 0.0, 0.0)), sup_v3_sub(p, q[0]));
}

static void collide_wrap(void *work, int32_t begin, int32_t end, int32_t worker)
{
    SUP_UNUSED(worker);
    sup_bone_surface_state *s = work;
    for (int32_t w = begin; w < end; w++) {
        sup_vec3d p = sup_v3_at(s->wrap_view.positions, w);
        sup_bvh_nearest near;
        s->wrap_hit[w] = -1;
        if (sup_mesh_view_distance(&s->own_view, p, 0.1, &near) <= 0.0 || near.triangle < 0) continue;
        const int32_t *c = s->own_view.triangles + 3 * (size_t)near.triangle;
        if (s->def->excluded[c[0]] && s->def->excluded[c[1]] && s->def->excluded[c[2]]) continue;
        double low = 0.0, high = 1.0;
        bool retreat_resolves = height_above(s, near.triangle, high, p) <= -clearance;
        for (int i = 0; i < HALVINGS && retreat_resolves; i++) {
            double middle = 0.5 * (low + high);
            if (height_above(s, near.triangle, middle, p) > -clearance)
                low = middle;
            else
                high = middle;
        }
        if (!retreat_resolves) high = default_retreat; /* tested again in the next iteration */
        s->wrap_hit[w] = near.triangle;
        s->wrap_retreat[w] = high;
    }
}

int32_t sup_bone_surface_collide(sup_bone_surface_state *s)
{
    sup_parallel(&s->context, s->count, VERTEX_GRAIN, collide_vertices, s);
    sup_parallel(&s->context, s->wrap_view.vertex_count, VERTEX_GRAIN, collide_wrap, s);
    for (int32_t w = 0; w < s->wrap_view.vertex_count; w++) {
        if (s->wrap_hit[w] < 0) continue;
        const int32_t *c = s->own_view.triangles + 3 * (size_t)s->wrap_hit[w];
        for (int k = 0; k < 3; k++)
            if (!s->def->excluded[c[k]]) s->retreat[c[k]] = fmax(s->retreat[c[k]], s->wrap_retreat[w]);
    }
    int32_t found = 0;
    for (int32_t v = 0; v < s->count; v++) {
        if (s->retreat[v] < 0.0) continue;
        sup_vec3d skin = sup_v3_at(s->skin, v);
        sup_vec3d back = sup_v3_lerp(sup_v3_at(s->positions, v), skin, s->retreat[v]);
        if (s->kind[v] == SUP_TARGET_COLLISION &&
            sup_v3_distance(back, skin) > sup_v3_distance(sup_v3_at(s->targets, v), skin))
            continue; /* the one nearest to the skin is used */
        s->kind[v] = SUP_TARGET_COLLISION;
        sup_v3_put(s->targets, v, back);
        found++;
    }
    return found;
}

/* bone_repair.c - the last collisions, vertices too near to the skin, and prisms that are turned over. */
#include "anatomy/enclosure.h"
#include "anatomy/bone_surface.h"

#include <math.h>

enum { ROUNDS = 40, VERTEX_GRAIN = 128 };

/* Keeps vertices inside the skin by the gap. */
static void keep_from_skin(void *work, int32_t begin, int32_t end, int32_t worker)
{
    SUP_UNUSED(worker);
    sup_bone_surface_state *s = work;
    double gap = s->def->skin_gap;
    for (int32_t v = begin; v < end; v++) {
        if (s->def->excluded[v]) continue;
        sup_bvh_nearest near;
        double distance = sup_mesh_view_distance(&s->skin_view, sup_v3_at(s->positions, v), INFINITY, &near);
        if (distance <= -gap) continue;
        sup_vec3d normal = sup_mesh_view_normal(&s->skin_view, near.triangle, near.u, near.v);
        sup_v3_put(s->positions, v, sup_v3_madd(near.point, -1.05 * gap, normal));
    }
}

/* Lines from the skin at the corners of turned prisms take the mean of their neighbours'. */
static int32_t untangle(sup_bone_surface_state *s, unsigned char *bad, unsigned char *moving, double *scratch)
{
    const int32_t *triangles = s->def->skin.triangles;
    int32_t count =
        sup_prisms_inverted(s->def->skin.triangle_count, triangles, s->positions, s->skin, s->def->excluded, bad);
    if (count == 0) return 0;
    memset(moving, 0, (size_t)s->count);
    for (int32_t t = 0; t < s->def->skin.triangle_count; t++)
        for (int k = 0; k < 3 && bad[t]; k++)
            moving[triangles[3 * (size_t)t + (size_t)k]] = 1;
    memcpy(scratch, s->positions, 3 * (size_t)s->count * sizeof *scratch);
    for (int32_t v = 0; v < s->count; v++) {
        bool near = moving[v];
        sup_vec3d sum = {0.0, 0.0, 0.0};
        for (int32_t i = s->first[v]; i < s->first[v + 1]; i++) {
            int32_t j = s->neighbours[i];
            near = near || moving[j];
            sum = sup_v3_add(sum, sup_v3_sub(sup_v3_at(scratch, j), sup_v3_at(s->skin, j)));
        }
        if (!near || s->def->excluded[v]) continue;
        sup_vec3d mean = sup_v3_madd(sup_v3_at(s->skin, v), 1.0 / (s->first[v + 1] - s->first[v]), sum);
        sup_v3_put(s->positions, v, sup_v3_lerp(sup_v3_at(scratch, v), mean, 0.5));
    }
    return count;
}

static int32_t retreat(sup_bone_surface_state *s)
{
    memset(s->kind, SUP_TARGET_CLOSEST, (size_t)s->count); /* collisions of now, not those of before */
    sup_mesh_view_move(&s->own_view, s->positions);
    int32_t found = sup_bone_surface_collide(s);
    for (int32_t v = 0; v < s->count && found > 0; v++)
        if (s->kind[v] == SUP_TARGET_COLLISION) sup_v3_put(s->positions, v, sup_v3_at(s->targets, v));
    return found;
}

void sup_bone_surface_repair(sup_bone_surface_state *s)
{
    unsigned char *bad = sup_arena_alloc(&s->arena, (size_t)s->def->skin.triangle_count + 1, 1);
    unsigned char *moving = sup_arena_alloc(&s->arena, (size_t)s->count + 1, 1);
    double *scratch = sup_arena_alloc(&s->arena, 3 * (size_t)s->count + 1, sizeof *scratch);
    if (bad == NULL || moving == NULL || scratch == NULL) return; /* what is left is counted and reported */
    bool clean = false;
    for (int round = 0; round < ROUNDS && !clean; round++) {
        int32_t turned = untangle(s, bad, moving, scratch);
        int32_t found = retreat(s);
        sup_parallel(&s->context, s->count, VERTEX_GRAIN, keep_from_skin, s);
        clean = turned == 0 && found == 0;
    }
    s->report->wrap_outside = sup_points_outside(
        &s->context, &(sup_shape){s->count, s->def->skin.triangle_count, s->positions, s->def->skin.triangles},
        s->wrap_view.vertex_count, s->wrap_view.positions, NULL, NULL);
}

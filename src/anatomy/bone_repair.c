/* bone_repair.c - resolves remaining collisions, vertices too close to the skin, and inverted prisms. */
#include "anatomy/enclosure.h"
#include "anatomy/bone_surface.h"

#include <math.h>

enum { PASSES = 16, UNTANGLE_PASSES = 12, STRAIGHTEN_PASSES = 6, NORMAL_PASSES = 4, VERTEX_GRAIN = 128 };
static const double thin = 1e-3; /* metres: the thinnest layer above the surface */
/* fraction of a line's length that is kept each time it belongs to an inverted prism */
static const double shorter = 0.99;

/* Keeps vertices inside the skin by the gap, on their lines: short lines are lengthened; lines that come close to
 * another part of the skin are shortened. */
static void keep_from_skin(void *work, int32_t begin, int32_t end, int32_t worker)
{
    SUP_UNUSED(worker);
    sup_bone_surface_state *s = work;
    double gap = s->def->skin_gap;
    for (int32_t v = begin; v < end; v++) {
        if (s->def->excluded[v]) continue;
        sup_vec3d here = sup_v3_at(s->positions, v), skin = sup_v3_at(s->skin, v), line = sup_v3_sub(here, skin);
        double distance = sup_mesh_view_distance(&s->skin_view, here, INFINITY, NULL), length = sup_v3_length(line);
        if (distance <= -gap) continue;
        sup_vec3d inward = sup_v3_scale(sup_v3_at(s->skin_view.normals, v), -1.0);
        sup_vec3d direction = sup_v3_unit_or(line, inward);
        double cosine = sup_v3_dot(direction, inward);
        if (cosine < 0.3) direction = sup_v3_unit_or(sup_v3_add(direction, inward), inward);
        bool is_short = length < 3.0 * gap;
        length = is_short ? length + (gap + distance) * 1.05 / fmax(cosine, 0.3) : 0.8 * length;
        sup_v3_put(s->positions, v, sup_v3_madd(skin, length, direction));
    }
}

/* Fills `near` with a point on each line, a small distance from `from` towards `to`. */
static void thin_layer(const sup_bone_surface_state *s, const double *from, const double *to, double *near)
{
    for (int32_t v = 0; v < s->count; v++) {
        sup_vec3d here = sup_v3_at(from, v), direction = sup_v3_sub(sup_v3_at(to, v), here);
        double length = sup_v3_length(direction);
        sup_v3_put(near, v, length > thin ? sup_v3_madd(here, thin / length, direction) : sup_v3_at(to, v));
    }
}

/* Marks the corners of inverted prisms: from the surface to the skin, thin ones above the surface, and thin ones
 * below the skin. Returns the number of prisms. */
static int32_t find_inverted(const sup_bone_surface_state *s, unsigned char *bad, unsigned char *moving, double *near)
{
    const sup_shape *skin = &s->def->skin;
    int32_t count = 0;
    memset(moving, 0, (size_t)s->count);
    for (int layer = 0; layer < 3; layer++) {
        if (layer == 1) thin_layer(s, s->positions, s->skin, near);
        if (layer == 2) thin_layer(s, s->skin, s->positions, near);
        count += sup_prisms_inverted(skin->triangle_count, skin->triangles, layer == 2 ? near : s->positions,
                                     layer == 1 ? near : s->skin, s->def->excluded, bad);
        for (int32_t t = 0; t < skin->triangle_count; t++)
            for (size_t k = 0; k < 3 && bad[t]; k++)
                moving[skin->triangles[3 * (size_t)t + k]] = 1;
    }
    return count;
}

/* Lines from the skin at the corners of inverted prisms and their neighbours take the mean direction of their
 * neighbours: a prism between parallel lines is not inverted, whatever their lengths. */
static int32_t untangle(sup_bone_surface_state *s, unsigned char *bad, unsigned char *moving, double *scratch)
{
    int32_t first = 0;
    for (int i = 0; i < UNTANGLE_PASSES; i++) {
        int32_t count = find_inverted(s, bad, moving, scratch);
        if (i == 0) first = count;
        if (count == 0) break;
        memcpy(scratch, s->positions, 3 * (size_t)s->count * sizeof *scratch);
        for (int32_t v = 0; v < s->count; v++) {
            bool near = moving[v];
            sup_vec3d skin = sup_v3_at(s->skin, v), line = sup_v3_sub(sup_v3_at(scratch, v), skin);
            sup_vec3d sum = sup_v3_unit_or(line, sup_v3(0.0, 0.0, 0.0));
            for (int32_t k = s->first[v]; k < s->first[v + 1]; k++) {
                int32_t j = s->neighbours[k];
                near = near || moving[j];
                sum = sup_v3_add(sum, sup_v3_unit_or(sup_v3_sub(sup_v3_at(scratch, j), sup_v3_at(s->skin, j)),
                                                     sup_v3(0.0, 0.0, 0.0)));
            }
            if (!near || s->def->excluded[v]) continue;
            double length = sup_v3_length(line) * (moving[v] ? shorter : 1.0);
            sup_v3_put(s->positions, v, sup_v3_madd(skin, length, sup_v3_unit_or(sum, line)));
        }
    }
    return first;
}

/* Fills `normals` with smooth normals of the skin. */
static void smooth_normals(const sup_bone_surface_state *s, double *normals, double *scratch)
{
    size_t bytes = 3 * (size_t)s->count * sizeof *normals;
    memcpy(normals, s->skin_view.normals, bytes);
    for (int pass = 0; pass < NORMAL_PASSES; pass++) {
        memcpy(scratch, normals, bytes);
        for (int32_t v = 0; v < s->count; v++) {
            sup_vec3d own = sup_v3_at(scratch, v), sum = own;
            for (int32_t i = s->first[v]; i < s->first[v + 1]; i++)
                sum = sup_v3_add(sum, sup_v3_at(scratch, s->neighbours[i]));
            sup_v3_put(normals, v, sup_v3_unit_or(sum, own));
        }
    }
}

/* Last resort, in folds such as an armpit: lines at inverted prisms become short and point along the smooth normals,
 * in rings that widen with every pass. */
static void shorten_at_folds(sup_bone_surface_state *s, unsigned char *bad, unsigned char *moving, double *scratch)
{
    double *normals = sup_arena_alloc(&s->arena, 3 * (size_t)s->count + 1, sizeof *normals);
    unsigned char *wide = sup_arena_alloc(&s->arena, (size_t)s->count + 1, 1);
    if (normals == NULL || wide == NULL) return;
    smooth_normals(s, normals, scratch);
    double minimum = 1.2 * s->def->skin_gap, maximum = 2.0 * s->def->skin_gap;
    for (int pass = 0; pass < STRAIGHTEN_PASSES && find_inverted(s, bad, moving, scratch) > 0; pass++) {
        for (int32_t v = 0; v < s->count; v++)
            wide[v] = wide[v] || moving[v];
        for (int32_t v = 0; v < s->count; v++) {
            bool near = wide[v];
            for (int32_t i = s->first[v]; i < s->first[v + 1] && pass > 0; i++)
                near = near || wide[s->neighbours[i]] == 1;
            if (!near || s->def->excluded[v]) continue;
            if (!wide[v]) wide[v] = 2; /* marked in this pass: not a seed of it */
            sup_vec3d skin = sup_v3_at(s->skin, v);
            double length = fmax(minimum, fmin(maximum, sup_v3_distance(skin, sup_v3_at(s->positions, v))));
            sup_v3_put(s->positions, v, sup_v3_madd(skin, -length, sup_v3_at(normals, v)));
        }
        for (int32_t v = 0; v < s->count; v++)
            wide[v] = wide[v] != 0;
    }
}

static int32_t retreat(sup_bone_surface_state *s)
{
    memset(s->kind, SUP_TARGET_CLOSEST, (size_t)s->count); /* only current collisions */
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
    if (bad == NULL || moving == NULL || scratch == NULL) return; /* the remaining ones are counted and reported */
    bool clean = false;
    for (int pass = 0; pass < PASSES && !clean; pass++) {
        int32_t found = retreat(s);
        sup_parallel(&s->context, s->count, VERTEX_GRAIN, keep_from_skin, s);
        int32_t inverted = untangle(s, bad, moving, scratch);
        clean = inverted == 0 && found == 0;
    }
    if (!clean) shorten_at_folds(s, bad, moving, scratch);
    s->report->wrap_outside = sup_points_outside(
        &s->context, &(sup_shape){s->count, s->def->skin.triangle_count, s->positions, s->def->skin.triangles},
        s->wrap_view.vertex_count, s->wrap_view.positions, NULL, NULL);
}

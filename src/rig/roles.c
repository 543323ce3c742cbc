/* roles.c - which parts are the skin, which ride on it, which are props.
 *
 * Parts without a skin are props. Skinned parts are judged by mesh (all primitives of one node): the mesh with the
 * largest area is skin. The others, largest first, are compared with the (up to 16 largest) meshes that are skin
 * already, on samples of their triangles weighted by area. A mesh
 *   - with less than 1/100 of the largest one's area, or
 *   - of which more than half lies inside that skin or within 1.5% of the character's size from it
 * is a follower: eyes and teeth are small or inside, clothes and hair hug what they cover. Any other mesh continues the
 * body, as where a character comes as head, trunk and legs, and is skin. */
#include "rig/rig.h"

#include "geometry/bvh.h"
#include "geometry/winding.h"

/* Samples of one mesh, and of all together: crowds of meshes get fewer each. */
enum { MOST_COMPARED = 16, LEAST_SAMPLES = 8, MOST_SAMPLES = 256, ALL_SAMPLES = 16384 };

static const double small_area = 0.01;
static const double near_distance = 0.015;
static const double covered_share = 0.5;

typedef struct mesh_group {
    int32_t node;
    int32_t triangle_first, triangle_count; /* of the skin: those of one node follow each other */
    double area;
    sup_primitive_role role;
} mesh_group;

static bool belongs_to_skin(const sup_rig_build *build, int32_t part)
{
    return !build->has_joints || sup_primitive_is_skinned(build->character, part);
}

/* Groups in the order of the parts, which stand by node. */
static int32_t gather_groups(sup_rig_build *build, mesh_group *groups)
{
    const sup_character *c = build->character;
    const sup_rig *rig = build->rig;
    int32_t count = 0, t = 0;
    for (int32_t p = 0; p < c->primitive_count; p++) {
        if (!belongs_to_skin(build, p)) continue;
        if (count == 0 || groups[count - 1].node != c->primitives[p].node)
            groups[count++] = (mesh_group){c->primitives[p].node, t, 0, 0.0, SUP_PRIMITIVE_SKIN};
        mesh_group *group = &groups[count - 1];
        int32_t end = c->primitives[p].triangle_first + c->primitives[p].triangle_count;
        for (; t < rig->skin_triangle_count && rig->skin_triangle_source[t] < end; t++) {
            group->area += build->triangle_area[t];
            group->triangle_count++;
        }
    }
    return count;
}

/* The meshes that are skin so far. */
typedef struct skin_so_far {
    int32_t count;
    sup_winding winding[MOST_COMPARED];
    sup_bvh bvh[MOST_COMPARED];
} skin_so_far;

static sup_result add_mesh(sup_rig_build *build, const mesh_group *group, skin_so_far *skin, sup_error *error)
{
    const int32_t *triangles = build->rig->skin_triangles + 3 * (size_t)group->triangle_first;
    sup_winding *winding = &skin->winding[skin->count];
    sup_result result = sup_winding_create(&build->context.allocator, build->rig->skin_positions, group->triangle_count,
                                           triangles, winding, error);
    if (result != SUP_OK) return result;
    result = sup_bvh_create(&build->context, build->rig->skin_positions, group->triangle_count, triangles,
                            &skin->bvh[skin->count], error);
    if (result != SUP_OK)
        sup_winding_destroy(winding);
    else
        skin->count++;
    return result;
}

static bool is_covered(const skin_so_far *skin, sup_vec3d p, double distance)
{
    double winding = 0.0;
    for (int32_t k = 0; k < skin->count; k++) {
        if (sup_bvh_closest(&skin->bvh[k], p, distance).triangle >= 0) return true;
        winding += sup_winding_number(&skin->winding[k], p);
    }
    return fabs(winding) > 0.5;
}

static sup_primitive_role judge(const sup_rig_build *build, const mesh_group *group, const mesh_group *main,
                           const skin_so_far *skin, int32_t samples)
{
    const sup_rig *rig = build->rig;
    if (group->area <= small_area * main->area) return SUP_PRIMITIVE_FOLLOWER;
    int32_t step = group->triangle_count / samples + 1;
    double covered = 0.0, all = 0.0;
    for (int32_t t = group->triangle_first; t < group->triangle_first + group->triangle_count; t += step) {
        sup_vec3d centre = sup_v3(0, 0, 0);
        for (int k = 0; k < 3; k++) {
            int32_t corner = rig->skin_triangles[3 * (size_t)t + (size_t)k];
            centre = sup_v3_madd(centre, 1.0 / 3.0, sup_v3_load(rig->skin_positions + 3 * (size_t)corner));
        }
        all += build->triangle_area[t];
        if (is_covered(skin, centre, near_distance * (double)rig->size)) covered += build->triangle_area[t];
    }
    return covered > covered_share * all ? SUP_PRIMITIVE_FOLLOWER : SUP_PRIMITIVE_SKIN;
}

/* Index of the largest group without a verdict yet; the first of equals. */
static int32_t largest(const mesh_group *groups, const bool *done, int32_t count)
{
    int32_t best = -1;
    for (int32_t g = 0; g < count; g++)
        if (!done[g] && (best < 0 || groups[g].area > groups[best].area)) best = g;
    return best;
}

static sup_result judge_groups(sup_rig_build *build, mesh_group *groups, int32_t count, sup_error *error)
{
    skin_so_far skin = {0};
    sup_result result = SUP_OK;
    bool *done = sup_arena_alloc(&build->scratch, (size_t)count, sizeof *done);
    if (done == NULL) return sup_fail_memory(error, "the roles of the parts");
    int32_t main = largest(groups, done, count), samples = ALL_SAMPLES / count;
    samples = samples < LEAST_SAMPLES ? LEAST_SAMPLES : samples > MOST_SAMPLES ? MOST_SAMPLES : samples;
    for (int32_t g = 0; g < count; g++) {
        if (g == main || groups[g].area > small_area * groups[main].area) continue;
        groups[g].role = SUP_PRIMITIVE_FOLLOWER;
        done[g] = true;
    }
    for (int32_t g = main; g >= 0 && result == SUP_OK; g = largest(groups, done, count)) {
        done[g] = true;
        if (g != main) groups[g].role = judge(build, &groups[g], &groups[main], &skin, samples);
        if (groups[g].role == SUP_PRIMITIVE_SKIN && skin.count < MOST_COMPARED)
            result = add_mesh(build, &groups[g], &skin, error);
    }
    for (int32_t k = 0; k < skin.count; k++) {
        sup_winding_destroy(&skin.winding[k]);
        sup_bvh_free(&skin.bvh[k]);
    }
    return result;
}

sup_result sup_rig_roles(sup_rig_build *build, sup_error *error)
{
    const sup_character *c = build->character;
    build->role = sup_arena_alloc(build->arena, (size_t)c->primitive_count, sizeof *build->role);
    mesh_group *groups = sup_arena_alloc(&build->scratch, (size_t)c->primitive_count, sizeof *groups);
    if (build->role == NULL || groups == NULL) return sup_fail_memory(error, "the roles of the parts");
    int32_t count = gather_groups(build, groups), g = -1;
    if (count > 1 && build->has_joints) {
        sup_result result = judge_groups(build, groups, count, error);
        if (result != SUP_OK) return result;
    }
    for (int32_t p = 0; p < c->primitive_count; p++) {
        bool skin = belongs_to_skin(build, p);
        if (skin && (g < 0 || groups[g].node != c->primitives[p].node)) g++;
        build->role[p] = skin ? groups[g].role : SUP_PRIMITIVE_PROP;
    }
    build->rig->primitive_role = build->role;
    return SUP_OK;
}

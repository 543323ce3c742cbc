/* outside_joints.c - joints that move the skin from outside of it. Methods that fill the skin with tissue around the bones need
 * them inside.
 *
 * Inside is where the winding number of all SUP_PRIMITIVE_SKIN triangles is above a quarter: it stays well above that under
 * a hole, and falls to 0 just outside of a closed skin. A joint on the surface counts as inside. A skin that encloses
 * nothing, such as a flat sheet, has no inside and is not judged.
 *
 * Weights that are made come from where the bones are: a skeleton that stands in another pose than the mesh, or in another
 * place or unit, has most of its joints outside, and is refused. */
#include "rig/rig.h"

#include "geometry/bvh.h"
#include "geometry/winding.h"

static const double inside_winding = 0.25;
static const double on_surface = 2e-3;  /* of the character's size */
static const double encloses = 1e-3;    /* volume / area^1.5; 0.094 for a sphere */
static const double least_weight = 0.1; /* a joint with less in every vertex does not shape the skin */
static const double most_outside = 0.3; /* of the joints that weights are made for */

/* Triangles of SUP_PRIMITIVE_SKIN parts. */
static int32_t *skin_role_triangles(sup_rig_build *build, int32_t *count)
{
    const sup_rig *rig = build->rig;
    int32_t *triangles = sup_arena_alloc(&build->scratch, 3 * (size_t)rig->skin_triangle_count, sizeof *triangles);
    *count = 0;
    for (int32_t t = 0; t < rig->skin_triangle_count && triangles != NULL; t++) {
        const int32_t *corners = rig->skin_triangles + 3 * (size_t)t;
        if (build->role[build->vertex_part[rig->skin_to_vertex[corners[0]]]] != SUP_PRIMITIVE_SKIN) continue;
        memcpy(triangles + 3 * (size_t)(*count)++, corners, 3 * sizeof *triangles);
    }
    return triangles;
}

/* Whether all weights of the skin are made. */
static bool all_made(const sup_rig_build *build)
{
    for (int32_t p = 0; p < build->character->primitive_count; p++)
        if (build->role[p] == SUP_PRIMITIVE_SKIN && !build->part_made[p]) return false;
    return true;
}

/* Joints that move vertices of SUP_PRIMITIVE_SKIN parts. */
static bool *moving_joints(sup_rig_build *build)
{
    const sup_rig *rig = build->rig;
    bool *moves = sup_arena_alloc(&build->scratch, (size_t)rig->joint_count, sizeof *moves);
    for (int32_t v = 0; v < rig->vertex_count && moves != NULL; v++) {
        if (build->role[build->vertex_part[v]] != SUP_PRIMITIVE_SKIN) continue;
        for (int32_t k = rig->influence_first[v]; k < rig->influence_first[v + 1]; k++)
            if ((double)rig->influence_weight[k] >= least_weight) moves[rig->influence_joint[k]] = true;
    }
    return moves;
}

/* Takes back the marks of joints on the surface. */
static sup_result forgive_surface(sup_rig_build *build, int32_t triangle_count, const int32_t *triangles, bool *outside,
                                  sup_error *error)
{
    const sup_rig *rig = build->rig;
    sup_bvh tree;
    sup_result result = sup_bvh_create(&build->context, rig->skin_positions, triangle_count, triangles, &tree, error);
    if (result != SUP_OK) return result;
    for (int32_t j = 0; j < rig->joint_count; j++) {
        sup_vec3d head = sup_v3_load(build->bone_head + 3 * (size_t)j);
        if (outside[j] && sup_bvh_closest(&tree, head, on_surface * (double)rig->size).triangle >= 0)
            outside[j] = false;
    }
    sup_bvh_free(&tree);
    return SUP_OK;
}

/* Bones that begin outside, of those that count: [joint_count]. */
static sup_result find_outside(sup_rig_build *build, bool *outside, sup_error *error)
{
    const sup_rig *rig = build->rig;
    int32_t triangle_count;
    int32_t *triangles = skin_role_triangles(build, &triangle_count);
    bool any = false;
    if (triangles == NULL) return sup_fail_memory(error, "the bones");
    sup_winding tree;
    sup_result result =
        sup_winding_create(&build->context.allocator, rig->skin_positions, triangle_count, triangles, &tree, error);
    if (result != SUP_OK) return result;
    bool has_inside = fabs(tree.volume) > encloses * tree.area * sqrt(tree.area);
    for (int32_t j = 0; j < rig->joint_count; j++) {
        sup_vec3d head = sup_v3_load(build->bone_head + 3 * (size_t)j);
        outside[j] = outside[j] && has_inside && build->joint_is_bone[j] &&
                     fabs(sup_winding_number(&tree, head)) < inside_winding;
        any = any || outside[j];
    }
    sup_winding_destroy(&tree);
    return any ? forgive_surface(build, triangle_count, triangles, outside, error) : SUP_OK;
}

sup_result sup_rig_bones_outside(sup_rig_build *build, sup_error *error)
{
    const sup_rig *rig = build->rig;
    bool made = all_made(build), *moves = moving_joints(build);
    bool *outside = sup_arena_alloc(&build->scratch, (size_t)rig->joint_count, sizeof *outside);
    if (moves == NULL || outside == NULL) return sup_fail_memory(error, "the bones");
    for (int32_t j = 0; j < rig->joint_count; j++)
        outside[j] = made || moves[j]; /* where weights are made every joint should have moved something */
    sup_result result = find_outside(build, outside, error);
    if (result != SUP_OK) return result;
    int32_t all = 0, bones = 0, count = 0, first = -1;
    for (int32_t j = 0; j < rig->joint_count; j++) {
        bones += build->joint_is_bone[j];
        all += outside[j];
        if (outside[j] && moves[j] && count++ == 0) first = rig->joint_node[j];
    }
    const char *name = first < 0 ? "" : sup_rig_node_name(build, first);
    if (made && (double)all > most_outside * (double)bones)
        return sup_rig_defect(build, SUP_DEFECT_BONE_OUTSIDE_SKIN, SUP_SEVERITY_FATAL, -1, all, first, error,
                              "%d of %d joints lie outside of the skin, so no weights can be made: bring the skeleton "
                              "into the mesh's place and pose, or give weights.",
                              all, bones);
    return sup_rig_defect(build, SUP_DEFECT_BONE_OUTSIDE_SKIN, SUP_SEVERITY_WARNING, -1, count, first, error,
                          "%d joint%s outside of the skin that %s (first: %s).", count, count == 1 ? " lies" : "s lie",
                          count == 1 ? "it moves" : "they move", name);
}

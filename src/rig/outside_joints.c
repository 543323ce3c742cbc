/* outside_joints.c - joints that influence the skin but lie outside of it. Methods that fill the skin with tissue
 * around the bones need the joints inside.
 *
 * A point is inside where the winding number of all SUP_PRIMITIVE_SKIN triangles is above a quarter: the number stays
 * well above that value near a hole and falls to 0 just outside of a closed skin. A joint on the surface counts as
 * inside. A skin that encloses no volume, such as a flat sheet, has no inside and is not checked.
 *
 * Computed weights depend on the bone positions: a skeleton with another pose, position or unit than the mesh has most
 * of its joints outside, and is rejected. */
#include "rig/rig.h"

#include "geometry/bvh.h"
#include "geometry/winding.h"

static const double inside_winding = 0.25;
static const double on_surface = 2e-3; /* relative to the character's size */
static const double min_volume = 1e-3; /* volume / area^1.5; 0.094 for a sphere */
static const double min_weight = 0.1;  /* joints with less in every vertex are ignored */
static const double max_outside = 0.3; /* fraction of the joints, if weights are computed */

/* Collects the triangles of SUP_PRIMITIVE_SKIN primitives. NULL when out of memory. */
static int32_t *skin_role_triangles(const sup_rig *rig, const sup_rig_surface *surface, sup_arena *scratch,
                                    int32_t *count)
{
    int32_t *triangles = sup_arena_alloc(scratch, 3 * (size_t)rig->skin_triangle_count, sizeof *triangles);
    *count = 0;
    for (int32_t t = 0; t < rig->skin_triangle_count && triangles != NULL; t++) {
        const int32_t *corners = rig->skin_triangles + 3 * (size_t)t;
        if (surface->role[surface->vertex_primitive[rig->skin_to_vertex[corners[0]]]] != SUP_PRIMITIVE_SKIN) continue;
        memcpy(triangles + 3 * (size_t)(*count)++, corners, 3 * sizeof *triangles);
    }
    return triangles;
}

/* Whether all weights of SUP_PRIMITIVE_SKIN primitives are computed. */
static bool all_computed(int32_t primitive_count, const sup_primitive_role *role, const bool *is_computed)
{
    for (int32_t p = 0; p < primitive_count; p++)
        if (role[p] == SUP_PRIMITIVE_SKIN && !is_computed[p]) return false;
    return true;
}

/* Marks the joints that influence vertices of SUP_PRIMITIVE_SKIN primitives. NULL when out of memory. */
static bool *influencing_joints(const sup_rig *rig, const sup_rig_surface *surface, sup_arena *scratch)
{
    bool *influences = sup_arena_alloc(scratch, (size_t)rig->joint_count, sizeof *influences);
    for (int32_t v = 0; v < rig->vertex_count && influences != NULL; v++) {
        if (surface->role[surface->vertex_primitive[v]] != SUP_PRIMITIVE_SKIN) continue;
        for (int32_t k = rig->influence_first[v]; k < rig->influence_first[v + 1]; k++)
            if ((double)rig->influence_weight[k] >= min_weight) influences[rig->influence_joint[k]] = true;
    }
    return influences;
}

/* Clears the marks of joints on the surface. */
static sup_result exclude_surface_joints(const sup_context *context, const sup_rig *rig, int32_t triangle_count,
                                         const int32_t *triangles, bool *outside, sup_error *error)
{
    sup_bvh tree;
    sup_result result = sup_bvh_create(context, rig->skin_positions, triangle_count, triangles, &tree, error);
    if (result != SUP_OK) return result;
    for (int32_t j = 0; j < rig->joint_count; j++) {
        sup_vec3d head = sup_v3_load(rig->bone_head + 3 * (size_t)j);
        if (outside[j] && sup_bvh_closest(&tree, head, on_surface * (double)rig->size).triangle >= 0)
            outside[j] = false;
    }
    sup_bvh_free(&tree);
    return SUP_OK;
}

/* Clears outside[joint_count] for joints that are not bones or whose head is inside the skin. */
static sup_result find_outside(const sup_context *context, const sup_rig *rig, int32_t triangle_count,
                               const int32_t *triangles, const bool *is_bone, bool *outside, sup_error *error)
{
    bool any = false;
    sup_winding tree;
    sup_result result =
        sup_winding_create(&context->allocator, rig->skin_positions, triangle_count, triangles, &tree, error);
    if (result != SUP_OK) return result;
    bool has_inside = fabs(tree.volume) > min_volume * tree.area * sqrt(tree.area);
    for (int32_t j = 0; j < rig->joint_count; j++) {
        sup_vec3d head = sup_v3_load(rig->bone_head + 3 * (size_t)j);
        outside[j] = outside[j] && has_inside && is_bone[j] && fabs(sup_winding_number(&tree, head)) < inside_winding;
        any = any || outside[j];
    }
    sup_winding_destroy(&tree);
    return any ? exclude_surface_joints(context, rig, triangle_count, triangles, outside, error) : SUP_OK;
}

sup_result sup_rig_outside_joints(sup_rig_build *build, sup_error *error)
{
    const sup_rig *rig = build->rig;
    int32_t triangle_count;
    bool computed = all_computed(build->character->primitive_count, build->surface.role, build->weights.is_computed);
    bool *influences = influencing_joints(rig, &build->surface, &build->scratch);
    bool *outside = sup_arena_alloc(&build->scratch, (size_t)rig->joint_count, sizeof *outside);
    int32_t *triangles = skin_role_triangles(rig, &build->surface, &build->scratch, &triangle_count);
    if (influences == NULL || outside == NULL || triangles == NULL) return sup_fail_memory(error, "the bones");
    for (int32_t j = 0; j < rig->joint_count; j++)
        outside[j] = computed || influences[j]; /* with computed weights every joint should have influence */
    sup_result result =
        find_outside(&build->context, rig, triangle_count, triangles, build->skeleton.is_bone, outside, error);
    if (result != SUP_OK) return result;
    int32_t total = 0, bones = 0, count = 0, first = -1;
    for (int32_t j = 0; j < rig->joint_count; j++) {
        bones += build->skeleton.is_bone[j];
        total += outside[j];
        if (outside[j] && influences[j] && count++ == 0) first = rig->joint_node[j];
    }
    const char *name = first < 0 ? "" : sup_rig_node_name(build->character, first);
    if (computed && (double)total > max_outside * (double)bones)
        return sup_rig_defect(&build->defects, SUP_DEFECT_BONE_OUTSIDE_SKIN, SUP_SEVERITY_FATAL, -1, total, first,
                              error,
                              "%d of %d joints lie outside of the skin, so that weights cannot be computed: align the "
                              "position and pose of the skeleton with the mesh, or provide weights.",
                              total, bones);
    return sup_rig_defect(&build->defects, SUP_DEFECT_BONE_OUTSIDE_SKIN, SUP_SEVERITY_WARNING, -1, count, first, error,
                          "%d joint%s outside of the skin that %s (first: %s).", count, count == 1 ? " lies" : "s lie",
                          count == 1 ? "it influences" : "they influence", name);
}

/* rigid_components.c - connected components of the skin that follow one joint: armour, buckles, eyes, parts of robots.
 *
 * They have no tissue: a method that deforms skin leaves them to linear blending. */
#include "rig/rig.h"

static const float rigid_weight = 0.99f; /* smallest weight of the one joint, in every vertex */
enum { UNSEEN = -2, NONE = -1 };

/* The joint that each component follows; NONE for components with several. */
static void find_joints(const sup_rig *rig, int32_t *joint)
{
    for (int32_t c = 0; c < rig->component_count; c++)
        joint[c] = UNSEEN;
    for (int32_t v = 0; v < rig->skin_vertex_count; v++) {
        int32_t c = rig->skin_component[v], i = rig->influence_first[rig->skin_to_vertex[v]];
        if (c < 0) continue;
        int32_t own = rig->influence_weight[i] >= rigid_weight ? rig->influence_joint[i] : NONE;
        joint[c] = joint[c] == UNSEEN || joint[c] == own ? own : NONE;
    }
}

sup_result sup_rig_rigid_components(sup_rig_build *build, sup_error *error)
{
    const sup_rig *rig = build->rig;
    int32_t *joint = sup_arena_alloc(&build->scratch, (size_t)rig->component_count, sizeof *joint);
    int32_t *vertex_joint = sup_arena_alloc(build->arena, (size_t)rig->skin_vertex_count, sizeof *vertex_joint);
    if (joint == NULL || vertex_joint == NULL) return sup_fail_memory(error, "the rigid components of the skin");
    find_joints(rig, joint);
    for (int32_t v = 0; v < rig->skin_vertex_count; v++) {
        int32_t c = rig->skin_component[v];
        vertex_joint[v] = c < 0 || joint[c] < 0 ? NONE : joint[c];
    }
    build->rigid_joint = vertex_joint;
    return SUP_OK;
}

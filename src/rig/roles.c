/* roles.c - which parts are the skin, which ride on it, which are props. */
#include "rig/rig.h"

sup_result sup_rig_roles(sup_rig_build *build, sup_error *error)
{
    const sup_character *c = build->character;
    build->role = sup_arena_alloc(build->arena, (size_t)c->part_count, sizeof *build->role);
    if (build->role == NULL) return sup_fail_memory(error, "the roles of the parts");
    for (int32_t p = 0; p < c->part_count; p++)
        build->role[p] = !build->has_joints || sup_part_is_skinned(c, p) ? SUP_PART_SKIN : SUP_PART_PROP;
    build->rig->part_role = build->role;
    return SUP_OK;
}

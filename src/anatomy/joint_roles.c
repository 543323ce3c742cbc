/* joint_roles.c - finds the joints of head and limbs by the words that retargeting knows. */
#include "anatomy/joint_roles.h"

#include "pose/joint_names.h"

_Static_assert((int)SUP_ROLE_COUNT == (int)SUP_LIMB_COUNT && (int)SUP_ROLE_TOE == (int)SUP_LIMB_TOE &&
                   (int)SUP_ROLE_UPPER_LEG == (int)SUP_LIMB_UPPER_LEG,
               "limbs in one order");

void sup_joint_mark_below(int32_t joint_count, const int32_t *parents, int32_t joint, unsigned char *marks)
{
    for (int32_t j = joint < 0 ? joint_count : joint; j < joint_count; j++) {
        int32_t up = j;
        while (up > joint)
            up = parents[up];
        if (up == joint) marks[j] = 1;
    }
}

static void set_roles(const sup_named_skeleton *skeleton, sup_joint_roles *roles)
{
    roles->hips = skeleton->body.hips;
    roles->chest = skeleton->body.chest;
    roles->head = skeleton->body.head;
    for (int side = 0; side < 2; side++)
        for (int limb = 0; limb < SUP_ROLE_COUNT; limb++)
            roles->limb[side][limb] = skeleton->body.limb[side][limb];
}

sup_result sup_joint_roles_find(const sup_context *context, int32_t joint_count, const char *const *names,
                                const int32_t *parents, const double *positions, sup_joint_roles *roles,
                                sup_error *error)
{
    sup_context resolved = sup_context_resolve(context);
    sup_arena arena = sup_arena_create(&resolved.allocator);
    sup_node *nodes = sup_arena_alloc(&arena, (size_t)joint_count, sizeof *nodes);
    for (int32_t j = 0; nodes != NULL && j < joint_count; j++) {
        const double *at = positions + 3 * (size_t)j, *up = parents[j] < 0 ? NULL : positions + 3 * (size_t)parents[j];
        nodes[j] = (sup_node){.name = names[j], .parent = parents[j], .is_joint = true};
        nodes[j].rest.rotation.w = 1.0f;
        nodes[j].rest.scale = (sup_vec3){1.0f, 1.0f, 1.0f};
        nodes[j].rest.translation = (sup_vec3){(float)(at[0] - (up ? up[0] : 0.0)), (float)(at[1] - (up ? up[1] : 0.0)),
                                               (float)(at[2] - (up ? up[2] : 0.0))};
    }
    sup_character source = {.name = "", .node_count = joint_count, .nodes = nodes};
    sup_character *character = NULL;
    sup_result result = nodes == NULL ? sup_fail_memory(error, "joint names")
                                      : sup_character_create(context, &source, &character, error);
    sup_named_skeleton skeleton = {0};
    if (result == SUP_OK && !sup_named_skeleton_make(&arena, character, &skeleton))
        result = sup_fail_memory(error, "joint names");
    if (result == SUP_OK) set_roles(&skeleton, roles);
    sup_character_destroy(character);
    sup_arena_destroy(&arena);
    return result;
}

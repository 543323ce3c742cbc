/* joint_roles.c - roles from the limbs that the names tell, handed down to all joints below. */
#include "anatomy/joint_roles.h"
#include "pose/joint_names.h"

static const sup_joint_role limb_roles[SUP_LIMB_COUNT] = {
    [SUP_LIMB_CLAVICLE] = SUP_ROLE_CLAVICLE,   [SUP_LIMB_UPPER_ARM] = SUP_ROLE_UPPER_ARM,
    [SUP_LIMB_FOREARM] = SUP_ROLE_FOREARM,     [SUP_LIMB_HAND] = SUP_ROLE_HAND,
    [SUP_LIMB_UPPER_LEG] = SUP_ROLE_UPPER_LEG, [SUP_LIMB_LOWER_LEG] = SUP_ROLE_LOWER_LEG,
    [SUP_LIMB_FOOT] = SUP_ROLE_FOOT,           [SUP_LIMB_TOE] = SUP_ROLE_TOE};

static const char *const limb_names[SUP_LIMB_COUNT] = {
    [SUP_LIMB_UPPER_ARM] = "upper arm", [SUP_LIMB_FOREARM] = "forearm (elbow)",    [SUP_LIMB_HAND] = "hand (wrist)",
    [SUP_LIMB_UPPER_LEG] = "thigh",     [SUP_LIMB_LOWER_LEG] = "lower leg (knee)", [SUP_LIMB_FOOT] = "foot (ankle)"};

static sup_result missing(sup_error *error, const char *side, const char *what)
{
    return sup_fail(error, SUP_ERROR_DATA, "anatomy.skeleton.human", "",
                    "The skeleton has no %s%s by name: anatomy needs a human with a head, two arms and two legs, and "
                    "joints that are named after them.",
                    side, what);
}

static sup_result check_body(const sup_body *body, sup_error *error)
{
    for (int side = 0; side < 2; side++)
        for (int limb = 0; limb < SUP_LIMB_COUNT; limb++)
            if (limb_names[limb] != NULL && body->limb[side][limb] < 0)
                return missing(error, side == SUP_SIDE_LEFT ? "left " : "right ", limb_names[limb]);
    if (body->head < 0) return missing(error, "", "head");
    if (body->hips < 0) return missing(error, "", "hips");
    return SUP_OK;
}

static void mark_limbs(const sup_named_skeleton *s, sup_joint_role *roles, bool *known)
{
    for (int side = 0; side < 2; side++)
        for (int limb = 0; limb < SUP_LIMB_COUNT; limb++) {
            int32_t joint = s->body.limb[side][limb];
            if (joint < 0) continue;
            roles[joint] = limb_roles[limb];
            known[joint] = true;
        }
    for (int32_t j = s->body.head; j >= 0 && !known[j] && j != s->body.chest && j != s->body.hips;
         j = s->character->nodes[j].parent) {
        roles[j] = j == s->body.head ? SUP_ROLE_HEAD : SUP_ROLE_NECK;
        known[j] = true;
    }
}

sup_result sup_joint_roles(const sup_context *context, const sup_character *skeleton, sup_joint_role *roles,
                           sup_error *error)
{
    sup_context resolved = sup_context_resolve(context);
    sup_arena arena = sup_arena_create(&resolved.allocator);
    sup_named_skeleton named;
    int32_t count = skeleton->node_count;
    bool *known = sup_arena_alloc(&arena, (size_t)count + 1, sizeof *known);
    sup_result result = SUP_OK;
    if (known == NULL || !sup_named_skeleton_make(&arena, skeleton, &named))
        result = sup_fail_memory(error, "a skeleton");
    else
        result = check_body(&named.body, error);
    if (result == SUP_OK) {
        mark_limbs(&named, roles, known);
        for (int32_t i = 0; i < count; i++) { /* parents first */
            int32_t node = skeleton->node_order[i], parent = skeleton->nodes[node].parent;
            if (known[node]) continue;
            bool below = sup_skeleton_is_above(&named, named.body.hips, node);
            if (node == named.body.hips || !below)
                roles[node] = SUP_ROLE_PELVIS;
            else if (parent == named.body.hips || roles[parent] == SUP_ROLE_PELVIS)
                roles[node] = SUP_ROLE_SPINE;
            else
                roles[node] = roles[parent];
        }
        /* Helpers between the hips and a thigh or the chest and a collar bone stand with what they hang on. */
        for (int side = 0; side < 2; side++)
            for (int32_t j = named.body.limb[side][SUP_LIMB_UPPER_LEG]; j >= 0; j = skeleton->nodes[j].parent)
                if (!known[j]) roles[j] = SUP_ROLE_PELVIS;
    }
    sup_arena_destroy(&arena);
    return result;
}

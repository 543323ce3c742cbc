/* body_roles.c - assigns roles to joints: limbs by name, descendants inherit. */
#include "anatomy/body_roles.h"
#include "anatomy/joint_roles.h"

enum { UNKNOWN = -1 };

static const sup_body_role limb_roles[SUP_ROLE_COUNT] = {
    [SUP_ROLE_CLAVICLE] = SUP_BODY_CLAVICLE,   [SUP_ROLE_UPPER_ARM] = SUP_BODY_UPPER_ARM,
    [SUP_ROLE_FOREARM] = SUP_BODY_FOREARM,     [SUP_ROLE_HAND] = SUP_BODY_HAND,
    [SUP_ROLE_UPPER_LEG] = SUP_BODY_UPPER_LEG, [SUP_ROLE_LOWER_LEG] = SUP_BODY_LOWER_LEG,
    [SUP_ROLE_FOOT] = SUP_BODY_FOOT,           [SUP_ROLE_TOE] = SUP_BODY_TOE};

static const char *const limb_names[SUP_ROLE_COUNT] = {
    [SUP_ROLE_UPPER_ARM] = "upper arm", [SUP_ROLE_FOREARM] = "forearm (elbow)",    [SUP_ROLE_HAND] = "hand (wrist)",
    [SUP_ROLE_UPPER_LEG] = "thigh",     [SUP_ROLE_LOWER_LEG] = "lower leg (knee)", [SUP_ROLE_FOOT] = "foot (ankle)"};

static sup_result missing(sup_error *error, const char *side, const char *what)
{
    return sup_fail(error, SUP_ERROR_DATA, "anatomy.skeleton.human", "",
                    "The skeleton has no joint that is named like a %s%s: anatomy needs a human with a head, two arms "
                    "and two legs. Rename the joint.",
                    side, what);
}

static sup_result check_body(const sup_joint_roles *body, sup_error *error)
{
    for (int side = 0; side < 2; side++)
        for (int limb = 0; limb < SUP_ROLE_COUNT; limb++)
            if (limb_names[limb] != NULL && body->limb[side][limb] < 0)
                return missing(error, side == 0 ? "left " : "right ", limb_names[limb]);
    if (body->head < 0) return missing(error, "", "head");
    if (body->hips < 0) return missing(error, "", "hips");
    return SUP_OK;
}

/* Limbs and head by name; joints between head and trunk are neck, joints above the hips are pelvis. */
static void mark_named(const sup_joint_roles *body, const sup_joints *joints, int8_t *found)
{
    for (int side = 0; side < 2; side++)
        for (int limb = 0; limb < SUP_ROLE_COUNT; limb++)
            if (body->limb[side][limb] >= 0) found[body->limb[side][limb]] = (int8_t)limb_roles[limb];
    for (int32_t j = body->head; j >= 0 && j != body->chest && j != body->hips && found[j] == UNKNOWN;
         j = joints->parents[j])
        found[j] = j == body->head ? SUP_BODY_HEAD : SUP_BODY_NECK;
    for (int32_t j = body->hips; j >= 0; j = joints->parents[j])
        found[j] = SUP_BODY_PELVIS;
    for (int side = 0; side < 2; side++) /* helper joints between the hips and a thigh */
        for (int32_t j = joints->parents[body->limb[side][SUP_ROLE_UPPER_LEG]]; j >= 0; j = joints->parents[j])
            if (found[j] == UNKNOWN) found[j] = SUP_BODY_PELVIS;
}

sup_result sup_body_roles(const sup_context *context, const sup_joints *joints, sup_body_role *roles, sup_error *error)
{
    sup_context resolved = sup_context_resolve(context);
    sup_joint_roles body;
    sup_result result =
        sup_joint_roles_find(&resolved, joints->count, joints->names, joints->parents, joints->positions, &body, error);
    if (result == SUP_OK) result = check_body(&body, error);
    if (result != SUP_OK) return result;
    int8_t *found = sup_alloc(&resolved.allocator, (size_t)joints->count);
    if (found == NULL) return sup_fail_memory(error, "a skeleton");
    memset(found, UNKNOWN, (size_t)joints->count);
    mark_named(&body, joints, found);
    for (int32_t j = 0; j < joints->count; j++) { /* parents first */
        int32_t parent = joints->parents[j];
        if (found[j] == UNKNOWN)
            found[j] = (int8_t)(parent < 0                         ? SUP_BODY_PELVIS
                                : found[parent] == SUP_BODY_PELVIS ? SUP_BODY_SPINE
                                                                   : found[parent]);
        roles[j] = (sup_body_role)found[j];
    }
    sup_free(&resolved.allocator, found, (size_t)joints->count);
    return SUP_OK;
}

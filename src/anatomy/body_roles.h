/* body_roles.h (internal) - the part of a human body that each joint moves. */
#ifndef SUP_ANATOMY_BODY_ROLES_H
#define SUP_ANATOMY_BODY_ROLES_H

#include "base/base.h"
#include "supple/anatomy.h"

typedef enum sup_body_role {
    SUP_BODY_PELVIS,
    SUP_BODY_SPINE,
    SUP_BODY_NECK,
    SUP_BODY_HEAD,
    SUP_BODY_CLAVICLE,
    SUP_BODY_UPPER_ARM,
    SUP_BODY_FOREARM,
    SUP_BODY_HAND,
    SUP_BODY_UPPER_LEG,
    SUP_BODY_LOWER_LEG,
    SUP_BODY_FOOT,
    SUP_BODY_TOE
} sup_body_role;

/* Roles [joints->count] of all joints, by name and position. Fails with SUP_ERROR_DATA, anatomy.skeleton.human, and
 * names the missing joint, unless there are a head, two arms and two legs. */
sup_result sup_body_roles(const sup_context *context, const sup_joints *joints, sup_body_role *roles, sup_error *error);

#endif

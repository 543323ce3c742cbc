/* joint_roles.h (internal) - what part of a human body each joint moves. */
#ifndef SUP_ANATOMY_JOINT_ROLES_H
#define SUP_ANATOMY_JOINT_ROLES_H

#include "base/base.h"
#include "supple/character.h"

typedef enum sup_joint_role {
    SUP_ROLE_PELVIS,
    SUP_ROLE_SPINE,
    SUP_ROLE_NECK,
    SUP_ROLE_HEAD,
    SUP_ROLE_CLAVICLE,
    SUP_ROLE_UPPER_ARM,
    SUP_ROLE_FOREARM,
    SUP_ROLE_HAND,
    SUP_ROLE_UPPER_LEG,
    SUP_ROLE_LOWER_LEG,
    SUP_ROLE_FOOT,
    SUP_ROLE_TOE
} sup_joint_role;

/* Roles of all nodes of a skeleton, by their names and their places in it (pose/body.c). SUP_ERROR_DATA,
 * anatomy.skeleton.human, naming what is missing, when it has no head, two arms and two legs. */
sup_result sup_joint_roles(const sup_context *context, const sup_character *skeleton, sup_joint_role *roles,
                           sup_error *error);

#endif

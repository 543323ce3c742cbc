/* joint_roles.h (internal) - the joints of head, arms and legs, found by name as in retargeting. */
#ifndef SUP_ANATOMY_JOINT_ROLES_H
#define SUP_ANATOMY_JOINT_ROLES_H

#include "base/base.h"

typedef enum sup_role_limb {
    SUP_ROLE_CLAVICLE,
    SUP_ROLE_UPPER_ARM,
    SUP_ROLE_FOREARM,
    SUP_ROLE_HAND,
    SUP_ROLE_UPPER_LEG,
    SUP_ROLE_LOWER_LEG,
    SUP_ROLE_FOOT,
    SUP_ROLE_TOE,
    SUP_ROLE_COUNT
} sup_role_limb;

/* Joint indices, -1 if not found by name. Side 0 is left. */
typedef struct sup_joint_roles {
    int32_t hips, chest, head;
    int32_t limb[2][SUP_ROLE_COUNT];
} sup_joint_roles;

sup_result sup_joint_roles_find(const sup_context *context, int32_t joint_count, const char *const *names,
                                const int32_t *parents, const double *positions, sup_joint_roles *roles,
                                sup_error *error);

/* marks[j] = 1 for `joint` and all its descendants; does nothing for -1. Parents come before children. */
void sup_joint_mark_below(int32_t joint_count, const int32_t *parents, int32_t joint, unsigned char *marks);

#endif

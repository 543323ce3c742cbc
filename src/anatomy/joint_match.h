/* joint_match.h (internal) - corresponding joints of two human skeletons with different names. */
#ifndef SUP_ANATOMY_JOINT_MATCH_H
#define SUP_ANATOMY_JOINT_MATCH_H

#include "base/base.h"
#include "supple/anatomy.h"

/* match[j] (from->count) gets the joint of `to` that corresponds to joint j of `from`, -1 if there is none: the same
 * name, else the nearest joint of the same role and side, in body heights above the hips. Both must be human
 * (sup_body_roles) unless all names are equal. */
sup_result sup_joints_match(const sup_context *context, const sup_joints *from, const sup_joints *to, int32_t *match,
                            sup_error *error);

#endif

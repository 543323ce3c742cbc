/* bone_parts.h (internal) - the part of the skeleton that a detailed bone belongs to, and the joint that moves it. */
#ifndef SUP_ANATOMY_BONE_PARTS_H
#define SUP_ANATOMY_BONE_PARTS_H

#include "anatomy/body_roles.h"

typedef enum sup_bone_part {
    SUP_PART_THORAX,   /* ribs, sternum, thoracic vertebrae */
    SUP_PART_SHOULDER, /* scapula, clavicle */
    SUP_PART_LUMBAR,
    SUP_PART_PELVIS,
    SUP_PART_NECK,
    SUP_PART_HEAD,
    SUP_PART_UPPER_ARM,
    SUP_PART_FOREARM,
    SUP_PART_UPPER_LEG,
    SUP_PART_LOWER_LEG,
    SUP_PART_END, /* hand, foot, toe */
    SUP_PART_COUNT,
    SUP_PART_UNKNOWN = SUP_PART_COUNT
} sup_bone_part;

/* By the words of the name; SUP_PART_UNKNOWN for limbs, head and other names. */
sup_bone_part sup_bone_part_of_name(const char *name);
/* By the name, else by the role of the joint that the bone follows. */
sup_bone_part sup_bone_part_of(const char *name, sup_body_role role);
/* Whether bones of this part (given by its name) follow a joint of this role. */
bool sup_bone_part_follows(sup_bone_part part, sup_body_role role);

#endif

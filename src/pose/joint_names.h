/* joint_names.h (internal) - what the names of joints say: side, part of the body, finger. */
#ifndef SUP_POSE_JOINT_NAMES_H
#define SUP_POSE_JOINT_NAMES_H

#include "base/base.h"
#include "supple/character.h"

typedef enum sup_side { SUP_SIDE_LEFT, SUP_SIDE_RIGHT, SUP_SIDE_NONE } sup_side;

/* A name without case, prefixes ("mixamorig:"), separators and filler ("joint", "bip01"). */
typedef struct sup_joint_name {
    char base[40];  /* letters that are left: "LeftUpLeg", "upleg_l", "L.UpLeg" are all "upleg" */
    sup_side side;  /* left, right, L, r, at either end */
    bool is_helper; /* starts with "__": MakeHuman's connecting bones */
    int8_t finger;  /* 0 thumb .. 4 little finger, -1 for none */
    int32_t number; /* digits of the name read as one number: "spine_01" 1, "finger2-3" 23; -1 for none */
} sup_joint_name;

sup_joint_name sup_joint_name_parse(const char *name);
/* The same word, side and number. */
bool sup_joint_name_same(const sup_joint_name *a, const sup_joint_name *b);

/* Joints of the limbs, from the trunk out. Fingers are apart. */
typedef enum sup_limb {
    SUP_LIMB_CLAVICLE,
    SUP_LIMB_UPPER_ARM,
    SUP_LIMB_FOREARM,
    SUP_LIMB_HAND,
    SUP_LIMB_UPPER_LEG,
    SUP_LIMB_LOWER_LEG,
    SUP_LIMB_FOOT,
    SUP_LIMB_TOE,
    SUP_LIMB_COUNT
} sup_limb;

/* The human (or animal with such names) in a skeleton; nodes, -1 where there is none. */
typedef struct sup_body_joints {
    int32_t hips, chest, head;
    int32_t limb[2][SUP_LIMB_COUNT]; /* by sup_side */
} sup_body_joints;

/* A skeleton with what its names say. All arrays are [node_count] and live in the arena it was made with. */
typedef struct sup_named_skeleton {
    const sup_character *character;
    const sup_joint_name *names;
    const int32_t *depth;  /* 0 for roots */
    const int32_t *enter;  /* place in a walk that visits a node, then all below it */
    const int32_t *size;   /* nodes at and below this one */
    const bool *is_usable; /* a joint; every node where the character has no joints at all */
    sup_body_joints body;
} sup_named_skeleton;

/* False when memory ran out. */
bool sup_named_skeleton_make(sup_arena *arena, const sup_character *character, sup_named_skeleton *skeleton);

/* Node at or above both, -1 when they share no root; -1 for -1. */
int32_t sup_skeleton_common(const sup_named_skeleton *skeleton, int32_t a, int32_t b);
bool sup_skeleton_is_above(const sup_named_skeleton *skeleton, int32_t above, int32_t below); /* not itself */

#endif

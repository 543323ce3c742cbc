/* joint_names.h (internal) - side, body joint and finger from joint names. */
#ifndef SUP_POSE_JOINT_NAMES_H
#define SUP_POSE_JOINT_NAMES_H

#include "base/base.h"
#include "supple/character.h"

typedef enum sup_side { SUP_SIDE_LEFT, SUP_SIDE_RIGHT, SUP_SIDE_NONE } sup_side;

/* A normalised name: lower case without prefixes ("mixamorig:"), separators and filler words ("joint", "bip01"). */
typedef struct sup_joint_name {
    char base[40];  /* remaining letters: "upleg" for "LeftUpLeg", "upleg_l" and "L.UpLeg" */
    sup_side side;  /* from left, right, L, r at either end */
    bool is_helper; /* starts with "__": MakeHuman's connecting bones */
    int8_t finger;  /* 0 thumb .. 4 little finger, -1 for none */
    int32_t number; /* all digits as one number: 1 for "spine_01", 23 for "finger2-3"; -1 for none */
} sup_joint_name;

sup_joint_name sup_joint_name_parse(const char *name);
/* The same word, side and number. */
bool sup_joint_name_same(const sup_joint_name *a, const sup_joint_name *b);

/* Limb joints, from the trunk outward; without fingers. */
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

/* Body joints of a human (or an animal with such names) as nodes, -1 for none. */
typedef struct sup_body_joints {
    int32_t hips, chest, head;
    int32_t limb[2][SUP_LIMB_COUNT]; /* by sup_side */
} sup_body_joints;

/* A skeleton with parsed names. All arrays are [node_count] and allocated from the arena. */
typedef struct sup_named_skeleton {
    const sup_character *character;
    const sup_joint_name *names;
    const int32_t *depth;  /* 0 for roots */
    const int32_t *enter;  /* index in preorder */
    const int32_t *size;   /* number of nodes of the subtree */
    const bool *is_usable; /* the node is a joint; all nodes if the character has no joints */
    sup_body_joints body;
} sup_named_skeleton;

/* Returns false when out of memory. */
bool sup_named_skeleton_create(sup_arena *arena, const sup_character *character, sup_named_skeleton *skeleton);

/* Lowest common ancestor, -1 if there is none or if one of them is -1. */
int32_t sup_skeleton_common(const sup_named_skeleton *skeleton, int32_t a, int32_t b);
bool sup_skeleton_is_above(const sup_named_skeleton *skeleton, int32_t above, int32_t below); /* proper ancestor */

#endif

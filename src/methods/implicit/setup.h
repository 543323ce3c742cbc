/* setup.h (internal) - text format in which users choose operators, controllers and muscles for a character.
 *
 * One statement per line; '#' starts a comment; names with spaces are quoted; a line may use names defined above it.
 *
 *     controller NAME ANGLE:VALUE ...       degrees 0 to 180, values 0 (union) to 1 (contact)
 *     operator NAME PROFILE                 a profile (profile.h): an SVG path or pairs of numbers, up to the line end
 *     joint PATTERN [operator NAME] [controller NAME]
 *                                           for the joint between a bone and its parent; '*' matches any characters
 *     muscle NAME bone JOINT radii A B [C] [along F] [offset X Y Z] [swell JOINT ANGLE:SCALE ...]
 *            [operator NAME] [controller NAME]
 *                                           an ellipsoid that moves with a bone: radii along and across the bone, its
 *                                           centre at fraction F of the bone (default 0.5) plus the offset X Y Z (world
 *                                           axes of the bind pose); it grows across the bone as a joint bends
 *
 * Lengths are in file units, or with % in hundredths of the bone's length. Figure 10 of [vaillant2014iso]:
 *
 *     muscle biceps bone LeftArm along 55% offset 0 0 6% radii 40% 14% swell LeftForeArm 0:1 150:1.6 */
#ifndef SUP_METHODS_IMPLICIT_SETUP_H
#define SUP_METHODS_IMPLICIT_SETUP_H

#include "methods/implicit/controllers.h"
#include "methods/implicit/field_bind.h"
#include "methods/implicit/profile.h"

enum {
    SUP_SETUP_OPERATORS = 16, /* including the two built-in ones */
    SUP_SETUP_CONTROLLERS = 32,
    SUP_SETUP_MUSCLES = 64,
    SUP_SETUP_NAME = 64,
    SUP_OPERATOR_CONTACT = 0,
    SUP_OPERATOR_BULGE = 1
};

/* Operator and controller of a joint; -1: not set. */
typedef struct sup_setup_joint {
    int32_t op, controller;
} sup_setup_joint;

typedef struct sup_setup {
    int32_t operator_count, controller_count, muscle_count;
    char operator_names[SUP_SETUP_OPERATORS][SUP_SETUP_NAME];
    sup_profile profiles[SUP_SETUP_OPERATORS];
    char controller_names[SUP_SETUP_CONTROLLERS][SUP_SETUP_NAME];
    float controllers[SUP_SETUP_CONTROLLERS][SUP_CONTROLLER_SIZE];
    sup_setup_joint *joints; /* [rig->joint_count] */
    char muscle_names[SUP_SETUP_MUSCLES][SUP_SETUP_NAME];
    sup_field_ellipsoid extras[SUP_SETUP_MUSCLES]; /* [muscle_count] */
    sup_setup_joint muscle_joints[SUP_SETUP_MUSCLES];
    int32_t swell_joint[SUP_SETUP_MUSCLES]; /* -1: does not swell */
    float swell[SUP_SETUP_MUSCLES][SUP_CONTROLLER_SIZE];
} sup_setup;

/* Allocates from `arena`. `text` may be NULL: defaults. Errors name the line and the allowed values. */
sup_result sup_setup_parse(const sup_rig *rig, const char *text, size_t size, sup_arena *arena, sup_setup **setup,
                           sup_error *error);

#endif

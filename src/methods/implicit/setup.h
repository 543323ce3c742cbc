/* setup.h (internal) - the text that a person writes to choose operators, controllers and muscles for a character.
 *
 * One thing a line; '#' starts a comment; names with spaces go between quotes; lines may use what lines above define.
 *
 *     controller NAME ANGLE:VALUE ...       degrees 0 to 180, values 0 (union) to 1 (contact)
 *     operator NAME PROFILE                 a profile (profile.h): an SVG path or pairs of numbers, up to the line's end
 *     joint PATTERN [operator NAME] [controller NAME]
 *                                           where the bone of a joint meets its parent; '*' stands for any letters
 *     muscle NAME bone JOINT radii A B [C] [along F] [offset X Y Z] [swell JOINT ANGLE:SCALE ...]
 *            [operator NAME] [controller NAME]
 *                                           an ellipsoid that moves with a bone: radii along it and across, its middle at
 *                                           part F of the bone (0.5 when not given) and beside it by X Y Z (world axes of
 *                                           the bind pose); it grows across the bone as a joint bends
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
    SUP_SETUP_OPERATORS = 16, /* with the two that are always there */
    SUP_SETUP_CONTROLLERS = 32,
    SUP_SETUP_MUSCLES = 64,
    SUP_SETUP_NAME = 64,
    SUP_OPERATOR_CONTACT = 0,
    SUP_OPERATOR_BULGE = 1
};

/* What a joint is told; -1: nothing. */
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
    int32_t swell_joint[SUP_SETUP_MUSCLES]; /* -1: it does not swell */
    float swell[SUP_SETUP_MUSCLES][SUP_CONTROLLER_SIZE];
} sup_setup;

/* Memory of `arena`. `text` may be NULL: everything as it is without a setup. Errors name the line and what is allowed. */
sup_result sup_setup_parse(const sup_rig *rig, const char *text, size_t size, sup_arena *arena, sup_setup **setup,
                           sup_error *error);

#endif

/* template.h (internal) - shared by the files that build a template. */
#ifndef SUP_ANATOMY_TEMPLATE_H
#define SUP_ANATOMY_TEMPLATE_H

#include "anatomy/body_roles.h"
#include "anatomy/array_store.h"
#include "supple/rig.h"
#include "volume/solid.h"

typedef struct sup_template_build {
    sup_context context;
    const sup_anatomy_def *def;
    sup_anatomy *anatomy; /* its arrays are in its storage */
    sup_anatomy_report *report;
    sup_arena arena;          /* scratch of the build */
    sup_character *character; /* skin and joints: node j is joint j, the last node is the skin's */
    sup_rig *rig;             /* rig of that character, with weights */
    sup_body_role *roles;     /* [joint_count+1] */
    float *skin_floats;       /* [vertex_count*3] */
    sup_solid skin_solid;
    sup_shape skin; /* with smoothed folds */
    sup_shape wrap;
} sup_template_build;

/* Joints, weights, roles and excluded vertices. */
sup_result sup_template_rig(sup_template_build *b, sup_error *error);
/* Smooths folds of the skin. */
sup_result sup_template_smooth_folds(sup_template_build *b, sup_error *error);
/* Organs, and the joint that each bone follows. */
sup_result sup_template_organs(sup_template_build *b, sup_error *error);
/* Group, region, crotch and bone_joint of every vertex; call it after the layers. */
void sup_template_maps(sup_template_build *b);

/* Joint with the largest weight at a skin vertex, and that weight if `weight` is not NULL. */
int32_t sup_template_joint(const sup_anatomy *anatomy, int32_t vertex, double *weight);

#endif

/* template.h (internal) - what the files that build a template share. */
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
    sup_arena arena;          /* of the building */
    sup_character *character; /* skin and joints: node j is joint j, the skin's node is the last */
    sup_rig *rig;             /* of that, with weights */
    sup_body_role *roles;     /* [joint_count+1] */
    float *skin_floats;       /* [vertex_count*3] */
    sup_solid skin_solid;
    sup_shape skin; /* ironed */
    sup_shape wrap;
} sup_template_build;

/* Joints, weights, roles and what is excluded. */
sup_result sup_template_rig(sup_template_build *b, sup_error *error);
/* Smooths folds of the skin. */
sup_result sup_template_smooth_folds(sup_template_build *b, sup_error *error);
/* Detailed parts, and which joint carries a bone. */
sup_result sup_template_organs(sup_template_build *b, sup_error *error);
/* Group, region, crotch and bone_joint of every vertex; after the layers. */
void sup_template_maps(sup_template_build *b);

/* Strongest joint of a skin vertex, and its weight when `weight` is not NULL. */
int32_t sup_template_joint(const sup_anatomy *anatomy, int32_t vertex, double *weight);

#endif

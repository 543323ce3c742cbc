/* template.h (internal) - shared by the files that build a template. */
#ifndef SUP_ANATOMY_TEMPLATE_H
#define SUP_ANATOMY_TEMPLATE_H

#include "anatomy/array_store.h"
#include "anatomy/bone_parts.h"
#include "math/vec3.h"
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
    sup_mesh_sdf skin_solid;
    sup_shape skin; /* with smoothed folds */
    sup_shape wrap;
} sup_template_build;

/* Joints, weights, roles and excluded vertices. */
sup_result sup_template_rig(sup_template_build *b, sup_error *error);
/* Smooths folds of the skin. */
sup_result sup_template_smooth_folds(sup_template_build *b, sup_error *error);
/* Organs, and the joint that each bone follows. */
sup_result sup_template_organs(sup_template_build *b, sup_error *error);
/* The joint whose bone, from the joint to the mean of its children, is nearest to points [3*count], among the joints
 * that move this part of the body (SUP_PART_UNKNOWN: all); -1 if none does. Ribs and sternum are nearer to the
 * clavicles than to the spine. */
int32_t sup_template_nearest_joint(const sup_template_build *b, sup_bone_part part, int32_t count,
                                   const double *points);

/* Group, region, crotch and bone_joint of every vertex; call it after the layers. */
sup_result sup_template_maps(sup_template_build *b, sup_error *error);

/* The trunk by joints. */
typedef struct sup_trunk_frame {
    sup_vec3d hips, neck; /* axis of the trunk, from bottom to top */
    sup_vec3d hip[2];     /* along x: lower, higher */
    double shoulder;      /* half the distance between the shoulders, along x */
} sup_trunk_frame;

/* Height along the trunk: 0 at the hips, 1 at the neck. */
double sup_trunk_height(const sup_trunk_frame *frame, sup_vec3d p);
bool sup_trunk_is_front(const sup_trunk_frame *frame, sup_vec3d p);

/* bone_joint of every vertex, by the detailed bones. */
sup_result sup_template_holders(sup_template_build *b, const sup_trunk_frame *trunk, sup_error *error);

/* Joint with the largest weight at a skin vertex, and that weight if `weight` is not NULL. */
int32_t sup_template_joint(const sup_anatomy *anatomy, int32_t vertex, double *weight);

#endif

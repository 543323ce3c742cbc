/* bone_groups.h (internal) - rib cage, pelvis, limb bones and others as groups that keep their shape in a fit.
 *
 * Each group has one affine map from the template to the person: the scaling of the template, then a rotation, a
 * translation and a stretch within narrow limits. Skull, hand and toe bones are in no group: they follow the skin
 * around them, and so do bones of meshes that span more than a part of the body. */
#ifndef SUP_ANATOMY_BONE_GROUPS_H
#define SUP_ANATOMY_BONE_GROUPS_H

#include "anatomy/layers.h"
#include "math/affine.h"

enum {
    SUP_BONES_THORAX,
    SUP_BONES_PELVIS,
    SUP_BONES_NECK,
    SUP_BONES_LIMBS, /* first of the paired groups: shoulder, upper arm, forearm, thigh, lower leg, foot */
    SUP_BONES_GROUPS = SUP_BONES_LIMBS + 12,
    SUP_BONES_LUMBAR = SUP_BONES_GROUPS, /* between pelvis and thorax: their maps are blended by height */
    SUP_BONES_NONE = -1
};

typedef struct sup_bone_groups {
    const sup_anatomy *anatomy; /* the template */
    int32_t *organ;             /* [organ_count] group or SUP_BONES_NONE */
    int32_t *vertex;            /* [vertex_count] group of the bone nearest to the skeleton surface */
    int32_t *order;             /* [vertex_count] vertices of the surface by group; see `first` */
    int32_t first[SUP_BONES_GROUPS + 2];
    bool has_map[SUP_BONES_GROUPS]; /* set by sup_bone_groups_place */
    sup_affine map[SUP_BONES_GROUPS];
    double lumbar[2]; /* heights of the lower and upper end of the lumbar spine in the template */
    double
        /* breadth of rib cage or pelvis relative to the scale of the height, with the stretch at least 0.86 */
        narrowest;
} sup_bone_groups;

/* Groups of a template; all are empty without detailed bones or if its joints are not those of a human. */
sup_result sup_bone_groups_find(const sup_context *context, const sup_anatomy *anatomy, sup_arena *arena,
                                sup_bone_groups *groups, sup_error *error);

/* Maps of all groups: to the scaled skeleton surface `scaled` (rib cage and pelvis: `scale` times as broad), then to
 * `fitted` (both [vertex_count*3]) with a limited stretch; rib cage, pelvis and shoulders are moved into the closed
 * surface `skin`, and narrowed if they must be. */
sup_result sup_bone_groups_place(const sup_context *context, sup_bone_groups *groups, double scale,
                                 const double *scaled, const double *fitted, const double *skin, sup_error *error);

/* Whether `group` has a map. */
bool sup_bone_groups_has(const sup_bone_groups *groups, int32_t group);
/* A point of the template that follows a group with a map. */
sup_vec3d sup_bone_groups_point(const sup_bone_groups *groups, int32_t group, sup_vec3d p);

/* Skeleton surface around the placed bones: [vertex_count*3], smooth between groups; `skin` where there are no
 * layers. */
sup_result sup_bone_groups_surface(const sup_context *context, const sup_bone_groups *groups, const double *scaled,
                                   const double *skin, double *surface, sup_error *error);

#endif

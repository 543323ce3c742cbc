/* skeleton.h - the volumetric skeleton: bones as capsules, joints as balls, cones in the gaps between them.
 *
 * Based on: [komaritzan2018] Projective Skinning, [komaritzan2022] sections 3.2.1, 3.2.2 and appendix A.
 * Built from a rig alone. All positions are the rig's bind pose, world space, file units. */
#ifndef SUP_PROJECTIVE_SKELETON_H
#define SUP_PROJECTIVE_SKELETON_H

#include "base/base.h"
#include "math/vec3.h"
#include "supple/rig.h"

/* One straight piece of bone: from a joint to one of its children, or from a leaf joint to the end of its limb.
 * A capsule of `radius` whose axis is inset at both ends: [from + (ball radius + radius) d, to - (ball radius + radius) d]. */
typedef struct sup_bone_piece {
    int32_t joint;      /* rig joint that carries it */
    int32_t child;      /* rig joint at its far end, -1 for a leaf's tail */
    sup_vec3d from, to; /* joint centres, different points */
    double radius;
    int32_t ball_from, ball_to; /* balls at its ends, -1 for none (free end) */
    bool is_virtual;            /* flesh without bone: shapes the tissue, anchors nothing */
} sup_bone_piece;

/* A ball where pieces meet. */
typedef struct sup_joint_ball {
    int32_t joint; /* rig joint at its centre */
    sup_vec3d centre;
    double radius;
} sup_joint_ball;

/* A tree of pieces; several roots are allowed. */
typedef struct sup_volumetric_skeleton {
    int32_t piece_count, ball_count;
    sup_bone_piece *pieces;
    sup_joint_ball *balls;
} sup_volumetric_skeleton;

/* A place on the bone lines: piece and parameter in [0, 1] from `from` to `to`. */
typedef struct sup_foot {
    int32_t piece;
    double parameter;
} sup_foot;

#endif

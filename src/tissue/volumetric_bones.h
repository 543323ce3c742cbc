/* volumetric_bones.h - the volumetric skeleton: bones as capsules, joints as spheres, cones in the gaps between them.
 *
 * Based on: [komaritzan2018] Projective Skinning, [komaritzan2022] section 3.2.1 and appendix A.
 * All positions are the rig's bind pose, world space, file units. Read-only data. */
#ifndef SUP_TISSUE_VOLUMETRIC_BONES_H
#define SUP_TISSUE_VOLUMETRIC_BONES_H

#include "base/base.h"
#include "geometry/bvh.h"
#include "math/vec3.h"
#include "supple/rig.h"

/* One straight segment of bone: from a joint to one of its children, or from a leaf joint to the end of its limb. A
 * capsule of `radius` with its axis inset at both ends: [from + (sphere radius + radius) d, to - (sphere radius +
 * radius) d]; at an end without a sphere the axis runs up to the end, and the cap goes beyond it. */
typedef struct sup_bone_segment {
    int32_t joint;              /* rig joint that it is rigid with */
    int32_t child;              /* rig joint at its far end, -1 for a leaf's tail */
    int32_t node_from, node_to; /* nodes at its ends */
    sup_vec3d from, to;         /* joint centres, different points */
    double radius;
    int32_t sphere_from, sphere_to; /* spheres at its ends, -1 for none (free end) */
    bool is_virtual;                /* shapes the tissue, but has no anchors */
} sup_bone_segment;

/* A sphere where segments meet. */
typedef struct sup_joint_sphere {
    int32_t joint; /* rig joint at its centre */
    int32_t node;
    sup_vec3d centre;
    double radius;
    bool is_virtual; /* all of its segments are */
} sup_joint_sphere;

/* A point where segments begin and end: one joint, or several at the same position. */
typedef struct sup_skeleton_node {
    int32_t joint;  /* the first of them; for the end of a tail the joint of its segment */
    int32_t sphere; /* -1 where only one segment ends */
    sup_vec3d position;
} sup_skeleton_node;

/* A forest of segments; several roots are allowed. */
typedef struct sup_volumetric_skeleton {
    int32_t segment_count, sphere_count, node_count, joint_count;
    sup_bone_segment *segments;
    sup_joint_sphere *spheres;
    sup_skeleton_node *nodes;
    int32_t *node_first;    /* [node_count+1] */
    int32_t *node_segments; /* [segment_count*2] segments at each node, ascending */
    int32_t *joint_node;    /* [joint_count] node of each rig joint; the nearest one for a skipped joint */
    sup_arena arena;
} sup_volumetric_skeleton;

/* What was skipped or changed. */
typedef struct sup_skeleton_report {
    int32_t dropped_joints;   /* helpers outside the skin without influence */
    int32_t joined_joints;    /* at the position of their parent: bones without length */
    int32_t chained_joints;   /* siblings in line: a flat list of joints became a chain */
    int32_t dropped_tails;    /* leaf bones too short for a capsule */
    int32_t joining_segments; /* virtual segments between separate skeletons */
    int32_t thin_segments;    /* bones very near to the skin or outside it: thicker than 0.75 of that distance */
    int32_t fitted_segments;  /* r0 + r1 + 2 rb was more than the length */
} sup_skeleton_report;

/* The surface around the skeleton with its influences. Influences may be NULL: all joints are used. */
typedef struct sup_tissue_skin {
    int32_t vertex_count, triangle_count;
    const float *positions;         /* [vertex_count*3] bind pose, world */
    const int32_t *triangles;       /* [triangle_count*3] outward */
    const int32_t *influence_first; /* [vertex_count+1] */
    const int32_t *influence_joint; /* rig joints */
    const float *influence_weight;  /* positive */
} sup_tissue_skin;

/* Zero means the default. */
typedef struct sup_skeleton_def {
    double radius_fraction;      /* of the distance from the bone to the skin; 0.75 */
    double radius_scale;         /* of all radii; 1 */
    const double *bone_radius;   /* [joint_count] of the segments of each joint, file units, 0 = from the skin */
    const double *sphere_radius; /* [joint_count] the same for the spheres at the joints */
    const double *bone_scale;    /* [joint_count] of the radii of the segments of each joint; NULL = 1 */
    const double *sphere_scale;  /* [joint_count] the same for the spheres */
    const bool *virtual_joints;  /* [joint_count] joints whose segments are virtual */
} sup_skeleton_def;

/* `bvh` is that of the skin. Fails with "tissue.skeleton" when no segment is left. `report` may be NULL. */
sup_result sup_skeleton_create(const sup_context *context, const sup_rig *rig, const sup_tissue_skin *skin,
                               const sup_bvh *bvh, const sup_skeleton_def *def, sup_volumetric_skeleton **skeleton,
                               sup_skeleton_report *report, sup_error *error);
void sup_skeleton_destroy(sup_volumetric_skeleton *skeleton);

/* Radii of segments and spheres: volumetric_bones_radii.c. Called by sup_skeleton_create. */
sup_result sup_skeleton_radii(const sup_context *context, const sup_bvh *bvh, const sup_skeleton_def *def,
                              sup_volumetric_skeleton *skeleton, sup_skeleton_report *report, sup_error *error);

/* A point on the bone lines: segment and parameter in [0, 1] from `from` to `to`. */
typedef struct sup_foot_point {
    int32_t segment;
    double parameter;
} sup_foot_point;

static inline double sup_segment_length(const sup_bone_segment *segment)
{
    return sup_v3_distance(segment->from, segment->to);
}

static inline sup_vec3d sup_foot_position(const sup_volumetric_skeleton *skeleton, sup_foot_point foot)
{
    const sup_bone_segment *segment = &skeleton->segments[foot.segment];
    return sup_v3_lerp(segment->from, segment->to, foot.parameter);
}

/* Inset of the capsule's axis from an end, file units. */
static inline double sup_segment_inset(const sup_volumetric_skeleton *skeleton, const sup_bone_segment *segment,
                                       int end)
{
    int32_t sphere = end == 0 ? segment->sphere_from : segment->sphere_to;
    return sphere < 0 ? 0.0 : skeleton->spheres[sphere].radius + segment->radius;
}

#endif

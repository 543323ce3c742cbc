/* retarget.h (internal) - pieces of sup_retarget. */
#ifndef SUP_POSE_RETARGET_H
#define SUP_POSE_RETARGET_H

#include "math/affine.h"
#include "pose/joint_match.h"

/* A skeleton in one pose, world space: arrays of [node_count]. */
typedef struct sup_posed_skeleton {
    sup_transform *local;
    sup_quatd *rotation; /* product of the nodes' rotations alone */
    sup_affine *world;
} sup_posed_skeleton;

bool sup_posed_skeleton_make(sup_arena *arena, const sup_character *character, sup_posed_skeleton *posed);
/* Local transforms at rest (`clip` NULL) or at a time of a clip. */
void sup_posed_skeleton_sample(const sup_character *character, const sup_clip *clip, double time,
                               sup_posed_skeleton *posed);
/* World transforms from local ones. */
void sup_posed_skeleton_place(const sup_character *character, sup_posed_skeleton *posed);
static inline sup_vec3d sup_posed_position(const sup_posed_skeleton *posed, int32_t node)
{
    return sup_affine_translation(posed->world[node]);
}

/* How the space of the source lies in the space of the target. */
typedef struct sup_retarget_frame {
    sup_quatd turn; /* source directions -> target directions */
    sup_vec3d up;   /* in the target's space */
    double scale;   /* lengths of the target per length of the source */
    double size;    /* of the source: leg length, or what else the scale was measured with */
} sup_retarget_frame;

/* From the rest poses: up and sideways of the bodies where both have one, else the best of the 24 ways to swap axes. */
sup_retarget_frame sup_retarget_frame_find(const sup_named_skeleton *source, const sup_posed_skeleton *source_rest,
                                           const sup_named_skeleton *target, const sup_posed_skeleton *target_rest,
                                           const sup_joint_match *match);

/* Sorted times of all keys of the clip's nodes, at most `limit` of them. NULL when memory ran out. */
float *sup_retarget_times(sup_arena *arena, const sup_clip *clip, int32_t limit, int32_t *count);

/* True when the source's joints are the target's own: same places in the list, names, parents and rest transforms. */
bool sup_retarget_fits(const sup_character *source, const sup_clip *clip, const sup_character *target,
                       const sup_retarget_def *def);
/* The clip as it is, for a target that it fits. */
sup_result sup_retarget_copy(const sup_context *context, const sup_character *source, const sup_clip *clip,
                             const sup_character *target, sup_clip **result, sup_error *error);

#endif

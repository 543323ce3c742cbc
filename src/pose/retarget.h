/* retarget.h (internal) - functions of sup_retarget. */
#ifndef SUP_POSE_RETARGET_H
#define SUP_POSE_RETARGET_H

#include "math/affine.h"
#include "pose/joint_match.h"

/* A skeleton in one pose; arrays are [node_count]. */
typedef struct sup_posed_skeleton {
    sup_transform *local;
    sup_quatd *rotation; /* product of the node rotations, without scale */
    sup_affine *world;
} sup_posed_skeleton;

bool sup_posed_skeleton_create(sup_arena *arena, const sup_character *character, sup_posed_skeleton *posed);
/* Local transforms of the rest pose (`clip` NULL) or of a clip at a time in seconds. */
void sup_posed_skeleton_sample(const sup_character *character, const sup_clip *clip, double time,
                               sup_posed_skeleton *posed);
/* World transforms from local transforms. */
void sup_posed_skeleton_world(const sup_character *character, sup_posed_skeleton *posed);
static inline sup_vec3d sup_posed_position(const sup_posed_skeleton *posed, int32_t node)
{
    return sup_affine_translation(posed->world[node]);
}

/* Transform from source space to target space. */
typedef struct sup_retarget_frame {
    sup_quatd rotation; /* source directions -> target directions */
    sup_vec3d up;       /* in the target's space */
    double scale;       /* target length / source length */
    double size;        /* of the source: leg length, or another length that the scale was measured with */
} sup_retarget_frame;

/* From the rest poses: by the up and side axes if both have body joints, else the best of the 24 axis permutations. */
sup_retarget_frame sup_retarget_frame_find(const sup_named_skeleton *source, const sup_posed_skeleton *source_rest,
                                           const sup_named_skeleton *target, const sup_posed_skeleton *target_rest,
                                           const sup_joint_match *match);

/* Sorted times of all node keys of the clip, at most `limit`. NULL when out of memory. */
float *sup_retarget_times(sup_arena *arena, const sup_clip *clip, int32_t limit, int32_t *count);

/* Whether both skeletons are the same: joints with equal indices, names, parents and rest transforms. */
bool sup_retarget_fits(const sup_character *source, const sup_clip *clip, const sup_character *target,
                       const sup_retarget_def *def);
/* A copy of the clip for a target with the same skeleton. */
sup_result sup_retarget_copy(const sup_context *context, const sup_character *source, const sup_clip *clip,
                             const sup_character *target, sup_clip **result, sup_error *error);

#endif

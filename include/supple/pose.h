/* pose.h - world transforms of all nodes at one time, from clips, retargeted motion or the caller. */
#ifndef SUPPLE_POSE_H
#define SUPPLE_POSE_H

#include "supple/character.h"

/* World transforms of all nodes of a character, and the weights of its morph targets. */
typedef struct sup_pose {
    int32_t node_count;
    sup_mat34 *world; /* [node_count] node -> world */
    int32_t morph_weight_count;
    float *morph_weights; /* [morph_weight_count] */
} sup_pose;

/* Allocates a pose and sets it to the rest pose. A caller may also fill a sup_pose with its own pointers. */
SUP_API sup_result sup_pose_create(const sup_context *context, const sup_character *character, sup_pose **pose,
                                   sup_error *error);
SUP_API void sup_pose_destroy(sup_pose *pose);

/* The rest pose of the file, and the pose of a clip at `time` in seconds (clamped to the clip). Nodes without a channel
 * keep their rest transform. `pose` must have the character's counts. */
SUP_API sup_result sup_pose_rest(const sup_character *character, sup_pose *pose);
SUP_API sup_result sup_pose_sample(const sup_character *character, const sup_clip *clip, double time, sup_pose *pose);

/* World transforms from local transforms, `local` is [node_count]; morph weights are not changed. */
SUP_API sup_result sup_pose_from_local(const sup_character *character, const sup_transform *local, sup_pose *pose);

/* Frames of a clip at `fps`: from its start every 1/fps seconds up to its end, floor(duration * fps) + 1 frames. */
SUP_API int32_t sup_clip_frame_count(const sup_clip *clip, double fps);
SUP_API double sup_clip_frame_time(const sup_clip *clip, double fps, int32_t frame);

/* Pairs of joint names, target and source; with a NULL source the joint keeps its rest pose. */
typedef struct sup_joint_map {
    int32_t count;
    const char *const *target;
    const char *const *source;
} sup_joint_map;

typedef struct sup_retarget_def {
    const sup_joint_map *map; /* takes precedence over matching by name; NULL = match by name only */
    double source_rest_time;  /* clip time in seconds with the source's rest pose; negative = use its node rest */
    bool keep_root_motion;    /* false: remove the root motion (in-place animation) */
} sup_retarget_def;

SUP_API sup_retarget_def sup_default_retarget_def(void);

/* Transfers the motion of one character to the joints of another, with corrections for different rest poses, joint
 * orientations and sizes. Names match regardless of case, prefixes and left/right spelling. */
SUP_API sup_result sup_retarget(const sup_context *context, const sup_character *source, const sup_clip *source_clip,
                                const sup_character *target, const sup_retarget_def *def, sup_clip **clip,
                                sup_error *error);

#endif

/* pose.h - where every node is at one moment. Poses come from clips, from retargeted motion or from the caller. */
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

/* A pose with memory of its own, at rest. A caller may as well fill a sup_pose with pointers of its own. */
SUP_API sup_result sup_pose_create(const sup_context *context, const sup_character *character, sup_pose **pose,
                                   sup_error *error);
SUP_API void sup_pose_destroy(sup_pose *pose);

/* The file's rest pose, and the pose of a clip at a time in seconds (clamped to the clip). Nodes that the clip
 * does not move stay at rest. `pose` must have the character's counts. */
SUP_API sup_result sup_pose_rest(const sup_character *character, sup_pose *pose);
SUP_API sup_result sup_pose_sample(const sup_character *character, const sup_clip *clip, double time, sup_pose *pose);

/* World transforms from local ones, [node_count] of them; morph weights are left alone. */
SUP_API sup_result sup_pose_from_local(const sup_character *character, const sup_transform *local, sup_pose *pose);

/* Frames of a clip at `fps`: its start and every 1/fps after it up to its end, floor(duration * fps) + 1 of them. */
SUP_API int32_t sup_clip_frame_count(const sup_clip *clip, double fps);
SUP_API double sup_clip_frame_time(const sup_clip *clip, double fps, int32_t frame);

/* Pairs of joint names, target and source; a NULL source leaves the joint in its rest pose. */
typedef struct sup_joint_map {
    int32_t count;
    const char *const *target;
    const char *const *source;
} sup_joint_map;

typedef struct sup_retarget_def {
    const sup_joint_map *map; /* comes before matching by name; NULL = names alone */
    double source_rest_time;  /* clip time at which the source stands in its rest pose; negative = its node rest */
    bool keep_root_motion;    /* false: the character stays on the spot */
} sup_retarget_def;

SUP_API sup_retarget_def sup_default_retarget_def(void);

/* Motion of one character for the joints of another, correct for different rest poses, orientations and sizes.
 * Names match without regard to case, prefixes and left/right spelling. */
SUP_API sup_result sup_retarget(const sup_context *context, const sup_character *source, const sup_clip *source_clip,
                                const sup_character *target, const sup_retarget_def *def, sup_clip **clip,
                                sup_error *error);

#endif

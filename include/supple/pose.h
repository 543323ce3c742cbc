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

/* A rotation flip, as motion capture has them at thumbs and fingers: a joint rotates by more than 100 degrees from one
 * key to the next and returns within a quarter of a second. */
typedef struct sup_clip_flip {
    int32_t node;
    float start, end; /* seconds: the last key before the flip, the first key after it */
} sup_clip_flip;

/* Lists at most `capacity` flips, by channel and time; returns the number of all flips. */
SUP_API int32_t sup_clip_find_flips(const sup_clip *clip, sup_clip_flip *flips, int32_t capacity);
/* Replaces flips by an interpolation between the keys before and after them; returns their number. The keys of `clip`
 * must be writable, as those of sup_retarget and sup_load_motion are. */
SUP_API int32_t sup_clip_despike(sup_clip *clip);
/* Time in seconds at which the motion begins. Motion capture often has a T-pose in its first key: three joints or more
 * rotate by more than 0.8 radians to the second key, at more than 20 radians per second, and at most a quarter of that
 * to the third. The motion then begins at the second key; otherwise at the start of the clip. */
SUP_API double sup_clip_motion_start(const sup_clip *clip);
/* The first frame at or after that time. sup_bake and the program simulate from there: frames up to it are at rest in
 * their poses. */
SUP_API int32_t sup_clip_first_frame(const sup_clip *clip, double fps);

/* Transfers the motion of one character to the joints of another, with corrections for different rest poses, joint
 * orientations and sizes. Names match regardless of case, prefixes and left/right spelling. */
SUP_API sup_result sup_retarget(const sup_context *context, const sup_character *source, const sup_clip *source_clip,
                                const sup_character *target, const sup_retarget_def *def, sup_clip **clip,
                                sup_error *error);

#endif

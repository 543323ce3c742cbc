/* timestep.h (internal) - simulations that run at a rate of their own, whatever the frame rate.
 *
 * Steps of a fixed length are taken until the frame's time is reached or passed: a simulation is never behind the
 * skeleton. A frame shows what is between the last two steps. Within a frame of several steps the joints move evenly from
 * the pose before to this one. */
#ifndef SUP_POSE_TIMESTEP_H
#define SUP_POSE_TIMESTEP_H

#include "math/affine.h"
#include "supple/pose.h"

/* A pause of more steps than this is caught up in one jump. */
enum { SUP_TIMESTEP_MOST_STEPS = 30 };

/* Steps of `seconds` that reach a frame `dt` after the one before, at most SUP_TIMESTEP_MOST_STEPS. `ahead`: seconds, in
 * [0, seconds), that the last step is ahead of the frame: read and brought up to date. `whole` (may be NULL): the number
 * before it was cut. */
int32_t sup_timestep_steps(double *ahead, double dt, double seconds, int32_t *whole);

/* world * inverse bind of every joint. */
void sup_timestep_joints(const sup_pose *pose, int32_t joint_count, const int32_t *joint_node, const float *inverse_bind,
                     sup_mat34 *joints);

/* A joint part of the way from one place to another: rotation by slerp, the rest evenly. */
sup_mat34 sup_timestep_between(sup_mat34 from, sup_mat34 to, double t);

/* Whether the whole skeleton was put elsewhere: every joint moved by more than half the character's size in each of the
 * steps. Flesh then starts anew instead of following. */
bool sup_timestep_teleported(int32_t joint_count, const sup_mat34 *before, const sup_mat34 *now, int32_t steps, float size);

#endif

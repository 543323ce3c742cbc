/* pose.h (internal) - channel sampling for poses and retargeting. */
#ifndef SUP_POSE_POSE_H
#define SUP_POSE_POSE_H

#include "math/affine.h"
#include "supple/pose.h"

/* Value of a channel at a time, clamped to its keys: 1, 3 or 4 floats; rotations are unit quaternions. */
void sup_channel_sample(const sup_channel *channel, double time, float value[4]);

#endif

/* joint_scale.h (internal) - authored scale of joints (squash and stretch), one source for the CPU and the GPU.
 *
 * The rest shape of the tissue has no scale. Skin of joints that the animation scales follows linear blending, which
 * scales it as authored; small changes of the scale leave it simulated. */
#ifndef SUP_SOLVER_JOINT_SCALE_H
#define SUP_SOLVER_JOINT_SCALE_H

#include "base/shared.h"

#include <math.h>

/* Change of a column's length from which on skin follows linear blending a little, and from which on as a whole. */
#define SUP_JOINT_SCALE_BEGIN 0.05f
#define SUP_JOINT_SCALE_END 0.25f

/* Weight of linear blending for skin of a joint with this skinning matrix, 0 to 1. */
SUP_SHARED float sup_joint_scale_weight(const float m[12])
{
    float change = 0.0f;
    for (int k = 0; k < 3; k++)
        change = fmaxf(change, fabsf(sqrtf(m[k] * m[k] + m[4 + k] * m[4 + k] + m[8 + k] * m[8 + k]) - 1.0f));
    float t = (change - SUP_JOINT_SCALE_BEGIN) / (SUP_JOINT_SCALE_END - SUP_JOINT_SCALE_BEGIN);
    t = fminf(1.0f, fmaxf(0.0f, t));
    return t * t * (3.0f - 2.0f * t);
}

#endif

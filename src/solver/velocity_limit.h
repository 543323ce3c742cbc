/* velocity_limit.h (internal) - momentum of a skin vertex relative to its bones, and its limit, one source for the CPU
 * and the GPU.
 *
 * Momentum predicts x + mu (x - x_previous) with mu of [komaritzan2022] eq. 2.14. Two things are different here:
 * - The velocity is carried in the frame of the bones: with M the blended motion of the bones in this step and L its
 *   linear part, the prediction is x + mu L (x - x_previous). A body or a limb that turns at a constant rate then adds
 *   no force (a centrifugal force would pull tissue off a spinning body); bones that start, stop or fall do.
 * - The motion relative to the bones, r = mu L (x - x_previous) - (M x - x), is cut to a length: momentum must not pull
 *   tissue off its bones. */
#ifndef SUP_SOLVER_VELOCITY_LIMIT_H
#define SUP_SOLVER_VELOCITY_LIMIT_H

#include "base/shared.h"

#include <math.h>

/* Change of the prediction x + mu (x - x_previous), into change[3]. `move`, `move_previous`: (M - 1) x and
 * (M - 1) x_previous, which are small, so that little is lost to rounding; `momentum`: mu of the prediction; `held`: mu
 * of this vertex, at most as large; `length`: the limit per step. */
SUP_SHARED void sup_velocity_limit(const float now[3], const float previous[3], const float move[3],
                                   const float move_previous[3], float momentum, float held, float length,
                                   float change[3])
{
    float relative[3], square = 0.0f;
    for (int k = 0; k < 3; k++) {
        relative[k] = held * ((now[k] - previous[k]) + (move[k] - move_previous[k])) - move[k];
        square += relative[k] * relative[k];
    }
    float scale = square > length * length ? length / sqrtf(square) : 1.0f;
    for (int k = 0; k < 3; k++)
        change[k] = move[k] + scale * relative[k] - momentum * (now[k] - previous[k]);
}

#endif

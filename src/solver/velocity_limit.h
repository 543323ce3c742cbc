/* velocity_limit.h (internal) - limit of the velocity of a skin vertex relative to its bones, one source for the CPU
 * and the GPU.
 *
 * Momentum predicts x + mu (x - x_previous) with mu of [komaritzan2022] eq. 2.14; linear blending moves the vertex by c
 * in the same step. The difference mu (x - x_previous) - c is cut to a length. Motion with the bones, and every swing
 * that is not violent, is unchanged. */
#ifndef SUP_SOLVER_VELOCITY_LIMIT_H
#define SUP_SOLVER_VELOCITY_LIMIT_H

#include "base/shared.h"

/* Writes mu (x - x_previous) - c to relative[3] and returns the factor, 0 or negative, whose product with it corrects
 * the prediction. `blended`: by linear blending, now and in the last step; `momentum`: mu; `length`: the limit per
 * step. */
SUP_SHARED float sup_velocity_limit(const float now[3], const float previous[3], const float blended[3],
                                    const float previous_blended[3], float momentum, float length, float relative[3])
{
    float square = 0.0f;
    for (int k = 0; k < 3; k++) {
        relative[k] = momentum * (now[k] - previous[k]) - (blended[k] - previous_blended[k]);
        square += relative[k] * relative[k];
    }
    return square > length * length ? length / sqrtf(square) - 1.0f : 0.0f;
}

#endif

/* Momentum relative to the bones. */
#include "solver/velocity_limit.h"

#include "test.h"

#include <math.h>

/* A point that turned with its bones about the z axis by `angle` in the last step, and is to turn on. */
static void turn(float angle, float x, float out[3])
{
    out[0] = x * cosf(angle);
    out[1] = x * sinf(angle);
    out[2] = 0.0f;
}

static void difference(const float *a, const float *b, float out[3])
{
    for (int k = 0; k < 3; k++)
        out[k] = a[k] - b[k];
}

TEST(a_turn_at_a_constant_rate_adds_no_force)
{
    const float angle = 0.2f;
    float previous[3], now[3], next[3], move[3], move_previous[3], change[3];
    turn(0.0f, 1.0f, previous);
    turn(angle, 1.0f, now);
    turn(2.0f * angle, 1.0f, next);
    difference(next, now, move);
    difference(now, previous, move_previous);
    sup_velocity_limit(now, previous, move, move_previous, 1.0f, 1.0f, 1e9f, change);
    for (int k = 0; k < 3; k++) /* the prediction is where the bones move the point */
        CHECK_NEAR(now[k] + (now[k] - previous[k]) + change[k], next[k], 1e-6);
    /* Without the frame of the bones the point would leave the circle. */
    CHECK(fabsf(now[0] + (now[0] - previous[0]) - next[0]) > 0.03f);
}

TEST(bones_that_stop_leave_momentum_up_to_the_limit)
{
    const float previous[3] = {0.0f, 0.0f, 0.0f}, now[3] = {0.1f, 0.0f, 0.0f}, still[3] = {0.0f, 0.0f, 0.0f};
    float change[3];
    sup_velocity_limit(now, previous, still, still, 1.0f, 1.0f, 1e9f, change);
    CHECK_NEAR(change[0], 0.0, 1e-7); /* the prediction is that of momentum alone */
    sup_velocity_limit(now, previous, still, still, 1.0f, 1.0f, 0.04f, change);
    CHECK_NEAR(now[0] + (now[0] - previous[0]) + change[0], 0.14, 1e-6);
}

TEST(held_tissue_loses_the_rest_of_its_momentum)
{
    const float previous[3] = {0.0f, 0.0f, 0.0f}, now[3] = {0.1f, 0.0f, 0.0f}, still[3] = {0.0f, 0.0f, 0.0f};
    float change[3];
    sup_velocity_limit(now, previous, still, still, 1.0f, 0.75f, 1e9f, change);
    CHECK_NEAR(now[0] + (now[0] - previous[0]) + change[0], 0.175, 1e-6);
}

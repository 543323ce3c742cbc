/* The rest counter: when an instance is damped and when it sleeps (solver/rest_damping_kernel.h), as pure functions. */
#include "solver/rest_damping_kernel.h"
#include "test.h"

static int32_t count_steps(int32_t steps, int32_t count, float moved, float window_moved)
{
    for (int32_t i = 0; i < count; i++)
        steps = sup_rest_count_step(steps, true, sup_rest_is_quiet(steps, moved, window_moved));
    return steps;
}

TEST(tissue_that_keeps_moving_never_sleeps)
{
    CHECK_EQ(count_steps(0, 1000, 1e-2f, 1e-2f), 1000);
    int32_t steps = count_steps(0, SUP_REST_ASLEEP + 1000, 1e-2f, 1e-2f); /* 4.9 hours at 60 steps per second */
    CHECK(steps != SUP_REST_ASLEEP);
    CHECK_EQ(sup_rest_count_step(steps, false, false), 0);
}

TEST(quiet_tissue_sleeps_after_the_damping_and_wakes_when_the_skeleton_moves)
{
    CHECK_EQ(count_steps(0, SUP_REST_SLEEP_STEPS, 0.0f, 0.0f), SUP_REST_SLEEP_STEPS);
    int32_t steps = count_steps(0, SUP_REST_SLEEP_STEPS + 1, 0.0f, 0.0f);
    CHECK_EQ(steps, SUP_REST_ASLEEP);
    CHECK_EQ(sup_rest_count_step(steps, true, false), SUP_REST_ASLEEP);
    CHECK_EQ(sup_rest_count_step(steps, false, true), 0);
}

/* Motion in place is above the limit of a step in every step, but below that of a window. */
TEST(oscillation_in_place_sleeps_at_the_end_of_a_window)
{
    int32_t steps = count_steps(0, SUP_REST_WINDOW_BEGIN_STEPS + SUP_REST_WINDOW_STEPS, 1e-3f, 1e-3f);
    CHECK_EQ(steps, SUP_REST_WINDOW_BEGIN_STEPS + SUP_REST_WINDOW_STEPS);
    CHECK_EQ(count_steps(steps, 1, 1e-3f, 1e-3f), SUP_REST_ASLEEP);
    CHECK_EQ(count_steps(steps, 1, 1e-3f, 1e-2f), steps + 1);
}

TEST(rest_damping_grows_with_the_rest_counter_and_is_stronger_in_contact)
{
    for (int contact = 0; contact < 2; contact++) {
        float last = 0.0f;
        for (int32_t steps = 0; steps < 100; steps++) {
            float damping = sup_rest_momentum_damping(steps, contact == 1, 0.0f);
            CHECK(damping >= last && damping <= 1.0f);
            last = damping;
        }
        CHECK_NEAR((double)last, contact ? (double)SUP_REST_DAMPING_CONTACT : (double)SUP_REST_DAMPING_FREE, 1e-7);
    }
    CHECK_NEAR((double)sup_rest_momentum_damping(0, true, 0.5f), 0.5, 0.0); /* the parameter is the minimum */
}

TEST(a_joint_entry_that_is_not_a_number_counts_as_motion)
{
    CHECK(!sup_rest_entry_moved(1.0f, 1.0f, 0, 2.0f));
    CHECK(sup_rest_entry_moved(NAN, 1.0f, 0, 2.0f));
    CHECK(!sup_rest_entry_moved(1.5e-6f, 0.0f, 3, 2.0f)); /* translations are relative to the size */
    CHECK(sup_rest_entry_moved(1.5e-6f, 0.0f, 2, 2.0f));
}

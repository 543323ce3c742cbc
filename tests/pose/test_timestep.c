/* Fixed timesteps in frames of any length. */
#include "pose/timestep.h"
#include "test.h"

#include <math.h>

static const double STEP = 1.0 / 60.0;

/* The last step is within one step of the frame on the given side, whatever the frame rate, and no step is lost. */
TEST(steps_follow_any_frame_rate)
{
    static const double rates[] = {24.0, 30.0, 50.0, 60.0, 144.0, 240.0};
    for (int mode = SUP_TIMESTEP_BEHIND; mode <= SUP_TIMESTEP_AHEAD; mode++)
        for (int r = 0; r < 6; r++) {
            double offset = 0.0, simulated = 0.0, time = 0.0;
            for (int i = 0; i < 1000; i++) {
                sup_timestep frame = sup_timestep_advance(&offset, 1.0 / rates[r], STEP, (sup_timestep_mode)mode);
                time += 1.0 / rates[r];
                simulated += frame.count * STEP;
                double expected = mode == SUP_TIMESTEP_AHEAD ? simulated - time : time - simulated;
                CHECK(offset >= 0.0 && offset < STEP);
                CHECK_NEAR(offset, expected, 2e-4 * STEP * (i + 1));
            }
        }
}

TEST(fractions_rise_from_the_start_to_the_end_of_the_frame)
{
    static const double frames[] = {1.0 / 24.0, 1.0 / 60.0, 0.1, 3.0};
    for (int mode = SUP_TIMESTEP_BEHIND; mode <= SUP_TIMESTEP_AHEAD; mode++)
        for (int f = 0; f < 4; f++) {
            double offset = 0.0;
            sup_timestep frame = sup_timestep_advance(&offset, frames[f], STEP, (sup_timestep_mode)mode);
            CHECK(frame.count > 0 && frame.count <= SUP_TIMESTEP_MAX_STEPS);
            CHECK_NEAR(sup_timestep_fraction(&frame, 0), 0.0, 0.0);
            for (int32_t i = 1; i <= frame.count; i++)
                CHECK(sup_timestep_fraction(&frame, i) > sup_timestep_fraction(&frame, i - 1));
            if (offset == 0.0) CHECK_NEAR(sup_timestep_fraction(&frame, frame.count), 1.0, 0.0);
        }
}

TEST(a_long_pause_is_limited_and_spread_over_the_frame)
{
    double offset = 0.004;
    sup_timestep frame = sup_timestep_advance(&offset, 10.0, STEP, SUP_TIMESTEP_BEHIND);
    CHECK_EQ(frame.count, SUP_TIMESTEP_MAX_STEPS);
    CHECK_NEAR(offset, 0.0, 0.0);
    CHECK_NEAR(sup_timestep_fraction(&frame, 1), 1.0 / SUP_TIMESTEP_MAX_STEPS, 1e-15);
    CHECK_NEAR(sup_timestep_fraction(&frame, frame.count), 1.0, 0.0);
}

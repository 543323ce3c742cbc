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

/* --- Interpolation of joints --- */

static const int32_t chain_parent[2] = {-1, 0};
static const float chain_centre[6] = {0, 0, 0, 1, 0, 0};

/* A chain along x: both joints rotate by 90 degrees about z against their parents, and the root moves. */
static void bend_chain(sup_mat34 joints[2])
{
    joints[0] = (sup_mat34){{0, -1, 0, 3, 1, 0, 0, 4, 0, 0, 1, 5}};
    sup_mat34 own = {{0, -1, 0, 1, 1, 0, 0, -1, 0, 0, 1, 0}}; /* about (1, 0, 0) */
    joints[1] = sup_mat34_multiply(joints[0], own);
}

static sup_vec3d moved(const sup_mat34 *joint, double x)
{
    return sup_affine_point(sup_affine_from_float(*joint), sup_v3(x, 0, 0));
}

TEST(interpolated_bones_stay_connected_and_keep_their_lengths)
{
    sup_mat34 from[2] = {sup_mat34_identity(), sup_mat34_identity()}, to[2], joints[2];
    bend_chain(to);
    for (double t = 0.1; t < 1.0; t += 0.1) {
        sup_timestep_interpolate(2, chain_parent, chain_centre, from, to, t, joints);
        CHECK_NEAR(sup_v3_distance(moved(&joints[0], 1.0), moved(&joints[1], 1.0)), 0.0, 1e-6);
        CHECK_NEAR(sup_v3_distance(moved(&joints[0], 0.0), moved(&joints[1], 1.0)), 1.0, 1e-6);
        CHECK_NEAR(sup_v3_distance(moved(&joints[1], 1.0), moved(&joints[1], 2.0)), 1.0, 1e-6);
        sup_vec3d root = moved(&joints[0], 0.0);
        CHECK_NEAR(sup_v3_distance(root, sup_v3(3.0 * t, 4.0 * t, 5.0 * t)), 0.0, 1e-6);
    }
}

TEST(the_ends_of_an_interpolation_are_exact)
{
    sup_mat34 from[2] = {sup_mat34_identity(), sup_mat34_identity()}, to[2], joints[2];
    bend_chain(to);
    from[1].m[3] = 0.1f; /* a joint that leaves its parent */
    sup_timestep_interpolate(2, chain_parent, chain_centre, from, to, 0.0, joints);
    CHECK(memcmp(joints, from, sizeof joints) == 0);
    sup_timestep_interpolate(2, chain_parent, chain_centre, from, to, 1.0, joints);
    CHECK(memcmp(joints, to, sizeof joints) == 0);
    sup_timestep_interpolate(2, chain_parent, chain_centre, from, to, 1e-7, joints); /* and there is no jump */
    for (int i = 0; i < 24; i++)
        CHECK_NEAR(joints[i / 12].m[i % 12], from[i / 12].m[i % 12], 2e-6);
    sup_timestep_interpolate(2, chain_parent, chain_centre, from, to, 1.0 - 1e-7, joints);
    for (int i = 0; i < 24; i++)
        CHECK_NEAR(joints[i / 12].m[i % 12], to[i / 12].m[i % 12], 2e-6);
}

/* A parent that is scaled to nothing has no inverse: its child is interpolated like a root. */
TEST(a_parent_of_size_zero_does_not_break_its_children)
{
    sup_mat34 from[2] = {sup_mat34_identity(), sup_mat34_identity()}, to[2] = {{{0}}, sup_mat34_identity()}, joints[2];
    to[1].m[7] = 2.0f;
    sup_timestep_interpolate(2, chain_parent, chain_centre, from, to, 0.5, joints);
    CHECK_NEAR(joints[1].m[0], 1.0, 1e-6);
    CHECK_NEAR(joints[1].m[7], 1.0, 1e-6);
}

/* --- Cuts --- */

enum { LIMBS = 20 };

/* `turned` joints of a body rotate by an angle against their common parent, and the root by another. */
static bool is_cut(int32_t turned, double angle, double root, double dt, bool first)
{
    int32_t parent[LIMBS + 1] = {-1};
    float centre[3 * (LIMBS + 1)] = {0};
    sup_mat34 from[LIMBS + 1], to[LIMBS + 1];
    for (int32_t j = 0; j <= LIMBS; j++) {
        double own = root + (j > 0 && j <= turned ? angle : 0.0);
        float c = (float)cos(own), s = (float)sin(own);
        from[j] = sup_mat34_identity();
        to[j] = (sup_mat34){{c, -s, 0, 0, s, c, 0, 0, 0, 0, 1, 0}};
        if (j > 0) parent[j] = 0;
    }
    return sup_timestep_is_cut(LIMBS + 1, parent, centre, from, to, dt, first);
}

TEST(a_cut_turns_several_joints_faster_than_a_body_moves)
{
    CHECK(!is_cut(LIMBS, 0.5, 0.0, 1.0 / 30.0, false)); /* 15 rad/s: a sprint */
    CHECK(is_cut(LIMBS, 0.8, 0.0, 1.0 / 30.0, false));
    CHECK(!is_cut(LIMBS, 0.8, 0.0, 1.0 / 15.0, false)); /* the same pose change in twice the time */
    CHECK(!is_cut(1, 3.0, 0.0, 1.0 / 30.0, false));     /* a thumb that flips in motion capture */
    CHECK(is_cut(LIMBS, 0.4, 0.0, 1.0 / 30.0, true));   /* after a T-pose in the first frame */
    CHECK(!is_cut(LIMBS, 0.2, 0.0, 1.0 / 30.0, true));
    CHECK(!is_cut(0, 0.0, 0.8, 1.0 / 30.0, false)); /* a body that spins */
    CHECK(is_cut(0, 0.0, 1.5, 1.0 / 30.0, false));
    CHECK(!is_cut(LIMBS, 0.0, 0.0, 1.0 / 30.0, true));
}

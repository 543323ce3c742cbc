/* Rotation flips of motion capture, and a T-pose before the motion. */
#include "supple/pose.h"
#include "test.h"

enum { KEYS = 40 };

typedef struct finger {
    float times[KEYS], values[4 * KEYS];
    sup_channel channel;
    sup_clip clip;
} finger;

/* A joint that turns slowly about x, at 60 keys a second, and by another angle about z from key `first` to `end`. */
static void make_finger(finger *f, int first, int end, double flip)
{
    for (int i = 0; i < KEYS; i++) {
        double half = 0.5 * (0.01 * i), half_flip = i >= first && i < end ? 0.5 * flip : 0.0;
        f->times[i] = (float)i / 60.0f;
        f->values[4 * i] = (float)(sin(half) * cos(half_flip));
        f->values[4 * i + 1] = (float)(-sin(half) * sin(half_flip));
        f->values[4 * i + 2] = (float)(cos(half) * sin(half_flip));
        f->values[4 * i + 3] = (float)(cos(half) * cos(half_flip));
    }
    f->channel = (sup_channel){SUP_CHANNEL_ROTATION, 7, SUP_INTERPOLATE_LINEAR, KEYS, f->times, f->values};
    f->clip = (sup_clip){"finger", 0.0f, (float)(KEYS - 1) / 60.0f, 1, &f->channel};
}

TEST(a_flip_that_returns_is_removed)
{
    finger smooth, f;
    make_finger(&smooth, 0, 0, 0.0);
    make_finger(&f, 10, 14, 2.8);
    sup_clip_flip flip = {0};
    CHECK_EQ(sup_clip_find_flips(&f.clip, &flip, 1), 1);
    CHECK_EQ(flip.node, 7);
    CHECK(flip.start == f.times[9] && flip.end == f.times[14]);
    CHECK_EQ(sup_clip_despike(&f.clip), 1);
    for (int i = 0; i < 4 * KEYS; i++)
        CHECK_NEAR(f.values[i], smooth.values[i], 1e-6);
    CHECK_EQ(sup_clip_despike(&f.clip), 0);
}

static void check_kept(int first, int end, double flip)
{
    finger before, f;
    make_finger(&before, first, end, flip);
    make_finger(&f, first, end, flip);
    CHECK_EQ(sup_clip_despike(&f.clip), 0);
    CHECK(memcmp(before.values, f.values, sizeof f.values) == 0);
}

TEST(other_rotations_are_kept_bit_by_bit)
{
    check_kept(10, KEYS, 2.8); /* it stays */
    check_kept(10, 30, 2.8);   /* it returns after a third of a second */
    check_kept(10, 14, 1.5);   /* a fast motion */
    check_kept(0, 0, 0.0);
    CHECK_EQ(sup_clip_despike(NULL), 0);
}

TEST(channels_without_linear_rotations_are_kept)
{
    finger f;
    make_finger(&f, 10, 14, 2.8);
    f.channel.interpolation = SUP_INTERPOLATE_STEP;
    CHECK_EQ(sup_clip_despike(&f.clip), 0);
    f.channel.interpolation = SUP_INTERPOLATE_LINEAR;
    f.channel.target = SUP_CHANNEL_MORPH;
    CHECK_EQ(sup_clip_despike(&f.clip), 0);
}

TEST(two_flips_are_listed_in_order)
{
    finger f, second;
    make_finger(&f, 10, 14, 2.8);
    make_finger(&second, 20, 22, 2.8);
    memcpy(f.values + 4 * 20, second.values + 4 * 20, 4 * 2 * sizeof *f.values);
    sup_clip_flip flips[2] = {{0}};
    CHECK_EQ(sup_clip_find_flips(&f.clip, flips, 1), 2); /* no more than the capacity is written */
    CHECK(flips[1].end == 0.0f);
    CHECK_EQ(sup_clip_find_flips(&f.clip, flips, 2), 2);
    CHECK(flips[0].start == f.times[9] && flips[1].start == f.times[19] && flips[1].end == f.times[22]);
}

/* Joints whose first key is another pose. */
static double start_of(int joints, int end, double angle, double key_seconds)
{
    finger f[4];
    sup_channel channels[4];
    for (int i = 0; i < 4; i++) {
        make_finger(&f[i], 0, i < joints ? end : 0, angle);
        for (int k = 0; k < KEYS; k++)
            f[i].times[k] = (float)(k * key_seconds);
        channels[i] = f[i].channel;
    }
    sup_clip clip = {"body", 0.0f, f[0].times[KEYS - 1], 4, channels};
    CHECK_EQ(sup_clip_first_frame(&clip, 2.0 / key_seconds), sup_clip_motion_start(&clip) > 0.0 ? 2 : 0);
    CHECK_EQ(sup_clip_first_frame(&clip, 0.25 / key_seconds), sup_clip_motion_start(&clip) > 0.0 ? 1 : 0);
    return sup_clip_motion_start(&clip);
}

TEST(a_leading_pose_is_found)
{
    CHECK_NEAR(start_of(3, 1, 1.2, 1.0 / 120.0), 1.0 / 120.0, 1e-7);
    CHECK_NEAR(start_of(4, 1, 1.2, 1.0 / 30.0), 1.0 / 30.0, 1e-7);
    CHECK(start_of(2, 1, 1.2, 1.0 / 120.0) == 0.0); /* too few joints */
    CHECK(start_of(4, 1, 0.7, 1.0 / 120.0) == 0.0); /* too small a rotation */
    CHECK(start_of(4, 1, 1.2, 0.5) == 0.0);         /* keys of an animator, far apart */
    CHECK(start_of(4, 0, 1.2, 1.0 / 120.0) == 0.0);
    CHECK(sup_clip_motion_start(NULL) == 0.0);
    CHECK_EQ(sup_clip_first_frame(NULL, 30.0), 0);
}

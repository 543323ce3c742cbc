/* Channel interpolation, frames of a clip, world transforms of a chain. */
#include "character/character.h"
#include "pose/pose.h"
#include "test.h"

static const float times[3] = {1.0f, 2.0f, 4.0f};
static const float ramp[9] = {0, 0, 0, 1, 2, 3, 5, 6, 7};

TEST(linear_and_step_channels)
{
    sup_channel channel = {SUP_CHANNEL_TRANSLATION, 0, SUP_INTERPOLATE_LINEAR, 3, times, ramp};
    float v[4];
    sup_channel_sample(&channel, 1.5, v);
    CHECK_NEAR(v[1], 1.0, 1e-7);
    sup_channel_sample(&channel, 3.0, v);
    CHECK_NEAR(v[0], 3.0, 1e-7);
    sup_channel_sample(&channel, -10.0, v);
    CHECK_NEAR(v[2], 0.0, 0.0);
    sup_channel_sample(&channel, 99.0, v);
    CHECK_NEAR(v[2], 7.0, 0.0);
    channel.interpolation = SUP_INTERPOLATE_STEP;
    sup_channel_sample(&channel, 3.999, v);
    CHECK_NEAR(v[0], 1.0, 0.0);
    sup_channel_sample(&channel, 4.0, v);
    CHECK_NEAR(v[0], 5.0, 0.0);
}

/* A cubic whose tangents are those of x^3 reproduces x^3. */
TEST(cubic_channel_reproduces_a_cubic)
{
    float values[9];
    for (int k = 0; k < 3; k++) {
        double x = (double)times[k];
        values[3 * k] = values[3 * k + 2] = (float)(3.0 * x * x);
        values[3 * k + 1] = (float)(x * x * x);
    }
    sup_channel channel = {SUP_CHANNEL_MORPH, 0, SUP_INTERPOLATE_CUBIC, 3, times, values};
    for (double x = 1.0; x <= 4.0; x += 0.25) {
        float v[4];
        sup_channel_sample(&channel, x, v);
        CHECK_NEAR(v[0], x * x * x, 1e-5);
    }
}

TEST(rotation_channel_is_a_unit_quaternion_on_the_shorter_arc)
{
    const float values[8] = {0, 0, 0, 2.0f, 0, 0, -0.7071068f, -0.7071068f}; /* not unit; 90 degrees, negated */
    sup_channel channel = {SUP_CHANNEL_ROTATION, 0, SUP_INTERPOLATE_LINEAR, 2, times, values};
    float v[4];
    sup_channel_sample(&channel, 1.5, v);
    CHECK_NEAR(fabsf(v[2]), sin(0.125 * 3.14159265), 1e-6);
    CHECK_NEAR(v[0] * v[0] + v[1] * v[1] + v[2] * v[2] + v[3] * v[3], 1.0, 1e-6);
}

TEST(frames_are_uniform_from_start_to_end)
{
    sup_clip clip = {"c", 0.5f, 2.5f, 0, NULL};
    CHECK_EQ(sup_clip_frame_count(&clip, 30.0), 61);
    CHECK_NEAR(sup_clip_frame_time(&clip, 30.0, 0), 0.5, 0.0);
    CHECK_NEAR(sup_clip_frame_time(&clip, 30.0, 60), 2.5, 1e-12);
    clip.end = 2.49f;
    CHECK_EQ(sup_clip_frame_count(&clip, 30.0), 60);
    clip.end = clip.start;
    CHECK_EQ(sup_clip_frame_count(&clip, 30.0), 1);
    CHECK_EQ(sup_clip_frame_count(&clip, 0.0), 0);
}

static sup_character *chain(void)
{
    static sup_node nodes[3];
    static float turn_times[2] = {0.0f, 1.0f}, turn[8] = {0, 0, 0, 1, 0, 0, 0.70710678f, 0.70710678f};
    static sup_channel channel = {SUP_CHANNEL_ROTATION, 1, SUP_INTERPOLATE_LINEAR, 2, turn_times, turn};
    static sup_clip clip = {"turn", 0, 0, 1, &channel};
    for (int i = 0; i < 3; i++) {
        nodes[i] = (sup_node){"n", i - 1, sup_transform_identity(), true};
        nodes[i].rest.translation.x = 1.0f;
    }
    sup_character source = {.node_count = 3, .nodes = nodes, .clip_count = 1, .clips = &clip}, *made = NULL;
    sup_error error;
    CHECK_OK(sup_character_create(NULL, &source, &made, &error), error);
    return made;
}

TEST(sampled_chain_has_correct_world_transforms)
{
    sup_character *character = chain();
    sup_pose *pose = NULL;
    sup_error error;
    CHECK_OK(sup_pose_create(NULL, character, &pose, &error), error);
    CHECK_NEAR(pose->world[2].m[3], 3.0, 1e-6);
    CHECK_EQ(sup_pose_sample(character, &character->clips[0], 1.0, pose), SUP_OK);
    CHECK_NEAR(pose->world[2].m[3], 2.0, 1e-6); /* bent by 90 degrees about z at node 1 */
    CHECK_NEAR(pose->world[2].m[7], 1.0, 1e-6);
    CHECK_EQ(sup_pose_sample(character, &character->clips[0], (double)NAN, pose), SUP_ERROR_ARGUMENT);
    CHECK_EQ(sup_pose_sample(character, NULL, 0.0, pose), SUP_ERROR_ARGUMENT);
    sup_pose_destroy(pose);
    sup_character_destroy(character);
}

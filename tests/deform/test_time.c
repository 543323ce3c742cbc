/* Time and position: frame rates, pauses, teleports, noise, and positions far from the origin. */
#include "base/base.h"
#include "deform/actor.h"

static float *copy_positions(const actor *a)
{
    float *copy = malloc((size_t)a->character->vertex_count * 12);
    memcpy(copy, a->positions, (size_t)a->character->vertex_count * 12);
    return copy;
}

static void start(actor *a, const char *clip)
{
    actor_sample(a, clip, 0.0);
    CHECK_EQ(sup_instance_reset(a->instance, a->pose), SUP_OK);
}

/* At the times that all rates share, twelve a second, the skin matches that at 60 frames a second. The remaining
 * difference is that of the motion: at 24 and 30 frames the joints are interpolated between poses that are farther
 * apart. Fingers in contact have more than one equilibrium, and the render mesh is untangled once a frame. */
TEST(the_same_motion_at_any_frame_rate)
{
    enum { RATES = 6, MOMENTS = 12 };
    static const int rates[RATES] = {60, 24, 30, 144, 240, 480};
    static const double bounds[RATES] = {0.0, 2.5e-3, 1.5e-3, 1e-3, 1e-4, 3e-4};
    static const char *const scenes[] = {"cylinder", "arm"};
    static const char *const contact[] = {"contact=off", "contact=on limits=0"};
    for (int k = 0; k < 4; k++) {
        float *kept[MOMENTS] = {0};
        actor a = actor_open(NULL, scenes[k % 2], 0.25, contact[k / 2]);
        for (int r = 0; r < (k < 2 ? RATES : 3); r++) {
            start(&a, "bend");
            for (int i = 1; i <= rates[r]; i++) {
                actor_sample(&a, "bend", (double)i / rates[r]);
                actor_step(&a, 1.0 / rates[r]);
                if (i * MOMENTS % rates[r] != 0) continue;
                int moment = i * MOMENTS / rates[r] - 1;
                if (r == 0) kept[moment] = copy_positions(&a);
                double off = actor_farthest(&a, kept[moment]);
                CHECK_MSG(off <= (k < 2 ? bounds[r] : 8e-3), "%s %s at %d frames: %g at moment %d", scenes[k % 2],
                          contact[k / 2], rates[r], off, moment);
            }
        }
        for (int i = 0; i < MOMENTS; i++)
            free(kept[i]);
        actor_close(&a);
    }
}

/* Between two steps of the simulation the skin is extrapolated with the skeleton: under a fast rigid motion it does not
 * lag behind. */
TEST(skin_is_never_behind_the_skeleton)
{
    actor a = actor_open(NULL, "arm", 0.25, "dynamic=off");
    float *expected = malloc((size_t)a.character->vertex_count * 12);
    for (int i = 1; i <= 60; i++) { /* 250 frames a second, 3 sizes and half a turn a second */
        sup_affine fly = sup_affine_from_trs(sup_v3(0.01 * i, 0, 0),
                                             sup_quatd_from_axis_angle(sup_v3(0, 1, 0), 0.0125 * i), sup_v3(1, 1, 1));
        CHECK_EQ(sup_pose_rest(a.character, a.pose), SUP_OK);
        actor_move(&a, fly);
        actor_step(&a, 1.0 / 250.0);
        for (int32_t v = 0; v < a.character->vertex_count; v++)
            sup_v3_store(expected + 3 * (size_t)v,
                         sup_affine_point(fly, sup_v3_load(a.rig->positions + 3 * (size_t)v)));
        CHECK_MSG(actor_farthest(&a, expected) < 1e-3, "frame %d: %g", i, actor_farthest(&a, expected));
    }
    free(expected);
    actor_close(&a);
}

TEST(zero_time_changes_nothing_and_long_pauses_are_caught_up)
{
    actor a = actor_open(NULL, "arm", 0.25, "");
    start(&a, "bend");
    for (int i = 1; i <= 20; i++) {
        actor_sample(&a, "bend", i / 30.0);
        actor_step(&a, 1.0 / 30.0);
    }
    float *before = copy_positions(&a);
    for (int i = 0; i < 5; i++)
        actor_step(&a, 0.0);
    CHECK(memcmp(before, a.positions, (size_t)a.character->vertex_count * 12) == 0);
    actor_sample(&a, "bend", 1.5);
    actor_step(&a, 10.0); /* a pause: only half a second is simulated; the motion has ended by then */
    float *after = copy_positions(&a);
    for (int i = 0; i < 120; i++)
        actor_step(&a, 1.0 / 30.0);
    CHECK_NEAR(actor_farthest(&a, after), 0.0, 0.02);
    CHECK(actor_stretch(&a) < 3.0);
    free(before);
    free(after);
    actor_close(&a);
}

/* Tissue that is not painted free swings for at most a second after the skeleton stops. */
TEST(oscillation_ends_within_a_second)
{
    actor a = actor_open(NULL, "cylinder", 0.25, "");
    start(&a, "bend");
    for (int i = 1; i <= 90; i++) { /* stops in the middle of the motion */
        actor_sample(&a, "bend", fmin(i, 30) / 60.0);
        actor_step(&a, 1.0 / 60.0);
    }
    for (int i = 0; i < 30; i++) {
        float *before = copy_positions(&a);
        actor_step(&a, 1.0 / 60.0);
        CHECK_MSG(actor_farthest(&a, before) < 1e-5, "frame %d: %g", i, actor_farthest(&a, before));
        free(before);
    }
    actor_close(&a);
}

/* A teleport of the whole skeleton resets the tissue; one limb that jumps does not, and its stretch stays bounded. */
TEST(teleports_reset_the_tissue)
{
    actor a = actor_open(NULL, "arm", 0.25, "");
    sup_affine away = sup_affine_identity();
    away.m[3] = 30.0 * (double)a.rig->size;
    start(&a, "bend");
    for (int frame = 0; frame < 4; frame++) {
        actor_sample(&a, "bend", 0.0);
        if (frame % 2 == 1) actor_move(&a, away);
        actor_step(&a, 1.0 / 30.0);
        for (int32_t v = 0; v < a.character->vertex_count; v++)
            if (frame % 2 == 1) a.positions[3 * v] -= (float)away.m[3];
        CHECK_NEAR(actor_farthest(&a, a.rig->positions), 0.0, 1e-4);
    }
    actor_sample(&a, "bend", 1.2); /* the elbow, bent in one frame */
    for (int i = 0; i < 60; i++) {
        actor_step(&a, 1.0 / 60.0);
        CHECK(actor_stretch(&a) < 6.0);
    }
    actor_close(&a);
}

/* Random noise of a thousandth of the size on the joints moves the skin at most four times as much. */
TEST(noise_is_not_amplified)
{
    actor a = actor_open(NULL, "arm", 0.25, "");
    sup_random random = {7};
    double noise = 1e-3 * (double)a.rig->size;
    for (int i = 0; i < 120; i++) {
        CHECK_EQ(sup_pose_rest(a.character, a.pose), SUP_OK);
        for (int32_t n = 0; n < a.pose->node_count; n++)
            for (int k = 0; k < 3; k++)
                a.pose->world[n].m[4 * k + 3] += (float)(noise * (2.0 * sup_random_unit(&random) - 1.0));
        actor_step(&a, 1.0 / 60.0);
        CHECK_MSG(actor_farthest(&a, a.rig->positions) < 4.0 * sqrt(3.0) * 1e-3, "%g",
                  actor_farthest(&a, a.rig->positions));
    }
    actor_close(&a);
}

/* A motion far from the origin matches the same motion near it, up to float precision: the pose and the output skin are
 * rounded to `step`, and bones between two joints rotate by that error. The walk crosses the distance at which the
 * simulation changes its origin, which must have no effect. With contact the rounding decides which pairs occur, so
 * single vertices may differ by up to `loose`, in sizes. */
static void walk_far_away(const char *settings, double loose)
{
    for (double far = 1e2; far < 2e3; far *= 10.0) {
        actor a = actor_open(NULL, "arm", 0.25, settings), b = actor_open(NULL, "arm", 0.25, settings);
        float *moved = malloc((size_t)a.character->vertex_count * 12);
        double size = (double)a.rig->size,
               step = (double)(nextafterf((float)(far * size), INFINITY) - (float)(far * size));
        sup_affine away = sup_affine_identity();
        away.m[3] = far * size;
        start(&a, "bend");
        actor_sample(&b, "bend", 0.0);
        actor_move(&b, away);
        CHECK_EQ(sup_instance_reset(b.instance, b.pose), SUP_OK);
        for (int i = 1; i <= 16; i++) {
            away.m[3] += 0.12 * i * size; /* soon beyond the range of the first origin */
            sup_affine near = sup_affine_identity();
            near.m[3] = away.m[3] - far * size;
            actor_sample(&a, "bend", i / 60.0);
            actor_move(&a, near);
            actor_step(&a, 1.0 / 60.0);
            actor_sample(&b, "bend", i / 60.0);
            actor_move(&b, away);
            actor_step(&b, 1.0 / 60.0);
            for (int32_t v = 0; v < a.character->vertex_count; v++) {
                sup_v3_store(moved + 3 * (size_t)v, sup_v3_load(a.positions + 3 * (size_t)v));
                b.positions[3 * v] -= (float)(far * size);
            }
            double off = actor_farthest(&b, moved);
            CHECK_MSG(off < loose + 50.0 * step / size, "%g sizes away, frame %d: %g, a float's step is %g", far, i,
                      off, step / size);
        }
        free(moved);
        actor_close(&a);
        actor_close(&b);
    }
}

TEST(far_from_the_origin)
{
    walk_far_away("contact=off", 3e-4);
    walk_far_away("", 1e-3);
}

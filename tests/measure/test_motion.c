/* Metrics of motions: drift, jitter, summary, threads, invalid arguments. */
#include "base/base.h"
#include "supple/supple.h"
#include "test.h"

enum { FRAMES = 12 };

/* A cylinder whose skeleton moves in frames 3 to 5 and returns in frame 6; skin by linear blending. */
typedef struct motion_fixture {
    sup_character *character;
    sup_rig *rig;
    float *positions;
    sup_mat34 *nodes;
} motion_fixture;

static bool is_away(int32_t frame)
{
    return frame >= 3 && frame <= 5;
}

static motion_fixture make_motion(void)
{
    motion_fixture f = {0};
    sup_error error;
    sup_pose *pose = NULL;
    CHECK_OK(sup_scene_create(NULL, "cylinder", 0.25, &f.character, &error), error);
    CHECK_OK(sup_rig_create(NULL, f.character, NULL, &f.rig, &error), error);
    CHECK_OK(sup_pose_create(NULL, f.character, &pose, &error), error);
    size_t vertices = (size_t)f.rig->vertex_count, nodes = (size_t)f.character->node_count;
    double *skin = calloc(3 * vertices, sizeof *skin);
    f.positions = calloc(FRAMES * 3 * vertices, sizeof *f.positions);
    f.nodes = calloc(FRAMES * nodes, sizeof *f.nodes);
    for (int32_t frame = 0; frame < FRAMES; frame++) {
        const sup_clip *clip = &f.character->clips[0];
        double away = clip->start + (0.1 + 0.02 * frame) * (clip->end - clip->start);
        CHECK_EQ(is_away(frame) ? sup_pose_sample(f.character, clip, away, pose) : sup_pose_rest(f.character, pose),
                 SUP_OK);
        memcpy(f.nodes + (size_t)frame * nodes, pose->world, nodes * sizeof *f.nodes);
        CHECK_EQ(sup_reference_skin(NULL, f.rig, pose, false, skin, NULL), SUP_OK);
        for (size_t i = 0; i < 3 * vertices; i++)
            f.positions[3 * vertices * (size_t)frame + i] = (float)skin[i];
    }
    free(skin);
    sup_pose_destroy(pose);
    return f;
}

static void free_motion(motion_fixture *f)
{
    free(f->positions);
    free(f->nodes);
    sup_rig_destroy(f->rig);
    sup_character_destroy(f->character);
}

static sup_motion_measure *measure(const motion_fixture *f, const sup_context *context)
{
    sup_motion_def def = {.frame_count = FRAMES, .positions = f->positions, .nodes = f->nodes};
    sup_motion_measure *made = NULL;
    sup_error error;
    CHECK_OK(sup_measure_motion(context, f->rig, &def, &made, &error), error);
    return made;
}

static float *vertex_at(const motion_fixture *f, int32_t frame, int32_t vertex)
{
    return f->positions + 3 * ((size_t)frame * (size_t)f->rig->vertex_count + (size_t)vertex);
}

TEST(a_skin_that_returns_has_no_drift_and_no_jitter)
{
    motion_fixture f = make_motion();
    sup_motion_measure *m = measure(&f, NULL);
    for (int32_t frame = 0; frame < FRAMES; frame++) {
        bool back = frame >= 6, still = frame != 0 && !is_away(frame) && frame != 6;
        CHECK_EQ(m->drift[frame] >= 0.0, back);
        CHECK_EQ(m->jitter[frame] >= 0.0, still);
    }
    CHECK(m->summary.drift >= 0.0 && m->summary.drift < 1e-6);
    CHECK(m->summary.jitter >= 0.0 && m->summary.jitter < 1e-7);
    CHECK(m->summary.displacement_max > 0.01);
    sup_motion_measure_destroy(m);
    free_motion(&f);
}

/* Vertex 7 stays off by 0.01 of the size from the return on; it jitters in the frame before the last. */
TEST(drift_and_jitter_have_the_expected_size)
{
    motion_fixture f = make_motion();
    float size = f.rig->size;
    for (int32_t frame = 6; frame < FRAMES; frame++)
        vertex_at(&f, frame, 7)[1] += 0.01f * size;
    vertex_at(&f, FRAMES - 2, 3)[0] += 0.002f * size;
    sup_motion_measure *m = measure(&f, NULL);
    CHECK_NEAR(m->summary.drift, 0.01, 1e-5);
    CHECK_NEAR(m->drift[8], 0.01, 1e-5);
    CHECK_NEAR(m->summary.jitter, 0.002, 1e-5);
    CHECK_NEAR(m->jitter[FRAMES - 2], 0.002, 1e-5);
    CHECK_NEAR(m->jitter[8], 0.0, 1e-6);
    sup_motion_measure_destroy(m);
    free_motion(&f);
}

TEST(settling_is_not_jitter_and_the_end_counts_for_drift)
{
    motion_fixture f = make_motion();
    vertex_at(&f, 6, 5)[2] += 0.05f * f.rig->size; /* arrives with an offset, then converges */
    sup_motion_measure *m = measure(&f, NULL);
    CHECK_NEAR(m->drift[6], 0.05, 1e-5);
    CHECK_NEAR(m->jitter[7], 0.05, 1e-5);
    CHECK(m->summary.drift < 1e-6);
    CHECK(m->summary.jitter < 1e-6);
    sup_motion_measure_destroy(m);
    free_motion(&f);
}

TEST(without_a_skeleton_there_is_no_drift_or_jitter)
{
    motion_fixture f = make_motion();
    sup_motion_def def = {.frame_count = FRAMES, .positions = f.positions};
    sup_motion_measure *m = NULL;
    sup_error error;
    CHECK_OK(sup_measure_motion(NULL, f.rig, &def, &m, &error), error);
    CHECK(m->summary.drift < 0.0 && m->summary.jitter < 0.0);
    sup_motion_measure_destroy(m);
    free_motion(&f);
}

TEST(motion_metrics_are_independent_of_threads)
{
    motion_fixture f = make_motion();
    sup_thread_pool *pool = NULL;
    sup_error error;
    sup_context context = {0};
    CHECK_OK(sup_thread_pool_create(3, &pool, &error), error);
    context.tasks = sup_thread_pool_tasks(pool);
    sup_motion_measure *one = measure(&f, NULL), *three = measure(&f, &context);
    CHECK(memcmp(one->frames, three->frames, FRAMES * sizeof *one->frames) == 0);
    CHECK(memcmp(one->region_volume_ratio, three->region_volume_ratio,
                 (size_t)FRAMES * (size_t)one->region_count * sizeof(double)) == 0);
    CHECK(memcmp(one->drift, three->drift, FRAMES * sizeof(double)) == 0);
    CHECK(memcmp(one->jitter, three->jitter, FRAMES * sizeof(double)) == 0);
    CHECK(memcmp(&one->summary, &three->summary, sizeof one->summary) == 0);
    sup_motion_measure_destroy(one);
    sup_motion_measure_destroy(three);
    sup_thread_pool_destroy(pool);
    free_motion(&f);
}

TEST(frames_match_a_measurer_and_the_summary)
{
    motion_fixture f = make_motion();
    vertex_at(&f, 4, 2)[0] = (float)NAN;
    vertex_at(&f, 9, 2)[1] = (float)INFINITY;
    sup_motion_measure *m = measure(&f, NULL);
    sup_rig_surface *surface = NULL;
    sup_measurer *measurer = NULL;
    sup_error error;
    CHECK_OK(sup_rig_surface_create(NULL, f.rig, &surface, &error), error);
    CHECK_OK(sup_measurer_create(NULL, &surface->surface, &measurer, &error), error);
    float *gathered = calloc(3 * (size_t)f.rig->skin_vertex_count, sizeof *gathered);
    int64_t pairs = 0;
    double largest = 0.0;
    for (int32_t frame = 0; frame < FRAMES; frame++) {
        sup_frame_measure one;
        sup_rig_surface_gather(f.rig, vertex_at(&f, frame, 0), gathered);
        CHECK_EQ(sup_measurer_frame(measurer, gathered, &one, NULL), SUP_OK);
        CHECK_EQ(one.intersections, m->frames[frame].intersections);
        CHECK(one.stretch_max == m->frames[frame].stretch_max && one.volume_ratio == m->frames[frame].volume_ratio);
        pairs += one.intersections;
        largest = fmax(largest, one.stretch_max);
    }
    CHECK_EQ(m->summary.intersections_sum, pairs);
    CHECK(m->summary.stretch_max == largest);
    CHECK_EQ(m->summary.nonfinite, 2);
    CHECK_EQ(m->frames[4].nonfinite, 1);
    CHECK(isfinite(m->summary.stretch_max) && isfinite(m->summary.drift) && isfinite(m->summary.volume_ratio));
    free(gathered);
    sup_measurer_destroy(measurer);
    sup_rig_surface_destroy(surface);
    sup_motion_measure_destroy(m);
    free_motion(&f);
}

/* The primitive of the whole character has its whole volume; a joint that moves nothing has none. */
TEST(primitives_are_regions)
{
    motion_fixture f = make_motion();
    sup_motion_measure *m = measure(&f, NULL);
    CHECK_EQ(m->region_count, 2 * f.rig->joint_count + f.character->primitive_count);
    CHECK_EQ(f.character->primitive_count, 1);
    for (int32_t frame = 0; frame < FRAMES; frame++)
        CHECK_NEAR(m->region_volume_ratio[frame * m->region_count + 2 * f.rig->joint_count],
                   m->frames[frame].volume_ratio, 1e-9);
    sup_motion_measure_destroy(m);
    free_motion(&f);
}

/* A flat patch encloses no volume: its ratio is NaN. */
TEST(a_region_without_volume_has_no_ratio)
{
    const float positions[] = {0, 0, 0, 1, 0, 0, 1, 1, 0, 0, 1, 0, 0, 0, 1};
    const int32_t triangles[] = {0, 2, 1, 0, 3, 2, 0, 1, 4, 1, 2, 4, 2, 3, 4, 3, 0, 4};
    const int32_t first[] = {0, 2, 8}, members[] = {0, 1, 0, 1, 2, 3, 4, 5};
    sup_measure_surface surface = {.vertex_count = 5,
                                   .triangle_count = 6,
                                   .positions = positions,
                                   .triangles = triangles,
                                   .region_count = 2,
                                   .region_first = first,
                                   .region_triangles = members};
    sup_measurer *measurer = NULL;
    sup_error error;
    sup_frame_measure frame;
    double ratio[2];
    CHECK_OK(sup_measurer_create(NULL, &surface, &measurer, &error), error);
    CHECK_EQ(sup_measurer_frame(measurer, positions, &frame, ratio), SUP_OK);
    CHECK(isnan(ratio[0]));
    CHECK_NEAR(ratio[1], 1.0, 1e-9);
    sup_measurer_destroy(measurer);
}

static bool stop_at_once(void *user, float fraction, const char *stage)
{
    SUP_UNUSED(fraction);
    SUP_UNUSED(stage);
    ++*(int *)user;
    return false;
}

TEST(motion_metrics_can_be_cancelled_and_reject_invalid_arguments)
{
    motion_fixture f = make_motion();
    int calls = 0;
    sup_motion_def def = {.frame_count = FRAMES,
                          .positions = f.positions,
                          .nodes = f.nodes,
                          .progress = stop_at_once,
                          .progress_user = &calls};
    sup_motion_measure *m = NULL;
    sup_error error;
    CHECK_EQ(sup_measure_motion(NULL, f.rig, &def, &m, &error), SUP_ERROR_CANCELLED);
    CHECK_EQ(calls, 1);
    def.frame_count = 0;
    CHECK_EQ(sup_measure_motion(NULL, f.rig, &def, &m, &error), SUP_ERROR_ARGUMENT);
    CHECK_EQ(sup_measure_motion(NULL, NULL, &def, &m, &error), SUP_ERROR_ARGUMENT);
    CHECK(m == NULL);
    sup_motion_measure_destroy(NULL);
    free_motion(&f);
}

TEST(acceleration_is_the_second_difference_of_positions)
{
    motion_fixture f = make_motion();
    sup_acceleration still, moved;
    size_t vertices = (size_t)f.rig->vertex_count, frame = 3 * vertices;
    float *line = calloc(FRAMES * frame, sizeof *line); /* every vertex moves at its own constant velocity */
    for (size_t i = 0; i < FRAMES * frame; i++)
        line[i] = (float)(i / frame) * 0.25f * (float)(i % frame % 7);
    CHECK_EQ(sup_measure_acceleration(f.rig, FRAMES, line, NULL, &still), SUP_OK);
    CHECK_EQ(still.rms, 0.0);
    CHECK_EQ(still.excess, -1.0);
    CHECK_EQ(still.excess_frame, -1);

    /* A pop of h in one frame: second differences h, 2 h and h in three of FRAMES - 2 frames. */
    float *popped = calloc(FRAMES * frame, sizeof *popped), h = 0.01f * f.rig->size;
    memcpy(popped, line, FRAMES * frame * sizeof *popped);
    popped[5 * frame + 1] += h;
    CHECK_EQ(sup_measure_acceleration(f.rig, FRAMES, popped, line, &moved), SUP_OK);
    CHECK_NEAR(moved.excess, 0.02, 1e-5);
    CHECK_EQ(moved.excess_frame, 5);
    CHECK_NEAR(moved.rms, sqrt(6e-4 / (double)((FRAMES - 2) * vertices)), 1e-6);
    CHECK_EQ(sup_measure_acceleration(f.rig, FRAMES, line, popped, &moved), SUP_OK);
    CHECK_EQ(moved.excess, 0.0);

    popped[5 * frame + 1] = NAN;
    CHECK_EQ(sup_measure_acceleration(f.rig, FRAMES, popped, line, &moved), SUP_OK);
    CHECK_EQ(moved.rms, 0.0);
    CHECK_EQ(sup_measure_acceleration(f.rig, 2, line, line, &moved), SUP_OK);
    CHECK(moved.rms < 0.0 && moved.excess < 0.0);
    CHECK_EQ(sup_measure_acceleration(f.rig, 0, line, line, &moved), SUP_ERROR_ARGUMENT);
    CHECK_EQ(sup_measure_acceleration(NULL, FRAMES, line, line, &moved), SUP_ERROR_ARGUMENT);
    free(popped);
    free(line);
    free_motion(&f);
}

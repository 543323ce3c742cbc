/* What must hold on any character and motion, on a coarse built-in human: a still skeleton has still skin, a cut gives
 * the skin of a restart, volume is kept, and rigid components move with their joint. */
#include "base/base.h"
#include "supple/supple.h"
#include "test.h"

typedef struct actor {
    sup_character *character;
    sup_rig *rig;
    sup_model *model;
    sup_pose *pose;
    sup_instance *instance;
    float *positions, *kept;
    int32_t squat; /* clip */
} actor;

static const double DEEPEST = 0.9; /* second of the squat */

static void actor_open(actor *a, const char *name)
{
    sup_error error;
    memset(a, 0, sizeof *a);
    CHECK_OK(sup_scene_create(NULL, "human", 0.1, &a->character, &error), error);
    CHECK_OK(sup_rig_create(NULL, a->character, NULL, &a->rig, &error), error);
    CHECK_OK(sup_bind(NULL, sup_method_find(name), a->rig, NULL, &a->model, &error), error);
    CHECK_OK(sup_pose_create(NULL, a->character, &a->pose, &error), error);
    CHECK_OK(sup_instance_create(NULL, a->model, NULL, &a->instance, &error), error);
    a->positions = malloc((size_t)a->character->vertex_count * 12);
    a->kept = malloc((size_t)a->character->vertex_count * 12);
    a->squat = sup_character_find_clip(a->character, "squat");
    CHECK(a->squat >= 0);
}

static void actor_close(actor *a)
{
    sup_instance_destroy(a->instance);
    sup_pose_destroy(a->pose);
    sup_model_destroy(a->model);
    sup_rig_destroy(a->rig);
    sup_character_destroy(a->character);
    free(a->positions);
    free(a->kept);
}

static void step_at(actor *a, double seconds)
{
    sup_skin_out out = {.positions = a->positions};
    sup_pose_sample(a->character, &a->character->clips[a->squat], seconds, a->pose);
    CHECK_EQ(sup_instance_step(a->instance, a->pose, 1.0f / 30.0f, &out), SUP_OK);
}

static void keep(actor *a)
{
    memcpy(a->kept, a->positions, (size_t)a->character->vertex_count * 12);
}

/* Largest distance of a coordinate from the kept output, in sizes. */
static double largest_move(const actor *a)
{
    double largest = 0.0;
    for (int64_t i = 0; i < 3 * (int64_t)a->character->vertex_count; i++)
        largest = fmax(largest, fabs((double)a->positions[i] - (double)a->kept[i]));
    return largest / (double)a->rig->size;
}

TEST(robust_skin_of_a_still_skeleton_is_still)
{
    actor a;
    actor_open(&a, "implicit");
    for (int i = 0; i <= 27; i++)
        step_at(&a, DEEPEST * i / 27);
    for (int i = 0; i < 15; i++)
        step_at(&a, DEEPEST);
    for (int i = 0; i < 5; i++) {
        keep(&a);
        step_at(&a, DEEPEST);
        CHECK_MSG(largest_move(&a) < 1e-6, "%g of the size in frame %d", largest_move(&a), i);
    }
    actor_close(&a);
}

TEST(robust_cut_gives_the_skin_of_a_restart)
{
    actor a;
    actor_open(&a, "implicit");
    for (int i = 0; i < 4; i++)
        step_at(&a, 0.0);
    step_at(&a, DEEPEST);
    keep(&a);
    CHECK_EQ(sup_instance_reset(a.instance, a.pose), SUP_OK);
    step_at(&a, DEEPEST);
    CHECK_MSG(largest_move(&a) < 2e-3, "%g of the size", largest_move(&a));
    actor_close(&a);
}

static double volume_of(actor *a)
{
    sup_error error;
    sup_rig_surface *surface;
    sup_measurer *measurer;
    sup_frame_measure measure;
    CHECK_OK(sup_rig_surface_create(NULL, a->rig, &surface, &error), error);
    CHECK_OK(sup_measurer_create(NULL, &surface->surface, &measurer, &error), error);
    float *gathered = malloc(3 * (size_t)surface->surface.vertex_count * sizeof(float));
    sup_rig_surface_gather(a->rig, a->positions, gathered);
    CHECK_EQ(sup_measurer_frame(measurer, gathered, &measure, NULL), SUP_OK);
    free(gathered);
    sup_measurer_destroy(measurer);
    sup_rig_surface_destroy(surface);
    return measure.volume_ratio;
}

TEST(robust_volume_is_kept)
{
    actor a, dual;
    sup_error error;
    actor_open(&a, "implicit");
    actor_open(&dual, "dualquat");
    step_at(&dual, DEEPEST);
    for (int i = 0; i <= 18; i++)
        step_at(&a, DEEPEST * i / 18);
    double bound = fmin(1.0, volume_of(&dual)) - 0.03, kept = volume_of(&a);
    CHECK_MSG(kept > bound, "%g of %g", kept, bound);
    CHECK_OK(sup_instance_set(a.instance, "loss", 1.0, &error), error);
    step_at(&a, DEEPEST);
    CHECK_MSG(volume_of(&a) < kept, "%g", volume_of(&a)); /* of the iso-surfaces */
    actor_close(&a);
    actor_close(&dual);
}

TEST(robust_rigid_components_move_with_their_joint)
{
    actor a, linear;
    int32_t rigid = 0;
    actor_open(&a, "implicit");
    actor_open(&linear, "linear");
    step_at(&linear, DEEPEST);
    for (int i = 0; i <= 9; i++)
        step_at(&a, DEEPEST * i / 9);
    const int32_t *joints = sup_rig_rigid_joints(a.rig);
    for (int64_t v = 0; v < a.character->vertex_count; v++) {
        int32_t skin = a.rig->vertex_to_skin[v];
        if (skin < 0 || joints[skin] < 0) continue;
        rigid++;
        for (int64_t i = 3 * v; i < 3 * v + 3; i++)
            CHECK_NEAR(a.positions[i], linear.positions[i], 1e-5 * (double)a.rig->size);
    }
    CHECK(rigid > 0);
    actor_close(&a);
    actor_close(&linear);
}

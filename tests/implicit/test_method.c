/* The method through its public interface, on the built-in cylinder: numbers in comments are those of the checklist in
 * shared/methods/facts_implicit.md. */
#include "base/base.h"
#include "math/affine.h"
#include "supple/supple.h"
#include "test.h"

typedef struct actor {
    sup_character *character;
    sup_rig *rig;
    sup_model *model;
    sup_pose *pose;
    sup_instance *instance;
    float *positions, *kept;
    int32_t bend; /* clip */
} actor;

static void actor_open(actor *a, sup_weight_source weights, const char *name, const char *value)
{
    sup_error error;
    memset(a, 0, sizeof *a);
    const sup_method *method = sup_method_find("implicit");
    CHECK(method != NULL);
    double values[64];
    sup_method_defaults(method, values);
    if (name != NULL) CHECK_OK(sup_method_set(method, values, name, value, &error), error);
    CHECK_OK(sup_scene_create(NULL, "cylinder", 0.6, &a->character, &error), error);
    sup_rig_def rig = sup_default_rig_def();
    rig.weights = weights;
    CHECK_OK(sup_rig_create(NULL, a->character, &rig, &a->rig, &error), error);
    sup_bind_def def = {.values = values};
    CHECK_OK(sup_bind(NULL, method, a->rig, &def, &a->model, &error), error);
    CHECK_OK(sup_pose_create(NULL, a->character, &a->pose, &error), error);
    CHECK_OK(sup_instance_create(NULL, a->model, NULL, &a->instance, &error), error);
    a->positions = malloc((size_t)a->character->vertex_count * 12);
    a->kept = malloc((size_t)a->character->vertex_count * 12);
    a->bend = sup_character_find_clip(a->character, "bend");
    CHECK(a->bend >= 0);
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

static void step(actor *a)
{
    sup_skin_out out = {.positions = a->positions};
    CHECK_EQ(sup_instance_step(a->instance, a->pose, 1.0f / 30.0f, &out), SUP_OK);
    for (int64_t i = 0; i < 3 * (int64_t)a->character->vertex_count; i++)
        CHECK(isfinite(a->positions[i]));
}

/* RMS distance of the output from `other`, in sizes. */
static double away(const actor *a, const float *other)
{
    double sum = 0.0;
    for (int64_t i = 0; i < 3 * (int64_t)a->character->vertex_count; i++)
        sum += ((double)a->positions[i] - (double)other[i]) * ((double)a->positions[i] - (double)other[i]);
    return sqrt(sum / a->character->vertex_count) / (double)a->rig->size;
}

static void play(actor *a, double from, double to, int frames)
{
    for (int i = 1; i <= frames; i++) {
        sup_pose_sample(a->character, &a->character->clips[a->bend], from + (to - from) * i / frames, a->pose);
        step(a);
    }
}

/* 14 and 15 */
TEST(method_rest_and_rigid_motion_are_exact)
{
    actor a;
    actor_open(&a, SUP_WEIGHTS_AUTO, NULL, NULL);
    step(&a);
    CHECK_NEAR(away(&a, a.rig->positions), 0.0, 1e-6);
    sup_affine root = sup_affine_from_trs(sup_v3(0.3, 1.0, -2.0), sup_quatd_from_axis_angle(sup_v3(1, 1, 0.3), 2.0),
                                          sup_v3(1.5, 1.5, 1.5));
    for (int i = 0; i < 3; i++) { /* slowly, then in one frame */
        sup_affine region = i < 2 ? sup_affine_between(sup_affine_identity(), root, 0.05 * (i + 1)) : root;
        sup_pose_rest(a.character, a.pose);
        for (int32_t n = 0; n < a.pose->node_count; n++)
            a.pose->world[n] =
                sup_affine_to_float(sup_affine_multiply(region, sup_affine_from_float(a.pose->world[n])));
        step(&a);
        for (int64_t v = 0; v < a.character->vertex_count; v++)
            sup_v3_store(a.kept + 3 * v, sup_affine_point(region, sup_v3_load(a.rig->positions + 3 * v)));
        CHECK_MSG(away(&a, a.kept) < 1e-5, "frame %d: %g", i, away(&a, a.kept));
    }
    actor_close(&a);
}

/* 21 and 22: bend and return; with half the sub-steps. A teleport into a pose gives the same as moving there. */
TEST(method_bends_and_comes_back)
{
    actor a;
    actor_open(&a, SUP_WEIGHTS_AUTO, NULL, NULL);
    sup_error error;
    play(&a, 0.0, 1.2, 24);
    memcpy(a.kept, a.positions, (size_t)a.character->vertex_count * 12);
    CHECK_EQ(sup_instance_reset(a.instance, a.pose), SUP_OK);
    step(&a);
    CHECK_MSG(away(&a, a.kept) < 0.01, "by another path: %g", away(&a, a.kept));
    play(&a, 1.2, 0.0, 24);
    for (int i = 0; i < 5; i++)
        step(&a);
    CHECK_MSG(away(&a, a.rig->positions) < 5e-4, "back at %g", away(&a, a.rig->positions));
    CHECK_OK(sup_instance_set(a.instance, "substep", 0.5, &error), error);
    play(&a, 0.0, 1.2, 24);
    CHECK_MSG(away(&a, a.kept) < 0.01, "with half the sub-steps: %g", away(&a, a.kept));
    actor_close(&a);
}

/* Vertices whose value, from the public field query, differs from that at rest by more than 1e-3 and that are not
 * inside another limb's field, as those on a contact surface are. */
static int32_t vertices_off(actor *a, const float *values_at_rest)
{
    int32_t off = 0, count = a->character->vertex_count;
    float *now = malloc((size_t)count * sizeof *now);
    CHECK_EQ(sup_instance_field(a->instance, a->positions, count, now), SUP_OK);
    for (int32_t v = 0; v < count; v++)
        off += fabsf(now[v] - values_at_rest[v]) > 1e-3f && !(now[v] >= 0.5f && now[v] < 0.6f) ? 1 : 0;
    free(now);
    return off;
}

/* 16 and 23 */
TEST(method_deep_bend_is_clean)
{
    actor a;
    sup_error error;
    sup_rig_surface *surface;
    sup_measurer *measurer;
    sup_frame_measure own;
    actor_open(&a, SUP_WEIGHTS_AUTO, "smooth", "0"); /* output without smoothing */
    CHECK_OK(sup_rig_surface_create(NULL, a.rig, &surface, &error), error);
    CHECK_OK(sup_measurer_create(NULL, &surface->surface, &measurer, &error), error);
    float *gathered = malloc(3 * (size_t)surface->surface.vertex_count * sizeof(float));
    float *at_rest = malloc((size_t)a.character->vertex_count * sizeof *at_rest);
    CHECK_OK(sup_instance_set(a.instance, "elastic", 0.0, &error), error);
    step(&a);
    CHECK_EQ(sup_instance_field(a.instance, a.positions, a.character->vertex_count, at_rest), SUP_OK);
    play(&a, 0.0, 1.3, 30);
    int32_t off = vertices_off(&a, at_rest);
    CHECK_MSG(off <= a.character->vertex_count / 100, "%d of %d are off their target", off, a.character->vertex_count);
    for (int elastic = 0; elastic < 2; elastic++) {
        CHECK_OK(sup_instance_set(a.instance, "elastic", elastic, &error), error);
        step(&a);
        sup_rig_surface_gather(a.rig, a.positions, gathered);
        CHECK_EQ(sup_measurer_frame(measurer, gathered, &own, NULL), SUP_OK);
        CHECK_EQ(own.flips, 0);
        CHECK_EQ(own.intersections, 0);
        CHECK(own.penetration < 0.01);
        CHECK(own.stretch_max < (elastic ? 3.0 : 4.0));
    }
    free(at_rest);
    free(gathered);
    sup_measurer_destroy(measurer);
    sup_rig_surface_destroy(surface);
    actor_close(&a);
}

/* Figure 8: the weights determine rotations only, so the result depends little on them. */
TEST(method_depends_little_on_weights)
{
    actor a, b;
    actor_open(&a, SUP_WEIGHTS_HEAT, NULL, NULL);
    actor_open(&b, SUP_WEIGHTS_RIGID, NULL, NULL);
    play(&a, 0.0, 1.0, 12);
    play(&b, 0.0, 1.0, 12);
    CHECK_MSG(away(&a, b.positions) < 0.01, "%g", away(&a, b.positions));
    actor_close(&a);
    actor_close(&b);
}

/* All modes of the method: without tracking, the paper's solver, a decimated skin, rotations fitted to the skin. All
 * outputs stay finite. */
TEST(method_modes_give_finite_results)
{
    static const char *const modes[][2] = {
        {"tracking", "off"}, {"solver", "jacobi"}, {"vertices", "200"}, {"rotations", "shape"}};
    for (int i = 0; i < SUP_COUNT(modes); i++) {
        actor a;
        actor_open(&a, SUP_WEIGHTS_AUTO, modes[i][0], modes[i][1]);
        play(&a, 0.0, 1.0, 6);
        CHECK(away(&a, a.rig->positions) > 0.02);
        sup_pose_rest(a.character, a.pose);
        for (int32_t n = 0; n < a.pose->node_count; n++) /* a skeleton that shrinks to a point and recovers */
            for (int k = 0; k < 12; k++)
                a.pose->world[n].m[k] *= k % 4 == 3 ? 1.0f : 0.0f;
        step(&a);
        sup_pose_rest(a.character, a.pose);
        step(&a);
        CHECK_MSG(away(&a, a.rig->positions) < (i == 2 ? 0.01 : 1e-3), "%s: %g", modes[i][0],
                  away(&a, a.rig->positions));
        actor_close(&a);
    }
}

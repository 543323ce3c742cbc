/* Projective skinning as a method, through the public API. */
#include "actor.h"
#include "base/base.h"

/* Checklist 1: the rest pose stays at rest. */
TEST(rest_stays_at_rest)
{
    actor a = actor_open(actor_scene("human", 0.25), "", 2);
    for (int i = 0; i < 100; i++)
        actor_step(&a, 1.0 / 60.0);
    CHECK_NEAR(actor_farthest(&a, a.rig->positions), 0.0, 2e-5);
    actor_close(&a);
}

/* Checklist 2: a rigid motion of the skeleton moves the rest shape rigidly. */
TEST(rigid_motion_moves_rigidly)
{
    actor a = actor_open(actor_scene("arm", 0.5), "dynamic=off", 1);
    sup_transform turn = sup_transform_identity();
    turn.rotation = (sup_quat){0.182574f, 0.365148f, 0.547723f, 0.730297f};
    turn.translation = (sup_vec3){0.3f, -0.2f, 0.1f};
    sup_mat34 m = sup_mat34_from_transform(turn);
    for (int32_t n = 0; n < a.pose->node_count; n++)
        a.pose->world[n] = sup_mat34_multiply(m, a.pose->world[n]);
    CHECK_EQ(sup_instance_reset(a.instance, a.pose), SUP_OK);
    actor_step(&a, 1.0 / 60.0);
    float *expected = malloc((size_t)a.character->vertex_count * 12);
    for (int32_t v = 0; v < a.character->vertex_count; v++) {
        sup_vec3 p = sup_mat34_transform_point(
            m, (sup_vec3){a.rig->positions[3 * v], a.rig->positions[3 * v + 1], a.rig->positions[3 * v + 2]});
        expected[3 * v] = p.x;
        expected[3 * v + 1] = p.y;
        expected[3 * v + 2] = p.z;
    }
    CHECK_NEAR(actor_farthest(&a, expected), 0.0, 5e-5);
    free(expected);
    actor_close(&a);
}

/* The same motion at 30, 60 and 97 frames per second ends in the same shape: the timestep is independent of the frame
 * rate. */
TEST(tissue_motion_does_not_depend_on_the_frame_rate)
{
    const double rates[] = {60.0, 30.0, 97.0};
    float *first = NULL;
    for (int r = 0; r < 3; r++) {
        actor a = actor_open(actor_scene("cylinder", 0.5), "", 1);
        int frames = (int)(1.0 * rates[r] + 0.5);
        for (int i = 1; i <= frames; i++) {
            actor_sample(&a, "bend", i / rates[r]);
            actor_step(&a, 1.0 / rates[r]);
        }
        if (r == 0) {
            first = malloc((size_t)a.character->vertex_count * 12);
            memcpy(first, a.positions, (size_t)a.character->vertex_count * 12);
        }
        CHECK_NEAR(actor_farthest(&a, first), 0.0, 0.01);
        actor_close(&a);
    }
    free(first);
}

TEST(same_bits_for_any_number_of_threads)
{
    uint64_t hash[3];
    for (int32_t threads = 1; threads <= 3; threads++) {
        actor a = actor_open(actor_scene("human", 0.25), "", threads);
        for (int i = 1; i <= 12; i++) {
            actor_sample(&a, "squat", i / 10.0);
            actor_step(&a, 1.0 / 30.0);
        }
        hash[threads - 1] = sup_hash64(a.positions, (size_t)a.character->vertex_count * 12, 1);
        actor_close(&a);
    }
    CHECK(hash[0] == hash[1] && hash[0] == hash[2]);
}

TEST(teleports_and_pauses_are_handled)
{
    actor a = actor_open(actor_scene("arm", 0.5), "", 1);
    sup_transform far = sup_transform_identity();
    far.translation = (sup_vec3){100.0f, 50.0f, -70.0f};
    sup_mat34 m = sup_mat34_from_transform(far);
    actor_sample(&a, "bend", 0.5);
    actor_step(&a, 1.0 / 30.0);
    for (int32_t n = 0; n < a.pose->node_count; n++)
        a.pose->world[n] = sup_mat34_multiply(m, a.pose->world[n]);
    actor_step(&a, 1.0 / 30.0);
    double size = (double)a.rig->size;
    for (int32_t v = 0; v < a.character->vertex_count; v++)
        CHECK_NEAR(a.positions[3 * v], 100.0, 2.0 * size);
    actor_step(&a, 1e6);
    actor_step(&a, 0.0);
    actor_close(&a);
}

/* Bends elbows and a knee by 120 degrees with a method. Returns the largest stretch of an edge. */
static double bent_stretch(const char *method)
{
    actor a = actor_open(actor_scene("human", 0.25), "", 2);
    sup_model *model = NULL;
    sup_instance *own = a.instance, *other = NULL;
    sup_rig_surface *surface = NULL;
    sup_measurer *measurer = NULL;
    sup_frame_measure measure;
    sup_error error;
    if (strcmp(method, "projective") != 0) {
        CHECK_OK(sup_bind(&a.context, sup_method_find(method), a.rig, NULL, &model, &error), error);
        CHECK_OK(sup_instance_create(&a.context, model, a.pose, &other, &error), error);
        a.instance = other;
    }
    for (int i = 0; i <= 36; i++) {
        actor_sample(&a, "bend", i / 30.0);
        actor_step(&a, 1.0 / 30.0);
    }
    CHECK_OK(sup_rig_surface_create(NULL, a.rig, &surface, &error), error);
    CHECK_OK(sup_measurer_create(NULL, &surface->surface, &measurer, &error), error);
    float *skin = malloc((size_t)a.rig->skin_vertex_count * 12);
    sup_rig_surface_gather(a.rig, a.positions, skin);
    CHECK_EQ(sup_measurer_frame(measurer, skin, &measure, NULL), SUP_OK);
    free(skin);
    sup_measurer_destroy(measurer);
    sup_rig_surface_destroy(surface);
    sup_instance_destroy(other);
    sup_model_destroy(model);
    a.instance = own;
    actor_close(&a);
    return measure.stretch_max;
}

/* Simulated tissue distributes a bend over many edges: the largest stretch is smaller than under linear blending. */
TEST(bends_stretch_less_than_under_linear_blending)
{
    double projective = bent_stretch("projective"), linear = bent_stretch("linear");
    CHECK_MSG(projective < 0.8 * linear, "projective %.3f, linear %.3f", projective, linear);
}

TEST(saved_model_steps_the_same)
{
    actor a = actor_open(actor_scene("cylinder", 0.5), "", 1);
    sup_model *loaded = NULL;
    sup_instance *other = NULL;
    sup_error error;
    CHECK_OK(sup_model_load(&a.context, sup_model_bytes(a.model), &loaded, &error), error);
    CHECK_OK(sup_instance_create(&a.context, loaded, a.pose, &other, &error), error);
    float *positions = malloc((size_t)a.character->vertex_count * 12);
    sup_skin_out out = {.positions = positions};
    for (int i = 1; i <= 10; i++) {
        actor_sample(&a, "bend", i / 20.0);
        actor_step(&a, 1.0 / 30.0);
        CHECK_EQ(sup_instance_step(other, a.pose, 1.0f / 30.0f, &out), SUP_OK);
    }
    CHECK(memcmp(positions, a.positions, (size_t)a.character->vertex_count * 12) == 0);
    free(positions);
    sup_instance_destroy(other);
    sup_model_destroy(loaded);
    actor_close(&a);
}

/* --- A tube whose upper third turns about its joint --- */

/* Turns joint "upper" of the cylinder, which has no children, about the world's z. */
static void turn_upper(actor *a, double degrees)
{
    int32_t node = sup_character_find_node(a->character, "upper");
    double angle = degrees / 57.29577951308232;
    CHECK(node >= 0);
    CHECK_EQ(sup_pose_rest(a->character, a->pose), SUP_OK);
    sup_mat34 *world = &a->pose->world[node], rest = *world;
    for (int c = 0; c < 3; c++) {
        world->m[c] = (float)(cos(angle) * (double)rest.m[c] - sin(angle) * (double)rest.m[4 + c]);
        world->m[4 + c] = (float)(sin(angle) * (double)rest.m[c] + cos(angle) * (double)rest.m[4 + c]);
    }
}

/* The tube, at rest in the bend. */
static actor bent_tube(double degrees, const char *settings)
{
    actor a = actor_open(actor_scene("cylinder", 1.0), settings, 2);
    for (int i = 1; i <= 8; i++) {
        turn_upper(&a, degrees * fmin(i / 4.0, 1.0));
        actor_step(&a, 1.0 / 30.0);
    }
    return a;
}

/* Area enclosed by the ring of skin that lies at `height` at rest, which is the height of the joint. */
static double section(const actor *a, const float *positions, double height)
{
    double sum[3] = {0, 0, 0};
    for (int32_t t = 0; t < a->character->triangle_count; t++) {
        double ends[2][3] = {{0}};
        int found = 0;
        for (int k = 0; k < 3; k++) {
            size_t p = 3 * (size_t)a->character->triangles[3 * t + k],
                   q = 3 * (size_t)a->character->triangles[3 * t + (k + 1) % 3];
            double hp = (double)a->rig->positions[p + 1] - height, hq = (double)a->rig->positions[q + 1] - height;
            if ((hp >= 0.0) == (hq >= 0.0)) continue;
            for (int c = 0; c < 3; c++) /* consistent orientation: from a descending edge to an ascending one */
                ends[hp < 0.0][c] =
                    (double)positions[p + (size_t)c] +
                    hp / (hp - hq) * ((double)positions[q + (size_t)c] - (double)positions[p + (size_t)c]);
            found++;
        }
        for (int c = 0; found == 2 && c < 3; c++)
            sum[c] += 0.5 * (ends[0][(c + 1) % 3] * ends[1][(c + 2) % 3] - ends[0][(c + 2) % 3] * ends[1][(c + 1) % 3]);
    }
    return sqrt(sum[0] * sum[0] + sum[1] * sum[1] + sum[2] * sum[2]);
}

/* Facts, 24: at a bend of 90 degrees linear blending leaves cos 45 = 0.71 of the section at the joint. */
TEST(a_bent_tube_keeps_its_section)
{
    actor a = bent_tube(90.0, "vertices=500 contact=off dynamic=off");
    double joint = (double)a.pose->world[sup_character_find_node(a.character, "upper")].m[7];
    double rest = section(&a, a.rig->positions, joint), simulated = section(&a, a.positions, joint);
    sup_instance *linear = NULL;
    sup_model *model = NULL;
    sup_error error;
    CHECK_NEAR(rest, 0.0314, 0.001);
    CHECK_OK(sup_bind(NULL, sup_method_find("linear"), a.rig, NULL, &model, &error), error);
    CHECK_OK(sup_instance_create(NULL, model, a.pose, &linear, &error), error);
    sup_skin_out out = {.positions = a.positions};
    CHECK_EQ(sup_instance_step(linear, a.pose, 0.0f, &out), SUP_OK);
    double blended = section(&a, a.positions, joint);
    CHECK_NEAR(blended / rest, 0.707, 0.04);
    CHECK_MSG(rest - simulated < 0.5 * (rest - blended), "%.3f of the section, linear blending %.3f", simulated / rest,
              blended / rest);
    sup_instance_destroy(linear);
    sup_model_destroy(model);
    actor_close(&a);
}

/* Facts, 16: twice as many simulated vertices bend to the same shape, within 5 % of the tube's radius. */
TEST(a_finer_tube_bends_to_the_same_shape)
{
    actor coarse = bent_tube(60.0, "vertices=500 contact=off dynamic=off"),
          fine = bent_tube(60.0, "vertices=1000 contact=off dynamic=off");
    double radius = 0.1 / (double)coarse.rig->size, apart = actor_farthest(&coarse, fine.positions);
    CHECK_MSG(apart < 0.05 * radius, "%.3f of the radius apart", apart / radius);
    actor_close(&coarse);
    actor_close(&fine);
}

static double ticks(void)
{
    static double now;
    return now += 1.0;
}

/* Accelerated steps compared with unaccelerated ones from the same states: their objective is not larger. */
TEST(the_solver_is_not_worse_than_unaccelerated_iterations)
{
    const sup_method *method = sup_method_find("projective");
    sup_character *character = actor_scene("arm", 0.3);
    sup_rig *rig = NULL;
    sup_error error = {0};
    double values[64];
    sup_compare_figures f;
    sup_method_defaults(method, values);
    CHECK_OK(sup_rig_create(NULL, character, NULL, &rig, &error), error);
    sup_compare_input input = {
        .rig = rig, .values = values, .clip = &character->clips[0], .max_steps = 12, .milliseconds = ticks};
    CHECK_OK(method->inspection->compare(&input, &f, &error), error);
    CHECK_EQ(f.steps, 12);
    CHECK_EQ(f.at_or_below, 12);
    CHECK(f.worst <= 0.0 && f.within_rounding == 12);
    CHECK(f.own.objective > 0.0 && f.own.objective <= f.reference.objective);
    CHECK_NEAR(f.plain.objective, f.reference.objective, 1e-5 * f.reference.objective);
    CHECK(f.own.iterations >= 1.0 && f.own.iterations <= 7.0);
    CHECK_NEAR(f.plain.iterations, 10.0, 0.0);
    double stages = 0.0;
    for (int32_t k = 0; k < f.stage_count; k++) {
        CHECK(f.stage_names[k] != NULL);
        stages += f.own.stage_ms[k];
    }
    CHECK(stages > 0.0 && stages < f.own.ms && f.plain.ms > f.own.ms); /* the clock advances with every query */
    sup_rig_destroy(rig);
    sup_character_destroy(character);
}

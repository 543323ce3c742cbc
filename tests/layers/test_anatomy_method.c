/* Method "anatomy" through the public API. */
#include "scene.h"
#include "test.h"

#include "supple/supple.h"

typedef struct fixture {
    sup_context context;
    sup_thread_pool *pool;
    sup_character *character;
    sup_rig *rig;
    sup_model *model;
    sup_instance *instance;
    sup_pose *pose;
    float *positions;
} fixture;

static fixture open_fixture(const char *method_name, const char *dynamic, int32_t threads)
{
    fixture a = {.character = test_scene("human", 0.1)};
    const sup_method *method = sup_method_find(method_name);
    sup_error error;
    double values[64];
    CHECK_OK(sup_thread_pool_create(threads, &a.pool, &error), error);
    a.context.tasks = sup_thread_pool_tasks(a.pool);
    CHECK(method != NULL && method->param_count <= 64);
    sup_method_defaults(method, values);
    CHECK_OK(sup_method_set(method, values, "dynamic", dynamic, &error), error);
    CHECK_OK(sup_method_set(method, values, "vertices", "1200", &error), error);
    CHECK_OK(sup_rig_create(&a.context, a.character, NULL, &a.rig, &error), error);
    CHECK_OK(sup_bind(&a.context, method, a.rig, &(sup_bind_def){.values = values}, &a.model, &error), error);
    CHECK_OK(sup_instance_create(&a.context, a.model, NULL, &a.instance, &error), error);
    CHECK_OK(sup_pose_create(&a.context, a.character, &a.pose, &error), error);
    a.positions = calloc(3 * (size_t)a.rig->vertex_count, sizeof(float));
    return a;
}

static void close_fixture(fixture *a)
{
    free(a->positions);
    sup_pose_destroy(a->pose);
    sup_instance_destroy(a->instance);
    sup_model_destroy(a->model);
    sup_rig_destroy(a->rig);
    sup_character_destroy(a->character);
    sup_thread_pool_destroy(a->pool);
}

static void step_at_rest(const fixture *a, sup_instance *instance, float *positions)
{
    CHECK_EQ(sup_pose_rest(a->character, a->pose), SUP_OK);
    CHECK_EQ(sup_instance_step(instance, a->pose, 1.0f / 30.0f, &(sup_skin_out){.positions = positions}), SUP_OK);
}

static void step(const fixture *a, sup_instance *instance, double time, double dt, float *positions)
{
    sup_error error = {0};
    int32_t clip = sup_character_find_clip(a->character, "twist");
    CHECK_OK(sup_pose_sample(a->character, &a->character->clips[clip], time, a->pose), error);
    CHECK_EQ(sup_instance_step(instance, a->pose, (float)dt, &(sup_skin_out){.positions = positions}), SUP_OK);
    for (int32_t i = 0; i < 3 * a->rig->vertex_count; i++)
        CHECK(isfinite(positions[i]));
}

TEST(anatomy_refuses_bodies_without_layers)
{
    sup_character *c = test_scene("cylinder", 0.1);
    sup_rig *rig = NULL;
    sup_model *model = NULL;
    sup_error error;
    CHECK_OK(sup_rig_create(NULL, c, NULL, &rig, &error), error);
    CHECK_EQ(sup_bind(NULL, sup_method_find("anatomy"), rig, NULL, &model, &error), SUP_ERROR_DATA);
    CHECK_TEXT(error.id, "anatomy.layers");
    CHECK(strstr(error.message, "supple anatomy fit") != NULL);
    sup_rig_destroy(rig);
    /* Surfaces that coincide with the skin everywhere are no layers. */
    sup_character source = *c, *flat = NULL;
    source.muscle_positions = source.bone_positions = c->positions;
    CHECK_OK(sup_character_create(NULL, &source, &flat, &error), error);
    CHECK_OK(sup_rig_create(NULL, flat, NULL, &rig, &error), error);
    CHECK_EQ(sup_bind(NULL, sup_method_find("anatomy"), rig, NULL, &model, &error), SUP_ERROR_DATA);
    CHECK_TEXT(error.id, "anatomy.layers");
    sup_rig_destroy(rig);
    sup_character_destroy(flat);
    sup_character_destroy(c);
}

TEST(anatomy_has_all_projective_parameters)
{
    const sup_method *own = sup_method_find("anatomy"), *other = sup_method_find("projective");
    CHECK_EQ(own->param_count, other->param_count + 1);
    for (int32_t i = 0; i < other->param_count; i++) {
        CHECK_TEXT(own->params[i].name, other->params[i].name);
        CHECK(own->params[i].default_value == other->params[i].default_value);
    }
    CHECK_TEXT(own->params[other->param_count].name, "muscle");
    CHECK(own->params[other->param_count].default_value == 3.0);
    CHECK_EQ(own->map_count, other->map_count);
}

/* The rest pose is in equilibrium; a saved model and any number of threads give the same bits. */
TEST(anatomy_is_reproducible_across_threads_and_files)
{
    fixture a = open_fixture("anatomy", "on", 1), b = open_fixture("anatomy", "on", 2);
    sup_error error;
    sup_model *loaded = NULL;
    sup_instance *again = NULL;
    size_t count = 3 * (size_t)a.rig->vertex_count;
    float *other = calloc(count, sizeof(float));
    step_at_rest(&a, a.instance, a.positions);
    for (size_t i = 0; i < count; i++)
        CHECK_NEAR(a.positions[i], a.rig->positions[i], 2e-5);
    CHECK_OK(sup_model_load(&a.context, sup_model_bytes(b.model), &loaded, &error), error);
    CHECK_OK(sup_instance_create(&a.context, loaded, NULL, &again, &error), error);
    step_at_rest(&b, b.instance, b.positions);
    step_at_rest(&a, again, other);
    for (int f = 1; f < 4; f++) {
        step(&a, a.instance, 0.2 * f, 1.0 / 30.0, a.positions);
        step(&b, b.instance, 0.2 * f, 1.0 / 30.0, b.positions);
        step(&a, again, 0.2 * f, 1.0 / 30.0, other);
        CHECK(memcmp(a.positions, b.positions, count * sizeof(float)) == 0);
        CHECK(memcmp(a.positions, other, count * sizeof(float)) == 0);
    }
    free(other);
    sup_instance_destroy(again);
    sup_model_destroy(loaded);
    close_fixture(&a);
    close_fixture(&b);
}

/* Figure 4.17 (c): in a twist the rib cage keeps the chest rigid; without bones the chest twists too. */
static double chest_motion(const char *method)
{
    fixture a = open_fixture(method, "off", 2);
    double sum = 0.0;
    int32_t count = 0, node = sup_character_find_node(a.character, "chest");
    step(&a, a.instance, 0.6, 0.0, a.positions);
    for (int f = 0; f < 6; f++)
        step(&a, a.instance, 0.7, 1.0 / 60.0, a.positions);
    sup_mat34 bind = sup_mat34_identity(), back;
    for (int32_t j = 0; j < a.rig->joint_count; j++)
        if (a.rig->joint_node[j] == node) bind = a.rig->joint_inverse_bind[j];
    CHECK(sup_mat34_inverse(sup_mat34_multiply(a.pose->world[node], bind), &back));
    for (int32_t v = 0; v < a.rig->vertex_count; v++) {
        const float *rest = a.rig->positions + 3 * (size_t)v, *now = a.positions + 3 * (size_t)v;
        if (rest[1] < 1.2f || rest[1] > 1.36f || fabsf(rest[0]) > 0.1f) continue;
        sup_vec3 at = sup_mat34_transform_point(back, (sup_vec3){now[0], now[1], now[2]});
        sum += hypot(hypot((double)(at.x - rest[0]), (double)(at.y - rest[1])), (double)(at.z - rest[2]));
        count++;
    }
    CHECK(count > 30);
    close_fixture(&a);
    return sum / count;
}

TEST(rib_cage_keeps_the_chest_rigid)
{
    double bones = chest_motion("anatomy"), none = chest_motion("projective");
    CHECK_MSG(bones < 0.25 * none && none > 0.001, "%g with bones, %g without", bones, none);
}

/* Instances: invalid calls, strides and missing outputs, threads, memory, live parameters. */
#include "methods/skin_fixture.h"
#include "test.h"

enum { METHODS = 5 };
static const char *const method_names[METHODS] = {"linear", "dualquat", "cor", "ddm", "stbs"};

static sup_model *bind_sample(skin_fixture *f, const char *method)
{
    sup_model *model = NULL;
    sup_error error;
    CHECK_OK(sup_bind(NULL, sup_method_find(method), fixture_rig(f), NULL, &model, &error), error);
    return model;
}

static sup_instance *open_instance(const sup_context *context, const sup_model *model, const sup_pose *pose)
{
    sup_instance *instance = NULL;
    sup_error error;
    CHECK_OK(sup_instance_create(context, model, pose, &instance, &error), error);
    return instance;
}

TEST(the_result_has_the_same_bits_for_any_number_of_threads)
{
    enum { COUNT = 50000 };
    static const int32_t threads[] = {1, 2, 3, 8};
    for (int k = 0; k < METHODS; k++) {
        skin_fixture f = fixture_random(1, COUNT, 30, 5, 3);
        fixture_pose(&f, 5, k == 0 ? POSE_AFFINE : POSE_RIGID);
        sup_model *model = bind_sample(&f, method_names[k]);
        float *out[4][3];
        for (int t = 0; t < 4; t++) {
            sup_thread_pool *pool = NULL;
            sup_error error;
            CHECK_OK(sup_thread_pool_create(threads[t], &pool, &error), error);
            sup_context context = {.tasks = sup_thread_pool_tasks(pool)};
            sup_instance *instance = open_instance(&context, model, NULL);
            for (int i = 0; i < 3; i++)
                out[t][i] = calloc(COUNT, 16);
            sup_skin_out skin = {out[t][0], 0, out[t][1], 0, out[t][2], 0};
            for (int step = 0; step < 3; step++)
                CHECK_EQ(sup_instance_step(instance, &f.pose, 0.01f, &skin), SUP_OK);
            for (int i = 0; i < 3; i++)
                CHECK(memcmp(out[t][i], out[0][i], COUNT * 12) == 0);
            sup_instance_destroy(instance);
            sup_thread_pool_destroy(pool);
        }
        for (int t = 0; t < 4; t++)
            for (int i = 0; i < 3; i++)
                free(out[t][i]);
        sup_model_destroy(model);
        fixture_destroy(&f);
    }
}

/* Every combination of outputs, packed and strided, writes only its own bytes. */
TEST(strides_and_missing_outputs)
{
    enum { COUNT = 777, STRIDE = 44 };
    for (int k = 0; k < METHODS; k++) {
        skin_fixture f = fixture_random(2, COUNT, 12, 4, 1);
        fixture_pose(&f, 5, POSE_MIRRORED);
        sup_model *model = bind_sample(&f, method_names[k]);
        sup_instance *instance = open_instance(NULL, model, &f.pose);
        static float packed[3][COUNT * 4];
        sup_skin_out all = {packed[0], 0, packed[1], 0, packed[2], 0};
        CHECK_EQ(sup_instance_step(instance, &f.pose, 0.0f, &all), SUP_OK);
        for (int mask = 0; mask < 8; mask++) {
            static unsigned char mixed[COUNT * STRIDE + 4], untouched[STRIDE];
            memset(mixed, 0xa5, sizeof mixed);
            memset(untouched, 0xa5, sizeof untouched);
            float *base = (float *)(void *)mixed;
            sup_skin_out out = {mask & 1 ? base : NULL,     STRIDE, mask & 2 ? base + 3 : NULL, STRIDE,
                                mask & 4 ? base + 6 : NULL, STRIDE};
            CHECK_EQ(sup_instance_step(instance, &f.pose, 0.0f, &out), SUP_OK);
            for (int v = 0; v < COUNT; v++) {
                const unsigned char *row = mixed + v * STRIDE;
                CHECK(memcmp(row, mask & 1 ? (unsigned char *)(packed[0] + 3 * v) : untouched, 12) == 0);
                CHECK(memcmp(row + 12, mask & 2 ? (unsigned char *)(packed[1] + 3 * v) : untouched, 12) == 0);
                CHECK(memcmp(row + 24, mask & 4 ? (unsigned char *)(packed[2] + 4 * v) : untouched, 16) == 0);
                CHECK(memcmp(row + 40, untouched, 4) == 0);
            }
        }
        sup_instance_destroy(instance);
        sup_model_destroy(model);
        fixture_destroy(&f);
    }
}

TEST(invalid_calls_and_poses_are_refused_and_change_nothing)
{
    enum { COUNT = 40 };
    for (int k = 0; k < METHODS; k++) {
        skin_fixture f = fixture_random(3, COUNT, 4, 3, 2);
        sup_model *model = bind_sample(&f, method_names[k]);
        sup_instance *instance = open_instance(NULL, model, NULL);
        float out[COUNT * 4 + 1], before[COUNT * 4 + 1];
        for (int i = 0; i < COUNT * 4 + 1; i++)
            before[i] = out[i] = (float)i;
        for (int kind = 0; kind < 24; kind++) {
            fixture_pose(&f, 9, POSE_RIGID);
            sup_pose pose = f.pose;
            sup_skin_out skin = {out, 0, NULL, 0, NULL, 0};
            float dt = 0.01f;
            sup_result wanted = kind < 8 ? SUP_ERROR_DATA : SUP_ERROR_ARGUMENT;
            if (kind == 0) pose.world[2].m[5] = NAN;
            if (kind == 1) pose.world[0].m[11] = INFINITY;
            if (kind == 2) pose.world[4].m[0] = -INFINITY;
            if (kind == 3) pose.morph_weights[0] = NAN;
            if (kind == 4) pose.morph_weights[1] = INFINITY;
            if (kind == 5) pose.world[1].m[3] = 1e19f;
            if (kind == 6) pose.world[1].m[0] = 3e38f;
            if (kind == 7) pose.morph_weights[0] = 3e38f, pose.world[1].m[0] = 1e3f;
            if (kind == 8) pose.node_count = 4;
            if (kind == 9) pose.node_count = 6;
            if (kind == 10) pose.morph_weight_count = 1;
            if (kind == 11) pose.world = NULL;
            if (kind == 12) pose.morph_weights = NULL;
            if (kind == 13) dt = -0.01f;
            if (kind == 14) dt = NAN;
            if (kind == 15) dt = INFINITY;
            if (kind == 16) skin.position_stride = 8;
            if (kind == 17) skin.position_stride = 14;
            if (kind == 18) skin.positions = (float *)(void *)((char *)out + 1);
            if (kind == 19) skin.tangents = out, skin.tangent_stride = 12;
            if (kind == 20) skin.normals = out, skin.normal_stride = 4;
            sup_result got = sup_instance_step(kind == 21 ? NULL : instance, kind == 22 ? NULL : &pose, dt,
                                               kind == 23 ? NULL : &skin);
            CHECK_MSG(got == wanted, "%s kind %d: %d, expected %d", method_names[k], kind, got, wanted);
            CHECK_MSG(memcmp(out, before, sizeof out) == 0, "kind %d wrote", kind);
        }
        fixture_pose(&f, 9, POSE_RIGID);
        CHECK_EQ(sup_instance_step(instance, &f.pose, 0.0f, &(sup_skin_out){out, 0, NULL, 0, NULL, 0}), SUP_OK);
        CHECK_EQ(sup_instance_reset(instance, &f.pose), SUP_OK);
        CHECK_EQ(sup_instance_reset(instance, NULL), SUP_ERROR_ARGUMENT);
        CHECK_EQ(sup_instance_reset(NULL, &f.pose), SUP_ERROR_ARGUMENT);
        f.pose.world[0].m[0] = NAN;
        CHECK_EQ(sup_instance_reset(instance, &f.pose), SUP_ERROR_DATA);
        sup_instance *other = NULL;
        CHECK_EQ(sup_instance_create(NULL, model, &f.pose, &other, NULL), SUP_ERROR_DATA);
        CHECK_EQ(sup_instance_create(NULL, NULL, NULL, &other, NULL), SUP_ERROR_ARGUMENT);
        CHECK_EQ(sup_instance_create(NULL, model, NULL, NULL, NULL), SUP_ERROR_ARGUMENT);
        CHECK(other == NULL);
        sup_instance_destroy(NULL);
        sup_instance_destroy(instance);
        sup_model_destroy(model);
        fixture_destroy(&f);
    }
}

TEST(numbers_near_the_limit_stay_finite)
{
    enum { COUNT = 200 };
    for (int k = 0; k < METHODS; k++)
        for (double size = 1e-30; size < 2e17; size *= 1e4) {
            skin_fixture f = fixture_random(4, COUNT, 6, 4, 0);
            sup_model *model = bind_sample(&f, method_names[k]);
            sup_instance *instance = open_instance(NULL, model, NULL);
            fixture_pose(&f, 9, POSE_AFFINE);
            for (int n = 0; n < 7; n++)
                for (int i = 0; i < 12; i++)
                    f.pose.world[n].m[i] *= (float)(n % 2 ? size : 1.0);
            float out[3][COUNT * 4];
            sup_skin_out skin = {out[0], 0, out[1], 0, out[2], 0};
            CHECK_EQ(sup_instance_step(instance, &f.pose, 0.0f, &skin), SUP_OK);
            for (int v = 0; v < COUNT; v++) {
                for (int i = 0; i < 3; i++)
                    CHECK(isfinite(out[0][3 * v + i]));
                CHECK_NEAR(sup_v3_length(sup_v3_load(out[1] + 3 * v)), 1.0, 1e-6);
                CHECK_NEAR(sup_v3_length(sup_v3_load(out[2] + 4 * v)), 1.0, 1e-6);
            }
            sup_instance_destroy(instance);
            sup_model_destroy(model);
            fixture_destroy(&f);
        }
}

TEST(tangents_of_a_rig_without_them_are_refused)
{
    skin_fixture f = fixture_random(5, 30, 4, 3, 0);
    fixture_rig(&f);
    f.rig.tangents = NULL;
    for (int k = 0; k < METHODS; k++) {
        sup_model *model = NULL;
        sup_error error;
        CHECK_OK(sup_bind(NULL, sup_method_find(method_names[k]), &f.rig, NULL, &model, &error), error);
        sup_instance *instance = open_instance(NULL, model, NULL);
        float out[30 * 4];
        CHECK_EQ(sup_instance_step(instance, &f.pose, 0.0f, &(sup_skin_out){.tangents = out}), SUP_ERROR_ARGUMENT);
        CHECK_EQ(sup_instance_step(instance, &f.pose, 0.0f, &(sup_skin_out){.positions = out}), SUP_OK);
        sup_instance_destroy(instance);
        sup_model_destroy(model);
    }
    fixture_destroy(&f);
}

typedef struct counting_allocator {
    int allocations;
    uintptr_t misaligned;
} counting_allocator;

static void *counting_allocate(void *user, size_t size, size_t alignment)
{
    counting_allocator *counter = user;
    counter->allocations++;
    void *memory = aligned_alloc(alignment, (size + alignment - 1) / alignment * alignment);
    counter->misaligned |= (uintptr_t)memory % 64;
    return memory;
}

static void counting_release(void *user, void *memory, size_t size)
{
    SUP_UNUSED(user);
    SUP_UNUSED(size);
    free(memory);
}

TEST(a_step_allocates_nothing)
{
    counting_allocator counter = {0};
    sup_context context = {.allocator = {counting_allocate, counting_release, &counter}};
    for (int k = 0; k < METHODS; k++) {
        skin_fixture f = fixture_random(6, 9000, 4, 3, 3);
        sup_model *model = bind_sample(&f, method_names[k]);
        sup_instance *instance = open_instance(&context, model, NULL);
        float *out = calloc(9000, 12);
        counter.allocations = 0;
        for (uint64_t step = 0; step < 10; step++) {
            fixture_pose(&f, step, step % 2 ? POSE_RIGID : POSE_AFFINE);
            CHECK_EQ(sup_instance_step(instance, &f.pose, 0.0f, &(sup_skin_out){.positions = out}), SUP_OK);
        }
        CHECK_EQ(sup_instance_reset(instance, &f.pose), SUP_OK);
        CHECK_EQ(counter.allocations, 0);
        CHECK_EQ(counter.misaligned, 0);
        free(out);
        sup_instance_destroy(instance);
        sup_model_destroy(model);
        fixture_destroy(&f);
    }
}

TEST(live_parameters_can_be_set_and_invalid_ones_are_refused)
{
    skin_fixture f = fixture_random(7, 300, 8, 4, 0);
    fixture_pose(&f, 1, POSE_RIGID);
    sup_model *model = bind_sample(&f, "linear");
    sup_instance *instance = open_instance(NULL, model, NULL);
    float blended[900], rigid[900];
    sup_error error = {0};
    CHECK_EQ(sup_instance_step(instance, &f.pose, 0.0f, &(sup_skin_out){.positions = blended}), SUP_OK);
    CHECK_EQ(sup_instance_set(instance, "rigid", 0.5, &error), SUP_ERROR_ARGUMENT);
    CHECK_TEXT(error.id, "param.range");
    CHECK_EQ(sup_instance_set(instance, "colour", 1.0, &error), SUP_ERROR_ARGUMENT);
    CHECK_TEXT(error.id, "param.unknown");
    CHECK_EQ(sup_instance_set(instance, NULL, 1.0, &error), SUP_ERROR_ARGUMENT);
    CHECK_EQ(sup_instance_set(NULL, "rigid", 1.0, &error), SUP_ERROR_ARGUMENT);
    CHECK_OK(sup_instance_set(instance, "rigid", 1.0, &error), error);
    CHECK_EQ(sup_instance_step(instance, &f.pose, 0.0f, &(sup_skin_out){.positions = rigid}), SUP_OK);
    CHECK(memcmp(rigid, blended, sizeof rigid) != 0);
    CHECK_OK(sup_instance_set(instance, "rigid", 0.0, &error), error);
    CHECK_EQ(sup_instance_step(instance, &f.pose, 0.0f, &(sup_skin_out){.positions = rigid}), SUP_OK);
    CHECK(memcmp(rigid, blended, sizeof rigid) == 0);
    sup_instance_destroy(instance);
    sup_model_destroy(model);
    fixture_destroy(&f);
}

TEST(a_loaded_model_steps_to_the_same_bits)
{
    for (int k = 0; k < METHODS; k++) {
        skin_fixture f = fixture_random(8, 3000, 8, 4, 2);
        fixture_pose(&f, 1, POSE_AFFINE);
        sup_model *model = bind_sample(&f, method_names[k]), *loaded = NULL;
        sup_error error;
        CHECK_OK(sup_model_load(NULL, sup_model_bytes(model), &loaded, &error), error);
        sup_instance *one = open_instance(NULL, model, NULL), *two = open_instance(NULL, loaded, NULL);
        float *a = calloc(3000, 12), *b = calloc(3000, 12);
        CHECK_EQ(sup_instance_step(one, &f.pose, 0.0f, &(sup_skin_out){.positions = a}), SUP_OK);
        CHECK_EQ(sup_instance_step(two, &f.pose, 0.0f, &(sup_skin_out){.positions = b}), SUP_OK);
        CHECK(memcmp(a, b, 3000 * 12) == 0);
        free(a);
        free(b);
        sup_instance_destroy(one);
        sup_instance_destroy(two);
        sup_model_destroy(model);
        sup_model_destroy(loaded);
        fixture_destroy(&f);
    }
}

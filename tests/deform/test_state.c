/* Saved states: every method continues from a restored state with the same bits. */
#include "deform/actor.h"
#include "scene.h"

enum { FRAMES = 4 };

static void run(sup_instance *instance, actor *a, int first, float *positions)
{
    sup_skin_out out = {.positions = positions};
    for (int i = first; i < first + FRAMES; i++) {
        actor_sample(a, "bend", 0.5 + 0.08 * i);
        CHECK_EQ(sup_instance_step(instance, a->pose, 1.0f / 60.0f, &out), SUP_OK);
    }
}

/* A small character bound by the method. */
static actor open_method(const sup_method *method)
{
    actor a = {0};
    sup_error error;
    double values[64];
    sup_method_defaults(method, values);
    if (sup_method_set(method, values, "tets", "600", NULL) != SUP_OK)
        sup_method_set(method, values, "vertices", "500", NULL);
    a.character = (method->flags & SUP_METHOD_LAYERS) != 0 ? test_scene("human", 0.1) : test_scene("arm", 0.25);
    CHECK_OK(sup_rig_create(NULL, a.character, NULL, &a.rig, &error), error);
    sup_bind_def def = {.values = values};
    CHECK_OK(sup_bind(NULL, method, a.rig, &def, &a.model, &error), error);
    CHECK_OK(sup_pose_create(NULL, a.character, &a.pose, &error), error);
    CHECK_OK(sup_instance_create(NULL, a.model, a.pose, &a.instance, &error), error);
    a.positions = malloc((size_t)a.character->vertex_count * 12);
    return a;
}

static void check_refused(sup_instance *instance, const unsigned char *bytes, size_t size)
{
    sup_error error;
    unsigned char *bad = malloc(size);
    for (size_t k = 0; k < size; k += size / 7 + 1) { /* one bit anywhere, header and payload */
        memcpy(bad, bytes, size);
        bad[k] ^= 16;
        CHECK(sup_instance_state_restore(instance, bad, size, &error) != SUP_OK);
        CHECK(error.message[0] != '\0');
    }
    CHECK(sup_instance_state_restore(instance, bytes, size - 1, &error) != SUP_OK);
    CHECK(sup_instance_state_restore(instance, bytes, 3, &error) != SUP_OK);
    CHECK(sup_instance_state_restore(instance, NULL, size, &error) != SUP_OK);
    CHECK(sup_instance_state_save(instance, bad, size - 1) == SUP_ERROR_ARGUMENT);
    free(bad);
}

TEST(a_saved_state_continues_in_another_instance_on_threads)
{
    sup_error error;
    sup_thread_pool *pool = NULL;
    CHECK_OK(sup_thread_pool_create(2, &pool, &error), error);
    sup_context threaded = {.tasks = sup_thread_pool_tasks(pool)};
    for (int32_t m = 0; m < sup_method_count(); m++) {
        const sup_method *method = sup_method_at(m);
        actor a = open_method(method);
        size_t size = sup_instance_state_size(a.instance), floats = 3 * (size_t)a.character->vertex_count;
        unsigned char *bytes = malloc(size + 1), *again = malloc(size);
        float *expected = malloc(floats * sizeof *expected);
        run(a.instance, &a, 0, a.positions);
        CHECK_EQ(sup_instance_state_save(a.instance, bytes + 1, size), SUP_OK); /* at any address */
        sup_instance *other = NULL;
        CHECK_OK(sup_instance_create(&threaded, a.model, NULL, &other, &error), error);
        CHECK_EQ(sup_instance_state_size(other), size);
        CHECK_OK(sup_instance_state_restore(other, bytes + 1, size, &error), error);
        CHECK_EQ(sup_instance_state_save(other, again, size), SUP_OK);
        CHECK_MSG(memcmp(bytes + 1, again, size) == 0, "%s: the restored state differs from the saved one",
                  method->name);
        check_refused(other, bytes + 1, size);
        run(a.instance, &a, FRAMES, a.positions);
        run(other, &a, FRAMES, expected);
        CHECK_MSG(memcmp(a.positions, expected, floats * sizeof *expected) == 0,
                  "%s: the other instance continues differently", method->name);
        CHECK_OK(sup_instance_state_restore(a.instance, bytes + 1, size, &error), error); /* back in its own instance */
        run(a.instance, &a, FRAMES, a.positions);
        CHECK_MSG(memcmp(a.positions, expected, floats * sizeof *expected) == 0,
                  "%s: the restored instance continues differently", method->name);
        sup_instance_destroy(other);
        actor_close(&a);
        free(bytes);
        free(again);
        free(expected);
    }
    sup_thread_pool_destroy(pool);
}

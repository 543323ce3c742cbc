#include "actor.h"
#include "scene.h"

actor actor_open(sup_character *character, const char *settings, int32_t threads)
{
    return actor_open_painted(character, settings, threads, NULL, NULL);
}

actor actor_open_painted(sup_character *character, const char *settings, int32_t threads, actor_paint_fn *paint,
                         void *user)
{
    actor a = {.character = character};
    sup_error error;
    double values[64];
    const sup_method *method = sup_method_find("projective");
    CHECK(method != NULL && method->param_count <= 64);
    sup_method_defaults(method, values);
    for (const char *p = settings; *p != '\0';) { /* "name=value name=value" */
        char name[64], text[64];
        int used = 0;
        CHECK_EQ(sscanf(p, "%63[^=]=%63s %n", name, text, &used), 2);
        CHECK_OK(sup_method_set(method, values, name, text, &error), error);
        p += used;
    }
    CHECK_OK(sup_thread_pool_create(threads, &a.pool, &error), error);
    a.context.tasks = sup_thread_pool_tasks(a.pool);
    CHECK_OK(sup_rig_create(&a.context, character, NULL, &a.rig, &error), error);
    sup_bind_def def = {.values = values};
    sup_paint paints[SUP_METHOD_MAPS];
    float *maps[SUP_METHOD_MAPS] = {NULL};
    for (int32_t m = 0; m < method->map_count; m++) {
        maps[m] = malloc((size_t)character->vertex_count * sizeof(float));
        for (int32_t v = 0; v < character->vertex_count; v++)
            maps[m][v] = method->maps[m].default_value;
        paints[m] = (sup_paint){method->maps[m].name, maps[m]};
    }
    if (paint != NULL) {
        paint(user, a.rig, maps);
        def.paints = paints;
        def.paint_count = method->map_count;
    }
    CHECK_OK(sup_bind(&a.context, method, a.rig, &def, &a.model, &error), error);
    for (int32_t m = 0; m < method->map_count; m++)
        free(maps[m]);
    CHECK_OK(sup_pose_create(&a.context, character, &a.pose, &error), error);
    CHECK_OK(sup_instance_create(&a.context, a.model, a.pose, &a.instance, &error), error);
    a.positions = malloc((size_t)character->vertex_count * 12);
    a.normals = malloc((size_t)character->vertex_count * 12);
    return a;
}

void actor_close(actor *a)
{
    sup_instance_destroy(a->instance);
    sup_pose_destroy(a->pose);
    sup_model_destroy(a->model);
    sup_rig_destroy(a->rig);
    sup_character_destroy(a->character);
    sup_thread_pool_destroy(a->pool);
    free(a->positions);
    free(a->normals);
}

sup_character *actor_scene(const char *name, double resolution)
{
    return test_scene(name, resolution);
}

void actor_step(actor *a, double dt)
{
    sup_skin_out out = {.positions = a->positions, .normals = a->normals};
    CHECK_EQ(sup_instance_step(a->instance, a->pose, (float)dt, &out), SUP_OK);
    for (int32_t i = 0; i < a->character->vertex_count * 3; i++)
        CHECK(isfinite(a->positions[i]) && isfinite(a->normals[i]));
}

void actor_sample(actor *a, const char *clip, double time)
{
    int32_t index = sup_character_find_clip(a->character, clip);
    CHECK(index >= 0);
    CHECK_EQ(sup_pose_sample(a->character, &a->character->clips[index], time, a->pose), SUP_OK);
}

double actor_farthest(const actor *a, const float *other)
{
    double worst = 0.0;
    for (int32_t v = 0; v < a->character->vertex_count; v++) {
        double sum = 0.0;
        for (int k = 0; k < 3; k++)
            sum += pow((double)a->positions[3 * v + k] - (double)other[3 * v + k], 2.0);
        worst = fmax(worst, sqrt(sum));
    }
    return worst / (double)a->rig->size;
}

float *actor_linear(const actor *a)
{
    sup_model *model = NULL;
    sup_instance *instance = NULL;
    sup_error error;
    float *positions = malloc((size_t)a->character->vertex_count * 12);
    sup_skin_out out = {.positions = positions};
    CHECK_OK(sup_bind(NULL, sup_method_find("linear"), a->rig, NULL, &model, &error), error);
    CHECK_OK(sup_instance_create(NULL, model, a->pose, &instance, &error), error);
    CHECK_EQ(sup_instance_step(instance, a->pose, 0.0f, &out), SUP_OK);
    sup_instance_destroy(instance);
    sup_model_destroy(model);
    return positions;
}

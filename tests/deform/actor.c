/* actor.c - an instance of a built-in character. See actor.h. */
#include "deform/actor.h"
#include "scene.h"

actor actor_open(const sup_context *context, const char *name, double resolution, const char *settings)
{
    actor a = {0};
    sup_error error;
    double values[64];
    const sup_method *method = sup_method_find("projective");
    CHECK(method != NULL && method->param_count <= 64);
    sup_method_defaults(method, values);
    for (const char *p = settings; *p != '\0';) {
        char param[64], text[64];
        int used = 0;
        CHECK_EQ(sscanf(p, "%63[^=]=%63s %n", param, text, &used), 2);
        CHECK_OK(sup_method_set(method, values, param, text, &error), error);
        p += used;
    }
    a.character = test_scene(name, resolution);
    CHECK_OK(sup_rig_create(context, a.character, NULL, &a.rig, &error), error);
    sup_bind_def def = {.values = values};
    CHECK_OK(sup_bind(context, method, a.rig, &def, &a.model, &error), error);
    CHECK_OK(sup_pose_create(context, a.character, &a.pose, &error), error);
    CHECK_OK(sup_instance_create(context, a.model, a.pose, &a.instance, &error), error);
    a.positions = malloc((size_t)a.character->vertex_count * 12);
    return a;
}

void actor_close(actor *a)
{
    sup_instance_destroy(a->instance);
    sup_pose_destroy(a->pose);
    sup_model_destroy(a->model);
    sup_rig_destroy(a->rig);
    sup_character_destroy(a->character);
    free(a->positions);
}

void actor_sample(actor *a, const char *clip, double time)
{
    int32_t index = sup_character_find_clip(a->character, clip);
    CHECK(index >= 0);
    CHECK_EQ(sup_pose_sample(a->character, &a->character->clips[index], time, a->pose), SUP_OK);
}

void actor_move(actor *a, sup_affine by)
{
    for (int32_t n = 0; n < a->pose->node_count; n++)
        a->pose->world[n] = sup_affine_to_float(sup_affine_multiply(by, sup_affine_from_float(a->pose->world[n])));
}

void actor_step(actor *a, double dt)
{
    sup_skin_out out = {.positions = a->positions};
    CHECK_EQ(sup_instance_step(a->instance, a->pose, (float)dt, &out), SUP_OK);
    for (int32_t i = 0; i < a->character->vertex_count * 3; i++)
        CHECK(isfinite(a->positions[i]));
}

double actor_farthest(const actor *a, const float *other)
{
    double worst = 0.0;
    for (int32_t v = 0; v < a->character->vertex_count; v++)
        worst =
            fmax(worst, sup_v3_distance(sup_v3_load(a->positions + 3 * (size_t)v), sup_v3_load(other + 3 * (size_t)v)));
    return worst / (double)a->rig->size;
}

double actor_stretch(const actor *a)
{
    double worst = 0.0;
    for (int32_t i = 0; i < 3 * a->rig->skin_triangle_count; i++) {
        int32_t s = a->rig->skin_triangles[i], t = a->rig->skin_triangles[i % 3 == 2 ? i - 2 : i + 1];
        size_t v = (size_t)a->rig->skin_to_vertex[s], w = (size_t)a->rig->skin_to_vertex[t];
        double rest = sup_v3_distance(sup_v3_load(a->rig->positions + 3 * v), sup_v3_load(a->rig->positions + 3 * w));
        worst =
            fmax(worst, sup_v3_distance(sup_v3_load(a->positions + 3 * v), sup_v3_load(a->positions + 3 * w)) / rest);
    }
    return worst;
}

void actor_box(const actor *a, float lower[3], float upper[3])
{
    for (int k = 0; k < 3; k++) {
        lower[k] = INFINITY;
        upper[k] = -INFINITY;
        for (int32_t v = 0; v < a->rig->vertex_count; v++) {
            lower[k] = fminf(lower[k], a->rig->positions[3 * v + k]);
            upper[k] = fmaxf(upper[k], a->rig->positions[3 * v + k]);
        }
    }
}

/* push.c - a sphere is pushed into the built-in human's belly and taken away again.
 *
 * Colliders belong to an instance: given once, moved with a transform a frame. The same skin is stepped twice, with the
 * sphere and without, to see how far the flesh gives way. */
#include <supple/supple.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { FRAMES = 90 };
static const float RADIUS = 0.12f;

typedef struct stage {
    sup_character *character;
    sup_rig *rig;
    sup_model *model;
    sup_instance *pushed, *alone;
    sup_pose *pose;
    float *skin, *skin_alone; /* [vertex_count*3] */
} stage;

static sup_result stage_create(stage *s, sup_error *error)
{
    sup_result result = sup_scene_create(NULL, "human", 0.5, &s->character, error);
    if (result == SUP_OK) result = sup_rig_create(NULL, s->character, NULL, &s->rig, error);
    if (result == SUP_OK) result = sup_bind(NULL, sup_method_find("projective"), s->rig, NULL, &s->model, error);
    if (result == SUP_OK) result = sup_pose_create(NULL, s->character, &s->pose, error);
    if (result == SUP_OK) result = sup_instance_create(NULL, s->model, s->pose, &s->pushed, error);
    if (result == SUP_OK) result = sup_instance_create(NULL, s->model, s->pose, &s->alone, error);
    sup_collider sphere = sup_collider_sphere((sup_vec3){0.0f, 1.06f, 0.0f}, RADIUS);
    if (result == SUP_OK) result = sup_instance_set_colliders(s->pushed, &sphere, 1, error);
    if (result != SUP_OK) return result;
    s->skin = calloc((size_t)s->character->vertex_count, 3 * sizeof(float));
    s->skin_alone = calloc((size_t)s->character->vertex_count, 3 * sizeof(float));
    return s->skin != NULL && s->skin_alone != NULL ? SUP_OK : SUP_ERROR_MEMORY;
}

static void stage_destroy(stage *s)
{
    free(s->skin);
    free(s->skin_alone);
    sup_instance_destroy(s->pushed);
    sup_instance_destroy(s->alone);
    sup_pose_destroy(s->pose);
    sup_model_destroy(s->model);
    sup_rig_destroy(s->rig);
    sup_character_destroy(s->character);
}

/* Largest way that a vertex of one skin is from where it is in the other. */
static float deepest(const stage *s)
{
    float most = 0.0f;
    for (int32_t v = 0; v < s->character->vertex_count; v++) {
        float way = 0.0f;
        for (int k = 0; k < 3; k++)
            way += powf(s->skin[3 * v + k] - s->skin_alone[3 * v + k], 2.0f);
        most = fmaxf(most, sqrtf(way));
    }
    return most;
}

int main(void)
{
    stage s = {0};
    sup_error error = {0};
    sup_result result = stage_create(&s, &error);
    for (int frame = 0; frame <= FRAMES && result == SUP_OK; frame++) {
        /* In from the front until the middle of the motion, then out: half of the sphere ends where the belly was. */
        float in = sinf(3.14159265f * (float)frame / (float)FRAMES);
        sup_mat34 place = sup_mat34_identity();
        place.m[11] = 0.40f - 0.23f * in;
        result = sup_instance_move_collider(s.pushed, 0, place);
        if (result == SUP_OK)
            result = sup_instance_step(s.pushed, s.pose, 1.0f / 60.0f, &(sup_skin_out){.positions = s.skin});
        if (result == SUP_OK)
            result = sup_instance_step(s.alone, s.pose, 1.0f / 60.0f, &(sup_skin_out){.positions = s.skin_alone});
        if (frame % 15 == 0)
            printf("frame %2d: the sphere is at %.3f m, the skin gives way by %.3f m\n", frame, (double)place.m[11],
                   (double)deepest(&s));
    }
    if (result != SUP_OK) fprintf(stderr, "%s: %s\n", sup_result_name(result), error.message);
    stage_destroy(&s);
    return result != SUP_OK;
}

/* push.c - a sphere is pushed into the belly of the built-in human and removed again.
 *
 * Colliders belong to an instance: they are set once and moved by a transform per frame. Two instances are stepped,
 * with the sphere and without, to measure the displacement of the skin. */
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
    sup_instance *pushed, *reference;
    sup_pose *pose;
    float *skin, *reference_skin; /* [vertex_count*3] */
} stage;

static sup_result stage_create(stage *s, sup_error *error)
{
    sup_result result = sup_scene_create(NULL, "human", 0.5, &s->character, error);
    if (result == SUP_OK) result = sup_rig_create(NULL, s->character, NULL, &s->rig, error);
    if (result == SUP_OK) result = sup_bind(NULL, sup_method_find("projective"), s->rig, NULL, &s->model, error);
    if (result == SUP_OK) result = sup_pose_create(NULL, s->character, &s->pose, error);
    if (result == SUP_OK) result = sup_instance_create(NULL, s->model, s->pose, &s->pushed, error);
    if (result == SUP_OK) result = sup_instance_create(NULL, s->model, s->pose, &s->reference, error);
    sup_collider sphere = sup_collider_sphere((sup_vec3){0.0f, 1.06f, 0.0f}, RADIUS);
    if (result == SUP_OK) result = sup_instance_set_colliders(s->pushed, &sphere, 1, error);
    if (result != SUP_OK) return result;
    s->skin = calloc((size_t)s->character->vertex_count, 3 * sizeof(float));
    s->reference_skin = calloc((size_t)s->character->vertex_count, 3 * sizeof(float));
    return s->skin != NULL && s->reference_skin != NULL ? SUP_OK : SUP_ERROR_MEMORY;
}

static void stage_destroy(stage *s)
{
    free(s->skin);
    free(s->reference_skin);
    sup_instance_destroy(s->pushed);
    sup_instance_destroy(s->reference);
    sup_pose_destroy(s->pose);
    sup_model_destroy(s->model);
    sup_rig_destroy(s->rig);
    sup_character_destroy(s->character);
}

/* Largest distance between the two skins. */
static float largest_displacement(const stage *s)
{
    float largest = 0.0f;
    for (int32_t v = 0; v < s->character->vertex_count; v++) {
        float squared = 0.0f;
        for (int k = 0; k < 3; k++)
            squared += powf(s->skin[3 * v + k] - s->reference_skin[3 * v + k], 2.0f);
        largest = fmaxf(largest, sqrtf(squared));
    }
    return largest;
}

int main(void)
{
    stage s = {0};
    sup_error error = {0};
    sup_result result = stage_create(&s, &error);
    for (int frame = 0; frame <= FRAMES && result == SUP_OK; frame++) {
        /* Moves in from the front, then out again; in the middle half of the sphere is inside the belly at rest. */
        float in = sinf(3.14159265f * (float)frame / (float)FRAMES);
        sup_mat34 transform = sup_mat34_identity();
        transform.m[11] = 0.40f - 0.23f * in;
        result = sup_instance_move_collider(s.pushed, 0, transform);
        if (result == SUP_OK)
            result = sup_instance_step(s.pushed, s.pose, 1.0f / 60.0f, &(sup_skin_out){.positions = s.skin});
        if (result == SUP_OK)
            result =
                sup_instance_step(s.reference, s.pose, 1.0f / 60.0f, &(sup_skin_out){.positions = s.reference_skin});
        if (frame % 15 == 0)
            printf("frame %2d: the sphere is at %.3f m, the skin is displaced by %.3f m\n", frame,
                   (double)transform.m[11], (double)largest_displacement(&s));
    }
    if (result != SUP_OK) fprintf(stderr, "%s: %s\n", sup_result_name(result), error.message);
    stage_destroy(&s);
    return result != SUP_OK;
}

/* own_method.c - a custom skinning method, written against method.h and run like the built-in ones.
 *
 * "balloon" moves each vertex with its strongest joint and inflates the skin along its normals. A method needs a
 * parameter table, a bind that stores precomputed data in named arrays of the model, and a step. This one has no state;
 * a method with state also has a layout and a reset. */
#include <supple/supple.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { PARAM_AIR, PARAM_COUNT };

static const sup_param balloon_params[PARAM_COUNT] = {
    [PARAM_AIR] = {.name = "air",
                   .unit = "",
                   .type = SUP_PARAM_FLOAT,
                   .minimum = 0.0,
                   .maximum = 1.0,
                   .default_value = 0.01,
                   .live = true,
                   .help = "Offset of the skin along its normals, as a fraction of the character's size."},
};

/* Once per character: rest positions and normals in the space of each vertex' strongest joint. */
static sup_result balloon_bind(const sup_bind_input *input, sup_model_builder *builder, sup_error *error)
{
    const sup_rig *rig = input->rig;
    int32_t count = rig->vertex_count;
    float *size = sup_model_add(builder, "size", SUP_ARRAY_FLOAT, 1);
    float *local = sup_model_add(builder, "local", SUP_ARRAY_FLOAT, (int64_t)count * 6); /* position, normal */
    int32_t *node = sup_model_add(builder, "node", SUP_ARRAY_INT32, count);
    (void)error;
    if (size == NULL || local == NULL || node == NULL) return SUP_ERROR_MEMORY;
    *size = rig->size;
    for (int32_t v = 0; v < count; v++) {
        int32_t joint = rig->influence_joint[rig->influence_first[v]]; /* sorted by weight, largest first */
        const float *p = rig->positions + 3 * (size_t)v, *n = rig->normals + 3 * (size_t)v;
        const sup_mat34 inverse = rig->joint_inverse_bind[joint];
        sup_vec3 at = sup_mat34_transform_point(inverse, (sup_vec3){p[0], p[1], p[2]});
        sup_vec3 tip = sup_mat34_transform_point(inverse, (sup_vec3){p[0] + n[0], p[1] + n[1], p[2] + n[2]});
        float *out = local + 6 * (size_t)v;
        out[0] = at.x, out[1] = at.y, out[2] = at.z;
        out[3] = tip.x - at.x, out[4] = tip.y - at.y, out[5] = tip.z - at.z;
        node[v] = rig->joint_node[joint];
    }
    return SUP_OK;
}

static float *element(float *array, size_t stride, size_t tight, int32_t v)
{
    return (float *)(void *)((char *)array + (size_t)v * (stride != 0 ? stride : tight));
}

static sup_result balloon_step(const sup_step_input *input, void *state, const sup_skin_out *out)
{
    int32_t count = sup_model_vertex_count(input->model);
    const float *size = sup_model_array(input->model, "size", SUP_ARRAY_FLOAT, 1);
    const float *local = sup_model_array(input->model, "local", SUP_ARRAY_FLOAT, (int64_t)count * 6);
    const int32_t *node = sup_model_array(input->model, "node", SUP_ARRAY_INT32, count);
    (void)state;
    if (size == NULL || local == NULL || node == NULL) return SUP_ERROR_DATA;
    float air = (float)input->values[PARAM_AIR] * *size;
    for (int32_t v = 0; v < count; v++) {
        const float *p = local + 6 * (size_t)v;
        const float *m = input->pose->world[node[v]].m;
        float position[3], normal[3], squared = 0.0f;
        for (int r = 0; r < 3; r++) {
            position[r] = m[4 * r] * p[0] + m[4 * r + 1] * p[1] + m[4 * r + 2] * p[2] + m[4 * r + 3];
            normal[r] = m[4 * r] * p[3] + m[4 * r + 1] * p[4] + m[4 * r + 2] * p[5];
            squared += normal[r] * normal[r];
        }
        float scale = squared > 0.0f ? 1.0f / sqrtf(squared) : 0.0f;
        for (int r = 0; r < 3; r++) {
            normal[r] *= scale;
            if (out->normals != NULL) element(out->normals, out->normal_stride, 12, v)[r] = normal[r];
            if (out->positions != NULL)
                element(out->positions, out->position_stride, 12, v)[r] = position[r] + air * normal[r];
        }
    }
    return SUP_OK;
}

static const sup_method balloon = {
    .name = "balloon",
    .summary = "Each vertex moves with its strongest joint and is offset along its normal.",
    .version = 1,
    .flags = SUP_METHOD_USES_WEIGHTS,
    .params = balloon_params,
    .param_count = PARAM_COUNT,
    .bind = balloon_bind,
    .step = balloon_step,
};

/* Mean distance between two skins. */
static double mean_distance(const float *a, const float *b, int32_t count)
{
    double sum = 0.0;
    for (int32_t v = 0; v < count; v++) {
        double x = (double)a[3 * v] - (double)b[3 * v], y = (double)a[3 * v + 1] - (double)b[3 * v + 1],
               z = (double)a[3 * v + 2] - (double)b[3 * v + 2];
        sum += sqrt(x * x + y * y + z * z);
    }
    return sum / count;
}

int main(void)
{
    sup_character *character = NULL;
    sup_rig *rig = NULL;
    sup_model *model = NULL;
    sup_instance *instance = NULL;
    sup_pose *pose = NULL;
    float *skin = NULL;
    sup_error error = {0};
    sup_result result = sup_scene_create(NULL, "cylinder", 1.0, &character, &error);
    if (result == SUP_OK) result = sup_rig_create(NULL, character, NULL, &rig, &error);
    if (result == SUP_OK) result = sup_bind(NULL, &balloon, rig, NULL, &model, &error);
    if (result == SUP_OK) result = sup_instance_create(NULL, model, NULL, &instance, &error);
    if (result == SUP_OK) result = sup_pose_create(NULL, character, &pose, &error);
    if (result == SUP_OK && (skin = calloc((size_t)rig->vertex_count * 3, sizeof *skin)) == NULL)
        result = SUP_ERROR_MEMORY;
    for (int i = 0; i <= 2 && result == SUP_OK; i++) {
        double air = 0.05 * i;
        result = sup_instance_set(instance, "air", air, &error);
        if (result == SUP_OK)
            result = sup_instance_step(instance, pose, 1.0f / 30.0f, &(sup_skin_out){.positions = skin});
        if (result == SUP_OK)
            printf("air %.2f: mean displacement of the skin %.3f of the character's size\n", air,
                   mean_distance(skin, rig->positions, rig->vertex_count) / (double)rig->size);
    }
    if (result != SUP_OK) fprintf(stderr, "%s: %s\n", sup_result_name(result), error.message);
    free(skin);
    sup_pose_destroy(pose);
    sup_instance_destroy(instance);
    sup_model_destroy(model);
    sup_rig_destroy(rig);
    sup_character_destroy(character);
    return result != SUP_OK;
}

/* crowd.c - a crowd on a GPU: every instance plays its own clip, distant ones with less detail; then all skins are
 * written to an OBJ file.
 *
 *     sample_crowd OUT.obj [COUNT [SECONDS]]
 *
 * An engine would not read the skins back: it passes its own vertex buffers on the device in sup_crowd_def. Without a
 * GPU the program prints the reason; the same model can be stepped on the CPU (engine.c). */
#include <supple/device.h>
#include <supple/supple.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_CLIPS = 16, IN_A_ROW = 8, NEAR_ROWS = 2 };

typedef struct crowd {
    sup_character *character;
    sup_model *model;
    sup_device *device;
    sup_crowd *instances;
    const sup_clip *clips[MAX_CLIPS];
    int32_t count, clip_count;
} crowd;

static sup_result crowd_create(crowd *c, int32_t count, sup_error *error)
{
    sup_rig *rig = NULL;
    double values[64];
    const sup_method *method = sup_method_find("projective");
    sup_method_defaults(method, values);
    c->count = count;
    sup_result result = sup_device_cuda_create(NULL, 0, &c->device, error);
    if (result == SUP_OK) result = sup_scene_create(NULL, "human", 0.6, &c->character, error);
    if (result == SUP_OK) result = sup_rig_create(NULL, c->character, NULL, &rig, error);
    if (result == SUP_OK) result = sup_method_set(method, values, "limits", "0", error); /* not on the device */
    if (result == SUP_OK) result = sup_bind(NULL, method, rig, &(sup_bind_def){.values = values}, &c->model, error);
    sup_rig_destroy(rig);
    if (result != SUP_OK) return result;
    while (c->clip_count < c->character->clip_count && c->clip_count < MAX_CLIPS) {
        c->clips[c->clip_count] = &c->character->clips[c->clip_count];
        c->clip_count++;
    }
    sup_crowd_def def = {
        .instance_count = count, .character = c->character, .clip_count = c->clip_count, .clips = c->clips};
    return sup_crowd_create(c->device, c->model, &def, &c->instances, error);
}

static void crowd_destroy(crowd *c)
{
    sup_crowd_destroy(c->instances);
    sup_device_destroy(c->device);
    sup_model_destroy(c->model);
    sup_character_destroy(c->character);
}

/* Each instance has its own clip, start time and speed. Distant instances take fewer, simpler iterations and are not
 * untangled. */
static sup_result crowd_begin(crowd *c, sup_error *error)
{
    sup_result result = SUP_OK;
    for (int32_t i = 0; i < c->count && result == SUP_OK; i++) {
        double phase = 0.618 * i - floor(0.618 * i);
        result = sup_crowd_play(c->instances, i, i % c->clip_count, 2.0 * phase, 0.8 + 0.4 * phase, true, error);
        if (i < NEAR_ROWS * IN_A_ROW || result != SUP_OK) continue;
        result = sup_crowd_set(c->instances, i, "fast", 1.0, error);
        if (result == SUP_OK) result = sup_crowd_set(c->instances, i, "iterations", 3.0, error);
        if (result == SUP_OK) result = sup_crowd_set(c->instances, i, "untangle", 0.0, error);
    }
    return result == SUP_OK ? sup_crowd_reset(c->instances, -1, error) : result;
}

/* Writes the skin of instance i at its position in the grid. */
static void write_skin(FILE *file, const crowd *c, int32_t i, const float *skin)
{
    const sup_character *body = c->character;
    float right = 1.3f * (float)(i % IN_A_ROW), back = -1.5f * (float)(i / IN_A_ROW);
    if (i / IN_A_ROW % 2 == 1) right += 0.65f; /* between the instances of the previous row */
    fprintf(file, "o human_%d\n", (int)i);
    for (int32_t v = 0; v < body->vertex_count; v++, skin += 3)
        fprintf(file, "v %.4f %.4f %.4f\n", (double)(skin[0] + right), (double)skin[1], (double)(skin[2] + back));
    for (int32_t t = 0; t < body->triangle_count; t++) {
        int corner[3];
        for (int k = 0; k < 3; k++)
            corner[k] = (int)(body->triangles[3 * t + k] -
                              body->vertex_count); /* negative indices count back from the last vertex */
        fprintf(file, "f %d %d %d\n", corner[0], corner[1], corner[2]);
    }
}

static sup_result crowd_write(const crowd *c, const char *path, sup_error *error)
{
    float *skin = calloc((size_t)c->character->vertex_count, 3 * sizeof(float));
    FILE *file = skin != NULL ? fopen(path, "w") : NULL;
    sup_result result = file != NULL ? SUP_OK : SUP_ERROR_IO;
    for (int32_t i = 0; i < c->count && result == SUP_OK; i++) {
        result = sup_crowd_read(c->instances, i, &(sup_skin_out){.positions = skin}, error);
        if (result == SUP_OK) write_skin(file, c, i, skin);
    }
    if (file != NULL && fclose(file) != 0) result = SUP_ERROR_IO;
    free(skin);
    return result;
}

int main(int argc, char **argv)
{
    int32_t count = argc > 2 ? (int32_t)strtol(argv[2], NULL, 10) : 64;
    double seconds = argc > 3 ? strtod(argv[3], NULL) : 2.0;
    if (argc < 2 || count < 1 || !(seconds >= 0.0)) {
        fprintf(stderr, "sample_crowd OUT.obj [COUNT [SECONDS]]\n");
        return 1;
    }
    crowd c = {0};
    sup_error error = {0};
    sup_result result = crowd_create(&c, count, &error);
    if (result == SUP_ERROR_UNSUPPORTED) {
        printf("%s\n", error.message);
        crowd_destroy(&c);
        return 0;
    }
    if (result == SUP_OK) result = crowd_begin(&c, &error);
    for (int frame = 0; frame < (int)(60.0 * seconds) && result == SUP_OK; frame++)
        result = sup_crowd_step(c.instances, 1.0f / 60.0f, NULL, &error);
    if (result == SUP_OK) result = crowd_write(&c, argv[1], &error);
    if (result == SUP_OK) printf("%s: %d skins, stepped on %s\n", argv[1], (int)count, sup_device_name(c.device));
    if (result != SUP_OK) fprintf(stderr, "%s: %s\n", sup_result_name(result), error.message);
    crowd_destroy(&c);
    return result != SUP_OK;
}

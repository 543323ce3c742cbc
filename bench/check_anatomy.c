/* check_anatomy.c - measures tissue motion for docs/methods/anatomy.md, after figure 4.17 of [komaritzan2022].
 *
 *         check_anatomy motion [INPUT [JUMP TWIST]]
 *         check_anatomy time [INPUT CLIP]
 *
 * motion: in a jump, the distance of the skin from its quasi-static position (without momentum); in a twist without
 * momentum, its displacement relative to the joint of the rib cage (the last joint of the chain below the neck with
 * "chest" or "spine" in its name). Root mean squares over all frames, 60 per second, in millimetres, of belly and
 * chest, and the ratio of belly to chest; methods "projective" and "anatomy" on one body. Belly: in front, 56 to 63
 * % of the height. Chest: 69 to 78 %, without arms.
 * time: milliseconds per step on two threads, contact off and on, with 5,500 skin vertices.
 * INPUT is a file, or scene:NAME. */
#include "supple/supple.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { BELLY, CHEST, REGIONS, PARAM_LIMIT = 64 };
static const double FPS = 60.0;

typedef struct body {
    sup_context context;
    sup_character *character;
    sup_rig *rig;
    sup_pose *pose;
    unsigned char *region; /* [vertex_count] region, REGIONS if none */
    int32_t chest;         /* rig joint */
} body;

static void must(sup_result result, const sup_error *error)
{
    if (result == SUP_OK) return;
    fprintf(stderr, "check_anatomy: %s (%s)\n", error->message, error->where);
    exit(1);
}

static void *allocate(size_t count, size_t size)
{
    void *memory = calloc(count + 1, size);
    if (memory == NULL) exit(1);
    return memory;
}

/* The last joint in the order of the skeleton with this word in its name. */
static int32_t find_chest(const sup_rig *rig)
{
    int32_t found = 0;
    for (int32_t j = 0; j < rig->joint_count; j++) {
        const char *name = rig->character->nodes[rig->joint_node[j]].name;
        if (strstr(name, "hest") != NULL || strstr(name, "pine") != NULL) found = j;
    }
    return found;
}

static void find_regions(body *b)
{
    const sup_rig *rig = b->rig;
    float low = INFINITY, high = -INFINITY;
    for (int32_t v = 0; v < rig->vertex_count; v++) {
        low = fminf(low, rig->positions[3 * v + 1]);
        high = fmaxf(high, rig->positions[3 * v + 1]);
    }
    for (int32_t v = 0; v < rig->vertex_count; v++) {
        const float *p = rig->positions + 3 * (size_t)v;
        float at = (p[1] - low) / (high - low), side = fabsf(p[0]) / (high - low);
        b->region[v] = REGIONS;
        if (rig->vertex_to_skin[v] < 0) continue;
        if (at > 0.56f && at < 0.63f && p[2] > 0.03f * (high - low) && side < 0.06f) b->region[v] = BELLY;
        if (at > 0.69f && at < 0.78f && side < 0.07f) b->region[v] = CHEST;
    }
}

static body open_body(const sup_context *context, const char *input)
{
    body b = {.context = *context};
    sup_error error = {0};
    if (strncmp(input, "scene:", 6) == 0)
        must(sup_scene_create(context, input + 6, 1.0, &b.character, &error), &error);
    else
        must(sup_load(context, input, NULL, &b.character, &error), &error);
    must(sup_rig_create(context, b.character, NULL, &b.rig, &error), &error);
    must(sup_pose_create(context, b.character, &b.pose, &error), &error);
    b.region = allocate((size_t)b.rig->vertex_count, 1);
    b.chest = find_chest(b.rig);
    find_regions(&b);
    return b;
}

static void close_body(body *b)
{
    free(b->region);
    sup_pose_destroy(b->pose);
    sup_rig_destroy(b->rig);
    sup_character_destroy(b->character);
}

static sup_instance *start(const body *b, const char *name, const char *dynamic, const char *contact, sup_model **model)
{
    const sup_method *method = sup_method_find(name);
    double values[PARAM_LIMIT];
    sup_bind_def def = {.values = values};
    sup_instance *instance = NULL;
    sup_error error = {0};
    if (method == NULL || method->param_count > PARAM_LIMIT) exit(1);
    sup_method_defaults(method, values);
    must(sup_method_set(method, values, "dynamic", dynamic, &error), &error);
    must(sup_method_set(method, values, "contact", contact, &error), &error);
    must(sup_method_set(method, values, "vertices", "5500", &error), &error);
    must(sup_bind(&b->context, method, b->rig, &def, model, &error), &error);
    must(sup_instance_create(&b->context, *model, NULL, &instance, &error), &error);
    return instance;
}

static const sup_clip *find_clip(const body *b, const char *name)
{
    int32_t index = sup_character_find_clip(b->character, name);
    if (index < 0) {
        fprintf(stderr, "check_anatomy: there is no clip %s\n", name);
        exit(1);
    }
    return &b->character->clips[index];
}

static void play(body *b, sup_instance *instance, const sup_clip *clip, int32_t f, float *positions)
{
    sup_skin_out out = {.positions = positions};
    sup_error error = {0};
    must(sup_pose_sample(b->character, clip, sup_clip_frame_time(clip, FPS, f), b->pose), &error);
    if (f == 0) must(sup_instance_reset(instance, b->pose), &error);
    must(sup_instance_step(instance, b->pose, f == 0 ? 0.0f : (float)(1.0 / FPS), &out), &error);
}

static void add_square(const body *b, int32_t v, const float *p, const float *q, double sum[REGIONS],
                       double count[REGIONS])
{
    if (b->region[v] == REGIONS) return;
    for (int k = 0; k < 3; k++)
        sum[b->region[v]] += ((double)p[k] - (double)q[k]) * ((double)p[k] - (double)q[k]);
    count[b->region[v]] += 1.0;
}

static void print_motion(const char *motion, const char *method, const double sum[REGIONS], const double count[REGIONS])
{
    double belly = 1e3 * sqrt(sum[BELLY] / count[BELLY]), chest = 1e3 * sqrt(sum[CHEST] / count[CHEST]);
    printf("%-6s %-11s belly %6.2f mm   chest %6.2f mm   %5.2f times\n", motion, method, belly, chest, belly / chest);
    fflush(stdout);
}

/* With momentum against quasi-static. */
static void measure_jump(body *b, const char *method, const char *clip_name)
{
    const sup_clip *clip = find_clip(b, clip_name);
    size_t size = 3 * (size_t)b->rig->vertex_count;
    float *moving = allocate(size, sizeof(float)), *hanging = allocate(size, sizeof(float));
    double sum[REGIONS] = {0}, count[REGIONS] = {0};
    sup_model *models[2] = {NULL, NULL};
    sup_instance *one = start(b, method, "on", "off", &models[0]), *two = start(b, method, "off", "off", &models[1]);
    for (int32_t f = 0; f < sup_clip_frame_count(clip, FPS); f++) {
        play(b, one, clip, f, moving);
        play(b, two, clip, f, hanging);
        for (int32_t v = 0; v < b->rig->vertex_count; v++)
            add_square(b, v, moving + 3 * (size_t)v, hanging + 3 * (size_t)v, sum, count);
    }
    print_motion(clip_name, method, sum, count);
    sup_instance_destroy(one);
    sup_instance_destroy(two);
    sup_model_destroy(models[0]);
    sup_model_destroy(models[1]);
    free(moving);
    free(hanging);
}

/* In the frame of the joint of the rib cage. */
static void measure_twist(body *b, const char *method, const char *clip_name)
{
    const sup_clip *clip = find_clip(b, clip_name);
    float *posed = allocate(3 * (size_t)b->rig->vertex_count, sizeof(float));
    double sum[REGIONS] = {0}, count[REGIONS] = {0};
    sup_model *model = NULL;
    sup_instance *instance = start(b, method, "off", "off", &model);
    for (int32_t f = 0; f < sup_clip_frame_count(clip, FPS); f++) {
        sup_mat34 back;
        play(b, instance, clip, f, posed);
        if (!sup_mat34_inverse(
                sup_mat34_multiply(b->pose->world[b->rig->joint_node[b->chest]], b->rig->joint_inverse_bind[b->chest]),
                &back))
            continue;
        for (int32_t v = 0; v < b->rig->vertex_count; v++) {
            const float *p = posed + 3 * (size_t)v;
            sup_vec3 at = sup_mat34_transform_point(back, (sup_vec3){p[0], p[1], p[2]});
            const float seen[3] = {at.x, at.y, at.z};
            add_square(b, v, seen, b->rig->positions + 3 * (size_t)v, sum, count);
        }
    }
    print_motion(clip_name, method, sum, count);
    sup_instance_destroy(instance);
    sup_model_destroy(model);
    free(posed);
}

static double milliseconds(void)
{
    struct timespec now;
    timespec_get(&now, TIME_UTC);
    return 1e3 * (double)now.tv_sec + 1e-6 * (double)now.tv_nsec;
}

/* Mean over the frames of the first second of a clip; each frame is the minimum of several runs, because other
 * processes share the machine. */
static void measure_time(body *b, const char *method, const char *contact, const char *clip_name)
{
    const sup_clip *clip = find_clip(b, clip_name);
    float *positions = allocate(3 * (size_t)b->rig->vertex_count, sizeof(float));
    sup_model *model = NULL;
    sup_instance *instance = start(b, method, "on", contact, &model);
    const int32_t *counts = sup_model_array(model, "stats", SUP_ARRAY_INT32, 2);
    enum { FRAMES = 60, RUNS = 12 };
    double fastest[FRAMES], mean = 0.0;
    for (int run = 0; run < RUNS; run++)
        for (int32_t f = 0; f < FRAMES; f++) {
            double began = milliseconds();
            play(b, instance, clip, f, positions);
            double took = milliseconds() - began;
            fastest[f] = run == 0 ? took : fmin(fastest[f], took);
        }
    for (int32_t f = 1; f < FRAMES; f++)
        mean += fastest[f] / (FRAMES - 1);
    printf("%-6s %-11s contact %-3s  %6d unknowns %7d tets  %6.2f ms per step\n", clip_name, method, contact, counts[0],
           counts[1], mean);
    fflush(stdout);
    sup_instance_destroy(instance);
    sup_model_destroy(model);
    free(positions);
}

int main(int argc, char **argv)
{
    const char *input = argc > 2 ? argv[2] : "scene:human";
    sup_thread_pool *pool = NULL;
    sup_error error = {0};
    bool motion = argc > 1 && strcmp(argv[1], "motion") == 0, timing = argc > 1 && strcmp(argv[1], "time") == 0;
    if (!motion && !timing) {
        fprintf(stderr, "check_anatomy motion [INPUT [JUMP TWIST]], or check_anatomy time [INPUT CLIP]\n");
        return 1;
    }
    must(sup_thread_pool_create(2, &pool, &error), &error);
    sup_context context = {.tasks = sup_thread_pool_tasks(pool)};
    body b = open_body(&context, input);
    static const char *const methods[] = {"projective", "anatomy"};
    for (int m = 0; motion && m < 2; m++)
        measure_jump(&b, methods[m], argc > 3 ? argv[3] : "jump");
    for (int m = 0; motion && m < 2; m++)
        measure_twist(&b, methods[m], argc > 4 ? argv[4] : "twist");
    for (int m = 0; timing && m < 4; m++)
        measure_time(&b, methods[m / 2], m % 2 == 0 ? "off" : "on", argc > 3 ? argv[3] : "jump");
    close_body(&b);
    sup_thread_pool_destroy(pool);
    return 0;
}

/* bench_table.c - the speed of `projective` as table 3.2 of [komaritzan2022] tells it, rows ready for the manual.
 *
 *     bench_table [1|2 threads] [body]
 *
 * The whole method through the public API, a frame a step of the simulation (60 a second), over a whole motion:
 *   pre: rig and bind, with decimation and upsampling weights, which the thesis leaves out (10 to 20 s there);
 *   sim: a frame without contact, upsampling taken off; us: upsampling of positions and normals;
 *   col: what contact adds; frames a second without and with it.
 * Each frame counts with the best of its rounds, since the machine may be busy; the row is the mean over the frames. */
#include "supple/supple.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { ROUNDS = 3, MOST_FRAMES = 240 };

typedef struct body {
    const char *name, *input, *clip, *vertices; /* clip NULL: the first; vertices NULL: as many as there are */
    double resolution;                          /* of a scene */
    const char *thesis;                         /* its row: S, T, H, pre, sim, us, fps, col, fps with col */
} body;

static const body bodies[] = {
    {"cylinder", "fps/cylinder/cylinder.ini", NULL, NULL, 0, "810, 4.8k, 51k; 97; 1.5; 0.74; 410; 2.0; 210"},
    {"human low", "scene:human", "squat", "3500", 0.75, "3472, 21k, 15k; 253; 6.5; 0.22; 145; 8.9; 63"},
    {"human mid", "scene:human", "squat", "8500", 0.75, "8482, 51k, 15k; 451; 16.2; 0.22; 59; 21; 26"},
    {"human high", "scene:human", "squat", "15000", 0.75, "15k, 92k, 15k; 702; 29.6; none; 33; 40; 14"},
    {"elephant", "scene:elephant", "trunk_curl", "8700", 2.7, "8700, 52k, 44k; 939; 21.5; 0.58; 44; 21; 23"},
    {"male", "fps/male/male.ini", NULL, "4700", 0, "not in the table"},
    {"tbone", "fps/tbone/tbone.ini", NULL, NULL, 0, "not in the table"},
};

static double now_ms(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e3 + (double)t.tv_nsec * 1e-6;
}

static void must(sup_result result, const sup_error *error)
{
    if (result == SUP_OK) return;
    fprintf(stderr, "bench_table: %s (%s)\n", error->message, error->where);
    exit(1);
}

typedef struct stage_clock {
    double last, upsample;
} stage_clock;

static void stage_done(void *user, const char *stage)
{
    stage_clock *clock = user;
    double now = now_ms();
    if (strcmp(stage, "upsample") == 0) clock->upsample += now - clock->last;
    clock->last = now;
}

typedef struct trial {
    sup_context context;
    sup_character *character;
    const sup_clip *clip;
    sup_rig *rig;
    sup_model *model;
    sup_pose *pose;
    float *positions, *normals;
} trial;

/* Mean milliseconds of a frame; *upsample its part. */
static double time_motion(trial *t, double *upsample)
{
    double best[MOST_FRAMES][2], sum[2] = {0};
    int32_t frames = sup_clip_frame_count(t->clip, 60.0);
    sup_skin_out out = {.positions = t->positions, .normals = t->normals};
    sup_instance *instance = NULL;
    sup_error error = {0};
    must(sup_instance_create(&t->context, t->model, NULL, &instance, &error), &error);
    frames = frames < MOST_FRAMES ? frames : MOST_FRAMES;
    for (int round = 0; round < ROUNDS; round++)
        for (int32_t f = 0; f < frames; f++) {
            stage_clock clock = {0};
            must(sup_pose_sample(t->character, t->clip, sup_clip_frame_time(t->clip, 60.0, f), t->pose), &error);
            if (f == 0) must(sup_instance_reset(instance, t->pose), &error);
            must(sup_instance_observe(instance, stage_done, &clock), &error);
            double begin = clock.last = now_ms();
            must(sup_instance_step(instance, t->pose, f == 0 ? 0.0f : 1.0f / 60.0f, &out), &error);
            double ms[2] = {now_ms() - begin, clock.upsample};
            for (int k = 0; k < 2; k++)
                best[f][k] = round == 0 ? ms[k] : fmin(best[f][k], ms[k]);
        }
    for (int32_t f = 1; f < frames; f++)
        for (int k = 0; k < 2; k++)
            sum[k] += best[f][k] / (frames - 1);
    sup_instance_destroy(instance);
    *upsample = sum[1];
    return sum[0];
}

static double bind_body(trial *t, const body *b, const char *contact)
{
    const sup_method *method = sup_method_find("projective");
    double values[64], begin = now_ms();
    sup_bind_def def = {.values = values};
    sup_error error = {0};
    sup_method_defaults(method, values);
    must(sup_method_set(method, values, "contact", contact, &error), &error);
    if (b->vertices != NULL) must(sup_method_set(method, values, "vertices", b->vertices, &error), &error);
    must(sup_rig_create(&t->context, t->character, NULL, &t->rig, &error), &error);
    must(sup_bind(&t->context, method, t->rig, &def, &t->model, &error), &error);
    return now_ms() - begin;
}

static bool load_body(trial *t, const body *b)
{
    sup_error error = {0};
    char path[512];
    const char *folder = getenv("SUPPLE_ASSETS");
    if (strncmp(b->input, "scene:", 6) == 0) {
        must(sup_scene_create(&t->context, b->input + 6, b->resolution, &t->character, &error), &error);
    } else {
        snprintf(path, sizeof path, "%s/%s", folder != NULL ? folder : "../shared/assets", b->input);
        if (sup_load(&t->context, path, NULL, &t->character, &error) != SUP_OK) {
            printf("%s: %s\n", b->name, error.message);
            return false;
        }
    }
    int32_t clip = b->clip != NULL ? sup_character_find_clip(t->character, b->clip) : 0;
    t->clip = &t->character->clips[clip];
    must(sup_pose_create(&t->context, t->character, &t->pose, &error), &error);
    return true;
}

static void time_body(const sup_context *context, const body *b)
{
    trial t = {.context = *context};
    double ms[2], upsample[2], pre = 0.0;
    int32_t simulated = 0, elements = 0, shown = 0;
    static const char *const contact[] = {"off", "on"};
    if (!load_body(&t, b)) return;
    for (int k = 0; k < 2; k++) {
        pre = bind_body(&t, b, contact[k]);
        const int32_t *census = sup_model_array(t.model, "census", SUP_ARRAY_INT32, 2);
        shown = sup_model_vertex_count(t.model);
        simulated = census[0];
        elements = census[1];
        t.positions = calloc((size_t)shown * 3, sizeof(float));
        t.normals = calloc((size_t)shown * 3, sizeof(float));
        if (t.positions == NULL || t.normals == NULL) exit(1);
        ms[k] = time_motion(&t, &upsample[k]);
        free(t.positions);
        free(t.normals);
        sup_model_destroy(t.model);
        sup_rig_destroy(t.rig);
    }
    printf("| %s | %d, %d, %d | %.0f | %.2f | %.2f | %.0f | %.2f | %.0f | %s |\n", b->name, (int)simulated,
           (int)elements, (int)shown, pre, ms[0] - upsample[0], upsample[0], 1e3 / ms[0], ms[1] - ms[0], 1e3 / ms[1],
           b->thesis);
    fflush(stdout);
    sup_pose_destroy(t.pose);
    sup_character_destroy(t.character);
}

int main(int argc, char **argv)
{
    sup_thread_pool *pool = NULL;
    sup_error error = {0};
    int threads = argc > 1 ? atoi(argv[1]) : 1;
    sup_context context = {0};
    if (threads > 1) {
        must(sup_thread_pool_create(threads, &pool, &error), &error);
        context.tasks = sup_thread_pool_tasks(pool);
    }
    printf("%d thread%s; thesis: S, T, H; pre; sim; us; fps; col; fps with col\n", threads, threads > 1 ? "s" : "");
    printf("| body | N, T, H | pre ms | sim ms | us ms | fps | col ms | fps with col | thesis |\n");
    for (size_t i = 0; i < sizeof bodies / sizeof bodies[0]; i++)
        if (argc < 3 || strcmp(argv[2], bodies[i].name) == 0) time_body(&context, &bodies[i]);
    sup_thread_pool_destroy(pool);
    return 0;
}

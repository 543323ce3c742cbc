/* bench_table.c - times of `projective` in the form of table 3.2 of [komaritzan2022], as Markdown rows.
 *
 *     bench_table [THREADS] [BODY] [stages]
 *
 * Runs the method through the public API, one simulation step per frame (60 per second), over a whole clip:
 *   pre: rig and bind, including decimation and upsampling weights, which the thesis excludes (10 to 20 s there);
 *   sim: a frame without contact and without upsampling; us: upsampling of positions and normals;
 *   col: additional time for contact; frames per second without and with contact.
 * The time of a frame is the minimum over the repetitions (the machine may be busy); a row is the mean over the frames.
 * `stages` also prints the time of each stage, without and with contact. */
#include "supple/supple.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { REPETITIONS = 3, MAX_FRAMES = 240, MAX_STAGES = 24 };

typedef struct body {
    const char *name, *input, *clip, *vertices; /* clip NULL: the first; vertices NULL: no decimation */
    double resolution;                          /* of a built-in scene */
    const char *thesis;                         /* row of the thesis: S, T, H, pre, sim, us, fps, col, fps with col */
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

/* Time of a frame per stage, stages in the order of their first report. */
typedef struct stage_clock {
    double last, ms[MAX_STAGES];
    const char *name[MAX_STAGES];
    int count;
} stage_clock;

static void stage_done(void *user, const char *stage)
{
    stage_clock *clock = user;
    double now = now_ms();
    int k = 0;
    while (k < clock->count && strcmp(stage, clock->name[k]) != 0)
        k++;
    if (k == MAX_STAGES) return;
    if (k == clock->count) clock->name[clock->count++] = stage;
    clock->ms[k] += now - clock->last;
    clock->last = now;
}

/* Means over the frames of a clip. */
typedef struct timing {
    double frame, stage[MAX_STAGES];
    const char *name[MAX_STAGES];
    int count;
} timing;

static double stage_of(const timing *t, const char *name)
{
    for (int k = 0; k < t->count; k++)
        if (strcmp(name, t->name[k]) == 0) return t->stage[k];
    return 0.0;
}

/* Prints the stages without contact and with contact. */
static void print_stages(const timing t[2])
{
    for (int k = 0; k < t[1].count; k++)
        printf("  %-16s %8.3f %8.3f\n", t[1].name[k], stage_of(&t[0], t[1].name[k]), t[1].stage[k]);
    printf("  %-16s %8.3f %8.3f\n", "frame", t[0].frame, t[1].frame);
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

static timing time_motion(trial *t)
{
    static double best[MAX_FRAMES][MAX_STAGES + 1];
    int32_t frames = sup_clip_frame_count(t->clip, 60.0);
    sup_skin_out out = {.positions = t->positions, .normals = t->normals};
    sup_instance *instance = NULL;
    sup_error error = {0};
    timing mean = {0};
    stage_clock clock = {0};
    must(sup_instance_create(&t->context, t->model, NULL, &instance, &error), &error);
    frames = frames < MAX_FRAMES ? frames : MAX_FRAMES;
    for (int repetition = 0; repetition < REPETITIONS; repetition++)
        for (int32_t f = 0; f < frames; f++) {
            must(sup_pose_sample(t->character, t->clip, sup_clip_frame_time(t->clip, 60.0, f), t->pose), &error);
            if (f == 0) must(sup_instance_reset(instance, t->pose), &error);
            must(sup_instance_observe(instance, stage_done, &clock), &error);
            memset(clock.ms, 0, sizeof clock.ms);
            double begin = clock.last = now_ms();
            must(sup_instance_step(instance, t->pose, f == 0 ? 0.0f : 1.0f / 60.0f, &out), &error);
            double frame_ms = now_ms() - begin;
            for (int k = 0; k <= MAX_STAGES; k++) {
                double ms = k < MAX_STAGES ? clock.ms[k] : frame_ms;
                best[f][k] = repetition == 0 ? ms : fmin(best[f][k], ms);
            }
        }
    mean.count = clock.count;
    memcpy(mean.name, clock.name, sizeof mean.name);
    for (int32_t f = 1; f < frames; f++) {
        mean.frame += best[f][MAX_STAGES] / (frames - 1);
        for (int k = 0; k < clock.count; k++)
            mean.stage[k] += best[f][k] / (frames - 1);
    }
    sup_instance_destroy(instance);
    return mean;
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

static void time_body(const sup_context *context, const body *b, bool stages)
{
    trial t = {.context = *context};
    timing time[2];
    double bind_ms = 0.0;
    int32_t simulated = 0, elements = 0, render_vertices = 0;
    static const char *const contact[] = {"off", "on"};
    if (!load_body(&t, b)) return;
    for (int k = 0; k < 2; k++) {
        bind_ms = bind_body(&t, b, contact[k]);
        const int32_t *stats = sup_model_array(t.model, "stats", SUP_ARRAY_INT32, 2);
        render_vertices = sup_model_vertex_count(t.model);
        simulated = stats[0];
        elements = stats[1];
        t.positions = calloc((size_t)render_vertices * 3, sizeof(float));
        t.normals = calloc((size_t)render_vertices * 3, sizeof(float));
        if (t.positions == NULL || t.normals == NULL) exit(1);
        time[k] = time_motion(&t);
        free(t.positions);
        free(t.normals);
        sup_model_destroy(t.model);
        sup_rig_destroy(t.rig);
    }
    double upsample = stage_of(&time[0], "upsample");
    printf("| %s | %d, %d, %d | %.0f | %.2f | %.2f | %.0f | %.2f | %.0f | %s |\n", b->name, (int)simulated,
           (int)elements, (int)render_vertices, bind_ms, time[0].frame - upsample, upsample, 1e3 / time[0].frame,
           time[1].frame - time[0].frame, 1e3 / time[1].frame, b->thesis);
    if (stages) print_stages(time);
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
        if (argc < 3 || strcmp(argv[2], bodies[i].name) == 0) time_body(&context, &bodies[i], argc > 3);
    sup_thread_pool_destroy(pool);
    return 0;
}

/* bench_cuda.c - a crowd on one GPU: time of a frame and its stages, objective beside it.
 *
 *     bench_cuda MALE_FOLDER [alone] [N...] [linear] [dualquat]
 *
 * The folder is shared/assets/fps/male. Times are medians over the frames of its motions, after warm-up, by the device's
 * own clock. Beside them: how far the objective (eq. 2.12) ends above that of the CPU, which steps along. */
#include "cuda/crowd.h"
#include "supple/supple.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { CLIPS = 6, WARM_UP = 30 };

static void require(bool holds, const char *what, const sup_error *error)
{
    if (holds) return;
    fprintf(stderr, "bench_cuda: %s: %s\n", what, error->message);
    exit(1);
}

typedef struct male {
    sup_character *character;
    sup_rig *rig;
    sup_model *model;
    const sup_clip *clips[CLIPS];
    int32_t clip_count;
    sup_device *device;
} male;

static male open_male(const char *folder)
{
    male m = {0};
    sup_error e = {0};
    char mesh[512], path[512];
    sup_load_def def = sup_default_load_def();
    snprintf(mesh, sizeof mesh, "%s/male.off", folder);
    snprintf(path, sizeof path, "%s/male.skel", folder);
    def.skeleton = path;
    require(sup_load(NULL, mesh, &def, &m.character, &e) == SUP_OK, mesh, &e);
    for (int32_t i = 0; i < CLIPS; i++) {
        sup_clip *clip = NULL;
        snprintf(path, sizeof path, "%s/male%d.anim", folder, (int)i);
        require(sup_load_motion(NULL, path, NULL, m.character, NULL, &clip, &e) == SUP_OK, path, &e);
        m.clips[m.clip_count++] = clip;
    }
    require(sup_rig_create(NULL, m.character, NULL, &m.rig, &e) == SUP_OK, "rig", &e);
    static const char *const off[] = {"volume", "contact", "dynamic"}; /* what the device cannot do yet */
    const sup_method *method = sup_method_find("projective");
    double values[64];
    sup_method_defaults(method, values);
    for (int32_t i = 0; i < 3; i++)
        require(sup_method_set(method, values, off[i], "0", &e) == SUP_OK, off[i], &e);
    sup_bind_def bind = {.values = values};
    require(sup_bind(NULL, method, m.rig, &bind, &m.model, &e) == SUP_OK, "bind", &e);
    require(sup_device_cuda_create(NULL, 0, &m.device, &e) == SUP_OK, "device", &e);
    printf("%s; %d shown vertices\n", sup_device_name(m.device), (int)sup_model_vertex_count(m.model));
    return m;
}

static sup_crowd *open_crowd(const male *m, const sup_model *model, int32_t count)
{
    sup_error e = {0};
    sup_crowd *crowd = NULL;
    sup_crowd_def def = {
        .instance_count = count, .character = m->character, .clip_count = m->clip_count, .clips = m->clips};
    require(sup_crowd_create(m->device, model, &def, &crowd, &e) == SUP_OK, "crowd", &e);
    return crowd;
}

/* Every instance its own clip, time and speed. */
static void play_all(const male *m, sup_crowd *crowd)
{
    sup_error e = {0};
    for (int32_t i = 0; i < crowd->count; i++) {
        const sup_clip *clip = m->clips[i % m->clip_count];
        double length = (double)clip->end - (double)clip->start;
        require(sup_crowd_play(crowd, i, i % m->clip_count, (double)clip->start + fmod(i * 0.377, 1.0) * length,
                               0.8 + 0.4 * fmod(i * 0.618, 1.0), true, &e) == SUP_OK,
                "play", &e);
    }
    require(sup_crowd_reset(crowd, -1, &e) == SUP_OK, "reset", &e);
}

/* --- Times --- */

static int compare_floats(const void *a, const void *b)
{
    float x = *(const float *)a, y = *(const float *)b;
    return x < y ? -1 : x > y;
}

typedef struct times {
    float median, tenth, ninetieth;
} times;

static times sort_times(float *ms, int32_t count)
{
    qsort(ms, (size_t)count, sizeof *ms, compare_floats);
    return (times){ms[count / 2], ms[count / 10], ms[count * 9 / 10]};
}

static times time_frames(sup_crowd *crowd, int32_t frames)
{
    sup_error e = {0};
    void **event = calloc((size_t)frames + 1, sizeof *event), *stream = crowd->device->stream;
    float *ms = calloc((size_t)frames, sizeof *ms);
    for (int32_t i = 0; i < WARM_UP; i++)
        require(sup_crowd_step(crowd, 1.0f / 60.0f, NULL, &e) == SUP_OK, "step", &e);
    for (int32_t i = 0; i <= frames; i++) { /* queued without waiting: a frame begins where the last one ended */
        sup_cuda_event_create(&event[i]);
        if (i > 0) require(sup_crowd_step(crowd, 1.0f / 60.0f, NULL, &e) == SUP_OK, "step", &e);
        sup_cuda_event_record(event[i], stream);
    }
    for (int32_t i = 0; i < frames; i++)
        require(sup_cuda_event_elapsed(event[i], event[i + 1], &ms[i]) == 0, "event", &e);
    for (int32_t i = 0; i <= frames; i++)
        sup_cuda_event_destroy(event[i]);
    free(event);
    times t = sort_times(ms, frames);
    free(ms);
    return t;
}

/* Stages launched one by one: in a crowd the launches do not count. */
static void time_stages(sup_crowd *crowd)
{
    enum { STAGES = 4, ROUNDS = 20 };
    static const char *const names[STAGES] = {"pose", "anchors", "solver", "show"};
    void *event[STAGES + 1], *stream = crowd->device->stream;
    float ms[STAGES][ROUNDS], bad = 0;
    for (int32_t k = 0; k <= STAGES; k++)
        sup_cuda_event_create(&event[k]);
    for (int32_t r = 0; r < ROUNDS; r++) {
        sup_cuda_event_record(event[0], stream);
        bad += (float)sup_gpu_pose(&crowd->motion, &crowd->joints, &crowd->device_frame->seconds, stream);
        sup_cuda_event_record(event[1], stream);
        bad += (float)sup_gpu_anchors_step(&crowd->anchors, &crowd->joints, &crowd->state.progress->phase,
                                           sizeof(sup_gpu_progress), crowd->state.anchors, crowd->state.bend, stream);
        sup_cuda_event_record(event[2], stream);
        bad += (float)sup_gpu_step(&crowd->system, &crowd->state, crowd->graph_most, stream);
        sup_cuda_event_record(event[3], stream);
        bad += (float)sup_gpu_skin_step(&crowd->skin, &crowd->joints, &crowd->out, stream);
        bad += (float)sup_gpu_show(&crowd->upsample, crowd->count, &crowd->state.progress->phase,
                                   sizeof(sup_gpu_progress), crowd->state.x, crowd->system.unknown_count,
                                   &crowd->device_frame->blend, &crowd->out, stream);
        sup_cuda_event_record(event[4], stream);
        sup_cuda_wait(stream);
        for (int32_t k = 0; k < STAGES; k++)
            sup_cuda_event_elapsed(event[k], event[k + 1], &ms[k][r]);
    }
    printf("      stages, ms:");
    for (int32_t k = 0; k < STAGES; k++)
        printf(" %s %.4f", names[k], (double)sort_times(ms[k], ROUNDS).median);
    printf("%s\n", bad != 0.0f ? "  FAILED" : "");
    for (int32_t k = 0; k <= STAGES; k++)
        sup_cuda_event_destroy(event[k]);
}

/* --- Objective --- */

typedef struct verdict {
    int32_t steps, iterations, rejected;
    double worst;
} verdict;

/* A clip on the device and on the CPU, which goes on until float positions cannot tell: the objectives of both. */
static void judge_clip(const male *m, sup_crowd *crowd, const sup_clip *clip, int32_t frames, verdict *v)
{
    sup_error e = {0};
    sup_pose *pose = NULL;
    sup_instance *instance = NULL;
    float *skin = calloc((size_t)sup_model_vertex_count(m->model) * 3, sizeof *skin);
    require(skin != NULL && sup_pose_create(NULL, m->character, &pose, &e) == SUP_OK, "pose", &e);
    sup_pose_sample(m->character, clip, (double)clip->start, pose);
    require(sup_instance_create(NULL, m->model, pose, &instance, &e) == SUP_OK, "instance", &e);
    require(sup_crowd_pose(crowd, 0, pose, &e) == SUP_OK && sup_crowd_reset(crowd, 0, &e) == SUP_OK, "reset", &e);
    for (int32_t f = 1; f <= frames; f++) {
        sup_crowd_report report;
        sup_pose_sample(m->character, clip, fmin((double)clip->start + f / 60.0, (double)clip->end), pose);
        require(sup_instance_step(instance, pose, 1.0f / 60.0f, &(sup_skin_out){.positions = skin}) == SUP_OK, "CPU",
                &e);
        require(sup_crowd_pose(crowd, 0, pose, &e) == SUP_OK, "pose", &e);
        require(sup_crowd_step(crowd, 1.0f / 60.0f, NULL, &e) == SUP_OK, "step", &e);
        require(sup_crowd_last_step(crowd, 0, &report, &e) == SUP_OK, "report", &e);
        double goal = sup_instance_energy(instance);
        v->steps++;
        v->worst = fmax(v->worst, (report.objective - goal) / goal);
        v->iterations += report.iterations;
        v->rejected += report.rejected;
    }
    sup_instance_destroy(instance);
    sup_pose_destroy(pose);
    free(skin);
}

static void bench_alone(const male *m)
{
    sup_error e = {0};
    sup_crowd *crowd = open_crowd(m, m->model, 1);
    printf("one character: %d unknowns, %d parts, top %d, %d slots\n", (int)crowd->system.unknown_count,
           (int)crowd->system.part_count, (int)crowd->system.top_count, (int)crowd->system.slot_count);
    static const double settings[] = {5.0, 6.0, 8.0, 10.0};
    for (int32_t k = 0; k < 4; k++) {
        verdict v = {.worst = -1.0};
        times t = {0}, all = {0};
        require(sup_crowd_set(crowd, 0, "iterations", settings[k], &e) == SUP_OK, "set", &e);
        for (int32_t clip = 0; clip < m->clip_count; clip++) {
            require(sup_crowd_play(crowd, 0, clip, (double)m->clips[clip]->start, 1.0, true, &e) == SUP_OK, "play", &e);
            require(sup_crowd_reset(crowd, 0, &e) == SUP_OK, "reset", &e);
            t = time_frames(crowd, 300);
            all.median += t.median / (float)m->clip_count;
            all.tenth += t.tenth / (float)m->clip_count;
            all.ninetieth += t.ninetieth / (float)m->clip_count;
            if (k == 3) continue;
            judge_clip(m, crowd, m->clips[clip], 96, &v);
        }
        printf("  iterations %2.0f: %.4f ms a frame [%.4f, %.4f]; objective above the CPU's at worst %.2e of it in %d "
               "steps; iterations %.2f, rejected %.3f\n",
               settings[k], (double)all.median, (double)all.tenth, (double)all.ninetieth, v.worst, (int)v.steps,
               v.steps > 0 ? (double)v.iterations / v.steps : 0.0, v.steps > 0 ? (double)v.rejected / v.steps : 0.0);
    }
    require(sup_crowd_set(crowd, 0, "iterations", 5.0, &e) == SUP_OK, "set", &e);
    require(sup_crowd_step(crowd, 1.0f / 60.0f, NULL, &e) == SUP_OK, "step", &e);
    time_stages(crowd);
    sup_crowd_destroy(crowd);
}

static void bench_crowd(const male *m, int32_t count)
{
    sup_error e = {0};
    sup_crowd *crowd = open_crowd(m, m->model, count);
    play_all(m, crowd);
    static const double settings[] = {5.0, 8.0};
    for (int32_t k = 0; k < 2; k++) {
        require(sup_crowd_set(crowd, -1, "iterations", settings[k], &e) == SUP_OK, "set", &e);
        times t = time_frames(crowd, 60);
        printf("  %d characters, iterations %.0f: %.3f ms a frame [%.3f, %.3f], %.2f us a character\n", (int)count,
               settings[k], (double)t.median, (double)t.tenth, (double)t.ninetieth, (double)t.median * 1e3 / count);
        time_stages(crowd);
    }
    sup_crowd_destroy(crowd);
}

static void bench_classic(const male *m, const char *method, int32_t count)
{
    sup_error e = {0};
    sup_model *model = NULL;
    require(sup_bind(NULL, sup_method_find(method), m->rig, NULL, &model, &e) == SUP_OK, "bind", &e);
    sup_crowd *crowd = open_crowd(m, model, count);
    play_all(m, crowd);
    times t = time_frames(crowd, 100);
    printf("  %d characters, %s: %.3f ms a frame, %.3f us a character\n", (int)count, method, (double)t.median,
           (double)t.median * 1e3 / count);
    sup_crowd_destroy(crowd);
    sup_model_destroy(model);
}

int main(int argc, char **argv)
{
    if (argc < 2) {
        fprintf(stderr, "bench_cuda MALE_FOLDER [alone] [N...] [linear] [dualquat]\n");
        return 1;
    }
    male m = open_male(argv[1]);
    for (int i = 2; i < argc; i++) {
        int32_t count = (int32_t)strtol(argv[i], NULL, 10);
        if (strcmp(argv[i], "alone") == 0)
            bench_alone(&m);
        else if (count > 0)
            bench_crowd(&m, count);
        else
            bench_classic(&m, argv[i], 1000);
        fflush(stdout);
    }
    sup_device_destroy(m.device);
    return 0;
}

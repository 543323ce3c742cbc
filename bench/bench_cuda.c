/* bench_cuda.c - a crowd on one GPU: times of a frame and its stages, and the final objective.
 *
 *     bench_cuda MALE_FOLDER [single] [N...] [linear] [dualquat] [run N]
 *
 * MALE_FOLDER is shared/assets/fps/male. Times are medians over the frames of its clips, after warm-up, from device
 * events. `single` also compares the objective (eq. 2.12) with that of the CPU. */
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
    double values[64];
    const sup_method *method = sup_method_find("projective");
    sup_method_defaults(method, values);
    require(sup_method_set(method, values, "limits", "0", &e) == SUP_OK, "limits", &e); /* not on the device */
    require(sup_bind(NULL, method, m.rig, &(sup_bind_def){.values = values}, &m.model, &e) == SUP_OK, "bind", &e);
    require(sup_device_cuda_create(NULL, 0, &m.device, &e) == SUP_OK, "device", &e);
    printf("%s; %d render vertices\n", sup_device_name(m.device), (int)sup_model_vertex_count(m.model));
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

/* Each instance gets its own clip, start time and speed. */
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
    for (int32_t i = 0; i <= frames; i++) { /* queued without waiting: a frame starts when the previous one ends */
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

/* Stages of a step, on the device stream. */
enum { STAGE_POSE, STAGE_ANCHORS, STAGE_DETECT, STAGE_SOLVER, STAGE_SKIN, STAGE_RENDER_MESH, STAGE_UNTANGLE, STAGES };

static int launch_stage(sup_crowd *crowd, int32_t stage, void *stream)
{
    const sup_gpu_system *system = &crowd->system;
    const sup_gpu_state *state = &crowd->state;
    const float *pose = crowd->joints.pose;
    int errors = 0;
    if (stage == STAGE_POSE) {
        errors |= sup_gpu_wake(&crowd->motion, &crowd->joints, crowd->device_seconds, system, state, stream);
    } else if (stage == STAGE_ANCHORS) {
        errors |= sup_gpu_anchors_step(&crowd->anchors, &crowd->joints, &state->progress->phase,
                                       sizeof(sup_gpu_progress), state->anchors, state->anchor_acceleration, stream);
        errors |= sup_gpu_prepare(system, state, &crowd->body, pose, stream);
    } else if (stage == STAGE_DETECT && crowd->graph_solves > 0) {
        errors |= sup_gpu_extrapolate(system, state, &crowd->body, pose, stream);
        errors |= sup_gpu_detect_step(&crowd->detect, system, state, &crowd->body, stream);
        errors |= sup_gpu_list_contacts(system, state, stream);
    } else if (stage == STAGE_SOLVER) {
        errors |= sup_gpu_step(system, state, crowd->graph_iterations, crowd->graph_solves, stream);
    } else if (stage == STAGE_SKIN) {
        errors |= sup_gpu_finish(system, state, &crowd->body, pose, stream);
    } else if (stage == STAGE_RENDER_MESH) {
        errors |= sup_gpu_skin_step(&crowd->skin, &crowd->joints, crowd->device_commands, crowd->graph_rigid,
                                    &crowd->out, stream);
        errors |= sup_gpu_render_mesh(&crowd->upsample, state, false, &crowd->out, stream);
    } else if (stage == STAGE_UNTANGLE && crowd->graph_solves > 0) {
        errors |= sup_gpu_untangle_step(&crowd->untangle, state, &crowd->out, stream);
    }
    return errors;
}

enum { STAGE_FRAMES = 60, STAGE_LIMIT = STAGE_FRAMES * CLIPS };

/* Times of the stages; launching them one by one takes slightly longer than the graph of a step. */
typedef struct stage_times {
    float ms[STAGES + 2][STAGE_LIMIT]; /* the last two: detection and solver (a step in the literature), and the sum */
    int32_t count, failures;
} stage_times;

static void time_stages(sup_crowd *crowd, stage_times *to)
{
    void *event[STAGES + 1], *stream = crowd->device->stream;
    for (int32_t k = 0; k <= STAGES; k++)
        sup_cuda_event_create(&event[k]);
    for (int32_t f = 0; f < STAGE_FRAMES; f++, to->count++) {
        sup_cuda_event_record(event[0], stream);
        for (int32_t k = 0; k < STAGES; k++) {
            to->failures += launch_stage(crowd, k, stream) != 0;
            sup_cuda_event_record(event[k + 1], stream);
        }
        sup_cuda_wait(stream);
        for (int32_t k = 0; k < STAGES; k++)
            sup_cuda_event_elapsed(event[k], event[k + 1], &to->ms[k][to->count]);
        sup_cuda_event_elapsed(event[0], event[STAGES], &to->ms[STAGES + 1][to->count]);
        to->ms[STAGES][to->count] = to->ms[STAGE_DETECT][to->count] + to->ms[STAGE_SOLVER][to->count];
    }
    for (int32_t k = 0; k <= STAGES; k++)
        sup_cuda_event_destroy(event[k]);
}

static void print_stages(stage_times *t)
{
    static const char *const names[STAGES + 2] = {
        "pose", "anchors", "detect", "solver", "skin", "render mesh", "untangle", "detect and solver", "all"};
    printf("      stages, median ms (90th percentile):");
    for (int32_t k = 0; k < STAGES + 2; k++) {
        times all = sort_times(t->ms[k], t->count);
        printf(" %s %.4f (%.4f)", names[k], (double)all.median, (double)all.ninetieth);
    }
    printf("%s\n", t->failures > 0 ? "  FAILED" : "");
    fflush(stdout);
}

/* Live parameters of a crowd. */
typedef struct setting {
    double iterations, contact, fast, no_untangle; /* no_untangle: skip untangling */
} setting;

static void set_all(sup_crowd *crowd, setting to)
{
    sup_error e = {0};
    require(sup_crowd_set(crowd, -1, "iterations", to.iterations, &e) == SUP_OK, "iterations", &e);
    require(sup_crowd_set(crowd, -1, "contact", to.contact, &e) == SUP_OK, "contact", &e);
    require(sup_crowd_set(crowd, -1, "fast", to.fast, &e) == SUP_OK, "fast", &e);
    require(sup_crowd_set(crowd, -1, "untangle", to.no_untangle != 0.0 ? 0.0 : 1.0, &e) == SUP_OK, "untangle", &e);
}

/* --- Objective --- */

typedef struct comparison {
    int32_t steps, iterations, rejected;
    double worst, distance; /* relative objective above the CPU; largest vertex distance / character size */
} comparison;

/* Steps a clip on the device and on the CPU, which iterates to float precision, and compares their objectives. */
static void compare_clip(const male *m, sup_crowd *crowd, const sup_clip *clip, setting to, int32_t frames,
                         comparison *v)
{
    sup_error e = {0};
    sup_pose *pose = NULL;
    sup_instance *instance = NULL;
    size_t n = (size_t)sup_model_vertex_count(m->model) * 3;
    float *skin = calloc(n, sizeof *skin), *other = calloc(n, sizeof *other);
    require(skin != NULL && other != NULL && sup_pose_create(NULL, m->character, &pose, &e) == SUP_OK, "pose", &e);
    sup_pose_sample(m->character, clip, (double)clip->start, pose);
    require(sup_instance_create(NULL, m->model, pose, &instance, &e) == SUP_OK, "instance", &e);
    require(sup_instance_set(instance, "contact", to.contact, &e) == SUP_OK, "contact", &e);
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
        require(sup_crowd_read(crowd, 0, &(sup_skin_out){.positions = other}, &e) == SUP_OK, "read", &e);
        for (size_t i = 0; i < n; i++)
            v->distance = fmax(v->distance, fabs((double)skin[i] - (double)other[i]) / (double)m->rig->size);
    }
    sup_instance_destroy(instance);
    sup_pose_destroy(pose);
    free(skin), free(other);
}

static void bench_single(const male *m)
{
    sup_error e = {0};
    sup_crowd *crowd = open_crowd(m, m->model, 1);
    printf("one character: %d unknowns, %d subdomains, Schur complement %d, %d slots, %d region slots; %d kB of shared "
           "memory\n",
           (int)crowd->system.unknown_count, (int)crowd->system.subdomain_count, (int)crowd->system.separator_count,
           (int)crowd->system.slot_count, (int)crowd->system.region_slot_count,
           (int)(sup_gpu_local_shared(&crowd->system) >> 10));
    static const setting settings[] = {{.iterations = 0},
                                       {.iterations = 5},
                                       {.iterations = 10},
                                       {.contact = 1},
                                       {.contact = 1, .no_untangle = 1},
                                       {.iterations = 3, .contact = 1}};
    for (int32_t k = 0; k < (int32_t)(sizeof settings / sizeof *settings); k++) {
        static stage_times stages;
        comparison v = {.worst = -1.0};
        times t = {0}, all = {0};
        stages = (stage_times){0};
        set_all(crowd, settings[k]);
        for (int32_t clip = 0; clip < m->clip_count; clip++) {
            require(sup_crowd_play(crowd, 0, clip, (double)m->clips[clip]->start, 1.0, true, &e) == SUP_OK, "play", &e);
            require(sup_crowd_reset(crowd, 0, &e) == SUP_OK, "reset", &e);
            t = time_frames(crowd, 300);
            all.median += t.median / (float)m->clip_count;
            all.tenth += t.tenth / (float)m->clip_count;
            all.ninetieth += t.ninetieth / (float)m->clip_count;
            time_stages(crowd, &stages);
            if (settings[k].iterations > 5.0) continue;
            compare_clip(m, crowd, m->clips[clip], settings[k], 96, &v);
        }
        printf("  iterations %2.0f, contact %.0f, untangle %d: %.4f ms per frame [%.4f, %.4f]; %d steps: objective at "
               "most %.2e above the CPU, skin distance %.2e; iterations %.2f, rejected %.3f\n",
               settings[k].iterations, settings[k].contact, settings[k].no_untangle == 0.0, (double)all.median,
               (double)all.tenth, (double)all.ninetieth, (int)v.steps, v.worst, v.distance,
               v.steps > 0 ? (double)v.iterations / v.steps : 0.0, v.steps > 0 ? (double)v.rejected / v.steps : 0.0);
        print_stages(&stages);
    }
    sup_crowd_destroy(crowd);
}

static void bench_crowd(const male *m, int32_t count)
{
    sup_crowd *crowd = open_crowd(m, m->model, count);
    static const setting settings[] = {{.iterations = 0},
                                       {.iterations = 5},
                                       {.iterations = 2, .fast = 1},
                                       {.contact = 1},
                                       {.contact = 1, .no_untangle = 1},
                                       {.iterations = 3, .contact = 1},
                                       {.contact = 1, .fast = 1},
                                       {.iterations = 3, .contact = 1, .fast = 1},
                                       {.iterations = 3, .contact = 1, .fast = 1, .no_untangle = 1},
                                       {.iterations = 2, .contact = 1, .fast = 1, .no_untangle = 1}};
    for (int32_t k = 0; k < (int32_t)(sizeof settings / sizeof *settings); k++) {
        set_all(crowd, settings[k]);
        static stage_times stages;
        play_all(m, crowd); /* reset with these settings: the start state has no self-intersections */
        times t = time_frames(crowd, 60);
        printf(
            "  %d characters, iterations %.0f, contact %.0f, fast %.0f, untangle %d: %.3f ms per frame [%.3f, %.3f], "
            "%.2f us per character; %d MB\n",
            (int)count, settings[k].iterations, settings[k].contact, settings[k].fast, settings[k].no_untangle == 0.0,
            (double)t.median, (double)t.tenth, (double)t.ninetieth, (double)t.median * 1e3 / count,
            (int)(crowd->allocated >> 20));
        stages = (stage_times){0};
        time_stages(crowd, &stages);
        print_stages(&stages);
    }
    sup_crowd_destroy(crowd);
}

/* Profiles one frame with contact, after warm-up: ncu --profile-from-start off. */
static void run_frames(const male *m, int32_t count)
{
    sup_error e = {0};
    sup_crowd *crowd = open_crowd(m, m->model, count);
    play_all(m, crowd);
    for (int32_t i = 0; i < WARM_UP; i++) {
        if (i == WARM_UP - 1) sup_cuda_profile(true);
        require(sup_crowd_step(crowd, 1.0f / 60.0f, NULL, &e) == SUP_OK, "step", &e);
        require(sup_crowd_wait(crowd, &e) == SUP_OK, "wait", &e);
    }
    sup_cuda_profile(false);
    sup_crowd_destroy(crowd);
}

static void bench_kinematic(const male *m, const char *method, int32_t count)
{
    sup_error e = {0};
    sup_model *model = NULL;
    require(sup_bind(NULL, sup_method_find(method), m->rig, NULL, &model, &e) == SUP_OK, "bind", &e);
    sup_crowd *crowd = open_crowd(m, model, count);
    play_all(m, crowd);
    times t = time_frames(crowd, 100);
    printf("  %d characters, %s: %.3f ms per frame, %.3f us per character\n", (int)count, method, (double)t.median,
           (double)t.median * 1e3 / count);
    sup_crowd_destroy(crowd);
    sup_model_destroy(model);
}

int main(int argc, char **argv)
{
    if (argc < 2) {
        fprintf(stderr, "bench_cuda MALE_FOLDER [single] [N...] [linear] [dualquat] [run N]\n");
        return 1;
    }
    male m = open_male(argv[1]);
    for (int i = 2; i < argc; i++) {
        int32_t count = (int32_t)strtol(argv[i], NULL, 10);
        if (strcmp(argv[i], "single") == 0)
            bench_single(&m);
        else if (strcmp(argv[i], "run") == 0 && i + 1 < argc)
            run_frames(&m, (int32_t)strtol(argv[++i], NULL, 10));
        else if (count > 0)
            bench_crowd(&m, count);
        else
            bench_kinematic(&m, argv[i], 1000);
        fflush(stdout);
    }
    sup_device_destroy(m.device);
    return 0;
}

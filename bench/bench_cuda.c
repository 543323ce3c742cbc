/* bench_cuda.c - a crowd on one GPU: time of a frame and its stages, objective beside it, bytes and operations.
 *
 *     bench_cuda MALE_FOLDER [alone] [crowd N...] [contact]
 *
 * The folder is shared/assets/fps/male. Times are medians over the frames of its motions, after warm-up, by the device's
 * own clock. `reached` counts steps that end at or below the objective (eq. 2.12) of ten plain local-global iterations in
 * double from the same state, but for the rounding of positions to float (1e-7 of it). */
#include "cuda/crowd.h"
#include "methods/projective/solver_reference.h"
#include "methods/projective/surface.h"
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
    require(sup_bind(NULL, sup_method_find("projective"), m.rig, NULL, &m.model, &e) == SUP_OK, "bind", &e);
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

typedef struct judge {
    sup_arena arena;
    sup_simulated_surface surface;
    sup_volumetric_skeleton *skeleton;
    sup_tissue *tissue;
    sup_reference *reference;
    sup_projective_view view;
    sup_blocks *blocks;
    size_t n; /* numbers of all tissue vertices */
    double *now, *before, *x, *y;
} judge;

/* The same tissue as the model's: bind makes it the same way every time. */
static judge open_judge(const male *m)
{
    judge j = {0};
    sup_error e = {0};
    sup_context context = sup_context_resolve(NULL);
    j.arena = sup_arena_create(&context.allocator);
    require(sup_projective_open(m->model, &j.view, &e) == SUP_OK, "view", &e);
    require(sup_simulated_surface_create(&context, m->rig, 5000, &j.arena, &j.surface, &e) == SUP_OK, "surface", &e);
    sup_tissue_skin skin = sup_simulated_surface_skin(&j.surface);
    sup_tissue_def def = {.skeleton = {.radius_scale = 1.0}};
    sup_tissue_report report;
    require(sup_tissue_create(&context, m->rig, &skin, &def, &j.skeleton, &j.tissue, &report, &e) == SUP_OK, "tissue",
            &e);
    sup_system_def system = {.tissue = j.tissue,
                             .tissue_stiffness = SUP_PROJECTIVE_TISSUE_STIFFNESS,
                             .total_mass = SUP_PROJECTIVE_TOTAL_MASS,
                             .time_step = SUP_PROJECTIVE_TIME_STEP};
    require(sup_reference_create(&context, &system, &j.reference, &e) == SUP_OK, "reference", &e);
    require(sup_blocks_create(&context, &j.view.system, &j.blocks, &e) == SUP_OK, "blocks", &e);
    j.n = (size_t)j.tissue->skin_count * 6;
    j.now = calloc(j.n, 8), j.before = calloc(j.n, 8), j.x = calloc(j.n, 8), j.y = calloc(j.n, 8);
    return j;
}

/* All tissue vertices from a buffer of unknowns and one of anchors on the device. */
static void read_vertices(const judge *j, const sup_gpu_four *unknowns, const sup_gpu_four *anchors, double *to)
{
    const sup_system *s = &j->view.system;
    float *x = calloc((size_t)s->unknown_count, 16), *a = calloc((size_t)s->anchor_count, 16);
    sup_cuda_copy(x, unknowns, (size_t)s->unknown_count * 16);
    sup_cuda_copy(a, anchors, (size_t)s->anchor_count * 16);
    for (int32_t v = 0; v < 2 * s->skin_count; v++)
        for (int32_t k = 0; k < 3; k++) {
            int32_t place = s->place[v];
            to[3 * v + k] = (double)(place < s->unknown_count ? x[4 * j->blocks->number[place] + k]
                                                              : a[4 * (place - s->unknown_count) + k]);
        }
    free(x), free(a);
}

typedef struct verdict {
    int32_t steps, reached, iterations, rejected;
    double worst;
} verdict;

/* One instance steps through its clip; every `every`-th step is judged from the state before it. */
static void judge_clip(judge *j, sup_crowd *crowd, int32_t frames, int32_t every, verdict *v)
{
    static const double gravity[3] = {0};
    sup_error e = {0};
    sup_gpu_state *st = &crowd->state;
    for (int32_t f = 0; f < frames; f++) {
        sup_gpu_progress p;
        require(sup_crowd_wait(crowd, &e) == SUP_OK, "wait", &e);
        sup_cuda_copy(&p, st->progress, sizeof p);
        bool look = f % every == every - 1;
        if (look) {
            read_vertices(j, st->x[p.phase & 1], st->anchors[(p.phase + 2) % 3], j->now);
            read_vertices(j, st->x[1 - (p.phase & 1)], st->anchors[(p.phase + 1) % 3], j->before);
        }
        require(sup_crowd_step(crowd, 1.0f / 60.0f, NULL, &e) == SUP_OK, "step", &e);
        if (!look) continue;
        require(sup_crowd_wait(crowd, &e) == SUP_OK, "wait", &e);
        sup_cuda_copy(&p, st->progress, sizeof p);
        read_vertices(j, st->x[p.phase & 1], st->anchors[(p.phase + 2) % 3], j->x);
        sup_reference_predict(j->reference, j->now, j->before, 0.0, gravity, j->y);
        double own = sup_reference_objective(j->reference, j->x, j->y, false);
        for (size_t i = 0; i < j->n; i++)
            if (!sup_reference_is_anchor(j->reference, (int32_t)(i / 3))) j->x[i] = j->y[i];
        sup_reference_iterate(j->reference, j->x, j->y, 10, false, NULL);
        double goal = sup_reference_objective(j->reference, j->x, j->y, false), excess = (own - goal) / goal;
        v->steps++;
        v->reached += excess <= 1e-7;
        v->worst = fmax(v->worst, excess);
        v->iterations += p.iterations;
        v->rejected += p.rejected;
    }
}

static void bench_alone(const male *m)
{
    sup_error e = {0};
    judge j = open_judge(m);
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
            require(sup_crowd_reset(crowd, 0, &e) == SUP_OK, "reset", &e);
            judge_clip(&j, crowd, 96, 12, &v);
        }
        printf(
            "  iterations %2.0f: %.4f ms a frame [%.4f, %.4f]; objective reached in %d of %d, worst %.2e; iterations "
            "%.2f, rejected %.3f\n",
            settings[k], (double)all.median, (double)all.tenth, (double)all.ninetieth, (int)v.reached, (int)v.steps,
            v.worst, v.steps > 0 ? (double)v.iterations / v.steps : 0.0,
            v.steps > 0 ? (double)v.rejected / v.steps : 0.0);
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
        fprintf(stderr, "bench_cuda MALE_FOLDER [alone] [N...]\n");
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

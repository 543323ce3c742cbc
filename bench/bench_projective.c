/* bench_projective.c - steps of projective dynamics: time, objective and stages.
 *
 *     bench_projective [tube|male|tbone|cylinder|growth ...]
 *
 * Every step of a motion is taken by the accelerated solver. From its state at the start of the step ten plain
 * local-global iterations in double (solver_reference.h) say what objective (eq. 2.12) must be reached; `reached` counts
 * the steps that end at or below it, `worst` is the largest relative excess. Times are minima over repetitions of whole
 * motions, per step; ratios are of numbers from the same run. */
#include "base/simd.h"
#include "methods/projective/solver_reference.h"
#include "projective_solver/body.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static double now_ms(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e3 + (double)t.tv_nsec * 1e-6;
}

static void *grab(size_t size)
{
    void *memory = aligned_alloc(64, (size + 127) / 64 * 64);
    if (memory == NULL) exit(1);
    memset(memory, 0, size);
    return memory;
}

typedef struct stage_clock {
    double last, sum[SUP_SOLVER_STAGE_COUNT];
} stage_clock;

static void stage_done(void *user, sup_solver_stage stage)
{
    stage_clock *clock = user;
    double t = now_ms();
    clock->sum[stage] += t - clock->last;
    clock->last = t;
}

typedef struct motion {
    int32_t frames;
    float **anchors; /* [frames] */
} motion;

static motion motion_of(const body *b)
{
    motion m = {(int32_t)(body_duration(b) * 60.0) + 20, NULL};
    m.anchors = grab((size_t)m.frames * sizeof(float *));
    for (int32_t f = 0; f < m.frames; f++) {
        m.anchors[f] = grab((size_t)b->system.anchor_count * 16);
        body_anchors(b, f / 60.0, m.anchors[f]);
    }
    return m;
}

static void motion_free(motion *m)
{
    for (int32_t f = 0; f < m->frames; f++)
        free(m->anchors[f]);
    free(m->anchors);
}

typedef struct result {
    double ms, us[SUP_SOLVER_STAGE_COUNT]; /* per step: the mean over all frames of the best of all repetitions */
    double iterations, rejected;
} result;

/* The machine may be busy: every frame keeps its best time, every stage of it too. */
static result run_motion(const body *b, const motion *m, const sup_context *context, sup_solver_input input,
                         int32_t lanes, int32_t repeats)
{
    enum { COLUMNS = SUP_SOLVER_STAGE_COUNT + 1 };
    result r = {0};
    void *state = grab(sup_solver_state_size(&b->system, 0));
    double *best = grab((size_t)m->frames * COLUMNS * sizeof(double)), steps = m->frames - 1;
    for (int32_t i = 0; i < m->frames * COLUMNS; i++)
        best[i] = 1e30;
    for (int32_t repeat = 0; repeat < repeats; repeat++) {
        sup_solver_reset(context, &b->system, state, 0, NULL, NULL, 0);
        for (int32_t f = 1; f < m->frames; f++) {
            stage_clock clock = {.last = now_ms()};
            sup_solver_report report;
            double begin = clock.last;
            input.anchors = m->anchors[f];
            input.stage_done = stage_done;
            input.stage_user = &clock;
            if (sup_solver_step_lanes(context, &b->system, state, &input, &report, lanes) != SUP_OK) exit(1);
            double *row = best + (int64_t)f * COLUMNS;
            row[SUP_SOLVER_STAGE_COUNT] = fmin(row[SUP_SOLVER_STAGE_COUNT], now_ms() - begin);
            for (int32_t k = 0; k < SUP_SOLVER_STAGE_COUNT; k++)
                row[k] = fmin(row[k], clock.sum[k]);
            r.iterations += report.iterations / (steps * repeats);
            r.rejected += report.rejected / (steps * repeats);
        }
    }
    for (int32_t f = 1; f < m->frames; f++) {
        r.ms += best[f * COLUMNS + SUP_SOLVER_STAGE_COUNT] / steps;
        for (int32_t k = 0; k < SUP_SOLVER_STAGE_COUNT; k++)
            r.us[k] += best[f * COLUMNS + k] * 1e3 / steps;
    }
    free(state), free(best);
    return r;
}

typedef struct quality {
    int32_t steps, reached;
    double worst, reference_ms, mean;
} quality;

/* Steps whose objective is compared with the reference's from the same state. */
static quality judge(const body *b, const motion *m, sup_reference *reference, sup_solver_input input, int32_t every)
{
    quality q = {.worst = -1.0, .reference_ms = 1e30};
    size_t n = (size_t)b->tissue.skin_count * 6;
    void *state = grab(sup_solver_state_size(&b->system, 0));
    float *now = grab(n * 4), *before = grab(n * 4), *after = grab(n * 4);
    double *x = grab(n * 8), *y = grab(n * 8), *nowd = grab(n * 8), *befored = grab(n * 8);
    static const double gravity[3] = {0};
    sup_solver_reset(NULL, &b->system, state, 0, NULL, NULL, 0);
    sup_solver_vertices(&b->system, state, now);
    memcpy(before, now, n * 4);
    for (int32_t f = 1; f < m->frames; f++) {
        input.anchors = m->anchors[f];
        if (sup_solver_step(NULL, &b->system, state, &input, NULL) != SUP_OK) exit(1);
        sup_solver_vertices(&b->system, state, after);
        if (f % every == 0) {
            for (size_t i = 0; i < n; i++) {
                nowd[i] = (double)now[i];
                befored[i] = (double)before[i];
                x[i] = (double)after[i];
            }
            sup_reference_predict(reference, nowd, befored, 0.0, gravity, y);
            double own = sup_reference_objective(reference, x, y, input.shared_rotation);
            for (size_t i = 0; i < n; i++) /* line 2: z <- y, anchors at their targets */
                if (!sup_reference_is_anchor(reference, (int32_t)(i / 3))) x[i] = y[i];
            double begin = now_ms();
            sup_reference_iterate(reference, x, y, 10, input.shared_rotation, NULL);
            q.reference_ms = fmin(q.reference_ms, now_ms() - begin);
            double goal = sup_reference_objective(reference, x, y, input.shared_rotation);
            double excess = (own - goal) / goal;
            q.steps++;
            q.reached += excess <= 0.0;
            q.worst = fmax(q.worst, excess);
            q.mean += excess;
        }
        float *t = before;
        before = now;
        now = after;
        after = t;
    }
    q.mean /= q.steps;
    free(state), free(now), free(before), free(after), free(x), free(y), free(nowd), free(befored);
    return q;
}

static void print_row(const char *name, const result *r, const quality *q, double base)
{
    printf("  %-26s %7.3f ms %6.1fx  it %.2f rej %.3f |", name, r->ms, base / r->ms, r->iterations, r->rejected);
    for (int32_t k = 0; k < SUP_SOLVER_STAGE_COUNT; k++)
        printf(" %6.1f", r->us[k]);
    if (q != NULL) printf(" | reached %d/%d worst %.1e mean %.1e", (int)q->reached, (int)q->steps, q->worst, q->mean);
    printf("\n");
}

static void bench_body(const char *name, body *b, int32_t every, int32_t repeats)
{
    sup_error error = {0};
    sup_system_def def = {0};
    double begin = now_ms();
    if (body_bind(b, NULL, &def, &error) != SUP_OK) {
        fprintf(stderr, "%s\n", error.message);
        exit(1);
    }
    double bind_ms = now_ms() - begin;
    def.tissue = &b->tissue;
    sup_reference *reference = NULL;
    if (sup_reference_create(NULL, &def, &reference, &error) != SUP_OK) exit(1);
    motion m = motion_of(b);
    const sup_system *s = &b->system;
    printf("%s: S=%d N=%d T=%d anchored batches %d/%d, factor %.0fk in %d parts (top %d of %d panels), bind %.0f ms, "
           "state %.2f MB, model %.2f MB\n",
           name, (int)s->skin_count, (int)s->unknown_count, (int)b->tissue.triangle_count * 3,
           (int)s->anchored_batch_count, (int)s->batch_count, (double)s->factor.value_count / 1e3,
           (int)s->parts.part_count, (int)(s->factor.panel_count - s->parts.panel_first[s->parts.part_count]),
           (int)s->factor.panel_count, bind_ms, (double)sup_solver_state_size(s, 0) / 1e6,
           (double)sup_model_bytes(b->model).size / 1e6);
    printf("  %-26s %26s | %s\n", "", "", "us: start local gradient top backward contact mix");
    sup_solver_input accelerated = {0}, adaptive = {.tolerance = 1e-6f}, plain = {.mode = SUP_SOLVER_PLAIN},
                     fast = {.shared_rotation = true};
    quality q = judge(b, &m, reference, accelerated, every), qa = judge(b, &m, reference, adaptive, every),
            qp = judge(b, &m, reference, plain, every), qf = judge(b, &m, reference, fast, every);
    printf("  %-26s %7.3f ms\n", "reference, double, 10", q.reference_ms);
    int32_t lanes = sup_simd_lanes();
    result r = run_motion(b, &m, NULL, plain, lanes, repeats);
    print_row("plain 10", &r, &qp, q.reference_ms);
    r = run_motion(b, &m, NULL, accelerated, lanes, repeats);
    print_row("accelerated", &r, &q, q.reference_ms);
    for (int32_t l = lanes / 2; l >= 4; l /= 2) {
        char text[32];
        snprintf(text, sizeof text, "accelerated, %d lanes", (int)l);
        result k = run_motion(b, &m, NULL, accelerated, l, repeats);
        print_row(text, &k, NULL, q.reference_ms);
    }
    r = run_motion(b, &m, NULL, adaptive, lanes, repeats);
    print_row("tolerance 1e-6", &r, &qa, q.reference_ms);
    r = run_motion(b, &m, NULL, fast, lanes, repeats);
    print_row("one rotation a prism", &r, &qf, q.reference_ms);
    sup_thread_pool *pool = NULL;
    if (sup_thread_pool_create(2, &pool, &error) != SUP_OK) exit(1);
    sup_context context = {.tasks = sup_thread_pool_tasks(pool)};
    r = run_motion(b, &m, &context, accelerated, lanes, repeats);
    print_row("accelerated, 2 threads", &r, NULL, q.reference_ms);
    r = run_motion(b, &m, &context, adaptive, lanes, repeats);
    print_row("tolerance 1e-6, 2 threads", &r, NULL, q.reference_ms);
    sup_thread_pool_destroy(pool);
    motion_free(&m);
    sup_reference_destroy(reference);
    body_free(b);
}

static const char *asset(const char *name, char path[512])
{
    const char *folder = getenv("SUPPLE_ASSETS");
    snprintf(path, 512, "%s/fps/%s", folder != NULL ? folder : "/work/shared/assets", name);
    return path;
}

static void bench_asset(const char *name, const char *mesh, const char *skeleton, const char *clip, int32_t every)
{
    char paths[3][512];
    body b = body_load(asset(mesh, paths[0]), asset(skeleton, paths[1]), asset(clip, paths[2]));
    bench_body(name, &b, every, getenv("REPEATS") ? atoi(getenv("REPEATS")) : 10);
}

int main(int argc, char **argv)
{
    const char *what = argc > 1 ? argv[1] : "male";
    if (strcmp(what, "male") == 0)
        bench_asset("male", "male/male_LR20.off", "male/male.skel", argc > 2 ? argv[2] : "male/male0.anim", 4);
    if (strcmp(what, "cylinder") == 0)
        bench_asset("cylinder", "cylinder/cylinder.off", "cylinder/cylinder.skel", "cylinder/cylinder0.anim", 1);
    if (strcmp(what, "tbone") == 0) bench_asset("tbone", "tbone/tbone.off", "tbone/tbone.skel", "tbone/tbone0.anim", 3);
    return 0;
}

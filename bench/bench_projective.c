/* bench_projective.c - steps of projective dynamics: time, objective and stages.
 *
 *     bench_projective [male] [cylinder] [tbone] [growth]
 *
 * The accelerated solver takes every step of a motion. From its state at the start of the step, ten plain
 * local-global iterations in double (solver_reference.h) give the objective (eq. 2.12) to reach; `reached` counts
 * the steps that end at or below it up to the rounding of positions to float (1e-7 of it), `worst` is the largest
 * relative excess. Times are means over the steps of a motion, of the best of several repetitions of each step;
 * ratios are against the reference in the same run. */
#include "base/simd.h"
#include "solver/solver_reference.h"
#include "projective_solver/body.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

/* Default of the method's parameter. */
#define DEFAULT_VOLUME 1.0

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
    float **anchors, **bones; /* [frames] */
} motion;

static motion motion_of(const body *b)
{
    motion m = {(int32_t)(body_duration(b) * 60.0) + 20, NULL, NULL};
    m.anchors = grab((size_t)m.frames * sizeof(float *));
    m.bones = grab((size_t)m.frames * sizeof(float *));
    for (int32_t f = 0; f < m.frames; f++) {
        m.anchors[f] = grab((size_t)b->system.anchor_count * 16);
        body_anchors(b, f / 60.0, m.anchors[f]);
        m.bones[f] = grab((size_t)b->skeleton->segment_count * 32);
        body_bones(b, f / 60.0, m.bones[f]);
    }
    return m;
}

static void motion_free(motion *m)
{
    for (int32_t f = 0; f < m->frames; f++)
        free(m->anchors[f]), free(m->bones[f]);
    free(m->anchors), free(m->bones);
}

typedef struct result {
    double ms, us[SUP_SOLVER_STAGE_COUNT]; /* per step: the mean over all frames of the best of all repetitions */
    double iterations, rejected;
} result;

/* The machine may be busy: every frame keeps its best time, and so does every stage. */
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
            input.bones = m->bones[f];
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
    int32_t steps, reached, strictly;
    double worst, reference_ms;
} quality;

/* Steps whose objective is compared with the reference's from the same state. */
static quality measure_quality(const body *b, const motion *m, sup_reference *reference, sup_solver_input input,
                               int32_t every)
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
        input.bones = m->bones[f];
        if (sup_solver_step(NULL, &b->system, state, &input, NULL) != SUP_OK) exit(1);
        sup_solver_vertices(&b->system, state, after);
        if (f % every == 0) {
            for (size_t i = 0; i < n; i++) {
                nowd[i] = (double)now[i];
                befored[i] = (double)before[i];
                x[i] = (double)after[i];
            }
            sup_reference_bones(reference, m->bones[f]);
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
            q.reached += excess <= 1e-7; /* effect of rounding positions to float on the objective */
            q.strictly += excess <= 0.0;
            q.worst = fmax(q.worst, excess);
        }
        float *t = before;
        before = now;
        now = after;
        after = t;
    }
    free(state), free(now), free(before), free(after), free(x), free(y), free(nowd), free(befored);
    return q;
}

static void print_row(const char *name, int32_t threads, const result *r, const quality *q)
{
    printf("  %-22s %3d %10.3f %7.1fx %5.2f %5.2f |", name, (int)threads, r->ms, q->reference_ms / r->ms, r->iterations,
           r->rejected);
    for (int32_t k = 0; k < SUP_SOLVER_STAGE_COUNT; k++)
        printf(" %6.1f", r->us[k]);
    printf(" | reached %d/%d, at or below %d, worst %.1e\n", (int)q->reached, (int)q->steps, (int)q->strictly,
           q->worst);
}

/* Minimum memory traffic and arithmetic of a step, and the fraction reached. Flops per tetrahedron: strain 51,
 * invariants and root 110, rotation 115, force and energy 80. */
static void print_floor(const body *b, const result *r)
{
    const sup_system *s = &b->system;
    double tets = 3.0 * b->tissue.triangle_count, flops = 356.0 * tets;
    double local_bytes = (double)s->batch_count * (4.0 * SUP_PRISM_FLOATS + 2.0 * SUP_PRISM_CORNERS) +
                         4.0 * (double)s->anchored_batch_count * SUP_PRISM_ANCHOR_FLOATS;
    double solve_bytes = 2.0 * 4.0 * ((double)s->factor.value_count + (double)s->factor.row_count);
    double local_us = r->us[SUP_SOLVER_LOCAL] / r->iterations;
    double solve_us =
        (r->us[SUP_SOLVER_GRADIENT] + r->us[SUP_SOLVER_SEPARATOR] + r->us[SUP_SOLVER_BACKWARD]) / r->iterations;
    printf("  an iteration: local %.2f MB, %.1f Mflop in %.0f us (%.1f GB/s, %.0f Gflop/s, %.2f ns/tet); "
           "solve %.2f MB in %.0f us (%.1f GB/s)\n",
           local_bytes / 1e6, flops / 1e6, local_us, local_bytes / local_us / 1e3, flops / local_us / 1e3,
           local_us * 1e3 / tets, solve_bytes / 1e6, solve_us, solve_bytes / solve_us / 1e3);
}

/* --- Contacts --- */

/* Contacts between opposite vertices of the skin, whose distance must grow by `push` of the size. */
static int32_t facing_rows(const body *b, double reach, double push, sup_contact *rows)
{
    const sup_tissue *t = &b->tissue;
    double *normal = grab((size_t)t->skin_count * 24), size = (double)b->system.size;
    int32_t count = 0;
    for (int32_t k = 0; k < t->triangle_count; k++) {
        const int32_t *v = t->triangles + 3 * k;
        sup_vec3d o = sup_tissue_point(t->skin, v[0]);
        sup_vec3d n = sup_v3_cross(sup_v3_sub(sup_tissue_point(t->skin, v[1]), o),
                                   sup_v3_sub(sup_tissue_point(t->skin, v[2]), o));
        for (int32_t c = 0; c < 3; c++) {
            normal[3 * v[c]] += n.x;
            normal[3 * v[c] + 1] += n.y;
            normal[3 * v[c] + 2] += n.z;
        }
    }
    for (int32_t i = 0; i < t->skin_count; i++) {
        sup_vec3d p = sup_tissue_point(t->skin, i), ni = sup_v3_unit_or(sup_tissue_point(normal, i), sup_v3(1, 0, 0));
        double best = reach * size;
        int32_t other = -1;
        for (int32_t j = 0; j < t->skin_count; j++) {
            sup_vec3d d = sup_v3_sub(sup_tissue_point(t->skin, j), p);
            double length = sup_v3_length(d);
            if (length >= best || length < 0.02 * size || sup_v3_dot(d, ni) < 0.7 * length) continue;
            if (sup_v3_dot(ni, sup_v3_unit_or(sup_tissue_point(normal, j), ni)) > -0.6) continue;
            best = length;
            other = j;
        }
        if (other < 0) continue;
        sup_vec3d n = sup_v3_unit_or(sup_tissue_point(normal, other), ni);
        double gap = sup_v3_dot(n, sup_v3_sub(p, sup_tissue_point(t->skin, other)));
        rows[count++] = (sup_contact){.vertex = i,
                                      .corner = {other, -1, -1},
                                      .weight = {1.0f, 0.0f, 0.0f},
                                      .normal = {(float)n.x, (float)n.y, (float)n.z},
                                      .offset = (float)(gap + push * size),
                                      .friction = 0.3f};
    }
    free(normal);
    return count;
}

/* Alternative with contacts: one column of A^-1 per contact, and a dense factor of their number. */
static double low_rank_ms(const body *b, int32_t rows)
{
    float *x = grab((size_t)b->system.unknown_count * 32);
    double best = 1e30;
    for (int32_t repeat = 0; repeat < 5; repeat++) {
        double begin = now_ms();
        for (int32_t k = 0; k < rows; k += 8)
            sup_float_solve8_ordered(&b->system.factor, x);
        best = fmin(best, now_ms() - begin);
    }
    free(x);
    return best;
}

static void bench_contacts(const body *b, const motion *m, sup_context *two)
{
    sup_contact *rows = grab((size_t)b->tissue.skin_count * sizeof *rows);
    int32_t count = facing_rows(b, 0.12, 0.03, rows);
    void *state = grab(sup_solver_state_size(&b->system, count));
    if (count == 0) return;
    for (int32_t threads = 1; threads <= 2; threads++) {
        double *best = grab((size_t)m->frames * 8), sum = 0.0, solves = 0.0, active = 0.0, rejected = 0.0;
        for (int32_t repeat = 0; repeat < 6; repeat++) {
            sup_solver_reset(NULL, &b->system, state, count, NULL, NULL, 0);
            for (int32_t f = 1; f < m->frames; f++) {
                sup_solver_input input = {
                    .anchors = m->anchors[f], .bones = m->bones[f], .contacts = rows, .contact_count = count};
                sup_solver_report report;
                double begin = now_ms();
                sup_solver_step(threads == 2 ? two : NULL, &b->system, state, &input, &report);
                double ms = now_ms() - begin;
                best[f] = repeat == 0 ? ms : fmin(best[f], ms);
                solves += report.contact_solves / 6.0 / m->frames;
                active += report.contacts / 6.0 / m->frames;
                rejected += report.rejected / 6.0 / m->frames;
            }
        }
        for (int32_t f = 1; f < m->frames; f++)
            sum += best[f] / (m->frames - 1);
        printf("  %d contacts (%.0f push), %d thread%s %7.3f ms, %.1f solves, %.2f taken back; low rank: %.2f ms of "
               "solves before a dense factor\n",
               (int)count, active, (int)threads, threads == 1 ? " " : "s", sum, solves, rejected,
               low_rank_ms(b, count));
        free(best);
    }
    free(state), free(rows);
}

static void bench_body(const char *name, body *b, double volume, int32_t every, int32_t repeats)
{
    sup_error error = {0};
    sup_system_def def = {.volume = volume};
    double begin = now_ms();
    if (body_bind(b, NULL, &def, &error) != SUP_OK) {
        fprintf(stderr, "%s\n", error.message);
        exit(1);
    }
    double bind_ms = now_ms() - begin;
    def.tissue = &b->tissue;
    def.skeleton = b->skeleton;
    sup_reference *reference = NULL;
    if (sup_reference_create(NULL, &def, &reference, &error) != SUP_OK) exit(1);
    motion m = motion_of(b);
    const sup_system *s = &b->system;
    printf(
        "%s, volume %g: S=%d N=%d T=%d, %d steps, %d of %d batches anchored inside, factor %.0fk in %d subdomains (top "
        "%d of %d "
        "panels), bind %.0f ms, state %.2f MB, model %.2f MB\n",
        name, volume, (int)s->skin_count, (int)s->unknown_count, (int)b->tissue.triangle_count * 3, (int)m.frames - 1,
        (int)s->anchored_batch_count, (int)s->batch_count, (double)s->factor.value_count / 1e3,
        (int)s->subdomains.subdomain_count,
        (int)(s->factor.panel_count - s->subdomains.panel_first[s->subdomains.subdomain_count]),
        (int)s->factor.panel_count, bind_ms, (double)sup_solver_state_size(s, 0) / 1e6,
        (double)sup_model_bytes(b->model).size / 1e6);
    static const struct {
        const char *name;
        sup_solver_input input;
        int32_t threads;
    } ways[] = {{"plain, 10 iterations", {.mode = SUP_SOLVER_PLAIN}, 1},
                {"accelerated", {0}, 1},
                {"accelerated", {0}, 2},
                {"tolerance 1e-6", {.tolerance = 1e-6f}, 1},
                {"tolerance 1e-6", {.tolerance = 1e-6f}, 2},
                {"one rotation a prism", {.shared_rotation = true}, 1},
                {"one rotation a prism", {.shared_rotation = true}, 2}};
    sup_thread_pool *pool = NULL;
    if (sup_thread_pool_create(2, &pool, &error) != SUP_OK) exit(1);
    sup_context two = {.tasks = sup_thread_pool_tasks(pool)};
    int32_t lanes = sup_simd_lanes();
    for (int32_t k = 0; k < SUP_COUNT(ways); k++) {
        quality q = measure_quality(b, &m, reference, ways[k].input, every);
        if (k == 0) {
            printf("  %-22s %7.3f ms\n", "reference, double, 10", q.reference_ms);
            printf("  %-22s thr %10s %8s %5s %5s | us: start volume local gradient top backward contact mix\n", "",
                   "ms", "ratio", "iter", "back");
        }
        result r = run_motion(b, &m, ways[k].threads == 2 ? &two : NULL, ways[k].input, lanes, repeats);
        print_row(ways[k].name, ways[k].threads, &r, &q);
        if (k == 1) {
            print_floor(b, &r);
            for (int32_t l = lanes / 2; l >= 4; l /= 2) {
                result narrow = run_motion(b, &m, NULL, ways[k].input, l, repeats);
                printf("  %d lanes: %.3f ms\n", (int)l, narrow.ms);
            }
        }
    }
    bench_contacts(b, &m, &two);
    sup_thread_pool_destroy(pool);
    motion_free(&m);
    sup_reference_destroy(reference);
}

/* --- Growth --- */

static void bench_growth(void)
{
    static const int32_t sizes[5][2] = {{50, 20}, {86, 35}, {157, 64}, {273, 110}, {500, 200}};
    double first = 0.0, last = 0.0, smallest = 0.0, largest = 0.0;
    for (int32_t k = 0; k < 5; k++) {
        body b = body_tube(sizes[k][0], sizes[k][1], 1.0);
        sup_system_def def = {0};
        sup_error error = {0};
        double begin = now_ms();
        if (body_bind(&b, NULL, &def, &error) != SUP_OK) exit(1);
        double bind_ms = now_ms() - begin;
        motion m = motion_of(&b);
        for (; m.frames > 40; m.frames--)
            free(m.anchors[m.frames - 1]), free(m.bones[m.frames - 1]);
        sup_solver_input input = {.iterations = 5};
        result r = run_motion(&b, &m, NULL, input, sup_simd_lanes(), k < 3 ? 6 : 3);
        largest = b.tissue.skin_count;
        last = r.ms;
        if (k == 0) {
            first = r.ms;
            smallest = largest;
        }
        printf("  %7d vertices %8d tets: %8.3f ms (5 iterations), %.2f us a vertex, factor %.0f a vertex, bind %.0f "
               "ms; us:",
               (int)b.tissue.skin_count, (int)b.tissue.triangle_count * 3, r.ms, r.ms * 1e3 / b.tissue.skin_count,
               (double)b.system.factor.value_count / b.tissue.skin_count, bind_ms);
        for (int32_t i = 0; i < SUP_SOLVER_STAGE_COUNT; i++)
            printf(" %.0f", r.us[i]);
        printf("\n");
        motion_free(&m);
        body_free(&b);
    }
    printf("  exponent %.3f\n", log(last / first) / log(largest / smallest));
}

static const char *asset(const char *name, char path[512])
{
    const char *folder = getenv("SUPPLE_ASSETS");
    snprintf(path, 512, "%s/fps/%s", folder != NULL ? folder : "../shared/assets", name);
    return path;
}

static void bench_asset(const char *name, const char *mesh, const char *skeleton, const char *clip, int32_t every,
                        int32_t repeats)
{
    char paths[3][512];
    FILE *there = fopen(asset(mesh, paths[0]), "rb");
    if (there == NULL) {
        printf("%s: %s is not there\n", name, paths[0]);
        return;
    }
    fclose(there);
    body b = body_load(paths[0], asset(skeleton, paths[1]), asset(clip, paths[2]));
    bench_body(name, &b, 0.0, every, repeats);
    bench_body(name, &b, DEFAULT_VOLUME, every, repeats);
    body_free(&b);
}

int main(int argc, char **argv)
{
    static const char *const all[] = {"male", "cylinder", "tbone", "growth"};
    for (int32_t k = 0; k < SUP_COUNT(all); k++) {
        bool wanted = argc < 2;
        for (int32_t i = 1; i < argc; i++)
            wanted = wanted || strcmp(argv[i], all[k]) == 0;
        if (!wanted) continue;
        if (k == 0) bench_asset("male", "male/male_LR20.off", "male/male.skel", "male/male0.anim", 4, 10);
        if (k == 1)
            bench_asset("cylinder", "cylinder/cylinder.off", "cylinder/cylinder.skel", "cylinder/cylinder0.anim", 1,
                        20);
        if (k == 2) bench_asset("tbone", "tbone/tbone.off", "tbone/tbone.skel", "tbone/tbone1.anim", 3, 10);
        if (k == 3) bench_growth();
    }
    return 0;
}

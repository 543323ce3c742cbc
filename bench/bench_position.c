/* bench_position.c - steps of position based skinning: time against the scalar reference, threads, bytes, long shaking.
 *
 *     bench_position [solver] [contact] [shake STEPS]
 *
 * Times are the mean over the steps of a bending and swinging bar, of the best of several repetitions of each step; the
 * reference is the same arithmetic in double, one constraint after another, in the same run. */
#include "methods/position/pbd_reference.h"
#include "methods/position/position.h"
#include "position/block.h"

#include "base/simd.h"
#include "supple/deform.h"
#include "supple/scenes.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { STEPS = 60 };

static double now_ms(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e3 + (double)t.tv_nsec * 1e-6;
}

static sup_affine swing(double t)
{
    return sup_affine_from_trs(sup_v3(0.1 * sin(5.0 * t), 0.05 * sin(7.0 * t), 0.0),
                               sup_quatd_from_axis_angle(sup_v3(0, 1, 0), 0.3 * sin(3.0 * t)), sup_v3(1, 1, 1));
}

static double time_steps(block *b, const sup_context *context, int32_t lanes, int32_t repeats)
{
    double best[STEPS], sum = 0.0;
    sup_context resolved = sup_context_resolve(context);
    for (int32_t i = 0; i < STEPS; i++)
        best[i] = 1e30;
    for (int32_t r = 0; r < repeats; r++) {
        block_pose(b, 0.0, sup_affine_identity());
        block_reset(b);
        for (int32_t i = 0; i < STEPS; i++) {
            block_pose(b, 1.5 * i / STEPS, swing(0.01 * i));
            double begin = now_ms();
            sup_pbd_step_lanes(&resolved, &b->pbd, b->state, &b->input, lanes);
            best[i] = fmin(best[i], now_ms() - begin);
        }
    }
    for (int32_t i = 0; i < STEPS; i++)
        sum += best[i] / STEPS;
    return sum;
}

static double time_reference(block *b)
{
    sup_pbd_reference *reference;
    sup_pbd_regions regions = sup_pbd_regions_of(&b->pbd, b->state);
    double *rows = calloc((size_t)b->pbd.row_count * 4, sizeof(double)), best = 1e30;
    block_pose(b, 0.0, sup_affine_identity());
    for (int32_t i = 0; i < 4 * b->pbd.row_count; i++)
        rows[i] = (double)b->guide[i];
    if (sup_pbd_reference_create(&b->pbd, rows, &regions, &reference, NULL) != SUP_OK) exit(1);
    for (int32_t i = 0; i < 8; i++) {
        block_pose(b, 1.5 * i / STEPS, swing(0.01 * i));
        double begin = now_ms();
        sup_pbd_reference_step(reference, &b->input);
        best = fmin(best, now_ms() - begin);
    }
    sup_pbd_reference_destroy(reference);
    free(rows);
    return best;
}

/* Bytes that an iteration reads and writes, and its floating point operations. */
static void count_work(const sup_pbd *s, double *bytes, double *flops)
{
    double tets = s->volume_batches * 16.0, edges = s->stretch_batches * 16.0, rows = s->row_count;
    *bytes = tets * (16 + 4 + 4 * 4 + 4 * 32) + edges * (8 + 4 + 3 * 4 + 2 * 32) + rows * (16 * 3 + 12);
    *flops = tets * 104.0 + edges * 31.0 + rows * 25.0;
}

static void bench_solver(void)
{
    static const block_def bodies[] = {{.nx = 28, .ny = 5, .nz = 6, .core = true},  /* 5040 tets */
                                       {.nx = 36, .ny = 7, .nz = 7, .core = true},  /* 10584 */
                                       {.nx = 48, .ny = 7, .nz = 7, .core = true}}; /* 14112 */
    sup_thread_pool *pool;
    if (sup_thread_pool_create(2, &pool, NULL) != SUP_OK) exit(1);
    sup_context two = {.tasks = sup_thread_pool_tasks(pool)};
    printf("%8s %8s %8s %7s %6s | %8s %8s %8s %8s | %7s %7s %7s | %8s %8s\n", "tets", "edges", "pieces", "filled",
           "mode", "1 thread", "2", "sse2", "scalar", "scalar/", "1/2", "ns/tet", "MB/iter", "GFlop/s");
    for (size_t i = 0; i < sizeof bodies / sizeof bodies[0]; i++)
        for (int raw = 0; raw < 2; raw++) {
            block b = block_make(&bodies[i]);
            double bytes, flops;
            if (raw) {
                b.input.settings = (sup_pbd_settings){
                    .raw = true, .seconds = 0.01f, .stretch = 0.9, .volume = 1.0, .bind = 0.5, .follow = 1.0};
            }
            count_work(&b.pbd, &bytes, &flops);
            double wide = time_steps(&b, NULL, sup_simd_lanes(), 12), pair = time_steps(&b, &two, sup_simd_lanes(), 12);
            double sse2 = time_steps(&b, NULL, 4, 4), scalar = time_reference(&b);
            double filled =
                (double)(b.pbd.tet_count + b.pbd.edge_count) / (16.0 * (b.pbd.volume_batches + b.pbd.stretch_batches));
            printf("%8d %8d %2d+%-2d+%-2d %6.1f%% %6s | %8.3f %8.3f %8.3f %8.3f | %7.1f %7.2f %7.2f | %8.2f %8.1f\n",
                   b.pbd.tet_count, b.pbd.edge_count, b.pbd.level_first[1], b.pbd.level_first[2] - b.pbd.level_first[1],
                   b.pbd.piece_count - b.pbd.level_first[2], 100.0 * filled, raw ? "raw" : "Pa", wide, pair, sse2,
                   scalar, scalar / wide, wide / pair, wide * 1e6 / (12.0 * b.pbd.tet_count), bytes * 1e-6,
                   flops * 12.0 / (wide * 1e6));
            block_free(&b);
        }
    sup_thread_pool_destroy(pool);
}

/* Milliseconds of a frame of the walk, best of three each. */
static double time_walk(const sup_character *character, const sup_model *model, const sup_clip *clip, int contact)
{
    enum { FRAMES = 40, ROUNDS = 4 }; /* even: cells are made anew every second step, the same ones each round */
    static double best[FRAMES];
    sup_instance *instance;
    sup_pose *pose;
    float *positions = calloc((size_t)sup_model_vertex_count(model) * 3, sizeof(float));
    double sum = 0.0;
    if (positions == NULL || sup_instance_create(NULL, model, NULL, &instance, NULL) != SUP_OK ||
        sup_pose_create(NULL, character, &pose, NULL) != SUP_OK ||
        sup_instance_set(instance, "contact", contact, NULL) != SUP_OK)
        exit(1);
    sup_skin_out out = {.positions = positions};
    for (int i = 0; i < FRAMES * ROUNDS; i++) { /* 100 frames a second: one step each */
        sup_pose_sample(character, clip, (double)clip->start + fmod(i * 0.01, (double)(clip->end - clip->start)), pose);
        double begin = now_ms();
        sup_instance_step(instance, pose, 0.01f, &out);
        double took = now_ms() - begin;
        best[i % FRAMES] = i < FRAMES ? took : fmin(best[i % FRAMES], took);
    }
    for (int i = 0; i < FRAMES; i++)
        sum += best[i] / FRAMES;
    sup_instance_destroy(instance);
    sup_pose_destroy(pose);
    free(positions);
    return sum;
}

static void bench_contact(void)
{
    static const char *const names[] = {"human", "elephant"};
    printf("%10s %8s | %8s %8s %8s | %9s %9s\n", "walk", "tets", "off ms", "on", "always", "on adds", "always/on");
    for (int k = 0; k < 2; k++) {
        sup_character *character;
        sup_rig *rig;
        sup_model *model;
        if (sup_scene_create(NULL, names[k], 1.0, &character, NULL) != SUP_OK ||
            sup_rig_create(NULL, character, NULL, &rig, NULL) != SUP_OK ||
            sup_bind(NULL, &sup_method_position, rig, NULL, &model, NULL) != SUP_OK)
            exit(1);
        const sup_clip *clip = &character->clips[0];
        for (int32_t i = 0; i < character->clip_count; i++)
            if (strcmp(character->clips[i].name, "walk") == 0) clip = &character->clips[i];
        double off = time_walk(character, model, clip, 1), on = time_walk(character, model, clip, 0),
               always = time_walk(character, model, clip, 2);
        printf("%10s %8d | %8.3f %8.3f %8.3f | %8.1f%% %9.2f\n", names[k],
               (int)sup_position_params[SUP_POSITION_TETS].fallback, off, on, always, 100.0 * (on / off - 1.0),
               always / on);
        sup_model_destroy(model);
        sup_rig_destroy(rig);
        sup_character_destroy(character);
    }
}

/* Throws the body about as hard as it goes: time steps, poses and whole motion at random. */
static void bench_shake(int64_t steps)
{
    block b = block_make(&(block_def){.nx = 8, .ny = 3, .nz = 3, .core = true});
    sup_random random = {5};
    double largest = 0.0, begin = now_ms();
    int64_t lost = 0;
    for (int64_t i = 0; i < steps; i++) {
        double angle = 2.4 * (sup_random_unit(&random) - 0.2);
        sup_vec3d to =
            sup_v3(0.2 * sup_random_unit(&random), 0.2 * sup_random_unit(&random), 0.2 * sup_random_unit(&random));
        sup_quatd turn = sup_quatd_from_axis_angle(sup_v3(1, 1, 0), sup_random_unit(&random));
        if (i % 64 == 0) b.input.settings.seconds = (float)(0.001 + 0.032 * sup_random_unit(&random));
        block_pose(&b, angle, sup_affine_from_trs(to, turn, sup_v3(1, 1, 1)));
        lost += !block_step(&b, NULL);
        const float *rows = sup_pbd_rows(&b.pbd, b.state);
        for (int32_t k = 0; k < 4 * b.pbd.row_count; k++)
            if (k % 4 != 3) largest = fmax(largest, fabs((double)rows[k]));
    }
    b.input.settings.seconds = 0.01f;
    for (int32_t i = 0; i < 1000; i++) {
        block_pose(&b, 0.0, sup_affine_identity());
        block_step(&b, NULL);
    }
    double off = 0.0, speed = 0.0;
    const float *rows = sup_pbd_rows(&b.pbd, b.state), *before = sup_pbd_before(&b.pbd, b.state);
    for (int32_t k = 0; k < 4 * b.pbd.row_count; k++)
        if (k % 4 != 3) {
            off = fmax(off, fabs((double)rows[k] - (double)b.guide[k]));
            speed = fmax(speed, fabs((double)rows[k] - (double)before[k]));
        }
    printf(
        "%lld steps of shaking: furthest coordinate %.2f sizes, %lld steps out of range, %.1f us a step; ten seconds "
        "later %.1e from rest, moving %.1e a step\n",
        (long long)steps, largest, (long long)lost, (now_ms() - begin) * 1e3 / (double)steps, off, speed);
    block_free(&b);
}

int main(int argc, char **argv)
{
    if (argc < 2 || strcmp(argv[1], "solver") == 0) bench_solver();
    if (argc < 2 || strcmp(argv[1], "contact") == 0) bench_contact();
    if (argc < 2) bench_shake(100000);
    if (argc > 2 && strcmp(argv[1], "shake") == 0) bench_shake(atoll(argv[2]));
    return 0;
}

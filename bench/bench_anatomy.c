/* bench_anatomy - fits a template to all bodies of a folder of shapes and prints statistics.
 *
 *     bench_anatomy fit SHAPES TEMPLATE COMPOSITION [FIRST LAST STEP]   one line per body, then the totals
 *     bench_anatomy layers ...                                          the same without organs
 *     bench_anatomy warp TEMPLATE                                       centres, time and error of the organs' warp
 *
 * Target masses are those that the composition predicts from each shape. Runs on two threads. */
#include "anatomy/warp.h"
#include "anatomy/layers.h"
#include "anatomy/masses.h"
#include "supple/anatomy.h"
#include "supple/load.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static void must(sup_result result, const sup_error *error)
{
    if (result == SUP_OK) return;
    printf("%s: %s\n", error->id, error->message);
    exit(1);
}

typedef struct totals {
    int bodies, refused, crossings, crossed, inverted, bad, clamped, missed;
    double time, slowest, alignment, worst_alignment, miss;
} totals;

typedef struct bench {
    sup_context context;
    sup_shapes *shapes;
    sup_anatomy *anatomy;
    sup_composition *composition;
    sup_anatomy_warp *warp;
    double *skin, *posed, *joints, *posed_joints, *coordinates;
} bench;

/* Distance of the fat layer from what eq. 4.14 and the range allow, as a fraction of it; the limit is 2 %. */
static double mass_miss(const sup_body_masses *m)
{
    double ratio = sup_masses_trade(), excess = (m->fat - m->fat_target) - ratio * (m->muscle - m->muscle_target);
    if (m->clamped) return fmin(fabs(m->fat - m->fat_min), fabs(m->fat - m->fat_max)) / fmax(1.0, m->fat);
    return fabs(excess / (1.0 + ratio * ratio)) / fmax(1.0, m->fat_layer * 0.9);
}

static void fit_one(bench *b, int body, totals *sum)
{
    const sup_shapes *s = b->shapes;
    const sup_composition *c = b->composition;
    sup_error error = {0};
    double fat = 0.0, muscle = 0.0;
    for (size_t i = 0; i < 3 * (size_t)s->vertex_count; i++)
        b->skin[i] = (double)s->positions[3 * (size_t)s->vertex_count * (size_t)body + i];
    for (size_t i = 0; i < 3 * (size_t)s->joint_count; i++)
        b->joints[i] = (double)s->joints[3 * (size_t)s->joint_count * (size_t)body + i];
    must(sup_composition_coordinates(&b->context, c, b->skin, b->coordinates, &error), &error);
    sup_composition_masses(c, b->coordinates, s->persons[body].sex, &fat, &muscle);
    must(sup_skin_like_template(&b->context, b->anatomy, c, b->skin, b->joints, b->posed, b->posed_joints, &error),
         &error);
    sup_joints joints = {c->joint_count, (const char *const *)c->joint_names, c->parents, b->posed_joints};
    sup_body_fit_def def = {.skin = b->posed,
                            .joints = &joints,
                            .sex = s->persons[body].sex,
                            .fat = fat,
                            .muscle = muscle,
                            .warp = b->warp,
                            .no_details = b->warp == NULL};
    sup_body *fitted = NULL;
    double began = now();
    if (sup_body_fit(&b->context, b->anatomy, &def, &fitted, &error) != SUP_OK) {
        printf("%3d refused: %s\n", body, error.message);
        sum->refused++;
        return;
    }
    double time = now() - began, miss = mass_miss(&fitted->masses);
    const sup_body_masses *m = &fitted->masses;
    printf("%3d %s %.2f m  fat %5.1f target %5.1f [%5.1f %5.1f]  muscle %5.1f target %5.1f [%5.1f %5.1f]%s miss %.2f "
           "%%  vat %.1f  crossing %d inverted %d moved %d closed %d  alignment %.3f  %.2f s\n",
           body, s->persons[body].sex == SUP_SEX_MALE ? "m" : "f", fitted->height, m->fat, m->fat_target, m->fat_min,
           m->fat_max, m->muscle, m->muscle_target, m->muscle_min, m->muscle_max, m->clamped ? " clamped" : "",
           100.0 * miss, m->visceral, (int)fitted->crossings, (int)fitted->inverted, (int)fitted->moved,
           (int)fitted->closed, fitted->alignment, time);
    fflush(stdout);
    sum->bodies++;
    sum->crossings += fitted->crossings;
    sum->crossed += fitted->crossings > 0;
    sum->inverted += fitted->inverted;
    sum->bad += fitted->inverted > 0;
    sum->clamped += m->clamped;
    sum->missed += miss > 0.02;
    sum->miss = fmax(sum->miss, miss);
    sum->time += time;
    sum->slowest = fmax(sum->slowest, time);
    sum->alignment += fitted->alignment;
    sum->worst_alignment = fmax(sum->worst_alignment, fitted->alignment);
    sup_body_destroy(fitted);
}

static int bench_fit(bench *b, int argc, char **argv)
{
    sup_error error = {0};
    totals sum = {0};
    must(sup_shapes_load(&b->context, argv[2], &b->shapes, &error), &error);
    must(sup_anatomy_load(&b->context, argv[3], &b->anatomy, &error), &error);
    must(sup_composition_load(&b->context, argv[4], &b->composition, &error), &error);
    size_t n = (size_t)b->shapes->vertex_count, joints = (size_t)b->composition->joint_count;
    b->skin = calloc(3 * n, sizeof(double));
    b->posed = calloc(3 * n, sizeof(double));
    b->joints = calloc(3 * joints, sizeof(double));
    b->posed_joints = calloc(3 * joints, sizeof(double));
    b->coordinates = calloc((size_t)b->composition->mode_count, sizeof(double));
    if (b->skin == NULL || b->posed == NULL || b->joints == NULL || b->posed_joints == NULL || b->coordinates == NULL)
        return 1;
    double began = now();
    if (b->anatomy->organ_count > 0 && strcmp(argv[1], "fit") == 0)
        must(sup_anatomy_warp_create(&b->context, b->anatomy, 0, 0, &b->warp, &error), &error);
    printf("warp created in %.2f s, %d organ vertices\n", now() - began, (int)b->anatomy->detail_vertex_count);
    int first = argc > 5 ? atoi(argv[5]) : 0, last = argc > 6 ? atoi(argv[6]) : b->shapes->body_count;
    int step = argc > 7 ? atoi(argv[7]) : 1;
    for (int body = first; body < last && body<b->shapes->body_count; body += step> 0 ? step : 1)
        fit_one(b, body, &sum);
    int count = sum.bodies > 0 ? sum.bodies : 1;
    printf(
        "%d bodies fitted, %d refused: %d crossings in %d bodies, %d inverted prisms in %d bodies, alignment mean %.3f "
        "worst %.3f, %d clamped, %d beyond 2 %% of the mass (worst %.2f %%), mean %.2f s, slowest %.2f s\n",
        sum.bodies, sum.refused, sum.crossings, sum.crossed, sum.inverted, sum.bad, sum.alignment / count,
        sum.worst_alignment, sum.clamped, sum.missed, 100.0 * sum.miss, sum.time / count, sum.slowest);
    free(b->skin);
    free(b->posed);
    free(b->joints);
    free(b->posed_joints);
    free(b->coordinates);
    sup_anatomy_warp_destroy(b->warp);
    sup_composition_destroy(b->composition);
    sup_anatomy_destroy(b->anatomy);
    sup_shapes_destroy(b->shapes);
    return 0;
}

/* A smooth displacement of the body with some small-scale detail, to test the warp. */
static void bend(const double *from, double *to)
{
    to[0] = from[0] * 1.1 + 0.03 * sin(6.0 * from[1]);
    to[1] = from[1] * 1.05 + 0.01 * sin(15.0 * from[0]);
    to[2] = from[2] * 1.2 + 0.02 * from[1] * from[1] + 0.003 * sin(40.0 * from[1]);
}

static int bench_warp(bench *b, char **argv)
{
    sup_error error = {0};
    must(sup_anatomy_load(&b->context, argv[2], &b->anatomy, &error), &error);
    const sup_anatomy *a = b->anatomy;
    size_t n = (size_t)a->vertex_count, count = 145000;
    int32_t *chosen = calloc(n, sizeof *chosen);
    double *distances = calloc(n, sizeof *distances), *centres = calloc(3 * n, sizeof *centres);
    double *moves = calloc(3 * n, sizeof *moves), *points = calloc(3 * count, sizeof *points);
    if (chosen == NULL || distances == NULL || centres == NULL || moves == NULL || points == NULL) return 1;
    static const int sizes[] = {1500, 2500, 5000, 7000};
    for (int k = 0; k < 4; k++) {
        sup_warp *warp = NULL;
        double began = now();
        int32_t made = sup_warp_sample(a->vertex_count, a->bone, sizes[k], chosen, distances);
        for (int32_t i = 0; i < made; i++) {
            memcpy(centres + 3 * (size_t)i, a->bone + 3 * (size_t)chosen[i], 3 * sizeof(double));
            bend(centres + 3 * (size_t)i, moves + 3 * (size_t)i);
            for (int q = 0; q < 3; q++)
                moves[3 * i + q] -= centres[3 * i + q];
        }
        must(sup_warp_create(&b->context, made, centres, &warp, &error), &error);
        double created = now() - began;
        for (size_t i = 0; i < count; i++)
            for (size_t q = 0; q < 3; q++)
                points[3 * i + q] = 0.5 * (a->bone[3 * (i % n) + q] + a->bone[3 * ((i + i / n) % n) + q]);
        began = now();
        must(sup_warp_set(warp, moves, &error), &error);
        sup_warp_apply(warp, (int32_t)count, points);
        double applied = now() - began, worst = 0.0, mean = 0.0;
        for (size_t i = 0; i < n; i++) {
            double to[3];
            bend(a->bone + 3 * i, to);
            double miss = sup_v3_distance(sup_v3(to[0], to[1], to[2]),
                                          sup_v3(points[3 * i], points[3 * i + 1], points[3 * i + 2]));
            worst = fmax(worst, miss);
            mean += miss / (double)n;
        }
        printf("%5d centres: created in %.2f s, 145,000 vertices in %.3f s, at the surface's vertices mean %.4f mm, "
               "worst %.3f mm\n",
               (int)made, created, applied, 1e3 * mean, 1e3 * worst);
        sup_warp_destroy(warp);
    }
    free(chosen);
    free(distances);
    free(centres);
    free(moves);
    free(points);
    sup_anatomy_destroy(b->anatomy);
    return 0;
}

int main(int argc, char **argv)
{
    bench b = {0};
    sup_thread_pool *pool = NULL;
    sup_error error = {0};
    int status = 1;
    must(sup_thread_pool_create(2, &pool, &error), &error);
    b.context.tasks = sup_thread_pool_tasks(pool);
    if (argc > 4 && (strcmp(argv[1], "fit") == 0 || strcmp(argv[1], "layers") == 0))
        status = bench_fit(&b, argc, argv);
    else if (argc > 2 && strcmp(argv[1], "warp") == 0)
        status = bench_warp(&b, argv);
    else
        printf("bench_anatomy fit|layers SHAPES TEMPLATE COMPOSITION [FIRST LAST STEP] | warp TEMPLATE\n");
    sup_thread_pool_destroy(pool);
    return status;
}

/* bench_pipeline.c - end-to-end times on the built-in human: scene, rig, bake, load. Minimum of several repetitions.
 *
 * Targets: load a 3 MB GLB in 50 ms; bake 300 frames of about 20,000 vertices with linear blend skinning, including the
 * output file, in 2 s. */
#include "supple/supple.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>

enum { REPETITIONS = 5, BAKED_FRAMES = 300, SMALL_FRAMES = 6 };

static double now_ms(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e3 + (double)t.tv_nsec * 1e-6;
}

static void must(sup_result result, const sup_error *error)
{
    if (result == SUP_OK) return;
    fprintf(stderr, "bench_pipeline: %s (%s)\n", error->message, error->where);
    exit(1);
}

static double megabytes(const char *path)
{
    struct stat status;
    return stat(path, &status) == 0 ? (double)status.st_size * 1e-6 : 0.0;
}

typedef struct job {
    sup_context context;
    sup_character *human;
    sup_bake_def def;
    const char *path;
} job;

static void make_scene(job *j, sup_error *error)
{
    sup_character *made = NULL;
    must(sup_scene_create(&j->context, "human", 1.0, &made, error), error);
    sup_character_destroy(made);
}

static void make_rig(job *j, sup_error *error)
{
    sup_rig *rig = NULL;
    must(sup_rig_create(&j->context, j->human, NULL, &rig, error), error);
    sup_rig_destroy(rig);
}

static void bake(job *j, sup_error *error)
{
    must(sup_bake(&j->context, j->human, &j->def, j->path, NULL, error), error);
}

static void load(job *j, sup_error *error)
{
    sup_character *loaded = NULL;
    must(sup_load(&j->context, j->path, NULL, &loaded, error), error);
    sup_character_destroy(loaded);
}

static double best_of(void (*work)(job *, sup_error *), job *j)
{
    double best = 1e30;
    sup_error error = {0};
    for (int i = 0; i < REPETITIONS; i++) {
        double start = now_ms();
        work(j, &error);
        double ms = now_ms() - start;
        best = ms < best ? ms : best;
    }
    return best;
}

int main(void)
{
    job j = {0};
    sup_error error = {0};
    sup_thread_pool *pool = NULL;
    must(sup_thread_pool_create(0, &pool, &error), &error);
    j.context.tasks = sup_thread_pool_tasks(pool);
    must(sup_scene_create(&j.context, "human", 1.0, &j.human, &error), &error);
    const sup_clip *clip = &j.human->clips[0];
    printf("scene:human, %d vertices, %d threads, best of %d\n", (int)j.human->vertex_count,
           (int)j.context.tasks.worker_count, REPETITIONS);
    printf("create the scene              %9.1f ms\n", best_of(make_scene, &j));
    printf("rig                           %9.1f ms\n", best_of(make_rig, &j));
    j.def.method = sup_method_find("linear");
    j.def.fps = (double)BAKED_FRAMES / ((double)clip->end - (double)clip->start);
    j.def.frame_count = BAKED_FRAMES;
    const char *endings[] = {"bench_pipeline.glb", "bench_pipeline.pc2"};
    for (int i = 0; i < 2; i++) {
        j.path = endings[i];
        double ms = best_of(bake, &j);
        printf("bake %d frames to %s   %9.1f ms, %.1f MB%s\n", BAKED_FRAMES, i == 0 ? ".glb" : ".pc2", ms,
               megabytes(j.path), i == 0 ? "; target: 2000 ms" : "");
        remove(j.path);
    }
    j.path = "bench_pipeline_small.glb";
    j.def.frame_count = SMALL_FRAMES;
    bake(&j, &error);
    double size = megabytes(j.path), ms = best_of(load, &j);
    printf("load a .glb of %.1f MB         %9.2f ms; target: 50 ms for 3 MB\n", size, ms);
    remove(j.path);
    sup_character_destroy(j.human);
    sup_thread_pool_destroy(pool);
    return 0;
}

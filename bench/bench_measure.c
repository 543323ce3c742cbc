/* bench_measure.c - times of the quality metrics: crossing triangle pairs versus brute force in the same run, and all
 * metrics of a frame.
 *
 *     bench_measure [SCENE, default human] [RESOLUTION, default 0.5: about 20,000 triangles] */
#include "geometry/predicates.h"
#include "measure/measurer.h"
#include "supple/supple.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static double now_ms(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e3 + (double)t.tv_nsec * 1e-6;
}

static void stop(const char *what)
{
    fprintf(stderr, "bench_measure: %s failed\n", what);
    exit(1);
}

/* Tests every pair of triangles, with a bounding box test first. */
static int32_t brute_force(const sup_rig *rig, const float *positions)
{
    int32_t crossing = 0;
    for (int32_t a = 0; a < rig->skin_triangle_count; a++)
        for (int32_t b = a + 1; b < rig->skin_triangle_count; b++) {
            const int32_t *ta = rig->skin_triangles + 3 * (size_t)a, *tb = rig->skin_triangles + 3 * (size_t)b;
            const float *p[3], *q[3];
            bool shared = false, disjoint = false;
            for (int i = 0; i < 3; i++) {
                p[i] = positions + 3 * (size_t)ta[i];
                q[i] = positions + 3 * (size_t)tb[i];
            }
            for (int k = 0; k < 3 && !disjoint; k++)
                disjoint = fminf(fminf(p[0][k], p[1][k]), p[2][k]) > fmaxf(fmaxf(q[0][k], q[1][k]), q[2][k]) ||
                           fminf(fminf(q[0][k], q[1][k]), q[2][k]) > fmaxf(fmaxf(p[0][k], p[1][k]), p[2][k]);
            if (disjoint) continue;
            for (int i = 0; i < 9; i++)
                shared = shared || ta[i / 3] == tb[i % 3];
            crossing += !shared && sup_triangles_meet(p, q) ? 1 : 0;
        }
    return crossing;
}

static void pose_skin(const sup_character *character, const sup_rig *rig, double fraction, float *skin)
{
    sup_pose *pose = NULL;
    sup_error error;
    const sup_clip *clip = &character->clips[0];
    double *positions = calloc(3 * (size_t)rig->vertex_count, sizeof *positions);
    if (positions == NULL || sup_pose_create(NULL, character, &pose, &error) != SUP_OK) stop("pose");
    sup_pose_sample(character, clip, clip->start + fraction * (clip->end - clip->start), pose);
    if (sup_reference_skin(NULL, rig, pose, false, positions, NULL) != SUP_OK) stop("skinning");
    for (int32_t v = 0; v < rig->skin_vertex_count; v++)
        for (int k = 0; k < 3; k++)
            skin[3 * v + k] = (float)positions[3 * rig->skin_to_vertex[v] + k];
    free(positions);
    sup_pose_destroy(pose);
}

int main(int argc, char **argv)
{
    enum { POSES = 9, REPETITIONS = 5 };
    const char *scene = argc > 1 ? argv[1] : "human";
    sup_character *character = NULL;
    sup_rig *rig = NULL;
    sup_rig_surface *surface = NULL;
    sup_measurer *measurer = NULL;
    sup_error error;
    if (sup_scene_create(NULL, scene, argc > 2 ? atof(argv[2]) : 0.5, &character, &error) != SUP_OK) stop("scene");
    if (sup_rig_create(NULL, character, NULL, &rig, &error) != SUP_OK) stop("rig");
    if (sup_rig_surface_create(NULL, rig, &surface, &error) != SUP_OK) stop("surface");
    double began = now_ms();
    if (sup_measurer_create(NULL, &surface->surface, &measurer, &error) != SUP_OK) stop("measurer");
    double made = now_ms() - began;
    float *skin = calloc(3 * (size_t)rig->skin_vertex_count, sizeof *skin);
    if (skin == NULL) stop("memory");
    printf("%s: %d triangles, one thread; measurer created in %.1f ms\n", scene, rig->skin_triangle_count, made);
    printf("%6s %9s %13s %13s %13s %10s\n", "pose", "pairs", "crossings ms", "all ms", "brute ms", "speedup");
    for (int i = 0; i < POSES; i++) {
        double contact = INFINITY, all = INFINITY;
        sup_frame_measure frame = {0};
        pose_skin(character, rig, (double)i / (POSES - 1), skin);
        for (int repetition = 0; repetition < REPETITIONS; repetition++) {
            began = now_ms();
            if (sup_measurer_frame(measurer, skin, &frame, NULL) != SUP_OK) stop("frame");
            all = fmin(all, now_ms() - began);
            began = now_ms();
            if (sup_measure_contact(measurer, &frame) != SUP_OK) stop("contact");
            contact = fmin(contact, now_ms() - began);
        }
        printf("%6.3f %9d %13.2f %13.2f", (double)i / (POSES - 1), frame.intersections + frame.rest_intersections,
               contact, all);
        if (i % 4 == 0) { /* brute force is slow: only three poses */
            began = now_ms();
            int32_t pairs = brute_force(rig, skin);
            double brute = now_ms() - began;
            printf(" %13.1f %9.0fx", brute, brute / contact);
            if (pairs != frame.intersections + frame.rest_intersections) stop("comparison with brute force");
        }
        printf("\n");
    }
    free(skin);
    sup_measurer_destroy(measurer);
    sup_rig_surface_destroy(surface);
    sup_rig_destroy(rig);
    sup_character_destroy(character);
    return 0;
}

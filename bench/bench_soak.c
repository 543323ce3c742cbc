/* bench_soak.c - an hour of random motion: does the skin stay intact, and does it return to rest?
 *
 *     bench_soak [MINUTES [SEED [CHARACTER]]]
 *
 * Every joint rotates about a random axis at up to 10 rad/s and within its own range, for MINUTES of simulated time
 * (default 1); then the skeleton returns to its rest pose and the skin has ten seconds to come to rest. CHARACTER is
 * scene:NAME or a file; default: scene:human and, if the shared assets exist, the male of Fast Projective Skinning. The
 * exit status is 1 if a number is not finite, a length is more than a hundred times its rest length, or the skin is not
 * back within 0.1 % of the size. */
#include "base/base.h"
#include "math/affine.h"
#include "supple/supple.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static const double FASTEST = 10.0, WIDEST = 1.2; /* rad/s, rad */
static const double STRETCH_LIMIT = 100.0, BACK_LIMIT = 1e-3;
enum { RATE = 60, BACK_SECONDS = 10 };

/* Motion of a joint: an angle that changes at constant speed, reflects at its range, and an axis that changes at the
 * rest pose. */
typedef struct wander {
    sup_vec3d axis;
    double angle, speed;
} wander;

typedef struct soak {
    sup_character *character;
    sup_rig *rig;
    sup_model *model;
    sup_instance *instance;
    sup_pose *pose;
    sup_transform *local; /* [node_count] */
    wander *wanders;      /* [node_count] */
    float *positions;     /* [vertex_count*3] */
    sup_random random;
    double stretch, farthest; /* maximum so far; in sizes */
    bool finite;
} soak;

static double seconds_now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void new_axis(soak *s, wander *w)
{
    w->axis =
        sup_v3(sup_random_unit(&s->random) - 0.5, sup_random_unit(&s->random) - 0.5, sup_random_unit(&s->random) - 0.5);
    w->speed = FASTEST * (2.0 * sup_random_unit(&s->random) - 1.0);
}

/* The next pose: joints at their rest positions, rotated. The root stays fixed. */
static sup_result wander_on(soak *s, double dt)
{
    for (int32_t n = 0; n < s->character->node_count; n++) {
        const sup_node *node = &s->character->nodes[n];
        wander *w = &s->wanders[n];
        s->local[n] = node->rest;
        if (!node->is_joint || node->parent < 0) continue;
        if (w->speed == 0.0) new_axis(s, w);
        double previous = w->angle;
        w->angle += w->speed * dt;
        if (fabs(w->angle) > WIDEST) w->speed = -w->speed;
        if (previous * w->angle < 0.0) new_axis(s, w); /* through the rest pose: another axis, without a jump */
        sup_quatd rotated =
            sup_quatd_multiply(sup_quatd_from_float(node->rest.rotation), sup_quatd_from_axis_angle(w->axis, w->angle));
        s->local[n].rotation = sup_quatd_to_float(rotated);
    }
    return sup_pose_from_local(s->character, s->local, s->pose);
}

static void inspect_frame(soak *s)
{
    const sup_rig *rig = s->rig;
    for (int64_t i = 0; i < 3 * (int64_t)rig->vertex_count; i++)
        if (!isfinite(s->positions[i])) s->finite = false;
    for (int32_t i = 0; s->finite && i < 3 * rig->skin_triangle_count; i++) {
        size_t v = (size_t)rig->skin_to_vertex[rig->skin_triangles[i]],
               w = (size_t)rig->skin_to_vertex[rig->skin_triangles[i % 3 == 2 ? i - 2 : i + 1]];
        double rest = sup_v3_distance(sup_v3_load(rig->positions + 3 * v), sup_v3_load(rig->positions + 3 * w));
        double now = sup_v3_distance(sup_v3_load(s->positions + 3 * v), sup_v3_load(s->positions + 3 * w));
        /* Limits the effect of tiny edges: at least a thousandth of the size. */
        s->stretch = fmax(s->stretch, now / fmax(rest, 1e-3 * (double)rig->size));
    }
}

static sup_result open_soak(const sup_context *context, const char *input, soak *s, sup_error *error)
{
    sup_result result = strncmp(input, "scene:", 6) == 0
                            ? sup_scene_create(context, input + 6, 1.0, &s->character, error)
                            : sup_load(context, input, NULL, &s->character, error);
    if (result == SUP_OK) result = sup_rig_create(context, s->character, NULL, &s->rig, error);
    if (result == SUP_OK) result = sup_bind(context, sup_method_find("projective"), s->rig, NULL, &s->model, error);
    if (result == SUP_OK) result = sup_instance_create(context, s->model, NULL, &s->instance, error);
    if (result == SUP_OK) result = sup_pose_create(context, s->character, &s->pose, error);
    if (result != SUP_OK) return result;
    s->local = calloc((size_t)s->character->node_count, sizeof *s->local);
    s->wanders = calloc((size_t)s->character->node_count, sizeof *s->wanders);
    s->positions = calloc((size_t)s->character->vertex_count, 3 * sizeof(float));
    s->finite = true;
    return s->local != NULL && s->wanders != NULL && s->positions != NULL ? SUP_OK : SUP_ERROR_MEMORY;
}

static void close_soak(soak *s)
{
    sup_instance_destroy(s->instance);
    sup_pose_destroy(s->pose);
    sup_model_destroy(s->model);
    sup_rig_destroy(s->rig);
    sup_character_destroy(s->character);
    free(s->local);
    free(s->wanders);
    free(s->positions);
}

/* Returns to rest within a second, then nine more; returns the distance of the skin from its initial positions, in
 * sizes. */
static double come_back(soak *s, const float *start, sup_result *result)
{
    sup_skin_out out = {.positions = s->positions};
    for (int i = 1; *result == SUP_OK && i <= BACK_SECONDS * RATE; i++) {
        for (int32_t n = 0; n < s->character->node_count; n++) {
            const sup_node *node = &s->character->nodes[n];
            double angle = fmax(0.0, 1.0 - (double)i / RATE) * s->wanders[n].angle;
            s->local[n] = node->rest;
            if (node->is_joint && node->parent >= 0)
                s->local[n].rotation = sup_quatd_to_float(sup_quatd_multiply(
                    sup_quatd_from_float(node->rest.rotation), sup_quatd_from_axis_angle(s->wanders[n].axis, angle)));
        }
        *result = sup_pose_from_local(s->character, s->local, s->pose);
        if (*result == SUP_OK) *result = sup_instance_step(s->instance, s->pose, 1.0f / RATE, &out);
        inspect_frame(s);
    }
    double farthest = 0.0;
    for (int32_t v = 0; v < s->character->vertex_count; v++)
        farthest = fmax(farthest,
                        sup_v3_distance(sup_v3_load(s->positions + 3 * (size_t)v), sup_v3_load(start + 3 * (size_t)v)));
    return farthest / (double)s->rig->size;
}

static bool run(const sup_context *context, const char *input, double minutes, uint64_t seed)
{
    soak s = {.random = {seed}};
    sup_error error = {0};
    sup_result result = open_soak(context, input, &s, &error);
    if (result != SUP_OK) {
        printf("%-28s %s\n", input, error.id[0] != '\0' ? error.message : sup_result_name(result));
        close_soak(&s);
        return false;
    }
    int64_t frames = (int64_t)(minutes * 60.0 * RATE + 0.5);
    sup_skin_out out = {.positions = s.positions};
    float *start = malloc((size_t)s.character->vertex_count * 3 * sizeof(float));
    double began = seconds_now(), back = NAN;
    result = sup_pose_rest(s.character, s.pose);
    if (result == SUP_OK) result = sup_instance_reset(s.instance, s.pose);
    if (result == SUP_OK) result = sup_instance_step(s.instance, s.pose, 0.0f, &out);
    if (start == NULL) result = SUP_ERROR_MEMORY;
    if (result == SUP_OK) memcpy(start, s.positions, (size_t)s.character->vertex_count * 3 * sizeof(float));
    for (int64_t f = 0; result == SUP_OK && s.finite && f < frames; f++) {
        result = wander_on(&s, 1.0 / RATE);
        if (result == SUP_OK) result = sup_instance_step(s.instance, s.pose, 1.0f / RATE, &out);
        if (f % 4 == 0) inspect_frame(&s);
    }
    if (result == SUP_OK && s.finite) back = come_back(&s, start, &result);
    bool good = result == SUP_OK && s.finite && s.stretch < STRETCH_LIMIT && back <= BACK_LIMIT;
    printf("%-28s %6.2f min  seed %-6llu %s  longest edge %6.2f times its rest  back within %.6f of the size  (%.0f s) "
           " %s\n",
           input, minutes, (unsigned long long)seed, s.finite ? "finite" : "NOT FINITE", s.stretch, back,
           seconds_now() - began,
           good               ? "good"
           : result != SUP_OK ? sup_result_name(result)
                              : "BAD");
    fflush(stdout);
    free(start);
    close_soak(&s);
    return good;
}

int main(int argc, char **argv)
{
    double minutes = argc > 1 ? atof(argv[1]) : 1.0;
    uint64_t seed = argc > 2 ? strtoull(argv[2], NULL, 10) : 1;
    const char *folder = getenv("SUPPLE_ASSETS");
    char male[1024];
    sup_thread_pool *pool = NULL;
    if (sup_thread_pool_create(0, &pool, NULL) != SUP_OK) return 2;
    sup_context context = {.tasks = sup_thread_pool_tasks(pool)};
    bool good = true;
    if (argc > 3)
        good = run(&context, argv[3], minutes, seed);
    else {
        snprintf(male, sizeof male, "%s/fps/male/male.ini", folder != NULL ? folder : "../shared/assets");
        good = run(&context, "scene:human", minutes, seed);
        FILE *there = fopen(male, "rb");
        if (there != NULL) {
            fclose(there);
            good = run(&context, male, minutes, seed) && good;
        } else
            printf("%-28s not found: skipped\n", male);
    }
    sup_thread_pool_destroy(pool);
    return good ? 0 : 1;
}

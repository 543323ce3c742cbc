/* check_quality.c - volume loss of bent joints and self-intersections of the skin, as table rows for the manual.
 *
 *     check_quality bends
 *     check_quality crossings [INPUT CLIP]...
 *     check_quality rest [INPUT CLIP]...
 *
 * bends: elbow and knee of the built-in characters: volume of the skin around the joint relative to rest (`bend_volume`
 * of docs/measures.md) in the frame whose angle between the two bones is nearest 120 degrees, and the minimum over
 * every fourth frame of the motion, at 60 frames a second.
 * crossings: crossing pairs of triangles, summed over all frames of a clip at 30 frames a second, without and with
 * contact; INPUT is a file, or scene:NAME. Default: all motions of scene:human.
 * rest: the skeleton stops in the middle of a clip for two seconds: time until no render vertex moves by 1e-5 of the
 * size in a frame, at 60 frames a second, and the largest displacement in a frame of the second second; then, after the
 * whole clip and three seconds in the rest pose, the distance of the skin from its initial position. */
#include "supple/supple.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct variant {
    const char *title, *method, *param, *value; /* param NULL: defaults */
} variant;

static const variant variants[] = {{"linear", "linear", NULL, NULL},
                                   {"dualquat", "dualquat", NULL, NULL},
                                   {"projective", "projective", NULL, NULL},
                                   {"contact=off", "projective", "contact", "off"},
                                   {"volume=0", "projective", "volume", "0"}};
enum { VARIANTS = sizeof variants / sizeof variants[0], PARAM_LIMIT = 64, CONTACT_ON = 2, CONTACT_OFF = 3 };
enum { EVERY = 4 };               /* frames of a bend that are measured, for its minimum volume */
enum { REST_RATE = 60 };          /* frames a second of the rest check */
static const double STILL = 1e-5; /* of the size: skin that moves less in a frame is at rest */

typedef struct player {
    sup_context context;
    sup_character *character;
    sup_rig *rig;
    sup_rig_surface *surface;
    sup_measurer *measurer;
    sup_pose *pose;
    float *positions, *skin;
    double *volumes; /* [regions] of the last frame */
} player;

static void must(sup_result result, const sup_error *error)
{
    if (result == SUP_OK) return;
    fprintf(stderr, "check_quality: %s (%s)\n", error->message, error->where);
    exit(1);
}

static player open_player(const sup_context *context, const char *input)
{
    player p = {.context = *context};
    sup_error error = {0};
    if (strncmp(input, "scene:", 6) == 0)
        must(sup_scene_create(context, input + 6, 1.0, &p.character, &error), &error);
    else
        must(sup_load(context, input, NULL, &p.character, &error), &error);
    must(sup_rig_create(context, p.character, NULL, &p.rig, &error), &error);
    must(sup_rig_surface_create(context, p.rig, &p.surface, &error), &error);
    must(sup_measurer_create(context, &p.surface->surface, &p.measurer, &error), &error);
    must(sup_pose_create(context, p.character, &p.pose, &error), &error);
    p.positions = calloc((size_t)p.rig->vertex_count * 3, sizeof(float));
    p.skin = calloc((size_t)p.surface->surface.vertex_count * 3, sizeof(float));
    p.volumes = calloc((size_t)p.surface->surface.region_count + 1, sizeof(double));
    if (p.positions == NULL || p.skin == NULL || p.volumes == NULL) exit(1);
    return p;
}

static void close_player(player *p)
{
    free(p->volumes);
    free(p->skin);
    free(p->positions);
    sup_pose_destroy(p->pose);
    sup_measurer_destroy(p->measurer);
    sup_rig_surface_destroy(p->surface);
    sup_rig_destroy(p->rig);
    sup_character_destroy(p->character);
}

static sup_instance *start(const player *p, const variant *w, sup_model **model)
{
    const sup_method *method = sup_method_find(w->method);
    double values[PARAM_LIMIT];
    sup_bind_def def = {.values = values};
    sup_instance *instance = NULL;
    sup_error error = {0};
    if (method == NULL || method->param_count > PARAM_LIMIT) exit(1);
    sup_method_defaults(method, values);
    if (w->param != NULL) must(sup_method_set(method, values, w->param, w->value, &error), &error);
    must(sup_bind(&p->context, method, p->rig, &def, model, &error), &error);
    must(sup_instance_create(&p->context, *model, NULL, &instance, &error), &error);
    return instance;
}

/* Plays frame f. */
static void play(player *p, sup_instance *instance, const sup_clip *clip, double fps, int32_t f)
{
    sup_skin_out out = {.positions = p->positions};
    sup_error error = {0};
    must(sup_pose_sample(p->character, clip, sup_clip_frame_time(clip, fps, f), p->pose), &error);
    if (f == 0) must(sup_instance_reset(instance, p->pose), &error);
    must(sup_instance_step(instance, p->pose, f == 0 ? 0.0f : (float)(1.0 / fps), &out), &error);
}

/* Measures the current frame. */
static sup_frame_measure measure_frame(player *p)
{
    sup_frame_measure measure = {0};
    sup_error error = {0};
    sup_rig_surface_gather(p->rig, p->positions, p->skin);
    must(sup_measurer_frame(p->measurer, p->skin, &measure, p->volumes), &error);
    return measure;
}

/* --- Bends --- */

typedef struct bend {
    const char *name, *scene, *clip, *joint;
} bend;

static const bend bends[] = {{"elbow", "scene:arm", "bend", "lower_arm"},
                             {"elbow", "scene:human", "bend", "left_lower_arm"},
                             {"knee", "scene:human", "bend", "left_lower_leg"},
                             {"knee", "scene:human", "squat", "left_lower_leg"}};

static void direction(const sup_mat34 *m, const float *head, const float *tail, double to[3])
{
    for (int r = 0; r < 3; r++) {
        to[r] = 0.0;
        for (int c = 0; c < 3; c++)
            to[r] += (double)m->m[4 * r + c] * ((double)tail[c] - (double)head[c]);
    }
}

static double dot(const double a[3], const double b[3])
{
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
}

/* Degrees between the bone of a joint and that of its parent, 0 if they are aligned. */
static double angle_at(const player *p, int32_t joint)
{
    const sup_rig *rig = p->rig;
    double ways_of[2][3];
    for (int k = 0; k < 2; k++) {
        int32_t j = k == 0 ? joint : rig->joint_parent[joint];
        const float *head = rig->bone_head + 3 * (size_t)j;
        const float *tail = k == 0 ? rig->bone_tail + 3 * (size_t)j : rig->bone_head + 3 * (size_t)joint;
        sup_mat34 skin = sup_mat34_multiply(p->pose->world[rig->joint_node[j]], rig->joint_inverse_bind[j]);
        direction(&skin, head, tail, ways_of[k]);
    }
    double length = sqrt(dot(ways_of[0], ways_of[0]) * dot(ways_of[1], ways_of[1]));
    return acos(fmin(fmax(dot(ways_of[0], ways_of[1]) / length, -1.0), 1.0)) * 57.29577951308232;
}

static void check_bend(const sup_context *context, const bend *b)
{
    const double fps = 60.0, wanted = 120.0;
    player p = open_player(context, b->scene);
    int32_t joint = sup_rig_find_joint(p.rig, b->joint), clip_index = sup_character_find_clip(p.character, b->clip);
    if (joint < 0 || clip_index < 0 || p.rig->joint_parent[joint] < 0) exit(1);
    const sup_clip *clip = &p.character->clips[clip_index];
    int32_t at = 0, frames = sup_clip_frame_count(clip, fps);
    double nearest = INFINITY, widest = 0.0;
    for (int32_t f = 0; f < frames; f++) {
        if (sup_pose_sample(p.character, clip, sup_clip_frame_time(clip, fps, f), p.pose) != SUP_OK) exit(1);
        double angle = angle_at(&p, joint);
        widest = fmax(widest, angle);
        if (fabs(angle - wanted) >= fabs(nearest - wanted)) continue;
        nearest = angle;
        at = f;
    }
    printf("| %s, `%s` %s, %d, %.1f; widest %.1f |", b->name, b->scene, b->clip, (int)at, nearest, widest);
    for (int w = 0; w < VARIANTS; w++) {
        sup_model *model = NULL;
        sup_instance *instance = start(&p, &variants[w], &model);
        double here = 1.0, smallest = INFINITY;
        for (int32_t f = 0; f < frames; f++) {
            play(&p, instance, clip, fps, f);
            if (f != at && f % EVERY != 0) continue;
            measure_frame(&p);
            double volume = p.volumes[2 * joint + 1];
            if (f == at) here = volume;
            smallest = fmin(smallest, volume);
        }
        printf(" %.3f, %.3f |", here, smallest);
        fflush(stdout);
        sup_instance_destroy(instance);
        sup_model_destroy(model);
    }
    printf("\n");
    close_player(&p);
}

/* --- Crossings --- */

static void check_crossings(player *p, const char *input, const sup_clip *clip)
{
    long long pairs[2] = {0, 0}, apart[2] = {0, 0};
    double stretch[2] = {0.0, 0.0}, fps = 30.0;
    for (int on = 0; on < 2; on++) {
        sup_model *model = NULL;
        sup_instance *instance = start(p, &variants[on != 0 ? CONTACT_ON : CONTACT_OFF], &model);
        for (int32_t f = 0; f < sup_clip_frame_count(clip, fps); f++) {
            play(p, instance, clip, fps, f);
            sup_frame_measure m = measure_frame(p);
            pairs[on] += m.intersections;
            apart[on] += m.intersections - m.close_intersections;
            stretch[on] = fmax(stretch[on], m.stretch_max);
        }
        sup_instance_destroy(instance);
        sup_model_destroy(model);
    }
    printf("| %s %s | %lld, %lld | %.0f %% | %lld, %lld | %.0f %% | %.2f, %.2f |\n", input, clip->name, pairs[0],
           pairs[1], 100.0 - 100.0 * (double)pairs[1] / fmax((double)pairs[0], 1.0), apart[0], apart[1],
           100.0 - 100.0 * (double)apart[1] / fmax((double)apart[0], 1.0), stretch[0], stretch[1]);
    fflush(stdout);
}

/* --- Rest --- */

static double farthest_move(const player *p, const float *from)
{
    double largest = 0.0;
    for (size_t i = 0; i < (size_t)p->rig->vertex_count * 3; i += 3) {
        double d[3];
        for (size_t k = 0; k < 3; k++)
            d[k] = (double)p->positions[i + k] - (double)from[i + k];
        largest = fmax(largest, sqrt(dot(d, d)));
    }
    return largest / (double)p->rig->size;
}

/* Keeps the pose for `frames`. Returns the frame from which on nothing moves farther than STILL; `late` becomes the
 * largest displacement in the last half. */
static int32_t stand(player *p, sup_instance *instance, int32_t frames, double *late)
{
    sup_skin_out out = {.positions = p->positions};
    size_t bytes = (size_t)p->rig->vertex_count * 3 * sizeof(float);
    float *last = malloc(bytes);
    sup_error error = {0};
    int32_t still = 0;
    if (last == NULL) exit(1);
    *late = 0.0;
    for (int32_t i = 1; i <= frames; i++) {
        memcpy(last, p->positions, bytes);
        must(sup_instance_step(instance, p->pose, 1.0f / REST_RATE, &out), &error);
        double moved = farthest_move(p, last);
        if (moved >= STILL) still = i;
        if (2 * i > frames) *late = fmax(*late, moved);
    }
    free(last);
    return still;
}

static void check_rest(player *p, const char *input, const sup_clip *clip)
{
    sup_model *model = NULL;
    sup_instance *instance = start(p, &variants[CONTACT_ON], &model);
    int32_t frames = sup_clip_frame_count(clip, REST_RATE), still = 0;
    double late = 0.0, unused = 0.0;
    float *rest = malloc((size_t)p->rig->vertex_count * 3 * sizeof(float));
    sup_error error = {0};
    if (rest == NULL) exit(1);
    must(sup_pose_rest(p->character, p->pose), &error);
    must(sup_instance_reset(instance, p->pose), &error);
    stand(p, instance, 1, &unused);
    memcpy(rest, p->positions, (size_t)p->rig->vertex_count * 3 * sizeof(float));
    for (int32_t f = 0; f < frames; f++) {
        play(p, instance, clip, REST_RATE, f);
        if (f == frames / 2) still = stand(p, instance, 2 * REST_RATE, &late);
    }
    must(sup_pose_rest(p->character, p->pose), &error);
    stand(p, instance, 3 * REST_RATE, &unused);
    printf("| %s %s | %.2f | %.1e | %.1e |\n", input, clip->name, still / (double)REST_RATE, late,
           farthest_move(p, rest));
    fflush(stdout);
    free(rest);
    sup_instance_destroy(instance);
    sup_model_destroy(model);
}

typedef void check_fn(player *p, const char *input, const sup_clip *clip);

/* Runs `check` for every INPUT CLIP, or for all motions of scene:human. */
static void check_clips(const sup_context *context, int count, char **inputs, check_fn *check)
{
    for (int i = 0; i + 1 < count; i += 2) {
        player p = open_player(context, inputs[i]);
        int32_t clip = sup_character_find_clip(p.character, inputs[i + 1]);
        if (clip >= 0)
            check(&p, inputs[i], &p.character->clips[clip]);
        else
            printf("%s has no clip %s.\n", inputs[i], inputs[i + 1]);
        close_player(&p);
    }
    if (count >= 2) return;
    player p = open_player(context, "scene:human");
    for (int32_t c = 0; c < p.character->clip_count; c++)
        check(&p, "scene:human", &p.character->clips[c]);
    close_player(&p);
}

int main(int argc, char **argv)
{
    sup_thread_pool *pool = NULL;
    sup_error error = {0};
    sup_context context = {0};
    if (argc < 2 ||
        (strcmp(argv[1], "bends") != 0 && strcmp(argv[1], "crossings") != 0 && strcmp(argv[1], "rest") != 0)) {
        fprintf(stderr,
                "check_quality bends | check_quality crossings [INPUT CLIP]... | check_quality rest [INPUT CLIP]...\n");
        return 1;
    }
    must(sup_thread_pool_create(0, &pool, &error), &error);
    context.tasks = sup_thread_pool_tasks(pool);
    if (strcmp(argv[1], "bends") == 0) {
        printf("volume at 120 degrees, minimum of the motion\n| joint, motion, frame, angle |");
        for (int w = 0; w < VARIANTS; w++)
            printf(" %s |", variants[w].title);
        printf("\n");
        for (size_t i = 0; i < sizeof bends / sizeof bends[0]; i++)
            check_bend(&context, &bends[i]);
    } else if (strcmp(argv[1], "crossings") == 0) {
        printf("| motion | pairs off, on | fewer | apart off, on | fewer | largest stretch off, on |\n");
        check_clips(&context, argc - 2, argv + 2, check_crossings);
    } else {
        printf("| motion | at rest after, s | largest displacement in the second second | distance at rest |\n");
        check_clips(&context, argc - 2, argv + 2, check_rest);
    }
    sup_thread_pool_destroy(pool);
    return 0;
}

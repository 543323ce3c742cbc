/* bench_implicit.c - implicit skinning: table 1 of the paper next to ours, convergence against time, and bends.
 *
 *     bench_implicit [table] [converge] [bend] [vary] [FILE.glb ...]
 *
 * table: a human with all joints, and with one joint, swinging by a given angle per frame; two threads and one.
 * converge: the same pose after a given number of iterations of each solver, as the distance from 3000 iterations of
 * the paper's solver; and processor time on one thread.
 * bend: an elbow from 0 to 150 degrees and back, against dual quaternions.
 * vary: an elbow at 150 degrees with half the sub-steps, and with other weights.
 * FILE.glb: the clips of a character at 30 fps: processor time on one thread, and the difference from a restart. */
#include "methods/implicit/implicit.h"

#include "supple/supple.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static double now_ms(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e3 + (double)t.tv_nsec * 1e-6;
}

/* Processor time of this process: other programs hardly affect it. */
static double processor_ms(void)
{
    return 1e3 * (double)clock() / (double)CLOCKS_PER_SEC;
}

static void must(sup_result result, const sup_error *error)
{
    if (result == SUP_OK) return;
    fprintf(stderr, "bench_implicit: %s\n", error->message);
    exit(1);
}

/* A character with this method; its joints are rotated by the benchmark. */
typedef struct body {
    sup_context context;
    sup_character *character;
    sup_rig *rig;
    sup_model *model;
    sup_pose *pose;
    sup_transform *local; /* [node_count] */
    double values[SUP_IMPLICIT_PARAM_COUNT];
    void *state;
    float *positions, *normals;
    double bind_ms;
    sup_vec3d axis; /* rotation axis of the single joint */
} body;

static sup_step_input input_of(body *b)
{
    return (sup_step_input){
        .context = &b->context, .model = b->model, .values = b->values, .pose = b->pose, .dt = 1.0f / 30.0f};
}

static size_t state_size(const body *b)
{
    sup_layout layout;
    sup_error error = {0};
    must(sup_method_layout(&sup_method_implicit, b->model, &b->context, &layout), &error);
    return layout.size;
}

/* `scene`: a name or a file. */
static void body_open(body *b, const sup_context *context, const char *scene, double resolution,
                      sup_weight_source weights)
{
    sup_error error;
    memset(b, 0, sizeof *b);
    b->context = sup_context_resolve(context);
    must(strchr(scene, '.') == NULL ? sup_scene_create(&b->context, scene, resolution, &b->character, &error)
                                    : sup_load(&b->context, scene, NULL, &b->character, &error),
         &error);
    sup_rig_def rig = sup_default_rig_def();
    rig.weights = weights;
    must(sup_rig_create(&b->context, b->character, &rig, &b->rig, &error), &error);
    double begin = now_ms();
    must(sup_bind(&b->context, &sup_method_implicit, b->rig, NULL, &b->model, &error), &error);
    b->bind_ms = now_ms() - begin;
    must(sup_pose_create(&b->context, b->character, &b->pose, &error), &error);
    sup_method_defaults(&sup_method_implicit, b->values);
    size_t floats = 3 * (size_t)b->character->vertex_count, size = state_size(b);
    b->state = aligned_alloc(64, (size + 63) / 64 * 64);
    b->positions = malloc(floats * sizeof(float));
    b->normals = malloc(floats * sizeof(float));
    b->local = malloc((size_t)b->character->node_count * sizeof *b->local);
    if (b->state == NULL || b->positions == NULL || b->normals == NULL || b->local == NULL) exit(1);
    memset(b->state, 0, size);
    sup_step_input input = input_of(b);
    must(sup_implicit_reset(&input, b->state), &error);
}

static void body_close(body *b)
{
    free(b->state);
    free(b->positions);
    free(b->normals);
    free(b->local);
    sup_pose_destroy(b->pose);
    sup_model_destroy(b->model);
    sup_rig_destroy(b->rig);
    sup_character_destroy(b->character);
}

static sup_affine seen_from_parent(const body *b, int32_t node)
{
    sup_affine back = sup_affine_identity(), world = sup_affine_from_float(b->pose->world[node]);
    int32_t parent = b->character->nodes[node].parent;
    if (parent >= 0) sup_affine_inverse(sup_affine_from_float(b->pose->world[parent]), &back);
    return sup_affine_multiply(back, world);
}

/* The axis that a joint bends about in a clip at a time. */
static void find_axis(body *b, const char *joint, const char *clip, double time)
{
    int32_t index = sup_character_find_clip(b->character, clip), node = -1;
    for (int32_t n = 0; n < b->character->node_count; n++)
        if (strcmp(b->character->nodes[n].name, joint) == 0) node = n;
    if (index < 0 || node < 0) exit(1);
    sup_affine pose[2], back;
    sup_quatd rotation;
    double stretch[9];
    sup_pose_rest(b->character, b->pose);
    pose[0] = seen_from_parent(b, node);
    sup_pose_sample(b->character, &b->character->clips[index], time, b->pose);
    pose[1] = seen_from_parent(b, node);
    sup_affine_inverse(pose[0], &back);
    sup_affine_polar(sup_affine_multiply(back, pose[1]), &rotation, stretch);
    double sign = rotation.w < 0.0 ? -1.0 : 1.0;
    b->axis = sup_v3_unit_or(sup_v3(sign * rotation.x, sign * rotation.y, sign * rotation.z), sup_v3(1, 0, 0));
}

/* Rotates every joint that has a parent, or only the named one, by `angle` about its own axis. */
static void rotate_joints(body *b, const char *only, double angle)
{
    static const double axes[3][3] = {{1, 0, 0}, {0, 0, 1}, {0, 1, 0}};
    for (int32_t n = 0; n < b->character->node_count; n++)
        b->local[n] = b->character->nodes[n].rest;
    for (int32_t j = 0; j < b->rig->joint_count; j++) {
        int32_t n = b->rig->joint_node[j];
        if (b->rig->joint_parent[j] < 0 || (only != NULL && strcmp(b->character->nodes[n].name, only) != 0)) continue;
        const double *a = axes[j % 3];
        sup_quatd rotation = only != NULL
                                 ? sup_quatd_from_axis_angle(b->axis, angle)
                                 : sup_quatd_from_axis_angle(sup_v3(a[0], a[1], a[2]), j % 2 == 0 ? angle : -angle);
        b->local[n].rotation =
            sup_quatd_to_float(sup_quatd_multiply(sup_quatd_from_float(b->local[n].rotation), rotation));
    }
    sup_pose_from_local(b->character, b->local, b->pose);
}

static double step(body *b)
{
    sup_step_input input = input_of(b);
    sup_skin_out out = {.positions = b->positions, .position_stride = 12, .normals = b->normals, .normal_stride = 12};
    double begin = now_ms();
    if (sup_implicit_step(&input, b->state, &out) != SUP_OK) exit(1);
    return now_ms() - begin;
}

/* --- Table 1 --- */

/* Angle of frame i of a swing between 0 and `maximum` by `by` per frame. */
static double swing_angle(int32_t i, double by, double maximum)
{
    double t = fmod((double)i * by, 2.0 * maximum);
    return t <= maximum ? t : 2.0 * maximum - t;
}

static int compare_doubles(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static void bench_row(body *b, const char *what, const char *only, double by)
{
    enum { FRAMES = 40, WARM = 4 };
    double times[FRAMES], maximum = fmax(by, only != NULL ? 1.5 : 0.4), iterations = 0.0, evaluations = 0.0,
                          awake = 0.0;
    int32_t start = only != NULL ? (int32_t)(0.6 / by) : 0, frames = by >= 0.5 ? 12 : FRAMES;
    rotate_joints(b, only, swing_angle(start, by, maximum));
    sup_step_input input = input_of(b);
    if (sup_implicit_reset(&input, b->state) != SUP_OK) exit(1);
    for (int32_t i = 1; i < WARM; i++) {
        rotate_joints(b, only, swing_angle(start + i, by, maximum));
        step(b);
    }
    for (int32_t i = 0; i < frames; i++) {
        rotate_joints(b, only, swing_angle(start + WARM + i, by, maximum));
        times[i] = step(b);
        const sup_implicit_report *r = sup_implicit_report_of(b->state);
        iterations += (double)r->iterations / frames;
        awake += (double)r->awake / frames;
        evaluations += (double)r->evaluations / frames;
    }
    qsort(times, (size_t)frames, sizeof *times, compare_doubles);
    const int32_t *stats = sup_model_array(b->model, "stats", SUP_ARRAY_INT32, 2);
    printf("%-22s %8d %6d %7.3f | %8.2f %8.2f | %7.1f %8.0f %8.1f\n", what, stats[0], b->rig->joint_count, by,
           times[frames / 2], times[frames - 1], iterations, awake, evaluations / stats[0]);
}

static void bench_table(const sup_context *two)
{
    static const double steps[] = {0.5, 0.05, 0.005};
    for (int threads = 2; threads >= 1; threads--)
        for (int big = 0; big < 2; big++) {
            body b;
            body_open(&b, threads == 2 ? two : NULL, "human", big ? 1.0 : 0.65, SUP_WEIGHTS_AUTO);
            find_axis(&b, "left_lower_arm", "arms_crossed", 1.5);
            printf("\n%d threads: bind %.2f s, model %.1f MB, instance %.1f MB\n", threads, b.bind_ms * 1e-3,
                   (double)sup_model_bytes(b.model).size * 1e-6, (double)state_size(&b) * 1e-6);
            printf("%-22s %8s %6s %7s | %8s %8s | %7s %8s %8s\n", "moving", "vertices", "bones", "rad", "ms", "worst",
                   "iterations", "awake", "evals/v");
            for (int solver = 0; solver < (threads == 2 && !big ? 2 : 1); solver++) {
                b.values[SUP_IMPLICIT_SOLVER] = solver;
                for (int i = 0; i < 3; i++)
                    bench_row(&b, solver ? "all joints, jacobi" : "all joints", NULL, steps[i]);
                bench_row(&b, solver ? "one elbow, jacobi" : "one elbow", "left_lower_arm", 0.05);
            }
            body_close(&b);
        }
}

/* --- Convergence --- */

static double distance_to(const body *b, const float *other)
{
    double sum = 0.0;
    int64_t count = 3 * (int64_t)b->character->vertex_count;
    for (int64_t i = 0; i < count; i++)
        sum += ((double)b->positions[i] - (double)other[i]) * ((double)b->positions[i] - (double)other[i]);
    return sqrt(sum / (double)b->character->vertex_count) / (double)b->rig->size;
}

/* One frame of 0.2 rad after identical previous frames, with a number of iterations; returns milliseconds of processor
 * time of the frame. */
static double one_frame(body *b, int solver, int32_t iterations)
{
    b->values[SUP_IMPLICIT_SOLVER] = 0;
    b->values[SUP_IMPLICIT_ITERATIONS] = 40;
    b->values[SUP_IMPLICIT_TOLERANCE] = 0.0005;
    b->values[SUP_IMPLICIT_SUBSTEP] = 10.0; /* a single sub-frame */
    rotate_joints(b, NULL, 0.4);
    sup_step_input input = input_of(b);
    if (sup_implicit_reset(&input, b->state) != SUP_OK) exit(1);
    b->values[SUP_IMPLICIT_SOLVER] = solver;
    b->values[SUP_IMPLICIT_ITERATIONS] = iterations;
    b->values[SUP_IMPLICIT_TOLERANCE] = 0.0;
    rotate_joints(b, NULL, 0.6);
    double begin = processor_ms();
    step(b);
    return processor_ms() - begin;
}

static void bench_converge(void)
{
    static const int32_t counts[2][9] = {{1, 4, 8, 12, 16, 24, 32, 48, 96}, {1, 5, 10, 20, 50, 100, 200, 500, 1000}};
    body b;
    body_open(&b, NULL, "human", 0.65, SUP_WEIGHTS_AUTO);
    b.values[SUP_IMPLICIT_SMOOTH] = b.values[SUP_IMPLICIT_ELASTIC] = 0.0;
    one_frame(&b, 1, 3000);
    float *goal = malloc(3 * (size_t)b.character->vertex_count * sizeof *goal);
    if (goal == NULL) exit(1);
    memcpy(goal, b.positions, 3 * (size_t)b.character->vertex_count * sizeof *goal);
    printf("\nA frame of 0.2 rad in one sub-frame, RMS distance from 3000 iterations of jacobi in 1e-6 sizes\n");
    for (int solver = 0; solver < 2; solver++)
        for (int i = 0; i < 9; i++) {
            double ms = one_frame(&b, solver, counts[solver][i]);
            printf("%-8s %5d iterations %8.2f ms %10.2f\n", solver ? "jacobi" : "factor", counts[solver][i], ms,
                   1e6 * distance_to(&b, goal));
        }
    free(goal);
    body_close(&b);
}

/* --- Bend --- */

/* Render vertices off their target value, and inverted triangles. */
static void print_frame(body *b, double degrees, sup_measurer *measurer, float *gathered, double *dual, float *blended)
{
    sup_frame_measure own, other;
    sup_rig_surface_gather(b->rig, b->positions, gathered);
    if (sup_measurer_frame(measurer, gathered, &own, NULL) != SUP_OK) exit(1);
    if (sup_reference_skin(&b->context, b->rig, b->pose, true, dual, NULL) != SUP_OK) exit(1);
    for (int64_t i = 0; i < 3 * (int64_t)b->character->vertex_count; i++)
        blended[i] = (float)dual[i];
    sup_rig_surface_gather(b->rig, blended, gathered);
    if (sup_measurer_frame(measurer, gathered, &other, NULL) != SUP_OK) exit(1);
    const sup_implicit_report *r = sup_implicit_report_of(b->state);
    sup_implicit_fit fit = sup_implicit_fit_of(b->state);
    printf("%6.0f | %6d %6d | %6d %6d | %7.4f %7.4f | %6.3f %6.3f | %6.2f%% %5d | %3d %5.1f\n", degrees,
           own.intersections, other.intersections, own.flips, other.flips, own.penetration, other.penetration,
           own.volume_ratio, other.volume_ratio, 100.0 * fit.off_target / fit.vertices, fit.without_field, r->subframes,
           (double)r->evaluations / fit.vertices);
}

static const double MAX_ANGLE = 150.0 * 0.017453292519943295;

static void bend(body *b, const char *joint, double by)
{
    sup_error error;
    sup_rig_surface *surface;
    sup_measurer *measurer;
    size_t count = (size_t)b->character->vertex_count;
    must(sup_rig_surface_create(&b->context, b->rig, &surface, &error), &error);
    must(sup_measurer_create(&b->context, &surface->surface, &measurer, &error), &error);
    float *gathered = malloc(3 * (size_t)surface->surface.vertex_count * sizeof(float)),
          *blended = malloc(3 * count * sizeof(float)), *rest = malloc(3 * count * sizeof(float));
    double *dual = malloc(3 * count * sizeof(double));
    if (gathered == NULL || blended == NULL || rest == NULL || dual == NULL) exit(1);
    rotate_joints(b, joint, 0.0);
    sup_step_input input = input_of(b);
    if (sup_implicit_reset(&input, b->state) != SUP_OK) exit(1);
    step(b);
    memcpy(rest, b->positions, 3 * count * sizeof(float));
    int32_t frames = (int32_t)ceil(MAX_ANGLE / by);
    printf("%6s | %13s | %13s | %15s | %13s | %13s | %9s\n", "degree", "pairs, dq's", "flips, dq's", "depth, dq's",
           "volume, dq's", "off iso, lost", "sub evals");
    for (int32_t i = 1; i <= 2 * frames; i++) {
        double angle = MAX_ANGLE * (i <= frames ? i : 2 * frames - i) / frames, degrees = angle / 0.017453292519943295;
        rotate_joints(b, joint, angle);
        step(b);
        if (i % (frames / 5) == 0 || i == frames) print_frame(b, degrees, measurer, gathered, dual, blended);
    }
    double edge = 0.0, back = distance_to(b, rest);
    const float *aim = sup_model_array(b->model, "track.target", SUP_ARRAY_FLOAT, -1);
    int64_t vertices = sup_model_array_count(b->model, "track.target") / 4;
    for (int64_t i = 0; i < vertices; i++)
        edge += (double)aim[4 * i + 2] / (double)vertices;
    for (int32_t i = 0; i < 10; i++)
        step(b);
    printf("%s back at rest: RMS %.3f %% of an edge, %.3f %% after ten frames without motion\n\n", joint,
           100.0 * back / edge, 100.0 * distance_to(b, rest) / edge);
    free(gathered);
    free(blended);
    free(rest);
    free(dual);
    sup_measurer_destroy(measurer);
    sup_rig_surface_destroy(surface);
}

static void bench_bend(const sup_context *two)
{
    body b;
    body_open(&b, two, "arm", 1.0, SUP_WEIGHTS_AUTO);
    find_axis(&b, "lower_arm", "bend", 1.2);
    bend(&b, "lower_arm", 0.05);
    body_close(&b);
    body_open(&b, two, "human", 1.0, SUP_WEIGHTS_AUTO);
    find_axis(&b, "left_lower_arm", "arms_crossed", 1.5);
    bend(&b, "left_lower_arm", 0.05);
    find_axis(&b, "left_lower_leg", "squat", 1.2);
    bend(&b, "left_lower_leg", 0.05);
    body_close(&b);
}

/* --- Sensitivity --- */

typedef struct variant {
    const char *what;
    sup_weight_source weights;
    double by; /* radians per frame */
} variant;

/* Returns the skin at 150 degrees, to be freed; prints its distance from `other` unless that is NULL. */
static float *bend_to(const sup_context *two, const char *scene, const char *joint, const variant *v,
                      const float *other)
{
    body b;
    body_open(&b, two, scene, 1.0, v->weights);
    find_axis(&b, joint, strcmp(scene, "arm") == 0 ? "bend" : "arms_crossed", 1.2);
    int32_t frames = (int32_t)ceil(MAX_ANGLE / v->by);
    for (int32_t i = 1; i <= frames; i++) {
        rotate_joints(&b, joint, MAX_ANGLE * i / frames);
        step(&b);
    }
    size_t floats = 3 * (size_t)b.character->vertex_count;
    float *skin = malloc(floats * sizeof *skin);
    if (skin == NULL) exit(1);
    memcpy(skin, b.positions, floats * sizeof *skin);
    if (other != NULL) {
        double all = distance_to(&b, other), maximum = 0.0;
        for (size_t i = 0; i < floats; i += 3)
            maximum =
                fmax(maximum, sup_v3_distance(sup_v3_load(skin + i), sup_v3_load(other + i)) / (double)b.rig->size);
        printf("%-6s %-20s RMS %.4f %% of the size, farthest %.3f %%\n", scene, v->what, 100.0 * all, 100.0 * maximum);
    }
    body_close(&b);
    return skin;
}

static void bench_vary(const sup_context *two)
{
    static const variant variants[] = {{"", SUP_WEIGHTS_HEAT, 0.05},
                                       {"half the sub-steps", SUP_WEIGHTS_HEAT, 0.025},
                                       {"nearest weights", SUP_WEIGHTS_NEAREST, 0.05},
                                       {"rigid weights", SUP_WEIGHTS_RIGID, 0.05}};
    printf("\nAn elbow at 150 degrees, from the same with heat weights and 0.05 rad a frame\n");
    for (int human = 0; human < 2; human++) {
        const char *scene = human ? "human" : "arm", *joint = human ? "left_lower_arm" : "lower_arm";
        float *skin = bend_to(two, scene, joint, &variants[0], NULL);
        for (int i = 1; i < SUP_COUNT(variants); i++)
            free(bend_to(two, scene, joint, &variants[i], skin));
        free(skin);
    }
}

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Distance of the skin from that of a restart in the same pose, in sizes: 99th percentile over the vertices. */
static double off_restart(body *b, void *state, float *positions, double *distance)
{
    sup_step_input input = input_of(b);
    sup_error error = {0};
    int32_t count = b->character->vertex_count;
    input.dt = 0.0f;
    must(sup_implicit_reset(&input, state), &error);
    must(sup_implicit_step(&input, state, &(sup_skin_out){.positions = positions, .position_stride = 12}), &error);
    for (int64_t v = 0; v < count; v++)
        distance[v] =
            sup_v3_distance(sup_v3_load(positions + 3 * v), sup_v3_load(b->positions + 3 * v)) / (double)b->rig->size;
    qsort(distance, (size_t)count, sizeof *distance, by_value);
    return distance[(int64_t)count * 99 / 100];
}

static void bench_clips(const char *file)
{
    enum { RESTARTS = 15, MAX_FRAMES = 90 };
    static const sup_context one = {0};
    body b;
    sup_error error = {0};
    body_open(&b, &one, file, 1.0, SUP_WEIGHTS_AUTO);
    size_t size = (state_size(&b) + 63) / 64 * 64, count = (size_t)b.character->vertex_count;
    void *other = aligned_alloc(64, size);
    float *positions = malloc(3 * count * sizeof *positions);
    double *distance = malloc(count * sizeof *distance);
    if (other == NULL || positions == NULL || distance == NULL) exit(1);
    memset(other, 0, size);
    printf("\n%s: %d vertices; ms of one thread a frame at 30 fps, difference from a restart in sizes (p99)\n", file,
           (int)count);
    for (int32_t clip = 0; clip < b.character->clip_count; clip++) {
        const sup_clip *c = &b.character->clips[clip];
        sup_step_input input = input_of(&b);
        int32_t frames = (int32_t)fmin(MAX_FRAMES, 30.0 * (double)(c->end - c->start));
        double sum = 0.0, worst = 0.0, off = 0.0;
        sup_pose_sample(b.character, c, (double)c->start, b.pose);
        must(sup_implicit_reset(&input, b.state), &error);
        for (int32_t f = 1; f <= frames; f++) {
            sup_pose_sample(b.character, c, (double)c->start + f / 30.0, b.pose);
            double begin = processor_ms();
            must(sup_implicit_step(&input, b.state, &(sup_skin_out){.positions = b.positions, .position_stride = 12}),
                 &error);
            double ms = processor_ms() - begin;
            sum += ms;
            worst = fmax(worst, ms);
            if (f % RESTARTS == 0) off = fmax(off, off_restart(&b, other, positions, distance));
        }
        printf("%-24.24s %3d frames %6.1f ms, worst %6.1f; %.4f\n", c->name, (int)frames, sum / fmax(1, frames), worst,
               off);
    }
    free(other);
    free(positions);
    free(distance);
    body_close(&b);
}

int main(int argc, char **argv)
{
    sup_thread_pool *pool;
    if (sup_thread_pool_create(2, &pool, NULL) != SUP_OK) return 1;
    sup_context two = {.tasks = sup_thread_pool_tasks(pool)};
    bool all = argc == 1;
    for (int i = 1; i < argc || all; i++) {
        if (all || strcmp(argv[i], "table") == 0) bench_table(&two);
        if (all || strcmp(argv[i], "converge") == 0) bench_converge();
        if (all || strcmp(argv[i], "bend") == 0) bench_bend(&two);
        if (all || strcmp(argv[i], "vary") == 0) bench_vary(&two);
        if (!all && strchr(argv[i], '.') != NULL) bench_clips(argv[i]);
        all = false;
    }
    sup_thread_pool_destroy(pool);
    return 0;
}

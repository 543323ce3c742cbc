/* bench_position.c - steps of position based skinning: time against the scalar reference, threads, bytes, long stress
 * tests.
 *
 *     bench_position [solver | contact | shake STEPS | crush STEPS [SEED]]
 *
 * Times are the mean over the steps of a bending and swinging bar, of the best of several repetitions of each step; the
 * reference is the same arithmetic in double, one constraint after another, in the same run. */
#include "methods/position/pbd_reference.h"
#include "methods/position/position.h"
#include "position/block.h"

#include "base/simd.h"
#include "pose/timestep.h"
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
    double *positions = calloc((size_t)b->pbd.slot_count * 4, sizeof(double)), best = 1e30;
    block_pose(b, 0.0, sup_affine_identity());
    for (int32_t i = 0; i < 4 * b->pbd.slot_count; i++)
        positions[i] = (double)b->guide[i];
    if (sup_pbd_reference_create(&b->pbd, positions, &regions, &reference, NULL) != SUP_OK) exit(1);
    for (int32_t i = 0; i < 8; i++) {
        block_pose(b, 1.5 * i / STEPS, swing(0.01 * i));
        double begin = now_ms();
        sup_pbd_reference_step(reference, &b->input);
        best = fmin(best, now_ms() - begin);
    }
    sup_pbd_reference_destroy(reference);
    free(positions);
    return best;
}

/* Bytes that an iteration reads and writes, and its floating point operations. */
static void count_work(const sup_pbd *s, double *bytes, double *flops)
{
    double tets = s->volume_batches * 16.0, edges = s->stretch_batches * 16.0, slots = s->slot_count;
    *bytes = tets * (16 + 4 + 4 * 4 + 4 * 32) + edges * (8 + 4 + 3 * 4 + 2 * 32) + slots * (16 * 3 + 12);
    *flops = tets * 104.0 + edges * 31.0 + slots * 25.0;
}

static void bench_solver(void)
{
    static const block_def bodies[] = {{.nx = 28, .ny = 5, .nz = 6, .core = true},  /* 5040 tets */
                                       {.nx = 36, .ny = 7, .nz = 7, .core = true},  /* 10584 */
                                       {.nx = 48, .ny = 7, .nz = 7, .core = true}}; /* 14112 */
    sup_thread_pool *pool;
    if (sup_thread_pool_create(2, &pool, NULL) != SUP_OK) exit(1);
    sup_context two = {.tasks = sup_thread_pool_tasks(pool)};
    printf("%8s %8s %8s %7s %6s | %8s %8s %8s %8s | %7s %7s %7s | %8s %8s\n", "tets", "edges", "clusters", "filled",
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
                   b.pbd.cluster_count - b.pbd.level_first[2], 100.0 * filled, raw ? "raw" : "Pa", wide, pair, sse2,
                   scalar, scalar / wide, wide / pair, wide * 1e6 / (12.0 * b.pbd.tet_count), bytes * 1e-6,
                   flops * 12.0 / (wide * 1e6));
            block_free(&b);
        }
    sup_thread_pool_destroy(pool);
}

/* Milliseconds per frame of a motion from a given time on, best of four. */
static double time_motion(const sup_context *context, const sup_character *character, const sup_model *model,
                          const sup_clip *clip, double from, int contact)
{
    enum { FRAMES = 40, ROUNDS = 4 }; /* even: detection runs every second step, the same steps in each repetition */
    static double best[FRAMES];
    sup_instance *instance;
    sup_pose *pose;
    float *positions = calloc((size_t)sup_model_vertex_count(model) * 3, sizeof(float));
    double sum = 0.0;
    if (positions == NULL || sup_instance_create(context, model, NULL, &instance, NULL) != SUP_OK ||
        sup_pose_create(NULL, character, &pose, NULL) != SUP_OK ||
        sup_instance_set(instance, "contact", contact, NULL) != SUP_OK)
        exit(1);
    sup_skin_out out = {.positions = positions};
    for (int i = 0; i < FRAMES * ROUNDS; i++) { /* 100 frames per second: one step each */
        sup_pose_sample(character, clip, from + i % FRAMES * 0.01, pose);
        if (i % FRAMES == 0) sup_instance_reset(instance, pose);
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

/* Binds the character of a scene with the given tets and iterations; selects the clip. */
typedef struct bound {
    sup_character *character;
    sup_rig *rig;
    sup_model *model;
    const sup_clip *clip;
} bound;

static bound bound_make(const char *scene, const char *clip, double tets, double iterations)
{
    bound b = {0};
    double values[SUP_POSITION_PARAM_COUNT];
    sup_method_defaults(&sup_method_position, values);
    values[SUP_POSITION_TETS] = tets;
    values[SUP_POSITION_ITERATIONS] = iterations;
    sup_bind_def def = {.values = values};
    if (sup_scene_create(NULL, scene, 1.0, &b.character, NULL) != SUP_OK ||
        sup_rig_create(NULL, b.character, NULL, &b.rig, NULL) != SUP_OK ||
        sup_bind(NULL, &sup_method_position, b.rig, &def, &b.model, NULL) != SUP_OK)
        exit(1);
    b.clip = &b.character->clips[0];
    for (int32_t i = 0; i < b.character->clip_count; i++)
        if (strcmp(b.character->clips[i].name, clip) == 0) b.clip = &b.character->clips[i];
    return b;
}

static void bound_free(bound *b)
{
    sup_model_destroy(b->model);
    sup_rig_destroy(b->rig);
    sup_character_destroy(b->character);
}

/* The walks of the thesis' table 5.1, then the bends of table 5.2. */
static void bench_contact(void)
{
    static const struct {
        const char *scene, *clip;
        double tets, iterations, from;
    } cases[] = {{"human", "walk", 10000, 12, 0.0},
                 {"elephant", "walk", 10000, 12, 0.0},
                 {"arm", "bend", 4400, 22, 0.9},
                 {"human", "squat", 4400, 22, 0.9}};
    sup_thread_pool *pool;
    if (sup_thread_pool_create(2, &pool, NULL) != SUP_OK) exit(1);
    sup_context two = {.tasks = sup_thread_pool_tasks(pool)};
    printf("%10s %7s %6s %3s | %7s %7s %7s | %8s %9s | %7s %7s %5s\n", "", "", "tets", "its", "off ms", "on", "always",
           "on adds", "always/on", "2: off", "on", "1/2");
    for (size_t k = 0; k < sizeof cases / sizeof cases[0]; k++) {
        bound b = bound_make(cases[k].scene, cases[k].clip, cases[k].tets, cases[k].iterations);
        double ms[5];
        for (int i = 0; i < 5; i++) /* choices of the parameter: on demand, off, always */
            ms[i] = time_motion(i < 3 ? NULL : &two, b.character, b.model, b.clip, cases[k].from, i % 3);
        printf("%10s %7s %6.0f %3.0f | %7.3f %7.3f %7.3f | %7.1f%% %9.2f | %7.3f %7.3f %5.2f\n", cases[k].scene,
               cases[k].clip, cases[k].tets, cases[k].iterations, ms[1], ms[0], ms[2], 100.0 * (ms[0] / ms[1] - 1.0),
               ms[2] / ms[0], ms[4], ms[3], ms[0] / ms[3]);
        bound_free(&b);
    }
    sup_thread_pool_destroy(pool);
}

/* Stress test: random timesteps, poses and global motion. */
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
        const float *positions = sup_pbd_positions(&b.pbd, b.state);
        for (int32_t k = 0; k < 4 * b.pbd.slot_count; k++)
            if (k % 4 != 3) largest = fmax(largest, fabs((double)positions[k]));
    }
    b.input.settings.seconds = 0.01f;
    for (int32_t i = 0; i < 1000; i++) {
        block_pose(&b, 0.0, sup_affine_identity());
        block_step(&b, NULL);
    }
    double off = 0.0, speed = 0.0;
    const float *positions = sup_pbd_positions(&b.pbd, b.state), *previous = sup_pbd_previous(&b.pbd, b.state);
    for (int32_t k = 0; k < 4 * b.pbd.slot_count; k++)
        if (k % 4 != 3) {
            off = fmax(off, fabs((double)positions[k] - (double)b.guide[k]));
            speed = fmax(speed, fabs((double)positions[k] - (double)previous[k]));
        }
    printf(
        "%lld steps of shaking: furthest coordinate %.2f sizes, %lld steps out of range, %.1f us per step; ten seconds "
        "later %.1e from rest, moving %.1e a step\n",
        (long long)steps, largest, (long long)lost, (now_ms() - begin) * 1e3 / (double)steps, off, speed);
    block_free(&b);
}

/* A body with contact and random joint motion. */
typedef struct crushed {
    sup_character *character;
    sup_rig *rig;
    sup_model *model;
    sup_position_view view;
    sup_pose *pose;
    sup_transform *local;                 /* [node_count] */
    double *angle;                        /* [node_count] */
    sup_mat34 *joints;                    /* [joint_count] */
    sup_affine *moves;                    /* the same in double */
    float *guide, *guide_previous, *bone; /* [slot_count*4] */
    void *pbd, *collide;
    sup_pbd_input input;
} crushed;

static void *allocate(size_t bytes)
{
    void *memory = aligned_alloc(64, (bytes + 63) / 64 * 64);
    if (memory == NULL) exit(1);
    memset(memory, 0, (bytes + 63) / 64 * 64);
    return memory;
}

static crushed crushed_make(void)
{
    crushed c = {0};
    double values[SUP_POSITION_PARAM_COUNT];
    sup_method_defaults(&sup_method_position, values);
    values[SUP_POSITION_TETS] = 400.0;
    sup_bind_def def = {.values = values};
    if (sup_scene_create(NULL, "arm", 0.2, &c.character, NULL) != SUP_OK ||
        sup_rig_create(NULL, c.character, NULL, &c.rig, NULL) != SUP_OK ||
        sup_bind(NULL, &sup_method_position, c.rig, &def, &c.model, NULL) != SUP_OK ||
        sup_position_open(c.model, &c.view, NULL) != SUP_OK ||
        sup_pose_create(NULL, c.character, &c.pose, NULL) != SUP_OK)
        exit(1);
    size_t bytes = (size_t)c.view.pbd.slot_count * 4 * sizeof(float), nodes = (size_t)c.character->node_count;
    double metres = (double)c.view.size * (double)c.view.unit_metres;
    c.local = allocate(nodes * sizeof *c.local);
    c.angle = allocate(nodes * sizeof *c.angle);
    c.joints = allocate((size_t)c.view.joint_count * sizeof *c.joints);
    c.moves = allocate((size_t)c.view.joint_count * sizeof *c.moves);
    c.guide = allocate(bytes);
    c.guide_previous = allocate(bytes);
    c.bone = allocate(bytes);
    c.pbd = allocate(sup_pbd_state_size(&c.view.pbd));
    c.collide = allocate(sup_collide_state_size(&c.view.collide));
    c.input = (sup_pbd_input){.settings = {.stretch = values[SUP_POSITION_STIFFNESS],
                                           .volume = values[SUP_POSITION_VOLUME],
                                           .bind = values[SUP_POSITION_BIND],
                                           .follow = values[SUP_POSITION_FOLLOW],
                                           .seconds = 0.01f,
                                           .inertia = values[SUP_POSITION_DENSITY] * metres * metres},
                              .guide = c.guide,
                              .guide_previous = c.guide_previous,
                              .bone = c.bone,
                              .gravity = {0.0f, (float)(-9.81 / metres), 0.0f},
                              .damping = (float)values[SUP_POSITION_DAMPING],
                              .iterations = 12,
                              .contact = sup_collide_solve,
                              .contact_user = c.collide};
    return c;
}

static void crushed_free(crushed *c)
{
    free(c->local), free(c->angle), free(c->joints), free(c->moves), free(c->guide), free(c->guide_previous),
        free(c->bone);
    free(c->pbd), free(c->collide);
    sup_pose_destroy(c->pose);
    sup_model_destroy(c->model);
    sup_rig_destroy(c->rig);
    sup_character_destroy(c->character);
}

/* Rotates every joint randomly by up to `max_angle` radians, within 2.6; then linear blending. */
static void crushed_pose(crushed *c, sup_random *random, double max_angle)
{
    const sup_position_view *view = &c->view;
    for (int32_t n = 0; n < c->character->node_count; n++) {
        const sup_node *node = &c->character->nodes[n];
        c->local[n] = node->rest;
        if (!node->is_joint) continue;
        c->angle[n] += max_angle * (2.0 * sup_random_unit(random) - 1.0);
        c->angle[n] = max_angle > 0.0 ? fmin(fmax(c->angle[n], -2.6), 2.6) : 0.0;
        sup_quatd turn = sup_quatd_from_axis_angle(sup_v3(1, n % 3, n % 2), c->angle[n]);
        c->local[n].rotation = sup_quatd_to_float(sup_quatd_multiply(sup_quatd_from_float(node->rest.rotation), turn));
    }
    if (sup_pose_from_local(c->character, c->local, c->pose) != SUP_OK) exit(1);
    sup_timestep_joints(c->pose->world, NULL, view->joint_count, view->joint_node, view->joint_inverse_bind, c->joints);
    memcpy(c->guide_previous, c->guide, (size_t)view->pbd.slot_count * 4 * sizeof(float));
    for (int32_t j = 0; j < view->joint_count; j++)
        c->moves[j] = sup_affine_from_float(c->joints[j]);
    for (int64_t i = 0; i < view->pbd.slot_count; i++) {
        sup_vec3d rest = sup_v3_load(view->rest + 4 * i), sum = {0};
        for (int64_t k = i * SUP_POSITION_INFLUENCES; k < (i + 1) * SUP_POSITION_INFLUENCES; k++)
            sum = sup_v3_madd(sum, (double)view->influence_weight[k] / (double)view->size,
                              sup_affine_point(c->moves[view->influence_joint[k]], rest));
        sup_v3_store(c->guide + 4 * i, sum);
        c->bone[4 * i + 3] = -1.0f;
        if (view->bone_joint[i] < 0) continue;
        sup_vec3d point = sup_affine_point(c->moves[view->bone_joint[i]], sup_v3_load(view->bone_point + 4 * i));
        sup_v3_store(c->bone + 4 * i, sup_v3_scale(point, 1.0 / (double)view->size));
        c->bone[4 * i + 3] = view->rest[4 * i + 3] / view->size;
    }
}

static bool crushed_step(crushed *c, bool still)
{
    sup_context context = sup_context_resolve(NULL);
    sup_collide_input collide = {.mode = SUP_COLLIDE_ALWAYS,
                                 .planes = true,
                                 .still = still,
                                 .friction = 0.3f,
                                 .joints = c->joints,
                                 .size = c->view.size,
                                 .rest = c->view.rest,
                                 .bone = c->bone,
                                 .previous = sup_pbd_previous(&c->view.pbd, c->pbd),
                                 .iterations = c->input.iterations};
    sup_collide_begin(&c->view.collide, c->collide, &collide);
    return sup_pbd_step(&context, &c->view.pbd, c->pbd, &c->input);
}

static double largest_coordinate(const sup_pbd *pbd, const float *positions)
{
    double largest = 0.0;
    for (int32_t k = 0; k < 4 * pbd->slot_count; k++)
        if (k % 4 != 3) largest = fmax(largest, fabs((double)positions[k]));
    return largest;
}

/* An arm with random joint jumps, contact detection in every step, and timesteps of 1 to 33 ms. */
static void bench_crush(int64_t steps, uint64_t seed)
{
    crushed c = crushed_make();
    sup_random random = {seed};
    double largest = 0.0, begin = now_ms(), off = 0.0;
    int64_t lost = 0, pairs = 0;
    crushed_pose(&c, &random, 0.0);
    sup_pbd_init(&c.view.pbd, c.pbd, c.guide);
    sup_collide_reset(&c.view.collide, c.collide);
    for (int64_t i = 0; i < steps; i++) {
        if (i % 64 == 0) c.input.settings.seconds = (float)(0.001 + 0.032 * sup_random_unit(&random));
        crushed_pose(&c, &random, i % 512 < 256 ? 0.05 : 0.5);
        lost += !crushed_step(&c, false);
        pairs += sup_collide_report_of(c.collide)->pairs;
        largest = fmax(largest, largest_coordinate(&c.view.pbd, sup_pbd_positions(&c.view.pbd, c.pbd)));
    }
    double took = now_ms() - begin;
    c.input.settings.seconds = 0.01f;
    c.input.gravity[1] = 0.0f;
    for (int32_t i = 0; i < 1000; i++) {
        crushed_pose(&c, &random, 0.0);
        crushed_step(&c, true);
    }
    const float *positions = sup_pbd_positions(&c.view.pbd, c.pbd);
    for (int32_t k = 0; k < 4 * c.view.pbd.slot_count; k++)
        if (k % 4 != 3) off = fmax(off, fabs((double)positions[k] - (double)c.guide[k]));
    printf(
        "%lld steps of crushing, seed %llu: furthest coordinate %.2f sizes, %lld steps out of range, %.1f contacts and "
        "%.1f us per step; ten seconds later %.1e from rest\n",
        (long long)steps, (unsigned long long)seed, largest, (long long)lost, (double)pairs / (double)steps,
        took * 1e3 / (double)steps, off);
    crushed_free(&c);
}

int main(int argc, char **argv)
{
    if (argc < 2 || strcmp(argv[1], "solver") == 0) bench_solver();
    if (argc < 2 || strcmp(argv[1], "contact") == 0) bench_contact();
    if (argc < 2) bench_shake(100000);
    if (argc > 2 && strcmp(argv[1], "shake") == 0) bench_shake(atoll(argv[2]));
    if (argc > 2 && strcmp(argv[1], "crush") == 0)
        bench_crush(atoll(argv[2]), argc > 3 ? strtoull(argv[3], NULL, 10) : 5);
    return 0;
}

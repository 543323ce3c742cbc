/* bench_skinning.c - speed of the methods that blend joints: relative to a scalar double reference in the same run,
 * to the memory bandwidth, and with a second thread.
 *
 *     bench_skinning [seconds per row, default 0.5] [character|human|worst|threads]
 *
 * Times are the minimum over many repetitions, and the median; ratios are of minima. */
#include "base/simd.h"
#include "methods/cor/cor.h"
#include "methods/ddm/ddm.h"
#include "methods/dualquat/dualquat.h"
#include "methods/linear/linear.h"
#include "methods/stbs/stbs.h"
#include "measure/reference.h"
#include "methods/skin_fixture.h"
#include "supple/scenes.h"

#include <stdio.h>
#include <time.h>

static double now_ms(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e3 + (double)t.tv_nsec * 1e-6;
}

typedef struct timing {
    double minimum, median; /* ms */
} timing;

static int compare_doubles(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

typedef void work_fn(void *work);

static timing measure(work_fn *fn, void *work, double seconds)
{
    enum { MOST = 100000 };
    static double times[MOST];
    int count = 0;
    double begin = now_ms();
    fn(work);
    for (; count < MOST && (count < 5 || now_ms() - begin < seconds * 1e3); count++) {
        double start = now_ms();
        fn(work);
        times[count] = now_ms() - start;
    }
    qsort(times, (size_t)count, sizeof *times, compare_doubles);
    return (timing){times[0], times[count / 2]};
}

/* The methods, in the order of the tables. */
typedef sup_result step_fn(const sup_step_input *input, void *state, const sup_skin_out *out, int32_t lanes);
typedef struct row_method {
    const char *name;
    const sup_method *method;
    const char *parameter, *value; /* set for this row, or NULL */
    step_fn *step;
    bool has_reference;
    sup_reference_kind reference;
} row_method;

enum { METHODS = 6, DUALQUAT = 1 };
static const row_method methods[METHODS] = {
    {"linear", &sup_method_linear, NULL, NULL, sup_linear_step, true, SUP_REFERENCE_LINEAR},
    {"dualquat", &sup_method_dualquat, NULL, NULL, sup_dualquat_step, true, SUP_REFERENCE_DUAL},
    {"cor", &sup_method_cor, NULL, NULL, sup_cor_step, true, SUP_REFERENCE_CENTRES},
    {"ddm", &sup_method_ddm, NULL, NULL, sup_ddm_step, false, SUP_REFERENCE_LINEAR},
    {"ddm v4", &sup_method_ddm, "variant", "v4", sup_ddm_step, false, SUP_REFERENCE_LINEAR},
    {"stbs", &sup_method_stbs, NULL, NULL, sup_stbs_step, false, SUP_REFERENCE_LINEAR}};

static void values_of(const row_method *row, double *values)
{
    sup_method_defaults(row->method, values);
    if (row->parameter != NULL && sup_method_set(row->method, values, row->parameter, row->value, NULL) != SUP_OK)
        exit(1);
}

typedef struct step_work {
    sup_step_input input;
    void *state;
    sup_skin_out out;
    int32_t lanes;
    step_fn *step;
} step_work;

static void run_step(void *data)
{
    step_work *work = data;
    if (work->step(&work->input, work->state, &work->out, work->lanes) != SUP_OK) exit(1);
}

typedef struct reference_work {
    const sup_rig *rig;
    const sup_pose *pose;
    sup_reference_kind kind;
    double *positions, *normals;
} reference_work;

static void run_reference(void *data)
{
    reference_work *work = data;
    sup_reference_skin_all(NULL, work->rig, work->pose, work->kind, work->rig->positions,
                           &(sup_reference_out){work->positions, work->normals, NULL, NULL});
}

typedef struct scene {
    skin_fixture fixture;     /* of a synthetic character, */
    sup_character *character; /* or a built-in one */
    sup_rig *own_rig;
    sup_pose *own_pose;
    const sup_rig *rig;
    const sup_pose *pose;
    sup_model *models[METHODS];
    double bind_ms[METHODS];
    float *positions, *normals;
} scene;

static void bind_scene(scene *s)
{
    size_t n = (size_t)s->rig->vertex_count;
    for (int i = 0; i < METHODS; i++) {
        double begin = now_ms(), values[16];
        values_of(&methods[i], values);
        if (sup_bind(NULL, methods[i].method, s->rig, &(sup_bind_def){.values = values}, &s->models[i], NULL) != SUP_OK)
            exit(1);
        s->bind_ms[i] = now_ms() - begin;
    }
    s->positions = calloc(n, 12);
    s->normals = calloc(n, 12);
}

static void make_synthetic(scene *s, skin_fixture fixture)
{
    *s = (scene){.fixture = fixture};
    s->rig = fixture_rig(&s->fixture);
    s->pose = &s->fixture.pose;
    bind_scene(s);
}

/* A built-in character with about `vertex_count` vertices in the middle of its first clip. */
static void make_built_in(scene *s, const char *name, int32_t vertex_count)
{
    *s = (scene){.rig = NULL};
    int32_t own_count = 1;
    for (int32_t i = 0; i < sup_scene_count(); i++)
        if (strcmp(sup_scene_at(i).name, name) == 0) own_count = sup_scene_at(i).default_vertex_count;
    if (sup_scene_create(NULL, name, (double)vertex_count / own_count, &s->character, NULL) != SUP_OK ||
        sup_rig_create(NULL, s->character, NULL, &s->own_rig, NULL) != SUP_OK ||
        sup_pose_create(NULL, s->character, &s->own_pose, NULL) != SUP_OK)
        exit(1);
    const sup_clip *clip = &s->character->clips[0];
    if (sup_pose_sample(s->character, clip, 0.5 * (double)(clip->start + clip->end), s->own_pose) != SUP_OK) exit(1);
    s->rig = s->own_rig;
    s->pose = s->own_pose;
    bind_scene(s);
}

static void free_scene(scene *s)
{
    for (int i = 0; i < METHODS; i++)
        sup_model_destroy(s->models[i]);
    if (s->character == NULL) fixture_destroy(&s->fixture);
    sup_pose_destroy(s->own_pose);
    sup_rig_destroy(s->own_rig);
    sup_character_destroy(s->character);
    free(s->positions);
    free(s->normals);
}

static timing time_step(scene *s, int method, bool normals, int32_t lanes, const sup_tasks *tasks, double seconds)
{
    double values[16];
    sup_context context = sup_context_resolve(NULL);
    if (tasks != NULL) context.tasks = *tasks;
    const sup_model *model = s->models[method];
    values_of(&methods[method], values);
    sup_layout layout;
    if (sup_method_layout(methods[method].method, model, &context, &layout) != SUP_OK) abort();
    size_t size = layout.size;
    void *state = sup_alloc_zero(&context.allocator, size);
    step_work work = {{.context = &context, .model = model, .values = values, .pose = s->pose},
                      state,
                      {s->positions, 12, normals ? s->normals : NULL, 12, NULL, 16},
                      lanes,
                      methods[method].step};
    timing t = measure(run_step, &work, seconds);
    sup_free(&context.allocator, state, size);
    return t;
}

static timing time_reference(scene *s, int method, bool normals, double seconds)
{
    size_t n = (size_t)s->rig->vertex_count;
    reference_work work = {s->rig, s->pose, methods[method].reference, calloc(n, 24), normals ? calloc(n, 24) : NULL};
    timing t = measure(run_reference, &work, seconds);
    free(work.positions);
    free(work.normals);
    return t;
}

/* Bytes of the model that a step reads, and of the output that it writes. */
static double bytes_moved(const sup_model *model, bool normals)
{
    static const struct {
        const char *name;
        double size;
    } arrays[] = {{"positions", 4}, {"weights", 4}, {"joints", 2},  {"joint_first", 4}, {"weight_first", 4},
                  {"vertex", 2},    {"centre", 4},  {"moments", 4}, {"along", 4}};
    double bytes = (normals ? 24.0 : 12.0) * sup_model_vertex_count(model);
    for (size_t i = 0; i < sizeof arrays / sizeof arrays[0]; i++)
        bytes +=
            arrays[i].size * fmax(0.0, (double)sup_model_array_count(model, arrays[i].name)); /* -1: no such array */
    return bytes + (normals ? 4.0 * (double)sup_model_array_count(model, "normals") : 0.0);
}

static void print_rows(scene *s, const char *name, double seconds)
{
    static const double from_cache = 97e9, from_memory = 27e9; /* bytes per second of one core, measured */
    static const char *const widths[17] = {[1] = "scalar", [4] = "4 lanes", [8] = "8 lanes", [16] = "16 lanes"};
    int32_t n = s->rig->vertex_count;
    printf("\n%s: %d vertices, %d joints\n", name, n, s->rig->joint_count);
    for (int i = 0; i < METHODS; i++)
        printf("%s: bound in %.0f ms, %.1f bytes per vertex\n", methods[i].name, s->bind_ms[i],
               (double)sup_model_bytes(s->models[i]).size / n);
    printf("%-10s %-17s %-9s %9s %9s %9s %9s %10s  %s\n", "method", "output", "kernel", "min ms", "median", "ns/vert",
           "speed-up", "x dualquat", "bytes per vertex; floor from cache, from memory");
    for (int i = 0; i < METHODS; i++)
        for (int normals = 0; normals < 2; normals++) {
            const char *output = normals ? "positions+normals" : "positions";
            timing reference = {0.0, 0.0};
            if (methods[i].has_reference) {
                reference = time_reference(s, i, normals, seconds);
                printf("%-10s %-17s %-9s %9.3f %9.3f %9.2f %9s\n", methods[i].name, output, "double", reference.minimum,
                       reference.median, reference.minimum * 1e6 / n, "1.0x");
            }
            for (int32_t lanes = sup_simd_lanes() < 4 ? 1 : 4; lanes <= sup_simd_lanes(); lanes *= 2) {
                timing dual = time_step(s, DUALQUAT, normals, lanes, NULL, seconds);
                timing t = time_step(s, i, normals, lanes, NULL, seconds);
                char speed_up[16] = "-";
                if (methods[i].has_reference)
                    snprintf(speed_up, sizeof speed_up, "%.1fx", reference.minimum / t.minimum);
                double bytes = bytes_moved(s->models[i], normals);
                printf("%-10s %-17s %-9s %9.3f %9.3f %9.2f %9s %10.2f  %.1f; %.3f ms (%.1fx), %.3f ms (%.1fx)\n",
                       methods[i].name, output, widths[lanes], t.minimum, t.median, t.minimum * 1e6 / n, speed_up,
                       t.minimum / dual.minimum, bytes / n, bytes / from_cache * 1e3,
                       t.minimum * 1e-3 * from_cache / bytes, bytes / from_memory * 1e3,
                       t.minimum * 1e-3 * from_memory / bytes);
            }
        }
}

static void print_threads(scene *s, double seconds)
{
    printf("\nthreads: %d vertices\n%-10s %-17s %9s %9s %9s\n", s->rig->vertex_count, "method", "output", "1 thread",
           "2 threads", "speed-up");
    sup_thread_pool *pool = NULL;
    sup_error error;
    if (sup_thread_pool_create(2, &pool, &error) != SUP_OK) exit(1);
    sup_tasks tasks = sup_thread_pool_tasks(pool);
    for (int i = 0; i < METHODS; i++)
        for (int normals = 0; normals < 2; normals++) {
            timing one = time_step(s, i, normals, sup_simd_lanes(), NULL, seconds);
            timing two = time_step(s, i, normals, sup_simd_lanes(), &tasks, seconds);
            printf("%-10s %-17s %9.3f %9.3f %8.2fx\n", methods[i].name, normals ? "positions+normals" : "positions",
                   one.minimum, two.minimum, one.minimum / two.minimum);
        }
    sup_thread_pool_destroy(pool);
}

/* Random joints: the worst case of the cluster layout. */
static skin_fixture shuffled_joints(int32_t vertex_count, int32_t joint_count)
{
    skin_fixture f = fixture_limbs(vertex_count, joint_count);
    sup_random random = {5};
    for (int32_t i = 0; i < vertex_count; i++)
        for (int32_t k = 0, base = (int32_t)(sup_random_unit(&random) * joint_count); k < 4; k++)
            f.influence_joint[4 * i + k] = (base + k * (1 + (int32_t)(sup_random_unit(&random) * 14))) % joint_count;
    return f;
}

typedef enum section { CHARACTER, HUMAN, WORST, THREADS, SECTION_COUNT } section;

static void run_section(section which, double seconds)
{
    static scene s;
    if (which == HUMAN)
        make_built_in(&s, "human", 100000);
    else
        make_synthetic(&s, which == WORST ? shuffled_joints(100000, 60)
                                          : fixture_limbs(which == THREADS ? 1000000 : 100000, 60));
    if (which == CHARACTER) print_rows(&s, "character", seconds);
    if (which == HUMAN) print_rows(&s, "scene:human", seconds);
    if (which == WORST) print_rows(&s, "joints at random (worst case)", seconds);
    if (which == THREADS) print_threads(&s, seconds);
    free_scene(&s);
}

int main(int argc, char **argv)
{
    static const char *const names[SECTION_COUNT] = {"character", "human", "worst", "threads"};
    double seconds = argc > 1 ? strtod(argv[1], NULL) : 0.5;
    printf("skinning, one thread, four influences per vertex; speed-up is over the double reference\n");
    for (section which = CHARACTER; which < SECTION_COUNT; which++)
        if (argc < 3 || strcmp(argv[2], names[which]) == 0) run_section(which, seconds);
    return 0;
}

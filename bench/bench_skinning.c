/* bench_skinning.c - speed of linear and dualquat skinning: relative to a scalar double reference in the same run,
 * to the memory bandwidth, and with a second thread.
 *
 *     bench_skinning [seconds per row, default 0.5] [character|worst|threads]
 *
 * Times are the minimum over many repetitions, and the median; ratios are of minima. */
#include "base/simd.h"
#include "methods/dualquat/dualquat.h"
#include "methods/linear/linear.h"
#include "measure/reference.h"
#include "methods/skin_fixture.h"

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

typedef struct step_work {
    sup_step_input input;
    void *state;
    sup_skin_out out;
    int32_t lanes;
    bool dual;
} step_work;

static void run_step(void *data)
{
    step_work *work = data;
    sup_result result = work->dual ? sup_dualquat_step(&work->input, work->state, &work->out, work->lanes)
                                   : sup_linear_step(&work->input, work->state, &work->out, work->lanes);
    if (result != SUP_OK) exit(1);
}

typedef struct reference_work {
    const sup_rig *rig;
    const sup_pose *pose;
    bool dual;
    double *positions, *normals;
} reference_work;

static void run_reference(void *data)
{
    reference_work *work = data;
    sup_reference_skin_all(NULL, work->rig, work->pose, work->dual,
                           &(sup_reference_out){work->positions, work->normals, NULL, NULL});
}

typedef struct scene {
    skin_fixture fixture;
    sup_model *models[2]; /* linear, dualquat */
    float *positions, *normals;
    double bind_ms;
} scene;

static scene make_scene(skin_fixture fixture)
{
    static const sup_method *const methods[2] = {&sup_method_linear, &sup_method_dualquat};
    scene s = {.fixture = fixture};
    size_t n = (size_t)fixture.rig.vertex_count;
    sup_error error;
    double begin = now_ms();
    for (int i = 0; i < 2; i++)
        if (sup_bind(NULL, methods[i], fixture_rig(&s.fixture), NULL, &s.models[i], &error) != SUP_OK) exit(1);
    s.bind_ms = 0.5 * (now_ms() - begin);
    s.positions = calloc(n, 12);
    s.normals = calloc(n, 12);
    return s;
}

static void free_scene(scene *s)
{
    sup_model_destroy(s->models[0]);
    sup_model_destroy(s->models[1]);
    fixture_destroy(&s->fixture);
    free(s->positions);
    free(s->normals);
}

static timing time_step(scene *s, bool dual, bool normals, int32_t lanes, const sup_tasks *tasks, double seconds)
{
    static const double values[SUP_SKIN_PARAM_COUNT];
    sup_context context = sup_context_resolve(NULL);
    if (tasks != NULL) context.tasks = *tasks;
    const sup_model *model = s->models[dual];
    sup_layout layout;
    if (sup_method_layout(sup_model_method(model), model, &context, &layout) != SUP_OK) abort();
    size_t size = layout.size;
    void *state = sup_alloc_zero(&context.allocator, size);
    step_work work = {{.context = &context, .model = model, .values = values, .pose = &s->fixture.pose},
                      state,
                      {s->positions, 12, normals ? s->normals : NULL, 12, NULL, 16},
                      lanes,
                      dual};
    timing t = measure(run_step, &work, seconds);
    sup_free(&context.allocator, state, size);
    return t;
}

static timing time_reference(scene *s, bool dual, bool normals, double seconds)
{
    size_t n = (size_t)s->fixture.rig.vertex_count;
    reference_work work = {fixture_rig(&s->fixture), &s->fixture.pose, dual, calloc(n, 24),
                           normals ? calloc(n, 24) : NULL};
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
    } arrays[] = {{"positions", 4},   {"weights", 4},      {"joints", 2},
                  {"joint_first", 4}, {"weight_first", 4}, {"vertex", 2}};
    double bytes = (normals ? 24.0 : 12.0) * sup_model_vertex_count(model);
    for (size_t i = 0; i < sizeof arrays / sizeof arrays[0]; i++)
        bytes += arrays[i].size * (double)sup_model_array_count(model, arrays[i].name);
    return bytes + (normals ? 4.0 * (double)sup_model_array_count(model, "normals") : 0.0);
}

static void print_rows(scene *s, const char *name, double seconds)
{
    static const double from_cache = 97e9, from_memory = 27e9; /* bytes per second of one core, measured */
    static const char *const widths[17] = {[1] = "scalar", [4] = "4 lanes", [8] = "8 lanes", [16] = "16 lanes"};
    int32_t n = s->fixture.rig.vertex_count;
    printf("\n%s: %d vertices, %d joints, bound in %.0f ms, %.1f bytes per vertex\n", name, n,
           s->fixture.rig.joint_count, s->bind_ms, (double)sup_model_bytes(s->models[0]).size / n);
    printf("%-9s %-17s %-9s %9s %9s %9s %9s  %s\n", "method", "output", "kernel", "min ms", "median", "ns/vert",
           "speed-up", "bytes per vertex; floor from cache, from memory");
    for (int dual = 0; dual < 2; dual++)
        for (int normals = 0; normals < 2; normals++) {
            const char *method = dual ? "dualquat" : "linear";
            const char *output = normals ? "positions+normals" : "positions";
            timing reference = time_reference(s, dual, normals, seconds);
            printf("%-9s %-17s %-9s %9.3f %9.3f %9.2f %9s\n", method, output, "double", reference.minimum,
                   reference.median, reference.minimum * 1e6 / n, "1.0x");
            for (int32_t lanes = sup_simd_lanes() < 4 ? 1 : 4; lanes <= sup_simd_lanes(); lanes *= 2) {
                timing t = time_step(s, dual, normals, lanes, NULL, seconds);
                double bytes = bytes_moved(s->models[dual], normals);
                printf("%-9s %-17s %-9s %9.3f %9.3f %9.2f %8.1fx  %.1f; %.3f ms (%.1fx), %.3f ms (%.1fx)\n", method,
                       output, widths[lanes], t.minimum, t.median, t.minimum * 1e6 / n, reference.minimum / t.minimum,
                       bytes / n, bytes / from_cache * 1e3, t.minimum * 1e-3 * from_cache / bytes,
                       bytes / from_memory * 1e3, t.minimum * 1e-3 * from_memory / bytes);
            }
        }
}

static void print_threads(scene *s, double seconds)
{
    printf("\nthreads: %d vertices\n%-9s %-17s %9s %9s %9s\n", s->fixture.rig.vertex_count, "method", "output",
           "1 thread", "2 threads", "speed-up");
    sup_thread_pool *pool = NULL;
    sup_error error;
    if (sup_thread_pool_create(2, &pool, &error) != SUP_OK) exit(1);
    sup_tasks tasks = sup_thread_pool_tasks(pool);
    for (int dual = 0; dual < 2; dual++)
        for (int normals = 0; normals < 2; normals++) {
            timing one = time_step(s, dual, normals, sup_simd_lanes(), NULL, seconds);
            timing two = time_step(s, dual, normals, sup_simd_lanes(), &tasks, seconds);
            printf("%-9s %-17s %9.3f %9.3f %8.2fx\n", dual ? "dualquat" : "linear",
                   normals ? "positions+normals" : "positions", one.minimum, two.minimum, one.minimum / two.minimum);
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

typedef enum section { CHARACTER, WORST, THREADS, SECTION_COUNT } section;

static void run_section(section which, double seconds)
{
    scene s = make_scene(which == WORST ? shuffled_joints(100000, 60)
                                        : fixture_limbs(which == THREADS ? 1000000 : 100000, 60));
    if (which == CHARACTER) print_rows(&s, "character", seconds);
    if (which == WORST) print_rows(&s, "joints at random (worst case)", seconds);
    if (which == THREADS) print_threads(&s, seconds);
    free_scene(&s);
}

int main(int argc, char **argv)
{
    static const char *const names[SECTION_COUNT] = {"character", "worst", "threads"};
    double seconds = argc > 1 ? strtod(argv[1], NULL) : 0.5;
    printf("skinning, one thread, four influences per vertex; speed-up is over the double reference\n");
    for (section which = CHARACTER; which < SECTION_COUNT; which++)
        if (argc < 3 || strcmp(argv[2], names[which]) == 0) run_section(which, seconds);
    return 0;
}

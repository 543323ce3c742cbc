/* cmd_bench.c - `supple bench`: times the methods against a scalar reference in the same run. */
#include "json_out.h"
#include "bench_history.h"
#include "on_device.h"
#include "progress.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { SIZE_COUNT = 5, ROW_LIMIT = 256, METHOD_LIMIT = 16, INPUT_LIMIT = 16 };

typedef struct bench_values {
    app_job_values job;
    const char *save, *against;
    int contact, instances, device;
    double seconds;
} bench_values;

static const char *const contact_choices[] = {"default", "on", "off", NULL};

#define AT(field) offsetof(bench_values, field)
static const app_option bench_options[] = {
    {.kind = APP_POSITIONAL,
     .name = "INPUT",
     .offset = AT(job.input),
     .optional = true,
     .help = "input as for bake; default: all built-in characters"},
    APP_JOB_METHOD_DEFAULT(bench_values, "all"),
    APP_JOB_SET(bench_values),
    APP_JOB_SETUP(bench_values),
    APP_JOB_CLIP(bench_values),
    APP_JOB_SKELETON(bench_values),
    APP_JOB_WEIGHTS(bench_values),
    {.kind = APP_CHOICE,
     .name = "contact",
     .argument = "on|off",
     .offset = AT(contact),
     .choices = contact_choices,
     .help = "self-collision, for methods that support it"},
    {.kind = APP_WHOLE,
     .name = "instances",
     .argument = "N",
     .offset = AT(instances),
     .minimum = 1,
     .maximum = 4096,
     .help = "number of characters; stepped in sequence on the CPU, together on a GPU; default: 1"},
    APP_ON_DEVICE(bench_values),
    {.kind = APP_NUMBER,
     .name = "seconds",
     .argument = "NUMBER",
     .offset = AT(seconds),
     .minimum = 0.0,
     .maximum = 60.0,
     .help = "approximate time per measured stage; default: 0.25"},
    {.kind = APP_TEXT, .name = "save", .argument = "FILE", .offset = AT(save), .help = "save the results as JSON"},
    {.kind = APP_TEXT,
     .name = "against",
     .argument = "FILE",
     .offset = AT(against),
     .help = "compare with results of an earlier --save"},
    APP_JOB_THREADS(bench_values),
    APP_JOB_JSON(bench_values),
    APP_JOB_QUIET(bench_values),
};

static const app_verb bench_verb = {
    .name = "bench",
    .usage = "[INPUT] [--method NAME] [options]",
    .summary = "Times every stage of the methods, and a scalar reference in the same run.",
    .details =
        "Times are medians with the 10th and 90th percentiles; a step computes positions and normals. The reference\n"
        "is linear blend skinning (for dualquat: dual quaternions) in double precision on one thread; 'speedup' is\n"
        "the time of the reference / the time of a step, which makes different machines comparable.\n"
        "A built-in character is also timed at five resolutions on the CPU; the cost is fitted as vertices^exponent.\n"
        "With INPUT, the solver of a method is compared with ten unaccelerated iterations and with a scalar solver in\n"
        "double precision, from the same states. scripts/bench_append.sh records results over commits.\n\n"
        "Examples:\n"
        "  supple bench\n"
        "  supple bench scene:human --method dualquat --threads 1 --save base.json\n"
        "  supple bench scene:human --method dualquat --threads 1 --against base.json\n\n"
        "Exit status: 0 success, 1 wrong usage, 2 bad input, 3 other errors.\n",
    .options = bench_options,
    .option_count = (int)(sizeof bench_options / sizeof bench_options[0]),
};

/* A method and its parameters. */
typedef struct bench_method {
    const sup_method *method;
    double params[APP_PARAM_LIMIT];
    int contact; /* 1 on, 0 off, -1 none */
} bench_method;

/* Scaling of a step with the vertex count: rows [first, first + SIZE_COUNT) of the results. */
typedef struct bench_growth {
    int32_t first;
    double exponent;
} bench_growth;

typedef struct bench {
    const bench_values *values;
    char *setup; /* from --setup, or NULL */
    size_t setup_size;
    int32_t method_count, row_count, growth_count;
    bench_method methods[METHOD_LIMIT];
    app_timing *rows; /* [ROW_LIMIT] */
    bench_growth growth[METHOD_LIMIT];
    app_progress progress;
    int32_t planned;
    sup_device *device; /* NULL: the CPU */
} bench;

static int choose_contact(bench_method *chosen, int requested, bool explicit)
{
    const sup_method *method = chosen->method;
    chosen->contact = -1;
    for (int32_t i = 0; i < method->param_count; i++)
        if (strcmp(method->params[i].name, "contact") == 0) {
            if (requested != 0) chosen->params[i] = requested == 1 ? 1.0 : 0.0;
            chosen->contact = chosen->params[i] != 0.0 ? 1 : 0;
        }
    if (chosen->contact >= 0 || requested != 1 || !explicit) return APP_DONE;
    return app_usage("--contact on: The method %s does not support self-collision.", method->name);
}

static int choose_methods(bench *b)
{
    const app_job_values *job = &b->values->job;
    int32_t count = job->method != NULL ? 1 : sup_method_count();
    int status = APP_DONE;
    if (job->method == NULL && job->set.count > 0) return app_usage("--set needs --method.");
    for (int32_t i = 0; status == APP_DONE && i < count && i < METHOD_LIMIT; i++) {
        if (job->method == NULL && (sup_method_at(i)->flags & SUP_METHOD_LAYERS) != 0) continue;
        bench_method *chosen = &b->methods[b->method_count++];
        const char *name = job->method != NULL ? job->method : sup_method_at(i)->name;
        status = app_choose_method(name, &job->set, &chosen->method, chosen->params);
        if (status == APP_DONE) status = choose_contact(chosen, b->values->contact, job->method != NULL);
    }
    return status;
}

/* Without --method: keeps the methods that run on a device (include/supple/device.h). */
static void keep_device_methods(bench *b)
{
    static const char *const names[] = {"projective", "linear", "dualquat"};
    int32_t kept = 0;
    for (int32_t i = 0; i < b->method_count; i++)
        for (int32_t k = 0; k < (int32_t)(sizeof names / sizeof *names); k++)
            if (strcmp(b->methods[i].method->name, names[k]) == 0) b->methods[kept++] = b->methods[i];
    b->method_count = kept;
}

static int load_setup(bench *b)
{
    const char *path = b->values->job.setup;
    const sup_method *methods[METHOD_LIMIT];
    for (int32_t i = 0; i < b->method_count; i++)
        methods[i] = b->methods[i].method;
    int status = app_setup_check(&b->values->job, methods, b->method_count);
    if (status != APP_DONE || path == NULL) return status;
    b->setup = app_read_file(path, &b->setup_size);
    if (b->setup != NULL) return APP_DONE;
    app_say("--setup %s: The file cannot be read.", path);
    return APP_INPUT;
}

static int time_one(bench *b, const char *input, const bench_method *chosen, bool compare_solver)
{
    const app_job_values *job = &b->values->job;
    char stage[128];
    if (b->row_count == ROW_LIMIT) return APP_DONE;
    snprintf(stage, sizeof stage, "%.80s, %.40s", input, chosen->method->name);
    if (!app_progress_report(&b->progress, (float)b->row_count / (float)b->planned, stage)) {
        app_progress_end(&b->progress);
        app_say("Cancelled.");
        return APP_OTHER;
    }
    app_timing_def def = {.input = input,
                          .skeleton = job->skeleton,
                          .method = chosen->method,
                          .params = chosen->params,
                          .threads = job->threads,
                          .instances = b->values->instances,
                          .device = b->device,
                          .seconds = b->values->seconds,
                          .rig = app_job_rig_def(job),
                          .clip = job->clip,
                          .compare_solver = compare_solver};
    if ((chosen->method->flags & SUP_METHOD_SETUP) != 0) {
        def.setup = b->setup;
        def.setup_size = b->setup_size;
    }
    int status = app_timing_run(&def, &b->rows[b->row_count]);
    b->rows[b->row_count].contact = chosen->contact;
    if (status == APP_DONE) b->row_count++;
    return status;
}

/* Least-squares slope of log(time) over log(vertices). */
static double fit_exponent(const app_timing *rows, int32_t count)
{
    double x_mean = 0.0, y_mean = 0.0, xy = 0.0, xx = 0.0;
    for (int32_t i = 0; i < count; i++) {
        x_mean += log((double)rows[i].vertices) / count;
        y_mean += log(rows[i].step.median) / count;
    }
    for (int32_t i = 0; i < count; i++) {
        double x = log((double)rows[i].vertices) - x_mean;
        xy += x * (log(rows[i].step.median) - y_mean);
        xx += x * x;
    }
    return xx > 0.0 ? xy / xx : (double)NAN;
}

/* Times the same character at 1/4 to 4 times its vertex count. */
static int time_growth(bench *b, const char *input, const bench_method *chosen)
{
    static const double factors[SIZE_COUNT] = {0.25, 0.5, 1.0, 2.0, 4.0};
    const char *at = strchr(input, '@');
    double base = at != NULL ? atof(at + 1) : 1.0;
    int32_t first = b->row_count;
    int status = APP_DONE;
    if (base < 0.2 || base > 5.0) return APP_DONE; /* 1/4 or 4 times would be out of range */
    for (int i = 0; status == APP_DONE && i < SIZE_COUNT; i++) {
        char sized[128];
        size_t length = at != NULL ? (size_t)(at - input) : strlen(input);
        snprintf(sized, sizeof sized, "%.*s@%g", (int)(length < 100 ? length : 100), input, base * factors[i]);
        status = time_one(b, sized, chosen, false);
    }
    if (status == APP_DONE && b->row_count == first + SIZE_COUNT)
        b->growth[b->growth_count++] = (bench_growth){first, fit_exponent(b->rows + first, SIZE_COUNT)};
    return status;
}

static int time_all(bench *b)
{
    const char *inputs[INPUT_LIMIT] = {""};
    char scenes[INPUT_LIMIT][64];
    int32_t input_count = 0;
    int status = APP_DONE;
    if (b->values->job.input != NULL) inputs[input_count++] = b->values->job.input;
    for (int32_t i = 0; b->values->job.input == NULL && i < sup_scene_count() && i < INPUT_LIMIT; i++) {
        snprintf(scenes[i], sizeof scenes[i], "scene:%s", sup_scene_at(i).name);
        inputs[input_count++] = scenes[i];
    }
    bool grows =
        b->device == NULL && app_is_scene(inputs[0]); /* binding five resolutions for a crowd would take minutes */
    b->planned = (input_count + (grows ? SIZE_COUNT : 0)) * b->method_count;
    for (int32_t m = 0; m < b->method_count; m++) {
        for (int32_t i = 0; status == APP_DONE && i < input_count; i++)
            status = time_one(b, inputs[i], &b->methods[m], b->values->job.input != NULL);
        if (status == APP_DONE && grows) status = time_growth(b, inputs[0], &b->methods[m]);
    }
    return status;
}

static void write_times(app_json *json, const char *key, const app_times *times)
{
    app_json_object(json, key);
    app_json_number(json, "median", times->median);
    app_json_number(json, "low", times->low);
    app_json_number(json, "high", times->high);
    app_json_integer(json, "count", times->count);
    app_json_object_end(json);
}

static void write_index64(app_json *json, const char *key, int64_t value)
{
    if (value >= 0)
        app_json_integer(json, key, value);
    else
        app_json_null(json, key);
}

static void write_solver_run(app_json *json, const char *key, const sup_compare_figures *solver,
                             const sup_compare_solver *run)
{
    app_json_object(json, key);
    app_json_number(json, "ms", run->ms);
    app_json_number(json, "objective", run->objective);
    app_json_number(json, "iterations", run->iterations);
    app_json_number(json, "ratio_to_reference", solver->reference.ms / run->ms);
    if (run != &solver->reference) {
        app_json_object(json, "stages");
        for (int32_t i = 0; i < solver->stage_count; i++)
            app_json_number(json, solver->stage_names[i], run->stage_ms[i]);
        app_json_object_end(json);
    }
    app_json_object_end(json);
}

static void write_solver(app_json *json, const sup_compare_figures *solver)
{
    if (solver->steps == 0) {
        app_json_null(json, "solver");
        return;
    }
    app_json_object(json, "solver");
    app_json_integer(json, "steps", solver->steps);
    app_json_integer(json, "at_or_below", solver->at_or_below);
    app_json_integer(json, "within_rounding", solver->within_rounding);
    app_json_number(json, "worst", solver->worst);
    write_solver_run(json, "accelerated", solver, &solver->own);
    write_solver_run(json, "plain", solver, &solver->plain);
    write_solver_run(json, "reference", solver, &solver->reference);
    app_json_object_end(json);
}

static void write_row(app_json *json, const app_timing *row, bool against)
{
    double seconds = row->step.median / 1e3;
    app_json_object(json, NULL);
    app_json_text(json, "input", row->input);
    app_json_text(json, "method", row->method);
    app_json_text(json, "device", row->device);
    app_json_integer(json, "threads", row->threads);
    app_json_integer(json, "instances", row->instances);
    if (row->contact >= 0)
        app_json_boolean(json, "contact", row->contact == 1);
    else
        app_json_null(json, "contact");
    app_json_integer(json, "vertices", row->vertices);
    app_json_integer(json, "joints", row->joints);
    write_index64(json, "simulated", row->simulated);
    write_index64(json, "elements", row->elements);
    app_json_number(json, "bind_ms", row->bind.median);
    app_json_number(json, "step_ms", row->step.median);
    app_json_number(json, "energy", row->energy);
    app_json_number(json, "reference_ms", row->reference.median);
    app_json_number(json, "ratio_to_reference", app_timing_ratio(row));
    app_json_number(json, "frames_per_second", 1.0 / seconds);
    app_json_number(json, "vertices_per_second", (double)row->vertices * row->instances / seconds);
    app_json_integer(json, "model_bytes", (int64_t)row->model_bytes);
    app_json_integer(json, "state_bytes", (int64_t)row->state_bytes);
    app_json_integer(json, "peak_bytes", (int64_t)row->peak_bytes);
    app_json_object(json, "stages");
    write_times(json, "load", &row->load);
    write_times(json, "rig", &row->rig);
    write_times(json, "bind", &row->bind);
    write_times(json, "pose", &row->pose);
    write_times(json, "step", &row->step);
    write_times(json, "reference", &row->reference);
    app_json_object_end(json);
    app_json_object(json, "step_stages");
    for (int32_t i = 0; i < row->step_stage_count; i++)
        app_json_number(json, row->step_stages[i].name, row->step_stages[i].ms);
    app_json_object_end(json);
    write_solver(json, &row->solver);
    if (against) {
        app_json_number(json, "previous_step_ms", row->previous_step_ms);
        app_json_number(json, "previous_bind_ms", row->previous_bind_ms);
        app_json_number(json, "previous_ratio_to_reference", row->previous_ratio);
    }
    app_json_object_end(json);
}

static void write_json(const bench *b, FILE *file)
{
    app_json json = {.file = file};
    app_json_object(&json, NULL);
    app_json_object(&json, "machine");
    app_machine machine = app_machine_find();
    app_json_text(&json, "processor", machine.processor);
    app_json_integer(&json, "cores", machine.cores);
    app_json_text(&json, "system", machine.system);
    app_json_text(&json, "compiler", machine.compiler);
    app_json_object_end(&json);
    app_json_array(&json, "results");
    for (int32_t i = 0; i < b->row_count; i++)
        write_row(&json, &b->rows[i], b->values->against != NULL);
    app_json_array_end(&json);
    app_json_array(&json, "growth");
    for (int32_t i = 0; i < b->growth_count; i++) {
        const app_timing *rows = b->rows + b->growth[i].first;
        double sizes[SIZE_COUNT], times[SIZE_COUNT];
        for (int k = 0; k < SIZE_COUNT; k++) {
            sizes[k] = rows[k].vertices;
            times[k] = rows[k].step.median;
        }
        app_json_object(&json, NULL);
        app_json_text(&json, "method", rows[0].method);
        app_json_number(&json, "exponent", b->growth[i].exponent);
        app_json_numbers(&json, "vertices", sizes, SIZE_COUNT);
        app_json_numbers(&json, "step_ms", times, SIZE_COUNT);
        app_json_object_end(&json);
    }
    app_json_array_end(&json);
    app_json_object_end(&json);
}

static int save(const bench *b, const char *path)
{
    char temporary[4200];
    if (snprintf(temporary, sizeof temporary, "%s.part%ld", path, (long)getpid()) >= (int)sizeof temporary)
        return app_usage("--save %s: The path is too long.", path);
    FILE *file = fopen(temporary, "wb");
    bool written = false;
    if (file != NULL) {
        write_json(b, file);
        written = ferror(file) == 0;
        written = fclose(file) == 0 && written;
    }
    if (written && rename(temporary, path) == 0) return APP_DONE;
    app_say("--save %s: The results cannot be written: %s.", path, strerror(errno));
    if (file != NULL) remove(temporary);
    return APP_OTHER;
}

static void print_row(const app_timing *row, bool against)
{
    char spread[32];
    snprintf(spread, sizeof spread, "%.3g-%.3g", row->step.low, row->step.high);
    printf("%-18.18s %-10s %9s %9.3g %9.3g %15s %9s %9.0f %8.1fx %9s", row->input, row->method,
           app_grouped(row->vertices), row->rig.median + row->bind.median, row->step.median, spread,
           app_grouped((long long)(1e3 / row->step.median)),
           (double)row->vertices * row->instances / row->step.median / 1e3, app_timing_ratio(row),
           app_size((double)row->model_bytes));
    if (against && isfinite(row->previous_step_ms))
        printf("  %+6.1f%% (%+.1f%%)", 100.0 * (row->step.median / row->previous_step_ms - 1.0),
               100.0 * (row->previous_ratio / app_timing_ratio(row) - 1.0));
    printf("\n");
}

/* Prints the solver next to ten unaccelerated iterations: times of the stages and final objective. */
static void print_solver(const sup_compare_figures *solver)
{
    const sup_compare_solver *runs[] = {&solver->own, &solver->plain, &solver->reference};
    const char *names[] = {"accelerated", "plain", "scalar double"};
    if (solver->steps == 0) return;
    printf("  solver only, %d steps from the same states, mean ms per step\n    %-14s", (int)solver->steps, "");
    for (int i = 0; i < 3; i++)
        printf(" %14s", names[i]);
    printf("\n    %-14s", "step");
    for (int i = 0; i < 3; i++)
        printf(" %14.4g", runs[i]->ms);
    for (int32_t k = 0; k < solver->stage_count; k++)
        if (solver->own.stage_ms[k] > 0.0 || solver->plain.stage_ms[k] > 0.0)
            printf("\n      %-12s %14.4g %14.4g", solver->stage_names[k], solver->own.stage_ms[k],
                   solver->plain.stage_ms[k]);
    printf("\n    %-14s", "speedup");
    for (int i = 0; i < 3; i++)
        printf(" %13.1fx", solver->reference.ms / runs[i]->ms);
    printf("\n    %-14s", "iterations");
    for (int i = 0; i < 3; i++)
        printf(" %14.1f", runs[i]->iterations);
    printf("\n    %-14s", "objective");
    for (int i = 0; i < 3; i++)
        printf(" %14.8g", runs[i]->objective);
    printf("\n    objective at or below the scalar solver: %d of %d steps, %d within float rounding; "
           "worst relative difference %+.1e\n",
           (int)solver->at_or_below, (int)solver->steps, (int)solver->within_rounding, solver->worst);
}

static void print_stages(const app_timing *row)
{
    const struct {
        const char *name;
        const app_times *times;
    } stages[] = {{"load", &row->load}, {"rig", &row->rig},   {"bind", &row->bind},
                  {"pose", &row->pose}, {"step", &row->step}, {"reference", &row->reference}};
    printf("\n%s, %s, per stage: median ms (10%% - 90%%), repetitions\n", app_clean(row->input), row->method);
    for (size_t i = 0; i < sizeof stages / sizeof stages[0]; i++)
        printf("  %-10s %10.4g  (%.4g - %.4g), %d\n", stages[i].name, stages[i].times->median, stages[i].times->low,
               stages[i].times->high, stages[i].times->count);
    if (row->step_stage_count > 0) printf("  stages of the step, mean ms per frame at 30 frames per second\n");
    for (int32_t i = 0; i < row->step_stage_count; i++)
        printf("    %-14s %10.4g\n", row->step_stages[i].name, row->step_stages[i].ms);
    print_solver(&row->solver);
    printf("  memory: model %s, instance %s, peak while binding %s\n", app_size((double)row->model_bytes),
           app_size((double)row->state_bytes), app_size((double)row->peak_bytes));
}

static void print_text(const bench *b, int32_t matched)
{
    bool against = b->values->against != NULL;
    printf("%d threads, %d instance%s; a step computes positions and normals; speedup = scalar reference / step\n\n",
           (int)b->rows[0].threads, b->values->instances, b->values->instances == 1 ? "" : "s");
    printf("%-18s %-10s %9s %9s %9s %15s %9s %9s %9s %9s%s\n", "input", "method", "vertices", "rig+bind", "step ms",
           "spread", "frames/s", "Mvert/s", "speedup", "model",
           against ? "  step change (relative to the reference)" : "");
    for (int32_t i = 0; i < b->row_count; i++)
        print_row(&b->rows[i], against);
    for (int32_t i = 0; i < b->growth_count; i++)
        printf("%s%s scales as vertices^%.2f from %s to %s vertices\n", i == 0 ? "\n" : "",
               b->rows[b->growth[i].first].method, b->growth[i].exponent,
               app_grouped(b->rows[b->growth[i].first].vertices),
               app_grouped(b->rows[b->growth[i].first + SIZE_COUNT - 1].vertices));
    if (b->values->job.input != NULL)
        for (int32_t i = 0; i < b->row_count; i++)
            if (strcmp(b->rows[i].input, b->values->job.input) == 0) print_stages(&b->rows[i]);
    if (against)
        printf("\n%d of %d results have a match in %s\n", (int)matched, (int)b->row_count,
               app_clean(b->values->against));
}

static int finish(bench *b)
{
    const bench_values *values = b->values;
    int32_t matched = 0;
    int status = APP_DONE;
    if (values->against != NULL) status = app_bench_history_read(values->against, b->rows, b->row_count, &matched);
    if (status == APP_DONE && values->job.json) write_json(b, stdout);
    if (status == APP_DONE && !values->job.json && !values->job.quiet) print_text(b, matched);
    if (status == APP_DONE && values->save != NULL) status = save(b, values->save);
    return status;
}

int app_command_bench(int argc, char **argv)
{
    static bench_values values; /* `b` points to it; both are too large for the stack */
    static bench b;
    values = (bench_values){.instances = 1, .seconds = 0.25};
    int status = APP_DONE;
    if (!app_parse(&bench_verb, argc, argv, &values, &status)) return status;
    b = (bench){.values = &values};
    status = choose_methods(&b);
    if (status != APP_DONE) return status;
    b.rows = calloc(ROW_LIMIT, sizeof *b.rows);
    if (b.rows == NULL) return APP_OTHER;
    if (values.against != NULL) { /* report an unreadable file before the measurements */
        int32_t none = 0;
        status = app_bench_history_read(values.against, b.rows, 0, &none);
    }
    b.device = app_open_device(NULL, values.device);
    if (b.device != NULL && values.job.method == NULL) keep_device_methods(&b);
    app_progress_begin(&b.progress, values.job.quiet, values.job.json);
    if (status == APP_DONE) status = load_setup(&b);
    if (status == APP_DONE) status = time_all(&b);
    app_progress_end(&b.progress);
    if (status == APP_DONE) status = finish(&b);
    sup_device_destroy(b.device);
    free(b.setup);
    free(b.rows);
    return status;
}

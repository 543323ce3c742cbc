/* cmd_bind.c - `supple bind`: precomputes the model of a method for a character. */
#include "json_out.h"
#include "paint.h"
#include "progress.h"
#include "job.h"

typedef struct bind_values {
    app_job_values job;
    const char *output;
} bind_values;

static const char *const output_endings[] = {"supple", NULL};

static const app_option bind_options[] = {
    APP_JOB_INPUT(bind_values),    APP_OUTPUT(bind_values, "MODEL", "output file, .supple"),
    APP_JOB_SKINNING(bind_values), APP_JOB_SKELETON(bind_values),
    APP_JOB_WEIGHTS(bind_values),  APP_JOB_THREADS(bind_values),
    APP_JOB_JSON(bind_values),     APP_JOB_QUIET(bind_values),
};

static const app_verb bind_verb = {
    .name = "bind",
    .usage = "INPUT -o MODEL.supple [options]",
    .summary = "Precomputes the model of a method for a character; 'supple bake --model' and engines load it.",
    .details =
        "A model has a checksum and is valid only for the same input and the same version of the method. The output\n"
        "is written to a temporary file and renamed when complete.\n\n"
        "Examples:\n"
        "  supple bind hero.glb -o hero.supple\n"
        "  supple bake hero.glb -o hero.pc2 --model hero.supple --clip Run\n\n"
        "Exit status: 0 success, 1 wrong usage, 2 bad input, 3 other errors (output, memory, Ctrl-C).\n",
    .options = bind_options,
    .option_count = (int)(sizeof bind_options / sizeof bind_options[0]),
};

typedef struct bind_times {
    double rig_ms, bind_ms;
} bind_times;

static void print_json(const app_job *job, const char *output, const sup_model *model, const bind_times *times)
{
    app_json json = {.file = stdout};
    app_json_object(&json, NULL);
    app_json_text(&json, "input", job->values->input);
    app_json_text(&json, "output", output);
    app_json_text(&json, "method", job->method->name);
    app_json_object(&json, "parameters");
    for (int32_t i = 0; i < job->method->param_count; i++)
        app_json_number(&json, job->method->params[i].name, job->params[i]);
    app_json_object_end(&json);
    app_json_integer(&json, "vertices", sup_model_vertex_count(model));
    app_json_integer(&json, "nodes", sup_model_node_count(model));
    app_json_integer(&json, "threads", job->session.context.tasks.worker_count);
    app_json_number(&json, "load_ms", job->session.load_ms);
    app_json_number(&json, "rig_ms", times->rig_ms);
    app_json_number(&json, "bind_ms", times->bind_ms);
    app_json_integer(&json, "bytes", (int64_t)sup_model_bytes(model).size);
    app_json_object_end(&json);
}

static int finish(const app_job *job, const bind_values *values, const sup_model *model, const bind_times *times)
{
    sup_error error = {0};
    if (sup_model_save(model, values->output, &error) != SUP_OK)
        return app_fail(&error, APP_PHASE_BAKE, values->output);
    if (values->job.json) print_json(job, values->output, model, times);
    if (!values->job.json && !values->job.quiet)
        printf("%s: method %s, %s vertices, %s (load %.0f ms, rig %.0f ms, bind %.0f ms)\n", app_clean(values->output),
               job->method->name, app_grouped(sup_model_vertex_count(model)),
               app_size((double)sup_model_bytes(model).size), job->session.load_ms, times->rig_ms, times->bind_ms);
    return APP_DONE;
}

static int bind(app_job *job, const bind_values *values)
{
    const sup_context *context = &job->session.context;
    sup_rig_def def = app_job_rig_def(job->values);
    bind_times times = {0};
    sup_rig *rig = NULL;
    sup_model *model = NULL;
    sup_error error = {0};
    app_progress progress;
    double began = app_milliseconds();
    app_progress_begin(&progress, values->job.quiet, values->job.json);
    sup_result result = sup_rig_create(context, job->character, &def, &rig, &error);
    times.rig_ms = app_milliseconds() - began;
    began = app_milliseconds();
    app_paints paints = {0};
    int painted = result == SUP_OK ? app_paint(job, rig, job->method, &paints) : APP_DONE, status = APP_OTHER;
    sup_bind_def bind_def = {.values = job->params,
                             .paints = paints.items,
                             .paint_count = paints.count,
                             .progress = app_progress_report,
                             .progress_user = &progress};
    app_setup_apply(job, job->method, &bind_def);
    if (result == SUP_OK && painted == APP_DONE)
        result = sup_bind(context, job->method, rig, &bind_def, &model, &error);
    times.bind_ms = app_milliseconds() - began;
    app_progress_end(&progress);
    app_paints_free(&paints);
    if (painted != APP_DONE)
        status = painted;
    else if (result == SUP_ERROR_CANCELLED)
        app_say("%s: Cancelled; nothing was written.", values->output);
    else if (result != SUP_OK)
        status = app_fail(&error, APP_PHASE_BAKE, values->job.input);
    else
        status = finish(job, values, model, &times);
    sup_model_destroy(model);
    sup_rig_destroy(rig);
    return status;
}

int app_command_bind(int argc, char **argv)
{
    bind_values values = {.job.fps = 30.0};
    app_job job;
    int status = APP_DONE;
    if (!app_parse(&bind_verb, argc, argv, &values, &status)) return status;
    if (app_ending(values.output, output_endings) < 0)
        return app_usage("%s: The file extension of a model must be .supple.", values.output);
    status = app_job_open(&job, &values.job);
    if (status == APP_DONE) status = app_paint_check(&values.job.paint, &job.method, 1);
    if (status == APP_DONE) status = app_setup_check(&values.job, &job.method, 1);
    if (status == APP_DONE) status = bind(&job, &values);
    app_job_close(&job);
    return status;
}

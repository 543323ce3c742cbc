/* cmd_bind.c - `supple bind`: a character in, the model of a method out, for bakes and engines to load. */
#include "json_out.h"
#include "paint.h"
#include "progress.h"
#include "job.h"

typedef struct bind_values {
    app_take_values take;
    const char *output;
} bind_values;

static const char *const output_endings[] = {"supple", NULL};

static const app_option bind_options[] = {
    APP_TAKE_INPUT(bind_values),   APP_OUTPUT(bind_values, "MODEL", "the model to write, ending in .supple"),
    APP_TAKE_HOW(bind_values),     APP_TAKE_SKELETON(bind_values),
    APP_TAKE_WEIGHTS(bind_values), APP_TAKE_THREADS(bind_values),
    APP_TAKE_JSON(bind_values),    APP_TAKE_QUIET(bind_values),
};

static const app_verb bind_verb = {
    .name = "bind",
    .usage = "INPUT -o MODEL.supple [options]",
    .summary = "Makes a method's model of a character once: bakes and engines load it instead of binding.",
    .details =
        "The model is one block of bytes with a checksum; it fits the input that it was made of and this version of\n"
        "the method, and everything else is refused. It is written beside its place and renamed when whole.\n\n"
        "Examples:\n"
        "  supple bind hero.glb -o hero.supple\n"
        "  supple bake hero.glb -o hero.pc2 --model hero.supple --clip Run\n\n"
        "Exit status: 0 done, 1 wrong usage, 2 bad input, 3 anything else (output, memory, Ctrl-C).\n",
    .options = bind_options,
    .option_count = (int)(sizeof bind_options / sizeof bind_options[0]),
};

typedef struct bind_times {
    double rig_ms, bind_ms;
} bind_times;

static void print_json(const app_take *take, const char *output, const sup_model *model, const bind_times *times)
{
    app_json json = {.file = stdout};
    app_json_object(&json, NULL);
    app_json_text(&json, "input", take->values->input);
    app_json_text(&json, "output", output);
    app_json_text(&json, "method", take->method->name);
    app_json_object(&json, "parameters");
    for (int32_t i = 0; i < take->method->param_count; i++)
        app_json_number(&json, take->method->params[i].name, take->params[i]);
    app_json_object_end(&json);
    app_json_integer(&json, "vertices", sup_model_vertex_count(model));
    app_json_integer(&json, "nodes", sup_model_node_count(model));
    app_json_integer(&json, "threads", take->session.context.tasks.worker_count);
    app_json_number(&json, "load_ms", take->session.load_ms);
    app_json_number(&json, "rig_ms", times->rig_ms);
    app_json_number(&json, "bind_ms", times->bind_ms);
    app_json_integer(&json, "bytes", (int64_t)sup_model_bytes(model).size);
    app_json_object_end(&json);
}

static int finish(const app_take *take, const bind_values *values, const sup_model *model, const bind_times *times)
{
    sup_error error = {0};
    if (sup_model_save(model, values->output, &error) != SUP_OK)
        return app_fail(&error, APP_PHASE_BAKE, values->output);
    if (values->take.json) print_json(take, values->output, model, times);
    if (!values->take.json && !values->take.quiet)
        printf("%s: method %s, %s vertices, %s (load %.0f ms, rig %.0f ms, bind %.0f ms)\n", app_clean(values->output),
               take->method->name, app_grouped(sup_model_vertex_count(model)),
               app_size((double)sup_model_bytes(model).size), take->session.load_ms, times->rig_ms, times->bind_ms);
    return APP_DONE;
}

static int bind(app_take *take, const bind_values *values)
{
    const sup_context *context = &take->session.context;
    sup_rig_def def = app_take_rig_def(take->values);
    bind_times times = {0};
    sup_rig *rig = NULL;
    sup_model *model = NULL;
    sup_error error = {0};
    app_progress progress;
    double began = app_milliseconds();
    app_progress_begin(&progress, values->take.quiet, values->take.json);
    sup_result result = sup_rig_create(context, take->character, &def, &rig, &error);
    times.rig_ms = app_milliseconds() - began;
    began = app_milliseconds();
    app_paints paints = {0};
    int painted = result == SUP_OK ? app_paint(take, rig, take->method, &paints) : APP_DONE, status = APP_OTHER;
    sup_bind_def bind_def = {.values = take->params,
                             .paints = paints.items,
                             .paint_count = paints.count,
                             .progress = app_progress_tell,
                             .progress_user = &progress};
    app_setup_give(take, take->method, &bind_def);
    if (result == SUP_OK && painted == APP_DONE)
        result = sup_bind(context, take->method, rig, &bind_def, &model, &error);
    times.bind_ms = app_milliseconds() - began;
    app_progress_end(&progress);
    app_paints_free(&paints);
    if (painted != APP_DONE)
        status = painted;
    else if (result == SUP_ERROR_CANCELLED)
        app_say("%s: Stopped; nothing was written.", values->output);
    else if (result != SUP_OK)
        status = app_fail(&error, APP_PHASE_BAKE, values->take.input);
    else
        status = finish(take, values, model, &times);
    sup_model_destroy(model);
    sup_rig_destroy(rig);
    return status;
}

int app_command_bind(int argc, char **argv)
{
    bind_values values = {.take.fps = 30.0};
    app_take take;
    int status = APP_DONE;
    if (!app_parse(&bind_verb, argc, argv, &values, &status)) return status;
    if (app_ending(values.output, output_endings) < 0) return app_usage("%s: A model ends in .supple.", values.output);
    status = app_take_open(&take, &values.take);
    if (status == APP_DONE) status = app_paint_check(&values.take.paint, &take.method, 1);
    if (status == APP_DONE) status = app_setup_check(&values.take, &take.method, 1);
    if (status == APP_DONE) status = bind(&take, &values);
    app_take_close(&take);
    return status;
}

/* cmd_bake.c - `supple bake`: skins an animation and writes the frames. */
#include "json_out.h"
#include "on_device.h"
#include "paint.h"
#include "progress.h"
#include "job.h"

typedef struct bake_values {
    app_job_values job;
    const char *output;
    bool no_normals;
    int device;
} bake_values;

static const char *const output_endings[] = {"glb", "pc2", "mdd", "obj", NULL};

static const app_option bake_options[] = {
    APP_JOB_INPUT(bake_values),
    APP_OUTPUT(bake_values, "OUTPUT", "output file: .glb (morph targets), .pc2 or .mdd (point cache), .obj (sequence)"),
    APP_JOB_SKINNING(bake_values),
    APP_JOB_MODEL(bake_values),
    APP_JOB_COLLIDER(bake_values),
    APP_JOB_ANIMATION(bake_values),
    APP_JOB_SKELETON(bake_values),
    APP_JOB_FPS(bake_values),
    APP_JOB_FRAMES(bake_values),
    APP_JOB_WEIGHTS(bake_values),
    APP_JOB_THREADS(bake_values),
    {.kind = APP_FLAG, .name = "no-normals", .offset = offsetof(bake_values, no_normals), .help = "write no normals"},
    APP_ON_DEVICE(bake_values),
    APP_JOB_JSON(bake_values),
    APP_JOB_QUIET(bake_values),
};

static const app_verb bake_verb = {
    .name = "bake",
    .usage = "INPUT -o OUTPUT [options]",
    .summary = "Skins an animation and writes the vertex positions of all frames.",
    .details =
        "Vertices are in the order and the world space of the input. The output is written to a temporary file and\n"
        "renamed when complete: after a failure or Ctrl-C an existing output file is unchanged.\n\n"
        "Examples:\n"
        "  supple bake scene:human -o human.glb\n"
        "  supple bake dancer.glb -o dancer.pc2 --method dualquat --clip Samba --fps 60\n"
        "  supple bake hero.glb -o hero_walks.glb --motion walk.bvh --map joints.txt\n"
        "  supple bake hero.glb -o hero.pc2 --model hero.supple --collider plane:0,0,0:0,1,0\n"
        "  supple bake body.obj -o body.mdd --skeleton body.skel --motion jump.anim\n\n"
        "Exit status: 0 success, 1 wrong usage, 2 bad input, 3 other errors (output, memory, Ctrl-C).\n",
    .options = bake_options,
    .option_count = (int)(sizeof bake_options / sizeof bake_options[0]),
};

static void print_json(const app_job *job, const char *output, const sup_bake_stats *stats, double total_ms)
{
    app_json json = {.file = stdout};
    app_json_object(&json, NULL);
    app_json_text(&json, "input", job->values->input);
    app_json_text(&json, "output", output);
    app_json_text(&json, "method", stats->method->name);
    app_json_object(&json, "parameters");
    for (int32_t i = 0; job->method == stats->method && i < job->method->param_count; i++)
        app_json_number(&json, job->method->params[i].name, job->params[i]);
    app_json_object_end(&json);
    app_json_text(&json, "clip", job->clip != NULL ? job->clip->name : NULL);
    app_json_number(&json, "fps", job->values->fps);
    app_json_integer(&json, "first_frame", job->first_frame);
    app_json_integer(&json, "last_frame", job->last_frame);
    app_json_integer(&json, "frames", stats->frame_count);
    app_json_integer(&json, "vertices", stats->vertex_count);
    app_json_integer(&json, "threads", job->session.context.tasks.worker_count);
    app_json_number(&json, "ms_per_frame", stats->step_ms);
    app_json_number(&json, "load_ms", job->session.load_ms);
    app_json_number(&json, "bind_ms", stats->bind_ms);
    app_json_number(&json, "write_ms", stats->write_ms);
    app_json_number(&json, "total_ms", total_ms);
    app_json_integer(&json, "bytes", (int64_t)stats->bytes);
    app_json_object_end(&json);
}

static void print_result(const app_job *job, const char *output, const sup_bake_stats *stats, double total_ms)
{
    printf("%s: %s frame%s, %s vertices, %.3g ms per frame\n", app_clean(output), app_grouped(stats->frame_count),
           stats->frame_count == 1 ? "" : "s", app_grouped(stats->vertex_count), stats->step_ms);
    if (job->clip == NULL)
        printf("  rest pose (no clip);");
    else if (job->clip->name[0] == '\0')
        printf("  unnamed clip;");
    else
        printf("  clip %s;", app_clean(job->clip->name));
    printf(" method %s; %s in %.2f s (load %.0f ms, bind %.0f ms, write %.0f ms)\n", stats->method->name,
           app_size((double)stats->bytes), total_ms / 1e3, job->session.load_ms, stats->bind_ms, stats->write_ms);
}

/* Evaluates --paint and --settings on a temporary rig: sup_bake creates its own. */
static int paint(const app_job *job, const sup_rig_def *def, app_paints *paints)
{
    sup_rig *rig = NULL;
    sup_error error = {0};
    int status = app_paint_check(&job->values->paint, &job->method, 1);
    if (status == APP_DONE) status = app_setup_check(job->values, &job->method, 1);
    if (status != APP_DONE || (job->values->paint.count == 0 && job->settings == NULL)) return status;
    if (sup_rig_create(&job->session.context, job->character, def, &rig, &error) != SUP_OK)
        return app_fail(&error, APP_PHASE_LOAD, job->values->input);
    status = app_paint(job, rig, job->method, paints);
    sup_rig_destroy(rig);
    return status;
}

static int bake(app_job *job, const bake_values *values)
{
    double began = app_milliseconds() - job->session.load_ms;
    sup_rig_def rig = app_job_rig_def(job->values);
    sup_bake_stats stats = {0};
    sup_error error = {0};
    app_progress progress;
    app_progress_begin(&progress, values->job.quiet, values->job.json);
    bool is_default = app_job_is_default(job);
    sup_bake_def def = {.method = is_default ? NULL : job->method,
                        .values = is_default ? NULL : job->params,
                        .rig = &rig,
                        .setup = job->setup,
                        .setup_size = job->setup_size,
                        .model = job->model,
                        .colliders = job->colliders.items,
                        .collider_count = job->colliders.count,
                        .clip = job->clip,
                        .fps = values->job.fps,
                        .first_frame = job->first_frame,
                        .frame_count = job->last_frame - job->first_frame + 1,
                        .no_normals = values->no_normals,
                        .progress = app_progress_report,
                        .progress_user = &progress};
    app_paints paints = {0};
    int status = paint(job, &rig, &paints);
    def.paints = paints.items;
    def.paint_count = paints.count;
    sup_result result = SUP_OK;
    sup_device *device = status == APP_DONE ? app_open_device(&job->session.context, values->device) : NULL;
    if (device != NULL)
        result = app_bake_on_device(device, job, &def, values->output, &stats, &error);
    else if (status == APP_DONE)
        result = sup_bake(&job->session.context, job->character, &def, values->output, &stats, &error);
    sup_device_destroy(device);
    app_paints_free(&paints);
    app_progress_end(&progress);
    if (status != APP_DONE) return status;
    if (result == SUP_ERROR_CANCELLED) {
        app_say("%s: Cancelled; nothing was written.", values->output);
        return APP_OTHER;
    }
    if (result != SUP_OK)
        return app_fail(&error, APP_PHASE_BAKE, result == SUP_ERROR_IO ? values->output : values->job.input);
    if (values->job.json) print_json(job, values->output, &stats, app_milliseconds() - began);
    if (!values->job.json && !values->job.quiet) print_result(job, values->output, &stats, app_milliseconds() - began);
    return APP_DONE;
}

static int check_values(const bake_values *values)
{
    if (app_ending(values->output, output_endings) < 0)
        return app_usage("%s: Unknown output format; the file extension must be .glb, .pc2, .mdd or .obj.",
                         values->output);
    return APP_DONE;
}

int app_command_bake(int argc, char **argv)
{
    bake_values values = {.job.fps = 30.0};
    app_job job;
    int status = APP_DONE;
    if (!app_parse(&bake_verb, argc, argv, &values, &status)) return status;
    status = check_values(&values);
    if (status != APP_DONE) return status;
    status = app_job_open(&job, &values.job);
    if (status == APP_DONE) status = bake(&job, &values);
    app_job_close(&job);
    return status;
}

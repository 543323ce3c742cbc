/* cmd_bake.c - `supple bake`: a character and a motion in, skinned frames out. */
#include "json_out.h"
#include "on_device.h"
#include "paint.h"
#include "progress.h"
#include "job.h"

typedef struct bake_values {
    app_take_values take;
    const char *output;
    bool no_normals;
    int device;
} bake_values;

static const char *const output_endings[] = {"glb", "pc2", "mdd", "obj", NULL};

static const app_option bake_options[] = {
    APP_TAKE_INPUT(bake_values),
    APP_OUTPUT(bake_values, "OUTPUT", ".glb (motion as morph targets), .pc2, .mdd (point caches), .obj (a sequence)"),
    APP_TAKE_HOW(bake_values),
    APP_TAKE_MODEL(bake_values),
    APP_TAKE_COLLIDER(bake_values),
    APP_TAKE_WHICH_MOTION(bake_values),
    APP_TAKE_SKELETON(bake_values),
    APP_TAKE_FPS(bake_values),
    APP_TAKE_FRAMES(bake_values),
    APP_TAKE_WEIGHTS(bake_values),
    APP_TAKE_THREADS(bake_values),
    {.kind = APP_FLAG,
     .name = "no-normals",
     .offset = offsetof(bake_values, no_normals),
     .help = "leave normals out of the output"},
    APP_ON_DEVICE(bake_values),
    APP_TAKE_JSON(bake_values),
    APP_TAKE_QUIET(bake_values),
};

static const app_verb bake_verb = {
    .name = "bake",
    .usage = "INPUT -o OUTPUT [options]",
    .summary = "Plays a motion on a character and writes the skinned result.",
    .details = "Vertices keep the order of the input, in its own world space. The output is written beside its place\n"
               "and renamed when whole: a failure or Ctrl-C leaves no half file and an older file untouched.\n\n"
               "Examples:\n"
               "  supple bake scene:human -o human.glb\n"
               "  supple bake dancer.glb -o dancer.pc2 --method dualquat --clip Samba --fps 60\n"
               "  supple bake hero.glb -o hero_walks.glb --motion walk.bvh --map joints.txt\n"
               "  supple bake hero.glb -o hero.pc2 --model hero.supple --collider plane:0,0,0:0,1,0\n"
               "  supple bake body.obj -o body.mdd --skeleton body.skel --motion jump.anim\n\n"
               "Exit status: 0 done, 1 wrong usage, 2 bad input, 3 anything else (output, memory, Ctrl-C).\n",
    .options = bake_options,
    .option_count = (int)(sizeof bake_options / sizeof bake_options[0]),
};

static void print_json(const app_take *take, const char *output, const sup_bake_stats *stats, double total_ms)
{
    app_json json = {.file = stdout};
    app_json_object(&json, NULL);
    app_json_text(&json, "input", take->values->input);
    app_json_text(&json, "output", output);
    app_json_text(&json, "method", stats->method->name);
    app_json_object(&json, "parameters");
    for (int32_t i = 0; take->method == stats->method && i < take->method->param_count; i++)
        app_json_number(&json, take->method->params[i].name, take->params[i]);
    app_json_object_end(&json);
    app_json_text(&json, "clip", take->clip != NULL ? take->clip->name : NULL);
    app_json_number(&json, "fps", take->values->fps);
    app_json_integer(&json, "first_frame", take->first_frame);
    app_json_integer(&json, "last_frame", take->last_frame);
    app_json_integer(&json, "frames", stats->frame_count);
    app_json_integer(&json, "vertices", stats->vertex_count);
    app_json_integer(&json, "threads", take->session.context.tasks.worker_count);
    app_json_number(&json, "ms_per_frame", stats->step_ms);
    app_json_number(&json, "load_ms", take->session.load_ms);
    app_json_number(&json, "bind_ms", stats->bind_ms);
    app_json_number(&json, "write_ms", stats->write_ms);
    app_json_number(&json, "total_ms", total_ms);
    app_json_integer(&json, "bytes", (int64_t)stats->bytes);
    app_json_object_end(&json);
}

static void print_result(const app_take *take, const char *output, const sup_bake_stats *stats, double total_ms)
{
    printf("%s: %s frame%s, %s vertices, %.3g ms per frame\n", app_clean(output), app_grouped(stats->frame_count),
           stats->frame_count == 1 ? "" : "s", app_grouped(stats->vertex_count), stats->step_ms);
    if (take->clip == NULL)
        printf("  the rest pose, there is no clip;");
    else if (take->clip->name[0] == '\0')
        printf("  a clip without a name;");
    else
        printf("  clip %s;", app_clean(take->clip->name));
    printf(" method %s; %s in %.2f s (load %.0f ms, bind %.0f ms, write %.0f ms)\n", stats->method->name,
           app_size((double)stats->bytes), total_ms / 1e3, take->session.load_ms, stats->bind_ms, stats->write_ms);
}

/* The maps that were painted: on a rig of their own, since the bake makes its rig itself. */
static int paint(const app_take *take, const sup_rig_def *def, app_paints *paints)
{
    sup_rig *rig = NULL;
    sup_error error = {0};
    int status = app_paint_check(&take->values->paint, &take->method, 1);
    if (status == APP_DONE) status = app_setup_check(take->values, &take->method, 1);
    if (status != APP_DONE || (take->values->paint.count == 0 && take->settings == NULL)) return status;
    if (sup_rig_create(&take->session.context, take->character, def, &rig, &error) != SUP_OK)
        return app_fail(&error, APP_PHASE_LOAD, take->values->input);
    status = app_paint(take, rig, take->method, paints);
    sup_rig_destroy(rig);
    return status;
}

static int bake(app_take *take, const bake_values *values)
{
    double began = app_milliseconds() - take->session.load_ms;
    sup_rig_def rig = app_take_rig_def(take->values);
    sup_bake_stats stats = {0};
    sup_error error = {0};
    app_progress progress;
    app_progress_begin(&progress, values->take.quiet, values->take.json);
    bool is_default = app_take_is_default(take);
    sup_bake_def def = {.method = is_default ? NULL : take->method,
                        .values = is_default ? NULL : take->params,
                        .rig = &rig,
                        .setup = take->setup,
                        .setup_size = take->setup_size,
                        .model = take->model,
                        .colliders = take->obstacles.colliders,
                        .collider_count = take->obstacles.count,
                        .clip = take->clip,
                        .fps = values->take.fps,
                        .first_frame = take->first_frame,
                        .frame_count = take->last_frame - take->first_frame + 1,
                        .no_normals = values->no_normals,
                        .progress = app_progress_tell,
                        .progress_user = &progress};
    app_paints paints = {0};
    int status = paint(take, &rig, &paints);
    def.paints = paints.items;
    def.paint_count = paints.count;
    sup_result result = SUP_OK;
    sup_device *device = status == APP_DONE ? app_open_device(&take->session.context, values->device) : NULL;
    if (device != NULL)
        result = app_bake_on_device(device, take, &def, values->output, &stats, &error);
    else if (status == APP_DONE)
        result = sup_bake(&take->session.context, take->character, &def, values->output, &stats, &error);
    sup_device_destroy(device);
    app_paints_free(&paints);
    app_progress_end(&progress);
    if (status != APP_DONE) return status;
    if (result == SUP_ERROR_CANCELLED) {
        app_say("%s: Stopped; nothing was written.", values->output);
        return APP_OTHER;
    }
    if (result != SUP_OK)
        return app_fail(&error, APP_PHASE_BAKE, result == SUP_ERROR_IO ? values->output : values->take.input);
    if (values->take.json) print_json(take, values->output, &stats, app_milliseconds() - began);
    if (!values->take.json && !values->take.quiet)
        print_result(take, values->output, &stats, app_milliseconds() - began);
    return APP_DONE;
}

static int check_values(const bake_values *values)
{
    if (app_ending(values->output, output_endings) < 0)
        return app_usage("%s: The ending of the output says its format: .glb, .pc2, .mdd or .obj.", values->output);
    return APP_DONE;
}

int app_command_bake(int argc, char **argv)
{
    bake_values values = {.take.fps = 30.0};
    app_take take;
    int status = APP_DONE;
    if (!app_parse(&bake_verb, argc, argv, &values, &status)) return status;
    status = check_values(&values);
    if (status != APP_DONE) return status;
    status = app_take_open(&take, &values.take);
    if (status == APP_DONE) status = bake(&take, &values);
    app_take_close(&take);
    return status;
}

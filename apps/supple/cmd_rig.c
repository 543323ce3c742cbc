/* cmd_rig.c - `supple rig`: a mesh and a skeleton in, a rigged GLB out. */
#include "job.h"

typedef struct rig_values {
    app_take_values take;
    const char *output;
} rig_values;

static const char *const output_endings[] = {"glb", NULL};

static const app_option rig_options[] = {
    APP_TAKE_INPUT(rig_values),    APP_OUTPUT(rig_values, "OUTPUT", "the rigged character, .glb"),
    APP_TAKE_SKELETON(rig_values), APP_TAKE_WEIGHTS(rig_values),
    APP_TAKE_THREADS(rig_values),  APP_TAKE_QUIET(rig_values),
};

static const app_verb rig_verb = {
    .name = "rig",
    .usage = "INPUT -o OUTPUT.glb [options]",
    .summary = "Writes a character with its skeleton, weights and clips as a GLB that any program skins.",
    .details = "A bare mesh gets the weights of bone heat; --weights asks for others. Vertices keep the order of the\n"
               "input and stand in its bind pose; materials are plain. The output is written beside its place and\n"
               "renamed when whole.\n\n"
               "Examples:\n"
               "  supple rig scan.ply --skeleton scan.skel -o scan.glb\n"
               "  supple rig hero.glb --weights heat -o hero_heat.glb\n\n"
               "Exit status: 0 done, 1 wrong usage, 2 bad input, 3 anything else (output, memory).\n",
    .options = rig_options,
    .option_count = (int)(sizeof rig_options / sizeof rig_options[0]),
};

static int rig(const app_take *take, const rig_values *values)
{
    sup_rig_def def = app_take_rig_def(take->values);
    sup_rig *made = NULL;
    sup_error error = {0};
    if (sup_rig_create(&take->session.context, take->character, &def, &made, &error) != SUP_OK)
        return app_fail(&error, APP_PHASE_LOAD, take->values->input);
    int status = APP_DONE;
    if (sup_rig_save(&take->session.context, made, values->output, &error) != SUP_OK)
        status = app_fail(&error, APP_PHASE_BAKE, values->output);
    else if (!values->take.quiet)
        printf("%s: %s vertices, %s joints, %s clip%s\n", app_clean(values->output), app_grouped(made->vertex_count),
               app_grouped(made->joint_count), app_grouped(take->character->clip_count),
               take->character->clip_count == 1 ? "" : "s");
    sup_rig_destroy(made);
    return status;
}

int app_command_rig(int argc, char **argv)
{
    rig_values values = {.take.fps = 30.0};
    app_take take;
    int status = APP_DONE;
    if (!app_parse(&rig_verb, argc, argv, &values, &status)) return status;
    if (app_ending(values.output, output_endings) < 0)
        return app_usage("%s: A rigged character ends in .glb.", values.output);
    status = app_take_open(&take, &values.take);
    if (status == APP_DONE) status = rig(&take, &values);
    app_take_close(&take);
    return status;
}

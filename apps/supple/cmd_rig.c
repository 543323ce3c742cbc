/* cmd_rig.c - `supple rig`: writes a GLB with skeleton and skinning weights. */
#include "job.h"

typedef struct rig_values {
    app_job_values job;
    const char *output;
} rig_values;

static const char *const output_endings[] = {"glb", NULL};

static const app_option rig_options[] = {
    APP_JOB_INPUT(rig_values),    APP_OUTPUT(rig_values, "OUTPUT", "output file, .glb"),
    APP_JOB_SKELETON(rig_values), APP_JOB_WEIGHTS(rig_values),
    APP_JOB_THREADS(rig_values),  APP_JOB_QUIET(rig_values),
};

static const app_verb rig_verb = {
    .name = "rig",
    .usage = "INPUT -o OUTPUT.glb [options]",
    .summary = "Writes a character with skeleton, skinning weights and clips as a GLB for other programs.",
    .details =
        "A mesh without weights gets bone heat weights; --weights selects other ones. Vertices are in the order and\n"
        "the bind pose of the input; materials are plain, morph targets are omitted. The output is written to a\n"
        "temporary file and renamed when complete.\n\n"
        "Examples:\n"
        "  supple rig scan.ply --skeleton scan.skel -o scan.glb\n"
        "  supple rig hero.glb --weights heat -o hero_heat.glb\n\n"
        "Exit status: 0 success, 1 wrong usage, 2 bad input, 3 other errors (output, memory).\n",
    .options = rig_options,
    .option_count = (int)(sizeof rig_options / sizeof rig_options[0]),
};

static int rig(const app_job *job, const rig_values *values)
{
    sup_rig_def def = app_job_rig_def(job->values);
    sup_rig *made = NULL;
    sup_error error = {0};
    if (sup_rig_create(&job->session.context, job->character, &def, &made, &error) != SUP_OK)
        return app_fail(&error, APP_PHASE_LOAD, job->values->input);
    int status = APP_DONE;
    if (sup_rig_save(&job->session.context, made, values->output, &error) != SUP_OK)
        status = app_fail(&error, APP_PHASE_BAKE, values->output);
    else if (!values->job.quiet)
        printf("%s: %s vertices, %s joints, %s clip%s\n", app_clean(values->output), app_grouped(made->vertex_count),
               app_grouped(made->joint_count), app_grouped(job->character->clip_count),
               job->character->clip_count == 1 ? "" : "s");
    sup_rig_destroy(made);
    return status;
}

int app_command_rig(int argc, char **argv)
{
    rig_values values = {.job.fps = 30.0};
    app_job job;
    int status = APP_DONE;
    if (!app_parse(&rig_verb, argc, argv, &values, &status)) return status;
    if (app_ending(values.output, output_endings) < 0)
        return app_usage("%s: The file extension of the output must be .glb.", values.output);
    status = app_job_open(&job, &values.job);
    if (status == APP_DONE) status = rig(&job, &values);
    app_job_close(&job);
    return status;
}

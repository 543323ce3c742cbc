/* cmd_measure.c - `supple measure`: quality metrics of a baked animation. */
#include "metrics.h"

#include <stdlib.h>

typedef struct measure_values {
    app_job_values job;
    const char *cache;
} measure_values;

static const app_option measure_options[] = {
    APP_JOB_INPUT(measure_values),
    {.kind = APP_POSITIONAL,
     .name = "CACHE",
     .offset = offsetof(measure_values, cache),
     .help = "point cache baked from INPUT: .pc2 or .mdd"},
    APP_JOB_ANIMATION(measure_values),
    APP_JOB_SKELETON(measure_values),
    APP_JOB_FPS(measure_values),
    APP_JOB_FRAMES(measure_values),
    APP_JOB_WEIGHTS(measure_values),
    APP_JOB_THREADS(measure_values),
    APP_JOB_JSON(measure_values),
    APP_JOB_QUIET(measure_values),
};

static const app_verb measure_verb = {
    .name = "measure",
    .usage = "INPUT CACHE.pc2 [options]",
    .summary = "Computes metrics of a baked animation: volume, crossings, stretch, flips, roughness, drift, jitter, "
               "acceleration.",
    .details = "The cache must be baked from INPUT. Drift, jitter and the excess of acceleration over linear blending "
               "need the\n"
               "skeleton: repeat the --clip, --motion, --fps and --frames of the bake. docs/measures.md defines the "
               "metrics. A cache with NaN or infinite coordinates is\n"
               "measured, but the exit status is 2.\n\n"
               "Examples:\n"
               "  supple bake scene:human -o human.pc2 && supple measure scene:human human.pc2\n"
               "  supple measure dancer.glb dancer.pc2 --clip Samba --fps 60 --json\n\n"
               "Exit status: 0 success, 1 wrong usage, 2 bad input, 3 other errors.\n",
    .options = measure_options,
    .option_count = (int)(sizeof measure_options / sizeof measure_options[0]),
};

static void print_json(const app_job *job, const measure_values *values, const sup_rig *rig,
                       const sup_motion_measure *measure, const sup_acceleration *acceleration, double milliseconds)
{
    app_json json = {.file = stdout};
    app_json_object(&json, NULL);
    app_json_text(&json, "input", values->job.input);
    app_json_text(&json, "cache", values->cache);
    app_json_text(&json, "clip", job->clip != NULL ? job->clip->name : NULL);
    app_json_integer(&json, "frame_count", measure->frame_count);
    app_json_integer(&json, "vertices", rig->vertex_count);
    app_json_integer(&json, "triangles", rig->skin_triangle_count);
    app_json_integer(&json, "threads", job->session.context.tasks.worker_count);
    app_json_number(&json, "milliseconds", milliseconds);
    app_metrics_json(&json, rig, measure, acceleration, job->first_frame);
    app_json_object_end(&json);
}

static int report_nonfinite(const char *path, const sup_motion_measure *measure, int32_t first)
{
    for (int32_t f = 0; f < measure->frame_count; f++)
        if (measure->frames[f].nonfinite > 0) {
            app_say("%s: Frame %d has %s vertices with NaN or infinite coordinates, %s in all frames; bake again.",
                    path, (int)(first + f), app_grouped(measure->frames[f].nonfinite),
                    app_grouped((long long)measure->summary.nonfinite));
            return APP_INPUT;
        }
    return APP_DONE;
}

static int measure_cache(app_job *job, const measure_values *values, const sup_rig *rig, const sup_cache *cache)
{
    double began = app_milliseconds();
    int32_t expected = job->last_frame - job->first_frame + 1;
    sup_motion_measure *measure = NULL;
    sup_acceleration acceleration = {0};
    sup_mat34 *nodes = NULL;
    float *linear = NULL;
    app_progress progress;
    if (job->clip != NULL && cache->frame_count == expected) {
        nodes = app_metrics_nodes(job, job->first_frame, cache->frame_count);
        linear = app_metrics_linear(job, rig, job->first_frame, cache->frame_count);
    } else if (!values->job.quiet)
        app_say("note: No drift, jitter and excess: the cache has %d frames and the animation %d. Give --clip, --fps "
                "and --frames "
                "as for the bake.",
                (int)cache->frame_count, (int)expected);
    app_progress_begin(&progress, values->job.quiet, values->job.json);
    int status = app_metrics_measure(job, rig, cache->positions, nodes, cache->frame_count, &progress, &measure);
    app_progress_end(&progress);
    if (status == APP_DONE &&
        sup_measure_acceleration(rig, cache->frame_count, cache->positions, linear, &acceleration) != SUP_OK)
        status = APP_OTHER;
    free(linear);
    free(nodes);
    if (status != APP_DONE) return status;
    double milliseconds = app_milliseconds() - began;
    if (values->job.json)
        print_json(job, values, rig, measure, &acceleration, milliseconds);
    else if (!values->job.quiet) {
        printf("%s: %s frames, %s vertices, measured in %.2f s\n", app_clean(values->cache),
               app_grouped(cache->frame_count), app_grouped(cache->vertex_count), milliseconds / 1e3);
        app_metrics_print(rig, measure, &acceleration, job->first_frame);
    }
    status = report_nonfinite(values->cache, measure, job->first_frame);
    sup_motion_measure_destroy(measure);
    return status;
}

static int measure(app_job *job, const measure_values *values)
{
    sup_rig_def def = app_job_rig_def(job->values);
    sup_rig *rig = NULL;
    sup_cache *cache = NULL;
    sup_error error = {0};
    int status = APP_DONE;
    if (sup_rig_create(&job->session.context, job->character, &def, &rig, &error) != SUP_OK)
        status = app_fail(&error, APP_PHASE_LOAD, values->job.input);
    else if (sup_cache_load(&job->session.context, values->cache, rig->vertex_count, &cache, &error) != SUP_OK)
        status = app_fail(&error, APP_PHASE_LOAD, values->cache);
    else
        status = measure_cache(job, values, rig, cache);
    sup_cache_destroy(cache);
    sup_rig_destroy(rig);
    return status;
}

int app_command_measure(int argc, char **argv)
{
    measure_values values = {.job.fps = 30.0};
    app_job job;
    int status = APP_DONE;
    if (!app_parse(&measure_verb, argc, argv, &values, &status)) return status;
    status = app_job_open(&job, &values.job);
    if (status == APP_DONE) status = measure(&job, &values);
    app_job_close(&job);
    return status;
}

/* cmd_render.c - `supple render`: an image or a video of a character. */
#include "metrics.h"
#include "paint.h"
#include "playback.h"
#include "stage.h"
#include "video.h"

#include <stdlib.h>

typedef struct render_values {
    app_job_values job;
    app_view_options view;
    const char *cache, *output, *frames;
    int frame;
    bool turn;
} render_values;

static const char *const still_endings[] = {"png", NULL};
static const char *const video_endings[] = {"mp4", "gif", "webm", NULL};

#define AT(field) offsetof(render_values, field)
static const app_option render_options[] = {
    APP_JOB_INPUT(render_values),
    {.kind = APP_POSITIONAL,
     .name = "CACHE",
     .offset = AT(cache),
     .optional = true,
     .help = "point cache baked from INPUT, .pc2 or .mdd; default: skin with --method"},
    APP_OUTPUT(render_values, "OUTPUT", "output file: .png (image), .mp4, .gif or .webm (video; needs ffmpeg)"),
    APP_ONE_FRAME(render_values, "frame of an image (default: 0), or of a turntable video"),
    {.kind = APP_TEXT,
     .name = "frames",
     .argument = "A:B",
     .offset = AT(frames),
     .help = "frame range of a video, A to B, inclusive, from 0; A: and :B are open ranges"},
    APP_VIEW_OPTIONS(render_values),
    {.kind = APP_FLAG, .name = "wire", .offset = AT(view.wire), .help = "draw triangle edges"},
    {.kind = APP_FLAG, .name = "skeleton", .offset = AT(view.bones), .help = "draw the bones on top of the skin"},
    {.kind = APP_FLAG,
     .name = "layers",
     .offset = AT(view.layers),
     .help = "cutaway view: skin and muscle, next to it muscle and bone"},
    {.kind = APP_FLAG,
     .name = "turn",
     .offset = AT(turn),
     .help = "turn the camera once around the character during a video"},
    APP_JOB_SKINNING(render_values),
    APP_JOB_MODEL(render_values),
    APP_JOB_COLLIDER(render_values),
    APP_JOB_ANIMATION(render_values),
    {.kind = APP_TEXT,
     .name = "skeleton-file",
     .argument = "FILE",
     .offset = AT(job.skeleton),
     .help = "skeleton for a mesh file: .skel or .bvh (--skeleton of bake)"},
    APP_JOB_FPS(render_values),
    APP_JOB_WEIGHTS(render_values),
    APP_JOB_THREADS(render_values),
    APP_JOB_QUIET(render_values),
};

static const app_verb render_verb = {
    .name = "render",
    .usage = "INPUT [CACHE.pc2] -o image.png|video.mp4 [options]",
    .summary = "Renders an image of a character, or a video of its animation.",
    .details =
        "Area light, ambient occlusion and a ground shadow; the image is identical on every machine. A video of a\n"
        "single frame (--frame), or of a character without animation, is a turntable. With a cache, --skeleton and\n"
        "--zoom need the --clip and --fps of the bake.\n\n"
        "Examples:\n"
        "  supple render scene:human -o human.png --camera front\n"
        "  supple render dancer.glb dancer.pc2 -o dance.mp4 --size 1280x720\n"
        "  supple render scene:human -o elbow.png --clip show --frame 30 --zoom left_lower_arm --color stretch\n\n"
        "Exit status: 0 success, 1 wrong usage, 2 bad input, 3 other errors (output, memory, Ctrl-C, no ffmpeg).\n",
    .options = render_options,
    .option_count = (int)(sizeof render_options / sizeof render_options[0]),
};

enum { NO_FRAME = -1, TURNTABLE_SECONDS = 4, VIDEO_SAMPLES = 4 };

/* Frames to render, with the node transforms of each. */
typedef struct render_work {
    const render_values *values;
    app_stage stage;
    app_playback playback;
    sup_mat34 *nodes; /* [playback.frame_count*node_count], NULL when the animation does not match the cache */
    int32_t node_count;
    app_progress progress;
} render_work;

static const float *frame_positions(const render_work *s, int32_t f)
{
    return s->playback.positions + 3 * (size_t)f * (size_t)s->playback.vertex_count;
}

static const sup_mat34 *frame_nodes(const render_work *s, int32_t f)
{
    return s->nodes != NULL ? s->nodes + (size_t)f * (size_t)s->node_count : NULL;
}

static int render_still(render_work *s)
{
    const render_values *values = s->values;
    render_def def = {0};
    sup_error error = {0};
    render_image image = render_image_create(values->view.width, values->view.height);
    if (image.pixels == NULL) {
        app_say("Out of memory for the image.");
        return APP_OTHER;
    }
    app_stage_set_camera(&s->stage, s->playback.positions, 1, frame_nodes(s, 0), &def);
    int status = app_stage_render(&s->stage, s->playback.positions, frame_nodes(s, 0), &def, &image);
    if (status == APP_DONE && render_write_png(&image, values->output, &error) != SUP_OK)
        status = app_fail(&error, APP_PHASE_BAKE, values->output);
    render_image_destroy(&image);
    return status;
}

/* Renders frame `f` with the camera rotated by `turns` full turns and adds it to the video. */
static int render_video_frame(render_work *s, const render_def *all_frames, int32_t f, double turns,
                              render_image *image, app_video *video)
{
    render_def def = *all_frames;
    if (s->values->view.zoom != NULL) { /* the camera follows the joint */
        app_stage_set_camera(&s->stage, frame_positions(s, f), 1, frame_nodes(s, f), &def);
        def.ground = all_frames->ground;
        def.samples = all_frames->samples;
    }
    def.azimuth += (float)(360.0 * turns);
    int status = app_stage_render(&s->stage, frame_positions(s, f), frame_nodes(s, f), &def, image);
    return status == APP_DONE ? app_video_add(video, image) : status;
}

static int render_video(render_work *s)
{
    const render_values *values = s->values;
    double fps = values->job.fps;
    bool turntable = values->turn || s->playback.frame_count == 1;
    int32_t count = s->playback.frame_count > 1 ? s->playback.frame_count : (int32_t)(TURNTABLE_SECONDS * fps + 0.5);
    render_def def = {.samples = VIDEO_SAMPLES};
    app_video video;
    render_image image = render_image_create(values->view.width, values->view.height);
    if (count < 1) count = 1;
    if (image.pixels == NULL) {
        app_say("Out of memory for the video.");
        return APP_OTHER;
    }
    app_stage_set_camera(&s->stage, s->playback.positions, s->playback.frame_count, frame_nodes(s, 0), &def);
    int status = app_video_open(&video, values->output, image.width, image.height, fps);
    for (int32_t i = 0; status == APP_DONE && i < count; i++) {
        if (!app_progress_report(&s->progress, (float)i / (float)count, "rendering")) {
            app_progress_end(&s->progress);
            app_say("%s: Cancelled; nothing was written.", values->output);
            status = APP_OTHER;
            break;
        }
        status = render_video_frame(s, &def, s->playback.frame_count > 1 ? i : 0,
                                    turntable ? (double)i / (double)count : 0.0, &image, &video);
    }
    app_progress_end(&s->progress);
    status = app_video_close(&video, status);
    render_image_destroy(&image);
    return status;
}

/* The range of the `count` frames to render: one frame for an image or a turntable, else a range. */
static int choose_frames(const render_values *values, int32_t count, const char *what, int32_t *first, int32_t *last)
{
    *first = 0;
    *last = app_ending(values->output, still_endings) >= 0 ? 0 : count - 1;
    if (values->frame != NO_FRAME) *first = *last = values->frame;
    if (values->frames != NULL && !app_parse_frames(values->frames, first, last))
        return app_usage("--frames %s: Expected two integers from 0 in ascending order, such as 0:59.", values->frames);
    if (*last < 0) *last = count - 1;
    if (*first < count && *last < count) return APP_DONE;
    return app_usage("Frame %d does not exist: %s has %d frames, 0 to %d.", (int)(*first < count ? *last : *first),
                     what, (int)count, (int)count - 1);
}

static int load_cache(render_work *s, app_job *job, const sup_rig *rig)
{
    const render_values *values = s->values;
    int32_t first = 0, last = 0;
    int status = app_playback_load_cache(job, rig, values->cache, &s->playback);
    if (status == APP_DONE) status = choose_frames(values, s->playback.frame_count, "the cache", &first, &last);
    if (status != APP_DONE) return status;
    if (s->playback.frame_count == job->frame_count) s->nodes = app_metrics_nodes(job, first, last - first + 1);
    if (s->nodes == NULL && (values->view.zoom != NULL || values->view.bones))
        return app_usage(
            "--zoom and --skeleton need the animation of the cache: the cache has %d frames and the animation %d. Give "
            "--clip and --fps as for the bake.",
            (int)s->playback.frame_count, (int)job->frame_count);
    s->playback.positions = frame_positions(s, first);
    s->playback.frame_count = last - first + 1;
    return APP_DONE;
}

/* Loads the frames from the cache, or skins them. */
static int load_frames(render_work *s, app_job *job, const sup_rig *rig)
{
    int32_t first = 0, last = 0;
    if (s->values->cache != NULL) return load_cache(s, job, rig);
    int status = choose_frames(s->values, job->frame_count, "the animation", &first, &last);
    if (status == APP_DONE) status = app_paint_check(&job->values->paint, &job->method, 1);
    if (status == APP_DONE) status = app_setup_check(job->values, &job->method, 1);
    if (status == APP_DONE)
        status = app_playback_run(job, rig, job->method, job->params, first, last, &s->progress, &s->playback);
    if (status == APP_DONE) s->nodes = app_metrics_nodes(job, first, last - first + 1);
    return status;
}

/* The skeleton option of other verbs is --skeleton-file here. */
static int fail_rig(const app_job *job, const sup_error *error)
{
    if (job->character->skin_count > 0 || error->result != SUP_ERROR_DATA)
        return app_fail(error, APP_PHASE_LOAD, job->values->input);
    app_say("%s: The file has no skinned mesh; give a skeleton with --skeleton-file FILE.skel.", job->values->input);
    return APP_INPUT;
}

static int render(app_job *job, const render_values *values)
{
    render_work s = {.values = values, .node_count = job->character->node_count};
    sup_rig_def def = app_job_rig_def(job->values);
    sup_rig *rig = NULL;
    sup_error error = {0};
    double began = app_milliseconds();
    bool is_video = app_ending(values->output, still_endings) < 0;
    if (sup_rig_create(&job->session.context, job->character, &def, &rig, &error) != SUP_OK)
        return fail_rig(job, &error);
    app_progress_begin(&s.progress, values->job.quiet || !is_video, false);
    int status = app_stage_open(&s.stage, &job->session.context, rig, &values->view);
    s.stage.colliders = &job->colliders;
    if (status == APP_DONE) status = load_frames(&s, job, rig);
    if (status == APP_DONE) status = is_video ? render_video(&s) : render_still(&s);
    app_progress_end(&s.progress);
    if (status == APP_DONE && !values->job.quiet)
        printf("%s: %d x %d, %s in %.2f s\n", app_clean(values->output), values->view.width, values->view.height,
               is_video ? "video" : "image", (app_milliseconds() - began) / 1e3);
    app_stage_close(&s.stage);
    app_playback_close(&s.playback);
    free(s.nodes);
    sup_rig_destroy(rig);
    return status;
}

static int check_values(render_values *values)
{
    bool is_still = app_ending(values->output, still_endings) >= 0,
         is_video = app_ending(values->output, video_endings) >= 0;
    if (!is_still && !is_video)
        return app_usage("%s: Unknown output format; the file extension must be .png, .mp4, .gif or .webm.",
                         values->output);
    if (is_still && values->frames != NULL)
        return app_usage("--frames %s: A .png shows one frame; give --frame, or write an .mp4, .gif or .webm.",
                         values->frames);
    if (values->frame != NO_FRAME && values->frames != NULL)
        return app_usage("--frames %s: Give --frame or --frames, not both.", values->frames);
    int status = is_video ? app_video_check(values->output) : APP_DONE;
    if (status == APP_DONE)
        status = is_still ? app_view_check(&values->view, 800, 800) : app_view_check(&values->view, 640, 640);
    return status;
}

int app_command_render(int argc, char **argv)
{
    render_values values = {.job.fps = 30.0, .frame = NO_FRAME};
    app_job job;
    int status = APP_DONE;
    if (!app_parse(&render_verb, argc, argv, &values, &status)) return status;
    status = check_values(&values);
    if (status != APP_DONE) return status;
    status = app_job_open(&job, &values.job);
    if (status == APP_DONE) status = render(&job, &values);
    app_job_close(&job);
    return status;
}

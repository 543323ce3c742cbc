/* cmd_render.c - `supple render`: a still or a film of a character. */
#include "metrics.h"
#include "paint.h"
#include "play.h"
#include "stage.h"
#include "video.h"

#include <stdlib.h>

typedef struct render_values {
    app_take_values take;
    app_look look;
    const char *cache, *output, *frames;
    int frame;
    bool turn;
} render_values;

static const char *const still_endings[] = {"png", NULL};
static const char *const film_endings[] = {"mp4", "gif", "webm", NULL};

#define AT(field) offsetof(render_values, field)
static const app_option render_options[] = {
    APP_TAKE_INPUT(render_values),
    {.kind = APP_POSITIONAL,
     .name = "CACHE",
     .offset = AT(cache),
     .optional = true,
     .help = "point cache of a bake of it, .pc2 or .mdd; without it --method skins the motion"},
    APP_OUTPUT(render_values, "OUTPUT", ".png (a still), .mp4, .gif or .webm (a film, through the ffmpeg program)"),
    APP_ONE_FRAME(render_values, "the frame of a still, 0 when not given; a film of one frame turns around it"),
    {.kind = APP_TEXT,
     .name = "frames",
     .argument = "A:B",
     .offset = AT(frames),
     .help = "film only frames A to B, both included, counted from 0; A: and :B work"},
    APP_LOOK_OPTIONS(render_values),
    {.kind = APP_FLAG, .name = "wire", .offset = AT(look.wire), .help = "draw the edges of the triangles"},
    {.kind = APP_FLAG, .name = "skeleton", .offset = AT(look.bones), .help = "draw the bones over the skin"},
    {.kind = APP_FLAG,
     .name = "layers",
     .offset = AT(look.layers),
     .help = "cut the body open: half skin and half muscle, beside it half muscle and half bone"},
    {.kind = APP_FLAG, .name = "turn", .offset = AT(turn), .help = "the camera goes once around during a film"},
    APP_TAKE_HOW(render_values),
    APP_TAKE_MODEL(render_values),
    APP_TAKE_COLLIDER(render_values),
    APP_TAKE_WHICH_MOTION(render_values),
    {.kind = APP_TEXT,
     .name = "skeleton-file",
     .argument = "FILE",
     .offset = AT(take.skeleton),
     .help = "a .skel or .bvh for a mesh without one (bake calls it --skeleton)"},
    APP_TAKE_FPS(render_values),
    APP_TAKE_WEIGHTS(render_values),
    APP_TAKE_THREADS(render_values),
    APP_TAKE_QUIET(render_values),
};

static const app_verb render_verb = {
    .name = "render",
    .usage = "INPUT [CACHE.pc2] -o shot.png|film.mp4 [options]",
    .summary = "A clean studio picture of a character, or a film of its motion.",
    .details =
        "Soft light, ambient occlusion and a ground shadow, the same on every machine. A film of a motion plays it;\n"
        "a film of one frame (--frame), or of a character without a motion, turns the camera around it.\n"
        "With a cache, --clip and --fps say which motion it holds, for --skeleton and --zoom.\n\n"
        "Examples:\n"
        "  supple render scene:human -o human.png --camera front\n"
        "  supple render dancer.glb dancer.pc2 -o dance.mp4 --size 1280x720\n"
        "  supple render scene:human -o elbow.png --clip show --frame 30 --zoom left_lower_arm --color stretch\n\n"
        "Exit status: 0 done, 1 wrong usage, 2 bad input, 3 anything else (output, memory, Ctrl-C, no ffmpeg).\n",
    .options = render_options,
    .option_count = (int)(sizeof render_options / sizeof render_options[0]),
};

enum { NO_FRAME = -1, TURN_SECONDS = 4, FILM_SAMPLES = 4 };

/* What is filmed: frames of the play, each with its joints, or one of them from all sides. */
typedef struct shoot {
    const render_values *values;
    app_stage stage;
    app_play play;
    sup_mat34 *nodes; /* [play.frame_count*node_count], NULL when the motion does not fit the cache */
    int32_t node_count;
    app_progress progress;
} shoot;

static const float *frame_positions(const shoot *s, int32_t f)
{
    return s->play.positions + 3 * (size_t)f * (size_t)s->play.vertex_count;
}

static const sup_mat34 *frame_nodes(const shoot *s, int32_t f)
{
    return s->nodes != NULL ? s->nodes + (size_t)f * (size_t)s->node_count : NULL;
}

static int shoot_still(shoot *s)
{
    const render_values *values = s->values;
    render_def def = {0};
    sup_error error = {0};
    render_image image = render_image_create(values->look.width, values->look.height);
    if (image.pixels == NULL) {
        app_say("There is not enough memory for the picture.");
        return APP_OTHER;
    }
    app_stage_aim(&s->stage, s->play.positions, 1, frame_nodes(s, 0), &def);
    int status = app_stage_shoot(&s->stage, s->play.positions, frame_nodes(s, 0), &def, &image);
    if (status == APP_DONE && render_write_png(&image, values->output, &error) != SUP_OK)
        status = app_fail(&error, APP_PHASE_BAKE, values->output);
    render_image_destroy(&image);
    return status;
}

/* A picture of the film: frame `f` of the play, the camera `turned` of a full turn around. */
static int shoot_picture(shoot *s, const render_def *whole, int32_t f, double turned, render_image *image,
                         app_video *video)
{
    render_def def = *whole;
    if (s->values->look.zoom != NULL) { /* the camera follows the joint */
        app_stage_aim(&s->stage, frame_positions(s, f), 1, frame_nodes(s, f), &def);
        def.ground = whole->ground;
        def.samples = whole->samples;
    }
    def.azimuth += (float)(360.0 * turned);
    int status = app_stage_shoot(&s->stage, frame_positions(s, f), frame_nodes(s, f), &def, image);
    return status == APP_DONE ? app_video_add(video, image) : status;
}

static int shoot_film(shoot *s)
{
    const render_values *values = s->values;
    double fps = values->take.fps;
    bool around = values->turn || s->play.frame_count == 1;
    int32_t count = s->play.frame_count > 1 ? s->play.frame_count : (int32_t)(TURN_SECONDS * fps + 0.5);
    render_def def = {.samples = FILM_SAMPLES};
    app_video video;
    render_image image = render_image_create(values->look.width, values->look.height);
    if (count < 1) count = 1;
    if (image.pixels == NULL) {
        app_say("There is not enough memory for the film.");
        return APP_OTHER;
    }
    app_stage_aim(&s->stage, s->play.positions, s->play.frame_count, frame_nodes(s, 0), &def);
    int status = app_video_open(&video, values->output, image.width, image.height, fps);
    for (int32_t i = 0; status == APP_DONE && i < count; i++) {
        if (!app_progress_tell(&s->progress, (float)i / (float)count, "filming")) {
            app_progress_end(&s->progress);
            app_say("%s: Stopped; nothing was written.", values->output);
            status = APP_OTHER;
            break;
        }
        status = shoot_picture(s, &def, s->play.frame_count > 1 ? i : 0, around ? (double)i / (double)count : 0.0,
                               &image, &video);
    }
    app_progress_end(&s->progress);
    status = app_video_close(&video, status);
    render_image_destroy(&image);
    return status;
}

/* Which of `count` frames are wanted: one for a still and for a film around one frame, else a range. */
static int choose_frames(const render_values *values, int32_t count, const char *what, int32_t *first, int32_t *last)
{
    *first = 0;
    *last = app_ending(values->output, still_endings) >= 0 ? 0 : count - 1;
    if (values->frame != NO_FRAME) *first = *last = values->frame;
    if (values->frames != NULL && !app_parse_frames(values->frames, first, last))
        return app_usage("--frames %s: Give two whole numbers from 0, the first not above the second, such as 0:59.",
                         values->frames);
    if (*last < 0) *last = count - 1;
    if (*first < count && *last < count) return APP_DONE;
    return app_usage("Frame %d is asked for: %s has %d frames, 0 to %d.", (int)(*first < count ? *last : *first), what,
                     (int)count, (int)count - 1);
}

static int load_cache(shoot *s, app_take *take, const sup_rig *rig)
{
    const render_values *values = s->values;
    int32_t first = 0, last = 0;
    int status = app_play_cache(take, rig, values->cache, &s->play);
    if (status == APP_DONE) status = choose_frames(values, s->play.frame_count, "the cache", &first, &last);
    if (status != APP_DONE) return status;
    if (s->play.frame_count == take->frame_count) s->nodes = app_judge_nodes(take, first, last - first + 1);
    if (s->nodes == NULL && (values->look.zoom != NULL || values->look.bones))
        return app_usage(
            "--zoom and --skeleton need the motion of the cache, which has %d frames and the motion %d: say "
            "--clip and --fps as for the bake.",
            (int)s->play.frame_count, (int)take->frame_count);
    s->play.positions = frame_positions(s, first);
    s->play.frame_count = last - first + 1;
    return APP_DONE;
}

/* Frames into memory: of the cache, or skinned now. */
static int load_frames(shoot *s, app_take *take, const sup_rig *rig)
{
    int32_t first = 0, last = 0;
    if (s->values->cache != NULL) return load_cache(s, take, rig);
    int status = choose_frames(s->values, take->frame_count, "the motion", &first, &last);
    if (status == APP_DONE) status = app_paint_check(&take->values->paint, &take->method, 1);
    if (status == APP_DONE) status = app_setup_check(take->values, &take->method, 1);
    if (status == APP_DONE)
        status = app_play_method(take, rig, take->method, take->params, first, last, &s->progress, &s->play);
    if (status == APP_DONE) s->nodes = app_judge_nodes(take, first, last - first + 1);
    return status;
}

/* What others call --skeleton is --skeleton-file here. */
static int fail_rig(const app_take *take, const sup_error *error)
{
    if (take->character->skin_count > 0 || error->result != SUP_ERROR_DATA)
        return app_fail(error, APP_PHASE_LOAD, take->values->input);
    app_say("%s: There is no mesh with a skeleton in it: give a skeleton with --skeleton-file FILE.skel.",
            take->values->input);
    return APP_INPUT;
}

static int render(app_take *take, const render_values *values)
{
    shoot s = {.values = values, .node_count = take->character->node_count};
    sup_rig_def def = app_take_rig_def(take->values);
    sup_rig *rig = NULL;
    sup_error error = {0};
    double began = app_milliseconds();
    bool film = app_ending(values->output, still_endings) < 0;
    if (sup_rig_create(&take->session.context, take->character, &def, &rig, &error) != SUP_OK)
        return fail_rig(take, &error);
    app_progress_begin(&s.progress, values->take.quiet || !film, false);
    int status = app_stage_open(&s.stage, &take->session.context, rig, &values->look);
    s.stage.obstacles = &take->obstacles;
    if (status == APP_DONE) status = load_frames(&s, take, rig);
    if (status == APP_DONE) status = film ? shoot_film(&s) : shoot_still(&s);
    app_progress_end(&s.progress);
    if (status == APP_DONE && !values->take.quiet)
        printf("%s: %d x %d, %s in %.2f s\n", app_clean(values->output), values->look.width, values->look.height,
               film ? "a film" : "a still", (app_milliseconds() - began) / 1e3);
    app_stage_close(&s.stage);
    app_play_close(&s.play);
    free(s.nodes);
    sup_rig_destroy(rig);
    return status;
}

static int check_values(render_values *values)
{
    bool still = app_ending(values->output, still_endings) >= 0, film = app_ending(values->output, film_endings) >= 0;
    if (!still && !film)
        return app_usage("%s: The ending of the output says what it is: .png, .mp4, .gif or .webm.", values->output);
    if (still && values->frames != NULL)
        return app_usage("--frames %s: A .png shows one frame: give --frame, or an .mp4, .gif or .webm.",
                         values->frames);
    if (values->frame != NO_FRAME && values->frames != NULL)
        return app_usage("--frames %s: Give --frame or --frames, not both.", values->frames);
    int status = film ? app_video_check(values->output) : APP_DONE;
    if (status == APP_DONE)
        status = still ? app_look_check(&values->look, 800, 800) : app_look_check(&values->look, 640, 640);
    return status;
}

int app_command_render(int argc, char **argv)
{
    render_values values = {.take.fps = 30.0, .frame = NO_FRAME};
    app_take take;
    int status = APP_DONE;
    if (!app_parse(&render_verb, argc, argv, &values, &status)) return status;
    status = check_values(&values);
    if (status != APP_DONE) return status;
    status = app_take_open(&take, &values.take);
    if (status == APP_DONE) status = render(&take, &values);
    app_take_close(&take);
    return status;
}

/* cmd_compare.c - `supple compare`: renders methods side by side in one image. */
#include "comparison.h"
#include "image.h"
#include "stage.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct compare_values {
    app_job_values job;
    app_view_options view;
    const char *output, *methods;
    int frame;
} compare_values;

static const char *const endings[] = {"png", NULL};

#define AT(field) offsetof(compare_values, field)
static const app_option compare_options[] = {
    APP_JOB_INPUT(compare_values),
    APP_OUTPUT(compare_values, "OUTPUT", "output image, .png"),
    APP_COMPARISON_METHODS(compare_values),
    APP_JOB_SET(compare_values),
    APP_JOB_PAINT(compare_values),
    APP_JOB_SETUP(compare_values),
    APP_ONE_FRAME(compare_values, "frame to show; default: the frame with the worst metrics"),
    APP_JOB_FRAMES(compare_values),
    APP_VIEW_OPTIONS(compare_values),
    {.kind = APP_FLAG, .name = "wire", .offset = AT(view.wire), .help = "draw triangle edges"},
    APP_JOB_PLAYBACK(compare_values),
};

static const app_verb compare_verb = {
    .name = "compare",
    .usage = "INPUT -o sheet.png [--methods linear,dualquat] [options]",
    .summary = "Renders several methods side by side in one image, with times and metrics below each.",
    .details = "Every method skins the whole frame range. The image shows one frame, by default the one with the most\n"
               "crossings, volume change and stretch; metrics are given for this frame and for the worst frame.\n\n"
               "Examples:\n"
               "  supple compare scene:human -o sheet.png --methods linear,dualquat\n"
               "  supple compare scene:human -o sheet.png --clip squat --methods projective:contact=off,projective\n"
               "  supple compare dancer.glb -o sheet.png --clip Samba --frame 40 --zoom LeftForeArm --color stretch\n\n"
               "Exit status: 0 success, 1 wrong usage, 2 bad input, 3 other errors.\n",
    .options = compare_options,
    .option_count = (int)(sizeof compare_options / sizeof compare_options[0]),
};

enum { NO_FRAME = -1, MAX_COLUMNS = 4 };

/* All lengths of the sheet are proportional to the panel width. */
typedef struct sheet {
    render_image image;
    int32_t columns, panel_width, panel_height, text_height, title_height;
    float unit; /* height of small text */
} sheet;

static const uint8_t DARK[3] = {38, 42, 51}, GREY[3] = {105, 112, 125};
static const uint8_t PAPER[3] = {241, 242, 243}; /* background color of the renderer */

static bool sheet_create(sheet *s, const app_view_options *view, int32_t count)
{
    s->panel_width = view->width;
    s->panel_height = view->height;
    s->columns = count < MAX_COLUMNS ? count : MAX_COLUMNS;
    s->unit = (float)view->width / 30.0f;
    s->text_height = (int32_t)(19.2f * s->unit);
    s->title_height = (int32_t)(3.4f * s->unit);
    int32_t rows = (count + s->columns - 1) / s->columns;
    s->image =
        render_image_create(s->columns * s->panel_width, s->title_height + rows * (s->panel_height + s->text_height));
    if (s->image.pixels == NULL) return false;
    for (size_t i = 0; i < 3 * (size_t)s->image.width * (size_t)s->image.height; i++)
        s->image.pixels[i] = PAPER[i % 3];
    return true;
}

static void sheet_paste(sheet *s, const render_image *picture, int32_t left, int32_t top)
{
    for (int32_t y = 0; y < picture->height; y++)
        memcpy(s->image.pixels + 3 * ((size_t)(top + y) * (size_t)s->image.width + (size_t)left),
               picture->pixels + 3 * (size_t)y * (size_t)picture->width, 3 * (size_t)picture->width);
}

static void text_right(sheet *s, float right, float baseline, const uint8_t *color, const char *text)
{
    image_text(&s->image, right - image_text_width(text, s->unit), baseline, s->unit, color, text);
}

/* Writes name, time and a table of metrics: at this frame, and at the worst frame. */
static void write_metrics(sheet *s, const sup_rig *rig, const app_entry *entry, int32_t frame, float left, float top)
{
    const sup_frame_measure *m = &entry->measure->frames[frame];
    const sup_motion_summary *all = &entry->measure->summary;
    double joint_here = app_metrics_joint_volume(rig, entry->measure, frame, frame).ratio;
    double joint_worst = app_metrics_joint_volume(rig, entry->measure, 0, entry->measure->frame_count - 1).ratio;
    const struct {
        const char *name;
        double here, worst;
        bool is_count;
    } rows[] = {{"volume", m->volume_ratio, all->volume_ratio, false},
                {"smallest joint volume", joint_here, joint_worst, false},
                {"crossing pairs", m->intersections, all->intersections, true},
                {"penetration", m->penetration, all->penetration, false},
                {"largest stretch", m->stretch_max, all->stretch_max, false},
                {"smallest stretch", m->stretch_min, all->stretch_min, false},
                {"flips", m->flips, all->flips, true},
                {"acceleration, RMS", (double)NAN, entry->acceleration.rms, false},
                {"acceleration, excess", (double)NAN, entry->acceleration.excess, false}};
    float u = s->unit, x = left + 1.5f * u, here = left + 20.0f * u, worst = left + 27.5f * u, y = top + 1.8f * u;
    char time[64];
    snprintf(time, sizeof time, "%.3g ms per frame", entry->playback.step_ms);
    text_right(s, worst, y, DARK, time);
    float available = worst - image_text_width(time, u) - x - u, width = image_text_width(entry->label, 1.5f * u);
    image_text(&s->image, x, y, 1.5f * u * (width > available ? available / width : 1.0f), DARK, entry->label);
    y += 2.2f * u;
    text_right(s, here, y, GREY, "this frame");
    text_right(s, worst, y, GREY, "worst");
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        y += 1.55f * u;
        image_text(&s->image, x, y, u, GREY, rows[i].name);
        text_right(s, here, y, DARK,
                   app_metric_text(&(app_metric){.is_count = rows[i].is_count, .value = rows[i].here}));
        text_right(s, worst, y, DARK,
                   app_metric_text(&(app_metric){.is_count = rows[i].is_count, .value = rows[i].worst}));
    }
}

static void write_title(sheet *s, const app_comparison *comparison, int32_t frame)
{
    const app_job *job = comparison->job;
    const char *input = job->values->input, *slash = strrchr(input, '/');
    char title[300];
    snprintf(title, sizeof title, "%s   %s%s   frame %d of %d", app_clean(slash != NULL ? slash + 1 : input),
             job->clip != NULL ? "clip " : "rest pose", job->clip != NULL ? app_clean(job->clip->name) : "",
             (int)(job->first_frame + frame), (int)job->frame_count);
    float height = 1.2f * s->unit, available = (float)s->image.width - 3.0f * s->unit,
          width = image_text_width(title, height);
    if (width > available) height *= available / width;
    image_text(&s->image, 1.5f * s->unit, 2.3f * s->unit, height, GREY, title);
}

static int draw(const app_comparison *comparison, const compare_values *values, int32_t frame, sheet *s)
{
    app_stage stage;
    render_def def = {0};
    render_image picture = render_image_create(values->view.width, values->view.height);
    int status = app_stage_open(&stage, &comparison->job->session.context, comparison->rig, &values->view);
    if (picture.pixels == NULL || !sheet_create(s, &values->view, comparison->entry_count)) {
        app_say("Out of memory for the image.");
        status = APP_OTHER;
    }
    if (status == APP_DONE) {
        app_stage_set_camera(&stage, app_comparison_positions(comparison, 0, frame), 1,
                             app_comparison_nodes(comparison, frame), &def);
        write_title(s, comparison, frame);
    }
    for (int32_t i = 0; status == APP_DONE && i < comparison->entry_count; i++) {
        int32_t left = i % s->columns * s->panel_width;
        int32_t top = s->title_height + i / s->columns * (s->panel_height + s->text_height);
        status = app_stage_render(&stage, app_comparison_positions(comparison, i, frame),
                                  app_comparison_nodes(comparison, frame), &def, &picture);
        sheet_paste(s, &picture, left, top);
        write_metrics(s, comparison->rig, &comparison->entries[i], frame, (float)left, (float)(top + s->panel_height));
    }
    app_stage_close(&stage);
    render_image_destroy(&picture);
    return status;
}

static int compare(app_comparison *comparison, app_job *job, const compare_values *values)
{
    app_progress progress;
    sheet s = {0};
    sup_error error = {0};
    app_progress_begin(&progress, values->job.quiet, false);
    int status = app_comparison_run(comparison, job, &progress);
    app_progress_end(&progress);
    if (status != APP_DONE) return status;
    int32_t frame =
        values->frame != NO_FRAME ? values->frame - job->first_frame : app_comparison_worst_frame(comparison);
    status = draw(comparison, values, frame, &s);
    if (status == APP_DONE && render_write_png(&s.image, values->output, &error) != SUP_OK)
        status = app_fail(&error, APP_PHASE_BAKE, values->output);
    if (status == APP_DONE && !values->job.quiet)
        printf("%s: frame %d, %d methods\n", app_clean(values->output), (int)(job->first_frame + frame),
               (int)comparison->entry_count);
    render_image_destroy(&s.image);
    return status;
}

static int check_values(compare_values *values)
{
    if (app_ending(values->output, endings) < 0)
        return app_usage("%s: The file extension of the output must be .png.", values->output);
    return app_view_check(&values->view, 480, 600);
}

static int check_frame(const app_job *job, int frame)
{
    if (frame == NO_FRAME || (frame >= job->first_frame && frame <= job->last_frame)) return APP_DONE;
    return app_usage("--frame %d: The frames are %d to %d.", frame, (int)job->first_frame, (int)job->last_frame);
}

int app_command_compare(int argc, char **argv)
{
    compare_values values = {.job.fps = 30.0, .frame = NO_FRAME};
    app_comparison comparison;
    app_job job;
    int status = APP_DONE;
    if (!app_parse(&compare_verb, argc, argv, &values, &status)) return status;
    status = check_values(&values);
    if (status == APP_DONE) status = app_comparison_choose(&comparison, values.methods, &values.job.set);
    if (status != APP_DONE) return status;
    values.job.set.count = 0; /* already applied by app_comparison_choose */
    status = app_job_open(&job, &values.job);
    if (status == APP_DONE) status = check_frame(&job, values.frame);
    if (status == APP_DONE) status = compare(&comparison, &job, &values);
    app_comparison_close(&comparison);
    app_job_close(&job);
    return status;
}

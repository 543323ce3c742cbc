/* cmd_report.c - `supple report`: a self-contained HTML page with images, plots and tables. */
#include "comparison.h"
#include "stage.h"
#include "svg.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

typedef struct report_values {
    app_job_values job;
    app_view_options view;
    const char *output, *methods;
} report_values;

static const char *const endings[] = {"html", "htm", NULL};

#define AT(field) offsetof(report_values, field)
static const app_option report_options[] = {
    APP_JOB_INPUT(report_values),          APP_OUTPUT(report_values, "OUTPUT", "output page, .html, self-contained"),
    APP_COMPARISON_METHODS(report_values), APP_JOB_SET(report_values),
    APP_JOB_PAINT(report_values),          APP_JOB_SETUP(report_values),
    APP_JOB_FRAMES(report_values),         APP_VIEW_OPTIONS(report_values),
    APP_JOB_PLAYBACK(report_values),
};

static const app_verb report_verb = {
    .name = "report",
    .usage = "INPUT -o report.html [options]",
    .summary = "Writes an HTML page that compares methods on an animation: images, plots, tables, settings, machine.",
    .details =
        "The page is a single file with a light and a dark theme. Its images show the frames with the most crossings,\n"
        "the largest volume change and the largest stretch over all methods.\n\n"
        "Examples:\n"
        "  supple report scene:human -o report.html\n"
        "  supple report dancer.glb -o report.html --clip Samba --methods linear,dualquat\n\n"
        "Exit status: 0 success, 1 wrong usage, 2 bad input, 3 other errors.\n",
    .options = report_options,
    .option_count = (int)(sizeof report_options / sizeof report_options[0]),
};

static const char style[] =
    ":root{color-scheme:light dark;--ground:#f6f7f9;--card:#fff;--ink:#1d2129;--soft:#5c6675;--line:#d9dde4;"
    "--s0:#c2410c;--s1:#1d4ed8;--s2:#047857;--s3:#7e22ce;--s4:#b45309;--s5:#0e7490;--s6:#be185d;--s7:#4d7c0f}\n"
    "@media(prefers-color-scheme:dark){:root{--ground:#14171c;--card:#1d2128;--ink:#e8eaee;--soft:#a2abb9;--line:#"
    "363c47;"
    "--s0:#fb923c;--s1:#7aa2ff;--s2:#34d399;--s3:#c99bff;--s4:#fbbf24;--s5:#4fd1e8;--s6:#f78fbf;--s7:#a3d65c}}\n"
    "*{box-sizing:border-box}body{margin:0;background:var(--ground);color:var(--ink);"
    "font:16px/1.5 system-ui,-apple-system,'Segoe UI',Roboto,'DejaVu Sans',sans-serif}"
    "main{max-width:1160px;margin:0 auto;padding:32px 20px 64px}h1{font-size:28px;line-height:1.2;margin:0 0 4px}"
    "h2{font-size:20px;margin:40px 0 12px}h3{font-size:15px;margin:0 0 2px}p{margin:4px 0}.soft{color:var(--soft)}"
    ".card{background:var(--card);border:1px solid var(--line);border-radius:10px;padding:14px 16px;overflow-x:auto}"
    ".grid2{display:grid;grid-template-columns:repeat(auto-fit,minmax(min(460px,100%),1fr));gap:14px}"
    ".row{display:flex;gap:14px;flex-wrap:wrap}figure{margin:0;flex:1 1 240px;max-width:420px}"
    "figure img{width:100%;height:auto;display:block;border-radius:8px}figcaption{margin-top:4px;font-size:14px}"
    "table{border-collapse:collapse;width:100%;font-size:15px}th,td{padding:6px 10px;text-align:right;"
    "border-bottom:1px solid "
    "var(--line);font-variant-numeric:tabular-nums}th:first-child,td:first-child{text-align:left}"
    "thead th{color:var(--soft);font-weight:600;vertical-align:bottom}tbody tr:last-child td{border-bottom:0}"
    "td.best{font-weight:700}svg{width:100%;height:auto;display:block}"
    ".label{fill:var(--soft);font:12px system-ui,'DejaVu Sans',sans-serif}"
    "line.grid{stroke:var(--line);stroke-width:1}.axis{stroke:var(--soft);stroke-width:1}"
    ".ideal{stroke:var(--soft);stroke-width:1;stroke-dasharray:5 4}.mark{stroke:var(--soft);stroke-width:1;opacity:.6}"
    ".line{fill:none;stroke-width:2;stroke-linejoin:round}.key{display:inline-block;width:18px;height:4px;"
    "border-radius:2px;vertical-align:middle;margin-right:6px}.keys>span{margin-right:18px;white-space:nowrap}\n";

static void write_head(FILE *file, const app_comparison *comparison)
{
    const app_job *job = comparison->job;
    const char *input = job->values->input, *slash = strrchr(input, '/');
    char day[32] = "";
    time_t now = time(NULL);
    struct tm local;
    if (localtime_r(&now, &local) != NULL) strftime(day, sizeof day, "%Y-%m-%d", &local);
    fprintf(file, "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">"
                  "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\"><title>");
    app_html_text(file, slash != NULL ? slash + 1 : input);
    fprintf(file, " - Supple report</title>\n<style>\n%s", style);
    for (int k = 0; k < 8; k++)
        fprintf(file, ".line.s%d{stroke:var(--s%d)}.dot.s%d{fill:var(--s%d)}.key.s%d{background:var(--s%d)}", k, k, k,
                k, k, k);
    fprintf(file, "\n</style></head><body><main>\n<h1>");
    app_html_text(file, slash != NULL ? slash + 1 : input);
    fprintf(file, "</h1>\n<p class=\"soft\">");
    if (job->clip != NULL) {
        fprintf(file, "Clip ");
        app_html_text(file, job->clip->name[0] != '\0' ? job->clip->name : "(unnamed)");
        fprintf(file, ", ");
    } else {
        fprintf(file, "Rest pose, ");
    }
    fprintf(file, "%s frames at %g frames per second, %s vertices, %s skin triangles, %s joints. %s</p>\n",
            app_grouped(comparison->frame_count), job->values->fps, app_grouped(comparison->rig->vertex_count),
            app_grouped(comparison->rig->skin_triangle_count), app_grouped(comparison->rig->joint_count), day);
}

/* Distance of a metric from its ideal value: smaller is better. */
static double deviation(const app_metric *metric)
{
    if (metric->value < 0.0 || !isfinite(metric->value)) return INFINITY;
    bool is_ratio = strstr(metric->name, "volume") != NULL || strstr(metric->name, "stretch") != NULL;
    return is_ratio ? fabs(log(fmax(metric->value, 1e-9))) : metric->value;
}

static void write_summary(FILE *file, const app_comparison *comparison)
{
    app_metric metrics[APP_COMPARISON_LIMIT][APP_METRIC_COUNT] = {0};
    fprintf(file, "<h2>Metrics</h2>\n<div class=\"card\"><table><thead><tr><th>worst over all frames</th>");
    for (int32_t i = 0; i < comparison->entry_count; i++) {
        app_metrics_list(comparison->rig, comparison->entries[i].measure, &comparison->entries[i].acceleration,
                         metrics[i]);
        fprintf(file, "<th><span class=\"key s%d\"></span>%s</th>", (int)(i % 8), comparison->entries[i].label);
    }
    fprintf(file, "</tr></thead><tbody>\n<tr><td>milliseconds per frame</td>");
    for (int32_t i = 0; i < comparison->entry_count; i++)
        fprintf(file, "<td>%.3g</td>", comparison->entries[i].playback.step_ms);
    fprintf(file, "</tr>\n<tr><td>milliseconds to bind</td>");
    for (int32_t i = 0; i < comparison->entry_count; i++)
        fprintf(file, "<td>%.3g</td>", comparison->entries[i].playback.bind_ms);
    fprintf(file, "</tr>\n");
    for (int k = 0; k < APP_METRIC_COUNT; k++) {
        const app_metric *best = &metrics[0][k];
        for (int32_t i = 1; i < comparison->entry_count; i++)
            if (deviation(&metrics[i][k]) < deviation(best)) best = &metrics[i][k];
        fprintf(file, "<tr><td title=\"%s\">%s<br><span class=\"soft\">%s</span></td>", metrics[0][k].help,
                metrics[0][k].name, metrics[0][k].help);
        for (int32_t i = 0; i < comparison->entry_count; i++) {
            const char *value = app_metric_text(&metrics[i][k]); /* equal as displayed: equally good */
            bool is_best = comparison->entry_count > 1 && strcmp(value, app_metric_text(best)) == 0;
            fprintf(file, "<td%s>%s</td>", is_best ? " class=\"best\"" : "", value);
        }
        fprintf(file, "</tr>\n");
    }
    fprintf(file, "<tr><td>not finite<br><span class=\"soft\">vertices, all frames</span></td>");
    for (int32_t i = 0; i < comparison->entry_count; i++)
        fprintf(file, "<td>%s</td>", app_grouped((long long)comparison->entries[i].measure->summary.nonfinite));
    fprintf(file, "</tr>\n</tbody></table></div>\n");
}

static void write_keys(FILE *file, const app_comparison *comparison)
{
    fprintf(file, "<p class=\"keys\">");
    for (int32_t i = 0; i < comparison->entry_count; i++)
        fprintf(file, "<span><span class=\"key s%d\"></span>%s</span>", (int)(i % 8), comparison->entries[i].label);
    fprintf(file, "</p>\n");
}

/* A per-frame metric to plot. */
typedef struct plot_spec {
    const char *title, *help;
    size_t offset; /* in sup_frame_measure */
    bool is_count;
    double ideal;
} plot_spec;

static double frame_number(const sup_frame_measure *frame, const plot_spec *what)
{
    int32_t count = 0;
    double number = 0.0;
    const char *address = (const char *)frame + what->offset;
    if (what->is_count)
        memcpy(&count, address, sizeof count);
    else
        memcpy(&number, address, sizeof number);
    return what->is_count ? (double)count : number;
}

static bool write_plot(FILE *file, const app_comparison *comparison, const plot_spec *what, int32_t mark)
{
    app_series series[APP_COMPARISON_LIMIT];
    int32_t frames = comparison->frame_count;
    double *values = calloc((size_t)comparison->entry_count * (size_t)frames + 1, sizeof *values);
    if (values == NULL) return false;
    for (int32_t i = 0; i < comparison->entry_count; i++) {
        double *series_values = values + (size_t)i * (size_t)frames;
        for (int32_t f = 0; f < frames; f++)
            series_values[f] = frame_number(&comparison->entries[i].measure->frames[f], what);
        series[i] = (app_series){comparison->entries[i].label, series_values, 1};
    }
    app_plot plot = {.title = what->title,
                     .help = what->help,
                     .first = comparison->job->first_frame,
                     .count = frames,
                     .mark = mark,
                     .ideal = what->ideal,
                     .series = series,
                     .series_count = comparison->entry_count};
    fprintf(file, "<div class=\"card\"><h3>%s</h3><p class=\"soft\">%s</p>", what->title, what->help);
    app_svg_plot(file, &plot);
    fprintf(file, "</div>\n");
    free(values);
    return true;
}

#define FIELD(name) offsetof(sup_frame_measure, name)
static bool write_plots(FILE *file, const app_comparison *comparison, int32_t mark)
{
    static const plot_spec plots[] = {
        {"Volume", "enclosed volume / rest volume", FIELD(volume_ratio), false, 1.0},
        {"Crossing pairs", "intersecting triangle pairs that do not intersect at rest", FIELD(intersections), true,
         0.0},
        {"Penetration", "maximum self-penetration depth / character size", FIELD(penetration), false, 0.0},
        {"Largest stretch", "longest edge / its rest length", FIELD(stretch_max), false, 1.0},
        {"Smallest stretch", "shortest edge / its rest length", FIELD(stretch_min), false, 1.0},
        {"Flips", "triangles flipped against their neighbours", FIELD(flips), true, 0.0},
        {"Roughness", "change of the Laplacian / mean edge length", FIELD(roughness), false, 0.0},
        {"Angle distortion", "mean ratio of the singular values of the triangles", FIELD(angle_mean), false, 1.0},
    };
    bool done = true;
    fprintf(file, "<h2>Over time</h2>\n");
    write_keys(file, comparison);
    fprintf(
        file,
        "<p class=\"soft\">Horizontal axis: frames; dashed line: ideal value; vertical line: frame %d, the worst.</p>\n"
        "<div class=\"grid2\">\n",
        (int)(comparison->job->first_frame + mark));
    for (size_t i = 0; done && i < sizeof plots / sizeof plots[0]; i++)
        done = write_plot(file, comparison, &plots[i], mark);
    fprintf(file, "</div>\n");
    return done;
}

static int write_picture(FILE *file, const app_comparison *comparison, app_stage *stage, int32_t entry, int32_t frame,
                         const render_def *def, render_image *image)
{
    const char *name = comparison->entries[entry].label;
    size_t size = 0;
    int status = app_stage_render(stage, app_comparison_positions(comparison, entry, frame),
                                  app_comparison_nodes(comparison, frame), def, image);
    uint8_t *png = status == APP_DONE ? render_encode_png(image, &size) : NULL;
    if (png == NULL) return status != APP_DONE ? status : APP_OTHER;
    fprintf(file, "<figure><img alt=\"%s, frame %d\" src=\"", name, (int)(comparison->job->first_frame + frame));
    render_write_data_uri(png, size, file);
    free(png);
    fprintf(file, "\"><figcaption><span class=\"key s%d\"></span>%s</figcaption></figure>\n", (int)(entry % 8), name);
    return APP_DONE;
}

/* Writes images of all methods at one frame. */
static int write_pictures(FILE *file, const app_comparison *comparison, const report_values *values, const char *title,
                          app_color color, int32_t frame)
{
    app_view_options view = values->view;
    app_stage stage;
    render_def def = {0};
    render_image image = render_image_create(view.width, view.height);
    if (view.color == APP_COLOR_NONE) view.color = (int)color;
    int status = app_stage_open(&stage, &comparison->job->session.context, comparison->rig, &view);
    if (image.pixels == NULL) status = APP_OTHER;
    fprintf(file, "<h2>%s: frame %d</h2>\n<div class=\"row\">\n", title, (int)(comparison->job->first_frame + frame));
    if (status == APP_DONE)
        app_stage_set_camera(&stage, app_comparison_positions(comparison, 0, frame), 1,
                             app_comparison_nodes(comparison, frame), &def);
    for (int32_t i = 0; status == APP_DONE && i < comparison->entry_count; i++)
        status = write_picture(file, comparison, &stage, i, frame, &def, &image);
    fprintf(file, "</div>\n");
    app_stage_close(&stage);
    render_image_destroy(&image);
    return status;
}

typedef double frame_score(const sup_frame_measure *frame);

static double by_crossings(const sup_frame_measure *frame)
{
    return frame->intersections + frame->penetration;
}

static double by_volume(const sup_frame_measure *frame)
{
    return fabs(frame->volume_ratio - 1.0);
}

static double by_stretch(const sup_frame_measure *frame)
{
    return frame->stretch_max;
}

static int32_t worst_frame(const app_comparison *comparison, frame_score *score)
{
    int32_t worst = 0;
    double highest = -INFINITY;
    for (int32_t i = 0; i < comparison->entry_count; i++)
        for (int32_t f = 0; f < comparison->frame_count; f++) {
            double here = score(&comparison->entries[i].measure->frames[f]);
            if (here > highest) {
                highest = here;
                worst = f;
            }
        }
    return worst;
}

static int write_worst_frames(FILE *file, const app_comparison *comparison, const report_values *values)
{
    const struct {
        const char *title;
        frame_score *score;
        app_color color;
    } rows[] = {{"Most crossings (red: crossing or penetrating)", by_crossings, APP_COLOR_CONTACT},
                {"Largest volume change", by_volume, APP_COLOR_NONE},
                {"Largest stretch (red: double length, blue: half)", by_stretch, APP_COLOR_STRETCH}};
    int status = APP_DONE;
    for (size_t i = 0; status == APP_DONE && i < sizeof rows / sizeof rows[0]; i++)
        status = write_pictures(file, comparison, values, rows[i].title, rows[i].color,
                                worst_frame(comparison, rows[i].score));
    return status;
}

/* Writes the smallest volume ratio at each joint, largest loss over all methods first. */
static void write_bends(FILE *file, const app_comparison *comparison)
{
    enum { SHOWN = 12 };
    const sup_rig *rig = comparison->rig;
    double *low = calloc((size_t)comparison->entry_count * (size_t)rig->joint_count + 1, sizeof *low);
    bool *shown = calloc((size_t)rig->joint_count + 1, sizeof *shown);
    for (int32_t i = 0; low != NULL && i < comparison->entry_count; i++)
        for (int32_t j = 0; j < rig->joint_count; j++)
            low[(size_t)i * (size_t)rig->joint_count + (size_t)j] =
                app_metrics_region_range(comparison->entries[i].measure, 2 * j + 1).low;
    fprintf(file,
            "<h2>Volume at the joints</h2>\n<div class=\"card\"><table><thead><tr><th>joint, minimum volume / rest"
            "</th>");
    for (int32_t i = 0; i < comparison->entry_count; i++)
        fprintf(file, "<th>%s</th>", comparison->entries[i].label);
    fprintf(file, "</tr></thead><tbody>\n");
    for (int row = 0; low != NULL && shown != NULL && row < SHOWN; row++) {
        int32_t worst = -1;
        double lowest = INFINITY;
        for (int32_t k = 0; k < comparison->entry_count * rig->joint_count; k++)
            if (!shown[k % rig->joint_count] && low[k] < lowest) {
                lowest = low[k];
                worst = k % rig->joint_count;
            }
        if (worst < 0) break;
        shown[worst] = true;
        fprintf(file, "<tr><td>");
        app_html_text(file, rig->character->nodes[rig->joint_node[worst]].name);
        fprintf(file, "</td>");
        for (int32_t i = 0; i < comparison->entry_count; i++)
            fprintf(file, "<td>%.4f</td>", low[(size_t)i * (size_t)rig->joint_count + (size_t)worst]);
        fprintf(file, "</tr>\n");
    }
    fprintf(file, "</tbody></table></div>\n");
    free(low);
    free(shown);
}

static void write_setting(FILE *file, const char *name, const char *value)
{
    fprintf(file, "<tr><td>%s</td><td>", name);
    app_html_text(file, value);
    fprintf(file, "</td></tr>\n");
}

static void write_settings(FILE *file, const app_comparison *comparison)
{
    const app_job_values *values = comparison->job->values;
    app_machine machine = app_machine_find();
    char text[200];
    fprintf(file, "<h2>Settings</h2>\n<div class=\"grid2\"><div class=\"card\"><h3>Run</h3><table><tbody>\n");
    write_setting(file, "input", values->input);
    if (values->motion != NULL) write_setting(file, "motion", values->motion);
    write_setting(file, "weights", app_weight_choices[values->weights]);
    snprintf(text, sizeof text, "%d to %d", (int)comparison->job->first_frame, (int)comparison->job->last_frame);
    write_setting(file, "frames", text);
    snprintf(text, sizeof text, "%d", (int)comparison->job->session.context.tasks.worker_count);
    write_setting(file, "threads", text);
    snprintf(text, sizeof text, "%d.%d.%d", SUPPLE_VERSION_MAJOR, SUPPLE_VERSION_MINOR, SUPPLE_VERSION_PATCH);
    write_setting(file, "Supple", text);
    write_setting(file, "processor", machine.processor);
    snprintf(text, sizeof text, "%d", machine.cores);
    write_setting(file, "cores", text);
    write_setting(file, "system", machine.system);
    write_setting(file, "compiler", machine.compiler);
    fprintf(file, "</tbody></table></div>\n");
    for (int32_t i = 0; i < comparison->entry_count; i++) {
        const app_entry *entry = &comparison->entries[i];
        fprintf(file, "<div class=\"card\"><h3>%s</h3><p class=\"soft\">", entry->label);
        app_html_text(file, entry->method->summary);
        fprintf(file, "</p><table><tbody>\n");
        for (int32_t p = 0; p < entry->method->param_count; p++) {
            const sup_param *param = &entry->method->params[p];
            if (param->type == SUP_PARAM_CHOICE)
                snprintf(text, sizeof text, "%s", param->choices[(int)entry->params[p]]);
            else if (param->type == SUP_PARAM_BOOL)
                snprintf(text, sizeof text, "%s", entry->params[p] != 0.0 ? "on" : "off");
            else
                snprintf(text, sizeof text, "%.6g %s", entry->params[p], param->unit);
            write_setting(file, param->name, text);
        }
        fprintf(file, "</tbody></table></div>\n");
    }
    fprintf(file, "</div>\n");
}

static int write_page(FILE *file, const app_comparison *comparison, const report_values *values)
{
    int32_t mark = app_comparison_worst_frame(comparison);
    write_head(file, comparison);
    write_summary(file, comparison);
    int status = write_worst_frames(file, comparison, values);
    if (status == APP_DONE && !write_plots(file, comparison, mark)) status = APP_OTHER;
    write_bends(file, comparison);
    write_settings(file, comparison);
    fprintf(file, "</main></body></html>\n");
    return status;
}

/* Writes a temporary file, then renames it. */
static int write_file(const app_comparison *comparison, const report_values *values)
{
    char temporary[4200];
    if (snprintf(temporary, sizeof temporary, "%s.part%ld", values->output, (long)getpid()) >= (int)sizeof temporary)
        return app_usage("%s: The path is too long.", values->output);
    FILE *file = fopen(temporary, "wb");
    if (file == NULL) {
        app_say("%s: The page cannot be written: %s.", values->output, strerror(errno));
        return APP_OTHER;
    }
    int status = write_page(file, comparison, values);
    bool written = ferror(file) == 0;
    written = fclose(file) == 0 && written;
    if (status == APP_DONE && (!written || rename(temporary, values->output) != 0)) {
        app_say("%s: The page cannot be written: %s.", values->output, strerror(errno));
        status = APP_OTHER;
    }
    if (status != APP_DONE) remove(temporary);
    return status;
}

static int report(app_comparison *comparison, app_job *job, const report_values *values)
{
    app_progress progress;
    app_progress_begin(&progress, values->job.quiet, false);
    int status = app_comparison_run(comparison, job, &progress);
    if (status == APP_DONE) {
        app_progress_report(&progress, 1.0f, "rendering");
        status = write_file(comparison, values);
    }
    app_progress_end(&progress);
    if (status == APP_DONE && !values->job.quiet)
        printf("%s: %d methods, %s frames\n", app_clean(values->output), (int)comparison->entry_count,
               app_grouped(comparison->frame_count));
    return status;
}

static int check_values(report_values *values)
{
    if (app_ending(values->output, endings) < 0)
        return app_usage("%s: The file extension of the output must be .html.", values->output);
    return app_view_check(&values->view, 420, 525);
}

int app_command_report(int argc, char **argv)
{
    report_values values = {.job.fps = 30.0};
    app_comparison comparison;
    app_job job;
    int status = APP_DONE;
    if (!app_parse(&report_verb, argc, argv, &values, &status)) return status;
    status = check_values(&values);
    if (status == APP_DONE) status = app_comparison_choose(&comparison, values.methods, &values.job.set);
    if (status != APP_DONE) return status;
    values.job.set.count = 0; /* already applied by app_comparison_choose */
    status = app_job_open(&job, &values.job);
    if (status == APP_DONE) status = report(&comparison, &job, &values);
    app_comparison_close(&comparison);
    app_job_close(&job);
    return status;
}

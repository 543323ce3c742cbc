/* gauntlet_html.c - the page of check_gauntlet: counts, totals, and failing rows with pictures of worst frames. */
#include "gauntlet.h"

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifdef GAUNTLET_RENDER
#include "render.h"
#endif

static const char style[] =
    ":root{color-scheme:light "
    "dark;--ground:#f6f7f9;--card:#fff;--ink:#1d2129;--soft:#5c6675;--line:#d9dde4;--bad:#b42318}"
    "@media(prefers-color-scheme:dark){:root{--ground:#14171c;--card:#1d2128;--ink:#e8eaee;--soft:#a2abb9;--line:#"
    "363c47;"
    "--bad:#ff8a7a}}"
    "*{box-sizing:border-box}body{margin:0;background:var(--ground);color:var(--ink);"
    "font:16px/1.5 system-ui,-apple-system,'Segoe UI',Roboto,'DejaVu Sans',sans-serif}"
    "main{max-width:1160px;margin:0 auto;padding:32px 20px 64px}h1{font-size:28px;margin:0 0 4px}"
    "h2{font-size:20px;margin:40px 0 12px}h3{font-size:16px;margin:0 0 2px}p{margin:4px 0}.soft{color:var(--soft)}"
    ".bad{color:var(--bad)}.card{background:var(--card);border:1px solid var(--line);border-radius:10px;"
    "padding:14px 16px;overflow-x:auto;margin:0 0 14px}"
    "table{border-collapse:collapse;font-size:15px}th,td{padding:4px 12px;text-align:right;"
    "border-bottom:1px solid "
    "var(--line);font-variant-numeric:tabular-nums}th:first-child,td:first-child{text-align:left}"
    ".case{display:flex;gap:16px;flex-wrap:wrap}.case img{display:block;border-radius:8px;max-width:100%}"
    ".case>div{flex:1 1 300px}ul{margin:4px 0;padding-left:20px}";

typedef struct picture {
    unsigned char *bytes; /* PNG */
    size_t size;
} picture;

typedef struct page {
    const gauntlet_options *options;
    const gauntlet_source *sources;
    const gauntlet_row **failing; /* [failing_count] worst first */
    int32_t failing_count, picture_count;
    picture *pictures; /* [picture_count] */
} page;

/* --- Pictures --- */

#ifdef GAUNTLET_RENDER
enum { PICTURE_SIZE = 200 };

typedef struct picture_job {
    const gauntlet_options *options;
    const gauntlet_row *row;
    int fd;
    int32_t task;
    bool done;
} picture_job;

/* Red where the skin crosses itself and did not at rest. */
static void color_crossings(gauntlet_character *c, const float *positions, float *colors)
{
    static const float pale[3] = {0.62f, 0.60f, 0.57f}, red[3] = {0.72f, 0.06f, 0.04f};
    const sup_rig *rig = c->rig;
    size_t skin_count = (size_t)rig->skin_vertex_count;
    float *skin = gauntlet_must(malloc((3 * skin_count + 3) * sizeof *skin));
    unsigned char *crosses = gauntlet_must(calloc(skin_count + 1, 1));
    sup_frame_measure frame;
    int32_t pair_count = 0;
    sup_rig_surface_gather(rig, positions, skin);
    if (sup_measurer_frame(c->measurer, skin, &frame, NULL) == SUP_OK) {
        const int32_t *pairs = sup_measurer_pairs(c->measurer, &pair_count);
        for (int32_t i = 0; i < 6 * pair_count; i++)
            crosses[rig->skin_triangles[3 * (size_t)pairs[i / 3] + (size_t)(i % 3)]] = 1;
    }
    for (int32_t v = 0; v < rig->vertex_count; v++) {
        bool here = rig->vertex_to_skin[v] >= 0 && crosses[rig->vertex_to_skin[v]] != 0;
        memcpy(colors + 3 * (size_t)v, here ? red : pale, sizeof pale);
    }
    free(crosses);
    free(skin);
}

static bool draw(gauntlet_character *c, const float *positions, const render_def *def, int32_t left,
                 render_image *sheet)
{
    sup_error error = {0};
    render_image image = render_image_create(def->width, def->height);
    float *colors = gauntlet_must(malloc((size_t)c->rig->vertex_count * 3 * sizeof *colors + 1));
    color_crossings(c, positions, colors);
    render_scene scene = {.vertex_count = c->rig->vertex_count,
                          .triangle_count = c->character->triangle_count,
                          .positions = positions,
                          .triangles = c->character->triangles,
                          .colors = colors,
                          .up = 1};
    bool done = image.pixels != NULL && render_picture(NULL, &scene, def, &image, &error) == SUP_OK;
    for (int32_t y = 0; done && y < image.height; y++)
        memcpy(sheet->pixels + 3 * ((size_t)y * (size_t)sheet->width + (size_t)left),
               image.pixels + 3 * (size_t)y * (size_t)image.width, 3 * (size_t)image.width);
    free(colors);
    render_image_destroy(&image);
    return done;
}

/* Bakes the motion of the row again up to its worst frame and sends linear blending and the method side by side. */
static void make_picture(void *user, gauntlet_character *c, const gauntlet_motion *m)
{
    picture_job *job = user;
    const gauntlet_row *row = job->row;
    sup_context context = {0};
    sup_error error = {0};
    double ms;
    char label[GAUNTLET_NAME];
    gauntlet_motion_label(job->options, m->name, label);
    if (job->done || strcmp(label, row->motion) != 0) return;
    job->done = true;
    int32_t step = job->options->rates ? (int32_t)(m->fps / job->options->fps + 0.5) : 1;
    gauntlet_motion until = gauntlet_every(m, step);
    if (row->result.worst_frame < until.frame_count) until.frame_count = row->result.worst_frame + 1;
    size_t stride = 3 * (size_t)c->rig->vertex_count, at = stride * (size_t)(until.frame_count - 1), size = 0;
    float *linear = gauntlet_bake(&context, c, &until, "linear", NULL, 0, &ms, &error);
    float *own =
        gauntlet_bake(&context, c, &until, row->method, job->options->settings, (uint32_t)row->trial, &ms, &error);
    render_image sheet = render_image_create(2 * PICTURE_SIZE, PICTURE_SIZE);
    render_def def = {.width = PICTURE_SIZE, .height = PICTURE_SIZE};
    if (linear != NULL && own != NULL && sheet.pixels != NULL) {
        render_def_camera(&def, "three-quarter");
        float *both = gauntlet_must(malloc(2 * stride * sizeof *both + 1)); /* the camera shows both */
        memcpy(both, linear + at, stride * sizeof *both);
        memcpy(both + stride, own + at, stride * sizeof *both);
        render_def_frame(&def, both, 2 * (int64_t)c->rig->vertex_count, 1);
        free(both);
        unsigned char *png = NULL;
        if (draw(c, linear + at, &def, 0, &sheet) && draw(c, own + at, &def, PICTURE_SIZE, &sheet))
            png = render_encode_png(&sheet, &size);
        if (png != NULL) gauntlet_send(job->fd, job->task, GAUNTLET_BYTES, png, size);
        free(png);
    }
    render_image_destroy(&sheet);
    free(own);
    free(linear);
    free(until.world);
}

static void work(void *user, int32_t task, int fd)
{
    const page *p = user;
    const gauntlet_row *row = p->failing[task];
    picture_job job = {.options = p->options, .row = row, .fd = fd, .task = task};
    gauntlet_range range = gauntlet_range_of(p->options, 0, 1);
    sup_context context = {0};
    gauntlet_character c;
    sup_error error = {0};
    if (!p->options->quick) range.filter = row->motion;
    if (!gauntlet_open(&context, p->sources[row->character_index].path, row->character, &c, &error)) return;
    gauntlet_each_motion(&c, p->options->assets, &range, make_picture, &job);
    gauntlet_close(&c);
}

static void receive(void *user, int32_t task, int32_t kind, const void *bytes, int32_t size)
{
    picture *to = &((page *)user)->pictures[task];
    if (kind != GAUNTLET_BYTES) return;
    to->bytes = gauntlet_must(realloc(to->bytes, to->size + (size_t)size));
    memcpy(to->bytes + to->size, bytes, (size_t)size);
    to->size += (size_t)size;
}

static void make_pictures(page *p)
{
    if (!gauntlet_run_jobs(p->options->jobs, p->picture_count, work, receive, p))
        fprintf(stderr, "check_gauntlet: some pictures could not be made\n");
}

static void write_picture(FILE *file, const page *p, int32_t i)
{
    const gauntlet_row *row = p->failing[i];
    if (i >= p->picture_count || p->pictures[i].bytes == NULL) return;
    fprintf(file, "<img width=\"%d\" height=\"%d\" alt=\"linear blending and %s in frame %d\" src=\"", 2 * PICTURE_SIZE,
            PICTURE_SIZE, row->method, (int)row->result.worst_frame);
    render_write_data_uri(p->pictures[i].bytes, p->pictures[i].size, file);
    fprintf(file, "\">");
}
#else
static void make_pictures(page *p)
{
    p->picture_count = 0;
    fprintf(stderr, "check_gauntlet: no pictures: Embree and libpng were not found when this was built\n");
}

static void write_picture(FILE *file, const page *p, int32_t i)
{
    (void)file;
    (void)p;
    (void)i;
}
#endif

/* --- The page --- */

static void write_text(FILE *file, const char *text)
{
    for (; *text != '\0'; text++) {
        const char *entity = *text == '<' ? "&lt;" : *text == '>' ? "&gt;" : *text == '&' ? "&amp;" : NULL;
        if (entity != NULL)
            fputs(entity, file);
        else
            fputc(*text, file);
    }
}

/* A line of the table of counts: the number at `offset` in each cell. */
static void write_counts_line(FILE *file, const gauntlet_summary *s, const char *name, size_t offset)
{
    fprintf(file, "<tr><td>");
    write_text(file, name);
    fprintf(file, "</td>");
    for (int32_t m = 0; m < s->method_count; m++)
        for (int half = 0; half < 2; half++) {
            int32_t number;
            memcpy(&number, (const char *)&s->cells[m][half] + offset, sizeof number);
            fprintf(file, "<td>%d</td>", (int)number);
        }
    fprintf(file, "</tr>\n");
}

static void write_counts(FILE *file, const gauntlet_summary *s)
{
    fprintf(file, "<h2>Cases</h2>\n<div class=\"card\"><table><thead><tr><th></th>");
    for (int32_t m = 0; m < s->method_count; m++)
        fprintf(file, "<th>%s, tuning</th><th>judging</th>", s->methods[m]);
    fprintf(file, "</tr></thead><tbody>\n");
    write_counts_line(file, s, "cases", offsetof(gauntlet_cell, cases));
    write_counts_line(file, s, "failing", offsetof(gauntlet_cell, failed));
    write_counts_line(file, s, "known failures", offsetof(gauntlet_cell, known));
    for (int32_t b = 0; b < s->bound_count; b++)
        write_counts_line(file, s, s->bounds[b], offsetof(gauntlet_cell, by_bound) + (size_t)b * sizeof(int32_t));
    fprintf(file, "</tbody></table></div>\n");
}

static void write_totals(FILE *file, const gauntlet_summary *s)
{
    fprintf(file, "<h2>Totals of projective</h2>\n<div class=\"card\"><table><thead><tr><th>total</th><th>value</th>"
                  "<th>at least</th><th></th></tr></thead><tbody>\n");
    for (int i = 0; i < GAUNTLET_TOTALS; i++)
        if (s->totals[i].measured)
            fprintf(file, "<tr><td>%s</td><td>%.3f</td><td>%.2f</td><td%s</td></tr>\n", s->totals[i].name,
                    s->totals[i].value, s->totals[i].limit, s->totals[i].holds ? ">holds" : " class=\"bad\">fails");
    fprintf(file, "</tbody></table></div>\n");
}

static void write_case(FILE *file, const page *p, int32_t i)
{
    const gauntlet_row *row = p->failing[i];
    const gauntlet_result *r = &row->result;
    fprintf(file, "<div class=\"card case\">");
    write_picture(file, p, i);
    fprintf(file, "<div><h3>");
    write_text(file, row->character);
    fprintf(file, ", ");
    write_text(file, row->motion);
    fprintf(file,
            ", %s</h3>\n<p class=\"soft\">%s half, score %.2f%s, worst frame %d: smallest volume %.3f, crossing "
            "pairs %lld (linear %lld), flips %d, largest edge ratio %.2f, roughness %.3f</p>\n<ul>\n",
            row->method, row->half == 0 ? "tuning" : "judging", row->verdict.score,
            gauntlet_status_of(&row->verdict) == GAUNTLET_KNOWN ? ", known" : "", (int)r->worst_frame, r->volume_min,
            (long long)r->crossings, (long long)row->linear_crossings, (int)r->flips, r->stretch_max, r->roughness);
    for (int32_t k = 0; k < row->verdict.count; k++) {
        const gauntlet_failure *f = &row->verdict.failures[k];
        fprintf(file, "<li>%s: %.4g, bound %.4g%s</li>\n", f->bound, f->value, f->limit, f->known ? " (known)" : "");
    }
    fprintf(file, "</ul></div></div>\n");
}

/* Failing rows before known ones, the highest score first. */
static int by_score(const void *a, const void *b)
{
    const gauntlet_row *x = *(const gauntlet_row *const *)a, *y = *(const gauntlet_row *const *)b;
    gauntlet_status s = gauntlet_status_of(&x->verdict), t = gauntlet_status_of(&y->verdict);
    if (s != t) return s > t ? -1 : 1;
    if (x->verdict.score != y->verdict.score) return x->verdict.score > y->verdict.score ? -1 : 1;
    return (x > y) - (x < y); /* the order of the rows */
}

bool gauntlet_write_page(const gauntlet_options *options, const gauntlet_source *sources, const gauntlet_row *rows,
                         int32_t count, const gauntlet_summary *summary)
{
    page p = {.options = options, .sources = sources};
    FILE *file = fopen(options->html, "w");
    if (file == NULL) {
        fprintf(stderr, "check_gauntlet: cannot write %s\n", options->html);
        return false;
    }
    p.failing = gauntlet_must(malloc(((size_t)count + 1) * sizeof(gauntlet_row *)));
    for (int32_t i = 0; i < count; i++)
        if (rows[i].verdict.count > 0) p.failing[p.failing_count++] = &rows[i];
    qsort(p.failing, (size_t)p.failing_count, sizeof(gauntlet_row *), by_score);
    p.picture_count = p.failing_count < options->pictures ? p.failing_count : options->pictures;
    p.pictures = gauntlet_must(calloc((size_t)p.picture_count + 1, sizeof *p.pictures));
    make_pictures(&p);
    fprintf(
        file,
        "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><meta name=\"viewport\" "
        "content=\"width=device-width, initial-scale=1\"><title>Supple gauntlet</title>\n<style>%s</style></head>"
        "<body><main>\n<h1>Supple gauntlet</h1>\n<p class=\"soft\">Every method against linear blending in the same "
        "frames; %d rows fail a bound. docs/quality.md describes the bounds.</p>\n",
        style, (int)p.failing_count);
    write_counts(file, summary);
    if (summary->totals[2].measured) write_totals(file, summary); /* the median volume of both halves */
    fprintf(file,
            "<h2>Failing cases, worst first</h2>\n<p class=\"soft\">Left: linear blending; right: the method, in its "
            "worst frame. Red: skin that crosses itself and did not at rest. The score is the largest ratio by "
            "which a bound is exceeded.</p>\n");
    for (int32_t i = 0; i < p.failing_count; i++)
        write_case(file, &p, i);
    fprintf(file, "</main></body></html>\n");
    for (int32_t i = 0; i < p.picture_count; i++)
        free(p.pictures[i].bytes);
    free(p.pictures);
    free(p.failing);
    return fclose(file) == 0;
}

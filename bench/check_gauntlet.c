/* check_gauntlet.c - every method on every character and motion, in the same frames as linear blending.
 *
 *     check_gauntlet [--assets DIR] [--half tuning|judging] [--characters A,B] [--motions A,B] [--methods A,B]
 *                    [--settings NAME=VALUE,...] [--fps N] [--jobs N] [--jitter N] [--rates] [--switches on|off]
 *                    [--csv FILE] [--html FILE] [--pictures N] [--known FILE] [--write-known FILE] [--quick]
 *
 * Characters: gltf, makehuman, fps and fbx of the assets folder, and the built-in scenes. Motions: own clips, motion
 * capture, generated ones (gauntlet/gauntlet_motions.c). A case belongs to the tuning half if both its character and
 * its motion do (by a hash of the names), else to the judging half. Prints a row for each case and method and the
 * bounds that fail; ends with "N passed, N failed, N skipped". docs/quality.md describes options and bounds. */
#include "gauntlet/gauntlet.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SHARES = 8 }; /* tasks of a character, so that many processes share the long ones */

/* Output of a character. */
typedef struct block {
    char *notes;
    int32_t shares_done, rows_printed;
} block;

typedef struct gauntlet_run {
    gauntlet_options options;
    gauntlet_source *sources; /* [source_count] */
    block *blocks;            /* [source_count] */
    int32_t source_count, share_count, printed;
    gauntlet_row *rows; /* [row_count] in order of arrival, at the end in order of output */
    int32_t row_count, row_capacity;
    gauntlet_known_list known;
    FILE *csv;
    int32_t passed, failed, known_rows, skipped;
} gauntlet_run;

/* --- Output --- */

static void print_row(const gauntlet_row *row)
{
    static const char *const words[] = {"  ok  ", "known ", "FAILED"};
    const gauntlet_result *r = &row->result;
    printf("%s %-26s %-28s %-10s volume %.3f crossings %6lld flips %4d stretch %5.2f rough %.3f accel %.2e p95 %.3f "
           "%5.1f ms",
           words[gauntlet_status_of(&row->verdict)], row->character, row->motion, row->method, r->volume_min,
           (long long)r->crossings, (int)r->flips, r->stretch_max, r->roughness, r->acceleration_rms, r->distance_p95,
           r->milliseconds);
    for (int32_t i = 0; i < row->verdict.count; i++) {
        const gauntlet_failure *f = &row->verdict.failures[i];
        printf("%s %s %.4g (%.4g)%s", i == 0 ? ":" : ";", f->bound, f->value, f->limit, f->known ? " known" : "");
    }
    if (row->trial_count > 1) printf(" [%d of %d trials fail]", (int)row->failed_trials, (int)row->trial_count);
    printf("\n");
}

static void write_csv_head(FILE *file)
{
    fprintf(file, "character,motion,half,method,volume_min,volume_max,region_volume_min,crossings,hold_growth,flips,"
                  "stretch_max,stretch_min,roughness,penetration,distance_p95,acceleration_rms,"
                  "acceleration_excess,rest_motion,cut_error,rigid_stretch,milliseconds,worst_frame,dynamic_volume,"
                  "contact_crossings,untangle_volume,untangle_offset,settled_p95,trials,failed_trials,score,status,"
                  "failed\n");
}

static void write_csv_row(FILE *file, const gauntlet_row *row)
{
    static const char *const words[] = {"passed", "known", "failed"};
    const gauntlet_result *r = &row->result;
    fprintf(file, "%s,%s,%s,%s,%.5f,%.5f,%.5f,%lld,%lld,%d,%.4f,%.4f,%.5f,%.5f,%.5f,%.4e,%.4e,%.3e,%.3e,%.4f,%.3f,%d,",
            row->character, row->motion, row->half == 0 ? "tuning" : "judging", row->method, r->volume_min,
            r->volume_max, r->region_volume_min, (long long)r->crossings, (long long)r->hold_growth, (int)r->flips,
            r->stretch_max, r->stretch_min, r->roughness, r->penetration, r->distance_p95, r->acceleration_rms,
            r->acceleration_excess, r->rest_motion, r->cut_error, r->rigid_stretch, r->milliseconds,
            (int)r->worst_frame);
    fprintf(file, "%.5f,%lld,%.5f,%.5f,%.5f,%d,%d,%.4g,%s,\"", r->dynamic_volume, (long long)r->contact_crossings,
            r->untangle_volume, r->untangle_offset, r->settled_p95, (int)row->trial_count, (int)row->failed_trials,
            row->verdict.score, words[gauntlet_status_of(&row->verdict)]);
    for (int32_t i = 0; i < row->verdict.count; i++) {
        const gauntlet_failure *f = &row->verdict.failures[i];
        fprintf(file, "%s%s %.4g (%.4g)", i == 0 ? "" : "; ", f->bound, f->value, f->limit);
    }
    fprintf(file, "\"\n");
}

static void output_row(gauntlet_run *run, gauntlet_row *row)
{
    bool linear = strcmp(row->method, "linear") == 0;
    gauntlet_known_mark(&run->known, row->character, row->motion, row->method, &row->verdict);
    gauntlet_status status = gauntlet_status_of(&row->verdict);
    run->passed += !linear && status == GAUNTLET_PASSED;
    run->known_rows += status == GAUNTLET_KNOWN;
    run->failed += status == GAUNTLET_FAILED;
    print_row(row);
    if (run->csv != NULL) write_csv_row(run->csv, row);
}

/* --- Rows of the child processes --- */

static int by_order(const void *a, const void *b)
{
    const gauntlet_row *x = a, *y = b;
    if (x->character_index != y->character_index) return x->character_index < y->character_index ? -1 : 1;
    if (x->motion_index != y->motion_index) return x->motion_index < y->motion_index ? -1 : 1;
    return (x->method_index > y->method_index) - (x->method_index < y->method_index);
}

static void add_note(block *b, const char *text, size_t size)
{
    size_t used = b->notes != NULL ? strlen(b->notes) : 0;
    b->notes = gauntlet_must(realloc(b->notes, used + size + 12));
    snprintf(b->notes + used, size + 12, "skipped %.*s\n", (int)size, text);
}

/* Prints the rows of a character, in order, that are not printed yet. */
static void print_rows(gauntlet_run *run, int32_t character)
{
    block *b = &run->blocks[character];
    int32_t count = 0;
    gauntlet_row *rows = gauntlet_must(malloc(((size_t)run->row_count + 1) * sizeof *rows));
    for (int32_t i = 0; i < run->row_count; i++)
        if (run->rows[i].character_index == character) rows[count++] = run->rows[i];
    qsort(rows, (size_t)count, sizeof *rows, by_order);
    for (; b->rows_printed < count; b->rows_printed++)
        output_row(run, &rows[b->rows_printed]);
    free(rows);
    fflush(stdout);
    if (run->csv != NULL) fflush(run->csv);
}

/* Prints the characters that are done and whose predecessors are; of the next one the rows so far, if one process makes
 * all of them and so in order. */
static void print_done(gauntlet_run *run)
{
    for (; run->printed < run->source_count; run->printed++) {
        block *b = &run->blocks[run->printed];
        bool done = b->shares_done == run->share_count;
        if (done || run->share_count == 1) print_rows(run, run->printed);
        if (!done) return;
        for (const char *p = b->notes; p != NULL && *p != '\0'; p++)
            run->skipped += *p == '\n';
        if (b->notes != NULL) fputs(b->notes, stdout);
    }
}

static void receive(void *user, int32_t task, int32_t kind, const void *bytes, int32_t size)
{
    gauntlet_run *run = user;
    block *b = &run->blocks[task / run->share_count];
    if (kind == GAUNTLET_NOTE) add_note(b, bytes, (size_t)size);
    if (kind == GAUNTLET_ROW) {
        if (run->row_count == run->row_capacity) {
            run->row_capacity = 2 * run->row_capacity + 64;
            run->rows = gauntlet_must(realloc(run->rows, (size_t)run->row_capacity * sizeof *run->rows));
        }
        memcpy(&run->rows[run->row_count++], bytes, sizeof *run->rows);
    }
    b->shares_done += kind == GAUNTLET_DONE;
    print_done(run);
}

typedef struct sender {
    int fd;
    int32_t task;
} sender;

static void send_row(void *user, const gauntlet_row *row)
{
    const sender *s = user;
    gauntlet_send(s->fd, s->task, GAUNTLET_ROW, row, sizeof *row);
}

static void send_note(void *user, const char *text)
{
    const sender *s = user;
    gauntlet_send(s->fd, s->task, GAUNTLET_NOTE, text, strlen(text));
}

static void work(void *user, int32_t task, int fd)
{
    const gauntlet_run *run = user;
    sender s = {.fd = fd, .task = task};
    gauntlet_output output = {.row = send_row, .note = send_note, .user = &s};
    gauntlet_run_character(&run->options, &run->sources[task / run->share_count], task / run->share_count,
                           task % run->share_count, run->share_count, &output);
}

/* --- Characters --- */

static void add_source(gauntlet_run *run, const char *path, const char *name, gauntlet_kind kind)
{
    if (!gauntlet_wanted(name, run->options.characters)) return;
    if (run->options.quick && gauntlet_quick_methods(name, NULL) == NULL) return;
    run->sources = gauntlet_must(realloc(run->sources, ((size_t)run->source_count + 1) * sizeof *run->sources));
    gauntlet_source *s = &run->sources[run->source_count++];
    snprintf(s->path, sizeof s->path, "%s", path);
    snprintf(s->name, sizeof s->name, "%s", name);
    s->kind = kind;
}

static void add_folder(gauntlet_run *run, const char *folder, const char *endings, gauntlet_kind kind)
{
    char path[1024], *names[128];
    int32_t count = 0;
    snprintf(path, sizeof path, "%s/%s", run->options.assets, folder);
    DIR *dir = opendir(path);
    if (dir == NULL) {
        printf("skipped %s: the folder is not there\n", path);
        run->skipped++;
        return;
    }
    for (struct dirent *e = readdir(dir); e != NULL && count < 128; e = readdir(dir)) {
        const char *dot = strrchr(e->d_name, '.');
        if (dot != NULL && strstr(endings, dot) != NULL) names[count++] = gauntlet_must(strdup(e->d_name));
    }
    closedir(dir);
    qsort(names, (size_t)count, sizeof *names, gauntlet_by_name);
    for (int32_t i = 0; i < count; i++) {
        char name[GAUNTLET_NAME];
        snprintf(path, sizeof path, "%s/%s/%s", run->options.assets, folder, names[i]);
        snprintf(name, sizeof name, "%.*s", (int)(strrchr(names[i], '.') - names[i]), names[i]);
        add_source(run, path, name, kind);
        free(names[i]);
    }
}

static void list_characters(gauntlet_run *run)
{
    static const char *const scenes[] = {"human", "elephant", "hand", "arm", "tbone", "cylinder"};
    for (size_t i = 0; i < sizeof scenes / sizeof scenes[0]; i++) {
        char path[64];
        snprintf(path, sizeof path, "scene:%s", scenes[i]);
        add_source(run, path, path, i == 0 ? GAUNTLET_HUMAN : GAUNTLET_OTHER);
    }
    add_folder(run, "gltf", ".glb.gltf", GAUNTLET_GAME);
    add_folder(run, "makehuman", ".glb", GAUNTLET_HUMAN);
    add_folder(run, "fps/cylinder", ".ini", GAUNTLET_OTHER);
    add_folder(run, "fps/tbone", ".ini", GAUNTLET_OTHER);
    add_folder(run, "fps/male", ".ini", GAUNTLET_HUMAN);
    add_folder(run, "fbx", ".fbx", GAUNTLET_GAME);
}

/* --- Summary --- */

static void print_summary(const gauntlet_summary *s)
{
    printf("\n%-24s", "");
    for (int32_t m = 0; m < s->method_count; m++)
        printf(" %12s tuning, judging", s->methods[m]);
    printf("\n%-24s", "cases");
    for (int32_t m = 0; m < s->method_count; m++)
        printf(" %19d, %7d", (int)s->cells[m][0].cases, (int)s->cells[m][1].cases);
    printf("\n%-24s", "failing");
    for (int32_t m = 0; m < s->method_count; m++)
        printf(" %19d, %7d", (int)s->cells[m][0].failed, (int)s->cells[m][1].failed);
    printf("\n%-24s", "known failures");
    for (int32_t m = 0; m < s->method_count; m++)
        printf(" %19d, %7d", (int)s->cells[m][0].known, (int)s->cells[m][1].known);
    for (int32_t b = 0; b < s->bound_count; b++) {
        printf("\n  %-22s", s->bounds[b]);
        for (int32_t m = 0; m < s->method_count; m++)
            printf(" %19d, %7d", (int)s->cells[m][0].by_bound[b], (int)s->cells[m][1].by_bound[b]);
    }
    printf("\n\n");
}

/* Totals are bounds of all cases: with fewer they are printed but not judged. */
static void judge_totals(gauntlet_run *run, const gauntlet_summary *s, bool all_cases, gauntlet_verdict *verdict)
{
    *verdict = gauntlet_judge_totals(s);
    gauntlet_known_mark(&run->known, "all", "all", "projective", verdict);
    for (int i = 0; i < GAUNTLET_TOTALS; i++) {
        const gauntlet_total *t = &s->totals[i];
        const char *word = t->holds ? "  ok  " : "FAILED";
        for (int32_t k = 0; k < verdict->count; k++)
            if (verdict->failures[k].known && strcmp(verdict->failures[k].bound, t->name) == 0) word = "known ";
        if (!t->measured) continue;
        printf("%s projective, %s: %.3f, at least %.2f%s\n", all_cases ? word : "      ", t->name, t->value, t->limit,
               all_cases ? "" : " in a run of all cases");
        run->passed += all_cases && word[0] == ' ';
        run->known_rows += all_cases && word[0] == 'k';
        run->failed += all_cases && word[0] == 'F';
    }
}

/* Known failures that were judged and pass. */
static void print_resolved(const gauntlet_run *run, bool all_cases)
{
    for (int32_t i = 0; i < run->known.count; i++) {
        const gauntlet_known *k = &run->known.items[i];
        bool total = strcmp(k->character, "all") == 0;
        if (!k->failed && (total ? all_cases : gauntlet_known_ran(k, run->rows, run->row_count)))
            printf("now passes, remove it from %s: %s,%s,%s,%s\n", run->options.known, k->character, k->motion,
                   k->method, k->bound);
    }
}

static bool finish(gauntlet_run *run)
{
    const gauntlet_options *o = &run->options;
    bool all_cases = o->half == NULL && o->characters == NULL && o->motions == NULL && !o->quick;
    bool ok = true;
    gauntlet_verdict totals;
    qsort(run->rows, (size_t)run->row_count, sizeof *run->rows, by_order);
    for (int32_t i = 0; i < run->row_count; i++)
        gauntlet_known_mark(&run->known, run->rows[i].character, run->rows[i].motion, run->rows[i].method,
                            &run->rows[i].verdict);
    gauntlet_summary *summary = gauntlet_must(malloc(sizeof *summary));
    *summary = gauntlet_summarize(run->rows, run->row_count);
    print_summary(summary);
    judge_totals(run, summary, all_cases, &totals);
    print_resolved(run, all_cases);
    if (o->write_known != NULL)
        ok = gauntlet_known_write(o->write_known, &run->known, run->rows, run->row_count, all_cases ? &totals : NULL);
    if (o->html != NULL) ok = gauntlet_write_page(o, run->sources, run->rows, run->row_count, summary) && ok;
    free(summary);
    return ok;
}

/* --- Options --- */

static bool read_options(int argc, char **argv, gauntlet_options *o)
{
    struct {
        const char *name, **to;
    } texts[] = {{"--assets", &o->assets},
                 {"--half", &o->half},
                 {"--characters", &o->characters},
                 {"--motions", &o->motions},
                 {"--methods", &o->methods},
                 {"--settings", &o->settings},
                 {"--csv", &o->csv},
                 {"--html", &o->html},
                 {"--known", &o->known},
                 {"--write-known", &o->write_known}};
    struct {
        const char *name;
        int *to, low, high;
    } numbers[] = {
        {"--jitter", &o->jitter, 0, 1000}, {"--jobs", &o->jobs, 1, 256}, {"--pictures", &o->pictures, 0, 1000}};
    const char *switches = NULL;
    for (int i = 1; i < argc; i++) {
        const char *name = argv[i];
        bool quick = strcmp(name, "--quick") == 0, rates = strcmp(name, "--rates") == 0, known = quick || rates;
        o->quick = o->quick || quick;
        o->rates = o->rates || rates;
        if (!known && i + 1 < argc) {
            const char *value = argv[++i];
            for (size_t k = 0; k < sizeof texts / sizeof texts[0]; k++)
                if (strcmp(name, texts[k].name) == 0) *texts[k].to = value, known = true;
            for (size_t k = 0; k < sizeof numbers / sizeof numbers[0]; k++)
                if (strcmp(name, numbers[k].name) == 0) {
                    *numbers[k].to = atoi(value);
                    known = *numbers[k].to >= numbers[k].low && *numbers[k].to <= numbers[k].high;
                }
            if (strcmp(name, "--fps") == 0) o->fps = atof(value), known = true;
            if (strcmp(name, "--switches") == 0) switches = value, known = true;
        }
        if (!known) {
            fprintf(stderr, "check_gauntlet: unknown option or wrong value: %s\n", name);
            return false;
        }
    }
    o->switches = switches != NULL ? strcmp(switches, "off") != 0 : !o->quick;
    return o->fps >= 1.0 && o->fps <= 240.0;
}

int main(int argc, char **argv)
{
    gauntlet_run run = {.options = {.assets = "../shared/assets",
                                    .methods = "projective,position,implicit",
                                    .known = "bench/gauntlet/known_failures.csv",
                                    .fps = 30.0,
                                    .jobs = 1,
                                    .pictures = 60}};
    gauntlet_options *o = &run.options;
    if (!read_options(argc, argv, o) || !gauntlet_known_read(o->known, &run.known)) return 1;
    if (o->csv != NULL) {
        run.csv = fopen(o->csv, "w");
        if (run.csv == NULL) {
            fprintf(stderr, "check_gauntlet: cannot write %s\n", o->csv);
            return 1;
        }
        write_csv_head(run.csv);
    }
    list_characters(&run);
    run.share_count = o->jobs > 1 && !o->quick ? SHARES : 1; /* few cases a character in the reduced set */
    run.blocks = gauntlet_must(calloc((size_t)run.source_count + 1, sizeof *run.blocks));
    if (!gauntlet_run_jobs(o->jobs, run.source_count * run.share_count, work, receive, &run)) {
        printf("FAILED a process ended before its cases did\n");
        run.failed++;
    }
    bool ok = finish(&run);
    if (run.csv != NULL) fclose(run.csv);
    for (int32_t i = 0; i < run.source_count; i++)
        free(run.blocks[i].notes);
    free(run.blocks);
    free(run.sources);
    free(run.rows);
    printf("%d known failures\n%d passed, %d failed, %d skipped\n", (int)run.known_rows, (int)run.passed,
           (int)run.failed, (int)run.skipped);
    gauntlet_known_free(&run.known);
    return run.failed > 0 || !ok;
}

/* gauntlet_summary.c - counts by method, half and bound, and totals over all cases. */
#include "gauntlet.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

gauntlet_status gauntlet_status_of(const gauntlet_verdict *v)
{
    for (int32_t i = 0; i < v->count; i++)
        if (!v->failures[i].known) return GAUNTLET_FAILED;
    return v->count > 0 ? GAUNTLET_KNOWN : GAUNTLET_PASSED;
}

static int32_t find_method(gauntlet_summary *s, const char *name)
{
    for (int32_t i = 0; i < s->method_count; i++)
        if (strcmp(s->methods[i], name) == 0) return i;
    if (s->method_count == GAUNTLET_METHODS) return -1;
    snprintf(s->methods[s->method_count], sizeof s->methods[0], "%s", name);
    return s->method_count++;
}

static int32_t find_bound(gauntlet_summary *s, const char *name)
{
    for (int32_t i = 0; i < s->bound_count; i++)
        if (strcmp(s->bounds[i], name) == 0) return i;
    if (s->bound_count == GAUNTLET_BOUNDS) return -1;
    snprintf(s->bounds[s->bound_count], sizeof s->bounds[0], "%s", name);
    return s->bound_count++;
}

static void add_row(gauntlet_summary *s, const gauntlet_row *row)
{
    if (strcmp(row->method, "linear") == 0) return;
    int32_t method = find_method(s, row->method);
    if (method < 0) return;
    gauntlet_cell *cell = &s->cells[method][row->half];
    gauntlet_status status = gauntlet_status_of(&row->verdict);
    cell->cases++;
    cell->failed += status == GAUNTLET_FAILED;
    cell->known += status == GAUNTLET_KNOWN;
    for (int32_t i = 0; i < row->verdict.count; i++) {
        int32_t bound = find_bound(s, row->verdict.failures[i].bound);
        if (bound >= 0) cell->by_bound[bound]++;
    }
}

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Rows of projective in a half (2: both). */
static bool counts(const gauntlet_row *row, int half)
{
    return strcmp(row->method, "projective") == 0 && (half == 2 || row->half == half);
}

/* Median of the smallest volumes; authored scale changes the volume itself. */
static gauntlet_total median_volume(const gauntlet_row *rows, int32_t count, int half)
{
    gauntlet_total total = {.limit = 0.96};
    double *volumes = gauntlet_must(malloc(((size_t)count + 1) * sizeof *volumes));
    int32_t used = 0;
    for (int32_t i = 0; i < count; i++)
        if (counts(&rows[i], half) && strcmp(rows[i].motion, "stretch") != 0)
            volumes[used++] = rows[i].result.volume_min;
    qsort(volumes, (size_t)used, sizeof *volumes, by_value);
    total.measured = used > 0;
    if (used > 0) total.value = 0.5 * (volumes[(used - 1) / 2] + volumes[used / 2]);
    free(volumes);
    return total;
}

/* 1 - crossing pairs / those of linear blending, of all cases of a kind of characters. */
static gauntlet_total fewer_pairs(const gauntlet_row *rows, int32_t count, int half, gauntlet_kind kind, double limit)
{
    gauntlet_total total = {.limit = limit};
    double pairs = 0.0, linear = 0.0;
    for (int32_t i = 0; i < count; i++)
        if (counts(&rows[i], half) && rows[i].kind == kind) {
            pairs += (double)rows[i].result.crossings;
            linear += (double)rows[i].linear_crossings;
        }
    total.measured = linear > 0.0;
    if (linear > 0.0) total.value = 1.0 - pairs / linear;
    return total;
}

gauntlet_summary gauntlet_summarize(const gauntlet_row *rows, int32_t count)
{
    static const char *const halves[] = {"tuning", "judging", "both"};
    gauntlet_summary s = {0};
    for (int32_t i = 0; i < count; i++)
        add_row(&s, &rows[i]);
    for (int half = 0; half < 3; half++) {
        const gauntlet_total made[] = {median_volume(rows, count, half),
                                       fewer_pairs(rows, count, half, GAUNTLET_HUMAN, 0.9),
                                       fewer_pairs(rows, count, half, GAUNTLET_GAME, 0.6)};
        static const char *const names[] = {"median volume", "fewer pairs: humans", "fewer pairs: game"};
        for (int k = 0; k < 3; k++) {
            gauntlet_total *t = &s.totals[3 * k + half];
            *t = made[k];
            t->holds = !t->measured || t->value >= t->limit;
            snprintf(t->name, sizeof t->name, "%s, %s", names[k], halves[half]);
        }
    }
    return s;
}

gauntlet_verdict gauntlet_judge_totals(const gauntlet_summary *s)
{
    gauntlet_verdict v = {0};
    for (int i = 0; i < GAUNTLET_TOTALS; i++) {
        const gauntlet_total *t = &s->totals[i];
        if (t->holds) continue;
        gauntlet_failure *f = &v.failures[v.count++];
        *f = (gauntlet_failure){.value = t->value, .limit = t->limit, .ratio = (1.0 - t->value) / (1.0 - t->limit)};
        snprintf(f->bound, sizeof f->bound, "%s", t->name);
    }
    return v;
}

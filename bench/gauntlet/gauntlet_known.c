/* gauntlet_known.c - the list of known failures: a CSV file with a reason for each. */
#include "gauntlet.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LINE = 4096, FIELDS = 5 };

/* Splits a copy of the line; the reason is the rest and may contain commas. */
static bool parse(const char *text, gauntlet_known *item)
{
    char *fields[FIELDS], *line = gauntlet_must(strdup(text));
    *item = (gauntlet_known){.line = line};
    line[strcspn(line, "\r\n")] = '\0';
    for (int i = 0; i < FIELDS; i++) {
        fields[i] = line;
        if (i == FIELDS - 1) break;
        line = strchr(line, ',');
        if (line == NULL) return false;
        *line++ = '\0';
    }
    item->character = fields[0], item->motion = fields[1], item->method = fields[2];
    item->bound = fields[3], item->reason = fields[4];
    return true;
}

bool gauntlet_known_read(const char *path, gauntlet_known_list *list)
{
    char line[LINE];
    *list = (gauntlet_known_list){0};
    FILE *file = fopen(path, "r");
    if (file == NULL) return true;
    for (int32_t number = 1; fgets(line, sizeof line, file) != NULL; number++) {
        if (number == 1 || line[0] == '\n') continue; /* names of the columns */
        list->items = gauntlet_must(realloc(list->items, ((size_t)list->count + 1) * sizeof *list->items));
        if (!parse(line, &list->items[list->count++])) {
            fprintf(stderr, "%s:%d: expected character,motion,method,bound,reason\n", path, (int)number);
            fclose(file);
            return false;
        }
    }
    fclose(file);
    return true;
}

void gauntlet_known_free(gauntlet_known_list *list)
{
    for (int32_t i = 0; i < list->count; i++)
        free(list->items[i].line);
    free(list->items);
    *list = (gauntlet_known_list){0};
}

static gauntlet_known *find(const gauntlet_known_list *list, const char *character, const char *motion,
                            const char *method, const char *bound)
{
    for (int32_t i = 0; i < list->count; i++) {
        gauntlet_known *k = &list->items[i];
        if (strcmp(k->character, character) == 0 && strcmp(k->motion, motion) == 0 && strcmp(k->method, method) == 0 &&
            strcmp(k->bound, bound) == 0)
            return k;
    }
    return NULL;
}

void gauntlet_known_mark(gauntlet_known_list *list, const char *character, const char *motion, const char *method,
                         gauntlet_verdict *verdict)
{
    for (int32_t i = 0; i < verdict->count; i++) {
        gauntlet_known *k = find(list, character, motion, method, verdict->failures[i].bound);
        verdict->failures[i].known = k != NULL;
        if (k != NULL) k->failed = true;
    }
}

static void write_failures(FILE *file, const gauntlet_known_list *list, const char *character, const char *motion,
                           const char *method, const gauntlet_verdict *verdict)
{
    for (int32_t i = 0; i < verdict->count; i++) {
        const char *bound = verdict->failures[i].bound;
        const gauntlet_known *k = find(list, character, motion, method, bound);
        fprintf(file, "%s,%s,%s,%s,%s\n", character, motion, method, bound, k != NULL ? k->reason : "");
    }
}

bool gauntlet_known_ran(const gauntlet_known *k, const gauntlet_row *rows, int32_t count)
{
    for (int32_t i = 0; i < count; i++)
        if (strcmp(k->character, rows[i].character) == 0 && strcmp(k->motion, rows[i].motion) == 0 &&
            strcmp(k->method, rows[i].method) == 0)
            return true;
    return false;
}

bool gauntlet_known_write(const char *path, const gauntlet_known_list *list, const gauntlet_row *rows, int32_t count,
                          const gauntlet_verdict *totals)
{
    FILE *file = fopen(path, "w");
    if (file == NULL) {
        fprintf(stderr, "check_gauntlet: cannot write %s\n", path);
        return false;
    }
    fprintf(file, "character,motion,method,bound,reason\n");
    for (int32_t i = 0; i < count; i++)
        write_failures(file, list, rows[i].character, rows[i].motion, rows[i].method, &rows[i].verdict);
    if (totals != NULL) write_failures(file, list, "all", "all", "projective", totals);
    for (int32_t i = 0; i < list->count; i++) {
        const gauntlet_known *k = &list->items[i];
        bool judged = strcmp(k->character, "all") == 0 ? totals != NULL : gauntlet_known_ran(k, rows, count);
        if (!judged) fprintf(file, "%s,%s,%s,%s,%s\n", k->character, k->motion, k->method, k->bound, k->reason);
    }
    return fclose(file) == 0;
}

/* bench_history.c - reads a file of `supple bench --save`.
 *
 * A small JSON reader that stores the members of the objects in the top-level array "results" and skips everything
 * else, so that it accepts files of later versions. */
#include "bench_history.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { DEPTH_LIMIT = 16, TEXT_LIMIT = 256, FILE_LIMIT = 64 << 20 };

typedef struct saved_result {
    char input[TEXT_LIMIT], method[TEXT_LIMIT];
    double threads, instances, contact, bind_ms, step_ms, ratio;
} saved_result;

typedef struct reader {
    const char *next, *end;
    char key[TEXT_LIMIT], text[TEXT_LIMIT];
    char stack[DEPTH_LIMIT]; /* '{' or '[' */
    int depth;
    bool failed, in_results;
    saved_result row;
    app_timing *rows;
    int32_t row_count, *matched;
} reader;

static char peek(reader *r)
{
    while (r->next < r->end && isspace((unsigned char)*r->next))
        r->next++;
    return r->next < r->end ? *r->next : '\0';
}

/* Reads a string into `text`, truncated to TEXT_LIMIT. Keeps escapes undecoded: both sides come from the same
 * writer. */
static void read_string(reader *r, char text[TEXT_LIMIT])
{
    size_t length = 0;
    r->next++;
    while (r->next < r->end && *r->next != '"') {
        bool escape = *r->next == '\\' && r->next + 1 < r->end;
        for (int i = 0; i < (escape ? 2 : 1); i++, r->next++)
            if (length + 1 < TEXT_LIMIT) text[length++] = *r->next;
    }
    text[length] = '\0';
    if (r->next >= r->end)
        r->failed = true;
    else
        r->next++;
}

static void store_text(reader *r)
{
    if (strcmp(r->key, "input") == 0) memcpy(r->row.input, r->text, TEXT_LIMIT);
    if (strcmp(r->key, "method") == 0) memcpy(r->row.method, r->text, TEXT_LIMIT);
}

static void store_number(reader *r, double value)
{
    const struct {
        const char *key;
        double *target;
    } targets[] = {{"threads", &r->row.threads}, {"instances", &r->row.instances},
                   {"contact", &r->row.contact}, {"bind_ms", &r->row.bind_ms},
                   {"step_ms", &r->row.step_ms}, {"ratio_to_reference", &r->row.ratio}};
    for (size_t i = 0; i < sizeof targets / sizeof targets[0]; i++)
        if (strcmp(r->key, targets[i].key) == 0) *targets[i].target = value;
}

static void match_row(reader *r)
{
    for (int32_t i = 0; i < r->row_count; i++) {
        app_timing *t = &r->rows[i];
        if (strcmp(t->input, r->row.input) != 0 || strcmp(t->method, r->row.method) != 0) continue;
        if (r->row.threads != t->threads || r->row.instances != t->instances || r->row.contact != t->contact) continue;
        t->previous_step_ms = r->row.step_ms;
        t->previous_bind_ms = r->row.bind_ms;
        t->previous_ratio = r->row.ratio;
        (*r->matched)++;
    }
}

static void open_nest(reader *r, char bracket)
{
    if (r->depth == DEPTH_LIMIT) {
        r->failed = true;
        return;
    }
    if (r->depth == 1 && bracket == '[' && strcmp(r->key, "results") == 0) r->in_results = true;
    if (r->depth == 2 && r->in_results)
        r->row = (saved_result){.contact = -1.0, .bind_ms = NAN, .step_ms = NAN, .ratio = NAN};
    r->stack[r->depth++] = bracket;
    r->key[0] = '\0';
    r->next++;
}

static void close_nest(reader *r, char bracket)
{
    if (r->depth == 0 || r->stack[r->depth - 1] != (bracket == '}' ? '{' : '[')) {
        r->failed = true;
        return;
    }
    r->depth--;
    if (r->depth == 2 && r->in_results && bracket == '}') match_row(r);
    if (r->depth == 1) r->in_results = false;
    r->next++;
}

/* true, false, null or a number; true is 1, false 0. */
static void read_scalar(reader *r)
{
    char word[64];
    size_t length = 0;
    while (r->next < r->end && length + 1 < sizeof word &&
           (isalnum((unsigned char)*r->next) || strchr("+-.", *r->next)))
        word[length++] = *r->next++;
    word[length] = '\0';
    char *end = NULL;
    double value = strtod(word, &end);
    bool null = strcmp(word, "null") == 0, yes = strcmp(word, "true") == 0, no = strcmp(word, "false") == 0;
    if (length == 0 || (!null && !yes && !no && *end != '\0')) r->failed = true;
    if (!null && r->depth == 3 && r->in_results) store_number(r, yes ? 1.0 : no ? 0.0 : value);
}

static void read_token(reader *r)
{
    char c = peek(r);
    if (c == '{' || c == '[') {
        open_nest(r, c);
    } else if (c == '}' || c == ']') {
        close_nest(r, c);
    } else if (c == ',') {
        r->next++;
    } else if (c == '"') {
        read_string(r, r->text);
        bool in_object = r->depth > 0 && r->stack[r->depth - 1] == '{';
        if (in_object && peek(r) == ':') {
            memcpy(r->key, r->text, TEXT_LIMIT);
            r->next++;
        } else if (r->depth == 3 && r->in_results) {
            store_text(r);
        }
    } else {
        read_scalar(r);
    }
}

static char *read_file(const char *path, size_t *size)
{
    FILE *file = fopen(path, "rb");
    if (file == NULL) return NULL;
    char *data = malloc((size_t)FILE_LIMIT);
    *size = data != NULL ? fread(data, 1, (size_t)FILE_LIMIT, file) : 0;
    bool failed = ferror(file) != 0;
    fclose(file);
    if (!failed && data != NULL) return data;
    free(data);
    return NULL;
}

int app_bench_history_read(const char *path, app_timing *rows, int32_t count, int32_t *matched)
{
    size_t size = 0;
    char *data = read_file(path, &size);
    *matched = 0;
    if (data == NULL) {
        app_say("--against %s: The file cannot be read: %s.", path, strerror(errno));
        return APP_INPUT;
    }
    reader r = {.next = data, .end = data + size, .rows = rows, .row_count = count, .matched = matched};
    if (peek(&r) != '{') r.failed = true;
    while (!r.failed && peek(&r) != '\0')
        read_token(&r);
    bool failed = r.failed || r.depth != 0;
    free(data);
    if (!failed) return APP_DONE;
    app_say("--against %s: Not a valid file of 'supple bench --save'.", path);
    return APP_INPUT;
}

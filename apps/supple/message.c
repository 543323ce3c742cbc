/* message.c - error messages, number formatting, and the closest name for a misspelled one. */
#include "app.h"

#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { SLOT_COUNT = 8, SLOT_SIZE = 500, NAME_LIMIT = 64 };

static char *next_slot(void)
{
    static char slots[SLOT_COUNT][SLOT_SIZE];
    static int next;
    next = (next + 1) % SLOT_COUNT;
    return slots[next];
}

static void clean_in_place(char *text)
{
    for (; *text != '\0'; text++)
        if ((unsigned char)*text < 0x20 || *text == 0x7f) *text = '?';
}

const char *app_clean(const char *text)
{
    char *slot = next_slot();
    snprintf(slot, SLOT_SIZE, "%s", text);
    clean_in_place(slot);
    return slot;
}

static void say(const char *format, va_list args)
{
    char line[8192];
    vsnprintf(line, sizeof line, format, args);
    clean_in_place(line);
    fprintf(stderr, "supple: %s\n", line);
}

void app_say(const char *format, ...)
{
    va_list args;
    va_start(args, format);
    say(format, args);
    va_end(args);
}

int app_usage(const char *format, ...)
{
    va_list args;
    va_start(args, format);
    say(format, args);
    va_end(args);
    return APP_USAGE;
}

static int exit_status(sup_result result, app_phase phase)
{
    switch (result) {
    case SUP_OK:
        return APP_DONE;
    case SUP_ERROR_ARGUMENT:
        return APP_USAGE;
    case SUP_ERROR_FORMAT:
    case SUP_ERROR_UNSUPPORTED:
    case SUP_ERROR_DATA:
        return APP_INPUT;
    case SUP_ERROR_IO:
        return phase == APP_PHASE_LOAD ? APP_INPUT : APP_OTHER;
    case SUP_ERROR_MEMORY:
    case SUP_ERROR_NUMERIC:
    case SUP_ERROR_CANCELLED:
    case SUP_ERROR_DEVICE:
        return APP_OTHER;
    }
    return APP_OTHER;
}

/* Advice for errors whose message contains none. */
static const char *advice(const sup_error *error, app_phase phase)
{
    if (error->result == SUP_ERROR_FORMAT && strstr(error->message, "xport") == NULL &&
        strstr(error->message, " again.") == NULL)
        return " Copy or export the file again.";
    bool is_plain = strcmp(error->id, "file.folder") != 0 && strcmp(error->id, "file.special") != 0;
    if (error->result == SUP_ERROR_IO && is_plain)
        return phase == APP_PHASE_LOAD ? " Check its path and permissions."
                                       : " Free disk space or choose another path.";
    return error->result == SUP_ERROR_MEMORY ? " Close other programs or use a smaller character." : "";
}

int app_fail(const sup_error *error, app_phase phase, const char *path)
{
    const char *where = error->where, *message = error->message, *hint = advice(error, phase);
    if (where[0] == '\0')
        app_say("%s: %s%s", path, message, hint);
    else if (strstr(where, path) != NULL)
        app_say("%s: %s%s", where, message, hint);
    else
        app_say("%s: %s: %s%s", path, where, message, hint);
    return exit_status(error->result, phase);
}

const char *app_grouped(long long number)
{
    char digits[32], *slot = next_slot();
    int length = snprintf(digits, sizeof digits, "%lld", number), out = 0;
    for (int i = 0; i < length; i++) {
        if (i > 0 && digits[i - 1] != '-' && (length - i) % 3 == 0) slot[out++] = ',';
        slot[out++] = digits[i];
    }
    slot[out] = '\0';
    return slot;
}

const char *app_size(double bytes)
{
    static const char *const units[] = {"bytes", "kB", "MB", "GB", "TB"};
    char *slot = next_slot();
    int unit = 0;
    while (bytes >= 1000.0 && unit < 4) {
        bytes /= 1000.0;
        unit++;
    }
    snprintf(slot, SLOT_SIZE, unit == 0 || bytes >= 100.0 ? "%.0f %s" : "%.1f %s", bytes, units[unit]);
    return slot;
}

double app_milliseconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec * 1e3 + (double)now.tv_nsec * 1e-6;
}

int app_finish_stdout(int status)
{
    bool failed_before = ferror(stdout) != 0;
    clearerr(stdout);
    if (failed_before) fputc('\n', stdout); /* write again to get errno */
    if (fflush(stdout) == 0 || errno == EPIPE) return status;
    app_say("standard output: The output cannot be written: %s.", strerror(errno));
    return status != APP_DONE ? status : APP_OTHER;
}

static int smallest(int a, int b, int c)
{
    int ab = a < b ? a : b;
    return ab < c ? ab : c;
}

static char lower(char c)
{
    return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
}

/* Case-insensitive Damerau-Levenshtein distance (a swap of adjacent letters counts as one edit). */
static int distance(const char *a, const char *b)
{
    int rows[3][NAME_LIMIT + 1];
    int length_a = (int)strlen(a), length_b = (int)strlen(b);
    if (length_a > NAME_LIMIT || length_b > NAME_LIMIT) return NAME_LIMIT;
    for (int j = 0; j <= length_b; j++)
        rows[0][j] = j;
    for (int i = 1; i <= length_a; i++) {
        int *row = rows[i % 3], *above = rows[(i + 2) % 3], *two_above = rows[(i + 1) % 3];
        row[0] = i;
        for (int j = 1; j <= length_b; j++) {
            int cost = lower(a[i - 1]) == lower(b[j - 1]) ? 0 : 1;
            row[j] = smallest(above[j] + 1, row[j - 1] + 1, above[j - 1] + cost);
            if (i > 1 && j > 1 && lower(a[i - 1]) == lower(b[j - 2]) && lower(a[i - 2]) == lower(b[j - 1]) &&
                two_above[j - 2] + 1 < row[j])
                row[j] = two_above[j - 2] + 1;
        }
    }
    return rows[length_a % 3][length_b];
}

const char *app_nearest(const char *wrong, const char *const *names, int32_t count)
{
    const char *nearest = NULL;
    int best = (int)strlen(wrong) / 3 < 2 ? 2 : (int)strlen(wrong) / 3;
    for (int32_t i = 0; i < count; i++) {
        int length = (int)strlen(names[i]);
        int d = distance(wrong, names[i]);
        bool begins = strlen(wrong) >= 2 && strncmp(wrong, names[i], strlen(wrong)) == 0;
        if (begins) d = 1;
        if (d <= best && d < length && (nearest == NULL || d < best)) {
            nearest = names[i];
            best = d;
        }
    }
    return nearest;
}

/* text_cursor.c - a cursor over a text file. */
#include "load/text_cursor.h"

sup_text_cursor sup_text_open(sup_bytes bytes, const char *name, char comment)
{
    const char *text = bytes.data != NULL ? bytes.data : "";
    sup_text_cursor cursor = {text, text + bytes.size, name, 1, comment, false};
    if (bytes.size >= 3 && memcmp(text, "\xEF\xBB\xBF", 3) == 0) cursor.at += 3;
    return cursor;
}

size_t sup_text_remaining(const sup_text_cursor *cursor)
{
    return (size_t)(cursor->end - cursor->at);
}

static bool is_line_end(char c)
{
    return c == '\n' || c == '\r';
}

static bool is_space(char c)
{
    return c == ' ' || c == '\t' || c == '\v' || c == '\f';
}

/* Skips the line end at the cursor. */
static void step_line(sup_text_cursor *cursor)
{
    bool pair = cursor->at[0] == '\r' && cursor->at + 1 < cursor->end && cursor->at[1] == '\n';
    cursor->at += pair ? 2 : 1;
    cursor->line++;
}

/* A backslash directly before a line end. */
static bool at_continuation(const sup_text_cursor *cursor)
{
    return cursor->continued && cursor->at[0] == '\\' && cursor->at + 1 < cursor->end && is_line_end(cursor->at[1]);
}

bool sup_text_next_line(sup_text_cursor *cursor)
{
    while (cursor->at < cursor->end && !is_line_end(*cursor->at)) {
        if (at_continuation(cursor)) {
            cursor->at++;
            step_line(cursor);
        } else {
            cursor->at++;
        }
    }
    if (cursor->at == cursor->end) return false;
    step_line(cursor);
    return true;
}

bool sup_text_has_word(sup_text_cursor *cursor)
{
    while (cursor->at < cursor->end) {
        if (is_space(*cursor->at)) {
            cursor->at++;
        } else if (at_continuation(cursor)) {
            cursor->at++;
            step_line(cursor);
        } else {
            return !is_line_end(*cursor->at) && (cursor->comment == '\0' || *cursor->at != cursor->comment);
        }
    }
    return false;
}

bool sup_text_skip_to_word(sup_text_cursor *cursor)
{
    while (!sup_text_has_word(cursor))
        if (!sup_text_next_line(cursor)) return false;
    return true;
}

/* The word at the cursor, without advancing. */
static sup_word peek_word(sup_text_cursor *cursor)
{
    sup_word word = {cursor->at, 0};
    if (!sup_text_has_word(cursor)) return word;
    sup_text_cursor ahead = *cursor;
    while (ahead.at < ahead.end && !is_space(*ahead.at) && !is_line_end(*ahead.at) && !at_continuation(&ahead))
        ahead.at++;
    return (sup_word){cursor->at, (size_t)(ahead.at - cursor->at)};
}

sup_word sup_text_word(sup_text_cursor *cursor)
{
    sup_word word = peek_word(cursor);
    cursor->at += word.length;
    return word;
}

sup_word sup_text_rest(sup_text_cursor *cursor)
{
    sup_word rest = {cursor->at, 0};
    if (!sup_text_has_word(cursor)) return rest;
    rest.text = cursor->at;
    while (cursor->at < cursor->end && !is_line_end(*cursor->at))
        cursor->at++;
    rest.length = (size_t)(cursor->at - rest.text);
    while (rest.length > 0 && is_space(rest.text[rest.length - 1]))
        rest.length--;
    return rest;
}

bool sup_text_double(sup_text_cursor *cursor, double *value)
{
    sup_word word = peek_word(cursor);
    const char *end = word.text + word.length;
    if (word.length == 0 || sup_parse_double(word.text, end, value) != end) return false;
    cursor->at = end;
    return true;
}

bool sup_text_int64(sup_text_cursor *cursor, int64_t *value)
{
    sup_word word = peek_word(cursor);
    const char *end = word.text + word.length;
    if (word.length == 0 || sup_parse_int64(word.text, end, value) != end) return false;
    cursor->at = end;
    return true;
}

static char lower(char c)
{
    return (char)(c >= 'A' && c <= 'Z' ? c + 32 : c);
}

bool sup_word_is(sup_word word, const char *text)
{
    for (size_t i = 0; i < word.length; i++)
        if (text[i] == '\0' || lower(word.text[i]) != lower(text[i])) return false;
    return text[word.length] == '\0';
}

sup_result sup_text_fail(const sup_text_cursor *cursor, sup_error *error, const char *id, const char *format, ...)
{
    char where[sizeof error->where], message[sizeof error->message];
    size_t length = strlen(cursor->name);
    const char *tail =
        length > 200 ? cursor->name + (length - 200) : cursor->name; /* leave space for the line number */
    sup_format(where, sizeof where, "%s%s:%lld", tail != cursor->name ? "..." : "", tail, (long long)cursor->line);
    va_list args;
    va_start(args, format);
    sup_format_v(message, sizeof message, format, args);
    va_end(args);
    return sup_fail(error, SUP_ERROR_FORMAT, id, where, "%s", message);
}

sup_result sup_text_fail_expected(sup_text_cursor *cursor, sup_error *error, const char *id, const char *expected)
{
    sup_word word = peek_word(cursor);
    char quoted[32];
    size_t length = word.length < sizeof quoted - 4 ? word.length : sizeof quoted - 4;
    for (size_t i = 0; i < length; i++)
        quoted[i] = (char)((unsigned char)word.text[i] < 32 || word.text[i] == 127 ? '?' : word.text[i]);
    memcpy(quoted + length, word.length > length ? "..." : "", word.length > length ? 4 : 1);
    if (length == 0)
        return sup_text_fail(cursor, error, id, "Expected %s, but the %s ends here.", expected,
                             cursor->at == cursor->end ? "file" : "line");
    return sup_text_fail(cursor, error, id, "Expected %s, but found \"%s\".", expected, quoted);
}

/* text_cursor.h (internal) - a cursor over a text file: lines, words, numbers, and the line number for error messages.
 *
 * Lines end with "\n", "\r\n" or "\r". A cursor reads inside the current line; sup_text_next_line and
 * sup_text_skip_to_word advance to later lines. Nothing is copied; the text need not be zero-terminated. */
#ifndef SUP_LOAD_TEXT_CURSOR_H
#define SUP_LOAD_TEXT_CURSOR_H

#include "base/base.h"

typedef struct sup_text_cursor {
    const char *at, *end; /* next byte; end of the file */
    const char *name;     /* of the file, for messages */
    int64_t line;         /* from 1 */
    char comment;         /* a word that starts with this character begins a comment; 0 for none */
    bool continued;       /* "\" before the end of a line joins it with the next */
} sup_text_cursor;

/* A slice of the file: not zero-terminated. */
typedef struct sup_word {
    const char *text;
    size_t length;
} sup_word;

/* A byte order mark at the start is skipped. */
sup_text_cursor sup_text_open(sup_bytes bytes, const char *name, char comment);
size_t sup_text_remaining(const sup_text_cursor *cursor); /* bytes to the end of the file */

/* False at the end of the file. */
bool sup_text_next_line(sup_text_cursor *cursor);
/* Skips white space; true when this line has another word that is not a comment. */
bool sup_text_has_word(sup_text_cursor *cursor);
/* Advances to the next word, on this line or a later one; false at the end of the file. */
bool sup_text_skip_to_word(sup_text_cursor *cursor);

/* The next word of this line; length 0 at the end of the line. */
sup_word sup_text_word(sup_text_cursor *cursor);
/* The rest of this line, trimmed. */
sup_word sup_text_rest(sup_text_cursor *cursor);
/* The next word of this line as a number; false without advancing when it is not a number. */
bool sup_text_double(sup_text_cursor *cursor, double *value);
bool sup_text_int64(sup_text_cursor *cursor, int64_t *value);

bool sup_word_is(sup_word word, const char *text); /* ignores case */

/* SUP_ERROR_FORMAT at the current line: error->where becomes "file:line". */
sup_result sup_text_fail(const sup_text_cursor *cursor, sup_error *error, const char *id, const char *format, ...)
    __attribute__((format(printf, 4, 5)));
/* The same for a missing number or word: the message quotes the word that was found instead. */
sup_result sup_text_fail_expected(sup_text_cursor *cursor, sup_error *error, const char *id, const char *expected);

#endif

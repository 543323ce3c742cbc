/* text_cursor.h (internal) - walking through a text file: lines, words, numbers, and the line that messages name.
 *
 * Lines end with "\n", "\r\n" or "\r". A cursor works inside the current line; sup_text_next_line and
 * sup_text_skip_to_word go on to the next. Nothing is copied and nothing depends on a zero at the end. */
#ifndef SUP_LOAD_TEXT_CURSOR_H
#define SUP_LOAD_TEXT_CURSOR_H

#include "base/base.h"

typedef struct sup_text_cursor {
    const char *at, *end; /* next byte; end of the file */
    const char *name;     /* of the file, for messages */
    int64_t line;         /* from 1 */
    char comment;         /* a word that starts with this ends its line; 0 for none */
    bool continued;       /* "\" before the end of a line joins it with the next */
} sup_text_cursor;

/* A piece of the file: not terminated. */
typedef struct sup_word {
    const char *text;
    size_t length;
} sup_word;

/* A byte order mark at the start is skipped. */
sup_text_cursor sup_text_open(sup_bytes bytes, const char *name, char comment);
size_t sup_text_remaining(const sup_text_cursor *cursor); /* bytes to the end of the file */

/* False at the end of the file. */
bool sup_text_next_line(sup_text_cursor *cursor);
/* Skips space; true when something but a comment is left on this line. */
bool sup_text_has_word(sup_text_cursor *cursor);
/* Goes to the next place with a word, on this line or a later one; false at the end of the file. */
bool sup_text_skip_to_word(sup_text_cursor *cursor);

/* The next word of this line; length 0 when there is none. */
sup_word sup_text_word(sup_text_cursor *cursor);
/* The rest of this line without space around it. */
sup_word sup_text_rest(sup_text_cursor *cursor);
/* The next word of this line as a number; false, and the cursor stays, when it is none. */
bool sup_text_double(sup_text_cursor *cursor, double *value);
bool sup_text_int64(sup_text_cursor *cursor, int64_t *value);

bool sup_word_is(sup_word word, const char *text); /* letters of any case */

/* SUP_ERROR_FORMAT at the current line: error->where becomes "file:line". */
sup_result sup_text_fail(const sup_text_cursor *cursor, sup_error *error, const char *id, const char *format, ...)
    __attribute__((format(printf, 4, 5)));
/* The same, for a number or word that was expected and is not there: quotes what is there instead. */
sup_result sup_text_fail_expected(sup_text_cursor *cursor, sup_error *error, const char *id, const char *expected);

#endif

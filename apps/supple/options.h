/* options.h - one table per verb says what it takes; parsing, checking and --help come from the table. */
#ifndef APP_OPTIONS_H
#define APP_OPTIONS_H

#include "app.h"

typedef enum app_option_kind {
    APP_POSITIONAL, /* const char *; filled in order, required unless `optional` */
    APP_FLAG,       /* bool */
    APP_TEXT,       /* const char * */
    APP_WHOLE,      /* int, within minimum and maximum */
    APP_NUMBER,     /* double, within minimum and maximum */
    APP_CHOICE,     /* int, index into choices */
    APP_MANY        /* app_texts: may be given again */
} app_option_kind;

enum { APP_MANY_LIMIT = 64 };
typedef struct app_texts {
    int count;
    const char *items[APP_MANY_LIMIT];
} app_texts;

typedef struct app_option {
    app_option_kind kind;
    const char *name;     /* "method" for --method; of a positional, "INPUT" */
    char letter;          /* 'o' for -o, 0 for none */
    const char *argument; /* "NAME", NULL for flags */
    size_t offset;        /* of its value in the verb's own struct */
    const char *help;
    bool required, optional;
    double minimum, maximum;
    const char *const *choices; /* NULL-terminated */
} app_option;

/* Rows of values with an `output` and a `frame`. */
#define APP_OUTPUT(type, argument_name, description)                                                                             \
    {                                                                                                            \
        .kind = APP_TEXT, .name = "output", .letter = 'o', .argument = (argument_name), .offset = offsetof(type, output), \
        .required = true, .help = (description)                                                                         \
    }
#define APP_ONE_FRAME(type, description)                                                                                 \
    {                                                                                                             \
        .kind = APP_WHOLE, .name = "frame", .argument = "N", .offset = offsetof(type, frame), .maximum = 1000000, \
        .help = (description)                                                                                            \
    }

typedef struct app_verb {
    const char *name;
    const char *usage;   /* after "supple NAME " */
    const char *summary; /* one sentence */
    const char *details; /* paragraphs and examples for --help, or NULL */
    const app_option *options;
    int option_count;
} app_verb;

/* Fills `values` from the arguments; argv[0] is the verb. True to go on; else *status is what to exit with: --help was
 * asked for and printed, or the arguments are wrong and a sentence said so. */
bool app_parse(const app_verb *verb, int argc, char **argv, void *values, int *status);

/* A whole number or a number that fills the whole of `text`. */
bool app_parse_whole(const char *text, double *value);
bool app_parse_number(const char *text, double *value);

#endif

/* options.h - each verb has a table of options; parsing, checks and --help are generated from it. */
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
    APP_MANY        /* app_texts: repeatable */
} app_option_kind;

enum { APP_MANY_LIMIT = 64 };
typedef struct app_texts {
    int count;
    const char *items[APP_MANY_LIMIT];
} app_texts;

typedef struct app_option {
    app_option_kind kind;
    const char *name;     /* "method" for --method; "INPUT" for a positional */
    char letter;          /* 'o' for -o, 0 for none */
    const char *argument; /* "NAME", NULL for flags */
    size_t offset;        /* of its value in the values struct of the verb */
    const char *help;
    bool required, optional;
    double minimum, maximum;
    const char *const *choices; /* NULL-terminated */
} app_option;

/* Table rows for values structs with a member `output` or `frame`. */
#define APP_OUTPUT(type, argument_name, description)                                    \
    {                                                                                   \
        .kind = APP_TEXT, .name = "output", .letter = 'o', .argument = (argument_name), \
        .offset = offsetof(type, output), .required = true, .help = (description)       \
    }
#define APP_ONE_FRAME(type, description)                                                                          \
    {                                                                                                             \
        .kind = APP_WHOLE, .name = "frame", .argument = "N", .offset = offsetof(type, frame), .maximum = 1000000, \
        .help = (description)                                                                                     \
    }

typedef struct app_verb {
    const char *name;
    const char *usage;   /* after "supple NAME " */
    const char *summary; /* one sentence */
    const char *details; /* paragraphs and examples for --help, or NULL */
    const app_option *options;
    int option_count;
} app_verb;

/* Fills `values` from the arguments; argv[0] is the verb. Returns false with the exit status in *status when --help was
 * printed or an argument is wrong (after a message). */
bool app_parse(const app_verb *verb, int argc, char **argv, void *values, int *status);

/* Parse all of `text` as an integer or a number. */
bool app_parse_whole(const char *text, double *value);
bool app_parse_number(const char *text, double *value);

#endif

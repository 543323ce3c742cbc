/* progress.h - progress of a long call: a bar on a terminal, lines in a pipe; and cancellation by Ctrl-C. */
#ifndef APP_PROGRESS_H
#define APP_PROGRESS_H

#include "app.h"

typedef struct app_progress {
    bool bar;        /* on stderr, a terminal */
    bool lines;      /* on stdout */
    bool drawn;      /* a bar is on the screen */
    int last_step;   /* last printed tenth of the work, -1 at the start */
    double drawn_at; /* milliseconds */
    double began_at;
} app_progress;

/* Also catches Ctrl-C and SIGTERM: the first cancels the work, a second one ends the program at once. */
void app_progress_begin(app_progress *progress, bool quiet, bool json);
/* A sup_progress_fn: returns false after Ctrl-C. */
bool app_progress_report(void *progress, float fraction, const char *stage);
/* Removes the bar. */
void app_progress_end(app_progress *progress);

#endif

/* progress.h - how far a long call is: a live bar on a terminal, plain lines in a pipe; and Ctrl-C. */
#ifndef APP_PROGRESS_H
#define APP_PROGRESS_H

#include "app.h"

typedef struct app_progress {
    bool bar;        /* on stderr, a terminal */
    bool lines;      /* on stdout */
    bool drawn;      /* a bar is on the screen */
    int last_step;   /* tenth of the work that was last told, -1 at the start */
    double drawn_at; /* milliseconds */
    double began_at;
} app_progress;

/* Also catches Ctrl-C and SIGTERM: the first asks the work to stop, a second one ends the program at once. */
void app_progress_begin(app_progress *progress, bool quiet, bool json);
/* A sup_progress_fn: false once a Ctrl-C came. */
bool app_progress_report(void *progress, float fraction, const char *stage);
/* Takes the bar off the screen. */
void app_progress_end(app_progress *progress);

#endif

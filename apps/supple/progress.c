/* progress.c - progress bar on a terminal, lines in a pipe; cancellation by Ctrl-C. */
#include "progress.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { BAR_WIDTH = 32, REDRAW_MS = 40, TOGETHER_MS = 300 };

static volatile sig_atomic_t stop_asked;
static struct timespec asked_at;

/* The first signal cancels the work; a second one ends the program at once. Signals within TOGETHER_MS count as one: a
 * parent may signal both the process and its group. Uses only async-signal-safe functions. */
static void ask_to_stop(int signal_number)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    long long apart_ms = (now.tv_sec - asked_at.tv_sec) * 1000LL + (now.tv_nsec - asked_at.tv_nsec) / 1000000;
    if (stop_asked && apart_ms > TOGETHER_MS) {
        signal(signal_number, SIG_DFL);
        raise(signal_number);
    }
    if (!stop_asked) asked_at = now;
    stop_asked = 1;
}

static void catch_signals(void)
{
    struct sigaction action;
    memset(&action, 0, sizeof action);
    action.sa_handler = ask_to_stop;
    sigemptyset(&action.sa_mask);
    sigaction(SIGINT, &action, NULL);
    sigaction(SIGTERM, &action, NULL);
}

static bool is_terminal(int descriptor)
{
    const char *kind = getenv("TERM");
    return isatty(descriptor) == 1 && kind != NULL && strcmp(kind, "dumb") != 0;
}

void app_progress_begin(app_progress *progress, bool quiet, bool json)
{
    memset(progress, 0, sizeof *progress);
    progress->bar = !quiet && is_terminal(STDERR_FILENO) && (json || is_terminal(STDOUT_FILENO));
    progress->lines = !quiet && !json && !progress->bar;
    progress->last_step = -1;
    progress->began_at = app_milliseconds();
    catch_signals();
}

static void draw_bar(app_progress *progress, float fraction, const char *stage)
{
    double now = app_milliseconds();
    if (progress->drawn && now - progress->drawn_at < REDRAW_MS) return;
    char bar[BAR_WIDTH + 1];
    int full = (int)(fraction * BAR_WIDTH);
    memset(bar, '-', BAR_WIDTH);
    memset(bar, '#', (size_t)full);
    bar[BAR_WIDTH] = '\0';
    fprintf(stderr, "\r\x1b[K[%s] %3d%%  %.30s", bar, (int)(fraction * 100.0f), app_clean(stage));
    if (fraction > 0.02f && now - progress->began_at > 2000.0)
        fprintf(stderr, "  %.0f s left",
                (now - progress->began_at) * (1.0 - (double)fraction) / (double)fraction / 1e3);
    fflush(stderr);
    progress->drawn = true;
    progress->drawn_at = now;
}

static void print_line(app_progress *progress, float fraction, const char *stage)
{
    int step = (int)(fraction * 10.0f);
    if (step == progress->last_step) return;
    progress->last_step = step;
    printf("%3d%%  %s\n", (int)(fraction * 100.0f), app_clean(stage));
    fflush(stdout);
}

bool app_progress_report(void *user, float fraction, const char *stage)
{
    app_progress *progress = user;
    if (stop_asked) return false;
    if (!(fraction >= 0.0f)) fraction = 0.0f;
    if (fraction > 1.0f) fraction = 1.0f;
    if (stage == NULL) stage = "";
    if (progress->bar) draw_bar(progress, fraction, stage);
    if (progress->lines) print_line(progress, fraction, stage);
    return true;
}

void app_progress_end(app_progress *progress)
{
    if (progress->drawn) fputs("\r\x1b[K", stderr);
    fflush(stderr);
    progress->drawn = false;
}

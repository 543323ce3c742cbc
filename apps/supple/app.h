/* app.h - what the verbs of the supple program share: exit statuses, messages, loading. On the public API alone. */
#ifndef APP_APP_H
#define APP_APP_H

#include "supple/supple.h"

#include <stdio.h>

/* Exit statuses, the same for every verb; the man page documents them. */
enum {
    APP_DONE = 0,
    APP_USAGE = 1, /* the command line is wrong */
    APP_INPUT = 2, /* a file that was given cannot be read or used */
    APP_OTHER = 3  /* memory, an output that cannot be written, a computation that failed, a Ctrl-C */
};

/* Where in the work a library call failed: an unreadable path means something else for an input than for an output. */
typedef enum app_phase { APP_PHASE_LOAD, APP_PHASE_BAKE } app_phase;

/* "supple: " and one line on stderr. Control characters of names in hostile files are shown as '?'. */
void app_say(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* The same, and APP_USAGE to return. */
int app_usage(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* A failed library call as one line on stderr, `supple: PLACE: what is wrong`; the exit status to return. `path` is
 * the file that the call was about, for errors that do not name it themselves. */
int app_fail(const sup_error *error, app_phase phase, const char *path);

/* A copy of `text` that is safe on a terminal: control characters become '?'. Lives for 8 calls, 500 bytes each. */
const char *app_clean(const char *text);
/* 20123 as "20,123". Lives for 8 calls. */
const char *app_grouped(long long number);
/* 1234567 bytes as "1.2 MB". Lives for 8 calls. */
const char *app_size(double bytes);

double app_milliseconds(void);
/* What times are measured on. */
typedef struct app_machine {
    char processor[128], system[128], compiler[32];
    int cores;
} app_machine;
app_machine app_machine_find(void);
/* Flushes stdout. A reader that has gone away is nobody's fault: quiet. A full disk is APP_OTHER and a sentence. */
int app_finish_stdout(int status);

/* The nearest of `names` to `wrong`, or NULL when none is near. */
const char *app_nearest(const char *wrong, const char *const *names, int32_t count);

/* What every verb that reads a character needs: threads, and where messages go. */
typedef struct app_session {
    sup_context context;
    sup_thread_pool *pool;
    int warning_count;
    bool quiet;
    double load_ms;
} app_session;

/* `threads` 0 = as many as the machine has. APP_DONE or an exit status. */
int app_session_open(app_session *session, int threads, bool quiet);
void app_session_close(app_session *session);

/* INPUT as every verb takes it: a character file, a mesh with `skeleton` (or NULL), scene:NAME or scene:NAME@RESOLUTION.
 * APP_DONE and a character, or an exit status after its sentence. */
int app_open_character(app_session *session, const char *input, const char *skeleton, sup_character **character);
/* The load def with this build's readers of further formats. */
sup_load_def app_load_def(const char *skeleton);
/* app_fail for a file of any format: for an unknown ending it says what this build knows. */
int app_fail_load(const sup_error *error, const char *path);
/* "scene:" inputs are made by code, not read from a file. */
bool app_is_scene(const char *input);

/* The verbs; each gets its own name as argv[0]. */
int app_command_anatomy(int argc, char **argv);
int app_command_bake(int argc, char **argv);
int app_command_bind(int argc, char **argv);
int app_command_rig(int argc, char **argv);
int app_command_bench(int argc, char **argv);
int app_command_compare(int argc, char **argv);
int app_command_info(int argc, char **argv);
int app_command_measure(int argc, char **argv);
int app_command_methods(int argc, char **argv);
int app_command_render(int argc, char **argv);
int app_command_report(int argc, char **argv);
int app_command_scenes(int argc, char **argv);
int app_command_slice(int argc, char **argv);
int app_command_studio(int argc, char **argv);

#endif

/* gauntlet_jobs.c - tasks in child processes, which take them from one pipe and answer through another. */
#include "gauntlet.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* Smaller than PIPE_BUF, so that messages of several processes do not mix. */
typedef struct message {
    int32_t task, kind, size;
    char bytes[GAUNTLET_MESSAGE];
} message;
_Static_assert(sizeof(message) <= 4096, "a message is written at once");
_Static_assert(sizeof(gauntlet_row) <= GAUNTLET_MESSAGE, "a row is one message");

enum { JOB_LIMIT = 256, PIPE_CAPACITY = 65536 / sizeof(int32_t) };

static bool read_all(int fd, void *to, size_t size)
{
    for (size_t done = 0; done < size;) {
        ssize_t n = read(fd, (char *)to + done, size - done);
        if (n < 0 && errno == EINTR) continue;
        if (n <= 0) return false;
        done += (size_t)n;
    }
    return true;
}

static void send_message(int fd, const message *m)
{
    ssize_t n;
    do
        n = write(fd, m, sizeof *m);
    while (n < 0 && errno == EINTR);
    if (n != (ssize_t)sizeof *m) _exit(1); /* the parent has ended */
}

void gauntlet_send(int fd, int32_t task, int32_t kind, const void *bytes, size_t size)
{
    size_t sent = 0;
    do {
        size_t part = size - sent < GAUNTLET_MESSAGE ? size - sent : GAUNTLET_MESSAGE;
        message m = {.task = task, .kind = kind, .size = (int32_t)part};
        if (part > 0) memcpy(m.bytes, (const char *)bytes + sent, part);
        send_message(fd, &m);
        sent += part;
    } while (sent < size);
}

static void run_child(int tasks, int results, gauntlet_work *work, void *user)
{
    int32_t task;
    while (read_all(tasks, &task, sizeof task)) {
        work(user, task, results);
        gauntlet_send(results, task, GAUNTLET_DONE, NULL, 0);
    }
    _exit(0);
}

bool gauntlet_run_jobs(int32_t jobs, int32_t count, gauntlet_work *work, gauntlet_receive *receive, void *user)
{
    int tasks[2], results[2];
    int32_t done = 0, started = 0;
    pid_t children[JOB_LIMIT];
    if (count > (int32_t)PIPE_CAPACITY || jobs > JOB_LIMIT || pipe(tasks) != 0 || pipe(results) != 0) return false;
    for (int32_t t = 0; t < count; t++)
        if (write(tasks[1], &t, sizeof t) != (ssize_t)sizeof t) return false;
    close(tasks[1]);
    fflush(NULL); /* what is buffered must not be written by the children too */
    for (; started < jobs; started++) {
        children[started] = fork();
        if (children[started] < 0) break;
        if (children[started] == 0) {
            close(results[0]);
            run_child(tasks[0], results[1], work, user);
        }
    }
    close(tasks[0]);
    close(results[1]);
    message *m = gauntlet_must(malloc(sizeof *m));
    while (read_all(results[0], m, sizeof *m)) {
        receive(user, m->task, m->kind, m->bytes, m->size);
        done += m->kind == GAUNTLET_DONE;
    }
    free(m);
    close(results[0]);
    for (int32_t i = 0; i < started; i++)
        waitpid(children[i], NULL, 0);
    return done == count;
}

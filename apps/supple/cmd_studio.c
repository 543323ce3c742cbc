/* cmd_studio.c - `supple studio`: serves the built page of Supple Studio to the local browser. */
#include "options.h"
#include "server.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <spawn.h>
#include <string.h>
#include <unistd.h>

extern char **environ;

typedef struct studio_values {
    const char *folder;
    int port;
    bool no_open;
} studio_values;

static const app_option studio_options[] = {
    {.kind = APP_TEXT,
     .name = "folder",
     .argument = "FOLDER",
     .offset = offsetof(studio_values, folder),
     .help = "folder of the built page; default: the installed or built one"},
    {.kind = APP_WHOLE,
     .name = "port",
     .argument = "N",
     .offset = offsetof(studio_values, port),
     .minimum = 0,
     .maximum = 65535,
     .help = "TCP port; 0 (default): a free port"},
    {.kind = APP_FLAG,
     .name = "no-open",
     .offset = offsetof(studio_values, no_open),
     .help = "print the address, do not open a browser"},
};

static const app_verb studio_verb = {
    .name = "studio",
    .usage = "[options]",
    .summary = "Opens Supple Studio in the browser: an interactive viewer for your character with every method.",
    .details =
        "The server listens on 127.0.0.1 only, until Ctrl-C. The page computes in the browser and uploads nothing.\n"
        "'make studio' builds it as static files that any web server can host.\n\n"
        "Exit status: 0 ended by Ctrl-C, 1 wrong usage, 2 no page in the folder, 3 other errors.\n",
    .options = studio_options,
    .option_count = (int)(sizeof studio_options / sizeof studio_options[0]),
};

static volatile sig_atomic_t stop_asked;

static void ask_to_stop(int number)
{
    (void)number;
    stop_asked = 1;
}

static void catch_signals(void)
{
    struct sigaction action = {.sa_handler = ask_to_stop}, ignore = {.sa_handler = SIG_IGN};
    sigaction(SIGINT, &action, NULL);
    sigaction(SIGTERM, &action, NULL);
    sigaction(SIGCHLD, &ignore, NULL); /* do not wait for the browser process */
}

static bool has_page(const char *folder)
{
    char path[PATH_MAX];
    int length = snprintf(path, sizeof path, "%s/index.html", folder);
    return length > 0 && length < (int)sizeof path && access(path, R_OK) == 0;
}

/* Relative to the program: the installed page, or the one built in the source tree. */
static bool find_folder(char folder[PATH_MAX])
{
    static const char *const folders[] = {"../share/supple/studio", "../web/dist/studio"};
    char program[PATH_MAX / 2];
    ssize_t size = readlink("/proc/self/exe", program, sizeof program - 1);
    if (size <= 0) return false;
    program[size] = '\0';
    char *slash = strrchr(program, '/');
    if (slash == NULL) return false;
    *slash = '\0';
    for (size_t i = 0; i < sizeof folders / sizeof folders[0]; i++) {
        snprintf(folder, PATH_MAX, "%s/%s", program, folders[i]);
        if (has_page(folder)) return true;
    }
    return false;
}

static void open_browser(char *address)
{
    posix_spawn_file_actions_t actions;
    char *arguments[] = {(char[]){"xdg-open"}, address, NULL};
    pid_t child;
    if (posix_spawn_file_actions_init(&actions) != 0) return;
    posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
    posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
    if (posix_spawnp(&child, "xdg-open", &actions, NULL, arguments, environ) != 0)
        app_say("xdg-open is not installed; open the address manually.");
    posix_spawn_file_actions_destroy(&actions);
}

static int serve(const char *folder, const studio_values *values)
{
    char address[64];
    app_server *server = app_server_open(folder, values->port);
    if (server == NULL && errno == EADDRINUSE) {
        app_say("--port %d: The port is in use; omit --port to use a free one.", values->port);
        return APP_OTHER;
    }
    if (server == NULL) {
        app_say("%s: The folder cannot be served: %s.", folder, strerror(errno));
        return APP_OTHER;
    }
    snprintf(address, sizeof address, "http://127.0.0.1:%d/", app_server_port(server));
    printf("Supple Studio: %s (Ctrl-C to stop)\n", address);
    fflush(stdout);
    catch_signals();
    if (!values->no_open) open_browser(address);
    bool fine = app_server_run(server, &stop_asked);
    app_server_close(server);
    return fine ? APP_DONE : APP_OTHER;
}

int app_command_studio(int argc, char **argv)
{
    studio_values values = {0};
    char found[PATH_MAX];
    int status = APP_DONE;
    if (!app_parse(&studio_verb, argc, argv, &values, &status)) return status;
    if (values.folder != NULL && !has_page(values.folder)) {
        app_say("%s: No index.html found; 'make studio' builds the page to web/dist/studio.", values.folder);
        return APP_INPUT;
    }
    if (values.folder == NULL && !find_folder(found)) {
        app_say("The page is not built: run 'make studio', or give its folder with --folder.");
        return APP_INPUT;
    }
    return serve(values.folder != NULL ? values.folder : found, &values);
}

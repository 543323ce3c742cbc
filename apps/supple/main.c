/* main.c - the supple program: dispatches to the verb. */
#include "app.h"
#include "options.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

typedef struct verb_entry {
    const char *name, *usage, *summary;
    int (*run)(int argc, char **argv);
} verb_entry;

#ifdef SUPPLE_APP_RENDER
#define PICTURE_VERB(command) command
#else
#define PICTURE_VERB(command) refuse_picture
static int refuse_picture(int argc, char **argv)
{
    (void)argc;
    app_say("%s: This build has no renderer: install libembree-dev and libpng-dev and build again.", argv[0]);
    return APP_OTHER;
}
#endif

static const verb_entry verbs[] = {
    {"info", "FILE [--json]", "Print the contents of a character file and its defects.", app_command_info},
    {"bake", "INPUT -o OUTPUT", "Skin an animation and write the vertex positions of all frames.", app_command_bake},
    {"bind", "INPUT -o MODEL", "Precompute the model of a method, for bake --model and engines.", app_command_bind},
    {"rig", "INPUT -o OUTPUT", "Write a GLB with skeleton and skinning weights.", app_command_rig},
    {"render", "INPUT -o OUTPUT", "Render an image of a character, or a video of its animation.",
     PICTURE_VERB(app_command_render)},
    {"compare", "INPUT -o SHEET", "Render several methods side by side, with times and metrics.",
     PICTURE_VERB(app_command_compare)},
    {"slice", "INPUT --joint J", "Plot iso-lines of the implicit skin field in a plane.",
     PICTURE_VERB(app_command_slice)},
    {"measure", "INPUT CACHE", "Compute quality metrics of a baked animation.", app_command_measure},
    {"report", "INPUT -o PAGE", "Write an HTML page that compares methods: images, plots, tables.",
     PICTURE_VERB(app_command_report)},
    {"bench", "[INPUT]", "Time the methods against a scalar reference.", app_command_bench},
    {"anatomy", "VERB ...", "Fit bones, muscles and fat inside a skin.", app_command_anatomy},
    {"studio", "[options]", "Open Supple Studio, the interactive viewer, in the browser.", app_command_studio},
    {"methods", "[--json]", "List the skinning methods and their parameters.", app_command_methods},
    {"scenes", "[--json]", "List the built-in characters.", app_command_scenes},
};
enum { VERB_COUNT = sizeof verbs / sizeof verbs[0] };

static int print_help(void)
{
    printf("Supple %d.%d.%d: character skinning. Input: a mesh and an animated skeleton; output: the deformed mesh.\n\n"
           "Usage: supple VERB [arguments]\n\n",
           SUPPLE_VERSION_MAJOR, SUPPLE_VERSION_MINOR, SUPPLE_VERSION_PATCH);
    for (int i = 0; i < VERB_COUNT; i++)
        printf("  %-8s %-16s %s\n", verbs[i].name, verbs[i].usage, verbs[i].summary);
    printf("\n'supple VERB --help' lists the options of a verb; 'man supple' is the reference.\n\n"
           "Try:\n"
           "  supple bake scene:human -o human.glb\n"
           "  supple info human.glb\n"
           "  supple render scene:human -o human.png\n"
           "  supple compare scene:human -o sheet.png\n");
    return APP_DONE;
}

static int print_version(void)
{
    printf("supple %d.%d.%d\n", SUPPLE_VERSION_MAJOR, SUPPLE_VERSION_MINOR, SUPPLE_VERSION_PATCH);
    return APP_DONE;
}

static int unknown_verb(const char *name)
{
    const char *names[VERB_COUNT];
    for (int i = 0; i < VERB_COUNT; i++)
        names[i] = verbs[i].name;
    const char *nearest = app_nearest(name, names, VERB_COUNT);
    if (nearest != NULL) return app_usage("Unknown verb '%s'; did you mean '%s'?", name, nearest);
    char list[300] = "";
    for (int i = 0; i < VERB_COUNT; i++) {
        size_t length = strlen(list);
        snprintf(list + length, sizeof list - length, "%s%s",
                 i == 0                ? ""
                 : i + 1 == VERB_COUNT ? " and "
                                       : ", ",
                 names[i]);
    }
    return app_usage("Unknown verb '%s'. The verbs are %s ('supple --help').", name, list);
}

static int run_verb(int argc, char **argv)
{
    for (int i = 0; i < VERB_COUNT; i++)
        if (strcmp(verbs[i].name, argv[0]) == 0) return verbs[i].run(argc, argv);
    return unknown_verb(argv[0]);
}

static int run(int argc, char **argv)
{
    if (argc < 2) return app_usage("No verb given: supple VERB [arguments]; 'supple --help' lists the verbs.");
    if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0) return print_help();
    if (strcmp(argv[1], "--version") == 0 || strcmp(argv[1], "-V") == 0) return print_version();
    if (strcmp(argv[1], "help") == 0) {
        if (argc < 3) return print_help();
        char *help[] = {argv[2], (char[]){"--help"}, NULL};
        return run_verb(2, help);
    }
    if (argv[1][0] == '-')
        return app_usage("Unknown option %s; options follow the verb, see 'supple --help'.", argv[1]);
    return run_verb(argc - 1, argv + 1);
}

/* A closed stdin, stdout or stderr would give its descriptor to the next opened file, and messages would be written
 * into that file. */
static void fill_standard_descriptors(void)
{
    for (int descriptor = 0; descriptor < 3; descriptor++)
        if (fcntl(descriptor, F_GETFD) == -1 && errno == EBADF && open("/dev/null", O_RDWR) < 0) return;
}

int main(int argc, char **argv)
{
    fill_standard_descriptors();
    /* A closed pipe must not abort the bake; exceeding a file-size limit must end in an error message. */
    signal(SIGPIPE, SIG_IGN);
    signal(SIGXFSZ, SIG_IGN);
    return app_finish_stdout(run(argc, argv));
}

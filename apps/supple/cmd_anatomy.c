/* cmd_anatomy.c - `supple anatomy VERB`: picks the verb. */
#include "anatomy.h"
#include "options.h"

#include <string.h>

typedef struct anatomy_verb {
    const char *name, *usage, *summary;
    int (*run)(int argc, char **argv);
} anatomy_verb;

/* One file a verb, anatomy_NAME.c. */
static const anatomy_verb verbs[] = {
    {"template", "--skin S --bones B -o T", "makes the three layers of a skin with bones and muscles inside",
     app_anatomy_template},
    {"train", "SHAPES -o COMPOSITION", "learns body shapes and their masses", app_anatomy_train},
    {"register", "SCAN --composition C -o OUT", "puts the surface template on a scan", app_anatomy_register},
    {"fit", "SCAN --template T -o BODY.glb", "bones, muscles and fat of a person", app_anatomy_fit},
    {"grow", "BODY.glb --fat KG -o OUT.glb", "a person with more or less fat", app_anatomy_grow},
    {NULL, NULL, NULL, NULL},
};
enum { VERB_COUNT = sizeof verbs / sizeof verbs[0] - 1 };

static int print_help(void)
{
    printf("Usage: supple anatomy VERB [arguments]\n\n"
           "The body inside: bones, muscles and fat as three surfaces of one triangulation.\n\n");
    for (int i = 0; i < VERB_COUNT; i++)
        printf("  %-9s %-30s %s\n", verbs[i].name, verbs[i].usage, verbs[i].summary);
    printf("\n'supple anatomy VERB --help' explains a verb.\n");
    return APP_DONE;
}

static int unknown_verb(const char *name)
{
    const char *names[VERB_COUNT + 1] = {NULL};
    for (int i = 0; i < VERB_COUNT; i++)
        names[i] = verbs[i].name;
    const char *nearest = app_nearest(name, names, VERB_COUNT);
    if (nearest != NULL) return app_usage("anatomy has no verb '%s'; did you mean '%s'?", name, nearest);
    return app_usage("anatomy has no verb '%s'; 'supple anatomy --help' lists them.", name);
}

int app_command_anatomy(int argc, char **argv)
{
    if (argc < 2)
        return app_usage("Say what to do: supple anatomy VERB [arguments]; 'supple anatomy --help' lists the verbs.");
    if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0) return print_help();
    for (int i = 0; i < VERB_COUNT; i++)
        if (strcmp(verbs[i].name, argv[1]) == 0) return verbs[i].run(argc - 1, argv + 1);
    return unknown_verb(argv[1]);
}

/* cmd_anatomy.c - `supple anatomy VERB`: dispatches to the verb. */
#include "anatomy.h"
#include "options.h"

#include <string.h>

typedef struct anatomy_verb {
    const char *name, *usage, *summary;
    int (*run)(int argc, char **argv);
} anatomy_verb;

/* One file per verb: anatomy_NAME.c. */
static const anatomy_verb verbs[] = {
    {"template", "--skin S --bones B -o T", "create the skin, muscle and bone layers from a skin with bones",
     app_anatomy_template},
    {"train", "SHAPES -o COMPOSITION", "learn a body shape space and the masses of a shape", app_anatomy_train},
    {"register", "SCAN --composition C -o OUT", "fit the surface template to a scan", app_anatomy_register},
    {"fit", "SCAN --template T -o BODY.glb", "fit bones, muscles and fat to a scan", app_anatomy_fit},
    {"grow", "BODY.glb --fat KG -o OUT.glb", "add or remove fat of a fitted body", app_anatomy_grow},
    {NULL, NULL, NULL, NULL},
};
enum { VERB_COUNT = sizeof verbs / sizeof verbs[0] - 1 };

static int print_help(void)
{
    printf("Usage: supple anatomy VERB [arguments]\n\n"
           "Bones, muscles and fat inside a skin, as three surfaces with the same triangulation.\n\n");
    for (int i = 0; i < VERB_COUNT; i++)
        printf("  %-9s %-30s %s\n", verbs[i].name, verbs[i].usage, verbs[i].summary);
    printf("\n'supple anatomy VERB --help' lists the options of a verb.\n");
    return APP_DONE;
}

static int unknown_verb(const char *name)
{
    const char *names[VERB_COUNT + 1] = {NULL};
    for (int i = 0; i < VERB_COUNT; i++)
        names[i] = verbs[i].name;
    const char *nearest = app_nearest(name, names, VERB_COUNT);
    if (nearest != NULL) return app_usage("anatomy: Unknown verb '%s'; did you mean '%s'?", name, nearest);
    return app_usage("anatomy: Unknown verb '%s'; 'supple anatomy --help' lists the verbs.", name);
}

int app_command_anatomy(int argc, char **argv)
{
    if (argc < 2)
        return app_usage("No verb given: supple anatomy VERB [arguments]; 'supple anatomy --help' lists the verbs.");
    if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0) return print_help();
    for (int i = 0; i < VERB_COUNT; i++)
        if (strcmp(verbs[i].name, argv[1]) == 0) return verbs[i].run(argc - 1, argv + 1);
    return unknown_verb(argv[1]);
}

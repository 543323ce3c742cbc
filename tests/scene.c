/* scene.c - making a character takes longer than most tests with it, so what was made is kept until the program ends. */
#include "scene.h"
#include "test.h"

enum { KEPT_MOST = 64 };

typedef struct kept_scene {
    char name[32];
    double resolution;
    sup_character *character;
} kept_scene;

static kept_scene kept[KEPT_MOST];
static int kept_count;

static void forget(void)
{
    while (kept_count > 0)
        sup_character_destroy(kept[--kept_count].character);
}

static const sup_character *find(const char *name, double resolution)
{
    for (int i = 0; i < kept_count; i++)
        if (strcmp(kept[i].name, name) == 0 && kept[i].resolution == resolution) return kept[i].character;
    return NULL;
}

sup_character *test_scene(const char *name, double resolution)
{
    sup_character *copy = NULL;
    sup_error error;
    const sup_character *source = find(name, resolution);
    if (source == NULL) {
        CHECK(kept_count < KEPT_MOST && strlen(name) < sizeof kept[0].name);
        kept_scene *made = &kept[kept_count];
        CHECK_OK(sup_scene_create(NULL, name, resolution, &made->character, &error), error);
        strcpy(made->name, name);
        made->resolution = resolution;
        if (kept_count++ == 0) atexit(forget);
        source = made->character;
    }
    CHECK_OK(sup_character_create(NULL, source, &copy, &error), error);
    return copy;
}

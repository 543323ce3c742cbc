/* scene.c - building a character takes longer than most tests, so built characters are cached until the program
 * ends. */
#include "scene.h"
#include "test.h"

const char *const test_characters[TEST_CHARACTERS] = {
    "gltf/babylon_LeftHand_noanim.glb",
    "gltf/kaykit_Barbarian.glb",
    "gltf/khronos_CesiumMan.glb",
    "gltf/khronos_Fox.glb",
    "gltf/khronos_RiggedFigure.glb",
    "gltf/khronos_RiggedSimple.glb",
    "gltf/khronos_SimpleSkin.gltf",
    "gltf/m2m_Dragon.glb",
    "gltf/m2m_Horse.glb",
    "gltf/m2m_HumanBunny.glb",
    "gltf/m2m_Human_customanim.glb",
    "gltf/m2m_Snake.glb",
    "gltf/quat_Dolphin.glb",
    "gltf/quat_Frog.glb",
    "gltf/quat_Horse.glb",
    "gltf/quat_Husky.glb",
    "gltf/quat_Knight.glb",
    "gltf/quat_ManCasual.glb",
    "gltf/quat_PlatformerCharacter.glb",
    "gltf/quat_RobotExpressive.glb",
    "gltf/quat_Stegosaurus.glb",
    "gltf/quat_Trex.glb",
    "gltf/quat_Wasp_nanweights.glb",
    "gltf/quat_WomanCasual.glb",
    "makehuman/mh_child.glb",
    "makehuman/mh_female_average.glb",
    "makehuman/mh_male_average.glb",
    "makehuman/mh_male_obese.glb",
};

enum { KEPT_MOST = 64 };

typedef struct cached_scene {
    char name[32];
    double resolution;
    sup_character *character;
} cached_scene;

static cached_scene kept[KEPT_MOST];
static int kept_count;

static void free_cache(void)
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
        cached_scene *made = &kept[kept_count];
        CHECK_OK(sup_scene_create(NULL, name, resolution, &made->character, &error), error);
        strcpy(made->name, name);
        made->resolution = resolution;
        if (kept_count++ == 0) atexit(free_cache);
        source = made->character;
    }
    CHECK_OK(sup_character_create(NULL, source, &copy, &error), error);
    return copy;
}

static void *failing_allocate(void *user, size_t size, size_t alignment)
{
    failing_allocator *f = user;
    if (f->calls++ == f->fail_at) return NULL;
    f->open++;
    return aligned_alloc(alignment, (size + alignment - 1) / alignment * alignment);
}

static void failing_release(void *user, void *memory, size_t size)
{
    (void)size;
    ((failing_allocator *)user)->open--;
    free(memory);
}

sup_context test_failing_context(failing_allocator *counter)
{
    return (sup_context){.allocator = {failing_allocate, failing_release, counter}};
}

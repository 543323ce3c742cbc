/* scenes.c - the list of built-in characters. */
#include "scenes/scene_spec.h"

typedef struct scene_entry {
    sup_scene_info info;
    void (*fill)(sup_scene_spec *spec);
    bool has_organs;
} scene_entry;

static const scene_entry scenes[] = {
    {{"human", "An adult of 1.75 m in A-pose, with fingers, toes and eyes: walks, squats, dances.", 20000},
     sup_scene_spec_human,
     true},
#ifndef SUPPLE_SMALL
    {{"elephant", "An elephant with a soft trunk, ears, tusks and a tail.", 16000}, sup_scene_spec_elephant, false},
#endif
    {{"hand", "A left hand with five fingers of three joints each.", 6000}, sup_scene_spec_hand, false},
    {{"arm", "A left arm with shoulder, elbow and hand.", 6000}, sup_scene_spec_arm, false},
    {{"tbone", "A T of three soft branches that join at one joint.", 3000}, sup_scene_spec_tbone, false},
    {{"cylinder", "A capped tube with two moving bones, a minimal test of bending and twisting.", 2000},
     sup_scene_spec_cylinder,
     false},
};

int32_t sup_scene_count(void)
{
    return SUP_COUNT(scenes);
}

sup_scene_info sup_scene_at(int32_t index)
{
    sup_scene_info none = {"", "", 0};
    return index >= 0 && index < SUP_COUNT(scenes) ? scenes[index].info : none;
}

static sup_result unknown_name(const char *name, sup_error *error)
{
    char names[160];
    size_t length = 0;
    for (int32_t i = 0; i < SUP_COUNT(scenes) && length < sizeof names; i++)
        length += sup_format(names + length, sizeof names - length, "%s%s", i > 0 ? ", " : "", scenes[i].info.name);
    return sup_fail(error, SUP_ERROR_ARGUMENT, "scene.name", name,
                    "There is no built-in character \"%s\". Available: %s.", name, names);
}

/* A scene name, or a scene name with an organ suffix: "human.bones". */
static const scene_entry *find_scene(const char *name, const char **organs)
{
    for (int32_t i = 0; i < SUP_COUNT(scenes); i++) {
        const char *own = scenes[i].info.name, *rest = name + strlen(own);
        if (sup_text_equal(own, name)) return &scenes[i];
        if (strncmp(own, name, strlen(own)) != 0 || !scenes[i].has_organs) continue;
        if (!sup_text_equal(rest, ".bones") && !sup_text_equal(rest, ".muscles")) continue;
        *organs = rest + 1;
        return &scenes[i];
    }
    return NULL;
}

sup_result sup_scene_create(const sup_context *context, const char *name, double resolution, sup_character **character,
                            sup_error *error)
{
    if (name == NULL || character == NULL)
        return sup_fail(error, SUP_ERROR_ARGUMENT, "argument.null", "",
                        "sup_scene_create: name and character must not be NULL.");
    const char *organs = NULL;
    const scene_entry *scene = find_scene(name, &organs);
    if (scene == NULL) return unknown_name(name, error);
    if (!(resolution >= 0.05 && resolution <= 20.0))
        return sup_fail(error, SUP_ERROR_ARGUMENT, "scene.resolution", name,
                        "The resolution of a built-in character must be between 0.05 and 20, not %g.", resolution);
    sup_context resolved = sup_context_resolve(context);
    sup_scene_spec *spec = sup_alloc_zero(&resolved.allocator, sizeof *spec);
    if (spec == NULL) return sup_fail_memory(error, "a character");
    scene->fill(spec);
    spec->name = scene->info.name;
    spec->vertex_target = (double)scene->info.default_vertex_count;
    sup_result result = organs != NULL ? sup_scene_build_organs(&resolved, spec, sup_text_equal(organs, "muscles"),
                                                                resolution, character, error)
                                       : sup_scene_build(&resolved, spec, resolution, character, error);
    sup_free(&resolved.allocator, spec, sizeof *spec);
    return result;
}

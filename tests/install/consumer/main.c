/* main.c - a consumer program: skins a built-in character and writes it. */
#include <supple/supple.h>

#include <stdio.h>

int main(int argc, char **argv)
{
    sup_character *character = NULL;
    sup_error error = {0};
    sup_bake_def def = {.frame_count = 3};
    sup_bake_stats stats = {0};
    if (argc != 2 || sup_version() != SUPPLE_VERSION_MAJOR * 10000 + SUPPLE_VERSION_MINOR * 100 + SUPPLE_VERSION_PATCH)
        return 1;
    if (sup_scene_create(NULL, "cylinder", 0.5, &character, &error) == SUP_OK)
        sup_bake(NULL, character, &def, argv[1], &stats, &error);
    sup_character_destroy(character);
    printf("%d frames%s%s\n", (int)stats.frame_count, error.message[0] != '\0' ? ": " : "", error.message);
    return stats.frame_count != 3;
}

/* bake.c - the shortest program: loads a character, skins its first clip and writes a file. */
#include <stdio.h>
#include <supple/supple.h>

int main(int argc, char **argv)
{
    sup_character *character = NULL;
    sup_error error = {0};
    if (argc != 3) return 1;
    if (sup_load(NULL, argv[1], NULL, &character, &error) == SUP_OK)
        sup_bake(NULL, character, NULL, argv[2], NULL, &error);
    if (error.result != SUP_OK) fprintf(stderr, "%s: %s\n", error.where, error.message);
    sup_character_destroy(character);
    return error.result != SUP_OK;
}

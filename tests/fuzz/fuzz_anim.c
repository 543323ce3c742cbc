/* Any bytes as the motion of a skeleton of two joints. */
#include "fuzz_reader.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char skeleton[] = "2\n0 0 0 a root\n0 1 0 b a\n";
    sup_context context = sup_context_resolve(NULL);
    sup_character *target = fuzz_read(sup_read_skel, "a.skel", (const uint8_t *)skeleton, sizeof skeleton - 1);
    sup_read_input input = {&context, "fuzz.anim", {data, size}, {fuzz_read_file, NULL}};
    sup_clip *clip = NULL;
    sup_error error = {0};
    sup_result result = sup_read_anim(&input, target, &clip, &error);
    if ((result == SUP_OK) != (clip != NULL) || (result != SUP_OK && error.id[0] == '\0')) abort();
    if (clip != NULL) fuzz_touch_clip(clip);
    sup_clip_destroy(clip);
    sup_character_destroy(target);
    return 0;
}

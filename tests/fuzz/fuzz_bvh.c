/* Any bytes into the BVH reader; retargets the motion to a human: names, rest poses and keys of any kind. */
#include "fuzz_reader.h"
#include "supple/pose.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char human[] = "10\n0 1 0 hips root\n0 1.3 0 chest hips\n0 1.6 0 head chest\n0.2 1.4 0 arm.l chest\n"
                                "-0.2 1.4 0 arm.r chest\n0.5 1.4 0 hand.l arm.l\n0.1 0.9 0 thigh.l hips\n"
                                "-0.1 0.9 0 thigh.r hips\n0.1 0.5 0 shin.l thigh.l\n0.1 0.1 0 foot.l shin.l\n";
    sup_character *source = fuzz_read(sup_read_bvh, "fuzz.bvh", data, size);
    if (source == NULL) return 0;
    sup_character *target = fuzz_read(sup_read_skel, "a.skel", (const uint8_t *)human, sizeof human - 1);
    if (source->clip_count > 0 && target != NULL) {
        sup_clip *clip = NULL;
        sup_error error = {0};
        sup_result result = sup_retarget(NULL, source, &source->clips[0], target, NULL, &clip, &error);
        if ((result == SUP_OK) != (clip != NULL) || (result != SUP_OK && error.id[0] == '\0')) abort();
        if (clip != NULL) fuzz_touch_clip(clip);
        sup_clip_destroy(clip);
    }
    sup_character_destroy(target);
    sup_character_destroy(source);
    return 0;
}

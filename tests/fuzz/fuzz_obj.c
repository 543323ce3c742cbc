/* Any bytes into the .obj reader. */
#include "fuzz_reader.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    sup_character_destroy(fuzz_read(sup_read_obj, "fuzz.obj", data, size));
    return 0;
}

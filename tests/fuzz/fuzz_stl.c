/* Any bytes into the .stl reader. */
#include "fuzz_reader.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    sup_character_destroy(fuzz_read(sup_read_stl, "fuzz.stl", data, size));
    return 0;
}

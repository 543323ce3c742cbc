/* Any bytes into the .off reader. */
#include "fuzz_reader.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    sup_character_destroy(fuzz_read(sup_read_off, "fuzz.off", data, size));
    return 0;
}

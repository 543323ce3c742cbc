/* Any bytes into the .ini reader; referenced files exist when their file extension is supported. */
#include "fuzz_reader.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    sup_character_destroy(fuzz_read(sup_read_ini, "folder/fuzz.ini", data, size));
    return 0;
}

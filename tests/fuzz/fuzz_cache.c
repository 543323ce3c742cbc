/* Any bytes as a point cache: the first byte selects the format. */
#include "load/read_cache.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size == 0) return 0;
    sup_cache *cache = NULL;
    if (sup_read_cache(NULL, data[0] % 2 == 0 ? "x.pc2" : "x.mdd", (sup_bytes){data + 1, size - 1}, 0, &cache, NULL) ==
        SUP_OK)
        sup_cache_destroy(cache);
    return 0;
}

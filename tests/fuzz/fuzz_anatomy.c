/* fuzz_anatomy.c - sup_anatomy_read on any bytes; an accepted template must be written as it was read.
 *
 * The checksum is corrected first: otherwise it would reject nearly all inputs. */
#include "anatomy/array_store.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    unsigned char *block = malloc(size + 1);
    if (block == NULL) return 0;
    if (size > 0) memcpy(block, data, size);
    sup_store_seal(block, size);
    sup_anatomy *anatomy = NULL;
    if (sup_anatomy_read(NULL, (sup_bytes){block, size}, &anatomy, NULL) == SUP_OK) {
        sup_bytes again = {NULL, 0};
        if (sup_anatomy_write(NULL, anatomy, &again, NULL) != SUP_OK) abort();
        sup_anatomy_bytes_free(NULL, &again);
    }
    sup_anatomy_destroy(anatomy);
    free(block);
    return 0;
}

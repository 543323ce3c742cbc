/* Accepted JSON must be written, and parsed again to the same text. */
#include "load/json.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static bool write_text(const sup_json *value, const sup_allocator *allocator, sup_array *text)
{
    *text = (sup_array){.item_size = 1};
    return sup_json_write(value, allocator, text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    sup_allocator allocator = sup_context_resolve(NULL).allocator;
    sup_json_tree tree = sup_json_tree_create(&allocator), again = sup_json_tree_create(&allocator);
    sup_error error;
    if (sup_json_parse(&tree, "fuzz", (sup_bytes){data, size}, &error) == SUP_OK) {
        sup_array first, second, copied;
        if (!write_text(tree.root, &allocator, &first)) abort();
        if (sup_json_parse(&again, "fuzz", (sup_bytes){first.data, first.count}, &error) != SUP_OK) abort();
        if (!write_text(again.root, &allocator, &second)) abort();
        if (!write_text(sup_json_copy(&again, tree.root), &allocator, &copied)) abort();
        if (first.count != second.count || memcmp(first.data, second.data, first.count) != 0) abort();
        if (first.count != copied.count || memcmp(first.data, copied.data, first.count) != 0) abort();
        sup_array_free(&allocator, &first);
        sup_array_free(&allocator, &second);
        sup_array_free(&allocator, &copied);
    }
    sup_json_tree_destroy(&tree);
    sup_json_tree_destroy(&again);
    return 0;
}

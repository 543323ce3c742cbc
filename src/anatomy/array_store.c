/* array_store.c - writes a block of named arrays and reads untrusted ones. */
#include "anatomy/array_store.h"
#include "bind/model.h"

#include <math.h>

#define STORE_MAGIC "SUPPLEA\n"
enum { STORE_VERSION = 1, STORE_ALIGNMENT = 64 };

typedef struct store_header {
    char magic[8];
    uint32_t version;
    int32_t array_count;
    uint64_t size;     /* size of the whole block in bytes */
    uint64_t checksum; /* of all bytes, with these eight as zero */
    char kind[SUP_STORE_NAME];
} store_header;
_Static_assert(sizeof(store_header) == 64, "part of the file format");

struct sup_anatomy_storage *sup_anatomy_storage_create(const sup_context *context)
{
    sup_context resolved = sup_context_resolve(context);
    struct sup_anatomy_storage *storage = sup_alloc_zero(&resolved.allocator, sizeof *storage);
    if (storage == NULL) return NULL;
    storage->context = resolved;
    storage->arena = sup_arena_create(&resolved.allocator);
    return storage;
}

void sup_anatomy_storage_destroy(struct sup_anatomy_storage *storage)
{
    if (storage == NULL) return;
    sup_allocator allocator = storage->context.allocator;
    sup_arena_destroy(&storage->arena);
    sup_free(&allocator, storage, sizeof *storage);
}

static size_t aligned(size_t size)
{
    return (size + STORE_ALIGNMENT - 1) / STORE_ALIGNMENT * STORE_ALIGNMENT;
}

static const void *field_data(const sup_store_field *field)
{
    return field->form == SUP_STORE_INLINE ? field->target : *(void *const *)field->target;
}

static uint32_t field_type(const sup_store_field *field)
{
    return field->form == SUP_STORE_TEXTS ? (uint32_t)SUP_ARRAY_BYTE : (uint32_t)field->type;
}

/* The array in file layout: texts are concatenated, each with a terminating zero. */
static int64_t stored_count(const sup_store_field *field)
{
    if (field->form != SUP_STORE_TEXTS) return field->count;
    char *const *texts = *(char ***)field->target;
    int64_t bytes = 0;
    for (int64_t i = 0; i < field->count; i++)
        bytes += (int64_t)strlen(texts[i]) + 1;
    return bytes;
}

static void put_data(const sup_store_field *field, unsigned char *to, size_t size)
{
    if (size == 0) return;
    if (field->form != SUP_STORE_TEXTS) {
        memcpy(to, field_data(field), size);
        return;
    }
    char *const *texts = *(char ***)field->target;
    for (int64_t i = 0; i < field->count; i++) {
        size_t length = strlen(texts[i]) + 1;
        memcpy(to, texts[i], length);
        to += length;
    }
}

static uint64_t block_checksum(const unsigned char *block, size_t size)
{
    store_header header;
    memcpy(&header, block, sizeof header);
    header.checksum = 0;
    return sup_hash64(block + sizeof header, size - sizeof header, sup_hash64(&header, sizeof header, 0));
}

void sup_store_seal(unsigned char *block, size_t size)
{
    store_header header;
    if (size < sizeof header) return;
    memcpy(&header, block, sizeof header);
    header.size = size;
    memcpy(block, &header, sizeof header);
    header.checksum = block_checksum(block, size);
    memcpy(block, &header, sizeof header);
}

sup_result sup_store_write(const sup_context *context, const char *kind, const sup_store_field *fields, int32_t count,
                           sup_bytes *out, sup_error *error)
{
    sup_context resolved = sup_context_resolve(context);
    size_t offset = sizeof(store_header) + (size_t)count * sizeof(sup_model_entry), size = offset;
    for (int32_t i = 0; i < count; i++)
        size = aligned(size) + (size_t)stored_count(&fields[i]) * sup_array_type_size(field_type(&fields[i]));
    size = aligned(size);
    unsigned char *block = sup_alloc_zero(&resolved.allocator, size);
    if (block == NULL) return sup_fail_memory(error, "an anatomy file");
    store_header header = {.version = STORE_VERSION, .array_count = count};
    memcpy(header.magic, STORE_MAGIC, sizeof header.magic);
    sup_format(header.kind, sizeof header.kind, "%s", kind);
    for (int32_t i = 0; i < count; i++) {
        sup_model_entry entry = {.type = field_type(&fields[i]), .count = stored_count(&fields[i])};
        size_t bytes = (size_t)entry.count * sup_array_type_size(entry.type);
        sup_format(entry.name, sizeof entry.name, "%s", fields[i].name);
        entry.offset = offset = aligned(offset);
        memcpy(block + sizeof header + (size_t)i * sizeof entry, &entry, sizeof entry);
        put_data(&fields[i], block + offset, bytes);
        offset += bytes;
    }
    memcpy(block, &header, sizeof header);
    sup_store_seal(block, size);
    *out = (sup_bytes){block, size};
    return SUP_OK;
}

void sup_store_free(const sup_context *context, sup_bytes *block)
{
    sup_context resolved = sup_context_resolve(context);
    sup_free(&resolved.allocator, (void *)(uintptr_t)block->data, block->size);
    *block = (sup_bytes){NULL, 0};
}

sup_result sup_store_damaged(sup_error *error, const char *where, const char *what)
{
    return sup_fail(error, SUP_ERROR_FORMAT, "anatomy.file.damaged", where,
                    "The anatomy file is damaged: %s. Create it again.", what);
}

static sup_model_entry entry_at(const sup_store *store, int32_t index)
{
    sup_model_entry entry;
    const unsigned char *table = (const unsigned char *)store->bytes.data + sizeof(store_header);
    memcpy(&entry, table + (size_t)index * sizeof entry, sizeof entry);
    return entry;
}

static sup_result check_header(sup_bytes bytes, const char *kind, store_header *header, sup_error *error)
{
    if (bytes.data == NULL || bytes.size < sizeof *header)
        return sup_fail(error, SUP_ERROR_FORMAT, "anatomy.file.kind", "", "This is not a Supple anatomy file.");
    memcpy(header, bytes.data, sizeof *header);
    if (memcmp(header->magic, STORE_MAGIC, sizeof header->magic) != 0)
        return sup_fail(error, SUP_ERROR_FORMAT, "anatomy.file.kind", "", "This is not a Supple anatomy file.");
    if (header->version != STORE_VERSION)
        return sup_fail(error, SUP_ERROR_UNSUPPORTED, "anatomy.file.version", "",
                        "The anatomy file has version %u; this library reads version %d. Create it again.",
                        header->version, STORE_VERSION);
    if (header->size > bytes.size)
        return sup_fail(error, SUP_ERROR_FORMAT, "anatomy.file.truncated", "",
                        "The anatomy file is truncated: it has %zu of %llu bytes. Copy or create it again.", bytes.size,
                        (unsigned long long)header->size);
    if (header->size != bytes.size) return sup_store_damaged(error, "", "there are bytes after its end");
    if (memchr(header->kind, 0, sizeof header->kind) == NULL) return sup_store_damaged(error, "", "it has no kind");
    if (strcmp(header->kind, kind) != 0)
        return sup_fail(
            error, SUP_ERROR_FORMAT, "anatomy.file.kind", "",
            "The file contains a %s, but a %s is needed ('supple anatomy --help' lists the verb that creates it).",
            header->kind, kind);
    if (header->array_count < 0 ||
        (uint64_t)header->array_count > (bytes.size - sizeof *header) / sizeof(sup_model_entry))
        return sup_store_damaged(error, "", "its table is longer than the file");
    return SUP_OK;
}

sup_result sup_store_open(sup_bytes bytes, const char *kind, sup_store *store, sup_error *error)
{
    store_header header;
    sup_result result = check_header(bytes, kind, &header, error);
    if (result != SUP_OK) return result;
    if (header.checksum != block_checksum(bytes.data, bytes.size))
        return sup_store_damaged(error, "", "its checksum does not match");
    sup_store view = {bytes, header.array_count};
    uint64_t past = sizeof header + (uint64_t)header.array_count * sizeof(sup_model_entry);
    for (int32_t i = 0; i < view.array_count; i++) {
        sup_model_entry entry = entry_at(&view, i);
        size_t element = sup_array_type_size(entry.type);
        if (entry.name[0] == 0 || memchr(entry.name, 0, sizeof entry.name) == NULL || element == 0)
            return sup_store_damaged(error, "", "an array has an invalid name or type");
        if (entry.offset < past || entry.offset > bytes.size || entry.count < 0 ||
            (uint64_t)entry.count > (bytes.size - entry.offset) / element)
            return sup_store_damaged(error, entry.name, "an array exceeds the file");
        past = entry.offset + (uint64_t)entry.count * element;
    }
    *store = view;
    return SUP_OK;
}

static bool find_entry(const sup_store *store, const char *name, sup_model_entry *found)
{
    for (int32_t i = 0; i < store->array_count; i++) {
        *found = entry_at(store, i);
        if (strcmp(found->name, name) == 0) return true;
    }
    return false;
}

int64_t sup_store_count(const sup_store *store, const char *name)
{
    sup_model_entry entry;
    return find_entry(store, name, &entry) ? entry.count : -1;
}

static bool all_finite(const void *data, sup_array_type type, int64_t count)
{
    const float *floats = data;
    const double *doubles = data;
    for (int64_t i = 0; i < count && type == SUP_ARRAY_FLOAT; i++)
        if (!isfinite(floats[i])) return false;
    for (int64_t i = 0; i < count && type == SUP_ARRAY_DOUBLE; i++)
        if (!isfinite(doubles[i])) return false;
    return true;
}

static sup_result read_texts(const char *from, int64_t size, const sup_store_field *field, sup_arena *arena,
                             sup_error *error)
{
    if (field->count > size) return sup_store_damaged(error, field->name, "texts are missing");
    char **texts = sup_arena_alloc(arena, (size_t)field->count + 1, sizeof *texts);
    if (texts == NULL) return sup_fail_memory(error, "an anatomy file");
    const char *end = from + size;
    for (int64_t i = 0; i < field->count; i++) {
        const char *stop = from < end ? memchr(from, 0, (size_t)(end - from)) : NULL;
        if (stop == NULL) return sup_store_damaged(error, field->name, "texts are missing");
        texts[i] = sup_arena_string_n(arena, from, (size_t)(stop - from));
        if (texts[i] == NULL) return sup_fail_memory(error, "an anatomy file");
        from = stop + 1;
    }
    if (from != end) return sup_store_damaged(error, field->name, "there are too many texts");
    *(char ***)field->target = texts;
    return SUP_OK;
}

static sup_result read_field(const sup_store *store, const sup_store_field *field, sup_arena *arena, sup_error *error)
{
    sup_model_entry entry;
    if (!find_entry(store, field->name, &entry)) return sup_store_damaged(error, field->name, "an array is missing");
    const unsigned char *from = (const unsigned char *)store->bytes.data + entry.offset;
    if (entry.type != field_type(field) || field->count < 0)
        return sup_store_damaged(error, field->name, "an array has the wrong type or size");
    if (field->form == SUP_STORE_TEXTS) return read_texts((const char *)from, entry.count, field, arena, error);
    if (entry.count != field->count) return sup_store_damaged(error, field->name, "an array has the wrong size");
    size_t element = sup_array_type_size(entry.type), bytes = (size_t)entry.count * element;
    void *to = field->target;
    if (field->form == SUP_STORE_ARRAY) {
        to = sup_arena_alloc(arena, (size_t)entry.count + 1, element);
        if (to == NULL) return sup_fail_memory(error, "an anatomy file");
        *(void **)field->target = to;
    }
    if (bytes > 0) memcpy(to, from, bytes);
    if (!all_finite(to, field->type, entry.count))
        return sup_store_damaged(error, field->name, "a number is not finite");
    return SUP_OK;
}

sup_result sup_store_read(const sup_store *store, const sup_store_field *fields, int32_t count, sup_arena *arena,
                          sup_error *error)
{
    sup_result result = SUP_OK;
    for (int32_t i = 0; i < count && result == SUP_OK; i++)
        result = read_field(store, &fields[i], arena, error);
    return result;
}

sup_result sup_store_check_range(const char *name, const int32_t *values, int64_t count, int32_t low, int32_t limit,
                                 sup_error *error)
{
    for (int64_t i = 0; i < count; i++)
        if (values[i] < low || values[i] >= limit) return sup_store_damaged(error, name, "an index is out of range");
    return SUP_OK;
}

sup_result sup_store_check_rising(const char *name, const int32_t *first, int64_t count, int32_t total,
                                  sup_error *error)
{
    bool good = first[0] == 0 && first[count] == total;
    for (int64_t i = 0; i < count && good; i++)
        good = first[i] <= first[i + 1];
    return good ? SUP_OK : sup_store_damaged(error, name, "its ranges are not ascending");
}

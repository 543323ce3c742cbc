/* model.c - builds model blocks and reads their arrays. */
#include "bind/model.h"

#include <limits.h>

size_t sup_array_type_size(uint32_t type)
{
    switch (type) {
    case SUP_ARRAY_FLOAT:
    case SUP_ARRAY_INT32:
        return 4;
    case SUP_ARRAY_DOUBLE:
        return 8;
    case SUP_ARRAY_UINT16:
        return 2;
    case SUP_ARRAY_BYTE:
        return 1;
    default:
        return 0;
    }
}

static sup_built_array *built_arrays(const sup_model_builder *builder)
{
    return (sup_built_array *)(void *)builder->arrays.data;
}

static void *misused(sup_model_builder *builder, const char *what)
{
    if (builder->misuse == NULL) builder->misuse = what;
    return NULL;
}

void *sup_model_add(sup_model_builder *builder, const char *name, sup_array_type type, int64_t count)
{
    if (builder == NULL) return NULL;
    size_t element = sup_array_type_size((uint32_t)type);
    if (element == 0) return misused(builder, "an array of an unknown type");
    if (count < 0) return misused(builder, "an array with a negative count");
    if (name == NULL || name[0] == 0 || strlen(name) >= SUP_MODEL_NAME)
        return misused(builder, "an array without a name of 1 to 31 characters");
    for (size_t i = 0; i < builder->arrays.count; i++)
        if (strcmp(built_arrays(builder)[i].entry.name, name) == 0) return misused(builder, "two arrays of one name");
    builder->out_of_memory = true; /* until both allocations have succeeded */
    if ((uint64_t)count > (uint64_t)SIZE_MAX / 2) return NULL;
    size_t size = sup_size_multiply((size_t)count, element);
    void *data = sup_alloc_zero(&builder->allocator, size);
    if (data == NULL) return NULL;
    sup_built_array *array = sup_array_push(&builder->allocator, &builder->arrays, 1);
    if (array == NULL) {
        sup_free(&builder->allocator, data, size);
        return NULL;
    }
    builder->out_of_memory = false;
    memset(array, 0, sizeof *array);
    memcpy(array->entry.name, name, strlen(name));
    array->entry.type = (uint32_t)type;
    array->entry.count = count;
    array->data = data;
    array->size = size;
    return data;
}

void sup_model_builder_free(sup_model_builder *builder)
{
    for (size_t i = 0; i < builder->arrays.count; i++)
        sup_free(&builder->allocator, built_arrays(builder)[i].data, built_arrays(builder)[i].size);
    sup_array_free(&builder->allocator, &builder->arrays);
}

static size_t aligned(size_t size)
{
    return (size + SUP_MODEL_ALIGNMENT - 1) / SUP_MODEL_ALIGNMENT * SUP_MODEL_ALIGNMENT;
}

/* Size of the whole block in bytes, SIZE_MAX on overflow. */
static size_t packed_size(const sup_model_builder *builder)
{
    size_t size = sizeof(sup_model_header) + builder->arrays.count * sizeof(sup_model_entry);
    for (size_t i = 0; i < builder->arrays.count; i++) {
        size_t bytes = built_arrays(builder)[i].size;
        if (bytes > SIZE_MAX / 4 || size > SIZE_MAX / 4) return SIZE_MAX;
        size = aligned(size) + bytes;
    }
    return aligned(size);
}

uint64_t sup_model_checksum(const unsigned char *block, size_t size)
{
    sup_model_header header;
    memcpy(&header, block, sizeof header);
    header.checksum = 0;
    return sup_hash64(block + sizeof header, size - sizeof header, sup_hash64(&header, sizeof header, 0));
}

uint64_t sup_model_character_hash(const sup_character *character)
{
    const sup_character *c = character;
    uint64_t hash = 0;
    for (int32_t n = 0; n < c->node_count; n++)
        hash = sup_hash64(&c->nodes[n].parent, sizeof c->nodes[n].parent, hash);
    for (int32_t b = 0; b < c->bone_count; b++) {
        hash = sup_hash64(&c->bones[b].node, sizeof c->bones[b].node, hash);
        hash = sup_hash64(&c->bones[b].inverse_bind, sizeof c->bones[b].inverse_bind, hash);
    }
    if (c->positions != NULL) hash = sup_hash64(c->positions, 3 * (size_t)c->vertex_count * sizeof(float), hash);
    if (c->triangles != NULL) hash = sup_hash64(c->triangles, 3 * (size_t)c->triangle_count * sizeof(int32_t), hash);
    return hash;
}

sup_result sup_model_pack(const sup_context *context, const sup_method *method, const sup_model_header *counts,
                          const sup_model_builder *builder, sup_model **model_out, sup_error *error)
{
    size_t size = packed_size(builder);
    sup_model *model = sup_alloc_zero(&context->allocator, sizeof *model);
    unsigned char *block = model != NULL ? sup_alloc_zero(&context->allocator, size) : NULL;
    if (block == NULL) {
        sup_free(&context->allocator, model, sizeof *model);
        return sup_fail_memory(error, "the model");
    }
    sup_model_header header = *counts;
    memcpy(header.magic, SUP_MODEL_MAGIC, sizeof header.magic);
    header.version = SUP_MODEL_VERSION;
    header.method_version = method->version;
    header.size = size;
    header.array_count = (int32_t)builder->arrays.count;
    memcpy(header.method, method->name, strlen(method->name));
    size_t offset = sizeof header + builder->arrays.count * sizeof(sup_model_entry);
    for (size_t i = 0; i < builder->arrays.count; i++) {
        const sup_built_array *array = &built_arrays(builder)[i];
        sup_model_entry entry = array->entry;
        entry.offset = offset = aligned(offset);
        memcpy(block + sizeof header + i * sizeof entry, &entry, sizeof entry);
        if (array->size > 0) memcpy(block + offset, array->data, array->size);
        offset += array->size;
    }
    memcpy(block, &header, sizeof header);
    header.checksum = sup_model_checksum(block, size);
    memcpy(block, &header, sizeof header);
    model->context = *context;
    model->method = method;
    model->block = block;
    model->size = size;
    *model_out = model;
    return SUP_OK;
}

void sup_model_destroy(sup_model *model)
{
    if (model == NULL) return;
    sup_allocator allocator = model->context.allocator;
    sup_free(&allocator, model->block, model->size);
    sup_free(&allocator, model, sizeof *model);
}

const sup_model_header *sup_model_header_of(const sup_model *model)
{
    return (const sup_model_header *)(const void *)model->block;
}

sup_result sup_model_check_character(const sup_model *model, const sup_character *character, sup_error *error)
{
    if (model == NULL || character == NULL)
        return sup_fail(error, SUP_ERROR_ARGUMENT, "model.null", "",
                        "sup_model_check_character needs a model and a character.");
    const sup_model_header *h = sup_model_header_of(model);
    if (h->vertex_count != character->vertex_count || h->node_count != character->node_count ||
        h->morph_weight_count != character->morph_weight_count)
        return sup_fail(error, SUP_ERROR_DATA, "model.character", character->name,
                        "The model was bound for another character: it has %d vertices, %d nodes and %d morph weights, "
                        "this character has %d, %d and %d. Bind it again.",
                        h->vertex_count, h->node_count, h->morph_weight_count, character->vertex_count,
                        character->node_count, character->morph_weight_count);
    if (h->character != sup_model_character_hash(character))
        return sup_fail(
            error, SUP_ERROR_DATA, "model.character", character->name,
            "The model was bound for another character, or the character has changed: the counts are equal, but "
            "vertices, triangles or bones differ. Bind it again.");
    return SUP_OK;
}

const sup_model_entry *sup_model_entries(const sup_model *model)
{
    return (const sup_model_entry *)(const void *)(model->block + sizeof(sup_model_header));
}

static const sup_model_entry *find_entry(const sup_model *model, const char *name)
{
    const sup_model_entry *entries = sup_model_entries(model);
    for (int32_t i = 0; i < sup_model_header_of(model)->array_count; i++)
        if (sup_text_equal(entries[i].name, name)) return &entries[i];
    return NULL;
}

const void *sup_model_find(const sup_model *model, const char *name, sup_array_type type, int64_t *count)
{
    const sup_model_entry *entry = find_entry(model, name);
    *count = entry != NULL && entry->type == (uint32_t)type ? entry->count : -1;
    return *count < 0 ? NULL : model->block + entry->offset;
}

const void *sup_model_array(const sup_model *model, const char *name, sup_array_type type, int64_t count)
{
    if (model == NULL || name == NULL) return NULL;
    int64_t found;
    const void *data = sup_model_find(model, name, type, &found);
    return count == -1 || count == found ? data : NULL;
}

int64_t sup_model_array_count(const sup_model *model, const char *name)
{
    const sup_model_entry *entry = model != NULL && name != NULL ? find_entry(model, name) : NULL;
    return entry != NULL ? entry->count : -1;
}

sup_bytes sup_model_bytes(const sup_model *model)
{
    if (model == NULL) return (sup_bytes){NULL, 0};
    return (sup_bytes){model->block, model->size};
}

const sup_method *sup_model_method(const sup_model *model)
{
    return model != NULL ? model->method : NULL;
}

const double *sup_model_values(const sup_model *model)
{
    return sup_model_array(model, "bind.values", SUP_ARRAY_DOUBLE, -1);
}

int32_t sup_model_vertex_count(const sup_model *model)
{
    return model != NULL ? sup_model_header_of(model)->vertex_count : 0;
}

int32_t sup_model_node_count(const sup_model *model)
{
    return model != NULL ? sup_model_header_of(model)->node_count : 0;
}

int32_t sup_model_morph_weight_count(const sup_model *model)
{
    return model != NULL ? sup_model_header_of(model)->morph_weight_count : 0;
}

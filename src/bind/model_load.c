/* model_load.c - loads a model from untrusted bytes: everything is validated before use. */
#include "bind/model.h"

#include <math.h>

static sup_result damaged(sup_error *error, const char *id, const char *where, const char *what)
{
    return sup_fail(error, SUP_ERROR_FORMAT, id, where, "The model is damaged: %s. Bind the character again.", what);
}

static bool is_terminated(const char *text, size_t size)
{
    return memchr(text, 0, size) != NULL && text[0] != 0;
}

static bool all_zero(const void *data, size_t size)
{
    const unsigned char *bytes = data;
    for (size_t i = 0; i < size; i++)
        if (bytes[i] != 0) return false;
    return true;
}

static sup_result check_header(const sup_model_header *header, size_t size, sup_error *error)
{
    if (memcmp(header->magic, SUP_MODEL_MAGIC, sizeof header->magic) != 0)
        return sup_fail(error, SUP_ERROR_FORMAT, "model.magic", "", "These bytes are not a Supple model.");
    if (header->version != SUP_MODEL_VERSION)
        return sup_fail(error, SUP_ERROR_UNSUPPORTED, "model.version", "",
                        "The model has version %u; this library reads version %d. Bind the character again.",
                        header->version, SUP_MODEL_VERSION);
    if (header->size > size)
        return sup_fail(error, SUP_ERROR_FORMAT, "model.truncated", "",
                        "The model is truncated: it has %zu of %llu bytes.", size, (unsigned long long)header->size);
    if (header->size != size) return damaged(error, "model.size", "", "there are bytes after its end");
    if (header->vertex_count < 0 || header->node_count < 0 || header->morph_weight_count < 0 || header->array_count < 0)
        return damaged(error, "model.counts", "", "a count is negative");
    if ((uint64_t)header->array_count > (size - sizeof *header) / sizeof(sup_model_entry))
        return damaged(error, "model.table", "", "its array table is longer than the model");
    if (!is_terminated(header->method, sizeof header->method) || !all_zero(header->reserved, sizeof header->reserved))
        return damaged(error, "model.header", "", "its header is malformed");
    return SUP_OK;
}

/* Every entry must be well formed and inside the block, and the arrays must be contiguous in the order of the writer,
 * which excludes overlaps. */
static sup_result check_table(const sup_model *model, sup_error *error)
{
    const sup_model_header *header = sup_model_header_of(model);
    const sup_model_entry *entries = sup_model_entries(model);
    uint64_t past = sizeof *header + (uint64_t)header->array_count * sizeof *entries;
    for (int32_t i = 0; i < header->array_count; i++) {
        const sup_model_entry *entry = &entries[i];
        if (!is_terminated(entry->name, sizeof entry->name))
            return damaged(error, "model.array.name", "", "an array has an invalid name");
        size_t element = sup_array_type_size(entry->type);
        if (element == 0) return damaged(error, "model.array.type", entry->name, "an array is of an unknown type");
        if (entry->reserved != 0 || entry->reserved2 != 0 || entry->offset % SUP_MODEL_ALIGNMENT != 0)
            return damaged(error, "model.array.entry", entry->name, "an entry of its table is malformed");
        if (entry->offset < past) return damaged(error, "model.array.overlap", entry->name, "two arrays overlap");
        if (entry->offset > model->size || entry->count < 0 ||
            (uint64_t)entry->count > (model->size - entry->offset) / element)
            return damaged(error, "model.array.range", entry->name, "an array reaches past its end");
        for (int32_t k = 0; k < i; k++)
            if (strcmp(entries[k].name, entry->name) == 0)
                return damaged(error, "model.array.twice", entry->name, "two arrays have the same name");
        past = entry->offset + (uint64_t)entry->count * element;
    }
    return SUP_OK;
}

static sup_result check_floats(const sup_model *model, const char *name, int64_t count, sup_error *error)
{
    const float *values = sup_model_array(model, name, SUP_ARRAY_FLOAT, count);
    if (values == NULL) return damaged(error, "model.array.missing", name, "an array is missing or has another size");
    for (int64_t i = 0; i < count; i++)
        if (!isfinite(values[i])) return damaged(error, "model.array.value", name, "a number is not finite");
    return SUP_OK;
}

sup_result sup_model_check_common(const sup_model *model, sup_error *error)
{
    const sup_model_header *header = sup_model_header_of(model);
    const sup_method *method = model->method;
    const double *values = sup_model_array(model, "bind.values", SUP_ARRAY_DOUBLE, method->param_count);
    if (values == NULL)
        return damaged(error, "model.array.missing", "bind.values", "the parameters are missing or have another count");
    for (int32_t i = 0; i < method->param_count; i++)
        if (sup_param_check(&method->params[i], values[i], NULL) != SUP_OK)
            return damaged(error, "model.param", method->params[i].name, "a parameter is out of range");
    sup_result result = check_floats(model, "bind.world", (int64_t)header->node_count * 12, error);
    if (result == SUP_OK) result = check_floats(model, "bind.morph_weights", header->morph_weight_count, error);
    return result;
}

static sup_result find_method(sup_model *model, sup_error *error)
{
    const sup_model_header *header = sup_model_header_of(model);
    model->method = sup_method_find(header->method);
    if (model->method == NULL)
        return sup_fail(error, SUP_ERROR_UNSUPPORTED, "model.method", header->method,
                        "The model was bound with the method \"%s\", which this library does not have.",
                        header->method);
    if (model->method->version != header->method_version)
        return sup_fail(error, SUP_ERROR_UNSUPPORTED, "model.method.version", header->method,
                        "The model has version %u of the method \"%s\"; this library has %u. Bind the character again.",
                        header->method_version, header->method, model->method->version);
    return SUP_OK;
}

static sup_result check_model(sup_model *model, sup_error *error)
{
    if (sup_model_header_of(model)->checksum != sup_model_checksum(model->block, model->size))
        return damaged(error, "model.checksum", "", "its checksum does not match");
    sup_result result = find_method(model, error);
    if (result == SUP_OK) result = check_table(model, error);
    if (result == SUP_OK) result = sup_model_check_common(model, error);
    if (result == SUP_OK && model->method->check != NULL) result = model->method->check(model, error);
    return result;
}

sup_result sup_model_load(const sup_context *context_in, sup_bytes bytes, sup_model **model_out, sup_error *error)
{
    if (model_out == NULL || (bytes.data == NULL && bytes.size > 0))
        return sup_fail(error, SUP_ERROR_ARGUMENT, "model.null", "",
                        "sup_model_load needs bytes and an output pointer for the model.");
    sup_model_header header;
    if (bytes.size < sizeof header)
        return sup_fail(error, SUP_ERROR_FORMAT, "model.truncated", "", "%zu bytes are too few for a Supple model.",
                        bytes.size);
    memcpy(&header, bytes.data, sizeof header);
    sup_result result = check_header(&header, bytes.size, error);
    if (result != SUP_OK) return result;
    sup_context context = sup_context_resolve(context_in);
    sup_model *model = sup_alloc_zero(&context.allocator, sizeof *model);
    if (model == NULL) return sup_fail_memory(error, "the model");
    model->context = context;
    model->size = bytes.size;
    model->block = sup_alloc(&context.allocator, bytes.size);
    result = model->block == NULL ? sup_fail_memory(error, "the model") : SUP_OK;
    if (result == SUP_OK) {
        memcpy(model->block, bytes.data, bytes.size);
        result = check_model(model, error);
    }
    if (result != SUP_OK) {
        sup_model_destroy(model);
        return result;
    }
    *model_out = model;
    return SUP_OK;
}

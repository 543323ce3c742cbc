/* read_gltf_accessor.c - accessors: typed arrays in buffer views, interleaved, sparse, quantised. */
#include "load/read_gltf.h"

#include <math.h>

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "glTF data is little-endian and read without byte swapping");

static int32_t component_size(int32_t component)
{
    switch (component) {
    case SUP_GLTF_BYTE:
    case SUP_GLTF_UBYTE:
        return 1;
    case SUP_GLTF_SHORT:
    case SUP_GLTF_USHORT:
        return 2;
    case SUP_GLTF_UINT:
    case SUP_GLTF_FLOAT:
        return 4;
    default:
        return 0;
    }
}

/* Components of a supported type; 0 for others. Characters do not use 2x2 and 3x3 matrices. */
static int32_t type_width(const sup_json *type)
{
    static const struct {
        const char *name;
        int32_t width;
    } types[] = {{"SCALAR", 1}, {"VEC2", 2}, {"VEC3", 3}, {"VEC4", 4}, {"MAT4", 16}};
    for (int32_t i = 0; i < SUP_COUNT(types); i++)
        if (sup_json_equals(type, types[i].name)) return types[i].width;
    return 0;
}

/* Checks that `count` elements of `size` bytes with stride `stride` are inside the view of `object`; *data is NULL when
 * there is no view. stride 0: that of the view, or packed. */
static sup_result locate(sup_gltf *g, const sup_json *object, int32_t number, size_t count, size_t size, size_t *stride,
                         const unsigned char **data)
{
    int32_t view;
    int64_t offset;
    *data = NULL;
    sup_result result =
        sup_gltf_index(g, object, "bufferView", "buffer view", g->view_count, "accessor", number, &view);
    if (result == SUP_OK) result = sup_gltf_size(g, object, "byteOffset", 0, INT64_MAX, "accessor", number, &offset);
    if (result != SUP_OK || view < 0) return result;
    if (*stride == 0) *stride = g->view_strides[view] > 0 ? (size_t)g->view_strides[view] : size;
    if (*stride < size)
        return sup_gltf_fail(g, SUP_ERROR_FORMAT, "gltf.accessor.stride",
                             "Accessor %d has elements of %zu bytes, but its buffer view has a stride of %zu.", number,
                             size, *stride);
    sup_bytes bytes = g->views[view];
    bool fits = (uint64_t)offset <= bytes.size;
    if (fits && count > 0) {
        size_t left = bytes.size - (size_t)offset;
        fits = left >= size && count - 1 <= (left - size) / *stride;
    }
    if (!fits)
        return sup_gltf_fail(g, SUP_ERROR_FORMAT, "gltf.accessor.range",
                             "Accessor %d exceeds buffer view %d, which has %zu bytes.", number, view, bytes.size);
    *data = (const unsigned char *)bytes.data + offset;
    return SUP_OK;
}

static uint32_t load_unsigned(const unsigned char *data, int32_t component)
{
    uint16_t u16;
    uint32_t u32;
    switch (component) {
    case SUP_GLTF_UBYTE:
        return data[0];
    case SUP_GLTF_USHORT:
        memcpy(&u16, data, sizeof u16);
        return u16;
    default:
        memcpy(&u32, data, sizeof u32);
        return u32;
    }
}

static sup_result open_sparse(sup_gltf *g, const sup_json *sparse, size_t element, sup_gltf_accessor *a)
{
    const sup_json *indices = sup_json_get(sparse, "indices"), *values = sup_json_get(sparse, "values");
    int64_t count, component;
    sup_result result = sup_gltf_size(g, sparse, "count", -1, a->count, "sparse accessor", a->index, &count);
    if (result == SUP_OK)
        result = sup_gltf_size(g, indices, "componentType", -1, INT32_MAX, "sparse accessor", a->index, &component);
    if (result != SUP_OK) return result;
    if (component != SUP_GLTF_UBYTE && component != SUP_GLTF_USHORT && component != SUP_GLTF_UINT)
        return sup_gltf_fail(g, SUP_ERROR_FORMAT, "gltf.accessor.type",
                             "The sparse indices of accessor %d have the invalid component type %lld.", a->index,
                             (long long)component);
    a->sparse_count = (int32_t)count;
    a->sparse_component = (int32_t)component;
    size_t index_size = (size_t)component_size(a->sparse_component), value_stride = element;
    size_t index_stride = index_size;
    result = locate(g, indices, a->index, (size_t)count, index_size, &index_stride, &a->sparse_indices);
    if (result == SUP_OK)
        result = locate(g, values, a->index, (size_t)count, element, &value_stride, &a->sparse_values);
    if (result != SUP_OK) return result;
    if (a->sparse_indices == NULL || a->sparse_values == NULL)
        return sup_gltf_fail(g, SUP_ERROR_FORMAT, "gltf.accessor.sparse",
                             "Sparse accessor %d has no indices or no values.", a->index);
    result = sup_gltf_charge(g, (size_t)count, sizeof(uint32_t));
    if (result != SUP_OK) return result;
    for (int32_t i = 0; i < a->sparse_count; i++)
        if (load_unsigned(a->sparse_indices + (size_t)i * index_size, a->sparse_component) >= (uint32_t)a->count)
            return sup_gltf_fail(g, SUP_ERROR_FORMAT, "gltf.accessor.sparse",
                                 "Sparse accessor %d replaces an element that is out of range.", a->index);
    return SUP_OK;
}

static sup_result check_accessor(sup_gltf *g, int32_t index, sup_gltf_accessor *accessor)
{
    const sup_json *object;
    int64_t count, component;
    sup_result result = sup_gltf_object(g, g->accessors, index, "accessor", &object);
    if (result == SUP_OK) result = sup_gltf_size(g, object, "count", -1, INT32_MAX / 16, "accessor", index, &count);
    if (result == SUP_OK)
        result = sup_gltf_size(g, object, "componentType", -1, INT32_MAX, "accessor", index, &component);
    if (result != SUP_OK) return result;
    *accessor = (sup_gltf_accessor){.index = index, .count = (int32_t)count, .component = (int32_t)component};
    accessor->width = type_width(sup_json_get(object, "type"));
    accessor->normalized = sup_json_boolean(sup_json_get(object, "normalized"), false);
    size_t element = (size_t)accessor->width * (size_t)component_size(accessor->component);
    if (element == 0)
        return sup_gltf_fail(g, SUP_ERROR_FORMAT, "gltf.accessor.type",
                             "Accessor %d has an unsupported type or component type.", index);
    result = locate(g, object, index, (size_t)count, element, &accessor->stride, &accessor->data);
    const sup_json *sparse = sup_json_get(object, "sparse");
    if (result == SUP_OK && sparse != NULL) result = open_sparse(g, sparse, element, accessor);
    return result;
}

sup_result sup_gltf_open_accessor(sup_gltf *g, int32_t index, sup_gltf_accessor *accessor)
{
    if (g->opened[index].width == 0) {
        sup_gltf_accessor checked;
        sup_result result = check_accessor(g, index, &checked);
        if (result != SUP_OK) return result;
        g->opened[index] = checked;
    }
    *accessor = g->opened[index];
    return SUP_OK;
}

sup_result sup_gltf_open_member(sup_gltf *g, const sup_json *object, const char *key, const char *kind, int32_t number,
                                sup_gltf_accessor *accessor)
{
    int32_t index;
    *accessor = (sup_gltf_accessor){.index = -1};
    sup_result result = sup_gltf_index(g, object, key, "accessor", sup_json_count(g->accessors), kind, number, &index);
    return result == SUP_OK && index >= 0 ? sup_gltf_open_accessor(g, index, accessor) : result;
}

/* One component as a float; normalised integers are scaled as in glTF 2.0, section 3.6.2.2. */
static float load_float(const unsigned char *data, int32_t component, bool normalized)
{
    float value;
    int16_t s16;
    switch (component) {
    case SUP_GLTF_BYTE:
        value = (float)(int8_t)data[0];
        return normalized ? fmaxf(value / 127.0f, -1.0f) : value;
    case SUP_GLTF_SHORT:
        memcpy(&s16, data, sizeof s16);
        return normalized ? fmaxf((float)s16 / 32767.0f, -1.0f) : (float)s16;
    case SUP_GLTF_UBYTE:
        return normalized ? (float)data[0] / 255.0f : (float)data[0];
    case SUP_GLTF_USHORT:
        value = (float)load_unsigned(data, component);
        return normalized ? value / 65535.0f : value;
    case SUP_GLTF_UINT:
        return (float)load_unsigned(data, component);
    default:
        memcpy(&value, data, sizeof value);
        return value;
    }
}

static void load_element(const sup_gltf_accessor *a, const unsigned char *data, int32_t width, float *floats)
{
    size_t size = (size_t)component_size(a->component);
    for (int32_t c = 0; c < width; c++)
        floats[c] = load_float(data + (size_t)c * size, a->component, a->normalized);
}

static void read_dense(const sup_gltf_accessor *a, int32_t width, int32_t used, float *floats)
{
    if (a->component == SUP_GLTF_FLOAT && a->stride == (size_t)width * 4 && used == width) {
        memcpy(floats, a->data, (size_t)a->count * a->stride);
        return;
    }
    for (int32_t i = 0; i < a->count; i++) {
        const unsigned char *data = a->data + (size_t)i * a->stride;
        float *element = floats + (size_t)i * (size_t)width;
        if (a->component == SUP_GLTF_FLOAT)
            memcpy(element, data, (size_t)used * sizeof(float));
        else
            load_element(a, data, used, element);
    }
}

void sup_gltf_read_floats(const sup_gltf_accessor *a, int32_t width, float *floats)
{
    int32_t used = a->width < width ? a->width : width;
    size_t element = (size_t)a->width * (size_t)component_size(a->component);
    size_t index_size = (size_t)component_size(a->sparse_component);
    if (a->count == 0) return;
    if (a->data != NULL) read_dense(a, width, used, floats);
    for (int32_t i = 0; i < a->sparse_count; i++) {
        uint32_t at = load_unsigned(a->sparse_indices + (size_t)i * index_size, a->sparse_component);
        load_element(a, a->sparse_values + (size_t)i * element, used, floats + (size_t)at * (size_t)width);
    }
}

static uint32_t load_integer(const unsigned char *data, int32_t component)
{
    if (component != SUP_GLTF_FLOAT) return load_unsigned(data, component);
    float value = load_float(data, component, false);
    return value >= 0.0f && value < 4294967040.0f ? (uint32_t)value : UINT32_MAX;
}

void sup_gltf_read_integers(const sup_gltf_accessor *a, uint32_t *integers)
{
    size_t size = (size_t)component_size(a->component), width = (size_t)a->width;
    size_t index_size = (size_t)component_size(a->sparse_component);
    for (size_t i = 0; i < (size_t)a->count && a->data != NULL; i++)
        for (size_t c = 0; c < width; c++)
            integers[i * width + c] = load_integer(a->data + i * a->stride + c * size, a->component);
    for (size_t i = 0; i < (size_t)a->sparse_count; i++) {
        size_t at = load_unsigned(a->sparse_indices + i * index_size, a->sparse_component);
        for (size_t c = 0; c < width; c++)
            integers[at * width + c] = load_integer(a->sparse_values + (i * width + c) * size, a->component);
    }
}

const float *sup_gltf_shared_floats(sup_gltf *g, const sup_gltf_accessor *accessor)
{
    size_t count = (size_t)accessor->count * (size_t)accessor->width;
    if (g->floats[accessor->index] != NULL) /* charged again: each user iterates over it */
        return sup_gltf_charge(g, count, sizeof(float)) == SUP_OK ? g->floats[accessor->index] : NULL;
    float *floats = sup_gltf_alloc(g, g->arena, count, sizeof *floats);
    if (floats != NULL) sup_gltf_read_floats(accessor, accessor->width, floats);
    g->floats[accessor->index] = floats;
    return floats;
}

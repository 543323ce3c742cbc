/* glb_keep.c - copies data of the source document: vertex attributes, indices, images, bufferViews of extensions.
 * Elements are copied unchanged, except for numbers that glTF forbids (non-finite values, colours outside [0, 1]),
 * which are repaired so that the output is valid. */
#include "load/document.h"
#include "output/glb.h"

#include <math.h>

typedef struct element_format {
    int32_t component;     /* SUP_GLB_... */
    size_t component_size; /* bytes */
    size_t size, stride;   /* bytes of an element, and stride in the output */
    const char *type;      /* "VEC2" */
} element_format;

static size_t component_size(int64_t component)
{
    switch (component) {
    case SUP_GLB_BYTE:
    case SUP_GLB_UBYTE:
        return 1;
    case SUP_GLB_SHORT:
    case SUP_GLB_USHORT:
        return 2;
    case SUP_GLB_UINT:
    case SUP_GLB_FLOAT:
        return 4;
    default:
        return 0;
    }
}

/* Matrix columns are aligned to 4 bytes. */
static size_t element_size(const char *type, size_t component)
{
    static const struct {
        const char *name;
        size_t columns, rows;
    } types[] = {{"SCALAR", 1, 1}, {"VEC2", 1, 2}, {"VEC3", 1, 3}, {"VEC4", 1, 4},
                 {"MAT2", 2, 2},   {"MAT3", 3, 3}, {"MAT4", 4, 4}};
    for (int32_t i = 0; i < SUP_COUNT(types); i++) {
        if (!sup_text_equal(type, types[i].name)) continue;
        size_t column = types[i].rows * component;
        return types[i].columns == 1 ? column : (column + 3) / 4 * 4 * types[i].columns;
    }
    return 0;
}

static int64_t integer_or(const sup_json *object, const char *key, int64_t default_value)
{
    int64_t value = default_value;
    sup_json_integer(sup_json_get(object, key), &value);
    return value;
}

static bool read_format(const sup_json *accessor, bool is_index, element_format *format)
{
    int64_t component = integer_or(accessor, "componentType", 0);
    format->component_size = component_size(component);
    format->component = (int32_t)component;
    format->type = sup_json_text(sup_json_get(accessor, "type"));
    format->size = element_size(format->type, format->component_size);
    /* Vertex attributes are aligned to 4 bytes. */
    format->stride = is_index ? format->size : (format->size + 3) / 4 * 4;
    return format->component_size > 0 && format->size > 0;
}

/* `count` elements of `size` bytes in a view from `offset` on, with `stride` (0: packed); NULL when out of range. */
static const unsigned char *view_elements(const sup_glb_copy *copy, int64_t view, int64_t offset, int64_t count,
                                          size_t size, size_t *stride)
{
    if (view < 0 || view >= copy->document->view_count || offset < 0 || count < 1) return NULL;
    int64_t step = *stride != 0 ? (int64_t)*stride : integer_or(sup_json_at(copy->views, view), "byteStride", 0);
    if (step == 0) step = (int64_t)size;
    const sup_bytes bytes = copy->document->views[view];
    if (bytes.data == NULL || step < (int64_t)size || step > 255 + (int64_t)size ||
        (uint64_t)bytes.size > INT64_MAX / 2)
        return NULL;
    int64_t available = (int64_t)bytes.size - offset - (int64_t)size;
    if (available < 0 || count - 1 > available / step) return NULL;
    *stride = (size_t)step;
    return (const unsigned char *)bytes.data + offset;
}

static uint32_t read_index(const unsigned char *at, size_t size)
{
    uint32_t value = 0;
    memcpy(&value, at, size); /* little-endian */
    return value;
}

/* Writes the elements of a sparse accessor into the dense copy. */
static bool apply_sparse(const sup_glb_copy *copy, const sup_json *sparse, const element_format *format, int64_t count,
                         unsigned char *to)
{
    const sup_json *indices = sup_json_get(sparse, "indices"), *values = sup_json_get(sparse, "values");
    int64_t replaced = integer_or(sparse, "count", 0);
    size_t index_size = component_size(integer_or(indices, "componentType", 0)), index_stride = index_size;
    size_t value_stride = format->size;
    if (index_size == 0) return false;
    const unsigned char *index =
        view_elements(copy, integer_or(indices, "bufferView", -1), integer_or(indices, "byteOffset", 0), replaced,
                      index_size, &index_stride);
    const unsigned char *value =
        view_elements(copy, integer_or(values, "bufferView", -1), integer_or(values, "byteOffset", 0), replaced,
                      format->size, &value_stride);
    if (index == NULL || value == NULL) return false;
    for (int64_t i = 0; i < replaced; i++) {
        int64_t element = (int64_t)read_index(index + (size_t)i * index_stride, index_size);
        if (element >= count) return false;
        memcpy(to + (size_t)element * format->stride, value + (size_t)i * value_stride, format->size);
    }
    return true;
}

/* A dense, packed copy of the elements; NULL when the accessor is out of range or out of memory. */
static unsigned char *copy_elements(const sup_glb_copy *copy, const sup_json *accessor, const element_format *format,
                                    int64_t count)
{
    const sup_json *sparse = sup_json_get(accessor, "sparse");
    int64_t view = integer_or(accessor, "bufferView", -1);
    size_t stride = 0;
    const unsigned char *from = NULL;
    if (view >= 0) {
        from = view_elements(copy, view, integer_or(accessor, "byteOffset", 0), count, format->size, &stride);
        if (from == NULL) return NULL;
    }
    unsigned char *to = sup_arena_alloc(&copy->layout->arena, (size_t)count, format->stride);
    if (to == NULL) {
        copy->layout->tree.failed = true;
        return NULL;
    }
    if (from != NULL && stride == format->stride)
        memcpy(to, from, (size_t)(count - 1) * stride + format->size);
    else if (from != NULL)
        for (int64_t i = 0; i < count; i++)
            memcpy(to + (size_t)i * format->stride, from + (size_t)i * stride, format->size);
    return sparse == NULL || apply_sparse(copy, sparse, format, count, to) ? to : NULL;
}

static void repair_floats(unsigned char *data, size_t count, bool clamp)
{
    for (size_t i = 0; i < count; i++) {
        float value;
        memcpy(&value, data + 4 * i, sizeof value);
        float good = isfinite(value) ? value : 0.0f;
        if (clamp) good = good < 0.0f ? 0.0f : (good > 1.0f ? 1.0f : good);
        memcpy(data + 4 * i, &good, sizeof good);
    }
}

int32_t sup_glb_copy_accessor(sup_glb_copy *copy, const sup_json *index, sup_glb_use use, int64_t count)
{
    int64_t at = -1;
    sup_json_tree *tree = &copy->layout->tree;
    const sup_json *source = sup_json_integer(index, &at) ? sup_json_at(copy->accessors, at) : NULL;
    int64_t elements = integer_or(source, "count", 0);
    element_format format;
    if (source == NULL || elements < 1 || (count >= 0 && elements != count)) return -1;
    if (copy->accessor_map[at] >= 0) return copy->accessor_map[at];
    /* An accessor without data could have any count: bounds the memory by the file size. */
    if (elements > INT32_MAX || (count < 0 && sup_json_get(source, "bufferView") == NULL) ||
        !read_format(source, use == SUP_GLB_USE_INDICES, &format))
        return -1;
    unsigned char *data = copy_elements(copy, source, &format, elements);
    if (data == NULL) return -1;
    if (format.component == SUP_GLB_FLOAT)
        repair_floats(data, (size_t)elements * format.stride / 4, use == SUP_GLB_USE_COLOUR);
    bool is_index = use == SUP_GLB_USE_INDICES;
    int32_t view = sup_glb_add_view(copy->layout, data, (size_t)elements * format.stride,
                                    format.stride != format.size ? (int32_t)format.stride : 0,
                                    is_index ? SUP_GLB_ELEMENT_BUFFER : SUP_GLB_ARRAY_BUFFER);
    sup_json *made = sup_glb_add_accessor(tree, view, 0, format.component, elements, format.type);
    static const char *const copied_members[] = {"normalized", "name", "extras"};
    for (int32_t i = 0; i < SUP_COUNT(copied_members); i++)
        if (sup_json_get(source, copied_members[i]) != NULL)
            sup_json_set(tree, made, copied_members[i], sup_json_copy(tree, sup_json_get(source, copied_members[i])));
    return copy->accessor_map[at] = sup_glb_last_accessor(tree);
}

int32_t sup_glb_copy_view(sup_glb_copy *copy, const sup_json *index)
{
    int64_t at = -1;
    if (!sup_json_integer(index, &at) || at < 0 || at >= copy->document->view_count) return -1;
    const sup_bytes bytes = copy->document->views[at];
    if (copy->view_map[at] < 0 && bytes.data != NULL && bytes.size > 0)
        copy->view_map[at] = sup_glb_add_view(copy->layout, bytes.data, bytes.size, 0, 0);
    return copy->view_map[at];
}

static const char *sniff_image(sup_bytes bytes)
{
    static const struct {
        const char *magic;
        size_t offset, size;
        const char *mime;
    } known[] = {{"\x89PNG\r\n\x1a\n", 0, 8, "image/png"},
                 {"\xff\xd8\xff", 0, 3, "image/jpeg"},
                 {"WEBP", 8, 4, "image/webp"},
                 {"\xabKTX 20\xbb\r\n\x1a\n", 0, 12, "image/ktx2"},
                 {"DDS ", 0, 4, "image/vnd-ms.dds"},
                 {"ftypavif", 4, 8, "image/avif"}};
    for (int32_t i = 0; i < SUP_COUNT(known); i++)
        if (bytes.size >= known[i].offset + known[i].size &&
            memcmp((const char *)bytes.data + known[i].offset, known[i].magic, known[i].size) == 0)
            return known[i].mime;
    return NULL;
}

void sup_glb_copy_images(sup_glb_copy *copy)
{
    sup_json_tree *tree = &copy->layout->tree;
    const sup_json *images = sup_json_get(tree->root, "images");
    for (int32_t i = 0; i < sup_json_count(images); i++) {
        sup_json *image = sup_json_at(images, i);
        sup_bytes bytes = i < copy->document->image_count ? copy->document->images[i] : (sup_bytes){NULL, 0};
        int64_t view = integer_or(image, "bufferView", -1);
        int32_t made = -1;
        if (view >= 0) {
            made = sup_glb_copy_view(copy, sup_json_get(image, "bufferView"));
            if (made >= 0) bytes = copy->document->views[view];
        } else if (bytes.data != NULL && bytes.size > 0) {
            made = sup_glb_add_view(copy->layout, bytes.data, bytes.size, 0, 0);
        }
        if (made < 0) continue;
        const char *mime = sniff_image(bytes);
        sup_json_remove(image, "uri");
        sup_glb_set_integer(tree, image, "bufferView", made);
        if (mime != NULL)
            sup_glb_set_text(tree, image, "mimeType", mime);
        else if (sup_json_get(image, "mimeType") == NULL)
            sup_glb_set_text(tree, image, "mimeType", "image/png");
    }
}

/* read_gltf_container.c - GLB chunks, buffers, buffer views and images: the binary data of a glTF file. */
#include "load/read_gltf.h"

#include "load/base64.h"
#include "load/file.h"
#include "load/meshopt_decode.h"

enum { GLB_HEADER = 12, CHUNK_HEADER = 8 };
static const uint32_t GLB_MAGIC = 0x46546C67u, CHUNK_JSON = 0x4E4F534Au, CHUNK_BINARY = 0x004E4942u;

static uint32_t load_u32(const unsigned char *bytes)
{
    return (uint32_t)bytes[0] | (uint32_t)bytes[1] << 8 | (uint32_t)bytes[2] << 16 | (uint32_t)bytes[3] << 24;
}

static sup_result open_glb(sup_gltf *g, const unsigned char *data, size_t size)
{
    if (size < GLB_HEADER)
        return sup_gltf_fail(g, SUP_ERROR_FORMAT, "gltf.glb.truncated", "The GLB file is truncated.");
    uint32_t version = load_u32(data + 4), length = load_u32(data + 8);
    if (version != 2)
        return sup_gltf_fail(g, SUP_ERROR_UNSUPPORTED, "gltf.version",
                             "The file is GLB version %u; only version 2 is supported. Export it as glTF 2.0.",
                             version);
    if (length > size || length < GLB_HEADER)
        return sup_gltf_fail(g, SUP_ERROR_FORMAT, "gltf.glb.truncated",
                             "The GLB header declares %u bytes, but the file has %zu: it is truncated or damaged.",
                             length, size);
    size_t at = GLB_HEADER;
    for (int32_t chunk = 0; length - at >= CHUNK_HEADER; chunk++) {
        uint32_t chunk_size = load_u32(data + at), type = load_u32(data + at + 4);
        at += CHUNK_HEADER;
        if (chunk_size > length - at)
            return sup_gltf_fail(g, SUP_ERROR_FORMAT, "gltf.glb.chunk",
                                 "GLB chunk %d declares %u bytes, but %zu remain: the file is truncated or damaged.",
                                 chunk, chunk_size, length - at);
        if (chunk == 0 && type != CHUNK_JSON) break;
        if (chunk == 0) g->json = (sup_bytes){data + at, chunk_size};
        if (chunk == 1 && type == CHUNK_BINARY) g->binary = (sup_bytes){data + at, chunk_size};
        at += chunk_size;
        while (at < length && at % 4 != 0)
            at++;
    }
    if (g->json.data == NULL)
        return sup_gltf_fail(g, SUP_ERROR_FORMAT, "gltf.glb.json", "The first chunk of the GLB file is not JSON.");
    while (g->json.size > 0 && ((const char *)g->json.data)[g->json.size - 1] == '\0') /* zero padding */
        g->json.size--;
    return SUP_OK;
}

sup_result sup_gltf_open_container(sup_gltf *g)
{
    const unsigned char *data = g->input->bytes.data;
    size_t size = g->input->bytes.size, at = 0;
    if (size >= 4 && load_u32(data) == GLB_MAGIC) return open_glb(g, data, size);
    if (size >= 3 && memcmp(data, "\xEF\xBB\xBF", 3) == 0) at = 3;
    while (at < size && (data[at] == ' ' || data[at] == '\n' || data[at] == '\r' || data[at] == '\t'))
        at++;
    if (at == size || data[at] != '{')
        return sup_gltf_fail(g, SUP_ERROR_FORMAT, "gltf.magic", "This is neither a GLB file nor glTF JSON text.");
    g->json = (sup_bytes){data + at, size - at};
    return SUP_OK;
}

/* The bytes of "data:...;base64,...". */
static sup_result read_data_uri(sup_gltf *g, const sup_json *uri, const char *kind, int32_t number, sup_bytes *bytes)
{
    const char *text = uri->of.text, *comma = memchr(text, ',', uri->count);
    bool base64 = comma != NULL && comma - text >= 7 && memcmp(comma - 7, ";base64", 7) == 0;
    size_t size = base64 ? uri->count - (size_t)(comma + 1 - text) : 0;
    unsigned char *data = base64 ? sup_gltf_alloc(g, g->arena, sup_base64_bound(size), 1) : NULL;
    if (base64 && data == NULL) return g->error->result;
    if (!base64 || !sup_base64_decode(comma + 1, size, data, &size))
        return sup_gltf_fail(g, SUP_ERROR_FORMAT, "gltf.uri.data", "The data URI of %s %d is invalid.", kind, number);
    *bytes = (sup_bytes){data, size};
    return SUP_OK;
}

/* "http://..." and the like: a scheme of at least two letters, so that "c:\x" is a path. */
static bool has_scheme(const char *uri)
{
    size_t i = 0;
    while ((uri[i] | 0x20) >= 'a' && (uri[i] | 0x20) <= 'z')
        i++;
    return i > 1 && uri[i] == ':';
}

static sup_result read_external(sup_gltf *g, const char *uri, const char *kind, int32_t number, sup_bytes *bytes)
{
    char path[4096];
    if (has_scheme(uri))
        return sup_gltf_fail(
            g, SUP_ERROR_UNSUPPORTED, "gltf.uri.scheme",
            "The URI \"%.80s\" of %s %d is not a local file: copy the file next to the glTF file and update the URI.",
            uri, kind, number);
    if (!sup_path_resolve(g->input->name, uri, true, path, sizeof path))
        return sup_gltf_fail(g, SUP_ERROR_FORMAT, "gltf.uri.long", "The file name of %s %d is too long.", kind, number);
    const sup_allocator *allocator = &g->input->context->allocator;
    void *data = NULL;
    size_t size = 0;
    sup_result result = g->input->reader.read(g->input->reader.user, path, allocator, &data, &size, g->error);
    if (result != SUP_OK) return result;
    g->bytes_read += size;
    void *copy = sup_gltf_alloc(g, g->arena, size, 1);
    if (copy != NULL && size > 0) memcpy(copy, data, size);
    sup_free(allocator, data, size + 1);
    if (copy == NULL) return g->error->result;
    *bytes = (sup_bytes){copy, size};
    return SUP_OK;
}

static sup_result read_uri(sup_gltf *g, const sup_json *uri, const char *kind, int32_t number, sup_bytes *bytes)
{
    if (uri->count >= 5 && memcmp(uri->of.text, "data:", 5) == 0) return read_data_uri(g, uri, kind, number, bytes);
    return read_external(g, uri->of.text, kind, number, bytes);
}

static bool is_fallback(const sup_json *buffer)
{
    const sup_json *extensions = sup_json_get(buffer, "extensions");
    const sup_json *meshopt = sup_json_get(extensions, "EXT_meshopt_compression");
    if (meshopt == NULL) meshopt = sup_json_get(extensions, "KHR_meshopt_compression");
    return sup_json_boolean(sup_json_get(meshopt, "default_value"), false);
}

static sup_result read_buffer(sup_gltf *g, const sup_json *buffer, int32_t number)
{
    sup_bytes bytes = {NULL, 0};
    int64_t length;
    sup_result result = sup_gltf_size(g, buffer, "byteLength", -1, INT64_MAX, "buffer", number, &length);
    const sup_json *uri = sup_json_get(buffer, "uri");
    if (result != SUP_OK) return result;
    if (is_fallback(buffer)) {
        g->buffers[number].bytes = (sup_bytes){NULL, (size_t)length};
        return SUP_OK;
    }
    if (sup_json_is(uri, SUP_JSON_STRING)) {
        result = read_uri(g, uri, "buffer", number, &bytes);
        if (result != SUP_OK) return result;
    } else if (number == 0 && g->binary.data != NULL) {
        void *copy = sup_gltf_alloc(g, g->arena, g->binary.size, 1);
        if (copy == NULL) return g->error->result;
        if (g->binary.size > 0) memcpy(copy, g->binary.data, g->binary.size);
        bytes = (sup_bytes){copy, g->binary.size};
    }
    if (bytes.data != NULL && (uint64_t)length > bytes.size)
        return sup_gltf_fail(g, SUP_ERROR_FORMAT, "gltf.buffer.range",
                             "Buffer %d declares %lld bytes, but has %zu: its data is truncated.", number,
                             (long long)length, bytes.size);
    g->buffers[number].bytes = (sup_bytes){bytes.data, (size_t)length};
    return SUP_OK;
}

/* buffer, byteOffset and byteLength of a view or of its compressed form; data is NULL for a placeholder buffer. */
static sup_result read_range(sup_gltf *g, const sup_json *object, int32_t number, sup_bytes *bytes)
{
    int32_t buffer;
    int64_t offset, length;
    sup_result result = sup_gltf_index(g, object, "buffer", "buffer", g->buffer_count, "buffer view", number, &buffer);
    if (result == SUP_OK) result = sup_gltf_size(g, object, "byteOffset", 0, INT64_MAX, "buffer view", number, &offset);
    if (result == SUP_OK)
        result = sup_gltf_size(g, object, "byteLength", -1, INT64_MAX, "buffer view", number, &length);
    if (result != SUP_OK) return result;
    if (buffer < 0)
        return sup_gltf_fail(g, SUP_ERROR_FORMAT, "gltf.view.buffer", "Buffer view %d has no buffer index.", number);
    sup_bytes whole = g->buffers[buffer].bytes;
    if ((uint64_t)offset > whole.size || (uint64_t)length > whole.size - (uint64_t)offset)
        return sup_gltf_fail(g, SUP_ERROR_FORMAT, "gltf.view.range",
                             "Buffer view %d exceeds buffer %d, which has %zu bytes.", number, buffer, whole.size);
    bytes->data = whole.data != NULL ? (const unsigned char *)whole.data + offset : NULL;
    bytes->size = (size_t)length;
    return SUP_OK;
}

/* Index of a name in a NULL-terminated list; -1 when not found. */
static int32_t find_name(const sup_json *value, const char *const *names)
{
    for (int32_t i = 0; names[i] != NULL; i++)
        if (sup_json_equals(value, names[i])) return i;
    return -1;
}

static sup_result decompress_view(sup_gltf *g, const sup_json *meshopt, int32_t number, sup_bytes *view)
{
    static const char *const modes[] = {"ATTRIBUTES", "TRIANGLES", "INDICES", NULL};
    static const char *const filters[] = {"NONE", "OCTAHEDRAL", "QUATERNION", "EXPONENTIAL", "COLOR", NULL};
    sup_bytes source = {0};
    int64_t count = 0, stride = 0;
    sup_result result = read_range(g, meshopt, number, &source);
    if (result == SUP_OK)
        result = sup_gltf_size(g, meshopt, "count", -1, INT32_MAX, "compressed buffer view", number, &count);
    if (result == SUP_OK)
        result = sup_gltf_size(g, meshopt, "byteStride", -1, 256, "compressed buffer view", number, &stride);
    if (result != SUP_OK) return result;
    int32_t mode = find_name(sup_json_get(meshopt, "mode"), modes);
    const sup_json *filter_name = sup_json_get(meshopt, "filter");
    int32_t filter = filter_name != NULL ? find_name(filter_name, filters) : 0;
    bool good = mode >= 0 && filter >= 0 && (size_t)(count * stride) == view->size && source.data != NULL &&
                sup_meshopt_valid((sup_meshopt_mode)mode, (sup_meshopt_filter)filter, (size_t)count, (size_t)stride);
    if (!good)
        return sup_gltf_fail(g, SUP_ERROR_FORMAT, "gltf.meshopt.layout",
                             "The compressed buffer view %d has a mode, filter, count or stride that cannot be.",
                             number);
    if (!sup_meshopt_available())
        return sup_gltf_fail(g, SUP_ERROR_UNSUPPORTED, "gltf.meshopt.missing",
                             "Buffer view %d is compressed with meshoptimizer, whose decoder is not in this build. "
                             "Build Supple with a C++ compiler, or save the file without compression.",
                             number);
    void *data = sup_gltf_alloc(g, g->arena, (size_t)count, (size_t)stride);
    if (data == NULL) return g->error->result;
    if (!sup_meshopt_decode((sup_meshopt_mode)mode, (sup_meshopt_filter)filter, (size_t)count, (size_t)stride, source,
                            data))
        return sup_gltf_fail(g, SUP_ERROR_FORMAT, "gltf.meshopt.stream",
                             "The compressed data of buffer view %d is damaged.", number);
    view->data = data;
    return SUP_OK;
}

static sup_result read_view(sup_gltf *g, const sup_json *view, int32_t number)
{
    int64_t stride;
    const sup_json *extensions = sup_json_get(view, "extensions");
    const sup_json *meshopt = sup_json_get(extensions, "EXT_meshopt_compression");
    if (meshopt == NULL) meshopt = sup_json_get(extensions, "KHR_meshopt_compression");
    sup_result result = read_range(g, view, number, &g->views[number]);
    if (result == SUP_OK) result = sup_gltf_size(g, view, "byteStride", 0, 1024, "buffer view", number, &stride);
    if (result != SUP_OK) return result;
    g->view_strides[number] = (int32_t)stride;
    if (meshopt != NULL) return decompress_view(g, meshopt, number, &g->views[number]);
    if (g->views[number].data == NULL)
        return sup_gltf_fail(g, SUP_ERROR_FORMAT, "gltf.buffer.missing",
                             "Buffer view %d refers to a buffer without data.", number);
    return SUP_OK;
}

/* An image that cannot be read is a warning, not an error: the geometry does not depend on it. */
static void read_image(sup_gltf *g, const sup_json *image, int32_t number, sup_bytes *bytes)
{
    const sup_json *uri = sup_json_get(image, "uri");
    if (!sup_json_is(uri, SUP_JSON_STRING) || read_uri(g, uri, "image", number, bytes) == SUP_OK) return;
    *bytes = (sup_bytes){NULL, 0};
    sup_log(g->input->context, SUP_LOG_WARNING, "%s: image %d is skipped: %s", g->input->name, number,
            g->error->message);
}

static sup_result read_images(sup_gltf *g, struct sup_document *document)
{
    const sup_json *images;
    sup_result result = sup_gltf_list(g, g->root, "images", &images);
    if (result != SUP_OK) return result;
    document->image_count = sup_json_count(images);
    sup_bytes *bytes = sup_gltf_alloc(g, g->arena, (size_t)document->image_count, sizeof *bytes);
    if (bytes == NULL) return g->error->result;
    document->images = bytes;
    sup_error *outer = g->error, unwanted;
    g->error = &unwanted;
    for (int32_t i = 0; i < document->image_count; i++)
        read_image(g, sup_json_at(images, i), i, &bytes[i]);
    g->error = outer;
    return SUP_OK;
}

sup_result sup_gltf_read_buffers(sup_gltf *g)
{
    const sup_json *buffers, *views, *object;
    sup_result result = sup_gltf_list(g, g->root, "buffers", &buffers);
    if (result == SUP_OK) result = sup_gltf_list(g, g->root, "bufferViews", &views);
    if (result != SUP_OK) return result;
    g->buffer_count = sup_json_count(buffers);
    g->view_count = sup_json_count(views);
    g->buffers = sup_gltf_alloc(g, &g->scratch, (size_t)g->buffer_count, sizeof *g->buffers);
    g->views = sup_gltf_alloc(g, g->arena, (size_t)g->view_count, sizeof *g->views);
    g->view_strides = sup_gltf_alloc(g, &g->scratch, (size_t)g->view_count, sizeof *g->view_strides);
    struct sup_document *document = sup_gltf_alloc(g, g->arena, 1, sizeof *document);
    char *json = sup_gltf_alloc(g, g->arena, g->json.size, 1);
    if (g->buffers == NULL || g->views == NULL || g->view_strides == NULL || document == NULL || json == NULL)
        return g->error->result;
    memcpy(json, g->json.data, g->json.size);
    for (int32_t i = 0; i < g->buffer_count && result == SUP_OK; i++) {
        result = sup_gltf_object(g, buffers, i, "buffer", &object);
        if (result == SUP_OK) result = read_buffer(g, object, i);
    }
    for (int32_t i = 0; i < g->view_count && result == SUP_OK; i++) {
        result = sup_gltf_object(g, views, i, "buffer view", &object);
        if (result == SUP_OK) result = read_view(g, object, i);
    }
    if (result == SUP_OK) result = read_images(g, document);
    document->json = (sup_bytes){json, g->json.size};
    document->view_count = g->view_count;
    document->views = g->views;
    g->character->document = document;
    return result;
}

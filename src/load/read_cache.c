/* read_cache.c - point caches: PC2 (3ds Max, Blender; little-endian) and MDD (LightWave, Blender; big-endian). */
#include "load/read_cache.h"

#include "load/file.h"

#include <math.h>

struct sup_cache_storage {
    sup_allocator allocator;
    size_t size; /* of the positions, in bytes */
};

enum { PC2_HEADER = 32, MDD_HEADER = 8 };

static uint32_t word_at(const unsigned char *p, bool big)
{
    return big ? (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3]
               : (uint32_t)p[3] << 24 | (uint32_t)p[2] << 16 | (uint32_t)p[1] << 8 | p[0];
}

static float float_at(const unsigned char *p, bool big)
{
    uint32_t word = word_at(p, big);
    float value;
    memcpy(&value, &word, sizeof value);
    return value;
}

/* The values of a header, checked against the file size. */
typedef struct layout {
    int64_t frames, vertices;
    size_t data; /* offset of the first position */
    bool big;
    double start, fps;
} layout;

static sup_result fail_size(sup_error *error, const char *name, const layout *l, size_t size)
{
    return sup_fail(error, SUP_ERROR_FORMAT, "cache.truncated", name,
                    "The header declares %lld frames of %lld vertices, but the file has only %zu bytes: it is "
                    "truncated or damaged.",
                    (long long)l->frames, (long long)l->vertices, size);
}

/* Whether `data + frames * vertices * 12` is at most `size`; no overflow, because both counts are below 2^31. */
static bool fits(const layout *l, size_t size)
{
    if (l->frames < 0 || l->vertices < 0 || l->data > size) return false;
    size_t capacity = (size - l->data) / 12;
    return l->vertices == 0 || (uint64_t)l->frames <= (uint64_t)capacity / (uint64_t)l->vertices;
}

static sup_result parse_pc2(const unsigned char *p, size_t size, const char *name, layout *l, sup_error *error)
{
    if (size < PC2_HEADER || memcmp(p, "POINTCACHE2", 12) != 0 || word_at(p + 12, false) != 1)
        return sup_fail(error, SUP_ERROR_FORMAT, "cache.header", name, "This is not a PC2 point cache of version 1.");
    l->vertices = (int32_t)word_at(p + 16, false);
    l->start = (double)float_at(p + 20, false);
    l->fps = (double)float_at(p + 24, false);
    l->frames = (int32_t)word_at(p + 28, false);
    l->data = PC2_HEADER;
    return SUP_OK;
}

static sup_result parse_mdd(const unsigned char *p, size_t size, const char *name, layout *l, sup_error *error)
{
    if (size < MDD_HEADER)
        return sup_fail(error, SUP_ERROR_FORMAT, "cache.header", name,
                        "This is not an MDD point cache: it is too short.");
    l->frames = (int32_t)word_at(p, true);
    l->vertices = (int32_t)word_at(p + 4, true);
    l->big = true;
    if (l->frames < 0 || (uint64_t)l->frames > (size - MDD_HEADER) / 4) return fail_size(error, name, l, size);
    l->data = MDD_HEADER + 4 * (size_t)l->frames;
    if (l->frames > 0) l->start = (double)float_at(p + MDD_HEADER, true);
    if (l->frames > 1) {
        double last = (double)float_at(p + l->data - 4, true);
        l->fps = last > l->start ? (double)(l->frames - 1) / (last - l->start) : 0.0;
    }
    return SUP_OK;
}

static sup_result make_cache(const sup_context *context, const unsigned char *p, const layout *l, sup_cache **cache,
                             sup_error *error)
{
    sup_context resolved = sup_context_resolve(context);
    size_t count = (size_t)l->frames * (size_t)l->vertices * 3;
    sup_cache *made = sup_alloc_zero(&resolved.allocator, sizeof *made);
    struct sup_cache_storage *storage = sup_alloc_zero(&resolved.allocator, sizeof *storage);
    float *positions = sup_alloc(&resolved.allocator, count * sizeof *positions);
    if (made == NULL || storage == NULL || positions == NULL) {
        sup_free(&resolved.allocator, made, sizeof *made);
        sup_free(&resolved.allocator, storage, sizeof *storage);
        sup_free(&resolved.allocator, positions, count * sizeof *positions);
        return sup_fail_memory(error, "the cache");
    }
    for (size_t i = 0; i < count; i++)
        positions[i] = float_at(p + l->data + 4 * i, l->big);
    *storage = (struct sup_cache_storage){resolved.allocator, count * sizeof *positions};
    *made = (sup_cache){(int32_t)l->frames,
                        (int32_t)l->vertices,
                        isfinite(l->start) ? l->start : 0.0,
                        isfinite(l->fps) ? l->fps : 0.0,
                        positions,
                        storage};
    *cache = made;
    return SUP_OK;
}

sup_result sup_read_cache(const sup_context *context, const char *name, sup_bytes bytes, int32_t vertex_count,
                          sup_cache **cache, sup_error *error)
{
    char extension[8];
    layout l = {0};
    sup_path_extension(name, extension, sizeof extension);
    bool mdd = sup_text_equal(extension, "mdd");
    if (!mdd && !sup_text_equal(extension, "pc2"))
        return sup_fail(error, SUP_ERROR_UNSUPPORTED, "cache.extension", name,
                        "The file extension of a point cache must be .pc2 or .mdd.");
    sup_result result = (mdd ? parse_mdd : parse_pc2)(bytes.data, bytes.size, name, &l, error);
    if (result != SUP_OK) return result;
    if (l.frames == 0 || l.vertices == 0)
        return sup_fail(error, SUP_ERROR_FORMAT, "cache.empty", name, "The cache has no frames or no vertices.");
    if (!fits(&l, bytes.size)) return fail_size(error, name, &l, bytes.size);
    if (vertex_count > 0 && l.vertices != vertex_count)
        return sup_fail(error, SUP_ERROR_DATA, "cache.vertices", name,
                        "The cache has %lld vertices, but the character has %d: it was baked from another character or "
                        "with another vertex order.",
                        (long long)l.vertices, vertex_count);
    return make_cache(context, bytes.data, &l, cache, error);
}

sup_result sup_cache_load(const sup_context *context, const char *path, int32_t vertex_count, sup_cache **cache,
                          sup_error *error)
{
    if (path == NULL || cache == NULL)
        return sup_fail(error, SUP_ERROR_ARGUMENT, "argument.null", "",
                        "sup_cache_load: path and cache must not be NULL.");
    sup_context resolved = sup_context_resolve(context);
    void *data = NULL;
    size_t size = 0;
    sup_result result = sup_file_read(path, &resolved.allocator, &data, &size, error);
    if (result != SUP_OK) return result;
    result = sup_read_cache(context, path, (sup_bytes){data, size}, vertex_count, cache, error);
    sup_free(&resolved.allocator, data, size + 1);
    return result;
}

void sup_cache_destroy(sup_cache *cache)
{
    if (cache == NULL) return;
    sup_allocator allocator = cache->storage->allocator;
    sup_free(&allocator, (float *)cache->positions, cache->storage->size);
    sup_free(&allocator, cache->storage, sizeof *cache->storage);
    sup_free(&allocator, cache, sizeof *cache);
}

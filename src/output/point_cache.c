/* point_cache.c - writes PC2 and MDD: a header, then the positions of every frame.
 *
 * PC2 (little-endian): "POINTCACHE2\0", int32 version 1, int32 points, float start frame, float frames per sample,
 * int32 samples, then samples * points * 3 floats. MDD (big-endian): int32 frames, int32 points, float times[frames] in
 * seconds, then frames * points * 3 floats. Points are in the character's vertex order, primitive by primitive, in the
 * world space of its file (Y up for glTF). */
#include "output/cache.h"
#include "output/file_out.h"

typedef struct point_cache {
    sup_file_out out;
    unsigned char *scratch; /* one frame in the file's byte order */
    size_t scratch_size;
} point_cache;

static void put_u32_little(unsigned char *to, uint32_t value)
{
    for (int i = 0; i < 4; i++)
        to[i] = (unsigned char)(value >> (8 * i));
}

static void put_u32_big(unsigned char *to, uint32_t value)
{
    for (int i = 0; i < 4; i++)
        to[i] = (unsigned char)(value >> (24 - 8 * i));
}

static uint32_t float_bits(float value)
{
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

static sup_result open_file(sup_cache_writer *writer, sup_error *error)
{
    point_cache *cache = writer->state;
    cache->scratch_size = sup_size_multiply((size_t)writer->character->vertex_count, 12);
    cache->scratch = sup_alloc(&writer->context.allocator, cache->scratch_size);
    if (cache->scratch == NULL) return sup_fail_memory(error, "a frame");
    return sup_file_out_open(&cache->out, writer->path, error);
}

static sup_result open_pc2(sup_cache_writer *writer, sup_error *error)
{
    point_cache *cache = writer->state;
    unsigned char header[32] = "POINTCACHE2";
    sup_result result = open_file(writer, error);
    if (result != SUP_OK) return result;
    put_u32_little(header + 12, 1);
    put_u32_little(header + 16, (uint32_t)writer->character->vertex_count);
    put_u32_little(header + 20, float_bits((float)(writer->def.start_time * writer->def.fps)));
    put_u32_little(header + 24, float_bits(1.0f));
    put_u32_little(header + 28, (uint32_t)writer->def.frame_count);
    return sup_file_out_write(&cache->out, header, sizeof header, error);
}

static sup_result open_mdd(sup_cache_writer *writer, sup_error *error)
{
    point_cache *cache = writer->state;
    unsigned char word[8];
    sup_result result = open_file(writer, error);
    put_u32_big(word, (uint32_t)writer->def.frame_count);
    put_u32_big(word + 4, (uint32_t)writer->character->vertex_count);
    if (result == SUP_OK) result = sup_file_out_write(&cache->out, word, 8, error);
    for (int32_t i = 0; result == SUP_OK && i < writer->def.frame_count; i++) {
        put_u32_big(word, float_bits((float)(writer->def.start_time + (double)i / writer->def.fps)));
        result = sup_file_out_write(&cache->out, word, 4, error);
    }
    return result;
}

static sup_result frame_pc2(sup_cache_writer *writer, const float *positions, const float *normals, sup_error *error)
{
    SUP_UNUSED(normals);
    point_cache *cache = writer->state;
    return sup_file_out_write(&cache->out, positions, cache->scratch_size, error);
}

static sup_result frame_mdd(sup_cache_writer *writer, const float *positions, const float *normals, sup_error *error)
{
    SUP_UNUSED(normals);
    point_cache *cache = writer->state;
    for (size_t i = 0; i < cache->scratch_size / 4; i++)
        put_u32_big(cache->scratch + 4 * i, float_bits(positions[i]));
    return sup_file_out_write(&cache->out, cache->scratch, cache->scratch_size, error);
}

static sup_result finish_file(sup_cache_writer *writer, sup_error *error)
{
    point_cache *cache = writer->state;
    writer->bytes = cache->out.written;
    return sup_file_out_commit(&cache->out, error);
}

static void close_file(sup_cache_writer *writer)
{
    point_cache *cache = writer->state;
    sup_file_out_abandon(&cache->out);
    sup_free(&writer->context.allocator, cache->scratch, cache->scratch_size);
}

const sup_cache_format sup_format_pc2 = {
    .extension = "pc2",
    .summary = "point cache",
    .state_size = sizeof(point_cache),
    .open = open_pc2,
    .frame = frame_pc2,
    .finish = finish_file,
    .close = close_file,
};

const sup_cache_format sup_format_mdd = {
    .extension = "mdd",
    .summary = "point cache",
    .state_size = sizeof(point_cache),
    .open = open_mdd,
    .frame = frame_mdd,
    .finish = finish_file,
    .close = close_file,
};

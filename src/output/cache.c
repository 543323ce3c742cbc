/* cache.c - writes frames to a file: selects the format, validates the frames and forwards them. */
#include "output/cache.h"

#include "load/file.h"
#include "math/affine.h"

static const sup_cache_format *const formats[] = {
    &sup_format_glb,
    &sup_format_pc2,
#ifndef SUPPLE_SMALL
    &sup_format_mdd,
    &sup_format_obj,
#endif
    NULL,
};

sup_cache_def sup_default_cache_def(void)
{
    return (sup_cache_def){.frame_count = 0, .fps = 30.0, .start_time = 0.0, .normals = true, .name = NULL};
}

static const sup_cache_format *find_format(const char *path)
{
    char extension[16];
    sup_path_extension(path, extension, sizeof extension);
    for (const sup_cache_format *const *at = formats; *at != NULL; at++)
        if (sup_text_equal((*at)->extension, extension)) return *at;
    return NULL;
}

static sup_result fail_extension(const char *path, sup_error *error)
{
    char list[240] = "";
    size_t used = 0;
    for (const sup_cache_format *const *at = formats; *at != NULL && used < sizeof list; at++)
        used += sup_format(list + used, sizeof list - used, "%s.%s (%s)", at == formats ? "" : ", ", (*at)->extension,
                           (*at)->summary);
    return sup_fail(error, SUP_ERROR_ARGUMENT, "output.extension", path,
                    "The file extension of the output is not supported. Supported: %s.", list);
}

static sup_result check_def(const sup_character *character, const sup_cache_def *def, sup_error *error)
{
    if (def->frame_count < 1)
        return sup_fail(error, SUP_ERROR_ARGUMENT, "output.frames", "",
                        "The number of frames must be at least 1, not %d.", def->frame_count);
    if (!(def->fps >= 0.0) || !isfinite(def->fps) || !isfinite(def->start_time))
        return sup_fail(error, SUP_ERROR_ARGUMENT, "output.fps", "",
                        "Frames per second must be a positive number and the start time finite.");
    if (character->vertex_count < 1)
        return sup_fail(error, SUP_ERROR_DATA, "output.empty", character->name,
                        "The character has no vertices: there is nothing to write.");
    return SUP_OK;
}

static sup_cache_writer *create_writer(const sup_context *context, const sup_cache_format *format,
                                       const sup_cache_def *def)
{
    sup_context resolved = sup_context_resolve(context);
    const char *name = def->name != NULL && def->name[0] != '\0' ? def->name : "motion";
    size_t state_at = (sizeof(sup_cache_writer) + 63) / 64 * 64;
    size_t name_at = state_at + format->state_size;
    size_t size = name_at + strlen(name) + 1;
    unsigned char *block = sup_alloc_zero(&resolved.allocator, size);
    if (block == NULL) return NULL;
    memcpy(block + name_at, name, strlen(name));
    sup_cache_writer *writer = (sup_cache_writer *)(void *)block;
    writer->context = resolved;
    writer->format = format;
    writer->def = *def;
    if (writer->def.fps == 0.0) writer->def.fps = 30.0;
    writer->def.name = (const char *)block + name_at;
    writer->block_size = size;
    writer->state = block + state_at;
    return writer;
}

static void destroy_writer(sup_cache_writer *writer)
{
    sup_allocator allocator = writer->context.allocator;
    writer->format->close(writer);
    sup_free(&allocator, writer, writer->block_size);
}

sup_result sup_cache_open(const sup_context *context, const char *path, const sup_character *character,
                          const sup_cache_def *def, sup_cache_writer **writer, sup_error *error)
{
    if (path == NULL || character == NULL || def == NULL || writer == NULL)
        return sup_fail(error, SUP_ERROR_ARGUMENT, "argument.null", "",
                        "sup_cache_open: path, character, def and writer must not be NULL.");
    const sup_cache_format *format = find_format(path);
    if (format == NULL) return fail_extension(path, error);
    sup_result result = check_def(character, def, error);
    if (result != SUP_OK) return result;
    sup_cache_writer *made = create_writer(context, format, def);
    if (made == NULL) return sup_fail_memory(error, "the output");
    made->character = character;
    if (strlen(path) >= sizeof made->path)
        result = sup_fail(error, SUP_ERROR_IO, "file.name", "", "The output path is longer than %d characters.",
                          (int)sizeof made->path - 1);
    else
        sup_format(made->path, sizeof made->path, "%s", path);
    if (result == SUP_OK) result = format->open(made, error);
    if (result != SUP_OK) {
        destroy_writer(made);
        return result;
    }
    *writer = made;
    return SUP_OK;
}

/* Index of the first non-finite number, or -1. Full blocks are tested without branches. */
static int64_t find_nonfinite(const float *values, int64_t count)
{
    enum { BLOCK = 1024 };
    for (int64_t begin = 0; begin < count; begin += BLOCK) {
        int64_t end = count - begin < BLOCK ? count : begin + BLOCK;
        int bad = 0;
        for (int64_t i = begin; i < end; i++) {
            uint32_t bits;
            memcpy(&bits, &values[i], sizeof bits);
            bad |= (bits & 0x7f800000u) == 0x7f800000u;
        }
        for (int64_t i = begin; bad != 0 && i < end; i++)
            if (!isfinite(values[i])) return i;
    }
    return -1;
}

static sup_result fail_nonfinite(const sup_cache_writer *writer, int64_t value, const char *what, sup_error *error)
{
    const sup_character *character = writer->character;
    int32_t vertex = (int32_t)(value / 3), primitive = 0;
    while (primitive + 1 < character->primitive_count && vertex >= character->primitives[primitive + 1].vertex_first)
        primitive++;
    return sup_fail(error, SUP_ERROR_DATA, "output.nonfinite", writer->path,
                    "The %s of vertex %d (primitive %d, %s) in frame %d is not a finite number.", what, vertex,
                    primitive, character->primitives[primitive].name, writer->frame);
}

static sup_result check_frame(sup_cache_writer *writer, const float *positions, const float *normals, sup_error *error)
{
    int64_t count = (int64_t)writer->character->vertex_count * 3;
    if (writer->failed)
        return sup_fail(error, SUP_ERROR_ARGUMENT, "output.failed", writer->path,
                        "An earlier frame could not be written: no further frames are accepted.");
    if (writer->frame >= writer->def.frame_count)
        return sup_fail(error, SUP_ERROR_ARGUMENT, "output.frames", writer->path,
                        "All %d frames have already been written.", writer->def.frame_count);
    if (writer->frame > 0 && (normals != NULL) != writer->has_normals && writer->def.normals)
        return sup_fail(error, SUP_ERROR_ARGUMENT, "output.normals", writer->path,
                        "Normals must be given for all frames or for none; frame %d differs from the first frame.",
                        writer->frame);
    int64_t bad = find_nonfinite(positions, count);
    if (bad >= 0) return fail_nonfinite(writer, bad, "position", error);
    bad = normals != NULL ? find_nonfinite(normals, count) : -1;
    return bad >= 0 ? fail_nonfinite(writer, bad, "normal", error) : SUP_OK;
}

sup_result sup_cache_write(sup_cache_writer *writer, const float *positions, const float *normals, sup_error *error)
{
    if (writer == NULL || positions == NULL)
        return sup_fail(error, SUP_ERROR_ARGUMENT, "argument.null", "",
                        "sup_cache_write: writer and positions must not be NULL.");
    sup_result result = check_frame(writer, positions, normals, error);
    if (writer->frame == 0) writer->has_normals = normals != NULL;
    if (result == SUP_OK) result = writer->format->frame(writer, positions, normals, error);
    if (result == SUP_OK)
        writer->frame++;
    else
        writer->failed = true;
    return result;
}

sup_result sup_cache_finish_counted(sup_cache_writer *writer, uint64_t *bytes, sup_error *error)
{
    if (writer == NULL)
        return sup_fail(error, SUP_ERROR_ARGUMENT, "argument.null", "", "sup_cache_finish: writer must not be NULL.");
    sup_result result = SUP_OK;
    if (writer->failed)
        result = sup_fail(error, SUP_ERROR_ARGUMENT, "output.failed", writer->path,
                          "A frame could not be written: the file cannot be finished.");
    else if (writer->frame != writer->def.frame_count)
        result = sup_fail(error, SUP_ERROR_ARGUMENT, "output.frames", writer->path,
                          "Only %d of the declared %d frames were written.", writer->frame, writer->def.frame_count);
    else
        result = writer->format->finish(writer, error);
    if (result == SUP_OK && bytes != NULL) *bytes = writer->bytes;
    destroy_writer(writer);
    return result;
}

sup_result sup_cache_finish(sup_cache_writer *writer, sup_error *error)
{
    return sup_cache_finish_counted(writer, NULL, error);
}

void sup_cache_abandon(sup_cache_writer *writer)
{
    if (writer != NULL) destroy_writer(writer);
}

bool sup_primitive_is_mirrored(const sup_character *character, const sup_primitive *primitive)
{
    if (primitive->skin >= 0) return false; /* a skinned mesh ignores its node's transform */
    bool mirrored = false;
    for (int32_t node = primitive->node; node >= 0; node = character->nodes[node].parent)
        if (sup_affine_determinant(sup_affine_from_transform(character->nodes[node].rest)) < 0.0) mirrored = !mirrored;
    return mirrored;
}

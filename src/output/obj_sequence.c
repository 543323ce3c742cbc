/* obj_sequence.c - one Wavefront OBJ per frame: NAME_0000.obj, NAME_0001.obj ...
 *
 * Each primitive is an object ("o NAME") with its vertices in order, so that vertex k of the file is vertex k of the
 * character, in the world space of its file. Texture coordinates and faces are equal in all frames: their text is
 * generated once. All files are written under temporary names and renamed together at the end, or not at all. */
#include "output/cache.h"
#include "output/file_out.h"
#include "output/number_text.h"

#include <math.h>
#include <unistd.h>

typedef struct primitive_text { /* offsets in obj_sequence.fixed */
    size_t name, texcoords, faces, end;
} primitive_text;

/* A frame that is complete under its temporary name. */
typedef struct pending_frame {
    const char *temporary, *path, *backup;
    bool had_older;
} pending_frame;

typedef struct obj_sequence {
    sup_arena arena;
    sup_file_out out;           /* of the current frame */
    sup_array fixed;            /* text common to all frames */
    primitive_text *primitives; /* [primitive_count] */
    char *lines;                /* scratch for the v or vn lines of the largest primitive */
    sup_array pending;          /* pending_frame */
} obj_sequence;

enum { LINE_SIZE = 3 * (SUP_NUMBER_TEXT + 1) + 4 };

/* "out/walk.obj" -> "out/walk_0012.obj". False when it is too long. */
static bool frame_path(const sup_cache_writer *writer, int32_t frame, char *path, size_t size)
{
    size_t stem = strlen(writer->path) - strlen(".obj");
    char number[16];
    sup_format(number, sizeof number, "_%04d", frame);
    if (strlen(writer->path) + strlen(number) >= size) return false;
    memcpy(path, writer->path, stem);
    sup_format(path + stem, size - stem, "%s%s", number, writer->path + stem);
    return true;
}

static char *put_line(char *at, const char *word, const float *values, int count)
{
    while (*word != '\0')
        *at++ = *word++;
    for (int i = 0; i < count; i++) {
        *at++ = ' ';
        at = sup_put_float(at, values[i]);
    }
    *at++ = '\n';
    return at;
}

static bool add_text(obj_sequence *sequence, const char *text, size_t size)
{
    void *slot = sup_array_push(&sequence->arena.allocator, &sequence->fixed, size);
    if (slot != NULL) memcpy(slot, text, size);
    return slot != NULL;
}

/* Adds the name as one word: white space is replaced. */
static bool add_name(obj_sequence *sequence, const sup_primitive *primitive, int32_t index)
{
    char text[256];
    if (primitive->name[0] != '\0')
        sup_format(text, sizeof text - 1, "o %s", primitive->name);
    else
        sup_format(text, sizeof text - 1, "o primitive_%d", index);
    size_t size = strlen(text);
    for (size_t i = 2; i < size; i++)
        if ((unsigned char)text[i] <= ' ') text[i] = '_';
    text[size++] = '\n';
    return add_text(sequence, text, size);
}

static bool add_texcoords(obj_sequence *sequence, const sup_character *character, const sup_primitive *primitive)
{
    char line[LINE_SIZE];
    bool ok = true;
    for (int32_t v = primitive->vertex_first; ok && v < primitive->vertex_first + primitive->vertex_count; v++) {
        const float *at = character->texcoords + (size_t)v * 2;
        /* v points down in glTF, up in OBJ. */
        float uv[2] = {isfinite(at[0]) ? at[0] : 0.0f, isfinite(at[1]) ? 1.0f - at[1] : 0.0f};
        ok = add_text(sequence, line, (size_t)(put_line(line, "vt", uv, 2) - line));
    }
    return ok;
}

static bool add_faces(obj_sequence *sequence, const sup_cache_writer *writer, const sup_primitive *primitive)
{
    const sup_character *character = writer->character;
    bool mirrored = sup_primitive_is_mirrored(character, primitive), texcoords = character->texcoords != NULL,
         ok = true;
    for (int32_t t = primitive->triangle_first; ok && t < primitive->triangle_first + primitive->triangle_count; t++) {
        const int32_t *corners = character->triangles + (size_t)t * 3;
        char line[128], *at = line;
        *at++ = 'f';
        for (int i = 0; i < 3; i++) {
            int32_t index = corners[mirrored && i > 0 ? 3 - i : i] + 1;
            *at++ = ' ';
            at = sup_put_int(at, index);
            if (texcoords || writer->has_normals) *at++ = '/';
            if (texcoords) at = sup_put_int(at, index);
            if (writer->has_normals) {
                *at++ = '/';
                at = sup_put_int(at, index);
            }
        }
        *at++ = '\n';
        ok = add_text(sequence, line, (size_t)(at - line));
    }
    return ok;
}

/* Generates the text common to all frames. Called at the first frame, which determines whether there are normals. */
static sup_result make_fixed_text(sup_cache_writer *writer, sup_error *error)
{
    obj_sequence *sequence = writer->state;
    const sup_character *character = writer->character;
    bool ok = true;
    for (int32_t p = 0; ok && p < character->primitive_count; p++) {
        primitive_text *text = &sequence->primitives[p];
        text->name = sequence->fixed.count;
        ok = add_name(sequence, &character->primitives[p], p);
        text->texcoords = sequence->fixed.count;
        if (ok && character->texcoords != NULL) ok = add_texcoords(sequence, character, &character->primitives[p]);
        text->faces = sequence->fixed.count;
        if (ok) ok = add_faces(sequence, writer, &character->primitives[p]);
        text->end = sequence->fixed.count;
    }
    return ok ? SUP_OK : sup_fail_memory(error, "the faces");
}

static sup_result open_sequence(sup_cache_writer *writer, sup_error *error)
{
    obj_sequence *sequence = writer->state;
    const sup_character *character = writer->character;
    int32_t largest = 0;
    for (int32_t p = 0; p < character->primitive_count; p++)
        if (character->primitives[p].vertex_count > largest) largest = character->primitives[p].vertex_count;
    sequence->arena = sup_arena_create(&writer->context.allocator);
    sequence->fixed.item_size = 1;
    sequence->primitives =
        sup_arena_alloc(&sequence->arena, (size_t)character->primitive_count, sizeof *sequence->primitives);
    sequence->lines = sup_arena_alloc(&sequence->arena, (size_t)largest, LINE_SIZE);
    sequence->pending.item_size = sizeof(pending_frame);
    if (sequence->primitives == NULL || sequence->lines == NULL) return sup_fail_memory(error, "the output");
    /* Reports an unwritable folder now, not after the simulation of the first frame. */
    char path[4096];
    if (!frame_path(writer, writer->def.frame_count, path, sizeof path))
        return sup_fail(error, SUP_ERROR_IO, "file.name", "", "The output path is too long.");
    frame_path(writer, 0, path, sizeof path);
    return sup_file_out_open(&sequence->out, path, error);
}

static sup_result write_lines(obj_sequence *sequence, const char *word, const float *values, int32_t count,
                              sup_error *error)
{
    char *at = sequence->lines;
    for (int32_t i = 0; i < count; i++)
        at = put_line(at, word, values + (size_t)i * 3, 3);
    return sup_file_out_write(&sequence->out, sequence->lines, (size_t)(at - sequence->lines), error);
}

static sup_result write_fixed(obj_sequence *sequence, size_t begin, size_t end, sup_error *error)
{
    return sup_file_out_write(&sequence->out, sequence->fixed.data + begin, end - begin, error);
}

static sup_result write_primitives(sup_cache_writer *writer, const float *positions, const float *normals,
                                   sup_error *error)
{
    obj_sequence *sequence = writer->state;
    sup_result result = SUP_OK;
    for (int32_t p = 0; result == SUP_OK && p < writer->character->primitive_count; p++) {
        const sup_primitive *primitive = &writer->character->primitives[p];
        const primitive_text *text = &sequence->primitives[p];
        size_t first = (size_t)primitive->vertex_first * 3;
        result = write_fixed(sequence, text->name, text->texcoords, error);
        if (result == SUP_OK) result = write_lines(sequence, "v", positions + first, primitive->vertex_count, error);
        if (result == SUP_OK) result = write_fixed(sequence, text->texcoords, text->faces, error);
        if (result == SUP_OK && writer->has_normals)
            result = write_lines(sequence, "vn", normals + first, primitive->vertex_count, error);
        if (result == SUP_OK) result = write_fixed(sequence, text->faces, text->end, error);
    }
    return result;
}

/* Registers the current closed file for renaming at the end. */
static sup_result add_pending(sup_cache_writer *writer, sup_error *error)
{
    obj_sequence *sequence = writer->state;
    const sup_file_out *out = &sequence->out;
    char backup[sizeof out->temporary];
    sup_format(backup, sizeof backup, "%s.old%lld", out->path, (long long)getpid());
    pending_frame frame = {sup_arena_string(&sequence->arena, out->temporary),
                           sup_arena_string(&sequence->arena, out->path), sup_arena_string(&sequence->arena, backup),
                           false};
    pending_frame *slot = NULL;
    if (frame.temporary != NULL && frame.path != NULL && frame.backup != NULL)
        slot = sup_array_push(&writer->context.allocator, &sequence->pending, 1);
    if (slot == NULL) {
        remove(out->temporary);
        return sup_fail_memory(error, "the output");
    }
    *slot = frame;
    writer->bytes += out->written;
    return SUP_OK;
}

static sup_result frame_sequence(sup_cache_writer *writer, const float *positions, const float *normals,
                                 sup_error *error)
{
    obj_sequence *sequence = writer->state;
    sup_result result = SUP_OK;
    if (!writer->def.normals) {
        writer->has_normals = false;
        normals = NULL;
    }
    if (writer->frame == 0) {
        result = make_fixed_text(writer, error);
    } else {
        char path[4096];
        frame_path(writer, writer->frame, path, sizeof path);
        result = sup_file_out_open(&sequence->out, path, error);
    }
    char head[120];
    size_t size = sup_format(head, sizeof head, "# Supple %d.%d.%d, frame %d of %d\n", SUPPLE_VERSION_MAJOR,
                             SUPPLE_VERSION_MINOR, SUPPLE_VERSION_PATCH, writer->frame, writer->def.frame_count);
    if (result == SUP_OK) result = sup_file_out_write(&sequence->out, head, size, error);
    if (result == SUP_OK) result = write_primitives(writer, positions, normals, error);
    if (result == SUP_OK) result = sup_file_out_close(&sequence->out, error);
    return result == SUP_OK ? add_pending(writer, error) : result;
}

static sup_result finish_sequence(sup_cache_writer *writer, sup_error *error)
{
    obj_sequence *sequence = writer->state;
    pending_frame *frames = (pending_frame *)(void *)sequence->pending.data;
    size_t count = sequence->pending.count, done = 0;
    int reason = 0;
    for (; done < count; done++) {
        reason =
            sup_file_replace(frames[done].temporary, frames[done].path, frames[done].backup, &frames[done].had_older);
        if (reason != 0) break;
    }
    if (reason != 0) {
        for (size_t i = 0; i < done; i++)
            sup_file_restore(frames[i].path, frames[i].backup, frames[i].had_older);
        return sup_fail(error, SUP_ERROR_IO, "file.rename", frames[done].path,
                        "The temporary file cannot be renamed to the output path: %s.", strerror(reason));
    }
    for (size_t i = 0; i < count; i++)
        if (frames[i].had_older) remove(frames[i].backup);
    sequence->pending.count = 0;
    return SUP_OK;
}

static void close_sequence(sup_cache_writer *writer)
{
    obj_sequence *sequence = writer->state;
    sup_file_out_abandon(&sequence->out);
    const pending_frame *frames = (const pending_frame *)(const void *)sequence->pending.data;
    for (size_t i = 0; i < sequence->pending.count; i++)
        remove(frames[i].temporary);
    sup_array_free(&writer->context.allocator, &sequence->pending);
    sup_array_free(&writer->context.allocator, &sequence->fixed);
    if (sequence->arena.allocator.allocate != NULL) sup_arena_destroy(&sequence->arena);
}

const sup_cache_format sup_format_obj = {
    .extension = "obj",
    .summary = "a sequence, NAME_0000.obj ...",
    .state_size = sizeof(obj_sequence),
    .open = open_sequence,
    .frame = frame_sequence,
    .finish = finish_sequence,
    .close = close_sequence,
};

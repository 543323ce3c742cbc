/* read_ini.c - the scene files of Fast Projective Skinning: lines with a key and a file name relative to this file.
 *
 *     SIMMESH  simulated mesh       VISMESH   render mesh, optional: the character's mesh here
 *     SKELETON skeleton (.skel)     ANIMATION motion (.anim) and its name; any number of them
 *
 * UPSAMPLING refers to an embedding table that the library computes itself: it is ignored, like all other keys. */
#include "load/file.h"
#include "load/load.h"
#include "load/text_cursor.h"

#include <stdlib.h>

/* Limits the memory that a small file can request by listing the same motion repeatedly. */
enum { ANIMATION_LIMIT = 1000, PATH_SIZE = 4096 };

typedef struct ini_animation {
    sup_word file, name;
} ini_animation;

typedef struct ini_reader {
    const sup_read_input *input;
    sup_text_cursor text;
    sup_word simulated_mesh, render_mesh, skeleton;
    sup_array animations;
    sup_error *error;
} ini_reader;

static sup_result read_animation(ini_reader *r)
{
    if (r->animations.count >= ANIMATION_LIMIT)
        return sup_text_fail(&r->text, r->error, "ini.animations", "The file lists more than %d motions.",
                             ANIMATION_LIMIT);
    ini_animation *animation = sup_array_push(&r->input->context->allocator, &r->animations, 1);
    if (animation == NULL) return sup_fail_memory(r->error, "the motions");
    animation->file = sup_text_word(&r->text);
    animation->name = sup_text_rest(&r->text);
    if (animation->file.length == 0)
        return sup_text_fail(&r->text, r->error, "ini.value", "ANIMATION has no file name.");
    return SUP_OK;
}

static sup_result read_line(ini_reader *r)
{
    sup_word key = sup_text_word(&r->text);
    sup_word *slot = sup_word_is(key, "SIMMESH")    ? &r->simulated_mesh
                     : sup_word_is(key, "VISMESH")  ? &r->render_mesh
                     : sup_word_is(key, "SKELETON") ? &r->skeleton
                                                    : NULL;
    if (sup_word_is(key, "ANIMATION")) return read_animation(r);
    if (slot == NULL) return SUP_OK;
    *slot = sup_text_rest(&r->text);
    return slot->length > 0 ? SUP_OK : sup_text_fail(&r->text, r->error, "ini.value", "This key has no file name.");
}

static sup_result read_lines(ini_reader *r)
{
    sup_result result = SUP_OK;
    while (result == SUP_OK && sup_text_skip_to_word(&r->text)) {
        result = read_line(r);
        sup_text_next_line(&r->text);
    }
    if (result != SUP_OK) return result;
    if (r->render_mesh.length == 0) r->render_mesh = r->simulated_mesh;
    if (r->render_mesh.length == 0 || r->skeleton.length == 0)
        return sup_fail(r->error, SUP_ERROR_FORMAT, "ini.missing", r->text.name,
                        "The file has no %s. Expected lines such as SIMMESH body.off and SKELETON body.skel.",
                        r->render_mesh.length == 0 ? "mesh (SIMMESH or VISMESH)" : "SKELETON");
    return SUP_OK;
}

static sup_result path_of(const ini_reader *r, sup_word word, char path[PATH_SIZE])
{
    char name[PATH_SIZE];
    if (word.length < sizeof name) {
        memcpy(name, word.text, word.length);
        name[word.length] = '\0';
        if (memchr(name, '\0', word.length) == NULL && sup_path_resolve(r->text.name, name, false, path, PATH_SIZE))
            return SUP_OK;
    }
    return sup_fail(r->error, SUP_ERROR_FORMAT, "ini.path", r->text.name, "A file name in this file is too long.");
}

/* Accepts only the expected formats: a scene file that refers to itself must not recurse. */
static sup_result read_named(const ini_reader *r, sup_word word, bool is_mesh, sup_character **character)
{
    char path[PATH_SIZE], extension[16];
    sup_result result = path_of(r, word, path);
    if (result != SUP_OK) return result;
    sup_path_extension(path, extension, sizeof extension);
    bool fits =
        is_mesh ? sup_extension_is_mesh(extension) : strcmp(extension, "skel") == 0 || strcmp(extension, "bvh") == 0;
    if (!fits)
        return sup_fail(r->error, SUP_ERROR_UNSUPPORTED, "ini.format", r->text.name,
                        is_mesh
                            ? "The mesh \"%s\" has an unsupported file extension: expected .off, .obj, .ply or .stl."
                            : "The skeleton \"%s\" has an unsupported file extension: expected .skel or .bvh.",
                        path);
    return sup_read_path(r->input, path, sup_reader_for(extension), character, r->error);
}

/* The clip's name: the name in the file or, if an earlier clip has it, the name of the motion file. */
static const char *clip_name(const ini_reader *r, sup_arena *arena, size_t index, const char *stem)
{
    const ini_animation *list = (const ini_animation *)(const void *)r->animations.data;
    sup_word name = list[index].name;
    bool is_used = name.length == 0;
    for (size_t i = 0; i < index && !is_used; i++)
        is_used = list[i].name.length == name.length && memcmp(list[i].name.text, name.text, name.length) == 0;
    return is_used ? stem : sup_arena_string_n(arena, name.text, name.length);
}

/* Reads every motion into `clips`, which the caller destroys. */
static sup_result read_clips(const ini_reader *r, const sup_character *joined, sup_clip **clips)
{
    const ini_animation *list = (const ini_animation *)(const void *)r->animations.data;
    sup_result result = SUP_OK;
    for (size_t i = 0; i < r->animations.count && result == SUP_OK; i++) {
        char path[PATH_SIZE];
        result = path_of(r, list[i].file, path);
        if (result == SUP_OK) result = sup_read_anim_path(r->input, path, joined, &clips[i], r->error);
    }
    return result;
}

/* A copy of `joined` with the clips. */
static sup_result add_clips(const ini_reader *r, const sup_character *joined, sup_clip *const *clips,
                            sup_character **character)
{
    sup_arena arena = sup_arena_create(&r->input->context->allocator);
    sup_character whole = *joined;
    sup_clip *list = sup_arena_alloc(&arena, r->animations.count, sizeof *list);
    bool failed = list == NULL;
    for (size_t i = 0; i < r->animations.count && !failed; i++) {
        list[i] = *clips[i];
        list[i].name = clip_name(r, &arena, i, clips[i]->name);
        failed = list[i].name == NULL;
    }
    whole.clips = list;
    whole.clip_count = (int32_t)r->animations.count;
    sup_result result = failed ? sup_fail_memory(r->error, "the motions")
                               : sup_character_create(r->input->context, &whole, character, r->error);
    sup_arena_destroy(&arena);
    return result;
}

static sup_result attach_clips(const ini_reader *r, const sup_character *joined, sup_character **character)
{
    const sup_allocator *allocator = &r->input->context->allocator;
    size_t count = r->animations.count, size = sup_size_multiply(count, sizeof(sup_clip *));
    sup_clip **clips = sup_alloc_zero(allocator, size);
    if (clips == NULL) return sup_fail_memory(r->error, "the motions");
    sup_result result = read_clips(r, joined, clips);
    if (result == SUP_OK) result = add_clips(r, joined, clips, character);
    for (size_t i = 0; i < count; i++)
        sup_clip_destroy(clips[i]);
    sup_free(allocator, (void *)clips, size);
    return result;
}

sup_result sup_read_ini(const sup_read_input *input, sup_character **character, sup_error *error)
{
    ini_reader r = {.input = input,
                    .text = sup_text_open(input->bytes, input->name, '#'),
                    .animations.item_size = sizeof(ini_animation),
                    .error = error};
    sup_character *mesh = NULL, *skeleton = NULL, *joined = NULL;
    sup_result result = read_lines(&r);
    if (result == SUP_OK) result = read_named(&r, r.render_mesh, true, &mesh);
    if (result == SUP_OK) result = read_named(&r, r.skeleton, false, &skeleton);
    if (result == SUP_OK) result = sup_character_join(input->context, mesh, skeleton, &joined, error);
    if (result == SUP_OK && r.animations.count > 0) {
        result = attach_clips(&r, joined, character);
    } else if (result == SUP_OK) {
        *character = joined;
        joined = NULL;
    }
    sup_character_destroy(mesh);
    sup_character_destroy(skeleton);
    sup_character_destroy(joined);
    sup_array_free(&input->context->allocator, &r.animations);
    return result;
}

/* load.c - sup_load and related functions: select the reader by file extension. */
#include "load/load.h"

#include "load/file.h"
#include "load/text_cursor.h"

sup_load_def sup_default_load_def(void)
{
    return (sup_load_def){0};
}

static const struct {
    const char *extension;
    sup_read_fn *read;
    bool is_mesh;
} formats[] = {
    {"gltf", sup_read_gltf, false}, {"glb", sup_read_gltf, false},  {"obj", sup_read_obj, true},
    {"off", sup_read_off, true},    {"skel", sup_read_skel, false}, {"bvh", sup_read_bvh, false},
#ifndef SUPPLE_SMALL
    {"ply", sup_read_ply, true},    {"stl", sup_read_stl, true},    {"ini", sup_read_ini, false},
#endif
};

sup_read_fn *sup_reader_for(const char *extension)
{
    for (int32_t i = 0; i < SUP_COUNT(formats); i++)
        if (strcmp(formats[i].extension, extension) == 0) return formats[i].read;
    return NULL;
}

bool sup_extension_is_mesh(const char *extension)
{
    for (int32_t i = 0; i < SUP_COUNT(formats); i++)
        if (strcmp(formats[i].extension, extension) == 0) return formats[i].is_mesh;
    return false;
}

/* The bytes of one file. */
typedef struct loaded_file {
    void *data;
    size_t size;
} loaded_file;

static sup_result load_file(const sup_read_input *input, const char *path, loaded_file *file, sup_error *error)
{
    return input->reader.read(input->reader.user, path, &input->context->allocator, &file->data, &file->size, error);
}

static void free_file(const sup_read_input *input, loaded_file file)
{
    if (file.data != NULL) sup_free(&input->context->allocator, file.data, file.size + 1);
}

static sup_read_input input_of(const sup_read_input *input, const char *path, loaded_file file)
{
    return (sup_read_input){input->context, path, {file.data, file.size}, input->reader};
}

sup_result sup_read_path(const sup_read_input *input, const char *path, sup_read_fn *fn, sup_character **character,
                         sup_error *error)
{
    loaded_file file = {0};
    sup_result result = load_file(input, path, &file, error);
    if (result != SUP_OK) return result;
    sup_read_input named = input_of(input, path, file);
    result = fn(&named, character, error);
    free_file(input, file);
    return result;
}

sup_result sup_read_anim_path(const sup_read_input *input, const char *path, const sup_character *target,
                              sup_clip **clip, sup_error *error)
{
    loaded_file file = {0};
    sup_result result = load_file(input, path, &file, error);
    if (result != SUP_OK) return result;
    sup_read_input named = input_of(input, path, file);
    result = sup_read_anim(&named, target, clip, error);
    free_file(input, file);
    return result;
}

/* The reader for the file extension, or the caller's reader for extensions that the library does not support. */
static sup_result read_bytes(const sup_read_input *input, const sup_load_def *def, sup_character **character,
                             sup_error *error)
{
    char extension[16];
    sup_path_extension(input->name, extension, sizeof extension);
    sup_read_fn *fn = sup_reader_for(extension);
    if (fn != NULL) return fn(input, character, error);
#ifndef SUPPLE_SMALL
    if (strcmp(extension, "anim") == 0)
        return sup_fail(error, SUP_ERROR_UNSUPPORTED, "load.motion", input->name,
                        "This is a motion file without a character: load it with sup_load_motion (supple: --motion).");
#endif
    if (def != NULL && def->other != NULL) {
        sup_result result = def->other(def->other_user, input->context, input->name, input->bytes, character, error);
        if (result != SUP_ERROR_UNSUPPORTED) return result;
    }
    return sup_fail(
        error, SUP_ERROR_UNSUPPORTED, "load.format", input->name,
        "The file extension \"%s\" is not supported. Supported: .gltf .glb .obj .off .ply .stl .skel .bvh .ini%s.",
        extension, def != NULL && def->other != NULL ? " and those of the additional reader" : "");
}

/* Joins a mesh with the skeleton of the def. Frees `mesh`. */
static sup_result join_skeleton(const sup_read_input *input, const sup_load_def *def, sup_character *mesh,
                                sup_character **character, sup_error *error)
{
    char extension[16];
    sup_character *skeleton = NULL;
    sup_result result = SUP_OK;
    sup_path_extension(def->skeleton, extension, sizeof extension);
    sup_read_fn *fn = sup_reader_for(extension);
    if (mesh->bone_count > 0)
        result = sup_fail(error, SUP_ERROR_ARGUMENT, "load.skeleton.twice", input->name,
                          "The file already has a skeleton: remove the additional skeleton %s.", def->skeleton);
    else if (fn == NULL || sup_extension_is_mesh(extension))
        result = sup_fail(error, SUP_ERROR_UNSUPPORTED, "load.skeleton", def->skeleton,
                          "This is not a supported skeleton file: expected .skel or .bvh.");
    else
        result = sup_read_path(input, def->skeleton, fn, &skeleton, error);
    if (result == SUP_OK) result = sup_character_join(input->context, mesh, skeleton, character, error);
    sup_character_destroy(skeleton);
    sup_character_destroy(mesh);
    return result;
}

static sup_result load_bytes(const sup_read_input *input, const sup_load_def *def, sup_character **character,
                             sup_error *error)
{
    sup_character *made = NULL;
    sup_result result = read_bytes(input, def, &made, error);
    if (result != SUP_OK) return result;
    if (made == NULL)
        return sup_fail(error, SUP_ERROR_DATA, "load.nothing", input->name,
                        "The additional reader returned no character.");
    if (def != NULL && def->skeleton != NULL) return join_skeleton(input, def, made, character, error);
    *character = made;
    return SUP_OK;
}

sup_result sup_load(const sup_context *context, const char *path, const sup_load_def *def, sup_character **character,
                    sup_error *error)
{
    if (path == NULL || character == NULL)
        return sup_fail(error, SUP_ERROR_ARGUMENT, "argument.null", "",
                        "sup_load: path and character must not be NULL.");
    sup_context resolved = sup_context_resolve(context);
    sup_read_input input = {&resolved, path, {NULL, 0}, sup_file_reader_resolve(def)};
    loaded_file file = {0};
    sup_result result = load_file(&input, path, &file, error);
    if (result != SUP_OK) return result;
    sup_read_input named = input_of(&input, path, file);
    result = load_bytes(&named, def, character, error);
    free_file(&input, file);
    return result;
}

sup_result sup_load_memory(const sup_context *context, const char *name, sup_bytes bytes, const sup_load_def *def,
                           sup_character **character, sup_error *error)
{
    if (name == NULL || character == NULL || (bytes.data == NULL && bytes.size > 0))
        return sup_fail(error, SUP_ERROR_ARGUMENT, "argument.null", "",
                        "sup_load_memory: name, bytes and character must not be NULL.");
    sup_context resolved = sup_context_resolve(context);
    /* Readers may read one byte past the end: a zero-terminated copy. */
    char *copy = bytes.size < SIZE_MAX ? sup_alloc(&resolved.allocator, bytes.size + 1) : NULL;
    if (copy == NULL) return sup_fail_memory(error, name);
    if (bytes.size > 0) memcpy(copy, bytes.data, bytes.size);
    copy[bytes.size] = '\0';
    sup_read_input input = {&resolved, name, {copy, bytes.size}, sup_file_reader_resolve(def)};
    sup_result result = load_bytes(&input, def, character, error);
    sup_free(&resolved.allocator, copy, bytes.size + 1);
    return result;
}

sup_result sup_load_motion(const sup_context *context, const char *path, const sup_load_def *def,
                           const sup_character *target, const sup_retarget_def *retarget, sup_clip **clip,
                           sup_error *error)
{
    if (path == NULL || target == NULL || clip == NULL)
        return sup_fail(error, SUP_ERROR_ARGUMENT, "argument.null", "",
                        "sup_load_motion: path, target and clip must not be NULL.");
    char extension[16];
    sup_path_extension(path, extension, sizeof extension);
#ifndef SUPPLE_SMALL
    if (strcmp(extension, "anim") == 0) {
        sup_context resolved = sup_context_resolve(context);
        sup_read_input input = {&resolved, path, {NULL, 0}, sup_file_reader_resolve(def)};
        return sup_read_anim_path(&input, path, target, clip, error);
    }
#endif
    sup_load_def motion_def = def != NULL ? *def : sup_default_load_def();
    motion_def.skeleton = NULL; /* def->skeleton belongs to the character */
    sup_character *source = NULL;
    sup_result result = sup_load(context, path, &motion_def, &source, error);
    if (result != SUP_OK) return result;
    if (source == NULL || source->clip_count == 0)
        result = sup_fail(error, SUP_ERROR_DATA, "motion.none", path, "The file has no animation.");
    else
        result = sup_retarget(context, source, &source->clips[0], target, retarget, clip, error);
    sup_character_destroy(source);
    return result;
}

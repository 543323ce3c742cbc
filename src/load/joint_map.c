/* joint_map.c - reads files of joint pairs for retargeting. */
#include "load/file.h"
#include "load/text_cursor.h"

/* The map and its allocator, in one memory block. */
typedef struct owned_map {
    sup_joint_map map; /* first: the public pointer is the address of the block */
    sup_allocator allocator;
    sup_arena arena;
} owned_map;

static sup_word trim(sup_word word)
{
    while (word.length > 0 && (word.text[0] == ' ' || word.text[0] == '\t')) {
        word.text++;
        word.length--;
    }
    while (word.length > 0 && (word.text[word.length - 1] == ' ' || word.text[word.length - 1] == '\t'))
        word.length--;
    return word;
}

/* "target = source": names may contain spaces, so "=" is the separator. */
static sup_result read_pair(sup_text_cursor *text, owned_map *owned, sup_array *targets, sup_array *sources,
                            sup_error *error)
{
    sup_word line = sup_text_rest(text);
    for (size_t i = 1; i < line.length; i++) /* a comment after the pair; names may contain '#' itself */
        if (line.text[i] == '#' && (line.text[i - 1] == ' ' || line.text[i - 1] == '\t')) line.length = i;
    const char *separator = memchr(line.text, '=', line.length);
    if (separator == NULL)
        return sup_text_fail(text, error, "map.line", "Expected \"target_joint = source_joint\" on this line.");
    sup_word target = trim((sup_word){line.text, (size_t)(separator - line.text)});
    sup_word source = trim((sup_word){separator + 1, (size_t)(line.text + line.length - (separator + 1))});
    if (target.length == 0 || source.length == 0)
        return sup_text_fail(text, error, "map.line",
                             "A joint name is missing. Write \"target_joint = -\" to keep a joint in its rest pose.");
    const char **target_slot = sup_array_push(&owned->allocator, targets, 1);
    const char **source_slot = sup_array_push(&owned->allocator, sources, 1);
    if (target_slot == NULL || source_slot == NULL) return sup_fail_memory(error, "the joint map");
    bool keeps_rest_pose = source.length == 1 && source.text[0] == '-';
    *target_slot = sup_arena_string_n(&owned->arena, target.text, target.length);
    *source_slot = keeps_rest_pose ? NULL : sup_arena_string_n(&owned->arena, source.text, source.length);
    if (*target_slot == NULL || (!keeps_rest_pose && *source_slot == NULL))
        return sup_fail_memory(error, "the joint map");
    return SUP_OK;
}

static sup_result read_pairs(sup_text_cursor *text, owned_map *owned, sup_error *error)
{
    sup_array targets = {.item_size = sizeof(char *)}, sources = {.item_size = sizeof(char *)};
    sup_result result = SUP_OK;
    while (result == SUP_OK && sup_text_skip_to_word(text)) {
        result = read_pair(text, owned, &targets, &sources, error);
        sup_text_next_line(text);
    }
    if (result == SUP_OK && targets.count > 0) {
        owned->map.count = (int32_t)targets.count;
        owned->map.target = sup_arena_copy(&owned->arena, targets.data, targets.count, sizeof(char *));
        owned->map.source = sup_arena_copy(&owned->arena, sources.data, sources.count, sizeof(char *));
        if (owned->map.target == NULL || owned->map.source == NULL) result = sup_fail_memory(error, "the joint map");
    }
    sup_array_free(&owned->allocator, &targets);
    sup_array_free(&owned->allocator, &sources);
    return result;
}

sup_result sup_joint_map_load(const sup_context *context, const char *path, sup_joint_map **map, sup_error *error)
{
    if (path == NULL || map == NULL)
        return sup_fail(error, SUP_ERROR_ARGUMENT, "argument.null", "",
                        "sup_joint_map_load: path and map must not be NULL.");
    sup_context resolved = sup_context_resolve(context);
    void *data;
    size_t size;
    sup_result result = sup_file_read(path, &resolved.allocator, &data, &size, error);
    if (result != SUP_OK) return result;
    owned_map *owned = sup_alloc_zero(&resolved.allocator, sizeof *owned);
    if (owned == NULL) {
        result = sup_fail_memory(error, "the joint map");
    } else {
        owned->allocator = resolved.allocator;
        owned->arena = sup_arena_create(&resolved.allocator);
        sup_text_cursor text = sup_text_open((sup_bytes){data, size}, path, '#');
        result = read_pairs(&text, owned, error);
    }
    sup_free(&resolved.allocator, data, size + 1);
    if (result == SUP_OK)
        *map = &owned->map;
    else if (owned != NULL)
        sup_joint_map_destroy(&owned->map);
    return result;
}

void sup_joint_map_destroy(sup_joint_map *map)
{
    if (map == NULL) return;
    owned_map *owned = (owned_map *)map;
    sup_allocator allocator = owned->allocator;
    sup_arena_destroy(&owned->arena);
    sup_free(&allocator, owned, sizeof *owned);
}

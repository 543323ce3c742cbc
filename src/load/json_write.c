/* json_write.c - building, changing and writing JSON trees. */
#include "load/json.h"

#include <math.h>

static sup_json *new_value(sup_json_tree *tree, sup_json_type type)
{
    sup_json *value = sup_arena_alloc(&tree->arena, 1, sizeof *value);
    if (value == NULL)
        tree->failed = true;
    else
        value->type = (uint8_t)type;
    return value;
}

static sup_json *new_text(sup_json_tree *tree, sup_json_type type, const char *text, size_t size)
{
    sup_json *value = new_value(tree, type);
    const char *copy = size < UINT32_MAX / 2 ? sup_arena_string_n(&tree->arena, text, size) : NULL;
    if (value == NULL || copy == NULL) {
        tree->failed = true;
        return NULL;
    }
    value->of.text = copy;
    value->count = (uint32_t)size;
    return value;
}

sup_json *sup_json_new_null(sup_json_tree *tree)
{
    return new_value(tree, SUP_JSON_NULL);
}

sup_json *sup_json_new_bool(sup_json_tree *tree, bool boolean)
{
    sup_json *value = new_value(tree, SUP_JSON_BOOL);
    if (value != NULL) value->boolean = boolean;
    return value;
}

sup_json *sup_json_new_integer(sup_json_tree *tree, int64_t number)
{
    char text[32];
    size_t size = sup_format(text, sizeof text, "%lld", (long long)number);
    return new_text(tree, SUP_JSON_NUMBER, text, size);
}

sup_json *sup_json_new_double(sup_json_tree *tree, double number)
{
    if (!isfinite(number)) return sup_json_new_null(tree);
    char text[40];
    size_t size = sup_format(text, sizeof text, "%.15g", number);
    double back = 0.0;
    sup_parse_double(text, text + size, &back);
    if (back != number) size = sup_format(text, sizeof text, "%.17g", number);
    return new_text(tree, SUP_JSON_NUMBER, text, size);
}

sup_json *sup_json_new_float(sup_json_tree *tree, float number)
{
    if (!isfinite(number)) return sup_json_new_null(tree);
    char text[40];
    size_t size = 0;
    for (int digits = 6; digits <= 9; digits++) {
        double back = 0.0;
        char format[] = {'%', '.', (char)('0' + digits), 'g', '\0'};
        size = sup_format(text, sizeof text, format, (double)number);
        sup_parse_double(text, text + size, &back);
        if ((float)back == number) break;
    }
    return new_text(tree, SUP_JSON_NUMBER, text, size);
}

sup_json *sup_json_new_string(sup_json_tree *tree, const char *text)
{
    return new_text(tree, SUP_JSON_STRING, text, strlen(text));
}

sup_json *sup_json_new_array(sup_json_tree *tree)
{
    return new_value(tree, SUP_JSON_ARRAY);
}

sup_json *sup_json_new_object(sup_json_tree *tree)
{
    return new_value(tree, SUP_JSON_OBJECT);
}

/* Appends a slot to a container, doubling its capacity; old item arrays stay in the arena (at most doubling its
 * size). */
static sup_json **add_item(sup_json_tree *tree, sup_json *container)
{
    if (container->count == container->capacity) {
        uint32_t capacity = container->capacity < 4 ? 4 : container->capacity * 2;
        sup_json **items = capacity < UINT32_MAX / 2 ? sup_arena_alloc(&tree->arena, capacity, sizeof *items) : NULL;
        if (items == NULL) {
            tree->failed = true;
            return NULL;
        }
        if (container->count > 0) memcpy(items, container->of.items, container->count * sizeof *items);
        container->of.items = items;
        container->capacity = capacity;
    }
    return &container->of.items[container->count++];
}

static sup_json **find_member(sup_json *object, const char *key, size_t size)
{
    for (uint32_t i = object->count; i-- > 0;)
        if (object->of.items[i]->key_size == size && memcmp(object->of.items[i]->key, key, size) == 0)
            return &object->of.items[i];
    return NULL;
}

static sup_json *set_member(sup_json_tree *tree, sup_json *object, const char *key, size_t size, sup_json *value)
{
    if (value == NULL || !sup_json_is(object, SUP_JSON_OBJECT)) return NULL;
    sup_json **slot = find_member(object, key, size);
    const char *name = slot != NULL ? (*slot)->key : sup_arena_string_n(&tree->arena, key, size);
    if (slot == NULL && name != NULL) slot = add_item(tree, object);
    if (name == NULL || slot == NULL) {
        tree->failed = true;
        return NULL;
    }
    value->key = name;
    value->key_size = (uint32_t)size;
    *slot = value;
    return value;
}

sup_json *sup_json_set(sup_json_tree *tree, sup_json *object, const char *key, sup_json *value)
{
    return set_member(tree, object, key, strlen(key), value);
}

sup_json *sup_json_get_or_add(sup_json_tree *tree, sup_json *object, const char *key, sup_json_type type)
{
    sup_json *member = sup_json_get(object, key);
    return sup_json_is(member, type) ? member : sup_json_set(tree, object, key, new_value(tree, type));
}

void sup_json_remove(sup_json *object, const char *key)
{
    if (!sup_json_is(object, SUP_JSON_OBJECT)) return;
    size_t size = strlen(key);
    uint32_t remaining = 0;
    for (uint32_t i = 0; i < object->count; i++) {
        sup_json *member = object->of.items[i];
        if (member->key_size != size || memcmp(member->key, key, size) != 0) object->of.items[remaining++] = member;
    }
    object->count = remaining;
}

sup_json *sup_json_append(sup_json_tree *tree, sup_json *array, sup_json *value)
{
    sup_json **slot = value != NULL && sup_json_is(array, SUP_JSON_ARRAY) ? add_item(tree, array) : NULL;
    if (slot == NULL) return NULL;
    *slot = value;
    return value;
}

sup_json *sup_json_replace(sup_json_tree *tree, sup_json *array, int64_t index, sup_json *value)
{
    SUP_UNUSED(tree);
    if (value == NULL || sup_json_at(array, index) == NULL) return NULL;
    array->of.items[index] = value;
    return value;
}

/* Recursion depth is bounded: a parsed tree is never deeper than SUP_JSON_DEPTH. */
static sup_json *copy_value(sup_json_tree *tree, const sup_json *value, int32_t depth)
{
    if (value == NULL) return NULL;
    if (value->type == SUP_JSON_STRING || value->type == SUP_JSON_NUMBER)
        return new_text(tree, (sup_json_type)value->type, value->of.text, value->count);
    sup_json *copy = new_value(tree, (sup_json_type)value->type);
    if (copy == NULL) return NULL;
    copy->boolean = value->boolean;
    if (depth >= SUP_JSON_DEPTH) tree->failed = true;
    for (int32_t i = 0; i < sup_json_count(value) && !tree->failed; i++) {
        const sup_json *item = value->of.items[i];
        sup_json *made = copy_value(tree, item, depth + 1);
        sup_json **slot = made != NULL ? add_item(tree, copy) : NULL;
        const char *key = item->key != NULL ? sup_arena_string_n(&tree->arena, item->key, item->key_size) : NULL;
        if (slot == NULL || (key == NULL && item->key != NULL)) {
            tree->failed = true;
            return NULL;
        }
        made->key = key;
        made->key_size = item->key_size;
        *slot = made;
    }
    return copy;
}

sup_json *sup_json_copy(sup_json_tree *tree, const sup_json *value)
{
    return copy_value(tree, value, 0);
}

static bool put(const sup_allocator *allocator, sup_array *text, const char *bytes, size_t size)
{
    char *slot = sup_array_push(allocator, text, size);
    if (slot == NULL) return false;
    if (size > 0) memcpy(slot, bytes, size);
    return true;
}

/* UTF-8 is copied; quotes, backslashes and control characters are escaped. */
static bool put_string(const sup_allocator *allocator, sup_array *text, const char *bytes, size_t size)
{
    static const char named[] = "\"\\\b\f\n\r\t", names[] = "\"\\bfnrt";
    bool ok = put(allocator, text, "\"", 1);
    size_t start = 0;
    for (size_t i = 0; i < size && ok; i++) {
        unsigned char c = (unsigned char)bytes[i];
        if (c >= 0x20 && c != '"' && c != '\\') continue;
        ok = put(allocator, text, bytes + start, i - start);
        start = i + 1;
        const char *name = c != 0 ? strchr(named, c) : NULL;
        char escape[6] = {'\\', 'u', '0', '0', (char)('0' + (c >> 4)), "0123456789abcdef"[c & 15]};
        if (name != NULL) escape[1] = names[name - named];
        ok = ok && put(allocator, text, escape, name != NULL ? 2 : 6);
    }
    return ok && put(allocator, text, bytes + start, size - start) && put(allocator, text, "\"", 1);
}

static bool put_value(const sup_json *value, const sup_allocator *allocator, sup_array *text, int32_t depth)
{
    switch ((sup_json_type)value->type) {
    case SUP_JSON_NULL:
        return put(allocator, text, "null", 4);
    case SUP_JSON_BOOL:
        return value->boolean ? put(allocator, text, "true", 4) : put(allocator, text, "false", 5);
    case SUP_JSON_NUMBER:
        return put(allocator, text, value->of.text, value->count);
    case SUP_JSON_STRING:
        return put_string(allocator, text, value->of.text, value->count);
    case SUP_JSON_ARRAY:
    case SUP_JSON_OBJECT:
        break;
    }
    bool object = value->type == SUP_JSON_OBJECT;
    bool ok = depth < SUP_JSON_DEPTH && put(allocator, text, object ? "{" : "[", 1);
    for (uint32_t i = 0; i < value->count && ok; i++) {
        const sup_json *item = value->of.items[i];
        if (i > 0) ok = put(allocator, text, ",", 1);
        if (object) ok = ok && put_string(allocator, text, item->key, item->key_size) && put(allocator, text, ":", 1);
        ok = ok && put_value(item, allocator, text, depth + 1);
    }
    return ok && put(allocator, text, object ? "}" : "]", 1);
}

bool sup_json_write(const sup_json *value, const sup_allocator *allocator, sup_array *text)
{
    return value != NULL && put_value(value, allocator, text, 0);
}

/* json.c - the JSON tree: parser and look-ups. Building and writing are in json_write.c. */
#include "load/json.h"

#include <math.h>

sup_json_tree sup_json_tree_create(const sup_allocator *allocator)
{
    sup_json_tree tree = {sup_arena_create(allocator), NULL, false};
    return tree;
}

void sup_json_tree_destroy(sup_json_tree *tree)
{
    sup_arena_destroy(&tree->arena);
    tree->root = NULL;
}

/* The parser works on a copy of the text that belongs to the tree: strings are unescaped in place (they never grow) and
 * are zero-terminated at the closing quote; numbers point at their digits. */
typedef struct parser {
    sup_json_tree *tree;
    const sup_allocator *allocator;
    char *text, *at, *end;
    const char *where;
    sup_error *error;
    sup_array values; /* sup_json *, items of the open containers */
    int32_t depth;    /* open containers */
    sup_json *open[SUP_JSON_DEPTH];
    size_t first[SUP_JSON_DEPTH]; /* index in `values` of the first item of each */
} parser;

static sup_result fail_at(parser *p, const char *id, const char *at, const char *message)
{
    uint32_t line = 1, column = 1;
    for (const char *c = p->text; c < at; c++) {
        column = *c == '\n' ? 1 : column + 1;
        line += *c == '\n' ? 1 : 0;
    }
    return sup_fail(p->error, SUP_ERROR_FORMAT, id, p->where, "The JSON text is invalid at line %u, column %u: %s.",
                    line, column, message);
}

static void skip_space(parser *p)
{
    while (p->at < p->end && (*p->at == ' ' || *p->at == '\n' || *p->at == '\r' || *p->at == '\t'))
        p->at++;
}

static bool digit(const parser *p)
{
    return p->at < p->end && *p->at >= '0' && *p->at <= '9';
}

static sup_result parse_number(parser *p, sup_json *value)
{
    char *start = p->at;
    if (*p->at == '-') p->at++;
    bool good = digit(p);
    if (good && *p->at == '0')
        p->at++;
    else
        while (digit(p))
            p->at++;
    if (good && p->at < p->end && *p->at == '.') {
        p->at++;
        good = digit(p);
        while (digit(p))
            p->at++;
    }
    if (good && p->at < p->end && (*p->at | 0x20) == 'e') {
        p->at++;
        if (p->at < p->end && (*p->at == '+' || *p->at == '-')) p->at++;
        good = digit(p);
        while (digit(p))
            p->at++;
    }
    if (!good) return fail_at(p, "json.number", p->at, "malformed number");
    value->type = SUP_JSON_NUMBER;
    value->of.text = start;
    value->count = (uint32_t)(p->at - start);
    return SUP_OK;
}

/* Four hexadecimal digits, or -1. */
static int32_t parse_hex4(const char *at, const char *end)
{
    if (end - at < 4) return -1;
    int32_t code = 0;
    for (int i = 0; i < 4; i++) {
        char c = at[i];
        int32_t d = c >= '0' && c <= '9'                     ? c - '0'
                    : (c | 0x20) >= 'a' && (c | 0x20) <= 'f' ? (c | 0x20) - 'a' + 10
                                                             : -1;
        if (d < 0) return -1;
        code = code * 16 + d;
    }
    return code;
}

static char *put_utf8(char *out, int32_t code)
{
    if (code < 0x80) {
        *out++ = (char)code;
        return out;
    }
    if (code < 0x800) {
        *out++ = (char)(0xC0 | code >> 6);
    } else {
        if (code < 0x10000) {
            *out++ = (char)(0xE0 | code >> 12);
        } else {
            *out++ = (char)(0xF0 | code >> 18);
            *out++ = (char)(0x80 | (code >> 12 & 0x3F));
        }
        *out++ = (char)(0x80 | (code >> 6 & 0x3F));
    }
    *out++ = (char)(0x80 | (code & 0x3F));
    return out;
}

/* p->at is at the backslash. Unpaired surrogates become U+FFFD. */
static char *parse_escape(parser *p, char *out)
{
    static const char names[] = "\"\\/bfnrt", codes[] = "\"\\/\b\f\n\r\t";
    if (p->end - p->at < 2) return NULL;
    char kind = p->at[1];
    const char *name = kind != '\0' ? strchr(names, kind) : NULL;
    if (name != NULL) {
        p->at += 2;
        *out = codes[name - names];
        return out + 1;
    }
    int32_t code = kind == 'u' ? parse_hex4(p->at + 2, p->end) : -1;
    if (code < 0) return NULL;
    p->at += 6;
    if (code >= 0xD800 && code < 0xE000) {
        bool paired = code < 0xDC00 && p->end - p->at >= 6 && p->at[0] == '\\' && p->at[1] == 'u';
        int32_t low = paired ? parse_hex4(p->at + 2, p->end) : -1;
        if (low >= 0xDC00 && low < 0xE000) {
            code = 0x10000 + ((code - 0xD800) << 10) + (low - 0xDC00);
            p->at += 6;
        } else {
            code = 0xFFFD;
        }
    }
    return put_utf8(out, code);
}

/* Length in bytes of the well-formed UTF-8 sequence at `at`, whose first byte is 0x80 or more; 0 when malformed. */
static int32_t utf8_length(const unsigned char *at, const unsigned char *end)
{
    int32_t length = at[0] >= 0xC2 && at[0] <= 0xDF   ? 2
                     : (at[0] & 0xF0) == 0xE0         ? 3
                     : at[0] >= 0xF0 && at[0] <= 0xF4 ? 4
                                                      : 0;
    if (length == 0 || end - at < length) return 0;
    for (int32_t i = 1; i < length; i++)
        if ((at[i] & 0xC0) != 0x80) return 0;
    bool overlong = (at[0] == 0xE0 && at[1] < 0xA0) || (at[0] == 0xF0 && at[1] < 0x90);
    bool beyond = (at[0] == 0xED && at[1] > 0x9F) || (at[0] == 0xF4 && at[1] > 0x8F);
    return overlong || beyond ? 0 : length;
}

/* p->at is at the opening quote. */
static sup_result parse_string(parser *p, const char **text, uint32_t *size)
{
    char *start = ++p->at, *out = start;
    for (;;) {
        if (p->at >= p->end) return fail_at(p, "json.string", start, "unterminated string");
        unsigned char c = (unsigned char)*p->at;
        if (c == '"') break;
        if (c < 0x20) return fail_at(p, "json.string", p->at, "control character in a string");
        if (c == '\\') {
            out = parse_escape(p, out);
            if (out == NULL) return fail_at(p, "json.escape", p->at, "invalid escape in a string");
            continue;
        }
        int32_t length = c < 0x80 ? 1 : utf8_length((const unsigned char *)p->at, (const unsigned char *)p->end);
        if (length == 0) return fail_at(p, "json.utf8", p->at, "invalid UTF-8 in a string");
        for (int32_t i = 0; i < length; i++)
            *out++ = *p->at++;
    }
    p->at++;
    *out = '\0';
    *text = start;
    *size = (uint32_t)(out - start);
    return SUP_OK;
}

static bool parse_word(parser *p, const char *word)
{
    size_t size = strlen(word);
    if ((size_t)(p->end - p->at) < size || memcmp(p->at, word, size) != 0) return false;
    p->at += size;
    return true;
}

/* A value that is not a container. */
static sup_result parse_scalar(parser *p, sup_json *value)
{
    if (p->at >= p->end) return fail_at(p, "json.end", p->at, "unexpected end of the text");
    char c = *p->at;
    if (c == '"') {
        value->type = SUP_JSON_STRING;
        return parse_string(p, &value->of.text, &value->count);
    }
    if (c == '-' || (c >= '0' && c <= '9')) return parse_number(p, value);
    value->type = SUP_JSON_BOOL;
    value->boolean = c == 't';
    if (parse_word(p, "true") || parse_word(p, "false")) return SUP_OK;
    value->type = SUP_JSON_NULL;
    return parse_word(p, "null") ? SUP_OK : fail_at(p, "json.value", p->at, "expected a value");
}

/* The innermost container is complete: moves its items from the stack to the arena. */
static sup_result close_container(parser *p)
{
    sup_json *value = p->open[--p->depth];
    size_t first = p->first[p->depth], count = p->values.count - first;
    p->values.count = first;
    value->count = value->capacity = (uint32_t)count;
    if (count == 0) return SUP_OK;
    value->of.items =
        sup_arena_copy(&p->tree->arena, p->values.data + first * sizeof(sup_json *), count, sizeof(sup_json *));
    return value->of.items != NULL ? SUP_OK : sup_fail_memory(p->error, "the JSON text");
}

/* Parses one value up to its end, or up to the first item of a container, which stays open. */
static sup_result parse_value(parser *p, const char *key, uint32_t key_size)
{
    skip_space(p);
    sup_json *value = sup_arena_alloc(&p->tree->arena, 1, sizeof *value);
    sup_json **slot = sup_array_push(p->allocator, &p->values, 1);
    if (value == NULL || slot == NULL) return sup_fail_memory(p->error, "the JSON text");
    *slot = value;
    value->key = key;
    value->key_size = key_size;
    if (p->at >= p->end || (*p->at != '{' && *p->at != '[')) return parse_scalar(p, value);
    if (p->depth == SUP_JSON_DEPTH) return fail_at(p, "json.depth", p->at, "nested too deeply");
    value->type = *p->at == '{' ? SUP_JSON_OBJECT : SUP_JSON_ARRAY;
    p->at++;
    p->open[p->depth] = value;
    p->first[p->depth++] = p->values.count;
    return SUP_OK;
}

/* The next item of the innermost container, or its end. */
static sup_result parse_item(parser *p)
{
    bool object = p->open[p->depth - 1]->type == SUP_JSON_OBJECT;
    bool empty = p->values.count == p->first[p->depth - 1];
    skip_space(p);
    if (p->at < p->end && *p->at == (object ? '}' : ']')) {
        p->at++;
        return close_container(p);
    }
    if (!empty) {
        if (p->at >= p->end || *p->at != ',')
            return fail_at(p, "json.comma", p->at, object ? "expected a comma or }" : "expected a comma or ]");
        p->at++;
    }
    if (!object) return parse_value(p, NULL, 0);
    skip_space(p);
    if (p->at >= p->end || *p->at != '"') return fail_at(p, "json.key", p->at, "expected a member name");
    const char *key;
    uint32_t key_size;
    sup_result result = parse_string(p, &key, &key_size);
    if (result != SUP_OK) return result;
    skip_space(p);
    if (p->at >= p->end || *p->at != ':') return fail_at(p, "json.colon", p->at, "expected a colon");
    p->at++;
    return parse_value(p, key, key_size);
}

sup_result sup_json_parse(sup_json_tree *tree, const char *where, sup_bytes text, sup_error *error)
{
    if (text.size >= UINT32_MAX / 2)
        return sup_fail(error, SUP_ERROR_UNSUPPORTED, "json.size", where, "The JSON text is larger than 2 GB.");
    parser p = {.tree = tree, .allocator = &tree->arena.allocator, .where = where, .error = error};
    p.values.item_size = sizeof(sup_json *);
    p.text = p.at = sup_arena_string_n(&tree->arena, text.data, text.size);
    if (p.text == NULL) return sup_fail_memory(error, "the JSON text");
    p.end = p.text + text.size;
    if (text.size >= 3 && memcmp(p.text, "\xEF\xBB\xBF", 3) == 0) p.at += 3;
    sup_result result = parse_value(&p, NULL, 0);
    while (result == SUP_OK && p.depth > 0)
        result = parse_item(&p);
    if (result == SUP_OK) {
        skip_space(&p);
        if (p.at != p.end) result = fail_at(&p, "json.trailing", p.at, "text after the end of the document");
    }
    if (result == SUP_OK) memcpy(&tree->root, p.values.data, sizeof tree->root);
    sup_array_free(p.allocator, &p.values);
    return result;
}

bool sup_json_is(const sup_json *value, sup_json_type type)
{
    return value != NULL && value->type == type;
}

int32_t sup_json_count(const sup_json *container)
{
    bool is_container = sup_json_is(container, SUP_JSON_ARRAY) || sup_json_is(container, SUP_JSON_OBJECT);
    return is_container ? (int32_t)container->count : 0;
}

sup_json *sup_json_get(const sup_json *object, const char *key)
{
    if (!sup_json_is(object, SUP_JSON_OBJECT)) return NULL;
    size_t size = strlen(key);
    for (uint32_t i = object->count; i-- > 0;) {
        sup_json *member = object->of.items[i];
        if (member->key_size == size && memcmp(member->key, key, size) == 0) return member;
    }
    return NULL;
}

sup_json *sup_json_at(const sup_json *array, int64_t index)
{
    bool there = sup_json_is(array, SUP_JSON_ARRAY) && index >= 0 && index < (int64_t)array->count;
    return there ? array->of.items[index] : NULL;
}

const char *sup_json_text(const sup_json *value)
{
    return sup_json_is(value, SUP_JSON_STRING) ? value->of.text : NULL;
}

bool sup_json_equals(const sup_json *value, const char *text)
{
    return sup_json_is(value, SUP_JSON_STRING) && value->count == strlen(text) &&
           memcmp(value->of.text, text, value->count) == 0;
}

bool sup_json_double(const sup_json *value, double *number)
{
    if (!sup_json_is(value, SUP_JSON_NUMBER)) return false;
    return sup_parse_double(value->of.text, value->of.text + value->count, number) != NULL;
}

bool sup_json_integer(const sup_json *value, int64_t *number)
{
    double read;
    if (!sup_json_double(value, &read) || fabs(read) > 9007199254740992.0 || read != floor(read)) return false;
    *number = (int64_t)read;
    return true;
}

bool sup_json_boolean(const sup_json *value, bool default_value)
{
    return sup_json_is(value, SUP_JSON_BOOL) ? value->boolean : default_value;
}

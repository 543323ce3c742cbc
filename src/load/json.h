/* json.h (internal) - a small strict JSON tree (RFC 8259): parse, look up, change, write.
 *
 * A tree owns one arena; values live until the tree is destroyed, and pointers to values stay valid when their
 * container grows. The parser does not recurse, uses memory in proportion to the text and rejects nesting deeper than
 * SUP_JSON_DEPTH. Numbers keep their source text, strings are UTF-8 with a length (zero-terminated), members keep their
 * order: unchanged values are written as they were read. Of members with equal keys the last one is used.
 *
 * Building: functions that run out of memory set tree->failed and return NULL, and accept NULL values, so a writer
 * builds the whole tree and checks `failed` once. */
#ifndef SUP_LOAD_JSON_H
#define SUP_LOAD_JSON_H

#include "base/base.h"

enum { SUP_JSON_DEPTH = 256 };

typedef enum sup_json_type {
    SUP_JSON_NULL,
    SUP_JSON_BOOL,
    SUP_JSON_NUMBER,
    SUP_JSON_STRING,
    SUP_JSON_ARRAY,
    SUP_JSON_OBJECT
} sup_json_type;

/* Read the fields freely; change values with the functions below. */
typedef struct sup_json {
    uint8_t type;      /* sup_json_type */
    bool boolean;      /* of SUP_JSON_BOOL */
    uint32_t count;    /* items of an array or object; bytes of a string or of a number's text */
    uint32_t capacity; /* of items */
    uint32_t key_size; /* bytes of `key` */
    const char *key;   /* as a member of an object, else NULL; a zero follows */
    union {
        const char *text;        /* string: its bytes and a zero; number: its digits, no zero after them */
        struct sup_json **items; /* [count] */
    } of;
} sup_json;

typedef struct sup_json_tree {
    sup_arena arena;
    sup_json *root;
    bool failed; /* out of memory while building */
} sup_json_tree;

/* An empty tree (root NULL). Must be destroyed, also after a failed parse. */
sup_json_tree sup_json_tree_create(const sup_allocator *allocator);
void sup_json_tree_destroy(sup_json_tree *tree);

/* Parses the whole text (a byte order mark is skipped) into a tree from sup_json_tree_create. `where` is the file name
 * in error messages, which include line and column. */
sup_result sup_json_parse(sup_json_tree *tree, const char *where, sup_bytes text, sup_error *error);

/* Appends the text of `value`, without spaces, to `text` (item_size 1). False when out of memory or nested deeper than
 * SUP_JSON_DEPTH. */
bool sup_json_write(const sup_json *value, const sup_allocator *allocator, sup_array *text);

/* --- Look-ups: NULL in gives NULL out, so look-ups can be chained. --- */
sup_json *sup_json_get(const sup_json *object, const char *key);  /* NULL: not an object, or no such member */
sup_json *sup_json_at(const sup_json *array, int64_t index);      /* NULL: not an array, or out of range */
int32_t sup_json_count(const sup_json *container);                /* items of an array or object, else 0 */
bool sup_json_is(const sup_json *value, sup_json_type type);      /* false for NULL */
const char *sup_json_text(const sup_json *value);                 /* of a string, else NULL */
bool sup_json_equals(const sup_json *value, const char *text);    /* is a string equal to `text` */
bool sup_json_double(const sup_json *value, double *number);      /* not a number: false, *number unchanged */
bool sup_json_integer(const sup_json *value, int64_t *number);    /* not an integer within 2^53: false */
bool sup_json_boolean(const sup_json *value, bool default_value); /* `default_value` when not a boolean */

/* --- Building. New values belong to the tree and to no container yet. --- */
sup_json *sup_json_new_null(sup_json_tree *tree);
sup_json *sup_json_new_bool(sup_json_tree *tree, bool boolean);
sup_json *sup_json_new_integer(sup_json_tree *tree, int64_t number);
sup_json *sup_json_new_double(sup_json_tree *tree, double number); /* null when not finite: JSON cannot represent it */
sup_json *sup_json_new_float(sup_json_tree *tree, float number);   /* shortest text that parses to the same float */
sup_json *sup_json_new_string(sup_json_tree *tree, const char *text);
sup_json *sup_json_new_array(sup_json_tree *tree);
sup_json *sup_json_new_object(sup_json_tree *tree);
sup_json *sup_json_copy(sup_json_tree *tree, const sup_json *value); /* deep copy without the key; from any tree */

/* Sets member `key` to `value`, replacing an existing member or appending, and returns `value`. A value may be in one
 * container only: copy it otherwise. */
sup_json *sup_json_set(sup_json_tree *tree, sup_json *object, const char *key, sup_json *value);
/* Returns the member if it has that type (SUP_JSON_ARRAY or SUP_JSON_OBJECT), else sets it to a new empty container. */
sup_json *sup_json_get_or_add(sup_json_tree *tree, sup_json *object, const char *key, sup_json_type type);
void sup_json_remove(sup_json *object, const char *key);
/* Appends and returns the value; its index is the array's count - 1. */
sup_json *sup_json_append(sup_json_tree *tree, sup_json *array, sup_json *value);
/* Replaces the value at an existing index. */
sup_json *sup_json_replace(sup_json_tree *tree, sup_json *array, int64_t index, sup_json *value);

#endif

/* array_store.h (internal) - named arrays in one block with a checksum: the file format of templates and
 * compositions.
 *
 * A block is a header, a table of arrays and the arrays, little-endian, at 64-byte offsets, with a checksum over all
 * bytes. The arrays of an object are listed once, as fields; the same list writes and reads them. */
#ifndef SUP_ANATOMY_ARRAY_STORE_H
#define SUP_ANATOMY_ARRAY_STORE_H

#include "base/base.h"
#include "supple/anatomy.h"
#include "supple/model.h"

/* Memory of the arrays of a sup_anatomy, a sup_composition or a sup_body; freed with them. */
struct sup_anatomy_storage {
    sup_context context;
    sup_arena arena;
};
/* Returns NULL when out of memory; `context` may be NULL. */
struct sup_anatomy_storage *sup_anatomy_storage_create(const sup_context *context);
void sup_anatomy_storage_destroy(struct sup_anatomy_storage *storage); /* NULL is allowed */

enum { SUP_STORE_NAME = 32 }; /* including the terminating zero */

typedef enum sup_store_form {
    SUP_STORE_ARRAY, /* `target` is a T ** */
    SUP_STORE_TEXTS, /* `target` is a char ***: `count` texts */
    SUP_STORE_INLINE /* `target` is a T * with capacity for `count` elements */
} sup_store_form;

typedef struct sup_store_field {
    const char *name;
    sup_store_form form;
    sup_array_type type; /* unused for texts */
    int64_t count;       /* number of elements or texts */
    void *target;
} sup_store_field;

/* Allocates the block with the context's allocator; free it with sup_store_free. `kind` names the content:
 * "template". */
sup_result sup_store_write(const sup_context *context, const char *kind, const sup_store_field *fields, int32_t count,
                           sup_bytes *block, sup_error *error);
void sup_store_free(const sup_context *context, sup_bytes *block);
/* Sets size and checksum of a block; does nothing if it is smaller than a header. */
void sup_store_seal(unsigned char *block, size_t size);

/* A view of a block whose header, table and checksum are valid; the bytes must outlive it. */
typedef struct sup_store {
    sup_bytes bytes;
    int32_t array_count;
} sup_store;

sup_result sup_store_open(sup_bytes bytes, const char *kind, sup_store *store, sup_error *error);
/* Sets the targets of all fields to copies in `arena`. Returns an error that names the array if one is missing, has
 * another type or count, or contains a number that is not finite. */
sup_result sup_store_read(const sup_store *store, const sup_store_field *fields, int32_t count, sup_arena *arena,
                          sup_error *error);
/* Number of elements of an array, -1 if there is none of that name. */
int64_t sup_store_count(const sup_store *store, const char *name);

/* Checks that all values are in [low, limit); else returns the error of a damaged file. */
sup_result sup_store_check_range(const char *name, const int32_t *values, int64_t count, int32_t low, int32_t limit,
                                 sup_error *error);
/* Checks that first[0] = 0, first ascends, and first[count] = total. */
sup_result sup_store_check_rising(const char *name, const int32_t *first, int64_t count, int32_t total,
                                  sup_error *error);
/* Returns the error of a damaged file. */
sup_result sup_store_damaged(sup_error *error, const char *where, const char *what);

#endif

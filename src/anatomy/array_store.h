/* array_store.h (internal) - named arrays in one checked block: what templates and compositions are written to and read from.
 *
 * A block is a header, a table of arrays and the arrays, little-endian, at 64-byte offsets, with a checksum over all. The
 * arrays of an object are listed once, as fields, and that list writes and reads them. */
#ifndef SUP_ANATOMY_ARRAY_STORE_H
#define SUP_ANATOMY_ARRAY_STORE_H

#include "base/base.h"
#include "supple/anatomy.h"
#include "supple/model.h"

/* What the arrays of a sup_anatomy, a sup_composition and a sup_body live in; freed with them. */
struct sup_anatomy_storage {
    sup_context context;
    sup_arena arena;
};
/* NULL when memory ran out; `context` may be NULL. */
struct sup_anatomy_storage *sup_anatomy_storage_create(const sup_context *context);
void sup_anatomy_storage_destroy(struct sup_anatomy_storage *storage); /* NULL is fine */

enum { SUP_STORE_NAME = 32 }; /* with the zero at its end */

typedef enum sup_store_form {
    SUP_STORE_ARRAY, /* `place` is a T ** */
    SUP_STORE_TEXTS, /* `place` is a char ***: `count` texts */
    SUP_STORE_INLINE /* `place` is a T *: room for `count` elements */
} sup_store_form;

typedef struct sup_store_field {
    const char *name;
    sup_store_form form;
    sup_array_type type; /* not of texts */
    int64_t count;       /* elements, or texts */
    void *target;
} sup_store_field;

/* The block, memory of the context's allocator: free it with sup_store_free. `kind` says what it is: "template". */
sup_result sup_store_write(const sup_context *context, const char *kind, const sup_store_field *fields, int32_t count,
                           sup_bytes *block, sup_error *error);
void sup_store_free(const sup_context *context, sup_bytes *block);
/* Puts size and checksum of a block right; nothing for fewer bytes than a header. */
void sup_store_seal(unsigned char *block, size_t size);

/* A view of a block whose header, table and checksum were found good; the bytes must outlive it. */
typedef struct sup_store {
    sup_bytes bytes;
    int32_t array_count;
} sup_store;

sup_result sup_store_open(sup_bytes bytes, const char *kind, sup_store *store, sup_error *error);
/* Fills the places of all fields with copies in `arena`. Fails by name where one is missing, has another type or count,
 * or holds a number that is not finite. */
sup_result sup_store_read(const sup_store *store, const sup_store_field *fields, int32_t count, sup_arena *arena,
                          sup_error *error);
/* Elements of an array, -1 when there is none of that name. */
int64_t sup_store_count(const sup_store *store, const char *name);

/* Whether all values are in [low, limit); the sentence of a damaged file when not. For what was read. */
sup_result sup_store_check_range(const char *name, const int32_t *values, int64_t count, int32_t low, int32_t limit,
                                 sup_error *error);
/* Whether first[0] = 0, rising, and first[count] = total. */
sup_result sup_store_check_rising(const char *name, const int32_t *first, int64_t count, int32_t total,
                                  sup_error *error);
/* A sentence that the file is damaged. */
sup_result sup_store_damaged(sup_error *error, const char *where, const char *what);

#endif

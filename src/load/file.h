/* file.h (internal) - whole files into memory, and paths. The only place in load that knows stdio. */
#ifndef SUP_LOAD_FILE_H
#define SUP_LOAD_FILE_H

#include "base/base.h"
#include "supple/load.h"

/* The whole file in memory of `allocator`; *size bytes were asked for plus one: a zero follows the data, so that text
 * readers may look one byte ahead. Free with sup_free(allocator, data, size + 1). */
sup_result sup_file_read(const char *path, const sup_allocator *allocator, void **data, size_t *size, sup_error *error);

/* A file of bytes that `read` checks and turns into *place; what fails without a place of its own gets the path. */
typedef sup_result sup_bytes_reader(const sup_context *context, sup_bytes bytes, void *place, sup_error *error);
sup_result sup_file_load(const sup_context *context, const char *path, sup_bytes_reader *read, void *place,
                         sup_error *error);

/* The reader of a load def, or the file system's. What its `read` gives is freed with sup_free(..., size + 1). */
sup_file_reader sup_file_reader_resolve(const sup_load_def *def);

/* `name` beside the file `path`: "a/b.gltf" + "c.bin" = "a/c.bin"; an absolute name stays. False when it is too long.
 * Escapes such as %20 in `name` are undone when `is_uri`. */
bool sup_path_beside(const char *path, const char *name, bool is_uri, char *buffer, size_t size);
/* The ending without the dot, in lower case, "" for none or when longer than `size`. */
void sup_path_extension(const char *path, char *buffer, size_t size);
/* The name without folders and ending, in the arena. */
const char *sup_path_stem(sup_arena *arena, const char *path);

#endif

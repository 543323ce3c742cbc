/* file.h (internal) - reads whole files into memory; path helpers. The only file of src/load that uses stdio. */
#ifndef SUP_LOAD_FILE_H
#define SUP_LOAD_FILE_H

#include "base/base.h"
#include "supple/load.h"

/* Reads a whole file into memory of `allocator`. *size + 1 bytes are allocated: a zero follows the data, so that text
 * parsers may read one byte ahead. Free with sup_free(allocator, data, size + 1). */
sup_result sup_file_read(const char *path, const sup_allocator *allocator, void **data, size_t *size, sup_error *error);

/* Reads a file and passes its bytes to `read`, which validates them and stores an object pointer in *result_out. Errors
 * without a location get the path. */
typedef sup_result sup_bytes_reader(const sup_context *context, sup_bytes bytes, void *result_out, sup_error *error);
sup_result sup_file_load(const sup_context *context, const char *path, sup_bytes_reader *read, void *result_out,
                         sup_error *error);

/* The reader of a load def, or the file system reader. Free its data with sup_free(..., size + 1). */
sup_file_reader sup_file_reader_resolve(const sup_load_def *def);

/* Resolves `name` relative to the folder of the file `path`: "a/b.gltf" + "c.bin" = "a/c.bin"; an absolute name is
 * unchanged. False when the result is too long. Decodes escapes such as %20 in `name` when `is_uri`. */
bool sup_path_resolve(const char *path, const char *name, bool is_uri, char *buffer, size_t size);
/* The file extension without the dot, in lower case; "" for none or when longer than `size`. */
void sup_path_extension(const char *path, char *buffer, size_t size);
/* The file name without folders and extension, allocated from `arena`. */
const char *sup_path_stem(sup_arena *arena, const char *path);

#endif

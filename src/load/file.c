/* file.c - reads whole files into memory; path helpers. */
#include "load/file.h"

#include <errno.h>
#include <stdio.h>
#include <sys/stat.h>

static sup_result fail_io(sup_error *error, const char *id, const char *path, const char *what, int reason)
{
    return sup_fail(error, SUP_ERROR_IO, id, path, "%s: %s.", what,
                    reason != 0 ? strerror(reason) : "unexpected end of file");
}

/* Reads a stream of unknown length (a pipe, a device) in chunks. */
static sup_result read_stream(FILE *file, const char *path, const sup_allocator *allocator, void **data, size_t *size,
                              sup_error *error)
{
    sup_array bytes = {.item_size = 1};
    unsigned char chunk[65536];
    size_t got = 0;
    errno = 0;
    while ((got = fread(chunk, 1, sizeof chunk, file)) > 0) {
        unsigned char *slot = sup_array_push(allocator, &bytes, got);
        if (slot == NULL) {
            sup_array_free(allocator, &bytes);
            return sup_fail_memory(error, path);
        }
        memcpy(slot, chunk, got);
    }
    if (ferror(file)) {
        int reason = errno;
        sup_array_free(allocator, &bytes);
        return fail_io(error, "file.read", path, "The file cannot be read", reason);
    }
    unsigned char *whole = sup_alloc(allocator, bytes.count + 1);
    if (whole != NULL) {
        if (bytes.count > 0) memcpy(whole, bytes.data, bytes.count);
        whole[bytes.count] = 0;
        *data = whole;
        *size = bytes.count;
    }
    sup_array_free(allocator, &bytes);
    return whole != NULL ? SUP_OK : sup_fail_memory(error, path);
}

static sup_result read_sized(FILE *file, size_t length, const char *path, const sup_allocator *allocator, void **data,
                             size_t *size, sup_error *error)
{
    unsigned char *bytes = sup_alloc(allocator, length + 1);
    if (bytes == NULL) return sup_fail_memory(error, path);
    errno = 0;
    size_t got = fread(bytes, 1, length, file);
    if (got != length) {
        int reason = errno;
        sup_free(allocator, bytes, length + 1);
        return fail_io(error, "file.read", path, "The file cannot be read to its end", reason);
    }
    bytes[length] = 0;
    *data = bytes;
    *size = length;
    return SUP_OK;
}

sup_result sup_file_read(const char *path, const sup_allocator *allocator, void **data, size_t *size, sup_error *error)
{
    struct stat status;
    if (stat(path, &status) != 0) return fail_io(error, "file.open", path, "The file cannot be opened", errno);
    if (S_ISDIR(status.st_mode))
        return sup_fail(error, SUP_ERROR_IO, "file.folder", path, "This is a folder: give the path of a file.");
    FILE *file = fopen(path, "rb");
    if (file == NULL) return fail_io(error, "file.open", path, "The file cannot be opened", errno);
    sup_result result = S_ISREG(status.st_mode)
                            ? read_sized(file, (size_t)status.st_size, path, allocator, data, size, error)
                            : read_stream(file, path, allocator, data, size, error);
    fclose(file);
    return result;
}

static sup_result read_from_disk(void *user, const char *path, const sup_allocator *allocator, void **data,
                                 size_t *size, sup_error *error)
{
    SUP_UNUSED(user);
    return sup_file_read(path, allocator, data, size, error);
}

sup_file_reader sup_file_reader_resolve(const sup_load_def *def)
{
    if (def != NULL && def->reader.read != NULL) return def->reader;
    return (sup_file_reader){read_from_disk, NULL};
}

static int hex_digit(char c)
{
    if (c >= '0' && c <= '9') return c - '0';
    c = (char)(c | 0x20);
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

bool sup_path_resolve(const char *path, const char *name, bool is_uri, char *buffer, size_t size)
{
    const char *slash = strrchr(path, '/');
    size_t length = slash != NULL && name[0] != '/' ? (size_t)(slash - path) + 1 : 0;
    if (length >= size) return false;
    memcpy(buffer, path, length);
    for (; *name != '\0'; name++) {
        if (length + 1 >= size) return false;
        if (is_uri && name[0] == '%' && hex_digit(name[1]) >= 0 && hex_digit(name[2]) >= 0) {
            buffer[length++] = (char)(hex_digit(name[1]) * 16 + hex_digit(name[2]));
            name += 2;
        } else {
            buffer[length++] = *name;
        }
    }
    buffer[length] = '\0';
    return true;
}

void sup_path_extension(const char *path, char *buffer, size_t size)
{
    const char *slash = strrchr(path, '/');
    const char *dot = strrchr(slash != NULL ? slash : path, '.');
    buffer[0] = '\0';
    if (dot == NULL || strlen(dot + 1) >= size) return;
    size_t i = 0;
    for (dot++; *dot != '\0'; dot++)
        buffer[i++] = (char)(*dot >= 'A' && *dot <= 'Z' ? *dot + 32 : *dot);
    buffer[i] = '\0';
}

const char *sup_path_stem(sup_arena *arena, const char *path)
{
    const char *slash = strrchr(path, '/');
    const char *name = slash != NULL ? slash + 1 : path;
    const char *dot = strrchr(name, '.');
    return sup_arena_string_n(arena, name, dot != NULL && dot != name ? (size_t)(dot - name) : strlen(name));
}

sup_result sup_file_load(const sup_context *context, const char *path, sup_bytes_reader *read, void *result_out,
                         sup_error *error)
{
    if (path == NULL || result_out == NULL)
        return sup_fail(error, SUP_ERROR_ARGUMENT, "argument.null", "",
                        "The path and the result pointer must not be NULL.");
    sup_context resolved = sup_context_resolve(context);
    sup_error found = {0};
    void *data = NULL;
    size_t size = 0;
    sup_result result = sup_file_read(path, &resolved.allocator, &data, &size, error);
    if (result != SUP_OK) return result;
    result = read(context, (sup_bytes){data, size}, result_out, &found);
    sup_free(&resolved.allocator, data, size + 1);
    if (result == SUP_OK) return SUP_OK;
    if (found.where[0] == '\0') sup_format(found.where, sizeof found.where, "%s", path);
    if (error != NULL) *error = found;
    return result;
}

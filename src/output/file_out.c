/* file_out.c - files that are there whole or not at all. */
#include "output/file_out.h"

#include <errno.h>
#include <sys/stat.h>
#include <unistd.h>

static sup_result fail_write(sup_file_out *out, const char *id, const char *what, int reason, sup_error *error)
{
    sup_file_out_abandon(out);
    return sup_fail(error, SUP_ERROR_IO, id, out->path, "%s: %s.", what, strerror(reason));
}

sup_result sup_file_out_open(sup_file_out *out, const char *path, sup_error *error)
{
    struct stat status;
    memset(out, 0, sizeof *out);
    if (strlen(path) >= sizeof out->path)
        return sup_fail(error, SUP_ERROR_IO, "file.name", "", "The output path is longer than %d characters.",
                        (int)sizeof out->path - 1);
    sup_format(out->path, sizeof out->path, "%s", path);
    if (stat(path, &status) == 0 && S_ISDIR(status.st_mode))
        return sup_fail(error, SUP_ERROR_IO, "file.folder", path, "The output is a folder: name a file in it.");
    sup_format(out->temporary, sizeof out->temporary, "%s.part%lld", path, (long long)getpid());
    out->file = fopen(out->temporary, "wb");
    if (out->file == NULL) return fail_write(out, "file.create", "The output cannot be created", errno, error);
    return SUP_OK;
}

sup_result sup_file_out_write(sup_file_out *out, const void *data, size_t size, sup_error *error)
{
    if (size > 0 && fwrite(data, 1, size, out->file) != size)
        return fail_write(out, "file.write", "The output cannot be written", errno, error);
    out->written += size;
    return SUP_OK;
}

sup_result sup_file_out_patch(sup_file_out *out, uint64_t offset, const void *data, size_t size, sup_error *error)
{
    if (fseeko(out->file, (off_t)offset, SEEK_SET) != 0 || fwrite(data, 1, size, out->file) != size ||
        fseeko(out->file, 0, SEEK_END) != 0)
        return fail_write(out, "file.write", "The output cannot be written", errno, error);
    return SUP_OK;
}

sup_result sup_file_out_commit(sup_file_out *out, sup_error *error)
{
    if (fflush(out->file) != 0) return fail_write(out, "file.write", "The output cannot be written", errno, error);
    FILE *file = out->file;
    out->file = NULL;
    bool closed = fclose(file) == 0;
    if (!closed || rename(out->temporary, out->path) != 0) {
        int reason = errno;
        remove(out->temporary);
        return fail_write(out, "file.rename", "The output cannot be put in its place", reason, error);
    }
    return SUP_OK;
}

void sup_file_out_abandon(sup_file_out *out)
{
    if (out->file == NULL) return;
    fclose(out->file);
    out->file = NULL;
    remove(out->temporary);
}

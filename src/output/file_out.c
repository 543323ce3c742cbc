/* file_out.c - atomic file output. */
#define _XOPEN_SOURCE 700 /* realpath; NOLINT(bugprone-reserved-identifier) */
#include "output/file_out.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

static sup_result fail_write(sup_file_out *out, const char *id, const char *what, int reason, sup_error *error)
{
    sup_file_out_abandon(out);
    return sup_fail(error, SUP_ERROR_IO, id, out->path, "%s: %s.", what, strerror(reason));
}

/* The target path: `path`, or the target of the symbolic link at `path`. */
static sup_result resolve_path(sup_file_out *out, const char *path, sup_error *error)
{
    struct stat status;
    if (strlen(path) >= sizeof out->path)
        return sup_fail(error, SUP_ERROR_IO, "file.name", "", "The output path is longer than %d characters.",
                        (int)sizeof out->path - 1);
    sup_format(out->path, sizeof out->path, "%s", path);
    if (stat(path, &status) != 0) return SUP_OK;
    if (S_ISDIR(status.st_mode))
        return sup_fail(error, SUP_ERROR_IO, "file.folder", path, "The output is a folder: give the path of a file.");
    if (!S_ISREG(status.st_mode))
        return sup_fail(error, SUP_ERROR_IO, "file.special", path,
                        "The output is a device or pipe: give the path of a regular file (output is written to a "
                        "temporary file and renamed).");
#if !defined(__wasi__) /* no symbolic links in the browser */
    if (lstat(path, &status) == 0 && S_ISLNK(status.st_mode)) {
        char *target = realpath(path, NULL);
        if (target != NULL && strlen(target) < sizeof out->path) sup_format(out->path, sizeof out->path, "%s", target);
        free(target);
    }
#endif
    return SUP_OK;
}

/* Creates a temporary file in the target folder with a unique name, which differs from other writers of this process
 * and from files of a terminated process with the same id. False, with errno, on failure. */
static bool create_temporary(sup_file_out *out)
{
    int handle = -1;
    for (int attempt = 0; attempt < 100 && handle < 0; attempt++) {
        char number[16] = "";
        if (attempt > 0) sup_format(number, sizeof number, "_%d", attempt);
        sup_format(out->temporary, sizeof out->temporary, "%s.part%lld%s", out->path, (long long)getpid(), number);
        handle = open(out->temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
        if (handle < 0 && errno != EEXIST) return false;
    }
    if (handle < 0) return false;
    out->file = fdopen(handle, "wb");
    if (out->file != NULL) return true;
    int reason = errno;
    close(handle);
    remove(out->temporary);
    errno = reason;
    return false;
}

sup_result sup_file_out_open(sup_file_out *out, const char *path, sup_error *error)
{
    memset(out, 0, sizeof *out);
    sup_result result = resolve_path(out, path, error);
    if (result != SUP_OK) return result;
    return create_temporary(out) ? SUP_OK
                                 : fail_write(out, "file.create", "The output cannot be created", errno, error);
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

sup_result sup_file_out_close(sup_file_out *out, sup_error *error)
{
    if (fflush(out->file) != 0) return fail_write(out, "file.write", "The output cannot be written", errno, error);
    FILE *file = out->file;
    out->file = NULL;
    if (fclose(file) == 0) return SUP_OK;
    int reason = errno;
    remove(out->temporary);
    return fail_write(out, "file.write", "The output cannot be written", reason, error);
}

sup_result sup_file_out_commit(sup_file_out *out, sup_error *error)
{
    sup_result result = sup_file_out_close(out, error);
    if (result != SUP_OK) return result;
    if (rename(out->temporary, out->path) == 0) return SUP_OK;
    int reason = errno;
    remove(out->temporary);
    return fail_write(out, "file.rename", "The temporary file cannot be renamed to the output path", reason, error);
}

void sup_file_out_abandon(sup_file_out *out)
{
    if (out->file == NULL) return;
    fclose(out->file);
    out->file = NULL;
    remove(out->temporary);
}

int sup_file_replace(const char *temporary, const char *path, const char *backup, bool *had_older)
{
    struct stat status;
    *had_older = lstat(path, &status) == 0;
    if (*had_older && S_ISDIR(status.st_mode)) {
        *had_older = false;
        return EISDIR;
    }
    /* A hard link to the older file keeps `path` valid at every moment; without hard links the file is moved. */
    if (*had_older && link(path, backup) != 0 && rename(path, backup) != 0) {
        *had_older = false;
        return errno;
    }
    if (rename(temporary, path) == 0) return 0;
    int reason = errno;
    if (*had_older) sup_file_restore(path, backup, true);
    return reason;
}

void sup_file_restore(const char *path, const char *backup, bool had_older)
{
    if (!had_older)
        remove(path);
    else if (rename(backup, path) == 0)
        remove(backup); /* still exists when both names link to one file: rename is then a no-op */
}

sup_result sup_file_out_save(const char *path, sup_bytes bytes, sup_error *error)
{
    sup_file_out out;
    sup_result result = sup_file_out_open(&out, path, error);
    if (result == SUP_OK) result = sup_file_out_write(&out, bytes.data, bytes.size, error);
    return result == SUP_OK ? sup_file_out_commit(&out, error) : result;
}

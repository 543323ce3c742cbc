/* file_out.h (internal) - atomic file output: writes a temporary file in the target folder and renames it when
 * complete. */
#ifndef SUP_OUTPUT_FILE_OUT_H
#define SUP_OUTPUT_FILE_OUT_H

#include "base/base.h"

#include <stdio.h>

typedef struct sup_file_out {
    FILE *file;           /* NULL when closed */
    char path[4096];      /* target path: symbolic links are resolved */
    char temporary[4160]; /* temporary file in the same folder */
    uint64_t written;     /* bytes */
} sup_file_out;

sup_result sup_file_out_open(sup_file_out *out, const char *path, sup_error *error);
sup_result sup_file_out_write(sup_file_out *out, const void *data, size_t size, sup_error *error);
/* Overwrites bytes already written at an offset; the write position stays at the end. */
sup_result sup_file_out_patch(sup_file_out *out, uint64_t offset, const void *data, size_t size, sup_error *error);
/* Flushes and renames. On failure removes the temporary file; an older file is unchanged. */
sup_result sup_file_out_commit(sup_file_out *out, sup_error *error);
/* Open, write and commit: a file of these bytes. */
sup_result sup_file_out_save(const char *path, sup_bytes bytes, sup_error *error);
/* Removes the temporary file; no effect when nothing is open. */
void sup_file_out_abandon(sup_file_out *out);

/* The two halves of a commit, for several files that must be replaced together. After `close` the complete file is at
 * out->temporary. `replace` renames a file to `path` and keeps the older file at `backup`; *had_older is set when there
 * was one. `restore` undoes it. They return 0 or an errno. */
sup_result sup_file_out_close(sup_file_out *out, sup_error *error);
int sup_file_replace(const char *temporary, const char *path, const char *backup, bool *had_older);
void sup_file_restore(const char *path, const char *backup, bool had_older);

#endif

/* file_out.h (internal) - a file that is there whole or not at all: written beside its place, renamed when done. */
#ifndef SUP_OUTPUT_FILE_OUT_H
#define SUP_OUTPUT_FILE_OUT_H

#include "base/base.h"

#include <stdio.h>

typedef struct sup_file_out {
    FILE *file;           /* NULL when closed */
    char path[4096];      /* the file itself: a symbolic link is followed */
    char temporary[4160]; /* beside it */
    uint64_t written;     /* bytes */
} sup_file_out;

sup_result sup_file_out_open(sup_file_out *out, const char *path, sup_error *error);
sup_result sup_file_out_write(sup_file_out *out, const void *data, size_t size, sup_error *error);
/* Overwrites bytes already written, at an offset; the end stays the end. */
sup_result sup_file_out_patch(sup_file_out *out, uint64_t offset, const void *data, size_t size, sup_error *error);
/* Flushes and renames. On failure the temporary file is removed and an older file stays. */
sup_result sup_file_out_commit(sup_file_out *out, sup_error *error);
/* All three: a file of these bytes. */
sup_result sup_file_out_whole(const char *path, sup_bytes bytes, sup_error *error);
/* Removes what was written; harmless when nothing is open. */
void sup_file_out_abandon(sup_file_out *out);

/* The two halves of a commit, for several files that must all be there or none. After `close` the whole file waits at
 * out->temporary. `replace` puts one file in the place of another and keeps the older one at `backup`; *had_older tells
 * whether there was one. `restore` undoes it. They return 0 or an errno. */
sup_result sup_file_out_close(sup_file_out *out, sup_error *error);
int sup_file_replace(const char *temporary, const char *path, const char *backup, bool *had_older);
void sup_file_restore(const char *path, const char *backup, bool had_older);

#endif

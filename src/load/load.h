/* load.h (internal) - selects the reader of a file, for sup_load and for files that refer to other files. */
#ifndef SUP_LOAD_LOAD_H
#define SUP_LOAD_LOAD_H

#include "load/read.h"

/* The reader for a file extension ("obj"); NULL when not supported. */
sup_read_fn *sup_reader_for(const char *extension);
/* True for the mesh formats without a skeleton. */
bool sup_extension_is_mesh(const char *extension);

/* Reads the file `path` with input->reader and passes it to `fn` under that name. */
sup_result sup_read_path(const sup_read_input *input, const char *path, sup_read_fn *fn, sup_character **character,
                         sup_error *error);
/* The same for an .anim file and the joints of `target`. */
sup_result sup_read_anim_path(const sup_read_input *input, const char *path, const sup_character *target,
                              sup_clip **clip, sup_error *error);

#endif

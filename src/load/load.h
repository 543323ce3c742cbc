/* load.h (internal) - choosing the reader of a file, for sup_load and for files that name other files. */
#ifndef SUP_LOAD_LOAD_H
#define SUP_LOAD_LOAD_H

#include "load/read.h"

/* The reader of an ending ("obj"), NULL for one that the library does not know. */
sup_read_fn *sup_reader_for(const char *ending);
/* True for the mesh formats without a skeleton. */
bool sup_extension_is_mesh(const char *ending);

/* Reads the file `path` through input->reader and gives it to `fn` with that name. */
sup_result sup_read_path(const sup_read_input *input, const char *path, sup_read_fn *fn, sup_character **character,
                         sup_error *error);
/* The same for an .anim file and the joints of `target`. */
sup_result sup_read_anim_path(const sup_read_input *input, const char *path, const sup_character *target,
                              sup_clip **clip, sup_error *error);

#endif

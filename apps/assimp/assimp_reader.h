/* assimp_reader.h - FBX and Collada through the Open Asset Import Library, as sup_load_def.other. */
#ifndef SUPPLE_ASSIMP_READER_H
#define SUPPLE_ASSIMP_READER_H

#include "supple/load.h"

/* Reads .fbx and .dae; returns SUP_ERROR_UNSUPPORTED for other extensions. Vertices are in the order of Assimp and not
 * merged: three per triangle for formats with per-corner attributes. `user` is not used. */
sup_result sup_read_assimp(void *user, const sup_context *context, const char *name, sup_bytes bytes,
                           sup_character **character, sup_error *error);

#endif

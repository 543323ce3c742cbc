/* read.h (internal) - the readers. Each parses the bytes of one file and makes a character or returns an error.
 *
 * `name` is the path of the file: the location in error messages; other files are found relative to it through
 * `reader`. A zero byte follows the data. Readers validate every count, offset and index of the file, and use memory in
 * proportion to its size. */
#ifndef SUP_LOAD_READ_H
#define SUP_LOAD_READ_H

#include "character/character.h"
#include "supple/load.h"

typedef struct sup_read_input {
    const sup_context *context; /* defaults resolved */
    const char *name;
    sup_bytes bytes;
    sup_file_reader reader; /* never NULL */
} sup_read_input;

typedef sup_result sup_read_fn(const sup_read_input *input, sup_character **character, sup_error *error);

sup_read_fn sup_read_gltf; /* .gltf and .glb, distinguished by their first bytes */
sup_read_fn sup_read_obj;
sup_read_fn sup_read_off;
sup_read_fn sup_read_ply;
sup_read_fn sup_read_stl;
sup_read_fn sup_read_skel;
sup_read_fn sup_read_bvh;
sup_read_fn sup_read_ini;

/* .anim: keys for the joints of a .skel character, in joint order. */
sup_result sup_read_anim(const sup_read_input *input, const sup_character *target, sup_clip **clip, sup_error *error);

#endif

/* read.h (internal) - the readers. Each takes the bytes of one file and makes a character, or says why not.
 *
 * `name` is the file's path: it is the place that messages speak of, and other files are found beside it through
 * `reader`. A zero byte follows the data. Readers never trust a count, an offset or an index of the file, and take
 * memory in proportion to the bytes that are there. */
#ifndef SUP_LOAD_READ_H
#define SUP_LOAD_READ_H

#include "character/character.h"
#include "supple/load.h"

typedef struct sup_read_input {
    const sup_context *context; /* defaults filled in */
    const char *name;
    sup_bytes bytes;
    sup_file_reader reader; /* set */
} sup_read_input;

typedef sup_result sup_read_fn(const sup_read_input *input, sup_character **character, sup_error *error);

sup_read_fn sup_read_gltf; /* .gltf and .glb, told apart by their first bytes */
sup_read_fn sup_read_obj;
sup_read_fn sup_read_off;
sup_read_fn sup_read_ply;
sup_read_fn sup_read_stl;
sup_read_fn sup_read_skel;
sup_read_fn sup_read_bvh;
sup_read_fn sup_read_ini;

/* .anim: keys for the joints of a .skel character, by joint order. */
sup_result sup_read_anim(const sup_read_input *input, const sup_character *target, sup_clip **clip, sup_error *error);

#endif

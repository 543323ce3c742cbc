/* glb_character.h (internal) - shared by glb_character.c and glb_character_clips.c. */
#ifndef SUP_OUTPUT_GLB_CHARACTER_H
#define SUP_OUTPUT_GLB_CHARACTER_H

#include "output/glb.h"

/* A mesh of the output on one node: consecutive primitives of the character. */
typedef struct sup_glb_node_mesh {
    int32_t node; /* in the output */
    int32_t skin; /* -1: none */
    int32_t primitive_first, primitive_count;
    int32_t slot_count;
    int32_t *slots; /* [slot_count] morph weight indices of the character, in the order of the mesh's targets */
} sup_glb_node_mesh;

typedef struct sup_glb_character {
    sup_glb_layout layout;
    int32_t node_mesh_count;
    sup_glb_node_mesh *node_meshes; /* [node_mesh_count] */
    float *defaults;                /* [character->morph_weight_count] default morph weights */
} sup_glb_character;

/* Adds an accessor of `count` elements of `width` floats (1 to 4, 16) in memory that outlives the layout; returns its
 * index. target 0: not vertex data. */
int32_t sup_glb_add_floats(sup_glb_layout *layout, const float *values, int64_t count, int32_t width, int32_t target,
                           bool bounds);
/* Adds all clips that have channels. */
sup_result sup_glb_add_clips(sup_glb_character *writer, sup_error *error);

#endif

/* glb.h (internal) - the stages of the GLB writer: document layout, frames, final JSON.
 *
 * glb_layout.c      the layout: meshes, fixed bufferViews and accessors
 * glb_document.c    layout from the source glTF document of the character
 * glb_keep.c        copies accessors, views and images of that document
 * glb_extensions.c  copies its extensions
 * glb_fresh.c       layout for a character without a source document
 * glb_character.c   a whole character in its rest pose; glb_character_clips.c its clips
 * glb_writer.c      writes frames, and the JSON that depends on them */
#ifndef SUP_OUTPUT_GLB_H
#define SUP_OUTPUT_GLB_H

#include "load/json.h"
#include "output/cache.h"

enum {
    SUP_GLB_ARRAY_BUFFER = 34962,
    SUP_GLB_ELEMENT_BUFFER = 34963,
    SUP_GLB_BYTE = 5120,
    SUP_GLB_UBYTE = 5121,
    SUP_GLB_SHORT = 5122,
    SUP_GLB_USHORT = 5123,
    SUP_GLB_UINT = 5125,
    SUP_GLB_FLOAT = 5126
};

/* Bytes of one fixed bufferView; consecutive in the BIN chunk, each aligned to 4 bytes. */
typedef struct sup_glb_blob {
    const void *data; /* NULL: the weights of the animation, generated while writing */
    size_t size;
} sup_glb_blob;

/* A mesh of the output: one instance of a mesh of the input, on its own root node. */
typedef struct sup_glb_mesh {
    int32_t mesh, node; /* in the output document */
    int32_t primitive_first, primitive_count;
} sup_glb_mesh;

typedef struct sup_glb_primitive {
    int32_t mesh;          /* in the output document, -1 for a primitive without vertices, which is skipped */
    int32_t index_in_mesh; /* primitive index in that mesh */
    bool normals;          /* the primitive gets NORMAL when the frames have normals */
} sup_glb_primitive;

typedef struct sup_glb_layout {
    const sup_context *context;
    const sup_character *character;
    sup_arena arena;
    sup_json_tree tree;  /* the document without the data of the frames */
    sup_array blobs;     /* sup_glb_blob, one per bufferView of the tree */
    uint64_t fixed_size; /* bytes of the blobs with their padding */
    int32_t mesh_count;
    sup_glb_mesh *meshes;
    sup_glb_primitive *primitives;          /* [character->primitive_count] */
    int32_t time_accessor, weight_accessor; /* of the animation, -1 for a single frame */
} sup_glb_layout;

/* Groups primitives into meshes; numbers meshes and primitives in order, and nodes from `node_first`. */
sup_result sup_glb_layout_meshes(sup_glb_layout *layout, int32_t node_first, sup_error *error);
/* Both fill an empty layout. */
sup_result sup_glb_layout_from_document(sup_glb_layout *layout, sup_error *error);
sup_result sup_glb_layout_without_document(sup_glb_layout *layout, sup_error *error);

/* Adds a fixed bufferView over bytes that outlive the layout and returns its index. stride and target 0: not
 * written. */
int32_t sup_glb_add_view(sup_glb_layout *layout, const void *data, size_t size, int32_t stride, int32_t target);
/* Adds an accessor without min and max. Its index is the number of accessors - 1. */
sup_json *sup_glb_add_accessor(sup_json_tree *tree, int64_t view, uint64_t offset, int32_t component, int64_t count,
                               const char *type);
int32_t sup_glb_last_accessor(const sup_json_tree *tree);
/* Adds the triangles of a primitive as an index accessor, with reversed orientation when mirrored; -1 when out of
 * memory. */
int32_t sup_glb_add_indices(sup_glb_layout *layout, const sup_primitive *primitive, bool mirrored);
/* Adds a plain material with a colour selected by `index`; returns its index in the output. */
int32_t sup_glb_add_material(sup_json_tree *tree, const char *name, int32_t index);
/* Adds TEXCOORD_0 of a primitive unless all values are 0; non-finite numbers become 0. */
void sup_glb_add_texcoords(sup_glb_layout *layout, const sup_primitive *primitive, sup_json *attributes);
/* Sets members of glTF objects. */
void sup_glb_set_integer(sup_json_tree *tree, sup_json *object, const char *key, int64_t value);
void sup_glb_set_text(sup_json_tree *tree, sup_json *object, const char *key, const char *text);
/* Sets asset.version and asset.generator. */
void sup_glb_set_asset(sup_json_tree *tree);
/* Sets asset.extras from the character. */
sup_result sup_glb_set_extras(sup_glb_layout *layout, sup_error *error);
/* Normalises [count*3] normals as glTF requires; a zero normal gets an arbitrary direction. */
void sup_glb_unit_normals(const float *normals, int32_t count, float *unit);

/* Copies accessors, bufferViews and images of the source document to the output. */
typedef struct sup_glb_copy {
    sup_glb_layout *layout;
    const struct sup_document *document;
    const sup_json *accessors, *views; /* of the input */
    int32_t *accessor_map;             /* [accessors] index in the output, -1 not copied yet */
    int32_t *view_map;                 /* [document->view_count] likewise */
} sup_glb_copy;

typedef enum sup_glb_use { SUP_GLB_USE_INDICES, SUP_GLB_USE_ATTRIBUTE, SUP_GLB_USE_COLOUR } sup_glb_use;

/* Returns the output index of an accessor of the input; the first call copies its elements, packed and dense. -1 when
 * it is invalid: out of range, or without exactly `count` elements (-1: any number of stored elements). */
int32_t sup_glb_copy_accessor(sup_glb_copy *copy, const sup_json *index, sup_glb_use use, int64_t count);
/* Output index of a whole bufferView, -1 when it does not exist. */
int32_t sup_glb_copy_view(sup_glb_copy *copy, const sup_json *index);
/* Embeds the images in the file; images that could not be read keep their URI. */
void sup_glb_copy_images(sup_glb_copy *copy);
/* Copies bufferViews that extensions refer to, and updates the lists of extensions. */
void sup_glb_copy_extensions(sup_glb_copy *copy);

#endif

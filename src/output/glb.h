/* glb.h (internal) - the GLB writer's stages: a plan of the document, then frames, then the finished JSON.
 *
 * glb_layout.c      what goes where: meshes, fixed bufferViews and accessors
 * glb_document.c  a plan from the glTF document that the character came with
 * glb_keep.c      what of that document's accessors, views and images is still needed
 * glb_extensions.c  and of its extensions
 * glb_fresh.c     a plan for a character without a document
 * glb_character.c a whole character, at rest with its skeleton; glb_character_clips.c its clips
 * glb_writer.c    frames to disk, and the parts of the JSON that depend on them */
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

/* Bytes of one fixed bufferView; they follow each other in the BIN chunk, each at a multiple of 4. */
typedef struct sup_glb_blob {
    const void *data; /* NULL: the weights of the animation, made while writing */
    size_t size;
} sup_glb_blob;

/* A mesh of the output: one instance of a mesh of the input, on a root node of its own. */
typedef struct sup_glb_mesh {
    int32_t mesh, node; /* in the output document */
    int32_t primitive_first, primitive_count;
} sup_glb_mesh;

typedef struct sup_glb_primitive {
    int32_t mesh;      /* in the output document, -1 for a primitive without vertices, which is left out */
    int32_t index_in_mesh; /* of that mesh */
    bool normals;      /* the primitive gets NORMAL when frames bring normals */
} sup_glb_primitive;

typedef struct sup_glb_layout {
    const sup_context *context;
    const sup_character *character;
    sup_arena arena;
    sup_json_tree tree;  /* the whole document but for what the frames make */
    sup_array blobs;     /* sup_glb_blob, one per bufferView of the tree */
    uint64_t fixed_size; /* bytes of the blobs with their padding */
    int32_t mesh_count;
    sup_glb_mesh *meshes;
    sup_glb_primitive *primitives;                    /* [character->primitive_count] */
    int32_t time_accessor, weight_accessor; /* of the animation, -1 for a single frame */
} sup_glb_layout;

/* Primitives grouped into meshes; `mesh` and `primitive` numbered in order, nodes from `node_first`. */
sup_result sup_glb_layout_meshes(sup_glb_layout *layout, int32_t node_first, sup_error *error);
/* Both fill an empty layout. */
sup_result sup_glb_layout_from_document(sup_glb_layout *layout, sup_error *error);
sup_result sup_glb_layout_without_document(sup_glb_layout *layout, sup_error *error);

/* A new fixed bufferView over bytes that outlive the layout; its index. stride and target 0: not given. */
int32_t sup_glb_add_view(sup_glb_layout *layout, const void *data, size_t size, int32_t stride, int32_t target);
/* A new accessor without min and max. Its index is the count of accessors - 1. */
sup_json *sup_glb_add_accessor(sup_json_tree *tree, int64_t view, uint64_t offset, int32_t component, int64_t count,
                               const char *type);
int32_t sup_glb_last_accessor(const sup_json_tree *tree);
/* Triangles of a primitive as an index accessor, turned round when it is mirrored; -1 when memory ran out. */
int32_t sup_glb_add_indices(sup_glb_layout *layout, const sup_primitive *primitive, bool mirrored);
/* A plain material in one of a few muted colours, told apart by `index`; its index in the output. */
int32_t sup_glb_add_material(sup_json_tree *tree, const char *name, int32_t index);
/* TEXCOORD_0 of a primitive, unless all are 0; numbers that are not finite become 0. */
void sup_glb_add_texcoords(sup_glb_layout *layout, const sup_primitive *primitive, sup_json *attributes);
/* Members of glTF objects. */
void sup_glb_set_integer(sup_json_tree *tree, sup_json *object, const char *key, int64_t value);
void sup_glb_set_text(sup_json_tree *tree, sup_json *object, const char *key, const char *text);
/* asset.version and asset.generator. */
void sup_glb_set_asset(sup_json_tree *tree);
/* asset.extras from the character's. */
sup_result sup_glb_set_extras(sup_glb_layout *layout, sup_error *error);
/* [count*3] of unit length, as glTF wants them; one that has no length gets any direction. */
void sup_glb_unit_normals(const float *normals, int32_t count, float *unit);

/* Accessors, bufferViews and images of the input document on their way to the output. */
typedef struct sup_glb_copy {
    sup_glb_layout *layout;
    const struct sup_document *document;
    const sup_json *accessors, *views; /* of the input */
    int32_t *accessor_map;             /* [accessors] index in the output, -1 not kept yet */
    int32_t *view_map;                 /* [document->view_count] the same */
} sup_glb_copy;

typedef enum sup_glb_use { SUP_GLB_USE_INDICES, SUP_GLB_USE_ATTRIBUTE, SUP_GLB_USE_COLOUR } sup_glb_use;

/* Index in the output of an accessor of the input, copied element by element, packed and dense, the first time; -1 when
 * it cannot be used: it lies about its size, or has not `count` elements (-1: any number that has bytes). */
int32_t sup_glb_copy_accessor(sup_glb_copy *copy, const sup_json *index, sup_glb_use use, int64_t count);
/* Index in the output of a whole bufferView, -1 when it does not exist. */
int32_t sup_glb_copy_view(sup_glb_copy *copy, const sup_json *index);
/* Images move into the file; those that could not be read keep their URI. */
void sup_glb_copy_images(sup_glb_copy *copy);
/* bufferViews named inside extensions, and the lists of extensions. */
void sup_glb_copy_extensions(sup_glb_copy *copy);

#endif

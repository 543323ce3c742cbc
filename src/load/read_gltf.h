/* read_gltf.h (internal) - the stages of the glTF reader and what they share.
 *
 * Stages in order, one file each: container (GLB chunks, buffers, views, images), accessor (typed arrays in views),
 * scene (nodes and skins), mesh (primitives, vertices, triangles, influences), morph, animation. Every stage writes into
 * the character's arena; what only the reader needs lives in `scratch`. */
#ifndef SUP_LOAD_READ_GLTF_H
#define SUP_LOAD_READ_GLTF_H

#include "load/document.h"
#include "load/json.h"
#include "load/read.h"

typedef struct sup_gltf_buffer {
    sup_bytes bytes; /* data NULL: a placeholder for compressed views, only its length is known */
} sup_gltf_buffer;

/* Component types of accessors, with glTF's own numbers. */
enum {
    SUP_GLTF_BYTE = 5120,
    SUP_GLTF_UBYTE = 5121,
    SUP_GLTF_SHORT = 5122,
    SUP_GLTF_USHORT = 5123,
    SUP_GLTF_UINT = 5125,
    SUP_GLTF_FLOAT = 5126
};

/* A checked accessor: every element of [0, count) may be read. */
typedef struct sup_gltf_accessor {
    int32_t index;     /* in the file */
    int32_t count;     /* elements */
    int32_t width;     /* components of an element: 1 to 4, or 16 for a 4x4 matrix */
    int32_t component; /* SUP_GLTF_... */
    bool normalized;
    const unsigned char *data;                           /* NULL: zeros */
    size_t stride;                                       /* bytes from one element to the next */
    int32_t sparse_count;                                /* elements that are replaced */
    int32_t sparse_component;                            /* SUP_GLTF_UBYTE, _USHORT or _UINT */
    const unsigned char *sparse_indices, *sparse_values; /* packed */
} sup_gltf_accessor;

/* A node as the later stages need it beside sup_node. */
typedef struct sup_gltf_node {
    int32_t mesh, skin;
    const sup_json *weights;          /* default weights of morph targets, or NULL */
    int32_t morph_first, morph_count; /* weight slots of this instance of the mesh */
} sup_gltf_node;

/* A mesh, looked up once however many nodes show it. */
typedef struct sup_gltf_mesh {
    const char *name;
    const sup_json *primitives, *weights, *target_names;
    int32_t target_count; /* of the primitive that has most */
} sup_gltf_mesh;

typedef struct sup_gltf {
    const sup_read_input *input;
    sup_error *error;
    sup_character *character;
    sup_arena *arena; /* the character's */
    sup_arena scratch;
    sup_json_tree tree;
    const sup_json *root;
    size_t bytes_read; /* of the file and of those it names */
    size_t charged;    /* by sup_gltf_charge */

    sup_bytes json, binary; /* of the container; binary.data NULL when there is none */
    const sup_json *accessors, *meshes;
    int32_t buffer_count, view_count;
    sup_gltf_buffer *buffers;
    sup_bytes *views;          /* [view_count] the document's */
    int32_t *view_strides;     /* [view_count] 0: packed */
    sup_gltf_accessor *opened; /* [accessors] checked ones; width 0: not yet */
    const float **floats;      /* [accessors] whole accessors as floats, made once, or NULL */

    int32_t material_count;
    sup_gltf_mesh *mesh_infos; /* [meshes] */
    sup_gltf_node *nodes;      /* [character->node_count] */
    sup_primitive *primitives;           /* [character->primitive_count] */
} sup_gltf;

/* Fails with the file's name as the place. */
sup_result sup_gltf_fail(sup_gltf *g, sup_result result, const char *id, const char *format, ...)
    __attribute__((format(printf, 4, 5)));
/* Counts what the file makes the reader take or walk through: a file may ask for so many times its own size and no more,
 * whatever its counts say. */
sup_result sup_gltf_charge(sup_gltf *g, size_t count, size_t size);
/* Zeroed memory from `arena`, charged. NULL with the error set: return g->error->result. */
void *sup_gltf_alloc(sup_gltf *g, sup_arena *arena, size_t count, size_t size);
/* A copy of a string for the character, "" when it is none; NULL as sup_gltf_alloc. */
const char *sup_gltf_name(sup_gltf *g, const sup_json *name);

/* --- Typed members. `kind` and `number` name the object in messages: "node", 4. --- */
/* An array of the root or of an object; NULL when absent, an error when it is something else. */
sup_result sup_gltf_list(sup_gltf *g, const sup_json *object, const char *key, const sup_json **list);
/* The object at an index of a list. */
sup_result sup_gltf_object(sup_gltf *g, const sup_json *list, int32_t index, const char *kind, const sup_json **object);
/* An index below `limit` into the file's `what`s; -1 when absent. */
sup_result sup_gltf_index(sup_gltf *g, const sup_json *object, const char *key, const char *what, int32_t limit,
                          const char *kind, int32_t number, int32_t *index);
/* A whole number in [0, limit]; `default_value` when absent, an error when that is negative. */
sup_result sup_gltf_size(sup_gltf *g, const sup_json *object, const char *key, int64_t default_value, int64_t limit,
                         const char *kind, int32_t number, int64_t *value);
/* `count` numbers into `values`; *found false and nothing changed when absent. */
sup_result sup_gltf_numbers(sup_gltf *g, const sup_json *object, const char *key, int32_t count, const char *kind,
                            int32_t number, double *values, bool *found);

/* --- Stages --- */
sup_result sup_gltf_open_container(sup_gltf *g); /* sets json and binary */
sup_result sup_gltf_read_buffers(sup_gltf *g);   /* buffers, views, images: the document */
sup_result sup_gltf_read_scene(sup_gltf *g);     /* nodes and skins */
sup_result sup_gltf_read_meshes(sup_gltf *g);
sup_result sup_gltf_read_morphs(sup_gltf *g);
sup_result sup_gltf_read_animations(sup_gltf *g);

/* --- Accessors --- */
sup_result sup_gltf_open_accessor(sup_gltf *g, int32_t index, sup_gltf_accessor *accessor);
/* The same for a member that names one: absent gives accessor->index -1. `user` names the owner in messages. */
sup_result sup_gltf_open_member(sup_gltf *g, const sup_json *object, const char *key, const char *kind, int32_t number,
                                sup_gltf_accessor *accessor);
/* Elements as floats, integers scaled when normalised, `width` components each, into floats[i*width ...]. Components
 * that the accessor has beyond `width` are skipped, missing ones left as they are. */
void sup_gltf_read_floats(const sup_gltf_accessor *accessor, int32_t width, float *floats);
/* A scalar or vector accessor of whole numbers, width components each. */
void sup_gltf_read_integers(const sup_gltf_accessor *accessor, uint32_t *integers);
/* The whole accessor as floats in the character's arena, made once however often it is used. NULL: error set. */
const float *sup_gltf_shared_floats(sup_gltf *g, const sup_gltf_accessor *accessor);

#endif

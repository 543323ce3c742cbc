/* read_gltf.h (internal) - the stages of the glTF reader and their shared data.
 *
 * Stages in order, one file each: container (GLB chunks, buffers, views, images), accessor (typed arrays in views),
 * scene (nodes and skins), mesh (primitives, vertices, triangles, influences), morph, animation. Stages allocate
 * results from the character's arena and temporary data from `scratch`. */
#ifndef SUP_LOAD_READ_GLTF_H
#define SUP_LOAD_READ_GLTF_H

#include "load/document.h"
#include "load/json.h"
#include "load/read.h"

typedef struct sup_gltf_buffer {
    sup_bytes bytes; /* data NULL: placeholder for compressed views, only its length is known */
} sup_gltf_buffer;

/* Component types of accessors, glTF's numbers. */
enum {
    SUP_GLTF_BYTE = 5120,
    SUP_GLTF_UBYTE = 5121,
    SUP_GLTF_SHORT = 5122,
    SUP_GLTF_USHORT = 5123,
    SUP_GLTF_UINT = 5125,
    SUP_GLTF_FLOAT = 5126
};

/* A validated accessor: all elements of [0, count) can be read. */
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

/* Data of a node that is not in sup_node, for later stages. */
typedef struct sup_gltf_node {
    int32_t mesh, skin;
    const sup_json *weights;          /* default weights of morph targets, or NULL */
    int32_t morph_first, morph_count; /* weight slots of this instance of the mesh */
} sup_gltf_node;

/* A mesh, looked up once for all nodes that use it. */
typedef struct sup_gltf_mesh {
    const char *name;
    const sup_json *primitives, *weights, *target_names;
    int32_t target_count; /* maximum over the primitives */
} sup_gltf_mesh;

typedef struct sup_gltf {
    const sup_read_input *input;
    sup_error *error;
    sup_character *character;
    sup_arena *arena; /* the character's */
    sup_arena scratch;
    sup_json_tree tree;
    const sup_json *root;
    size_t bytes_read; /* of the file and of the files it refers to */
    size_t charged;    /* by sup_gltf_charge */

    sup_bytes json, binary; /* of the container; binary.data NULL when there is none */
    const sup_json *accessors, *meshes;
    int32_t buffer_count, view_count;
    sup_gltf_buffer *buffers;
    sup_bytes *views;          /* [view_count] the document's */
    int32_t *view_strides;     /* [view_count] 0: packed */
    sup_gltf_accessor *opened; /* [accessors] validated accessors; width 0: not yet validated */
    const float **floats;      /* [accessors] whole accessors converted to floats, cached, or NULL */

    int32_t material_count;
    sup_gltf_mesh *mesh_infos; /* [meshes] */
    sup_gltf_node *nodes;      /* [character->node_count] */
    sup_primitive *primitives; /* [character->primitive_count] */
} sup_gltf;

/* Fails with the file name as the location. */
sup_result sup_gltf_fail(sup_gltf *g, sup_result result, const char *id, const char *format, ...)
    __attribute__((format(printf, 4, 5)));
/* Charges memory or work that the file causes against a budget in proportion to the file size; fails when exceeded. */
sup_result sup_gltf_charge(sup_gltf *g, size_t count, size_t size);
/* Zeroed memory from `arena`, charged to the budget. NULL: the error is set, return g->error->result. */
void *sup_gltf_alloc(sup_gltf *g, sup_arena *arena, size_t count, size_t size);
/* A copy of a string in the character's arena, "" when `name` is not a string; NULL as sup_gltf_alloc. */
const char *sup_gltf_name(sup_gltf *g, const sup_json *name);

/* --- Typed members. `kind` and `number` identify the object in messages: "node", 4. --- */
/* A member that is an array; NULL when absent, an error when it has another type. */
sup_result sup_gltf_list(sup_gltf *g, const sup_json *object, const char *key, const sup_json **list);
/* The object at an index of an array. */
sup_result sup_gltf_object(sup_gltf *g, const sup_json *list, int32_t index, const char *kind, const sup_json **object);
/* An index below `limit` into the file's array of `what`; -1 when absent. */
sup_result sup_gltf_index(sup_gltf *g, const sup_json *object, const char *key, const char *what, int32_t limit,
                          const char *kind, int32_t number, int32_t *index);
/* An integer in [0, limit]; `default_value` when absent, or an error if default_value is negative. */
sup_result sup_gltf_size(sup_gltf *g, const sup_json *object, const char *key, int64_t default_value, int64_t limit,
                         const char *kind, int32_t number, int64_t *value);
/* Reads `count` numbers into `values`; when absent *found is false and `values` is unchanged. */
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
/* The same for a member that is an accessor index: accessor->index is -1 when absent. `kind` and `number` identify the
 * owner in messages. */
sup_result sup_gltf_open_member(sup_gltf *g, const sup_json *object, const char *key, const char *kind, int32_t number,
                                sup_gltf_accessor *accessor);
/* Converts elements to floats (normalised integers are scaled), `width` components each, into floats[i*width ...].
 * Extra components of the accessor are skipped; missing components are not written. */
void sup_gltf_read_floats(const sup_gltf_accessor *accessor, int32_t width, float *floats);
/* Reads a scalar or vector accessor of integers, accessor->width components each. */
void sup_gltf_read_integers(const sup_gltf_accessor *accessor, uint32_t *integers);
/* The whole accessor as floats in the character's arena, cached. NULL: the error is set. */
const float *sup_gltf_shared_floats(sup_gltf *g, const sup_gltf_accessor *accessor);

#endif

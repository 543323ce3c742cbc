/* model.h (internal) - the model block and its builder.
 *
 * A block is a header, a table of arrays, and the arrays, all little-endian and at 64-byte offsets, without pointers.
 * sup_bind writes the first three arrays, whose names start with "bind.": parameter values, world transforms of all
 * nodes in the bind pose, and default morph weights. */
#ifndef SUP_BIND_MODEL_H
#define SUP_BIND_MODEL_H

#include "base/base.h"
#include "supple/model.h"

#define SUP_MODEL_MAGIC "SUPPLEM\n"
enum { SUP_MODEL_VERSION = 2, SUP_MODEL_ALIGNMENT = 64, SUP_MODEL_NAME = 32 };

/* Start of a block. */
typedef struct sup_model_header {
    char magic[8];
    uint32_t version;        /* of the block */
    uint32_t method_version; /* of the method's arrays */
    uint64_t size;           /* bytes of the whole block */
    uint64_t checksum;       /* of all bytes, with these eight set to zero */
    int32_t vertex_count, node_count, morph_weight_count, array_count;
    char method[SUP_MODEL_NAME]; /* zero-terminated */
    uint64_t character;          /* sup_model_character_hash */
    uint32_t reserved[10];       /* zero */
} sup_model_header;
_Static_assert(sizeof(sup_model_header) == 128, "part of the file format");

typedef struct sup_model_entry {
    char name[SUP_MODEL_NAME]; /* zero-terminated */
    uint32_t type;             /* sup_array_type */
    uint32_t reserved;         /* zero */
    int64_t count;             /* elements */
    uint64_t offset;           /* bytes from the start of the block */
    uint64_t reserved2;        /* zero */
} sup_model_entry;
_Static_assert(sizeof(sup_model_entry) == 64, "part of the file format");

struct sup_model {
    sup_context context;
    const sup_method *method;
    unsigned char *block;
    size_t size;
};

typedef struct sup_built_array {
    sup_model_entry entry;
    void *data;
    size_t size;
} sup_built_array;

struct sup_model_builder {
    sup_allocator allocator;
    sup_array arrays;   /* of sup_built_array */
    const char *misuse; /* misuse by the method, or NULL */
    bool out_of_memory;
};

const sup_model_header *sup_model_header_of(const sup_model *model);
const sup_model_entry *sup_model_entries(const sup_model *model);
size_t sup_array_type_size(uint32_t type); /* 0 for unknown types */
uint64_t sup_model_checksum(const unsigned char *block, size_t size);
/* The array of that name and type with any count, which is returned in *count. */
const void *sup_model_find(const sup_model *model, const char *name, sup_array_type type, int64_t *count);

/* Packs the builder's arrays into one block. */
sup_result sup_model_pack(const sup_context *context, const sup_method *method, const sup_model_header *counts,
                          const sup_model_builder *builder, sup_model **model, sup_error *error);
void sup_model_builder_free(sup_model_builder *builder);

/* Checks the arrays of every model, for any method: parameter values in range, a finite bind pose. */
sup_result sup_model_check_common(const sup_model *model, sup_error *error);

/* Fails with SUP_ERROR_ARGUMENT if `value` is outside of the parameter's range. */
sup_result sup_param_check(const sup_param *param, double value, sup_error *error);
/* -1 if the method has no parameter of that name; `error` then lists the names. */
int32_t sup_method_param(const sup_method *method, const char *name, sup_error *error);

/* The same for maps. */
sup_result sup_map_check(const sup_map *map, const float *values, int32_t vertex_count, sup_error *error);
int32_t sup_method_map(const sup_method *method, const char *name, sup_error *error);

/* Hash of the data that a model is bound to: vertices, triangles, bones and the node hierarchy of the file. */
uint64_t sup_model_character_hash(const sup_character *character);

/* For methods: reports the progress of a bind, `fraction` in [0, 1]; fails with SUP_ERROR_CANCELLED if cancelled. */
sup_result sup_bind_report_progress(const sup_bind_input *input, float fraction, const char *stage, sup_error *error);

#endif

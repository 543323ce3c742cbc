/* model.h - what bind makes: one immutable, relocatable block of named arrays that many instances share.
 *
 * Saving, loading and handing to another device are each one copy: sup_model_bytes gives the block, sup_model_load
 * checks one and adopts a copy. Little-endian; every array is 64-byte aligned within the block. */
#ifndef SUPPLE_MODEL_H
#define SUPPLE_MODEL_H

#include "supple/method.h"
#include "supple/paint.h"

typedef struct sup_bind_def {
    const double *values; /* [method->param_count], NULL = defaults */
    const sup_paint *paints;
    int32_t paint_count; /* each map at most once */
    sup_progress_fn *progress;
    void *progress_user;
    const char *setup; /* a text of the method's own, for those with SUP_METHOD_SETUP (docs/methods); NULL for none */
    size_t setup_size; /* bytes */
} sup_bind_def;

/* `def` may be NULL. The rig and the character may be freed afterwards. */
SUP_API sup_result sup_bind(const sup_context *context, const sup_method *method, const sup_rig *rig,
                            const sup_bind_def *def, sup_model **model, sup_error *error);
SUP_API void sup_model_destroy(sup_model *model);

SUP_API sup_bytes sup_model_bytes(const sup_model *model);
/* Refuses, by name, blocks that are damaged, of another version or of an unknown method. */
SUP_API sup_result sup_model_load(const sup_context *context, sup_bytes bytes, sup_model **model, sup_error *error);

SUP_API const sup_method *sup_model_method(const sup_model *model);
SUP_API const double *sup_model_values(const sup_model *model); /* parameter values at bind */
SUP_API int32_t sup_model_vertex_count(const sup_model *model); /* render vertices that a step writes */
SUP_API int32_t sup_model_node_count(const sup_model *model);   /* nodes a pose must have */
SUP_API int32_t sup_model_morph_weight_count(const sup_model *model);
/* SUP_ERROR_DATA and a sentence when the model was bound for another character: other counts, or the same counts but
 * other vertices, triangles or bones. Clips, weights and materials may differ. */
SUP_API sup_result sup_model_check_character(const sup_model *model, const sup_character *character, sup_error *error);

/* For methods: arrays in the block. `name` is at most 31 characters. Type and element count are kept and checked. A
 * method that simulates says how much in an array "stats" of 2 int32: points and elements that it simulates. */
typedef enum sup_array_type {
    SUP_ARRAY_FLOAT,
    SUP_ARRAY_DOUBLE,
    SUP_ARRAY_INT32,
    SUP_ARRAY_UINT16,
    SUP_ARRAY_BYTE
} sup_array_type;

/* Memory for a new array, to fill until bind returns; NULL when memory ran out. Zeroed. */
SUP_API void *sup_model_add(sup_model_builder *builder, const char *name, sup_array_type type, int64_t count);
/* The array, or NULL when the block has none of that name, type and, unless count is -1, count. */
SUP_API const void *sup_model_array(const sup_model *model, const char *name, sup_array_type type, int64_t count);
SUP_API int64_t sup_model_array_count(const sup_model *model, const char *name);

#endif

/* model.h - the result of a bind: one immutable, relocatable memory block of named arrays, shared by many instances.
 *
 * Saving, loading and uploading to a device are each one copy: sup_model_bytes returns the block, sup_model_load
 * validates a block and copies it. Little-endian; every array is 64-byte aligned within the block. */
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
    const char *setup; /* method-specific text, for methods with SUP_METHOD_SETUP (docs/methods); NULL for none */
    size_t setup_size; /* bytes */
} sup_bind_def;

/* `def` may be NULL. The rig and the character may be destroyed afterwards. */
SUP_API sup_result sup_bind(const sup_context *context, const sup_method *method, const sup_rig *rig,
                            const sup_bind_def *def, sup_model **model, sup_error *error);
SUP_API void sup_model_destroy(sup_model *model);

SUP_API sup_bytes sup_model_bytes(const sup_model *model);
/* Rejects blocks that are damaged, of another version or of an unknown method; the error says which. */
SUP_API sup_result sup_model_load(const sup_context *context, sup_bytes bytes, sup_model **model, sup_error *error);

SUP_API const sup_method *sup_model_method(const sup_model *model);
SUP_API const double *sup_model_values(const sup_model *model); /* [param_count] parameter values at bind */
SUP_API int32_t sup_model_vertex_count(const sup_model *model); /* render vertices that a step writes */
SUP_API int32_t sup_model_node_count(const sup_model *model);   /* nodes that a pose must have */
SUP_API int32_t sup_model_morph_weight_count(const sup_model *model);
/* Fails with SUP_ERROR_DATA if the model was bound for another character: different counts, or the same counts but
 * different vertices, triangles or bones. Clips, weights and materials may differ. */
SUP_API sup_result sup_model_check_character(const sup_model *model, const sup_character *character, sup_error *error);

/* For methods: arrays in the block. `name` has at most 31 characters. Type and element count are stored and checked. A
 * simulation method stores its size in an array "stats" of 2 int32: numbers of simulated points and elements. */
typedef enum sup_array_type {
    SUP_ARRAY_FLOAT,
    SUP_ARRAY_DOUBLE,
    SUP_ARRAY_INT32,
    SUP_ARRAY_UINT16,
    SUP_ARRAY_BYTE
} sup_array_type;

/* Adds a zeroed array for the method to fill before bind returns; NULL when out of memory. */
SUP_API void *sup_model_add(sup_model_builder *builder, const char *name, sup_array_type type, int64_t count);
/* The array, or NULL if the block has no array of that name, type and count (-1: any count). */
SUP_API const void *sup_model_array(const sup_model *model, const char *name, sup_array_type type, int64_t count);
SUP_API int64_t sup_model_array_count(const sup_model *model, const char *name);

#endif

/* skin_bind.h (internal) - what the steps of binding a skin hand to each other. */
#ifndef SUP_SKIN_SKIN_BIND_H
#define SUP_SKIN_SKIN_BIND_H

#include "skin/skin.h"

typedef struct sup_skin_influence {
    int32_t joint;
    double weight;
} sup_skin_influence;

typedef struct sup_skin_builder {
    const sup_allocator *allocator;
    sup_arena arena;                /* of the pointers below */
    int32_t *first;                 /* [vertex_count+1] into the next two */
    sup_skin_influence *influences; /* strongest first, sum 1 */
    uint16_t *sorted;               /* the same joints, rising */
    int32_t window_count;
    int32_t *window_first; /* [window_count+1] blocks */
    /* Growing, as in sup_skin_model. */
    sup_array joint_first, weight_first, joints, weights, strongest, vertex;
} sup_skin_builder;

/* Arrays of the model while they are filled. */
typedef struct sup_skin_arrays {
    float *positions, *normals, *tangents, *extent;
} sup_skin_arrays;

/* Morph targets of the character that move something, in bind space and in the order of the blocks. */
sup_result sup_skin_add_morphs(const sup_rig *rig, const sup_skin_builder *b, sup_model_builder *builder,
                               sup_error *error);

#endif

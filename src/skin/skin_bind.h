/* skin_bind.h (internal) - data shared by the stages of binding a skin. */
#ifndef SUP_SKIN_SKIN_BIND_H
#define SUP_SKIN_SKIN_BIND_H

#include "skin/skin.h"

typedef struct sup_skin_influence {
    int32_t joint;
    double weight;
} sup_skin_influence;

typedef struct sup_skin_builder {
    const sup_allocator *allocator;
    sup_arena arena;                /* owns the pointers below */
    int32_t *first;                 /* [vertex_count+1] into the next two */
    sup_skin_influence *influences; /* strongest first, sum 1 */
    uint16_t *sorted;               /* the same joints in ascending order */
    int32_t window_count;
    int32_t *window_first; /* [window_count+1] first cluster */
    /* Growing arrays, layout as in sup_skin_model. */
    sup_array joint_first, weight_first, joints, weights, strongest, vertex;
} sup_skin_builder;

/* Arrays of the model under construction. */
typedef struct sup_skin_arrays {
    float *positions, *normals, *tangents, *extent;
} sup_skin_arrays;

/* Adds the morph targets of the character, in bind space and in the order of the clusters. */
sup_result sup_skin_add_morphs(const sup_rig *rig, const sup_skin_builder *b, sup_model_builder *builder,
                               sup_error *error);

#endif

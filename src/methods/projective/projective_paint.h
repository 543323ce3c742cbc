/* projective_paint.h (internal) - what the artist marked, on the simulated skin. See projective_paint.c. */
#ifndef SUP_METHODS_PROJECTIVE_PROJECTIVE_PAINT_H
#define SUP_METHODS_PROJECTIVE_PROJECTIVE_PAINT_H

#include "methods/skin/surface.h"
#include "methods/projective/tissue.h"
#include "supple/method.h"

typedef struct sup_projective_paint {
    float *stiffness;     /* [skin_count] times the tissue's */
    unsigned char *fixed; /* [skin_count] skin that the solver is given */
    int32_t fixed_count;
    double *swing; /* [skin_count] sup_tissue_swing */
} sup_projective_paint;

/* [coarse_count] nonzero for flesh that bones do not hold; NULL when memory ran out. */
unsigned char *sup_projective_paint_freed(const sup_bind_input *input, const sup_simulated_surface *surface,
                                          sup_arena *arena);
/* Holds bases of the tissue, and adds what the step needs to the model. Memory is `arena`'s. */
sup_result sup_projective_paint_bind(const sup_bind_input *input, const sup_simulated_surface *surface,
                                     const sup_volumetric_skeleton *skeleton, sup_tissue *tissue, sup_arena *arena,
                                     sup_projective_paint *paint, sup_model_builder *builder, sup_error *error);

#endif

/* projective_paint.h (internal) - what the artist marked, on the simulated skin. See projective_paint.c. */
#ifndef SUP_METHODS_PROJECTIVE_PROJECTIVE_PAINT_H
#define SUP_METHODS_PROJECTIVE_PROJECTIVE_PAINT_H

#include "skin/simulated_surface.h"
#include "tissue/tissue.h"
#include "methods/projective/projective_view.h"
#include "supple/method.h"

typedef struct sup_projective_painted {
    float *stiffness;     /* [skin_count] times the tissue's */
    unsigned char *fixed; /* [skin_count] skin that the solver is given */
    int32_t fixed_count;
    float *close;           /* [skin_count] share of linear blending that close skin needs (rest_contact.h) */
    unsigned char *between; /* [skin_count] 1: close skin that is not carried */
    double *swing;          /* [skin_count] sup_tissue_swing */
} sup_projective_painted;

/* [coarse_count] nonzero for flesh that bones do not hold; NULL when memory ran out. */
unsigned char *sup_projective_paint_freed(const sup_bind_input *input, const sup_simulated_surface *surface,
                                          sup_arena *arena);
/* Painted radii of bones and joints into `def`; its arrays are `arena`'s. */
sup_result sup_projective_paint_radii(const sup_bind_input *input, sup_arena *arena, sup_skeleton_def *def,
                                      sup_error *error);
/* Holds bases of the tissue, and adds what the step needs to the model. Memory is `arena`'s. */
sup_result sup_projective_paint_bind(const sup_bind_input *input, const sup_simulated_surface *surface,
                                     const sup_volumetric_skeleton *skeleton, sup_tissue *tissue, sup_arena *arena,
                                     sup_projective_painted *paint, sup_model_builder *builder, sup_error *error);

/* The shares of linear blending of a live instance, for `values` [shown vertices] of the map "rigid", NULL for those of the
 * bind: at most skin_count each of `vertex` and `share`. Only what is shown can change: skin that the solver was given
 * at bind stays with linear blending, and paint that would free it is refused. */
sup_result sup_projective_paint_live(const sup_model *model, const sup_projective_view *view, const float *values,
                                     int32_t *vertex, float *share, int32_t *count, sup_error *error);

#endif

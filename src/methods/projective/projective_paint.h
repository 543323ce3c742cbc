/* projective_paint.h (internal) - painted maps on the simulated skin. See projective_paint.c. */
#ifndef SUP_METHODS_PROJECTIVE_PROJECTIVE_PAINT_H
#define SUP_METHODS_PROJECTIVE_PROJECTIVE_PAINT_H

#include "skin/simulated_surface.h"
#include "tissue/tissue.h"
#include "methods/projective/projective_view.h"
#include "supple/method.h"

typedef struct sup_projective_painted {
    float *stiffness;     /* [skin_count] times the tissue's */
    unsigned char *fixed; /* [skin_count] 1: follows linear blending, anchored in the solver */
    int32_t fixed_count;
    float *close;     /* [skin_count] weight of linear blending that close skin needs (rest_contact.h) */
    float *unpainted; /* [skin_count] weight of linear blending without paint: close skin, rigid components */
    unsigned char *rest_contact; /* [skin_count] flags of rest_contact.h */
    double *deflection;          /* [skin_count] sup_tissue_deflection */
} sup_projective_painted;

/* Whether a vertex of the rig's skin is in a rigid component (sup_rig_rigid_joints) and not painted free. */
/* Whether a vertex of the welded skin is painted free. */
bool sup_projective_is_free(const sup_bind_input *input, int32_t skin_vertex);
bool sup_projective_is_rigid(const sup_bind_input *input, int32_t skin_vertex);

/* [coarse_count] nonzero for tissue that is not attached to bones; NULL when out of memory. */
unsigned char *sup_projective_paint_freed(const sup_bind_input *input, const sup_simulated_surface *surface,
                                          sup_arena *arena);
/* Sets the painted radii of bones and joints in `def`; the arrays are allocated from `arena`. */
sup_result sup_projective_paint_radii(const sup_bind_input *input, sup_arena *arena, sup_skeleton_def *def,
                                      sup_error *error);
/* Attaches bases of the tissue to bones, and adds the arrays of the step to the model. Allocates from `arena`. */
sup_result sup_projective_paint_bind(const sup_bind_input *input, const sup_simulated_surface *surface,
                                     const sup_volumetric_skeleton *skeleton, sup_tissue *tissue, sup_arena *arena,
                                     sup_projective_painted *paint, sup_model_builder *builder, sup_error *error);

/* Weights of linear blending of a live instance, for `values` [render vertices] of the map "rigid", NULL for those of
 * the bind: at most skin_count each of `vertex` and `weight`. Skin that was anchored in the solver at bind stays rigid:
 * values that would free it are refused. */
sup_result sup_projective_paint_live(const sup_model *model, const sup_projective_view *view, const float *values,
                                     int32_t *vertex, float *weight, int32_t *count, sup_error *error);

#endif

/* fit_bone.h (internal) - the skeleton surface inside a person's skin (4.2.4, skeleton fitting). */
#ifndef SUP_ANATOMY_FIT_BONE_H
#define SUP_ANATOMY_FIT_BONE_H

#include "anatomy/layers.h"

typedef struct sup_bone_fit_report {
    int32_t passes;     /* passes of minimisation and collision detection */
    int32_t iterations; /* iterations of all passes */
    int32_t colliding;  /* vertices outside the skin at the end */
} sup_bone_fit_report;

typedef struct sup_bone_fit_def {
    const double *scaled_skin, *scaled_bone; /* [vertex_count*3] the scaled template */
    const double *skin;                      /* [vertex_count*3] the person's */
    /* [vertex_count*3] surface that the result stays on, sliding along it, unless the skin is in the way; NULL: none */
    const double *tether;
} sup_bone_fit_def;

/* Minimises eq. 4.7. `bone` is the start and receives the result. Excluded vertices are on the skin. */
sup_result sup_bone_fit(const sup_context *context, const sup_anatomy *anatomy, const sup_bone_fit_def *def,
                        double *bone, sup_bone_fit_report *report, sup_error *error);

#endif

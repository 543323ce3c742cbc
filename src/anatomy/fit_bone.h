/* fit_bone.h (internal) - the skeleton surface inside a person's skin (4.2.4, skeleton fitting). */
#ifndef SUP_ANATOMY_FIT_BONE_H
#define SUP_ANATOMY_FIT_BONE_H

#include "anatomy/layers.h"

typedef struct sup_bone_fit_report {
    int32_t passes;     /* passes of minimisation and collision detection */
    int32_t iterations; /* iterations of all passes */
    int32_t colliding;  /* vertices outside the skin at the end */
} sup_bone_fit_report;

/* Minimises eq. 4.7. `scaled_skin` and `scaled_bone` are the scaled template, `skin` is the person's; `bone`
 * receives the result. Excluded vertices are on the skin. */
sup_result sup_bone_fit(const sup_context *context, const sup_anatomy *anatomy, const double *scaled_skin,
                        const double *scaled_bone, const double *skin, double *bone, sup_bone_fit_report *report,
                        sup_error *error);

#endif

/* body.h (internal) - a person's layers: copying a template, and finding the muscles that have given masses. */
#ifndef SUP_ANATOMY_BODY_H
#define SUP_ANATOMY_BODY_H

#include "anatomy/masses.h"

/* A body with copies of all arrays of `anatomy` (positions too), without details when `no_details`. Free it with
 * sup_body_destroy. */
sup_result sup_body_create(const sup_context *context, const sup_anatomy *anatomy, const char *name, bool no_details,
                           sup_body **body, sup_error *error);

/* Everything of a fit that follows the skeleton: average, smallest and largest muscles, the masses asked for, the last
 * pass. `scaled` are skin, muscle and bone of the scaled template; body->layers.skin and .bone are final. The masses'
 * members *_asked say what is wanted (0: not asked). */
sup_result sup_body_fit_muscles(const sup_context *context, const double *const scaled[3], sup_body *body,
                                sup_error *error);

#endif

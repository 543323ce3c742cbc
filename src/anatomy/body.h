/* body.h (internal) - a person's layers: copies a template and finds muscles with given masses. */
#ifndef SUP_ANATOMY_BODY_H
#define SUP_ANATOMY_BODY_H

#include "anatomy/masses.h"

/* Creates a body with copies of all arrays of `anatomy` (including positions), without organs if `no_details`. Free
 * it with sup_body_destroy. */
sup_result sup_body_create(const sup_context *context, const sup_anatomy *anatomy, const char *name, bool no_details,
                           sup_body **body, sup_error *error);

/* All steps of a fit after the skeleton: average, smallest and largest muscles, target masses, final repair.
 * `scaled` are skin, muscle and bone of the scaled template, `hidden` is its sup_hidden_muscle; body->layers.skin and
 * .bone are final. The members *_target of the masses are inputs (0: no target). */
sup_result sup_body_fit_muscles(const sup_context *context, const double *const scaled[3], double hidden,
                                sup_body *body, sup_error *error);

#endif

/* pbd_reference.h (internal) - the same step in double precision, one constraint after another: reference for tests and
 * benchmarks. */
#ifndef SUP_METHODS_POSITION_PBD_REFERENCE_H
#define SUP_METHODS_POSITION_PBD_REFERENCE_H

#include "methods/position/pbd.h"

/* Constraint functions and gradients of the thesis, corrected. */
double sup_pbd_volume(const double p[4][3], double gradient[4][3]); /* eq. 4.4 without V0, 4.5 to 4.8 */
double sup_pbd_length(const double p[2][3], double gradient[2][3]); /* eq. 4.2 without d */

typedef struct sup_pbd_reference sup_pbd_reference;
/* `positions` [slot_count*4]: initial positions, at rest. Solves in the order of the bound mesh. */
sup_result sup_pbd_reference_create(const sup_pbd *pbd, const double *positions, const sup_pbd_regions *regions,
                                    sup_pbd_reference **reference, sup_error *error);
void sup_pbd_reference_step(sup_pbd_reference *reference, const sup_pbd_input *input);
double *sup_pbd_reference_positions(sup_pbd_reference *reference); /* [slot_count*3] */
double *sup_pbd_reference_previous(sup_pbd_reference *reference);  /* [slot_count*3] */
/* Mean over constraints of the squared relative violation: volume and stretch. */
void sup_pbd_reference_residual(const sup_pbd_reference *reference, double *volume, double *stretch);
void sup_pbd_reference_destroy(sup_pbd_reference *reference);

#endif

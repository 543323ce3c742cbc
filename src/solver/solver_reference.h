/* solver_reference.h (internal) - projective dynamics as printed, in double, one element after the other: the
 * reference of the solver's tests and the baseline of its benchmark. It shares the tissue with the solver, but no
 * code of the step.
 *
 * Based on: [komaritzan2022] Algorithm 2.1, eq. 2.12 to 2.16, section 2.2.3. */
#ifndef SUP_SOLVER_SOLVER_REFERENCE_H
#define SUP_SOLVER_SOLVER_REFERENCE_H

#include "solver/system.h"

/* Vertices are tissue vertices: [vertex_count*3]. */
typedef struct sup_reference sup_reference;

sup_result sup_reference_create(const sup_context *context, const sup_system_def *def, sup_reference **reference,
                                sup_error *error);
void sup_reference_destroy(sup_reference *reference);

/* Sets the ends of the bones, as in sup_solver_input; NULL, and initially: strain alone. The arrays of the def's
 * tissue and skeleton must outlive a reference with volume. */
void sup_reference_bones(sup_reference *reference, const float *bones);
/* eq. 2.12 at x with prediction y. `shared_rotation`: one rotation per prism. */
double sup_reference_objective(const sup_reference *reference, const double *x, const double *y, bool shared_rotation);
/* Its gradient at the unknowns, zero at anchors. */
void sup_reference_gradient(const sup_reference *reference, const double *x, const double *y, bool shared_rotation,
                            double *gradient);
/* y of eq. 2.9 for every vertex that has a mass; others are extrapolated. */
void sup_reference_predict(const sup_reference *reference, const double *now, const double *before, double damping,
                           const double gravity[3], double *y);
/* `iterations` local and global steps from x, which holds the anchors' targets. `energy` (NULL or [2*iterations+1])
 * receives the objective after every half: with the old projections after a global step, with the new after a local
 * one. */
void sup_reference_iterate(sup_reference *reference, double *x, const double *y, int32_t iterations,
                           bool shared_rotation, double *energy);

const double *sup_reference_mass(const sup_reference *reference); /* [skin_count] */
bool sup_reference_is_anchor(const sup_reference *reference, int32_t vertex);
const sup_csr *sup_reference_matrix(const sup_reference *reference); /* unknowns, in the order of tissue vertices */

#endif

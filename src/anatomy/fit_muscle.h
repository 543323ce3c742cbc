/* fit_muscle.h (internal) - the muscle surface between skin and bones, as it is on average and at its ends (4.2.4). */
#ifndef SUP_ANATOMY_FIT_MUSCLE_H
#define SUP_ANATOMY_FIT_MUSCLE_H

#include "anatomy/layers.h"

/* Where each muscle vertex may be on its line from bone to skin, as shares of the line; 1 mm from both ends where there is
 * room for it, even shares of the line where not. */
void sup_muscle_range(const sup_anatomy *anatomy, const double *skin, const double *bone, double *minimum,
                      double *maximum);

/* Minimises eq. 4.10: the scaled template's muscle surface on the person's lines, as shares [vertex_count]. Takes the
 * scaled template's three surfaces. *stages gets how often the bending was halved. */
sup_result sup_muscle_fit(const sup_context *context, const sup_anatomy *anatomy, const double *const scaled[3],
                          const double *skin, const double *bone, double *fraction, int32_t *stages, sup_error *error);

/* The same muscles grown or shrunk as far as is plausible, group by group. `scale` is that of the template. */
sup_result sup_muscle_extremes(const sup_context *context, const sup_anatomy *anatomy, const double *skin,
                               const double *bone, const double *fraction, double scale, double *smallest,
                               double *largest, sup_error *error);

/* Points on the lines. */
void sup_muscle_positions(const sup_anatomy *anatomy, const double *skin, const double *bone, const double *fraction,
                          double *muscle);

#endif

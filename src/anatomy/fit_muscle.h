/* fit_muscle.h (internal) - the muscle surface between skin and bones: average, smallest and largest (4.2.4). */
#ifndef SUP_ANATOMY_FIT_MUSCLE_H
#define SUP_ANATOMY_FIT_MUSCLE_H

#include "anatomy/layers.h"

/* Range of each muscle vertex on its line from bone to skin, as fractions of the line; 1 mm from both ends if the
 * line is long enough, else fixed fractions of the line. */
void sup_muscle_range(const sup_anatomy *anatomy, const double *skin, const double *bone, double *minimum,
                      double *maximum);

/* Minimises eq. 4.10: the scaled template's muscle surface on the person's lines, as fractions [vertex_count].
 * `scaled` are the scaled template's three surfaces. *stages gets the number of reductions of the bending weight. */
sup_result sup_muscle_fit(const sup_context *context, const sup_anatomy *anatomy, const double *const scaled[3],
                          const double *skin, const double *bone, double *fraction, int32_t *stages, sup_error *error);

/* The same muscles grown and shrunk to the plausible limits, group by group. `scale` is the template's scale. */
sup_result sup_muscle_extremes(const sup_context *context, const sup_anatomy *anatomy, const double *skin,
                               const double *bone, const double *fraction, double scale, double *smallest,
                               double *largest, sup_error *error);

/* Positions of the muscle vertices from their fractions of the lines. */
void sup_muscle_positions(const sup_anatomy *anatomy, const double *skin, const double *bone, const double *fraction,
                          double *muscle);

#endif

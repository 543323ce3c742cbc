/* settle.h (internal) - the last pass of a fit: no layer crosses another and no prism is turned over. */
#ifndef SUP_ANATOMY_SETTLE_H
#define SUP_ANATOMY_SETTLE_H

#include "anatomy/layers.h"

typedef struct sup_repair_report {
    int32_t moved;     /* vertices that were not where the fit had left them */
    int32_t closed;    /* vertices of folds so sharp that all layers are one point there */
    int32_t crossings; /* vertices of a layer outside the next, at the end */
    int32_t inverted;  /* prisms with a tet of negative volume, at the end */
} sup_repair_report;

/* Moves bone vertices towards the skin where their line leaves it or a prism of skin and bone is turned over. */
sup_result sup_repair_bone(const sup_context *context, const sup_anatomy *anatomy, const double *skin, double *bone,
                           sup_repair_report *report, sup_error *error);

/* Evens out shares of muscle vertices where a prism of either layer is turned over or a bone vertex is outside the muscles.
 * `share` and `muscle` change together. Adds to the report and sets its last two members. */
sup_result sup_repair_muscle(const sup_context *context, const sup_anatomy *anatomy, const double *skin, double *bone,
                             double *fraction, double *muscle, sup_repair_report *report, sup_error *error);
/* Muscles, and while that leaves something wrong (lines were shortened), bones and muscles again. */
sup_result sup_repair_layers(const sup_context *context, const sup_anatomy *anatomy, const double *skin, double *bone,
                             double *fraction, double *muscle, sup_repair_report *report, sup_error *error);

#endif

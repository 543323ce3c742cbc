/* settle.h (internal) - final repair of a fit: no layer crosses another and no prism is inverted. */
#ifndef SUP_ANATOMY_SETTLE_H
#define SUP_ANATOMY_SETTLE_H

#include "anatomy/layers.h"

typedef struct sup_repair_report {
    int32_t moved;     /* vertices moved by the repair */
    int32_t closed;    /* vertices in folds so sharp that all layers coincide there */
    int32_t crossings; /* vertices of a layer outside the next one that remain */
    int32_t inverted;  /* prisms with a tet of negative volume that remain */
} sup_repair_report;

/* Moves bone vertices towards the skin where their line leaves the body or a prism of skin and bone is inverted. */
sup_result sup_repair_bone(const sup_context *context, const sup_anatomy *anatomy, const double *skin, double *bone,
                           sup_repair_report *report, sup_error *error);

/* Smooths the fractions of muscle vertices where a prism of either layer is inverted or a bone vertex is outside the
 * muscles. Updates `fraction` and `muscle` together. Adds to the report and sets its last two members. */
sup_result sup_repair_muscle(const sup_context *context, const sup_anatomy *anatomy, const double *skin, double *bone,
                             double *fraction, double *muscle, sup_repair_report *report, sup_error *error);
/* Repairs muscles; while something remains wrong (lines were shortened), repairs bones and muscles again. */
sup_result sup_repair_layers(const sup_context *context, const sup_anatomy *anatomy, const double *skin, double *bone,
                             double *fraction, double *muscle, sup_repair_report *report, sup_error *error);

#endif

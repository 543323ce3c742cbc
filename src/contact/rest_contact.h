/* rest_contact.h (internal) - skin that lies against itself and goes with one joint: eyelids, lips, nails, toes. */
#ifndef SUP_CONTACT_REST_CONTACT_H
#define SUP_CONTACT_REST_CONTACT_H

#include "skin/simulated_surface.h"

/* share[coarse_count]: how much a simulated vertex follows linear blending for that, 0 to 1. between[coarse_count]: 1
 * where skin lies against itself but goes with several joints: toes at their roots. */
sup_result sup_close_skin_share(const sup_context *context, const sup_rig *rig, const sup_simulated_surface *surface,
                                float *share, unsigned char *between, sup_error *error);

#endif

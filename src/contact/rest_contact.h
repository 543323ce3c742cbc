/* rest_contact.h (internal) - skin that lies against itself in the bind pose and follows one joint: eyelids, lips,
 * nails, toes. */
#ifndef SUP_CONTACT_REST_CONTACT_H
#define SUP_CONTACT_REST_CONTACT_H

#include "skin/simulated_surface.h"

/* weight[coarse_count]: how much a simulated vertex follows linear blending because of it, 0 to 1.
 * several_joints[coarse_count]: 1 where skin lies against itself but follows several joints, as toes at their roots. */
sup_result sup_rest_contact_weights(const sup_context *context, const sup_rig *rig,
                                    const sup_simulated_surface *surface, float *weight, unsigned char *several_joints,
                                    sup_error *error);

#endif
